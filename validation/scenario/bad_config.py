# SPDX-License-Identifier: BSD-3-Clause
"""Wrong configurations, antenna tables and command lines: exit 2 and one line
that names the place.

Shows: as test_config.c
"""
import os

import oracle
import program

GOOD_CSV = """number,name,east_m,north_m,up_m,cable_delay_ns
0,A,0,0,0,0
1,B,10,0,0,0
"""


class BadConfiguration(program.Job):
    """Each test changes one thing of a good configuration."""

    def refuse_key(self, setting, *mentions):
        """One key, from the INI file and from the command line."""
        section, rest = setting.split(".", 1)
        key, value = rest.split("=", 1)
        recording = self.recording()
        done = self.correlate(recording, "--set", setting)
        self.assert_refused(done, 2, section, *mentions)
        good = self.config
        self.config = self.path("bad.ini")
        self.configure(oracle.Setup(16, 0.002), {f"{section}.{key}": value})
        done = self.correlate(recording)
        self.assert_refused(done, 2, "bad.ini:", section, *mentions)
        self.config = good

    def test_unknown_key_and_section(self):
        self.refuse_key("channelizer.chanels=16", "channels")
        self.refuse_key("corelator.precision=int8", "correlator")

    def test_wrong_types_units_and_ranges(self):
        for setting in ("channelizer.channels=many",
                        "channelizer.channels=0",
                        "channelizer.channels=-16",
                        "channelizer.channels=16.5",
                        "channelizer.channels=99999999999999999999999",
                        "channelizer.taps=0", "channelizer.taps=65",
                        "channelizer.method=fir",
                        "channelizer.window=square",
                        "correlator.integration_time_s=2ms",
                        "correlator.integration_time_s=0",
                        "correlator.integration_time_s=nan",
                        "correlator.integration_time_s=inf",
                        "correlator.integration_time_s=1e-6",
                        "correlator.precision=int4",
                        "correlator.threads=-1",
                        "quantizer.target_rms=-3",
                        "quantizer.target_rms=1e9",
                        "input.start_s=-1", "input.start_s=1e300",
                        "input.sideband=both", "input.conjugate=perhaps",
                        "input.missing_value=300",
                        "observation.sample_rate_hz=0",
                        "observation.sample_rate_hz=1/0",
                        "observation.dc_frequency_hz=150 MHz",
                        "observation.start_time_utc=yesterday",
                        "array.antennas=0", "array.antennas=3-1",
                        "array.polarizations=3",
                        "array.latitude_deg=91",
                        "output.channel_average=3",
                        "output.channel_average=0",
                        "delay.mode=cable", "postprocess.math=exact",
                        "channelizer.keep_fraction=27/32",
                        "correlator.backend=cuda9"):
            with self.subTest(setting=setting):
                self.refuse_key(setting)

    def test_absurd_sizes(self):
        for setting in ("channelizer.channels=4611686018427387904",
                        "channelizer.channels=2147483648",
                        "correlator.integration_time_s=1e18"):
            with self.subTest(setting=setting):
                done = self.well(*self.words(self.recording(), "--set", setting), code=(1, 2))
                self.assert_refused(done, done.returncode)

    def test_duplicate_key(self):
        self.save("config.ini", "[channelizer]\nchannels = 16\nchannels = 32\n"
                          "[correlator]\nintegration_time_s = 0.002\n")
        self.assert_refused(self.correlate(self.recording()), 2,
                            "config.ini:3", "channels")

    def test_missing_required_key(self):
        self.save("config.ini", "[correlator]\nintegration_time_s = 0.002\n")
        self.assert_refused(self.correlate(self.recording()), 2, "channels")

    def test_line_that_is_no_ini(self):
        self.save("config.ini", "[channelizer]\nchannels\n")
        self.assert_refused(self.correlate(self.recording()), 2,
                            "config.ini:2")

    def test_absent_configuration(self):
        self.config = self.path("absent.ini")
        self.assert_refused(self.correlate(self.recording()), 2, "absent.ini")

    def test_binary_configuration(self):
        with open(self.config, "wb") as file:
            file.write(bytes(range(256)) * 50)
        self.assert_refused(self.correlate(self.recording()), 2, "config.ini")

    def test_very_long_line(self):
        self.save("config.ini", "[array]\nantennas = " + "0," * 5000 + "1\n")
        self.assert_refused(self.correlate(self.recording()), 2, "config.ini")

    def refuse_csv(self, text, *mentions):
        path = self.path("antennas.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.correlate(self.recording(), "--set",
                              f"array.positions={path}")
        self.assert_refused(done, 2, "antennas.csv", *mentions)

    def test_good_antenna_table_is_not_refused(self):
        path = self.path("antennas.csv")
        with open(path, "w", encoding="ascii") as file:
            file.write(GOOD_CSV)
        self.well(*self.words(self.recording(), "--set",
                              f"array.positions={path}"))

    def test_antenna_table_faults(self):
        lines = GOOD_CSV.splitlines()
        for second, mention in (("0,B,10,0,0,0", ":3"),       # duplicate
                                ("1,B,0,0,0,0", ":3"),        # one spot
                                ("1,B,nan,0,0,0", ":3"),
                                ("1,B,inf,0,0,0", ":3"),
                                ("1,B,ten,0,0,0", ":3"),
                                ("1,B,10,0,0", ":3"),         # short
                                ("1,B,10,0,0,0,0", ":3"),     # long
                                ("-1,B,10,0,0,0", ":3"),
                                ("1.5,B,10,0,0,0", ":3"),
                                ("1,B,10,0,0,0ns", ":3"),
                                ("", "")):                    # too few rows
            with self.subTest(second=second):
                self.refuse_csv("\n".join(lines[:2] + [second]) + "\n",
                                mention)
        self.refuse_csv("", "")
        self.refuse_csv(lines[0] + "\n", "")
        self.refuse_csv(GOOD_CSV.replace("east_m", "east"), ":1")
        self.refuse_csv("number,name,north_m,up_m\n0,A,0,0\n1,B,9,0\n",
                        ":1", "east_m")
        self.refuse_csv("\x00\x01\x02" * 100, "")

    def test_absent_antenna_table(self):
        done = self.correlate(self.recording(), "--set",
                              "array.positions=absent.csv")
        self.assert_refused(done, 2, "absent.csv")

    def test_texts_that_are_pipes(self):
        """fx8 does not wait for a pipe, because no signal would end the wait.
        It does not read a pipe that has data either."""
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        good = self.recording()
        commands = (
            ("correlate", pipe, good, "-o", self.output),
            ("correlate", self.config, good, "-o", self.output, "--set",
             f"array.positions={pipe}"),
            ("config", pipe, "--dump"),
            ("simulate", pipe, "-o", self.output),
            ("simulate", "config/ready/demo.ini", "-o", self.output, "--set",
             f"simulate.sources={pipe}"))
        for writer in (None, os.open(pipe, os.O_RDWR)):
            if writer is not None:
                self.addCleanup(os.close, writer)
                os.write(writer, b"[channelizer]\nchannels = 16\n")
            for command in commands:
                with self.subTest(command=command[0], writer=writer):
                    self.assert_refused(
                        program.run(*command, timeout=20), 2,
                        f"{pipe}: expected a regular file")


