/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.h -- compare two correlations of the same voltages: the measured
 * error of INT8 against FP32, next to the error that theory predicts.
 *
 * A quantiser that rounds to steps of 1 adds noise of variance 1/12 per real
 * component, a share eps_i = 1 / (12 sigma_i^2) of the power at level sigma_i;
 * dither of one step adds as much again, eps_i = 1 / (6 sigma_i^2).  The mean
 * of M products then differs from that of the unrounded spectra by
 *
 *     rms |V_int8 - V_fp32| / sqrt(P_i P_j)
 *         = sqrt((eps_i + eps_j + eps_i eps_j) / M),
 *
 * whatever the coherence, as long as the coherence is not close to 1, nothing
 * is clamped and the level is above 1 step (astronomy.md of the design, oracle
 * e).
 *
 * Terms: a *pair* is two different inputs; a *cell* is one pair in one channel
 * of one dump.  XY and YX of one antenna are one pair: YX is left out.
 */
#ifndef FX8_CORRELATOR_COMPARE_COMPARE_H
#define FX8_CORRELATOR_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/base/shape.h"
#include "config/observation.h"
#include "correlator/compare/spread.h"
#include "correlator/fx8.h"
#include "correlator/run/progress.h"

/** Limits of DESIGN's verdict, and of the cells that it uses. */
#define FX8_COMPARE_RATIO_LOW  0.9
#define FX8_COMPARE_RATIO_HIGH 1.1
#define FX8_COMPARE_SIGMAS     5.0
#define FX8_COMPARE_CLIPS      1e-4
#define FX8_COMPARE_LEVEL      1.0
#define FX8_COMPARE_COHERENCE  0.9

/** Probability that good data fail one check, over everything it tests. */
#define FX8_COMPARE_CHANCE 1e-5

/** Why a cell is left out; the first reason that applies counts. */
enum fx8_compare_reason {
    FX8_COMPARE_FLAGGED = 0, /**< flagged, or weight 0, in either file */
    FX8_COMPARE_NO_POWER,    /**< an auto of the reference is not positive */
    FX8_COMPARE_NO_GAIN,     /**< an input was never levelled */
    FX8_COMPARE_CLIPPED,     /**< clip fraction above FX8_COMPARE_CLIPS */
    FX8_COMPARE_LOW_LEVEL,   /**< sigma below FX8_COMPARE_LEVEL */
    FX8_COMPARE_COHERENT,    /**< |rho| above FX8_COMPARE_COHERENCE */
    FX8_COMPARE_N_REASONS
};

/** Scores of a group of cells: each |delta|^2 over a variance.  Each has an
 *  expectation of 1 if only chance is at work. */
struct fx8_compare_scores {
    int64_t n;
    double high; /**< sum, over the largest variance that the file allows, of
                      |delta| less the largest effect of clips */
    double low;  /**< sum, over the predicted variance */
};

/** Sums over cells; rho = V / sqrt(P_i P_j), delta = rho_A - rho_B, and
 *  expected variance as above. */
struct fx8_compare_sums {
    int64_t n_cells;
    double difference; /**< sum |delta|^2 */
    double expected;   /**< sum of expected |delta|^2 */
    double ratio;      /**< sum |delta|^2 / expected */
    double coherence;  /**< sum |rho_B|^2 */
    double product[2]; /**< sum conj(rho_B) rho_A: re, im */
    struct fx8_compare_scores scores;
};

/** What the verdict checks besides the median. */
enum fx8_compare_check {
    FX8_COMPARE_CHECK_MASKS = 0, /**< flags and weights are the same */
    FX8_COMPARE_CHECK_ALL,       /**< all pairs together */
    FX8_COMPARE_CHECK_CHANNELS,  /**< the worst channel ... */
    FX8_COMPARE_CHECK_BASELINES,
    FX8_COMPARE_CHECK_DUMPS,
    FX8_COMPARE_CHECK_CELLS,
    FX8_COMPARE_CHECK_AUTOS,  /**< the worst cell of auto-correlations */
    FX8_COMPARE_CHECK_BOUNDS, /**< cells judged not by chance but by the most
                                   that rounding and clamping can do */
    FX8_COMPARE_N_CHECKS
};

