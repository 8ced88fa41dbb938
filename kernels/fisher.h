/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fisher.h -- the coherence of a baseline averaged over cells, by Fisher's
 * transformation, with its interval or an upper limit.
 *
 * The modulus r of a sample coherence over M independent products is too large
 * by its noise, and its spread depends on itself.  The noise is taken off
 * first, r'^2 = r^2 - (1 - r^2)^2 / M, not below 0; z = atanh(r') then has the
 * variance 1 / (2 M) whatever r is, and averages with weight M.
 *
 * What is left of the bias does not average down: for complex normal samples
 * E atanh r = atanh rho + (rho + 1/rho) / (4 M), of which the removal of noise
 * takes (1 - rho^2) / (2 M rho) off, so that (3 rho^2 - 1) / (4 M rho) stays
 * in every cell.  It is subtracted from the mean.
 *
 * Where |rho| sqrt(M) of a cell is below 5, too many cells are cut at 0 for
 * that: there the mean of the uncut r^2 - (1 - r^2)^2 / M gives an upper limit.
 */
#ifndef FX8_KERNELS_FISHER_H
#define FX8_KERNELS_FISHER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/functions.h"
#include "kernels/numeric/coherence.h"
#include "kernels/quicklook_results.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where |rho| sqrt(M) of a cell becomes an interval. */
#define FX8_FISHER_DETECTION 5.0

/** Running sums of one product of one baseline; zero at first. */
struct fx8_fisher_sums {
    double weight;         /**< sum of M */
    double weighted_z;     /**< sum of M atanh r' */
    double weighted_power; /**< sum of M (r^2 - (1 - r^2)^2 / M), uncut */
    int64_t n_cells;
    int64_t n_cut;     /**< of them r'^2 was below 0 */
    int64_t n_clamped; /**< of them r'^2 was above FX8_FISHER_MOST_POWER */
};

/**
 * fx8_fisher_cells -- r' and z of a row of cells.
 *
 * Given:    functions   the mode's table
 *           mode        IEEE takes roots, FAST multiplies by rsqrt
 *           power       float [n] r^2, at most 1; above it counts as 1
 *           n_products  float [n] M, above 0
 * Returned: unbiased    float [n] r^2 - (1 - r^2)^2 / M
 *           z           float [n] atanh r'
 * Numerics: each step rounded to float
 */
void fx8_fisher_cells(const struct fx8_functions *functions,
                      enum fx8_functions_mode mode, size_t n,
                      const float *power, const float *n_products,
                      float *unbiased, float *z);

/** Add one cell, or one of weight 0 that changes nothing. */
static inline void fx8_fisher_add(struct fx8_fisher_sums *sums, int is_averaged,
                                  float n_products, float unbiased, float z)
{
    const double m = is_averaged ? (double)n_products : 0.0;
    const int is_cut = unbiased < FX8_LEAST_POWER;
    const int is_clamped = unbiased > FX8_FISHER_MOST_POWER;
    sums->weight += m;
    sums->weighted_z += m * (double)z;
    sums->weighted_power += m * (double)unbiased;
    sums->n_cells += is_averaged;
    sums->n_cut += is_averaged & is_cut;
    sums->n_clamped += is_averaged & is_clamped;
}

/**
 * fx8_fisher_average -- the average, and its interval or limit.
 *
 * Given:    sums       see above
 *           functions  whose tanh leads back
 *           inflation  variance of a mean of many cells beside that of as many
 *                      independent ones, at least 1: see
 *                      fx8_filterbank_overlap()
 * Returned: average    see quicklook_results.h
 * Notes:    1) 95 %: z +- 1.96 sqrt(inflation / (2 sum of M)); a limit is
 *              the largest rho whose mean power would lie as low as the
 *              measured one, or lower, with a chance of 2.5 %: the upper end of
 *              such an interval.  With 5 % the intervals and limits of a rho
 *              at the border, where either may come out, would cover it in
 *              92.5 % of the cases
 *           2) the power of one cell has the variance (1 - rho^2)^2
 *              (2 rho^2 M + 1) / M^2,
 *              taken as normal: its distribution leans to the right, so that a
 *              limit of few cells covers more
 */
void fx8_fisher_average(const struct fx8_fisher_sums *sums,
                        const struct fx8_functions *functions, double inflation,
                        struct fx8_quicklook_average *average);

#ifdef __cplusplus
}
#endif

#endif
