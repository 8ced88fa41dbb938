# SPDX-License-Identifier: BSD-3-Clause
"""Samples of 1, 2 and 4 bits: `[input] van_vleck` finds the spectra and the
coherence of the noise that was sampled.

Three inputs hear a common source, delayed, beside noise of their own, each
through other filters of a few taps, so that every expected lag is a short sum.
Thresholds are off zero, and differ between inputs and parts.

Shows (recordings, few bits): visibilities of samples of 1, 2 and 4 bits (real
    ones of 1 and 2) are those of the noise: both sidebands and precisions; autos
    are the true spectra up to their scale, without the spike of the means. The
    law of one pair of samples, applied to the coherence of each channel, is far
    off
Within: 5 sigma; that law is off by more than 20
Because: sigma from the scatter of 64 dumps
In: Truth

Shows (recordings, few bits of TART): a real recording of one bit becomes what
    the law makes of its lags, worked out from the samples in double precision
Within: 4·10⁻⁶ of the strongest channel where the independent computation, too,
    takes its last channel for the one at fs/2; 10⁻⁴ where it has that channel
Because: transforms of floats; that channel matters to the second order only
In: RecordingTart
"""
import os
import unittest

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

import oracle
import program

YES = {"input.van_vleck": "yes"}
PAIRS = [(i, j) for i in range(3) for j in range(i, 3)]
N_DUMPS, PER_DUMP = 64, 1024 if program.LONG else 512


def both_below(h, k, rho):
    """Probability that two normal numbers of correlation rho are below h and k
    (Owen 1956)."""
    root = np.sqrt(1 - rho**2)
    return (0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, (k / h - rho) / root)
            - owens_t(k, (h / k - rho) / root) - (h * k < 0) / 2)


def covariance(a, b, rho):
    """Of two staircases, (thresholds, steps) each."""
    return sum(da * db * (both_below(ta, tb, rho) - ndtr(ta) * ndtr(tb))
               for ta, da in zip(*a) for tb, db in zip(*b))


def inverse(a, b, values):
    """Correlations at which two staircases have covariances."""
    rho = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 4001)[1:-1])
    return np.interp(values, covariance(a, b, rho), rho)


class Noise:
    """Samples [3][time] before they are quantised, with the true spectra."""

    def __init__(self, is_complex, sideband, channels=64):
        self.is_complex, self.sideband = is_complex, sideband
        self.channels = channels
        self.length = channels if is_complex else 2 * channels
        part = (lambda taps: taps) if is_complex else np.real
        self.generator = np.random.default_rng(7)
        n = np.arange(16)
        source = part(0.8**n * np.exp(2j * np.pi * 0.13 * n))
        self.source = [part(np.exp(1j * phase)) * np.r_[np.zeros(late), source]
                       for phase, late in ((0, 0), (0.7, 2), (-2.5, 1))]
        self.own = [part(np.array(taps)) for taps in (
            (0.8, 0.4, -0.24j), (0.7, -0.28j, 0.14), (0.18, 0.6, 0.3))]
        count = N_DUMPS * PER_DUMP * self.length
        common = self.white(count)
        self.samples = [np.convolve(taps, common)[:count]
                        + np.convolve(own, self.white(count))[:count]
                        for taps, own in zip(self.source, self.own)]
        self.power = [self.lags(i, i)[0].real for i in range(3)]

    def white(self, n):
        values = self.generator.normal(size=n)
        return (values + 1j * self.generator.normal(size=n)
                if self.is_complex else values)

    def lags(self, i, j):
        """E conj(x_i(n)) x_j(n + l) by l."""
        found = {}
        pairs = [(self.source[i], self.source[j])]
        if i == j:
            pairs.append((self.own[i], self.own[i]))
        for a, b in pairs:
            for p, u in enumerate(a):
                for q, v in enumerate(b):
                    found[q - p] = (found.get(q - p, 0) + np.conj(u) * v
                                    * (2 if self.is_complex else 1))
        return found

    def spectrum(self, i, j):
        """Expected visibilities of samples of power 1, by ascending sky
        frequency; of the lower sideband the noise is turned around."""
        lower = not self.is_complex and self.sideband == "lower"
        k = np.arange(self.channels) - (self.channels // 2
                                        if self.is_complex else 0)
        k = self.channels - k if lower else k
        values = sum(lag * (1 - abs(at) / self.length)
                     * np.exp(-2j * np.pi * k * at / self.length)
                     for at, lag in self.lags(i, j).items())
        values = values / np.sqrt(self.power[i] * self.power[j])
        return np.conj(values) if lower else values

    def quantised(self, thresholds, levels):
        """Scene of the samples with thresholds in rms, each input and part with
        its own offset."""
        offset = np.array([[0.15, -0.1], [-0.2, 0.05], [0.1, 0.12]])
        levels = np.array(levels)

        def part(values, i, k, power):
            at = np.searchsorted(np.array(thresholds) + offset[i, k],
                                 values / np.sqrt(power))
            return levels[at]
        rows = [part(x.real, i, 0, p / 2) + 1j * part(x.imag, i, 1, p / 2)
                if self.is_complex else part(x, i, 0, p)
                for i, (x, p) in enumerate(zip(self.samples, self.power))]
        rows = np.array(rows)[:, None]
        if self.is_complex and self.sideband == "lower":
            rows = np.conj(rows)
        return program.Scene(rows, sideband=self.sideband)


# thresholds and levels
BITS = {
    1: ([0.0], [-1, 1]),
    2: ([-1.0, 0.0, 0.9], [-3, -1, 1, 3]),
    4: ((np.arange(15) - 7) / 2.9, np.arange(16) - 8),
}


