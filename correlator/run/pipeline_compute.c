/* SPDX-License-Identifier: BSD-3-Clause */
/* pipeline_compute.c -- see pipeline.c: pushes samples to the session and takes
 * the dumps that become ready. */
#include "config/base/clock.h"
#include "config/base/try.h"
#include "correlator/run/memory.h"
#include "correlator/run/pipeline_private.h"

/* --- taking dumps ------------------------------------------------ */

enum fx8_status fx8_run_end_if_interrupted(const struct fx8_run *run,
                                           struct fx8_error *error)
{
    return fx8_run_interrupted(run) == 0
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
}

enum fx8_status fx8_run_take_dump(struct fx8_run *run,
                                  struct fx8_branch *branch,
                                  struct fx8_error *error)
{
    const struct fx8_job *job = run->request->job;
    const struct fx8_dump *dump = fx8_take_dump(branch->session);
    if (branch->sink != NULL)
        FX8_TRY(fx8_sink_put(branch->sink, dump, error));
    if (dump->first_baseline + dump->n_baselines < job->axes.n_baselines)
        return FX8_OK;
    for (size_t input = 0; input < job->n_inputs; input++)
        branch->tally.dead_dumps[input] += dump->dead[input];
    branch->report->n_dumps++;
    FX8_TRY(fx8_run_talk(run, error));
    branch->is_complete = dump->index + 1 == run->end_dump;
    /* of several branches, all get the whole block: equal numbers of dumps */
    return branch->is_complete || run->n > 1
               ? FX8_OK
               : fx8_run_end_if_interrupted(run, error);
}

/* --- pushing samples --------------------------------------------- */

enum fx8_status fx8_run_reread(void *context, int64_t first_sample,
                               struct fx8_block *block, struct fx8_error *error)
{
    const struct fx8_branch *branch = context;
    const struct fx8_run *run = branch->run;
    if (fx8_run_interrupted(run) > 1)
        return fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
    return fx8_source_reread(run->source, (size_t)(branch - run->branches),
                             first_sample, block, error);
}

/* Rank 0 begins as soon as it has gains, and before it hands over a dump. */
static enum fx8_status begin_if_due(struct fx8_run *run, enum fx8_status status,
                                    struct fx8_error *error)
{
    return run->has_begun || status < FX8_OK ||
                   (status == FX8_OK && !fx8_run_has_gains(run))
               ? FX8_OK
               : fx8_run_begin(run, FX8_OK, error);
}

/* Push a block, or flush the session if NULL, and take the dumps that become
 * ready.  After the last dump, samples are read only to find markers. */
static enum fx8_status push_to(struct fx8_run *run, struct fx8_branch *branch,
                               const struct fx8_block *block,
                               struct fx8_error *error)
{
    while (!branch->is_complete) {
        const double start = fx8_clock_seconds();
        const enum fx8_status status =
            block == NULL ? fx8_finish(branch->session, NULL, error)
                          : fx8_push(branch->session, block, error);
        run->compute_s += fx8_clock_seconds() - start;
        FX8_TRY(begin_if_due(run, status, error));
        if (status != FX8_DUMP_READY)
            return status == FX8_OK
                       ? status
                       : fx8_memory_name_key(run->request, status, error);
        if (run->is_in_part)
            branch->is_complete = true;
        else
            FX8_TRY(fx8_run_take_dump(run, branch, error));
    }
    return FX8_OK;
}

static enum fx8_status push_block(struct fx8_run *run,
                                  const struct fx8_block *block,
                                  struct fx8_error *error)
{
    const int64_t n_before = run->branches[0].report->n_dumps;
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(push_to(run, &run->branches[b], block, error));
    const struct fx8_branch *last = &run->branches[run->n - 1];
    return last->is_complete || last->report->n_dumps == n_before
               ? FX8_OK
               : fx8_run_end_if_interrupted(run, error);
}

static bool is_complete(const struct fx8_run *run)
{
    return run->branches[run->n - 1].is_complete;
}

