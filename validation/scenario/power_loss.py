# SPDX-License-Identifier: BSD-3-Clause
"""Runs that a power failure ends: of what was written, some pages reach the disk.

Shows (failures, power loss): whichever pages of the .part are older than others,
    and wherever it ends, of INT8 without and with compression, `--resume`
    completes the result, or refuses in one line, and `--force` replaces what is
    there: 24 failures at random moments (`FX8_LONG=1`: 2,000)
Within: equal
Because: each page has all writes up to some moment since an earlier one, none of
    which the disk need have kept: nothing is synchronised before a run ends
"""
import collections
import random

import program
from resumed import ResumedJob

ROUNDS = 2000 if program.LONG else 24


class PowerLoss(ResumedJob):
    """The machine stops, and what it held of the .part in memory is lost."""

    def lose(self, end, begin, seed):
        """A run whose .part has some pages as they were at write `begin`."""
        self.clear()
        done = self.correlate(self.input, "--quiet", environment={
            **program.faulty("lose", self.part, end),
            "FX8_FAULT_FROM": str(begin), "FX8_FAULT_SEED": str(seed)})
        self.assertEqual(done.returncode, -9, done.stderr)

    def outcome(self):
        """Go on; how many dumps were kept, or why not."""
        done = self.correlate(self.input, "--resume")
        if done.returncode == 0:
            self.check()
            return self.kept(done.stdout)
        self.assert_one_line(done, done.returncode, self.part)
        self.assertIn(done.returncode, (1, 2))
        self.well(*self.words(self.input, "--force", "--quiet"))
        self.check()
        return "refused"

    def test_pages_lost(self):
        dice = random.Random(19)
        count = self.path("count")
        for keys in {}, {"output.compression": "gzip"}:
            self.job(keys)
            self.clear()
            self.correlate(self.input, "--quiet", environment=program.faulty(
                "kill", self.part, 10**9, count))
            writes = int(program.text(count))
            found = collections.Counter()
            for seed in range(ROUNDS // 2):
                end = dice.randrange(writes // 4, writes)
                begin = dice.choice((0, dice.randrange(end), end - 20, end - 9))
                with self.subTest(keys=keys, end=end, begin=begin, seed=seed):
                    self.lose(end, begin, seed)
                    found[self.outcome()] += 1
            print(f"# {keys}: {writes} writes; dumps kept: {dict(found)}")
            self.assertGreater(len(set(found) - {0, "refused"}), 0)
