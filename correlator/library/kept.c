/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/kept.h"

/* Small blocks share memory for at least this many bytes of samples, and this
 * many samples. */
#define LEAST_BYTES   ((size_t)64 << 10)
#define LEAST_SAMPLES ((size_t)256)

struct fx8_kept_block {
    struct fx8_kept_block *next;
    struct fx8_stream *stream; /* step and window 1: owns the samples */
    size_t bytes;
    ptrdiff_t *input_offset;
    struct fx8_gap *missing;
    struct fx8_block block;
};

static int64_t end_of(const struct fx8_kept_block *kept)
{
    return kept->block.first_sample + kept->block.n_samples;
}

static void close_block(struct fx8_kept_block **block)
{
    if (*block == NULL)
        return;
    fx8_stream_close(&(*block)->stream);
    free((*block)->input_offset);
    free((*block)->missing);
    free(*block);
}

static void drop_first(struct fx8_kept *kept)
{
    struct fx8_kept_block *first = kept->first;
    kept->first = first->next;
    if (kept->first == NULL)
        kept->last = NULL;
    kept->cursor = kept->first;
    close_block(&first);
}

void fx8_kept_clear(struct fx8_kept *kept)
{
    while (kept->first != NULL)
        drop_first(kept);
    kept->bytes = 0;
}

bool fx8_kept_is_over(const struct fx8_kept *kept)
{
    return kept->bytes > kept->limit;
}

/* Shape of a stream for n samples or more. */
static struct fx8_stream_shape shape_for(const struct fx8_kept *kept, size_t n)
{
    struct fx8_stream_shape shape = kept->shape;
    const size_t least = LEAST_BYTES / shape.n_inputs / shape.sample_size;
    shape.step = shape.window = 1;
    shape.tracker = NULL;
    shape.margin = 0;
    shape.most_spectra = n > least ? n : least;
    if (shape.most_spectra < LEAST_SAMPLES)
        shape.most_spectra = LEAST_SAMPLES;
    shape.has_two = shape.marker.is_used = false;
    shape.blanking.level = 0;
    return shape;
}

/* Count bytes; past the limit, drop all blocks. */
static void count(struct fx8_kept *kept, size_t bytes)
{
    kept->bytes =
        bytes > SIZE_MAX - kept->bytes ? SIZE_MAX : kept->bytes + bytes;
    if (fx8_kept_is_over(kept))
        while (kept->first != NULL)
            drop_first(kept);
    else if (kept->last != NULL)
        kept->last->bytes += bytes;
}

/* Append an empty block for samples from `first` on. */
static enum fx8_status open_block(struct fx8_kept *kept,
                                  const struct fx8_stream_shape *shape,
                                  int64_t first, struct fx8_error *error)
{
    FX8_AUTO(close_block) struct fx8_kept_block *added = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *added, "samples", &added, error));
    FX8_TRY(fx8_allocate(shape->n_inputs, sizeof *added->input_offset,
                         "samples", &added->input_offset, error));
    FX8_TRY(fx8_stream_open(shape, first, &added->stream, error));
    for (size_t i = 0; i < shape->n_inputs; i++)
        added->input_offset[i] =
            (ptrdiff_t)(i * fx8_stream_row_stride(added->stream));
    added->block = (struct fx8_block){
        .samples = fx8_stream_row(added->stream, 0),
        .input_offset = added->input_offset,
        .time_stride = (ptrdiff_t)shape->sample_size,
        .first_sample = first,
    };
    if (kept->last == NULL)
        kept->first = kept->cursor = added;
    else
        kept->last->next = added;
    kept->last = added;
    added = NULL;
    return FX8_OK;
}

static bool touches(const struct fx8_gap *gap, int64_t first, int64_t end)
{
    return gap->first_sample < end &&
           gap->n_samples > first - gap->first_sample;
}

/* Keep the missing stretches of a block that overlap [first, end). */
static enum fx8_status add_missing(struct fx8_kept *kept,
                                   const struct fx8_block *block, int64_t first,
                                   int64_t end, struct fx8_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < block->n_missing; i++)
        n += touches(&block->missing[i], first, end);
    if (n == 0)
        return FX8_OK;
    count(kept, n * sizeof(struct fx8_gap));
    struct fx8_kept_block *last = kept->last;
    if (last == NULL)
        return FX8_OK;
    struct fx8_gap *grown =
        realloc(last->missing, (last->block.n_missing + n) * sizeof *grown);
    if (grown == NULL)
        return fx8_no_memory("missing stretches", error);
    last->missing = grown;
    last->block.missing = grown;
    for (size_t i = 0; i < block->n_missing; i++)
        if (touches(&block->missing[i], first, end))
            grown[last->block.n_missing++] = block->missing[i];
    return FX8_OK;
}

enum fx8_status fx8_kept_add(struct fx8_kept *kept,
                             const struct fx8_block *block, int64_t first,
                             struct fx8_error *error)
{
    const int64_t end = block->first_sample + block->n_samples;
    struct fx8_block read = *block;
    read.in_place = NULL;
    read.n_missing = 0;
    while (first < end) {
        const bool is_over = fx8_kept_is_over(kept);
        if (first != kept->end || first == kept->room_end ||
            (kept->last == NULL && !is_over)) {
            const struct fx8_stream_shape shape =
                shape_for(kept, (size_t)(end - first));
            kept->room_end = first + (int64_t)shape.most_spectra;
            if (!is_over)
                FX8_TRY(open_block(kept, &shape, first, error));
            count(kept, fx8_stream_size(&shape));
        }
        kept->end = end < kept->room_end ? end : kept->room_end;
        if (kept->last != NULL) {
            FX8_TRY(fx8_stream_append(kept->last->stream, &read, error));
            kept->last->block.n_samples =
                kept->end - kept->last->block.first_sample;
        }
        FX8_TRY(add_missing(kept, block, first, kept->end, error));
        first = kept->end;
    }
    return FX8_OK;
}

const struct fx8_block *fx8_kept_at(struct fx8_kept *kept, int64_t sample)
{
    if (kept->cursor == NULL || kept->cursor->block.first_sample > sample)
        kept->cursor = kept->first;
    while (kept->cursor != NULL && end_of(kept->cursor) <= sample)
        kept->cursor = kept->cursor->next;
    return kept->cursor == NULL ? NULL : &kept->cursor->block;
}

void fx8_kept_drop(struct fx8_kept *kept, int64_t sample)
{
    while (kept->first != NULL && end_of(kept->first) <= sample) {
        kept->bytes -= kept->first->bytes;
        drop_first(kept);
    }
}
