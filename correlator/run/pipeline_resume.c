/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline_resume.c -- what a run does with the results of an earlier one,
 * before it changes them: verify each finished dump, and compute the last one
 * again.  Its data depend on the recording, on tables and on Earth data that
 * may have changed since under the same names.
 */
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/averages.h"
#include "correlator/run/pipeline_private.h"

/* --- verifying ------------------------------------------------------------ */

static void show_verified(const struct fx8_run *run, int64_t n_dumps)
{
    const struct fx8_run_request *request = run->request;
    const struct fx8_progress progress = {
        .task = "verify",
        .n_samples = n_dumps,
        .total_samples = request->job->n_dumps,
        .n_dumps = n_dumps,
        .total_dumps = request->job->n_dumps,
    };
    if (request->progress != NULL)
        request->progress(request->progress_context, &progress);
}

/* Whether a dump is finished in all results, and depends on the recording. */
static enum fx8_status verify_dump(const struct fx8_run *run, int64_t dump,
                                   bool *has_data, struct fx8_error *error)
{
    uint8_t *is_finished = &run->finished[dump];
    FX8_TRY(fx8_run_end_if_interrupted(run, error));
    *has_data = false;
    *is_finished = 1;
    for (size_t b = 0; b < run->n && *is_finished; b++)
        FX8_TRY(fx8_sink_verify(run->branches[b].sink, (size_t)dump,
                                is_finished, has_data, error));
    return FX8_OK;
}

/* Verify the dumps of a block, which is finished if all of them are.  *last:
 * its last dump with data, or its last one if none has; -1: it is unfinished.
 */
static enum fx8_status verify_block(const struct fx8_run *run, int64_t begin,
                                    int64_t end, int64_t *last, bool *has_data,
                                    struct fx8_error *error)
{
    bool is_finished = true;
    *has_data = false;
    *last = end - 1;
    for (int64_t d = begin; d < end; d++) {
        bool is_of_data;
        show_verified(run, d);
        FX8_TRY(verify_dump(run, d, &is_of_data, error));
        is_finished = is_finished && run->finished[d];
        if (is_of_data)
            *last = d;
        *has_data = *has_data || is_of_data;
    }
    for (int64_t d = begin; d < end; d++)
        run->finished[d] = is_finished;
    *has_data = *has_data && is_finished;
    if (!is_finished)
        *last = -1;
    return FX8_OK;
}

/* Verify the dumps of unfinished results.  *last: the last finished one,
 * preferably with data; -1: none. */
static enum fx8_status verify(const struct fx8_run *run, int64_t *last,
                              struct fx8_error *error)
{
    const int64_t n_dumps = run->request->job->n_dumps;
    bool had_data = false;
    *last = -1;
    for (int64_t end, d = 0; d < n_dumps; d = end) {
        int64_t found;
        bool has_data;
        end = fx8_averages_block_end(d, run->block_dumps, n_dumps);
        FX8_TRY(verify_block(run, d, end, &found, &has_data, error));
        if (found >= 0 && (has_data || !had_data))
            *last = found;
        had_data = had_data || has_data;
    }
    return FX8_OK;
}

/* The same of complete results, of which only this dump matters. */
static enum fx8_status find_last(const struct fx8_run *run, int64_t *last,
                                 struct fx8_error *error)
{
    bool has_data = false;
    int64_t d = run->request->job->n_dumps;
    while (d > 0 && !has_data)
        FX8_TRY(verify_dump(run, --d, &has_data, error));
    *last = has_data ? d : -1;
    return FX8_OK;
}

/* --- computing a dump again ----------------------------------------------- */

/* Push a block, or flush the session if NULL, and compare the dump, or its
 * slices, once it is ready. */
static enum fx8_status push_to(struct fx8_branch *branch, int64_t last,
                               const struct fx8_block *block,
                               struct fx8_error *error)
{
    const size_t n_baselines = branch->run->request->job->axes.n_baselines;
    while (!branch->is_complete) {
        const enum fx8_status status =
            block == NULL ? fx8_finish(branch->session, NULL, error)
                          : fx8_push(branch->session, block, error);
        if (status != FX8_DUMP_READY)
            return status;
        const struct fx8_dump *dump = fx8_take_dump(branch->session);
        branch->is_complete =
            dump->index == last &&
            dump->first_baseline + dump->n_baselines == n_baselines;
        FX8_TRY(fx8_sink_compare(branch->sink, dump, error));
    }
    return FX8_OK;
}

static enum fx8_status push_block(const struct fx8_run *run, int64_t last,
                                  const struct fx8_block *block,
                                  struct fx8_error *error)
{
    FX8_TRY(fx8_run_end_if_interrupted(run, error));
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(push_to(&run->branches[b], last, block, error));
    return FX8_OK;
}

static enum fx8_status push_all(const struct fx8_run *run, int64_t last,
                                struct fx8_error *error)
{
    const bool *is_complete = &run->branches[run->n - 1].is_complete;
    struct fx8_source_block *block, *before = NULL;
    while (!*is_complete && (block = fx8_source_take(run->source)) != NULL) {
        FX8_TRY(push_block(run, last, &block->block, error));
        /* the session may use a block until the next one is pushed */
        if (before != NULL)
            fx8_source_release(run->source, before);
        before = block;
    }
    if (!*is_complete)
        FX8_TRY(fx8_source_status(run->source, error));
    return *is_complete ? FX8_OK : push_block(run, last, NULL, error);
}

