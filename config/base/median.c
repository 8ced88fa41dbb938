/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

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

/* Split values[first .. last] around one of them: afterwards no value up to the
 * returned position is above any that follows (Hoare). */
static size_t partition(float *values, size_t first, size_t last)
{
    const float pivot = values[first + (last - first) / 2];
    size_t low = first, high = last;
    for (;;) {
        while (values[low] < pivot)
            low++;
        while (values[high] > pivot)
            high--;
        if (low >= high)
            return high;
        const float swapped = values[low];
        values[low++] = values[high];
        values[high--] = swapped;
    }
}

/* The value of rank k; smaller values end up before it, larger ones after. */
static float select_rank(float *values, size_t n, size_t k)
{
    size_t first = 0, last = n - 1;
    while (first < last) {
        const size_t border = partition(values, first, last);
        if (k <= border)
            last = border;
        else
            first = border + 1;
    }
    return values[k];
}

double fx8_median_float(float *values, size_t n)
{
    const double upper = (double)select_rank(values, n, n / 2);
    if (n % 2 == 1)
        return upper;
    float lower = values[0];
    for (size_t i = 1; i < n / 2; i++)
        if (values[i] > lower)
            lower = values[i];
    return ((double)lower + upper) / 2.0;
}
