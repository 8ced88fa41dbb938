/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/sink_private.h"

/* Gains and counts of an input and channel, in copies and sums: 3 numbers in
 * each copy, the session's and the earlier runs' clips, those of a tally. */
#define LEVEL_BYTES ((size_t)(FX8_SINK_COPIES * 24 + 2 * 8 + 13))

/* Between two looks for dumps of other ranks. */
#define LOOK_NS 1000000L

/* Write the gains if there are new ones. */
static enum fx8_status put_gains(struct fx8_sink *s,
                                 const struct fx8_uvh5_gains *gains,
                                 struct fx8_error *error)
{
    const size_t n = s->job->axes.n_rows;
    if (gains->gain == NULL || s->files[FX8_RESULT_INT8] == NULL ||
        (s->has_gains && memcmp(s->is_set, gains->is_set, n) == 0))
        return FX8_OK;
    s->has_gains = true;
    memcpy(s->is_set, gains->is_set, n);
    return fx8_uvh5_put_gains(s->files[FX8_RESULT_INT8], gains, error);
}

/* Whether a dump, or the last slice of one, is written with this. */
static bool is_last(const struct fx8_sink *s, const struct fx8_sink_copy *copy)
{
    return copy->dump.first_baseline + copy->dump.n_baselines ==
           s->job->axes.n_baselines;
}

static enum fx8_status write_results(struct fx8_sink *s,
                                     const struct fx8_sink_copy *copy,
                                     struct fx8_error *error)
{
    const size_t dump = (size_t)copy->dump.index;
    if (fx8_sink_is_shared(s))
        return fx8_sink_write_shared(s, copy, error);
    if (s->ranks->rank > 0)
        return fx8_sink_send(s, copy, error);
    /* gains first: compare can then read any file with a dump */
    if (copy != &s->received)
        FX8_TRY(put_gains(s, &copy->gains, error));
    for (size_t f = 0; f < FX8_N_RESULTS; f++) {
        if (s->files[f] == NULL)
            continue;
        if (copy->dump.first_baseline == 0) {
            FX8_TRY(fx8_uvh5_protect(s->files[f], error));
            FX8_TRY(
                fx8_uvh5_write_counts(s->files[f], dump, &copy->counts, error));
        }
        size_t n_rows;
        const struct fx8_result *rows =
            fx8_sink_rows(s, (enum fx8_result_kind)f, &copy->dump, &n_rows);
        FX8_TRY(fx8_uvh5_write_slice(
            s->files[f], dump, copy->dump.first_baseline, n_rows, rows, error));
    }
    if (is_last(s, copy))
        fx8_sink_count_finished(s, copy->dump.index, copy->dump.index + 1);
    return FX8_OK;
}

void fx8_sink_count_finished(struct fx8_sink *s, int64_t first, int64_t end)
{
    memset(s->earlier.finished + first, 1, (size_t)(end - first));
    s->n_dumps += end - first;
}

static enum fx8_status write_copy(struct fx8_sink *s,
                                  const struct fx8_sink_copy *copy,
                                  struct fx8_error *error)
{
    if (!copy->is_kept)
        FX8_TRY(write_results(s, copy, error));
    return s->quicklook == NULL || !fx8_sink_looks_at_each(s)
               ? FX8_OK
               : fx8_run_quicklook_take(s->quicklook, &copy->dump, error);
}

/* Write a dump, unless one could not be written. */
static void write_timed(struct fx8_sink *s, const struct fx8_sink_copy *copy)
{
    const double start = fx8_clock_seconds();
    struct fx8_run_dump dump = {&copy->dump, copy->gains.gain,
                                copy->counts.valid_spectra, copy->counts.clips};
    struct fx8_consumer_thread *consumer = copy->is_kept ? NULL : s->consumer;
    fx8_consumer_give(consumer, &dump);
    if (s->status == FX8_OK)
        s->status = write_copy(s, copy, &s->error);
    s->seconds += fx8_clock_seconds() - start;
    fx8_consumer_wait(consumer);
    if (s->status != FX8_OK)
        atomic_store(&s->has_failed, true);
}

/* Wakes a caller that waits for an empty copy. */
static void close_queues(struct fx8_sink *s)
{
    fx8_queue_close(&s->empty);
    fx8_queue_close(&s->full);
}

static void *write_all(void *argument)
{
    struct fx8_sink *s = argument;
    struct fx8_sink_copy *copy;
    while (s->status == FX8_OK && (copy = fx8_queue_take(&s->full)) != NULL) {
        write_timed(s, copy);
        if (s->status == FX8_OK)
            fx8_queue_put(&s->empty, copy);
    }
    close_queues(s);
    fx8_sink_send_end(s);
    return NULL;
}

