# SPDX-License-Identifier: BSD-3-Clause
"""A sky over an array, and the visibilities that a correlator must measure:
formulas in double precision, written from data/README.md and
CONVENTIONS.md alone.

Axes, slowest first; input = antenna * polarisations + pol, and a product of
inputs i <= j is V[i, j] = <conj(E_i) E_j>:

    means     [channel][input][input]
"""
import dataclasses

import numpy as np

import oracle
import program

LIGHT_M_S = 299_792_458.0


@dataclasses.dataclass
class Source:
    """Stokes parameters in units of the receiver noise."""
    az_deg: float
    el_deg: float
    stokes: tuple
    tone_hz: float = None

    @property
    def direction(self):
        """Unit vector towards the source, ENU."""
        az, el = np.radians([self.az_deg, self.el_deg])
        return np.array([np.sin(az) * np.cos(el), np.cos(az) * np.cos(el),
                         np.sin(el)])

    @property
    def coherency(self):
        """<conj(p) q> of the feeds X, Y."""
        i, q, u, v = self.stokes
        return np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])


@dataclasses.dataclass
class Sky:
    """A simulation and how it is correlated; `gains` of the inputs are drawn
    by the simulator and set by find_gains()."""
    positions: np.ndarray               # [antenna][ENU], m
    cables_s: np.ndarray                # [antenna][pol]
    sources: list
    is_complex: bool = True
    is_lower: bool = False
    method: str = "pfb"
    channels: int = 32
    flag_edges: object = "auto"
    per_dump: int = 1300                # spectra
    n_dumps: int = 3
    rate_hz: int = 1_024_000
    dc_hz: float = 150e6
    noise_rms: float = 9.0
    gain_spread: float = 0.2
    dropout_fraction: float = 0.0
    seed: int = 1
    gains: np.ndarray = None            # [input]

    # --- axes ---------------------------------------------------------

    @property
    def n_pols(self):
        return self.cables_s.shape[1]

    @property
    def n_inputs(self):
        return self.cables_s.size

    @property
    def n_parts(self):
        """Real numbers in a sample."""
        return 2 if self.is_complex else 1

    @property
    def length(self):
        """Samples from one spectrum to the next."""
        return self.channels if self.is_complex else 2 * self.channels

    @property
    def weights(self):
        """The filter, sum of squares 1."""
        return oracle.prototype(
            oracle.Setup(self.channels, 1.0, method=self.method), self.length)

    @property
    def n_samples(self):
        """Just enough for the dumps, without another spectrum."""
        return ((self.n_dumps * self.per_dump - 1) * self.length
                + len(self.weights))

    @property
    def lowest_hz(self):
        """Sky frequency of baseband zero in the channelised samples, after a
        real lower sideband has been inverted."""
        flip = self.is_lower and not self.is_complex
        return self.dc_hz - (self.rate_hz / 2 if flip else 0.0)

    @property
    def bins(self):
        """Bin k of each channel."""
        start = self.channels // 2 if self.is_complex else 0
        return np.arange(self.channels) - start

    @property
    def frequencies_hz(self):
        return self.lowest_hz + self.bins * self.rate_hz / self.length

    # --- what is simulated --------------------------------------------

    def write(self, folder):
        """Write the configuration and its tables to a folder; returns the path
        of the INI file."""
        antennas = [("number", "east_m", "north_m", "up_m",
                     "cable_delay_x_ns", "cable_delay_y_ns")]
        for number, (place, cables) in enumerate(
                zip(self.positions, 1e9 * self.cables_s)):
            antennas.append((number, *place, cables[0], cables[-1]))
        sources = [("az_deg", "el_deg", "I", "Q", "U", "V", "tone_hz")]
        for source in self.sources:
            tone = "" if source.tone_hz is None else source.tone_hz
            sources.append((source.az_deg, source.el_deg, *source.stokes,
                            tone))
        for name, rows in (("antennas", antennas), ("sources", sources)):
            with open(f"{folder}/{name}.csv", "w", encoding="ascii") as file:
                # str() of a double gives the same double back
                file.writelines(",".join(map(str, row)) + "\n"
                                for row in rows)
        return self.write_ini(folder)

    def write_ini(self, folder):
        spectrum_s = self.length / self.rate_hz
        path = f"{folder}/sky.ini"
        with open(path, "w", encoding="ascii") as file:
            file.write(program.ini_text({
                "observation.sample_rate_hz": self.rate_hz,
                "observation.dc_frequency_hz": self.dc_hz,
                "observation.start_time_utc": "2021-03-20T12:00:00Z",
                "observation.telescope": "test",
                "input.sideband": "lower" if self.is_lower else "upper",
                "array.antennas": len(self.positions),
                "array.polarizations": self.n_pols,
                "array.positions": "antennas.csv", **program.SITE_KEYS,
                "channelizer.method": self.method,
                "channelizer.channels": self.channels,
                "channelizer.flag_edges": self.flag_edges,
                "correlator.backend": "cpu",
                "correlator.integration_time_s": self.per_dump * spectrum_s,
                "simulate.sources": "sources.csv",
                "simulate.noise_rms": self.noise_rms,
                "simulate.samples": "complex" if self.is_complex else "real",
                "simulate.gain_spread": self.gain_spread,
                "simulate.dropout_fraction": self.dropout_fraction,
                "simulate.duration_s": self.n_samples / self.rate_hz,
                "simulate.seed": self.seed}))
        return path

    # --- what is expected ---------------------------------------------

    @property
    def unit(self):
        """Power of a source of I = 1 in an input of gain 1."""
        return self.noise_rms**2 * self.n_parts

    @property
    def broad(self):
        return [source for source in self.sources if source.tone_hz is None]

    @property
    def tones(self):
        return [source for source in self.sources
                if source.tone_hz is not None]

    def phasors(self, source, frequency_hz):
        """exp(2 pi i f a_i): [input][frequency]; a_i is the time by which input
        i receives the source early."""
        advance = self.positions @ source.direction / LIGHT_M_S
        advance = (advance[:, None] - self.cables_s).ravel()
        cycles = np.multiply.outer(advance, np.atleast_1d(frequency_hz))
        return np.exp(2j * np.pi * cycles)

    def feeds(self, source):
        """The coherency as [input][input]."""
        return np.tile(source.coherency[:self.n_pols, :self.n_pols],
                       (len(self.positions),) * 2)

    def scale(self):
        """g_i g_j times the unit: [input][input]."""
        return np.multiply.outer(self.gains, self.gains) * self.unit

    def response(self, baseband):
        """Power response of the channels to a frequency in cycles a sample."""
        n = np.arange(len(self.weights))
        offset = self.bins / self.length - baseband
        return np.abs(np.exp(2j * np.pi * np.multiply.outer(offset, n))
                      @ self.weights)**2

    def tone_baseband(self, source):
        """Frequency of a tone, cycles a sample."""
        return (source.tone_hz - self.lowest_hz) / self.rate_hz

    def tone_means(self, with_image=False):
        """Tones alone. A real tone has half its power at the negative
        frequency; its leakage is included only `with_image`."""
        means = np.zeros((self.channels,) + 2 * (self.n_inputs,), complex)
        for source in self.tones:
            e = self.phasors(source, source.tone_hz)[:, 0]
            power = self.feeds(source) * np.multiply.outer(e.conj(), e)
            power = power * self.scale() * (1.0 if self.is_complex else 0.5)
            at = self.tone_baseband(source)
            means += np.multiply.outer(self.response(at), power)
            if with_image and not self.is_complex:
                means += np.multiply.outer(self.response(-at), power.conj())
        return means

    def receiver(self):
        """Noise of receivers and of rounding to integers: [input][input]."""
        return np.diag((self.gains * self.noise_rms)**2
                       + 1 / 12) * self.n_parts

    def true_means(self):
        """The file of true visibilities: every source at the centre of the
        channel, no loss in the filter."""
        means = np.zeros((self.channels,) + 2 * (self.n_inputs,), complex)
        for source in self.broad:
            e = self.phasors(source, self.frequencies_hz)
            means += (np.einsum("ic,jc->cij", e.conj(), e)
                      * self.feeds(source) * self.scale())
        return means + self.receiver() + self.tone_means()

    def filtered_means(self):
        """The expected correlation: the sum over the band of power response
        times spectrum, including the band edges and the negative frequencies of
        real samples.  A delay of d samples between two inputs decorrelates by
        the sum over n of w_n w_(n + d)."""
        n_grid = 32 * len(self.weights)
        n = np.arange(len(self.weights))
        # offset by half a step, so that no point lies on the band edge
        power = np.abs(np.fft.fft(
            self.weights * np.exp(-1j * np.pi * n / n_grid), n_grid))**2
        step = n_grid // self.length
        responses = np.array([np.roll(power, k * step) for k in self.bins])
        baseband = (np.arange(n_grid) + 0.5) / n_grid
        baseband[baseband > 0.5] -= 1.0
        mirrored = (baseband < 0) & (not self.is_complex)
        sky_hz = self.lowest_hz + self.rate_hz * np.where(
            mirrored, -baseband, baseband)
        means = np.zeros((self.channels,) + 2 * (self.n_inputs,), complex)
        for source in self.broad:
            e = self.phasors(source, sky_hz)
            for i, feeds in enumerate(self.feeds(source)):
                row = feeds[:, None] * e[i].conj() * e
                row[:, mirrored] = row[:, mirrored].conj()
                means[:, i] += responses @ row.T / n_grid
        return (means * self.scale() + self.receiver()
                + self.tone_means(with_image=True))

    def find_gains(self, autos, channel):
        """Set the gains from the true powers of the inputs in one channel: the
        squared gain times sky and noise, plus rounding noise."""
        sky = sum(self.feeds(source).diagonal().real for source in self.broad)
        self.gains = np.ones(self.n_inputs)
        tone = self.tone_means()[channel].diagonal().real
        self.gains = np.sqrt((autos - self.n_parts / 12)
                             / (self.unit * (1 + sky) + tone))


def valid_spectra(path, sky):
    """Whether a spectrum has no missing sample: [dump][input][spectrum]."""
    mask = np.zeros((sky.n_inputs, sky.n_samples), bool)
    recording = oracle.read_native(path)
    for antenna, pol, first, count in recording.missing:
        mask[antenna * sky.n_pols + pol, first:first + count] = True
    before = np.cumsum(np.pad(mask, ((0, 0), (1, 0))), axis=1)
    starts = np.arange(sky.n_dumps * sky.per_dump) * sky.length
    lost = before[:, starts + len(sky.weights)] - before[:, starts]
    return (lost == 0).reshape(sky.n_inputs, sky.n_dumps, -1).swapaxes(0, 1)
