/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings_wgmma.cu -- see bench.cuh: the instruction of sm_90a, compiled only
 * for sm_90a: 64 x 256 sums in registers, both factors in shared memory.  The
 * two warpgroups of a block take turns, so that one works while the other
 * waits.
 */
#include "kernels/cuda/ptx_tensor.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

constexpr unsigned WARPGROUPS = 2;
constexpr unsigned THREADS = 128 * WARPGROUPS;
constexpr unsigned A_ROWS = 64, B_ROWS = 256;
constexpr unsigned COLUMNS = 8; /* of 16 bytes: k = 128 */
constexpr unsigned STEPS = COLUMNS / 2;
constexpr unsigned REPEATS = 2; /* of all steps between two waits */
constexpr unsigned ROW_BYTES = 16;
constexpr size_t SHARED_BYTES =
    COLUMNS * (WARPGROUPS * A_ROWS + B_ROWS) * ROW_BYTES;

__global__ void __launch_bounds__(THREADS, 1)
    bench_igmma_kernel(const uint4 *operands, int *out, unsigned n_rounds)
{
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    FX8_DYNAMIC_SHARED(uint4, shared);
    for (size_t k = threadIdx.x; k < SHARED_BYTES / 16; k += THREADS)
        shared[k] = operands[k];
    fx8_ptx_proxy_fence();
    __syncthreads();
    const uint4 *const a =
        shared + COLUMNS * (B_ROWS + threadIdx.x / 128 * A_ROWS);
    int sums[B_ROWS / 2] = {};
    for (unsigned round = 0; round < n_rounds; ++round) {
        fx8_ptx_wgmma_fence();
#pragma unroll
        for (unsigned k = 0; k < REPEATS * STEPS; ++k)
            fx8_ptx_wgmma_s8(
                sums,
                fx8_ptx_matrix_descriptor(a + k % STEPS * 2 * A_ROWS,
                                          A_ROWS * ROW_BYTES, 8 * ROW_BYTES),
                fx8_ptx_matrix_descriptor(shared + k % STEPS * 2 * B_ROWS,
                                          B_ROWS * ROW_BYTES, 8 * ROW_BYTES));
        fx8_ptx_wgmma_commit();
        fx8_ptx_wgmma_wait<0>();
    }
    int sum = 0;
#pragma unroll
    for (unsigned k = 0; k < B_ROWS / 2; ++k)
        sum ^= sums[k];
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
#endif
}

} // namespace

double measure_igmma(const Bench &bench)
{
    if (bench.capability.major != 9 || bench.capability.minor != 0 ||
        bench.capability.shared_bytes < SHARED_BYTES)
        return 0;
    const unsigned n_rounds = bench.is_tiny() ? 1 : 256;
    const unsigned n_blocks =
        bench.is_tiny()
            ? 1
            : 4 * static_cast<unsigned>(bench.card.multiProcessorCount);
    const Memory<uint4> operands(SHARED_BYTES / 16);
    const Memory<int> out(static_cast<size_t>(n_blocks) * THREADS);
    fill_noise(bench, operands.data(), SHARED_BYTES / 16, 3);
    const cudaError_t error = cudaFuncSetAttribute(
        bench_igmma_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        static_cast<int>(SHARED_BYTES));
    if (error == cudaErrorNoKernelImageForDevice ||
        error == cudaErrorInvalidDeviceFunction) {
        (void)cudaGetLastError(); /* the error is kept until asked for */
        return 0;
    }
    must(error, "shared memory of IGMMA");
    const double seconds = measure(bench, [&](size_t) {
        FX8_LAUNCH(bench_igmma_kernel, dim3(n_blocks), dim3(THREADS),
                   SHARED_BYTES, bench.stream, operands.data(), out.data(),
                   n_rounds);
        must(cudaGetLastError(), "IGMMA");
    });
    return 2.0 * A_ROWS * B_ROWS * 32 * REPEATS * STEPS * WARPGROUPS *
           n_rounds * n_blocks / seconds;
}

} // namespace bench
