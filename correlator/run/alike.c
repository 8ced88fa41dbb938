/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/sha256.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/alike.h"
#include "correlator/run/describe.h"

/* What must be the same. */
enum {
    SIZE,
    SAMPLES,
    RATE,
    START,
    FREQUENCY,
    INPUTS,
    DUMPS,
    KEYS,
    TABLES,
    SPOTS,
    RESULT,
    DRY_RUN,
    RESUME,
    FORCE,
    N_FACTS
};

static const char *const names[N_FACTS] = {
    [SIZE] = "bytes of the file",
    [SAMPLES] = "samples",
    [RATE] = "sample rate",
    [START] = "start",
    [FREQUENCY] = "frequency",
    [INPUTS] = "antennas x polarizations x bands",
    [DUMPS] = "dumps",
    [KEYS] = "digest of the configuration",
    [TABLES] = "digest of positions, delays, gains and phase centres",
    [SPOTS] = "digest of samples at some spots",
    [RESULT] = "name of the result",
    [DRY_RUN] = "--dry-run",
    [RESUME] = "--resume",
    [FORCE] = "--force",
};

/* The spots: blocks of samples, spread over the run from its first to its last
 * sample, of inputs from the first to the last.  Another recording differs in
 * all of them, a copy that was not completed in the last.  So few cost little
 * wherever they are, even if each is in a chunk that must be unpacked. */
#define N_SPOTS      8
#define SPOT_SAMPLES 256
#define SPOT_INPUTS  4

/* Size of a text: a name without its folder is one, too. */
#define FACT_SIZE (NAME_MAX + 1)

struct facts {
    char texts[N_FACTS][FACT_SIZE];
};

/* The keys that decide the results. */
static enum fx8_status print_keys(const struct fx8_job *job, FILE *stream,
                                  struct fx8_error *error)
{
    (void)error;
    fx8_settings_dump_results(job->settings, stream);
    return FX8_OK;
}

/* What files named by those keys decide. */
static enum fx8_status print_tables(const struct fx8_job *job, FILE *stream,
                                    struct fx8_error *error)
{
    const struct fx8_observation *o = &job->observation;
    fprintf(stream, "%a %a %a\n", o->site.latitude_deg, o->site.longitude_deg,
            o->site.altitude_m);
    for (size_t i = 0; i < job->plan.n_antennas; i++)
        fprintf(stream, "%a %a %a\n", o->antennas[i].enu_m[0],
                o->antennas[i].enu_m[1], o->antennas[i].enu_m[2]);
    for (size_t i = 0; i < FX8_TABLE_ITEMS; i++) {
        const struct fx8_table_item *item = &fx8_table_items[i];
        FX8_AUTO_FREE double *values = NULL;
        size_t n_rows;
        FX8_TRY(fx8_describe_table(job, item, &n_rows, &values, error));
        for (size_t v = 0; v < n_rows * item->n_columns; v++)
            fprintf(stream, "%a\n", values[v]);
    }
    for (size_t i = 0; i < job->n_centers; i++)
        fprintf(stream, "%s %a %a\n", job->centers[i].place.name,
                job->centers[i].place.icrs_deg[0],
                job->centers[i].place.icrs_deg[1]);
    return FX8_OK;
}

static enum fx8_status digest(const struct fx8_job *job,
                              enum fx8_status (*print)(const struct fx8_job *,
                                                       FILE *,
                                                       struct fx8_error *),
                              char *text, struct fx8_error *error)
{
    FX8_AUTO_FREE char *words = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&words, &size);
    if (stream == NULL)
        return fx8_no_memory("the configuration", error);
    const enum fx8_status status = print(job, stream, error);
    const bool is_whole = fclose(stream) == 0;
    FX8_TRY(status);
    if (!is_whole)
        return fx8_no_memory("the configuration", error);
    fx8_sha256(words, size, text);
    return FX8_OK;
}

/* Select the inputs of the spots. */
static enum fx8_status select_some(const struct fx8_job *job,
                                   struct fx8_reader *reader,
                                   struct fx8_error *error)
{
    struct fx8_input_position inputs[SPOT_INPUTS];
    const size_t n = job->n_inputs < SPOT_INPUTS ? job->n_inputs : SPOT_INPUTS;
    inputs[0] = job->inputs[0];
    for (size_t i = 1; i < n; i++)
        inputs[i] = job->inputs[i * (job->n_inputs - 1) / (n - 1)];
    return reader->select(reader, inputs, n, error);
}

/* Samples of this rank's copy.  What cannot be read counts as zeros: if no rank
 * can read it, the run goes as far as it would in one process. */
