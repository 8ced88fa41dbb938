# SPDX-License-Identifier: BSD-3-Clause
"""fx8 plot: every kind of results, quick-looks and recordings against numpy, and
the pictures decoded.

Shows (commands, plots): what `fx8 plot` draws of a result, a quick-look or a
    recording are the means that numpy finds in the file, for every kind; the
    overview names a dead and a weak input; delays of the antennas are peaks
    where they were put
Within: 10⁻⁹ of the largest value; quick-looks 2⁻⁹; a delay 5 ns
Because: sums of doubles in another order; halves and products of three of
    them; steps of 7.8 ns, between which a parabola is right to a tenth, and
    noise of 10⁻² of the signal
Shows (commands, pictures): PNG, SVG, PDF and HTML are whole files of their
    format, show the colours of their values, and refer to nothing outside;
    whatever cannot be drawn is one clear line and leaves no file
"""
import base64
import json
import os
import re
import struct
import unittest
import warnings
import xml.etree.ElementTree
import zlib

import numpy as np

import oracle
import program

N = 6
CHANNELS = 32
DELAYS = (0, 3, 1, 5, 2, 4)             # samples, 1 us each
DEAD, WEAK = (3, 0), (4, 1)             # antenna, polarisation
KINDS = ("overview", "spectrum", "waterfall", "matrix", "phase", "delay", "uv",
         "closure")
SVG = "{http://www.w3.org/2000/svg}"
EPOCH = 2440587.5
FOLDER = os.path.join(program.RECORDINGS, "digital_rf")


def observed(n_samples=20_000):
    """A common signal that reaches every antenna later, and noise."""
    common = program.noise(31, 2, n_samples + 8, level=14)
    own = program.noise(32, N, 2, n_samples, level=7)
    samples = np.stack([common[:, 8 - d:8 - d + n_samples] for d in DELAYS]) + own
    samples[DEAD] = 0
    samples[WEAK] = np.rint(0.1 * samples[WEAK])
    return program.to_int8(samples)


def decibels(power):
    with np.errstate(divide="ignore", invalid="ignore"):
        return 10 * np.log10(power)


def mean(values, axis=None):
    """The mean of what is not NaN; NaN where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(values, axis=axis)


def decoded(data):
    """Pixels [row][column][red, green, blue] of a PNG as fx8 writes it."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        check, = struct.unpack(">I", data[at + 8 + size:at + 12 + size])
        assert check == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert form == [8, 2, 0, 0, 0]      # 8 bits, colours, nothing else
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    rows = rows.reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()         # no filters
    return rows[:, 1:].reshape(height, width, 3).astype(int)


class Plotted(program.Job):
    """A result, its quick-look and its recording, made once."""

    @classmethod
    def setUpClass(cls):
        maker = cls()
        program.Job.setUp(maker)
        cls.maker = maker
        maker.configure(oracle.Setup(CHANNELS, 0.004, precision="int8"))
        cls.file = maker.output
        cls.look = maker.path("look.h5")
        cls.recorded = maker.write(program.Scene(observed()), "in.h5")
        maker.well(*maker.words(cls.recorded, "--quiet", "--set",
                                f"postprocess.quicklook={cls.look}"))
        cls.result = program.read(cls.file)

    @classmethod
    def tearDownClass(cls):
        cls.maker.doCleanups()

    def plot(self, kind, *more, file=None):
        """The panels of a kind."""
        return json.loads(self.well("plot", file or self.file, "--kind", kind,
                                    "--json", *more).stdout)["panels"]

    def good(self):
        """Visibilities with NaN where they are flagged."""
        return np.where(self.result.flags, np.nan, self.result.visibilities)

    def row(self, i, k):
        """The baseline of two antennas, i <= k."""
        return i * N - i * (i - 1) // 2 + k - i

    def near(self, got, want, share=1e-9):
        """Equal with the same gaps."""
        got = np.array(got, float)          # null is NaN
        want = np.where(np.isfinite(want), want, np.nan)
        np.testing.assert_allclose(
            got, want, rtol=0, atol=share * np.nanmax(np.abs(want)))

    def degrees_near(self, got, want, share=1e-9):
        turned = np.exp(1j * np.deg2rad(np.array(got, float)))
        self.near(turned.real, np.cos(np.angle(want)), share)
        self.near(turned.imag, np.sin(np.angle(want)), share)


