/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_tile.cuh -- common parts of the correlators: square tiles of the
 * triangle of pairs, one block of threads per tile, loading spectra and adding
 * sums.
 *
 * Rows of a tile are inputs j, columns inputs i <= j.  Only tiles on the
 * diagonal have unneeded pairs; there, rows and columns are the same inputs,
 * loaded once.
 */
#ifndef FX8_KERNELS_CUDA_CORRELATE_TILE_CUH
#define FX8_KERNELS_CUDA_CORRELATE_TILE_CUH

#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/correlate.h"
#include "kernels/cuda/layout.h"
#include "kernels/operations.h"

/** Threads of a warp. */
#define FX8_LANES 32u

/** The number of this thread's warp, which the compiler knows to be uniform. */
static __device__ __forceinline__ unsigned fx8_warp_of_block()
{
    return __shfl_sync(~0u, threadIdx.x / FX8_LANES, 0);
}

/** The sums of a row of the triangle, from one input on. */
template <class Sum> struct fx8_tile_row {
    Sum *sums;        /**< of the pair with that input */
    unsigned n_pairs; /**< the row has from it on */
};

/** The arguments of a kernel: see struct fx8_cuda_correlation. */
template <class Vector, class Sum> struct fx8_tile_task {
    const Vector *x; /**< of the block's channel */
    size_t pitch;    /**< rows from a column of 16 bytes to the next */
    unsigned n_inputs;
    unsigned n_columns;    /**< of 16 bytes, in time; not 0 */
    Sum *sums;             /**< of the block's channel, two components each */
    unsigned first_row;    /**< of the block's tile: an input */
    unsigned first_column; /**< likewise */

    __device__ bool is_diagonal() const
    {
        return first_row == first_column;
    }

    /** Row j from input i on; no pairs where either is no input of the row. */
    __device__ __forceinline__ fx8_tile_row<Sum> row(unsigned i,
                                                     unsigned j) const
    {
        return {sums + (static_cast<size_t>(j) * (j + 1) / 2 + i),
                j < n_inputs && i <= j ? j + 1 - i : 0};
    }
};

/** The task of this block: blockIdx.x is the tile, by rows of the triangle, or
 *  the place of its number in a list of tiles; blockIdx.y the channel. */
template <unsigned TILE, class Vector, class Sum>
static __device__ __forceinline__ fx8_tile_task<Vector, Sum> fx8_tile_of_block(
    const Vector *x, size_t channel_stride, size_t pitch, unsigned n_inputs,
    unsigned n_columns, Sum *sums, const unsigned *tiles)
{
    unsigned row = 0;
    unsigned column = tiles != nullptr ? tiles[blockIdx.x] : blockIdx.x;
    while (column > row)
        column -= ++row;
    const size_t n_pairs = static_cast<size_t>(n_inputs) * (n_inputs + 1) / 2;
    return {
        x + blockIdx.y * channel_stride, pitch,      n_inputs,     n_columns,
        sums + blockIdx.y * n_pairs,     row * TILE, column * TILE};
}

/**
 * Source and place in shared memory of each vector of 32 consecutive rows, 16
 * inputs: lanes 0 to 15 take the real, 16 to 31 the imaginary parts, so that
 * both load and store of a warp are contiguous.
 */
struct fx8_tile_place {
    unsigned input, part;

    /** Of the rows of a tile: `number` from 0 to twice its inputs. */
    static __device__ __forceinline__ fx8_tile_place of(unsigned number)
    {
        return {number / 32 * 16 + number % 16, number / 16 % 2};
    }
};

/**
 * The input at a place in shared memory from which tensor cores read columns:
 * 0 4 1 5 2 6 3 7 of every eight.  A lane gets the sums of two adjacent places;
 * with this order, neighbouring lanes have adjacent inputs, and four lanes
 * access 64 bytes of a row of sums at once.
 */
static __device__ __forceinline__ unsigned fx8_tile_input_at(unsigned place)
{
    return place / 8 * 8 + place % 2 * 4 + place % 8 / 2;
}

/** A part of the sums of a pair. */
template <class Number> struct fx8_tile_part {
    Number re, im;
};

/** Plain additions: doubles are rounded to nearest. */
struct fx8_tile_plain_add {
    template <class Number, class Part>
    static __device__ __forceinline__ Number add(Number sum, Part part)
    {
        return sum + part;
    }
};

/**
 * Add parts(row, column) to the sums of COLUMNS pairs of every row with
 * Rounding::add(): the first is `begin` inputs from the beginning of the row,
 * two are NEAR apart, the next two FAR from them.
 *
 * All are loaded before the first is stored: the compiler does not know that
 * the pairs differ, and a load would wait for the previous store.  If the row
 * has no such pair, its first pair, also of this thread, is loaded and not
 * stored: the loads then need one predicate per row, and there are only seven.
 */
