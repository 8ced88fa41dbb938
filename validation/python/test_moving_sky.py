# SPDX-License-Identifier: BSD-3-Clause
"""Simulated sources that move with the sky, compared with astropy's horizon
coordinates and pyuvdata's phasing.

Shows (signals, simulated sources that move, and tones): `simulate` puts
    sources where astropy has them with the same table of the IERS, polar motion
    included; UT1 and sidereal time are those of astropy and pyuvdata for every
    kind of table; phases are flat after pyuvdata's `phase()`; blocks that follow
    a moving sky turn with the fringe; the truth of dumps with missing samples is
    right, and that of a tracked source what `correlate` gives; so are tones in X
    and Y by their Stokes parameters, at rest and moving
Within: 5·10⁻⁵ rad at 8000 rad of delay; 5 sigma; UT1 10⁻¹¹ s, sidereal time
    4·10⁻⁹ rad; blocks 1.5·10⁻³ rad; truth 10⁻⁵ of a source's power
Because: ERFA's models cost 10⁻⁹; the radiometer's law; a Julian date resolves
    40 µs; rounding of 2300 cells; three terms of a turn of 1/16 rad
In: test_earth.c, test_celestial.c, test_simulator_sky.c, test_truth.c
    truth_of_what_moves_is_the_sum_over_spectra, test_celestial.c
    places_are_those_of_erfa
"""
import itertools
import warnings

import astropy.units as u
import numpy as np
from astropy.coordinates import AltAz, EarthLocation, SkyCoord
from astropy.time import Time

import program
import uvdata
from uvdata import iers

LIGHT_M_S = 299_792_458.0

# The same table for fx8, astropy and pyuvdata.
iers.earth_orientation_table.set(iers.IERS_B.open())

START = "2020-09-13T12:26:40"
RA_DEG, DEC_DEG = 250.0, -35.0          # high in the east at that time

# East, north, up in metres.
POSITIONS = np.array([[0, 0, 0], [2000, -700, 3], [-900, 1500, -2],
                      [150, 90, 0]], float)
FREQUENCY_HZ = 150e6


