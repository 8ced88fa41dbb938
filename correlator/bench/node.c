/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.c -- what a run costs on this node, for `fx8 plan`: seconds per sample
 * of filter bank and correlator, per cell of a dump, of level setting, on one
 * thread and on all; reading, and writing with every compression.
 *
 * A dump of M spectra takes M a + b in the correlator, where b is adding up and
 * clearing its sums.  Two lengths of dumps, measured by turns, give both.
 * Figures are of the best rounds: a plan says how long a run takes that nothing
 * disturbs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/ceilings.h"
#include "correlator/bench/memory.h"
#include "kernels/baseline.h"

/* Arrays; the last one as recorded, without a filter bank. */
static const struct {
    size_t n_inputs, n_channels;
} shapes[] = {{4, 4096}, {16, 1024}, {64, 256}, {256, 64}, {512, 32}, {512, 1}};

static const struct {
    const char *name;
    enum fx8_precision precision;
} precisions[] = {{"int8", FX8_PRECISION_INT8}, {"fp32", FX8_PRECISION_FP32}};

static const char *const compressions[] = {"none", "gzip", "bitshuffle"};

#define N_PRECISIONS   (sizeof precisions / sizeof *precisions)
#define N_STAGES       (sizeof shapes / sizeof *shapes * N_PRECISIONS)
#define N_COMPRESSIONS (sizeof compressions / sizeof *compressions)
#define N_READINGS     (sizeof readings / sizeof *readings)
#define READING        N_STAGES
#define MEMORY         (READING + N_READINGS)
#define WRITING        (MEMORY + 1)
#define N_CASES        (WRITING + N_COMPRESSIONS)

/* Cases of section reading: files of inputs one after the other. */
static const struct {
    size_t index, n_inputs;
} readings[] = {{0, 4}, {1, 512}};

#define TOUCHED_BYTES ((size_t)256 << 20)

/* Spectra of long and short dumps, and least samples of a pass. */
enum { LONG, SHORT, N_LENGTHS };
static const int64_t lengths[N_LENGTHS] = {[LONG] = 1024, [SHORT] = 256};
#define PASS_SAMPLES ((int64_t)1 << 23)

enum { CHANNELIZE, CORRELATE, DUMP, LEVEL, N_QUANTITIES };
static const struct {
    const char *name, *unit;
} quantities[N_QUANTITIES] = {
    [CHANNELIZE] = {"channelize", "sample/s"},
    [CORRELATE] = {"correlate", "sample/s"},
    [DUMP] = {"dump", "cell/s"},
    [LEVEL] = {"level", "s"},
};

/* An array on some threads. */
struct stages {
    struct fx8_plan plan;
    struct fx8_bench_samples *samples;
    struct fx8_bench_correlation correlations[N_LENGTHS];
    int64_t n_dumps[N_LENGTHS]; /* of a pass */
    /* of the best rounds so far: per sample, by stage; in all */
    double best_s[N_LENGTHS][FX8_N_BENCH_STAGES];
    double level_s;
};

static void close_stages(struct stages *stages)
{
    for (size_t k = 0; k < N_LENGTHS; k++)
        fx8_bench_correlation_close(&stages->correlations[k]);
}

static enum fx8_status open_stages(struct stages *stages,
                                   struct fx8_error *error)
{
    const double spectrum = fx8_bench_spectrum_samples(&stages->plan);
    stages->level_s = INFINITY;
    for (size_t k = 0; k < N_LENGTHS; k++) {
        struct fx8_statistics statistics;
        const double dump = spectrum * (double)lengths[k];
        for (size_t stage = 0; stage < FX8_N_BENCH_STAGES; stage++)
            stages->best_s[k][stage] = INFINITY;
        stages->plan.spectra_per_dump = lengths[k];
        stages->n_dumps[k] = (int64_t)ceil((double)PASS_SAMPLES / dump);
        FX8_TRY(fx8_bench_correlation_open(&stages->plan, stages->samples,
                                           &stages->correlations[k], error));
        fx8_get_statistics(stages->correlations[k].session, &statistics);
        stages->level_s = fmin(stages->level_s, statistics.gains_s);
    }
    return FX8_OK;
}

