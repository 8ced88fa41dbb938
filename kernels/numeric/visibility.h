/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * visibility.h -- one cell of the results of a dump: its flag, its weight, the
 * channels averaged in it, and their mean.  Flags and weights do not depend on
 * the kind of the sums.
 *
 * Notes: 1) arithmetic in double, each operation rounded once; the only
 *           products that are added to anything are by powers of two, which are
 *           exact, so contraction changes nothing
 *        2) the pointers of a plan point to memory of the calling side, host or
 *           device
 */
#ifndef FX8_KERNELS_NUMERIC_VISIBILITY_H
#define FX8_KERNELS_NUMERIC_VISIBILITY_H

#include "kernels/numeric/target.h"
#include "kernels/operations.h"
#include "kernels/postprocess.h"

/** Rounding noise of a component that is removed, in quantiser steps squared: a
 *  uniform error of one step; dither adds another.  It is independent enough to
 *  be removed if the power without it is at least 1, a level of one step. */
FX8_NUMERIC double fx8_rounding_noise(const struct fx8_postprocess *plan)
{
    const double one = 1.0 / 12.0;
    return !plan->remove_bias ? 0.0 : plan->has_dither ? 2.0 * one : one;
}

/** Channels from an input or a baseline to the next, before averaging. */
FX8_NUMERIC size_t fx8_postprocess_row(const struct fx8_postprocess *plan)
{
    return plan->row_channels == 0 ? plan->n_channels : plan->row_channels;
}

/** Pairs of the sums and counts; without a division, which is slow on a
 *  device. */
FX8_NUMERIC size_t fx8_postprocess_pairs(const struct fx8_postprocess *plan)
{
    const size_t n_polarizations = plan->n_products > 1 ? 2 : 1;
    return plan->n_starts == 0
               ? fx8_pair_count(plan->n_inputs)
               : fx8_strip_count(plan->n_inputs,
                                 plan->n_starts * n_polarizations);
}

/** Index of an output channel in the results, in cells. */
static inline size_t fx8_postprocess_cell(const struct fx8_postprocess *plan,
                                          size_t baseline, size_t channel,
                                          size_t product)
{
    const size_t row = fx8_postprocess_row(plan) / plan->channel_average;
    return (baseline * row + channel) * plan->n_products + product;
}

/** One product of one baseline: everything independent of the channel. */
struct fx8_series {
    size_t first;                /**< item of channel 0 in the sums */
    size_t stride;               /**< items from channel to channel */
    double count;                /**< valid products */
    double nsamples;             /**< the same, over M */
    double scale;                /**< divisor without gains: input_gain's */
    const double *ripple;        /**< [n_channels] another divisor, or NULL */
    const uint8_t *flag_channel; /**< [n_channels] */
    const uint8_t *flag_cell_1, *flag_cell_2; /**< [n_channels] or NULL */
    bool is_flagged;                          /**< in every channel */
    bool is_auto, is_negated;                 /**< imaginary part: 0, minus */
};

/** Channels averaged into one. */
struct fx8_group {
    size_t first, n;
    double n_used;   /**< channels in the mean: the unflagged ones, or all */
    bool is_flagged; /**< all channels are flagged */
    float nsamples;
};

/** The series of a product; counts as for fx8_postprocess_dump(). */
FX8_NUMERIC struct fx8_series fx8_series_open(
    const struct fx8_postprocess *plan, bool is_int8, const int64_t *counts,
    const struct fx8_product *product)
{
    const int64_t count = counts[product->pair];
    const size_t row_1 = product->input_1 * fx8_postprocess_row(plan);
    const size_t row_2 = product->input_2 * fx8_postprocess_row(plan);
    const uint8_t *cells = is_int8 ? plan->flag_cell : plan->flag_float_cell;
    struct fx8_series series;
    series.first = 2 * (size_t)product->pair;
    series.stride = 2 * fx8_postprocess_pairs(plan);
    series.count = (double)count;
    series.nsamples = (double)count / (double)plan->spectra_per_dump;
    series.flag_channel = plan->flag_channel;
    series.flag_cell_1 = cells != NULL ? cells + row_1 : NULL;
    series.flag_cell_2 = cells != NULL ? cells + row_2 : NULL;
    series.ripple = plan->ripple;
    series.scale = 1.0;
    if (plan->input_gain != NULL)
        series.scale = plan->input_gain[product->input_1] *
                       plan->input_gain[product->input_2];
    series.is_flagged = count == 0 || plan->flag_input[product->input_1] ||
                        plan->flag_input[product->input_2];
    series.is_auto = product->input_1 == product->input_2;
    series.is_negated = product->conjugate != plan->negate_imaginary;
    return series;
}

/** Whether one channel of a series is flagged. */
FX8_NUMERIC bool fx8_series_is_flagged(const struct fx8_series *series,
                                       size_t channel)
{
    /* no branches */
    const int is_cell =
        series->flag_cell_1 != NULL &&
        (series->flag_cell_1[channel] | series->flag_cell_2[channel]) != 0;
    return (series->is_flagged | (series->flag_channel[channel] != 0) |
            is_cell) != 0;
}

/** Channels [first, first + n) of a series.  All channels of a series have the
 *  same weight. */
