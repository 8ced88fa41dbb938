/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_lanes.cuh -- a correlator without tensor cores: every thread holds
 * the sums of a few rows and columns of a tile.
 *
 * An arithmetic has
 *
 *     Vector        16 bytes of one row: int4, float4
 *     Sum           two sums in global memory: longlong2, double2
 *     Rounding      how sums are added to those: fx8_tile_add()
 *     FOLD          columns of 16 bytes in time between two folds
 *     Sums<REACH>   what a thread holds of REACH rows and as many columns:
 *                   clear(), re(), im(), and add() a word of one row and one
 *                   column
 *
 * Notes: 1) a warp holds 4 REACH rows by 8 REACH adjacent columns, so that
 *           whole warps are above the diagonal and idle, and a warp reads 64
 *           or 128 contiguous bytes of shared memory at a time
 *        2) two buffers alternate, so one barrier per stage is enough: a thread
 *           that fills a buffer has passed the barrier after its last use
 */
#ifndef FX8_KERNELS_CUDA_CORRELATE_LANES_CUH
#define FX8_KERNELS_CUDA_CORRELATE_LANES_CUH

#include "kernels/cuda/correlate_tile.cuh"

/** Real and imaginary part of one input at the times of a vector. */
template <class Vector> struct fx8_lane_input {
    Vector re, im;
};

/** The shape of a tile: TILE inputs either way, REACH of each per thread,
 *  DEPTH vectors of time a stage. */
template <unsigned TILE, unsigned REACH, unsigned DEPTH> struct fx8_lane_shape {
    static constexpr unsigned EACH = REACH;
    static constexpr unsigned SIDE = TILE / REACH;
    static constexpr unsigned THREADS = SIDE * SIDE;
    static constexpr unsigned ACROSS = SIDE / 8; /* warps */
    /* Vectors of one side of the tile that a thread loads. */
    static constexpr unsigned LOADS = 2 * TILE * DEPTH / THREADS;
    static_assert(LOADS * THREADS == 2 * TILE * DEPTH && SIDE % 8 == 0,
                  "every thread loads the same number of vectors");
};

/** A stage in shared memory. */
template <class Vector, unsigned TILE, unsigned DEPTH> struct fx8_lane_stage {
    Vector vectors[2][DEPTH][2][TILE]; /* side, time, part, input */
};

/** Take the vectors of one stage, from column `begin` on, for one side. */
template <class Shape, unsigned TILE, unsigned LOADS, class Vector, class Sum>
static __device__ __forceinline__ void fx8_lane_load(
    const fx8_tile_task<Vector, Sum> &task, unsigned first_input,
    unsigned begin, Vector (&taken)[LOADS])
{
#pragma unroll
    for (unsigned n = 0; n < LOADS; ++n) {
        const unsigned number = threadIdx.x + Shape::THREADS * n;
        const fx8_tile_place place = fx8_tile_place::of(number % (2 * TILE));
        const unsigned column = begin + number / (2 * TILE);
        const unsigned input = first_input + place.input;
        taken[n] = Vector();
        if (input < task.n_inputs && column < task.n_columns)
            taken[n] =
                task.x[column * task.pitch + fx8_cuda_row(input, place.part)];
    }
}

/** Put them into a side of a stage. */
template <class Shape, unsigned TILE, unsigned DEPTH, unsigned LOADS,
          class Vector>
static __device__ __forceinline__ void fx8_lane_store(
    Vector (&side)[DEPTH][2][TILE], const Vector (&taken)[LOADS])
{
#pragma unroll
    for (unsigned n = 0; n < LOADS; ++n) {
        const unsigned number = threadIdx.x + Shape::THREADS * n;
        const fx8_tile_place place = fx8_tile_place::of(number % (2 * TILE));
        side[number / (2 * TILE)][place.part][place.input] = taken[n];
    }
}

/** Add one word of every row and of column b: `word` is a component of the
 *  vectors. */
template <unsigned REACH, class Vector, class Word, class Sums>
static __device__ __forceinline__ void fx8_lane_add(
    const fx8_lane_input<Vector> (&rows)[REACH],
    const fx8_lane_input<Vector> &column, Word Vector::*word, unsigned b,
    Sums &sums)
{
#pragma unroll
    for (unsigned a = 0; a < REACH; ++a)
        sums.add(a, b, rows[a].re.*word, rows[a].im.*word, column.re.*word,
                 column.im.*word);
}

/** Add the products of a stage. */
template <unsigned TILE, unsigned REACH, unsigned DEPTH, class Vector,
          class Sums>
