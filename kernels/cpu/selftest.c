/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "kernels/baseline.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/selftest.h"

/* Shapes: whole tiles of every variant and a ragged rest. */
enum {
    N_INPUTS = 37,
    N_SAMPLES = 70,
    N_TAPS = 11,
    N_SPECTRA = 21,
    N_CHANNELS = 37,
    N_ROW = 2 * N_CHANNELS,
    STRIDE = 64, /* items between rows of the results */
    N_WORDS = 3,
    N_PADDED = 40, /* inputs rounded up to whole row blocks */
    N_TIMES = 2 * FX8_GROUP,
    N_HALVES = 999,
    MOST_LENGTH = 240, /* of a transform */
    N_PAIRS = N_INPUTS * (N_INPUTS + 1) / 2,
    N_UNSCALED = 12, /* inputs, two polarisations */
    N_UNSCALED_CHANNELS = 16,
    N_UNSCALED_PAIRS = N_UNSCALED * (N_UNSCALED + 1) / 2,
    N_BASELINES = N_UNSCALED / 2 * (N_UNSCALED / 2 + 1) / 2,
    N_CELLS = N_BASELINES * 4 * N_UNSCALED_CHANNELS
};

/* Bytes that hold any input, and any result, of any trial. */
#define DATA_BYTES   ((size_t)N_PADDED * N_TIMES * sizeof(struct fx8_cf32))
#define RESULT_BYTES ((size_t)80 << 10)

_Static_assert(RESULT_BYTES >= (size_t)N_PAIRS * 2 * 2 * sizeof(double) &&
                   RESULT_BYTES >=
                       2 * (64 + MOST_LENGTH) * FX8_COLUMN * sizeof(float),
               "room for sums and for transforms");

/** Memory of one trial; every part starts on a cache line. */
struct trial {
    _Alignas(FX8_ALIGNMENT) int8_t bytes[DATA_BYTES];
    _Alignas(FX8_ALIGNMENT) float floats[DATA_BYTES / sizeof(float)];
    _Alignas(FX8_ALIGNMENT) uint8_t result[RESULT_BYTES];
    _Alignas(FX8_ALIGNMENT) uint8_t other[RESULT_BYTES];
};

/** One operation of a table on the data of a trial. */
typedef void run_operation(const struct fx8_operations *operations,
                           const struct trial *trial, uint8_t *result);

/** Next value of a linear congruential generator, 0 .. 255. */
static unsigned next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 24;
}

static void run_gather(const struct fx8_operations *operations,
                       const struct trial *trial, uint8_t *result)
{
    /* Neighbours in pairs that are swapped, as in a recording whose slot 0 is
     * polarisation Y. */
    ptrdiff_t offset[N_INPUTS];
    for (size_t size = 1; size <= 2; size++) {
        for (int i = 0; i < N_INPUTS; i++)
            offset[i] = (i ^ 1) * (ptrdiff_t)size;
        operations->gather(N_INPUTS, N_SAMPLES, size, trial->bytes, offset,
                           STRIDE + N_INPUTS, (int8_t *)result,
                           N_SAMPLES * size);
        result += N_INPUTS * N_SAMPLES * size;
    }
}

static void run_fir(const struct fx8_operations *operations,
                    const struct trial *trial, uint8_t *result)
{
    operations->fir(N_SPECTRA, N_TAPS, N_ROW, trial->bytes, trial->floats,
                    (float *)(void *)result, N_ROW);
}

static void run_fir_int16(const struct fx8_operations *operations,
                          const struct trial *trial, uint8_t *result)
{
    /* any 16 bits but -32768 are coefficients */
    int16_t coefficients[N_TAPS * N_ROW];
    memcpy(coefficients, trial->bytes, sizeof coefficients);
    for (int k = 0; k < N_TAPS * N_ROW; k++)
        coefficients[k] |= 1;
    operations->fir_int16(N_SPECTRA, N_TAPS, N_ROW, trial->bytes, coefficients,
                          0x1p-15f, (float *)(void *)result, N_ROW);
}

/* Phases from random bytes. */
static void find_phases(const struct trial *trial, struct fx8_phases *phases)
{
    memcpy(phases, trial->bytes, sizeof *phases);
}

