# SPDX-License-Identifier: BSD-3-Clause
"""fx8 info: metadata of a recording, its gaps and the levels of its inputs, as
text and as JSON, compared with numpy; wrong use.

Shows (commands, info): recordings with one fault of each kind, in words and as
    JSON, agree with numpy; gaps whose rows overlap and repeat, `--set`, odd
    names; frequencies that may be in MHz and geocentric positions, in the
    words of `correlate`; several bands and files, a folder, TART, 16 bits;
    UVH5 and quick-look files, also unfinished and damaged ones
Within: 10⁻¹⁴
Because: two or three roundings of quotients of equal integers
In: scenario/info_results.py
"""
import glob
import json
import os
import re
import shutil
import unittest
from fractions import Fraction

import h5py
import numpy as np

import aavs_files
import oracle
import program

DIGITAL_RF = os.path.join(program.RECORDINGS, "digital_rf")


def levels_of(samples, missing):
    """Statistics of samples [time] with a mask of missing ones, by numpy."""
    there = samples[~missing]
    parts = np.stack([there.real, there.imag]).astype(int)
    return {
        "n_samples": there.size,
        "n_missing_samples": int(missing.sum()),
        "missing_share": missing.mean(),
        "rms_lsb": np.sqrt(np.mean(parts.astype(float)**2)),
        "mean_re_lsb": parts[0].mean(),
        "mean_im_lsb": parts[1].mean(),
        "clipped_share": np.mean(np.abs(parts) >= 127),
        "minus_128_share": np.mean(parts == -128),
        "zero_share": np.mean((parts == 0).all(axis=0)),
    }


