/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spot.h -- the spot check: in every dump, plain code recomputes the sums of a
 * few pairs of inputs in one channel from the engine's own spectra and compares
 * them with the engine's sums.  It finds kernels and cards that are steadily
 * wrong; a single wrong bit may pass.
 *
 * Plan and dump determine the pairs.  Their number grows with the plan, so that
 * the check takes a small part of the time.  From dump to dump they go through
 * all pairs, all inputs with themselves, and all channels.
 */
#ifndef FX8_CORRELATOR_LIBRARY_SPOT_H
#define FX8_CORRELATOR_LIBRARY_SPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/engine.h"

/** Sums of a pair as the check computes them, [re, im]. */
struct fx8_spot_sum {
    int64_t int8[2];
    double fp32[2];
    double magnitude[2]; /**< sums of |float products| */
};

/** A pair of inputs, i <= j. */
struct fx8_spot_pair {
    size_t i, j;
    size_t row_i, row_j; /**< index among the watched inputs */
    struct fx8_spot_sum sum;
};

/** The check of a session; zeros: no check. */
struct fx8_spot {
    size_t n_pairs;      /**< per dump; 0: no check */
    unsigned precisions; /**< as of an engine's plan */
    size_t n_inputs, n_polarizations;
    size_t n_channels, n_bands; /**< channels of one band */
    const uint8_t *needed;      /**< as of an engine's plan */
    /* of the current dump */
    bool is_watching;
    int64_t dump;
    size_t band; /**< whose engine is watched */
    struct fx8_engine_watch watch;
    struct fx8_spot_pair pairs[FX8_WATCHED_PAIRS];
    int64_t n_spectra;
    int64_t sums_int8[2 * FX8_WATCHED_PAIRS]; /**< the engine's */
    double sums_fp32[2 * FX8_WATCHED_PAIRS];
    double seconds; /**< spent on all dumps */
};

/** Number of pairs checked per dump. */
size_t fx8_spot_pairs(const struct fx8_axes *axes);

/** Largest number of inputs watched for them. */
size_t fx8_spot_inputs(const struct fx8_axes *axes);

/** Choose the pairs and the channel of dump `dump`: sets all members "of the
 *  current dump". */
void fx8_spot_choose(struct fx8_spot *spot, int64_t dump);

/**
 * fx8_spot_begin -- start watching a dump, unless already watched.
 *
 * Given:  engines  of these operations, one per band
 *         dump     its index; none of its blocks may have been pushed yet
 * Status: as watch() of the engine
 */
enum fx8_status fx8_spot_begin(struct fx8_spot *spot,
                               const struct fx8_engine_operations *operations,
                               struct fx8_engine *const *engines, int64_t dump,
                               struct fx8_error *error);

/**
 * fx8_spot_end -- compare the sums if this band of the dump was watched.
 *
 * Given:    sums    from the engine of the band; of several strips, the last
 *                   one ends the check
 * Status:   FX8_ERR_SYSTEM: a sum is wrong; the message names the first:
 *           integers that differ at all; floats that differ by more than
 *           rounding explains (struct fx8_correlate_fp32); bounds that do not
 *           enclose the sum, or are farther from it than rounding explains
 */
enum fx8_status fx8_spot_end(struct fx8_spot *spot,
                             const struct fx8_engine_operations *operations,
                             struct fx8_engine *const *engines, size_t band,
                             const struct fx8_engine_dump *sums,
                             struct fx8_error *error);

#endif
