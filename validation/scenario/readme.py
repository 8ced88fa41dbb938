# SPDX-License-Identifier: BSD-3-Clause
"""The documentation: its commands, configuration and figures.

Shows (commands, what the README shows): commands, options, keys, targets and
    files named in README.md exist; its INI file loads, and shows defaults
    unless it says otherwise; the figures of `make demo` and of TART, and the
    output of `info`, are right; an impossible `CUDA=` is refused; warnings of
    nvcc are errors with `STRICT=1`, and only then; CUDA 11.8 (a script with
    its list of architectures) gets no architecture that it does not know
Within: words equal; figures of the demonstration 10⁻³; figures of speed as
    kept in `results/`
Because: another processor sums in another order, and an INT8 sample near a tie
    may differ by a step
"""
import os
import re
import subprocess
import unittest

import numpy as np

import program

COMMANDS = ("correlate", "compare", "info", "simulate", "fringe", "config",
            "bench")
PAGE = program.text("README.md")
CONTRIBUTING = program.text(".github/CONTRIBUTING.md")
RECORDINGS_PAGE = program.text("data/README.md")
# without fenced blocks, which are Python
PAGES = re.sub(r"(?ms)^```.*?^```", "", "\n".join((
    PAGE, program.text("config/README.md"), RECORDINGS_PAGE, CONTRIBUTING)))
BLOCKS = program.blocks(PAGES)
# text between backticks may span two lines
SHOWN = [" ".join(text.split()) for text in re.findall(r"`([^`]+)`", PAGES)]


class Commands(unittest.TestCase):
    """Commands, options, targets and files exist."""

    def words(self):
        """Every command line of fx8, as a list of words."""
        lines = [line.partition("  #")[0] for block in BLOCKS
                 for line in block.splitlines()] + SHOWN
        for line in lines:
            words = line.split()
            if len(words) > 1 and os.path.basename(words[0]) == "fx8" and (
                    words[1] in COMMANDS or words[1].startswith("-")):
                yield words[1:]

    def test_commands_and_options(self):
        known = {name: program.run(name, "--help").stdout + "--help"
                 for name in COMMANDS}
        known |= dict.fromkeys(("--help", "--version"), "")
        n_options = 0
        for command, *words in self.words():
            with self.subTest(command=command):
                self.assertIn(command, known)
            for word in words:
                if word.startswith("--"):
                    n_options += 1
                    self.assertIn(word.partition("=")[0], known[command])
        self.assertGreater(n_options, 5)

    def test_keys(self):
        keys = program.run("config", "--keys").stdout
        sections = dict(re.findall(r"^\[(\w+)\]\n((?:(?!^\[).*\n)*)", keys,
                                   re.MULTILINE))
        named = re.findall(r"`(?:--set )?([a-z]+)\.([a-z_]+)(?: ?=|`)", PAGES)
        named = [name for name in named if name[0] in sections]
        self.assertGreater(len(named), 1)
        for section, key in named:
            with self.subTest(section=section, key=key):
                self.assertRegex(sections[section], rf"(?m)^  {key} =")

    def test_targets(self):
        made = set(re.findall(r"^([a-z-]+):", program.text("Makefile"),
                              re.MULTILINE))
        named = {text.split()[1] for text in SHOWN
                 if text.startswith("make ") and len(text.split()) == 2}
        self.assertGreater(len(named), 5)
        self.assertLessEqual(named, made)

    def test_files(self):
        rooms = ("config", "correlator", "data", "validation", ".github")
        named = set(re.findall(
            rf"(?<![\w./-])(?:{'|'.join(rooms[:4])})/[\w./-]*\w\.\w+", PAGES))
        named |= set(re.findall(r"\]\((\.github/[\w.]+)\)", PAGES))
        # placeholders for names that the user chooses
        named = {name for name in named if not re.search("CARD|NAME", name)}
        self.assertGreater(len(named), 10)
        for name in sorted(named):
            with self.subTest(name=name):
                self.assertTrue(os.path.exists(name))