/** A place in the data; a check of a group sets only what names the group. */
struct fx8_compare_place {
    size_t baseline, product, channel, dump;
};

/** The worst result of a check. */
struct fx8_compare_worst_of {
    int64_t n_judged;  /**< groups or cells judged */
    int64_t n_outside; /**< CHECK_MASKS and CHECK_BOUNDS: cells */
    struct fx8_compare_place place;
    double n_independent; /**< effective number of independent cells */
    double high, low;     /**< mean scores */
    double evidence;      /**< against chance: -ln of its bound */
    double ratio;         /**< measured over the most predicted, or over the
                               bound; for CHECK_MASKS: n_outside */
    double plain;         /**< for groups: measured over predicted */
    double limits[2];     /**< lower of plain, upper of ratio */
};

/** An input in a channel of the dump, computed once for all its pairs. */
struct fx8_compare_level {
    int reason;        /**< enum fx8_compare_reason, or N_REASONS */
    double noise;      /**< eps */
    double noise_most; /**< eps of the coarsest step of the averaged channels */
    double level_2;    /**< sigma^2 in that step */
    double finest_2;   /**< sigma^2 in the finest of them */
    double root_level; /**< sigma in the coarsest step */
    bool is_dithered;  /**< rounding is independent of the signal */
    double gain_error; /**< largest scale error by rounding on a lattice */
    double clip_loss;  /**< largest share of the power lost to clips */
    double inverse_power; /**< of the reference */
    double weight;        /**< nsamples of the auto */
    bool has_unit_gain;   /**< the gain was set because the level is zero */
};

/** The levels of the quantiser, or substitutes. */
struct fx8_compare_theory {
    size_t n_plan_channels;      /**< channels before channel_average */
    const double *gain;          /**< [n_inputs][n_plan_channels], 0: none */
    const double *ripple;        /**< [n_plan_channels] divided out; NULL: 1 */
    const double *clip_fraction; /**< the same shape, of the whole run */
    double spectra_per_dump;     /**< M */
    bool has_bias;               /**< autos include the quantiser's noise */
    bool has_dither; /**< noise of a step was added before rounding */
};

/** Sizes of both sets of visibilities.  `feeds` holds 0 (X or R) or 1 (Y or L)
 *  for ant_1 and ant_2 of each product. */
struct fx8_compare_shape {
    size_t n_antennas;
    size_t n_polarizations;
    size_t n_baselines;
    size_t n_channels;
    size_t n_products; /**< at most 4 */
    int feeds[4][2];
    bool is_circular; /**< feeds are R and L */
};

static inline size_t fx8_compare_inputs(const struct fx8_compare_shape *shape)
{
    return shape->n_antennas * shape->n_polarizations;
}

/** A baseline in a dump, or several that follow each other. */
struct fx8_compare_row {
    const double *visibilities; /**< [n_channels][n_products][re, im] */
    const uint8_t *flags;       /**< [n_channels][n_products] */
    const float *nsamples;      /**< [n_channels][n_products] */
    const float *singles;       /**< in place of visibilities, if these are
                                     NULL */
};

/** Auto-correlations of a dump, [n_inputs][n_channels] each. */
struct fx8_compare_autos {
    const double *reference, *subject; /**< powers */
    const double *weight;              /**< nsamples of both */
    double length;                     /**< of a whole dump: 1, or less */
    const double *clip_fraction; /**< [n_inputs][n_plan_channels] in this dump;
                                      NULL: that of the theory */
};

/** The quantiser of an input, over its channels as written.  NaN: no channel
 *  has a level. */
struct fx8_compare_input {
    size_t n_levelled; /**< channels with a gain */
    double gain_lowest, gain_median, gain_highest;
    double level_median; /**< LSB per real component */
    double clip_mean, clip_largest;
};

/** Arrays of a comparison. */
#define FX8_COMPARE_ARRAYS 21

/** Most ranges of channels that are added up side by side. */
#define FX8_COMPARE_PARTS 16

/**
 * What one thread at a time adds up: a range of channels, in the order of dumps
 * and baselines.  The ranges follow from the number of channels alone and are
 * merged in their order, so results do not depend on threads.
 */
