# SPDX-License-Identifier: BSD-3-Clause
"""A real recording: 24 antennas of TART observing navigation satellites.
Coherences equal the independent oracle's; the figures are printed.

Shows (recordings, TART): a real recording gives what the oracle gives, and
    pyuvdata reads the result without a warning
Within: as the oracle's: 2·10⁻⁶ of √(PᵢPⱼ), INT8 equal except for samples near
    a tie
Because: both read the same samples
"""
import configparser
import json
import os
import unittest

import numpy as np

import oracle
import program
import uvdata

FOLDER = os.path.join(program.RECORDINGS, "tart")
RECORDING = os.path.join(FOLDER, "mg-tana-raw.hdf")
CONFIG = "config/ready/tart.ini"


def coherence(values):
    """|V_ij| / sqrt(V_ii V_jj) of every cross baseline, [baseline][channel],
    of the first dump and product."""
    values = values[0, :, :, 0]
    n = int((np.sqrt(8 * len(values) + 1) - 1) / 2)
    rows = [(i, j) for i in range(n) for j in range(i, n)]
    own = np.array([values[rows.index((k, k))].real for k in range(n)])
    return np.array([np.abs(values[row]) / np.sqrt(own[i] * own[j])
                     for row, (i, j) in enumerate(rows) if i != j])


@unittest.skipUnless(program.RECORDINGS, program.NO_RECORDINGS)
class RecordingTart(program.Case):
    """Test names hold "recording": with the recordings present, a skip is a
    failure."""

    def correlate_tart(self, precision):
        output = self.path(f"tart.{precision}.uvh5")
        self.well("correlate", CONFIG, RECORDING, "-o", output,
                  "--precision", precision, "--quiet",
                  "--set", "correlator.integration_time_s=all",
                  "--set", "postprocess.quantization_bias=no")
        return program.read(output)

    def setup_of(self, got, precision):
        """The oracle's setup, from the configuration stored in the file."""
        ini = configparser.ConfigParser(interpolation=None)
        ini.read_string(got.history.split("resolved configuration:\n")[1])
        bank = ini["channelizer"]
        return oracle.Setup(
            bank.getint("channels"), "all", method=bank["method"],
            taps=bank.getint("taps"), precision=precision,
            target_rms=ini.getfloat("quantizer", "target_rms"),
            quantization_bias=False)

    def test_recording_equals_the_oracle(self):
        recording = oracle.read_tart(RECORDING)
        with open(os.path.join(FOLDER, "antenna_positions.json"),
                  encoding="ascii") as file:
            positions = np.array(json.load(file)["antenna_positions"])
        for precision in ("fp32", "int8"):
            got = self.correlate_tart(precision)
            setup = self.setup_of(got, precision)
            want = oracle.correlate(
                recording, setup, got.gains if precision == "int8" else None)
            if precision == "fp32":
                self.compare_fp32(got, want)
            else:
                np.testing.assert_allclose(got.gains, want.gains, rtol=1e-5)
                self.compare_int8(got, want)
            self.compare_axes(got, want)
            np.testing.assert_allclose(
                coherence(got.visibilities)[:, 1:-1],
                coherence(want.visibilities)[:, 1:-1],
                atol=4e-6 if precision == "fp32" else 1e-3)
            uvw = got.header["uvw_array"].reshape(-1, 3)
            gap = np.array([positions[j] - positions[i] for i in range(24)
                            for j in range(i, 24)])
            np.testing.assert_allclose(uvw, gap, atol=0.01)
            self.figures(precision, got)
            self.assertEqual(uvdata.load(self, got.path).Nants_data, 24)

    def figures(self, precision, got):
        """Another correlation in double precision found a median coherence of
        0.07 to 0.10 in the band, maximum 0.57.  One channel of 8 kHz adds noise
        of 1/sqrt(M) = 0.044 to either."""
        frequency = got.header["freq_array"]
        found = coherence(got.visibilities)
        band = np.abs(frequency - 1575.42e6) < 1e6
        spectra = int(got.nsamples[0, 0, 0, 0] * got.header[
            "integration_time"][0] * 16.368e6 / (2 * len(frequency)))
        print(f"# {precision}: coherence in 1575.42 +- 1 MHz: median "
              f"{np.median(found[:, band]):.4f}, maximum "
              f"{found[:, band].max():.4f}, floor 1/sqrt(M) "
              f"{1 / np.sqrt(spectra):.4f}, M {spectra}")
        self.assertTrue(band.any())
        self.assertGreater(np.median(found[:, band]), 0.07)
        self.assertLess(np.median(found[:, band]), 0.10 + 0.02)
        self.assertLess(abs(found[:, band].max() - 0.57), 3 * 0.044)

    def test_recording_compares_within_the_limits(self):
        for target in (8, 16, 20, 28) if program.LONG else (8, 28):
            self.verdict(*self.both(CONFIG, RECORDING, keys={
                "quantizer.target_rms": target}))

    def test_stretches_of_the_recording_compare(self):
        random = np.random.default_rng(9000)
        n, n_good = 100 if program.LONG else 3, 0
        for _ in range(n):
            duration = 0.064 * 10**random.uniform(-1.2, 0)
            channels = int(2**random.integers(4, 11))
            # one to five dumps after the filter, none too short
            dump = 0.95 * (duration - 16 * channels / 16.368e6)
            keys = {
                "input.start_s": round(random.uniform(0, 0.064 - duration), 6),
                "input.duration_s": round(duration, 6),
                "channelizer.channels": channels,
                "correlator.integration_time_s": round(max(
                    0.0015, dump / random.integers(1, 6)), 6),
                "quantizer.target_rms": round(random.uniform(2, 40), 2)}
            with self.subTest(**keys):
                result = self.verdict(*self.both(CONFIG, RECORDING, keys=keys),
                                      code=(0, 3))
                self.assertIn(result["verdict"], ("good", "none"))
                n_good += result["verdict"] == "good"
        self.assertGreater(n_good, 0.7 * n)
