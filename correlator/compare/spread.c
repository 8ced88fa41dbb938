/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "correlator/compare/spread.h"

/* A bin of positive doubles: the exponent and the first six bits of the
 * fraction, which are the top bits of the representation. */
#define BIN_SHIFT 46
#define N_HALF    ((size_t)1 << (63 - BIN_SHIFT))

/* Bins run from the most negative to the most positive value; bin N_HALF holds
 * zero and values too small to have any of these bits. */
#define N_BINS (2 * N_HALF)

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

void fx8_compare_spread_add(struct fx8_compare_spread *spread, double value)
{
    const double magnitude = fabs(value);
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    const size_t bin = (size_t)(bits >> BIN_SHIFT);
    spread->bins[value < 0.0 ? N_HALF - bin : N_HALF + bin]++;
    spread->n++;
    spread->sum += value;
    spread->sum_2 += value * value;
    spread->largest = fmax(spread->largest, magnitude);
}

/* Lower edge of bin `bin` of the positive doubles. */
static double edge_of(size_t bin)
{
    const uint64_t bits = (uint64_t)bin << BIN_SHIFT;
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
