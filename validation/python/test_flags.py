# SPDX-License-Identifier: BSD-3-Clause
"""What [flag] leaves out: results equal the oracle's, which works it out from
CONVENTIONS.

Shows (recordings, flags for interference): the channels listed, and no others,
    are flagged: single frequencies, ranges, borders, list and CSV; complex and
    real samples, both sidebands, averages, bands; data and weights are kept.
    So are cells whose weight is below min_weight, and none at it. Samples
    beyond clip_level are missing with their margin, whatever block, thread,
    rank or run they are read in, in the levels and in `fx8 info` too
Within: flags and weights equal; visibilities FP32 2·10⁻⁶ of √(PᵢPⱼ), INT8 equal
    but near a tie
Because: a flag is a comparison of numbers; for values see program.py
"""
import json

import h5py
import numpy as np

import aavs_files
import oracle
import program

DC_HZ = 150e6
KINDS = ((True, "upper"), (True, "lower"), (False, "upper"), (False, "lower"))


def text_of(ranges):
    """Ranges as in an INI file."""
    return ",".join(f"{first!r}" if first == last else f"{first!r}-{last!r}"
                    for first, last in ranges)


def keys_of(setup):
    """The keys of [flag] in an oracle.Setup."""
    keys = {}
    if setup.flag_channels:
        keys["flag.channels"] = text_of(setup.flag_channels)
    if setup.min_weight:
        keys["flag.min_weight"] = setup.min_weight
    if setup.clip_level is not None:
        keys["flag.clip_level"] = setup.clip_level
        keys["flag.clip_margin"] = setup.clip_margin
    return keys


