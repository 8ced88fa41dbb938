# SPDX-License-Identifier: BSD-3-Clause
"""Averages in time: `[output] time_average_loss`.

Shows (results, averages in time): a source anywhere above the horizon loses at
    most `time_average_loss` of its amplitude, and with twice as many dumps it
    would lose more; values, flags, weights, times, lengths and uvw of the rows
    are the averages of the dumps that a run without the key writes, with gaps,
    flags, aligned dumps, channels averaged and phase centres; counts of each
    dump stay; pyuvdata reads and selects such results without a warning; a dry
    run and a plan give their size; commands that need the same baselines in
    every dump refuse them; where nothing is averaged, the result is the one
    without
Within: values 2^-23 of each and 2^-40 of the mean amplitude, weights 2^-23;
    lengths 4e-16, uvw 1e-9 of the baseline, apparent places 1e-12; flags, dates
    and a single dump equal; sizes 0.5 %; the loss without
    tolerance
Because: the same doubles are summed in another order, at most 64 of them, and
    the float of a sum near a tie may be its neighbour; in a row the sky turns by
    5 microradians, so its middle is that of its ends; three digits are printed
In: Bound, Rows, Refused, scenario/plan.py
"""
import json
import os
import re
import shutil
from fractions import Fraction

import h5py
import numpy as np

import averaged
import oracle
import program
import same_file
import uvdata
from averaged_checks import Checks

POSITIONS = np.array([[0, 0, 0], [40, 5, 1], [300, 40, 2], [3000, -500, 10],
                      [20_000, 9_000, 30]], float)
# With dumps of 1 ms at 150 MHz, baselines of 40 m are averaged over 64 dumps, of
# 300 m over 16, of 3 km over 2, and longer ones not.
LOSS = 1e-7


class Averaged(Checks, program.Case):
    """Two runs of a recording, with and without averages."""

    def setUp(self):
        super().setUp()
        samples = program.noise(611, 5, 2, 150_000)
        samples[2, 1, :40_000] = 0
        samples[3, 0] = 0
        missing = [(-1, -1, 30_000, 1_700), (1, 0, 80_000, 7_000)]
        self.input = self.write(program.Scene(
            samples, missing=missing, positions=POSITIONS))
        self.setup = oracle.Setup(16, 0.001, taps=4, precision="int8")

    def pair(self, keys=None, loss=LOSS, setup=None, outputs=("out.uvh5",)):
        """Results without and with averages, of each output."""
        found = []
        for n, value in enumerate((0, loss)):
            config = self.ini(setup or self.setup, {
                **(keys or {}), "output.time_average_loss": value})
            self.said = self.well("correlate", config, self.input, "--force",
                                  "-o", self.path("out.uvh5")).stdout
            for name in outputs:
                shutil.move(self.path(name), self.path(f"{n}.{name}"))
            found.append([averaged.Result(self.path(f"{n}.{name}"))
                          for name in outputs])
        return list(zip(*found))


