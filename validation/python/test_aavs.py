# SPDX-License-Identifier: BSD-3-Clause
"""AAVS channel files through the program: many shuffled tiles and parts, with
losses, give the same bits as one file in fx8's own format and as plain sums
over the samples.

Shows (recordings, tiles through the program): shuffled tiles with lost blocks
    and parts, and a part cut by a crash, agree with the same samples in one
    native file and with sums over the samples; weights; start, duration,
    antennas, y-x; three coarse channels agree with one native file each, and
    their fine channels stitch; the ready configuration of a station, 256
    antennas, works
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
        rows = []
        for antenna, has in enumerate(held):
            edges = np.flatnonzero(np.diff(np.r_[1, has, 1].astype(int)))
            rows += [(antenna, -1, a, b - a)
                     for a, b in zip(edges[::2], edges[1::2])]
        return self.write(program.Scene(
            samples, rate=aavs_files.RATE, dc_hz=204 * 781250.0,
            start_s=int(START), start_ns=500_000_000, missing=rows,
            has_table=False), "native.h5")

    def run_both(self, samples, setup, extra=()):
        """Correlate both forms; returns their visibilities and the mask."""
        paths, held = self.write_tiles(samples)
        keys = {"array.positions": "none",
                **{f"array.{name}": value
                   for name, value in program.SITE.items()}, **dict(extra)}
        whole = self.fx8(self.native(samples, held), setup, keys)
        tiles = self.fx8(paths[0], setup, keys, arguments=paths[1:])
        return tiles, whole, held

    def equal(self, tiles, whole):
        """Equal to the bit, dates to the last place: the start of channel files
        is fitted to stamps rounded to 0.24 us, a date is rounded to 40 us."""
        for name in ("visibilities", "flags", "nsamples"):
            np.testing.assert_array_equal(getattr(tiles, name),
                                          getattr(whole, name))
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
                             precision="int8")
        tiles, whole, held = self.run_both(samples, setup)
        self.equal(tiles, whole)
        self.assertLess(held.mean(), 0.95)
        row = 0
        for i in range(len(held)):
            for j in range(i, len(held)):
                both = held[i] & held[j]
                for k, (p, q) in enumerate(((0, 0), (1, 1), (0, 1), (1, 0))):
                    product = np.where(both, samples[i, p].conj()
                                       * samples[j, q], 0)
                    for dump in range(N_SAMPLES // m):
                        part = slice(dump * m, (dump + 1) * m)
                        count = int(both[part].sum())
                        total = product[part].sum()
                        want = total / count if count else 0.0
                        got = tiles.visibilities[dump, row, 0, k]
                        # sums of integers are exact; stored as float
                        self.assertEqual(got.real, np.float32(want.real))
                        self.assertEqual(got.imag, np.float32(want.imag))
                        self.assertEqual(tiles.nsamples[dump, row, 0, k],
                                         np.float32(count / m))
                row += 1

    def test_filter_bank_equals_the_native_file(self):
        samples = station(2)
        channels, m = 16, 60
        for method, taps in (("pfb", 4), ("fft", 1)):
            setup = oracle.Setup(
                channels, m * channels / float(aavs_files.RATE),
                method=method, taps=taps, precision="int8")
            tiles, whole, held = self.run_both(samples, setup)
            self.equal(tiles, whole)
            row = 0
            windows = np.lib.stride_tricks.sliding_window_view(
                held, taps * channels, axis=1)[:, ::channels].all(axis=-1)
            for i in range(len(held)):
                for j in range(i, len(held)):
                    both = windows[i] & windows[j]
                    for dump in range(tiles.nsamples.shape[0]):
                        count = both[dump * m:(dump + 1) * m].sum()
                        np.testing.assert_array_equal(
                            tiles.nsamples[dump, row], np.float32(count / m))
                    row += 1

    def test_start_antennas_and_order(self):
        samples = station(3)
        setup = oracle.Setup(1, 0.001, method="none", precision="int8",
                             start_s=0.0031, duration_s=0.0072,
                             antennas=[5, 0, 3], polarization_order="yx",
                             sideband="lower")
        tiles, whole, _ = self.run_both(samples, setup)
        self.equal(tiles, whole)

    def test_info_tells_the_recording(self):
        paths, held = self.write_tiles(station(4))
        first = next(p for p in paths if "_8_" in p and p.endswith("_0.hdf5"))
        done = self.well("info", first)
        for words in ("aavs", "AAVS test", "25000000/27", "159.375",
                      "2020-02-17T00:00:00.5"):
            self.assertIn(words, done.stdout)


class Bands(program.Case):
    """Three coarse channels of two tiles, two of the channels in one file."""

    N = 6000
    KEYS = {"array.positions": "none",
            **{f"array.{name}": value for name, value in program.SITE.items()}}

    def setUp(self):
        super().setUp()
        generator = np.random.default_rng(11)
        self.samples = generator.integers(
            -90, 91, (3, 4, 2, self.N)) + 1j * generator.integers(
                -90, 91, (3, 4, 2, self.N))
        self.held = np.zeros((3, 4, self.N), bool)
        self.paths = []
        for tile in range(2):
            antennas = slice(2 * tile, 2 * tile + 2)
            for channels, lost in ((slice(0, 2), [1700]),
                                   (slice(2, 3), [3100 + tile])):
                path, has = aavs_files.write(
                    self.folder, self.samples[channels, antennas], START,
                    tile=tile, part=channels.start, first=0, n=self.N,
                    block=250, lost=lost if tile else (),
                    channel_id=110 + channels.start)
                self.held[channels, antennas] |= has
                self.paths.append(path)
        self.paths.reverse()

    def native(self, channel):
        """One channel in fx8's own format."""
        rows = []
        for antenna, has in enumerate(self.held[channel]):
            edges = np.flatnonzero(np.diff(np.r_[1, has, 1].astype(int)))
            rows += [(antenna, -1, a, b - a)
                     for a, b in zip(edges[::2], edges[1::2])]
        return self.write(program.Scene(
            self.samples[channel], rate=aavs_files.RATE,
            dc_hz=(110 + channel) * 781250.0, start_s=int(START),
            start_ns=500_000_000, missing=rows, has_table=False),
            f"native{channel}.h5")

    def check(self, setup, extra=()):
        keys = {**self.KEYS, **dict(extra)}
        got = self.fx8(self.paths[0], setup, keys, arguments=self.paths[1:])
        frequencies = got.header["freq_array"]
        self.assertTrue((np.diff(frequencies) > 0).all())
        ones = [self.fx8(self.native(channel), setup, keys)
                for channel in range(3)]
        for name in ("visibilities", "flags", "nsamples"):
            np.testing.assert_array_equal(
                getattr(got, name),
                np.concatenate([getattr(one, name) for one in ones], axis=2))
        np.testing.assert_array_equal(
            frequencies,
            np.concatenate([one.header["freq_array"] for one in ones]))
        return got

    def test_unchannelised_bands(self):
        got = self.check(oracle.Setup(1, 1500 / float(aavs_files.RATE),
                                      method="none", precision="int8"))
        self.assertEqual(got.visibilities.shape, (4, 10, 3, 4))
        # samples missing in one band are present in another
        lost = got.nsamples[..., 0].min(axis=1) < 1
        self.assertEqual(lost.tolist(), [[False, False, False],
                                         [True, True, False],
                                         [False, False, True],
                                         [False, False, False]])

    def test_fine_channels_stitch(self):
        got = self.check(
            oracle.Setup(32, 60 * 32 / float(aavs_files.RATE), method="pfb",
                         taps=4, precision="int8"),
            {"channelizer.keep_fraction": "27/32"})
        # 925925.9 Hz / 32 = 781250 Hz / 27: no gap, no overlap
        self.assertEqual(got.visibilities.shape[2], 81)
        np.testing.assert_allclose(np.diff(got.header["freq_array"]),
                                   781250 / 27, rtol=1e-10)


