/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spans.h -- stretches of missing samples of an input, in a list that grows at
 * its end and is forgotten from its start.
 */
#ifndef FX8_CORRELATOR_LIBRARY_SPANS_H
#define FX8_CORRELATOR_LIBRARY_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Samples [first, end), absolute. */
struct fx8_span {
    int64_t first, end;
};

/** Spans as they were added; zeroed: none.  The owner frees items. */
struct fx8_spans {
    struct fx8_span *items; /**< [n] from malloc() */
    size_t n, capacity;
};

/** Add a span: where it begins as the last one ends, they become one.  Status:
 *  FX8_ERR_SYSTEM when memory is short. */
enum fx8_status fx8_spans_add(struct fx8_spans *spans, int64_t first,
                              int64_t end, struct fx8_error *error);

/** Forget what ends at `sample` or before it. */
void fx8_spans_drop(struct fx8_spans *spans, int64_t sample);

#ifdef __cplusplus
}
#endif

#endif
