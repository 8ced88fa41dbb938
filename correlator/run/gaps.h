/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gaps.h -- the gaps that a recording lists: those in one block, and their
 * totals.
 *
 * Inputs are all inputs of the recording, [band][antenna][polarisation].
 */
#ifndef FX8_CORRELATOR_RUN_GAPS_H
#define FX8_CORRELATOR_RUN_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "io/reader.h"

/** Position of a walk along the recording; zeroed: at its start. */
struct fx8_gaps {
    int64_t first_sample; /**< of the last block requested */
    size_t next;          /**< first gap not yet looked at */
    size_t *open;         /**< [n_open] gaps that reach into the block */
    size_t n_open;
    struct fx8_gap *items; /**< [n] the result */
    size_t n;
};

/**
 * fx8_gaps_list -- the gaps of a block just read, by input.
 *
 * Given:    first_sample, n_samples  the block, absolute
 * Returned: gaps  items [n], of one input or of all (-1), valid until the
 *                 next call: what the recording lists and what its last
 *                 read() found.  They may reach beyond the block and overlap
 * Status:   FX8_ERR_SYSTEM when memory is short
 * Notes:    while blocks go forward, each gap is visited once per block that
 *           it meets; a step back restarts the walk
 */
enum fx8_status fx8_gaps_list(struct fx8_gaps *gaps,
                              const struct fx8_reader *reader,
                              int64_t first_sample, int64_t n_samples,
                              struct fx8_error *error);

/** Release; a zeroed one is legal. */
void fx8_gaps_clear(struct fx8_gaps *gaps);

/** Gaps of one kind; they neither overlap nor touch. */
struct fx8_gap_count {
    int64_t n_stretches;
    int64_t n_samples; /**< instants, counted once for all inputs */
    int64_t longest_samples;
    int64_t longest_first; /**< its first sample; of several, the earliest */
};

/**
 * fx8_gaps_count -- totals over the gaps of a recording, or of a stretch of it;
 * they may overlap and repeat.
 *
 * Given:    first_sample, n_samples  the stretch
 * Returned: whole    samples missing in every input
 *           single   samples missing in some inputs only
 *           missing  [n_inputs] missing samples of each input
 * Status:   FX8_ERR_SYSTEM when memory is short
 * Numerics: exact
 */
enum fx8_status fx8_gaps_count(const struct fx8_reader *reader,
                               int64_t first_sample, int64_t n_samples,
                               struct fx8_gap_count *whole,
                               struct fx8_gap_count *single, int64_t *missing,
                               struct fx8_error *error);

#endif
