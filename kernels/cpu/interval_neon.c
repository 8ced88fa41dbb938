/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval_neon.c -- the enclosing correlator for 64-bit Arm, as
 * interval_simd.c: everything is rounded upwards, sums for `up` by fused
 * multiply-add, negated sums for `down` by fused multiply-subtract.  A tile is
 * 4 rows x 1 column, 16 sums; lanes and the order of joining them are those of
 * correlate_fp32_neon.c.  Tested under qemu; its speed is not known.
 */
#include "kernels/cpu/variants.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels/cpu/interval_tiles.h"
#include "kernels/cpu/simd.h"

enum { REGISTER = 16 };

FX8_INLINE float32x4_t load(const char *address)
{
    return vld1q_f32((const float *)(const void *)address);
}

/** A column for the imaginary part: (-bi, br). */
FX8_INLINE float32x4_t rotate(float32x4_t b)
{
    const uint32x4_t signs = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    return vreinterpretq_f32_u32(
        veorq_u32(vreinterpretq_u32_f32(vrev64q_f32(b)), signs));
}

/** Add to four sums those over the lanes of v. */
FX8_INLINE void add_lanes(double *sums, const float32x4_t v[4])
{
    const float32x4_t four =
        vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3]));
    vst1q_f64(sums,
              vaddq_f64(vld1q_f64(sums), vcvt_f64_f32(vget_low_f32(four))));
    vst1q_f64(sums + 2,
              vaddq_f64(vld1q_f64(sums + 2), vcvt_high_f64_f32(four)));
}

/** Both bounds of one column against four rows. */
static void add_column(const struct fx8_tile *tile, const char *column,
                       double *sums)
{
    float32x4_t up[FX8_TILE_COLUMN], down[FX8_TILE_COLUMN];
    FX8_UNROLL
    for (size_t k = 0; k < FX8_TILE_COLUMN; k++)
        up[k] = down[k] = vdupq_n_f32(0.0f);
    for (size_t at = 0; at < tile->n_bytes; at += REGISTER) {
        const float32x4_t re = load(column + at);
        const float32x4_t im = rotate(re);
        FX8_UNROLL
        for (size_t r = 0; r < FX8_ROW_BLOCK; r++) {
            const float32x4_t a = load(tile->rows + r * tile->pitch + at);
            up[2 * r] = vfmaq_f32(up[2 * r], a, re);
            up[2 * r + 1] = vfmaq_f32(up[2 * r + 1], a, im);
            down[2 * r] = vfmsq_f32(down[2 * r], a, re);
            down[2 * r + 1] = vfmsq_f32(down[2 * r + 1], a, im);
        }
    }
    FX8_UNROLL
    for (size_t k = 0; k < FX8_TILE_COLUMN; k += 4) {
        add_lanes(sums + k, up + k);
        add_lanes(sums + FX8_TILE_COLUMN + k, down + k);
    }
}

static void rectangle(const struct fx8_tile *tile)
{
    add_column(tile, tile->columns, tile->sums);
}

static void square(const struct fx8_tile *tile)
{
    double *sums = tile->sums;
    for (size_t k = 0; k < FX8_ROW_BLOCK; k++)
        add_column(tile, tile->columns + k * tile->pitch,
                   sums + k * FX8_INTERVAL_COLUMN);
}

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, size_t segment, double *accumulator)
{
    fx8_interval_tile_sweep(rectangle, square, n_inputs, rows, n_times, x,
                            input_stride, segment, accumulator);
}

void fx8_fill_interval_neon(struct fx8_operations *operations)
{
    operations->interval = (struct fx8_correlate_interval){
        .accumulator_size = fx8_interval_tile_size,
        .accumulate = accumulate,
        .fold = fx8_interval_tile_fold,
    };
}

#endif
