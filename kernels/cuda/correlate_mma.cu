/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_mma.cu -- the int8 correlator on tensor cores, a warp at a time:
 * sm_75 and later.
 *
 * Two sums for a pair of inputs (i, j), of real and imaginary parts r and m:
 *
 *     re = sum of r_j r_i + m_j m_i
 *     im = sum of m_j r_i - r_j m_i
 *        = sum of m_j r_i + (~r_j) m_i, and of m_i
 *
 * because -r = ~r + 1.  The complement of a byte always fits a byte, while
 * -(-128) does not, so all values are legal.  The sum of m_i, one number per
 * column, is added at the end.
 *
 * Notes: 1) all sums are modulo 2^32, and so exact where the result fits
 *        2) three stages in shared memory: one being multiplied, the next
 *           arriving, the third being filled once all have left it
 */
#include "kernels/cuda/correlate_kinds.h"
#include "kernels/cuda/correlate_tile.cuh"
#include "kernels/cuda/ptx_tensor.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
#define FX8_HAS_MMA 1
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define FX8_HAS_COPY_ASYNC 1
#endif

/** A tile: WARP_ROWS by WARP_COLUMNS warps, each of ROWS times 16 inputs by
 *  COLUMNS times 8. */
template <unsigned ROWS, unsigned COLUMNS, unsigned WARP_ROWS,
          unsigned WARP_COLUMNS>
struct mma_shape {
    static constexpr unsigned TILE = 16 * ROWS * WARP_ROWS;
    static constexpr unsigned THREADS = FX8_LANES * WARP_ROWS * WARP_COLUMNS;
    static constexpr unsigned STAGES = 3;
    static constexpr unsigned DEPTH = 2; /* columns of 16 bytes: k = 32 */
    /* Vectors of one side of a stage that a thread loads. */
    static constexpr unsigned LOADS = 2 * TILE * DEPTH / THREADS;
    static_assert(TILE == 8 * COLUMNS * WARP_COLUMNS, "a square tile");
    static_assert(LOADS * THREADS == 2 * TILE * DEPTH,
                  "every thread loads the same number of vectors");

    /* One side of a stage: time, part, input. */
    using Side = int4[DEPTH][2][TILE];
};

#ifdef FX8_HAS_MMA

using mma_task = fx8_tile_task<int4, longlong2>;

/** 16 bytes to shared memory, or zeros; there after mma_wait() and a barrier.
 */
static __device__ __forceinline__ void mma_copy(int4 *shared,
                                                const int4 *global,
                                                bool is_there)
{
#ifdef FX8_HAS_COPY_ASYNC
    fx8_ptx_copy_async(shared, global, is_there ? 16 : 0);
#else
    *shared = is_there ? *global : int4();
#endif
}

static __device__ __forceinline__ void mma_commit()
{
#ifdef FX8_HAS_COPY_ASYNC
    fx8_ptx_copy_commit();
#endif
}

/** Wait until all stages but the last have arrived. */
static __device__ __forceinline__ void mma_wait()
{
#ifdef FX8_HAS_COPY_ASYNC
    fx8_ptx_copy_wait<1>();
#endif
}

/** Start to fill one side of a stage, from column `begin` on. */
template <class Shape>
static __device__ __forceinline__ void mma_fill(const mma_task &task,
                                                unsigned first_input,
                                                unsigned begin,
                                                typename Shape::Side &side)
{
#pragma unroll
    for (unsigned n = 0; n < Shape::LOADS; ++n) {
        const unsigned number = threadIdx.x + Shape::THREADS * n;
        const fx8_tile_place place =
            fx8_tile_place::of(number % (2 * Shape::TILE));
        const unsigned k = number / (2 * Shape::TILE);
        const unsigned input = first_input + place.input;
        const bool is_there =
            input < task.n_inputs && begin + k < task.n_columns;
        const size_t at =
            (begin + k) * task.pitch + fx8_cuda_row(input, place.part);
        mma_copy(&side[k][place.part][place.input],
                 task.x + (is_there ? at : 0), is_there);
    }
}

/** The sums of a warp: fragments of ROWS times COLUMNS, and of each column
 *  the sum of its imaginary parts, a quarter of it in each of four lanes. */
template <unsigned ROWS, unsigned COLUMNS> struct mma_sums {
    int re[ROWS][COLUMNS][4], im[ROWS][COLUMNS][4];
    int column[COLUMNS];
};

/** Real parts, imaginary parts, complements of the real parts of 16 inputs. */
struct mma_rows {
    int re[4], im[4], not_re[4];
};

