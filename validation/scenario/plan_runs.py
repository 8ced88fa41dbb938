# SPDX-License-Identifier: BSD-3-Clause
"""`fx8 plan` that measures the node itself; and beside the runs that it speaks of.

Shows (commands, planning of runs): a node measured here is kept, and serves again; CPU times
    of runs on one core are those planned from CPU times of the stages
Within: 10 %
Because: this is what fx8 plan promises; other load of the machine disturbs
    caches, so only the long tests judge it
"""
import json
import subprocess
import sys
import unittest

import oracle
import program


class Plan(program.Job):
    @unittest.skipUnless(program.LONG, "half a minute of measuring")
    def test_this_machine_is_measured_and_kept(self):
        self.configure(oracle.Setup(64, 0.02, precision="int8"))
        recording = self.recording(n_samples=60_000)
        kept = self.path("node.json")
        words = ("plan", self.path("config.ini"), recording, "--json")
        environment = {"TMPDIR": self.folder}
        now = json.loads(self.well(*words, "--write-machine", kept, "--quiet",
                                   environment=environment,
                                   timeout=600).stdout)
        later = json.loads(self.well(*words, "--machine", kept).stdout)
        self.assertEqual(now.pop("machine"), "measured now")
        self.assertEqual(later.pop("machine"), kept)
        self.assertEqual(now, later)
        self.assertEqual(json.loads(program.text(kept))["command"].split()[:2],
                         ["fx8", "plan"])
        # refused before anything is measured
        self.assert_one_line(program.run(*words, "--write-machine", kept), 2,
                             kept, "--force")

    @unittest.skipUnless(program.LONG, "only in the long tests")
    def test_runs_take_what_was_planned(self):
        done = subprocess.run(
            [sys.executable, "validation/plan_check.py", "--cpu"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

