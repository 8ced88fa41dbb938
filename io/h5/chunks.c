/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/chunks.h"
#include "io/h5/contiguous.h"
#include "io/h5/filters.h"
#include "io/h5/h5.h"

#define MAX_RANK FX8_H5_CHUNKS_MAX_RANK

/* Memory for unpacked chunks that the next read may need. */
#define MAX_KEPT ((size_t)256 << 20)

/* Chunk sizes worth bypassing HDF5 for: smaller ones cost more to find than to
 * unpack; of larger ones, every thread would hold two. */
#define LEAST_CHUNK ((size_t)4096)
#define MOST_CHUNK  ((size_t)256 << 20)

/* An unpacked chunk that a read used only in part. */
struct kept {
    hsize_t time_chunk;
    uint8_t *bytes; /* or NULL */
};

/* A chunk that a read touches.  All arrays have three axes; axes missing in the
 * dataset come first, with extent 1. */
struct item {
    hsize_t chunk[MAX_RANK]; /* its position, in chunks */
    size_t column;           /* its position without time */
    const uint8_t *unpacked; /* kept by an earlier read, or NULL */
    bool is_wanted;          /* keep it for the next read */
    uint8_t *keep;
    enum { DONE, NOT_STORED, DAMAGED } outcome;
    char fault[FX8_H5_FAULT_SIZE];
};

struct fx8_h5_chunks {
    struct fx8_h5_samples samples;
    int rank;
    int time;                 /* time axis, 0 .. 2 */
    hsize_t extent[MAX_RANK]; /* elements */
    hsize_t length[MAX_RANK]; /* of a chunk, elements */
    size_t element_bytes;
    bool is_direct;
    bool is_filtered;
    bool is_range; /* not in chunks, and elements need no conversion */
    struct fx8_h5_range range; /* if so */
    char reason[FX8_H5_FAULT_SIZE];
    struct fx8_h5_pipeline pipeline;
    struct kept *kept; /* [n_kept] by column */
    size_t n_kept;
    struct item *items; /* [capacity] of the current read */
    size_t n_items, capacity;
    struct fx8_h5_scratch *scratch; /* [n_scratch] by thread */
    size_t n_scratch;
    pthread_mutex_t fetch;
};

/* The read in progress. */
struct work {
    struct fx8_h5_chunks *chunks;
    hsize_t start[MAX_RANK], count[MAX_RANK], memory[MAX_RANK];
    uint8_t *buffer;
};

static enum fx8_status fail(const struct fx8_h5_chunks *chunks,
                            const struct work *work, const char *what,
                            struct fx8_error *error)
{
    const uint64_t n = (uint64_t)chunks->samples.n_per_element;
    const uint64_t first = n * work->start[chunks->time];
    const uint64_t last = first + n * work->count[chunks->time] - 1;
    char where[128];
    snprintf(where, sizeof where, "%s: samples %" PRIu64 " to %" PRIu64,
             chunks->samples.name, first, last);
    if (what == NULL)
        return fx8_h5_fail(error, FX8_ERR_INPUT, chunks->samples.path, where);
    return fx8_refuse(error, chunks->samples.path, where, "%s", what);
}

/* --- opening ----------------------------------------------------- */

/* Whether elements of dataset and caller are the same byte for byte. */
static bool is_same_type(const struct fx8_h5_chunks *chunks)
{
    FX8_H5_AUTO type = H5Dget_type(chunks->samples.dataset);
    const hid_t memory = chunks->samples.memory_type;
    return H5Tequal(type, memory) > 0 ||
           (fx8_h5_is_int8(type) && fx8_h5_is_int8(memory));
}

/* True if chunks cannot be unpacked here, with the cause in chunks->reason. */
static bool is_slow(struct fx8_h5_chunks *chunks, hid_t creation)
{
    unsigned options = 0;
    const size_t bytes =
        fx8_product((size_t)chunks->length[0], (size_t)chunks->length[1],
                    (size_t)chunks->length[2], chunks->element_bytes);
    const char *reason = NULL;
    if (!is_same_type(chunks))
        reason = "samples of another type";
    else if (bytes < LEAST_CHUNK)
        reason = "chunks of less than 4 KiB";
    else if (bytes > MOST_CHUNK)
        reason = "chunks of more than 256 MiB";
    else if (H5Pget_chunk_opts(creation, &options) < 0 || options != 0)
        reason = "chunks at the edge without filters";
    if (reason == NULL)
        return !fx8_h5_pipeline_load(creation, bytes, &chunks->pipeline,
                                     chunks->reason);
    snprintf(chunks->reason, sizeof chunks->reason, "%s", reason);
    return true;
}

