/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.c -- the course of a run; read this first.
 *
 *     reader thread        caller's thread            writer thread
 *     source.c       ->    session (libfx8)     ->    sink.c
 *     HDF5 blocks          align, channelise,         UVH5 dumps, and a
 *                          correlate, average         consumer beside it
 *
 * The outputs are created before the first sample is read, so that no run
 * starts whose results cannot be written.  The first failure of any thread is
 * reported.  An interrupt ends the run after the current dump.
 */
#include <stdlib.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/memory.h"
#include "correlator/run/pipeline_private.h"
#include "correlator/run/resume.h"

/* --- the course -------------------------------------------------- */

static enum fx8_status push_all(struct fx8_run *run, struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    /* rank 0 sets the gains that the others wait for */
    if (run->ranks->n == 1 || run->ranks->rank > 0 || fx8_run_has_gains(run))
        FX8_TRY(fx8_run_begin(run, FX8_OK, error));
    status = run->share.part > 0 ? fx8_run_compute_parts(run, error)
                                 : fx8_run_compute(run, error);
    if (!run->has_begun)
        status = fx8_run_begin(run, status, error);
    run->reports[0].push_s = fx8_clock_seconds() - run->start_s;
    if (status == FX8_OK || !run->is_under_way)
        return status;
    /* keep a dump that has ended, unless the session has failed; the first
     * failure is reported */
    struct fx8_error later;
    for (size_t b = 0; b < run->n; b++)
        while (fx8_flush(run->branches[b].session, &later) == FX8_DUMP_READY &&
               fx8_run_take_dump(run, &run->branches[b], &later) == FX8_OK)
            ;
    return status;
}

/* --- setup ------------------------------------------------------- */

static void note_kernels(const struct fx8_branch *branch)
{
    struct fx8_run_report *report = branch->report;
    const struct fx8_session_info info = fx8_info(branch->session);
    snprintf(report->backend, sizeof report->backend, "%s%s%s", info.backend,
             *info.device != '\0' ? " " : "", info.device);
    strncpy(report->reason, info.reason, sizeof report->reason - 1);
    strncpy(report->kernel, info.kernel, sizeof report->kernel - 1);
    strncpy(report->fft_plan, info.fft_plan, sizeof report->fft_plan - 1);
}

/* Warn of a device that is present but not used. */
static void warn_of_device(const struct fx8_run_request *request,
                           const char *why)
{
    char text[FX8_ERROR_MESSAGE_SIZE];
    char where[32] = "";
    if (request->ranks->rank > 0)
        snprintf(where, sizeof where, "rank %d: ", request->ranks->rank);
    snprintf(text, sizeof text, "%s%.*s: the CPU computes in its place", where,
             (int)sizeof text - 96, why);
    if (request->warn != NULL)
        request->warn(request->warn_context, text);
}

/* Gains of all rows: the reader's, which may be NULL, and the antennas'. */
static enum fx8_status list_input_gains(struct fx8_run *run,
                                        struct fx8_error *error)
{
    const struct fx8_job *job = run->request->job;
    const double *scale = run->request->reader->input_gain;
    FX8_TRY(fx8_allocate(job->n_inputs, sizeof *run->input_gain, "gains",
                         &run->input_gain, error));
    for (size_t row = 0; row < job->n_inputs; row++)
        run->input_gain[row] = (scale == NULL ? 1.0 : scale[row]) *
                               job->gains[row % job->axes.n_inputs].amplitude;
    return FX8_OK;
}

/* Let a session leave its share of what the run takes besides. */
static void share_limit(const struct fx8_run *run, struct fx8_machine *machine)
{
    const struct fx8_run_request *request = run->request;
    const size_t least = fx8_memory_beside(request, true);
    const size_t blocks = fx8_source_limited_memory(
        request->reader, request->job, request->block_samples);
    machine->beside = (least + blocks) / run->n + 1;
    machine->beside_whole =
        (fx8_memory_beside(request, false) - least) / run->n + 1;
}

