/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample_sums.h -- levels of recorded samples: exact sums per input, figures
 * derived from them, and which inputs look wrong.
 */
#ifndef FX8_CORRELATOR_RUN_SAMPLE_SUMS_H
#define FX8_CORRELATOR_RUN_SAMPLE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/** Magnitude from which a real component counts as clipped: quantisers clamp
 *  at +-127, and -128 is beyond. */
#define FX8_CLIP_LIMIT 127

/** Sums over the samples of one input; zeroed: no samples yet. */
struct fx8_sample_sums {
    int64_t n_samples; /**< present */
    int64_t n_missing; /**< missing from the recording, and left out */
    int64_t sum[2];    /**< of the real and the imaginary parts, LSB */
    int64_t square;    /**< of re^2 + im^2, LSB^2 */
    int64_t n_clipped; /**< real components of at least FX8_CLIP_LIMIT */
    int64_t n_most;    /**< real components that are +127 */
    int64_t n_least;   /**< real components that are -128 */
    int64_t n_zero;    /**< samples with all components 0 */
};

/**
 * fx8_sample_sums_add -- add a stretch of samples.
 *
 * Given:    samples    int8  [n_samples][components]
 *           components 1 real, 2 complex (re, im)
 *           valid      uint64  [fx8_bit_words(n_samples)]  0: missing
 * Returned: sums  increased
 * Numerics: exact: fewer than 2^48 samples per input
 */
void fx8_sample_sums_add(struct fx8_sample_sums *sums, const int8_t *samples,
                         size_t n_samples, size_t components,
                         const uint64_t *valid);

/** Figures from the sums; NaN without samples.  Shares are 0 to 1. */
struct fx8_sample_figures {
    double rms_lsb;       /**< of a real component, about zero */
    double mean_lsb[2];   /**< real and imaginary part */
    double clipped_share; /**< of the real components */
    double least_share;   /**< of the real components: -128 */
    double zero_share;    /**< of the samples */
    double missing_share; /**< of the samples looked at */
};

/** Figures of an input with `components` 1 (real) or 2 (complex). */
struct fx8_sample_figures fx8_sample_sums_figures(
    const struct fx8_sample_sums *sums, size_t components);

/** What may be wrong with an input, worst first: bit mask. */
enum fx8_remark {
    FX8_REMARK_ABSENT = 1,   /**< every sample looked at is missing */
    FX8_REMARK_DEAD = 2,     /**< every sample present is 0 */
    FX8_REMARK_CLIPPED = 4,  /**< FX8_MOST_CLIPPED exceeded */
    FX8_REMARK_WEAK = 8,     /**< FX8_MOST_RATIO below the median rms */
    FX8_REMARK_STRONG = 16,  /**< FX8_MOST_RATIO above it */
    FX8_REMARK_OFFSET = 32,  /**< FX8_MOST_OFFSET exceeded */
    FX8_REMARK_MARKERS = 64, /**< -128 is probably a marker */
};

/** Number of remarks. */
#define FX8_N_REMARKS 7

/** Short name of each remark, [FX8_N_REMARKS], in the order of the bits. */
extern const char *const fx8_remark_names[FX8_N_REMARKS];

/** Clipped share of noise at 38.6 LSB rms, twice the target level. */
#define FX8_MOST_CLIPPED 1e-3

/** Limit of rms over the band's median rms, either way: 10 dB. */
#define FX8_MOST_RATIO 3.1622776601683795

/** Limit of the share of power at zero frequency; higher when the samples are
 *  so few that noise alone reaches it. */
#define FX8_MOST_OFFSET 0.1

/** Limit of the share of -128, which must also be twice as frequent as +127: a
 *  converter that clips gives both alike, one that clamps at +-127 none. */
#define FX8_MOST_LEAST 1e-3

/**
 * fx8_sample_sums_judge -- remarks on every input.
 *
 * Given:    sums  [n_inputs]
 *           gain        [n_inputs] factor applied to the recorded values, or
 *                       NULL: levels are compared as recorded
 *           n_inputs    of all bands, each band's side by side
 *           n_bands     divides n_inputs; medians are per band
 * Returned: remarks     [n_inputs] sets of enum fx8_remark, 0: looks right
 * Status:   FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_sample_sums_judge(const struct fx8_sample_sums *sums,
                                      const double *gain, size_t n_inputs,
                                      size_t n_bands, size_t components,
                                      unsigned *remarks,
                                      struct fx8_error *error);

#endif
