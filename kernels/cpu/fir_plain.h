/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir_plain.h -- the FIR by its definition: the reference, and what a level
 * takes for rows narrower than a register.  Inline, so that fmaf() is an
 * instruction wherever the including file's level has one.
 */
#ifndef FX8_KERNELS_CPU_FIR_PLAIN_H
#define FX8_KERNELS_CPU_FIR_PLAIN_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/simd.h"

/** The entry fir of operations.h. */
FX8_INLINE void fir_plain(size_t n_spectra, size_t n_taps, size_t row,
                          const int8_t *samples, const float *coefficients,
                          float *folded, size_t folded_stride)
{
    for (size_t t = 0; t < n_spectra; t++) {
        for (size_t r = 0; r < row; r++) {
            float sum = 0.0f;
            for (size_t tap = 0; tap < n_taps; tap++)
                sum = fmaf(coefficients[tap * row + r],
                           (float)samples[(t + tap) * row + r], sum);
            folded[t * folded_stride + r] = sum;
        }
    }
}

#endif