class Kinds(Plotted):
    """What is drawn, as numbers."""

    def spectra(self, product):
        """Mean power of every antenna, in dB."""
        good = self.good()[..., product].real
        return decibels(np.array([mean(good[:, self.row(a, a)], 0)
                                  for a in range(N)]))

    def coherence(self, product):
        """Mean of |rho| [antenna][antenna]; NaN on the diagonal."""
        good = self.good()
        out = np.full((N, N), np.nan)
        for i in range(N):
            for k in range(i + 1, N):
                powers = (good[:, self.row(i, i), :, product].real
                          * good[:, self.row(k, k), :, product].real)
                with np.errstate(all="ignore"):
                    rho = np.abs(good[:, self.row(i, k), :, product]) / np.sqrt(
                        powers)
                out[i, k] = out[k, i] = mean(rho)
        return out

    def test_spectrum(self):
        panels = self.plot("spectrum")
        mhz = self.result.header["freq_array"].ravel() * 1e-6
        for product in range(2):
            series = panels[product]["series"]
            self.assertEqual([s["name"] for s in series],
                             [f"ANT00{a}" for a in range(N)])
            np.testing.assert_allclose(series[0]["x"], mhz, rtol=1e-12)
            self.near([s["y"] for s in series], self.spectra(product))
        flagged, clipped = panels[2]["series"]
        autos = [self.row(a, a) for a in range(N)]
        self.near(flagged["y"], 100 * self.result.flags[:, autos, :, :2].mean(
            axis=(0, 1, 3)))
        self.near(np.array(clipped["y"]) + 1,
                  100 * self.result.clip_fraction.mean(axis=0) + 1)

    def test_part_of_a_spectrum(self):
        panels = self.plot("spectrum", "--antennas", "1,4", "--channels", "8-11",
                           "--pol", "yy", "--times", "1-2")
        self.assertEqual(len(panels), 2)
        self.assertEqual([s["name"] for s in panels[0]["series"]],
                         ["ANT001", "ANT004"])
        power = self.good()[1:3, self.row(4, 4), 8:12, 1].real.mean(axis=0)
        self.near(panels[0]["series"][1]["y"], decibels(power))

    def test_matrix(self):
        for product, panel in enumerate(self.plot("matrix")):
            self.near(panel["matrix"]["values"], self.coherence(product))
            self.assertEqual(panel["x"]["names"],
                             [f"ANT00{a}" for a in range(N)])

    def test_matrix_of_cross_hands(self):
        """XY of antennas i < k above the diagonal; below it XY of k and i, whose
        conjugate is in the file as YX of i and k."""
        values = np.array(self.plot("matrix", "--pol", "XY")[0]["matrix"][
            "values"], float)
        good = self.good()
        i, k = 1, 5
        power = [good[:, self.row(a, a), :, :2].real for a in (i, k)]
        for product, got, powers in (
                (2, values[k, i], power[0][..., 0] * power[1][..., 1]),
                (3, values[i, k], power[0][..., 1] * power[1][..., 0])):
            want = mean(np.abs(good[:, self.row(i, k), :, product])
                        / np.sqrt(powers))
            self.assertAlmostEqual(got, want, 9)

    def test_matrix_by_length(self):
        panel = self.plot("matrix", "--sort", "length", "--pol", "XX")[0]
        uvw = self.result.header["uvw_array"][:self.result.flags.shape[1]]
        points = panel["series"][0]
        names = points["labels"]
        want = self.coherence(0)
        n_seen = 0
        for i in range(N):
            for k in range(i + 1, N):
                at = names.index(f"ANT00{i} and ANT00{k}")
                self.assertAlmostEqual(points["x"][at],
                                       np.linalg.norm(uvw[self.row(i, k)]), 9)
                if DEAD[0] in (i, k):
                    self.assertIsNone(points["y"][at])
                else:
                    self.assertAlmostEqual(points["y"][at], want[i, k], 9)
                n_seen += 1
        self.assertEqual(n_seen, sum(name is not None for name in names))

    def test_waterfall(self):
        amplitude, phase = self.plot("waterfall", "--baseline", "1,5")
        values = self.good()[:, self.row(1, 5), :, 0]
        self.near(amplitude["matrix"]["values"], decibels(np.abs(values)))
        self.near(phase["matrix"]["values"], np.rad2deg(np.angle(values)))
        unix = (self.result.header["time_array"][0] - EPOCH) * 86400
        half = 0.5 * self.result.header["integration_time"][0]
        # a Julian date in double is good to 40 us
        self.assertAlmostEqual(amplitude["y"]["low"], unix - half, 4)

    def test_turned_baseline(self):
        """--baseline 5-1: the conjugate, and XY of it is that of YX of 1-5."""
        amplitude, phase = self.plot("waterfall", "--baseline", "5-1", "--pol",
                                     "XY")
        values = self.good()[:, self.row(1, 5), :, 3].conj()
        self.assertTrue(phase["title"].endswith("XY of ANT005 and ANT001"))
        self.near(amplitude["matrix"]["values"], decibels(np.abs(values)))
        self.near(phase["matrix"]["values"], np.rad2deg(np.angle(values)))
        for limit in self.plot("delay", "--baseline", "5-0")[0]["limits"]:
            self.assertAlmostEqual(limit["at"],
                                   1000 * (DELAYS[0] - DELAYS[5]), delta=5)

    def test_phase(self):
        against_frequency, against_time = self.plot("phase", "--baseline", "0-2")
        values = self.good()[:, self.row(0, 2)]
        for product in range(2):
            self.degrees_near(against_frequency["series"][product]["y"],
                              mean(values[..., product], 0))
            self.degrees_near(against_time["series"][product]["y"],
                              mean(values[..., product], 1))

    def test_delay(self):
        for i, k in ((0, 1), (1, 2), (0, 5)):
            panel = self.plot("delay", "--baseline", f"{i}-{k}")[0]
            for limit in panel["limits"]:
                self.assertAlmostEqual(
                    limit["at"], 1000 * (DELAYS[k] - DELAYS[i]), delta=5)

    def test_uv(self):
        panel, = self.plot("uv")
        uvw = self.result.header["uvw_array"][:self.result.flags.shape[1]]
        cross = [self.row(i, k) for i in range(N) for k in range(i + 1, N)]
        for series, sign in zip(panel["series"], (1, -1)):
            got = np.array([series["x"], series["y"]], float).T
            np.testing.assert_allclose(got[cross], sign * uvw[cross, :2],
                                       rtol=1e-12)
            self.assertTrue(np.isnan(np.delete(got, cross, axis=0)).all())

    def test_closure(self):
        panels = self.plot("closure", "--antennas", "0-2,5", "--pol", "YY")
        good = self.good()[..., 1]
        i, j, k = 0, 2, 5
        product = (good[:, self.row(i, j)] * good[:, self.row(j, k)]
                   * good[:, self.row(i, k)].conj())
        for axis, panel in enumerate(panels):
            self.assertEqual(len(panel["series"]), 4)
            series, = (s for s in panel["series"] if s["name"] == "0-2-5")
            self.degrees_near(series["y"], np.where(
                np.isnan(product).all(axis=axis), np.nan,
                np.nansum(product, axis=axis)))

    def test_overview(self):
        done = self.well("plot", self.file, "-o", self.path("o.svg"))
        self.assertEqual(
            done.stdout, f"{self.path('o.svg')}: 2 of 12 inputs look wrong: "
            "ANT003 X (dead), ANT004 Y (weak)\n")
        levels, spectra, matrix, uv, amplitude, phase = self.plot("overview")
        bad = [s for s in levels["series"] if s["is_bad"]]
        self.assertEqual([s["name"] for s in bad],
                         ["X, looks wrong", "Y, looks wrong"])
        self.assertEqual(bad[0]["labels"][DEAD[0]], "dead")
        self.assertEqual(bad[1]["labels"][WEAK[0]], "weak")
        self.near([s["y"] for s in spectra["series"]], self.spectra(0))
        self.near(matrix["matrix"]["values"], self.coherence(0))
        i, k = np.unravel_index(np.nanargmax(self.coherence(0)), (N, N))
        for panel in (amplitude, phase):
            self.assertIn(f"ANT00{i} and ANT00{k}", panel["title"])
        self.assertEqual(len(uv["series"]), 2)

    def test_quicklook(self):
        for product, panel in enumerate(self.plot("matrix", file=self.look)):
            self.near(panel["matrix"]["values"], self.coherence(product), 2**-9)
        panels = self.plot("spectrum", file=self.look)
        self.near([s["y"] for s in panels[0]["series"]], self.spectra(0), 2e-5)
        _, phase = self.plot("waterfall", "--baseline", "0-1", file=self.look)
        values = self.good()[:, self.row(0, 1), :, 0]
        self.degrees_near(phase["matrix"]["values"], values, 2**-9)
        self.assert_one_line(
            program.run("plot", self.look, "--kind", "uv"), 2, "uv",
            "a quick-look can give: overview, spectrum, waterfall, matrix, "
            "phase, delay, closure")

    def test_levels(self):
        histogram, levels = self.plot("levels", file=self.recorded)
        samples = observed()
        for antenna in range(N):
            for pol in range(2):
                values = samples[antenna, pol]
                counts = np.bincount(
                    np.r_[values.real, values.imag].astype(int) + 128,
                    minlength=256)
                self.near(histogram["matrix"]["values"][2 * antenna + pol],
                          np.where(counts > 0, 100 * counts / counts.sum(),
                                   np.nan))
        rms = np.sqrt((np.abs(samples)**2).mean(axis=2) / 2).ravel()
        good, bad = (np.array(s["y"], float) for s in levels["series"])
        self.near(np.where(np.isnan(good), bad, good), rms)
        self.assertEqual(np.flatnonzero(~np.isnan(bad)).tolist(), [6, 9])
        done = self.well("plot", self.recorded, "-o", self.path("r.html"))
        self.assertIn(self.well("info", self.recorded).stdout.split("verdict")[
            1].split("\n")[0].strip(), done.stdout)

    def test_many_antennas_are_rows(self):
        """More than 12 antennas: a matrix in place of lines."""
        self.configure(oracle.Setup(8, 0.002, precision="int8"))
        samples = program.noise(51, 14, 1, 6000)
        self.well(*self.words(self.write(program.Scene(samples), "many.h5"),
                              "--quiet", "--force"))
        panel = self.plot("spectrum", file=self.output)[0]
        good = program.read(self.output)
        row = 13 * 14 - 13 * 12 // 2
        self.assertEqual(good.header["ant_1_array"][row], 13)
        values = np.where(good.flags, np.nan, good.visibilities)
        self.near(panel["matrix"]["values"][13],
                  decibels(mean(values[:, row, :, 0].real, 0)))


