# SPDX-License-Identifier: BSD-3-Clause
"""A choice of baselines: `[output] baselines`, min_baseline_m, max_baseline_m.

Shows (results, choice of baselines): the rows that are written are those of a
    result with all baselines: values, flags, weights, uvw, times, gains and
    counts, in every precision, packed, averaged, phased, in slices; of several
    ranks, and completed by `--resume`; a dry run gives their size; compare,
    join, info and image take such results, and pyuvdata reads them without a
    warning; the truth of `simulate` has the same rows; a result of another
    choice is not completed, compared or joined
Within: equal to the bit; sizes 0.5 %
Because: three digits are printed
In: Equal, Used, Resumed, Shared, Refused, scenario/plan.py
"""
import os
import re
import shutil

import h5py
import numpy as np

import oracle
import program
import same_file
import uvdata
from ranks_job import Ranks
from resumed import ResumedJob

# Antennas 0 to 5 of a job.
POSITIONS = np.array([[0, 0, 0], [10, 0, 0], [0, 20, 0], [0, 0, 30],
                      [40, 0, 0], [0, 50, 0]], float)
# Keys of [output], and whether a baseline is written.
CHOICES = (
    ({"baselines": "cross"}, lambda a, b: a != b),
    ({"baselines": "auto"}, lambda a, b: a == b),
    ({"baselines": "4&1,5&5,0&3"},
     lambda a, b: (a, b) in {(1, 4), (5, 5), (0, 3)}),
    ({"max_baseline_m": 30},
     lambda a, b: np.linalg.norm(POSITIONS[a] - POSITIONS[b]) <= 30),
    ({"baselines": "cross", "min_baseline_m": 35, "max_baseline_m": 60},
     lambda a, b: 35 <= np.linalg.norm(POSITIONS[a] - POSITIONS[b]) <= 60),
)
SAME = ("antenna_numbers", "antenna_positions", "freq_array", "channel_width",
        "polarization_array", "Ntimes", "Nants_telescope")


def keys_of(choice):
    return {f"output.{name}": value for name, value in choice.items()}


def baselines(result):
    """ant_1 and ant_2 of the rows of a dump."""
    n = int(result.header["Nbls"])
    return list(zip(result.header["ant_1_array"][:n].tolist(),
                    result.header["ant_2_array"][:n].tolist()))


class Choice(program.Case):
    """A recording of six antennas with gaps, a dead input and a late one."""

    def setUp(self):
        super().setUp()
        samples = program.noise(511, 6, 2, 14_000)
        samples[2, 1, :5_000] = 0
        samples[4, 0] = 0
        missing = [(-1, -1, 3_000, 400), (1, 0, 8_000, 700)]
        self.input = self.write(program.Scene(
            samples, missing=missing, positions=POSITIONS))
        self.setup = oracle.Setup(32, 0.003, taps=4, precision="int8")

    def correlate(self, choice, keys=None, outputs=("out.uvh5",), words=()):
        config = self.ini(self.setup, {**(keys or {}), **keys_of(choice)})
        for name in outputs:
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        self.said = self.well("correlate", config, self.input, *words, "-o",
                              self.path("out.uvh5")).stdout
        return [program.read(self.path(name)) for name in outputs]

    def check_rows(self, got, want, is_chosen):
        """A result with the rows of another one that are chosen."""
        every = baselines(want)
        rows = [k for k, pair in enumerate(every) if is_chosen(*pair)]
        self.assertEqual(baselines(got), [every[k] for k in rows])
        for name in ("visibilities", "flags", "nsamples"):
            np.testing.assert_array_equal(getattr(got, name),
                                          getattr(want, name)[:, rows], name)
        for name in SAME:
            np.testing.assert_array_equal(got.header[name], want.header[name])
        n_times = int(want.header["Ntimes"])
        for name in ("uvw_array", "time_array", "integration_time",
                     "phase_center_app_ra", "phase_center_app_dec"):
            per_dump = [
                one.header[name].reshape(n_times, int(one.header["Nbls"]), -1)
                for one in (got, want)]
            np.testing.assert_array_equal(per_dump[0], per_dump[1][:, rows])
        self.check_counts(got.path, want.path)

    def check_counts(self, got, want):
        """/fx8, but for the checksums of the data."""
        with h5py.File(got, "r") as ours, h5py.File(want, "r") as theirs:
            self.assertEqual(set(ours["fx8"]), set(theirs["fx8"]))
            for name in set(ours["fx8"]) - {"checksum", "checksum_of_gains"}:
                np.testing.assert_array_equal(ours["fx8"][name][...],
                                              theirs["fx8"][name][...], name)

    def check(self, keys=None, outputs=("out.uvh5",), choices=CHOICES,
              words=()):
        full = self.correlate({}, keys, outputs)
        for one in full:
            one.path = shutil.move(one.path, one.path + ".full")
        for choice, is_chosen in choices:
            with self.subTest(**choice):
                chosen = self.correlate(choice, keys, outputs, words)
                for got, want in zip(chosen, full):
                    self.check_rows(got, want, is_chosen)


