/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate.c -- the X stage of the CPU engine: distribute channels, and with
 * few channels also row blocks of the triangle, over the threads.
 */
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "kernels/cpu/engine_cpu.h"

struct correlate_context {
    struct fx8_engine *engine;
    size_t n_times;
    size_t n_parts; /* parts of the triangle per channel */
};

/* Border `part` of n_parts parts of about equal area of a triangle with
 * n_blocks row blocks: the smallest row r with r (r + 1) n_parts >=
 * part n_blocks (n_blocks + 1), in integers. */
static size_t part_border(size_t n_blocks, size_t part, size_t n_parts)
{
    size_t row = 0;
    while (row * (row + 1) * n_parts < part * n_blocks * (n_blocks + 1))
        row++;
    return row;
}

static void correlate_item(void *context, size_t item, size_t thread)
{
    (void)thread;
    const struct correlate_context *job = context;
    struct fx8_engine *engine = job->engine;
    const size_t n_inputs = engine->plan.n_inputs;
    const size_t channel = item / job->n_parts;
    const size_t part = item % job->n_parts;
    const size_t n_blocks = engine->n_rows / FX8_ROW_BLOCK;
    const struct fx8_row_blocks rows = {
        part_border(n_blocks, part, job->n_parts),
        part_border(n_blocks, part + 1, job->n_parts), engine->plan.needed};
    if (rows.begin == rows.end)
        return;
    if (engine->x8 != NULL)
        engine->operations->int8.accumulate(
            n_inputs, rows, job->n_times,
            engine->x8 + channel * engine->n_rows * engine->stride8,
            engine->stride8, engine->accumulator8 + channel * engine->size8);
    if (engine->accumulator32 != NULL)
        engine->operations->fp32.accumulate(
            n_inputs, rows, job->n_times,
            engine->x32 + channel * engine->n_rows * engine->stride32,
            engine->stride32, engine->accumulator32 + channel * engine->size32);
    if (engine->accumulator_interval != NULL)
        engine->operations->interval.accumulate(
            n_inputs, rows, job->n_times,
            engine->x32 + channel * engine->n_rows * engine->stride32,
            engine->stride32, FX8_MAX_FP32_PRODUCTS,
            engine->accumulator_interval + channel * engine->size_interval);
}

void fx8_cpu_correlate(struct fx8_engine *engine, size_t n_spectra)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const size_t n_times = fx8_round_up(n_spectra, FX8_GROUP);
    if (engine->x8 != NULL &&
        engine->unfolded + (int64_t)n_times > FX8_MAX_INT32_SPECTRA)
        fx8_cpu_fold_aside(engine, FX8_PRECISION_INT8);

    /* four items per thread keep the wait for the last one short */
    const size_t wanted = 4 * plan->machine.threads.count;
    struct correlate_context context = {
        .engine = engine,
        .n_times = n_times,
        .n_parts =
            plan->machine.threads.count == 1 || engine->n_channels >= wanted
                ? 1
                : (wanted + engine->n_channels - 1) / engine->n_channels,
    };
    fx8_parallel_for(engine->n_channels * context.n_parts,
                     plan->machine.threads.count, plan->machine.threads.pin,
                     correlate_item, &context);
    engine->unfolded += (int64_t)n_times;
}

struct fold_context {
    struct fx8_engine *engine;
    struct fx8_strip strip;
    void *const *sums;
    bool is_first; /* the sums hold nothing yet */
};

static void fold_item(void *context, size_t channel, size_t thread)
{
    (void)thread;
    const struct fold_context *job = context;
    const struct fx8_engine *engine = job->engine;
    const struct fx8_operations *operations = engine->operations;
    const size_t n_inputs = engine->plan.n_inputs;
    const struct fx8_strip strip = job->strip;
    const size_t bytes =
        fx8_strip_count(n_inputs - strip.begin, strip.end - strip.begin) * 2 *
        sizeof(double);
    void *sums[FX8_N_RESULTS] = {NULL};
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
        if (job->sums[kind] == NULL)
            continue;
        sums[kind] = (char *)job->sums[kind] + channel * bytes;
        if (job->is_first)
            memset(sums[kind], 0, bytes);
    }
    if (sums[FX8_RESULT_INT8] != NULL)
        operations->int8.fold(n_inputs, strip,
                              engine->accumulator8 + channel * engine->size8,
                              sums[FX8_RESULT_INT8]);
    if (sums[FX8_RESULT_FP32] != NULL)
        operations->fp32.fold(n_inputs, strip,
                              engine->accumulator32 + channel * engine->size32,
                              sums[FX8_RESULT_FP32]);
    if (sums[FX8_RESULT_DOWN] != NULL)
        operations->interval.fold(n_inputs, strip,
                                  engine->accumulator_interval +
                                      channel * engine->size_interval,
                                  sums[FX8_RESULT_DOWN], sums[FX8_RESULT_UP]);
}

void fx8_cpu_fold(struct fx8_engine *engine, struct fx8_strip strip,
                  void *const *sums, bool is_first)
{
    struct fold_context context = {engine, strip, sums, is_first};
    fx8_parallel_for(engine->n_channels, engine->plan.machine.threads.count,
                     engine->plan.machine.threads.pin, fold_item, &context);
    if (sums[FX8_RESULT_INT8] != NULL)
        engine->unfolded = 0;
}

void fx8_cpu_fold_aside(struct fx8_engine *engine, unsigned kinds)
{
    void *sums[FX8_N_RESULTS] = {NULL};
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
        if ((kinds >> kind & 1) != 0)
            sums[kind] = engine->folded[kind];
    fx8_cpu_fold(engine, fx8_strip_whole(engine->plan.n_inputs), sums,
                 (engine->used & kinds) == 0);
    engine->used |= kinds;
}
