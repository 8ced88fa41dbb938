#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench_page.py PAGE.md [FILE.json] -- what `fx8 bench` measures on this
machine, as a page; and README.md's table of speed, if it is taken from that
page.

Measures for some minutes with the program $FX8, or takes the JSON document of a
run before; nothing else should run meanwhile.  `make bench-page` calls it.
"""
import json
import os
import re
import subprocess
import sys

README = "README.md"

ABOUT = """Speed on a CPU

`make bench-page` writes this page from the figures of `fx8 bench --json` and of its
sections shapes and growth. A figure is the median of its rounds, `share` its part of
the ceiling that the same rounds found, `lowest` that of the worst round; `fx8 bench
--help` says what every section and ruler is.
"""

# The columns that README.md's table is made of.
HEAD = """inputs x channels  align   channelise  correlate   ceiling  share   whole     of stage
                  Msamples/s Msamples/s   GCMAC/s   GCMAC/s          Msamples/s   limit
"""


def measure():
    """One document of all sections, those too that run only when chosen."""
    documents = [
        json.loads(subprocess.run(
            [os.environ["FX8"], "bench", "--json", *words], text=True,
            stdout=subprocess.PIPE, check=True).stdout)
        for words in ((), ("--section", "shapes"), ("--section", "growth"))]
    for key in ("records", "remarks"):
        documents[0][key] = [item for document in documents
                             for item in document[key]]
    return documents[0]


def arrays(document):
    """{(inputs x channels, precision): {quantity: record}}, in order."""
    found = {}
    for record in document["records"]:
        if record["section"] == "arrays":
            shape, precision = record["case"].rsplit(" ", 1)
            found.setdefault((shape, precision), {})[
                record["quantity"]] = record
    # of arrays of real samples only tracking is measured
    return {key: figures for key, figures in found.items()
            if "whole" in figures}


def summary_row(shape, precision, figures):
    inputs, channels = shape.split(" x ")
    correlate, whole = figures["correlate"], figures["whole"]
    return (f"{inputs:>4} x {channels:<5} {precision:<5}"
            f"{figures['align']['value'] * 1e-6:10.0f}"
            f"{figures['channelize']['value'] * 1e-6:11.0f}"
            f"{correlate['value'] * 1e-9:11.1f}"
            f"{correlate['ceiling'] * 1e-9:10.1f}{correlate['share']:8.3f}"
            f"{whole['value'] * 1e-6:11.0f}{whole['share']:9.3f}\n")


def detail_row(record):
    prefix, size = next(
        ((letter, size) for letter, size in (("G", 1e9), ("M", 1e6),
                                             ("k", 1e3), ("", 1))
         if record["value"] >= size), ("", 1))
    row = (f"{record['case']:<35} {record['variant'] or '':<9} "
           f"{record['quantity']:<16} {record['threads']:>2} "
           f"{record['value'] / size:9.4g} {prefix}{record['unit']:<10}")
    if record["ruler"]:
        row += (f" {record['share']:6.3f} {record['lowest_share']:6.3f} "
                f"{record['ceiling'] / size:9.4g}  {record['ruler']}")
    return row.rstrip() + "\n"


def page_of(document):
    machine = document["machine"]
    known = [machine["cpu"], f"{machine['n_cpus']} CPUs", machine["compiler"],
             machine["c_library"], f"governor {machine['governor'] or 'unknown'}",
             f"load before {machine['load']:.2f}"]
    text = (f"# {ABOUT}\n{document['date_utc']}, fx8 {document['fx8_version']}: "
            f"{', '.join(filter(None, known))}; `{document['command']}`.\n")
    text += "\n```\n" + HEAD + "".join(
        summary_row(*key, figures)
        for key, figures in arrays(document).items()) + "```\n"
    sections = dict.fromkeys(r["section"] for r in document["records"])
    for section in sections:
        text += (f"\n## {section}\n\n```\n{'case':<35} {'variant':<9} "
                 f"{'quantity':<15} thr {'value':>9} {'':<11} {'share':>6} "
                 f"{'lowest':>6} {'of':>9}  ruler\n")
        text += "".join(detail_row(r) for r in document["records"]
                        if r["section"] == section)
        text += "".join(f"{r['case']:<35} {r['text']}\n"
                        for r in document["remarks"]
                        if r["section"] == section) + "```\n"
    return text


def readme_row(shape, *precisions):
    """A row of README.md's table: of INT8, FP32 in every column."""
    columns = zip(*(
        (f"{figures['channelize']['value'] * 1e-6:.0f}",
         f"{figures['correlate']['value'] * 1e-9:.1f}",
         f"{100 * figures['correlate']['share']:.0f} %",
         f"{figures['whole']['value'] * 1e-6:.0f}") for figures in precisions))
    return f"| {shape} | {' | '.join(map(', '.join, columns))} |"


def readme_with(document):
    """README.md with the figures of a run in its table."""
    with open(README, encoding="utf-8") as file:
        readme = file.read()
    found = arrays(document)
    for shape in dict.fromkeys(shape for shape, _ in found):
        row = readme_row(shape, found[shape, "int8"], found[shape, "fp32"])
        readme, n = re.subn(rf"^\| {shape} \|.*\|$", row, readme, flags=re.M)
        if n != 1:
            sys.exit(f"{README}: {shape}: expected one row of the table of "
                     f"speed, not {n}")
    return readme


def is_of_readme(page):
    with open(README, encoding="utf-8") as file:
        return f"the whole run is in {page}" in " ".join(file.read().split())


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(path)


def main(page, source=None):
    if source is None:
        document = measure()
    else:
        with open(source, encoding="utf-8") as file:
            document = json.load(file)
    write(page, page_of(document))
    if is_of_readme(page):
        write(README, readme_with(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
