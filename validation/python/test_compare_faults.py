# SPDX-License-Identifier: BSD-3-Clause
"""fx8 compare accepts the files of fx8 and no bad file: one part of a file is
spoiled, the rest is unchanged, and the reason names that part.

Shows (commands, compare): files stay inside the limits at 4, 8, 16, 20, 28 LSB
    and on TART, as `--precision both` reports too, which ends with 0 whatever it
    finds; exit 3 on a coarser quantiser, swapped baselines, a rotated or scaled
    file
Within: exit codes
In: test_files_as_made test_coarser_quantiser, test_compare.c,
    test_compare_files.c, python/test_recording_tart.py

Shows (commands, compare calls nothing good that is not): exit 3 with the place
    for 29 of 60 channels zero, 28 conjugated and 7 times too large; for a
    channel of 1e5, 1e5 times too large or a copy of its neighbour; for a cell
    of 1e6; for a conjugated baseline of 1,128 pairs; for spoiled dumps, autos,
    flags or weights; in either file, also where cells are left out for clips
    or low levels; a wild cell is found among any interference
Within: exit 3, the reason begins with the place and has the numbers that
    failed
In: test_compare_alarms.c nothing_wild_is_good
"""
import shutil

import h5py
import numpy as np

import oracle
import program


def channels(first, last, change):
    """Channels first to last of every row, changed."""
    def spoil(values):
        values[:, :, first:last] = change(values[:, :, first:last])
    return spoil


def one(index, change):
    """values[index] changed; axes [dump, baseline, channel, product]"""
    def spoil(values):
        values[index] = change(values[index])
    return spoil


def copied(values):
    values[:, :, 20] = values[:, :, 21]


def swapped_baselines(values):
    values[:, [1, 2]] = values[:, [2, 1]]


def swapped_dumps(values):
    values[[1, 2]] = values[[2, 1]]


def autos_of(antenna, factor):
    def spoil(values):
        values[:, AUTOS[antenna]] *= factor
    return spoil


def turned(values):
    """Antenna 3, turned by half a radian."""
    for baseline, (i, j) in enumerate(PAIRS):
        if i != j and 3 in (i, j):
            values[:, baseline] *= np.exp(0.5j if i == 3 else -0.5j)


PAIRS = [(i, j) for i in range(5) for j in range(i, 5)]
AUTOS = [PAIRS.index((i, i)) for i in range(5)]
CROSS = PAIRS.index((1, 3))

CELL = "baseline 1-3 XX, channel 20 (149.812500 MHz), dump 2: "
CHANNEL = "channel 20 (149.812500 MHz): "

# name, the change to the INT8 file, how the reason begins
FAULTS = (
    ("29 of 60 channels are zero", channels(2, 31, np.zeros_like),
     "all pairs: "),
    ("28 are conjugated and 7 times too large",
     channels(2, 30, lambda v: 7 * v.conj()), "all pairs: "),
    ("a channel is 1e5 times too large",
     channels(20, 21, lambda v: 1e5 * v), CHANNEL),
    ("a channel is 1e5", channels(20, 21, lambda v: 0 * v + 1e5), ""),
    ("a channel is its neighbour", copied, CHANNEL),
    ("a channel is 6 % too small", channels(20, 21, lambda v: 0.94 * v),
     CHANNEL),
    ("a cell is 1e6", one((2, CROSS, 20, 0), lambda v: 1e6), CELL),
    ("a cell is zero", one((2, CROSS, 20, 0), np.zeros_like), CELL),
    ("a baseline is conjugated", one((slice(None), CROSS), np.conj),
     "baseline 1-3: "),
    ("a dump is zero", one(2, np.zeros_like), "dump 2: "),
    ("a dump is 5 % too large", one(2, lambda v: 1.05 * v), "dump 2: "),
    ("two baselines are exchanged", swapped_baselines, ""),
    ("two dumps are exchanged", swapped_dumps, "all pairs: "),
    ("autos are 10 % too large", autos_of(3, 1.1), "baseline 3-3 XX, "),
    ("autos are 10 % too small", autos_of(3, 0.9), "baseline 3-3 XX, "),
    ("an antenna is turned", turned, ""),
    ("everything is turned", one(..., lambda v: v * np.exp(0.02j)), ""),
    ("everything is 2 % too large", one(..., lambda v: 1.02 * v), ""),
)


