/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns.h -- sine and cosine of a phase in turns: sin(2 pi x), cos(2 pi x).
 * Bounds: kernels/numeric/bounds.h.
 *
 * The reduction is exact: r = x - rint(x) is a float for every float x, in
 * [-1/2, 1/2], and 0 for all integers and so for all x from 2^23 up.  The fold
 * onto the first quarter, 1/2 - |r| for |r| >= 1/4, is exact too.  There the
 * sine is 4 a + a t(a^2): 4 a is exact and correct at both ends, and t is a
 * polynomial of degree 4, minimax of the relative error (Remez).  Each
 * coefficient was rounded to float in turn and the rest refitted; error
 * 1.1e-8 = 2^-26.4.  The cosine is the sine of 1/4 - |r|, which is exact for
 * |r| >= 1/8 and rounded below, an error of half a unit.  Multiples of 1/4 turn
 * give exactly 0 or +-1 on the host.
 *
 * On the device sin.approx and cos.approx take radians in [-pi, pi]; their
 * error is bounded absolutely.
 */
#ifndef FX8_KERNELS_NUMERIC_TURNS_H
#define FX8_KERNELS_NUMERIC_TURNS_H

#include "kernels/numeric/target.h"

/** x without whole turns, in [-1/2, 1/2]; NaN for infinite x and NaN. */
FX8_NUMERIC float fx8_turns_rest(float x)
{
    return fx8_add(x, -rintf(x));
}

/** sin(2 pi a), |a| <= 1/4. */
FX8_NUMERIC float fx8_sin_quarter(float a)
{
    const float s = fx8_mul(a, a);
    float t = 0x1.3aede2p+5f;
    t = fx8_fma(t, s, -0x1.32225ep+6f);
    t = fx8_fma(t, s, 0x1.46671cp+6f);
    t = fx8_fma(t, s, -0x1.4abbb8p+5f);
    t = fx8_fma(t, s, 0x1.243f6ap+1f);
    return fx8_fma(a, t, fx8_mul(a, 4.0f));
}

/**
 * fx8_sin_turns -- sin(2 pi x).
 *
 * Notes: +-inf and NaN give NaN; a zero may have either sign
 */
FX8_NUMERIC float fx8_sin_turns(float x)
{
    const float r = fx8_turns_rest(x);
#if defined(__CUDA_ARCH__)
    return fx8_ptx_sin(fx8_mul(r, 0x1.921fb6p+2f));
#else
    const float a = fabsf(r);
    return copysignf(fx8_sin_quarter(a > 0.25f ? 0.5f - a : a), r);
#endif
}

/** fx8_cos_turns -- cos(2 pi x); as fx8_sin_turns. */
FX8_NUMERIC float fx8_cos_turns(float x)
{
    const float r = fx8_turns_rest(x);
#if defined(__CUDA_ARCH__)
    return fx8_ptx_cos(fx8_mul(r, 0x1.921fb6p+2f));
#else
    return fx8_sin_quarter(0.25f - fabsf(r));
#endif
}

#endif
