/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_cpu.c -- the CPU engine: geometry, memory, dumps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cpu/engine_cpu.h"

/* Most bytes of spectra in a block.  Long sums gain more than spectra that stay
 * in the cache: with prefetch the correlator keeps up with the memory even for
 * 16 inputs on two cores (fx8 bench). */
#define BLOCK_BYTES ((size_t)64 << 20)

/* Blocks of very wide spectra: memory matters more than speed. */
#define MOST_BLOCK_BYTES ((size_t)256 << 20)

/* Blocks that do not stay in a second-level cache are written past it (32
 * spectra of 16 inputs and 1024 channels, 1 MiB, lose a fifth by it; from 4 MiB
 * on the filter bank gains, a quarter at most). */
#define STREAMED_BYTES ((size_t)2 << 20)

/* Most and fewest spectra per block: more gain nothing; with fewer, horizontal
 * sums cost the correlator too much, even from the cache. */
#define MOST_SPECTRA  ((size_t)2048)
#define LEAST_SPECTRA ((size_t)256)

/* The order in which moments are added must not depend on the threads: time
 * segments for so many. */
#define MOMENT_THREADS ((size_t)16)

/* Bytes of one spectrum of all inputs in the order of the correlator. */
static size_t spectrum_bytes(const struct fx8_engine *engine)
{
    size_t bytes = 0;
    if (engine->plan.precisions & FX8_PRECISION_INT8)
        bytes += sizeof(struct fx8_ci8);
    if (engine->plan.precisions & (FX8_PRECISION_FP32 | FX8_PRECISION_INTERVAL))
        bytes += sizeof(struct fx8_cf32);
    return fx8_product(engine->n_channels, engine->n_rows, bytes, 1);
}

static size_t choose_block_spectra(const struct fx8_engine *engine)
{
    size_t spectra = MOST_SPECTRA;
    const size_t bytes = spectrum_bytes(engine);
    while (spectra > LEAST_SPECTRA && bytes > BLOCK_BYTES / spectra)
        spectra /= 2;
    while (spectra > FX8_GROUP && bytes > MOST_BLOCK_BYTES / spectra)
        spectra /= 2;
    const int64_t per_dump = engine->plan.spectra_per_dump;
    return (int64_t)spectra < per_dump ? spectra : (size_t)per_dump;
}

static void lay_out(struct fx8_engine *engine)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    engine->n_channels = plan->bank.n_channels;
    engine->n_rows = fx8_round_up(plan->n_inputs, FX8_ROW_BLOCK);
    engine->block_spectra = choose_block_spectra(engine);
    /* one extra cache line: rows a power of two apart would share the same few
     * lines of the first-level cache */
    const size_t n_times = fx8_round_up(engine->block_spectra, FX8_GROUP);
    engine->stride8 = n_times + FX8_ALIGNMENT / sizeof(struct fx8_ci8);
    engine->stride32 = n_times + FX8_ALIGNMENT / sizeof(struct fx8_cf32);
    engine->is_streamed =
        spectrum_bytes(engine) >= STREAMED_BYTES / engine->block_spectra;
    const size_t n_groups = n_times / FX8_GROUP;
    const size_t threads =
        plan->has_moments ? MOMENT_THREADS : plan->machine.threads.count;
    const size_t wanted = (4 * threads + plan->n_inputs - 1) / plan->n_inputs;
    engine->n_segments = threads == 1 ? 1 : wanted;
    if (engine->n_segments > n_groups)
        engine->n_segments = n_groups;
    engine->size8 = engine->operations->int8.accumulator_size(plan->n_inputs);
    engine->size32 = engine->operations->fp32.accumulator_size(plan->n_inputs);
    engine->size_interval =
        engine->operations->interval.accumulator_size(plan->n_inputs);
    engine->fft_batch = fx8_fft_batch(plan->bank.fft_length);
}

#define N_ARRAYS 17

