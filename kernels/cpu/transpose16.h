/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transpose16.h -- the corner turn under gather and quantise: a tile of 32 x 32
 * items of 16 bits (a complex int8, or two neighbouring real ones).
 *
 * fx8_transpose16(source, stride, n_bytes, out, out_stride):
 *
 * Given:    source   32 rows, `stride` bytes apart; the first n_bytes (1 .. 64)
 *                    are read, the rest counts as zero
 * Returned: out      32 rows of 64 bytes, out_stride bytes apart: item t of
 *                    row k is item k of row t of the source; rows for items
 *                    beyond n_bytes need not be written
 *
 * fx8_copy_line(row, out, is_streamed) copies 64 bytes.  fx8_pick_line(low,
 * high, parity, out, is_streamed) takes byte 0 (parity 0) or 1 of each item of
 * two such rows, one after the other: 64 real samples of an input.  Streamed
 * stores bypass the caches and need aligned addresses; call vec_stream_end()
 * before other threads read them.
 *
 * Notes:    present in files compiled with AVX-512 or AVX2
 */
#ifndef FX8_KERNELS_CPU_TRANSPOSE16_H
#define FX8_KERNELS_CPU_TRANSPOSE16_H

#include <string.h>

#include "kernels/cpu/vector.h"

/** Rows and columns of a tile, and bytes in a row. */
#define FX8_TILE       32
#define FX8_TILE_BYTES 64

#if defined(__AVX2__)

/** Turn the 8 x 8 items in each 128-bit part of 8 registers: part L of
 *  transposed[c][group] holds column 8 L + c of these 8 rows. */
FX8_INLINE void transpose_parts(const vec_int rows[8], int group,
                                vec_int transposed[8][VEC_QUARTERS])
{
    vec_int pairs[8], quads[8];
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        pairs[2 * i] = VEC(unpacklo_epi16)(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = VEC(unpackhi_epi16)(rows[2 * i], rows[2 * i + 1]);
    }
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        const int at = i / 2 * 4 + i % 2;
        quads[2 * i] = VEC(unpacklo_epi32)(pairs[at], pairs[at + 2]);
        quads[2 * i + 1] = VEC(unpackhi_epi32)(pairs[at], pairs[at + 2]);
    }
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        transposed[2 * i][group] = VEC(unpacklo_epi64)(quads[i], quads[i + 4]);
        transposed[2 * i + 1][group] =
            VEC(unpackhi_epi64)(quads[i], quads[i + 4]);
    }
}

/** Turn a square of the tile, n_bytes of a register in each row. */
FX8_INLINE void turn_square(const int8_t *source, ptrdiff_t stride,
                            size_t n_bytes, int8_t *out, size_t out_stride)
{
    vec_int transposed[8][VEC_QUARTERS];
    FX8_UNROLL
    for (int group = 0; group < VEC_QUARTERS; group++) {
        vec_int rows[8];
        FX8_UNROLL
        for (int i = 0; i < 8; i++)
            rows[i] =
                vec_load_bytes(n_bytes, source + (8 * group + i) * stride);
        transpose_parts(rows, group, transposed);
    }
    FX8_UNROLL
    for (size_t c = 0; c < 8; c++) {
        vec_int columns[VEC_QUARTERS];
        vec_turn_quarters(transposed[c], columns);
        FX8_UNROLL
        for (size_t q = 0; q < VEC_QUARTERS; q++)
            vec_store_int(out + (8 * q + c) * out_stride, columns[q]);
    }
}

/** Copy n bytes, 1 .. 64, in two overlapping pieces: memcpy() with a variable
 *  length takes several times as long. */
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

/* Not inlined: gcc would generate slower code for some callers. */
static __attribute__((noinline, unused)) void fx8_transpose16(
    const int8_t *source, ptrdiff_t stride, size_t n_bytes, int8_t *out,
    size_t out_stride)
{
    FX8_ALIGNED int8_t wide[FX8_TILE * FX8_TILE_BYTES];
    if (!VEC_MASKS_BYTES && n_bytes % VEC_BYTES != 0) {
        for (int t = 0; t < FX8_TILE; t++) {
            int8_t *row = wide + t * FX8_TILE_BYTES;
            memset(row, 0, FX8_TILE_BYTES);
            copy_narrow(row, source + t * stride, n_bytes);
        }
        source = wide;
        stride = FX8_TILE_BYTES;
    }
    for (int row = 0; row < FX8_TILE; row += VEC_BYTES / 2)
        for (size_t column = 0; column < n_bytes; column += VEC_BYTES)
            turn_square(source + row * stride + column, stride, n_bytes,
                        out + column / 2 * out_stride + 2 * row, out_stride);
}

FX8_INLINE void put_bytes(int8_t *out, vec_int bytes, bool is_streamed)
{
    if (is_streamed)
        vec_stream_int(out, bytes);
    else
        vec_store_int(out, bytes);
}

static inline void fx8_copy_line(const int8_t *row, int8_t *out,
                                 bool is_streamed)
{
    for (int at = 0; at < FX8_TILE_BYTES; at += VEC_BYTES)
        put_bytes(out + at, vec_load_int(row + at), is_streamed);
}

static inline void fx8_pick_line(const int8_t *low, const int8_t *high,
                                 unsigned parity, int8_t *out, bool is_streamed)
{
    const __m128i shift = _mm_cvtsi32_si128((int)(8 * parity));
    const vec_int bytes = VEC(set1_epi16)(0xff);
    const int8_t *rows[2] = {low, high};
    FX8_UNROLL
    for (int at = 0; at < 2 * FX8_TILE_BYTES; at += 2 * VEC_BYTES) {
        const int next = at + VEC_BYTES;
        const vec_int a =
            vec_load_int(rows[at / FX8_TILE_BYTES] + at % FX8_TILE_BYTES);
        const vec_int b =
            vec_load_int(rows[next / FX8_TILE_BYTES] + next % FX8_TILE_BYTES);
        const vec_int packed = VEC(packus_epi16)(
            VEC(srl_epi16)(a, shift) & bytes, VEC(srl_epi16)(b, shift) & bytes);
        put_bytes(out + at / 2, vec_order_packed(packed), is_streamed);
    }
}

#endif

#endif
