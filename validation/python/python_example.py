#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""python_example.py -- what correlator/fx8.h declares, for Python's ctypes: the
second part of correlator/examples/fx8.py, which `make pages` writes.  Needs only
the standard library.
"""
import re
import textwrap

HEADER = "correlator/fx8.h"
PAGE = "correlator/examples/fx8.py"
# The page keeps its text up to this line.
MARK = "# All declarations of fx8.h: `make pages` writes them.\n"

PLAIN = {"bool": "c_bool", "char": "c_char", "int": "c_int",
         "size_t": "c_size_t", "ptrdiff_t": "c_ssize_t", "float": "c_float",
         "double": "c_double", "int8_t": "c_int8", "uint8_t": "c_uint8",
         "uint16_t": "c_uint16", "int64_t": "c_int64", "uint64_t": "c_uint64"}
# A space at which no line ends.
TIED = "\N{NO-BREAK SPACE}"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def statements(text):
    """The declarations at the top level of a header, in one line each."""
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.DOTALL)
    text = re.sub(r"(?m)^#.*\n", "", text)
    text = re.sub(r"\bFX8_API |FX8_PRINTF\([^)]*\)", "", text)
    for found in re.findall(r"[^;{]+(?:\{[^}]*\})?[^;]*;", text):
        yield " ".join(found.rstrip(";").split())


class Declarations:
    """Python lines for every constant, structure and function of a header."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        self.values = {}            # of constants
        self.enums = {}             # to their type
        self.functions = set()      # types of functions
        self.structures = set()
        self.lines = []
        for name, value in re.findall(r"(?m)^#define (FX8_\w+) (.+)$", text):
            if name != "FX8_API":
                self.macro(name, value)
        # the number that the library's file has in its name
        numbers = [self.values[f"FX8_VERSION_{part}"]
                   for part in ("MAJOR", "MINOR")]
        number = ".".join(numbers[:1 + (numbers[0] == "0")])
        self.put(f'_library = CDLL("libfx8.so.{number}")')
        for statement in statements(text):
            for pattern, put in (
                    (r"enum (\w+) \{(.*?),? \}", self.enum),
                    (r"struct (\w+)()", self.structure),
                    (r"struct (\w+) \{ (.*); \}", self.structure),
                    (r"typedef (.*?)(\w+)\((.*)\)", self.function_type),
                    (r"(.*?)(\w+)\((.*)\)", self.function)):
                found = re.fullmatch(pattern, statement)
                if found:
                    put(*found.groups())
                    break
            else:
                raise ValueError(f"{HEADER}: {statement}: expected an enum, "
                                 "struct, typedef of a function, or function")

    def put(self, line, indent="    "):
        self.lines += textwrap.wrap(line, 79, subsequent_indent=indent,
                                    break_long_words=False)

    def text(self):
        """The lines, with two empty ones around a class."""
        return re.sub("\n{4,}", "\n\n\n", "\n".join(self.lines)).replace(
            TIED, " ") + "\n"

    def macro(self, name, text):
        found = re.fullmatch(r"(?:INT64_C\()?(-?[\d.]+|SIZE_MAX)[f)]?", text)
        if not found:
            raise ValueError(f"{HEADER}: {name}: {text}: expected a number")
        self.constant(name, found[1].replace("SIZE_MAX", "c_size_t(-1).value"))

    def constant(self, name, value):
        self.values[name] = value
        self.put(f"{name} = {value}")

    def enum(self, name, members):
        last = -1
        for member in members.split(","):
            member, _, value = member.strip().partition(" = ")
            last = eval(value, {}, self.values) if value else last + 1
            self.constant(member, last)
        # as gcc and clang choose it
        self.enums[name] = "c_int" if "= -" in members else "c_uint"

    def type_of(self, words):
        """The type and the name of a parameter or member."""
        found = re.fullmatch(r"(?:const )?(struct |enum )?(\w+) ?(\**)(\w*)"
                             r"(?:\[(\w+)\])?", words)
        if not found:
            raise ValueError(f"{HEADER}: {words}: expected a type and a name")
        kind, base, stars, name, length = found.groups()
        depth = len(stars)
        if kind == "struct " and base in self.structures:
            python = base
        elif kind == "enum ":
            python = self.enums[base]
        elif base in ("void", "char") and depth > 0:
            python = {"void": "c_void_p", "char": "c_char_p"}[base]
            depth -= 1
        elif base in self.functions and depth > 0:
            python = base
            depth -= 1
        elif base == "void":
            python = "None"
        else:
            python = PLAIN[base]
        python = "POINTER(" * depth + python + ")" * depth
        return f"{python}{TIED}*{TIED}{length}" if length else python, name

    def structure(self, name, members):
        fields = ", ".join(f'("{field}",{TIED}{python})' for python, field in map(
            self.type_of, members.split("; ") if members else ()))
        if name in self.structures:     # declared before
            self.put(f"{name}._fields_ = [{fields}]")
            return
        self.structures.add(name)
        self.lines += ["", "", f"class {name}(Structure):"]
        self.put(f"    _fields_ = [{fields}]" if fields else "    pass",
                 8 * " ")
        self.lines += ["", ""]

    def types(self, result, parameters):
        """The types of a function: of its result and its parameters."""
        return ", ".join(self.type_of(words.strip())[0] for words in
                         [result, *parameters.split(",")]
                         if words not in ("void", " ..."))

    def function_type(self, result, name, parameters):
        self.functions.add(name)
        self.put(f"{name} = CFUNCTYPE({self.types(result, parameters)})")

    def function(self, result, name, parameters):
        self.put(f'{name} = _function("{name}", '
                 f"{self.types(result, parameters)})")


def declarations():
    """The second part of the page."""
    return Declarations(read(HEADER)).text()


def main():
    text = read(PAGE).partition(MARK)[0] + MARK + declarations()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
