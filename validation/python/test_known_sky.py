# SPDX-License-Identifier: BSD-3-Clause
"""Simulated skies, correlated: each visibility is within 5 sigma of its
formula, and together they deviate as much as chance predicts; the meaning of
XY and YX, also in a Measurement Set.

Shows (signals, known skies): `simulate`, then `correlate`, gives the true
    visibilities for real and complex × upper and lower sideband × pfb and fft
    × 1 and 2 polarisations × whole and with dropouts, in both precisions;
    sources of Stokes I, Q, U, V, a tone, unequal gains and cables. Every
    planted fault is detected: conjugated, in the other sideband, cables of the
    other sign, XY for YX, missing samples listed elsewhere
Within: 5 sigma for each of 244,080 numbers; chi-square of all of a case, and
    its amplitude, 5 sigma; the true visibilities themselves 2·10⁻⁷; weights
    equal
Because: the covariances of all products follow from the true visibilities, the
    overlap of the windows and the valid spectra (Isserlis); parts whitened by
    them are independent; the loss of the filter is computed, and is below half
    a sigma

Shows (signals, polarisation): Stokes V through unequal cables of X and Y: XY
    differs from YX, V from −V, X's cable from Y's, in the UVH5 file and in a
    Measurement Set written by pyuvdata, read by pyuvdata and by casacore alone
Within: 10 sigma on every baseline; within 5 of the expected value
Because: the same covariances
In: Polarised
"""
import dataclasses
import itertools
import platform
import shutil
import unittest
import warnings

import h5py
import numpy as np

import oracle
import program
import uvdata
from known_sky import LIGHT_M_S, Sky, Source, valid_spectra
from scatter import Scatter

try:
    from casacore import tables
except ImportError:
    tables = None


CHOICES = {
    "samples": ("complex", "real"),
    "sideband": ("upper", "lower"),
    "method": ("pfb", "fft"),
    "polarizations": (1, 2),
    "losses": ("whole", "gappy"),
}
CASES = [dict(zip(CHOICES, values))
         for values in itertools.product(*CHOICES.values())]


def make_sky(number, case):
    """An array in three dimensions, all cables of different length, three
    sources, none in the mirror image of another; in every other case also a
    tone off the centre of a channel.

    fft: the sidelobes of a rectangular window leak power from beyond the band
    edges into channels near them; a quarter on each side is flagged.

    Seeds are fixed.  With other seeds, one set in 14 has a number of the
    122,040 beyond 5 sigma; of 12 sets tried one had, 0.84 are expected.
    """
    random = np.random.default_rng(20210320)
    n_pols = case["polarizations"]
    n_antennas = 7 if n_pols == 1 else 4
    channels = 128 if program.LONG else 32
    sky = Sky(
        positions=program.spread(n_antennas, seed=7) / 2,
        cables_s=random.uniform(0, 80e-9, (n_antennas, n_pols)),
        sources=[Source(40, 65, (0.5, 0.1, -0.15, 0.2)),
                 Source(215, 48, (0.3, -0.1, 0.05, -0.15)),
                 Source(300, 30, (0.2, 0.0, 0.1, 0.05))],
        is_complex=case["samples"] == "complex",
        is_lower=case["sideband"] == "lower",
        method=case["method"], channels=channels,
        flag_edges=channels // 4 if case["method"] == "fft" else "auto",
        per_dump=20_000 if program.LONG else 1300,
        n_dumps=1 if program.LONG else 3,
        dropout_fraction=0.04 if case["losses"] == "gappy" else 0.0,
        seed=1100 + number)
    values = [values.index(case[name]) for name, values in CHOICES.items()]
    if sum(values) % 2 == 0:
        channel = 5 * channels // 8
        tone_hz = (sky.frequencies_hz[channel]
                   + 0.3 * sky.rate_hz / sky.length)
        # fully polarised, as a tone must be
        sky.sources.append(Source(75, 52, (0.3, 0.1, -0.2, 0.2),
                                  float(tone_hz)))
    return sky


