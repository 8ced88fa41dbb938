# SPDX-License-Identifier: BSD-3-Clause
"""Averages in time by their definition: how many dumps each baseline is
averaged over, and the rows that the dumps of a full result then give.  Written
from correlator/CONVENTIONS.md; shares no code with fx8."""
from fractions import Fraction

import h5py
import numpy as np

LIGHT_M_S = 299792458.0
EARTH_RAD_S = 7.2921159e-5
MOST_DUMPS = 64


def loss(turns):
    """Share of its amplitude that a fringe of so many turns loses."""
    return 1 - np.sinc(turns) if turns < 1 else 1.0


def factor(rate_hz, dump_s, most):
    """Dumps that are averaged: the largest power of two within the loss."""
    n = 1
    while n < MOST_DUMPS and loss(rate_hz * 2 * n * dump_s) <= most:
        n *= 2
    return n


def rate_hz(ecef_m, hz, cos_dec=0.0):
    """Bound of the fringe rate of a baseline: the Earth turns about the third
    axis, so a source moves at most by the part along the equator."""
    return (EARTH_RAD_S * np.hypot(ecef_m[0], ecef_m[1]) * (1 + cos_dec) * hz
            / LIGHT_M_S)


class Result:
    """The rows of a UVH5 file as they are stored."""

    def __init__(self, path):
        with h5py.File(path, "r") as file:
            self.header = {name: item[()] for name, item
                           in file["Header"].items()
                           if isinstance(item, h5py.Dataset)}
            self.keywords = {name: item[()] for name, item
                             in file["Header/extra_keywords"].items()}
            self.data = file["Data/visdata"][...].astype(complex)
            self.flags = file["Data/flags"][...]
            self.nsamples = file["Data/nsamples"][...]
            self.own = {name: item[...] for name, item in file["fx8"].items()}
        self.pairs = list(zip(self.header["ant_1_array"].tolist(),
                              self.header["ant_2_array"].tolist()))


def factors(full, most, dec_deg=None):
    """Dumps of each baseline of a result that is not averaged."""
    header = full.header
    place = dict(zip(header["antenna_numbers"].tolist(),
                     header["antenna_positions"]))
    hz = (np.abs(header["freq_array"]).max()
          + header["channel_width"][0] / 2)
    cos_dec = 0.0 if dec_deg is None else np.cos(np.radians(dec_deg))
    dump_s = header["integration_time"].max()
    return [factor(rate_hz(place[b] - place[a], hz, cos_dec), dump_s, most)
            for a, b in full.pairs[:int(header["Nbls"])]]


def rows(lengths, dumps_of, n_dumps=None):
    """Rows as (first dump, end, baseline): those that end first are first."""
    n_dumps = len(lengths) if n_dumps is None else n_dumps
    found = [(first, min(first + n, n_dumps), baseline)
             for baseline, n in enumerate(dumps_of)
             for first in range(0, n_dumps, n)]
    return sorted(found, key=lambda row: (row[1], row[2]))


def average(full, lengths, row, n_baselines):
    """Mean, flags and weight of one row; lengths: spectra of each dump."""
    first, end, baseline = row
    places = [dump * n_baselines + baseline for dump in range(first, end)]
    spectra = np.array(lengths[first:end], float)[:, None, None]
    flags = full.flags[places]
    all_flagged = flags.all(axis=0)
    used = np.where(all_flagged, True, ~flags)
    weight = np.where(used, full.nsamples[places].astype(float) * spectra, 0)
    total = weight.sum(axis=0)
    mean = (weight * full.data[places]).sum(axis=0) / np.where(
        total > 0, total, 1)
    return mean, all_flagged, total / spectra.sum()


def middle(start, lengths, first, end, step, window, rate):
    """Julian date of the middle of dumps [first, end)."""
    before, n = sum(lengths[:first]), sum(lengths[first:end])
    seconds = start + Fraction((2 * before + n - 1) * step + window, 2) / rate
    return float(Fraction(24405875, 10) + seconds / 86400)
