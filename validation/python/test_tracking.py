# SPDX-License-Identifier: BSD-3-Clause
"""A tracked source: flat in pyuvdata as the file is read, from 1 to 100 km, in
whole-sample steps and through long gaps; uvw and phases against pyuvdata's own
phasing. Voltages and geometry are made here, with astropy.

Shows (signals, a tracked source stays): a point source tracked for an hour at
    1 km, 350 MHz, with spectra of 0.1 s (pfb, and with FX8_LONG fft): coherence
    and phase; through more than three steps of whole samples, 4 MS/s in bursts
    every 7.5 minutes; at 100 km
Within: loss 0.5 %; 0.2° rms; at 100 km 10⁻⁵ turns
Because: spectra of 0.1 s lose 10⁻⁴ by the fringe and half a sample of 512 10⁻³;
    8-bit samples scatter by 0.1°; the bounds of tracker.h
In: Stays

Shows (results, tracked UVH5 in pyuvdata): read and checked without a warning in
    modes none, cable and track and for several centres, each equal to a run of
    its own; uvw and phases equal pyuvdata's phasing of the drift-scan result,
    with the file's own frame_pa
Within: to the bit; 0.01 mm and 10⁻⁵ turns at 1 km, 350 MHz; 1 mm at 100 km; with
    dut1_s alone 3·10⁻³ turns
Because: one spectrum per dump, so that nothing is averaged; a Julian date in a
    double is 40 µs, 3·10⁻⁶ turns; without polar motion 0.42″
In: Phasing

Shows (signals, closure phases): of one source in noise they are zero, and
    phases of antennas in `gains` change visibilities, not them
Within: mean and scatter of all cells 5 sigma; 10⁻⁵ rad
Because: only products of noise of two antennas scatter them; single precision
In: Closure
"""
import itertools
import os
from fractions import Fraction

import digital_rf
import numpy as np
from pyuvdata.utils.phasing import calc_frame_pos_angle, calc_uvw

import geometry
import oracle
import program
import uvdata
from geometry import LIGHT_M_S

PLACE = (250.0, -35.0)              # high in the east at the start
START = 1_600_000_000
SKY_HZ = 350e6
# East, north, up in metres; antennas 0 and 1 are 1 km apart.
SPOTS = np.array([[500, 20, 1], [-495, -120, -1], [80, 410, 2]], float)
PAIRS = list(itertools.combinations(range(3), 2))


class Recorded(program.Case):
    """Recordings of a source at PLACE."""

    def keys(self, positions, **keys):
        self.save("antennas.csv", geometry.antenna_csv(positions))
        return {"array.positions": "antennas.csv", **program.SITE_KEYS,
                **{name.replace("__", "."): value
                   for name, value in keys.items()}}

    def voltages(self, positions, rate, n_samples, noise=0, level=30,
                 first_s=0, seed=1):
        """int8 [antenna][pol][time] from first_s after START."""
        generator = np.random.default_rng(seed)
        seconds = first_s + np.arange(n_samples) / rate
        towards = geometry.Towards(PLACE, Fraction(START), seconds[-1])
        wave = level * geometry.white(generator, n_samples)
        samples = np.empty((len(positions), 1, n_samples), complex)
        # receivers have their own noise; so have the roundings to integers
        for row, late in zip(samples, towards.delays(positions, seconds)):
            own = generator.normal(size=(n_samples, 2)) @ [1, 1j]
            row[0] = program.to_int8(geometry.received(wave, late, rate, SKY_HZ)
                                     + noise * level * own)
        return samples

    def scene(self, positions, rate, n_samples, **options):
        return self.write(program.Scene(
            self.voltages(positions, rate, n_samples, **options),
            rate=Fraction(rate), dc_hz=SKY_HZ, start_s=START, has_table=False))

    def cells(self, path):
        """Visibilities of PAIRS and powers of their antennas, [pair][dump]
        [channel], without empty dumps and outer channels, by pyuvdata."""
        data = uvdata.load(self, path)
        keep = ~data.get_flags(0, 1).all(axis=0)
        # the source fills 0.9 of the band
        keep &= np.abs(data.freq_array - SKY_HZ) < 0.4 * np.ptp(data.freq_array)
        full = data.get_nsamples(0, 1)[:, keep].min(axis=1) > 0
        def get(i, j):
            return data.get_data(i, j)[full][:, keep]
        values = np.array([get(i, j) for i, j in PAIRS])
        powers = np.array([get(i, i).real for i in range(3)])
        return values, np.array([powers[i] * powers[j] for i, j in PAIRS])


