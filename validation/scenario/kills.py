# SPDX-License-Identifier: BSD-3-Clause
"""Killed runs: the .part opens and holds every finished dump, equal to those
of an undisturbed run, and another run replaces it with --force.

Shows (failures, kills): after kill -9 at 25 random moments (`FX8_LONG=1`: 100)
    and between writes, without and with compression, the .part opens and holds
    every finished dump, equal to those of an undisturbed run; another run
    replaces it with --force
Within: equal
"""
import fcntl
import os
import random
import re
import signal
import struct
import subprocess
import termios
import time

import h5py
import numpy as np

import oracle
import program

# Dumps counted as finished that may still wait for the writer.
IN_FLIGHT = 2


class Kills(program.Job):
    """One job, killed again and again."""

    def setUp(self):
        super().setUp()
        generator = np.random.default_rng(191)
        samples = (generator.integers(-60, 60, (8, 2, 240_000))
                   + 1j * generator.integers(-60, 60, (8, 2, 240_000)))
        self.input = self.write(program.Scene(samples), "in.h5",
                                axes=("time", "antenna", "pol"))
        self.part = self.output + ".part"

    def job(self, compression):
        """Set up the job and run it once undisturbed."""
        self.configure(oracle.Setup(64, 0.002, taps=4, precision="int8"),
            {"correlator.threads": 1, "output.compression": compression})
        self.want = self.result(self.input, "--force")
        self.n_dumps = self.want.visibilities.shape[0]
        self.assertGreater(self.n_dumps, 50)

    def check_part(self, at_least):
        """Check what a kill left; returns the number of its dumps."""
        self.assertFalse(os.path.exists(self.output))
        got = program.read(self.part)
        self.assertEqual(got.visibilities.shape, self.want.visibilities.shape)
        for name, value in self.want.header.items():
            if name != "history":   # has the command and the time
                np.testing.assert_array_equal(got.header[name], value, name)
        # band edges are flagged in every dump
        here = ~got.flags.all(axis=(1, 2, 3))
        n = int(here.sum())
        self.assertGreaterEqual(n, at_least)
        np.testing.assert_array_equal(here, np.arange(self.n_dumps) < n)
        self.assert_equal(got, self.want, n_dumps=n)
        printed = program.run("info", self.part).stdout
        self.assertIn(f"\n  finished       {n} of {self.n_dumps} dumps: a run "
                      "has not come to its end\n", printed)
        # the current dump may have values, but no flags
        self.assertFalse(got.nsamples[n + 1:].any())
        if n > 0:
            np.testing.assert_array_equal(got.gains, self.want.gains)
        return n

    def start(self):
        """Start a run; returns it and the terminal that shows its progress."""
        terminal, screen = os.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, 120, 0, 0))
        process = super().start(*self.words(self.input, "--force"),
                                stdout=subprocess.DEVNULL, stderr=screen)
        os.close(screen)
        return process, terminal

    def wait_for_part(self, process):
        while not os.path.exists(self.part) and process.poll() is None:
            time.sleep(0.0005)

    def kill_after(self, seconds):
        """Kill a run some seconds after it has created its file; returns the
        number of dumps shown as finished, or None if the run had ended."""
        process, terminal = self.start()
        self.wait_for_part(process)
        time.sleep(seconds)
        process.kill()
        process.wait()
        os.set_blocking(terminal, False)
        try:
            shown = os.read(terminal, 1 << 20).decode()
        except (BlockingIOError, OSError):
            shown = ""
        os.close(terminal)
        if os.path.exists(self.output):     # already renamed, hence whole
            self.assert_equal(program.read(self.output), self.want)
            os.remove(self.output)
            return None
        self.assertEqual(process.returncode, -signal.SIGKILL)
        dumps = re.findall(r"dump (\d+)/", shown)
        return max(int(dumps[-1]) - IN_FLIGHT, 0) if dumps else 0

    def test_at_random_moments(self):
        self.job("none")
        moments = 100 if program.LONG else 25
        generator = random.Random(5)
        process, terminal = self.start()
        self.wait_for_part(process)
        begin = time.monotonic()
        process.wait()
        most_s = time.monotonic() - begin
        os.close(terminal)
        self.assertEqual(process.returncode, 0)
        os.remove(self.output)
        held = []
        tries = 0
        while len(held) < moments:
            tries += 1
            self.assertLess(tries, 4 * moments)
            shown = self.kill_after(generator.uniform(0, most_s))
            if shown is None:
                most_s *= 0.9   # this run was faster than the first
                continue
            if not self.is_begun():
                self.assertEqual(shown, 0)
                continue
            held.append(self.check_part(shown))
        print(f"# {tries} kills, {len(held)} files, {min(held)} to "
              f"{max(held)} of {self.n_dumps} dumps")
        self.assertGreater(max(held), 0)
        # another run replaces the leftovers
        self.job("none")
        self.assertFalse(os.path.exists(self.part))

    def is_begun(self):
        """Whether the header is written: before that the file has no dump and
        does not open."""
        try:
            with h5py.File(self.part, "r") as file:
                return "Data/nsamples" in file
        except (OSError, RuntimeError):
            return False

    def killed_at(self, write, count="/dev/null"):
        """Run, killed before its n-th write, or never; returns its status."""
        return self.correlate(
            self.input, "--quiet", "--force", environment=program.faulty(
                "kill", self.part, write, count)).returncode

    def test_between_any_two_writes(self):
        for compression in ("none", "gzip"):
            with self.subTest(compression=compression):
                self.job(compression)
                count = self.path("count")
                self.assertEqual(self.killed_at(10**9, count), 0)
                os.remove(self.output)
                writes = int(program.text(count))
                self.assertGreater(writes, 3 * self.n_dumps)
                steps = 400 if program.LONG else 12
                held = []
                for write in sorted({*range(0, writes, writes // steps),
                                     writes - 1}):
                    self.assertEqual(self.killed_at(write), -9)
                    if self.is_begun():
                        held.append(self.check_part(0))
                    else:
                        self.assertEqual(held, [])
                print(f"# {compression}: {writes} writes, dumps {held}")
                self.assertEqual(held, sorted(held))
                self.assertGreaterEqual(held[-1], self.n_dumps - 1)
