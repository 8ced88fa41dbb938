# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads the committed table of a compiler's output."""
import os
import re

FOLDER = "validation/results"
ROW = re.compile(r"\| `(\w+)` \|[^|]*\|(.*)\|$")
CELL = re.compile(r"^\s*(\d+) / (\d+)\s*$")


class Cell:
    """One function on one architecture."""

    def __init__(self, floating, registers):
        self.floating = floating
        self.registers = registers


def path_of(release):
    """The table of a release of nvcc."""
    return os.path.join(FOLDER, f"emitted-nvcc-{release}.md")


def read(release):
    """Maps kernel and architecture to Cell; None if there is no such table."""
    try:
        with open(path_of(release), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return None
    header = next(line for line in lines if line.startswith("| kernel"))
    architectures = [int(number) for number in re.findall(r"sm_(\d+)", header)]
    found = {}
    for line in lines:
        row = ROW.match(line)
        if not row:
            continue
        cells = [CELL.match(text) for text in row.group(2).split("|")]
        for architecture, cell in zip(architectures, cells, strict=False):
            if cell:
                found[row.group(1), architecture] = Cell(
                    *map(int, cell.groups()))
    return found


def _words(counter):
    return " ".join(f"{n} {name}" for name, n in sorted(counter.items())) or "-"


def write(toolkit, date, counts, registers, architectures):
    """Write the table.

    counts: kernel and architecture to calibration.Count
    registers: kernel and architecture to a number
    """
    kernels = sorted({kernel for kernel, _ in counts})
    heads = [f"sm_{a}" for a in architectures]
    lines = [
        f"# What nvcc {toolkit.release} emits",
        "",
        f"Written by `make emitted` on {date} with nvcc {toolkit.build}. Per "
        "kernel (probe.cu loads the arguments, calls one function, stores the "
        "result) and architecture: floating-point instructions and products "
        "of bytes (IDP; IMMA, IGMMA of tensor cores) / registers; sm_90a for "
        "a kernel of wgmma. "
        "A constant moved by HFMA2 is not counted; conversions, comparisons, "
        "selections, minima and the multi-function unit are; functions out "
        "of line (the slow paths of divisions) are not. Published for other "
        "sources and compilers: 8 for tanh by ex2 and rcp, 13 for the "
        "accurate one.",
        "",
        f"| kernel | unit | {' | '.join(heads)} |",
        f"|---|---|{'---|' * len(heads)}",
    ]
    for kernel in kernels:
        known = [a for a in architectures if (kernel, a) in counts]
        cells = [f"{counts[kernel, a].total} / {registers[kernel, a]}"
                 if a in known else "-" for a in architectures]
        units = _words(counts[kernel, known[0]].units)
        lines.append(f"| `{kernel}` | {units} | {' | '.join(cells)} |")
    lines += ["", f"The instructions on {heads[-2]}:", "",
              "| kernel | instructions |", "|---|---|"]
    for kernel in kernels:
        operations = counts[kernel, architectures[-2]].operations
        lines.append(f"| {kernel} | {_words(operations)} |")
    os.makedirs(FOLDER, exist_ok=True)
    with open(path_of(toolkit.release), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
