/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fisher.h -- the coherence of a baseline averaged over cells, by Fisher's
 * transformation, with its interval or an upper limit.
 *
 * The method assumes the same rho in all cells.  If rho differs, the average is
 * the tanh of the mean atanh.
 *
 * Noise makes the modulus r of a sample coherence over M independent products
 * too large, and its spread depends on r.  The noise is subtracted first,
 * r'^2 = r^2 - (1 - r^2)^2 / M, not below 0; z = atanh(r') then has the
 * variance 1 / (2 M) for any r, and averages with weight M.
 *
 * A bias remains that does not average down.  For complex normal samples
 * E atanh r = atanh rho + (rho + 1/rho) / (4 M).  Subtracting the noise removes
 * (1 - rho^2) / (2 M rho); (3 rho^2 - 1) / (4 M rho) remains in every cell and
 * is subtracted from the mean.
 *
 * An auto averages all spectra of its input, a product only the spectra that
 * both inputs have: M of M / f_1 and M / f_2.  The powers then do not cancel in
 * r and its spread is larger: the noise is (1 - f_1 r^2) (1 - f_2 r^2) / M, the
 * variance of z is g / (2 M),
 *
 *     g = (1 + rho^2 - 3/2 rho^2 (f_1 + f_2) + rho^4 f_1 f_2) / (1 - rho^2)^2
 *
 * (the second order of the logarithm of r; 1 where f is 1).  g also multiplies
 * the remaining bias.
 *
 * There is an average but no interval where these expansions do not hold: a
 * cell at |rho| = 1, fewer than 16 products M / g in a cell, or INT8 inputs
 * that differ by less than a step, so that their rounding is not independent.
 *
 * There is no interval either where |rho| sqrt(M) of a cell is below 5, because
 * too many cells are cut at 0.  The mean of the uncut r^2 - (1 - r^2)^2 / M
 * then gives an upper limit.
 */
#ifndef FX8_KERNELS_FISHER_H
#define FX8_KERNELS_FISHER_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/functions.h"
#include "kernels/numeric/coherence.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Least |rho| sqrt(M) of a cell for an interval. */
#define FX8_FISHER_DETECTION 5.0

/** Running sums of one product of one baseline; zero at first. */
struct fx8_fisher_sums {
    double weight;          /**< sum of M */
    double weighted_z;      /**< sum of M atanh r' */
    double weighted_power;  /**< sum of M times the uncut r'^2 */
    double weighted_sum;    /**< sum of M (f_1 + f_2) */
    double weighted_shares; /**< sum of M f_1 f_2 */
    double sum;             /**< sum of f_1 + f_2 */
    double shares;          /**< sum of f_1 f_2 */
    double weighted_steps;  /**< sum of M times the cell's `steps` */
    int64_t n_cells;
    int64_t n_cut;     /**< cells with r'^2 below 0 */
    int64_t n_clamped; /**< cells with r'^2 above FX8_FISHER_MOST_POWER */
};

/**
 * fx8_fisher_cells -- r' and z of a row of cells.
 *
 * Given:    functions   the mode's table
 *           mode        IEEE takes roots, FAST multiplies by rsqrt
 *           power       float [n] r^2, at most 1; above it counts as 1
 *           n_products  float [n] M, above 0
 *           share_1, share_2  float [n] f_1, f_2
 * Returned: unbiased    float [n] r^2 - (1 - f_1 r^2) (1 - f_2 r^2) / M
 *           z           float [n] atanh r'
 * Numerics: each step rounded to float
 */
void fx8_fisher_cells(const struct fx8_functions *functions,
                      enum fx8_functions_mode mode, size_t n,
                      const float *power, const float *n_products,
                      const float *share_1, const float *share_2,
                      float *unbiased, float *z);

/** One cell. */
struct fx8_fisher_cell {
    float n_products;       /**< M, above 0 */
    float share_1, share_2; /**< f_1, f_2 */
    float steps;    /**< 1 / (2 sigma^2), sigma the smaller level of the two
                         inputs in steps of the quantiser; FP32: 0 */
    float unbiased; /**< as fx8_fisher_cells() returns it */
    float z;
};

/** Add one cell; is_averaged 0 leaves the sums unchanged. */
FX8_NUMERIC void fx8_fisher_add(struct fx8_fisher_sums *sums, int is_averaged,
                                const struct fx8_fisher_cell *cell)
{
    const double one = is_averaged ? 1.0 : 0.0;
    const double m = one * (double)cell->n_products;
    const double sum = (double)cell->share_1 + (double)cell->share_2;
    const double shares = (double)cell->share_1 * (double)cell->share_2;
    const float unbiased = cell->unbiased;
    const int is_cut = unbiased < FX8_LEAST_POWER;
    const int is_clamped = unbiased > FX8_FISHER_MOST_POWER;
    sums->weight += m;
    sums->weighted_z += m * (double)cell->z;
    sums->weighted_power += m * (double)unbiased;
    sums->weighted_sum += m * sum;
    sums->weighted_shares += m * shares;
    sums->sum += one * sum;
    sums->shares += one * shares;
    sums->weighted_steps += m * (double)cell->steps;
    sums->n_cells += is_averaged;
    sums->n_cut += is_averaged & is_cut;
    sums->n_clamped += is_averaged & is_clamped;
}

/**
 * fx8_fisher_average -- the average, and its interval or limit.
 *
 * Given:    sums       see above
 *           functions  tanh is used
 *           inflation  variance of a mean of many cells relative to as many
 *                      independent ones, at least 1: see
 *                      fx8_filterbank_overlap()
 * Returned: average    see fx8.h
 * Notes:    1) interval: 95 %, z +- 1.96 sqrt(g inflation / (2 sum of M)).
 *              Limit: the largest rho for which a mean power as low as measured
 *              has a chance of 2.5 %, the upper end of such an interval.  With
 *              5 %, a rho at the border between the two would be covered in
 *              only 92.5 % of the cases
 *           2) the power of one cell has the variance (1 - rho^2)^2
 *              (2 g rho^2 M + 1) / M^2, taken as normal.  The true distribution
 *              is skewed to the right, so a limit of few cells covers more
 */
void fx8_fisher_average(const struct fx8_fisher_sums *sums,
                        const struct fx8_functions *functions, double inflation,
                        struct fx8_quicklook_average *average);

#ifdef __cplusplus
}
#endif

#endif
