# SPDX-License-Identifier: BSD-3-Clause
"""A whole station correlated into fine channels with the ready configuration:
256 antennas, 16 tiles in two parts each, a gap, one command. (test_aavs.py
compares all baselines to the bit, as recorded, without a filter bank.)

Shows (recordings, a station): a whole station is correlated into fine channels
    with the ready configuration: 256 antennas, 16 tiles in two parts, a lost
    stretch, zeros of the acquisition. `make station` measures the speed,
    figures in `results/`
Within: weights and flags of all baselines equal; visibilities of 8 antennas,
    on five tiles including the one with the loss, 2·10⁻⁶ of √(PᵢPⱼ), INT8
    equal except for samples near a tie
Because: the oracle takes seconds for 8 antennas and hours for 256;
    `station.py` compares all baselines as recorded with plain sums
In: station.py
"""
import random
import subprocess
import sys
import unittest
from fractions import Fraction

import numpy as np

import aavs_files
import oracle
import program

START = Fraction(1_581_897_600)
ANTENNAS, TILE = 256, 16
BLOCK = 331
PARTS = ((0, 7), (7, 9))            # blocks: first, number
CHANNELS, KEPT, TAPS = 32, 27, 8
SPECTRA = 70                        # of a dump
LOST = (6, 9)                       # tile, block
LOOKED_AT = (0, 15, 95, 96, 103, 111, 112, 255)     # 96 to 111: the lost tile


