# SPDX-License-Identifier: BSD-3-Clause
"""Waits for what a running program does, however slow the machine."""
import os
import pathlib
import re
import signal
import time

import h5py
import numpy as np


def marked(part):
    """How many dumps of a .part are finished, by the marks on disk while it is
    written; 0 if it does not open now."""
    try:
        with h5py.File(part, "r", locking=False) as file:
            return int(np.count_nonzero(file["fx8/checksum"][...] != -1))
    except (OSError, KeyError, RuntimeError):
        return 0


class Waits:
    """Part of program.Case."""

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
        def catches():
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            caught = re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
            return caught and int(caught[1], 16) >> (signal.SIGINT - 1) & 1
        self.wait_until(process, "a handler of SIGINT", catches)
