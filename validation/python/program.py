# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the Python tests and the scenarios: recordings written with h5py,
fx8 run on them, its UVH5 files read back item by item, refusals, faults."""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import zlib
from fractions import Fraction

import h5py
import numpy as np

import oracle
from waiting import BUILD, Waits, faulty

FX8 = os.environ.get("FX8", os.path.abspath("build/fx8"))
PLUGIN = os.path.join(BUILD, "harness", "fx8-cuda.so")
RECORDINGS = os.environ.get("FX8_RECORDINGS", "")
NO_RECORDINGS = "recording: FX8_RECORDINGS is not set"
TART = os.path.join(RECORDINGS, "tart", "mg-tana-raw.hdf")
LONG = os.environ.get("FX8_LONG") == "1"
COMPLEX_INT8 = np.dtype([("r", np.int8), ("i", np.int8)])
SITE = {"latitude_deg": -26.7, "longitude_deg": 116.67, "altitude_m": 377.8}
SITE_KEYS = {f"array.{name}": value for name, value in SITE.items()}
# for recordings without positions
PLACE = {"array.positions": "none", **SITE_KEYS}


@dataclasses.dataclass
class Scene:
    """A recording to be written: samples [antenna][pol][time]."""
    samples: np.ndarray
    rate: Fraction = Fraction(1_000_000)
    dc_hz: float = 150e6
    sideband: str = "upper"
    start_s: int = 1_600_000_000        # 2020-09-13
    start_ns: int = 0
    positions: np.ndarray = None        # ENU, m
    numbers: list = None
    missing: list = ()
    has_table: bool = True


def spread(n_antennas, seed=1):
    """ENU positions in a disc of 100 m, a few metres up and down."""
    random = np.random.default_rng(seed)
    return np.column_stack([random.uniform(-50, 50, n_antennas),
                            random.uniform(-50, 50, n_antennas),
                            random.uniform(-2, 2, n_antennas)])


def to_int8(values):
    """Integers in -128 .. 127 (round half to even, clamp)."""
    if np.iscomplexobj(values):
        return to_int8(values.real) + 1j * to_int8(values.imag)
    return np.clip(np.rint(values), -128, 127)


def noise(seed, *shape, level=20, is_complex=True):
    """Gaussian integers, rms `level` per component."""
    generator = np.random.default_rng(seed)
    values = level * generator.normal(size=shape)
    return to_int8(values + 1j * level * generator.normal(size=shape)
                   if is_complex else values)


def runs(mask):
    """[first, end) of each run of true values."""
    edges = np.flatnonzero(np.diff(np.r_[0, np.asarray(mask, int), 0]))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def packed(samples):
    """int8 or {r, i} int8 as it is stored."""
    if np.iscomplexobj(samples):
        out = np.empty(samples.shape, COMPLEX_INT8)
        out["r"], out["i"] = samples.real, samples.imag
        return out
    return samples.astype(np.int8)


def write(path, scene, axes=("antenna", "pol", "time"), chunks=None,
          labels=True, **filters):
    """Write a scene in fx8's own format with the given order of axes; filters
    are h5py's."""
    order = [("antenna", "pol", "time").index(axis) for axis in axes]
    data = packed(scene.samples).transpose(order)
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "fx8-voltages"
        file.attrs["version"] = 1
        file.attrs["sample_rate_numerator_hz"] = np.uint64(
            scene.rate.numerator)
        file.attrs["sample_rate_denominator"] = np.uint64(
            scene.rate.denominator)
        file.attrs["dc_frequency_hz"] = float(scene.dc_hz)
        file.attrs["sideband"] = scene.sideband
        file.attrs["start_time_unix_s"] = np.int64(scene.start_s)
        file.attrs["start_time_ns"] = np.int64(scene.start_ns)
        file.attrs["telescope"] = "test"
        dataset = file.create_dataset("voltages", data=data, chunks=chunks,
                                      **filters)
        if labels:
            for dim, label in zip(dataset.dims, axes):
                dim.label = label
        if scene.has_table:
            _write_antennas(file, scene)
        if len(scene.missing):
            kind = np.dtype([("antenna", "i4"), ("pol", "i4"),
                             ("first_sample", "i8"), ("count", "i8")])
            file["missing"] = np.array([tuple(row) for row in scene.missing],
                                       kind)