static enum fx8_status prepare(struct fx8_h5_chunks *chunks,
                               struct fx8_error *error)
{
    const size_t bytes = chunks->pipeline.chunk_bytes;
    size_t n[MAX_RANK] = {1, 1, 1}; /* chunks side by side */
    for (int axis = 0; axis < MAX_RANK; axis++)
        if (axis != chunks->time)
            n[axis] =
                (size_t)((chunks->extent[axis] - 1) / chunks->length[axis] + 1);
    const size_t n_columns = fx8_product(n[0], n[1], n[2], 1);
    if (n_columns == SIZE_MAX)
        return FX8_OK; /* column numbers would overflow: keep none */
    chunks->n_kept =
        n_columns < MAX_KEPT / bytes ? n_columns : MAX_KEPT / bytes;
    return fx8_allocate(chunks->n_kept, sizeof *chunks->kept, "unpacked chunks",
                        &chunks->kept, error);
}

/* Examine layout, shape and filters of the dataset. */
static enum fx8_status examine(struct fx8_h5_chunks *chunks, hid_t space,
                               hid_t creation, struct fx8_error *error)
{
    const struct fx8_h5_samples *samples = &chunks->samples;
    chunks->rank = H5Sget_simple_extent_ndims(space);
    chunks->element_bytes = H5Tget_size(samples->memory_type);
    if (chunks->rank < 1 || chunks->rank > MAX_RANK || samples->time_axis < 0 ||
        samples->time_axis >= chunks->rank || chunks->element_bytes == 0)
        return fx8_refuse(error, samples->path, samples->name,
                          "%d %s: expected 1 to %d", chunks->rank,
                          FX8_NOUN(chunks->rank, "axis", "axes"), MAX_RANK);
    const int absent = MAX_RANK - chunks->rank;
    chunks->time = samples->time_axis + absent;
    for (int axis = 0; axis < MAX_RANK; axis++)
        chunks->extent[axis] = chunks->length[axis] = 1;
    H5Sget_simple_extent_dims(space, chunks->extent + absent, NULL);
    for (int axis = 0; axis < MAX_RANK; axis++)
        if (chunks->extent[axis] == 0)
            return fx8_refuse(error, samples->path, samples->name,
                              "an axis of length 0: expected samples");
    chunks->is_filtered =
        H5Pget_layout(creation) == H5D_CHUNKED && H5Pget_nfilters(creation) > 0;
    chunks->is_range =
        is_same_type(chunks) &&
        fx8_h5_range_find(samples->dataset, creation, &chunks->range);
    if (!chunks->is_filtered)
        return FX8_OK; /* read straight into the buffer */
    if (H5Pget_chunk(creation, chunks->rank, chunks->length + absent) !=
        chunks->rank)
        return fx8_h5_fail(error, FX8_ERR_INPUT, samples->path, samples->name);
    chunks->is_direct = !is_slow(chunks, creation);
    return chunks->is_direct ? prepare(chunks, error) : FX8_OK;
}

enum fx8_status fx8_h5_chunks_open(const struct fx8_h5_samples *samples,
                                   struct fx8_h5_chunks **result,
                                   struct fx8_error *error)
{
    *result = NULL;
    struct fx8_h5_chunks *chunks;
    FX8_TRY(fx8_allocate(1, sizeof *chunks, "a dataset", &chunks, error));
    chunks->samples = *samples;
    pthread_mutex_init(&chunks->fetch, NULL);
    FX8_H5_AUTO space = H5Dget_space(samples->dataset);
    FX8_H5_AUTO creation = H5Dget_create_plist(samples->dataset);
    const enum fx8_status status =
        space < 0 || creation < 0
            ? fx8_h5_fail(error, FX8_ERR_INPUT, samples->path, samples->name)
            : examine(chunks, space, creation, error);
    if (status == FX8_OK)
        *result = chunks;
    else
        fx8_h5_chunks_close(&chunks);
    return status;
}

bool fx8_h5_chunks_are_filtered(const struct fx8_h5_chunks *chunks)
{
    return chunks->is_filtered;
}

const char *fx8_h5_chunks_slow_reason(const struct fx8_h5_chunks *chunks)
{
    return chunks->is_filtered && !chunks->is_direct ? chunks->reason : NULL;
}

