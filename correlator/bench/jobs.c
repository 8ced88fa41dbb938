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
#include "config/base/try.h"
#include "correlator/bench/bench.h"
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
                 .observation = fx8_bench_observation(
                     array->n_inputs, JOB_SAMPLES / (int64_t)array->n_inputs),
                 .select = select_inputs,
                 .buffer_size = buffer_size,
                 .read_samples = read_samples,
                 .read = read_memory},
        .n_inputs = array->n_inputs,
        .is_time_major = array->is_time_major,
    };
    reader->base.observation.site = (struct fx8_site){0, 0, 0};
    FX8_TRY(fx8_allocate(RECORDED, 1, "samples", &reader->samples, error));
    fx8_bench_fill(reader->samples, RECORDED);
    return FX8_OK;
}

/* --- a job ------------------------------------------------------- */

/* Kind of job. */
struct variety {
    const char *name;
    const char *precision;
    enum fx8_result_kind result;
    const char *quicklook; /* mode of math, or NULL: no quick-look */
};

static const struct variety varieties[] = {
    {"int8", "int8", FX8_RESULT_INT8, NULL},
    {"fp32", "fp32", FX8_RESULT_FP32, NULL},
    {"int8 quick-look ieee", "int8", FX8_RESULT_INT8, "ieee"},
    {"int8 quick-look fast", "int8", FX8_RESULT_INT8, "fast"},
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
    char texts[6][FX8_BENCH_PATH_SIZE + 32];
    const char *overrides[] = {
        "correlator.integration_time_s=all",
        "correlator.backend=cpu",
        "array.positions=none",
        texts[0],
        texts[1],
        texts[2],
        texts[3],
        texts[4],
        texts[5],
    };
    const size_t n = variety->quicklook != NULL ? 9 : 7;
    snprintf(texts[0], sizeof *texts, "channelizer.channels=%zu",
             array->n_channels);
    snprintf(texts[1], sizeof *texts, "correlator.precision=%s",
             variety->precision);
    snprintf(texts[2], sizeof *texts, "correlator.kernel=%s",
             run->operations->name);
    snprintf(texts[3], sizeof *texts, "correlator.threads=%zu", run->n_threads);
    snprintf(texts[4], sizeof *texts, "postprocess.math=%s",
             variety->quicklook != NULL ? variety->quicklook : "");
    snprintf(texts[5], sizeof *texts, "postprocess.quicklook=%s",
             names->quicklook);
    return fx8_settings_load(NULL, overrides, n, true, settings, error);
}

/* A signal stops the job at once and removes its unfinished files. */
static int is_stopped(void)
{
    return fx8_command_interrupted() > 0 ? 2 : 0;
}

static void close_memory(struct memory_reader *reader)
{
    fx8_observation_clear(&reader->base.observation);
    free(reader->samples);
}

static enum fx8_status run_job(const struct fx8_bench_run *run,
                               const struct fx8_bench_array *array,
                               const struct variety *variety,
                               const struct names *names,
                               struct fx8_run_report *report,
                               struct fx8_error *error)
{
    FX8_AUTO(close_memory) struct memory_reader reader = {0};
    FX8_AUTO(fx8_settings_clear) struct fx8_settings settings = {0};
    FX8_AUTO(fx8_job_clear) struct fx8_job job = {0};
    FX8_TRY(open_memory(array, &reader, error));
    FX8_TRY(load(run, array, variety, names, &settings, error));
    FX8_TRY(fx8_job_resolve(&settings, &reader.base.observation,
                            reader.base.path, &job, error));
    struct fx8_run_output output = {
        .path_quicklook = variety->quicklook != NULL ? names->quicklook : NULL,
    };
    output.paths[variety->result] = names->result;
    const struct fx8_run_request request = {
        .job = &job,
        .reader = &reader.base,
        .outputs = &output,
        .force = true, /* the names are private to this process */
        .command = "fx8 bench",
        .input = reader.base.path,
        .interrupted = is_stopped,
    };
    const enum fx8_status status = fx8_pipeline_run(&request, report, error);
    free(report->dead);
    unlink(names->result);
    unlink(names->quicklook);
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

/* Results of the rounds of a job. */
struct rounds {
    double total_s[FX8_BENCH_ROUNDS];
    double part_s[N_PARTS][FX8_BENCH_ROUNDS];
    double whole[FX8_BENCH_ROUNDS];            /* samples per second */
    double rate[N_LIMITING][FX8_BENCH_ROUNDS]; /* of the limiting parts */
};

static void keep_report(const struct fx8_run_report *report,
                        struct rounds *rounds, size_t round)
{
    const struct fx8_statistics *s = &report->statistics;
    const double seconds[N_PARTS] = {
        s->align_s,     s->channelize_s, s->correlate_s, s->postprocess_s,
        s->quicklook_s, s->gains_s,      report->read_s, report->write_s,
    };
    rounds->total_s[round] = report->total_s;
    rounds->whole[round] = (double)JOB_SAMPLES / report->total_s;
    for (size_t k = 0; k < N_PARTS; k++)
        rounds->part_s[k][round] = seconds[k];
    for (size_t k = 0; k < N_LIMITING; k++)
        rounds->rate[k][round] = (double)JOB_SAMPLES / seconds[k];
}

static enum fx8_status put_figures(const struct fx8_bench_run *run,
                                   const struct rounds *rounds,
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

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const size_t index = run->which->index;
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
    return status == FX8_OK ? put_figures(run, &rounds, error) : status;
}

const struct fx8_bench_section fx8_bench_jobs = {
    .name = "jobs",
    .about = "one dump each, from a reader that copies samples to files in "
             "TMPDIR; all CPUs, or --threads",
    .n_cases = FX8_N_BENCH_ARRAYS * N_VARIETIES,
    .n_rounds = 3,
    .has_variants = true,
    .quantities = {"whole"}, /* of the others a higher share is no better */
    .name_case = name_case,
    .measure = measure_case,
};
