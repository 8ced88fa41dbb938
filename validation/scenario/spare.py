# SPDX-License-Identifier: BSD-3-Clause
"""A GPU that hangs, computes wrongly or fails. With backend auto and before the
first dump, a warning line is printed and the CPU runs the whole job; with
backend cuda, or after a dump, the run reports the failure.

Shows (devices, the CPU in a device's place): kernels that do nothing or never
    end, in the trial of the whole engine, and all calls failing from 35
    different ones on, give the CPU's result and a warning line, or the failure
    in words; correlators that never end are left out by name
Within: the result of `backend = cpu` to the bit, keywords too; after the first
    dump a failure that keeps the finished dumps; one line
"""
import os

import oracle
import program

# Deadline of the trial. On a pretend device the waiting thread does the work,
# so work that ends is never late.
TRIAL = {"FX8_CUDA_TRIAL_MS": "100"}


class Spare(program.Job):
    """A small job of four dumps, on the CPU and on devices that fail."""

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(8, 0.001, precision="int8", taps=2),
                       {"correlator.backend": "auto", "correlator.threads": 1})
        self.scene = self.recording(n_samples=4060)
        self.want = self.result(self.scene, "--backend", "cpu")
        self.assertEqual(len(self.want.visibilities), 4)

    def check_spare(self, environment, *mentions):
        """Check for the CPU's result, and one line that says why."""
        done = self.well(*self.words(self.scene), environment=environment)
        lines = done.stderr.splitlines()
        warnings = [line for line in lines if line.startswith("fx8: warning: ")]
        self.assertEqual(warnings, [line for line in lines if "cuda" in line])
        self.assertEqual(len(warnings), 1, done.stderr)
        self.assertTrue(warnings[0].endswith(": the CPU computes in its place"))
        for mention in mentions:
            self.assertIn(mention, warnings[0])
            self.assertIn("backend auto: cuda: ", done.stdout)
            self.assertIn(mention, done.stdout)
        got = program.read(self.output)
        self.assert_equal(got, self.want,
                          ("visibilities", "flags", "nsamples", "gains"))
        for word in ("BACKEND", "KERNEL", "FFTPLAN"):
            self.assertEqual(got.keywords[word], self.want.keywords[word])
        self.assertEqual(self.left_over(), [])
        os.remove(self.output)

    def check(self, environment, *mentions):
        """The same, and check what backend cuda reports."""
        self.check_spare(environment, *mentions)
        self.assert_refused(
            self.correlate(self.scene, "--backend", "cuda",
                           environment=environment), 1, "cuda: ", *mentions)

    def test_devices_that_compute_wrongly(self):
        for kernel, reason in (
                ("fx8_fir_4_kernel", "quantised spectrum 0 of input 0"),
                ("fx8_corner_turn_kernel", "quantised spectrum "),
                ("fx8_postprocess_int8_kernel", "int8, result 0: ")):
            with self.subTest(kernel=kernel):
                self.check(program.devices(plant=f"{kernel}:idle"),
                           "result differs from the CPU's: " + reason)

    def test_devices_that_hang(self):
        for kernel, what in (("fx8_fir_4_kernel", "FIR"),
                             ("fx8_corner_turn_kernel", "corner turn"),
                             ("fx8_postprocess_int8_kernel", "results")):
            with self.subTest(kernel=kernel):
                self.check({**program.devices(hang=kernel), **TRIAL},
                           f"waiting for {what}: not done within 0.1 s")

    def test_correlators_that_hang(self):
        """They are left out by name, and the device is used.  The choice waits
        ten seconds for a hanging one, but only once."""
        for kernel in ("dp4a-16", "mma-32", "wgmma-128"):
            symbol = f"fx8_correlate_{kernel.replace('-', '_')}_kernel"
            environment = {**program.devices(hang=symbol), **TRIAL}
            with self.subTest(kernel=kernel):
                if program.LONG or kernel != "wgmma-128":
                    self.check_left_out(kernel, environment)
                self.assert_refused(
                    self.correlate(self.scene, "--set",
                                   f"correlator.kernel={kernel}",
                                   environment=environment), 1,
                    f"of its trial; not {kernel}: does not end")

    def check_left_out(self, kernel, environment):
        done = self.well(*self.words(self.scene), environment=environment)
        self.assertEqual(done.stderr.count("warning"), 0)
        self.assertIn(f"; not {kernel}: does not end", done.stdout)
        self.assertEqual(
            program.read(self.output).keywords["BACKEND"].split()[0], b"cuda")
        os.remove(self.output)

    def test_devices_that_fail(self):
        """From some call on, every call fails. Before the first dump is
        delivered the CPU takes over; later the run fails and keeps the finished
        dumps; at the very end nothing is lost."""
        report = self.path("report")
        calls = {"elapsed_ms": 5, "report": report}  # the same in every run
        want = self.result(self.scene, environment=program.devices(**calls))
        n_calls = int(program.text(report).split()[1])
        ends = []
        for number in [*range(1, n_calls, n_calls // 20),
                       *range(n_calls * 4 // 5, n_calls, n_calls // 60)]:
            environment = program.devices(
                fail=f"{number}+:cudaErrorIllegalAddress", **calls)
            with self.subTest(number=number):
                done = self.correlate(self.scene, environment=environment)
                if done.returncode == 1:
                    n_dumps = self.assert_failed(done, want, "cuda: ")
                    self.assertNotIn("warning", done.stderr)
                else:
                    is_spare = "the CPU computes" in done.stderr
                    self.assertEqual(done.returncode, 0, done.stderr)
                    n_dumps = 0 if is_spare else 4
                    os.remove(self.output)
                    if is_spare:
                        # cuFFT reports errors of its own
                        self.check_spare(environment, "cuFFT error 5"
                                         if "cufft" in done.stderr else
                                         "an illegal memory access")
                ends.append((number, n_dumps))
        kept = [n_dumps for _, n_dumps in sorted(ends)]
        self.assertEqual(kept, sorted(kept))
        self.assertEqual(set(kept), {0, 1, 2, 3, 4})
        self.assertGreater(kept.count(0), 13)    # the start: half of all calls
