/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loops_body.h -- the loops that compilers vectorise, included by the file of
 * each variant, which adds the words of the random numbers.
 */
#ifndef FX8_CORRELATOR_SIMULATE_LOOPS_BODY_H
#define FX8_CORRELATOR_SIMULATE_LOOPS_BODY_H

#include "correlator/simulate/loops.h"
#include "kernels/cpu/simd.h"
#include "kernels/numeric/log.h"
#include "kernels/numeric/rotate.h"

/** Numbers whose words are made at a time: they stay in the nearest cache. */
#define LOOPS_AT_ONCE 256

/** Steps from one exact phase to the next, and so the error of the step, 2^-33
 *  turn, that they add up. */
#define LOOPS_STEPS 128

/** Box and Muller: normals [n][2]. */
static void make_normals(size_t n, const uint32_t *radius,
                         const uint32_t *angle, float *normals)
{
    const float two_ln_2 = 0x1.62e43p+0f;
    FX8_INDEPENDENT
    for (size_t k = 0; k < n; k++) {
        /* in (0, 1]: 0 has no logarithm */
        const float u = ((float)radius[k] + 0.5f) * 0x1p-32f;
        const float r = sqrtf(-two_ln_2 * fx8_log2_normal(u));
        const float turns = (float)(int32_t)angle[k] * 0x1p-32f;
        normals[2 * k] = r * fx8_rotation_re(turns);
        normals[2 * k + 1] = r * fx8_rotation_im(turns);
    }
}

/** Words 0 and 2 of the n <= LOOPS_AT_ONCE / 2 indices from this one on, as
 *  radius, and words 1 and 3 as angle.  May overwrite the rest of both arrays,
 *  up to LOOPS_AT_ONCE. */
typedef void loops_words(struct fx8_random stream, uint64_t index, size_t n,
                         uint32_t *radius, uint32_t *angle);

/** The loop `normals` with the words of its file. */
FX8_INLINE void draw_normals(loops_words *make_words, struct fx8_random stream,
                             uint64_t index, size_t n, float *normals)
{
    FX8_ALIGNED uint32_t radius[LOOPS_AT_ONCE], angle[LOOPS_AT_ONCE];
    for (size_t from = 0; from < n; from += LOOPS_AT_ONCE / 2) {
        const size_t left = n - from;
        const size_t count =
            left < LOOPS_AT_ONCE / 2 ? left : LOOPS_AT_ONCE / 2;
        make_words(stream, index + from, count, radius, angle);
        make_normals(2 * count, radius, angle, normals + 4 * from);
    }
}

static void rotate(uint64_t base, uint64_t step, size_t n, float *re, float *im)
{
    const uint32_t each = (uint32_t)((step + (UINT64_C(1) << 31)) >> 32);
    for (size_t from = 0; from < n; from += LOOPS_STEPS) {
        const uint32_t begin = (uint32_t)((base + from * step) >> 32);
        const size_t left = n - from;
        const uint32_t count =
            (uint32_t)(left < LOOPS_STEPS ? left : LOOPS_STEPS);
        float *to_re = re + from, *to_im = im + from;
        FX8_INDEPENDENT
        for (uint32_t k = 0; k < count; k++) {
            const float turns = (float)(int32_t)(begin + k * each) * 0x1p-32f;
            to_re[k] = fx8_rotation_re(turns);
            to_im[k] = fx8_rotation_im(turns);
        }
    }
}

static void add_signal(const struct fx8_turning *turning, size_t n_tiles,
                       const float *signal_re, const float *signal_im,
                       float *re, float *im)
{
    for (size_t tile = 0; tile < n_tiles; tile++) {
        const float a = turning->tile_re[tile], b = turning->tile_im[tile];
        const size_t at = tile * FX8_LOOPS_TILE;
        FX8_INDEPENDENT
        for (size_t k = 0; k < FX8_LOOPS_TILE; k++) {
            const float c = turning->place_re[k], d = turning->place_im[k];
            const float x = signal_re[at + k], y = signal_im[at + k];
            const float p = a * c - b * d, q = a * d + b * c;
            re[at + k] += p * x - q * y;
            im[at + k] += p * y + q * x;
        }
    }
}

