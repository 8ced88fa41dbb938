# SPDX-License-Identifier: BSD-3-Clause
"""Runs that go on while the machine fails: one line each, and nothing is lost.

Shows (failures, resume on a bad machine): a failed read of the .part, a full
    disk and a failed write at any moment (9 of them; `FX8_LONG=1`: each one), any
    one allocation that fails (likewise), a signal while dumps are verified: one
    line, and the .part keeps what it had;
    the files of two phase centres stay, or go, together; a result is whole only
    with its quick-look;
    a first run that fails so (3; `FX8_LONG=1`: at each write) goes on. Short
    reads and writes, a file system without locks, a .part of tomorrow, a
    recording that was cut and is whole again: the result is that of an
    undisturbed run
Within: equal
"""
import errno
import os
import shutil
import signal
import time

import h5py

import oracle
import program
from resumed import ResumedJob

STEPS = 10**9 if program.LONG else 9
# Writes before the first one after which something is kept.
NEAR = 6 if program.LONG else 1


class ResumeFaults(ResumedJob):
    """A .part with five dumps, and more of them if a run has gone on."""

    def begin(self, keys=None, dumps=5, **options):
        self.job(keys, **options)
        self.copy_want()
        self.left(dumps)

    def again(self, dumps=5):
        self.clear()
        self.copy_want()
        self.left(dumps)

    def go_on(self, fault, file, at=0, count="/dev/null"):
        return self.correlate(self.input, "--resume",
                              environment=program.faulty(fault, file, at,
                                                         count))

    def moments(self, fault, file, steps=STEPS):
        """Moments of a run at which a fault can befall its file."""
        count = self.path("count")
        self.assertEqual(self.go_on(fault, file, 10**9, count).returncode, 0)
        n = int(program.text(count))
        return sorted({*range(0, n, max(1, n // steps)), n - 1})

    def test_failed_reads(self):
        self.begin()
        before = program.content(self.part)
        moments = [("eio", at) for at in self.moments("eio", self.part)]
        self.again()    # some ten of 310 are of a dump's data
        moments += [("glitch", at) for at in self.moments(
            "glitch", self.part, max(STEPS, 40))]
        for fault, at in moments:
            self.again()
            done = self.go_on(fault, self.part, at)
            with self.subTest(fault=fault, at=at, stderr=done.stderr):
                if done.returncode == 0:    # it can be written in pieces
                    self.assertEqual(self.kept(done.stdout), 5)
                    self.check()
                    continue
                self.assert_one_line(done, 1, "out.uvh5.part")
                self.assertGreaterEqual(self.finished(), 5)
                if "cannot read it" in done.stderr:
                    self.assertIn(os.strerror(errno.EIO), done.stderr)
                    self.assertEqual(program.content(self.part), before)
            self.complete()

    def test_failed_writes(self):
        for compression in "none", "gzip":
            self.begin({"output.compression": compression})
            for fault, number in (("full", errno.ENOSPC),
                                  ("broken", errno.EIO)):
                self.again()
                for at in self.moments(fault, self.part):
                    self.again()
                    done = self.go_on(fault, self.part, at)
                    with self.subTest(compression=compression, at=at,
                                      stderr=done.stderr):
                        self.assert_one_line(
                            done, 1, "out.uvh5.part: cannot write",
                            os.strerror(number),
                            "out.uvh5.part keeps ", ": --resume goes on")
                        self.assertFalse(os.path.exists(self.output))
                    self.assertGreaterEqual(self.complete(), 5)

    def test_failed_writes_of_a_first_run(self):
        for compression, fault, number in (("none", "full", errno.ENOSPC),
                                           ("gzip", "broken", errno.EIO)):
            self.job({"output.compression": compression})
            kept = []
            for at in self.moments(fault, self.part,
                                   STEPS if program.LONG else 2):
                self.clear()
                done = self.correlate(self.input, environment=program.faulty(
                    fault, self.part, at))
                with self.subTest(compression=compression, at=at):
                    self.assert_one_line(done, 1, "out.uvh5.part: cannot write",
                                         os.strerror(number))
                    found = program.kept_dumps(done.stderr)
                    self.assertEqual(list(found),
                                     list(map(self.path, self.left_over())))
                    kept.append(self.complete())
                    self.assertEqual(kept[-1], found.get(self.part))
            print(f"# {compression}: dumps kept {kept}")
            self.assertGreater(max(n or 0 for n in kept), 0)

    def failing(self, words, fault, file, at):
        """Run so; returns the files that are left, as the message says."""
        done = self.correlate(self.input, *words,
                              environment=program.faulty(fault, file, at))
        if words and done.returncode == 0:  # it has fewer writes to do
            return self.left_over()
        if fault == "kill":
            self.assertEqual(done.returncode, -signal.SIGKILL)
            return self.left_over()
        self.assert_one_line(done, 1, f"{file}: cannot write")
        left = sorted(map(self.path, self.left_over()))
        self.assertEqual(sorted(program.kept_dumps(done.stderr)), left)
        return left

    def test_failed_writes_of_two_centres(self):
        """One has dumps before the other has any: both stay, or none."""
        centres = self.save("centres.csv", "name,ra_deg,dec_deg\n"
                            "A,60,-27\nB,80,-30\n")
        self.job({"delay.mode": "track", "delay.phase_centers": centres,
                  "delay.dut1_s": 0, "output.compression": "gzip"},
                 ("out.A.uvh5", "out.B.uvh5"))
        for path in self.outputs if program.LONG else self.outputs[1:]:
            part = path + ".part"
            self.clear()
            none, some = 0, self.moments("full", part)[-1]
            while some - none > 1:
                self.clear()
                middle = (none + some) // 2
                if self.failing((), "full", part, middle):
                    some = middle
                else:
                    none = middle
            for at in range(max(0, none - NEAR), some + 1):
                for fault in "full", "kill":
                    with self.subTest(file=part, at=at, fault=fault):
                        self.clear()
                        self.failing((), fault, part, at)
                        # and again, from what that has left
                        left = self.failing(("--resume",), "full", part, at)
                        self.assertIn(len(left), (0, 2))
                        self.resume()
                        self.check()
        # what nothing can be kept of goes, too
        self.clear()
        self.copy_want()
        self.left(5)
        with h5py.File(part, "r+") as file:
            file["fx8/checksum"][...] = -1
        left = self.failing(("--resume",), "full", part, none)
        self.assertIn(len(left), (0, 2))
        self.assertEqual(self.resume(), 0)
        self.check()

    def test_failed_writes_of_a_quick_look(self):
        """No result counts as whole without it, nor with that of a run that
        was ended early."""
        self.job({"postprocess.quicklook": self.look},
                 ("out.uvh5", "look.h5"))
        ended = [self.path("ended"), self.path("ended look")]
        self.clear()
        self.end(self.start_held("--quiet"), signal.SIGTERM)
        for path, kept in zip(self.outputs, ended):
            shutil.copy(path, kept)
        last = self.moments("kill", self.look + ".part")[-1]
        for fault in "full", "kill":
            self.clear()
            for path, kept in zip(self.outputs, ended):
                shutil.copy(kept, path)
            with self.subTest(fault=fault):
                self.assertNotEqual(
                    self.go_on(fault, self.look + ".part", last).returncode, 0)
                self.assertEqual(self.complete(), self.n_dumps)

    def test_short_reads_and_writes(self):
        self.begin()
        for fault, file in (("short", self.input), ("short", self.part),
                            ("part", self.part)):
            self.again()
            done = self.go_on(fault, file)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.check()

    def test_no_locks(self):
        """As some network file systems are mounted."""
        self.begin()
        done = self.go_on("nolock", self.part)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check()

    def test_another_clock(self):
        """No date of a file decides anything."""
        self.begin()
        for day in -40_000, 400:
            self.again()
            when = time.time() + 86_400 * day / 2
            for path in self.part, self.input:
                os.utime(path, (when, when))
            self.assertEqual(self.complete(), 5)

    def test_recording_that_was_cut(self):
        """Shorter while it is copied: refused, and then the run goes on."""
        self.begin()
        before = program.content(self.part)
        whole = self.path("whole.h5")
        os.rename(self.input, whole)
        samples = program.noise(1, 4, 2, 40_000)
        program.write(self.input, program.Scene(samples),
                      axes=("time", "antenna", "pol"))
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, "out.uvh5.part: is of another run",
                             f"fx8/planned_dumps: {self.n_dumps}: expected 20")
        self.assertEqual(program.content(self.part), before)
        shutil.move(whole, self.input)
        self.assertEqual(self.complete(), 5)

    def test_no_memory(self):
        """Whatever it is for."""
        outputs = ("out.int8.uvh5", "out.fp32.uvh5", "look.h5")
        keys = {"correlator.precision": "both", "output.compression": "gzip",
                "postprocess.quicklook": self.look}
        self.begin(keys, outputs=outputs)
        for at in self.moments("memory", self.part):
            self.again()
            done = self.go_on("memory", self.part, at)
            with self.subTest(at=at, stderr=done.stderr):
                if done.returncode != 0:    # it can do without
                    # 2: no file is of a format, no kernel works, without memory
                    self.assertIn(done.returncode, (1, 2))
                    self.assert_one_line(done, done.returncode, "fx8: error: ")
                    self.assertGreaterEqual(self.complete(), 5)
                self.check()

    def test_begun_again_with_another_recording(self):
        """One of two results has no dump: the other one is dropped, and what
        it says of its recording."""
        self.begin({"correlator.precision": "both"}, dumps=1,
                   outputs=("out.int8.uvh5", "out.fp32.uvh5"))
        self.save(self.outputs[1] + ".part", "")
        self.input = self.path("other.h5")
        self.record(seed=222)
        self.assertEqual(self.resume(), 0)
        for path in self.outputs:
            os.rename(path, self.want[path])
        self.well(*self.words(self.input))
        self.check()

    def test_verifying(self):
        """It shows how far it is; one signal ends it, and nothing changes."""
        self.begin(setup=oracle.Setup(512, 0.002, taps=4, precision="int8"),
                   dumps=27)
        before = program.content(self.part)
        for number, code in ((signal.SIGTERM, 130), (signal.SIGUSR1, 75)):
            process = self.start(
                *self.words(self.input, "--resume"),
                env={**os.environ, **program.faulty("slow", self.part, 0)})
            line = process.stderr.readline()
            self.assertRegex(line, r"^fx8: verify +\d+ %  dump \d+/\d+")
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, code, err)
            self.assertIn("out.uvh5.part keeps what was finished before: "
                          "--resume goes on", err)
            self.assertEqual("paused before a dump was computed" in err,
                             number == signal.SIGUSR1)
            self.assertEqual(program.content(self.part), before)
        self.assertEqual(self.complete(), 27)
