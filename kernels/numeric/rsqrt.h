/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsqrt.h -- 1 / x and 1 / sqrt(x).  Bounds: kernels/numeric/bounds.h.
 *
 * Notes: 1) on the host both use the processor's division and square root.  An
 *           integer first guess with three refinements was slower for 1 / x
 *           (AVX-512, one core of Zen 5: 22 against 27 G/s) even without
 *           special arguments; for 1 / sqrt(x), handling these cost its lead
 *           (4 against 10)
 *        2) on the device both are one instruction of the multi-function unit;
 *           __frsqrt_rn() rounds correctly but takes a dozen instructions
 */
#ifndef FX8_KERNELS_NUMERIC_RSQRT_H
#define FX8_KERNELS_NUMERIC_RSQRT_H

#include "kernels/numeric/target.h"

/**
 * fx8_reciprocal -- 1 / x.
 *
 * Notes: +-0 gives +-inf, +-inf +-0, NaN NaN; on the device subnormal
 *        arguments count as 0 and subnormal results become 0
 */
FX8_NUMERIC float fx8_reciprocal(float x)
{
#if defined(__CUDA_ARCH__)
    return fx8_ptx_rcp(x);
#else
    return 1.0f / x;
#endif
}

/**
 * fx8_rsqrt -- 1 / sqrt(x).
 *
 * Notes: +-0 gives +-inf, inf 0, x < 0 and NaN give NaN; on the device
 *        subnormal arguments count as 0
 */
FX8_NUMERIC float fx8_rsqrt(float x)
{
#if defined(__CUDA_ARCH__)
    return fx8_ptx_rsqrt(x);
#else
    return 1.0f / sqrtf(x);
#endif
}

#endif
