# SPDX-License-Identifier: BSD-3-Clause
"""Several ranks of MPI on a machine that fails one of them.

Shows (failures, ranks on a bad machine): a full disk and a failed write of one
    of two ranks (2 moments of each; `FX8_LONG=1`: every write, also of rank 0
    and of one of four): one line with the rank and the system's reason, exit 1,
    and `--resume` completes the result. A kill of one of four ranks between two
    writes (4; `FX8_LONG=1`: every write of two of them): `--resume` completes
    the result, and no finished dump is lost. Writes that take a part of what
    they are given change nothing. Of two runs on one output at the same time one
    ends with its result, the other with one line
Within: equal
"""
import concurrent.futures
import errno
import os
import subprocess

import numpy as np

import program
from ranks_job import Ranks, end_launcher
from resumed import ResumedJob


def moments(n_writes, few):
    """Numbers of some writes, of which one is the last."""
    return range(n_writes) if program.LONG else [
        k * (n_writes - 1) // few for k in range(1, few + 1)]


class BadDisk(Ranks):
    """A disk that takes no more of one rank."""

    def setUp(self):
        super().setUp()
        self.part = self.output + ".part"
        self.recorded = self.eventful()
        self.set_up()
        self.want = self.keep_want(self.recorded)

    def run_faulty(self, n, rank, *fault):
        return self.launch(self.of_whom_one(
            n, rank, self.words(self.recorded, "--mpi"),
            program.faulty(*fault)))

    def judge(self, done, rank, number):
        """One line; what the .part keeps goes on.  Returns how many dumps."""
        self.assert_one_error(done, 1, "out.uvh5.part: cannot write ",
                              os.strerror(number),
                              *([f"rank {rank}: "] if rank > 0 else []))
        line = self.errors(done)[0]
        n_kept = 0
        if " keeps " in line:
            is_there = self.assert_part(self.want, line, n_killed=1)
            n_kept = int(np.count_nonzero(is_there))
            self.assertIn(": --resume goes on", line)
            self.go_on(self.recorded, 1, n_kept)
        self.assertEqual(self.files(), [])
        return n_kept

    def sweep(self, n, rank):
        """Let writes of one of n ranks fail, and all that follow."""
        count = self.path("count")
        done = self.run_faulty(n, rank, "full", self.part, 10**9, count)
        self.assertEqual(done.returncode, 0, done.stderr)
        os.remove(self.output)
        for fault, number in ("full", errno.ENOSPC), ("broken", errno.EIO):
            kept = []
            for at in moments(int(program.text(count)), 2):
                with self.subTest(ranks=n, rank=rank, fault=fault, at=at):
                    done = self.run_faulty(n, rank, fault, self.part, at)
                    kept.append(self.judge(done, rank, number))
            print(f"# {fault} on rank {rank} of {n}: dumps kept {kept}")
            self.assertGreater(max(kept), 1)

    def test_failed_writes(self):
        self.sweep(2, 1)
        if program.LONG:
            self.sweep(2, 0)
            self.sweep(4, 2)

    def test_writes_in_parts(self):
        self.environment.update(program.faulty("part", self.part, 0))
        done = self.mpirun(2, *self.words(self.recorded, "--mpi"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.output, self.path("want"))


class TwoRuns(Ranks):
    """On one output at the same time."""

    def test_while_another_runs(self):
        recording = self.many_dumps()
        self.keep_want(recording)
        words = self.words(recording, "--mpi", "--quiet")
        process, _ = self.start_ranks(2, recording, *words)
        for option in "--force", "--resume":
            done = self.mpirun(2, *words, option)
            self.assert_one_error(done, 2, "out.uvh5.part: locked: ")
        errors = self.errors_of(process)
        self.assertEqual(process.returncode, 0, errors)
        self.assert_same(self.output, self.path("want"))

    def test_begun_together(self):
        """Whoever is first takes long enough for the other to meet it."""
        recording = self.many_dumps(n_antennas=24)
        slow, runs = ("--set", "correlator.kernel=reference"), []
        self.keep_want(recording, *slow)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name in "0", "1":
                os.mkdir(self.path(name))
                # two launchers of Open MPI may not make the same folder
                runs.append(pool.submit(
                    self.mpirun, 2, *self.words(recording, "--mpi", *slow),
                    environment={"OMPI_MCA_orte_tmpdir_base":
                                 self.path(name)}))
        winner, loser = sorted((run.result() for run in runs),
                               key=lambda done: done.returncode)
        self.assertEqual(winner.returncode, 0, winner.stderr)
        self.assert_one_error(loser, 2, "out.uvh5.part: locked: ")
        self.assert_same(self.output, self.path("want"))
        self.assertEqual(self.files(), ["out.uvh5"])


class Killed(ResumedJob, Ranks):
    """Kills of one of four ranks between two of its writes."""

    def killed(self, rank, write, count="/dev/null"):
        """Run, one rank killed before its n-th write; returns the launcher's
        status."""
        process = subprocess.Popen(
            self.of_whom_one(4, rank, self.words(self.input, "--mpi"),
                             program.faulty("kill", self.part, write, count)),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.environment)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            end_launcher(process)
        return process.returncode

    def between_writes(self, rank, few):
        count = self.path("count")
        self.clear()
        self.assertEqual(self.killed(rank, 10**9, count), 0)
        held = []
        for write in moments(int(program.text(count)), few):
            self.clear()
            self.assertNotEqual(self.killed(rank, write), 0)
            held.append(self.complete())
        print(f"# rank {rank}: dumps kept {held}")
        self.assertGreater(max(n or 0 for n in held), 0)

    def test_killed_between_writes(self):
        self.job()
        self.between_writes(2, 1)
        self.between_writes(0, 2)

    def test_killed_between_writes_of_packed_files(self):
        """Rank 0 writes the dumps of all."""
        self.job({"output.compression": "gzip"})
        self.between_writes(0, 1)
