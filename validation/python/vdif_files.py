# SPDX-License-Identifier: BSD-3-Clause
"""Writes VDIF with the headers and the encoder of the package baseband."""
from fractions import Fraction

import numpy as np
from baseband import vdif
from baseband.base.encoding import EIGHT_BIT_1_SIGMA

EPOCH = 41                              # 2020-07-01
EPOCH_S = 1_593_561_600
RATE = Fraction(128_000)
FRAME = 64                              # samples


def header(frame, n_channels=1, is_complex=True, thread=0, station="AB", edv=0,
           rate=RATE, length=FRAME, second=100, **more):
    """The header of a frame: the one of that number from `second` on."""
    per_second = int(rate / length)
    extra = {}
    if edv in (1, 3):
        # the width of a channel
        khz = rate / (1 if is_complex else 2) / 1000
        extra = {"sampling_unit": False, "sampling_rate": int(khz)}
    return vdif.VDIFHeader.fromvalues(
        edv=1 if edv == 3 else edv, ref_epoch=EPOCH, seconds=second + frame // per_second,
        frame_nr=frame % per_second, nchan=n_channels, bps=8,
        complex_data=is_complex, thread_id=thread, station=station,
        samples_per_frame=length, **{**extra, **more})


def words_of(head, edv):
    """The bytes of a header.  The VLBA's, 3, is like 1 in what fx8 reads; the
    package allows it one length of frames only."""
    words = np.array(head.words, "<u4")
    if edv == 3:
        words[4] += 2 << 24
    return words.tobytes()


def frames_of(samples, first=0, threads=None, lost=(), invalid=(), **options):
    """Frames of samples [pol][time], from that number on: the polarisations as
    channels, or as threads of these numbers.  Pairs (frame, pol) are lost or
    invalid.  A list of (frame, pol, bytes)."""
    length = options.get("length", FRAME)
    parts = [samples] if threads is None else [row[None] for row in samples]
    found = []
    for frame in range(samples.shape[-1] // length):
        for pol, rows in enumerate(parts):
            if (frame, pol) in lost:
                continue
            head = header(first + frame, len(rows),
                          np.iscomplexobj(samples),
                          threads[pol] if threads else 0,
                          invalid_data=(frame, pol) in invalid, **options)
            data = rows[:, frame * length:(frame + 1) * length].T
            # the encoder takes the middle of a level, 127.5 levels above the
            # lowest, for 0
            half = 0.5 + 0.5j if np.iscomplexobj(data) else 0.5
            payload = vdif.payload.VDIFPayload.fromdata(
                ((data + half) / EIGHT_BIT_1_SIGMA), head)
            found.append((frame, pol,
                          words_of(head, options.get("edv", 0)) + payload.words.tobytes()))
    return found


def write(path, samples, order=None, **options):
    """Write frames; `order` sorts them by its key of (frame, pol)."""
    found = frames_of(samples, **options)
    if order is not None:
        found.sort(key=lambda item: order(*item[:2]))
    with open(path, "wb") as file:
        for _, _, content in found:
            file.write(content)
    return path
