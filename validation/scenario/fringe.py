# SPDX-License-Identifier: BSD-3-Clause
"""fx8 fringe on simulated arrays: cable delays and phases come back.

Shows (commands, fringes in use): gains that `fx8 fringe` writes are the
    simulated cable delays and phases, for a source fixed to the ground and for
    one on the sky; they make the visibilities flat; what a result is already
    free of is accounted for; the table has the figures of `--json`; an antenna
    without signal has no row; whatever cannot be solved is one clear line and
    leaves no file
Within: 5 of the errors that it states; mean square over all 0.5 to 2; flat to
    10⁻² rad
Because: 60 delays and 60 phases; signal to noise of an antenna is 400
In: test_fringe.c
"""
import csv
import json
import math
import os
import unittest

import numpy as np

import program

LIGHT_M_S = 299_792_458.0
SITE = (-26.7, 116.67)
# east, north, up in metres; cable delays of X and Y in ns
ANTENNAS = ((0, 0, 0, 100, 60), (113, 48, 0.5, -900.25, -400),
            (-79, 162, -0.2, 0, 7), (246, -91, 1.1, 777, 775),
            (-214, -137, 0.3, 30, 1999), (61, -283, -0.7, -2000, -30))
N = len(ANTENNAS)
# what fx8's own table has instead
ASSUMED = tuple((50 * k, -20 * k) for k in range(N))
DEAD = 4                                # number of an antenna


def late(antenna, pol):
    """What the table lacks of a cable delay, relative to the first antenna."""
    return ((ANTENNAS[antenna][3 + pol] - ASSUMED[antenna][pol])
            - (ANTENNAS[0][3 + pol] - ASSUMED[0][pol]))


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


