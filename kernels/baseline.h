/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * baseline.h -- defines baseline order, polarisation order and conjugation.
 *
 * Baselines: (0,0), (0,1) … (0,n-1), (1,1) …, antenna_1 <= antenna_2.
 * Products:  XX, YY, XY, YX (AIPS -5, -6, -7, -8); the first letter is the
 *            feed of antenna_1.
 * Value:     conj(E_1) E_2, and uvw = r_2 - r_1, as readers of UVH5 expect.
 */
#ifndef FX8_KERNELS_BASELINE_H
#define FX8_KERNELS_BASELINE_H

#include <stddef.h>

#include "kernels/postprocess.h"

/** Number of baselines, autos included. */
size_t fx8_baseline_count(size_t n_antennas);

/** Number of polarisation products: 1 or 4. */
size_t fx8_baseline_products(size_t n_polarizations);

/** Polarisations of ant_1 and ant_2, 0 = X, 1 = Y, in the order of the
 *  products. */
extern const size_t fx8_baseline_feeds[4][2];

/**
 * fx8_baseline_table -- which input pair makes each product of each baseline.
 *
 * Returned: products  [n_baselines][n_products]
 * Notes:    inputs are antenna * n_polarizations + polarisation; pairs exist
 *           for input_1 <= input_2 only: YX of an auto is the conjugate of XY
 */
void fx8_baseline_table(size_t n_antennas, size_t n_polarizations,
                        struct fx8_product *products);

/** The same for the baselines that start on one of the first n_starts antennas,
 *  with pairs of the strip of their inputs. */
void fx8_baseline_strip(size_t n_antennas, size_t n_starts,
                        size_t n_polarizations, struct fx8_product *products);

#endif
