/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vector_avx2.h -- vector.h for AVX2: 16 registers of 256 bits.
 */
#ifndef FX8_KERNELS_CPU_VECTOR_AVX2_H
#define FX8_KERNELS_CPU_VECTOR_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/simd.h"

/** The name of a function that each variant has: fx8_fill_fir_avx2. */
#define FX8_VARIANT(name) name##_avx2

/** The intrinsic of this width. */
#define VEC(intrinsic) _mm256_##intrinsic

typedef __m256 vec_float;
typedef __m256i vec_int;
typedef __m256d vec_double;

/** Bytes and floats of a register, number of registers. */
enum { VEC_BYTES = 32, VEC_LANES = 8, VEC_REGISTERS = 16 };

/** Whether vec_load_bytes() can load fewer than VEC_BYTES. */
#define VEC_MASKS_BYTES 0

#define vec_set_int64(x)  _mm256_set1_epi64x(x)
#define vec_repeat(v)     _mm256_broadcastsi128_si256(v)
#define vec_lower_half(v) _mm256_castps256_ps128(v)
#define vec_upper_half(v) _mm256_extractf128_ps(v, 1)

FX8_INLINE vec_int vec_load_int(const void *p)
{
    return _mm256_loadu_si256((const __m256i_u *)p);
}

FX8_INLINE void vec_store_int(void *p, vec_int v)
{
    _mm256_storeu_si256((__m256i_u *)p, v);
}

/** Store past the caches, to an aligned address. */
FX8_INLINE void vec_stream_int(void *p, vec_int v)
{
    _mm256_stream_si256((__m256i *)p, v);
}

/** Wait for streamed stores, so that other threads see them. */
FX8_INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

/** All bytes of a register: see VEC_MASKS_BYTES. */
FX8_INLINE vec_int vec_load_bytes(size_t n, const void *p)
{
    (void)n;
    return vec_load_int(p);
}

/** All bits of the first n lanes. */
FX8_INLINE vec_int vec_first_lanes(size_t n)
{
    const int most = n < VEC_LANES ? (int)n : VEC_LANES;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(most),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/** The first n floats, the other lanes from `others`; n may be more than
 *  VEC_LANES. */
FX8_INLINE vec_float vec_load_first(size_t n, const float *p, vec_float others)
{
    if (n >= VEC_LANES)
        return _mm256_loadu_ps(p);
    const vec_int mask = vec_first_lanes(n);
    return _mm256_blendv_ps(others, _mm256_maskload_ps(p, mask),
                            (vec_float)mask);
}

FX8_INLINE void vec_store_first(size_t n, float *p, vec_float v)
{
    if (n >= VEC_LANES)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, vec_first_lanes(n), v);
}

/* Narrow rows are rare: partial loads are plain function calls. */

static __attribute__((noinline, unused)) uint64_t vec_part_int8(size_t n,
                                                                const int8_t *p)
{
    uint64_t part = 0;
    for (size_t k = n; k-- > 0;)
        part = part << 8 | (uint8_t)p[k];
    return part;
}

static __attribute__((noinline, unused)) __m128i vec_part_int16(
    size_t n, const int16_t *p)
{
    int16_t part[8] = {0};
    for (size_t k = 0; k < n; k++)
        part[k] = p[k];
    return _mm_loadu_si128((const __m128i_u *)part);
}

/** The first n <= VEC_LANES samples, widened to 32 bits. */
FX8_INLINE vec_int vec_load_int8(size_t n, const int8_t *p)
{
    if (n < VEC_LANES)
        return _mm256_cvtepi8_epi32(
            _mm_cvtsi64_si128((int64_t)vec_part_int8(n, p)));
    return _mm256_cvtepi8_epi32(_mm_loadu_si64(p));
}

/** The first n <= VEC_LANES numbers in the lower halves of the lanes, 0 in the
 *  upper ones. */
FX8_INLINE vec_int vec_load_int16(size_t n, const int16_t *p)
{
    if (n < VEC_LANES)
        return _mm256_cvtepu16_epi32(vec_part_int16(n, p));
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)p));
}

/** The first n 64-bit words, then 0; n may be more than fit. */
FX8_INLINE vec_int vec_load_words(size_t n, const uint64_t *p)
{
    const vec_int index = _mm256_setr_epi64x(0, 1, 2, 3);
    const vec_int mask =
        _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), index);
    return _mm256_maskload_epi64((const long long *)p, mask);
}

/** Sum of the 64-bit words. */
FX8_INLINE int64_t vec_sum_words(vec_int v)
{
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(v),
                                      _mm256_extracti128_si256(v, 1));
    return _mm_extract_epi64(two, 0) + _mm_extract_epi64(two, 1);
}

/** In every lane `low` in the lower 16 bits, `high` in the upper ones. */
FX8_INLINE vec_int vec_join_int16(vec_int low, vec_int high)
{
    return _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xaa);
}

/** In every 64-bit lane the lower halves of `low` and of `high`. */
FX8_INLINE vec_int vec_join_words(vec_int low, vec_int high)
{
    return _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xaa);
}

/** The first halves of a and b, of 32 bytes at least, then the others. */
FX8_INLINE void vec_order_halves(vec_int a, vec_int b, vec_int out[2])
{
    out[0] = a;
    out[1] = b;
}

/** sum + a[0] b[0] + a[1] b[1] of the two int16 in every lane. */
FX8_INLINE vec_int vec_add_dot_int16(vec_int sum, vec_int a, vec_int b)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

