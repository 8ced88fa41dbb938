# SPDX-License-Identifier: BSD-3-Clause
"""fx8 plot of results in which data are flagged, absent or not numbers.

Shows (commands, poor data): `fx8 plot` draws no level of an input that is
    flagged and names one that is absent; a dead one stays dead; it leaves out
    cells that are not finite and says how many, and refuses a .part without a
    finished dump; where flags differ between dumps, it shows the share of inputs
    flagged in every cell, without inputs that are flagged throughout, and
    waterfalls say what their blank cells are
Within: 10⁻⁹ of the largest value
Because: sums of doubles in another order
"""
import json
import unittest
import xml.etree.ElementTree

import numpy as np

import plot
import program


class Poor(plot.Plotted):
    """What is drawn, as numbers."""

    def test_uv_leaves_out_what_is_flagged(self):
        def flag(file):
            flags = file["Data/flags"][...].reshape(-1, *self.result.flags.shape[1:])
            flags[:, self.row(1, 5)] = True
            file["Data/flags"][...] = flags.reshape(file["Data/flags"].shape)

        path = self.changed(self.file, flag, "less.uvh5")
        x = [np.array(self.plot("uv", file=file)[0]["series"][0]["x"], float)
             for file in (self.file, path)]
        self.assertEqual(np.flatnonzero(np.isnan(x[1]) & ~np.isnan(x[0])).tolist(),
                         [self.row(1, 5)])

    def judged(self, name, change):
        """The overview of a changed result: levels drawn, its verdict."""
        path = self.changed(self.file, change, f"{name}.uvh5")
        picture = self.path(f"{name}.svg")
        verdict = self.well("plot", path, "-o", picture).stdout
        levels = self.plot("overview", file=path)[0]
        drawn = sum(label is not None and label != ""
                    for series in levels["series"]
                    for label in series["labels"])
        return drawn, verdict.removeprefix(f"{picture}: ").strip()

    def test_what_has_no_level(self):
        """Flagged inputs are left out, absent ones are named; a dead one stays
        dead although it is flagged."""
        header = self.result.header
        ours = (header["ant_1_array"] == 1) | (header["ant_2_array"] == 1)

        def flag(file):
            file["Data/flags"][...] = True

        def flag_one(file):
            flags = file["Data/flags"][...]
            flags[ours] = True
            file["Data/flags"][...] = flags

        def empty(file):
            file["Data/nsamples"][...] = np.nan
            file["Data/flags"][...] = False

        def empty_one(file):
            values = file["Data/nsamples"][...]
            values[ours] = 0
            file["Data/nsamples"][...] = values

        dead = "ANT003 X (dead)"
        for name, change, drawn, verdict in (
                ("flag", flag, 1,
                 f"1 of 1 input looks wrong: {dead}; 11 more are flagged"),
                ("one", flag_one, 10, "2 of 10 inputs look wrong: "
                 f"{dead}, ANT004 Y (weak); 2 more are flagged"),
                ("empty", empty, 12, "12 of 12 inputs look wrong: "
                 "ANT000 X (absent), ANT000 Y (absent), ANT001 X (absent), "
                 "ANT001 Y (absent), ANT002 X (absent), ANT002 Y (absent) "
                 "and 6 more"),
                ("gone", empty_one, 12, "4 of 12 inputs look wrong: ANT001 X "
                 f"(absent), ANT001 Y (absent), {dead}, ANT004 Y (weak)")):
            with self.subTest(name):
                self.assertEqual(self.judged(name, change), (drawn, verdict))

        def live(file):
            flag(file)
            file["Data/visdata"][...] = 1

        self.assertEqual(self.judged("live", live), (0, "all is flagged"))

    def test_flags_of_some_dumps(self):
        flags = self.result.flags.copy()

        def flag(file):
            flags[1:3, self.row(2, 2), 8:11, 0] = True
            flags[2, self.row(4, 4), 10, :2] = True
            flags[:, self.row(5, 5)] = True
            file["Data/flags"][...] = flags.reshape(file["Data/flags"].shape)

        path = self.changed(self.file, flag, "some.uvh5")
        autos = np.array([flags[:, self.row(a, a), :, pol]
                          for a in range(plot.N) for pol in range(2)])
        live = autos[~autos.all(axis=(1, 2))]
        self.assertEqual(len(live), 9)          # 1 dead, 2 flagged
        for kind, n_before in ("overview", 6), ("spectrum", 3):
            self.assertEqual(len(self.plot(kind)), n_before)
            *others, panel = self.plot(kind, file=path)
            self.assertEqual(len(others), n_before)
            self.near(panel["matrix"]["values"], 100 * live.mean(axis=0))
            self.assertEqual(panel["matrix"]["map"], "share")
        self.assertEqual(others[2]["title"][:7], "Flagged")
        for name, words, keys in (
                ("spectrum", (), {"none flagged"}),
                ("waterfall", ("--baseline", "2-2"), {"flagged, or no value"}),
                ("waterfall", ("--baseline", "2-2", "--channels", "12-19"),
                 set())):
            picture = self.path(f"{name}{len(words)}.svg")
            self.well("plot", path, "--kind", name, "-o", picture, *words)
            texts = xml.etree.ElementTree.parse(picture).iter(f"{plot.SVG}text")
            self.assertEqual({item.text for item in texts} & {
                "none flagged", "flagged, or no value"}, keys)

    def test_part_without_a_dump(self):
        def begin(file):
            file["Data/nsamples"][...] = 0
            file["Data/flags"][...] = True
            file["Data/visdata"][...] = 0

        path = self.changed(self.file, begin, "new.uvh5.part")
        for kind in plot.KINDS:
            self.assert_one_line(
                program.run("plot", path, "--kind", kind), 1, "new.uvh5.part",
                "no finished dump: expected at least one")

    def test_not_finite(self):
        """Left out of the means, and counted."""
        row = self.row(0, 2)

        def spoil(file):
            values = file["Data/visdata"][...]
            values[row, 3:6, 0] = complex(np.nan, np.inf)
            file["Data/visdata"][...] = values

        path = self.changed(self.file, spoil, "nan.uvh5")
        report = json.loads(self.well("plot", path, "--kind", "phase", "--json",
                                      "--baseline", "0-2").stdout)
        flags = self.result.flags[0, row, 3:6, 0]
        self.assertIn(f"; {np.sum(~flags)} cells are not finite",
                      report["subtitle"])
        values = self.good()[:, row, :, 0]
        values[0, 3:6] = np.nan
        self.degrees_near(report["panels"][0]["series"][0]["y"], plot.mean(values, 0))


if __name__ == "__main__":
    unittest.main()
