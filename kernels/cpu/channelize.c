/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channelize.c -- the F stage of the CPU engine: from int8 samples to spectra
 * in the order of the correlator.
 *
 * Work is split into (input, segment of groups).  A group is FX8_GROUP spectra,
 * counted from the start of the dump, so the place of a spectrum in its FFT
 * batch, and hence its bits, does not depend on block size or threads.
 */
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "kernels/cpu/engine_cpu.h"

/* What is counted and summed of the spectra of an input in a time segment,
 * beside the spectra themselves. */
struct counters {
    uint32_t *clips; /* [n_channels] */
    double *moments; /* NULL: not planned */
};

/* Spectra of one FFT batch. */
struct batch {
    size_t input;
    size_t time;      /* of the first spectrum, in the block */
    size_t n_spectra; /* room of the batch, rounded up beyond the block */
    uint32_t valid;
    const struct fx8_rotation *rotation; /* of its group; NULL: none */
    const struct counters *counters;
    struct fx8_dither dither;
};

/* Noise of an input from a spectrum of a block on. */
static struct fx8_dither dither_of(const struct fx8_engine *engine,
                                   const struct fx8_engine_block *block,
                                   size_t input, size_t time)
{
    return (struct fx8_dither){
        .input = (uint32_t)input,
        .band_hz = engine->plan.band_hz,
        .first_sample = block->dump_sample,
        .spectrum = block->first_spectrum + (int64_t)time,
    };
}

static void store_batch(const struct fx8_engine *engine,
                        const struct batch *batch,
                        const struct fx8_cf32 *spectra)
{
    struct fx8_channel_range runs[2];
    const size_t n_runs = fx8_filterbank_ranges(&engine->plan.bank, runs);
    const struct fx8_operations *operations = engine->operations;
    struct fx8_phases phases;
    for (size_t r = 0; r < n_runs; r++) {
        const size_t first = runs[r].channel;
        const size_t row = first * engine->n_rows + batch->input;
        struct fx8_dither dither = batch->dither;
        dither.channel += (uint32_t)first;
        const bool is_rotated = batch->rotation != NULL && batch->valid != 0;
        if (is_rotated)
            fx8_find_phases(batch->rotation, batch->time % FX8_GROUP,
                            batch->n_spectra, first, &phases);
        const struct fx8_spectra_group group = {
            .n_spectra = batch->n_spectra,
            .n_channels = runs[r].n_channels,
            .spectra = spectra + runs[r].bin,
            .stride = fx8_fft_stride(engine->fft) / 2,
            .valid = batch->valid,
            .phases = is_rotated ? &phases : NULL,
            .dither = engine->plan.quantizer.dither ? &dither : NULL,
        };
        if (engine->x8 != NULL)
            operations->quantise(
                &group,
                engine->gain + batch->input * engine->n_channels + first,
                engine->x8 + row * engine->stride8 + batch->time,
                engine->n_rows * engine->stride8,
                batch->counters->clips + first);
        if (engine->x32 != NULL)
            operations->corner_turn(
                &group, engine->x32 + row * engine->stride32 + batch->time,
                engine->n_rows * engine->stride32);
        if (batch->counters->moments != NULL)
            fx8_cpu_add_moments(engine, &group, first,
                                batch->counters->moments);
    }
}

/* Fold and transform up to fft_batch spectra; the batch is zero beyond the
 * block.  Returns the spectra, in the scratch at `data`. */
static const struct fx8_cf32 *transform_batch(
    const struct fx8_engine *engine, const struct fx8_engine_block *block,
    const struct batch *batch, float *data)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    const size_t row = fx8_filterbank_row(bank);
    const size_t stride = fx8_fft_stride(engine->fft);
    const size_t n_left = block->n_spectra - batch->time;
    const size_t n = n_left < batch->n_spectra ? n_left : batch->n_spectra;
    const int8_t *samples =
        block->samples + batch->input * block->row_stride + batch->time * row;
    if (batch->rotation != NULL)
        samples += batch->rotation->shift * (bank->is_complex ? 2 : 1);
    if (fx8_has_int16_fir(&engine->plan))
        engine->operations->fir_int16(n, bank->n_taps, row, samples,
                                      engine->coefficients16, engine->scale16,
                                      data, stride);
    else
        engine->operations->fir(n, bank->n_taps, row, samples,
                                engine->coefficients, data, stride);
    memset(data + n * stride, 0,
           (batch->n_spectra - n) * stride * sizeof *data);
    return (const void *)fx8_fft_execute(engine->fft, data);
}

