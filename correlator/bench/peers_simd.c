/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers_simd.c -- calls of vector functions that take and return registers.
 */
#include <string.h>

#include "correlator/bench/peers.h"
#include "kernels/cpu/vector.h"

void FX8_VARIANT(fx8_peer_unary)(const struct fx8_peer_function *peer, size_t n,
                                 const float *a, const float *b, float *y)
{
    (void)b;
    vec_float (*f)(vec_float);
    memcpy(&f, &peer->symbol, sizeof f);
    const vec_float scale = VEC(set1_ps)(peer->scale);
    for (size_t k = 0; k < n; k += VEC_LANES)
        VEC(storeu_ps)(y + k, f(scale * VEC(loadu_ps)(a + k)));
}

void FX8_VARIANT(fx8_peer_binary)(const struct fx8_peer_function *peer,
                                  size_t n, const float *a, const float *b,
                                  float *y)
{
    vec_float (*f)(vec_float, vec_float);
    memcpy(&f, &peer->symbol, sizeof f);
    for (size_t k = 0; k < n; k += VEC_LANES)
        VEC(storeu_ps)(y + k, f(VEC(loadu_ps)(a + k), VEC(loadu_ps)(b + k)));
}
