#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""proof.py [PAGE] -- collects the claims of the tests: the requirement, the test
that shows it, the tolerance and its reason, and the planted faults that show
that the test can fail.

The header comment of a test states its claims in paragraphs that begin with

    Shows (CHAPTER, NAME): the requirement
    Within: how near is near enough
    Because: why
    In: CASE or CLASS of this file..., other files of tests

or "Shows: as FILE" if another file's claim covers this one.  With PAGE the table
of all claims is written there, else one TAP case per rule.

Shows (proof, claims): every test says what it shows; every file and case that
    a claim names exists
Shows (proof, planted faults): every fault matches its source once and names a
    case that exists
"""
import configparser
import glob
import os
import re
import sys

FAULTS = "validation/mutants/faults.ini"
TESTS = ("test_*.c", "cuda/test_*.cu", "python/test_*.py", "scenario/*.py",
         "emitted/test_*.py", "fuzz/check_*.py", "thread/*.py",
         "thread/*.sh", "lint/*.py")
CHAPTERS = ("kernels", "correlation", "signals", "recordings", "results",
            "commands", "failures", "devices", "packaging", "proof")
LABEL = re.compile(r"(Shows|Within|Because|In)(?: \((\w+), ([^)]+)\))?: ")


class Claim:
    """A claim in the header comment of a test."""

    def __init__(self, file, chapter, name):
        self.file, self.chapter, self.name = file, chapter, name
        self.text = {}

    def get(self, label):
        return " ".join(self.text.get(label, "").split())

    def files(self):
        """This file, and the files named by In."""
        return [self.file] + [word for word in self.get("In").replace(
            ",", " ").split() if "." in word]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def header(file):
    """The lines of a test's header comment, without comment marks."""
    text = read(f"validation/{file}")
    if file.endswith(".py"):
        return text.split('"""')[1].splitlines()
    lines = []
    for line in text.splitlines()[1:]:
        mark = re.match(r"( ?/?\*+/?|#)( |$)", line)
        if not mark:
            break
        lines.append(line[mark.end():])
    return lines


def claims_of(file):
    """The claims of a file; one shared from another file is a string."""
    claims, label = [], None
    for line in header(file):
        found = LABEL.match(line)
        if found and found.group(1) == "Shows":
            if not found.group(2):
                claims.append(line.removeprefix("Shows: as ").strip())
                label = None
                continue
            claims.append(Claim(file, found.group(2), found.group(3)))
        if found and claims:
            label = found.group(1)
            line = line[found.end():]
        elif not line.startswith(" "):
            label = None
        if label and isinstance(claims[-1], Claim):
            claims[-1].text[label] = claims[-1].text.get(label, "") + f" {line}"
    return claims


def all_claims():
    """Maps file to claims."""
    files = sorted(os.path.relpath(path, "validation") for pattern in TESTS
                   for path in glob.glob(f"validation/{pattern}"))
    return {file: claims_of(file) for file in files}


def faults():
    """Maps the name of each planted fault to its entry."""
    parser = configparser.ConfigParser(
        interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.read(FAULTS, encoding="utf-8")
    return {name: parser[name] for name in parser.sections()}


def file_of(test):
    """The file of the test that a planted fault names."""
    if test.endswith(".py"):
        return test
    return f"cuda/{test}.cu" if test.startswith("test_cuda_") else f"{test}.c"


def has_case(file, case):
    """Whether a file has a case, a class or a group of cases of this name."""
    text = read(f"validation/{file}")
    made = re.sub(r"_?\d+$", "_", case)   # cases made in a loop
    return bool(re.search(rf"(TEST\(|def |class ){re.escape(case)}\b", text)
                or f'f"{made}{{' in text or re.search(
                    r'setattr\(\w+, f"test_\{', text))


def claims_without(claims):
    """Errors in claims."""
    for file, found in claims.items():
        if not found:
            yield f"{file}: its header comment lacks Shows"
        for claim in found:
            if isinstance(claim, str):
                if not isinstance(claims.get(claim, [""])[0], Claim):
                    yield f"{file}: as {claim}, which makes no claim"
                continue
            if claim.chapter not in CHAPTERS:
                yield f"{file}: chapter {claim.chapter}: one of {CHAPTERS}"
            current = file
            for word in claim.get("In").replace(",", " ").split():
                if "." in word:
                    current = word
                    if not os.path.exists(f"validation/{word}"):
                        yield f"{file}: In names {word}, which is not there"
                        break
                elif not has_case(current, word):
                    yield f"{file}: In names {word}, no case of {current}"


def faults_that_do_not_fit():
    for name, fault in faults().items():
        file = file_of(fault["test"])
        count = (read(fault["file"]).count(fault["old"])
                 if os.path.exists(fault["file"]) else 0)
        if count != 1:
            yield f"{name}: {fault['file']} has its text {count} times, not once"
        if not os.path.exists(f"validation/{file}"):
            yield f"{name}: {fault['test']} is no test"
        elif not has_case(file, fault["case"]):
            yield f"{name}: {fault['case']} is no case of {fault['test']}"


def write(page, claims):
    """Write the table, chapter by chapter."""
    planted = {}
    for name, fault in faults().items():
        planted.setdefault(file_of(fault["test"]), []).append(name)
    rows = [claim for found in claims.values() for claim in found
            if isinstance(claim, Claim)]
    with open(page, "w", encoding="utf-8") as file:
        for chapter in CHAPTERS:
            file.write(f"\n### {chapter.capitalize()}\n\n"
                       "| what must hold | test | how near is near enough | why"
                       " | planted faults |\n|---|---|---|---|---|\n")
            for claim in rows:
                if claim.chapter == chapter:
                    seen = [name for test in claim.files()
                            for name in planted.get(test, [])]
                    file.write(
                        f"| **{claim.name}**: {claim.get('Shows')} "
                        f"| {', '.join(f'`{f}`' for f in claim.files())} "
                        f"| {claim.get('Within')} | {claim.get('Because')} "
                        f"| {'; '.join(seen)} |\n")


def main(arguments):
    claims = all_claims()
    if arguments:
        write(arguments[0], claims)
        return 0
    print("1..2")
    n_bad = 0
    for number, (name, broken) in enumerate((
            ("claims", list(claims_without(claims))),
            ("planted faults", list(faults_that_do_not_fit()))), 1):
        for line in broken:
            print(f"# {line}")
        n_bad += bool(broken)
        print(f"{'not ' if broken else ''}ok {number} - {name}")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
