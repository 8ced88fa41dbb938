# SPDX-License-Identifier: BSD-3-Clause
"""An FX correlator in double precision, written only from the text of the
design ("Meaning"). It shares no code with fx8.

Axes, slowest first:

    samples        [input][time], input = antenna * polarisations + pol
    spectra        [input][spectrum][channel]
    visibilities   [dump][baseline][channel][product]

Baselines are (0,0), (0,1) .. (0,n-1), (1,1) ..; products XX, YY, XY, YX, the
first letter being the feed of the baseline's first antenna.
"""
import dataclasses
import datetime
import json
import math
from fractions import Fraction

import h5py
import numpy as np

LEVEL_SPECTRA = 256
GROUP = 32              # spectra, from the start of a dump, that share a shift
# of one degree of freedom: statistics.NormalDist().inv_cdf(0.75)**2
CHI_SQUARED_MEDIAN = 0.45493642311957283
PRODUCTS = {1: [(0, 0)], 2: [(0, 0), (1, 1), (0, 1), (1, 0)]}


@dataclasses.dataclass
class Setup:
    """The configuration of a run; defaults as in the key table."""
    channels: int
    integration_time_s: object          # seconds, or "all"
    last_dump_min: float = 0.5
    align: str = "none"
    method: str = "pfb"
    taps: int = 8
    window: str = "auto"
    start_s: float = 0.0
    duration_s: float = None
    antennas: list = None               # positions in the recording
    polarizations: int = None
    polarization_order: str = "xy"
    sideband: str = None
    conjugate: bool = False
    missing_value: int = None
    missing_run: int = 64
    flag_edges: int = None
    flag_dc: bool = False
    flag_antennas: tuple = ()           # antenna numbers
    flag_channels: tuple = ()           # ranges (first, last) of Hz
    min_weight: float = 0.0
    clip_level: int = None
    clip_margin: int = 0
    precision: str = "fp32"
    target_rms: float = 20.0
    level: str = "channel"
    dither: bool = False
    quantization_bias: bool = True
    channel_average: int = 1
    ripple: tuple = ()                  # (offset from the centre, Hz, power)


def ripple_text(rows):
    """The table of (offset, power)."""
    return "offset_hz,power\n" + "".join(
        f"{float(offset)!r},{float(power)!r}\n" for offset, power in rows)


@dataclasses.dataclass
class Recording:
    """A recording in memory: samples [antenna][pol][time] of integers."""
    samples: np.ndarray
    rate: Fraction
    dc_hz: float
    lower: bool
    start: Fraction                     # Unix seconds of sample 0
    numbers: list
    missing: list = dataclasses.field(default_factory=list)
    # missing: (antenna, pol, first_sample, count), -1 for all

    @property
    def is_complex(self):
        return np.iscomplexobj(self.samples)


@dataclasses.dataclass
class Result:
    """Visibilities with everything that describes them."""
    visibilities: np.ndarray            # complex128
    flags: np.ndarray                   # bool, same shape
    nsamples: np.ndarray                # float64, same shape
    scale: np.ndarray                   # sqrt(P_i P_j), same shape
    slack: np.ndarray                   # effect of near ties, same shape
    julian_dates: list
    integration_s: list                 # of each dump
    frequencies_hz: np.ndarray
    width_hz: float
    gains: np.ndarray                   # [input][channel] or None
    spectra_per_dump: int


def read_native(path):
    """A recording in fx8's own format."""
    with h5py.File(path, "r") as file:
        dataset = file["voltages"]
        labels = [dim.label for dim in dataset.dims]
        raw = dataset[...]
        if raw.dtype.names:
            raw = raw["r"].astype(float) + 1j * raw["i"].astype(float)
        else:
            raw = raw.astype(float)
        if any(labels):
            raw = raw.transpose([labels.index(axis)
                                 for axis in ("antenna", "pol", "time")])
        head = file.attrs
        table = file["antennas"]["number"] if "antennas" in file else range(
            raw.shape[0])
        missing = [tuple(int(row[name]) for name in
                         ("antenna", "pol", "first_sample", "count"))
                   for row in file["missing"]] if "missing" in file else []
        sideband = head["sideband"]
        if isinstance(sideband, bytes):
            sideband = sideband.decode()
        return Recording(
            samples=raw,
            rate=Fraction(int(head["sample_rate_numerator_hz"]),
                          int(head["sample_rate_denominator"])),
            dc_hz=float(head["dc_frequency_hz"]),
            lower=sideband == "lower",
            start=Fraction(int(head["start_time_unix_s"]))
            + Fraction(int(head["start_time_ns"]), 10**9),
            numbers=[int(number) for number in table], missing=missing)


