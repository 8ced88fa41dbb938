/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runs.c -- whole runs as a user makes them: from a recording in TMPDIR, which
 * the page cache holds, to result files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config/base/parallel.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/commands/command.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/results.h"
#include "io/native/native.h"
#include "io/reader.h"

/* The least samples, over all inputs, that are worth measuring. */
#define LEAST_SAMPLES ((int64_t)1 << 24)

/* Spectra recorded behind the last dump, for the window of its last ones. */
#define SPARE_SPECTRA 64

/* Recordings are of a band of this width. */
#define RATE_HZ 1e6

/* Files of a run, removed when it ends. */
struct names {
    char recording[FX8_BENCH_PATH_SIZE];
    char result[FX8_BENCH_PATH_SIZE], quicklook[FX8_BENCH_PATH_SIZE];
};

static enum fx8_status load(const struct fx8_bench_runs *runs,
                            const struct fx8_bench_job *job,
                            const char *quicklook,
                            struct fx8_settings *settings,
                            struct fx8_error *error)
{
    char texts[9][FX8_BENCH_PATH_SIZE + 32];
    const char *overrides[11] = {job->is_on_card ? "correlator.backend=cuda"
                                                 : "correlator.backend=cpu",
                                 "array.positions=none"};
    const size_t n = job->quicklook != NULL ? 11 : 9;
    const size_t n_channels = runs->array->n_channels;
    const double spectra = (double)job->n_spectra;
    const double spectrum_s = (double)n_channels / RATE_HZ;
    for (size_t k = 2; k < n; k++)
        overrides[k] = texts[k - 2];
    if (n_channels == 1)
        snprintf(texts[0], sizeof *texts, "channelizer.method=none");
    else
        snprintf(texts[0], sizeof *texts, "channelizer.channels=%zu",
                 n_channels);
    snprintf(texts[1], sizeof *texts, "correlator.precision=%s",
             job->precision);
    snprintf(texts[2], sizeof *texts, "correlator.kernel=%s",
             job->is_on_card ? "auto" : runs->run->operations->name);
    snprintf(texts[3], sizeof *texts, "correlator.threads=%zu", job->n_threads);
    snprintf(texts[4], sizeof *texts, "output.compression=%s",
             job->compression != NULL ? job->compression : "none");
    snprintf(texts[5], sizeof *texts, "correlator.integration_time_s=%.9g",
             spectra * spectrum_s);
    snprintf(texts[6], sizeof *texts, "input.duration_s=%.9g",
             (spectra * (double)job->n_dumps + SPARE_SPECTRA) * spectrum_s);
    if (job->n_spectra == 0)
        snprintf(texts[5], sizeof *texts, "correlator.integration_time_s=all");
    if (job->n_dumps == 0)
        snprintf(texts[6], sizeof *texts, "input.duration_s=all");
    snprintf(texts[7], sizeof *texts, "postprocess.math=%s",
             job->quicklook != NULL ? job->quicklook : "");
    snprintf(texts[8], sizeof *texts, "postprocess.quicklook=%s", quicklook);
    return fx8_settings_load(NULL, overrides, n, true, settings, error);
}

/* A signal stops the run at once and removes its unfinished files. */
static int is_stopped(void)
{
    return fx8_command_interrupted() > 0 ? 2 : 0;
}

static enum fx8_status run_job(const struct fx8_bench_runs *runs,
                               const struct fx8_bench_job *kind,
                               const struct names *names,
                               struct fx8_bench_outcome *outcome,
                               struct fx8_error *error)
{
    const char *const path = names->recording;
    FX8_AUTO(fx8_reader_close) struct fx8_reader *reader = NULL;
    FX8_AUTO(fx8_settings_clear) struct fx8_settings settings = {0};
    FX8_AUTO(fx8_job_clear) struct fx8_job job = {0};
    FX8_TRY(load(runs, kind, names->quicklook, &settings, error));
    FX8_TRY(fx8_reader_open(&path, 1, &settings, &reader, error));
    FX8_TRY(fx8_job_resolve(&settings, &reader->observation, reader->path, &job,
                            error));
    struct fx8_run_output output = {
        .path_quicklook = kind->quicklook != NULL ? names->quicklook : NULL,
    };
    output.paths[strcmp(kind->precision, "int8") == 0 ? FX8_RESULT_INT8
                                                      : FX8_RESULT_FP32] =
        names->result;
    const struct fx8_run_request request = {
        .ranks = &fx8_ranks_alone,
        .n_ranks = 1,
        .job = &job,
        .reader = reader,
        .outputs = &output,
        .force = true, /* the names are private to this process */
        .command = "fx8 bench",
        .input = reader->path,
        .interrupted = is_stopped,
    };
    struct fx8_run_report *report = &outcome->report;
    const enum fx8_status status = fx8_pipeline_run(&request, report, error);
    free(report->dead);
    report->dead = NULL;
    struct stat file = {0};
    (void)stat(names->result, &file); /* none after a failure */
    outcome->result_bytes = (double)file.st_size;
    unlink(names->result);
    unlink(names->quicklook);
    return status;
}

