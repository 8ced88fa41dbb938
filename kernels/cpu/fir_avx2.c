/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fir_passes.h"
#include "kernels/cpu/fir_plain.h"
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* Real numbers side by side in a register. */
#define LANES 8

/* Spectra whose sums are held in registers, half of the 16; coefficients are
 * taken from the first-level cache. */
#define MOST_SPECTRA 8

/** Columns of the samples and coefficients that one step works on. */
struct columns {
    const int8_t *samples;
    const float *coefficients;
    size_t row;
};

FX8_INLINE __m256 load_samples(const int8_t *samples)
{
    const __m128i bytes = _mm_loadl_epi64((const void *)samples);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

/** Add n_taps taps, from `tap` on, to n_spectra sums; both constants.  Row r
 *  of the samples belongs to tap r - t of spectrum t, so that rows in
 *  ascending order take every sum through its taps in ascending order. */
FX8_INLINE void add_taps(int n_taps, int n_spectra, size_t tap,
                         const struct columns *at, __m256 *sums)
{
    FX8_UNROLL
    for (int r = 0; r < n_spectra + n_taps - 1; r++) {
        const __m256 sample =
            load_samples(at->samples + (tap + (size_t)r) * at->row);
        FX8_UNROLL
        for (int p = 0; p < n_taps; p++)
            if (r - p >= 0 && r - p < n_spectra)
                sums[r - p] = _mm256_fmadd_ps(
                    _mm256_loadu_ps(at->coefficients +
                                    (tap + (size_t)p) * at->row),
                    sample, sums[r - p]);
    }
}

/** n_spectra (constant) spectra of 8 columns, any number of taps. */
FX8_INLINE void fold_columns(int n_spectra, const struct fir_pass *pass,
                             size_t column, size_t n_columns)
{
    const struct columns at = {pass->samples + column,
                               pass->coefficients + column, pass->row};
    float *folded = pass->folded + column;
    const size_t n_taps = pass->n_taps;
    (void)n_columns; /* narrow rows do not come here */
    __m256 sums[MOST_SPECTRA];
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        sums[t] = _mm256_setzero_ps();
    size_t tap = 0;
    for (; tap + 8 <= n_taps; tap += 8)
        add_taps(8, n_spectra, tap, &at, sums);
    if (n_taps & 4) {
        add_taps(4, n_spectra, tap, &at, sums);
        tap += 4;
    }
    if (n_taps & 2) {
        add_taps(2, n_spectra, tap, &at, sums);
        tap += 2;
    }
    if (n_taps & 1)
        add_taps(1, n_spectra, tap, &at, sums);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        _mm256_storeu_ps(folded + (size_t)t * pass->folded_stride, sums[t]);
}

static void fir(size_t n_spectra, size_t n_taps, size_t row,
                const int8_t *samples, const float *coefficients, float *folded,
                size_t folded_stride)
{
    if (row < LANES) {
        fir_plain(n_spectra, n_taps, row, samples, coefficients, folded,
                  folded_stride);
        return;
    }
    const struct fir_pass pass = {.n_taps = n_taps,
                                  .row = row,
                                  .samples = samples,
                                  .coefficients = coefficients,
                                  .folded = folded,
                                  .folded_stride = folded_stride};
    fir_passes(fold_columns, LANES, MOST_SPECTRA, n_spectra, pass);
}

#endif

void fx8_fill_fir_avx2(struct fx8_operations *operations)
{
#if defined(__x86_64__)
    operations->fir = fir;
#else
    (void)operations;
#endif
}
