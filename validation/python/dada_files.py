# SPDX-License-Identifier: BSD-3-Clause
"""Writes PSRDADA with the headers and the encoder of the package baseband."""
import os
from fractions import Fraction

import numpy as np
from baseband import dada

import frames

RATE = Fraction(31_250)     # of a channel
START = 1_600_000_000
UTC_START = "2020-09-13-12:26:40"
AXES = "APFT"


def header(samples, first=0, upper=True, rate=RATE, **more):
    """The header of samples [antenna][pol][channel][time] from sample `first`
    after the start; None leaves a key out."""
    is_complex = np.iscomplexobj(samples)
    n_antennas, n_pols, n_channels, n = samples.shape
    record = n_antennas * n_pols * n_channels * (2 if is_complex else 1)
    width = float(rate) * n_channels / 1e6 / (1 if is_complex else 2)
    values = {"NBIT": 8, "NDIM": 2 if is_complex else 1, "NPOL": n_pols,
              "NCHAN": n_channels, "FREQ": 150.0,
              "BW": width if upper else -width, "TSAMP": float(1e6 / rate),
              "UTC_START": UTC_START, "OBS_OFFSET": first * record,
              "FILE_SIZE": n * record, "TELESCOPE": "Effelsberg",
              "INSTRUMENT": "EDD", "SOURCE": "3C48"}
    if n_antennas > 1:
        values["NANT"] = n_antennas
    head = dada.DADAHeader.fromvalues(**values)
    for key, value in more.items():
        head.pop(key, None)
        if value is not None:
            head[key] = value
    return head


def write(path, samples, order=None, **options):
    """Write samples [antenna][pol][channel][time]; `order` of the axes, slowest
    first, such as TFP, which the header names; None: the package's encoder,
    whose order is TPF, and no such key."""
    extra = {} if order is None else {"ORDER": order}
    head = header(samples, **{**extra, **options})
    if order is None:
        # its axes are [time][pol][channel]
        data = samples[0].transpose(2, 0, 1)
        kind = np.complex64 if np.iscomplexobj(data) else np.float32
        content = dada.DADAPayload.fromdata(
            np.ascontiguousarray(data, kind), head).words.tobytes()
    else:
        places = [AXES.index(axis) for axis in order]
        places += [at for at in range(4) if at not in places]
        content = frames.numbers(samples.transpose(places)).tobytes()
    with open(path, "wb") as file:
        head.tofile(file)
        file.write(content)
    return os.fspath(path)