/* Whether a trial has lasted long enough. */
static bool has_tried(const struct fx8_run *run)
{
    return run->request->is_trial &&
           fx8_clock_seconds() - run->start_s > FX8_TRIAL_S;
}

static enum fx8_status push_blocks(struct fx8_run *run, struct fx8_error *error)
{
    struct fx8_source_block *block, *before = NULL;
    while (!is_complete(run) && !has_tried(run) &&
           (block = fx8_source_take(run->source)) != NULL) {
        if (fx8_run_interrupted(run) > 1)
            return fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
        const int64_t end = block->block.first_sample + block->block.n_samples;
        for (size_t b = 0; b < run->n; b++)
            run->branches[b].report->n_clamped += block->n_clamped;
        FX8_TRY(push_block(run, &block->block, error));
        /* the session may use a block until the next one is pushed */
        if (before != NULL)
            fx8_source_release(run->source, before);
        before = block;
        run->reports[0].n_samples = end - run->request->job->plan.first_sample;
        run->at_sample = end;
        FX8_TRY(fx8_run_talk(run, error));
        fx8_run_show_progress(run);
    }
    return is_complete(run) || has_tried(run)
               ? FX8_OK
               : fx8_source_status(run->source, error);
}

int64_t fx8_run_sample_behind(const struct fx8_job *job, int64_t end)
{
    const struct fx8_plan *plan = &job->plan;
    const int64_t step = (int64_t)job->axes.step;
    const int64_t reach = fx8_missing_reach(&plan->marker, &plan->blanking);
    return fx8_dump_of(plan, end) >= job->n_dumps
               ? INT64_MAX
               : plan->first_sample + end * step +
                     (int64_t)(job->axes.window + 2 * job->axes.margin) - step +
                     reach;
}

enum fx8_status fx8_run_push_range(struct fx8_run *run, int64_t first,
                                   int64_t end, int64_t first_sample,
                                   struct fx8_error *error)
{
    run->range_first = first;
    for (size_t b = 0; b < run->n; b++)
        run->branches[b].is_complete = false;
    FX8_TRY(fx8_source_start(run->source, first_sample,
                             fx8_run_sample_behind(run->request->job, end),
                             error));
    FX8_TRY(push_blocks(run, error));
    if (!is_complete(run) && !has_tried(run))
        FX8_TRY(push_block(run, NULL, error));
    run->n_before += end - first;
    return FX8_OK;
}

/* Compute a range of dumps. */
static enum fx8_status compute_range(struct fx8_run *run, int64_t first,
                                     int64_t end, struct fx8_error *error)
{
    const struct fx8_plan *plan = &run->request->job->plan;
    int64_t sample = 0;
    run->end_dump = end;
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(fx8_seek(run->branches[b].session, first, end - first, &sample,
                         error));
    return fx8_run_push_range(run, fx8_dump_first(plan, first),
                              fx8_dump_first(plan, end), sample, error);
}

/* Give the quick-looks the dumps [first, end), which are kept. */
static enum fx8_status look(struct fx8_run *run, int64_t first, int64_t end,
                            struct fx8_error *error)
{
    for (size_t b = 0; b < run->n; b++)
        for (int64_t d = first; d < end && run->branches[b].sink != NULL; d++) {
            if (fx8_run_interrupted(run) > 1)
                return fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
            FX8_TRY(fx8_sink_look(run->branches[b].sink, d, error));
        }
    return FX8_OK;
}

enum fx8_status fx8_run_compute(struct fx8_run *run, struct fx8_error *error)
{
    const int64_t last = run->share.end;
    int64_t first = run->share.first, end = first;
    while (end < last && !has_tried(run)) {
        while (end < last && run->finished[end])
            end++;
        FX8_TRY(look(run, first, end, error));
        first = end;
        while (end < last && !run->finished[end])
            end++;
        if (end > first)
            FX8_TRY(compute_range(run, first, end, error));
        first = end;
    }
    return FX8_OK;
}
