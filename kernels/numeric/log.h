/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h -- logarithms.  Bounds: kernels/numeric/bounds.h.
 *
 * On the host x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), f exact, and
 * log(1 + f) = c f + f t(f): c is 1 for log2 and 1/2 for log10, so that c f is
 * exact, and t is a polynomial of degree 8.  Near 1, where e = 0, only the last
 * addition has a significant rounding, so the relative error stays bounded.
 * t is the minimax of the relative error of the logarithm (Remez).  Each
 * coefficient was rounded to float in turn and the rest refitted; errors
 * 3.4e-8 = 2^-24.8 (log2), 2.8e-8 = 2^-25.1 (log10).
 *
 * On the device both are lg2.approx, whose error near 1 is bounded absolutely,
 * not relatively.
 */
#ifndef FX8_KERNELS_NUMERIC_LOG_H
#define FX8_KERNELS_NUMERIC_LOG_H

#include <float.h>

#include "kernels/numeric/target.h"

#if !defined(__CUDA_ARCH__)

/** f of a normal x > 0, and 2^23 e: the exponent field, not shifted. */
FX8_NUMERIC float fx8_log_split(float x, float *e)
{
    const uint32_t bits = fx8_float_bits(x);
    const uint32_t sqrt_half = 0x3f3504f3;
    const uint32_t exponent = (bits - sqrt_half) & 0xff800000;
    *e = (float)(int32_t)exponent;
    return fx8_bits_float(bits - exponent) - 1.0f;
}

/** log2 of a normal x > 0. */
FX8_NUMERIC float fx8_log2_normal(float x)
{
    float e;
    const float f = fx8_log_split(x, &e);
    const float f2 = f * f;
    float even = fx8_fma(0x1.e70544p-4f, f2, 0x1.bd2f74p-3f);
    even = fx8_fma(even, f2, 0x1.26b2cap-2f);
    even = fx8_fma(even, f2, 0x1.ec74a4p-2f);
    even = fx8_fma(even, f2, 0x1.c551d6p-2f);
    float odd = fx8_fma(-0x1.a526f8p-3f, f2, -0x1.e9f9eep-3f);
    odd = fx8_fma(odd, f2, -0x1.71586ep-2f);
    odd = fx8_fma(odd, f2, -0x1.715476p-1f);
    const float t = fx8_fma(f, odd, even);
    return fx8_fma(f, t, fx8_fma(e, 0x1p-23f, f));
}

/** log10 likewise.  log10(2) is split into 16 bits, whose product with e is
 *  exact, and the rest. */
FX8_NUMERIC float fx8_log10_normal(float x)
{
    const float high = 0x1.344p-25f;
    const float rest = 0x1.3509f8p-41f;
    float e;
    const float f = fx8_log_split(x, &e);
    const float f2 = f * f;
    float even = fx8_fma(0x1.31bd40p-5f, f2, 0x1.0a48fap-4f);
    even = fx8_fma(even, f2, 0x1.62fdf8p-4f);
    even = fx8_fma(even, f2, 0x1.287c78p-3f);
    even = fx8_fma(even, f2, -0x1.0d213ep-4f);
    float odd = fx8_fma(-0x1.fc3f46p-5f, f2, -0x1.26e1dap-4f);
    odd = fx8_fma(odd, f2, -0x1.bcbd92p-4f);
    odd = fx8_fma(odd, f2, -0x1.bcb7b0p-3f);
    const float t = fx8_fma(f, odd, even);
    return fx8_fma(e, high, fx8_fma(f, t, fx8_fma(e, rest, 0.5f * f)));
}

/** The logarithm if x is a normal number > 0, else as noted at fx8_log2().
 *  Scaling to handle subnormal x would cost a third of the speed. */
FX8_NUMERIC float fx8_log_special(float x, float logarithm)
{
    const float zero = fx8_select(x >= FLT_MIN, logarithm, -HUGE_VALF);
    const float negative = fx8_select(x < 0.0f, NAN, zero);
    return fx8_select(x < HUGE_VALF, negative, x); /* inf and NaN stay */
}

#endif

/**
 * fx8_log2 -- logarithm to base 2.
 *
 * Notes: +-0 gives -inf, x < 0 NaN, inf inf, NaN NaN; subnormal arguments
 *        count as 0 (on the device also negative ones); integer results are
 *        exact on the host
 */
FX8_NUMERIC float fx8_log2(float x)
{
#if defined(__CUDA_ARCH__)
    return fx8_ptx_lg2(x);
#else
    return fx8_log_special(x, fx8_log2_normal(x));
#endif
}

/** fx8_log10 -- logarithm to base 10; as fx8_log2, but integer results need not
 *  be exact. */
FX8_NUMERIC float fx8_log10(float x)
{
#if defined(__CUDA_ARCH__)
    return fx8_mul(fx8_ptx_lg2(x), 0x1.344136p-2f);
#else
    return fx8_log_special(x, fx8_log10_normal(x));
#endif
}

#endif
