#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The output of the CUDA compiler, checked without a device.

Every function of the numerics headers, per architecture, has the intended
instruction and nothing slow; registers and the number of floating-point
instructions equal the committed table.  The short form checks one column of that
table: the architecture of the card that we measure on (the tier that runs it
compiles the plug-in for the oldest); FX8_LONG=1 checks all four.

    test_emitted.py --write    write that table for the installed compiler

Shows (devices, device code): every numerics function and kernel has the
    intended instruction, no spill, no call, no slow path; the fold of every
    correlator loads sums in groups; the ceiling of multiply-adds is not bound by
    the registers' banks; this holds for sm_90, and with FX8_LONG=1
    for sm_75, sm_80 and sm_120 too; sources and headers compile without a
    warning, with FX8_LONG=1 of the host's compiler either
Within: operations of the multi-function unit exactly; floating-point
    instructions as in `results/emitted-nvcc-*.md`; registers ±8; loads of each
    group exactly; as many reads of a bank as instructions
Because: another register allocation may differ by 8; `make emitted` writes the
    table; NVIDIA's disassembler names the instructions
"""
import concurrent.futures
import dataclasses
import datetime
import functools
import glob
import os
import re
import sys
import unittest

import sass
import table
import tap
import toolkit

LONG = os.environ.get("FX8_LONG") == "1"
# Architectures in the table, those of them to check, and all that a kernel must
# compile for.
TABLE = (75, 80, 90, 120)
CHECKED = TABLE if LONG else (90,)
ALL = (75, 80, 86, 89, 90, 100, 120)
# The latest that CUDA 11.8 supports and 13 does not.
OLD = (61, 70)
# Tolerance for another register allocation.
REGISTERS_WITHIN = 8

PROBE = "validation/emitted/probe.cu"
# A kernel for sm_90a only, which is compiled for nothing else.
WGMMA = "kernels/cuda/correlate_wgmma.cu"
CEILINGS = "validation/gpu/ceilings.cu"
# Tests of the harness that run on a card too.
FOR_CARDS = tuple(f"validation/cuda/test_cuda_{name}.cu"
                  for name in ("engine", "fir", "image", "imager",
                               "postprocess", "spectra", "xengine"))
FOLDER = os.path.join(os.environ.get("FX8_BUILD", "build"), "emitted")
CPUS = len(os.sched_getaffinity(0))

LOCAL_MEMORY = """
extern "C" __global__ void spills(float *data, int m)
{
    float kept[64];
    for (int k = 0; k < 64; ++k)
        kept[data[k] > 0 ? k : m & 63] = data[k];
    data[threadIdx.x] = kept[m & 63];
}
"""


@dataclasses.dataclass(frozen=True)
class Intent:
    """The instructions that a kernel must have.

    units     all functions of the multi-function unit, in this number
    holds     instructions that must be present
    doubles   whether double precision is intended
    calls     the only functions that may be out of line; if division of doubles
              is one of them, its reciprocals are not counted
    only      the one architecture that it is for; 0: all
    """
    units: str = ""
    holds: tuple = ()
    doubles: bool = False
    calls: tuple = ()
    only: int = 0

    def exists(self, architecture):
        return self.only in (0, architecture)


# The compiler's own division, correctly rounded; it checks its operands and
# handles special ones out of line.
DIVISION = "__cuda_sm3x_div_rn_noftz_f32_slowpath"

# Square roots of the IEEE mode, and of the bounds of both modes, in double.
ROOT = "__cuda_sm20_sqrt_rn_f32_slowpath"
DOUBLE_ROOT = "__cuda_sm20_dsqrt_rn_f64_mediumpath"

DOUBLE_DIVISION = "__cuda_sm20_div_rn_f64_full"
DOUBLE_RECIPROCAL = "__cuda_sm20_dblrcp_rn_slowpath"

# From sums to results: double precision; the number of divisions depends on how
# often the compiler duplicates the code.
POSTPROCESS = Intent(holds=("DFMA", "I2F"), doubles=True,
                     calls=(DOUBLE_DIVISION, DOUBLE_RECIPROCAL))

INTENT = {
    **{f"probe_{name}": Intent(unit) for name, unit in (
        ("ptx_rcp", "RCP"), ("ptx_rsqrt", "RSQ"), ("ptx_ex2", "EX2"),
        ("ptx_lg2", "LG2"), ("ptx_sin", "SIN"), ("ptx_cos", "COS"),
        ("reciprocal", "RCP"), ("rsqrt", "RSQ"), ("exp2", "EX2"),
        ("log2", "LG2"), ("log10", "LG2"), ("tanh_ex2", "EX2 RCP"),
        ("tanh_hardware", "TANH"), ("divide_fast", "RCP"))},
    "probe_sin_turns": Intent("SIN", holds=("FRND",)),
    "probe_cos_turns": Intent("COS", holds=("FRND",)),
    "probe_rotation_re": Intent(holds=("FFMA",)),
    "probe_rotation_im": Intent(holds=("FFMA",)),
    **{f"probe_rotation_{name}": Intent()
       for name in ("turns", "place", "phase")},
    "probe_dither_at": Intent(),
    "probe_dither_re": Intent(holds=("FFMA",)),
    "probe_dither_im": Intent(holds=("FFMA",)),
    "probe_image_turns": Intent(holds=("DADD", "DMUL", "FRND"),
                                doubles=True),
    "probe_image_add": Intent(holds=("FFMA",)),
    "probe_tanh": Intent("EX2 RCP", holds=("FFMA",)),
    "probe_atanh": Intent("LG2 RCP", holds=("FFMA",)),
    "probe_atan2": Intent("RCP", holds=("FFMA",)),
    "probe_divide_markstein": Intent("RCP", holds=("FFMA",),
                                     calls=("fx8_divide_slow",)),
    "probe_coherence_part": Intent(),
    "probe_coherence_power": Intent(),
    "probe_coherence_unbiased": Intent("RCP", holds=("FCHK",),
                                       calls=(DIVISION,)),
    "probe_half_from_float": Intent(),
    "probe_half_to_float": Intent(),
    "probe_half_round": Intent(doubles=True),
    "probe_half_scale_add": Intent(doubles=True),
    # F2FP from sm_80 on
    "fx8_half_from_float_kernel": Intent(holds=("F2F",)),
    "fx8_half_to_float_kernel": Intent(holds=("HADD2",)),
    "fx8_half_scale_add_kernel": Intent(holds=("HFMA2",)),
    **{f"fx8_correlate_dp4a_{tile}_kernel": Intent(holds=("IDP",))
       for tile in (16, 32, 64)},
    **{f"fx8_correlate_fp32_{way}{tile}_kernel":
       Intent(holds=("FFMA",), doubles=True)
       for way in ("", "down_", "up_") for tile in (16, 32, 64)},
    **{f"fx8_correlate_mma_{tile}_kernel": Intent(holds=("IMMA",))
       for tile in (32, 64, 128)},
    "fx8_correlate_wgmma_128_kernel": Intent(holds=("IGMMA",), only=90),
    **{f"fx8_fir_{taps}_kernel": Intent(holds=("FFMA",))
       for taps in (4, 8, 16, 64)},
    **{f"fx8_fir_int16_{taps}_kernel": Intent(holds=("IDP",))
       for taps in (4, 8, 16, 64)},
    "fx8_corner_turn_kernel": Intent(holds=("FRND",)),
    "fx8_corner_turn_rotated_kernel": Intent(holds=("FRND", "FFMA")),
    **{f"fx8_corner_turn_{way}dithered_kernel": Intent(holds=("FRND", "FFMA"))
       for way in ("", "rotated_")},
    "fx8_gather_kernel": Intent(),
    **{f"fx8_moments_{kind}kernel": Intent(holds=("DADD", "DMUL"), doubles=True)
       for kind in ("", "none_")},
    "fx8_image_phasors_kernel": Intent(holds=("DADD", "DMUL", "FFMA"),
                                       doubles=True),
    **{f"fx8_image_{rows}_kernel": Intent(holds=("FFMA",)) for rows in (8, 32)},
    **{f"fx8_postprocess_{kind}_kernel": POSTPROCESS
       for kind in ("int8", "int8_mean", "fp32", "fp32_mean")},
    # Divisions: two shares, the noise bias, the quotients of atan2 and atanh.
    "fx8_quicklook_ieee_kernel": Intent(
        "RCP RCP RCP RCP RCP RSQ RSQ", holds=("DADD",), doubles=True,
        calls=(DIVISION, ROOT)),
    "fx8_quicklook_fast_kernel": Intent(
        "LG2 RCP RCP RCP RCP RCP RSQ RSQ", holds=("DADD",), doubles=True,
        calls=(DIVISION,)),
    # Both modes at once, with the shares of one, and bounds in double.
    "fx8_quicklook_check_kernel": Intent(
        "LG2 RCP RCP RCP RCP RCP RCP RCP RCP RSQ RSQ RSQ RSQ RSQ64H RSQ64H",
        holds=("DADD", "DFMA"), doubles=True,
        calls=(DIVISION, ROOT, DOUBLE_DIVISION, DOUBLE_ROOT)),
    **{f"fx8_add_{name}_kernel": Intent(holds=("DADD",), doubles=True)
       for name in ("double", "down", "up")},
    **{f"fx8_{name}_kernel": Intent() for name in (
        "add_int64", "import_int8", "import_fp32", "export_int8", "export_fp32",
        "pick_int8", "pick_fp32", "pick_sums")},
}


def list_sources():
    """Every CUDA source, and every header that is compiled for a device; the
    other tests of the CUDA-on-CPU harness are for the CPU only."""
    sources = [path for room in ("kernels", "validation") for path in
               glob.glob(f"{room}/**/*.cu", recursive=True)
               if path in FOR_CARDS or not path.startswith("validation/cuda/")]
    headers = [path for pattern in ("kernels/cuda/*.h", "kernels/cuda/*.cuh",
                                    "validation/**/*.cuh",
                                    "kernels/numeric/*.h")
               for path in glob.glob(pattern, recursive=True)]
    return sorted(sources), sorted(headers)


def target_of(source, suffix):
    return os.path.join(FOLDER, source.replace("/", "-") + suffix)


def write_unit(name, text):
    """Write a source for one check."""
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Build:
    """Compiles each requested source once, on all cores."""

    def __init__(self, kit):
        self.kit = kit
        if not self.architectures():
            raise AssertionError(f"nvcc knows {kit.known}, none of {CHECKED}")
        os.makedirs(FOLDER, exist_ok=True)
        self.pool = concurrent.futures.ThreadPoolExecutor(CPUS)
        sources, self.headers = list_sources()
        self.sources = sources
        self.kernel_sources = [PROBE] + [
            path for path in sources if path.startswith("kernels/cuda/")
            and "__global__" in read_text(path)]
        self.compiled, self.read = {}, {}
        if not sys.argv[1:]:  # a single case compiles what it needs
            for a in self.architectures():
                for path in self.sources_of(a):
                    self.compile(path, a)

    def compile_sources(self):
        """Device code of every program for the last architecture, for which the
        compiler reads host code too; in the long form both of every source, for
        all.  make has already built the plug-in's."""
        known = [a for a in ALL if a in self.kit.known]
        if LONG:
            return {path: self.pool.submit(
                self.kit.object, path, known, target_of(path, ".o"))
                for path in self.sources}
        return {path: self.pool.submit(
            self.kit.ptx, path, known[-1], target_of(path, ".ptx"))
            for path in self.sources
            if not path.startswith(("kernels/cuda/", PROBE))}

    def compile_headers(self):
        """Every header alone, for device and host; in the short form all in one
        source, because the host's compiler has checked each alone."""
        # fx8_product() before the structure of that name: else g++ warns of
        # shadowing
        units = {path: [path] for path in self.headers} if LONG else {
            "all": ["config/base/shape.h", *self.headers]}
        return {name: self.pool.submit(
            self.kit.object, write_unit(
                name.replace("/", "-") + ".cu",
                "".join(f'#include "{path}"\n' for path in paths)),
            [TABLE[0]], target_of(name, ".o"))
            for name, paths in units.items()}

    def architectures(self):
        """The architectures to check that this compiler supports."""
        return [a for a in CHECKED if a in self.kit.known]

    def sources_of(self, architecture):
        """The sources that have kernels for an architecture."""
        return [source for source in self.kernel_sources
                if source != WGMMA or architecture == 90]

    def compile(self, source, architecture):
        """The compilation of a source for the column of an architecture."""
        key = source, architecture
        if key not in self.compiled:
            self.compiled[key] = self.pool.submit(
                self.kit.cubin, source,
                f"{architecture}a" if source == WGMMA else architecture,
                target_of(source, f".{architecture}.cubin"))
        return self.compiled[key]

    def kernels_of(self, source, architecture):
        """Maps the name of every kernel of a source to its code."""
        compiled = self.compile(source, architecture).result()
        if not compiled.good:
            raise AssertionError(compiled.complaint())
        return sass.read(toolkit.find_nvdisasm(),
                         target_of(source, f".{architecture}.cubin"))

    def kernels(self, architecture):
        """Maps the name of every kernel on an architecture to its code."""
        if architecture not in self.read:
            self.read[architecture] = {}
            for source in self.sources_of(architecture):
                self.read[architecture].update(
                    self.kernels_of(source, architecture))
        return self.read[architecture]

    def registers(self, architecture):
        found = {}
        for source in self.sources_of(architecture):
            found.update(self.compile(source, architecture).result()
                         .registers())
        return found


