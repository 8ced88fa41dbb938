/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vector_avx512.h -- vector.h for AVX-512: 32 registers of 512 bits.
 */
#ifndef FX8_KERNELS_CPU_VECTOR_AVX512_H
#define FX8_KERNELS_CPU_VECTOR_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/simd.h"

/** The name of a function that each variant has: fx8_fill_fir_avx512. */
#define FX8_VARIANT(name) name##_avx512

/** The intrinsic of this width. */
#define VEC(intrinsic) _mm512_##intrinsic

typedef __m512 vec_float;
typedef __m512i vec_int;
typedef __m512d vec_double;

/** Bytes and floats of a register, number of registers. */
enum { VEC_BYTES = 64, VEC_LANES = 16, VEC_REGISTERS = 32 };

/** Whether vec_load_bytes() can load fewer than VEC_BYTES. */
#define VEC_MASKS_BYTES 1

#define vec_set_int64(x)  _mm512_set1_epi64(x)
#define vec_repeat(v)     _mm512_broadcast_i32x4(v)
#define vec_lower_half(v) _mm512_castps512_ps256(v)
#define vec_upper_half(v) _mm512_extractf32x8_ps(v, 1)

FX8_INLINE vec_int vec_load_int(const void *p)
{
    return _mm512_loadu_si512(p);
}

FX8_INLINE void vec_store_int(void *p, vec_int v)
{
    _mm512_storeu_si512(p, v);
}

/** Store past the caches, to an aligned address. */
FX8_INLINE void vec_stream_int(void *p, vec_int v)
{
    _mm512_stream_si512((__m512i *)p, v);
}

/** Wait for streamed stores, so that other threads see them. */
FX8_INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

/** The first n bytes, 1 .. VEC_BYTES, then 0. */
FX8_INLINE vec_int vec_load_bytes(size_t n, const void *p)
{
    return _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (VEC_BYTES - n), p);
}

/* A mask that is constant and full makes gcc 12 store what it has loaded. */

FX8_INLINE __mmask16 vec_first_lanes(size_t n)
{
    const size_t most = n < VEC_LANES ? n : VEC_LANES;
    return (__mmask16)((1u << most) - 1);
}

/** The first n floats, the other lanes from `others`; n may be more than
 *  VEC_LANES. */
FX8_INLINE vec_float vec_load_first(size_t n, const float *p, vec_float others)
{
    return _mm512_mask_loadu_ps(others, vec_first_lanes(n), p);
}

FX8_INLINE void vec_store_first(size_t n, float *p, vec_float v)
{
    _mm512_mask_storeu_ps(p, vec_first_lanes(n), v);
}

/** The first n <= VEC_LANES samples, widened to 32 bits. */
FX8_INLINE vec_int vec_load_int8(size_t n, const int8_t *p)
{
    return _mm512_cvtepi8_epi32(
        n == VEC_LANES ? _mm_loadu_si128((const __m128i_u *)p)
                       : _mm_maskz_loadu_epi8(vec_first_lanes(n), p));
}

/** The first n <= VEC_LANES numbers in the lower halves of the lanes, 0 in the
 *  upper ones. */
FX8_INLINE vec_int vec_load_int16(size_t n, const int16_t *p)
{
    return _mm512_cvtepu16_epi32(
        n == VEC_LANES ? _mm256_loadu_si256((const __m256i_u *)p)
                       : _mm256_maskz_loadu_epi16(vec_first_lanes(n), p));
}

/** The first n 64-bit words, then 0; n may be more than fit. */
FX8_INLINE vec_int vec_load_words(size_t n, const uint64_t *p)
{
    return _mm512_maskz_loadu_epi64((__mmask8)vec_first_lanes(n), p);
}

/** Sum of the 64-bit words. */
FX8_INLINE int64_t vec_sum_words(vec_int v)
{
    return _mm512_reduce_add_epi64(v);
}

/** In every lane `low` in the lower 16 bits, `high` in the upper ones. */
FX8_INLINE vec_int vec_join_int16(vec_int low, vec_int high)
{
    return _mm512_mask_mov_epi16(low, 0xaaaaaaaa, _mm512_slli_epi32(high, 16));
}

/** In every 64-bit lane the lower halves of `low` and of `high`. */
FX8_INLINE vec_int vec_join_words(vec_int low, vec_int high)
{
    return _mm512_mask_mov_epi32(low, 0xaaaa, _mm512_slli_epi64(high, 32));
}

/** The first halves of a and b, of 32 bytes at least, then the others. */
FX8_INLINE void vec_order_halves(vec_int a, vec_int b, vec_int out[2])
{
    out[0] = _mm512_shuffle_i64x2(a, b, 0x44);
    out[1] = _mm512_shuffle_i64x2(a, b, 0xee);
}

/** sum + a[0] b[0] + a[1] b[1] of the two int16 in every lane. */
FX8_INLINE vec_int vec_add_dot_int16(vec_int sum, vec_int a, vec_int b)
{
    return _mm512_dpwssd_epi32(sum, a, b);
}

/** Whether any of the uint16 is above `limit`. */
FX8_INLINE bool vec_any_above_int16(vec_int v, uint16_t limit)
{
    return _mm512_cmpgt_epu16_mask(v, _mm512_set1_epi16((short)limit)) != 0;
}

/** Reorder the output of two rounds of packing: 4-byte unit 4 L + i, in part L,
 *  goes to 4 i + L. */
FX8_INLINE vec_int vec_order_packed_twice(vec_int v)
{
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
        v);
}

