/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half_definition.h -- rounding to half precision, defined without bit
 * arithmetic: the 31,744 floats at which the nearest half changes.
 */
#ifndef FX8_VALIDATION_HALF_DEFINITION_H
#define FX8_VALIDATION_HALF_DEFINITION_H

#include <math.h>
#include <stdbool.h>

#include "kernels/numeric/half.h"
#include "validation/testing.h"

/** Bits of halves; the mask of a float without its sign. */
#define INFINITE      0x7c00
#define NOT_A_NUMBER  0x7e00
#define ONES_OF_FLOAT 0x7fffffff

/** threshold[h]: bits of the smallest float that rounds to more than half h,
 *  h from 0 to 65504, which is 0x7bff. */
static uint32_t threshold[INFINITE];

/** tie[h]: half way between half h and the next, in units of 2^-25. */
static int64_t tie[INFINITE];

/** Value of a half without sign. Infinity counts as 65536: IEEE 754 rounds to
 *  infinity from half way to that on. */
static inline double value_of(uint32_t half)
{
    const int exponent = (int)(half >> 10);
    const double fraction = (half & 0x3ff) * 0x1p-10;
    return exponent == 0 ? ldexp(fraction, -14)
                         : ldexp(1.0 + fraction, exponent - 15);
}

/** A tie goes to the even half, whose last bit is 0. */
static inline int make_thresholds(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < INFINITE; half++) {
        const double middle = (value_of(half) + value_of(half + 1)) / 2;
        tie[half] = (int64_t)(middle * 0x1p25);
        threshold[half] = fx8_float_bits((float)middle) + (half % 2 == 0);
    }
    return 0;
}

/** The half of a float without sign: the number of thresholds not above it. */
static inline uint32_t half_below(uint32_t magnitude)
{
    uint32_t low = 0, high = INFINITE; /* the result is in [low, high] */
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (threshold[middle] <= magnitude)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** Halves by definition for n floats of one sign, in ascending order of their
 *  bits; the first NaN must begin a call. */
static inline void define(size_t n, uint32_t first, uint16_t *half)
{
    const uint16_t sign = (uint16_t)(first >> 16 & 0x8000);
    const uint32_t magnitude = first & ONES_OF_FLOAT;
    uint32_t h = magnitude >= 0x7f800001 ? NOT_A_NUMBER : half_below(magnitude);
    for (size_t k = 0; k < n; h++) {
        size_t end = n;
        if (h < INFINITE && threshold[h] - magnitude < n)
            end = threshold[h] - magnitude;
        for (; k < end; k++)
            half[k] = sign | (uint16_t)h;
    }
}

static inline uint16_t definition(float x)
{
    uint16_t half;
    define(1, fx8_float_bits(x), &half);
    return half;
}

static inline bool is_nan(uint16_t half)
{
    return (half & 0x7fff) > INFINITE;
}

/** Equal, or both a NaN. */
static inline bool agree(uint16_t a, uint16_t b)
{
    return a == b || (is_nan(a) && is_nan(b));
}

#endif
