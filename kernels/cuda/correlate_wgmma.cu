/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_wgmma.cu -- the int8 correlator on the tensor cores of sm_90, four
 * warps at a time.
 *
 * Sums, and how the minus is avoided, are as in correlate_mma.cu.  A block of
 * three warpgroups computes a tile of 128 by 128 inputs.  Two multiply, 64 rows
 * each, and hold only sums and the rows' fragments in registers; the third
 * fills a ring of stages in shared memory and sums the columns' imaginary
 * parts.
 *
 * A stage is full when the copies of all threads of the third warpgroup have
 * arrived, and empty when each multiplying warp, and each thread of the third,
 * is done with it.
 *
 * Notes: 1) compiled for sm_90a alone: no other device has the instructions
 *        2) rows as fragments: the product reads shared memory for the columns
 *           only, and the complement of a row costs one instruction a word
 *        3) 16 * 128 sums of 4 bytes a thread, and 48 fragments: more registers
 *           than a third of all; the filling warpgroup gives up its own
 */
#include "kernels/cuda/correlate_kinds.h"
#include "kernels/cuda/correlate_tile.cuh"
#include "kernels/cuda/ptx_tensor.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FX8_HAS_WGMMA 1
#endif

static constexpr unsigned TILE = 128;
static constexpr unsigned WARPGROUP = 128;
static constexpr unsigned THREADS = 3 * WARPGROUP;
static constexpr unsigned STAGES = 3;
static constexpr unsigned DEPTH = 8; /* columns of 16 bytes: k = 128 */

/* One side of a stage: time, part, place of an input.  Eight of one part are a
 * core matrix of 128 bytes, in the order of fx8_tile_input_at(). */
using Side = int4[DEPTH][2][TILE];
using Stage = Side[2];
static_assert(STAGES * sizeof(Stage) == FX8_CUDA_WGMMA_SHARED_BYTES,
              "what runs_on() asks for");

#ifdef FX8_HAS_WGMMA

static constexpr unsigned CONSUMER_WARPS = 2 * WARPGROUP / FX8_LANES;
static constexpr unsigned STEPS = DEPTH / 2;
static constexpr unsigned COLUMN_BYTES = 2 * TILE * sizeof(int4);
static constexpr unsigned CORE_BYTES = 8 * sizeof(int4);

/* The block's barrier for the sums of the columns. */
static constexpr unsigned SUMS_BARRIER = 1;

using wgmma_task = fx8_tile_task<int4, longlong2>;

/** Shared memory of a block. */
struct wgmma_shared {
    uint64_t full[STAGES], empty[STAGES];
    int column[TILE]; /* sums of the imaginary parts */
};

/** A place in the ring of stages, and how often it came round, modulo 2. */
struct wgmma_place {
    unsigned stage, parity;

