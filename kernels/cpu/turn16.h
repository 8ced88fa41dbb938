/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn16.h -- the corner turn under gather and quantise: a tile of 32 x 32
 * items of 16 bits (a complex int8, or two neighbouring real ones).
 *
 * fx8_turn16(source, stride, n_bytes, out, out_stride):
 *
 * Given:    source   32 rows, `stride` bytes apart, of which the first n_bytes
 *                    (1 .. 64) are read; the rest counts as zero
 * Returned: out      32 rows of 64 bytes, out_stride bytes apart: item t of
 *                    row k is item k of row t of the source
 *
 * fx8_copy_line(row, out, is_streamed): 64 bytes; fx8_pick_line(low, high,
 * parity, out, is_streamed): bytes 0 (parity 0) or 1 of the items of two such
 * rows, one after the other: 64 real samples of an input.  What is streamed
 * goes past the caches to an aligned place: fx8_stream_end() before anyone else
 * looks at it.
 *
 * Notes:    present in files compiled with AVX-512BW or AVX2
 */
#ifndef FX8_KERNELS_CPU_TURN16_H
#define FX8_KERNELS_CPU_TURN16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/simd.h"

/** Rows and columns of a tile, and bytes in a row. */
#define FX8_TILE       32
#define FX8_TILE_BYTES 64

#if defined(__AVX512BW__)

#include <immintrin.h>

/** Turn the 8 x 8 items in each 128-bit lane of 8 registers.  Lane L of
 *  out[4 * c] afterwards holds column 8 L + c of these 8 rows. */
FX8_INLINE void turn_lanes(const __m512i rows[8], __m512i *out)
{
    __m512i pairs[8], quads[8];
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        pairs[2 * i] = _mm512_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);
    }
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        const int at = i / 2 * 4 + i % 2;
        quads[2 * i] = _mm512_unpacklo_epi32(pairs[at], pairs[at + 2]);
        quads[2 * i + 1] = _mm512_unpackhi_epi32(pairs[at], pairs[at + 2]);
    }
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        out[8 * i] = _mm512_unpacklo_epi64(quads[i], quads[i + 4]);
        out[8 * i + 4] = _mm512_unpackhi_epi64(quads[i], quads[i + 4]);
    }
}

static inline void fx8_turn16(const int8_t *source, ptrdiff_t stride,
                              size_t n_bytes, int8_t *out, size_t out_stride)
{
    const __mmask64 mask = ~(__mmask64)0 >> (FX8_TILE_BYTES - n_bytes);
    __m512i turned[FX8_TILE];
    FX8_UNROLL
    for (int group = 0; group < 4; group++) {
        __m512i rows[8];
        FX8_UNROLL
        for (int i = 0; i < 8; i++)
            rows[i] = _mm512_maskz_loadu_epi8(mask, source + (8 * group + i) *
                                                                 stride);
        turn_lanes(rows, turned + group);
    }
    /* turned[4 c + g]: lane L holds column 8 L + c of row group g.  Gather
     * lane L of the four groups into row 8 L + c of the result. */
    FX8_UNROLL
    for (size_t c = 0; c < 8; c++) {
        const __m512i *of = turned + 4 * c;
        const __m512i a = _mm512_shuffle_i64x2(of[0], of[1], 0x44);
        const __m512i b = _mm512_shuffle_i64x2(of[0], of[1], 0xee);
        const __m512i d = _mm512_shuffle_i64x2(of[2], of[3], 0x44);
        const __m512i e = _mm512_shuffle_i64x2(of[2], of[3], 0xee);
        int8_t *row = out + c * out_stride;
        _mm512_storeu_si512(row, _mm512_shuffle_i64x2(a, d, 0x88));
        row += 8 * out_stride;
        _mm512_storeu_si512(row, _mm512_shuffle_i64x2(a, d, 0xdd));
        row += 8 * out_stride;
        _mm512_storeu_si512(row, _mm512_shuffle_i64x2(b, e, 0x88));
        row += 8 * out_stride;
        _mm512_storeu_si512(row, _mm512_shuffle_i64x2(b, e, 0xdd));
    }
}

FX8_INLINE void put_line(int8_t *out, __m512i line, bool is_streamed)
{
    if (is_streamed)
        _mm512_stream_si512((__m512i *)(void *)out, line);
    else
        _mm512_storeu_si512(out, line);
}

static inline void fx8_copy_line(const int8_t *row, int8_t *out,
                                 bool is_streamed)
{
    put_line(out, _mm512_loadu_si512(row), is_streamed);
}

static inline void fx8_pick_line(const int8_t *low, const int8_t *high,
                                 unsigned parity, int8_t *out, bool is_streamed)
{
    const __m128i shift = _mm_cvtsi32_si128((int)(8 * parity));
    const __m512i bytes = _mm512_set1_epi16(0xff);
    const __m512i a = _mm512_srl_epi16(_mm512_loadu_si512(low), shift);
    const __m512i b = _mm512_srl_epi16(_mm512_loadu_si512(high), shift);
    /* the packing goes by lanes: eighths of a and of b in turn */
    const __m512i packed = _mm512_packus_epi16(_mm512_and_si512(a, bytes),
                                               _mm512_and_si512(b, bytes));
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    put_line(out, _mm512_permutexvar_epi64(order, packed), is_streamed);
}

