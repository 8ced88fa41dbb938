# SPDX-License-Identifier: BSD-3-Clause
"""Runs that a power failure ends: of what was written, some pages reach the disk.

Shows (failures, power loss): whichever pages of the .part are older than others,
    and wherever it ends, of INT8 without and with compression, `--resume`
    completes the result, or refuses in one line, and `--force` replaces what is
    there: 24 failures at random moments (`FX8_LONG=1`: 2,000) of runs, half of
    which go on with a paused one. Behind a pause, a failure loses no dump, and
    going on reads none. A dump whose counts were lost is computed again; packed
    chunks behind the end of the file that HDF5 knows are refused, and so is a
    packed result that has changed when it is complete
Within: equal
Because: each page has all writes up to some moment since an earlier one, none of
    which the disk need have kept: only a pause and the end synchronise them
"""
import collections
import itertools
import os
import random
import shutil
import signal

import h5py
import numpy as np

import program
import waiting
from resumed import ResumedJob

ROUNDS = 2000 if program.LONG else 24
# Behind the last dump, which change HDF5's tables.
LAST_WRITES = 8


class PowerLoss(ResumedJob):
    """The machine stops, and what it held of the .part in memory is lost."""

    def lose(self, end, begin, seed, *words):
        """A run whose .part has some pages as they were at write `begin`."""
        done = self.correlate(self.input, "--quiet", *words, environment={
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

    def pause_slow(self, compression, environment):
        """Pause a run, which has written some dumps by then."""
        self.job({"correlator.kernel": "reference",
                  "output.compression": compression})
        process = self.start(*self.words(self.input),
                             env={**os.environ, **environment})
        self.wait_until(process, "dumps", lambda: waiting.marked(self.part) > 4)
        process.send_signal(signal.SIGUSR1)
        return process

    def marks(self):
        with h5py.File(self.part, "r") as file:
            return file["fx8/checksum"][...]

    def pause(self):
        """A run that is paused midway; its .part is kept as .paused.  Returns the
        dumps that it has brought to the disk."""
        self.clear()
        process = self.start_held("--quiet")
        self.wait_until(process, "dumps", lambda: waiting.marked(self.part) > 4)
        self.end(process, signal.SIGUSR1, code=75)
        n = np.count_nonzero(self.marks() < -1)
        self.assertGreater(n, 4)
        self.assertEqual(self.finished(), n)
        os.rename(self.part, self.part + "aused")
        return n

    def begin(self, words):
        """What is there before a run: nothing, or what another has left."""
        self.clear()
        if words:
            shutil.copy(self.part + "aused", self.part)

    def test_pages_lost(self):
        count = self.path("count")
        for keys, words in itertools.product(
                ({}, {"output.compression": "gzip"}), ((), ("--resume",))):
            self.job(keys)
            paused = self.pause()
            self.begin(words)
            self.correlate(self.input, "--quiet", *words, environment=(
                program.faulty("kill", self.part, 10**9, count)))
            writes = int(program.text(count))
            dice = random.Random(19)
            found = collections.Counter()
            for seed in range(ROUNDS // 4):
                end = dice.randrange(writes // 4, writes)
                begin = dice.choice((0, dice.randrange(end), end - 20, end - 9))
                with self.subTest(keys=keys, words=words, end=end, begin=begin,
                                  seed=seed):
                    self.begin(words)
                    self.lose(end, begin, seed, *words)
                    kept = self.outcome()
                    found[kept] += 1
                    if kept == "refused" and words and not keys:
                        self.assertGreater(end, writes - LAST_WRITES)
                    elif words and not keys:
                        self.assertGreaterEqual(kept, paused)
            print(f"# {keys} {words}: {writes} writes; dumps kept: "
                  f"{dict(found)}")
            if not words:
                self.assertGreater(len(set(found) - {0, "refused"}), 0)

    def test_lost_behind_a_pause(self):
        """All that was not synchronised is lost as the program ends."""
        for compression, seed in itertools.product(("none", "gzip"), range(4)):
            process = self.pause_slow(compression, {
                **program.faulty("lose", self.part),
                "FX8_FAULT_SEED": str(seed)})
            self.end(process, code=75)
            with self.subTest(compression=compression, seed=seed):
                self.assertGreater(self.complete(), 4)

    def failed_synchronisation(self, error):
        """Returns the dumps that are kept; the .part does not say that they are
        on the disk."""
        self.assertRegex(error, r"^fx8: error: \S+out\.uvh5\.part: cannot sync "
                         r"it: Input/output error; \S+ keeps .*$")
        self.assertFalse(os.path.exists(self.output))
        marks = self.marks()
        self.assertTrue((marks >= -1).all(), marks)
        return self.complete()

    def test_failed_synchronisation(self):
        process = self.pause_slow("none", program.faulty("sync", self.part, 0))
        _, error = self.end(process, code=1)
        self.assertGreater(self.failed_synchronisation(error), 4)
        # as the gains of an input are set that begins late; before the marks are
        # whole; before the file gets its name
        for at, kept in enumerate((10, 30, 30)):
            self.clear()
            done = self.correlate(
                self.input, "--quiet",
                environment=program.faulty("sync", self.part, at))
            self.assertEqual(self.failed_synchronisation(done.stderr), kept)

    def test_what_a_pause_has_written_is_not_read(self):
        """Unless a run that was killed has gone on with a packed file: HDF5 gives
        chunks their places while it writes."""
        for compression in "none", "gzip":
            self.job({"output.compression": compression})
            paused = self.pause()
            with h5py.File(self.part + "aused", "r+") as file:
                file["Data/visdata"][0] = 0
            self.begin("--resume")
            self.assertEqual(self.resume(), paused)
            self.begin("--resume")
            process = self.start_held("--quiet", "--resume", share=0.9)
            self.wait_until(process, "more dumps",
                            lambda: waiting.marked(self.part) > paused)
            process.kill()
            process.communicate()
            self.let_go()
            is_packed = compression != "none"
            self.assertEqual(np.count_nonzero(self.marks() < -1),
                             0 if is_packed else paused)
            finished = np.count_nonzero(self.marks() != -1)
            self.assertEqual(self.resume(), finished - is_packed)

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

    def test_a_part_that_was_renamed(self):
        """It has not ended well: its dumps are read."""
        finished = self.killed({})
        with h5py.File(self.part, "r+") as file:
            file["Data/visdata"][0] = 0
        os.rename(self.part, self.output)
        self.assertEqual(self.resume(), finished - 1)
        self.check()

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
