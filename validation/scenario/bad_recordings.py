# SPDX-License-Identifier: BSD-3-Clause
"""Unusable recordings: one line that names file and dataset, the right exit
code, nothing under the final name.

Shows: as test_h5_storage.c
"""
import os
import shutil
import struct

import h5py
import numpy as np

import oracle
import program
from program import COMPLEX_INT8, put

MISSING = np.dtype([("antenna", "i4"), ("pol", "i4"), ("first_sample", "i8"),
                    ("count", "i8")])
UNSIGNED = np.dtype([("antenna", "i4"), ("pol", "i4"), ("first_sample", "u8"),
                     ("count", "u8")])


def labels(*names):
    def change(file):
        for dim, label in zip(file["voltages"].dims, names):
            dim.label = label
    return change


def antenna(**values):
    """Other values in the second row of the antenna table."""
    def change(file):
        table = file["antennas"][...]
        for name, value in values.items():
            table[name][1] = value
        file["antennas"][...] = table
    return change


def on_one_spot(file):
    table = file["antennas"][...]
    for name in ("east_m", "north_m", "up_m"):
        table[name][1] = table[name][0]
    file["antennas"][...] = table


# change, exit code, what the line mentions; more kinds in test_reader_hostile.c
FAULTS = (
    (put("voltages"), 1, "voltages"),
    (put("@version"), 1, "version"),
    (put("@version", 99), 1, "version"),
    (put("@sideband", "middle"), 1, "sideband"),
    (put("@start_time_unix_s", np.int64(2**62)), 1, "start_time_unix_s"),
    (put("voltages", np.zeros((2, 1, 9000), "f4")), 1, "voltages"),
    (put("voltages", np.zeros((2, 1, 9000), [
        ("r", "i1"), ("i", "i1"), ("q", "i1")])), 1, "voltages"),
    (put("voltages", np.zeros((2, 9000), COMPLEX_INT8)), 1, "voltages"),
    (put("voltages", np.zeros((2, 1, 0), COMPLEX_INT8)), 1, "voltages"),
    (put("voltages", np.zeros((2, 3, 9000), COMPLEX_INT8)), 1, "voltages"),
    (labels("antenna", "antenna", "time"), 1, "voltages"),
    (labels("antenna", "pol", "frequency"), 1, "voltages"),
    *((put("missing", np.array([row], MISSING)), 1, "missing") for row in (
        (7, 0, 0, 5), (0, 2, 0, 5), (-2, 0, 0, 5), (0, 0, -1, 5),
        (0, 0, 0, -5), (0, 0, 2**62, 2**62))),
    (put("missing", np.array([(0, 0, 2**64 - 5, 5)], UNSIGNED)), 1,
     "missing: row 0: first_sample 18446744073709551611"),
    (put("missing", np.zeros((3, 4))), 1, "missing"),
    # the configuration could set what is not known, or another table: exit 2
    (antenna(number=0), 1, "antenna"), (antenna(number=-3), 1, "antenna"),
    (antenna(up_m=np.inf), 1, "antenna"),
    (antenna(east_m=np.nan), 2, "antenna"),
    (on_one_spot, 2, "antennas 0 and 1"),
    (put("antennas"), 2, "latitude_deg"),
)


