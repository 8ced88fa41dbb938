# SPDX-License-Identifier: BSD-3-Clause
"""Every kind of loss that a recording can have, in one table: weights of all
baselines equal a plain count over samples, and the visibilities are the mean
over the remaining spectra.

Each case makes a recording and a mask of its missing samples. A spectrum counts
if no sample of its window is missing on either input; the expectation uses only
this rule.

Shows (recordings, weights after every loss): weights of all baselines are
    right after every kind of loss, pfb and fft, in the whole recording and in
    a stretch that begins and ends within a loss: `/missing` tables and gaps
    between files; markers zero and −128, in runs a sample too short, of exact
    length and longer, at both ends; AAVS parts, blocks, tiles late, early and
    absent, one coarse channel of two; Digital RF index gaps, absent files, fill
    values, channels late and early
Within: equal to a count over samples, flags too; visibilities FP32 2·10⁻⁶ of
    √(PᵢPⱼ); without valid data exactly 0
Because: weights are quotients of integers
"""
import dataclasses
import itertools
from fractions import Fraction

import numpy as np

import aavs_files
import oracle
import program
import recorder

N_SAMPLES = 9000
SPECTRA = 89                # of a dump
START = 1_600_000_000
PLACE = {"channelizer.flag_edges": 0, **program.PLACE}


@dataclasses.dataclass
class Loss:
    """A recording: [band][antenna][pol][time]."""
    paths: list
    rate: Fraction
    samples: np.ndarray         # as read: zeros where nothing was recorded
    missing: np.ndarray         # bool
    keys: dict = dataclasses.field(default_factory=dict)
    channels: int = 12
    kept: int = 12


def noise(shape, seed, is_complex=True):
    """Integers, partly common to all inputs; long runs of one value do not
    occur."""
    generator = np.random.default_rng(seed)

    def draw(*size):
        real = generator.normal(size=size)
        return real + 1j * generator.normal(size=size) if is_complex else real

    return program.to_int8(20 * (draw(*shape) + 0.5 * draw(shape[-1])))


def marked(samples, value, least):
    """Mask of runs of at least `least` samples equal to `value`, in every row."""
    mask = np.zeros(samples.shape, bool)
    if np.iscomplexobj(samples):
        value = value + 1j * value
    for index in np.ndindex(samples.shape[:-1]):
        for first, end in program.runs(samples[index] == value):
            mask[index][first:end] = end - first >= least
    return mask


# --- fx8's own format


def native(case, samples, rows=(), rate=Fraction(1_000_000), **keys):
    """samples [antenna][pol][time] and a /missing table in a file."""
    path = case.write(program.Scene(samples, rate=rate, missing=rows,
                                    has_table=False))
    missing = np.zeros(samples.shape, bool)
    for antenna, pol, first, count in rows:
        antennas = slice(None) if antenna < 0 else antenna
        pols = slice(None) if pol < 0 else pol
        missing[antennas, pols, first:first + count] = True
    return Loss([path], rate, samples[None], missing[None], keys)


def table(case, is_complex=True):
    """Single samples, neighbours, overlaps, both ends, a whole dump; the samples
    there are ignored."""
    samples = noise((3, 2, N_SAMPLES), 1, is_complex)
    generator = np.random.default_rng(2)
    rows = [(0, 0, 0, 1), (1, 1, N_SAMPLES - 1, 1), (2, -1, 0, 700),
            (-1, 1, 3000, 2500), (0, -1, 8500, 500), (1, 0, 4000, 1),
            (1, 0, 4001, 1), (1, 0, 4003, 1), (-1, -1, 7001, 1)]
    for _ in range(30):
        first = generator.integers(0, N_SAMPLES - 50)
        rows.append((generator.integers(-1, 3), generator.integers(-1, 2),
                     first, generator.integers(1, 50)))
    rows = [tuple(int(x) for x in row) for row in rows]
    loss = native(case, samples, rows)
    samples[loss.missing[0]] = 99
    return native(case, samples, rows)


def table_of_real_samples(case):
    return table(case, is_complex=False)


