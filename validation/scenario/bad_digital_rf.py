# SPDX-License-Identifier: BSD-3-Clause
"""Unusable Digital RF recordings: one line that names the fault, the right exit
code, nothing under the final name.

Shows (recordings, damaged Digital RF): damaged and contradictory Digital RF
    recordings are refused
Within: exit 1 or 2, one line, nothing left behind
In: test_reader_digital_rf.c
"""
import glob
import os
import shutil

import digital_rf
import h5py
import numpy as np

import program
import recorder
from program import put

SITE = [f"--set={key}={value}" for key, value in program.PLACE.items()]
KEYS = SITE + ["--set=observation.dc_frequency_hz=150e6"]
FIRST = 1_600_000_000 * 200_000
INDEX = "rf_data_index"

# number of the spoilt file of channel 1 (None: its properties), the change,
# what the line mentions
FAULTS = (
    *((None, put(f"@{name}"), "ch1/drf_properties.h5", name) for name in (
        "sample_rate_numerator", "sample_rate_denominator", "is_complex",
        "is_continuous", "num_subchannels", "file_cadence_millisecs",
        "epoch")),
    (4, put("rf_data@sample_rate_numerator", np.uint64(7)),
     "7/1 Hz: expected 200000/1 Hz"),
    (0, put("rf_data", np.zeros((1000, 1), "f4")), "rf_data",
     "expected compound {r, i} of int8 or int16"),
    *((4, put(INDEX, np.array(rows, "u8")), f"{INDEX}: row {bad}")
      for rows, bad in (([[5, 0]], 0), ([[FIRST + 4000, 1]], 0),
                        ([[FIRST + 4000, 0], [FIRST + 4100, 200]], 1))),
)


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
                samples, FIRST, **options))
        return top

    def files(self, top):
        found = sorted(glob.glob(os.path.join(top, "ch1", "*", "rf@*.h5")))
        self.assertEqual(len(found), 9)
        return found

    def refuse(self, path, *mentions, extra=KEYS, **options):
        super().refuse(path, *mentions, extra=extra, **options)

    def test_good_recording_is_not_refused(self):
        self.well(*self.words(self.tree(), *KEYS))
        self.assertTrue(os.path.exists(self.output))

    def test_faults(self):
        for number, change, *mentions in FAULTS:
            with self.subTest(number=number, mentions=mentions):
                top = self.tree(is_continuous=False)
                path = f"{top}/ch1/drf_properties.h5"
                if number is not None:
                    path = self.files(top)[number]
                with h5py.File(path, "r+") as file:
                    change(file)
                self.refuse(top, path, *mentions)

    def test_folders(self):
        os.makedirs(self.path("empty"))
        self.refuse(self.path("empty"), "empty: folder without channels "
                    "of Digital RF")
        self.refuse(self.path("absent"), "absent: No such file")
        top = self.tree()
        for name in self.files(top):
            os.rename(name, name.replace("rf@", "tmp.rf@"))
        self.refuse(top, "ch1: rf@*.h5: none: expected")
        os.remove(os.path.join(top, "ch1", "drf_properties.h5"))
        self.refuse(top, "ch1/drf_properties.h5: No such file")

    def test_contradicting_channels(self):
        self.refuse(self.tree(rate=recorder.Fraction(100_000)), "tree/ch1",
                    "100000/1 Hz: expected 200000/1 Hz", "tree/ch0")
        self.refuse(self.tree(is_complex=False), "tree/ch1",
                    "is_complex: 0: expected 1", "tree/ch0")

    def test_truncated(self):
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
        program.overwrite(path, at, b"\xff" * 64)
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

    def note(self, name, *hz, after=0):
        """Write metadata of a channel: frequencies of its sub-channels."""
        folder = self.path(f"tree/{name}/metadata")
        os.makedirs(folder, exist_ok=True)
        writer = digital_rf.DigitalMetadataWriter(
            folder, 3600, 60, 200_000, 1, "metadata")
        writer.write(FIRST + after, {"center_frequencies": np.array(hz)})

    def assert_frequency(self, hz, *keys):
        self.assertEqual(self.result(self.path("tree"), *keys)
                         .header["freq_array"][8], hz)

    def test_frequency_noted_twice(self):
        top = self.tree()
        self.refuse(top, f"missing, also in {top}: observation.dc_frequency_hz "
                    "(the sky frequency of baseband zero)", code=2, extra=SITE)
        self.note("ch0", 440e6)
        self.note("ch0", 441e6, after=5000)
        self.refuse(top, "ch0/metadata", "440000000 Hz: expected 441000000 Hz "
                    "as from 0.025 s on", "input.start_s", extra=SITE)
        self.assert_frequency(440e6, *SITE, "--set=input.duration_s=0.025")
        self.assert_frequency(441e6, *SITE, "--set=input.start_s=0.025")
        shutil.rmtree(f"{top}/ch0/metadata")
        self.note("ch0", 440e6, 441e6)
        self.refuse(top, "ch0/metadata",
                    "320000000000000/center_frequencies: 441000000 Hz of "
                    "sub-channel 1: expected 440000000 Hz as of sub-channel 0",
                    extra=SITE)

    def test_contradicting_frequencies(self):
        top = self.tree()
        self.note("ch0", 440e6)
        self.assert_frequency(440e6, *SITE)
        self.assert_frequency(150e6, *KEYS)
        self.note("ch1", 441e6)
        self.refuse(top, "ch1/metadata", "441000000 Hz", "expected 440000000 "
                    "Hz", extra=SITE)
        # configured, where they contradict each other
        self.assert_frequency(150e6, *KEYS)

    def test_settings_that_do_not_fit(self):
        top = self.tree()
        self.refuse(f"{top}/ch1", "array.polarizations: 2", "expected 1",
                    "1 sub-channel", code=2,
                    extra=[*KEYS, "--set=array.polarizations=2"])
        self.refuse(top, "input.scale_to_8bit: 1/4", "8 bits", code=2,
                    extra=[*KEYS, "--set=input.scale_to_8bit=1/4"])
