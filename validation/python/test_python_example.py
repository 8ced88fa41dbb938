# SPDX-License-Identifier: BSD-3-Clause
"""correlator/examples/fx8.py: libfx8 from Python, by ctypes.

Shows (packaging, libfx8 in Python): the declarations are those of fx8.h as
    `make pages` writes them; the compiler agrees with the place and type of
    every member, the size of every structure, the type of every function and
    every constant; every function that the library exports is there
Within: equal
In: Declarations

Shows (packaging, Session in Python): dumps equal those of examples/memory.c as
    printed, those of `fx8 correlate` to the bit for any strides, blocks and
    missing samples, and numpy's FFT; failures raise the library's message;
    cancelled, failed and closed sessions release their memory
Within: 2⁻²⁰ of √(PᵢPⱼ) for numpy, else equal
Because: an FFT of 16 points in single precision rounds by a few 2⁻²⁴
In: Sessions
"""
import ctypes
import gc
import os
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np

import oracle
import program
import python_example

PAGE = program.text(python_example.PAGE)
# found by its soname, as if it was on the path of the loader
ctypes.CDLL(os.path.join(program.BUILD, "libfx8.so"))
sys.path.insert(0, os.path.dirname(python_example.PAGE))
import fx8  # noqa: E402

# Types of C by the codes of ctypes, which ignores const.
C_TYPES = {"?": "_Bool", "c": "char", "b": "signed char", "B": "unsigned char",
           "H": "unsigned short", "i": "int", "I": "unsigned", "l": "long",
           "L": "unsigned long", "f": "float", "d": "double", "z": "char *",
           "P": "void *"}
INCLUDES = """#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define const
#include "correlator/fx8.h"
"""
STRUCTURES = {name: value for name, value in vars(fx8).items()
              if isinstance(value, type)
              and issubclass(value, ctypes.Structure)
              and value is not ctypes.Structure}
CALLBACKS = {value: name for name, value in vars(fx8).items()
             if name.endswith("_callback")}
FUNCTIONS = {name: value for name, value in vars(fx8).items()
             if isinstance(value, ctypes._CFuncPtr)}


def c_type(kind):
    """The type of C for one of ctypes."""
    if kind is None:
        return "void"
    if kind in CALLBACKS:
        return f"{CALLBACKS[kind]} *"
    if kind.__name__ in STRUCTURES:
        return f"struct {kind.__name__}"
    if issubclass(kind, ctypes.Array):
        return f"{c_type(kind._type_)}[{kind._length_}]"
    if issubclass(kind, ctypes._Pointer):
        return f"{c_type(kind._type_)} *"
    return C_TYPES[kind._type_]


def function_type(name, result, parameters):
    """What a function of C should be; one that formats has more arguments."""
    more = ["..."] if name == "fx8_fail" else []
    return (f"{c_type(result)} ("
            f"{', '.join([*map(c_type, parameters), *more]) or 'void'})")