class Equal(Choice):
    """The rows that are written."""

    def test_words_lists_and_lengths(self):
        self.check()

    def test_precisions(self):
        both = ("out.int8.uvh5", "out.fp32.uvh5")
        self.check({"correlator.precision": "both"}, both)
        self.check({"correlator.precision": "interval"},
                   ("out.down.uvh5", "out.up.uvh5"), CHOICES[2:4])

    def test_packed_and_averaged(self):
        self.check({"output.compression": "gzip", "output.channel_average": 4,
                    "correlator.threads": 2, "correlator.spot_check": "yes"},
                   choices=CHOICES[1:4])

    def test_phase_centers(self):
        centers = self.save("centers.csv", "name,ra_deg,dec_deg\n"
                            "a,201.4,-43.0\nb,187.7,12.4\n")
        self.check({"delay.mode": "track", "delay.dut1_s": -0.1,
                    "delay.phase_centers": centers},
                   ("out.a.uvh5", "out.b.uvh5"), CHOICES[2:4])

    def test_positions_from_a_table(self):
        """Numbers of the table, in its order; antennas that are left out."""
        table = self.save("table.csv", "number,east_m,north_m,up_m,input\n"
                          "31,0,0,0,3\n9,10,0,0,0\n20,0,20,0,1\n")
        self.check({"array.positions": table, "array.antennas": "3,0-1",
                    **program.SITE_KEYS},
                   choices=(({"baselines": "20&31,9&9"},
                             lambda a, b: (a, b) in {(31, 20), (9, 9)}),
                            ({"baselines": "cross", "max_baseline_m": 15},
                             lambda a, b: (a, b) == (31, 9))))

    def test_all_that_is_there(self):
        """A limit that keeps all writes the same file."""
        want, = self.correlate({})
        want.path = shutil.move(want.path, self.path("full.uvh5"))
        got, = self.correlate({"max_baseline_m": 500})
        self.assertEqual([name for name in same_file.differences(
            got.path, want.path) if "history" not in name],
            ["Header/extra_keywords/CONFSHA"])

    def test_slices(self):
        """Dumps that are summed up in slices, of which some are not written."""
        samples = program.noise(512, 24, 2, 9_000)
        place = np.column_stack([np.arange(24) * 10.0, np.zeros(24),
                                 np.zeros(24)])
        self.input = self.write(program.Scene(samples, positions=place))
        self.setup = oracle.Setup(64, 0.00128, taps=4, precision="int8")
        choices = (({"baselines": "20&23,21&21"},
                    lambda a, b: (a, b) in {(20, 23), (21, 21)}),
                   ({"baselines": "0&1,12&13"},
                    lambda a, b: (a, b) in {(0, 1), (12, 13)}),
                   ({"max_baseline_m": 25}, lambda a, b: b - a < 3))
        for keys in {}, {"output.compression": "gzip"}:
            for choice in choices:
                config = self.ini(self.setup, {**keys, **keys_of(choice[0])})
                done = program.run(
                    "correlate", config, self.input, "--dry-run", "--set",
                    "correlator.memory_limit_mib=1", "-o",
                    self.path("out.uvh5"))
                least = re.search(r"expected at least (\d+) MiB", done.stderr)
                self.check(keys, choices=(choice,), words=(
                    "--set", f"correlator.memory_limit_mib={least[1]}"))
                self.assertRegex(self.said,
                                 r"each dump is written in \d+ slices")