/* Cells of a dump per sample of a spectrum. */
static double cells_per_sample(const struct fx8_plan *plan)
{
    const double n_inputs = (double)(plan->n_antennas * plan->n_polarizations);
    return (double)fx8_baseline_count(plan->n_antennas) *
           (double)fx8_baseline_products(plan->n_polarizations) / n_inputs;
}

static enum fx8_status measure_round(struct stages *stages,
                                     struct fx8_error *error)
{
    for (size_t k = 0; k < N_LENGTHS; k++) {
        struct fx8_bench_rates rates;
        FX8_TRY(fx8_bench_correlation_pass(&stages->correlations[k],
                                           stages->n_dumps[k], &rates, error));
        for (size_t stage = 0; stage < FX8_N_BENCH_STAGES; stage++)
            stages->best_s[k][stage] =
                fmin(stages->best_s[k][stage], 1.0 / rates.stage[stage]);
    }
    return FX8_OK;
}

static void find_values(const struct stages *stages,
                        double values[N_QUANTITIES])
{
    const double *of_long = stages->best_s[LONG];
    const double *of_short = stages->best_s[SHORT];
    const double long_n = (double)lengths[LONG];
    const double short_n = (double)lengths[SHORT];
    const double products_s = of_long[FX8_BENCH_CORRELATE];
    /* of a spectrum's sample, once per dump; other load can hide it */
    const double end_s =
        fmax(0.0, (of_short[FX8_BENCH_CORRELATE] - products_s) /
                      (1.0 / short_n - 1.0 / long_n));
    values[CHANNELIZE] = 1.0 / of_long[FX8_BENCH_CHANNELIZE];
    values[CORRELATE] =
        1.0 / (products_s - fmin(end_s / long_n, 0.5 * products_s));
    values[DUMP] = cells_per_sample(&stages->plan) /
                   (end_s + of_short[FX8_BENCH_POSTPROCESS] * short_n);
    values[LEVEL] = stages->level_s;
}

static enum fx8_status put_stages(const struct fx8_bench_run *run,
                                  const struct stages *stages,
                                  struct fx8_error *error)
{
    double values[N_QUANTITIES];
    find_values(stages, values);
    for (size_t q = 0; q < N_QUANTITIES; q++) {
        const struct fx8_bench_figure figure = {
            .quantity = quantities[q].name,
            .variant = run->operations->name,
            .n_threads = stages->plan.machine.threads.count,
            .unit = quantities[q].unit,
        };
        double rounds[FX8_BENCH_ROUNDS];
        for (size_t r = 0; r < run->n_rounds; r++)
            rounds[r] = values[q];
        FX8_TRY(fx8_bench_put(run, figure, rounds, NULL, error));
    }
    return FX8_OK;
}

/* One thread and all of them take turns. */
static enum fx8_status measure_stages(const struct fx8_bench_run *run,
                                      struct fx8_error *error)
{
    const size_t index = run->which->index;
    const size_t n_ways = run->n_threads > 1 ? 2 : 1;
    const size_t shape = index / N_PRECISIONS;
    FX8_AUTO(fx8_bench_samples_clear) struct fx8_bench_samples samples = {0};
    FX8_AUTO(close_stages) struct stages single = {0};
    FX8_AUTO(close_stages) struct stages all = {0};
    struct stages *const ways[] = {&single, &all};
    struct fx8_plan plan = fx8_bench_plan(run, shapes[shape].n_inputs / 2, 2,
                                          shapes[shape].n_channels);
    plan.precision = precisions[index % N_PRECISIONS].precision;
    if (shapes[shape].n_channels == 1)
        plan.channelizer.method = FX8_METHOD_NONE;
    FX8_TRY(fx8_bench_samples_make(&plan, false, &samples, error));
    for (size_t k = 0; k < n_ways; k++) {
        ways[k]->samples = &samples;
        ways[k]->plan = plan;
        ways[k]->plan.machine.threads.count = k == 0 ? 1 : run->n_threads;
        FX8_TRY(open_stages(ways[k], error));
    }
    for (size_t r = 0; r < run->n_rounds; r++)
        for (size_t k = 0; k < n_ways; k++)
            FX8_TRY(measure_round(ways[k], error));
    for (size_t k = 0; k < n_ways; k++)
        FX8_TRY(put_stages(run, ways[k], error));
    return FX8_OK;
}

