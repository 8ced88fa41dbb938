# SPDX-License-Identifier: BSD-3-Clause
"""Dumps on the edges of UTC, [correlator] align = utc: what does not depend on
how a run was divided, on its start, or on the key's absence.

Shows (correlation, aligned dumps end to end): threads, ranks, `--resume` and a
    GPU give the result of one run on one thread; recordings that start at
    different moments have the same dumps; a first dump that is too short is left
    out, and announced; results join by time; align = none is the default
Within: equal to the bit; times of dumps within a spectrum
"""
import os

import numpy as np

import oracle
import program
import same_file
from ranks_job import Ranks
from resumed import ResumedJob

UTC = {"correlator.align": "utc"}
# 43.75 spectra of 64 samples at 1 MHz
DUMP_S = 0.0028


def setup(dump_s=DUMP_S, **options):
    return oracle.Setup(64, dump_s, taps=4, align="utc", **{
        "precision": "int8", **options})


class Divided(Ranks):
    """Ranks, which take ranges of dumps, or share them."""

    def test_ranks(self):
        look = self.path("look.h5")
        recording = self.eventful()
        for precision, extra in (("both", {"postprocess.quicklook": look}),
                                 ("interval", {})):
            self.configure(setup(precision=precision, last_dump_min=0.1), extra)
            self.check(recording, (1, 2, 3))

    def test_shared_dumps(self):
        """Of three segments, and of numbers of spectra that differ."""
        self.configure(oracle.Setup(4, 0.067957, taps=4, align="utc",
                                    precision="both", last_dump_min=0.1))
        self.check(self.segments(n_dumps=3), (3, 8))


class Ended(ResumedJob):
    """Runs that go on."""

    def test_threads(self):
        self.job(setup=setup(precision="both"),
                 outputs=("out.int8.uvh5", "out.fp32.uvh5"))
        self.well(*self.words(self.input, "--set", "correlator.threads=3"))
        for path, want in self.want.items():
            # which names the number of threads
            self.assertEqual(same_file.differences(path, want),
                             ["Header/history"])

    def test_resume(self):
        for dumps in (0, 1, 9):
            self.job({"postprocess.quicklook": self.look}, setup=setup(),
                     outputs=("out.uvh5", "look.h5"))
            self.copy_want()
            self.left(dumps)
            self.assertEqual(self.complete(), dumps)

    def test_other_alignment(self):
        self.job(setup=setup())
        self.copy_want()
        self.left(3)
        self.configure(setup(), {"correlator.threads": 1,
                                 "correlator.align": "none"})
        self.assert_one_line(self.correlate(self.input, "--resume"), 2,
                             "correlator.align = utc: expected none")


class Aligned(program.Job):
    """Recordings, and what is said of them."""

    def scene(self, first=0, n=60_000):
        """Samples from `first` on of one signal, which begins 1.3 ms behind an
        edge."""
        samples = program.noise(71, 3, 2, 60_000)[:, :, first:first + n]
        return self.write(program.Scene(samples, start_ns=1_300_000
                                        + 1000 * first), f"at{first}.h5")

    def read(self, path, *extra, **options):
        self.configure(setup(**{"precision": "fp32", **options}))
        return self.result(path, *extra)

    def edges(self, got):
        """Numbers of the edges before the dumps, and their dates in dumps
        behind those, from the middle on."""
        n = got.header["ant_1_array"].size // got.visibilities.shape[0]
        seconds = np.rint((got.header["time_array"][::n] - 2440587.5)
                          * 86400e4) / 1e4
        dumps = (seconds - 1_600_000_000) / DUMP_S
        return np.floor(dumps).astype(int), dumps % 1 - 0.5

    def test_starts(self):
        """Recordings of one signal: later by whole spectra they have the same
        dumps, else the same edges."""
        whole = self.read(self.scene())
        numbers, late = self.edges(whole)
        np.testing.assert_array_equal(
            numbers, numbers[0] + np.arange(len(numbers)))
        self.assertLess(np.abs(late[1:-1]).max(), 1 / 43.75 + 0.04)
        for first in 64 * 137, 64 * 137 + 29:
            part = self.read(self.scene(first))
            others, late = self.edges(part)
            self.assertLess(np.abs(late[1:-1]).max(), 1 / 43.75 + 0.04)
            _, at, to = np.intersect1d(numbers[:-1], others[1:],
                                       return_indices=True)
            self.assertGreater(len(at), 15)
            if first % 64 == 0:
                for name in "visibilities", "nsamples":
                    np.testing.assert_array_equal(
                        getattr(part, name)[1:][to],
                        getattr(whole, name)[at])

    def test_first_dump(self):
        """It has 1.5 of 2.8 ms: half of it but not 0.6."""
        path = self.scene()
        whole = self.read(path, last_dump_min=0.5)
        less = self.read(path, last_dump_min=0.6)
        self.assertEqual(len(whole.visibilities), len(less.visibilities) + 1)
        self.assert_equal(less, type(whole)(**{
            **vars(whole), **{name: getattr(whole, name)[1:] for name in
                              ("visibilities", "flags", "nsamples")}}))
        self.configure(setup(last_dump_min=0.6))
        said = self.well(*self.words(path, "--dry-run")).stdout
        self.assertIn(" dumps of 0.0028 s (at most 44 spectra each), aligned "
                      "with UTC\n", said)
        self.assertRegex(said, r" 0\.00\d+ s at the beginning fill no dump and "
                         "are left out\n")

    def test_device(self):
        path = self.scene()
        self.configure(setup(precision="both", last_dump_min=0.1))
        results = []
        for backend, environment in (("cpu", None),
                                     ("cuda", program.devices(2))):
            self.well(*self.words(path, "--set", f"correlator.backend={backend}"),
                      environment=environment)
            results.append(program.read(self.path("out.int8.uvh5")))
            for kind in "int8", "fp32":
                os.remove(self.path(f"out.{kind}.uvh5"))
        self.assert_equal(*results)

    def test_join(self):
        pieces = []
        for first in 0, 30_000:
            self.configure(setup(last_dump_min=0.1))
            self.well(*self.words(self.scene(first, 30_000)))
            pieces.append(self.path(f"piece{first}.uvh5"))
            os.rename(self.output, pieces[-1])
        self.well("join", *pieces, "-o", self.output)
        joined = program.read(self.output)
        parts = [program.read(piece) for piece in pieces]
        np.testing.assert_array_equal(
            joined.visibilities,
            np.concatenate([part.visibilities for part in parts]))
        os.remove(self.output)
        self.configure(setup(), {"correlator.align": "none"})
        self.well(*self.words(self.scene(30_000, 30_000)))
        self.assert_one_line(
            program.run("join", pieces[0], self.output, "-o",
                        self.path("all.uvh5")), 1,
            "correlator.align: none: expected utc as in")

    def test_none_is_the_default(self):
        path = self.scene()
        self.configure()
        want = self.result(path)
        got = self.result(path, "--set", "correlator.align=none")
        self.assert_equal(got, want)
        self.assertEqual(got.keywords["CONFSHA"], want.keywords["CONFSHA"])