static void list_arrays(struct fx8_engine *engine,
                        struct fx8_array arrays[N_ARRAYS])
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const size_t channels = engine->n_channels, inputs = plan->n_inputs;
    const size_t pairs = fx8_pair_count(inputs);
    const bool int8 = (plan->precisions & FX8_PRECISION_INT8) != 0;
    const bool fp32 = (plan->precisions & FX8_PRECISION_FP32) != 0;
    const bool interval = (plan->precisions & FX8_PRECISION_INTERVAL) != 0;
    const bool bank = engine->has_filterbank;
    const size_t sums = fx8_product(channels, pairs, 2, 1);
    const bool is_long =
        plan->spectra_per_dump > FX8_MAX_INT32_SPECTRA - (int64_t)MOST_SPECTRA;
    const bool is_divided =
        plan->spectra_per_dump > fx8_engine_segment(plan->spectra_per_dump);
    const struct fx8_array list[N_ARRAYS] = {
        {&engine->coefficients,
         fx8_product(plan->bank.n_taps, fx8_filterbank_row(&plan->bank), 1, 1),
         bank ? sizeof(float) : 0},
        {&engine->coefficients16,
         fx8_product(plan->bank.n_taps, fx8_filterbank_row(&plan->bank), 1, 1),
         bank && fx8_has_int16_fir(plan) ? sizeof(int16_t) : 0},
        {&engine->gain, fx8_product(inputs, channels, 1, 1), sizeof(float)},
        {&engine->parts, channels,
         engine->has_lanes ? sizeof *engine->parts : 0},
        {&engine->scratch,
         fx8_product(plan->machine.threads.count, engine->scratch_size, 1, 1),
         bank ? sizeof(float) : 0},
        {&engine->x8, fx8_product(channels, engine->n_rows, engine->stride8, 1),
         int8 ? sizeof(struct fx8_ci8) : 0},
        {&engine->x32,
         fx8_product(channels, engine->n_rows, engine->stride32, 1),
         fp32 || interval ? sizeof(struct fx8_cf32) : 0},
        {&engine->accumulator8, fx8_product(channels, engine->size8, 1, 1),
         int8 ? sizeof(int32_t) : 0},
        {&engine->accumulator32, fx8_product(channels, engine->size32, 1, 1),
         fp32 ? sizeof(double) : 0},
        {&engine->accumulator_interval,
         fx8_product(channels, engine->size_interval, 1, 1),
         interval ? sizeof(double) : 0},
        {&engine->folded[FX8_RESULT_INT8], sums,
         int8 && is_long ? sizeof(int64_t) : 0},
        {&engine->folded[FX8_RESULT_FP32], sums,
         fp32 && is_divided ? sizeof(double) : 0},
        {&engine->folded[FX8_RESULT_DOWN], sums,
         interval && is_divided ? sizeof(double) : 0},
        {&engine->folded[FX8_RESULT_UP], sums,
         interval && is_divided ? sizeof(double) : 0},
        {&engine->counts.pairs, pairs, sizeof(int64_t)},
        {&engine->clips, fx8_product(engine->n_segments, inputs, channels, 1),
         sizeof(uint32_t)},
        {&engine->moments,
         fx8_product(engine->n_segments + 1, inputs, channels, 2),
         plan->has_moments ? sizeof(double) : 0},
    };
    memcpy(arrays, list, sizeof list);
}

static enum fx8_status allocate(struct fx8_engine *engine,
                                struct fx8_error *error)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(engine, arrays);
    engine->memory = fx8_arrays_size(arrays, N_ARRAYS);
    if (plan->admit != NULL)
        FX8_TRY(plan->admit(plan->admit_context, engine->memory,
                            engine->block_spectra, error));
    return fx8_allocate_arrays(arrays, N_ARRAYS, "the engine", error);
}

static enum fx8_status open_lanes(struct fx8_engine *engine,
                                  struct fx8_error *error)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    engine->has_lanes = true;
    engine->scratch_size =
        fx8_product(fx8_filterbank_row(bank), FX8_GROUP, 1, 1) +
        fx8_lanes_factors(bank->n_channels);
    snprintf(engine->fft_name, sizeof engine->fft_name, "lanes");
    return fx8_lanes_open(bank->fft_length, bank->is_complex, &engine->lanes,
                          error);
}

static enum fx8_status open_fftw(struct fx8_engine *engine, bool is_measured,
                                 struct fx8_error *error)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    FX8_TRY(fx8_fft_open(bank->is_complex ? FX8_FFT_COMPLEX : FX8_FFT_REAL,
                         bank->fft_length, engine->fft_batch, is_measured,
                         &engine->fft, error));
    engine->scratch_size = fx8_fft_size(engine->fft);
    snprintf(engine->fft_name, sizeof engine->fft_name, "fftw %s batch %zu",
             is_measured ? "measure" : "estimate", engine->fft_batch);
    return FX8_OK;
}

