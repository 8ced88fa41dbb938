/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_fp32_neon.c -- FP32 correlator tiles for 64-bit Arm, the tiles of
 * correlate_fp32_simd.c in registers of two spectra: 4 rows x 2 columns, 16
 * sums.  Nobody measured it: its sums are tested, under qemu; its speed is not
 * known.
 *
 * Rounding, u = 2^-24: of 512 spectra a lane takes 256 fused products; two sums
 * join the lanes: 258 u.  Integers up to 128 in magnitude never round.
 */
#include "kernels/cpu/variants.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels/cpu/correlate_sweep.h"
#include "kernels/cpu/simd.h"

enum { REGISTER = 16, N_COLUMNS = 2 };

FX8_INLINE float32x4_t load(const char *address)
{
    return vld1q_f32((const float *)(const void *)address);
}

/** Add to four sums those over the lanes of v: re, im, re, im.  Imaginary ones
 *  hold (ar bi, ai br) in neighbouring lanes: the first is negated. */
FX8_INLINE void add_lanes(double *sums, const float32x4_t v[4])
{
    const uint32x4_t signs = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    float32x4_t joined[2];
    FX8_UNROLL
    for (size_t k = 0; k < 2; k++)
        joined[k] = vpaddq_f32(
            v[2 * k], vreinterpretq_f32_u32(veorq_u32(
                          vreinterpretq_u32_f32(v[2 * k + 1]), signs)));
    const float32x4_t four = vpaddq_f32(joined[0], joined[1]);
    vst1q_f64(sums,
              vaddq_f64(vld1q_f64(sums), vcvt_f64_f32(vget_low_f32(four))));
    vst1q_f64(sums + 2,
              vaddq_f64(vld1q_f64(sums + 2), vcvt_high_f64_f32(four)));
}

/** Two columns against four rows. */
FX8_INLINE void add_columns(const struct fx8_tile *tile, const char *column,
                            double *sums)
{
    float32x4_t sum[N_COLUMNS * FX8_TILE_COLUMN];
    FX8_UNROLL
    for (size_t k = 0; k < N_COLUMNS * FX8_TILE_COLUMN; k++)
        sum[k] = vdupq_n_f32(0.0f);
    for (size_t at = 0; at < tile->n_bytes; at += REGISTER) {
        if (at % FX8_TILE_STEP == 0)
            __builtin_prefetch(tile->ahead +
                               at / FX8_TILE_STEP * tile->ahead_step);
        float32x4_t b[N_COLUMNS], swapped[N_COLUMNS];
        FX8_UNROLL
        for (size_t c = 0; c < N_COLUMNS; c++) {
            b[c] = load(column + c * tile->pitch + at);
            swapped[c] = vrev64q_f32(b[c]);
        }
        FX8_UNROLL
        for (size_t r = 0; r < FX8_ROW_BLOCK; r++) {
            const float32x4_t a = load(tile->rows + r * tile->pitch + at);
            FX8_UNROLL
            for (size_t c = 0; c < N_COLUMNS; c++) {
                float32x4_t *of = sum + c * FX8_TILE_COLUMN + 2 * r;
                of[0] = vfmaq_f32(of[0], a, b[c]);
                of[1] = vfmaq_f32(of[1], a, swapped[c]);
            }
        }
    }
    FX8_UNROLL
    for (size_t k = 0; k < N_COLUMNS * FX8_TILE_COLUMN; k += 4)
        add_lanes(sums + k, sum + k);
}

static void rectangle(const struct fx8_tile *tile)
{
    add_columns(tile, tile->columns, tile->sums);
}

/* Four columns; six of the sixteen products are not needed. */
static void square(const struct fx8_tile *tile)
{
    double *sums = tile->sums;
    for (size_t c = 0; c < FX8_ROW_BLOCK; c += N_COLUMNS)
        add_columns(tile, tile->columns + c * tile->pitch,
                    sums + c * FX8_TILE_COLUMN);
}

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, double *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = FX8_MAX_FP32_PRODUCTS * sizeof(struct fx8_cf32),
        .item_size = sizeof(double),
        .n_columns = N_COLUMNS,
        .rectangle = rectangle,
        .square = square,
    };
    fx8_correlate_sweep(&kernel, n_inputs, rows, n_times * sizeof(*x), x,
                        input_stride * sizeof(*x), accumulator);
}

void fx8_fill_correlate_fp32_neon(struct fx8_operations *operations)
{
    operations->fp32 = (struct fx8_correlate_fp32){
        .accumulator_size = fx8_tile_accumulator_size,
        .accumulate = accumulate,
        .fold = fx8_tile_fold_double,
    };
}

#endif