struct fx8_compare_part {
    size_t first_channel, end_channel;
    bool is_identical;
    struct fx8_compare_sums autos;
    struct fx8_compare_sums *row; /**< of the baseline being added */
    struct fx8_compare_scores dump_scores;
    struct fx8_compare_spread phase, log_amplitude;
    struct fx8_compare_worst_of worst[FX8_COMPARE_N_CHECKS]; /**< of cells */
    int64_t left_out[FX8_COMPARE_N_REASONS];
    int64_t *inputs_left_out; /**< [N_REASONS][n_inputs] */
    double *values; /**< [2][its channels][n_products][re, im] of a baseline:
                         floats of the subject and of the reference */
};

/**
 * A comparison: first the sums, then (fx8_compare_finish) the figures.
 *
 * Notes: 1) A is the subject (INT8, if there is one), B the reference (FP32)
 *        2) inputs are antenna * n_polarizations + polarisation
 *        3) for averaged channels, eps of a group is the mean quantiser noise
 *           over the mean power, so 1/g^2 is averaged; the clip fraction is
 *           the largest of the group; a group with any channel without a gain
 *           is left out
 *        4) clips of a dump can only change that dump, so they decide which of
 *           its cells are left out; those of the whole run are reported
 */
struct fx8_comparison {
    char subject_name[FX8_TEXT_SIZE];
    char reference_name[FX8_TEXT_SIZE];
    struct fx8_compare_shape shape;
    bool has_theory;
    bool is_identical;
    bool lacks_levels; /**< INT8 against FP32, but no /fx8/gain */
    bool is_absolute;  /**< autos are missing: powers count as 1 and differences
                            are in the unit of the visibilities */
    char units[FX8_TEXT_SIZE];        /**< vis_units, "" if unknown */
    char precision[2][FX8_TEXT_SIZE]; /**< PRECISN of subject and reference */
    double spectra_per_mean;          /**< M times channel_average */
    double dump_spectra;    /**< the same for this dump, which may be shorter */
    bool has_bias;          /**< as in the theory */
    bool has_dither;        /**< likewise */
    double *inverse_gain_2; /**< [n_inputs][n_channels] mean 1/g^2, over ripple;
                                    0: none */
    double *coarsest_2;     /**< likewise: largest 1/g^2 of a group */
    double *finest_2;       /**< likewise: smallest */
    bool *has_unit_gain; /**< likewise: a gain set because the level is zero */
    size_t n_average;    /**< channels of the theory in a group */
    double *clip_fraction; /**< [n_inputs][n_channels] of the whole run */
    double *dump_clips;    /**< [n_inputs][n_channels] of this dump */
    double *power_sum;     /**< [n_inputs][n_channels] over dumps with power */
    int64_t *power_count;  /**< [n_inputs][n_channels] such dumps */
    int64_t n_dumps;
    struct fx8_compare_autos dump; /**< the powers of this dump */
    struct fx8_compare_level
        *levels;     /**< [n_inputs][n_channels] of this dump */
    double *scratch; /**< [n_channels] */
    size_t n_parts;
    struct fx8_compare_part *parts;    /**< [n_parts] */
    struct fx8_compare_sums *row_sums; /**< [n_parts][rows at a time] */
    double *values; /**< [n_channels][2][n_products][2], divided among parts */

    struct fx8_compare_sums overall;
    struct fx8_compare_sums *channels;  /**< [n_channels] */
    struct fx8_compare_sums *baselines; /**< [n_baselines] */
    struct fx8_compare_sums autos;      /**< auto-correlations alone */
    struct fx8_compare_spread phase;    /**< of A over B, rad, cell by cell */
    struct fx8_compare_spread log_amplitude; /**< ln |A / B|, if both have
                                                  an amplitude */
    struct fx8_compare_input *inputs;        /**< [n_inputs] */
    struct fx8_compare_worst_of worst[FX8_COMPARE_N_CHECKS];
    int64_t left_out[FX8_COMPARE_N_REASONS];
    int64_t *channels_left_out; /**< [N_REASONS][n_channels] cells */
    int64_t *inputs_left_out; /**< [1 + n_parts][N_REASONS][n_inputs] cells, of
                                   all and of each part */

