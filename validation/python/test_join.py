# SPDX-License-Identifier: BSD-3-Clause
"""fx8 join against pyuvdata: what both make of the same files.

Shows (results, UVH5 joined by fx8): parts in time, and channels with a hole
    between them, joined by `fx8 join` are read without a warning and equal what
    pyuvdata's `+` and `fast_concat` make of them; files that pyuvdata wrote,
    of single and double precision, packed, phased, with spectral windows, too
Within: every array equal; latitude and longitude 10⁻¹⁴
Because: everything is copied; pyuvdata keeps the site as geocentric coordinates
"""
import functools
import operator
import os
import warnings

import h5py
import numpy as np
from astropy.time import Time

import oracle
import program
import uvdata

ARRAYS = ("data_array", "flag_array", "nsample_array", "time_array",
          "lst_array", "integration_time", "uvw_array", "ant_1_array",
          "ant_2_array", "freq_array", "channel_width", "spw_array",
          "flex_spw_id_array", "polarization_array", "phase_center_id_array",
          "phase_center_app_ra", "phase_center_app_dec",
          "phase_center_frame_pa")


def dut1():
    """UT1 - UTC of the recordings, so that lst_array is written."""
    start = Time(program.Scene.start_s, format="unix", scale="utc")
    return {"delay.dut1_s": repr(float(start.delta_ut1_utc))}