static enum fx8_status digest_spots(const struct fx8_job *job,
                                    struct fx8_reader *reader,
                                    char text[FACT_SIZE],
                                    struct fx8_error *error)
{
    ptrdiff_t offset[SPOT_INPUTS];
    struct fx8_sample_layout layout = {.input_offset = offset};
    const int64_t n =
        job->n_samples < SPOT_SAMPLES ? job->n_samples : SPOT_SAMPLES;
    const int64_t apart = (job->n_samples - n) / (N_SPOTS - 1);
    const int64_t rest = (job->n_samples - n) % (N_SPOTS - 1);
    int n_unread = 0;
    FX8_AUTO_FREE int8_t *samples = NULL;
    FX8_TRY(select_some(job, reader, error));
    const size_t size = reader->buffer_size(reader, n);
    FX8_TRY(fx8_allocate(N_SPOTS, size, "samples", &samples, error));
    for (int64_t k = 0; k < N_SPOTS; k++) {
        int8_t *spot = samples + (size_t)k * size;
        const int64_t first =
            job->plan.first_sample + k * apart + k * rest / (N_SPOTS - 1);
        struct fx8_error unread;
        if (reader->read(reader, first, n, spot, &layout, &unread) != FX8_OK) {
            memset(spot, 0, size);
            n_unread++;
        }
    }
    fx8_sha256(samples, N_SPOTS * size, text);
    if (n_unread > 0)
        snprintf(text + strlen(text), FACT_SIZE - strlen(text),
                 " (%d of %d spots cannot be read)", n_unread, N_SPOTS);
    return FX8_OK;
}

/* Name of the first result; its folder may have another name on each rank. */
static const char *name_result(const struct fx8_run_request *request)
{
    const char *const *path = request->outputs[0].paths;
    while (*path == NULL)
        path++;
    return basename(*path);
}

static const char *said(bool is_given)
{
    return is_given ? "given" : "not given";
}

static enum fx8_status collect(const struct fx8_run_request *request,
                               struct facts *facts, struct fx8_error *error)
{
    const struct fx8_job *job = request->job;
    const struct fx8_observation *o = &job->observation;
    struct stat file;
    long long size = 0;
    memset(facts, 0, sizeof *facts);
    if (stat(job->path, &file) == 0 && S_ISREG(file.st_mode))
        size = (long long)file.st_size;
#define PUT(fact, ...)                                                         \
    snprintf(facts->texts[fact], sizeof facts->texts[fact], __VA_ARGS__)
    PUT(SIZE, "%lld", size);
    PUT(SAMPLES, "%lld", (long long)o->n_samples);
    PUT(RATE, "%lld/%lld Hz", (long long)job->plan.sample_rate.numerator_hz,
        (long long)job->plan.sample_rate.denominator);
    PUT(START, "%lld s + %lld ps", (long long)o->start_time.unix_s,
        (long long)o->start_time.picosecond);
    PUT(FREQUENCY, "%.17g Hz", job->plan.dc_frequency_hz);
    PUT(INPUTS, "%zu x %zu x %zu", o->n_antennas, o->n_polarizations,
        job->plan.n_bands);
    PUT(DUMPS, "%lld", (long long)job->n_dumps);
    PUT(RESULT, "%s", name_result(request));
    PUT(DRY_RUN, "%s", said(request->is_trial));
    PUT(RESUME, "%s", said(request->resume));
    PUT(FORCE, "%s", said(request->force));
#undef PUT
    FX8_TRY(digest(job, print_keys, facts->texts[KEYS], error));
    FX8_TRY(digest(job, print_tables, facts->texts[TABLES], error));
    return digest_spots(job, request->reader, facts->texts[SPOTS], error);
}

enum fx8_status fx8_alike_check(const struct fx8_run_request *request,
                                struct fx8_error *error)
{
    const struct fx8_ranks *ranks = request->ranks;
    struct facts own, first;
    enum fx8_status status = collect(request, &own, error);
    FX8_TRY(fx8_ranks_agree(ranks, status, error));
    first = own;
    FX8_TRY(ranks->operations->broadcast(&first, sizeof first, error));
    for (int fact = 0; fact < N_FACTS && status == FX8_OK; fact++)
        if (strcmp(own.texts[fact], first.texts[fact]) != 0)
            status = fx8_fail(error, FX8_ERR_INPUT,
                              "%s: %s: %s: expected %s, as on rank 0",
                              request->job->path, names[fact], own.texts[fact],
                              first.texts[fact]);
    return fx8_ranks_agree(ranks, status, error);
}