class Stays(Recorded):
    """Phase and coherence of what was tracked."""

    def assert_flat(self, path):
        values, powers = self.cells(path)
        coherence = np.abs(values) / np.sqrt(powers)
        rms_deg = np.degrees(np.sqrt(np.mean(np.angle(values)**2, axis=(1, 2))))
        print(f"# {values.shape[1]} dumps of {values.shape[2]} channels: loss "
              f"{1 - coherence.mean():.2e}, phase {rms_deg.max():.3f} deg rms")
        self.assertGreater(coherence.mean(axis=(1, 2)).min(), 0.995)
        self.assertLess(rms_deg.max(), 0.2)
        return values

    def hour(self, method, channels):
        rate = 10 * channels            # spectra of 0.1 s
        path = self.scene(SPOTS, rate, 3600 * rate)
        return self.fx8(path, oracle.Setup(channels, 10.0, method=method),
                        self.keys(SPOTS, **geometry.fx8_keys(PLACE))).path

    def test_hour_pfb(self):
        values = self.assert_flat(self.hour("pfb", 32))
        self.assertEqual(values.shape[1], 360)

    def test_hour_fft(self):
        if not program.LONG:
            self.skipTest("FX8_LONG")
        self.assert_flat(self.hour("fft", 256))

    def bursts(self, positions, n_bursts, period_s, channels, per_s=5):
        """Track per_s-th parts of seconds, recorded as Digital RF."""
        rate = self.RATE
        top = self.path("bursts")
        folders = [os.path.join(top, f"ch{k}") for k in range(len(positions))]
        for folder in folders:
            os.makedirs(folder)
        writers = [digital_rf.DigitalRFWriter(
            folder, np.dtype("i1"), 3600, 200, START * rate, rate, 1,
            uuid_str="test", is_complex=True, marching_periods=False)
            for folder in folders]
        n = rate // per_s
        for burst in range(n_bursts):
            samples = self.voltages(positions, rate, n, seed=burst,
                                    first_s=period_s * burst)
            for writer, row in zip(writers, samples[:, 0]):
                writer.rf_write(program.packed(row).view("i1").reshape(n, 2),
                                period_s * burst * rate)
        for writer in writers:
            writer.close()
        return self.fx8(top, oracle.Setup(channels, 1.0, method="fft"), self.keys(
            positions, observation__dc_frequency_hz=SKY_HZ,
            array__polarizations=1, **geometry.fx8_keys(PLACE))).path

    RATE = 4_000_000

    def test_whole_sample_steps(self):
        spots, n_bursts, period_s = SPOTS * 8, 5, 450
        path = self.bursts(spots, n_bursts, period_s, 512, per_s=10)
        towards = geometry.Towards(PLACE, Fraction(START), 3600)
        steps = np.ptp(np.rint(self.RATE * towards.delays(
            spots, period_s * np.arange(n_bursts))), axis=1)
        self.assertGreater(steps.max(), 3)
        # dumps of 7813 spectra are not whole seconds: they part some bursts
        self.assertGreaterEqual(self.assert_flat(path).shape[1], n_bursts)

    def test_100_km(self):
        """Through more than one polynomial.  Antennas have the delay where their
        windows are, moved by up to 333 us: taken at the same instant for all, it
        would leave 2e-4 turns."""
        if not program.LONG:
            self.skipTest("FX8_LONG=1: 84 s of bursts")
        n_bursts, period_s = 12, 7
        data = program.read(self.bursts(SPOTS * 100, n_bursts, period_s, 4096))
        rows = list(itertools.combinations_with_replacement(range(3), 2))
        inner = slice(410, -410)        # the source fills 0.9 of the band
        dump_s = data.header["integration_time"][0]
        middles = (np.arange(len(data.visibilities)) + 0.5) * dump_s
        burst = np.rint(middles / period_s).astype(int)
        for pair in PAIRS:
            sums = (data.visibilities * data.nsamples)[
                :, rows.index(pair), inner, 0].sum(axis=1)
            turns = np.angle([sums[burst == k].sum()
                              for k in range(n_bursts)]) / 2 / np.pi
            fours = turns.reshape(3, 4).mean(axis=1)
            print(f"# {pair}: up to {np.abs(turns).max():.1e} turns in a burst, "
                  f"{np.abs(fours).max():.1e} in four")
            # windows a sample of 4096 apart differ in as much of their noise:
            # 3e-6 turns in the mean of a burst, 2e-6 in that of four
            self.assertLess(np.abs(fours).max(), 1e-5)
            self.assertLess(np.abs(turns).max(), 2e-5)


