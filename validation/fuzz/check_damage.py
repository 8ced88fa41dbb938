# SPDX-License-Identifier: BSD-3-Clause
"""Files with some bytes overwritten: fx8 ends in time, with one line or a
result, leaves no incomplete file under the final name, and no checker reports a
fault in fx8's own code.

libhdf5 1.10 itself has faults on damaged files (see README.md here): they are
counted and listed by stack frame.

Shows: as fuzz/check_texts.py
"""
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import h5py

import libfuzzer
import tap

# Formats of fuzz_recordings.c that are recordings, and the visibilities.
FORMATS = ("fx8", "tart", "aavs", "digital_rf", "guppi",
           "vdif", "dada", "uvh5")
LIMIT_S = 60        # a run takes a fifth of a second; the machine may be busy
RUNS = 150          # in the short form; the long form runs for a fixed time
CHECKERS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:handle_abort=1:"
                    "max_allocation_size_mb=2048:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
KEYS = ("array.positions=none", "array.latitude_deg=-26.7",
        "array.longitude_deg=116.67", "array.altitude_m=377.8",
        "observation.dc_frequency_hz=150e6", "channelizer.channels=8",
        "channelizer.taps=2", "correlator.integration_time_s=all",
        "correlator.threads=1", "correlator.backend=cpu")

REPORT = re.compile(r"ERROR: (Address|Leak)Sanitizer|runtime error: ")
FRAME = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ (?:in (\S+) )?(.*)$")
RUNTIME = re.compile(r"sanitizer|lib[atlu]san|libc\.so|ld-linux|\.\./sysdeps|"
                     r"libubsan|/libc|nptl|signal/|stdlib/|string/")


def culprit(text):
    """(whose code, which function) of the first report: its first frame that is
    neither the checker's nor the C library's."""
    frames = text[REPORT.search(text).start():].splitlines()
    for line in frames:
        frame = FRAME.match(line)
        if frame and not RUNTIME.search(line):
            where = f"{frame.group(1) or ''} {frame.group(2)}".strip()
            return ("libhdf5" if "libhdf5" in line else "fx8"), where
    return "fx8", "no frame: " + frames[0]


