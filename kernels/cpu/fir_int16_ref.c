/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/variants.h"

void fx8_fir_int16_reference(size_t n_spectra, size_t n_taps, size_t row,
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

void fx8_fill_fir_int16_reference(struct fx8_operations *operations)
{
    operations->fir_int16 = fx8_fir_int16_reference;
}
