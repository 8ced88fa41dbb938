# SPDX-License-Identifier: BSD-3-Clause
"""Runs of several ranks of MPI on this machine, for the scenarios about them."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

import oracle
import program
import same_file

# FX8_MPIRUN and FX8_MPI_PLUGIN name those of another MPI; see
# validation/README.md.
MPIRUN = os.environ.get("FX8_MPIRUN") or shutil.which("mpirun")
PLUGIN = (os.environ.get("FX8_MPI_PLUGIN") or
          os.path.join(program.BUILD, "fx8-mpi.so"))
# What differs: the signals that a launcher passes on to its ranks, by a word of
# its --version.  Open MPI kills them two seconds after any other.
PASSED_ON = {"Open MPI": (signal.SIGUSR1,),
             "HYDRA": (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)}
# Ranks of a test share processors and one machine's loopback; they work where
# no file may be large, shared memory included (UCX: MPICH).  The path of
# temporary files must be short enough for a socket.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_hwloc_base_binding_policy":
    "none", "UCX_TLS": "self,sysv"}
# What a launcher leaves must not reach a process that is to run alone.
LAUNCHED = re.compile(r"OMPI_COMM_|PMIX?_|SLURM_")


def descendants(pid):
    """Ids of the processes that a process has started, and that those have."""
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            children = program.text(path).split()
        except OSError:     # it has just ended
            continue
        for child in children:
            yield int(child)
            yield from descendants(int(child))


def is_fx8(pid):
    """Whether a process runs fx8."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program.FX8)
    except OSError:
        return False


def ranks_of(launcher):
    """Ids of the processes of the ranks, in no order: mpirun's children, with
    MPICH its grandchildren."""
    return [pid for pid in descendants(launcher.pid) if is_fx8(pid)]


def end_launcher(launcher):
    """Wait until all ranks have ended, then for the launcher: Open MPI 4.1's was
    once seen to wait for a lock of its own for ever, in PMIx_server_finalize()."""
    deadline = time.monotonic() + 120
    while launcher.poll() is None and ranks_of(launcher):
        if time.monotonic() > deadline:
            raise AssertionError("ranks outlive one that was killed")
        time.sleep(0.01)
    try:
        launcher.wait(timeout=10)
    except subprocess.TimeoutExpired:
        launcher.kill()
        launcher.wait()


def passed_on():
    """The signals that this launcher passes on."""
    version = subprocess.run([MPIRUN, "--version"], capture_output=True,
                             text=True, check=True).stdout
    return next(signals for word, signals in PASSED_ON.items()
                if word in version)


@unittest.skipUnless("FX8_MPIRUN" in os.environ
                     or MPIRUN and os.path.exists(PLUGIN),
                     "no mpirun, or fx8 was built without mpicc")
