# SPDX-License-Identifier: BSD-3-Clause
"""Results larger than memory: within correlator.memory_limit_mib, dumps are
summed, averaged and written in slices.

Shows (results, larger than memory): a run within a limit that a whole dump
    exceeds writes the file of a run without one: every dataset and attribute,
    INT8, FP32 and bounds, uncompressed and packed, with averages; killed between
    two writes, on a full disk, or stopped, it is completed by `--resume`, with
    or without the limit; the peak memory of the process stays within the
    limit, where slices are the smallest and where dumps just fit, for 512
    inputs x 16 channels (`FX8_LONG=1`: 2,048), and a result larger than the
    limit; what needs whole dumps is refused by its key
Within: equal
"""
import os
import re
import resource

import h5py
import numpy as np

import oracle
import program
import same_file
from resumed import ResumedJob

# So many kills between writes to a file, and to a packed one, which takes longer.
STEPS, PACKED_STEPS = (100, 100) if program.LONG else (19, 6)

# 16 channels of these inputs, in dumps of 256 or 2,816 spectra; recordings of 67
# and 738 MB.
N_INPUTS, N_SAMPLES, N_DUMPS = ((2048, 180_224, 4) if program.LONG
                                else (512, 65_536, 16))

LEAST = re.compile(r"expected at least (\d+) MiB")
SLICES = re.compile(r"each dump is written in (\d+) slices: more memory would "
                   "allow whole ones")


def limit(mib):
    return "--set", f"correlator.memory_limit_mib={mib}"


class Slices(ResumedJob):
    """A job of 24 antennas, whose dumps take 2 MiB and more."""

    N_ANTENNAS, N_SAMPLES = 24, 9_000

    def setUp(self):
        super().setUp()
        samples = program.noise(401, self.N_ANTENNAS, 2, self.N_SAMPLES)
        samples[5, 1] = 0
        samples[7, 0, :3_000] = 0
        missing = [(-1, -1, 4_100, 300), (3, 0, 1_000, 2_000)]
        self.input = self.write(program.Scene(samples, missing=missing),
                                "in.h5", axes=("time", "antenna", "pol"))

    def job(self, keys=None, outputs=("out.uvh5",), setup=None):
        # packing takes most of the time
        channels = 32 if "output.compression" in (keys or {}) else 64
        super().job(keys, outputs, setup or oracle.Setup(
            channels, 0.00128, taps=4, precision="int8", last_dump_min=0.5))
        self.least = self.refused(1)

    def refused(self, mib, *extra):
        """The smallest sufficient limit, as a lower one is refused with."""
        done = self.correlate(self.input, "--force", *limit(mib), *extra)
        self.assert_one_line(done, 2, f"--set: correlator.memory_limit_mib: "
                             f"{mib}: expected at least ")
        return int(LEAST.search(done.stderr).group(1))

    def limited(self, *extra):
        """A run within the smallest limit; returns its output."""
        self.clear()
        return self.well(*self.words(self.input, *limit(self.least),
                                     *extra)).stdout


class Equal(Slices):
    """Results within a limit, and without."""

    def check_job(self, keys=None, outputs=("out.uvh5",), setup=None):
        self.job(keys, outputs, setup)
        said = self.limited()
        self.assertGreater(int(SLICES.search(said).group(1)), 1, said)
        self.check()
        return said

    def test_one_precision(self):
        for keys in ({"correlator.precision": "int8"},
                     {"correlator.precision": "fp32"},
                     {"output.channel_average": 4,
                      "correlator.spot_check": "yes"},
                     {"output.compression": "gzip",
                      "correlator.threads": 2}):
            with self.subTest(**keys):
                self.check_job(keys)

    def test_two_precisions(self):
        """The comparison, which cannot watch whole dumps, reads the files."""
        words = {"correlator.precision": "both"}
        outputs = ("out.int8.uvh5", "out.fp32.uvh5")
        self.job(words, outputs)
        self.clear()
        live = self.well(*self.words(self.input)).stdout
        said = self.check_job(words, outputs)
        start = "  cells  amplitude"
        self.assertIn(start, live)
        self.assertEqual(live[live.index(start):], said[said.index(start):])

    def test_bounds(self):
        self.check_job({"correlator.precision": "interval"},
                       ("out.down.uvh5", "out.up.uvh5"))

    def test_any_limit(self):
        """As large as the limit allows: fewer slices with more memory."""
        self.job({"correlator.precision": "fp32"})
        numbers = []
        # whole dumps: two more, one written and one that waits
        for mib in range(self.least, self.least + 8, 2):
            self.clear()
            said = self.well(*self.words(self.input, *limit(mib))).stdout
            found = SLICES.search(said)
            numbers.append(int(found.group(1)) if found else 1)
            self.check()
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        self.assertGreater(numbers[0], 1)
        self.assertEqual(numbers[-1], 1)

    def test_dry_run(self):
        self.job()
        run = self.limited()
        self.clear()
        dry = self.well(*self.words(self.input, "--dry-run",
                                    *limit(self.least))).stdout
        self.assertTrue(run.startswith(dry.split("time  ")[0]), (dry, run))
        self.assertRegex(dry, SLICES)
        self.assertFalse(os.path.exists(self.output))