# Keys that a user must set, or that the page shows with another value than the
# default.
GIVEN = {"files", "positions", "latitude_deg", "longitude_deg", "altitude_m",
         "flag_antennas", "channels", "integration_time_s", "quicklook", "math",
         "file", "channel_average"}


class Configuration(program.Case):
    """The INI file on the page is valid."""

    def shown(self):
        return next(block for block in BLOCKS if block.startswith("[input]"))

    @staticmethod
    def pairs(text):
        """Maps (section, key) to value."""
        found, section = {}, None
        for line in text.splitlines():
            if line.startswith("["):
                section = line
            elif re.match(r"\w+ = ", line):
                key, _, value = line.partition(" = ")
                found[section, key] = value
        return found

    def test_it_loads_as_it_stands(self):
        path = self.save("shown.ini", self.shown())
        done = self.well("config", path, "--dump")
        dumped = self.pairs(done.stdout)
        shown = self.pairs(self.shown())
        self.assertGreater(len(shown), 12)
        for key, value in shown.items():
            with self.subTest(key=key):
                got = dumped[key]
                if value.endswith((".h5", ".uvh5", ".csv")):
                    got = os.path.basename(got)
                if re.fullmatch(r"[-0-9.]+", value):
                    self.assertEqual(float(got), float(value))
                else:
                    self.assertEqual(got, value)

    def test_the_rest_are_defaults(self):
        path = self.save("least.ini",
                         "[channelizer]\nchannels = 16\n\n[correlator]\n"
                         "integration_time_s = 1\n")
        done = self.well("config", path, "--dump")
        defaults = self.pairs(done.stdout)
        rest = {name: value for name, value in self.pairs(self.shown()).items()
                if name[1] not in GIVEN}
        self.assertGreater(len(rest), 6)
        self.assertEqual(rest, {name: defaults[name] for name in rest})