/** Add the products of a stage, of half of the columns or of both halves. */
template <class Shape, unsigned ROWS, unsigned COLUMNS>
static __device__ __forceinline__ void mma_multiply(
    const typename Shape::Side &row_side,
    const typename Shape::Side &column_side, unsigned row, unsigned column,
    bool are_both, mma_sums<ROWS, COLUMNS> &sums)
{
    const unsigned lane = threadIdx.x % FX8_LANES;
    mma_rows rows[ROWS];
#pragma unroll
    for (unsigned a = 0; a < ROWS; ++a) {
        const unsigned input = row + 16 * a + lane % 16;
        fx8_ptx_ldmatrix_x4(rows[a].re, &row_side[lane / 16][0][input]);
        fx8_ptx_ldmatrix_x4(rows[a].im, &row_side[lane / 16][1][input]);
#pragma unroll
        for (unsigned word = 0; word < 4; ++word)
            rows[a].not_re[word] = ~rows[a].re[word];
    }
#pragma unroll
    for (unsigned b = 0; b < COLUMNS; ++b) {
        if (b == COLUMNS / 2 && !are_both)
            break;
        /* Both halves of k of the real, then of the imaginary parts. */
        int words[4];
        fx8_ptx_ldmatrix_x4(
            words, &column_side[lane / 8 % 2][lane / 16]
                               [column + 8 * b + fx8_tile_input_at(lane % 8)]);
        const int re[2] = {words[0], words[1]}, im[2] = {words[2], words[3]};
#pragma unroll
        for (unsigned a = 0; a < ROWS; ++a) {
            fx8_ptx_mma_s8(sums.re[a][b], rows[a].re, re);
            fx8_ptx_mma_s8(sums.im[a][b], rows[a].im, re);
        }
#pragma unroll
        for (unsigned a = 0; a < ROWS; ++a) {
            fx8_ptx_mma_s8(sums.re[a][b], rows[a].im, im);
            fx8_ptx_mma_s8(sums.im[a][b], rows[a].not_re, im);
        }
        sums.column[b] = __dp4a(im[0], 0x01010101, sums.column[b]);
        sums.column[b] = __dp4a(im[1], 0x01010101, sums.column[b]);
    }
}

/** Add the sum of its column to every imaginary sum. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ __forceinline__ void mma_complete(
    mma_sums<ROWS, COLUMNS> &sums)
{
    const unsigned lane = threadIdx.x % FX8_LANES;
#pragma unroll
    for (unsigned b = 0; b < COLUMNS; ++b) {
        /* Lanes 4 c to 4 c + 3 hold the parts of column c. */
        int whole = sums.column[b];
        whole += __shfl_xor_sync(~0u, whole, 1);
        whole += __shfl_xor_sync(~0u, whole, 2);
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
            const unsigned own = lane % 4 * 2 + k % 2;
            const int rest = __shfl_sync(~0u, whole, static_cast<int>(4 * own));
#pragma unroll
            for (unsigned a = 0; a < ROWS; ++a)
                sums.im[a][b][k] =
                    static_cast<int>(static_cast<unsigned>(sums.im[a][b][k]) +
                                     static_cast<unsigned>(rest));
        }
    }
}

