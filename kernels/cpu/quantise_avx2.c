/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/quantise_tiles.h"
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

/** 32 floats to int8.  Clamping before rounding gives the same as after it,
 *  and keeps the conversion to int32 in range.  Returns the clamped ones. */
FX8_INLINE __m256 quantise_half(const float *spectrum, const float *gains,
                                int8_t *row)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256 limit = _mm256_set1_ps(127.5f);
    const __m256 most = _mm256_set1_ps(127.0f);
    const __m256 least = _mm256_set1_ps(-127.0f);
    __m256 clipped = _mm256_setzero_ps();
    __m256i values[4];
    FX8_UNROLL
    for (size_t i = 0; i < 4; i++) {
        const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(spectrum + 8 * i),
                                            _mm256_load_ps(gains + 8 * i));
        clipped =
            _mm256_or_ps(clipped, _mm256_cmp_ps(_mm256_andnot_ps(sign, scaled),
                                                limit, _CMP_GE_OQ));
        values[i] = _mm256_cvtps_epi32(
            _mm256_max_ps(_mm256_min_ps(scaled, most), least));
    }
    /* Packing works lane by lane: unit 4 L + i of 4 bytes of the packed
     * register is lane L of values[i], and belongs at 2 i + L. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i packed =
        _mm256_packs_epi16(_mm256_packs_epi32(values[0], values[1]),
                           _mm256_packs_epi32(values[2], values[3]));
    _mm256_store_si256((void *)row, _mm256_permutevar8x32_epi32(packed, order));
    return clipped;
}

FX8_INLINE bool quantise_row_avx2(const float *spectrum, size_t n_floats,
                                  const float *gains, int8_t *row)
{
    float wide[TILE_FLOATS];
    if (n_floats < TILE_FLOATS) {
        memcpy(wide, spectrum, n_floats * sizeof *wide);
        memset(wide + n_floats, 0, (TILE_FLOATS - n_floats) * sizeof *wide);
        spectrum = wide;
    }
    const __m256 low = quantise_half(spectrum, gains, row);
    const __m256 high = quantise_half(spectrum + 32, gains + 32, row + 32);
    return _mm256_movemask_ps(_mm256_or_ps(low, high)) != 0;
}

static void quantise(size_t n_spectra, size_t n_channels,
                     const struct fx8_cf32 *spectra, size_t spectrum_stride,
                     const float *gain, uint32_t valid, struct fx8_ci8 *out,
                     size_t channel_stride, uint32_t *clips)
{
    quantise_tiles(quantise_row_avx2, n_spectra, n_channels, spectra,
                   spectrum_stride, gain, valid, out, channel_stride, clips);
}

/** 4 x 4 items of 64 bits. */
FX8_INLINE void turn_4x4(const struct fx8_cf32 *spectra, size_t spectrum_stride,
                         uint32_t valid, struct fx8_cf32 *out,
                         size_t channel_stride)
{
    __m256d rows[4];
    FX8_UNROLL
    for (size_t t = 0; t < 4; t++)
        rows[t] = (valid >> t & 1) != 0 ? _mm256_castps_pd(_mm256_loadu_ps(
                                              &spectra[t * spectrum_stride].re))
                                        : _mm256_setzero_pd();
    FX8_UNROLL
    for (size_t h = 0; h < 2; h++) {
        const __m256d a = h == 0 ? _mm256_unpacklo_pd(rows[0], rows[1])
                                 : _mm256_unpackhi_pd(rows[0], rows[1]);
        const __m256d b = h == 0 ? _mm256_unpacklo_pd(rows[2], rows[3])
                                 : _mm256_unpackhi_pd(rows[2], rows[3]);
        float *row = &out[h * channel_stride].re;
        _mm256_storeu_ps(row,
                         _mm256_castpd_ps(_mm256_permute2f128_pd(a, b, 0x20)));
        row = &out[(h + 2) * channel_stride].re;
        _mm256_storeu_ps(row,
                         _mm256_castpd_ps(_mm256_permute2f128_pd(a, b, 0x31)));
    }
}

static void turn(size_t n_spectra, size_t n_channels,
                 const struct fx8_cf32 *spectra, size_t spectrum_stride,
                 uint32_t valid, struct fx8_cf32 *out, size_t channel_stride)
{
    turn_tiles(turn_4x4, 4, n_spectra, n_channels, spectra, spectrum_stride,
               valid, out, channel_stride);
}

#endif

void fx8_fill_quantise_avx2(struct fx8_operations *operations)
{
#if defined(__x86_64__)
    operations->quantise = quantise;
    operations->turn = turn;
#else
    (void)operations;
#endif
}