class Figures(program.Case):
    """Figures equal those of the demonstration and the committed results."""

    @staticmethod
    def figures_of(text):
        lines = re.findall(r"^ +demo, .*$", text, re.MULTILINE)
        return [float(figure) for line in lines for figure in re.findall(
            r"(?:amplitude|phase|difference|predicted) ([-+.0-9e]+)", line)]

    def test_demonstration(self):
        """Another processor sums in another order, a change of 4e-6 of the
        power: 2e-4 degrees, and less in the mean amplitude.  One INT8 sample in
        10^4 may differ by a step, which changes the loss by less than 1e-3."""
        environment = {**os.environ, "FX8_RECORDINGS": ""}
        done = subprocess.run(
            ["validation/demo.sh", program.FX8, self.path("demo")],
            capture_output=True, text=True, env=environment, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        want = self.figures_of(PAGE)
        got = self.figures_of(done.stdout)
        self.assertEqual(len(want), 4)
        self.assertEqual(len(got), 4)
        for name, a, b, near in zip(
                ("amplitude", "phase", "rms difference", "ratio"), got, want,
                (1e-5, 1e-3, 1e-3 * want[2], 1e-3)):
            self.assertAlmostEqual(a, b, delta=near, msg=name)

    def test_info_of_the_demonstration(self):
        """The recording is the same everywhere, so the lines must be equal,
        except for the widths of columns."""
        shown = next(block for block in BLOCKS
                     if block.startswith("build/demo/demo.h5: recording"))
        recording = self.path("demo.h5")
        self.well("simulate", "config/ready/demo.ini", "-o", recording)
        printed = [line.split() for line in
                   program.run("info", recording).stdout.splitlines()]
        lines = [line.split() for line in shown.splitlines()[1:]]
        lines = [words for words in lines if words != ["..."]]
        self.assertGreater(len(lines), 6)
        for words in lines:
            self.assertIn(words, printed)

    @unittest.skipUnless(program.RECORDINGS, program.NO_RECORDINGS)
    def test_recording_of_tart(self):
        """The loss by INT8, to a thousandth: see above."""
        shown = next(block for block in BLOCKS
                     if block.startswith("verdict: good:"))
        output = self.path("tart.uvh5")
        self.well(
            "correlate", "config/ready/tart.ini", program.TART, "-o", output,
            "--precision", "both", "--quiet", code=(0, 3))
        names = self.path("tart.int8.uvh5"), self.path("tart.fp32.uvh5")
        header = program.read(names[0]).header
        self.assertIn(f"gives {header['Ntimes']} dumps of {header['Nbls']} "
                      f"baselines and {header['Nfreqs']:,} channels",
                      RECORDINGS_PAGE)
        done = self.well("compare", *names)
        for pattern in (r"INT8 loss is ([0-9.]+) x predicted, allowed "
                        r"([0-9.]+) to ([0-9.]+) ",
                        r"(?m)^all pairs +(.*)$",
                        r"(?m)^baseline 8-13 +(.*)$",
                        r"(?m)^channels +(.*)  channel 761 \(1577",
                        r"(?m)^cells +(.*)  baseline 6-13 XX, channel 515"):
            want, got = (
                [float(word) for word in " ".join(
                    re.search(pattern, text).groups()).split()]
                for text in (shown, done.stdout))
            self.assertEqual(len(want), len(got))
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
        # a sample near the clamp may be clipped or not
        pattern = r"left out: clipped more than 1e-4: (\d+) cells, .*(inputs .*)"
        want, got = (re.search(pattern, text).groups()
                     for text in (shown, done.stdout))
        self.assertEqual(got[1], want[1])
        self.assertAlmostEqual(int(got[0]), int(want[0]), delta=20)

    def test_speed(self):
        page = re.search(r"the whole run is in\s+(validation/results/\S+\.md)",
                         PAGE)[1]
        kept = program.text(page)
        rows = re.findall(r"^\| (\d+ x \d+) \|(.*)\|$", PAGE, re.MULTILINE)
        self.assertEqual(len(rows), 4)
        for shape, rest in rows:
            columns = [cell.split(",") for cell in rest.split("|")]
            for k, precision in enumerate(("int8", "fp32")):
                with self.subTest(shape=shape, precision=precision):
                    _, bank, correlate, _, share, whole, _ = re.search(
                        rf"^ *{shape} +{precision} +(.*)$", kept,
                        re.MULTILINE)[1].split()
                    got = [column[k].strip() for column in columns]
                    self.assertEqual([got[0], got[1], got[3]],
                                     [bank, correlate, whole])
                    # 0.835 is written as 84 %
                    self.assertAlmostEqual(float(got[2].split()[0]),
                                           100 * float(share), delta=0.5)

    def test_station_and_reading(self):
        words = " ".join((PAGE + CONTRIBUTING).split())
        kept = program.text(re.search(
            r"`make station`, kept in (validation/results/\S+\.md)", words)[1])
        seconds = re.search(
            r"two cores of a Zen 4 ([0-9.]+) s for ([0-9.]+) s, ([0-9.]+) × real "
            r"time, and ([0-9.]+) s with 27", words)
        self.assertIn(f"\n{float(seconds[2]):.2f}", kept)
        self.assertIn(f"as recorded: {seconds[1]} s, {seconds[3]} x real time,",
                      kept)
        self.assertIn(f"27 fine channels: {seconds[4]} s,", kept)
        kept = program.text("validation/results/reading-amd-zen5-2cores.md")
        shares = [float(share) for share in re.findall(
            r"GB/s +([01]\.\d\d) +0\.[89]0 ", kept)]
        figures = re.search(r": ([0-9.]+) to ([0-9.]+) of it, and two threads "
                            r"unpack deflate ([0-9.]+) times", words)
        self.assertEqual([min(shares), max(shares)],
                         [float(figures[1]), float(figures[2])])
        one, two = re.search(r"shuffle, deflate 1 +([0-9.]+) GB/s.* ([0-9.]+) "
                             r"GB/s", kept).groups()
        self.assertAlmostEqual(float(two) / float(one), float(figures[3]),
                               delta=0.06)


# Architectures to build with CUDA 11.8, and a script that, like its nvcc, lists
# its architectures and refuses others.
CUDA_11_SMS = ["61", "70", "75", "80", "86", "89", "90"]
NVCC_11 = """#!/bin/sh
echo "nvcc $*" >> "$LOG"
known="35 37 50 52 53 60 61 62 70 72 75 80 86 87 89 90"
if [ "$1" = --list-gpu-code ]; then
    for sm in $known; do echo "sm_$sm"; done
fi
for asked in $(echo "$*" | grep -Eo '(sm|compute)_[0-9a-z]+'); do
    case " $known " in *" ${asked#*_} "*) ;; *)
        echo "nvcc fatal   : Unsupported gpu architecture '$asked'" >&2
        exit 1
    esac
done
"""


class Make(program.Case):
    """CUDA=1 without a compiler and invalid values are errors; so are warnings
    of nvcc with STRICT=1."""

    def test_strict(self):
        for strict in "", "1":
            with self.subTest(STRICT=strict):
                done = subprocess.run(
                    ["make", "-n", "CUDA=1", "NVCC=true", f"STRICT={strict}",
                     "BUILD=/there/is/none",
                     "/there/is/none/kernels/cuda/fir.cu.o"],
                    capture_output=True, text=True)
                self.assertIn(" -c kernels/cuda/fir.cu ", done.stdout)
                self.assertEqual("-Werror all-warnings" in done.stdout,
                                 strict == "1", done.stdout)

    def test_cuda_11(self):
        """No architecture is requested that the compiler does not list."""
        folder, log = self.folder, self.path("log")
        nvcc = self.save("nvcc", NVCC_11)
        os.chmod(nvcc, 0o755)
        for sms, asked in ((None, CUDA_11_SMS), ("90", ["90"])):
            with self.subTest(SMS=sms):
                done = subprocess.run(
                    ["make", "CUDA=1", f"NVCC={nvcc}", f"BUILD={folder}",
                     *([f"SMS={sms}"] if sms else []),
                     f"{folder}/kernels/cuda/fir.cu.o",
                     f"{folder}/kernels/cuda/correlate_wgmma.cu.o",
                     f"{folder}/validation/gpu/ceilings_wgmma.cu.o"],
                    capture_output=True, text=True,
                    env=os.environ | {"LOG": log})
                self.assertEqual(done.returncode, 0, done.stderr)
                built = {}
                for line in program.text(log).splitlines():
                    if " -c " in line and "/dev/null" not in line:
                        source = re.search(r" -c (\S+)", line).group(1)
                        built[source] = re.findall(r"code=(\w+)", line)
                self.assertEqual(
                    built.pop("kernels/cuda/fir.cu"),
                    [f"sm_{sm}" for sm in asked] + ["compute_80"])
                # no code that a card of sm_90 could run
                others = [sm for sm in asked if sm != "90"] or ["80"]
                self.assertEqual(
                    built, dict.fromkeys(
                        ("kernels/cuda/correlate_wgmma.cu",
                         "validation/gpu/ceilings_wgmma.cu"),
                        [f"sm_{sm}" for sm in others]))
                os.remove(log)

    def test_cuda(self):
        for choice, words in (
                ("1", "no nvcc to use"), ("yes", "must be auto, 0 or 1")):
            with self.subTest(CUDA=choice):
                done = subprocess.run(
                    ["make", "-n", f"CUDA={choice}", "NVCC=/there/is/none",
                     f"BUILD={os.environ['FX8_BUILD']}", "all"],
                    capture_output=True, text=True)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)