/* The quick-look of several ranks is made at the end: make_looker(). */
static struct fx8_plan plan_of(const struct fx8_run *run, size_t index)
{
    struct fx8_plan plan = run->request->job->plan;
    plan.machine.backend = run->backend;
    plan.machine.transform = run->request->transform;
    plan.machine.memory_limit /= run->n;
    plan.machine.slices_above = fx8_memory_slices_above(run->request);
    if (plan.machine.memory_limit > 0)
        share_limit(run, &plan.machine);
    plan.input_gain = run->input_gain;
    plan.delays.context = &run->request->job->centers[index];
    plan.quicklook = plan.quicklook && run->request->n_ranks == 1;
    /* several keep what they need, unless it may lie before their range */
    if (run->n == 1 || run->request->n_ranks > 1 || run->request->resume) {
        plan.reread = fx8_run_reread;
        plan.reread_context = &run->branches[index];
    }
    return plan;
}

enum fx8_status fx8_run_open_session(struct fx8_run *run, size_t index,
                                     struct fx8_error *error)
{
    const struct fx8_run_request *request = run->request;
    struct fx8_branch *branch = &run->branches[index];
    const struct fx8_plan plan = plan_of(run, index);
    const enum fx8_status status =
        fx8_open(&plan, NULL, NULL, &branch->session, error);
    return status == FX8_OK ? FX8_OK
                            : fx8_memory_name_key(request, status, error);
}

static enum fx8_status open_branch(struct fx8_run *run, size_t index,
                                   struct fx8_error *error)
{
    const struct fx8_run_request *request = run->request;
    struct fx8_branch *branch = &run->branches[index];
    FX8_TRY(fx8_tally_open(request->job, &branch->tally, error));
    FX8_TRY(fx8_run_open_session(run, index, error));
    note_kernels(branch);
    if (index == 0 && fx8_info(branch->session).is_spare)
        warn_of_device(request, branch->report->reason);
    if (request->is_trial)
        return FX8_OK;
    return fx8_sink_open(request, index, branch->session, branch->report,
                         &branch->sink, error);
}

static void tell_ready(const struct fx8_run *run)
{
    const struct fx8_run_request *request = run->request;
    const size_t n_slices = fx8_info(run->branches[0].session).n_slices;
    size_t memory = fx8_source_memory(run->source) + fx8_run_parts_memory(run) +
                    fx8_memory_beside(request, n_slices > 1);
    for (size_t b = 0; b < run->n; b++)
        memory += fx8_info(run->branches[b].session).memory;
    if (request->ready != NULL && run->ranks->rank == 0)
        request->ready(request->ready_context, memory, n_slices,
                       run->reports[0].n_earlier);
}

/* Whether an earlier run has completed every result. */
static bool is_old(const struct fx8_run *run)
{
    for (size_t b = 0; b < run->n; b++)
        if (run->branches[b].sink == NULL ||
            !fx8_sink_is_complete(run->branches[b].sink))
            return false;
    return true;
}

static enum fx8_status open_branches(struct fx8_run *run,
                                     struct fx8_error *error)
{
    const struct fx8_run_request *request = run->request;
    FX8_TRY(fx8_talk_open(&run->talk, run->ranks, error));
    FX8_TRY(fx8_allocate(run->n, sizeof *run->branches, "phase centres",
                         &run->branches, error));
    for (size_t b = 0; b < run->n; b++) {
        run->branches[b].run = run;
        run->branches[b].report = &run->reports[b];
    }
    /* a reader has input gains only after select() */
    struct fx8_reader *reader = request->reader;
    FX8_TRY(reader->select(reader, request->job->inputs, request->job->n_inputs,
                           error));
    FX8_TRY(list_input_gains(run, error));
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(open_branch(run, b, error));
    run->reports->is_old = is_old(run);
    return FX8_OK;
}

