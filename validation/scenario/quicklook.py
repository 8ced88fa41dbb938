# SPDX-License-Identifier: BSD-3-Clause
"""Quick-look files: read with h5py and compared with numpy's results from the
UVH5 file of the same run; refused, interrupted, averaged.

Shows (results, quick-look files in h5py): files agree with numpy on the UVH5
    file; intervals of overlapping channels have the right spread; refused and
    interrupted runs leave nothing half-made
Within: halves 2⁻¹¹ and half of 2⁻²⁴, phase 10⁻³ rad, dB 2·10⁻⁵, averages
    2·10⁻⁵; spread of 512 intervals 5 sigma
Because: steps of halves and of single precision at 40 dB
"""
import os
import resource
import signal
import unittest

import h5py
import numpy as np

import oracle
import program

SCALE = 16384.0
STATES = {"none": 0, "interval": 1, "limit": 2, "auto": 3}


def overlap(weights, taps, length, n_spectra, n_channels):
    """Sum of R(d, k) over cells d spectra and k channels apart, by FFT, for k up
    to 8. Beyond, only the two ends of the (cyclic) band overlap, and they are
    flagged."""
    total = 0.0
    folded = weights.reshape(taps, length)
    for d in range(min(taps, n_spectra)):
        product = np.sum(folded[:taps - d] * folded[d:], axis=0)
        shares = np.abs(np.fft.fft(product))**2
        most = min(n_channels - 1, 8)
        k = np.arange(-most, most + 1)
        in_channels = np.sum((1 - np.abs(k) / n_channels) * shares[k % length])
        total += (2 if d else 1) * (1 - d / n_spectra) * in_channels
    return total


def auto_rows(n_inputs_per_antenna, n_antennas):
    """(baseline, product) of every auto-correlation."""
    first = np.cumsum([0] + list(range(n_antennas, 1, -1)))
    return [(first[antenna], feed) for antenna in range(n_antennas)
            for feed in range(n_inputs_per_antenna)]


def inputs_of(product, antennas, feeds):
    """The two inputs of a product (XX, YY, XY, YX) of a baseline."""
    first, second = ((0, 0), (1, 1), (0, 1), (1, 0))[product]
    return antennas[0] * feeds + first, antennas[1] * feeds + second


class Look:
    """A quick-look file and the UVH5 file of the same run."""

    def __init__(self, path, uvh5):
        with h5py.File(path, "r") as file:
            self.items = {name: item[()] for name, item in file.items()
                          if isinstance(item, h5py.Dataset)}
            self.groups = {name: {key: value[()]
                                  for key, value in item.items()}
                           for name, item in file.items()
                           if isinstance(item, h5py.Group)}
            self.attributes = dict(file.attrs)
            self.axes = {name: file[name].attrs["axes"] for name in
                         ("coherence", "phase", "spectra_db")}
        self.uvh5 = program.read(uvh5)
        self.n_antennas = len(self.items["antenna_numbers"])
        n_products = self.uvh5.visibilities.shape[3]
        self.feeds = 2 if n_products == 4 else 1
        self.pairs = [(i, j) for i in range(self.n_antennas)
                      for j in range(i, self.n_antennas)]
        self.powers = np.stack(     # [dump][input][channel]
            [self.uvh5.visibilities[:, b, :, p].real
             for b, p in auto_rows(self.feeds, self.n_antennas)], axis=1)
        self.rho = np.empty_like(self.uvh5.visibilities)
        for b, pair in enumerate(self.pairs):
            for p in range(n_products):
                i, j = inputs_of(p, pair, self.feeds)
                self.rho[:, b, :, p] = (
                    self.uvh5.visibilities[:, b, :, p]
                    / np.sqrt(self.powers[:, i] * self.powers[:, j]))

    def is_auto(self, baseline, product):
        i, j = inputs_of(product, self.pairs[baseline], self.feeds)
        return i == j