class Pictures(Plotted):
    """The files."""

    def draw(self, name, *more, file=None):
        """The bytes of a picture."""
        path = self.path(name)
        self.well("plot", file or self.file, "-o", path, *more)
        self.assertEqual(self.left_over(), [])
        return program.content(path)

    def xml(self, data):
        """The tree of an SVG or a page; nothing outside is named."""
        text = data.decode()
        addresses = set(re.findall(r"\w+://[^\s\"'<>]*", text))
        self.assertEqual(addresses, {"http://www.w3.org/2000/svg"})
        for word in ("<script src", "<link", "@import", "url("):
            self.assertNotIn(word, text)
        for name in re.findall(r'href="([^"]{5})', text):
            self.assertEqual(name, "data:")
        return xml.etree.ElementTree.fromstring(
            text.removeprefix("<!DOCTYPE html>"))

    def test_every_kind_is_xml(self):
        for kind in KINDS:
            with self.subTest(kind):
                tree = self.xml(self.draw(f"{kind}.svg", "--kind", kind))
                self.assertEqual(tree.tag, f"{SVG}svg")
                words = " ".join(tree.itertext())
                self.assertIn("out.uvh5", words)

    def test_page(self):
        """One page, with values under the pointer."""
        tree = self.xml(self.draw("page.html"))
        titles = [item.text for item in tree.iter(f"{SVG}title")]
        self.assertTrue(any(re.fullmatch(r"X, looks wrong, dead, ANT003: -?inf",
                                         title) for title in titles), titles[:9])
        rho = [title for title in titles
               if re.fullmatch(r"ANT000, ANT001: 0\.\d+", title)]
        self.assertEqual(len(rho), 1)

    def test_default_name(self):
        self.well("plot", self.file, "--kind", "matrix", "--quiet")
        beside = self.file.replace("out.uvh5", "out.matrix.html")
        self.xml(program.content(beside))
        os.remove(beside)

    def test_raster_in_svg(self):
        """A pixel for each value; dark is low, yellow is high, grey is none."""
        tree = self.xml(self.draw("m.svg", "--kind", "matrix", "--pol", "XX"))
        rasters = [decoded(base64.b64decode(
            item.get("href").split(",")[1])) for item in tree.iter(f"{SVG}image")]
        pixels = rasters[0][::-1]           # antenna 0 at the foot
        self.assertEqual(pixels.shape, (N, N, 3))
        panel = json.loads(self.well("plot", self.file, "--kind", "matrix",
                                     "--pol", "XX", "--json").stdout)["panels"][0]
        values = np.array(panel["matrix"]["values"], float)
        for i in range(N):
            self.assertEqual(pixels[i, i].tolist(), [0xec] * 3)
            self.assertEqual(pixels[i, DEAD[0]].tolist(), [0xec] * 3)
        high = np.unravel_index(np.nanargmax(values), values.shape)
        np.testing.assert_allclose(pixels[high], (253, 231, 37), atol=6)
        self.assertEqual(rasters[1].shape, (256, 1, 3))     # the colour bar
        np.testing.assert_allclose(rasters[1][-1, 0], (68, 1, 84), atol=6)

    def test_png(self):
        """The size of the page, twice; its colours where SVG has them."""
        tree = self.xml(self.draw("o.svg"))
        width, height = (float(word) for word in
                         tree.get("viewBox").split()[2:])
        pixels = decoded(self.draw("o.png"))
        self.assertEqual(pixels.shape, (int(2 * height), int(2 * width), 3))
        self.assertEqual(pixels[0, 0].tolist(), [255] * 3)
        seen = 0
        for item in tree.iter(f"{SVG}circle"):
            colour = item.get("fill")
            if colour == "#c1121f":         # what looks wrong, drawn on top
                at = pixels[int(2 * float(item.get("cy"))),
                            int(2 * float(item.get("cx")))]
                self.assertEqual("#%02x%02x%02x" % tuple(at), colour)
                seen += 1
        self.assertEqual(seen, 2)

    def test_pdf(self):
        data = self.draw("o.pdf")
        self.assertTrue(data.startswith(b"%PDF-1."))
        self.assertTrue(data.rstrip().endswith(b"%%EOF"))
        self.assertEqual(data.count(b"/Type /Pages"), 1)

    def test_strange_names(self):
        """Letters that mean something in XML, and bytes that mean nothing."""
        path = os.path.join(os.fsencode(self.folder), b"<a>&\"\xff\n.uvh5")
        with open(path, "wb") as file:
            file.write(program.content(self.file))
        tree = self.xml(self.draw("s.svg", file=os.fsdecode(path)))
        self.assertIn('<a>&"??.uvh5: overview', list(tree.itertext()))
        self.assertTrue(self.draw("s.png", file=os.fsdecode(path)))

    @unittest.skipUnless(os.path.isdir(FOLDER), "recording digital_rf")
    def test_a_folder_has_a_name(self):
        tree = self.xml(self.draw("f.svg", file=FOLDER + "/"))
        self.assertIn("digital_rf: overview", list(tree.itertext()))

    def refused(self, code, *words, mentions=()):
        before = self.contents()
        self.assert_one_line(program.run("plot", *words), code, *mentions)
        self.assertEqual(self.contents(), before)

    def test_refusals(self):
        there = self.save("there.svg", "kept")
        for code, words, mentions in (
                (2, (), ["no FILE"]),
                (2, (self.file, "-o", self.path("a.gif")),
                 ["a.gif", ".gif", ".png, .svg, .pdf or .html"]),
                (2, (self.file, "-o", self.path("plain")), ["no suffix"]),
                (2, (self.file, "-o", there), ["there.svg"]),
                (2, (self.file, "-o", self.file), ["out.uvh5"]),
                (1, (self.file, "-o", self.path("no/a.svg")), ["no/a.svg"]),
                (2, (self.file, "--kind", "pie"), ["pie", "overview"]),
                (2, (self.file, "--kind", "levels"),
                 ["a result can give: overview"]),
                (2, (self.recorded, "--kind", "uv"),
                 ["a recording can give: overview, levels"]),
                (2, (self.file, "--antennas", "0,99"), ["--antennas: 99"]),
                (2, (self.file, "--antennas", "x"), ["--antennas: x"]),
                (2, (self.file, "--channels", "3-32"), ["--channels: 32", "31"]),
                (2, (self.file, "--channels", "5-3"), ["--channels: 5-3"]),
                (2, (self.file, "--channels", "1,5"),
                 ["--channels: 1,5: expected one stretch A-B"]),
                (2, (self.file, self.file), [
                    "out.uvh5: not a recording: expected one result, one "
                    "quick-look or the files of one recording"]),
                (2, (self.file, "--times", "9"), ["--times: 9"]),
                (2, (self.file, "--baseline", "0-77"), ["--baseline: 0-77"]),
                (2, (self.file, "--baseline", "5"), ["--baseline: 5"]),
                (2, (self.look, "--kind", "matrix", "--sort", "length"),
                 ["--sort: length"]),
                (2, (self.file, "--kind", "delay", "--channels", "3-5"),
                 ["--kind: delay: 3 channels: expected at least 4"]),
                (1, (self.file, "--kind", "uv", "--antennas", "2"),
                 ["no baselines"]),
                (1, (self.file, "--kind", "closure", "--antennas", "0,1"),
                 ["three"]),
                (1, (self.path("gone.uvh5"),), ["gone.uvh5"]),
                (1, (self.save("text.uvh5", "words"),), ["text.uvh5"])):
            with self.subTest(words=words[1:]):
                self.refused(code, *words, mentions=mentions)
        self.well("plot", self.file, "-o", there, "--force", "--quiet")
        self.xml(program.content(there))

    def test_options_without_effect(self):
        for option, value, expected in (
                ("--antennas", "0-2", "a recording"), ("--pol", "XX", "a recording"),
                ("--channels", "0-3", "a recording"), ("--times", "0", "a recording"),
                ("--baseline", "0-1", "a recording"), ("--sort", "length",
                                                       "a recording"),
                ("--set", "observation.sample_rate_hz=1e6", "a result"),
                ("--set", "observation.sample_rate_hz=1e6", "a quick-look"),
                ("--sort", "length", "--kind phase: expected matrix"),
                ("--baseline", "0-1", "--kind uv: expected overview, waterfall, "
                 "phase or delay")):
            with self.subTest(f"{option} {expected}"):
                _, is_kind, kind = expected.partition("--kind ")
                file = {"a recording": self.recorded,
                        "a quick-look": self.look}.get(expected, self.file)
                more = ["--kind", kind.split(":")[0]] if is_kind else []
                self.refused(2, file, option, value, *more,
                             mentions=[option, f"has no effect on {expected}"])

    def test_damaged_quicklooks(self):
        """Datasets that are missing or have another shape or content."""
        for name, change, mention in (
                ("coherence", "short", "coherence: another shape"),
                ("flags", "missing", "flags"),
                ("spectra_db", "short", "spectra_db: another shape"),
                ("time_julian_date", "odd", None),
                ("frequency_hz", "missing", "frequency_hz"),
                ("baseline_antenna_2", "odd", "baseline 0-77"),
                ("antenna_names", "short", "antenna_names"),
                ("input_antenna", "odd", "input_antenna: 77"),
                ("input_feed", "missing", "input_feed"),
                ("product", "short", "coherence: another shape")):
            def spoil(file):
                values = file[name][...]
                del file[name]
                if change == "short":
                    file[name] = values[:-1]
                if change == "odd":
                    file[name] = np.full(values.shape, 77)
            with self.subTest(f"{name} {change}"):
                path = self.changed(self.look, spoil)
                if mention is None:     # a date like any other
                    self.xml(self.draw("d.svg", file=path))
                else:
                    self.refused(1, path, "-o", self.path("e.svg"),
                                 mentions=[path, mention])

    def test_poor_results(self):
        """All flagged, not a number, no positions, one antenna: words or a
        line, and the rest is drawn."""
        def flag(file):
            file["Data/flags"][...] = True

        def spoil(file):
            file["Data/visdata"][...] = complex("nan+nanj")

        def move(file):
            file["Header/uvw_array"][...] = 0

        def invent(file):
            file["Header/extra_keywords/POSFAKE"] = 1

        path = self.changed(self.file, invent, "invented.uvh5")
        self.refused(1, path, "--kind", "uv", mentions=["POSFAKE"])
        self.assertIn("antenna positions are not known (POSFAKE)",
                      list(self.xml(self.draw("i.svg", file=path)).itertext()))
        for change, kind, words in ((flag, "waterfall", "all is flagged"),
                                    (spoil, "phase", "all is flagged"),
                                    (move, "uv", "uvw_array")):
            with self.subTest(kind):
                path = self.changed(self.file, change, f"{kind}.uvh5")
                self.refused(1, path, "--kind", kind, mentions=[words])
                tree = self.xml(self.draw(f"{kind}.svg", file=path))
                self.assertTrue(any(re.search("no unflagged|no antenna pos",
                                              text)
                                    for text in tree.itertext()))
        tree = self.xml(self.draw("one.svg", "--antennas", "2"))
        self.assertIn("one antenna: no pairs", list(tree.itertext()))
        self.assertIn("no baselines between two antennas", list(tree.itertext()))

    def test_a_dead_input_has_no_bar(self):
        """A dot on the floor, not a bar of the least height."""
        tree = self.xml(self.draw("l.svg", "--kind", "levels",
                                  file=self.recorded))
        bad = {name: [float(item.get(key)) for item in tree.iter(f"{SVG}{name}")
                      if item.get("fill") == "#c1121f"]
               for name, key in (("rect", "height"), ("circle", "r"))}
        self.assertEqual(len(bad["circle"]), 1)     # dead
        self.assertEqual(sum(height > 3 for height in bad["rect"]), 1)  # weak


if __name__ == "__main__":
    unittest.main()