static __device__ __forceinline__ void fx8_lane_multiply(
    const Vector (&rows)[DEPTH][2][TILE],
    const Vector (&columns)[DEPTH][2][TILE], unsigned row, unsigned column,
    Sums &sums)
{
    /* Unrolled, it would need more registers than there are. */
#pragma unroll 1
    for (unsigned k = 0; k < DEPTH; ++k) {
        fx8_lane_input<Vector> own[REACH];
#pragma unroll
        for (unsigned a = 0; a < REACH; ++a)
            own[a] = {rows[k][0][row + 4 * a], rows[k][1][row + 4 * a]};
#pragma unroll
        for (unsigned b = 0; b < REACH; ++b) {
            const fx8_lane_input<Vector> other = {
                columns[k][0][column + 8 * b], columns[k][1][column + 8 * b]};
            fx8_lane_add(own, other, &Vector::x, b, sums);
            fx8_lane_add(own, other, &Vector::y, b, sums);
            fx8_lane_add(own, other, &Vector::z, b, sums);
            fx8_lane_add(own, other, &Vector::w, b, sums);
        }
    }
}

/** The part of a tile that a warp makes: its first row and column. */
struct fx8_lane_part {
    unsigned row, column;

    template <class Shape>
    static __device__ __forceinline__ fx8_lane_part of_warp()
    {
        const unsigned warp = fx8_warp_of_block();
        return {warp / Shape::ACROSS * 4 * Shape::EACH,
                warp % Shape::ACROSS * 8 * Shape::EACH};
    }
};

/** Add the sums of a thread to those in global memory, two rows at a time, and
 *  clear them.  Addresses are recomputed: kept through the loop, they would
 *  take registers from the products. */
template <class Rounding, class Shape, class Vector, class Sum, class Sums>
static __device__ __forceinline__ void fx8_lane_fold(
    const fx8_tile_task<Vector, Sum> &task, Sums &sums)
{
    constexpr unsigned REACH = Shape::EACH;
    static_assert(REACH % 2 == 0, "pairs of rows");
    using Part = fx8_tile_part<decltype(sums.re(0, 0))>;
    const auto part = fx8_lane_part::of_warp<Shape>();
    const unsigned lane = threadIdx.x % FX8_LANES;
    const unsigned i = task.first_column + part.column + lane % 8;
    const unsigned j = task.first_row + part.row + lane / 8;
#pragma unroll
    for (unsigned a = 0; a < REACH; a += 2) {
        const fx8_tile_row<Sum> rows[2] = {task.row(i, j + 4 * a),
                                           task.row(i, j + 4 * a + 4)};
        fx8_tile_add<8, 16, REACH, Rounding>(
            rows, 0, [&](unsigned which, unsigned b) {
                return Part{sums.re(a + which, b), sums.im(a + which, b)};
            });
    }
    sums.clear();
}

/** The kernel, of a block of Shape::THREADS threads. */
template <class Arithmetic, unsigned TILE, unsigned REACH, unsigned DEPTH>
static __device__ __forceinline__ void fx8_correlate_lanes(
    const fx8_tile_task<typename Arithmetic::Vector, typename Arithmetic::Sum>
        &task)
{
    using Vector = typename Arithmetic::Vector;
    using Shape = fx8_lane_shape<TILE, REACH, DEPTH>;
    static_assert(Arithmetic::FOLD % DEPTH == 0, "folds end with a stage");
    __shared__ fx8_lane_stage<Vector, TILE, DEPTH> stages[2];

    const auto part = fx8_lane_part::of_warp<Shape>();
    const unsigned lane = threadIdx.x % FX8_LANES;
    const bool is_diagonal = task.is_diagonal();
    const unsigned row = part.row + lane / 8;
    const unsigned column = part.column + lane % 8;
    const bool rests = task.first_row + part.row >= task.n_inputs ||
                       task.first_column + part.column >= task.n_inputs ||
                       (is_diagonal && part.column >= part.row + 4 * REACH);

    typename Arithmetic::template Sums<REACH> sums;
    sums.clear();
    Vector taken[2][Shape::LOADS];
    fx8_lane_load<Shape, TILE>(task, task.first_row, 0, taken[0]);
    if (!is_diagonal)
        fx8_lane_load<Shape, TILE>(task, task.first_column, 0, taken[1]);
    unsigned buffer = 0, begin = 0;
    do {
        auto &stage = stages[buffer].vectors;
        buffer ^= 1;
        fx8_lane_store<Shape>(stage[0], taken[0]);
        if (!is_diagonal)
            fx8_lane_store<Shape>(stage[1], taken[1]);
        __syncthreads();
        begin += DEPTH;
        if (begin < task.n_columns) {
            fx8_lane_load<Shape, TILE>(task, task.first_row, begin, taken[0]);
            if (!is_diagonal)
                fx8_lane_load<Shape, TILE>(task, task.first_column, begin,
                                           taken[1]);
        }
        if (rests)
            continue;
        fx8_lane_multiply<TILE, REACH>(stage[0], stage[is_diagonal ? 0 : 1],
                                       row, column, sums);
        if (begin % Arithmetic::FOLD == 0 || begin >= task.n_columns)
            fx8_lane_fold<typename Arithmetic::Rounding, Shape>(task, sums);
    } while (begin < task.n_columns);
}

#endif
