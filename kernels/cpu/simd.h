/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd.h -- macros of the vector variants.
 */
#ifndef FX8_KERNELS_CPU_SIMD_H
#define FX8_KERNELS_CPU_SIMD_H

/** A function used as a template: always inlined, so that constant arguments
 *  are constants in its body. */
#define FX8_INLINE static inline __attribute__((always_inline))

/** Alignment of an array for 64-byte register loads and stores. */
#define FX8_ALIGNED __attribute__((aligned(64)))

/** Unroll the next loop completely, so that arrays indexed by it become
 *  registers. */
#if defined(__clang__)
#define FX8_UNROLL _Pragma("clang loop unroll(full)")
#else
#define FX8_UNROLL _Pragma("GCC unroll 64")
#endif

/** Iterations of the next loop are independent: its arrays are identical or do
 *  not overlap. */
#if defined(__clang__)
/* Some builds keep loops scalar on purpose, such as for the thread checker. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define FX8_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FX8_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
