# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA plug-in on pretend devices. validation/cuda/README.md lists its
settings."""
import os

BUILD = os.environ.get("FX8_BUILD", os.path.abspath("build"))
PLUGIN = os.path.join(BUILD, "harness", "fx8-cuda.so")


def devices(count=1, **settings):
    """Environment in which a program finds `count` devices; 0: none, -1: no
    driver.  memory_mib=8 sets FX8_HARNESS_MEMORY_MIB, and so on."""
    return {"FX8_CUDA_PLUGIN": PLUGIN, "FX8_HARNESS_DEVICES": str(count),
            **{f"FX8_HARNESS_{name.upper()}": str(value)
               for name, value in settings.items()}}
