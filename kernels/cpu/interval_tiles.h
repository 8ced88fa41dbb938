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

/** accumulate() of the contract by tiles of one column, rounding upwards; the
 *  rounding mode of the thread is restored. */
void fx8_interval_tile_sweep(void (*rectangle)(const struct fx8_tile *),
                             void (*square)(const struct fx8_tile *),
                             size_t n_inputs, struct fx8_row_blocks rows,
                             size_t n_times, const struct fx8_cf32 *x,
                             size_t input_stride, size_t segment,
                             double *accumulator);

/** fold() for this order; sets the rounding mode of the thread and restores
 *  it. */
void fx8_interval_tile_fold(size_t n_inputs, struct fx8_strip strip,
                            double *accumulator, double *down, double *up);

#endif
