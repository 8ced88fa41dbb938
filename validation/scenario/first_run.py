# SPDX-License-Identifier: BSD-3-Clause
"""gpu/first_run.sh, the one run on a card, started from a bare folder, with
programs on pretend devices or scripts in their place, and with each kind of
failure. Everything that did not fail is still measured.

Shows (devices, one run on a card): `gpu/first_run.sh` works from a bare
    folder, on pretend devices and with scripts for programs: kernels with
    wrong sums, that crash or hang, a section that hangs, a whole program that
    fails, and missing ncu, make, cuFFT or time are each skipped alone and
    reported; a card that is listed but unusable is a failure; the right files
    are packed; `gpu/page.sh` makes one page of all sections; the engine is no
    faster than its stages
Within: lines of the summary
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
import unittest

import program

KINDS = ("fp32", "dp4a", "mma", "wgmma")
# The only tools on the path: those that the script and whole.sh call.
TOOLS = """awk basename cat chmod cmp cp cut date dirname env find grep gzip head
    ls mkdir mktemp mv nproc printf rm rmdir sed sh sleep sort tail tar tee timeout tr
    wc"""
WELL = "exit 0"
BENCH = """
    [ "$1" = --profile ] && { echo "called $2"; exit 0; }
    while [ $# -gt 0 ]; do
        case $1 in
        --quick) shift && continue ;;
        --section) section=$2 ;;
        --output) page=$2 ;;
        --json) rows=$2 ;;
        esac
        shift 2
    done
    echo "{ of $section only $FX8_ONLY }" >"$rows"
    echo "# $section without $FX8_WITHOUT" >"$page.part"
    [ "$section" = ceilings ] && sleep 100
    [ "$section" = correlators ] && head -c 200000 /dev/urandom >>"$page.part"
    echo "goal of $section${FX8_ONLY:+ only $FX8_ONLY} reached" >>"$page.part"
    mv "$page.part" "$page"