    __device__ __forceinline__ void next()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/** Start to fill one side of a stage from column `begin` on; thread 0 to 127.
 */
static __device__ __forceinline__ void wgmma_fill(const wgmma_task &task,
                                                  unsigned thread,
                                                  unsigned first_input,
                                                  unsigned begin, Side &side)
{
    constexpr unsigned ROUNDS = 2 * TILE / WARPGROUP;
    fx8_tile_place place[ROUNDS];
#pragma unroll
    for (unsigned round = 0; round < ROUNDS; ++round)
        place[round] = fx8_tile_place::of(thread + WARPGROUP * round);
#pragma unroll 2
    for (unsigned k = 0; k < DEPTH; ++k) {
#pragma unroll
        for (unsigned round = 0; round < ROUNDS; ++round) {
            const unsigned part = place[round].part;
            const unsigned input =
                first_input + fx8_tile_input_at(place[round].input);
            const bool is_there =
                input < task.n_inputs && begin + k < task.n_columns;
            const size_t at = (begin + k) * task.pitch + 2 * input + part;
            fx8_ptx_copy_async(&side[k][part][place[round].input],
                               task.x + (is_there ? at : 0), is_there ? 16 : 0);
        }
    }
}

/** The sum of the imaginary parts of one column in a stage. */
static __device__ __forceinline__ int wgmma_sum_column(const Side &side,
                                                       unsigned input, int sum)
{
#pragma unroll
    for (unsigned k = 0; k < DEPTH; ++k) {
        const int4 times = side[k][1][input];
        sum = __dp4a(times.x, 0x01010101, sum);
        sum = __dp4a(times.y, 0x01010101, sum);
        sum = __dp4a(times.z, 0x01010101, sum);
        sum = __dp4a(times.w, 0x01010101, sum);
    }
    return sum;
}

/** Work of the third warpgroup: it starts the copies of a stage one stage
 *  before it waits for them. */
static __device__ __forceinline__ void wgmma_produce(const wgmma_task &task,
                                                     unsigned thread,
                                                     Stage *stages,
                                                     wgmma_shared &shared)
{
    const bool is_diagonal = task.is_diagonal();
    wgmma_place filling = {0, 0}, arriving = {0, 0};
    int sum = 0;
    for (unsigned begin = 0; begin < task.n_columns + DEPTH; begin += DEPTH) {
        if (begin < task.n_columns) {
            Stage &stage = stages[filling.stage];
            fx8_ptx_mbarrier_wait(&shared.empty[filling.stage],
                                  filling.parity ^ 1);
            wgmma_fill(task, thread, task.first_row, begin, stage[0]);
            if (!is_diagonal)
                wgmma_fill(task, thread, task.first_column, begin, stage[1]);
            filling.next();
        }
        fx8_ptx_copy_commit();
        if (begin == 0)
            continue;
        fx8_ptx_copy_wait<1>();
        fx8_ptx_proxy_fence();
        fx8_ptx_mbarrier_arrive(&shared.full[arriving.stage]);
        fx8_ptx_mbarrier_wait(&shared.full[arriving.stage], arriving.parity);
        sum = wgmma_sum_column(stages[arriving.stage][is_diagonal ? 0 : 1],
                               thread, sum);
        fx8_ptx_mbarrier_arrive(&shared.empty[arriving.stage]);
        arriving.next();
    }
    shared.column[thread] = sum;
}

/** The sums of a thread: of half as many columns as there are. */
struct wgmma_sums {
    int re[TILE / 2], im[TILE / 2];
};

/** The first COLUMNS / 2 sums. */
template <unsigned COLUMNS>
static __device__ __forceinline__ int (
    &wgmma_part(int (&sums)[TILE / 2]))[COLUMNS / 2]
{
    return reinterpret_cast<int(&)[COLUMNS / 2]>(sums);
}

/** Add the products of a stage, of the first COLUMNS columns; `row` is the
 *  first of this thread's warp. */
template <unsigned COLUMNS>
static __device__ __forceinline__ void wgmma_multiply(const Side &rows,
                                                      const Side &columns,
                                                      unsigned row,
                                                      wgmma_sums &sums)
{
    const unsigned lane = threadIdx.x % FX8_LANES;
    auto &sums_re = wgmma_part<COLUMNS>(sums.re);
    auto &sums_im = wgmma_part<COLUMNS>(sums.im);
    int re[STEPS][4], im[STEPS][4], not_re[STEPS][4];
#pragma unroll
    for (unsigned step = 0; step < STEPS; ++step) {
        const unsigned k = 2 * step + lane / 16, input = row + lane % 16;
        fx8_ptx_ldmatrix_x4(re[step], &rows[k][0][input]);
        fx8_ptx_ldmatrix_x4(im[step], &rows[k][1][input]);
#pragma unroll
        for (unsigned word = 0; word < 4; ++word)
            not_re[step][word] = ~re[step][word];
    }
    fx8_ptx_wgmma_fence();
#pragma unroll
    for (unsigned step = 0; step < STEPS; ++step) {
        const uint64_t column_re = fx8_ptx_matrix_descriptor(
            columns[2 * step][0], COLUMN_BYTES, CORE_BYTES);
        const uint64_t column_im = fx8_ptx_matrix_descriptor(
            columns[2 * step][1], COLUMN_BYTES, CORE_BYTES);
        fx8_ptx_wgmma_s8(sums_re, re[step], column_re);
        fx8_ptx_wgmma_s8(sums_im, im[step], column_re);
        fx8_ptx_wgmma_s8(sums_re, im[step], column_im);
        fx8_ptx_wgmma_s8(sums_im, not_re[step], column_im);
    }
    fx8_ptx_wgmma_commit();
    fx8_ptx_wgmma_wait<0>();
}

/** Work of a multiplying warpgroup for every stage; without columns it only
 *  releases the stage. */
template <unsigned COLUMNS>
static __device__ __forceinline__ void wgmma_consume(const wgmma_task &task,
                                                     unsigned row,
                                                     Stage *stages,
                                                     wgmma_shared &shared,
                                                     wgmma_sums &sums)
{
    const unsigned column_side = task.is_diagonal() ? 0 : 1;
    wgmma_place place = {0, 0};
    for (unsigned begin = 0; begin < task.n_columns; begin += DEPTH) {
        fx8_ptx_mbarrier_wait(&shared.full[place.stage], place.parity);
        if constexpr (COLUMNS > 0)
            wgmma_multiply<COLUMNS>(stages[place.stage][0],
                                    stages[place.stage][column_side], row,
                                    sums);
        /* a warp's wait is for its own part of the products */
        if (threadIdx.x % FX8_LANES == 0)
            fx8_ptx_mbarrier_arrive(&shared.empty[place.stage]);
        place.next();
    }
}

/** Add the sums of a warp to those in global memory, GROUP columns at a time.
 */
static __device__ __forceinline__ void wgmma_fold(const wgmma_task &task,
                                                  unsigned row,
                                                  const wgmma_shared &shared,
                                                  const wgmma_sums &sums)
{
    constexpr unsigned GROUP = 8;
    const unsigned lane = threadIdx.x % FX8_LANES;
    const unsigned i = task.first_column + lane % 4;
    const unsigned j = task.first_row + row + fx8_tile_input_at(lane / 4);
    const fx8_tile_row<longlong2> rows[2] = {task.row(i, j),
                                             task.row(i, j + 8)};
#pragma unroll
    for (unsigned begin = 0; begin < TILE / 4; begin += GROUP)
        fx8_tile_add<4, GROUP>(
            rows, 4 * begin, [&](unsigned h, unsigned column) {
                const unsigned c = begin + column;
                const unsigned at = c / 2 * 4 + 2 * h + c % 2;
                const int rest =
                    shared.column[c / 2 * 8 + lane % 4 * 2 + c % 2];
                return fx8_tile_part<int>{
                    sums.re[at],
                    static_cast<int>(static_cast<unsigned>(sums.im[at]) +
                                     static_cast<unsigned>(rest))};
            });
}

/** Number of columns that hold pairs with 64 rows: none, 64 or all. */
static __device__ __forceinline__ unsigned wgmma_columns(const wgmma_task &task,
                                                         unsigned row)
{
    const unsigned first_j = task.first_row + row;
    const unsigned end_i = min(task.n_inputs, first_j + 64);
    if (first_j >= task.n_inputs)
        return 0;
    return end_i - task.first_column > TILE / 2 ? TILE : TILE / 2;
}

static __device__ __forceinline__ void correlate_wgmma(const wgmma_task &task,
                                                       Stage *stages)
{
    __shared__ wgmma_shared shared;
    const unsigned warp = fx8_warp_of_block();
    const unsigned warpgroup = warp * FX8_LANES / WARPGROUP;
    if (threadIdx.x == 0) {
        for (unsigned stage = 0; stage < STAGES; ++stage) {
            fx8_ptx_mbarrier_init(&shared.full[stage], WARPGROUP);
            fx8_ptx_mbarrier_init(&shared.empty[stage],
                                  WARPGROUP + CONSUMER_WARPS);
        }
        fx8_ptx_mbarrier_init_fence();
    }
    __syncthreads();
    if (warpgroup == 2) {
        fx8_ptx_registers_release<40>();
        wgmma_produce(task, threadIdx.x % WARPGROUP, stages, shared);
        fx8_ptx_barrier_sync(SUMS_BARRIER, THREADS);
    } else {
        fx8_ptx_registers_claim<232>();
        const unsigned row = warpgroup * 64;
        const unsigned warp_row = warp * 16;
        wgmma_sums sums = {};
        const unsigned n_columns = wgmma_columns(task, row);
        if (n_columns == TILE)
            wgmma_consume<TILE>(task, warp_row, stages, shared, sums);
        else if (n_columns > 0)
            wgmma_consume<TILE / 2>(task, warp_row, stages, shared, sums);
        else
            wgmma_consume<0>(task, warp_row, stages, shared, sums);
        fx8_ptx_barrier_sync(SUMS_BARRIER, THREADS);
        if (n_columns > 0)
            wgmma_fold(task, warp_row, shared, sums);
    }
}

#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    fx8_correlate_wgmma_128_kernel(const int4 *x, size_t channel_stride,
                                   size_t pitch, unsigned n_inputs,
                                   unsigned n_columns, longlong2 *sums,
                                   const unsigned *tiles)
{
#ifdef FX8_HAS_WGMMA
    FX8_DYNAMIC_SHARED(Stage, stages);
    correlate_wgmma(fx8_tile_of_block<TILE>(x, channel_stride, pitch, n_inputs,
                                            n_columns, sums, tiles),
                    stages);
#endif
}

cudaError_t fx8_cuda_correlate_wgmma_128(const struct fx8_cuda_correlation *job)
{
    const cudaError_t error =
        cudaFuncSetAttribute(fx8_correlate_wgmma_128_kernel,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             FX8_CUDA_WGMMA_SHARED_BYTES);
    if (error != cudaSuccess)
        return error;
    return fx8_tile_launch<FX8_CUDA_TIMES_INT8>(
        fx8_correlate_wgmma_128_kernel, TILE, THREADS,
        FX8_CUDA_WGMMA_SHARED_BYTES, job);
}
