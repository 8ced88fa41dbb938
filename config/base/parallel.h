/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel.h -- the only way fx8 spreads arithmetic over threads.
 */
#ifndef FX8_CONFIG_BASE_PARALLEL_H
#define FX8_CONFIG_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Work of one item: `item` in [0, n_items), `thread` in [0, n_threads). */
typedef void fx8_parallel_body(void *context, size_t item, size_t thread);

/** Number of CPUs this process may use (its affinity mask), at least 1. */
size_t fx8_parallel_cpus(void);

/**
 * fx8_parallel_for -- run `body` once for every item, in any order.
 *
 * Given:  n_items    size_t
 *         n_threads  size_t  at least 1; with 1 the items run in ascending
 *                            order on the caller's thread
 *         pin        bool    pin thread k to the k-th CPU of the process's
 *                            affinity mask for the duration
 * Notes:  1) returns when every item is done; items must not depend on each
 *            other, and results must not depend on `thread`
 *         2) `thread` can index per-thread scratch memory of the caller
 */
void fx8_parallel_for(size_t n_items, size_t n_threads, bool pin,
                      fx8_parallel_body *body, void *context);

#ifdef __cplusplus
}
#endif

#endif
