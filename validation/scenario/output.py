# SPDX-License-Identifier: BSD-3-Clause
"""The output file: existing, locked, unwritable, no room, cut short by a
signal.  Whatever stands under the final name is whole."""
import fcntl
import os
import resource
import signal
import subprocess
import tempfile
import time

import h5py
import numpy as np

import oracle
import program
import refusal
import tap


class Output(refusal.Refusal):
    """Where the result goes and what happens when it cannot."""

    def test_existing_output_is_refused_before_any_work(self):
        with open(self.output, "w", encoding="ascii") as file:
            file.write("precious")
        done = self.correlate(self.path("absent.h5"))
        self.assertIn(done.returncode, (1, 2))
        done = self.correlate(self.recording())
        self.assert_one_line(done, 2, "out.uvh5", "--force")
        with open(self.output, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_force_replaces(self):
        with open(self.output, "w", encoding="ascii") as file:
            file.write("worthless")
        done = self.correlate(self.recording(), "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(program.read(self.output).header["Nfreqs"], 16)

    def test_failed_force_keeps_the_old_file(self):
        with open(self.output, "w", encoding="ascii") as file:
            file.write("precious")
        done = self.correlate(self.path("absent.h5"), "--force")
        self.assertEqual(done.returncode, 1)
        with open(self.output, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_missing_directory(self):
        self.output = self.path("no/such/folder/out.uvh5")
        done = self.correlate(self.recording())
        self.assertIn(done.returncode, (1, 2))
        self.assert_refused(done, done.returncode, "no/such/folder")

    def test_folder_as_output(self):
        os.mkdir(self.output)
        done = self.correlate(self.recording(), "--force")
        self.assertIn(done.returncode, (1, 2))
        self.assert_one_line(done, done.returncode, "out.uvh5")
        self.assertTrue(os.path.isdir(self.output))
        self.assertFalse(os.path.exists(self.output + ".part"))

    def test_unwritable_directory(self):
        recording = self.recording()
        folder = self.path("closed")
        os.mkdir(folder, 0o555)
        self.output = os.path.join(folder, "out.uvh5")
        done = self.correlate(recording, as_nobody=True)
        self.assertIn(done.returncode, (1, 2))
        self.assert_refused(done, done.returncode, "closed")
        self.assertEqual(os.listdir(folder), [])

    def test_input_is_not_overwritten(self):
        recording = self.recording()
        self.output = recording
        before = os.stat(recording).st_size
        done = self.correlate(recording, "--force")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(os.stat(recording).st_size, before)

    def test_left_over_part_is_replaced(self):
        with open(self.output + ".part", "wb") as file:
            file.write(b"left by a kill" * 1000)
        done = self.correlate(self.recording())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.output + ".part"))
        program.read(self.output)


class NoRoom(refusal.Refusal):
    """A write that fails: one line, exit 1, no crash, nothing left."""

    def big(self):
        """Antennas and channels enough for some megabytes of output."""
        generator = np.random.default_rng(171)
        samples = generator.integers(-60, 60, (12, 2, 40_000)) + 1j
        self.write_config(program.ini_of(oracle.Setup(
            64, 0.002, taps=4, precision="int8")))
        return self.write(program.Scene(samples), "big.h5")

    def test_limit_on_file_size(self):
        recording = self.big()
        done = self.correlate(recording)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = os.path.getsize(self.output)
        os.remove(self.output)
        self.assertGreater(whole, 1_000_000)
        # from no room for the header to none for the last dump
        for size in (0, 2000, 20_000, whole // 4, whole // 2, whole - 5000):
            def limit(size=size):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            with self.subTest(size=size, whole=whole):
                done = self.correlate(recording, "--quiet", preexec_fn=limit)
                self.assert_refused(done, 1, "out.uvh5")

    def test_limit_with_the_signal_left_alone(self):
        recording = self.big()

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        done = self.correlate(recording, "--quiet", preexec_fn=limit)
        self.assert_refused(done, 1, "out.uvh5")

    def test_full_disk(self):
        recording = self.big()
        disk = tempfile.mkdtemp(prefix="fx8-disk-")
        self.addCleanup(os.rmdir, disk)
        for size in (40, 400, 1000):
            with self.subTest(size_kib=size):
                mounted = os.geteuid() == 0 and subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", f"size={size}k", "fx8",
                     disk], capture_output=True).returncode == 0
                if not mounted:
                    self.skipTest("needs the right to mount a small disk")
                try:
                    self.output = os.path.join(disk, "out.uvh5")
                    done = self.correlate(recording, "--quiet")
                    self.assert_refused(done, 1, "out.uvh5")
                    self.assertEqual(os.listdir(disk), [])
                finally:
                    subprocess.run(["umount", disk], check=True)