    double *frequencies_hz;         /**< [n_channels], NaN if unknown */
    int64_t *antenna_numbers;       /**< [n_antennas] */
    size_t (*baseline_antennas)[2]; /**< [n_baselines] positions */

    struct fx8_array arrays[FX8_COMPARE_ARRAYS]; /**< all of the above */
    size_t n_arrays;

    size_t n_channels_used;
    double median_ratio;   /**< over channels used */
    double standard_error; /**< of median_ratio */
    double low, high;      /**< limits of median_ratio */
};

/**
 * fx8_compare_open -- start a comparison.
 *
 * Given:     shape   copied
 *            theory  copied as needed; n_plan_channels is a multiple of
 *                    n_channels.  NULL: measure only
 * Status:    FX8_ERR_SYSTEM: memory
 * Ownership: fx8_compare_clear() releases it, also after a failure
 */
enum fx8_status fx8_compare_open(const struct fx8_compare_shape *shape,
                                 const struct fx8_compare_theory *theory,
                                 struct fx8_comparison *comparison,
                                 struct fx8_error *error);

/** Bytes of a comparison of this shape. */
size_t fx8_compare_memory(const struct fx8_compare_shape *shape);

/** Start a dump; its powers are used until the next dump or the end. */
void fx8_compare_begin_dump(struct fx8_comparison *comparison,
                            const struct fx8_compare_autos *autos);

/**
 * fx8_compare_add -- baselines of the dump, on all CPUs.
 *
 * Given: first     index of the first, for the sums per baseline
 *        n_rows    number of baselines, whose baseline_antennas are set
 *        subject, reference  the first of n_rows, in the same cell order;
 *                            finite
 */
void fx8_compare_add(struct fx8_comparison *comparison, size_t first,
                     size_t n_rows, const struct fx8_compare_row *subject,
                     const struct fx8_compare_row *reference);

/** Form median_ratio, standard_error and all limits. */
void fx8_compare_finish(struct fx8_comparison *comparison);

/**
 * fx8_compare_files -- compare two UVH5 files, in either order.
 *
 * Given:     progress  of the rows read; NULL: none
 * Notes:     1) theory applies when one has PRECISN INT8 and the other FP32;
 *               else path_a is the subject and nothing is predicted
 *            2) a value that is not finite is an error
 *            3) where antennas lack their auto-correlations, there is no
 *               coherence: nothing is predicted, and visibilities are compared
 *               as they are
 * Status:    FX8_ERR_INPUT: unreadable; different antennas, baselines,
 *            products, frequencies or times; no levels in the INT8 file;
 *            FX8_ERR_SYSTEM: memory
 * Ownership: fx8_compare_clear() releases; empty after a failure
 */
enum fx8_status fx8_compare_files(const char *path_a, const char *path_b,
                                  struct fx8_progress_display *progress,
                                  struct fx8_comparison *comparison,
                                  struct fx8_error *error);

/** Release what a comparison owns; a zeroed one is legal. */
void fx8_compare_clear(struct fx8_comparison *comparison);

/**
 * fx8_compare_print -- print the table of figures, headed by the verdict.
 *
 * Given: brief  only the overall line, and the verdict after it
 */
void fx8_compare_print(const struct fx8_comparison *comparison, bool brief,
                       FILE *stream);

/** Print as JSON: an object with every channel, baseline and input. */
void fx8_compare_print_json(const struct fx8_comparison *comparison,
                            FILE *stream);

/** Print as a page with figures: HTML that is also XML, SVG inside.  Status:
 *  FX8_ERR_SYSTEM when memory is short. */
enum fx8_status fx8_compare_print_html(const struct fx8_comparison *comparison,
                                       FILE *stream, struct fx8_error *error);

/**
 * fx8_compare_verdict -- whether the difference is what theory predicts.
 *
 * Returned: reason  one line, also when inside: what failed, and where
 * Status:   true: identical, inside all limits, or nothing is predicted
 */
bool fx8_compare_verdict(const struct fx8_comparison *comparison,
                         char reason[FX8_TEXT_SIZE]);

/** The verdict in a word: "good", "outside", or "none" if nothing can be
 *  judged. */
const char *fx8_compare_verdict_word(const struct fx8_comparison *comparison);

#endif
