/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants.c -- every operation alone, in every variant, compared with the
 * limit of that variant's instructions or of a copy: steps of work at one size,
 * repeated until enough time has passed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/ceilings.h"
#include "correlator/bench/variants.h"
#include "kernels/baseline.h"
#include "kernels/fft.h"

/* Least time of the steps of a round. */
#define ROUND_S 10e-3

/* --- memory ------------------------------------------------------ */

/* Allocate `from`, `to` and `extra`, of so many bytes. */
enum fx8_status fx8_trial_allocate(struct fx8_trial *trial, size_t from,
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

/* Fill with floats from -50 to 50. */
static void fill_floats(float *values, size_t n)
{
    for (size_t k = 0; k < n; k++)
        values[k] = (float)(k * 37 % 101) - 50.0f;
}

#define MIB ((size_t)1 << 20)

/* Floats between two spectra, as in the engine. */
static size_t spectrum_stride(const struct fx8_trial *trial)
{
    return fx8_fft_stride_of(FX8_FFT_COMPLEX, trial->size);
}

/* --- align ------------------------------------------------------- */

/* Samples of a step: larger than the caches, like a recording. */
#define ALIGN_BYTES (32 * MIB)

/* Bytes between two rows, as in the engine: the distance of rows must not be a
 * power of two. */
#define ROW_GAP 64

static enum fx8_status open_align(struct fx8_trial *trial,
                                  struct fx8_error *error)
{
    FX8_TRY(fx8_trial_allocate(trial, ALIGN_BYTES,
                               ALIGN_BYTES + trial->size * ROW_GAP,
                               trial->size * sizeof(ptrdiff_t), error));
    fx8_bench_fill(trial->from, ALIGN_BYTES);
    ptrdiff_t *offset = trial->extra;
    for (size_t i = 0; i < trial->size; i++)
        offset[i] = (ptrdiff_t)(i * trial->variety);
    trial->bytes = trial->work = 2.0 * ALIGN_BYTES;
    return FX8_OK;
}

static void step_align(struct fx8_trial *trial, size_t k)
{
    (void)k;
    const size_t sample = trial->size * trial->variety;
    const size_t n_samples = ALIGN_BYTES / sample;
    trial->operations->gather(trial->size, n_samples, trial->variety,
                              trial->from, trial->extra, (ptrdiff_t)sample,
                              trial->to, n_samples * trial->variety + ROW_GAP);
}

/* --- filter ------------------------------------------------------ */

#define N_TAPS 8

/* Samples that the steps go through, and least samples of a step: a call for
 * few channels is too short for the clock. */
#define FILTER_BYTES (8 * MIB)
#define STEP_BYTES   ((size_t)1 << 16)

static size_t filter_calls(const struct fx8_trial *trial)
{
    const size_t call = FX8_GROUP * 2 * trial->size;
    return call < STEP_BYTES ? STEP_BYTES / call : 1;
}

static enum fx8_status open_filter(struct fx8_trial *trial,
                                   struct fx8_error *error)
{
    const size_t row = 2 * trial->size, n_weights = N_TAPS * row;
    FX8_TRY(
        fx8_trial_allocate(trial, FILTER_BYTES + (FX8_GROUP + N_TAPS) * row,
                           FX8_GROUP * spectrum_stride(trial) * sizeof(float),
                           n_weights * trial->kind->item_size, error));
    fx8_bench_fill(trial->from, trial->from_size);
    for (size_t k = 0; k < n_weights; k++)
        if (trial->kind->ruler == FX8_RULER_FLOAT)
            ((float *)trial->extra)[k] = (float)(1 + k % 7) / 16.0f;
        else
            ((int16_t *)trial->extra)[k] = (int16_t)(2000 * (k % 7));
    trial->work = (double)(filter_calls(trial) * FX8_GROUP * row) * N_TAPS / 4;
    return FX8_OK;
}

static void step_filter(struct fx8_trial *trial, size_t k)
{
    const struct fx8_operations *operations = trial->operations;
    const size_t row = 2 * trial->size, n = filter_calls(trial);
    const size_t stride = spectrum_stride(trial);
    for (size_t call = k * n; call < (k + 1) * n; call++) {
        const int8_t *samples =
            (const int8_t *)trial->from + call * FX8_GROUP * row % FILTER_BYTES;
        if (trial->kind->ruler == FX8_RULER_FLOAT)
            operations->fir(FX8_GROUP, N_TAPS, row, samples, trial->extra,
                            trial->to, stride);
        else
            operations->fir_int16(FX8_GROUP, N_TAPS, row, samples, trial->extra,
                                  0x1p-15f, trial->to, stride);
    }
}

/* --- quantise, turn ---------------------------------------------- */

/* Spectra of a row of the result, and items between two rows. */
#define ROW_SPECTRA 4096

static size_t turn_stride(const struct fx8_trial *trial)
{
    return ROW_SPECTRA + FX8_ALIGNMENT / trial->kind->item_size;
}

/* `extra` holds phases, gains and clips. */
static float *turn_gain(const struct fx8_trial *trial)
{
    return (float *)((struct fx8_phases *)trial->extra + 1);
}

static struct fx8_spectra_group turn_group(const struct fx8_trial *trial)
{
    return (struct fx8_spectra_group){
        .n_spectra = FX8_GROUP,
        .n_channels = trial->size,
        .spectra = trial->from,
        .stride = spectrum_stride(trial) / 2,
        .valid = UINT32_MAX,
        .phases = trial->variety == 0 ? NULL : trial->extra,
    };
}

/* Spectra of a group, in cache as after the FFT; rows of results, in memory. */
static enum fx8_status open_turn(struct fx8_trial *trial,
                                 struct fx8_error *error)
{
    const size_t item_size = trial->kind->item_size;
    FX8_TRY(fx8_trial_allocate(
        trial, FX8_GROUP * spectrum_stride(trial) * sizeof(float),
        trial->size * turn_stride(trial) * item_size,
        sizeof(struct fx8_phases) +
            trial->size * (sizeof(float) + sizeof(uint32_t)),
        error));
    fill_floats(trial->from, FX8_GROUP * spectrum_stride(trial));
    struct fx8_phases *phases = trial->extra;
    for (size_t t = 0; t < FX8_GROUP; t++) {
        phases->first[t] = t * 0x0123456789abcdef;
        phases->slope[t] = 0x00ffeeddccbbaa99;
    }
    phases->middle_slope = phases->slope[0];
    float *gain = turn_gain(trial);
    for (size_t k = 0; k < trial->size; k++)
        gain[k] = 0.9f;
    trial->bytes = trial->work =
        (double)(FX8_GROUP * trial->size *
                 (sizeof(struct fx8_cf32) + item_size));
    return FX8_OK;
}

static void step_quantise(struct fx8_trial *trial, size_t k)
{
    float *gain = turn_gain(trial);
    struct fx8_ci8 *to = trial->to;
    const struct fx8_spectra_group group = turn_group(trial);
    trial->operations->quantise(&group, gain, to + k * FX8_GROUP % ROW_SPECTRA,
                                turn_stride(trial),
                                (uint32_t *)(gain + trial->size));
}

static void step_turn(struct fx8_trial *trial, size_t k)
{
    struct fx8_cf32 *to = trial->to;
    const struct fx8_spectra_group group = turn_group(trial);
    trial->operations->corner_turn(&group, to + k * FX8_GROUP % ROW_SPECTRA,
                                   turn_stride(trial));
}

/* --- correlators: channel by channel, on spectra larger than the caches ----
 */

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

static size_t channel_bytes(const struct fx8_trial *trial)
{
    const size_t item_size = trial->kind->item_size;
    return fx8_round_up(trial->size, FX8_ROW_BLOCK) * stride_of(item_size) *
           item_size;
}

static size_t accumulator_bytes(const struct fx8_trial *trial)
{
    const struct fx8_operations *operations = trial->operations;
    if (trial->kind->ruler == FX8_RULER_INT8)
        return operations->int8.accumulator_size(trial->size) * sizeof(int32_t);
    return sizeof(double) *
           (trial->kind->ruler == FX8_RULER_FLOAT
                ? operations->fp32.accumulator_size(trial->size)
                : operations->interval.accumulator_size(trial->size));
}

/* `extra` holds the accumulator, `to` the sums. */
static enum fx8_status open_products(struct fx8_trial *trial,
                                     struct fx8_error *error)
{
    const size_t channel = channel_bytes(trial);
    const size_t n_channels =
        channel < SPECTRA_BYTES ? SPECTRA_BYTES / channel : 1;
    FX8_TRY(fx8_trial_allocate(trial, n_channels * channel,
                               fx8_pair_count(trial->size) * 4 * sizeof(double),
                               accumulator_bytes(trial), error));
    if (trial->kind->ruler == FX8_RULER_INT8)
        fx8_bench_fill(trial->from, trial->from_size);
    else
        fill_floats(trial->from, trial->from_size / sizeof(float));
    trial->work = (double)fx8_pair_count(trial->size) * N_TIMES;
    return FX8_OK;
}

/* The channel of step `k`. */
static void step_products(struct fx8_trial *trial, size_t k)
{
    const struct fx8_operations *operations = trial->operations;
    const size_t n = trial->size, channel = channel_bytes(trial);
    const struct fx8_strip whole = fx8_strip_whole(n);
    const size_t stride = stride_of(trial->kind->item_size);
    const void *spectra =
        (const char *)trial->from + k % (trial->from_size / channel) * channel;
    const bool is_fold = k % FOLD_STEPS == FOLD_STEPS - 1;
    double *sums = trial->to;
    if (trial->kind->ruler == FX8_RULER_INT8) {
        operations->int8.accumulate(n, fx8_row_blocks_all(n), N_TIMES, spectra,
                                    stride, trial->extra);
        if (is_fold)
            operations->int8.fold(n, whole, trial->extra, trial->to);
    } else if (trial->kind->ruler == FX8_RULER_FLOAT) {
        operations->fp32.accumulate(n, fx8_row_blocks_all(n), N_TIMES, spectra,
                                    stride, trial->extra);
        if (is_fold)
            operations->fp32.fold(n, whole, trial->extra, sums);
    } else {
        operations->interval.accumulate(n, fx8_row_blocks_all(n), N_TIMES,
                                        spectra, stride, FX8_MAX_FP32_PRODUCTS,
                                        trial->extra);
        if (is_fold)
            operations->interval.fold(n, whole, trial->extra, sums,
                                      sums + 2 * fx8_pair_count(n));
    }
}

/* --- the trials --------------------------------------------------- */

enum {
    ALIGN,
    FILTER,
    FILTER_INT16,
    QUANTISE,
    TURN,
    CORRELATE_INT8,
    CORRELATE_FP32,
    CORRELATE_INTERVAL,
    POSTPROCESS,
    QUICKLOOK,
    IMAGE
};

static const struct fx8_trial_kind kinds[] = {
    [ALIGN] = {"byte/s", FX8_RULER_COPY, 0, open_align, step_align},
    /* 8 taps in floats, and in 16-bit integers */
    [FILTER] = {"CMAC/s", FX8_RULER_FLOAT, sizeof(float), open_filter,
                step_filter},
    [FILTER_INT16] = {"CMAC/s", FX8_RULER_INT16, sizeof(int16_t), open_filter,
                      step_filter},
    /* the corner turn, with and without the quantiser */
    [QUANTISE] = {"byte/s", FX8_RULER_COPY, sizeof(struct fx8_ci8), open_turn,
                  step_quantise},
    [TURN] = {"byte/s", FX8_RULER_COPY, sizeof(struct fx8_cf32), open_turn,
              step_turn},
    [CORRELATE_INT8] = {"CMAC/s", FX8_RULER_INT8, sizeof(struct fx8_ci8),
                        open_products, step_products},
    [CORRELATE_FP32] = {"CMAC/s", FX8_RULER_FLOAT, sizeof(struct fx8_cf32),
                        open_products, step_products},
    [CORRELATE_INTERVAL] = {"CMAC/s", FX8_RULER_TWO_FLOATS,
                            sizeof(struct fx8_cf32), open_products,
                            step_products},
    [POSTPROCESS] = {"cell/s", FX8_RULER_COPY, 0, fx8_trial_open_postprocess,
                     fx8_trial_step_postprocess},
    [IMAGE] = {"CMAC/s", FX8_RULER_FLOAT, 0, fx8_trial_open_image,
               fx8_trial_step_image},
    [QUICKLOOK] = {"cell/s", FX8_RULER_COPY, 0, fx8_trial_open_look,
                   fx8_trial_step_look},
};

static const struct {
    const char *name;
    size_t kind;
    size_t size, variety;
} trials[] = {
    {"align 16 complex", ALIGN, 16, 2},
    {"align 64 complex", ALIGN, 64, 2},
    {"align 512 complex", ALIGN, 512, 2},
    {"align 512 real", ALIGN, 512, 1},
    {"filter 32 fp32", FILTER, 32, 0},
    {"filter 1024 fp32", FILTER, 1024, 0},
    {"filter 32 int16", FILTER_INT16, 32, 0},
    {"filter 1024 int16", FILTER_INT16, 1024, 0},
    {"quantise 32", QUANTISE, 32, 0},
    {"quantise 1024", QUANTISE, 1024, 0},
    {"quantise 1024 tracked", QUANTISE, 1024, 1},
    {"turn 32", TURN, 32, 0},
    {"turn 1024", TURN, 1024, 0},
    {"turn 1024 tracked", TURN, 1024, 1},
    {"correlate 16 int8", CORRELATE_INT8, 16, 0},
    {"correlate 64 int8", CORRELATE_INT8, 64, 0},
    {"correlate 256 int8", CORRELATE_INT8, 256, 0},
    {"correlate 16 fp32", CORRELATE_FP32, 16, 0},
    {"correlate 64 fp32", CORRELATE_FP32, 64, 0},
    {"correlate 256 fp32", CORRELATE_FP32, 256, 0},
    {"correlate 16 interval", CORRELATE_INTERVAL, 16, 0},
    {"correlate 64 interval", CORRELATE_INTERVAL, 64, 0},
    {"post-process 64", POSTPROCESS, 64, 0},
    {"quick-look 64 ieee", QUICKLOOK, 64, FX8_FUNCTIONS_IEEE},
    {"quick-look 64 fast", QUICKLOOK, 64, FX8_FUNCTIONS_FAST},
    {"image 24", IMAGE, 24, 0},
    {"image 256", IMAGE, 256, 0},
};

/* --- rounds ------------------------------------------------------ */

/* Copy as many bytes as a step reads and writes, between the same areas. */
static void copy_step(struct fx8_trial *trial, size_t k)
{
    const size_t size = (size_t)(trial->bytes / 2.0);
    const size_t n_from = trial->from_size / size;
    const size_t n_to = trial->to_size / size;
    const size_t n_copies = trial->n_copies > 0 ? trial->n_copies : 1;
    for (size_t copy = 0; copy < n_copies; copy++)
        memcpy((char *)trial->to + k % n_to * size,
               (const char *)trial->from + k % n_from * size, size);
}

/* Steps per second. */
static double time_steps(struct fx8_trial *trial,
                         void (*step)(struct fx8_trial *trial, size_t k))
{
    const double start = fx8_clock_seconds();
    double seconds = 0.0;
    size_t k = 0;
    while (seconds < ROUND_S) {
        step(trial, k++);
        seconds = fx8_clock_seconds() - start;
    }
    return (double)k / seconds;
}

/* Rate of the ruler of a trial, in the trial's unit, and its name. */
static double measure_ruler(const struct fx8_trial_kind *kind,
                            struct fx8_trial *trial, const char **name)
{
    static const enum fx8_ceiling_work works[] = {
        [FX8_RULER_INT8] = FX8_CEILING_INT8,
        [FX8_RULER_INT16] = FX8_CEILING_INT16,
        [FX8_RULER_FLOAT] = FX8_CEILING_FLOAT,
        [FX8_RULER_TWO_FLOATS] = FX8_CEILING_FLOAT,
    };
    *name = "memcpy of as much";
    if (kind->ruler == FX8_RULER_COPY)
        return trial->work * time_steps(trial, copy_step);
    const enum fx8_ceiling ceiling =
        fx8_ceiling_of(trial->operations->name, works[kind->ruler]);
    *name = fx8_ceiling_describe(ceiling)->name;
    return fx8_ceiling_measure(ceiling) /
           (kind->ruler == FX8_RULER_TWO_FLOATS ? 2.0 : 1.0);
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "%s", trials[index].name);
}