class Ready(program.Case):
    """The ready configuration: 256 antennas, 16 tiles in two parts each, one
    lost stretch in one tile, one command."""

    def test_station(self):
        n, block, m = 4000, 250, 1000
        generator = np.random.default_rng(7)
        samples = np.empty((256, 2, n), complex)
        samples.real = generator.integers(-60, 61, samples.shape)
        samples.imag = generator.integers(-60, 61, samples.shape)
        held = np.zeros((256, n), bool)
        paths = []
        for tile in range(16):
            antennas = slice(16 * tile, 16 * tile + 16)
            for part, (first, count) in enumerate(((0, 1750), (1750, 2250))):
                path, has = aavs_files.write(
                    self.folder, samples[None, antennas], START, tile=tile,
                    part=part, first=first, n=count, block=block,
                    lost=[2400] if tile == 6 else ())
                held[antennas] |= has
                paths.append(path)
        random.Random(6).shuffle(paths)
        output = self.path("station.uvh5")
        self.well(
            "correlate", "config/ready/station.ini", *paths, "-o", output, "--quiet",
            "--set", f"correlator.integration_time_s={m * 1.08e-6}")
        got = program.read(output)
        self.assertEqual(got.visibilities.shape, (n // m, 256 * 257 // 2, 1, 4))
        np.testing.assert_array_equal(got.header["freq_array"],
                                      204 * aavs_files.SPACING_HZ)
        rows = np.triu_indices(256)
        samples *= held[:, None]
        # slot 0 is Y; products XX, YY, XY, YX
        slots = ((1, 1), (0, 0), (1, 0), (0, 1))
        for dump in range(n // m):
            part = slice(dump * m, (dump + 1) * m)
            mask = held[:, part].astype(float)
            count = (mask @ mask.T)[rows]
            self.assertEqual(count.min() < m, dump == 2)
            for k, (p, q) in enumerate(slots):
                # sums of integers below 2^53: exact in any order
                total = (samples[:, p, part].conj()
                         @ samples[:, q, part].T)[rows]
                values = got.visibilities[dump, :, 0, k]
                np.testing.assert_array_equal(
                    values.real, (total.real / count).astype("f4"))
                np.testing.assert_array_equal(
                    values.imag, (total.imag / count).astype("f4"))
                np.testing.assert_array_equal(
                    got.nsamples[dump, :, 0, k], (count / m).astype("f4"))
