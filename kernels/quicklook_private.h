/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_private.h -- inside the quick-look: quicklook.c evaluates a mode,
 * quicklook_compare.c compares the two modes.
 */
#ifndef FX8_KERNELS_QUICKLOOK_PRIVATE_H
#define FX8_KERNELS_QUICKLOOK_PRIVATE_H

#include <stdbool.h>

#include "kernels/fisher.h"
#include "kernels/quicklook.h"
#include "kernels/quicklook_cell.h"

/** Most cells in a tile: its arrays stay within the first-level cache. */
#define FX8_QUICKLOOK_TILE 512

/** Some channels of one baseline, all products, product fastest. */
struct fx8_quicklook_tile {
    size_t baseline, first_channel, n_channels;
    size_t n; /**< cells */
    float rho[2 * FX8_QUICKLOOK_TILE];
    float re[FX8_QUICKLOOK_TILE], im[FX8_QUICKLOOK_TILE];
    float power[FX8_QUICKLOOK_TILE];
    float amplitude[FX8_QUICKLOOK_TILE];
    float phase[FX8_QUICKLOOK_TILE];
    float n_products[FX8_QUICKLOOK_TILE]; /**< M; 1 where not averaged */
    float share_1[FX8_QUICKLOOK_TILE], share_2[FX8_QUICKLOOK_TILE]; /**< f */
    float steps[FX8_QUICKLOOK_TILE]; /**< struct fx8_fisher_cell; LOUD */
    float unbiased[FX8_QUICKLOOK_TILE];
    float z[FX8_QUICKLOOK_TILE];
    int32_t is_good[FX8_QUICKLOOK_TILE];     /**< has a coherence */
    int32_t is_averaged[FX8_QUICKLOOK_TILE]; /**< goes into the average */
};

/** Notes of one thread.  They hold integers and maxima, so the totals do not
 *  depend on how work is split. */
struct fx8_quicklook_note {
    struct fx8_quicklook_counts counts;
    struct fx8_quicklook_differences differences;
    uint8_t distance[64]; /**< against false sharing */
};

struct fx8_quicklook {
    struct fx8_quicklook_plan plan;
    bool is_checked; /**< this dump is evaluated in both modes */
    int64_t n_dumps, n_checked;
    size_t check_stride; /**< stride of the checked baselines */
    size_t *autos;       /**< [n_inputs] index of product (input, input) */
    uint8_t *is_real;    /**< [n_channels] fx8_quicklook_is_real() */
    float *scale[FX8_N_FUNCTIONS_MODES]; /**< [n_inputs][n_channels] rsqrt(P),
                                              0 without power */
    float *power;                 /**< [n_inputs][n_channels] of the auto */
    float *weight;                /**< likewise, nsamples of the auto */
    float *steps;                 /**< likewise; struct fx8_fisher_cell; LOUD */
    struct fx8_fisher_sums *sums; /**< [n_baselines][n_products] */
    struct fx8_quicklook_pair *pairs; /**< likewise; fast mode only */
    struct fx8_quicklook_note *notes; /**< [n_threads] */
    struct fx8_quicklook_bounds bounds;
};

/** One dump being processed. */
struct fx8_quicklook_job {
    struct fx8_quicklook *quicklook;
    const struct fx8_result *in;
    const float *gain; /**< or NULL */
    const struct fx8_quicklook_dump *out;
};

/** Index of the first product's cell. */
static inline size_t fx8_quicklook_cell(const struct fx8_quicklook_plan *plan,
                                        size_t baseline, size_t channel)
{
    return (baseline * plan->n_channels + channel) * plan->n_products;
}

/** Whether the spectra of a channel are real. */
static inline bool fx8_quicklook_is_real(const struct fx8_quicklook_plan *plan,
                                         size_t channel)
{
    if (plan->real_channel >= plan->n_channels)
        return false;
    const size_t band =
        plan->band_channels == 0 ? plan->n_channels : plan->band_channels;
    return channel % band == plan->real_channel;
}

/** Compute levels, scales, weights and steps of one input; an item of
 *  fx8_parallel_for() with a struct fx8_quicklook_job. */
void fx8_quicklook_input(void *context, size_t input, size_t thread);

/** Fill a tile in one mode: rho and everything derived from it, M, and which
 *  cells are averaged. */
void fx8_quicklook_evaluate(const struct fx8_quicklook *quicklook,
                            enum fx8_functions_mode mode,
                            const struct fx8_result *visibilities,
                            struct fx8_quicklook_tile *tile);

/** Set the bounds of the modes' differences from kernels/numeric/bounds.h, for
 *  the parts computed on `device`, "host" or "cuda", and those on the host. */
void fx8_quicklook_set_bounds(const char *device,
                              struct fx8_quicklook_bounds *bounds);

/** Compare the same tile in IEEE and fast mode. */
void fx8_quicklook_compare(struct fx8_quicklook *quicklook,
                           const struct fx8_quicklook_tile *ieee,
                           const struct fx8_quicklook_tile *fast,
                           struct fx8_quicklook_differences *differences);

/** Compare n levels in dB. */
void fx8_quicklook_compare_spectra(
    const struct fx8_quicklook_bounds *bounds, size_t n, const float *ieee,
    const float *fast, struct fx8_quicklook_differences *differences);

/** Compare the averages of both modes. */
void fx8_quicklook_compare_averages(
    const struct fx8_quicklook *quicklook,
    struct fx8_quicklook_differences *differences);

/** Merge: the larger difference, and the sum of the counts beyond bounds. */
void fx8_quicklook_merge(struct fx8_quicklook_difference *sum,
                         const struct fx8_quicklook_difference *part);

#endif
