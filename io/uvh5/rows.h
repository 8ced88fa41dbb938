/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.h -- the rows of a UVH5 file whose baselines are averaged in time, each
 * over its own number of dumps.
 *
 * A baseline of level k has rows of 2^k dumps each, counted from the first dump
 * of the run; its last row has those that are left.  Rows are in the order of
 * the dump that they end with, then of the baseline, so that what a dump adds
 * to the file is in one piece, and can be written as soon as the dump is there.
 * Intervals nest, so that blocks of dumps are independent of each other.  If
 * all levels are 0, every dump has a row of every baseline.
 */
#ifndef FX8_IO_UVH5_ROWS_H
#define FX8_IO_UVH5_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/** Most levels: rows of 1 to 64 dumps. */
#define FX8_UVH5_LEVELS 7

/** Most dumps of a block. */
#define FX8_UVH5_BLOCK_DUMPS ((size_t)1 << (FX8_UVH5_LEVELS - 1))

/** Which rows a file has.  The lists are of fx8_uvh5_rows_open(); copies of the
 *  structure share them. */
struct fx8_uvh5_rows {
    size_t n_dumps;
    size_t n_baselines;
    size_t n_levels;                    /**< 1 to FX8_UVH5_LEVELS */
    size_t n_of_level[FX8_UVH5_LEVELS]; /**< baselines */
    uint8_t *levels;                    /**< [n_baselines]; NULL: all are 0 */
    /** [n_levels - 1][n_baselines] baselines of level 0, of levels 0 and 1,
     * ..., ascending; NULL without them */
    size_t *lists;
};

/** Rows where every dump has one of every baseline; nothing to release. */
struct fx8_uvh5_rows fx8_uvh5_all_rows(size_t n_dumps, size_t n_baselines);

/** Rows of baselines with these levels, uint8 [n_baselines], which are copied.
 *  fx8_uvh5_rows_clear() releases them; a zeroed structure is legal there. */
enum fx8_status fx8_uvh5_rows_open(size_t n_dumps, size_t n_baselines,
                                   const uint8_t *levels,
                                   struct fx8_uvh5_rows *rows,
                                   struct fx8_error *error);

void fx8_uvh5_rows_clear(struct fx8_uvh5_rows *rows);

/** Whether all baselines have rows of the same dumps. */
bool fx8_uvh5_rows_are_alike(const struct fx8_uvh5_rows *rows);

/** Rows that end before a dump; of n_dumps: all. */
size_t fx8_uvh5_rows_before(const struct fx8_uvh5_rows *rows, size_t dump);

/** How many rows end with a dump.  *baselines: their baselines, ascending;
 * NULL: all.  `baselines` may be NULL. */
size_t fx8_uvh5_rows_of(const struct fx8_uvh5_rows *rows, size_t dump,
                        const size_t **baselines);

/** The dump that a row ends with. */
size_t fx8_uvh5_rows_find(const struct fx8_uvh5_rows *rows, size_t row);

/** Dumps of a block; the last one may have fewer. */
static inline size_t fx8_uvh5_block_dumps(const struct fx8_uvh5_rows *rows)
{
    return (size_t)1 << (rows->n_levels - 1);
}

/** Begin of the block that a dump is in, and the dump behind it. */
size_t fx8_uvh5_block_begin(const struct fx8_uvh5_rows *rows, size_t dump);
size_t fx8_uvh5_block_end(const struct fx8_uvh5_rows *rows, size_t dump);

/** Intervals of time are numbered level by level, those of single dumps first.
 *  Number of the first one of a level; of n_levels: how many there are. */
size_t fx8_uvh5_first_interval(const struct fx8_uvh5_rows *rows, size_t level);

/** Number of the interval of a baseline that a dump is in. */
static inline size_t fx8_uvh5_interval_of(const struct fx8_uvh5_rows *rows,
                                          size_t baseline, size_t dump)
{
    if (rows->levels == NULL)
        return dump;
    const size_t level = rows->levels[baseline];
    return fx8_uvh5_first_interval(rows, level) + (dump >> level);
}

#endif
