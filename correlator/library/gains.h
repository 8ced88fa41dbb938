/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gains.h -- sets the quantiser's gains once per row (an input in one band),
 * from its first spectra.
 *
 * Gains are set in rounds.  A round looks ahead on a copy of the stream for
 * a few rows that have begun to deliver, so neither memory nor look-ahead grows
 * with the array.  A row that never delivers never gets a gain and costs
 * nothing.
 */
#ifndef FX8_CORRELATOR_LIBRARY_GAINS_H
#define FX8_CORRELATOR_LIBRARY_GAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/library/stream.h"

struct fx8_gain_setting;

/** Bytes that fx8_gains_open() allocates, SIZE_MAX on overflow.  A round also
 *  copies the stream. */
size_t fx8_gains_size(const struct fx8_session *session);

/** Open with no gains set, once the session has engines and power. */
enum fx8_status fx8_gains_open(const struct fx8_session *session,
                               struct fx8_gain_setting **setting,
                               struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_gains_close(struct fx8_gain_setting **setting);

/**
 * fx8_gains_begin -- set the gains of rows that the ready spectra suffice for,
 * and start a round if another row without gains has signal in them.
 *
 * Given:    stream, valid, n_spectra   about to be correlated
 *           looks_back  rows without gains may have had signal before: the
 *                       round begins with the first spectrum of the run
 * Returned: n_set   rows whose gains were set
 *           needed  a round has begun, on a stream of its own
 */
enum fx8_status fx8_gains_begin(struct fx8_gain_setting *setting,
                                const struct fx8_stream *stream,
                                const uint64_t *valid, size_t n_spectra,
                                bool looks_back, size_t *n_set, bool *needed,
                                struct fx8_error *error);

/** Whether a round is in progress. */
bool fx8_gains_active(const struct fx8_gain_setting *setting);

/**
 * fx8_gains_push -- measure a block for the round, as far as there is room:
 * up to fx8_gains_next_sample().
 *
 * Returned: done  every row of the round has its spectra; the engines have the
 *                 gains and the round is over
 */
enum fx8_status fx8_gains_push(struct fx8_gain_setting *setting,
                               const struct fx8_block *block, bool *done,
                               struct fx8_error *error);

/** The next sample that the current round needs. */
int64_t fx8_gains_next_sample(const struct fx8_gain_setting *setting);

/** No more samples: set the gains of the round from the spectra so far. */
enum fx8_status fx8_gains_end(struct fx8_gain_setting *setting,
                              struct fx8_error *error);

/** The gains so far: engine gains times input_gain.  Owns the arrays. */
struct fx8_input_gains fx8_gains_get(const struct fx8_gain_setting *setting);

/** Set the rows marked is_set in `gains`, before any other has gains.
 *  FX8_ERR_USAGE, and nothing set, if a gain is not positive. */
enum fx8_status fx8_gains_set(struct fx8_gain_setting *setting,
                              const struct fx8_input_gains *gains,
                              struct fx8_error *error);

#endif
