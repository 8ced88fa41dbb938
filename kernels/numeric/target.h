/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.h -- target-dependent basics of the numerics headers.  One definition
 * of a function serves C17 on the host, where the compiler vectorises it, and
 * CUDA C++ on the device, where it may use special instructions.
 *
 * Notes: 1) contraction is off everywhere: only fx8_fma() gives an fma, so that
 *           every variant of the host gives the same bits
 *        2) functions must not branch on their argument, or loops over them are
 *           not vectorised; use fx8_select()
 */
#ifndef FX8_KERNELS_NUMERIC_TARGET_H
#define FX8_KERNELS_NUMERIC_TARGET_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
/** A function of the numerics headers. */
#define FX8_NUMERIC static __host__ __device__ __forceinline__
#else
/** A function of the numerics headers. */
#define FX8_NUMERIC static inline
#endif

/** Put before a loop with a long body that gains nothing by unrolling: nvcc
 *  would spend registers on it.  The host compiler lacks this pragma. */
#if defined(__CUDA_ARCH__)
#define FX8_ROLLED _Pragma("unroll 1")
#else
#define FX8_ROLLED
#endif

#if defined(__CUDA_ARCH__)
#include "kernels/cuda/ptx.h"
#endif

/** The bits of a float. */
FX8_NUMERIC uint32_t fx8_float_bits(float x)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(x);
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

/** The float of these bits. */
FX8_NUMERIC float fx8_bits_float(uint32_t bits)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

/** a if is_first, else b, without a branch: both are computed. */
FX8_NUMERIC float fx8_select(int is_first, float a, float b)
{
    return is_first ? a : b;
}

/** a b + c, rounded once. */
FX8_NUMERIC float fx8_fma(float a, float b, float c)
{
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return fmaf(a, b, c);
#endif
}

/** a b, rounded once and never contracted with an addition. */
FX8_NUMERIC float fx8_mul(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/** a + b, rounded once and never contracted with a product. */
FX8_NUMERIC float fx8_add(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return __fadd_rn(a, b);
#else
    return a + b;
#endif
}

#endif