def _write_antennas(file, scene):
    n_antennas = scene.samples.shape[0]
    positions = (spread(n_antennas) if scene.positions is None
                 else scene.positions)
    numbers = range(n_antennas) if scene.numbers is None else scene.numbers
    kind = np.dtype([("number", "i8"), ("name", "S16"), ("east_m", "f8"),
                     ("north_m", "f8"), ("up_m", "f8"),
                     ("cable_delay_s", "f8")])
    rows = [(number, f"ANT{number:03d}".encode(), *position, 0.0)
            for number, position in zip(numbers, positions)]
    table = file.create_dataset("antennas", data=np.array(rows, kind))
    for name, value in SITE.items():
        table.attrs[name] = value


@dataclasses.dataclass
class Visibilities:
    """A UVH5 file as numbers: [dump][baseline][channel][product]."""
    path: str
    visibilities: np.ndarray
    flags: np.ndarray
    nsamples: np.ndarray
    header: dict
    gains: np.ndarray
    clip_fraction: np.ndarray
    keywords: dict
    history: str


def check_counts(file):
    """What /fx8 holds of each dump of a result agrees with the rest: the
    checksums of its data, and the sums of what was counted."""
    group = file["fx8"]
    n_times = int(file["Header/Ntimes"][()])
    data = [file[f"Data/{name}"][...] for name in ("flags", "nsamples",
                                                   "visdata")]
    for dump, checksum in enumerate(group["checksum"][...]):
        if checksum == -1 and file.filename.endswith(".part"):
            continue    # not finished
        if not file["Header/blts_are_rectangular"][()]:
            break       # scenario/time_average.py compares such rows
        rows = len(data[0]) // n_times
        crc = 0
        for values in data:
            part = values[dump * rows:(dump + 1) * rows]
            crc = zlib.crc32(part.tobytes(), crc)
        assert crc == checksum & 0xffffffff, (file.filename, dump, crc)
    if "clip_fraction" in group:
        np.testing.assert_array_equal(group["clip_fraction"][...],
                                      clip_fractions(group, is_run=True)[0])


