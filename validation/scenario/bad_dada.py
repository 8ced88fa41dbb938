# SPDX-License-Identifier: BSD-3-Clause
"""Unusable PSRDADA recordings: one line that names file and key, the right exit
code, nothing under the final name.

Shows (recordings, damaged plain files): as scenario/bad_guppi.py, in PSRDADA
In: fuzz/check_recordings.py, fuzz/check_damage.py
"""
import os

import program
from dada_files import write
from program import PLACE

KEYS = [f"--set={key}={value}" for key, value in PLACE.items()]
FORCED = [*KEYS, "--set=input.format=dada"]

# keys (None: absent), what the line mentions
FAULTS = (
    *(({key: None}, f"{key}: missing: expected") for key in (
        "NBIT", "NDIM", "NPOL", "NCHAN", "BW", "UTC_START")),
    ({"NBIT": 2}, "NBIT: 2: expected 8"),
    ({"NDIM": 1}, "NDIM: 1: expected 2, complex samples, of 4 channels"),
    ({"NPOL": 4}, "NPOL: 4: expected a whole number of 1 to 2"),
    ({"NCHAN": 0}, "NCHAN: 0: expected a whole number of 1 to 65536"),
    ({"NANT": 20000}, "NANT: 20000: expected a whole number of 1 to 16384"),
    ({"NINPUTS": 256}, "NINPUTS: 256: expected 0"),
    ({"BW": 0.0}, "BW: 0.0: expected MHz that give 4 channels a rate"),
    ({"FREQ": -5.0}, "FREQ: -5.0: expected 0 to 1e9 MHz"),
    ({"TSAMP": 33.0}, "TSAMP: 33.0: expected 32, as BW gives complex samples"),
    ({"UTC_START": "yesterday"}, "UTC_START: yesterday: expected a time"),
    ({"PICOSECONDS": 10**12}, "PICOSECONDS: 1000000000000: expected"),
    ({"OBS_OFFSET": 17}, "OBS_OFFSET: 17: expected a multiple of 16"),
    ({"OBS_OFFSET": -16}, "OBS_OFFSET: -16: expected"),
    ({"OBS_OFFSET": 2**62}, "data: 1000 samples from "),
    ({"OBS_OVERLAP": 15}, "OBS_OVERLAP: 15: expected a multiple of 16"),
    *(({"ORDER": order}, f"ORDER: {order}: expected T, then F, P and A")
      for order in ("FTP", "TF", "TFF", "TFPS", "T", "FP", "TPTF")),
)


class BadDada(program.Job):
    """Each test spoils a good recording in one way."""

    def good(self, name="a.dada", n=1000, seed=201, **options):
        return write(self.path(name), program.noise(seed, 1, 2, 4, n),
                     **{"order": "TFP", **options})

    def refuse(self, files, *mentions, keys=None, **options):
        super().refuse(files, *mentions, extra=keys or KEYS, **options)

    def test_good_recording_is_not_refused(self):
        self.well(*self.words(self.good(), *KEYS))
        self.assertTrue(os.path.exists(self.output))

    def test_faults(self):
        for keys, mention in FAULTS:
            with self.subTest(keys=keys):
                path = self.good(**keys)
                self.refuse(path, f"error: {path}: {mention}", keys=FORCED)

    def test_header_and_length(self):
        content = program.content(self.good())
        for old, new, mention in (
                (b"HDR_SIZE 4096", b"HDR_SIZE 4095", "HDR_SIZE: 4095: "),
                (b"HDR_SIZE 4096", b"HDR_SIZE x   ", "HDR_SIZE: x: "),
                (b"HDR_SIZE 4096", b"HDR_SIZE 8192",
                 "data: 11904 bytes after the header: expected a multiple "),
                (b"HDR_SIZE 4096", b"HDR_SIZE 1e9 ", "HDR_SIZE: 1e9: ")):
            path = self.save("spoilt.dada", content.replace(old, new))
            if b"8192" in new:  # shorter by 4,096 bytes, a whole number
                self.well(*self.words(path, *FORCED))
                os.remove(self.output)
                path = self.save("spoilt.dada", content.replace(old, new)[:-1])
                mention = "data: 11903 bytes after the header: expected a "
            self.refuse(path, f"error: {path}: {mention}", keys=FORCED)
        for length in (0, 100, 4096, len(content) - 1):
            with self.subTest(length=length):
                path = self.save("cut.dada", content[:length])
                self.refuse(path, path, keys=FORCED)
        native = self.recording()
        self.refuse(native, native, keys=FORCED)

    def test_files_that_do_not_belong_together(self):
        one = self.good()
        for options, mention in (
                ({"upper": False}, "sideband: 2: expected 1, as in "),
                ({"FREQ": 151.0}, "frequency (Hz): "),
                ({"order": "TPF"}, "step of polarisations (bytes): 8: "),
                ({"PICOSECONDS": 8 * 10**6}, "start: +0.25 samples off"),
                # repeats more than OBS_OVERLAP of the file before it
                ({"first": 999, "OBS_OVERLAP": 0}, None)):
            with self.subTest(options=options):
                other = self.good("b.dada", **options)
                if mention is None:     # it is another antenna
                    self.well(*self.words(one, other, *KEYS))
                    os.remove(self.output)
                else:
                    self.refuse([one, other], f"error: {other}: {mention}")
        parts = [self.good(f"{k}.dada", first=1000 * k) for k in range(3)]
        self.refuse([parts[2], parts[0], parts[1]], f"{parts[0]}: start: "
                    f"before {parts[2]}: expected the files of an antenna")
