/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_fp16.h -- half precision as CUDA names it, by the definitions in
 * kernels/numeric/half.h.
 *
 * Source: CUDA Math API, "Half Precision Conversion and Data Movement"
 */
#ifndef FX8_VALIDATION_CUDA_INCLUDE_CUDA_FP16_H
#define FX8_VALIDATION_CUDA_INCLUDE_CUDA_FP16_H

#include <cuda_runtime.h>

#include "kernels/numeric/half.h"

struct __half {
    unsigned short bits;
};
struct alignas(4) __half2 {
    __half x, y;
};

inline __half __float2half_rn(float x)
{
    return {fx8_half_from_float(x)};
}
inline __half2 __floats2half2_rn(float low, float high)
{
    return {__float2half_rn(low), __float2half_rn(high)};
}
#endif
