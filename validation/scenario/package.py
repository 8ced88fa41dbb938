# SPDX-License-Identifier: BSD-3-Clause
"""Everything distributed: libfx8 as installed, its symbols, its header in C++,
the examples built with it; the manual page and the completion; the sources as
a tar file and as Debian packages.

Shows (packaging, libfx8): as installed, both libraries have the symbols that
    the compiler finds declared in the headers, soname and pkg-config are
    right, and each header compiles in C11 to C++20 without a warning; the
    examples run under the address checker: memory agrees with formulas of
    white noise, a growing recording with the oracle, and each dump is out
    before the next is written
Within: names equal; 5 sigma; near ties, and 2⁻²¹
Because: spread of the noise; gains of single precision
In: Library Examples

Shows (packaging, install): install and uninstall work; links in installed
    pages, headers, examples, configurations and fx8(1) lead to installed
    files, except for tests and kernels
Within: leaves nothing; every link, and every name with its folder
In: Files Library

Shows (packaging, manual and completion): every command, option and key is
    there, and man gives no warning; the program accepts the offered words, and
    files are offered by their kind
Within: equal to what the program takes and `config --dump` lists
In: Manual Completion

Shows (packaging, sources): `make dist` makes the same bytes under another
    umask and time zone, with all committed files, and they build and run
    without git; so do Debian packages (`FX8_LONG=1`, debhelper)
Within: equal
In: Sources
"""
import functools
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import unittest
from fractions import Fraction

import numpy as np
import yaml

import oracle
import program

BUILD = os.environ.get("FX8_BUILD", "build")
CPUS = len(os.sched_getaffinity(0))
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
# Where the folders that pages name are installed, below the prefix.
PLACES = {"config/ready": "share/fx8", "correlator": "share/doc/fx8/correlator",
          "data": "share/doc/fx8/data", ".github": "share/doc/fx8/.github"}
CHECKED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def run(*command, environment=None, folder=None, may_talk=False):
    """Standard output of a command, which must succeed. Its standard error must
    be empty unless `may_talk`."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0 or (done.stderr and not may_talk):
        raise AssertionError(f"{' '.join(command)}: {done.returncode}: "
                             f"{done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def version():
    return program.run("--version").stdout.split()[1]


class Installed(program.Case):
    """Everything installed under a separate prefix."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = tempfile.mkdtemp(prefix="fx8-prefix-")
        run("make", f"BUILD={BUILD}", "CUDA=0", f"prefix={cls.prefix}",
            "install", may_talk=True)
        cls.environment = {
            "PKG_CONFIG_PATH": f"{cls.prefix}/lib/pkgconfig",
            "LD_LIBRARY_PATH": f"{cls.prefix}/lib"}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.prefix)
        super().tearDownClass()

    def pkg_config(self, *arguments):
        return run("pkg-config", *arguments, "fx8",
                   environment=self.environment).split()

    def document(self, name):
        return f"{self.prefix}/share/doc/fx8/{name}"

    def build(self, source, *flags, compiler="gcc"):
        """Build a program from an example or from a text; returns its path."""
        path = self.path(os.path.basename(source).split(".")[0])
        run(compiler, source, "-o", path, *flags,
            environment=self.environment)
        return path


