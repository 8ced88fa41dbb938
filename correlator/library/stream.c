/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/align.h"
#include "correlator/library/stream_private.h"

/* Samples in a row: room for most_spectra even if the last samples are held
 * back, because later ones may make them missing.  SIZE_MAX on overflow. */
static size_t row_samples(const struct fx8_stream_shape *shape)
{
    const size_t columns =
        fx8_product(shape->most_spectra - 1, (size_t)shape->step, 1, 1);
    const size_t extra =
        (size_t)(shape->window + 2 * shape->margin +
                 fx8_missing_reach(&shape->marker, &shape->blanking));
    return columns > (size_t)INT64_MAX - extra ? SIZE_MAX : columns + extra;
}

/* Bytes from row to row, with one extra cache line: rows must not be a power of
 * two apart. */
static size_t row_bytes(const struct fx8_stream_shape *shape)
{
    const size_t bytes =
        fx8_product(row_samples(shape), shape->sample_size, 1, 1);
    return bytes > SIZE_MAX - 4 * FX8_ALIGNMENT
               ? SIZE_MAX
               : fx8_round_up(bytes, FX8_ALIGNMENT) + FX8_ALIGNMENT;
}

size_t fx8_stream_size(const struct fx8_stream_shape *shape)
{
    return fx8_product(shape->has_two ? 2 : 1, shape->n_inputs,
                       row_bytes(shape), 1);
}

/* Most spectra that can be ready. */
static size_t most_ready(const struct fx8_stream_shape *shape)
{
    const int64_t beyond = (int64_t)row_samples(shape) - shape->window;
    return (size_t)((beyond - 2 * shape->margin) / shape->step) + 1;
}

/* Hold nothing: the next sample is `first`.  Margins around earlier samples may
 * reach beyond it. */
static void hold_nothing(struct fx8_stream *s, int64_t first)
{
    s->window_first = s->window_end = first;
    for (size_t list = 0; list <= s->shape.n_inputs; list++)
        fx8_spans_drop(&s->gaps[list], first);
    for (size_t input = 0; input < s->shape.n_inputs; input++)
        s->marker_start[input] = first;
}

void fx8_stream_restart(struct fx8_stream *s, int64_t spectrum)
{
    s->samples = s->memory;
    s->row_stride = row_bytes(&s->shape);
    s->lender = NULL;
    s->has_ended = s->has_begun = false;
    s->seen_before = -1;
    for (size_t list = 0; list <= s->shape.n_inputs; list++)
        s->gaps[list].n = 0;
    hold_nothing(s,
                 s->first_sample + spectrum * s->shape.step - s->shape.margin);
}

enum fx8_status fx8_stream_open(const struct fx8_stream_shape *shape,
                                int64_t first_sample,
                                struct fx8_stream **stream,
                                struct fx8_error *error)
{
    *stream = NULL;
    FX8_AUTO(fx8_stream_close) struct fx8_stream *s = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *s, "stream", &s, error));
    s->shape = *shape;
    s->first_sample = first_sample;
    s->capacity = (int64_t)row_samples(shape);
    const size_t n = shape->n_inputs;
    const struct fx8_array arrays[] = {
        {&s->memory, fx8_stream_size(shape), 1},
        FX8_ITEMS(s->gaps, n + 1),
        FX8_ITEMS(s->marker_start, n),
        {&s->shifts, fx8_product(shape->n_delays, most_ready(shape), 1, 1),
         shape->tracker != NULL ? sizeof *s->shifts : 0},
    };
    FX8_TRY(fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays,
                                "samples", error));
    fx8_stream_restart(s, 0);
    *stream = s;
    s = NULL;
    return FX8_OK;
}

/* Copy the held samples of every input to the start of other rows. */
static void copy_held(const struct fx8_stream *s, int8_t *to, size_t stride)
{
    const size_t bytes =
        (size_t)(s->window_end - s->window_first) * s->shape.sample_size;
    for (size_t input = 0; input < s->shape.n_inputs; input++)
        memcpy(to + input * stride, fx8_stream_held(s, input), bytes);
}