def pairs_of(means):
    """[..., input, input] -> [..., product]: i <= j, row by row."""
    return means[(..., *np.triu_indices(means.shape[-1]))]


def inputs_of(sky):
    """The two inputs of each [baseline][product] of a file."""
    n = len(sky.positions)
    first, second = np.array([
        [(a * sky.n_pols + p, b * sky.n_pols + q)
         for p, q in oracle.PRODUCTS[sky.n_pols]]
        for a in range(n) for b in range(a, n)]).transpose(2, 0, 1)
    return first, second


class Observation:
    """A sky, simulated and correlated in both precisions, with its files and
    their expected content.

    true, expected   [channel][product]: by formula, without and with the effect
                     of the filter; flagged channels are left out everywhere
    """

    def __init__(self, case, sky):
        self.case, self.sky, self.folder = case, sky, case.folder
        self.config = sky.write(self.folder)
        self.recording = f"{self.folder}/sky.h5"
        self.run("simulate", self.config, "-o", self.recording)
        self.correlate(self.recording, "both")
        self.files = {name: program.read(f"{self.folder}/sky.{name}.uvh5")
                      for name in ("true", "int8", "fp32")}
        self.keep = ~self.files["true"].flags.any(axis=(0, 1, 3))
        sky.find_gains(*self.quiet_powers())
        self.true = pairs_of(sky.true_means())[self.keep]
        means = sky.filtered_means()
        self.expected = pairs_of(means)[self.keep]
        self.noise = means - sky.tone_means(with_image=True)
        self.valid = valid_spectra(self.recording, sky)

    def run(self, *arguments):
        # 3: the loss by INT8 exceeds the prediction, which other tests judge
        done = program.run(*arguments, cwd=self.folder)
        self.case.assertIn(done.returncode, (0, 3), done.stderr)

    def correlate(self, recording, precision, output="sky.uvh5"):
        self.run("correlate", self.config, recording, "--quiet", "-o",
                 f"{self.folder}/{output}", "--precision", precision)

    def quiet_powers(self):
        """True power of each input in the first unflagged channel, and the
        number of that channel."""
        channel = np.flatnonzero(self.keep)[0]
        first, second = inputs_of(self.sky)
        values = self.files["true"].visibilities[0, :, channel]
        powers = np.zeros(self.sky.n_inputs)
        powers[first[first == second]] = values[first == second].real
        return powers, channel

    def products(self, values):
        """[dump][baseline][channel][product of a file] to [dump][channel]
        [product of inputs]; YX of autos is conj(XY) and is dropped."""
        place = {pair: index for index, pair in enumerate(zip(
            *(inputs.ravel() for inputs in inputs_of(self.sky))))}
        order = [place[pair] for pair in
                 zip(*np.triu_indices(self.sky.n_inputs))]
        flat = values.swapaxes(1, 2)[:, self.keep]
        return flat.reshape(*flat.shape[:2], -1)[..., order]

    def measured(self, name):
        return self.products(self.files[name].visibilities)

    def scatter(self, precision):
        """Scatter of the visibilities of one precision: INT8 adds its rounding
        noise, 1/6 of a step squared, to the power of an input."""
        sky, noise = self.sky, self.noise.copy()
        if precision == "int8":
            diagonal = np.arange(sky.n_inputs)
            noise[:, diagonal, diagonal] += (
                1 / 6 / self.files["int8"].gains.T**2)
        turn = (2 * np.pi * sky.length * sky.tone_baseband(sky.tones[0])
                if sky.tones else 0.0)
        return Scatter(sky.weights, sky.length, self.valid, noise[self.keep],
                       sky.tone_means()[self.keep], turn)


# --- faults that must be detected ----------------------------------------

def conjugate(values, sky):
    return values.conj()


def exchange_sidebands(values, sky):
    channels = (-np.arange(sky.channels)) % sky.channels
    return values[:, :, channels].conj()


def exchange_crosses(values, sky):
    return values[..., [0, 1, 3, 2]]


