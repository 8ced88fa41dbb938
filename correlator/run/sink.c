/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "config/base/clock.h"
#include "config/base/try.h"
#include "correlator/run/consumer.h"
#include "correlator/run/describe.h"
#include "correlator/run/queue.h"
#include "correlator/run/sink.h"

/* Dumps in flight: one being written, one waiting. */
#define N_DUMPS 2

struct copy {
    struct fx8_dump dump;
    double *gains;          /* [n_inputs][n_fine], NULL: none */
    int64_t *valid_spectra; /* [n_rows] of this dump */
    int64_t *clips;         /* [n_inputs][n_fine] of this dump */
};

struct fx8_sink {
    const struct fx8_job *job;
    size_t center; /* index of the phase centre */
    const struct fx8_session *session;
    struct fx8_run_report *report;
    const struct fx8_run_output *output; /* of the phase centre */
    struct fx8_uvh5_writer *files[FX8_N_RESULTS];
    struct fx8_run_quicklook *quicklook;  /* NULL: not wanted */
    struct fx8_consumer_thread *consumer; /* NULL: not wanted */
    struct copy copies[N_DUMPS];
    int64_t *valid_spectra, *clips; /* the session's, up to the last dump */
    struct fx8_queue empty, full;
    pthread_t thread;
    bool has_thread;
    /* written by the thread; read after it has ended or closed `empty` */
    int64_t n_dumps;
    double seconds;
    enum fx8_status status;
    struct fx8_error error;
};

static enum fx8_status put_gains(struct fx8_sink *s, const double *gains,
                                 struct fx8_error *error)
{
    const size_t shape[] = {s->job->axes.n_inputs, s->job->axes.n_fine};
    if (gains == NULL || s->files[FX8_RESULT_INT8] == NULL)
        return FX8_OK;
    return fx8_uvh5_put(s->files[FX8_RESULT_INT8], "gain", 2, shape, gains,
                        "quantiser gain, LSB per recorded count, by input "
                        "(antenna-major) and channel",
                        error);
}

static enum fx8_status write_copy(struct fx8_sink *s, const struct copy *copy,
                                  struct fx8_error *error)
{
    const size_t dump = (size_t)copy->dump.index;
    /* gains first: compare can then read any file with a dump */
    FX8_TRY(put_gains(s, copy->gains, error));
    for (size_t f = 0; f < FX8_N_RESULTS; f++)
        if (s->files[f] != NULL) {
            FX8_TRY(fx8_uvh5_write_counts(
                s->files[f], dump, copy->valid_spectra, copy->clips, error));
            FX8_TRY(fx8_uvh5_write_dump(s->files[f], dump,
                                        &copy->dump.results[f], error));
        }
    return s->quicklook == NULL
               ? FX8_OK
               : fx8_run_quicklook_take(s->quicklook, &copy->dump, error);
}

static void *write_all(void *argument)
{
    struct fx8_sink *s = argument;
    struct copy *copy;
    while ((copy = fx8_queue_take(&s->full)) != NULL) {
        const double start = fx8_clock_seconds();
        struct fx8_run_dump dump = {&copy->dump, copy->gains,
                                    copy->valid_spectra, copy->clips};
        fx8_consumer_give(s->consumer, &dump);
        s->status = write_copy(s, copy, &s->error);
        s->seconds += fx8_clock_seconds() - start;
        fx8_consumer_wait(s->consumer);
        if (s->status != FX8_OK)
            break;
        s->n_dumps++;
        fx8_queue_put(&s->empty, copy);
    }
    /* wakes a caller that waits for an empty copy */
    fx8_queue_close(&s->empty);
    fx8_queue_close(&s->full);
    return NULL;
}

/* Arrays of a dump. */
enum { N_ARRAYS = FX8_RESULT_ARRAYS * FX8_N_RESULTS + FX8_QUICKLOOK_ARRAYS };

/* List the arrays that are written or consumed. */
static void list_arrays(const struct fx8_sink *s, struct fx8_dump *dump,
                        struct fx8_array arrays[N_ARRAYS])
{
    const struct fx8_axes *axes = &s->job->axes;
    const size_t n_cells =
        axes->n_baselines * axes->n_channels * axes->n_products;
    struct fx8_array *next = arrays;
    for (size_t f = 0; f < FX8_N_RESULTS; f++, next += FX8_RESULT_ARRAYS)
        fx8_list_result(&dump->results[f], n_cells, s->output->paths[f] != NULL,
                        next);
    fx8_list_quicklook(&dump->quicklook, n_cells,
                       axes->n_inputs * axes->n_channels,
                       s->output->path_quicklook != NULL, next);
}

