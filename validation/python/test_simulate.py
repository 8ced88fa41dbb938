# SPDX-License-Identifier: BSD-3-Clause
"""fx8 simulate: the oracle reads its recordings; baseband zero of real samples
scatters about the truth by no more than the radiometer's law.

Shows (signals, simulated recordings): `simulate` makes recordings that scatter
    about the true visibilities; the same seed gives the same samples and the same truth in every
    order of axes and on any number of threads; faint inputs lose to rounding,
    with a warning; baseband zero of real samples, where spectra are real, is
    right with broad band and tones in it
Within: 5 sigma; truth 10⁻⁶ of the power
Because: recordings scatter by 1/√M; the truth is stored as floats
In: test_simulator.c, test_truth.c

Shows (recordings, documented recorder): fx8 reads what the recorder of
    data/README.md writes, with the code taken as printed there
Within: as the oracle's: 2·10⁻⁶ of √(PᵢPⱼ), INT8 equal except for samples near
    a tie
Because: both read the same samples
In: Documents
"""
import itertools
import re

import h5py
import numpy as np

import oracle
import program
import uvdata



class Simulate(program.Case):
    """The demo of README.md with a third of its antennas, and variations."""

    def simulate(self, *settings):
        """Paths of a simulated recording and of its true visibilities."""
        self.count += 1
        path = self.path(f"sky{self.count}.h5")
        rows = program.text("config/ready/demo_antennas.csv").splitlines()
        table = self.save("eight.csv", "\n".join(rows[:2 + 8]) + "\n")
        self.well("simulate", "config/ready/demo.ini", "-o", path,
                  "--set=array.antennas=8", f"--set=array.positions={table}",
                  *(f"--set={setting}" for setting in settings))
        return path, self.path(f"sky{self.count}.true.uvh5")

    def correlate_demo(self, path, *settings):
        output = self.path("got.uvh5")
        self.well("correlate", "config/ready/demo.ini", path, "-o", output,
                  "--force", "--quiet", "--set=array.antennas=8",
                  *(f"--set={setting}" for setting in settings))
        return program.read(output)

    def test_scatter_about_the_truth(self):
        """(V - truth) / sqrt(P_i P_j): zero mean, 1 / sqrt(M) of spread, with
        the share 0.969 of spectra independent (8 taps, Hamming).  Baselines
        share antennas, so the cells of one pair determine the limit."""
        i, j = np.triu_indices(8)
        for settings in ((), ("simulate.samples=real",),
                         ("channelizer.channels=60",),
                         ("channelizer.keep_fraction=27/32",)):
            path, true = self.simulate(*settings)
            true = program.read(true)
            for precision in ("int8", "fp32"):
                with self.subTest(settings=settings, precision=precision):
                    got = self.correlate_demo(
                        path, f"correlator.precision={precision}", *settings)
                    keep = ~(got.flags | true.flags).any(axis=(0, 1, 3))
                    self.assertGreater(keep.sum(), 50)
                    spectra = (got.header["integration_time"][0]
                               * got.header["channel_width"][0])
                    self.assertGreater(spectra, 500)
                    first, second = np.array(oracle.PRODUCTS[2]).T
                    power = got.visibilities[:, i == j][:, :, keep].real
                    scale = np.sqrt(power[:, i[i != j]][..., first]
                                    * power[:, j[i != j]][..., second])
                    error = (got.visibilities - true.visibilities)[
                        :, i != j][:, :, keep] / scale * np.sqrt(
                            0.969 * spectra)
                    cells = keep.sum() * len(error)
                    self.assertLess(abs(np.sqrt(np.mean(np.abs(error)**2)) - 1),
                                    5 / np.sqrt(2 * cells))
                    self.assertLess(np.abs(error.mean(axis=(0, 2))).max(),
                                    5 / np.sqrt(cells))

    def test_rounding_takes_of_faint_inputs(self):
        """The reason for the warning of faint inputs: rounding Gaussian samples
        of rms s multiplies correlations by 1 - 2 exp(-2 pi^2 s^2) for each of
        the two inputs."""
        path, true = self.simulate("simulate.noise_rms=0.4")
        got = self.correlate_demo(path, "correlator.precision=fp32")
        true = program.read(true)
        n = int(got.header["Nants_data"])
        rows = [(i, j) for i in range(n) for j in range(i, n)]
        keep = ~got.flags.any(axis=(0, 1, 3)) & ~true.flags.any(axis=(0, 1, 3))
        power = {i: true.visibilities[:, rows.index((i, i))][:, keep].real.mean(
            axis=(0, 1)) for i in range(n)}
        found = expected = linear = 0
        for row, (i, j) in enumerate(rows):
            for product, (p, q) in enumerate(oracle.PRODUCTS[2]):
                if i == j:
                    continue
                # the true powers include 1/12 for the rounding of each part
                factors = [1 - 2 * np.exp(-2 * np.pi**2
                                          * (power[k][slot] / 2 - 1 / 12))
                           for k, slot in ((i, p), (j, q))]
                sky = true.visibilities[:, row, keep, product]
                found += np.vdot(
                    sky, got.visibilities[:, row, keep, product]).real
                expected += np.vdot(sky, sky).real * np.prod(factors)
                linear += np.vdot(sky, sky).real
        # the power of a source scatters by 1.5e-3 in half a second of 0.9 MHz,
        # and the noise of all cells adds as much: 5 sigma of both
        self.assertLess(abs(found / expected - 1), 0.01)
        self.assertLess(expected / linear, 0.97)

    def test_oracle_reads_the_recording(self):
        path, _ = self.simulate("simulate.dropout_fraction=0.02")
        recording = oracle.read_native(path)
        self.assertEqual(recording.samples.shape[:2], (8, 2))
        self.assertTrue(recording.missing)
        got = self.correlate_demo(path, "correlator.precision=fp32")
        setup = oracle.Setup(64, 0.1)
        want = oracle.correlate(recording, setup)
        self.compare_axes(got, want)
        self.compare_fp32(got, want)
        self.assertLess(got.nsamples.min(), 1)

    def test_seeds_threads_and_orders_of_axes(self):
        def made(*settings):
            path, true = self.simulate("simulate.duration_s=0.35",
                                       "simulate.dropout_fraction=0.1",
                                       *settings)
            recording, truth = oracle.read_native(path), program.read(true)
            with h5py.File(path) as file:
                order = ",".join(dim.label for dim in file["voltages"].dims)
            return order, (recording.samples, recording.missing,
                           truth.visibilities, truth.nsamples)
        _, first = made("correlator.threads=1")
        for order in map(",".join, itertools.permutations(
                ("antenna", "pol", "time"))):
            got, again = made(f"simulate.axis_order={order}",
                              "correlator.threads=3")
            self.assertEqual(got, order)
            for one, other in zip(first, again):
                np.testing.assert_array_equal(one, other)
        _, other = made("simulate.seed=7")
        self.assertGreater(np.mean(first[0] != other[0]), 0.5)

    def test_truth_reads_clean_in_pyuvdata(self):
        _, true = self.simulate("simulate.duration_s=0.15")
        self.assertEqual(uvdata.load(self, true).Nants_data, 8)


