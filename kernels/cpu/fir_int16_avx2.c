/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/simd.h"

/* Columns side by side in a register, two taps of each. */
#define LANES 8

/* Spectra whose sums are held in registers, half of the 16. */
#define MOST_SPECTRA 8
#define MOST_TAPS    8

/** Columns of the samples and coefficients that one step works on. */
struct columns {
    const int8_t *samples;
    const int16_t *coefficients;
    size_t row;
};

FX8_INLINE __m256i load_samples(const struct columns *at, size_t row)
{
    return _mm256_cvtepi8_epi32(
        _mm_loadl_epi64((const void *)(at->samples + row * at->row)));
}

FX8_INLINE __m256i load_weights(const struct columns *at, size_t tap)
{
    return _mm256_cvtepu16_epi32(
        _mm_loadu_si128((const void *)(at->coefficients + tap * at->row)));
}

/** In every lane `low` in the lower 16 bits, `high` in the upper ones. */
FX8_INLINE __m256i join(__m256i low, __m256i high)
{
    return _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xaa);
}

/** Add n_taps (even) taps, from `tap` on, to n_spectra sums; both constants.
 *  Rows r and r + 1 of the samples, side by side, belong to taps r - t and
 *  r - t + 1 of spectrum t, for even r - t. */
FX8_INLINE void add_taps(int n_taps, int n_spectra, size_t tap,
                         const struct columns *at, __m256i *sums)
{
    __m256i weights[MOST_TAPS / 2];
    FX8_UNROLL
    for (int p = 0; p < n_taps / 2; p++)
        weights[p] = join(load_weights(at, tap + 2 * (size_t)p),
                          load_weights(at, tap + 2 * (size_t)p + 1));
    __m256i row = load_samples(at, tap);
    FX8_UNROLL
    for (int r = 0; r < n_spectra + n_taps - 2; r++) {
        const __m256i next = load_samples(at, tap + (size_t)r + 1);
        const __m256i pair = join(row, next);
        FX8_UNROLL
        for (int p = 0; p < n_taps / 2; p++)
            if (r - 2 * p >= 0 && r - 2 * p < n_spectra)
                sums[r - 2 * p] = _mm256_add_epi32(
                    sums[r - 2 * p], _mm256_madd_epi16(weights[p], pair));
        row = next;
    }
}

/** The last of an odd number of taps. */
FX8_INLINE void add_tap(int n_spectra, size_t tap, const struct columns *at,
                        __m256i *sums)
{
    const __m256i weight = load_weights(at, tap);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        sums[t] = _mm256_add_epi32(
            sums[t],
            _mm256_madd_epi16(weight, load_samples(at, tap + (size_t)t)));
}

/** n_spectra (constant) spectra of 8 columns, any number of taps. */
FX8_INLINE void fold_columns(int n_spectra, size_t n_taps,
                             const struct columns *at, float scale,
                             float *folded, size_t folded_stride)
{
    __m256i sums[MOST_SPECTRA];
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        sums[t] = _mm256_setzero_si256();
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
        add_tap(n_spectra, tap, at, sums);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        _mm256_storeu_ps(
            folded + (size_t)t * folded_stride,
            _mm256_mul_ps(_mm256_cvtepi32_ps(sums[t]), _mm256_set1_ps(scale)));
}

/** One element at the ragged end of a row. */
static float fold_element(size_t n_taps, const struct columns *at, float scale)
{
    int32_t sum = 0;
    for (size_t tap = 0; tap < n_taps; tap++)
        sum += at->coefficients[tap * at->row] * at->samples[tap * at->row];
    return (float)sum * scale;
}

/** n_spectra (constant) spectra, whole rows. */
FX8_INLINE void fold_spectra(int n_spectra, size_t n_taps, size_t row,
                             const int8_t *samples, const int16_t *coefficients,
                             float scale, float *folded, size_t folded_stride)
{
    size_t r = 0;
    for (; r + LANES <= row; r += LANES) {
        const struct columns at = {samples + r, coefficients + r, row};
        fold_columns(n_spectra, n_taps, &at, scale, folded + r, folded_stride);
    }
    for (; r < row; r++)
        for (size_t t = 0; t < (size_t)n_spectra; t++) {
            const struct columns at = {samples + t * row + r, coefficients + r,
                                       row};
            folded[t * folded_stride + r] = fold_element(n_taps, &at, scale);
        }
}

static void fir_int16(size_t n_spectra, size_t n_taps, size_t row,
                      const int8_t *samples, const int16_t *coefficients,
                      float scale, float *folded, size_t folded_stride)
{
    size_t t = 0;
    for (; t + MOST_SPECTRA <= n_spectra; t += MOST_SPECTRA)
        fold_spectra(MOST_SPECTRA, n_taps, row, samples + t * row, coefficients,
                     scale, folded + t * folded_stride, folded_stride);
    for (; t + 4 <= n_spectra; t += 4)
        fold_spectra(4, n_taps, row, samples + t * row, coefficients, scale,
                     folded + t * folded_stride, folded_stride);
    for (; t < n_spectra; t++)
        fold_spectra(1, n_taps, row, samples + t * row, coefficients, scale,
                     folded + t * folded_stride, folded_stride);
}

#endif

void fx8_fill_fir_int16_avx2(struct fx8_operations *operations)
{
#if defined(__x86_64__)
    operations->fir_int16 = fir_int16;
#else
    (void)operations;
#endif
}
