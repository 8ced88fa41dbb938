# SPDX-License-Identifier: BSD-3-Clause
"""pyuvdata, with astropy that downloads nothing."""
import warnings

from astropy.utils import iers
from pyuvdata import UVData

iers.conf.auto_download = False
iers.conf.auto_max_age = None


def load(case, path):
    """Read and check a file; each warning fails the case."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = UVData.from_file(path)
        data.check(check_autos=True)
    case.assertEqual([str(item.message) for item in caught], [])
    return data