class BasebandZero(program.Case):
    """Channel 0 of real samples: its spectra are real, in either sideband."""

    RATE = 1_024_000
    SKY = "40,65,1,0.2,-0.4,0.6,\n215,48,0.4,0,0,-0.3,\n"

    def make(self, sideband, sources, channels, spectra):
        """The results and the truth of three antennas, one dump."""
        dc = 150e6 if sideband == "upper" else 150e6 + self.RATE / 2
        self.save("antennas.csv",
                  "number,name,east_m,north_m,up_m,cable_delay_ns\n"
                  "0,A,0,0,0,0\n1,B,31,-7,0,5000\n2,C,-12,44,1,10000\n")
        self.save("sources.csv",
                  "az_deg,el_deg,I,Q,U,V,tone_hz\n" + sources)
        keys = {
            "channelizer.channels": channels, "array.antennas": 3,
            "simulate.samples": "real",
            "array.positions": self.path("antennas.csv"),
            "simulate.sources": self.path("sources.csv"),
            "simulate.duration_s": repr((spectra + 7) * 2 * channels
                                        / self.RATE),
            "simulate.gain_phase_deg": "60", "simulate.gain_spread": "0.2",
            "correlator.integration_time_s": "all",
            "observation.dc_frequency_hz": repr(dc),
            "input.sideband": sideband, "channelizer.flag_edges": "0"}
        self.well("simulate", "config/ready/demo.ini", "-o",
                  self.path("sky.h5"), "--force", keys=keys)
        results = {"truth": program.read(self.path("sky.true.uvh5"))}
        for precision in ("fp32", "int8"):
            output = self.path(f"{precision}.uvh5")
            self.well("correlate", "config/ready/demo.ini",
                      self.path("sky.h5"), "-o", output, "--force",
                      "--quiet", "--precision", precision, keys=keys)
            results[precision] = program.read(output)
        return results

    def assert_truth(self, got, true, spectra):
        """Errors of channel 0 in units of their sigma: a product of two real
        spectra has the variance (1 + rho^2) P_i P_j, and a share of 0.969 of
        the spectra is independent.  21 products, 5 sigma."""
        rows = [(i, j) for i in range(3) for j in range(i, 3)]
        self.assertFalse(got.flags[:, :, 0].any())
        self.assertFalse(true.flags[:, :, 0].any())
        found, want = (item.visibilities[0, :, 0] for item in (got, true))
        np.testing.assert_array_equal(found.imag, 0)
        np.testing.assert_array_equal(want.imag, 0)
        power = [want[rows.index((k, k))].real for k in range(3)]
        for row, (i, j) in enumerate(rows):
            for product, (p, q) in enumerate(oracle.PRODUCTS[2]):
                scale = power[i][p] * power[j][q]
                spread = np.sqrt((scale + want[row, product].real**2)
                                 / (0.969 * spectra))
                error = (found[row, product] - want[row, product]).real
                self.assertLess(abs(error), 5 * spread, (i, j, p, q))

    def test_truth_of_broad_band_and_tones(self):
        """Polarised noise, delayed by up to 10 samples: the phase in the middle
        of the half channel differs by 0.12 rad from that at its edge, and the
        filter loses less than 0.01 of the coherence.  Tones at the edge, half a
        channel from it, where a tone is at rest relative to its mirror image,
        and elsewhere."""
        width = self.RATE / 2 / 64
        spectra = 40_000 if program.LONG else 10_000
        for sideband in ("upper", "lower"):
            for tone in (None, 0, 0.5, 0.27):
                with self.subTest(sideband=sideband, tone=tone):
                    row = "" if tone is None else (
                        f"120,70,0.02,0,0,0,{150e6 + tone * width!r}\n")
                    made = self.make(sideband, self.SKY + row, 64, spectra)
                    for precision in ("fp32", "int8"):
                        self.assert_truth(made[precision], made["truth"],
                                          spectra)

    def test_power_at_the_end_of_the_band(self):
        """Channels as narrow as the bins that the sky is made of."""
        spectra = 500 if program.LONG else 250
        for sideband in ("upper", "lower"):
            with self.subTest(sideband=sideband):
                made = self.make(sideband, self.SKY, 8192, spectra)
                self.assert_truth(made["fp32"], made["truth"], spectra)


class Documents(program.Case):
    """fx8 reads the files of the recorder in data/README.md."""

    def test_recorder_of_the_format_document(self):
        code = re.search(r"```python\n(.*?)```",
                         program.text("data/README.md"), re.DOTALL)
        self.assertIsNotNone(code)
        path = self.path("voltages.h5")
        text = code.group(1).replace("voltages.h5", path)
        if not program.LONG:
            self.assertIn(" 1_000_000\n", text)
            text = text.replace(" 1_000_000\n", " 250_000\n")
        exec(text, {})
        setup = oracle.Setup(32, 0.1)
        got = self.fx8(path, setup, extra=program.PLACE)
        recording = oracle.read_native(path)
        want = oracle.correlate(recording, setup)
        self.compare_axes(got, want)
        self.compare_fp32(got, want)