def read_tart(path):
    """A TART raw file: one bit per sample, most significant first, 1 is +1."""
    with h5py.File(path, "r") as file:
        bits = np.unpackbits(file["data"][...], axis=1)
        config = json.loads(file["config"][0])
        stamp = file["timestamp"][0].decode()
    start = datetime.datetime.fromisoformat(stamp)
    return Recording(
        samples=(2.0 * bits - 1.0)[:, None, :],
        rate=Fraction(config["sampling_frequency"]),
        dc_hz=config["frequency"] - config["baseband_frequency"], lower=False,
        start=Fraction(int(start.timestamp())), numbers=list(range(bits.shape[0])))


def prototype(setup, length):
    """The prototype filter w_n of the bank, length P N, sum of squares 1."""
    taps = setup.taps if setup.method == "pfb" else 1
    total = taps * length
    if total == 1:
        return np.ones(1)
    window = setup.window
    if window == "auto":
        window = "hamming" if setup.method == "pfb" else "rectangular"
    n = np.arange(total)
    turn = np.cos(2 * np.pi * n / (total - 1))
    shape = {"rectangular": np.ones(total), "hamming": 0.54 - 0.46 * turn,
             "hann": 0.5 - 0.5 * turn}[window]
    if setup.method == "pfb":
        shape = shape * np.sinc((n + 0.5) / length - taps / 2)
    return shape / np.sqrt(np.sum(shape**2))


def spectra_of(samples, weights, length, bins, begins=None):
    """X_k(t) = sum over n of w_n x(t N + n) exp(-2 pi i k n / N) for k in
    bins, [...][t][k]: the sum over n is folded modulo N before the transform.
    Windows begin at begins [...][t] if given, else at t N.
    One input at a time: arrays of all take more time than sums."""
    def of_input(row, begin):
        windows = np.lib.stride_tricks.sliding_window_view(
            row, len(weights))[begin]
        folded = np.einsum("tpn,pn->tn", windows.reshape(
            len(windows), -1, length), weights.reshape(-1, length))
        return np.fft.fft(folded, axis=1)[:, np.asarray(bins) % length]
    if begins is None:
        begins = np.arange(0, samples.shape[-1] - len(weights) + 1, length)
        begins = np.broadcast_to(begins, (*samples.shape[:-1], len(begins)))
    spectra = np.empty((*begins.shape, len(bins)), complex)
    for at in np.ndindex(samples.shape[:-1]):
        spectra[at] = of_input(samples[at], begins[at])
    return spectra


def has_any(marks, total, begins):
    """Whether a window of `total` samples has a mark, [input][t]."""
    counts = np.cumsum(np.pad(marks, ((0, 0), (1, 0))), axis=1)
    return (np.take_along_axis(counts, begins + total, axis=1)
            > np.take_along_axis(counts, begins, axis=1))


def dump_lengths(n_spectra, per_dump, last_dump_min):
    """Spectra of each dump, the last of which may be incomplete."""
    n_whole, rest = divmod(n_spectra, per_dump)
    is_written = rest and last_dump_min < 1 and rest >= last_dump_min * per_dump
    return n_whole * [per_dump] + ([rest] if is_written else [])


