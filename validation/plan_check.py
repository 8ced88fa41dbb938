#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""plan_check.py [--cpu] [--node NODE.json] [--page PAGE.md] -- what
`fx8 plan` says beside the runs that it speaks of.

Correlates recordings of 16 to 512 inputs in INT8 and FP32, on one core and on two,
with and without compression: two rounds, in each of which this machine is
measured too (`fx8 bench --section node --json`), since other guests of a host make
it faster and slower by the minute. Before each run memory is touched and freed:
what nobody used a moment ago comes from the host, which takes longer. The best of
each run counts, and of the node what was measured when its own runs were fastest.
No shape is one that the node was measured at.
Fails where a time is more than 10 % off. Nothing else may run meanwhile: it
refuses to begin at a load of 1.5 or more.

--cpu: one core, and CPU times in place of wall-clock times, of the bench too (its
clock is replaced): on one core they are the same when nothing else runs, and
nearly so when something does. --node: figures of a node that were measured before.
`make plan-check` runs it, with PAGE=... into a page.

Shows: as scenario/plan_runs.py
"""
import argparse
import copy
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import program

# inputs, channels, samples over all inputs, spectra per dump
SHAPES = ((16, 512, 2**29, 16384), (64, 1024, 2**29, 2048),
          (256, 128, 2**28, 2048), (512, 64, 2**27, 1024))
LIMIT = 0.10
MOST_LOAD = 1.5
ROUNDS = 2
NODE_ROUNDS = 4
# By which the fastest of some cases is found: a whole run, or what is measured.
RATES = "whole", "rate", "first touch", "one thread"
LEAST_RUNS, MOST_RUNS, ENOUGH_S = 3, 5, 3.0     # in a round
TOUCHED_BYTES = 2**31       # twice what the largest run uses
RATE_HZ = 1_000_000
CLOCK = os.path.join(program.BUILD, "cpu_clock.so")
ABOUT = """# What fx8 plan says, and how long it takes

`make plan-check PAGE=...` writes this page: jobs from recordings in the page cache, one
process each, beside what `fx8 plan` says from `fx8 bench --section node --json` of the
same machine{measured}; the best of {rounds} rounds, in which each job runs {least} to {most}
times, and the node's runs {node} times.

