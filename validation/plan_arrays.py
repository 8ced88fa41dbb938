#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""plan_arrays.py NODE.json [PAGE.md] -- four large arrays as `fx8 plan` sees them,
beside the arithmetic on paper.

NODE.json: what `fx8 bench --section node --json` prints, or plan_check.py --node
keeps. Each array is planned as it
would be run: an array job of one coarse channel each, whose results `fx8 join` puts
together, so its nodes are those of a channel times the channels. `make plan-arrays`
runs it. Fails where plan and paper differ by more than 1 %, but for times: these are
what the model is for.
"""
import json
import os
import subprocess
import sys
import tempfile
import textwrap

SECONDS = 600
TOLERANCE = 0.01        # a few spectra or samples at the ends
WIDTH = 100
ABOUT = f"""# Four large arrays, planned

`make plan-arrays NODE=... PAGE=...` writes this page from the figures of one node: {{cpu}},
{{cores}}, measured {{date}} by {{clock}}, load {{load:.1f}} before. Every array is an array job, one coarse channel of {SECONDS} s for
each task. On paper: recorded B/s = inputs x rate x 2 (8 + 8 bits); CMAC/s = N (N + 1) / 2 x rate x
kept / channels; result = dumps x baselines x (channels x 4 x 13 + 96) bytes; storage = recording and
result in {SECONDS} s; nodes, at least = CMAC/s over those of the node's correlator alone. Each task has
the network and the storage assumed at the end to itself: the last column says what all of them need
together. The source of each fact follows the name of the array; "chosen" marks what we chose. No array
records like this: CHIME has 4 + 4 bits, DSA-2000 keeps no visibilities.
"""
# name, source, inputs, sample rate of a coarse channel, coarse channels, method,
# fine channels, kept, seconds of a dump
ARRAYS = (
    ("SKA-Low station, 300 MHz",
     "256 dual-polarisation antennas; coarse channels of 781.25 kHz, oversampled "
     "32/27 (ska-low-mccs-daq); dumps of 849 ms (ska-low-cbf-fw-corr); 27 fine "
     "channels chosen", 512, "25000000/27", 384, "pfb", 32, "27/32", 0.849),
    ("EDA2, one coarse channel",
     "256 dual-polarisation antennas (aavs-calibration), as config/ready/station.ini "
     "correlates them", 512, "25000000/27", 1, "none", 1, "1", 0.28311552),
    ("CHIME",
     "2,048 inputs, 1,024 channels over 400 MHz, 10 s (arXiv:2201.07869)",
     2048, "390625", 1024, "none", 1, "1", 10.0),
    ("DSA-2000",
     "2,000 dual-polarisation dishes, 0.7 to 2 GHz (arXiv:1907.07648); channels of 1 "
     "MHz and dumps of 10 s chosen", 4000, "1000000", 1300, "none", 1, "1", 10.0),
)


def number(text):
    over, _, under = text.partition("/")
    return float(over) / float(under or 1)


def plan(config, array, node, *options):
    _, _, inputs, rate, _, method, channels, kept, dump_s = array
    words = ["plan", config, "--inputs", str(inputs), "--machine", node, *options]
    for key, value in (("observation.sample_rate_hz", rate),
                       ("input.duration_s", SECONDS),
                       ("channelizer.method", method),
                       ("channelizer.channels", channels),
                       ("channelizer.keep_fraction", kept),
                       ("correlator.integration_time_s", dump_s)):
        words += ["--set", f"{key}={value}"]
    return subprocess.run([os.environ["FX8"], *words], capture_output=True,
                          text=True, check=True).stdout


def on_paper(array):
    _, _, inputs, rate, _, _, channels, kept, dump_s = array
    rate = number(rate)
    antennas = inputs // 2
    dumps = SECONDS / dump_s
    recorded = inputs * rate * 2 * 1e-9
    result = (round(dumps) * antennas * (antennas + 1) / 2
              * (channels * number(kept) * 4 * 13 + 96) * 1e-9)
    return {
        "recorded GB/s": recorded,
        "GCMAC/s": inputs * (inputs + 1) / 2 * rate * number(kept) * 1e-9,
        "result GB": result,
        "storage GB/s": recorded + result / SECONDS,
    }


def planned(document):
    stages = {stage["name"]: stage for stage in document["stages"]}
    recorded = stages["read"]["amount"] / SECONDS * 1e-9
    result = document["result_bytes"] * 1e-9
    return {
        "recorded GB/s": recorded,
        "GCMAC/s": stages["correlator"]["amount"] / SECONDS * 1e-9,
        "result GB": result,
        "storage GB/s": recorded + result / SECONDS,
    }, stages["correlator"]["amount"] / stages["correlator"]["seconds"]


def section(config, array, node):
    name, source, coarse = array[0], array[1], array[4]
    document = json.loads(plan(config, array, node, "--json"))
    got, rate = planned(document)
    want = on_paper(array)
    text = (f"\n## {name}\n\n{textwrap.fill(source + '.', WIDTH)}\n\n```\n{'':<22}"
            f"{'on paper':>12}{'fx8 plan':>12}{f'x {coarse}':>12}\n")
    for key, value in want.items():
        if abs(got[key] / value - 1) > TOLERANCE:
            sys.exit(f"plan_arrays: {name}: {key}: {got[key]}: expected {value}")
        text += f"{key:<22}{value:12.5g}{got[key]:12.5g}{got[key] * coarse:12.5g}\n"
    least = want["GCMAC/s"] * 1e9 / rate
    nodes = document["real_time_nodes"]
    text += f"{'nodes for real time':<22}{least:12.2f}"
    # more nodes than the largest of the table only send each other more
    text += (f"{nodes:12d}{nodes * coarse:12d}\n\n" if nodes > 0 else
             f"        none: {document['nodes'][-1]['bound']} bounds the time\n\n")
    page = plan(config, array, node)
    table, _, assumed = page[page.index("nodes      "):].partition("\nassumed")
    return text + table + "```\n", textwrap.dedent(f"       {assumed}")


def main(node, page=None):
    with open(node, encoding="utf-8") as file:
        about = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.ini")
        with open(config, "w", encoding="utf-8") as file:
            file.write("[correlator]\nbackend = cpu\n")
        about = ABOUT.format(
            cpu=about["machine"]["cpu"],
            cores="1 core" if about["threads"] == 1 else f"{about['threads']} cores",
            date=about["date_utc"], clock=about.get("clock", "wall clock"),
            load=about["machine"]["load"])
        heading, _, words = about.partition("\n\n")
        sections = [section(config, array, node) for array in ARRAYS]
    text = f"{heading}\n\n{textwrap.fill(words, WIDTH)}\n"
    text += "".join(part for part, _ in sections)
    [assumed] = {assumed for _, assumed in sections}
    text += f"\n## Assumed\n\n```\n{assumed}```\n"
    if page:
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
    print(page or text)


if __name__ == "__main__":
    main(*sys.argv[1:])
