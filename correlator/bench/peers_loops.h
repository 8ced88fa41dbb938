/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers_loops.h -- calls of vector functions that take and return registers;
 * one definition for the files of all levels.
 */
#ifndef FX8_CORRELATOR_BENCH_PEERS_LOOPS_H
#define FX8_CORRELATOR_BENCH_PEERS_LOOPS_H

#include <string.h>

#include "correlator/bench/peers.h"

/** The loops of `level`, whose registers hold `lanes` floats and whose
 *  intrinsics begin with `prefix`. */
#define FX8_PEER_LOOPS(level, register_type, lanes, prefix)                    \
    void fx8_peer_unary_##level(const struct fx8_peer_function *peer,          \
                                size_t n, const float *a, const float *b,      \
                                float *y)                                      \
    {                                                                          \
        (void)b;                                                               \
        register_type (*f)(register_type);                                     \
        memcpy(&f, &peer->symbol, sizeof f);                                   \
        const register_type scale = prefix##_set1_ps(peer->scale);             \
        for (size_t k = 0; k < n; k += lanes)                                  \
            prefix##_storeu_ps(                                                \
                y + k, f(prefix##_mul_ps(scale, prefix##_loadu_ps(a + k))));   \
    }                                                                          \
                                                                               \
    void fx8_peer_binary_##level(const struct fx8_peer_function *peer,         \
                                 size_t n, const float *a, const float *b,     \
                                 float *y)                                     \
    {                                                                          \
        register_type (*f)(register_type, register_type);                      \
        memcpy(&f, &peer->symbol, sizeof f);                                   \
        for (size_t k = 0; k < n; k += lanes)                                  \
            prefix##_storeu_ps(                                                \
                y + k, f(prefix##_loadu_ps(a + k), prefix##_loadu_ps(b + k))); \
    }

#endif
