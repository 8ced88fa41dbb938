/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir_neon.c -- fir() and fir_int16() for 64-bit Arm, LANES elements of SPECTRA
 * spectra at a time, so that a coefficient is loaded once for all of them.
 * Taps ascend and each is one fused multiply-add, hence the bits of the
 * reference, which takes what is left over.  Tested under qemu; its speed is
 * not known.
 */
#include "kernels/cpu/variants.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels/cpu/simd.h"

enum { LANES = 8, SPECTRA = 4 };

/** Arguments of a call. */
struct work {
    size_t n_taps, row;
    const int8_t *samples;
    float *folded;
    size_t folded_stride;
};

/** n spectra (constant) from t on, elements r .. r + LANES - 1. */
FX8_INLINE void fold_floats(const struct work *work, const float *coefficients,
                            size_t n, size_t t, size_t r)
{
    float32x4_t sum[SPECTRA][2];
    FX8_UNROLL
    for (size_t k = 0; k < n; k++)
        sum[k][0] = sum[k][1] = vdupq_n_f32(0.0f);
    for (size_t tap = 0; tap < work->n_taps; tap++) {
        const float *c = coefficients + tap * work->row + r;
        const float32x4_t low = vld1q_f32(c), high = vld1q_f32(c + 4);
        FX8_UNROLL
        for (size_t k = 0; k < n; k++) {
            const int16x8_t x = vmovl_s8(
                vld1_s8(work->samples + (t + k + tap) * work->row + r));
            sum[k][0] = vfmaq_f32(sum[k][0], low,
                                  vcvtq_f32_s32(vmovl_s16(vget_low_s16(x))));
            sum[k][1] =
                vfmaq_f32(sum[k][1], high, vcvtq_f32_s32(vmovl_high_s16(x)));
        }
    }
    FX8_UNROLL
    for (size_t k = 0; k < n; k++) {
        float *to = work->folded + (t + k) * work->folded_stride + r;
        vst1q_f32(to, sum[k][0]);
        vst1q_f32(to + 4, sum[k][1]);
    }
}

/** The same in integers. */
FX8_INLINE void fold_integers(const struct work *work,
                              const int16_t *coefficients, float scale,
                              size_t n, size_t t, size_t r)
{
    int32x4_t sum[SPECTRA][2];
    FX8_UNROLL
    for (size_t k = 0; k < n; k++)
        sum[k][0] = sum[k][1] = vdupq_n_s32(0);
    for (size_t tap = 0; tap < work->n_taps; tap++) {
        const int16x8_t c = vld1q_s16(coefficients + tap * work->row + r);
        FX8_UNROLL
        for (size_t k = 0; k < n; k++) {
            const int16x8_t x = vmovl_s8(
                vld1_s8(work->samples + (t + k + tap) * work->row + r));
            sum[k][0] = vmlal_s16(sum[k][0], vget_low_s16(c), vget_low_s16(x));
            sum[k][1] = vmlal_high_s16(sum[k][1], c, x);
        }
    }
    FX8_UNROLL
    for (size_t k = 0; k < n; k++) {
        float *to = work->folded + (t + k) * work->folded_stride + r;
        vst1q_f32(to, vmulq_n_f32(vcvtq_f32_s32(sum[k][0]), scale));
        vst1q_f32(to + 4, vmulq_n_f32(vcvtq_f32_s32(sum[k][1]), scale));
    }
}

/** Elements of a row that fill no registers, one by one. */
static float fold_float(const struct work *work, const float *coefficients,
                        size_t t, size_t r)
{
    float sum = 0.0f;
    for (size_t tap = 0; tap < work->n_taps; tap++)
        sum = __builtin_fmaf(coefficients[tap * work->row + r],
                             (float)work->samples[(t + tap) * work->row + r],
                             sum);
    return sum;
}

static float fold_integer(const struct work *work, const int16_t *coefficients,
                          float scale, size_t t, size_t r)
{
    int32_t sum = 0;
    for (size_t tap = 0; tap < work->n_taps; tap++)
        sum += coefficients[tap * work->row + r] *
               work->samples[(t + tap) * work->row + r];
    return (float)sum * scale;
}

static void fir(size_t n_spectra, size_t n_taps, size_t row,
                const int8_t *samples, const float *coefficients, float *folded,
                size_t folded_stride)
{
    const struct work work = {n_taps, row, samples, folded, folded_stride};
    const size_t whole = row / LANES * LANES;
    for (size_t r = 0; r < whole; r += LANES) {
        size_t t = 0;
        for (; t + SPECTRA <= n_spectra; t += SPECTRA)
            fold_floats(&work, coefficients, SPECTRA, t, r);
        for (; t < n_spectra; t++)
            fold_floats(&work, coefficients, 1, t, r);
    }
    for (size_t t = 0; t < n_spectra; t++)
        for (size_t r = whole; r < row; r++)
            folded[t * folded_stride + r] =
                fold_float(&work, coefficients, t, r);
}

static void fir_int16(size_t n_spectra, size_t n_taps, size_t row,
                      const int8_t *samples, const int16_t *coefficients,
                      float scale, float *folded, size_t folded_stride)
{
    const struct work work = {n_taps, row, samples, folded, folded_stride};
    const size_t whole = row / LANES * LANES;
    for (size_t r = 0; r < whole; r += LANES) {
        size_t t = 0;
        for (; t + SPECTRA <= n_spectra; t += SPECTRA)
            fold_integers(&work, coefficients, scale, SPECTRA, t, r);
        for (; t < n_spectra; t++)
            fold_integers(&work, coefficients, scale, 1, t, r);
    }
    for (size_t t = 0; t < n_spectra; t++)
        for (size_t r = whole; r < row; r++)
            folded[t * folded_stride + r] =
                fold_integer(&work, coefficients, scale, t, r);
}

void fx8_fill_fir_neon(struct fx8_operations *operations)
{
    operations->fir = fir;
    operations->fir_int16 = fir_int16;
}

#endif
