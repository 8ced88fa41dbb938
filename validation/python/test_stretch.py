# SPDX-License-Identifier: BSD-3-Clause
"""start_s and duration_s are exact to a sample: neighbouring starts and lengths
give the oracle's visibilities, weights and times.

Shows (recordings, stretches): `start_s`, `duration_s`: neighbouring starts and
    lengths are right, in native recordings of two axis orders and in TART
    within a byte
Within: as the oracle's: 2·10⁻⁶ of √(PᵢPⱼ), INT8 equal except for samples near
    a tie
Because: compared with samples cut by hand
"""
import json
from fractions import Fraction

import h5py
import numpy as np

import oracle
import program


class Stretch(program.Case):
    """Neighbouring starts give different results everywhere, so a start that is
    off by one sample fails."""

    CHANNELS = 8

    def assert_stretch(self, path, recording, first, count, n_dumps, extra):
        """Correlate samples [first, first + count); returns the result.

        The oracle gets the samples already cut, so it need not interpret
        start_s in seconds."""
        rate = recording.rate
        keys = {**extra, "input.start_s": f"{float(first / rate)!r}",
                "input.duration_s": f"{float(count / rate)!r}"}
        length = self.CHANNELS * (1 if recording.is_complex else 2)
        per_dump = max(200, -(-rate // 900 // length))     # 1.1 ms or more
        time_s = float(per_dump * length / rate)
        setup = oracle.Setup(self.CHANNELS, time_s, method="fft",
                             flag_edges=0)
        self.assertEqual(count // length // per_dump, n_dumps)
        got = self.fx8(path, setup, extra=keys)
        cut = oracle.Recording(
            samples=recording.samples[:, :, first:first + count], rate=rate,
            dc_hz=recording.dc_hz, lower=False,
            start=recording.start + first / rate, numbers=recording.numbers,
            missing=[(a, p, max(f - first, 0),
                      min(f + n, first + count) - max(f, first))
                     for a, p, f, n in recording.missing
                     if f < first + count and f + n > first])
        want = oracle.correlate(cut, setup)
        self.assertEqual(got.visibilities.shape[0], n_dumps)
        self.compare_axes(got, want)
        self.compare_fp32(got, want)
        return got

    def assert_stretches(self, path, recording, starts, counts, extra):
        """Check each start with the first of `counts`, [(samples, dumps)], and
        the first start with each of them."""
        previous = None
        for first in starts:
            with self.subTest(first=first):
                got = self.assert_stretch(path, recording, first, *counts[0],
                                          extra)
                if previous is not None:
                    cross = got.visibilities[:, 1]
                    moved = np.abs(cross - previous.visibilities[:, 1])
                    self.assertGreater(moved.min(),
                                       1e-5 * np.abs(cross).max())
                previous = got
        for count, n_dumps in counts[1:]:
            with self.subTest(count=count):
                self.assert_stretch(path, recording, starts[0], count, n_dumps,
                                    extra)

    def test_native(self):
        random = np.random.default_rng(71)
        noise = random.normal(size=(2, 2, 1, 20_000))
        samples = program.to_int8(20 * (noise[0] + 1j * noise[1]))
        scene = program.Scene(samples, rate=Fraction(25_000_000, 27),
                              missing=[(0, -1, 1003, 1), (-1, -1, 3001, 9)])
        site = {f"array.{key}": value for key, value in program.SITE.items()}
        chunked = {"axes": ("time", "antenna", "pol"), "chunks": (1000, 2, 1)}
        # 200 spectra of 8 samples per dump
        counts = [(3200, 2), (3199, 1), (3201, 2), (4799, 2), (4800, 3)]
        for options, starts in (({}, range(997, 1008)),
                                (chunked, range(998, 1003))):
            path = self.write(scene, **options)
            self.assert_stretches(path, oracle.read_native(path), list(starts),
                                  counts, site)
            counts = counts[:1]

    def test_tart(self):
        """Eight samples per byte: every place in one byte, and the next."""
        random = np.random.default_rng(72)
        data = random.integers(0, 256, (2, 9000), np.uint8)
        config = {"sampling_frequency": 16_368_000, "L0_frequency": 1571328000,
                  "frequency": 1575420000, "baseband_frequency": 4092000,
                  "lat": -26.7, "lon": 116.67, "alt": 377.8}
        path = self.path("tart.hdf")
        with h5py.File(path, "w") as file:
            file["data"] = data
            file["timestamp"] = [b"2021-03-20T12:00:00+00:00"]
            file["config"] = [json.dumps(config).encode()]
        recording = oracle.read_tart(path)
        # 1137 spectra of 16 samples per dump
        self.assert_stretches(path, recording, list(range(8, 18)),
                              [(36_384, 2), (36_383, 1), (54_575, 2),
                               (54_576, 3)],
                              {"array.positions": "none"})
