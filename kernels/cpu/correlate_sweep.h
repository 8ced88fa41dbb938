/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_sweep.h -- private to the vector variants of the correlator: the
 * order of their accumulator, and the walk over the triangle of one channel.
 * A variant provides two tile functions; the walk does the cache blocking, the
 * same for INT8 and FP32 because it counts in bytes.
 *
 * "Time in lanes": a register holds consecutive spectra of one input, in memory
 * order.  A tile is the four inputs of a row block (j) against one or two
 * columns (i).  Nothing is packed, and only the corners on the diagonal of the
 * triangle are wasted.
 */
#ifndef FX8_KERNELS_CPU_CORRELATE_SWEEP_H
#define FX8_KERNELS_CPU_CORRELATE_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "config/base/shape.h"
#include "kernels/operations.h"

/** Items of one column in a row block: [row 0..3][re, im]. */
#define FX8_TILE_COLUMN (2 * FX8_ROW_BLOCK)

/** Bytes of a row between two prefetches: a cache line. */
#define FX8_TILE_STEP 64

/** Columns kept in the L2 cache while rows stream past them: with segments of
 *  4096 bytes 384 KiB, which leaves room for the rows in 512 KiB. */
#define FX8_TILE_COLUMN_BLOCK 96

/** Row blocks of n_inputs inputs. */
static inline size_t fx8_tile_row_blocks(size_t n_inputs)
{
    return (n_inputs + FX8_ROW_BLOCK - 1) / FX8_ROW_BLOCK;
}

/**
 * fx8_tile_offset -- first item of a row block in the accumulator.
 *
 * Notes: 1) row block b holds [column 0 .. 4b + 3][row 0..3][re, im]: the
 *           rectangle left of the diagonal, then the square on it, where only
 *           entries with column <= row are used
 *        2) with the number of row blocks it gives the total size; padding
 *           rows have items, which fold() skips
 */
static inline size_t fx8_tile_offset(size_t row_block)
{
    return FX8_TILE_COLUMN * FX8_ROW_BLOCK / 2 * row_block * (row_block + 1);
}

/** Bytes that a variant may keep of four rows. */
#define FX8_TILE_SCRATCH 16384

/** One tile to correlate. */
struct fx8_tile {
    const char *rows;    /**< four rows, `pitch` bytes apart, 64-byte aligned */
    const char *columns; /**< likewise; equal to rows on the diagonal */
    size_t pitch;        /**< bytes from one input to the next */
    size_t n_bytes;      /**< of each row; a multiple of 64 */
    const char *ahead;   /**< prefetch here, `ahead_step` on for each 64 */
    size_t ahead_step;   /**<  bytes of a row; never read otherwise */
    void *sums;          /**< items of the first column, added to */
    void *bias;          /**< eight items of this row block, added to */
    void *scratch;       /**< FX8_TILE_SCRATCH bytes, 64-byte aligned, which
                            the tiles of a row block share */
};

/** A variant: how its tiles are computed. */
struct fx8_tile_kernel {
    size_t segment_bytes; /**< most bytes of a row per tile; 64-multiple */
    size_t item_size;     /**< bytes of an accumulator item */
    size_t n_columns;     /**< columns per rectangle, a divisor of 4 */
    /** Called before the tiles of a row block, without columns; or NULL. */
    void (*prepare)(const struct fx8_tile *rows);
    void (*rectangle)(const struct fx8_tile *tile);
    void (*square)(const struct fx8_tile *tile); /**< four columns, diagonal */
};

/**
 * fx8_correlate_sweep -- all tiles of the row blocks that are needed.
 *
 * Given:    n_inputs   inputs, without padding
 *           row_bytes  bytes of each row to be used, a multiple of 64
 *           x          rows, `pitch` bytes apart
 * Returned: accumulator  fx8_tile_offset() items, followed by eight bias items
 *                        per row block where the variant has them
 * Notes:    1) segments come in ascending order, counted from x
 *           2) rows are prefetched in the order of use and, past the last one,
 *              where the next channel starts if it follows in memory; a
 *              prefetch cannot fault and changes no result
 */
void fx8_correlate_sweep(const struct fx8_tile_kernel *kernel, size_t n_inputs,
                         struct fx8_row_blocks rows, size_t row_bytes,
                         const void *x, size_t pitch, void *accumulator);

/** Items of an accumulator without bias items, and with them. */
size_t fx8_tile_accumulator_size(size_t n_inputs);
size_t fx8_tile_biased_size(size_t n_inputs);

/** Empty the columns of a strip; those behind the last input with the last
 *  strip. */
void fx8_tile_empty(size_t n_inputs, struct fx8_strip strip, size_t item_size,
                    void *accumulator);

/** Add a strip of an accumulator without bias items to sums [pair][re, im], and
 *  empty it: the fold() of the contract. */
void fx8_tile_fold_int32(size_t n_inputs, struct fx8_strip strip,
                         int32_t *accumulator, int64_t *sums);
void fx8_tile_fold_double(size_t n_inputs, struct fx8_strip strip,
                          double *accumulator, double *sums);

/** The same with bias items [row block][row 0..3][re, im], which are subtracted
 *  from every column of their row block, modulo 2^32, and emptied with the last
 *  strip. */
void fx8_tile_fold_biased(size_t n_inputs, struct fx8_strip strip,
                          int32_t *accumulator, int64_t *sums);

#endif
