/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tanh.h -- the hyperbolic tangent in three forms, and its inverse.
 * Bounds: kernels/numeric/bounds.h.
 *
 *     fx8_tanh_hardware  tanh.approx (MUFU.TANH), devices from sm_75 on
 *     fx8_tanh_ex2       (1 - e) / (1 + e), e = exp(-2 |x|) by 2^x
 *     fx8_tanh           a polynomial below 0.6, 1 - 2 e / (1 + e) above
 *
 * Notes: 1) 1 - e cancels for small x: it is used from 0.005 up, where its
 *           error equals that of tanh(x) = x, used below
 *        2) the polynomials, x + x s t(s) with s = x^2, are minimax of the
 *           relative error (Remez).  Each coefficient was rounded to float in
 *           turn and the rest refitted: tanh to |x| = 0.6 of degree 4 in s,
 *           error 2.8e-9 = 2^-28.4; atanh to 1/2 of degree 5, error
 *           1.4e-9 = 2^-29.4
 * Source: N. Juffa, "Hardware-accelerated tanh() on Turing", NVIDIA developer
 *         forums 173291 (2021): the idea of the ex2 form, and errors of
 *         133.96 ulp, 1.113e-5 (hardware), 108.83 ulp, 9.345e-6 (ex2)
 */
#ifndef FX8_KERNELS_NUMERIC_TANH_H
#define FX8_KERNELS_NUMERIC_TANH_H

#include "kernels/numeric/exp2.h"
#include "kernels/numeric/fdividef.h"
#include "kernels/numeric/log.h"
#include "kernels/numeric/rsqrt.h"
#include "kernels/numeric/target.h"

#if defined(__CUDACC__)
#include "kernels/cuda/ptx.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
/** tanh(x): one instruction. */
static __device__ __forceinline__ float fx8_tanh_hardware(float x)
{
    return fx8_ptx_tanh(x);
}
#endif

#endif

/** 1 / (1 + e) and e = exp(-2 a) for a >= 0; undefined for NaN. */
FX8_NUMERIC float fx8_tanh_parts(float a, float *e)
{
#if defined(__CUDA_ARCH__)
    *e = fx8_ptx_ex2(fx8_mul(a, -0x1.715476p+1f));
#else
    /* From 20 on tanh is 1; 2^x must not become subnormal. */
    const float within = fx8_select(a < 20.0f, a, 20.0f);
    *e = fx8_exp2_normal(within * -0x1.715476p+1f, 0);
#endif
    return fx8_reciprocal(fx8_add(*e, 1.0f));
}

/**
 * fx8_tanh_ex2 -- tanh(x) by 2^x and reciprocal.
 *
 * Notes: +-0 gives +-0, +-inf +-1, NaN NaN
 */
FX8_NUMERIC float fx8_tanh_ex2(float x)
{
    const float a = fabsf(x);
    float e;
    const float r = fx8_tanh_parts(a, &e);
    /* NaN is not large: it passes through the other branch */
    return copysignf(fx8_select(a >= 0.005f, fx8_fma(-e, r, r), a), x);
}

/** fx8_tanh -- tanh(x), accurate form; as fx8_tanh_ex2. */
FX8_NUMERIC float fx8_tanh(float x)
{
    const float a = fabsf(x);
    const float s = fx8_mul(a, a);
    const float s2 = fx8_mul(s, s);
    float even = fx8_fma(-0x1.828776p-8f, s2, -0x1.b89abap-5f);
    even = fx8_fma(even, s2, -0x1.55553ep-2f);
    float odd = fx8_fma(0x1.54c3c2p-6f, s2, 0x1.1109bep-3f);
    const float t = fx8_fma(s, odd, even);
    const float small = fx8_fma(fx8_mul(a, s), t, a);
    float e;
    const float r = fx8_tanh_parts(a, &e);
    const float large = fx8_fma(fx8_mul(e, -2.0f), r, 1.0f);
    return copysignf(fx8_select(a >= 0.6f, large, small), x);
}

/** atanh(a) for a in [1/2, 1): log((1 + a) / (1 - a)) / 2.  The quotient is at
 *  least 3, far from 1, where log2() is inaccurate. */
FX8_NUMERIC float fx8_atanh_quotient(float a)
{
    const float quotient = fx8_divide_fast(fx8_add(1.0f, a), 1.0f - a);
#if defined(__CUDA_ARCH__)
    const float log2_quotient = fx8_ptx_lg2(quotient);
#else
    const float log2_quotient = fx8_log2_normal(quotient);
#endif
    return fx8_mul(log2_quotient, 0x1.62e430p-2f);
}

/**
 * fx8_atanh -- inverse of tanh.
 *
 * Notes: +-0 gives +-0, +-1 +-inf, |x| > 1 and NaN give NaN
 */
FX8_NUMERIC float fx8_atanh(float x)
{
    const float a = fabsf(x);
    const float s = fx8_mul(a, a);
    const float s2 = fx8_mul(s, s);
    float even = fx8_fma(0x1.a6bb96p-5f, s2, 0x1.234d98p-3f);
    even = fx8_fma(even, s2, 0x1.555540p-2f);
    float odd = fx8_fma(0x1.693a3cp-3f, s2, 0x1.e4000ap-4f);
    odd = fx8_fma(odd, s2, 0x1.99a676p-3f);
    const float t = fx8_fma(s, odd, even);
    const float small = fx8_fma(fx8_mul(a, s), t, a);
    const float inside = fx8_select(a < 0.5f, small, fx8_atanh_quotient(a));
    const float beyond = fx8_select(a == 1.0f, HUGE_VALF, NAN);
    return copysignf(fx8_select(a < 1.0f, inside, beyond), x);
}

#endif
