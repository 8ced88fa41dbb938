/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval_ref.c -- the FP32 correlator by definition, conj(x_i) x_j summed
 * over time, and the enclosing one: the same once with every operation rounded
 * downwards, once upwards.  Rounding is monotonic, so sums rounded to nearest
 * in the same order lie between.
 *
 * The direction is the CPU's rounding mode, which is per thread; functions here
 * set it and restore it before they return.  The arithmetic is in separate
 * functions, never inlined, that access operands and results only through
 * memory: no compiler can move it across the call that sets the mode.  The
 * Makefile adds -frounding-math, because (-a) b is not -(a b) here.
 *
 * The accumulator is [pair][re, im] in the order of fx8_pair_index(), of the
 * enclosing one [direction][pair][re, im].
 */
#include <fenv.h>
#include <string.h>

#include "kernels/cpu/variants.h"

/** The directions, in the order of the accumulator. */
static const int directions[2] = {FE_DOWNWARD, FE_UPWARD};

/** Arguments of accumulate(); a segment has at most FX8_MAX_FP32_PRODUCTS
 *  spectra. */
struct work {
    size_t n_inputs;
    struct fx8_row_blocks rows;
    size_t n_times;
    const struct fx8_cf32 *x;
    size_t input_stride, segment;
};

static size_t one_direction(size_t n_inputs)
{
    return 2 * fx8_pair_count(n_inputs);
}

static size_t accumulator_size(size_t n_inputs)
{
    return 2 * one_direction(n_inputs);
}

/** Add one segment of a pair, in the current rounding mode.  The sign of a
 *  product is changed on an operand; on the product it would reverse the
 *  direction. */
static void add_segment(size_t n_times, const struct fx8_cf32 *a,
                        const struct fx8_cf32 *b, double sum[2])
{
    float re = 0.0f;
    float im = 0.0f;

    for (size_t t = 0; t < n_times; t++) {
        re += a[t].re * b[t].re + a[t].im * b[t].im;
        im += a[t].im * b[t].re + -a[t].re * b[t].im;
    }
    sum[0] += (double)re;
    sum[1] += (double)im;
}

/** One direction, in the current rounding mode. */
__attribute__((noinline)) static void add_rows(const struct work *work,
                                               double *sums)
{
    size_t last = work->rows.end * FX8_ROW_BLOCK;

    if (last > work->n_inputs)
        last = work->n_inputs;
    for (size_t j = work->rows.begin * FX8_ROW_BLOCK; j < last; j++) {
        for (size_t i = 0; i <= j; i++) {
            const struct fx8_cf32 *a = work->x + j * work->input_stride;
            const struct fx8_cf32 *b = work->x + i * work->input_stride;
            double *sum = sums + 2 * fx8_pair_index(i, j);

            if (!fx8_is_needed(work->rows.needed, i, j))
                continue;
            for (size_t t = 0; t < work->n_times; t += work->segment) {
                size_t left = work->n_times - t;

                add_segment(left < work->segment ? left : work->segment, a + t,
                            b + t, sum);
            }
        }
    }
}

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, size_t segment, double *accumulator)
{
    const struct work work = {n_inputs, rows,         n_times,
                              x,        input_stride, segment};
    const int mode = fegetround();

    for (size_t d = 0; d < 2; d++) {
        fesetround(directions[d]);
        add_rows(&work, accumulator + d * one_direction(n_inputs));
    }
    fesetround(mode);
}

/** Add n items to the sums, in the current rounding mode. */
__attribute__((noinline)) static void add_items(size_t n, const double *items,
                                                double *sums)
{
    for (size_t k = 0; k < n; k++)
        sums[k] += items[k];
}

void fx8_add_bounds(size_t n, const double *down, const double *up,
                    double *sum_down, double *sum_up)
{
    const int mode = fegetround();

    fesetround(FE_DOWNWARD);
    add_items(n, down, sum_down);
    fesetround(FE_UPWARD);
    add_items(n, up, sum_up);
    fesetround(mode);
}

/** Add a strip to the sums and empty it, in the current rounding mode. */
__attribute__((noinline)) static void add_strip(size_t n_inputs,
                                                struct fx8_strip strip,
                                                double *accumulator,
                                                double *sums)
{
    for (size_t j = strip.begin; j < n_inputs; j++) {
        double *items = accumulator + 2 * fx8_pair_index(strip.begin, j);

        for (size_t k = 0; k < 2 * fx8_strip_row(strip, j); k++) {
            *sums++ += items[k];
            items[k] = 0.0;
        }
    }
}

static void fold(size_t n_inputs, struct fx8_strip strip, double *accumulator,
                 double *down, double *up)
{
    const int mode = fegetround();

    fesetround(FE_DOWNWARD);
    add_strip(n_inputs, strip, accumulator, down);
    fesetround(FE_UPWARD);
    add_strip(n_inputs, strip, accumulator + one_direction(n_inputs), up);
    fesetround(mode);
}

/* Rounding, u = 2^-24: a real product is rounded once itself, once in the sum
 * of two and in at most 512 sums: at most 514 times, 514.02 u with the higher
 * orders. */
static void accumulate_fp32(size_t n_inputs, struct fx8_row_blocks rows,
                            size_t n_times, const struct fx8_cf32 *x,
                            size_t input_stride, double *accumulator)
{
    const struct work work = {n_inputs, rows,         n_times,
                              x,        input_stride, FX8_MAX_FP32_PRODUCTS};

    add_rows(&work, accumulator);
}

void fx8_fill_correlate_fp32_reference(struct fx8_operations *operations)
{
    operations->fp32 = (struct fx8_correlate_fp32){
        .accumulator_size = one_direction,
        .accumulate = accumulate_fp32,
        .fold = add_strip,
    };
}

void fx8_fill_interval_reference(struct fx8_operations *operations)
{
    operations->interval.accumulator_size = accumulator_size;
    operations->interval.accumulate = accumulate;
    operations->interval.fold = fold;
}