/* Cells with a gain; 0 without a quantiser. */
static size_t count_levels(const struct fx8_sink *s)
{
    return fx8_gains(s->session).gain == NULL
               ? 0
               : s->job->axes.n_inputs * s->job->axes.n_fine;
}

static enum fx8_status allocate_copy(const struct fx8_sink *s,
                                     struct copy *copy, struct fx8_error *error)
{
    struct fx8_array arrays[N_ARRAYS];
    const size_t n_levels = count_levels(s);
    const struct fx8_array counts[] = {
        {&copy->gains, n_levels, n_levels > 0 ? sizeof(double) : 0},
        FX8_ITEMS(copy->clips, n_levels),
        FX8_ITEMS(copy->valid_spectra, s->job->axes.n_rows)};
    list_arrays(s, &copy->dump, arrays);
    FX8_TRY(fx8_allocate_arrays(arrays, N_ARRAYS, "dump", error));
    return fx8_allocate_arrays(counts, 3, "counts", error);
}

static void copy_gains(const struct fx8_sink *s, double *gains)
{
    const float *of = fx8_gains(s->session).gain;
    for (size_t i = 0; i < count_levels(s); i++)
        gains[i] = (double)of[i];
}

/* What was counted since the last dump. */
static void take_counts(const int64_t *counts, size_t n, int64_t *before,
                        int64_t *since)
{
    for (size_t i = 0; i < n; i++) {
        since[i] = counts[i] - before[i];
        before[i] = counts[i];
    }
}

size_t fx8_sink_memory(const struct fx8_run_request *request, size_t center)
{
    const struct fx8_sink unused = {.job = request->job,
                                    .output = &request->outputs[center]};
    struct fx8_dump dump;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(&unused, &dump, arrays);
    return fx8_product(N_DUMPS, fx8_arrays_size(arrays, N_ARRAYS), 1, 1);
}

/* --- creating outputs -------------------------------------------- */

static struct fx8_provenance provenance_of(
    const struct fx8_run_request *request, const struct fx8_run_report *report,
    enum fx8_result_kind kind)
{
    return (struct fx8_provenance){
        .precision = fx8_result_names[kind].keyword,
        .backend = report->backend,
        .kernel = report->kernel,
        .fft_plan = report->fft_plan,
        .command = request->command,
        .input = request->input,
    };
}

/* What the file says of delays and gains besides the keywords. */
static enum fx8_status put_delays(const struct fx8_job *job,
                                  struct fx8_uvh5_writer *file,
                                  struct fx8_error *error)
{
    const size_t n = job->axes.n_inputs;
    const size_t shape[] = {n, 3};
    FX8_AUTO_FREE double *values = NULL;
    FX8_TRY(fx8_allocate(fx8_product(n, 4, 1, 1), sizeof *values, "delays",
                         &values, error));
    double *gains = values + n;
    for (size_t input = 0; input < n; input++) {
        const size_t feed = input % job->plan.n_polarizations;
        const size_t antenna = input / job->plan.n_polarizations;
        const struct fx8_gain *gain = &job->gains[input];
        values[input] = job->observation.antennas[antenna].cable_delay_s[feed];
        gains[3 * input] = gain->amplitude;
        gains[3 * input + 1] = gain->phase_deg;
        gains[3 * input + 2] = gain->delay_s * 1e9;
    }
    FX8_TRY(fx8_uvh5_put(file, "cable_delay", 1, shape, values,
                         "cable delay of the antenna tables, s, by input "
                         "(antenna-major); not removed in mode none",
                         error));
    return fx8_uvh5_put(file, "calibration", 2, shape, gains,
                        "gain divided out, by input: amplitude, phase (deg), "
                        "delay (ns)",
                        error);
}

