/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * levels.h -- the quantiser's gains, set once per row, an input in one band,
 * from its first spectra.
 *
 * Rows are levelled in rounds: a round looks ahead on a copy of the stream
 * for a few rows that have begun to deliver, so that neither memory nor the
 * look-ahead grows with the array.  A row that never delivers is never
 * levelled and costs nothing.
 */
#ifndef FX8_CORRELATOR_LIBRARY_LEVELS_H
#define FX8_CORRELATOR_LIBRARY_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/library/stream.h"
#include "kernels/cpu/power.h"
#include "kernels/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fx8_levels;

/** What a quantiser needs to know of a plan. */
struct fx8_levels_shape {
    size_t n_bands, n_inputs;
    size_t n_channels;        /**< of one band */
    const double *input_gain; /**< [n_bands][n_inputs] that samples were
                                   multiplied by, kept by the caller; NULL: 1 */
    double target_rms;        /**< LSB per real component; channels of real
                                   spectra have one */
    enum fx8_level level;
    size_t n_threads;
    bool pin_threads;
    struct fx8_filterbank bank;
    const struct fx8_power *power; /**< of the bank, for n_threads */
};

/** Bytes that fx8_levels_open() allocates, SIZE_MAX where they overflow; a
 *  round comes with a copy of the stream besides. */
size_t fx8_levels_size(const struct fx8_levels_shape *shape);

/** Levels of a shape, none set. */
enum fx8_status fx8_levels_open(const struct fx8_levels_shape *shape,
                                struct fx8_levels **levels,
                                struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_levels_close(struct fx8_levels **levels);

/**
 * fx8_levels_begin -- start a round if a row without gains has signal among
 * the spectra ready.
 *
 * Given:    stream, valid, n_spectra   as the session is about to correlate
 * Returned: needed  a round has begun; the stream was copied for it
 */
enum fx8_status fx8_levels_begin(struct fx8_levels *levels,
                                 const struct fx8_stream *stream,
                                 const uint64_t *valid, size_t n_spectra,
                                 bool *needed, struct fx8_error *error);

/** Whether a round is going on. */
bool fx8_levels_active(const struct fx8_levels *levels);

/**
 * fx8_levels_push -- look at a block on behalf of the round, as far as there is
 * room for it: up to fx8_levels_next_sample().
 *
 * Given:    engines  [n_bands]
 * Returned: done  every row of the round has its spectra: the gains are set
 *                 in the engines and the round is over
 */
enum fx8_status fx8_levels_push(struct fx8_levels *levels,
                                const struct fx8_engine_operations *operations,
                                struct fx8_engine *const *engines,
                                const struct fx8_block *block, bool *done,
                                struct fx8_error *error);

/** The sample that a round that is going on looks at next. */
int64_t fx8_levels_next_sample(const struct fx8_levels *levels);

/** No more samples: set the gains of the round from what was seen. */
enum fx8_status fx8_levels_end(struct fx8_levels *levels,
                               const struct fx8_engine_operations *operations,
                               struct fx8_engine *const *engines,
                               struct fx8_error *error);

/** The gains so far, those of the engines times input_gain; the arrays are the
 *  levels' own. */
struct fx8_input_gains fx8_levels_gains(const struct fx8_levels *levels);

/** Sets the rows that `gains` has, before any is levelled: FX8_ERR_USAGE, and
 *  nothing set, where a gain is not positive. */
enum fx8_status fx8_levels_set(struct fx8_levels *levels,
                               const struct fx8_input_gains *gains,
                               const struct fx8_engine_operations *operations,
                               struct fx8_engine *const *engines,
                               struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
