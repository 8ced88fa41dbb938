# SPDX-License-Identifier: BSD-3-Clause
"""The whole program on pretend devices compared with the CPU: the same files,
except for one quantiser step near ties; which engine is chosen, and why; the
bundle for a machine with a card and no packages.

Shows (devices, devices through the program): `--backend cuda` on 1 and 3
    pretend devices agrees with the CPU: methods, sample types, precisions,
    bounds, samples of few bits, little memory; chosen baselines are those of
    all; which engine `auto` takes, and why; how long the start took; devices and
    kernels that do not exist are refused
Within: method none and chosen baselines equal; FP32 2·10⁻⁶ of the largest; INT8
    four steps of a sample in a cell, 2 % of the cells (any number of few bits,
    whose lags mix channels); gains equal
Because: cuFFT rounds differently from FFTW; the CPU measures the gains

Shows (devices, whole program on a card): the bundle that `make gpu-bundle`
    packs for a machine with a card and no packages holds every library and
    runs with its own C library too; `gpu/whole.sh` runs it: the program on CPU
    and card side by side, every kind of kernel, the tests of the engine
Within: method none identical, INT8 √(12/2000) of the quantiser's own loss: one
    sample in 2000 a step apart; FP32 2·10⁻⁶ of the power; a failure is
    reported, no card is a skip
Because: cuFFT rounds differently from FFTW; single-precision sums have two
    orders
In: Bundle
"""
import glob
import os
import re
import shutil
import subprocess
import tarfile
from fractions import Fraction

import h5py
import numpy as np

import aavs_files
import oracle
import program
import recorder

# scenario/spare.py tests the trial against the CPU engine.
NO_TRIAL = {"FX8_CUDA_TRIAL_MS": "0"}
# A choice of kernels by trial would take most of the time.
CUDA = {precision: {"correlator.backend": "cuda", "correlator.kernel": kernel}
        for precision, kernel in (("int8", "dp4a-16"), ("both", "dp4a-16"),
                                  ("fp32", "fp32-16"), ("interval", "auto"))}
METHODS = (("pfb", True), ("pfb", False), ("fft", True), ("fft", False),
           ("none", True))