"""


def run(words, cores=None, is_cpu=False):
    """Standard output, and seconds: of CPU time, or wall-clock."""
    prefix = ["taskset", "-c", ",".join(
        map(str, sorted(os.sched_getaffinity(0))[:cores]))] if cores else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run([*prefix, program.FX8, *words], capture_output=True,
                          text=True)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout, wall if not is_cpu else (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure_node(is_cpu):
    words = ["bench", "--section", "node", "--rounds", str(NODE_ROUNDS),
             "--json", "--quiet"]
    environment = dict(os.environ)
    if is_cpu:
        words += ["--threads", "1"]
        environment["LD_PRELOAD"] = CLOCK
    return json.loads(subprocess.run(
        [program.FX8, *words], stdout=subprocess.PIPE, check=True,
        env=environment).stdout)


def record(path, n_inputs, n_samples):
    """Noise, the same for all inputs but for where it begins."""
    generator = np.random.default_rng(n_inputs)
    noise = generator.integers(-60, 61, (2**22, 2), np.int8)
    noise = noise.view(program.COMPLEX_INT8).reshape(-1)
    program.write(path, program.Scene(np.zeros((n_inputs // 2, 2, 1))))
    with h5py.File(path, "r+") as file:
        labels = [dim.label for dim in file["voltages"].dims]
        del file["voltages"]
        data = file.create_dataset(
            "voltages", (n_inputs // 2, 2, n_samples // n_inputs),
            program.COMPLEX_INT8)
        for dim, label in zip(data.dims, labels):
            dim.label = label
        for k in range(n_inputs):
            data[k // 2, k % 2] = np.resize(
                noise[int(generator.integers(2**20)):],
                n_samples // n_inputs)


def best_of(documents):
    """The last document, each case on so many threads as measured when it was
    fastest: figures that belong together stay together."""
    node = copy.deepcopy(documents[-1])
    best = {}
    for document in documents:
        found = {}
        for record in document["records"]:
            key = record["case"], record["threads"]
            found.setdefault(key, []).append(record)
        for key, records in found.items():
            # cases of a card have no rate; no job of this script uses one
            rate = max((record["value"] for record in records
                        if record["quantity"] in RATES), default=0)
            best[key] = max(best.get(key, (-1, [])), (rate, records),
                            key=lambda pair: pair[0])
    node["records"] = [record for _, records in best.values()
                       for record in records]
    return node


def jobs_of(recordings, config, core_counts):
    """What to run: the words of a line, of the command, and cores."""
    for (n_inputs, channels, _, spectra), path in zip(SHAPES, recordings):
        for precision in ("int8", "fp32"):
            for compression in ("none", "gzip"):
                words = [config, path]
                for key, value in (
                        ("channelizer.channels", channels),
                        ("correlator.precision", precision),
                        ("correlator.integration_time_s",
                         spectra * channels / RATE_HZ),
                        ("output.compression", compression)):
                    words += ["--set", f"{key}={value}"]
                for cores in core_counts:
                    yield (f"{n_inputs:4} x {channels:<5} {precision:<5} "
                           f"{compression:<5} {cores:5}", words, cores)


def check(options, folder):
    """Yields (words, said, took) of every job."""
    config = os.path.join(folder, "config.ini")
    with open(config, "w", encoding="utf-8") as file:
        file.write("[correlator]\nbackend = cpu\nintegration_time_s = 1\n"
                   "[channelizer]\nchannels = 1\n")
    recordings = [os.path.join(folder, f"{n}.h5") for n, *_ in SHAPES]
    for (n_inputs, _, n_samples, _), path in zip(SHAPES, recordings):
        record(path, n_inputs, n_samples)
    jobs = list(jobs_of(recordings, config, (1,) if options.cpu else (1, 2)))
    output = os.path.join(folder, "out.uvh5")
    took, documents = {}, []
    for _ in range(ROUNDS):
        if not options.node:
            documents.append(measure_node(options.cpu))
        for name, words, cores in jobs:
            seconds = [took.get(name, math.inf)]
            while (len(seconds) <= LEAST_RUNS or len(seconds) <= MOST_RUNS
                   and sum(seconds[1:]) < ENOUGH_S):
                np.ones(TOUCHED_BYTES, np.int8)
                seconds.append(run(["correlate", *words, "-o", output,
                                    "--quiet"], cores, options.cpu)[1])
                # a run that replaced it would free its memory, a tenth of a
                # second for half a gigabyte
                os.remove(output)
            took[name] = min(seconds)
    node = options.node or os.path.join(folder, "node.json")
    if documents:
        with open(node, "w", encoding="utf-8") as file:
            json.dump(best_of(documents), file, indent=1)
    for name, words, cores in jobs:
        plan, _ = run(["plan", *words, "--machine", node, "--cores", str(cores),
                       "--nodes", "1", "--json"])
        yield name, json.loads(plan)["nodes"][0], took[name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true")
    for name in ("--node", "--page"):
        parser.add_argument(name)
    options = parser.parse_args()
    if options.node and not os.path.exists(options.node):
        sys.exit(f"plan_check: {options.node}: expected figures of a node")
    if not options.cpu and os.getloadavg()[0] >= MOST_LOAD:
        sys.exit(f"plan_check: load {os.getloadavg()[0]:.2f}: expected below "
                 f"{MOST_LOAD}: nothing measured")
    lines = [f"{'job':<23} cores {'said s':>8} {'took s':>8} {'ratio':>6}  "
             "bound by"]
    print(lines[0], flush=True)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for words, said, took in check(options, folder):
            ratios.append(said["seconds"] / took)
            lines.append(f"{words} {said['seconds']:8.3f} {took:8.3f} "
                         f"{ratios[-1]:6.3f}  {said['bound']}")
            print(lines[-1], flush=True)
    far = sum(abs(ratio - 1) > LIMIT for ratio in ratios)
    lines.append(f"{len(ratios)} jobs, {far} more than {100 * LIMIT:.0f} % off"
                 f" ({min(ratios):.3f} to {max(ratios):.3f})")
    print(lines[-1])
    if options.page:
        cpu = subprocess.run(["lscpu"], capture_output=True, text=True,
                             check=True).stdout
        model = [line for line in cpu.splitlines() if "Model name" in line]
        with open(options.page, "w", encoding="utf-8") as file:
            measured = (" before" if options.node else
                        ", by turns with the jobs")
            file.write(ABOUT.format(rounds=ROUNDS, least=LEAST_RUNS,
                                    most=MOST_RUNS, node=NODE_ROUNDS,
                                    measured=measured) + "```\n"
                       + time.strftime("%Y-%m-%d ")
                       + model[0].split(":")[1].strip()
                       + f", load {os.getloadavg()[1]:.2f}"
                       + (", CPU time" if options.cpu else "") + "\n"
                       + "\n".join(lines) + "\n```\n")
    sys.exit(far > 0)


if __name__ == "__main__":
    main()