@functools.cache
def build():
    """The one build, with the toolkit found."""
    return Build(toolkit.find())


class WithToolkit(unittest.TestCase):
    """Cases that need nvcc; all are skipped without it."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.build = build()
        except toolkit.MissingToolkit as missing:
            raise unittest.SkipTest(str(missing)) from None


class Compilation(WithToolkit):
    """Every CUDA source compiles without a warning."""

    def check(self, compiled):
        self.assertGreater(len(compiled), 0)
        for path, future in compiled.items():
            with self.subTest(path):
                done = future.result()
                self.assertTrue(done.good, done.complaint())

    def test_sources(self):
        self.check(self.build.compile_sources())

    def test_headers_alone(self):
        self.check(self.build.compile_headers())

    def test_local_memory_is_refused(self):
        source = write_unit("local_memory.cu", LOCAL_MEMORY)
        done = self.build.kit.cubin(source, TABLE[0],
                                    target_of(source, ".cubin"))
        self.assertFalse(done.good)
        self.assertIn("ocal memory", done.text)


class WithDisassembler(WithToolkit):
    """Cases that also need nvdisasm."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            toolkit.find_nvdisasm()
        except toolkit.MissingToolkit as missing:
            raise unittest.SkipTest(str(missing)) from None


def check_kernel(case, name, architecture):
    """The kernel has the intended instructions and no unwanted ones."""
    kernel = case.build.kernels(architecture)[name]
    operations, units = kernel.count()
    intent = INTENT[name]
    if DOUBLE_DIVISION in intent.calls:
        del units["RCP64H"]
    case.assertEqual(sorted(units.elements()), intent.units.split())
    for operation in intent.holds:
        case.assertTrue(any(name.startswith(operation) for name in operations),
                        f"no {operation}: {dict(operations)}")
    case.assertTrue(intent.doubles or not kernel.has_doubles())
    for function in kernel.functions:
        case.assertTrue(any(known in function for known in intent.calls),
                        f"out of line: {function}")


