/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/uvh5/rows.h"

struct fx8_uvh5_rows fx8_uvh5_all_rows(size_t n_dumps, size_t n_baselines)
{
    return (struct fx8_uvh5_rows){.n_dumps = n_dumps,
                                  .n_baselines = n_baselines,
                                  .n_levels = 1,
                                  .n_of_level = {n_baselines}};
}

void fx8_uvh5_rows_clear(struct fx8_uvh5_rows *rows)
{
    free(rows->levels);
    free(rows->lists);
    *rows = (struct fx8_uvh5_rows){0};
}

enum fx8_status fx8_uvh5_rows_open(size_t n_dumps, size_t n_baselines,
                                   const uint8_t *levels,
                                   struct fx8_uvh5_rows *rows,
                                   struct fx8_error *error)
{
    struct fx8_uvh5_rows r = {.n_dumps = n_dumps, .n_baselines = n_baselines};
    for (size_t b = 0; b < n_baselines; b++) {
        r.n_of_level[levels[b]]++;
        if (levels[b] >= r.n_levels)
            r.n_levels = levels[b] + (size_t)1;
    }
    const struct fx8_array arrays[] = {
        FX8_ITEMS(r.levels, n_baselines),
        FX8_ITEMS(r.lists, fx8_product(r.n_levels - 1, n_baselines, 1, 1)),
    };
    *rows = (struct fx8_uvh5_rows){0};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "rows of baselines", error));
    memcpy(r.levels, levels, n_baselines);
    for (size_t level = 0; level + 1 < r.n_levels; level++) {
        size_t *next = r.lists + level * n_baselines;
        for (size_t b = 0; b < n_baselines; b++)
            if (levels[b] <= level)
                *next++ = b;
    }
    *rows = r;
    return FX8_OK;
}

bool fx8_uvh5_rows_are_alike(const struct fx8_uvh5_rows *rows)
{
    return rows->n_of_level[rows->n_levels - 1] == rows->n_baselines;
}

/* Intervals of a level up to the end of the run. */
static size_t count_intervals(const struct fx8_uvh5_rows *rows, size_t level)
{
    return ((rows->n_dumps - 1) >> level) + 1;
}

size_t fx8_uvh5_rows_before(const struct fx8_uvh5_rows *rows, size_t dump)
{
    size_t n = 0;
    for (size_t level = 0; level < rows->n_levels; level++)
        n += rows->n_of_level[level] * (dump < rows->n_dumps
                                            ? dump >> level
                                            : count_intervals(rows, level));
    return n;
}

size_t fx8_uvh5_rows_of(const struct fx8_uvh5_rows *rows, size_t dump,
                        const size_t **baselines)
{
    const size_t top = rows->n_levels - 1;
    const bool is_last = dump + 1 >= rows->n_dumps;
    size_t level = 0, n = rows->n_of_level[0];
    for (; level < top && (is_last || ((dump + 1) >> level) % 2 == 0); level++)
        n += rows->n_of_level[level + 1];
    if (baselines != NULL)
        *baselines =
            level < top ? rows->lists + level * rows->n_baselines : NULL;
    return n;
}

size_t fx8_uvh5_rows_find(const struct fx8_uvh5_rows *rows, size_t row)
{
    size_t dump = 0, end = rows->n_dumps;
    while (end - dump > 1) {
        const size_t middle = dump + (end - dump) / 2;
        if (fx8_uvh5_rows_before(rows, middle) <= row)
            dump = middle;
        else
            end = middle;
    }
    return dump;
}

size_t fx8_uvh5_block_begin(const struct fx8_uvh5_rows *rows, size_t dump)
{
    return dump >> (rows->n_levels - 1) << (rows->n_levels - 1);
}

size_t fx8_uvh5_block_end(const struct fx8_uvh5_rows *rows, size_t dump)
{
    const size_t end =
        fx8_uvh5_block_begin(rows, dump) + fx8_uvh5_block_dumps(rows);
    return end < rows->n_dumps ? end : rows->n_dumps;
}

size_t fx8_uvh5_first_interval(const struct fx8_uvh5_rows *rows, size_t level)
{
    size_t n = 0;
    for (size_t below = 0; below < level; below++)
        n += count_intervals(rows, below);
    return n;
}
