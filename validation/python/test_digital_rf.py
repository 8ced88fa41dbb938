# SPDX-License-Identifier: BSD-3-Clause
"""Digital RF from its own writer: every storage, several channels, gaps of every
kind. They give the same visibilities, flags and weights as one native file of
the samples that the format defines, INT8 bit for bit. (test_missing.py compares
weights with a count over samples.)

Shows (recordings, Digital RF from its own writer): every storage, several
    channels, 8 and 16 bits, stretches and blocks of any length agree with
    native files of the same samples
Within: to the bit; a rate that is no whole number within the oracle's limits
Because: the same samples; for such a rate the writer rounds the index
"""
import os
from fractions import Fraction

import numpy as np

import oracle
import program
import recorder

START = 1_600_000_000 * 200_000 + 1234  # index of the first sample
POSITIONS = {"observation.dc_frequency_hz": 150e6, **program.PLACE}


def noise(shape, rms, is_complex, seed, bits=8):
    """Integers as from an n-bit receiver, including its fill value."""
    random = np.random.default_rng(seed)
    low = -2**(bits - 1)

    def real():
        return np.clip(np.rint(random.normal(0, rms, shape)), low, -low - 1)
    return real() + 1j * real() if is_complex else real()


class DigitalRf(program.Case):
    """A recording and its native twin."""

    def tree(self, channels, name="tree"):
        """Record channels; returns the folder."""
        top = self.path(name)
        for number, channel in enumerate(channels):
            recorder.record(top, f"ch{number}", channel)
        return top

    def twin(self, want, n_pols, gains=None, name="twin.h5"):
        """The native recording of the same samples."""
        samples = want.samples
        if gains is not None:
            samples = np.array([recorder.scaled(row, gain)[0]
                                for row, gain in zip(samples, gains)])
        start = want.start
        return self.write(program.Scene(
            samples.reshape(-1, n_pols, samples.shape[1]), rate=want.rate,
            start_s=int(start), start_ns=int((start % 1) * 10**9),
            missing=want.missing(n_pols), has_table=False), name)

    def assert_same(self, got, twin, factor=None):
        """Equal item by item; `factor` [baseline][product] if the twin's samples
        were scaled."""
        want = twin.visibilities
        if factor is not None:
            want = want / factor[None, :, None, :]
        np.testing.assert_array_equal(got.visibilities, want)
        self.assert_equal(got, twin, ("flags", "nsamples"))
        for name in ("time_array", "integration_time", "freq_array",
                     "ant_1_array", "ant_2_array", "polarization_array"):
            np.testing.assert_array_equal(got.header[name], twin.header[name])

    def compare(self, channels, setup, n_pols=1, extra=None):
        """Correlate both; returns the result of Digital RF."""
        want = recorder.expected(channels)
        extra = {**POSITIONS, **(extra or {})}
        top = self.tree(channels)
        got = self.fx8(top, setup, {**extra, "array.polarizations": n_pols})
        twin = self.fx8(self.twin(want, n_pols), setup, extra)
        self.assert_same(got, twin)
        return got


class Storage(DigitalRf):
    """One channel, two sub-channels, in every form that the writer offers."""

    KINDS = [(continuous, compression, checksum)
             for continuous in (True, False)
             for compression, checksum in ((0, False), (3, False), (0, True),
                                           (1, True))]

    def test_every_storage(self):
        for number, (continuous, compression, checksum) in enumerate(
                self.KINDS):
            is_complex = number % 3 != 0
            channel = recorder.Channel(
                noise((2, 9000), 30, is_complex, number), START,
                # within a file, across a file boundary, over whole files
                lost=[(777, 64), (1750, 33), (2899, 2407), (8000, 11)],
                is_continuous=continuous, compression=compression,
                checksum=checksum)
            setup = oracle.Setup(16, 0.0064, taps=4, precision="int8",
                                 method="pfb" if number % 2 else "fft")
            with self.subTest(continuous=continuous, compression=compression,
                              checksum=checksum, is_complex=is_complex):
                self.setUp()
                got = self.compare([channel], setup)
                self.assertLess(got.nsamples.min(), 0.5)
                self.assertEqual(got.nsamples.max(), 1)

    def test_rate_that_is_no_whole_number(self):
        # file boundaries are rounded times; sample times come from the index
        rate = Fraction(25_000_000, 27)
        channel = recorder.Channel(
            noise((1, 20000), 30, True, 5), 1_481_481_481_481_999,
            lost=[(5000, 4000)], rate=rate, file_ms=4)
        setup = oracle.Setup(32, 0.002, taps=4, precision="int8")
        want = recorder.expected([channel])
        got = self.fx8(self.tree([channel]), setup, POSITIONS)
        recording = oracle.Recording(
            want.samples[:, None, :], rate, 150e6, False, want.start, [0],
            want.missing(1))
        result = oracle.correlate(recording, setup, got.gains)
        self.compare_int8(got, result)
        self.compare_axes(got, result)

    def test_lone_fill_values_are_samples(self):
        # a clipped sample is signal; 8 bytes of clipped samples are a gap
        samples = noise((1, 9000), 30, True, 6)
        least = -128 - 128j
        samples[0, 3000:3003] = least
        samples[0, 4100] = -128
        samples[0, 5200:5204] = least
        channel = recorder.Channel(samples, START)
        setup = oracle.Setup(16, "all", taps=4, precision="int8")
        want = recorder.expected([channel])
        first = START - want.origin
        want.valid[0, first + 5200:first + 5204] = False
        want.samples[~want.valid] = 0
        got = self.fx8(self.tree([channel]), setup, POSITIONS)
        self.assert_same(got, self.fx8(self.twin(want, 1), setup, POSITIONS))


