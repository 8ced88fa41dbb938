# SPDX-License-Identifier: BSD-3-Clause
"""Whether two results hold the same, item by item."""
import re

import h5py
import numpy as np


def _items(path):
    """All items and attributes of an HDF5 file: name to type and bytes.  Of a
    history, the date, the command and the limit of memory are left out."""
    found = {}

    def note(name, item):
        if name in ("history", "Header/history"):
            text = [line for line in item[()].decode().split("\n")
                    if not re.match("command: |fx8 .*, written |"
                                    "memory_limit_mib = ", line)]
            found[name] = None, "\n".join(text).encode()
        elif isinstance(item, h5py.Dataset):
            found[name] = (item.dtype, item.shape), item[()].tobytes()
        else:
            found[name] = None, None
        for key, value in item.attrs.items():
            found[f"{name}@{key}"] = None, np.asarray(value).tobytes()

    with h5py.File(path, "r") as file:
        file.visititems(note)
        note("", file)
    return found


def differences(path, other):
    """Names of all items and attributes that are not equal to the bit."""
    ours, theirs = _items(path), _items(other)
    return [name for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name)]
