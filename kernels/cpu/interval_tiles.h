/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval_tiles.h -- private to the vector variants of the enclosing
 * correlator: the order of their accumulator, and their scalar code.
 *
 * One rounding direction serves both bounds: rounding x downwards is rounding
 * -x upwards and changing the sign.  Every item is kept twice, the sum for `up`
 * and the negated sum for `down`, and everything is rounded upwards.
 */
#ifndef FX8_KERNELS_CPU_INTERVAL_TILES_H
#define FX8_KERNELS_CPU_INTERVAL_TILES_H

#include "kernels/cpu/correlate_sweep.h"
#include "kernels/operations.h"

/** Doubles of one column of a row block: [up, negated down][row 0..3]
 *  [re, im]; the item of fx8_tile_offset() is two of them. */
#define FX8_INTERVAL_COLUMN (2 * FX8_TILE_COLUMN)

/** accumulator_size() for this order. */
size_t fx8_interval_tile_size(size_t n_inputs);

/** fold() for this order; sets the rounding mode of the thread and restores
 *  it. */
void fx8_interval_tile_fold(size_t n_inputs, double *accumulator, double *down,
                            double *up);

#endif
