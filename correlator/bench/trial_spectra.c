/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trial_spectra.c -- the stages before the correlator, each alone: align,
 * filter, quantise, corner turn.
 */
#include <stdint.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/trial.h"
#include "kernels/fft.h"

#define MIB ((size_t)1 << 20)

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
    FX8_TRY(fx8_bench_trial_allocate(trial, ALIGN_BYTES,
                                     ALIGN_BYTES + trial->size * ROW_GAP,
                                     trial->size * sizeof(ptrdiff_t), error));
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
    const size_t row = 2 * trial->size, n_weights = N_TAPS * row;
    FX8_TRY(fx8_bench_trial_allocate(
        trial, FILTER_BYTES + (FX8_GROUP + N_TAPS) * row,
        FX8_GROUP * spectrum_stride(trial) * sizeof(float),
        n_weights * trial->kind->item_size, error));
    fx8_bench_fill(trial->from, trial->from_size);
    for (size_t k = 0; k < n_weights; k++)
        if (trial->kind == &fx8_bench_filter)
            ((float *)trial->extra)[k] = (float)(1 + k % 7) / 16.0f;
        else
            ((int16_t *)trial->extra)[k] = (int16_t)(2000 * (k % 7));
    trial->work = (double)(filter_calls(trial) * FX8_GROUP * row) * N_TAPS / 4;
    return FX8_OK;
}

static void step_filter(struct fx8_bench_trial *trial, size_t k)
{
    const struct fx8_operations *operations = trial->operations;
    const size_t row = 2 * trial->size, n = filter_calls(trial);
    const size_t stride = spectrum_stride(trial);
    for (size_t call = k * n; call < (k + 1) * n; call++) {
        const int8_t *samples =
            (const int8_t *)trial->from + call * FX8_GROUP * row % FILTER_BYTES;
        if (trial->kind == &fx8_bench_filter)
            operations->fir(FX8_GROUP, N_TAPS, row, samples, trial->extra,
                            trial->to, stride);
        else
            operations->fir_int16(FX8_GROUP, N_TAPS, row, samples, trial->extra,
                                  0x1p-15f, trial->to, stride);
    }
}

const struct fx8_bench_kind fx8_bench_filter = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_FLOAT,
    .item_size = sizeof(float),
    .open = open_filter,
    .step = step_filter,
};

const struct fx8_bench_kind fx8_bench_filter_int16 = {
    .unit = "CMAC/s",
    .ruler = FX8_BENCH_INT16,
    .item_size = sizeof(int16_t),
    .open = open_filter,
    .step = step_filter,
};

/* --- quantise, turn ---------------------------------------------- */

/* Spectra of a row of the result, and items between two rows. */
#define ROW_SPECTRA 4096

static size_t turn_stride(const struct fx8_bench_trial *trial)
{
    return ROW_SPECTRA + FX8_ALIGNMENT / trial->kind->item_size;
}

/* Spectra of a group, in cache as after the FFT; rows of results, in memory. */
static enum fx8_status open_turn(struct fx8_bench_trial *trial,
                                 struct fx8_error *error)
{
    const size_t item_size = trial->kind->item_size;
    FX8_TRY(fx8_bench_trial_allocate(
        trial, FX8_GROUP * spectrum_stride(trial) * sizeof(float),
        trial->size * turn_stride(trial) * item_size,
        trial->size * (sizeof(float) + sizeof(uint32_t)), error));
    fx8_bench_fill_floats(trial->from, FX8_GROUP * spectrum_stride(trial));
    float *gain = trial->extra;
    for (size_t k = 0; k < trial->size; k++)
        gain[k] = 0.9f;
    trial->bytes = trial->work =
        (double)(FX8_GROUP * trial->size *
                 (sizeof(struct fx8_cf32) + item_size));
    return FX8_OK;
}

static void step_quantise(struct fx8_bench_trial *trial, size_t k)
{
    const float *gain = trial->extra;
    uint32_t *clips = (uint32_t *)trial->extra + trial->size;
    struct fx8_ci8 *to = trial->to;
    trial->operations->quantise(FX8_GROUP, trial->size, trial->from,
                                spectrum_stride(trial) / 2, gain, UINT32_MAX,
                                to + k * FX8_GROUP % ROW_SPECTRA,
                                turn_stride(trial), clips);
}

static void step_turn(struct fx8_bench_trial *trial, size_t k)
{
    struct fx8_cf32 *to = trial->to;
    trial->operations->turn(
        FX8_GROUP, trial->size, trial->from, spectrum_stride(trial) / 2,
        UINT32_MAX, to + k * FX8_GROUP % ROW_SPECTRA, turn_stride(trial));
}

const struct fx8_bench_kind fx8_bench_quantise = {
    .unit = "byte/s",
    .ruler = FX8_BENCH_COPY,
    .item_size = sizeof(struct fx8_ci8),
    .open = open_turn,
    .step = step_quantise,
};

const struct fx8_bench_kind fx8_bench_turn = {
    .unit = "byte/s",
    .ruler = FX8_BENCH_COPY,
    .item_size = sizeof(struct fx8_cf32),
    .open = open_turn,
    .step = step_turn,
};