void fx8_h5_chunks_close(struct fx8_h5_chunks **handle)
{
    struct fx8_h5_chunks *chunks = *handle;
    *handle = NULL;
    if (chunks == NULL)
        return;
    for (size_t k = 0; chunks->kept != NULL && k < chunks->n_kept; k++)
        free(chunks->kept[k].bytes);
    for (size_t k = 0; k < chunks->n_scratch; k++)
        fx8_h5_scratch_clear(&chunks->scratch[k]);
    free(chunks->kept);
    free(chunks->scratch);
    free(chunks->items);
    pthread_mutex_destroy(&chunks->fetch);
    free(chunks);
}

/* --- reads by HDF5 ----------------------------------------------- */

static enum fx8_status read_by_library(const struct fx8_h5_chunks *chunks,
                                       const struct work *work,
                                       struct fx8_error *error)
{
    const struct fx8_h5_samples *samples = &chunks->samples;
    const int absent = MAX_RANK - chunks->rank;
    const hsize_t zero[MAX_RANK] = {0};
    const hsize_t *count = work->count + absent;
    FX8_H5_AUTO space = H5Dget_space(samples->dataset);
    FX8_H5_AUTO memory =
        H5Screate_simple(chunks->rank, work->memory + absent, NULL);
    if (space < 0 || memory < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, work->start + absent, NULL,
                            count, NULL) < 0 ||
        H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, count, NULL) <
            0 ||
        H5Dread(samples->dataset, samples->memory_type, memory, space,
                H5P_DEFAULT, work->buffer) < 0)
        return fail(chunks, work, NULL, error);
    return FX8_OK;
}

/* --- ranges of bytes --------------------------------------------- */

/* HDF5 reads again what cannot be read, to say why. */
static enum fx8_status read_range(const struct work *work, size_t n_threads,
                                  struct fx8_error *error)
{
    const struct fx8_h5_chunks *chunks = work->chunks;
    struct fx8_h5_box box = {.element_bytes = chunks->element_bytes};
    memcpy(box.extent, chunks->extent, sizeof box.extent);
    memcpy(box.start, work->start, sizeof box.start);
    memcpy(box.count, work->count, sizeof box.count);
    memcpy(box.memory, work->memory, sizeof box.memory);
    return fx8_h5_range_read(&chunks->range, &box, n_threads, work->buffer)
               ? FX8_OK
               : read_by_library(chunks, work, error);
}

/* --- chunk by chunk ---------------------------------------------- */

/* Elements [first, end) of a chunk that the read covers. */
static void intersect(const struct work *work, const struct item *item,
                      hsize_t first[MAX_RANK], hsize_t end[MAX_RANK])
{
    for (int axis = 0; axis < MAX_RANK; axis++) {
        const hsize_t length = work->chunks->length[axis];
        const hsize_t origin = item->chunk[axis] * length;
        const hsize_t start = work->start[axis];
        const hsize_t stop = start + work->count[axis];
        first[axis] = start > origin ? start - origin : 0;
        end[axis] = stop < origin + length ? stop - origin : length;
    }
}

/* Whether a later read may need the chunk: it was not read to its end in time,
 * or not over its full width. */
static bool is_left(const struct work *work, const struct item *item)
{
    const struct fx8_h5_chunks *chunks = work->chunks;
    hsize_t first[MAX_RANK], end[MAX_RANK];
    intersect(work, item, first, end);
    for (int axis = 0; axis < MAX_RANK; axis++) {
        const hsize_t origin = item->chunk[axis] * chunks->length[axis];
        const hsize_t left = chunks->extent[axis] - origin;
        if (end[axis] <
                (left < chunks->length[axis] ? left : chunks->length[axis]) ||
            (axis != chunks->time && first[axis] > 0))
            return true;
    }
    return false;
}

/* Copy the requested part of an unpacked chunk into the buffer. */
static void scatter(const struct work *work, const struct item *item,
                    const uint8_t *bytes)
{
    const struct fx8_h5_chunks *chunks = work->chunks;
    hsize_t first[MAX_RANK], end[MAX_RANK], to[MAX_RANK];
    intersect(work, item, first, end);
    for (int axis = 0; axis < MAX_RANK; axis++)
        to[axis] = item->chunk[axis] * chunks->length[axis] + first[axis] -
                   work->start[axis];
    size_t run = (size_t)(end[2] - first[2]);
    size_t n_rows = (size_t)(end[1] - first[1]);
    if (run == chunks->length[2] && run == work->memory[2]) {
        run *= n_rows; /* rows are contiguous on both sides */
        n_rows = 1;
    }
    const size_t element = chunks->element_bytes;
    for (hsize_t x = 0; x < end[0] - first[0]; x++)
        for (hsize_t y = 0; y < n_rows; y++) {
            const hsize_t source =
                ((first[0] + x) * chunks->length[1] + first[1] + y) *
                    chunks->length[2] +
                first[2];
            const hsize_t target =
                ((to[0] + x) * work->memory[1] + to[1] + y) * work->memory[2] +
                to[2];
            memcpy(work->buffer + (size_t)target * element,
                   bytes + (size_t)source * element, run * element);
        }
}

