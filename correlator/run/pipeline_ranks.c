/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline_ranks.c -- what the ranks of a run do together.
 *
 * Each computes a range of dumps from its own part of the recording.  Before
 * that all get the gains that rank 0 has set, and the places of their dumps in
 * the files; after it rank 0 adds up what was counted, and completes the files.
 * A process alone takes the same way.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/pipeline_private.h"

/* Between two looks for messages while there is nothing else to do. */
#define LOOK_NS 2000000L

/* --- on the way ----------------------------------------------------------- */

int fx8_run_interrupted(const struct fx8_run *run)
{
    const int own =
        run->request->interrupted == NULL ? 0 : run->request->interrupted();
    return own > run->talk.stop ? own : run->talk.stop;
}

bool fx8_run_is_paused(const struct fx8_run *run)
{
    return run->talk.is_paused ||
           (run->request->is_paused != NULL && run->request->is_paused());
}

enum fx8_status fx8_run_talk(struct fx8_run *run, struct fx8_error *error)
{
    const struct fx8_job *job = run->request->job;
    const int64_t step = (int64_t)job->axes.step;
    const int64_t since =
        run->at_sample - job->plan.first_sample - run->range_first * step;
    /* samples read only to find markers do not count as progress */
    const int64_t most = run->share_spectra * step;
    const int64_t done = run->n_before * step + (since > 0 ? since : 0);
    FX8_TRY(fx8_talk_progress(&run->talk, done < most ? done : most,
                              run->reports[0].n_dumps, error));
    /* read first: what pauses between the two must not seem to end the run */
    const int stop = fx8_run_interrupted(run);
    FX8_TRY(fx8_talk_stop(&run->talk, stop, fx8_run_is_paused(run), error));
    return fx8_talk_listen(&run->talk, error);
}

void fx8_run_show_progress(struct fx8_run *run)
{
    const struct fx8_run_request *request = run->request;
    const struct fx8_job *job = request->job;
    const struct fx8_talk_state total = fx8_talk_total(&run->talk);
    if (request->progress == NULL || run->ranks->rank > 0)
        return;
    const struct fx8_progress progress = {
        .n_samples = total.n_samples,
        .total_samples = run->all_spectra * (int64_t)job->axes.step,
        .n_dumps = total.n_dumps,
        .total_dumps = job->n_dumps,
        .n_inputs = job->n_inputs,
        .rate_hz = fx8_rate_hz(job->plan.sample_rate),
    };
    request->progress(request->progress_context, &progress);
}

/* --- what is to be done --------------------------------------------------- */

enum fx8_status fx8_run_compare_kernels(const struct fx8_run *run,
                                        struct fx8_error *error)
{
    const struct fx8_session_info info = fx8_info(run->branches[0].session);
    char own[192] = "", first[sizeof own];
    /* cards of a kind may measure different ones as the fastest */
    if (strcmp(info.backend, "cpu") == 0)
        snprintf(own, sizeof own, "%s, FFT %s", info.kernel, info.fft_plan);
    else
        snprintf(own, sizeof own, "of %s", info.backend);
    memcpy(first, own, sizeof own);
    FX8_TRY(run->ranks->operations->broadcast(first, sizeof first, error));
    const enum fx8_status status =
        strcmp(own, first) == 0
            ? FX8_OK
            : fx8_fail(error, FX8_ERR_USAGE,
                       "kernel: %s: expected %s, as on rank 0: "
                       "correlator.backend, correlator.kernel and --fft-plan "
                       "choose for all ranks",
                       own, first);
    return fx8_ranks_agree(run->ranks, status, error);
}

enum fx8_status fx8_run_divide(struct fx8_run *run, struct fx8_error *error)
{
    const struct fx8_job *job = run->request->job;
    FX8_TRY(run->ranks->operations->broadcast(run->finished,
                                              (size_t)job->n_dumps, error));
    run->share = fx8_share_of(run->finished, job->n_dumps, run->block_dumps,
                              &job->plan, run->ranks);
    for (int64_t d = 0; d < job->n_dumps; d++) {
        const int64_t n =
            run->finished[d] ? 0 : fx8_dump_spectra(&job->plan, d);
        run->all_spectra += n;
        /* of shared dumps, any */
        if (run->share.part > 0 ||
            (d >= run->share.first && d < run->share.end))
            run->share_spectra += n;
    }
    return FX8_OK;
}

