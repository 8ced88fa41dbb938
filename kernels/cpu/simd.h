/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd.h -- three words that the vector variants share.
 */
#ifndef FX8_KERNELS_CPU_SIMD_H
#define FX8_KERNELS_CPU_SIMD_H

/** A function that is a template: inlined wherever it is called, so that
 *  constant arguments become constants of its body. */
#define FX8_INLINE static inline __attribute__((always_inline))

/** An array that a register of 64 bytes is loaded from or stored to. */
#define FX8_ALIGNED __attribute__((aligned(64)))

/** Unroll the next loop completely, so that arrays indexed by it become
 *  registers. */
#if defined(__clang__)
#define FX8_UNROLL _Pragma("clang loop unroll(full)")
#else
#define FX8_UNROLL _Pragma("GCC unroll 64")
#endif

#endif
