# SPDX-License-Identifier: BSD-3-Clause
"""The files as pyuvdata reads them: each of its warnings is a failure; uvw is
recomputed. Nothing is downloaded.

Shows (results, UVH5 in pyuvdata): files are read without a warning; uvw and
    sidereal time are right; UVFITS and a Measurement Set can be made as
    `correlate` advises
Within: no warning; uvw 1 cm; apparent sidereal time 0.9 s
Because: pyuvdata's own rotation of geocentric positions; UT1 − UTC is not
    configured and is at most 0.9 s
In: Reading

Shows (results, UVH5 joined by pyuvdata): consecutive stretches, joined by a
    list of files, by `+` and through UVFITS, equal one run, with antenna
    numbers in any order
Within: values, flags and weights equal; times within 2⁻³¹ d
Because: one rounding of a Julian date
In: Joining
"""
import functools
import operator
import os
import re
import warnings

import astropy.units as u
import numpy as np
from astropy.time import Time

import oracle
import program
import uvdata
from uvdata import UVData


def make_scene(n_antennas=4, n_pols=2, **options):
    samples = program.noise(131, n_antennas, n_pols, 20_000)
    return program.Scene(samples, **options)


class Reading(program.Case):
    """read() and check(check_autos=True) without a warning."""

    def test_both_precisions_and_shapes(self):
        for precision in ("int8", "fp32"):
            for n_antennas, n_pols in ((1, 1), (4, 2), (6, 1)):
                scene = make_scene(n_antennas, n_pols)
                setup = oracle.Setup(16, 0.004, precision=precision)
                got = self.correlate(scene, setup)
                data = uvdata.load(self, got.path)
                self.assertEqual(data.Ntimes, 5)
                # the last one is shorter
                np.testing.assert_array_equal(
                    np.unique(data.integration_time),
                    got.header["integration_time"][[-1, 0]])
                self.assertEqual(data.Nants_data, n_antennas)
                np.testing.assert_array_equal(
                    data.data_array.reshape(got.visibilities.shape),
                    got.visibilities)

    def test_day_that_ends_in_a_leap_second(self):
        """Dates and sidereal times around the leap second of 2016 agree with
        astropy and pyuvdata, and fx8 reads them back."""
        for date, unix_s in (("2016-12-31T00:00:00", 1_483_142_400),
                             ("2016-12-31T18:00:00", 1_483_207_200),
                             ("2016-12-31T23:59:59", 1_483_228_799),
                             ("2017-01-01T00:00:00", 1_483_228_800)):
            with self.subTest(date=date):
                start = Time(date, scale="utc", format="isot")
                dut1 = float(start.delta_ut1_utc)
                got = self.correlate(
                    make_scene(start_s=unix_s, start_ns=500_000_000),
                    oracle.Setup(16, 0.004),
                    extra={"delay.dut1_s": repr(dut1)})
                data = uvdata.load(self, got.path)
                first = Time(data.time_array[0], format="jd", scale="utc")
                # M = 250 spectra of 16 samples, windows of 8 times 16
                want = start + (0.5 + (249 * 16 + 8 * 16) / 2e6) * u.s
                # a Julian date is rounded to 40 us
                self.assertLess(abs((first - want).to_value(u.s)), 41e-6)
                self.assertLess(
                    abs(first.delta_ut1_utc - dut1), 1e-3)
                sidereal = Time(want, location=data.telescope.location
                                ).sidereal_time("apparent").rad
                # the table is interpolated over the day: 1 ms of time
                self.assertLess(abs(np.angle(np.exp(1j * (
                    data.lst_array[0] - sidereal)))), 1.5e-7)
                self.assertIn(date[:-3], program.run("info", got.path).stdout)

    def test_compressed_flagged_averaged(self):
        scene = make_scene(numbers=[4, 9, 11, 3], missing=[(2, -1, 0, 20_000)])
        setup = oracle.Setup(16, 0.004, flag_dc=True, channel_average=4,
                             flag_antennas=(9,))
        got = self.correlate(scene, setup,
                             extra={"output.compression": "gzip"})
        data = uvdata.load(self, got.path)
        self.assertEqual(data.Nfreqs, 4)
        self.assertEqual(sorted(data.get_ants()), [3, 4, 9, 11])
        self.assertNotIn("blt_order", got.header)
        self.assertEqual(self.well("info", got.path).stderr, "")

    def test_positions_none(self):
        scene = make_scene(has_table=False)
        got = self.correlate(scene, oracle.Setup(16, 0.004), extra={
            "array.positions": "none", "array.latitude_deg": "10",
            "array.longitude_deg": "20", "array.altitude_m": "30"})
        uvdata.load(self, got.path)
        self.assertEqual(int(got.keywords["POSFAKE"]), 1)

    def test_uvw_to_a_centimetre(self):
        positions = program.spread(5, seed=9) * 10
        scene = make_scene(5, 1, positions=positions,
                           numbers=[7, 1, 30, 2, 5])
        got = self.correlate(scene, oracle.Setup(16, 0.004))
        data = uvdata.load(self, got.path)
        number = {label: k for k, label in enumerate([7, 1, 30, 2, 5])}
        want = np.array([positions[number[two]] - positions[number[one]]
                         for one, two in zip(data.ant_1_array,
                                             data.ant_2_array)])
        np.testing.assert_allclose(data.uvw_array, want, atol=0.01)
        # the same uvw from the antenna positions in the file, rotated back
        enu = data.telescope.get_enu_antpos()
        at = {label: enu[k] for k, label in
              enumerate(data.telescope.antenna_numbers)}
        again = np.array([at[two] - at[one] for one, two in
                          zip(data.ant_1_array, data.ant_2_array)])
        np.testing.assert_allclose(data.uvw_array, again, atol=0.01)

    def test_conversion_that_a_warning_advises(self):
        """If the result is named like another format, following the warning's
        advice converts it to that format; warnings of casacore and FITS are
        ignored."""
        config = self.ini(oracle.Setup(16, 0.004), name="c.ini")
        recording = self.write(make_scene())
        for ending in ".uvfits", ".fits", ".ms":
            with self.subTest(ending=ending):
                wrong = self.path("c" + ending)
                done = self.well("correlate", config, recording, "-o", wrong)
                printed = re.search("expected (.*); in Python, (.*) converts it",
                                 done.stderr)
                os.rename(wrong, printed[1])
                with warnings.catch_warnings(action="ignore"):
                    exec(printed[2])
                    data = UVData.from_file(wrong, file_type=(
                        "ms" if ending == ".ms" else "uvfits"))
                self.assertEqual(data.Nfreqs, 16)
                self.assertEqual(data.Ntimes, 5)

    def test_apparent_position_of_the_phase_centre(self):
        data = uvdata.load(self, 
            self.correlate(make_scene(), oracle.Setup(16, 0.004)).path)
        # within UT1 - UTC, at most 0.9 s of time, when it is not configured
        gap = np.angle(np.exp(1j * (data.phase_center_app_ra
                                    - data.lst_array)))
        self.assertLess(np.abs(gap).max(), 0.9 * 2 * np.pi / 86164)
        np.testing.assert_allclose(
            data.phase_center_app_dec,
            np.radians(program.SITE["latitude_deg"]), atol=1e-9)