def turn_cables(values, sky):
    """Cables that make signals early instead of late."""
    first, second = inputs_of(sky)
    late = sky.cables_s.ravel()
    turns = np.multiply.outer(sky.frequencies_hz, late[second] - late[first])
    return values * np.exp(4j * np.pi * turns).transpose(1, 0, 2)


FAULTS = (conjugate, exchange_sidebands, turn_cables)


class Matrix(program.Case):
    """simulate, correlate, compare: every combination of CHOICES."""

    n_numbers, farthest, widest = 0, 0.0, 0.0

    def check(self, number):
        case = CASES[number]
        seen = Observation(self, make_sky(number, case))
        self.check_truth(seen)
        for precision in ("int8", "fp32"):
            with self.subTest(precision=precision, **case):
                self.check_weights(seen, precision)
                self.check_scatter(seen, precision)
        self.check_faults(seen, case)

    @classmethod
    def tearDownClass(cls):
        print(f"# {cls.n_numbers} numbers, the farthest {cls.farthest:.2f} "
              f"sigma off; chi-square within {cls.widest:.2f} sigma")

    def check_truth(self, seen):
        """The file of true visibilities equals the formula, as floats; each
        input has its own gain."""
        got = seen.measured("true")
        i, j = np.triu_indices(seen.sky.n_inputs)
        power = seen.true[:, i == j].real
        scale = np.sqrt(power[:, i] * power[:, j])
        # one rounding of the value, one of the power that gave the gain
        np.testing.assert_array_less(np.abs(got - seen.true) / scale, 2e-7)
        self.assertGreater(np.ptp(seen.sky.gains), 0.2)

    def check_weights(self, seen, precision):
        """A spectrum counts if no sample in its window is missing."""
        first, second = np.triu_indices(seen.sky.n_inputs)
        share = (seen.valid[:, first] & seen.valid[:, second]).mean(axis=2)
        for name in ("true", precision):
            weights = seen.products(seen.files[name].nsamples)
            np.testing.assert_array_equal(weights, np.broadcast_to(
                share[:, None], weights.shape).astype(np.float32))

    def check_scatter(self, seen, precision):
        """Every number alone, all together, and the overall amplitude."""
        scatter = seen.scatter(precision)
        error = seen.measured(precision) - seen.measured("true")
        deviations = np.abs(scatter.deviations(error))
        self.assertLess(deviations.max(), 5)
        # the truth leaves out the filter's loss, which is known and far
            # below the noise of every number
        loss = np.broadcast_to(seen.expected - seen.true, error.shape)
        self.assertLess(np.abs(scatter.deviations(loss)).max(), 0.5)
        centre, sigma = scatter.band(scatter.chi_square(loss))
        off = abs(scatter.chi_square(error) - centre) / sigma
        self.assertLess(off, 5)
        everything = np.broadcast_to(seen.expected, error.shape)
        self.assertLess(abs(scatter.amplitude(error - loss, everything)), 5)
        Matrix.n_numbers += deviations.size
        Matrix.farthest = max(Matrix.farthest, deviations.max())
        Matrix.widest = max(Matrix.widest, off)

    def check_faults(self, seen, case):
        """Each fault, applied to the measured values, exceeds the limits."""
        scatter, true = seen.scatter("fp32"), seen.measured("true")
        centre, sigma = scatter.band()
        faults = FAULTS + (exchange_crosses,) * (case["polarizations"] == 2)
        for fault in faults:
            with self.subTest(fault=fault.__name__, **case):
                values = fault(seen.files["fp32"].visibilities, seen.sky)
                error = seen.products(values) - true
                self.assertGreater(scatter.chi_square(error),
                                   centre + 100 * sigma)
        if case["losses"] == "gappy":
            error = seen.products(self.shift_gaps(seen)) - true
            self.assertLess(scatter.amplitude(error, np.broadcast_to(
                seen.expected, error.shape)), -10)

    def shift_gaps(self, seen):
        """Visibilities if the missing samples are listed eight spectra late (the
        window of pfb): zeros count, and good samples do not."""
        path = self.path("late.h5")
        shutil.copyfile(seen.recording, path)
        with h5py.File(path, "r+") as file:
            gaps = file["missing"][...]
            gaps["first_sample"] = np.minimum(
                gaps["first_sample"] + 8 * seen.sky.length,
                seen.sky.n_samples - gaps["count"])
            file["missing"][...] = gaps
        seen.correlate(path, "fp32", "late.uvh5")
        return program.read(self.path("late.uvh5")).visibilities


