/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_int8_neon.h -- INT8 correlator tiles for 64-bit Arm, compiled for
 * `neon` (every such CPU) and `dotprod` (SDOT, from Armv8.2 on: Graviton 2,
 * Grace, Apple M1).  A tile is 4 rows x 2 columns, 16 sums in registers.
 * Nobody measured it: its bits are tested, under qemu; its speed is not known.
 *
 * With row a and column b, conj(b) a = (ar br + ai bi) + i (ai br - ar bi).
 * The real part is the dot product of (ar, ai) and (br, bi); for the imaginary
 * part the column is (~bi, br), in int8 even for -128.  As ~b = -b - 1,
 *
 *     sum of ai br - ar bi = sum of (ar, ai) (~bi, br) + sum of ar
 *
 * The last sum is of the row alone: negated it is the bias of its row block,
 * found once on the diagonal and subtracted by fold().  Sums may overflow
 * before that, and return: all arithmetic is modulo 2^32, and the result fits.
 *
 * I8MM (SMMLA) multiplies twice as much per instruction, but wants two rows and
 * two columns interleaved.  Unpacked, a step of 4 x 4 inputs takes 4 + 16
 * instructions for that and 16 products, 36 in all, SDOT 8 + 32: 40.
 */
#ifndef FX8_KERNELS_CPU_CORRELATE_INT8_NEON_H
#define FX8_KERNELS_CPU_CORRELATE_INT8_NEON_H

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels/cpu/correlate_sweep.h"
#include "kernels/cpu/simd.h"

enum { REGISTER = 16, N_COLUMNS = 2 };

/** sum + a b, four neighbouring bytes of each to a lane. */
FX8_INLINE int32x4_t dot(int32x4_t sum, int8x16_t a, int8x16_t b)
{
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(sum, a, b);
#else
    sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    return vpadalq_s16(sum, vmull_high_s8(a, b));
#endif
}

FX8_INLINE int8x16_t load(const char *address)
{
    return vld1q_s8((const int8_t *)address);
}

/** A column for the imaginary part: (~bi, br). */
FX8_INLINE int8x16_t rotate(int8x16_t b)
{
    const int8x16_t signs = vreinterpretq_s8_u16(vdupq_n_u16(0x00ff));
    return veorq_s8(vrev16q_s8(b), signs);
}

/** Add to n sums the sums over the lanes of v. */
FX8_INLINE void add_lanes(size_t n, int32_t *sums, const int32x4_t *v)
{
    FX8_UNROLL
    for (size_t k = 0; k < n; k += 4) {
        const int32x4_t joined = vpaddq_s32(vpaddq_s32(v[k], v[k + 1]),
                                            vpaddq_s32(v[k + 2], v[k + 3]));
        vst1q_s32(sums + k, vaddq_s32(vld1q_s32(sums + k), joined));
    }
}

/** Two columns against four rows. */
FX8_INLINE void add_columns(const struct fx8_tile *tile, const char *column,
                            int32_t *sums)
{
    int32x4_t sum[N_COLUMNS * FX8_TILE_COLUMN];
    FX8_UNROLL
    for (size_t k = 0; k < N_COLUMNS * FX8_TILE_COLUMN; k++)
        sum[k] = vdupq_n_s32(0);
    for (size_t at = 0; at < tile->n_bytes; at += REGISTER) {
        if (at % FX8_TILE_STEP == 0)
            __builtin_prefetch(tile->ahead +
                               at / FX8_TILE_STEP * tile->ahead_step);
        int8x16_t re[N_COLUMNS], im[N_COLUMNS];
        FX8_UNROLL
        for (size_t c = 0; c < N_COLUMNS; c++) {
            re[c] = load(column + c * tile->pitch + at);
            im[c] = rotate(re[c]);
        }
        FX8_UNROLL
        for (size_t r = 0; r < FX8_ROW_BLOCK; r++) {
            const int8x16_t a = load(tile->rows + r * tile->pitch + at);
            FX8_UNROLL
            for (size_t c = 0; c < N_COLUMNS; c++) {
                int32x4_t *of = sum + c * FX8_TILE_COLUMN + 2 * r;
                of[0] = dot(of[0], a, re[c]);
                of[1] = dot(of[1], a, im[c]);
            }
        }
    }
    add_lanes(N_COLUMNS * FX8_TILE_COLUMN, sums, sum);
}

static void rectangle(const struct fx8_tile *tile)
{
    add_columns(tile, tile->columns, tile->sums);
}

/** The negated sums of ar of each row are the bias [row][0, im]. */
static void add_bias(const struct fx8_tile *tile)
{
    const int8x16_t reals =
        vreinterpretq_s8_u16(vdupq_n_u16(0x00ff)); /* -1, 0 */
    int32x4_t sum[FX8_TILE_COLUMN];
    FX8_UNROLL
    for (size_t k = 0; k < FX8_TILE_COLUMN; k++)
        sum[k] = vdupq_n_s32(0);
    for (size_t at = 0; at < tile->n_bytes; at += REGISTER) {
        FX8_UNROLL
        for (size_t r = 0; r < FX8_ROW_BLOCK; r++)
            sum[2 * r + 1] = dot(
                sum[2 * r + 1], load(tile->rows + r * tile->pitch + at), reals);
    }
    add_lanes(FX8_TILE_COLUMN, tile->bias, sum);
}

/* Four columns; six of the sixteen products are not needed. */
static void square(const struct fx8_tile *tile)
{
    int32_t *sums = tile->sums;
    for (size_t c = 0; c < FX8_ROW_BLOCK; c += N_COLUMNS)
        add_columns(tile, tile->columns + c * tile->pitch,
                    sums + c * FX8_TILE_COLUMN);
    add_bias(tile);
}

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_ci8 *x,
                       size_t input_stride, int32_t *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = 4096,
        .item_size = sizeof(int32_t),
        .n_columns = N_COLUMNS,
        .rectangle = rectangle,
        .square = square,
    };
    fx8_correlate_sweep(&kernel, n_inputs, rows, n_times * sizeof(*x), x,
                        input_stride * sizeof(*x), accumulator);
}

static const struct fx8_correlate_int8 correlate_int8 = {
    .accumulator_size = fx8_tile_biased_size,
    .accumulate = accumulate,
    .fold = fx8_tile_fold_biased,
};

#endif

#endif
