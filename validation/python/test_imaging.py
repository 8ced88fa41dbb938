# SPDX-License-Identifier: BSD-3-Clause
"""Images of a simulated sky: three polarised sources over 24 antennas with
unequal cables and gains and with dropouts, on both hemispheres, correlated as
the sky drifts (pyuvdata phases it) and tracked (as it is). Small: summed
directly here. With FX8_LONG: a Measurement Set by pyuvdata, imaged by WSClean.

Shows (signals, images): sources up to 10° from the centre are where they should
    be, with their Stokes parameters, and nothing else is there
Within: 0.05 beam; fluxes to one another 5 %, Q, U and V 5 % of the brightest; no
    other peak of 5 %
Because: gains that differ by 0.1 leave 0.1 √2 / √276 of a source, rms;
    noise is 0.2 %

Shows (signals, dirty images by WSClean): `fx8 image` gives its dirty image of
    the same data, pixel by pixel within 10° of the centre
Within: 4·10⁻³ of the peak
Because: its gridding is off the direct sum by 2·10⁻³, fx8 by 10⁻⁸
In: Dirty
"""
import itertools
import shutil
import subprocess
import unittest
import warnings

import numpy as np
from astropy.io import fits
from astropy.wcs import WCS

import geometry
import program
import uvdata
from geometry import LIGHT_M_S, SkyCoord, Time, u

SITES = {"north": (52.9, 6.9), "south": (-26.7, 116.67)}
START = "2021-03-20T22:00:00"
DUT1_S = float(Time(START, scale="utc").delta_ut1_utc)
SKY_HZ = 150e6
# Offsets from the centre (degrees of longitude, latitude), Stokes parameters.
SOURCES = (((0.8, 1.1), (0.5, 0.1, -0.15, 0.2)),
           ((-4.3, 3.2), (0.3, -0.15, 0.1, 0.0)),
           ((5.9, -7.1), (0.2, 0.0, 0.05, -0.1)))
MODES = ("drifts", "tracked")


def stokes_of(products):
    """[..., XX YY XY YX] of a file to [..., I Q U V]: XX = I + Q, XY = U + iV."""
    xx, yy, xy, yx = np.moveaxis(products, -1, 0)
    return np.stack([xx + yy, xx - yy, xy + yx, -1j * (xy - yx)], -1) / 2


class Sky(program.Case):
    """An array, a centre 20 degrees from the zenith, sources near it."""

    def observe(self, site, mode, precision, duration_s):
        """Simulate and correlate; returns pyuvdata's data, phased to the
        centre."""
        generator = np.random.default_rng(24)
        latitude, longitude = SITES[site]
        place = {"latitude_deg": latitude, "longitude_deg": longitude,
                 "altitude_m": 100.0}
        zenith = Time(START, location=geometry.location(place)).sidereal_time(
            "apparent").deg
        self.centre = SkyCoord(zenith + 15, latitude - 15 * np.sign(latitude),
                               unit="deg")
        self.places = [self.centre.spherical_offsets_by(
            dx * u.deg, dy * u.deg) for (dx, dy), _ in SOURCES]
        self.save("sources.csv", "ra_deg,dec_deg,I,Q,U,V\n" + "".join(
            ",".join(map(str, (at.ra.deg, at.dec.deg, *stokes))) + "\n"
            for at, (_, stokes) in zip(self.places, SOURCES)))
        positions = generator.uniform(-1, 1, (24, 3)) * [120, 120, 2]
        self.save("antennas.csv", geometry.antenna_csv(
            positions, generator.uniform(-400e-9, 400e-9, (24, 2))))
        keys = {
            "array.positions": "antennas.csv", "array.polarizations": 2,
            **{f"array.{name}": value for name, value in place.items()},
            "observation.start_time_utc": START,
            "observation.dc_frequency_hz": SKY_HZ,
            "observation.sample_rate_hz": 64_000,
            "delay.mode": "cable", "delay.dut1_s": repr(DUT1_S),
            "channelizer.channels": 16, "correlator.integration_time_s": 2,
            "correlator.precision": precision, "correlator.backend": "cpu",
            "simulate.sources": "sources.csv", "simulate.gain_spread": 0.1,
            "simulate.dropout_fraction": 0.04,
            "simulate.duration_s": duration_s + 0.01, "simulate.seed": 5,
        }
        if mode == "tracked":
            keys.update({"delay.mode": "track",
                         "delay.phase_center_ra_deg": self.centre.ra.deg,
                         "delay.phase_center_dec_deg": self.centre.dec.deg,
                         "delay.phase_center_name": "centre"})
        config = self.save("sky.ini", program.ini_text(keys))
        self.well("simulate", config, "-o", self.path("sky.h5"), "--force")
        self.well("correlate", config, self.path("sky.h5"), "--force", "-o",
                  self.path("sky.uvh5"))
        data = uvdata.load(self, self.path("sky.uvh5"))
        if mode == "drifts":
            data.phase(lon=self.centre.ra.rad, lat=self.centre.dec.rad,
                       phase_frame="icrs", cat_name="centre")
        return data

    def judge(self, image, offsets, at, beam, widest):
        """image [Stokes][y][x] at offsets [y][x][2] in degrees, after CLEAN;
        sources are at `at` [source][2]; the beam, and its longer axis."""
        brightest = None
        free = np.ones(image.shape[1:], bool)
        for place, (_, stokes) in zip(at, SOURCES):
            apart = np.hypot(*np.moveaxis(offsets - place, -1, 0))
            free &= apart > 1.5 * widest
            near = np.where(apart < 0.5 * beam, image[0], -np.inf)
            y, x = np.unravel_index(near.argmax(), near.shape)
            found, flux = offsets[y, x].copy(), image[:, y, x].copy()
            # a parabola through the highest pixel and its neighbours
            for axis, (dy, dx) in enumerate(((0, 1), (1, 0))):
                low, high = image[:, y - dy, x - dx], image[:, y + dy, x + dx]
                step = offsets[y + dy, x + dx, axis] - offsets[y, x, axis]
                part = (high - low)[0] / 2 / (
                    2 * image[:, y, x] - high - low)[0]
                found[axis] += step * part
                flux += part / 4 * (high - low)
            off = np.hypot(*(found - place)) / beam
            brightest = flux[0] if brightest is None else brightest
            print(f"# {off:.3f} beam off, IQUV {flux / brightest}")
            self.assertLess(off, 0.05)
            want = np.array(stokes) / SOURCES[0][1][0]
            self.assertLess(abs(flux[0] / brightest / want[0] - 1), 0.05)
            np.testing.assert_allclose(flux / brightest, want, atol=0.05)
        false = np.abs(image[:, free]).max() / brightest
        print(f"# elsewhere up to {false:.3f}")
        self.assertLess(false, 0.05)


