/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess_series.h -- private to the files of post-processing: flags,
 * weights and the channels that a mean is taken over, which are the same
 * whatever the sums are made of.
 */
#ifndef FX8_KERNELS_POSTPROCESS_SERIES_H
#define FX8_KERNELS_POSTPROCESS_SERIES_H

#include "kernels/operations.h"
#include "kernels/postprocess.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One product of one baseline: all that does not change from channel to
 *  channel. */
struct fx8_series {
    size_t first;                /**< item of channel 0 in the sums */
    size_t stride;               /**< items from channel to channel */
    double count;                /**< valid products */
    double nsamples;             /**< the same, over M */
    const uint8_t *flag_channel; /**< [n_channels] */
    const uint8_t *flag_cell_1, *flag_cell_2; /**< [n_channels] or NULL */
    bool is_flagged;                          /**< in every channel */
    bool is_auto, is_negated;                 /**< imaginary part: 0, minus */
};

/** The channels that become one. */
struct fx8_group {
    size_t first, n;
    double n_used;   /**< channels in the mean: the unflagged ones, or all */
    bool is_flagged; /**< all of them are */
    float nsamples;
};

/** The series of a product; counts as for fx8_postprocess_int8(). */
static inline struct fx8_series fx8_series_open(
    const struct fx8_postprocess *plan, const int64_t *counts,
    const struct fx8_product *product)
{
    const int64_t count = counts[product->pair];
    const size_t row_1 = product->input_1 * plan->n_channels;
    const size_t row_2 = product->input_2 * plan->n_channels;
    const bool has_cells = plan->flag_cell != NULL;
    struct fx8_series series;
    series.first = 2 * (size_t)product->pair;
    series.stride = 2 * fx8_pair_count(plan->n_inputs);
    series.count = (double)count;
    series.nsamples = (double)count / (double)plan->spectra_per_dump;
    series.flag_channel = plan->flag_channel;
    series.flag_cell_1 = has_cells ? plan->flag_cell + row_1 : NULL;
    series.flag_cell_2 = has_cells ? plan->flag_cell + row_2 : NULL;
    series.is_flagged = count == 0 || plan->flag_input[product->input_1] ||
                        plan->flag_input[product->input_2];
    series.is_auto = product->input_1 == product->input_2;
    series.is_negated = product->conjugate != plan->negate_imaginary;
    return series;
}

/** Whether one channel of a series is flagged. */
static inline bool fx8_series_is_flagged(const struct fx8_series *series,
                                         size_t channel)
{
    return series->is_flagged || series->flag_channel[channel] ||
           (series->flag_cell_1 != NULL &&
            (series->flag_cell_1[channel] || series->flag_cell_2[channel]));
}

/** Channels [first, first + n) of a series.  The weight of a channel is that
 *  of its series, so that their mean has equal weights. */
static inline struct fx8_group fx8_group_open(const struct fx8_series *series,
                                              size_t first, size_t n)
{
    size_t n_unflagged = 0;
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
static inline bool fx8_group_uses(const struct fx8_group *group,
                                  const struct fx8_series *series,
                                  size_t channel)
{
    return group->is_flagged || !fx8_series_is_flagged(series, channel);
}

#ifdef __cplusplus
}
#endif

#endif
