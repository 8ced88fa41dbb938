/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx.h -- every PTX instruction that fx8 names, one device function each.
 *
 * Notes: 1) approximate ones run on the multi-function unit (MUFU); .ftz
 *           flushes subnormal arguments and results to zero, as the unit does
 *           natively
 *        2) errors are measured per card: validation/results/numerics-*.md
 * Source: PTX ISA, "Floating Point Instructions"
 */
#ifndef FX8_KERNELS_CUDA_PTX_H
#define FX8_KERNELS_CUDA_PTX_H

#if defined(__CUDACC__)

#define FX8_PTX_UNARY(name, instruction)                                       \
    static __device__ __forceinline__ float fx8_ptx_##name(float x)            \
    {                                                                          \
        float y;                                                               \
        asm(instruction " %0, %1;" : "=f"(y) : "f"(x));                        \
        return y;                                                              \
    }

/** 1 / x (MUFU.RCP). */
FX8_PTX_UNARY(rcp, "rcp.approx.ftz.f32")

/** 1 / sqrt(x) (MUFU.RSQ). */
FX8_PTX_UNARY(rsqrt, "rsqrt.approx.ftz.f32")

/** 2^x (MUFU.EX2). */
FX8_PTX_UNARY(ex2, "ex2.approx.ftz.f32")

/** log2(x) (MUFU.LG2). */
FX8_PTX_UNARY(lg2, "lg2.approx.ftz.f32")

/** sin(x), x in radians (a product with 1 / (2 pi), MUFU.SIN). */
FX8_PTX_UNARY(sin, "sin.approx.ftz.f32")

/** cos(x), x in radians (a product with 1 / (2 pi), MUFU.COS). */
FX8_PTX_UNARY(cos, "cos.approx.ftz.f32")

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
/** tanh(x) (MUFU.TANH), from sm_75 on. */
FX8_PTX_UNARY(tanh, "tanh.approx.f32")
#endif

#undef FX8_PTX_UNARY

#endif

#endif
