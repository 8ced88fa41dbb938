# SPDX-License-Identifier: BSD-3-Clause
"""VDIF from the writer of the package baseband, and the package's own recording
of the MWA's: the same visibilities, flags and weights as one native file of the
same samples.

Shows (recordings, VDIF from a public writer): real and complex samples,
    polarisations as channels and as threads, frames that are lost or invalid,
    several files, every kind of header agree with a native file of the same
    samples
Within: to the bit
Because: the same samples in another file
"""
from fractions import Fraction

import numpy as np
from baseband import vdif
from baseband.base.encoding import EIGHT_BIT_1_SIGMA
from baseband.data import SAMPLE_MWA_VDIF

import frames
import oracle
import program
from vdif_files import EPOCH_S, FRAME, RATE, write

START = EPOCH_S + 100
KEYS = {"observation.dc_frequency_hz": 150e6, **program.PLACE}
RATED = {"observation.sample_rate_hz": RATE, **KEYS}


class Vdif(frames.Case):
    """Recordings and their native twins."""

    def check(self, paths, samples, setup=None, missing=(), extra=None,
              **options):
        """Correlate both; samples [antenna][pol][time]."""
        setup = setup or oracle.Setup(8, 0.004, taps=4, precision="int8")
        got = self.fx8(paths[0], setup, extra or RATED, arguments=paths[1:],
                       **options)
        twin = self.write(program.Scene(
            samples, rate=RATE, start_s=START, missing=missing,
            has_table=False), "twin.h5")
        self.assert_bands(got, [self.fx8(twin, setup, KEYS)])
        return got

    def antennas(self, samples, **options):
        return [write(self.path(f"{a}.vdif"), rows, **options)
                for a, rows in enumerate(samples)]

    def test_every_kind_of_header_and_sample(self):
        for number, (edv, is_complex, n_pols, threads) in enumerate((
                (0, True, 2, None), (0, False, 1, None), (1, True, 1, [5]),
                (1, False, 2, [9, 2]), (3, True, 2, [0, 1]),
                (False, False, 2, None), (False, True, 2, [1, 0]))):
            with self.subTest(edv=edv, is_complex=is_complex, threads=threads):
                samples = program.noise(number, 2, n_pols, 3200,
                                        is_complex=is_complex, level=60)
                samples[0, 0, :3] = -128, 127, -128
                paths = self.antennas(samples, edv=edv, threads=threads)
                # the lower number of a thread is the first polarisation
                want = samples if threads is None else \
                    samples[:, np.argsort(threads)]
                self.check(paths, want,
                           extra=KEYS if edv in (1, 3) else None)

    def test_lost_and_invalid_frames(self):
        # a thread on its own, both, the last; at the border of a second too
        samples = program.noise(11, 2, 2, 60 * FRAME)
        lost = [(7, 1), (20, 0), (20, 1), (41, 0), (42, 0), (42, 1), (59, 1)]
        invalid = [(3, 0), (50, 1)]
        late = 1980     # of 2,000 frames a second
        paths = [write(self.path("a.vdif"), samples[0], first=late,
                       threads=[0, 1], lost=lost, invalid=invalid),
                 write(self.path("b.vdif"), samples[1], first=late)]
        missing = [(0, pol, frame * FRAME, FRAME)
                   for frame, pol in [*lost, *invalid]]
        setup = oracle.Setup(8, 0.004, taps=4, precision="int8")
        start = START + Fraction(late * FRAME) / RATE
        # one antenna at a time: threads beside channels are refused
        for path, antenna, gaps in ((paths[0], 0, missing),
                                    (paths[1], 1, ())):
            twin = self.write(program.Scene(
                samples[antenna:antenna + 1], rate=RATE, start_s=int(start),
                start_ns=int(start % 1 * 10**9), missing=gaps,
                has_table=False), "twin.h5")
            got = self.fx8(path, setup, RATED)
            self.assert_bands(got, [self.fx8(twin, setup, KEYS)])
            self.assertEqual(got.nsamples.min() < 0.9, antenna == 0)

    def test_files_in_a_row_and_a_late_antenna(self):
        samples = program.noise(12, 2, 1, 90 * FRAME)
        paths = [
            write(self.path("a0.vdif"), samples[0, :, :30 * FRAME]),
            write(self.path("a1.vdif"), samples[0, :, 40 * FRAME:], first=40),
            write(self.path("b.vdif"), samples[1, :, 5 * FRAME:], first=5,
                  station="CD"),
        ]
        self.check(paths, samples, missing=[
            (0, -1, 30 * FRAME, 10 * FRAME), (1, -1, 0, 5 * FRAME)])

    def test_stretch_and_blocks_of_any_length(self):
        samples = program.noise(13, 3, 2, 80 * FRAME)
        paths = self.antennas(samples, threads=[0, 1], lost=[(33, 0)])
        setup = oracle.Setup(1, 0.004, method="none", precision="int8",
                             start_s=0.003, duration_s=0.03, antennas=[2, 0],
                             sideband="lower")
        missing = [(a, 0, 33 * FRAME, FRAME) for a in range(3)]
        whole = self.check(paths, samples, setup, missing)
        for block in (61, 700):
            part = self.fx8(paths[0], setup, RATED, arguments=paths[1:],
                            environment={"FX8_BLOCK_SAMPLES": str(block)})
            self.assert_equal(part, whole)

    def test_order_of_threads_may_change(self):
        samples = program.noise(14, 1, 2, 64 * FRAME)
        path = write(self.path("a.vdif"), samples[0], threads=[3, 7],
                     order=lambda frame, pol: (
                         frame // 2, pol if frame // 2 % 2 else -pol))
        self.check([path], samples)

    def test_recording_of_the_package(self):
        # the MWA: 1,280 complex samples of two polarisations
        with vdif.open(SAMPLE_MWA_VDIF, "rb") as file:
            sets = [file.read_frame() for _ in range(10)]
        data = np.concatenate([frame.data for frame in sets])
        levels = np.rint(data.view("f4") * EIGHT_BIT_1_SIGMA - 0.5)
        levels = levels.astype(float)
        samples = (levels[..., 0::2] + 1j * levels[..., 1::2]).T
        self.assertEqual(samples.shape, (2, 1280))
        setup = oracle.Setup(1, "all", method="none", precision="int8")
        got = self.fx8(SAMPLE_MWA_VDIF, setup, {
            **KEYS, "observation.sample_rate_hz": 1_280_000})
        for product, (a, b) in enumerate(((0, 0), (1, 1), (0, 1), (1, 0))):
            # sums of products of integers, exact in double precision
            want = (samples[a].conj() * samples[b]).sum() / 1280
            values = got.visibilities[0, 0, 0, product]
            self.assertEqual(values, complex(np.complex64(want)))
        middle = sets[0].header.time.unix + 0.0005
        np.testing.assert_allclose(
            (got.header["time_array"][0] - 2440587.5) * 86400, middle,
            rtol=0, atol=4e-5)
