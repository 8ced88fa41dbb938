# SPDX-License-Identifier: BSD-3-Clause
"""Averages in time: `[output] time_average_loss`.

Shows (results, averages in time): a source anywhere above the horizon loses at
    most `time_average_loss` of its amplitude, and with twice as many dumps it
    would lose more; values, flags, weights, times, lengths and uvw of the rows
    are the averages of the dumps that a run without the key writes, with gaps,
    flags, aligned dumps, channels averaged and phase centres, and of a run that
    a signal ends; counts of each dump stay; pyuvdata reads and
    selects such results without a warning; `--resume` completes them after
    pauses, kills and signals, and keeps nothing of less than a whole block; a
    dry run and a plan give their size; commands that need the same baselines in
    every dump refuse them, and several ranks do not begin; where nothing is
    averaged, the result is the one without
Within: values 2^-23 of each and 2^-40 of the mean amplitude, weights 2^-23;
    lengths 4e-16, uvw 1e-9 of the baseline, apparent places 1e-12; flags, dates,
    resumed results and a single dump equal; sizes 0.5 %; the loss without
    tolerance
Because: the same doubles are summed in another order, at most 64 of them, and
    the float of a sum near a tie may be its neighbour; in a row the sky turns by
    5 microradians, so its middle is that of its ends; three digits are printed
In: Bound, Rows, Resumed, Refused, SeveralRanks, scenario/plan.py
"""
import json
import os
import re
import shutil
import signal
from fractions import Fraction

import h5py
import numpy as np

import averaged
import oracle
import program
import same_file
import uvdata
from ranks_job import Ranks
from resumed import ResumedJob

POSITIONS = np.array([[0, 0, 0], [40, 5, 1], [300, 40, 2], [3000, -500, 10],
                      [20_000, 9_000, 30]], float)
# With dumps of 1 ms at 150 MHz, baselines of 40 m are averaged over 64 dumps, of
# 300 m over 16, of 3 km over 2, and longer ones not.
LOSS = 1e-7


