# SPDX-License-Identifier: BSD-3-Clause
"""Noise whose statistics follow from a formula: coherence and its spread, the
loss of the quantiser, Parseval. Seeds are fixed; limits
are five standard deviations.

Shows (signals, common noise): coherence and its spread are as predicted
Within: 5 sigma; spread 5 %
Because: 4,096 cells determine their spread to 1.1 %
In: CommonNoise

Shows (signals, loss of the quantiser): the loss is √((εᵢ+εⱼ+εᵢεⱼ)/M), with and
    without dither; autos are larger by ε, unless that is subtracted; with
    dither, visibilities at a quarter of a step are right; compare finds what it
    predicts
Within: 5 sigma; compare 5 %
Because: sigma of the mean over the cells
In: QuantiserLoss

Shows (signals, Parseval): the spectra have the energy of the samples
Within: 10⁻⁶ (fft), 5 sigma (pfb)
Because: fft: exact except for rounding; pfb: in expectation
In: Parseval

Shows (signals, missing data): losing a tenth of the data changes no mean;
    weights are right
Within: 5 sigma
Because: sigma of the chance change from a tenth of the spectra; the oracle
    compares weights exactly
In: MissingData
"""
import itertools
import json

import numpy as np

import oracle
import program


def noise(generator, *shape):
    """Complex Gaussian noise, 20 LSB per component before rounding."""
    return 20 * (generator.normal(size=shape)
                 + 1j * generator.normal(size=shape))


class CommonNoise(program.Case):
    """(b) coherence rho and the spread of its estimate, 4,096 cells."""

    def check(self, rho, precision):
        generator = np.random.default_rng(int(1000 * rho) + 7)
        channels, per_dump, n_dumps = 512, 128, 8
        count = channels * per_dump * n_dumps
        common = noise(generator, count)
        samples = (np.sqrt(rho) * common
                   + np.sqrt(1 - rho) * noise(generator, 2, count))
        scene = program.Scene(program.to_int8(samples)[:, None, :])
        setup = oracle.Setup(channels, channels * per_dump / 1e6,
                             method="fft", flag_edges=0, precision=precision)
        got = self.correlate(scene, setup).visibilities[..., 0]
        self.assertEqual(got.shape[0], n_dumps)
        found = (got[:, 1] / np.sqrt(got[:, 0].real * got[:, 2].real)).ravel()
        cells, m = found.size, per_dump
        spread = np.array([(1 - rho**2) / np.sqrt(2 * m),
                           np.sqrt((1 - rho**2) / (2 * m))])
        if rho > 0:
            # rounding to integers lowers the coherence by 1/12/20^2; the
            # estimate of a coherence is low by rho (1 - rho^2) / 4 M
            want = rho / (1 + 1 / 4800) * (1 - (1 - rho**2) / (4 * m))
            self.assertLess(abs(found.real.mean() - want),
                            5 * spread[0] / np.sqrt(cells))
            self.assertLess(abs(found.imag.mean()),
                            5 * spread[1] / np.sqrt(cells))
        else:
            size = np.abs(found)
            self.assertLess(abs(size.mean() - np.sqrt(np.pi / (4 * m))),
                            5 * np.sqrt((1 - np.pi / 4) / m / cells))
            self.assertLess(abs(np.sqrt(np.mean(size**2 * m)) - 1), 0.05)
        self.assertLess(abs(found.real.std() / spread[0] - 1), 0.05)
        self.assertLess(abs(found.imag.std() / spread[1] - 1), 0.05)
        power = np.sqrt(got[:, 0].real.mean() * got[:, 2].real.mean())
        plain = (got[:, 1] / power).ravel()
        self.assertLess(abs(plain.real.std()
                            / np.sqrt((1 + rho**2) / (2 * m)) - 1), 0.05)

    def test_coherence_and_its_spread(self):
        for precision in ("fp32", "int8"):
            for rho in (0.0, 0.3, 0.7):
                with self.subTest(rho=rho, precision=precision):
                    self.check(rho, precision)