class Flags(program.Case):
    def check(self, scene, by_turns=False, **setup):
        """Both precisions, or by turns one of them, equal the oracle; returns
        the last result."""
        self.count += 1
        path = self.write(scene, f"in{self.count}.h5")
        recording = oracle.read_native(path)
        both = "int8", "fp32"
        for precision in both if not by_turns or program.LONG else (
                both[self.count // 2 % 2],):
            planned = oracle.Setup(16, 0.002, precision=precision, **setup)
            with self.subTest(setup=planned, sideband=scene.sideband):
                got = self.fx8(path, planned, keys_of(planned))
                quantised = precision == "int8"
                want = oracle.correlate(recording, planned,
                                        got.gains if quantised else None)
                self.compare_axes(got, want)
                compare = self.compare_int8 if quantised else self.compare_fp32
                compare(got, want)
        return got

    def scene(self, is_complex=True, sideband="upper", seed=1):
        return program.Scene(
            program.noise(seed, 3, 2, 9000, is_complex=is_complex),
            sideband=sideband, dc_hz=DC_HZ)

    # --- channels ----------------------------------------------------

    def test_listed_channels(self):
        """Channels of 62.5 kHz: inside one, on a border, across three, far
        outside, alone and in averages."""
        for is_complex, sideband in KINDS:
            width = 1e6 / 16 / (1 if is_complex else 2)
            low = DC_HZ - (0.5e6 if is_complex or sideband == "lower" else 0)
            at = [low + k * width for k in range(17)]
            for ranges in (((at[5] + 0.1 * width,) * 2,),
                           ((at[3] + 0.5 * width,) * 2, (at[9], at[9])),
                           ((at[6] + 0.2 * width, at[8] + 0.9 * width),
                            (10e6, 20e6), (1e12, 1e12)),
                           ((at[0] - 1e6, at[2] + 0.4 * width),)):
                for average in (1, 4):
                    self.check(self.scene(is_complex, sideband),
                               by_turns=True, flag_channels=ranges,
                               channel_average=average)

    def test_a_list_and_a_table_are_one_run(self):
        """The table's values are in the result, which says how many channels;
        without the list everything but the flags is the same."""
        path = self.write(self.scene())
        setup = oracle.Setup(16, 0.002, precision="int8")
        ranges = ((149.6e6, 149.6e6), (150.1e6, 150.2e6))
        table = self.save("rfi.csv", "# known carriers\nend_hz, frequency_hz\n"
                                     ",149.6e6\n150.2e6,150.1e6\n")
        plain = self.fx8(path, setup)
        listed = self.fx8(path, setup, {"flag.channels": text_of(ranges)})
        tabled = self.fx8(path, setup, {"flag.channels": table})
        self.assert_equal(tabled, listed)
        self.assertEqual(tabled.keywords["CONFSHA"],
                         listed.keywords["CONFSHA"])
        self.assertIn("\nchannels = 1.496e+08,1.501e+08-1.502e+08\n",
                      tabled.history)
        self.assert_equal(listed, plain, ("visibilities", "nsamples"))
        # 62.5 kHz from 149.46875 MHz: 149.53 .. 149.59, 149.59 .. 149.66
        for channel, is_flagged in ((2, True), (9, False), (10, True),
                                    (11, True), (12, False)):
            self.assertEqual(listed.flags[:, :, channel].all(), is_flagged)
        done = self.well("correlate", self.ini(setup), path, "-o",
                         self.path("said.uvh5"),
                         keys={"flag.channels": text_of(ranges)})
        self.assertIn("\nflagged    3 of 16 channels: configured\n",
                      done.stdout)

    def test_channels_of_bands(self):
        """Three bands: a list across the border of two of them."""
        rate_hz = float(aavs_files.RATE)
        samples = program.noise(7, 3, 2, 1, 4000)
        path, _ = aavs_files.write(self.folder, samples, 1_600_000_000, tile=0,
                                   part=0, first=0, n=4000, block=500,
                                   channel_id=140)
        for average in (1, 3):
            setup = oracle.Setup(32, 60 * 32 / rate_hz,
                                 channel_average=average)
            keys = {"channelizer.keep_fraction": "27/32", **program.PLACE}
            plain = self.fx8(path, setup, keys)
            width = 25e6 / 27 / 32
            low = 141 * 25e6 / 32 - 14.6 * width   # in the first band
            got = self.fx8(path, setup, {
                **keys, "flag.channels": text_of(((low, low + 7 * width),))})
            centres = (140 * 25e6 / 32
                       + (np.arange(81) - 13) * width).reshape(-1, average)
            hit = ((centres + width / 2 >= low)
                   & (centres - width / 2 <= low + 7 * width)).all(axis=1)
            self.assertEqual(hit.sum(), 8 if average == 1 else 2)
            np.testing.assert_array_equal(got.flags[0, 0, :, 0], hit)
            self.assertFalse(plain.flags.any())
            if average == 1:
                self.assert_equal(got, plain, ("visibilities", "nsamples"))

    def test_a_list_that_flags_nothing_or_everything(self):
        path = self.write(self.scene())
        config = self.ini(oracle.Setup(16, 0.002))
        for text, words in (
                ("1e6", "flag.channels: no entry lies in a channel: they cover "
                        "149.46875 to 150.46875 MHz"),
                ("1e6-1e9", "flag.channels: flags every channel: 16 of 16")):
            done = self.well("correlate", config, path, "-o",
                             self.path("x.uvh5"), "--force",
                             keys={"flag.channels": text})
            self.assertIn(f"fx8: warning: {words}\n", done.stderr)

    def test_bad_lists_and_tables(self):
        path = self.write(self.scene())
        expected = ("expected none, a list such as 100.5e6,137e6-138e6 in Hz, "
                    "or a CSV of at most 1000 rows")
        config = self.ini(oracle.Setup(16, 0.002))
        for text in ("", "1e6,", "2e6-1e6", "150 MHz", "no.csv", "1e6-2e6-3e6",
                     "1e16", ",".join(1001 * ["1e6"])):
            done = program.run("correlate", config, path, "-o",
                               self.path("x.uvh5"),
                               keys={"flag.channels": text})
            shown = (text if len(text) <= 120 else text[:120] + "...")
            self.assert_one_line(done, 2, f"--set: flag.channels: "
                                          f"{shown or '(empty)'}: {expected}")
        for table, words in (
                ("mhz\n1\n", ":1: mhz: unknown column: expected frequency_hz"),
                ("end_hz\n1\n", ":1: frequency_hz: expected this column"),
                ("frequency_hz,end_hz\n1e6,2e6\n\n3e6,2e6\n",
                 ":4: end_hz: 2e6: expected a number from 3e+06 to 1e+15"),
                ("frequency_hz\n" + 1001 * "1e6\n",
                 ": 1001 rows: expected at most 1000")):
            name = self.save("bad.csv", table)
            done = program.run("correlate", config, path, "-o",
                               self.path("x.uvh5"),
                               keys={"flag.channels": name})
            self.assert_one_line(done, 2, name + words)

    # --- weights -----------------------------------------------------

    def gaps(self, scene):
        """Losses of all lengths, in one input or in all."""
        generator = np.random.default_rng(4)
        scene.missing = [(-1, -1, 2500, 100)] + [
            (int(generator.integers(3)), int(generator.integers(-1, 2)),
             int(generator.integers(8900)), int(generator.integers(1, 900)))
            for _ in range(12)]
        return scene

    def test_least_weights(self):
        """Dumps of 125 spectra and a shorter last one, in which a weight of
        a whole number of them equals min_weight to the last bit."""
        for is_complex, sideband in KINDS[:3]:
            scene = self.gaps(self.scene(is_complex, sideband))
            plain = self.check(scene, method="fft", last_dump_min=0)
            weights = np.unique(plain.nsamples)
            self.assertGreater(len(weights), 10)
            for least in (float(weights[len(weights) // 2]), 0.7, 1):
                for average in (1, 4):
                    got = self.check(scene, method="fft", last_dump_min=0,
                                     channel_average=average,
                                     min_weight=least)
                    self.assertFalse(
                        (~got.flags & (got.nsamples < least)).any())
                    if average == 1:
                        np.testing.assert_array_equal(
                            got.flags,
                            plain.flags | (got.nsamples < np.float32(least)))
                        self.assert_equal(got, plain, ("visibilities",
                                                       "nsamples"))

    def test_weights_of_bounds_and_the_quicklook(self):
        """Every way to a result flags the same."""
        path = self.write(self.gaps(self.scene()))
        least = {"flag.min_weight": 0.8}

        def flags(keys, precision="fp32", name="out.uvh5"):
            self.well("correlate", self.ini(oracle.Setup(
                16, 0.002, method="fft", precision=precision)), path, "-o",
                self.path("out.uvh5"), "--force", keys={
                    "correlator.backend": "cpu", **least, **keys})
            return program.read(self.path(name)).flags

        want = flags({})
        self.assertTrue(0 < want.sum() < want.size)
        np.testing.assert_array_equal(
            flags({}, "interval", "out.down.uvh5"), want)
        np.testing.assert_array_equal(flags({}, "both", "out.int8.uvh5"), want)
        look = self.path("look.h5")
        np.testing.assert_array_equal(
            flags({"postprocess.quicklook": look}), want)
        with h5py.File(look) as file:
            np.testing.assert_array_equal(file["flags"][...].astype(bool),
                                          want)

    # --- samples beyond a level --------------------------------------

    def pulses(self, scene):
        """Pulses of one or a few samples: at both ends, in single parts of
        complex samples, at the level itself and one above, -128."""
        generator = np.random.default_rng(9)
        unit = (1, 1j) if np.iscomplexobj(scene.samples) else (1, 1)
        rows = scene.samples.reshape(6, -1)
        rows[:] = np.clip(rows.real, -70, 70) + (
            1j * np.clip(rows.imag, -70, 70) if unit[1] == 1j else 0)
        for k, (first, value) in enumerate((
                (0, 101), (8999, -101), (500, 100), (700, -100), (900, -128),
                (2100, 127), (2101, 127), (2120, 127))):
            rows[k % 6, first] = value * unit[k % 2]
        for _ in range(20):
            first = generator.integers(8990)
            rows[generator.integers(6), first:first + generator.integers(
                1, 9)] = 120 * unit[generator.integers(2)]
        return scene

    def test_samples_beyond_a_level(self):
        for is_complex, sideband in KINDS:
            scene = self.pulses(self.scene(is_complex, sideband))
            scene.missing = [(0, 0, 2000, 90), (-1, -1, 7000, 30)]
            for margin in (0, 40, 150):
                for extra in ({}, {"start_s": 0.000905, "duration_s": 0.00709},
                              {"missing_value": -128, "missing_run": 1}):
                    got = self.check(scene, by_turns=True, clip_level=100,
                                     clip_margin=margin, taps=4, **extra)
                    self.assertTrue((got.nsamples < 1).any())
            self.check(scene, clip_level=127, method="fft")
            self.check(scene, clip_level=1, method="fft")

    def test_pulses_leave_the_mean(self):
        """Pulses 30 dB above the noise, 1 % of the time: without clip_level
        they are the result, with it the noise is."""
        generator = np.random.default_rng(5)
        noise = program.noise(5, 2, 1, 100_000, level=4)
        starts = 100 * np.arange(1000) + generator.integers(0, 90, 1000)
        pulsed = noise.copy()
        pulsed[:, :, starts] = 127 * (1 + 1j)
        setup = oracle.Setup(8, "all", method="fft")
        power = {}
        for name, samples, keys in (
                ("clean", noise, {}), ("pulsed", pulsed, {}),
                ("blanked", pulsed, {"flag.clip_level": 64})):
            got = self.correlate(program.Scene(samples), setup, extra=keys)
            power[name] = got.visibilities[0, 0, 2:-2, 0].real.mean()
        print("# power, pulsed and blanked, of clean noise:", power)
        # P of noise 2 sigma^2 = 32; of pulses 1 % of 2 127^2 = 323
        self.assertGreater(power["pulsed"], 10 * power["clean"])
        # 50,000 samples at least: 5 sqrt(1/50,000)
        self.assertAlmostEqual(power["blanked"] / power["clean"], 1,
                               delta=0.025)

    def test_blocks_threads_and_info(self):
        """One file, files in pieces, threads; levels of `fx8 info`."""
        scene = self.pulses(self.scene())
        path = self.write(scene)
        keys = {"flag.clip_level": 100, "flag.clip_margin": 33}
        setup = oracle.Setup(16, 0.002, precision="int8")
        want = self.fx8(path, setup, keys)
        for more in ({"correlator.threads": 1}, {"correlator.threads": 7},
                     {"correlator.kernel": "reference"}):
            self.assert_equal(self.fx8(path, setup, {**keys, **more}), want)
        for order in (("time", "antenna", "pol"), ("pol", "time", "antenna")):
            other = self.write(scene, "other.h5", axes=order,
                               chunks=tuple(97 if axis == "time" else 1
                                            for axis in order))
            self.assert_equal(self.fx8(other, setup, keys), want)
        said = json.loads(self.well(
            "info", "--json", "--all", path, keys=keys).stdout)
        mask = oracle.missing_mask(
            oracle.read_native(path), oracle.Setup(
                16, 0.002, clip_level=100, clip_margin=33),
            [(a, p) for a in range(3) for p in range(2)],
            scene.samples.reshape(6, -1))
        # JSON has 17 digits
        np.testing.assert_allclose(
            [one["missing_share"] for one in said["levels"]["inputs"]],
            mask.mean(axis=1), rtol=1e-15)
