# SPDX-License-Identifier: BSD-3-Clause
"""AAVS channel files that are unusable, or unusable together: one line that
names the faulty file, the right exit code, nothing under the final name.

Shows: as test_reader_aavs.c
"""
import os
import shutil
from fractions import Fraction

import h5py
import numpy as np

import aavs_files
import oracle
import program

START = Fraction(1_581_897_600)


class BadTiles(program.Job):
    """Each case spoils one file of a good recording of three tiles."""

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(1, 0.001, method="none", precision="int8"),
            {"array.positions": "none",
             **{f"array.{name}": value
                for name, value in program.SITE.items()}})
        self.samples = np.random.default_rng(3).integers(
            -50, 50, (1, 2, 2, 2000)).astype(complex)

    def tile(self, tile, **options):
        """A good file of a tile; returns its path."""
        options = {"part": 0, "first": 0, "n": 2000, "block": 500, **options}
        start = options.pop("start", START)
        return aavs_files.write(self.folder, self.samples, start, tile=tile,
                                **options)[0]

    def tiles(self):
        return [self.tile(number) for number in range(3)]

    def refuse(self, paths, *mentions, code=1, extra=()):
        self.assert_refused(self.correlate(paths[0], *paths[1:], *extra), code,
                            *mentions)

    def test_good_tiles_are_not_refused(self):
        paths = self.tiles()
        self.well(*self.words(paths[2], *paths[:2]))
        self.assertTrue(os.path.exists(self.output))

    def test_tile_that_is_no_hdf5(self):
        paths = self.tiles()
        with open(paths[1], "wb") as file:
            file.write(b"a tile that was not copied\n" * 100)
        self.refuse(paths, paths[1], "HDF5")

    def test_tile_that_is_empty(self):
        paths = self.tiles()
        open(paths[2], "wb").close()
        self.refuse(paths, paths[2], "HDF5")

    def test_tile_that_was_cut(self):
        paths = self.tiles()
        size = os.path.getsize(paths[1])
        for tenth in range(1, 10):
            with self.subTest(tenth=tenth):
                whole = self.path("whole")
                shutil.copy(paths[1], whole)
                os.truncate(paths[1], size * tenth // 10)
                self.refuse(paths, paths[1])
                shutil.move(whole, paths[1])

    def test_tile_that_is_absent(self):
        paths = self.tiles()
        os.remove(paths[1])
        self.refuse(paths, paths[1], "No such file")

    def test_tile_that_may_not_be_read(self):
        paths = self.tiles()
        os.chmod(paths[1], 0)
        done = self.correlate(paths[0], *paths[1:], as_nobody=True)
        self.assert_refused(done, 1, paths[1], "denied")

    def test_tile_of_another_format(self):
        paths = self.tiles()
        paths[1] = self.recording()
        self.refuse(paths, paths[1], "root: missing")

    def test_missing_tile(self):
        paths = [self.tile(0), self.tile(2)]
        self.refuse(paths, "tile 1 of 0 to 2 is missing",
                    "input.allow_missing_tiles")
        self.well(*self.words(*paths, "--set",
                              "input.allow_missing_tiles=yes"))
        got = program.read(self.output)
        self.assertEqual(int(got.header["Nants_data"]), 6)
        weights = {}
        for row in range(21):
            pair = (int(got.header["ant_1_array"][row]),
                    int(got.header["ant_2_array"][row]))
            weights[pair] = got.nsamples[0, row].max()
        for pair, weight in weights.items():
            self.assertEqual(weight, 0 if {2, 3} & set(pair) else 1, pair)

    def test_two_tiles_with_the_same_number(self):
        paths = self.tiles()
        copy = self.path("copy.hdf5")
        shutil.copy(paths[1], copy)
        self.refuse([*paths, copy], "tile 1", "each tile number once")

    def test_file_given_twice(self):
        paths = self.tiles()
        self.refuse([*paths, paths[2]], paths[2], "given twice")

    def test_tiles_of_two_stations(self):
        paths = self.tiles()
        with h5py.File(paths[1], "r+") as file:
            file["root"].attrs["station_name"] = "another"
        self.refuse(paths, paths[1], "station_name: another", paths[0])
        with h5py.File(paths[1], "r+") as file:     # old files have none
            del file["root"].attrs["station_name"]
        self.well(*self.words(*paths))

    def test_parts_that_overlap(self):
        paths = [self.tile(0, n=1000), self.tile(0, part=1, first=500, n=1500)]
        self.refuse(paths, "500 samples before the end of", "tile 0")

    def test_tile_under_another_name(self):
        path = self.tile(0)
        other = self.path("channel_cont_7_20200217_00000_0.hdf5")
        os.rename(path, other)
        self.refuse([other], other, "tile_id: 0: expected 7")

    def test_contradictory_rates(self):
        paths = [self.tile(0), self.tile(1, tsamp=1e-6)]
        self.refuse(paths, paths[0], paths[1], "1000000 Hz",
                    "925925.925926 Hz")

    def test_rate_that_the_stamps_deny(self):
        paths = self.tiles()
        self.refuse(paths, paths[0], "row", "samples off",
                    extra=("--set", "observation.sample_rate_hz=900000"))

    def test_tsamp_that_the_stamps_deny(self):
        self.refuse([self.tile(0, tsamp=1.25e-6)], "row", "samples off",
                    "800000 Hz (tsamp")

    def test_tile_between_the_samples(self):
        late = START + Fraction(4, 10) / aavs_files.RATE
        paths = [self.tile(0), self.tile(1, start=late)]
        # the error may name either tile
        self.refuse(paths, "samples off the sampling of", "row 0",
                    "sample_timestamps/data")

    def test_tiles_of_different_days(self):
        paths = [self.tile(0), self.tile(1, start=START + 86400 * 365)]
        self.refuse(paths, "expected files of one recording")

    def test_other_channels(self):
        paths = [self.tile(0), self.tile(1, channel_id=205)]
        self.refuse(paths, paths[1], "other channels than tile 0", paths[0])

    def test_channels_in_other_files(self):
        """One tile has its three channels in separate files, another has them
        in one file: the results agree."""
        one = self.samples
        rng = np.random.default_rng(5)
        self.samples = rng.integers(-50, 50, (3, 2, 2, 2000)).astype(complex)
        three = self.samples
        first, together = (self.tile(k, channel_id=200) for k in range(2))
        self.well(*self.words(first, together))
        expected = program.read(self.output)
        os.remove(first)
        apart = []
        for k in range(3):
            self.samples = three[k:k + 1]
            path = self.tile(0, channel_id=200 + k)
            apart.append(self.path(f"apart{k}.hdf5"))
            shutil.move(path, apart[-1])
        self.well(*self.words(*apart, together, "--force"))
        got = program.read(self.output)
        np.testing.assert_array_equal(got.visibilities, expected.visibilities)
        np.testing.assert_array_equal(got.nsamples, expected.nsamples)
        os.remove(self.output)
        self.refuse([*apart[:2], together], "has other channels than tile")
        self.refuse([apart[0], apart[2], together],
                    "has other channels than tile")
        self.samples = one

    def test_other_polarisations(self):
        one = self.samples
        self.samples = one[:, :, :1]
        paths = [self.tile(0)]
        self.samples = one
        paths.append(self.tile(1))
        self.refuse(paths, paths[1], "n_pols: 2: expected 1", paths[0])

    def spoilt(self, change):
        """A good tile with `change(file)` applied."""
        path = self.tile(0)
        with h5py.File(path, "r+") as file:
            change(file)
        return [path]

    def test_attributes(self):
        for name in ("tile_id", "n_antennas", "n_pols", "n_chans", "n_samples",
                     "n_blocks"):
            with self.subTest(name=name):
                def remove(file, name=name):
                    del file["root"].attrs[name]
                self.refuse(self.spoilt(remove), name, "missing")
                for value in (-7, 2**40, np.nan, "many", [1, 2]):
                    def change(file, name=name, value=value):
                        file["root"].attrs[name] = value
                    self.refuse(self.spoilt(change), name)

    def test_virtual_samples_without_a_source(self):
        def change(file):
            del file["chan_/data"]
            layout = h5py.VirtualLayout((2000, 4), aavs_files.COMPLEX_8T)
            layout[:] = h5py.VirtualSource("gone.h5", "d", (2000, 4))
            file.create_virtual_dataset("chan_/data", layout)
        self.refuse(self.spoilt(change), "chan_/data: source gone.h5: missing")

    def test_16_bit_samples(self):
        def change(file):
            del file["chan_/data"]
            file["chan_/data"] = np.zeros(
                (2000, 4), [("real", "i2"), ("imag", "i2")])
        self.refuse(self.spoilt(change), "chan_/data", "int16",
                    "expected compound {real: int8, imag: int8}")

    def test_old_branch_with_four_axes(self):
        def change(file):
            del file["chan_/data"]
            file["chan_/data"] = np.zeros((1, 2, 2, 2000),
                                          aavs_files.COMPLEX_8T)
        self.refuse(self.spoilt(change), "chan_/data", "4 axes: expected 2")

    def test_stamps_of_zero(self):
        def change(file):
            file["sample_timestamps/data"][...] = 0
        self.refuse(self.spoilt(change), "sample_timestamps/data: row 0")

    def test_clock_that_jumps_back(self):
        def change(file):
            stamps = file["sample_timestamps/data"]
            stamps[1000:] = stamps[1000:] - 5e-4
        self.refuse(self.spoilt(change), "row 1000", "ascending")

    def test_column_order(self):
        self.refuse(self.tiles(), "input.column_order", code=2,
                    extra=("--set", "input.column_order=antenna,pol"))
