/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_markers.c -- see stream_private.h: finds runs of markers, which are
 * missing samples. */
#include "config/base/try.h"
#include "correlator/library/stream_private.h"

static bool is_marker(const struct fx8_stream *s, const int8_t *sample)
{
    const int8_t value = (int8_t)s->shape.marker.value;
    return sample[0] == value &&
           (s->shape.sample_size == 1 || sample[1] == value);
}

/* A row to search for markers; times are absolute. */
struct marker_row {
    const struct fx8_stream *stream;
    const int8_t *samples; /* starts at window_first */
};

static bool is_marker_at(const struct marker_row *row, int64_t t)
{
    const struct fx8_stream *s = row->stream;
    return is_marker(s, row->samples + (size_t)(t - s->window_first) *
                                           s->shape.sample_size);
}

/* First sample in [t, end) that is not a marker, or end. */
static int64_t markers_end(const struct marker_row *row, int64_t t, int64_t end)
{
    while (t < end && is_marker_at(row, t))
        t++;
    return t;
}

/* Start of the run of markers at the end of [first, t); t without such a run.
 */
static int64_t markers_begin(const struct marker_row *row, int64_t first,
                             int64_t t)
{
    while (t > first && is_marker_at(row, t - 1))
        t--;
    return t;
}

enum fx8_status fx8_stream_find_markers(struct fx8_stream *s, size_t input,
                                        int64_t first, int64_t end,
                                        struct fx8_error *error)
{
    const struct marker_row row = {s, fx8_stream_held(s, input)};
    const int64_t least = s->shape.marker.least_length;
    int64_t start = s->marker_start[input];
    int64_t at = markers_end(&row, first, end); /* end of the open run */
    if (at - start >= least && at > first)
        /* a run that was long enough before is noted up to `first` */
        FX8_TRY(fx8_spans_add(
            &s->gaps[input], first - start < least ? start : first, at, error));
    while (at < end) {
        /* sample `at` is not a marker */
        const int64_t probe = at + least < end ? at + least : end;
        if (probe < end && !is_marker_at(&row, probe)) {
            at = probe;
            continue;
        }
        start = markers_begin(&row, at + 1, probe);
        at = markers_end(&row, probe, end);
        if (at - start >= least)
            FX8_TRY(fx8_spans_add(&s->gaps[input], start, at, error));
    }
    s->marker_start[input] = start;
    return FX8_OK;
}

void fx8_stream_find_before(struct fx8_stream *s, const struct fx8_block *block)
{
    const int64_t block_end = block->first_sample + block->n_samples;
    const int64_t end =
        block_end < s->window_first ? block_end : s->window_first;
    const bool continues = block->first_sample <= s->seen_before;
    const int64_t first = continues ? s->seen_before : block->first_sample;
    if (end <= s->seen_before)
        return;
    for (size_t input = 0; input < s->shape.n_inputs; input++) {
        int64_t start = continues ? s->marker_start[input] : first;
        const int8_t *samples = block->samples + block->input_offset[input];
        for (int64_t t = first; t < end; t++)
            if (!is_marker(s, samples + (ptrdiff_t)(t - block->first_sample) *
                                            block->time_stride))
                start = t + 1;
        s->marker_start[input] = start;
    }
    s->seen_before = end;
}

void fx8_stream_begin_markers(struct fx8_stream *s)
{
    if (s->seen_before != s->window_first)
        for (size_t input = 0; input < s->shape.n_inputs; input++)
            s->marker_start[input] = s->window_first;
    s->has_begun = true;
}

int64_t fx8_stream_decided_end(const struct fx8_stream *s)
{
    int64_t end = s->window_end;
    if (s->has_ended)
        return end;
    if (s->shape.blanking.level > 0) /* margins of samples not yet seen */
        end -= s->shape.blanking.margin;
    if (!s->shape.marker.is_used)
        return end;
    for (size_t input = 0; input < s->shape.n_inputs; input++) {
        const int64_t start = s->marker_start[input];
        if (s->window_end - start < s->shape.marker.least_length && start < end)
            end = start;
    }
    return end;
}