/* Fetch a chunk as stored.  Size and bytes are requested back to back, so that
 * HDF5 looks the chunk up once and both match, even if another process changes
 * the file. */
static bool fetch(struct fx8_h5_chunks *chunks, struct item *item,
                  uint32_t *filter_mask, struct fx8_h5_bytes *bytes)
{
    const hid_t dataset = chunks->samples.dataset;
    const int absent = MAX_RANK - chunks->rank;
    hsize_t offset[MAX_RANK];
    for (int axis = 0; axis < MAX_RANK; axis++)
        offset[axis] = item->chunk[axis] * chunks->length[axis];
    hsize_t n = 0;
    fx8_h5_quiet();
    pthread_mutex_lock(&chunks->fetch);
    if (H5Dget_chunk_storage_size(dataset, offset + absent, &n) < 0 || n == 0) {
        item->outcome = NOT_STORED;
    } else if (n > MOST_CHUNK + MOST_CHUNK / 8 ||
               !fx8_h5_bytes_resize(bytes, (size_t)n)) {
        item->outcome = DAMAGED;
        snprintf(item->fault, sizeof item->fault,
                 "a chunk stored in %" PRIu64
                 " bytes: expected at most 288 MiB, and memory for them",
                 (uint64_t)n);
    } else if (H5Dread_chunk(dataset, H5P_DEFAULT, offset + absent, filter_mask,
                             bytes->bytes) < 0) {
        struct fx8_error error;
        item->outcome = DAMAGED;
        fx8_h5_fail(&error, FX8_ERR_INPUT, "", "");
        snprintf(item->fault, sizeof item->fault, "a stored chunk: %.120s",
                 error.message + strlen(": : "));
    }
    pthread_mutex_unlock(&chunks->fetch);
    return item->outcome == DONE;
}

static void read_chunk(void *context, size_t number, size_t thread)
{
    struct work *work = context;
    struct fx8_h5_chunks *chunks = work->chunks;
    struct item *item = &chunks->items[number];
    if (item->unpacked != NULL) {
        scatter(work, item, item->unpacked);
        return;
    }
    struct fx8_h5_scratch *scratch = &chunks->scratch[thread];
    uint32_t filter_mask = 0;
    if (!fetch(chunks, item, &filter_mask, &scratch->in))
        return;
    if (!fx8_h5_pipeline_undo(&chunks->pipeline, filter_mask, scratch,
                              item->fault)) {
        item->outcome = DAMAGED;
        return;
    }
    scatter(work, item, scratch->in.bytes);
    if (item->is_wanted) {
        item->keep = scratch->in.bytes;
        scratch->in = (struct fx8_h5_bytes){NULL, 0, 0};
    }
}

/* Allocate memory for the chunks of a read and for its threads. */
static enum fx8_status make_room(struct fx8_h5_chunks *chunks, size_t n_items,
                                 size_t n_threads, struct fx8_error *error)
{
    void *memory = NULL;
    if (n_items > chunks->capacity) {
        FX8_TRY(fx8_allocate(n_items, sizeof *chunks->items, "a list of chunks",
                             &memory, error));
        free(chunks->items);
        chunks->items = memory;
        chunks->capacity = n_items;
    }
    if (n_threads > chunks->n_scratch) {
        FX8_TRY(fx8_allocate(n_threads, sizeof *chunks->scratch,
                             "unpacking chunks", &memory, error));
        if (chunks->n_scratch > 0)
            memcpy(memory, chunks->scratch,
                   chunks->n_scratch * sizeof *chunks->scratch);
        free(chunks->scratch);
        chunks->scratch = memory;
        chunks->n_scratch = n_threads;
    }
    return FX8_OK;
}

