# SPDX-License-Identifier: BSD-3-Clause
"""Runs that are interrupted by a signal, or whose .part is changed during the
run. A file under the final name is always whole.

Shows: as test_output.c
"""
import os
import signal
import time

import program


class Interrupted(program.Job):
    """SIGINT, SIGTERM and SIGHUP finish the current dump and leave a valid
    file."""

    def start(self, recording, *extra, talk=("--quiet",), hold=None, **options):
        """Start a run that waits amid the recording until end()."""
        return super().start(
            *self.words(recording, *talk, *extra), **options,
            env={**os.environ, **(hold or self.holding(recording))})

    def test_signals_leave_the_finished_dumps(self):
        recording = self.many_dumps()
        want = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                process = self.start(recording)
                self.wait_for_dump(process, self.output + ".part")
                _, err = self.end(process, number)
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertFalse(os.path.exists(self.output + ".part"))
                got = program.read(self.output)
                n_dumps = got.visibilities.shape[0]
                self.assertGreater(n_dumps, 0)
                self.assertIn(str(n_dumps), err)
                if want is None:
                    os.rename(self.output, self.path("short.uvh5"))
                    self.correlate(recording)
                    want = program.read(self.output)
                self.assertLess(n_dumps, want.visibilities.shape[0])
                self.assert_equal(got, want, n_dumps=n_dumps)
                self.assertEqual(got.header["Nblts"], got.header["Nbls"]
                                 * n_dumps)
                os.remove(self.output)

    def pair(self):
        return [self.output.replace(".uvh5", f".{kind}.uvh5")
                for kind in ("int8", "fp32")]

    def test_what_was_interrupted_is_not_compared(self):
        process = self.start(self.many_dumps(), "--precision", "both", talk=())
        self.wait_for_dump(process, self.pair()[1] + ".part")
        out, err = self.end(process, signal.SIGINT)
        self.assertNotIn("verdict", out)
        for path in self.pair():
            n_dumps = program.read(path).visibilities.shape[0]
            self.assertRegex(err, rf"\b{n_dumps} of \d+ dumps")

    def test_comparison_stops_at_once(self):
        # an input is levelled later: the files are compared, which takes longer
        recording = self.many_dumps(late=200_000)
        process = self.start(
            recording, "--precision", "both", talk=(),
            hold=self.holding(self.pair()[1], share=0))
        for path in self.pair():
            self.wait_for(process, path)
        out, err = self.end(process, signal.SIGINT)
        self.assertTrue(err.endswith("fx8: error: stopped by a signal\n"), err)
        self.assertNotIn("verdict", out)
        whole = [program.read(path).visibilities.shape for path in self.pair()]
        self.assertEqual(*whole)

    def test_nohup_is_heeded(self):
        recording = self.many_dumps()
        process = self.start(
            recording, "--set", "input.duration_s=0.3",
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for(process, self.output + ".part")
        self.assertEqual(self.end(process, signal.SIGHUP, code=0), ("", ""))

    def pause(self, recording, *extra, dump_s=0.02):
        """A run that waits with every dump written that it has read: a write in
        progress would hide a cut."""
        part = self.output + ".part"
        process = self.start(recording, "--set",
                             f"correlator.integration_time_s={dump_s}", *extra)
        if dump_s < 0.2:
            self.wait_for_dump(process, part)
        else:
            self.wait_for(process, part)
        self.wait_until(process, "a pause between writes", lambda:
                        time.time() - os.stat(part).st_mtime > 0.1)
        return process

    def cut(self, process, size):
        """Cut the .part of a paused run, which a signal then ends."""
        os.truncate(self.output + ".part", size)
        _, err = self.end(process, signal.SIGTERM, code=1)
        self.assertIn("out.uvh5.part: was cut during the run", err)
        self.assertNotIn("keeps", err)
        self.assertFalse(os.path.exists(self.output))
        for name in self.left_over():   # with a finished dump
            os.remove(self.path(name))

    def test_part_cut_during_the_run(self):
        """If another process truncates the .part, no file with holes gets the
        final name."""
        recording = self.many_dumps()
        for size in (0, 5000):
            for compression in ("none", "gzip"):
                with self.subTest(size=size, compression=compression):
                    self.cut(self.pause(
                        recording, "--set",
                        f"output.compression={compression}"), size)

    def test_part_cut_before_the_first_dump(self):
        self.cut(self.pause(self.many_dumps(), dump_s=0.3), 0)
        self.assertEqual(self.left_over(), [])

    def test_interrupted_and_moved(self):
        """The message does not call the remaining file whole."""
        process = self.pause(self.many_dumps())
        os.rename(self.output + ".part", self.path("moved.uvh5"))
        _, err = self.end(process, signal.SIGINT, code=1)
        n_dumps = program.read(self.path("moved.uvh5")).visibilities.shape[0]
        self.assertRegex(err, rf"moved\.uvh5; the run was interrupted after "
                         rf"{n_dumps} of \d+ dumps$")

    def test_second_signal_leaves_nothing_without_a_dump(self):
        recording = self.many_dumps()
        process = self.start(recording, "--set",
                             "correlator.integration_time_s=all")
        self.wait_for(process, self.output + ".part")
        process.send_signal(signal.SIGINT)
        self.wait_for_delivery(process)
        self.end(process, signal.SIGINT)
        self.assertFalse(os.path.exists(self.output))
        self.assertFalse(os.path.exists(self.output + ".part"))
