/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atan2.h -- the angle of a point.  Bounds: kernels/numeric/bounds.h.
 *
 * atan2(y, x) is k pi/2 +- atan(q), q in [0, 1] the smaller magnitude over the
 * larger and atan(q) = q + q s t(s), s = q^2, with t of degree 7: minimax of
 * the relative error of atan(q) (Remez).  Each coefficient was rounded to float
 * in turn and the rest refitted; error 1.7e-8 = 2^-25.8.  The device uses the
 * same, with fx8_divide_fast() for the quotient.
 */
#ifndef FX8_KERNELS_NUMERIC_ATAN2_H
#define FX8_KERNELS_NUMERIC_ATAN2_H

#include "kernels/numeric/fdividef.h"
#include "kernels/numeric/target.h"

/** atan(q), q in [0, 1]. */
FX8_NUMERIC float fx8_atan_octant(float q)
{
    const float s = fx8_mul(q, q);
    const float s2 = fx8_mul(s, s);
    float even = fx8_fma(-0x1.0c1e02p-6f, s2, -0x1.3551bep-4f);
    even = fx8_fma(even, s2, -0x1.230a96p-3f);
    even = fx8_fma(even, s2, -0x1.5554dcp-2f);
    float odd = fx8_fma(0x1.7eb704p-9f, s2, 0x1.61f228p-5f);
    odd = fx8_fma(odd, s2, 0x1.b4dee4p-4f);
    odd = fx8_fma(odd, s2, 0x1.9978ecp-3f);
    const float t = fx8_fma(s, odd, even);
    return fx8_fma(fx8_mul(q, s), t, q);
}

/**
 * fx8_atan2 -- the angle of (x, y), in [-pi, pi].
 *
 * Notes: zeros, infinities and signs as in IEEE 754: (0, 0) gives +-0, (-0, 0)
 *        +-pi, (inf, inf) +-pi/4, each with the sign of y; NaN if x or y is
 *        NaN; on the device x and y count as 0 if both are subnormal
 */
FX8_NUMERIC float fx8_atan2(float y, float x)
{
    const float ax = fabsf(x), ay = fabsf(y);
    const int is_steep = ay > ax;
    const float larger = fx8_select(is_steep, ay, ax);
    const float smaller = fx8_select(is_steep, ax, ay);
    /* 0 / 0 must give 0, inf / inf 1; NaN gives 1 here and is set at the end */
    const float divisor = fx8_select(larger > 0.0f, larger, 1.0f);
    const float quotient = fx8_divide_fast(smaller, divisor);
    const float octant =
        fx8_atan_octant(fx8_select(quotient < 1.0f, quotient, 1.0f));
    /* Quadrants are counted in right angles: 0, 1 or 2. */
    const uint32_t sign = 0x80000000, x_sign = fx8_float_bits(x) & sign;
    const float flat = fx8_bits_float(x_sign >> 1);
    const float base = fx8_select(is_steep, 1.0f, flat);
    const uint32_t turn = x_sign ^ (is_steep ? sign : 0);
    const float turned = fx8_bits_float(fx8_float_bits(octant) ^ turn);
    const float angle =
        fx8_fma(base, 0x1.921fb6p+0f, fx8_fma(base, -0x1.777a5cp-25f, turned));
    const int is_nan = (x != x) | (y != y);
    return fx8_select(is_nan, x + y, copysignf(angle, y));
}

#endif
