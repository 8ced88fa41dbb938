# SPDX-License-Identifier: BSD-3-Clause
"""The whole program under the thread checker: reader, compute threads and
writer at work at once, small blocks, both sample types and precisions.

Shows: as thread/planted_race.sh
"""
import os
import signal
import subprocess
import time

import numpy as np

import oracle
import program
import tap


class Pipeline(program.Case):
    """A race makes the program exit 66 with a report."""

    def scene(self, is_complex, n_samples=60_000):
        generator = np.random.default_rng(191)
        samples = generator.integers(-60, 60, (5, 2, n_samples)).astype(float)
        if is_complex:
            samples = samples + 1j * samples[::-1]
        return program.Scene(samples, missing=[(1, -1, 9000, 300)])

    def test_no_race_is_reported(self):
        for is_complex in (True, False):
            for precision in ("int8", "fp32"):
                for size in (1000, 17_000):
                    with self.subTest(precision=precision, size=size):
                        got = self.correlate(
                            self.scene(is_complex),
                            oracle.Setup(24, 0.004, precision=precision),
                            extra={"correlator.threads": 4}, environment={
                                "FX8_BLOCK_SAMPLES": str(size)})
                        self.assertGreater(got.visibilities.shape[0], 5)

    def test_packed_chunks_are_unpacked_beside_the_rest(self):
        # reads that end within chunks, which are kept for the next
        path = self.write(self.scene(True), chunks=(2, 1, 4096),
                          compression="gzip", shuffle=True, fletcher32=True)
        got = self.fx8(path, oracle.Setup(24, 0.004, precision="int8"),
                       {"correlator.threads": 4},
                       environment={"FX8_BLOCK_SAMPLES": "5000"})
        self.assertGreater(got.visibilities.shape[0], 5)

    def test_both_precisions_at_once(self):
        path = self.write(self.scene(True))
        config = self.ini(
            oracle.Setup(24, 0.004, precision="int8"),
            {"correlator.precision": "both", "correlator.threads": 4,
             "postprocess.quicklook": self.path("quick.h5"),
             "postprocess.math": "fast"}, name="both.ini")
        done = program.run("correlate", config, path, "-o",
                           self.path("out.uvh5"), "--quiet")
        self.assertNotIn("ThreadSanitizer", done.stderr)
        self.assertIn(done.returncode, (0, 3), done.stderr)

    def test_a_signal_in_the_middle(self):
        path = self.write(self.scene(True, 2_000_000))
        config = self.ini(
            oracle.Setup(24, 0.002, precision="int8"),
            {"correlator.threads": 4, "correlator.kernel": "reference"},
            name="cut.ini")
        process = subprocess.Popen(
            [program.FX8, "correlate", config, path, "-o",
             self.path("out.uvh5"), "--quiet"], stderr=subprocess.PIPE,
            text=True)
        while not os.path.exists(self.path("out.uvh5.part")):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=100)
        self.assertNotIn("ThreadSanitizer", err)
        self.assertEqual(process.returncode, 130, err)

    def test_a_recording_that_breaks_off(self):
        # the reader fails while the other threads are at work
        path = self.write(self.scene(True), "whole.h5", chunks=(5, 2, 5000))
        with open(path, "r+b") as file:
            file.truncate(400_000)
        done = program.run("correlate", "config/ready/demo.ini", path, "-o",
                           self.path("out.uvh5"), "--quiet")
        self.assertNotIn("ThreadSanitizer", done.stderr)
        self.assertIn(done.returncode, (1, 2), done.stderr)


if __name__ == "__main__":
    tap.main()
