# SPDX-License-Identifier: BSD-3-Clause
"""Reads the machine code of a cubin with nvdisasm, NVIDIA's disassembler: its
kernels, their instructions, their slow paths."""
import collections
import re
import subprocess

KERNEL = re.compile(r"\.text\.(\w+):$")
FUNCTION = re.compile(r"(\$[\w$]+):$")
CODE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)(.*?) ;")
REGISTER = re.compile(r"\bR(\d+)\b(\.reuse)?")
# The first words of floating-point instructions and of products of bytes.
FLOATING = re.compile(r"[FDH](ADD|MUL|FMA|MNMX|SET|SEL|RND|CHK)|MUFU|[FIB]2F"
                      r"|F2I|IDP|IMMA|IGMMA")


class Instruction(collections.namedtuple("Instruction", "words operands")):
    """The words of an instruction, as in FSETP.GT, and its operands."""

    @property
    def name(self):
        return self.words[0]

    @property
    def is_floating(self):
        """HFMA2 of zero only moves a constant."""
        return bool(FLOATING.match(self.name)) and not (
            self.name == "HFMA2" and
            re.match(r" \w+, -?RZ, ", self.operands))

    def registers_read(self):
        """Place, number and whether it is kept, for every register read."""
        for place, operand in enumerate(self.operands.split(",")[1:]):
            if match := REGISTER.search(operand):
                yield place, int(match.group(1)), bool(match.group(2))

    @property
    def is_double(self):
        return "F64" in self.words or (
            self.name.startswith("D") and self.is_floating)


class Kernel:
    """A kernel: its own instructions, and the names of the functions after it:
    the compiler's slow paths and functions that were not inlined."""

    def __init__(self):
        self.instructions = []
        self.functions = []

    def count(self):
        """The floating-point instructions, and the functions of the
        multi-function unit."""
        found = [i for i in self.instructions if i.is_floating]
        return (collections.Counter(i.name for i in found),
                collections.Counter(i.words[1] for i in found
                                    if i.name == "MUFU"))

    def has_doubles(self):
        return any(i.is_double for i in self.instructions)

    def bank_reads(self, name):
        """Even and odd registers that the instructions of a name read, each bank
        counted by itself, but for those that the instruction before has kept
        for the same operand (.reuse)."""
        reads, kept = [0, 0], {}
        for instruction in self.instructions:
            if instruction.name != name:
                continue
            for place, number, reuse in instruction.registers_read():
                bank = number % 2
                reads[bank] += kept.get((place, bank)) != number
                kept[place, bank] = number if reuse else None
        return reads

    def fold_runs(self, product):
        """Loads before each run of stores, after the last product."""
        last = max(k for k, i in enumerate(self.instructions)
                   if i.name == product)
        runs, stored = [], True
        for instruction in self.instructions[last + 1:]:
            if instruction.name == "STG":
                stored = True
            elif instruction.name == "LDG":
                if stored:
                    runs.append(0)
                stored = False
                runs[-1] += 1
        return runs


def read(nvdisasm, cubin):
    """The kernels of a cubin: maps name to Kernel."""
    text = subprocess.run([nvdisasm, "-c", cubin], check=True,
                          capture_output=True, text=True).stdout
    found = collections.defaultdict(Kernel)
    kernel = None
    for line in text.splitlines():
        if match := KERNEL.match(line):
            kernel = found[match.group(1)]
        elif match := FUNCTION.match(line):
            kernel.functions.append(match.group(1))
        elif kernel and not kernel.functions and (match := CODE.search(line)):
            kernel.instructions.append(
                Instruction(match.group(1).split("."), match.group(2)))
    return found
