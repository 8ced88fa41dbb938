# SPDX-License-Identifier: BSD-3-Clause
"""Pictures in which everything can be seen, whatever the data.

Shows (commands, what a picture shows): an input that looks wrong does not set
    the scale of the others; points at half a turn do not lie on the frame; a
    dump between long gaps has a row of its own; a title counts the files
Within: numbers as in plot.py
"""
import json

import numpy as np

import oracle
import plot
import program
from program import put


class Scales(plot.Plotted):

    def test_a_bad_input_does_not_set_the_scale(self):
        def weaken(file):
            data = file["Data/visdata"][...]
            data[self.row(1, 1)::self.result.flags.shape[1], :, 0] *= 1e-5
            file["Data/visdata"][...] = data
        dark = self.changed(self.file, weaken, "dark.uvh5")
        panel = self.plot("spectrum", file=dark)[0]
        self.assertEqual(panel["title"], "Spectra, X; 1 input that looks wrong "
                         "goes beyond the scale")
        self.assertEqual(self.plot("spectrum")[0]["title"], "Spectra, X")
        right = [y for series in panel["series"] if not series["is_bad"]
                 for y in series["y"] if y is not None]
        self.assertLess(np.nanmax(np.array(panel["series"][1]["y"], float)),
                        panel["y"]["low"])
        low, high = min(right), max(right)
        margin = 0.06 * max(high - low, 1)
        np.testing.assert_allclose((panel["y"]["low"], panel["y"]["high"]),
                                   (low - margin, high + margin), rtol=1e-12)

    def test_half_a_turn_is_within_the_frame(self):
        for panel in self.plot("phase"):
            self.assertEqual((panel["y"]["low"], panel["y"]["high"]),
                             (-188, 188))
        matrix = self.plot("waterfall")[1]["matrix"]
        self.assertEqual((matrix["axis"]["low"], matrix["axis"]["high"]),
                         (-180, 180))

    def test_two_dumps_far_apart(self):
        """A row is at least a point of the page, which is 262 high there."""
        n_dumps, n_baselines = self.result.flags.shape[:2]
        times = self.result.header["time_array"].reshape(n_dumps, n_baselines)
        days = np.arange(n_dumps) // (n_dumps - 1)      # of the last: 1
        later = self.changed(self.file, put("Header/time_array", (
            times + days[:, None]).ravel()), "apart.uvh5")
        values = np.array(self.plot("waterfall", file=later)[0]["matrix"][
            "values"], float)
        self.assertEqual(len(values), 260)
        self.assertTrue(np.isfinite(values[[0, -1]]).any(axis=1).all())

    def test_a_title_counts_the_files(self):
        scene = program.Scene(program.noise(5, 2, 1, 4000))
        first = self.write(scene, "a.h5")
        second = self.changed(first, put("@start_time_ns", 4_000_000), "b.h5")
        report = json.loads(self.well("plot", first, second, "--json").stdout)
        self.assertEqual(report["title"], "a.h5 and 1 more: overview")
        self.assertIn("Missing and clipped samples of each input, of those "
                      "read", [panel["title"] for panel in report["panels"]])

    def test_long_results_are_averaged(self):
        """800 dumps: three or four in each of 260 rows."""
        self.configure(oracle.Setup(4, 0.001, precision="int8", method="fft"))
        samples = program.noise(41, 2, 1, 800_000)
        self.well(*self.words(self.write(program.Scene(samples), "long.h5"),
                              "--quiet", "--force"))
        report = json.loads(self.well(
            "plot", self.output, "--kind", "waterfall", "--json").stdout)
        self.assertIn("up to 4 dumps x 1 channel", report["subtitle"])
        good = program.read(self.output)
        values = np.where(good.flags, np.nan, good.visibilities)[:, 1, :, 0]
        rows = (2 * np.arange(len(values)) + 1) * 260 // (2 * len(values))
        want = np.array([plot.mean(values[rows == row], 0) for row in range(260)])
        got = np.array(report["panels"][0]["matrix"]["values"], float)
        self.assertEqual(got.shape, (260, 4))
        self.near(got, plot.decibels(np.abs(want)))
