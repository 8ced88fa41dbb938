# SPDX-License-Identifier: BSD-3-Clause
"""From a recording to science: the commands of README.md that calibrate on a
source, and all lines of data/SCIENCE.md, which go on with their result.

Shows (results, calibrating on a source): the commands of README.md find the
    cables, and the phases that are left are as flat as the page says
Within: 5 sigma; 0.001 deg
Because: means of 10⁶ products whose INT8 samples may differ near ties
In: test_recipe

Shows (results, lines for pyuvdata): data/SCIENCE.md's lines print what the
    page shows, without a warning
Within: 1.5 of the last digit
Because: the digit is rounded, and INT8 samples may differ near ties
In: test_pyuvdata

Shows (results, lines for WSClean and CASA): the same for a waterfall, a
    Measurement Set, and its images by WSClean and by CASA, which have the
    source where it is; nothing is downloaded (`FX8_LONG=1`)
Within: the same
Because: the same
In: test_waterfall, test_measurement_set
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import program

README = program.text("README.md")
SECTIONS = dict(re.findall(r"(?ms)^## (.*?)\n(.*?)(?=^## |\Z)",
                           program.text("data/SCIENCE.md")))
CASA = os.path.join(program.BUILD, "casa")
NO_CASA = "CASA is not installed; check-long does"
has_casa = unittest.skipUnless(
    os.path.exists(os.path.join(CASA, "fx8-stamp")), NO_CASA)


class Science(unittest.TestCase):
    """Lines of pages, run as they are in one folder after README's commands."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="fx8-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.mkdir(cls.path("build"))
        os.symlink(program.FX8, cls.path("build/fx8"))
        os.symlink(os.path.abspath("config"), cls.path("config"))
        cls.commands = next(block for block in program.blocks(README)
                            if "fringe first.uvh5" in block)
        cls.run_lines("bash", "-e", lines=cls.commands)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def run_lines(cls, *interpreter, lines):
        """What the lines print."""
        done = subprocess.run(
            interpreter, input=lines, capture_output=True, text=True,
            cwd=cls.folder, env={**os.environ, "HOME": cls.folder})
        if done.returncode != 0:
            raise AssertionError(f"{lines}{done.stdout}{done.stderr}")
        return done.stdout

    def fringes(self, name):
        return json.loads(program.run("fringe", self.path(name),
                                      "--json").stdout)

    def test_recipe(self):
        """The first fringes are the cables, with errors as the page says;
        nothing is left by the second."""
        first, second = map(self.fringes, ("first.uvh5", "track.uvh5"))
        cables = {int(row.split(",")[0]): float(row.split(",")[5]) for row in
                  program.text("config/ready/track_cables.csv").splitlines()
                  if row[0].isdigit()}
        for antenna in first["antennas"]:
            late = cables[antenna["number"]] - cables[first["reference"]]
            error = antenna["delay_error_ns"]
            self.assertLessEqual(abs(antenna["delay_ns"] - late), 5 * error)
            self.assertLess(error, 2)
            self.assertLess(antenna["phase_error_deg"], 0.05)
        for antenna in second["antennas"]:
            self.assertLess(abs(antenna["delay_ns"]), 0.2)
            self.assertLess(abs(antenna["phase_deg"]), 0.01)
        want = float(re.search(r"# degrees: ([0-9.]+)", README)[1])
        values = program.read(self.path("track.uvh5")).visibilities
        phases = np.angle(values[:, :, 2:-2, 0].mean(axis=(0, 2)), deg=True)
        self.assertAlmostEqual(phases.std(), want, delta=0.001)

    def run_section(self, title, python=sys.executable):
        """Run the blocks of a section of data/SCIENCE.md, and compare what they
        print."""
        printed, n_shown = "", 0
        for language, lines in re.findall(
                r"(?ms)^```(\w+)\n(.*?)^```$", SECTIONS[title]):
            if language == "text":
                self.assert_printed(printed, lines)
                printed, n_shown = "", n_shown + 1
            elif lines.startswith("# ~/"):
                file = pathlib.Path(self.path(lines.split()[1][len("~/"):]))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(lines, encoding="utf-8")
            else:
                printed += self.run_lines(*(
                    ("bash", "-e") if language == "sh" else
                    (python, "-W", "error", "-")), lines=lines)
        self.assertEqual(printed, "", "not on the page")
        return n_shown

    def assert_printed(self, got, want):
        """Words equal, numbers within 1.5 of the last digit that is shown."""
        number = r"\d+(?:\.\d+)?"
        self.assertEqual(re.sub(number, "0", got), re.sub(number, "0", want))
        for a, b in zip(re.findall(number, got), re.findall(number, want)):
            digit = 10.0**-len(b.partition(".")[2])
            near = 1.5 * digit if "." in b else 0
            self.assertAlmostEqual(float(a), float(b), delta=near)

    def test_pyuvdata(self):
        self.assertEqual(self.run_section(list(SECTIONS)[0]), 1)

    @unittest.skipUnless(program.LONG, "FX8_LONG")
    @has_casa
    def test_waterfall(self):
        self.run_section(list(SECTIONS)[1], f"{CASA}/bin/python")
        self.assertTrue(program.content(self.path("waterfall.png")).startswith(
            b"\x89PNG"))

    @unittest.skipUnless(program.LONG, "FX8_LONG")
    @unittest.skipUnless(shutil.which("wsclean"), "wsclean is not installed")
    @has_casa
    def test_measurement_set(self):
        for title in list(SECTIONS)[2:]:
            with self.subTest(title=title):
                self.assertEqual(self.run_section(
                    title, f"{CASA}/bin/python"), 1)