class QuantiserLoss(program.Case):
    """(e) INT8 against FP32: sqrt((e_i + e_j + e_i e_j) / M), e = 1/12 s^2, with
    dither 1/6 s^2; autos are larger by e if the bias is not removed."""

    def test_loss_follows_the_formula(self):
        generator = np.random.default_rng(51)
        channels, per_dump, n_dumps = 128, 256, 4
        samples = program.to_int8(
            noise(generator, 3, 1, channels * per_dump * n_dumps))
        path = self.write(program.Scene(samples))
        setup = oracle.Setup(channels, channels * per_dump / 1e6, method="fft",
                             flag_edges=0)
        exact = self.fx8(path, setup).visibilities[..., 0]
        for target, setup.dither in itertools.product((4.0, 8.0, 16.0),
                                                      (False, True)):
            setup.precision, setup.target_rms = "int8", target
            setup.quantization_bias = False
            rough = self.fx8(path, setup).visibilities[..., 0]
            epsilon = (2 if setup.dither else 1) / (12 * target**2)
            power = exact[:, [0, 3, 5]].real
            for row, (i, j) in {1: (0, 1), 2: (0, 2), 4: (1, 2)}.items():
                scale = np.sqrt(power[:, i] * power[:, j])
                loss = np.sqrt(np.mean(np.abs(
                    (rough[:, row] - exact[:, row]) / scale)**2))
                want = np.sqrt((2 * epsilon + epsilon**2) / per_dump)
                # 512 cells: 5 sigma is 16 %; the three rows share 10 %
                self.assertLess(abs(loss / want - 1), 0.16)
            excess = (rough[:, [0, 3, 5]].real - power) / power
            spread = np.sqrt(4 * epsilon / per_dump / excess.size)
            self.assertLess(abs(excess.mean() - epsilon), 5 * spread)

    def test_bias_is_removed_by_default(self):
        generator = np.random.default_rng(52)
        samples = program.to_int8(noise(generator, 1, 1, 128 * 2048))
        path = self.write(program.Scene(samples))
        setup = oracle.Setup(128, "all", method="fft", flag_edges=0)
        exact = self.fx8(path, setup).visibilities.real
        setup.precision, setup.target_rms = "int8", 2.0
        for setup.dither in (False, True):
            rough = self.fx8(path, setup).visibilities.real
            epsilon = (2 if setup.dither else 1) / (12 * 2.0**2)
            excess = ((rough - exact) / exact).mean()
            spread = np.sqrt(4 * epsilon / 2048 / exact.size)
            self.assertLess(abs(excess), 5 * spread)
            self.assertLess(20 * spread, epsilon)

    def test_weak_signals(self):
        """Far below a step, plain rounding loses most of a signal; with dither
        visibilities are right: each product has the noise of rounding, at most
        1/2 in steps squared per input beyond its power."""
        generator = np.random.default_rng(54)
        channels, per_dump = 64, 4096
        common = noise(generator, 1, channels * per_dump)
        own = noise(generator, 2, channels * per_dump)
        samples = program.to_int8(0.8 * common + 0.6 * own)[:, None, :]
        path = self.write(program.Scene(samples))
        setup = oracle.Setup(channels, "all", method="fft", flag_edges=0)
        exact = self.fx8(path, setup).visibilities[0, ..., 0]
        scale = np.sqrt(exact[0] * exact[2]).real
        setup.precision, setup.target_rms = "int8", 0.25
        shares = []
        for setup.dither in (False, True):
            rough = self.fx8(path, setup).visibilities[0, 1, :, 0]
            shares.append(np.mean((rough - exact[1]).real / scale))
        power = 2 * 0.25**2
        spread = (power + 0.5) / power / np.sqrt(2 * per_dump * channels)
        self.assertLess(shares[0], -20 * spread)
        self.assertLess(abs(shares[1]), 5 * spread)

    def test_prediction_with_dither(self):
        generator = np.random.default_rng(55)
        samples = program.to_int8(noise(generator, 4, 2, 64 * 6000))
        path = self.write(program.Scene(samples))
        setup = oracle.Setup(64, 64 * 1000 / 1e6, precision="both",
                             target_rms=3.0, dither=True)
        ini = self.save("both.ini", program.ini_of(setup))
        output = self.path("both.uvh5")
        self.well("correlate", ini, path, "-o", output, "--quiet")
        done = self.well("compare", "--json", self.path("both.int8.uvh5"),
                         self.path("both.fp32.uvh5"))
        found = json.loads(done.stdout)
        self.assertEqual(found["verdict"], "good")
        self.assertLess(abs(found["overall"]["ratio"] - 1), 0.05)

    def test_bias_of_real_spectra(self):
        """Baseband zero of real samples has one component, and half the
        rounding noise. An error of 1/12 in steps squared would be 20 standard
        deviations here."""
        generator = np.random.default_rng(53)
        per_dump = 20_000
        samples = program.to_int8(noise(generator, 4, 1, 16 * per_dump).real)
        path = self.write(program.Scene(samples))
        setup = oracle.Setup(8, "all", method="fft", flag_edges=0)
        own = [0, 4, 7, 9]
        exact = self.fx8(path, setup).visibilities[0, own, :, 0].real
        setup.precision, setup.target_rms = "int8", 2.0
        got = self.fx8(path, setup)
        rough = got.visibilities[0, own, :, 0].real
        error = ((rough - exact) * got.gains.reshape(4, 8)**2)[:, 0]
        spread = np.sqrt(4 * 2.0**2 / 12 / (4 * per_dump))
        self.assertLess(abs(error.mean()), 5 * spread)
        self.assertLess(20 * spread, 1 / 12)