enum fx8_status fx8_stream_copy(const struct fx8_stream *other,
                                struct fx8_stream **stream,
                                struct fx8_error *error)
{
    struct fx8_stream_shape shape = other->shape;
    shape.has_two = false; /* nothing reads rows taken from a copy */
    FX8_AUTO(fx8_stream_close) struct fx8_stream *s = NULL;
    *stream = NULL;
    FX8_TRY(fx8_stream_open(&shape, other->first_sample, &s, error));
    const size_t n_inputs = other->shape.n_inputs;
    s->window_first = other->window_first;
    s->window_end = other->window_end;
    s->has_ended = other->has_ended;
    s->has_begun = other->has_begun;
    s->seen_before = other->seen_before;
    copy_held(other, s->samples, s->row_stride);
    memcpy(s->marker_start, other->marker_start,
           n_inputs * sizeof *s->marker_start);
    for (size_t list = 0; list <= n_inputs; list++)
        for (size_t i = 0; i < other->gaps[list].n; i++) {
            const struct fx8_span *span = &other->gaps[list].items[i];
            FX8_TRY(
                fx8_spans_add(&s->gaps[list], span->first, span->end, error));
        }
    *stream = s;
    s = NULL;
    return FX8_OK;
}

void fx8_stream_close(struct fx8_stream **stream)
{
    struct fx8_stream *s = *stream;
    if (s == NULL)
        return;
    if (s->gaps != NULL)
        for (size_t list = 0; list <= s->shape.n_inputs; list++)
            free(s->gaps[list].items);
    free(s->gaps);
    free(s->marker_start);
    free(s->shifts);
    free(s->memory);
    free(s);
    *stream = NULL;
}

const struct fx8_stream_shape *fx8_stream_shape(const struct fx8_stream *stream)
{
    return &stream->shape;
}

int64_t fx8_stream_next_sample(const struct fx8_stream *stream)
{
    return stream->window_end;
}

const int8_t *fx8_stream_row(const struct fx8_stream *stream, size_t input)
{
    return fx8_stream_held(stream, input) +
           (size_t)stream->shape.margin * stream->shape.sample_size;
}

const int8_t *fx8_stream_window(const struct fx8_stream *stream, size_t input,
                                size_t spectrum)
{
    return fx8_stream_held(stream, input) +
           fx8_stream_window_begin(stream, input, spectrum) *
               stream->shape.sample_size;
}

int64_t fx8_stream_spectrum(const struct fx8_stream *stream)
{
    return (stream->window_first + stream->shape.margin -
            stream->first_sample) /
           stream->shape.step;
}

size_t fx8_stream_row_stride(const struct fx8_stream *stream)
{
    return stream->row_stride;
}

void *fx8_stream_memory(const struct fx8_stream *stream)
{
    return stream->memory;
}

/* --- taking samples ------------------------------------------------------- */

/* Bound of every index, so that sums of a few cannot overflow. */
#define FAR_SAMPLE (INT64_MAX / 4)

static enum fx8_status check_missing(const struct fx8_stream *s,
                                     const struct fx8_gap *gap,
                                     struct fx8_error *error)
{
    if (gap->input < -1 || gap->input >= (int64_t)s->shape.n_inputs)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "block: missing stretch of input %lld: expected "
                        "-1 to %zu",
                        (long long)gap->input, s->shape.n_inputs - 1);
    if (gap->n_samples < 0 || gap->first_sample < -FAR_SAMPLE ||
        gap->first_sample > FAR_SAMPLE)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "block: missing stretch of %lld samples from %lld: "
                        "expected a range within 2^61",
                        (long long)gap->n_samples,
                        (long long)gap->first_sample);
    return FX8_OK;
}

enum fx8_status fx8_stream_check(const struct fx8_stream *stream,
                                 const struct fx8_block *block,
                                 struct fx8_error *error)
{
    if (block == NULL)
        return fx8_fail(error, FX8_ERR_USAGE, "block: NULL: expected one");
    if (block->n_samples < 0 || block->first_sample < 0 ||
        block->first_sample > FAR_SAMPLE || block->n_samples > FAR_SAMPLE)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "block: %lld samples from %lld: expected an ascending "
                        "range from 0",
                        (long long)block->n_samples,
                        (long long)block->first_sample);
    if (block->n_samples > 0 &&
        (block->samples == NULL || block->input_offset == NULL))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "block: %s: NULL: expected %lld samples",
                        block->samples == NULL ? "samples" : "input_offset",
                        (long long)block->n_samples);
    if (block->in_place != NULL &&
        (block->in_place != block->samples || block->room < 0 ||
         block->room > FAR_SAMPLE))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "block: in_place: room for %lld samples: expected "
                        "samples of the block, and room from 0",
                        (long long)block->room);
    if (block->n_missing > 0 && block->missing == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "block: missing: NULL: expected %zu stretches",
                        block->n_missing);
    for (size_t i = 0; i < block->n_missing; i++)
        FX8_TRY(check_missing(stream, &block->missing[i], error));
    return FX8_OK;
}

