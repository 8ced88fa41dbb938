#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py [WORDS...] -- planted faults: the test that the entry in faults.ini
names must notice each of them.

Each of two workers has a copy of the sources and the build, so that only what a
fault touches is compiled again.  Every named case must pass without the fault
and fail with it; a fault that no longer matches its source is a failure too.

By default eight faults are planted, spread over the table and always the
same.  FX8_LONG=1 or FX8_FAULTS=all plants every fault, FX8_FAULTS=N the eight
of number N.  Words on the command line choose the faults that have one of them in
their name, file or test.  The tests always run in their short form.
"""
import concurrent.futures
import configparser
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.getcwd()
BUILD = os.environ.get("FX8_BUILD", os.path.join(ROOT, "build"))
COPIES = os.path.join(BUILD, "mutants")
TABLE = "validation/mutants/faults.ini"
ROOMS = ("config", "kernels", "io", "correlator", "validation", "data")
LINKED = ("fx8", "flags", "libfx8.so", "libfx8.so.0.1", "libfx8.a", "harness")
CPUS = len(os.sched_getaffinity(0))
WORKERS = min(2, CPUS)
LIMIT_S = 120
PLANTED = 8
# What Python tests run or load, as built for tier scenario.
WHOLE = ["all", "build/harness/fx8-cuda.so", "build/faulty_io.so"]


def read_table():
    """The faults: name, and a mapping with file, old, new, test and case."""
    parser = configparser.ConfigParser(
        interpolation=None, delimiters=("=",), comment_prefixes=("#",),
        strict=True)
    with open(TABLE, encoding="utf-8") as file:
        parser.read_file(file)
    return [(name, parser[name]) for name in parser.sections()]


def choose(faults, words):
    """The faults to plant in this run."""
    if words:
        return [(name, entry) for name, entry in faults if any(
            word in f"{name} {entry['file']} {entry['test']}"
            for word in words)]
    start = os.environ.get("FX8_FAULTS")
    if start == "all" or not start and os.environ.get("FX8_LONG") == "1":
        return faults
    # neighbours in the table often share a test, which may be long
    n_parts = (len(faults) + PLANTED - 1) // PLANTED
    number = int(start or "0") % n_parts
    print(f"# part {number} of {n_parts}, of {len(faults)} faults")
    return faults[number::n_parts]


def is_python(test):
    return test.endswith(".py")


def program_of(test):
    """The program that holds a test in C or CUDA."""
    return "fx8-test-cuda" if test.startswith("test_cuda_") else "fx8-test"


def lacks(entry):
    """The instructions that a fault's code needs and this CPU lacks, or None.
    On such a CPU the test runs without that code."""
    needed = entry.get("needs")
    if needed is None:
        return None
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return None if needed in file.read().split() else needed
    except OSError:
        return needed


class Outcomes:
    """The outcomes of the cases in a run of a test."""

    def __init__(self, text, seconds, *, crashed=False):
        self.text = text
        self.seconds = seconds
        self.crashed = crashed      # crashed, or did not end

    def of(self, case):
        """The outcome of a case: "passed", "failed" (also if the program ended
        before it finished), "absent", or the reason for a skip."""
        found = re.findall(
            r"^(not ok|ok)\b(.*" + re.escape(case) + r"\b.*)$", self.text,
            re.MULTILINE)
        skipped = [text.partition("# SKIP ")[2] for _, text in found]
        if any(skipped):
            return "skipped: " + skipped[0]
        if any(state == "not ok" for state, _ in found):
            return "failed"
        if found:
            return "passed"
        return "failed" if self.crashed else "absent"


class Tree:
    """A copy of sources and built files in which faults are planted."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "build"))
        for name in ("Makefile", "README.md"):
            shutil.copy2(name, folder)
        for room in ROOMS + (".github",):
            if os.path.isdir(room):
                shutil.copytree(room, self.path(room),
                                ignore=shutil.ignore_patterns("__pycache__"))
        for name in ROOMS + LINKED:
            path = os.path.join(BUILD, name)
            if os.path.isdir(path):
                shutil.copytree(path, self.path("build", name))
            elif os.path.exists(path):
                shutil.copy2(path, self.path("build", name))
        for path in self.dependencies():
            # objects have other names here, else no dependency is found
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(BUILD + "/", "build/"))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make(self, test):
        """Build what a test runs; returns the output on failure, else None."""
        environment = {
            k: v for k, v in os.environ.items()
            if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "STRICT")}
        targets = WHOLE if is_python(test) else [
            f"build/{program_of(test)}", "build/harness/fx8-cuda.so"]
        done = subprocess.run(
            # faults are planted for the host's compilers: no nvcc
            ["make", f"-j{CPUS}", "BUILD=build", "CUDA=0", *targets],
            cwd=self.folder, capture_output=True, text=True, env=environment)
        return None if done.returncode == 0 else done.stdout + done.stderr

    def run(self, test, cases, limit_s):
        """Run some cases of a test."""
        command = [self.path("build", program_of(test)), test[len("test_"):],
                   *cases]
        if is_python(test):
            command = [sys.executable, "validation/python/tap.py",
                       os.path.join("validation", test), *cases]
        environment = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP",
                       "FX8": self.path("build", "fx8"),
                       "FX8_BUILD": self.path("build"),
                       "PYTHONPATH": self.path("validation/python")}
        environment.pop("FX8_LONG", None)
        if not test.startswith("emitted/"):
            environment["CUDA"] = "0"   # no plug-in is built here
        begin = time.monotonic()
        process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, errors="replace",
            env=environment, start_new_session=True)
        try:
            text, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            # with the programs that the test runs: a fault can be a loop
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
        return Outcomes(text, time.monotonic() - begin,
                        crashed=process.returncode != 0)

    def dependencies(self):
        """The dependency files of the compilers."""
        return [os.path.join(folder, name)
                for folder, _, names in os.walk(self.path("build"))
                for name in names if name.endswith(".d")]

    def objects_of(self, source):
        """The objects that depend on a source or header."""
        for path in self.dependencies():
            with open(path, encoding="utf-8") as file:
                if source in file.read().split():
                    yield path[:-2] + ".o"

    def run_without(self, test, cases):
        """The outcomes of cases without a fault, and what made them fail to
        build."""
        trouble = self.make(test)
        return (None, trouble) if trouble else (
            self.run(test, cases, LIMIT_S), None)

    def judge(self, entry, usual):
        """Plant one fault; returns "failed" if the named case, which must pass
        without it, noticed it, "skipped: " and a reason, or what went wrong.
        `usual`: the future of run_without()."""
        outcomes, trouble = usual.result()
        state = trouble or outcomes.of(entry["case"])
        if state.startswith("skipped: "):
            return state
        if state != "passed":
            return f"{entry['case']} without the fault: {state}"
        if lacks(entry):
            return f"skipped: no {lacks(entry)} here"
        state = self.plant(entry, outcomes)
        return f"survived: {state}" if state in ("passed", "absent") else state

    def plant(self, entry, usual):
        """Plant one fault, build, test, remove it again; returns the state of
        the named case, or the reason for having none.  `usual`: outcomes without the
        fault."""
        path = self.path(entry["file"])
        with open(path, encoding="utf-8") as file:
            source = file.read()
        if source.count(entry["old"]) != 1:
            return (f"{entry['file']} has \"{entry['old']}\" "
                    f"{source.count(entry['old'])} times, not once")
        kept = {name: name + ".kept" for name in
                [path, *self.objects_of(entry["file"])] if os.path.exists(name)}
        for name, copy in kept.items():
            shutil.copy2(name, copy)
        begin = time.time_ns()
        with open(path, "w", encoding="utf-8") as file:
            file.write(source.replace(entry["old"], entry["new"]))
        try:
            trouble = self.make(entry["test"])
            if trouble:
                return "does not compile:\n" + trouble
            return self.run(entry["test"], [entry["case"]],
                            max(60, 5 * usual.seconds)).of(entry["case"])
        finally:
            for name, copy in kept.items():
                os.replace(copy, name)
            self.forget(begin)

    def forget(self, begin):
        """Remove what was built since `begin`, so that no object with a fault
        stays."""
        for folder, _, names in os.walk(self.path("build")):
            for name in names:
                path = os.path.join(folder, name)
                # the file system's clock may be coarser; dependencies have
                # not changed
                if (not name.endswith(".d") and
                        os.lstat(path).st_mtime_ns > begin - 20_000_000):
                    os.remove(path)