class Files(Installed):
    """What is installed, and its removal."""

    def test_what_is_installed_is_uninstalled(self):
        def files():
            return {path.removeprefix(self.folder) for path in glob.glob(
                f"{self.folder}/**", recursive=True, include_hidden=True)
                if os.path.isfile(path)}
        for target in "install", "uninstall":
            run("make", f"BUILD={BUILD}", "CUDA=0", f"DESTDIR={self.folder}",
                "prefix=/usr", target, may_talk=True)
            found = files()
            if target == "install":
                self.assertLessEqual({
                    "/usr/bin/fx8", "/usr/lib/libfx8.so",
                    "/usr/include/fx8/fx8.h", "/usr/share/fx8/tart.ini"}, found)
        self.assertEqual(found, set())

    def test_what_pages_point_to(self):
        """The files that pages name are installed where they point, except
        tests and kernels, which are for readers of the sources."""
        found = set()
        for path in glob.glob(f"{self.prefix}/**", recursive=True,
                              include_hidden=True):
            if not path.endswith((".md", ".h", ".c", ".ini", ".csv", "/fx8.1")):
                continue
            text = program.text(path)
            for link in re.findall(r"\]\(([^)#\s:]+)[^)\s:]*\)", text):
                with self.subTest(path=path, link=link):
                    self.assertTrue(os.path.exists(os.path.join(
                        os.path.dirname(path), link)))
            for room, name in re.findall(
                    rf"(?<![\w./-])({'|'.join(map(re.escape, PLACES))})/"
                    r"([\w./-]*\w\.(?:md|ini|csv|cff))\b", text):
                with self.subTest(path=path, room=room, name=name):
                    found.add(f"{room}/{name}")
                    self.assertTrue(os.path.exists(
                        f"{self.prefix}/{PLACES[room]}/{name}"))
        self.assertLessEqual({"data/README.md", "correlator/CONVENTIONS.md",
                              "config/ready/station.ini", ".github/SECURITY.md"},
                             found)


class Library(Installed):
    """Shared and static library, header, pkg-config."""

    def declared(self):
        """Functions that the installed headers declare, according to the
        compiler, and the headers that declare them."""
        source, seen = self.path("user.c"), self.path("seen")
        self.save(source, "#include <fx8.h>\n")
        run("gcc", "-std=c17", "-fsyntax-only", "-aux-info", seen, source,
            *self.pkg_config("--cflags"))
        folder = f"{self.prefix}/include/fx8/"
        found = re.findall(
            rf"^/\* {re.escape(folder)}(\S+):\d+:NC \*/ extern .*?(\w+) \(",
            program.text(seen), re.M)
        return sorted(name for _, name in found), {file for file, _ in found}

    def symbols(self, name, *options):
        text = run("nm", "--defined-only", "--extern-only", "--format=posix",
                   *options, f"{self.prefix}/lib/{name}")
        return sorted(line.split()[0] for line in text.splitlines()
                      if " " in line)

    def test_symbols_are_those_of_the_headers(self):
        names, files = self.declared()
        self.assertLessEqual({"fx8_open", "fx8_fail", "fx8_time_julian_date"},
                             set(names))
        self.assertEqual(files, {"fx8.h"})
        self.assertEqual([name for name in names
                          if not re.fullmatch("fx8_[a-z0-9_]+", name)], [])
        self.assertEqual(self.symbols("libfx8.so", "--dynamic"), names)
        self.assertEqual(self.symbols("libfx8.a"), names)

    def test_headers_warn_of_nothing(self):
        """Each header alone, with all warnings except those about padding and
        about features that C++98 lacks."""
        folder = f"{self.prefix}/include/fx8"
        self.assertEqual(os.listdir(folder), ["fx8.h"])
        source = self.save("user.c",
                           "#include <fx8.h>\ntypedef int user_unit;\n")
        for language, standards in (("c", ("c11", "c17", "c2x")),
                                    ("c++", ("c++11", "c++17", "c++20"))):
            for standard in standards:
                run("clang", "-x", language, f"-std={standard}",
                    "-Weverything", "-Wno-padded", "-Wno-c++98-compat",
                    "-Wno-c++98-compat-pedantic", "-Werror",
                    "-fsyntax-only", f"-I{folder}", source)

    def test_version_everywhere(self):
        number = version()
        # before 1.0 a minor version may change anything: it is in the name
        major, minor, _ = number.split(".")
        name = f"libfx8.so.{major}" + (f".{minor}" if major == "0" else "")
        numbers = re.findall(r"^#define FX8_VERSION_[A-Z]+ (\d+)$",
                             program.text("correlator/fx8.h"), re.M)
        self.assertEqual(".".join(numbers), number)
        text = run("readelf", "-d", f"{self.prefix}/lib/libfx8.so")
        self.assertEqual(re.findall(r"soname: \[(.*)\]", text), [name])
        self.assertEqual(os.readlink(f"{self.prefix}/lib/libfx8.so"), name)
        self.assertEqual(self.pkg_config("--modversion"), [number])
        latest = re.search(r"^## (\S+)",
                           program.text(".github/CHANGELOG.md"), re.M)
        self.assertEqual(latest.group(1), number)
        cited = yaml.safe_load(program.text(".github/CITATION.cff"))
        self.assertEqual(cited["version"], number)
        # required by the schema of version 1.2.0
        self.assertLessEqual({"cff-version", "message", "title", "authors",
                              "date-released"}, set(cited))

    def test_header_in_cpp(self):
        source = self.save("user.cpp",
                           "#include <fx8.h>\n#include <cstdio>\n"
                           "int main() { const fx8_plan plan = "
                           "fx8_plan_default();\n"
                           "    std::printf(\"%s %zu\", fx8_version(), "
                           "plan.channelizer.n_taps); }\n")
        for compiler in ("g++", "clang++"):
            with self.subTest(compiler=compiler):
                user = self.build(source, "-std=c++17", *STRICT,
                                  *self.pkg_config("--cflags", "--libs"),
                                  compiler=compiler)
                self.assertEqual(run(user, environment=self.environment),
                                 f"{version()} 8")

    def test_needs_of_both_libraries(self):
        self.assertNotIn("-lfftw3f", self.pkg_config("--libs"))
        alone = self.path("static")
        os.mkdir(alone)
        shutil.copy(f"{self.prefix}/lib/libfx8.a", alone)
        flags = self.pkg_config("--static", "--cflags", "--libs",
                                f"--define-variable=libdir={alone}")
        source = self.document("correlator/examples/memory.c")
        user = self.build(source, "-std=c17", *flags)
        self.assertNotIn("libfx8", run("ldd", user))
        shared = self.build(source, "-std=c17",
                            *self.pkg_config("--cflags", "--libs"), "-lm")
        self.assertIn("libfx8", run("ldd", shared))


