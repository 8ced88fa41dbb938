/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spans.h -- list of an input's missing stretches: they are added at the end
 * and dropped from the start.
 */
#ifndef FX8_CORRELATOR_LIBRARY_SPANS_H
#define FX8_CORRELATOR_LIBRARY_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/** Samples [first, end), absolute. */
struct fx8_span {
    int64_t first, end;
};

/** Spans in the order they were added; zeros: empty.  The owner frees items. */
struct fx8_spans {
    struct fx8_span *items; /**< [n] from malloc() */
    size_t n;
};

/** Add a span; it is merged with the last one if it begins in it or at its end.
 *  FX8_ERR_SYSTEM: memory. */
enum fx8_status fx8_spans_add(struct fx8_spans *spans, int64_t first,
                              int64_t end, struct fx8_error *error);

/** Remove spans that end at `sample` or before. */
void fx8_spans_drop(struct fx8_spans *spans, int64_t sample);

#endif
