# SPDX-License-Identifier: BSD-3-Clause
"""Unusable GUPPI RAW recordings: one line that names file and key, the right
exit code, nothing under the final name.

Shows (recordings, damaged plain files): damaged and contradictory recordings in
    GUPPI RAW are refused
Within: exit 1 or 2, one line, nothing left behind
Because: what cannot be mapped would give wrong visibilities without a word
In: fuzz/check_recordings.py, fuzz/check_damage.py
"""
import os

import program
from guppi_files import BLOCK, write
from program import PLACE

KEYS = [f"--set={key}={value}" for key, value in PLACE.items()]

# the block, its cards (None: absent), what the line mentions
FAULTS = (
    *((0, {key: None}, f"{key}: missing: expected") for key in (
        "OBSBW", "OBSNCHAN", "NBITS", "NPOL", "STT_IMJD", "STT_SMJD",
        "BLOCSIZE")),
    (0, {"NBITS": 4}, "NBITS: 4: expected 8"),
    (0, {"NPOL": 2}, "NPOL: 2: one complex polarisation or two: expected "
     "array.polarizations = 1 or 2"),
    (0, {"NPOL": 3}, "NPOL: 3: expected 1, 2 or 4"),
    (0, {"OBSNCHAN": 0}, "OBSNCHAN: 0: expected a whole number of 1 to 65536"),
    (0, {"NANTS": 3}, "OBSNCHAN: 4: expected a multiple of NANTS 3"),
    (0, {"OBSBW": 0}, "OBSBW: 0: expected MHz that give 4 channels a rate"),
    (0, {"OBSBW": "wide"}, "OBSBW: wide: expected a number"),
    (0, {"TBIN": 3.4e-6}, "TBIN: 3.4E-06: expected 6.82666666667e-06, as "
     "OBSBW gives complex samples, or observation.sample_rate_hz"),
    (0, {"STT_OFFS": 1.5}, "STT_OFFS: 1.5: expected seconds from 0 to below"),
    (0, {"STT_IMJD": 0}, "STT_IMJD: 0: expected"),
    (0, {"OVERLAP": BLOCK}, f"OVERLAP: {BLOCK}: expected fewer than {BLOCK}"),
    (1, {"BLOCSIZE": 8191}, "BLOCSIZE: 8191: expected a multiple of 16"),
    (1, {"BLOCSIZE": 10**9}, "BLOCSIZE: 1000000000: block at byte "),
    (1, {"NPOL": 1}, "polarisations: 1: expected 2"),
    (1, {"OBSFREQ": 151.0}, "frequency (Hz): "),
    (1, {"STT_SMJD": 5}, "STT_SMJD: 5: block at byte "),
    (1, {"PKTIDX": 0}, "PKTIDX: 0: block at byte "),
    (1, {"PKTIDX": 2**60}, f"PKTIDX: {2**60}: expected a whole number"),
    (1, {"PKTSIZE": 250}, "PKTIDX: 32: block at byte "),
)


def same_cards(**cards):
    """Options for other cards in all three blocks."""
    return {"cards": dict.fromkeys(range(3), cards)}


class BadGuppi(program.Job):
    """Each test spoils a good recording of two antennas in one way."""

    def pair(self, *, second=None, **options):
        """Two antennas, three blocks each; options for both, or the second."""
        samples = program.noise(191, 2, 4, 2, 3 * BLOCK)
        return [write(self.path("a.raw"), samples[:1], **options),
                write(self.path("b.raw"), samples[1:],
                      **{**options, **(second or {})})]

    def refuse(self, files, *mentions, **options):
        super().refuse(files, *mentions, extra=KEYS, **options)

    def test_good_recording_is_not_refused(self):
        paths = self.pair()
        self.well(*self.words(paths[0], paths[1], *KEYS))
        self.assertTrue(os.path.exists(self.output))

    def test_faults(self):
        for block, cards, mention in FAULTS:
            with self.subTest(cards=cards):
                files = self.pair(cards={block: cards})
                self.refuse(files, f"error: {files[0]}: {mention}")

    def test_user_says_what_the_header_leaves_open(self):
        want = self.result(*self.pair(), *KEYS)
        paths = self.pair(**same_cards(NPOL=2, TBIN=1e-6))
        got = self.result(*paths, *KEYS, "--set=array.polarizations=2",
                          "--set=observation.sample_rate_hz=146484.375")
        self.assert_equal(got, want)

    def test_files_that_do_not_belong_together(self):
        for second, mention in (
                ({"upper": False}, "sideband: 2: expected 1, as in "),
                ({"overlap": 16}, "overlap (samples): 16: expected 0"),
                # 146484.375 samples a second: 1 ms is 146.48 samples
                (same_cards(STT_OFFS=0.126),
                 "start: +0.484 samples off the sampling of "),
                (same_cards(STT_IMJD=70000), "start: ")):
            with self.subTest(second=second):
                files = self.pair(second=second)
                self.refuse(files, f"error: {files[1]}: {mention}")

    def test_parts_in_the_wrong_order(self):
        samples = program.noise(192, 1, 4, 2, 6 * BLOCK)
        parts = [write(self.path(f"{k}.raw"),
                       samples[..., 2 * k * BLOCK:2 * (k + 1) * BLOCK],
                       first=2 * k * BLOCK) for k in range(3)]
        good = self.result(*parts, *KEYS)
        self.assertEqual(good.nsamples.min(), 1)
        for order in ((1, 0, 2), (0, 2, 1)):
            files = [parts[k] for k in order]
            self.refuse(files, f"error: {parts[1 - order[0] if order[0] else 1]}"
                        ": start: before ", "expected the files of an antenna "
                        "in order of time")
        self.refuse([parts[0], parts[0]], "given twice", code=2)
        # the parts of two antennas, by time: b0 and a1 would be one antenna
        a1, b0 = parts[1], self.path("b0.raw")
        write(b0, samples[..., :2 * BLOCK])
        b1 = write(self.path("b1.raw"), samples[..., 2 * BLOCK:4 * BLOCK],
                   first=2 * BLOCK)
        self.refuse([parts[0], b0, a1, b1], f"{b1}: start: after the end of "
                    f"{parts[0]}: expected antennas recorded at the same time, "
                    "all files of one before those of the next")

    def test_cut_and_foreign_files(self):
        paths = self.pair()
        whole = program.content(paths[1])
        for length in (0, 79, 81, 4000, len(whole) - 1, len(whole) // 2):
            with self.subTest(length=length):
                self.save("b.raw", whole[:length])
                self.refuse(paths, paths[1])
        self.save("b.raw", whole[:6000].replace(b"NBITS   =", b"NBITS\0  \0"))
        self.refuse(paths, "expected a card KEY = value or END")
        native = self.recording()
        self.refuse([paths[0], native], native)
        super().refuse(native, f"{native}: header: byte 0: expected a card",
                       extra=[*KEYS, "--set=input.format=guppi"])

    def test_what_is_no_file(self):
        paths = self.pair()
        self.refuse([paths[0], self.path("none.raw")], "No such file")
        os.mkfifo(self.path("pipe.raw"))
        self.refuse([paths[0], self.path("pipe.raw")], "not a regular file")