class Instructions(WithDisassembler):
    """The intended instructions of each kernel."""

    def test_every_kernel_has_an_intent(self):
        for architecture in self.build.architectures():
            self.assertEqual(
                sorted(self.build.kernels(architecture)),
                sorted(name for name, intent in INTENT.items()
                       if intent.exists(architecture)))

    def test_intended_instructions(self):
        for architecture in self.build.architectures():
            for name, intent in INTENT.items():
                if intent.exists(architecture):
                    with self.subTest(f"{name} sm_{architecture}"):
                        check_kernel(self, name, architecture)

    def test_every_function_has_a_probe(self):
        headers = glob.glob("kernels/numeric/*.h") + ["kernels/cuda/ptx.h"]
        text = "".join(read_text(path) for path in headers)
        probes = read_text(PROBE)
        names = re.findall(r"(?:FX8_NUMERIC|__forceinline__) \w+ (fx8_\w+)\(",
                           text)
        self.assertGreater(len(names), 0)
        for name in names + [f"fx8_ptx_{name}" for name in re.findall(
                r"FX8_PTX_UNARY\((\w+), \"", text)]:
            with self.subTest(name):
                # A probe, or part of a kernel that has a probe.
                used = (len(re.findall(rf"\b{name}\(", probes + text))
                        - (name in names))
                self.assertGreater(used, 0)