static void close_trial(struct fx8_trial *trial)
{
    fx8_trial_close_look(trial);
    free(trial->from);
    free(trial->to);
    free(trial->extra);
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const size_t index = run->which->index;
    const struct fx8_trial_kind *kind = &kinds[trials[index].kind];
    FX8_AUTO(close_trial)
    struct fx8_trial trial = {.kind = kind,
                              .operations = run->operations,
                              .size = trials[index].size,
                              .variety = trials[index].variety};
    struct fx8_bench_figure figure = {.quantity = "rate",
                                      .variant = run->operations->name,
                                      .unit = kind->unit};
    double values[FX8_BENCH_ROUNDS], ceilings[FX8_BENCH_ROUNDS];
    FX8_TRY(kind->open(&trial, error));
    kind->step(&trial, 0); /* touches the memory */
    for (size_t r = 0; r < run->n_rounds; r++) {
        ceilings[r] = measure_ruler(kind, &trial, &figure.ruler);
        values[r] = trial.work * time_steps(&trial, kind->step);
    }
    if (ceilings[0] <= 0.0)
        figure.ruler = NULL; /* the ruler is for another CPU */
    return fx8_bench_put(run, figure, values, ceilings, error);
}

const struct fx8_bench_section fx8_bench_variants = {
    .name = "variants",
    .about = "operations by themselves, inputs or channels; every variant "
             "unless one is named; one thread",
    .n_cases = sizeof trials / sizeof trials[0],
    .n_rounds = 5,
    .is_every_variant = true,
    .has_variants = true,
    .quantities = {"rate"},
    .name_case = name_case,
    .measure = measure_case,
};
