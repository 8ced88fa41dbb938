#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers.py PROGRAM FX8 LSL_PYTHON [PAGE.md] -- fx8 against what else a user could
take: FFTW and oneDNN put together (PROGRAM, made of peers.cc), and the engines of
LSL where LSL_PYTHON exists.

Prints a table, or writes it as PAGE.md, with the figures as JSON below it.
`make bench-peers` calls it; nothing else should run meanwhile.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

SHAPES = ((16, 1024), (64, 512), (256, 64), (512, 32))
ROUNDS = 7
LSL_SAMPLES, LSL_ROUNDS = 1 << 25, 3    # of each input: 1 GiB

ABOUT = """# fx8 and its peers

`make bench-peers PAGE=...` writes this page. Million complex samples per second over all inputs,
8 taps, INT8; medians of rounds by turns, the ratio also in its worst round.

Peer: the same filter, FFTW, the same quantiser, oneDNN's product of 8-bit matrices; how both are
called is chosen by timing. Square: with one product for a channel, as oneDNN offers it; else also
in row blocks that leave out most of the lower triangle. One thread, samples in memory to sums; of
libfx8, to a finished dump.

LSL: its engines alone, filter bank of 4 taps and correlator, samples in memory, all CPUs; of fx8,
the whole command from a recording to UVH5, with 4 taps, the same work, and with 8.
"""


def run(*command, **options):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def machine():
    """In words, its load included."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        info = dict(re.findall(r"^([^\t:]+)\t*: (.*)$", file.read(), re.M))
    return (f"{info.get('model name', 'unknown CPU')}, family "
            f"{info.get('cpu family', '?')} model {info.get('model', '?')}, "
            f"{len(os.sched_getaffinity(0))} CPUs, load before "
            f"{os.getloadavg()[0]:.2f}")


def measure(program, fx8, lsl_python):
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    document = {
        "date_utc": datetime.datetime.now(datetime.timezone.utc).isoformat(
            timespec="seconds"),
        "machine": machine(), "fx8_version": run(fx8, "--version").split()[1],
        "peer": [json.loads(run(program, *map(str, (*shape, ROUNDS)),
                                env=one_thread)) for shape in SHAPES],
        "lsl": None}
    if not os.path.exists(lsl_python):
        print(f"bench-peers: LSL is left out: no {lsl_python}; "
              "LSL_PYTHON=... names another", file=sys.stderr)
        return document
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(os.path.dirname(__file__), "lsl_peer.py")
        document["lsl"] = json.loads(run(
            lsl_python, script, fx8, folder, str(LSL_SAMPLES),
            str(LSL_ROUNDS)))
    return document


def table(document):
    rows = [f"{'inputs x channels':<18} {'fx8':>8} {'peer':>8} {'ratio':>6} "
            f"{'lowest':>6} {'square':>8} {'ratio':>6} {'lowest':>6}  "
            f"{'bank':>6} {'corr.':>6}  ways of FFTW; oneDNN"]
    for r in document["peer"]:
        rows.append(
            f"{r['inputs']:>4} x {r['channels']:<11} {r['fx8'] * 1e-6:8.1f} "
            f"{r['peer'] * 1e-6:8.1f} {r['ratio']:6.2f} {r['lowest']:6.2f} "
            f"{r['peer_square'] * 1e-6:8.1f} {r['ratio_square']:6.2f} "
            f"{r['lowest_square']:6.2f}  {r['peer_filter_bank'] * 1e-6:6.0f} "
            f"{r['peer_correlator'] * 1e-6:6.0f}  {r['fftw_way']}; "
            f"{r['onednn_way']}")
    r = document["lsl"]
    if r is not None:
        rows += ["", f"{'inputs x channels':<18} {'fx8':>8} {'LSL':>8} "
                 f"{'ratio':>6} {'lowest':>6}"]
        for taps, ratio in ((4, "ratio"), (8, "ratio_8_taps")):
            lowest = f"{r['lowest']:6.2f}" if taps == 4 else ""
            shape = f"{r['inputs']} x {r['channels']}, {taps} taps"
            rows.append(f"{shape:<18} {r[f'fx8_{taps}_taps'] * 1e-6:8.1f} "
                        f"{r['lsl_4_taps'] * 1e-6:8.1f} {r[ratio]:6.2f} "
                        f"{lowest}".rstrip())
    return "\n".join(rows)


def versions(document):
    first = document["peer"][0]
    known = [f"fx8 {document['fx8_version']} ({first['kernel']})",
             first["fftw"], f"oneDNN {first['onednn']}"]
    if document["lsl"] is not None:
        known.append(f"LSL {document['lsl']['lsl']}")
    return ", ".join(known)


def main(program, fx8, lsl_python, page=""):
    document = measure(program, fx8, lsl_python)
    heading = (f"{document['date_utc']}: {document['machine']}.\n"
               f"{versions(document)}.")
    if not page:
        print(f"{heading}\n\n{table(document)}")
        return
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{ABOUT}\n{heading}\n\n```\n{table(document)}\n```\n\n"
                   f"```json\n{json.dumps(document, indent=1)}\n```\n")
    print(page)


if __name__ == "__main__":
    main(*sys.argv[1:])
