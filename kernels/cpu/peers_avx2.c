/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers_avx2.c -- calls of vector functions that take and return registers of
 * 256 bits.
 */
#include "kernels/cpu/peers.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

typedef __m256 unary_function(__m256);
typedef __m256 binary_function(__m256, __m256);

void fx8_peer_unary_avx2(const struct fx8_peer_function *peer, size_t n,
                         const float *a, const float *b, float *y)
{
    (void)b;
    unary_function *f;
    memcpy(&f, &peer->symbol, sizeof f);
    const __m256 scale = _mm256_set1_ps(peer->scale);
    for (size_t k = 0; k < n; k += 8)
        _mm256_storeu_ps(y + k,
                         f(_mm256_mul_ps(scale, _mm256_loadu_ps(a + k))));
}

void fx8_peer_binary_avx2(const struct fx8_peer_function *peer, size_t n,
                          const float *a, const float *b, float *y)
{
    binary_function *f;
    memcpy(&f, &peer->symbol, sizeof f);
    for (size_t k = 0; k < n; k += 8)
        _mm256_storeu_ps(y + k,
                         f(_mm256_loadu_ps(a + k), _mm256_loadu_ps(b + k)));
}

#endif
