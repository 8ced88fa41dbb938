/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_private.h -- the stream's state, shared by stream.c, stream_markers.c,
 * stream_blanks.c and stream_validity.c. */
#ifndef FX8_CORRELATOR_LIBRARY_STREAM_PRIVATE_H
#define FX8_CORRELATOR_LIBRARY_STREAM_PRIVATE_H

#include "correlator/library/spans.h"
#include "correlator/library/stream.h"

struct fx8_stream {
    struct fx8_stream_shape shape;
    int8_t *memory;       /* [1 or 2 sets][n_inputs][row_stride] */
    int8_t *samples;      /* column 0 of the held samples: in the set in use, or
                             in a borrowed block */
    size_t row_stride;    /* bytes */
    const int8_t *lender; /* first sample of the borrowed block; NULL: none */
    int64_t lent_first;   /* absolute index of that sample */
    int64_t capacity;     /* samples per row */
    int64_t first_sample; /* of spectrum 0, unshifted */
    int64_t window_first; /* absolute index of column 0 */
    int64_t window_end;   /* absolute index behind the last sample held */
    bool has_ended;
    int32_t *shifts;  /* [n_delays][n_shifted], of the first ready spectra */
    size_t n_shifted; /* spectra of the latest fx8_stream_validity() */
    struct fx8_spans *gaps; /* [n_inputs + 1]; the last: all inputs */
    int64_t *marker_start;  /* [n_inputs] start of the run of markers at the
                               end of the held samples; window_end: none */
    bool has_begun;         /* a sample has been appended */
    int64_t seen_before;    /* end of the samples before the stream's first that
                               were searched for markers; -1: none */
};

/** Held samples of an input, from window_first on. */
static inline const int8_t *fx8_stream_held(const struct fx8_stream *stream,
                                            size_t input)
{
    return stream->samples + input * stream->row_stride;
}

/** Column of the first sample of a spectrum's window. */
static inline size_t fx8_stream_window_begin(const struct fx8_stream *stream,
                                             size_t input, size_t spectrum)
{
    const struct fx8_stream *s = stream;
    int64_t begin = (int64_t)spectrum * s->shape.step;
    if (s->shape.tracker != NULL)
        begin += s->shape.margin +
                 s->shifts[input % s->shape.n_delays * s->n_shifted + spectrum];
    return (size_t)begin;
}

/** Find the input's marker runs in samples [first, end), just appended to the
 *  row, and note those that are long enough as missing.  Such a run contains at
 *  least one of every least_length samples, so only those are tested, and their
 *  neighbours if they are markers. */
enum fx8_status fx8_stream_find_markers(struct fx8_stream *stream, size_t input,
                                        int64_t first, int64_t end,
                                        struct fx8_error *error);

/** Search the block's samples before the stream's first for a run of markers
 *  that begins there; samples searched already are skipped. */
void fx8_stream_find_before(struct fx8_stream *stream,
                            const struct fx8_block *block);

/** Called before the first sample is appended: forget a run that does not reach
 *  it. */
void fx8_stream_begin_markers(struct fx8_stream *stream);

/** Find the samples from `first` on, just appended, that are beyond the
 * blanking level, by their recorded values; note them and their margins as
 * missing. */
enum fx8_status fx8_stream_find_blanks(struct fx8_stream *stream, int64_t first,
                                       struct fx8_error *error);

/** The same in the block's samples before the stream's first, as far as their
 *  margins reach it. */
enum fx8_status fx8_stream_find_blanks_before(struct fx8_stream *stream,
                                              const struct fx8_block *block,
                                              struct fx8_error *error);

/** Absolute index up to which every sample is known to be data or missing. */
int64_t fx8_stream_decided_end(const struct fx8_stream *stream);

#endif
