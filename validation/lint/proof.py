#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""proof.py [--write] -- the table of validation/README.md: what must hold,
which test shows it, how near is near enough, why, and which planted faults
show that the test can fail.

Made of proof.ini, of mutants/faults.ini and of what is on disk; --write puts
it into the page, otherwise one TAP case a rule.
"""
import ast
import configparser
import copy
import functools
import glob
import os
import re
import sys

ROWS = "validation/proof.ini"
FAULTS = "validation/mutants/faults.ini"
PAGE = "validation/README.md"
PROMISES = "README.md"
OTHER_PROMISES = ("data/README.md", "correlator/CONVENTIONS.md")
NOT_SHOWN = "not shown"
BEGIN = "<!-- made from proof.ini by make proof: begin -->\n"
END = "<!-- end -->\n"
TESTS = ("test_*.c", "cuda/test_*.cu", "python/test_*.py", "scenario/*.py",
         "emitted/test_*.py", "fuzz/check_*.py", "thread/*.py",
         "thread/*.sh", "lint/runner.py", "lint/proof.py")
HEAD = ("| what must hold | test | how near is near enough | why "
        "| planted faults |\n|---|---|---|---|---|\n")
NOT_SHOWN_HEAD = "| what no test shows | why |\n|---|---|\n"


def read_ini(path):
    parser = configparser.ConfigParser(
        interpolation=None, delimiters=("=",), comment_prefixes=("#",),
        strict=True)
    with open(path, encoding="utf-8") as file:
        parser.read_file(file)
    return [(name, parser[name]) for name in parser.sections()]


@functools.cache
def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@functools.cache
def classes_of(path):
    """Test case to class, of a test in Python."""
    return {case.name: group.name
            for group in ast.parse(read(path)).body
            if isinstance(group, ast.ClassDef)
            for case in group.body if isinstance(case, ast.FunctionDef)}


class Row:
    """A section of proof.ini."""

    def __init__(self, name, entry):
        self.chapter, _, self.name = name.partition(": ")
        self.shows, self.limit, self.why, self.unplanted = (
            " ".join(entry.get(key, "").split())
            for key in ("shows", "limit", "why", "unplanted"))
        self.promises = entry.get("promises", "").split("\n")
        self.promises = [text.strip() for text in self.promises if text.strip()]
        self.tests = {}     # file to the classes or cases it is about
        for line in entry.get("tests", "").split("\n"):
            words = line.split()
            if words:
                self.tests[words[0]] = words[1:]
        self.faults = []

    def closeness(self, fault):
        """How well a fault belongs here: 2 by its case, 1 by its test."""
        if fault.test not in self.tests:
            return 0
        wanted = self.tests[fault.test]
        if fault.case in wanted or fault.group in wanted:
            return 2
        return 0 if wanted else 1

    def line(self):
        tests = ", ".join(
            f"`{test}`" + (" " + ", ".join(wanted) if wanted else "")
            for test, wanted in self.tests.items())
        if self.chapter == NOT_SHOWN:
            return f"| **{self.name}**: {self.shows} | {self.why} |\n"
        cells = (f"**{self.name}**: {self.shows}", tests, self.limit, self.why,
                 "; ".join(fault.name for fault in self.faults)
                 or f"none: {self.unplanted}")
        return "| " + " | ".join(
            cell.replace("|", "\\|") for cell in cells) + " |\n"


class Fault:
    """A section of faults.ini."""

    def __init__(self, name, entry):
        self.name = name
        self.source, self.old = entry["file"], entry["old"]
        self.test, self.case = entry["test"], entry["case"]
        if not self.test.endswith(".py"):
            self.test = (f"cuda/{self.test}.cu" if "cuda_" in self.test
                         else f"{self.test}.c")
        path = os.path.join("validation", self.test)
        self.exists = os.path.exists(path)
        self.text = read(path) if self.exists else ""
        self.group = (classes_of(path).get(self.case)
                      if self.exists and path.endswith(".py") else None)


def gather():
    """Rows, with their faults, and all faults."""
    rows = [Row(name, entry) for name, entry in read_ini(ROWS)]
    faults = [Fault(name, entry) for name, entry in read_ini(FAULTS)]
    for fault in faults:
        best = max(row.closeness(fault) for row in rows)
        for row in rows:
            if best and row.closeness(fault) == best:
                row.faults.append(fault)
    return rows, faults


def table(rows):
    """The generated part of the page."""
    text = ""
    for chapter in dict.fromkeys(row.chapter for row in rows):
        head = NOT_SHOWN_HEAD if chapter == NOT_SHOWN else HEAD
        text += f"\n### {chapter.capitalize()}\n\n{head}"
        text += "".join(row.line() for row in rows if row.chapter == chapter)
    return text + "\n"


def split_page():
    before, begin, rest = read(PAGE).partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE}: the lines around the table are not there")
    return before + begin, end + after


def check_tests(rows, _):
    """every test has a row of proof.ini, and only tests there are"""
    named = {test for row in rows for test in row.tests}
    there = {os.path.relpath(path, "validation") for pattern in TESTS
             for path in glob.glob(f"validation/{pattern}")
             if os.path.isfile(path)}
    for test in sorted(there - named):
        yield f"{test}: no row of {ROWS} has it"
    for test in sorted(named):
        if not os.path.exists(os.path.join("validation", test)):
            yield f"{ROWS}: {test}: there is no such test"


def check_rows(rows, _):
    """every row says what must hold, where, and how near is near enough"""
    for row in rows:
        where = f"{ROWS}: {row.chapter}: {row.name}"
        needed = ("name", "shows", "tests", "limit")
        if row.chapter == NOT_SHOWN:
            needed = ("name", "shows", "why")
        elif re.search(r"[0-9]", re.sub("`[^`]*`|exit [0-9]( or 2)?", "",
                                        row.limit)):
            needed += ("why",)      # a number needs a reason
        for key in needed:
            if not getattr(row, key):
                yield f"{where}: no {key}"
        if row.chapter != NOT_SHOWN and bool(row.faults) == bool(row.unplanted):
            yield (f"{where}: expected a planted fault (mutants/faults.ini), "
                   "or else the key unplanted: why there is none")
        for test, wanted in row.tests.items():
            path = os.path.join("validation", test)
            for word in wanted if os.path.exists(path) else ():
                if not re.search(rf"\b{word}\b", read(path)):
                    yield f"{ROWS}: {row.name}: {test} has no {word}"


def promised():
    """What README.md may promise: its paragraphs, items and rows of tables,
    each in one line, code left out."""
    found, part = [], []
    for line in read(PROMISES).splitlines() + [""]:
        is_new = line.startswith(("- ", "| ", "|-", "#", "    ")) or not line
        if is_new and part:
            found.append(" ".join(" ".join(part).split()))
            part = []
        if line.startswith("|-"):
            found.pop()     # the head of a table
        elif line and not line.startswith(("#", "    ")):
            part.append(line)
    return found


def check_promises(rows, _):
    """every promise of README.md has a row, and rows quote what is there"""
    quoted = [(row.name, text) for row in rows for text in row.promises]
    parts = promised()
    pages = {page: read(page) for page in OTHER_PROMISES}
    headed = {f"{page}: {title}" for page, text in pages.items()
              for title in re.findall(r"^## (.*)$", text, re.MULTILINE)}
    for name, text in quoted:
        if text.startswith(OTHER_PROMISES) and text not in headed:
            yield f"{ROWS}: {name}: there is no chapter {text}"
        elif not text.startswith(OTHER_PROMISES) and not any(
                text in part for part in parts):
            yield f"{ROWS}: {name}: {PROMISES} has no \"{text}\""
    for part in parts:
        if not any(text in part for _, text in quoted):
            yield f"{PROMISES}: no row of {ROWS} has \"{part[:60]}...\""
    for title in sorted(headed - {text for _, text in quoted}):
        yield f"{title}: no row of {ROWS} has it"


def check_faults(rows, faults):
    """every planted fault fits its source, and a case that there is"""
    planted = {fault for row in rows for fault in row.faults}
    for fault in faults:
        where = f"{FAULTS}: {fault.name}"
        if not fault.exists:
            yield f"{where}: there is no {fault.test}"
            continue
        if fault not in planted:
            yield f"{where}: no row of {ROWS} has {fault.test}: {fault.case}"
        # what is made of a table while a test runs, mutants/run.py tells
        if "setattr(" not in fault.text and fault.case not in fault.text:
            yield f"{where}: {fault.test} has no {fault.case}"
        count = read(fault.source).count(fault.old) if os.path.exists(
            fault.source) else 0
        if count != 1:
            yield f"{where}: \"{fault.old}\" {count} times in {fault.source}"


def check_page(rows, _):
    """the table of validation/README.md is current (else: make proof)"""
    before, after = split_page()
    if read(PAGE) != before + table(rows) + after:
        yield f"{PAGE}: not what make proof writes"


RULES = (check_tests, check_rows, check_promises, check_faults, check_page)


def check_rules(rows, faults):
    """each of these rules fails where it should"""
    def spoil(**changes):
        copies = copy.deepcopy(rows)
        for name, value in changes.items():
            setattr(copies[0], name, value)
        return copies

    lost = copy.deepcopy(faults)
    lost[0].old = "this stands nowhere"
    no_row = copy.deepcopy(rows)
    no_row[0].tests = {}
    for rule, spoilt in (
            (check_tests, (no_row, faults)),
            (check_tests, (spoil(tests={"test_none.c": []}), faults)),
            (check_rows, (spoil(limit=""), faults)),
            (check_rows, (spoil(limit="10 sigma", why=""), faults)),
            (check_rows, (spoil(faults=[]), faults)),
            (check_rows, (spoil(tests={"test_fft.c": ["no_case"]}), faults)),
            (check_promises, (spoil(promises=[]), faults)),
            (check_promises, (spoil(promises=["nobody said so"]), faults)),
            (check_faults, (rows, lost)), (check_faults, ([], faults)),
            (check_page, (spoil(shows="something else"), faults))):
        if list(rule(*spoilt)) == list(rule(rows, faults)):
            yield f"{rule.__name__} does not see what was spoilt"


def main(arguments):
    rows, faults = gather()
    if arguments == ["--write"]:
        before, after = split_page()
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + table(rows) + after)
        return 0
    print(f"1..{len(RULES) + 1}")
    failed = 0
    for number, rule in enumerate((*RULES, check_rules), 1):
        found = list(rule(rows, faults))
        failed += bool(found)
        print(f"{'not ' if found else ''}ok {number} - {rule.__doc__}")
        for text in found:
            print(f"# {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