/* Append n samples of a block that has them. */
static void gather(const struct fx8_stream *s, const struct fx8_block *block,
                   int64_t n_samples)
{
    struct fx8_block part = *block;
    part.samples +=
        (ptrdiff_t)(s->window_end - block->first_sample) * block->time_stride;
    part.n_samples = n_samples;
    const size_t column = (size_t)(s->window_end - s->window_first);
    fx8_align(&s->shape, &part, s->samples + column * s->shape.sample_size,
              s->row_stride);
}

/* Bytes from row to row of a block whose rows are contiguous, with room in
 * front and at equal distances; else 0. */
static size_t block_stride(const struct fx8_stream *s,
                           const struct fx8_block *block)
{
    const size_t size = s->shape.sample_size;
    const ptrdiff_t least =
        (ptrdiff_t)((size_t)(block->n_samples + block->room) * size);
    if (block->time_stride != (ptrdiff_t)size)
        return 0;
    const ptrdiff_t *offset = block->input_offset;
    const ptrdiff_t stride =
        s->shape.n_inputs > 1 ? offset[1] - offset[0] : least;
    for (size_t input = 1; input < s->shape.n_inputs; input++)
        if (offset[input] - offset[input - 1] != stride)
            return 0;
    return stride < least ? 0 : (size_t)stride;
}

/* First sample of a block that may be used in place; NULL for other blocks. */
static int8_t *first_place(const struct fx8_block *block)
{
    return block->in_place == NULL || block->n_samples == 0
               ? NULL
               : block->in_place + block->input_offset[0];
}

bool fx8_stream_is_in(const struct fx8_stream *stream,
                      const struct fx8_block *block)
{
    return stream->lender != NULL && stream->lender == first_place(block) &&
           stream->lent_first == block->first_sample;
}

bool fx8_stream_may_borrow(const struct fx8_stream *s,
                           const struct fx8_block *block)
{
    return fx8_stream_is_in(s, block) ||
           (first_place(block) != NULL &&
            block->first_sample <= s->window_end &&
            block->first_sample - s->window_first <= block->room &&
            block_stride(s, block) > 0);
}

/* Continue in the block's memory: copy the held samples in front of its next
 * sample. */
static void borrow(struct fx8_stream *s, const struct fx8_block *block)
{
    if (fx8_stream_is_in(s, block))
        return;
    int8_t *samples =
        first_place(block) +
        (ptrdiff_t)(s->window_first - block->first_sample) * block->time_stride;
    const size_t stride = block_stride(s, block);
    copy_held(s, samples, stride);
    s->samples = samples;
    s->row_stride = stride;
    s->lender = first_place(block);
    s->lent_first = block->first_sample;
}

const int8_t *fx8_stream_lender(const struct fx8_stream *stream)
{
    return stream->lender;
}

void fx8_stream_keep(struct fx8_stream *s)
{
    if (s->lender == NULL)
        return;
    copy_held(s, s->memory, row_bytes(&s->shape));
    s->samples = s->memory;
    s->row_stride = row_bytes(&s->shape);
    s->lender = NULL;
}

/* Note the block's gaps, cut to [first, end). */
static enum fx8_status note_missing(struct fx8_stream *s,
                                    const struct fx8_block *block,
                                    int64_t first, int64_t end,
                                    struct fx8_error *error)
{
    for (size_t i = 0; i < block->n_missing; i++) {
        const struct fx8_gap *gap = &block->missing[i];
        const int64_t from =
            gap->first_sample > first ? gap->first_sample : first;
        /* in this form a run up to INT64_MAX cannot overflow */
        const int64_t to = gap->n_samples > end - gap->first_sample
                               ? end
                               : gap->first_sample + gap->n_samples;
        if (from >= to)
            continue;
        const size_t list =
            gap->input < 0 ? s->shape.n_inputs : (size_t)gap->input;
        FX8_TRY(fx8_spans_add(&s->gaps[list], from, to, error));
    }
    return FX8_OK;
}

/* Samples [window_end, window_end + n_samples) are in the rows: count them as
 * held, and find markers and samples beyond the blanking level. */
static enum fx8_status accept(struct fx8_stream *s, int64_t n_samples,
                              bool is_gap, struct fx8_error *error)
{
    const int64_t first = s->window_end;
    s->window_end += n_samples;
    if (!is_gap)
        FX8_TRY(fx8_stream_find_blanks(s, first, error));
    if (!s->shape.marker.is_used)
        return FX8_OK;
    for (size_t input = 0; input < s->shape.n_inputs; input++) {
        if (is_gap) { /* a gap ends every run of markers */
            s->marker_start[input] = s->window_end;
            continue;
        }
        FX8_TRY(fx8_stream_find_markers(s, input, first, s->window_end, error));
    }
    return FX8_OK;
}

