/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess.h -- from sums and counts to visibilities, flags and weights.
 */
#ifndef FX8_KERNELS_POSTPROCESS_H
#define FX8_KERNELS_POSTPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

struct fx8_operations;

#ifdef __cplusplus
extern "C" {
#endif

/** A result from a cell on; unchanged if it has no arrays. */
static inline struct fx8_result fx8_result_from(const struct fx8_result *all,
                                                size_t cell)
{
    struct fx8_result result = *all;
    if (all->visibilities == NULL)
        return result;
    result.visibilities += 2 * cell;
    result.flags += cell;
    result.nsamples += cell;
    return result;
}

/** Which pair of inputs makes a polarisation product of a baseline. */
struct fx8_product {
    uint32_t pair;    /**< fx8_pair_index(); of a strip: fx8_strip_index() */
    uint32_t input_1; /**< input of ant_1 */
    uint32_t input_2; /**< input of ant_2 */
    bool conjugate;   /**< the pair is (input_2, input_1) */
};

/**
 * How sums become results; the arrays belong to the caller.
 *
 * Notes: 1) baselines are (0,0), (0,1) … (0,n-1), (1,1) …; the products of a
 *           baseline are adjacent
 *        2) gain NULL: no quantiser; the unit of the sums is the square of the
 *           input, which is recorded values times input_gain.  gain itself is
 *           in units of recorded counts
 *        3) several bands side by side are post-processed one by one: gain,
 *           the flags of cells and the results point to the first channel of
 *           the band, and row_channels is the step to the next input or
 *           baseline
 *        4) products are those of fx8_baseline_table()
 *        5) of a strip of a dump, whose baselines start on antennas a to b - 1:
 *           the plan is that of the antennas from a on, n_starts is b - a,
 *           and products are those of fx8_baseline_strip()
 */
struct fx8_postprocess {
    const struct fx8_operations *operations; /**< NULL: the reference */
    size_t n_antennas, n_products, n_inputs;
    size_t n_starts;        /**< antennas on which the baselines start: the
                                 first ones; 0: all */
    size_t n_channels;      /**< C, of the sums */
    size_t row_channels;    /**< of gain, flags of cells and, over n, results;
                                 a multiple of n; 0: C, there is one band */
    size_t channel_average; /**< n: C / n channels come out */
    const struct fx8_product *products; /**< [n_baselines][n_products] */
    int64_t spectra_per_dump;           /**< M */
    const float *gain;        /**< [n_inputs][row_channels] or NULL; INT8's */
    const double *input_gain; /**< [n_inputs] floats, whose products are exact;
                                   used without gain; NULL: 1 */
    const double *ripple;     /**< [n_channels] powers by which the results
                                   are divided; NULL: 1 */
    const uint8_t *flag_channel; /**< [n_channels] */
    const uint8_t *flag_input;   /**< [n_inputs] */
    const uint8_t *flag_cell;    /**< [n_inputs][row_channels], or NULL: none;
                                      INT8's */
    const uint8_t *flag_float_cell; /**< likewise, of the other kinds */
    bool remove_bias;   /**< remove quantiser rounding noise from INT8 autos */
    bool has_dither;    /**< which doubles that noise */
    bool first_is_real; /**< the spectra of channel 0 are real */
    bool negate_imaginary; /**< the samples should have been conjugated */
    bool adds_flags;       /**< the caller flags more cells: an engine must not
                                take its own copy of the results for the
                                caller's */
    struct fx8_threads threads;
};

/** Antennas on which baselines start. */
static inline size_t fx8_postprocess_starts(const struct fx8_postprocess *plan)
{
    return plan->n_starts == 0 ? plan->n_antennas : plan->n_starts;
}

/**
 * fx8_postprocess_dump -- mean, unscale, de-bias, flag, average.
 *
 * Given:    sums    by kind, [n_channels][pair][re, im]: INT8 int64, the others
 *                   double, down <= up; NULL: kind not computed
 *           counts  int64 [pair] valid products
 * Returned: results  by kind, for kinds with sums, [n_baselines][row_channels /
 *                    channel_average][n_products], all elements set
 * Numerics: (float)((double)sum / count / (g_i g_j)), one rounding per
 *           operation, g_i g_j exact; autos have an imaginary part of exactly
 *           0.  Bounds: the same operations in the same order, rounded
 *           downwards and upwards in any rounding mode of the caller.  The
 *           exact mean of any sums between the bounds lies between the results;
 *           so do the FP32 results of such sums.  With ripple each channel is
 *           divided by it last, before it is rounded to float or averaged
 * Notes:    1) no valid product: value 0, weight 0, flagged
 *           2) bias: 1/12 per real component in quantiser steps squared, 1/6
 *              per product of complex spectra; twice that with dither.
 *              Subtracted from parallel-hand autos if the level of a component
 *              without bias, sqrt(mean / 2) or, for real spectra, sqrt(mean),
 *              is at least 1 step; below that the uniform model of rounding
 *              fails.  Not clamped at 0
 *           3) average: mean of the unflagged channels of a group, with equal
 *              weights because nsamples is the same for all channels of a pair;
 *              nsamples is their sum divided by n.  A group with all channels
 *              flagged is flagged and holds the mean of all of them
 * Source:   DESIGN section 2, "Value written"
 */
void fx8_postprocess_dump(const struct fx8_postprocess *plan, void *const *sums,
                          const int64_t *counts,
                          const struct fx8_result *results);

/** The part of fx8_postprocess_dump() for INT8 or FP32, by the operation
 *  `unscale`, which is not NULL: the same bits. */
void fx8_postprocess_tiles(const struct fx8_postprocess *plan, const void *sums,
                           bool is_int8, const int64_t *counts,
                           const struct fx8_result *results);

/** The part of fx8_postprocess_dump() for DOWN and UP. */
void fx8_postprocess_interval(const struct fx8_postprocess *plan,
                              void *const *sums, const int64_t *counts,
                              const struct fx8_result *results);

/**
 * fx8_postprocess_bands -- average across bands of one channel each.
 *
 * Given:    n         bands averaged into one, a divisor of n_bands
 *           kind      of the results: bounds are rounded outwards
 * Changed:  results   [n_baselines][n_bands][n_products] become
 *                     [n_baselines][n_bands / n][n_products] at the beginning
 * Numerics: sum of w v over sum of w in double, w the weight nsamples, then
 *           rounded to float
 * Notes:    mean of the unflagged bands of a group, as in
 *           fx8_postprocess_dump(), but weights may differ; nsamples is their
 *           sum divided by n
 */
void fx8_postprocess_bands(size_t n_baselines, size_t n_bands,
                           size_t n_products, size_t n,
                           enum fx8_result_kind kind,
                           const struct fx8_result *results);

/** Flag the first n_cells cells of a result whose nsamples is below min_weight,
 *  rounded to float as they are; 0: none.  Averages come first: it is the
 *  weight of the cell as it is written. */
void fx8_postprocess_flag_light(size_t n_cells, double min_weight,
                                struct fx8_threads threads,
                                const struct fx8_result *result);

/**
 * fx8_postprocess_pack -- keep the results of some baselines.
 *
 * Given:    first      baseline of the first row
 *           baselines  [n] to keep, ascending
 *           n_cells    of a row: channels times products
 * Changed:  result     [baselines from `first` on][n_cells] become [n][n_cells]
 *                      at the beginning; untouched if it has no arrays
 */
void fx8_postprocess_pack(size_t first, const size_t *baselines, size_t n,
                          size_t n_cells, const struct fx8_result *result);

#ifdef __cplusplus
}
#endif

#endif
