# SPDX-License-Identifier: BSD-3-Clause
"""Reads that fail during a run, and memory that runs out: one line and nothing
left behind, or the same result as without the fault.

Shows (failures, reads that fail): failing reads, a file cut, emptied or
    unlinked between any two reads, and memory that runs out are handled
Within: exit 1 and one line, the finished dumps, or the result as without
"""
import os
import re
import resource

import numpy as np

import program

MIB = 1 << 20
FAULTY = program.faulty("", "")["LD_PRELOAD"]


class Faults(program.Job):
    """Every fault at several moments of a run."""

    def setUp(self):
        super().setUp()
        self.configure(extra={"correlator.threads": 1})

    def faulty(self, recording, fault, at, count="/dev/null",
               environment=None):
        """Run in small blocks, with a fault from the at-th read on."""
        return self.correlate(recording, "--quiet", "--force", environment={
            **(environment or {}), "FX8_BLOCK_SAMPLES": "700",
            **program.faulty(fault, recording, at, count)})

    def count_reads(self, recording, environment=None):
        """The result of a run without a fault, and the number of its reads."""
        count = self.path("count")
        done = self.faulty(recording, "none", 10**9, count, environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        want = program.read(self.output)
        os.remove(self.output)
        return want, int(program.text(count))

    def make(self, chunks):
        return self.recording("in.h5", n_samples=60_000, chunks=chunks,
                              axes=("time", "antenna", "pol"))

    def judge(self, done, want, where):
        """Check for one line and the finished dumps, or the same result; returns
        whether the run failed."""
        if done.returncode == 0:
            self.assert_equal(program.read(self.output), want)
            os.remove(self.output)
            return False
        self.assert_failed(done, want, *where)
        return True

    def moments(self, chunks):
        """The result of a run without a fault, and the numbers of some of its
        reads."""
        want, reads = self.count_reads(self.make(chunks))
        self.assertGreater(reads, 8)
        steps = 60 if program.LONG else 6
        return want, sorted({*range(0, reads, max(reads // steps, 1)),
                             reads - 1})

    def check(self, fault, refused):
        """Inject a fault in recordings of both layouts; refused(failed, all)
        judges how many of the runs failed."""
        for chunks in (None, (500, 2, 1)):
            want, moments = self.moments(chunks)
            found = 0
            for at in moments:
                with self.subTest(chunks=chunks, at=at, of=moments[-1]):
                    path = self.make(chunks)
                    found += self.judge(self.faulty(path, fault, at), want,
                                        ("in.h5",))
            with self.subTest(chunks=chunks):
                self.assertTrue(refused(found, len(moments)),
                                (found, moments))

    def test_reads_fail(self):
        # the last reads may come after all samples have been read
        self.check("eio", lambda found, n: found > n // 2)

    def test_file_shrinks(self):
        self.check("cut", lambda found, n: found > n // 2)

    def test_file_is_emptied(self):
        self.check("gone", lambda found, n: found > n // 2)

    def test_reading_fails_while_gains_are_sought(self):
        """An antenna starts in the second dump, and reading ahead for its gains
        fails. The first dump is kept, even if a device has not delivered it
        yet."""
        generator = np.random.default_rng(17)
        samples = generator.integers(-60, 60, (2, 1, 8000)) * (1 + 1j)
        samples[1, 0, :3000] = 0
        path = self.write(program.Scene(samples), "in.h5")
        for backend in "cpu", "cuda":
            with self.subTest(backend=backend):
                self.configure(extra={"correlator.threads": 1,
                                      "correlator.backend": backend})
                want, reads = self.count_reads(path, program.devices())
                # the last 8 reads come after the gains
                done = self.faulty(path, "eio", reads - 12, "/dev/null",
                                   program.devices())
                self.assertEqual(self.assert_failed(done, want, "in.h5"), 1)

    def test_file_loses_its_name(self):
        # the loss is noticed only before the file is opened for the last time
        self.check("unlink", lambda found, n: found < 2)

    def judge_crash(self, done):
        """libhdf5 1.10 may crash when its own allocations fail; then there is
        no file under the final name."""
        frames = [line for line in done.stderr.splitlines()
                  if re.match(r"/\S+\(|\S+/fx8\(|\S+/fx8\[", line)
                  and not re.search(r"/libc\.so|faulty_io|ld-linux", line)]
        self.assertIn("libhdf5", frames[0] if frames else "", done.stderr)
        self.assertFalse(os.path.exists(self.output))
        if os.path.exists(self.output + ".part"):
            os.remove(self.output + ".part")
        return 1

    def test_memory_runs_out(self):
        """Raise the limit in steps, from too little to start to enough."""
        generator = np.random.default_rng(7)
        samples = (generator.integers(-60, 60, (24, 2, 20_000))
                   + 1j * generator.integers(-60, 60, (24, 2, 20_000)))
        recording = self.write(program.Scene(samples), "in.h5")
        want = self.result(recording)
        refused = whole = crashes = 0
        trace = {"LD_PRELOAD": FAULTY, "FX8_FAULT_TRACE": "1"}
        for size in range(24, 400, 4 if program.LONG else 16):
            def limit(size=size):
                resource.setrlimit(resource.RLIMIT_AS, (size * MIB,) * 2)
            with self.subTest(size_mib=size):
                if program.run("--help", preexec_fn=limit,
                               environment=trace).returncode != 0:
                    continue    # even the libraries do not fit
                done = self.correlate(recording, "--quiet", "--force",
                                      preexec_fn=limit, environment=trace)
                if done.returncode >= 128:
                    crashes += self.judge_crash(done)
                    continue
                failed = self.judge(done, want, ())
                refused += failed
                whole += not failed
        print(f"# {refused} refused, {whole} whole, {crashes} crashes of "
              "libhdf5")
        self.assertGreater(refused, 0)
        self.assertGreater(whole, 0)

    def test_part_swapped_before_it_is_renamed(self):
        """The one moment that no check of the name can catch."""
        recording = self.recording()
        part = self.output + ".part"
        ours = part + ".ours"
        want = self.result(recording)
        for force in ((), ("--force",)):
            with self.subTest(force=force):
                done = self.correlate(recording, *force, environment=
                                      program.faulty("swap", part, at=0))
                self.assert_one_line(done, 1, "out.uvh5.part: moved", ours)
                self.assertFalse(os.path.exists(self.output))
                self.assertEqual(program.text(part), "theirs")
                self.assert_equal(program.read(ours), want)
                os.remove(part)
                os.remove(ours)
