/* SPDX-License-Identifier: BSD-3-Clause */
#include <fenv.h>

#include "kernels/cpu/interval_tiles.h"

size_t fx8_interval_tile_size(size_t n_inputs)
{
    return 2 * fx8_tile_offset(fx8_tile_row_blocks(n_inputs));
}

void fx8_interval_tile_sweep(void (*rectangle)(const struct fx8_tile *),
                             void (*square)(const struct fx8_tile *),
                             size_t n_inputs, struct fx8_row_blocks rows,
                             size_t n_times, const struct fx8_cf32 *x,
                             size_t input_stride, size_t segment,
                             double *accumulator)
{
    const struct fx8_tile_kernel kernel = {
        .segment_bytes = segment * sizeof(*x),
        .item_size = 2 * sizeof(double),
        .n_columns = 1,
        .rectangle = rectangle,
        .square = square,
    };
    const int mode = fegetround();

    fesetround(FE_UPWARD);
    fx8_correlate_sweep(&kernel, n_inputs, rows, n_times * sizeof(*x), x,
                        input_stride * sizeof(*x), accumulator);
    fesetround(mode);
}

/** First double of row j, column 0. */
static size_t row_items(size_t j)
{
    return 2 * fx8_tile_offset(j / FX8_ROW_BLOCK) + 2 * (j % FX8_ROW_BLOCK);
}

/** Add `sign` times a strip of one of the bounds to its sums, in the current
 *  rounding mode.  The imaginary part of an auto is zero and not read. */
__attribute__((noinline)) static void add_bound(size_t n_inputs,
                                                struct fx8_strip strip,
                                                const double *items,
                                                double sign, double *sums)
{
    for (size_t j = strip.begin; j < n_inputs; j++) {
        const double *item =
            items + row_items(j) + FX8_INTERVAL_COLUMN * strip.begin;
        const size_t end = j < strip.end ? j : strip.end;

        for (size_t i = strip.begin; i < end; i++, sums += 2) {
            sums[0] += sign * item[0];
            sums[1] += sign * item[1];
            item += FX8_INTERVAL_COLUMN;
        }
        if (j < strip.end) {
            sums[0] += sign * item[0];
            sums += 2;
        }
    }
}

void fx8_interval_tile_fold(size_t n_inputs, struct fx8_strip strip,
                            double *accumulator, double *down, double *up)
{
    const int mode = fegetround();

    fesetround(FE_DOWNWARD);
    add_bound(n_inputs, strip, accumulator + FX8_TILE_COLUMN, -1.0, down);
    fesetround(FE_UPWARD);
    add_bound(n_inputs, strip, accumulator, 1.0, up);
    fesetround(mode);
    fx8_tile_empty(n_inputs, strip, 2 * sizeof *accumulator, accumulator);
}
