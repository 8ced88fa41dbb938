# SPDX-License-Identifier: BSD-3-Clause
"""A job that is ended and goes on, for scenario/resume.py and others."""
import os
import re
import shutil
import time

import h5py
import numpy as np

import oracle
import program
import same_file


class ResumedJob(program.Job):
    """One recording: gaps, an input that is silent at first, a dead one."""

    def setUp(self):
        super().setUp()
        self.input = self.path("in.h5")
        self.record()
        self.part = self.output + ".part"
        self.look = self.path("look.h5")

    def record(self, seed=221, more_missing=()):
        """Write the recording."""
        generator = np.random.default_rng(seed)
        samples = (generator.integers(-60, 60, (4, 2, 60_000))
                   + 1j * generator.integers(-60, 60, (4, 2, 60_000)))
        samples[2, 1, :21_000] = 0
        samples[3, 0] = 0
        missing = [(-1, -1, 30_000, 700), (1, 0, 4_000, 9_000), *more_missing]
        program.write(self.input, program.Scene(samples, missing=missing),
                      axes=("time", "antenna", "pol"))

    def job(self, keys=None, outputs=("out.uvh5",), setup=None):
        """Set up a job, and run it once undisturbed."""
        self.configure(setup or oracle.Setup(64, 0.002, taps=4,
                                             precision="int8"),
                       {"correlator.threads": 1, **(keys or {})})
        self.outputs = [self.path(name) for name in outputs]
        self.clear()
        self.well(*self.words(self.input))
        self.want = {}
        for path in self.outputs:
            self.want[path] = path + ".want"
            os.rename(path, self.want[path])
        with h5py.File(self.want[self.outputs[0]], "r") as file:
            self.n_dumps = int(file["fx8/planned_dumps"][()])

    @property
    def undo(self):
        """What is saved beside the .part."""
        return self.part + ".undo"

    def start_held(self, *extra, share=0.5):
        """Start a run that waits within the recording until end(), or let_go();
        returns the process once it heeds signals and the .part exists."""
        process = self.start(*self.words(self.input, *extra),
                             env={**os.environ,
                                  **self.holding(self.input, share)})
        self.wait_for_handler(process)
        self.wait_for(process, self.outputs[0] + ".part")
        return process

    def clear(self):
        for path in self.outputs:
            for name in (path, path + ".part", path + ".part.undo"):
                if os.path.exists(name):
                    os.remove(name)

    def count_writes(self, *words, part=None, code=0, **environment):
        """How many writes a run that nothing kills makes to a .part, and to its
        .part.undo."""
        count = self.path("count")
        done = self.correlate(self.input, "--quiet", *words, environment={
            **program.faulty("kill", part or self.part, 10**9, count),
            **environment})
        self.assertEqual(done.returncode, code, done.stderr)
        return int(program.text(count))

    def finished(self):
        """The dumps that every output has finished, by its marks and data;
        None if a kill has torn one of them: only --resume can then read it."""
        common = np.ones(self.n_dumps, bool)
        for path in self.outputs:
            if path.endswith(".h5"):    # made again from the others
                continue
            name = path if os.path.exists(path) else path + ".part"
            try:
                with h5py.File(name, "r") as file:
                    marks = file["fx8/checksum"][...] != -1
                    is_packed = file["Data/visdata"].compression is not None
                program.read(name)
            except (OSError, KeyError, RuntimeError):
                return None
            except AssertionError:
                # a table that is half the old one can miss a chunk
                if is_packed:
                    return None
                raise
            common[:len(marks)] &= marks
            common[len(marks):] = False
        return int(common.sum())

    def slow_jobs(self):
        """Set up a slow job, without and with compression; yields how long each
        takes, if nothing else needs the processors."""
        for compression in ("none", "gzip"):
            self.job({"correlator.kernel": "reference",
                      "output.compression": compression})
            seconds = []
            for _ in range(3):
                begin = time.monotonic()
                self.well(*self.words(self.input, "--force"))
                seconds.append(time.monotonic() - begin)
            yield min(seconds)

    def summary(self, held):
        """How many kills left no finished dump, some, and all."""
        n_none, n_all = held.count(0), held.count(self.n_dumps)
        return (f"{len(held)} kills left no dump {n_none} times, some of "
                f"{self.n_dumps} {len(held) - n_none - n_all} times, all "
                f"{n_all} times")

    def resume(self, *extra, code=0, **options):
        """Go on; returns the number of dumps that were not computed again."""
        done = self.well(*self.words(self.input, "--resume", *extra),
                         code=code, **options)
        return self.kept(done.stdout)

    def kept(self, text):
        """How many dumps a run that goes on has not computed again."""
        found = re.search(r"; (\d+) finished before\)", text)
        if "complete since an earlier run" in text:
            return self.n_dumps
        return int(found[1]) if found else 0

    def left(self, dumps=None):
        """The .part of a run that was paused behind its last dump, or had
        finished some; of each output."""
        for path, want in self.want.items():
            if not os.path.exists(want + ".copy"):
                continue
            os.rename(want + ".copy", path + ".part")
            with h5py.File(path + ".part", "r+") as file:
                # the mark of a pause, without which it would be refused
                if file["Data/visdata"].compression is not None:
                    file["fx8/checksum"][:dumps] |= -2**63
                if dumps is not None:
                    file["fx8/checksum"][dumps:] = -1
                    file["Data/visdata"][-1] = 0

    def copy_want(self):
        for path, want in self.want.items():
            if path.endswith(".uvh5"):
                shutil.copy(want, want + ".copy")

    def check(self):
        """Every output is that of the undisturbed run."""
        for path, want in self.want.items():
            self.assertEqual(same_file.differences(path, want), [], path)
            self.assertFalse(os.path.exists(path + ".part"))
            self.assertFalse(os.path.exists(path + ".part.undo"))

    def complete(self):
        """Go on, and check the result; no finished dump is computed again."""
        finished = self.finished()
        self.assertEqual(self.resume(), finished or 0)
        self.check()
        return finished
