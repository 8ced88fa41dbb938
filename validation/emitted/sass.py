# SPDX-License-Identifier: BSD-3-Clause
"""Reads the output of nvdisasm: instructions, loops, runs of loads.

Each instruction also encodes which of six scoreboards its result sets and
which ones it waits for (bits 110-112 and 116-121). NVIDIA does not publish
this; it is the same on every architecture since sm_70.
"""
import collections
import re
import subprocess

KERNEL = re.compile(r"\.text\.(\w+):")
LABEL = re.compile(r"\s*(\.L_x_\d+):")
CODE = re.compile(r"/\*[0-9a-f]{4,5}\*/\s+(.*?) ;")
UPPER = re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")
PREDICATE = re.compile(r"^@!?U?P\w+ ")
JUMP = re.compile(r"BRA.*?(\.L_x_\d+)")

# Categories of instructions, by their first word.
KINDS = (
    ("shared", "LDS LDSM STS"),
    ("global", "LDG STG LDGSTS LD ST REDG"),
    ("wait", "BAR BRA BSSY BSYNC CALL RET SYNCS DEPBAR LDGDEPBAR WARPSYNC EXIT "
             "NOP WARPGROUP FENCE ERRBAR MEMBAR"),
    ("double", "DADD DMUL DFMA DSETP DRND F2D I2D D2I"),
    ("float", "FFMA FADD FMUL FMNMX FSEL FSETP FRND F2I I2F I2FP F2F F2FP MUFU "
              "HFMA2 HADD2 FCHK"),
)
KIND = {name: kind for kind, names in KINDS for name in names.split()}
WIDTH = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


class Instruction:
    """One instruction."""

    def __init__(self, text):
        self.text = text
        self.words = PREDICATE.sub("", text).split()[0].split(".")
        # Instructions that never run are padding.
        self.name = "NOP" if text.startswith("@!PT") else self.words[0]
        self.sets = self.waits = 0

    def take_upper(self, word):
        """Read the scoreboards in the upper word: one bit for each."""
        barrier = word >> 46 & 7
        self.sets = 1 << barrier if barrier < 6 else 0
        self.waits = word >> 52 & 0x3f

    @property
    def width(self):
        """Bytes of a load or store by one thread."""
        return next((WIDTH[word] for word in self.words if word in WIDTH), 4)

    @property
    def columns(self):
        """Columns of the product of a warpgroup; 1: not such a product."""
        shape = next((word for word in self.words if word.startswith("64x")),
                     "64x1x32")
        return int(shape.split("x")[1])


class Code:
    """A kernel: its instructions and the targets of jumps."""

    def __init__(self):
        self.instructions = []
        self.labels = {}

    def loops(self):
        """First and last instruction of every loop."""
        found = []
        for end, instruction in enumerate(self.instructions):
            jump = JUMP.search(instruction.text)
            begin = self.labels[jump.group(1)] if jump else end
            if begin < end:
                found.append((begin, end))
        return found

    def inner_loop(self, product):
        """The loop with the largest share of products, weighted by their size;
        the whole kernel if no loop has products."""
        def share(loop):
            part = self.instructions[loop[0]:loop[1] + 1]
            return sum(i.columns for i in part if i.name == product) / len(part)
        loops = [loop for loop in self.loops() if share(loop) > 0]
        return max(loops, key=share,
                   default=(0, len(self.instructions) - 1))

    def around(self, loop):
        """Instructions of the smallest surrounding loop in front of `loop`."""
        begins = [begin for begin, end in self.loops()
                  if begin < loop[0] and end > loop[1]]
        return self.instructions[max(begins):loop[0]] if begins else []

    def fold_runs(self, product):
        """Loads before every run of stores, after the last product."""
        last = max((k for k, i in enumerate(self.instructions)
                    if i.name == product), default=-1)
        runs, stored = [0], False
        for instruction in self.instructions[last + 1:]:
            if instruction.name == "STG":
                stored = True
            elif instruction.name == "LDG":
                if stored:
                    runs.append(0)
                stored = False
                runs[-1] += 1
        return runs

    def runs_of_loads(self, begin, end):
        """Bytes and number of the loads in flight before each wait for one
        of them."""
        runs, pending = [], 0
        for instruction in self.instructions[begin:end + 1]:
            if instruction.waits & pending or not runs:
                runs.append((0, 0))
                pending = 0
            if instruction.name == "LDG":
                count, size = runs[-1]
                runs[-1] = count + 1, size + instruction.width
                pending |= instruction.sets
        return [run for run in runs if run[0]]


def kinds(instructions, product):
    """Counts of each kind of instruction, with products separate. All others
    count as integer: addresses, comparisons, moves."""
    return collections.Counter(
        "product" if i.name == product else KIND.get(i.name, "integer")
        for i in instructions)


def read(nvdisasm, cubin):
    """The kernels of a cubin: maps name to Code."""
    text = subprocess.run([nvdisasm, "-c", "-hex", cubin], check=True,
                          capture_output=True, text=True).stdout
    found, code = {}, None
    for line in text.splitlines():
        if match := KERNEL.match(line):
            code = found.setdefault(match.group(1), Code())
        elif code is None:
            continue
        elif match := LABEL.match(line):
            code.labels[match.group(1)] = len(code.instructions)
        elif match := CODE.search(line):
            code.instructions.append(Instruction(match.group(1)))
        elif match := UPPER.match(line):
            code.instructions[-1].take_upper(int(match.group(1), 16))
    return found