/* --- spectra side by side ---------------------------------------- */

static void store_lanes(const struct fx8_engine *engine, size_t input,
                        size_t first, const struct fx8_lanes_group *group,
                        const struct counters *counters)
{
    const struct fx8_lanes *lanes = &engine->operations->lanes;
    if (engine->x8 != NULL)
        lanes->quantise(group, engine->gain + input * engine->n_channels,
                        engine->x8 + input * engine->stride8 + first,
                        engine->n_rows * engine->stride8, counters->clips);
    if (engine->x32 != NULL)
        lanes->corner_turn(group,
                           engine->x32 + input * engine->stride32 + first,
                           engine->n_rows * engine->stride32);
    if (counters->moments != NULL)
        fx8_cpu_add_lane_moments(engine, group, counters->moments);
}

/* Finish the transform part by part, and store the channels of each. */
static void finish_lanes(const struct fx8_engine *engine, size_t input,
                         size_t first, float *const halves[2],
                         struct fx8_lanes_group *group,
                         const struct counters *counters)
{
    for (size_t part = 0; part < engine->lanes.n_parts; part++) {
        const size_t begin = engine->part_begin[part];
        group->channels = engine->parts + begin;
        group->n_channels = engine->part_begin[part + 1] - begin;
        if (group->n_channels == 0)
            continue;
        for (size_t h = 0; h < 2; h++)
            if (group->halves[h] != NULL)
                engine->operations->lanes.finish(&engine->lanes, part,
                                                 halves[h]);
        store_lanes(engine, input, first, group, counters);
    }
}

/* A group of spectra, 16 of them in one half of the scratch and 16 in the
 * other; behind them the factors of the rotation. */
static void channelize_lanes(const struct fx8_engine *engine,
                             const int8_t *samples, size_t input, size_t first,
                             uint32_t valid,
                             const struct fx8_rotation *rotation,
                             const struct fx8_dither *dither,
                             const struct counters *counters, float *data)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    const struct fx8_lanes *lanes = &engine->operations->lanes;
    const struct fx8_lanes_filter filter = {
        .n_taps = bank->n_taps,
        .row = fx8_filterbank_row(bank),
        .coefficients = engine->coefficients,
        .integers =
            fx8_has_int16_fir(&engine->plan) ? engine->coefficients16 : NULL,
        .scale = engine->scale16,
    };
    const size_t size = filter.row * FX8_LANES;
    float *const halves[2] = {data, data + size};
    struct fx8_lanes_group group = {
        .valid = valid,
        .dither = engine->plan.quantizer.dither ? dither : NULL,
        .is_streamed = engine->is_streamed,
    };
    struct fx8_phases phases;
    if (rotation != NULL && valid != 0) {
        float *factors = data + 2 * size;
        samples += rotation->shift * (bank->is_complex ? 2 : 1);
        fx8_find_phases(rotation, 0, FX8_GROUP, 0, &phases);
        lanes->find_factors(&phases, bank->n_channels, factors);
        group.phases = &phases;
        group.factors = factors;
    }
    for (size_t h = 0; h < 2; h++) {
        const uint32_t of_half = valid >> h * FX8_LANES & 0xffff;
        if (of_half == 0)
            continue;
        lanes->begin(&engine->lanes, &filter, of_half,
                     samples + h * FX8_LANES * filter.row, halves[h]);
        group.halves[h] = halves[h];
    }
    finish_lanes(engine, input, first, halves, &group, counters);
}

/* --- groups ------------------------------------------------------- */

/* One group of FX8_GROUP spectra; spectra beyond the block, and invalid ones,
 * become zero. */
