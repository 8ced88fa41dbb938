#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""station.py [--page PAGE.md] [SECONDS [FOLDER]] -- how fast a station goes
through.

Writes SECONDS (4) of one coarse channel of 256 dual-polarisation antennas below
FOLDER (the temporary one; 1.07 GB a second, removed afterwards): 16 tiles in two
parts each, a stretch of one tile lost.  Correlates them with config/ready/station.ini
as one command, as it stands and into fine channels, three times each, and
prints the best beside the duration of the recording and this machine's own
ceiling.  Of the first, visibilities and weights of all baselines and dumps are
compared with plain sums.  `make station` runs it; with PAGE=... it writes a page.

Shows: as python/test_station.py
"""
import argparse
import glob
import json
import os
import resource
import subprocess
import tempfile
import time
from fractions import Fraction

import numpy as np

import aavs_files
import program

TILES, ANTENNAS = 16, 16
BLOCK = 32768                       # samples of a tile: 2 MiB, a chunk
DUMP = 262_144                      # of config/ready/station.ini
LOST_TILE = 6
REPEATS = 3
N_INPUTS = 2 * TILES * ANTENNAS
PAIRS = N_INPUTS * (N_INPUTS + 1) // 2
ABOUT = """# A station of 256 antennas

`make station PAGE=...` writes this page: 256 dual-polarisation antennas, one coarse
channel of 925.926 kHz, 16 tiles in two parts each, a stretch of one tile lost, files in
the page cache, through `config/ready/station.ini` in one command. Best of three runs.

