/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.c -- whole jobs as a user runs them: from a recording in TMPDIR, which
 * the page cache holds, to result files; the time of each stage, and the rest.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/commands/command.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/results.h"
#include "io/native/native.h"
#include "io/reader.h"
#include "io/uvh5/uvh5.h"
#include "kernels/baseline.h"

/* Samples of a job over all inputs: one dump of 16384 to 65536 spectra, some
 * seconds of a band of a megahertz.  The least that is worth measuring. */
#define JOB_SAMPLES   ((int64_t)1 << 30)
#define SHORT_SAMPLES ((int64_t)1 << 28)
#define LEAST_SAMPLES ((int64_t)1 << 24)

/* --- a job ------------------------------------------------------- */

/* Kind of job. */
struct variety {
    const char *name;
    const char *precision;
    enum fx8_result_kind result;
    const char *quicklook;   /* mode of math, or NULL: no quick-look */
    int64_t n_samples;       /* most, over all inputs */
    bool has_single;         /* by turns with one thread */
    const char *compression; /* NULL: none */
};

static const struct variety varieties[] = {
    {"int8", "int8", FX8_RESULT_INT8, NULL, JOB_SAMPLES, true, NULL},
    {"fp32", "fp32", FX8_RESULT_FP32, NULL, SHORT_SAMPLES, false, NULL},
    {"int8 quick-look ieee", "int8", FX8_RESULT_INT8, "ieee", SHORT_SAMPLES,
     false, NULL},
    {"int8 quick-look fast", "int8", FX8_RESULT_INT8, "fast", SHORT_SAMPLES,
     false, NULL},
};

#define N_VARIETIES (sizeof varieties / sizeof varieties[0])

/* Files of a job, removed when it ends. */
struct names {
    char recording[FX8_BENCH_PATH_SIZE];
    char result[FX8_BENCH_PATH_SIZE], quicklook[FX8_BENCH_PATH_SIZE];
};

/* A job as it is run, in rounds. */
struct task {
    const struct fx8_bench_array *array;
    const struct variety *variety;
    struct names names;
    int64_t n_samples;   /* recorded, over all inputs */
    double result_bytes; /* of the last round */
};

static enum fx8_status load(const struct fx8_bench_run *run, size_t n_threads,
                            const struct task *task,
                            struct fx8_settings *settings,
                            struct fx8_error *error)
{
    const struct variety *variety = task->variety;
    char texts[7][FX8_BENCH_PATH_SIZE + 32];
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
        texts[6],
    };
    const size_t n = variety->quicklook != NULL ? 10 : 8;
    snprintf(texts[0], sizeof *texts, "channelizer.channels=%zu",
             task->array->n_channels);
    snprintf(texts[1], sizeof *texts, "correlator.precision=%s",
             variety->precision);
    snprintf(texts[2], sizeof *texts, "correlator.kernel=%s",
             run->operations->name);
    snprintf(texts[3], sizeof *texts, "correlator.threads=%zu", n_threads);
    snprintf(texts[4], sizeof *texts, "output.compression=%s",
             variety->compression != NULL ? variety->compression : "none");
    snprintf(texts[5], sizeof *texts, "postprocess.math=%s",
             variety->quicklook != NULL ? variety->quicklook : "");
    snprintf(texts[6], sizeof *texts, "postprocess.quicklook=%s",
             task->names.quicklook);
    return fx8_settings_load(NULL, overrides, n, true, settings, error);
}

/* A signal stops the job at once and removes its unfinished files. */
static int is_stopped(void)
{
    return fx8_command_interrupted() > 0 ? 2 : 0;
}