class Phasing(Recorded):
    """The file of a tracked run, and the drift-scan file phased by pyuvdata."""

    def noise(self, **options):
        return self.write(program.Scene(
            program.noise(3, 3, 1, 640), rate=Fraction(32_000), dc_hz=SKY_HZ,
            has_table=False, **options))

    def pair(self, place, spots, start_s, **keys):
        """Tracked, and phased by pyuvdata: one spectrum per dump."""
        path = self.noise(start_s=start_s)
        setup = oracle.Setup(64, 0.002, method="fft")
        drift, track = (uvdata.load(self, self.fx8(path, setup, self.keys(
            spots, **more)).path) for more in (
                {}, {**geometry.fx8_keys(place), **keys}))
        drift.phase(lon=np.radians(place[0]), lat=np.radians(place[1]),
                    phase_frame="icrs", cat_name="field")
        return track, drift

    def uvw_off(self, track, drift):
        """Metres to pyuvdata's uvw turned by the file's frame_pa."""
        site = drift.telescope.location
        uvw = calc_uvw(
            app_ra=drift.phase_center_app_ra,
            app_dec=drift.phase_center_app_dec,
            frame_pa=track.phase_center_frame_pa, lst_array=drift.lst_array,
            antenna_positions=drift.telescope.antenna_positions,
            antenna_numbers=drift.telescope.antenna_numbers,
            ant_1_array=drift.ant_1_array, ant_2_array=drift.ant_2_array,
            telescope_lat=site.lat.rad, telescope_lon=site.lon.rad)
        return np.abs(track.uvw_array - uvw).max()

    def turns_off(self, track, drift):
        cross = drift.ant_1_array != drift.ant_2_array
        ratio = (track.data_array * drift.data_array.conj())[cross]
        return np.abs(np.angle(ratio)).max() / 2 / np.pi

    def assert_frame(self, track):
        """Position angle within 20 mas.  pyuvdata's is a secant to one side,
        over half a degree by default, and with half the step half as wrong."""
        wide, narrow = (calc_frame_pos_angle(
            time_array=track.time_array, app_ra=track.phase_center_app_ra,
            app_dec=track.phase_center_app_dec, ref_frame="icrs",
            telescope_loc=track.telescope.location, offset_pos=step)
            for step in (1e-5, 5e-6))
        self.assertLess(np.abs(track.phase_center_frame_pa
                               - (2 * narrow - wide)).max(), 1e-7)

    PLACES = ((PLACE, START), ((10.0, 20.0), START + 30_000),
              ((80.0, -88.0), START + 100_000_000),
              ((300.0, -26.0), START - 400_000_000))

    def test_1_km(self):
        for place, start_s in self.PLACES:
            with self.subTest(place=place, start_s=start_s):
                track, drift = self.pair(place, SPOTS, start_s)
                center = track.phase_center_catalog[
                    track.phase_center_id_array[0]]
                self.assertEqual(center["cat_type"], "sidereal")
                self.assertEqual(center["cat_frame"], "icrs")
                self.assertEqual(center["cat_name"], "field")
                np.testing.assert_allclose(
                    [center["cat_lon"], center["cat_lat"]], np.radians(place),
                    rtol=1e-15)
                uvw, turns = (self.uvw_off(track, drift),
                              self.turns_off(track, drift))
                print(f"# uvw {1e3 * uvw:.4f} mm, {turns:.2e} turns")
                self.assertLess(uvw, 1e-5)
                self.assertLess(turns, 1e-5)
                self.assert_frame(track)
                for name in ("lst_array", "phase_center_app_ra",
                             "phase_center_app_dec"):
                    apart = getattr(track, name) - getattr(drift, name)
                    self.assertLess(np.abs(np.angle(
                        np.exp(1j * apart))).max(), 1e-7, name)

    def test_100_km(self):
        track, drift = self.pair(PLACE, SPOTS * 100, START)
        self.assertLess(self.uvw_off(track, drift), 1e-3)

    def test_dut1_alone(self):
        dut1 = float(geometry.Time(START, format="unix").delta_ut1_utc)
        track, drift = self.pair(PLACE, SPOTS, START, delay__iers_file="",
                                 delay__dut1_s=repr(dut1))
        off = self.turns_off(track, drift)
        print(f"# {off:.2e} turns")
        self.assertLess(off, 3e-3)
        self.assertGreater(off, 1e-5)   # polar motion is not there

    def test_read_clean(self):
        """Modes none and cable, both precisions; a cable leaves uvw alone."""
        path = self.noise()
        late = np.array([[0.0], [2e-6], [-1e-6]])
        for mode, precision in itertools.product(("none", "cable"),
                                                 ("int8", "fp32")):
            keys = self.keys(SPOTS, delay__mode=mode)
            self.save("antennas.csv", geometry.antenna_csv(SPOTS, late))
            data = uvdata.load(self, self.fx8(path, oracle.Setup(
                64, 0.002, method="fft", precision=precision), keys).path)
            self.assertEqual(data.phase_center_catalog[
                data.phase_center_id_array[0]]["cat_type"], "unprojected")
            want = [SPOTS[j] - SPOTS[i] for i, j in
                    zip(data.ant_1_array, data.ant_2_array)]
            np.testing.assert_allclose(data.uvw_array, want, atol=1e-3)

    def test_several_centres(self):
        path = self.noise()
        places = {"a": PLACE, "b": (251.5, -33.0), "north": (80.0, 5.0)}
        self.save("centres.csv", "name,ra_deg,dec_deg\n" + "".join(
            f"{name},{ra},{dec}\n" for name, (ra, dec) in places.items()))
        common = self.keys(SPOTS, delay__mode="track",
                           delay__iers_file=geometry.IERS)
        for precision in "int8", "fp32":
            setup = oracle.Setup(32, 0.004, precision=precision)
            config = self.ini(setup, {
                **common, "delay.phase_centers": "centres.csv"})
            self.well("correlate", config, path, "--force", "-o",
                      self.path("all.uvh5"))
            self.assertFalse(os.path.exists(self.path("all.uvh5")))
            for name, (ra, dec) in places.items():
                uvdata.load(self, self.path(f"all.{name}.uvh5"))
                alone = self.fx8(path, setup, {
                    **common, "delay.phase_center_ra_deg": ra,
                    "delay.phase_center_dec_deg": dec,
                    "delay.phase_center_name": name})
                got = program.read(self.path(f"all.{name}.uvh5"))
                self.assert_equal(got, alone)
                for item in "uvw_array", "lst_array", "phase_center_app_ra":
                    np.testing.assert_array_equal(got.header[item],
                                                  alone.header[item])


