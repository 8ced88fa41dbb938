/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tally.h -- what a session has counted, and the sum over the ranks of a run.
 */
#ifndef FX8_CORRELATOR_RUN_TALLY_H
#define FX8_CORRELATOR_RUN_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/ranks/ranks.h"
#include "correlator/run/job.h"

/** Counts of the dumps of one phase centre.  All arrays are in one piece of
 *  memory, so that it can be sent. */
struct fx8_tally {
    struct fx8_statistics statistics;
    int64_t n_clamped;
    size_t n_inputs, n_rows, n_levels;
    int64_t *dead_dumps;    /**< [n_rows] dumps in which a row is dead */
    int64_t *valid_spectra; /**< [n_rows] */
    int64_t *clips;         /**< [n_levels] */
    float *gain;            /**< [n_levels] as struct fx8_input_gains */
    uint8_t *is_zero;       /**< [n_levels] */
    uint8_t *is_set;        /**< [n_rows] */
    void *memory;
    size_t size; /**< of the memory, bytes */
};

/** Allocate for a job, zeroed; n_levels is 0 without a quantiser.
 *  fx8_tally_clear() releases. */
enum fx8_status fx8_tally_open(const struct fx8_job *job,
                               struct fx8_tally *tally,
                               struct fx8_error *error);

void fx8_tally_clear(struct fx8_tally *tally);

/** Take over what a session has counted; dead_dumps are left alone. */
void fx8_tally_take(struct fx8_tally *tally, const struct fx8_session *session);

/** Take over the gains of a session alone. */
void fx8_tally_take_gains(struct fx8_tally *tally,
                          const struct fx8_session *session);

/** Gains as fx8_set_gains() wants them. */
struct fx8_input_gains fx8_tally_gains(const struct fx8_tally *tally);

/** Sum over all ranks, on rank 0.  All ranks must call it; a message of rank
 *  r > 0 is tagged with `tag`. */
enum fx8_status fx8_tally_add_ranks(struct fx8_tally *tally, int tag,
                                    const struct fx8_ranks *ranks,
                                    struct fx8_error *error);

#endif
