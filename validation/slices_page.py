#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slices_page.py [PAGE.md] -- what dumps in slices save and cost: 2,048 inputs of 16
channels, without a limit of memory and within the smallest that suffices.

Runs take turns, so that a busy machine slows them alike. The files are compared item
by item. `make slices-page` runs it; it takes 4 GB in TMPDIR.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import program
import same_file

ROUNDS = 3
N_ANTENNAS, N_SAMPLES = 1024, 1 << 18
INI = """[array]
positions = none
latitude_deg = 0
longitude_deg = 0
altitude_m = 0
[channelizer]
channels = 16
taps = 4
[correlator]
integration_time_s = 0.065536
backend = cpu
"""
ABOUT = """# Results larger than memory

`make slices-page PAGE=...` writes this page: 1,024 dual-polarisation antennas (2,048 inputs), 16
channels, four dumps of 4,096 spectra, a recording of 1.07 GB and a result of 1.95 GB. In slices:
within the smallest `memory_limit_mib` that suffices. Wall time and CPU time of the whole process,
median (least to most) of {rounds} runs by turns; peak memory of the process. While a slice is written
nothing is computed, so that seconds of writing add to a run, which whole dumps hide behind the next
one. Datasets and attributes of the two files are equal, but for `memory_limit_mib` in the history.

{when}, {cpu}, {cores} cores, load {load:.1f} before

| | limit, MiB | dump in slices | peak, MiB | wall time, s | CPU time, s | write, s |
|---|---|---|---|---|---|---|
{rows}
"""


def write_recording(path):
    generator = np.random.default_rng(1)
    pair = np.dtype([("r", "i1"), ("i", "i1")])
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "fx8-voltages"
        file.attrs["version"] = 1
        file.attrs["sample_rate_numerator_hz"] = np.uint64(1_000_000)
        file.attrs["sample_rate_denominator"] = np.uint64(1)
        file.attrs["dc_frequency_hz"] = 150e6
        file.attrs["sideband"] = "upper"
        file.attrs["start_time_unix_s"] = np.int64(1_600_000_000)
        file.attrs["start_time_ns"] = np.int64(0)
        file.attrs["telescope"] = "test"
        data = file.create_dataset("voltages", (N_ANTENNAS, 2, N_SAMPLES), pair)
        for dim, label in zip(data.dims, ("antenna", "pol", "time")):
            dim.label = label
        for antenna in range(N_ANTENNAS):
            noise = generator.normal(0, 15, (2, N_SAMPLES, 2)).round()
            data[antenna] = noise.clip(-127, 127).astype("i1").view(
                pair)[..., 0]


def run(folder, precision, limit):
    """One run: seconds on the clock and of CPU, and what it said."""
    words = [program.FX8, "correlate", "big.ini", "big.h5", "-o",
             f"{limit}.uvh5", "--force", "--set",
             f"correlator.precision={precision}", "--set",
             f"correlator.memory_limit_mib={limit}"]
    begin = time.monotonic()
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        said = process.stdout.read()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, said


def spread(seconds):
    return (f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to "
            f"{max(seconds):.1f})")


def find(pattern, said, default=None):
    found = re.search(pattern, said, re.MULTILINE)
    if found is None and default is None:
        sys.exit(f"slices_page.py: no {pattern!r} in\n{said}")
    return found.group(1) if found else default


def measure(folder, precision):
    """Rows of the table: without a limit, and within the least."""
    least = find(r"expected at least (\d+) MiB", run(folder, precision, 1)[-1])
    runs = {"auto": [], least: []}
    for _ in range(ROUNDS):
        for limit, done in runs.items():
            done.append(run(folder, precision, limit))
    differ = same_file.differences(*(os.path.join(folder, f"{limit}.uvh5")
                                     for limit in runs))
    if differ:
        sys.exit(f"slices_page.py: {precision}: {differ} are not equal")
    for limit, done in runs.items():
        os.remove(os.path.join(folder, f"{limit}.uvh5"))
        wall_s, cpu_s, said = zip(*done)
        write = [float(find(r"write ([0-9.]+)", text)) for text in said]
        peak = max(float(find(r"^memory +([0-9.]+) MiB at most", text))
                   for text in said)
        slices = find(r"written in (\d+) slices", said[0], "whole")
        yield (f"| {precision.upper()} | {limit} | {slices} | {peak:.0f} | "
               f"{spread(wall_s)} | {spread(cpu_s)} | "
               f"{statistics.median(write):.2f} |")


def main():
    load, rows = os.getloadavg()[0], []
    with tempfile.TemporaryDirectory(prefix="fx8-slices-") as folder:
        write_recording(os.path.join(folder, "big.h5"))
        with open(os.path.join(folder, "big.ini"), "w",
                  encoding="utf-8") as file:
            file.write(INI)
        for precision in "int8", "fp32":
            rows += measure(folder, precision)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = find(r"^model name\s*: (.*)$", file.read())
    page = ABOUT.format(rounds=ROUNDS, when=time.strftime("%Y-%m-%d"), cpu=cpu,
                        cores=len(os.sched_getaffinity(0)), load=load,
                        rows="\n".join(rows))
    print(page)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(page)


main()
