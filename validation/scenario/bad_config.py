# SPDX-License-Identifier: BSD-3-Clause
"""Wrong configurations, antenna tables and command lines: exit 2 and one line
that names the place.

Shows: as test_config.c
"""
import os

import oracle
import program

REQUIRED = ("[channelizer]\nchannels = 16\n"
            "[correlator]\nintegration_time_s = 0.002\n")

# configurations, and what the line mentions; more in test_ini.c
TEXTS = (
    (REQUIRED + "[channelizer]\nchannels = 32\n", "config.ini:6", "channels"),
    ("[correlator]\nintegration_time_s = 0.002\n", "channels"),
    ("[channelizer]\nchannels\n", "config.ini:2"),
    (bytes(range(256)) * 50, "config.ini"),
    ("[array]\nantennas = " + "0," * 5000 + "1\n", "config.ini"),
)

# antenna tables, and what the line mentions; more in test_antennas.c
GOOD = "number,name,east_m,north_m,up_m,cable_delay_ns\n0,A,0,0,0,0\n"
TABLES = (
    ("", ""), (GOOD, ""), (GOOD + "0,B,10,0,0,0\n", ":3"),
    (GOOD + "1,B,0,0,0,0\n", ":3"), (GOOD + "1,B,ten,0,0,0\n", ":3"),
    (GOOD.replace("east_m", "east"), ":1"), ("\x00\x01\x02" * 100, ""),
)


class BadConfiguration(program.Job):
    """Each test changes one thing of a good configuration."""

    def refuse_key(self, setting, *mentions):
        """One key, from the INI file and from the command line."""
        key, value = setting.split("=", 1)
        section = key.partition(".")[0]
        recording = self.recording()
        self.refuse(recording, section, *mentions, code=2,
                    extra=("--set", setting))
        good, self.config = self.config, self.path("bad.ini")
        self.configure(oracle.Setup(16, 0.002), {key: value})
        self.refuse(recording, "bad.ini:", section, *mentions, code=2)
        self.config = good

    def test_keys(self):
        """A value of every kind; more in test_config_values.c."""
        for setting, *mentions in (
                ("channelizer.chanels=16", "channels"),
                ("corelator.precision=int8", "correlator"),
                ("channelizer.channels=16.5",), ("channelizer.taps=65",),
                ("channelizer.channels=99999999999999999999999",),
                ("channelizer.window=square",),
                ("correlator.integration_time_s=2ms",),
                ("correlator.integration_time_s=inf",),
                ("correlator.integration_time_s=1e-6",),
                ("correlator.threads=-1",), ("quantizer.target_rms=1e9",),
                ("input.start_s=1e300",), ("input.conjugate=perhaps",),
                ("input.missing_value=300",),
                ("observation.sample_rate_hz=1/0",),
                ("observation.dc_frequency_hz=150 MHz",),
                ("observation.start_time_utc=yesterday",),
                ("array.antennas=3-1",), ("array.polarizations=3",),
                ("array.latitude_deg=91",), ("output.channel_average=3",),
                ("delay.mode=tracking",), ("postprocess.math=exact",),
                ("channelizer.keep_fraction=27/32",),
                ("correlator.backend=cuda9",)):
            with self.subTest(setting=setting):
                self.refuse_key(setting, *mentions)

    def test_absurd_sizes(self):
        for setting in ("channelizer.channels=4611686018427387904",
                        "channelizer.channels=2147483648",
                        "correlator.integration_time_s=1e18"):
            with self.subTest(setting=setting):
                done = self.well(*self.words(self.recording(), "--set",
                                             setting), code=(1, 2))
                self.assert_refused(done, done.returncode)

    def test_all_that_is_missing(self):
        """One line names all keys that neither the INI file nor the recording
        gives."""
        bare = self.changed(self.recording(), program.put("antennas"))
        self.save("config.ini", "[channelizer]\ntaps = 4\n")
        required = (f"{self.config}: missing: channelizer.channels (an integer "
                    "from 1 to 1048576), correlator.integration_time_s (a "
                    "plain number from 0.001 to 1e+07 s, or all)")
        place = ("array.positions (a table of antennas, or none), "
                 "array.latitude_deg (of the site), array.longitude_deg (of "
                 "the site), array.altitude_m (of the site)")
        for recording, line in (
                (self.recording(), required),
                (bare, required.replace(
                    "missing:", f"missing, also in {bare}:") + ", " + place)):
            done = self.correlate(recording)
            self.assert_refused(done, 2, f"fx8: error: {line}\n".strip())
            self.assertEqual(done.stderr, f"fx8: error: {line}\n")
        done = program.run("simulate", self.config, "-o", self.output)
        self.assertEqual(done.stderr, f"fx8: error: {required}, "
                         "observation.sample_rate_hz (the sampling rate), "
                         "observation.dc_frequency_hz (the sky frequency of "
                         "baseband zero), observation.start_time_utc (the "
                         f"instant of the first sample), {place}\n")

    def test_comment_after_a_value(self):
        self.save("config.ini", REQUIRED.replace("= 16", "= 16 # channels"))
        done = self.correlate(self.recording())
        self.assert_refused(done, 2)
        self.assertEqual(done.stderr, (
            f"fx8: error: {self.config}:2: channelizer.channels: 16 # channels:"
            " expected an integer from 1 to 1048576; a comment after a value "
            "starts with ';', not '#'\n"))
        self.configure(oracle.Setup(16, 0.01))
        done = self.correlate(self.recording(), "--set",
                              "channelizer.channels=16 #")
        self.assertTrue(done.stderr.endswith(" to 1048576\n"), done.stderr)
        path = self.write(program.Scene(program.noise(1, 2, 1, 9000)),
                          "in #1.h5")
        self.save("config.ini", REQUIRED.replace("= 16", "= 16 ; channels")
                  + f"# an input\n[input]\nfiles = {path}\n")
        self.well("correlate", self.config, "-o", self.output)

    def test_texts(self):
        for text, *mentions in TEXTS:
            with self.subTest(text=text[:50]):
                self.save("config.ini", text)
                self.refuse(self.recording(), *mentions, code=2)
        self.config = self.path("absent.ini")
        self.refuse(self.recording(), "absent.ini", code=2)

    def test_antenna_tables(self):
        recording, path = self.recording(), self.path("antennas.csv")
        for text, mention in TABLES:
            with self.subTest(text=text[:80]):
                self.save("antennas.csv", text)
                self.refuse(recording, "antennas.csv", mention, code=2,
                            extra=("--set", f"array.positions={path}"))
        self.refuse(recording, "absent.csv", code=2,
                    extra=("--set", "array.positions=absent.csv"))
        self.save("antennas.csv", GOOD + "1,B,10,0,0,0\n")
        self.well(*self.words(recording), keys={"array.positions": path})

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
                        program.run(*command), 2,
                        f"{pipe}: expected a regular file")