"""
SCRIPTS = {"gpu_xengine": WELL, "gpu_fir": WELL, "gpu_spectra": WELL,
           "gpu_postprocess": WELL, "gpu_image": WELL, "gpu_engine": WELL,
           "gpu_imager": WELL, "gpu_choose": WELL,
           "numerics-gpu": WELL, "bench-gpu": BENCH, "bench-kernels": BENCH}
LISTED = 'case $1 in -L) echo "GPU 0: a card" ;; esac'


class Machine(program.Case):
    """A folder with only the scripts, and a path with few tools."""

    def setUp(self):
        super().setUp()
        shutil.copytree("validation/gpu", self.path("bare/validation/gpu"),
                        ignore=shutil.ignore_patterns("*.cu*", "*.py"))
        os.mkdir(self.path("path"))
        for tool in TOOLS.split():
            os.symlink(shutil.which(tool), self.path(f"path/{tool}"))
        for name, text in (("make", WELL), ("nvcc", WELL),
                           ("nvidia-smi", LISTED)):
            self.script(f"path/{name}", text)

    def script(self, path, text):
        path = self.path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.islink(path):
            os.remove(path)
        self.save(path, f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def scripts(self, folder="build", **changed):
        """Write scripts in place of programs; gpu_fir=None: leave it out."""
        changed = {name.replace("bench_", "bench-"): text
                   for name, text in changed.items()}
        for name, text in {**SCRIPTS, **changed}.items():
            if text is not None:
                self.script(f"{folder}/{name}", text)

    def command(self, **environment):
        return {"args": ["validation/gpu/first_run.sh", self.path("printed")],
                "cwd": self.path("bare"), "stdin": subprocess.DEVNULL,
                "env": {"PATH": self.path("path"), "BUILD": self.path("build"),
                        **environment}}

    def run_all(self, **environment):
        """Run the script; returns its exit status and the lines of its
        summary."""
        done = subprocess.run(**self.command(**environment), text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, self.read("summary.txt").splitlines()

    def read(self, name):
        with open(self.path(f"printed/{name}"), encoding="latin-1") as file:
            return file.read()

    def packed(self):
        with tarfile.open(self.path("printed.tar.gz")) as file:
            return {os.path.basename(name) for name in file.getnames()}

    def check_lines(self, summary, *beginnings):
        for beginning in beginnings:
            self.assertEqual(
                1, sum(line.startswith(beginning) for line in summary),
                f"{beginning}\n" + "\n".join(summary))

    def make_page(self):
        """Make pages of what was printed; returns the exit status and the
        page."""
        done = subprocess.run(
            ["validation/gpu/page.sh", self.path("printed"), self.folder],
            text=True, capture_output=True, check=False)
        if done.returncode:
            self.assertIn("expected sections of one machine", done.stderr)
            return done.returncode, ""
        with open(done.stdout.split()[0], encoding="utf-8") as file:
            return done.returncode, file.read()

    def check_measured(self, summary, kinds):
        """These kinds are measured; for the others the summary says why not."""
        for kind in KINDS:
            name = f"bench, kernels, {kind}: "
            self.check_lines(summary, name + (
                "well" if kind in kinds else "left out, its check failed"))


class Pretend(Machine):
    """Real programs, on pretend devices."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run(["make", f"BUILD={program.BUILD}", "CUDA=0",
                        "pretend-programs"], check=True,
                       stdout=subprocess.DEVNULL)

    def setUp(self):
        super().setUp()
        self.scripts()
        for name in ("xengine", "fir", "spectra", "postprocess", "image"):
            self.link("fx8-test-cuda", f"gpu_{name}")
        for name in ("bench-gpu", "bench-kernels", "fx8-cuda.so"):
            self.link(f"harness/{name}", name)
        subprocess.run(["validation/gpu/bundle.sh", program.BUILD,
                        self.path("build/gpu-bundle")], check=True,
                       stdout=subprocess.DEVNULL)

    def link(self, program_name, name):
        path = self.path(f"build/{name}")
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(os.path.join(program.BUILD, program_name), path)

    def test_wrong_sums_and_a_crash(self):
        """The whole program works without these kernels."""
        status, summary = self.run_all(
            FX8_SHORT="1",
            FX8_HARNESS_PLANT="correlate_mma_64:idle,correlate_wgmma:crash")
        self.assertEqual(status, 1)
        self.check_measured(summary, ("fp32", "dp4a"))
        self.check_lines(
            summary, "check, fp32: well", "check, dp4a: well",
            "check, mma: FAILED, exit status 1",
            "#   impulses in rows (j): 512 not in its own place",
            "check, wgmma: FAILED, ended by SIGABRT", "check, fir: well",
            "check, image: well", "bench, image: well",
            "whole program: well", "goal fp32, of FFMA",
            "goal dp4a, of IDP.4A", "goal FIR, of a device",
            "goal whole engine", "goal joules of a product",
            "bench, ceilings: well", "bench, engine: well",
            "bench, energy: well", "numerics: well",
            "left out: bench, kernels, mma: its check failed",
            "left out: profile, dp4a-64: no ncu")
        self.assertTrue(any(line.startswith("# mma-64: sums differ, ")
                            for line in summary))
        self.assertIn("#   channel 0, i 0, j 0: re got -",
                      self.read("kernels.txt"))
        whole = self.read("whole.txt")
        for kind in ("int8", "fp32"):
            self.assertIn(f"none.complex: {kind} of both are identical", whole)
        self.assertIn("dp4a: integers of the CPU", whole)
        self.assertNotIn("wgmma: integers", whole)
        rows = [json.loads(line)
                for line in self.read("card.jsonl").splitlines()]
        measured = {row["kernel"].split("-")[0] for row in rows
                    if row["kind"] == "correlator" and row["seconds"] > 0}
        self.assertEqual(measured, {"fp32", "dp4a", "CPU int8", "CPU fp32",
                                    "one core int8"})
        # nothing is counted that was not computed meanwhile
        engine = [row for row in rows if row["kind"] == "engine"]
        self.assertEqual({row["precision"] for row in engine},
                         {"int8", "fp32"})
        for row in engine:
            self.assertGreaterEqual(row["whole_s"], row["channelize_s"]
                                    + row["correlate_s"])
        self.assertIn(("dp4a-64", 512), [  # a call of the engine
            (row.get("kernel"), row.get("times")) for row in rows])
        self.assertLessEqual({"summary.txt", "kernels.txt", "card.jsonl",
                              "kernels.dp4a.md", "none.complex.int8.json"},
                             self.packed())
        self.check_page()

    def check_page(self):
        """Of the sections nothing but heads and commands is left out."""
        status, page = self.make_page()
        self.assertEqual(status, 0)
        self.assertEqual(page.splitlines()[0], "# pretend device 0")
        self.assertEqual(
            re.findall("^## (.*)$", page, re.MULTILINE),
            ["Steps", "Whole program", "kernels, dp4a", "kernels, fp32",
             "ceilings", "channelizer", "engine", "energy", "postprocess",
             "quicklook", "image", "correlators"])
        self.assertEqual(page.count(", compute capability "), 1)
        self.assertEqual(page.count("```") % 2, 0)
        lines = page.splitlines()
        for section in ("engine", "kernels.dp4a"):
            for line in self.read(f"bench/{section}.md").splitlines()[7:]:
                self.assertIn(line, lines)

    @unittest.skipUnless(program.LONG, "its limit is half a minute")
    def test_a_kernel_hangs(self):
        status, summary = self.run_all(
            FX8_SHORT="1", FX8_HARNESS_PLANT="correlate_mma_32:hang")
        self.assertEqual(status, 1)
        self.check_measured(summary, ("fp32", "dp4a", "wgmma"))
        self.check_lines(summary, "check, mma: FAILED, stopped after 25 s")


