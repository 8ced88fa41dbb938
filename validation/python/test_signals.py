# SPDX-License-Identifier: BSD-3-Clause
"""Signals whose visibilities follow from a formula: tones, channel shape,
plane waves, delays. Random numbers have fixed seeds; their limits are five
standard deviations.

Shows (signals, tones): tones on and off the centre of a channel have |X| =
    A|H(δ)| and the right phase; a real tone has half the amplitude
Within: 10⁻⁵ of the peak, 10⁻⁵ rad; INT8 half a step
Because: single precision; tones of whole numbers need no rounding
In: Tone

Shows (signals, channel shape): 128 tones a channel trace the filter's response
Within: ±0.1 dB to −40 dB, ±1 dB to −60 dB, edges 0.1 dB
Because: the tones are rounded to 8 bits
In: ChannelShape

Shows (signals, plane wave): sign and slope of the phase are right, for both
    sample types and both sidebands
Within: slope 0.1 % of the largest, 1° rms
Because: noise of 1,000 spectra of a coherent wave
In: test_sign_and_slope

Shows (signals, sky): an asymmetric sky is the right way round; a delay by
    whole samples gives Σ wₙwₙ₊d
Within: 5 sigma
Because: sigma of the mean of the spectra
In: test_asymmetric_sky test_delay_by_whole_samples
"""
from fractions import Fraction

import numpy as np

import oracle
import program

LIGHT_M_S = 299_792_458.0
# Integer complex amplitudes: times i^n they stay integers, so a tone at a
# quarter of the sample rate needs no rounding.
AMPLITUDES = np.array([60 + 33j, -17 + 99j, 1 - 120j, 44 + 0j])


def response(setup, length, offset):
    """H(offset) = sum of w_n exp(2 pi i offset n / N)."""
    weights = oracle.prototype(setup, length)
    n = np.arange(len(weights))
    return np.exp(2j * np.pi * np.multiply.outer(offset, n) / length) @ weights


def square(result, row, product=0):
    """One product as a matrix [dump][channel][antenna][antenna]."""
    n = int(result.header["Nants_data"])
    values = result.visibilities[..., product]
    out = np.zeros((values.shape[0], values.shape[2], n, n), complex)
    rows = [(i, j) for i in range(n) for j in range(i, n)]
    for index, (i, j) in enumerate(rows):
        out[:, :, i, j] = values[:, index]
        out[:, :, j, i] = values[:, index].conj()
    return out if row is None else out[row]


def wave(positions, direction, is_complex, sideband, dc_hz, rate_hz, count,
         generator):
    """Band-limited noise of a distant source, rms 1, as each antenna records
    it: the field at r arrives earlier than at the origin by r.s / c."""
    baseband = np.fft.fftfreq(count, 1 / rate_hz)
    band = generator.normal(size=count) + 1j * generator.normal(size=count)
    if not is_complex:
        band[baseband <= 0 if sideband == "upper" else baseband >= 0] = 0
    delay = positions @ direction / LIGHT_M_S
    phase = np.multiply.outer(delay, baseband + dc_hz)
    field = np.fft.ifft(band * np.exp(2j * np.pi * phase), axis=-1)
    if not is_complex:
        field = field.real
    elif sideband == "lower":
        field = field.conj()
    return field / np.sqrt(np.mean(np.abs(field)**2))


def unit_vector(azimuth_deg, elevation_deg):
    """East, north, up of a direction; azimuth from north through east."""
    az, el = np.radians([azimuth_deg, elevation_deg])
    return np.array([np.sin(az) * np.cos(el), np.cos(az) * np.cos(el),
                     np.sin(el)])


