/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fir_plain.h"
#include "kernels/cpu/variants.h"

static void fir(size_t n_spectra, size_t n_taps, size_t row,
                const int8_t *samples, const float *coefficients, float *folded,
                size_t folded_stride)
{
    fir_plain(n_spectra, n_taps, row, samples, coefficients, folded,
              folded_stride);
}

void fx8_fill_fir_reference(struct fx8_operations *operations)
{
    operations->fir = fir;
}