def clip_fractions(group, is_run=False):
    """Clips over valid spectra, [dump][input][channel], of /fx8; or of the whole
    run, as one dump."""
    valid, clips = group["valid_spectra"][...], group["clips"][...]
    if is_run:
        valid, clips = (counts.sum(axis=0)[None] for counts in (valid, clips))
    valid = np.repeat(valid.swapaxes(1, 2),
                      clips.shape[2] // valid.shape[1], axis=2)
    return np.divide(clips, valid, out=np.zeros(clips.shape), where=valid > 0)


def add_clips(file, where, count=1):
    """Let an INT8 result report so many more clips in dumps, inputs and
    channels."""
    group = file["fx8"]
    group["clips"][where] += count
    group["clip_fraction"][...] = clip_fractions(group, is_run=True)[0]


def read(path):
    """Read a UVH5 file with h5py alone; a result of fx8 is checked."""
    with h5py.File(path, "r") as file:
        if "checksum" in file.get("fx8", {}):
            check_counts(file)
        header = {name: item[()] for name, item in file["Header"].items()
                  if isinstance(item, h5py.Dataset)}
        n_times = int(header["Ntimes"])
        n_rows = int(header["Nblts"])
        # h5py shows a compound of two floats r, i as complex numbers
        values = file["Data/visdata"][...].astype(complex)
        shape = (n_times, n_rows // n_times) + values.shape[1:]
        if not header["blts_are_rectangular"]:
            shape = (1,) + values.shape
        group = file.get("fx8", {})
        extra = file["Header/extra_keywords"]
        words = {name: extra[name][()] for name in extra}   # items(): None
        return Visibilities(
            path=path, visibilities=values.reshape(shape),
            flags=file["Data/flags"][...].reshape(shape),
            nsamples=file["Data/nsamples"][...].reshape(shape),
            header=header,
            gains=group["gain"][...] if "gain" in group else None,
            clip_fraction=(group["clip_fraction"][...]
                           if "clip_fraction" in group else None),
            keywords=words, history=header["history"].decode())


# The keys that are fields of an oracle.Setup.
SETUP_KEYS = {
    "channelizer": "method channels taps window flag_dc flag_edges",
    "correlator": "precision integration_time_s last_dump_min align",
    "input": "start_s duration_s sideband conjugate polarization_order "
             "missing_value missing_run",
    "array": "antennas polarizations flag_antennas",
    "quantizer": "target_rms level dither",
    "postprocess": "quantization_bias",
    "output": "channel_average"}


def ini_of(setup, extra=None):
    """The INI text of an oracle.Setup; `extra` adds "section.key": value."""
    left_out = set()
    if setup.method != "pfb":
        left_out.add("taps")
    if setup.missing_value is None:
        left_out.add("missing_run")
    if setup.precision == "fp32":
        left_out |= {"target_rms", "level", "dither", "quantization_bias"}
    keys = {"correlator.backend": "cpu"}
    for section, names in SETUP_KEYS.items():
        for name in names.split():
            value = getattr(setup, name)
            if name in left_out or value in (None, (), "auto"):
                continue
            if isinstance(value, bool):
                value = "yes" if value else "no"
            elif isinstance(value, (list, tuple)):  # a number alone: a count
                value = (f"{value[0]}-{value[0]}" if len(value) == 1
                         else ",".join(map(str, value)))
            keys[f"{section}.{name}"] = value
    return ini_text({**keys, **(extra or {})})


def ini_text(keys):
    """The INI text of "section.key": value."""
    sections = {}
    for name, value in keys.items():
        section, key = name.split(".")
        sections.setdefault(section, []).append(f"{key} = {value}\n")
    return "".join(f"[{section}]\n{''.join(lines)}\n"
                   for section, lines in sections.items())


def run(*arguments, keys=None, environment=None, timeout=120, program=(FX8,),
        **options):
    """Run fx8 (or `program`, a command that runs it) with some keys set;
    nothing is checked.  What it says is without lines of progress, which a
    loaded machine adds."""
    sets = [word for key, value in (keys or {}).items()
            for word in ("--set", f"{key}={value}")]
    done = subprocess.run([*program, *map(str, arguments), *sets],
                          capture_output=True,
                          text=True, stdin=subprocess.DEVNULL,
                          timeout=timeout,
                          env={**os.environ, **(environment or {})}, **options)
    done.stderr = without_progress(done.stderr)
    return done


def without_progress(text):
    """What a program said besides its progress."""
    return re.sub(r"^fx8: \w+ +\d+ %  .* left\n", "", text,
                  flags=re.MULTILINE)


def hang_up():
    """Reset SIGHUP to its default, even if nohup made us ignore it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def devices(count=1, **settings):
    """Environment in which fx8 finds `count` pretend devices; 0: none, -1: no
    driver.  memory_mib=8 sets FX8_HARNESS_MEMORY_MIB, and so on;
    validation/cuda/README.md lists them."""
    return {"FX8_CUDA_PLUGIN": PLUGIN, "FX8_HARNESS_DEVICES": str(count),
            **{f"FX8_HARNESS_{name.upper()}": str(value)
               for name, value in settings.items()}}


def put(name, value=None):
    """A change of an HDF5 file: a dataset, which keeps its labels, or an
    attribute ITEM@NAME has another value; with None it is gone."""
    item, is_attribute, attribute = name.partition("@")

    def change(file):
        if is_attribute:
            del file[item or "/"].attrs[attribute]
            if value is not None:
                file[item or "/"].attrs[attribute] = value
            return
        labels = [dim.label for dim in file[name].dims] if name in file else ()
        if name in file:
            del file[name]
        if value is not None:
            dataset = file.create_dataset(name, data=value)
            for dim, label in zip(dataset.dims, labels):
                dim.label = label
    return change


def content(path):
    """The bytes of a file."""
    return pathlib.Path(path).read_bytes()


def text(path):
    """The text of a file."""
    return pathlib.Path(path).read_text(encoding="utf-8")


def blocks(text):
    """Indented blocks of a page, without their indent."""
    found = re.findall(r"(?:^ {4}.*\n(?:\n(?= {4}))?)+", text, re.MULTILINE)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for block in found]


def overwrite(path, at, content):
    """Write over some bytes of a file."""
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(content)


def kept_dumps(text):
    """The finished dumps that an error reports: name of each .part to their
    number."""
    return {part: int(n or 1) for part, n in re.findall(
        r"; (\S+\.part) keeps (\d+) dumps?\b", text)}


class Case(Waits, unittest.TestCase):
    """A test with its own folder for recordings and results."""

    exact_cells = doubtful_cells = 0    # results of compare_int8()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fx8-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.count = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, content):
        """Write a file of text or bytes; returns its path."""
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes)
                       else content.encode())
        return path

    def changed(self, path, change, name="changed.h5"):
        """A copy of an HDF5 file with change(file) applied."""
        copy = shutil.copy(path, self.path(name))
        with h5py.File(copy, "r+") as file:
            change(file)
        return copy

    def well(self, *arguments, code=0, **options):
        """run(), which must end with `code` (one of several)."""
        done = run(*arguments, **options)
        self.assertIn(done.returncode, np.ravel(code), done.stderr)
        return done

    def both(self, *arguments, **options):
        """Correlate in both precisions; returns the paths of INT8 and FP32."""
        self.said = self.well("correlate", *arguments, "--precision", "both",
                              "-o", self.path("out.uvh5"), "--force",
                              **options).stdout
        return self.path("out.int8.uvh5"), self.path("out.fp32.uvh5")

    def verdict(self, *files, code=0):
        """What fx8 compare reports as JSON."""
        return json.loads(self.well("compare", "--json", *files,
                                    code=code).stdout)

    def start(self, *arguments, **options):
        """Start fx8; it ends with the test at the latest."""
        process = subprocess.Popen(
            [FX8, *map(str, arguments)], text=True, **{
                "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                "preexec_fn": hang_up, **options})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def end(self, process, *signals, code=130):
        """Send signals; returns what the process wrote until its end."""
        for number in signals:
            process.send_signal(number)
        self.let_go()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        return out, err and without_progress(err)

    def contents(self, *left_out):
        """Content of every file below the folder."""
        return {path: content(path) for folder, _, names in os.walk(self.folder)
                for path in (os.path.join(folder, name) for name in names)
                if path not in left_out}

    def write(self, scene, name="in.h5", **options):
        """Write a scene; returns the path."""
        path = self.path(name)
        write(path, scene, **options)
        return path

    def ini(self, setup, extra=None, name="config.ini"):
        """Write an oracle.Setup as INI, with its table; returns the path."""
        if setup.ripple:
            table = oracle.ripple_text(setup.ripple)
            extra = {"channelizer.ripple_file": self.save("ripple.csv", table),
                     **(extra or {})}
        return self.save(name, ini_of(setup, extra))

    def fx8(self, recording, setup, extra=None, environment=None,
            arguments=()):
        """Correlate a recording (a path); returns the Visibilities."""
        self.count += 1
        config = self.ini(setup, extra, f"run{self.count}.ini")
        output = self.path(f"run{self.count}.uvh5")
        self.well("correlate", config, recording, "-o", output, "--quiet",
                  *arguments, environment=environment)
        return read(output)

    def correlate(self, scene, setup, **options):
        """Write and correlate a scene; returns the Visibilities."""
        self.count += 1
        return self.fx8(self.write(scene, f"in{self.count}.h5"), setup,
                        **options)

    def assert_one_line(self, done, code, *mentions):
        """Require one line of error with every mention, and the exit code."""
        self.assertEqual(done.returncode, code, done.stderr)
        lines = [line for line in done.stderr.splitlines()
                 if not line.startswith("fx8: warning: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("fx8: error: "), done.stderr)
        for mention in mentions:
            self.assertIn(mention, lines[0])
        self.assertTrue(lines[0].isprintable(), repr(lines[0]))

    def assert_equal(self, got, want, names=("visibilities", "flags",
                                             "nsamples"), n_dumps=None):
        """Two results equal to the bit; of the first, some dumps only."""
        for name in names:
            np.testing.assert_array_equal(getattr(got, name)[:n_dumps],
                                          getattr(want, name)[:n_dumps], name)

    def compare_axes(self, got, want):
        """Everything but the visibilities: exactly equal."""
        n_dumps = len(want.julian_dates)
        self.assertEqual(got.visibilities.shape, want.visibilities.shape)
        np.testing.assert_array_equal(got.flags, want.flags)
        np.testing.assert_array_equal(got.nsamples,
                                      want.nsamples.astype(np.float32))
        dates = got.header["time_array"].reshape(n_dumps, -1)
        np.testing.assert_array_equal(
            dates, np.repeat(np.array(want.julian_dates)[:, None],
                             dates.shape[1], axis=1))
        # one rounding to double of a sum of two doubles
        np.testing.assert_allclose(got.header["freq_array"],
                                   want.frequencies_hz, rtol=4e-16)
        np.testing.assert_allclose(got.header["channel_width"], want.width_hz,
                                   rtol=4e-16)
        np.testing.assert_allclose(
            got.header["integration_time"].reshape(n_dumps, -1).T,
            np.broadcast_to(want.integration_s, (dates.shape[1], n_dumps)),
            rtol=4e-16)

    def compare_fp32(self, got, want, tolerance=2e-6):
        """Visibilities within `tolerance` of sqrt(P_i P_j).

        Single precision rounds by 2^-24 per operation.  A spectrum has about
        log2(N) roundings of the FFT and those of the FIR. They are independent
        between spectra, so the mean over M spectra has less.  A sum of up to
        512 products in a float accumulator rounds by up to sqrt(512 / 3) *
        2^-25 = 4e-7 rms of the sum.  Five times that is 2e-6.
        """
        error = np.abs(got.visibilities - want.visibilities)
        np.testing.assert_array_less(error, tolerance * want.scale + 1e-30)

    def compare_int8(self, got, want):
        """Equal to the oracle's integers except for samples near a tie; values
        are stored as float, hence half a unit in the last place."""
        error = np.abs(got.visibilities - want.visibilities)
        last = 2.0**-23 * np.abs(want.visibilities)
        np.testing.assert_array_less(error, want.slack + last + 1e-30)
        # long sums nearly always have a near tie; short ones must be equal
        exact = int(np.count_nonzero(want.slack == 0))
        Case.exact_cells += exact
        Case.doubtful_cells += want.slack.size - exact


class Job(Case):
    """A small job in its own folder: `fx8 correlate` of a recording into
    out.uvh5 with config.ini."""

    def setUp(self):
        super().setUp()
        self.output = self.path("out.uvh5")
        self.config = self.path("config.ini")
        self.configure()

    def configure(self, setup=None, extra=None):
        """Write config.ini."""
        self.ini(setup or oracle.Setup(16, 0.002, precision="int8"), extra,
                 os.path.basename(self.config))

    def recording(self, name="good.h5", n_samples=9000, **options):
        """A good recording of two antennas; returns its path."""
        return self.write(Scene(noise(161, 2, 1, n_samples)), name, **options)

    def many_dumps(self, late=0, n_antennas=6):
        """400 ms, 200 small dumps; one input begins late."""
        self.configure(oracle.Setup(64, 0.002, precision="int8"),
                       {"correlator.threads": 1})
        samples = np.tile(noise(181, n_antennas, 2, 20_000), (1, 1, 20))
        samples[0, 0, :late] = 0
        return self.write(Scene(samples), "long.h5",
                          axes=("time", "antenna", "pol"))

    def words(self, recording, *extra):
        return ["correlate", self.config, recording, "-o", self.output, *extra]

    def correlate(self, recording, *extra, as_nobody=False, **options):
        """Run fx8 correlate; nothing is checked.  `as_nobody`: tests of
        permissions run as nobody if we are root, whom no permission stops."""
        arguments = self.words(recording, *extra)
        if not as_nobody or os.geteuid() != 0:
            return run(*arguments, **options)
        os.chmod(self.folder, 0o777)
        copy = shutil.copy(FX8, self.path("fx8"))
        return run(*arguments, program=[
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
            copy], **options)

    def result(self, recording, *extra, **options):
        """What a good run writes; the file is removed."""
        self.well(*self.words(recording, *extra), **options)
        got = read(self.output)
        os.remove(self.output)
        return got

    def refuse(self, recordings, *mentions, code=1, extra=(), **options):
        """A run must be refused, with one line and nothing left behind."""
        files = [recordings] if isinstance(recordings, str) else recordings
        self.assert_refused(self.correlate(*files, *extra, **options), code,
                            *mentions)

    def left_over(self):
        """Every .part in the folder of the result."""
        return [name for name in os.listdir(os.path.dirname(self.output))
                if name.endswith(".part")]

    def assert_refused(self, done, code, *mentions):
        """One line of error, and nothing is left behind."""
        self.assert_one_line(done, code, *mentions)
        self.assertFalse(os.path.lexists(self.output))
        if os.path.isdir(os.path.dirname(self.output)):
            self.assertEqual(self.left_over(), [])

    def assert_failed(self, done, want, *mentions):
        """Require one line, exit code 1, and either no output or a .part with
        as many dumps of `want` as the line says; returns their number."""
        self.assert_one_line(done, 1, *mentions)
        self.assertFalse(os.path.lexists(self.output))
        part = self.output + ".part"
        kept = kept_dumps(done.stderr)
        self.assertEqual(self.left_over(), list(map(os.path.basename, kept)))
        if not kept:
            return 0
        self.assertEqual(list(kept), [part])
        self.assertGreater(kept[part], 0)
        self.assert_equal(read(part), want, n_dumps=kept[part])
        os.remove(part)
        os.remove(part + ".undo")
        return kept[part]
