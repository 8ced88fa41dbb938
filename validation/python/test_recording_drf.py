# SPDX-License-Identifier: BSD-3-Clause
"""A real recording of Digital RF: receiver noise of a software radio, 10,000
complex samples of 16 bits at 440 MHz; the first is the fill value.

Shows (recordings, Digital RF of a telescope): a real recording gives what the
    oracle gives
Within: as the oracle's: 2·10⁻⁶ of √(PᵢPⱼ), INT8 equal except for samples near
    a tie
Because: both read the same samples
"""
import glob
import os
import unittest
from fractions import Fraction

import h5py
import numpy as np

import oracle
import program
import recorder

FOLDER = os.path.join(program.RECORDINGS, "digital_rf")


@unittest.skipUnless(program.RECORDINGS, program.NO_RECORDINGS)
class RecordingDigitalRf(program.Case):
    """Test names hold "recording": with the recordings present, a skip is a
    failure."""

    def setUp(self):
        super().setUp()
        name, = glob.glob(os.path.join(FOLDER, "ch0", "*", "rf@*.h5"))
        with h5py.File(name, "r") as file:
            data = file["rf_data"][:, 0]
            self.index = int(file["rf_data_index"][0, 0])
        name, = glob.glob(os.path.join(FOLDER, "ch0", "metadata", "*",
                                       "metadata@*.h5"))
        with h5py.File(name, "r") as file:
            entry, = file.values()
            self.dc_hz, = entry["center_frequencies"][...]
        self.samples = data["r"].astype(float) + 1j * data["i"]
        self.valid = self.samples != -32768 - 32768j

    def test_recording_equals_the_oracle(self):
        self.assertEqual(list(np.flatnonzero(~self.valid)), [0])
        gain = recorder.gain_of(self.samples, self.valid)
        values, n_clamped = recorder.scaled(
            np.where(self.valid, self.samples, 0), gain)
        print(f"# gain 1/{round(1 / gain)}, {n_clamped} numbers clamped, rms "
              f"{np.std(values[self.valid]) / np.sqrt(2):.1f} counts")
        recording = oracle.Recording(
            values[None, None], Fraction(10_000), self.dc_hz, False,
            Fraction(self.index, 10_000), [0], [(0, 0, 0, 1)])
        for precision in ("fp32", "int8"):
            with self.subTest(precision=precision):
                setup = oracle.Setup(64, 0.2, precision=precision)
                got = self.fx8(FOLDER, setup, program.PLACE)
                used = None if got.gains is None else got.gains / gain
                want = oracle.correlate(recording, setup, used)
                for values in (want.visibilities, want.scale, want.slack):
                    values /= gain**2
                if precision == "fp32":
                    self.compare_fp32(got, want)
                else:
                    np.testing.assert_allclose(used, want.gains, rtol=1e-5)
                    self.compare_int8(got, want)
                self.compare_axes(got, want)

    def test_stretches_of_the_recording_compare(self):
        """One receiver has no pairs: stretches of its samples serve as
        inputs."""
        random = np.random.default_rng(9001)
        values = self.samples[self.valid] / np.std(self.samples[self.valid])
        for _ in range(50 if program.LONG else 3):
            n = int(random.integers(2, 7))
            length = int(random.integers(800, len(values) // n))
            setup = oracle.Setup(
                int(random.choice([8, 16, 32])), "all", precision="int8",
                target_rms=round(random.uniform(2, 40), 2))
            with self.subTest(n=n, length=length, setup=setup):
                files = self.both(
                    self.ini(setup), self.write(program.Scene(program.to_int8(
                        random.uniform(3, 30)
                        * values[:n * length].reshape(n, 1, length)),
                        rate=Fraction(10_000))))
                self.assertIn(self.verdict(*files, code=(0, 3))["verdict"],
                              ("good", "none"))

    def test_recording_in_words(self):
        done = self.well("info", FOLDER)
        for words in ("digital_rf", "2019-08-29T19:08:20Z", "10000 Hz",
                      "440.000000 MHz", "10000 samples"):
            self.assertIn(words, done.stdout)