static enum fx8_status run_job(const struct fx8_bench_run *run,
                               size_t n_threads, struct task *task,
                               struct fx8_run_report *report,
                               struct fx8_error *error)
{
    const struct names *names = &task->names;
    const char *const path = names->recording;
    const bool has_quicklook = task->variety->quicklook != NULL;
    FX8_AUTO(fx8_reader_close) struct fx8_reader *reader = NULL;
    FX8_AUTO(fx8_settings_clear) struct fx8_settings settings = {0};
    FX8_AUTO(fx8_job_clear) struct fx8_job job = {0};
    FX8_TRY(load(run, n_threads, task, &settings, error));
    FX8_TRY(fx8_reader_open(&path, 1, &settings, &reader, error));
    FX8_TRY(fx8_job_resolve(&settings, &reader->observation, reader->path, &job,
                            error));
    struct fx8_run_output output = {
        .path_quicklook = has_quicklook ? names->quicklook : NULL,
    };
    output.paths[task->variety->result] = names->result;
    const struct fx8_run_request request = {
        .ranks = &fx8_ranks_alone,
        .job = &job,
        .reader = reader,
        .outputs = &output,
        .force = true, /* the names are private to this process */
        .command = "fx8 bench",
        .input = reader->path,
        .interrupted = is_stopped,
    };
    const enum fx8_status status = fx8_pipeline_run(&request, report, error);
    free(report->dead);
    struct stat file = {0};
    (void)stat(names->result, &file); /* none after a failure */
    task->result_bytes = (double)file.st_size;
    unlink(names->result);
    unlink(names->quicklook);
    return status;
}

/* A job on one core: reading and writing have their threads, but share it. */
struct single {
    const struct fx8_bench_run *run;
    struct task *task;
    struct fx8_run_report report;
    enum fx8_status status;
    struct fx8_error *error;
};

static void run_single(void *context, size_t item, size_t thread)
{
    (void)item, (void)thread;
    struct single *job = context;
    job->status = run_job(job->run, 1, job->task, &job->report, job->error);
}

/* --- its recording ----------------------------------------------- */

/* Samples for which TMPDIR has room, with as much again for results and other
 * programs; at most those wanted. */
static int64_t fit_samples(const char *path, int64_t wanted)
{
    char folder[FX8_BENCH_PATH_SIZE];
    struct statvfs disk;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path),
             path);
    if (statvfs(folder[0] != '\0' ? folder : "/", &disk) != 0)
        return wanted; /* writing it will say why */
    const double room = (double)disk.f_bavail * (double)disk.f_frsize;
    while (wanted > LEAST_SAMPLES && 4.0 * (double)wanted > room)
        wanted /= 2;
    return wanted;
}

/* Have the file written to disk, so that this does not go on while jobs run.
 * A system that cannot is slower, no more. */
static void settle(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)fsync(file);
        close(file);
    }
}

