# SPDX-License-Identifier: BSD-3-Clause
"""Two runs with the same output, started at random moments, while the .part is
moved, removed or replaced: each ends with its own whole result or with an
error, never with a file of the other.

Shows (failures, two runs on one name): 200 times at random moments, while the
    .part is moved, removed or replaced (40 times under each checker), every
    result is whole and of a run that succeeded, every other run ends with one
    line, and a foreign .part stays
Within: to the bit
In: scenario/faults.py test_part_swapped_before_it_is_renamed
"""
import os
import random
import time

import numpy as np

import oracle
import program

# A checker makes a run five to twenty times slower.
IS_CHECKED = bool({"ASAN_OPTIONS", "TSAN_OPTIONS"} & os.environ.keys())
ROUNDS = 40 if IS_CHECKED and not program.LONG else 200
THEIRS = b"somebody else's"


class TwoRuns(program.Job):
    """Two different recordings, so that a result shows which run wrote it."""

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(16, 0.002, precision="int8"),
                       {"correlator.threads": 2, "output.compression": "gzip"})
        generator = np.random.default_rng(201)
        self.inputs, self.want = [], []
        for number in range(2):
            samples = generator.integers(-60, 60, (4, 2, 40_000)) + 0j
            self.inputs.append(self.write(program.Scene(samples),
                                          f"{number}.h5"))
            self.want.append(self.bytes_of(self.result(self.inputs[number])))
        self.part = self.output + ".part"
        self.moved = self.path("moved.uvh5")

    def bytes_of(self, got):
        return (got.visibilities.tobytes(), got.flags.tobytes(),
                got.nsamples.tobytes())

    def content(self, path):
        return self.bytes_of(program.read(path))

    def start(self, number, is_forced):
        return super().start(*self.words(self.inputs[number], "--quiet"),
                             *["--force"] * is_forced)

    def meddle(self, how):
        """Move, remove or replace the .part; returns whether it existed."""
        try:
            if how == "remove":
                os.remove(self.part)
            else:
                os.rename(self.part, self.moved)
        except FileNotFoundError:
            return False
        if how == "replace":
            self.save(self.part, THEIRS)
        return True

    def finish(self, process):
        _, err = process.communicate(timeout=300)
        self.assertIn(process.returncode, (0, 1, 2), err)
        self.assertNotIn("Sanitizer", err)
        if process.returncode != 0:
            lines = err.splitlines()
            self.assertEqual(len(lines), 1, err)
            self.assertTrue(lines[0].startswith("fx8: error: "), err)
        return process.returncode, err

    def check(self, ended, forced, is_replaced):
        """Compare the files with what the runs reported."""
        done = [number for number in range(2) if ended[number][0] == 0]
        self.assertEqual(os.path.exists(self.output), bool(done), ended)
        if done:
            self.assertIn(self.content(self.output),
                          [self.want[number] for number in done])
        if is_replaced and not any(forced):
            self.assertEqual(program.content(self.part), THEIRS)
        for code, err in ended:
            if code != 0 and "the result is now " in err:
                self.assertIn(self.content(self.moved), self.want)
            if code != 0 and "stays in" in err:
                self.assertIn(self.content(self.part), self.want)

    def test_at_random_moments(self):
        dice = random.Random(7)
        begin = time.monotonic()
        self.finish(self.start(0, True))
        alone_s = time.monotonic() - begin
        os.remove(self.output)
        count = {}
        for _ in range(ROUNDS):
            how = dice.choice(("leave", "leave", "remove", "move", "replace"))
            forced = [dice.random() < 0.5, dice.random() < 0.5]
            wait_s = dice.uniform(0, alone_s)
            first = self.start(0, forced[0])
            while (how != "leave" and first.poll() is None
                   and not os.path.exists(self.part)):
                time.sleep(0.001)
            time.sleep(wait_s if how == "leave" else wait_s / 3)
            is_touched = how != "leave" and self.meddle(how)
            second = self.start(1, forced[1])
            ended = [self.finish(first), self.finish(second)]
            with self.subTest(how=how, forced=forced, ended=ended):
                self.check(ended, forced, is_touched and how == "replace")
            kind = (how if is_touched else "leave", ended[0][0], ended[1][0])
            count[kind] = count.get(kind, 0) + 1
            for path in (self.output, self.part, self.moved):
                if os.path.exists(path):
                    os.remove(path)
        print(f"# {ROUNDS} rounds, {alone_s:.3f} s alone: {count}")
        # every kind of ending occurred
        self.assertTrue(any(kind[1] == 1 for kind in count), count)
        self.assertTrue(any(kind[2] == 2 for kind in count), count)
        self.assertTrue(any(kind[1:] == (0, 0) for kind in count), count)
