# SPDX-License-Identifier: BSD-3-Clause
"""`fx8 correlate --dry-run`, and the same lines before every run.

Shows (commands, dry runs): dumps, channels, sizes and memory are those of
    the run that follows; nothing is written, whatever is there; what stops a
    run stops a dry run with the same line
Within: lines equal; files as large as said within 128 kB and 5 %; memory at
    most what is said
Because: besides its rows, a file has a header
"""
import os
import re

import h5py

import oracle
import program


def size_of(text):
    number, unit = text.split()
    return float(number) * {"kB": 1e3, "MB": 1e6, "GB": 1e9, "MiB": 2**20}[unit]


class DryRun(program.Job):

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(64, 0.02, precision="int8"))
        self.input = self.write(program.Scene(
            program.noise(471, 6, 2, 156_000)))

    def dry(self, *options, code=0):
        before = self.contents()
        done = self.well(*self.words(self.input, "--dry-run", *options),
                         code=code)
        self.assertEqual(self.contents(), before)
        return done

    def test_says_what_the_run_says(self):
        for options, n_files in (
                ((), 1), (("--precision", "both"), 2),
                (("--set", "postprocess.quicklook=look.h5"), 2)):
            with self.subTest(options=options):
                dry = self.dry(*options).stdout
                run = self.well(*self.words(self.input, *options)).stdout
                lines, time = dry.split("time  ")
                self.assertTrue(run.startswith(lines), (dry, run))
                self.assertIn(", 8 dumps of 0.02", lines)
                self.assertIn("the last one of 0.015296 s", lines)
                self.assertIn("channels   64 of 15.625 kHz, centres 149.500000 "
                              "to 150.484375 MHz\n", lines)
                self.assertRegex(time, r"about \S+ s without writing, \S+ x "
                                 r"real time, as the first 0.156 s show\n +\(cpu")
                outputs = re.findall("^output +(.*): (.*) of data$", lines,
                                     re.M)
                self.assertEqual(len(outputs), n_files)
                for path, said in outputs:
                    self.assertTrue(os.path.exists(path))
                    size = os.path.getsize(path)
                    self.assertLess(abs(size - size_of(said)),
                                    128e3 + 0.05 * size, path)
                    os.remove(path)
                said = size_of(re.search("memory +up to (.*)", lines)[1])
                peak = size_of(re.search("memory +(.*) at most", run)[1])
                self.assertLess(peak, said)

    def test_nothing_is_touched(self):
        self.save(self.output, "precious")
        self.save(self.output + ".part", "begun")
        self.assertIn("; exists: --force would replace it\n", self.dry().stdout)
        self.assertNotIn("exists", self.dry("--force").stdout)
        self.assertEqual(self.dry("--quiet").stdout, "")

    def test_what_an_earlier_run_has_left(self):
        self.well(*self.words(self.input, "--quiet"))
        part = self.output + ".part"
        os.rename(self.output, part)
        before = program.content(part)
        for options in (), ("--resume",):
            self.assertRegex(self.dry(*options).stdout, r"\.part: (\d+) of \1 "
                             "dumps finished: --resume goes on if it is of "
                             "this run\n")
        self.assertEqual(program.content(part), before)
        # a result that a signal ended early
        with h5py.File(part, "r+") as file:
            marks = file["fx8/checksum"]
            n, marks[-1] = len(marks), -1
        os.rename(part, self.output)
        self.assertIn(f"\n           {self.output}: {n - 1} of {n} dumps "
                      "finished: --resume", self.dry("--resume").stdout)

    def test_what_stops_a_run(self):
        for options in (("--set", "array.antennas=9"),
                        ("--set", "correlator.memory_limit_mib=1"),
                        ("--set", "correlator.integration_time_s=1")):
            dry = self.dry(*options, code=2)
            run = self.well(*self.words(self.input, *options), code=2)
            self.assert_one_line(dry, 2)
            self.assertEqual(dry.stderr, run.stderr)
