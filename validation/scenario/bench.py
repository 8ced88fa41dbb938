# SPDX-License-Identifier: BSD-3-Clause
"""`fx8 bench`: its output, by the definition of each figure; gates kept, broken
and refused; signals. No test judges a speed, because the machine may be busy.

Shows (commands, bench): value, ceiling and share of a figure are consistent;
    harmonic limits follow from the rates of three stages, parts of a job from
    its time (on all cores: `FX8_LONG=1`), nominal operations from samples,
    exponents from times; every operation appears in every variant, and every
    case that --list prints; gates are kept, broken, refused and written; wrong use is
    refused; signals leave no file and no incomplete document
Within: sums 10⁻¹³; arithmetic at most twice its instruction; no speed is
    judged
Because: a few quotients in double; another program on the core may halve the
    measured rate of the instruction, and a counting error changes it by more;
    the test machine may be busy
"""
import configparser
import datetime
import json
import math
import os
import re
import signal
import statistics
import time

import program

SECTIONS = ["ceilings", "variants", "transforms", "banks", "arrays", "shapes",
            "growth", "functions", "jobs", "reading", "node"]
FIELDS = ["section", "case", "variant", "quantity", "threads", "rounds",
          "value", "unit", "ruler", "ceiling", "share", "lowest_share"]
LEVELS = ["reference", "avx2", "avxvnni", "avx512"]
STAGES = ["align", "channelize", "correlate"]     # of the harmonic limit
PARTS = [*STAGES, "postprocess", "quick-look", "level", "read", "write"]
CPUS = len(os.sched_getaffinity(0))


class Bench(program.Job):
    def bench(self, *arguments):
        """Standard output of a run; standard error must be empty."""
        done = program.run("bench", *arguments,
                           environment={"TMPDIR": self.folder})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def document(self, *arguments):
        """The JSON document; each figure must be consistent in itself."""
        document = json.loads(self.bench("--json", *arguments))
        for record in document["records"]:
            self.check_record(record, document["units"])
        return document

    def check_record(self, record, units):
        self.assertEqual(list(record), FIELDS)
        self.assertIn(record["section"], SECTIONS)
        self.assertIn(record["variant"], [None, *LEVELS])
        self.assertIn(record["unit"], units)
        self.assertTrue(math.isfinite(record["value"]), record)
        self.assertGreaterEqual(record["threads"], 1)
        self.assertGreaterEqual(record["rounds"], 1)
        if record["ruler"] is None:
            self.assertEqual([record[name] for name in FIELDS[9:]], [None] * 3)
            return
        self.assertGreater(record["ceiling"], 0)
        # the quotient of the two numbers as written, rounded once
        self.assertAlmostEqual(record["share"],
                               record["value"] / record["ceiling"],
                               delta=1e-15 * max(1, record["share"]))
        self.assertLessEqual(record["lowest_share"], record["share"])
        self.assertGreaterEqual(record["lowest_share"], 0)

    def listed(self, *arguments):
        """Cases that --list prints: {name: (section, quantities)}."""
        lines = self.bench("--list", *arguments).splitlines()[1:]
        found = {}
        for line in lines:
            section, name, quantities, alone = re.fullmatch(
                r"(\w+) +(?:(.{35}) (.*\S)|(.*\S))", line).groups()
            found[(name or alone).strip()] = (
                section, quantities.split(", ") if quantities else [])
        self.assertEqual(len(found), len(lines), "a name twice")
        return found

    def has_level(self, level):
        return program.run("bench", "--list", "--kernel",
                           level).returncode == 0

    def gate(self, text):
        return self.save("gate.ini", text)