class Fringes(program.Job):
    """A simulated array of six antennas with cables of very different
    lengths."""

    def antennas(self, name, cables):
        """Write a table of antennas."""
        return self.save(name, "number,east_m,north_m,up_m,"
                         "cable_delay_x_ns,cable_delay_y_ns\n" + "".join(
                             ",".join(map(str, (k + 1, *ANTENNAS[k][:3],
                                                *cables[k]))) + "\n"
                             for k in range(N)))

    def observe(self, sources, flagged="", **keys):
        """Simulate and correlate; returns the result and the true
        visibilities."""
        self.save("sources.csv", sources)
        values = {
            "array.positions": self.antennas(
                "antennas.csv", [row[3:] for row in ANTENNAS]),
            "array.polarizations": 2,
            "array.latitude_deg": SITE[0], "array.longitude_deg": SITE[1],
            "array.altitude_m": 377, "array.flag_antennas": flagged,
            "observation.start_time_utc": "2021-03-20T12:00:00Z",
            "observation.dc_frequency_hz": 150e6,
            "observation.sample_rate_hz": 4_096_000,
            "channelizer.channels": 128, "correlator.precision": "fp32",
            "correlator.integration_time_s": 0.025,
            "simulate.sources": "sources.csv", "simulate.noise_rms": 16,
            "simulate.duration_s": 0.201, "simulate.gain_phase_deg": 180,
            "simulate.gain_spread": 0.2,
            **{name.replace("__", "."): value for name, value in keys.items()}}
        self.config = self.save("fringe.ini", program.ini_text(
            {key: value for key, value in values.items() if value != ""}))
        self.well("simulate", self.config, "-o", self.path("fringe.h5"),
                  "--force")
        return self.again("first.uvh5"), self.path("fringe.true.uvh5")

    def again(self, name, **keys):
        """Correlate with the table that is wrong about cables."""
        self.well("correlate", self.config, self.path("fringe.h5"), "-o",
                  self.path(name), "--force", "--quiet", keys={
                      "array.positions": self.antennas("assumed.csv", ASSUMED),
                      **{key.replace("__", "."): value
                         for key, value in keys.items()}})
        return self.path(name)

    def fringe(self, result, *arguments):
        """The JSON, and the rows of the CSV."""
        gains = self.path("gains.csv")
        done = self.well("fringe", result, *arguments, "--json", "-o", gains,
                         "--force")
        self.said = done.stderr
        return json.loads(done.stdout), rows_of(program.text(gains))

    def phases(self, path, direction):
        """Phases of all inputs at the middle of the band, relative to antenna
        1, from true visibilities: [antenna][pol]."""
        true = program.read(path)
        hz = true.header["freq_array"]
        middle = hz.mean()
        found = np.zeros((N, 2))
        for antenna in range(1, N):     # baselines (0, antenna)
            gap = np.subtract(ANTENNAS[antenna][:3], ANTENNAS[0][:3])
            for pol in range(2):
                late = (ANTENNAS[antenna][3 + pol] - ANTENNAS[0][3 + pol])
                turns = (hz * (gap @ direction) / LIGHT_M_S
                         - (hz - middle) * late * 1e-9)
                rest = (true.visibilities[0, antenna, :, pol]
                        * np.exp(-2j * np.pi * turns))
                found[antenna, pol] = np.angle(rest.sum())
        return found

    def compare(self, found, rows, true_phases):
        """Delays and phases of a CSV against the truth: 5 sigma, and the mean
        square of (found - true) / error."""
        self.assertEqual([(int(row["number"]), row["pol"]) for row in rows],
                         [(n, pol) for n in range(1, N + 1) for pol in "XY"])
        errors = {(item["number"], item["pol"]): item
                  for item in found["antennas"]}
        first = {pol: float(rows[k]["delay_ns"]) for k, pol in enumerate("XY")}
        ratios = []
        for row in rows[2:]:
            antenna, pol = int(row["number"]) - 1, "XY".index(row["pol"])
            error = errors[antenna + 1, row["pol"]]
            delay = float(row["delay_ns"]) - first[row["pol"]]
            ratios.append((delay - late(antenna, pol))
                          / error["delay_error_ns"])
            cable = ASSUMED[antenna][pol] - ASSUMED[0][pol]
            off = (float(row["phase_deg"])
                   - 360e-9 * found["frequency_hz"] * (delay + cable)
                   - math.degrees(true_phases[antenna, pol]))
            ratios.append(math.remainder(off, 360) / error["phase_error_deg"])
        self.assertLess(max(map(abs, ratios)), 5)
        self.assertTrue(0.5 < np.mean(np.square(ratios)) < 2, ratios)

    def flatness(self, path, direction):
        """Largest phase of a cross baseline, over the band or a quarter of it,
        after the way to the source is taken off; relative scatter of the
        amplitudes of X and Y."""
        got = program.read(path)
        hz = got.header["freq_array"]
        pairs = [(i, j) for i in range(N) for j in range(i, N)]
        worst, sizes = 0, ([], [])
        for k, (i, j) in enumerate(pairs):
            gap = np.subtract(ANTENNAS[j][:3], ANTENNAS[i][:3])
            way = np.exp(2j * np.pi * hz * (gap @ direction) / LIGHT_M_S)
            for pol in range(2) if i != j else ():
                rest = got.visibilities[:, k, :, pol].mean(axis=0) / way
                for part in (rest[2:-2], rest[2:33], rest[-33:-2]):
                    worst = max(worst, abs(np.angle(part.mean())))
                sizes[pol].append(abs(rest[2:-2].mean()))
        return worst, [np.std(size) / np.mean(size) for size in sizes]

    def check_is_free(self, antennas):
        """Nothing is left but noise."""
        for item in antennas:
            for name in ("delay_ns", "rate_hz", "phase_deg"):
                error = item[name.replace("_", "_error_", 1)]
                self.assertLessEqual(abs(item[name]), 5 * error)

    def test_fixed_source(self):
        azimuth, elevation = math.radians(40), math.radians(65)
        direction = (math.cos(elevation) * math.sin(azimuth),
                     math.cos(elevation) * math.cos(azimuth),
                     math.sin(elevation))
        result, true = self.observe("az_deg,el_deg,I\n40,65,0.6\n")
        place = ("--az", 40, "--el", 65, "--reference", 1)
        found, rows = self.fringe(result, *place)
        self.assertEqual(self.said, "")
        self.compare(found, rows, self.phases(true, direction))
        for pol in found["polarizations"]:
            self.assertEqual((pol["n_found"], pol["n_used"]), (15, 15))
            self.assertTrue(pol["has_amplitudes"])
        self.check_table(result, found, place)
        self.check_recorded(result, place)
        self.check_refusals(result)
        # the loop: correlate, fringe, correlate
        self.fringe(result, *place)
        free = self.again("free.uvh5", delay__mode="cable",
                          array__gains=self.path("gains.csv"))
        phase, spread = self.flatness(free, direction)
        self.assertLess(phase, 1e-2)
        self.assertLess(max(spread), 1e-2)
        found, rows = self.fringe(free, *place)
        self.check_is_free(found["antennas"])
        self.compare(found, rows, self.phases(true, direction))

    def check_table(self, result, found, place):
        """The table has the numbers of the JSON, rounded."""
        table = self.well("fringe", result, *place).stdout
        for item in found["antennas"]:
            words = next(line.replace("+-", " ").split()
                         for line in table.splitlines()
                         if line.split()[:2] == [str(item["number"]),
                                                 item["pol"]])
            if item["number"] == 1:
                self.assertEqual(words[-1], "reference")
                continue
            values = [item["delay_ns"], item["delay_error_ns"],
                      1e3 * item["rate_hz"], 1e3 * item["rate_error_hz"],
                      item["phase_deg"], item["phase_error_deg"],
                      item["amplitude"], item["amplitude_error"], item["snr"],
                      item["n_used"]]
            for word, value in zip(words[2:], values, strict=True):
                decimals = len(word.partition(".")[2])
                self.assertAlmostEqual(float(word), value,
                                       delta=0.501 * 10**-decimals)

    def check_recorded(self, result, place):
        """A result in mode none leaves cable delays in, which the next run
        removes; in mode cable it is free of them and of its gains; without
        a record, of nothing."""
        def forget(file):
            del file["fx8/cable_delay"], file["fx8/calibration"]
            del file["Header/extra_keywords/DELAYMOD"]

        _, rows = self.fringe(self.changed(result, forget), *place)
        cables = np.arange(2.0 * N) * 1e-8
        gains = np.column_stack([np.linspace(0.5, 2, 2 * N),
                                 np.linspace(-90, 180, 2 * N),
                                 np.linspace(-5, 5, 2 * N)])
        for mode, left in (("NONE", 1), ("CABLE", 0), ("TRACK", 0)):
            def record(file, word=mode):
                program.put("fx8/cable_delay", cables)(file)
                program.put("fx8/calibration", gains)(file)
                program.put("Header/extra_keywords/DELAYMOD",
                            np.bytes_(word))(file)
            _, again = self.fringe(self.changed(result, record), *place)
            for row, before, cable, gain in zip(again, rows, cables, gains,
                                                strict=True):
                self.assertAlmostEqual(
                    float(row["amplitude"]),
                    float(before["amplitude"]) * gain[0], places=9)
                self.assertAlmostEqual(math.remainder(
                    float(row["phase_deg"]) - float(before["phase_deg"])
                    - gain[1], 360), 0, places=6)
                self.assertAlmostEqual(
                    float(row["delay_ns"]), float(before["delay_ns"])
                    + gain[2] - left * 1e9 * cable, places=6)

    def check_refusals(self, result):
        """One line each, and no file."""
        def flag(file):
            file["Data/flags"][...] = True

        flagged = self.changed(result, flag, "flagged.uvh5")
        nowhere = self.changed(result, program.put(
            "Header/extra_keywords/POSFAKE", 1), "nowhere.uvh5")
        def lose(file):
            file["Header/freq_array"][3] = np.nan

        lost = self.changed(result, lose, "lost.uvh5")
        gains = self.path("none.csv")
        place = ("--az", "40", "--el", "65")
        taken = self.save("taken.csv", "x")
        for code, words, arguments in (
                (2, "not phased: expected --source, --az with --el, or --blind",
                 (result,)),
                (2, "--az: expected --az and --el together",
                 (result, "--az", "1")),
                (2, "expected one of --source", (result, *place, "--blind")),
                (2, "--el: 91: expected -90 to 90",
                 (result, "--az", "1", "--el", "91")),
                (2, "--source: 12: expected right ascension",
                 (result, "--source", "12")),
                (2, "--source: 400,0: expected right ascension",
                 (result, "--source", "400,0")),
                (2, "--reference: 77: expected the number of an antenna",
                 (result, *place, "--reference", "77")),
                (2, "--reference: x: expected the number of an antenna",
                 (result, *place, "--reference", "x")),
                (2, "0 files: expected one result", ()),
                (1, "flags: all: expected cross-correlations with data",
                 (flagged, *place)),
                (1, "antenna_positions: not known", (nowhere, *place)),
                (1, "freq_array[3]: nan: expected 0 to 1e+15", (lost, *place)),
                (1, "fringe.h5", (self.path("fringe.h5"), "--blind")),
                (2, "taken.csv", (result, *place, "-o", taken))):
            with self.subTest(words=words):
                if "-o" not in arguments:
                    arguments = (*arguments, "-o", gains)
                done = program.run("fringe", *arguments)
                self.assert_one_line(done, code, words)
                self.assertFalse(os.path.exists(gains))
        self.assertEqual(program.text(taken), "x")
        before = program.content(result)
        self.assert_one_line(
            program.run("fringe", result, *place, "-o", result, "--force"), 2,
            "first.uvh5")
        self.assertEqual(program.content(result), before)

    def test_source_on_the_sky_and_a_dead_antenna(self):
        """A source that moves for 40 s: rates and delays are those of the
        antennas with it, not without; a flagged antenna has no row."""
        result, _ = self.observe(
            "ra_deg,dec_deg,I\n120,-30,0.6\n", flagged=str(DEAD),
            observation__sample_rate_hz=102_400, channelizer__channels=16,
            correlator__integration_time_s=1, simulate__duration_s=40.1)
        found, rows = self.fringe(result, "--source", "120,-30",
                                  "--reference", 1)
        self.assertEqual(self.said, "".join(
            f"fx8: warning: antenna {DEAD} {pol}: no solution: no row in "
            f"{self.path('gains.csv')}\n" for pol in "XY"))
        numbers = [n for n in range(1, N + 1) if n != DEAD]
        self.assertEqual([int(row["number"]) for row in rows],
                         list(np.repeat(numbers, 2)))
        blind = self.fringe(result, "--blind", "--reference", 1)[0]
        drifts = []
        for item, other in zip(found["antennas"], blind["antennas"],
                               strict=True):
            number, pol = item["number"], "XY".index(item["pol"])
            self.assertEqual(item["is_solved"], number != DEAD)
            if number in (1, DEAD):
                continue
            cable = ANTENNAS[number - 1][3 + pol] - ANTENNAS[0][3 + pol]
            self.assertLess(abs(item["delay_ns"] - cable),
                            5 * item["delay_error_ns"])
            self.assertLess(abs(item["rate_hz"]), 5 * item["rate_error_hz"])
            drifts.append(abs(other["rate_hz"]) / other["rate_error_hz"])
        self.assertGreater(max(drifts), 50)
        # tracked, there and a degree beside it
        self.fringe(result, "--source", "120,-30", "--reference", 1)
        gains = self.save("first.csv", program.text(self.path("gains.csv")))
        for declination, source in ((-30, ()), (-31, ("--source", "120,-30"))):
            free = self.again("free.uvh5", delay__mode="track",
                              delay__phase_center_ra_deg=120,
                              delay__phase_center_dec_deg=declination,
                              array__gains=gains)
            found, rows = self.fringe(free, "--reference", 1, *source)
            self.check_is_free([item for item in found["antennas"]
                                if item["number"] != DEAD])

    @unittest.skipUnless(program.RECORDINGS, program.NO_RECORDINGS)
    def test_recording_of_many_sources(self):
        """TART sees a dozen satellites of similar power: fringes everywhere,
        but closure phases are random."""
        result = self.path("tart.uvh5")
        self.well("correlate", "config/ready/tart.ini", program.TART, "-o",
                  result, "--precision", "fp32", "--quiet")
        done = program.run("fringe", result, "--blind", "-o",
                           self.path("none.csv"))
        self.assert_one_line(done, 1, "no source dominates: X: half of")
        self.assertFalse(os.path.exists(self.path("none.csv")))

    def test_what_cannot_be_solved(self):
        """Noise alone, autos alone, one channel; but one dump will do."""
        gains = self.path("none.csv")
        source = "az_deg,el_deg,I\n40,65,0.6\n"
        for words, sources, keys in (
                ("no source is strong enough: the highest signal to noise",
                 source.replace("0.6", "1e-9"), {}),
                ("Nbls: 1: expected cross-correlations", source,
                 {"array__antennas": 1}),
                ("Nfreqs: 1: expected at least 2 channels", source,
                 {"output__channel_average": 128})):
            with self.subTest(words=words):
                result, _ = self.observe(sources, **keys)
                done = program.run("fringe", result, "--blind", "-o", gains)
                self.assert_one_line(done, 1, words)
                self.assertFalse(os.path.exists(gains))
        result, _ = self.observe(source, correlator__integration_time_s="all")
        found, rows = self.fringe(result, "--az", 40, "--el", 65)
        self.assertEqual(len(rows), 2 * N)
        self.assertEqual({item["rate_hz"] for item in found["antennas"]}, {0})
