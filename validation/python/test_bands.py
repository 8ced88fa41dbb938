# SPDX-License-Identifier: BSD-3-Clause
"""Several coarse channels in a recording: each agrees with a recording of that
channel alone; they share one axis; pyuvdata reads the files.

Shows (correlation, bands through the program): in recordings of several coarse
    channels, each band agrees with a file of that band alone, with cable
    delays too, and its central channels with the oracle; a tone of the sky
    appears in one channel of the stitched axis; pyuvdata reads the file without
    a warning; overlap is refused
Within: to the bit; frequencies the nearest doubles; as for the oracle
In: python/test_station.py, test_job.c
"""
import itertools
import os
from fractions import Fraction

import numpy as np

import aavs_files
import geometry
import oracle
import program
import uvdata

START = Fraction(1_581_897_600)
FIRST = 140                 # coarse channel
BANDS = 3
RATE_HZ = float(aavs_files.RATE)
N_SAMPLES = 12_000
BLOCK = 250
CHANNELS, KEPT = 32, 27
KEEP = {"channelizer.keep_fraction": "27/32", **program.PLACE}


def noise(seed, n_antennas=3, level=20):
    """[band][antenna][pol][time], partly common to all antennas."""
    generator = np.random.default_rng(seed)

    def draw(*shape):
        return generator.normal(size=shape) + 1j * generator.normal(size=shape)

    shape = (BANDS, n_antennas, 2, N_SAMPLES)
    return program.to_int8(level * (
        draw(*shape) + 0.7 * draw(BANDS, 1, 1, N_SAMPLES)))