static enum fx8_status open_transform(struct fx8_engine *engine,
                                      struct fx8_error *error)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    const enum fx8_transform wanted = engine->plan.machine.transform;
    const bool has_lanes = fx8_lanes_has(bank->fft_length, bank->is_complex);
    if (wanted == FX8_TRANSFORM_LANES && !has_lanes)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "plan: transform: lanes: %zu samples per spectrum: "
                        "expected 8 to 65536 channels, without prime factors "
                        "above 5",
                        bank->fft_length);
    /* the reference is too slow: it follows the definition */
    const bool is_fast = engine->operations->lanes.begin !=
                         fx8_operations_variant(0)->lanes.begin;
    if (wanted == FX8_TRANSFORM_LANES ||
        (wanted == FX8_TRANSFORM_AUTO && has_lanes && is_fast))
        return open_lanes(engine, error);
    return open_fftw(engine, wanted == FX8_TRANSFORM_MEASURE, error);
}

/* List the channels by part of the transform. */
static void set_parts(struct fx8_engine *engine)
{
    const struct fx8_lanes_plan *lanes = &engine->lanes;
    struct fx8_lanes_channel *next = engine->parts;
    for (size_t part = 0; part < lanes->n_parts; part++) {
        for (size_t c = 0; c < engine->n_channels; c++) {
            const size_t bin = fx8_filterbank_bin(&engine->plan.bank, c);
            if (fx8_lanes_part(lanes, bin) == part)
                *next++ =
                    (struct fx8_lanes_channel){(uint32_t)c, lanes->place[bin]};
        }
        engine->part_begin[part + 1] = (size_t)(next - engine->parts);
    }
}

static void take_coefficients(struct fx8_engine *engine,
                              const float *coefficients)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    const size_t n = bank->n_taps * fx8_filterbank_row(bank);
    memcpy(engine->coefficients, coefficients, n * sizeof *coefficients);
    if (fx8_has_int16_fir(&engine->plan))
        engine->scale16 =
            fx8_filterbank_int16(n, coefficients, engine->coefficients16);
}

static void cpu_close(struct fx8_engine **engine)
{
    struct fx8_engine *e = *engine;
    if (e == NULL)
        return;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(e, arrays);
    fx8_free_arrays(arrays, N_ARRAYS);
    fx8_fft_close(&e->fft);
    fx8_lanes_close(&e->lanes);
    free(e);
    *engine = NULL;
}

static enum fx8_status cpu_open(const struct fx8_engine_plan *plan,
                                struct fx8_engine **engine,
                                struct fx8_error *error)
{
    *engine = NULL;
    void *memory;
    FX8_TRY(
        fx8_allocate(1, sizeof(struct fx8_engine), "engine", &memory, error));
    struct fx8_engine *e = memory;
    e->plan = *plan;
    e->has_filterbank = plan->coefficients != NULL;
    e->segment = -1;
    enum fx8_status status =
        fx8_operations_select(plan->machine.kernel, &e->operations, error);
    if (status != FX8_OK)
        goto fail;
    lay_out(e);
    snprintf(e->fft_name, sizeof e->fft_name, "none");
    if (e->has_filterbank && (status = open_transform(e, error)) != FX8_OK)
        goto fail;
    if ((status = allocate(e, error)) != FX8_OK)
        goto fail;
    if (e->has_filterbank)
        take_coefficients(e, plan->coefficients);
    if (e->has_lanes)
        set_parts(e);
    e->plan.coefficients = e->coefficients;
    for (size_t i = 0; i < plan->n_inputs * e->n_channels; i++)
        e->gain[i] = 1.0f;
    e->facts = (struct fx8_engine_facts){
        .block_spectra = e->block_spectra,
        .memory = e->memory,
        .operations = e->operations,
        .device = "",
        .kernel = e->operations->name,
        .fft_plan = e->fft_name,
    };
    *engine = e;
    return FX8_OK;
fail:
    cpu_close(&e);
    return status;
}

static const struct fx8_engine_facts *cpu_facts(const struct fx8_engine *engine)
{
    return &engine->facts;
}

static enum fx8_status cpu_set_gain(struct fx8_engine *engine, size_t input,
                                    const float *gain, struct fx8_error *error)
{
    (void)error;
    memcpy(engine->gain + input * engine->n_channels, gain,
           engine->n_channels * sizeof *gain);
    return FX8_OK;
}

/* Whether there is any spectrum to correlate. */
static bool count_products(struct fx8_engine *engine,
                           const struct fx8_engine_block *block)
{
    return fx8_count_products(engine->operations, engine->plan.n_inputs,
                              block->n_spectra, block->valid,
                              &engine->counts) != FX8_BLOCK_EMPTY;
}

/* Before the first block of a segment: fold the sums of floats and the moments,
 * in which the order of additions counts. */
