# SPDX-License-Identifier: BSD-3-Clause
"""Unusable Digital RF recordings: one line that names the fault, the right exit
code, nothing under the final name.

Shows (recordings, damaged Digital RF): damaged and contradictory Digital RF
    recordings are refused
Within: exit 1 or 2, one line, nothing left behind
"""
import glob
import os
import shutil

import digital_rf
import h5py
import numpy as np

import program
import recorder

SITE = [f"--set=array.{key}={value}" for key, value in program.SITE.items()]
SITE.append("--set=array.positions=none")
KEYS = SITE + ["--set=observation.dc_frequency_hz=150e6"]


class BadDigitalRf(program.Job):
    """Each test spoils a good recording of two channels in one way."""

    def tree(self, **changes):
        """Write a recording with `changes` in its second channel; returns its
        folder."""
        random = np.random.default_rng(171)
        top = self.path("tree")
        shutil.rmtree(top, ignore_errors=True)
        for name, options in (("ch0", {}), ("ch1", changes)):
            options = {"bits": 8, "is_complex": True, **options}
            samples = random.integers(-50, 50, (1, 9000)).astype(float)
            if options.pop("is_complex"):
                samples = samples + 1j * samples[:, ::-1]
            recorder.record(top, name, recorder.Channel(
                samples, 1_600_000_000 * 200_000, **options))
        return top

    def files(self, top, channel="ch1"):
        found = sorted(glob.glob(os.path.join(top, channel, "*", "rf@*.h5")))
        self.assertEqual(len(found), 9)
        return found

    def refuse(self, path, *mentions, code=1, **options):
        self.assert_refused(self.correlate(path, *KEYS, **options), code,
                            *mentions)

    def test_good_recording_is_not_refused(self):
        self.well(*self.words(self.tree(), *KEYS))
        self.assertTrue(os.path.exists(self.output))

    def test_empty_folder(self):
        os.makedirs(self.path("empty"))
        self.refuse(self.path("empty"), "empty: folder of an unknown format")
        self.refuse(self.path("absent"), "absent: No such file")

    def test_channel_without_files(self):
        top = self.tree()
        for name in self.files(top):
            os.rename(name, name.replace("rf@", "tmp.rf@"))
        self.refuse(top, "ch1: rf@*.h5: none: expected")

    def test_lost_properties(self):
        top = self.tree()
        os.remove(os.path.join(top, "ch1", "drf_properties.h5"))
        self.refuse(top, "ch1/drf_properties.h5: No such file")

    def test_every_needed_attribute(self):
        for name in ("sample_rate_numerator", "sample_rate_denominator",
                     "is_complex", "is_continuous", "num_subchannels",
                     "file_cadence_millisecs", "epoch"):
            with self.subTest(name=name):
                top = self.tree()
                path = os.path.join(top, "ch1", "drf_properties.h5")
                with h5py.File(path, "r+") as file:
                    del file.attrs[name]
                self.refuse(top, "ch1/drf_properties.h5", name)

    def test_contradicting_channels(self):
        self.refuse(self.tree(rate=recorder.Fraction(100_000)), "tree/ch1",
                    "100000/1 Hz: expected 200000/1 Hz", "tree/ch0")
        self.refuse(self.tree(is_complex=False), "tree/ch1",
                    "is_complex: 0: expected 1", "tree/ch0")

    def test_file_of_another_rate(self):
        top = self.tree()
        with h5py.File(self.files(top)[4], "r+") as file:
            file["rf_data"].attrs["sample_rate_numerator"] = np.uint64(7)
        self.refuse(top, self.files(top)[4], "7/1 Hz: expected 200000/1 Hz")

    def test_wrong_types(self):
        part = np.dtype([("r", "i4"), ("i", "i4")])
        for kind in (np.dtype("f4"), part, np.dtype("i1")):
            with self.subTest(kind=kind):
                top = self.tree()
                with h5py.File(self.files(top)[0], "r+") as file:
                    del file["rf_data"]
                    file["rf_data"] = np.zeros((1000, 1), kind)
                self.refuse(top, "rf_data", "expected compound {r, i} of int8 "
                                            "or int16")

    def test_index_that_makes_no_sense(self):
        first = 1_600_000_000 * 200_000 + 4000
        for rows, bad in (([[5, 0]], 0), ([[first, 1]], 0),
                          ([[first, 0], [first + 100, 200]], 1)):
            with self.subTest(rows=rows):
                top = self.tree(is_continuous=False)
                with h5py.File(self.files(top)[4], "r+") as file:
                    del file["rf_data_index"]
                    file["rf_data_index"] = np.array(rows, "u8")
                self.refuse(top, self.files(top)[4], f"rf_data_index: row {bad}")

    def test_truncated_at_every_tenth(self):
        for number in (0, 4, 8):
            for tenth in range(0, 10, 3):
                with self.subTest(number=number, tenth=tenth):
                    top = self.tree()
                    path = self.files(top)[number]
                    os.truncate(path, os.path.getsize(path) * tenth // 10)
                    self.refuse(top, path)

    def test_damaged_chunks(self):
        top = self.tree(compression=1)
        path = self.files(top)[4]
        with h5py.File(path, "r") as file:
            at = file["rf_data"].id.get_chunk_info(0).byte_offset
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(b"\xff" * 64)
        self.refuse(top, path, "rf_data")

    def test_unreadable_file(self):
        top = self.tree()
        path = self.files(top)[4]
        os.chmod(path, 0)
        self.refuse(top, path, "denied", as_nobody=True)
        folder = os.path.dirname(path)
        os.chmod(folder, 0)
        self.refuse(top, folder, "denied", as_nobody=True)
        os.chmod(folder, 0o755)

    def test_no_frequency(self):
        self.assert_refused(self.correlate(self.tree(), *SITE), 2,
                            "observation.dc_frequency_hz",
                            "neither configured nor recorded")

    def note(self, channel, *hz, after=0):
        """Write metadata of a channel: frequencies of its sub-channels."""
        folder = os.path.join(channel, "metadata")
        os.makedirs(folder, exist_ok=True)
        writer = digital_rf.DigitalMetadataWriter(
            folder, 3600, 60, 200_000, 1, "metadata")
        writer.write(1_600_000_000 * 200_000 + after,
                     {"center_frequencies": np.array(hz)})

    def test_frequency_noted_twice(self):
        top = self.tree()
        channel = os.path.join(top, "ch0")
        self.note(channel, 440e6)
        self.note(channel, 441e6, after=5000)
        self.assert_refused(
            self.correlate(top, *SITE), 1, "ch0/metadata", "440000000 Hz: "
            "expected 441000000 Hz as from 0.025 s on", "input.start_s")
        for keys, hz in ((("--set=input.duration_s=0.025",), 440e6),
                         (("--set=input.start_s=0.025",), 441e6)):
            self.well(*self.words(top, *SITE, *keys, "--force"))
            found = program.read(self.output).header["freq_array"]
            self.assertEqual(found[8], hz)
            os.remove(self.output)
        shutil.rmtree(os.path.join(channel, "metadata"))
        self.note(channel, 440e6, 441e6)
        self.assert_refused(
            self.correlate(top, *SITE), 1, "ch0/metadata",
            "320000000000000/center_frequencies: 441000000 Hz of sub-channel "
            "1: expected 440000000 Hz as of sub-channel 0")

    def test_contradicting_frequencies(self):
        top = self.tree()
        self.note(os.path.join(top, "ch0"), 440e6)
        self.note(os.path.join(top, "ch1"), 441e6)
        self.assert_refused(
            self.correlate(top, *SITE), 1, "ch1/metadata", "441000000 Hz",
            "expected 440000000 Hz")
        # stated in one place; configured where they contradict each other
        shutil.rmtree(os.path.join(top, "ch1", "metadata"))
        for keys, hz in ((SITE, 440e6), (KEYS, 150e6)):
            self.well(*self.words(top, *keys, "--force"))
            found = program.read(self.output).header["freq_array"]
            self.assertEqual(found[8], hz)
        self.note(os.path.join(top, "ch1"), 441e6)
        self.well(*self.words(top, *KEYS, "--force"))

    def test_polarisations_that_do_not_divide(self):
        done = self.correlate(os.path.join(self.tree(), "ch1"), *KEYS, "--set",
                              "array.polarizations=2")
        self.assert_refused(done, 2, "array.polarizations: 2", "expected 1",
                            "1 sub-channel")

    def test_gain_of_eight_bits(self):
        done = self.correlate(self.tree(), *KEYS, "--set",
                              "input.scale_to_8bit=1/4")
        self.assert_refused(done, 2, "input.scale_to_8bit: 1/4",
                            "8 bits")