/* --- the beginning -------------------------------------------------------- */

bool fx8_run_has_gains(const struct fx8_run *run)
{
    bool has_all = true;
    for (size_t b = 0; b < run->n; b++) {
        const struct fx8_tally *tally = &run->branches[b].tally;
        const uint8_t *is_set = fx8_gains(run->branches[b].session).is_set;
        has_all = has_all && (tally->n_levels == 0 ||
                              memchr(is_set, 1, tally->n_rows) != NULL);
    }
    return has_all;
}

static enum fx8_status share_gains(struct fx8_run *run,
                                   struct fx8_branch *branch,
                                   struct fx8_error *error)
{
    struct fx8_tally *tally = &branch->tally;
    enum fx8_status status = FX8_OK;
    if (run->ranks->n == 1 || tally->n_levels == 0)
        return FX8_OK;
    if (run->ranks->rank == 0)
        fx8_tally_take_gains(tally, branch->session);
    FX8_TRY(
        run->ranks->operations->broadcast(tally->memory, tally->size, error));
    if (run->ranks->rank > 0) {
        const struct fx8_input_gains gains = fx8_tally_gains(tally);
        status = fx8_set_gains(branch->session, &gains, error);
    }
    return fx8_ranks_agree(run->ranks, status, error);
}

enum fx8_status fx8_run_begin(struct fx8_run *run, enum fx8_status status,
                              struct fx8_error *error)
{
    run->has_begun = true;
    FX8_TRY(fx8_ranks_agree(run->ranks, status, error));
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(share_gains(run, &run->branches[b], error));
    for (size_t b = 0; b < run->n; b++)
        if (run->branches[b].sink != NULL)
            FX8_TRY(fx8_sink_start(run->branches[b].sink, error));
    run->is_under_way = true;
    return FX8_OK;
}

/* --- the end -------------------------------------------------------------- */

/* Wait for the writers of this rank; the first failure is the one to report. */
static enum fx8_status drain(struct fx8_run *run, enum fx8_status status,
                             struct fx8_error *error)
{
    for (size_t b = 0; b < run->n; b++) {
        struct fx8_branch *branch = &run->branches[b];
        struct fx8_error why;
        enum fx8_status drained = FX8_OK;
        if (branch->sink != NULL)
            drained = fx8_sink_drain(branch->sink, &why);
        if (drained != FX8_OK &&
            (status == FX8_OK || status == FX8_ERR_CANCELLED)) {
            status = drained;
            *error = why;
        }
        if (branch->session != NULL)
            fx8_tally_take(&branch->tally, branch->session);
        branch->tally.n_clamped = branch->report->n_clamped;
    }
    return status;
}

static bool has_failed(const struct fx8_run *run)
{
    bool has_failed = false;
    for (size_t b = 0; b < run->n; b++)
        has_failed = has_failed || (run->branches[b].sink != NULL &&
                                    fx8_sink_has_failed(run->branches[b].sink));
    return has_failed;
}

