/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spread.h -- the distribution of any number of values: a histogram of signed
 * doubles with 64 bins per factor of 2, from 2^-100 to 2^100.
 */
#ifndef FX8_CORRELATOR_COMPARE_SPREAD_H
#define FX8_CORRELATOR_COMPARE_SPREAD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "correlator/fx8.h"

/** A bin of positive doubles is the exponent and the first six bits of the
 *  fraction, the top bits of the representation, less those of LOWEST.  HALF
 *  holds zero and what is too small, its neighbours 2^-100 either way; what is
 *  too large counts in the last. */
#define FX8_COMPARE_SPREAD_SHIFT  46
#define FX8_COMPARE_SPREAD_LOWEST ((size_t)(1023 - 100) * 64 - 1)
#define FX8_COMPARE_SPREAD_HALF   ((size_t)200 * 64)

/** Values seen; all zero: none; open it before adding any. */
struct fx8_compare_spread {
    int64_t n;
    double sum;
    double sum_2;   /**< of the squares */
    double largest; /**< magnitude */
    int64_t *bins;
};

/** Bytes of the bins: from the most negative to the most positive value. */
#define FX8_COMPARE_SPREAD_BYTES                                               \
    ((2 * FX8_COMPARE_SPREAD_HALF + 1) * sizeof(int64_t))

/** Memory for the bins; fx8_compare_spread_clear() releases it. */
enum fx8_status fx8_compare_spread_open(struct fx8_compare_spread *spread,
                                        const char *what,
                                        struct fx8_error *error);

/** Release; a zeroed one is legal. */
void fx8_compare_spread_clear(struct fx8_compare_spread *spread);

/** Count a finite value. */
static inline void fx8_compare_spread_add(struct fx8_compare_spread *spread,
                                          double value)
{
    const double magnitude = fabs(value);
    uint64_t bits, whole;
    memcpy(&bits, &magnitude, sizeof bits);
    memcpy(&whole, &value, sizeof whole);
    const size_t is_negative = (size_t)(whole >> 63);
    size_t bin = (size_t)(bits >> FX8_COMPARE_SPREAD_SHIFT);
    bin = bin > FX8_COMPARE_SPREAD_LOWEST ? bin - FX8_COMPARE_SPREAD_LOWEST : 0;
    bin = bin < FX8_COMPARE_SPREAD_HALF ? bin : FX8_COMPARE_SPREAD_HALF;
    /* plus or minus bin: a branch on random signs would cost more */
    spread
        ->bins[FX8_COMPARE_SPREAD_HALF + (bin ^ -is_negative) + is_negative]++;
    spread->n++;
    spread->sum += value;
    spread->sum_2 += value * value;
    if (magnitude > spread->largest)
        spread->largest = magnitude;
}

/** Add the values of another. */
void fx8_compare_spread_merge(struct fx8_compare_spread *spread,
                              const struct fx8_compare_spread *more);

/** The value that a share of all, 0 to 1, does not exceed, to 1 % of itself:
 *  the middle of its bin, or half way to the next used bin if the share ends
 *  exactly between two; 0 without values. */
double fx8_compare_spread_quantile(const struct fx8_compare_spread *spread,
                                   double share);

/**
 * fx8_compare_spread_fill -- counts in even steps.
 *
 * Given:    first, step  bin k spans [first + k step, first + (k + 1) step)
 * Returned: counts       [n_counts]; a bin of the spread that spans several
 *                        counts is divided in proportion, so counts may be
 *                        fractions
 */
void fx8_compare_spread_fill(const struct fx8_compare_spread *spread,
                             double first, double step, size_t n_counts,
                             double *counts);

#endif
