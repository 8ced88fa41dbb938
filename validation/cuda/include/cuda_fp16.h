/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_fp16.h -- half precision as CUDA names it, by the definitions in
 * kernels/numeric/half.h.
 *
 * Numerics: each operation is exact and rounded once, to nearest even; a sum
 *           is a multiply-add with 1, a product one with -0
 * Source: CUDA Math API, "FP16 Intrinsics"
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
using half = __half;
using half2 = __half2;

inline __half __float2half_rn(float x)
{
    return {fx8_half_from_float(x)};
}
inline float __half2float(__half a)
{
    return fx8_half_to_float(a.bits);
}

inline __half __hfma(__half a, __half b, __half c)
{
    return {fx8_half_scale_add(a.bits, b.bits, c.bits)};
}
inline __half2 __halves2half2(__half low, __half high)
{
    return {low, high};
}
inline float __low2float(__half2 a)
{
    return __half2float(a.x);
}
inline float __high2float(__half2 a)
{
    return __half2float(a.y);
}
inline __half2 __half2half2(__half a)
{
    return {a, a};
}
inline __half2 __float2half2_rn(float x)
{
    return __half2half2(__float2half_rn(x));
}
inline __half2 __floats2half2_rn(float low, float high)
{
    return {__float2half_rn(low), __float2half_rn(high)};
}
inline __half2 __float22half2_rn(float2 x)
{
    return __floats2half2_rn(x.x, x.y);
}
inline float2 __half22float2(__half2 a)
{
    return {__half2float(a.x), __half2float(a.y)};
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
#endif
