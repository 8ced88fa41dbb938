/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_wgmma.cu -- the int8 correlator on the tensor cores of sm_90, four
 * warps at a time.
 *
 * Sums, and how the minus is avoided, are as in correlate_mma.cu; here one
 * product has 16 times of both parts of its columns, so that its 32 values of k
 * are those of a row of 32 bytes, with rows (r_j, m_j) for the real and
 * (m_j, ~r_j) for the imaginary sums.
 *
 * A block of three warpgroups computes a tile of 128 by 128 inputs.  Two
 * multiply, 64 rows each, and hold only sums and the rows' fragments in
 * registers.  A thread of the third has the copy engine fill a ring of stages
 * in shared memory; all of it sum the columns' imaginary parts.  A stage is
 * full when its bytes have arrived, and empty when each warp is done with it.
 *
 * Notes: 1) compiled for sm_90a alone: no other device has the instructions
 *        2) rows as fragments: the product reads shared memory for the columns
 *           only, and the complement of a row costs one instruction a word
 *        3) 16 * 128 sums of 4 bytes a thread, and 32 fragments: more registers
 *           than a third of all; the filling warpgroup gives up its own
 *        4) copies of single columns, without a tensor's map, bring 0.7 of the
 *           bytes a second (H200)
 */
#include "kernels/cuda/correlate_kinds.h"
#include "kernels/cuda/correlate_tile.cuh"
#include "kernels/cuda/ptx_tensor.h"
#include "kernels/cuda/tensor_map.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FX8_HAS_WGMMA 1
#endif

static constexpr unsigned TILE = 128;
static constexpr unsigned WARPGROUP = 128;
static constexpr unsigned THREADS = 3 * WARPGROUP;
static constexpr unsigned STAGES = 6;
static constexpr unsigned DEPTH = 4; /* columns of 16 bytes: 64 times */

/* One side of a stage: the columns' rows as they lie in memory. */
using Side = int4[DEPTH][2 * TILE];
using Stage = Side[2];
static_assert(STAGES * sizeof(Stage) == FX8_CUDA_WGMMA_SHARED_BYTES,
              "what runs_on() asks for");

/* Columns of a copy. */
static constexpr unsigned BOX = 2;
static_assert(DEPTH % BOX == 0, "whole copies");

#if FX8_CUDA_HAS_TENSOR_MAPS

#ifdef FX8_HAS_WGMMA

static constexpr unsigned WARPS = THREADS / FX8_LANES;

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

/** Start to fill one side of a stage from column `begin` on, by one thread. */
static __device__ __forceinline__ void wgmma_fill(const CUtensorMap &map,
                                                  unsigned first_input,
                                                  unsigned begin, Side &side,
                                                  uint64_t *full)
{
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += BOX)
        fx8_ptx_copy_box(
            side[k], &map,
            {0, first_input / FX8_CUDA_GROUP_INPUTS, begin + k, blockIdx.y},
            full);
}

/** Start to fill a stage, both sides unless they are the same. */
static __device__ __forceinline__ void wgmma_fill_stage(const CUtensorMap &map,
                                                        const wgmma_task &task,
                                                        unsigned begin,
                                                        Stage &stage,
                                                        uint64_t *full)
{
    const bool is_diagonal = task.is_diagonal();
    fx8_ptx_mbarrier_expect(full, (is_diagonal ? 1 : 2) * sizeof(Side));
    wgmma_fill(map, task.first_column, begin, stage[1], full);
    if (!is_diagonal)
        wgmma_fill(map, task.first_row, begin, stage[0], full);
}

/** A warp is done with a stage. */
static __device__ __forceinline__ void wgmma_release(uint64_t *empty)
{
    __syncwarp();
    if (threadIdx.x % FX8_LANES == 0)
        fx8_ptx_mbarrier_arrive(empty);
}

