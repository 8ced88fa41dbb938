# SPDX-License-Identifier: BSD-3-Clause
"""Recordings and visibilities that stay valid HDF5 but are spoilt by a fuzzer:
types, ranks, sizes, chunks, filters, links, attributes, values; and plain files
with other bytes, numbers and lengths.

Shows: as fuzz/check_texts.py
"""
import libfuzzer
import tap

# Formats of fuzz_recordings.c.
FORMATS = ("fx8", "fx8_parts", "tart", "aavs", "digital_rf", "guppi",
           "vdif", "dada", "uvh5")


class Recordings(libfuzzer.Fuzz):
    """Every format."""

    program = "fuzz_recordings"
    n_targets = len(FORMATS)
    runs = 600


def case_of(target):
    # no change; or one change to one of the first objects of a file, which
    # may be the only file or one of several
    seeds = [b"\0"] + [bytes(head + [1, thing, what])
                       for head in ([1, 0], [1, 0, 0], [1, 3, 0])
                       for thing in range(12) for what in range(8)]
    return lambda self: self.fuzz(target, seeds)


for name in FORMATS:
    setattr(Recordings, f"test_{name}", case_of(name))


if __name__ == "__main__":
    tap.main()
