# SPDX-License-Identifier: BSD-3-Clause
"""Checks of results with averages in time, for scenario/time_average.py and
time_average_resume.py."""
from fractions import Fraction

import numpy as np

import averaged


class Checks:
    """Part of a program.Case with the `setup` of its runs and their begin."""

    begin = Fraction(1_600_000_000)

    def lengths(self, full):
        """Spectra of each dump."""
        n = int(full.header["Nbls"])
        return [int(round(x * 1e6 / self.setup.channels))
                for x in full.header["integration_time"][::n]]

    def check_averages(self, full, got, loss, dec_deg=None, n_dumps=None):
        """The rows of a result are averages of the dumps of another one."""
        n = int(full.header["Nbls"])
        lengths = self.lengths(full)
        rows = averaged.rows(lengths, averaged.factors(full, loss, dec_deg),
                             n_dumps)
        # assertEqual() takes a minute to say where such lists differ
        np.testing.assert_array_equal(
            got.pairs, [full.pairs[row[2]] for row in rows])
        self.assertEqual(int(got.header["Nblts"]), len(rows))
        self.assertEqual(int(got.header["Ntimes"]),
                         len(set(got.header["time_array"].tolist())))
        self.assertFalse(got.header["blts_are_rectangular"])
        for k, row in enumerate(rows):
            mean, flags, weight = averaged.average(full, lengths, row, n)
            scale = np.abs(mean).max()
            error = np.abs(got.data[k] - mean)
            self.assertTrue((error <= 2.0**-23 * np.abs(mean)
                             + 2.0**-40 * scale).all(), row)
            np.testing.assert_array_equal(got.flags[k], flags)
            np.testing.assert_allclose(got.nsamples[k], weight, rtol=2.0**-23)
            if row[1] - row[0] == 1:
                place = row[0] * n + row[2]
                np.testing.assert_array_equal(got.data[k], full.data[place])
                np.testing.assert_array_equal(got.nsamples[k],
                                              full.nsamples[place])
        self.check_times(full, got, rows, lengths)
        self.check_counts(full, got, n_dumps)
        return rows

    def check_times(self, full, got, rows, lengths):
        step = self.setup.channels
        window = self.setup.taps * step
        rate = Fraction(1_000_000)
        for k, (first, end, _) in enumerate(rows):
            self.assertEqual(got.header["time_array"][k], averaged.middle(
                self.begin, lengths, first, end, step, window, rate))
        np.testing.assert_allclose(
            got.header["integration_time"],
            [float(sum(lengths[first:end]) * step / rate)
             for first, end, _ in rows], rtol=4e-16)
        if got.keywords["DELAYMOD"] != b"TRACK":
            np.testing.assert_array_equal(
                got.header["uvw_array"],
                full.header["uvw_array"][[row[2] for row in rows]])

    def check_counts(self, full, got, n_dumps):
        """What is counted in each dump stays."""
        self.assertEqual(set(got.own), set(full.own))
        for name in {"valid_spectra", "dead", "clips"} & set(full.own):
            np.testing.assert_array_equal(got.own[name],
                                          full.own[name][:n_dumps])
        # an input that has not begun by then has no gains
        names = {"cable_delay"} if n_dumps else {"cable_delay", "gain",
                                                 "no_power"}
        for name in names & set(full.own):
            np.testing.assert_array_equal(got.own[name], full.own[name])