class Looking(program.Case):
    """Checks every value of the file."""

    def assert_halves(self, stored, exact):
        """A half is within 2^-11 of its value (relative), a subnormal one within
        2^-25; single precision adds a hundredth of that."""
        self.assertEqual(stored.dtype, np.float16)
        limit = 1.01 * (2.0**-11 * np.abs(exact) + 2.0**-25)
        error = np.abs(stored.astype(np.float64) - exact)
        self.assertTrue(np.all(error <= limit), np.max(error / limit))

    def check_dumps(self, look):
        items, rho = look.items, look.rho
        self.assert_halves(items["coherence"][..., 0], SCALE * rho.real)
        self.assert_halves(items["coherence"][..., 1], SCALE * rho.imag)
        self.assert_halves(items["amplitude"], SCALE * np.abs(rho))
        self.assertEqual(items["phase"].dtype, np.float16)
        phase = items["phase"].astype(np.float64)
        self.assertLess(np.max(np.abs(phase - np.angle(rho))), 1e-3)
        # 100 dB is rounded by 4e-6, its logarithm by as much
        self.assertEqual(items["spectra_db"].dtype, np.float32)
        np.testing.assert_allclose(items["spectra_db"],
                                   10 * np.log10(look.powers), rtol=0,
                                   atol=2e-5)
        np.testing.assert_array_equal(items["flags"], look.uvh5.flags)

    def check_axes(self, look, math, precision):
        header, items = look.uvh5.header, look.items
        attributes = look.attributes
        self.assertEqual(attributes["format"], b"fx8-quicklook")
        self.assertEqual(attributes["version"], 1)
        self.assertEqual(attributes["math"], math.encode())
        self.assertEqual(attributes["precision"], precision.encode())
        self.assertEqual(attributes["coherence_scale"], SCALE)
        self.assertEqual(attributes["integration_time_s"],
                         header["integration_time"].max())
        self.assertEqual(look.axes["coherence"],
                         b"dump,baseline,channel,product,re_im")
        n_baselines = len(look.pairs)
        np.testing.assert_array_equal(items["time_julian_date"],
                                      header["time_array"][::n_baselines])
        np.testing.assert_array_equal(items["frequency_hz"],
                                      header["freq_array"])
        np.testing.assert_array_equal(items["baseline_antenna_2"],
                                      header["ant_2_array"][:n_baselines])
        np.testing.assert_array_equal(items["product"],
                                      header["polarization_array"])
        self.assertEqual(len(items["input_antenna"]),
                         look.n_antennas * look.feeds)
        self.assertEqual(set(items["input_feed"]),
                         {b"X", b"Y"} if look.feeds == 2 else {b"X"})
        # the first line has the time of writing
        self.assertEqual(items["history"].decode().splitlines()[1:],
                         look.uvh5.history.splitlines()[1:])

    def check_averages(self, look, weights, taps, average=1):
        """Averages by the formulas of CONVENTIONS.md."""
        fisher = look.groups["fisher"]
        n_channels = look.rho.shape[2]
        m = int(look.attributes["spectra_per_dump"])
        length = len(weights) // taps
        inflation = (overlap(weights, taps, length, 10**9,
                             n_channels * average)
                     / overlap(weights, taps, length, m, average))
        usable = look.uvh5.flags == 0
        seconds = look.uvh5.header["integration_time"][::len(look.pairs)]
        products = look.uvh5.nsamples * np.array(
            [n * average / overlap(weights, taps, length, n, average)
             for n in np.rint(m * seconds / seconds.max()).astype(int)]
        )[:, None, None, None]
        power = np.minimum(np.abs(look.rho)**2, 1)
        unbiased = power - (1 - power)**2 / products
        z = np.arctanh(np.sqrt(np.clip(unbiased, 0, 0.999998)))
        for b, p in np.ndindex(*fisher["state"].shape):
            if look.is_auto(b, p):
                self.assertEqual(fisher["state"][b, p], STATES["auto"])
                continue
            at = (slice(None), b, slice(None), p)
            weight = np.where(usable[at], products[at], 0)
            self.assertEqual(fisher["cells"][b, p], np.count_nonzero(weight))
            mean = np.sum(weight * z[at]) / np.sum(weight)
            each = np.sum(weight) / np.count_nonzero(weight)
            np.testing.assert_allclose(fisher["products"][b, p],
                                       np.sum(weight) / inflation, rtol=1e-6)
            rho = np.tanh(mean)
            if abs(rho * np.sqrt(each) - 5) < 0.01:
                continue
            if rho * np.sqrt(each) < 5:
                self.assertEqual(fisher["state"][b, p], STATES["limit"])
                self.check_limit(fisher["upper"][b, p], unbiased[at], weight,
                                 inflation)
                continue
            self.assertEqual(fisher["state"][b, p], STATES["interval"])
            centre = mean - (3 * rho**2 - 1) / (4 * each * rho)
            half = 1.96 * np.sqrt(inflation / (2 * np.sum(weight)))
            for name, value in (("coherence", centre), ("lower", centre - half),
                                ("upper", centre + half)):
                self.assertAlmostEqual(fisher[name][b, p], np.tanh(value),
                                       delta=2e-5)

    def check_limit(self, upper, unbiased, weight, inflation):
        """The mean is 1.96 sigma below the limit, with sigma at the limit."""
        total, n = np.sum(weight), np.count_nonzero(weight)
        mean = max(np.sum(weight * unbiased) / total, 0)
        p = upper**2
        sigma = (1 - p) * np.sqrt(inflation * (2 * p * total + n)) / total
        self.assertAlmostEqual((p - mean) / sigma, 1.96, delta=1e-3)

    def check_modes(self, look, math):
        if math == "ieee":
            self.assertNotIn("modes", look.groups)
            return
        modes = look.groups["modes"]
        self.assertEqual(modes["dumps"], (len(look.rho) + 15) // 16)
        self.assertEqual(modes["beyond"], 0)
        for name in ("coherence", "amplitude", "phase", "spectra", "fisher"):
            largest, bound = modes[name]
            self.assertLessEqual(largest, bound, name)
            self.assertLess(bound, 1e-4, name)

    def look_at(self, config, recording, math, precision, *options,
                environment=None):
        """Run fx8; returns the quick-look and the INT8 (else FP32) results."""
        output, quick = self.path("out.uvh5"), self.path("quick.h5")
        done = self.well("correlate", config, recording, "-o", output,
                         "--set", f"postprocess.quicklook={quick}",
                         "--set", f"postprocess.math={math}",
                         "--precision", precision, "--force", *options,
                         environment=environment)
        self.assertIn(f"result     {quick} (quick-look)", done.stdout)
        self.assertEqual("fast beside ieee" in done.stdout, math == "fast")
        self.assertNotIn("BEYOND", done.stdout)
        self.assertFalse(os.path.exists(quick + ".part"))
        if precision == "both":
            output = self.path("out.int8.uvh5")
        return Look(quick, output)

    def test_simulated_array(self):
        recording = self.path("demo.h5")
        self.well("simulate", "config/ready/demo.ini", "-o", recording)
        taps, length = 8, 64
        weights = oracle.prototype(oracle.Setup(length, 0.1, taps=taps),
                                   length)
        for math, precision, average in (
                ("ieee", "int8", 1), ("fast", "int8", 1), ("fast", "fp32", 4),
                ("ieee", "both", 1)):
            with self.subTest(math=math, precision=precision):
                look = self.look_at(
                    "config/ready/demo.ini", recording, math, precision,
                    "--set", f"output.channel_average={average}")
                self.check_dumps(look)
                self.check_axes(look, math, "FP32" if precision == "fp32"
                                else "INT8")
                self.check_averages(look, weights, taps, average)
                self.check_modes(look, math)
                counts = look.groups["counts"]
                self.assertEqual(counts["cells"], look.rho.size)
                self.assertEqual(counts["spectra"], look.powers.size)
                self.assertEqual(sum(counts.values()) - look.rho.size
                                 - look.powers.size, 0)

    def test_aligned_dumps(self):
        """Cells of dumps of different lengths."""
        path = self.write(program.Scene(program.noise(41, 3, 2, 40_000),
                                        start_ns=1_234_567), "noise.h5")
        config = self.ini(oracle.Setup(64, 0.0034, align="utc",
                                       last_dump_min=0.1))
        weights = oracle.prototype(oracle.Setup(64, 0.0034), 64)
        look = self.look_at(config, path, "ieee", "int8")
        self.assertEqual(sorted(set(np.rint(
            look.uvh5.header["integration_time"] * 1e6 / 64))),
            [35, 52, 53, 54])
        self.check_dumps(look)
        self.check_axes(look, "ieee", "INT8")
        self.check_averages(look, weights, 8)

    @unittest.skipUnless(program.RECORDINGS, program.NO_RECORDINGS)
    def test_recording_of_tart(self):
        taps, length = 8, 2048
        weights = oracle.prototype(oracle.Setup(1024, 0.01, taps=taps),
                                   length)
        for math in ("ieee", "fast"):
            with self.subTest(math=math):
                look = self.look_at("config/ready/tart.ini", program.TART, math,
                                    "int8")
                self.check_dumps(look)
                self.check_averages(look, weights, taps)
                self.check_modes(look, math)

    def test_dead_input_is_counted(self):
        """One input is all zeros, another is always missing."""
        samples = program.noise(191, 3, 1, 8000)
        samples[1] = 0
        quick = self.path("quick.h5")
        done = self.well(
            "correlate", self.ini(oracle.Setup(16, 0.002)), self.write(
                program.Scene(samples, missing=[(2, -1, 0, 8000)])), "-o",
            self.path("out.uvh5"), keys={"postprocess.quicklook": quick})
        with h5py.File(quick, "r") as file:
            counts = {name: int(item[()])
                      for name, item in file["counts"].items()}
            spectra, coherence, states = (file[name][...] for name in (
                "spectra_db", "coherence", "fisher/state"))
        cells = len(coherence) * 16
        # 0-1 and 1-1 have no power; 0-2, 1-2 and 2-2 have no product
        self.assertEqual([counts[name] for name in (
            "no_power", "no_product", "spectra_no_power", "spectra_no_data")],
            [2 * cells, 3 * cells, cells, cells])
        self.assertTrue(np.all(spectra[:, 1] == -400))
        self.assertTrue(np.all(np.isnan(spectra[:, 2])))
        self.assertTrue(np.all(coherence[:, 1:] == 0))
        self.assertEqual(list(states[:, 0]), [3, 0, 0, 3, 0, 3])
        for text in (f"{2 * cells} of {6 * cells} cells with an auto that has "
                     "no power: 0", "without a valid product: 0",
                     f"{cells} of {3 * cells} channels of spectra without "
                     "power: -400 dB"):
            self.assertIn(text, done.stdout)


class Spread(program.Case):
    """Errors of independent pairs spread as their intervals predict."""

    def test_overlapping_channels(self):
        """A Hann window without taps: channels overlap so much that their mean
        has 1.95 times the variance of independent channels.  512 intervals
        determine the spread to 3 %, 5 sigma: 16 %; without the factor it would
        be 39 % off."""
        n_pairs, rho, errors = 32, 0.6, []
        for seed in range(16):
            generator = np.random.default_rng(200 + seed)
            noise = generator.normal(size=(3, n_pairs, 2, 13000))
            noise = noise[:, :, 0] + 1j * noise[:, :, 1]
            pairs = np.stack([noise[0], rho * noise[0]
                              + np.sqrt(1 - rho**2) * noise[1]], axis=1)
            samples = program.to_int8(20 * pairs.reshape(2 * n_pairs, 1, -1))
            recording = self.write(program.Scene(samples))
            quick = self.path("quick.h5")
            self.well("correlate", self.ini(oracle.Setup(
                16, 0.0032, method="fft", window="hann"),
                {"postprocess.quicklook": quick}), recording, "-o",
                      self.path("out.uvh5"), "--force", "--quiet")
            with h5py.File(quick, "r") as file:
                fisher = {name: item[:, 0] for name, item in
                          file["fisher"].items()}
            first = np.cumsum([0] + list(range(2 * n_pairs, 1, -1)))
            rows = first[::2] + 1           # (0, 1), (2, 3) …
            self.assertTrue(np.all(fisher["state"][rows] == 1))
            sigma = (np.arctanh(fisher["upper"][rows])
                     - np.arctanh(fisher["lower"][rows])) / (2 * 1.96)
            errors.append((np.arctanh(fisher["coherence"][rows])
                           - np.arctanh(rho)) / sigma)
        errors = np.concatenate(errors)
        self.assertEqual(len(errors), 512)
        self.assertAlmostEqual(np.std(errors), 1, delta=0.16)
        # rounding the samples lowers rho by 2 x 10^-4, 0.05 sigma
        self.assertAlmostEqual(np.mean(errors), 0, delta=5 / np.sqrt(512))


class Refused(program.Job):
    """Settings and file names that must be refused."""

    def setUp(self):
        super().setUp()
        self.quick = self.path("quick.h5")
        self.option = ("--set", f"postprocess.quicklook={self.quick}")

    def test_existing_file(self):
        self.save(self.quick, "precious")
        recording = self.recording()
        done = self.correlate(recording, *self.option)
        self.assert_refused(done, 2, "quick.h5", "--force")
        self.assertEqual(program.text(self.quick), "precious")
        self.well(*self.words(recording, *self.option, "--force"))
        with h5py.File(self.quick, "r") as file:
            self.assertEqual(file.attrs["format"], b"fx8-quicklook")

    def test_another_result(self):
        """The quick-look named like the result or its .part, and the result like
        the quick-look's, through a link to the folder; one of two results."""
        recording = self.recording()
        alias = self.path("alias")
        os.symlink(self.folder, alias)
        for output, extra in (
                (self.quick, ()), (self.quick + ".part", ()),
                (self.path("quick.h5"), ("--force",)),
                (os.path.join(alias, "quick.h5"), ())):
            with self.subTest(output=output, extra=extra):
                self.output = output
                done = self.correlate(recording, *self.option, *extra)
                self.assert_refused(done, 2, "another result of this run")
        self.output = self.path("out.uvh5")
        done = self.correlate(
            recording, "--precision", "both", "--set",
            f"postprocess.quicklook={self.path('out.int8.uvh5')}")
        self.assert_refused(done, 2, "another result of this run")
        done = self.correlate(
            recording, "--set",
            f"postprocess.quicklook={self.output}.part", "--force")
        self.assert_refused(done, 2, "another result of this run")

    def test_bounds_alone(self):
        self.refuse(self.recording(), "postprocess.quicklook", "interval",
                    code=2, extra=(*self.option, "--precision", "interval"))
        self.assertFalse(os.path.exists(self.quick))

    def test_no_room(self):
        """A file size limit stops the quick-look at any place, from the header
        to the last dump, while the packed result has room."""
        samples = np.zeros((8, 1, 80_000)) + 0j
        recording = self.write(program.Scene(samples), "zero.h5")
        options = ("--quiet", "--set", "output.compression=gzip")
        self.well(*self.words(recording, *self.option, *options))
        whole = os.stat(self.quick).st_size
        least = os.stat(self.output).st_size
        self.assertGreater(whole, least + 100_000)
        os.remove(self.quick)
        os.remove(self.output)
        for size in (least + 50_000, (least + whole) // 2, whole - 5000):
            def limit(size=size):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            with self.subTest(size=size, whole=whole):
                self.refuse(recording, "quick.h5.part",
                            extra=(*self.option, *options), preexec_fn=limit)
                self.assertFalse(os.path.exists(self.quick))

    def test_failed_run_leaves_nothing(self):
        self.refuse(self.path("absent.h5"), "absent.h5", extra=self.option)
        self.assertFalse(os.path.exists(self.quick))


class Interrupted(program.Job):
    """A signal leaves a quick-look of the finished dumps."""

    def test_cut_like_the_result(self):
        recording = self.many_dumps()
        process = self.start(*self.words(
            recording, "--quiet", "--set",
            f"postprocess.quicklook={self.path('quick.h5')}"),
            env={**os.environ, **self.holding(recording)})
        self.wait_for_dump(process, self.output + ".part")
        self.end(process, signal.SIGINT)
        self.assertFalse(os.path.exists(self.path("quick.h5.part")))
        got = program.read(self.output)
        n_dumps = got.visibilities.shape[0]
        self.assertLess(n_dumps, 200)
        with h5py.File(self.path("quick.h5"), "r") as file:
            self.assertEqual(file["coherence"].shape[0], n_dumps)
            self.assertEqual(file["time_julian_date"].shape[0], n_dumps)
            np.testing.assert_array_equal(file["flags"][...], got.flags)
            self.assertTrue(np.all(np.isfinite(file["time_julian_date"])))
            self.assertEqual(file["counts/cells"][()],
                             got.visibilities.size)
