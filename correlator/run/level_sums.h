/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * level_sums.h -- levels of recorded samples: exact sums per input, what
 * follows from them, and which inputs look wrong.
 */
#ifndef FX8_CORRELATOR_RUN_LEVEL_SUMS_H
#define FX8_CORRELATOR_RUN_LEVEL_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Magnitude from which a real component counts as clipped: quantisers clamp
 *  at +-127, and -128 is beyond. */
#define FX8_CLIP_LIMIT 127

/** Sums over the samples of one input; zeroed: of none. */
struct fx8_level_sums {
    int64_t n_samples; /**< that were there */
    int64_t n_missing; /**< looked at and left out: they were not recorded */
    int64_t sum[2];    /**< of the real and the imaginary parts, LSB */
    int64_t square;    /**< of re^2 + im^2, LSB^2 */
    int64_t n_clipped; /**< real components of at least FX8_CLIP_LIMIT */
    int64_t n_most;    /**< real components that are +127 */
    int64_t n_least;   /**< real components that are -128 */
    int64_t n_zero;    /**< samples all of whose components are 0 */
};

/**
 * fx8_level_sums_add -- take in a stretch of samples.
 *
 * Given:    samples    int8  [n_samples][components]
 *           components 1 real, 2 complex (re, im)
 *           valid      uint64  [fx8_bit_words(n_samples)]  0: missing
 * Returned: sums  the sums, increased
 * Numerics: exact: fewer than 2^48 samples an input
 */
void fx8_level_sums_add(struct fx8_level_sums *sums, const int8_t *samples,
                        size_t n_samples, size_t components,
                        const uint64_t *valid);

/** What sums mean; NaN where no sample was there.  Shares are 0 to 1. */
struct fx8_level_figures {
    double rms_lsb;       /**< of a real component, about zero */
    double mean_lsb[2];   /**< real and imaginary part */
    double clipped_share; /**< of the real components */
    double least_share;   /**< of the real components: -128 */
    double zero_share;    /**< of the samples */
    double missing_share; /**< of the samples looked at */
};

/** Figures of an input with `components` 1 (real) or 2 (complex). */
struct fx8_level_figures fx8_level_sums_figures(
    const struct fx8_level_sums *sums, size_t components);

/** What may be wrong with an input, the worst first: bits of a set. */
enum fx8_remark {
    FX8_REMARK_ABSENT = 1,   /**< every sample looked at is missing */
    FX8_REMARK_DEAD = 2,     /**< every sample that is there is 0 */
    FX8_REMARK_CLIPPED = 4,  /**< FX8_MOST_CLIPPED exceeded */
    FX8_REMARK_WEAK = 8,     /**< FX8_MOST_RATIO below the median rms */
    FX8_REMARK_STRONG = 16,  /**< FX8_MOST_RATIO above it */
    FX8_REMARK_OFFSET = 32,  /**< FX8_MOST_OFFSET exceeded */
    FX8_REMARK_MARKERS = 64, /**< -128 stands for something else */
};

/** Number of remarks. */
#define FX8_N_REMARKS 7

/** A word or two for each remark, [FX8_N_REMARKS], in the order of the bits. */
extern const char *const fx8_remark_names[FX8_N_REMARKS];

/** Clipped share of noise of 38.6 LSB rms, twice the level wanted. */
#define FX8_MOST_CLIPPED 1e-3

/** rms beside the median rms of the band: 10 dB. */
#define FX8_MOST_RATIO 3.1622776601683795

/** Share of the power that stands at zero frequency; more where the samples
 *  are so few that noise does the same. */
#define FX8_MOST_OFFSET 0.1

/** Share of -128, where it is also twice as frequent as +127: a converter that
 *  clips gives both alike, one that clamps at +-127 gives none. */
#define FX8_MOST_LEAST 1e-3

/**
 * fx8_level_sums_judge -- remarks on every input.
 *
 * Given:    sums  [n_inputs]
 *           gain        [n_inputs] recorded values were multiplied by, or NULL:
 *                       levels are compared as recorded
 *           n_inputs    those of a band side by side
 *           n_bands     divides n_inputs; medians are of a band
 * Returned: remarks     [n_inputs] sets of enum fx8_remark, 0: looks right
 * Status:   FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_level_sums_judge(const struct fx8_level_sums *sums,
                                     const double *gain, size_t n_inputs,
                                     size_t n_bands, size_t components,
                                     unsigned *remarks,
                                     struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
