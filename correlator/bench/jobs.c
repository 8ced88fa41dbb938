/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.c -- whole jobs as a user runs them: from a reader that copies samples
 * from memory to result files; the time of each stage, and the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/machine.h"
#include "correlator/commands/command.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/results.h"

/* Samples of a job over all inputs and channels: one dump of 16384 or 32768
 * spectra, one second or two of a band of a megahertz. */
#define JOB_SAMPLES ((int64_t)1 << 29)

/* Random samples read repeatedly, bytes. */
#define RECORDED ((size_t)32 << 20)

/* --- a recording in memory --------------------------------------- */

struct memory_reader {
    struct fx8_reader base;
    size_t n_inputs;
    bool is_time_major;
    int8_t *samples; /* [RECORDED] */
};

static enum fx8_status select_inputs(struct fx8_reader *reader,
                                     const struct fx8_input_position *inputs,
                                     size_t n_inputs, struct fx8_error *error)
{
    (void)reader, (void)inputs, (void)n_inputs, (void)error;
    return FX8_OK; /* all inputs, in order */
}

static size_t buffer_size(const struct fx8_reader *reader, int64_t n_samples)
{
    const struct memory_reader *r = (const struct memory_reader *)reader;
    return 2 * r->n_inputs * (size_t)n_samples;
}

/* All samples held: every read is one copy. */
static int64_t read_samples(const struct fx8_reader *reader)
{
    const struct memory_reader *r = (const struct memory_reader *)reader;
    return (int64_t)(RECORDED / 2 / r->n_inputs);
}

/* Copy samples of one row, repeating the part held in memory. */
static void copy_samples(const struct memory_reader *r, size_t row,
                         size_t n_bytes, int8_t *to)
{
    const size_t held = RECORDED / (r->is_time_major ? 1 : r->n_inputs);
    for (size_t at = 0; at < n_bytes; at += held)
        memcpy(to + at, r->samples + row * held,
               n_bytes - at < held ? n_bytes - at : held);
}

static enum fx8_status read_memory(struct fx8_reader *reader, int64_t first,
                                   int64_t n_samples, int8_t *buffer,
                                   struct fx8_sample_layout *layout,
                                   struct fx8_error *error)
{
    (void)first, (void)error;
    const struct memory_reader *r = (const struct memory_reader *)reader;
    const size_t n_rows = r->is_time_major ? 1 : r->n_inputs;
    const size_t stride = buffer_size(reader, 1) / n_rows;
    const size_t row_bytes =
        (size_t)fx8_row_samples(layout, n_samples) * stride;
    for (size_t row = 0; row < n_rows; row++)
        copy_samples(r, row, (size_t)n_samples * stride,
                     buffer + row * row_bytes);
    for (size_t i = 0; i < r->n_inputs; i++)
        layout->input_offset[i] =
            (ptrdiff_t)(i * (r->is_time_major ? 2 : row_bytes));
    layout->time_stride = (ptrdiff_t)stride;
    return FX8_OK;
}

static enum fx8_status open_memory(const struct fx8_bench_array *array,
                                   struct memory_reader *reader,
                                   struct fx8_error *error)
{
    *reader = (struct memory_reader){
        .base = {.path = "memory",
                 .observation = fx8_observation_unknown(),
                 .select = select_inputs,
                 .buffer_size = buffer_size,
                 .read_samples = read_samples,
                 .read = read_memory},
        .n_inputs = array->n_inputs,
        .is_time_major = array->is_time_major,
    };
    struct fx8_observation *o = &reader->base.observation;
    o->is_complex = true;
    o->n_antennas = array->n_inputs / 2;
    o->n_polarizations = 2;
    o->n_samples = JOB_SAMPLES / (int64_t)array->n_inputs;
    o->sample_rate = (struct fx8_rate){1000000, 1};
    o->has_start_time = true;
    o->start_time = (struct fx8_time){1600000000, 0};
    o->dc_frequency_hz = 150e6;
    o->sideband = FX8_SIDEBAND_UPPER;
    o->site = (struct fx8_site){0, 0, 0};
    void *memory;
    const enum fx8_status status =
        fx8_allocate(RECORDED, 1, "samples", &memory, error);
    reader->samples = memory;
    if (status == FX8_OK)
        fx8_bench_fill(reader->samples, RECORDED);
    return status;
}

