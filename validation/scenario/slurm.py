# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of config/ready/slurm as shipped, on a real Slurm with two
pretended nodes: time limits, nodes that fail, job arrays, MPI.

Shows (failures, a batch system): a job that its time limit stops, and
    one whose node fails, queue again and end with the result of a run that
    nobody stopped; its log begins with the time that `fx8 plan` says; one that
    is killed at its limit is completed by the next job; ranks on two nodes write
    the same, with (pretend) cards too; an array of coarse channels, of
    which one task is stopped and queues again, is joined by the job that depends
    on it
Within: every dataset and attribute equal but for history's date and command; the
    time a factor of 2
Because: Slurm and other tests use the same processors; plan_check.py judges it
In: scenario/resume.py, scenario/ranks.py, scenario/join.py
"""
import os
import re
import shutil
import tempfile
import unittest
from fractions import Fraction

import h5py
import numpy as np

import mini_slurm
import oracle
import program
import same_file
import waiting

SCRIPTS = os.path.abspath("config/ready/slurm")
# Slurm looks at time limits every 30 s, and starts a requeued job after 8 s.
MINUTES_S = 300
# For a job that is stopped many times, on a slow or busy machine.
MANY_RUNS_S = 1200


@unittest.skipUnless(program.LONG, "FX8_LONG=1: a batch system")
class Slurm(program.Job):
    """One cluster for all tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lacking = mini_slurm.missing()
        if lacking:
            raise unittest.SkipTest(f"not installed: {', '.join(lacking)}")
        folder = tempfile.mkdtemp(prefix="fx8-slurm-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.cluster = mini_slurm.Cluster(folder)
        cls.cluster.environment["FX8"] = program.FX8
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def submit(self, script, *words, options=()):
        """sbatch of a script with a core for each task; its log is `log`."""
        self.log = self.path(f"{script}.log")
        return self.cluster.submit(
            f"--output={self.log}", f"--chdir={self.folder}",
            "--cpus-per-task=1", *options, f"{SCRIPTS}/{script}", *words)

    def finish(self, job, seconds=MINUTES_S):
        try:
            self.cluster.wait(job, "COMPLETED", seconds)
        except AssertionError as error:
            raise AssertionError(
                f"{error}: {program.text(self.log)}") from None

    def restarts(self, job):
        """How often a job was queued again."""
        shown = self.cluster.run("scontrol", "show", "job", job).stdout
        return int(shown.split("Restarts=")[1].split()[0])

    def job(self, **options):
        """The words of a job that takes long, after one run that nobody stops.
        The mean of all channels, for a small result."""
        words = [self.many_dumps(**{"n_antennas": 24, **options}),
                 "--set", "correlator.kernel=reference",
                 "--set", "output.channel_average=64"]
        self.well(*self.words(*words), timeout=MINUTES_S)
        self.want = self.path("want.uvh5")
        os.rename(self.output, self.want)
        return [self.config, self.output, *words]

    def check(self):
        self.assertEqual(same_file.differences(self.output, self.want), [])
        self.assertFalse(os.path.exists(self.output + ".part"))

    def await_dump(self, output=None):
        """Wait until the .part holds a dump."""
        part = (output or self.output) + ".part"
        mini_slurm.wait_for(lambda: waiting.marked(part), 60)

    def test_time_limit(self):
        """Of a job that takes longer, as fx8 plan knows from the node."""
        node = self.path("node.json")
        self.configure(oracle.Setup(8, 2.0, precision="fp32"),
                       {"correlator.threads": 1, "array.positions": "none"})
        recording = self.write(program.Scene(
            program.noise(185, 1024, 2, 12_000), rate=Fraction(10_000)))
        with h5py.File(recording, "r+") as file:
            program.put("voltages", np.tile(file["voltages"], (1, 1, 50)))(file)
        words = (self.config, recording, "--set", "output.channel_average=8")
        self.well("plan", *words, "--write-machine", node, "--quiet",
                  timeout=MANY_RUNS_S)
        alone = self.well("correlate", *words, "-o", self.output,
                          timeout=MANY_RUNS_S).stdout
        took = re.search(r"^time +(\S+) s: ", alone, re.MULTILINE)
        self.assertGreater(float(took[1]), 60)
        self.want = self.path("want.uvh5")
        os.rename(self.output, self.want)
        self.cluster.environment["FX8_NODE"] = node
        self.addCleanup(self.cluster.environment.pop, "FX8_NODE")
        job = self.submit("one_node.sh", self.config, self.output, *words[1:],
                          options=("--time=1", "--signal=USR1@60"))
        self.finish(job, MANY_RUNS_S)
        self.assertGreater(self.restarts(job), 0)
        self.check()
        said = re.search(r"^time +(\S+) s on 1 node, ", program.text(self.log),
                         re.MULTILINE)
        ratio = float(said[1]) / float(took[1])
        self.assertTrue(0.5 < ratio < 2, ratio)

    def test_killed_at_its_time_limit(self):
        """Without a signal ahead of it: SIGTERM, and SIGKILL soon after."""
        words = self.job(n_antennas=336)
        job = self.submit("one_node.sh", *words,
                          options=("--time=1", "--signal=URG@10"))
        self.cluster.wait(job, "TIMEOUT", MINUTES_S)
        self.assertEqual(self.restarts(job), 0)
        self.finish(self.submit("one_node.sh", *words))
        self.check()

    def test_node_fails(self):
        words = self.job()
        job = self.submit("one_node.sh", *words, options=("--nodelist=n1",))
        self.await_dump()
        self.cluster.run("scontrol", "update", "nodename=n1", "state=down",
                         "reason=test")
        self.cluster.wait(job, "PENDING", 60)
        # refused if the node has come back by itself
        self.cluster.run("scontrol", "update", "nodename=n1", "state=resume",
                         check=False)
        self.finish(job)
        self.assertEqual(self.restarts(job), 1)
        self.check()

    def test_ranks_on_two_nodes(self):
        words = self.job()
        job = self.submit("many_nodes.sh", *words,
                          options=("--nodes=2", "--ntasks-per-node=2"))
        self.await_dump()
        self.cluster.run("scancel", "--signal=USR1", job)
        self.finish(job)
        self.assertEqual(self.restarts(job), 1)
        self.check()

    def test_a_card_for_each_rank(self):
        """Eight ranks on two nodes of four pretend cards each."""
        pretend = program.devices(4)
        self.cluster.environment.update(pretend)
        for name in pretend:
            self.addCleanup(self.cluster.environment.pop, name)
        self.configure(extra={"correlator.backend": "cuda"})
        recording = self.recording(n_samples=60_000)
        self.well(*self.words(recording), environment=pretend)
        self.want = self.path("want.uvh5")
        os.rename(self.output, self.want)
        self.finish(self.submit("gpu_nodes.sh", self.config, self.output,
                                recording))
        self.check()
        log = program.text(self.log)
        self.assertRegex(log, r"(?m)^kernels +cuda ")
        self.assertRegex(log, r"(?m)^ *rank 7 ")

    def test_array_of_channels(self):
        """One of its tasks is stopped, and queues again."""
        self.configure(oracle.Setup(64, 0.002, precision="fp32"),
                       {"correlator.threads": 1,
                        "correlator.kernel": "reference"})
        sets, wants = [], []
        for number in range(3):
            sets.append(self.path(f"channel_{204 + number}"))
            os.mkdir(sets[-1])
            samples = np.tile(program.noise(180 + number, 24, 2, 20_000),
                              (1, 1, 20))
            self.write(program.Scene(samples, dc_hz=(204 + number) * 1e6),
                       f"channel_{204 + number}/part.h5")
            wants.append(program.read(self.written(f"{sets[-1]}/part.h5")))
        array = self.submit("channels.sh", self.config, self.path("results"),
                            *sets, options=("--array=0-2",))
        whole = self.path("all.uvh5")
        last = self.submit("join.sh", self.path("results"), whole,
                           options=(f"--dependency=afterok:{array}",))
        self.await_dump(self.path("results/channel_205.uvh5"))
        self.cluster.run("scancel", "--signal=USR1", f"{array}_1")
        self.finish(last)
        self.assertEqual([self.restarts(f"{array}_{k}") for k in range(3)],
                         [0, 1, 0])
        got = program.read(whole)
        for name, axis in (("visibilities", 2), ("flags", 2), ("nsamples", 2)):
            np.testing.assert_array_equal(
                getattr(got, name),
                np.concatenate([getattr(want, name) for want in wants], axis))

    def written(self, recording):
        """A result of its own name."""
        self.count += 1
        path = self.path(f"piece{self.count}.uvh5")
        self.well("correlate", self.config, recording, "-o", path)
        return path