static void run_quantise(const struct fx8_operations *operations,
                         const struct trial *trial, uint8_t *result)
{
    float gain[N_CHANNELS];
    for (int channel = 0; channel < N_CHANNELS; channel++)
        gain[channel] = 0.5f + (float)channel / 16.0f;
    uint32_t *clips = (uint32_t *)(void *)result;
    struct fx8_ci8 *out =
        (struct fx8_ci8 *)(result + N_CHANNELS * sizeof *clips);
    struct fx8_spectra_group group = {.n_spectra = FX8_GROUP,
                                      .n_channels = N_CHANNELS,
                                      .spectra = (const void *)trial->floats,
                                      .stride = N_CHANNELS,
                                      .valid = 0xf7fffffeu};
    operations->quantise(&group, gain, out, STRIDE, clips);
    struct fx8_phases phases;
    find_phases(trial, &phases);
    group.n_spectra = N_SPECTRA;
    group.valid = 0x000ffffeu;
    group.phases = &phases;
    operations->quantise(&group, gain, out + FX8_GROUP, STRIDE, clips);
    const struct fx8_dither dither = {1, 2, 3, 4, FX8_DITHER_SPECTRA + 5};
    group.dither = &dither;
    operations->quantise(&group, gain, out + N_CHANNELS * STRIDE, STRIDE,
                         clips);
}

static void run_turn(const struct fx8_operations *operations,
                     const struct trial *trial, uint8_t *result)
{
    struct fx8_phases phases;
    find_phases(trial, &phases);
    const struct fx8_spectra_group group = {
        .n_spectra = N_SPECTRA,
        .n_channels = N_CHANNELS,
        .spectra = (const void *)trial->floats,
        .stride = N_CHANNELS,
        .valid = 0x000ffffeu,
        .phases = &phases,
    };
    operations->corner_turn(&group, (void *)result, N_SPECTRA);
}

/* A filter in lanes, and both results of its columns. */
static void run_lanes(const struct fx8_operations *operations,
                      const struct trial *trial, uint8_t *result)
{
    const struct fx8_lanes *lanes = &operations->lanes;
    const struct fx8_lanes_plan plan = {.n_passes = 0};
    const struct fx8_lanes_filter filter = {
        .n_taps = N_TAPS, .row = N_ROW, .coefficients = trial->floats};
    float *half = (void *)result;
    struct fx8_ci8 *int8 = (void *)(half + N_ROW * FX8_LANES);
    struct fx8_ci8 *dithered = int8 + N_CHANNELS * STRIDE;
    struct fx8_cf32 *fp32 = (void *)(dithered + N_CHANNELS * STRIDE);
    struct fx8_lanes_channel channels[N_CHANNELS];
    uint32_t clips[N_CHANNELS] = {0};
    float gain[N_CHANNELS];
    for (uint32_t k = 0; k < N_CHANNELS; k++) {
        channels[k] = (struct fx8_lanes_channel){k, N_CHANNELS - 1 - k};
        gain[k] = 0x1p-10f * (float)(k + 1);
    }
    struct fx8_phases phases;
    _Alignas(FX8_ALIGNMENT) float factors[3 * 2 * FX8_GROUP];
    find_phases(trial, &phases);
    struct fx8_lanes_group group = {.n_channels = N_CHANNELS,
                                    .channels = channels,
                                    .halves = {trial->floats, half},
                                    .valid = 0x1ff7ffffu};
    lanes->begin(&plan, &filter, 0x1ff7, trial->bytes, half);
    lanes->quantise(&group, gain, int8, STRIDE, clips);
    lanes->find_factors(&phases, N_CHANNELS, factors);
    group.phases = &phases;
    group.factors = factors;
    group.is_streamed = true;
    lanes->quantise(&group, gain, int8 + FX8_GROUP, STRIDE, clips);
    const struct fx8_dither dither = {1, 2, 3, 4, FX8_DITHER_SPECTRA};
    group.dither = &dither;
    lanes->quantise(&group, gain, dithered, STRIDE, clips);
    lanes->corner_turn(&group, fp32, FX8_GROUP);
    operations->settle();
    fp32[0].re += (float)clips[N_CHANNELS - 1];
    for (size_t k = 0; k < (size_t)N_CHANNELS * FX8_GROUP; k++) {
        fp32[k].re += 0.0f; /* a zero may have either sign */
        fp32[k].im += 0.0f;
    }
}

/* Transform a tone, as strong in each lane as the lane says: its bin holds the
 * length, all others nothing but rounding errors. */