enum fx8_status fx8_run_open_source(struct fx8_run *run,
                                    struct fx8_error *error)
{
    const struct fx8_run_request *request = run->request;
    /* after one signal the run still finishes its first dump; two end it now */
    if (fx8_run_interrupted(run) > 1)
        return fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
    FX8_TRY(fx8_run_open_parts(run, error));
    /* only one session can use samples in place */
    return fx8_source_open(
        request->reader, request->job, request->block_samples,
        run->n == 1 ? run->branches[0].session : NULL, &run->source, error);
}

/* Every rank does, step by step: none waits for one that has failed. */
static enum fx8_status set_stage(struct fx8_run *run, struct fx8_error *error)
{
    bool *is_old = &run->reports->is_old;
    const double begin_s = fx8_clock_seconds();
    FX8_TRY(fx8_ranks_agree(run->ranks, open_branches(run, error), error));
    FX8_TRY(fx8_run_compare_kernels(run, error));
    FX8_TRY(
        fx8_ranks_agree(run->ranks, fx8_run_begin_outputs(run, error), error));
    FX8_TRY(run->ranks->operations->broadcast(is_old, sizeof *is_old, error));
    if (*is_old)
        return FX8_OK;
    FX8_TRY(fx8_run_divide(run, error));
    FX8_TRY(
        fx8_ranks_agree(run->ranks, fx8_run_open_source(run, error), error));
    tell_ready(run);
    run->start_s = fx8_clock_seconds();
    run->reports->start_s = run->start_s - begin_s;
    return FX8_OK;
}

/* --- the end ----------------------------------------------------- */

static enum fx8_status count_inputs(const struct fx8_job *job,
                                    struct fx8_branch *branch,
                                    struct fx8_error *error)
{
    struct fx8_run_report *report = branch->report;
    FX8_TRY(fx8_allocate(job->n_inputs, 1, "report", &report->dead, error));
    const struct fx8_tally *tally = &branch->tally;
    for (size_t input = 0; input < job->n_inputs; input++) {
        const int64_t dumps = tally->dead_dumps[input];
        report->dead[input] = dumps == 0 ? 0 : dumps < report->n_dumps ? 1 : 2;
    }
    for (size_t level = 0; level < tally->n_levels; level++)
        report->n_zero_level += tally->is_zero[level];
    return FX8_OK;
}

/* Add what an earlier run has counted. */
static void add_earlier(const struct fx8_job *job, struct fx8_branch *branch)
{
    if (branch->sink == NULL)
        return;
    const struct fx8_earlier *earlier = fx8_sink_earlier(branch->sink);
    branch->n_spectra = earlier->n_spectra;
    for (size_t row = 0; row < job->n_inputs; row++) {
        branch->tally.dead_dumps[row] += earlier->dead_dumps[row];
        branch->n_valid += earlier->valid_spectra[row];
    }
    for (size_t i = 0; i < job->axes.n_inputs * job->axes.n_fine; i++)
        branch->n_clipped += earlier->clips[i];
}

static void count_spectra(const struct fx8_job *job, struct fx8_branch *branch)
{
    struct fx8_run_report *report = branch->report;
    const struct fx8_statistics *counters = &report->statistics;
    const double valid = (double)(counters->n_valid_spectra + branch->n_valid);
    const double all = (double)(counters->n_spectra + branch->n_spectra) *
                       (double)job->n_inputs;
    if (all > 0)
        report->valid_fraction = valid / all;
    if (valid > 0)
        report->clipped_fraction =
            (double)(counters->n_clipped + branch->n_clipped) *
            (double)job->plan.n_bands / (valid * (double)job->axes.n_fine);
}

/* The results could not be kept, and the run was interrupted too: report both.
 */
static void note_interruption(const struct fx8_run *run, int64_t n_dumps,
                              struct fx8_error *error)
{
    const struct fx8_error reason = *error;
    fx8_fail(error, reason.status,
             "%s; the run was interrupted after %lld of %lld dumps",
             reason.message, (long long)n_dumps,
             (long long)run->request->job->n_dumps);
}

