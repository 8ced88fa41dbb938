/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/spans.h"

enum fx8_status fx8_spans_add(struct fx8_spans *spans, int64_t first,
                              int64_t end, struct fx8_error *error)
{
    struct fx8_span *last = spans->n > 0 ? &spans->items[spans->n - 1] : NULL;
    if (last != NULL && last->first <= first && first <= last->end) {
        last->end = end > last->end ? end : last->end;
        return FX8_OK;
    }
    FX8_TRY(fx8_grow(&spans->items, spans->n, sizeof *spans->items,
                     "missing stretches", error));
    spans->items[spans->n++] = (struct fx8_span){first, end};
    return FX8_OK;
}

void fx8_spans_drop(struct fx8_spans *spans, int64_t sample)
{
    size_t kept = 0;
    for (size_t i = 0; i < spans->n; i++)
        if (spans->items[i].end > sample)
            spans->items[kept++] = spans->items[i];
    spans->n = kept;
}
