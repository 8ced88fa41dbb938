#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The output of the CUDA compiler, checked without a device.

Every function of the numerics headers, per architecture, has the intended
instruction and nothing slow; registers and the number of floating-point
instructions equal the committed table.  The short form checks two columns of
that table: the oldest architecture, and that of the card that we measure on;
FX8_LONG=1 checks all four.

    test_emitted.py --write    write that table for the installed compiler

Shows (devices, device code): every numerics function and kernel has the
    intended instruction, no spill, no call, no slow path; the fold of every
    correlator loads sums in groups; this holds for sm_75 and sm_90, and with
    FX8_LONG=1 for sm_80 and sm_120 too; sources and headers compile without a
    warning, of the host's compiler either
Within: operations of the multi-function unit exactly; floating-point
    instructions as in `results/emitted-nvcc-*.md`; registers ±8; loads of each
    group exactly
Because: another register allocation may differ by 8; `make emitted` writes the
    table, `make sass` the performance that the machine code allows the main
    kernels; kernels with a known number of an instruction identify it
    (`emitted/calibration.py`)
"""
import concurrent.futures
import datetime
import functools
import glob
import os
import re
import sys
import unittest

import calibration
import cubin
import table
import tap
import toolkit

LONG = os.environ.get("FX8_LONG") == "1"
# Architectures in the table, those of them to check, and all that a kernel must
# compile for.
TABLE = (75, 80, 90, 120)
CHECKED = TABLE if LONG else (75, 90)
ALL = (75, 80, 86, 89, 90, 100, 120)
# The latest that CUDA 11.8 supports and 13 does not.
OLD = (61, 70)
# Tolerance for another register allocation.
REGISTERS_WITHIN = 8

PROBE = "validation/emitted/probe.cu"
CALIBRATION = "validation/emitted/calibration.cu"
# The column of sm_90 compiles these for sm_90a; the last one is a kernel for
# sm_90a only and is compiled for nothing else.
WGMMA = "kernels/cuda/correlate_wgmma.cu"
ONLY_90A = (CALIBRATION, WGMMA)
# Tests of the harness that run on a card too.
FOR_CARDS = tuple(f"validation/cuda/test_cuda_{name}.cu"
                  for name in ("engine", "fir", "postprocess", "spectra",
                               "xengine"))
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


class Intent:
    """The instructions that a kernel must have.

    units     all functions of the multi-function unit, in this number
    holds     an instruction that must be present ...
    since     ... from this architecture on, and before it `before`
    doubles   whether double precision is intended
    calls     the only functions that may be out of line; if division of doubles
              is one of them, its reciprocals are not counted
    only      the one architecture that it is for; 0: all
    """

    def __init__(self, units="", *, holds=(), since=0, before=(),
                 doubles=False, calls=(), only=0):
        self.units = sorted(units.split())
        self.holds = holds
        self.since = since
        self.before = before
        self.doubles = doubles
        self.calls = calls
        self.only = only

    def exists(self, architecture):
        return self.only in (0, architecture)

    def instructions(self, architecture):
        return self.holds if architecture >= self.since else self.before


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
POSTPROCESS = Intent(holds=("DFMA", "I2D"), doubles=True,
                     calls=(DOUBLE_DIVISION, DOUBLE_RECIPROCAL))

INTENT = {
    "probe_ptx_rcp": Intent("RCP"),
    "probe_ptx_rsqrt": Intent("RSQ"),
    "probe_ptx_ex2": Intent("EX2"),
    "probe_ptx_lg2": Intent("LG2"),
    "probe_ptx_sin": Intent("SIN"),
    "probe_ptx_cos": Intent("COS"),
    "probe_reciprocal": Intent("RCP"),
    "probe_rsqrt": Intent("RSQ"),
    "probe_exp2": Intent("EX2"),
    "probe_log2": Intent("LG2"),
    "probe_log10": Intent("LG2"),
    "probe_sin_turns": Intent("SIN", holds=("FRND",)),
    "probe_cos_turns": Intent("COS", holds=("FRND",)),
    "probe_tanh": Intent("EX2 RCP", holds=("FFMA",)),
    "probe_tanh_ex2": Intent("EX2 RCP"),
    "probe_tanh_hardware": Intent("TANH"),
    "probe_atanh": Intent("LG2 RCP", holds=("FFMA",)),
    "probe_atan2": Intent("RCP", holds=("FFMA",)),
    "probe_divide_fast": Intent("RCP"),
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
    "fx8_half_from_float_kernel": Intent(holds=("F2FP",), since=80,
                                         before=("F2F",)),
    "fx8_half_to_float_kernel": Intent(holds=("HADD2",)),
    "fx8_half_scale_add_kernel": Intent(holds=("HFMA2",)),
    "fx8_correlate_dp4a_16_kernel": Intent(holds=("IDP",)),
    "fx8_correlate_dp4a_32_kernel": Intent(holds=("IDP",)),
    "fx8_correlate_dp4a_64_kernel": Intent(holds=("IDP",)),
    "fx8_correlate_fp32_16_kernel": Intent(holds=("FFMA",), doubles=True),
    "fx8_correlate_fp32_32_kernel": Intent(holds=("FFMA",), doubles=True),
    "fx8_correlate_fp32_64_kernel": Intent(holds=("FFMA",), doubles=True),
    "fx8_correlate_fp32_down_16_kernel": Intent(holds=("FFMA",),
                                              doubles=True),
    "fx8_correlate_fp32_down_32_kernel": Intent(holds=("FFMA",),
                                              doubles=True),
    "fx8_correlate_fp32_down_64_kernel": Intent(holds=("FFMA",),
                                              doubles=True),
    "fx8_correlate_fp32_up_16_kernel": Intent(holds=("FFMA",),
                                              doubles=True),
    "fx8_correlate_fp32_up_32_kernel": Intent(holds=("FFMA",),
                                              doubles=True),
    "fx8_correlate_fp32_up_64_kernel": Intent(holds=("FFMA",),
                                              doubles=True),
    "fx8_correlate_mma_32_kernel": Intent(holds=("IMMA",)),
    "fx8_correlate_mma_64_kernel": Intent(holds=("IMMA",)),
    "fx8_correlate_mma_128_kernel": Intent(holds=("IMMA",)),
    "fx8_correlate_wgmma_128_kernel": Intent(holds=("IGMMA",), only=90),
    "fx8_fir_4_kernel": Intent(holds=("FFMA",)),
    "fx8_fir_8_kernel": Intent(holds=("FFMA",)),
    "fx8_fir_16_kernel": Intent(holds=("FFMA",)),
    "fx8_fir_64_kernel": Intent(holds=("FFMA",)),
    "fx8_fir_int16_4_kernel": Intent(holds=("IDP",)),
    "fx8_fir_int16_8_kernel": Intent(holds=("IDP",)),
    "fx8_fir_int16_16_kernel": Intent(holds=("IDP",)),
    "fx8_fir_int16_64_kernel": Intent(holds=("IDP",)),
    "fx8_corner_turn_kernel": Intent(holds=("FRND",)),
    "fx8_corner_turn_rotated_kernel": Intent(holds=("FRND", "FFMA"), doubles=True),
    "fx8_gather_kernel": Intent(),
    "fx8_postprocess_int8_kernel": POSTPROCESS,
    "fx8_postprocess_int8_mean_kernel": POSTPROCESS,
    "fx8_postprocess_fp32_kernel": POSTPROCESS,
    "fx8_postprocess_fp32_mean_kernel": POSTPROCESS,
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
    "fx8_add_int64_kernel": Intent(),
    "fx8_add_double_kernel": Intent(holds=("DADD",), doubles=True),
    "fx8_import_int8_kernel": Intent(),
    "fx8_import_fp32_kernel": Intent(),
    "fx8_export_int8_kernel": Intent(),
    "fx8_export_fp32_kernel": Intent(),
    "fx8_pick_int8_kernel": Intent(),
    "fx8_pick_fp32_kernel": Intent(),
    "fx8_pick_sums_kernel": Intent(),
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
        self.cubins = {}
        if not sys.argv[1:]:  # a single case compiles what it needs
            for path in [CALIBRATION] + self.kernel_sources:
                for a in self.architectures():
                    if self.has_kernels(path, a):
                        self.compile(path, a)
        self.decoders = {}

    def compile_sources(self):
        """Host and device code of every program for the last architecture; in
        the long form of every source, for all.  make has already built the
        plug-in's, and the calibration, whose kernels differ between
        architectures, is device code only."""
        known = [a for a in ALL if a in self.kit.known]
        return {path: self.pool.submit(
            self.kit.object, path, known if LONG else known[-1:],
            target_of(path, ".o")) for path in self.sources
            if path != CALIBRATION and
            (LONG or not path.startswith(("kernels/cuda/", PROBE)))}

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

    def exact(self, source, architecture):
        """The exact target of a source in the column of an architecture."""
        return f"{architecture}a" if (
            architecture == 90 and source in ONLY_90A) else architecture

    def sources_of(self, architecture):
        """The sources that have kernels for an architecture."""
        return [source for source in self.kernel_sources
                if self.has_kernels(source, architecture)]

    @staticmethod
    def has_kernels(source, architecture):
        return source != WGMMA or architecture == 90

    def compile(self, source, architecture):
        """The compilation of a source for the column of an architecture."""
        key = source, architecture
        if key not in self.cubins:
            self.cubins[key] = self.pool.submit(
                self.kit.cubin, source, self.exact(source, architecture),
                target_of(source, f".{architecture}.cubin"))
        return self.cubins[key]

    def cubin(self, source, architecture):
        """The kernels of a compiled source."""
        compiled = self.compile(source, architecture).result()
        if not compiled.good:
            raise AssertionError(compiled.complaint())
        return cubin.read(target_of(source, f".{architecture}.cubin"))

    def decoder(self, architecture):
        if architecture not in self.decoders:
            self.decoders[architecture] = calibration.Decoder(
                self.cubin(CALIBRATION, architecture), architecture)
        return self.decoders[architecture]

    def kernel(self, name, architecture):
        """A kernel by name, from the first source that has it."""
        return next(found[name] for found in (
            self.cubin(source, architecture)
            for source in self.sources_of(architecture)) if name in found)

    def kernels(self, architecture):
        """Every kernel of interest on an architecture."""
        found = {}
        for source in self.sources_of(architecture):
            found.update(self.cubin(source, architecture))
        return found

    def registers(self, architecture):
        found = {}
        for source in self.sources_of(architecture):
            found.update(self.compile(source, architecture).result()
                         .registers())
        return found

    def counts(self, architecture):
        decoder = self.decoder(architecture)
        return {name: decoder.count(kernel.instructions) for name, kernel
                in self.kernels(architecture).items()}


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


class Calibrated(WithToolkit):
    """The meaning of instructions is measured, not assumed."""

    def test_slow_path_is_seen(self):
        for architecture in self.build.architectures():
            kernels = self.build.cubin(CALIBRATION, architecture)
            self.assertNotEqual(kernels["calibrate_fchk_4"].functions, {})
            self.assertEqual(kernels["calibrate_fadd_4"].functions, {})

    def test_calls_are_seen(self):
        for architecture in self.build.architectures():
            kernels = self.build.cubin(CALIBRATION, architecture)
            self.assertNotEqual(kernels["integer_call_4"].functions, {})


def check_kernel(case, name, architecture):
    """The kernel has the intended instructions and no unwanted ones."""
    kernel = case.build.kernel(name, architecture)
    count = case.build.decoder(architecture).count(kernel.instructions)
    intent = INTENT[name]
    case.assertEqual(dict(count.unknown), {}, "not in calibration.cu")
    units = [u for u in count.units.elements()
             if u != "RCP64H" or DOUBLE_DIVISION not in intent.calls]
    case.assertEqual(sorted(units), intent.units)
    for operation in intent.instructions(architecture):
        case.assertIn(operation, count.operations)
    if not intent.doubles:
        case.assertEqual(
            [d for d in calibration.DOUBLE if count.operations[d]], [])
    for function in kernel.functions:
        case.assertTrue(any(known in function for known in intent.calls),
                        f"out of line: {function}")


class Instructions(WithToolkit):
    """The intended instructions, a case for each kernel."""

    def test_every_kernel_has_an_intent(self):
        for architecture in self.build.architectures():
            self.assertEqual(
                sorted(self.build.kernels(architecture)),
                sorted(name for name, intent in INTENT.items()
                       if intent.exists(architecture)))

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


class Fold(WithToolkit):
    """The correlators load their sums in groups, each before the next store,
    because a load after a store would wait for it."""

    def check(self, kernel, product, runs):
        for architecture in self.build.architectures():
            if not INTENT[kernel].exists(architecture):
                continue
            with self.subTest(f"sm_{architecture}"):
                found = self.build.decoder(architecture).fold_runs(
                    self.build.kernel(kernel, architecture).instructions,
                    product)
                self.assertEqual(found, runs)

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


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def add_instruction_cases():
    """One case per kernel, with a subtest per architecture."""
    for name in INTENT:
        def test(self, name=name):
            for architecture in self.build.architectures():
                if not INTENT[name].exists(architecture):
                    continue
                with self.subTest(f"sm_{architecture}"):
                    check_kernel(self, name, architecture)
        setattr(Instructions, f"test_{name}", test)


class Table(WithToolkit):
    """Counts and registers equal those of the committed table."""

    def committed(self):
        found = table.read(self.build.kit.release)
        if found is None:
            self.skipTest(f"no table for nvcc {self.build.kit.release}: "
                          "make emitted writes one")
        return found

    def check_counts(self, architecture):
        committed = self.committed()
        for name, count in self.build.counts(architecture).items():
            with self.subTest(f"{name} sm_{architecture}"):
                self.assertEqual(count.total,
                                 committed[name, architecture].floating,
                                 dict(count.operations))

    def check_registers(self, architecture):
        committed = self.committed()
        for name, registers in self.build.registers(architecture).items():
            with self.subTest(f"{name} sm_{architecture}"):
                self.assertAlmostEqual(registers,
                                       committed[name, architecture].registers,
                                       delta=REGISTERS_WITHIN)

    def test_no_other_rows(self):
        self.assertEqual(
            set(self.committed()),
            {(name, a) for name, intent in INTENT.items() for a in TABLE
             if intent.exists(a)})


def add_table_cases():
    """One case per architecture and column."""
    for architecture in CHECKED:
        for what in ("counts", "registers"):
            def test(self, what=what, architecture=architecture):
                if architecture not in self.build.architectures():
                    self.skipTest(f"nvcc {self.build.kit.release} "
                                  f"has no sm_{architecture}")
                getattr(self, f"check_{what}")(architecture)
            setattr(Table, f"test_{what}_sm_{architecture}", test)


class Old(unittest.TestCase):
    """CUDA 11.8 compiles the same sources, for cards that 13 no longer supports."""

    def test_sources(self):
        try:
            kit = toolkit.find_old()
        except toolkit.MissingToolkit as missing:
            self.skipTest(str(missing))
        os.makedirs(FOLDER, exist_ok=True)
        sources, _ = list_sources()
        # The calibration uses instructions that those cards lack.
        for path in set(sources) - {CALIBRATION}:
            with self.subTest(path):
                done = kit.object(path, OLD, target_of(path, ".old.o"))
                self.assertTrue(done.good, done.complaint())


def write_table():
    """Write the table for the installed compiler."""
    made = build()
    counts, registers = {}, {}
    for architecture in TABLE:
        for name, count in made.counts(architecture).items():
            counts[name, architecture] = count
        for name, number in made.registers(architecture).items():
            registers[name, architecture] = number
    table.write(made.kit, datetime.date.today().isoformat(), counts,
                registers, TABLE)
    print(table.path_of(made.kit.release))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        try:
            write_table()
        except (toolkit.MissingToolkit, FileNotFoundError) as missing:
            sys.exit(f"emitted: {missing}")
    else:
        add_instruction_cases()
        add_table_cases()
        tap.main()