/* Rank 0: until all others have ended, whatever they do. */
static enum fx8_status wait_for_others(struct fx8_run *run,
                                       enum fx8_status status,
                                       struct fx8_error *error)
{
    struct fx8_talk *talk = &run->talk;
    if (status != FX8_OK &&
        (status != FX8_ERR_CANCELLED || run->share.part > 0))
        FX8_TRY(fx8_talk_stop(talk, 2, fx8_run_is_paused(run), error));
    while (!fx8_talk_is_over(talk)) {
        FX8_TRY(fx8_run_discard_parts(run, error));
        FX8_TRY(fx8_talk_listen(talk, error));
        const int stop = has_failed(run) ? 2 : fx8_run_interrupted(run);
        FX8_TRY(fx8_talk_stop(talk, stop, fx8_run_is_paused(run), error));
        fx8_run_show_progress(run);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return FX8_OK;
}

/* Dumps of a rank's share that are finished now and were not before. */
static int64_t count_new(const struct fx8_run *run, const uint8_t *finished,
                         const struct fx8_share *share)
{
    int64_t n = 0;
    for (int64_t d = share->first; d < share->end; d++)
        n += finished[d] && !run->finished[d];
    return n;
}

/* Rank 0: add what other ranks have written, and count dumps by rank. */
static void add_dumps(struct fx8_run *run, const struct fx8_run_rank *all)
{
    const int64_t n_dumps = run->request->job->n_dumps;
    for (int rank = 0; rank < run->ranks->n; rank++) {
        struct fx8_ranks of = *run->ranks;
        of.rank = rank;
        const struct fx8_share share =
            fx8_share_of(run->finished, n_dumps, run->block_dumps,
                         &run->request->job->plan, &of);
        for (size_t b = 0; b < run->n; b++) {
            struct fx8_sink *sink = run->branches[b].sink;
            const uint8_t *finished = fx8_sink_finished(sink);
            if (rank > 0)
                fx8_sink_add_finished(sink, run->finished, share.first,
                                      share.end, all[rank].n_written);
            run->reports[0].ranks[rank].n_dumps =
                count_new(run, finished, &share);
        }
    }
}

/* Times of all ranks, and how many dumps each has finished. */
static enum fx8_status gather_ranks(struct fx8_run *run,
                                    struct fx8_error *error)
{
    const double all_s = fx8_clock_seconds() - run->start_s;
    struct fx8_run_rank own = {
        .n_written =
            run->branches[run->n - 1].sink == NULL
                ? 0
                : count_new(run,
                            fx8_sink_finished(run->branches[run->n - 1].sink),
                            &run->share),
        .n_segments = run->n_segments,
        .n_gain_rounds = run->branches[0].tally.statistics.n_gain_rounds,
        .read_s = run->source == NULL ? 0.0 : fx8_source_seconds(run->source),
        .compute_s = run->compute_s,
        .wait_s = all_s > run->compute_s ? all_s - run->compute_s : 0.0,
    };
    for (size_t b = 0; b < run->n; b++)
        own.write_s += run->reports[b].write_s;
    const enum fx8_status status =
        fx8_allocate((size_t)run->ranks->n, sizeof own, "ranks",
                     &run->reports[0].ranks, error);
    FX8_TRY(fx8_ranks_agree(run->ranks, status, error));
    run->reports[0].n_ranks = run->ranks->n;
    FX8_TRY(run->ranks->operations->gather(&own, sizeof own,
                                           run->reports[0].ranks, error));
    if (run->ranks->rank == 0)
        add_dumps(run, run->reports[0].ranks);
    return FX8_OK;
}

static enum fx8_status add_up(struct fx8_run *run, struct fx8_error *error)
{
    FX8_TRY(gather_ranks(run, error));
    for (size_t b = 0; b < run->n; b++) {
        struct fx8_branch *branch = &run->branches[b];
        FX8_TRY(fx8_tally_add_ranks(&branch->tally, FX8_TAG_REPORTS, run->ranks,
                                    error));
        branch->report->n_clamped = branch->tally.n_clamped;
        /* what others have written counts from now on */
        (void)fx8_sink_drain(branch->sink, NULL);
    }
    return FX8_OK;
}

enum fx8_status fx8_run_gather(struct fx8_run *run, enum fx8_status status,
                               struct fx8_error *error)
{
    struct fx8_error lost;
    if (run->ranks->n == 1 || !run->is_under_way)
        return drain(run, status, error);
    if (run->ranks->rank > 0) {
        status = drain(run, status, error);
        /* a signal that has come since this rank spoke last */
        FX8_TRY(fx8_talk_stop(&run->talk, fx8_run_interrupted(run),
                              fx8_run_is_paused(run), error));
        FX8_TRY(fx8_talk_end(&run->talk, status, error));
    } else if (wait_for_others(run, status, &lost) != FX8_OK) {
        *error = lost;
        return lost.status;
    } else {
        status = drain(run, status, error);
    }
    FX8_TRY(add_up(run, error));
    const bool is_well = status == FX8_OK || status == FX8_ERR_CANCELLED;
    if (is_well && run->talk.failure.status != FX8_OK) {
        *error = run->talk.failure;
        return error->status;
    }
    if (status == FX8_OK && run->ranks->rank == 0 &&
        run->reports[run->n - 1].n_dumps < run->request->job->n_dumps)
        return fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
    return status;
}