def _add(number):
    def test(self):
        self.check(number)
    name = "_".join(str(value) for value in CASES[number].values())
    setattr(Matrix, f"test_{name}", test)


for _number in range(len(CASES)):
    _add(_number)


class Statistics(unittest.TestCase):
    """The scatter formulas themselves, in cases with a known answer."""

    def test_band_of_drawn_spectra(self):
        """Chi-square of 4,000 means over white spectra: centre and sigma."""
        generator = np.random.default_rng(8)
        n, m, trials = 3, 40, 4000
        x = (generator.normal(size=(trials, m, n))
             + 1j * generator.normal(size=(trials, m, n))) / np.sqrt(2)
        i, j = np.triu_indices(n)
        means = (x[..., i].conj() * x[..., j]).mean(axis=1)
        one = np.broadcast_to(np.eye(n), (1, n, n))
        scatter = Scatter(np.full(8, 8**-0.5), 8, np.ones((1, n, m), bool),
                          one, 0 * one, 0)
        found = np.array([scatter.chi_square((mean - (i == j))[None, None])
                          for mean in means])
        centre, sigma = scatter.band()
        self.assertLess(abs(found.mean() - centre),
                        5 * sigma / np.sqrt(trials))
        # sigma of a variance: about sqrt(4 / trials), chi-square's tail in it
        self.assertLess(abs(found.std() / sigma - 1), 5 / np.sqrt(trials))


# Whether the Python index has the package for this kind of machine.
HAS_CASACORE = tables is not None or platform.machine() == "x86_64"
NO_CASACORE = "python-casacore is not to be had for this machine"


