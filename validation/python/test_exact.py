# SPDX-License-Identifier: BSD-3-Clause
"""Properties that hold exactly: integer sums, symmetry, linearity, and
independence of block size, threads and kernels.

Shows (correlation, integers are exact): method `none`: INT8 = FP32 = 64-bit
    sum; −128 over 140,003 products
Within: to the bit
Because: sums of integers are exact
In: Unchannelised

Shows (correlation, however a run is cut): block size, threads, kernels and
    axis order do not change the result
Within: INT8 to the bit; FP32 10⁻⁶ of the power, kernels 4·10⁻⁶
Because: INT8 sums do not depend on order; two kernels sum in different orders,
    each within 2·10⁻⁶ of the truth
In: Invariance

Shows (correlation, parts of a run): stretches that meet (`start_s`,
    `duration_s`) give the dumps of one run, an incomplete last one too
Within: to the bit
Because: a dump depends on its own samples alone
In: Parts

Shows (correlation, symmetry): V_ji = conj V_ij, autos are real, the matrix is
    positive semi-definite
Within: INT8 and autos to the bit; FP32 10⁻⁶ of the power; λ_min > −10⁻⁶ λ_max
Because: sums are in single precision
In: Symmetry

Shows (correlation, linearity): the result is linear in the input over 36 dB
Within: to the bit
Because: powers of two scale floats and gains without rounding
In: Linearity

Shows (correlation, dead inputs): a dead input gives 0, has weight 1 and is
    flagged
Within: exact
Because: sums of zeros are zero
In: DeadInput, test_session.c
"""
import dataclasses

import numpy as np

import oracle
import program


def integers(generator, *shape):
    """Complex integers over the full range, including -128."""
    return (generator.integers(-128, 128, shape)
            + 1j * generator.integers(-128, 128, shape))


def mean_products(samples, rows):
    """float(sum / count) of conj(x_i) x_j in 64-bit integers."""
    re = samples.real.astype(np.int64)
    im = samples.imag.astype(np.int64)
    out = []
    for i, j in rows:
        sums = (int(re[i] @ re[j] + im[i] @ im[j]),
                int(re[i] @ im[j] - im[i] @ re[j]))
        out.append(complex(*[np.float32(s / samples.shape[1]) for s in sums]))
    return np.array(out)


class Unchannelised(program.Case):
    """method = none: INT8, FP32 and a 64-bit integer sum agree."""

    def check(self, samples, sideband="upper"):
        n = samples.shape[0]
        rows = [(i, j) for i in range(n) for j in range(i, n)]
        want = mean_products(samples if sideband == "upper"
                             else samples.conj(), rows)
        scene = program.Scene(samples[:, None, :], sideband=sideband)
        for precision in ("int8", "fp32"):
            setup = oracle.Setup(1, "all", method="none", precision=precision)
            got = self.correlate(scene, setup)
            np.testing.assert_array_equal(got.visibilities[0, :, 0, 0], want)
            self.assertFalse(got.flags.any())

    def test_random_over_the_full_range(self):
        generator = np.random.default_rng(81)
        for n_antennas in (1, 2, 3, 8, 19):
            for sideband in ("upper", "lower"):
                with self.subTest(n_antennas=n_antennas, sideband=sideband):
                    self.check(integers(generator, n_antennas, 5003),
                               sideband)

    def test_full_scale_over_more_than_70000_products(self):
        # the sum of 140,003 products is far beyond 32 bits
        generator = np.random.default_rng(82)
        count = 140_003
        samples = np.full((5, count), -128 - 128j)
        samples[1] = 127 - 128j
        samples[2] = integers(generator, count)
        samples[3, 1::2] = 127 + 127j
        self.check(samples)


