# SPDX-License-Identifier: BSD-3-Clause
"""fx8 compare accepts results of fx8 itself: random arrays and stretches of real
recordings, from samples to verdict. FX8_LONG=1 takes more of them.
test_compare_alarms.c has the many cases needed to measure a rate.

Shows: as test_compare_alarms.c
"""
import glob
import json
import os
import unittest
from fractions import Fraction

import h5py
import numpy as np

import program

RECORDINGS = os.environ.get("FX8_RECORDINGS")
N_ARRAYS = 300 if program.LONG else 8
N_STRETCHES = 150 if program.LONG else 4


class Alarms(program.Case):
    """Both precisions of any recording, and the verdict of compare."""

    def assert_good(self, arguments, keys, name):
        """Run correlate --precision both; returns whether compare judged it."""
        settings = [word for key, value in keys.items()
                    for word in ("--set", f"{key}={value}")]
        self.well("correlate", *arguments, "-o",
                  self.path("out.uvh5"), "--precision", "both",
                  "--quiet", "--force", *settings)
        files = self.path("out.int8.uvh5"), self.path("out.fp32.uvh5")
        done = program.run("compare", "--json", *files)
        told = json.loads(done.stdout)
        if told["verdict"] == "none":       # identical, or all left out
            return False
        self.assertEqual((done.returncode, told["verdict"]), (0, "good"),
                         f"{name}: {keys}: {told['reason']}")
        return True

    def recording(self, random):
        """Common and independent noise, a tone, pulses, losses, clipped at 8
        bits, as from any recorder."""
        n_antennas = int(random.choice([2, 2, 3, 4, 7, 12, 24]))
        if random.random() < 0.02:
            n_antennas = 256
        n_pols = int(random.integers(1, 3)) if n_antennas < 100 else 1
        count = int(10 ** random.uniform(3.7, 5.5))
        count = max(5000, min(count, 4_000_000 // (n_antennas * n_pols)))
        is_real = random.random() < 0.3

        def draw(*shape):
            values = random.normal(size=(*shape, count))
            return values if is_real else values + 1j * random.normal(
                size=(*shape, count))
        values = draw(n_antennas, n_pols) + random.uniform(0, 1.5) * draw(1, 1)
        values *= random.uniform(2, 40, size=(n_antennas, n_pols, 1))
        times = np.arange(count)
        if random.random() < 0.4:
            tone = np.exp(2j * np.pi * random.uniform(0, 0.5) * times)
            values += 10 ** random.uniform(-1, 1.5) * (
                tone.real if is_real else tone)
        if random.random() < 0.4:
            share = 10 ** random.uniform(-3, -0.5)
            on = np.repeat(random.random(count // 50 + 1) < share, 50)[:count]
            values *= 1 + 10 ** random.uniform(0, 2) * on
        missing = []
        for _ in range(random.integers(0, 3)):
            first = int(random.integers(count))
            missing.append((int(random.integers(-1, n_antennas)), -1, first,
                            int(random.integers(1, count - first + 1))))
        return count, self.write(program.Scene(program.to_int8(values),
                                               missing=missing))

    def dump_s(self, random, duration_s, filter_s):
        """The length of a dump: several fit after the filter, none too short."""
        left = 0.95 * (duration_s - filter_s)
        return round(max(0.0015, float(left / random.integers(1, 6))), 6)

    def test_arrays(self):
        config = self.path("any.ini")
        n_judged = 0
        for seed in range(N_ARRAYS):
            random = np.random.default_rng(8000 + seed)
            count, recording = self.recording(random)
            n_channels = int(random.choice([16, 32, 64, 128]))
            keys = {
                "channelizer.channels": n_channels,
                "channelizer.method": random.choice(["pfb", "fft"]),
                "channelizer.taps": random.integers(1, 9),
                "channelizer.flag_dc": random.choice(["yes", "no"]),
                "quantizer.target_rms": round(
                    10 ** random.uniform(0.3, 1.6), 2),
                "quantizer.level": random.choice(["channel", "channel",
                                                  "input"]),
                "postprocess.quantization_bias": random.choice(["yes", "no"]),
                "output.channel_average": random.choice([1, 1, 2, 4]),
            }
            if keys["channelizer.method"] == "fft":
                del keys["channelizer.taps"]
            with open(config, "w", encoding="ascii") as file:
                file.write("[channelizer]\nchannels = 16\n[correlator]\n"
                           "backend = cpu\nintegration_time_s = %r\n"
                           % self.dump_s(random, count / 1e6,
                                         16 * n_channels / 1e6))
            with self.subTest(seed=seed):
                n_judged += self.assert_good([config, recording], keys,
                                             f"array {seed}")
        print(f"# {n_judged} of {N_ARRAYS} arrays judged")
        self.assertGreater(n_judged, 0.8 * N_ARRAYS)

    def stretch_of_tart(self, random):
        length = 0.064
        duration = length * 10 ** random.uniform(-1.2, 0)
        n_channels = int(2 ** random.integers(4, 11))
        return ["config/ready/tart.ini", os.path.join(
            RECORDINGS, "tart/mg-tana-raw.hdf")], {
            "input.start_s": round(random.uniform(0, length - duration), 6),
            "input.duration_s": round(duration, 6),
            "channelizer.channels": n_channels,
            "correlator.integration_time_s": self.dump_s(
                random, duration, 16 * n_channels / 16.368e6)}

    def stretch_of_digital_rf(self, random):
        """One receiver has no pairs, so stretches of its samples serve as
        inputs."""
        name, = glob.glob(os.path.join(RECORDINGS, "digital_rf", "ch0", "*",
                                       "rf@*.h5"))
        with h5py.File(name, "r") as file:
            data = file["rf_data"][1:, 0]       # the first is the fill value
        values = data["r"] + 1j * data["i"]
        n_antennas = int(random.integers(2, 7))
        length = int(random.integers(800, len(values) // n_antennas))
        values = values[:n_antennas * length].reshape(n_antennas, 1, length)
        values = values / np.std(values) * random.uniform(3, 30)
        config = self.path("pieces.ini")
        with open(config, "w", encoding="ascii") as file:
            file.write("[channelizer]\nchannels = 16\n[correlator]\n"
                       "backend = cpu\nintegration_time_s = all\n")
        return [config, self.write(program.Scene(
            program.to_int8(values), rate=Fraction(10_000)))], {
            "channelizer.channels": int(random.choice([8, 16, 32]))}

    @unittest.skipUnless(RECORDINGS, "FX8_RECORDINGS is not set")
    def test_recordings_in_stretches(self):
        random = np.random.default_rng(9000)
        n_judged = 0
        for k in range(N_STRETCHES):
            arguments, keys = (self.stretch_of_digital_rf(random) if k % 3 == 2
                               else self.stretch_of_tart(random))
            keys["quantizer.target_rms"] = round(random.uniform(2, 40), 2)
            with self.subTest(k=k):
                n_judged += self.assert_good(arguments, keys, f"stretch {k}")
        print(f"# {n_judged} of {N_STRETCHES} stretches judged")
        self.assertGreater(n_judged, 0.7 * N_STRETCHES)