class Channels(DigitalRf):
    """Several channels of different length and width."""

    def channels(self):
        """Three channels, six inputs; the second channel starts late, the third
        stops early."""
        return [
            recorder.Channel(noise((2, 8000), 25, True, 11), START,
                             lost=[(3000, 500)]),
            recorder.Channel(noise((1, 6000), 30, True, 12), START + 1777,
                             is_continuous=False, lost=[(2222, 100)]),
            recorder.Channel(noise((3, 4100), 20, True, 13), START + 300,
                             compression=1),
        ]

    def test_one_polarisation(self):
        setup = oracle.Setup(16, 0.0064, taps=4, precision="int8")
        self.compare(self.channels(), setup)

    def test_two_polarisations_and_a_stretch(self):
        # rounded to samples: 0.0073149 s is 1462.98 samples
        setup = oracle.Setup(16, 0.0032, method="fft", precision="int8",
                             start_s=0.0073149, duration_s=0.0210011)
        self.compare(self.channels(), setup, n_pols=2)

    def test_blocks_of_any_length(self):
        # reads that split gaps, files and fill values anywhere
        setup = oracle.Setup(16, 0.0064, taps=4, precision="fp32")
        top = self.tree(self.channels())
        whole = self.fx8(top, setup, POSITIONS)
        for block in (641, 1000):
            part = self.fx8(top, setup, POSITIONS,
                            environment={"FX8_BLOCK_SAMPLES": str(block)})
            self.assert_same(part, whole)


class SixteenBits(DigitalRf):
    """16-bit samples: a gain per input, which is divided out."""

    def channels(self, is_complex):
        """Inputs of gain 1, 1/4, 1/512, with outliers that are clamped."""
        wide = noise((2, 9000), 10, is_complex, 21, bits=16)
        wide[1] = np.rint(noise(9000, 100, is_complex, 22, bits=16))
        wide[1, 100:9000:500] = 700
        strong = noise((1, 8000), 9000, is_complex, 23, bits=16)
        return [
            recorder.Channel(wide, START, bits=16, lost=[(2500, 700)]),
            recorder.Channel(strong, START, bits=16, is_continuous=False,
                             lost=[(4000, 90)]),
        ]

    def test_gains_are_divided_out(self):
        for is_complex in (True, False):
            for precision in ("int8", "fp32"):
                with self.subTest(is_complex=is_complex, precision=precision):
                    self.setUp()
                    self.check(self.channels(is_complex), precision)

    def test_given_gain(self):
        self.check(self.channels(True), "int8", 1 / 64)

    def check(self, channels, precision, given=None):
        want = recorder.expected(channels)
        gains = [given or recorder.gain_of(row, valid)
                 for row, valid in zip(want.samples, want.valid)]
        if given is None:
            self.assertEqual(gains, [1, 1 / 4, 1 / 512])
        extra = dict(POSITIONS)
        if given is not None:
            extra["input.scale_to_8bit"] = f"1/{round(1 / given)}"
        setup = oracle.Setup(16, "all", taps=4, precision=precision)
        got = self.fx8(self.tree(channels), setup, extra)
        twin = self.fx8(self.twin(want, 1, gains), setup, POSITIONS)
        factor = np.array([[gains[i] * gains[j]] for i in range(3)
                           for j in range(i, 3)])
        self.assert_same(got, twin, factor)
        self.assert_summary(gains, want)

    def assert_summary(self, gains, want):
        """The summary reports gains and clamped numbers."""
        n_clamped = sum(recorder.scaled(row[valid], gain)[1] for row, valid,
                        gain in zip(want.samples, want.valid, gains))
        done = self.well("correlate", self.path("run1.ini"),
                         self.path("tree"), "-o", self.path("again.uvh5"))
        line = [text for text in done.stdout.splitlines()
                if text.startswith("scaling")]
        least, most = (round(1 / gain) for gain in (min(gains), max(gains)))
        span = f"1/{least}" + (f" to 1/{most}" if most < least else "")
        self.assertEqual(line, [f"scaling    to 8 bits: gains {span}, "
                                f"{n_clamped} real numbers clamped"])
        os.remove(self.path("again.uvh5"))
