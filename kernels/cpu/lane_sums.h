/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane_sums.h -- sums over the lanes of registers of int32, private to the
 * integer correlators.  Each join adds the halves of two registers (of every
 * 64, 128, 256 bits and of the whole) and places the sums side by side, until
 * one register is left.
 */
#ifndef FX8_KERNELS_CPU_LANE_SUMS_H
#define FX8_KERNELS_CPU_LANE_SUMS_H

#include "kernels/cpu/vector.h"

#if defined(__AVX2__)

FX8_INLINE vec_int vec_join_int32(vec_int x, vec_int y)
{
    return VEC(add_epi32)(VEC(unpacklo_epi32)(x, y), VEC(unpackhi_epi32)(x, y));
}

FX8_INLINE vec_int vec_join_int64(vec_int x, vec_int y)
{
    return VEC(add_epi32)(VEC(unpacklo_epi64)(x, y), VEC(unpackhi_epi64)(x, y));
}

/** The sums of v[0 .. 3] over the lanes of every quarter, in that quarter. */
FX8_INLINE vec_int vec_quarter_sums_int32(const vec_int v[4])
{
    return vec_join_int64(vec_join_int32(v[0], v[1]),
                          vec_join_int32(v[2], v[3]));
}

#if defined(__AVX512VNNI__)

FX8_INLINE vec_int vec_join_int128(vec_int x, vec_int y)
{
    return _mm512_add_epi32(_mm512_shuffle_i64x2(x, y, 0x88),
                            _mm512_shuffle_i64x2(x, y, 0xdd));
}

/** Lane k: the sum of the lanes of v[k]. */
FX8_INLINE vec_int vec_lane_sums_int32(const vec_int v[16])
{
    return vec_join_int128(vec_join_int128(vec_quarter_sums_int32(v),
                                           vec_quarter_sums_int32(v + 4)),
                           vec_join_int128(vec_quarter_sums_int32(v + 8),
                                           vec_quarter_sums_int32(v + 12)));
}

#else

FX8_INLINE vec_int vec_lane_sums_int32(const vec_int v[8])
{
    const vec_int low = vec_quarter_sums_int32(v);
    const vec_int high = vec_quarter_sums_int32(v + 4);

    return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                            _mm256_permute2x128_si256(low, high, 0x31));
}

#endif

#endif

#endif
