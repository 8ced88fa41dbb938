/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half.h -- IEEE half precision in portable arithmetic: the reference for the
 * vector and device variants.
 *
 * A half is held as its 16 bits: sign, 5 bits of exponent (bias 15), 10 of
 * fraction.  Normal from 2^-14 to 65504, subnormal in steps of 2^-24 below.
 *
 * Notes: 1) the largest float that rounds to zero is 0x33000000 = 2^-25: it is
 *           half way between 0 and 2^-24, and 0 is the even one.  The next
 *           float, 0x33000001, does not round to zero.  A published listing
 *           gives 0x32ffffff, the float before, which holds only if ties round
 *           away from zero; F16C and this file agree on 2^-25
 *           (validation/test_half.c, every_float)
 *        2) the largest float that rounds to 65504 is 0x477fefff, just below
 *           65520: that tie goes to the even one, infinity
 *        3) a NaN keeps its sign and the upper bits of its payload and becomes
 *           quiet, as with F16C; the device gives 0x7fff for every NaN.
 *           Comparisons treat all NaNs as equal
 *        4) kernels/cuda/half2.cuh names the device's instructions; this file
 *           compiles for the device too, where they can be compared
 *        5) the rounding mode is to nearest even, as everywhere outside of
 *           the enclosing correlator
 * Source: IEEE 754-2008, 3.4, 4.3.1
 * Test: validation/test_half.c, all 2^32 floats
 */
#ifndef FX8_KERNELS_NUMERIC_HALF_H
#define FX8_KERNELS_NUMERIC_HALF_H

#include "kernels/numeric/target.h"

/** Fraction bits that a float has more than a half. */
#define FX8_HALF_SHIFT 13

/** 127 - 15, the difference of the biases, in the exponent field of a float. */
#define FX8_HALF_REBIAS 0x38000000

/** a if is_first is 1, b if it is 0.  Not written as ?:, which would become a
 *  branch if a or b is the result of a float operation. */
FX8_NUMERIC int32_t fx8_half_select(int is_first, int32_t a, int32_t b)
{
    return (a & -is_first) | (b & (is_first - 1));
}

/**
 * fx8_half_from_float -- round to half, nearest even.
 *
 * Returned: bits of the half; infinity from 65520 up, a NaN for a NaN, the
 *           sign of x in every case
 * Numerics: bit-equal to F16C's vcvtps2ph for every float
 */
FX8_NUMERIC uint16_t fx8_half_from_float(float x)
{
    const uint32_t bits = fx8_float_bits(x);
    const uint32_t sign = bits >> 16 & 0x8000;
    const int32_t magnitude = (int32_t)(bits & 0x7fffffff);
    const float positive = fx8_bits_float(bits & 0x7fffffff);

    /* Adding half a step, less one unit if the last kept bit is even, carries
     * exactly when rounding up, into the exponent if necessary. */
    const int32_t is_odd = magnitude >> FX8_HALF_SHIFT & 1;
    const int32_t normal =
        (magnitude - FX8_HALF_REBIAS + 0xfff + is_odd) >> FX8_HALF_SHIFT;
    /* A float from 0.5 to 1 has steps of 2^-24, those of a subnormal half:
     * the addition rounds, and its fraction is the number of steps. */
    const int32_t subnormal =
        (int32_t)fx8_float_bits(fx8_add(positive, 0.5f)) - 0x3f000000;
    const int32_t nan = 0x7e00 | (magnitude >> FX8_HALF_SHIFT & 0x3ff);

    int32_t result =
        fx8_half_select(magnitude < 0x38800000 /* 2^-14 */, subnormal, normal);
    result =
        fx8_half_select(magnitude >= 0x477ff000 /* 65520 */, 0x7c00, result);
    result =
        fx8_half_select(magnitude > 0x7f800000 /* infinity */, nan, result);
    return (uint16_t)(sign | (uint32_t)result);
}

/**
 * fx8_half_to_float -- the value of a half.
 *
 * Numerics: exact; a NaN becomes quiet
 */
FX8_NUMERIC float fx8_half_to_float(uint16_t number)
{
    const uint32_t sign = (uint32_t)(number & 0x8000) << 16;
    const int32_t magnitude = (number & 0x7fff) << FX8_HALF_SHIFT;

    const int32_t normal = magnitude + FX8_HALF_REBIAS;
    /* A subnormal has no leading one: insert one and subtract it. */
    const int32_t subnormal = (int32_t)fx8_float_bits(
        fx8_add(fx8_bits_float((uint32_t)(magnitude + 0x38800000)), -0x1p-14f));
    const int32_t special = (0x70000000 + magnitude) | (magnitude > 0x0f800000)
                                                           << 22;

    int32_t bits = fx8_half_select(magnitude < 0x00800000, subnormal, normal);
    bits =
        fx8_half_select(magnitude >= 0x0f800000 /* infinity */, special, bits);
    return fx8_bits_float(sign | (uint32_t)bits);
}

/**
 * fx8_half_round -- a double rounded once to half.
 *
 * Given:    x   zero, infinity, NaN, or 2^-126 <= |x| < 2^128
 * Numerics: truncate to float and set the last bit if anything was cut off
 *           ("rounding to odd").  The float has more than two bits more than a
 *           half, so it is on the same side of every half and every tie as x,
 *           and the second rounding gives the correct result
 * Source:   Boldo and Melquiond, "Emulation of FMA and correctly rounded
 *           sums", IEEE Trans. Computers 57 (2008) 462, theorem 1
 */
FX8_NUMERIC uint16_t fx8_half_round(double x)
{
    const uint64_t below = 0x1fffffff; /* bits that do not fit a float */
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits & ~below) | ((bits & below) != 0 ? below + 1 : 0);
    memcpy(&x, &bits, sizeof x);
    return fx8_half_from_float((float)x);
}

/**
 * fx8_half_scale_add -- a x + b, all halves, rounded once: equivalent to the
 * device's __hfma, and to each half of __hfma2.
 *
 * Numerics: bit-equal to the exact a x + b rounded to half, signed zeros and
 *           infinities by IEEE 754; NaN bits may differ.
 *           The product of 11-bit numbers is exact in double.  So is the sum
 *           s = p + b, or rounding it to double changes nothing: if |s| >=
 *           2^17, double and half agree on infinity.  Otherwise let p = m L,
 *           |m| < 2^22, L >= 2^-48 the product of the units of a and x, and b
 *           a multiple of 2^-24.  s is a multiple of the smaller unit, and
 *           inexact only if that is below |s| 2^-53 < 2^-36, so is L.  Then
 *           |p| < 2^22 L < 2^-31 |s|: s and its double are within 2^-30 |b|
 *           of b, a half, while the nearest tie is 2^-13 |b| away: both round
 *           to b.  fx8_half_round() adds no second rounding; |s| is 0 or at
 *           least 2^-48, and below 2^33
 * Source:   IEEE 754-2008, 5.4.1, fusedMultiplyAdd
 */
FX8_NUMERIC uint16_t fx8_half_scale_add(uint16_t a, uint16_t x, uint16_t b)
{
    const double product =
        (double)fx8_half_to_float(a) * (double)fx8_half_to_float(x);
    return fx8_half_round(product + (double)fx8_half_to_float(b));
}

#endif