class Figures(Bench):
    def figures(self, case, *arguments):
        """{quantity: record} of a case in one round."""
        document = self.document("--case", case, "--rounds", "1", *arguments)
        return {record["quantity"]: record for record in document["records"]}

    def check_section(self, *arguments):
        """Each listed figure is printed, or a remark instead; no others are."""
        document = self.document("--rounds", "1", *arguments)
        cases = self.listed(*arguments)
        remarked = {remark["case"] for remark in document["remarks"]}
        self.assertEqual({record["case"] for record in document["records"]}
                         | remarked, set(cases))
        for record in document["records"]:
            section, _ = cases[record["case"]]
            self.assertEqual(record["section"], section)
        return document["records"]

    def test_envelope(self):
        document = self.document("--section", "ceilings", "--rounds", "1")
        self.assertEqual(document["fx8_version"],
                         program.run("--version").stdout.split()[1])
        self.assertEqual(document["command"],
                         "fx8 bench --json --section ceilings --rounds 1")
        date = datetime.datetime.fromisoformat(document["date_utc"])
        age = datetime.datetime.now(datetime.timezone.utc) - date
        self.assertTrue(0 <= age.total_seconds() < 60, age)
        machine = document["machine"]
        self.assertEqual(list(machine), ["cpu", "n_cpus", "frequency_mhz",
                                         "governor", "load", "compiler",
                                         "c_library", "levels"])
        self.assertEqual(machine["levels"],
                         [name for name in LEVELS if self.has_level(name)])
        self.assertEqual(document["threads"], CPUS)
        self.assertEqual(machine["n_cpus"], CPUS)
        self.assertRegex(machine["compiler"], r"^(gcc|clang) \d")
        for record in document["records"]:
            self.assertGreater(record["value"], 0)
            self.assertIsNone(record["share"])

    def test_every_operation_at_every_level(self):
        records = self.check_section("--section", "variants")
        levels = {}
        for record in records:
            levels.setdefault(record["case"], []).append(record["variant"])
            # instruction rates are the best of twenty; another program on
            # the core may halve all of them, but only a counting error
            # makes the ratio larger
            if "memcpy" not in record["ruler"]:
                self.assertLessEqual(record["share"], 2, record)
        self.assertEqual(len({tuple(names) for names in levels.values()}), 1)
        self.assertEqual(levels["filter 32 fp32"][0], "reference")
        for kind in ("align", "filter", "quantise", "turn", "correlate",
                     "post-process", "quick-look", "image"):
            self.assertTrue(any(name.startswith(kind) for name in levels))

    def test_one_level(self):
        document = self.document("--case", "filter 32*", "--rounds", "1",
                                 "--kernel", "reference")
        self.assertEqual([(r["case"], r["variant"])
                          for r in document["records"]],
                         [("filter 32 fp32", "reference"),
                          ("filter 32 int16", "reference")])

    def test_transforms_and_functions(self):
        for record in self.check_section("--section", "transforms"):
            self.assertLessEqual(record["share"], 1)
            self.assertIsNone(record["variant"])
        records = self.check_section("--section", "functions")
        for record in records:
            if record["quantity"] == "ieee":
                self.assertEqual(record["share"], 1)
        self.assertEqual(len({r["case"] for r in records}), 13)

    def test_harmonic_limits_of_an_array(self):
        figures = self.figures("read deflate 1", "--threads", "3")
        self.assertEqual({q: r["threads"] for q, r in figures.items()},
                         {"one thread": 1, "all threads": 3})
        figures = self.figures("16 x 1024 int8")
        self.assertEqual(list(figures),
                         STAGES + ["postprocess", "whole", "whole of machine",
                                   "tracked"])
        for quantity, field in (("whole", "value"),
                                ("whole of machine", "ceiling")):
            # one sample of each of N inputs: (N + 1) / 2 products per sample
            rates = [figures[stage][field]
                     / (8.5 if stage == "correlate" else 1)
                     for stage in STAGES]
            limit = 1 / sum(1 / rate for rate in rates)
            # sums of a few quotients in double
            self.assertAlmostEqual(figures[quantity]["ceiling"] / limit, 1,
                                   delta=1e-13)
        self.assertEqual(figures["whole"]["value"],
                         figures["whole of machine"]["value"])
        self.assertEqual(figures["correlate"]["unit"], "CMAC/s")
        self.assertEqual(figures["tracked"]["ceiling"],
                         figures["whole"]["value"])
        figures = self.figures("16 x 1024 real int8")
        self.assertEqual(list(figures), ["tracked"])

    def test_parts_of_jobs(self):
        begin = time.monotonic()
        # int8 takes four times the samples, and all cores
        document = self.document(
            "--case", f"job 16 x 1024 *[{8 if program.LONG else 2}t]",
            "--rounds", "1", "--threads", "1")
        wall = time.monotonic() - begin
        jobs = {}
        for record in document["records"]:
            self.assertEqual(record["threads"], 1)
            jobs.setdefault(record["case"], {})[record["quantity"]] = record
        self.assertEqual(len(jobs), 2)
        for name, job in jobs.items():
            is_plain = name.endswith("int8")
            self.assertEqual(list(job), ["whole", *(["cores"] * is_plain),
                                         *PARTS])
            total = job["align"]["ceiling"]
            wall -= total
            samples = 2**30 if is_plain else 2**28
            self.assertAlmostEqual(job["whole"]["value"] * total / samples, 1,
                                   delta=1e-13)
            stages = sum(job[part]["value"] for part in STAGES)
            self.assertAlmostEqual(
                job["whole"]["ceiling"] * stages / samples, 1, delta=1e-13)
            if is_plain:
                self.assertEqual(job["cores"]["value"],
                                 job["whole"]["value"])
                wall -= samples / job["cores"]["ceiling"]
            self.assertEqual(job["quick-look"]["value"] > 0,
                             "quick-look" in name)
        self.assertGreater(wall, 0)
        self.assertEqual([name for name in os.listdir(self.folder)
                          if "bench" in name], [])

    def test_filter_banks(self):
        figures = self.figures("bank 96")
        self.assertEqual(list(figures), ["complex", "complex flops", "real",
                                         "real flops", "real of complex"])
        # 8 taps and an FFT of 96, or of 192 real samples
        for side, flops in (("complex", 4 * 8 + 5 * math.log2(96)),
                            ("real", 2 * 8 + 2.5 * math.log2(192))):
            self.assertAlmostEqual(figures[f"{side} flops"]["value"]
                                   / figures[side]["value"] / flops, 1,
                                   delta=1e-13)
        self.assertEqual(figures["real of complex"]["ceiling"],
                         figures["complex"]["value"])

    def test_node(self):
        """All that fx8 plan asks for, on one thread and on two."""
        for case, quantities in (
                ("stages 16 x 1024 int8",
                 ["channelize", "correlate", "dump", "level", "whole"]),
                ("result gzip", ["rate", "sync", "size", "start"]),
                ("memory", ["first touch"])):
            document = self.document("--case", case, "--rounds", "1",
                                     "--threads", "2")
            self.assertEqual(
                [(r["quantity"], r["threads"]) for r in document["records"]],
                [(quantity, threads)
                 for threads in ((1,) if case.startswith("result") else (1, 2))
                 for quantity in quantities])
            for record in document["records"]:
                self.assertGreater(record["value"], 0)
                self.assertIsNone(record["ruler"])
        document = self.document("--case", "recording 512 inputs", "--rounds", "1")
        self.assertEqual([(r["section"], r["unit"]) for r in
                          document["records"][:1]], [("node", "byte/s")])

    def test_growth(self):
        figures = self.figures("growth with channels*")
        seconds = {float(name): record["value"]
                   for name, record in figures.items() if name.isdigit()}
        self.assertGreaterEqual(len(seconds), 4)
        self.assertGreaterEqual(max(seconds) / min(seconds), 10)
        x, y = ([math.log(v) for v in part]
                for part in (seconds, seconds.values()))
        slope = statistics.linear_regression(x, y).slope
        self.assertAlmostEqual(figures["exponent"]["value"], slope,
                               delta=1e-13)
        self.assertAlmostEqual(figures["twice as many"]["value"], 2**slope,
                               delta=1e-12)

    def test_shapes(self):
        figures = self.figures("17 inputs, 16 to 64")
        self.assertEqual(list(figures), ["channelize", "correlate", "whole"])
        for record in figures.values():
            self.assertEqual(record["ruler"], "the line between")

    def test_tables_agree_with_it(self):
        text = self.bench("--case", "FFT 64", "--rounds", "2")
        self.assertIn("fx8 bench --case 'FFT 64' --rounds 2\n", text)
        row = re.search(r"^FFT 64 +rate +(\S+) ([GMk]?)sample/s +(\S+) +(\S+) "
                        r"+(\S+)  best plan of FFTW$", text, re.M)
        value, share, lowest, ceiling = (float(row[n]) for n in (1, 3, 4, 5))
        # figures have four digits, shares three decimals
        self.assertAlmostEqual(share, value / ceiling, delta=2e-3)
        self.assertLessEqual(lowest, share)


