/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trial_products.c -- the correlators alone, channel by channel, on spectra
 * larger than the caches.
 */
#include <stdint.h>

#include "config/base/shape.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/trial.h"

/* Spectra of a channel, and items between two rows of them: as in the engine,
 * not a power of two. */
#define N_TIMES 2048

/* Bytes of all channels, one at least. */
#define SPECTRA_BYTES ((size_t)32 << 20)

/* Channels between two folds: below FX8_MAX_INT32_SPECTRA spectra. */
#define FOLD_STEPS 16

static size_t stride_of(size_t item_size)
{
    return N_TIMES + FX8_ALIGNMENT / item_size;
}

static size_t channel_bytes(const struct fx8_bench_trial *trial,
                            size_t item_size)
{
    return fx8_round_up(trial->size, FX8_ROW_BLOCK) * stride_of(item_size) *
           item_size;
}

/* `extra` holds the accumulator, `to` the sums. */
static enum fx8_status open_products(struct fx8_bench_trial *trial,
                                     size_t item_size, size_t accumulator,
                                     struct fx8_error *error)
{
    const size_t channel = channel_bytes(trial, item_size);
    const size_t n_channels =
        channel < SPECTRA_BYTES ? SPECTRA_BYTES / channel : 1;
    trial->from_size = n_channels * channel;
    trial->to_size = fx8_pair_count(trial->size) * 4 * sizeof(double);
    const struct fx8_array arrays[] = {{&trial->from, trial->from_size, 1},
                                       {&trial->to, trial->to_size, 1},
                                       {&trial->extra, accumulator, 1}};
    const enum fx8_status status =
        fx8_allocate_arrays(arrays, 3, "a trial", error);
    if (status != FX8_OK)
        return status;
    if (item_size == sizeof(struct fx8_ci8))
        fx8_bench_fill(trial->from, trial->from_size);
    else
        for (size_t k = 0; k < trial->from_size / sizeof(float); k++)
            ((float *)trial->from)[k] = (float)(k * 37 % 101) - 50.0f;
    trial->work = (double)fx8_pair_count(trial->size) * N_TIMES;
    return FX8_OK;
}

static size_t row_blocks(const struct fx8_bench_trial *trial)
{
    return fx8_round_up(trial->size, FX8_ROW_BLOCK) / FX8_ROW_BLOCK;
}

/* Spectra of the channel of step `k`. */
static const void *spectra_of(const struct fx8_bench_trial *trial, size_t k,
                              size_t item_size)
{
    const size_t channel = channel_bytes(trial, item_size);
    return (const char *)trial->from +
           k % (trial->from_size / channel) * channel;
}

/* --- INT8 -------------------------------------------------------- */

static enum fx8_status open_int8(struct fx8_bench_trial *trial,
                                 struct fx8_error *error)
{
    return open_products(trial, sizeof(struct fx8_ci8),
                         trial->operations->int8.accumulator_size(trial->size) *
                             sizeof(int32_t),
                         error);
}

static void step_int8(struct fx8_bench_trial *trial, size_t k)
{
    const struct fx8_correlate_int8 *int8 = &trial->operations->int8;
    const size_t item = sizeof(struct fx8_ci8);
    int8->accumulate(trial->size, 0, row_blocks(trial), N_TIMES,
                     spectra_of(trial, k, item), stride_of(item), trial->extra);
    if (k % FOLD_STEPS == FOLD_STEPS - 1)
        int8->fold(trial->size, trial->extra, trial->to);
}

const struct fx8_bench_kind fx8_bench_int8 = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_INT8,
    .open = open_int8,
    .step = step_int8,
};

/* --- FP32 -------------------------------------------------------- */

static enum fx8_status open_fp32(struct fx8_bench_trial *trial,
                                 struct fx8_error *error)
{
    return open_products(trial, sizeof(struct fx8_cf32),
                         trial->operations->fp32.accumulator_size(trial->size) *
                             sizeof(double),
                         error);
}

static void step_fp32(struct fx8_bench_trial *trial, size_t k)
{
    const struct fx8_correlate_fp32 *fp32 = &trial->operations->fp32;
    const size_t item = sizeof(struct fx8_cf32);
    fp32->accumulate(trial->size, 0, row_blocks(trial), N_TIMES,
                     spectra_of(trial, k, item), stride_of(item), trial->extra);
    if (k % FOLD_STEPS == FOLD_STEPS - 1)
        fp32->fold(trial->size, trial->extra, trial->to);
}

const struct fx8_bench_kind fx8_bench_fp32 = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_FLOAT,
    .open = open_fp32,
    .step = step_fp32,
};

/* --- bounds of FP32 ---------------------------------------------- */

static enum fx8_status open_interval(struct fx8_bench_trial *trial,
                                     struct fx8_error *error)
{
    return open_products(
        trial, sizeof(struct fx8_cf32),
        trial->operations->interval.accumulator_size(trial->size) *
            sizeof(double),
        error);
}

static void step_interval(struct fx8_bench_trial *trial, size_t k)
{
    const struct fx8_correlate_interval *interval =
        &trial->operations->interval;
    const size_t item = sizeof(struct fx8_cf32);
    double *sums = trial->to;
    interval->accumulate(trial->size, 0, row_blocks(trial), N_TIMES,
                         spectra_of(trial, k, item), stride_of(item),
                         FX8_MAX_FP32_PRODUCTS, trial->extra);
    if (k % FOLD_STEPS == FOLD_STEPS - 1)
        interval->fold(trial->size, trial->extra, sums,
                       sums + 2 * fx8_pair_count(trial->size));
}

const struct fx8_bench_kind fx8_bench_interval = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_TWO_FLOATS,
    .open = open_interval,
    .step = step_interval,
};