static void channelize_group(const struct fx8_engine *engine,
                             const struct fx8_engine_block *block, size_t input,
                             size_t group, const struct counters *counters,
                             float *data)
{
    const size_t first = group * FX8_GROUP;
    const size_t n_words = fx8_bit_words(block->n_spectra);
    const size_t n_groups = fx8_groups(block->n_spectra);
    const uint64_t word = block->valid[input * n_words + first / 64];
    const uint32_t valid = (uint32_t)(word >> (first % 64));
    const struct fx8_rotation *rotation =
        block->rotation == NULL ? NULL
                                : &block->rotation[input * n_groups + group];
    if (engine->has_lanes) {
        const struct fx8_dither dither = dither_of(engine, block, input, first);
        channelize_lanes(engine,
                         block->samples + input * block->row_stride +
                             first * fx8_filterbank_row(&engine->plan.bank),
                         input, first, valid, rotation, &dither, counters,
                         data);
        return;
    }
    const size_t n = engine->fft_batch;
    const uint32_t mask = n == 32 ? UINT32_MAX : ((uint32_t)1 << n) - 1;
    for (size_t offset = 0; offset < FX8_GROUP; offset += n) {
        const struct batch batch = {
            .input = input,
            .time = first + offset,
            .n_spectra = n,
            .valid = valid >> offset & mask,
            .rotation = rotation,
            .counters = counters,
            .dither = dither_of(engine, block, input, first + offset),
        };
        const struct fx8_cf32 *spectra = (const void *)data;
        if (batch.valid != 0)
            spectra = transform_batch(engine, block, &batch, data);
        store_batch(engine, &batch, spectra);
    }
}

struct channelize_context {
    struct fx8_engine *engine;
    const struct fx8_engine_block *block;
    size_t n_groups;
};

static void channelize_item(void *context, size_t item, size_t thread)
{
    const struct channelize_context *job = context;
    struct fx8_engine *engine = job->engine;
    const size_t input = item / engine->n_segments;
    const size_t segment = item % engine->n_segments;
    const size_t begin = job->n_groups * segment / engine->n_segments;
    const size_t end = job->n_groups * (segment + 1) / engine->n_segments;
    const struct counters counters = {
        engine->clips +
            (segment * engine->plan.n_inputs + input) * engine->n_channels,
        fx8_cpu_moments(engine, segment, input),
    };
    for (size_t group = begin; group < end; group++)
        channelize_group(engine, job->block, input, group, &counters,
                         engine->scratch + thread * engine->scratch_size);
    engine->operations->settle();
}

/* Recorded integers of one input as the spectra [begin, end) of a block. */
static void copy_some(const struct fx8_engine *engine, size_t input,
                      size_t begin, size_t end, const struct fx8_ci8 *samples)
{
    if (engine->x8 != NULL)
        memcpy(engine->x8 + input * engine->stride8 + begin, samples + begin,
               (end - begin) * sizeof *samples);
    for (size_t t = begin; engine->x32 != NULL && t < end; t++)
        engine->x32[input * engine->stride32 + t] =
            (struct fx8_cf32){samples[t].re, samples[t].im};
}

static void clear_some(const struct fx8_engine *engine, size_t input,
                       size_t begin, size_t end)
{
    if (engine->x8 != NULL)
        memset(engine->x8 + input * engine->stride8 + begin, 0,
               (end - begin) * sizeof *engine->x8);
    if (engine->x32 != NULL)
        memset(engine->x32 + input * engine->stride32 + begin, 0,
               (end - begin) * sizeof *engine->x32);
}

/* Method none: the recorded integers are the spectra. */
static void copy_item(void *context, size_t input, size_t thread)
{
    (void)thread;
    const struct channelize_context *job = context;
    const struct fx8_engine_block *block = job->block;
    const struct fx8_ci8 *samples =
        (const struct fx8_ci8 *)(const void *)(block->samples +
                                               input * block->row_stride);
    const size_t n = block->n_spectra;
    const uint64_t *valid = block->valid + input * fx8_bit_words(n);
    double *moments = fx8_cpu_moments(job->engine, 0, input);
    for (size_t t = 0; t < n;) {
        const size_t begin = fx8_bit_next(valid, t, n);
        const size_t end = fx8_bit_next_clear(valid, begin, n);
        clear_some(job->engine, input, t, begin);
        copy_some(job->engine, input, begin, end, samples);
        if (moments != NULL)
            fx8_cpu_add_integer_moments(end - begin, samples + begin, moments);
        t = end;
    }
    clear_some(job->engine, input, n, job->n_groups * FX8_GROUP);
}

void fx8_cpu_channelize(struct fx8_engine *engine,
                        const struct fx8_engine_block *block)
{
    struct channelize_context context = {
        .engine = engine,
        .block = block,
        .n_groups = fx8_groups(block->n_spectra),
    };
    const struct fx8_engine_plan *plan = &engine->plan;
    if (engine->has_filterbank)
        fx8_parallel_for(plan->n_inputs * engine->n_segments,
                         plan->machine.threads.count, plan->machine.threads.pin,
                         channelize_item, &context);
    else
        fx8_parallel_for(plan->n_inputs, plan->machine.threads.count,
                         plan->machine.threads.pin, copy_item, &context);
}