static void begin_segment(struct fx8_engine *engine,
                          const struct fx8_engine_block *block)
{
    const unsigned kinds =
        engine->plan.precisions & ~(unsigned)FX8_PRECISION_INT8;
    const int64_t segment = block->first_spectrum /
                            fx8_engine_segment(engine->plan.spectra_per_dump);
    if (engine->segment >= 0 && engine->segment != segment) {
        if (kinds != 0)
            fx8_cpu_fold_aside(engine, kinds);
        fx8_cpu_fold_moments(engine);
    }
    engine->segment = segment;
}

/* Pass the watched rows of the current block to take(). */
static void show_block(const struct fx8_engine *engine)
{
    const struct fx8_engine_watch *watch = &engine->watch;
    const struct fx8_ci8 *int8[FX8_WATCHED_INPUTS];
    const struct fx8_cf32 *fp32[FX8_WATCHED_INPUTS];
    if (watch->take == NULL)
        return;
    for (size_t k = 0; k < watch->n_inputs; k++) {
        const size_t row = watch->channel * engine->n_rows + watch->inputs[k];
        if (engine->x8 != NULL)
            int8[k] = engine->x8 + row * engine->stride8;
        if (engine->x32 != NULL)
            fp32[k] = engine->x32 + row * engine->stride32;
    }
    watch->take(watch->context, engine->n_spectra,
                engine->x8 == NULL ? NULL : int8,
                engine->x32 == NULL ? NULL : fp32);
}

static enum fx8_status cpu_push(struct fx8_engine *engine,
                                const struct fx8_engine_block *block,
                                struct fx8_error *error)
{
    (void)error;
    engine->n_spectra = block->n_spectra;
    engine->is_empty = !count_products(engine, block);
    if (engine->is_empty)
        return FX8_OK;
    const double begin = fx8_clock_seconds();
    begin_segment(engine, block);
    const double start = fx8_clock_seconds();
    fx8_cpu_channelize(engine, block);
    const double middle = fx8_clock_seconds();
    fx8_cpu_correlate(engine, block->n_spectra);
    engine->times.channelize_s += middle - start;
    engine->times.correlate_s += start - begin + fx8_clock_seconds() - middle;
    show_block(engine);
    return FX8_OK;
}

/* Add up the clip counts of all time segments and clear them. */
static void collect_clips(struct fx8_engine *engine, int64_t *clips)
{
    const size_t n_items = engine->plan.n_inputs * engine->n_channels;
    for (size_t item = 0; item < n_items; item++) {
        clips[item] = 0;
        for (size_t s = 0; s < engine->n_segments; s++) {
            clips[item] += engine->clips[s * n_items + item];
            engine->clips[s * n_items + item] = 0;
        }
    }
}

/* Copy a strip of what was set aside to the sums of the strip. */
static void copy_strip(const struct fx8_engine *engine, struct fx8_strip strip,
                       const void *folded, void *sums)
{
    const size_t n_inputs = engine->plan.n_inputs;
    const size_t step = fx8_pair_count(n_inputs), pair = 2 * sizeof(int64_t);
    const char *from = folded;
    char *to = sums;
    for (size_t channel = 0; channel < engine->n_channels; channel++)
        for (size_t j = strip.begin; j < n_inputs; j++) {
            const size_t bytes = pair * fx8_strip_row(strip, j);
            memcpy(to,
                   from +
                       pair * (channel * step + fx8_pair_index(strip.begin, j)),
                   bytes);
            to += bytes;
        }
}

/* Fold a strip of all accumulators, after what was set aside. */
static void fold_strip(struct fx8_engine *engine, struct fx8_strip strip,
                       const struct fx8_engine_dump *dump)
{
    void *direct[FX8_N_RESULTS];
    if (engine->used != 0 && strip.begin == 0)
        fx8_cpu_fold_aside(engine, engine->used);
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
        const bool is_aside = (engine->used >> kind & 1) != 0;
        direct[kind] = is_aside ? NULL : dump->sums[kind];
        if (is_aside)
            copy_strip(engine, strip, engine->folded[kind], dump->sums[kind]);
    }
    fx8_cpu_fold(engine, strip, direct, true);
    if (strip.end < engine->plan.n_inputs)
        return;
    engine->used = 0;
    engine->segment = -1;
}

