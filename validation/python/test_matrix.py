# SPDX-License-Identifier: BSD-3-Clause
"""fx8 against the independent oracle over all combinations of settings: sample
type, sideband, filter bank, polarisations, stretch of time, missing samples,
flags, averaging, gain setting, axis order of the file.

Shows (correlation, the oracle): random settings, one change at a time and all
    at once, agree with an independent correlator in double precision
    (validation/README.md, The oracle)
    `fx8 compare` calls none of their results in both precisions bad
Within: the limits in the table there
Because: the reasons there
"""
import itertools
import random
import unittest
from fractions import Fraction

import numpy as np

import oracle
import program

AXES = list(itertools.permutations(("antenna", "pol", "time")))
CHOICES = {
    "is_complex": (True, False),
    "sideband": ("upper", "lower"),
    "bank": (("pfb", 1, "auto"), ("pfb", 4, "hann"), ("pfb", 8, "auto"),
             ("pfb", 8, "rectangular"), ("pfb", 64, "auto"),
             ("fft", 8, "auto"), ("fft", 8, "hamming"), ("none", 8, "auto")),
    "channels": (1, 7, 12, 15, 32, 45, 64),
    "antennas": ((1, None), (3, None), (5, [1, 3, 4]), (17, None)),
    "pols": ((1, None, "xy"), (2, None, "xy"), (2, 1, "xy"), (2, None, "yx")),
    "stretch": ((0.0, None), (0.000617, None), (0.001001, 0.0087)),
    "missing": ("none", "table", "zero", "-128"),
    "flags": ({}, {"flag_edges": 0}, {"flag_edges": 3, "flag_dc": True},
              {"flag_antennas": True}),
    "average": (1, 2, 3),
    "rate": (Fraction(1_000_000), Fraction(25_000_000, 27)),
    "axes": AXES,
    "quantiser": ({"target_rms": 20.0}, {"target_rms": 8.0},
                  {"target_rms": 20.0, "level": "input"},
                  {"target_rms": 40.0},
                  {"target_rms": 0.4},
                  {"target_rms": 2.0, "dither": True},
                  {"target_rms": 60.0, "level": "input", "dither": True},
                  {"target_rms": 20.0, "quantization_bias": False}),
    "dumps": (1, 3, 12, "all", 0.7),
    "last": (0, 0.5, 1),
    "align": ("none", "utc"),
    "ripple": ((), ((-5e5, 0.4), (-1.1e5, 2.5), (0, 0.9), (5e5, 1.7))),
}


def pick(number):
    """Case `number` of the matrix. The first ten cases have every value of every
    axis; combinations are random but fixed."""
    chooser = random.Random(number)
    return {name: values[(number + chooser.randrange(len(values))) %
                         len(values)]
            for name, values in CHOICES.items()}


def make_scene(choice, seed):
    """Coloured, correlated noise of different levels, and a tone."""
    generator = np.random.default_rng(seed)
    n_antennas, _ = choice["antennas"]
    n_pols = choice["pols"][0]
    n_samples = 12_000

    def noise(*shape):
        real = generator.normal(size=shape)
        if not choice["is_complex"]:
            return real
        return (real + 1j * generator.normal(size=shape)) / np.sqrt(2)

    common = noise(n_samples)
    samples = noise(n_antennas, n_pols, n_samples)
    level = generator.uniform(5, 25, (n_antennas, n_pols, 1))
    samples = level * (samples + 0.7 * common)
    samples[:, :, 1:] += 0.5 * samples[:, :, :-1]
    samples = program.to_int8(samples)
    scene = program.Scene(
        samples, rate=choice["rate"], sideband=choice["sideband"],
        start_ns=123_456_789, missing=[],
        numbers=[3 * k + 2 for k in range(n_antennas)])
    if choice["missing"] == "table":
        scene.missing = [(0, 0, 1500, 40), (-1, -1, 5000, 1),
                         (n_antennas - 1, -1, 7777, 900)]
    elif choice["missing"] != "none":
        value = 0 if choice["missing"] == "zero" else -128
        marker = value + 1j * value if choice["is_complex"] else value
        for antenna, first, count in ((0, 3000, 64), (0, 6000, 63),
                                      (n_antennas - 1, 8190, 700)):
            samples[antenna, 0, first:first + count] = marker
    return scene