/** Add the sums of a warp to those in global memory, of 16 rows and half of
 *  the columns at a time. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ __forceinline__ void mma_fold(
    const mma_task &task, unsigned row, unsigned column,
    const mma_sums<ROWS, COLUMNS> &sums)
{
    constexpr unsigned GROUP = COLUMNS / 2;
    static_assert(COLUMNS % 2 == 0, "halves of columns");
    const unsigned lane = threadIdx.x % FX8_LANES;
    const unsigned i = task.first_column + column + lane % 4;
    const unsigned j = task.first_row + row + lane / 4;
#pragma unroll
    for (unsigned a = 0; a < ROWS; ++a) {
        const fx8_tile_row<longlong2> rows[2] = {task.row(i, j + 16 * a),
                                                 task.row(i, j + 16 * a + 8)};
#pragma unroll
        for (unsigned b = 0; b < COLUMNS; b += GROUP)
            fx8_tile_add<4, 8, 2 * GROUP>(
                rows, 8 * b, [&](unsigned h, unsigned c) {
                    const unsigned at = 2 * h + c % 2;
                    return fx8_tile_part<int>{sums.re[a][b + c / 2][at],
                                              sums.im[a][b + c / 2][at]};
                });
    }
}

/** Number of halves of COLUMNS times 8 columns that hold pairs: 0, 1 or 2. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ __forceinline__ unsigned mma_halves(const mma_task &task,
                                                      unsigned row,
                                                      unsigned column)
{
    const unsigned first_i = task.first_column + column;
    const unsigned first_j = task.first_row + row;
    const unsigned end_i = min(task.n_inputs, first_j + 16 * ROWS);
    if (first_j >= task.n_inputs || first_i >= end_i)
        return 0;
    return end_i - first_i > 4 * COLUMNS ? 2 : 1;
}

template <class Shape, unsigned ROWS, unsigned COLUMNS, unsigned WARP_ROWS>
static __device__ __forceinline__ void correlate_mma(const mma_task &task)
{
    __shared__ typename Shape::Side stages[Shape::STAGES][2];

    /* Warps k, k + 4 ... share a quarter of the tensor cores: of two of them,
     * one is high and one low in the tile, because low ones idle more often. */
    const unsigned warp = fx8_warp_of_block();
    const unsigned strip = warp / WARP_ROWS, place = warp % WARP_ROWS;
    const unsigned row =
        (strip % 2 == 0 ? place : WARP_ROWS - 1 - place) * 16 * ROWS;
    const unsigned column = strip * 8 * COLUMNS;
    const bool is_diagonal = task.is_diagonal();
    const unsigned n_halves = mma_halves<ROWS, COLUMNS>(task, row, column);

    mma_sums<ROWS, COLUMNS> sums = {};
    unsigned filled = 0, begin_fill = 0;
    const auto fill = [&] {
        if (begin_fill < task.n_columns) {
            mma_fill<Shape>(task, task.first_row, begin_fill,
                            stages[filled][0]);
            if (!is_diagonal)
                mma_fill<Shape>(task, task.first_column, begin_fill,
                                stages[filled][1]);
        }
        mma_commit();
        begin_fill += Shape::DEPTH;
        filled = filled + 1 == Shape::STAGES ? 0 : filled + 1;
    };
    fill();
    fill();
    unsigned stage = 0, begin = 0;
    /* After a loop that may not run, the compiler widens all sums to 64 bits at
     * once, in registers that the fold needs. */
    do {
        mma_wait();
        __syncthreads();
        fill();
        if (n_halves > 0)
            mma_multiply<Shape>(stages[stage][0],
                                stages[stage][is_diagonal ? 0 : 1], row, column,
                                n_halves == 2, sums);
        stage = stage + 1 == Shape::STAGES ? 0 : stage + 1;
        begin += Shape::DEPTH;
    } while (begin < task.n_columns);
    /* All lanes must take part in the shuffles; idle warps have no pairs. */
    mma_complete(sums);
    mma_fold(task, row, column, sums);
}

#define FX8_MMA_BODY(rows, columns, warp_rows, ...)                            \
    correlate_mma<__VA_ARGS__, rows, columns, warp_rows>(                      \
        fx8_tile_of_block<__VA_ARGS__::TILE>(                                  \
            x, channel_stride, pitch, n_inputs, n_columns, sums, tiles))
#else
#define FX8_MMA_BODY(rows, columns, warp_rows, ...) ((void)0)
#endif

/** A size of tile: the kernel, and the function that queues it. */
#define FX8_MMA(tile, rows, columns, warp_rows, warp_columns, blocks)          \
    using mma_shape_##tile =                                                   \
        mma_shape<rows, columns, warp_rows, warp_columns>;                     \
    static_assert(mma_shape_##tile::TILE == tile, "the name of the tile");     \
                                                                               \
    extern "C" __global__ void __launch_bounds__(mma_shape_##tile::THREADS,    \
                                                 blocks)                       \
        fx8_correlate_mma_##tile##_kernel(                                     \
            const int4 *x, size_t channel_stride, size_t pitch,                \
            unsigned n_inputs, unsigned n_columns, longlong2 *sums,            \
            const unsigned *tiles)                                             \
    {                                                                          \
        FX8_MMA_BODY(rows, columns, warp_rows, mma_shape_##tile);              \
    }                                                                          \
                                                                               \
    cudaError_t fx8_cuda_correlate_mma_##tile(                                 \
        const struct fx8_cuda_correlation *job)                                \
    {                                                                          \
        return fx8_tile_launch<FX8_CUDA_TIMES_INT8>(                           \
            fx8_correlate_mma_##tile##_kernel, tile,                           \
            mma_shape_##tile::THREADS, 0, job);                                \
    }

FX8_MMA(32, 1, 2, 2, 2, 8)
FX8_MMA(64, 2, 4, 2, 2, 4)
FX8_MMA(128, 2, 8, 4, 2, 1)