class Ends(Slices):
    """Runs that end while slices of a dump are written: each dataset of a dump
    that is not packed has three chunks, two of which HDF5 may hold back."""

    N_ANTENNAS, N_SAMPLES = 96, 4_500

    def is_partly_written(self, dump):
        """Whether a dump that is not finished has some of its baselines."""
        with h5py.File(self.part, "r") as file:
            values = file["Data/visdata"]
            n = values.shape[0] // self.n_dumps
            first, _, last = np.split(values[dump * n:(dump + 1) * n], 3)
            return first.any() and not last.any()

    def test_killed_between_writes(self):
        for keys, begin, steps in (
                ({}, 0.6, STEPS),
                ({"output.compression": "gzip"}, 0, PACKED_STEPS)):
            self.job(keys)
            kept, n_partly = set(), 0
            words = limit(self.least)
            self.clear()
            writes = self.count_writes(*words)
            first = int(begin * writes)
            for write in {*range(first, writes, (writes - first) // steps),
                          writes - 1}:
                self.clear()
                done = self.correlate(
                    self.input, "--quiet", *words,
                    environment=program.faulty("kill", self.part, write))
                self.assertEqual(done.returncode, -9)
                finished = self.finished()
                if finished is not None and finished < self.n_dumps:
                    n_partly += self.is_partly_written(finished)
                self.assertEqual(self.resume(*words), finished or 0)
                self.check()
                kept.add(finished)
            self.assertGreater(len(kept), 2)
            self.assertTrue(n_partly > 0 or keys)
            print(f"# {keys}: {writes} writes, kept {sorted(kept - {None})}, "
                  f"{n_partly} times a slice of the next dump")

    def kill_midway(self, *words):
        """Kill a run that has finished some dumps; returns their number."""
        finished, write = None, 64
        while not finished:
            write += 16
            self.clear()
            done = self.correlate(self.input, "--quiet", *words,
                                  environment=program.faulty(
                                      "kill", self.part, write))
            self.assertEqual(done.returncode, -9)
            finished = self.finished()
        self.assertLess(finished, self.n_dumps)
        return finished

    def test_resumed_with_another_limit(self):
        """What one run has begun in slices, another ends in whole dumps, and the
        other way round."""
        self.job()
        for first, then in ((limit(self.least), ()), ((), limit(self.least))):
            finished = self.kill_midway(*first)
            self.assertEqual(self.resume(*then), finished)
            self.check()

    def test_damaged_while_resting(self):
        """A finished dump that has changed since is computed again, where nothing
        says that the power did not fail: it is read in pieces for that."""
        self.job()
        finished = self.kill_midway(*limit(self.least))
        os.remove(self.undo)
        with h5py.File(self.part, "r+") as file:
            n = file["Data/visdata"].shape[0] // self.n_dumps
            file["Data/flags"][n - 1, 0, 0] ^= True
        self.assertEqual(self.resume(*limit(self.least)), finished - 1)
        self.check()

    def test_full_disk(self):
        self.job({"output.compression": "gzip"})
        size = os.path.getsize(self.want[self.output])
        for share in (0.3, 0.7):
            self.clear()
            most = int(share * size)
            done = self.correlate(
                self.input, "--quiet", *limit(self.least),
                preexec_fn=lambda most=most: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (most, most)))
            self.assert_one_line(done, 1, "cannot write")
            self.resume(*limit(self.least))
            self.check()