class Gates(Bench):
    def test_kept(self):
        path = self.gate("; nothing is slower\n[FFT 64]\nrate = 0\n"
                         "[correlate 16 int8]\nrate = 0\n"
                         "reference rate = 0.0\n")
        text = self.bench("--gate", path, "--rounds", "1")
        self.assertEqual(text.splitlines()[-1], f"{path}: 3 shares kept")
        self.assertNotIn("FFT 32", text)
        document = self.document("--gate", path, "--rounds", "1")
        self.assertEqual(
            {(r["case"], r["variant"]) for r in document["records"]},
            {("FFT 64", None), *(("correlate 16 int8", level)
                                 for level in document["machine"]["levels"])})
        self.assertEqual(document["gate"]["path"], path)
        shares = document["gate"]["shares"]
        self.assertEqual([(s["line"], s["least"], s["verdict"])
                          for s in shares],
                         [(3, 0, "kept"), (5, 0, "kept"), (6, 0, "kept")])
        # the worst of several variants is judged
        measured = [r["share"] for r in document["records"]
                    if r["case"] == "correlate 16 int8"]
        self.assertEqual(shares[1]["share"], min(measured))

    def test_broken(self):
        # no plan is better than the best
        path = self.gate("[FFT 64]\nrate = 1.01\n[FFT 32]\nrate = 0\n")
        done = program.run("bench", "--gate", path, "--rounds", "1")
        self.assert_one_line(done, 1, path, "1 of 2 shares below")
        lines = done.stdout.splitlines()
        self.assertRegex(lines[-2], re.escape(
            f"{path}:2: [FFT 64] rate: share ") + r"[01]\.\d{3} \(\S+ of \S+ "
            r"[GM]sample/s, best plan of FFTW\): expected at least 1\.01")
        self.assertEqual(lines[-1], f"{path}: 1 share kept, 1 below")
        done = program.run("bench", "--gate", path, "--rounds", "1", "--json")
        self.assert_one_line(done, 1, path, "1 of 2 shares below")
        shares = json.loads(done.stdout)["gate"]["shares"]
        self.assertEqual([share["verdict"] for share in shares],
                         ["below", "kept"])

    def test_nothing_to_judge_is_not_kept(self):
        # a vector library, which the reference variant does not use
        path = self.gate("[divide]\nlibmvec = 0\n")
        for options in (), ("--json",):
            done = program.run("bench", "--gate", path, "--rounds", "1",
                               "--kernel", "reference", *options)
            self.assert_one_line(done, 1, path, "nothing was measured")
            self.assertIn('"verdict": "left out"' if options else
                          f"{path}: 0 shares kept, 1 left out: not measured "
                          "here\n", done.stdout)

    def test_variant_that_is_not_measured(self):
        """Refused, not skipped: this machine has that variant."""
        best = [level for level in LEVELS if self.has_level(level)][-1]
        for text, kernel in (("[rsqrt]\nreference fast = 9\n", best),
                             ("[16 x 1024 int8]\nreference whole = 9\n", best),
                             ("[align 16 complex]\nreference rate = 9\n",
                              best),
                             (f"[rsqrt]\n{best} fast = 9\n", "reference")):
            with self.subTest(text=text, kernel=kernel):
                path = self.gate(text)
                done = program.run("bench", "--gate", path, "--kernel", kernel)
                self.assert_one_line(done, 2, f"{path}:2: ", "the one variant")
                self.assertEqual(done.stdout, "")
        path = self.gate("[rsqrt]\nreference fast = 0\n")
        text = self.bench("--gate", path, "--rounds", "1", "--kernel",
                          "reference")
        self.assertEqual(text.splitlines()[-1], f"{path}: 1 share kept")

    def test_refused(self):
        for text, *mentions in (
                ("[FFT 65]\nrate = 1\n", ":1: [FFT 65]: expected a case",
                 "[FFT 64]"),
                ("[FFT 64]\navx2 rate = 1\n",
                 ":2: [FFT 64]: avx2 rate: expected rate"),
                ("[16 x 1024 int8]\nwhol = 1\n", ":2: [16 x 1024 int8]: whol: "
                 "expected align, channelize, correlate, postprocess, whole, "
                 "whole of machine or tracked, alone or after reference"),
                ("[filter 32 fp32]\navx3 rate = 1\n", ":2: ", "avx3 rate"),
                ("[FFT 64]\nrate = -0.1\n", ":2: ", "-0.1: expected the least"),
                ("[FFT 64]\nrate = nan\n", ":2: ", "nan: expected the least"),
                ("[FFT 64]\nrate = 0\nrate = 0\n", ":3: ", "line 2"),
                ("[memcpy]\nrate = 0\n", ":2: ", "ruler"),
                ("[FFT 64]\n", "no share"), ("", "no share"),
                ("rate = 1\n", ":1: ", "[section]")):
            with self.subTest(text=text):
                path = self.gate(text)
                done = program.run("bench", "--gate", path)
                self.assert_one_line(done, 2, path, *mentions)
                self.assertEqual(done.stdout, "")
        self.assert_one_line(program.run("bench", "--gate",
                                         self.path("none.ini")), 2, "none.ini")

    def test_written(self):
        path = self.path("new.ini")
        document = self.document("--case", "filter 32*", "--rounds", "3",
                                 "--write-gate", path)
        parser = configparser.ConfigParser(comment_prefixes=("#", ";"))
        parser.read(path)
        lines = {(case, key): float(value) for case in parser.sections()
                 for key, value in parser[case].items()}
        self.assertEqual(len(lines), len(document["records"]))
        alone = len({r["variant"] for r in document["records"]}) == 1
        for record in document["records"]:
            key = record["quantity"]
            if not alone:
                key = f"{record['variant']} {key}"
            low = record["lowest_share"]
            least = low - min(max(record["share"] - low, 0.02), low / 2)
            # rounded down to three digits; the last is worth up to 1 %
            written = lines[record["case"], key]
            self.assertLessEqual(written, least * (1 + 1e-12))
            self.assertGreater(written, least * (0.99 - 1e-12))
            self.assertGreater(written, 0)
            self.assertEqual(record["rounds"], 3)
        self.assert_one_line(program.run("bench", "--case", "FFT 64",
                                         "--write-gate", path), 2, path,
                             "--force")
        self.bench("--case", "FFT 64", "--rounds", "1", "--write-gate", path,
                   "--force")
        self.assertRegex(program.text(path), r"\A; Least shares, from .*\n\n"
                         r"\[FFT 64\]\nrate = \d[.\d]*\n\Z")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["config.ini", "new.ini"])

    def test_those_that_come_along(self):
        """The gates in validation/results name existing cases, and set a limit
        for each; that of shapes names all of them."""
        cases = self.listed()
        for name in ("gate-amd-zen4-2cores", "gate-shapes"):
            parser = configparser.ConfigParser(comment_prefixes=("#", ";"))
            parser.optionxform = str
            parser.read(f"validation/results/{name}.ini")
            self.assertGreater(len(parser.sections()), 10)
            for case in parser.sections():
                known = cases[case][1]
                for key, value in parser[case].items():
                    level, _, rest = key.partition(" ")
                    self.assertTrue(key in known
                                    or level in LEVELS and rest in known, key)
                    # a bank's ruler is FFTW, which it may exceed
                    most = 4 if case.startswith("bank ") else 1
                    self.assertTrue(0 < float(value) < most, (case, key))
        self.assertEqual(parser.sections(),
                         list(self.listed("--section", "shapes")))


