# SPDX-License-Identifier: BSD-3-Clause
"""Runs the fuzz targets: seeds, dictionary, time, and the criteria of a clean
run."""
import base64
import functools
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

LONG = os.environ.get("FX8_LONG") == "1"
# Seconds of a long run of one script: all of its targets together.
BUDGET_S = 1200
BUILD = os.environ.get("FX8_BUILD", "build")
FX8 = os.path.join(BUILD, "san", "fx8")
HERE = os.path.dirname(os.path.abspath(__file__))
# The same in every short run, so that everyone sees the same failure.
SEED = 0 if LONG else 5


def keys():
    """(section, key, default, accepted values) of every key, as listed by
    fx8."""
    done = subprocess.run([FX8, "config", "--keys"], capture_output=True,
                          text=True, check=True)
    found, section = [], None
    for line in done.stdout.splitlines():
        head = re.fullmatch(r"\[(\w+)\]", line)
        entry = re.match(r"  (\w+) =(.*)", line)
        if head:
            section = head.group(1)
        elif entry:
            default, _, expected = entry.group(2).strip().partition("  ")
            found.append((section, entry.group(1), default, expected.strip()))
    return found


@functools.cache
def dictionary():
    """Words of the key table in libFuzzer's format."""
    words = {"=", "-", "+00:00", "1e-9", "0x", "nan", "inf", "27/32",
             "2019-08-29T19:00:00Z", "0-15,20", "\\xef\\xbb\\xbf", "\\x0d\\x0a",
             "\\\\u0041", "antenna_positions", "sampling_frequency",
             "L0_frequency", "baseband_frequency", "num_antenna", "frequency",
             "number", "name", "east_m", "north_m", "up_m", "cable_delay_ns",
             "cable_delay_x_ns", "cable_delay_y_ns", "input", "az_deg",
             "el_deg", "ra_deg", "dec_deg", "I", "Q", "U", "V", "tone_hz",
             "pol", "amplitude", "phase_deg", "delay_ns"}
    for section, key, default, expected in keys():
        words |= {f"[{section}]", f"{key} =", f"{section}.{key}=", default}
        words |= set(re.findall(r"[\w.+-]+", expected))
    return [f'"{word}"' for word in sorted(words) if word and '"' not in word]


class Fuzz(unittest.TestCase):
    """One target per case: in a long run for its share of the time, else for
    `runs` inputs, the same on every machine."""

    program = None
    n_targets = runs = 1

    def setUp(self):
        self.binary = os.path.join(BUILD, "fuzz", self.program)
        if not os.path.exists(self.binary):
            self.skipTest("clang with libFuzzer is not there")
        self.folder = tempfile.mkdtemp(prefix="fx8-fuzz-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def seeds_of(self, target, seeds):
        """A folder with the given seeds and past crashes."""
        folder = os.path.join(self.folder, "seeds")
        os.mkdir(folder)
        for number, seed in enumerate(seeds):
            with open(os.path.join(folder, f"seed{number}"), "wb") as file:
                file.write(seed)
        for path in glob.glob(os.path.join(HERE, "corpus", target, "*")):
            shutil.copy(path, folder)
        return folder

    def fuzz(self, target, seeds):
        """Run a target; anything but a clean, silent end is a failure."""
        limit = (f"-max_total_time={BUDGET_S / self.n_targets:.0f}" if LONG
                 else f"-runs={self.runs}")
        words = os.path.join(self.folder, "words")
        with open(words, "w", encoding="ascii") as file:
            file.write("\n".join(dictionary()) + "\n")
        done = subprocess.run(
            [self.binary, self.seeds_of(target, seeds), f"-dict={words}",
             f"-seed={SEED}", limit,
             "-max_len=4096", "-timeout=20", "-rss_limit_mb=2560",
             "-print_final_stats=1", "-verbosity=0",
             f"-artifact_prefix={self.folder}/"],
            capture_output=True, env={**os.environ,
                                      "FX8_FUZZ_TARGET": target})
        text = done.stderr.decode(errors="replace")
        crashes = glob.glob(os.path.join(self.folder, "*-*"))
        for path in crashes:
            with open(path, "rb") as file:
                name = os.path.basename(path).split("-")[0]
                print(f"# {target}: {name}: "
                      f"{base64.b64encode(file.read()).decode()}")
        runs = re.search(r"number_of_executed_units:\s*(\d+)", text)
        if done.returncode != 0 or crashes or not runs or int(
                runs.group(1)) == 0:
            self.fail(f"exit status {done.returncode}\n"
                      + "\n".join(text.splitlines()[-60:]))
        print(f"# {target}: {runs.group(1)} runs")
