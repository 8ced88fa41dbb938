/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.c -- what a run costs on this node, for `fx8 plan`: seconds per sample
 * of filter bank and correlator, per cell of a dump, of level setting, on one
 * core and on all; reading, writing with every compression, and what the disk
 * takes.
 *
 * All of it is measured in whole runs, since reading and writing beside a
 * correlator, and memory that all share, take their part.  What a run takes
 * besides is the same for some dumps and for more, once all its buffers have
 * been used: it drops out of the difference.  Many short dumps for a few long
 * ones show what a dump costs.  What stages and ends of dumps take together is
 * what such a run takes: the clocks of the stages alone would count what
 * reading and writing take of their cores, as the ends of dumps do.  Figures
 * are of the best rounds: a plan says how long a run takes that nothing
 * disturbs.  A card has a clock of its own (card.c).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "kernels/baseline.h"

/* Runs: of more long dumps than there are buffers; of three times as many, a
 * second or so; and of short dumps with as many samples as the first. */
enum { SOME, MORE, SHORT, N_RUNS };

/* Their order: SOME twice, since both others are compared with it. */
static const size_t order[] = {SOME, MORE, SHORT, SOME};

#define N_JOBS (sizeof order / sizeof *order)

/* Samples over all inputs of SOME and SHORT. */
#define SOME_SAMPLES ((int64_t)6 << 24)

/* Arrays, and the dumps of each run: few of the large arrays, whose results
 * would else fill memory that no run before has used, which is slower.  The
 * last one as recorded, without a filter bank. */
static const struct {
    size_t n_inputs, n_channels;
    int64_t n_dumps[N_RUNS];
} shapes[] = {{4, 4096, {6, 18, 24}}, {16, 1024, {6, 18, 24}},
              {64, 256, {6, 18, 24}}, {256, 64, {3, 9, 12}},
              {512, 32, {3, 9, 12}},  {64, 1, {6, 18, 24}}};

static const char *const precisions[] = {"int8", "fp32"};

static const char *const compressions[] = {"none", "gzip", "bitshuffle"};

#define N_PRECISIONS   (sizeof precisions / sizeof *precisions)
#define N_STAGES       (sizeof shapes / sizeof *shapes * N_PRECISIONS)
#define N_COMPRESSIONS (sizeof compressions / sizeof *compressions)
#define N_READINGS     (sizeof readings / sizeof *readings)
#define READING        N_STAGES
#define MEMORY         (READING + N_READINGS)
#define WRITING        (MEMORY + 1)
#define CARD           (WRITING + N_COMPRESSIONS)
#define N_CASES        (CARD + N_STAGES)

/* Cases of section reading: files of inputs one after the other. */
static const struct {
    size_t index, n_inputs;
} readings[] = {{0, 4}, {1, 512}};

/* The shape of a case: of stages, or of a card. */
static size_t shape_of(size_t index)
{
    return (index < CARD ? index : index - CARD) / N_PRECISIONS;
}

static struct fx8_bench_array array_of(size_t index)
{
    const size_t shape = shape_of(index);
    return (struct fx8_bench_array){shapes[shape].n_inputs,
                                    shapes[shape].n_channels, false};
}

#define TOUCHED_BYTES ((size_t)256 << 20)
#define TOUCHED_PART  ((size_t)2 << 20)

static void touch_part(void *context, size_t item, size_t thread)
{
    volatile char *const part = (char *)context + item * TOUCHED_PART;
    const size_t page = 4096;
    (void)thread;
    for (size_t at = 0; at < TOUCHED_PART; at += page)
        part[at] = 1;
}

/* Time memory as a run allocates it, touched for the first time. */
static enum fx8_status time_touch(size_t n_threads, double *seconds,
                                  struct fx8_error *error)
{
    FX8_AUTO_FREE char *memory = NULL;
    FX8_TRY(fx8_allocate(TOUCHED_BYTES, 1, "memory", &memory, error));
    const double start = fx8_clock_seconds();
    fx8_parallel_for(TOUCHED_BYTES / TOUCHED_PART, n_threads, false, touch_part,
                     memory);
    *seconds = fx8_clock_seconds() - start;
    return FX8_OK;
}