/* Write the recording of a task, shorter if room is short. */
static enum fx8_status record(const struct fx8_bench_run *run,
                              struct task *task, struct fx8_error *error)
{
    const struct fx8_native_storage storage = {.is_contiguous = true};
    const int64_t wanted = task->variety->n_samples;
    const int64_t n_inputs = (int64_t)task->array->n_inputs;
    task->n_samples = fit_samples(task->names.recording, wanted);
    struct fx8_observation o = fx8_bench_observation(
        task->array->n_inputs, task->n_samples / n_inputs);
    o.site = (struct fx8_site){0, 0, 0};
    FX8_TRY(fx8_bench_record(task->names.recording, &o, "antenna,pol,time",
                             &storage, error));
    settle(task->names.recording);
    if (task->n_samples == wanted)
        return FX8_OK;
    char text[96];
    snprintf(text, sizeof text,
             "recording of %lld MiB: no room for %lld in TMPDIR",
             (long long)(task->n_samples >> 19), (long long)(wanted >> 19));
    return fx8_bench_remark(run, text, error);
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
#define WRITE      (N_PARTS - 1)

/* Results of the rounds of a job. */
struct rounds {
    double total_s[FX8_BENCH_ROUNDS];
    double start_s[FX8_BENCH_ROUNDS]; /* opening and closing */
    double part_s[N_PARTS][FX8_BENCH_ROUNDS];
    double whole[FX8_BENCH_ROUNDS];            /* samples per second */
    double single[FX8_BENCH_ROUNDS];           /* the same on one core */
    double rate[N_LIMITING][FX8_BENCH_ROUNDS]; /* of the limiting parts */
};

static void keep_report(const struct fx8_run_report *report, double samples,
                        struct rounds *rounds, size_t round)
{
    const struct fx8_statistics *s = &report->statistics;
    const double seconds[N_PARTS] = {
        s->align_s,     s->channelize_s, s->correlate_s, s->postprocess_s,
        s->quicklook_s, s->gains_s,      report->read_s, report->write_s,
    };
    rounds->total_s[round] = report->total_s;
    rounds->start_s[round] = report->total_s - report->push_s - report->write_s;
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

static enum fx8_status measure_round(const struct fx8_bench_run *run,
                                     struct task *task, struct rounds *rounds,
                                     size_t round, struct fx8_error *error)
{
    struct fx8_run_report report;
    const double samples = (double)task->n_samples;
    FX8_TRY(run_job(run, run->n_threads, task, &report, error));
    keep_report(&report, samples, rounds, round);
    if (!task->variety->has_single)
        return FX8_OK;
    struct single single = {.run = run, .task = task, .error = error};
    /* threads inherit the one CPU that this one is pinned to */
    fx8_parallel_for(1, 1, true, run_single, &single);
    rounds->single[round] = samples / single.report.total_s;
    return single.status;
}

/* Record, and measure all rounds. */
static enum fx8_status measure_rounds(const struct fx8_bench_run *run,
                                      struct task *task, struct rounds *rounds,
                                      struct fx8_error *error)
{
    struct names *names = &task->names;
    FX8_TRY(fx8_bench_file("h5", names->recording, error));
    FX8_TRY(fx8_bench_file("uvh5", names->result, error));
    FX8_TRY(fx8_bench_file("quicklook.h5", names->quicklook, error));
    fx8_command_stop_at_once(names->recording);
    enum fx8_status status = record(run, task, error);
    fx8_command_count_signals();
    for (size_t r = 0; r < run->n_rounds && status == FX8_OK; r++)
        status = measure_round(run, task, rounds, r, error);
    unlink(names->recording);
    /* act now on a signal that came between two jobs */
    fx8_command_stop_at_once(NULL);
    return status;
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const size_t index = run->which->index;
    struct task task = {
        .array = &fx8_bench_array_shapes[index / N_VARIETIES],
        .variety = &varieties[index % N_VARIETIES],
    };
    struct rounds rounds;
    FX8_TRY(measure_rounds(run, &task, &rounds, error));
    return put_figures(run, &rounds, task.variety->has_single, error);
}

enum fx8_status fx8_bench_measure_writing(const struct fx8_bench_run *run,
                                          const char *compression,
                                          struct fx8_error *error)
{
    const struct fx8_bench_array array = {256, 64, false};
    const struct variety variety = {.precision = "int8",
                                    .result = FX8_RESULT_INT8,
                                    .n_samples = LEAST_SAMPLES,
                                    .compression = compression};
    struct task task = {.array = &array, .variety = &variety};
    struct rounds rounds;
    FX8_TRY(measure_rounds(run, &task, &rounds, error));
    const size_t n_antennas = array.n_inputs / 2;
    const double bytes =
        (double)fx8_uvh5_bytes(1, fx8_baseline_count(n_antennas),
                               array.n_channels, fx8_baseline_products(2));
    double rates[FX8_BENCH_ROUNDS], sizes[FX8_BENCH_ROUNDS];
    for (size_t r = 0; r < run->n_rounds; r++) {
        rates[r] = bytes / rounds.part_s[WRITE][r];
        sizes[r] = task.result_bytes / bytes;
    }
    struct fx8_bench_figure figure = {.quantity = "rate", .unit = "byte/s"};
    FX8_TRY(fx8_bench_put(run, figure, rates, NULL, error));
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