/** Whether any of the uint16 is above `limit`. */
FX8_INLINE bool vec_any_above_int16(vec_int v, uint16_t limit)
{
    const vec_int rest = _mm256_subs_epu16(v, _mm256_set1_epi16((short)limit));
    return !_mm256_testz_si256(rest, rest);
}

/** Reorder the output of two rounds of packing: 4-byte unit 2 L + i, in part L,
 *  goes to 2 i + L. */
FX8_INLINE vec_int vec_order_packed_twice(vec_int v)
{
    return _mm256_permutevar8x32_epi32(
        v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/** The same for one round, with 8-byte units. */
FX8_INLINE vec_int vec_order_packed(vec_int v)
{
    return _mm256_permute4x64_epi64(v, 0xd8);
}

/** out[i]: part i of every in[k]. */
FX8_INLINE void vec_turn_quarters(const vec_int in[2], vec_int out[2])
{
    out[0] = _mm256_permute2x128_si256(in[0], in[1], 0x20);
    out[1] = _mm256_permute2x128_si256(in[0], in[1], 0x31);
}

/** The lanes whose bit is set, 0 in the others. */
FX8_INLINE vec_float vec_keep_lanes(uint32_t bits, vec_float v)
{
    const vec_int of_lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const vec_int set = _mm256_set1_epi32((int)bits) & of_lane;
    return (vec_float)((vec_int)v & _mm256_cmpeq_epi32(set, of_lane));
}

/** re[0], im[0], re[1], ...: the first half, and the rest. */
FX8_INLINE vec_int vec_interleave_low(vec_float re, vec_float im)
{
    return _mm256_castps_si256(_mm256_permute2f128_ps(
        _mm256_unpacklo_ps(re, im), _mm256_unpackhi_ps(re, im), 0x20));
}

FX8_INLINE vec_int vec_interleave_high(vec_float re, vec_float im)
{
    return _mm256_castps_si256(_mm256_permute2f128_ps(
        _mm256_unpacklo_ps(re, im), _mm256_unpackhi_ps(re, im), 0x31));
}

/** Lane k: the sum of the lanes of v[k]. */
FX8_INLINE vec_float vec_lane_sums(const vec_float v[8])
{
    const vec_float low =
        _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    const vec_float high =
        _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_permute2f128_ps(low, high, 0x20) +
           _mm256_permute2f128_ps(low, high, 0x31);
}

/** Store the first n floats as halves, to nearest even; n may be more than
 *  VEC_LANES. */
FX8_INLINE void vec_store_half(size_t n, uint16_t *p, vec_float v)
{
    const __m128i halves = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
    uint16_t part[VEC_LANES];
    if (n >= VEC_LANES) {
        _mm_storeu_si128((__m128i_u *)p, halves);
        return;
    }
    _mm_storeu_si128((__m128i_u *)part, halves);
    for (size_t k = 0; k < n; k++)
        p[k] = part[k];
}

/** The first n halves, 0 in the other lanes; n may be more than VEC_LANES. */
FX8_INLINE vec_float vec_load_half(size_t n, const uint16_t *p)
{
    return _mm256_cvtph_ps(n < VEC_LANES
                               ? vec_part_int16(n, (const int16_t *)p)
                               : _mm_loadu_si128((const __m128i_u *)p));
}

/* Doubles of pairs (re, im); a register holds VEC_LANES / 4 pairs. */

/** Each of VEC_LANES / 4 numbers twice. */
FX8_INLINE vec_double vec_load_twice(const double *p)
{
    return _mm256_permute4x64_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), 0x50);
}

/** int64 to double, rounded once: the lower half as it is, 2^52 added by its
 *  exponent, the upper one with 2^84 and 2^63, which the exact difference
 *  takes away with the 2^52. */
FX8_INLINE vec_double vec_int64_to_double(vec_int v)
{
    const vec_double low = (vec_double)_mm256_blend_epi32(
        v, vec_set_int64(0x4330000000000000ll), 0xaa);
    const vec_double high = (vec_double)(_mm256_srli_epi64(v, 32) ^
                                         vec_set_int64(0x4530000080000000ll));
    return (high - (vec_double)vec_set_int64(0x4530000080100000ll)) + low;
}

/** a where it is at least `least`, else b. */
FX8_INLINE vec_double vec_if_at_least(vec_double a, vec_double least,
                                      vec_double b)
{
    return _mm256_blendv_pd(b, a, _mm256_cmp_pd(a, least, _CMP_GE_OQ));
}

/** v where x is not 0, else 0. */
FX8_INLINE vec_double vec_if_nonzero(vec_double x, vec_double v)
{
    return _mm256_and_pd(v, _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_NEQ_UQ));
}

/** sum + v in the pairs whose flag is 0, else sum. */
FX8_INLINE vec_double vec_add_unflagged(vec_double sum, const uint8_t *flags,
                                        vec_double v)
{
    const __m128i two = _mm_loadu_si16(flags);
    const vec_int words = _mm256_cvtepu8_epi64(_mm_unpacklo_epi8(two, two));
    return _mm256_blendv_pd(
        sum, sum + v, (vec_double)_mm256_cmpeq_epi64(words, vec_set_int64(0)));
}

/** Store doubles as floats. */
FX8_INLINE void vec_store_narrow(float *p, vec_double v)
{
    _mm_storeu_ps(p, _mm256_cvtpd_ps(v));
}

#endif