/* --- a job ------------------------------------------------------- */

/* Kind of job. */
struct variety {
    const char *name;
    enum fx8_precision precision;
    const char *quicklook; /* mode of math, or NULL: no quick-look */
};

static const struct variety varieties[] = {
    {"int8", FX8_PRECISION_INT8, NULL},
    {"fp32", FX8_PRECISION_FP32, NULL},
    {"int8 quick-look ieee", FX8_PRECISION_INT8, "ieee"},
    {"int8 quick-look fast", FX8_PRECISION_INT8, "fast"},
};

#define N_VARIETIES (sizeof varieties / sizeof varieties[0])

/* Results of a job, removed when it ends. */
struct names {
    char result[FX8_BENCH_PATH_SIZE], quicklook[FX8_BENCH_PATH_SIZE];
};

static enum fx8_status load(const struct fx8_bench_run *run,
                            const struct fx8_bench_array *array,
                            const struct variety *variety,
                            const struct names *names,
                            struct fx8_settings *settings,
                            struct fx8_error *error)
{
    char channels[64], precision[64], level[64], math[64];
    char quicklook[FX8_BENCH_PATH_SIZE + 32];
    char threads[64];
    const char *overrides[16] = {
        "correlator.integration_time_s=all",
        threads,
        "correlator.backend=cpu",
        "array.positions=none",
        channels,
        precision,
        level,
    };
    size_t n = 7;
    snprintf(channels, sizeof channels, "channelizer.channels=%zu",
             array->n_channels);
    snprintf(precision, sizeof precision, "correlator.precision=%s",
             variety->precision == FX8_PRECISION_INT8 ? "int8" : "fp32");
    snprintf(level, sizeof level, "correlator.kernel=%s",
             run->operations->name);
    snprintf(threads, sizeof threads, "correlator.threads=%zu", run->n_threads);
    if (variety->quicklook != NULL) {
        snprintf(math, sizeof math, "postprocess.math=%s", variety->quicklook);
        snprintf(quicklook, sizeof quicklook, "postprocess.quicklook=%s",
                 names->quicklook);
        overrides[n++] = math;
        overrides[n++] = quicklook;
    }
    return fx8_settings_load(NULL, overrides, n, true, settings, error);
}

/* A signal stops the job at once and removes its unfinished files. */
static int is_stopped(void)
{
    return fx8_command_interrupted() > 0 ? 2 : 0;
}

static enum fx8_status run_job(const struct fx8_bench_run *run,
                               const struct fx8_bench_array *array,
                               const struct variety *variety,
                               const struct names *names,
                               struct fx8_run_report *report,
                               struct fx8_error *error)
{
    struct memory_reader reader;
    struct fx8_settings settings = {0};
    struct fx8_job job = {0};
    enum fx8_status status = open_memory(array, &reader, error);
    if (status == FX8_OK)
        status = load(run, array, variety, names, &settings, error);
    if (status == FX8_OK)
        status = fx8_job_resolve(&settings, &reader.base.observation,
                                 reader.base.path, &job, error);
    if (status == FX8_OK) {
        struct fx8_run_request request = {
            .job = &job,
            .settings = &settings,
            .reader = &reader.base,
            .force = true, /* the names are private to this process */
            .command = "fx8 bench",
            .input = reader.base.path,
            .interrupted = is_stopped,
        };
        request
            .paths[variety->precision == FX8_PRECISION_INT8 ? FX8_RESULT_INT8
                                                            : FX8_RESULT_FP32] =
            names->result;
        if (variety->quicklook != NULL)
            request.path_quicklook = names->quicklook;
        status = fx8_pipeline_run(&request, report, error);
        free(report->dead);
        unlink(names->result);
        unlink(names->quicklook);
    }
    fx8_job_clear(&job);
    fx8_settings_clear(&settings);
    fx8_observation_clear(&reader.base.observation);
    free(reader.samples);
    return status;
}

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

/* Times of the rounds of a job. */
struct rounds {
    double total_s[FX8_BENCH_ROUNDS];
    double part_s[N_PARTS][FX8_BENCH_ROUNDS];
};

