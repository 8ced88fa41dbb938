# SPDX-License-Identifier: BSD-3-Clause
"""Killed runs that go on: whatever was finished is kept, and the result is that
of a run that nothing disturbed.

Shows (failures, resume after a kill): after kill -9 at random moments, also of
    runs that resume (12; `FX8_LONG=1`: 1,000), and of one of four ranks (4;
    `FX8_LONG=1`: 1,000), `--resume` completes the result: every dataset and
    attribute is that of an undisturbed run, but for the date and the command in
    its history; no finished dump is lost, none is computed again but the last,
    to compare it. Missing samples, inputs that begin late or are dead, a shorter
    last dump; without and with compression
Within: equal
In: scenario/resume_writes.py
"""
import os
import random
import signal
import subprocess
import time

import program
from ranks_job import MPIRUN, Ranks, end_launcher, ranks_of
from resumed import ResumedJob
import waiting

ROUNDS = 1000 if program.LONG else 12
RANK_ROUNDS = 1000 if program.LONG else 4


class ResumeKills(ResumedJob):
    """Kills at any time."""

    def test_killed_at_random_moments(self):
        dice = random.Random(17)
        held, n_lost = [], 0
        for alone_s in self.slow_jobs():
            for _ in range(ROUNDS // 2):
                self.clear()
                before = 0
                for extra in ((), ("--resume",), ("--resume",)):
                    process = self.start(*self.words(self.input, "--quiet",
                                                     *extra))
                    time.sleep(dice.uniform(0, alone_s))
                    marked = waiting.marked(self.outputs[0] + ".part")
                    process.kill()
                    process.communicate()
                    finished = self.finished()
                    # of a torn .part, --resume must find at least these
                    is_torn = finished is None
                    if is_torn:
                        finished = max(before, marked)
                    held.append(finished)
                    n_lost += max(0, max(before, marked) - finished)
                    before = finished
                    if os.path.exists(self.output):
                        break
                again = self.resume()
                n_lost += max(0, finished - again) if is_torn else abs(
                    finished - again)
                self.check()
        print(f"# {ROUNDS} runs killed up to three times: "
              f"{self.summary(held)}; finished dumps lost: {n_lost}")
        self.assertEqual(n_lost, 0)


class KilledRanks(ResumedJob, Ranks):
    """One of four ranks is killed; the launcher then ends the others."""

    def kill_a_rank(self, dice, alone_s):
        """Run until a random rank is killed, every other time while one waits
        and some dumps are finished; returns how many were marked by then."""
        waits = dice.random() < 0.5
        hold = self.holding(self.input, dice.uniform(0.7, 0.95) if waits else 1,
                            after=self.part)
        process = subprocess.Popen(
            [MPIRUN, "-n", "4", program.FX8, *map(str, self.words(
                self.input, "--mpi", "--quiet"))],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**self.environment, **hold})
        # most of its life a short run finds its ranks
        first = self.part if waits or dice.random() < 0.9 else self.input
        ranks = []
        while process.poll() is None and (
                len(ranks) < 4 or not os.path.exists(first) or
                waits and not waiting.marked(self.part)):
            ranks = ranks_of(process)
            time.sleep(0.001)
        time.sleep(dice.uniform(0, alone_s))
        marked = waiting.marked(self.part)
        if process.poll() is None:
            try:
                os.kill(dice.choice(ranks), signal.SIGKILL)
            except ProcessLookupError:
                pass    # it has just ended
        self.let_go()
        end_launcher(process)
        return marked

    def test_a_rank_killed_at_random_moments(self):
        dice = random.Random(18)
        held, n_lost = [], 0
        for alone_s in self.slow_jobs():
            for _ in range(RANK_ROUNDS // 2):
                self.clear()
                marked = self.kill_a_rank(dice, alone_s)
                finished = self.finished()
                is_torn = finished is None
                if is_torn:
                    finished = marked
                held.append(finished)
                n_lost += max(0, marked - finished)
                if dice.random() < 0.5:
                    again = self.resume()
                else:
                    done = self.mpirun(4, *self.words(self.input, "--mpi",
                                                      "--resume"))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    again = self.kept(done.stdout)
                n_lost += max(0, finished - again) if is_torn else abs(
                    finished - again)
                self.check()
        self.assertGreater(max(held), 0)
        print(f"# {RANK_ROUNDS} runs of four ranks, one killed: "
              f"{self.summary(held)}; finished dumps lost: {n_lost}")
        self.assertEqual(n_lost, 0)