class Examples(Installed):
    """User programs, under the address checker."""

    def example(self, name):
        source = self.document(f"correlator/examples/{name}.c")
        flags = self.pkg_config("--cflags", "--libs")
        run("clang", "-std=c17", "-D_POSIX_C_SOURCE=200809L", "-fsyntax-only",
            "-Wconversion", "-Wshadow", "-Wvla", *STRICT, source,
            *self.pkg_config("--cflags"))
        return self.build(source, *STRICT, *CHECKED, *flags, "-lm")

    def test_memory(self):
        rows = np.array([line.split() for line in run(
            self.example("memory"),
            environment=self.environment).splitlines()], float)
        channels, spectra, dumps = 16, 4096, 2
        self.assertEqual(rows.shape, (dumps * channels, 6))
        dump, frequency, power_0, power_1, amplitude, phase = rows.T
        k = np.arange(channels) - channels // 2
        np.testing.assert_array_equal(dump, np.repeat(range(dumps), channels))
        np.testing.assert_array_equal(frequency,
                                      np.tile(150e6 + 1e5 * k, dumps))
        weights = oracle.prototype(
            oracle.Setup(channels=channels, integration_time_s="all"),
            channels)
        # neighbouring spectra share samples: their powers are not independent
        shared = sum(np.sum(weights[n:] * weights[:-n])**2
                     for n in range(channels, len(weights), channels))
        n_free = spectra / (1 + 2 * shared)
        # both parts are uniform over 31 integers
        variance = 2 * (31**2 - 1) / 12
        for power in (power_0, power_1):
            np.testing.assert_allclose(power, variance,
                                       rtol=5 / np.sqrt(n_free))
        # white noise against itself a sample later; rounding reduces it
        coherence = np.sum(weights[1:] * weights[:-1])
        seen = coherence / (1 + 1 / (12 * 20**2))
        spread = (1 - seen**2) / np.sqrt(2 * n_free)
        np.testing.assert_allclose(amplitude / np.sqrt(power_0 * power_1),
                                   coherence, atol=5 * spread)
        spread = np.sqrt((1 - seen**2) / (2 * n_free)) / seen
        turn = np.exp(1j * (phase + np.tile(2 * np.pi * k / channels, dumps)))
        np.testing.assert_allclose(np.angle(turn), 0, atol=5 * spread)

    SPECTRA, CHANNELS, TAPS, ANTENNAS = 1000, 16, 8, 3

    def recording(self):
        """Samples [time][antenna] of three dumps and a part of a fourth: common
        and independent noise, losses of one antenna and of all."""
        numbers = np.random.default_rng(12)
        n = self.CHANNELS * (3 * self.SPECTRA + self.TAPS + 300)
        common, *own = numbers.normal(size=(4, n, 2)) @ [1, 1j]
        samples = program.to_int8(np.stack(
            [15 * np.roll(common, delay) + 10 * noise
             for delay, noise in enumerate(own)], axis=1))
        samples[20_000:20_700, 1] = -128 - 128j
        samples[33_000:33_100] = -128 - 128j
        samples[40_000:40_063, 2] = -128 - 128j     # one too few for a loss
        return samples

    def expected(self, samples):
        scene = oracle.Recording(
            samples=samples.T[:, None], rate=Fraction(1_000_000), dc_hz=150e6,
            lower=False, start=Fraction(1_600_000_000), numbers=[0, 1, 2])
        return oracle.correlate(scene, oracle.Setup(
            channels=self.CHANNELS, integration_time_s=0.016,
            precision="int8", missing_value=-128))

    def check_follow(self, text, samples):
        want = self.expected(samples)
        rows = np.array([line.split() for line in text.splitlines()], float)
        shape = want.visibilities.shape
        self.assertEqual(shape, (3, 6, self.CHANNELS, 1))
        self.assertEqual(len(rows), want.visibilities.size)
        seconds = [line.split()[0] for line in text.splitlines()]
        centres = [
            Fraction(1_600_000_000) + Fraction(
                2 * dump * self.SPECTRA * self.CHANNELS
                + (self.SPECTRA - 1) * self.CHANNELS
                + self.TAPS * self.CHANNELS, 2_000_000)
            for dump in range(3)]
        self.assertEqual([Fraction(word) for word in seconds],
                         [c for c in centres for _ in range(6 * 16)])
        pairs = [(a, b) for a in range(3) for b in range(a, 3)]
        self.assertEqual(rows[:, 1:3].astype(int).tolist(),
                         [list(p) for _ in range(3) for p in pairs
                          for _ in range(16)])
        np.testing.assert_array_equal(
            rows[:, 3], np.tile(want.frequencies_hz, 18))
        np.testing.assert_array_equal(rows[:, 6].astype(np.float32),
                                      want.nsamples.ravel().astype(np.float32))
        # gains of single precision are two roundings off those of the oracle
        error = np.abs(rows[:, 4] + 1j * rows[:, 5]
                       - want.visibilities.ravel())
        limit = want.slack.ravel() + 2.0**-21 * want.scale.ravel()
        np.testing.assert_array_less(error, limit)

    def test_follow(self):
        follow = self.example("follow")
        samples = self.recording()
        data = program.packed(samples).tobytes()
        path = self.path("recording.raw")
        open(path, "wb").close()
        process = subprocess.Popen(
            [follow, path, "60"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, **self.environment})
        watch = threading.Timer(50, process.kill)
        watch.start()
        cells = 6 * self.CHANNELS
        lines, at = [], 0
        cut = random.Random(3)
        # each dump comes out before the next one has been written
        for dump in range(3):
            end = 6 * self.CHANNELS * (
                (dump + 1) * self.SPECTRA + self.TAPS + 200)
            with open(path, "ab", buffering=0) as file:
                while at < end:
                    at += file.write(data[at:min(at + cut.randint(1, 9999),
                                                 end)])
            lines += [process.stdout.readline() for _ in range(cells)]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
        watch.cancel()
        self.assertEqual((process.returncode, out), (0, ""), err)
        self.check_follow("".join(lines), samples)
        # a complete recording gives the same
        self.save(path, data)
        done = program.run(path, "0.1", program=(follow,),
                           environment=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "".join(lines))
        self.assertIn(f"samples: {len(samples)}, spectra of an unfinished "
                      "dump: 301\n", done.stderr)


