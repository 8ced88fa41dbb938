/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_validity.c -- see stream.h: which spectra are valid, and which of them
 * are not all zero. */
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/stream_private.h"

/* Clear the bits of an input's spectra whose windows touch [span.first,
 * span.end). */
static void clear_span(const struct fx8_stream *s, size_t input,
                       const struct fx8_span *span, size_t n_spectra,
                       uint64_t *valid)
{
    const int64_t first = span->first - s->window_first;
    const int64_t end = span->end - s->window_first;
    const int64_t step = s->shape.step, window = s->shape.window;
    const int64_t widest = window + 2 * s->shape.margin;
    /* however it is shifted, spectrum t is within [t step, t step + widest) */
    const int64_t from = first < widest ? 0 : (first - widest) / step + 1;
    const int64_t to = end <= 0 ? 0 : (end - 1) / step + 1;
    for (int64_t t = from; t < to && t < (int64_t)n_spectra; t++) {
        const int64_t begin =
            (int64_t)fx8_stream_window_begin(s, input, (size_t)t);
        if (begin < end && begin + window > first)
            fx8_bit_clear(valid, (size_t)t);
    }
}

static void clear_gaps(const struct fx8_stream *s, size_t input,
                       const struct fx8_spans *list, size_t n_spectra,
                       uint64_t *valid)
{
    for (size_t i = 0; i < list->n; i++)
        clear_span(s, input, &list->items[i], n_spectra, valid);
}

enum fx8_status fx8_stream_validity(struct fx8_stream *stream, size_t n_spectra,
                                    uint64_t *valid, struct fx8_error *error)
{
    struct fx8_stream *s = stream;
    const size_t n_words = fx8_bit_words(n_spectra);
    const size_t n_inputs = s->shape.n_inputs;
    if (s->shape.tracker != NULL)
        FX8_TRY(fx8_tracker_shifts(s->shape.tracker, fx8_stream_spectrum(s),
                                   n_spectra, s->shifts, error));
    s->n_shifted = n_spectra;
    for (size_t input = 0; input < n_inputs; input++) {
        uint64_t *row = valid + input * n_words;
        /* without shifts, samples missing for all inputs are so alike */
        if (input > 0 && s->shape.tracker == NULL) {
            memcpy(row, valid, n_words * sizeof *valid);
            continue;
        }
        memset(row, 0xff, n_words * sizeof *row);
        if (n_spectra % 64 != 0)
            row[n_words - 1] = ((uint64_t)1 << n_spectra % 64) - 1;
        clear_gaps(s, input, &s->gaps[n_inputs], n_spectra, row);
    }
    for (size_t input = 0; input < n_inputs; input++)
        clear_gaps(s, input, &s->gaps[input], n_spectra,
                   valid + input * n_words);
    return FX8_OK;
}

/* First byte in [from, n) of a row that is not zero, or n. */
static size_t first_nonzero(const int8_t *row, size_t from, size_t n)
{
    size_t at = from;
    for (uint64_t word; at + sizeof word <= n; at += sizeof word) {
        memcpy(&word, row + at, sizeof word);
        if (word != 0)
            break;
    }
    while (at < n && row[at] == 0)
        at++;
    return at;
}

size_t fx8_stream_first_signal(const struct fx8_stream *stream, size_t input,
                               const uint64_t *valid, size_t from,
                               size_t n_spectra)
{
    const size_t size = stream->shape.sample_size;
    const size_t window = (size_t)stream->shape.window * size;
    const int8_t *row = fx8_stream_held(stream, input);
    size_t zeros = 0, zeros_end = 0; /* a range known to be zero */
    for (size_t t = fx8_bit_next(valid, from, n_spectra); t < n_spectra;
         t = fx8_bit_next(valid, t + 1, n_spectra)) {
        const size_t begin = fx8_stream_window_begin(stream, input, t) * size;
        const size_t end = begin + window;
        const bool is_known = begin >= zeros && begin < zeros_end;
        if (first_nonzero(row, is_known ? zeros_end : begin, end) < end)
            return t;
        zeros = is_known ? zeros : begin;
        zeros_end = end;
    }
    return n_spectra;
}
