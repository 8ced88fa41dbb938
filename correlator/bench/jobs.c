/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.c -- whole jobs: the time of each stage, and the rest.
 */
#include <stdio.h>

#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "io/uvh5/uvh5.h"
#include "kernels/baseline.h"

/* Samples of a job over all inputs: one dump of 16384 to 65536 spectra, some
 * seconds of a band of a megahertz. */
#define JOB_SAMPLES   ((int64_t)1 << 30)
#define SHORT_SAMPLES ((int64_t)1 << 28)

/* Kind of job. */
struct variety {
    const char *name;
    const char *precision;
    const char *quicklook; /* mode of math, or NULL: no quick-look */
    int64_t n_samples;     /* most, over all inputs */
    bool has_single;       /* by turns with one thread */
};

static const struct variety varieties[] = {
    {"int8", "int8", NULL, JOB_SAMPLES, true},
    {"fp32", "fp32", NULL, SHORT_SAMPLES, false},
    {"int8 quick-look ieee", "int8", "ieee", SHORT_SAMPLES, false},
    {"int8 quick-look fast", "int8", "fast", SHORT_SAMPLES, false},
};

#define N_VARIETIES (sizeof varieties / sizeof varieties[0])

/* --- figures ----------------------------------------------------- */

/* Parts of the time of a job.  The first ones, which process every sample, set
 * its harmonic limit.  All run one after the other, except reading and writing,
 * which run in parallel. */
static const char *const parts[] = {
    "align",      "channelize", "correlate", "postprocess",
    "quick-look", "level",      "read",      "write",
};

#define N_PARTS    (sizeof parts / sizeof parts[0])
#define N_LIMITING 3
#define WRITE      (N_PARTS - 1)

enum { ALL, SINGLE };

/* Results of the rounds of a job. */
struct rounds {
    struct fx8_bench_runs runs;
    double result_bytes; /* of the last round */
    double total_s[FX8_BENCH_ROUNDS];
    double start_s[FX8_BENCH_ROUNDS]; /* opening, and the end but for sync */
    double sync_s[FX8_BENCH_ROUNDS];
    double part_s[N_PARTS][FX8_BENCH_ROUNDS];
    double whole[FX8_BENCH_ROUNDS];            /* samples per second */
    double single[FX8_BENCH_ROUNDS];           /* the same on one core */
    double rate[N_LIMITING][FX8_BENCH_ROUNDS]; /* of the limiting parts */
};

static void keep_report(void *context, size_t job, size_t round,
                        const struct fx8_bench_outcome *outcome)
{
    struct rounds *rounds = context;
    const struct fx8_run_report *report = &outcome->report;
    const struct fx8_statistics *s = &report->statistics;
    const double seconds[N_PARTS] = {
        s->align_s,     s->channelize_s, s->correlate_s, s->postprocess_s,
        s->quicklook_s, s->gains_s,      report->read_s, report->write_s,
    };
    const double samples = (double)rounds->runs.n_samples;
    if (job == SINGLE) {
        rounds->single[round] = samples / report->total_s;
        return;
    }
    rounds->result_bytes = outcome->result_bytes;
    rounds->total_s[round] = report->total_s;
    rounds->sync_s[round] = report->sync_s;
    rounds->start_s[round] =
        report->total_s - report->push_s - report->write_s - report->sync_s;
    rounds->whole[round] = samples / report->total_s;
    for (size_t k = 0; k < N_PARTS; k++)
        rounds->part_s[k][round] = seconds[k];
    for (size_t k = 0; k < N_LIMITING; k++)
        rounds->rate[k][round] = samples / seconds[k];
}

static enum fx8_status put_figures(const struct fx8_bench_run *run,
                                   const struct rounds *rounds, bool has_single,
                                   struct fx8_error *error)
{
    struct fx8_bench_figure figure = {
        .quantity = "whole",
        .variant = run->operations->name,
        .n_threads = run->n_threads,
        .unit = "sample/s",
        .ruler = "harmonic limit of the stages",
    };
    FX8_TRY(fx8_bench_put_whole(run, figure, rounds->whole, rounds->rate,
                                N_LIMITING, error));
    if (has_single) {
        figure.quantity = "cores";
        figure.ruler = "one core";
        FX8_TRY(
            fx8_bench_put(run, figure, rounds->whole, rounds->single, error));
    }
    figure.unit = "s";
    figure.ruler = "time of the job";
    for (size_t k = 0; k < N_PARTS; k++) {
        figure.quantity = parts[k];
        FX8_TRY(fx8_bench_put(run, figure, rounds->part_s[k], rounds->total_s,
                              error));
    }
    return FX8_OK;
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    const struct fx8_bench_array *array =
        &fx8_bench_array_shapes[index / N_VARIETIES];
    snprintf(name, FX8_BENCH_NAME_SIZE, "job %zu x %zu %s", array->n_inputs,
             array->n_channels, varieties[index % N_VARIETIES].name);
}

