# SPDX-License-Identifier: BSD-3-Clause
"""A real Slurm on this machine: munged, slurmctld and a slurmd for each of some
pretended nodes, all in one folder, as any user, on the loopback interface where
the host's name means 127.0.0.1."""
import getpass
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")

# cred_expire: a requeued job waits as long as a credential lives, 120 s unless
# set.  TmpFS: two nodes that share /tmp make the same folder of PMIx there, and
# steps fail.
CONFIGURATION = """\
ClusterName=mini
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
{bind}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/finished.log
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
GresTypes=gpu
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MpiDefault=pmix
ReturnToService=2
KillOnBadExit=1
KillWait=5
"""
NODE = ("NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
        "CPUs={cpus} RealMemory=1000 Gres=gpu:4\n")
# Pretended cards: any character device will do.
CARDS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")
PARTITION = ("PartitionName=main Nodes=n[1-{nodes}] Default=YES "
             "MaxTime=INFINITE State=UP\n")

# Shared memory is out: Open MPI names its segments by host and local rank, so
# ranks of two pretended nodes would map each other's.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp",
            "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_oob_tcp_if_include": "lo"}


def missing():
    """The programs of Slurm that this machine lacks."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return [name for name in DAEMONS if shutil.which(name, path=path) is None]


def wait_for(what, seconds):
    """Ask `what` until it returns something true; returns that."""
    deadline = time.monotonic() + seconds
    while not (got := what()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what.__qualname__}: not within {seconds} s")
        time.sleep(0.1)
    return got


def free_ports(count):
    """Ports below the range from which the kernel takes its own."""
    ports = []
    while len(ports) < count:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
    return ports


class Cluster:
    """Nodes n1, n2, ...; `environment` is for sbatch, srun and the like."""

    def __init__(self, folder, nodes=2, cpus=4):
        self.folder = pathlib.Path(folder)
        self.nodes = nodes
        self.environment = {
            **os.environ, **OPEN_MPI,
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
            "SLURM_CONF": f"{folder}/slurm.conf",
            "MINI_SLURM": str(folder),
            "OMPI_MCA_orte_tmpdir_base": f"{folder}/tmp"}
        self._configure(cpus)

    def _configure(self, cpus):
        for name in ("munge", "state", *(f"{kind}/n{number + 1}"
                                         for kind in ("spool", "tmp")
                                         for number in range(self.nodes))):
            (self.folder / name).mkdir(parents=True)
        host = socket.gethostname().split(".")[0]
        # A daemon listens where the host's name points, or everywhere.
        is_loopback = socket.gethostbyname(host) == "127.0.0.1"
        ports = free_ports(1 + self.nodes)
        text = CONFIGURATION.format(
            folder=self.folder, host=host, user=getpass.getuser(), ports=ports,
            bind="CommunicationParameters=NoInAddrAny,NoCtldInAddrAny"
            if is_loopback else "")
        for number, port in enumerate(ports[1:], 1):
            text += NODE.format(number=number, host=host, port=port, cpus=cpus)
        text += PARTITION.format(nodes=self.nodes)
        (self.folder / "slurm.conf").write_text(text, encoding="ascii")
        (self.folder / "gres.conf").write_text(
            "".join(f"Name=gpu File={card}\n" for card in CARDS),
            encoding="ascii")

    def run(self, *words, check=True, **options):
        """A command in the environment of the cluster."""
        return subprocess.run(words, env=self.environment, text=True,
                              capture_output=True, check=check, **options)

    def start(self):
        """Start the daemons and wait until all nodes are idle."""
        munge = self.folder / "munge"
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        # By force: it refuses a socket in a private folder, which is right for
        # a cluster of one user.
        self.run("munged", "--force", f"--key-file={munge}/key",
                 f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                 f"--log-file={munge}/log", f"--seed-file={munge}/seed",
                 "--num-threads=2")
        self.run("slurmctld")
        for number in range(self.nodes):
            self.run("slurmd", "-N", f"n{number + 1}")
        wait_for(self._are_idle, 30)

    def _are_idle(self):
        return self.run("sinfo", "-h", "-t", "idle", "-o", "%D",
                        check=False).stdout.strip() == str(self.nodes)

    def submit(self, *words):
        """sbatch; returns the number of the job."""
        return self.run("sbatch", "--parsable", *words).stdout.strip()

    def state(self, job):
        """State of a job, such as RUNNING."""
        for word in self.run("scontrol", "show", "job", job).stdout.split():
            if word.startswith("JobState="):
                return word.removeprefix("JobState=")
        raise AssertionError(f"job {job} has no state")

    def wait(self, job, state, seconds):
        """Wait until a job is in a state."""
        def is_there():
            return self.state(job) == state
        try:
            wait_for(is_there, seconds)
        except TimeoutError:
            raise AssertionError(
                f"job {job} is {self.state(job)}, not {state}") from None

    def _members(self):
        """Processes of daemons and jobs; the environment of a zombie is
        empty."""
        marks = (f"MINI_SLURM={self.folder}".encode(),
                 f"SLURM_CONF={self.folder}/slurm.conf".encode())
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if any(mark in words for mark in marks):
                found.append(int(path.parent.name))
        return found

    def stop(self):
        """End jobs and daemons, by force in the end."""
        self.run("scancel", "-u", getpass.getuser(), check=False)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self._members():
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass
            try:
                wait_for(lambda: not self._members(), 5)
                return
            except TimeoutError:
                pass
        raise AssertionError(f"still running: {self._members()}")