static bool transform_tone(const struct fx8_operations *operations,
                           size_t length, size_t bin, float *columns)
{
    struct fx8_lanes_plan plan;
    _Alignas(FX8_ALIGNMENT) float tone[2 * MOST_LENGTH];
    int8_t samples[2 * MOST_LENGTH * FX8_LANES];
    const struct fx8_lanes_filter filter = {
        .n_taps = 1, .row = 2 * length, .coefficients = tone};
    if (fx8_lanes_open(length, true, &plan, NULL) != FX8_OK)
        return false;
    for (size_t n = 0; n < length; n++) {
        const double angle =
            2 * M_PI * (double)(n * bin % length) / (double)length;
        tone[2 * n] = (float)cos(angle);
        tone[2 * n + 1] = (float)sin(angle);
    }
    for (size_t lane = 0; lane < FX8_LANES; lane++)
        memset(samples + lane * filter.row, (int)lane + 1, filter.row);
    operations->lanes.begin(&plan, &filter, 0xffff, samples, columns);
    for (size_t part = 0; part < plan.n_parts; part++)
        operations->lanes.finish(&plan, part, columns);
    for (size_t k = 0; k < length * FX8_COLUMN; k++)
        columns[k] = rintf(columns[k]) + 0.0f;
    fx8_lanes_close(&plan);
    return true;
}

static void run_transform(const struct fx8_operations *operations,
                          const struct trial *trial, uint8_t *result)
{
    (void)trial;
    /* every radix and a few bins; without memory the result stays empty */
    static const size_t tones[][2] = {
        {64, 1}, {64, 42}, {MOST_LENGTH, 1}, {MOST_LENGTH, 239}};
    float *columns = (void *)result;
    for (size_t i = 0; i < sizeof tones / sizeof *tones; i++) {
        if (!transform_tone(operations, tones[i][0], tones[i][1], columns))
            return;
        columns += tones[i][0] * FX8_COLUMN;
    }
}

static void run_count(const struct fx8_operations *operations,
                      const struct trial *trial, uint8_t *result)
{
    operations->count(N_INPUTS, N_WORDS, (const void *)trial->bytes,
                      (void *)result);
}

/* Accumulators come from the heap, because their size depends on the variant.
 * Without memory the result stays empty and differs from the reference. */
static void run_int8(const struct fx8_operations *operations,
                     const struct trial *trial, uint8_t *result)
{
    void *accumulator;
    if (fx8_allocate(operations->int8.accumulator_size(N_INPUTS),
                     sizeof(int32_t), "a trial", &accumulator, NULL) != FX8_OK)
        return;
    operations->int8.accumulate(N_INPUTS, fx8_row_blocks_all(N_INPUTS), N_TIMES,
                                (const void *)trial->bytes, N_TIMES,
                                accumulator);
    operations->int8.fold(N_INPUTS, fx8_strip_whole(N_INPUTS), accumulator,
                          (void *)result);
    free(accumulator);
}

static void run_fp32(const struct fx8_operations *operations,
                     const struct trial *trial, uint8_t *result)
{
    void *accumulator;
    if (fx8_allocate(operations->fp32.accumulator_size(N_INPUTS),
                     sizeof(double), "a trial", &accumulator, NULL) != FX8_OK)
        return;
    operations->fp32.accumulate(N_INPUTS, fx8_row_blocks_all(N_INPUTS), N_TIMES,
                                (const void *)trial->floats, N_TIMES,
                                accumulator);
    operations->fp32.fold(N_INPUTS, fx8_strip_whole(N_INPUTS), accumulator,
                          (void *)result);
    free(accumulator);
}

/* Sums of these integers are exact in both rounding directions; a zero may have
 * either sign. */
static void run_interval(const struct fx8_operations *operations,
                         const struct trial *trial, uint8_t *result)
{
    double *sums = (void *)result;
    void *accumulator;
    if (fx8_allocate(operations->interval.accumulator_size(N_INPUTS),
                     sizeof(double), "a trial", &accumulator, NULL) != FX8_OK)
        return;
    operations->interval.accumulate(N_INPUTS, fx8_row_blocks_all(N_INPUTS),
                                    N_TIMES, (const void *)trial->floats,
                                    N_TIMES, FX8_GROUP, accumulator);
    operations->interval.fold(N_INPUTS, fx8_strip_whole(N_INPUTS), accumulator,
                              sums, sums + 2 * N_PAIRS);
    for (int k = 0; k < 4 * N_PAIRS; k++)
        sums[k] += 0.0;
    free(accumulator);
}

/* Normal, subnormal and infinite halves from these integers, including ties. */
static void run_half(const struct fx8_operations *operations,
                     const struct trial *trial, uint8_t *result)
{
    static const float scales[] = {1.0f / 3.0f, 0x1.8p-24f, 640.0f};
    float *x = (void *)result;
    uint16_t *half = (void *)(x + N_HALVES);
    for (int k = 0; k < 3; k++, half += N_HALVES)
        operations->half.from_float(N_HALVES, scales[k], trial->floats, half);
    operations->half.to_float(N_HALVES, half - N_HALVES, x);
}

