/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.h -- the vector mathematics libraries that a user could call instead
 * of kernels/numeric/: glibc's libmvec and SLEEF, opened at run time if the
 * system has them, for comparison in benchmarks.  No result of fx8 depends on
 * them.
 */
#ifndef FX8_CORRELATOR_BENCH_PEERS_H
#define FX8_CORRELATOR_BENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>

/** Known libraries. */
enum fx8_peer_library {
    FX8_PEER_LIBMVEC = 0, /**< glibc, errors up to 4 ulp */
    FX8_PEER_SLEEF,       /**< libsleef3, its variants of 1 ulp */
    FX8_N_PEER_LIBRARIES
};

/** Name of a library, "libmvec"; static. */
const char *fx8_peer_name(enum fx8_peer_library library);

struct fx8_peer_function;

/** y[k] = f(a[k]) or f(a[k], b[k]); n a multiple of 16. */
typedef void fx8_peer_loop(const struct fx8_peer_function *peer, size_t n,
                           const float *a, const float *b, float *y);

/** A function of a library in one variant of fx8's own operations. */
struct fx8_peer_function {
    void *symbol;
    float scale; /**< factor applied to an argument before the call */
    fx8_peer_loop *loop;
};

/**
 * fx8_peer_find -- find a library's counterpart of one of our functions.
 *
 * Given:    variant     "avx2" or "avx512"
 *           function  as in struct fx8_function_form
 * Returned: peer      true and filled, or false: the system lacks the library,
 *                     the library the function, or the variant has no vectors
 */
bool fx8_peer_find(enum fx8_peer_library library, const char *variant,
                   const char *function, struct fx8_peer_function *peer);

/* The loops of each variant: peers_simd.c. */
fx8_peer_loop fx8_peer_unary_avx2, fx8_peer_binary_avx2;
fx8_peer_loop fx8_peer_unary_avx512, fx8_peer_binary_avx512;

#endif
