/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "kernels/cpu/variants.h"

static void fir(size_t n_spectra, size_t n_taps, size_t row,
                const int8_t *samples, const float *coefficients, float *folded,
                size_t folded_stride)
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

static void fir_int16(size_t n_spectra, size_t n_taps, size_t row,
                      const int8_t *samples, const int16_t *coefficients,
                      float scale, float *folded, size_t folded_stride)
{
    for (size_t t = 0; t < n_spectra; t++) {
        for (size_t r = 0; r < row; r++) {
            int32_t sum = 0;
            for (size_t tap = 0; tap < n_taps; tap++)
                sum +=
                    coefficients[tap * row + r] * samples[(t + tap) * row + r];
            folded[t * folded_stride + r] = (float)sum * scale;
        }
    }
}

void fx8_fill_fir_reference(struct fx8_operations *operations)
{
    operations->fir = fir;
    operations->fir_int16 = fir_int16;
}
