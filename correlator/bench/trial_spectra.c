/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trial_spectra.c -- the stages before the correlator, each alone: align,
 * filter, quantise, corner turn.
 */
#include <stdint.h>

#include "config/base/shape.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/trial.h"
#include "kernels/fft.h"

#define MIB ((size_t)1 << 20)

/* Allocate the three arrays of a trial. */
static enum fx8_status allocate(struct fx8_bench_trial *trial, size_t from,
                                size_t to, size_t extra,
                                struct fx8_error *error)
{
    trial->from_size = from;
    trial->to_size = to;
    const struct fx8_array arrays[] = {{&trial->from, from, 1},
                                       {&trial->to, to, 1},
                                       {&trial->extra, extra, 1}};
    return fx8_allocate_arrays(arrays, 3, "a trial", error);
}

/* Floats between two spectra, as in the engine. */
static size_t spectrum_stride(const struct fx8_bench_trial *trial)
{
    return fx8_fft_stride_of(FX8_FFT_COMPLEX, trial->size);
}

/* --- align ------------------------------------------------------- */

/* Samples of a step: larger than the caches, like a recording. */
#define ALIGN_BYTES (32 * MIB)

/* Bytes between two rows, as in the engine: the distance of rows must not be a
 * power of two. */
#define ROW_GAP 64

static enum fx8_status open_align(struct fx8_bench_trial *trial,
                                  struct fx8_error *error)
{
    const enum fx8_status status =
        allocate(trial, ALIGN_BYTES, ALIGN_BYTES + trial->size * ROW_GAP,
                 trial->size * sizeof(ptrdiff_t), error);
    if (status != FX8_OK)
        return status;
    fx8_bench_fill(trial->from, ALIGN_BYTES);
    ptrdiff_t *offset = trial->extra;
    for (size_t i = 0; i < trial->size; i++)
        offset[i] = (ptrdiff_t)(i * trial->variety);
    trial->bytes = trial->work = 2.0 * ALIGN_BYTES;
    return FX8_OK;
}

static void step_align(struct fx8_bench_trial *trial, size_t k)
{
    (void)k;
    const size_t sample = trial->size * trial->variety;
    const size_t n_samples = ALIGN_BYTES / sample;
    trial->operations->gather(trial->size, n_samples, trial->variety,
                              trial->from, trial->extra, (ptrdiff_t)sample,
                              trial->to, n_samples * trial->variety + ROW_GAP);
}

const struct fx8_bench_kind fx8_bench_align = {
    .unit = "byte/s",
    .ruler = FX8_BENCH_COPY,
    .open = open_align,
    .step = step_align,
};

/* --- filter ------------------------------------------------------ */

#define N_TAPS 8

/* Samples that the steps go through, and least samples of a step: a call for
 * few channels is too short for the clock. */
#define FILTER_BYTES (8 * MIB)
#define STEP_BYTES   ((size_t)1 << 16)

static size_t filter_calls(const struct fx8_bench_trial *trial)
{
    const size_t call = FX8_GROUP * 2 * trial->size;
    return call < STEP_BYTES ? STEP_BYTES / call : 1;
}

static enum fx8_status open_filter(struct fx8_bench_trial *trial,
                                   struct fx8_error *error)
{
    const size_t row = 2 * trial->size;
    const enum fx8_status status =
        allocate(trial, FILTER_BYTES + (FX8_GROUP + N_TAPS) * row,
                 FX8_GROUP * spectrum_stride(trial) * sizeof(float),
                 N_TAPS * row * sizeof(float), error);
    if (status != FX8_OK)
        return status;
    fx8_bench_fill(trial->from, trial->from_size);
    float *weights = trial->extra;
    for (size_t k = 0; k < N_TAPS * row; k++)
        weights[k] = (float)(1 + k % 7) / 16.0f;
    trial->work = (double)(filter_calls(trial) * FX8_GROUP * row) * N_TAPS / 4;
    return FX8_OK;
}

static enum fx8_status open_filter_int16(struct fx8_bench_trial *trial,
                                         struct fx8_error *error)
{
    const enum fx8_status status = open_filter(trial, error);
    if (status != FX8_OK)
        return status;
    int16_t *weights = trial->extra;
    for (size_t k = 0; k < N_TAPS * 2 * trial->size; k++)
        weights[k] = (int16_t)(2000 * (k % 7));
    return FX8_OK;
}

