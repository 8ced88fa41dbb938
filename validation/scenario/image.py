# SPDX-License-Identifier: BSD-3-Clause
"""fx8 image in use: pictures, and what it refuses.

Shows (commands, images in use): every format is written, with the names of the
    sources; whatever cannot be imaged, and every wrong option, is one clear line
    and leaves no file
Within: the exit code and the words of the message; the colours of the highest
    and the lowest pixel
"""
import base64
import json
import os
import re

import numpy as np
from astropy.io import fits

import program
from plot import decoded


class Sky(program.Case):
    """A source in the north-east, as three antennas see it."""

    def setUp(self):
        super().setUp()
        self.save("sources.csv", "az_deg,el_deg,I\n60,50,1\n")
        self.save("antennas.csv", "number,east_m,north_m,up_m\n"
                  "1,0,0,0\n2,9,2,0\n3,-3,8,1\n")
        self.config = self.save("image.ini", program.ini_text({
            "array.positions": "antennas.csv", **program.SITE_KEYS,
            "array.polarizations": 1,
            "observation.start_time_utc": "2021-03-20T12:00:00Z",
            "observation.dc_frequency_hz": 150e6,
            "observation.sample_rate_hz": 64_000,
            "channelizer.channels": 16, "correlator.precision": "fp32",
            "correlator.integration_time_s": 0.1, "delay.mode": "cable",
            "simulate.sources": "sources.csv", "simulate.duration_s": 0.21}))
        self.well("simulate", self.config, "-o", self.path("in.h5"))
        self.result = self.correlate("out.uvh5")

    def correlate(self, name, **keys):
        self.well("correlate", self.config, self.path("in.h5"), "-o",
                  self.path(name), "--quiet", keys={
                      key.replace("__", "."): value
                      for key, value in keys.items()})
        return self.path(name)