/* Sums of any 64 bits, without the operation cell by cell. */
static void run_unscale(const struct fx8_operations *operations,
                        const struct trial *trial, uint8_t *result)
{
    static const uint8_t flags[N_UNSCALED * N_UNSCALED_CHANNELS] = {[7] = 1};
    struct fx8_product products[N_BASELINES * 4];
    int64_t counts[N_UNSCALED_PAIRS];
    float gains[N_UNSCALED * N_UNSCALED_CHANNELS];
    struct fx8_result results[FX8_N_RESULTS] = {{NULL, NULL, NULL}};
    fx8_baseline_table(N_UNSCALED / 2, 2, products);
    for (size_t k = 0; k < N_UNSCALED_PAIRS; k++)
        counts[k] = (uint8_t)trial->bytes[k];
    for (size_t k = 0; k < N_UNSCALED * N_UNSCALED_CHANNELS; k++)
        gains[k] = trial->floats[k] + 0.5f;
    results[FX8_RESULT_INT8] =
        (struct fx8_result){(float *)(void *)result, result + 12 * N_CELLS,
                            (float *)(void *)(result + 8 * N_CELLS)};
    const struct fx8_postprocess plan = {
        .operations = operations,
        .n_antennas = N_UNSCALED / 2,
        .n_products = 4,
        .n_inputs = N_UNSCALED,
        .n_channels = N_UNSCALED_CHANNELS,
        .channel_average = 1,
        .products = products,
        .spectra_per_dump = UINT8_MAX,
        .gain = gains,
        .flag_channel = flags,
        .flag_input = flags,
        .flag_cell = flags,
        .remove_bias = true,
        .threads.count = 1,
    };
    fx8_postprocess_dump(
        &plan, (void *[FX8_N_RESULTS]){(void *)(uintptr_t)trial->bytes}, counts,
        results);
}

static void run_image(const struct fx8_operations *operations,
                      const struct trial *trial, uint8_t *result)
{
    double turns[3 * N_INPUTS], directions[3 * FX8_IMAGE_LANES];
    for (int k = 0; k < 3 * N_INPUTS; k++)
        turns[k] = 0.37 * trial->bytes[k];
    for (int k = 0; k < 3 * FX8_IMAGE_LANES; k++)
        directions[k] = 0.0041 * trial->bytes[k];
    const struct fx8_image_channel channel = {
        N_INPUTS, turns, (const struct fx8_cf32 *)(const void *)trial->floats};
    float *phasors = (void *)result;
    operations->image(&channel, directions, phasors,
                      phasors + N_INPUTS * 2 * FX8_IMAGE_LANES);
}

static const struct {
    const char *name;
    run_operation *run;
} trials[] = {
    {.name = "gather", .run = run_gather},
    {.name = "fir", .run = run_fir},
    {.name = "fir_int16", .run = run_fir_int16},
    {.name = "quantise", .run = run_quantise},
    {.name = "turn", .run = run_turn},
    {.name = "lanes", .run = run_lanes},
    {.name = "transform", .run = run_transform},
    {.name = "count", .run = run_count},
    {.name = "int8", .run = run_int8},
    {.name = "fp32", .run = run_fp32},
    {.name = "interval", .run = run_interval},
    {.name = "half", .run = run_half},
    {.name = "image", .run = run_image},
    {.name = "unscale", .run = run_unscale},
};

const char *fx8_operations_disagreement(const struct fx8_operations *reference,
                                        const struct fx8_operations *variant)
{
    void *memory;
    if (fx8_allocate(1, sizeof(struct trial), "a trial", &memory, NULL) !=
        FX8_OK)
        return "memory for the trial";
    struct trial *trial = memory;
    uint32_t state = 8;
    for (size_t i = 0; i < DATA_BYTES; i++)
        trial->bytes[i] = (int8_t)((int)next_random(&state) - 128);
    for (size_t i = 0; i < DATA_BYTES / sizeof(float); i++)
        trial->floats[i] = (float)((int)next_random(&state) - 128);
    const char *disagreement = NULL;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        memset(trial->result, 0, RESULT_BYTES);
        memset(trial->other, 0, RESULT_BYTES);
        trials[i].run(reference, trial, trial->result);
        trials[i].run(variant, trial, trial->other);
        if (memcmp(trial->result, trial->other, RESULT_BYTES) != 0) {
            disagreement = trials[i].name;
            break;
        }
    }
    free(memory);
    return disagreement;
}