/* On rank 0 of several, replace the session by one that makes the quick-look of
 * all dumps, with the gains that all ranks have set.  It pushes no samples, so
 * it touches less memory than the session that it replaces: without a limit. */
static enum fx8_status make_looker(const struct fx8_run *run, size_t index,
                                   struct fx8_error *error)
{
    struct fx8_branch *branch = &run->branches[index];
    struct fx8_plan plan = plan_of(run, index);
    if (run->ranks->n == 1 || run->ranks->rank > 0 ||
        !run->request->job->plan.quicklook)
        return FX8_OK;
    fx8_close(&branch->session);
    plan.quicklook = true;
    plan.machine.backend = FX8_BACKEND_CPU;
    plan.machine.memory_limit = 0;
    FX8_TRY(fx8_open(&plan, NULL, NULL, &branch->session, error));
    const struct fx8_input_gains gains = fx8_tally_gains(&branch->tally);
    return branch->tally.n_levels == 0
               ? FX8_OK
               : fx8_set_gains(branch->session, &gains, error);
}

/* Seconds of that session. */
static double looked_s(const struct fx8_run *run,
                       const struct fx8_branch *branch)
{
    struct fx8_statistics statistics = {0};
    if (run->ranks->n > 1 && branch->session != NULL)
        fx8_get_statistics(branch->session, &statistics);
    return statistics.quicklook_s;
}

/* End a branch as the run ended; an interrupted one makes the dumps that it has
 * finished its result, if all branches have some, unless another run is to go
 * on with them. */
static enum fx8_status close_branch(const struct fx8_run *run, size_t index,
                                    bool all_have_dumps, enum fx8_status status,
                                    struct fx8_error *error)
{
    const struct fx8_job *job = run->request->job;
    struct fx8_branch *branch = &run->branches[index];
    struct fx8_run_report *report = branch->report;
    const int64_t n_dumps = report->n_dumps;
    report->was_interrupted = status == FX8_ERR_CANCELLED;
    bool is_kept =
        (status == FX8_OK && !run->reports->is_old) ||
        (report->was_interrupted && all_have_dumps && !fx8_run_is_paused(run));
    if (branch->tally.memory != NULL)
        add_earlier(job, branch);
    if (is_kept && make_looker(run, index, error) != FX8_OK) {
        status = error->status;
        is_kept = false;
    }
    const enum fx8_status closed = fx8_sink_close(
        &branch->sink, &branch->tally, branch->session, is_kept, error);
    /* the sink keeps no result with a hole */
    if (is_kept && (closed != FX8_OK || report->n_dumps > 0))
        status = closed;
    if (report->was_interrupted && is_kept && closed != FX8_OK)
        note_interruption(run, n_dumps, error);
    report->statistics = branch->tally.statistics;
    report->statistics.quicklook_s += looked_s(run, branch);
    if (status == FX8_OK) {
        count_spectra(job, branch);
        status = count_inputs(job, branch, error);
    }
    fx8_close(&branch->session);
    fx8_tally_clear(&branch->tally);
    return status;
}

/* Dumps that all phase centres have: they are written one after the other, and
 * a failure can come when some have a dump and others do not. */
static int64_t common_dumps(const struct fx8_run *run)
{
    int64_t n_dumps = INT64_MAX;
    for (size_t b = 0; b < run->n; b++) {
        struct fx8_sink *sink = run->branches[b].sink;
        if (sink == NULL)
            continue;
        /* unless other ranks were lost, all are drained already */
        (void)fx8_sink_drain(sink, NULL);
        const int64_t n = fx8_sink_whole_dumps(sink);
        n_dumps = n < n_dumps ? n : n_dumps;
    }
    return n_dumps;
}