class Direct(Sky):
    """The sum over visibilities, with the exact w, in each pixel; CLEAN takes
    the response of a source from the visibilities."""

    PIXEL_DEG, SIDE = 0.14, 141

    def image(self, data):
        """Restored Stokes images, their offsets in degrees, beam."""
        grid = (np.arange(self.SIDE) - self.SIDE // 2) * self.PIXEL_DEG
        offsets = np.stack(np.meshgrid(grid, grid), -1)
        l, m = np.radians(offsets).reshape(-1, 2).T
        cross = data.ant_1_array != data.ant_2_array
        keep = ~data.flag_array[cross].any(axis=(0, 2))
        weights = data.nsample_array[cross][:, keep].mean(axis=(1, 2))
        # all 16 channels: the band is a 2,300th of the frequency
        values = stokes_of(data.data_array[cross][:, keep].mean(axis=1))
        u_, v, w = data.uvw_array[cross].T * SKY_HZ / LIGHT_M_S
        # V = S exp(2 pi i (u l + v m + w (n - 1))) for uvw = r_j - r_i
        turns = np.outer(l, u_) + np.outer(m, v) + np.outer(
            np.sqrt(1 - l**2 - m**2) - 1, w)
        fringe = np.exp(-2j * np.pi * turns).astype(np.complex64)
        values = values * weights[:, None] / weights.sum()
        model = np.zeros((len(l), 4))
        for _ in range(80):
            dirty = (fringe @ values).real
            peak = np.argmax(np.abs(dirty[:, 0]))
            part = 0.2 * dirty[peak]
            model[peak] += part
            values -= np.outer(fringe[peak].conj() * weights / weights.sum(),
                               part)
        # of a Gaussian of the same second moment
        beam = np.degrees(0.375 * np.sqrt(2 / np.mean(u_**2 + v**2)))
        restored = dirty.T.reshape(4, self.SIDE, self.SIDE)
        for peak in np.flatnonzero(model[:, 0]):
            y, x = divmod(peak, self.SIDE)
            apart = np.hypot(*np.moveaxis(offsets - offsets[y, x], -1, 0))
            restored = restored + model[peak][:, None, None] * np.exp(
                -4 * np.log(2) * (apart / beam)**2)
        return restored, offsets, beam

    def check(self, site, mode):
        data = self.observe(site, mode, "int8", 4)
        image, offsets, beam = self.image(data)
        at = []
        for place in self.places:
            # direction cosines from the centre
            dra = (place.ra - self.centre.ra).rad
            at.append(np.degrees([
                np.cos(place.dec) * np.sin(dra),
                np.sin(place.dec) * np.cos(self.centre.dec)
                - np.cos(place.dec) * np.sin(self.centre.dec) * np.cos(dra)]))
        self.judge(image, offsets, np.array(at, float), beam, beam)

    def test_south_drifts(self):
        self.check("south", "drifts")

    def test_north_tracked(self):
        self.check("north", "tracked")


@unittest.skipUnless(program.LONG, "FX8_LONG")
@unittest.skipUnless(shutil.which("wsclean"), "wsclean is not installed")
class WSClean(Sky):
    """Each case is a Measurement Set, imaged and cleaned in four Stokes
    parameters."""

    def check(self, site, mode, precision):
        data = self.observe(site, mode, precision, 16)
        with warnings.catch_warnings(action="ignore"):
            data.write_ms(self.path("sky.ms"))
        subprocess.run(
            ["wsclean", "-quiet", "-name", self.path("sky"), "-size", "512",
             "512", "-scale", "0.05deg", "-pol", "iquv", "-join-polarizations",
             # seen off the zenith, the beam of a flat array differs from place
             # to place: often back to the visibilities
             "-niter", "20000", "-mgain", "0.5", "-gain", "0.05",
             "-auto-threshold", "2", "-weight", "briggs", "0",
             "-no-update-model-required", self.path("sky.ms")],
            check=True, cwd=self.folder)
        images = []
        for stokes in "IQUV":
            with fits.open(self.path(f"sky-{stokes}-image.fits")) as file:
                header, values = file[0].header, file[0].data[0, 0]
            images.append(values.astype(float))
        # a Measurement Set has conj(V_ij): X_1 conj(Y_2) = U - iV
        images[3] = -images[3]
        wcs = WCS(header).celestial
        y, x = np.indices(images[0].shape)
        step = wcs.wcs.cdelt
        offsets = np.stack([(x + 1 - wcs.wcs.crpix[0]) * step[0],
                            (y + 1 - wcs.wcs.crpix[1]) * step[1]], -1)
        at = (np.array(wcs.world_to_pixel(*[SkyCoord(self.places)])).T + 1
              - wcs.wcs.crpix) * step
        self.judge(np.array(images), offsets, at, header["BMIN"],
                   header["BMAJ"])


@unittest.skipUnless(program.LONG, "FX8_LONG")
@unittest.skipUnless(shutil.which("wsclean"), "wsclean is not installed")
class Dirty(Sky):
    """The dirty image of fx8 image beside that of WSClean."""

    SIDE, FOV_DEG = 512, 26

    def check(self, site, mode):
        data = self.observe(site, mode, "fp32", 4)
        with warnings.catch_warnings(action="ignore"):
            data.write_ms(self.path("sky.ms"))
        step = 2 * np.sin(np.radians(self.FOV_DEG / 2)) / self.SIDE
        subprocess.run(
            ["wsclean", "-quiet", "-name", self.path("sky"), "-size",
             str(self.SIDE), str(self.SIDE), "-scale",
             f"{np.degrees(step):.15g}deg", "-pol", "xx", "-niter", "0",
             "-weight", "natural", "-use-wgridder", "-wgridder-accuracy", "1e-5",
             "-no-update-model-required", self.path("sky.ms")],
            check=True, cwd=self.folder)
        self.well("image", self.path("sky.uvh5"), "--center",
                  f"{self.centre.ra.deg},{self.centre.dec.deg}", "--fov",
                  self.FOV_DEG, "--size", self.SIDE, "--pol", "XX",
                  "-o", self.path("sky.fits"))
        headers, images = zip(*[
            (fits.getheader(self.path(name)),
             fits.getdata(self.path(name)).squeeze().astype(float))
            for name in ("sky-dirty.fits", "sky.fits")])
        for key in ("CRPIX1", "CRPIX2", "CRVAL1", "CRVAL2", "CDELT1",
                    "CDELT2"):
            # its FK5 and the ICRS differ by some 20 milliarcseconds
            self.assertLess(abs(np.remainder(
                headers[1][key] - headers[0][key] + 180, 360) - 180), 1e-5)
        y, x = np.indices(images[0].shape) - self.SIDE // 2
        near = np.hypot(x, y) * step < np.sin(np.radians(10))
        worst = np.abs(images[0] - images[1])[near].max() / images[0].max()
        print(f"# {worst:.1e} of the peak")
        self.assertLess(worst, 4e-3)

    def test_drifts(self):
        self.check("south", "drifts")

    def test_tracked(self):
        self.check("north", "tracked")


def _add(site, mode, precision):
    def test(self):
        self.check(site, mode, precision)
    setattr(WSClean, f"test_{site}_{mode}_{precision}", test)


for _case in itertools.product(SITES, MODES, ("int8", "fp32")):
    _add(*_case)