@functools.cache
def options_of(command):
    """Long options of a command, and whether they take an argument: from its
    help, and as the program accepts them."""
    found = {"--help": False}
    for option, argument in re.findall(r"^  (?:-\w, )?(--[\w-]+)(?: (\S+))?",
                                       program.run(command, "--help").stdout,
                                       re.M):
        printed = program.run(command, f"{option}=x", "--nonsense").stderr
        found[option] = f"{option}: takes no value" not in printed
        if found[option] != bool(argument) or f"{option}: unknown" in printed:
            raise AssertionError(f"{command} {option} {argument}: {printed}")
    return found


def commands():
    text = program.run("--help").stdout
    return re.findall(r"^  (\w+) ", text, re.M)


def keys():
    """Every key as section.name, and its default."""
    section, found = None, {}
    for line in program.run("config", "--dump").stdout.splitlines():
        if line.startswith("["):
            section = line[1:-1]
        elif line:
            name, _, value = line.removeprefix("# ").partition(" ")
            found[f"{section}.{name}"] = value.removeprefix("=").strip()
    return found


class Manual(Installed):
    """fx8(1)."""

    PAGE = "share/man/man1/fx8.1"

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_nothing_to_warn_of(self):
        self.assertIn("stopped by a signal", run(
            "groff", "-ww", "-man", "-Tutf8", f"{self.prefix}/{self.PAGE}"))

    def test_names_everything(self):
        text = re.sub(r"\\f[BIR]", "",
                      program.text(f"{self.prefix}/{self.PAGE}"))
        text = text.replace("\\-", "-")
        for command in commands():
            part = re.search(rf"^\.SS {command}\nfx8 {command} .*?(?=^\.S)",
                             text, re.M | re.S)
            for option in options_of(command):
                if option != "--help":
                    self.assertRegex(part.group(),
                                     rf"\.TP\n(-\w, )?{option}\b")
        for key in keys():
            section, name = key.split(".")
            self.assertRegex(text, rf"(?s)\.SS \[{section}\].*?\n\.TP\n"
                                   rf"{name} = ")
        self.assertIn(f'"fx8 {version()}"', text)