FX8_NUMERIC struct fx8_group fx8_group_open(const struct fx8_series *series,
                                            size_t first, size_t n)
{
    size_t n_unflagged = 0;
    FX8_ROLLED
    for (size_t c = first; c < first + n; c++)
        n_unflagged += !fx8_series_is_flagged(series, c);
    const size_t n_used = n_unflagged > 0 ? n_unflagged : n;
    const struct fx8_group group = {
        first,
        n,
        (double)n_used,
        n_unflagged == 0,
        (float)(n_used == n ? series->nsamples
                            : series->nsamples * (double)n_used / (double)n),
    };
    return group;
}

/** Whether a channel of a group is in its mean. */
FX8_NUMERIC bool fx8_group_uses(const struct fx8_group *group,
                                const struct fx8_series *series, size_t channel)
{
    return group->is_flagged || !fx8_series_is_flagged(series, channel);
}

/** A series with its sums. */
struct fx8_series_sums {
    struct fx8_series series;
    bool is_int8;
    const int64_t *int8;          /**< of channel 0, if is_int8 */
    const double *fp32;           /**< of channel 0, if not */
    const float *gain_1, *gain_2; /**< [n_channels] or NULL */
    double noise;                 /**< of a component, to be removed; 0: none */
    bool first_is_real;           /**< channel 0 has one component, not two */
};

/** The series of a product and its sums; arrays as for
 *  fx8_postprocess_dump(). */
FX8_NUMERIC struct fx8_series_sums fx8_series_sums_open(
    const struct fx8_postprocess *plan, const void *all, bool is_int8,
    const int64_t *counts, const struct fx8_product *product)
{
    const int64_t *const int8 = (const int64_t *)all;
    const double *const fp32 = (const double *)all;
    const bool has_gain = is_int8 && plan->gain != NULL;
    const size_t row_1 = product->input_1 * fx8_postprocess_row(plan);
    const size_t row_2 = product->input_2 * fx8_postprocess_row(plan);
    struct fx8_series_sums sums;
    sums.series = fx8_series_open(plan, is_int8, counts, product);
    sums.is_int8 = is_int8;
    sums.int8 = is_int8 ? int8 + sums.series.first : NULL;
    sums.fp32 = is_int8 ? NULL : fp32 + sums.series.first;
    sums.gain_1 = has_gain ? plan->gain + row_1 : NULL;
    sums.gain_2 = has_gain ? plan->gain + row_2 : NULL;
    sums.noise =
        has_gain && sums.series.is_auto ? fx8_rounding_noise(plan) : 0.0;
    sums.first_is_real = plan->first_is_real;
    return sums;
}

/** A value before it is rounded to float. */
struct fx8_visibility {
    double re, im;
};

/** One channel of a series that has valid products. */
FX8_NUMERIC struct fx8_visibility fx8_visibility_of(
    const struct fx8_series_sums *sums, size_t channel)
{
    const struct fx8_series *series = &sums->series;
    const size_t at = channel * series->stride;
    const bool is_int8 = sums->is_int8;
    double re = is_int8 ? (double)sums->int8[at] : sums->fp32[at];
    double im = is_int8 ? (double)sums->int8[at + 1] : sums->fp32[at + 1];
    re /= series->count;
    im /= series->count;
    const double n_parts = sums->first_is_real && channel == 0 ? 1.0 : 2.0;
    const double noise = n_parts * sums->noise; /* exact */
    if (re - noise >= n_parts)
        re -= noise;
    if (sums->gain_1 != NULL) {
        const double scale =
            (double)sums->gain_1[channel] * (double)sums->gain_2[channel];
        re /= scale;
        im /= scale;
    } else if (series->scale != 1.0) {
        re /= series->scale;
        im /= series->scale;
    }
    if (series->ripple != NULL) {
        re /= series->ripple[channel];
        im /= series->ripple[channel];
    }
    const struct fx8_visibility value = {re, series->is_auto      ? 0.0
                                             : series->is_negated ? -im
                                                                  : im};
    return value;
}

/** Value of a group of one channel; 0 without a valid product. */
FX8_NUMERIC struct fx8_visibility fx8_visibility_single(
    const struct fx8_series_sums *sums, const struct fx8_group *group)
{
    const struct fx8_visibility none = {0.0, 0.0};
    return sums->series.count == 0.0 ? none
                                     : fx8_visibility_of(sums, group->first);
}

/** Mean of the used channels of a group; 0 without a valid product. */
FX8_NUMERIC struct fx8_visibility fx8_visibility_mean(
    const struct fx8_series_sums *sums, const struct fx8_group *group)
{
    struct fx8_visibility sum = {0.0, 0.0};
    if (sums->series.count == 0.0)
        return sum;
    FX8_ROLLED
    for (size_t c = group->first; c < group->first + group->n; c++) {
        /* select instead of branch: few channels are flagged */
        const bool is_used = fx8_group_uses(group, &sums->series, c);
        const struct fx8_visibility value = fx8_visibility_of(sums, c);
        sum.re = is_used ? sum.re + value.re : sum.re;
        sum.im = is_used ? sum.im + value.im : sum.im;
    }
    sum.re /= group->n_used;
    sum.im /= group->n_used;
    return sum;
}

#endif
