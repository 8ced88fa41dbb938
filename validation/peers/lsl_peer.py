# SPDX-License-Identifier: BSD-3-Clause
"""lsl_peer.py FX8 FOLDER SAMPLES ROUNDS -- whole jobs of fx8 from a recording by
turns with the engines of LSL on the same samples, 16 inputs and 1024 channels,
on all CPUs.  Run by the Python that has LSL; prints a JSON object.

Of LSL only the time in its two engines counts, on samples in memory: a filter
bank of 4 taps, its own length, and the correlator.  fx8's time is that of the
whole command, from a contiguous recording in FOLDER to UVH5: with 4 taps, the
same work, and with 8.  Before, the coherences of both are compared.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import h5py
import lsl
import numpy as np
from lsl.correlator import _core

INPUTS, CHANNELS, LSL_TAPS = 16, 1024, 4
RATE = 1_000_000
PIECE = 1024                        # spectra that LSL gets at a time
HELD = 1024                         # spectra until the samples repeat
HZ = 60e6 + np.fft.fftshift(np.fft.fftfreq(CHANNELS)) * RATE
# Of the noise of a coherence, 1/sqrt(HELD): windows of 3 spectra of a piece
# begin before it, and as many of ours lie across two, sqrt(6/1024) = 8 %;
# fx8's integers differ by 3 %, LSL's Hamming window by less.
NOISE_SHARE = 0.15

CONFIG = """[channelizer]
channels = 1024
[correlator]
integration_time_s = all
precision = int8
backend = cpu
threads = 0
[array]
positions = none
latitude_deg = 0
longitude_deg = 0
altitude_m = 0
"""


def record(path, n_samples):
    """Noise, part of it common to all inputs; int8 [input][time][re, im]."""
    generator = np.random.default_rng(3)
    length = HELD * CHANNELS
    common = generator.normal(size=(length, 2))
    held = np.empty((INPUTS, length, 2), "i1")
    for row in held:
        noise = generator.normal(size=common.shape) + 0.3 * common
        row[:] = np.clip(np.rint(15 * noise), -127, 127)
    samples = np.tile(held, (1, -(-n_samples // length), 1))[:, :n_samples]
    with h5py.File(path, "w") as file:
        file.attrs.update({
            "format": "fx8-voltages", "version": 1,
            "sample_rate_numerator_hz": RATE, "sample_rate_denominator": 1,
            "dc_frequency_hz": 60e6, "sideband": "upper",
            "start_time_unix_s": 1_600_000_000, "start_time_ns": 0})
        file["voltages"] = samples.view([("r", "i1"), ("i", "i1")]).reshape(
            INPUTS, 1, n_samples)
    with open(path, "rb") as file:
        os.fsync(file)              # not while something is measured
    return np.ascontiguousarray(samples)


def lsl_correlate(samples):
    """Mean products [baseline][channel] and seconds in the engines."""
    delays = np.zeros((INPUTS, CHANNELS))
    seconds, total, n = 0.0, 0.0, 0
    for first in range(0, samples.shape[1], PIECE * CHANNELS):
        piece = np.ascontiguousarray(
            samples[:, first:first + PIECE * CHANNELS])
        begin = time.monotonic()
        spectra, valid = _core.PFBEngine(piece, HZ, delays, LFFT=CHANNELS,
                                         sample_rate=float(RATE),
                                         clip_level=0)
        products = _core.XEngine2(spectra, spectra, valid, valid)
        seconds += time.monotonic() - begin
        total, n = total + products, n + 1
    return total / n, seconds


def fx8_correlate(fx8, folder, taps):
    """Seconds of the command, the better of two runs: the first one after LSL
    finds the memory in pieces."""
    seconds = []
    for _ in range(2):
        begin = time.monotonic()
        subprocess.run([fx8, "correlate", f"{folder}/peers.ini",
                        f"{folder}/peers.h5", "-o", f"{folder}/peers.uvh5",
                        "--force", "--quiet", "--set",
                        f"channelizer.taps={taps}"],
                       check=True, stderr=subprocess.DEVNULL)
        seconds.append(time.monotonic() - begin)
    return min(seconds)


def coherences(products):
    """[baseline][channel] in the order of numpy's triangle."""
    rows, columns = np.triu_indices(INPUTS)
    power = products[rows == columns].real
    return products / np.sqrt(power[rows] * power[columns])


def compare(folder, products):
    """Root mean square difference of the coherences."""
    with h5py.File(f"{folder}/peers.uvh5") as file:
        ours = file["Data/visdata"][:]
    ours = coherences(ours.reshape(-1, CHANNELS))
    # LSL forms the conjugate
    apart = np.sqrt(np.mean(np.abs(ours - coherences(products).conj())**2))
    if not apart < NOISE_SHARE / np.sqrt(HELD):
        sys.exit(f"lsl_peer: coherences differ by {apart:.2g} rms")
    return float(apart)


def main(fx8, folder, n_samples, n_rounds):
    with open(f"{folder}/peers.ini", "w", encoding="utf-8") as file:
        file.write(CONFIG)
    samples = record(f"{folder}/peers.h5", n_samples)
    fx8_correlate(fx8, folder, LSL_TAPS)
    products, _ = lsl_correlate(samples)
    apart = compare(folder, products)
    rounds = [(fx8_correlate(fx8, folder, LSL_TAPS),
               fx8_correlate(fx8, folder, 8), lsl_correlate(samples)[1])
              for _ in range(n_rounds)]
    work = n_samples * INPUTS
    same, more, theirs = (statistics.median(part) for part in zip(*rounds))
    print(json.dumps({
        "inputs": INPUTS, "channels": CHANNELS, "rounds": n_rounds,
        "threads": len(os.sched_getaffinity(0)), "samples": work,
        "fx8_4_taps": work / same, "fx8_8_taps": work / more,
        "lsl_4_taps": work / theirs,
        "ratio": statistics.median(r[2] / r[0] for r in rounds),
        "ratio_8_taps": statistics.median(r[2] / r[1] for r in rounds),
        "lowest": min(r[2] / r[0] for r in rounds),
        "rms_difference": apart, "lsl": lsl.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
