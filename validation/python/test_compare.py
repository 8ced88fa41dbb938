# SPDX-License-Identifier: BSD-3-Clause
"""fx8 compare: honest files stay inside its limits; a coarser quantiser, a
swapped baseline or a scaled file gives exit 3.

Shows (commands, compare): files stay inside the limits at 2, 4, 8, 16, 20, 28
    LSB and on TART; exit 3 on a coarser quantiser, swapped baselines, a
    rotated or scaled file
Within: exit codes
In: test_compare.c, test_compare_files.c, python/test_recording_tart.py
"""
import shutil

import h5py
import numpy as np

import oracle
import program


class Compare(program.Case):
    """INT8 and FP32 of one recording of common and independent noise."""

    def make(self, target_rms=20):
        """Files of both precisions; returns their paths."""
        generator = np.random.default_rng(151)
        count = 128 * 2000
        common = generator.normal(size=count) + 1j * generator.normal(
            size=count)
        own = (generator.normal(size=(5, count))
               + 1j * generator.normal(size=(5, count)))
        level = np.array([6, 12, 20, 25, 30])[:, None]
        samples = program.to_int8(level * (0.5 * common + 0.85 * own))
        recording = self.write(program.Scene(samples[:, None, :]))
        config = self.ini(
            oracle.Setup(128, 128 * 500e-6, taps=4, target_rms=target_rms,
                         precision="int8"),
            {"correlator.precision": "both"}, name="both.ini")
        output = self.path("out.uvh5")
        self.well("correlate", config, recording, "-o", output,
                  "--quiet", "--force", code=(0, 3))
        return self.path("out.int8.uvh5"), self.path("out.fp32.uvh5")

    def compare(self, one, two):
        done = self.well("compare", one, two, code=(0, 3))
        return done.returncode

    def altered(self, path, change):
        """A copy of a file with its visibilities changed."""
        copy = self.path("altered.uvh5")
        shutil.copy(path, copy)
        with h5py.File(copy, "r+") as file:
            dataset = file["Data/visdata"]
            dataset[...] = change(dataset[...]).astype(dataset.dtype)
        return copy

    def test_honest_files_are_inside_the_limits(self):
        for target in (8, 16, 20, 28):
            with self.subTest(target_rms=target):
                self.assertEqual(self.compare(*self.make(target)), 0)

    def test_coarser_quantiser(self):
        # INT8 made at 5 LSB but labelled as made at 20
        coarse, exact = self.make(5)
        shutil.move(coarse, self.path("coarse.uvh5"))
        fine, exact = self.make(20)
        with h5py.File(self.path("coarse.uvh5"), "r+") as file, \
                h5py.File(fine, "r") as other:
            file["fx8/gain"][...] = other["fx8/gain"][...]
        self.assertEqual(self.compare(self.path("coarse.uvh5"), exact), 3)

    def test_swapped_baselines(self):
        rough, exact = self.make()

        def swap(values):
            rows = values.reshape(-1, 15, *values.shape[1:]).copy()
            rows[:, [1, 2]] = rows[:, [2, 1]]
            return rows.reshape(values.shape)
        self.assertEqual(self.compare(self.altered(rough, swap), exact), 3)

    def test_conjugated_file(self):
        rough, exact = self.make()

        def turn(values):
            return values * np.exp(0.02j)
        self.assertEqual(self.compare(self.altered(rough, turn), exact), 3)

    def test_scaled_file(self):
        rough, exact = self.make()
        self.assertEqual(
            self.compare(self.altered(rough, lambda v: 1.02 * v), exact), 3)