/** The same for one round, with 8-byte units. */
FX8_INLINE vec_int vec_order_packed(vec_int v)
{
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                    v);
}

/** out[i]: part i of every in[k]. */
FX8_INLINE void vec_turn_quarters(const vec_int in[4], vec_int out[4])
{
    const vec_int a = _mm512_shuffle_i64x2(in[0], in[1], 0x44);
    const vec_int b = _mm512_shuffle_i64x2(in[0], in[1], 0xee);
    const vec_int c = _mm512_shuffle_i64x2(in[2], in[3], 0x44);
    const vec_int d = _mm512_shuffle_i64x2(in[2], in[3], 0xee);
    out[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    out[1] = _mm512_shuffle_i64x2(a, c, 0xdd);
    out[2] = _mm512_shuffle_i64x2(b, d, 0x88);
    out[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

/** The lanes whose bit is set, 0 in the others. */
FX8_INLINE vec_float vec_keep_lanes(uint32_t bits, vec_float v)
{
    return _mm512_maskz_mov_ps((__mmask16)bits, v);
}

/** re[0], im[0], re[1], ...: the first half, and the rest. */
FX8_INLINE vec_int vec_interleave_low(vec_float re, vec_float im)
{
    const vec_int order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
    return _mm512_castps_si512(_mm512_permutex2var_ps(re, order, im));
}

FX8_INLINE vec_int vec_interleave_high(vec_float re, vec_float im)
{
    const vec_int order = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12,
                                            28, 13, 29, 14, 30, 15, 31);
    return _mm512_castps_si512(_mm512_permutex2var_ps(re, order, im));
}

/* Sums over lanes: each join adds the halves of two registers (of every 64,
 * 128, 256 bits and of the whole) and places the sums side by side. */

FX8_INLINE vec_float vec_join_lanes(vec_float x, vec_float y)
{
    return _mm512_unpacklo_ps(x, y) + _mm512_unpackhi_ps(x, y);
}

FX8_INLINE vec_float vec_join_pairs(vec_float x, vec_float y)
{
    const vec_double u = (vec_double)x, v = (vec_double)y;
    return (vec_float)_mm512_unpacklo_pd(u, v) +
           (vec_float)_mm512_unpackhi_pd(u, v);
}

FX8_INLINE vec_float vec_join_quarters(vec_float x, vec_float y)
{
    return _mm512_shuffle_f32x4(x, y, 0x88) + _mm512_shuffle_f32x4(x, y, 0xdd);
}

/** Lane k: the sum of the lanes of v[k]. */
FX8_INLINE vec_float vec_lane_sums(const vec_float v[16])
{
    vec_float four[4];
    FX8_UNROLL
    for (int k = 0; k < 4; k++)
        four[k] = vec_join_pairs(vec_join_lanes(v[4 * k], v[4 * k + 1]),
                                 vec_join_lanes(v[4 * k + 2], v[4 * k + 3]));
    return vec_join_quarters(vec_join_quarters(four[0], four[1]),
                             vec_join_quarters(four[2], four[3]));
}

/** Store the first n floats as halves, to nearest even; n may be more than
 *  VEC_LANES. */
FX8_INLINE void vec_store_half(size_t n, uint16_t *p, vec_float v)
{
    const __m256i halves = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
    if (n >= VEC_LANES)
        _mm256_storeu_si256((__m256i_u *)p, halves);
    else
        _mm256_mask_storeu_epi16(p, vec_first_lanes(n), halves);
}

/** The first n halves, 0 in the other lanes; n may be more than VEC_LANES. */
FX8_INLINE vec_float vec_load_half(size_t n, const uint16_t *p)
{
    return _mm512_cvtph_ps(n < VEC_LANES
                               ? _mm256_maskz_loadu_epi16(vec_first_lanes(n), p)
                               : _mm256_loadu_si256((const __m256i_u *)p));
}

/* Doubles of pairs (re, im); a register holds VEC_LANES / 4 pairs. */

/** Each of VEC_LANES / 4 numbers twice. */
FX8_INLINE vec_double vec_load_twice(const double *p)
{
    return _mm512_permutexvar_pd(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3),
                                 _mm512_castpd256_pd512(_mm256_loadu_pd(p)));
}

/** int64 to double, rounded once. */
FX8_INLINE vec_double vec_int64_to_double(vec_int v)
{
    return _mm512_cvtepi64_pd(v);
}

/** a where it is at least `least`, else b. */
FX8_INLINE vec_double vec_if_at_least(vec_double a, vec_double least,
                                      vec_double b)
{
    return _mm512_mask_mov_pd(b, _mm512_cmp_pd_mask(a, least, _CMP_GE_OQ), a);
}

/** v where x is not 0, else 0. */
FX8_INLINE vec_double vec_if_nonzero(vec_double x, vec_double v)
{
    return _mm512_maskz_mov_pd(
        _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_NEQ_UQ), v);
}

/** sum + v in the pairs whose flag is 0, else sum. */
FX8_INLINE vec_double vec_add_unflagged(vec_double sum, const uint8_t *flags,
                                        vec_double v)
{
    const __m128i four = _mm_loadu_si32(flags);
    const __m512i words = _mm512_cvtepu8_epi64(_mm_unpacklo_epi8(four, four));
    return _mm512_mask_add_pd(sum, _mm512_testn_epi64_mask(words, words), sum,
                              v);
}

/** Store doubles as floats. */
FX8_INLINE void vec_store_narrow(float *p, vec_double v)
{
    _mm256_storeu_ps(p, _mm512_cvtpd_ps(v));
}

#endif