template <unsigned NEAR, unsigned FAR, unsigned COLUMNS,
          class Rounding = fx8_tile_plain_add, unsigned ROWS, class Sum,
          class Parts>
static __device__ __forceinline__ void fx8_tile_add(
    const fx8_tile_row<Sum> (&rows)[ROWS], unsigned begin, Parts parts)
{
    Sum kept[ROWS][COLUMNS];
#pragma unroll
    for (unsigned a = 0; a < ROWS; ++a)
#pragma unroll
        for (unsigned b = 0; b < COLUMNS; ++b) {
            const unsigned at = begin + b / 2 * FAR + b % 2 * NEAR;
            kept[a][b] = Sum();
            if (rows[a].n_pairs > 0)
                kept[a][b] = rows[a].sums[at < rows[a].n_pairs ? at : 0];
        }
#pragma unroll
    for (unsigned a = 0; a < ROWS; ++a)
#pragma unroll
        for (unsigned b = 0; b < COLUMNS; ++b) {
            const auto part = parts(a, b);
            kept[a][b].x = Rounding::add(kept[a][b].x, part.re);
            kept[a][b].y = Rounding::add(kept[a][b].y, part.im);
        }
#pragma unroll
    for (unsigned a = 0; a < ROWS; ++a)
#pragma unroll
        for (unsigned b = 0; b < COLUMNS; ++b) {
            const unsigned at = begin + b / 2 * FAR + b % 2 * NEAR;
            if (at < rows[a].n_pairs)
                rows[a].sums[at] = kept[a][b];
        }
}

/** Most channels of a launch: blockIdx.y. */
#define FX8_TILE_CHANNELS 65535u

/** A launch of a kernel over some channels of a job. */
template <class Vector, class Sum> struct fx8_tile_launch_part {
    dim3 grid;       /**< tiles, channels */
    const Vector *x; /**< of the first channel, as `sums` */
    Sum *sums;
    unsigned n_columns; /**< of 16 bytes, in time */
};

/**
 * fx8_tile_launches -- the launches of a kernel over the tiles and all channels
 * of a job.
 *
 * Given: kernel  loaded if there is nothing to do
 *        tile    inputs in a tile
 *        launch  queues a part; returns its error
 */
template <unsigned TIMES, class Vector, class Sum, class Kernel, class Launch>
static cudaError_t fx8_tile_launches(Kernel *kernel, unsigned tile,
                                     const struct fx8_cuda_correlation *job,
                                     Launch launch)
{
    if (job->n_times > FX8_MAX_INT32_SPECTRA)
        return cudaErrorInvalidValue;
    if (job->n_inputs == 0 || job->n_times == 0 || job->n_channels == 0)
        return fx8_cuda_load(kernel);
    const size_t n_rows = (job->n_inputs + tile - 1) / tile;
    const size_t n_pairs = fx8_pair_count(job->n_inputs);
    const size_t n_tiles =
        job->tiles != nullptr ? job->n_tiles : fx8_pair_count(n_rows);
    for (size_t first = 0; first < job->n_channels;
         first += FX8_TILE_CHANNELS) {
        const size_t left = job->n_channels - first;
        const fx8_tile_launch_part<Vector, Sum> part = {
            dim3(static_cast<unsigned>(n_tiles),
                 static_cast<unsigned>(
                     left < FX8_TILE_CHANNELS ? left : FX8_TILE_CHANNELS)),
            static_cast<const Vector *>(job->x) + first * job->channel_stride,
            static_cast<Sum *>(job->sums) + first * n_pairs,
            static_cast<unsigned>((job->n_times + TIMES - 1) / TIMES)};
        const cudaError_t error = launch(part);
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

/**
 * fx8_tile_launch -- the launches of a usual kernel.
 *
 * Given: kernel        of (x, channel_stride, pitch, n_inputs, n_columns, sums,
 *                      tiles)
 *        tile, block   inputs in a tile; threads
 *        shared_bytes  dynamic
 */
template <unsigned TIMES, class Vector, class Sum>
static cudaError_t fx8_tile_launch(void (*kernel)(const Vector *, size_t,
                                                  size_t, unsigned, unsigned,
                                                  Sum *, const unsigned *),
                                   unsigned tile, unsigned block,
                                   size_t shared_bytes,
                                   const struct fx8_cuda_correlation *job)
{
    return fx8_tile_launches<TIMES, Vector, Sum>(
        kernel, tile, job, [&](const fx8_tile_launch_part<Vector, Sum> &part) {
            FX8_LAUNCH(kernel, part.grid, dim3(block), shared_bytes,
                       job->stream, part.x, job->channel_stride,
                       fx8_cuda_pitch(job->n_inputs),
                       static_cast<unsigned>(job->n_inputs), part.n_columns,
                       part.sums, job->tiles);
            return cudaGetLastError();
        });
}

#endif
