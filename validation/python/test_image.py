# SPDX-License-Identifier: BSD-3-Clause
"""fx8 image of a simulated sky without symmetry: three sources over 40 antennas,
as the sky drifts and tracked, around the zenith and around a place on the sky.

Shows (signals, dirty images): pixels are the direct sum over baselines, channels
    and dumps with flags, weights, gains and exact w; sources are where they
    should be, north up and east left, in FITS too
Within: 1e-5 of the peak; 0.05 beam; the Sun 1 arcsecond, the Moon 30
Because: channels are interpolated to 1e-7, sums are floats; the sidelobes of
    40 antennas are 1 / √780 of a source, and bend its top by 0.02 beam; the
    Moon is within 10 arcseconds (Meeus), and has the aberration of a star, 20
"""
import json
import os

import h5py
import numpy as np
from astropy.coordinates import AltAz, get_body
from astropy.io import fits
from astropy.utils import iers
from astropy.wcs import WCS

import geometry
import program
from geometry import LIGHT_M_S, SkyCoord, Time

# A result has UT1 - UTC, but no polar motion.
_earth = iers.IERS_A.open(geometry.IERS)
_earth["PM_x"][:] = _earth["PM_y"][:] = 0
iers.earth_orientation_table.set(_earth)

START_S = 1_616_241_600                 # 2021-03-20T12:00:00
START = "2021-03-20T12:00:00"
DUT1_S = float(Time(START, scale="utc").delta_ut1_utc)
N = 40
POSITIONS = np.random.default_rng(17).uniform(-1, 1, (N, 3)) * [60, 60, 6]
ZENITH = Time(START, location=geometry.location()).sidereal_time(
    "apparent").deg
# east of the zenith and north of it; farther north; west and south
SOURCES = ((ZENITH + 21, -19.0), (ZENITH - 4, 5.0), (ZENITH - 33, -41.5))
CENTRE = (ZENITH + 8, -22.0)


def rotated(place, seconds):
    """Unit vectors of l, m, n of a place on the sky in east, north, up [3][3],
    by differences: aberration bends them too."""
    def seen(ra, dec):
        return geometry.directions((ra, dec), START_S, [seconds])[0]

    w = seen(*place)
    north = seen(place[0], place[1] + 0.01) - seen(place[0], place[1] - 0.01)
    v = north - (north @ w) * w
    v /= np.linalg.norm(v)
    return np.stack([np.cross(v, w), v, w])


def directions_of(figures):
    """l, m, n of the pixels [y][x]; NaN beyond the edge."""
    size, step = figures["size"], figures["step"]
    m, l = np.indices((size, size)) - size // 2
    l, m = -step * l, step * m
    with np.errstate(invalid="ignore"):
        return np.stack([l, m, np.sqrt(1 - l**2 - m**2)])