class Recordings(program.Job):
    """A recording with one fault of each kind."""

    N = 20_000
    #        antenna, pol: the fault
    WRONG = {(0, 1): ["dead"], (1, 0): ["clipped"],
             (2, 0): ["clipped", "-128"], (2, 1): ["DC offset"],
             (3, 0): ["weak"], (3, 1): ["strong"], (4, 0): ["absent"]}
    MISSING = [(-1, -1, 3000, 500), (-1, -1, 3400, 200), (5, -1, 19_000, 1000),
               (4, 0, 0, N)]

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(6)
        noise = random.normal(size=(2, 6, 2, self.N))
        samples = program.to_int8(8 * (noise[0] + 1j * noise[1]))
        samples[0, 1] = 0
        samples[1, 0, ::50] = 127 - 127j
        samples[2, 0, 5000:5400] = -128 - 128j
        samples[2, 1] = program.to_int8(samples[2, 1] + (5 - 3j))
        samples[3, 0] = program.to_int8(samples[3, 0] / 5)
        samples[3, 1] = program.to_int8(samples[3, 1] * 3.5)
        self.samples = samples
        self.missing = np.zeros(samples.shape, bool)
        for antenna, pol, first, count in self.MISSING:
            self.missing[slice(None) if antenna < 0 else antenna,
                         slice(None) if pol < 0 else pol,
                         first:first + count] = True
        self.scene = program.Scene(samples, missing=self.MISSING,
                                   rate=Fraction(25_000_000, 27),
                                   start_ns=250_000_000)

    def info(self, *arguments, **options):
        return self.well("info", *arguments, **options).stdout

    def json(self, *arguments, **options):
        def refuse(word):
            raise ValueError(f"{word} is no JSON")
        return json.loads(self.info("--json", *arguments, **options),
                          parse_constant=refuse)

    def assert_input(self, got, samples, missing):
        """Quotients and a root of the same integers."""
        for name, value in levels_of(samples, missing).items():
            np.testing.assert_allclose(got[name], value, rtol=1e-14,
                                       err_msg=name)

    def assert_levels(self, report, missing):
        self.assertEqual(len(report["levels"]["inputs"]), 12)
        for number, got in enumerate(report["levels"]["inputs"]):
            antenna, pol = divmod(number, 2)
            with self.subTest(antenna=antenna, pol=pol):
                self.assertEqual(
                    (got["antenna_position"], got["antenna_number"],
                     got["antenna_name"], got["polarization"]),
                    (antenna, antenna, f"ANT{antenna:03d}", "XY"[pol]))
                if missing[antenna, pol].all():
                    self.assertIsNone(got["rms_lsb"])
                    self.assertEqual(got["n_samples"], 0)
                    continue
                self.assert_input(got, self.samples[antenna, pol],
                                  missing[antenna, pol])

    def test_levels_and_remarks_as_json(self):
        report = self.json(self.write(self.scene))
        self.assert_levels(report, self.missing)
        self.assertEqual(report["levels"]["n_wrong_inputs"], len(self.WRONG))
        self.assertEqual(report["levels"]["samples_looked_at"], self.N)
        for got in report["levels"]["inputs"]:
            at = (got["antenna_position"], "XY".index(got["polarization"]))
            self.assertEqual(got["remarks"], self.WRONG.get(at, []), at)

    def test_markers_are_missing(self):
        report = self.json(self.write(self.scene), keys={
            "input.missing_value": -128, "input.missing_run": 400})
        missing = self.missing.copy()
        for antenna in range(6):
            for pol in range(2):
                for first, end in program.runs(
                        self.samples[antenna, pol] == -128 - 128j):
                    missing[antenna, pol, first:end] |= end - first >= 400
        self.assertEqual(missing[2, 0].sum(), self.missing[2, 0].sum() + 400)
        self.assert_levels(report, missing)
        self.assertEqual(report["levels"]["inputs"][4]["remarks"], [])

    def test_what_it_is_as_json(self):
        path = self.write(self.scene)
        report = self.json("--no-levels", path)
        self.assertNotIn("levels", report)
        want = {
            "files": [path], "kind": "recording", "format": "fx8",
            "telescope": "test", "instrument": None, "n_antennas": 6,
            "n_polarizations": 2, "n_bands": 1, "is_complex": True,
            "samples_per_input": self.N, "sideband": "upper",
            "sample_rate_numerator_hz": 25_000_000,
            "sample_rate_denominator": 27,
            "start_time_utc": "2020-09-13T12:26:40.25Z",
            # 20,000 samples of 1.08 us
            "end_time_utc": "2020-09-13T12:26:40.2716Z",
            "duration_s": 0.0216, "dc_frequencies_hz": [150e6],
            "latitude_deg": -26.7, "given_keys": []}
        for name, value in want.items():
            self.assertEqual(report[name], value, name)
        half = 12_500_000 / 27
        self.assertAlmostEqual(report["lowest_frequency_hz"], 150e6 - half, 6)
        self.assertAlmostEqual(report["highest_frequency_hz"], 150e6 + half, 6)
        self.assertEqual([row["number"] for row in report["antenna_table"]],
                         list(range(6)))
        self.assertEqual(report["antenna_table"][2]["east_m"],
                         program.spread(6)[2, 0])

    def test_gaps(self):
        path = self.write(self.scene)
        report = self.json("--no-levels", path)["missing"]
        self.assert_gaps(report, self.missing)
        text = self.info("--no-levels", path)
        share = 100 * self.missing.mean()
        self.assertIn(f"{share:.4f} % of the samples are listed", text)
        self.assertIn("at most 100.0000 % of an input (ANT004 X)", text)
        self.assertIn("1, the longest of 600 samples (0.000648 s)", text)

    def assert_gaps(self, report, missing):
        """Compare the reported missing samples with a mask of them."""
        lacking = missing.reshape(-1, self.N)
        all_lack = lacking.all(axis=0)
        for name, marked in (("of_all_inputs", all_lack),
                             ("of_some_inputs",
                              lacking.any(axis=0) & ~all_lack)):
            lengths = [end - first for first, end in program.runs(marked)]
            self.assertEqual(report[name], {
                "stretches": len(lengths),
                "longest_samples": max(lengths, default=0),
                "samples_per_input": marked.sum()}, name)
        self.assertEqual(report["samples_of_inputs"],
                         lacking.sum(axis=1).tolist())

    def test_rows_that_overlap_and_repeat(self):
        """Rows for all inputs, for antennas and for single inputs cover the same
        samples, in any order. Each missing sample counts once: in `info`, in
        the levels and in the summary of a run."""
        random = np.random.default_rng(12)
        rows = [(-1, -1, 3000, 500), (2, -1, 3200, 900), (2, 1, 3200, 900),
                (2, 1, 3200, 900), (-1, 0, 8000, 300), (-1, 1, 8000, 300),
                (0, -1, 0, 1), (0, 0, 0, 1), (1, 1, self.N - 7, 7)]
        for _ in range(60):
            first = int(random.integers(0, self.N - 1))
            row = (int(random.integers(-1, 6)), int(random.integers(-1, 2)),
                   first, int(random.integers(1, min(400, self.N - first) + 1)))
            rows += [row] * int(random.integers(1, 3))
        random.shuffle(rows)
        rows = [tuple(int(x) for x in row) for row in rows]
        missing = np.zeros(self.samples.shape, bool)
        for antenna, pol, first, count in rows:
            missing[slice(None) if antenna < 0 else antenna,
                    slice(None) if pol < 0 else pol, first:first + count] = True
        self.scene.missing = rows
        path = self.write(self.scene)
        report = self.json(path)
        self.assert_gaps(report["missing"], missing)
        self.assertGreater(report["missing"]["of_all_inputs"]["stretches"], 1)
        self.assert_levels(report, missing)
        share = re.search(r"([0-9.]+) % of the samples are listed",
                          self.info("--no-levels", path)).group(1)
        # four digits are shown
        self.assertAlmostEqual(float(share), 100 * missing.mean(),
                               delta=0.51e-4)
        # spectra of 16 samples, windows of 16: 1,250 in all
        self.configure(oracle.Setup(16, "all", method="fft"))
        done = self.well(*self.words(path))
        lost = missing.reshape(6, 2, -1, 16).any(axis=3).mean()
        self.assertIn(f"samples    {100 * lost:.4g} % of spectra missing",
                      done.stdout)

    def test_table_for_people(self):
        text = self.info(self.write(self.scene))
        self.assertIn("7 of 12 inputs look wrong: ANT004 X (absent), ANT000 Y "
                      "(dead), ANT001 X (clipped), ANT002 X (clipped, -128), "
                      "ANT003 X (weak), ANT003 Y (strong) and 1 more\n", text)
        self.assertIn(f"  left out       {100 * self.missing.mean():.4f} % of "
                      "them", text)
        rows = re.findall(r"^ +\d+ ANT\d+ +[XY] .*$", text, re.MULTILINE)
        self.assertEqual(len(rows), 12)
        self.assertLess(text.index("look wrong"), text.index(rows[0]))
        for number, row in enumerate(rows):
            at = divmod(number, 2)
            cells = row.split()[3:10]
            if at == (4, 0):
                self.assertEqual(cells[:6], ["-"] * 6)
                continue
            want = levels_of(self.samples[at], self.missing[at])
            for cell, (name, scale, digits) in zip(cells, (
                    ("rms_lsb", 1, 3), ("mean_re_lsb", 1, 3),
                    ("mean_im_lsb", 1, 3), ("clipped_share", 100, 4),
                    ("minus_128_share", 100, 4), ("zero_share", 100, 3),
                    ("missing_share", 100, 4))):
                self.assertAlmostEqual(float(cell), scale * want[name],
                                       delta=0.51 * 10.0**-digits, msg=row)
            self.assertTrue(row.endswith(
                ", ".join(self.WRONG.get(at, cells[-1:]))), row)

    def test_part_of_the_recording(self):
        rate = float(self.scene.rate)
        report = self.json(self.write(self.scene), keys={
            "input.start_s": 7001 / rate, "input.duration_s": 333 / rate})
        self.assert_input(report["levels"]["inputs"][2],
                          self.samples[1, 0, 7001:7334],
                          self.missing[1, 0, 7001:7334])
        self.assert_one_line(
            program.run("info", self.write(self.scene), "--set",
                        "input.start_s=1"), 2, "input.start_s", "less than")

    def test_what_is_not_recorded(self):
        path = self.write(self.scene)
        with h5py.File(path, "r+") as file:
            program.put("@telescope")(file)
            program.put("antennas")(file)
        text = self.info("--no-levels", path)
        self.assertIn("  site           not recorded\n", text)
        self.assertIn("\nno antenna table\n", text)
        report = self.json(path)
        for name in ("telescope", "latitude_deg", "altitude_m"):
            self.assertIsNone(report[name], name)
        got = report["levels"]["inputs"][11]
        self.assertEqual((got["antenna_name"], got["antenna_number"]),
                         (None, 5))
        self.assertIn(": antenna 4 X (absent), antenna 0 Y (dead)",
                      self.info(path))
        given = {"observation.dc_frequency_hz": "70e6",
                 "observation.start_time_utc": "2024-02-29T23:59:59Z",
                 "observation.telescope": "mine", "input.sideband": "lower",
                 "array.latitude_deg": "10"}
        report = self.json("--no-levels", path, keys=given)
        self.assertEqual(set(report["given_keys"]), set(given))
        self.assertEqual((report["dc_frequencies_hz"], report["start_time_utc"],
                          report["telescope"], report["sideband"],
                          report["latitude_deg"]),
                         ([70e6], "2024-02-29T23:59:59Z", "mine", "lower", 10))
        table = self.save("table.csv",
                          "name,east_m,north_m,up_m,input\nlast,1,2,3,4\n")
        report = self.json(path, keys={"array.positions": table})
        self.assertEqual(report["given_keys"], ["array.positions"])
        self.assertEqual([(row["position"], row["name"], row["up_m"])
                          for row in report["antenna_table"]], [(4, "last", 3)])
        self.assertEqual([row["antenna_name"]
                          for row in report["levels"]["inputs"][8::2]],
                         ["last", None])

    def test_real_samples(self):
        scene = program.Scene(self.samples.real[:2, :1])
        path = self.write(scene)
        report = self.json(path)
        got = report["levels"]["inputs"][0]
        self.assertFalse(report["is_complex"])
        self.assertNotIn("mean_im_lsb", got)
        want = scene.samples[0, 0]
        self.assertAlmostEqual(got["rms_lsb"], np.sqrt(np.mean(want**2)), 12)
        self.assertAlmostEqual(got["zero_share"], np.mean(want == 0), 14)
        self.assertNotIn("mean im", self.info(path))

    def test_edges_of_the_band(self):
        """Baseband zero is the middle of a complex band. For real samples it is
        the lower edge, in the lower sideband the upper edge."""
        half = float(self.scene.rate) / 2
        for samples, sideband, low, high in (
                (self.samples, "upper", half, half),
                (self.samples, "lower", half, half),
                (self.samples.real, "upper", 0, half),
                (self.samples.real, "lower", half, 0)):
            path = self.write(program.Scene(
                samples[:2, :1], rate=self.scene.rate, sideband=sideband))
            report = self.json("--no-levels", path)
            with self.subTest(real=np.isrealobj(samples), sideband=sideband):
                self.assertAlmostEqual(report["lowest_frequency_hz"],
                                       150e6 - low, 6)
                self.assertAlmostEqual(report["highest_frequency_hz"],
                                       150e6 + high, 6)

    def test_a_frequency_in_mhz_is_asked_about(self):
        """Every command asks in the same words, wherever the frequency was
        given; 0 Hz in a bench test is accepted."""
        line = ("fx8: warning: observation.dc_frequency_hz: 150: puts the band "
                "at -499850 to 500150 Hz: is it in MHz?\n")
        good = self.recording()
        for path, given in (
                (self.write(program.Scene(np.ones((2, 1, 9000), complex),
                                          dc_hz=150), "mhz.h5"), ()),
                (good, ("--set", "observation.dc_frequency_hz=150"))):
            with self.subTest(given=given):
                report = self.well("info", "--json", path, *given)
                won = "fx8: warning: observation.dc_frequency_hz: 150 wins " \
                    "over 150000000 recorded\n"
                self.assertEqual(report.stderr, won * bool(given) + line)
                done = self.well(*self.words(path, "--quiet", "--force", *given))
                self.assertIn(line, done.stderr)
                self.assertEqual(done.stderr.count("MHz"), 1)
        bench = ("--set", "observation.dc_frequency_hz=0")
        self.assertNotIn("MHz", program.run("info", good, *bench).stderr)
        done = self.well(*self.words(good, "--quiet", "--force", *bench))
        self.assertNotIn("MHz", done.stderr)

    def test_geocentric_positions(self):
        """`info` warns of them; commands that would use them refuse in the same
        words."""
        path = self.write(program.Scene(
            np.ones((2, 1, 9000), complex), positions=np.array(
                [[1, 2, 3], [-2559454, 5095372, -2849057]])))
        words = (f"{path}: antennas: row 1: position: -2559454, 5095372, "
                 "-2849057: expected metres east, north and up of the site, at "
                 "most 1000 km (ECEF?)")
        report = program.run("info", "--json", path)
        self.assertEqual((report.returncode, report.stderr),
                         (0, f"fx8: warning: {words}\n"))
        self.assert_refused(self.correlate(path), 2, words)
        self.well(*self.words(path, "--set=array.positions=none"))

    def test_blocks_of_a_long_recording(self):
        """80 MiB: whole blocks are read, including the first and the last."""
        n = 20 << 20
        samples = np.zeros((2, 1, n), np.complex64)
        samples[0, 0] = 3 - 4j
        samples[1, 0, -1] = 1       # only in the last block
        path = self.write(program.Scene(samples))
        report = self.json(path)["levels"]
        self.assertEqual(report["n_blocks"] * report["block_samples"],
                         report["samples_looked_at"])
        self.assertEqual(report["samples_looked_at"] * 4, 64 << 20)
        self.assertEqual(report["inputs"][0]["rms_lsb"], np.sqrt(12.5))
        self.assertEqual(report["inputs"][1]["remarks"], ["weak"])
        whole = self.json("--all", path)["levels"]
        self.assertEqual(whole["samples_looked_at"], n)
        self.assertEqual(whole["inputs"][1]["mean_re_lsb"], 1 / n)

    def test_names_that_json_escapes(self):
        good = self.write(self.scene)
        for name in (b'a"b\\c.h5', "Süd.h5".encode(), b"bad\xff\xc3.h5"):
            path = os.path.join(os.fsencode(self.folder), name)
            shutil.copy(good, path)
            report = self.json("--no-levels", os.fsdecode(path))
            base = os.path.basename(report["files"][0])
            want = "bad??.h5" if b"\xff" in name else name.decode()
            self.assertEqual(base, want)

    def test_wrong_use(self):
        good, absent = self.write(self.scene), self.path("none.h5")
        for code, arguments, *mentions in (
                (2, ("--all", "--no-levels", good)), (2, ("--set", good)),
                (2, ("--set", "input.nonsense=1", good)),
                (2, ("--nonsense", good)), (2, ("--json=1", good)),
                (2, (good, good), good, "given twice"),
                (1, (absent,), "none.h5", "No such file"),
                (1, (self.folder,), self.folder),
                (1, (good, absent), "none.h5", "No such file")):
            with self.subTest(arguments=arguments):
                self.assert_one_line(program.run("info", *arguments), code,
                                     *mentions)

    def test_unreadable_samples(self):
        """`info` prints what it could read, then the reason, and exits with
        1."""
        path = self.write(self.scene, chunks=(6, 2, 1000), compression="gzip")
        with h5py.File(path) as file:
            at = file["voltages"].id.get_chunk_info(7).byte_offset
        program.overwrite(path, at, b"\xff" * 64)
        done = program.run("info", path)
        self.assert_one_line(done, 1, "voltages")
        self.assertIn("sample rate", done.stdout)
        done = program.run("info", "--json", path)
        self.assert_one_line(done, 1, "voltages")
        self.assertEqual(done.stdout, "")
        self.info("--no-levels", path)

    @unittest.skipUnless(os.path.exists(program.TART), "recording tart")
    def test_recording_tart(self):
        report = self.json("--all", program.TART)
        with h5py.File(program.TART) as file:
            data = np.unpackbits(file["data"][...], axis=1).astype(int)
        self.assertEqual((report["format"], report["n_antennas"],
                          report["samples_per_input"]), ("tart", *data.shape))
        for got, bits in zip(report["levels"]["inputs"], data):
            self.assertEqual(got["rms_lsb"], 1)
            self.assertAlmostEqual(got["mean_re_lsb"], np.mean(2 * bits - 1),
                                   12)
            self.assertEqual(got["clipped_share"], 0)

    @unittest.skipUnless(os.path.isdir(DIGITAL_RF), "recording digital_rf")
    def test_recording_digital_rf(self):
        """A folder; int16 scaled by a power of two, rounded to 8 bits."""
        report = self.json(DIGITAL_RF)
        name, = glob.glob(f"{DIGITAL_RF}/ch0/2*/rf@*.h5")
        with h5py.File(name, "r") as file:
            data = file["rf_data"][...].ravel()
        data = data[data["r"] != -32768]        # the fill value
        got, = report["levels"]["inputs"]
        self.assertEqual((report["format"], report["is_16bit"]),
                         ("digital_rf", True))
        self.assertEqual(got["n_samples"] + got["n_missing_samples"],
                         report["samples_per_input"])
        self.assertEqual(got["n_samples"], len(data))
        parts = np.stack([data["r"], data["i"]]).astype(float)
        parts = np.clip(np.rint(parts * got["input_gain"]), -127, 127)
        self.assertAlmostEqual(got["rms_lsb"], np.sqrt(np.mean(parts**2)), 12)
        self.assertAlmostEqual(got["mean_im_lsb"], parts[1].mean(), 12)

    def test_aavs(self):
        """Two tiles in three files, two bands, a lost stretch."""
        random = np.random.default_rng(8)
        noise = random.normal(size=(2, 2, 3, 2, 1200))   # re im, band ...
        samples = program.to_int8(15 * (noise[0] + 1j * noise[1]))
        samples[1] = program.to_int8(samples[1] / 5)     # a weak band: no fault
        samples[1, 2, 1] = 0
        start = Fraction(1_581_897_600)
        held = np.zeros((3, 1200), bool)
        paths = []
        for tile, antennas, part, first, n, lost in (
                (1, slice(1, 3), 0, 0, 1200, [450]),
                (0, slice(0, 1), 1, 600, 600, []),
                (0, slice(0, 1), 0, 0, 600, [])):
            path, has = aavs_files.write(
                self.folder, samples[:, antennas], start, tile=tile, part=part,
                first=first, n=n, block=100, lost=lost)
            held[antennas] |= has
            paths.append(path)
        report = self.json(*paths)
        self.assertEqual((report["format"], report["n_bands"], report["n_antennas"],
                          report["files"]), ("aavs", 2, 3, paths))
        lowest, highest = report["dc_frequencies_hz"]
        self.assertEqual(highest - lowest, aavs_files.SPACING_HZ)
        self.assertEqual(report["missing"]["of_some_inputs"]["longest_samples"],
                         100)
        self.assertEqual(held.sum(), 3400)
        inputs = iter(report["levels"]["inputs"])
        for band, antenna, pol in np.ndindex(2, 3, 2):
            got = next(inputs)
            self.assertEqual((got["band"], got["antenna_position"],
                              got["polarization"]),
                             (band, antenna, "XY"[pol]))
            self.assert_input(got, samples[band, antenna, pol],
                              ~held[antenna])
            self.assertEqual(got["remarks"],
                             ["dead"] if (band, antenna, pol)
                             == (1, 2, 1) else [])
        self.assertIn("1 of 12 inputs looks wrong: antenna 2 Y band 1 (dead)",
                      self.info(*paths))
