/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline_parts.c -- see pipeline.c: dumps that ranks share, because there are
 * fewer of them than ranks.
 *
 *     part 0  1  2  3  4  5  6 ...    of all dumps, dealt to the ranks in turn
 *     rank 0  1  2  0  1  2  0
 *
 * A rank sends a part to rank 0 and goes on with its next one.  Rank 0 adds the
 * parts of a dump in their order, its own among them, and delivers the dump as
 * a process alone does.  It alone decides after which dump an interrupted run
 * ends; the other ranks go on until they get its message to stop at once.
 */
#include <stdlib.h>
#include <time.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/memory.h"
#include "correlator/run/pipeline_private.h"

/* Between two looks for parts of other ranks. */
#define LOOK_NS 500000L

/* --- memory --------------------------------------------------------------- */

static bool is_adding(const struct fx8_run *run)
{
    return run->share.part > 0 && run->ranks->rank == 0;
}

/* Bytes of the parts of a phase centre. */
static size_t branch_memory(const struct fx8_run *run,
                            const struct fx8_branch *branch)
{
    const size_t n = run->share.part == 0 ? 0 : is_adding(run) ? 2 : 1;
    return fx8_product(n, fx8_part_size(branch->session), 1, 1);
}

size_t fx8_run_parts_memory(const struct fx8_run *run)
{
    size_t memory = 0;
    for (size_t b = 0; b < run->n; b++)
        memory += branch_memory(run, &run->branches[b]);
    return memory;
}

/* The session has checked the limit without them. */
static enum fx8_status check_limit(const struct fx8_run *run,
                                   const struct fx8_branch *branch,
                                   struct fx8_error *error)
{
    const struct fx8_run_request *request = run->request;
    const struct fx8_job *job = request->job;
    const size_t limit = job->plan.machine.memory_limit;
    const size_t needed =
        run->n *
            (fx8_info(branch->session).memory + branch_memory(run, branch)) +
        fx8_memory_beside(request, false) +
        fx8_source_limited_memory(request->reader, job, request->block_samples);
    if (limit == 0 || needed <= limit)
        return FX8_OK;
    return fx8_settings_fail(
        job->settings, "correlator.memory_limit_mib", error,
        "expected at least %zu MiB, since ranks share dumps: each holds parts "
        "of %zu MiB",
        (needed >> 20) + 1, (fx8_part_size(branch->session) >> 20) + 1);
}

enum fx8_status fx8_run_open_parts(struct fx8_run *run, struct fx8_error *error)
{
    for (size_t b = 0; b < run->n && run->share.part > 0; b++) {
        struct fx8_branch *branch = &run->branches[b];
        const size_t size = fx8_part_size(branch->session);
        const struct fx8_array parts[] = {{&branch->part, size, 1},
                                          {&branch->sum, size, is_adding(run)}};
        FX8_TRY(check_limit(run, branch, error));
        FX8_TRY(fx8_allocate_arrays(parts, 2, "parts of dumps", error));
    }
    return FX8_OK;
}

void fx8_run_close_parts(struct fx8_run *run)
{
    for (size_t b = 0; b < run->n; b++) {
        free(run->branches[b].part);
        free(run->branches[b].sum);
    }
}

/* --- parts ---------------------------------------------------------------- */

/* A part of a dump. */
struct part {
    int64_t dump, segment, n_segments;
};

static struct part find_part(const struct fx8_run *run, int64_t dump,
                             int64_t number)
{
    const struct fx8_plan *plan = &run->request->job->plan;
    const int64_t first = number * run->share.part;
    const int64_t left = fx8_share_parts(plan, dump, 1) - first;
    return (struct part){dump, first,
                         left < run->share.part ? left : run->share.part};
}

/* Compute a part for all phase centres. */
static enum fx8_status compute(struct fx8_run *run, const struct part *part,
                               struct fx8_error *error)
{
    const struct fx8_plan *plan = &run->request->job->plan;
    const int64_t segment = fx8_segment_spectra(plan);
    const int64_t begin = fx8_dump_first(plan, part->dump);
    const int64_t first = part->segment * segment;
    const int64_t whole = fx8_dump_spectra(plan, part->dump);
    const int64_t last = (part->segment + part->n_segments) * segment;
    int64_t sample = 0;
    for (size_t b = 0; b < run->n; b++)
        FX8_TRY(fx8_seek_part(run->branches[b].session, part->dump,
                              part->segment, part->n_segments, &sample, error));
    FX8_TRY(fx8_run_push_range(run, begin + first,
                               begin + (last < whole ? last : whole), sample,
                               error));
    run->n_segments += part->n_segments;
    return FX8_OK;
}

