/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

#include "kernels/cpu/simd.h"

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
FX8_INLINE void fold_columns(int n_spectra, size_t n_taps,
                             const struct columns *at, float *folded,
                             size_t folded_stride)
{
    __m256 sums[MOST_SPECTRA];
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        sums[t] = _mm256_setzero_ps();
    size_t tap = 0;
    for (; tap + 8 <= n_taps; tap += 8)
        add_taps(8, n_spectra, tap, at, sums);
    if (n_taps & 4) {
        add_taps(4, n_spectra, tap, at, sums);
        tap += 4;
    }
    if (n_taps & 2) {
        add_taps(2, n_spectra, tap, at, sums);
        tap += 2;
    }
    if (n_taps & 1)
        add_taps(1, n_spectra, tap, at, sums);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        _mm256_storeu_ps(folded + (size_t)t * folded_stride, sums[t]);
}

/** One element at the ragged end of a row. */
static float fold_element(size_t n_taps, const struct columns *at)
{
    float sum = 0.0f;
    for (size_t tap = 0; tap < n_taps; tap++)
        sum = fmaf(at->coefficients[tap * at->row],
                   (float)at->samples[tap * at->row], sum);
    return sum;
}

/** n_spectra (constant) spectra, whole rows. */
FX8_INLINE void fold_spectra(int n_spectra, size_t n_taps, size_t row,
                             const int8_t *samples, const float *coefficients,
                             float *folded, size_t folded_stride)
{
    size_t r = 0;
    for (; r + LANES <= row; r += LANES) {
        const struct columns at = {samples + r, coefficients + r, row};
        fold_columns(n_spectra, n_taps, &at, folded + r, folded_stride);
    }
    for (; r < row; r++)
        for (size_t t = 0; t < (size_t)n_spectra; t++) {
            const struct columns at = {samples + t * row + r, coefficients + r,
                                       row};
            folded[t * folded_stride + r] = fold_element(n_taps, &at);
        }
}

static void fir(size_t n_spectra, size_t n_taps, size_t row,
                const int8_t *samples, const float *coefficients, float *folded,
                size_t folded_stride)
{
    size_t t = 0;
    for (; t + MOST_SPECTRA <= n_spectra; t += MOST_SPECTRA)
        fold_spectra(MOST_SPECTRA, n_taps, row, samples + t * row, coefficients,
                     folded + t * folded_stride, folded_stride);
    for (; t + 4 <= n_spectra; t += 4)
        fold_spectra(4, n_taps, row, samples + t * row, coefficients,
                     folded + t * folded_stride, folded_stride);
    for (; t < n_spectra; t++)
        fold_spectra(1, n_taps, row, samples + t * row, coefficients,
                     folded + t * folded_stride, folded_stride);
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
