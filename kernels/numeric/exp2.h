/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exp2.h -- 2^x.  Bounds: kernels/numeric/bounds.h.
 *
 * On the host 2^x = 2^n 2^f with n = rint(x), f = x - n exact, and a
 * polynomial of degree 6 for 2^f, |f| <= 1/2: minimax of the relative error
 * (Remez) with the constant fixed at 1 so that integer x are exact.  Each
 * coefficient was rounded to float in turn and the rest refitted; error
 * 3.0e-9 = 2^-28.3.
 */
#ifndef FX8_KERNELS_NUMERIC_EXP2_H
#define FX8_KERNELS_NUMERIC_EXP2_H

#include "kernels/numeric/target.h"

#if !defined(__CUDA_ARCH__)

/** 2^x with `raise` added to the exponent; undefined if the result is not a
 *  normal number. */
FX8_NUMERIC float fx8_exp2_normal(float x, uint32_t raise)
{
    /* At 1.5 * 2^23 the spacing is 1: the sum is rounded to n. */
    const float shift = 0x1.8p23f;
    const float shifted = x + shift;
    const float f = x - (shifted - shift);
    float p = 0x1.416b60p-13f;
    p = fx8_fma(p, f, 0x1.5f082ep-10f);
    p = fx8_fma(p, f, 0x1.3b2de0p-7f);
    p = fx8_fma(p, f, 0x1.c6af7cp-5f);
    p = fx8_fma(p, f, 0x1.ebfbdcp-3f);
    p = fx8_fma(p, f, 0x1.62e430p-1f);
    p = fx8_fma(p, f, 1.0f);
    /* Add n, the low bits of the sum, to the exponent of p. */
    const uint32_t n = fx8_float_bits(shifted) + raise;
    return fx8_bits_float(fx8_float_bits(p) + (n << 23));
}

#endif

/**
 * fx8_exp2 -- 2^x.
 *
 * Notes: 1) +inf gives inf, -inf 0, NaN NaN; inf from 128 up, subnormal
 *           results below -126, 0 from -150 down
 *        2) on the device results below 2^-126 are 0
 */
FX8_NUMERIC float fx8_exp2(float x)
{
#if defined(__CUDA_ARCH__)
    return fx8_ptx_ex2(x);
#else
    /* Subnormal results are computed 2^64 times as large and scaled down. */
    const int is_low = x < -126.0f;
    const float normal = fx8_exp2_normal(x, is_low ? 64 : 0);
    const float y = normal * fx8_select(is_low, 0x1p-64f, 1.0f);
    const float low = fx8_select(x < -151.0f, 0.0f, y);
    return fx8_select(x < 128.0f, low, x + HUGE_VALF); /* inf, or NaN */
#endif
}

#endif
