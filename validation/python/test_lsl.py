# SPDX-License-Identifier: BSD-3-Clause
"""Cable delays against a stranger's correlator: LSL 4, its own F and X engines on
the same samples.  LSL forms E1 conj(E2), the conjugate of fx8's product.

Shows (correlation, LSL): with cable delays of samples and fractions of them,
    coherences equal those of LSL 4, real and complex, pfb and fft
Within: 2·10⁻⁶ rms with fft; 2·10⁻⁴ with pfb; noise is 0.03
Because: LSL computes in single precision; its Hamming window has a period of PN
    samples, not PN − 1
"""
import os
import subprocess
import unittest
from fractions import Fraction

import numpy as np

import geometry
import oracle
import program

LSL = os.path.join(program.BUILD, "lsl")
PYTHON = os.path.join(LSL, "bin", "python")
ENGINE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "lsl_engine.py")
RATE, DC_HZ, M = 1_000_000, 60e6, 1000
LIMIT = {"fft": 2e-6, "pfb": 2e-4}


@unittest.skipUnless(os.path.exists(os.path.join(LSL, "fx8-stamp")),
                     "LSL is not installed; check-long does")
class Lsl(program.Case):
    """Four inputs; LSL moves windows only later, so no delay is negative."""

    DELAYS_S = np.array([0, 0.4e-6, 3.7e-6, 801.3e-6])

    def coherences(self, values):
        rows = np.cumsum([0, 4, 3, 2])
        powers = np.repeat(values[rows].real, 4, axis=0).reshape(4, 4, -1)
        scale = np.sqrt(powers * powers.swapaxes(0, 1))
        return values / scale[np.triu_indices(4)]

    def theirs(self, samples, method, setup):
        is_complex = np.iscomplexobj(samples)
        n = setup.channels
        hz = DC_HZ + (np.fft.fftshift(np.fft.fftfreq(n)) if is_complex
                      else np.arange(n) / (2 * n)) * RATE
        # spectra of its PFB begin three before the first whole window
        first = setup.taps - 1 if method == "pfb" else 0
        np.savez(self.path("in.npz"), is_pfb=method == "pfb", rate_hz=RATE,
                 samples=program.packed(samples).view("i1").reshape(
                     *samples.shape, -1) if is_complex else
                 samples.astype(np.int8), frequencies_hz=hz,
                 delays_s=self.DELAYS_S, spectra=(first, first + M))
        subprocess.run([PYTHON, ENGINE, self.path("in.npz"),
                        self.path("out.npz")], check=True,
                       env={**os.environ, "PYTHONPATH": ""})
        values = np.load(self.path("out.npz"))["visibilities"]
        return values.conj()

    def ours(self, samples, setup):
        self.save("antennas.csv", geometry.antenna_csv(
            program.spread(4), self.DELAYS_S[:, None]))
        got = self.correlate(program.Scene(
            samples[:, None], rate=Fraction(RATE), dc_hz=DC_HZ,
            has_table=False), setup, extra={
                "array.positions": "antennas.csv", "delay.mode": "cable",
                **program.SITE_KEYS})
        self.assertEqual(got.nsamples.min(), 1)
        return got.visibilities[0, ..., 0]

    def check(self, is_complex, method):
        generator = np.random.default_rng(5)
        length = 64
        n = (M + 4) * length + 900
        common = generator.normal(size=n + 900)
        late = np.rint(self.DELAYS_S * RATE).astype(int)
        samples = np.array([generator.normal(size=n) + common[900 - d:][:n]
                            for d in late])
        if is_complex:
            samples = samples + 1j * np.roll(samples, 7, axis=1)
        samples = program.to_int8(20 * samples)
        setup = oracle.Setup(
            length if is_complex else length // 2, M * length / RATE,
            method=method, taps=4, flag_edges=0, duration_s=(
                (M + (3 if method == "pfb" else 0)) * length / RATE))
        theirs = self.coherences(self.theirs(samples, method, setup))
        ours = self.coherences(self.ours(samples, setup))
        self.assertGreater(np.abs(ours[1:4]).mean(), 0.4)
        self.assertGreater(np.abs(ours - theirs.conj()).max(), 0.1)
        # the first channel of real samples: LSL's delays leave it complex too
        rms = np.sqrt(np.mean(np.abs(ours - theirs)**2))
        print(f"# {method}, complex {is_complex}: {rms:.1e} rms")
        self.assertLess(rms, LIMIT[method])

    def test_complex_fft(self):
        self.check(True, "fft")

    def test_complex_pfb(self):
        self.check(True, "pfb")

    def test_real_fft(self):
        self.check(False, "fft")

    def test_real_pfb(self):
        self.check(False, "pfb")