static void join(size_t n, const float *re, const float *im, float sign,
                 float *data)
{
    FX8_INDEPENDENT
    for (size_t k = 0; k < n; k++) {
        data[2 * k] = re[k];
        data[2 * k + 1] = sign * im[k];
    }
}

static void add_turned_real(size_t n, const float *a, const float *b,
                            const float *re, const float *im, float *sum)
{
    FX8_INDEPENDENT
    for (size_t k = 0; k < n; k++)
        sum[k] += a[k] * re[k] - b[k] * im[k];
}

static void add_turned_complex(size_t n, const float *a, const float *re,
                               const float *im, float *sum)
{
    FX8_INDEPENDENT
    for (size_t k = 0; k < n; k++) {
        const float x = a[2 * k], y = a[2 * k + 1];
        sum[2 * k] += x * re[k] - y * im[k];
        sum[2 * k + 1] += x * im[k] + y * re[k];
    }
}

static void add_tone(const struct fx8_turning *turning, size_t n_tiles,
                     size_t n_parts, float *sum)
{
    const float *c = turning->place_re, *d = turning->place_im;
    for (size_t tile = 0; tile < n_tiles; tile++) {
        const float a = turning->tile_re[tile], b = turning->tile_im[tile];
        float *to = sum + tile * FX8_LOOPS_TILE * n_parts;
        FX8_INDEPENDENT
        for (size_t k = 0; k < FX8_LOOPS_TILE && n_parts == 1; k++)
            to[k] += a * c[k] - b * d[k];
        FX8_INDEPENDENT
        for (size_t k = 0; k < FX8_LOOPS_TILE && n_parts == 2; k++) {
            to[2 * k] += a * c[k] - b * d[k];
            to[2 * k + 1] += a * d[k] + b * c[k];
        }
    }
}

static void fade_in(size_t n, const float *window, const float *data,
                    float *sum)
{
    FX8_INDEPENDENT
    for (size_t k = 0; k < n; k++)
        sum[k] += window[k] * data[k];
}

static void fade_out(size_t n, const float *window, const float *data,
                     float *sum)
{
    FX8_INDEPENDENT
    for (size_t k = 0; k < n; k++)
        sum[k] = window[k] * data[k];
}

/** gain (sky + rms noise) of number k. */
static inline float scale_number(size_t k, const float *sky, const float *noise,
                                 float rms, const float gain[2])
{
    return (k % 2 == 0 ? gain[0] : gain[1]) * (sky[k] + rms * noise[k]);
}

static int64_t quantise(size_t n, const float *sky, const float *noise,
                        float rms, const float gain[2], int8_t *samples)
{
    const float gains[2] = {gain[0], gain[1]};
    const uint32_t limit = fx8_float_bits(127.5f);
    uint32_t most = 0; /* bits of the largest magnitude */
    int64_t n_clamped = 0;
    FX8_INDEPENDENT
    for (size_t k = 0; k < n; k++) {
        const float value = scale_number(k, sky, noise, rms, gains);
        const uint32_t magnitude = fx8_float_bits(fabsf(value));
        most = magnitude > most ? magnitude : most;
        const float above = fx8_select(value > -127.0f, value, -127.0f);
        const float clamped = fx8_select(above < 127.0f, above, 127.0f);
        /* the sum is rounded to a whole number, whose last bits are the
         * sample */
        samples[k] = (int8_t)(uint8_t)fx8_float_bits(clamped + 0x1.8p23f);
    }
    for (size_t k = 0; most >= limit && k < n; k++)
        n_clamped += fabsf(scale_number(k, sky, noise, rms, gains)) >= 127.5f;
    return n_clamped;
}

/** The loops of a variant, `normals` from its file. */
#define LOOPS_OF(variant)                                                      \
    {                                                                          \
        .name = (variant), .normals = normals, .rotate = rotate,               \
        .add_signal = add_signal, .join = join,                                \
        .add_turned_real = add_turned_real,                                    \
        .add_turned_complex = add_turned_complex, .add_tone = add_tone,        \
        .fade_in = fade_in, .fade_out = fade_out, .quantise = quantise,        \
    }

#endif
