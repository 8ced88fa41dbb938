/* SPDX-License-Identifier: BSD-3-Clause */
/* sink_open.c -- see sink_private.h: creates the outputs of a run, or goes on
 * with those of an earlier one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/describe.h"
#include "correlator/run/sink_private.h"

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

/* What the file says of delays, gains and ripple besides the keywords. */
static enum fx8_status put_tables(const struct fx8_job *job,
                                  struct fx8_uvh5_writer *file,
                                  struct fx8_error *error)
{
    for (size_t i = 0; i < FX8_TABLE_ITEMS; i++) {
        const struct fx8_table_item *item = &fx8_table_items[i];
        size_t shape[] = {0, item->n_columns};
        FX8_AUTO_FREE double *values = NULL;
        FX8_TRY(fx8_describe_table(job, item, &shape[0], &values, error));
        if (shape[0] > 0)
            FX8_TRY(fx8_uvh5_put(file, item->name, item->n_columns == 1 ? 1 : 2,
                                 shape, values, item->text, error));
    }
    return FX8_OK;
}

/* --- outputs of an earlier run ----------------------------------- */

/* Note what there is of a result. */
static enum fx8_status note_file(struct fx8_sink *s, enum fx8_result_kind kind,
                                 size_t n_finished, struct fx8_error *error)
{
    const char *path = s->output->paths[kind];
    FX8_AUTO_FREE char *part = NULL;
    struct stat status;
    if (s->files[kind] != NULL) {
        const char *name = fx8_uvh5_name(s->files[kind]);
        const bool is_ended = fx8_uvh5_has_ended(s->files[kind]);
        s->set.present = name;
        s->set.ended = is_ended ? name : s->set.ended;
        if (is_ended && n_finished > s->set.n_ended)
            s->set.n_ended = n_finished;
        return FX8_OK;
    }
    if (asprintf(&part, "%s.part", path) < 0) {
        part = NULL;
        return fx8_no_memory("names", error);
    }
    if (lstat(part, &status) != 0 && lstat(path, &status) != 0)
        s->set.absent = path;
    return FX8_OK;
}

/* Describe a result, and lock the file of an earlier run, which gives
 * `gains` if it has any. */
static enum fx8_status plan_file(struct fx8_sink *s,
                                 const struct fx8_run_request *request,
                                 enum fx8_result_kind kind,
                                 struct fx8_error *error)
{
    const struct fx8_provenance provenance =
        provenance_of(request, s->report, kind);
    struct fx8_resumed found = {.is_usable = false};
    FX8_TRY(fx8_describe(&s->job->centers[s->center], &provenance,
                         fx8_sink_has_averages(s) ? &s->rows : NULL,
                         &s->headers[kind], error));
    if (request->resume)
        FX8_TRY(
            fx8_resume_open(request, s->output->paths[kind], &s->headers[kind],
                            kind == FX8_RESULT_INT8 && fx8_sink_levels(s) > 0
                                ? &s->copies[0].gains
                                : NULL,
                            &s->files[kind], &found, error));
    s->can_resume = s->can_resume && found.is_usable;
    s->is_complete = s->is_complete && found.is_complete;
    strcpy(s->input, found.input);
    s->has_moved = found.has_moved;
    return request->resume ? note_file(s, kind, found.n_finished, error)
                           : FX8_OK;
}

enum fx8_status fx8_sink_restore_gains(struct fx8_sink *s,
                                       struct fx8_error *error)
{
    const struct fx8_uvh5_gains *gains = &s->copies[0].gains;
    const size_t n = fx8_sink_levels(s);
    FX8_AUTO_FREE float *gain = NULL;
    FX8_AUTO_FREE uint8_t *is_zero = NULL;
    const struct fx8_array arrays[] = {FX8_ITEMS(gain, n),
                                       FX8_ITEMS(is_zero, n)};
    if (n == 0)
        return FX8_OK;
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "gains", error));
    for (size_t i = 0; i < n; i++) {
        gain[i] = (float)gains->gain[i];
        is_zero[i] = gains->no_power[i] != 0.0;
    }
    const struct fx8_input_gains restored = {gain, is_zero, gains->is_set};
    return fx8_set_gains(s->session, &restored, error);
}

enum fx8_status fx8_sink_read_copy(struct fx8_sink *s, size_t dump, bool trusts,
                                   struct fx8_sink_copy *copy,
                                   const char **unfinished,
                                   struct fx8_error *error)
{
    *unfinished = NULL;
    /* counts last of INT8, which has clips */
    for (size_t f = FX8_N_RESULTS; f-- > 0 && *unfinished == NULL;) {
        bool is_finished;
        if (s->files[f] == NULL)
            continue;
        FX8_TRY(fx8_uvh5_read_dump(s->files[f], dump, trusts, &copy->counts,
                                   &copy->dump.results[f], &is_finished,
                                   error));
        if (!is_finished)
            *unfinished = fx8_uvh5_name(s->files[f]);
    }
    return FX8_OK;
}

/* --- creating outputs -------------------------------------------- */