class Refused(Slices):
    """What needs whole dumps says so; it needs more memory."""

    def test_quicklook(self):
        self.job()
        look = "--set", f"postprocess.quicklook={self.look}"
        done = self.correlate(self.input, "--force", *limit(self.least), *look)
        self.assert_one_line(
            done, 2, "correlator.memory_limit_mib", "expected at least ",
            "; less without postprocess.quicklook, which takes whole dumps")
        more = self.refused(self.least, *look)
        self.assertGreater(more, self.least)
        self.well(*self.words(self.input, "--force", *limit(more), *look))

    def test_phase_centres(self):
        self.job()
        centres = self.save("centres.csv", "name,ra_deg,dec_deg\n"
                            "A,60,-27\nB,80,-30\n")
        done = self.correlate(
            self.input, "--force", *limit(self.least), "--set",
            "delay.mode=track", "--set", f"delay.phase_centers={centres}",
            "--set", "delay.dut1_s=0")
        self.assert_one_line(done, 2, "correlator.memory_limit_mib",
                             ", for each of the phase centres, which share "
                             "the limit")

    def test_cards(self):
        self.configure(oracle.Setup(64, 0.00128, precision="int8"),
                       {"correlator.backend": "cuda",
                        "correlator.kernel": "dp4a-16"})
        done = self.correlate(self.input, *limit(1),
                              environment=program.devices(memory_mib=500))
        self.assert_one_line(
            done, 2, "correlator.memory_limit_mib",
            "; the CPU takes less: it can deliver slices of dumps")

    def test_chunks_of_all_baselines(self):
        """157 antennas: 12,403 = 79 x 157 baselines, which no chunk of 16
        channels x 4 products divides; it then has some channels of all."""
        recording = self.write(program.Scene(program.noise(9, 157, 2, 1_500)),
                               "prime.h5", axes=("time", "antenna", "pol"))
        self.configure(oracle.Setup(16, "all", taps=1, precision="fp32"))
        done = self.correlate(recording, *limit(1))
        self.assert_one_line(
            done, 2, "correlator.memory_limit_mib", "; less with another "
            "number of antennas: chunks of the result cannot be smaller than a "
            "dump")
        whole = int(LEAST.search(done.stderr).group(1))
        said = self.well(*self.words(recording, *limit(whole))).stdout
        self.assertIsNone(SLICES.search(said))


class Memory(program.Job):
    """Peak memory within the limit, whatever the size of recording and result."""

    def recording(self):
        """Noise of many inputs, written piece by piece into a small file; in
        the order of recorders, which is read in small blocks."""
        axes = "time", "antenna", "pol"
        n_antennas, n_piece = N_INPUTS // 2, 2048
        path = self.write(program.Scene(
            program.noise(402, n_antennas, 2, 64),
            positions=np.arange(3 * n_antennas).reshape(-1, 3)), axes=axes)
        values = np.random.default_rng(403).integers(
            -60, 60, (n_piece, n_antennas, 2, 2), "i1").view(
                [("r", "i1"), ("i", "i1")])[..., 0]
        with h5py.File(path, "r+") as file:
            del file["voltages"]
            dataset = file.create_dataset(
                "voltages", (N_SAMPLES, n_antennas, 2), values.dtype)
            for dim, label in zip(dataset.dims, axes):
                dim.label = label
            for first in range(0, N_SAMPLES, n_piece):
                dataset[first:first + n_piece] = values
        return path

    def test_peak(self):
        recording = self.recording()
        self.configure(oracle.Setup(16, N_SAMPLES / N_DUMPS / 1e6, taps=1,
                                    precision="int8"))
        for precision in "int8", "fp32":
            words = self.words(recording, "--force", "--set",
                               f"correlator.precision={precision}")
            least = int(LEAST.search(program.run(
                *words, *limit(1)).stderr).group(1))
            slices, n_slices = self.peak_mib(*words, *limit(least))
            print(f"# {N_INPUTS} inputs, {precision}: {slices} MiB within "
                  f"{least} MiB, {n_slices} slices")
            self.assertGreater(os.path.getsize(self.output), least << 20)
            self.assertGreater(n_slices, 40)
            self.assertLess(slices, least)
        fits = self.whole_mib(least, *words)
        whole, n_whole = self.peak_mib(*words, *limit(fits))
        print(f"# {precision}: {whole} MiB within {fits} MiB, whole")
        self.assertEqual(n_whole, 1)
        self.assertLess(whole, fits)

    def whole_mib(self, least, *words):
        """The smallest limit, within 4 MiB, with which dumps are written whole:
        a dry run takes a second."""
        beyond = 8 * least
        while beyond - least > 4:
            mib = (least + beyond) // 2
            said = self.well(*words, "--dry-run", *limit(mib)).stdout
            least, beyond = ((mib, beyond) if SLICES.search(said)
                             else (least, mib))
        return beyond

    def peak_mib(self, *words):
        """The peak of a run, and its number of slices."""
        said = self.well(*words, timeout=600).stdout
        slices = SLICES.search(said)
        return (float(re.search(r"^memory +([0-9.]+) MiB at most", said,
                                re.MULTILINE).group(1)),
                int(slices.group(1)) if slices else 1)
