/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink.h -- the writer's side of the pipeline: the outputs of a run, and a
 * thread that writes finished dumps to them, beside a consumer of the dumps if
 * there is one.
 */
#ifndef FX8_CORRELATOR_RUN_SINK_H
#define FX8_CORRELATOR_RUN_SINK_H

#include <stdbool.h>

#include "correlator/fx8.h"
#include "correlator/run/pipeline.h"

struct fx8_earlier;
struct fx8_sink;
struct fx8_tally;

/** Bytes that the results of a phase centre take to be written, with the dumps
 *  in flight unless dumps come in slices. */
size_t fx8_sink_memory(const struct fx8_run_request *request, size_t center,
                       bool has_slices);

/**
 * fx8_sink_open -- describe the outputs of a run; lock those of an earlier one,
 * if asked for, and compare them.
 *
 * Given:  center   index of the phase centre
 *         session  outlives the sink
 *         report   backend, kernel and fft_plan are known; the rest is filled
 *                  by fx8_sink_close()
 * Status: FX8_ERR_USAGE: of another run; the message names each difference
 */
enum fx8_status fx8_sink_open(const struct fx8_run_request *request,
                              size_t center, struct fx8_session *session,
                              struct fx8_run_report *report,
                              struct fx8_sink **sink, struct fx8_error *error);

/** Results of earlier runs; NULL: none. */
struct fx8_sink_set {
    const char *present; /**< has dumps */
    const char *ended;   /**< has dumps, and its final name */
    size_t n_ended;      /**< most dumps of one with its final name */
    const char *absent;  /**< has neither a .part nor a file of its name */
};

/** Results of a run are created together: refuse to begin one again, without
 *  force, because another is gone.  *set, zeros before the first sink, gets
 *  those of all. */
enum fx8_status fx8_sink_check_set(const struct fx8_sink *sink, bool force,
                                   struct fx8_sink_set *set,
                                   struct fx8_error *error);

/** Whether an earlier run has completed all outputs. */
bool fx8_sink_is_complete(const struct fx8_sink *sink);

/** Whether an earlier run has left all outputs, and with them the gains. */
bool fx8_sink_can_resume(const struct fx8_sink *sink);

/** Whether the recording had another name in an earlier run; the text says
 *  so, once fx8_sink_compare() has shown that it is the same. */
bool fx8_sink_has_moved(const struct fx8_sink *sink, char *text, size_t size);

/** Open the outputs of an earlier run without changing them; for the next
 *  four. */
enum fx8_status fx8_sink_look_into(struct fx8_sink *sink,
                                   struct fx8_error *error);

/** Read a dump.  is_finished: in all outputs; has_data: it depends on the
 *  recording, as some input has valid samples that are not all zero. */
enum fx8_status fx8_sink_verify(struct fx8_sink *sink, size_t dump,
                                uint8_t *is_finished, bool *has_data,
                                struct fx8_error *error);

/** Compare a finished dump, which was computed again, with the outputs.
 *  FX8_ERR_USAGE: it is another one. */
enum fx8_status fx8_sink_compare(struct fx8_sink *sink,
                                 const struct fx8_dump *dump,
                                 struct fx8_error *error);

/** Give the session the gains of the earlier run. */
enum fx8_status fx8_sink_restore_gains(struct fx8_sink *sink,
                                       struct fx8_error *error);

/** Remove the files of an earlier run, of which no dump is kept, before
 *  fx8_sink_begin() creates others: nothing that they hold can be verified. */
void fx8_sink_drop(struct fx8_sink *sink);

/** Keep the gains of the session, which are those of the earlier run, and of
 *  inputs that began to deliver on another rank of it. */
void fx8_sink_keep_gains(struct fx8_sink *sink);

/** Go on with another session of the same plan, which gets these gains. */
enum fx8_status fx8_sink_change_session(struct fx8_sink *sink,
                                        struct fx8_session *session,
                                        struct fx8_error *error);

/** Create the outputs, or take up those of an earlier run, and count the dumps
 *  that are kept: uint8 finished [n_dumps of the job]. */
enum fx8_status fx8_sink_begin(struct fx8_sink *sink,
                               const struct fx8_run_request *request,
                               const uint8_t *finished,
                               struct fx8_error *error);

/** Start the writer thread, before the first dump.  All ranks must call it,
 * once the gains are known that rank 0 sets. */
enum fx8_status fx8_sink_start(struct fx8_sink *sink, struct fx8_error *error);

/** Counts of the dumps that are kept. */
const struct fx8_earlier *fx8_sink_earlier(const struct fx8_sink *sink);

/** Give the quick-look, if there is one, a dump that is kept. */
enum fx8_status fx8_sink_look(struct fx8_sink *sink, int64_t dump,
                              struct fx8_error *error);

/** Hand over a dump, which is copied.  Waits while two are in flight.  A
 * failure of the writer thread is returned by the next call.  A slice of a dump
 * is not copied: the call waits until it is written. */
enum fx8_status fx8_sink_put(struct fx8_sink *sink, const struct fx8_dump *dump,
                             struct fx8_error *error);

/** Whether a dump could not be written; from any thread. */
bool fx8_sink_has_failed(const struct fx8_sink *sink);

/** Dumps that a later run can keep, of those that are written: those of whole
 *  blocks of averages. */
int64_t fx8_sink_whole_dumps(const struct fx8_sink *sink);

/** Set how many dumps a later run can keep in all results.  With 0, a run that
 *  fails removes the files that it has created: fx8_sink_close(). */
void fx8_sink_leave_at_most(struct fx8_sink *sink, int64_t n_dumps);

/** Keep blocks of as many dumps as the phase centre with the largest ones. */
void fx8_sink_keep_blocks(struct fx8_sink *sink, int64_t block_dumps);

/** Wait for the writer: all dumps that were handed over are written.  Its
 *  failure is returned.  Fills n_dumps and write_s of the report. */
enum fx8_status fx8_sink_drain(struct fx8_sink *sink, struct fx8_error *error);

/** Rank 0: another rank has written into the files the first n of the dumps
 *  [first, end) that are not marked in `finished`. */
void fx8_sink_add_finished(struct fx8_sink *sink, const uint8_t *finished,
                           int64_t first, int64_t end, int64_t n);

/** Dumps that are in the files as far as this rank knows, uint8 [n_dumps of the
 *  job]; once drained. */
const uint8_t *fx8_sink_finished(const struct fx8_sink *sink);

/**
 * fx8_sink_close -- wait for the writer and finish the files; nulls the
 * handle, a NULL handle is legal.
 *
 * Given:  tally  of all ranks, without earlier runs; only needed to keep
 *         looker session whose quick-look has taken every dump or, with
 *                several ranks, none yet; others that were used may be closed
 *         keep   the dumps written so far are the result; else the run has
 *                failed, and finished dumps stay as .part
 *         error  of the failed run: which files stay is added to its message;
 *                may be NULL
 * Returned: n_dumps, write_s and quicklook of the report
 */
enum fx8_status fx8_sink_close(struct fx8_sink **sink,
                               const struct fx8_tally *tally,
                               struct fx8_session *looker, bool keep,
                               struct fx8_error *error);

#endif
