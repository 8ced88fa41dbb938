# SPDX-License-Identifier: BSD-3-Clause
"""Cable delays and tracking against the independent oracle, which takes its
geometry from astropy: sample type, sideband, filter bank, polarisations, modes,
dropouts, gains of antennas.

Shows (correlation, delays): modes cable and track agree with the oracle for
    real and complex × upper and lower sideband × pfb and fft × 1 and 2
    polarisations × cables of ±0.5, ±1, ±1000.3 samples and microseconds ×
    whole and with dropouts × with and without gains of antennas, and gains in
    mode none
Within: the limits in validation/README.md, The oracle
Because: the reasons there; sines and cosines are within 2⁻²²; models of the
    Earth agree to 10⁻⁹ rad, times 600 rad of delay; samples shifted in from
    outside are missing
"""
import itertools
import random
from fractions import Fraction

import numpy as np

import geometry
import oracle
import program

PLACE = (250.0, -35.0)              # high in the east at the start
# Delays in samples and in seconds; those of one case are neighbours.
CABLES = ((-0.5, 0), (0.5, 0), (1, 0), (0, 2.7e-6), (-1, 0), (0, -13.3e-6),
          (1000.3, 0), (0, 0), (-1000.3, 0), (0, 0.41e-6))
CHOICES = {
    "is_complex": (True, False),
    "sideband": ("upper", "lower"),
    "bank": (("pfb", 4), ("fft", 1)),
    "n_pols": (1, 2),
    "mode": ("cable", "track", "none"),
    "has_missing": (False, True),
    "has_gains": (False, True),
    "antennas": (None, [2, 0], [1, 2, 0]),  # positions in the recording
    "order": ("xy", "yx"),
    "channels": (16, 45, 64),
    "rate": (Fraction(1_000_000), Fraction(25_000_000, 27)),
    "start_s": (0.0, 0.001001),
}
# Every combination of the first four, with one value of each of the others in
# turn.
CORNERS = list(itertools.product(*list(CHOICES.values())[:4]))
N_ANTENNAS = 3
N_SAMPLES = 12_000


def pick(number):
    """Case `number`; the first 24 have all values of every axis."""
    chooser = random.Random(number)
    case = dict(zip(CHOICES, CORNERS[number % len(CORNERS)]))
    for name in list(CHOICES)[4:]:
        values = CHOICES[name]
        case[name] = values[(number // len(CORNERS) + chooser.randrange(
            len(values))) % len(values)]
    case["cables_s"] = np.array([
        CABLES[(3 * number + k) % len(CABLES)][0] / float(case["rate"])
        + CABLES[(3 * number + k) % len(CABLES)][1]
        for k in range(N_ANTENNAS * case["n_pols"])]).reshape(N_ANTENNAS, -1)
    return case


def make_scene(case, seed):
    """Noise of different levels, half of it common to all inputs."""
    generator = np.random.default_rng(seed)

    def noise(*shape):
        real = generator.normal(size=shape)
        return (real + 1j * generator.normal(size=shape)
                if case["is_complex"] else real)

    samples = noise(N_ANTENNAS, case["n_pols"], N_SAMPLES)
    level = generator.uniform(5, 25, samples.shape[:2])[..., None]
    samples = program.to_int8(level * (samples + noise(N_SAMPLES)))
    missing = [(0, 0, 1500, 40), (-1, -1, 5000, 1), (1, -1, 7777, 900),
               (2, 0, 0, 3), (2, -1, N_SAMPLES - 1, 1)]
    return program.Scene(
        samples, rate=case["rate"], sideband=case["sideband"],
        start_ns=123_456_789, has_table=False,
        missing=missing if case["has_missing"] else [])


class Delay:
    """Seconds [input][sample] at instants by sample index."""

    def __init__(self, case, scene, positions):
        chosen = case["antennas"] or slice(None)
        self.cables = case["cables_s"][chosen].reshape(-1, 1)
        self.is_tracked = case["mode"] == "track"
        self.positions = np.repeat(positions[chosen], case["n_pols"], axis=0)
        self.rate = float(scene.rate)
        start = scene.start_s + Fraction(scene.start_ns, 10**9)
        if self.is_tracked:
            self.towards = geometry.Towards(PLACE, start,
                                            N_SAMPLES / self.rate)

    def __call__(self, samples):
        late = self.cables + np.zeros(len(samples))
        if self.is_tracked:
            late = late + self.towards.delays(self.positions,
                                              samples / self.rate)
        return late