def aligned_dumps(centre, step, n_spectra, length, last_dump_min):
    """Dumps that begin at multiples of `length` since 0 h UTC: the spectra
    before the first, spectra of each, and numbers [t] of the dumps of the
    spectra that follow.  Windows have their centres `step` apart, the first at
    `centre`, Unix seconds; all are Fractions."""
    more = int(length / step) + 2       # of the dumps at the ends
    parts = centre % 86400, step, length
    unit = math.lcm(*(part.denominator for part in parts))
    centre, step, length = (int(part * unit) for part in parts)
    numbers = np.array([(centre + t * step) // length
                        for t in range(-more, n_spectra + more)])
    held = numbers[more:more + n_spectra]
    written = []
    for number in range(held[0], held[-1] + 1):
        n, whole = np.sum(held == number), np.sum(numbers == number)
        if n == whole or last_dump_min < 1 and n >= last_dump_min * whole:
            written.append(number)
    skipped = int(np.sum(held < written[0]))
    return (skipped, [int(np.sum(held == number)) for number in written],
            held[skipped:])


def whole_samples(delay, begins, numbers, length, total, rate):
    """Samples [input][t] by which delays move the windows: those of the 17th
    spectrum of each group, at the centre of its window.  Groups begin with
    dumps, whose numbers [t] are given."""
    t = np.arange(len(begins))
    in_dump = t - np.searchsorted(numbers, numbers)
    middle = begins[0] + (t - in_dump % GROUP + GROUP // 2) * length
    return np.rint(delay(middle + total / 2) * rate).astype(int)


def select(recording, setup):
    """Samples [input][time] of the selected inputs, and their positions."""
    antennas = (setup.antennas if setup.antennas is not None
                else range(recording.samples.shape[0]))
    slots = list(range(recording.samples.shape[1]))
    if setup.polarization_order == "yx":
        slots.reverse()
    if setup.polarizations is not None:
        slots = slots[:setup.polarizations]
    inputs = [(antenna, slot) for antenna in antennas for slot in slots]
    return (np.stack([recording.samples[a, s] for a, s in inputs]), inputs,
            list(antennas), len(slots))


def missing_mask(recording, setup, inputs, samples):
    """True where a sample is missing, [input][time] of the whole recording."""
    mask = np.zeros(samples.shape, bool)
    for antenna, pol, first, count in recording.missing:
        for index, (a, s) in enumerate(inputs):
            if antenna in (-1, a) and pol in (-1, s):
                mask[index, first:first + count] = True
    if setup.missing_value is not None:
        marker = setup.missing_value
        same = samples == (marker + 1j * marker if recording.is_complex
                           else marker)
        for row, out in zip(same, mask):
            edges = np.flatnonzero(np.diff(np.r_[0, row.astype(np.int8), 0]))
            for begin, end in zip(edges[::2], edges[1::2]):
                if end - begin >= setup.missing_run:
                    out[begin:end] = True
    if setup.clip_level is not None:
        beyond = np.maximum(np.abs(samples.real),
                            np.abs(samples.imag)) > setup.clip_level
        for index, t in np.argwhere(beyond):
            mask[index, max(t - setup.clip_margin, 0):
                 t + setup.clip_margin + 1] = True
    return mask


def rounded(value):
    """The integer nearest to an exact fraction."""
    return math.floor(value + Fraction(1, 2))


def set_gains(spectra, whole, usable, setup, is_complex):
    """Quantiser gains [input][channel], and where the level counts as zero: at
    most the rounding of single precision, 16 times 2^-24 of the norm of a
    spectrum. `whole` [input][spectrum] is the square of that norm, over all
    bins.

    sigma of a real component: |X|^2 of complex noise is exponential; X^2 of
    real noise, in the first channel of real samples, chi-squared."""
    gains = np.ones((spectra.shape[0], spectra.shape[2]))
    zero = np.zeros(gains.shape, bool)
    for index, (rows, good) in enumerate(zip(spectra, usable)):
        first = np.flatnonzero(good)[:LEVEL_SPECTRA]
        power = np.abs(rows[first])**2
        if power.shape[0] == 0:
            continue
        units = np.full(power.shape[1], 2 * math.log(2))
        if not is_complex:
            units[0] = CHI_SQUARED_MEDIAN
        if setup.level == "input":
            skip = int(not is_complex and power.shape[1] > 1)
            power = power[:, skip:].reshape(-1, 1)
            units = units[skip]
        median = np.broadcast_to(np.median(power, axis=0), gains[index].shape)
        zero[index] = median <= (16 * 2.0**-24)**2 * np.median(
            whole[index][first])
        sigma = np.sqrt(median / units)
        gains[index] = np.where(
            zero[index], 1.0,
            setup.target_rms / np.where(zero[index], 1.0, sigma))
    return gains.astype(np.float32).astype(float), zero


def philox(counter, key, rounds=7):
    """Philox4x32 (Salmon et al. 2011) of a list of four counters and one of two
    keys, which broadcast."""
    low = np.uint64(0xFFFFFFFF)
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.asarray(word, np.uint64) for word in key]
    for _ in range(rounds):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [b >> np.uint64(32) ^ c[1] ^ k[0], b & low,
             a >> np.uint64(32) ^ c[3] ^ k[1], a & low]
        k = [k[0] + np.uint64(0x9E3779B9) & low,
             k[1] + np.uint64(0xBB67AE85) & low]
    return np.stack(np.broadcast_arrays(*c))


