# SPDX-License-Identifier: BSD-3-Clause
"""`[input] van_vleck` in use: where it does not hold it is refused; what it
writes does not depend on how it was computed.

Shows (commands, few bits): each setting with which the correction does not
    hold is refused in one line, samples of more than 16 values too, and nothing
    is left behind. Threads, slices of dumps, ranks of MPI that share dumps or
    parts of them, and a run that was paused write the same. An input of one
    value is flagged and 0. `fx8 compare` predicts nothing for corrected
    samples, `fx8 join` refuses to mix them with others
Within: equal
In: scenario/device.py
"""
import signal

import numpy as np

import oracle
import program
import ranks_job
from resumed import ResumedJob

YES = {"input.van_vleck": "yes"}
KEY = "input.van_vleck: yes: expected "


def few(samples, least=-2, most=1):
    """Samples of up to 4 bits from noise of 20 LSB."""
    def part(values):
        return np.clip(np.floor(values / 18), least, most)
    return (part(samples.real) + 1j * part(samples.imag)
            if np.iscomplexobj(samples) else part(samples))


class Refused(program.Job):
    """Jobs in which the correction would be wrong."""

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(16, 0.002, method="fft"), YES)
        self.input = self.write(program.Scene(
            few(program.noise(161, 2, 1, 9000))))

    def test_where_it_does_not_hold(self):
        gains = self.save("gains.csv", "number,pol,amplitude,phase_deg,delay_ns\n"
                          "1,X,1,30,0\n")
        for keys, mention in (
                ({"channelizer.method": "pfb"}, KEY + "method fft"),
                ({"channelizer.method": "none", "channelizer.channels": 1},
                 KEY + "method fft"),
                ({"channelizer.window": "hann"}, KEY + "a rectangular window"),
                ({"channelizer.keep_fraction": "3/4"}, KEY + "keep_fraction 1"),
                ({"output.channel_average": 2}, KEY + "channel_average 1"),
                ({"array.gains": gains}, KEY + "no delays, and gains without"),
                ({"correlator.precision": "both"},
                 KEY + "precision int8 or fp32"),
                ({"correlator.precision": "interval"},
                 KEY + "precision int8 or fp32"),
                ({"postprocess.quicklook": self.path("look.h5")},
                 "not supported with input.van_vleck")):
            with self.subTest(**keys):
                self.refuse(self.input, mention, code=2, keys=keys)
                self.refuse(self.input, mention, code=2, keys=keys,
                            extra=("--dry-run",))

    def test_delays(self):
        table = self.save("array.csv", "number,east_m,north_m,up_m,"
                          "cable_delay_ns\n0,0,0,0,0\n1,10,0,0,300\n")
        self.refuse(self.input, KEY + "no delays", code=2, keys={
            "array.positions": table, "delay.mode": "cable"})

    def test_too_many_values(self):
        """16 values in a dump are well, 17 in the last one are not, unless one
        is missing."""
        samples = few(program.noise(162, 2, 1, 9000), -8, 7)
        samples[1, 0, 7800:7816] = np.arange(16) - 8
        self.well(*self.words(self.write(program.Scene(samples))))
        samples[1, 0, 7900] = 60
        many = self.write(program.Scene(samples), "many.h5")
        done = program.run(*self.words(many, "--force"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(KEY + "samples of at most 4 bits: input 1 has more than "
                      "16 values", done.stderr)
        # it would fail there again
        self.assertRegex(done.stderr, r"\.part keeps \d+ dumps$")
        marked = self.write(program.Scene(samples, missing=[(1, 0, 7900, 1)]),
                            "marked.h5")
        self.well(*self.words(marked, "--force"))

    def test_ordinary_recording(self):
        self.refuse(self.recording(), KEY + "samples of at most 4 bits", code=2)


class Same(ResumedJob):
    """One job, computed in many ways."""

    def record(self):
        """With gaps, an input that begins late, a dead one, and one whose
        imaginary part never changes."""
        samples = few(program.noise(403, 24, 2, 9_000), -8, 7)
        samples[0, 1] = samples[0, 1].real + 1j
        samples[2, 1, :2_100] = 0
        samples[3, 0] = 0
        program.write(self.input, program.Scene(samples, missing=[
            (-1, -1, 4_100, 300), (1, 0, 1_000, 2_000)]))

    def test_threads_kernels_slices(self):
        for precision in ("int8", "fp32"):
            self.job(YES, setup=oracle.Setup(64, 0.00128, method="fft",
                                             precision=precision))
            want = program.read(self.want[self.output])
            # 0Y with itself is YY of the first baseline
            self.assertTrue(want.flags[:, 0, :, 1].all())
            np.testing.assert_array_equal(want.visibilities[:, 0, :, 1], 0)
            self.assertFalse(want.flags[:, 0, 5:-5, 0].any())
            for keys in ({"correlator.threads": 3},
                         {"correlator.threads": 2,
                          "correlator.memory_limit_mib": self.least()}):
                with self.subTest(precision=precision, **keys):
                    done = self.well(*self.words(self.input, "--force"),
                                     keys=keys)
                    self.assertEqual("slices" in done.stdout,
                                     "correlator.memory_limit_mib" in keys)
                    self.assert_equal(program.read(self.output), want)

    def least(self):
        """The smallest sufficient limit, in MiB."""
        done = self.correlate(self.input, "--force",
                              keys={"correlator.memory_limit_mib": 1})
        return int(done.stderr.split("expected at least ")[1].split(" ")[0])

    def test_paused(self):
        self.job(YES, setup=oracle.Setup(64, 0.00128, method="fft",
                                         precision="int8"))
        self.end(self.start_held(), signal.SIGUSR1, code=75)
        self.assertGreater(self.complete(), 0)

    def test_compare_and_join(self):
        paths = []
        for name, keys in (("int8", {"correlator.precision": "int8"}),
                           ("fp32", {"correlator.precision": "fp32"}),
                           ("plain", {"correlator.precision": "fp32",
                                      "input.van_vleck": "no",
                                      "input.start_s": 0.00448})):
            self.configure(oracle.Setup(64, 0.00448, method="fft"),
                           {**YES, "input.duration_s": 0.00448, **keys})
            paths.append(self.path(f"{name}.uvh5"))
            self.well("correlate", self.config, self.input, "-o", paths[-1])
        self.assertEqual(self.verdict(*paths[:2])["verdict"], "none")
        done = program.run("join", *paths[1:], "-o", self.path("all.uvh5"))
        self.assert_one_line(done, 1, "VANVLECK")


class Ranks(ranks_job.Ranks):
    """Fewer dumps than ranks: they share parts of dumps."""

    def test_shared_dumps(self):
        recording = oracle.read_native(self.segments())
        samples = few(np.where(np.abs(recording.samples.real) == 128, 0,
                               recording.samples), -8, 7)
        path = self.write(program.Scene(samples, missing=[
            (0, 0, 67_900, 60), (2, 0, 0, 2500)]), "few.h5")
        for precision in ("int8", "fp32"):
            self.configure(oracle.Setup(4, self.SEGMENTS["dump_s"],
                                        method="fft", precision=precision), YES)
            self.check(path, (3,))
