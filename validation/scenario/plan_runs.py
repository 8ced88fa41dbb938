# SPDX-License-Identifier: BSD-3-Clause
"""`fx8 plan` that measures the node itself; and beside the runs that it speaks of.

Shows (commands, planning of runs): a node measured here is kept, and serves again; CPU times
    of runs on one core are those planned from CPU times of the stages; figures of a
    (pretend) card serve for `backend = cuda`; without a card a remark says so
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

    def measure(self, case, environment):
        return json.loads(self.well(
            "bench", "--case", case, "--rounds", "1", "--json", "--quiet",
            environment={"TMPDIR": self.folder, **environment}).stdout)

    def test_a_card(self):
        # every event of the card is 60 ms after the one before: enough for the
        # fewest samples, 64 spectra without those of the window's length
        card = self.measure("card 16 x 1024 int8",
                            program.devices(elapsed_ms=60))
        self.assertEqual([(r["quantity"], r["unit"], r["threads"])
                          for r in card["records"]],
                         [("channelize", "sample/s", 1),
                          ("correlate", "sample/s", 1), ("dump", "cell/s", 1),
                          ("PCIe", "byte/s", 1), ("start", "s", 1)])
        [remark] = card["remarks"]
        self.assertRegex(remark["text"], "^on cuda 0 ")
        value = {r["quantity"]: r["value"] for r in card["records"]}
        samples = (64 - 7) * 16 * 1024
        for quantity, amount in (("channelize", samples),
                                 ("correlate", samples),
                                 ("PCIe", 2 * samples),
                                 ("dump", 36 * 4 * 1024)):
            self.assertAlmostEqual(value[quantity] * 0.06 / amount, 1,
                                   delta=1e-9)
        self.assertGreater(value["start"], 0)
        for case in ("stages 16 x 1024 int8", "recording*", "memory",
                     "result none"):
            card["records"] += self.measure(case, {})["records"]
        node = self.save("node.json", json.dumps(card))
        self.configure(oracle.Setup(1024, 0.4, precision="int8"))
        plan = json.loads(self.well(
            "plan", self.path("config.ini"), "--inputs", "16", "--json",
            "--machine", node, "--set", "correlator.backend=cuda", "--set",
            "observation.sample_rate_hz=1e6", "--set",
            "input.duration_s=1").stdout)
        rates = {stage["name"]: stage["amount"] / stage["seconds"]
                 for stage in plan["stages"]}
        # a sample is 17 / 2 products
        for name, quantity, per in (("PCIe", "PCIe", 1),
                                    ("filter bank", "channelize", 1),
                                    ("correlator", "correlate", 8.5),
                                    ("ends of dumps", "dump", 1)):
            self.assertAlmostEqual(rates[name] / value[quantity] / per, 1,
                                   delta=1e-9)

    def test_no_card(self):
        document = self.measure("card * fp32", program.devices(0))
        self.assertEqual(document["records"], [])
        [remark] = document["remarks"]
        self.assertEqual(remark["case"], "card 4 x 4096 fp32")
        self.assertRegex(remark["text"], "^left out: .*device")

    @unittest.skipUnless(program.LONG, "only in the long tests")
    def test_runs_take_what_was_planned(self):
        done = subprocess.run(
            [sys.executable, "validation/plan_check.py", "--cpu"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