class Joining(program.Case):
    """Results of consecutive stretches join to the result of the whole."""

    NUMBERS = {"ascending": ([1, 2, 3, 4], {}),
               "picked out of order": ([1, 2, 3, 4], {"array.antennas": "3,1"}),
               "labelled out of order": ([4, 9, 11, 3], {})}

    def stretches(self, numbers, extra):
        """Files of two stretches, and of both in one run."""
        recording = self.write(make_scene(numbers=numbers))
        return [self.fx8(recording,
                         oracle.Setup(16, 0.004, method="fft", start_s=start,
                                      duration_s=length), extra=extra).path
                for start, length in ((0, 0.008), (0.008, 0.008), (0, 0.016))]

    def assert_joined(self, join):
        """join(paths) equals the whole run; pyuvdata sorts the rows that it
        joins."""
        for name, case in self.NUMBERS.items():
            with self.subTest(numbers=name):
                *parts, whole = self.stretches(*case)
                got, want = join(parts), join([whole])
                want.reorder_blts(order="time", minor_order="baseline")
                for array in ("data_array", "flag_array", "nsample_array",
                              "ant_1_array", "ant_2_array"):
                    np.testing.assert_array_equal(getattr(got, array),
                                                  getattr(want, array))
                # one rounding of a Julian date, 40 us: UVFITS keeps two parts
                np.testing.assert_allclose(got.time_array, want.time_array,
                                           rtol=0, atol=2.0**-31)

    def test_by_a_list_of_files(self):
        self.assert_joined(UVData.from_file)

    def test_by_addition(self):
        self.assert_joined(lambda paths: functools.reduce(
            operator.add, (uvdata.load(self, path) for path in paths)))

    def test_through_uvfits(self):
        """UVFITS needs phased data: pyuvdata phases all to one point."""
        def written(path):
            data = uvdata.load(self, path)
            with warnings.catch_warnings(action="ignore"):
                data.phase(lon=1.0, lat=-0.5, phase_frame="icrs",
                           cat_name="field")
            data.write_uvfits(path + ".uvfits")
            return path + ".uvfits"
        self.assert_joined(lambda paths: UVData.from_file(
            [written(path) for path in paths]))
