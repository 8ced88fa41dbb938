# SPDX-License-Identifier: BSD-3-Clause
"""A recording in fx8's own format cut into files at odd samples: whatever their
order, and whether they are arguments, a list or a glob, the result is that of
one file that lists the gap in /missing; files that do not belong together are
refused in one line that names both.

Shows: as test_native_parts.c
"""
import json
import os

import h5py
import numpy as np

import oracle
import program
from program import put

N = 9000
CUTS = ((0, 2345), (2345, 4000), (4777, N))     # a gap of 777 samples
MISSING = ((1, -1, 100, 3000), (0, 0, 5000, 321), (-1, 1, 8999, 1))
RATE = program.Scene(None).rate


def scene(first, end, samples, rows=()):
    """Samples [first, end) as a recording, with the part of /missing there."""
    kept = [(antenna, pol, max(at, first) - first,
             min(at + n, end) - max(at, first))
            for antenna, pol, at, n in rows if at < end and at + n > first]
    return program.Scene(samples[..., first:end], missing=kept,
                         start_ns=int(first * 10**9 / RATE))


def antenna(name, value):
    """Another value in the second row of the antenna table."""
    def change(file):
        table = file["antennas"][...]
        table[name][1] = value
        file["antennas"][...] = table
    return change


def text(name):
    """Another text as an attribute, which may be absent."""
    def change(file):
        file.attrs[name] = "other"
    return change


def real(file):
    put("voltages", file["voltages"]["r"])(file)


def relabel(file):
    for dim, label in zip(file["voltages"].dims, ("pol", "antenna", "time")):
        dim.label = label


# a change of the second file, and the line: {a} and {b} are the paths
CONTRADICTIONS = (
    (put("@sample_rate_numerator_hz", np.uint64(999_999)),
     "{b}: sample_rate: 999999: expected 1000000, as in {a}"),
    (put("@dc_frequency_hz", 151e6),
     "{b}: dc_frequency_hz: 1.51e+08: expected 1.5e+08, as in {a}"),
    (put("@sideband", "lower"),
     "{b}: sideband: lower: expected upper, as in {a}"),
    (text("telescope"),
     "{b}: telescope: other: expected test, as in {a}"),
    (text("instrument"),
     "{b}: instrument: other: expected none, as in {a}"),
    (text("object"),
     "{b}: object: other: expected none, as in {a}"),
    (real, "{b}: voltages: real samples (antenna, pol, time) of 2 antennas, 2 "
     "polarisations: expected complex samples (antenna, pol, time) of 2 "
     "antennas, 2 polarisations, as in {a}"),
    (relabel, "{b}: voltages: complex samples (pol, antenna, time) of 2 "),
    (antenna("number", 7), "{b}: antennas: row 1: number: 7 'ANT001': "
     "expected 1 'ANT001', as in {a}"),
    (antenna("up_m", 0.25), "{b}: antennas: row 1: up_m: 0.25: expected "),
    (put("antennas@altitude_m", 1.0),
     "{b}: antennas: altitude_m: 1: expected 377.8, as in {a}"),
    (put("antennas"), "{b}: antennas: none: expected a table, as in {a}"),
    (put("@start_time_ns", 2_345_150),
     "{b}: start_time_ns: +0.15 samples off the sampling of {a}: expected at "
     "most 0.101"),
    (put("@start_time_ns", 2_000_000),
     "{b}: start_time_unix_s: 345 samples before the end of {a}: expected "
     "files one after the other"),
    (put("@start_time_unix_s", 1_500_000_000),
     "{a}: start_time_unix_s: 100000000 s after {b}: expected files of one "
     "recording, at most 1e+07 s long"),
    (put("@format", "something else"),
     "{b}: format: something else: expected fx8-voltages"),
)