class Join(program.Case):
    """One small result, cut and joined again."""

    def result(self):
        """A result of 5 dumps and 16 channels."""
        scene = program.Scene(program.noise(131, 4, 2, 20_000))
        return self.correlate(scene, oracle.Setup(16, 0.004),
                              extra=dut1()).path

    def pieces(self, path, axis, parts, **options):
        """Parts of a file as pyuvdata writes them."""
        files = []
        for part in parts:
            data = uvdata.load(self, path)
            with warnings.catch_warnings(action="ignore"):
                if axis == "time":
                    data.select(times=np.unique(data.time_array)[part])
                else:
                    data.select(freq_chans=part)
                self.count += 1
                files.append(self.path(f"{axis}{self.count}.uvh5"))
                data.write_uvh5(files[-1], **options)
        return files

    def join(self, *files):
        path = self.path("all.uvh5")
        self.well("join", *files, "-o", path, "--force")
        program.read(path)
        return uvdata.load(self, path)

    def assert_equal_data(self, got, want):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(got, name),
                                          getattr(want, name), name)
        for name in ("antenna_numbers", "antenna_names", "antenna_positions",
                     "feed_array", "feed_angle", "mount_type", "instrument"):
            np.testing.assert_array_equal(getattr(got.telescope, name),
                                          getattr(want.telescope, name), name)
        self.assertEqual(got.vis_units, want.vis_units)
        # latitude and longitude through a file of pyuvdata
        np.testing.assert_allclose(got.telescope.location_lat_lon_alt,
                                   want.telescope.location_lat_lon_alt,
                                   rtol=1e-14)
        self.assertEqual(*(
            {key: {name: value for name, value in entry.items()
                   if value is not None and name != "info_source"}
             for key, entry in data.phase_center_catalog.items()}
            for data in (got, want)))

    def sums(self, files, axis):
        """What pyuvdata makes of files: added, and one after the other."""
        with warnings.catch_warnings(action="ignore"):
            data = [uvdata.load(self, path) for path in files]
            yield functools.reduce(operator.add, data)
            yield data[0].fast_concat(data[1:], axis)

    def test_parts_in_time(self):
        scene = program.Scene(program.noise(131, 4, 2, 20_000))
        recording = self.write(scene)
        files = [self.fx8(recording, oracle.Setup(
            16, 0.004, method="fft", start_s=start, duration_s=length),
            extra=dut1()).path
            for start, length in ((0, 0.008), (0.008, 0.004), (0.012, None))]
        got = self.join(files[2], files[0], files[1])
        for want in self.sums(files, "blt"):
            self.assert_equal_data(got, want)

    def test_channels_with_a_hole(self):
        """Two bands 3 MHz apart; pyuvdata warns of the hole when it joins, not
        when it reads."""
        samples = program.noise(131, 4, 2, 20_000)
        files = [self.correlate(program.Scene(samples, dc_hz=hz),
                                oracle.Setup(16, 0.004)).path
                 for hz in (150e6, 153e6, 154e6)]
        got = self.join(files[1], files[2], files[0])
        self.assertEqual(got.Nfreqs, 48)
        for want in self.sums(files, "freq"):
            self.assert_equal_data(got, want)

    def test_phased(self):
        path = self.result()
        data = uvdata.load(self, path)
        with warnings.catch_warnings(action="ignore"):
            data.phase(lon=1.0, lat=-0.5, phase_frame="icrs", cat_name="field")
        phased = self.path("phased.uvh5")
        data.write_uvh5(phased)
        for axis, parts in (("time", ([0, 1], [2, 3, 4])),
                            ("freq", (np.arange(5), np.arange(5, 16)))):
            with self.subTest(axis=axis):
                files = self.pieces(phased, axis, parts)
                self.assert_equal_data(self.join(*files[::-1]),
                                       uvdata.load(self, phased))

    def test_files_of_pyuvdata(self):
        """Written by pyuvdata: both axes, types of the visibilities, packed
        with lzf, and by deflate."""
        path = self.result()
        want = uvdata.load(self, path)
        for axis, parts in (("time", ([0, 1], [2], [3, 4])),
                            ("freq", (np.arange(5), np.arange(5, 16)))):
            for options in ({}, {"data_compression": "gzip"},
                            {"data_write_dtype": "c16"}):
                with self.subTest(axis=axis, **options):
                    files = self.pieces(path, axis, parts, **options)
                    self.assert_equal_data(self.join(*files[::-1]), want)

    def test_types_of_visibilities(self):
        """One kind in all files; integers, as HERA's correlator writes them."""
        path = self.result()
        double, = self.pieces(path, "time", ([1],), data_write_dtype="c16")
        os.rename(double, self.path("odd.uvh5"))
        single, = self.pieces(path, "time", ([0],))
        done = program.run("join", single, self.path("odd.uvh5"), "-o",
                           self.path("no.uvh5"))
        self.assert_one_line(done, 1, "odd.uvh5: visdata: compound {r: float64,"
                             " i: float64}: expected compound {r: float32, i: "
                             "float32} as in")
        whole = self.pieces(path, "time", ([0, 1, 2, 3, 4],))[0]

        def integers(file):
            values = file["Data/visdata"][()]
            del file["Data/visdata"]
            kind = np.dtype([("r", "i4"), ("i", "i4")])
            out = np.empty(values.shape, kind)
            out["r"], out["i"] = values.real, values.imag
            file["Data/visdata"] = out
        counts = self.changed(whole, integers, "counts.uvh5")

        def later(file):
            file["Header/time_array"][...] += 1
        second = self.changed(counts, later, "second.uvh5")
        self.well("join", counts, second, "-o", self.path("i4.uvh5"))
        with h5py.File(self.path("i4.uvh5")) as file, h5py.File(counts) as one:
            np.testing.assert_array_equal(
                file["Data/visdata"][()],
                np.tile(one["Data/visdata"][()], (2, 1, 1)))

    def test_spectral_windows(self):
        path = self.result()
        data = uvdata.load(self, path)
        data.spw_array = np.array([3, 7])
        data.Nspws = 2
        data.flex_spw_id_array = np.repeat([3, 7], 8)
        windows = self.path("windows.uvh5")
        data.write_uvh5(windows)
        files = self.pieces(windows, "freq", (np.arange(4), np.arange(4, 12),
                                              np.arange(12, 16)))
        got = self.join(*files[::-1])
        self.assert_equal_data(got, uvdata.load(self, windows))
