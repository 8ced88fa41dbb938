# SPDX-License-Identifier: BSD-3-Clause
"""`fx8 plan`: the job that `fx8 correlate --dry-run` describes, from figures of a
node with round numbers; what it refuses.

Shows (commands, planning): input, plan and channels are the lines of a dry run; a
    result is as large as said, with some of its baselines or averaged too; with
    --inputs, work is that of the array; blocks of inputs without a chosen baseline
    cost nothing; keys whose time is not counted are named; times of the document
    follow from its stages, those of a card too; a node measured here is kept, and
    serves again; wrong use is refused in one line
Within: sizes 128 kB and 5 %; sums 10⁻⁹
Because: besides its rows, a file has a header; a document has all digits of a
    double, and times near a microsecond are added up
"""
import json
import math
import os
import re

import h5py

import oracle
import program

GOOD = {"threads": 2, "date_utc": "today",
        "machine": {"cpu": "a CPU", "n_cpus": 2}}
# quantity: value on one thread, per second but for level
STAGES = {"channelize": 1e6, "correlate": 1e6, "dump": 1e6, "level": 1.0}
ONCE = {"recording 4 inputs": {"one thread": 1e6},
        "recording 512 inputs": {"one thread": 1e6},
        "result none": {"rate": 1e6, "sync": 1e6, "size": 1.0, "start": 1.0},
        "result gzip": {"rate": 1e5, "size": 0.5, "start": 1.0}}


CARD = {"channelize": 1e8, "correlate": 1e7, "dump": 1e9, "PCIe": 5e8,
        "start": 2.0}


def node(card=()):
    """A document, every stage as fast for all shapes, twice on two threads; and
    the figures `card` of a card."""
    records = [(f"stages {shape} {precision}", quantity, threads,
                value / threads if quantity == "level" else value * threads)
               for shape in ("4 x 4096", "512 x 32", "512 x 1")
               for precision in ("int8", "fp32")
               for quantity, value in STAGES.items() for threads in (1, 2)]
    records += [("memory", "first touch", threads, 1e18) for threads in (1, 2)]
    records += [(name, quantity, 1, value) for name, figures in ONCE.items()
                for quantity, value in figures.items()]
    records += [(f"card {shape} int8", quantity, 1, value)
                for shape in ("4 x 4096", "512 x 32")
                for quantity, value in dict(card).items()]
    names = ("case", "quantity", "threads", "value")
    return {**GOOD, "records": [{"section": "node", **dict(zip(names, record))}
                                for record in records]}


