/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half_avx512.c -- half precision, sixteen numbers at a time; the rest is a
 * masked vector, whose other lanes touch no memory.
 *
 * Plain stores.  Those that pass by the cache gain a third where the arrays
 * are larger than the last cache (41 to 54 GB/s at 192 MiB), and lose up to a
 * factor of 8 where they are not, and of 2 for whoever reads the results next:
 * the blocks of post-processing are small.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

/** The lanes of the last `left` numbers, fewer than 16. */
static inline __mmask16 rest(size_t left)
{
    return (__mmask16)((1u << left) - 1);
}

/** Sixteen products, rounded to float and then to half. */
static inline __m256i sixteen_halves(__m512 x, __m512 scale)
{
    return _mm512_cvtps_ph(_mm512_mul_ps(x, scale), _MM_FROUND_TO_NEAREST_INT);
}

static void from_float(size_t n, float scale, const float *x, uint16_t *half)
{
    const __m512 scales = _mm512_set1_ps(scale);
    size_t k = 0;
    for (; k + 16 <= n; k += 16)
        _mm256_storeu_si256((__m256i *)(void *)(half + k),
                            sixteen_halves(_mm512_loadu_ps(x + k), scales));
    if (k < n) {
        const __mmask16 lanes = rest(n - k);
        _mm256_mask_storeu_epi16(
            half + k, lanes,
            sixteen_halves(_mm512_maskz_loadu_ps(lanes, x + k), scales));
    }
}

static void to_float(size_t n, const uint16_t *half, float *x)
{
    size_t k = 0;
    for (; k + 16 <= n; k += 16)
        _mm512_storeu_ps(x + k, _mm512_cvtph_ps(_mm256_loadu_si256((
                                    const __m256i *)(const void *)(half + k))));
    if (k < n) {
        const __mmask16 lanes = rest(n - k);
        _mm512_mask_storeu_ps(
            x + k, lanes,
            _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, half + k)));
    }
}

void fx8_fill_half_avx512(struct fx8_operations *operations)
{
    operations->half = (struct fx8_half_functions){from_float, to_float};
}

#else

void fx8_fill_half_avx512(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