/* Whether this sink writes what other ranks send. */
static bool is_receiver(const struct fx8_sink *s)
{
    return fx8_sink_is_through_rank_0(s) && s->ranks->rank == 0;
}

/* The thread of rank 0, which writes dumps of all ranks as they come.  After a
 * failure it still receives them: the others must not wait for ever. */
static void *write_all_ranks(void *argument)
{
    struct fx8_sink *s = argument;
    int n_senders = s->ranks->n - 1;
    void *item = NULL;
    bool is_there = false;
    while (fx8_queue_poll(&s->full, &item) || n_senders > 0) {
        if (item != NULL) {
            write_timed(s, item);
            fx8_queue_put(&s->empty, item);
        }
        const enum fx8_status status =
            fx8_sink_receive(s, &n_senders, &is_there, &s->error);
        if (status != FX8_OK) {
            s->status = status;
            atomic_store(&s->has_failed, true);
            break;
        }
        if (is_there)
            write_timed(s, &s->received);
        if (s->status != FX8_OK)
            close_queues(s);
        if (item == NULL && !is_there)
            nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    close_queues(s);
    return NULL;
}

void fx8_sink_list(const struct fx8_sink *s, struct fx8_dump *dump,
                   struct fx8_array arrays[FX8_SINK_ARRAYS])
{
    const struct fx8_axes *axes = &s->job->axes;
    const size_t n_cells =
        axes->n_baselines * axes->n_channels * axes->n_products;
    struct fx8_array *next = arrays;
    for (size_t f = 0; f < FX8_N_RESULTS; f++, next += FX8_RESULT_ARRAYS)
        fx8_list_result(&dump->results[f], n_cells,
                        s->output->paths[f] != NULL && !s->has_slices, next);
    fx8_list_quicklook(&dump->quicklook, n_cells,
                       axes->n_inputs * axes->n_channels,
                       fx8_sink_looks_at_each(s), next);
}

size_t fx8_sink_levels(const struct fx8_sink *s)
{
    return fx8_gains(s->session).gain == NULL
               ? 0
               : s->job->axes.n_inputs * s->job->axes.n_fine;
}

enum fx8_status fx8_sink_allocate_copy(const struct fx8_sink *s,
                                       struct fx8_sink_copy *copy,
                                       struct fx8_error *error)
{
    struct fx8_array arrays[FX8_SINK_ARRAYS];
    const struct fx8_axes *axes = &s->job->axes;
    const size_t n_levels = fx8_sink_levels(s);
    const size_t real = n_levels > 0 ? sizeof(double) : 0;
    const struct fx8_array counts[] = {
        {&copy->gains.gain, n_levels, real},
        {&copy->gains.no_power, n_levels, real},
        {&copy->gains.is_set, axes->n_rows, n_levels > 0},
        FX8_ITEMS(copy->counts.clips, axes->n_inputs * axes->n_fine),
        FX8_ITEMS(copy->counts.valid_spectra, axes->n_rows),
        FX8_ITEMS(copy->counts.dead, axes->n_rows)};
    copy->dump.n_baselines = axes->n_baselines;
    copy->gains.n_bands = s->job->plan.n_bands;
    copy->gains.n_inputs = axes->n_inputs;
    copy->gains.n_fine = axes->n_fine;
    fx8_sink_list(s, &copy->dump, arrays);
    FX8_TRY(fx8_allocate_arrays(arrays, FX8_SINK_ARRAYS, "dump", error));
    return fx8_allocate_arrays(counts, 6, "counts", error);
}

static void free_copy(const struct fx8_sink *s, struct fx8_sink_copy *copy)
{
    struct fx8_array arrays[FX8_SINK_ARRAYS];
    fx8_sink_list(s, &copy->dump, arrays);
    fx8_free_arrays(arrays, FX8_SINK_ARRAYS);
    free(copy->gains.gain);
    free(copy->gains.no_power);
    free(copy->gains.is_set);
    free(copy->counts.clips);
    free(copy->counts.valid_spectra);
    free(copy->counts.dead);
}

static void copy_gains(const struct fx8_sink *s, struct fx8_input_gains of,
                       const struct fx8_uvh5_gains *gains)
{
    for (size_t i = 0; i < fx8_sink_levels(s); i++) {
        gains->gain[i] = (double)of.gain[i];
        gains->no_power[i] = (double)of.is_zero[i];
    }
    if (of.gain != NULL)
        memcpy(gains->is_set, of.is_set, s->job->axes.n_rows);
}

void fx8_sink_keep_gains(struct fx8_sink *s)
{
    copy_gains(s, fx8_gains(s->session), &s->copies[0].gains);
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

size_t fx8_sink_memory(const struct fx8_run_request *request, size_t center,
                       bool has_slices)
{
    /* a trial has no other ranks, but is for a run that has */
    const struct fx8_ranks planned = {.rank = request->ranks->rank,
                                      .n = request->n_ranks};
    const struct fx8_sink unused = {.ranks = &planned,
                                    .job = request->job,
                                    .center = center,
                                    .has_slices = has_slices,
                                    .output = &request->outputs[center]};
    const struct fx8_job *job = request->job;
    const struct fx8_axes *axes = &job->axes;
    struct fx8_dump dump;
    struct fx8_array arrays[FX8_SINK_ARRAYS];
    fx8_sink_list(&unused, &dump, arrays);
    size_t bytes = axes->n_inputs * axes->n_fine * LEVEL_BYTES;
    for (size_t f = 0; f < FX8_N_RESULTS; f++)
        if (unused.output->paths[f] != NULL)
            bytes += fx8_uvh5_memory(
                (size_t)job->n_dumps, axes->n_baselines, axes->n_channels,
                axes->n_products, job->settings->output.compression,
                fx8_job_packers(job, fx8_job_threads(job)));
    const size_t n_copies = FX8_SINK_COPIES + is_receiver(&unused);
    return fx8_product(n_copies, fx8_arrays_taken(arrays, FX8_SINK_ARRAYS), 1,
                       1) +
           bytes + fx8_sink_averages_memory(&unused);
}

/* --- dumps ------------------------------------------------------- */

/* Start the thread. */
static enum fx8_status start(struct fx8_sink *s, struct fx8_error *error)
{
    /* of slices, one at a time */
    for (size_t i = 0; i < (s->has_slices ? 1 : FX8_SINK_COPIES); i++)
        fx8_queue_put(&s->empty, &s->copies[i]);
    if (!s->has_slices)
        FX8_TRY(fx8_consumer_open(s->output, &s->consumer, error));
    if (is_receiver(s))
        FX8_TRY(fx8_sink_allocate_copy(s, &s->received, error));
    if (pthread_create(&s->thread, NULL,
                       is_receiver(s) ? write_all_ranks : write_all, s) != 0)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "cannot start the writer thread");
    s->has_thread = true;
    return FX8_OK;
}

/* A .part with dumps must have their gains before other ranks write any. */
static enum fx8_status put_first_gains(struct fx8_sink *s,
                                       struct fx8_error *error)
{
    const struct fx8_uvh5_gains *gains = &s->copies[0].gains;
    if (s->ranks->rank > 0 || gains->gain == NULL)
        return FX8_OK;
    copy_gains(s, fx8_gains(s->session), gains);
    return put_gains(s, gains, error);
}

enum fx8_status fx8_sink_start(struct fx8_sink *sink, struct fx8_error *error)
{
    struct fx8_sink *s = sink;
    if (s->ranks->n > 1)
        FX8_TRY(fx8_ranks_agree(s->ranks, put_first_gains(s, error), error));
    if (fx8_sink_is_shared(s))
        FX8_TRY(fx8_sink_share(s, error));
    const enum fx8_status status = start(s, error);
    if (status != FX8_OK)
        fx8_sink_send_end(s);
    return fx8_ranks_agree(s->ranks, status, error);
}

const struct fx8_earlier *fx8_sink_earlier(const struct fx8_sink *sink)
{
    return &sink->earlier;
}

struct fx8_sink_copy *fx8_sink_take_empty(struct fx8_sink *s,
                                          struct fx8_error *error)
{
    struct fx8_sink_copy *copy = fx8_queue_take(&s->empty);
    if (copy == NULL) /* the thread failed and closed the queue */
        *error = s->error;
    return copy;
}

/* What was counted since the dump before. */
static void count_dump(struct fx8_sink *s, const struct fx8_dump *dump,
                       const struct fx8_uvh5_counted *counted)
{
    const struct fx8_input_counts counts = fx8_inputs(s->session);
    const size_t n_rows = s->job->axes.n_rows;
    take_counts(counts.valid_spectra, n_rows, s->valid_spectra,
                counted->valid_spectra);
    take_counts(counts.clips, fx8_sink_levels(s), s->clips, counted->clips);
    for (size_t row = 0; row < n_rows; row++)
        counted->dead[row] = dump->dead[row];
}

/* Wait until a slice is written: its results are the session's. */
static enum fx8_status wait_for_slice(struct fx8_sink *s,
                                      struct fx8_error *error)
{
    struct fx8_sink_copy *copy = fx8_sink_take_empty(s, error);
    memset(s->copies[0].dump.results, 0, sizeof s->copies[0].dump.results);
    if (copy == NULL)
        return s->status;
    fx8_queue_put(&s->empty, copy);
    return FX8_OK;
}

enum fx8_status fx8_sink_put(struct fx8_sink *sink, const struct fx8_dump *dump,
                             struct fx8_error *error)
{
    struct fx8_sink_copy *copy = fx8_sink_take_empty(sink, error);
    if (copy == NULL)
        return sink->status;
    struct fx8_dump given = *dump;
    struct fx8_array to[FX8_SINK_ARRAYS], from[FX8_SINK_ARRAYS];
    copy->dump.index = dump->index;
    copy->dump.first_baseline = dump->first_baseline;
    copy->dump.n_baselines = dump->n_baselines;
    fx8_sink_list(sink, &copy->dump, to);
    fx8_sink_list(sink, &given, from);
    fx8_copy_arrays(to, from, FX8_SINK_ARRAYS);
    if (sink->has_slices)
        memcpy(copy->dump.results, dump->results, sizeof dump->results);
    copy->is_kept = false;
    copy_gains(sink, fx8_gains(sink->session), &copy->gains);
    if (dump->first_baseline == 0)
        count_dump(sink, dump, &copy->counts);
    fx8_queue_put(&sink->full, copy);
    return sink->has_slices ? wait_for_slice(sink, error) : FX8_OK;
}

/* Write what is known only at the end: final gains, clipped fractions. */
static enum fx8_status put_extras(struct fx8_sink *s,
                                  const struct fx8_tally *tally,
                                  struct fx8_error *error)
{
    double *values = s->copies[0].gains.gain;
    if (values == NULL || s->files[FX8_RESULT_INT8] == NULL)
        return FX8_OK;
    const struct fx8_axes *axes = &s->job->axes;
    const struct fx8_uvh5_counted *all = &s->copies[0].counts;
    for (size_t row = 0; row < axes->n_rows; row++)
        all->valid_spectra[row] =
            tally->valid_spectra[row] + s->earlier.valid_spectra[row];
    for (size_t at = 0; at < axes->n_inputs * axes->n_fine; at++)
        all->clips[at] = tally->clips[at] + s->earlier.clips[at];
    copy_gains(s, fx8_tally_gains(tally), &s->copies[0].gains);
    FX8_TRY(put_gains(s, &s->copies[0].gains, error));
    fx8_uvh5_clip_fractions(&(struct fx8_uvh5_counts){s->job->plan.n_bands,
                                                      axes->n_inputs,
                                                      axes->n_fine},
                            all->valid_spectra, all->clips, values);
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

/* Whether these are the first ones. */
static bool are_first(const struct fx8_sink *s)
{
    int64_t n = 0;
    while (n < s->job->n_dumps && s->earlier.finished[n])
        n++;
    return n == fx8_sink_n_finished(s);
}

/* Whether ranks may have dropped dumps of unfinished blocks, which the tally
 * has counted. */
static bool has_dropped(const struct fx8_sink *s)
{
    return s->ranks->n > 1 && s->block_dumps > 1 &&
           fx8_sink_n_finished(s) < s->job->n_dumps;
}

/* Take a file back from the ranks that have written the first dumps into it. */
static enum fx8_status take_back(struct fx8_sink *s,
                                 struct fx8_uvh5_writer *file,
                                 struct fx8_error *error)
{
    size_t n_dumps = (size_t)fx8_sink_n_finished(s);
    const enum fx8_status status = fx8_uvh5_unshare(file, &n_dumps, error);
    s->n_dumps = (int64_t)n_dumps - s->earlier.n_dumps;
    return status;
}

/* What is written after the last dump. */
static enum fx8_status put_end(struct fx8_sink *s,
                               const struct fx8_tally *tally,
                               struct fx8_session *looker,
                               struct fx8_error *error)
{
    for (size_t f = 0; f < FX8_N_RESULTS && fx8_sink_is_shared(s); f++)
        if (s->files[f] != NULL)
            FX8_TRY(take_back(s, s->files[f], error));
    FX8_TRY(fx8_sink_end_averages(s, error));
    FX8_TRY(put_extras(s, tally, error));
    if (s->quicklook == NULL)
        return FX8_OK;
    if (!fx8_sink_looks_at_each(s))
        FX8_TRY(fx8_sink_look_at_all(s, looker, (size_t)fx8_sink_n_finished(s),
                                     error));
    return fx8_run_quicklook_finish(s->quicklook, looker,
                                    (size_t)fx8_sink_n_finished(s),
                                    &s->report->quicklook, error);
}

static void free_sink(struct fx8_sink *s)
{
    for (size_t i = 0; i < FX8_SINK_COPIES; i++)
        free_copy(s, &s->copies[i]);
    free_copy(s, &s->received);
    for (size_t f = 0; f < FX8_N_RESULTS; f++) {
        fx8_uvh5_header_clear(&s->headers[f]);
        fx8_averages_close(&s->averages[f]);
    }
    fx8_uvh5_rows_clear(&s->rows);
    fx8_earlier_clear(&s->earlier);
    free(s->is_set);
    free(s->clips);
    free(s->valid_spectra);
    fx8_queue_destroy(&s->empty);
    fx8_queue_destroy(&s->full);
    free(s);
}

/* Whether it ended well, but for another run to go on with what it has. */
static bool is_paused(const struct fx8_sink *s, bool keep)
{
    return s->report->was_interrupted && !keep && fx8_sink_n_finished(s) > 0;
}

/* Finish the results; after a failed run finished dumps stay as .part.  The
 * quick-look comes first: where all results are whole, --resume does not make
 * it again. */
static enum fx8_status end_files(struct fx8_sink *s, enum fx8_status status,
                                 bool keep, struct fx8_error *error)
{
    const size_t n_dumps = (size_t)fx8_sink_n_finished(s);
    const int64_t n_whole = fx8_sink_whole_dumps(s);
    const int64_t n_left = n_whole < s->most_left ? n_whole : s->most_left;
    struct fx8_error ignored;
    const enum fx8_status closed = fx8_run_quicklook_close(
        &s->quicklook, keep && status == FX8_OK && n_dumps > 0,
        status == FX8_OK ? error : &ignored);
    if (status == FX8_OK)
        status = closed;
    for (size_t f = 0; f < FX8_N_RESULTS; f++) {
        if (s->files[f] != NULL && status == FX8_OK && is_paused(s, keep))
            status = fx8_uvh5_sync_marks(s->files[f], error);
        if (status != FX8_OK || !keep)
            fx8_uvh5_leave(&s->files[f], (size_t)n_left, error);
        else
            status = fx8_uvh5_close(&s->files[f], n_dumps, error);
    }
    return status;
}

void fx8_sink_leave_at_most(struct fx8_sink *sink, int64_t n_dumps)
{
    sink->most_left = n_dumps;
}

bool fx8_sink_has_failed(const struct fx8_sink *sink)
{
    return atomic_load(&sink->has_failed);
}

void fx8_sink_add_finished(struct fx8_sink *sink, const uint8_t *finished,
                           int64_t first, int64_t end, int64_t n)
{
    for (int64_t d = first; d < end && n > 0; d++) {
        if (finished[d])
            continue;
        fx8_sink_count_finished(sink, d, d + 1);
        n--;
    }
}

const uint8_t *fx8_sink_finished(const struct fx8_sink *sink)
{
    return sink->earlier.finished;
}

enum fx8_status fx8_sink_drain(struct fx8_sink *s, struct fx8_error *error)
{
    fx8_queue_close(&s->full);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
    s->report->write_s = s->seconds;
    struct fx8_error why;
    const enum fx8_status ended = fx8_sink_end_shared(s, &why);
    if (s->status == FX8_OK && ended != FX8_OK) {
        s->status = ended;
        s->error = why;
    }
    s->report->n_dumps = fx8_sink_n_finished(s);
    if (s->status != FX8_OK && error != NULL)
        *error = s->error;
    return s->status;
}

enum fx8_status fx8_sink_close(struct fx8_sink **sink,
                               const struct fx8_tally *tally,
                               struct fx8_session *looker, bool keep,
                               struct fx8_error *error)
{
    struct fx8_sink *s = *sink;
    if (s == NULL)
        return FX8_OK;
    *sink = NULL;
    s->session = looker;
    enum fx8_status status = fx8_sink_drain(s, keep ? error : NULL);
    fx8_consumer_close(&s->consumer);
    /* a result has no holes: dumps behind one are left for another run */
    keep = keep && are_first(s) && !has_dropped(s);
    if (status == FX8_OK && keep && fx8_sink_n_finished(s) > 0)
        status = put_end(s, tally, looker, error);
    const double start_s = fx8_clock_seconds();
    status = end_files(s, status, keep, error);
    s->report->sync_s = fx8_clock_seconds() - start_s;
    s->report->n_dumps = status == FX8_OK && keep ? fx8_sink_n_finished(s) : 0;
    free_sink(s);
    return status;
}