class Bands(program.Case):
    """Two tiles, with two antennas and one; the second loses two blocks."""

    def write_tiles(self, samples):
        """Returns the files and the missing stretches, in the oracle's form."""
        paths, missing = [], []
        for tile, antennas in enumerate((slice(0, 2), slice(2, 3))):
            path, held = aavs_files.write(
                self.folder, samples[:, antennas], START, tile=tile, part=0,
                first=0, n=N_SAMPLES, block=BLOCK, channel_id=FIRST,
                lost=[4100, 9000] if tile else ())
            paths.append(path)
            missing += [(2, -1, first, end - first)
                        for first, end in program.runs(~held)]
        self.assertEqual(len(missing), 2)
        return paths, missing

    def correlate_tiles(self, samples, setup, extra=()):
        paths, missing = self.write_tiles(samples)
        got = self.fx8(paths[0], setup, {**KEEP, **dict(extra)},
                       arguments=paths[1:])
        return got, missing

    def dc_hz(self, band):
        return (FIRST + band) * float(aavs_files.SPACING_HZ)

    def test_each_band_as_a_recording_of_its_own(self):
        """With clips, and a lost stretch marked in one band; with and without
        cable delays, which turn each band by its own frequency."""
        samples = noise(1)
        samples[1, 0, 0, 2000:4500] = -128 - 128j
        self.save("antennas.csv", geometry.antenna_csv(
            program.spread(3), np.arange(6).reshape(3, 2) * 1.7e-6))
        cabled = {**KEEP, "array.positions": "antennas.csv",
                   "delay.mode": "cable"}
        for precision, keys in itertools.product(("int8", "fp32"),
                                                 (KEEP, cabled)):
            setup = oracle.Setup(CHANNELS, 60 * CHANNELS / RATE_HZ, taps=4,
                                 precision=precision, channel_average=3,
                                 missing_value=-128, target_rms=60.0)
            got, missing = self.correlate_tiles(samples, setup, keys)
            n = KEPT // 3
            for band in range(BANDS):
                alone = self.fx8(self.write(program.Scene(
                    samples[band], rate=aavs_files.RATE,
                    dc_hz=self.dc_hz(band), start_s=int(START), start_ns=0,
                    missing=missing, has_table=False), "one.h5"), setup, keys)
                part = slice(band * n, (band + 1) * n)
                for name in ("visibilities", "flags", "nsamples"):
                    np.testing.assert_array_equal(
                        getattr(got, name)[:, :, part], getattr(alone, name))
                for name in ("freq_array", "channel_width"):
                    np.testing.assert_array_equal(got.header[name][part],
                                                  alone.header[name])
                self.assertEqual((got.nsamples[:, 0, part, 0] < 1).any(),
                                 band == 1)
                if precision == "int8":
                    self.assertGreater(alone.clip_fraction.min(), 0)
                    part = slice(band * KEPT, (band + 1) * KEPT)
                    np.testing.assert_array_equal(got.gains[:, part],
                                                  alone.gains)
                    np.testing.assert_array_equal(got.clip_fraction[:, part],
                                                  alone.clip_fraction)

    def test_a_tone_of_the_sky_appears_once(self):
        """Tones along two borders, where adjacent coarse channels record the
        same frequencies: the strongest channel is the nearest one, and no other
        has a tenth of its power."""
        step_hz = RATE_HZ / CHANNELS
        time_s = np.arange(4000) / RATE_HZ
        for sideband in ("upper", "lower"):
            for number in range(8):
                sky_hz = self.dc_hz(0) + (9.0 + 4.37 * number) * step_hz
                samples = np.zeros((BANDS, 1, 1, len(time_s)), complex)
                for band in range(BANDS):
                    offset_hz = sky_hz - self.dc_hz(band)
                    if abs(offset_hz) < RATE_HZ / 2:
                        tone = 90 * np.exp(2j * np.pi * offset_hz * time_s)
                        samples[band, 0, 0] = (
                            tone if sideband == "upper" else tone.conj())
                path, _ = aavs_files.write(
                    self.folder, program.to_int8(samples), START,
                    tile=number, part=0, first=0, n=4000, block=BLOCK,
                    channel_id=FIRST)
                got = self.fx8(path, oracle.Setup(
                    CHANNELS, 100 * CHANNELS / RATE_HZ, sideband=sideband),
                    KEEP)
                os.unlink(path)
                power = got.visibilities[0, 0, :, 0].real
                frequencies_hz = got.header["freq_array"]
                nearest = np.argmin(np.abs(frequencies_hz - sky_hz))
                self.assertEqual(np.argmax(power), nearest)
                # half a channel off centre, a tone is equal in two channels
                off = np.abs(frequencies_hz - sky_hz) > step_hz
                self.assertLess(power[off].max(), 0.1 * power[nearest])

    def test_one_axis_that_pyuvdata_reads(self):
        got, _ = self.correlate_tiles(
            noise(3), oracle.Setup(CHANNELS, 60 * CHANNELS / RATE_HZ,
                                   precision="int8"))
        data = uvdata.load(self, got.path)
        self.assertEqual((data.Nfreqs, data.Nspws), (BANDS * KEPT, 1))
        step = aavs_files.RATE / CHANNELS
        exact = [(FIRST + band) * aavs_files.SPACING_HZ
                 + (k - KEPT // 2) * step
                 for band in range(BANDS) for k in range(KEPT)]
        self.assertEqual(set(np.diff(exact)), {step})
        np.testing.assert_array_equal(data.freq_array,
                                      [float(f) for f in exact])
        np.testing.assert_array_equal(data.channel_width, float(step))
        np.testing.assert_array_equal(
            data.data_array.reshape(got.visibilities.shape), got.visibilities)

    def test_unchannelised_bands_and_the_summary(self):
        samples = noise(4)
        samples[1, 0, 1] = 0            # dead in one band
        samples[:, 2, 0] = 0            # dead in all bands
        setup = oracle.Setup(1, 2000 / RATE_HZ, method="none", precision="int8")
        paths, _ = self.write_tiles(samples)
        output = self.path("none.uvh5")
        done = self.well("correlate", self.ini(setup, program.PLACE), *paths,
                         "-o", output)
        got = program.read(output)
        np.testing.assert_array_equal(
            got.header["freq_array"],
            (FIRST + np.arange(BANDS)) * aavs_files.SPACING_HZ)
        for band in range(BANDS):
            x, y = samples[band, 0, 0, :2000], samples[band, 1, 1, :2000]
            # a sum of integers is exact; stored as float
            want = np.sum(x.conj() * y) / 2000
            value = got.visibilities[0, 1, band, 2]
            self.assertEqual(value.real, np.float32(want.real))
            self.assertEqual(value.imag, np.float32(want.imag))
            self.assertEqual(got.flags[0, 0, band, 1], band == 1)
            self.assertTrue(got.flags[0, 5, band, 0])
        for words in (
                "3 bands at 109.375, 110.15625, 110.9375 MHz",
                "plan       none, 1 channel of 925.926 kHz in each band, ",
                " Y: dead at 110.15625 MHz\n", " X: dead\n"):
            self.assertIn(words, done.stdout)
