# SPDX-License-Identifier: BSD-3-Clause
"""`[channelizer] ripple_file`: the response of the filter that cut out coarse
bands, divided out.

Shows (correlation, ripple of coarse bands): noise that went through a filter
    like that of SKA-Low's oversampled bands has the autos that it had before
    the filter, in INT8 and FP32; without the key some differ by half
Within: 10⁻³ in every channel
Because: the response bends within a channel, by 2.7·10⁻⁴ at most; the rounding
    of both recordings and of INT8 scatters the ratio of 25,000 spectra by
    1.7·10⁻⁴

Shows (commands, ripple of coarse bands): only visibilities and levels in dB
    change, by the power that linear interpolation gives at the offset from the
    centre of the band, in every precision, sideband and band, real samples and
    complex ones, with averages, on the CPU and on a pretend device; `/fx8`
    holds the powers, `compare` predicts the same noise of coherences, `join` needs them
    in all files or none, `--resume` names one that differs; the recipe of
    config/README.md makes a table that flattens its own recording; bad tables,
    and uncovered channels, are refused in one line
Within: 2⁻²² of a visibility (bounds: and around it); quick-look 2⁻¹⁰; equal
Because: two roundings to float, one to half
"""
import os
import pathlib
import signal
from fractions import Fraction

import h5py
import numpy as np

import aavs_files
import oracle
import program
from resumed import ResumedJob

RATE_HZ = float(aavs_files.RATE)
CHANNELS, KEPT, BANDS = 256, 216, 2
START = Fraction(1_581_897_600)
KEEP = {"channelizer.keep_fraction": "27/32", **program.PLACE}
N_TAPS = 13


