# SPDX-License-Identifier: BSD-3-Clause
"""The spot check through the program, on a pretend device. In each run another
launch does nothing: a missing correlation ends the run, the error names the
place, and the dump is not written.

Shows: as test_spot.c
"""
import concurrent.futures
import os

import numpy as np

import oracle
import program


class SpotCheck(program.Job):
    """A tiny job: one block a dump."""

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(4, 0.002, precision="int8", taps=2),
                       {"correlator.backend": "cuda", "correlator.threads": 1,
                        "correlator.kernel": "dp4a-16"})
        self.tiny = self.recording(n_samples=7000)

    def run_idle(self, number, spot_check):
        """Run with launch `number` doing nothing; returns the run, its output
        and the numbers of its launches."""
        folder = self.path(f"{spot_check}.{number}")
        os.mkdir(folder)
        output, report = os.path.join(folder, "out.uvh5"), folder + ".report"
        done = program.run(
            "correlate", self.config, self.tiny, "-o", output, "--quiet",
            "--set", f"correlator.spot_check={spot_check}",
            environment={"FX8_CUDA_TRIAL_MS": "0", **program.devices(
                idle=number, report=report, elapsed_ms=5)})
        with open(report, encoding="ascii") as file:
            words = dict(line.split(None, 1) for line in file)
        return done, output, list(map(int, words["launches"].split()))

    def run_all(self, spot_check):
        """The right result, and a run for each launch after the first third,
        where the second dump begins. Leaves out runs in which the kernel failed
        its trial."""
        done, output, launches = self.run_idle(0, spot_check)
        self.assertEqual(done.returncode, 0, done.stderr)
        with concurrent.futures.ThreadPoolExecutor(
                len(os.sched_getaffinity(0))) as pool:
            runs = list(pool.map(lambda n: self.run_idle(n, spot_check),
                                 launches[len(launches) // 3:]))
        return program.read(output), [
            run for run in runs if "not dp4a-16: " not in run[0].stderr]

    def lost_dumps(self, output):
        """Dumps without any correlation, except the first. In the first dump,
        spectra that were not computed are zeros, which correlate correctly."""
        cross = program.read(output).visibilities[:, 1]
        return [dump for dump, v in enumerate(cross)
                if dump > 0 and not np.any(v)]

    def test_launches_that_do_nothing(self):
        want, runs = self.run_all("auto")
        n_dumps = len(want.visibilities)
        self.assertGreater(n_dumps, 2)
        found = []
        for done, output, _ in runs:
            self.output = output
            if done.returncode == 0:
                self.assertEqual(self.lost_dumps(output), [])
                continue
            kept = self.assert_failed(done, want, "spot check: dump ")
            self.assertIn(f"spot check: dump {kept}, channel ", done.stderr)
            self.assertIn("INT8, ", done.stderr)
            self.assertIn(": cuda device 0 pretend device 0, kernel dp4a-16, "
                          "computes wrongly", done.stderr)
            found.append(kept)
        # left out: the correlation, or the copy of its spectra or sums
        self.assertEqual(sorted(dump for dump in found if dump > 0),
                         sorted(3 * list(range(1, n_dumps))))

    def test_without_the_check(self):
        want, runs = self.run_all("no")
        lost = []
        for done, output, _ in runs:
            self.assertEqual(done.returncode, 0, done.stderr)
            lost += self.lost_dumps(output)
        self.assertEqual(lost, list(range(1, len(want.visibilities))))
