# SPDX-License-Identifier: BSD-3-Clause
"""fx8 image on a pretend device compared with the CPU: the same pixels; what is
used, and why; devices that are missing, fail, hang or compute wrongly.

Shows (devices, images through the program): `fx8 image --backend cuda` gives
    the pixels of `--backend cpu`; which of them `auto` takes, and why; a device
    that fails before the image is begun leaves it to the CPU, with a warning,
    later it is one line of error; a signal ends it, and progress is shown
Within: equal to the bit; the words; exit codes, and no file left
"""
import json
import os
import pty
import re
import signal
import subprocess

import numpy as np
from astropy.io import fits

import image
import program

TRIAL = {"FX8_CUDA_TRIAL_MS": "100"}
NO_TRIAL = {"FX8_CUDA_TRIAL_MS": "0"}


class ImageDevice(image.Sky):
    """The image of a source on both backends."""

    def make(self, *arguments, environment=None):
        """The run, and the pixels; the file is removed."""
        path = self.path("sky.fits")
        done = self.well("image", self.result, "-o", path, *(
            () if "--size" in arguments else ("--size", 64)), *arguments,
                         environment=environment)
        self.assertNotIn("harness:", done.stderr)
        with fits.open(path) as file:
            pixels = file[0].data.copy()
        os.remove(path)
        return done, pixels

    def refuse(self, *arguments, environment, mention):
        """One line of error, and no file."""
        path = self.path("sky.fits")
        done = program.run("image", self.result, "-o", path, "--size", 64,
                           *arguments, environment=environment)
        self.assert_one_line(done, 1, "cuda: ", mention)
        self.assertNotIn("warning", done.stderr)
        self.assertEqual([name for name in os.listdir(self.folder)
                          if "sky" in name], [])

    def test_both(self):
        for arguments in ((), ("--center", "115,-27", "--fov", 40),
                          ("--weights", "uniform"), ("--size", 77)):
            with self.subTest(arguments=arguments):
                done, wanted = self.make("--backend", "cpu", *arguments)
                self.assertRegex(done.stdout, r"\ncomputed by cpu, \w+\n")
                done, got = self.make("--backend", "cuda", *arguments,
                                      environment=program.devices())
                self.assertIn("\ncomputed by cuda 0 pretend device 0, "
                              "image-8\n", done.stdout)
                self.assertNotIn("backend auto", done.stdout)
                self.assertGreater(np.count_nonzero(got > 0), 500)
                self.assertEqual(got.tobytes(), wanted.tobytes())

    def test_parts(self):
        """With 24 KiB of memory a part has 1024 pixels, a piece 128."""
        _, wanted = self.make("--backend", "cpu")
        _, got = self.make("--backend", "cuda", environment={
            **program.devices(), "FX8_CUDA_MEMORY_KIB": "24"})
        self.assertGreater(np.count_nonzero(np.isfinite(got)), 3 * 1024)
        self.assertEqual(got.tobytes(), wanted.tobytes())

    def test_auto(self):
        """A device is used and mentioned; the lack of one is mentioned only to
        whoever asked."""
        for count, arguments, words in (
                (1, (), "backend auto: device 0 pretend device 0 is usable\n"),
                (-1, ("--backend", "auto"), "backend auto: cuda: driver "),
                (-1, (), None), (0, ("--backend", "cpu"), None)):
            done, _ = self.make(*arguments,
                                environment=program.devices(count))
            self.assertEqual(done.stderr, "")
            self.assertEqual("backend auto" in done.stdout, words is not None)
            self.assertIn(words or "computed by cpu, ", done.stdout)
        figures = json.loads(self.well(
            "image", self.result, "--size", 64, "--json",
            environment=program.devices()).stdout)
        self.assertEqual((figures["backend"], figures["kernel"]),
                         ("cuda 0 pretend device 0", "image-8"))

    def test_devices_that_are_not_there(self):
        _, wanted = self.make("--backend", "cpu")
        for environment, reason in (
                ({"FX8_CUDA_PLUGIN": self.path("none.so")},
                 "plug-in missing: there is no "),
                (program.devices(-1), "driver missing: "),
                (program.devices(0), "no usable device: the driver finds none"),
                (program.devices(1, sm=52), "compute capability 5.2: expected")):
            with self.subTest(reason=reason):
                done, got = self.make("--backend", "auto",
                                      environment=environment)
                self.assertIn(f"\nbackend auto: cuda: {reason}",
                              done.stdout.replace("no usable device: device 0 "
                                                  "(pretend device 0): ", ""))
                self.assertEqual(done.stderr, "")
                self.assertEqual(got.tobytes(), wanted.tobytes())
                self.refuse("--backend", "cuda", environment=environment,
                            mention=reason)

    def test_devices_that_fail(self):
        """They are noticed before the image is begun: the CPU makes it."""
        _, wanted = self.make("--backend", "cpu")
        for environment, reason in (
                (program.devices(plant="fx8_image_8:idle"),
                 "kernel image-8: result differs from the CPU's: direction 0: "),
                (program.devices(plant="fx8_image_phasors:idle"),
                 "result differs from the CPU's: direction "),
                (program.devices(plant="fx8_image_8:refuse"), "imaging: "),
                (program.devices(fail="8+:cudaErrorMemoryAllocation"),
                 "out of memory"),
                ({**program.devices(hang="fx8_image_8_kernel"), **TRIAL},
                 "waiting for an image: not done within 0.1 s")):
            with self.subTest(reason=reason):
                done, got = self.make(environment=environment)
                self.assertRegex(
                    done.stderr, r"^fx8: warning: cuda: .*"
                    + re.escape(reason)
                    + r".*: the CPU computes in its place\n$")
                self.assertIn("\ncomputed by cpu, ", done.stdout)
                self.assertEqual(got.tobytes(), wanted.tobytes())
                self.refuse("--backend", "cuda", environment=environment,
                            mention=reason)

    def test_a_device_that_fails_later(self):
        """With every call failing from some on, the CPU makes the whole image,
        or there is none."""
        report = self.path("report")
        _, wanted = self.make(environment=program.devices(report=report))
        n_calls = int(program.text(report).split()[1])
        ends = []
        for number in range(1, n_calls, 3):
            environment = program.devices(
                fail=f"{number}+:cudaErrorIllegalAddress")
            with self.subTest(number=number):
                path = self.path("sky.fits")
                done = program.run("image", self.result, "-o", path, "--size",
                                   64, environment=environment)
                ends.append("failed" if done.returncode else
                            "cpu" if "computed by cpu" in done.stdout else
                            "cuda")
                if done.returncode:
                    self.assert_one_line(done, 1, "cuda: ")
                    self.assertFalse(os.path.exists(path))
                    continue
                self.assertEqual(fits.getdata(path).tobytes(),
                                 wanted.tobytes())
                os.remove(path)
        # first the CPU, then errors; at the end nothing is lost
        self.assertRegex(" ".join(ends), "^(cpu ){9,}(failed )+cuda( cuda)*$")

    def test_progress_and_a_signal(self):
        end, terminal = pty.openpty()
        path = self.path("sky.png")
        process = subprocess.Popen(
            [program.FX8, "image", self.result, "-o", path, "--size", "16384",
             "--backend", "cuda"], stdout=subprocess.DEVNULL, stderr=terminal,
            env={**os.environ, **program.devices()})
        self.addCleanup(process.kill)
        os.close(terminal)
        text = ""
        while "%" not in text:
            text += os.read(end, 1000).decode()
        self.assertRegex(text, r"^\r\x1b\[Kimage  \[[#.]{8,24}\]   [ \d]\d %")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 130)
        while "nothing" not in text:
            text += os.read(end, 1000).decode()
        os.close(end)
        self.assertIn("stopped by a signal: nothing is written", text)
        self.assertEqual([name for name in os.listdir(self.folder)
                          if "sky" in name], [])