class Station(program.Case):
    """In both precisions: weights of all baselines, visibilities of some."""

    def write_tiles(self):
        """Returns the files, shuffled, the samples and a mask of those held."""
        generator = np.random.default_rng(31)
        n = BLOCK * sum(count for _, count in PARTS)
        common = generator.normal(0, 8, (2, n))
        samples = np.empty((ANTENNAS, 2, n), complex)
        for part, out in zip(common, (samples.real, samples.imag)):
            out[...] = np.rint(part + generator.normal(0, 16, out.shape))
        samples = program.to_int8(samples)
        samples[103, 0, 1000:1100] = 0          # the acquisition's zeros
        samples[255, 1, 2000:2063] = 0          # too few for a loss
        held = np.zeros((ANTENNAS, n), bool)
        paths = []
        for tile in range(ANTENNAS // TILE):
            antennas = slice(TILE * tile, TILE * tile + TILE)
            for number, (first, count) in enumerate(PARTS):
                path, has = aavs_files.write(
                    self.folder, samples[None, antennas], START, tile=tile,
                    part=number, first=first * BLOCK, n=count * BLOCK,
                    block=BLOCK,
                    lost=[LOST[1] * BLOCK] if tile == LOST[0] else ())
                held[antennas] |= has
                paths.append(path)
        random.Random(8).shuffle(paths)
        held = np.repeat(held[:, None], 2, axis=1)
        return paths, samples * held, held

    def correlate_tiles(self, paths, precision):
        output = self.path(f"{precision}.uvh5")
        seconds = SPECTRA * CHANNELS / float(aavs_files.RATE)
        sets = ("channelizer.method=pfb", f"channelizer.channels={CHANNELS}",
                f"channelizer.taps={TAPS}",
                f"channelizer.keep_fraction={KEPT}/{CHANNELS}",
                f"correlator.precision={precision}",
                f"correlator.integration_time_s={seconds!r}")
        self.well(
            "correlate", "config/ready/station.ini", *paths, "-o", output, "--quiet",
            *(word for text in sets for word in ("--set", text)))
        return program.read(output)

    def assert_weights(self, got, held):
        """Weights of every baseline equal the count of whole windows."""
        held = held.copy()
        held[103, 0, 1000:1100] = False
        windows = np.lib.stride_tricks.sliding_window_view(
            held, TAPS * CHANNELS, axis=-1)[..., ::CHANNELS, :]
        valid = windows.all(axis=-1)[:, ::-1].astype(float)     # slot 0 is Y
        n_dumps = valid.shape[-1] // SPECTRA
        self.assertEqual(got.nsamples.shape, (
            n_dumps, ANTENNAS * (ANTENNAS + 1) // 2, KEPT, 4))
        rows = np.triu_indices(ANTENNAS)
        lost = []
        for dump in range(n_dumps):
            part = valid[..., dump * SPECTRA:(dump + 1) * SPECTRA]
            for k, (p, q) in enumerate(oracle.PRODUCTS[2]):
                count = (part[:, p] @ part[:, q].T)[rows]
                np.testing.assert_array_equal(
                    got.nsamples[dump, :, :, k],
                    np.broadcast_to((count / SPECTRA).astype("f4")[:, None],
                                    got.nsamples.shape[1:3]))
                np.testing.assert_array_equal(
                    got.flags[dump, :, :, k],
                    np.broadcast_to((count == 0)[:, None],
                                    got.flags.shape[1:3]))
            lost.append(bool((part[96:112].mean() < 1) and part[0].all()))
        self.assertIn(True, lost)

    def expected(self, got, samples, held, precision):
        """The oracle's visibilities of the selected antennas, and the same rows
        of the result."""
        antennas = list(LOOKED_AT)
        missing = [(number, -1, first, end - first)
                   for number, rows in enumerate(held[antennas])
                   for first, end in program.runs(~rows[0])]
        setup = oracle.Setup(
            CHANNELS, SPECTRA * CHANNELS / float(aavs_files.RATE), taps=TAPS,
            polarization_order="yx", missing_value=0, flag_edges=0,
            precision=precision)
        middle = slice(CHANNELS // 2 - KEPT // 2, CHANNELS // 2 - KEPT // 2
                       + KEPT)
        gains = None
        if precision == "int8":
            inputs = [2 * a + p for a in antennas for p in range(2)]
            gains = np.ones((len(inputs), CHANNELS))
            gains[:, middle] = got.gains[inputs]
        want = oracle.correlate(oracle.Recording(
            samples[antennas], aavs_files.RATE, 204 * aavs_files.SPACING_HZ,
            False, START, antennas, missing), setup, gains)
        for name in ("visibilities", "flags", "nsamples", "scale", "slack"):
            setattr(want, name, getattr(want, name)[:, :, middle])
        rows = np.flatnonzero(np.isin(np.triu_indices(ANTENNAS),
                                      antennas).all(axis=0))
        part = program.dataclasses.replace(
            got, visibilities=got.visibilities[:, rows],
            flags=got.flags[:, rows], nsamples=got.nsamples[:, rows])
        np.testing.assert_array_equal(part.flags, want.flags)
        np.testing.assert_array_equal(part.nsamples,
                                      want.nsamples.astype("f4"))
        np.testing.assert_allclose(got.header["freq_array"],
                                   want.frequencies_hz[middle], rtol=4e-16)
        return part, want, middle

    def test_fine_channels(self):
        paths, samples, held = self.write_tiles()
        got = self.correlate_tiles(paths, "fp32")
        self.assert_weights(got, held)
        part, want, _ = self.expected(got, samples, held, "fp32")
        self.compare_fp32(part, want)
        got = self.correlate_tiles(paths, "int8")
        self.assert_weights(got, held)
        part, want, middle = self.expected(got, samples, held, "int8")
        inputs = [2 * a + p for a in LOOKED_AT for p in range(2)]
        # a median of single-precision spectra
        np.testing.assert_allclose(got.gains[inputs], want.gains[:, middle],
                                   rtol=1e-5)
        self.compare_int8(part, want)

    @unittest.skipUnless(program.LONG, "FX8_LONG")
    def test_make_station(self):
        """What `make station` runs, on two dumps."""
        done = subprocess.run(
            [sys.executable, "validation/station.py", "0.5", self.folder],
            capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("of 2 dumps, 32896 baselines: equal to plain sums",
                      done.stdout)