class Ranks(program.Job):
    """Runs of several ranks."""

    # Of segments().
    SEGMENTS = {"channels": 4, "dump_s": 0.067936}

    def setUp(self):
        super().setUp()
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if not LAUNCHED.match(name)}, **ENVIRONMENT,
            "OMPI_MCA_orte_tmpdir_base": self.folder}

    def mpirun(self, n, *arguments, before=(), **options):
        """Start n ranks and wait; nothing is checked."""
        return self.launch([MPIRUN, "-n", str(n), *before, program.FX8,
                            *map(str, arguments)], **options)

    def launch(self, command, environment=None, **options):
        """Run a launcher and wait; nothing is checked."""
        return subprocess.run(command, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL,
                              env={**self.environment, **(environment or {})},
                              **options)

    def others(self, n, words, n_more, more, before=(), more_before=()):
        """As mpirun(), but the last ranks have words of their own."""
        return self.mpirun(n, *words, ":", "-n", n_more, *more_before,
                           program.FX8, *more, before=before)

    def of_whom_one(self, n, rank, words, environment):
        """The command that starts n ranks, one of them with more in its
        environment."""
        more = ["env", *(f"{name}={value}"
                         for name, value in environment.items())]
        command = []
        for count, before in ((rank, []), (1, more), (n - rank - 1, [])):
            if count > 0:
                command += [":", "-n", str(count), *before, program.FX8,
                            *map(str, words)]
        return [MPIRUN, *command[1:]]

    def start_ranks(self, n, recording, *arguments, share=0.5):
        """Start n ranks, who wait at this share of the recording until
        let_go(), but not as they compare their copies of it, before they
        write; returns mpirun and the processes of the ranks, in no order, once
        they write."""
        process = subprocess.Popen(
            [MPIRUN, "-n", str(n), program.FX8, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.holding(recording, share, self.output + ".part"),
                 **self.environment})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.wait_for(process, self.output + ".part")
        ranks = ranks_of(process)
        self.assertEqual(len(ranks), n)
        return process, ranks

    def errors_of(self, process):
        """Let the ranks go on after a signal; returns what they write to stderr
        until their end."""
        self.let_go()
        return process.communicate(timeout=60)[1]

    def errors(self, done):
        """The lines that fx8 has written to stderr."""
        return [line for line in done.stderr.splitlines()
                if line.startswith("fx8: ") and "warning" not in line]

    def assert_one_error(self, done, code, *mentions):
        """One line of fx8 among mpirun's own, and the exit code."""
        self.assertEqual(done.returncode, code, done.stderr)
        lines = self.errors(done)
        self.assertEqual(len(lines), 1, done.stderr)
        for mention in mentions:
            self.assertIn(mention, lines[0])

    def assert_same(self, got, want):
        """Two files of the same content."""
        self.assertEqual(same_file.differences(got, want), [])

    def keep_want(self, recording, *extra):
        """Keep what one process writes as `want`, and return it."""
        self.well(*self.words(recording, "--quiet", *extra))
        os.rename(self.output, self.path("want"))
        return program.read(self.path("want"))

    def assert_part(self, want, line, n_killed=0):
        """As many dumps of the .part as a line says are marked, and right; of
        others it has nothing, but for one of each rank whose kill came between
        the dump and its mark."""
        part = self.output + ".part"
        found = re.search(rf"; {re.escape(part)} keeps (\d+) dumps?:", line)
        self.assertIsNotNone(found, line)
        n_kept = int(found.group(1))
        got = program.read(part)
        with h5py.File(part) as file:
            is_there = file["fx8/checksum"][...] != -1
        self.assertEqual(n_kept, np.count_nonzero(is_there))
        for name in "visibilities", "flags", "nsamples":
            np.testing.assert_array_equal(getattr(got, name)[is_there],
                                          getattr(want, name)[is_there])
        begun = np.any(got.nsamples[~is_there] != 0, axis=(1, 2, 3))
        self.assertLessEqual(np.count_nonzero(begun), n_killed)
        return is_there

    def go_on(self, recording, n_ranks, n_kept):
        """Ranks, or one process, complete the .part; its dumps are kept, and
        the result is `want`."""
        words = self.words(recording, "--resume")
        done = (self.well(*words) if n_ranks == 1
                else self.mpirun(n_ranks, *words, "--mpi"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"; {n_kept} finished before", done.stdout)
        self.assert_same(self.output, self.path("want"))
        os.remove(self.output)

    def files(self):
        return sorted(name for name in os.listdir(self.folder)
                      if ".uvh5" in name or name.startswith("look"))

    def check(self, recording, counts, *extra, asked="--mpi"):
        """Results of n ranks, asked for like this, are those of one process.
        """
        self.well(*self.words(recording, "--quiet", *extra), code=(0, 3))
        names = self.files()
        self.assertGreater(len(names), 0)
        for name in names:
            os.rename(self.path(name), self.path(f"{name}.one"))
        for n in counts:
            with self.subTest(ranks=n, extra=extra):
                done = self.mpirun(n, *self.words(recording, asked, "--quiet",
                                                  *extra))
                self.assertIn(done.returncode, (0, 3), done.stderr)
                self.assertEqual(self.files(),
                                 sorted(names + [f"{k}.one" for k in names]))
                for name in names:
                    self.assert_same(self.path(name), self.path(f"{name}.one"))
                    if ".uvh5" in name:
                        program.read(self.path(name))   # checks the checksums
                    os.remove(self.path(name))
        for name in names:
            os.remove(self.path(f"{name}.one"))

    def eventful(self, n_dumps=7, is_complex=True, name="eventful.h5"):
        """Dumps of 2 ms, 3 antennas: inputs that begin in dump 2 and near the
        end of dump 4, a dead one, missing samples, markers across the borders
        of dumps, a last dump of 70 %."""
        n = int(2000 * (n_dumps - 0.3))
        samples = program.noise(2026, 3, 2, n, is_complex=is_complex)
        samples[0, 1, :4700] = 0
        samples[1, 0, :9990] = 0
        samples[2, 1] = 0
        samples[1, 1, 3950:4200] = -128 * (1 + 1j if is_complex else 1)
        missing = [(-1, -1, 7900, 300), (0, 0, 1990, 20), (2, 0, 0, 2500)]
        return self.write(program.Scene(samples, missing=missing), name)

    def segments(self, n_dumps=2, is_complex=True, name="segments.h5"):
        """Dumps of 67,936 samples, of 3 segments with 4 channels (2 of real
        samples), the last of 70 %; 3 antennas: inputs that begin in the second
        segment and in the last dump, a dead one, missing samples and markers
        across the borders of segments and dumps, a gap longer than a block."""
        n, segment = int(67_936 * (n_dumps - 0.3)), 8192 * 4
        samples = program.noise(2027, 3, 2, n, is_complex=is_complex)
        samples[0, 1, :segment + 900] = 0
        samples[1, 0, :67_936 * (n_dumps - 1) + 1500] = 0
        samples[2, 1] = 0
        samples[1, 1, 2 * segment - 40:2 * segment + 90] = -128 * (
            1 + 1j if is_complex else 1)
        missing = [(-1, -1, segment - 70, 150), (0, 0, 67_900, 60),
                   (2, 0, 0, 2500), (-1, -1, 2 * segment + 500, 300)]
        return self.write(program.Scene(samples, missing=missing), name)

    def set_up(self, precision="int8", keys=None, channels=16, dump_s=0.002,
               **more):
        # loud enough to clip
        self.configure(oracle.Setup(channels, dump_s, precision=precision,
                                    target_rms=60, missing_value=-128, **more),
                       {"correlator.threads": 1, **(keys or {})})
