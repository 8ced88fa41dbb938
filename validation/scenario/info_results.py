# SPDX-License-Identifier: BSD-3-Clause
"""fx8 info of results: UVH5 and quick-look files, whole, unfinished, damaged.

Shows: as scenario/info.py
"""
import json
import os
import re
import shutil

import h5py
import numpy as np

import program


class Results(program.Job):
    """UVH5 and quick-look files."""

    def setUp(self):
        super().setUp()
        self.look = self.path("look.h5")
        self.well(*self.words(self.recording(), "--quiet", "--set",
                              f"postprocess.quicklook={self.look}"))

    def info(self, path):
        """What info prints, and its JSON."""
        return (self.well("info", path).stdout,
                json.loads(self.well("info", "--json", path).stdout))

    def test_visibilities(self):
        text, report = self.info(self.output)
        self.assertIn("visibilities (UVH5)", text)
        self.assertIn("  products       XX\n", text)
        result = program.read(self.output)
        self.assertEqual(report["kind"], "visibilities")
        np.testing.assert_array_equal(report["frequencies_hz"],
                                      result.header["freq_array"])
        self.assertEqual(report["n_times"], result.visibilities.shape[0])
        self.assertEqual(report["n_baselines"], 3)
        self.assertEqual(report["products"], ["XX"])
        self.assertAlmostEqual(report["flagged_share"], result.flags.mean(), 15)
        self.assertEqual(report["keywords"]["PRECISN"],
                         result.keywords["PRECISN"].decode())

    def test_phase_centre_and_delays(self):
        """Printed as the keywords have them; not without delays."""
        self.assertIn("  phase centre   none\n", self.info(self.output)[0])
        self.well(*self.words(
            self.recording(), "--quiet", "--force",
            "--set=delay.mode=track", "--set=delay.dut1_s=-0.2",
            "--set=delay.phase_center_ra_deg=250",
            "--set=delay.phase_center_dec_deg=-35"))
        text, report = self.info(self.output)
        words = report["keywords"]
        self.assertEqual(words["DELAYMOD"], "TRACK")
        self.assertAlmostEqual(report["phase_center_deg"][0], 250, 12)
        self.assertIn("  phase centre   ra 250.000000, dec -35.000000 deg",
                      text)
        self.assertIn(f"at most {words['DELMAX'] * 1e9:.6g} ns, "
                      f"{words['DELRATE'] * 1e9:.3g} ns/s; up to "
                      f"{words['DELREST']:.2f} sample left by whole-sample "
                      f"shifts; up to {words['DELLOSS'] * 100:.3g} % of the "
                      "coherence lost", text)

    def test_unfinished(self):
        """A .part: the dumps up to the last one with data are finished."""
        self.assertNotIn("finished",
                         program.run("info", self.output).stdout)
        part = self.output + ".part"
        shutil.copy(self.output, part)
        with h5py.File(part, "r+") as file:
            n_times = int(file["Header/Ntimes"][()])
            self.assertGreater(n_times, 2)
            for n in n_times, n_times - 1, 1, 0:
                file["Data/flags"][3 * n:] = True       # 3 baselines
                file.flush()
                text, report = self.info(
                    shutil.copy(part, self.path("copy.uvh5.part")))
                self.assertIn(f"\n  finished       {n} of {n_times} dumps: a "
                              "run has not come to its end\n", text)
                self.assertEqual(report["n_finished_times"], n)

    def test_quick_look(self):
        text, report = self.info(self.look)
        self.assertIn("look.h5: quick-look\n", text)
        self.assertIn("INT8 results, functions ieee", text)
        with h5py.File(self.look, "r") as file:
            shape = file["coherence"].shape
            self.assertEqual(
                (report["n_dumps"], report["n_baselines"], report["n_channels"],
                 report["n_products"], 2), shape)
            self.assertEqual(report["n_dumps_written"], shape[0])
            self.assertEqual(report["first_julian_date"],
                             file["time_julian_date"][0])
            self.assertEqual(report["last_frequency_hz"],
                             file["frequency_hz"][-1])
            self.assertEqual(report["counts"], {
                name: int(item[()]) for name, item in file["counts"].items()})

    def test_quick_look_of_a_killed_run(self):
        with h5py.File(self.look, "r+") as file:
            del file["counts"]
            file["time_julian_date"][1:] = np.nan
            n_dumps = len(file["time_julian_date"])
        text, report = self.info(self.look)
        self.assertIn(f"1 of {n_dumps} dumps", text)
        self.assertIn("has not come to its end", text)
        self.assertIsNone(report["counts"])

    def test_damaged_quick_look(self):
        for name in ("frequency_hz", "product", "time_julian_date"):
            path = self.path("spoilt.h5")
            shutil.copy(self.look, path)
            with h5py.File(path, "r+") as file:
                del file[name]
            self.assert_one_line(program.run("info", path), 1, "spoilt.h5",
                                 name)
            with h5py.File(path, "r+") as file:
                file.create_dataset(name, (1 << 40,), chunks=(64,), dtype="f8")
            self.assert_one_line(program.run("info", path), 1, name,
                                 "expected one axis of 1 to")

    def test_control_characters_in_names(self):
        """A file name with a newline and an escape character: printed as '?' in
        text and as \\u00.. in JSON, like bytes that are not UTF-8."""
        def odd(name):
            return self.path(f"a\n\x1b[2J{name}")

        look = self.path("named_later.h5")
        ini = self.path("demo.ini")
        text = program.text("config/ready/demo.ini").replace(
            "demo_", os.path.abspath("config/ready/demo_")).replace(
                "0.5005", "0.2005")
        self.save(ini, text)
        commands = (
            (2, "simulate", ini, "-o", odd("in.h5")),
            (3, "correlate", ini, odd("in.h5"), "-o", odd("out.uvh5"),
             "--set", f"postprocess.quicklook={look}", "--precision", "both"),
            (1, "info", odd("in.h5"), "--no-levels"),
            (1, "info", odd("in.h5"), odd("in.h5"), "--no-levels"),
            (1, "info", odd("out.int8.uvh5")),
            (2, "compare", odd("out.int8.uvh5"), odd("out.fp32.uvh5")),
            (1, "compare", odd("out.int8.uvh5"), odd("in.h5")))
        for n_names, *arguments in commands:
            with self.subTest(arguments=arguments):
                done = program.run(*arguments)
                report = done.stdout + done.stderr
                self.assertGreaterEqual(
                    len(re.findall(r"a\?\?\[2J", report)), n_names, report)
                self.assertTrue(report.replace("\n", "").isprintable(), report)
                self.assertNotIn("/a\n", report)
        # keys must not hold control characters, so the file is renamed later
        os.rename(look, odd("look.h5"))
        self.assertIn("a??[2Jlook.h5: quick-look\n",
                      program.run("info", odd("look.h5")).stdout)
        done = program.run("info", odd("look.h5"), "--json")
        self.assertEqual(json.loads(done.stdout)["file"], odd("look.h5"))
