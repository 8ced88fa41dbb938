/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gaps.h -- the stretches that a recording lists as missing: which of them lie
 * in a block, and what they come to.
 *
 * Inputs are all that the recording has, [band][antenna][polarisation].
 */
#ifndef FX8_CORRELATOR_RUN_GAPS_H
#define FX8_CORRELATOR_RUN_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "io/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where a walk along the recording stands; zeroed: at its start. */
struct fx8_gaps {
    int64_t first_sample; /**< of the block last asked for */
    size_t next;          /**< first stretch not looked at yet */
    size_t *open;         /**< [n_open] stretches that reach into the block */
    size_t n_open;
    struct fx8_run *runs; /**< [n_runs] the answer */
    size_t n_runs;
};

/**
 * fx8_gaps_list -- the missing stretches of a block just read, by input.
 *
 * Given:    first_sample, n_samples  the block, absolute: what the recording
 *           lists of it, and what its read() has found
 * Returned: gaps  runs [n_runs], of single inputs or of all (-1), valid until
 *                 the next call; they may reach beyond the block and overlap
 * Status:   FX8_ERR_SYSTEM when memory is short
 * Notes:    as blocks go forward, a stretch is looked at as often as blocks
 *           meet it; a step back starts the walk anew
 */
enum fx8_status fx8_gaps_list(struct fx8_gaps *gaps,
                              const struct fx8_reader *reader,
                              int64_t first_sample, int64_t n_samples,
                              struct fx8_error *error);

/** Release; a zeroed one is legal. */
void fx8_gaps_clear(struct fx8_gaps *gaps);

/** Stretches of one kind; they neither overlap nor touch. */
struct fx8_gap_count {
    int64_t n_stretches;
    int64_t n_samples; /**< instants, whatever the number of inputs */
    int64_t longest_samples;
};

/**
 * fx8_gaps_count -- what all the stretches of a recording come to, however
 * they overlap and repeat.
 *
 * Returned: whole    samples that every input lacks
 *           single   samples that some inputs lack and others have
 *           missing  [n_inputs] samples that each input lacks
 * Status:   FX8_ERR_SYSTEM when memory is short
 * Numerics: exact
 */
enum fx8_status fx8_gaps_count(const struct fx8_reader *reader,
                               struct fx8_gap_count *whole,
                               struct fx8_gap_count *single, int64_t *missing,
                               struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
