# SPDX-License-Identifier: BSD-3-Clause
"""Writes channel files like the SKA-Low/AAVS acquisition: the same names, types,
chunks and order of work. Blocks are appended one by one, time stamps are
written per block, attributes are updated or left stale."""
import os
from fractions import Fraction

import h5py
import numpy as np

RATE = Fraction(25_000_000, 27)
SPACING_HZ = 781_250
COMPLEX_8T = np.dtype([("real", np.int8), ("imag", np.int8)])


def columns_of(samples):
    """[channel][antenna][pol][time] complex as rows of columns, channel
    slowest."""
    flat = samples.reshape(-1, samples.shape[-1]).T
    rows = np.empty(flat.shape, COMPLEX_8T)
    rows["real"], rows["imag"] = flat.real, flat.imag
    return rows


def block_stamps(start, n, rate=RATE):
    """Time stamps of a block whose first sample is at `start`, Unix seconds as
    a Fraction; the acquisition rounds them to double."""
    first = np.longdouble(float(start))
    return (first + np.arange(n) / np.longdouble(float(rate))).astype("f8")


class Part:
    """One file of a tile, growing."""

    def __init__(self, path, *, tile, n_antennas, block, channel_id,
                 n_channels=1, n_pols=2, tsamp=float(1 / RATE), first_start):
        self.file = h5py.File(path, "w")
        self.block = block
        width = n_channels * n_antennas * n_pols
        root = self.file.create_dataset("root", (1,), chunks=True,
                                        dtype="float16")
        self.attributes = root.attrs
        values = {"timestamp": float(first_start), "date_time": "20200217_00000",
                  "n_antennas": n_antennas, "n_pols": n_pols, "n_beams": 1,
                  "tile_id": tile, "n_chans": n_channels, "n_samples": block,
                  "n_blocks": 0, "type": 2, "data_type": "complex",
                  "data_mode": "", "ts_start": float(first_start),
                  "ts_end": float(first_start), "n_baselines": 0,
                  "n_stokes": 4, "channel_id": channel_id, "station_id": 0,
                  "station_name": "AAVS test"}
        if tsamp is not None:
            values["tsamp"] = tsamp
        for name, value in values.items():
            root.attrs[name] = value
        self.file.create_group("observation_info").attrs["description"] = ""
        room = 1024 if block == 1 else block
        self.data = self.file.create_dataset(
            "chan_/data", (0, width), chunks=(room, width),
            maxshape=(None, width), dtype=COMPLEX_8T)
        self.stamps = self.file.create_dataset(
            "sample_timestamps/data", (0, 1), chunks=(room, 1),
            maxshape=(None, 1), dtype="f8")
        self.room = room

    def append(self, samples, start, rate=RATE):
        """Append a block [channel][antenna][pol][block] that starts at
        `start`."""
        n_blocks = int(self.attributes["n_blocks"])
        first, end = n_blocks * self.block, (n_blocks + 1) * self.block
        for dataset in (self.data, self.stamps):
            if dataset.shape[0] < end:
                dataset.resize(dataset.shape[0] + self.room, axis=0)
        self.data[first:end] = columns_of(samples)
        stamps = block_stamps(start, self.block, rate)
        self.stamps[first:end, 0] = stamps
        self.attributes["n_blocks"] = n_blocks + 1
        self.attributes["ts_end"] = stamps[-1]

    def reserve(self):
        """Make room for a block that is never written, as after a crash."""
        for dataset in (self.data, self.stamps):
            dataset.resize(dataset.shape[0] + self.room, axis=0)


def write(folder, samples, start, *, tile, part, first, n, block, lost=(),
          rate=RATE, channel_id=204, mode="cont", reserve=False, **options):
    """Write samples [first, first + n) of [channel][antenna][pol][time] as one
    file; blocks that hold a sample of `lost` are left out.

    Returns the path and a mask of the samples that are in the file.
    """
    name = f"channel_{mode}_{tile}_20200217_00000_{part}.hdf5"
    path = os.path.join(folder, name)
    held = np.zeros(samples.shape[-1], bool)
    file = Part(path, tile=tile, n_antennas=samples.shape[1],
                n_channels=samples.shape[0], n_pols=samples.shape[2],
                block=block, channel_id=channel_id, first_start=start,
                **options)
    with file.file:
        for at in range(first, first + n - block + 1, block):
            if any(at <= t < at + block for t in lost):
                continue
            file.append(samples[..., at:at + block], start + at / rate, rate)
            held[at:at + block] = True
        if reserve:
            file.reserve()
    return path, held
