/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rotation_simd.h -- private to quantise_simd.c and lanes_simd.c: the factors
 * of a rotation (kernels/numeric/rotate.h).
 */
#ifndef FX8_KERNELS_CPU_ROTATION_SIMD_H
#define FX8_KERNELS_CPU_ROTATION_SIMD_H

#include "kernels/numeric/rotate.h"

/** Factors found at a time. */
#define FACTORS 16

/** exp(2 pi i phase), in loops short enough for gcc to vectorise. */
static inline void find_some(const uint64_t phases[FACTORS], float re[FACTORS],
                             float im[FACTORS])
{
    float turns[FACTORS];
    for (size_t k = 0; k < FACTORS; k++)
        turns[k] = fx8_rotation_turns(phases[k]);
    for (size_t k = 0; k < FACTORS; k++)
        re[k] = fx8_rotation_re(turns[k]);
    for (size_t k = 0; k < FACTORS; k++)
        im[k] = fx8_rotation_im(turns[k]);
}

#endif
