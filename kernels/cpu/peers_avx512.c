/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers_avx512.c -- calls of vector functions that take and return registers of
 * 512 bits.
 */
#include "kernels/cpu/peers.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

typedef __m512 unary_function(__m512);
typedef __m512 binary_function(__m512, __m512);

void fx8_peer_unary_avx512(const struct fx8_peer_function *peer, size_t n,
                           const float *a, const float *b, float *y)
{
    (void)b;
    unary_function *f;
    memcpy(&f, &peer->symbol, sizeof f);
    const __m512 scale = _mm512_set1_ps(peer->scale);
    for (size_t k = 0; k < n; k += 16)
        _mm512_storeu_ps(y + k,
                         f(_mm512_mul_ps(scale, _mm512_loadu_ps(a + k))));
}

void fx8_peer_binary_avx512(const struct fx8_peer_function *peer, size_t n,
                            const float *a, const float *b, float *y)
{
    binary_function *f;
    memcpy(&f, &peer->symbol, sizeof f);
    for (size_t k = 0; k < n; k += 16)
        _mm512_storeu_ps(y + k,
                         f(_mm512_loadu_ps(a + k), _mm512_loadu_ps(b + k)));
}

#endif
