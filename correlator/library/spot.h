/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spot.h -- the spot check: in every dump the sums of a few pairs of inputs in
 * one channel are formed again from the engine's own spectra, by plain code,
 * and compared with what the engine made of them.  It finds kernels and cards
 * that are steadily wrong; a single wrong bit may pass.
 *
 * Which pairs is a function of plan and dump: their number goes with the size
 * of the plan, so that the check takes a small part of the time, and from dump
 * to dump they go through all pairs, all inputs with themselves, and all
 * channels.
 */
#ifndef FX8_CORRELATOR_LIBRARY_SPOT_H
#define FX8_CORRELATOR_LIBRARY_SPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sums of a pair as the check forms them, [re, im]. */
struct fx8_spot_sum {
    int64_t int8[2];
    double fp32[2];
    double magnitude[2]; /**< of the float products without their signs */
};

/** A pair of inputs, i <= j. */
struct fx8_spot_pair {
    size_t i, j;
    size_t row_i, row_j; /**< among those watched */
    struct fx8_spot_sum sum;
};

/** The check of a session; zeros: there is none. */
struct fx8_spot {
    size_t n_pairs;      /**< of a dump; 0: nothing is checked */
    unsigned precisions; /**< as of an engine's plan */
    size_t n_inputs, n_polarizations;
    size_t n_channels, n_bands; /**< channels of one band */
    /* of the dump at hand */
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

/** Pairs of a dump that a plan is checked by. */
size_t fx8_spot_pairs(const struct fx8_axes *axes);

/** Most inputs that are watched for it. */
size_t fx8_spot_inputs(const struct fx8_axes *axes);

/** Which pairs, where, in dump `dump`: sets everything "of the dump at hand".
 */
void fx8_spot_choose(struct fx8_spot *spot, int64_t dump);

/**
 * fx8_spot_begin -- watch a dump, unless it is watched already.
 *
 * Given:  engines  of these operations, one for each band
 *         dump     its index; none of its blocks was pushed yet
 * Status: as watch() of the engine
 */
enum fx8_status fx8_spot_begin(struct fx8_spot *spot,
                               const struct fx8_engine_operations *operations,
                               struct fx8_engine *const *engines, int64_t dump,
                               struct fx8_error *error);

/**
 * fx8_spot_end -- compare, where this band of the dump was watched.
 *
 * Given:    sums    as the engine of the band handed them over
 * Status:   FX8_ERR_SYSTEM: a sum differs, the first one is told: integers by
 *           anything; floats by more than their roundings can
 *           (struct fx8_correlate_fp32); bounds that do not enclose the sum, or
 *           are farther from it than their roundings can
 */
enum fx8_status fx8_spot_end(struct fx8_spot *spot,
                             const struct fx8_engine_operations *operations,
                             struct fx8_engine *const *engines, size_t band,
                             const struct fx8_engine_dump *sums,
                             struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