class NativeParts(program.Job):
    """Three files, and the same in one."""

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(16, 0.001, precision="int8"))
        self.samples = program.noise(17, 2, 2, N)

    def cut(self, **options):
        """Write the files; returns their paths in order of time."""
        return [self.write(scene(*ends, self.samples, MISSING), name,
                           **options)
                for ends, name in zip(CUTS, ("rec-x.h5", "rec-a.h5",
                                             "rec-m.h5"))]

    def whole(self):
        samples = self.samples.copy()
        samples[..., CUTS[1][1]:CUTS[2][0]] = 99
        return self.write(scene(0, N, samples, (*MISSING, (
            -1, -1, CUTS[1][1], CUTS[2][0] - CUTS[1][1]))), "whole.h5")

    def test_equal_to_one_file(self):
        want = self.result(self.whole())
        self.assertTrue((want.nsamples == 1).any())
        self.assertTrue((want.nsamples == 0).any())
        x, a, m = self.cut()
        names = ("visibilities", "flags", "nsamples", "gains")
        for files in ((x, a, m), (m, x, a), (a, m, x)):
            with self.subTest(files=files):
                got = self.result(files[0], *files[1:])
                self.assert_equal(got, want, names)
                np.testing.assert_array_equal(got.header["time_array"],
                                              want.header["time_array"])
        for listed in ("rec-*.h5", "rec-m.h5, rec-x.h5,rec-a.h5"):
            with self.subTest(listed=listed):
                self.configure(oracle.Setup(16, 0.001, precision="int8"),
                               {"input.files": listed})
                self.well("correlate", self.config, "-o", self.output)
                self.assert_equal(program.read(self.output), want, names)
                os.remove(self.output)

    def test_chunks_of_another_size(self):
        """Every file has its own storage, and blocks end anywhere."""
        want = self.result(self.whole())
        paths = [self.write(
            scene(*ends, self.samples, MISSING), f"part{k}.h5",
            axes=("time", "antenna", "pol"), chunks=(chunk, 2, 1), **filters)
            for k, (ends, chunk, filters) in enumerate(zip(
                CUTS, (1000, 77, 313), ({}, {"compression": "gzip"}, {})))]
        self.assert_equal(self.result(*paths, environment={
            "FX8_BLOCK_SAMPLES": "701"}), want)

    def test_gaps_that_hide_the_rest_are_named(self):
        x, a, _ = self.cut()
        later = self.changed(a, put("@start_time_unix_s", 1_600_000_000 + 9),
                             "later.h5")
        said = self.well(*self.words(x, later, "--dry-run")).stderr
        self.assertEqual(said, "fx8: warning: "
                         f"{x} and 1 more: 99.96 % of the 9.004 s to process "
                         "are missing: a gap of 9 s begins 0.002345 s after "
                         "the start of the recording\n")
        self.assertEqual(self.well(*self.words(x, a, "--dry-run")).stderr, "")

    def test_nothing_there(self):
        """A stretch in a gap, which is listed or shown by a marker."""
        listed = self.write(program.Scene(self.samples[..., :9000], missing=[
            (-1, -1, 4000, 4500)]), "listed.h5")
        samples = self.samples[..., :9000].copy()
        samples[..., 4000:8500] = -128 - 128j
        marked = self.write(program.Scene(samples), "marked.h5")
        where = ("--set=input.start_s=0.0045", "--set=input.duration_s=0.003",
                 "--quiet")
        nothing = ("no spectrum has all its samples: all of the result is "
                   "flagged")
        for path, more, said in (
                (listed, (), (f"{listed}: 100 % of the 0.003 s to process are "
                              "missing: a gap of 0.003 s begins 0.0045 s "
                              "after the start of the recording",
                              f"{listed}: {nothing}")),
                (marked, ("--set=input.missing_value=-128",),
                 (f"{marked}: {nothing}",))):
            done = self.well(*self.words(path, *where, *more))
            self.assertEqual(done.stderr, "".join(
                f"fx8: warning: {line}\n" for line in said))
            self.assertTrue(program.read(self.output).flags.all())
            os.remove(self.output)

    def test_info(self):
        x, a, m = self.cut()
        facts = json.loads(self.well("info", "--json", m, a, x).stdout)
        self.assertEqual(facts["files"], [m, a, x])
        self.assertEqual(facts["samples_per_input"], N)

    def test_files_that_do_not_belong_together(self):
        a = self.write(scene(*CUTS[0], self.samples), "one.h5")
        for change, line in CONTRADICTIONS:
            b = self.changed(self.write(scene(*CUTS[1], self.samples)),
                             change, "two.h5")
            with self.subTest(line=line):
                self.refuse((a, b), line.format(a=a, b=b))
        self.refuse((a, b, a), f"{a}: input.files: given twice: expected every "
                    "file once", code=2)
        folder, name = os.path.split(a)
        for other in (f"{folder}/./{name}", os.path.relpath(a)):
            self.refuse((a, b, other), f"{other}: input.files: given twice, as "
                        f"{a}: expected every file once", code=2)