/* Add a part that lies beside the sum, unless it is the first, which lies in
 * it.
 */
static void add(const struct fx8_branch *branch, const struct part *part)
{
    if (part->segment > 0)
        fx8_add_part(branch->session, branch->sum, branch->part);
}

/* Where rank 0 puts a part. */
static void *place_of(const struct fx8_branch *branch, const struct part *part)
{
    return part->segment > 0 ? branch->part : branch->sum;
}

/* Compute a part that is this rank's. */
static enum fx8_status do_own(struct fx8_run *run, const struct part *part,
                              struct fx8_error *error)
{
    FX8_TRY(compute(run, part, error));
    for (size_t b = 0; b < run->n; b++) {
        struct fx8_branch *branch = &run->branches[b];
        if (is_adding(run)) {
            FX8_TRY(
                fx8_take_part(branch->session, place_of(branch, part), error));
            add(branch, part);
            continue;
        }
        FX8_TRY(fx8_take_part(branch->session, branch->part, error));
        FX8_TRY(run->ranks->operations->send(0, FX8_TAG_PARTS, branch->part,
                                             fx8_part_size(branch->session),
                                             error));
    }
    return FX8_OK;
}

/* Wait for a part of another rank, which may fail before it sends one. */
static enum fx8_status await_part(struct fx8_run *run, int rank,
                                  struct fx8_error *error)
{
    int from;
    while (!run->ranks->operations->probe(rank, FX8_TAG_PARTS, &from)) {
        FX8_TRY(fx8_run_talk(run, error));
        fx8_run_show_progress(run);
        if (fx8_run_interrupted(run) > 1)
            return fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return FX8_OK;
}

/* Rank 0: take and add a part of another rank. */
static enum fx8_status take_from(struct fx8_run *run, int rank,
                                 const struct part *part,
                                 struct fx8_error *error)
{
    for (size_t b = 0; b < run->n; b++) {
        struct fx8_branch *branch = &run->branches[b];
        FX8_TRY(await_part(run, rank, error));
        FX8_TRY(run->ranks->operations->receive(
            rank, FX8_TAG_PARTS, place_of(branch, part),
            fx8_part_size(branch->session), error));
        add(branch, part);
    }
    return FX8_OK;
}

enum fx8_status fx8_run_discard_parts(struct fx8_run *run,
                                      struct fx8_error *error)
{
    const struct fx8_branch *any = &run->branches[0];
    int from;
    while (any->part != NULL &&
           run->ranks->operations->probe(-1, FX8_TAG_PARTS, &from))
        FX8_TRY(run->ranks->operations->receive(from, FX8_TAG_PARTS, any->part,
                                                fx8_part_size(any->session),
                                                error));
    return FX8_OK;
}

/* --- dumps ---------------------------------------------------------------- */

/* Rank 0: deliver a dump whose parts are added. */
static enum fx8_status end_dump(struct fx8_run *run, int64_t dump,
                                struct fx8_error *error)
{
    run->end_dump = run->share.end;
    for (size_t b = 0; b < run->n; b++) {
        struct fx8_branch *branch = &run->branches[b];
        const enum fx8_status status =
            fx8_end_parts(branch->session, dump, branch->sum, error);
        if (status != FX8_DUMP_READY)
            return status;
        FX8_TRY(fx8_run_take_dump(run, branch, error));
    }
    return dump + 1 == run->share.end ? FX8_OK
                                      : fx8_run_end_if_interrupted(run, error);
}

enum fx8_status fx8_run_compute_parts(struct fx8_run *run,
                                      struct fx8_error *error)
{
    const struct fx8_job *job = run->request->job;
    int64_t turn = 0;
    run->is_in_part = true;
    for (int64_t dump = 0; dump < job->n_dumps; dump++) {
        if (run->finished[dump])
            continue;
        const int64_t n = fx8_share_parts(&job->plan, dump, run->share.part);
        for (int64_t number = 0; number < n; number++) {
            const struct part part = find_part(run, dump, number);
            const int rank = (int)(turn++ % run->ranks->n);
            if (rank == run->ranks->rank)
                FX8_TRY(do_own(run, &part, error));
            else if (is_adding(run))
                FX8_TRY(take_from(run, rank, &part, error));
        }
        if (is_adding(run))
            FX8_TRY(end_dump(run, dump, error));
    }
    return FX8_OK;
}