class Sky(program.Case):
    """Simulations of an array of four antennas, 3 km across."""

    def simulate(self, rows, **keys):
        """Simulate and correlate; `keys` are section__key=value.  Returns the
        paths of the recording, of the true and of the correlated
        visibilities."""
        self.count += 1
        self.save("antennas.csv", "east_m,north_m,up_m\n" + "".join(
            ",".join(map(str, row)) + "\n" for row in POSITIONS))
        self.save("sources.csv", rows)
        values = {
            "array.positions": "antennas.csv", "array.polarizations": 1,
            "array.latitude_deg": -26.7, "array.longitude_deg": 116.67,
            "array.altitude_m": 377.8,
            "observation.start_time_utc": START,
            "observation.dc_frequency_hz": FREQUENCY_HZ,
            "observation.sample_rate_hz": 64_000,
            "delay.iers_file": iers.IERS_B_FILE, "channelizer.channels": 16,
            "correlator.integration_time_s": 0.25,
            "correlator.precision": "fp32", "correlator.backend": "cpu",
            "simulate.sources": "sources.csv",
        }
        values.update({name.replace("__", "."): value
                       for name, value in keys.items()})
        config = self.save(f"sky{self.count}.ini", program.ini_text(values))
        recording = self.path(f"sky{self.count}.h5")
        output = self.path(f"sky{self.count}.uvh5")
        self.well("simulate", config, "-o", recording)
        self.well("correlate", config, recording, "-o", output, "--quiet")
        return recording, self.path(f"sky{self.count}.true.uvh5"), output

    def test_truth_is_where_astropy_sees_the_source(self):
        """Phases over ten minutes are within 5e-5 rad of f b . s / c.  Errors:
        1e-9 from ERFA's models and 3e-9 from 40 us of a Julian date, each times
        2 pi f b / c = 8000 rad; 1e-6 from floats; less than p w 0.25 s / 24 =
        1e-7 from comparing the mean of a dump, in which the fringe turns by
        p = 0.15 rad, with its middle."""
        _, true, _ = self.simulate(
            f"ra_deg,dec_deg,I\n{RA_DEG},{DEC_DEG},1\n",
            observation__sample_rate_hz=4000, simulate__duration_s=600)
        got = program.read(true)
        times = Time(got.header["time_array"].reshape(
            got.visibilities.shape[:2])[:, 0], format="jd", scale="utc")
        place = EarthLocation.from_geodetic(116.67 * u.deg, -26.7 * u.deg,
                                            377.8 * u.m)
        seen = SkyCoord(RA_DEG * u.deg, DEC_DEG * u.deg).transform_to(
            AltAz(obstime=times, location=place, pressure=0 * u.hPa))
        towards = np.stack([np.cos(seen.alt) * np.sin(seen.az),
                            np.cos(seen.alt) * np.cos(seen.az),
                            np.sin(seen.alt)], axis=-1).value
        self.assertGreater(seen.alt.min(), 10 * u.deg)
        pairs = [(i, j) for i in range(4) for j in range(i, 4)]
        turned = 0
        for row, (i, j) in enumerate(pairs):
            if i == j:
                continue
            delay = towards @ (POSITIONS[j] - POSITIONS[i]) / LIGHT_M_S
            phase = 2 * np.pi * np.outer(delay, got.header["freq_array"])
            turned = max(turned, np.ptp(phase[:, 0]))
            rest = got.visibilities[:, row, :, 0] * np.exp(-1j * phase)
            np.testing.assert_array_less(np.abs(np.angle(rest)), 5e-5)
        self.assertGreater(turned, 100)

    def test_phased_by_pyuvdata_it_stands_still(self):
        """Phases towards the source: no offset, no slope in time or frequency
        beyond 5 sigma of the radiometer's law, sigma^2 = (1 / rho^2 - 1) / 2M
        a cell, M = 1000 spectra of which 0.969 are independent."""
        _, _, output = self.simulate(
            f"ra_deg,dec_deg,I\n{RA_DEG},{DEC_DEG},4\n",
            simulate__duration_s=60.05)
        with warnings.catch_warnings(action="error"):
            data = uvdata.UVData.from_file(output)
            before = data.data_array.copy()
            data.phase(lon=np.deg2rad(RA_DEG), lat=np.deg2rad(DEC_DEG),
                       cat_name="source", phase_frame="icrs")
        self.assertEqual(data.Ntimes, 240)
        cells = data.flag_array.shape[1]
        keep = ~data.flag_array.any(axis=(0, 2))
        self.assertGreater(keep.sum(), cells // 2)
        rho = 4 / 5
        sigma = np.sqrt((rho**-2 - 1) / 2 / (1000 * 0.969))
        for one, two in itertools.combinations(range(4), 2):
            rows = data.antpair2ind(one, two)
            phase = np.angle(data.data_array[rows][:, keep, 0])
            n_times, n_channels = phase.shape
            # cells are independent except for neighbouring channels, which
            # share up to a tenth of their noise: 1.2 in variance
            bound = 5 * sigma * np.sqrt(1.2 / phase.size)
            self.assertLess(abs(phase.mean()), bound)
            for axis, n in ((0, n_times), (1, n_channels)):
                ramp = np.linspace(-1, 1, n) * np.sqrt(3)
                slope = (phase.mean(axis=1 - axis) * ramp).mean()
                self.assertLess(abs(slope), bound)
            self.assertLess(abs(np.std(phase) / sigma - 1), 0.1)
        unphased = np.angle(before[data.antpair2ind(0, 1)][:, keep, 0])
        self.assertGreater(np.ptp(np.unwrap(unphased[:, 0])), 10)

    def test_dropouts_and_phases_of_gains(self):
        """A fifth of the samples is missing and the fringe turns by a radian per
        dump, so each pair has its own mean time. The scatter about the truth is
        the radiometer's, in real samples of a lower sideband."""
        self.compare_with_truth()

    def test_tracked_dropouts(self):
        """The same when correlate follows one source and the other turns: the
        shifts of windows are in the weights."""
        self.compare_with_truth(
            delay__mode="track", delay__phase_center_ra_deg=RA_DEG,
            delay__phase_center_dec_deg=DEC_DEG)

    def compare_with_truth(self, **keys):
        _, true, output = self.simulate(
            "ra_deg,dec_deg,az_deg,el_deg,I\n"
            f"{RA_DEG},{DEC_DEG},,,2\n,,30,60,1\n",
            simulate__duration_s=41, simulate__dropout_fraction=0.2,
            simulate__gain_phase_deg=60, simulate__gain_spread=0.2,
            simulate__samples="real", input__sideband="lower",
            correlator__integration_time_s=2, **keys)
        got, want = program.read(output), program.read(true)
        np.testing.assert_array_equal(got.nsamples, want.nsamples)
        self.assertLess(got.nsamples.max(), 0.9)
        keep = ~got.flags.any(axis=(0, 1, 3))
        pairs = [(i, j) for i in range(4) for j in range(i, 4)]
        own = [row for row, (i, j) in enumerate(pairs) if i == j]
        power = got.visibilities[:, own][..., 0].real
        errors = []
        for row, (i, j) in enumerate(pairs):
            if i == j:
                continue
            valid = (got.nsamples[:, row, :, 0]
                     * got.header["integration_time"][0]
                     * got.header["channel_width"][0])
            error = (got.visibilities - want.visibilities)[:, row, :, 0]
            errors.append((error * np.sqrt(valid * 0.969
                                           / power[:, i] / power[:, j]))
                          [:, keep])
        errors = np.array(errors)
        n = errors[0].size
        self.assertLess(abs(np.sqrt(np.mean(np.abs(errors)**2)) - 1),
                        5 / np.sqrt(2 * n))
        self.assertLess(np.abs(errors.mean(axis=(1, 2))).max(),
                        5 / np.sqrt(n))

    def test_tables_are_read_as_astropy_reads_them(self):
        """UT1 - UTC and sidereal time of one dump, at some dates of each table;
        also of days that end in leap seconds, and of predictions."""
        bulletin = ["Angular unit is milliarcsecond (mas)"]
        table = iers.IERS_B.open()
        for row in table[(table["MJD"] >= 58849 * u.d)
                         & (table["MJD"] < 58880 * u.d)]:
            bulletin.append(
                f"2020 1 1 {row['MJD'].value:.0f} "
                f"{row['PM_x'].to_value('mas'):.3f} "
                f"{row['PM_y'].to_value('mas'):.3f} "
                f"{row['UT1_UTC'].to_value('ms'):.4f} 0.1 0.1")
        self.save("bulletinb", "\n".join(bulletin))
        predicted = iers.IERS_A.open().meta["predictive_mjd"] + 100.6
        for path, table, dates in (
                (iers.IERS_A_FILE, iers.IERS_A.open(),
                 [Time(predicted, format="mjd").isot, "1999-03-04T05:06:07"]),
                (iers.IERS_B_FILE, iers.IERS_B.open(),
                 ["2016-12-31T15:00:00", "2017-01-01T03:00:00",
                  "1975-05-05T23:59:58"]),
                (self.path("bulletinb"), iers.IERS_B.open(),
                 ["2020-01-12T13:14:15"])):
            with iers.earth_orientation_table.set(table):
                for date in dates:
                    self.check_date(path, date)

    def check_date(self, path, date):
        _, true, _ = self.simulate(
            "az_deg,el_deg,I\n30,60,1\n", simulate__duration_s=1,
            observation__start_time_utc=date, delay__iers_file=path)
        data = uvdata.load(self, true)
        time = Time(data.time_array[0], format="jd", scale="utc")
        leap = 3e-8 if "12-31" in date else 0   # earth.h
        dates = np.unique(data.time_array)
        middle = Time(dates[dates.size // 2], format="jd", scale="utc")
        self.assertLess(abs(data.dut1 - middle.delta_ut1_utc), 1e-11 + leap)
        want = time.sidereal_time("apparent", data.telescope.location.lon).rad
        self.assertLess(abs(np.angle(np.exp(1j * (data.lst_array[0] - want)))),
                        4e-9)

    def test_truth_of_many_antennas_is_that_of_few(self):
        """Sums of 80 antennas and 512 channels (27 MB) are post-processed in
        parts, those of four antennas at once."""
        rows = f"ra_deg,dec_deg,az_deg,el_deg,I\n{RA_DEG},{DEC_DEG},,,2\n" \
            ",,30,60,1\n"
        few, many = (program.read(self.simulate(
            rows, array__positions="none", array__antennas=n,
            channelizer__channels=512, simulate__duration_s=0.2,
            simulate__gain_spread=0.2, correlator__integration_time_s=0.04)[1])
            for n in (4, 80))
        among = [row for row, (_, j) in enumerate(
            itertools.combinations_with_replacement(range(80), 2)) if j < 4]
        for name in ("visibilities", "flags"):
            np.testing.assert_array_equal(getattr(many, name)[:, among],
                                          getattr(few, name))
        self.assertEqual(few.visibilities.shape[2], 512)
