# SPDX-License-Identifier: BSD-3-Clause
"""fx8 simulate: recordings that the oracle reads, visibilities that scatter
about the true ones by the radiometer's law and no more."""
import re
import warnings

import numpy as np
from astropy.utils import iers
from pyuvdata import UVData

import oracle
import program
import tap

iers.conf.auto_download = False
iers.conf.auto_max_age = None


class Simulate(program.Case):
    """The demo of the README, and variations of it."""

    def simulate(self, *settings):
        """Paths of a simulated recording and of its true visibilities."""
        self.count += 1
        path = self.path(f"sky{self.count}.h5")
        done = program.run("simulate", "config/demo.ini", "-o", path,
                           *[word for setting in settings
                             for word in ("--set", setting)])
        self.assertEqual(done.returncode, 0, done.stderr)
        return path, self.path(f"sky{self.count}.true.uvh5")

    def correlate_demo(self, path, *settings):
        output = self.path("got.uvh5")
        done = program.run("correlate", "config/demo.ini", path, "-o", output,
                           "--force", "--quiet",
                           *[word for setting in settings
                             for word in ("--set", setting)])
        self.assertEqual(done.returncode, 0, done.stderr)
        return program.read(output)

    def assert_scatter(self, got, true, efficiency):
        """(V - truth) / sqrt(P_i P_j): zero mean, 1 / sqrt(M) of spread.

        `efficiency` is the share of spectra that are independent: 0.969 for
        8 taps Hamming (reference to the table of filter banks).
        """
        n = int(got.header["Nants_data"])
        rows = [(i, j) for i in range(n) for j in range(i, n)]
        keep = ~got.flags.any(axis=(0, 1, 3)) & ~true.flags.any(axis=(0, 1, 3))
        self.assertGreater(keep.sum(), 50)
        own = [rows.index((k, k)) for k in range(n)]
        power = got.visibilities[:, own][:, :, keep].real
        spectra = (got.header["integration_time"][0]
                   * got.header["channel_width"][0])
        self.assertGreater(spectra, 500)
        error = []
        for row, (i, j) in enumerate(rows):
            if i == j:
                continue
            for product, (p, q) in enumerate(oracle.PRODUCTS[2]):
                scale = np.sqrt(power[:, i, :, p] * power[:, j, :, q])
                error.append((got.visibilities[:, row, keep, product]
                              - true.visibilities[:, row, keep, product])
                             / scale)
        error = np.array(error) * np.sqrt(spectra * efficiency)
        # baselines share antennas: the cells of one antenna pair set the
        # spread of the means, 5 sigma of them
        cells = error[0].size
        self.assertLess(abs(np.sqrt(np.mean(np.abs(error)**2)) - 1),
                        5 / np.sqrt(2 * cells))
        self.assertLess(np.abs(error.mean(axis=(1, 2))).max(),
                        5 / np.sqrt(cells))

    def test_scatter_about_the_truth(self):
        for settings in ((), ("simulate.samples=real",),
                         ("channelizer.channels=60",),
                         ("channelizer.keep_fraction=27/32",)):
            path, true = self.simulate(*settings)
            for precision in ("int8", "fp32"):
                with self.subTest(settings=settings, precision=precision):
                    got = self.correlate_demo(
                        path, f"correlator.precision={precision}", *settings)
                    self.assert_scatter(got, program.read(true), 0.969)

    def test_rounding_takes_of_faint_inputs(self):
        """What the warning of faint inputs speaks of: rounding Gaussian
        samples of rms s multiplies correlations by 1 - 2 exp(-2 pi^2 s^2)
        for each of the two inputs."""
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
                # the true powers hold 1/12 for the rounding of each part
                factors = [1 - 2 * np.exp(-2 * np.pi**2
                                          * (power[k][slot] / 2 - 1 / 12))
                           for k, slot in ((i, p), (j, q))]
                sky = true.visibilities[:, row, keep, product]
                found += np.vdot(
                    sky, got.visibilities[:, row, keep, product]).real
                expected += np.vdot(sky, sky).real * np.prod(factors)
                linear += np.vdot(sky, sky).real
        # the power of a source scatters by 1.5e-3 in half a second of 0.9 MHz,
        # and the noise of all cells takes as much: 5 sigma of both
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

    def test_same_seed_same_samples(self):
        one, _ = self.simulate("simulate.duration_s=0.15")
        two, _ = self.simulate("simulate.duration_s=0.15")
        three, _ = self.simulate("simulate.duration_s=0.15",
                                 "simulate.seed=7")
        one, two, three = (oracle.read_native(path).samples
                           for path in (one, two, three))
        np.testing.assert_array_equal(one, two)
        self.assertGreater(np.mean(one != three), 0.5)

    def test_threads_change_nothing(self):
        def made(threads):
            path, true = self.simulate("simulate.duration_s=0.35",
                                       "simulate.dropout_fraction=0.1",
                                       f"correlator.threads={threads}")
            recording, truth = oracle.read_native(path), program.read(true)
            return (recording.samples, recording.missing, truth.visibilities,
                    truth.nsamples)
        for one, other in zip(made(1), made(3)):
            np.testing.assert_array_equal(one, other)

    def test_truth_reads_clean_in_pyuvdata(self):
        _, true = self.simulate("simulate.duration_s=0.15")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = UVData.from_file(true)
            data.check(check_autos=True)
        self.assertEqual([str(item.message) for item in caught], [])
        self.assertEqual(data.Nants_data, 8)


class Documents(program.Case):
    """The recorder in data/README.md writes what fx8 reads."""

    def test_recorder_of_the_format_document(self):
        with open("data/README.md", encoding="utf-8") as file:
            code = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL)
        self.assertIsNotNone(code)
        path = self.path("voltages.h5")
        exec(code.group(1).replace("voltages.h5", path), {})
        setup = oracle.Setup(32, 0.1)
        site = {f"array.{key}": value for key, value in program.SITE.items()}
        got = self.fx8(path, setup, extra={"array.positions": "none", **site})
        recording = oracle.read_native(path)
        want = oracle.correlate(recording, setup)
        self.compare_axes(got, want)
        self.compare_fp32(got, want)


if __name__ == "__main__":
    tap.main()