/* List the chunks that a read touches; within a column in time order. */
static enum fx8_status list_items(struct work *work, size_t n_threads,
                                  struct fx8_error *error)
{
    struct fx8_h5_chunks *chunks = work->chunks;
    hsize_t first[MAX_RANK], end[MAX_RANK], n_items = 1;
    size_t across[MAX_RANK];
    size_t step = 1;
    for (int axis = MAX_RANK - 1; axis >= 0; axis--) {
        const hsize_t length = chunks->length[axis];
        first[axis] = work->start[axis] / length;
        end[axis] = (work->start[axis] + work->count[axis] - 1) / length + 1;
        n_items *= end[axis] - first[axis];
        across[axis] = axis == chunks->time ? 0 : step;
        if (axis != chunks->time)
            step *= (size_t)((chunks->extent[axis] - 1) / length + 1);
    }
    FX8_TRY(make_room(chunks, (size_t)n_items, n_threads, error));
    chunks->n_items = 0;
    hsize_t at[MAX_RANK];
    for (at[0] = first[0]; at[0] < end[0]; at[0]++)
        for (at[1] = first[1]; at[1] < end[1]; at[1]++)
            for (at[2] = first[2]; at[2] < end[2]; at[2]++) {
                struct item *item = &chunks->items[chunks->n_items++];
                *item = (struct item){.chunk = {at[0], at[1], at[2]},
                                      .outcome = DONE};
                for (int axis = 0; axis < MAX_RANK; axis++)
                    item->column += across[axis] * (size_t)at[axis];
                if (item->column >= chunks->n_kept)
                    continue;
                const struct kept *kept = &chunks->kept[item->column];
                if (kept->bytes != NULL && kept->time_chunk == at[chunks->time])
                    item->unpacked = kept->bytes;
                item->is_wanted = item->unpacked == NULL &&
                                  at[chunks->time] + 1 == end[chunks->time] &&
                                  is_left(work, item);
            }
    return FX8_OK;
}

/* Drop chunks that were read to their end; keep the others. */
static void update_kept(const struct work *work)
{
    struct fx8_h5_chunks *chunks = work->chunks;
    for (size_t i = 0; i < chunks->n_items; i++) {
        struct item *item = &chunks->items[i];
        if (item->column >= chunks->n_kept)
            continue;
        struct kept *kept = &chunks->kept[item->column];
        if (item->keep != NULL ||
            (item->unpacked != NULL && item->unpacked == kept->bytes &&
             !is_left(work, item))) {
            free(kept->bytes);
            kept->bytes = item->keep;
            kept->time_chunk = item->chunk[chunks->time];
        }
    }
}

static enum fx8_status read_directly(struct work *work, size_t n_threads,
                                     struct fx8_error *error)
{
    struct fx8_h5_chunks *chunks = work->chunks;
    FX8_TRY(list_items(work, n_threads, error));
    fx8_parallel_for(chunks->n_items, n_threads, false, read_chunk, work);
    update_kept(work);
    const struct item *damaged = NULL;
    bool is_stored = true;
    for (size_t i = 0; i < chunks->n_items; i++) {
        is_stored = is_stored && chunks->items[i].outcome != NOT_STORED;
        if (damaged == NULL && chunks->items[i].outcome == DAMAGED)
            damaged = &chunks->items[i];
    }
    if (damaged != NULL)
        return fail(chunks, work, damaged->fault, error);
    return is_stored ? FX8_OK : read_by_library(chunks, work, error);
}

enum fx8_status fx8_h5_chunks_read(struct fx8_h5_chunks *chunks,
                                   size_t n_threads,
                                   const struct fx8_h5_part *part, void *buffer,
                                   struct fx8_error *error)
{
    const int absent = MAX_RANK - chunks->rank;
    struct work work = {.chunks = chunks,
                        .count = {1, 1, 1},
                        .memory = {1, 1, 1},
                        .buffer = buffer};
    for (int axis = 0; axis < chunks->rank; axis++) {
        const hsize_t start = part->start[axis], count = part->count[axis];
        work.start[axis + absent] = start;
        work.count[axis + absent] = count;
        work.memory[axis + absent] = part->memory[axis];
        if (count == 0 || start >= chunks->extent[axis + absent] ||
            count > chunks->extent[axis + absent] - start ||
            part->memory[axis] < count)
            return fx8_refuse(error, chunks->samples.path, chunks->samples.name,
                              "elements %" PRIu64 " and the next %" PRIu64
                              " of axis %d: expected 1 or more below %" PRIu64
                              " and room for them",
                              (uint64_t)start, (uint64_t)count, axis,
                              (uint64_t)chunks->extent[axis + absent]);
    }
    fx8_h5_quiet();
    n_threads = n_threads > 0 ? n_threads : 1;
    return chunks->is_direct  ? read_directly(&work, n_threads, error)
           : chunks->is_range ? read_range(&work, n_threads, error)
                              : read_by_library(chunks, &work, error);
}
