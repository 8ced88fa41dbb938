# SPDX-License-Identifier: BSD-3-Clause
"""Finds out which instructions are floating-point, by measurement.

calibration.cu has every operation 4 and 12 times: the instruction that occurs 8
times more often in the longer kernel is the operation. Instructions in its
integer kernels are not floating-point. All others are unknown; they are
reported, not counted.
"""
import collections

SHORT, LONG = 4, 12
GROWTH = LONG - SHORT

# Operation, floating-point instructions per step, first architecture with it.
# Half-precision sums come first: from sm_80 on, a second form of HFMA2 does some
# of them, and also moves constants.
OPERATIONS = (
    ("hfma2", 1, 75),
    ("hadd2", 1, 75),
    ("hmul2", 1, 75),
    ("hset2", 2, 75),
    ("hmnmx2", 2, 80),
    ("fadd", 1, 75),
    ("fmul", 1, 75),
    ("ffma", 1, 75),
    ("fmnmx", 2, 75),
    ("fsetp", 2, 75),
    ("fsel", 3, 75),
    ("fset", 2, 75),
    ("frnd", 2, 75),
    ("f2i", 2, 75),
    ("i2f", 2, 75),
    ("f2f", 2, 75),
    ("f2fp", 2, 80),
    ("dadd", 1, 75),
    ("dmul", 1, 75),
    ("dfma", 1, 75),
    ("dsetp", 2, 75),
    ("drnd", 2, 75),
    ("d2i", 2, 75),
    ("i2d", 2, 75),
    ("f2d", 3, 75),
    ("b2f", 2, 90),
)
# Functions of the multi-function unit; a step also has one addition, and for
# sine and cosine a product with 1 / (2 pi).
UNITS = {"rcp": 2, "rsq": 2, "sqrt": 2, "ex2": 2, "lg2": 2, "sin": 3, "cos": 3,
         "tanh": 2}
# The upper word of the reciprocal, or reciprocal root, of a double, with an
# addition.
DOUBLE_UNITS = {"rcp64h": 2, "rsq64h": 2}
# The compiler's division: a reciprocal, five fused multiply-adds, a check.
DIVISION = ("fchk", 7)
# Products of bytes.  Only sm_90a has wgmma, here with 64 columns.
PRODUCTS = (
    ("idp", 1, 75),
    ("imma", 1, 80),
)
QUARTER_PRODUCT = ("imma", 4)
WARPGROUP_PRODUCT = ("igmma", 1)
DOUBLE = ("DADD", "DMUL", "DFMA", "DSETP", "DRND", "D2I", "I2D",
          "F2D")


class CalibrationError(Exception):
    """The compiler translated a calibration kernel in an unexpected way."""


class Count:
    """Counts of floating-point and of unknown instructions."""

    def __init__(self):
        self.operations = collections.Counter()
        self.units = collections.Counter()
        self.unknown = collections.Counter()

    @property
    def total(self):
        return self.operations.total()


class Decoder:
    """The meaning of instruction bases on one architecture."""

    def __init__(self, kernels, architecture):
        self.kernels = kernels
        self.names = {}
        self.units = {}
        self.other = set()
        self._learn(*OPERATIONS[0][:2], most=2)
        self._learn_other()
        for name, size, since in OPERATIONS[1:]:
            if architecture >= since:
                self._learn(name, size)
        for name, size in (UNITS | DOUBLE_UNITS).items():
            self._learn_unit(name, size)
        self._learn(*DIVISION)
        for name, size, since in PRODUCTS:
            if architecture >= since:
                self._learn(name, size)
        if architecture < 80:
            self._learn(*QUARTER_PRODUCT)
        if f"calibrate_igmma_{LONG}" in kernels:
            self._learn(*WARPGROUP_PRODUCT)
        self.load = self._find_memory("memory_load")
        self.store = self._find_memory("memory_store")

    def _bases(self, instructions):
        """Counts of each base, without moves."""
        return collections.Counter(i.base for i in instructions
                                   if not self._moves(i))

    def _growth(self, kernel):
        grown, short = (self._bases(
            self.kernels[f"calibrate_{kernel}_{times}"].instructions)
            for times in (LONG, SHORT))
        grown.subtract(short)
        return {base: n for base, n in grown.items()
                if n > 0 and base not in self.other}

    def _learn(self, name, size, most=1, kernel=None):
        """Name the new base among those whose counts grew. All others that grew
        must be known, and their total as expected."""
        grown = self._growth(kernel or name)
        new = [base for base in grown if base not in self.names]
        if not 1 <= len(new) <= most or sum(grown.values()) != size * GROWTH:
            raise CalibrationError(f"{name}: {self._words(grown)}, expected "
                                   f"{size * GROWTH}, one of them new")
        for base in new:
            self.names[base] = name.upper()

    def _learn_unit(self, name, size):
        kernel = f"mufu_{name}"
        if "MUFU" in self.names.values():
            grown = self._growth(kernel)
            if sum(grown.values()) != size * GROWTH:
                raise CalibrationError(f"{name}: {self._words(grown)}")
        else:
            self._learn("mufu", size, kernel=kernel)
        found = collections.Counter(
            i.unit_function
            for i in self.kernels[f"calibrate_{kernel}_{LONG}"].instructions
            if self.names.get(i.base) == "MUFU")
        if list(found.values()) != [LONG] or set(found) & set(self.units):
            raise CalibrationError(f"{name}: functions {dict(found)}")
        self.units[found.popitem()[0]] = name.upper()

    def _learn_other(self):
        """Mark all instructions of the integer kernels as not floating-point."""
        for name, kernel in self.kernels.items():
            if name.startswith("integer_"):
                for part in (kernel.instructions, *kernel.functions.values()):
                    self.other |= set(self._bases(part))

    def _moves(self, instruction):
        """Whether HFMA2 moves a constant: zero times a value, plus the
        constant."""
        return (self.names.get(instruction.base) == "HFMA2"
                and instruction.first_is_zero)

    def _find_memory(self, kernel):
        """The one instruction whose count grows."""
        grown, short = (collections.Counter(
            i.base for i in self.kernels[f"{kernel}_{times}"].instructions)
            for times in (LONG, SHORT))
        found = [base for base in grown if grown[base] - short[base] == GROWTH]
        if len(found) != 1:
            raise CalibrationError(f"{kernel}: {found}")
        return found[0]

    def fold_runs(self, instructions, product):
        """Loads before each run of stores, after the last product."""
        last = max(k for k, i in enumerate(instructions)
                   if self.names.get(i.base) == product)
        runs, stored = [], True
        for instruction in instructions[last + 1:]:
            if instruction.base == self.store:
                stored = True
            elif instruction.base == self.load:
                if stored:
                    runs.append(0)
                stored = False
                runs[-1] += 1
        return runs

    def _words(self, grown):
        return ", ".join(f"{n} {self.names.get(base, hex(base))}"
                         for base, n in sorted(grown.items())) or "nothing"

    def count(self, instructions):
        """Count the floating-point instructions."""
        found = Count()
        for instruction in instructions:
            base = instruction.base
            if base in self.names:
                if not self._moves(instruction):
                    found.operations[self.names[base]] += 1
            elif base not in self.other:
                found.unknown[hex(base)] += 1
            if self.names.get(base) == "MUFU":
                unit = instruction.unit_function
                found.units[self.units.get(unit, hex(unit))] += 1
        return found