class Closure(Recorded):
    """arg(V01 V12 conj(V02))."""

    def closures(self, path, gains=None):
        keys = self.keys(SPOTS, **geometry.fx8_keys(PLACE))
        if gains is not None:
            keys["array.gains"] = gains
        values, powers = self.cells(self.fx8(path, oracle.Setup(32, 0.5),
                                             keys).path)
        triple = values[0] * values[2] * values[1].conj()
        return values, np.angle(triple), np.abs(values) / np.sqrt(powers)

    def test_zero_and_unchanged_by_phases_of_antennas(self):
        path = self.scene(SPOTS, 32_000, 32_000 * 12, noise=1, level=15)
        values, phases, coherence = self.closures(path)
        # noise of an antenna turns two baselines alike and cancels; products of
        # the noise of two antennas remain, of 500 spectra, of which 0.969 are
        # independent
        sigma = np.sqrt(3 / 2 / (500 * 0.969)) * (1 / coherence - 1).mean()
        print(f"# closure {phases.mean():+.2e}, scatter {phases.std():.2e}, "
              f"expected {sigma:.2e}")
        # neighbouring channels share up to a tenth of their noise
        n = phases.size / 1.2
        self.assertLess(abs(phases.mean()), 5 * sigma / np.sqrt(n))
        self.assertLess(abs(phases.std() / sigma - 1), 5 / np.sqrt(2 * n))
        gains = self.save("gains.csv", "number,pol,amplitude,phase_deg,"
                          "delay_ns\n0,X,1.3,77,0\n1,X,0.7,-140,0\n"
                          "2,X,1,20,0\n")
        turned, again, _ = self.closures(path, gains)
        self.assertGreater(np.abs(np.angle(turned / values)).min(), 0.5)
        np.testing.assert_allclose(again, phases, atol=1e-5)
