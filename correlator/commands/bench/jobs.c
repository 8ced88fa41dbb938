/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs.c -- what a user waits for: whole jobs, and the parts of them
 * that post-processing and writing take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/shape.h"
#include "correlator/commands/bench/bench.h"
#include "correlator/commands/command.h"
#include "correlator/pipeline.h"
#include "correlator/results.h"

/* Samples of a job over all inputs and channels: one dump of 16384 or 32768
 * spectra, one second or two of a band of a megahertz. */
#define JOB_SAMPLES ((int64_t)1 << 29)

/* Random samples that are read again and again, bytes. */
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
    return FX8_OK; /* all of them, in their order */
}

static size_t buffer_size(const struct fx8_reader *reader, int64_t n_samples)
{
    const struct memory_reader *r = (const struct memory_reader *)reader;
    return 2 * r->n_inputs * (size_t)n_samples;
}

/* As many as are held: every read is one copy. */
static int64_t read_samples(const struct fx8_reader *reader)
{
    const struct memory_reader *r = (const struct memory_reader *)reader;
    return (int64_t)(RECORDED / 2 / r->n_inputs);
}

static enum fx8_status read_memory(struct fx8_reader *reader, int64_t first,
                                   int64_t n_samples, int8_t *buffer,
                                   struct fx8_sample_layout *layout,
                                   struct fx8_error *error)
{
    (void)first, (void)error;
    const struct memory_reader *r = (const struct memory_reader *)reader;
    memcpy(buffer, r->samples, buffer_size(reader, n_samples));
    for (size_t i = 0; i < r->n_inputs; i++)
        layout->input_offset[i] =
            2 * (ptrdiff_t)i * (r->is_time_major ? 1 : (ptrdiff_t)n_samples);
    layout->time_stride = r->is_time_major ? 2 * (ptrdiff_t)r->n_inputs : 2;
    return FX8_OK;
}

static enum fx8_status open_memory(const struct fx8_bench_case *bench,
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
        .n_inputs = bench->n_inputs,
        .is_time_major = bench->is_time_major,
    };
    struct fx8_observation *o = &reader->base.observation;
    o->is_complex = true;
    o->n_antennas = bench->n_inputs / 2;
    o->n_polarizations = 2;
    o->n_samples = JOB_SAMPLES / (int64_t)bench->n_inputs;
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

/* What a job makes. */
struct variety {
    const char *name;
    enum fx8_precision precision;
    const char *quicklook; /* mode of math, or NULL: no quick-look */
};

static const struct variety varieties[] = {
    {"int8", FX8_PRECISION_INT8, NULL},
    {"fp32", FX8_PRECISION_FP32, NULL},
    {"int8 + quick-look, ieee", FX8_PRECISION_INT8, "ieee"},
    {"int8 + quick-look, fast", FX8_PRECISION_INT8, "fast"},
};

struct names {
    char result[512], result_part[520];
    char quicklook[512], quicklook_part[520];
};

static void name_files(struct names *names)
{
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == '\0')
        folder = "/tmp";
    const long id = (long)getpid();
    snprintf(names->result, sizeof names->result, "%s/fx8-bench-%ld.uvh5",
             folder, id);
    snprintf(names->quicklook, sizeof names->quicklook,
             "%s/fx8-bench-%ld.quicklook.h5", folder, id);
    snprintf(names->result_part, sizeof names->result_part, "%s.part",
             names->result);
    snprintf(names->quicklook_part, sizeof names->quicklook_part, "%s.part",
             names->quicklook);
}

static enum fx8_status load(const struct fx8_bench_case *bench,
                            const struct variety *variety, const char *kernel,
                            const struct names *names,
                            struct fx8_settings *settings,
                            struct fx8_error *error)
{
    char channels[64], precision[64], level[64], math[64], quicklook[600];
    const char *overrides[16] = {
        "correlator.integration_time_s=all",
        "correlator.threads=1",
        "correlator.backend=cpu",
        "array.positions=none",
        channels,
        precision,
        level,
    };
    size_t n = 7;
    snprintf(channels, sizeof channels, "channelizer.channels=%zu",
             bench->n_channels);
    snprintf(precision, sizeof precision, "correlator.precision=%s",
             variety->precision == FX8_PRECISION_INT8 ? "int8" : "fp32");
    snprintf(level, sizeof level, "correlator.kernel=%s", kernel);
    if (variety->quicklook != NULL) {
        snprintf(math, sizeof math, "postprocess.math=%s", variety->quicklook);
        snprintf(quicklook, sizeof quicklook, "postprocess.quicklook=%s",
                 names->quicklook);
        overrides[n++] = math;
        overrides[n++] = quicklook;
    }
    return fx8_settings_load(NULL, overrides, n, true, settings, error);
}

static enum fx8_status run_job(const struct fx8_bench_case *bench,
                               const struct variety *variety,
                               const char *kernel, const struct names *names,
                               struct fx8_run_report *report,
                               struct fx8_error *error)
{
    struct memory_reader reader;
    struct fx8_settings settings = {0};
    struct fx8_job job = {0};
    enum fx8_status status = open_memory(bench, &reader, error);
    if (status == FX8_OK)
        status = load(bench, variety, kernel, names, &settings, error);
    if (status == FX8_OK)
        status = fx8_job_resolve(&settings, &reader.base.observation,
                                 reader.base.path, &job, error);
    if (status == FX8_OK) {
        struct fx8_run_request request = {
            .job = &job,
            .settings = &settings,
            .reader = &reader.base,
            .force = true,
            .command = "fx8 bench",
            .input = reader.base.path,
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

static void print_job(const struct fx8_bench_case *bench,
                      const struct variety *variety,
                      const struct fx8_run_report *report, bool json)
{
    const struct fx8_statistics *s = &report->statistics;
    const double share =
        (s->postprocess_s + s->quicklook_s + report->write_s) / report->total_s;
    if (json)
        printf("{\"job\":\"%s\",\"inputs\":%zu,\"channels\":%zu,"
               "\"total_s\":%.6g,\"postprocess_s\":%.6g,"
               "\"quicklook_s\":%.6g,\"write_s\":%.6g,\"share\":%.4f}\n",
               variety->name, bench->n_inputs, bench->n_channels,
               report->total_s, s->postprocess_s, s->quicklook_s,
               report->write_s, share);
    else
        printf("%4zu x %-5zu %-23s %7.3f s %6.3f s %6.3f s %6.3f s %6.2f %%\n",
               bench->n_inputs, bench->n_channels, variety->name,
               report->total_s, s->postprocess_s, s->quicklook_s,
               report->write_s, 100.0 * share);
    fflush(stdout);
}

enum fx8_status fx8_bench_jobs(const char *kernel, bool json,
                               struct fx8_error *error)
{
    struct names names;
    name_files(&names);
    fx8_command_stop_removes(names.result_part, names.quicklook_part);
    if (!json)
        printf("inputs x channels  job               whole   post-pr. "
               "quick-look write   the three\n");
    enum fx8_status status = FX8_OK;
    for (size_t c = 0; c < FX8_N_BENCH_CASES && status == FX8_OK; c++)
        for (size_t v = 0; v < sizeof varieties / sizeof varieties[0]; v++) {
            struct fx8_run_report report;
            status = run_job(&fx8_bench_cases[c], &varieties[v], kernel, &names,
                             &report, error);
            if (status != FX8_OK)
                break;
            print_job(&fx8_bench_cases[c], &varieties[v], &report, json);
        }
    fx8_command_count_signals();
    return status;
}
