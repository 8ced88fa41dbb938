/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference.h -- the functions measured, in double precision, on the host and
 * on a card.
 *
 * Notes: 1) the float arguments are exact, so that only the double function
 *           makes a reference err: 2^-51 relative and less by the manuals of
 *           glibc ("Known Maximum Errors in Math Functions": 2 ulp) and CUDA
 *           ("Mathematical Functions": 2 ulp), which is 2^-27 of a float's ulp
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

/** row(function, its value at a, and b if it takes two) */
#define NUMERIC_REFERENCES(row)                                                \
    row(reciprocal, 1.0 / (double)a) row(rsqrt, 1.0 / sqrt((double)a))         \
        row(sin_turns, reference_turns(a, 0))                                  \
            row(cos_turns, reference_turns(a, 1)) row(exp2, exp2((double)a))   \
                row(log2, log2((double)a)) row(log10, log10((double)a))        \
                    row(tanh, tanh((double)a)) row(atanh, atanh((double)a))    \
                        row(divide, (double)a / (double)b)                     \
                            row(atan2, atan2((double)a, (double)b))

#define DEFINE_REFERENCE(function, value)                                      \
    FX8_NUMERIC double reference_##function(float a, float b)                  \
    {                                                                          \
        (void)b;                                                               \
        return value;                                                          \
    }
NUMERIC_REFERENCES(DEFINE_REFERENCE)
#undef DEFINE_REFERENCE

#endif
