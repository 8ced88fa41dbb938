/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_avx512.h -- private to correlate_int8_dot.c and
 * correlate_fp32_simd.c: common parts of their tiles.
 *
 * A register holds 32 (8) spectra of one input, {re, im} in memory order; a
 * tile is 4 rows x 2 columns, 16 sums in registers.  On the diagonal the sums
 * form a triangle: items 0 .. 11 are the pairs (column, row) (0, 1), (0, 2),
 * (1, 2), (0, 3), (1, 3), (2, 3) as [re, im], items 12 .. 15 the real parts of
 * the autos.
 *
 * A step takes 64 bytes of each row.  The prefetch targets L2: rows that are a
 * channel ahead do not fit into L1 beside the rows in use (16 inputs, from
 * memory: 0.89 of the peak against 0.74; 64 and more inputs lose 1 %).
 */
#ifndef FX8_KERNELS_CPU_CORRELATE_AVX512_H
#define FX8_KERNELS_CPU_CORRELATE_AVX512_H

#include "kernels/operations.h"

/** First of the two sums of column c with row r > c. */
#define FX8_TRIANGLE_PAIR(c, r) ((r) * ((r)-1) + 2 * (c))

/** Permutation of the sums of a triangle into the square [column][row][re,
 *  im]: source lanes for its first and its last two columns.  The masks leave
 *  out items above the diagonal and, on it, the imaginary parts, which are
 *  zero. */
#define FX8_TRIANGLE_LOW                                                       \
    _mm512_setr_epi32(12, 0, 0, 1, 2, 3, 6, 7, 0, 0, 13, 0, 4, 5, 8, 9)
#define FX8_TRIANGLE_HIGH                                                      \
    _mm512_setr_epi32(0, 0, 0, 0, 14, 0, 10, 11, 0, 0, 0, 0, 0, 0, 15, 0)
#define FX8_TRIANGLE_LOW_MASK  0xf4fd
#define FX8_TRIANGLE_HIGH_MASK 0x40d0

#endif
