# SPDX-License-Identifier: BSD-3-Clause
"""Unusable VDIF recordings: one line that names file and fault, the right exit
code, nothing under the final name.

Shows (recordings, damaged plain files): as scenario/bad_guppi.py, in VDIF
In: fuzz/check_recordings.py, fuzz/check_damage.py
"""
import os

import program
from program import PLACE
from vdif_files import FRAME, RATE, write

KEYS = [f"--set={key}={value}" for key, value in {
    "observation.dc_frequency_hz": 150e6, **PLACE}.items()]
RATED = [*KEYS, f"--set=observation.sample_rate_hz={RATE}"]
N_FRAMES = 200
BYTES = 32 + 2 * FRAME      # of a frame


def word(frame, number, change):
    """A change of a word in the header of a frame."""
    def spoil(content):
        at = frame * BYTES + 4 * number
        value = int.from_bytes(content[at:at + 4], "little")
        content[at:at + 4] = change(value).to_bytes(4, "little")
    return spoil


def exchange(a, b):
    """Two frames in each other's place."""
    def spoil(content):
        one, other = (slice(k * BYTES, (k + 1) * BYTES) for k in (a, b))
        content[one], content[other] = content[other], content[one]
    return spoil


# what is done to the bytes, what the line mentions
FAULTS = (
    (word(0, 3, lambda w: w & ~(31 << 26) | 1 << 26),
     "header: 2 bits a sample: expected 8"),
    (word(0, 2, lambda w: w | 2 << 24),
     "header: 4 channels: expected one, or two that are polarisations"),
    (word(0, 2, lambda w: w & ~0xffffff | 4),
     "header: frames of 32 bytes: expected more than 32"),
    (word(130, 2, lambda w: w + 1), "all of a kind"),
    (word(130, 3, lambda w: w ^ 1), "all of a kind"),
    (word(199, 3, lambda w: w ^ 1), "header: frame 199: expected length, "
     "channels, bits and station of the first frame"),
    (word(199, 3, lambda w: w ^ 1 << 16), "header: frame 199: thread 1: "
     "expected those of the first frames"),
    (word(130, 3, lambda w: w ^ 1 << 16), "thread 1, where 130 of "
     "thread 0 belongs: expected frames in order of time, all of a kind"),
    (word(199, 1, lambda w: w + 1980), "header: frame 199: number 2179 in its "
     "second: expected less than 2000"),
    (word(199, 0, lambda w: w - 1), "header: frame 199: -1 s after the first"),
    (word(199, 0, lambda w: w + 10**8), "header: frame 199: 100000000 s after"),
    (word(130, 0, lambda w: w + 1), "frame 2130 after the first second"),
    (word(130, 1, lambda w: w + 1), "frame 131 after the first second"),
    (word(199, 1, lambda w: w - 1), "data: 64 samples from byte "),
    (exchange(129, 130), "expected frames in order of time"),
    (exchange(0, 1), "expected frames in order of time"),
    (lambda content: content.extend(b"\0" * 10),
     f"data: 10 bytes after the last whole frame of {BYTES}: expected whole"),
)


class BadVdif(program.Job):
    """Each test spoils a good recording in one way."""

    def good(self, name="a.vdif", seed=195, n_pols=1, **options):
        return write(self.path(name),
                     program.noise(seed, n_pols, N_FRAMES * FRAME), **options)

    def refuse(self, files, *mentions, keys=None, **options):
        super().refuse(files, *mentions, extra=keys or RATED, **options)

    def test_good_recording_is_not_refused(self):
        self.well(*self.words(self.good(), *RATED))
        self.assertTrue(os.path.exists(self.output))

    def test_faults(self):
        content = program.content(self.good())
        forced = [*RATED, "--set=input.format=vdif"]
        for number, (change, mention) in enumerate(FAULTS):
            with self.subTest(number=number, mention=mention):
                spoilt = bytearray(content)
                change(spoilt)
                path = self.save("spoilt.vdif", bytes(spoilt))
                self.refuse(path, f"error: {path}: ", mention, keys=forced)

    def test_frames_in_each_others_place_anywhere(self):
        # between frames that are read to find gaps, and these themselves
        content = program.content(self.good())
        for at in range(1, N_FRAMES - 1, 4):
            spoilt = bytearray(content)
            exchange(at, at + 1)(spoilt)
            path = self.save("spoilt.vdif", bytes(spoilt))
            self.refuse(path, "expected frames in order of time")

    def test_rates(self):
        path = self.good()
        self.refuse(path, f"{path}: header: no sampling rate: expected "
                    "observation.sample_rate_hz", keys=KEYS)
        for rate in ("100000", "128000.5", "384001/3"):
            self.refuse(path, "expected a whole number of frames a second",
                        keys=[*KEYS, f"--set=observation.sample_rate_hz={rate}"
                              ])

    def test_threads_that_are_no_polarisations(self):
        samples = program.noise(196, 3, N_FRAMES * FRAME)
        path = write(self.path("a.vdif"), samples, threads=[4, 0, 7])
        self.refuse(path, "header: threads 4, 0 and 7: expected one, or two "
                    "that are polarisations")

    def test_files_that_do_not_belong_together(self):
        one = self.good()
        for options, mention in (
                ({"n_pols": 2}, "polarisations: 2: expected 1, as in "),
                ({"second": 200_000_000}, "start: 199999900 s after that of"),
                ({"length": 128}, None)):
            other = self.good("b.vdif", 197, **options)
            if mention is None:     # frames of another length will do
                self.well(*self.words(one, other, *RATED))
                os.remove(self.output)
            else:
                self.refuse([one, other], f"error: {other}: {mention}")
        # the same samples twice in one antenna's files
        parts = [self.good("0.vdif"), self.good("1.vdif", first=N_FRAMES),
                 self.good("2.vdif", first=2 * N_FRAMES)]
        self.refuse([parts[0], parts[2], parts[1]], f"{parts[1]}: start: "
                    f"before {parts[2]}: expected the files of an antenna")

    def test_cut_and_foreign_files(self):
        content = program.content(self.good())
        for length in (0, 10, 40, 131 * BYTES - 1, len(content) - 1):
            with self.subTest(length=length):
                path = self.save("cut.vdif", content[:length])
                self.refuse(path, path, keys=[*RATED,
                                              "--set=input.format=vdif"])
        self.refuse(self.path("absent.vdif"), "No such file", keys=[
            *RATED, "--set=input.format=vdif"])
        native = self.recording()
        self.refuse(native, native, keys=[*RATED, "--set=input.format=vdif"])