static void keep_report(const struct fx8_run_report *report,
                        struct rounds *rounds, size_t round)
{
    const struct fx8_statistics *s = &report->statistics;
    const double seconds[N_PARTS] = {
        s->align_s,     s->channelize_s, s->correlate_s, s->postprocess_s,
        s->quicklook_s, s->level_s,      report->read_s, report->write_s,
    };
    rounds->total_s[round] = report->total_s;
    for (size_t k = 0; k < N_PARTS; k++)
        rounds->part_s[k][round] = seconds[k];
}

/* The whole against the time of the limiting stages: medians, and the worst
 * round. */
static enum fx8_status put_whole(const struct fx8_bench_run *run,
                                 const struct rounds *rounds, double samples,
                                 struct fx8_error *error)
{
    double stages_s = 0.0;
    for (size_t k = 0; k < N_LIMITING; k++)
        stages_s += fx8_bench_median(rounds->part_s[k], run->n_rounds);
    struct fx8_bench_figure figure = {
        .quantity = "whole",
        .variant = run->operations->name,
        .n_threads = run->n_threads,
        .value = samples / fx8_bench_median(rounds->total_s, run->n_rounds),
        .unit = "sample/s",
        .ruler = "harmonic limit of the stages",
        .ceiling = samples / stages_s,
    };
    figure.lowest = figure.value / figure.ceiling;
    for (size_t r = 0; r < run->n_rounds; r++) {
        double sum_s = 0.0;
        for (size_t k = 0; k < N_LIMITING; k++)
            sum_s += rounds->part_s[k][r];
        if (sum_s / rounds->total_s[r] < figure.lowest)
            figure.lowest = sum_s / rounds->total_s[r];
    }
    return fx8_bench_put(run, &figure, error);
}

static enum fx8_status put_parts(const struct fx8_bench_run *run,
                                 const struct rounds *rounds,
                                 struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t k = 0; k < N_PARTS && status == FX8_OK; k++) {
        const struct fx8_bench_figure figure = {
            .quantity = parts[k],
            .variant = run->operations->name,
            .n_threads = run->n_threads,
            .unit = "s",
            .ruler = "time of the job",
        };
        status = fx8_bench_put_rounds(run, figure, rounds->part_s[k],
                                      rounds->total_s, error);
    }
    return status;
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    const struct fx8_bench_array *array =
        &fx8_bench_array_shapes[index / N_VARIETIES];
    snprintf(name, FX8_BENCH_NAME_SIZE, "job %zu x %zu %s", array->n_inputs,
             array->n_channels, varieties[index % N_VARIETIES].name);
}

/* Only for the whole is a higher share better. */
static size_t list_quantities(size_t index,
                              const char *list[FX8_BENCH_QUANTITIES])
{
    (void)index;
    list[0] = "whole";
    return 1;
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    size_t index, struct fx8_error *error)
{
    const struct fx8_bench_array *array =
        &fx8_bench_array_shapes[index / N_VARIETIES];
    const struct variety *variety = &varieties[index % N_VARIETIES];
    struct names names;
    struct rounds rounds;
    enum fx8_status status = fx8_bench_file("uvh5", names.result, error);
    if (status == FX8_OK)
        status = fx8_bench_file("quicklook.h5", names.quicklook, error);
    fx8_command_count_signals();
    for (size_t r = 0; r < run->n_rounds && status == FX8_OK; r++) {
        struct fx8_run_report report;
        status = run_job(run, array, variety, &names, &report, error);
        if (status == FX8_OK)
            keep_report(&report, &rounds, r);
    }
    /* act now on a signal that came between two jobs */
    fx8_command_stop_at_once(NULL);
    if (status == FX8_OK)
        status = put_whole(run, &rounds,
                           (double)(JOB_SAMPLES / (int64_t)array->n_inputs) *
                               (double)array->n_inputs,
                           error);
    return status == FX8_OK ? put_parts(run, &rounds, error) : status;
}

const struct fx8_bench_section fx8_bench_jobs = {
    .name = "jobs",
    .about = "one dump each, from a reader that copies samples to files in "
             "TMPDIR; all CPUs, or --threads",
    .n_cases = FX8_N_BENCH_ARRAYS * N_VARIETIES,
    .n_rounds = 3,
    .has_levels = true,
    .name_case = name_case,
    .list = list_quantities,
    .measure = measure_case,
};
