# SPDX-License-Identifier: BSD-3-Clause
"""lsl_engine.py IN.npz OUT.npz -- correlate samples [input][time], or [input]
[time][re, im], with delays [input] by the engines of LSL 4.  Run by the Python
that has it."""
import sys

import numpy as np
from lsl.correlator import _core

given = np.load(sys.argv[1])
engine = _core.PFBEngine if given["is_pfb"] else _core.FEngine
hz = given["frequencies_hz"]
delays = np.repeat(given["delays_s"][:, None], len(hz), axis=1)
spectra, valid = engine(given["samples"], hz, delays, LFFT=len(hz),
                        sample_rate=float(given["rate_hz"]), clip_level=0)
first, end = given["spectra"]
spectra, valid = (np.ascontiguousarray(x[..., first:end])
                  for x in (spectra, valid))
np.savez(sys.argv[2], visibilities=_core.XEngine2(spectra, spectra, valid,
                                                  valid))