class Scripts(Machine):
    """Scripts in place of the programs."""

    def test_a_kind_and_a_section_hang(self):
        """FP32 and the ceilings hang; ncu is present. Recordings and files that
        are too large are not packed."""
        self.scripts(gpu_xengine='[ "$FX8_ONLY" != fp32 ] || sleep 100')
        self.script("path/ncu", 'echo "$*" && while [ "${1#*bench}" = "$1" ]; '
                                'do shift; done && exec "$@"')
        os.makedirs(self.path("printed/whole"))
        self.script("printed/whole/station.h5", "")
        status, summary = self.run_all(MOST_S="85", MOST_KIB="100")
        self.assertEqual(status, 1)
        self.check_measured(summary, ("dp4a", "mma", "wgmma"))
        self.check_lines(
            summary, "check, fp32: FAILED, stopped after 4 s",
            "cut short: check, fp32", "cut short: bench, ceilings",
            "bench, ceilings: FAILED, stopped", "bench, engine: well",
            "goal of kernels only wgmma,cublas,cpu reached",
            "goal of engine reached", "profile, mma-128: well",
            "left out: profile, fp32-64: its check failed",
            "left out: whole program: no ", "left out: sanitizer",
            "not packed, too large: ./card.md",
            "not packed, too large: ./bench/correlators.md")
        self.assertNotIn("check, choose", "\n".join(summary))
        self.assertIn("# ceilings without fp32\n", self.read("card.md"))
        self.assertIn("{ of kernels only mma,cublas,cpu }\n",
                      self.read("card.jsonl"))
        profiles = self.read("profiles.txt")
        self.assertIn("--clock-control none", profiles)
        self.assertIn("called wgmma-128\n", profiles)
        self.assertIn("kernels.mma.md", self.packed())
        self.assertFalse({"station.h5", "card.md"} & self.packed())

    def test_a_section_ends_before_its_step(self):
        """Whatever time there is, a section begins nothing new before its step
        is stopped."""
        self.scripts(bench_kernels=BENCH.replace("sleep", ": "))
        self.script("path/timeout", f'echo "$*" >>{self.path("steps")}\n'
                                    f'exec {shutil.which("timeout")} "$@"')
        for most, is_quick in (("530", False), ("240", True), ("60", True)):
            with self.subTest(most=most):
                self.run_all(MOST_S=most)
                with open(self.path("steps"), encoding="utf-8") as file:
                    text = file.read()
                steps = re.findall(
                    r"^-k 5 (\d+) .* --section .* --seconds (\d+) ", text,
                    re.MULTILINE)
                os.remove(self.path("steps"))
                self.assertEqual(len(steps), 12)
                self.assertEqual(
                    re.findall(r"--section (\S+) --quick", text),
                    ["correlators"] if is_quick else [])
                for limit, seconds in steps:
                    self.assertGreaterEqual(int(seconds), 1)
                    self.assertLess(int(seconds), max(int(limit), 2))

    def test_a_page_is_of_one_machine(self):
        """A section that was stopped is kept as far as it came."""
        head = ("# Speed on a card\n\n```\nbench-gpu --section {0} (version)\n"
                "{1}, compute capability 9.0\nat most 1 MHz\nhost: {2}\n\n"
                "{0}\n1 GB/s\n")
        for name in ("summary.txt", "whole.txt", "card.md"):
            os.makedirs(self.path("printed"), exist_ok=True)
            self.save(f"printed/{name}", "")
        self.assertEqual(self.make_page(), (1, ""))
        one = head.format("image", "A Card 1", "x")
        self.save("printed/card.md",
                  one + head.format("engine", "A Card 1", "x") + "```\n")
        status, page = self.make_page()
        self.assertEqual(status, 0)
        self.assertTrue(os.path.exists(self.path("a-card-1.md")))
        self.assertIn("image\n1 GB/s\n```\n\n## engine\n\n```\n", page)
        for other in (("A Card 2", "x"), ("A Card 1", "y")):
            self.save("printed/card.md", one + head.format("engine", *other))
            self.assertEqual(self.make_page(), (1, ""))

    def test_no_time(self):
        """The first step takes all the time; the summary lists the rest."""
        self.scripts(gpu_xengine="sleep 100")
        status, summary = self.run_all(MOST_S="4")
        self.assertEqual(status, 1)
        self.check_lines(summary, "check, engine: left out, no time left",
                         "left out: bench, ceilings: no time left",
                         "left out: numerics: no time left")

    def test_neither_make_nor_the_engine(self):
        """Programs were brought along, except those that need cuFFT."""
        os.remove(self.path("path/make"))
        bundle = "build/gpu-bundle"
        self.scripts(f"{bundle}/programs", gpu_engine=None, bench_gpu=None,
                     bench_kernels=BENCH.replace("sleep", ": "))
        for name in os.listdir(self.path(f"{bundle}/programs")):
            subprocess.run(["gzip", self.path(f"{bundle}/programs/{name}")],
                           check=True)
        self.script(f"{bundle}/bin/fx8", WELL)
        os.mkdir(self.path("lib"))
        with tarfile.open(self.path(f"{bundle}/lib.tar.gz"), "w:gz") as file:
            file.add(self.path("lib"), "lib")
        status, summary = self.run_all()
        self.assertEqual(status, 1)
        self.assertEqual(sorted(os.listdir(self.path(bundle))),
                         ["bin", "lib", "lib.tar.gz", "programs"])
        self.check_measured(summary, KINDS)
        self.check_lines(
            summary, "build, STRICT=1: left out, no make",
            "gpu_xengine: as it came along", "check, mma: well",
            "check, engine: left out, no gpu_engine",
            "left out: bench, engine: no bench-gpu", "whole program: FAILED",
            "bench, channelizer: well", "bench, energy: well")

    def test_a_card_that_no_program_can_use(self):
        """A listed card that does not work is a failure; no card is a skip."""
        self.scripts(**{
            name: 'echo "1..0 # SKIP no CUDA device: cudaErrorThis"; exit 77'
            for name in SCRIPTS})
        status, summary = self.run_all()
        self.assertEqual(status, 1)
        self.check_lines(summary, "check, wgmma: FAILED, cannot use the card "
                                  "that nvidia-smi lists",
                         "1..0 # SKIP no CUDA device: cudaErrorThis")
        self.script("path/nvidia-smi", "echo none; exit 9")
        status, summary = self.run_all()
        self.assertEqual(status, 77)
        self.check_lines(summary, "check, fp32: skipped, no card")
        self.assertNotIn("FAILED", "\n".join(summary))

    def test_what_is_not_for_the_card_is_skipped(self):
        self.scripts(gpu_xengine='[ "$FX8_ONLY" != wgmma ] || exit 78',
                     bench_kernels=BENCH.replace("sleep", ": "))
        status, summary = self.run_all()
        self.assertEqual(status, 0, summary)
        self.check_lines(summary, "check, wgmma: skipped, none for this card",
                         "check, choose: well")

    def test_a_signal(self):
        """After a signal, what has been written is packed."""
        started = self.path("started")
        self.scripts(gpu_fir=f": >{started}; sleep 100")
        with subprocess.Popen(**self.command(), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as run:
            for line in run.stdout:
                if line.startswith("check, wgmma"):
                    break
            while not os.path.exists(started):
                time.sleep(0.01)
            run.send_signal(signal.SIGTERM)
            run.stdout.read()
        self.assertEqual(run.returncode, 1)
        self.check_lines(self.read("summary.txt").splitlines(),
                         "check, wgmma: well", "cut short: check, fir, and all")
        self.assertIn("summary.txt", self.packed())