class Device(program.Case):
    """Runs of one recording on both engines."""

    def scene(self, is_complex, n_samples=9_000):
        generator = np.random.default_rng(401)
        sky = generator.normal(size=(2, 2, n_samples))
        samples = 25 * (0.5 * sky[:1] + generator.normal(
            size=(3, 2, n_samples)))
        if is_complex:
            samples = samples + 1j * samples[::-1, ::-1]
        samples = program.to_int8(samples)
        samples[0, 0, :40] = -128
        return program.Scene(samples, missing=[(1, 0, 3000, 500),
                                               (2, -1, 7000, 30)])

    def run_both(self, path, setup, precision, environment, device="auto",
                 extra=()):
        """Files of the CPU and of CUDA for each precision."""
        results = []
        for backend in ({"correlator.backend": "cpu"}, CUDA[precision]):
            self.count += 1
            output = self.path(f"both{self.count}.uvh5")
            config = self.ini(setup, {
                **backend, "correlator.device": device,
                "correlator.precision": precision, **dict(extra)})
            done = self.well("correlate", config, path, "-o", output,
                             environment={**NO_TRIAL, **environment}, code=(0, 3))
            self.assertNotIn("harness:", done.stderr)
            names = ([output] if precision != "both" else
                     [output.replace(".uvh5", f".{kind}.uvh5")
                      for kind in ("int8", "fp32")])
            results.append([program.read(name) for name in names])
        return zip(*results)

    def compare(self, cpu, cuda, is_none, is_spread=False):
        """Compare two files of one precision; returns the number of unequal
        cells.  `is_spread`: a step of a sample shows in every channel."""
        self.assertEqual(cuda.keywords["BACKEND"].decode().split()[0], "cuda")
        self.assert_equal(cpu, cuda, ("flags", "nsamples"))
        if cpu.gains is not None:
            # the CPU measures the levels for both
            self.assert_equal(cpu, cuda, ("gains",))
        error = np.abs(cpu.visibilities - cuda.visibilities)
        scale = np.abs(cpu.visibilities).max()
        if is_none:
            np.testing.assert_array_equal(cpu.visibilities, cuda.visibilities)
        elif cpu.keywords["PRECISN"] == b"FP32":
            # reason: see compare_fp32()
            self.assertLess(error.max(), 2e-6 * scale)
        else:
            # one step of a sample is 1 / (20 LSB) of the level, in one of M
            # spectra; two in one cell are very rare
            m = int(cpu.keywords["NSPECTRA"])
            self.assertLess(error.max(), 4 * 127 / 20**2 / m * scale)
            if not is_spread:
                self.assertLess(np.count_nonzero(error), 0.02 * error.size)
        return np.count_nonzero(error)

    def check(self, n_devices, device, methods=METHODS):
        for method, is_complex in methods:
            with self.subTest(method=method, is_complex=is_complex):
                channels = 1 if method == "none" else 20
                path = self.write(self.scene(is_complex), "in.h5")
                setup = oracle.Setup(channels, 0.003, method=method,
                                     precision="int8")
                for cpu, cuda in self.run_both(
                        path, setup, "both", program.devices(n_devices),
                        device):
                    self.compare(cpu, cuda, method == "none")

    def test_both(self):
        self.check(1, "0")

    def test_chosen_baselines(self):
        """To the bit the rows of a result with all baselines."""
        path = self.write(self.scene(True), "in.h5")
        setup = oracle.Setup(20, 0.003, precision="int8")
        for n, precision in ((1, "both"), (3, "int8"), (1, "interval")):
            keys = {**CUDA[precision], "correlator.precision": precision,
                    "correlator.device": "auto" if n == 1 else "0,1,2"}
            kinds = {"both": ("int8", "fp32"), "int8": ("",),
                     "interval": ("down", "up")}[precision]
            results = []
            for more in ({}, {"output.baselines": "0&1,1&2,2&2"}):
                config = self.ini(setup, {**keys, **more})
                self.well("correlate", config, path, "-o", self.path("x.uvh5"),
                          "--force", environment={**NO_TRIAL,
                                                  **program.devices(n)})
                results.append([program.read(self.path(
                    f"x.{kind}.uvh5".replace("..", "."))) for kind in kinds])
            for full, got in zip(*results):
                self.assertIn(b"cuda", got.keywords["BACKEND"])
                rows = [1, 4, 5]    # of 00 01 02 11 12 22
                for name in "visibilities", "flags", "nsamples":
                    np.testing.assert_array_equal(
                        getattr(got, name), getattr(full, name)[:, rows])

    def test_three_devices(self):
        self.check(3, "0,1,2", METHODS[::2])

    def test_bands(self):
        """Coarse channels, each with its own engine on the devices; their
        central part, and averages."""
        generator = np.random.default_rng(402)
        shape = (3, 3, 2, 9_000)
        samples = program.to_int8(20 * (
            generator.normal(size=shape) + 1j * generator.normal(size=shape)
            + 0.5 * generator.normal(size=(3, 1, 1, 9_000))))
        samples[1, 0, 1, 3000:3400] = -128 - 128j
        path, _ = aavs_files.write(
            self.folder, samples, Fraction(1_581_897_600), tile=0, part=0,
            first=0, n=9_000, block=500, lost=[7001])
        keys = {"channelizer.keep_fraction": "27/32", **program.PLACE,
                "flag.clip_level": 75, "flag.clip_margin": 9,
                "flag.min_weight": 0.9, "flag.channels": "159.3e6-159.5e6"}
        for n_devices, average in ((1, 1), (3, 3)):
            setup = oracle.Setup(32, 0.003, precision="int8",
                                 missing_value=-128, channel_average=average)
            for cpu, cuda in self.run_both(
                    path, setup, "both", program.devices(n_devices),
                    ",".join(map(str, range(n_devices))), keys):
                self.assertEqual(cuda.visibilities.shape[2], 81 // average)
                self.compare(cpu, cuda, False)

    def test_few_bits(self):
        """[input] van_vleck corrects sums of devices: dumps of 40 spectra, and
        of 24,000 in blocks of 8192; one input never changes."""
        samples = program.noise(404, 3, 2, 100_000)
        samples = (np.clip(np.floor(samples.real / 18), -8, 7)
                   + 1j * np.clip(np.floor(samples.imag / 18), -8, 7))
        samples[1, 1] = samples[1, 1].real - 1j
        for end, channels, dump_s, n_devices in (
                (9_000, 64, 0.00256, 1), (None, 4, 0.096, 3)):
            path = self.write(program.Scene(samples[..., :end], missing=[
                (-1, -1, 4_100, 300), (1, 0, 1_000, 2_000)]), "few.h5")
            for precision in ("fp32", "int8"):
                setup = oracle.Setup(channels, dump_s, method="fft",
                                     precision=precision)
                for cpu, cuda in self.run_both(
                        path, setup, precision, program.devices(n_devices),
                        ",".join(map(str, range(n_devices))),
                        {"input.van_vleck": "yes"}):
                    self.assertEqual(cuda.keywords["VANVLECK"], 1)
                    self.assertTrue(cuda.flags.any() and not cuda.flags.all())
                    self.compare(cpu, cuda, False, is_spread=True)

    def read_items(self, path):
        """Every dataset of a file, by name."""
        found = {}
        with h5py.File(path, "r") as file:
            file.visititems(lambda name, item: found.update(
                {name: item[()]} if isinstance(item, h5py.Dataset) else {}))
        return found

    def compare_looks(self, path, setup, n_devices, keys):
        """Quick-looks of both engines are bit-identical where the visibilities
        are, except for bounds and history."""
        quick = self.path("quick.h5")
        files = []
        for backend in ("cpu", "cuda"):
            config = self.ini(setup, {
                "correlator.backend": backend,
                "correlator.device": ",".join(map(str, range(n_devices))),
                "postprocess.quicklook": quick, **keys}, name="look.ini")
            done = self.well("correlate", config, path, "-o",
                             self.path("look.uvh5"), "--force",
                             environment=program.devices(n_devices), code=(0, 3))
            self.assertNotIn("harness:", done.stderr)
            self.assertNotIn("BEYOND", done.stdout)
            files.append(self.read_items(quick))
        cpu, cuda = files
        self.assertEqual(set(cpu), set(cuda))
        self.assertGreater(len(cpu), 15)
        for name in set(cpu) - {"history"}:
            if not name.startswith("modes/"):
                np.testing.assert_array_equal(cpu[name], cuda[name], name)
                continue
            # largest difference, and the error bound of the engine's functions
            a, b = np.atleast_1d(cpu[name]), np.atleast_1d(cuda[name])
            self.assertEqual(a[0], b[0], name)
            self.assertTrue(np.all(b >= a), name)

    def test_quicklook(self):
        path = self.write(self.scene(True), "in.h5")
        setup = oracle.Setup(1, 0.0011, method="none", precision="int8",
                             last_dump_min=0)
        for math, n_devices, more in (
                ("ieee", 1, {}), ("fast", 3, {}),
                # the host makes results and quick-look
                ("fast", 3, {"flag.sk_false_alarm": 0.1})):
            with self.subTest(math=math, **more):
                self.compare_looks(path, setup, n_devices, {
                    "postprocess.math": math, "correlator.precision": "int8",
                    **more})

    def test_gains_of_16_bits(self):
        """16-bit inputs are scaled to 8 bits by a gain each. The device divides
        these gains out, with and without the quantiser's gains."""
        generator = np.random.default_rng(403)
        loud = np.array([3000, 40, 9000, 600])[:, None]
        samples = np.rint(loud * (
            generator.normal(size=(4, 12_000)) + generator.normal(size=12_000)
            + 1j * generator.normal(size=(4, 12_000)))).clip(-32767, 32767)
        top = self.path("tree")
        for number, rows in enumerate((samples[:2], samples[2:])):
            recorder.record(top, f"ch{number}", recorder.Channel(
                rows, 1_600_000_000 * 200_000, bits=16,
                lost=[(700 * number, 900)]))
        keys = {"observation.dc_frequency_hz": 1e8, **program.PLACE}
        for method, channels in (("none", 1), ("pfb", 20)):
            setup = oracle.Setup(channels, 0.01, method=method,
                                 precision="int8", polarizations=2)
            for cpu, cuda in self.run_both(top, setup, "both",
                                           program.devices(2), "0,1", keys):
                self.compare(cpu, cuda, method == "none")
                power = cpu.visibilities[:, 0, :, :2].real.mean((0, 1))
                # in the recorder's units: 2 parts, and the common signal
                np.testing.assert_allclose(
                    power, 3 * loud[:2, 0]**2, rtol=0.1)

    def test_long_dump_on_three_devices(self):
        """Blocks of 8192 spectra are given to the devices in turn; two devices
        in reverse order give the same file."""
        path = self.write(self.scene(True, 45_000), "long.h5")
        setup = oracle.Setup(1, 0.04, method="none", precision="int8")
        files = []
        for device in ("0,1,2", "2,0"):
            for cpu, cuda in self.run_both(path, setup, "both",
                                           program.devices(3), device):
                self.compare(cpu, cuda, True)
                files.append(cuda.visibilities)
        np.testing.assert_array_equal(files[0], files[2])
        np.testing.assert_array_equal(files[1], files[3])

    def check_bounds(self, setup, path, n_devices, device):
        """`compare --rigorous`: CUDA's FP32 lies within CUDA's bounds."""
        written = []
        for precision in ("fp32", "interval"):
            self.count += 1
            output = self.path(f"bounds{self.count}.uvh5")
            config = self.ini(setup, {**CUDA[precision],
                                      "correlator.device": device})
            done = self.well("correlate", config, path, "-o", output,
                             "--precision", precision,
                             environment={**NO_TRIAL,
                                          **program.devices(n_devices)})
            self.assertNotIn("harness:", done.stderr)
            written += ([output] if precision == "fp32" else
                        [output.replace(".uvh5", f".{kind}.uvh5")
                         for kind in ("down", "up")])
        self.well("compare", "--rigorous", *written)
        value, down, up = (program.read(name) for name in written)
        self.assertEqual(down.keywords["BACKEND"].split()[0], b"cuda")
        self.assertEqual(down.keywords["KERNEL"],
                         b"fp32-down-16 fp32-up-16")
        self.assertEqual([each.keywords["PRECISN"] for each in (down, up)],
                         [b"FP32-DOWN", b"FP32-UP"])
        return value, down, up

    def test_bounds(self):
        for (method, is_complex), n_devices in zip(METHODS, (1, 3, 1, 3, 1)):
            with self.subTest(method=method, is_complex=is_complex):
                setup = oracle.Setup(1 if method == "none" else 20, 0.003,
                                     method=method, precision="int8")
                path = self.write(self.scene(is_complex), "in.h5")
                _, down, up = self.check_bounds(
                    setup, path, n_devices, "0" if n_devices == 1 else "0,1,2")
                apart = np.count_nonzero(down.visibilities != up.visibilities)
                self.assertGreater(apart, 0)

    def test_little_memory_changes_no_bit(self):
        """Blocks of 1,563 spectra take 8.1 MiB with one input's samples at a
        time, and 200 kB more for each of the other five. 9 MiB, of which 1/32
        is left free, do not suffice for all at once."""
        path = self.write(self.scene(True, 60_000), "in.h5")
        setup = oracle.Setup(32, 0.05, precision="int8")
        files = []
        for environment in (program.devices(), program.devices(
                memory_mib=9), program.devices(streams="eager")):
            for _, cuda in self.run_both(path, setup, "both", environment):
                files.append(cuda.visibilities)
        for k in (2, 4):
            np.testing.assert_array_equal(files[0], files[k])
            np.testing.assert_array_equal(files[1], files[k + 1])

    def test_rows_that_are_far_apart(self):
        """The pitch exceeds what the device can copy: 100 kB for samples; rows
        of results have 1 kB."""
        path = self.write(self.scene(True, 60_000), "in.h5")
        setup = oracle.Setup(32, 0.05, precision="int8")
        for cpu, cuda in self.run_both(path, setup, "int8",
                                       program.devices(pitch=50_000)):
            self.compare(cpu, cuda, False)

    # --- which engine, and why ------------------------------------------------

    def run_auto(self, environment, *arguments, channels=16):
        """Run a small job with backend auto; returns what it printed and
        wrote."""
        self.count += 1
        output = self.path(f"auto{self.count}.uvh5")
        config = self.ini(
            oracle.Setup(channels, 0.003, precision="int8"),
            {"correlator.backend": "auto"}, name=f"auto{self.count}.ini")
        done = program.run("correlate", config, self.write(self.scene(True)),
                           "-o", output, *arguments, environment=environment)
        return done, output

    def check_start(self, text):
        """Of so small a job the start, with its trial, is named."""
        whole, start = re.search(r"^time +([\d.]+) s: start ([\d.]+), level ",
                                 text, re.MULTILINE).groups()
        self.assertGreater(float(start), 0.03 * float(whole))
        self.assertLess(float(start), float(whole))

    def test_auto_takes_a_usable_device(self):
        done, output = self.run_auto(program.devices(2))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("backend auto: device 0 pretend device 0 is usable",
                      done.stdout)
        self.assertIn("cuda 0 pretend device 0, ", done.stdout)
        self.assertRegex(done.stdout,
                         r"\n +beside it read .*, copies to the GPU \d\.\d+\n")
        self.check_start(done.stdout)
        words = program.read(output).keywords
        self.assertEqual(words["BACKEND"], b"cuda 0 pretend device 0")
        self.assertIn(words["KERNEL"].decode().split("-")[0],
                      ("dp4a", "mma", "wgmma"))
        self.assertTrue(words["FFTPLAN"].startswith(b"cufft "))

    def test_auto_says_why_not(self):
        nowhere = {"FX8_CUDA_PLUGIN": self.path("none.so")}
        for environment, reason in (
                (nowhere, "plug-in missing: there is no "),
                (program.devices(-1), "driver missing: "),
                (program.devices(0), "no usable device: the driver finds none"),
                (program.devices(1, sm=52), "compute capability 5.2: expected"),
                (program.devices(1, memory_mib=1), "of memory free: expected")):
            with self.subTest(reason=reason):
                done, output = self.run_auto(environment, channels=512)
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = [line for line in done.stdout.splitlines()
                        if "backend auto: cuda: " in line]
                self.assertEqual(len(lines), 1, done.stdout)
                self.assertIn(reason, lines[0])
                self.assertEqual(program.read(output).keywords["BACKEND"],
                                 b"cpu")
                done, output = self.run_auto(environment, "--backend", "cuda",
                                             channels=512)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(reason, done.stderr)
                self.assertFalse(os.path.exists(output))

    def test_a_default_is_not_mentioned(self):
        """With backend auto by default, a device is mentioned only if it is
        used, and the lack of one not at all."""
        config = self.save("default.ini",
                           "[channelizer]\nchannels = 16\n[correlator]\n"
                           "integration_time_s = 0.003\n")
        recording = self.write(self.scene(True))
        for n_devices, words, arguments in (
                (-1, 0, ()), (1, 1, ()), (-1, 1, ("--backend=auto",)),
                (-1, 0, ("--backend=cpu",)),
                (-1, 1, ("--set=correlator.device=0",))):
            with self.subTest(n_devices=n_devices, arguments=arguments):
                done = self.well(
                    "correlate", config, recording, "--force", "-o",
                    self.path("default.uvh5"), *arguments,
                    environment=program.devices(n_devices))
                self.assertEqual(done.stdout.count("backend auto: "), words)
                if not words:
                    self.assertNotRegex(done.stdout.lower(), "cuda|device")

    def test_auto_and_kernels(self):
        for kernel, backend in (("reference", b"cpu"), ("mma", b"cuda"),
                                ("dp4a-16", b"cuda")):
            done, output = self.run_auto(program.devices(), "--set",
                                         f"correlator.kernel={kernel}")
            self.assertEqual(done.returncode, 0, done.stderr)
            words = program.read(output).keywords
            self.assertEqual(words["BACKEND"].split()[0], backend)
            self.assertTrue(words["KERNEL"].decode().startswith(kernel))
        for environment, kernel in ((program.devices(), "sse2"),
                                    (program.devices(), "dp4a-17"),
                                    (program.devices(), "fp32")):
            done, output = self.run_auto(environment, "--set",
                                         f"correlator.kernel={kernel}")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("dp4a, mma, wgmma", done.stderr)
            self.assertFalse(os.path.exists(output))

    def test_devices_that_are_not_there(self):
        done, _ = self.run_auto(program.devices(2), "--backend", "cuda",
                                "--set", "correlator.device=0,2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("device 2: expected 0 to 1", done.stderr)
        done, _ = self.run_auto(program.devices(2), "--set",
                                "correlator.device=first")
        self.assertEqual(done.returncode, 2)


class Bundle(program.Case):
    """`make gpu-bundle`, and the script that runs it on a card."""

    LOADER = b"/lib64/ld-linux"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        build = os.path.dirname(program.FX8)
        subprocess.run(["make", f"BUILD={build}", "CUDA=0", "gpu-bundle"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.bundle = os.path.join(build, "gpu-bundle")

    def run_whole(self, bundle, environment):
        """Run it with only PATH from this machine's environment."""
        return subprocess.run(
            ["validation/gpu/whole.sh", bundle, self.path("whole")],
            env={"PATH": os.environ["PATH"], "FX8_SHORT": "1", **environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)

    def test_every_library_is_in_it(self):
        with tarfile.open(f"{self.bundle}/lib.tar.gz") as file:
            file.extractall(self.folder)
        folder = self.path("lib")
        (loader,) = glob.glob(f"{folder}/c/ld-linux*")
        for path in glob.glob(f"{self.bundle}/bin/*"):
            done = subprocess.run(
                [loader, "--inhibit-cache", "--library-path",
                 f"{folder}:{folder}/c", "--list", path],
                capture_output=True, text=True, check=True)
            found = [line.split()[2] for line in done.stdout.splitlines()
                     if "=>" in line]
            self.assertGreater(len(found), 5)
            for library in found:
                self.assertTrue(library.startswith(folder), library)

    def test_it_runs_with_its_own_c_library(self):
        """As on a machine whose C library is too old: the programs do not start
        without the bundled one."""
        bundle = self.path("bundle")
        shutil.copytree(self.bundle, bundle)
        for path in glob.glob(f"{bundle}/bin/*"):
            with open(path, "r+b") as file:
                text = file.read()
                self.assertEqual(text.count(self.LOADER), 1)
                file.seek(text.index(self.LOADER))
                file.write(self.LOADER.replace(b"ld", b"no"))
        done = self.run_whole(bundle, program.devices())
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(lines[-1], "1..15")
        self.assertEqual(sum(line.startswith("ok ") for line in lines), 15)

    def test_without_a_card_it_is_skipped(self):
        done = self.run_whole(self.bundle, program.devices(0))
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("1..0 # SKIP "))

    def test_a_step_that_fails(self):
        """Without the plug-in, steps that need the card fail and steps on the
        CPU pass."""
        done = self.run_whole(self.bundle,
                              {"FX8_CUDA_PLUGIN": self.path("none.so")})
        self.assertEqual(done.returncode, 1, done.stdout)
        good = [line for line in done.stdout.splitlines()
                if line.startswith("ok ")]
        self.assertEqual([line.split(" - ")[1] for line in good],
                         ["none.complex on cpu", "pfb.real on cpu"])
