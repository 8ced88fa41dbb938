# SPDX-License-Identifier: BSD-3-Clause
"""Several ranks of MPI, started by mpirun on this machine, against one process.

Shows (results, ranks of MPI): 1, 2, 3, 5 and 8 ranks on one job write what one
    process writes, in every dataset and attribute but the date and the command
    of the history: INT8, FP32, both and bounds; compressed or not; large dumps
    in chunks of their own; a shorter last dump; missing data and markers; inputs
    that begin late, in another rank's dumps, or never; tracking and phase
    centres; fewer dumps than ranks, which share their segments; the
    quick-look; a device for each rank; clocks that differ; 64 ranks
    (FX8_LONG=1: all of these together). Rank 0 alone shows progress
Within: to the bit
In: scenario/ranks_ends.py
"""
import datetime
import fcntl
import itertools
import os
import re
import shutil
import subprocess
import time
import unittest.mock

import h5py
import numpy as np

import oracle
import program
from ranks_job import LAUNCHED, Ranks

TRACKING = {"delay.mode": "track", "delay.phase_center_ra_deg": 201.4,
            "delay.phase_center_dec_deg": -43.0, "delay.dut1_s": -0.1}
FLAGS = {"flag.clip_level": 75, "flag.clip_margin": 90, "flag.min_weight": 0.6,
         "flag.sk_false_alarm": 0.05,
         "flag.channels": "149.8e6-150e6"}