def make_setup(choice, precision):
    method, taps, window = choice["bank"]
    channels = choice["channels"]
    if method == "none":
        channels = 1
    flags = dict(choice["flags"])
    if method == "none":
        flags.pop("flag_dc", None)     # refused: it is the only channel
    n_antennas, antennas = choice["antennas"]
    if flags.pop("flag_antennas", False):
        flags["flag_antennas"] = (2, 8)
        if antennas is not None:
            flags["flag_antennas"] = (11,)
        elif n_antennas == 1:
            flags["flag_antennas"] = (2,)
    if channels < 8:
        flags["flag_edges"] = 0
    average = choice["average"] if channels % choice["average"] == 0 else 1
    start, duration = choice["stretch"]
    stretch = 8000 if duration else 11_000
    length = channels * (1 if choice["is_complex"] else 2)
    if method == "pfb" and taps * length > stretch // 4:
        taps = 8
    total = length * (taps if method == "pfb" else 1)
    spectra = (stretch - total) // length + 1
    time = choice["dumps"]
    if time != "all":
        per_dump = max(int(spectra / time),
                       int(np.ceil(1.05e-3 * float(choice["rate"]) / length)))
        time = float(per_dump * length / choice["rate"])
    align = "none" if time == "all" else choice["align"]
    last = choice["last"]
    if align == "utc":
        time = round(1.037 * time, 6)   # no whole number of spectra
    if time != "all" and (per_dump > spectra or align == "utc" and (
            choice["dumps"] < 3)):
        last = 0                        # no dump need be whole
    marker = {"zero": 0, "-128": -128}.get(choice["missing"])
    return oracle.Setup(
        channels=channels, integration_time_s=time,
        last_dump_min=last, align=align, method=method, taps=taps,
        window=window, start_s=start, duration_s=duration, antennas=antennas,
        polarizations=choice["pols"][1], polarization_order=choice["pols"][2],
        missing_value=marker, channel_average=average, precision=precision,
        ripple=choice["ripple"],
        **flags, **(choice["quantiser"] if precision == "int8" else {}))


class Matrix(program.Case):
    """Each test is one case of the matrix in both precisions."""

    def check(self, number):
        choice = pick(number)
        if choice["bank"][0] == "none":
            choice["is_complex"] = True
        paths = []
        for precision in ("fp32", "int8"):
            setup = make_setup(choice, precision)
            with self.subTest(precision=precision, setup=setup, **choice):
                scene = make_scene(choice, number)
                path = self.write(scene, f"{precision}.h5",
                                  axes=choice["axes"])
                recording = oracle.read_native(path)
                np.testing.assert_array_equal(recording.samples,
                                              scene.samples)
                got = self.fx8(path, setup)
                self.compare(recording, setup, got)
                paths.append(got.path)
        # with fewer, spectra are nearly whole numbers (fx8 compare --help)
        if choice["channels"] >= 8:
            self.assertIn(self.verdict(*paths, code=(0, 3))["verdict"],
                          ("good", "none"))

    @classmethod
    def tearDownClass(cls):
        exact, doubtful = cls.exact_cells, cls.doubtful_cells
        print(f"# INT8: {exact} cells compared to the bit, {doubtful} with a "
              f"near tie in them")

    def test_most_cells_are_compared_to_the_bit(self):
        # runs after the cases, whose names sort first; run alone it has
        # nothing to judge
        if self.exact_cells + self.doubtful_cells > 100_000:
            self.assertLess(self.doubtful_cells, self.exact_cells / 4)

    def compare(self, recording, setup, got):
        quantised = setup.precision == "int8" and setup.method != "none"
        want = oracle.correlate(recording, setup,
                                got.gains if quantised else None)
        self.compare_axes(got, want)
        if setup.precision == "fp32":
            self.compare_fp32(got, want)
            return
        if quantised:
            # a median of 256 values of single-precision spectra
            np.testing.assert_allclose(got.gains, want.gains, rtol=2e-6)
        self.compare_int8(got, want)


def _add(number):
    def test(self):
        self.check(number)
    test.__doc__ = f"case {number}"
    setattr(Matrix, f"test_case_{number:03d}", test)


for _number in range(600 if program.LONG else 48):
    _add(_number)


class Oracle(unittest.TestCase):
    """The oracle itself: its folded transform equals the defining sum."""

    def test_spectra_are_the_direct_sum(self):
        generator = np.random.default_rng(5)
        for is_complex, channels, taps in ((True, 7, 4), (False, 6, 3)):
            samples = generator.normal(size=300) + (
                1j * generator.normal(size=300) if is_complex else 0)
            setup = oracle.Setup(channels, "all", taps=taps)
            length = channels if is_complex else 2 * channels
            weights = oracle.prototype(setup, length)
            self.assertAlmostEqual(np.sum(weights**2), 1, places=14)
            bins = np.arange(channels) - (channels // 2 if is_complex else 0)
            got = oracle.spectra_of(samples, weights, length, bins)
            n = np.arange(len(weights))
            for t in (0, 3, got.shape[0] - 1):
                window = samples[t * length:t * length + len(weights)]
                for c, k in enumerate(bins):
                    direct = np.sum(weights * window
                                    * np.exp(-2j * np.pi * k * n / length))
                    self.assertAlmostEqual(got[t, c], direct, places=12)
