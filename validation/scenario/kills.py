# SPDX-License-Identifier: BSD-3-Clause
"""Killed runs: the .part opens and holds every finished dump, equal to those
of an undisturbed run, and another run replaces it with --force.

Shows (failures, kills): after kill -9 between any two writes (12 of them;
    `FX8_LONG=1`: every one), without and with compression, the .part opens and
    holds every finished dump, equal to those of an undisturbed run; another run
    replaces it with --force
Within: equal
"""
import os

import h5py
import numpy as np

import oracle
import program


class Kills(program.Job):
    """One job, killed again and again.  Nothing but a write changes the file, so
    a kill at any moment leaves what one between two writes leaves."""

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

    def check_part(self):
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
                step = 1 if program.LONG else writes // 12
                held = []
                for write in sorted({*range(0, writes, step), writes - 1}):
                    self.assertEqual(self.killed_at(write), -9)
                    if self.is_begun():
                        held.append(self.check_part())
                    else:
                        self.assertEqual(held, [])
                print(f"# {compression}: {writes} writes, dumps {held}")
                # dumps are written one by one, not all at the end
                self.assertEqual(held, sorted(held))
                self.assertGreater(len(set(held)), 8)
                self.assertGreaterEqual(held[-1], self.n_dumps - 1)