/** The sum of the imaginary parts of one column in a stage. */
static __device__ __forceinline__ int wgmma_sum_column(const Side &side,
                                                       unsigned input, int sum)
{
#pragma unroll
    for (unsigned k = 0; k < DEPTH; ++k) {
        const int4 times = side[k][fx8_cuda_row(input, 1)];
        sum = __dp4a(times.x, 0x01010101, sum);
        sum = __dp4a(times.y, 0x01010101, sum);
        sum = __dp4a(times.z, 0x01010101, sum);
        sum = __dp4a(times.w, 0x01010101, sum);
    }
    return sum;
}

/** Work of the third warpgroup: its first thread fills every stage that is
 *  empty, all sum what has arrived. */
static __device__ __forceinline__ void wgmma_produce(const CUtensorMap &map,
                                                     const wgmma_task &task,
                                                     unsigned thread,
                                                     Stage *stages,
                                                     wgmma_shared &shared)
{
    wgmma_place filling = {0, 0}, arriving = {0, 0};
    unsigned begin_fill = 0;
    int sum = 0;
    for (unsigned begin = 0; begin < task.n_columns; begin += DEPTH) {
        const unsigned end_fill = min(task.n_columns, begin + STAGES * DEPTH);
        for (; thread == 0 && begin_fill < end_fill; begin_fill += DEPTH) {
            fx8_ptx_mbarrier_wait(&shared.empty[filling.stage],
                                  filling.parity ^ 1);
            wgmma_fill_stage(map, task, begin_fill, stages[filling.stage],
                             &shared.full[filling.stage]);
            filling.next();
        }
        __syncwarp();
        fx8_ptx_mbarrier_wait(&shared.full[arriving.stage], arriving.parity);
        sum = wgmma_sum_column(stages[arriving.stage][1], thread, sum);
        wgmma_release(&shared.empty[arriving.stage]);
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
    const size_t at = fx8_cuda_row(row + lane % 16, lane / 16);
    auto &sums_re = wgmma_part<COLUMNS>(sums.re);
    auto &sums_im = wgmma_part<COLUMNS>(sums.im);
    int of_re[DEPTH][4], of_im[DEPTH][4];
#pragma unroll
    for (unsigned k = 0; k < DEPTH; ++k) {
        fx8_ptx_ldmatrix_x4(of_re[k], &rows[k][at]);
        of_im[k][0] = of_re[k][2];
        of_im[k][1] = of_re[k][3];
        of_im[k][2] = ~of_re[k][0];
        of_im[k][3] = ~of_re[k][1];
    }
    fx8_ptx_wgmma_fence();
#pragma unroll
    for (unsigned k = 0; k < DEPTH; ++k) {
        const uint64_t column = fx8_ptx_swizzled_descriptor(columns[k]);
        fx8_ptx_wgmma_s8(sums_re, of_re[k], column);
        fx8_ptx_wgmma_s8(sums_im, of_im[k], column);
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
    const unsigned row_side = task.is_diagonal() ? 1 : 0;
    wgmma_place place = {0, 0};
    for (unsigned begin = 0; begin < task.n_columns; begin += DEPTH) {
        fx8_ptx_mbarrier_wait(&shared.full[place.stage], place.parity);
        if constexpr (COLUMNS > 0)
            wgmma_multiply<COLUMNS>(stages[place.stage][row_side],
                                    stages[place.stage][1], row, sums);
        wgmma_release(&shared.empty[place.stage]);
        place.next();
    }
}

/** A lane has the sums of columns 2 l and 2 l + 1 of every eight, l = 0 to 3 in
 *  four lanes: afterwards two lanes have neighbours, and together access whole
 *  sectors of 32 bytes. */
static __device__ __forceinline__ void wgmma_exchange(int (&sums)[TILE / 2])
{
    const bool is_odd = threadIdx.x % 2 != 0;
#pragma unroll
    for (unsigned k = 0; k < TILE / 2; k += 2) {
        const int got = __shfl_xor_sync(~0u, is_odd ? sums[k] : sums[k + 1], 1);
        (is_odd ? sums[k] : sums[k + 1]) = got;
    }
}

/** Add the sums of a warp to those in global memory, GROUP columns at a time.
 */
static __device__ __forceinline__ void wgmma_fold(const wgmma_task &task,
                                                  unsigned row,
                                                  const wgmma_shared &shared,
                                                  wgmma_sums &sums)
{
    constexpr unsigned GROUP = 8;
    const unsigned lane = threadIdx.x % FX8_LANES;
    const unsigned first = lane % 4 / 2 * 4 + lane % 2;
    const unsigned i = task.first_column + first;
    const unsigned j = task.first_row + row + lane / 4;
    const fx8_tile_row<longlong2> rows[2] = {task.row(i, j),
                                             task.row(i, j + 8)};
    wgmma_exchange(sums.re);
    wgmma_exchange(sums.im);
#pragma unroll
    for (unsigned begin = 0; begin < TILE / 4; begin += GROUP)
        fx8_tile_add<2, 8, GROUP>(
            rows, 4 * begin, [&](unsigned h, unsigned column) {
                const unsigned c = begin + column;
                const unsigned at = c / 2 * 4 + 2 * h + c % 2;
                const int rest = shared.column[c / 2 * 8 + c % 2 * 2 + first];
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

static __device__ __forceinline__ void correlate_wgmma(const CUtensorMap &map,
                                                       const wgmma_task &task,
                                                       Stage *stages)
{
    __shared__ wgmma_shared shared;
    const unsigned warp = fx8_warp_of_block();
    const unsigned warpgroup = warp * FX8_LANES / WARPGROUP;
    if (threadIdx.x == 0) {
        for (unsigned stage = 0; stage < STAGES; ++stage) {
            fx8_ptx_mbarrier_init(&shared.full[stage], 1);
            fx8_ptx_mbarrier_init(&shared.empty[stage], WARPS);
        }
        fx8_ptx_mbarrier_init_fence();
    }
    __syncthreads();
    if (warpgroup == 2) {
        fx8_ptx_registers_release<40>();
        wgmma_produce(map, task, threadIdx.x % WARPGROUP, stages, shared);
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
    fx8_correlate_wgmma_128_kernel(const __grid_constant__ CUtensorMap map,
                                   unsigned n_inputs, unsigned n_columns,
                                   longlong2 *sums, const unsigned *tiles)
{
#ifdef FX8_HAS_WGMMA
    FX8_DYNAMIC_SHARED(Stage, stages);
    correlate_wgmma(map,
                    fx8_tile_of_block<TILE, int4>(nullptr, 0, 0, n_inputs,
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
    return fx8_tile_launches<FX8_CUDA_TIMES_INT8, int4, longlong2>(
        fx8_correlate_wgmma_128_kernel, TILE, job,
        [&](const fx8_tile_launch_part<int4, longlong2> &part) {
            CUtensorMap map;
            const cudaError_t mapped = fx8_cuda_map_spectra(
                part.x, job->channel_stride, job->n_inputs, part.n_columns,
                part.grid.y, TILE, BOX, &map);
            if (mapped != cudaSuccess)
                return mapped;
            FX8_LAUNCH(fx8_correlate_wgmma_128_kernel, part.grid, dim3(THREADS),
                       FX8_CUDA_WGMMA_SHARED_BYTES, job->stream, map,
                       static_cast<unsigned>(job->n_inputs), part.n_columns,
                       part.sums, job->tiles);
            return cudaGetLastError();
        });
}

#else

/* CUDA 11 has no tensor maps, nor code for the kernel. */
cudaError_t fx8_cuda_correlate_wgmma_128(const struct fx8_cuda_correlation *)
{
    return cudaErrorNoKernelImageForDevice;
}

#endif
