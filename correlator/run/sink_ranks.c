/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink_ranks.c -- outputs of several ranks.  Uncompressed files have a place
 * for every dump, into which its rank writes it.  Dumps of compressed files go
 * through rank 0, which writes them as they come.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/sink_private.h"
#include "correlator/run/talk.h"

bool fx8_sink_is_shared(const struct fx8_sink *s)
{
    return s->ranks->n > 1 &&
           s->job->settings->output.compression == FX8_COMPRESSION_NONE;
}

bool fx8_sink_is_through_rank_0(const struct fx8_sink *s)
{
    return s->ranks->n > 1 && !fx8_sink_is_shared(s);
}

/* --- places in the files -------------------------------------------------- */

/* Failures of MPI name no file. */
static enum fx8_status name_file(const struct fx8_sink *s,
                                 enum fx8_result_kind kind,
                                 enum fx8_status status,
                                 const struct fx8_error *why,
                                 struct fx8_error *error)
{
    if (status == FX8_OK)
        return FX8_OK;
    return fx8_fail(error, status, "%s.part: %s", s->output->paths[kind],
                    why->message);
}

/* The places of a result, from rank 0 to all. */
static enum fx8_status share_places(struct fx8_sink *s,
                                    enum fx8_result_kind kind,
                                    struct fx8_error *error)
{
    const struct fx8_ranks_operations *ranks = s->ranks->operations;
    struct fx8_uvh5_places **places = &s->shared[kind].places;
    enum fx8_status status = FX8_OK;
    if (s->ranks->rank == 0)
        status = fx8_uvh5_share(
            s->files[kind], s->ranks->n_local == s->ranks->n, places, error);
    FX8_TRY(fx8_ranks_agree(s->ranks, status, error));
    uint64_t size = *places == NULL ? 0 : fx8_uvh5_places_size(*places);
    FX8_TRY(ranks->broadcast(&size, sizeof size, error));
    if (s->ranks->rank > 0)
        status =
            fx8_allocate((size_t)size, 1, "places of dumps", places, error);
    FX8_TRY(fx8_ranks_agree(s->ranks, status, error));
    return ranks->broadcast(*places, (size_t)size, error);
}

static enum fx8_status open_file(struct fx8_sink *s, enum fx8_result_kind kind,
                                 struct fx8_error *error)
{
    FX8_AUTO_FREE char *part = NULL;
    if (asprintf(&part, "%s.part", s->output->paths[kind]) < 0) {
        part = NULL;
        return fx8_no_memory("names", error);
    }
    return s->ranks->operations->open(part, &s->shared[kind].file, error);
}

enum fx8_status fx8_sink_share(struct fx8_sink *s, struct fx8_error *error)
{
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (s->output->paths[kind] != NULL) {
            FX8_TRY(share_places(s, kind, error));
            FX8_TRY(
                fx8_ranks_agree(s->ranks, open_file(s, kind, error), error));
        }
    return FX8_OK;
}

/* fx8_uvh5_put_bytes */
struct place {
    const struct fx8_sink *sink;
    enum fx8_result_kind kind;
};

static enum fx8_status put_bytes(void *context, uint64_t offset,
                                 const void *bytes, size_t n,
                                 struct fx8_error *error)
{
    const struct place *place = context;
    const struct fx8_sink *s = place->sink;
    struct fx8_error why;
    return name_file(s, place->kind,
                     s->ranks->operations->write_at(s->shared[place->kind].file,
                                                    offset, bytes, n, &why),
                     &why, error);
}

/* Mark dumps [first, end), a block, as finished. */
static enum fx8_status mark_block(struct fx8_sink *s, int64_t first,
                                  int64_t end, struct fx8_error *error)
{
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++) {
        const struct fx8_sink_shared *shared = &s->shared[kind];
        struct place place = {s, kind};
        for (int64_t d = first; d < end && shared->file != NULL; d++)
            FX8_TRY(fx8_uvh5_mark_placed(shared->places, (size_t)d,
                                         shared->checksums[d - first],
                                         put_bytes, &place, error));
    }
    fx8_sink_count_finished(s, first, end);
    return FX8_OK;
}