/* Averages are computed from the begin of their block on. */
static enum fx8_status compute_again(struct fx8_run *run, int64_t dump,
                                     struct fx8_error *error)
{
    const struct fx8_job *job = run->request->job;
    const int64_t begin = dump - dump % run->block_dumps;
    const int64_t end = fx8_dump_first(&job->plan, dump + 1);
    int64_t sample = 0;
    FX8_TRY(fx8_run_open_source(run, error));
    for (size_t b = 0; b < run->n; b++) {
        FX8_TRY(fx8_seek(run->branches[b].session, begin, dump + 1 - begin,
                         &sample, error));
        run->branches[b].is_complete = false;
    }
    FX8_TRY(fx8_source_start(run->source, sample,
                             fx8_run_sample_behind(job, end), error));
    return push_all(run, dump, error);
}

/* Open new sessions, which have counted nothing. */
static enum fx8_status renew_sessions(struct fx8_run *run,
                                      struct fx8_error *error)
{
    fx8_source_stop(run->source);
    for (size_t b = 0; b < run->n; b++) {
        fx8_sink_keep_gains(run->branches[b].sink);
        fx8_close(&run->branches[b].session);
    }
    fx8_source_close(&run->source); /* the sessions may have pinned it */
    for (size_t b = 0; b < run->n; b++) {
        struct fx8_branch *branch = &run->branches[b];
        FX8_TRY(fx8_run_open_session(run, b, error));
        const struct fx8_session_info info = fx8_info(branch->session);
        if (strcmp(info.kernel, branch->report->kernel) != 0)
            return fx8_fail(error, FX8_ERR_SYSTEM,
                            "kernel: %s: expected %s, as when the run began: "
                            "%s",
                            info.kernel, branch->report->kernel, info.reason);
        FX8_TRY(fx8_sink_change_session(branch->sink, branch->session, error));
    }
    return FX8_OK;
}

static void warn_of_name(const struct fx8_run *run)
{
    const struct fx8_run_request *request = run->request;
    char text[FX8_ERROR_MESSAGE_SIZE];
    if (request->warn != NULL &&
        fx8_sink_has_moved(run->branches[0].sink, text, sizeof text))
        request->warn(request->warn_context, text);
}

/* Nothing can be kept: a result is then not begun again unasked, as a .part is.
 */
static enum fx8_status keep_ended(const struct fx8_run *run,
                                  const struct fx8_sink_set *set,
                                  struct fx8_error *error)
{
    return set->ended == NULL || run->request->force
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_USAGE,
                          "%s: none of its dumps is finished in all results: "
                          "expected --force without --resume to replace it",
                          set->ended);
}

/* Whether a result that has ended may have a whole block. */
static bool has_block(const struct fx8_run *run, const struct fx8_sink_set *set)
{
    return run->block_dumps == 1 ||
           (int64_t)set->n_ended >=
               fx8_averages_block_end(0, run->block_dumps,
                                      run->request->job->n_dumps);
}

/* Verify what an earlier run has finished, if all results can be kept; *last as
 * of verify(). */
static enum fx8_status look_into(struct fx8_run *run, bool *can_resume,
                                 int64_t *last, struct fx8_error *error)
{
    *last = -1;
    *can_resume = true;
    for (size_t b = 0; b < run->n; b++)
        *can_resume = *can_resume && fx8_sink_can_resume(run->branches[b].sink);
    for (size_t b = 0; b < run->n && *can_resume; b++)
        FX8_TRY(fx8_sink_look_into(run->branches[b].sink, error));
    if (!*can_resume)
        return FX8_OK;
    return run->reports->is_old ? find_last(run, last, error)
                                : verify(run, last, error);
}

static enum fx8_status take_earlier(struct fx8_run *run,
                                    const struct fx8_sink_set *set,
                                    struct fx8_error *error)
{
    int64_t last;
    bool can_resume;
    FX8_TRY(look_into(run, &can_resume, &last, error));
    const bool begins_anew = last < 0 && !run->reports->is_old;
    /* a block of averages may need more dumps than a result has that ended */
    if (begins_anew && (!can_resume || has_block(run, set)))
        FX8_TRY(keep_ended(run, set, error));
    for (size_t b = 0; b < run->n && begins_anew; b++)
        fx8_sink_drop(run->branches[b].sink);
    if (last < 0)
        return FX8_OK;
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(fx8_sink_restore_gains(run->branches[b].sink, error));
    FX8_TRY(compute_again(run, last, error));
    warn_of_name(run);
    return run->reports->is_old ? FX8_OK : renew_sessions(run, error);
}

/* --- outputs -------------------------------------------------------------- */

enum fx8_status fx8_run_begin_outputs(struct fx8_run *run,
                                      struct fx8_error *error)
{
    const size_t n_dumps = (size_t)run->request->job->n_dumps;
    struct fx8_sink_set set = {.present = NULL};
    FX8_TRY(fx8_allocate(n_dumps, 1, "dumps", &run->finished, error));
    FX8_TRY(
        fx8_averages_block_dumps(run->request->job, &run->block_dumps, error));
    if (run->request->is_trial)
        return FX8_OK;
    for (size_t b = 0; b < run->n; b++)
        fx8_sink_keep_blocks(run->branches[b].sink, run->block_dumps);
    if (run->ranks->rank > 0)
        return FX8_OK;
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(fx8_sink_check_set(run->branches[b].sink, run->request->force,
                                   &set, error));
    const enum fx8_status status = take_earlier(run, &set, error);
    /* they are of another run: the message is not about what they keep */
    for (size_t b = 0; b < run->n && status == FX8_ERR_USAGE; b++)
        fx8_sink_close(&run->branches[b].sink, NULL, NULL, false, NULL);
    FX8_TRY(status);
    if (run->reports->is_old)
        return FX8_OK;
    for (size_t b = 0; b < run->n; b++) {
        FX8_TRY(fx8_sink_begin(run->branches[b].sink, run->request,
                               run->finished, error));
        run->reports[b].n_dumps = run->reports[b].n_earlier;
    }
    return FX8_OK;
}
