# SPDX-License-Identifier: BSD-3-Clause
"""Averages in time (`[output] time_average_loss`) of runs that end and go on.

Shows (results, averages in time that go on): `--resume` completes results whose
    rows are averages after pauses, kills and signals, and keeps their whole
    blocks; rows of a run that a signal ends are the averages up to its last
    dump; of less than a whole block nothing is kept, not even gains or the name
    of the recording, and a pause leaves nothing
Within: values 2^-23 of each and 2^-40 of the mean amplitude, weights 2^-23;
    lengths 4e-16; resumed results equal to the bit
Because: the same doubles are summed in another order, at most 64 of them
In: Resumed
"""
import os
import re
import shutil
import signal

import h5py
import numpy as np

import averaged
import oracle
import program
import uvdata
from averaged_checks import Checks
from resumed import ResumedJob


class Resumed(Checks, ResumedJob):
    """Runs that go on."""

    setup = oracle.Setup(64, 0.002, taps=4, precision="int8")

    def averages(self):
        table = self.save("table.csv", "number,east_m,north_m,up_m\n0,0,0,0\n"
                          "1,400,0,0\n2,900,600,0\n3,9000,0,0\n")
        self.job({"array.positions": table, **program.SITE_KEYS,
                  "output.baselines": "cross",
                  "output.time_average_loss": 3e-7}, setup=self.setup)
        got = averaged.Result(self.want[self.output])
        lengths = {pair: got.pairs.count(pair) for pair in got.pairs}
        self.assertEqual(sorted(lengths.values()), [4, 4, 8, 30, 30, 30])

    def end_early(self, number, *extra, **options):
        """End a run behind its first block."""
        process = self.start_held(*extra)
        self.wait_for_dump(process, self.part)
        return self.end(process, number, **options)

    def end_within_block(self):
        """End a run by SIGTERM; again, if that was at the end of a block.
        Returns its result and the number of dumps."""
        n_dumps = 8
        while n_dumps % 8 == 0:
            self.clear()
            _, err = self.end_early(signal.SIGTERM, "--quiet")
            self.assertIn("--resume goes on", err)
            got = averaged.Result(self.output)
            n_dumps = len(got.own["checksum"])
        return got, n_dumps

    def test_paused_and_killed(self):
        self.averages()
        _, err = self.end_early(signal.SIGUSR1, code=75)
        n = int(re.search(r"paused after (\d+) of 30 dumps; \S+ keeps \1 "
                          r"dumps?: --resume goes on", err)[1])
        self.assertEqual(n % 8, 0)
        self.assertGreater(n, 0)
        self.assertEqual(self.complete(), n)
        self.clear()
        self.end_early(signal.SIGKILL, code=-signal.SIGKILL)
        self.assertGreater(self.complete(), 0)

    def test_ended_by_a_signal(self):
        """Rows that were not complete end with the last dump; the run that goes
        on computes their blocks again."""
        self.averages()
        self.clear()
        full = self.full()
        got, n_dumps = self.end_within_block()
        self.assertTrue(8 < n_dumps < 30, n_dumps)
        self.assertTrue((got.own["checksum"] != -1).all())
        self.check_averages(full, got, 3e-7, n_dumps=n_dumps)
        uvdata.load(self, self.output)
        short = shutil.copy(self.output, self.path("short.uvh5"))
        # killed while it goes on: rows are flagged, or those of the whole
        process = self.start_held("--resume")
        self.wait_until(process, "all rows", lambda: self.n_rows() == 106)
        self.end(process, signal.SIGKILL, code=-signal.SIGKILL)
        left = averaged.Result(self.part)
        want = averaged.Result(self.want[self.output])
        for name in ("time_array", "integration_time", "Nblts", "Ntimes"):
            np.testing.assert_array_equal(left.header[name],
                                          want.header[name])
        shown = ~left.flags.all(axis=(1, 2))
        np.testing.assert_array_equal(left.data[shown], want.data[shown])
        marks = left.own["checksum"] != -1
        n = int(marks.sum())
        self.assertEqual(n % 8, 0)
        self.assertTrue(marks[:n].all())
        self.assertEqual(self.resume(), n)
        self.check()
        os.remove(self.output)
        shutil.move(short, self.output)
        self.assertEqual(self.resume(), n_dumps // 8 * 8)
        self.check()

    def n_rows(self):
        """Rows of the .part, as far as they are on disk."""
        try:
            with h5py.File(self.part, "r", locking=False) as file:
                return int(file["Header/Nblts"][()])
        except (OSError, KeyError, RuntimeError):
            return 0

    def full(self):
        """The result without averages."""
        self.well(*self.words(self.input, "--set",
                              "output.time_average_loss=0"))
        full = averaged.Result(self.output)
        os.remove(self.output)
        return full

    def one_block(self):
        """A job of which each early end is within the first block."""
        table = self.save("table.csv", "number,east_m,north_m,up_m\n0,0,0,0\n"
                          "1,400,0,0\n2,900,600,0\n3,9000,0,0\n")
        self.job({"array.positions": table, **program.SITE_KEYS,
                  "output.time_average_loss": 1e-4}, setup=self.setup)
        got = averaged.Result(self.want[self.output])
        self.assertEqual(got.pairs.count((0, 0)), 1)
        self.assertGreater(got.pairs.count((0, 3)), 1)

    def test_nothing_is_kept_of_less_than_a_block(self):
        """Not even gains or names: they could be of another recording."""
        self.one_block()
        first = averaged.Result(self.want[self.output])
        self.end(self.start_held(), signal.SIGTERM)
        self.assertLess(len(averaged.Result(self.output).own["checksum"]), 30)
        ended = shutil.copy(self.output, self.path("ended.uvh5"))
        # another recording of the same length and begin
        self.input = self.path("other.h5")
        self.record(seed=222)
        self.clear()
        self.well(*self.words(self.input))
        os.rename(self.output, self.want[self.output])
        other = averaged.Result(self.want[self.output])
        self.assertTrue((first.own["gain"] != other.own["gain"]).any())
        shutil.copy(ended, self.output)
        self.assertEqual(self.resume(), 0)
        self.check()
        # killed while the marks of the first block were written
        shutil.copy(ended, self.part)
        with h5py.File(self.part, "r+") as file:
            file["fx8/checksum"][1:] = -1
        os.remove(self.output)
        self.assertEqual(self.resume(), 0)
        self.check()

    def test_paused_within_the_first_block(self):
        """As before the first dump: nothing is left, and said to be."""
        self.one_block()
        early = self.start(*self.words(self.input), env={
            **os.environ, **self.holding(self.input, share=0)})
        self.wait_for_handler(early)
        _, want = self.end(early, signal.SIGUSR1, signal.SIGTERM, code=75)
        self.assertEqual(want, "fx8: error: paused after 0 of 30 dumps\n")
        _, err = self.end(self.start_held("--quiet"), signal.SIGUSR1, code=75)
        self.assertEqual(err, want)
        self.assertFalse(os.path.exists(self.part))
        self.end(self.start_held(), signal.SIGTERM)
        self.assertTrue(os.path.exists(self.output))
        _, err = self.end(self.start_held("--resume", "--quiet"),
                          signal.SIGUSR1, code=75)
        self.assertEqual(err, want)
        self.assertFalse(os.path.exists(self.part))
        self.assertFalse(os.path.exists(self.output))
        self.assertEqual(self.resume(), 0)
        self.check()

    def test_phase_centers(self):
        """Both keep blocks of as many dumps as the one near the pole, where
        fringes are slower: here none."""
        table = self.save("table.csv", "number,east_m,north_m,up_m\n0,0,0,0\n"
                          "1,400,0,0\n2,900,600,0\n3,9000,0,0\n")
        centers = self.save("centers.csv", "name,ra_deg,dec_deg\n"
                            "slow,201.4,-80\nfast,201.4,0\n")
        self.job({"array.positions": table, **program.SITE_KEYS,
                  "output.baselines": "cross", "delay.mode": "track",
                  "delay.dut1_s": -0.1, "delay.phase_centers": centers,
                  "output.time_average_loss": 2e-6},
                 ("out.fast.uvh5", "out.slow.uvh5"), self.setup)
        for path, n_rows in zip(self.outputs, (2, 1)):
            got = averaged.Result(self.want[path])
            self.assertEqual(got.pairs.count((0, 1)), n_rows)
        # of 30 dumps, the fast one finishes a block of 16
        process = self.start_held("--quiet", share=0.8)
        self.wait_for_dump(process, self.outputs[0] + ".part")
        _, err = self.end(process, signal.SIGUSR1, code=75)
        self.assertEqual(err.splitlines()[-1],
                         "fx8: error: paused after 0 of 30 dumps")
        for path in self.outputs:
            self.assertFalse(os.path.exists(path + ".part"))
        self.assertEqual(self.resume(), 0)
        self.check()
        # a whole result is not begun again as the other has no whole block
        self.clear()
        self.end(self.start_held("--quiet"), signal.SIGTERM)
        shutil.copy(self.want[self.outputs[0]], self.outputs[0])
        before = program.content(self.outputs[0])
        self.assert_one_line(self.correlate(self.input, "--resume"), 2,
                             f"{self.outputs[0]}: none of its dumps is "
                             "finished in all results: expected --force")
        self.assertEqual(program.content(self.outputs[0]), before)
        self.well(*self.words(self.input, "--force", "--quiet"))
        self.check()

    def test_damaged_dump(self):
        """Its whole block is computed again."""
        self.averages()
        self.copy_want()
        self.left()
        with h5py.File(self.part, "r+") as file:
            file["Data/visdata"][60] = 0
        self.assertEqual(self.resume(), 22)
        self.check()

    def test_another_loss(self):
        """A .part of another loss is of another run."""
        self.averages()
        self.copy_want()
        self.left(16)
        done = self.correlate(self.input, "--resume", "--set",
                              "output.time_average_loss=0")
        self.assert_one_line(done, 2, "is of another run", "time_average_loss")
