# SPDX-License-Identifier: BSD-3-Clause
"""Runs that a power failure ends: of what was written, some pages reach the disk.

Shows (failures, power loss): whichever pages of the .part and of the .part.undo
    are older than others, and wherever they end, of INT8 without and with
    compression, `--resume` completes the result: 27 failures at random moments
    (`FX8_LONG=1`: 1,998) of runs, a third of which go on with a paused one and
    lose no dump of it, and a third are ended early by a signal. Behind a pause, a
    failure loses no dump, and going on reads none; nor after a kill of a process.
    Without the .part.undo, a dump whose counts were lost is computed again, as a
    damaged one is where a quick-look reads it; compressed files are refused, and
    copies of them. Failures of the .part.undo, at every 7th write (`FX8_LONG=1`:
    each)
Within: equal
Because: each page has all writes up to some moment since an earlier one, none of
    which the disk need have kept: only synchronising keeps them
In: test_undo.c
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

ROUNDS = 1998 if program.LONG else 27
# FP32 has no clips, and a good recording no dead inputs: counts that are not lost
# with the tables of HDF5, by which a dump shows that it was.
GOOD = {"output.compression": "gzip", "correlator.precision": "fp32"}
KINDS = {}, {"output.compression": "gzip"}, GOOD
WAYS = "alone", "resumed", "ended early"


class PowerLoss(ResumedJob):
    """The machine stops, and what it held of the .part in memory is lost."""

    def lose(self, end, begin, seed, *words, clock, **environment):
        """A run whose .part has some pages as they were at write `begin`."""
        done = self.correlate(self.input, "--quiet", *words, environment={
            **program.faulty("lose", self.part, end),
            "FX8_FAULT_FROM": str(begin), "FX8_FAULT_SEED": str(seed),
            "FX8_FAULT_CLOCK": str(clock), **environment})
        # a run that a signal ends may have a dump less than another one
        self.assertIn(done.returncode, (-9, 130) if environment else (-9,),
                      done.stderr)

    def outcome(self):
        """Go on, to the end; how many dumps were kept."""
        kept = self.resume()
        self.check()
        self.assertFalse(os.path.exists(self.undo))
        return kept

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
        for keys, way in itertools.product(KINDS, WAYS):
            if keys is GOOD:
                self.write(program.Scene(program.noise(19, 4, 2, 60_000)),
                           axes=("time", "antenna", "pol"))
            self.job(keys)
            paused = self.pause()
            words = ("--resume",) if way == "resumed" else ()
            self.begin(words)
            writes = self.count_writes(*words)
            term = {}
            if way == "ended early":
                term = {"FX8_FAULT_TERM": str(writes // 2)}
                self.clear()
                writes = self.count_writes(code=130, **term)
            dice = random.Random(19)
            found = collections.Counter()
            for seed in range(ROUNDS // len(KINDS) // len(WAYS)):
                end = dice.randrange(writes - 60 if term else 1, writes)
                begin = dice.choice((0, dice.randrange(end), end - 20, end - 9))
                with self.subTest(keys=keys, way=way, end=end, begin=begin,
                                  seed=seed):
                    self.begin(words)
                    # at 10,000 times the speed, ten seconds pass in a dump
                    self.lose(end, begin, seed, *words,
                              clock=seed % 3 * 10000, **term)
                    kept = self.outcome()
                    found[kept] += 1
                    if words:
                        self.assertGreaterEqual(kept, paused)
            print(f"# {keys} {way}: {writes} writes; dumps kept: {dict(found)}")
            self.assertGreater(max(found), 0)
            if not term:
                self.assertGreater(len(found), 1)

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
        """Returns the finished dumps, and those that are kept: what was written
        since the last synchronisation may be lost, and the first dump is."""
        self.assertRegex(error, r"^fx8: error: \S+out\.uvh5\.part: cannot sync "
                         r"it: Input/output error; \S+ keeps .*$")
        self.assertFalse(os.path.exists(self.output))
        marks = self.marks()
        self.assertTrue((marks >= -1).all(), marks)
        with h5py.File(self.part, "r+") as file:
            file["Data/visdata"][0] = 0
        kept = self.resume()
        self.check()
        return np.count_nonzero(marks != -1), kept

    def test_failed_synchronisation(self):
        process = self.pause_slow("none", program.faulty("sync", self.part, 2))
        _, error = self.end(process, code=1)
        finished, kept = self.failed_synchronisation(error)
        self.assertGreater(finished, 4)
        self.assertEqual(kept, 0)
        # as the gains of an input are set that begins late; before the marks are
        # whole; before the file gets its name
        for at, want in enumerate(((10, 0), (30, 29), (30, 29)), 2):
            self.clear()
            done = self.correlate(
                self.input, "--quiet",
                environment=program.faulty("sync", self.part, at))
            self.assertEqual(self.failed_synchronisation(done.stderr), want)
        # before there is anything; before the first dump
        for at in 0, 1:
            self.clear()
            done = self.correlate(self.input, "--quiet", environment=(
                program.faulty("sync", self.part, at)))
            self.assert_one_line(done, 1, f"{self.part}: cannot sync it")
            self.assertFalse(os.path.exists(self.part))
            self.assertFalse(os.path.exists(self.undo))

    def test_what_a_pause_has_written_is_not_read(self):
        """Unless a run that was killed has gone on with it, and only the .part is
        there."""
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
            os.remove(self.undo)
            self.assertEqual(np.count_nonzero(self.marks() < -1), 0)
            finished = np.count_nonzero(self.marks() != -1)
            if compression == "none":
                self.assertEqual(self.resume(), finished - 1)

    def kill(self, keys):
        """A run that is killed midway; its finished dumps."""
        self.job(keys)
        self.clear()
        process = self.start_held("--quiet")
        self.wait_until(process, "a dump", lambda: waiting.marked(self.part) > 3)
        process.kill()
        process.communicate()
        self.let_go()
        return self.finished()

    def killed(self, keys):
        """The same of a .part that has lost what says that the power did not
        fail."""
        finished = self.kill(keys)
        os.remove(self.undo)
        return finished

    def test_what_a_kill_has_left_is_not_read(self):
        for compression in "none", "gzip":
            finished = self.kill({"output.compression": compression})
            with h5py.File(self.part, "r+") as file:
                file["Data/visdata"][0] = 0
            saved = shutil.copy(self.undo, self.path("saved"))
            self.assertEqual(self.resume(), finished)
            self.assertFalse(os.path.exists(self.undo))
            # a kill after the result has got its name leaves it
            os.rename(saved, self.undo)
            self.assertEqual(self.resume(), self.n_dumps)
            self.assertFalse(os.path.exists(self.undo))

    def test_failures_of_undo(self):
        """Writes of the .part.undo fail: nothing is lost."""
        self.job({"output.compression": "gzip"})
        count = self.path("count")
        self.correlate(self.input, "--quiet", environment=(
            program.faulty("part", self.undo, 10**9, count)))
        self.check()
        writes = int(program.text(count))
        self.assertGreater(writes, 5)
        for at in range(0, writes, 1 if program.LONG else 7):
            with self.subTest(at=at):
                self.clear()
                done = self.correlate(self.input, "--quiet", environment=(
                    program.faulty("full", self.undo, at)))
                self.assert_one_line(done, 1, f"{self.undo}: cannot write it: "
                                     "No space left on device")
                self.complete()
                self.assertFalse(os.path.exists(self.undo))

    def test_an_undo_that_cannot_be_read(self):
        finished = self.kill({})
        done = self.correlate(self.input, "--resume", environment=(
            program.faulty("eio", self.undo, 0)))
        self.assert_one_line(done, 1, f"{self.part}: cannot be restored from "
                             f"{self.undo}: Input/output error")
        self.assertEqual(self.complete(), finished)

    def test_another_file_of_that_name(self):
        self.job({})
        self.save(self.undo, "precious")
        done = self.correlate(self.input, "--quiet")
        self.assert_one_line(done, 1, f"{self.undo}: cannot write it: "
                             "File exists")
        self.assertEqual(program.text(self.undo), "precious")

    def test_another_file_beside_an_ended_result(self):
        """It is not renamed before it is protected."""
        self.job({"output.compression": "gzip"})
        process = self.start_held("--quiet")
        self.wait_until(process, "dumps", lambda: waiting.marked(self.part) > 4)
        self.end(process, signal.SIGTERM)
        finished = self.finished()
        self.save(self.undo, "precious")
        done = self.correlate(self.input, "--quiet", "--resume")
        self.assert_one_line(done, 1, f"{self.undo}: cannot write it: File "
                             "exists")
        self.assertFalse(os.path.exists(self.part))
        os.remove(self.undo)
        self.assertEqual(self.resume(), finished)
        self.check()

    def test_an_ended_result_beside_a_lost_one(self):
        """It is not begun again because its other half has lost every dump."""
        self.job({"correlator.precision": "both"},
                 ("out.int8.uvh5", "out.fp32.uvh5"))
        whole, lost = self.outputs[0], self.outputs[1] + ".part"
        self.copy_want()
        self.left()
        os.rename(whole + ".part", whole)
        with h5py.File(lost, "r+") as file:
            file["Data/visdata"][...] = 0
        before = self.contents()
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, f"{whole}: none of its dumps is finished "
                             "in all results: expected --force ")
        self.assertEqual(self.contents(), before)

    def test_a_part_that_was_renamed(self):
        """It has not ended well: its dumps are read."""
        finished = self.killed({})
        with h5py.File(self.part, "r+") as file:
            file["Data/visdata"][0] = 0
        os.rename(self.part, self.output)
        self.assertEqual(self.resume(), finished - 1)
        self.check()

    def test_a_compressed_part_that_was_renamed(self):
        """Its .part.undo stays where it is, also if --resume is refused."""
        finished = self.kill({"output.compression": "gzip"})
        os.rename(self.part, self.output)
        done = self.correlate(self.input, "--resume", "--set",
                              "channelizer.taps=8")
        self.assert_one_line(done, 2, f"{self.output}: is of another run: ")
        self.assertTrue(os.path.exists(self.undo))
        self.assertEqual(self.resume(), finished)
        self.check()

    def test_a_copy(self):
        """Nobody knows whether it was made while the run wrote."""
        finished = self.kill({"output.compression": "gzip"})
        os.rename(self.part, self.path("kept"))
        shutil.copy(self.path("kept"), self.part)
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, "its .part.undo is damaged, or this is a "
                             "copy of its file: expected the file itself")
        os.rename(self.path("kept"), self.part)
        self.assertEqual(self.complete(), finished)

    def test_paused_again_before_a_dump(self):
        """All that it has is on the disk, as before."""
        self.job({"output.compression": "gzip"})
        self.copy_want()
        self.left(5)
        # the sixth dump needs more of the recording
        process = self.start_held("--quiet", "--resume", share=0.21)
        self.wait_for(process, self.undo)
        self.end(process, signal.SIGUSR1, signal.SIGTERM, code=75)
        self.assertFalse(os.path.exists(self.undo))
        shutil.copy(self.part, self.path("copy"))
        os.rename(self.path("copy"), self.part)
        self.assertEqual(self.complete(), 5)

    def test_counts_that_were_lost(self):
        for name in "valid_spectra", "dead", "clips":
            with self.subTest(name=name):
                finished = self.killed({})
                with h5py.File(self.part, "r+") as file:
                    file[f"fx8/{name}"][1] = file[f"fx8/{name}"][1] ^ 1
                self.assertEqual(self.resume(), finished - 1)
                self.check()

    def test_damage_that_was_found(self):
        """A run that is killed before it has mended it leaves no mark of it."""
        self.job({})
        for write in range(0, 30, 3):
            self.clear()
            self.copy_want()
            self.left(5)
            with h5py.File(self.part, "r+") as file:
                data = file["Data/visdata"]
                data[2 * (len(data) // self.n_dumps)] = 0
            killed = self.correlate(self.input, "--quiet", "--resume",
                                    environment=program.faulty(
                                        "kill", self.part, write))
            self.assertEqual(killed.returncode, -signal.SIGKILL)
            self.resume()
            self.check()

    def test_damage_that_a_quick_look_would_find(self):
        """It reads the dumps that are kept, after a pause too."""
        self.job({"postprocess.quicklook": self.look,
                  "output.compression": "gzip"}, ("out.uvh5", "look.h5"))
        self.copy_want()
        self.left(5)
        with h5py.File(self.part, "r+") as file:
            data = file["Data/visdata"]
            data[2 * (len(data) // self.n_dumps)] = 0
        self.assertEqual(self.resume(), 4)
        self.check()

    def test_a_compressed_part_alone(self):
        """Nobody knows whether HDF5 finds its chunks; a pause needs no other
        file."""
        self.killed({"output.compression": "gzip"})
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, f"{self.part}: compressed, and neither "
                             "whole nor paused: expected its .part.undo")
        self.well(*self.words(self.input, "--force", "--quiet"))
        self.check()
