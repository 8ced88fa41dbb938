#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `make check-gpu` runs on a card: the kernels' tests of the harness, the
CUDA engine beside the CPU's, the whole program on both, a sample of the error
tables, and all kernels under compute-sanitizer.  TAP on stdout; without nvcc or
a card everything is skipped, and counted so.

Environment, as make sets it: FX8_BUILD, CUDA, NVCC, FX8_LONG (all of the error
tables; long versions of the tests).
"""
import os
import re
import shutil
import subprocess
import sys

BUILD = os.path.relpath(os.environ.get("FX8_BUILD", "build"))
LONG = os.environ.get("FX8_LONG") == "1"
MAKE = os.environ.get("MAKE", "make").split()
NVCC = (os.environ.get("NVCC") or shutil.which("nvcc")
        or "/usr/local/cuda/bin/nvcc")
# Exit status of a program that found no card.
NO_DEVICE = 77
TESTS = ("gpu_choose", "gpu_engine", "gpu_fir", "gpu_postprocess",
         "gpu_spectra", "gpu_xengine")
# What compute-sanitizer looks for; a race is one in shared memory.
TOOLS = ("memcheck", "racecheck", "synccheck")
# Of a program: a kernel that hangs must not hide the rest.
LIMIT_S = 1200 if LONG else 180
STOPPED = 124


class Cases:
    """Cases of this program, printed with their plan at the end."""

    def __init__(self):
        self.n_cases = 0
        self.n_failed = 0

    def result(self, name, good, skipped="", text=""):
        self.n_cases += 1
        self.n_failed += not good
        for line in [] if good else text.splitlines():
            print(f"# {line}")
        print(f"{'' if good else 'not '}ok {self.n_cases} - {name}"
              + (f" # SKIP {skipped}" if skipped else ""), flush=True)

    def plan(self):
        print(f"1..{self.n_cases}")


def run(command, **more):
    """Status and output of a program."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False, **more)
    except FileNotFoundError as error:
        return 127, str(error)
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode(errors="replace")
        return STOPPED, f"{text}\nstopped after {error.timeout:.0f} s"
    return done.returncode, done.stdout


def make(*targets):
    jobs = len(os.sched_getaffinity(0))
    return run(MAKE + ["-k", f"-j{jobs}", f"BUILD={BUILD}", *targets])


def find_sanitizer():
    beside = os.path.join(os.path.dirname(shutil.which(NVCC) or NVCC),
                          "compute-sanitizer")
    return shutil.which("compute-sanitizer") or (
        beside if os.access(beside, os.X_OK) else None)


def run_test(cases, name, program=None):
    """A program, or a group of fx8-test, that prints TAP of its own: each of
    its cases is one here.  Returns its exit status."""
    status, text = run(program or [f"{BUILD}/{name}"], timeout=LIMIT_S)
    n_seen = 0
    for line in text.splitlines():
        match = re.match(r"(not )?ok \d+ - (\w+)(?: # SKIP (.*))?$", line)
        if match:
            n_seen += 1
            cases.result(f"{name}: {match.group(2)}", not match.group(1),
                         match.group(3) or "")
        elif line.startswith("#"):
            print(line)
    if status == NO_DEVICE:
        cases.result(name, True, "no device")
    elif n_seen == 0 or status not in (0, 1):
        cases.result(f"{name}: ends well, after {n_seen} cases", False,
                     text=f"exit status {status}\n{text}")
    return status


def run_numerics(cases):
    """Where the tables of a sample go nobody looks for results."""
    folder = os.path.join(BUILD, "gpu")
    os.makedirs(os.path.join(folder, "validation/results"), exist_ok=True)
    command = [os.path.abspath(f"{BUILD}/numerics-gpu")]
    if not LONG:
        command += ["--samples", str(1 << 26)]
    status, text = run(command, cwd=folder, timeout=LIMIT_S)
    cases.result("errors of the functions are within their bounds",
                 status in (0, NO_DEVICE),
                 "no device" if status == NO_DEVICE else "", text)


def is_ready(cases, has_device, name, target):
    """Whether what needs packages was built and can be run; tells if not."""
    status, text = make(target, f"{BUILD}/fx8-cuda.so")
    if status != 0:
        missing = re.search(r"missing: [^(]*", text)
        cases.result(f"{name} builds", bool(missing),
                     missing.group(0).strip() if missing else "", text)
    elif not has_device:
        cases.result(name, True, "no device")
    os.environ["FX8_CUDA_PLUGIN"] = os.path.abspath(f"{BUILD}/fx8-cuda.so")
    return status == 0 and has_device


def run_engine(cases, has_device, name):
    """CPU and CUDA from the same spectra, to the bit; from samples, within a
    step near ties; results and quick-looks made on the device as on the host."""
    program = f"{BUILD}/fx8-test"
    if is_ready(cases, has_device, name, program):
        run_test(cases, name, [program, name])


def run_whole(cases, has_device):
    """The same recordings through the program on both engines."""
    name = "whole program"
    if not is_ready(cases, has_device, name, "gpu-bundle"):
        return
    status, text = run(["validation/gpu/whole.sh", f"{BUILD}/gpu-bundle",
                        f"{BUILD}/gpu/whole"], timeout=LIMIT_S)
    results = re.findall(r"^(not )?ok \d+ - (.*)$", text, re.MULTILINE)
    for failed, title in results:
        cases.result(f"{name}: {title}", not failed)
    if not results or status not in (0, 1):
        cases.result(f"{name}: ends well", False,
                     text=f"exit status {status}\n{text}")


def run_sanitizer(cases, has_device, stopped):
    """Not what had to be stopped without it."""
    sanitizer = find_sanitizer()
    for tool in TOOLS:
        for name in TESTS:
            title = f"{name} under {tool}"
            if sanitizer is None or not has_device or name in stopped:
                cases.result(title, True, "no compute-sanitizer"
                             if sanitizer is None else "no device"
                             if not has_device else "stopped without it too")
                continue
            status, text = run([sanitizer, "--tool", tool, "--error-exitcode",
                                "99", f"{BUILD}/{name}"], timeout=LIMIT_S,
                               env={**os.environ, "FX8_SHORT": "1"})
            refused = "Device not supported" in text
            cases.result(title, status == 0 or refused,
                         "it does not serve this device" if refused else "",
                         text[-4000:])


def main():
    if os.environ.get("CUDA") == "0" or not shutil.which(NVCC):
        if os.environ.get("CUDA") == "1":
            print("1..1\nnot ok 1 - nvcc is there (CUDA=1)")
            return 1
        print("1..0 # SKIP no nvcc")
        return 0
    os.environ["CMOCKA_MESSAGE_OUTPUT"] = "TAP"
    cases = Cases()
    status, text = make("gpu-programs")
    cases.result("programs for the card build", status == 0, text=text)
    # what could not be built fails below, and hides nothing else
    ends = {name: run_test(cases, name) for name in TESTS}
    has_device = NO_DEVICE not in ends.values()
    run_numerics(cases)
    for name in ("engine_cuda", "engine_results", "quicklook_cuda"):
        run_engine(cases, has_device, name)
    run_whole(cases, has_device)
    run_sanitizer(cases, has_device,
                  {name for name in TESTS if ends[name] == STOPPED})
    cases.plan()
    return 1 if cases.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
