/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference.h -- the functions measured, in double precision, on the host and
 * on a card.
 *
 * Notes: 1) the float arguments are exact, so that only the double function
 *           makes a reference err: 2^-51 relative and less by the manuals of
 *           glibc ("Known Maximum Errors in Math Functions": 2 ulp) and CUDA
 *           ("Mathematical Functions": 2 ulp); REFERENCE_LIMIT is what a
 *           comparison in higher precision must show
 *        2) phases are reduced to an eighth of a turn, exactly, before the
 *           multiplication by 2 pi: the relative error holds at the zeros too.
 *           Zeros have the signs of IEEE 754 sinPi and cosPi: that of the
 *           argument, and plus
 */
#ifndef FX8_VALIDATION_NUMERICS_REFERENCE_H
#define FX8_VALIDATION_NUMERICS_REFERENCE_H

#include "kernels/numeric/target.h"

/** sin(2 pi (x + shift / 4)), shift 0 or 1. */
FX8_NUMERIC double reference_turns(float x, int shift)
{
    const double two_pi = 6.283185307179586;
    const double phase = (double)x - rint((double)x); /* exact; NaN for inf */
    const double quarter = rint(4.0 * phase);
    const double angle = two_pi * (phase - 0.25 * quarter);
    if (phase != phase)
        return phase;
    const int octant = ((int)quarter + shift) & 3;
    const double value = (octant & 1) != 0 ? cos(angle) : sin(angle);
    const double signed_value = (octant & 2) != 0 ? -value : value;
    if (signed_value == 0.0)
        return shift == 0 ? copysign(0.0, (double)x) : 0.0;
    return signed_value;
}

/** sin(2 pi x). */
FX8_NUMERIC double reference_sin_turns(float x)
{
    return reference_turns(x, 0);
}

/** cos(2 pi x). */
FX8_NUMERIC double reference_cos_turns(float x)
{
    return reference_turns(x, 1);
}

/** 1 / x. */
FX8_NUMERIC double reference_reciprocal(float x)
{
    return 1.0 / (double)x;
}

/** 1 / sqrt(x). */
FX8_NUMERIC double reference_rsqrt(float x)
{
    return 1.0 / sqrt((double)x);
}

/** sqrt(x). */
FX8_NUMERIC double reference_sqrt(float x)
{
    return sqrt((double)x);
}

/** 2^x. */
FX8_NUMERIC double reference_exp2(float x)
{
    return exp2((double)x);
}

/** log2(x). */
FX8_NUMERIC double reference_log2(float x)
{
    return log2((double)x);
}

/** log10(x). */
FX8_NUMERIC double reference_log10(float x)
{
    return log10((double)x);
}

/** tanh(x). */
FX8_NUMERIC double reference_tanh(float x)
{
    return tanh((double)x);
}

/** atanh(x). */
FX8_NUMERIC double reference_atanh(float x)
{
    return atanh((double)x);
}

/** a / b. */
FX8_NUMERIC double reference_divide(float a, float b)
{
    return (double)a / (double)b;
}

/** atan2(a, b). */
FX8_NUMERIC double reference_atan2(float a, float b)
{
    return atan2((double)a, (double)b);
}

#endif
