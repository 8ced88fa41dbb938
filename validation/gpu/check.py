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
# Exit status of a program that found no card, or nothing to do on it.
NO_DEVICE = 77
ALL_SKIPPED = 78
TESTS = ("gpu_choose", "gpu_engine", "gpu_fir", "gpu_image", "gpu_imager",
         "gpu_postprocess", "gpu_spectra", "gpu_xengine")
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


def run_test(cases, name, command, skipped="", prints_tap=True, **more):
    """Each case of a program that prints TAP is one here; another program is
    one case.  Returns its exit status."""
    if skipped:
        cases.result(name, True, skipped)
        return NO_DEVICE
    status, text = run(command, timeout=LIMIT_S, **more)
    found = re.findall(r"^(not )?ok \d+ - (.*?)(?: # SKIP (.*))?$", text,
                       re.MULTILINE) if prints_tap else []
    for failed, title, why in found:
        cases.result(f"{name}: {title}", not failed, why)
    for line in text.splitlines() if prints_tap else []:
        if line.startswith("#"):
            print(line)
    if status == NO_DEVICE:
        cases.result(name, True, "no device")
    elif not prints_tap:
        refused = "Device not supported" in text  # by compute-sanitizer
        cases.result(name, status == 0 or refused,
                     "it does not serve this device" if refused else "",
                     text[-4000:])
    elif not found or status not in (0, 1, ALL_SKIPPED):
        cases.result(f"{name}: ends well, after {len(found)} cases", False,
                     text=f"exit status {status}\n{text}")
    return status


def run_numerics(cases):
    """Tables of a sample go to a folder in which nobody looks for results."""
    folder = os.path.join(BUILD, "gpu")
    os.makedirs(os.path.join(folder, "validation/results"), exist_ok=True)
    run_test(cases, "errors of the functions are within their bounds",
             [os.path.abspath(f"{BUILD}/numerics-gpu"),
              *([] if LONG else ["--samples", str(1 << 26)])],
             prints_tap=False, cwd=folder)


def run_packaged(cases, has_device, name, target, command):
    """A test that needs packages and the plug-in: the engine beside the CPU's,
    or the whole program on both."""
    status, text = make(target, f"{BUILD}/fx8-cuda.so")
    missing = re.search(r"missing: [^(]*", text)
    if status != 0 and not missing:
        cases.result(f"{name} builds", False, text=text)
        return
    os.environ["FX8_CUDA_PLUGIN"] = os.path.abspath(f"{BUILD}/fx8-cuda.so")
    run_test(cases, name, command, missing.group(0).strip() if status != 0
             else "" if has_device else "no device")


def run_sanitizer(cases, has_device, stopped):
    """All programs but those that had to be stopped without it."""
    sanitizer = find_sanitizer()
    for tool in TOOLS:
        for name in TESTS:
            run_test(cases, f"{name} under {tool}",
                     [sanitizer, "--tool", tool, "--error-exitcode", "99",
                      f"{BUILD}/{name}"],
                     "no compute-sanitizer" if sanitizer is None
                     else "no device" if not has_device
                     else "stopped without it too" if name in stopped else "",
                     prints_tap=False, env={**os.environ, "FX8_SHORT": "1"})


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
    ends = {name: run_test(cases, name, [f"{BUILD}/{name}"]) for name in TESTS}
    has_device = NO_DEVICE not in ends.values()
    run_numerics(cases)
    for name in ("engine_cuda", "engine_results", "quicklook_cuda"):
        run_packaged(cases, has_device, name, f"{BUILD}/fx8-test",
                     [f"{BUILD}/fx8-test", name])
    run_packaged(cases, has_device, "whole program", "gpu-bundle",
                 ["validation/gpu/whole.sh", f"{BUILD}/gpu-bundle",
                  f"{BUILD}/gpu/whole"])
    run_sanitizer(cases, has_device,
                  {name for name in TESTS if ends[name] == STOPPED})
    cases.plan()
    return 1 if cases.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