class Polarised(program.Case):
    """A source of Stokes V through unequal cables shows which of XY and YX is
    which, on every baseline, in the UVH5 file and in a Measurement Set."""

    BASELINES = tuple(itertools.combinations(range(4), 2))

    def setUp(self):
        super().setUp()
        self.sky = Sky(
            positions=program.spread(4, seed=9) / 2,
            cables_s=1e-9 * np.array(
                [[0.0, 31.7], [55.2, 8.4], [13.9, 70.1], [92.3, 43.1]]),
            sources=[Source(110, 62, (0.6, 0.1, 0.15, 0.5))], n_dumps=2,
            seed=77)
        self.seen = Observation(self, self.sky)
        self.scatter = self.seen.scatter("int8")
        self.data = self.load("sky.int8.uvh5")

    def load(self, name):
        # test_pyuvdata.py checks warnings; these are about units and phasing
        with warnings.catch_warnings(action="ignore"):
            return uvdata.UVData.from_file(self.path(name))

    def measurement_set(self):
        """A Measurement Set, phased to the zenith; its path."""
        path = self.path("sky.ms")
        with warnings.catch_warnings(action="ignore"):
            self.data.write_ms(path, force_phase=True)
        return path

    # --- the right answer, and wrong ones -----------------------------

    def expect(self, **changes):
        """Expected products of this sky, or of a changed one."""
        sky = dataclasses.replace(self.sky, **changes)
        means = pairs_of(sky.filtered_means())[self.seen.keep]
        return np.broadcast_to(means, (self.sky.n_dumps, *means.shape))

    def crosses(self, a, b):
        """Places of XY and YX of a baseline among the products of inputs."""
        pairs = list(zip(*np.triu_indices(self.sky.n_inputs)))
        return [pairs.index((2 * a, 2 * b + 1)),
                pairs.index((2 * a + 1, 2 * b))]

    def wrong_expectations(self):
        source = self.sky.sources[0]
        i, q, u, v = source.stokes
        exchanged = self.expect().copy()
        for xy, yx in itertools.starmap(self.crosses, self.BASELINES):
            exchanged[..., [xy, yx]] = exchanged[..., [yx, xy]]
        return {
            "XY and YX exchanged": exchanged,
            "V of the other sign": self.expect(sources=[
                dataclasses.replace(source, stokes=(i, q, u, -v))]),
            "cables of X and Y exchanged": self.expect(
                cables_s=self.sky.cables_s[:, ::-1]),
            "cables early": self.expect(cables_s=-self.sky.cables_s),
        }

    def check(self, values):
        """[dump][baseline][channel][XX, YY, XY, YX] of any file."""
        measured, right = self.seen.products(values), self.expect()
        for name, wrong in self.wrong_expectations().items():
            for a, b in self.BASELINES:
                with self.subTest(wrong=name, baseline=(a, b)):
                    found, want = self.scatter.prefers(
                        measured, right, wrong, self.crosses(a, b))
                    self.assertGreater(found, 10)
                    self.assertLess(abs(found - want), 5)

    # --- the same numbers in three files ------------------------------

    def arranged(self, find):
        """The arrays find(a, b, slot) [dump][channel] in the order of
        check()."""
        values = np.empty_like(self.seen.files["int8"].visibilities)
        rows = [(a, b) for a in range(4) for b in range(a, 4)]
        for (row, (a, b)), slot in itertools.product(enumerate(rows),
                                                     range(4)):
            values[:, row, :, slot] = find(a, b, slot)
        return values

    def read_pyuvdata(self, data):
        return self.arranged(lambda a, b, slot: data.get_data(
            a, b, ("xx", "yy", "xy", "yx")[slot]))

    def read_casacore(self, path):
        """DATA as stored; products are identified by casacore's Stokes codes: XX
        9, XY 10, YX 11, YY 12.

        pyuvdata writes conj(V) and -uvw, the convention of Measurement Sets;
        the phasing to the zenith, 2 pi f w / c of the true w, is undone.
        """
        with tables.table(f"{path}/POLARIZATION", ack=False) as table:
            codes = table.getcol("CORR_TYPE")[0].tolist()
            receptors = table.getcol("CORR_PRODUCT")[0].tolist()
        self.assertEqual({code: tuple(pair) for code, pair in
                          zip(codes, receptors)},
                         {9: (0, 0), 10: (0, 1), 11: (1, 0), 12: (1, 1)})
        with tables.table(path, ack=False) as table:
            data, uvw = table.getcol("DATA"), table.getcol("UVW")
            first, second = (table.getcol(name)
                             for name in ("ANTENNA1", "ANTENNA2"))
        w = self.sky.positions[second, 2] - self.sky.positions[first, 2]
        # the zenith of the first dump, which is 40 ms before the second
        np.testing.assert_allclose(-uvw[:, 2], w, atol=1e-3)
        turns = np.multiply.outer(w, self.sky.frequencies_hz) / LIGHT_M_S
        found = data.conj() * np.exp(2j * np.pi * turns)[..., None]
        return self.arranged(lambda a, b, slot: found[
            (first == a) & (second == b)][..., codes.index(
                (9, 12, 10, 11)[slot])])

    def test_uvh5(self):
        self.check(self.read_pyuvdata(self.data))

    @unittest.skipUnless(HAS_CASACORE, NO_CASACORE)
    def test_measurement_set_by_pyuvdata(self):
        self.measurement_set()
        data = self.load("sky.ms")
        data.unproject_phase()
        self.check(self.read_pyuvdata(data))

    @unittest.skipUnless(HAS_CASACORE, NO_CASACORE)
    def test_measurement_set_by_casacore(self):
        self.check(self.read_casacore(
            self.measurement_set()))