class BadRecordings(program.Job):
    """Each test spoils a good recording in one way."""

    def spoil(self, change):
        return self.changed(self.recording(), change, "spoilt.h5")

    def test_good_recording_is_not_refused(self):
        self.well(*self.words(self.recording()))
        self.assertTrue(os.path.exists(self.output))

    def test_faults(self):
        for number, (change, code, mention) in enumerate(FAULTS):
            with self.subTest(number=number, mention=mention):
                self.refuse(self.spoil(change), mention, code=code)

    def test_what_is_no_recording(self):
        for path in (self.path("absent.h5"), self.folder,
                     self.save("empty.h5", ""),
                     self.save("text.h5", "this is no HDF5 file\n" * 1000)):
            with self.subTest(path=path):
                self.refuse(path, path)

    def test_folder(self):
        for extra in ((), ("--set", "input.format=tart")):
            self.refuse(self.folder, f"error: {self.folder}: folder without "
                        "channels of Digital RF: expected the folder above "
                        "them, or the files of another format, such as "
                        f"{self.folder}/*.h*", extra=extra)

    def test_axes_without_labels(self):
        """Their default order, and how to label them."""
        how = ("to label an axis in h5py: file['voltages'].dims[0].label = "
               "'time'")
        scene = program.Scene(program.noise(161, 2, 1, 9000))
        path = self.write(scene, labels=False)
        self.assert_same(self.recording(), path)
        path = self.write(scene, axes=("time", "antenna", "pol"), labels=False)
        self.refuse(path, f"error: {path}: voltages: 9000 antennas with 1 "
                    "sample each: expected more samples (axes without labels "
                    f"are antenna, pol, time; {how})")
        self.refuse(self.spoil(labels("", "pol", "")), "voltages: axes labelled "
                    "'', 'pol', '': expected antenna, pol and time in any "
                    f"order; {how}")
        path = self.write(scene, axes=("antenna", "time", "pol"), labels=False)
        self.refuse(path, f"error: {path}: voltages: pol axis of length 9000: "
                    "expected 1 to 2 (axes without labels are antenna, pol, "
                    f"time; {how})")

    def test_settings_that_do_not_fit(self):
        for setting, *mentions in (
                ("array.antennas=99", "antennas", "99"),
                ("array.antennas=0-1,7", "antennas"),
                ("correlator.integration_time_s=10", "integration_time_s",
                 "0.00"),
                ("input.start_s=5", "start_s")):
            with self.subTest(setting=setting):
                self.refuse(self.recording(), *mentions, code=2,
                            extra=("--set", setting))
        self.refuse(self.spoil(put("antennas")), "positions", code=2, extra=[
            f"--set={key}={value}"
            for key, value in program.SITE_KEYS.items()])

    def test_truncated_at_every_tenth(self):
        whole, path = self.recording(), self.path("truncated.h5")
        for tenth in range(1, 10):
            with self.subTest(tenth=tenth):
                shutil.copy(whole, path)
                os.truncate(path, os.path.getsize(path) * tenth // 10)
                self.refuse(path, "truncated.h5")

    def test_truncated_chunked_data(self):
        # the file's header has the new size, so that only chunks are cut
        path = self.recording("chunked.h5", chunks=(1, 1, 500))
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            at = file.read(2048).find(struct.pack("<Q", size))
        self.assertGreater(at, 0)
        program.overwrite(path, at, struct.pack("<Q", size // 2))
        os.truncate(path, size // 2)
        self.refuse(path, "chunked.h5")

    def test_damaged_chunks(self):
        path = self.recording("damaged.h5", chunks=(2, 1, 2000),
                              compression="gzip")
        with h5py.File(path) as file:
            at = file["voltages"].id.get_chunk_info(2).byte_offset
        program.overwrite(path, at, b"\xff" * 64)
        self.refuse(path, "damaged.h5", "voltages")

    def test_info_says_only_what_fits(self):
        """For a file marked as an fx8 recording, the error does not mention
        UVH5; for a file of neither kind it mentions both."""
        done = program.run("info", self.spoil(put("voltages")))
        self.assert_one_line(done, 1, "voltages")
        self.assertNotIn("UVH5", done.stderr)
        done = program.run("info", self.spoil(put("@format", "something else")))
        self.assert_one_line(done, 1, "unknown format", "UVH5")

    def elsewhere(self, name, make):
        """A good recording, and one called `name` whose samples are stored by
        make(file, samples)."""
        good = self.recording()

        def change(file):
            samples = file["voltages"][...]
            del file["voltages"]
            make(file, samples)
        return good, self.changed(good, change, name)

    def assert_same(self, good, path, **options):
        """Both correlate to the same visibilities."""
        self.assert_equal(*(self.result(recording, **options)
                            for recording in (good, path)))

    def test_virtual_dataset(self):
        """One file per antenna: read if complete, else the error names what is
        missing."""
        sources = [self.path(f"antenna{k}.h5") for k in range(2)]

        def make(file, samples, n_used=9000):
            layout = h5py.VirtualLayout(samples.shape, samples.dtype)
            for k, path in enumerate(sources):
                with h5py.File(path, "w") as source:
                    source.create_dataset("v", data=samples[k],
                                          chunks=(1, 1000))
                layout[k, :, :n_used] = h5py.VirtualSource(
                    os.path.basename(path), "v",
                    samples.shape[1:])[:, :n_used]
            file.create_virtual_dataset("voltages", layout)

        good, path = self.elsewhere("virtual.h5", make)
        self.assert_same(good, path)
        os.mkdir(self.path("away"))
        away = self.path("away/antenna1.h5")
        shutil.move(sources[1], away)
        self.refuse(path, path, "voltages", "antenna1.h5", "HDF5_VDS_PREFIX")
        for prefix in ("/nowhere:" + self.path("away"), "${ORIGIN}/away"):
            with self.subTest(prefix=prefix):
                self.assert_same(good, path, environment={
                    "HDF5_VDS_PREFIX": prefix})
        with h5py.File(away) as source, h5py.File(sources[1], "w") as lacking:
            lacking.create_dataset("v", (1, 9000), COMPLEX_INT8,
                                   chunks=(1, 1000))
            lacking["v"][:, 3000:] = source["v"][:, 3000:]
        self.refuse(path, path, "antenna1.h5: v: 3 of 9 chunks")
        path = self.elsewhere("gap.h5", lambda file, samples: make(
            file, samples, 8999))[1]
        self.refuse(path, path, "voltages: element (0, 0, 8999) has no source")

    def test_external_storage(self):
        def make(file, samples):
            self.save("raw", samples.tobytes())
            file.create_dataset("voltages", samples.shape, samples.dtype,
                                external=[("raw", 0, samples.nbytes)])

        good, path = self.elsewhere("external.h5", make)
        for prefix in (self.folder, "${ORIGIN}"):
            with self.subTest(prefix=prefix):
                self.assert_same(good, path, environment={
                    "HDF5_EXTFILE_PREFIX": prefix})
        self.refuse(path, path, "voltages", "raw: No such file")
        os.truncate(self.path("raw"), 35_999)
        self.refuse(path, path, "raw: 35999 bytes: expected 36000",
                    environment={"HDF5_EXTFILE_PREFIX": self.folder})

    def test_type_of_a_newer_library(self):
        # of the message "8-bit integer", version 1, the version becomes 15
        path = self.spoil(put("voltages", np.zeros((2, 1, 9000), np.int8)))
        content = program.content(path)
        message = bytes((0x10, 8, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0))
        self.assertEqual(content.count(message), 1)
        program.overwrite(path, content.find(message), b"\xf0")
        self.refuse(path, "voltages", "bad version number", "a newer HDF5")

    def test_more_antennas_than_can_be_paired(self):
        """The error names the key, for recorded and for simulated antennas,
        also if they come from a table."""
        path = self.changed(self.spoil(put("antennas")), put(
            "voltages", np.zeros((32_769, 1, 4), COMPLEX_INT8)))
        keys = {"array.positions": "none",
                "observation.sample_rate_hz": 1000}
        self.configure(oracle.Setup(1, 0.002, method="fft"), keys)
        self.refuse(path, "array.antennas: all: expected at most 32768 of the "
                    f"32769 antennas of {path}", code=2)
        self.refuse(path, "--set: array.antennas: 32769: expected at most "
                    "32768", code=2, extra=("--set", "array.antennas=32769"))
        table = self.save("antennas.csv", "number,east_m,north_m,up_m\n"
                          + "".join(f"{k},{k},0,0\n" for k in range(32_769)))
        for antennas in ({"array.antennas": 32_769},
                         {"array.positions": table}):
            with self.subTest(antennas=antennas):
                self.configure(oracle.Setup(1, 0.002, method="fft"), {
                    **keys, **program.SITE_KEYS, "array.polarizations": 1,
                    "observation.dc_frequency_hz": 150e6,
                    "observation.start_time_utc": "2020-09-13T12:26:40",
                    "simulate.duration_s": 0.004, **antennas})
                done = program.run("simulate", self.config, "-o",
                                   self.path("made.h5"))
                self.assert_one_line(done, 2, "array.antennas: ",
                                     "expected at most 32768 of the 32769")
                self.assertFalse(os.path.exists(self.path("made.h5.part")))

    def test_absurd_sizes(self):
        # a dataset that declares 2^40 samples but stores none
        def change(file):
            del file["voltages"]
            file.create_dataset("voltages", (2**20, 2, 2**40), COMPLEX_INT8,
                                chunks=(16, 1, 4096))
        done = self.well(*self.words(
            self.spoil(change), "--set", "array.positions=none", "--set",
            "correlator.integration_time_s=all"), code=(1, 2))
        self.assert_refused(done, done.returncode)

    def test_unreadable_file(self):
        path = self.recording("secret.h5")
        os.chmod(path, 0)
        self.refuse(path, "secret.h5", "denied", as_nobody=True)
