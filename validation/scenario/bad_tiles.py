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
from program import put

START = Fraction(1_581_897_600)
LATE = START + Fraction(4, 10) / aavs_files.RATE

NEEDED = ("tile_id", "n_antennas", "n_pols", "n_chans", "n_samples", "n_blocks")


def gone(file):
    """Samples that are mapped to a file that is not there."""
    del file["chan_/data"]
    layout = h5py.VirtualLayout((2000, 4), aavs_files.COMPLEX_8T)
    layout[:] = h5py.VirtualSource("gone.h5", "d", (2000, 4))
    file.create_virtual_dataset("chan_/data", layout)


def jump_back(file):
    stamps = file["sample_timestamps/data"]
    stamps[1000:] = stamps[1000:] - 5e-4


# faults of one file; more kinds in test_reader_aavs_hostile.c
FAULTS = (
    *((put(f"root@{name}"), name, "missing") for name in NEEDED),
    *((put(f"root@{name}", value), name)
      for name in NEEDED for value in (-7, 2**40, np.nan, "many", [1, 2])),
    (gone, "chan_/data: source gone.h5: missing"),
    (put("chan_/data", np.zeros((2000, 4), [("real", "i2"), ("imag", "i2")])),
     "chan_/data", "int16", "expected compound {real: int8, imag: int8}"),
    # an old branch of the recorder
    (put("chan_/data", np.zeros((1, 2, 2, 2000), aavs_files.COMPLEX_8T)),
     "chan_/data", "4 axes: expected 2"),
    (put("sample_timestamps/data", np.zeros((2000, 1))),
     "sample_timestamps/data: row 0"),
    (jump_back, "row 1000", "ascending"),
)

# options of the first and of the second file; what the line mentions, where {0}
# and {1} are their paths
CONTRADICTIONS = (
    ({"n": 1000}, {"tile": 0, "part": 1, "first": 500, "n": 1500},
     "500 samples before the end of", "tile 0"),
    ({}, {"tsamp": 1e-6}, "{0}", "{1}", "1000000 Hz", "925925.925926 Hz"),
    # the error may name either tile
    ({}, {"start": LATE}, "samples off the sampling of", "row 0",
     "sample_timestamps/data"),
    ({}, {"start": START + 86400 * 365}, "expected files of one recording"),
    ({}, {"channel_id": 205}, "{1}", "other channels than tile 0", "{0}"),
    ({"pols": 1}, {}, "{1}", "n_pols: 2: expected 1", "{0}"),
    ({}, {"tile": 2}, "tile 1 of 0 to 2 is missing",
     "input.allow_missing_tiles"),
)


class BadTiles(program.Job):
    """Each case spoils one file of a good recording of three tiles."""

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(1, 0.001, method="none", precision="int8"),
                       program.PLACE)
        self.samples = np.random.default_rng(3).integers(
            -50, 50, (1, 2, 2, 2000)).astype(complex)

    def tile(self, tile, pols=2, start=START, **options):
        """A good file of a tile; returns its path."""
        options = {"part": 0, "first": 0, "n": 2000, "block": 500, **options}
        return aavs_files.write(self.folder, self.samples[:, :, :pols], start,
                                tile=tile, **options)[0]

    def tiles(self):
        return [self.tile(number) for number in range(3)]

    def test_good_tiles_are_not_refused(self):
        paths = self.tiles()
        self.well(*self.words(paths[2], *paths[:2]))
        self.assertTrue(os.path.exists(self.output))

    def test_faults(self):
        for number, (change, *mentions) in enumerate(FAULTS):
            with self.subTest(number=number, mentions=mentions):
                path = self.tile(0)
                with h5py.File(path, "r+") as file:
                    change(file)
                self.refuse(path, *mentions)

    def test_contradictions(self):
        for one, two, *mentions in CONTRADICTIONS:
            with self.subTest(one=one, two=two):
                paths = [self.tile(**{"tile": 0, **one}),
                         self.tile(**{"tile": 1, **two})]
                self.refuse(paths, *(text.format(*paths) for text in mentions))
                for path in paths:
                    os.remove(path)

    def test_tile_that_is_no_hdf5(self):
        for content in (b"a tile that was not copied\n" * 100, b""):
            paths = self.tiles()
            self.save(paths[1], content)
            self.refuse(paths, paths[1], "HDF5")

    def test_tile_that_was_cut(self):
        paths, whole = self.tiles(), self.path("whole")
        shutil.copy(paths[1], whole)
        for tenth in range(1, 10):
            with self.subTest(tenth=tenth):
                shutil.copy(whole, paths[1])
                os.truncate(paths[1], os.path.getsize(whole) * tenth // 10)
                self.refuse(paths, paths[1])

    def test_tile_that_is_not_to_be_had(self):
        paths = self.tiles()
        os.chmod(paths[1], 0)
        self.refuse(paths, paths[1], "denied", as_nobody=True)
        os.remove(paths[1])
        self.refuse(paths, paths[1], "No such file")
        paths[1] = self.recording()
        self.refuse(paths, paths[1], "root: missing")

    def test_missing_tile(self):
        got = self.result(self.tile(0), self.tile(2), "--set",
                          "input.allow_missing_tiles=yes")
        self.assertEqual(int(got.header["Nants_data"]), 6)
        for one, two, weight in zip(got.header["ant_1_array"][:21],
                                    got.header["ant_2_array"][:21],
                                    got.nsamples[0].max(axis=(1, 2))):
            self.assertEqual(weight, 0 if {2, 3} & {one, two} else 1,
                             (one, two))

    def test_names_and_numbers(self):
        paths = self.tiles()
        copy = shutil.copy(paths[1], self.path("copy.hdf5"))
        self.refuse([*paths, copy], "tile 1", "each tile number once")
        self.refuse([*paths, paths[2]], paths[2], "given twice",
                    code=2)
        other = self.path("channel_cont_7_20200217_00000_0.hdf5")
        os.rename(paths[0], other)
        self.refuse(other, other, "tile_id: 0: expected 7")

    def test_tiles_of_two_stations(self):
        paths = self.tiles()
        with h5py.File(paths[1], "r+") as file:
            put("root@station_name", "another")(file)
        self.refuse(paths, paths[1], "station_name: another", paths[0])
        with h5py.File(paths[1], "r+") as file:     # old files have none
            put("root@station_name")(file)
        self.well(*self.words(*paths))

    def test_settings_that_the_files_deny(self):
        paths = self.tiles()
        self.refuse(paths, paths[0], "row", "samples off",
                    extra=("--set", "observation.sample_rate_hz=900000"))
        self.refuse(paths, "input.column_order", code=2,
                    extra=("--set", "input.column_order=antenna,pol"))
        self.refuse(self.tile(0, tsamp=1.25e-6), "row", "samples off",
                    "800000 Hz (tsamp")

    def test_channels_in_other_files(self):
        """One tile has its three channels in separate files, another has them
        in one file: the results agree."""
        three = self.samples = np.random.default_rng(5).integers(
            -50, 50, (3, 2, 2, 2000)).astype(complex)
        first, together = (self.tile(k, channel_id=200) for k in range(2))
        expected = self.result(first, together)
        os.remove(first)
        apart = []
        for k in range(3):
            self.samples = three[k:k + 1]
            apart.append(shutil.move(self.tile(0, channel_id=200 + k),
                                     self.path(f"apart{k}.hdf5")))
        self.assert_equal(self.result(*apart, together), expected)
        for some in (apart[:2], apart[::2]):
            self.refuse([*some, together], "has other channels than tile")
