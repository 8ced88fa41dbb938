/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_sweep.c -- walk over the triangle of one channel, with cache
 * blocking and prefetch.
 *
 * Three loops: segments of time (so that a row is a page and four of them
 * stay in L1), blocks of columns (which stay in L2), row blocks streaming past
 * the columns.  The prefetch is spread over the tiles, one row segment each,
 * because a burst would stall the arithmetic; without prefetch, FP32 loses a
 * fifth of its rate for 64 and more inputs.
 */
#include "kernels/cpu/correlate_sweep.h"

#include <string.h>

/** Most rows that the prefetch is ahead of the arithmetic: a fraction of L2
 *  (256 KiB), enough to hide the latency of memory. */
#define LEAD_ROWS 64

/** Most tiles that share the prefetch of a row, as a binary logarithm: with
 *  more, the prefetch would fall behind if rows have few tiles. */
#define MOST_SHARE_BITS 3

/** The arguments of one call. */
struct sweep {
    const struct fx8_tile_kernel *kernel;
    size_t n_inputs;
    struct fx8_row_blocks rows;
    size_t row_bytes, pitch;
    const char *x;
    char *accumulator;
    char *scratch;
};

/** State of the prefetch. */
struct lookahead {
    uintptr_t channel; /* an address only: the last ones may not exist */
    size_t offset, column_begin, input;
    size_t share;        /* of 2^share_bits of this row segment */
    unsigned share_bits; /* up to MOST_SHARE_BITS */
    size_t lead;         /* rows between this one and the arithmetic */
    size_t most_lead;    /* where the prefetch waits */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/** Go to the row that the sweep uses next; after the last one, to the rows that
 *  follow in memory, where the engine keeps the next channel. */
static void lookahead_advance(const struct sweep *sweep, struct lookahead *next)
{
    size_t end = FX8_ROW_BLOCK * sweep->rows.end;

    next->share = 0;
    next->lead++;
    if (++next->input < end)
        return;
    next->column_begin += FX8_TILE_COLUMN_BLOCK;
    if (next->column_begin >= end) {
        next->column_begin = 0;
        next->offset += sweep->kernel->segment_bytes;
        if (next->offset >= sweep->row_bytes) {
            next->offset = 0;
            next->channel += fx8_tile_row_blocks(sweep->n_inputs) *
                             FX8_ROW_BLOCK * sweep->pitch;
        }
    }
    next->input = larger(FX8_ROW_BLOCK * sweep->rows.begin, next->column_begin);
}

/** Start where the call for the previous channel, if any, stopped: the first
 *  rows are in the cache. */
static struct lookahead lookahead_start(const struct sweep *sweep)
{
    size_t n_blocks = sweep->rows.end - sweep->rows.begin;
    size_t n_rows = FX8_ROW_BLOCK * n_blocks;
    size_t n_rectangles = n_rows * (sweep->rows.end + sweep->rows.begin - 1) /
                          2 / sweep->kernel->n_columns;
    size_t n_tiles = n_rectangles + n_blocks;
    struct lookahead next = {
        .channel = (uintptr_t)sweep->x,
        .input = FX8_ROW_BLOCK * sweep->rows.begin,
        .most_lead = smaller(LEAD_ROWS, n_rows),
    };

