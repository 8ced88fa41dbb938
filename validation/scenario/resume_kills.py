# SPDX-License-Identifier: BSD-3-Clause
"""Killed runs that go on: whatever was finished is kept, and the result is that
of a run that nothing disturbed.

Shows (failures, resume after a kill): after kill -9 between any two writes (6
    of each of four jobs; `FX8_LONG=1`: 100) and at random moments, also of runs
    that resume (12; `FX8_LONG=1`: 1,000), of one of four ranks (4;
    `FX8_LONG=1`: 1,000), and while a result that a signal ended is taken up,
    `--resume` completes the result: every dataset and attribute is that of an
    undisturbed run, but for the date and the command in its history; no finished
    dump is lost, none is computed again but the last, to compare it. INT8
    and FP32 in one run with a quick-look, two phase centres, missing samples,
    inputs that begin late or are dead, a shorter last dump; without and with
    compression
Within: equal
"""
import os
import random
import shutil
import signal
import subprocess
import time

import program
from ranks_job import MPIRUN, Ranks, end_launcher, ranks_of
from resumed import ResumedJob
import waiting

STEPS = 100 if program.LONG else 6  # in all files of a job
ROUNDS = 1000 if program.LONG else 12
RANK_ROUNDS = 1000 if program.LONG else 4


class ResumeKills(ResumedJob):
    """Kills between writes, of one file after the other, and at any time."""

    def killed(self, write, part, *extra, count="/dev/null"):
        """Run, killed before its n-th write to a file; returns its status."""
        return self.correlate(self.input, "--quiet", *extra,
                              environment=program.faulty(
                                  "kill", part, write, count)).returncode

    def between_writes(self, *names):
        """Kill between writes to some outputs, and go on each time."""
        count = self.path("count")
        held = set()
        for name in names:
            part = self.path(name) + ".part"
            self.clear()
            self.assertEqual(self.killed(10**9, part, count=count), 0)
            writes = int(program.text(count))
            self.assertGreater(writes, self.n_dumps)
            step = max(1, writes * len(names) // STEPS)
            for write in sorted({*range(0, writes, step), writes - 1}):
                self.clear()
                self.assertEqual(self.killed(write, part), -9)
                held.add(self.complete())
                # and a run that goes on, killed likewise
                self.clear()
                self.assertEqual(self.killed(write // 2, part), -9)
                self.assertIn(self.killed(write // 2, part, "--resume"),
                              (0, -9))
                self.complete()
        print(f"# {names}: dumps kept {sorted(held - {None})}")
        self.assertGreater(len(held), 4)

    def test_killed_between_writes(self):
        self.job()
        self.between_writes("out.uvh5")

    def test_killed_between_writes_of_packed_files(self):
        self.job({"output.compression": "gzip",
                  "quantizer.target_rms": 60})  # clips
        self.between_writes("out.uvh5")

    def test_killed_between_writes_of_two_precisions(self):
        self.job({"correlator.precision": "both",
                  "postprocess.quicklook": self.look},
                 ("out.int8.uvh5", "out.fp32.uvh5", "look.h5"))
        self.between_writes("out.int8.uvh5", "out.fp32.uvh5", "look.h5")

    def test_killed_between_writes_of_two_centres(self):
        centres = self.save("centres.csv", "name,ra_deg,dec_deg\n"
                            "A,60,-27\nB,80,-30\n")
        self.job({"delay.mode": "track", "delay.phase_centers": centres,
                  "delay.dut1_s": 0, "output.channel_average": 4},
                 ("out.A.uvh5", "out.B.uvh5"))
        self.between_writes("out.B.uvh5")

    def test_killed_while_a_result_is_taken_up(self):
        """One that a signal ended: until it has its length again."""
        ended = self.path("ended")
        for compression in ("none", "gzip"):
            self.job({"output.compression": compression})
            self.end(self.start_held("--quiet"), signal.SIGTERM)
            os.rename(self.output, ended)
            kept = []
            for write in range(0, 40, 1 if program.LONG else 3):
                self.clear()
                shutil.copy(ended, self.output)
                if self.killed(write, self.part, "--resume") == 0:
                    break
                kept.append(self.complete())
            print(f"# {compression}: dumps kept {kept}")
            self.assertGreater(min(kept), 0)
            self.assertGreater(len(kept), 10)

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
                    finished = self.finished() or 0
                    held.append(finished)
                    n_lost += max(0, max(before, marked) - finished)
                    before = finished
                    if os.path.exists(self.output):
                        break
                again = self.resume()
                n_lost += finished - again
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
        hold = self.holding(self.input, dice.uniform(0.7, 0.95) if waits else 1)
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
                finished = self.finished() or 0
                held.append(finished)
                n_lost += max(0, marked - finished)
                if dice.random() < 0.5:
                    again = self.resume()
                else:
                    done = self.mpirun(4, *self.words(self.input, "--mpi",
                                                      "--resume"))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    again = self.kept(done.stdout)
                n_lost += finished - again
                self.check()
        self.assertGreater(max(held), 0)
        print(f"# {RANK_ROUNDS} runs of four ranks, one killed: "
              f"{self.summary(held)}; finished dumps lost: {n_lost}")
        self.assertEqual(n_lost, 0)