class Used(Choice):
    """What reads such results."""

    def test_pyuvdata(self):
        for choice, is_chosen in CHOICES:
            with self.subTest(**choice):
                got, = self.correlate(choice)
                data = uvdata.load(self, got.path)
                pairs = [(a, b) for a in range(6) for b in range(a, 6)
                         if is_chosen(a, b)]
                self.assertEqual(data.get_antpairs(), pairs)
                self.assertEqual(data.Nants_data, len({*sum(pairs, ())}))
                np.testing.assert_array_equal(
                    data.data_array.reshape(got.visibilities.shape),
                    got.visibilities)

    def test_commands(self):
        """Figures of what is written, in the unit of coherence if all autos
        are; images need none."""
        both = ("out.int8.uvh5", "out.fp32.uvh5")
        for choice, is_chosen in CHOICES:
            pairs = [(a, b) for a in range(6) for b in range(a, 6)
                     if is_chosen(a, b)]
            files = [one.path for one in self.correlate(
                choice, {"correlator.precision": "both"}, both)]
            has_autos = all((a, a) in pairs for a in sum(pairs, ()))
            done = self.well("compare", *files, code=0 if has_autos else 3)
            said = done.stdout
            if not has_autos:
                self.assertIn("without the auto-correlations of all antennas "
                              "nothing can be predicted", done.stderr)
            for line in re.findall(r"^all pairs .*$|^autos .*$", self.said,
                                   re.MULTILINE):
                self.assertIn(line, said)
            figures = self.verdict(*files, code=(0, 3))
            self.assertEqual([(row["antenna_1"], row["antenna_2"])
                              for row in figures["baselines"]], pairs)
            info = self.well("info", files[0]).stdout
            self.assertRegex(info, rf"\n *baselines +{len(pairs)}\n")
            done = program.run("image", files[0], "-o", self.path("sky.png"),
                               "--force")
            if any(a != b for a, b in pairs):
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                self.assert_one_line(done, 1, files[0])

    def test_join(self):
        """Parts in time of one choice; of two they are refused."""
        for n, seconds in enumerate((0, 0.006)):
            self.correlate({"baselines": "cross"}, {
                "input.start_s": seconds, "input.duration_s": 0.006096})
            shutil.move(self.path("out.uvh5"), self.path(f"{n}.uvh5"))
        parts = [self.path("0.uvh5"), self.path("1.uvh5")]
        self.well("join", *parts, "-o", self.path("all.uvh5"))
        joined, first, second = map(program.read, (self.path("all.uvh5"),
                                                   *parts))
        np.testing.assert_array_equal(joined.visibilities, np.concatenate(
            [first.visibilities, second.visibilities]))
        self.assertEqual(baselines(joined), baselines(first))
        other, = self.correlate({"baselines": "auto"}, {"input.start_s": 0.006})
        for command in ("join", parts[0], other.path, "-o",
                        self.path("no.uvh5")), ("compare", parts[0], other.path):
            self.assert_one_line(program.run(*command), 1, "Nbls")

    def test_sizes(self):
        """Values, flags and weights, and the columns of 96 bytes."""
        for choice, is_chosen in ({}, lambda a, b: True), *CHOICES:
            config = self.ini(self.setup, keys_of(choice))
            said = self.well("correlate", config, self.input, "--dry-run",
                             "-o", self.path("new.uvh5")).stdout
            value, unit = re.search(r": (\S+) (kB|MB) of data", said).groups()
            data = float(value) * {"kB": 1e3, "MB": 1e6}[unit]
            n = sum(is_chosen(a, b) for a in range(6) for b in range(a, 6))
            self.assertAlmostEqual(data / (5 * n * (32 * 4 * 13 + 96)), 1,
                                   delta=0.005)
            self.assertEqual(re.findall(r"^baselines  (.*)$", said,
                                        re.MULTILINE),
                             [f"{n} of 21"] if choice else [])

    def test_truth(self):
        """The true visibilities have the rows of the result."""
        config = self.save("sky.ini", program.ini_text({
            "observation.sample_rate_hz": 1000000,
            "observation.dc_frequency_hz": 150000000,
            "observation.start_time_utc": "2021-03-20T12:00:00Z",
            "array.positions": self.save(
                "table.csv", "number,east_m,north_m,up_m\n" + "".join(
                    f"{k},{x:g},{y:g},{z:g}\n"
                    for k, (x, y, z) in enumerate(POSITIONS))),
            **program.SITE_KEYS, "array.polarizations": 2,
            "channelizer.channels": 16, "correlator.integration_time_s": 0.01,
            "simulate.duration_s": 0.05,
            "simulate.sources": self.save(
                "sources.csv", "az_deg,el_deg,I,Q,U,V\n120,60,1,0,0,0\n")}))
        truths = []
        for name, words in (("all", ()), ("some", ("output.max_baseline_m=30",))):
            self.well("simulate", config, "-o", self.path(f"{name}.h5"),
                      *(word for one in words for word in ("--set", one)))
            truth, = [path for path in os.listdir(self.folder)
                      if path.startswith(name) and path.endswith(".uvh5")]
            truths.append(program.read(self.path(truth)))
        self.check_rows(truths[1], truths[0], CHOICES[3][1])


