/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * median.h -- the value in the middle: that of an even number of values is the
 * mean of the two in the middle.
 */
#ifndef FX8_CONFIG_BASE_MEDIAN_H
#define FX8_CONFIG_BASE_MEDIAN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Median of values [n], which are sorted, none of them NaN; NaN where n is 0.
 */
double fx8_median(double *values, size_t n);

/** The same, faster, of values that are only put into another order; n >= 1. */
double fx8_median_float(float *values, size_t n);

#ifdef __cplusplus
}
#endif

#endif
