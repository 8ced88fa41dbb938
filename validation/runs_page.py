#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""runs_page.py [PAGE.md] -- what it costs to divide a run between two ranks, to start
MPI, and to resume a run.

Runs of a table take turns, so that a busy machine slows them alike. Before those
with ranks, and those beside them, memory is touched and freed, as in plan_check.py.
`make runs-page` runs it; it takes 11 GB in TMPDIR, and Open MPI.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import plan_check
import program
import ranks_job
import same_file

ROUNDS = 7
RESUMED_ROUNDS = 9
STARTS = 9
# inputs, channels, samples over all inputs, spectra per dump
DIVIDED = (64, 1024, 2**32, 4096)
RESUMED = (64, 1024, 2**31, 2048)
TINY = (16, 512, 2**22, 512)
ABOUT = """# Runs divided between ranks, and resumed

`make runs-page PAGE=...` writes this page; recordings are in the page cache, results are not
compressed.

{when}, {cpu}, {cores} cores, load {load:.1f} before, {mpi}

## Two ranks of one thread against two threads

{n_inputs} inputs, {channels} channels, {dumps} dumps, the whole process by the wall clock; the
best of {rounds} rounds by turns. The results are equal, but for the threads in the history. The
last column leaves out the {more:.3f} s by which two ranks start later.

| | two threads, s | two ranks, s | efficiency | once started |
|---|---|---|---|---|
{divided}

Starting: a recording of {tiny_s:.3f} s, one thread, the least of {starts} runs by turns: {alone:.3f} s
alone, {one:.3f} s with `mpirun -n 1 fx8 correlate --mpi`, {two:.3f} s with `-n 2`.

## A run that is resumed

{resumed_inputs} inputs, {resumed_channels} channels, {resumed_dumps} dumps of {dump_mb:.0f} MB, two
threads: a signal ends the run midway, `--resume` completes it. `--resume` opens the recording and
the `.part`, and computes the last finished dump again; it does not read the finished dumps. Beyond
what a new run of the dumps that are left takes, it should take no more than a run of one dump, with
its opening. (A new run in INT8 also sets levels, which the resumed one finds in the `.part`.) Both
runs together open the recording twice; after SIGKILL they compute the dump in progress twice, and
after SIGUSR1 the first one waits for the disk.

Seconds, the median of {resumed_rounds} rounds by turns; differences are taken within a round, and
have the range of the middle half of them. The results are equal.

| | signal | finished dumps | undisturbed | both runs | more | resumed run | new run | \
`--resume` costs | a run of one dump |
|---|---|---|---|---|---|---|---|---|---|
{resumed}
"""