class Images(program.Case):
    """Of one simulated recording, correlated in two ways: pixels against sums
    over everything in double precision, and where the sources are."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("setUp")
        program.Case.setUp(case)
        cls.addClassCleanup(case.doCleanups)
        case.save("sources.csv", "ra_deg,dec_deg,I,Q\n" + "".join(
            f"{ra},{dec},0.5,{q}\n" for (ra, dec), q in zip(
                SOURCES, (0.1, -0.2, 0.15))))
        case.save("antennas.csv", geometry.antenna_csv(
            POSITIONS, np.zeros((N, 2))))
        keys = {
            "array.positions": "antennas.csv", "array.polarizations": 2,
            **program.SITE_KEYS, "observation.start_time_utc": START,
            "observation.dc_frequency_hz": 150e6,
            "observation.sample_rate_hz": 64_000,
            "delay.mode": "cable", "delay.dut1_s": repr(DUT1_S),
            "channelizer.channels": 8, "correlator.integration_time_s": 0.5,
            "correlator.precision": "fp32", "correlator.backend": "cpu",
            "simulate.sources": "sources.csv", "simulate.duration_s": 1.31,
            "simulate.seed": 5}
        config = case.save("sky.ini", program.ini_text(keys))
        case.well("simulate", config, "-o", case.path("sky.h5"))
        for mode, extra in (("drifts", {}), ("tracked", {
                "delay.mode": "track",
                "delay.phase_center_ra_deg": SOURCES[2][0],
                "delay.phase_center_dec_deg": SOURCES[2][1],
                "delay.phase_center_name": "C"})):
            case.well("correlate", config, case.path("sky.h5"), "-o",
                      case.path(f"{mode}.uvh5"), keys=extra)
        cls.files = {mode: case.path(f"{mode}.uvh5")
                     for mode in ("drifts", "tracked")}

    def image(self, result, *arguments):
        """Pixels, FITS header and JSON."""
        path = self.path("sky.fits")
        figures = json.loads(self.well(
            "image", result, "-o", path, "--force", "--json",
            *arguments).stdout)
        with fits.open(path) as file:
            return file[0].data, file[0].header, figures

    def sum(self, path, figures, products, centre=None, channels=slice(None),
            times=slice(None), uniform=0, gains=None):
        """The image by its definition; uniform: field of view in radians."""
        with h5py.File(path) as file:
            shape = (-1, N * (N + 1) // 2)
            hz = file["Header/freq_array"][()][channels]
            dates, length_s = (
                file[f"Header/{name}"][()].reshape(shape)[times, 0]
                for name in ("time_array", "integration_time"))
            ends = [file[f"Header/ant_{k}_array"][()].reshape(shape)[0]
                    for k in (1, 2)]
            value, flag, nsamples = (
                file[f"Data/{name}"][()].reshape(*shape, 8, 4)[times][
                    :, :, channels][..., products]
                for name in ("visdata", "flags", "nsamples"))
        value = value["r"] + 1j * value["i"] if value.dtype.names else value
        ends = [np.unique(end, return_inverse=True)[1] for end in ends]
        cross = ends[0] != ends[1]
        i, j = ends[0][cross], ends[1][cross]
        value, flag, nsamples = (x[:, cross].astype(t) for x, t in (
            (value, complex), (flag, bool), (nsamples, float)))
        if gains is not None:
            value = value / (gains[i].conj() * gains[j])[None, :, None, :]
        # I: the mean of two; its weight is that of such a mean
        with np.errstate(divide="ignore"):
            weight = np.where(flag.any(-1), 0,
                              len(products) / (1 / nsamples).sum(-1))
        weight *= length_s[:, None, None]
        value = value.mean(-1)
        seconds = [(date - 2440587.5) * 86400 - START_S for date in dates]
        lmn = directions_of(figures)
        seen = np.isfinite(lmn[2])
        waves = hz / LIGHT_M_S
        frames = [np.eye(3) if centre is None else rotated(centre, s)
                  for s in seconds]
        uv = np.array([((POSITIONS[j] - POSITIONS[i]) @ axes.T)[:, None, :2]
                       * waves[None, :, None] for axes in frames])
        if uniform:
            cell = np.rint(uv * 2 * np.sin(uniform / 2)).astype(int)
            density = {}
            for at, w in zip(cell.reshape(-1, 2), weight.ravel()):
                for key in (tuple(at), tuple(-at)):
                    density[key] = density.get(key, 0) + w
            weight = weight / np.reshape([max(density[tuple(at)], 1e-300)
                                          for at in cell.reshape(-1, 2)],
                                         weight.shape)
        image = np.full(seen.shape, np.nan)
        image[seen] = 0
        for t, (second, axes) in enumerate(zip(seconds, frames)):
            s = axes.T @ lmn[:, seen]
            if "tracked" in path:
                s = s - geometry.directions(SOURCES[2], START_S,
                                            [second])[0][:, None]
            delay = (POSITIONS[j] - POSITIONS[i]) @ s / LIGHT_M_S
            for c, f in enumerate(hz):
                image[seen] += np.einsum(
                    "b,bp->p", weight[t, :, c] * value[t, :, c],
                    np.exp(-2j * np.pi * f * delay)).real
        return image / weight.sum()

    def check_sum(self, path, arguments, products, **options):
        got, _, figures = self.image(path, *arguments)
        want = self.sum(path, figures, products, **options)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        peak = np.nanmax(np.abs(want))
        worst = np.nanmax(np.abs(got - want)) / peak
        print(f"# {worst:.1e} of the peak")
        self.assertLess(worst, 1e-5)
        self.assertAlmostEqual(figures["peak"]["value"] / np.nanmax(want), 1,
                               delta=1e-5)

    def spoiled(self, mode):
        """A result with some flags, weights and missing cells."""
        def spoil(file):
            random = np.random.default_rng(3)
            data = file["Data"]
            shape = data["flags"].shape
            data["flags"][...] |= random.uniform(size=shape) < 0.2
            data["nsamples"][...] = random.uniform(0.2, 1, shape) * (
                random.uniform(size=shape) > 0.1)

        return self.changed(self.files[mode], spoil, f"{mode}.uvh5")

    def test_sum_in_the_horizon(self):
        for mode in self.files:
            self.check_sum(self.spoiled(mode), ("--size", 25), [0, 1])
        self.check_sum(self.spoiled("drifts"), (
            "--size", 20, "--pol", "YY", "--channels", "2-4,6", "--times", 1),
            [1], channels=[2, 3, 4, 6], times=[1])

    def test_sum_on_the_sky(self):
        for mode in self.files:
            self.check_sum(self.spoiled(mode), (
                "--size", 20, "--pol", "XX", "--fov", 40,
                "--center", "{},{}".format(*CENTRE)), [0], centre=CENTRE)

    def test_uniform_weights(self):
        self.check_sum(self.spoiled("drifts"), (
            "--size", 20, "--fov", 90, "--weights", "uniform"), [0, 1],
            uniform=np.radians(90))

    def test_gains(self):
        random = np.random.default_rng(4)
        gain = np.exp(random.normal(0, 0.2, (N, 2))
                      + 2j * np.pi * random.uniform(-0.5, 0.5, (N, 2)))
        table = self.save("gains.csv", "number,pol,amplitude,phase_deg,"
                          "delay_ns\n" + "".join(
                              f"{a},{'XY'[p]},{abs(gain[a, p])},"
                              f"{np.degrees(np.angle(gain[a, p]))},0\n"
                              for a in range(N) for p in range(2)))
        self.check_sum(self.files["drifts"], ("--size", 20, "--gains", table),
                   [0, 1], gains=gain)

    def test_time_of_the_data(self):
        """Later dumps are two hours later and have no data, or a third."""
        rows = N * (N + 1) // 2

        def later(change):
            def move(file):
                file["Header/time_array"][rows:] += 1 / 12
                change(file["Data"])

            return self.changed(self.files["drifts"], move)

        def flag(data):
            data["flags"][rows:] = True

        def lose(data):
            data["nsamples"][rows:] = 0

        def thin(data):
            data["flags"][...] = False
            data["nsamples"][:rows], data["nsamples"][rows:] = 0.9, 0.3

        for centre in ((), ("--center", "{},{}".format(*CENTRE))):
            arguments = ("--size", 20, *centre)
            want = self.image(self.files["drifts"], "--times", 0, *arguments)
            self.assertEqual(want[2]["n_dumps"], 1)
            for change in (flag, lose):
                got = self.image(later(change), *arguments)
                np.testing.assert_array_equal(got[0], want[0])
                for name in ("DATE-OBS", "DATE-AVG", "TELAPSE", "LST",
                             "CRVAL1"):
                    self.assertEqual(got[1][name], want[1][name])
                got[2]["path"] = want[2]["path"]
                self.assertEqual(got[2], want[2])
            _, header, figures = self.image(later(thin), "--times", "0,1",
                                            *arguments)
            self.assertEqual(figures["n_dumps"], 2)
            # two hours and a dump apart; a Julian date resolves 40 us
            first, middle = (Time(text, scale="utc").unix for text in (
                want[1]["DATE-AVG"], header["DATE-AVG"]))
            self.assertAlmostEqual(middle - first, (7200 + 0.5) / 4, places=3)
            self.assertAlmostEqual(header["TELAPSE"], 7201, places=3)

    def test_baselines_the_other_way(self):
        """V_ji = conj(V_ij) is the same image."""
        def turn(file):
            ends = [file[f"Header/ant_{k}_array"][()] for k in (1, 2)]
            for k in (1, 2):
                file[f"Header/ant_{k}_array"][...] = ends[2 - k]
            file["Data/visdata"][...] = file["Data/visdata"][()].conj()

        images = [self.image(result, "--size", 20)[0] for result in (
            self.files["drifts"], self.changed(self.files["drifts"], turn))]
        np.testing.assert_array_equal(*images)

    def find(self, pixels, x, y, radius):
        """A parabola through the highest pixel near a place."""
        ys, xs = np.indices(pixels.shape)
        near = np.hypot(xs - x, ys - y) < radius
        top = np.where(near & np.isfinite(pixels), pixels, -np.inf).argmax()
        row, column = np.unravel_index(top, pixels.shape)
        at = pixels[row, column]

        def off(low, high):
            return (high - low) / 2 / (2 * at - high - low)

        return (column + off(pixels[row, column - 1], pixels[row, column + 1]),
                row + off(pixels[row - 1, column], pixels[row + 1, column]))

    def check_places(self, mode, *arguments):
        pixels, header, figures = self.image(
            self.files[mode], "--size", 500, "--catalog", self.save(
                "names.csv", "name,ra_deg,dec_deg\n" + "".join(
                    f"{name},{ra},{dec}\n" for name, (ra, dec) in zip(
                        "ABC", SOURCES))), *arguments)
        named = {item["name"]: item for item in figures["sources"]}
        wcs = WCS(header)
        step_deg = np.degrees(figures["step"])
        middle_s = Time(figures["time_utc"][:-1]).unix - START_S
        for name, place in zip("ABC", SOURCES):
            item = named[name]
            x, y = wcs.world_to_pixel(SkyCoord(*place, unit="deg"))
            # aberration: CONVENTIONS
            self.assertLess(np.hypot(x - item["x"], y - item["y"])
                            * step_deg * 3600, 25)
            east, north, up = geometry.directions(
                place, START_S, [middle_s])[0]
            self.assertAlmostEqual(item["elevation_deg"],
                                   np.degrees(np.arcsin(up)), places=3)
            self.assertAlmostEqual(item["azimuth_deg"], np.degrees(
                np.arctan2(east, north)) % 360, places=3)
            # the beam across the line of sight; off the centre it is wider
            found = self.find(pixels, x, y, 1 / step_deg)
            off = np.hypot(found[0] - x, found[1] - y) * step_deg / figures[
                "beam_minor_deg"]
            print(f"# {name}: {off:.3f} beam off")
            self.assertLess(off, 0.05)
        # north is up and east is left
        self.assertLess(named["A"]["x"], 250 - 40)
        self.assertGreater(named["B"]["y"], 250 + 40)
        self.assertGreater(named["C"]["x"], 250 + 40)
        self.assertLess(named["C"]["y"], 250 - 40)
        # the peak is one of them, and has its place
        peak = figures["peak"]
        at = SkyCoord(peak["ra_deg"], peak["dec_deg"], unit="deg")
        apart = min(at.separation(SkyCoord(*place, unit="deg")).deg
                    for place in SOURCES)
        self.assertLess(apart, 1.5 * step_deg)
        x, y = wcs.world_to_pixel(at)
        self.assertLess(np.hypot(x - peak["x"], y - peak["y"])
                        * step_deg * 3600, 25)
        self.assertEqual(pixels[int(peak["y"]), int(peak["x"])],
                         np.float32(peak["value"]))

    def test_places_in_the_horizon(self):
        for mode in self.files:
            self.check_places(mode)

    def test_beam(self):
        """A Gaussian that bends like cos(2 pi u . s) on average: the longer
        axis is where baselines are short."""
        stretched = POSITIONS * [1, 3, 1] @ [[0.8, 0.6, 0], [-0.6, 0.8, 0],
                                             [0, 0, 1]]
        site = geometry.location()
        east = np.array([-np.sin(site.lon.rad), np.cos(site.lon.rad), 0])
        up = np.array([np.cos(site.lat.rad) * np.cos(site.lon.rad),
                       np.cos(site.lat.rad) * np.sin(site.lon.rad),
                       np.sin(site.lat.rad)])
        ecef = stretched @ [east, np.cross(up, east), up]

        def stretch(file):
            file["Header/antenna_positions"][...] = ecef

        figures = self.image(self.changed(self.files["drifts"], stretch),
                             "--size", 20)[2]
        i, j = np.triu_indices(N, 1)
        uv = (stretched[j] - stretched[i])[:, :2] * (
            figures["frequency_hz"] / LIGHT_M_S)
        squares, axes = np.linalg.eigh(uv.T @ uv / len(uv))
        widths = np.degrees(np.sqrt(2 * np.log(2) / squares) / np.pi)
        angle = np.degrees(np.arctan2(axes[0, 0], axes[1, 0]))
        # the mean of f squared is not the square of its mean: 1e-7
        np.testing.assert_allclose([figures["beam_major_deg"],
                                    figures["beam_minor_deg"]], widths,
                                   rtol=1e-6)
        self.assertAlmostEqual(np.remainder(
            figures["beam_angle_deg"] - angle + 90, 180), 90, places=4)

    def test_places_on_the_sky(self):
        for mode in self.files:
            self.check_places(mode, "--center", "{},{}".format(*CENTRE), "--fov", 120)

    def test_places_of_bodies(self):
        """The Sun and the Moon, whose parallax is a degree."""
        for day in (START_S, START_S + 5 * 86_400, START_S + 18 * 86_400):
            def move(file, days=(day - START_S) / 86_400 + 0.8):
                file["Header/time_array"][...] += days

            found = json.loads(self.well(
                "image", self.changed(self.files["drifts"], move), "--json",
                "--size", 64).stdout)
            time = Time(found["time_utc"][:-1])
            seen = 0
            for item in found["sources"]:
                if item["name"] not in ("Sun", "Moon"):
                    continue
                place = get_body(item["name"], time, geometry.location())
                at = place.transform_to(AltAz(obstime=time,
                                              location=geometry.location()))
                apart = at.separation(SkyCoord(
                    item["azimuth_deg"], item["elevation_deg"], unit="deg",
                    frame=at.frame))
                seen += 1
                self.assertLess(apart.arcsec,
                                {"Sun": 1, "Moon": 30}[item["name"]])
            self.assertGreater(seen, 0)
