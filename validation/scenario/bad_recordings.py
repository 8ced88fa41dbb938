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


class BadRecordings(program.Job):
    """Each test spoils a good recording in one way."""

    def spoil(self, change):
        """A good recording with `change(file)` applied."""
        path = self.recording("spoilt.h5")
        with h5py.File(path, "r+") as file:
            change(file)
        return path

    def refuse(self, path, *mentions, code=1, extra=()):
        self.assert_refused(self.correlate(path, *extra), code, *mentions)

    def test_good_recording_is_not_refused(self):
        self.well(*self.words(self.recording()))
        self.assertTrue(os.path.exists(self.output))

    def test_absent_file(self):
        self.refuse(self.path("absent.h5"), "absent.h5")

    def test_folder_instead_of_a_file(self):
        self.refuse(self.folder, self.folder)

    def test_empty_file(self):
        path = self.path("empty.h5")
        open(path, "wb").close()
        self.refuse(path, "empty.h5")

    def test_not_hdf5(self):
        path = self.path("text.h5")
        with open(path, "wb") as file:
            file.write(b"this is no HDF5 file\n" * 1000)
        self.refuse(path, "text.h5")

    def test_truncated_at_every_tenth(self):
        whole = self.recording("whole.h5")
        size = os.path.getsize(whole)
        path = self.path("truncated.h5")
        for tenth in range(1, 10):
            with self.subTest(tenth=tenth):
                shutil.copy(whole, path)
                os.truncate(path, size * tenth // 10)
                self.refuse(path, "truncated.h5")

    def test_truncated_chunked_data(self):
        # the file's header has the new size, so that only chunks are cut
        path = self.recording("chunked.h5", chunks=(1, 1, 500))
        size = os.path.getsize(path) // 2
        with open(path, "r+b") as file:
            head = file.read(2048)
            end = struct.pack("<Q", os.path.getsize(path))
            at = head.find(end)
            self.assertGreater(at, 0)
            file.seek(at)
            file.write(struct.pack("<Q", size))
            file.truncate(size)
        self.refuse(path, "chunked.h5")

    def test_damaged_chunks(self):
        # compressed chunks with their bytes overwritten: a filter fails
        path = self.path("damaged.h5")
        shutil.copy(self.recording(), path)
        with h5py.File(path, "r+") as file:
            data = file["voltages"][...]
            del file["voltages"]
            dataset = file.create_dataset("voltages", data=data,
                                          chunks=(2, 1, 2000),
                                          compression="gzip")
            for dim, label in zip(dataset.dims, ("antenna", "pol", "time")):
                dim.label = label
            info = dataset.id.get_chunk_info(2)
        with open(path, "r+b") as file:
            file.seek(info.byte_offset)
            file.write(b"\xff" * 64)
        self.refuse(path, "damaged.h5", "voltages")

    def test_no_voltages(self):
        def change(file):
            del file["voltages"]
        self.refuse(self.spoil(change), "voltages")

    def test_info_says_only_what_fits(self):
        """For a file marked as an fx8 recording, the error does not mention
        UVH5; for a file of neither kind it mentions both."""
        def change(file):
            del file["voltages"]
        done = program.run("info", self.spoil(change))
        self.assert_one_line(done, 1, "voltages")
        self.assertNotIn("UVH5", done.stderr)

        def unnamed(file):
            file.attrs["format"] = "something else"
        done = program.run("info", self.spoil(unnamed))
        self.assert_one_line(done, 1, "unknown format", "UVH5")

    def test_every_needed_attribute(self):
        for name in ("version", "sample_rate_numerator_hz",
                     "sample_rate_denominator"):
            with self.subTest(name=name):
                def change(file, name=name):
                    del file.attrs[name]
                self.refuse(self.spoil(change), name)

    def replaced(self, data):
        def change(file):
            labels = [dim.label for dim in file["voltages"].dims]
            del file["voltages"]
            dataset = file.create_dataset("voltages", data=data)
            for dim, label in zip(dataset.dims, labels):
                dim.label = label
        return self.spoil(change)

    def elsewhere(self, name, make):
        """A good recording, and one called `name` whose samples are stored by
        make(file, samples)."""
        good, path = self.recording(), self.path(name)
        shutil.copy(good, path)
        with h5py.File(path, "r+") as file:
            samples = file["voltages"][...]
            del file["voltages"]
            make(file, samples)
        return good, path

    def assert_same(self, good, path, **options):
        """Both correlate to the same visibilities."""
        results = []
        for recording in (good, path):
            self.well(*self.words(recording, "--force"), **options)
            results.append(program.read(self.output))
        np.testing.assert_array_equal(*[r.visibilities for r in results])
        os.remove(self.output)

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
            lacking.create_dataset("v", (1, 9000), program.COMPLEX_INT8,
                                   chunks=(1, 1000))
            lacking["v"][:, 3000:] = source["v"][:, 3000:]
        self.refuse(path, path, "antenna1.h5: v: 3 of 9 chunks")
        path = self.elsewhere("gap.h5", lambda file, samples: make(
            file, samples, 8999))[1]
        self.refuse(path, path, "voltages: element (0, 0, 8999) has no source")

    def test_external_storage(self):
        def make(file, samples):
            raw = samples.tobytes()
            with open(self.path("raw"), "wb") as stream:
                stream.write(raw)
            file.create_dataset("voltages", samples.shape, samples.dtype,
                                external=[("raw", 0, len(raw))])

        good, path = self.elsewhere("external.h5", make)
        for prefix in (self.folder, "${ORIGIN}"):
            with self.subTest(prefix=prefix):
                self.assert_same(good, path, environment={
                    "HDF5_EXTFILE_PREFIX": prefix})
        self.refuse(path, path, "voltages", "raw: No such file")
        os.truncate(self.path("raw"), 35_999)
        done = self.correlate(path, environment={
                    "HDF5_EXTFILE_PREFIX": self.folder})
        self.assert_refused(done, 1, path, "raw: 35999 bytes: expected 36000")

    def test_link_to_a_larger_file(self):
        def make(file, samples):
            with h5py.File(self.path("linked.h5"), "w") as other:
                other["ballast"] = np.ones(1_000_000, "i1")
                other["v"] = samples
            file["voltages"] = h5py.ExternalLink("linked.h5", "v")
        self.assert_same(*self.elsewhere("link.h5", make))

    def test_wrong_type(self):
        kinds = (np.float32, np.int16, np.uint8,
                 np.dtype([("r", "f4"), ("i", "f4")]),
                 np.dtype([("re", "i1"), ("im", "i1")]),
                 np.dtype([("r", "i1"), ("i", "i1"), ("q", "i1")]))
        for kind in kinds:
            with self.subTest(kind=kind):
                self.refuse(self.replaced(np.zeros((2, 1, 9000), kind)),
                            "voltages")

    def test_wrong_rank(self):
        for shape in ((9000,), (2, 9000), (2, 1, 9000, 1)):
            with self.subTest(shape=shape):
                data = np.zeros(shape, program.COMPLEX_INT8)
                self.refuse(self.replaced(data), "voltages")

    def test_zero_length(self):
        for shape in ((2, 1, 0), (0, 1, 9000), (2, 0, 9000)):
            with self.subTest(shape=shape):
                data = np.zeros(shape, program.COMPLEX_INT8)
                self.refuse(self.replaced(data), "voltages")

    def test_three_polarisations(self):
        data = np.zeros((2, 3, 9000), program.COMPLEX_INT8)
        self.refuse(self.replaced(data), "voltages")

    def test_labels_that_make_no_sense(self):
        for labels in (("antenna", "antenna", "time"),
                       ("antenna", "pol", "frequency")):
            with self.subTest(labels=labels):
                def change(file, labels=labels):
                    for dim, label in zip(file["voltages"].dims, labels):
                        dim.label = label
                self.refuse(self.spoil(change), "voltages")

    def test_attributes_out_of_range(self):
        for name, value in (("sample_rate_denominator", np.uint64(0)),
                            ("sample_rate_numerator_hz", np.uint64(0)),
                            ("sample_rate_numerator_hz", np.uint64(2**64 - 1)),
                            ("version", 99), ("sideband", "middle"),
                            ("dc_frequency_hz", np.nan),
                            ("dc_frequency_hz", "high"),
                            ("start_time_ns", np.int64(-5)),
                            ("start_time_unix_s", np.int64(2**62))):
            with self.subTest(name=name, value=value):
                def change(file, name=name, value=value):
                    file.attrs[name] = value
                self.refuse(self.spoil(change), name)

    def test_missing_table_out_of_range(self):
        kind = np.dtype([("antenna", "i4"), ("pol", "i4"),
                         ("first_sample", "i8"), ("count", "i8")])
        for row in ((7, 0, 0, 5), (0, 2, 0, 5), (-2, 0, 0, 5), (0, 0, -1, 5),
                    (0, 0, 0, -5), (0, 0, 2**62, 2**62)):
            with self.subTest(row=row):
                def change(file, row=row):
                    file["missing"] = np.array([row], kind)
                self.refuse(self.spoil(change), "missing")

    def test_missing_table_beyond_int64(self):
        kind = np.dtype([("antenna", "i4"), ("pol", "i4"),
                         ("first_sample", "u8"), ("count", "u8")])

        def change(file):
            file["missing"] = np.array([(0, 0, 2**64 - 5, 5)], kind)
        self.refuse(self.spoil(change),
                    "missing: row 0: first_sample 18446744073709551611")

    def test_type_of_a_newer_library(self):
        # of the message "8-bit integer", version 1, the version becomes 15
        path = self.replaced(np.zeros((2, 1, 9000), np.int8))
        with open(path, "r+b") as file:
            content = file.read()
            message = bytes((0x10, 8, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0))
            self.assertEqual(content.count(message), 1)
            file.seek(content.find(message))
            file.write(b"\xf0")
        self.refuse(path, "voltages", "bad version number", "a newer HDF5")

    def test_missing_table_of_the_wrong_kind(self):
        def change(file):
            file["missing"] = np.zeros((3, 4))
        self.refuse(self.spoil(change), "missing")

    def test_antenna_table_faults(self):
        def rows(file, **values):
            table = file["antennas"][...]
            for name, value in values.items():
                table[name][1] = value
            attributes = dict(file["antennas"].attrs)
            del file["antennas"]
            file["antennas"] = table
            file["antennas"].attrs.update(attributes)
        # NaN means unknown: the configuration could set it, hence exit 2
        for values, code in (({"number": 0}, 1), ({"number": -3}, 1),
                             ({"up_m": np.inf}, 1), ({"east_m": np.nan}, 2)):
            with self.subTest(**values):
                self.refuse(self.spoil(
                    lambda file, values=values: rows(file, **values)),
                    "antenna", code=code)

    def test_antennas_on_one_spot(self):
        def change(file):
            table = file["antennas"][...]
            for name in ("east_m", "north_m", "up_m"):
                table[name][1] = table[name][0]
            file["antennas"][...] = table
        # another table could be configured, hence exit 2
        self.refuse(self.spoil(change), "antennas 0 and 1", code=2)

    def test_no_positions_anywhere(self):
        def change(file):
            del file["antennas"]
        site = [("--set", f"array.{name}={value}")
                for name, value in program.SITE.items()]
        self.refuse(self.spoil(change), "positions", code=2,
                    extra=sum(site, ()))
        self.refuse(self.spoil(change), "latitude_deg", code=2)

    def test_more_antennas_than_recorded(self):
        self.refuse(self.recording(), "antennas", "99", code=2,
                    extra=("--set", "array.antennas=99"))
        self.refuse(self.recording(), "antennas", code=2,
                    extra=("--set", "array.antennas=0-1,7"))

    def test_more_antennas_than_can_be_paired(self):
        """The error names the key, for recorded and for simulated antennas,
        also if they come from a table."""
        path = self.path("many.h5")
        with h5py.File(self.recording()) as good, \
                h5py.File(path, "w") as file:
            file.attrs.update(good.attrs)
            data = file.create_dataset(
                "voltages", (32_769, 1, 4), good["voltages"].dtype)
            data[:] = 0
        keys = {"array.positions": "none",
                "observation.sample_rate_hz": 1000}
        self.configure(oracle.Setup(1, 0.002, method="fft"), keys)
        self.assert_refused(
            self.correlate(path), 2, "array.antennas: all: expected at most "
            f"32768 of the 32769 antennas of {path}")
        self.assert_refused(
            self.correlate(path, "--set", "array.antennas=32769"), 2,
            "--set: array.antennas: 32769: expected at most 32768")
        table = self.path("antennas.csv")
        with open(table, "w", encoding="ascii") as file:
            file.write("number,east_m,north_m,up_m\n")
            file.writelines(f"{k},{k},0,0\n" for k in range(32_769))
        for antennas in ({"array.antennas": 32_769},
                         {"array.positions": table}):
            with self.subTest(antennas=antennas):
                self.configure(oracle.Setup(1, 0.002, method="fft"),
                    {**keys, "array.polarizations": 1, "array.latitude_deg": 0,
                     "array.longitude_deg": 0, "array.altitude_m": 0,
                     "observation.dc_frequency_hz": 150e6,
                     "observation.start_time_utc": "2020-09-13T12:26:40",
                     "simulate.duration_s": 0.004, **antennas})
                done = program.run("simulate", self.config, "-o",
                                   self.path("made.h5"))
                self.assert_one_line(done, 2, "array.antennas: ",
                                     "expected at most 32768 of the 32769")
                self.assertFalse(os.path.exists(self.path("made.h5.part")))

    def test_integration_longer_than_the_recording(self):
        done = self.correlate(self.recording(), "--set",
                              "correlator.integration_time_s=10")
        self.assert_refused(done, 2, "integration_time_s", "0.00")

    def test_start_behind_the_end(self):
        self.refuse(self.recording(), "start_s", code=2,
                    extra=("--set", "input.start_s=5"))

    def test_absurd_sizes(self):
        # a dataset that declares 2^40 samples but stores none
        def change(file):
            del file["voltages"]
            dataset = file.create_dataset(
                "voltages", shape=(2**20, 2, 2**40), chunks=(16, 1, 4096),
                dtype=program.COMPLEX_INT8)
            for dim, label in zip(dataset.dims, ("antenna", "pol", "time")):
                dim.label = label
        path = self.spoil(change)
        done = self.well(*self.words(path, "--set", "array.positions=none", "--set",
                                     "correlator.integration_time_s=all"), code=(1, 2))
        self.assert_refused(done, done.returncode)

    def test_unreadable_file(self):
        path = self.recording("secret.h5")
        os.chmod(path, 0)
        done = self.correlate(path, as_nobody=True)
        self.assert_refused(done, 1, "secret.h5", "denied")
