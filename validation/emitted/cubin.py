# SPDX-License-Identifier: BSD-3-Clause
"""Reads a cubin: its kernels, their instructions, their slow paths.

A cubin is an ELF64 file. Every kernel has a section `.text.NAME` of 16-byte
instructions (sm_70 and later). Bits 0-8 of an instruction are its operation,
bits 9-11 tell which operands are registers, constants or immediates. NVIDIA
does not publish the meaning of bits 0-8; calibration.py measures it.
"""
import collections
import struct

INSTRUCTION = 16
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB = 2
_FUNCTION = 2
# Registers of an instruction: an 8-bit number at these bits; 255 reads zero.
_FIRST_SOURCE = 24
_ZERO_REGISTER = 255


class Instruction(collections.namedtuple("Instruction", "low high")):
    """The two 64-bit words of an instruction."""

    @property
    def base(self):
        """The operation, without the form of its operands."""
        return self.low & 0x1ff

    @property
    def unit_function(self):
        """The function of the multi-function unit, if it is a MUFU."""
        return self.high >> 8 & 0x3f

    @property
    def first_is_zero(self):
        """Whether its first source is the register that reads zero."""
        return self.low >> _FIRST_SOURCE & 0xff == _ZERO_REGISTER


class Kernel:
    """A kernel: its own instructions and, by name, those of the functions after
    it: the compiler's slow paths and functions that were not inlined."""

    def __init__(self, name, instructions):
        self.name = name
        self.instructions = instructions
        self.functions = {}

    def take_out(self, spans):
        """Move the functions at these spans (name, begin, end) out of the
        kernel's own instructions."""
        own = list(self.instructions)
        for name, begin, end in spans:
            self.functions[name] = self.instructions[begin:end]
            own[begin:end] = [None] * (end - begin)
        self.instructions = [i for i in own if i is not None]


def _name(strings, offset):
    return strings[offset:strings.index(b"\0", offset)].decode("ascii")


def _sections(data):
    header = _HEADER.unpack_from(data)
    if header[0][:5] != b"\x7fELF\x02":
        raise ValueError("not an ELF64 file")
    offset, size, count, names = header[6], header[11], header[12], header[13]
    if size != _SECTION.size:
        raise ValueError(f"sections of {size} bytes")
    found = [_SECTION.unpack_from(data, offset + k * size)
             for k in range(count)]
    start, length = found[names][4], found[names][5]
    strings = data[start:start + length]
    return [(_name(strings, section[0]), section) for section in found]


def _functions(data, sections):
    """Section number, name, first and last instruction of every function."""
    for _, section in sections:
        if section[1] != _SYMTAB:
            continue
        _, (_, _, _, _, at, length, *_) = sections[section[6]]
        strings = data[at:at + length]
        for offset in range(section[4], section[4] + section[5],
                            _SYMBOL.size):
            name, info, _, number, begin, size = _SYMBOL.unpack_from(data,
                                                                     offset)
            if info & 0xf == _FUNCTION:
                yield (number, _name(strings, name), begin // INSTRUCTION,
                       (begin + size) // INSTRUCTION)


def read(path):
    """The kernels of a cubin: maps name to Kernel."""
    with open(path, "rb") as file:
        data = file.read()
    sections = _sections(data)
    functions = list(_functions(data, sections))
    found = {}
    for number, (section_name, section) in enumerate(sections):
        if not section_name.startswith(".text."):
            continue
        at, length = section[4], section[5]
        if length % INSTRUCTION:
            raise ValueError(f"{section_name}: {length} bytes")
        name = section_name.removeprefix(".text.")
        found[name] = Kernel(name, [
            Instruction(*words)
            for words in struct.iter_unpack("<QQ", data[at:at + length])])
        found[name].take_out([span for owner, *span in functions
                              if owner == number and span[0] != name])
    return found
