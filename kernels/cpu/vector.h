/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vector.h -- registers of the variant that a file is compiled for, under names
 * common to all variants: vec_float, vec_int, their sizes, and operations whose
 * instructions differ by more than the width.  For all others VEC(mul_ps)(a, b)
 * is the intrinsic of this width.
 *
 * Where possible the compiler's operators are used: a + b of floats, a & b of
 * integers, and a cast between vec_float and vec_int, which keeps the bits.
 */
#ifndef FX8_KERNELS_CPU_VECTOR_H
#define FX8_KERNELS_CPU_VECTOR_H

#if defined(__AVX512VNNI__)
#include "kernels/cpu/vector_avx512.h"
#elif defined(__AVX2__)
#include "kernels/cpu/vector_avx2.h"
#endif

#if defined(__AVX2__)

/** Number of 128-bit parts: unpacking and packing stay within a part. */
enum { VEC_QUARTERS = VEC_BYTES / 16 };

/** Load a register of spectra from an aligned address. */
FX8_INLINE vec_float vec_load_spectra(const char *address)
{
    return VEC(load_ps)((const float *)(const void *)address);
}

FX8_INLINE vec_float vec_absolute(vec_float v)
{
    return (vec_float)((vec_int)v & VEC(set1_epi32)(0x7fffffff));
}

/** Change the sign of lanes 0, 2, ..., the real parts. */
FX8_INLINE vec_float vec_negate_even(vec_float v)
{
    return (vec_float)((vec_int)v ^ vec_set_int64(0x80000000ll));
}

/** Swap lanes 0 and 1, 2 and 3, ...: (re, im) becomes (im, re). */
FX8_INLINE vec_float vec_swap_pairs(vec_float v)
{
    return VEC(permute_ps)(v, 0xb1);
}

/** Turn the square of VEC_LANES registers: lane t of register c becomes lane c
 *  of register t.  Squares of four lanes first, then their places. */
FX8_INLINE void vec_turn_floats(vec_float v[VEC_LANES])
{
    vec_double quads[VEC_LANES];
    FX8_UNROLL
    for (int i = 0; i < VEC_LANES; i += 4) {
        const vec_double a = (vec_double)VEC(unpacklo_ps)(v[i], v[i + 1]);
        const vec_double b = (vec_double)VEC(unpackhi_ps)(v[i], v[i + 1]);
        const vec_double c = (vec_double)VEC(unpacklo_ps)(v[i + 2], v[i + 3]);
        const vec_double d = (vec_double)VEC(unpackhi_ps)(v[i + 2], v[i + 3]);
        quads[i] = VEC(unpacklo_pd)(a, c);
        quads[i + 1] = VEC(unpackhi_pd)(a, c);
        quads[i + 2] = VEC(unpacklo_pd)(b, d);
        quads[i + 3] = VEC(unpackhi_pd)(b, d);
    }
    FX8_UNROLL
    for (int c = 0; c < 4; c++) {
        vec_int parts[VEC_QUARTERS], turned[VEC_QUARTERS];
        FX8_UNROLL
        for (int i = 0; i < VEC_QUARTERS; i++)
            parts[i] = (vec_int)quads[4 * i + c];
        vec_turn_quarters(parts, turned);
        FX8_UNROLL
        for (int q = 0; q < VEC_QUARTERS; q++)
            v[4 * q + c] = (vec_float)turned[q];
    }
}

/** Add VEC_LANES floats to as many doubles. */
FX8_INLINE void vec_add_to_doubles(double *sums, vec_float v)
{
    const size_t half = VEC_LANES / 2;
    const vec_double low = VEC(cvtps_pd)(vec_lower_half(v));
    const vec_double high = VEC(cvtps_pd)(vec_upper_half(v));
    VEC(storeu_pd)(sums, VEC(loadu_pd)(sums) + low);
    VEC(storeu_pd)(sums + half, VEC(loadu_pd)(sums + half) + high);
}

#endif

#endif