def lowpass():
    """A filter with ripple, and 0.4 dB below its middle at the edges of the
    kept band."""
    taps = np.sinc((np.arange(N_TAPS) - N_TAPS // 2) * 30 / 32)
    return taps / np.sqrt(np.sum(taps**2))


def power_of(taps, offsets_hz):
    """|H|^2 at frequencies."""
    turns = np.multiply.outer(offsets_hz / RATE_HZ, np.arange(len(taps)))
    return np.abs(np.exp(-2j * np.pi * turns) @ taps)**2


def line(least_hz, least, most_hz, most):
    """The text of a table of two rows."""
    return oracle.ripple_text(((least_hz, least), (most_hz, most)))


class Flat(program.Case):
    """Noise of two coarse bands before the filter, and after it."""

    @staticmethod
    def noise(n_antennas, n_samples):
        """[band][antenna][pol][time]: white noise, and what the filter passes
        of it at the same instants."""
        generator = np.random.default_rng(71)
        shape = (BANDS, n_antennas, 2, n_samples + N_TAPS - 1)
        white = 30 * generator.standard_normal((*shape, 2), np.float32).view(
            np.complex64)[..., 0]
        filtered = sum(np.float32(tap) * white[..., k:k + n_samples]
                       for k, tap in enumerate(lowpass()))
        return white[..., N_TAPS // 2:][..., :n_samples], filtered

    def record(self, tile, samples):
        """Returns the path of a file."""
        return aavs_files.write(
            self.folder, program.to_int8(samples), START, tile=tile, part=0,
            first=0, n=samples.shape[-1], block=4000, channel_id=140)[0]

    def autos(self, path, precision, extra=None):
        """Powers [channel], mean over bands and inputs."""
        setup = oracle.Setup(CHANNELS, "all", precision=precision,
                             target_rms=30)
        self.got = self.fx8(path, setup, {**KEEP, **(extra or {})})
        is_auto = (self.got.header["ant_1_array"]
                   == self.got.header["ant_2_array"])
        values = self.got.visibilities[0, is_auto, :, :2].real
        return values.mean(axis=(0, 2)).reshape(BANDS, KEPT).mean(axis=0)

    def test_flat_noise(self):
        before, after = (self.record(tile, samples) for tile, samples
                         in enumerate(self.noise(4, 400_000)))
        rows_hz = np.arange(-400_000, 400_001, 200.0)
        ripple = {"channelizer.ripple_file": self.save(
            "ripple.csv", oracle.ripple_text(zip(
                rows_hz, power_of(lowpass(), rows_hz))))}
        for precision in ("int8", "fp32"):
            want = self.autos(before, precision)
            bent = self.autos(after, precision) / want
            flat = self.autos(after, precision, ripple) / want
            self.assertGreater(bent.max() / bent.min(), 1.5)
            np.testing.assert_allclose(flat, 1, atol=1e-3)

    def test_the_recipe(self):
        """The noise itself flattens itself; bands and inputs are folded."""
        path = self.record(1, self.noise(2, 60_000)[1])
        page = program.text(pathlib.Path(__file__).parents[2]
                            / "config" / "README.md")
        recipe, = (block for block in program.blocks(page)
                   if "ripple.csv" in block and "import" in block)
        measured = self.autos(path, "fp32")
        os.rename(self.got.path, self.path("flat.uvh5"))
        there = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, there)
        exec(recipe, {})    # pylint: disable=exec-used
        rows = np.loadtxt("ripple.csv", delimiter=",", skiprows=1)
        offsets_hz = (np.arange(KEPT) - KEPT // 2) * RATE_HZ / CHANNELS
        np.testing.assert_allclose(rows[:, 0], offsets_hz, rtol=1e-12)
        np.testing.assert_allclose(rows[:, 1], measured / measured.mean(),
                                   rtol=1e-6)   # a mean of floats
        # 4 inputs x 2 bands x 226 spectra
        powers = power_of(lowpass(), offsets_hz)
        np.testing.assert_allclose(rows[:, 1], powers / powers.mean(),
                                   rtol=5 / np.sqrt(8 * 226))
        flat = self.autos(path, "fp32", {"channelizer.ripple_file":
                                         self.path("ripple.csv")})
        np.testing.assert_allclose(flat, measured.mean(), rtol=1e-6)


class Ratio(program.Job):
    """One recording with and without the key."""

    ROWS = ((-6e5, 0.5), (-1.2e5, 2), (0, 0.3), (3e5, 3), (6e5, 1.1))

    def setUp(self):
        super().setUp()
        self.table = self.save("ripple.csv", oracle.ripple_text(self.ROWS))
        self.ripple = {"channelizer.ripple_file": self.table}

    def powers(self, n_channels, is_complex):
        """At the centres of the channels of 1 MS/s."""
        c = np.arange(n_channels)
        return np.interp((c - n_channels // 2) * 1e6 / n_channels if is_complex
                         else c * 5e5 / n_channels - 2.5e5,
                         *np.transpose(self.ROWS))

    def write_noise(self, is_complex, sideband):
        """Two antennas that hear something in common, with a gap."""
        own = program.noise(5, 2, 2, 30_000, is_complex=is_complex)
        common = program.noise(6, 30_000, is_complex=is_complex)
        return self.write(program.Scene(
            program.to_int8(0.6 * own + 0.5 * common), sideband=sideband,
            missing=[(1, 0, 4_000, 700)]))

    def assert_divided(self, without, divided, powers):
        """By powers [channel], and nothing else is different."""
        self.assert_equal(divided, without, ("flags", "nsamples"))
        want = without.visibilities / powers[:, None]
        for part in ("real", "imag"):
            off = np.abs(getattr(divided.visibilities, part)
                         - getattr(want, part))
            np.testing.assert_array_less(
                off, 2.0**-22 * np.abs(getattr(want, part)) + 1e-30)
        with h5py.File(divided.path) as file:
            np.testing.assert_allclose(file["fx8/ripple"][...], powers,
                                       rtol=1e-14)
            if divided.gains is not None:
                np.testing.assert_array_equal(divided.gains, without.gains)
        with h5py.File(without.path) as file:
            self.assertNotIn("ripple", file["fx8"])

    def test_every_precision_and_sideband(self):
        for is_complex, sideband, precision in (
                (True, "upper", "both"), (True, "lower", "both"),
                (False, "upper", "both"), (False, "lower", "both"),
                (True, "upper", "interval"), (False, "lower", "interval")):
            path = self.write_noise(is_complex, sideband)
            kinds = {"both": ("int8", "fp32"), "interval": ("down", "up")}
            self.configure(oracle.Setup(12, 0.008, precision=precision))
            results = []
            for number, keys in enumerate(({}, self.ripple)):
                self.output = self.path(f"out{number}.uvh5")
                self.well(*self.words(path, "--force"), keys=keys)
                results.append([program.read(self.path(
                    f"out{number}.{kind}.uvh5")) for kind in kinds[precision]])
            with self.subTest(is_complex=is_complex, sideband=sideband,
                              precision=precision):
                for without, divided in zip(*results):
                    self.assert_divided(without, divided,
                                        self.powers(12, is_complex))

    def test_predicted_noise(self):
        """The noise of coherences is what it was, and so is its prediction, at
        the end of a run and from its files."""
        path = self.write_noise(True, "upper")
        self.configure(oracle.Setup(64, 0.007, precision="both"))
        found = []
        for keys in {}, self.ripple:
            said = self.well(*self.words(path, "--force"), keys=keys).stdout
            found.append(self.verdict(*(self.path(f"out.{kind}.uvh5")
                                        for kind in ("int8", "fp32"))))
            self.assertEqual(found[-1]["verdict"], "good")
            self.assertIn(found[-1]["reason"], said)
            self.assertEqual("\nripple " in said, bool(keys))
        for name in "measured", "predicted":
            # coherences of floats
            self.assertAlmostEqual(found[1]["overall"][name]
                                   / found[0]["overall"][name], 1, places=5)

    def test_bounds_enclose(self):
        path = self.write_noise(True, "upper")
        for average in (1, 3):
            self.configure(oracle.Setup(12, 0.008, channel_average=average,
                                        flag_edges=2), self.ripple)
            files = []
            for precision, names in (("fp32", (self.output,)), ("interval", (
                    self.path("out.down.uvh5"), self.path("out.up.uvh5")))):
                self.well(*self.words(path, "--force"),
                          keys={"correlator.precision": precision})
                files += names
            self.well("compare", "--rigorous", *files)

    def test_averages(self):
        """Channels are divided before they are averaged."""
        path = self.write_noise(True, "upper")
        for precision in ("int8", "fp32"):
            fine, mean = (self.fx8(path, oracle.Setup(
                12, 0.008, precision=precision, channel_average=average,
                flag_edges=1), self.ripple) for average in (1, 3))
            use = ~fine.flags.reshape(*fine.flags.shape[:2], 4, 3, 4)
            want = (fine.visibilities.reshape(use.shape) * use).sum(axis=3)
            used = use.sum(axis=3)
            np.testing.assert_allclose(
                mean.visibilities[used > 0], want[used > 0] / used[used > 0],
                rtol=1e-6, atol=1e-6 * np.abs(want).max())

    def test_device(self):
        """With a quick-look, which the device makes from its own results."""
        path = self.write_noise(True, "upper")
        look = self.path("look.h5")
        for average in (1, 2):
            self.configure(oracle.Setup(12, 0.008, precision="both",
                                        channel_average=average),
                           {"postprocess.quicklook": look})
            results, looks = [], []
            for keys in ({}, self.ripple,
                         {**self.ripple, "correlator.backend": "cuda"}):
                self.well(*self.words(path, "--force"), keys=keys,
                          environment=program.devices(2))
                results.append([program.read(self.path(f"out.{kind}.uvh5"))
                                for kind in ("int8", "fp32")])
                with h5py.File(look) as file:
                    looks.append((file["coherence"][...].astype(float),
                                  file["spectra_db"][...],
                                  file["fisher/coherence"][...]))
            # integers are equal; floats within the error of their spectra
            self.assert_equal(results[2][0], results[1][0])
            floats = [result[1].visibilities for result in results]
            np.testing.assert_allclose(floats[2], floats[1],
                                       atol=2e-6 * np.abs(floats[1]).max())
            for have, want in zip(looks[2], looks[1]):
                np.testing.assert_array_equal(have, want)
            if average == 1:
                powers = self.powers(12, True)
                scale = np.abs(looks[0][0]).max()
                np.testing.assert_allclose(looks[1][0], looks[0][0],
                                           atol=2.0**-10 * scale)
                np.testing.assert_allclose(
                    looks[1][1], looks[0][1] - 10 * np.log10(powers),
                    atol=1e-4)
                np.testing.assert_allclose(looks[1][2], looks[0][2], atol=1e-5)

    def test_join(self):
        """In time: in all files the same, or refused; in frequency: side by
        side."""
        samples = program.noise(8, 2, 1, 20_000)
        pieces = {}
        other = {"channelizer.ripple_file": self.save(
            "other.csv", line(-5e5, 1, 5e5, 1.25))}
        for name, first, dc_hz, keys in (
                ("a", 0, 150e6, self.ripple), ("b", 0.01, 150e6, self.ripple),
                ("none", 0.01, 150e6, {}), ("other", 0.01, 150e6, other),
                ("c", 0, 151e6, other), ("bare", 0, 151e6, {})):
            path = self.write(program.Scene(samples, dc_hz=dc_hz))
            self.configure(oracle.Setup(16, 0.005, start_s=first,
                                        duration_s=0.0092), keys)
            pieces[name] = self.path(f"{name}.uvh5")
            self.well("correlate", self.config, path, "-o", pieces[name])

        def ripple(name):
            with h5py.File(self.path(name)) as file:
                return file["fx8/ripple"][...]

        for names in ("ab", "ac"):
            self.well("join", *(pieces[name] for name in names), "-o",
                      self.path(f"{names}.uvh5"))
        np.testing.assert_array_equal(ripple("ab.uvh5"), ripple("a.uvh5"))
        np.testing.assert_array_equal(
            ripple("ac.uvh5"), np.r_[ripple("a.uvh5"), ripple("c.uvh5")])
        for name in ("none", "other", "bare"):
            for paths in ((pieces["a"], pieces[name]),
                          (pieces[name], pieces["a"])):
                done = program.run("join", *paths, "-o", self.output)
                self.assert_one_line(done, 1, "fx8/ripple")
                self.assertFalse(os.path.exists(self.output))

    def test_what_is_refused(self):
        path = self.recording()
        self.configure(oracle.Setup(16, 0.002, precision="int8"))
        key = "channelizer.ripple_file"
        narrow = self.save("narrow.csv", line(-5e5, 1, 4e5, 2))
        for name, code, mentions in (
                (narrow, 2, (f"{key}: {narrow}: covers -500000 to 400000 Hz: "
                             "expected a power for each channel; one is at "
                             "437500 Hz",)),
                (self.path("absent.csv"), 2, ("absent.csv",)),
                (self.save("down.csv", line(0, 1, -1, 1)), 2, (
                    "down.csv:3: offset_hz: -1.0: expected more than in the "
                    "row before",)),
                (self.save("zero.csv", line(-5e5, 1, 5e5, 0)), 2, (
                    "zero.csv:3: power: 0.0: expected a number from 1e-09 to "
                    "1e+09",))):
            with self.subTest(name=name):
                self.refuse(path, *mentions, code=code, keys={key: name})
                self.refuse(path, *mentions, code=code, keys={key: name},
                            extra=("--dry-run",))
        few = self.write(program.Scene(np.sign(program.noise(
            9, 2, 1, 9000).real)), "few.h5")
        self.refuse(few, "input.van_vleck: yes: expected no ripple", code=2,
                    keys={"input.van_vleck": "yes", "channelizer.method": "fft",
                          key: self.table})


class Resumed(ResumedJob):
    """A table that is another one now."""

    def test_table_has_changed(self):
        name = self.save("ripple.csv", line(-5e5, 1, 5e5, 2))
        self.job({"channelizer.ripple_file": name})
        self.end(self.start_held(), signal.SIGUSR1, code=75)
        self.save("ripple.csv", line(-5e5, 1.5, 5e5, 2))
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, "is of another run: fx8/ripple: 1: "
                             "expected 1.5")
        self.save("ripple.csv", line(-5e5, 1, 5e5, 2))
        self.assertGreater(self.complete(), 0)
