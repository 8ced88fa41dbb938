/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather_tiles.h -- the gather of the vector variants, over the fx8_turn16()
 * of the including file.
 *
 * Inputs whose samples of one time lie within 64 bytes form a group; a group
 * is turned in tiles of 32 times.  The order of the inputs within the 64
 * bytes is free: a recording with its polarisations swapped is as fast.
 */
#ifndef FX8_KERNELS_CPU_GATHER_TILES_H
#define FX8_KERNELS_CPU_GATHER_TILES_H

#include <string.h>

#include "kernels/cpu/turn16.h"
#include "kernels/cpu/variants.h"

#if defined(__AVX2__)

/* Samples per input that are gathered before the next group's turn: the
 * lines of the source that several groups touch stay in cache. */
#define GATHER_BLOCK 1024

/* Smaller groups are left to the reference, which is then as fast. */
#define GATHER_FEWEST_INPUTS 4

/** What a gather needs to know for every group. */
struct gather_source {
    size_t sample_size;
    const int8_t *base;
    ptrdiff_t time_stride;
};

/** Length of the group that starts the list, and the lowest offset and the
 *  extent in bytes of its samples. */
static inline size_t gather_group(const struct gather_source *source,
                                  size_t n_inputs, const ptrdiff_t *offset,
                                  ptrdiff_t *lowest, size_t *n_bytes)
{
    const ptrdiff_t size = (ptrdiff_t)source->sample_size;
    ptrdiff_t low = offset[0], high = offset[0];
    size_t n = 1;
    for (; n < n_inputs; n++) {
        const ptrdiff_t new_low = offset[n] < low ? offset[n] : low;
        const ptrdiff_t new_high = offset[n] > high ? offset[n] : high;
        if (new_high - new_low > FX8_TILE_BYTES - size ||
            (offset[n] - offset[0]) % size != 0)
            break;
        low = new_low;
        high = new_high;
    }
    *lowest = low;
    *n_bytes = (size_t)(high - low + size);
    return n;
}

/** Copy one input's samples out of a turned tile.  A row of the tile is one
 *  complex input, or two real ones whose bytes alternate. */
static inline void gather_row(const int8_t *tile, size_t sample_size,
                              size_t column_byte, size_t n_times, int8_t *out)
{
    const int8_t *row = tile + column_byte / 2 * FX8_TILE_BYTES;
    if (sample_size == 2 && n_times == FX8_TILE) {
        memcpy(out, row, FX8_TILE_BYTES);
    } else if (sample_size == 2) {
        memcpy(out, row, 2 * n_times);
    } else {
        row += column_byte % 2;
        for (size_t t = 0; t < n_times; t++)
            out[t] = row[2 * t];
    }
}

/** Ask for the lines of the tile after the one at `from`: its rows are too far
 *  apart for the CPU to see a pattern (measured: 1.5 times as fast). */
static inline void gather_prefetch(const int8_t *from, ptrdiff_t time_stride)
{
    for (ptrdiff_t row = FX8_TILE; row < 2 * FX8_TILE; row++)
        __builtin_prefetch(from + row * time_stride);
}

/** Gather one group of inputs, up to GATHER_BLOCK samples of each. */
static inline void gather_turned(const struct gather_source *source,
                                 size_t n_inputs, size_t n_samples,
                                 const ptrdiff_t *offset, ptrdiff_t lowest,
                                 size_t n_bytes, int8_t *out, size_t row_stride)
{
    FX8_ALIGNED int8_t tile[FX8_TILE * FX8_TILE_BYTES];
    int8_t rest[FX8_TILE * FX8_TILE_BYTES];
    for (size_t t = 0; t < n_samples; t += FX8_TILE) {
        const int8_t *from =
            source->base + lowest + (ptrdiff_t)t * source->time_stride;
        const size_t n_times =
            n_samples - t < FX8_TILE ? n_samples - t : FX8_TILE;
        if (n_times == FX8_TILE) {
            if (n_samples - t >= 2 * FX8_TILE)
                gather_prefetch(from, source->time_stride);
            fx8_turn16(from, source->time_stride, n_bytes, tile,
                       FX8_TILE_BYTES);
        } else {
            memset(rest, 0, sizeof rest);
            for (size_t row = 0; row < n_times; row++)
                memcpy(rest + row * FX8_TILE_BYTES,
                       from + (ptrdiff_t)row * source->time_stride, n_bytes);
            fx8_turn16(rest, FX8_TILE_BYTES, n_bytes, tile, FX8_TILE_BYTES);
        }
        for (size_t i = 0; i < n_inputs; i++)
            gather_row(tile, source->sample_size, (size_t)(offset[i] - lowest),
                       n_times, out + i * row_stride + t * source->sample_size);
    }
}

/** Every group, for up to GATHER_BLOCK samples. */
static inline void gather_block(const struct gather_source *source,
                                size_t n_inputs, size_t n_samples,
                                const ptrdiff_t *offset, int8_t *out,
                                size_t row_stride)
{
    for (size_t first = 0; first < n_inputs;) {
        ptrdiff_t lowest;
        size_t n_bytes;
        const size_t n = gather_group(source, n_inputs - first, offset + first,
                                      &lowest, &n_bytes);
        int8_t *rows = out + first * row_stride;
        if (n < GATHER_FEWEST_INPUTS)
            fx8_gather_reference(n, n_samples, source->sample_size,
                                 source->base, offset + first,
                                 source->time_stride, rows, row_stride);
        else
            gather_turned(source, n, n_samples, offset + first, lowest, n_bytes,
                          rows, row_stride);
        first += n;
    }
}

static inline void gather_tiles(size_t n_inputs, size_t n_samples,
                                size_t sample_size, const int8_t *base,
                                const ptrdiff_t *input_offset,
                                ptrdiff_t time_stride, int8_t *out,
                                size_t row_stride)
{
    if (time_stride == (ptrdiff_t)sample_size) {
        for (size_t input = 0; input < n_inputs; input++)
            memcpy(out + input * row_stride, base + input_offset[input],
                   n_samples * sample_size);
        return;
    }
    for (size_t t = 0; t < n_samples; t += GATHER_BLOCK) {
        const struct gather_source source = {
            sample_size, base + (ptrdiff_t)t * time_stride, time_stride};
        gather_block(&source, n_inputs,
                     n_samples - t < GATHER_BLOCK ? n_samples - t
                                                  : GATHER_BLOCK,
                     input_offset, out + t * sample_size, row_stride);
    }
}

#endif

#endif
