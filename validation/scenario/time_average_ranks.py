# SPDX-License-Identifier: BSD-3-Clause
"""Averages in time (`[output] time_average_loss`) of several ranks of MPI.

Shows (results, averages in time of ranks): ranks take whole blocks of dumps that
    are averaged, and the result is that of one process: with more ranks than
    blocks, ranks that share dumps, phase centres whose blocks differ, a shorter
    last block; a signal or a kill leaves the finished blocks in the .part, and
    ranks or one process go on with them, also where blocks lie between those
    that are missing
Within: every dataset and attribute but date and command equal to the bit
In: Equal, Ends
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
from ranks_job import Ranks

# Ends blocks of 8 dumps of 2 ms, if the nearest antennas are 400 m apart.
LOSS = 3e-7
BLOCK = 8


class Averaged(Ranks):
    """Runs with averages."""

    def keys(self, n_antennas=3, **more):
        places = [(0, 0), (400, 0), *((900 + 7000 * k, 600)
                                      for k in range(n_antennas - 2))]
        table = self.save("table.csv", "number,east_m,north_m,up_m\n" + "".join(
            f"{number},{east},{north},0\n"
            for number, (east, north) in enumerate(places)))
        return {"array.positions": table, **program.SITE_KEYS,
                "output.time_average_loss": LOSS, "output.baselines": "cross",
                **more}

    def rows_of(self, path, pair=(0, 1)):
        """How many rows a baseline has."""
        return averaged.Result(path).pairs.count(pair)


class Equal(Averaged):
    """Results of several ranks."""

    def test_equal_to_one_process(self):
        """Three blocks, the last one of 5 dumps: for 2 ranks and for 5."""
        recording = self.eventful(21)
        self.set_up(keys=self.keys())
        done = self.mpirun(5, *self.words(recording, "--mpi", "--dry-run"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fx8: warning: 5 ranks for 3 blocks of up to 8 dumps: 2 of "
                      "them have nothing to do\n", done.stderr)
        self.check(recording, (2, 5))

    def test_ranks_that_share_dumps(self):
        """One block of two dumps, of three segments each."""
        self.set_up("fp32", self.keys(), **self.SEGMENTS)
        self.check(self.segments(), (3,))

    def test_phase_centers(self):
        """Blocks of 4 dumps of one are whole where those of 8 of the other
        are."""
        centers = self.save("centers.csv", "name,ra_deg,dec_deg\n"
                            "slow,201.4,-80\nfast,201.4,0\n")
        self.set_up(keys=self.keys(**{
            "delay.mode": "track", "delay.dut1_s": -0.1,
            "delay.phase_centers": centers,
            "output.time_average_loss": 2e-7}))
        recording = self.eventful(21)
        self.well(*self.words(recording, "--quiet"))
        self.assertEqual([self.rows_of(self.path(f"out.{name}.uvh5"))
                          for name in ("fast", "slow")], [6, 3])
        for name in self.files():
            os.remove(self.path(name))
        self.check(recording, (3,))


class Ends(Averaged):
    """Runs that end early, and what goes on with them."""

    def setUp(self):
        super().setUp()
        self.part, self.want = self.output + ".part", self.path("want")

    def make_want(self, recording, n_dumps):
        """The result of one process, of blocks of 8 dumps."""
        self.well(*self.words(recording, "--quiet"))
        self.assertEqual(self.rows_of(self.output), -(-n_dumps // BLOCK))
        os.rename(self.output, self.want)

    def marks(self):
        """Which dumps of the .part are marked as finished."""
        with h5py.File(self.part, "r", locking=False) as file:
            return file["fx8/checksum"][...] != -1

    def whole(self):
        """How many dumps of whole blocks; 0 while it is not complete."""
        try:
            marks = self.marks()
        except (OSError, KeyError):
            return 0
        return sum(len(block) for block in np.split(
            marks, range(BLOCK, len(marks), BLOCK)) if block.all())

    def test_signals_and_kills(self):
        """Whole blocks stay in the .part, even if they are the first ones: the
        counts of the run include dumps of the unfinished block."""
        recording = self.many_dumps()
        self.configure(oracle.Setup(64, 0.002, precision="int8"),
                       {"correlator.threads": 1, **self.keys(6)})
        self.make_want(recording, 201)
        for number, word, code, n_after in (
                (signal.SIGUSR1, "paused", 75, 1),
                (signal.SIGTERM, "interrupted", 130, 2),
                (signal.SIGKILL, None, None, 1)):
            with self.subTest(signal=number.name):
                # two, so that what one finishes after the signal follows the rest
                process, ranks = self.start_ranks(
                    2, recording, *self.words(recording, "--mpi", "--quiet"),
                    share=0.6)
                self.wait_until(process, "14 blocks",
                                lambda: self.whole() == 112)
                os.kill(sorted(ranks)[1], number)
                errors = self.errors_of(process)
                n_kept = self.whole()
                self.assertTrue(112 <= n_kept < 201)
                if word is not None:
                    self.assertEqual(process.returncode, code, errors)
                    self.assertRegex(errors, rf"{word} after {n_kept} of 201 "
                                     rf"dumps; \S+ keeps {n_kept} dumps: "
                                     "--resume goes on")
                    self.assertEqual(np.count_nonzero(self.marks()), n_kept)
                self.go_on(recording, n_after, n_kept)

    def test_blocks_between_missing_ones(self):
        """As ranks leave them: one process goes on and fails within a block, and
        ranks go on then.  The last block, of one dump, counts."""
        recording = self.write(program.Scene(program.noise(23, 3, 1, 82_000)),
                               chunks=(3, 1, 2000), compression="gzip")
        self.set_up(keys=self.keys())
        self.make_want(recording, 41)
        shutil.copy(self.want, self.part)
        with h5py.File(self.part, "r+") as file:
            file["fx8/checksum"][8:32] = -1
            # a row of the nearest antennas is the first of three that end a block
            ends = [k + 3 for k, pair in enumerate(averaged.Result(
                self.want).pairs) if pair == (0, 1)]
            file["Data/visdata"][ends[0]:ends[3]] = 0
        good = shutil.copy(recording, self.path("good"))
        with h5py.File(recording) as file:
            chunk = file["voltages"].id.get_chunk_info(20)
        program.overwrite(recording, chunk.byte_offset + 20, bytes(40))
        done = self.correlate(recording, "--resume", environment={
            "FX8_BLOCK_SAMPLES": "2000"})
        self.assert_one_line(done, 1, recording, f"{self.part} keeps 25 dumps")
        self.assertEqual(self.whole(), 25)
        shutil.copy(good, recording)
        self.go_on(recording, 2, 25)