static enum fx8_status append_gap(struct fx8_stream *s, int64_t n_samples,
                                  struct fx8_error *error)
{
    FX8_TRY(fx8_spans_add(&s->gaps[s->shape.n_inputs], s->window_end,
                          s->window_end + n_samples, error));
    const size_t size = s->shape.sample_size;
    const size_t column = (size_t)(s->window_end - s->window_first);
    for (size_t input = 0; input < s->shape.n_inputs; input++)
        memset(s->samples + input * s->row_stride + column * size, 0,
               (size_t)n_samples * size);
    return accept(s, n_samples, true, error);
}

/* Whether every held sample is missing for all inputs. */
static bool holds_nothing(const struct fx8_stream *s)
{
    const struct fx8_spans *list = &s->gaps[s->shape.n_inputs];
    if (s->window_end == s->window_first)
        return true;
    return list->n > 0 && list->items[list->n - 1].first <= s->window_first &&
           list->items[list->n - 1].end == s->window_end;
}

int64_t fx8_stream_skip(struct fx8_stream *s, int64_t sample, int64_t most,
                        int64_t unit)
{
    const int64_t step = s->shape.step;
    if (sample <= s->window_end || !holds_nothing(s))
        return 0;
    /* wherever its window is shifted, a spectrum dropped begins in the gap */
    int64_t n = (sample - s->window_first - 2 * s->shape.margin) / step;
    n = n < most ? n - n % unit : most;
    if (n * step < s->window_end - s->window_first || n == 0)
        return 0;
    hold_nothing(s, s->window_first + n * step);
    return n;
}

/* Search a block's samples before the stream's first for what may make that one
 * missing. */
static enum fx8_status begin(struct fx8_stream *s,
                             const struct fx8_block *block,
                             struct fx8_error *error)
{
    if (block->first_sample < s->window_first && block->n_samples > 0) {
        FX8_TRY(fx8_stream_find_blanks_before(s, block, error));
        if (s->shape.marker.is_used)
            fx8_stream_find_before(s, block);
    }
    if (block->first_sample + block->n_samples > s->window_first)
        fx8_stream_begin_markers(s);
    return FX8_OK;
}

enum fx8_status fx8_stream_append(struct fx8_stream *s,
                                  const struct fx8_block *block,
                                  struct fx8_error *error)
{
    if (!s->has_begun)
        FX8_TRY(begin(s, block, error));
    int64_t room = s->capacity - (s->window_end - s->window_first);
    if (block->first_sample > s->window_end) {
        const int64_t gap = block->first_sample - s->window_end;
        const int64_t taken = gap < room ? gap : room;
        if (taken > 0)
            FX8_TRY(append_gap(s, taken, error));
        room -= taken;
    }
    const int64_t rest = block->first_sample + block->n_samples - s->window_end;
    const int64_t taken = rest < room ? rest : room;
    if (taken <= 0)
        return FX8_OK;
    if (fx8_stream_may_borrow(s, block))
        borrow(s, block);
    else
        gather(s, block, taken);
    FX8_TRY(
        note_missing(s, block, s->window_end, s->window_end + taken, error));
    return accept(s, taken, false, error);
}

void fx8_stream_end(struct fx8_stream *stream)
{
    stream->has_ended = true;
}

/* --- handing out spectra ----------------------------------------- */

size_t fx8_stream_ready(const struct fx8_stream *stream)
{
    const int64_t held = fx8_stream_decided_end(stream) - stream->window_first;
    const int64_t needed = stream->shape.window + 2 * stream->shape.margin;
    return held < needed ? 0
                         : (size_t)((held - needed) / stream->shape.step + 1);
}

/* Move the samples behind the taken spectra to the start of the rows; with two
 * sets, of the other set. */
static void move_rest(struct fx8_stream *s, const int8_t *from, size_t bytes)
{
    if (s->shape.has_two)
        s->samples = s->samples == s->memory
                         ? s->memory + s->shape.n_inputs * s->row_stride
                         : s->memory;
    for (size_t input = 0; input < s->shape.n_inputs; input++)
        memmove(s->samples + input * s->row_stride,
                from + input * s->row_stride, bytes);
}

void fx8_stream_take(struct fx8_stream *s, size_t n_spectra)
{
    const int64_t shift = (int64_t)n_spectra * s->shape.step;
    const size_t size = s->shape.sample_size;
    int8_t *rest = s->samples + (size_t)shift * size;
    if (s->lender != NULL)
        s->samples = rest;
    else
        move_rest(s, rest,
                  (size_t)(s->window_end - s->window_first - shift) * size);
    s->window_first += shift;
    for (size_t list = 0; list <= s->shape.n_inputs; list++)
        fx8_spans_drop(&s->gaps[list], s->window_first);
}