class Fold(WithDisassembler):
    """The correlators load their sums in groups, each before the next store,
    because a load after a store would wait for it."""

    def check(self, kernel, product, runs):
        for architecture in self.build.architectures():
            if not INTENT[kernel].exists(architecture):
                continue
            with self.subTest(f"sm_{architecture}"):
                self.assertEqual(self.build.kernels(architecture)[kernel]
                                 .fold_runs(product), runs)

    def test_lanes(self):
        for tile, runs in ((16, [4]), (32, [8, 8]), (64, [8, 8])):
            self.check(f"fx8_correlate_dp4a_{tile}_kernel", "IDP", runs)
            for name in ("fp32", "fp32_down", "fp32_up"):
                self.check(f"fx8_correlate_{name}_{tile}_kernel", "FFMA", runs)

    def test_mma(self):
        for tile, runs in ((32, [4] * 2), (64, [8] * 4), (128, [16] * 4)):
            self.check(f"fx8_correlate_mma_{tile}_kernel", "IMMA", runs)

    def test_wgmma(self):
        self.check("fx8_correlate_wgmma_128_kernel", "IGMMA", [16] * 4)


class Ceiling(WithDisassembler):
    """The ceiling of multiply-adds is that of their unit: in every clock one can
    read an even and an odd register."""

    def test_registers(self):
        for architecture in self.build.architectures():
            with self.subTest(f"sm_{architecture}"):
                kernel, = (
                    kernel for name, kernel in self.build.kernels_of(
                        CEILINGS, architecture).items()
                    if "bench_ffma_kernel" in name)
                count, _ = kernel.count()
                self.assertGreater(count["FFMA"], 0)
                self.assertLessEqual(max(kernel.bank_reads("FFMA")),
                                     count["FFMA"])


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Table(WithDisassembler):
    """Counts and registers equal those of the committed table."""

    def committed(self):
        found = table.read(self.build.kit.release)
        if found is None:
            self.skipTest(f"no table for nvcc {self.build.kit.release}: "
                          "make emitted writes one")
        return found

    def test_no_other_rows(self):
        self.assertEqual(
            set(self.committed()),
            {(name, a) for name, intent in INTENT.items() for a in TABLE
             if intent.exists(a)})

    def test_counts_and_registers(self):
        committed = self.committed()
        for architecture in self.build.architectures():
            registers = self.build.registers(architecture)
            for name, kernel in self.build.kernels(architecture).items():
                with self.subTest(f"{name} sm_{architecture}"):
                    count, _ = kernel.count()
                    floating, usual = committed[name, architecture]
                    self.assertEqual(count.total(), floating, dict(count))
                    self.assertAlmostEqual(registers[name], usual,
                                           delta=REGISTERS_WITHIN)


class Old(unittest.TestCase):
    """CUDA 11.8 compiles the same sources, for cards that 13 no longer supports."""

    def test_sources(self):
        try:
            kit = toolkit.find_old()
        except toolkit.MissingToolkit as missing:
            self.skipTest(str(missing))
        os.makedirs(FOLDER, exist_ok=True)
        sources, _ = list_sources()
        for path in sources:
            with self.subTest(path):
                done = kit.object(path, OLD, target_of(path, ".old.o"))
                self.assertTrue(done.good, done.complaint())


def write_table():
    """Write the table for the installed compiler."""
    made = build()
    table.write(made.kit, datetime.date.today().isoformat(),
                {a: made.kernels(a) for a in TABLE},
                {a: made.registers(a) for a in TABLE})
    print(table.path_of(made.kit.release))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        try:
            write_table()
        except (toolkit.MissingToolkit, FileNotFoundError) as missing:
            sys.exit(f"emitted: {missing}")
    else:
        tap.main()
