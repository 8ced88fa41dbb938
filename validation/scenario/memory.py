# SPDX-License-Identifier: BSD-3-Clause
"""Memory: a recording is streamed, so a long one takes no more than a short
one."""
import re

import h5py
import numpy as np

import oracle
import program
import tap

# Samples per input: 16 and 256 MiB of recording.
SHORT, LONG = 1 << 20, 1 << 24
N_INPUTS = 8

# What the allocator and the threads' stacks may make of the same work: far
# less than the 240 MiB by which the recordings differ.
ALLOWED_MIB = 8


class Memory(program.Case):
    """Peak memory of whole runs."""

    def recording(self, name, n_samples, axes):
        """Noise, written in pieces: the first a recording as it should be, its
        dataset replaced by a longer one."""
        generator = np.random.default_rng(5)
        piece = program.to_int8(20 * (
            generator.normal(size=(N_INPUTS, 1, SHORT))
            + 1j * generator.normal(size=(N_INPUTS, 1, SHORT))))
        order = [("antenna", "pol", "time").index(axis) for axis in axes]
        path = self.write(program.Scene(piece[:, :, :64]), name, axes=axes)
        values = program.packed(piece).transpose(order)
        shape = list(values.shape)
        time = axes.index("time")
        shape[time] = n_samples
        with h5py.File(path, "r+") as file:
            del file["voltages"]
            dataset = file.create_dataset("voltages", shape, values.dtype)
            for dim, label in zip(dataset.dims, axes):
                dim.label = label
            for first in range(0, n_samples, SHORT):
                where = [slice(None)] * 3
                where[time] = slice(first, first + SHORT)
                dataset[tuple(where)] = values
        return path

    def peak_mib(self, recording):
        """Peak resident memory of `fx8 correlate`, from its summary."""
        config = self.path("config.ini")
        with open(config, "w", encoding="utf-8") as file:
            file.write(program.ini_of(oracle.Setup(64, "all",
                                                   precision="int8")))
        done = program.run("correlate", config, recording, "-o",
                           self.path("out.uvh5"), "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(re.search(r"^memory +([0-9.]+) MiB", done.stdout,
                               re.MULTILINE).group(1))

    def compare(self, axes):
        """A long and a short recording of the same kind."""
        short = self.peak_mib(self.recording("short.h5", SHORT, axes))
        long = self.peak_mib(self.recording("long.h5", LONG, axes))
        print(f"# {short} MiB and {long} MiB")
        self.assertLess(long - short, ALLOWED_MIB)

    def test_antennas_slowest(self):
        self.compare(("antenna", "pol", "time"))

    def test_time_slowest(self):
        self.compare(("time", "antenna", "pol"))


if __name__ == "__main__":
    tap.main()