static void list_quantities(size_t index, const char *quantities[])
{
    if (!varieties[index % N_VARIETIES].has_single)
        quantities[1] = NULL;
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const size_t index = run->which->index;
    const struct variety *variety = &varieties[index % N_VARIETIES];
    const struct fx8_bench_job all = {.precision = variety->precision,
                                      .quicklook = variety->quicklook,
                                      .n_threads = run->n_threads};
    struct fx8_bench_job single = all;
    single.n_threads = 1;
    single.is_on_one_core = true;
    const struct fx8_bench_job jobs[] = {[ALL] = all, [SINGLE] = single};
    struct rounds rounds = {
        .runs = {.run = run,
                 .array = &fx8_bench_array_shapes[index / N_VARIETIES],
                 .n_samples = variety->n_samples,
                 .jobs = jobs,
                 .n_jobs = variety->has_single ? 2 : 1,
                 .keep = keep_report}};
    rounds.runs.context = &rounds;
    FX8_TRY(fx8_bench_measure_runs(&rounds.runs, error));
    return put_figures(run, &rounds, variety->has_single, error);
}

enum fx8_status fx8_bench_measure_writing(const struct fx8_bench_run *run,
                                          const char *compression,
                                          struct fx8_error *error)
{
    const struct fx8_bench_array array = {256, 64, false};
    /* floats take longer to compress than sums of integers; what several
     * threads do follows from one */
    const struct fx8_bench_job job = {
        .precision = "fp32", .compression = compression, .n_threads = 1};
    struct rounds rounds = {.runs = {.run = run,
                                     .array = &array,
                                     .n_samples = (int64_t)1 << 24,
                                     .jobs = &job,
                                     .n_jobs = 1,
                                     .keep = keep_report}};
    rounds.runs.context = &rounds;
    FX8_TRY(fx8_bench_measure_runs(&rounds.runs, error));
    const size_t n_antennas = array.n_inputs / 2;
    const double bytes =
        (double)fx8_uvh5_bytes(1, fx8_baseline_count(n_antennas),
                               array.n_channels, fx8_baseline_products(2));
    double rates[FX8_BENCH_ROUNDS], sizes[FX8_BENCH_ROUNDS];
    double synced[FX8_BENCH_ROUNDS];
    for (size_t r = 0; r < run->n_rounds; r++) {
        rates[r] = bytes / rounds.part_s[WRITE][r];
        sizes[r] = rounds.result_bytes / bytes;
        synced[r] = rounds.result_bytes / rounds.sync_s[r];
    }
    struct fx8_bench_figure figure = {.quantity = "rate", .unit = "byte/s"};
    FX8_TRY(fx8_bench_put(run, figure, rates, NULL, error));
    figure.quantity = "sync";
    FX8_TRY(fx8_bench_put(run, figure, synced, NULL, error));
    figure = (struct fx8_bench_figure){.quantity = "size", .unit = "times"};
    FX8_TRY(fx8_bench_put(run, figure, sizes, NULL, error));
    figure = (struct fx8_bench_figure){.quantity = "start", .unit = "s"};
    return fx8_bench_put(run, figure, rounds.start_s, NULL, error);
}

const struct fx8_bench_section fx8_bench_jobs = {
    .name = "jobs",
    .about = "one dump each, from recordings in TMPDIR, int8 of 2 GiB, else "
             "512 MiB, to files there; all CPUs, or --threads",
    .n_cases = FX8_N_BENCH_ARRAYS * N_VARIETIES,
    .n_rounds = 3,
    .has_variants = true,
    /* a higher share of another quantity is not better */
    .quantities = {"whole", "cores"},
    .list = list_quantities,
    .name_case = name_case,
    .measure = measure_case,
};