class Declarations(program.Case):
    """The second part of the file against header, compiler and library."""

    def test_as_generated(self):
        self.assertEqual(PAGE.partition(python_example.MARK)[2],
                         python_example.declarations(), "make pages")

    def expectations(self):
        """What the compiler must agree with."""
        same = "__builtin_types_compatible_p(__typeof__({}), {})".format
        for name, kind in STRUCTURES.items():
            fields = getattr(kind, "_fields_", ())
            for field, member in fields:
                yield (f"offsetof(struct {name}, {field}) == "
                       f"{getattr(kind, field).offset}")
                yield same(f"((struct {name} *)0)->{field}", c_type(member))
            if fields:
                yield f"sizeof(struct {name}) == {ctypes.sizeof(kind)}"
        for name, kind in FUNCTIONS.items():
            yield same(name, function_type(name, kind.restype, kind.argtypes))
        for kind, name in CALLBACKS.items():
            yield same(name, function_type(name, kind._restype_,
                                           kind._argtypes_))
        for name, value in vars(fx8).items():
            if name.startswith("FX8_"):
                yield f"{name} == {value}{'U' if value > 2**63 else ''}"

    def test_by_the_compiler(self):
        wanted = list(self.expectations())
        self.assertGreater(len(wanted), 400)
        source = self.save("layouts.c", INCLUDES + "".join(
            f"_Static_assert({want}, \"\");\n" for want in wanted))
        done = subprocess.run(["gcc", "-std=c17", "-I.", "-fsyntax-only",
                               source], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_functions(self):
        text = subprocess.run(
            ["nm", "--dynamic", "--defined-only", "--format=posix",
             os.path.join(program.BUILD, "libfx8.so")],
            capture_output=True, text=True, check=True).stdout
        self.assertEqual({line.split()[0] for line in text.splitlines()},
                         set(FUNCTIONS))

    def test_found_by_its_name(self):
        """In a process that has not loaded the library."""
        done = subprocess.run(
            [sys.executable, "-c", "import fx8; print(fx8.fx8_version())"],
            cwd=os.path.dirname(python_example.PAGE), capture_output=True,
            text=True, check=True,
            env={**os.environ, "LD_LIBRARY_PATH": program.BUILD})
        self.assertEqual(done.stdout.strip(),
                         repr(program.run("--version").stdout.split()[1].encode()))


def plan_of(n_antennas=2, n_channels=16, **members):
    plan = fx8.fx8_plan_default()
    plan.n_antennas = n_antennas
    plan.sample_rate = fx8.fx8_rate(1_000_000, 1)
    plan.dc_frequency_hz = 150e6
    plan.channelizer.n_channels = n_channels
    plan.spectra_per_dump = 500
    for name, value in members.items():
        setattr(plan, name, value)
    return plan


def pairs(samples):
    """int8 [...][re, im] of complex samples."""
    return program.packed(samples).view(np.int8).reshape(*samples.shape, 2)


class Sessions(program.Case):
    """The first part of the file."""

    def test_as_memory_c(self):
        """The example in the header comment, with the noise of memory.c and in
        its blocks."""
        memory = self.path("memory")
        subprocess.run(
            ["gcc", "-Icorrelator", "correlator/examples/memory.c", "-o",
             memory, f"-L{program.BUILD}", "-lfx8", "-lm",
             f"-Wl,-rpath,{program.BUILD}"], check=True)
        want = subprocess.run([memory], capture_output=True, text=True,
                              check=True).stdout
        length = 16 * (4096 * 2 + 7)
        state, noise = 1, np.empty(2 * (length + 1), np.int8)
        for i in range(len(noise)):
            state = (state * 1664525 + 1013904223) % 2**32
            noise[i] = (state >> 8) % 31 - 15
        late = noise.reshape(-1, 2)
        antennas = np.stack([late[1:], late[:-1]])
        size = length // 9
        shown = textwrap.dedent(re.search(r"(?:^ {4}.*\n|\n)+", PAGE.partition(
            '"""')[2], re.MULTILINE)[0])
        names = {"blocks": [antennas[:, i:i + size]
                            for i in range(0, 9 * size, size)],
                 "print": lambda *_: None}
        exec(shown, names)
        lines = []
        for dump in names["dumps"]:
            v = dump.results[fx8.FX8_RESULT_INT8].visibilities[..., 0]
            for c, f in enumerate(names["session"].frequencies_hz):
                lines.append(f"{dump.index} {f:.0f} {v[0, c].real:.3f} "
                             f"{v[2, c].real:.3f} {abs(v[1, c]):.3f} "
                             f"{np.angle(v[1, c]):.5f}\n")
        self.assertEqual("".join(lines), want)

    def test_as_numpy(self):
        plan = plan_of(3, precision=fx8.FX8_PRECISION_FP32)
        plan.channelizer.method = fx8.FX8_METHOD_FFT
        samples = program.noise(5, 3, 16 * 1000)
        dumps = []
        with fx8.Session(plan, dumps.append) as session:
            session.push(pairs(samples))
            self.assertEqual(session.finish(), 0)
        # sum of squares of the window is 1
        spectra = np.fft.fftshift(np.fft.fft(
            samples.reshape(3, 2, 500, 16)) / 4, axes=-1)
        first, second = np.triu_indices(3)
        want = np.mean(spectra[first].conj() * spectra[second], axis=2)
        power = np.mean(np.abs(spectra)**2, axis=2)
        self.assertEqual(len(dumps), 2)
        for k, dump in enumerate(dumps):
            self.assertEqual(dump.index, k)
            self.assertEqual([bool(result) for result in dump.results],
                             [False, True, False, False])
            result = dump.results[fx8.FX8_RESULT_FP32]
            error = np.abs(result.visibilities[..., 0] - want[:, k])
            np.testing.assert_array_less(error, 2.0**-20 * np.sqrt(
                power[first, k] * power[second, k]))
            self.assertFalse(result.flags.any())
            self.assertTrue((result.nsamples == 1).all())

    def test_as_correlate(self):
        """Both precisions, two polarisations, real and complex samples in any
        order of axes, gaps, blocks of any size."""
        generator = np.random.default_rng(8)
        for is_complex in True, False:
            samples = program.noise(7, 3, 2, 20_000, is_complex=is_complex)
            recording = self.write(program.Scene(
                samples, missing=[(1, 0, 5000, 700), (-1, -1, 9000, 40)]))
            got = [program.read(path) for path in self.both(
                self.ini(oracle.Setup(16, 0.004)), recording, keys={
                    **program.PLACE, "channelizer.flag_edges": "0"})]
            rows = samples.reshape(6, -1)
            rows = pairs(rows) if is_complex else rows.astype(np.int8)
            plan = plan_of(3, n_polarizations=2, is_complex=is_complex,
                           precision=fx8.FX8_PRECISION_BOTH)
            # 4 ms; windows of 8 transforms; the fifth dump is shorter
            plan.spectra_per_dump = 250 if is_complex else 125
            plan.n_spectra = 20_000 // (16 if is_complex else 32) - 7
            for order in "row time", "time row", "parts":
                with self.subTest(is_complex=is_complex, order=order):
                    view = np.copy(rows, order="F" if order == "parts" else "C")
                    if order == "time row":
                        view = np.swapaxes(np.swapaxes(view, 0, 1).copy(), 0, 1)
                    dumps, at = [], 0
                    with fx8.Session(plan, dumps.append) as session:
                        while at < 20_000:
                            n = int(generator.integers(1, 5000))
                            session.push(view[:, at:at + n], missing=[
                                (5000, 700, 2), (9000, 40, -1)])
                            at += n
                        self.assertEqual(session.finish(), 0)
                        np.testing.assert_array_equal(
                            session.frequencies_hz, got[0].header["freq_array"])
                    self.assertEqual(sum(dump.n_spectra for dump in dumps),
                                     plan.n_spectra)
                    for kind, want in enumerate(got):
                        for name in fx8.Result._fields:
                            np.testing.assert_array_equal(
                                [getattr(dump.results[kind], name)
                                 for dump in dumps], getattr(want, name))

    def test_failures(self):
        with self.assertRaisesRegex(fx8.Error, "n_antennas: expected") as caught:
            fx8.Session(plan_of(0), print)
        self.assertEqual(caught.exception.status, fx8.FX8_ERR_USAGE)
        block = np.zeros((2, 100, 2), np.int8)
        with fx8.Session(plan_of(), print) as session:
            for wrong in (block.astype(float), block[:1], block[..., 0],
                          np.zeros(4, np.int8)):
                with self.assertRaisesRegex(ValueError, "expected int8"):
                    session.push(wrong)
            with self.assertRaises(fx8.Error) as caught:
                session.push(block, missing=[(0, 1, 2)])
            self.assertEqual(caught.exception.status, fx8.FX8_ERR_USAGE)
            session.push(block)
        self.assertFalse(session.handle)
        session.cancel()
        session.close()
        with self.assertRaises(fx8.Error):
            session.push(block)

    def test_exception_of_deliver(self):
        """It ends the push, the same block again goes on after it."""
        samples = pairs(program.noise(9, 2, 40_000))
        runs = []
        for is_broken in False, True:
            dumps = []

            def deliver(dump):
                dumps.append(dump)
                if is_broken and len(dumps) == 2:
                    raise KeyError("full")
            with fx8.Session(plan_of(), deliver) as session:
                if is_broken:
                    with self.assertRaises(KeyError):
                        session.push(samples)
                session.push(samples)
                session.finish()
            runs.append(dumps)
        self.assertEqual([dump.index for dump in runs[0]], list(range(4)))
        for one, two in zip(*runs, strict=True):
            np.testing.assert_array_equal(one.results[0].visibilities,
                                          two.results[0].visibilities)

    def test_callback_of_a_plan(self):
        """Its function lives as long as the session.  Antenna 2 receives the
        same a microsecond, one sample, later: with that delay removed, the
        spectra are the same."""
        samples = pairs(program.noise(9, 1, 40_001))
        dumps = []

        def session():
            def delays(_, sample, delay_s, error):
                delay_s[0], delay_s[1] = 0, 1e-6
                return fx8.FX8_OK
            plan = plan_of()
            plan.delays.delay = fx8.fx8_delay_callback(delays)
            plan.delays.most_s = 1e-6
            return fx8.Session(plan, dumps.append)
        with session() as late:
            gc.collect()
            late.push(np.concatenate([samples[:, 1:], samples[:, :-1]]))
            late.finish()
        auto_1, cross, auto_2 = dumps[1].results[0].visibilities[..., 0]
        # the same integers; only autos are without the noise of rounding,
        # 1 / (12 20²)
        np.testing.assert_array_equal(cross.imag, 0)
        np.testing.assert_allclose(cross / np.sqrt(auto_1 * auto_2), 1,
                                   atol=5e-4)

    def test_cancelled_by_another_thread(self):
        """While a push runs, its thread lets others run."""
        samples = pairs(program.noise(9, 2, 40_000))
        has_dump = threading.Event()
        with fx8.Session(plan_of(), lambda _: has_dump.set()) as session:
            thread = threading.Thread(
                target=lambda: (has_dump.wait(), session.cancel()))
            thread.start()
            with self.assertRaisesRegex(fx8.Error, "cancelled") as caught:
                while True:
                    session.push(samples)
            thread.join()
            self.assertEqual(caught.exception.status, fx8.FX8_ERR_CANCELLED)
