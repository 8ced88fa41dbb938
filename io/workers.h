/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers.h -- threads that the caller lends to a reader: io/ creates none.
 */
#ifndef FX8_IO_WORKERS_H
#define FX8_IO_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

/** Work of one item: `item` in [0, n_items), `thread` in [0, n_threads). */
typedef void fx8_workers_body(void *context, size_t item, size_t thread);

/** A way to run independent items on several threads.  All zero: the caller's
 *  thread alone. */
struct fx8_workers {
    size_t n_threads; /**< upper limit */
    /** Run every item once, in any order, and return when all are done: the
     *  contract of config/base/parallel.h. */
    void (*parallel_for)(size_t n_items, size_t n_threads, bool pin,
                         fx8_workers_body *body, void *context);
};

/** Number of threads that items may run on, at least 1. */
static inline size_t fx8_workers_threads(const struct fx8_workers *workers)
{
    return workers->parallel_for != NULL && workers->n_threads > 1
               ? workers->n_threads
               : 1;
}

/** Run `body` once for every item. */
static inline void fx8_workers_run(const struct fx8_workers *workers,
                                   size_t n_items, fx8_workers_body *body,
                                   void *context)
{
    const size_t n_threads = fx8_workers_threads(workers);
    if (n_threads > 1) {
        workers->parallel_for(n_items, n_threads, false, body, context);
        return;
    }
    for (size_t item = 0; item < n_items; item++)
        body(context, item, 0);
}

#endif
