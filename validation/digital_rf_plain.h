/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digital_rf_plain.h -- gains and fill values of Digital RF by definition, one
 * number and one row at a time.
 */
#ifndef FX8_VALIDATION_DIGITAL_RF_PLAIN_H
#define FX8_VALIDATION_DIGITAL_RF_PLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "io/digital_rf/digital_rf_reader.h"

static inline int compare_levels(const void *a, const void *b)
{
    return abs(*(const int16_t *)a) - abs(*(const int16_t *)b);
}

/** Shift of the gain 2^-shift for these numbers; sorts them by magnitude. */
static inline int plain_shift(int16_t *values, size_t n)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, compare_levels);
    const double rms =
        (abs(values[(n - 1) / 2]) + abs(values[n / 2])) / 2.0 / 0.6745;
    int shift = 0;
    while (rms / (1 << shift) > 32 && shift < FX8_DRF_MAX_SHIFT)
        shift++;
    return shift;
}

/** Whether a row is in a gap, found by walking its run of fill values. */
static inline bool plain_fill(const bool *is_fill, size_t n_rows, size_t row,
                              size_t shortest, bool starts, bool ends)
{
    if (!is_fill[row])
        return false;
    size_t first = row, end = row + 1;
    while (first > 0 && is_fill[first - 1])
        first--;
    while (end < n_rows && is_fill[end])
        end++;
    return end - first >= shortest || (starts && first == 0) ||
           (ends && end == n_rows);
}

#endif