    while (next.share_bits < MOST_SHARE_BITS &&
           n_rows << (next.share_bits + 1) <= n_tiles)
        next.share_bits++;
    while (next.lead < next.most_lead)
        lookahead_advance(sweep, &next);
    return next;
}

/** Give a tile its share of the prefetch, evenly over all tiles: a burst would
 *  stall the arithmetic. */
static void lookahead_share(const struct sweep *sweep, struct lookahead *next,
                            struct fx8_tile *tile)
{
    if (next->lead >= next->most_lead) {
        tile->ahead = tile->rows;
        tile->ahead_step = 0;
        return;
    }
    tile->ahead =
        (const char *)(next->channel + next->input * sweep->pitch +
                       next->offset +
                       (next->share * tile->n_bytes >> next->share_bits));
    tile->ahead_step = (size_t)64 >> next->share_bits;
    if (++next->share >> next->share_bits != 0)
        lookahead_advance(sweep, next);
}

/** One row block against one block of columns, over one segment. */
static void sweep_row_block(const struct sweep *sweep, struct lookahead *next,
                            size_t offset, size_t column_begin, size_t row)
{
    const struct fx8_tile_kernel *kernel = sweep->kernel;
    size_t diagonal = FX8_ROW_BLOCK * row;
    size_t column_end = column_begin + FX8_TILE_COLUMN_BLOCK;
    size_t n_blocks = fx8_tile_row_blocks(sweep->n_inputs);
    size_t bias = fx8_tile_offset(n_blocks) + FX8_TILE_COLUMN * row;
    const char *segment = sweep->x + offset;
    char *sums = sweep->accumulator + fx8_tile_offset(row) * kernel->item_size;
    size_t column_size = FX8_TILE_COLUMN * kernel->item_size;
    struct fx8_tile tile = {
        .rows = segment + diagonal * sweep->pitch,
        .pitch = sweep->pitch,
        .n_bytes = smaller(kernel->segment_bytes, sweep->row_bytes - offset),
        .bias = sweep->accumulator + bias * kernel->item_size,
        .scratch = sweep->scratch,
    };

    next->lead -= smaller(next->lead, FX8_ROW_BLOCK);
    if (kernel->prepare != NULL)
        kernel->prepare(&tile);
    for (size_t column = column_begin; column < smaller(column_end, diagonal);
         column += kernel->n_columns) {
        if (!fx8_is_needed(sweep->rows.needed, column, diagonal))
            continue;
        tile.columns = segment + column * sweep->pitch;
        tile.sums = sums + column * column_size;
        lookahead_share(sweep, next, &tile);
        kernel->rectangle(&tile);
    }
    if (diagonal < column_end) {
        tile.columns = tile.rows;
        tile.sums = sums + diagonal * column_size;
        lookahead_share(sweep, next, &tile);
        kernel->square(&tile);
    }
}

void fx8_correlate_sweep(const struct fx8_tile_kernel *kernel, size_t n_inputs,
                         struct fx8_row_blocks rows, size_t row_bytes,
                         const void *x, size_t pitch, void *accumulator)
{
    _Alignas(FX8_ALIGNMENT) char scratch[FX8_TILE_SCRATCH];
    const struct sweep sweep = {kernel, n_inputs, rows,        row_bytes,
                                pitch,  x,        accumulator, scratch};
    struct lookahead next;

    if (rows.begin >= rows.end)
        return;
    next = lookahead_start(&sweep);
    for (size_t offset = 0; offset < row_bytes;
         offset += kernel->segment_bytes) {
        for (size_t column = 0; column < FX8_ROW_BLOCK * rows.end;
             column += FX8_TILE_COLUMN_BLOCK) {
            for (size_t row = larger(rows.begin, column / FX8_ROW_BLOCK);
                 row < rows.end; row++)
                sweep_row_block(&sweep, &next, offset, column, row);
        }
    }
}

size_t fx8_tile_accumulator_size(size_t n_inputs)
{
    return fx8_tile_offset(fx8_tile_row_blocks(n_inputs));
}

size_t fx8_tile_biased_size(size_t n_inputs)
{
    return fx8_tile_accumulator_size(n_inputs) +
           FX8_TILE_COLUMN * fx8_tile_row_blocks(n_inputs);
}

/** First item of row j in its row block. */
static size_t row_items(size_t j)
{
    return fx8_tile_offset(j / FX8_ROW_BLOCK) + 2 * (j % FX8_ROW_BLOCK);
}

/** Behind the last column of a strip that a row block has. */
static size_t end_column(size_t n_inputs, struct fx8_strip strip,
                         size_t row_block)
{
    const size_t end = FX8_ROW_BLOCK * (row_block + 1);
    return strip.end == n_inputs ? end : smaller(strip.end, end);
}

void fx8_tile_empty(size_t n_inputs, struct fx8_strip strip, size_t item_size,
                    void *accumulator)
{
    for (size_t block = strip.begin / FX8_ROW_BLOCK;
         block < fx8_tile_row_blocks(n_inputs); block++) {
        const size_t n = end_column(n_inputs, strip, block) - strip.begin;
        const size_t first =
            fx8_tile_offset(block) + FX8_TILE_COLUMN * strip.begin;
        memset((char *)accumulator + first * item_size, 0,
               FX8_TILE_COLUMN * n * item_size);
    }
}

/* The imaginary part of an auto is zero; its item is not read because variants
 * leave different values there. */

#define DEFINE_FOLD(name, Item, Sum)                                           \
    void name(size_t n_inputs, struct fx8_strip strip, Item *accumulator,      \
              Sum *sums)                                                       \
    {                                                                          \
        for (size_t j = strip.begin; j < n_inputs; j++) {                      \
            const Item *item =                                                 \
                accumulator + row_items(j) + FX8_TILE_COLUMN * strip.begin;    \
            const size_t end = smaller(strip.end, j);                          \
                                                                               \
            for (size_t i = strip.begin; i < end; i++) {                       \
                *sums++ += item[0];                                            \
                *sums++ += item[1];                                            \
                item += FX8_TILE_COLUMN;                                       \
            }                                                                  \
            if (j < strip.end) {                                               \
                *sums += item[0];                                              \
                sums += 2;                                                     \
            }                                                                  \
        }                                                                      \
        fx8_tile_empty(n_inputs, strip, sizeof(Item), accumulator);            \
    }

DEFINE_FOLD(fx8_tile_fold_int32, int32_t, int64_t)
DEFINE_FOLD(fx8_tile_fold_double, double, double)

/* Subtract as unsigned, which may overflow. */
void fx8_tile_fold_biased(size_t n_inputs, struct fx8_strip strip,
                          int32_t *accumulator, int64_t *sums)
{
    const size_t n_blocks = fx8_tile_row_blocks(n_inputs);
    uint32_t *all = (uint32_t *)accumulator;
    uint32_t *bias = all + fx8_tile_offset(n_blocks);
    for (size_t block = strip.begin / FX8_ROW_BLOCK; block < n_blocks;
         block++) {
        uint32_t *items = all + fx8_tile_offset(block);
        const uint32_t *of_block = bias + FX8_TILE_COLUMN * block;
        for (size_t column = strip.begin;
             column < end_column(n_inputs, strip, block); column++)
            for (size_t k = 0; k < FX8_TILE_COLUMN; k++)
                items[FX8_TILE_COLUMN * column + k] -= of_block[k];
    }
    if (strip.end == n_inputs)
        memset(bias, 0, FX8_TILE_COLUMN * n_blocks * sizeof *bias);
    fx8_tile_fold_int32(n_inputs, strip, accumulator, sums);
}