static enum fx8_status open_counts(const struct fx8_sink *s,
                                   enum fx8_result_kind kind,
                                   struct fx8_error *error)
{
    const struct fx8_axes *axes = &s->job->axes;
    const size_t n_bands = s->job->plan.n_bands;
    const bool has_clips = kind == FX8_RESULT_INT8 && axes->has_quantiser;
    FX8_TRY(fx8_uvh5_open_counts(s->files[kind], n_bands, axes->n_inputs,
                                 has_clips ? axes->n_fine : 0, error));
    return fx8_uvh5_open_dead(s->files[kind], n_bands, axes->n_inputs, error);
}

enum fx8_status fx8_sink_look_into(struct fx8_sink *s, struct fx8_error *error)
{
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (s->files[kind] != NULL)
            FX8_TRY(open_counts(s, kind, error));
    s->has_gains = fx8_sink_levels(s) > 0;
    if (s->has_gains)
        memcpy(s->is_set, s->copies[0].gains.is_set, s->job->axes.n_rows);
    return FX8_OK;
}

void fx8_sink_drop(struct fx8_sink *s)
{
    for (size_t f = 0; f < FX8_N_RESULTS; f++)
        fx8_uvh5_drop(&s->files[f]);
    s->input[0] = '\0';
    s->has_moved = s->has_gains = false;
}

enum fx8_status fx8_sink_verify(struct fx8_sink *s, size_t dump,
                                uint8_t *is_finished, bool *has_data,
                                struct fx8_error *error)
{
    const struct fx8_uvh5_counted *counts = &s->copies[0].counts;
    const char *unfinished;
    /* the quick-look reads all of it later, when it is too late for a damaged
     * one to be computed again */
    const bool trusts = s->output->path_quicklook == NULL;
    FX8_TRY(
        fx8_sink_read_copy(s, dump, trusts, &s->copies[0], &unfinished, error));
    *is_finished = unfinished == NULL;
    *has_data = false;
    for (size_t row = 0; row < s->job->axes.n_rows; row++)
        *has_data = *has_data || (*is_finished && !counts->dead[row] &&
                                  counts->valid_spectra[row] > 0);
    return FX8_OK;
}

/* Why a dump that is computed again may be another one. */
static const char *name_cause(const struct fx8_sink *s)
{
    return strstr(s->report->fft_plan, "measure") != NULL
               ? "--fft-plan measure has found another transform, or the "
                 "recording, a table or the Earth data have changed"
               : "the recording, a table or the Earth data have changed";
}

enum fx8_status fx8_sink_compare(struct fx8_sink *s,
                                 const struct fx8_dump *dump,
                                 struct fx8_error *error)
{
    for (size_t f = 0; f < FX8_N_RESULTS; f++) {
        bool is_same = true;
        if (s->files[f] != NULL) {
            size_t n_rows;
            const struct fx8_result *rows =
                fx8_sink_rows(s, (enum fx8_result_kind)f, dump, &n_rows);
            FX8_TRY(fx8_uvh5_compare_slice(s->files[f], (size_t)dump->index,
                                           dump->first_baseline, n_rows, rows,
                                           &is_same, error));
        }
        if (!is_same)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: dump %lld: is not what this run computes: %s: "
                            "expected the same as before, or --force "
                            "without --resume to begin again",
                            fx8_uvh5_name(s->files[f]), (long long)dump->index,
                            name_cause(s));
    }
    return FX8_OK;
}

enum fx8_status fx8_sink_change_session(struct fx8_sink *s,
                                        struct fx8_session *session,
                                        struct fx8_error *error)
{
    s->session = session;
    return fx8_sink_restore_gains(s, error);
}

/* Create the file of a result or take up the earlier one, and write what does
 * not depend on dumps. */
static enum fx8_status create_file(struct fx8_sink *s,
                                   const struct fx8_run_request *request,
                                   enum fx8_result_kind kind,
                                   const uint8_t *finished,
                                   struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &s->headers[kind];
    const double spectra = (double)s->job->most_spectra;
    const double n_dumps = (double)s->job->n_dumps;
    FX8_TRY(s->files[kind] != NULL
                ? fx8_uvh5_take_up(s->files[kind], header, finished, error)
                : fx8_uvh5_create(s->output->paths[kind], request->force,
                                  header, s->job->settings->output.compression,
                                  &s->files[kind], error));
    fx8_uvh5_pack_on(s->files[kind],
                     fx8_job_packers(s->job, fx8_job_threads(s->job)));
    FX8_TRY(open_counts(s, kind, error));
    FX8_TRY(put_tables(s->job, s->files[kind], error));
    FX8_TRY(fx8_uvh5_put(s->files[kind], FX8_PLANNED_DUMPS, 0, NULL, &n_dumps,
                         "dumps of the whole run", error));
    return fx8_uvh5_put(s->files[kind], "spectra_per_dump", 0, NULL, &spectra,
                        "spectra per dump (M)", error);
}

