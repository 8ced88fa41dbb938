# SPDX-License-Identifier: BSD-3-Clause
"""The report of fx8 compare, as text, JSON and HTML page, compared with numpy on
the same files; files of other correlators; wrong use.

Shows (commands, the report of compare): the report is correct in words, JSON and
    page: polarised and gappy files, unequal gains at 4 and 20 LSB, coarse
    bands, clips and low levels named; two files of pyuvdata (lzf, circular
    feeds, cross-correlations alone, another unit, phased); all flagged, NaN,
    quick-look, names that exist; arrays of one input; the page fits 420 pixels,
    its threshold lines are inside the frames, its axes are logarithmic where
    values span decades
Within: measured, predicted, phase rms 10⁻⁸; medians 1 %; the page is HTML5 and
    XML, its marks the JSON's to 10⁻⁵; positions 0.02 points
Because: doubles are summed in another order than numpy's; medians have the
    width of a histogram bin; the page has six digits, and of a point two
"""
import json
import pathlib
import re
import struct
import warnings
import xml.etree.ElementTree as ElementTree

import h5py
import numpy as np

import aavs_files
import oracle
import program
import test_bands
import uvdata

SVG = "{http://www.w3.org/2000/svg}"
PRODUCTS = ((0, 0), (1, 1), (0, 1), (1, 0))     # XX, YY, XY, YX


class Cells:
    """Every pair of cells in two files, by the theory, using numpy alone."""

    def __init__(self, rough, exact):
        a, b = program.read(rough), program.read(exact)
        with h5py.File(rough, "r") as file:
            spectra = float(file["fx8/spectra_per_dump"][()])
        pairs = list(zip(a.header["ant_1_array"], a.header["ant_2_array"]))
        pairs = pairs[:a.visibilities.shape[1]]
        numbers = list(a.header["antenna_numbers"])
        n_products = a.visibilities.shape[3]
        n_pols = 1 if n_products == 1 else 2
        n_channels = a.visibilities.shape[2]
        average = a.gains.shape[1] // n_channels
        gains = a.gains.reshape(-1, n_channels, average)
        inverse = (1 / gains**2).mean(axis=2)
        with h5py.File(rough, "r") as file:
            clips = program.clip_fractions(file["fx8"])
        clips = clips.reshape(*clips.shape[:2], n_channels, average).max(axis=3)
        powers = {}
        for k, (one, two) in enumerate(pairs):
            for pol in range(n_pols if one == two else 0):
                powers[numbers.index(one) * n_pols + pol] = (
                    b.visibilities[:, k, :, pol].real)
        cells = []
        for k, (one, two) in enumerate(pairs):
            for p in range(n_products):
                i = numbers.index(one) * n_pols + PRODUCTS[p][0]
                j = numbers.index(two) * n_pols + PRODUCTS[p][1]
                if one == two and PRODUCTS[p][0] >= PRODUCTS[p][1]:
                    continue
                scale = np.sqrt(np.maximum(powers[i] * powers[j], 1e-30))
                rho = [side.visibilities[:, k, :, p] / scale
                       for side in (a, b)]
                eps = [inverse[x] / 6 / np.maximum(powers[x], 1e-30)
                       for x in (i, j)]
                flagged = a.flags[:, k, :, p] | b.flags[:, k, :, p]
                weight = np.minimum(a.nsamples, b.nsamples)[:, k, :, p]
                usable = (~flagged.astype(bool) & (weight > 0)
                          & (clips[:, i] <= 1e-4) & (clips[:, j] <= 1e-4)
                          & (eps[0] <= 1 / 12) & (eps[1] <= 1 / 12)
                          & (np.abs(rho[1]) <= 0.9))
                variance = ((eps[0] + eps[1] + eps[0] * eps[1])
                            / (spectra * average * np.maximum(weight, 1e-30)))
                cells.append((k, usable, rho[0], rho[1], variance))
        self.baseline = np.array([cell[0] for cell in cells])
        self.usable, self.a, self.b, self.variance = (
            np.stack([cell[n] for cell in cells]) for n in range(1, 5))

    def rms(self, keep=True):
        """Measured and predicted rms of the usable cells selected by `keep`, an
        array that broadcasts to [pair, dump, channel]."""
        chosen = self.usable & keep
        difference = np.abs(self.a - self.b)**2
        return (np.sqrt(difference[chosen].mean()),
                np.sqrt(self.variance[chosen].mean()))

    def phases(self):
        return np.degrees(np.angle(self.a * self.b.conj()))[self.usable]


