/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_private.h -- what the files of the stream share. */
#ifndef FX8_CORRELATOR_LIBRARY_STREAM_PRIVATE_H
#define FX8_CORRELATOR_LIBRARY_STREAM_PRIVATE_H

#include "correlator/library/spans.h"
#include "correlator/library/stream.h"

struct fx8_stream {
    struct fx8_stream_shape shape;
    int8_t *memory;       /* [1 or 2 sets][n_inputs][row_stride] */
    int8_t *samples;      /* column 0 of what is held: the set in use, or the
                             memory of a block */
    size_t row_stride;    /* bytes */
    const int8_t *lender; /* its first sample; NULL: the stream's own memory */
    int64_t lent_first;   /* its first sample */
    int64_t capacity;     /* samples per row */
    int64_t window_first; /* absolute index of column 0 */
    int64_t window_end;   /* absolute index behind the last sample held */
    bool has_ended;
    struct fx8_spans *runs; /* [n_inputs + 1]; the last: all inputs */
    int64_t *marker_start;  /* [n_inputs] start of the run of markers that the
                               samples held end with; window_end: none */
    bool has_begun;         /* a sample has been taken */
    int64_t seen_before;    /* end of the samples before the first that were
                               looked at for markers; -1: none */
};

/** Extend the input's run of markers over samples [first, end), which the row
 *  now holds; runs that are long enough are missing.  Of every marker_run
 *  samples such a run covers one: the others are looked at only around it. */
enum fx8_status fx8_stream_find_markers(struct fx8_stream *stream, size_t input,
                                        int64_t first, int64_t end,
                                        struct fx8_error *error);

/** A run of markers may begin before the first sample of the stream: follow it
 *  through the samples of the block that come before and were not seen yet. */
void fx8_stream_look_before(struct fx8_stream *stream,
                            const struct fx8_block *block);

/** The first sample is about to be taken: forget a run that does not reach it.
 */
void fx8_stream_begin_markers(struct fx8_stream *stream);

/** Absolute index up to which every sample is known to be data or missing. */
int64_t fx8_stream_decided_end(const struct fx8_stream *stream);

#endif