static enum fx8_status create_outputs(struct fx8_sink *s,
                                      const struct fx8_run_request *request,
                                      const uint8_t *finished,
                                      struct fx8_error *error)
{
    const struct fx8_run_output *output = s->output;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (output->paths[kind] != NULL)
            FX8_TRY(create_file(s, request, kind, finished, error));
    if (output->path_quicklook == NULL)
        return FX8_OK;
    /* INT8 if computed: it is the main result */
    const enum fx8_result_kind kind = output->paths[FX8_RESULT_INT8] != NULL
                                          ? FX8_RESULT_INT8
                                          : FX8_RESULT_FP32;
    struct fx8_provenance provenance = provenance_of(request, s->report, kind);
    if (s->input[0] != '\0')
        provenance.input = s->input;
    return fx8_run_quicklook_open(request, s->center, &provenance, kind,
                                  s->can_resume, &s->quicklook, error);
}

static enum fx8_status allocate(struct fx8_sink *s, struct fx8_error *error)
{
    const struct fx8_array arrays[] = {
        FX8_ITEMS(s->clips, fx8_sink_levels(s)),
        FX8_ITEMS(s->valid_spectra, s->job->axes.n_rows),
        FX8_ITEMS(s->is_set, s->job->axes.n_rows)};
    FX8_TRY(fx8_allocate_arrays(arrays, 3, "counts", error));
    FX8_TRY(fx8_earlier_open(s->job, &s->earlier, error));
    for (size_t i = 0; i < FX8_SINK_COPIES; i++)
        FX8_TRY(fx8_sink_allocate_copy(s, &s->copies[i], error));
    return fx8_sink_open_averages(s, error);
}

static enum fx8_status plan_outputs(struct fx8_sink *s,
                                    const struct fx8_run_request *request,
                                    struct fx8_error *error)
{
    FX8_TRY(allocate(s, error));
    if (s->ranks->rank > 0)
        return FX8_OK;
    s->can_resume = s->is_complete = true;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (s->output->paths[kind] != NULL)
            FX8_TRY(plan_file(s, request, kind, error));
    return FX8_OK;
}

enum fx8_status fx8_sink_open(const struct fx8_run_request *request,
                              size_t center, struct fx8_session *session,
                              struct fx8_run_report *report,
                              struct fx8_sink **sink, struct fx8_error *error)
{
    *sink = NULL;
    struct fx8_sink *s;
    FX8_TRY(fx8_allocate(1, sizeof *s, "writer", &s, error));
    s->ranks = request->ranks;
    s->job = request->job;
    s->center = center;
    s->output = &request->outputs[center];
    s->session = session;
    s->report = report;
    s->block_dumps = 1;
    s->most_left = INT64_MAX;
    s->has_slices = fx8_info(session).n_slices > 1;
    s->rows =
        fx8_uvh5_all_rows((size_t)s->job->n_dumps, s->job->axes.n_baselines);
    fx8_queue_init(&s->empty);
    fx8_queue_init(&s->full);
    const enum fx8_status status = plan_outputs(s, request, error);
    if (status != FX8_OK)
        fx8_sink_close(&s, NULL, NULL, false, NULL);
    *sink = s;
    return status;
}

/* The later one of two names, if there is one. */
static void take_name(const char *name, const char **last)
{
    if (name != NULL)
        *last = name;
}

enum fx8_status fx8_sink_check_set(const struct fx8_sink *sink, bool force,
                                   struct fx8_sink_set *set,
                                   struct fx8_error *error)
{
    take_name(sink->set.present, &set->present);
    take_name(sink->set.ended, &set->ended);
    if (sink->set.n_ended > set->n_ended)
        set->n_ended = sink->set.n_ended;
    take_name(sink->set.absent, &set->absent);
    return set->present == NULL || set->absent == NULL || force
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_USAGE,
                          "%s: belongs together with %s, which is missing: "
                          "expected both, or --force to begin again",
                          set->present, set->absent);
}

bool fx8_sink_is_complete(const struct fx8_sink *sink)
{
    const char *look = sink->output->path_quicklook;
    return sink->is_complete && (look == NULL || access(look, F_OK) == 0);
}

bool fx8_sink_has_moved(const struct fx8_sink *s, char *text, size_t size)
{
    snprintf(text, size,
             "INPUT: %s: has another name now: the last finished dump shows "
             "that it is the same",
             s->input);
    return s->has_moved;
}

bool fx8_sink_can_resume(const struct fx8_sink *sink)
{
    return sink->can_resume;
}

enum fx8_status fx8_sink_begin(struct fx8_sink *s,
                               const struct fx8_run_request *request,
                               const uint8_t *finished, struct fx8_error *error)
{
    const struct fx8_uvh5_counted *counts = &s->copies[0].counts;
    FX8_TRY(create_outputs(s, request, finished, error));
    for (size_t dump = 0; dump < (size_t)s->job->n_dumps; dump++) {
        if (!finished[dump])
            continue;
        for (size_t f = FX8_N_RESULTS; f-- > 0;)
            if (s->files[f] != NULL)
                FX8_TRY(
                    fx8_uvh5_recall_counts(s->files[f], dump, counts, error));
        fx8_earlier_add(&s->earlier, s->job, dump, counts);
    }
    s->report->n_earlier = s->earlier.n_dumps;
    return FX8_OK;
}