/* A run on one core: reading and writing have their threads, but share it. */
struct single {
    const struct fx8_bench_runs *runs;
    const struct fx8_bench_job *job;
    const struct names *names;
    struct fx8_bench_outcome *outcome;
    enum fx8_status status;
    struct fx8_error *error;
};

static void run_single(void *context, size_t item, size_t thread)
{
    (void)item, (void)thread;
    struct single *single = context;
    single->status = run_job(single->runs, single->job, single->names,
                             single->outcome, single->error);
}

static enum fx8_status run_on_one_core(const struct fx8_bench_runs *runs,
                                       const struct fx8_bench_job *job,
                                       const struct names *names,
                                       struct fx8_bench_outcome *outcome,
                                       struct fx8_error *error)
{
    struct single single = {.runs = runs,
                            .job = job,
                            .names = names,
                            .outcome = outcome,
                            .error = error};
    /* threads inherit the one CPU that this one is pinned to */
    fx8_parallel_for(1, 1, true, run_single, &single);
    return single.status;
}

/* --- the recording ----------------------------------------------- */

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

/* Have the file written to disk, so that this does not go on while runs are
 * timed.  A system that cannot is slower, no more. */
static void settle(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)fsync(file);
        close(file);
    }
}

/* Write the recording, shorter if room is short. */
static enum fx8_status record(struct fx8_bench_runs *runs, const char *path,
                              struct fx8_error *error)
{
    const struct fx8_native_storage storage = {.is_contiguous = true};
    const int64_t wanted = runs->n_samples;
    const int64_t n_inputs = (int64_t)runs->array->n_inputs;
    const int64_t spare =
        runs->is_divided ? SPARE_SPECTRA * (int64_t)runs->array->n_channels : 0;
    if (!runs->is_divided)
        runs->n_samples = fit_samples(path, wanted);
    struct fx8_observation o = fx8_bench_observation(
        runs->array->n_inputs, runs->n_samples / n_inputs + spare);
    o.site = (struct fx8_site){0, 0, 0};
    FX8_TRY(fx8_bench_record(path, &o, "antenna,pol,time", &storage, error));
    settle(path);
    if (runs->n_samples == wanted)
        return FX8_OK;
    char text[96];
    snprintf(text, sizeof text,
             "recording of %lld MiB: no room for %lld in TMPDIR",
             (long long)(runs->n_samples >> 19), (long long)(wanted >> 19));
    return fx8_bench_remark(runs->run, text, error);
}

/* --- rounds ------------------------------------------------------ */

static enum fx8_status measure_all(const struct fx8_bench_runs *runs,
                                   const struct names *names,
                                   struct fx8_error *error)
{
    const size_t n_rounds = runs->run->n_rounds;
    for (size_t at = 0; at < n_rounds * runs->n_jobs; at++) {
        const size_t round =
            runs->is_repeated ? at % n_rounds : at / runs->n_jobs;
        const size_t k = runs->is_repeated ? at / n_rounds : at % runs->n_jobs;
        const struct fx8_bench_job *job = &runs->jobs[k];
        struct fx8_bench_outcome outcome;
        FX8_TRY(job->is_on_one_core
                    ? run_on_one_core(runs, job, names, &outcome, error)
                    : run_job(runs, job, names, &outcome, error));
        runs->keep(runs->context, k, round, &outcome);
    }
    return FX8_OK;
}

enum fx8_status fx8_bench_measure_runs(struct fx8_bench_runs *runs,
                                       struct fx8_error *error)
{
    struct names names;
    FX8_TRY(fx8_bench_file("h5", names.recording, error));
    FX8_TRY(fx8_bench_file("uvh5", names.result, error));
    FX8_TRY(fx8_bench_file("quicklook.h5", names.quicklook, error));
    fx8_command_stop_at_once(names.recording);
    enum fx8_status status = record(runs, names.recording, error);
    fx8_command_count_signals();
    if (status == FX8_OK)
        status = measure_all(runs, &names, error);
    unlink(names.recording);
    /* act now on a signal that came between two runs */
    fx8_command_stop_at_once(NULL);
    return status;
}