class Images(Sky):
    """Pictures of it, and what is refused."""

    def test_formats(self):
        catalogue = self.save("names.csv", "name,ra_deg,dec_deg\n"
                              "overhead,114.9,-26.7\n"
                              f"{'é' * 40},115,-27\n")
        for suffix, begin in (("png", b"\x89PNG"), ("svg", b"<svg"),
                              ("pdf", b"%PDF"), ("html", b"<!DOCTYPE"),
                              ("fits", b"SIMPLE  =")):
            path = self.path(f"sky.{suffix}")
            said = self.well("image", self.result, "-o", path, "--size", 64,
                             "--catalog", catalogue).stdout
            self.assertIn("overhead", said)
            self.assertIn("\n" + "é" * 31 + " ", said)
            content = program.content(path)
            self.assertIn(begin, content[:200])
            if suffix in ("svg", "html"):
                for name in (b"overhead", b"Moon", b"2021-03-20T12:00:00",
                             "counts² per beam".encode()):
                    self.assertIn(name, content)
        self.assertEqual(fits.getheader(self.path("sky.fits"))["BUNIT"],
                         "count2/beam")
        # the picture has a pixel for each of FITS, north up and east left
        pixels = fits.getdata(self.path("sky.fits"))
        raster = decoded(base64.b64decode(re.search(
            rb'href="data:image/png;base64,([^"]*)',
            program.content(self.path("sky.svg")))[1]))[::-1]
        self.assertEqual(raster.shape, (64, 64, 3))
        np.testing.assert_array_equal(raster.min(axis=2) == 255,
                                      np.isnan(pixels))
        y, x = np.unravel_index(np.nanargmax(pixels), pixels.shape)
        np.testing.assert_allclose(raster[y, x], (253, 231, 37), atol=6)
        y, x = np.unravel_index(np.nanargmin(pixels), pixels.shape)
        np.testing.assert_allclose(raster[y, x], (68, 1, 84), atol=6)

    def test_coarse_pixels(self):
        """What a warning asks for is enough: half the beam or just less."""
        def stretch(file):
            file["Header/antenna_positions"][...] *= 1e6

        def warned(result, size):
            done = self.well("image", result, "--size", size, "--quiet",
                             "--json")
            return done.stderr, np.radians(
                json.loads(done.stdout)["beam_minor_deg"])

        said, beam = warned(self.result, 16)
        self.assertRegex(said, r"^fx8: warning: pixels of 7\.2 deg, beam of "
                         r"\S+ deg: .* or a smaller --fov\n$")
        size = int(re.search(r"--size (\d+) or", said)[1])
        self.assertTrue(beam / 4 < 2 / size <= beam / 2, (said, beam))
        self.assertEqual(warned(self.result, size)[0], "")
        said, beam = warned(self.changed(self.result, stretch), 16)
        fov = float(re.search(r"--size 16384 and --fov (\S+)\n$", said)[1])
        pixel = 2 * np.sin(np.radians(fov / 2)) / 16384
        self.assertTrue(0.97 * beam / 2 < pixel <= beam / 2, (said, beam))

    def test_sources_at_the_edge(self):
        """A named source has the value of a pixel, or is left out."""
        catalogue = self.save("edge.csv", "name,az_deg,el_deg\n" + "".join(
            f"edge {az},{az},{el}\n" for az in range(0, 360, 5)
            for el in (0.01, 15)))
        figures = json.loads(self.well(
            "image", self.result, "--size", 64, "--catalog", catalogue,
            "--json").stdout)
        edge = [item for item in figures["sources"] if "edge" in item["name"]]
        self.assertTrue(72 < len(edge) < 144, len(edge))
        self.assertNotIn(None, [item["value"] for item in edge])

    def test_no_noise(self):
        """A field within the beam, and one of zeros, have none."""
        def empty(file):
            values = file["Data/visdata"][...]
            values[...] = 0
            file["Data/visdata"][...] = values

        zeros = self.changed(self.result, empty)
        for arguments, has_noise in (
                ((self.result,), True), ((self.result, "--fov", 9), False),
                ((zeros,), False)):
            said = self.well("image", *arguments, "--size", 64).stdout
            noise = json.loads(self.well("image", *arguments, "--size", 64,
                                         "--json").stdout)["noise"]
            self.assertEqual(noise is not None, has_noise)
            self.assertEqual("times as high" in said, has_noise)
            self.assertNotIn("nan", said)

    def test_refusals(self):
        def flag(file):
            file["Data/flags"][...] = True

        def lose(file):
            values = file["Data/visdata"][...]
            values[7, 3, 0] = np.nan
            file["Data/visdata"][...] = values

        def repeat(file):
            for name in ("Header/polarization_array", "Data/visdata",
                         "Data/flags", "Data/nsamples"):
                values = file[name][()]
                del file[name]
                file[name] = np.repeat(values, 4, axis=-1)
            file["Header/Npols"][()] = 4

        def filled(name, value):
            def fill(file):
                file[f"Header/{name}"][...] = value

            return self.changed(self.result, fill, f"{name}.uvh5")

        flagged = self.changed(self.result, flag, "flagged.uvh5")
        repeated = self.changed(self.result, repeat, "repeated.uvh5")
        lost = self.changed(self.result, lose, "lost.uvh5")
        nowhere = self.changed(self.result, program.put(
            "Header/extra_keywords/POSFAKE", 1), "nowhere.uvh5")
        gains = self.save("gains.csv", "number,pol,amplitude,phase_deg,"
                          "delay_ns\n2,X,2,0,0\n")
        wrong = self.save("wrong.csv", program.text(gains).replace("2,X", "9,X"))
        free = self.correlate("free.uvh5", array__gains=gains)
        alone = self.correlate("alone.uvh5", array__antennas=1)
        sky, taken = self.path("sky.png"), self.save("taken.png", "x")
        for code, words, arguments in (
                (1, "antenna_positions: not known (POSFAKE)", (nowhere,)),
                (1, "flags: all: expected cross-correlations with data",
                 (flagged,)),
                (1, "flags: all: expected", (flagged, "--center", "115,-27")),
                (1, "Nbls: 1: expected cross-correlations", (alone,)),
                (1, "Nbls: 6: expected cross-correlations of antennas in "
                 "different places", (filled("antenna_positions", 1),)),
                (1, "polarization_array[1]: -5: expected each product once",
                 (repeated,)),
                (1, "channel_width[0]: nan: expected",
                 (filled("channel_width", np.nan),)),
                (1, "integration_time[0]: inf: expected",
                 (filled("integration_time", np.inf),)),
                (1, "visdata[7, 3, 0]: nan: expected a finite", (lost,)),
                (1, "in.h5: is a recording (fx8): expected visibilities",
                 (self.path("in.h5"),)),
                (1, "has XX only: expected YY", (self.result, "--pol", "YY")),
                (1, "has XX only: expected XX and YY",
                 (self.result, "--pol", "I")),
                (2, "already free of gains", (free, "--gains", gains)),
                (2, "wrong.csv:2: number: 9: expected",
                 (self.result, "--gains", wrong)),
                (2, "--pol: Q: expected XX, YY or I", (self.result, "--pol",
                                                       "Q")),
                (2, "--center: 12: expected right ascension",
                 (self.result, "--center", "12")),
                (2, "--center: 0,80: below the horizon",
                 (self.result, "--center", "0,80", "--fov", 20)),
                (2, "--fov: 181: expected 1e-06 to 180",
                 (self.result, "--fov", 181)),
                (2, "--size: 7: expected 8 to 16384",
                 (self.result, "--size", 7)),
                (2, "--channels: 3-99: expected positions from 0 to 15",
                 (self.result, "--channels", "3-99")),
                (2, "--times: last: expected positions from 0 to 1",
                 (self.result, "--times", "last")),
                (2, "none.csv", (self.result, "--catalog",
                                 self.path("none.csv"))),
                (2, "sky.jpg: expected a name that ends in .png, .svg, .pdf, "
                 ".html or .fits", (self.result, "-o", self.path("sky.jpg"))),
                (2, "taken.png", (self.result, "-o", taken)),
                (1, "nowhere/sky.png", (self.result, "-o",
                                        self.path("nowhere/sky.png"))),
                (2, "0 files: expected one result", ())):
            with self.subTest(words=words):
                if "-o" not in arguments:
                    arguments = (*arguments, "-o", sky)
                done = program.run("image", *arguments)
                self.assert_one_line(done, code, words)
                self.assertFalse(os.path.exists(sky))
                self.assertFalse(os.path.exists(sky + ".part"))
        self.assertEqual(program.text(taken), "x")
        before = program.content(self.result)
        copy = self.changed(self.result, flag, "sky.fits")
        self.assert_one_line(
            program.run("image", copy, "-o", copy, "--force"), 2, "sky.fits")
        self.assertEqual(program.content(self.result), before)