class Bound(Averaged):
    """The loss at the horizon."""

    def test_no_direction_is_faster(self):
        """The Earth is turned by numbers, a thousandth of a degree, for sources
        in random directions; the fastest is at most the bound, and near it."""
        generator = np.random.default_rng(612)
        angle = np.radians(0.001)
        turn = np.array([[np.cos(angle), -np.sin(angle), 0],
                         [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        for _ in range(20):
            baseline = generator.normal(size=3) * 1000
            zenith = generator.normal(size=3)
            zenith /= np.linalg.norm(zenith)
            sky = generator.normal(size=(20_000, 3))
            sky /= np.linalg.norm(sky, axis=1)[:, None]
            up = sky[sky @ zenith > 0]
            turns = np.abs((turn @ baseline - baseline) @ up.T) * 150e6
            rates = (turns / averaged.LIGHT_M_S
                     / (angle / averaged.EARTH_RAD_S))
            bound = averaged.rate_hz(baseline, 150e6)
            self.assertLessEqual(rates.max(), bound * (1 + 1e-9))
            self.assertGreater(rates.max(), 0.98 * bound)
            # seen from a phase centre
            centre = up[0]
            rates = (np.abs((turn @ baseline - baseline) @ (up - centre).T)
                     * 150e6 / averaged.LIGHT_M_S
                     / (angle / averaged.EARTH_RAD_S))
            self.assertLessEqual(rates.max(), (1 + 1e-4) * averaged.rate_hz(
                baseline, 150e6, np.hypot(centre[0], centre[1])))

    def simulate(self, direction):
        """A recording of one strong source; returns its path."""
        config = self.save("sky.ini", program.ini_text({
            "observation.sample_rate_hz": 64000,
            "observation.dc_frequency_hz": 150000000,
            "observation.start_time_utc": "2021-03-20T12:00:00Z",
            "array.positions": self.save(
                "table.csv", "number,east_m,north_m,up_m\n0,0,0,0\n"
                "1,9000,0,0\n2,0,9000,0\n3,1500,0,0\n"),
            "array.latitude_deg": -45, "array.longitude_deg": 116,
            "array.altitude_m": 100, "delay.dut1_s": 0,
            "channelizer.channels": 4, "channelizer.method": "fft",
            "correlator.integration_time_s": 0.05,
            "simulate.duration_s": 8, "simulate.noise_rms": 2,
            "simulate.sources": self.save(
                "sources.csv", "ra_deg,dec_deg,I,Q,U,V\n"
                f"{direction[0]},{direction[1]},100,0,0,0\n")}))
        self.well("simulate", config, "-o", self.path("sky.h5"), "--force")
        return config

    def fastest(self, lst_deg):
        """Directions on the equator: south of the zenith, where a baseline from
        west to east turns fastest, and in the east at the horizon, where one
        from south to north does."""
        return {1: (lst_deg, 0), 2: (lst_deg + 90, 0)}

    def test_source_at_the_horizon(self):
        most, lost, worst = 0.05, {}, 0.0
        config = self.simulate((0, 0))
        self.well("correlate", config, self.path("sky.h5"), "-o",
                  self.path("lst.uvh5"))
        with h5py.File(self.path("lst.uvh5")) as file:
            lst_deg = np.degrees(np.median(file["Header/lst_array"][...]))
        for other, direction in self.fastest(lst_deg).items():
            self.simulate(direction)
            for value in 0, most:
                self.well("correlate", config, self.path("sky.h5"), "--force",
                          "-o", self.path(f"{value}.uvh5"), "--set",
                          f"output.time_average_loss={value}")
            full, got = (averaged.Result(self.path(f"{value}.uvh5"))
                         for value in (0, most))
            n = int(full.header["Nbls"])
            n_dumps = len(full.pairs) // n
            factors = averaged.factors(full, most)
            rows = averaged.rows([1] * n_dumps, factors)
            np.testing.assert_array_equal(
                got.pairs, [full.pairs[row[2]] for row in rows])
            amplitude = np.abs(full.data[:, 1:3, 0])
            for k, (first, end, baseline) in enumerate(rows):
                before = amplitude[baseline::n][first:end].mean(axis=0)
                loss = 1 - np.abs(got.data[k][1:3, 0]) / before
                self.assertLessEqual(loss.max(), most)
                worst = max(worst, loss.max())
            lost[other] = self.twice(full, factors, n, (0, other), most)
        self.assertAlmostEqual(worst, 0.0499, delta=5e-5)
        for other, (loss, expected) in lost.items():
            # one source, of which half a degree of the sky passes
            self.assertGreater(loss, most)
            self.assertAlmostEqual(loss / expected, 1, delta=0.05)

    def twice(self, full, factors, n, pair, most):
        """Loss, averaged over twice as many dumps, in the highest channel, and
        what the bound expects."""
        baseline = full.pairs[:n].index(pair)
        length = 2 * factors[baseline]
        values = full.data[baseline::n, 2, 0]
        values = values[:len(values) // length * length].reshape(-1, length)
        loss = 1 - np.abs(values.mean(axis=1)) / np.abs(values).mean(axis=1)
        turns = self.rate(full, pair) * length * full.header[
            "integration_time"][0]
        self.assertGreater(averaged.loss(turns), most)
        return loss.max(), averaged.loss(turns)

    def rate(self, full, pair):
        place = full.header["antenna_positions"]
        return averaged.rate_hz(place[pair[1]] - place[pair[0]],
                                full.header["freq_array"][2])


class Rows(Averaged):
    """What is written."""

    def test_averages(self):
        (full, got), = self.pair()
        factors = averaged.factors(full, LOSS)
        self.assertEqual({1, 2, 64} - {*factors}, set())
        self.check_averages(full, got, LOSS)
        self.assertEqual(got.keywords["TIMELOSS"], LOSS)
        self.assertNotIn("TIMELOSS", full.keywords)

    def test_flags_and_channels(self):
        (full, got), = self.pair({
            "output.channel_average": 4,
            "flag.min_weight": 0.7, "array.flag_antennas": 4,
            "correlator.threads": 2})
        self.assertTrue(full.flags.any() and not full.flags.all())
        self.check_averages(full, got, LOSS)

    def test_floats_without_autos(self):
        self.setup.precision = "fp32"
        (full, got), = self.pair({"output.baselines": "cross"}, 1e-8,
                                 self.setup)
        self.check_averages(full, got, 1e-8)

    def test_aligned_dumps(self):
        """Dumps of 62 and 63 spectra, and a shorter first one."""
        self.setup.align = "utc"
        (full, got), = self.pair({"input.start_s": 0.0004}, setup=self.setup)
        self.begin += Fraction(4, 10_000)
        lengths = self.lengths(full)
        self.assertGreater(len({*lengths}), 2)
        self.check_averages(full, got, LOSS)

    def test_phase_centers(self):
        """uvw and the apparent place of the middle of each row."""
        centers = self.save("centers.csv", "name,ra_deg,dec_deg\n"
                            "a,201.4,-43.0\nb,187.7,72.4\n")
        names = ("out.a.uvh5", "out.b.uvh5")
        pairs = self.pair({"delay.mode": "track", "delay.dut1_s": -0.1,
                           "delay.phase_centers": centers,
                           "observation.dc_frequency_hz": 150e6}, 1e-7,
                          outputs=names)
        for (full, got), dec_deg in zip(pairs, (-43.0, 72.4)):
            # the declination of date is used: it differs by 0.1 deg
            rows = self.check_averages(full, got, 1e-7, dec_deg)
            n = int(full.header["Nbls"])
            for name, limit in ("uvw_array", 1e-9), (
                    "phase_center_app_ra", 1e-12), (
                    "phase_center_app_dec", 1e-12), ("lst_array", 1e-12):
                value = full.header[name].reshape(len(full.pairs) // n, n, -1)
                for k, (first, end, baseline) in enumerate(rows):
                    # what moves by microradians moves evenly
                    ends = value[first, baseline], value[end - 1, baseline]
                    size = np.abs(ends[0]).max() + 1
                    if sum(self.lengths(full)[first:end]) % 63 == 0:
                        np.testing.assert_allclose(
                            got.header[name][k], (ends[0] + ends[1]) / 2,
                            rtol=0, atol=limit * size)

    def test_single_dump_and_no_averages(self):
        """Where nothing can be averaged, the result is the one without."""
        for keys, loss in ({}, 1e-18), ({"correlator.integration_time_s":
                                         "all"}, 0.5):
            keys = {"output.baselines": "0&4,1&4", **keys}
            self.pair(keys, loss)
            self.assertEqual([name for name in same_file.differences(
                self.path("0.out.uvh5"), self.path("1.out.uvh5"))
                if "history" not in name], ["Header/extra_keywords/CONFSHA"])
            self.assertNotIn("averages", self.said)

    def test_all_alike(self):
        """Autos alone have rows at the same times, as dumps have; /fx8 counts
        what the averages are of."""
        self.pair({"output.baselines": "auto"})
        path = self.path("1.out.uvh5")
        got = averaged.Result(path)
        self.assertEqual([int(got.header[name]) for name in (
            "Nblts", "Ntimes", "Nbls")], [15, 3, 5])
        self.assertTrue(got.header["blts_are_rectangular"])
        self.assertEqual(got.header["blt_order"], b"time, baseline")
        uvdata.load(self, path)
        self.assertRegex(self.well("info", path).stdout,
                         r"\n *times +3 of 0\.064512 s")
        config = self.ini(oracle.Setup(16, 0.001, taps=4, precision="fp32"), {
            "output.baselines": "auto", "output.time_average_loss": LOSS})
        exact = self.path("exact.uvh5")
        self.well("correlate", config, self.input, "-o", exact)
        for words in (("compare", path, exact),
                      ("join", path, path, "-o", self.path("all.uvh5"))):
            self.assert_one_line(program.run(*words), 1, path, "TIMELOSS: ",
                                 "a result without output.time_average_loss")

    def test_pyuvdata(self):
        (_, got), = self.pair()
        data = uvdata.load(self, self.path("1.out.uvh5"))
        self.assertEqual(data.Nblts, len(got.pairs))
        np.testing.assert_array_equal(data.data_array.reshape(got.data.shape),
                                      got.data)
        one = data.select(bls=[(0, 2)], inplace=False)
        chosen = [k for k, pair in enumerate(got.pairs) if pair == (0, 2)]
        np.testing.assert_array_equal(one.data_array,
                                      data.data_array[chosen])
        np.testing.assert_array_equal(
            one.integration_time, got.header["integration_time"][chosen])

    def test_commands(self):
        (_, got), = self.pair()
        path = self.path("1.out.uvh5")
        said = self.well("info", path).stdout
        self.assertRegex(said, rf"\n *rows +{len(got.pairs)} of 0\.000768 to "
                         r"0\.064512 s: baselines have their own times\n")
        part = shutil.copy(path, self.path("some.uvh5.part"))
        with h5py.File(part, "r+") as file:
            file["fx8/checksum"][64:] = -1
        self.assertRegex(self.well("info", part).stdout,
                         r"\n *finished +64 of 149 dumps: a run has not")
        shown = json.loads(self.well("info", "--json", path).stdout)
        self.assertEqual(shown["n_rows"], len(got.pairs))
        self.assertEqual(shown["n_times"], int(got.header["Ntimes"]))
        np.testing.assert_allclose(shown["integration_range_s"],
                                   [0.000768, 0.064512], rtol=1e-12)
        for name, value in ("Ntimes", 5), ("Ntimes", 900), ("Nblts", 858):
            wrong = self.changed(path, program.put(f"Header/{name}", value))
            self.assert_one_line(program.run("info", wrong), 1, wrong)
        for words in (("compare", path, self.path("0.out.uvh5")),
                      ("fringe", path, "-o", self.path("g.csv")),
                      ("image", path, "-o", self.path("sky.png")),
                      ("join", path, path, "-o", self.path("all.uvh5")),
                      ("plot", path, "-o", self.path("plot.png"))):
            self.assert_one_line(program.run(*words), 1, path, "Nblts: ",
                                 "the same baselines in every dump, a result "
                                 "without output.time_average_loss")

    def test_sizes(self):
        """Values, flags and weights, and the columns of 96 bytes."""
        (full, got), = self.pair()
        config = self.ini(self.setup, {"output.time_average_loss": LOSS})
        said = self.well("correlate", config, self.input, "--dry-run", "-o",
                         self.path("new.uvh5")).stdout
        data = float(re.search(r": (\S+) kB of data", said)[1]) * 1e3
        self.assertAlmostEqual(data / (len(got.pairs) * (16 * 4 * 13 + 96)), 1,
                               delta=0.005)
        self.assertRegex(said, r"\naverages   baselines over 1 to 64 dumps, at "
                         r"most 1e-05 % lost at the horizon\n +\S+ % of "
                         rf"{len(full.pairs)} rows are left\n")
        memory = [float(re.search(r"memory +up to (\S+) MiB", self.well(
            "correlate", config, self.input, "--dry-run", "-o",
            self.path("new.uvh5"), "--set",
            f"output.time_average_loss={value}").stdout)[1])
                  for value in (0, LOSS)]
        # 25 bytes a cell of averaged baselines, 13 of each row
        n = sum(one > 1 for one in averaged.factors(full, LOSS))
        self.assertAlmostEqual(memory[1] - memory[0],
                               16 * 4 * (25 * n + 13 * 15) / 2**20, delta=0.1)


class Refused(Averaged):
    """One line, by key, before any work."""

    def test_refused(self):
        for keys, word in (
                ({"correlator.precision": "both"}, "needs every dump"),
                ({"correlator.precision": "interval"}, "interval"),
                ({"output.compression": "bitshuffle"}, "output.compression"),
                ({"postprocess.quicklook": self.path("look.h5")},
                 "expected 0 with postprocess.quicklook"),
                ({**program.PLACE}, "array.positions = none"),
                ({"output.time_average_loss": 0.6}, "0 to 0.5")):
            config = self.ini(self.setup, {"output.time_average_loss": LOSS,
                                           **keys})
            done = program.run("correlate", config, self.input, "-o",
                               self.path("out.uvh5"))
            self.assert_one_line(done, 2, config, "output.time_average_loss",
                                 word)
            self.assertFalse(os.path.exists(self.path("out.uvh5")))
