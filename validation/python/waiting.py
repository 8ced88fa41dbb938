# SPDX-License-Identifier: BSD-3-Clause
"""Waits for what a running program does, however slow the machine, and
environments in which it fails or waits itself."""
import os
import pathlib
import re
import signal
import time

import h5py
import numpy as np

BUILD = os.environ.get("FX8_BUILD", os.path.abspath("build"))


def faulty(fault, file, at=10**9, count="/dev/null"):
    """Environment in which a fault befalls `file`; see scenario/faulty_io.c."""
    # the address checker's library wants to be loaded first, but is second
    options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return {"LD_PRELOAD": os.path.join(BUILD, "faulty_io.so"),
            "ASAN_OPTIONS": options,
            "FX8_FAULT": fault, "FX8_FAULT_FILE": os.path.basename(file),
            "FX8_FAULT_AT": str(at), "FX8_FAULT_COUNT": count}


def marked(part):
    """How many dumps of a .part are finished, by the marks on disk while it is
    written; 0 if it does not open now."""
    try:
        with h5py.File(part, "r", locking=False) as file:
            return int(np.count_nonzero(file["fx8/checksum"][...] != -1))
    except (OSError, KeyError, RuntimeError):
        return 0


def has_sigint(process, mask):
    """Whether SIGINT is in one of the sets of signals of a process."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(rf"^{mask}:\s*(\w+)", status, re.MULTILINE)
    return found is not None and int(found[1], 16) >> (signal.SIGINT - 1) & 1


class Waits:
    """Part of program.Case."""

    def holding(self, file, share=0.5, after=None):
        """Settings of the environment in which a run waits as it reads beyond
        this share of a file, until let_go(): it cannot end before the test has
        seen enough.  `after`: no read waits before there is a file of that
        name."""
        byte = int(share * os.path.getsize(file)) if share > 0 else 0
        return {"FX8_BLOCK_SAMPLES": "2000",
                "FX8_FAULT_HOLD": self.save("hold", ""),
                **({"FX8_FAULT_AFTER": after} if after else {}),
                **faulty("hold", file, at=byte)}

    def let_go(self):
        """End what holding() began, if it did."""
        if os.path.exists(self.path("hold")):
            os.remove(self.path("hold"))

    def wait_until(self, process, what, holds):
        """Wait until holds() while a process runs."""
        while not holds():
            if process.poll() is not None:
                self.fail(f"{what}: never: {process.communicate()[1]}")
            time.sleep(0.001)

    def wait_for(self, process, path):
        """Wait until a process has made a file."""
        self.wait_until(process, path, lambda: os.path.exists(path))

    def wait_for_dump(self, process, part):
        """Wait until a process has finished the first dump of a .part."""
        self.wait_until(process, f"a dump of {part}", lambda: marked(part))

    def wait_for_handler(self, process):
        """Wait until a process catches SIGINT."""
        self.wait_until(process, "a handler of SIGINT",
                        lambda: has_sigint(process, "SigCgt"))

    def wait_for_delivery(self, process):
        """Wait until a SIGINT that was sent has reached a process."""
        self.wait_until(process, "a SIGINT that is delivered",
                        lambda: not has_sigint(process, "ShdPnd"))
