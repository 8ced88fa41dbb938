/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fdividef.h -- a / b, fast.  Bounds: kernels/numeric/bounds.h.
 *
 * On the host this is the processor's division; nothing tried was faster
 * (kernels/numeric/rsqrt.h, note 1).  On the device it is __fdividef(), a
 * product with an approximate reciprocal: documented for |b| in [2^-126,
 * 2^126]; above, where the reciprocal is subnormal, it gives 0 (NaN for
 * infinite a).  A guard scales both operands there without changing the
 * quotient: the loss of a subnormal a is below 2^-270 of the quotient's unit.
 */
#ifndef FX8_KERNELS_NUMERIC_FDIVIDEF_H
#define FX8_KERNELS_NUMERIC_FDIVIDEF_H

#include "kernels/numeric/target.h"

/**
 * fx8_divide_fast -- a / b.
 *
 * Notes: signs, zeros, infinities and NaN as in IEEE 754; on the device
 *        divisors below 2^-126 in magnitude may count as 0
 */
FX8_NUMERIC float fx8_divide_fast(float a, float b)
{
#if defined(__CUDA_ARCH__)
    const float scale = fx8_select(fabsf(b) > 0x1p126f, 0.25f, 1.0f);
    return __fdividef(fx8_mul(a, scale), fx8_mul(b, scale));
#else
    return a / b;
#endif
}

#endif
