# SPDX-License-Identifier: BSD-3-Clause
"""PSRDADA from the writer of the package baseband, and the package's own
recordings: the same visibilities, flags and weights as native files of the same
samples, one for each coarse channel.

Shows (recordings, PSRDADA from a public writer): real and complex samples, every
    order of channels, polarisations and antennas, files with gaps and overlaps
    agree with native files of the same samples
Within: to the bit; frequencies to the last place
Because: the same samples in other files
"""
import itertools

import numpy as np
from astropy import units
from baseband import dada
from baseband.data import SAMPLE_DADA, SAMPLE_MEERKAT_DADA

import frames
import oracle
import program
from dada_files import RATE, START, write

SETUP = oracle.Setup(8, 0.008, taps=4, precision="int8")


class Dada(frames.Case):
    """Recordings and their native twins."""

    def check(self, paths, samples, setup=SETUP, upper=True, missing=(),
              extra=None, **options):
        """Correlate both; samples [antenna][pol][channel][time]."""
        got = self.fx8(paths[0], setup, {**program.PLACE, **(extra or {})},
                       arguments=paths[1:], **options)
        n = samples.shape[2]
        is_complex = np.iscomplexobj(samples)
        lowest = 150e6 - float(RATE) * (n - 1) / 2
        if not is_complex:      # an edge of the band
            lowest = 150e6 - (1 if upper else -1) * float(RATE) / 4
        twins = []
        for band, channel in enumerate(range(n) if upper else
                                       range(n - 1, -1, -1)):
            scene = program.Scene(
                samples[:, :, channel], rate=RATE, start_s=START,
                missing=missing, has_table=False,
                dc_hz=lowest + float(RATE) * band,
                sideband="upper" if upper else "lower")
            twins.append(self.fx8(self.write(scene, "twin.h5"), setup,
                                  program.PLACE))
        self.assert_bands(got, twins)
        return got

    def antennas(self, samples, **options):
        return [write(self.path(f"{a}.dada"), samples[a:a + 1], **options)
                for a in range(len(samples))]

    def test_real_and_complex_samples(self):
        for number, (is_complex, n_pols, upper) in enumerate(
                itertools.product((True, False), (1, 2), (True, False))):
            with self.subTest(is_complex=is_complex, n_pols=n_pols,
                              upper=upper):
                samples = program.noise(number, 2, n_pols, 1, 1500,
                                        is_complex=is_complex)
                self.check(self.antennas(samples, upper=upper), samples,
                           upper=upper)

    def test_order_of_the_package(self):
        # [time][pol][channel], which column_order says where ORDER does not
        samples = program.noise(21, 2, 2, 4, 1200)
        self.check(self.antennas(samples), samples,
                   extra={"input.column_order": "antenna,pol,channel"})

    def test_every_order(self):
        samples = program.noise(22, 3, 2, 4, 1000)
        for order in itertools.permutations("FPA"):
            name = "T" + "".join(order)
            with self.subTest(order=name):
                path = write(self.path("all.dada"), samples, order=name)
                self.check([path], samples)
        # axes of one element may be anywhere, or left out
        one = samples[:1, :1]
        for name in ("ATF", "PTF", "TF", "TFPA"):
            with self.subTest(order=name):
                self.check([write(self.path("all.dada"), one, order=name)],
                           one)
        self.check(self.antennas(samples, order="TFP", upper=False), samples,
                   upper=False)

    def test_gaps_overlaps_and_a_late_antenna(self):
        samples = program.noise(23, 2, 2, 2, 3000)
        repeated = 40
        options = {"order": "TFP", "OBS_OVERLAP": repeated * 8}
        spans = ((0, 0, 1000), (0, 960, 1500), (0, 1700, 3000),
                 (1, 250, 2900))
        paths = [write(self.path(f"{k}.dada"),
                       samples[a:a + 1, ..., first:end], first=first,
                       **options) for k, (a, first, end) in enumerate(spans)]
        missing = [(0, -1, 1500, 200), (1, -1, 0, 250), (1, -1, 2900, 100)]
        self.check(paths, samples, missing=missing)
        for block in (61, 700):
            self.check(paths, samples, missing=missing, environment={
                "FX8_BLOCK_SAMPLES": str(block)})

    def test_starts_that_differ_and_a_long_header(self):
        samples = program.noise(24, 2, 1, 1, 2000)
        late = 500      # 16 ms, which PICOSECONDS or decimals tell
        for options in ({"PICOSECONDS": 16 * 10**9},
                        {"UTC_START": "2020-09-13-12:26:40.016"},
                        # counted from a second before
                        {"UTC_START": "2020-09-13-12:26:39",
                         "OBS_OFFSET": 2 * (31250 + late)}):
            paths = [write(self.path("a.dada"), samples[:1], HDR_SIZE=8192),
                     write(self.path("b.dada"), samples[1:, ..., late:],
                           **options)]
            self.check(paths, samples, missing=[(1, -1, 0, late)])

    def test_recordings_of_the_package(self):
        # Effelsberg: 16 MHz in complex samples, and the first samples of 400
        # MHz in real ones, too few for a dump: repeated, they are enough
        with dada.open(SAMPLE_DADA, "rb") as file:
            frame = file.read_frame()
        samples = frame.data[:, :, 0].T
        self.assertEqual(samples.shape, (2, 16000))
        setup = oracle.Setup(1, "all", method="none", precision="int8")
        got = self.fx8(SAMPLE_DADA, setup, program.PLACE)
        values = samples.astype(complex)
        for product, (a, b) in enumerate(((0, 0), (1, 1), (0, 1), (1, 0))):
            # sums of products of integers, exact in double precision
            want = (values[a].conj() * values[b]).sum() / 16000
            self.assertEqual(got.visibilities[0, 0, 0, product],
                             complex(np.complex64(want)))
        middle = frame.header.time + 0.0005 * units.s
        np.testing.assert_allclose(got.header["time_array"][0], middle.jd,
                                   rtol=0, atol=2**-31)
        self.assertEqual(got.header["freq_array"][0], 320e6)
        with dada.open(SAMPLE_MEERKAT_DADA, "rb") as file:
            head = file.read_header()
        content = program.content(SAMPLE_MEERKAT_DADA)[4096:]
        path = self.path("long.dada")
        with open(path, "wb") as file:
            head.tofile(file)
            file.write(content * 60)
        setup = oracle.Setup(64, "all", method="fft", precision="fp32")
        got = self.fx8(path, setup, program.PLACE)
        x, y = np.frombuffer(content * 60, np.int8).reshape(-1, 2).T
        twin = program.Scene(np.array([[x, y]], float), rate=RATE * 25_600,
                             dc_hz=1200e6, has_table=False)
        want = self.fx8(self.write(twin, "twin.h5"), setup, program.PLACE)
        self.assert_equal(got, want)
        np.testing.assert_array_equal(got.header["freq_array"],
                                      want.header["freq_array"])
