# SPDX-License-Identifier: BSD-3-Clause
"""fx8 join: memory, whatever the number and the length of the files.

Shows (commands, memory of fx8 join): joins of 4 files of 60 MiB, and of 24
    packed ones by time and by frequency, stay within what `fx8 join --help` says
Within: 72 MiB, 2 MiB for each file and, if they are packed, a dump of the result
    or 32 MiB, whichever is more
Because: a block of rows of 32 MiB, 40 MiB for the libraries and the chunks that
    are written, the metadata of the files, their unpacked chunks
"""
import os
import shutil
import subprocess

import h5py

import oracle
import program


class JoinMemory(program.Case):
    """Copies of a result with dumps of 7 MiB, moved in time or frequency."""

    def files(self, n, name, step, n_samples, **keys):
        recording = self.write(program.Scene(
            program.noise(3, 32, 2, n_samples)))
        config = self.ini(oracle.Setup(256, 0.001024, method="fft",
                                       precision="fp32"), keys)
        paths = [self.path(f"{k}.uvh5") for k in range(n)]
        self.well("correlate", config, recording, "-o", paths[0], "--quiet",
                  "--force")
        for k, path in enumerate(paths[1:], 1):
            shutil.copy(paths[0], path)
            with h5py.File(path, "r+") as file:
                file[name][...] += k * step
        return paths

    def peak_mib(self, files, *words):
        """Peak memory of a join."""
        code = ("import resource, subprocess, sys; "
                "subprocess.run(sys.argv[1:], check=True); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run(
            ["python3", "-c", code, program.FX8, "join", *files, "-o",
             self.path("all.uvh5"), "--quiet", "--force", *words],
            capture_output=True, text=True, check=True)
        return int(done.stdout.split()[-1]) / 1024

    def test_long_files(self):
        files = self.files(4, "Header/time_array", 1, 9000)
        self.assertLess(self.peak_mib(files), 72 + 2 * len(files))
        self.assertGreater(os.path.getsize(self.path("all.uvh5")), 220 << 20)

    def test_many_packed_files(self):
        """A dump of 24 side by side has 168 MiB."""
        for name, step, dump_mib in (("Header/time_array", 1, 7),
                                     ("Header/freq_array", 20e6, 24 * 7)):
            files = self.files(24, name, step, 2048,
                               **{"output.compression": "gzip"})
            peak = self.peak_mib(files, "--compression", "none")
            print(f"# {name}: {peak:.0f} MiB")
            self.assertLess(peak, 72 + 2 * 24 + max(dump_mib, 32))