/* Memory as a run allocates it, touched for the first time, and copied. */
static enum fx8_status measure_memory(const struct fx8_bench_run *run,
                                      struct fx8_error *error)
{
    const struct fx8_bench_figure figure = {.quantity = "first touch",
                                            .unit = "byte/s"};
    const size_t page = 4096;
    const struct fx8_bench_figure copy = {.quantity = "copy", .unit = "byte/s"};
    double rates[FX8_BENCH_ROUNDS], copies[FX8_BENCH_ROUNDS];
    for (size_t r = 0; r < run->n_rounds; r++) {
        copies[r] = fx8_ceiling_measure(FX8_CEILING_MEMCPY);
        FX8_AUTO_FREE char *memory = NULL;
        FX8_TRY(fx8_allocate(TOUCHED_BYTES, 1, "memory", &memory, error));
        volatile char *const touched = memory;
        const double start = fx8_clock_seconds();
        for (size_t at = 0; at < TOUCHED_BYTES; at += page)
            touched[at] = 1;
        rates[r] = (double)TOUCHED_BYTES / (fx8_clock_seconds() - start);
    }
    FX8_TRY(fx8_bench_put(run, figure, rates, NULL, error));
    return fx8_bench_put(run, copy, copies, NULL, error);
}

static enum fx8_status measure_writing(const struct fx8_bench_run *run,
                                       const char *compression,
                                       struct fx8_error *error)
{
    const enum fx8_status status =
        fx8_bench_measure_writing(run, compression, error);
    return status == FX8_ERR_USAGE && strcmp(compression, "bitshuffle") == 0
               ? fx8_bench_remark(run,
                                  "left out: HDF5 has no plug-in for it "
                                  "(HDF5_PLUGIN_PATH)",
                                  error)
               : status;
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    const size_t shape = index / N_PRECISIONS;
    if (index < N_STAGES)
        snprintf(name, FX8_BENCH_NAME_SIZE, "stages %zu x %zu %s",
                 shapes[shape].n_inputs, shapes[shape].n_channels,
                 precisions[index % N_PRECISIONS].name);
    else if (index < MEMORY)
        snprintf(name, FX8_BENCH_NAME_SIZE, "recording %zu inputs",
                 readings[index - READING].n_inputs);
    else if (index == MEMORY)
        snprintf(name, FX8_BENCH_NAME_SIZE, "memory");
    else
        snprintf(name, FX8_BENCH_NAME_SIZE, "result %s",
                 compressions[index - WRITING]);
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    struct fx8_bench_case recording = *run->which;
    struct fx8_bench_run reading = *run;
    if (run->which->index < N_STAGES)
        return measure_stages(run, error);
    if (run->which->index == MEMORY)
        return measure_memory(run, error);
    if (run->which->index > MEMORY)
        return measure_writing(run, compressions[run->which->index - WRITING],
                               error);
    recording.index = readings[run->which->index - READING].index;
    reading.which = &recording;
    return fx8_bench_reading.measure(&reading, error);
}

static void list_quantities(size_t index, const char *listed[])
{
    if (index < READING || index >= MEMORY)
        listed[0] = NULL;
}

const struct fx8_bench_section fx8_bench_node = {
    .name = "node",
    .about = "what fx8 plan needs: inputs x channels (1: as recorded), on one "
             "thread and on all; a recording, results in TMPDIR",
    .n_cases = N_CASES,
    .n_rounds = 5,
    .has_variants = true,
    .is_best = true,
    .quantities = {"one thread", "cold"},
    .list = list_quantities,
    .name_case = name_case,
    .measure = measure_case,
};
