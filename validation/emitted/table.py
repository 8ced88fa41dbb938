# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads the committed table of a compiler's output."""
import os
import re

FOLDER = "validation/results"
ROW = re.compile(r"\| `(\w+)` \|(.*)\|$")
CELL = re.compile(r"^\s*(\d+) / (\d+)\s*$")


def path_of(release):
    """The table of a release of nvcc."""
    return os.path.join(FOLDER, f"emitted-nvcc-{release}.md")


def read(release):
    """Maps kernel and architecture to the numbers of floating-point
    instructions and of registers; None without such a table."""
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
                found[row.group(1), architecture] = tuple(
                    map(int, cell.groups()))
    return found


def write(toolkit, date, kernels, registers):
    """Write the table: kernels, and registers of each, by architecture."""
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
        f"| kernel | {' | '.join(f'sm_{a}' for a in kernels)} |",
        f"|---|{'---|' * len(kernels)}",
    ]
    for name in sorted(set().union(*kernels.values())):
        cells = [f"{kernels[a][name].count()[0].total()} / {registers[a][name]}"
                 if name in kernels[a] else "-" for a in kernels]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    os.makedirs(FOLDER, exist_ok=True)
    with open(path_of(toolkit.release), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
