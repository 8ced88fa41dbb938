# SPDX-License-Identifier: BSD-3-Clause
"""Memory: recordings are streamed, so a long one needs no more memory than a
short one; a limit that is too low is reported at once, with one that suffices.

Shows (failures, memory): memory does not grow with the recording; a limit that
    is too low is reported once, by its key, with the figure that suffices (a
    MiB less does not), on the CPU and on pretend devices
Within: peaks 8 MiB apart at most, of 64 MiB (`FX8_LONG=1`: 256 MiB) and of 32
    MiB of recording; read, and simulated with time fastest and slowest
Because: allocator and stacks may differ by that much
"""
import functools
import re

import h5py

import oracle
import program

# Samples per input: 32 MiB of recording, enough to fill every buffer, and 64 or
# 256 MiB.
SHORT, LONG = 1 << 21, 1 << (24 if program.LONG else 22)
N_INPUTS = 8

# Allocator and thread stacks may differ by this much for the same work: far
# less than the 32 MiB by which the recordings differ.
ALLOWED_MIB = 8

noise = functools.cache(program.noise)


class Memory(program.Case):
    """Peak memory of whole runs."""

    def recording(self, name, n_samples, axes):
        """Noise, written in pieces: a short recording whose dataset is then
        replaced by a longer one."""
        piece = noise(5, N_INPUTS, 1, SHORT)
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

    def peak_mib(self, *arguments):
        """Peak resident memory of a command, from its summary."""
        done = self.well(*arguments, "--force")
        return float(re.search(r"^memory +([0-9.]+) MiB", done.stdout,
                               re.MULTILINE).group(1))

    def correlated(self, n_samples, axes):
        config = self.ini(oracle.Setup(64, "all", precision="int8"))
        return self.peak_mib("correlate", config,
                             self.recording("in.h5", n_samples, axes), "-o",
                             self.path("out.uvh5"))

    def simulated(self, n_samples, axes):
        """With the truth as one dump, and without noise, which is slow because
        it is drawn number by number."""
        sources = self.save("sky.csv", "ra_deg,dec_deg,I,tone_hz\n"
                                       "0,-30,400,150.1e6\n")
        config = self.ini(oracle.Setup(64, "all", precision="int8"), {
            **program.PLACE, "array.antennas": N_INPUTS,
            "array.polarizations": 1,
            "observation.start_time_utc": "2020-09-13T12:26:40",
            "observation.dc_frequency_hz": 150e6,
            "observation.sample_rate_hz": 1_000_000,
            "simulate.sources": sources, "simulate.noise_rms": 0,
            "simulate.dropout_fraction": 0.01,
            "simulate.duration_s": n_samples / 1e6,
            "simulate.axis_order": ",".join(axes)})
        recording = self.path("sky.h5")
        peak_mib = self.peak_mib("simulate", config, "-o", recording)
        with h5py.File(recording) as file:
            self.assertEqual(file["voltages"].shape[axes.index("time")],
                             n_samples)
        return peak_mib

    def compare(self, peak_mib):
        """A long and a short job of the same kind."""
        for axes in ("antenna", "pol", "time"), ("time", "antenna", "pol"):
            with self.subTest(axes=axes):
                short, long = (peak_mib(n, axes) for n in (SHORT, LONG))
                print(f"# {short} MiB and {long} MiB")
                self.assertLess(long - short, ALLOWED_MIB)

    def test_correlate(self):
        self.compare(self.correlated)

    def test_simulate(self):
        self.compare(self.simulated)


class Limit(program.Job):
    """correlator.memory_limit_mib too low: one line with its key, exit 2, and
    the lowest figure that suffices."""

    LEAST = re.compile(r": expected at least (\d+) MiB: (\d+) for spectra, "
                      r"levels and sums, (\d+) for samples, (\d+) for "
                      r"results, (\d+) for files and the program"
                      r"(?:; .* dumps)?$", re.MULTILINE)

    def limited(self, limit, keys, environment):
        """A run with this limit, from the INI file."""
        self.configure(oracle.Setup(keys.pop("channels"), "all"),
            {"correlator.memory_limit_mib": limit, "correlator.threads": 2,
             **keys})
        return self.correlate(self.small, "--force", "--quiet",
                              environment=environment)

    def least(self, limit, keys, environment):
        done = self.limited(limit, dict(keys), environment)
        self.assert_one_line(
            done, 2, "config.ini:",
            f": correlator.memory_limit_mib: {limit}: expected at least ")
        least, *parts = map(int, self.LEAST.search(done.stderr).groups())
        self.assertEqual(sum(parts), least)
        return least

    def test_figure_suffices(self):
        self.small = self.write(program.Scene(program.noise(6, 16, 2, 16_000)))
        int8 = {"channels": 256, "correlator.precision": "int8"}
        fp32 = {"channels": 128, "correlator.precision": "fp32",
                "postprocess.quicklook": self.path("quick.h5")}
        both = {"channels": 512, "channelizer.method": "fft",
                "correlator.precision": "both"}
        for n_devices, keys, kernel in (
                (0, int8, "auto"), (0, fp32, "auto"), (0, both, "auto"),
                # a choice by trial takes most of the time
                (1, int8, "dp4a-16"), (1, fp32, "fp32-16"),
                (2, both, "dp4a-16")):
            # small sums, so that batches of samples matter
            environment = {**program.devices(n_devices, memory_mib=500),
                           "FX8_CUDA_CHUNK_KIB": "16",
                           "FX8_CUDA_TRIAL_MS": "0"}
            keys = {**keys, "correlator.backend":
                    "cuda" if n_devices > 0 else "cpu",
                    "correlator.device": "0,1" if n_devices > 1 else "auto",
                    "correlator.kernel": kernel}
            with self.subTest(n_devices=n_devices, **keys):
                least = self.least(1, keys, environment)
                self.assertGreater(least, 3)
                self.assertEqual(self.least(least - 1, keys, environment),
                                 least)
                done = self.limited(least, dict(keys), environment)
                self.assertEqual(done.returncode, 0, done.stderr)
