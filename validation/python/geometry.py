# SPDX-License-Identifier: BSD-3-Clause
"""Delays of a plane wave over an array, by astropy's horizon coordinates: not a
line of fx8.  IERS is the table that fx8 is given too."""
import datetime
from fractions import Fraction

import astropy.units as u
import astropy_iers_data
import numpy as np
from astropy.coordinates import AltAz, EarthLocation, SkyCoord
from astropy.time import Time, TimeDelta
from astropy.utils import iers
from scipy.interpolate import CubicSpline

import program

LIGHT_M_S = 299_792_458.0
IERS = astropy_iers_data.IERS_A_FILE
iers.conf.auto_download = False
iers.conf.auto_max_age = None
iers.earth_orientation_table.set(iers.IERS_A.open(IERS))

# Seconds between two evaluations; a cubic spline between them adds 2e-16 rad.
NODE_S = 5


def location(site=None):
    site = program.SITE if site is None else site
    return EarthLocation.from_geodetic(
        site["longitude_deg"] * u.deg, site["latitude_deg"] * u.deg,
        site["altitude_m"] * u.m)


def directions(icrs_deg, start, seconds, site=None):
    """Unit vectors ENU [time][3] towards the apparent place, `seconds` after
    the Unix time `start`; no refraction."""
    epoch = Time(datetime.datetime.fromtimestamp(
        int(start), datetime.timezone.utc).replace(tzinfo=None), scale="utc")
    times = epoch + TimeDelta(np.asarray(seconds) + float(start % 1),
                              format="sec")
    seen = SkyCoord(*icrs_deg, unit="deg").transform_to(AltAz(
        obstime=times, location=location(site), pressure=0 * u.hPa))
    return np.stack([np.cos(seen.alt) * np.sin(seen.az),
                     np.cos(seen.alt) * np.cos(seen.az),
                     np.sin(seen.alt)], axis=-1).value


class Towards:
    """directions() at any instant from 0 to span_s."""

    def __init__(self, icrs_deg, start, span_s, site=None):
        at = np.linspace(-1, span_s + 1, 5 + int(span_s / NODE_S))
        self.find = CubicSpline(at, directions(icrs_deg, start, at, site))

    def __call__(self, seconds):
        return self.find(seconds)

    def delays(self, positions, seconds):
        """-r . s / c: [antenna][time]."""
        return -(positions @ self(seconds).T) / LIGHT_M_S


def received(wave, late_s, rate_hz, sky_hz):
    """A wave, periodic complex samples about sky_hz, received late by late_s
    [time]: w(t - late) exp(-2 pi i sky_hz late).  The mean delay is exact; what
    changes on the way, a small part of a sample, is a Taylor series."""
    nu = np.fft.fftfreq(len(wave), 1 / rate_hz)
    spectrum = np.fft.fft(wave) * np.exp(-2j * np.pi * nu * late_s.mean())
    change = late_s - late_s.mean()
    total, power = np.zeros(len(wave), complex), np.ones(len(wave))
    for k in range(1, 6):
        total += np.fft.ifft(spectrum) * power
        spectrum = spectrum * (-2j * np.pi * nu)
        power = power * change / k
    return total * np.exp(-2j * np.pi * np.remainder(sky_hz * late_s, 1))


def white(generator, n_samples):
    """Complex noise of unit power in each component, without the outer tenth of
    the band, where filters leak."""
    spectrum = generator.normal(size=(n_samples, 2)) @ [1, 1j]
    spectrum[np.abs(np.fft.fftfreq(n_samples)) > 0.45] = 0
    wave = np.fft.ifft(spectrum)
    return wave * np.sqrt(2) / wave.std()


def fx8_keys(icrs_deg, name="field"):
    """Keys of a run that tracks a place with the same table."""
    return {"delay.mode": "track", "delay.phase_center_ra_deg": icrs_deg[0],
            "delay.phase_center_dec_deg": icrs_deg[1],
            "delay.phase_center_name": name, "delay.iers_file": IERS}


def antenna_csv(positions, cables_s=None):
    """Text of the table of antennas; cables [antenna][pol]."""
    head = ["number", "east_m", "north_m", "up_m"]
    columns = [np.arange(len(positions)), *np.transpose(positions)]
    if cables_s is not None:
        head += (["cable_delay_ns"] if cables_s.shape[1] == 1 else
                 ["cable_delay_x_ns", "cable_delay_y_ns"])
        columns += list(1e9 * cables_s.T)
    # str() of a double gives the same double back
    return "".join(",".join(map(str, row)) + "\n"
                   for row in [head, *zip(*columns)])
