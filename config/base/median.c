/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/median.h"

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fx8_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof *values, compare);
    return (values[(n - 1) / 2] + values[n / 2]) / 2.0;
}

/* Bits of a float: of two that are not negative, the larger has larger bits. */
static int32_t bits_of(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t count_up_to(const float *values, size_t n, int32_t most)
{
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += bits_of(values[i]) <= most;
    return count;
}

static float value_of(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Bits of the value of rank k, found one by one: passes without branches, which
 * compilers turn into vector code, cost a fifth of a partial sort. */
static int32_t select_rank(const float *values, size_t n, size_t k)
{
    int32_t low = INT32_MAX, high = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t bits = bits_of(values[i]);
        low = bits < low ? bits : low;
        high = bits > high ? bits : high;
    }
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (count_up_to(values, n, middle) > k)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Largest bits below `end`. */
static int32_t largest_below(const float *values, size_t n, int32_t end)
{
    int32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t bits = bits_of(values[i]);
        const int32_t below = bits < end ? bits : 0;
        largest = below > largest ? below : largest;
    }
    return largest;
}

double fx8_median_of_powers(const float *values, size_t n)
{
    const int32_t upper = select_rank(values, n, n / 2);
    const bool is_single =
        n % 2 == 1 || count_up_to(values, n, upper - 1) < n / 2;
    const int32_t lower = is_single ? upper : largest_below(values, n, upper);
    return ((double)value_of(lower) + (double)value_of(upper)) / 2.0;
}
