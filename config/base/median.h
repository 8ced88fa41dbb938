/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * median.h -- median; for an even number of values, the mean of the two in the
 * middle.
 */
#ifndef FX8_CONFIG_BASE_MEDIAN_H
#define FX8_CONFIG_BASE_MEDIAN_H

#include <stddef.h>

/** Median of values [n], which get sorted; none may be NaN.  NaN if n is 0.
 */
double fx8_median(double *values, size_t n);

/** The same of values that are not negative, faster and left in order;
 *  1 <= n < 2^32. */
double fx8_median_of_powers(const float *values, size_t n);

#endif