/* Create the file of a result, and write what does not depend on dumps. */
static enum fx8_status create_file(struct fx8_sink *s,
                                   const struct fx8_run_request *request,
                                   enum fx8_result_kind kind, const char *path,
                                   struct fx8_error *error)
{
    const struct fx8_provenance provenance =
        provenance_of(request, s->report, kind);
    const double spectra = (double)s->job->plan.spectra_per_dump;
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header header = {0};
    FX8_TRY(
        fx8_describe(&s->job->centers[s->center], &provenance, &header, error));
    FX8_TRY(fx8_uvh5_create(path, request->force, &header,
                            s->job->settings->output.compression,
                            &s->files[kind], error));
    const struct fx8_axes *axes = &s->job->axes;
    FX8_TRY(fx8_uvh5_open_counts(
        s->files[kind], s->job->plan.n_bands, axes->n_inputs,
        kind == FX8_RESULT_INT8 && axes->has_quantiser ? axes->n_fine : 0,
        error));
    FX8_TRY(put_delays(s->job, s->files[kind], error));
    return fx8_uvh5_put(s->files[kind], "spectra_per_dump", 0, NULL, &spectra,
                        "spectra per dump (M)", error);
}

static enum fx8_status create_outputs(struct fx8_sink *s,
                                      const struct fx8_run_request *request,
                                      struct fx8_error *error)
{
    const struct fx8_run_output *output = s->output;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (output->paths[kind] != NULL)
            FX8_TRY(create_file(s, request, kind, output->paths[kind], error));
    if (output->path_quicklook == NULL)
        return FX8_OK;
    /* INT8 if computed: it is the main result */
    const enum fx8_result_kind kind = output->paths[FX8_RESULT_INT8] != NULL
                                          ? FX8_RESULT_INT8
                                          : FX8_RESULT_FP32;
    const struct fx8_provenance provenance =
        provenance_of(request, s->report, kind);
    return fx8_run_quicklook_open(request, s->center, &provenance, kind,
                                  s->session, &s->quicklook, error);
}

/* Allocate copies and start the thread. */
static enum fx8_status start(struct fx8_sink *s, struct fx8_error *error)
{
    const struct fx8_array counts[] = {
        FX8_ITEMS(s->clips, count_levels(s)),
        FX8_ITEMS(s->valid_spectra, s->job->axes.n_rows)};
    FX8_TRY(fx8_allocate_arrays(counts, 2, "counts", error));
    for (size_t i = 0; i < N_DUMPS; i++) {
        FX8_TRY(allocate_copy(s, &s->copies[i], error));
        fx8_queue_put(&s->empty, &s->copies[i]);
    }
    FX8_TRY(fx8_consumer_open(s->output, &s->consumer, error));
    if (pthread_create(&s->thread, NULL, write_all, s) != 0)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "cannot start the writer thread");
    s->has_thread = true;
    return FX8_OK;
}

enum fx8_status fx8_sink_open(const struct fx8_run_request *request,
                              size_t center, const struct fx8_session *session,
                              struct fx8_run_report *report,
                              struct fx8_sink **sink, struct fx8_error *error)
{
    *sink = NULL;
    struct fx8_sink *s;
    FX8_TRY(fx8_allocate(1, sizeof *s, "writer", &s, error));
    s->job = request->job;
    s->center = center;
    s->output = &request->outputs[center];
    s->session = session;
    s->report = report;
    fx8_queue_init(&s->empty);
    fx8_queue_init(&s->full);
    enum fx8_status status = create_outputs(s, request, error);
    if (status == FX8_OK)
        status = start(s, error);
    if (status != FX8_OK)
        fx8_sink_close(&s, false, NULL);
    *sink = s;
    return status;
}

enum fx8_status fx8_sink_put(struct fx8_sink *sink, const struct fx8_dump *dump,
                             struct fx8_error *error)
{
    struct copy *copy = fx8_queue_take(&sink->empty);
    if (copy == NULL) {
        /* the thread failed and closed the queue */
        *error = sink->error;
        return sink->status;
    }
    struct fx8_dump given = *dump;
    struct fx8_array to[N_ARRAYS], from[N_ARRAYS];
    copy->dump.index = dump->index;
    list_arrays(sink, &copy->dump, to);
    list_arrays(sink, &given, from);
    fx8_copy_arrays(to, from, N_ARRAYS);
    if (copy->gains != NULL)
        copy_gains(sink, copy->gains);
    const struct fx8_input_counts counts = fx8_inputs(sink->session);
    take_counts(counts.valid_spectra, sink->job->axes.n_rows,
                sink->valid_spectra, copy->valid_spectra);
    take_counts(counts.clips, count_levels(sink), sink->clips, copy->clips);
    fx8_queue_put(&sink->full, copy);
    return FX8_OK;
}

