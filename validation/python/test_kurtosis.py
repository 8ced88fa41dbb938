# SPDX-License-Identifier: BSD-3-Clause
"""[flag] sk_false_alarm against its definition: exact moments of the estimate
in rational numbers, the Pearson curve of type IV by numerical integration.

Shows (recordings, spectral kurtosis): flags equal those of the definition, for
    complex and real samples, their channel 0, missing data, filter banks in
    lanes and of FFTW, none; Gaussian noise is flagged as often as was asked
    for, at 64 to 100,000 spectra (far from the mean as often as the curve
    promises: less than asked); a pulsed and a steady tone are found; every
    kind of result, the quick-look and its picture, slices and threads have the
    same flags, and data and weights are kept
Within: flags equal, but where the estimate is within 10⁻⁵ of a limit; rates
    within 5 standard deviations of a binomial count, at 0.1, where the curve
    itself is right within 1 %
Because: sums of 32 powers in floats err by 10⁻⁶
In: scenario/ranks.py, test_session.c, test_session_ranges.c
"""
import functools
import json
import math
import re
from fractions import Fraction

import h5py
import numpy as np
from scipy import integrate, optimize

import oracle
import program


def moments(n, shape):
    """Variance, skewness, kurtosis of (M d + 1)/(M - 1) (M S2/S1^2 - 1), of
    powers that are gamma variates: S2/S1^2 does not depend on S1, so its
    moments are those of S2 divided by those of S1^2."""
    def rising(x, k):
        return math.prod(x + j for j in range(k))
    one = [Fraction(rising(shape, 2 * j)) for j in range(5)]
    # cumulants of a square add up
    raw = [Fraction(1)]
    cumulants = [0]
    for j in range(1, 5):
        cumulants.append(one[j] - sum(
            math.comb(j - 1, m - 1) * cumulants[m] * one[j - m]
            for m in range(1, j)))
    for j in range(1, 5):
        raw.append(sum(math.comb(j - 1, m - 1) * n * cumulants[m] * raw[j - m]
                       for m in range(1, j + 1)))
    scale = (n * shape + 1) / Fraction(n - 1)
    t = [raw[j] / rising(n * shape, 2 * j) * (n * scale)**j for j in range(5)]
    mean = t[1]
    assert mean - scale == 1
    second, third, fourth = (
        sum(math.comb(k, j) * t[j] * (-mean)**(k - j) for j in range(k + 1))
        for k in (2, 3, 4))
    return (float(second), float(third) / float(second)**1.5,
            float(fourth / second**2))


@functools.cache
def limits(n, shape, false_alarm):
    """Quantiles of the Pearson curve, half the probability on each side."""
    variance, skew, beta2 = moments(n, shape)
    beta1 = skew**2
    kappa = beta1 * (beta2 + 3)**2 / (
        4 * (4 * beta2 - 3 * beta1) * (2 * beta2 - 3 * beta1 - 6))
    assert 0 < kappa < 1    # type IV
    r = 6 * (beta2 - beta1 - 1) / (2 * beta2 - 3 * beta1 - 6)
    root = math.sqrt(16 * (r - 1) - beta1 * (r - 2)**2)
    nu = -r * (r - 2) * skew / root
    a = root / 4
    centre = -(r - 2) * skew / 4
    m = (r + 2) / 2

    def log_f(x):
        y = (x - centre) / a
        return -m * math.log1p(y * y) - nu * math.atan(y)

    def area(begin, end):
        return integrate.quad(lambda x: math.exp(log_f(x) - log_f(0)), begin,
                              end, epsabs=0, epsrel=1e-11, limit=500)[0]
    far = 60
    lower, upper = area(-far, 0), area(0, far)
    tail = false_alarm / 2 * (lower + upper)
    low = optimize.brentq(lambda x: area(-far, x) - tail, -20, 0, xtol=1e-11)
    high = optimize.brentq(lambda x: area(x, far) - tail, 0, 20, xtol=1e-11)
    return 1 + math.sqrt(variance) * low, 1 + math.sqrt(variance) * high


def judge(powers, valid, false_alarm, has_real):
    """Flags [input][channel] of powers [input][t][channel], and where they are
    too close to call."""
    flags = np.zeros((powers.shape[0], powers.shape[2]), bool)
    close = flags.copy()
    for i, (power, good) in enumerate(zip(powers, valid)):
        n = int(good.sum())
        flags[i] = n == 0
        if n < 64:
            continue
        for c, p in enumerate(power[good].T):
            shape = Fraction(1, 2 if has_real and c == 0 else 1)
            sk = float(n * shape + 1) / (n - 1) * (
                n * (p * p).sum() / p.sum()**2 - 1)
            low, high = limits(n, shape, false_alarm)
            flags[i, c] = not low <= sk <= high
            close[i, c] = min(abs(sk - low), abs(sk - high)) < 1e-5
    return flags, close


