# SPDX-License-Identifier: BSD-3-Clause
"""Runs that are killed between or within writes and go on: whatever was finished
is kept, and the result is that of a run that nothing disturbed.

Shows (failures, resume after a kill between writes): after kill -9 between any
    two writes (6 of each of four jobs; `FX8_LONG=1`: every write), or between two
    pages of one, also of runs that resume, and while a result that a signal ends
    is cut, or taken up, `--resume` completes the result: every dataset and
    attribute is that of an undisturbed run, but for the date and the command in
    its history; no finished dump is lost or computed again. INT8 and FP32 in one
    run with a quick-look, two phase centres, missing samples, inputs that begin
    late or are dead, a shorter last dump; without and with compression
Within: equal
"""
import os
import shutil
import signal

import program
from resumed import ResumedJob

STEPS = 10**9 if program.LONG else 6    # in all files of a job


class ResumeWrites(ResumedJob):
    """Kills between writes, of one file after the other."""

    def killed(self, write, part, *extra, fault="kill", **environment):
        """Run, killed before its n-th write to a file, or within (tear); returns
        its status."""
        return self.correlate(self.input, "--quiet", *extra, environment={
            **program.faulty(fault, part, write), **environment}).returncode

    def between_writes(self, *names):
        """Kill between writes to some outputs, and go on each time."""
        held = set()
        for name in names:
            part = self.path(name) + ".part"
            self.clear()
            writes = self.count_writes(part=part)
            self.assertGreater(writes, self.n_dumps)
            step = max(1, writes * len(names) // STEPS)
            for write in sorted({*range(0, writes, step), writes - 1}):
                self.clear()
                self.assertEqual(self.killed(write, part), -9)
                held.add(self.complete())
                # and a run that goes on, killed likewise
                self.clear()
                self.assertEqual(self.killed(write // 2, part), -9)
                self.assertIn(self.killed(write // 2, part, "--resume"),
                              (0, -9))
                self.complete()
        print(f"# {names}: dumps kept {sorted(held - {None})}")
        self.assertGreater(len(held), 4)

    def test_killed_between_writes(self):
        self.job()
        self.between_writes("out.uvh5")

    def test_killed_between_writes_of_packed_files(self):
        self.job({"output.compression": "gzip",
                  "quantizer.target_rms": 60})  # clips
        self.between_writes("out.uvh5")

    def test_killed_between_writes_of_two_precisions(self):
        self.job({"correlator.precision": "both",
                  "postprocess.quicklook": self.look},
                 ("out.int8.uvh5", "out.fp32.uvh5", "look.h5"))
        self.between_writes("out.int8.uvh5", "out.fp32.uvh5", "look.h5")

    def test_killed_between_writes_of_two_centres(self):
        centres = self.save("centres.csv", "name,ra_deg,dec_deg\n"
                            "A,60,-27\nB,80,-30\n")
        self.job({"delay.mode": "track", "delay.phase_centers": centres,
                  "delay.dut1_s": 0, "output.channel_average": 4},
                 ("out.A.uvh5", "out.B.uvh5"))
        self.between_writes("out.B.uvh5")

    def test_killed_while_a_result_is_taken_up(self):
        """One that a signal ended: until it has its length again."""
        ended = self.path("ended")
        for compression in ("none", "gzip"):
            self.job({"output.compression": compression})
            self.end(self.start_held("--quiet"), signal.SIGTERM)
            os.rename(self.output, ended)
            kept = []
            for write in range(0, 80, 1 if program.LONG else 5):
                self.clear()
                shutil.copy(ended, self.output)
                fault = ("kill", "tear")[write % 2]
                if self.killed(write // 2, self.part, "--resume",
                               fault=fault) == 0:
                    break
                kept.append(self.complete() if fault == "kill"
                            else self.go_on())
            self.judge(compression, kept)

    def go_on(self):
        """From a .part that only --resume may be able to read."""
        kept = self.resume()
        self.check()
        return kept

    def judge(self, compression, kept, least=0):
        print(f"# {compression}: dumps kept {kept}")
        self.assertGreater(min(kept), least)
        self.assertGreater(len(kept), 10)

    def test_killed_while_a_result_is_cut(self):
        """One that a signal ends: the writes after its last dump."""
        for compression in ("none", "gzip"):
            self.job({"output.compression": compression})
            self.clear()
            term = {"FX8_FAULT_TERM": str(self.count_writes() // 2)}
            self.clear()
            writes = self.count_writes(code=130, **term)
            ended = self.finished()
            kept = []
            for write in range(writes - 60, writes,
                               1 if program.LONG else 4):
                self.clear()
                if self.killed(write, self.part, **term) == -9:
                    kept.append(self.go_on())
            # the signal comes anywhere within some dumps in flight
            self.judge(compression, kept, ended // 2)

    def test_killed_within_writes(self):
        """Between two of their pages: HDF5's tables are never torn."""
        kinds = ({"output.compression": "gzip"}, {})
        for keys in kinds if program.LONG else kinds[:1]:
            self.job(keys)
            self.clear()
            writes = self.count_writes()
            # those of a dump, and some; or all
            middle = range(writes * 2 // 3, writes * 2 // 3 + 16)
            kept = []
            for write in range(writes) if program.LONG else middle:
                self.clear()
                self.assertEqual(self.killed(write, self.part, fault="tear"),
                                 -9)
                kept.append(self.go_on())
            print(f"# {keys}: dumps kept {kept}")
            self.assertEqual(kept, sorted(kept))
            self.assertGreater(kept[-1], kept[0])