def dither_of(n_inputs, n_channels, lengths, first_samples, dc_hz):
    """Noise [input][spectrum][channel], by CONVENTIONS.md."""
    spectra = np.concatenate([np.arange(n) for n in lengths])[:, None]
    sample = np.repeat(first_samples, lengths)[:, None]
    words = philox([spectra // 16 * 4 + spectra // 2 % 4, sample % 2**32,
                    sample // 2**32, np.arange(n_channels)],
                   [np.arange(n_inputs)[:, None, None],
                    (0x66783864 + int(np.rint(dc_hz))) % 2**32])
    which = spectra // 8 % 2 * 2 + spectra % 2
    word = np.choose(which, words)
    halves = word.astype(np.uint32).view(np.int16).reshape(*word.shape, 2)
    return ((halves[..., 0] + 0.5) + 1j * (halves[..., 1] + 0.5)) / 2**16


def quantise(spectra, gains, roundings=16, noise=0):
    """Integers, and how many of the two components lie so near a tie (or the
    clamp) that single precision may round to the other side.

    Single precision channelises with an error of a few 2^-24 of the largest
    spectral value of the same window; 16 times that is safe and near ties are
    still rare (about one component in 10,000 at 20 LSB).  Two rotations, each by
    a sine and a cosine within 2^-22, need 64.
    """
    scaled = spectra * gains[:, None, :] + noise
    limit = roundings * 2.0**-24 * np.abs(scaled).max(axis=2, keepdims=True)
    parts = []
    near = np.zeros(scaled.shape)
    for part in (scaled.real, scaled.imag):
        parts.append(np.clip(np.rint(part), -127, 127))
        off = np.abs(np.abs(part - np.floor(part)) - 0.5)
        near += (off <= limit) & (np.abs(part) < 127.5 + limit)
    return parts[0] + 1j * parts[1], near


def correlate(recording, setup, gains=None, delay=None, factors=None):
    """Correlate a recording with a setup; returns a Result.  The quantiser uses
    `gains` (as stored by fx8) if given, else its own.  delay(samples), seconds
    [input][sample] at instants by sample index, is removed; so are complex
    factors [input]."""
    samples, inputs, antennas, n_pols = select(recording, setup)
    mask = missing_mask(recording, setup, inputs, samples)
    is_int8 = setup.precision == "int8"
    is_complex = recording.is_complex
    is_turned = delay is not None or factors is not None
    factors = np.ones(len(inputs)) if factors is None else factors
    lower = (recording.lower if setup.sideband is None
             else setup.sideband == "lower") != setup.conjugate
    if lower and is_complex:
        samples = samples.conj()
    elif lower:
        samples = samples * (-1.0)**np.arange(samples.shape[1])

    # --- stretch and windows
    rate = float(recording.rate)
    first = rounded(Fraction(setup.start_s) * recording.rate)
    stop = samples.shape[1]
    if setup.duration_s is not None:
        stop = min(stop, first + rounded(Fraction(setup.duration_s)
                                         * recording.rate))
    channels = setup.channels
    length = channels if is_complex else 2 * channels
    bins = (np.arange(channels) - channels // 2 if is_complex
            else np.arange(channels))
    weights = prototype(setup, length)
    total = len(weights)
    begins = np.arange(first, stop - total + 1, length)
    n_spectra = len(begins)
    if setup.align == "utc":
        centre = recording.start + (first + Fraction(total, 2)) / recording.rate
        skipped, lengths, numbers = aligned_dumps(
            centre, length / recording.rate, n_spectra,
            Fraction(str(setup.integration_time_s)), setup.last_dump_min)
        begins, first = begins[skipped:], first + skipped * length
        n_spectra -= skipped
    else:
        per_dump = (n_spectra if setup.integration_time_s == "all" else
                    rounded(Fraction(setup.integration_time_s) * recording.rate
                            / length))
        lengths = dump_lengths(n_spectra, per_dump, setup.last_dump_min)
        numbers = np.arange(n_spectra) // lengths[0]
    ripple = 1
    if setup.ripple:
        centre_hz = 0 if is_complex else rate / 4
        ripple = np.interp(bins * rate / length - centre_hz,
                           *np.transpose(setup.ripple))
    n_dumps = len(lengths)
    ends = np.cumsum(lengths)
    shifts, before = np.zeros((len(inputs), n_spectra), int), 0
    if delay is not None:
        shifts = whole_samples(delay, begins, numbers, length, total, rate)
        # beyond the recording, samples are missing
        before = max(-shifts.min(), 0)
        around = ((0, 0), (before, max(shifts.max(), 0)))
        samples = np.pad(samples, around)
        mask = np.pad(mask, around, constant_values=True)
    windows = begins + shifts + before
    spectra = spectra_of(samples, weights, length, np.arange(length), windows)
    whole = np.sum(np.abs(spectra)**2, axis=2)
    spectra = spectra[..., bins % length]
    valid = ~has_any(mask, total, windows)
    busy = has_any(samples != 0, total, windows)
    flip = lower and not is_complex
    lowest_hz = recording.dc_hz - (rate / 2 if flip else 0)
    if delay is not None:
        late = delay(begins + total / 2)
        turns = (lowest_hz * late)[..., None] + np.multiply.outer(
            late - shifts / rate, bins * rate / length)
        spectra = spectra * np.exp(2j * np.pi * turns)
    spectra = spectra * (np.abs(factors) / factors)[:, None, None]

    # --- quantise
    near = np.zeros(spectra.shape)
    zero = np.zeros((spectra.shape[0], channels), bool)
    through_quantiser = is_int8 and setup.method != "none"
    own_gains = None
    if through_quantiser:
        own_gains, zero = set_gains(spectra, whole, valid & busy, setup,
                                     is_complex)
        used = own_gains if gains is None else gains
        noise = np.zeros(spectra.shape, complex)
        if setup.dither:
            noise[:, :sum(lengths)] = dither_of(
                len(noise), channels, lengths, begins[ends - lengths],
                recording.dc_hz)
        spectra, near = quantise(spectra, used, 64 if is_turned else 16, noise)
    spectra = spectra * valid[:, :, None]
    near = near * valid[:, :, None]

    # --- correlate, dump by dump
    # real numbers in a value of a spectrum, which a rotation makes complex
    components = np.full(channels, 2)
    if not is_complex and not is_turned:
        components[0] = 1
    products = PRODUCTS[n_pols]
    pairs = [[(a * n_pols + p, b * n_pols + q) for p, q in products]
             for a in range(len(antennas)) for b in range(a, len(antennas))]
    first_of, second_of = np.moveaxis(np.array(pairs), 2, 0)
    dead = np.zeros((n_dumps, spectra.shape[0]), bool)
    counts, sums, powers, doubts = [], [], [], []
    for dump in range(n_dumps):
        rows = slice(ends[dump] - lengths[dump], ends[dump])
        good = valid[:, rows].astype(float)
        part, doubt = (np.ascontiguousarray(x[:, rows].transpose(2, 0, 1))
                       for x in (spectra, near))    # [channel][input][spectrum]
        dead[dump] = ~busy[:, rows].any(axis=1)
        # [channel][i][j] of all inputs
        counts.append([good @ good.T])
        sums.append(part.conj() @ part.swapaxes(1, 2))
        powers.append(np.abs(part)**2 @ good.T)     # of i where j is valid
        doubts.append(doubt @ (np.abs(part) + doubt).swapaxes(1, 2))

    def of_pairs(matrices, i=first_of, j=second_of):
        """[dump][row][channel][product] of [dump][channel][i][j]."""
        return np.moveaxis(np.array(matrices)[..., i, j], 1, 2)
    n = np.maximum(of_pairs(counts), 1)
    values = of_pairs(sums) / n
    power = of_pairs(powers) / n
    scale = np.sqrt(power * of_pairs(powers, second_of, first_of) / n)
    slack = np.sqrt(2) * (of_pairs(doubts)
                          + of_pairs(doubts, second_of, first_of)) / n
    counts = np.broadcast_to(of_pairs(counts), values.shape)
    is_auto = (first_of == second_of)[:, None]
    unit = np.abs(factors[first_of] * factors[second_of])[:, None] * np.reshape(
        ripple, (-1, 1))
    if through_quantiser:
        unit = unit * np.moveaxis(used[first_of] * used[second_of], 1, 2)
        if setup.quantization_bias:
            bias = (components / (6 if setup.dither else 12))[:, None]
            level = np.sqrt(np.maximum(power - bias, 0) / components[:, None])
            values = values - np.where(is_auto & (level >= 1), bias, 0)
    values = np.where(is_auto, values.real, values) / unit
    scale, slack = scale / unit, slack / unit

    # --- flags
    edges = setup.flag_edges
    if edges is None:
        edges = 0 if setup.method == "none" else 2 if is_complex else 1
    flags = counts == 0
    if edges:
        flags[:, :, :edges] = True
        flags[:, :, -edges:] = True
    frequencies = lowest_hz + bins * rate / length
    if setup.flag_dc:
        flags[:, :, frequencies == recording.dc_hz] = True
    half_hz = rate / length / 2
    for begin_hz, end_hz in setup.flag_channels:
        flags[:, :, (frequencies + half_hz >= begin_hz)
              & (frequencies - half_hz <= end_hz)] = True
    for row, pair in enumerate(pairs):
        for product, (i, j) in enumerate(pair):
            numbers = {recording.numbers[inputs[i][0]],
                       recording.numbers[inputs[j][0]]}
            if numbers & set(setup.flag_antennas):
                flags[:, row, :, product] = True
            flags[:, row, zero[i] | zero[j], product] = True
            flags[dead[:, i] | dead[:, j], row, :, product] = True

    # --- channel average
    nsamples = counts / np.array(lengths)[:, None, None, None]
    average = setup.channel_average
    if average > 1:
        grouped = [x.reshape(n_dumps, len(pairs), -1, average, len(products))
                   for x in (values, nsamples, flags, scale, slack)]
        value, weight, flag, spread, steps = grouped
        use = weight * np.where(flag.all(axis=3, keepdims=True), 1, ~flag)
        norm = use.sum(axis=3)
        norm[norm == 0] = 1
        values = (value * use).sum(axis=3) / norm
        scale = (spread * use).sum(axis=3) / norm
        slack = (steps * use).sum(axis=3) / norm
        # nsamples: the sum over the unflagged channels, divided by n
        nsamples = (weight * (use > 0)).mean(axis=3)
        flags = flag.all(axis=3)
        frequencies = frequencies.reshape(-1, average).mean(axis=1)

    flags |= nsamples.astype(np.float32) < np.float32(setup.min_weight)

    # --- axes
    half = Fraction(1, 2)
    dates = []
    for begin, m in zip(ends - lengths, lengths):
        centre = recording.start + (
            first + (int(begin) + (m - 1) * half) * length
            + total * half) / recording.rate
        dates.append(float(centre / 86400 + Fraction(4881175, 2)))
    return Result(
        visibilities=values, flags=flags, nsamples=nsamples, scale=scale,
        slack=slack, julian_dates=dates,
        integration_s=[float(m * length / recording.rate) for m in lengths],
        frequencies_hz=frequencies,
        width_hz=rate / length * average, gains=own_gains,
        spectra_per_dump=max(lengths))