class Parseval(program.Case):
    """The output power equals the input power."""

    def test_rectangular_window_keeps_the_energy(self):
        generator = np.random.default_rng(61)
        for is_complex in (True, False):
            samples = noise(generator, 2, 1, 64 * 400)
            samples = program.to_int8(samples if is_complex else samples.real)
            setup = oracle.Setup(64, "all", method="fft", flag_edges=0)
            got = self.correlate(program.Scene(samples), setup)
            own = got.visibilities[0, [0, 2], :, 0].real
            if is_complex:
                want = np.sum(np.abs(samples[:, 0])**2, axis=1) / 400
                np.testing.assert_allclose(own.sum(axis=1), want, rtol=1e-6)
            else:
                # channels 1 .. 63 represent two bins each, 0 one; the dropped
        # Nyquist bin is computed here
                rows = samples[:, 0].reshape(2, -1, 128)
                nyquist = np.sum(rows * (-1)**np.arange(128), axis=2)**2 / 128
                total = (own[:, 0] + 2 * own[:, 1:].sum(axis=1)
                         + nyquist.mean(axis=1))
                want = np.mean(np.sum(rows**2, axis=2), axis=1)
                np.testing.assert_allclose(total, want, rtol=1e-6)

    def test_filter_bank_keeps_white_noise(self):
        generator = np.random.default_rng(62)
        for is_complex in (True, False):
            samples = noise(generator, 1, 1, 32 * 8192)
            samples = program.to_int8(samples if is_complex else samples.real)
            setup = oracle.Setup(32, "all", flag_edges=0)
            got = self.correlate(program.Scene(samples), setup)
            own = got.visibilities[0, 0, 2:-2, 0].real
            want = np.mean(np.abs(samples)**2)
            count = samples.size / (1 if is_complex else 2) / 32
            self.assertLess(np.abs(own / want - 1).max(),
                            5 / np.sqrt(0.9 * count))


class MissingData(program.Case):
    """A tenth of the samples missing, in different places for each antenna: the
    mean stays the same, the weights give the valid fraction."""

    def test_mean_is_unchanged(self):
        generator = np.random.default_rng(71)
        count = 64 * 4096
        common = noise(generator, count)
        samples = program.to_int8(
            0.6 * common + 0.8 * noise(generator, 3, count))[:, None, :]
        whole = program.Scene(samples.copy())
        rows = []
        for antenna in range(3):
            for block in generator.choice(count // 1024, count // 10240,
                                          replace=False):
                rows.append((antenna, -1, 1024 * int(block), 1024))
                samples[antenna, :, 1024 * block:1024 * (block + 1)] = 0
        holed = program.Scene(samples, missing=rows)
        for precision in ("fp32", "int8"):
            setup = oracle.Setup(64, "all", taps=4, precision=precision)
            full = self.correlate(whole, setup)
            part = self.correlate(holed, setup)
            keep = slice(2, -2)
            scale = full.visibilities[0, 0, keep, 0].real
            change = np.abs(part.visibilities - full.visibilities)[
                0, :, keep, 0] / scale
            lost = 1 - part.nsamples[0, :, 0, 0]
            self.assertTrue(((lost > 0.1) & (lost < 0.4)).all())
            # the mean over a part differs from the full mean by lost / M
            spread = np.sqrt(lost / (1 - lost) / 4096 / 0.9)[:, None]
            self.assertTrue((change < 5 * spread).all())