class Interrupted(refusal.Refusal):
    """SIGINT and SIGTERM finish the dump at hand and leave a valid file."""

    def slow(self):
        """A recording that takes a while: many small dumps, one thread."""
        generator = np.random.default_rng(181)
        samples = (generator.integers(-60, 60, (32, 2, 400_000))
                   + 1j * generator.integers(-60, 60, (32, 2, 400_000)))
        self.write_config(program.ini_of(
            oracle.Setup(64, 0.002, taps=8, precision="int8"),
            {"correlator.threads": 1, "correlator.kernel": "reference"}))
        return self.write(program.Scene(samples), "slow.h5",
                          axes=("time", "antenna", "pol"))

    def start(self, recording, *extra):
        process = subprocess.Popen(
            [program.FX8, "correlate", self.config, recording, "-o",
             self.output, "--quiet", *extra], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for_part(self, process, dumps=0.3):
        """Wait until the run is at work on its .part file."""
        for _ in range(2000):
            if os.path.exists(self.output + ".part"):
                time.sleep(dumps)
                return
            if process.poll() is not None:
                break
            time.sleep(0.01)
        self.fail(f"no .part appeared: {process.communicate()[1]}")

    def test_signals_leave_the_finished_dumps(self):
        recording = self.slow()
        want = None
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                process = self.start(recording)
                self.wait_for_part(process)
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, err)
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertFalse(os.path.exists(self.output + ".part"))
                got = program.read(self.output)
                n_dumps = got.visibilities.shape[0]
                self.assertGreater(n_dumps, 0)
                self.assertIn(str(n_dumps), err)
                if want is None:
                    os.rename(self.output, self.path("short.uvh5"))
                    self.correlate(recording, "--set",
                                   "correlator.threads=2")
                    want = program.read(self.output)
                self.assertLess(n_dumps, want.visibilities.shape[0])
                np.testing.assert_array_equal(
                    got.visibilities, want.visibilities[:n_dumps])
                np.testing.assert_array_equal(got.nsamples,
                                              want.nsamples[:n_dumps])
                self.assertEqual(got.header["Nblts"], got.header["Nbls"]
                                 * n_dumps)
                os.remove(self.output)

    def test_second_signal_leaves_nothing_without_a_dump(self):
        recording = self.slow()
        process = self.start(recording, "--set",
                             "correlator.integration_time_s=all")
        self.wait_for_part(process, 0.1)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertFalse(os.path.exists(self.output))
        self.assertFalse(os.path.exists(self.output + ".part"))

    def test_kill_leaves_a_part_that_opens(self):
        recording = self.slow()
        for seconds in (0.5, 2, 8):     # a build with checkers takes longer
            process = self.start(recording)
            self.wait_for_part(process, seconds)
            process.kill()
            process.wait()
            self.assertFalse(os.path.exists(self.output))
            with h5py.File(self.output + ".part", "r") as file:
                weight = file["Data/nsamples"][...]
                flags = file["Data/flags"][...]
            self.assertTrue(flags[weight == 0].all())
            if (weight > 0).any():
                break
        self.assertTrue((weight > 0).any())
        # and the next run takes its place
        done = self.correlate(self.recording())
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_two_runs_on_one_output(self):
        recording = self.slow()
        first = self.start(recording)
        self.wait_for_part(first)
        second = self.correlate(self.recording(), "--quiet")
        self.assert_one_line(second, 2, "out.uvh5")
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
        self.assertEqual(first.returncode, 130)
        self.assertEqual(program.read(self.output).header["Nants_data"], 32)

    def test_part_locked_by_someone_else(self):
        with open(self.output + ".part", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_EX)
            done = self.correlate(self.recording())
            self.assert_one_line(done, 2, "out.uvh5")


if __name__ == "__main__":
    tap.main()