class Plan(program.Job):

    def setUp(self):
        super().setUp()
        self.configure(oracle.Setup(64, 0.02, precision="int8"))
        self.input = self.write(program.Scene(
            program.noise(471, 6, 2, 156_000)))
        self.node = self.save("node.json", json.dumps(node()))
        self.machine = ("--machine", self.node)
        self.config = self.path("config.ini")

    def plan(self, *words):
        return self.well("plan", self.config, *words, *self.machine).stdout

    def document(self, *words):
        return json.loads(self.plan(*words, "--json"))

    def stage(self, document, name):
        return next(stage for stage in document["stages"]
                    if stage["name"] == name)

    def test_the_job_of_a_dry_run(self):
        dry = self.well(*self.words(self.input, "--dry-run")).stdout
        before = self.contents()
        page = self.plan(self.input)
        self.assertEqual(self.contents(), before)
        self.assertTrue(dry.startswith(page[:page.index("result")]), page)
        for text in ("2 of 2 CPUs, 2 threads", "\n 1024 ", "storage 10 GB/s",
                     "\nreal time "):
            self.assertIn(text, page)
        self.assertNotIn("kWh", page)
        document = self.document(self.input)
        self.assertEqual((document["n_inputs"], document["n_channels"],
                          document["n_dumps"]), (12, 64, 8))
        self.assertEqual([row["nodes"] for row in document["nodes"]],
                         [2**k for k in range(11)])
        self.well(*self.words(self.input))
        size = os.path.getsize(self.output)
        self.assertLess(abs(document["result_bytes"] - size),
                        128e3 + 0.05 * size)

    def test_times_follow_from_stages(self):
        document = self.document(self.input, "--cores", "1", "--nodes", "1",
                                 "--watts", "100")
        # reading and plain writing are beside the rest, and the disk takes all
        # dumps but the last
        seconds = sum(stage["seconds"] for stage in document["stages"]
                      if stage["name"] not in ("read", "write", "sync"))
        seconds += self.stage(document, "sync")["seconds"] / 8
        [row] = document["nodes"]
        self.assertAlmostEqual(row["seconds"] / seconds, 1, delta=1e-9)
        self.assertAlmostEqual(row["energy_j"] / (100 * seconds), 1, delta=1e-9)
        self.assertAlmostEqual(row["times_real_time"] * row["seconds"], 0.156,
                               delta=1e-9)
        # 2,425 spectra in whole dumps of 312 and one of 241, 12 inputs
        self.assertAlmostEqual(self.stage(document, "filter bank")["amount"],
                               2430 * 64 * 12, delta=5 * 64 * 12)
        self.assertIn("kWh", self.plan(self.input, "--watts", "100"))

    def test_a_card(self):
        node_of_card = self.save("card.json", json.dumps(node(CARD)))
        self.machine = ("--machine", node_of_card)
        words = ("--inputs", "512", "--set", "input.duration_s=60", "--set",
                 "observation.sample_rate_hz=1e6", "--set",
                 "correlator.integration_time_s=60", "--set",
                 "correlator.backend=cuda", "--cores", "1")
        document = self.document(*words)
        seconds = {stage["name"]: stage["seconds"]
                   for stage in document["stages"]}
        samples = 512 * 60e6
        for name, rate in (("read", 1e6 / 2), ("PCIe", 5e8 / 2),
                           ("filter bank", 1e8), ("correlator", 1e7)):
            self.assertAlmostEqual(seconds[name] * rate / samples, 1,
                                   delta=1e-4)
        # the CPU sets the levels; the card has a start of its own
        self.assertAlmostEqual(seconds["level setting"], 512 * 64 / (4 * 4096))
        self.assertAlmostEqual(seconds["start and end"], 2)
        row = document["nodes"][0]
        self.assertEqual(row["bound"], "read")
        self.assertAlmostEqual(row["seconds"], sum(
            seconds[name] for name in ("read", "write", "sync",
                                       "level setting", "start and end")),
            delta=1e-6)
        page = self.plan(*words)
        for text in (", 1 thread, a card: ", "\nPCIe  ", "samples cross PCIe"):
            self.assertIn(text, page)
        self.assertNotIn("the CPU computes", page)
        # auto plans the CPU
        page = self.plan(*words, "--set", "correlator.backend=auto")
        self.assertNotIn("PCIe", page)
        self.assertIn("the CPU computes", page)

    def test_an_array_without_a_recording(self):
        words = ("--inputs", "512", "--set", "input.duration_s=60", "--set",
                 "observation.sample_rate_hz=25000000/27", "--set",
                 "correlator.integration_time_s=2")
        one = self.document(*words)
        samples = 60 * 25e6 / 27 * 512
        cmac = self.stage(one, "correlator")["amount"]
        self.assertAlmostEqual(cmac / (samples * 513 / 2), 1, delta=1e-4)
        self.assertAlmostEqual(
            self.stage(one, "read")["amount"] / (2 * samples), 1, delta=1e-4)
        self.assertEqual(one["n_dumps"], 30)
        # 256 x 257 / 2 baselines of 64 channels and 4 products, and columns
        self.assertAlmostEqual(one["result_bytes"],
                               30 * 32896 * (64 * 4 * 13 + 96))
        # 128 of 128 x 129 / 2 blocks of 2 x 2 antennas are on the diagonal
        for choice, n, blocks in (("auto", 256, 128), ("cross", 32640, 8256),
                                  ("0&1,2&255,3&254", 3, 129)):
            some = self.document(*words, "--set", f"output.baselines={choice}")
            self.assertAlmostEqual(some["result_bytes"],
                                   30 * n * (64 * 4 * 13 + 96))
            self.assertAlmostEqual(self.stage(some, "ends of dumps")["amount"],
                                   self.stage(one, "ends of dumps")["amount"])
            for item in "amount", "seconds":
                self.assertAlmostEqual(
                    self.stage(some, "correlator")[item]
                    / self.stage(one, "correlator")[item], blocks / 8256)
        many = self.document(*words, "--bands", "384")
        self.assertAlmostEqual(
            self.stage(many, "correlator")["amount"] / cmac, 384)
        self.assertTrue(math.isclose(many["n_channels"], 384 * 64))
        self.configure(extra={"array.antennas": 1})     # of a recording
        self.assertEqual(self.document(*words)["n_inputs"], 512)
        real = self.document(*words, "--real")
        self.assertAlmostEqual(self.stage(real, "correlator")["amount"] / cmac,
                               0.5, delta=1e-4)

    def test_what_is_not_counted(self):
        gains = self.save("gains.csv",
                          "number,pol,amplitude,phase_deg,delay_ns\n"
                          "0,X,1,30,0\n")
        for keys, others in (
                ((), ("delay.mode=cable",)),        # cables of no length
                (("flag.sk_false_alarm=0.001", "quantizer.dither=yes"), ()),
                (("correlator.memory_limit_mib=4000",), ()),
                (("input.van_vleck=yes",), ("channelizer.method=fft",
                                            "channelizer.window=rectangular")),
                (("delay.mode=track", "flag.clip_level=100"),
                 ("delay.phase_center_ra_deg=10",
                  "delay.phase_center_dec_deg=20")),
                (("input.missing_value=-128", "postprocess.quicklook=q.h5",
                  f"array.gains={gains}"), ())):
            with self.subTest(keys=keys):
                words = [word for key in keys + others
                         for word in ("--set", key)]
                names = sorted(key.split("=")[0] for key in keys)
                document = self.document(self.input, *words)
                self.assertEqual(sorted(document["not_counted"]), names)
                page = self.plan(self.input, *words)
                lines = re.findall(r"^time .*\n +not counted: (.*)$", page, re.M)
                self.assertEqual(lines, [", ".join(document["not_counted"])]
                                 if names else [])

    def test_averages_in_time(self):
        """Fewer rows, as many as there are then."""
        words = "--set", "output.time_average_loss=1e-10"
        self.well(*self.words(self.input, *words))
        with h5py.File(self.output, "r") as file:
            n_rows = int(file["Header/Nblts"][()])
        self.assertLess(n_rows, 8 * 21)
        document = self.document(self.input, *words)
        self.assertAlmostEqual(document["result_bytes"],
                               n_rows * (64 * 4 * 13 + 96))
        # of one block, other nodes have nothing
        self.assertEqual(len({row["seconds"]
                              for row in document["nodes"][1:]}), 1)

    def test_nodes_for_real_time(self):
        words = ("--inputs", "64", "--set", "observation.sample_rate_hz=1e6",
                 "--set", "input.duration_s=600", "--storage-gbs", "100",
                 "--network-gbs", "100")
        enough = self.document(*words)["real_time_nodes"]
        self.assertGreater(enough, 1)
        for nodes, is_enough in ((enough, True), (enough - 1, False)):
            [row] = self.document(*words, "--nodes", str(nodes))["nodes"]
            self.assertEqual(row["times_real_time"] >= 1, is_enough)
        few = self.document(*words[:-4], "--storage-gbs", "0.001")
        self.assertEqual((few["real_time_nodes"], few["nodes"][-1]["bound"]),
                         (0, "storage"))

    def test_refused(self):
        good = (self.config, self.input)
        made = (self.config, "--inputs", "8")
        damaged = self.save("damaged.json", "{\n\"records\": [}")
        other = self.save("other.json", json.dumps({**GOOD, "records": []}))
        half = node()
        half["records"] = [r for r in half["records"]
                           if r["quantity"] != "dump"]
        half = self.save("half.json", json.dumps(half))
        card = self.save("card.json", json.dumps(node(CARD)))
        lame = self.save("lame.json", json.dumps(node({"start": 1.0})))
        cuda = (*good, "--set", "correlator.backend=cuda")
        for words, *mentions in (
                ((), "no CONFIG.ini"),
                ((self.config,), "input.files: not given"),
                ((*good, "--inputs", "8"), "--inputs"),
                ((*good, "--bands", "2"), "--bands"),
                ((*good, "--cores", "3"), "--cores: 3: expected at most 2"),
                ((*good, "--cores", "0.5"), "--cores: 0.5: expected a whole"),
                ((*good, "--nodes", "0"), "--nodes: 0: expected"),
                ((*good, "--storage-gbs", "-1"), "--storage-gbs: -1: expected"),
                ((*good, "--watts", "nan"), "--watts: nan: expected"),
                ((*good, "--write-machine", "x"), "--write-machine"),
                ((*good, "--machine", damaged), f"{damaged}:2: "),
                ((*good, "--machine", other), f"{other}: ", "section node"),
                ((*good, "--machine", half), f"{half}: ", "no dump of int8"),
                ((*good, "--machine", "none.json"), "none.json: "),
                (cuda, "correlator.backend: cuda: ",
                 f"no figures of a card: {self.node}"),
                ((*cuda, "--machine", lame), f"{lame}: ",
                 "no channelize of int8 in \"card"),
                ((*cuda, "--machine", card, "--set", "correlator.device=0,1"),
                 "correlator.device: 0,1: expected one"),
                ((*good, "--set", "output.compression=bitshuffle"),
                 "output.compression: bitshuffle: ", self.node),
                (made, "observation.sample_rate_hz: not given"),
                ((*made, "--set", "observation.sample_rate_hz=1e6"),
                 "input.duration_s: ", "expected seconds"),
                ((self.config, "--inputs", "7", "--set",
                  "observation.sample_rate_hz=1e6", "--set",
                  "input.duration_s=1", "--set", "array.polarizations=2"),
                 "array.polarizations: 2: expected a divisor of --inputs 7")):
            with self.subTest(words=words):
                options = () if "--machine" in words else self.machine
                done = program.run("plan", *words, *options)
                self.assert_one_line(done, 2, *mentions)
                self.assertEqual(done.stdout, "")