def markers(case, value, least, is_complex=True, rows=()):
    """Runs one sample shorter than `least`, exactly as long and longer, at both
    ends too; and runs that are interrupted."""
    samples = noise((3, 2, N_SAMPLES), 3, is_complex)
    mark = value + 1j * value if is_complex else value
    at = 400
    for k in range(36):
        length = least + k % 5 - 2
        samples[k % 3, k // 3 % 2, at:at + length] = mark
        at += 197
    samples[0, 0, :least] = mark
    samples[1, 0, :least - 1] = mark
    samples[0, 1, -least:] = mark
    samples[1, 1, 1 - least:] = mark
    samples[2, 0, 2000:2000 + 9 * least] = mark
    samples[2, 0, 2000 + least - 1] = 1           # a run on either side
    loss = native(case, samples, rows,
                  **{"input.missing_value": "zero" if value == 0 else value,
                     "input.missing_run": least})
    loss.missing |= marked(loss.samples, value, least)
    return loss


def files_in_a_row(case):
    """A gap between two files, no gap between others; each has a table."""
    samples = noise((3, 2, N_SAMPLES), 13)
    missing = np.zeros(samples.shape, bool)
    missing[..., 5100:5417] = True
    paths = []
    for number, (first, end) in enumerate(
            ((0, 2345), (2345, 5100), (5417, N_SAMPLES))):
        missing[number, :, first + 777:first + 999] = True
        paths.append(case.write(program.Scene(
            samples[..., first:end], start_ns=1000 * first, has_table=False,
            missing=[(number, -1, 777, 222)]), f"part{number}.h5"))
    return Loss(paths[::-1], Fraction(1_000_000), samples[None], missing[None])


def zeros(case):
    return markers(case, 0, 64)


def zeros_of_real_samples(case):
    return markers(case, 0, 64, is_complex=False)


def minus_128(case):
    return markers(case, -128, 5)


def single_marks(case):
    return markers(case, -128, 3)


def markers_and_a_table(case):
    return markers(case, -128, 64, rows=[
        (2, -1, 1900, 120), (-1, 0, 5000, 33), (0, 0, 30, 60)])


# --- channel files of AAVS


BLOCK = 37
TILES = (2, 1, 2)


def tiles(case, plan, samples, sizes=TILES, **keys):
    """Write files by a plan: (tile, band, part, first, n, lost samples)."""
    held = np.zeros(samples.shape, bool)
    paths = []
    firsts = np.cumsum((0, *sizes))
    for tile, band, part, first, n, lost in plan:
        antennas = slice(firsts[tile], firsts[tile + 1])
        path, has = aavs_files.write(
            case.folder, samples[band:band + 1, antennas], Fraction(START),
            tile=tile, part=10 * band + part, first=first, n=n, block=BLOCK,
            lost=lost, channel_id=204 + band)
        held[band, antennas] |= has
        paths.append(path)
    span = np.flatnonzero(held.any(axis=(0, 1, 2)))
    span = slice(span[0], span[-1] + 1)
    held = held[..., span]
    loss = Loss(paths, aavs_files.RATE, samples[..., span] * held, ~held, keys)
    if len(samples) > 1:        # bands that make one axis
        loss.channels, loss.kept = 32, 27
        keys["channelizer.keep_fraction"] = "27/32"
    return loss


def parts_and_tiles(case):
    """Gaps between parts, a lost block, adjacent lost blocks; a tile that starts
    later, one that ends earlier."""
    samples = noise((1, sum(TILES), 2, N_SAMPLES), 4)
    return tiles(case, [
        (0, 0, 0, 0, 2996, [400, 1500, 1530]), (0, 0, 1, 3301, 5698, []),
        (1, 0, 0, 511, 6400, [3000]),
        (2, 0, 0, 0, 5000, []), (2, 0, 1, 5001, 3001, [6111])], samples)


def missing_tile(case):
    """No file of tile 1, which has as many antennas as the others."""
    return tiles(case, [(0, 0, 0, 0, 8100, [250]), (2, 0, 0, 70, 8900, [8000])],
                 noise((1, 6, 2, N_SAMPLES), 5), sizes=(2, 2, 2),
                 **{"input.allow_missing_tiles": "yes"})


def zeros_beside_a_gap(case):
    """The acquisition's zeros next to a missing part: both are read as zeros, and
    a run covers both."""
    samples = noise((1, sum(TILES), 2, N_SAMPLES), 6)
    samples[0, 0, 0, 2996 - 46:2996] = 0          # 46 up to the end of a part
    samples[0, 0, 1, 1000:1063] = 0               # 63: samples
    samples[0, 3, 0, 6000:6064] = 0
    loss = tiles(case, [
        (0, 0, 0, 0, 2996, []), (0, 0, 1, 3301, 5698, []),
        (1, 0, 0, 0, 8999, []), (2, 0, 0, 0, 8999, [4400])], samples,
        **{"input.missing_value": "zero"})
    loss.missing |= marked(loss.samples, 0, 64)
    return loss


def one_band(case):
    """Two coarse channels in separate files: one lacks samples that the other
    has."""
    samples = noise((2, sum(TILES), 2, N_SAMPLES), 7)
    return tiles(case, [
        (0, 0, 0, 0, 8990, [1234]), (0, 1, 0, 301, 8600, [5000]),
        (1, 0, 0, 0, 4000, []), (1, 0, 1, 4099, 4900, []),
        (1, 1, 0, 0, 8999, []),
        (2, 0, 0, 0, 8999, [7000]), (2, 1, 0, 0, 7000, [1234])], samples)


def marks_in_one_band(case):
    """A run of markers in one coarse channel only."""
    samples = noise((2, sum(TILES), 2, N_SAMPLES), 8)
    samples[1, 1, 0, 2000:2900] = -128 - 128j
    samples[0, 4, 1, 6000:6063] = -128 - 128j
    samples[0, 3, 0, 7000:7064] = -128 - 128j
    loss = tiles(case, [(tile, band, 0, 0, 8999, [])
                        for tile in range(3) for band in range(2)], samples,
                 **{"input.missing_value": -128})
    loss.missing |= marked(loss.samples, -128, 64)
    return loss


# --- Digital RF


def digital_rf(case, channels):
    """Channels written by the format's own writer; three inputs of one feed."""
    for number, channel in enumerate(channels):
        recorder.record(case.path("rf"), f"ch{number}", channel)
    want = recorder.expected(channels)
    return Loss([case.path("rf")], want.rate, want.samples[None, :, None],
                ~want.valid[None, :, None],
                {"observation.dc_frequency_hz": 150e6})


FIRST = START * 200_000 + 777


def index_gaps(case):
    """Gaps in rf_data_index, one of a single sample, one across files; a channel
    that starts later."""
    return digital_rf(case, [
        recorder.Channel(noise((2, N_SAMPLES), 9), FIRST, is_continuous=False,
                         lost=[(500, 1), (1701, 37), (4000, 3100)]),
        recorder.Channel(noise((1, 7000), 10), FIRST + 1301,
                         is_continuous=False, lost=[(2222, 100)])])


def fill_values(case):
    """Filled gaps within files, and absent files; a channel that ends earlier."""
    return digital_rf(case, [
        recorder.Channel(noise((2, N_SAMPLES), 11), FIRST,
                         lost=[(600, 29), (3100, 2500), (8000, 11)]),
        recorder.Channel(noise((1, 5000), 12), FIRST,
                         lost=[(1700, 64)])])


LOSSES = [table, table_of_real_samples, files_in_a_row, zeros, zeros_of_real_samples,
          minus_128, single_marks, markers_and_a_table, parts_and_tiles,
          missing_tile, zeros_beside_a_gap, one_band, marks_in_one_band,
          index_gaps, fill_values]


class Losses(program.Case):
    """Each test is a case: filter banks, the whole recording and a stretch of
    it that begins and ends within a loss."""

    def stretches(self, loss):
        """[first, end): everything; and from three samples before the end of a
        loss to three samples after the beginning of another."""
        n = loss.missing.shape[-1]
        runs = [run for row in loss.missing.reshape(-1, n)
                for run in program.runs(row) if run[1] - run[0] > 3]
        begin = min((end for _, end in runs), key=lambda t: abs(t - n // 4))
        stop = min((first for first, _ in runs),
                   key=lambda t: abs(t - 3 * n // 4))
        return [(0, n), (int(begin) - 3, int(stop) + 3)]

    def check(self, make):
        loss = make(self)
        self.assertTrue(loss.missing.any())
        for method, taps in (("pfb", 5), ("fft", 1)):
            for part, (first, end) in enumerate(self.stretches(loss)):
                with self.subTest(method=method, first=first, end=end):
                    self.compare(loss, method, taps, first, end,
                                 {"FX8_BLOCK_SAMPLES": "701"} if part else {})

    def compare(self, loss, method, taps, first, end, environment):
        is_complex = np.iscomplexobj(loss.samples)
        step = loss.channels * (1 if is_complex else 2)
        setup = oracle.Setup(
            loss.channels, float(SPECTRA * step / loss.rate), method=method,
            taps=taps, start_s=float(first / loss.rate),
            duration_s=float((end - first) / loss.rate))
        got = self.fx8(loss.paths[0], setup, {**PLACE, **loss.keys},
                       environment, arguments=loss.paths[1:])

        # windows, checked sample by sample
        weights = oracle.prototype(setup, step)
        windows = np.lib.stride_tricks.sliding_window_view(
            loss.missing[..., first:end], len(weights), axis=-1)[..., ::step, :]
        valid = ~windows.any(axis=-1)
        bins = np.arange(loss.channels) - (
            loss.channels // 2 if is_complex else 0)
        middle = (loss.channels // 2 - loss.kept // 2 if is_complex else 0)
        spectra = oracle.spectra_of(
            loss.samples[..., first:end], weights, step,
            bins[middle:middle + loss.kept])

        n_dumps = len(oracle.dump_lengths(valid.shape[-1], SPECTRA,
                                          setup.last_dump_min))
        n_bands, n_antennas, n_pols = loss.samples.shape[:3]
        self.assertEqual(got.visibilities.shape, (
            n_dumps, n_antennas * (n_antennas + 1) // 2,
            n_bands * loss.kept, len(oracle.PRODUCTS[n_pols])))
        for dump in range(n_dumps):
            part = slice(dump * SPECTRA, (dump + 1) * SPECTRA)
            for band in range(n_bands):
                channels = slice(band * loss.kept, (band + 1) * loss.kept)
                self.compare_dump(
                    got, dump, channels, valid[band, ..., part],
                    spectra[band][..., part, :])

    def compare_dump(self, got, dump, channels, valid, spectra):
        """One dump of one band: every baseline and product."""
        n_antennas, n_pols = valid.shape[:2]
        pairs = itertools.combinations_with_replacement(range(n_antennas), 2)
        for (row, (i, j)), (k, (p, q)) in itertools.product(
                enumerate(pairs), enumerate(oracle.PRODUCTS[n_pols])):
            both = valid[i, p] & valid[j, q]
            count = np.count_nonzero(both)
            at = (dump, row, channels, k)
            where = f"dump {dump}, {i}-{j}, product {k}"
            np.testing.assert_array_equal(
                got.nsamples[at], np.float32(count / len(both)), where)
            np.testing.assert_array_equal(got.flags[at], count == 0, where)
            if count == 0:
                np.testing.assert_array_equal(got.visibilities[at], 0, where)
                continue
            e1, e2 = spectra[i, p][both], spectra[j, q][both]
            power = [np.mean(np.abs(e)**2, axis=0) for e in (e1, e2)]
            error = np.abs(got.visibilities[at]
                           - np.mean(e1.conj() * e2, axis=0))
            # single precision: see program.Case.compare_fp32()
            np.testing.assert_array_less(
                error, 2e-6 * np.sqrt(power[0] * power[1]), where)


def _add(make):
    def test(self):
        self.check(make)
    setattr(Losses, f"test_{make.__name__}", test)


for _make in LOSSES:
    _add(_make)
