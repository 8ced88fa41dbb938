# SPDX-License-Identifier: BSD-3-Clause
"""Digital RF recordings made by the format's own writer, and their content
according to the format: samples and a mask for each input."""
import dataclasses
import math
import os
from fractions import Fraction

import digital_rf
import numpy as np

from program import runs


@dataclasses.dataclass
class Channel:
    """A channel to record: samples [subchannel][time] of integers, the first at
    index `start`. The ranges `lost` (first, count), counted from there, are not
    passed to the writer."""
    samples: np.ndarray
    start: int
    lost: list = ()
    bits: int = 8
    is_continuous: bool = True
    compression: int = 0
    checksum: bool = False
    rate: Fraction = Fraction(200_000)
    file_ms: int = 5
    folder_s: int = 1
    piece: int = 700                    # samples per write

    @property
    def is_complex(self):
        return np.iscomplexobj(self.samples)

    @property
    def is_filled(self):
        """Whether files are whole, with a fill value in the gaps."""
        return (self.is_continuous and not self.compression
                and not self.checksum)

    def first_index(self, file):
        """First sample of a file, by its number since the epoch."""
        return math.ceil(self.rate * file * self.file_ms / 1000)

    def file_of(self, index):
        """Number of the file that a sample is in."""
        return math.floor(index * 1000 / self.rate / self.file_ms)

    def kept(self):
        """Mask [time] of the samples passed to the writer."""
        mask = np.ones(self.samples.shape[1], bool)
        for first, count in self.lost:
            mask[first:first + count] = False
        return mask

    def extent(self):
        """Indices [first, end) of the files: full length if filled, else as
        written."""
        given = self.start + np.flatnonzero(self.kept())
        first, last = int(given[0]), int(given[-1])
        if self.is_filled:
            first = self.first_index(self.file_of(first))
            last = self.first_index(self.file_of(last) + 1) - 1
        return first, last + 1


def as_written(channel, first, end):
    """Samples [first, end) as the writer wants them: [time][numbers]."""
    part = channel.samples[:, first:end].T
    if channel.is_complex:
        part = np.stack([part.real, part.imag], axis=-1)
        part = part.reshape(end - first, -1)
    return np.ascontiguousarray(part.astype(f"i{channel.bits // 8}"))


def record(top, name, channel):
    """Write a channel below the folder `top`; returns its path."""
    path = os.path.join(top, name)
    os.makedirs(path)
    writer = digital_rf.DigitalRFWriter(
        path, np.dtype(f"i{channel.bits // 8}"), channel.folder_s,
        channel.file_ms, channel.start, channel.rate.numerator,
        channel.rate.denominator, uuid_str="test",
        compression_level=channel.compression, checksum=channel.checksum,
        is_complex=channel.is_complex,
        num_subchannels=channel.samples.shape[0],
        is_continuous=channel.is_continuous, marching_periods=False)
    for first, end in runs(channel.kept()):
        for at in range(first, end, channel.piece):
            writer.rf_write(as_written(channel, at,
                                       min(at + channel.piece, end)), at)
    writer.close()
    return path


@dataclasses.dataclass
class Expected:
    """The content of a recording: samples [input][time] as recorded, zero where
    `valid` (of the same shape) is false; sample 0 has index `origin`."""
    samples: np.ndarray
    valid: np.ndarray
    origin: int
    rate: Fraction
    bits: list                          # [input]

    @property
    def start(self):
        """Unix time of sample 0."""
        return self.origin / self.rate

    def missing(self, n_polarizations):
        """Rows (antenna, pol, first, count) of invalid samples."""
        rows = []
        for number, valid in enumerate(self.valid):
            rows += [(number // n_polarizations, number % n_polarizations,
                      first, end - first) for first, end in runs(~valid)]
        return rows


def expected(channels):
    """The content of channels in the order of their names, sub-channels
    fastest."""
    extents = [channel.extent() for channel in channels]
    origin = min(first for first, _ in extents)
    length = max(end for _, end in extents) - origin
    samples, valid, bits = [], [], []
    for channel in channels:
        at = channel.start - origin
        kept = channel.kept()
        n = min(len(kept), length - at)
        for row in channel.samples:
            mask = np.zeros(length, bool)
            mask[at:at + n] = kept[:n]
            whole = np.zeros(length, row.dtype)
            whole[at:at + n] = row[:n]
            samples.append(np.where(mask, whole, 0))
            valid.append(mask)
            bits.append(channel.bits)
    return Expected(np.array(samples), np.array(valid), origin,
                    channels[0].rate, bits)


def parts(values):
    """Real and imaginary parts interleaved, or the real numbers themselves."""
    if np.iscomplexobj(values):
        return np.stack([values.real, values.imag], axis=-1).ravel()
    return np.asarray(values).ravel()


def gain_of(samples, valid):
    """The gain of 16-bit samples of an input: the largest power of two, at
    most 1, with which median(|x|) / 0.6745 of the first 65,536 valid samples
    is at most 32."""
    level = np.median(np.abs(parts(samples[valid][:65536]))) / 0.6745
    gain = 1.0
    while level * gain > 32:
        gain /= 2
    return gain


def scaled(samples, gain):
    """Samples times the gain, rounded half to even and clamped, and the number
    of clamped values."""
    if np.iscomplexobj(samples):
        real, n_real = scaled(samples.real, gain)
        imag, n_imag = scaled(samples.imag, gain)
        return real + 1j * imag, n_real + n_imag
    whole = np.rint(samples * gain)
    return np.clip(whole, -127, 127), int(np.sum(np.abs(whole) > 127))