class Report(program.Case):
    """Polarised recordings with gaps, unequal gains and an uneven band."""

    def samples(self, seed=7, n_antennas=4, count=40_000):
        generator = np.random.default_rng(seed)

        def draw(*shape):
            return generator.normal(size=shape) + 1j * generator.normal(
                size=shape)
        values = draw(n_antennas, 2, count) + 0.7 * draw(1, 2, count)
        # Y sees a part of X, and the band falls off to one side
        values[:, 1] += 0.5 * values[:, 0]
        values += 0.6 * np.roll(values, 1, axis=2)
        level = generator.uniform(4, 20, size=(n_antennas, 2, 1))
        return program.to_int8(level * values)

    def make(self, target_rms, extra=()):
        """Files of both precisions; returns their paths."""
        recording = self.write(program.Scene(
            self.samples(), numbers=[3, 5, 8, 13],
            missing=[(0, -1, 5000, 3000), (2, 1, 9000, 1200),
                     (-1, -1, 30_000, 800)]))
        return self.correlate_both([recording], oracle.Setup(
            64, 64 * 120e-6, taps=4, target_rms=target_rms, precision="int8"),
            extra)

    def correlate_both(self, recordings, setup, extra=()):
        return self.both(self.ini(setup, extra), *recordings)

    def report(self, *arguments, code=0):
        """The JSON of a comparison; text and page must agree with it."""
        words = self.well("compare", *arguments, code=code)
        self.assertLess(max(map(len, words.stdout.splitlines())), 200)
        page = self.path("page.html")
        done = self.well("compare", *arguments, "--json", "--html", page,
                         "--force", code=code)
        self.assertEqual(done.stderr, words.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(words.stdout.splitlines()[0],
                         f"verdict: {report['verdict']}: {report['reason']}")
        if report["verdict"] == "good" and report["has_theory"]:
            median = report["median_ratio"]
            self.assertEqual(
                report["reason"], f"INT8 loss is {median['value']:.4f} x "
                f"predicted, allowed {median['low']:.3f} to "
                f"{median['high']:.3f} (median over {median['n_channels']} "
                "channels)")
        self.check_page(program.text(page), report)
        return report, words.stdout

    # --- the page ------------------------------------------------------

    def check_page(self, text, report):
        """The page is valid, self-contained and has the numbers of the JSON."""
        self.assertTrue(text.startswith("<!DOCTYPE html>\n<html lang="))
        self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""),
                            r"https?:|url\(|@import|href=|src=")
        self.assertLess(len(text), 1_000_000)
        root = ElementTree.fromstring(text)
        self.assertEqual({item.tag for item in root.iter()} & {
            "script", "link", "img", "iframe", "object"}, set())
        verdict = root.find(".//p[@class='verdict %s']" % report["verdict"])
        self.assertIn(report["reason"], "".join(verdict.itertext()))
        judged = {row[0].text: row for row in root.findall(
            ".//table[@id='judged']/tr")}
        for check in report["checks"]:
            row = judged[check["name"]]
            self.assertEqual(int(row[1].text), check["n_judged"])
            if check["value"] is not None:
                self.assertAlmostEqual(float(row[2].text), check["value"],
                                       delta=1e-5 * check["value"])
            self.assertEqual(row[4].text, check["worst"])
        self.check_screen(root)
        marks = {}
        for figure in root.iter("figure"):
            svg = figure.find(f"{SVG}svg")
            self.assertIsNotNone(figure.find("figcaption"))
            marks[figure.get("id")] = [
                item.text for item in svg.findall(f"{SVG}rect/{SVG}title")]
            self.check_lines(svg, figure.get("id"), report)
        self.check_marks(marks, report)

    def check_screen(self, root):
        """Fits 420 pixels: figures no wider that shrink, and every table but
        that of the files, whose names break, in a box that scrolls."""
        self.assertIn("width=device-width", root.find(
            "head/meta[@name='viewport']").get("content"))
        style = root.find("head/style").text
        for rule in (".box{overflow-x:auto}", "width:100%;height:auto",
                     ".files td+td{overflow-wrap:anywhere}"):
            self.assertIn(rule, style)
        for svg in root.iter(f"{SVG}svg"):
            self.assertLessEqual(float(svg.get("viewBox").split()[2]), 420)
        boxed = root.findall(".//div[@class='box']/table")
        self.assertEqual(len(boxed) + 1, len(list(root.iter("table"))))

    def check_lines(self, svg, name, report):
        """Where the dashed lines are, with their words, inside the frame."""
        lines = [[np.array(point.split(","), float)
                  for point in line.get("points").split()]
                 for line in svg.iter(f"{SVG}polyline")
                 if line.get("stroke-dasharray")]
        expected = {"clips": 1, "worst": 2 * report["has_theory"]}
        self.assertEqual(len(lines), expected.get(name, 0))
        if not lines:
            return
        frame = np.array([point.split(",") for line in
                          svg.iter(f"{SVG}polyline") for point in
                          line.get("points").split()
                          if line.get("stroke") == "#9a9a9a"], float)
        low, high = frame.min(axis=0), frame.max(axis=0)
        along = 0 if name == "worst" else 1
        for line in lines:
            for end in line:
                self.assertTrue(np.all((low <= end) & (end <= high)))
                self.assertTrue(low[along] < end[along] < high[along])
        words = [text for text in svg.iter(f"{SVG}text")
                 if re.match(r"limit of a dump|[+-]5$", text.text)
                 and text.get("font-size") == "8.0"]
        self.assertEqual(len(words), len(lines))
        for text in words:
            at = np.array([text.get("x"), text.get("y")], float)
            self.assertTrue(np.all((low < at) & (at < high)))

    def check_marks(self, marks, report):
        """The numbers of the marks (six digits) equal the JSON's."""
        by_name = {f"{row['antenna_1']}-{row['antenna_2']}": row
                   for row in report["baselines"]}
        judged = [row for row in report["baselines"] if row["predicted"]]
        expected = {"channels", "phases", "worst"} if report["overall"][
            "n_cells"] else {"channels"}
        if judged:
            expected |= {"baselines"}
        if report["has_theory"]:
            expected |= {"gains", "clips"}
        self.assertEqual(set(marks), expected)
        if judged:
            self.assertEqual(len(marks["baselines"]), len(judged) + sum(
                abs(report["baselines"][index]["sigmas"]) > 5
                for index in report["worst_baselines"]))
        for text in marks.get("baselines", []):
            name = re.match(r"baseline (\S+):", text)[1]
            self.check_numbers(text, by_name[name], "measured", "predicted",
                               "ratio")
        self.assertEqual(len(marks["channels"]), sum(
            row["n_cells"] > 0 for row in report["channels"]))
        for text in marks["channels"]:
            row = report["channels"][int(re.match(r"channel (\d+),", text)[1])]
            self.check_numbers(text, row, "measured",
                               *(["predicted", "ratio"] if judged else []))
        shown = [float(text.split(": ")[1].split()[0])
                 for text in marks.get("phases", [])]
        if shown:
            np.testing.assert_allclose(
                shown, report["phase_difference"]["percent"], rtol=1e-5)
        worst = [by_name[re.match(r"baseline (\S+):", text)[1]]
                 for text in marks.get("worst", [])]
        self.assertEqual(worst, [report["baselines"][index] for index in
                                 report["worst_baselines"]])
        for text, row in zip(marks.get("clips", []), report["inputs"]):
            self.assertEqual(text.split(":")[0], f"input {row['input']}")
            self.assertAlmostEqual(float(text.split()[-1]),
                                   row["clip_largest"],
                                   delta=1e-5 * row["clip_largest"])
        for name in ("clips", "gains"):
            self.assertEqual(len(marks.get(name, [])), len(report["inputs"]))
        for text, row in zip(marks.get("gains", []), report["inputs"]):
            self.assertEqual(text.split(":")[0], f"input {row['input']}")
            self.assertAlmostEqual(
                float(re.search(r"median (\S+),", text)[1]),
                row["gain_median"], delta=1e-5 * row["gain_median"])

    def check_numbers(self, text, row, *names):
        for name in names:
            shown = float(re.search(name + r" ([^ ,]+)", text)[1])
            self.assertAlmostEqual(shown, row[name],
                                   delta=1e-5 * abs(row[name]))

    # --- against numpy -------------------------------------------------

    def check_against_numpy(self, report, rough, exact):
        """Sums of doubles in another order: 1e-9; bins of the histogram: 1 %."""
        cells = Cells(rough, exact)
        self.assertEqual(report["overall"]["n_cells"],
                         np.count_nonzero(cells.usable))

        def same(row, keep):
            measured, predicted = cells.rms(keep)
            self.assertAlmostEqual(row["measured"] / measured, 1, places=8)
            self.assertAlmostEqual(row["predicted"] / predicted, 1, places=8)
        same(report["overall"], True)
        for channel, row in enumerate(report["channels"]):
            if row["n_cells"]:
                same(row, np.arange(len(report["channels"])) == channel)
        for baseline, row in enumerate(report["baselines"]):
            if row["n_cells"]:
                same(row, (cells.baseline == baseline)[:, None, None])
        phases = cells.phases()
        got = report["phase_difference"]
        self.assertAlmostEqual(got["rms_deg"] / np.sqrt((phases**2).mean()), 1,
                               places=8)
        self.assertAlmostEqual(got["median_absolute_deg"]
                               / np.median(np.abs(phases)), 1, delta=0.01)
        amplitudes = np.abs(cells.a / cells.b)[cells.usable]
        for name, percent in (("low", 15.865), ("median", 50),
                              ("high", 84.135)):
            self.assertAlmostEqual(
                report["amplitude_ratio"][name],
                np.percentile(amplitudes, percent), delta=1e-3)

    def test_polarised_gappy_and_unequal(self):
        for target in (4, 20):
            with self.subTest(target_rms=target):
                rough, exact = self.make(target)
                report, words = self.report(exact, rough)
                self.assertEqual(report["verdict"], "good")
                self.assertEqual(report["subject"]["path"], rough)
                self.assertEqual(report["subject"]["precision"], "INT8")
                self.assertIn("left out: flagged or without data", words)
                self.check_against_numpy(report, rough, exact)
                gains = program.read(rough).gains
                for row, of_input in zip(report["inputs"], gains):
                    self.assertAlmostEqual(row["gain_median"]
                                           / np.median(of_input), 1, places=9)
                    # levels are measured on all spectra, of which some are
                # in no dump
                    self.assertAlmostEqual(row["level_median"] / target, 1,
                                           delta=0.05)
                self.assertEqual([row["input"] for row in report["inputs"]],
                                 [f"{n}{p}" for n in (3, 5, 8, 13)
                                  for p in "XY"])

    def test_coarse_bands(self):
        samples = test_bands.noise(3)
        paths = [aavs_files.write(
            self.folder, samples[:, antennas], test_bands.START, tile=tile,
            part=0, first=0, n=test_bands.N_SAMPLES, block=test_bands.BLOCK,
            channel_id=test_bands.FIRST)[0]
            for tile, antennas in enumerate((slice(0, 2), slice(2, 3)))]
        setup = oracle.Setup(32, 60 * 32 / test_bands.RATE_HZ, taps=4,
                             precision="int8", channel_average=3,
                             missing_value=-128)
        rough, exact = self.correlate_both(paths, setup, test_bands.KEEP)
        self.assertEqual(program.read(rough).gains.shape, (6, 3 * 27))
        report, _ = self.report(rough, exact)
        self.assertEqual(report["verdict"], "good")
        self.assertEqual(report["n_channels"], 3 * 27 // 3)
        self.check_against_numpy(report, rough, exact)

    def test_clips_and_low_levels_are_named(self):
        rough, exact = self.make(20)
        with h5py.File(rough, "r+") as file:
            n_dumps = len(file["fx8/clips"])
            program.add_clips(file, np.s_[1:3, 1, 30])      # antenna 3, Y
            gains = file["fx8/gain"][...]
            gains[6, 40:42] /= 40       # antenna 13, X
            file["fx8/gain"][...] = gains
        report, words = self.report(rough, exact)
        self.assertEqual(report["verdict"], "good")
        left_out = {row["reason"]: row for row in report["left_out"]}
        row = left_out["clipped more than 1e-4"]
        self.assertEqual((row["channels"], row["inputs"]), ([30], ["3Y"]))
        self.assertEqual(row["n_cells"], 2 * 7)     # pairs with 3Y in two dumps
        self.assertGreater(n_dumps, 2)
        row = left_out["level below 1 LSB"]
        self.assertEqual((row["channels"], row["inputs"]),
                         ([40, 41], ["13X"]))
        self.assertRegex(words, r"clipped more than 1e-4: \d+ cells, "
                         r"channels 30, inputs 3Y\n")
        self.assertRegex(words, r"level below 1 LSB: \d+ cells, "
                         r"channels 40-41, inputs 13X\n")
        self.check_against_numpy(report, rough, exact)

    def test_arrays_of_one_or_two_inputs(self):
        """The text of a mark names its one input once, not "0X to 0X"."""
        for n_antennas, n_pols, n_pairs in ((1, 1, 0), (1, 2, 1), (2, 1, 1)):
            with self.subTest(n_antennas=n_antennas, n_pols=n_pols):
                samples = self.samples(n_antennas=n_antennas, count=16_000)
                files = self.correlate_both(
                    [self.write(program.Scene(samples[:, :n_pols]))],
                    oracle.Setup(64, 64 * 120e-6, taps=4, precision="int8"))
                report, _ = self.report(*files, code=0 if n_pairs else 3)
                self.assertEqual(report["verdict"],
                                 "good" if n_pairs else "none")
                self.assertEqual(len(report["inputs"]), n_antennas * n_pols)

    def test_figures_of_spoiled_files(self):
        """Of clips over decades the axis is logarithmic, powers of ten beside
        it: the top of a bar is where its value is among them.  Positions have
        two decimals, and three of them meet here.  Baselines beyond chance are
        red."""
        rough, exact = self.make(20)
        shares = {0: 3e-6, 1: 2e-4, 2: 3e-2}

        def clip(file):
            clips = np.zeros_like(file["fx8/clip_fraction"][...])
            for row, share in shares.items():
                clips[row, 30] = share
            file["fx8/clip_fraction"][...] = clips
        self.report(self.changed(rough, clip), exact)
        svg = ElementTree.parse(self.path("page.html")).find(
            f".//figure[@id='clips']/{SVG}svg")
        ticks = [(np.log10(float(text.text)), float(text.get("y")) - 3)
                 for text in svg.iter(f"{SVG}text")
                 if text.get("text-anchor") == "end"
                 and text.get("font-size") == "8.5"]
        self.assertGreaterEqual(len(ticks), 4)
        self.assertTrue(all(power == round(power) for power, _ in ticks))
        slope, start = np.polyfit(*zip(*ticks), 1)
        bars = [item for item in svg.findall(f"{SVG}rect")
                if item.get("fill") not in ("none", "#ffffff")]
        self.assertEqual(len(bars), 8)
        for row, share in shares.items():
            self.assertAlmostEqual(float(bars[row].get("y")),
                                   start + slope * np.log10(share), delta=0.02)
        line, = [item for item in svg.iter(f"{SVG}polyline")
                 if item.get("stroke-dasharray")]
        self.assertAlmostEqual(
            float(line.get("points").split(",")[-1]),
            start + slope * np.log10(1e-4), delta=0.02)

        def spoil(file):
            values = file["Data/visdata"][...]
            values.reshape(-1, 10, *values.shape[1:])[:, 1] *= 3
            file["Data/visdata"][...] = values
        report, _ = self.report(self.changed(rough, spoil), exact, code=3)
        self.assertGreater(report["baselines"][1]["sigmas"], 5)
        root = ElementTree.parse(self.path("page.html"))
        red = [dot for dot in root.iter(f"{SVG}circle")
               if dot.get("fill") == "#c1121f"]
        self.assertEqual(len(red), sum(
            abs(report["baselines"][index]["sigmas"]) > 5
            for index in report["worst_baselines"]))

    # --- other files ---------------------------------------------------

    def test_files_of_another_correlator(self):
        """Written by pyuvdata: no group /fx8, no PRECISN."""
        _, exact = self.make(20)
        turn = 1.02 * np.exp(0.01j)
        paths = {}
        # about missing metadata
        with warnings.catch_warnings(action="ignore"):
            data = uvdata.UVData.from_file(exact)
            data.extra_keywords = {}
            for kind in ("all", "cross"):
                if kind == "cross":
                    data.select(ant_str="cross")
                other = data.copy()
                other.data_array = other.data_array * turn
                for name, item in (("a", other), ("b", data)):
                    paths[kind, name] = self.path(f"{kind}.{name}.uvh5")
                    item.write_uvh5(paths[kind, name], run_check=False)
        for kind, unit in (("all", "coherence"), ("cross", "uncalib")):
            report, words = self.report(paths[kind, "a"], paths[kind, "b"])
            self.assertIn("nothing is predicted", words)
            self.assertEqual((report["verdict"], report["unit"]), ("none", unit))
            self.assertIsNone(report["overall"]["predicted"])
            self.assertAlmostEqual(report["overall"]["amplitude"], 1.02,
                                   places=6)
            self.assertAlmostEqual(report["overall"]["phase_deg"],
                                   np.degrees(0.01), places=6)
        a, b = paths["all", "a"], paths["all", "b"]
        circular = [self.changed(
            path, lambda file: file["Header/polarization_array"].write_direct(
                np.array([-1, -2, -3, -4])), f"circular{n}.uvh5")
            for n, path in enumerate((a, b))]
        report, _ = self.report(*circular)
        self.assertAlmostEqual(report["overall"]["amplitude"], 1.02, places=6)

        # pyuvdata packs flags and weights with lzf unless asked not to
        with h5py.File(a, "r") as file:
            self.assertEqual(file["Data/flags"].compression, "lzf")
            size = np.prod(file["Data/flags"].chunks)
        content = program.content(a)
        short = self.save("short.uvh5",
                          content.replace(struct.pack("<3I", 4, 0x105, size),
                                          struct.pack("<3I", 4, 0x105, 8)))
        done = program.run("compare", short, b)
        self.assert_one_line(done, 1, short, "flags: lzf: a size that is not")

        def in_jansky(file):
            del file["Header/vis_units"]
            file["Header/vis_units"] = np.bytes_("Jy")
        jansky = self.changed(b, in_jansky)
        for arguments in ((a, jansky), ("--rigorous", a, b, jansky)):
            done = program.run("compare", *arguments)
            self.assert_one_line(done, 1, jansky,
                                 "vis_units: Jy: expected uncalib as in")

    def test_phased_by_pyuvdata(self):
        """A file phased to a source cannot be compared with an unphased one; two
        phased alike can.  Before version 1.1 phase_type shows it."""
        rough, exact = self.make(20)
        phased = []
        for path in (rough, exact):
            with warnings.catch_warnings(action="ignore"):
                data = uvdata.UVData.from_file(path)
                data.phase(lon=1.0, lat=-0.5, cat_name="Fornax A",
                           phase_frame="icrs")
                phased.append(self.path(f"phased{len(phased)}.uvh5"))
                data.write_uvh5(phased[-1])

        def as_before(file):
            for name in ("catalog", "id_array"):
                del file[f"Header/phase_center_{name}"]
            file["Header/phase_type"] = np.bytes_("phased")
            file["Header/object_name"] = np.bytes_("Fornax A")
        old = self.changed(phased[0], as_before)
        for arguments, name in (((phased[0], exact), phased[0]),
                                ((rough, phased[1]), phased[1]),
                                ((old, exact), old),
                                (("--rigorous", *phased, exact), phased[0])):
            with self.subTest(arguments=arguments):
                done = program.run("compare", *arguments)
                self.assert_one_line(
                    done, 1, f"{name}: phased towards Fornax A: expected "
                    "unprojected visibilities, as in ")
                self.assertEqual(done.stdout, "")
        for name in (phased[0], old):
            self.assertIn("rms diff",
                          program.run("compare", name, phased[1]).stdout)

    def test_nothing_to_judge_by(self):
        rough, exact = self.make(20)

        def flag(file):
            file["Data/flags"][...] = True
        report, _ = self.report(self.changed(rough, flag), exact, code=3)
        self.assertEqual(report["reason"], "every cell is flagged or without "
                         "data: nothing to judge by")
        done = program.run("compare", self.changed(exact, flag), exact)
        self.assert_one_line(done, 3, "every cell is flagged")

        def empty(file):
            file["Data/visdata"][...] = 0
        page = self.path("empty.html")
        done = self.well("compare", rough, self.changed(exact, empty),
                         "--html", page, code=3)
        self.assertIn("levels not known", done.stdout)
        self.assertIn("every channel is left out as a whole", done.stdout)
        text = done.stdout + program.text(page)
        self.assertIsNone(re.search(r"\b(nan|inf)\b", text))

        def spoil(file):
            values = file["Data/visdata"][...]
            values[5, 7, 1] = np.nan
            file["Data/visdata"][...] = values
        done = program.run("compare", rough, self.changed(exact, spoil))
        self.assert_one_line(done, 1, "Data/visdata[5, 7, 1]: nan: expected a "
                             "finite number")
        for weight in (np.nan, np.inf, -0.5):
            def weigh(file, weight=weight):
                file["Data/nsamples"][5, 7, 1] = weight
            done = program.run("compare", rough, self.changed(exact, weigh))
            self.assert_one_line(done, 1, f"Data/nsamples[5, 7, 1]: {weight}: "
                                 "expected a finite number from 0 up")
        for name in ("", "page", "page.png", "a.html/page"):
            done = program.run("compare", rough, exact, "--html", name)
            self.assert_one_line(done, 2, f"--html: {name}",
                                 "expected a name that ends in .html")
        self.assertFalse(pathlib.Path(".part").exists())

    def test_wrong_use(self):
        quick = self.path("quick.h5")
        rough, exact = self.make(20, {"postprocess.quicklook": quick})
        self.assert_one_line(program.run("compare", quick, exact), 1,
                             quick, "a quick-look file: expected visibilities")
        page = self.save("page.html", "kept")
        done = program.run("compare", rough, exact, "--html", page)
        self.assert_one_line(done, 2, page, "exists", "--force")
        self.assertEqual(program.text(page), "kept")
        for arguments in (("--force", rough, exact), (rough, exact, "--html"),
                          ("--rigorous", "--json", rough, exact, exact)):
            self.assert_one_line(program.run("compare", *arguments), 2)
        # for files that cannot be compared no page is written, not even a part
        before = sorted(self.contents())
        done = program.run("compare", rough, quick, "--html",
                           self.path("none.html"))
        self.assert_one_line(done, 1)
        self.assertEqual(sorted(self.contents()), before)