class Invariance(program.Case):
    """Block size, threads and the variant change no bit of an INT8 result; FP32
    may round differently, by 1e-6 of the power.  Two variants sum in different
    orders, each within 2e-6 of the truth (compare_fp32)."""

    def check(self, is_complex, environment=None, extra=None, limit=1e-6,
              arguments=()):
        generator = np.random.default_rng(91)
        samples = 20 * (generator.normal(size=(5, 2, 60_000))
                        + 1j * generator.normal(size=(5, 2, 60_000)))
        samples += 5
        samples = program.to_int8(samples if is_complex else samples.real)
        samples[2, 1, 30_000:30_700] = 0      # a run of markers
        samples[3, 0, 40_000:40_063] = 0      # too short to count as missing
        scene = program.Scene(samples, missing=[(1, -1, 20_000, 777)])
        path = self.write(scene)
        for precision in ("int8", "fp32"):
            setup = oracle.Setup(24, 0.0123, taps=8, start_s=0.001,
                                 precision=precision, missing_value=0)
            plain = self.fx8(path, setup, arguments=arguments)
            other = self.fx8(path, setup, environment=environment, extra=extra,
                             arguments=arguments)
            self.assert_equal(plain, other, ("flags", "nsamples"))
            if precision == "int8":
                self.assert_equal(plain, other, (
                    "visibilities", "gains", "clip_fraction"))
            else:
                scale = plain.visibilities[:, 0, :, :1].real.max()
                np.testing.assert_allclose(plain.visibilities,
                                           other.visibilities, rtol=0,
                                           atol=limit * scale)

    def test_block_size(self):
        for is_complex in (True, False):
            for size in (1, 191, 4096, 1_000_000):
                if size == 1 and not is_complex:
                    continue
                with self.subTest(size=size, is_complex=is_complex):
                    self.check(is_complex,
                               environment={"FX8_BLOCK_SAMPLES": str(size)})

    def test_threads(self):
        for threads in (1, 2, 3, 7):
            with self.subTest(threads=threads):
                self.check(True, extra={"correlator.threads": threads})

    def test_kernels(self):
        for kernel in ("reference", "avx2", "avxvnni", "avx512"):
            with self.subTest(kernel=kernel):
                if kernel not in usable_kernels():
                    continue
                for is_complex in (True, False):
                    # the reference has FFTW's transform
                    self.check(is_complex, limit=4e-6,
                               extra={"correlator.kernel": kernel},
                               arguments=("--fft-plan", "estimate"))
                    if kernel != "reference":
                        self.check(is_complex, limit=4e-6,
                                   extra={"correlator.kernel": kernel})


class Parts(program.Case):
    """Runs over stretches that meet give the dumps of one run, an incomplete
    last one too."""

    def test_joined_stretches(self):
        generator = np.random.default_rng(95)
        scene = program.Scene(
            program.to_int8(20 * generator.normal(size=(3, 2, 30_007))),
            missing=[(1, -1, 27_000, 300)])
        path = self.write(scene)
        # real samples: a spectrum is 32 of them, with 7 more before the first
        dump, m = 0.0064, 200
        setup = oracle.Setup(16, dump, last_dump_min=0.6)
        whole = self.fx8(path, setup)
        self.assertEqual(len(whole.visibilities), 5)
        spectra = (30_007 - 7 * 32) // 32
        lengths = whole.header["integration_time"].reshape(5, -1)[:, 0]
        np.testing.assert_allclose(lengths[-1], (spectra - 4 * m) * 32e-6,
                                   rtol=1e-15)
        parts = [
            self.fx8(path, dataclasses.replace(setup, **stretch)) for stretch in
            ({"duration_s": 2 * dump + 7 * 32e-6}, {"start_s": 2 * dump})]
        for name in ("visibilities", "flags", "nsamples"):
            np.testing.assert_array_equal(
                np.concatenate([getattr(part, name) for part in parts]),
                getattr(whole, name), name)
        times = np.concatenate([part.header["time_array"] for part in parts])
        np.testing.assert_array_equal(times, whole.header["time_array"])