static enum fx8_status cpu_finish_dump(struct fx8_engine *engine,
                                       struct fx8_engine_dump *dump,
                                       struct fx8_error *error)
{
    (void)error;
    const double start = fx8_clock_seconds();
    const size_t n_inputs = engine->plan.n_inputs;
    const struct fx8_strip strip =
        dump->strip.end == 0 ? fx8_strip_whole(n_inputs) : dump->strip;
    fold_strip(engine, strip, dump);
    fx8_take_counts(n_inputs, strip, &engine->counts, dump->counts);
    collect_clips(engine, dump->clips);
    if (strip.begin == 0)
        fx8_cpu_take_moments(engine, dump->moments);
    engine->watch.take = NULL;
    engine->times.correlate_s += fx8_clock_seconds() - start;
    return FX8_OK;
}

static enum fx8_status check_planned(const struct fx8_engine *engine, bool int8,
                                     bool fp32, struct fx8_error *error)
{
    if ((int8 && engine->x8 == NULL) || (fp32 && engine->x32 == NULL))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "engine: spectra of a precision that was not planned");
    return FX8_OK;
}

static enum fx8_status cpu_export_spectra(struct fx8_engine *engine,
                                          struct fx8_ci8 *int8,
                                          struct fx8_cf32 *fp32,
                                          struct fx8_error *error)
{
    FX8_TRY(check_planned(engine, int8 != NULL, fp32 != NULL, error));
    const size_t n_inputs = engine->plan.n_inputs;
    for (size_t c = 0; c < engine->n_channels; c++)
        for (size_t t = 0; t < engine->n_spectra; t++)
            for (size_t i = 0; i < n_inputs; i++) {
                const size_t out = (c * engine->n_spectra + t) * n_inputs + i;
                const size_t row = c * engine->n_rows + i;
                if (int8 != NULL)
                    int8[out] = engine->is_empty
                                    ? (struct fx8_ci8){0, 0}
                                    : engine->x8[row * engine->stride8 + t];
                if (fp32 != NULL)
                    fp32[out] = engine->is_empty
                                    ? (struct fx8_cf32){0, 0}
                                    : engine->x32[row * engine->stride32 + t];
            }
    return FX8_OK;
}

static enum fx8_status cpu_import_spectra(struct fx8_engine *engine,
                                          const struct fx8_engine_block *block,
                                          const struct fx8_ci8 *int8,
                                          const struct fx8_cf32 *fp32,
                                          struct fx8_error *error)
{
    FX8_TRY(check_planned(engine, int8 != NULL, fp32 != NULL, error));
    const size_t n_inputs = engine->plan.n_inputs;
    const size_t n_times = fx8_round_up(block->n_spectra, FX8_GROUP);
    const size_t n_words = fx8_bit_words(block->n_spectra);
    engine->n_spectra = block->n_spectra;
    engine->is_empty = false;
    for (size_t c = 0; c < engine->n_channels; c++)
        for (size_t i = 0; i < n_inputs; i++)
            for (size_t t = 0; t < n_times; t++) {
                const size_t in = (c * block->n_spectra + t) * n_inputs + i;
                const size_t row = c * engine->n_rows + i;
                const bool is_valid =
                    t < block->n_spectra &&
                    fx8_bit_get(block->valid + i * n_words, t);
                if (engine->x8 != NULL)
                    engine->x8[row * engine->stride8 + t] =
                        is_valid && int8 != NULL ? int8[in]
                                                 : (struct fx8_ci8){0, 0};
                if (engine->x32 != NULL)
                    engine->x32[row * engine->stride32 + t] =
                        is_valid && fp32 != NULL ? fp32[in]
                                                 : (struct fx8_cf32){0, 0};
            }
    if (count_products(engine, block)) {
        begin_segment(engine, block);
        fx8_cpu_correlate(engine, block->n_spectra);
        show_block(engine);
    }
    return FX8_OK;
}

static enum fx8_status cpu_watch(struct fx8_engine *engine,
                                 const struct fx8_engine_watch *watch,
                                 struct fx8_error *error)
{
    if (watch->n_inputs > engine->plan.n_watched_inputs)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "engine: more inputs to watch than were planned");
    engine->watch = *watch;
    return FX8_OK;
}

static void cpu_times(const struct fx8_engine *engine,
                      struct fx8_engine_times *times)
{
    *times = engine->times;
}

const struct fx8_engine_operations fx8_engine_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .facts = cpu_facts,
    .set_gain = cpu_set_gain,
    .push = cpu_push,
    .finish_dump = cpu_finish_dump,
    .export_spectra = cpu_export_spectra,
    .import_spectra = cpu_import_spectra,
    .watch = cpu_watch,
    .times = cpu_times,
    .close = cpu_close,
};
