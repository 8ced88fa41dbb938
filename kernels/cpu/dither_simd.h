/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dither_simd.h -- private to quantise_simd.c and lanes_simd.c: the noise of a
 * group of spectra (kernels/numeric/dither.h).
 *
 * Calls of the generator are side by side in 64-bit lanes, of which the lower
 * halves count: a product has its halves where the next round takes them.
 */
#ifndef FX8_KERNELS_CPU_DITHER_SIMD_H
#define FX8_KERNELS_CPU_DITHER_SIMD_H

#include "kernels/cpu/vector.h"
#include "kernels/operations.h"

/** Calls in a register, and for a group of spectra. */
#define SIDE_CALLS  (VEC_BYTES / sizeof(uint64_t))
#define GROUP_CALLS (4 * (size_t)FX8_GROUP / FX8_DITHER_SPECTRA)

/** fx8_philox() of SIDE_CALLS counters. */
FX8_INLINE void philox(vec_int words[FX8_PHILOX_WORDS], uint32_t key_0,
                       uint32_t key_1)
{
    const vec_int factor_0 = vec_set_int64(FX8_PHILOX_FACTOR_0);
    const vec_int factor_1 = vec_set_int64(FX8_PHILOX_FACTOR_1);
    FX8_UNROLL
    for (int round = 0; round < FX8_PHILOX_ROUNDS; round++) {
        const vec_int a = VEC(mul_epu32)(words[0], factor_0);
        const vec_int b = VEC(mul_epu32)(words[2], factor_1);
        words[0] =
            VEC(srli_epi64)(b, 32) ^ words[1] ^ vec_set_int64((int64_t)key_0);
        words[1] = b;
        words[2] =
            VEC(srli_epi64)(a, 32) ^ words[3] ^ vec_set_int64((int64_t)key_1);
        words[3] = a;
        key_0 += FX8_PHILOX_STEP_0;
        key_1 += FX8_PHILOX_STEP_1;
    }
}

/** Store the noise of one word of each spectrum, VEC_LANES of them. */
FX8_INLINE void put_noise(vec_int words, float *re, float *im)
{
    const vec_float step = VEC(set1_ps)(0x1p-16f);
    const vec_float half = VEC(set1_ps)(0x1p-17f);
    const vec_int low = VEC(srai_epi32)(VEC(slli_epi32)(words, 16), 16);
    const vec_int high = VEC(srai_epi32)(words, 16);
    VEC(store_ps)(re, VEC(fmadd_ps)(VEC(cvtepi32_ps)(low), step, half));
    VEC(store_ps)(im, VEC(fmadd_ps)(VEC(cvtepi32_ps)(high), step, half));
}

/** The noise of FX8_GROUP spectra in a channel, aligned.  Spectrum 0 is a
 *  multiple of FX8_DITHER_SPECTRA. */
FX8_INLINE void find_noise(const struct fx8_dither *dither, size_t channel,
                           float re[FX8_GROUP], float im[FX8_GROUP])
{
    FX8_ALIGNED static const uint64_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint32_t first = fx8_dither_call(dither->spectrum);
    const uint64_t sample = (uint64_t)dither->first_sample;
    FX8_UNROLL
    for (size_t call = 0; call < GROUP_CALLS; call += SIDE_CALLS) {
        vec_int words[FX8_PHILOX_WORDS] = {
            VEC(add_epi64)(vec_set_int64((int64_t)first),
                           vec_load_int(numbers + call)),
            vec_set_int64((int64_t)sample),
            vec_set_int64((int64_t)(sample >> 32)),
            vec_set_int64(
                (int64_t)(uint32_t)(dither->channel + (uint32_t)channel)),
        };
        philox(words, dither->input, FX8_DITHER_SEED + dither->band_hz);
        vec_int spectra[2];
        vec_order_halves(vec_join_words(words[0], words[1]),
                         vec_join_words(words[2], words[3]), spectra);
        FX8_UNROLL
        for (size_t k = 0; k < 2; k++) {
            const size_t t = call / 4 * FX8_DITHER_SPECTRA + k * VEC_LANES;
            put_noise(spectra[k], re + t, im + t);
        }
    }
}

#endif
