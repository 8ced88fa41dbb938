# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the scenarios: a small recording, runs of fx8 on it, and the
required form of a refusal."""
import os
import re
import shutil

import numpy as np

import oracle
import program


def kept_dumps(text):
    """The finished dumps that an error reports: name of each .part to their
    number."""
    return {part: int(n or 1) for part, n in re.findall(
        r"; (\S+\.part) keeps its first (?:(\d+) dumps|dump\b)", text)}


def write_slow(path):
    """A recording of 400 ms that takes seconds with SLOW: 200 small dumps of
    48 inputs of periodic noise."""
    noise = np.random.default_rng(181).integers(-60, 60, (24, 2, 20_000, 2))
    program.write(path, program.Scene(np.tile(
        noise[..., 0] + 1j * noise[..., 1], (1, 1, 20))),
        axes=("time", "antenna", "pol"))


SLOW = program.ini_of(
    oracle.Setup(64, 0.002, taps=8, precision="int8"),
    {"correlator.threads": 1, "correlator.kernel": "reference"})


class Refusal(program.Case):
    """Cases that run `fx8 correlate` and expect it to refuse."""

    def setUp(self):
        super().setUp()
        self.output = self.path("out.uvh5")
        self.config = self.path("config.ini")
        self.write_config(program.ini_of(oracle.Setup(
            16, 0.002, precision="int8")))

    def write_config(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)

    def recording(self, name="good.h5", n_samples=9000, **options):
        """A good recording of two antennas; returns its path."""
        generator = np.random.default_rng(161)
        samples = program.to_int8(
            20 * (generator.normal(size=(2, 1, n_samples))
                  + 1j * generator.normal(size=(2, 1, n_samples))))
        return self.write(program.Scene(samples), name, **options)

    def correlate(self, recording, *extra, as_nobody=False, **options):
        """Run fx8 correlate; nothing is checked.  `as_nobody`: tests of
        permissions run as nobody if we are root, whom no permission stops."""
        arguments = ["correlate", self.config, recording, "-o", self.output,
                     *extra]
        if not as_nobody or os.geteuid() != 0:
            return program.run(*arguments, **options)
        os.chmod(self.folder, 0o777)
        copy = self.path("fx8")
        shutil.copy(program.FX8, copy)
        return program.run(*arguments, program=[
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
            copy], **options)

    def assert_one_line(self, done, code, *mentions):
        """Require one line of error with every mention, and the exit code."""
        self.assertEqual(done.returncode, code, done.stderr)
        lines = [line for line in done.stderr.splitlines()
                 if not line.startswith("fx8: warning: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("fx8: error: "), done.stderr)
        for mention in mentions:
            self.assertIn(mention, lines[0])
        self.assertTrue(lines[0].isprintable(), repr(lines[0]))

    def left_over(self):
        """Every .part in the folder of the result."""
        return [name for name in os.listdir(os.path.dirname(self.output))
                if name.endswith(".part")]

    def assert_refused(self, done, code, *mentions):
        """The same, and nothing is left behind."""
        self.assert_one_line(done, code, *mentions)
        self.assertFalse(os.path.lexists(self.output))
        if os.path.isdir(os.path.dirname(self.output)):
            self.assertEqual(self.left_over(), [])

    def assert_failed(self, done, want, *mentions):
        """Require one line, exit code 1, and either no output or a .part with
        as many dumps of `want` as the line says; returns their number."""
        self.assert_one_line(done, 1, *mentions)
        self.assertFalse(os.path.lexists(self.output))
        part = self.output + ".part"
        kept = kept_dumps(done.stderr)
        if not kept:
            self.assertEqual(self.left_over(), [])
            return 0
        self.assertEqual(list(kept), [part])
        self.assertEqual(self.left_over(), [os.path.basename(part)])
        got, n_dumps = program.read(part), kept[part]
        self.assertGreater(n_dumps, 0)
        for name in ("visibilities", "flags", "nsamples"):
            np.testing.assert_array_equal(getattr(got, name)[:n_dumps],
                                          getattr(want, name)[:n_dumps], name)
        os.remove(part)
        return n_dumps
