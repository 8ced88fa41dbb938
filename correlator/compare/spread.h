/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spread.h -- the distribution of more values than can be kept: a
 * histogram of signed doubles with 64 bins in a factor of 2.
 */
#ifndef FX8_CORRELATOR_COMPARE_SPREAD_H
#define FX8_CORRELATOR_COMPARE_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Values seen; all zero: none, and none may be added before it is opened. */
struct fx8_compare_spread {
    int64_t n;
    double sum;
    double sum_2;   /**< of the squares */
    double largest; /**< magnitude */
    int64_t *bins;
};

/** Memory for the bins (2 MiB); fx8_compare_spread_clear() releases it. */
enum fx8_status fx8_compare_spread_open(struct fx8_compare_spread *spread,
                                        const char *what,
                                        struct fx8_error *error);

/** Release; a zeroed one is legal. */
void fx8_compare_spread_clear(struct fx8_compare_spread *spread);

/** Count a finite value. */
void fx8_compare_spread_add(struct fx8_compare_spread *spread, double value);

/** The value that a share of all, 0 to 1, does not exceed, to 1 % of itself:
 *  the middle of its bin, or half way between two where the share ends exactly
 *  between them; 0 without any. */
double fx8_compare_spread_quantile(const struct fx8_compare_spread *spread,
                                   double share);

/**
 * fx8_compare_spread_fill -- counts in even steps.
 *
 * Given:    first, step  bin k spans [first + k step, first + (k + 1) step)
 * Returned: counts       [n_counts]; a bin of the spread that spans several
 *                        is shared out in proportion, hence no whole numbers
 */
void fx8_compare_spread_fill(const struct fx8_compare_spread *spread,
                             double first, double step, size_t n_counts,
                             double *counts);

#ifdef __cplusplus
}
#endif

#endif