class Equal(Ranks):
    """Results of several ranks."""

    def test_equal_to_one_process(self):
        recording = self.eventful()
        for precision, compression, counts, asked in (
                ("int8", "none", (1, 3, 8), "--mpi"),
                ("both", "gzip", (2, 5), "--mpi"),
                ("interval", "none", (2,), "--set=correlator.ranks=mpi")):
            self.set_up(precision, {"output.compression": compression,
                                    **FLAGS})
            self.check(recording, counts, asked=asked)

    def test_tracking_and_phase_centers(self):
        recording = self.eventful()
        self.set_up(keys=TRACKING)
        self.check(recording, (3,))
        centers = self.save("centers.csv", "name,ra_deg,dec_deg\n"
                            "a,201.4,-43.0\nb,187.7,12.4\n")
        self.set_up("both", {"delay.mode": "track", "delay.dut1_s": -0.1,
                             "delay.phase_centers": centers})
        self.check(recording, (4,))

    def test_shared_dumps(self):
        """Fewer dumps than ranks, of several segments: ranks share them."""
        recording = self.segments()
        for precision, compression, counts in (
                ("int8", "none", (3,)), ("both", "gzip", (5,)),
                ("fp32", "none", (3, 8)), ("interval", "none", (4,))):
            self.set_up(precision, {"output.compression": compression,
                                    "quantizer.dither": "yes", **FLAGS},
                        **self.SEGMENTS)
            self.check(recording, counts)

    def test_segments_are_added_in_order(self):
        """The sum of the second is small, those beside it are large and cancel:
        in another order fewer of its bits would be lost."""
        n = 16 * 8192
        loud = np.where(program.noise(5, 1, 1, n)[0, 0].real < 0, -127, 127)
        samples = np.zeros((2, 1, 3 * n), complex)
        samples[:, 0, :n] = loud * (1 + 1j)
        samples[:, 0, 2 * n:] = samples[:, 0, :n]
        samples[1, 0, 2 * n:] *= -1
        samples[0, 0, n + 4000] = samples[1, 0, n + 4001] = 1
        recording = self.write(program.Scene(samples))
        self.set_up("both", dump_s=3 * n / 1e6, method="fft")
        self.check(recording, (2, 3))

    def test_shared_dumps_of_phase_centers(self):
        recording = self.segments()
        centers = self.save("centers.csv", "name,ra_deg,dec_deg\n"
                            "a,201.4,-43.0\nb,187.7,12.4\n")
        self.set_up("both", {"delay.mode": "track", "delay.dut1_s": -0.1,
                             "delay.phase_centers": centers}, **self.SEGMENTS)
        self.check(recording, (2,))

    def test_quicklook(self):
        """Of dumps of several ranks, or shared by them, and after --resume."""
        look = self.path("look.h5")
        recording = self.eventful()
        for precision, keys, counts in (
                ("both", {"postprocess.math": "fast"}, (1, 3)),
                ("fp32", {"output.compression": "gzip"}, (2,))):
            self.set_up(precision, {"postprocess.quicklook": look, **keys})
            self.check(recording, counts)
        self.set_up("int8", {"postprocess.quicklook": look}, **self.SEGMENTS)
        self.check(self.segments(), (3,))

    def test_64_ranks(self):
        """Far more ranks than processors, and than segments."""
        if not program.LONG:
            self.skipTest("long: FX8_LONG=1")
        self.set_up("both", **self.SEGMENTS)
        self.check(self.segments(), (64,))

    def test_summary_of_shared_dumps(self):
        self.set_up("fp32", **self.SEGMENTS)
        done = self.mpirun(4, *self.words(self.segments(), "--mpi"))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.findall(r"^rank (\d) +([\w, ]+):", done.stdout, re.MULTILINE)
        self.assertEqual(found, [("0", "2 dumps, 2 segments"),
                                 ("1", "1 segment"), ("2", "1 segment"),
                                 ("3", "1 segment")])
        self.assertNotIn("warning", done.stderr)

    def test_every_combination(self):
        if not program.LONG:
            self.skipTest("long: FX8_LONG=1")
        for is_complex, precision, compression, keys in itertools.product(
                (True, False), ("int8", "fp32", "both", "interval"),
                ("none", "gzip"), ({}, TRACKING)):
            keys = {"output.compression": compression, **keys}
            recording = self.eventful(is_complex=is_complex)
            self.set_up(precision, keys)
            self.check(recording, (1, 2, 3, 5, 8))
            os.remove(recording)
            recording = self.segments(is_complex=is_complex)
            self.set_up(precision, keys, **self.SEGMENTS)
            self.check(recording, (1, 2, 3, 5, 8))
            os.remove(recording)

    def test_chunks_of_large_dumps(self):
        """Dumps of several chunks; so few spectra that the gains are known at
        the end of the recording."""
        recording = self.write(program.Scene(program.noise(7, 24, 2, 8192)))
        self.configure(oracle.Setup(512, 0.002048, taps=2, precision="int8"),
                       {"correlator.threads": 1})
        self.check(recording, (3,))

    def test_files_that_mpi_locks(self):
        """As Open MPI and MPICH do on NFS: rank 0 has locked them already."""
        self.set_up()
        self.environment["OMPI_MCA_fs_ufs_lock_algorithm"] = "2"
        self.environment["ROMIO_FSTYPE_FORCE"] = "nfs:"
        self.check(self.eventful(), (2,))

    def test_summary_names_every_rank(self):
        self.set_up()
        done = self.mpirun(3, *self.words(self.eventful(), "--mpi"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("result "), 1)
        found = re.findall(r"^rank (\d) +(\d) dumps[\w, ]*: read [\d.]+, compute "
                           r"[\d.]+, write [\d.]+, wait [\d.]+ s$", done.stdout,
                           re.MULTILINE)
        self.assertEqual(found, [("0", "2"), ("1", "2"), ("2", "3")])
        self.assertNotIn("warning", done.stderr)

    def test_progress_comes_from_rank_0(self):
        """Every read of both ranks takes a second: the run is longer than the
        two seconds in which nothing is shown, and than ten only on a machine
        that is busy."""
        recording = self.write(program.Scene(program.noise(29, 6, 2, 96_000)),
                               axes=("time", "antenna", "pol"))
        self.set_up()
        self.environment.update(program.faulty("slow", recording, at=0),
                                FX8_BLOCK_SAMPLES="12000")
        begin = time.monotonic()
        done = self.mpirun(2, *self.words(recording, "--mpi"))
        most = 1 + (time.monotonic() - begin) // 10
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = re.findall(r"^fx8: correlate +\d+ %  dump \d+/48  .* left$",
                           done.stderr, re.MULTILINE)
        self.assertTrue(1 <= len(shown) <= most, done.stderr)
        self.assertEqual(done.stderr.count("left"), len(shown))

    def test_a_device_for_each_rank(self):
        """To the bit what one process writes with the first of two; a rank that
        finds too little memory names its own."""
        # one time for all kernels: the same is chosen each time
        machine = {**program.devices(2, elapsed_ms=5), "FX8_CUDA_TRIAL_MS": "0"}
        recording = self.eventful()
        self.set_up(keys={"correlator.backend": "cuda"})
        self.environment.update(machine)
        with unittest.mock.patch.dict(os.environ, machine):
            self.check(recording, (2,))
        words = self.words(recording, "--mpi", *(
            f"--set={name}" for name in (
                "channelizer.channels=4096", "channelizer.taps=1",
                "correlator.integration_time_s=all")))
        for rank in 0, 1:
            done = self.launch(self.of_whom_one(
                2, rank, words, {"FX8_HARNESS_MEMORY_MIB": 1}))
            self.assert_one_error(done, 1, f"cuda: device {rank} (pretend "
                                  f"device {rank}): ", "of memory free")
            self.assertEqual("rank 1: " in done.stderr, rank == 1)

    def test_kernels_that_differ(self):
        """As on unlike processors: here one rank has a device."""
        machine = {**program.devices(1), "FX8_CUDA_TRIAL_MS": "0"}
        self.set_up(keys={"correlator.backend": "auto"})
        recording = self.eventful()
        done = self.launch(self.of_whom_one(
            2, 1, self.words(recording, "--mpi"), machine))
        self.assert_one_error(done, 2, "rank 1: kernel: ", "as on rank 0: "
                              "correlator.backend, correlator.kernel and "
                              "--fft-plan")
        self.assertEqual(self.files(), [])

    def test_clocks_that_differ(self):
        """Rank 0's is a day ahead, and so is the date in the history; others go
        on with a .part of tomorrow."""
        recording, part = self.eventful(), self.output + ".part"
        self.set_up()
        self.keep_want(recording)
        done = self.launch(self.of_whom_one(
            2, 0, self.words(recording, "--mpi"),
            program.faulty("tomorrow", "")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(self.output, self.path("want"))
        then, now = (datetime.datetime.fromisoformat(re.search(
            r"written ([\dT:-]+)", program.read(path).history)[1])
            for path in (self.output, self.path("want")))
        self.assertGreaterEqual(then - now, datetime.timedelta(days=1))
        os.rename(self.output, part)
        with h5py.File(part, "r+") as file:
            file["fx8/checksum"][3:] = -1
            file["Data/visdata"][-1] = 0
        self.go_on(recording, 2, 3)

    def test_more_ranks_than_dumps(self):
        self.set_up()
        done = self.mpirun(9, *self.words(self.eventful(), "--mpi"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), 1)
        self.assertIn("9 ranks for 7 dumps: 2 of them have nothing to do",
                      done.stderr)

    def test_gains_come_from_rank_0(self):
        """Other ranks read nothing again when all inputs begin at once."""
        n = 14_000
        recording = self.write(program.Scene(program.noise(5, 2, 1, n)))
        self.set_up()
        done = self.mpirun(2, *self.words(recording, "--mpi"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"rank 0 +3 dumps, levels set: read")
        self.assertRegex(done.stdout, r"rank 1 +4 dumps: read")


class Launchers(program.Job):
    """How --mpi finds that it cannot work."""

    def run_launched(self, *options, **variables):
        """Run as a launcher would that leaves these variables."""
        environment = {name: value for name, value in os.environ.items()
                       if not LAUNCHED.match(name)}
        return subprocess.run(
            [program.FX8, *self.words(self.recording(), *options)],
            capture_output=True, text=True, timeout=60,
            env={**environment, **variables})

    def refused(self, code, *mentions, **variables):
        self.assert_refused(self.run_launched("--mpi", **variables), code,
                            *mentions)

    def test_copies_without_mpi(self):
        """Each would write the same file."""
        with open(f"{self.output}.part", "wb") as part:
            part.write(b"data")
            part.flush()
            fcntl.lockf(part, fcntl.LOCK_EX)
            hint = ("; mpirun or srun has started this 4 times: --mpi divides "
                    "one run among them")
            for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                             "SLURM_STEP_NUM_TASKS"):
                done = self.run_launched(**{variable: "4"})
                self.assert_one_line(done, 2, "out.uvh5.part: locked: ", hint)
            for variables in ({}, {"OMPI_COMM_WORLD_SIZE": "1"},
                              {"SLURM_NTASKS": "4"}):
                done = self.run_launched(**variables)
                self.assert_one_line(done, 2, "out.uvh5.part: locked: ")
                self.assertNotIn("--mpi", done.stderr)
        os.remove(f"{self.output}.part")

    def test_a_wrong_command_line_is_reported_once(self):
        for variable in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                         "SLURM_PROCID"):
            done = self.run_launched("--mpi", "--foo", **{variable: "0"})
            self.assert_one_line(done, 2, "--foo")
            done = self.run_launched("--mpi", "--foo", **{variable: "2"})
            self.assertEqual((done.returncode, done.stderr), (2, ""))
            # copies that are no ranks have command lines of their own
            done = self.run_launched("--foo", **{variable: "2"})
            self.assert_one_line(done, 2, "--foo")

    def test_no_launcher(self):
        self.refused(2, "--mpi: no launcher", "mpirun fx8", "srun fx8")
        self.refused(2, "--mpi: no launcher", SLURM_NTASKS="4",
                     SLURM_PROCID="0")

    def test_copies_that_cannot_meet(self):
        self.refused(2, "--mpi: srun has started 4 processes that cannot find "
                     "one another", "srun --mpi=pmix", SLURM_STEP_NUM_TASKS="4",
                     SLURM_PROCID="1")

    def test_no_plugin(self):
        self.refused(1, "mpi: plug-in missing: there is no /nowhere.so",
                     OMPI_COMM_WORLD_SIZE="2", FX8_MPI_PLUGIN="/nowhere.so")
        lonely = shutil.copy(program.FX8, self.path("fx8"))
        environment = {**os.environ, "OMPI_COMM_WORLD_SIZE": "2"}
        environment.pop("FX8_MPI_PLUGIN", None)
        done = subprocess.run(
            [lonely, *self.words(self.recording(), "--mpi")],
            capture_output=True, text=True, timeout=60, env=environment)
        self.assert_refused(done, 1, "--mpi: mpi: plug-in missing: fx8-mpi.so",
                            "libopenmpi-dev")
