/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "correlator/compare/spread.h"

/* Bins run from the most negative to the most positive value. */
#define N_HALF FX8_COMPARE_SPREAD_HALF
#define N_BINS (2 * N_HALF + 1)

enum fx8_status fx8_compare_spread_open(struct fx8_compare_spread *spread,
                                        const char *what,
                                        struct fx8_error *error)
{
    *spread = (struct fx8_compare_spread){.n = 0};
    return fx8_allocate(N_BINS, sizeof *spread->bins, what, &spread->bins,
                        error);
}

void fx8_compare_spread_clear(struct fx8_compare_spread *spread)
{
    free(spread->bins);
    *spread = (struct fx8_compare_spread){.n = 0};
}

void fx8_compare_spread_merge(struct fx8_compare_spread *spread,
                              const struct fx8_compare_spread *more)
{
    for (size_t bin = 0; bin < N_BINS && more->n > 0; bin++)
        if (more->bins[bin] != 0)
            spread->bins[bin] += more->bins[bin];
    spread->n += more->n;
    spread->sum += more->sum;
    spread->sum_2 += more->sum_2;
    spread->largest = fmax(spread->largest, more->largest);
}

/* Lower edge of bin `bin` of the positive doubles, from 1 up. */
static double edge_of(size_t bin)
{
    const uint64_t bits = (uint64_t)(bin + FX8_COMPARE_SPREAD_LOWEST)
                          << FX8_COMPARE_SPREAD_SHIFT;
    double edge;
    memcpy(&edge, &bits, sizeof edge);
    return edge;
}

/* Both edges of a bin; equal for the bin of zero. */
static void edges_of(size_t bin, double *low, double *high)
{
    *low = *high = 0.0;
    if (bin > N_HALF) {
        *low = edge_of(bin - N_HALF);
        *high = edge_of(bin - N_HALF + 1);
    } else if (bin < N_HALF) {
        *low = -edge_of(N_HALF - bin + 1);
        *high = -edge_of(N_HALF - bin);
    }
}

/* The first bin at or after `bin` with values; N_BINS: none. */
static size_t next_bin(const struct fx8_compare_spread *spread, size_t bin)
{
    while (bin < N_BINS && spread->bins[bin] == 0)
        bin++;
    return bin;
}

static double middle_of(size_t bin)
{
    double low, high;
    edges_of(bin, &low, &high);
    return 0.5 * (low + high);
}

double fx8_compare_spread_quantile(const struct fx8_compare_spread *spread,
                                   double share)
{
    const double wanted = share * (double)spread->n;
    if (spread->n == 0)
        return 0.0;
    size_t bin = next_bin(spread, 0);
    int64_t below = spread->bins[bin];
    for (size_t next; (double)below < wanted; below += spread->bins[bin]) {
        if ((next = next_bin(spread, bin + 1)) == N_BINS)
            break;
        bin = next;
    }
    /* the share ends between two bins: half way */
    const size_t next = next_bin(spread, bin + 1);
    return (double)below == wanted && next < N_BINS
               ? 0.5 * (middle_of(bin) + middle_of(next))
               : middle_of(bin);
}

void fx8_compare_spread_fill(const struct fx8_compare_spread *spread,
                             double first, double step, size_t n_counts,
                             double *counts)
{
    memset(counts, 0, n_counts * sizeof *counts);
    for (size_t bin = 0; bin < N_BINS && spread->n > 0; bin++) {
        if (spread->bins[bin] == 0)
            continue;
        double low, high;
        edges_of(bin, &low, &high);
        const double count = (double)spread->bins[bin];
        /* in units of steps from `first` */
        low = (low - first) / step;
        high = (high - first) / step;
        if (high < 0.0 || low >= (double)n_counts)
            continue;
        const size_t from = low > 0.0 ? (size_t)low : 0;
        for (size_t k = from; k < n_counts && (double)k <= high; k++) {
            const double begin = fmax(low, (double)k);
            const double end = fmin(high, (double)(k + 1));
            counts[k] +=
                high > low ? count * (end - begin) / (high - low) : count;
            if (high == low)
                break;
        }
    }
}
