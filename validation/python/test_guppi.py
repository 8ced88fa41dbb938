# SPDX-License-Identifier: BSD-3-Clause
"""GUPPI RAW from the writer of the package baseband, and the package's own
recording of Arecibo's: the same visibilities, flags and weights as native files
of the same samples, one for each coarse channel.

Shows (recordings, GUPPI RAW from a public writer): coarse channels in both
    directions, blocks that overlap or are lost, both orders of samples, several
    files, antennas in files or in groups agree with native files of the same
    samples
Within: to the bit; frequencies to the last place
Because: the same samples in other files
"""
from fractions import Fraction

import numpy as np
from astropy import units
from astropy.time import Time
from baseband import guppi
from baseband.data import SAMPLE_PUPPI

import frames
import oracle
import program
from guppi_files import BLOCK, CHANNELS, RATE, START, write

class Guppi(frames.Case):
    """Recordings and their native twins."""

    def samples(self, seed, n, n_antennas=2, n_pols=2, channels=CHANNELS):
        return program.noise(seed, n_antennas, channels, n_pols, n)

    def twins(self, samples, missing=(), upper=True, dc_mhz=150.0):
        """Native recordings of each channel, by ascending frequency."""
        n = samples.shape[1]
        order = range(n) if upper else range(n - 1, -1, -1)
        lowest = dc_mhz * 1e6 - float(RATE) * (n - 1) / 2
        return [self.write(program.Scene(
            samples[:, channel], rate=RATE, start_s=int(START),
            start_ns=int(START % 1 * 10**9), missing=missing, has_table=False,
            dc_hz=lowest + float(RATE) * band,
            sideband="upper" if upper else "lower"), f"twin{band}.h5")
            for band, channel in enumerate(order)]

    def check(self, paths, samples, setup=None, upper=True, missing=(),
              extra=None, **options):
        setup = setup or oracle.Setup(8, 0.003, taps=4, precision="int8")
        extra = {**program.PLACE, **(extra or {})}
        got = self.fx8(paths[0], setup, extra, arguments=paths[1:], **options)
        twins = [self.fx8(twin, setup, program.PLACE)
                 for twin in self.twins(samples, missing, upper)]
        self.assert_bands(got, twins)
        return got

    def test_overlap_lost_blocks_and_two_files(self):
        # the second file goes on with the first; blocks 1 and 2 of one antenna
        # are lost, so what block 0 repeats is kept
        samples = self.samples(1, 3000)
        kept = 32
        step = BLOCK - kept
        one = write(self.path("a.0000.raw"), samples[:1, ..., :2 * step + kept],
                    overlap=kept, direct=True)
        two = write(self.path("a.0001.raw"), samples[:1, ..., 2 * step:],
                    first=2 * step, overlap=kept, direct=True)
        other = write(self.path("b.raw"), samples[1:], overlap=kept,
                      lost=(1, 2))
        got = self.check([one, two, other], samples,
                         missing=[(1, -1, BLOCK, 3 * step - BLOCK)])
        self.assertLess(got.nsamples.min(), 0.9)
        self.assertEqual(got.nsamples.max(), 1)

    def test_descending_channels(self):
        samples = self.samples(2, 2000, n_pols=1)
        paths = [write(self.path(f"{a}.raw"), samples[a:a + 1], upper=False)
                 for a in range(2)]
        self.check(paths, samples, upper=False)

    def test_antennas_in_one_file(self):
        # three of them in each of two files, which begin at different samples
        # and count from different starts, 150,000 samples apart
        samples = self.samples(3, 2048, n_antennas=6)
        late = 160
        paths = [write(self.path("a.raw"), samples[:3]),
                 write(self.path("b.raw"), samples[3:, ..., late:],
                       first=late + 150_000, start=START - 150_000 / RATE)]
        self.check(paths, samples, missing=[(a, -1, 0, late)
                                            for a in (3, 4, 5)])

    def test_blocks_without_packets(self):
        samples = self.samples(8, 2000)
        lack = dict.fromkeys(range(9), {"PKTIDX": None})
        paths = [write(self.path(f"{a}.raw"), samples[a:a + 1], overlap=24,
                       cards=lack) for a in range(2)]
        self.check(paths, samples)

    def test_time_first(self):
        samples = self.samples(4, 1500)
        paths = [write(self.path(f"{a}.raw"), samples[a:a + 1],
                       PKTFMT="SIMPLE") for a in range(2)]
        self.check(paths, samples)

    def test_unchannelised_and_any_block(self):
        samples = self.samples(5, 2100)
        paths = [write(self.path(f"{a}.raw"), samples[a:a + 1], overlap=16)
                 for a in range(2)]
        setup = oracle.Setup(1, 0.0035, method="none", precision="int8")
        whole = self.check(paths, samples, setup)
        for block in (61, 700):
            part = self.fx8(paths[0], setup, program.PLACE,
                            arguments=paths[1:],
                            environment={"FX8_BLOCK_SAMPLES": str(block)})
            self.assert_equal(part, whole)

    def test_stretch_and_inputs(self):
        samples = self.samples(6, 3000, n_antennas=3)
        paths = [write(self.path(f"{a}.raw"), samples[a:a + 1], overlap=48)
                 for a in range(3)]
        setup = oracle.Setup(4, 0.002, method="fft", precision="int8",
                             start_s=0.003, duration_s=0.012,
                             antennas=[2, 0], polarizations=1)
        self.check(paths, samples, setup)

    def test_time_of_the_first_packet(self):
        samples = self.samples(7, 1024)
        paths = [write(self.path(f"{a}.raw"), samples[a:a + 1],
                       first=160_000 + 16 * a) for a in range(2)]
        setup = oracle.Setup(1, "all", method="none", precision="int8")
        got = self.fx8(paths[0], setup, program.PLACE, arguments=paths[1:])
        middle = START + (160_000 + Fraction(1024 + 16, 2)) / RATE
        want = Time(int(middle), float(middle % 1), format="unix").jd
        # a date is a double: steps of 40 us
        np.testing.assert_allclose(got.header["time_array"], want,
                                   rtol=0, atol=2**-31)
        self.assertEqual(got.header["telescope_name"], b"GBT")
        self.assertEqual(got.header["object_name"], b"3C48")

    def test_recording_of_the_package(self):
        # Arecibo: 4 channels of 250 Hz, blocks of 1,024 samples that overlap by
        # 64, of which the last block's have no repetition
        with guppi.open(SAMPLE_PUPPI, "rb") as file:
            blocks = [file.read_frame() for _ in range(4)]
        start = blocks[0].header.time
        data = np.concatenate([block.data[:960] for block in blocks]
                              + [blocks[-1].data[960:]])
        samples = data.transpose(2, 1, 0)[None]     # from [time][pol][channel]
        setup = oracle.Setup(1, "all", method="none", precision="int8")
        got = self.fx8(SAMPLE_PUPPI, setup, program.PLACE)
        n = samples.shape[-1]
        self.assertEqual(int(got.header["Nfreqs"]), 4)
        # sums of products of integers, exact in double precision
        x, y = samples[0, :, 0].astype(complex), samples[0, :, 1].astype(complex)
        for product, (a, b) in enumerate(((x, x), (y, y), (x, y), (y, x))):
            want = (a.conj() * b).sum(axis=-1) / n
            values = got.visibilities[0, 0, :, product]
            np.testing.assert_array_equal(values.real, want.real.astype("f4"))
            np.testing.assert_array_equal(values.imag, want.imag.astype("f4"))
        np.testing.assert_allclose(
            got.header["freq_array"],
            356.6875e6 + 250 * (np.arange(4) - 1.5), rtol=4e-16)
        np.testing.assert_allclose(got.header["time_array"][0],
                                   (start + n / 2 / 250 * units.s).jd,
                                   rtol=0, atol=2**-31)