/* Samples of a call of step `k`. */
static const int8_t *filter_samples(const struct fx8_bench_trial *trial,
                                    size_t k)
{
    return (const int8_t *)trial->from +
           k * FX8_GROUP * 2 * trial->size % FILTER_BYTES;
}

static void step_filter(struct fx8_bench_trial *trial, size_t k)
{
    const size_t row = 2 * trial->size, n = filter_calls(trial);
    for (size_t call = 0; call < n; call++)
        trial->operations->fir(FX8_GROUP, N_TAPS, row,
                               filter_samples(trial, k * n + call),
                               trial->extra, trial->to, spectrum_stride(trial));
}

static void step_filter_int16(struct fx8_bench_trial *trial, size_t k)
{
    const size_t row = 2 * trial->size, n = filter_calls(trial);
    for (size_t call = 0; call < n; call++)
        trial->operations->fir_int16(
            FX8_GROUP, N_TAPS, row, filter_samples(trial, k * n + call),
            trial->extra, 0x1p-15f, trial->to, spectrum_stride(trial));
}

const struct fx8_bench_kind fx8_bench_filter = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_FLOAT,
    .open = open_filter,
    .step = step_filter,
};

const struct fx8_bench_kind fx8_bench_filter_int16 = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_INT16,
    .open = open_filter_int16,
    .step = step_filter_int16,
};

/* --- quantise, turn ---------------------------------------------- */

/* Spectra of a row of the result, and items between two rows. */
#define ROW_SPECTRA 4096

static size_t turn_stride(size_t item_size)
{
    return ROW_SPECTRA + FX8_ALIGNMENT / item_size;
}

/* Spectra of a group, in cache as after the FFT; rows of results, in memory. */
static enum fx8_status open_turns(struct fx8_bench_trial *trial,
                                  size_t item_size, struct fx8_error *error)
{
    const size_t items = FX8_GROUP * trial->size;
    const enum fx8_status status =
        allocate(trial, FX8_GROUP * spectrum_stride(trial) * sizeof(float),
                 trial->size * turn_stride(item_size) * item_size,
                 trial->size * (sizeof(float) + sizeof(uint32_t)), error);
    if (status != FX8_OK)
        return status;
    float *values = trial->from;
    for (size_t k = 0; k < FX8_GROUP * spectrum_stride(trial); k++)
        values[k] = (float)(k * 37 % 101) - 50.0f;
    float *gain = trial->extra;
    for (size_t k = 0; k < trial->size; k++)
        gain[k] = 0.9f;
    trial->bytes = trial->work =
        (double)(items * (sizeof(struct fx8_cf32) + item_size));
    return FX8_OK;
}

static enum fx8_status open_quantise(struct fx8_bench_trial *trial,
                                     struct fx8_error *error)
{
    return open_turns(trial, sizeof(struct fx8_ci8), error);
}

static enum fx8_status open_turn(struct fx8_bench_trial *trial,
                                 struct fx8_error *error)
{
    return open_turns(trial, sizeof(struct fx8_cf32), error);
}

static void step_quantise(struct fx8_bench_trial *trial, size_t k)
{
    const float *gain = trial->extra;
    uint32_t *clips = (uint32_t *)trial->extra + trial->size;
    struct fx8_ci8 *to = trial->to;
    trial->operations->quantise(FX8_GROUP, trial->size, trial->from,
                                spectrum_stride(trial) / 2, gain, UINT32_MAX,
                                to + k * FX8_GROUP % ROW_SPECTRA,
                                turn_stride(sizeof *to), clips);
}

static void step_turn(struct fx8_bench_trial *trial, size_t k)
{
    struct fx8_cf32 *to = trial->to;
    trial->operations->turn(
        FX8_GROUP, trial->size, trial->from, spectrum_stride(trial) / 2,
        UINT32_MAX, to + k * FX8_GROUP % ROW_SPECTRA, turn_stride(sizeof *to));
}

const struct fx8_bench_kind fx8_bench_quantise = {
    .unit = "byte/s",
    .ruler = FX8_BENCH_COPY,
    .open = open_quantise,
    .step = step_quantise,
};

const struct fx8_bench_kind fx8_bench_turn = {
    .unit = "byte/s",
    .ruler = FX8_BENCH_COPY,
    .open = open_turn,
    .step = step_turn,
};
