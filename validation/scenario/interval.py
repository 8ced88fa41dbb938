# SPDX-License-Identifier: BSD-3-Clause
"""Bounds by directed rounding, through the program: correlate twice, compare
--rigorous; the figures equal numpy's; an error of one last place is reported.

Shows (correlation, bounds through the program): with `correlate --precision
    interval` and `compare --rigorous`, FP32 lies inside the bounds; a value
    one last place outside is reported with exit 3; figures equal numpy's;
    wrong roles, shapes and weights are refused
Within: inside; median width 1.4 %
Because: half a bin of its histogram, and three digits printed
In: test_compare_files.c, test_session.c
"""
import os
import re
import unittest

import h5py
import numpy as np

import oracle
import program
import uvdata


def numbers(path):
    """Visibilities as pairs of float, [row][channel][product][re, im]."""
    with h5py.File(path, "r") as file:
        values = file["Data/visdata"][...]
    return np.stack([values.real, values.imag], axis=-1)


class Interval(program.Case):
    """Bounds and FP32 of one recording."""

    def correlate_into(self, name, precision, config, recording, *arguments):
        """Run correlate; returns the paths of its results."""
        output = self.path(f"{name}.uvh5")
        done = self.well("correlate", config, recording, "-o", output,
                         "--precision", precision, *arguments)
        written = re.findall(r"^result +(\S+) ", done.stdout, re.MULTILINE)
        for path in written:
            self.assertTrue(os.path.exists(path), path)
        return written

    def bounds_and_fp32(self, config, recording, *arguments):
        """Paths of X, DOWN and UP."""
        bounds = self.correlate_into("out", "interval", config, recording,
                                     *arguments)
        self.assertEqual([os.path.basename(path) for path in bounds],
                         ["out.down.uvh5", "out.up.uvh5"])
        return self.correlate_into("fp32", "fp32", config, recording,
                                   *arguments) + bounds

    def rigorous(self, paths, code):
        """`compare --rigorous` must exit with `code`; returns its output."""
        done = self.well("compare", "--rigorous", *paths, code=code)
        if code != 0:
            self.assert_one_line(done, code)
        return done.stdout + done.stderr

    def demo(self, *arguments):
        """X, DOWN and UP of a simulated sky with lost samples."""
        recording = self.path("demo.h5")
        self.well("simulate", "config/ready/demo.ini", "-o", recording,
                  "--set", "simulate.dropout_fraction=0.2",
                  "--set", "simulate.duration_s=0.2005")
        return self.bounds_and_fp32("config/ready/demo.ini", recording, *arguments)

    def check_figures(self, paths, text):
        """Counts and widths equal numpy's, the median within 1 %."""
        value, down, up = (numbers(path).astype(float) for path in paths)
        with h5py.File(paths[0], "r") as file:
            tested = file["Data/nsamples"][...] > 0
        self.assertTrue((down[tested] <= value[tested]).all())
        self.assertTrue((value[tested] <= up[tested]).all())
        width = (up - down)[tested].ravel()
        self.assertIn(f"tested     {tested.sum()} cells, ", text)
        self.assertIn(f"; {(~tested).sum()} without data\n", text)
        self.assertIn(f"outside    0 of {width.size} numbers\n", text)
        found = re.search(r"^width +median (\S+), largest (\S+), ", text,
                          re.MULTILINE)
        median = np.median(width)
        # half a bin of its histogram, 1/128, and three digits printed, 1/200
        self.assertAlmostEqual(float(found[1]) / median, 1, delta=0.014)
        self.assertAlmostEqual(float(found[2]) / width.max(), 1, delta=0.006)
        return width

    def test_simulated_sky(self):
        for arguments in ((), ("--set", "output.channel_average=4"),
                          ("--set", "input.sideband=lower"),
                          ("--set", "correlator.kernel=reference")):
            with self.subTest(arguments=arguments):
                paths = self.demo(*arguments, "--force")
                text = self.rigorous(paths, 0)
                width = self.check_figures(paths, text)
                self.assertGreater(np.count_nonzero(width), width.size / 2)
                os.remove(self.path("demo.h5"))
                os.remove(self.path("demo.true.uvh5"))
        for path in paths:
            self.assertIn(uvdata.load(self, path).extra_keywords["PRECISN"],
                          ("FP32", "FP32-DOWN", "FP32-UP"))

    @unittest.skipUnless(program.RECORDINGS, program.NO_RECORDINGS)
    def test_recording_of_tart(self):
        paths = self.bounds_and_fp32("config/ready/tart.ini", program.TART)
        text = self.rigorous(paths, 0)
        self.check_figures(paths, text)
        print(*(f"# {line}" for line in text.splitlines()), sep="\n")

    def test_recorded_integers(self):
        """Method none: INT8, FP32 and both bounds agree except for the last
        rounding to float."""
        recording = self.write(program.Scene(
            program.noise(7, 3, 2, 9000, level=40)))
        config = self.ini(
            oracle.Setup(1, 0.003, method="none", precision="int8"),
            name="none.ini")
        paths = self.bounds_and_fp32(config, recording)
        self.rigorous(paths, 0)
        self.rigorous(self.correlate_into("int8", "int8", config, recording)
                      + paths[1:], 0)
        down, up = (numbers(path) for path in paths[1:])
        self.assertTrue((np.nextafter(down, np.float32(np.inf)) >= up).all())

    def test_a_last_place_too_far(self):
        paths = self.demo()
        up = numbers(paths[2])
        with h5py.File(paths[0], "r") as file:
            tested = np.argwhere((file["Data/nsamples"][...] > 0)
                                 & file["Data/flags"][...])
        row, channel, product = map(int, tested[len(tested) // 2])

        def spoil(file):
            data = file["Data/visdata"]
            value = data[row, channel, product]
            value = np.complex64(complex(
                value.real, np.nextafter(up[row, channel, product, 1],
                                         np.float32(np.inf))))
            data[row, channel, product] = value.astype(data.dtype)
        altered = self.changed(paths[0], spoil)
        text = self.rigorous([altered, *paths[1:]], 3)
        self.assertIn("outside    1 of ", text)
        self.assertIn(f", channel {channel} (", text)
        self.assertIn("imaginary part ", text)
        self.assertIn("verdict: outside: 1 of ", text)

    def test_wrong_files_are_one_line(self):
        value, down, up = self.demo()
        for paths, words in (((value, up, down), "PRECISN: FP32-UP"),
                             ((down, down, up), "PRECISN: FP32-DOWN"),
                             ((value, down, value), "PRECISN: FP32:"),
                             ((value, down, self.path("absent.uvh5")),
                              "absent.uvh5")):
            self.assertIn(words, self.rigorous(paths, 1))
        coarse = self.correlate_into(
            "coarse", "fp32", "config/ready/demo.ini", self.path("demo.h5"),
            "--set", "output.channel_average=2")
        self.assertIn("Nfreqs: ", self.rigorous([*coarse, down, up], 1))

        def lose(file):
            file["Data/nsamples"][3, 2, 1] = 0.125
        self.assertIn("Data/nsamples[3, 2, 1]: ", self.rigorous(
            [value, self.changed(down, lose), up], 1))
        self.rigorous([value, down], 2)