/* Write what is known only at the end: final gains, clipped fractions. */
static enum fx8_status put_extras(struct fx8_sink *s, struct fx8_error *error)
{
    double *values = s->copies[0].gains;
    if (values == NULL || s->files[FX8_RESULT_INT8] == NULL)
        return FX8_OK;
    const struct fx8_axes *axes = &s->job->axes;
    const struct fx8_input_counts counts = fx8_inputs(s->session);
    copy_gains(s, values);
    FX8_TRY(put_gains(s, values, error));
    fx8_uvh5_clip_fractions(&(struct fx8_uvh5_counts){s->job->plan.n_bands,
                                                      axes->n_inputs,
                                                      axes->n_fine},
                            counts.valid_spectra, counts.clips, values);
    double most = 0.0;
    for (size_t at = 0; at < axes->n_inputs * axes->n_fine; at++)
        if (values[at] > most)
            most = values[at];
    const size_t shape[] = {axes->n_inputs, axes->n_fine};
    FX8_TRY(fx8_uvh5_put(s->files[FX8_RESULT_INT8], "clip_fraction", 2, shape,
                         values,
                         "fraction of valid spectra clamped, by input and "
                         "channel",
                         error));
    struct fx8_keyword keyword = {
        .name = "CLIPMAX", .type = FX8_KEYWORD_REAL, .real = most};
    return fx8_uvh5_put_keyword(s->files[FX8_RESULT_INT8], &keyword, error);
}

/* What is written after the last dump. */
static enum fx8_status put_end(struct fx8_sink *s, struct fx8_error *error)
{
    FX8_TRY(put_extras(s, error));
    return s->quicklook == NULL
               ? FX8_OK
               : fx8_run_quicklook_finish(s->quicklook, (size_t)s->n_dumps,
                                          &s->report->quicklook, error);
}

static void free_sink(struct fx8_sink *s)
{
    for (size_t i = 0; i < N_DUMPS; i++) {
        struct fx8_array arrays[N_ARRAYS];
        list_arrays(s, &s->copies[i].dump, arrays);
        fx8_free_arrays(arrays, N_ARRAYS);
        free(s->copies[i].gains);
        free(s->copies[i].clips);
        free(s->copies[i].valid_spectra);
    }
    free(s->clips);
    free(s->valid_spectra);
    fx8_queue_destroy(&s->empty);
    fx8_queue_destroy(&s->full);
    free(s);
}

/* Finish all results, or none: after a failed run finished dumps stay as .part.
 */
static enum fx8_status end_files(struct fx8_sink *s, enum fx8_status status,
                                 bool keep, struct fx8_error *error)
{
    const size_t n_dumps = (size_t)s->n_dumps;
    for (size_t f = 0; f < FX8_N_RESULTS; f++) {
        if (status != FX8_OK || !keep)
            fx8_uvh5_leave(&s->files[f], n_dumps, error);
        else
            status = fx8_uvh5_close(&s->files[f], n_dumps, error);
    }
    struct fx8_error ignored;
    const bool is_kept = keep && status == FX8_OK && n_dumps > 0;
    const enum fx8_status closed = fx8_run_quicklook_close(
        &s->quicklook, is_kept, status == FX8_OK ? error : &ignored);
    return status == FX8_OK ? closed : status;
}

enum fx8_status fx8_sink_close(struct fx8_sink **sink, bool keep,
                               struct fx8_error *error)
{
    struct fx8_sink *s = *sink;
    if (s == NULL)
        return FX8_OK;
    *sink = NULL;
    fx8_queue_close(&s->full);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    fx8_consumer_close(&s->consumer);
    enum fx8_status status = s->status;
    if (status != FX8_OK && keep && error != NULL)
        *error = s->error;
    if (status == FX8_OK && keep && s->n_dumps > 0)
        status = put_end(s, error);
    s->report->write_s = s->seconds;
    status = end_files(s, status, keep, error);
    s->report->n_dumps = status == FX8_OK && keep ? s->n_dumps : 0;
    free_sink(s);
    return status;
}
