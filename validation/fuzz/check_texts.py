# SPDX-License-Identifier: BSD-3-Clause
"""Text input spoilt by a fuzzer: INI, CSV, JSON, overrides, single values.

Shows (failures, fuzzer): for fuzzed texts, recordings and visibilities and for
    bytes overwritten at random, a refusal is one line, reads of accepted input
    stay within their buffers, nothing leaks and no handle stays open
Within: no report of a checker except in libhdf5's own code
Because: `fuzz/README.md` lists the faults of libhdf5
In: fuzz/check_recordings.py, fuzz/check_damage.py
"""
import glob
import re

import libfuzzer
import tap


def contents(pattern):
    """Contents of the repository's files that match a pattern."""
    found = []
    for path in sorted(glob.glob(pattern)):
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def overrides():
    """The keys of the ready configurations as arguments of --set."""
    found = []
    for text in contents("config/ready/*.ini"):
        section, lines = None, []
        for line in text.decode().splitlines():
            head = re.match(r"\[(\w+)\]", line)
            entry = re.match(r"\s*(\w+)\s*=\s*([^;]*)", line)
            if head:
                section = head.group(1)
            elif entry:
                lines.append(f"{section}.{entry.group(1)}="
                             f"{entry.group(2).strip()}")
        found += ["\n".join(lines[at:at + 8]).encode()
                  for at in range(0, len(lines), 8)]
    return found


# Values of every kind; the byte before one chooses a key.
VALUES = ("25000000/27", "925925.93", "1.6e7", "2019-08-29T19:00:00.5Z",
          "2019-08-29 19:00:00+00:00", "0-15,20", "5-5", "all", "-26.7",
          "1e-9", "none", "a/b*.h5,c.h5")

SEEDS = {
    "ini": contents("config/ready/*.ini"),
    "overrides": overrides(),
    "antennas": contents("config/ready/*antennas*.csv") + [
        b"number,name,east_m,north_m,up_m,cable_delay_x_ns,cable_delay_y_ns,"
        b"input\n# a comment\n7,A,1,2,3,-4.5,6e1,1\n8,B,2,2,3,0,0,0\n"],
    "positions": [b'{"antenna_positions": [[0, 0, 0], [1.5, -2e1, 3]]}',
                  b'[[1, 2, 3],\n [4, 5, 6]]',
                  b'{"a": [{"b": "\\u00e9\\n"}, null, true], '
                  b'"antenna_positions": [[1, 2, 3]], "c": 1e3}'],
    "sources": contents("config/ready/*sources*.csv") + [
        b"az_deg,el_deg,I,Q,U,V,tone_hz\n10,60,1,.1,.2,.3,\n20,5,1,,,,150e6\n",
        b"ra_deg,dec_deg,az_deg,el_deg,I,Q,tone_hz\n10,-60,,,1,-1,150e6\n"
        b",,20,5,1,,\n"],
    "gains": [b"number,pol,amplitude,phase_deg,delay_ns\n7,X,1.5,-90,2e3\n"
              b"0,Y,1,0,0\n"],
    "centers": [b"name,ra_deg,dec_deg\nCas A,350.85,58.8\nB,0,-90\n"],
    "tart_config": [
        b'{"name": "Here", "frequency": 1575420000.0, "L0_frequency": '
        b'1571328000.0, "baseband_frequency": 4092000.0, '
        b'"sampling_frequency": 16368000.0, "lat": -18.5, "lon": 47.25, '
        b'"alt": 1280.0, "num_antenna": 24, "axes": ["East", {"]": 1}]}'],
    "values": [bytes([key]) + value.encode() for key, value in
               enumerate(VALUES)],
}


class Texts(libfuzzer.Fuzz):
    """Every target."""

    program = "fuzz_texts"
    n_targets = len(SEEDS)
    runs = 2000

    def test_seeds_are_those_of_the_repository(self):
        for target, seeds in SEEDS.items():
            self.assertTrue(seeds and all(seeds), target)
        self.assertGreater(len(libfuzzer.dictionary()), 100)


def case_of(target):
    return lambda self: self.fuzz(target, SEEDS[target])


for name in SEEDS:
    setattr(Texts, f"test_{name}", case_of(name))


if __name__ == "__main__":
    tap.main()
