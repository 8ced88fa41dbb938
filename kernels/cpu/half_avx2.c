/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half_avx2.c -- half precision by F16C, eight numbers at a time.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

/** Eight products, rounded to float and then to half. */
static inline __m128i eight_halves(const float *x, __m256 scale)
{
    return _mm256_cvtps_ph(_mm256_mul_ps(_mm256_loadu_ps(x), scale),
                           _MM_FROUND_TO_NEAREST_INT);
}

static void from_float(size_t n, float scale, const float *x, uint16_t *half)
{
    const __m256 scales = _mm256_set1_ps(scale);
    size_t k = 0;
    for (; k + 8 <= n; k += 8)
        _mm_storeu_si128((__m128i *)(void *)(half + k),
                         eight_halves(x + k, scales));
    for (; k < n; k++)
        half[k] = _cvtss_sh(x[k] * scale, _MM_FROUND_TO_NEAREST_INT);
}

static void to_float(size_t n, const uint16_t *half, float *x)
{
    size_t k = 0;
    for (; k + 8 <= n; k += 8)
        _mm256_storeu_ps(x + k, _mm256_cvtph_ps(_mm_loadu_si128((
                                    const __m128i *)(const void *)(half + k))));
    for (; k < n; k++)
        x[k] = _cvtsh_ss(half[k]);
}

void fx8_fill_half_avx2(struct fx8_operations *operations)
{
    operations->half = (struct fx8_half_functions){from_float, to_float};
}

#else

void fx8_fill_half_avx2(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