def main(words):
    faults = choose(read_table(), words)
    print(f"1..{len(faults)}", flush=True)
    trees = queue.SimpleQueue()
    for worker in range(WORKERS):
        trees.put(Tree(os.path.join(COPIES, str(worker))))

    def in_a_tree(work, *arguments):
        tree = trees.get()
        try:
            return work(tree, *arguments)
        finally:
            trees.put(tree)

    cases = {}
    for _, entry in faults:
        cases.setdefault(entry["test"], set()).add(entry["case"])
    n_failed = 0
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        usual = {test: pool.submit(in_a_tree, Tree.run_without, test,
                                   sorted(names))
                 for test, names in cases.items()}
        planted = {pool.submit(in_a_tree, Tree.judge, entry,
                               usual[entry["test"]]): (name, entry["case"])
                   for name, entry in faults}
        for number, future in enumerate(
                concurrent.futures.as_completed(planted), 1):
            state = future.result()
            name, case = planted[future]
            line = f"ok {number} - {name}: {case} notices it"
            if state.startswith("skipped: "):
                print(f"{line} # SKIP {state[9:]}", flush=True)
                continue
            n_failed += state != "failed"
            print(line if state == "failed" else f"not {line}")
            for text in state.splitlines() if state != "failed" else ():
                print(f"# {text}")
            sys.stdout.flush()
    shutil.rmtree(COPIES, ignore_errors=True)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
