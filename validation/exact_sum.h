/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact_sum.h -- unrounded sums of products of floats, to check bounds: a
 * fixed-point number wide enough for all of them (Kulisch).
 */
#ifndef FX8_VALIDATION_EXACT_SUM_H
#define FX8_VALIDATION_EXACT_SUM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Digits of 32 bits, the lowest of weight 2^-320. Products of floats reach from
 * 2^-298 to 2^256. */
#define EXACT_DIGITS 20
#define EXACT_BIAS   320

/** A sum; all zero bytes is 0.  A digit may exceed 32 bits in either
 *  direction, for 2^30 additions. */
struct exact_sum {
    int64_t digit[EXACT_DIGITS];
};

/** Add a double that is 0 or a multiple of 2^-320 below 2^280. */
static inline void exact_add(struct exact_sum *sum, double value)
{
    if (value == 0.0)
        return;
    int exponent;
    const int64_t mantissa = (int64_t)ldexp(frexp(value, &exponent), 53);
    const int position = exponent - 53 + EXACT_BIAS;
    /* trailing zeros of a small number may lie below the lowest digit */
    const int shift = position < 0 ? 0 : position % 32;
    const int first = position < 0 ? 0 : position / 32;
    const int64_t sign = mantissa < 0 ? -1 : 1;
    const uint64_t size =
        (uint64_t)(sign * mantissa) >> (position < 0 ? -position : 0);
    const uint64_t parts[2] = {(size & UINT32_MAX) << shift, (size >> 32)
                                                                 << shift};
    for (int k = 0; k < 2; k++) {
        sum->digit[first + k] += sign * (int64_t)(parts[k] & UINT32_MAX);
        sum->digit[first + k + 1] += sign * (int64_t)(parts[k] >> 32);
    }
}

/** Add a b, which is exact in double. */
static inline void exact_add_product(struct exact_sum *sum, float a, float b)
{
    exact_add(sum, (double)a * (double)b);
}

/** -1, 0 or 1: the sign of the sum minus `value`. */
static inline int exact_compare(const struct exact_sum *sum, double value)
{
    struct exact_sum difference = *sum;
    exact_add(&difference, -value);
    int64_t carry = 0;
    bool is_zero = true;
    for (int k = 0; k < EXACT_DIGITS; k++) {
        const int64_t digit = difference.digit[k] + carry;
        carry = digit >> 32;
        is_zero = is_zero && (digit & UINT32_MAX) == 0;
    }
    return carry < 0 ? -1 : is_zero && carry == 0 ? 0 : 1;
}

#endif