class Checks:
    """Part of a program.Case with the `setup` of its runs and their begin."""

    begin = Fraction(1_600_000_000)

    def lengths(self, full):
        """Spectra of each dump."""
        n = int(full.header["Nbls"])
        return [int(round(x * 1e6 / self.setup.channels))
                for x in full.header["integration_time"][::n]]

    def check_averages(self, full, got, loss=LOSS, dec_deg=None, n_dumps=None):
        """The rows of a result are averages of the dumps of another one."""
        n = int(full.header["Nbls"])
        lengths = self.lengths(full)
        rows = averaged.rows(lengths, averaged.factors(full, loss, dec_deg),
                             n_dumps)
        self.assertEqual(got.pairs, [full.pairs[row[2]] for row in rows])
        self.assertEqual(int(got.header["Nblts"]), len(rows))
        self.assertEqual(int(got.header["Ntimes"]),
                         len(set(got.header["time_array"].tolist())))
        self.assertFalse(got.header["blts_are_rectangular"])
        for k, row in enumerate(rows):
            mean, flags, weight = averaged.average(full, lengths, row, n)
            scale = np.abs(mean).max()
            error = np.abs(got.data[k] - mean)
            self.assertTrue((error <= 2.0**-23 * np.abs(mean)
                             + 2.0**-40 * scale).all(), row)
            np.testing.assert_array_equal(got.flags[k], flags)
            np.testing.assert_allclose(got.nsamples[k], weight, rtol=2.0**-23)
            if row[1] - row[0] == 1:
                place = row[0] * n + row[2]
                np.testing.assert_array_equal(got.data[k], full.data[place])
                np.testing.assert_array_equal(got.nsamples[k],
                                              full.nsamples[place])
        self.check_times(full, got, rows, lengths)
        self.check_counts(full, got, n_dumps)
        return rows

    def check_times(self, full, got, rows, lengths):
        step = self.setup.channels
        window = self.setup.taps * step
        rate = Fraction(1_000_000)
        for k, (first, end, _) in enumerate(rows):
            self.assertEqual(got.header["time_array"][k], averaged.middle(
                self.begin, lengths, first, end, step, window, rate))
        np.testing.assert_allclose(
            got.header["integration_time"],
            [float(sum(lengths[first:end]) * step / rate)
             for first, end, _ in rows], rtol=4e-16)
        if got.keywords["DELAYMOD"] != b"TRACK":
            np.testing.assert_array_equal(
                got.header["uvw_array"],
                full.header["uvw_array"][[row[2] for row in rows]])

    def check_counts(self, full, got, n_dumps):
        """What is counted in each dump stays."""
        self.assertEqual(set(got.own), set(full.own))
        for name in {"valid_spectra", "dead", "clips"} & set(full.own):
            np.testing.assert_array_equal(got.own[name],
                                          full.own[name][:n_dumps])
        # an input that has not begun by then has no gains
        names = {"cable_delay"} if n_dumps else {"cable_delay", "gain",
                                                 "no_power"}
        for name in names & set(full.own):
            np.testing.assert_array_equal(got.own[name], full.own[name])


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
            self.assertEqual(got.pairs, [full.pairs[row[2]] for row in rows])
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
        self.check_averages(full, got)
        self.assertEqual(got.keywords["TIMELOSS"], LOSS)
        self.assertNotIn("TIMELOSS", full.keywords)

    def test_flags_and_channels(self):
        (full, got), = self.pair({
            "output.channel_average": 4,
            "flag.min_weight": 0.7, "array.flag_antennas": 4,
            "correlator.threads": 2})
        self.assertTrue(full.flags.any() and not full.flags.all())
        self.check_averages(full, got)

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
        self.check_averages(full, got)

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
        self.assert_one_line(program.run(
            "join", path, path, "-o", self.path("all.uvh5")), 1, path,
            "fx8/checksum: shape 149 x 1: expected 3 x 1")

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
        told = json.loads(self.well("info", "--json", path).stdout)
        self.assertEqual(told["n_rows"], len(got.pairs))
        self.assertEqual(told["n_times"], int(got.header["Ntimes"]))
        np.testing.assert_allclose(told["integration_range_s"],
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


class Resumed(Checks, ResumedJob):
    """Runs that go on."""

    setup = oracle.Setup(64, 0.002, taps=4, precision="int8")

    def averages(self):
        table = self.save("table.csv", "number,east_m,north_m,up_m\n0,0,0,0\n"
                          "1,400,0,0\n2,900,600,0\n3,9000,0,0\n")
        self.job({"array.positions": table, **program.SITE_KEYS,
                  "output.baselines": "cross",
                  "output.time_average_loss": 3e-7}, setup=self.setup)
        got = averaged.Result(self.want[self.output])
        lengths = {pair: got.pairs.count(pair) for pair in got.pairs}
        self.assertEqual(sorted(lengths.values()), [4, 4, 8, 30, 30, 30])

    def end_early(self, number, *extra, **options):
        """End a run behind its first block."""
        process = self.start_held(*extra)
        self.wait_for_dump(process, self.part)
        return self.end(process, number, **options)

    def end_within_block(self):
        """End a run by SIGTERM; again, if that was at the end of a block.
        Returns its result and the number of dumps."""
        n_dumps = 8
        while n_dumps % 8 == 0:
            self.clear()
            _, err = self.end_early(signal.SIGTERM, "--quiet")
            self.assertIn("--resume goes on", err)
            got = averaged.Result(self.output)
            n_dumps = len(got.own["checksum"])
        return got, n_dumps

    def test_paused_and_killed(self):
        self.averages()
        _, err = self.end_early(signal.SIGUSR1, code=75)
        n = int(re.search(r"paused after (\d+) of 30 dumps; \S+ keeps \1 "
                          r"dumps?: --resume goes on", err)[1])
        self.assertEqual(n % 8, 0)
        self.assertGreater(n, 0)
        self.assertEqual(self.complete(), n)
        self.clear()
        self.end_early(signal.SIGKILL, code=-signal.SIGKILL)
        self.assertGreater(self.complete(), 0)

    def test_ended_by_a_signal(self):
        """Rows that were not complete end with the last dump; the run that goes
        on computes their blocks again."""
        self.averages()
        self.clear()
        full = self.full()
        got, n_dumps = self.end_within_block()
        self.assertTrue(8 < n_dumps < 30, n_dumps)
        self.assertTrue((got.own["checksum"] != -1).all())
        self.check_averages(full, got, 3e-7, n_dumps=n_dumps)
        uvdata.load(self, self.output)
        short = shutil.copy(self.output, self.path("short.uvh5"))
        # killed while it goes on: rows are flagged, or those of the whole
        process = self.start_held("--resume")
        self.wait_until(process, "all rows", lambda: self.n_rows() == 106)
        self.end(process, signal.SIGKILL, code=-signal.SIGKILL)
        left = averaged.Result(self.part)
        want = averaged.Result(self.want[self.output])
        for name in ("time_array", "integration_time", "Nblts", "Ntimes"):
            np.testing.assert_array_equal(left.header[name],
                                          want.header[name])
        shown = ~left.flags.all(axis=(1, 2))
        np.testing.assert_array_equal(left.data[shown], want.data[shown])
        marks = left.own["checksum"] != -1
        n = int(marks.sum())
        self.assertEqual(n % 8, 0)
        self.assertTrue(marks[:n].all())
        self.assertEqual(self.resume(), n)
        self.check()
        os.remove(self.output)
        shutil.move(short, self.output)
        self.assertEqual(self.resume(), n_dumps // 8 * 8)
        self.check()

    def n_rows(self):
        """Rows of the .part, as far as they are on disk."""
        try:
            with h5py.File(self.part, "r", locking=False) as file:
                return int(file["Header/Nblts"][()])
        except (OSError, KeyError, RuntimeError):
            return 0

    def full(self):
        """The result without averages."""
        self.well(*self.words(self.input, "--set",
                              "output.time_average_loss=0"))
        full = averaged.Result(self.output)
        os.remove(self.output)
        return full

    def one_block(self):
        """A job of which each early end is within the first block."""
        table = self.save("table.csv", "number,east_m,north_m,up_m\n0,0,0,0\n"
                          "1,400,0,0\n2,900,600,0\n3,9000,0,0\n")
        self.job({"array.positions": table, **program.SITE_KEYS,
                  "output.time_average_loss": 1e-4}, setup=self.setup)
        got = averaged.Result(self.want[self.output])
        self.assertEqual(got.pairs.count((0, 0)), 1)
        self.assertGreater(got.pairs.count((0, 3)), 1)

    def test_nothing_is_kept_of_less_than_a_block(self):
        """Not even gains or names: they could be of another recording."""
        self.one_block()
        first = averaged.Result(self.want[self.output])
        self.end(self.start_held(), signal.SIGTERM)
        self.assertLess(len(averaged.Result(self.output).own["checksum"]), 30)
        ended = shutil.copy(self.output, self.path("ended.uvh5"))
        # another recording of the same name, length and begin
        self.record(seed=222)
        self.clear()
        self.well(*self.words(self.input))
        os.rename(self.output, self.want[self.output])
        other = averaged.Result(self.want[self.output])
        self.assertTrue((first.own["gain"] != other.own["gain"]).any())
        shutil.copy(ended, self.output)
        self.assertEqual(self.resume(), 0)
        self.check()
        # killed while the marks of the first block were written
        shutil.copy(self.want[self.output], self.part)
        with h5py.File(self.part, "r+") as file:
            file["fx8/checksum"][1:] = -1
            file["fx8/gain"][...] *= 2
        os.remove(self.output)
        self.assertEqual(self.resume(), 0)
        self.check()

    def test_paused_within_the_first_block(self):
        """As before the first dump: nothing is left, and said to be."""
        self.one_block()
        early = self.start(*self.words(self.input), env={
            **os.environ, **self.holding(self.input, share=0)})
        self.wait_for_handler(early)
        _, want = self.end(early, signal.SIGUSR1, signal.SIGTERM, code=75)
        self.assertEqual(want, "fx8: error: paused after 0 of 30 dumps\n")
        _, err = self.end(self.start_held("--quiet"), signal.SIGUSR1, code=75)
        self.assertEqual(err, want)
        self.assertFalse(os.path.exists(self.part))
        self.end(self.start_held(), signal.SIGTERM)
        self.assertTrue(os.path.exists(self.output))
        _, err = self.end(self.start_held("--resume", "--quiet"),
                          signal.SIGUSR1, code=75)
        self.assertEqual(err, want)
        self.assertFalse(os.path.exists(self.part))
        self.assertFalse(os.path.exists(self.output))
        self.assertEqual(self.resume(), 0)
        self.check()

    def test_damaged_dump(self):
        """Its whole block is computed again."""
        self.averages()
        self.copy_want()
        self.left()
        with h5py.File(self.part, "r+") as file:
            file["Data/visdata"][60] = 0
        self.assertEqual(self.resume(), 22)
        self.check()

    def test_another_loss(self):
        """A .part of another loss is of another run."""
        self.averages()
        self.copy_want()
        self.left(16)
        done = self.correlate(self.input, "--resume", "--set",
                              "output.time_average_loss=0")
        self.assert_one_line(done, 2, "is of another run", "time_average_loss")


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


class SeveralRanks(Ranks):
    """They write dumps in any order."""

    def test_refused_before_anything_is_written(self):
        recording = self.eventful()
        table = self.save("table.csv", "number,east_m,north_m,up_m\n0,0,0,0\n"
                          "1,400,0,0\n2,900,600,0\n")
        self.set_up(keys={"array.positions": table, **program.SITE_KEYS,
                          "output.time_average_loss": 1e-6})
        for more in (), ("--dry-run",):
            done = self.mpirun(2, *self.words(recording, "--mpi", *more))
            self.assert_one_error(done, 2, "output.time_average_loss",
                                  "expected 0 with 2 ranks")
            self.assertEqual(self.files(), [])
        self.check(recording, (1,))
        done = self.mpirun(2, *self.words(recording, "--set",
                                          "correlator.ranks=mpi"))
        self.assert_one_error(done, 2, "output.time_average_loss",
                              "expected 0 with correlator.ranks = mpi")
        self.assertEqual(self.files(), [])
