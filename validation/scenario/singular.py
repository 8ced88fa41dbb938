# SPDX-License-Identifier: BSD-3-Clause
"""The output of commands when there is one of everything.

Shows (commands, one of a thing): simulate, correlate, compare and info write
    "1 dump" for one
Within: no plural noun after a 1
"""
import program


class One(program.Job):
    """One antenna, channel, dump and so on, in the output of every command."""

    def assert_singular(self, text):
        for line in text.splitlines():
            self.assertNotRegex(line, r"(?<![\d.])\b1 [a-z-]+(s|tra|xes)\b")

    def test_one_of_everything(self):
        keys = {"channelizer.method": "none", "channelizer.channels": 1,
                "correlator.integration_time_s": "all",
                "observation.sample_rate_hz": 1_000_000,
                "observation.dc_frequency_hz": 150_000_000,
                "observation.start_time_utc": "2024-01-01T00:00:00Z",
                "array.positions": "none", "array.antennas": 1,
                "array.polarizations": 1, "simulate.duration_s": 0.01,
                "postprocess.quicklook": self.path("look.h5"),
                "postprocess.math": "fast"}
        sections = {}
        for key, value in keys.items():
            section, name = key.split(".")
            sections.setdefault(section, []).append(f"{name} = {value}\n")
        self.save("config.ini", "".join(f"[{section}]\n{''.join(lines)}" for
                                  section, lines in sections.items()))
        recording = self.path("one.h5")
        said = []
        for words in (
                ("simulate", self.config, "-o", recording),
                ("correlate", self.config, recording, "--precision=both", "-o",
                 self.output),
                ("compare", self.path("out.int8.uvh5"),
                 self.path("out.fp32.uvh5")),
                ("info", recording), ("info", self.path("look.h5")),
                ("info", self.path("out.int8.uvh5"))):
            done = self.well(*words, code=(0, 3))
            said.append(done.stdout)
            self.assert_singular(done.stdout + done.stderr)
        for text, words in zip(said, (
                "1 antenna, 1 polarisation, ",
                "1 antenna x 1 polarisation, ",
                "1 dump, 1 antenna, 1 baseline, 1 product, 1 channel",
                "no input looks wrong",
                "1 of 1 dump, ", "baselines      1")):
            self.assertIn(words, text)
        self.assertIn("1 channel of 1000 kHz, 1 dump of 0.01 s (10000 "
                      "spectra)", said[1])
        self.assertIn("(1 dump, INT8)", said[1])
