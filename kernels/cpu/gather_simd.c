/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather_simd.c -- the gather, over fx8_transpose16().
 *
 * Inputs whose samples of one time lie within 64 bytes form a group; a group
 * is transposed in tiles of 32 times.  The order of the inputs within the 64
 * bytes is free: a recording with its polarisations swapped is as fast.
 */
#include <string.h>

#include "kernels/cpu/transpose16.h"
#include "kernels/cpu/variants.h"

/* Samples per input that are gathered before the next group: source lines used
 * by several groups stay in cache. */
#define GATHER_BLOCK 1024

/* The same for streamed rows, samples of 1 and of 2 bytes: few whole lines, so
 * that the source is read in its order (measured: one line of complex samples
 * is 1.3 times as fast as 32, four lines of real ones 1.1 times as one). */
static const size_t gather_streamed_block[2] = {256, 32};

/* Groups processed alternately. */
#define GATHER_GROUPS 64

/* Smaller groups use the reference, which is then as fast. */
#define GATHER_FEWEST_INPUTS 4

/* Least bytes for streaming rows past the caches, half of a second level:
 * written data would not stay in cache, and no lines are fetched just to be
 * overwritten. */
#define GATHER_STREAMED ((size_t)512 << 10)

/** Parameters of a gather that are common to all groups. */
struct gather_source {
    size_t sample_size;
    const int8_t *base;
    ptrdiff_t time_stride;
    bool is_streamed; /* rows begin at whole lines and bypass the caches */
    size_t n_left;    /* samples from `base` to the last one */
};

/** Inputs whose samples of one time are close together. */
struct gather_group {
    size_t first, n;  /* inputs */
    ptrdiff_t lowest; /* offset */
    size_t n_bytes;   /* from there */
};

/** The group that starts at input `first`. */
static inline struct gather_group gather_group(size_t sample_size,
                                               size_t n_inputs,
                                               const ptrdiff_t *offset,
                                               size_t first)
{
    const ptrdiff_t size = (ptrdiff_t)sample_size;
    ptrdiff_t low = offset[first], high = offset[first];
    size_t i = first + 1;
    for (; i < n_inputs; i++) {
        const ptrdiff_t new_low = offset[i] < low ? offset[i] : low;
        const ptrdiff_t new_high = offset[i] > high ? offset[i] : high;
        if (new_high - new_low > FX8_TILE_BYTES - size ||
            (offset[i] - offset[first]) % size != 0)
            break;
        low = new_low;
        high = new_high;
    }
    const struct gather_group group = {first, i - first, low,
                                       (size_t)(high - low + size)};
    return group;
}

/** Turn up to FX8_TILE times of a group. */
static inline void gather_tile(const struct gather_source *source,
                               const int8_t *from, size_t n_times,
                               size_t n_bytes, int8_t *tile)
{
    int8_t rest[FX8_TILE * FX8_TILE_BYTES];
    if (n_times == FX8_TILE) {
        fx8_transpose16(from, source->time_stride, n_bytes, tile,
                        FX8_TILE_BYTES);
        return;
    }
    memset(rest, 0, sizeof rest);
    for (size_t row = 0; row < n_times; row++)
        memcpy(rest + row * FX8_TILE_BYTES,
               from + (ptrdiff_t)row * source->time_stride, n_bytes);
    fx8_transpose16(rest, FX8_TILE_BYTES, n_bytes, tile, FX8_TILE_BYTES);
}

/** Copy part of a line of one input out of its transposed tiles.  A row of a
 * tile is one complex input, or two real ones whose bytes alternate. */
static inline void gather_part(const int8_t *tiles, size_t sample_size,
                               size_t column_byte, size_t n_times, int8_t *out)
{
    const int8_t *row = tiles + column_byte / 2 * FX8_TILE_BYTES;
    if (sample_size == 2) {
        memcpy(out, row, 2 * n_times);
        return;
    }
    row += column_byte % 2;
    for (size_t t = 0; t < n_times; t++)
        out[t] =
            row[t / FX8_TILE * FX8_TILE * FX8_TILE_BYTES + t % FX8_TILE * 2];
}

/** The same for a whole line, 64 bytes. */
static inline void gather_line(const struct gather_source *source,
                               const int8_t *tiles, size_t column_byte,
                               int8_t *out)
{
    const int8_t *row = tiles + column_byte / 2 * FX8_TILE_BYTES;
    if (source->sample_size == 1)
        fx8_pick_line(row, row + FX8_TILE * FX8_TILE_BYTES, column_byte % 2,
                      out, source->is_streamed);
    else
        fx8_copy_line(row, out, source->is_streamed);
}

/** Prefetch the rows of the next line, which are read once: they are too far
 *  apart for the hardware prefetcher (measured: 2 to 4 times as fast). */