class BadCommandLines(program.Job):
    """Wrong use: exit 2; help and version: exit 0 on stdout."""

    def test_wrong_use(self):
        good = self.recording()
        for arguments in ((), ("corelate",), ("correlate",),
                          ("correlate", "--nonsense"),
                          ("correlate", self.config, good, "-o"),
                          ("correlate", self.config, good, "--set"),
                          ("correlate", self.config, good, "--set", "x"),
                          ("correlate", self.config, good, "--set", "x=1"),
                          ("correlate", self.config, good, "--precision", "7"),
                          ("compare",), ("compare", good), ("info",),
                          ("bench", "--kernel", "foo"),
                          ("bench", "--section", "foo"),
                          ("config", "--nonsense"), ("simulate",)):
            with self.subTest(arguments=arguments):
                done = self.well(*arguments, cwd=self.folder, code=2)
                self.assertTrue(done.stderr.startswith("fx8: error: "),
                                done.stderr)
                self.assertEqual(done.stdout, "")

    def test_unknown_commands(self):
        for name, words in (("corelate", ": did you mean correlate?"),
                           ("inof", ": did you mean info?"),
                           ("frobnicate", "")):
            self.assertEqual(program.run(name).stderr,
                             f"fx8: error: {name}: unknown command{words} (see "
                             "fx8 --help)\n")

    def test_what_is_wrong_with_an_option(self):
        for arguments, words in (
                (("correlate", "--output"),
                 "--output: expected a value after it"),
                (("correlate", "-o"), "-o: expected a value after it"),
                (("correlate", "-xo", "y"), "-x: unknown option"),
                (("correlate", "--quiet=yes"), "--quiet: takes no value"),
                (("correlate", "--no-such=1"), "--no-such=1: unknown option"),
                (("correlate", "--presicion=int8"), "--presicion=int8: unknown "
                 "option; did you mean --precision?"),
                (("correlate", "x", "--f"),
                 "--f: several options begin so: expected more of its letters"),
                (("compare", "--h"),
                 "--h: several options begin so: expected more of its letters"),
                (("correlate", "--fft-plan", "meas"),
                 "--fft-plan: meas: expected estimate or measure"),
                (("bench", "--kernel", "avx51"), "--kernel: avx51: expected "
                 "auto, reference, avx2 or avx512"),
                (("bench", "--case", "a", "--case", "b"),
                 "--case: b: expected it once"),
                (("correlate", "-o", "a", "-o", "b"),
                 "--output: b: expected it once"),
                (("correlate", "-o", "-"), "--output: -: expected the name of "
                 "a file, not a standard stream"),
                (("simulate", "x", "--output=-"), "--output: -: expected the "
                 "name of a file, not a standard stream")):
            with self.subTest(arguments=arguments):
                done = program.run(*arguments)
                self.assertEqual(
                    (done.returncode, done.stdout, done.stderr),
                    (2, "", f"fx8: error: {words} (see fx8 {arguments[0]} "
                            "--help)\n"))

    def test_help_of_every_command(self):
        commands = ("correlate", "compare", "info", "simulate", "config",
                    "bench")
        done = program.run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in commands:
            self.assertIn(command, done.stdout)
            page = program.run(command, "--help")
            self.assertEqual((page.returncode, page.stderr), (0, ""), command)
            self.assertIn(command, page.stdout)
            self.assertEqual(
                program.run(command, "-h", "--nonsense").stdout, page.stdout)
            self.assertLess(max(map(len, page.stdout.splitlines()[1:])), 80)

    def test_version(self):
        done = program.run("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^fx8 \d+\.\d+\.\d+")

    def test_options_in_any_order(self):
        good = self.recording()
        parts = (["-o", self.output], [self.config, good],
                 ["--quiet"], ["--set", "channelizer.taps=4"],
                 ["--precision", "int8", "--precision=fp32"])
        for turn in range(len(parts)):
            order = sum(parts[turn:] + parts[:turn], [])
            done = program.run("correlate", *order)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, "", ""))
            result = program.read(self.output)
            self.assertEqual(result.keywords["PRECISN"], b"FP32")
            self.assertIn("\ntaps = 4\n", result.history)
            self.assertIn(" ".join(["fx8 correlate", *order]) + "\n",
                          result.history)
            os.remove(self.output)

    def test_quiet_says_nothing(self):
        done = self.correlate(self.recording(), "--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_later_settings_win(self):
        self.well(*self.words(self.recording(), "--set",
                              "channelizer.channels=32", "--quiet"))
        self.assertEqual(program.read(self.output).header["Nfreqs"], 32)

    def test_kernel_is_named_by_its_key(self):
        done = self.correlate(self.recording(), "--set",
                              "correlator.kernel=foo")
        self.assert_refused(done, 2, "error: --set: correlator.kernel: foo: "
                            "expected auto, reference, avx2 or avx512")
        keys = program.run("config", "--keys").stdout
        for word in ("reference", "avx512", "cable_delay_x_ns", "0-based"):
            self.assertIn(word, keys)

    def test_info_of_what_is_no_recording(self):
        self.assert_one_line(program.run("info", self.config), 1,
                             "config.ini")

    def test_dump_loads_to_itself(self):
        one = self.well("config", self.config, "--dump")
        self.save("config.ini", one.stdout)
        two = program.run("config", self.config, "--dump")
        self.assertEqual(one.stdout, two.stdout)