class Kurtosis(program.Case):
    def flags_of(self, got, n_inputs):
        """Flags [dump][input][channel] of inputs, one to an antenna."""
        flags = got.flags.reshape(len(got.flags), -1, got.flags.shape[2])
        pairs = [(i, j) for i in range(n_inputs) for j in range(i, n_inputs)]
        inputs = np.stack([flags[:, pairs.index((i, i))]
                           for i in range(n_inputs)], axis=1)
        for row, (i, j) in enumerate(pairs):
            empty = got.nsamples[:, row, :, 0] == 0
            np.testing.assert_array_equal(
                flags[:, row], inputs[:, i] | inputs[:, j] | empty)
        return inputs

    def check(self, scene, false_alarm, per_dump, channels=16, n_devices=0,
              **setup):
        """The flags of INT8 and FP32 are those of the definition, also on
        pretend devices, where a choice of kernels would take long."""
        environment = {**program.devices(n_devices), "FX8_CUDA_TRIAL_MS": "0"}
        self.count += 1
        path = self.write(scene, f"in{self.count}.h5")
        is_complex = np.iscomplexobj(scene.samples)
        length = channels * (1 if is_complex else 2)
        n_inputs, n_samples = scene.samples.shape[0], scene.samples.shape[2]
        planned = oracle.Setup(channels, per_dump * length / 1e6, flag_edges=0,
                               **{"method": "fft", **setup})
        weights = (np.ones(1) if planned.method == "none"
                   else oracle.prototype(planned, length))
        bins = (range(-(channels // 2), channels - channels // 2)
                if is_complex else range(channels))
        spectra = oracle.spectra_of(scene.samples[:, 0], weights, length, bins)
        mask = oracle.missing_mask(
            oracle.read_native(path), planned,
            [(a, 0) for a in range(n_inputs)], scene.samples[:, 0])
        begins = np.arange(spectra.shape[1]) * length
        valid = ~oracle.has_any(mask, len(weights), np.tile(
            begins, (n_inputs, 1)))
        self.assertEqual(n_samples >= begins[-1] + len(weights), True)
        n_close = 0
        for precision in ("int8", "fp32"):
            planned.precision = precision
            keys = {"correlator.backend": "cuda", "correlator.device":
                    ",".join(map(str, range(n_devices))), "correlator.kernel":
                    {"int8": "dp4a-16", "fp32": "fp32-16"}[precision]
                    } if n_devices > 0 else {"correlator.backend": "cpu"}
            plain = self.fx8(path, planned, keys, environment)
            keys["flag.sk_false_alarm"] = false_alarm
            got = self.fx8(path, planned, keys, environment)
            self.assertEqual(got.keywords["BACKEND"].split()[0].decode(),
                             keys["correlator.backend"])
            np.testing.assert_array_equal(plain.flags, plain.nsamples == 0)
            self.assert_equal(got, plain, ("visibilities", "nsamples"))
            inputs = self.flags_of(got, n_inputs)
            for d, flags in enumerate(inputs):
                here = slice(d * per_dump, (d + 1) * per_dump)
                want, close = judge(np.abs(spectra[:, here])**2,
                                    valid[:, here], false_alarm,
                                    not is_complex)
                np.testing.assert_array_equal(flags | close, want | close)
                n_close += close.sum()
            self.assertTrue(0 < inputs.sum() < inputs.size)
            self.assertLess(n_close, max(3, inputs.size / 500))
        return got

    def scene(self, n_inputs, n_samples, is_complex=True, seed=1):
        return program.Scene(program.noise(seed, n_inputs, 1, n_samples,
                                           is_complex=is_complex))

    def test_flags_follow_the_definition(self):
        for is_complex in (True, False):
            for per_dump, false_alarm in ((64, 0.1), (200, 0.1), (200, 0.01),
                                          (1000, 0.1)):
                scene = self.scene(3, 64000, is_complex, seed=per_dump)
                self.check(scene, false_alarm, per_dump)

    def test_missing_data(self):
        """M is that of the cell; below 64 nothing is judged."""
        generator = np.random.default_rng(3)
        for is_complex in (True, False):
            scene = self.scene(4, 96000, is_complex)
            scene.missing = [
                (int(generator.integers(4)), 0, int(generator.integers(90000)),
                 int(generator.integers(1, 6000))) for _ in range(30)]
            got = self.check(scene, 0.1, 150)
            self.assertTrue((0 < got.nsamples).any()
                            and (got.nsamples < 64 / 150).any())

    def test_filter_banks(self):
        """22 channels: FFTW; overlapping spectra; recorded integers."""
        for is_complex in (True, False):
            self.check(self.scene(3, 66000, is_complex), 0.1, 100, channels=22)
            self.check(self.scene(3, 64000, is_complex), 0.1, 100,
                       method="pfb", taps=4)
        self.check(self.scene(30, 10000), 0.1, 1000, channels=1, method="none")

    def test_devices(self):
        """Blocks of 8192 spectra go to the devices in turn."""
        for is_complex, per_dump, n_dumps, n_devices, more in (
                (True, 300, 9, 1, {}), (False, 9000, 2, 3, {}),
                (True, 17000, 1, 3, {"method": "pfb", "taps": 4}),
                (True, 2000, 3, 2, {"method": "none", "channels": 1})):
            channels = more.get("channels", 4)
            n_inputs = 30 if channels == 1 else 5
            length = (2 - is_complex) * channels
            scene = self.scene(n_inputs, (n_dumps * per_dump + 3) * length,
                               is_complex, seed=per_dump)
            scene.missing = [(1, 0, 2_000, 700), (2, 0, 100, 1_500)]
            self.check(scene, 0.1, per_dump, n_devices=n_devices,
                       **{"channels": channels, **more})

    def test_delays(self):
        """A rotation changes no power, not of channel 0 of real samples
        either."""
        scene = self.scene(3, 64000, is_complex=False)
        path = self.write(scene)
        setup = oracle.Setup(16, 100 * 32 / 1e6, method="fft", flag_edges=0)
        rows = ["number,name,east_m,north_m,up_m,cable_delay_ns"] + [
            f"{n},a{n},{10 * n},0,0,{n * 0.2}" for n in range(3)]
        keys = {"flag.sk_false_alarm": 0.1, "correlator.backend": "cpu",
                "array.positions": self.save("a.csv", "\n".join(rows) + "\n")}
        plain = self.fx8(path, setup, keys)
        turned = self.fx8(path, setup, {**keys, "delay.mode": "cable"})
        self.assertGreater(plain.flags.sum(), 50)
        # an estimate at a limit may fall on the other side
        self.assertLess((turned.flags != plain.flags).sum(), 3)

    def test_rates_of_gaussian_noise(self):
        rate = 0.1
        for per_dump, channels, n_inputs, n_dumps in (
                (64, 64, 8, 20), (1000, 64, 8, 4), (10000, 32, 8, 2),
                (100000, 16, 8, 1)):
            scene = self.scene(n_inputs, per_dump * channels * n_dumps,
                               seed=per_dump)
            setup = oracle.Setup(channels, per_dump * channels / 1e6,
                                 method="fft", flag_edges=0)
            got = self.correlate(scene, setup, extra={
                "flag.sk_false_alarm": rate, "correlator.backend": "cpu"})
            inputs = self.flags_of(got, n_inputs)
            found, n = inputs.sum(), inputs.size
            self.assertEqual(n, n_inputs * channels * n_dumps)
            print(f"# M {per_dump}: {found} of {n} flagged, "
                  f"{(found / n - rate) / math.sqrt(rate * (1 - rate) / n):+.1f}"
                  " standard deviations from 0.1")
            self.assertLess(abs(found - n * rate),
                            5 * math.sqrt(n * rate * (1 - rate))
                            + 0.01 * n * rate)

    def test_the_curve_against_simulated_noise(self):
        """Far out the curve is above the truth below the mean: noise is flagged
        less often than was asked for."""
        generator = np.random.default_rng(8)
        rates = (0.1, 0.01, 0.0027, 1e-4)
        for n in (64, 256, 1024):
            n_dumps = (2**28 if program.LONG else 2**25) // n
            found = np.zeros(len(rates))
            for _ in range(n_dumps * n // 2**22):
                p = generator.standard_exponential((2**22 // n, n))
                sk = (n + 1) / (n - 1) * (
                    n * (p * p).sum(axis=1) / p.sum(axis=1)**2 - 1)
                for k, rate in enumerate(rates):
                    low, high = limits(n, Fraction(1), rate)
                    found[k] += ((sk < low) | (sk > high)).sum()
            shares = found / n_dumps / rates
            errors = np.sqrt(1 / np.multiply(rates, n_dumps))
            print(f"# {n} spectra:", ", ".join(
                f"{share:.3f} +- {error:.3f} of {rate}"
                for share, error, rate in zip(shares, errors, rates)))
            self.assertLess(abs(shares[0] - 1), 0.01 + 5 * errors[0])
            self.assertTrue((shares < 1 + 5 * errors).all())
            self.assertTrue((shares > 0.5 - 5 * errors).all())

    def test_tones(self):
        """1000 spectra of noise of power 800 in a channel; a carrier of 32 9^2,
        always in one input, in every 20th spectrum in another."""
        channels, n = 32, 1000
        samples = program.noise(11, 3, 1, channels * n)
        t = np.arange(channels * n)
        for k, channel, on in ((0, 5, True), (1, 20, t // channels % 20 == 3)):
            samples[k, 0] = program.to_int8(samples[k, 0] + 9 * on * np.exp(
                2j * np.pi * t * (channel - channels // 2) / channels))
        setup = oracle.Setup(channels, n * channels / 1e6, method="fft",
                             flag_edges=0)
        path = self.write(program.Scene(samples))
        keys = {"flag.sk_false_alarm": 1e-5, "correlator.backend": "cpu"}
        inputs = self.flags_of(self.fx8(path, setup, keys), 3)
        np.testing.assert_array_equal(np.argwhere(inputs[0]),
                                      [[0, 5], [1, 20]])
        done = self.well("correlate", self.ini(setup), path, "-o",
                         self.path("said.uvh5"), keys=keys)
        self.assertIn("\nflagged    2 of 96 inputs x channels x dumps: "
                      "spectral kurtosis\n", done.stdout)

    def test_every_result_has_the_same_flags(self):
        """Bounds, both precisions, the quick-look, slices, threads; averages
        leave flagged channels out."""
        path = self.write(self.scene(12, 60000))
        setup = oracle.Setup(16, 64 * 16 / 1e6, method="fft", flag_edges=0)
        rate = {"flag.sk_false_alarm": 0.1, "correlator.backend": "cpu"}

        def result(keys=None, precision="fp32", name="out.uvh5"):
            setup.precision = precision
            done = self.well("correlate", self.ini(setup), path, "-o",
                             self.path("out.uvh5"), "--force",
                             keys={**rate, **(keys or {})})
            self.said = re.findall("(\\d+) of \\d+ inputs", done.stdout)
            return program.read(self.path(name))

        want = result()
        said = self.said
        self.assertEqual(int(said[0]), self.flags_of(want, 12).sum())
        for keys, precision, name in (
                ({}, "interval", "out.down.uvh5"),
                ({}, "interval", "out.up.uvh5"), ({}, "both", "out.int8.uvh5"),
                ({"correlator.threads": 1}, "fp32", "out.uvh5"),
                ({"correlator.threads": 5}, "int8", "out.uvh5")):
            np.testing.assert_array_equal(
                result(keys, precision, name).flags, want.flags)
            self.assertEqual(self.said, said)
        look = self.path("look.h5")
        result({"postprocess.quicklook": look})
        with h5py.File(look) as file:
            np.testing.assert_array_equal(file["flags"][...].astype(bool),
                                          want.flags)
        drawn = json.loads(self.well("plot", look, "--json").stdout)["panels"][-1]
        np.testing.assert_allclose(
            drawn["matrix"]["values"],
            100 * self.flags_of(want, 12).mean(axis=1), atol=1e-9)
        mean = result({"output.channel_average": 2})
        np.testing.assert_array_equal(
            mean.flags, want.flags[:, :, ::2] & want.flags[:, :, 1::2])
        one = want.flags[:, :, ::2] & ~want.flags[:, :, 1::2]
        np.testing.assert_allclose(mean.visibilities[one],
                                   want.visibilities[:, :, 1::2][one],
                                   rtol=1e-6)

    def test_refusals(self):
        path = self.write(self.scene(2, 60000))
        for keys, words in (
                ({"flag.sk_false_alarm": 0.5}, ("sk_false_alarm: 0.5:", "0.1")),
                ({"flag.sk_false_alarm": 0}, ("sk_false_alarm: 0:", "none")),
                ({"flag.sk_false_alarm": 0.01,
                  "correlator.integration_time_s": 0.001},
                 ("sk_false_alarm", "at least 64 spectra"))):
            done = program.run("correlate", self.ini(
                oracle.Setup(16, 0.002, method="fft")), path, "-o",
                self.path("x.uvh5"), keys=keys)
            self.assert_one_line(done, done.returncode, *words)
            self.assertIn(done.returncode, (1, 2))