class Tone(program.Case):
    """(a) |X| = A |H(offset)|, and the given phase difference."""

    def scene(self, is_complex):
        turn = 1j ** (np.arange(20_000) % 4)
        samples = np.rint(AMPLITUDES[:, None, None] * turn)
        return program.Scene(samples if is_complex else samples.real)

    def test_complex_tone_on_and_off_the_centre(self):
        # channels not a multiple of four put the tone off the centre
        for channels in (16, 14, 15, 30):
            for method, taps in (("pfb", 8), ("pfb", 4), ("fft", 1)):
                setup = oracle.Setup(channels, "all", method=method, taps=taps,
                                     flag_edges=0)
                got = square(self.correlate(self.scene(True), setup), 0)
                bins = np.arange(channels) - channels // 2
                gain = np.abs(response(setup, channels,
                                       channels / 4 - bins))**2
                want = gain[:, None, None] * np.multiply.outer(
                    AMPLITUDES.conj(), AMPLITUDES)
                peak = gain.max() * np.multiply.outer(*[np.abs(AMPLITUDES)]*2)
                self.assertTrue((np.abs(got - want) < 1e-5 * peak).all())
                best = np.argmax(gain)
                np.testing.assert_allclose(
                    np.angle(got[best] * want[best].conj()), 0, atol=1e-5)
                if channels == 16 and method == "fft":
                    # H(0)^2 = N / ENBW; ENBW of the rectangular window is 1
                    self.assertAlmostEqual(gain[best], 16, places=12)

    def test_real_tone_has_half_the_amplitude(self):
        for channels in (16, 15, 18):
            setup = oracle.Setup(channels, "all", flag_edges=0)
            result = self.correlate(self.scene(False), setup)
            got = square(result, 0)
            length = 2 * channels
            bins = np.arange(channels)
            t = np.arange(int((20_000 - 8 * length) // length + 1))
            turn = np.exp(2j * np.pi * (t * length % 4) / 4)
            direct = response(setup, length, length / 4 - bins)
            image = response(setup, length, -length / 4 - bins)
            spectra = (AMPLITUDES[:, None, None] / 2
                       * direct[:, None] * turn
                       + AMPLITUDES[:, None, None].conj() / 2
                       * image[:, None] * turn.conj())
            want = np.einsum("ict,jct->cij", spectra.conj(), spectra) / len(t)
            peak = np.abs(want).max(axis=0)
            self.assertTrue((np.abs(got - want) < 1e-5 * peak).all())

    def test_int8_within_half_a_step(self):
        setup = oracle.Setup(16, "all", precision="int8", flag_edges=0,
                             quantization_bias=False)
        got = square(self.correlate(self.scene(True), setup), 0)[8 + 4]
        want = np.abs(response(setup, 16, 0))**2 * np.multiply.outer(
            AMPLITUDES.conj(), AMPLITUDES)
        # half a step in each component of 20 sqrt(2 ln 2) = 23.5 steps
        step = np.sqrt(0.5) / (20 * np.sqrt(2 * np.log(2)))
        self.assertLess((np.abs(got - want) / np.abs(want)).max(),
                        2 * step + step**2)


class ChannelShape(program.Case):
    """(f) 128 tones across a channel, each measured in all 64 channels."""

    def test_shape_follows_the_formula(self):
        channels, tones, count = 64, 128, 64 * 264
        generator = np.random.default_rng(20)
        frequency = (10 + (np.arange(tones) + 0.5) / tones) / channels
        n = np.arange(count)
        samples = 126 * np.exp(2j * np.pi * np.multiply.outer(frequency, n))
        # a uniform dither makes the rounding error white, 1/3 LSB^2 in all
        samples += generator.uniform(-0.5, 0.5, samples.shape)
        samples += 1j * generator.uniform(-0.5, 0.5, samples.shape)
        scene = program.Scene(program.to_int8(samples)[:, None, :])
        for taps, window, edge_db in ((8, "hamming", -6.01), (8, "hann", -6.03),
                                      (4, "hamming", -6.08)):
            setup = oracle.Setup(channels, "all", taps=taps, window=window,
                                 flag_edges=0)
            result = self.correlate(scene, setup)
            own = np.cumsum(np.r_[0, np.arange(tones, 1, -1)])
            power = result.visibilities[0, own, :, 0].real - 1 / 3
            bins = np.arange(channels) - channels // 2
            offset = frequency[:, None] * channels - bins
            want = np.abs(response(setup, channels, offset))**2
            top = np.abs(response(setup, channels, 0.0))**2
            relative = 10 * np.log10(want / top)
            error = 10 * np.log10(np.maximum(power, 1e-9) / 126**2 / want)
            self.assertLess(np.abs(error[relative > -40]).max(), 0.1)
            near = (relative > -60) & (relative <= -40)
            self.assertGreater(near.sum(), 5)
            self.assertLess(np.abs(error[near]).max(), 1)
            # the tones just inside and just outside both edges
            at_edge = np.abs(np.abs(offset) - 0.5) < 0.005
            self.assertEqual(at_edge.sum(), 4)
            edge = 10 * np.log10(power[at_edge] / 126**2 / top).mean()
            self.assertLess(abs(edge - edge_db), 0.1)


class PlaneWave(program.Case):
    """(c) phase +2 pi f (r_j - r_i).s / c for both sample types and both
    sidebands; an asymmetric sky."""

    rate = Fraction(20_000_000)
    dc_hz = 150e6

    def scene(self, positions, fields, is_complex, sideband):
        level = 25 / np.sqrt(2) if is_complex else 25
        samples = program.to_int8(
            level * np.sqrt(2 if is_complex else 1) * fields / np.sqrt(
                np.mean(np.abs(fields)**2)))
        return program.Scene(samples[:, None, :], rate=self.rate,
                             dc_hz=self.dc_hz, sideband=sideband,
                             positions=positions)

    def test_sign_and_slope(self):
        positions = program.spread(4, seed=3)
        direction = unit_vector(70, 35)
        for is_complex in (True, False):
            for sideband in ("upper", "lower"):
                generator = np.random.default_rng(31)
                fields = wave(positions, direction, is_complex, sideband,
                              self.dc_hz, float(self.rate), 2**18, generator)
                setup = oracle.Setup(256, "all", taps=4)
                result = self.correlate(
                    self.scene(positions, fields, is_complex, sideband), setup)
                with self.subTest(is_complex=is_complex, sideband=sideband):
                    self.check(result, positions, direction)

    def check(self, result, positions, direction):
        frequency = result.header["freq_array"]
        self.assertTrue((np.diff(frequency) > 0).all())
        inside = slice(8, -8)
        matrix = square(result, 0)
        for i in range(4):
            for j in range(i + 1, 4):
                lag = (positions[j] - positions[i]) @ direction / LIGHT_M_S
                phase = np.unwrap(np.angle(matrix[inside, i, j]))
                slope = np.polyfit(frequency[inside] - frequency.mean(),
                                   phase, 1)[0]
                # 0.1 % of the largest slope, because short lags have a tiny one
                self.assertLess(abs(slope - 2 * np.pi * lag),
                                1e-3 * 2 * np.pi * 300e-9)
                rest = np.angle(matrix[inside, i, j] * np.exp(
                    -2j * np.pi * frequency[inside] * lag))
                self.assertLess(np.degrees(np.sqrt(np.mean(rest**2))), 1.0)

    def test_asymmetric_sky(self):
        positions = program.spread(5, seed=4)
        sky = ((1.0, unit_vector(30, 70)), (0.5, unit_vector(200, 50)))
        generator = np.random.default_rng(32)
        count = 2**18
        fields = sum(np.sqrt(flux) * wave(
            positions, direction, True, "upper", self.dc_hz, float(self.rate),
            count, generator) for flux, direction in sky)
        result = self.correlate(self.scene(positions, fields, True, "upper"),
                                oracle.Setup(256, "all", method="fft"))
        frequency = result.header["freq_array"][4:-4]
        matrix = square(result, 0)[4:-4]
        n_spectra = count // 256
        right, wrong = [], []
        for i in range(5):
            for j in range(i + 1, 5):
                gap = (positions[j] - positions[i]) / LIGHT_M_S
                model = sum(flux * np.exp(2j * np.pi * frequency * (gap @ s))
                            for flux, s in sky) / 1.5
                found = matrix[:, i, j] / np.sqrt(
                    matrix[:, i, i].real * matrix[:, j, j].real)
                right.append(np.abs(found - model)**2)
                wrong.append(np.abs(found.conj() - model)**2)
        # noise 1/M in the square; delays of up to 7 of 256 samples lose 3 %
        self.assertLess(np.sqrt(np.mean(right)),
                        5 / np.sqrt(n_spectra) * 0.4 + 0.03)
        self.assertGreater(np.sqrt(np.mean(wrong)), 0.5)

    def test_delay_by_whole_samples(self):
        generator = np.random.default_rng(33)
        source = 20 * (generator.normal(size=2**18)
                       + 1j * generator.normal(size=2**18))
        late = (0, 8, 16, 32)
        samples = program.to_int8(np.stack(
            [np.roll(source, delay) for delay in late]))[:, None, :]
        for method, taps in (("fft", 1), ("pfb", 4)):
            setup = oracle.Setup(64, "all", method=method, taps=taps,
                                 flag_edges=0)
            result = self.correlate(program.Scene(samples), setup)
            matrix = square(result, 0)
            weights = oracle.prototype(setup, 64)
            bins = np.arange(64) - 32
            n_spectra = 2**18 // 64 - taps + 1
            for j, delay in enumerate(late):
                want = np.sum(weights[delay:] * weights[:len(weights) - delay])
                if method == "fft":
                    self.assertAlmostEqual(want, 1 - delay / 64, places=12)
                found = matrix[:, 0, j] / np.sqrt(
                    matrix[:, 0, 0].real * matrix[:, j, j].real)
                # delaying j by d turns its phase by -2 pi d k / N
                found = found * np.exp(2j * np.pi * bins * delay / 64)
                spread = np.sqrt((1 - want**2) / (2 * n_spectra * 0.9))
                # rounding at 20 LSB lowers the coherence by 1/12/400
                np.testing.assert_array_less(
                    np.abs(found.mean() - want), 5 * spread / 8 + 3e-4)
                np.testing.assert_array_less(
                    np.abs(found - want), 5.5 * spread * np.sqrt(2) + 3e-4)