static enum fx8_status close_branches(struct fx8_run *run,
                                      enum fx8_status status,
                                      struct fx8_error *error)
{
    const enum fx8_status pushed = status;
    const int64_t n_dumps = run->branches == NULL ? 0 : common_dumps(run);
    bool all_have_dumps = true;
    for (size_t b = 0; b < run->n; b++)
        all_have_dumps = all_have_dumps && run->reports[b].n_dumps > 0;
    for (size_t b = 0; b < run->n && run->branches != NULL; b++) {
        if (run->branches[b].sink != NULL)
            fx8_sink_leave_at_most(run->branches[b].sink, n_dumps);
        const enum fx8_status ended =
            close_branch(run, b, all_have_dumps, pushed, error);
        if (b == 0 || status == FX8_OK)
            status = ended;
    }
    return status;
}

/* Say after how many dumps of all ranks the run was paused, or interrupted. */
static void name_end(const struct fx8_run *run, struct fx8_error *error)
{
    const bool is_paused = fx8_run_is_paused(run);
    const struct fx8_sink *sink =
        run->branches == NULL ? NULL : run->branches[0].sink;
    const char *how = is_paused ? "paused" : "interrupted";
    if (!is_paused && run->ranks->n == 1)
        return;
    if (run->request->resume && !run->is_under_way)
        fx8_fail(error, FX8_ERR_CANCELLED, "%s before a dump was computed",
                 how);
    else
        fx8_fail(error, FX8_ERR_CANCELLED, "%s after %lld of %lld dumps", how,
                 is_paused && sink != NULL
                     ? (long long)fx8_sink_whole_dumps(sink)
                     : (long long)run->reports[0].n_dumps,
                 (long long)run->request->job->n_dumps);
}

/* Run on one backend; n_dumps counts the dumps handed over, whether or not they
 * were written. */
static enum fx8_status run_on(const struct fx8_run_request *request,
                              enum fx8_backend backend,
                              struct fx8_run_report *reports, int64_t *n_dumps,
                              struct fx8_error *error)
{
    struct fx8_run run = {.request = request,
                          .ranks = request->ranks,
                          .backend = backend,
                          .reports = reports,
                          .n = request->job->n_centers};
    memset(reports, 0, run.n * sizeof *reports);
    enum fx8_status status = set_stage(&run, error);
    if (status == FX8_OK && !reports->is_old)
        status = push_all(&run, error);
    *n_dumps = reports[0].n_dumps - reports[0].n_earlier;
    const double read_s =
        run.source == NULL ? 0.0 : fx8_source_seconds(run.source);
    fx8_source_stop(run.source);
    for (size_t b = 0; b < run.n; b++)
        reports[b].read_s = read_s;
    if (run.branches != NULL)
        status = fx8_run_gather(&run, status, error);
    reports->was_paused = fx8_run_is_paused(&run);
    if (status == FX8_ERR_CANCELLED)
        name_end(&run, error);
    status = close_branches(&run, status, error);
    fx8_source_close(&run.source); /* the session may have pinned its memory */
    fx8_talk_close(&run.talk);
    if (run.branches != NULL)
        fx8_run_close_parts(&run);
    free(run.branches);
    free(run.input_gain);
    free(run.finished);
    return status;
}

enum fx8_status fx8_pipeline_run(const struct fx8_run_request *request,
                                 struct fx8_run_report *reports,
                                 struct fx8_error *error)
{
    const double start = fx8_clock_seconds();
    const struct fx8_plan *plan = &request->job->plan;
    int64_t n_dumps;
    enum fx8_status status =
        run_on(request, plan->machine.backend, reports, &n_dumps, error);
    if (status == FX8_ERR_DEVICE && plan->machine.backend == FX8_BACKEND_AUTO &&
        strcmp(plan->machine.kernel, "auto") == 0 && n_dumps == 0 &&
        request->ranks->n == 1) {
        const struct fx8_error why = *error;
        warn_of_device(request, why.message);
        struct fx8_run_request again = *request;
        again.ready = NULL;
        status = run_on(&again, FX8_BACKEND_CPU, reports, &n_dumps, error);
        snprintf(reports->reason, sizeof reports->reason, "%.*s",
                 (int)sizeof reports->reason - 1, why.message);
    }
    reports->total_s = fx8_clock_seconds() - start;
    return status;
}