static inline void gather_prefetch(const int8_t *from, ptrdiff_t time_stride,
                                   size_t n_times)
{
    for (ptrdiff_t row = 0; row < (ptrdiff_t)n_times; row++)
        __builtin_prefetch(from + row * time_stride, 0, 0);
}

/** Gather one group of inputs line by line: 32 complex samples or 64 real
 *  ones. */
static inline void gather_turned(const struct gather_source *source,
                                 const struct gather_group *group,
                                 size_t n_samples, const ptrdiff_t *offset,
                                 int8_t *out, size_t row_stride)
{
    FX8_ALIGNED int8_t tiles[2 * FX8_TILE * FX8_TILE_BYTES];
    const size_t size = source->sample_size;
    const size_t line = FX8_TILE_BYTES / size;
    const ptrdiff_t stride = source->time_stride;
    for (size_t t = 0; t < n_samples; t += line) {
        const int8_t *from =
            source->base + group->lowest + (ptrdiff_t)t * stride;
        const size_t n_times = n_samples - t < line ? n_samples - t : line;
        if (source->n_left - t >= 2 * line)
            gather_prefetch(from + (ptrdiff_t)line * stride, stride, line);
        for (size_t k = 0; k < n_times; k += FX8_TILE)
            gather_tile(source, from + (ptrdiff_t)k * stride,
                        n_times - k < FX8_TILE ? n_times - k : FX8_TILE,
                        group->n_bytes, tiles + k * FX8_TILE_BYTES);
        for (size_t i = group->first; i < group->first + group->n; i++) {
            int8_t *to = out + i * row_stride + t * size;
            const size_t column = (size_t)(offset[i] - group->lowest);
            if (n_times == line)
                gather_line(source, tiles, column, to);
            else
                gather_part(tiles, size, column, n_times, to);
        }
    }
}

/** Gather some samples of several groups. */
static inline void gather_block(const struct gather_source *source,
                                const struct gather_group *groups,
                                size_t n_groups, size_t n_samples,
                                const ptrdiff_t *offset, int8_t *out,
                                size_t row_stride)
{
    for (const struct gather_group *g = groups; g < groups + n_groups; g++)
        if (g->n < GATHER_FEWEST_INPUTS)
            fx8_gather_reference(g->n, n_samples, source->sample_size,
                                 source->base, offset + g->first,
                                 source->time_stride,
                                 out + g->first * row_stride, row_stride);
        else
            gather_turned(source, g, n_samples, offset, out, row_stride);
}

/** Samples before the first streamed one: up to a whole line, or all. */
static inline size_t gather_head(size_t n_inputs, size_t n_samples,
                                 size_t sample_size, const int8_t *out,
                                 size_t row_stride)
{
    const size_t beyond = (uintptr_t)out % FX8_TILE_BYTES;
    const size_t head = (FX8_TILE_BYTES - beyond) % FX8_TILE_BYTES;
    if (row_stride % FX8_TILE_BYTES != 0 || head % sample_size != 0 ||
        n_inputs * n_samples * sample_size < GATHER_STREAMED)
        return n_samples;
    return head / sample_size < n_samples ? head / sample_size : n_samples;
}

static void gather(size_t n_inputs, size_t n_samples, size_t sample_size,
                   const int8_t *base, const ptrdiff_t *input_offset,
                   ptrdiff_t time_stride, int8_t *out, size_t row_stride)
{
    if (time_stride == (ptrdiff_t)sample_size) {
        for (size_t input = 0; input < n_inputs; input++)
            memcpy(out + input * row_stride, base + input_offset[input],
                   n_samples * sample_size);
        return;
    }
    const size_t head =
        gather_head(n_inputs, n_samples, sample_size, out, row_stride);
    struct gather_group groups[GATHER_GROUPS];
    for (size_t first = 0; first < n_inputs;) {
        size_t n_groups = 0;
        bool are_turned = true;
        for (; first < n_inputs && n_groups < GATHER_GROUPS; n_groups++) {
            groups[n_groups] =
                gather_group(sample_size, n_inputs, input_offset, first);
            first += groups[n_groups].n;
            are_turned =
                are_turned && groups[n_groups].n >= GATHER_FEWEST_INPUTS;
        }
        for (size_t t = 0, n; t < n_samples; t += n) {
            const struct gather_source source = {
                sample_size, base + (ptrdiff_t)t * time_stride, time_stride,
                t >= head, n_samples - t};
            const size_t block = source.is_streamed && are_turned
                                     ? gather_streamed_block[sample_size - 1]
                                     : GATHER_BLOCK;
            n = t < head ? head - t : n_samples - t;
            n = n < block ? n : block;
            gather_block(&source, groups, n_groups, n, input_offset,
                         out + t * sample_size, row_stride);
        }
    }
    if (head < n_samples)
        vec_stream_end();
}

void FX8_VARIANT(fx8_fill_gather)(struct fx8_operations *operations)
{
    operations->gather = gather;
}