"""
RUNS = (
    ("as recorded", ()),
    ("27 fine channels", ("channelizer.method=pfb", "channelizer.channels=32",
                          "channelizer.keep_fraction=27/32")),
)


def append(part, rows, start):
    """A block of a tile, already as it is stored."""
    first = int(part.attributes["n_blocks"]) * BLOCK
    for dataset in (part.data, part.stamps):
        dataset.resize(first + BLOCK, axis=0)
    part.data[first:] = rows
    part.stamps[first:, 0] = aavs_files.block_stamps(start, BLOCK)
    part.attributes["n_blocks"] += 1
    part.attributes["ts_end"] = part.stamps[-1, 0]


def write(folder, n_blocks):
    """The files.  Each tile repeats a block of its own; returns those blocks,
    complex [input][time], and which blocks are there, [tile][block]."""
    generator = np.random.default_rng(12)
    start = Fraction(1_581_897_600)
    held = np.ones((TILES, n_blocks), bool)
    held[LOST_TILE, n_blocks // 3] = False
    samples = np.empty((N_INPUTS, BLOCK), complex)
    for tile in range(TILES):
        rows = np.empty((BLOCK, 2 * ANTENNAS), aavs_files.COMPLEX_8T)
        for name in ("real", "imag"):
            rows[name] = generator.integers(-60, 61, rows.shape)
        inputs = slice(2 * ANTENNAS * tile, 2 * ANTENNAS * (tile + 1))
        samples[inputs] = (rows["real"] + 1j * rows["imag"]).T
        half = n_blocks // 2
        for number, blocks in enumerate((range(half), range(half, n_blocks))):
            path = f"channel_cont_{tile}_20200217_00000_{number}.hdf5"
            part = aavs_files.Part(
                os.path.join(folder, path), tile=tile, n_antennas=ANTENNAS,
                block=BLOCK, channel_id=204, first_start=start)
            with part.file:
                for block in blocks:
                    if held[tile, block]:
                        append(part, rows,
                               start + block * BLOCK / aavs_files.RATE)
    return samples, held


def check(path, samples, held):
    """Visibilities and weights of every dump against sums over blocks: whole
    numbers below 2^53 all along."""
    got = program.read(path)
    samples = samples.reshape(TILES * ANTENNAS, 2, BLOCK)
    rows = np.triu_indices(TILES * ANTENNAS)
    # slot 0 is Y; products XX, YY, XY, YX
    totals = [(samples[:, p].conj() @ samples[:, q].T)[rows]
              for p, q in ((1, 1), (0, 0), (1, 0), (0, 1))]
    per_dump = DUMP // BLOCK
    for dump, values in enumerate(got.visibilities):
        here = held[:, dump * per_dump:(dump + 1) * per_dump].astype(float)
        blocks = np.repeat(np.repeat(here @ here.T, ANTENNAS, 0), ANTENNAS,
                           1)[rows]
        for k, total in enumerate(totals):
            mean = total * blocks / (blocks * BLOCK)
            np.testing.assert_array_equal(values[:, 0, k].real,
                                          mean.real.astype("f4"))
            np.testing.assert_array_equal(values[:, 0, k].imag,
                                          mean.imag.astype("f4"))
            np.testing.assert_array_equal(
                got.nsamples[dump, :, 0, k], (blocks / per_dump).astype("f4"))
    if len(got.visibilities) != held.shape[1] // per_dump:
        raise SystemExit("station: dumps are missing")
    return (f"visibilities and weights of {len(got.visibilities)} dumps, "
            f"{len(rows[0])} baselines: equal to plain sums")


def correlate(folder, output, sets):
    """The best of REPEATS runs: wall seconds, CPU seconds, summary."""
    best = None
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        done = program.run(
            "correlate", "config/ready/station.ini",
            *sorted(glob.glob(os.path.join(folder, "*.hdf5"))), "-o", output,
            "--force", *(word for text in sets for word in ("--set", text)),
            timeout=3600)
        wall = time.monotonic() - begin
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = (after.ru_utime + after.ru_stime
               - before.ru_utime - before.ru_stime)
        if best is None or wall < best[0]:
            best = wall, cpu, done.stdout
    return best


def bench():
    """Of this machine: the document of its ceilings."""
    return json.loads(subprocess.run(
        [program.FX8, "bench", "--section", "ceilings", "--json"],
        capture_output=True, text=True, check=True).stdout)


def measure(folder, seconds):
    """Write, correlate; yield the words to print."""
    per_dump = DUMP // BLOCK
    n_dumps = max(2, round(seconds * float(aavs_files.RATE) / DUMP))
    # a block more: a filter's last window reaches beyond its dump
    samples, held = write(folder, n_dumps * per_dump + 1)
    duration = n_dumps * DUMP / float(aavs_files.RATE)
    document = bench()
    here = document["machine"]
    # the fastest multiply-and-add, complex products a second of one core
    rate, name = max((record["value"], record["case"])
                     for record in document["records"]
                     if record["unit"] == "CMAC/s")
    cores = here["n_cpus"]
    yield (f"{document['date_utc'][:10]} {here['cpu']}, {cores} cores, load "
           f"{here['load']:.1f}")
    yield (f"{duration:.3f} s of {N_INPUTS} inputs, "
          f"{sum(map(os.path.getsize, glob.glob(folder + '/*.hdf5'))) / 1e9:.2f}"
          f" GB in {2 * TILES} files, in memory")
    yield (f"ceiling {rate / 1e9:.1f} G complex products/s of a core ({name}); "
          f"real time needs {PAIRS * float(aavs_files.RATE) / 1e9:.1f}")
    for words, sets in RUNS:
        output = os.path.join(folder, "station.uvh5")
        wall, cpu, text = correlate(folder, output, sets)
        kept = 27 / 32 if sets else 1
        products = PAIRS * float(aavs_files.RATE) * duration * kept
        yield (f"\n{words}: {wall:.2f} s, {duration / wall:.2f} x real time, "
              f"{cpu:.2f} s of CPU time; {products / wall / 1e9:.1f} G complex "
              f"products/s ({8e-12 * products / wall:.2f} TOPS), "
              f"{products / wall / rate / cores:.3f} of the ceiling of "
              f"{cores} cores")
        yield "\n".join("    " + line for line in text.splitlines()
                        if ".hdf5" not in line and folder not in line)
        if not sets:
            yield check(output, samples, held)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--page")
    parser.add_argument("seconds", nargs="?", type=float, default=4.0)
    parser.add_argument("folder", nargs="?", default=tempfile.gettempdir())
    given = parser.parse_args()
    text = ""
    with tempfile.TemporaryDirectory(prefix="fx8-station-",
                                     dir=given.folder) as folder:
        for words in measure(folder, given.seconds):
            print(words, flush=True)
            text += words + "\n"
    if given.page:
        with open(given.page, "w", encoding="utf-8") as file:
            file.write(f"{ABOUT}```\n{text}```\n")


if __name__ == "__main__":
    main()