ASK = """
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_fx8
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(Installed):
    """Command lines split as bash splits them, and the words offered."""

    def script(self):
        return f"{self.prefix}/share/bash-completion/completions/fx8"

    def offered(self, *words):
        text = run("bash", "--norc", "-c", ASK, "bash", self.script(), "fx8",
                   *words, folder=self.folder)
        return sorted(set(text.split()))

    def test_commands_and_options(self):
        self.assertEqual(self.offered(""),
                         sorted(commands() + ["--help", "--version"]))
        self.assertEqual(self.offered("corr"), ["correlate"])
        for command in commands():
            self.assertEqual(self.offered(command, "--"),
                             sorted(options_of(command)), command)
        self.assertEqual(self.offered("correlate", "--fo"), ["--force"])

    def test_what_options_take(self):
        self.assertEqual(self.offered("correlate", "--precision", "=", "in"),
                         ["int8", "interval"])
        taking = [f"{command} {option}" for command in commands()
                  for option, takes in options_of(command).items() if takes]
        self.assertEqual(sorted(re.findall(
            r"^    '(\w+ --[\w-]+)'", program.text(self.script()), re.M)),
            sorted(taking))

    def test_keys(self):
        names = [f"{key}=" for key in keys()]
        for command in ("correlate", "info", "simulate", "config"):
            self.assertEqual(self.offered(command, "--set", ""), sorted(names))
        self.assertEqual(
            self.offered("correlate", "-o", "x", "--set", "array.l"),
            ["array.latitude_deg=", "array.longitude_deg="])

    def test_values(self):
        """The program accepts every offered value, and the default is offered."""
        with_words = re.findall(r"^    (\w+\.\w+)\) echo 'words",
                                program.text(self.script()), re.M)
        self.assertGreater(len(with_words), 20)
        defaults = keys()
        for key in with_words:
            words = self.offered("config", "--set", key, "=", "")
            self.assertTrue(words, key)
            for word in words:
                self.well("config", "--dump", "--set", f"{key}={word}")
            if re.fullmatch("[a-z][a-z,]*", defaults[key]):
                self.assertIn(defaults[key], words, key)

    def test_files(self):
        for name in ("a.ini", "b.h5", "c.uvh5"):
            open(self.path(name), "w").close()
        os.mkdir(self.path("folder"))
        for line, *files in (
                ("correlate ", "a.ini", "folder"),
                ("correlate --precision fp32 ", "a.ini", "folder"),
                ("correlate a.ini ", "a.ini", "b.h5", "c.uvh5", "folder"),
                ("correlate --output ", "c.uvh5", "folder"),
                ("compare c.uvh5 ", "c.uvh5", "folder"),
                ("info --set array.positions = a", "a.ini")):
            with self.subTest(line=line):
                self.assertEqual(self.offered(*line.split(" ")), files)


class Sources(program.Case):
    """make dist, and builds from it without git."""

    def setUp(self):
        super().setUp()
        if not shutil.which("git") or subprocess.run(
                ["git", "rev-parse", "HEAD"],
                capture_output=True).returncode != 0:
            self.skipTest("no git, or not a clone")

    def dist(self, name, **environment):
        folder = self.path(name)
        out = run("make", f"BUILD={folder}", "dist", environment=environment)
        self.assertEqual(out.strip(), f"{folder}/fx8-{version()}.tar.gz")
        return out.strip()

    def test_the_same_bytes_and_all_of_them(self):
        first = self.dist("first")
        mask = os.umask(0o077)
        try:
            second = self.dist("second", TZ="Asia/Tokyo", LC_ALL="C")
        finally:
            os.umask(mask)
        self.assertTrue(program.content(first) == program.content(second))
        with tarfile.open(first) as file:
            members = {m.name: m for m in file if not m.isdir()}
        listed = run("git", "ls-tree", "-r", "--name-only", "HEAD").split("\n")
        self.assertEqual(sorted(members), sorted(
            f"fx8-{version()}/{name}" for name in listed if name))
        self.assertEqual({(m.uname, m.mode & 0o022)
                          for m in members.values()}, {("root", 0)})

    def test_build_without_git(self):
        with tarfile.open(self.dist("made")) as file:
            file.extractall(self.folder)
        root = self.path(f"fx8-{version()}")
        flags = {name: "" for name in ("MAKEFLAGS", "BUILD")}
        options = ["CFLAGS=-O0 -w"]     # fast, without warnings: lint has those
        if not program.LONG:
            # objects newer than their sources: make still notices a missing
            # source or header, and links the program
            options = []
            os.mkdir(f"{root}/build")
            for name in ("flags", "config", "correlator", "io", "kernels"):
                run("cp", "-R", f"{BUILD}/{name}", f"{root}/build")
        run("make", f"-j{CPUS}", "BUILD=build", "CUDA=0", *options,
            "all", folder=root, may_talk=True,
            environment={**flags, "GIT_DIR": "/dev/null"})
        text = run("validation/demo.sh", "build/fx8", "build/demo",
                   folder=root, environment={"FX8_RECORDINGS": ""},
                   may_talk=True)
        ratio = re.search(r"measured / predicted ([\d.]+)", text)
        self.assertAlmostEqual(float(ratio.group(1)), 1, delta=0.1)

    def test_recipe_has_the_version(self):
        text = program.text(".debian/changelog")
        self.assertRegex(text, rf"\Afx8 \({re.escape(version())}-\d+\) ")
        # the package is named after the soname, and others depend on it
        name = os.readlink(f"{BUILD}/libfx8.so")
        package = name.replace(".so.", "-")
        self.assertEqual(program.text(f".debian/{package}.install").split(),
                         [f"usr/lib/*/{name}"])
        self.assertEqual(re.findall(r"libfx8-\d[\d.]*",
                                    program.text(".debian/control")),
                         [package, package])

    @unittest.skipUnless(program.LONG, "FX8_LONG=1 builds Debian packages")
    @unittest.skipUnless(shutil.which("dpkg-buildpackage")
                         and shutil.which("dh"), "no debhelper")
    def test_debian_packages(self):
        run("make", f"BUILD={self.folder}", "deb", may_talk=True)
        names = [os.path.basename(path).split("_")[0] for path in
                 glob.glob(f"{self.folder}/deb/*.deb")]
        self.assertLessEqual({"fx8", "libfx8-0.1", "libfx8-dev"}, set(names))
