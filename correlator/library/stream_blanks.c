/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_blanks.c -- see stream_private.h: finds samples beyond the blanking
 * level, which count as missing with the margin around them. */
#include <stdatomic.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/stream_private.h"

/* Bytes to test at a time: nearly always, none is beyond the level. */
#define CHUNK ((size_t)256)

int64_t fx8_missing_reach(const struct fx8_marker *marker,
                          const struct fx8_blanking *blanking)
{
    const int64_t run = marker->is_used ? marker->least_length - 1 : 0;
    const int64_t margin = blanking->level > 0 ? blanking->margin : 0;
    return run > margin ? run : margin;
}

/* 1 if a value is below -level or above level; level is 1 .. 127. */
static inline unsigned is_beyond(int8_t value, unsigned level)
{
    return (uint8_t)((unsigned)(int)value + level) > 2 * level;
}

static bool has_beyond(const int8_t *values, size_t n, unsigned level)
{
    unsigned found = 0;
    for (size_t k = 0; k < n; k++)
        found |= is_beyond(values[k], level);
    return found != 0;
}

/* The stretch that is being found: samples beyond the level, with margins that
 * overlap or touch. */
struct blank {
    const struct fx8_blanking *blanking;
    struct fx8_spans *spans;
    struct fx8_span open; /* empty: none */
};

static enum fx8_status end_blank(struct blank *blank, struct fx8_error *error)
{
    return blank->open.end == blank->open.first
               ? FX8_OK
               : fx8_spans_add(blank->spans, blank->open.first, blank->open.end,
                               error);
}

/* Sample t is beyond the level. */
static enum fx8_status add_beyond(struct blank *blank, int64_t t,
                                  struct fx8_error *error)
{
    const int64_t margin = blank->blanking->margin;
    if (blank->open.end == blank->open.first || t - margin > blank->open.end) {
        FX8_TRY(end_blank(blank, error));
        blank->open.first = t - margin;
    }
    blank->open.end = t + margin + 1;
    return FX8_OK;
}

/* Search samples [first, end) of an input; that of index t is at
 * samples + (t - first) stride. */
static enum fx8_status search(struct fx8_stream *s, size_t input,
                              const int8_t *samples, ptrdiff_t stride,
                              int64_t first, int64_t end,
                              struct fx8_error *error)
{
    const size_t size = s->shape.sample_size;
    const unsigned level = (unsigned)s->shape.blanking.level;
    const bool is_row = stride == (ptrdiff_t)size;
    const int64_t step = is_row ? (int64_t)(CHUNK / size) : 1;
    struct blank blank = {&s->shape.blanking, &s->gaps[input], {0, 0}};
    for (int64_t at = first; at < end; at += step) {
        const int64_t stop = end - at < step ? end : at + step;
        const int8_t *chunk = samples + (ptrdiff_t)(at - first) * stride;
        if (!has_beyond(chunk, (size_t)(stop - at) * size, level))
            continue;
        for (int64_t t = at; t < stop; t++)
            if (has_beyond(chunk + (ptrdiff_t)(t - at) * stride, size, level))
                FX8_TRY(add_beyond(&blank, t, error));
    }
    return end_blank(&blank, error);
}

struct rows {
    struct fx8_stream *stream;
    int64_t first;
    atomic_bool has_failed;
};

static void search_row(void *context, size_t input, size_t thread)
{
    (void)thread;
    struct rows *rows = context;
    struct fx8_stream *s = rows->stream;
    const size_t size = s->shape.sample_size;
    const int8_t *samples = fx8_stream_held(s, input) +
                            (size_t)(rows->first - s->window_first) * size;
    if (search(s, input, samples, (ptrdiff_t)size, rows->first, s->window_end,
               NULL) != FX8_OK)
        atomic_store(&rows->has_failed, true);
}

enum fx8_status fx8_stream_find_blanks(struct fx8_stream *s, int64_t first,
                                       struct fx8_error *error)
{
    struct rows rows = {.stream = s, .first = first};
    if (s->shape.blanking.level == 0)
        return FX8_OK;
    fx8_parallel_for(s->shape.n_inputs, s->shape.threads.count,
                     s->shape.threads.pin, search_row, &rows);
    return atomic_load(&rows.has_failed)
               ? fx8_no_memory("missing stretches", error)
               : FX8_OK;
}

enum fx8_status fx8_stream_find_blanks_before(struct fx8_stream *s,
                                              const struct fx8_block *block,
                                              struct fx8_error *error)
{
    const int64_t block_end = block->first_sample + block->n_samples;
    const int64_t end =
        block_end < s->window_first ? block_end : s->window_first;
    const int64_t reach = s->window_first - s->shape.blanking.margin;
    const int64_t first =
        block->first_sample > reach ? block->first_sample : reach;
    if (s->shape.blanking.level == 0 || first >= end)
        return FX8_OK;
    for (size_t input = 0; input < s->shape.n_inputs; input++)
        FX8_TRY(search(s, input,
                       block->samples + block->input_offset[input] +
                           (ptrdiff_t)(first - block->first_sample) *
                               block->time_stride,
                       block->time_stride, first, end, error));
    return FX8_OK;
}