#elif defined(__AVX2__)

#include <immintrin.h>

/** Turn the 8 x 8 items in both 128-bit lanes of 8 registers: lane L of
 *  out[c] afterwards holds column 8 L + c of these 8 rows. */
FX8_INLINE void turn_lanes(const __m256i rows[8], __m256i out[8])
{
    __m256i pairs[8], quads[8];
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        pairs[2 * i] = _mm256_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);
    }
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        const int at = i / 2 * 4 + i % 2;
        quads[2 * i] = _mm256_unpacklo_epi32(pairs[at], pairs[at + 2]);
        quads[2 * i + 1] = _mm256_unpackhi_epi32(pairs[at], pairs[at + 2]);
    }
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        out[2 * i] = _mm256_unpacklo_epi64(quads[i], quads[i + 4]);
        out[2 * i + 1] = _mm256_unpackhi_epi64(quads[i], quads[i + 4]);
    }
}

/** Turn 16 x 16 items, 32 bytes of each row. */
FX8_INLINE void turn_quarter(const int8_t *source, ptrdiff_t stride,
                             int8_t *out, size_t out_stride)
{
    __m256i turned[2][8];
    FX8_UNROLL
    for (int half = 0; half < 2; half++) {
        __m256i rows[8];
        FX8_UNROLL
        for (int i = 0; i < 8; i++)
            rows[i] = _mm256_loadu_si256(
                (const __m256i_u *)(source + (8 * half + i) * stride));
        turn_lanes(rows, turned[half]);
    }
    FX8_UNROLL
    for (size_t c = 0; c < 8; c++) {
        const __m256i low = turned[0][c], high = turned[1][c];
        _mm256_storeu_si256((__m256i_u *)(out + c * out_stride),
                            _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256((__m256i_u *)(out + (c + 8) * out_stride),
                            _mm256_permute2x128_si256(low, high, 0x31));
    }
}

/** Copy n bytes, 1 .. 64, in two pieces that overlap: a call of memcpy() of a
 *  length that is not constant takes several times as long. */
FX8_INLINE void copy_narrow(int8_t *to, const int8_t *from, size_t n)
{
    if (n >= 32) {
        memcpy(to, from, 32);
        memcpy(to + n - 32, from + n - 32, 32);
    } else if (n >= 16) {
        memcpy(to, from, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else {
        for (size_t k = 0; k < n; k++)
            to[k] = from[k];
    }
}

static inline void fx8_turn16(const int8_t *source, ptrdiff_t stride,
                              size_t n_bytes, int8_t *out, size_t out_stride)
{
    /* AVX2 has no masked load of bytes: a narrow tile is copied first. */
    int8_t wide[FX8_TILE * FX8_TILE_BYTES];
    if (n_bytes < FX8_TILE_BYTES) {
        for (int t = 0; t < FX8_TILE; t++) {
            int8_t *row = wide + t * FX8_TILE_BYTES;
            memset(row, 0, FX8_TILE_BYTES);
            copy_narrow(row, source + t * stride, n_bytes);
        }
        source = wide;
        stride = FX8_TILE_BYTES;
    }
    for (int quarter = 0; quarter < 4; quarter++) {
        const int column = quarter % 2 * 32, row = quarter / 2 * 16;
        turn_quarter(source + row * stride + column, stride,
                     out + (size_t)column / 2 * out_stride + 2 * row,
                     out_stride);
    }
}

FX8_INLINE void put_half(int8_t *out, __m256i half, bool is_streamed)
{
    if (is_streamed)
        _mm256_stream_si256((__m256i *)(void *)out, half);
    else
        _mm256_storeu_si256((__m256i_u *)out, half);
}

static inline void fx8_copy_line(const int8_t *row, int8_t *out,
                                 bool is_streamed)
{
    for (int at = 0; at < FX8_TILE_BYTES; at += 32)
        put_half(out + at, _mm256_loadu_si256((const __m256i_u *)(row + at)),
                 is_streamed);
}

static inline void fx8_pick_line(const int8_t *low, const int8_t *high,
                                 unsigned parity, int8_t *out, bool is_streamed)
{
    const __m128i shift = _mm_cvtsi32_si128((int)(8 * parity));
    const __m256i bytes = _mm256_set1_epi16(0xff);
    for (int half = 0; half < 2; half++) {
        const int8_t *row = half == 0 ? low : high;
        __m256i a = _mm256_loadu_si256((const __m256i_u *)row);
        __m256i b = _mm256_loadu_si256((const __m256i_u *)(row + 32));
        a = _mm256_and_si256(_mm256_srl_epi16(a, shift), bytes);
        b = _mm256_and_si256(_mm256_srl_epi16(b, shift), bytes);
        /* the packing goes by lanes: quarters 0 2 1 3 */
        const __m256i packed =
            _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8);
        put_half(out + 32 * half, packed, is_streamed);
    }
}

#endif

#if defined(__AVX2__)

static inline void fx8_stream_end(void)
{
    _mm_sfence();
}

#endif

#endif
