/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h -- from blocks of any size and layout to windows: contiguous rows
 * of samples per input, and which of their spectra are valid.
 *
 * A stream holds the samples of absolute indices [window_first, window_end).
 * It takes blocks, gaps and missing runs, finds marker runs, and hands out
 * spectra from the front.  The filter's history is nothing but the samples
 * that stay when spectra are taken.
 */
#ifndef FX8_CORRELATOR_LIBRARY_STREAM_H
#define FX8_CORRELATOR_LIBRARY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a stream needs to know of a plan. */
struct fx8_stream_shape {
    size_t n_inputs;
    size_t sample_size;  /**< bytes: 1 real, 2 complex */
    int64_t step;        /**< N, samples from spectrum to spectrum */
    int64_t window;      /**< P N, samples under one spectrum */
    size_t most_spectra; /**< spectra taken at a time */
    bool has_two; /**< sets of rows, in turn: what is taken is not touched
                       before more is taken */
    bool has_marker;
    int marker_value;
    int64_t marker_run;
    size_t n_threads;
    bool pin_threads;
    const struct fx8_operations *operations;
};

struct fx8_stream;

/** Bytes that the samples of such a stream take; SIZE_MAX on overflow. */
size_t fx8_stream_size(const struct fx8_stream_shape *shape);

/** Open a stream whose first spectrum starts at `first_sample`. */
enum fx8_status fx8_stream_open(const struct fx8_stream_shape *shape,
                                int64_t first_sample,
                                struct fx8_stream **stream,
                                struct fx8_error *error);

/** A stream with the same samples, runs and marker state as `other`. */
enum fx8_status fx8_stream_copy(const struct fx8_stream *other,
                                struct fx8_stream **stream,
                                struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_stream_close(struct fx8_stream **stream);

/** Absolute index of the next sample that the stream wants. */
int64_t fx8_stream_next_sample(const struct fx8_stream *stream);

/**
 * fx8_stream_check -- whether a block is one that the stream can take.
 *
 * Status: FX8_ERR_USAGE: a pointer that is missing, a range that is none, a
 *         missing stretch of an input that is none
 */
enum fx8_status fx8_stream_check(const struct fx8_stream *stream,
                                 const struct fx8_block *block,
                                 struct fx8_error *error);

/**
 * fx8_stream_append -- take as many samples as there is room for, of a block
 * that fx8_stream_check() has passed.
 *
 * Notes: 1) samples before next_sample are skipped; where the block begins
 *           after it, the gap is taken first, as missing samples
 *        2) next_sample tells how far it went; with spectra taken from a full
 *           stream there is room again
 */
enum fx8_status fx8_stream_append(struct fx8_stream *stream,
                                  const struct fx8_block *block,
                                  struct fx8_error *error);

/** Whether append() would use a block's samples, with those held in front of
 *  them, where they lie. */
bool fx8_stream_may_borrow(const struct fx8_stream *stream,
                           const struct fx8_block *block);

/** First sample of the block that what is held lies in; NULL: in memory of the
 *  stream's own.  The block stays as it is until one that may be borrowed is
 *  appended, or until fx8_stream_keep(), which is called before any other is.
 */
const int8_t *fx8_stream_lender(const struct fx8_stream *stream);

/** Whether it is this block. */
bool fx8_stream_is_in(const struct fx8_stream *stream,
                      const struct fx8_block *block);

/** Hold samples in memory of the stream's own, whatever of it was taken. */
void fx8_stream_keep(struct fx8_stream *stream);

/**
 * fx8_stream_skip -- drop spectra in a gap without taking its samples.
 *
 * Given:    sample  the next that is not missing: that of a block to come
 *           most    spectra, at least 1
 *           unit    spectra: drop a multiple of it, or `most`
 * Returned: how many spectra were dropped; none unless all that is held is of
 *           the gap, which fx8_stream_append() and fx8_stream_take() lead to
 */
int64_t fx8_stream_skip(struct fx8_stream *stream, int64_t sample, int64_t most,
                        int64_t unit);

/** No more samples: what looked like the start of a marker run is data. */
void fx8_stream_end(struct fx8_stream *stream);

/** Spectra whose windows are complete and free of undecided markers. */
size_t fx8_stream_ready(const struct fx8_stream *stream);

/** Row of an input: its first sample is that of the first spectrum ready. */
const int8_t *fx8_stream_row(const struct fx8_stream *stream, size_t input);

/** Bytes between the rows of two inputs. */
size_t fx8_stream_row_stride(const struct fx8_stream *stream);

/** The memory that all rows are in, fx8_stream_size() bytes. */
void *fx8_stream_memory(const struct fx8_stream *stream);

/**
 * fx8_stream_validity -- which of the first n_spectra spectra are valid.
 *
 * Returned: valid  uint64 [n_inputs][fx8_bit_words(n_spectra)], every bit set:
 *                  1: no sample of the spectrum's window is missing
 */
void fx8_stream_validity(const struct fx8_stream *stream, size_t n_spectra,
                         uint64_t *valid);

/**
 * fx8_stream_first_signal -- first of n_spectra spectra of an input that is
 * valid and not all zero, or n_spectra when there is none from `from` on.
 *
 * Given: valid  the input's row of fx8_stream_validity()
 */
size_t fx8_stream_first_signal(const struct fx8_stream *stream, size_t input,
                               const uint64_t *valid, size_t from,
                               size_t n_spectra);

/** Drop the first n_spectra spectra. */
void fx8_stream_take(struct fx8_stream *stream, size_t n_spectra);

#ifdef __cplusplus
}
#endif

#endif
