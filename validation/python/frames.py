# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of recordings in plain files: samples as bytes, results of
several bands beside those of native recordings of one band each."""
import numpy as np

import program


def numbers(samples):
    """Complex or real integers as int8, parts side by side."""
    samples = np.asarray(samples)
    if np.iscomplexobj(samples):
        samples = np.stack([samples.real, samples.imag], axis=-1)
    return np.ascontiguousarray(samples).astype(np.int8)


class Case(program.Case):
    """Results to compare."""

    def assert_bands(self, got, twins):
        """Equal to the bit, band by band; frequencies to the last place."""
        for name in ("visibilities", "flags", "nsamples"):
            np.testing.assert_array_equal(
                getattr(got, name),
                np.concatenate([getattr(twin, name) for twin in twins],
                               axis=2), name)
        for name in ("time_array", "integration_time", "ant_1_array",
                     "ant_2_array", "polarization_array"):
            for twin in twins:
                np.testing.assert_array_equal(got.header[name],
                                              twin.header[name], name)
        np.testing.assert_allclose(
            got.header["freq_array"],
            np.concatenate([twin.header["freq_array"] for twin in twins]),
            rtol=4e-16)
