/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_ref.c -- the INT8 correlator by definition: conj(x_i) x_j, summed
 * over time, pair by pair.  Every variant is compared with this file; it is not
 * meant to be fast.
 *
 * Its accumulators are in the order of fx8_pair_index(), [pair][re, im].
 */
#include "kernels/cpu/variants.h"

static size_t accumulator_size(size_t n_inputs)
{
    return 2 * fx8_pair_count(n_inputs);
}

/* Bound: a spectrum adds at most 2 * 128 * 128 to either part, so the sum over
 * FX8_MAX_INT32_SPECTRA, 2147450880, stays below 2^31. */
static void accumulate_int8(size_t n_inputs, struct fx8_row_blocks rows,
                            size_t n_times, const struct fx8_ci8 *x,
                            size_t input_stride, int32_t *accumulator)
{
    size_t end = rows.end * FX8_ROW_BLOCK;

    if (end > n_inputs)
        end = n_inputs;
    for (size_t j = rows.begin * FX8_ROW_BLOCK; j < end; j++) {
        for (size_t i = 0; i <= j; i++) {
            const struct fx8_ci8 *a = x + j * input_stride;
            const struct fx8_ci8 *b = x + i * input_stride;
            int32_t *sum = accumulator + 2 * fx8_pair_index(i, j);

            if (!fx8_is_needed(rows.needed, i, j))
                continue;
            for (size_t t = 0; t < n_times; t++) {
                sum[0] += a[t].re * b[t].re + a[t].im * b[t].im;
                sum[1] += a[t].im * b[t].re - a[t].re * b[t].im;
            }
        }
    }
}

static void fold_int8(size_t n_inputs, struct fx8_strip strip,
                      int32_t *accumulator, int64_t *sums)
{
    for (size_t j = strip.begin; j < n_inputs; j++) {
        int32_t *items = accumulator + 2 * fx8_pair_index(strip.begin, j);

        for (size_t k = 0; k < 2 * fx8_strip_row(strip, j); k++) {
            *sums++ += items[k];
            items[k] = 0;
        }
    }
}

void fx8_fill_correlate_int8_reference(struct fx8_operations *operations)
{
    operations->int8 = (struct fx8_correlate_int8){
        .accumulator_size = accumulator_size,
        .accumulate = accumulate_int8,
        .fold = fold_int8,
    };
}