class Resumed(ResumedJob):
    """Runs that go on."""

    def test_resumed(self):
        for keys in ({"output.baselines": "cross"},
                     {"output.baselines": "0&2,3&3",
                      "output.compression": "gzip"}):
            self.job(keys)
            self.copy_want()
            self.left(self.n_dumps // 2)
            self.assertEqual(self.resume(), self.n_dumps // 2)
            self.check()

    def test_another_choice(self):
        """A .part of another choice is of another run."""
        self.job({"output.baselines": "cross"})
        self.copy_want()
        self.left(self.n_dumps // 2)
        done = self.correlate(self.input, "--resume", "--set",
                              "output.baselines=auto")
        self.assert_one_line(done, 2, "is of another run", "baselines")


class Shared(Ranks):
    """Runs of several ranks, which write together or share dumps."""

    CHOICES = ({"output.baselines": "cross"},
               {"output.baselines": "0&2,1&1", "output.compression": "gzip"})

    def test_ranks(self):
        recording = self.eventful()
        for keys in self.CHOICES:
            self.set_up("both", keys)
            self.check(recording, (3,))

    def test_shared_dumps(self):
        recording = self.segments()
        for keys in self.CHOICES:
            self.set_up("int8", keys, **self.SEGMENTS)
            self.check(recording, (3,))


class Refused(Choice):
    """One line, by key, before any work."""

    def test_refused(self):
        for keys, words in (
                ({"output.baselines": "0&6"}, (
                    "output.baselines: 0&6: number 6: expected an antenna that "
                    "is correlated",)),
                ({"output.baselines": "crosses"}, (
                    "output.baselines: crosses: expected all, cross, auto, or "
                    "at most 2048 pairs such as 1&2,1&40",)),
                ({"output.baselines": "cross", "output.max_baseline_m": 5}, (
                    "output.baselines: cross: no baseline is left of the 21",)),
                ({"output.min_baseline_m": 9, "output.max_baseline_m": 5}, (
                    "output.min_baseline_m: 9: expected at most "
                    "max_baseline_m, 5",)),
                ({"output.max_baseline_m": 5, "array.positions": "none"}, (
                    "output.max_baseline_m: 5: expected positions",)),
                ({"output.baselines": "auto",
                  "postprocess.quicklook": self.path("look.h5")}, (
                      "postprocess.quicklook", "made of all baselines"))):
            config = self.ini(self.setup, keys)
            self.assert_one_line(program.run(
                "correlate", config, self.input, "-o", self.path("out.uvh5")),
                2, config, *words)
            self.assertFalse(os.path.exists(self.path("out.uvh5")))
