/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fir_passes.h"
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

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
FX8_INLINE void fold_columns(int n_spectra, const struct fir_pass *pass,
                             size_t column, size_t n_columns)
{
    const struct columns at = {pass->samples + column, pass->integers + column,
                               pass->row};
    float *folded = pass->folded + column;
    const size_t n_taps = pass->n_taps;
    (void)n_columns; /* narrow rows do not come here */
    __m256i sums[MOST_SPECTRA];
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        sums[t] = _mm256_setzero_si256();
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
        add_tap(n_spectra, tap, &at, sums);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        _mm256_storeu_ps(folded + (size_t)t * pass->folded_stride,
                         _mm256_mul_ps(_mm256_cvtepi32_ps(sums[t]),
                                       _mm256_set1_ps(pass->scale)));
}

static void fir_int16(size_t n_spectra, size_t n_taps, size_t row,
                      const int8_t *samples, const int16_t *coefficients,
                      float scale, float *folded, size_t folded_stride)
{
    if (row < LANES) {
        fx8_fir_int16_reference(n_spectra, n_taps, row, samples, coefficients,
                                scale, folded, folded_stride);
        return;
    }
    const struct fir_pass pass = {.n_taps = n_taps,
                                  .row = row,
                                  .samples = samples,
                                  .integers = coefficients,
                                  .scale = scale,
                                  .folded = folded,
                                  .folded_stride = folded_stride};
    fir_passes(fold_columns, LANES, MOST_SPECTRA, n_spectra, pass);
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