class Delays(program.Case):
    """Each test is one case in both precisions."""

    def keys(self, case, positions):
        """Keys of the run; writes its tables."""
        self.save("antennas.csv",
                  geometry.antenna_csv(positions, case["cables_s"]))
        keys = {"array.positions": "antennas.csv", "delay.mode": case["mode"],
                **program.SITE_KEYS}
        if case["mode"] == "track":
            keys.update(geometry.fx8_keys(PLACE))
        return keys

    def gains(self, case, seed):
        """Factors of the inputs at all channels' frequencies, and delays that
        join the cables'; written to gains.csv.  An input has no row."""
        generator = np.random.default_rng(seed)
        shape = case["cables_s"].shape
        amplitude = generator.uniform(0.5, 2, shape)
        phase_deg = generator.uniform(-180, 180, shape)
        delay_ns = generator.uniform(-50, 50, shape)
        if case["mode"] == "none":
            delay_ns[:] = 0
        amplitude[1, 0], phase_deg[1, 0], delay_ns[1, 0] = 1, 0, 0
        rows = [(a, "XY"[p], amplitude[a, p], phase_deg[a, p], delay_ns[a, p])
                for a, p in np.ndindex(shape) if (a, p) != (1, 0)]
        self.save("gains.csv", "number,pol,amplitude,phase_deg,delay_ns\n"
                  + "".join(",".join(map(str, row)) + "\n" for row in rows))
        case["cables_s"] = case["cables_s"] + 1e-9 * delay_ns
        factors = amplitude * np.exp(1j * np.radians(phase_deg))
        return factors[case["antennas"] or slice(None)].ravel()

    def check(self, number):
        case = pick(number)
        positions = program.spread(N_ANTENNAS, seed=number) * 2
        keys = self.keys(case, positions)
        factors, amplitude = None, 1
        if case["has_gains"]:
            factors = self.gains(case, number)
            amplitude = np.abs(factors)[:, None]
            keys["array.gains"] = "gains.csv"
        scene = make_scene(case, number)
        path = self.write(scene)
        recording = oracle.read_native(path)
        delay = (Delay(case, scene, positions) if case["mode"] != "none"
                 else None)
        method, taps = case["bank"]
        for precision in ("fp32", "int8"):
            # dumps that are no multiple of a group of spectra
            length = case["channels"] * (1 if case["is_complex"] else 2)
            dump_s = float(max(1, 4200 // length) * length / scene.rate)
            align = ("none", "utc")[number // 2 % 2]
            setup = oracle.Setup(
                case["channels"], dump_s if align == "none"
                else round(1.037 * dump_s, 6), align=align, method=method, taps=taps, start_s=case["start_s"], precision=precision,
                flag_edges=0, antennas=case["antennas"],
                polarization_order=(case["order"] if case["n_pols"] == 2
                                    else "xy"))
            with self.subTest(precision=precision, **case):
                got = self.fx8(path, setup, extra=keys)
                # those of the file are divided out of the results
                quantised = (got.gains / amplitude if precision == "int8"
                             else None)
                want = oracle.correlate(recording, setup, quantised, delay,
                                        factors)
                self.compare_axes(got, want)
                if case["has_missing"]:
                    self.assertLess(got.nsamples.min(), 1)
                if precision == "fp32":
                    self.compare_fp32(got, want)
                    continue
                # a median of 256 values of single-precision spectra
                np.testing.assert_allclose(quantised, want.gains, rtol=2e-6)
                self.compare_int8(got, want)

    @classmethod
    def tearDownClass(cls):
        print(f"# INT8: {cls.exact_cells} cells compared to the bit, "
              f"{cls.doubtful_cells} with a near tie in them")


def _add(number):
    def test(self):
        self.check(number)
    test.__doc__ = f"case {number}"
    setattr(Delays, f"test_case_{number:03d}", test)


for _number in range(400 if program.LONG else 24):
    _add(_number)