class Truth(program.Case):
    """Every channel of every product against its expected value."""

    def check(self, noise, bits, precision="fp32"):
        scene = noise.quantised(*BITS[bits])
        path = self.write(scene)
        setup = oracle.Setup(noise.channels, PER_DUMP * noise.length / 1e6,
                             method="fft", precision=precision)
        raw = self.fx8(path, setup).visibilities[..., 0].mean(axis=0)
        got = self.fx8(path, setup, YES)
        self.assertEqual(got.keywords["VANVLECK"], 1)
        values = got.visibilities[..., 0]
        self.assertEqual(len(values), N_DUMPS)
        levels = scene.samples[:, 0].std(axis=1)
        worst = naive = 0
        for row, (i, j) in enumerate(PAIRS):
            scaled = values[:, row] / (levels[i] * levels[j])
            gap = scaled.mean(axis=0) - noise.spectrum(i, j)
            sigma = [part.std(axis=0, ddof=1) / np.sqrt(N_DUMPS)
                     for part in (scaled.real, scaled.imag)]
            worst = max(worst, np.abs(gap.real / sigma[0]).max())
            if i == j:
                np.testing.assert_array_equal(values[:, row].imag, 0)
                continue
            # the spectra of channel 0 of real samples are real
            first = 0 if noise.is_complex else 1
            worst = max(worst, np.abs(gap.imag / sigma[1])[first:].max())
            naive = max(naive, self.naive(noise, bits, raw, (i, j), sigma[0]))
        print(f"# {bits} bits, {'complex' if noise.is_complex else 'real'}, "
              f"{noise.sideband}, {precision}: worst {worst:.1f} sigma, the "
              f"law by channel {naive:.0f}")
        self.assertLess(worst, 5)
        self.assertGreater(naive, 20)

    def naive(self, noise, bits, raw, pair, sigma):
        """How far off the law is, applied to the coherence of each channel, in
        sigma of the corrected visibilities."""
        i, j = pair
        own = [raw[PAIRS.index((k, k))].real for k in pair]
        true = [noise.spectrum(k, k).real for k in pair]
        thresholds, levels = BITS[bits]
        steps = np.diff(levels)
        # a threshold of 0 has no ratio in both_below()
        stairs = (np.array(thresholds) + 1e-9, steps)
        largest = covariance(stairs, stairs, 1 - 1e-12)
        coherence = raw[PAIRS.index(pair)] / np.sqrt(own[0] * own[1])
        found = inverse(stairs, stairs, largest * coherence.real)
        gap = found * np.sqrt(true[0] * true[1]) - noise.spectrum(i, j).real
        return np.abs(gap / sigma)[1:].max()

    def test_complex(self):
        noise = Noise(True, "upper")
        for bits in BITS:
            with self.subTest(bits=bits):
                self.check(noise, bits)
        self.check(noise, 1, "int8")

    def test_real(self):
        noise = Noise(False, "upper")
        for bits in (1, 2):
            with self.subTest(bits=bits):
                self.check(noise, bits)
        self.check(noise, 2, "int8")

    def test_lower_sideband(self):
        self.check(Noise(True, "lower", 45), 1)
        self.check(Noise(False, "lower", 45), 1)


@unittest.skipUnless(program.RECORDINGS, program.NO_RECORDINGS)
class RecordingTart(program.Case):
    """24 inputs of real samples of one bit, whose means reach 0.12."""

    CHANNELS = 256

    def spectra(self, samples):
        """Mean of each input, and of the products [i][j][channel to fs/2]."""
        length = 2 * self.CHANNELS
        n = samples.shape[1] // length
        spectra = np.fft.rfft(samples[:, :n * length].reshape(
            len(samples), n, length)) / np.sqrt(length)
        return samples[:, :n * length].mean(axis=1), np.einsum(
            "itk,jtk->ijk", spectra.conj(), spectra, optimize=True) / n

    def corrected(self, means, spectra):
        """What the law makes of them, by baseline."""
        lags = np.fft.irfft(spectra)
        length = lags.shape[-1]
        distance = np.minimum(np.arange(length), length - np.arange(length))
        share = 1 - distance / length
        found = []
        for i in range(24):
            for j in range(i, 24):
                stairs = [((-ndtri((1 + means[k]) / 2),), (2,)) for k in (i, j)]
                rho = inverse(*stairs, (lags[i, j] - means[i] * means[j])
                              / share)
                if i == j:
                    rho[0] = 1
                found.append(np.fft.rfft(share * rho)[:-1] * np.sqrt(
                    (1 - means[i]**2) * (1 - means[j]**2)))
        return np.array(found)

    def test_recording_obeys_the_law(self):
        path = os.path.join(program.RECORDINGS, "tart", "mg-tana-raw.hdf")
        means, spectra = self.spectra(oracle.read_tart(path).samples[:, 0])
        self.assertGreater(np.abs(means).max(), 0.1)
        got, raw = (self.fx8(path, oracle.Setup(
            self.CHANNELS, "all", method="fft", precision="fp32"),
            keys).visibilities[0, :, :, 0] for keys in (YES, {}))
        whole = self.corrected(means, spectra)
        spectra[..., -1] = spectra[..., -2].real
        worst = np.abs(got - self.corrected(means, spectra)).max()
        last = np.abs(got - whole).max()
        # channel 0 has the spike of the means
        moved = np.abs(got - raw)[:, 1:].max()
        print(f"# TART: largest difference {worst:.1e}, with the channel at "
              f"fs/2 {last:.1e}; visibilities moved by up to {moved:.3f}")
        largest = np.abs(got).max()
        self.assertLess(worst, 4e-6 * largest)
        self.assertLess(last, 1e-4 * largest)
        self.assertGreater(moved, 0.1 * largest)