class BadCommandLines(program.Job):
    """Wrong use: exit 2; help and version: exit 0 on stdout."""

    def test_wrong_use(self):
        good = self.recording()
        for arguments in ((), ("correlate",),
                          ("correlate", self.config, good, "--set", "x"),
                          ("correlate", self.config, good, "--set", "x=1"),
                          ("correlate", self.config, good, "--precision", "7"),
                          ("compare",), ("compare", good), ("info",),
                          ("bench", "--section", "foo"), ("simulate",)):
            with self.subTest(arguments=arguments):
                done = self.well(*arguments, cwd=self.folder, code=2)
                self.assertTrue(done.stderr.startswith("fx8: error: "),
                                done.stderr)
                self.assertEqual(done.stdout, "")
        for words in (("correlate", self.config, good, "--precision", "fp16"),
                      ("plot", good, "--kind", "pie")):
            self.assert_one_line(program.run(*words), 2, f"error: {words[-2]}: "
                                 f"{words[-1]}: expected ", f"{words[0]} --help")

    def test_recording_before_the_configuration(self):
        good = self.recording()
        for words in ((good, self.config), (good,)):
            done = program.run("correlate", *words)
            self.assertEqual((done.returncode, done.stderr), (
                2, f"fx8: error: {good}: is a recording: expected CONFIG.ini "
                f"first, as in fx8 correlate CONFIG.ini {good} (see fx8 "
                "correlate --help)\n"))

    def test_home(self):
        """The shell leaves ~ as it is in --output=~/FILE and in lists."""
        good = self.recording()
        home = {"HOME": self.folder}
        name = os.path.basename(good)
        self.well("correlate", self.config, "--output=~/out.uvh5", "--set",
                  f"input.files=~/{name}", environment=home)
        os.remove(self.output)
        self.well("correlate", self.config, good, "--set",
                  "output.file=~/out.uvh5", environment=home)
        os.remove(self.output)

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
                 "--fft-plan: meas: expected auto, lanes, estimate or measure"),
                (("bench", "--kernel", "avx51"), "--kernel: avx51: expected "
                 "auto, reference, avx2, avxvnni, avx512, neon or dotprod"),
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
        commands = ("correlate", "compare", "info", "plot", "image", "simulate",
                    "fringe", "config", "bench")
        done = program.run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in commands:
            self.assertIn(command, done.stdout)
            page = program.run(command, "--help")
            self.assertEqual(program.run("help", command).stdout, page.stdout)
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
                 ["--set", "correlator.last_dump_min=0"],
                 ["--precision", "int8", "--precision=FP32"])
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

    def test_kernel_is_named_by_its_key(self):
        done = self.correlate(self.recording(), "--set",
                              "correlator.kernel=foo")
        self.assert_refused(done, 2, "error: --set: correlator.kernel: foo: "
                            "expected auto, reference, avx2, avxvnni or avx512")
        keys = program.run("config", "--keys").stdout
        for word in ("reference", "avx512", "cable_delay_x_ns", "0-based"):
            self.assertIn(word, keys)
