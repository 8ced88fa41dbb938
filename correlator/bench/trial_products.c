/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trial_products.c -- the correlators alone, channel by channel, on spectra
 * larger than the caches.
 */
#include <stdint.h>

#include "config/base/shape.h"
#include "config/base/try.h"
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

static size_t channel_bytes(const struct fx8_bench_trial *trial)
{
    const size_t item_size = trial->kind->item_size;
    return fx8_round_up(trial->size, FX8_ROW_BLOCK) * stride_of(item_size) *
           item_size;
}

static size_t accumulator_bytes(const struct fx8_bench_trial *trial)
{
    const struct fx8_operations *operations = trial->operations;
    if (trial->kind == &fx8_bench_int8)
        return operations->int8.accumulator_size(trial->size) * sizeof(int32_t);
    return sizeof(double) *
           (trial->kind == &fx8_bench_fp32
                ? operations->fp32.accumulator_size(trial->size)
                : operations->interval.accumulator_size(trial->size));
}

/* `extra` holds the accumulator, `to` the sums. */
static enum fx8_status open_products(struct fx8_bench_trial *trial,
                                     struct fx8_error *error)
{
    const size_t channel = channel_bytes(trial);
    const size_t n_channels =
        channel < SPECTRA_BYTES ? SPECTRA_BYTES / channel : 1;
    FX8_TRY(fx8_bench_trial_allocate(trial, n_channels * channel,
                                     fx8_pair_count(trial->size) * 4 *
                                         sizeof(double),
                                     accumulator_bytes(trial), error));
    if (trial->kind == &fx8_bench_int8)
        fx8_bench_fill(trial->from, trial->from_size);
    else
        fx8_bench_fill_floats(trial->from, trial->from_size / sizeof(float));
    trial->work = (double)fx8_pair_count(trial->size) * N_TIMES;
    return FX8_OK;
}

/* The channel of step `k`. */
static void step_products(struct fx8_bench_trial *trial, size_t k)
{
    const struct fx8_operations *operations = trial->operations;
    const size_t n = trial->size, channel = channel_bytes(trial);
    const size_t n_blocks = fx8_round_up(n, FX8_ROW_BLOCK) / FX8_ROW_BLOCK;
    const size_t stride = stride_of(trial->kind->item_size);
    const void *spectra =
        (const char *)trial->from + k % (trial->from_size / channel) * channel;
    const bool is_fold = k % FOLD_STEPS == FOLD_STEPS - 1;
    double *sums = trial->to;
    if (trial->kind == &fx8_bench_int8) {
        operations->int8.accumulate(n, 0, n_blocks, N_TIMES, spectra, stride,
                                    trial->extra);
        if (is_fold)
            operations->int8.fold(n, trial->extra, trial->to);
    } else if (trial->kind == &fx8_bench_fp32) {
        operations->fp32.accumulate(n, 0, n_blocks, N_TIMES, spectra, stride,
                                    trial->extra);
        if (is_fold)
            operations->fp32.fold(n, trial->extra, sums);
    } else {
        operations->interval.accumulate(n, 0, n_blocks, N_TIMES, spectra,
                                        stride, FX8_MAX_FP32_PRODUCTS,
                                        trial->extra);
        if (is_fold)
            operations->interval.fold(n, trial->extra, sums,
                                      sums + 2 * fx8_pair_count(n));
    }
}

const struct fx8_bench_kind fx8_bench_int8 = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_INT8,
    .item_size = sizeof(struct fx8_ci8),
    .open = open_products,
    .step = step_products,
};

const struct fx8_bench_kind fx8_bench_fp32 = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_FLOAT,
    .item_size = sizeof(struct fx8_cf32),
    .open = open_products,
    .step = step_products,
};

const struct fx8_bench_kind fx8_bench_interval = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_TWO_FLOATS,
    .item_size = sizeof(struct fx8_cf32),
    .open = open_products,
    .step = step_products,
};
