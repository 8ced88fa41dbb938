# SPDX-License-Identifier: BSD-3-Clause
"""Writes GUPPI RAW with the headers of the package baseband."""
from fractions import Fraction

from baseband import guppi

import frames

RATE = Fraction(146_484_375, 1000)    # exact in binary
CHANNELS = 4
START = Fraction(1_600_000_000) + Fraction(1, 8)
BLOCK = 512


def header(n_samples=BLOCK, n_antennas=1, n_channels=CHANNELS, n_pols=2,
           upper=True, start=START, **more):
    """A header of a block, without its PKTIDX."""
    mjd = 40587 + int(start) // 86400
    width = float(RATE) * n_channels / 1e6
    return guppi.GUPPIHeader.fromvalues(
        TELESCOP="GBT", BACKEND="GUPPI", SRC_NAME="3C48", NBITS=8,
        NANTS=n_antennas, OBSNCHAN=n_channels * n_antennas,
        NPOL=4 if n_pols == 2 else 1, OBSFREQ=150.0,
        OBSBW=width if upper else -width, TBIN=float(1 / RATE),
        STT_IMJD=mjd, STT_SMJD=int(start) % 86400,
        STT_OFFS=float(start % 1), PKTSIZE=n_pols * 2 * n_channels * 16,
        BLOCSIZE=n_samples * n_channels * n_antennas * n_pols * 2,
        **more)


def write(path, samples, first=0, lost=(), overlap=0, block=BLOCK, direct=False,
          cards=None, **options):
    """Write samples [antenna][channel][pol][time] in blocks from sample `first`
    on, without the blocks of the numbers `lost`; `cards` are those of some
    blocks, by number, that differ (None: absent)."""
    n_antennas, n_channels, n_pols, n = samples.shape
    step = block - overlap
    with open(path, "wb") as file:
        for number, at in enumerate(range(0, n - overlap, step)):
            if number in lost:
                continue
            part = samples[..., at:at + block]
            length = part.shape[-1]
            head = header(length, n_antennas, n_channels, n_pols,
                          OVERLAP=overlap, **options)
            # a packet of 16 samples of one antenna
            head["PKTSIZE"] = n_pols * 2 * n_channels * n_antennas * 16
            head["PKTIDX"] = (first + at) // 16
            if direct:
                head["DIRECTIO"] = 1
            for key, value in (cards or {}).get(number, {}).items():
                head.remove(key, ignore_missing=True)
                if value is not None:
                    head[key] = value
            head.tofile(file)
            if direct:
                file.write(b"\0" * (-file.tell() % 512))
            if options.get("PKTFMT") != "SIMPLE":
                order = part.reshape(-1, n_pols, length).transpose(0, 2, 1)
            else:
                order = part.reshape(-1, n_pols, length).transpose(2, 0, 1)
            file.write(frames.numbers(order).tobytes())
    return path
