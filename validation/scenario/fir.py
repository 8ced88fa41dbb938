# SPDX-License-Identifier: BSD-3-Clause
"""channelizer.fir = dp2a: the integer filter, through the program.

Shows: as test_filterbank.c
"""
import numpy as np

import oracle
import program

# A coefficient is rounded to 1/32767 of the largest: an error of at most half
# of that, 2^-16 / sqrt(3) of the largest rms.  The mean square of 8 taps of a
# Hamming filter is 0.113 of the largest tap's square.  So a spectrum is off by
# 2^-16 / sqrt(3 * 0.113) of its own rms, and a mean of many products by less
# than twice that fraction of the power.
DIFFERENCE = 2 * 2**-16 / np.sqrt(3 * 0.113)


class Fir(program.Job):
    """The filter in integers and in floats."""

    def run_fir(self, recording, fir, kernel="auto", precision="fp32"):
        """The visibilities of one run."""
        self.well(*self.words(recording, "--force", "--precision", precision,
                              "--set", f"channelizer.fir={fir}",
                              "--set", f"correlator.kernel={kernel}"))
        return program.read(self.output).visibilities

    def test_integers_are_near_the_floats(self):
        recording = self.recording()
        floats = self.run_fir(recording, "fp32")
        integers = self.run_fir(recording, "dp2a")
        # differences are relative to the autos' power
        power = np.abs(floats).max()
        difference = np.abs(integers - floats).max()
        self.assertGreater(difference, 0)
        self.assertLess(difference, DIFFERENCE * power)

    def test_every_kernel_gives_the_same(self):
        recording = self.recording()
        wanted = self.run_fir(recording, "dp2a", "reference", "int8")
        np.testing.assert_array_equal(
            self.run_fir(recording, "dp2a", precision="int8"), wanted)

    def test_method_none_has_no_filter(self):
        self.configure(oracle.Setup(
            1, 0.002, method="none", precision="int8"))
        self.refuse(self.recording(), "channelizer.fir: dp2a: expected fp32",
                    code=2, extra=("--set", "channelizer.fir=dp2a"))
