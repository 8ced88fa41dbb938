/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_threads.cu -- the harness: threads of a block, warps, their order.
 *
 * Shows (devices, harness): CUDA without a device (`cuda/README.md`) works:
 *     barriers, warps and atomics in four orders of threads; twins of dp4a,
 *     dp2a, mma, ldmatrix, cp.async, bulk copies and wgmma; streams, events,
 *     memory, devices, calls made to fail; cuFFT by FFTW; two small correlators
 *     of 1 to 33 inputs
 * Within: integers equal; transforms 10⁻⁶ of the largest sum
 * Because: single precision
 * In: cuda/test_cuda_twins.cu, cuda/test_cuda_runtime.cu,
 *     cuda/test_cuda_fft.cu, cuda/test_cuda_correlators.cu
 */
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx_tensor.h"
#include "validation/cuda/device_array.h"

namespace threads_tests
{

/* --- barriers
 * --------------------------------------------------------------------- */

/* The sum over each block, by halving; any block size. */
__global__ void reduce(const int *values, int *sums, int n)
{
    __shared__ int part[1024];
    const int size = static_cast<int>(blockDim.x);
    const int me = static_cast<int>(threadIdx.x);
    const int at = static_cast<int>(blockIdx.x) * size + me;
    part[me] = at < n ? values[at] : 0;
    __syncthreads();
    for (int left = size; left > 1;) {
        const int half = (left + 1) / 2;
        if (me + half < left)
            part[me] += part[me + half];
        left = half;
        __syncthreads();
    }
    if (me == 0)
        sums[blockIdx.x] = part[0];
}

static void check_reduction(int n, int size)
{
    const int n_blocks = (n + size - 1) / size;
    std::vector<int> values(static_cast<size_t>(n));
    std::vector<int> expected(static_cast<size_t>(n_blocks), 0);
    for (int k = 0; k < n; ++k) {
        values[static_cast<size_t>(k)] = k * 7919 % 1009 - 500;
        expected[static_cast<size_t>(k / size)] +=
            values[static_cast<size_t>(k)];
    }
    DeviceArray<int> from(values), sums(static_cast<size_t>(n_blocks));
    FX8_LAUNCH(reduce, dim3(static_cast<unsigned>(n_blocks)),
               dim3(static_cast<unsigned>(size)), 0, nullptr, from.data(),
               sums.data(), n);
    MUST(cudaGetLastError());
    CHECK(sums.read() == expected);
}

TEST(blocks_reduce_whatever_their_size)
{
    in_every_order([] {
        for (int size : {1, 2, 31, 32, 33, 100, 256, 1000, 1024})
            check_reduction(2050, size);
    });
}

__global__ void indices(uint3 *threads, uint3 *blocks)
{
    const dim3 size = blockDim, grid = gridDim;
    const unsigned block =
        (blockIdx.z * grid.y + blockIdx.y) * grid.x + blockIdx.x;
    const unsigned thread =
        (threadIdx.z * size.y + threadIdx.y) * size.x + threadIdx.x;
    const unsigned at = block * (size.x * size.y * size.z) + thread;
    __syncthreads();
    threads[at] = threadIdx;
    blocks[at] = blockIdx;
}

TEST(indices_run_over_all_three_dimensions)
{
    const dim3 grid(3, 2, 4), size(5, 3, 2);
    const size_t n = 24 * 30;
    in_every_order([&] {
        DeviceArray<uint3> threads(n), blocks(n);
        FX8_LAUNCH(indices, grid, size, 0, nullptr, threads.data(),
                   blocks.data());
        const std::vector<uint3> t = threads.read(), b = blocks.read();
        for (unsigned k = 0; k < n; ++k) {
            const unsigned thread = k % 30, block = k / 30;
            CHECK(t[k].x == thread % 5 && t[k].y == thread / 5 % 3 &&
                  t[k].z == thread / 15);
            CHECK(b[k].x == block % 3 && b[k].y == block / 3 % 2 &&
                  b[k].z == block / 6);
        }
    });
}

/* Threads leave one by one; the others still synchronise. */
__global__ void leave_early(int *rounds)
{
    __shared__ int count;
    const int me = static_cast<int>(threadIdx.x);
    if (me == 0)
        count = 0;
    __syncthreads();
    for (int round = 0; round < me % 7; ++round) {
        atomicAdd(&count, 1);
        __syncthreads();
    }
    rounds[me] = me % 7;
    if (me % 7 == 6)
        rounds[me] = count;
}

TEST(threads_that_have_ended_are_not_waited_for)
{
    const int n = 70; /* 10 times (1 + ... + 6) additions */
    in_every_order([&] {
        DeviceArray<int> rounds(n);
        FX8_LAUNCH(leave_early, dim3(1), dim3(n), 0, nullptr, rounds.data());
        const std::vector<int> found = rounds.read();
        for (int k = 0; k < n; ++k)
            CHECK(found[static_cast<size_t>(k)] == (k % 7 == 6 ? 210 : k % 7));
    });
}

/* --- warps
 * ------------------------------------------------------------------------- */

__global__ void shuffles(int *out)
{
    const int me = static_cast<int>(threadIdx.x);
    const unsigned all = 0xffffffff;
    int *mine = out + 4 * me;
    mine[0] = __shfl_sync(all, me, 5);
    mine[1] = __shfl_xor_sync(all, me, 4);
    mine[2] = __shfl_sync(all, me, 9, 8);
    const double wide = __shfl_xor_sync(all, 1.0 / (1 + me), 1);
    mine[3] = wide == 1.0 / (1 + (me ^ 1));
}

TEST(shuffles_move_what_they_should)
{
    in_every_order([] {
        DeviceArray<int> out(64 * 4);
        FX8_LAUNCH(shuffles, dim3(1), dim3(64), 0, nullptr, out.data());
        const std::vector<int> found = out.read();
        for (int me = 0; me < 64; ++me) {
            const int *mine = &found[static_cast<size_t>(4 * me)];
            const int lane = me % 32, base = me - lane;
            CHECK(mine[0] == base + 5);
            CHECK(mine[1] == (me ^ 4));
            CHECK(mine[2] == base + lane / 8 * 8 + 1);
            CHECK(mine[3] == 1);
        }
    });
}

/* Each half of a warp by itself, then after one half has returned. */
__global__ void halves(int *out)
{
    const int me = static_cast<int>(threadIdx.x);
    const unsigned mask = me < 16 ? 0x0000ffff : 0xffff0000;
    int sum = me;
    for (int by = 8; by > 0; by /= 2)
        sum += __shfl_xor_sync(mask, sum, by);
    out[me] = sum;
    if (me < 16)
        return;
    __syncwarp();
    out[me] += __shfl_sync(0xffffffff, me, 20) * 50;
}

TEST(parts_of_a_warp_meet_on_their_own)
{
    in_every_order([] {
        DeviceArray<int> out(32);
        FX8_LAUNCH(halves, dim3(1), dim3(32), 0, nullptr, out.data());
        const std::vector<int> found = out.read();
        for (size_t k = 0; k < 32; ++k)
            CHECK(found[k] == (k < 16 ? 120 : 376 + 1000));
    });
}

/* --- between blocks
 * ------------------------------------------------------------------ */

__global__ void count_up(unsigned *counter, unsigned long long *sum,
                         float *real, int *most)
{
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd(counter, 1);
    atomicAdd(sum, static_cast<unsigned long long>(at) << 20);
    atomicAdd(real, 0.5F);
    atomicMax(most, at);
}

TEST(atomics_of_many_blocks_lose_nothing)
{
    const int before = harness::settings().n_threads;
    for (int threads : {1, 3}) {
        harness::settings().n_threads = threads;
        DeviceArray<unsigned> counter(std::vector<unsigned>{0});
        DeviceArray<unsigned long long> sum(std::vector<unsigned long long>{0});
        DeviceArray<float> real(std::vector<float>{0});
        DeviceArray<int> most(std::vector<int>{0});
        FX8_LAUNCH(count_up, dim3(50), dim3(64), 0, nullptr, counter.data(),
                   sum.data(), real.data(), most.data());
        CHECK(counter.read()[0] == 3200);
        CHECK(sum.read()[0] == 3199ULL * 1600 << 20);
        CHECK(real.read()[0] == 1600.0F);
        CHECK(most.read()[0] == 3199);
    }
    harness::settings().n_threads = before;
}

/* Producers hand over to consumers, whole warps, by two named barriers. */
__global__ void hand_over(int *out)
{
    FX8_DYNAMIC_SHARED(int, box);
    const unsigned me = threadIdx.x % 64;
    const bool produces = threadIdx.x < 64;
    for (unsigned round = 0; round < 5; ++round) {
        if (produces)
            box[me] = static_cast<int>(100 * round + me);
        fx8_ptx_barrier_sync(1, 128);
        if (!produces)
            out[64 * round + me] = box[63 - me];
        fx8_ptx_barrier_sync(2, 128);
    }
}

TEST(named_barriers_join_whole_warps)
{
    in_every_order([] {
        DeviceArray<int> out(5 * 64);
        FX8_LAUNCH(hand_over, dim3(1), dim3(128), 64 * sizeof(int), nullptr,
                   out.data());
        const std::vector<int> found = out.read();
        for (int k = 0; k < 5 * 64; ++k)
            CHECK(found[static_cast<size_t>(k)] ==
                  100 * (k / 64) + 63 - k % 64);
    });
}

} // namespace threads_tests