enum { CHANNELIZE, CORRELATE, DUMP, LEVEL, WHOLE, N_QUANTITIES };
static const struct {
    const char *name, *unit;
} quantities[N_QUANTITIES] = {
    [CHANNELIZE] = {"channelize", "sample/s"},
    [CORRELATE] = {"correlate", "sample/s"},
    [DUMP] = {"dump", "cell/s"},
    [LEVEL] = {"level", "s"},
    [WHOLE] = {"whole", "sample/s"}, /* of MORE and SHORT */
};

/* On one core, and on all. */
#define MOST_WAYS 2

static size_t ways_of(const struct fx8_bench_run *run)
{
    return run->n_threads > 1 ? MOST_WAYS : 1;
}

/* Seconds of the best rounds. */
struct stages {
    double total_s[MOST_WAYS][N_RUNS];
    /* of MORE */
    double channelize_s[MOST_WAYS], correlate_s[MOST_WAYS], level_s[MOST_WAYS];
    /* of SHORT */
    double postprocess_s[MOST_WAYS];
};

static void keep_least(double *least, double value)
{
    if (*least == 0.0 || value < *least)
        *least = value;
}

/* fx8_bench_runs.keep */
static void keep_run(void *context, size_t job, size_t round,
                     const struct fx8_bench_outcome *outcome)
{
    struct stages *stages = context;
    const struct fx8_statistics *of = &outcome->report.statistics;
    const size_t way = job / N_JOBS, which = order[job % N_JOBS];
    (void)round;
    /* the disk is measured by itself */
    keep_least(&stages->total_s[way][which],
               outcome->report.total_s - outcome->report.sync_s);
    if (which == SHORT)
        keep_least(&stages->postprocess_s[way], of->postprocess_s);
    if (which != MORE)
        return;
    keep_least(&stages->channelize_s[way], of->align_s + of->channelize_s);
    keep_least(&stages->correlate_s[way], of->correlate_s);
    keep_least(&stages->level_s[way], of->gains_s);
}

/* Samples of a dump, over all inputs. */
static int64_t dump_samples(const int64_t n_dumps[N_RUNS], size_t which)
{
    return SOME_SAMPLES / n_dumps[which == MORE ? SOME : which];
}

static void find_values(const struct fx8_bench_array *array,
                        const int64_t n_dumps[N_RUNS],
                        const struct stages *stages, size_t way,
                        double values[N_QUANTITIES])
{
    const double *total_s = stages->total_s[way];
    const double n_channels = (double)array->n_channels;
    const double samples = (double)dump_samples(n_dumps, MORE);
    const double cells = (double)fx8_baseline_count(array->n_inputs / 2) *
                         (double)fx8_baseline_products(2) * n_channels;
    /* other load can hide it, but for what is computed */
    const double dump_s =
        fmax((total_s[SHORT] - total_s[SOME]) /
                 (double)(n_dumps[SHORT] - n_dumps[SOME]),
             stages->postprocess_s[way] / (double)n_dumps[SHORT]);
    const double long_s = (total_s[MORE] - total_s[SOME]) /
                          (double)(n_dumps[MORE] - n_dumps[SOME]);
    const double stages_s =
        stages->channelize_s[way] + stages->correlate_s[way];
    /* reading and writing take at most half of the cores */
    const double sample_s =
        fmax(long_s - dump_s, stages_s / (double)n_dumps[MORE] / 2.0) / samples;
    values[CHANNELIZE] = stages_s / stages->channelize_s[way] / sample_s;
    values[CORRELATE] = stages_s / stages->correlate_s[way] / sample_s;
    values[DUMP] = cells / dump_s;
    values[LEVEL] = stages->level_s[way];
    values[WHOLE] = (samples * (double)n_dumps[MORE] + (double)SOME_SAMPLES) /
                    (total_s[MORE] + total_s[SHORT]);
}