class Use(Bench):
    def test_wrong_use(self):
        there = self.gate("[FFT 64]\nrate = 0\n")
        for arguments in (("--section", "speed"), ("--case", "nothing"),
                          ("--section", "jobs", "--case", "FFT*"),
                          ("--rounds", "0"), ("--rounds", "100"),
                          ("--threads", "1e1"),
                          ("--gate", there, "--section", "jobs"),
                          ("--gate", there, "--case", "FFT*"),
                          ("--gate", there, "--write-gate", "x.ini"),
                          ("--write-gate", ""), ("--write-gate", there),
                          (there,)):
            with self.subTest(arguments=arguments):
                done = program.run("bench", *arguments)
                self.assert_one_line(done, 2)
                self.assertEqual(done.stdout, "")
        os.symlink("nowhere", self.path("link.ini"))
        for name, code in (("none/x.ini", 1), ("link.ini", 2)):
            done = program.run("bench", "--json", "--write-gate",
                               self.path(name))
            self.assert_one_line(done, code, name)
            self.assertEqual(done.stdout, "")
        self.assertEqual([name for name in os.listdir(self.folder)
                          if name.endswith(".part")], [])
        done = program.run("bench", "--section", "ceilings", "--rounds", "1",
                           "--write-gate", self.path("x.ini"))
        self.assert_one_line(done, 2, "x.ini", "nothing measured has a share")
        self.assertFalse(os.path.exists(self.path("x.ini")))

    def test_signals_leave_nothing(self):
        folder = self.path("scratch")
        os.mkdir(folder)

        def files():
            return [name for name in os.listdir(folder)
                    if not name.endswith(".undo")]
        for case, n_files, end in (
                ("job 16 x 1024 fp32", 2, ""),
                ("read contiguous, 4 inputs", 1, ": nothing is written"),
                ("FFT*", 0, "")):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(case=case, number=number):
                    run = self.start(
                        "bench", "--json", "--case", case, "--threads", "1",
                        env={**os.environ, "TMPDIR": folder})
                    self.wait_for_handler(run)
                    self.wait_until(run, f"{n_files} files",
                                    lambda: len(files()) >= n_files)
                    seen = files()
                    # a document is complete or absent
                    self.assertEqual(self.end(run, number), (
                        "", f"fx8: error: stopped by a signal{end}\n"))
                    self.assertEqual(len(seen), n_files, seen)
                    self.assertEqual(os.listdir(folder), [])

    def test_folder_absent(self):
        for case in ("read deflate 1", "job 16 x 1024 int8"):
            for folder, code, mention in (
                    ("none", 1, "none/fx8-bench-"),
                    ("x" * 600, 2, "TMPDIR: ")):
                done = program.run("bench", "--json", "--case", case,
                                   environment={"TMPDIR": self.path(folder)})
                self.assert_one_line(done, code, mention)
                self.assertEqual(done.stdout, "")
