/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h -- turns blocks of any size and layout into contiguous rows of
 * samples per input, and finds which of their spectra are valid.
 *
 * A stream holds the samples of absolute indices [window_first, window_end).
 * It takes blocks and gaps, finds marker runs, and hands out
 * spectra from the front.  The samples that remain when spectra are taken are
 * the filter's history.
 */
#ifndef FX8_CORRELATOR_LIBRARY_STREAM_H
#define FX8_CORRELATOR_LIBRARY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/library/tracker.h"
#include "kernels/operations.h"

/** The parts of a plan that matter to a stream. */
struct fx8_stream_shape {
    size_t n_inputs;
    size_t sample_size;          /**< bytes: 1 real, 2 complex */
    int64_t step;                /**< N, samples from spectrum to spectrum */
    int64_t window;              /**< P N, samples under one spectrum */
    struct fx8_tracker *tracker; /**< shifts windows; NULL: no shifts */
    int64_t margin;      /**< most samples of a shift: held before and after */
    size_t n_delays;     /**< inputs of the tracker; n_inputs is a multiple */
    size_t most_spectra; /**< taken at a time */
    bool has_two; /**< two sets of rows in turn: rows taken stay unchanged until
                       the next take */
    struct fx8_marker marker;
    struct fx8_blanking blanking;
    struct fx8_threads threads;
    const struct fx8_operations *operations;
};

struct fx8_stream;

/** Bytes of a stream's sample memory; SIZE_MAX on overflow. */
size_t fx8_stream_size(const struct fx8_stream_shape *shape);

/** Open a stream whose first spectrum starts at `first_sample`, unshifted. */
enum fx8_status fx8_stream_open(const struct fx8_stream_shape *shape,
                                int64_t first_sample,
                                struct fx8_stream **stream,
                                struct fx8_error *error);

/** Start again with nothing held, at this spectrum; a borrowed block is no
 *  longer used. */
void fx8_stream_restart(struct fx8_stream *stream, int64_t spectrum);

/** A stream with the same samples, runs and marker state as `other`. */
enum fx8_status fx8_stream_copy(const struct fx8_stream *other,
                                struct fx8_stream **stream,
                                struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_stream_close(struct fx8_stream **stream);

/** Its shape, as opened. */
const struct fx8_stream_shape *fx8_stream_shape(
    const struct fx8_stream *stream);

/** Absolute index of the next sample to append. */
int64_t fx8_stream_next_sample(const struct fx8_stream *stream);

/**
 * fx8_stream_check -- check a block before it is appended.
 *
 * Status: FX8_ERR_USAGE: a NULL pointer, an invalid range, a missing stretch of
 *         an unknown input
 */
enum fx8_status fx8_stream_check(const struct fx8_stream *stream,
                                 const struct fx8_block *block,
                                 struct fx8_error *error);

/**
 * fx8_stream_append -- append as many samples of a checked block as there is
 * room for.
 *
 * Notes: 1) samples before next_sample are skipped; if the block begins after
 *           it, the gap is appended first, as missing samples
 *        2) fx8_stream_next_sample() returns how far it got;
 *           fx8_stream_take() makes room again
 */
enum fx8_status fx8_stream_append(struct fx8_stream *stream,
                                  const struct fx8_block *block,
                                  struct fx8_error *error);

/** Whether append() would use a block's samples in place, with the held samples
 *  copied in front of them. */
bool fx8_stream_may_borrow(const struct fx8_stream *stream,
                           const struct fx8_block *block);

/** First sample of the borrowed block that contains the held samples; NULL: the
 *  stream's own memory contains them.  The block must not change until another
 *  that may be borrowed is appended, or until fx8_stream_keep(), which must be
 *  called before any other block is appended. */
const int8_t *fx8_stream_lender(const struct fx8_stream *stream);

/** Whether `block` is the borrowed block. */
bool fx8_stream_is_in(const struct fx8_stream *stream,
                      const struct fx8_block *block);

/** Copy held samples from a borrowed block to the stream's own memory, over
 *  rows taken before. */
void fx8_stream_keep(struct fx8_stream *stream);

/**
 * fx8_stream_skip -- drop spectra in a gap without appending its samples.
 *
 * Given:    sample  the next that is not missing: first of the next block
 *           most    spectra, at least 1
 *           unit    spectra: drop a multiple of it, or `most`
 * Returned: number of spectra dropped; 0 unless all held samples are in the
 *           gap.  fx8_stream_append() and fx8_stream_take() get there
 */
int64_t fx8_stream_skip(struct fx8_stream *stream, int64_t sample, int64_t most,
                        int64_t unit);

/** No more samples: a marker run that is still too short is data. */
void fx8_stream_end(struct fx8_stream *stream);

/** Spectra whose windows are complete and free of samples that later ones may
 *  still make missing. */
size_t fx8_stream_ready(const struct fx8_stream *stream);

/** Row of an input, at the first sample of the first ready spectrum, unshifted.
 */
const int8_t *fx8_stream_row(const struct fx8_stream *stream, size_t input);

/** The window of a spectrum of an input, shifted; fx8_stream_validity() was
 *  called for the spectrum. */
const int8_t *fx8_stream_window(const struct fx8_stream *stream, size_t input,
                                size_t spectrum);

/** Index of the first ready spectrum, counted from the first of the stream. */
int64_t fx8_stream_spectrum(const struct fx8_stream *stream);

/** Bytes between the rows of two inputs. */
size_t fx8_stream_row_stride(const struct fx8_stream *stream);

/** The stream's own memory of all rows, fx8_stream_size() bytes. */
void *fx8_stream_memory(const struct fx8_stream *stream);

/**
 * fx8_stream_validity -- which of the first n_spectra spectra are valid.
 *
 * Returned: valid  uint64 [n_inputs][fx8_bit_words(n_spectra)], all words
 *                  written; 1: no sample of the spectrum's window is missing
 * Status:   any failure of the tracker
 */
enum fx8_status fx8_stream_validity(struct fx8_stream *stream, size_t n_spectra,
                                    uint64_t *valid, struct fx8_error *error);

/**
 * fx8_stream_first_signal -- first spectrum of an input in [from, n_spectra)
 * that is valid and not all zero, or n_spectra if none is.
 *
 * Given: valid  the input's row of fx8_stream_validity(), called just before
 */
size_t fx8_stream_first_signal(const struct fx8_stream *stream, size_t input,
                               const uint64_t *valid, size_t from,
                               size_t n_spectra);

/** Drop the first n_spectra spectra. */
void fx8_stream_take(struct fx8_stream *stream, size_t n_spectra);

#endif
