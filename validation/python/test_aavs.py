# SPDX-License-Identifier: BSD-3-Clause
"""AAVS channel files through the program: many shuffled tiles and parts, with
losses, give the same bits as one file in fx8's own format and as plain sums
over the samples.

Shows (recordings, tiles through the program): shuffled tiles with lost blocks
    and parts, and a part cut by a crash, agree with the same samples in one
    native file and with sums over the samples; start, duration, antennas, y-x
Within: to the bit; dates to the last place
Because: the same samples in another file
"""
import random
from fractions import Fraction

import numpy as np

import aavs_files
import oracle
import program

START = Fraction(1_581_897_600) + Fraction(1, 2)
N_SAMPLES = 12_000
BLOCK = 200
# antennas of tiles 8, 9, 10
TILES = (3, 1, 2)


def station(seed):
    """Partly common noise that includes -128: [antenna][pol][time]."""
    generator = np.random.default_rng(seed)
    n_antennas = sum(TILES)
    shape = (n_antennas, 2, N_SAMPLES)
    noise = 30 * (generator.normal(size=shape)
                  + 1j * generator.normal(size=shape))
    common = 20 * (generator.normal(size=N_SAMPLES)
                   + 1j * generator.normal(size=N_SAMPLES))
    samples = program.to_int8(noise + common)
    samples[0, 0, ::997] = -128 - 128j
    return samples


class Station(program.Case):
    """Tiles of 3, 1 and 2 antennas, in six files."""

    def write_tiles(self, samples):
        """Returns the files, shuffled, and a mask of the samples they hold."""
        held = np.zeros((sum(TILES), N_SAMPLES), bool)
        paths = []

        def add(tile, part, first, n, **options):
            at = sum(TILES[:tile])
            antennas = slice(at, at + TILES[tile])
            path, has = aavs_files.write(
                self.folder, samples[None, antennas], START, tile=8 + tile,
                part=part, first=first, n=n, **options)
            held[antennas] |= has
            paths.append(path)

        add(0, 0, 0, 5000, block=BLOCK)
        add(0, 1, 5000, 7000, block=BLOCK, lost=[7201, 7402])
        # one part is missing entirely, one was cut by a crash
        add(1, 0, 600, 3000, block=BLOCK, reserve=True)
        add(1, 1, 6400, 5000, block=500)
        # one block a sample; two losses, one of a single sample
        add(2, 0, 37, 801, block=1, lost=[300, 500, 501, 502],
            tsamp=1.08e-6)
        add(2, 1, 838, 11162, block=5581)
        random.Random(5).shuffle(paths)
        return paths, held

    def native(self, samples, held):
        """The same in fx8's own format."""
        rows = [(antenna, -1, first, end - first)
                for antenna, has in enumerate(held)
                for first, end in program.runs(~has)]
        return self.write(program.Scene(
            samples, rate=aavs_files.RATE, dc_hz=204 * 781250.0,
            start_s=int(START), start_ns=500_000_000, missing=rows,
            has_table=False), "native.h5")

    def run_both(self, samples, setup):
        """Correlate both forms; returns their visibilities and the mask."""
        paths, held = self.write_tiles(samples)
        whole = self.fx8(self.native(samples, held), setup, program.PLACE)
        tiles = self.fx8(paths[0], setup, program.PLACE, arguments=paths[1:])
        return tiles, whole, held

    def equal(self, tiles, whole):
        """Equal to the bit, dates to the last place: the start of channel files
        is fitted to stamps rounded to 0.24 us, a date is rounded to 40 us."""
        self.assert_equal(tiles, whole)
        for name in ("freq_array", "channel_width", "integration_time",
                     "ant_1_array", "ant_2_array", "polarization_array"):
            np.testing.assert_array_equal(tiles.header[name],
                                          whole.header[name])
        np.testing.assert_allclose(tiles.header["time_array"],
                                   whole.header["time_array"], rtol=2**-52)

    def test_unchannelised_equals_plain_sums(self):
        samples = station(1)
        m = 1250
        setup = oracle.Setup(1, m / float(aavs_files.RATE), method="none",
                             precision="int8", last_dump_min=1)
        tiles, whole, held = self.run_both(samples, setup)
        self.equal(tiles, whole)
        self.assertLess(held.mean(), 0.95)
        n_dumps = N_SAMPLES // m
        there = held[:, :n_dumps * m].reshape(-1, n_dumps, m).astype(float)
        values = samples[..., :n_dumps * m].reshape(
            len(held), 2, n_dumps, m) * there[:, None]
        i, j = np.triu_indices(len(held))
        first, second = np.array(oracle.PRODUCTS[2]).T
        count = np.einsum("idt,jdt->dij", there, there)[:, i, j, None]
        total = np.einsum("ipdt,jqdt->dijpq", values.conj(),
                          values)[:, i, j][..., first, second]
        # sums of integers are exact; stored as float
        want = total / np.maximum(count, 1)
        got = tiles.visibilities[:, :, 0]
        np.testing.assert_array_equal(got.real, want.real.astype("f4"))
        np.testing.assert_array_equal(got.imag, want.imag.astype("f4"))
        np.testing.assert_array_equal(
            tiles.nsamples[:, :, 0],
            np.broadcast_to((count / m).astype("f4"), got.shape))

    def test_filter_bank_equals_the_native_file(self):
        samples = station(2)
        channels, m = 16, 60
        for method, taps in (("pfb", 4), ("fft", 1)):
            setup = oracle.Setup(
                channels, m * channels / float(aavs_files.RATE),
                method=method, taps=taps, precision="int8")
            self.equal(*self.run_both(samples, setup)[:2])

    def test_start_antennas_and_order(self):
        samples = station(3)
        setup = oracle.Setup(1, 0.001, method="none", precision="int8",
                             start_s=0.0031, duration_s=0.0072,
                             antennas=[5, 0, 3], polarization_order="yx",
                             sideband="lower")
        self.equal(*self.run_both(samples, setup)[:2])