enum fx8_status fx8_sink_write_shared(struct fx8_sink *s,
                                      const struct fx8_sink_copy *copy,
                                      struct fx8_error *error)
{
    const int64_t dump = copy->dump.index;
    const int64_t in_block = dump % s->block_dumps;
    const int64_t end =
        fx8_averages_block_end(dump, s->block_dumps, s->job->n_dumps);
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++) {
        struct fx8_sink_shared *shared = &s->shared[kind];
        struct place place = {s, kind};
        size_t n_rows;
        if (shared->file == NULL)
            continue;
        const struct fx8_result *rows =
            fx8_sink_rows(s, kind, &copy->dump, &n_rows);
        FX8_TRY(fx8_uvh5_write_placed(shared->places, (size_t)dump,
                                      &copy->counts, rows, put_bytes, &place,
                                      &shared->checksums[in_block], error));
    }
    return dump + 1 < end ? FX8_OK
                          : mark_block(s, dump - in_block, dump + 1, error);
}

enum fx8_status fx8_sink_end_shared(struct fx8_sink *s, struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++) {
        struct fx8_error why;
        free(s->shared[kind].places);
        s->shared[kind].places = NULL;
        if (s->shared[kind].file == NULL)
            continue;
        const enum fx8_status closed =
            s->ranks->operations->close(&s->shared[kind].file, &why);
        if (status == FX8_OK)
            status = name_file(s, kind, closed, &why, error);
    }
    return status;
}

/* --- through rank 0 ------------------------------------------------------- */

/* Before a dump; index -1: there are no more. */
struct head {
    int64_t index;
};

/* List all that is sent of a dump. */
enum { N_SENT = FX8_SINK_ARRAYS + 3 };

static void list_sent(const struct fx8_sink *s, struct fx8_sink_copy *copy,
                      struct fx8_array arrays[N_SENT])
{
    const struct fx8_array counts[] = {
        FX8_ITEMS(copy->counts.valid_spectra, s->job->axes.n_rows),
        FX8_ITEMS(copy->counts.dead, s->job->axes.n_rows),
        FX8_ITEMS(copy->counts.clips, fx8_sink_levels(s))};
    fx8_sink_list(s, &copy->dump, arrays);
    memcpy(arrays + FX8_SINK_ARRAYS, counts, sizeof counts);
}

enum fx8_status fx8_sink_send(const struct fx8_sink *s,
                              const struct fx8_sink_copy *copy,
                              struct fx8_error *error)
{
    const int tag = FX8_TAG_DUMPS + (int)s->center;
    const struct head head = {copy == NULL ? -1 : copy->dump.index};
    struct fx8_array arrays[N_SENT];
    FX8_TRY(s->ranks->operations->send(0, tag, &head, sizeof head, error));
    if (copy == NULL)
        return FX8_OK;
    struct fx8_sink_copy given = *copy;
    list_sent(s, &given, arrays);
    for (size_t i = 0; i < N_SENT; i++)
        FX8_TRY(s->ranks->operations->send(
            0, tag, *(void *const *)arrays[i].pointer,
            arrays[i].n_items * arrays[i].item_size, error));
    return FX8_OK;
}

void fx8_sink_send_end(const struct fx8_sink *s)
{
    struct fx8_error unused;
    if (fx8_sink_is_through_rank_0(s) && s->ranks->rank > 0)
        (void)fx8_sink_send(s, NULL, &unused);
}

enum fx8_status fx8_sink_receive(struct fx8_sink *s, int *n_senders,
                                 bool *is_there, struct fx8_error *error)
{
    const struct fx8_ranks_operations *ranks = s->ranks->operations;
    const int tag = FX8_TAG_DUMPS + (int)s->center;
    struct fx8_array arrays[N_SENT];
    struct head head;
    int from;
    *is_there = false;
    if (!ranks->probe(-1, tag, &from))
        return FX8_OK;
    FX8_TRY(ranks->receive(from, tag, &head, sizeof head, error));
    if (head.index < 0) {
        --*n_senders;
        return FX8_OK;
    }
    s->received.dump.index = head.index;
    list_sent(s, &s->received, arrays);
    for (size_t i = 0; i < N_SENT; i++)
        FX8_TRY(ranks->receive(from, tag, *(void *const *)arrays[i].pointer,
                               arrays[i].n_items * arrays[i].item_size, error));
    *is_there = true;
    return FX8_OK;
}
