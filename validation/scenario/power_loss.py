# SPDX-License-Identifier: BSD-3-Clause
"""Runs that a power failure ends: of what was written, some pages reach the disk.

Shows (failures, power loss): whichever pages of the .part are older than others,
    and wherever it ends, of INT8 without and with compression, `--resume`
    completes the result, or refuses in one line, and `--force` replaces what is
    there: 24 failures at random moments (`FX8_LONG=1`: 2,000). A dump whose counts
    were lost is computed again; packed chunks behind the end of the file that
    HDF5 knows are refused, and so is a packed result that has changed when it is
    complete
Within: equal
Because: each page has all writes up to some moment since an earlier one, none of
    which the disk need have kept: nothing is synchronised before a run ends
"""
import collections
import os
import random

import h5py

import program
import waiting
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

    def killed(self, keys):
        """The .part of a run that was killed midway; its finished dumps."""
        self.job(keys)
        process = self.start_held("--quiet")
        self.wait_until(process, "a dump", lambda: waiting.marked(self.part) > 3)
        process.kill()
        process.communicate()
        self.let_go()
        return self.finished()

    def chunks(self):
        """Where the visibilities are in the .part."""
        with h5py.File(self.part, "r") as file:
            data = file["Data/visdata"].id
            return [data.get_chunk_info(k) for k in range(data.get_num_chunks())]

    def test_counts_that_were_lost(self):
        for name in "valid_spectra", "dead", "clips":
            with self.subTest(name=name):
                finished = self.killed({})
                with h5py.File(self.part, "r+") as file:
                    file[f"fx8/{name}"][1] = file[f"fx8/{name}"][1] ^ 1
                self.assertEqual(self.resume(), finished - 1)
                self.check()

    def test_chunks_behind_the_end(self):
        self.killed({"output.compression": "gzip"})
        end = max(chunk.byte_offset + chunk.size for chunk in self.chunks())
        # of a superblock of version 0
        program.overwrite(self.part, 40, (end - 1).to_bytes(8, "little"))
        self.assert_one_line(self.correlate(self.input, "--resume"), 1,
                             f"{self.part}: damaged", "--force")

    def test_a_packed_result_that_has_changed(self):
        self.killed({"output.compression": "gzip"})
        first = min(self.chunks(), key=lambda chunk: chunk.chunk_offset)
        process = self.start_held("--quiet", "--resume", share=0.9)
        self.wait_until(process, "more dumps",
                        lambda: waiting.marked(self.part) > self.n_dumps // 2)
        program.overwrite(self.part, first.byte_offset + first.size // 2,
                          bytes(40))
        self.let_go()
        error = process.communicate()[1]
        self.assertEqual(process.returncode, 2, error)
        self.assertIn("dump 0: is not what was written", error)
        self.assertFalse(os.path.exists(self.output))
        self.assertTrue(os.path.exists(self.part))
