# SPDX-License-Identifier: BSD-3-Clause
"""Each call of the CUDA runtime fails once, in a separate run: one error line,
exit 1, nothing under the final name, nothing left on a device.

Shows (devices, calls that fail): every function of the CUDA runtime and one
    call in 31 (`FX8_LONG=1`: every call) fails in turn, and each failure is
    reported
Within: one line, exit 1, nothing under the final name, nothing left on a
    device; a failing call that only frees something changes no result
"""
import concurrent.futures
import os
import unittest

import h5py
import numpy as np

import oracle
import program

# Calls that free something: they return the error of earlier work, which is
# already reported.
RELEASES = ("cudaFree", "cudaFreeHost", "cudaStreamDestroy", "cudaEventDestroy",
            "cufftDestroy")

# Reported time of every kernel trial. One round suffices, so that choosing by
# time always makes the same calls.
ELAPSED_MS = 5


# Skips the trial against the CPU engine.
NO_TRIAL = {"FX8_CUDA_TRIAL_MS": "0"}


class BadDevice(program.Job):
    """A tiny job, repeated."""

    environment = NO_TRIAL

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(4, 0.002, precision="int8", taps=2),
                       {"correlator.backend": "cuda", "correlator.threads": 1,
                        "correlator.precision": "both"})
        self.tiny = self.recording(n_samples=5000)

    def run_failing(self, number, n_devices, *arguments):
        """Make call `number` fail; returns the run, its report and its files."""
        folder = self.path(f"{n_devices}.{number}")
        os.mkdir(folder)
        report = self.path(f"report.{n_devices}.{number}")
        done = program.run(
            "correlate", self.config, self.tiny, "-o",
            os.path.join(folder, "out.uvh5"), "--quiet", "--set",
            f"postprocess.quicklook={folder}/quick.h5", "--set",
            "postprocess.math=fast", *arguments,
            environment={**self.environment, **program.devices(
                n_devices, fail=number, report=report,
                elapsed_ms=ELAPSED_MS)})
        with open(report, encoding="ascii") as file:
            words = dict(line.split(None, 1) for line in file)
        return done, words, sorted(os.listdir(folder)), folder

    @staticmethod
    def values(folder, name):
        """Visibilities of a result, coherences of the quick-look."""
        path = os.path.join(folder, name)
        if name != "quick.h5":
            return program.read(path).visibilities
        with h5py.File(path, "r") as file:
            return file["coherence"][()]

    def check(self, n_devices, *arguments, step=1):
        done, words, names, folder = self.run_failing(0, n_devices, *arguments)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertIn("quick.h5", names)
        wanted = [self.values(folder, name) for name in names]
        n_calls = int(words["calls"])
        self.assertGreater(n_calls, 100)
        with concurrent.futures.ThreadPoolExecutor(
                len(os.sched_getaffinity(0))) as pool:
            runs = list(pool.map(
                lambda n: self.run_failing(n, n_devices, *arguments),
                sorted({*range(1, n_calls + 1, step),
                        *map(int, words["kinds"].split())})))
        refused = [n for n, run in enumerate(runs) if run[0].returncode == 1]
        # after the last call that matters, and after a trial, a device is only
        # freed: wait for its four streams, make it current
        late = []
        for number, (done, words, names, folder) in enumerate(runs):
            what = f"{number + 1}: {words['failed']}: {done.stderr}"
            self.assertEqual(int(words["live"]), 0, what)
            if done.returncode == 1:
                self.assert_one_line(done, 1, "cuda: ")
                kept = program.kept_dumps(done.stderr)
                self.assertEqual(
                    sorted(os.path.basename(part) + more for part in kept
                           for more in ("", ".undo")), sorted(names), what)
                continue
            self.assertIn(done.returncode, (0, 3), what)
            failed = words["failed"].strip()
            # this call only clears the error left by a "not yet" answer
            if failed == "cudaGetLastError" and number < refused[-1]:
                continue
            if failed not in RELEASES:
                if self.environment is NO_TRIAL:
                    self.assertGreater(number, refused[-1], what)
                late.append(failed)
            for name, values in zip(names, wanted, strict=True):
                np.testing.assert_array_equal(self.values(folder, name),
                                              values)
        n_closed = n_devices * (1 if self.environment is NO_TRIAL else 2)
        if step == 1:
            self.assertEqual(sorted(late), n_closed * ["cudaGetLastError"]
                             + 2 * n_closed * ["cudaSetDevice"]
                             + 4 * n_closed * ["cudaStreamSynchronize"])
        else:
            self.assertLessEqual(len(late), 7 * n_closed)
        self.assertGreater(len(refused), n_calls // step // 2)

    def test_every_call(self):
        self.check(1, "--set", "correlator.kernel=dp4a-16",
                   step=1 if program.LONG else 31)

    def test_calls_of_a_trial(self):
        self.environment = {}
        self.check(1, "--set", "correlator.kernel=dp4a-16",
                   step=1 if program.LONG else 149)

    @unittest.skipUnless(program.LONG, "FX8_LONG=1: kernels chosen by time")
    def test_every_call_of_a_choice(self):
        self.check(1)

    @unittest.skipUnless(program.LONG, "FX8_LONG=1: three devices")
    def test_every_call_on_three_devices(self):
        """The calls of a choice (155 more on each device) fail in the test
        above."""
        self.check(3, "--set", "correlator.device=0,1,2", "--set",
                   "correlator.kernel=dp4a-16")

    def test_out_of_memory_in_figures(self):
        done = self.correlate(
            self.tiny, "--set", "channelizer.channels=4096", "--set",
            "channelizer.taps=1", "--set", "correlator.integration_time_s=all",
            environment=program.devices(memory_mib=1))
        self.assert_refused(done, 1, "cuda: device 0 (pretend device 0): ",
                            " of memory free: expected ",
                            "blocks of 1 spectrum")