class Folder:
    """Recordings, and runs there."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, **ranks_job.ENVIRONMENT,
                            "OMPI_MCA_orte_tmpdir_base": folder}
        with open(self.path("config.ini"), "w", encoding="utf-8") as file:
            file.write("[correlator]\nbackend = cpu\nintegration_time_s = 1\n"
                       "[channelizer]\nchannels = 1\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, shape):
        plan_check.record(self.path(f"{shape[0]}.h5"), shape[0], shape[2])

    def words(self, shape, precision, threads, output, *more):
        n_inputs, channels = shape[:2]
        words = [program.FX8, "correlate", self.path("config.ini"),
                 self.path(f"{n_inputs}.h5"), "-o", self.path(output), *more]
        for key, value in (
                ("channelizer.channels", channels),
                ("correlator.precision", precision),
                ("correlator.threads", threads),
                ("correlator.integration_time_s", dump_s(shape))):
            words += ["--set", f"{key}={value}"]
        return words

    def time(self, words, number=None, after_s=0.0, code=0):
        """Seconds of a run, and what it said; it gets a signal after `after_s`."""
        begin = time.monotonic()
        with subprocess.Popen(words, env=self.environment, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            if number is not None:
                time.sleep(after_s)
                process.send_signal(number)
            said, errors = process.communicate()
        if process.returncode != code:
            sys.exit(f"runs_page.py: {words}: {process.returncode}: {errors}")
        return time.monotonic() - begin, said

    def remove(self, *outputs):
        for output in outputs:
            os.remove(self.path(output))

    def require_equal(self, *outputs):
        """But for the history, which has the number of threads."""
        differ = same_file.differences(*map(self.path, outputs))
        if set(differ) - {"Header/history"}:
            sys.exit(f"runs_page.py: {outputs}: {differ} are not equal")


def touch_memory():
    np.ones(plan_check.TOUCHED_BYTES, np.int8)


def mpirun(n, words):
    return [ranks_job.MPIRUN, "-n", str(n), *words, "--mpi"]


def divide(folder, precision, more_s):
    """A row: two threads, two ranks, which start `more_s` later."""
    best = [float("inf")] * 2
    for _ in range(ROUNDS):
        kinds = (folder.words(DIVIDED, precision, 2, "threads.uvh5"),
                 mpirun(2, folder.words(DIVIDED, precision, 1, "ranks.uvh5")))
        for k, words in enumerate(kinds):
            touch_memory()
            best[k] = min(best[k], folder.time(words)[0])
        folder.require_equal("threads.uvh5", "ranks.uvh5")
        folder.remove("threads.uvh5", "ranks.uvh5")
    return (f"| {precision.upper()} | {best[0]:.2f} | {best[1]:.2f} | "
            f"{best[0] / best[1]:.3f} | {best[0] / (best[1] - more_s):.3f} |")


def start(folder):
    """The least seconds alone, as one rank, and as two."""
    least = [float("inf")] * 3
    words = folder.words(TINY, "int8", 1, "tiny.uvh5")
    for _ in range(STARTS):
        for n in range(3):
            touch_memory()
            took, _ = folder.time(mpirun(n, words) if n > 0 else words)
            least[n] = min(least[n], took)
            folder.remove("tiny.uvh5")
    return least


def resume(folder, precision, number, code):
    """A row: a run that is ended by a signal, with this exit code, and resumed."""
    def words(output, **span):
        return folder.words(RESUMED, precision, 2, output, *(
            word for key, dumps in span.items()
            for word in ("--set", f"input.{key}={dumps * dump_s(RESUMED)}")))

    rounds, finished = [], []
    for _ in range(RESUMED_ROUNDS):
        whole_s, _ = folder.time(words("whole.uvh5"))
        first_s, _ = folder.time(words("halves.uvh5"), number, whole_s / 2, code)
        second_s, said = folder.time([*words("halves.uvh5"), "--resume"])
        n = int(re.search(r"(\d+) finished before", said).group(1))
        alone_s, _ = folder.time(words("alone.uvh5", start_s=n))
        one_s, _ = folder.time(words("one.uvh5", duration_s=1.01))
        finished.append(n)
        rounds.append((whole_s, first_s + second_s, first_s + second_s - whole_s,
                       second_s, alone_s, second_s - alone_s, one_s))
        folder.require_equal("whole.uvh5", "halves.uvh5")
        folder.remove("whole.uvh5", "halves.uvh5", "alone.uvh5", "one.uvh5")
    low, middle, high = np.percentile(rounds, (25, 50, 75), axis=0)
    cells = [f"{seconds:.2f}" for seconds in middle]
    for k in 2, 5:
        cells[k] += f" ({low[k]:.2f} to {high[k]:.2f})"
    return (f"| {precision.upper()} | {number.name} | {min(finished)} to "
            f"{max(finished)} of {count_dumps(RESUMED)} | {' | '.join(cells)} |")


def dump_s(shape):
    return shape[1] * shape[3] / plan_check.RATE_HZ


def count_dumps(shape):
    n_inputs, channels, n_samples, spectra = shape
    return n_samples // (n_inputs * channels * spectra)


def main():
    load = os.getloadavg()[0]
    version = subprocess.run([ranks_job.MPIRUN, "--version"], text=True,
                             capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="fx8-runs-") as name:
        folder = Folder(name)
        # these wait for the disk: before the large recording is written
        folder.record(RESUMED)
        os.sync()
        resumed = [resume(folder, precision, number, code)
                   for precision in ("int8", "fp32")
                   for number, code in ((signal.SIGUSR1, 75),
                                        (signal.SIGKILL, -signal.SIGKILL))]
        for shape in DIVIDED, TINY:
            folder.record(shape)
        alone, one, two = start(folder)
        divided = [divide(folder, precision, two - alone)
                   for precision in ("int8", "fp32")]
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = re.search(r"^model name\s*: (.*)$", file.read(), re.M).group(1)
    n = RESUMED[0] // 2
    page = ABOUT.format(
        when=time.strftime("%Y-%m-%d"), cpu=cpu, load=load,
        cores=len(os.sched_getaffinity(0)), mpi=version.splitlines()[0],
        n_inputs=DIVIDED[0], channels=DIVIDED[1], dumps=count_dumps(DIVIDED),
        rounds=ROUNDS, more=two - alone, divided="\n".join(divided),
        resumed_rounds=RESUMED_ROUNDS, starts=STARTS,
        tiny_s=TINY[2] / TINY[0] / plan_check.RATE_HZ, alone=alone, one=one,
        two=two, resumed_inputs=RESUMED[0], resumed_channels=RESUMED[1],
        resumed_dumps=count_dumps(RESUMED),
        dump_mb=n * (n + 1) / 2 * RESUMED[1] * 4 * 13 / 1e6,
        resumed="\n".join(resumed))
    print(page)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(page)


if __name__ == "__main__":
    main()