def failures(result):
    """What the verdict may say of each number that failed."""
    median = result["median_ratio"]
    yield (f"INT8 loss is {median['value']:.4f} x predicted, allowed "
           f"{median['low']:.3f} to {median['high']:.3f} (median over ")
    for check in result["checks"]:
        if check["is_inside"]:
            continue
        if check["name"] == "bounds":
            yield (f": INT8 loss is {check['value']:.4g} x the most that "
                   "rounding and clips can cause; ")
            continue
        yield (f": INT8 loss is {check['value']:.4g} x predicted, allowed at "
               f"most {check['most']:.4g}")
        if check.get("least"):
            yield (f": INT8 loss is {check['plain_value']:.4g} x predicted, "
                   f"allowed at least {check['least']:.4g}")


class Faults(program.Case):
    """Files of both precisions, made once."""

    @classmethod
    def setUpClass(cls):
        maker = cls("setUpClass")
        program.Case.setUp(maker)
        cls.maker = maker
        cls.rough, cls.exact = maker.make(5, 500, 20)

    @classmethod
    def tearDownClass(cls):
        cls.maker.doCleanups()

    def make(self, n_antennas, n_spectra, target_rms, n_dumps=4):
        """Common and independent noise at five levels; 64 channels, 2 flagged
        at each end."""
        generator = np.random.default_rng(77)
        count = 64 * (n_spectra * n_dumps + 8)

        def draw(n):
            return (generator.normal(size=(n, count))
                    + 1j * generator.normal(size=(n, count)))
        level = np.array([6, 12, 20, 25, 30])[np.arange(n_antennas) % 5]
        samples = program.to_int8(
            level[:, None] * (0.5 * draw(1) + 0.85 * draw(n_antennas)))
        recording = self.write(program.Scene(samples[:, None, :]))
        config = self.ini(oracle.Setup(
            64, 64 * n_spectra * 1e-6, taps=4, target_rms=target_rms,
            precision="int8"))
        return self.both(config, recording)

    def spoiled(self, path, change, n_baselines=15):
        """A copy with [dump, baseline, channel, product] changed in place."""
        copy = self.path("spoiled.uvh5")
        shutil.copy(path, copy)
        with h5py.File(copy, "r+") as file:
            dataset = file["Data/visdata"]
            values = dataset[...].astype(complex)
            change(values.reshape(-1, n_baselines, *values.shape[1:]))
            dataset[...] = values.astype(dataset.dtype)
        return copy

    def compare(self, rough, exact, code):
        result = self.verdict(rough, exact, code=code)
        self.assertEqual(result["verdict"], "outside" if code else "good")
        return result

    def test_files_as_made(self):
        checks = self.compare(self.rough, self.exact, 0)["checks"]
        self.assertTrue(all(check["is_inside"] for check in checks))
        self.assertEqual([(check["name"], check["n_judged"])
                          for check in checks], [
            ("weights and flags", 64 * 15 * 4), ("all pairs", 1),
            ("channels", 60), ("baselines", 10), ("dumps", 4),
            ("cells", 60 * 10 * 4), ("autos", 60 * 5 * 4), ("bounds", 0)])
        for target in (4, 8, 16, 20, 28):
            with self.subTest(target_rms=target):
                result = self.compare(*self.make(5, 500, target), 0)
                self.assertIn(f"verdict: good: {result['reason']}\n", self.said)

    def test_both_ends_well_whatever_it_finds(self):
        """The results are there; the exit code of compare judges them."""
        paths = self.make(5, 500, 0.5)
        self.assertIn("verdict: none: every cell is left out", self.said)
        self.assertEqual(self.verdict(*paths, code=3)["verdict"], "none")

    def test_coarser_quantiser(self):
        """INT8 made at 5 LSB but labelled as made at 20."""
        coarse, exact = self.make(5, 500, 5)
        with h5py.File(coarse, "r+") as file, h5py.File(self.rough) as fine:
            file["fx8/gain"][...] = fine["fx8/gain"][...]
        self.compare(coarse, exact, 3)
        self.well("compare", coarse, exact, code=3)

    def test_files_of_different_shape(self):
        other, _ = self.make(4, 500, 20)
        done = self.well("compare", self.rough, other, code=(1, 2))
        self.assert_one_line(done, done.returncode)

    def test_exact_data_are_not_int8(self):
        """Data without any rounding, in a file that has gains."""
        copy = self.path("exact.uvh5")
        shutil.copy(self.rough, copy)
        with h5py.File(copy, "r+") as file, h5py.File(self.exact) as exact:
            file["Data/visdata"][...] = exact["Data/visdata"][...]
        result = self.compare(copy, self.exact, 3)
        self.assertIn("at least", result["reason"])

    def test_levels_that_are_none(self):
        for name, value in (("clip_fraction", np.nan), ("clip_fraction", -1),
                            ("clip_fraction", 1.5), ("gain", np.inf),
                            ("gain", -2)):
            with self.subTest(name=name, value=value):
                copy = self.path("levels.uvh5")
                shutil.copy(self.rough, copy)
                with h5py.File(copy, "r+") as file:
                    file[f"fx8/{name}"][1, 7] = value
                done = self.well("compare", copy, self.exact, code=1)
                self.assertIn(f"/fx8/{name}: {value:g}: expected 0 to ",
                              done.stderr)

    def test_counts_that_are_none(self):
        for name, where, value, words in (
                ("clips", (1, 2, 7), -1, "[1, 2, 7]: -1: expected 0 to "),
                ("valid_spectra", (2, 0, 4), 0, "[2, 4, 7]: 1: expected 0 to 0")):
            with self.subTest(name=name):
                copy = self.path("counts.uvh5")
                shutil.copy(self.rough, copy)
                with h5py.File(copy, "r+") as file:
                    file["fx8/clips"][2, 4, 7] = 1
                    file[f"fx8/{name}"][where] = value
                done = self.well("compare", copy, self.exact, code=1)
                self.assertIn(f"fx8/clips: {words}", done.stderr)

    def test_counts_of_another_shape(self):
        for name, cut, words in (
                ("clips", np.s_[1:], "expected integers of 4 dumps"),
                ("valid_spectra", np.s_[:, 0], "expected integers of 4 dumps"),
                ("clips", np.s_[:, 1:], "4 x 64: expected 5 inputs and a "),
                ("clips", np.s_[:, :, 1:], "5 x 63: expected 5 inputs and 64 "
                 "channels, as in /fx8/gain")):
            with self.subTest(name=name, cut=cut):
                copy = self.path("counts.uvh5")
                shutil.copy(self.rough, copy)
                with h5py.File(copy, "r+") as file:
                    values = file[f"fx8/{name}"][cut]
                    del file[f"fx8/{name}"]
                    file[f"fx8/{name}"] = values
                done = self.well("compare", copy, self.exact, code=1)
                self.assertIn(f"fx8/{name}: ", done.stderr)
                self.assertIn(words, done.stderr)

    def test_levels_of_another_shape(self):
        for name, cut in (("gain", np.s_[:, 1:]), ("clip_fraction", np.s_[1:])):
            with self.subTest(name=name):
                copy = self.path("shape.uvh5")
                shutil.copy(self.rough, copy)
                with h5py.File(copy, "r+") as file:
                    values = file[f"fx8/{name}"][cut]
                    del file[f"fx8/{name}"]
                    file[f"fx8/{name}"] = values
                done = self.well("compare", copy, self.exact, code=1)
                rows, columns = values.shape
                self.assertIn(f"/fx8/{name}: {rows} x {columns}: expected ",
                              done.stderr)
                self.assertIn("multiple of ", done.stderr)

    def test_faults(self):
        for name, change, place in FAULTS:
            with self.subTest(name):
                result = self.compare(self.spoiled(self.rough, change),
                                      self.exact, 3)
                self.assertTrue(result["reason"].startswith(place),
                                result["reason"])
                self.assertTrue(any(words in result["reason"]
                                    for words in failures(result)),
                                result["reason"])

    def test_faults_of_the_reference(self):
        """The file used to derive levels may be the spoiled one."""
        for name, change, _ in FAULTS:
            with self.subTest(name):
                self.compare(self.rough, self.spoiled(self.exact, change), 3)

    def test_a_baseline_of_many(self):
        """192 times the expected variance in one of 1,128 pairs adds 17 % to
        all of them; the median over channels of its root is still within 1.1."""
        rough, exact = self.make(48, 200, 4, n_dumps=2)
        self.compare(rough, exact, 0)
        spoiled = self.spoiled(rough, one((slice(None), 100), np.conj), 1176)
        result = self.compare(spoiled, exact, 3)
        self.assertLess(result["median_ratio"]["value"], 1.1)
        self.assertIn("baseline 2-7: ", result["reason"])

    def test_flags_and_weights(self):
        def change(name, index, value):
            copy = self.path("spoiled.uvh5")
            shutil.copy(self.rough, copy)
            with h5py.File(copy, "r+") as file:
                file[f"Data/{name}"][index] = value
            return copy
        row = 2 * 15 + CROSS
        for name, value in (("flags", True), ("nsamples", 0.5),
                            ("nsamples", 0)):
            with self.subTest(name=name, value=value):
                result = self.compare(change(name, (row, 20, 0), value),
                                      self.exact, 3)
                self.assertEqual("flags or weights differ in 1 cell, first "
                                 + CELL[:-2], result["reason"])

    def test_nothing_hides_where_cells_are_left_out(self):
        """A fault in a channel that clips or is below a step.  If the INT8 file
        reports clips, more power in the other file is attributed to them, so
        only a channel of zeros can be recognised as wrong there.
        """
        def of_the_run(share):
            def clip(file):     # as older files have it
                del file["fx8/clips"]
                file["fx8/clip_fraction"][:, 20] = share
            return clip

        def of_each_dump(count):
            return lambda file: program.add_clips(file, np.s_[:, :, 20], count)

        for clip, gain, factors, of_exact in (
                (of_the_run(5e-5), 1, (0, 7, 1e5), (0,)),
                (of_the_run(0.5), 1, (0, 7, 1e5), (0,)),
                (of_each_dump(1), 1, (0, 7, 1e5), (0,)),
                (of_each_dump(100), 1, (0, 7, 1e5), (0,)),
                (of_each_dump(0), 1 / 25, (7, 1e5), (0, 7, 1e5))):
            rough = self.path("levels.uvh5")
            shutil.copy(self.rough, rough)
            with h5py.File(rough, "r+") as file:
                clip(file)
                clips = file["fx8/clip_fraction"][0, 20]
                file["fx8/gain"][:, 20] *= gain
            self.compare(rough, self.exact, 0)
            for factor in factors:
                with self.subTest(clips=clips, gain=gain, factor=factor):
                    self.compare(self.spoiled(rough, channels(
                        20, 21, lambda v, f=factor: f * v)), self.exact, 3)
            for factor in of_exact:
                with self.subTest(clips=clips, gain=gain, of_exact=factor):
                    self.compare(rough, self.spoiled(self.exact, channels(
                        20, 21, lambda v, f=factor: f * v)), 3)