def usable_kernels():
    """Variants that this CPU can run, by its own flags."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    levels = ["reference"]
    if {"avx2", "fma"} <= set(flags):
        levels.append("avx2")
    if {"avx2", "fma", "avx_vnni"} <= set(flags):
        levels.append("avxvnni")
    if {"avx512f", "avx512bw", "avx512vl", "avx512_vnni",
            "avx512_vbmi"} <= set(flags):
        levels.append("avx512")
    return levels


class Symmetry(program.Case):
    """(h) V_ji = conj V_ij; autos real and not negative; the matrix of an
    unmasked dump is positive semi-definite."""

    def scene(self, is_reversed=False):
        generator = np.random.default_rng(101)
        common = generator.normal(size=40_000) + 1j * generator.normal(
            size=40_000)
        samples = 15 * (common + generator.normal(size=(6, 2, 40_000))
                        + 1j * generator.normal(size=(6, 2, 40_000)))
        samples = program.to_int8(samples)
        positions = program.spread(6)
        if is_reversed:
            samples, positions = samples[::-1], positions[::-1]
        return program.Scene(samples, positions=positions)

    def test_exchanged_antennas_give_the_conjugate(self):
        rows = [(i, j) for i in range(6) for j in range(i, 6)]
        for precision in ("int8", "fp32"):
            setup = oracle.Setup(16, "all", precision=precision)
            one = self.correlate(self.scene(), setup).visibilities
            two = self.correlate(self.scene(True), setup).visibilities
            for row, (i, j) in enumerate(rows):
                other = rows.index((5 - j, 5 - i))
                # exchanging the antennas turns XY into conj YX
                turned = two[:, other][..., [0, 1, 3, 2]].conj()
                if precision == "int8":
                    np.testing.assert_array_equal(one[:, row], turned)
                else:
                    scale = np.abs(one[:, 0]).max()
                    np.testing.assert_allclose(one[:, row], turned, rtol=0,
                                               atol=1e-6 * scale)

    def test_autos_and_positive_matrix(self):
        for precision in ("int8", "fp32"):
            setup = oracle.Setup(16, "all", precision=precision,
                                 quantization_bias=False)
            values = self.correlate(self.scene(), setup).visibilities[0]
            rows = [(i, j) for i in range(6) for j in range(i, 6)]
            matrix = np.zeros((16, 12, 12), complex)
            for row, (i, j) in enumerate(rows):
                for product, (p, q) in enumerate(oracle.PRODUCTS[2]):
                    matrix[:, 2 * i + p, 2 * j + q] = values[row, :, product]
                    matrix[:, 2 * j + q, 2 * i + p] = values[
                        row, :, product].conj()
            own = np.einsum("cii->ci", matrix)
            self.assertTrue((own.imag == 0).all())
            self.assertTrue((own.real >= 0).all())
            bound = own.real[:, :, None] * own.real[:, None, :]
            self.assertTrue((np.abs(matrix)**2 <= bound * (1 + 1e-5)).all())
            values = np.linalg.eigvalsh(matrix)
            self.assertTrue((values[:, 0] > -1e-6 * values[:, -1]).all())


class Linearity(program.Case):
    """(g) input times 2^k: power times 4^k, to the bit in both precisions
    (the quantiser's gain is then 2^-k exactly)."""

    def test_powers_of_two(self):
        generator = np.random.default_rng(111)
        base = (generator.integers(-1, 2, (3, 1, 30_000))
                + 1j * generator.integers(-1, 2, (3, 1, 30_000)))
        for precision in ("fp32", "int8"):
            setup = oracle.Setup(16, "all", precision=precision)
            first = self.correlate(program.Scene(base), setup)
            for k in range(1, 7):
                got = self.correlate(program.Scene(base * 2**k), setup)
                np.testing.assert_array_equal(got.visibilities,
                                              first.visibilities * 4.0**k)


class DeadInput(program.Case):
    """All zeros, nothing marked missing: exactly 0, weight 1, flagged."""

    def test_dead_input(self):
        samples = program.noise(121, 3, 2, 20_000)
        samples[1, 1] = 0
        for precision in ("int8", "fp32"):
            setup = oracle.Setup(16, 0.004, precision=precision, flag_edges=0)
            got = self.correlate(program.Scene(samples), setup)
            want = np.zeros(got.flags.shape, bool)
            for row, (i, j) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1),
                                          (1, 2), (2, 2)]):
                for product, (p, q) in enumerate(oracle.PRODUCTS[2]):
                    want[:, row, :, product] = (1, 1) in ((i, p), (j, q))
            np.testing.assert_array_equal(got.flags, want)
            self.assertTrue((got.visibilities[want] == 0).all())
            self.assertTrue((got.visibilities[~want] != 0).all())
            self.assertTrue((got.nsamples == 1).all())
