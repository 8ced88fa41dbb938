/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/quantise_tiles.h"
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

/** Mask of the floats that exist among the 16 from `first` on. */
FX8_INLINE __mmask16 float_mask(size_t n_floats, size_t first)
{
    if (n_floats <= first)
        return 0;
    const size_t n = n_floats - first;
    return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
}

/* Clamping before rounding gives the same as after it, and keeps the
 * conversion to int32 in range. */
FX8_INLINE bool quantise_row_avx512(const float *spectrum, size_t n_floats,
                                    const float *gains, int8_t *row)
{
    const __m512 limit = _mm512_set1_ps(127.5f);
    const __m512 most = _mm512_set1_ps(127.0f);
    const __m512 least = _mm512_set1_ps(-127.0f);
    __mmask16 clipped = 0;
    __m512i values[4];
    FX8_UNROLL
    for (size_t i = 0; i < 4; i++) {
        const __m512 x = _mm512_maskz_loadu_ps(float_mask(n_floats, 16 * i),
                                               spectrum + 16 * i);
        const __m512 scaled = _mm512_mul_ps(x, _mm512_load_ps(gains + 16 * i));
        clipped |= _mm512_cmp_ps_mask(_mm512_abs_ps(scaled), limit, _CMP_GE_OQ);
        values[i] = _mm512_cvtps_epi32(
            _mm512_max_ps(_mm512_min_ps(scaled, most), least));
    }
    /* Packing works lane by lane: unit 4 L + i of 4 bytes of the packed
     * register is lane L of values[i], and belongs at 4 i + L. */
    const __m512i order =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i packed =
        _mm512_packs_epi16(_mm512_packs_epi32(values[0], values[1]),
                           _mm512_packs_epi32(values[2], values[3]));
    _mm512_store_si512(row, _mm512_permutexvar_epi32(order, packed));
    return clipped != 0;
}

static void quantise(size_t n_spectra, size_t n_channels,
                     const struct fx8_cf32 *spectra, size_t spectrum_stride,
                     const float *gain, uint32_t valid, struct fx8_ci8 *out,
                     size_t channel_stride, uint32_t *clips)
{
    quantise_tiles(quantise_row_avx512, n_spectra, n_channels, spectra,
                   spectrum_stride, gain, valid, out, channel_stride, clips);
}

/** 8 x 8 items of 64 bits. */
FX8_INLINE void turn_8x8(const struct fx8_cf32 *spectra, size_t spectrum_stride,
                         uint32_t valid, struct fx8_cf32 *out,
                         size_t channel_stride)
{
    __m512d rows[8], pairs[8];
    FX8_UNROLL
    for (size_t t = 0; t < 8; t++) {
        const __mmask8 mask = (valid >> t & 1) != 0 ? 0xff : 0;
        rows[t] = _mm512_maskz_loadu_pd(mask, &spectra[t * spectrum_stride].re);
    }
    FX8_UNROLL
    for (int i = 0; i < 4; i++) {
        pairs[i] = _mm512_unpacklo_pd(rows[2 * i], rows[2 * i + 1]);
        pairs[i + 4] = _mm512_unpackhi_pd(rows[2 * i], rows[2 * i + 1]);
    }
    /* pairs[4 h + i]: lane L holds column 2 L + h of rows 2 i and 2 i + 1. */
    FX8_UNROLL
    for (size_t h = 0; h < 2; h++) {
        const __m512d *of = pairs + 4 * h;
        const __m512d a = _mm512_shuffle_f64x2(of[0], of[1], 0x44);
        const __m512d b = _mm512_shuffle_f64x2(of[0], of[1], 0xee);
        const __m512d c = _mm512_shuffle_f64x2(of[2], of[3], 0x44);
        const __m512d d = _mm512_shuffle_f64x2(of[2], of[3], 0xee);
        struct fx8_cf32 *row = out + h * channel_stride;
        _mm512_storeu_pd(row, _mm512_shuffle_f64x2(a, c, 0x88));
        row += 2 * channel_stride;
        _mm512_storeu_pd(row, _mm512_shuffle_f64x2(a, c, 0xdd));
        row += 2 * channel_stride;
        _mm512_storeu_pd(row, _mm512_shuffle_f64x2(b, d, 0x88));
        row += 2 * channel_stride;
        _mm512_storeu_pd(row, _mm512_shuffle_f64x2(b, d, 0xdd));
    }
}

static void turn(size_t n_spectra, size_t n_channels,
                 const struct fx8_cf32 *spectra, size_t spectrum_stride,
                 uint32_t valid, struct fx8_cf32 *out, size_t channel_stride)
{
    turn_tiles(turn_8x8, 8, n_spectra, n_channels, spectra, spectrum_stride,
               valid, out, channel_stride);
}

#endif

void fx8_fill_quantise_avx512(struct fx8_operations *operations)
{
#if defined(__x86_64__)
    operations->quantise = quantise;
    operations->turn = turn;
#else
    (void)operations;
#endif
}