class Damage(unittest.TestCase):
    """Good files, damaged anew for every run."""

    def setUp(self):
        maker = os.path.join(libfuzzer.BUILD, "fuzz", "fuzz_recordings")
        if not os.path.exists(maker):
            self.skipTest("clang with libFuzzer is not there")
        self.folder = tempfile.mkdtemp(prefix="fx8-damage-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in FORMATS[:-1]:
            subprocess.run([maker], check=True, capture_output=True,
                           env={**os.environ, "FX8_FUZZ_TARGET": name,
                                "FX8_FUZZ_GOOD": self.path(name)})
        os.mkdir(self.path("uvh5"))
        self.config = self.path("config.ini")
        with open(self.config, "w", encoding="ascii") as file:
            for key in KEYS:
                name, value = key.split("=")
                section, word = name.split(".")
                file.write(f"[{section}]\n{word} = {value}\n")
        done = self.run_fx8(["correlate", self.config,
                             self.path("fx8/good.h5"), "--precision", "both",
                             "-o", self.path("uvh5/out.uvh5")])
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.copy(self.path("uvh5/out.int8.uvh5"),
                    self.path("uvh5/later.uvh5"))
        with h5py.File(self.path("uvh5/later.uvh5"), "r+") as file:
            file["Header/time_array"][...] += 1
        self.seed = random.randrange(2**32) if libfuzzer.LONG else 5
        self.random = random.Random(self.seed)
        self.faults = collections.Counter()
        self.ends = collections.Counter()

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_fx8(self, arguments):
        """Run fx8 under the checkers; if it hangs, get its stack."""
        process = subprocess.Popen(
            [libfuzzer.FX8, *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", env={**os.environ, **CHECKERS})
        late = False
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            late = True
            process.send_signal(signal.SIGABRT)
            out, err = process.communicate()
        done = subprocess.CompletedProcess(arguments, process.returncode, out,
                                           err)
        done.late = late
        return done

    def damaged(self, name):
        """Copy the good files and change 1 to 16 bytes of one of them, scattered
        or adjacent; returns the folder and a description of the change."""
        folder = self.path("damaged")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.path(name), folder)
        names = sorted(os.path.join(root, file)
                       for root, _, files in os.walk(folder) for file in files)
        path = self.random.choice(names)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        near = self.random.randrange(len(data))
        apart = self.random.random() < 0.5
        changes = []
        for _ in range(self.random.randint(1, 16)):
            at = (self.random.randrange(len(data)) if apart else
                  min(near + self.random.randrange(24), len(data) - 1))
            value = self.random.choice((
                data[at] ^ (1 << self.random.randrange(8)), 0, 0xff,
                (data[at] + 1) & 0xff, self.random.randrange(256)))
            data[at] = value
            changes.append((at, value))
        with open(path, "wb") as file:
            file.write(data)
        return folder, f"{os.path.relpath(path, folder)} {changes}"

    def commands(self, name, folder):
        """Commands that can be run on damaged files of a format."""
        out = self.path("out.uvh5")
        if name == "uvh5":
            one = os.path.join(folder, self.random.choice(
                ("out.int8.uvh5", "out.fp32.uvh5")))
            parts = [os.path.join(folder, file)
                     for file in ("out.int8.uvh5", "later.uvh5")]
            return self.random.choice((
                ["info", one], ["fringe", one, "--blind"],
                ["join", *parts, "-o", out, "--quiet"],
                ["compare", os.path.join(folder, "out.int8.uvh5"),
                 os.path.join(folder, "out.fp32.uvh5")]))
        recording = ([folder] if name == "digital_rf" else
                     [os.path.join(folder, file)
                      for file in sorted(os.listdir(folder))])
        correlate = ["correlate", self.config, *recording, "-o", out,
                     "--quiet"]
        return self.random.choice((correlate, correlate,
                                   ["info", *recording]))

    def judge(self, done, what):
        """Check that the run ended in a permitted way."""
        out = self.path("out.uvh5")
        report = REPORT.search(done.stderr)
        where = f"{' '.join(done.args)}: {what}\n{done.stderr[-6000:]}"
        if report:
            whose, frame = culprit(done.stderr)
            self.assertEqual(whose, "libhdf5", where)
            kind = ("hangs" if done.late else
                    "leaks" if report.group(1) == "Leak" else "faults")
            self.faults[f"{kind}: {frame}"] += 1
            # leaks are reported at exit
            if kind != "leaks":
                self.assertFalse(os.path.exists(out), where)
        else:
            self.assertFalse(done.late, where)
            allowed = (0, 1, 2, 3) if done.args[0] == "compare" else (0, 1, 2)
            self.assertIn(done.returncode, allowed, where)
            errors = [line for line in done.stderr.splitlines()
                      if not line.startswith(("fx8: warning: ", "=="))]
            if done.returncode in (1, 2):
                self.assertEqual(len(errors), 1, where)
                self.assertTrue(errors[0].startswith("fx8: error: "), where)
                self.assertTrue(errors[0].isprintable(), where)
                self.assertFalse(os.path.exists(out), where)
                self.assertFalse(os.path.exists(out + ".part"), where)
        self.ends["killed by a checker" if report else done.returncode] += 1
        if os.path.exists(out):
            with h5py.File(out, "r") as file:
                self.assertGreater(file["Data/visdata"].size, 0, where)
        for path in (out, out + ".part"):
            if os.path.exists(path):
                os.remove(path)

    def test_bytes_overwritten(self):
        end = time.monotonic() + libfuzzer.BUDGET_S
        runs = 0
        print(f"# seed {self.seed}")
        while time.monotonic() < end if libfuzzer.LONG else runs < RUNS:
            name = FORMATS[runs % len(FORMATS)]
            folder, what = self.damaged(name)
            self.judge(self.run_fx8(self.commands(name, folder)), what)
            runs += 1
        print(f"# {runs} runs, exit codes {dict(self.ends)}")
        for frame, count in self.faults.most_common():
            print(f"# {count} times: libhdf5 {frame}")
        # some damage must have been noticed
        self.assertGreater(self.ends[1], runs // 50)
        self.assertGreater(self.ends[0], 0)


if __name__ == "__main__":
    tap.main()