static enum fx8_status put_stages(const struct fx8_bench_run *run,
                                  size_t n_threads,
                                  const double values[N_QUANTITIES],
                                  struct fx8_error *error)
{
    for (size_t q = 0; q < N_QUANTITIES; q++) {
        const struct fx8_bench_figure figure = {
            .quantity = quantities[q].name,
            .variant = run->operations->name,
            .n_threads = n_threads,
            .unit = quantities[q].unit,
        };
        double rounds[FX8_BENCH_ROUNDS];
        for (size_t r = 0; r < run->n_rounds; r++)
            rounds[r] = values[q];
        FX8_TRY(fx8_bench_put(run, figure, rounds, NULL, error));
    }
    return FX8_OK;
}

static enum fx8_status measure_stages(const struct fx8_bench_run *run,
                                      struct fx8_error *error)
{
    const size_t index = run->which->index;
    const size_t n_ways = ways_of(run);
    const int64_t *n_dumps = shapes[shape_of(index)].n_dumps;
    const struct fx8_bench_array array = array_of(index);
    const int64_t spectrum = (int64_t)(array.n_inputs * array.n_channels);
    struct fx8_bench_job jobs[MOST_WAYS * N_JOBS];
    struct stages stages = {0};
    for (size_t k = 0; k < n_ways * N_JOBS; k++)
        jobs[k] = (struct fx8_bench_job){
            .precision = precisions[index % N_PRECISIONS],
            .n_spectra = dump_samples(n_dumps, order[k % N_JOBS]) / spectrum,
            .n_dumps = n_dumps[order[k % N_JOBS]],
            .n_threads = k < N_JOBS ? 1 : run->n_threads,
            .is_on_one_core = k < N_JOBS};
    struct fx8_bench_runs measured = {.run = run,
                                      .array = &array,
                                      .n_samples = n_dumps[MORE] *
                                                   dump_samples(n_dumps, MORE),
                                      .is_divided = true,
                                      .is_repeated = true,
                                      .jobs = jobs,
                                      .n_jobs = n_ways * N_JOBS,
                                      .keep = keep_run,
                                      .context = &stages};
    FX8_TRY(fx8_bench_measure_runs(&measured, error));
    for (size_t way = 0; way < n_ways; way++) {
        double values[N_QUANTITIES];
        find_values(&array, n_dumps, &stages, way, values);
        FX8_TRY(put_stages(run, jobs[way * N_JOBS].n_threads, values, error));
    }
    return FX8_OK;
}

static enum fx8_status measure_memory(const struct fx8_bench_run *run,
                                      struct fx8_error *error)
{
    const size_t counts[MOST_WAYS] = {1, run->n_threads};
    for (size_t way = 0; way < ways_of(run); way++) {
        const struct fx8_bench_figure figure = {.quantity = "first touch",
                                                .n_threads = counts[way],
                                                .unit = "byte/s"};
        double rates[FX8_BENCH_ROUNDS];
        for (size_t r = 0; r < run->n_rounds; r++) {
            double seconds;
            FX8_TRY(time_touch(counts[way], &seconds, error));
            rates[r] = (double)TOUCHED_BYTES / seconds;
        }
        FX8_TRY(fx8_bench_put(run, figure, rates, NULL, error));
    }
    return FX8_OK;
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
    const size_t shape = shape_of(index);
    if (index < N_STAGES || index >= CARD)
        snprintf(name, FX8_BENCH_NAME_SIZE, "%s %zu x %zu %s",
                 index < CARD ? "stages" : "card", shapes[shape].n_inputs,
                 shapes[shape].n_channels, precisions[index % N_PRECISIONS]);
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
    if (run->which->index >= CARD) {
        const struct fx8_bench_array array = array_of(run->which->index);
        return fx8_bench_measure_card(
            run, &array, precisions[run->which->index % N_PRECISIONS], error);
    }
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
             "thread, on all, and on a card; a recording, results in TMPDIR",
    .n_cases = N_CASES,
    .n_rounds = 4,
    .has_variants = true,
    .is_best = true,
    .quantities = {"one thread", "cold"},
    .list = list_quantities,
    .name_case = name_case,
    .measure = measure_case,
};
