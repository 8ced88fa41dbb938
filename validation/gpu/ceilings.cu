/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings.cu -- see bench.cuh: how fast one instruction is on registers alone,
 * and how fast bytes are copied.
 *
 * The operands are random and take turns: constant ones would need less power
 * than a real kernel, and so allow a higher clock.
 */
#include <algorithm>

#include "kernels/cuda/ptx_tensor.h"
#include "validation/cuda/without.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

constexpr unsigned THREADS = 256;
constexpr unsigned BLOCKS_PER_SM = 8;

/* Steps of a loop over all accumulators: counting rounds takes 3 instructions
 * of 259. */
constexpr int STEPS = 16;

/** An operand, and an operation on two. */
__device__ __forceinline__ void take(int word, int *operand)
{
    *operand = word;
}
__device__ __forceinline__ int multiply_add(int a, int b, int sum)
{
    return __dp4a(a, b, sum);
}

/** Factors below 1, of either sign: sums stay finite. */
__device__ __forceinline__ void take(int word, float *operand)
{
    *operand = static_cast<float>(word) * 0x1p-31F;
}
__device__ __forceinline__ float multiply_add(float a, float b, float sum)
{
    return fmaf(a, b, sum);
}

/* Sums of a thread. */
constexpr int SUMS = 16;

/** Sixteen accumulators in turn; the result depends on all of them.  They share
 *  their factors, which change with the step: in every clock a multiply-add can
 *  read an even and an odd register, and a third one only if the instruction
 *  before has kept it.  With a pair of factors for each sum, 128 instructions
 *  read 178 even registers and took 181 clocks of an H200. */
template <class Number>
__device__ __forceinline__ void accumulate(const int *operands, Number *out,
                                           unsigned n_rounds)
{
    Number a[4], b[4], sums[SUMS] = {};
    for (int k = 0; k < 4; ++k) {
        take(operands[8 * threadIdx.x + k], &a[k]);
        take(operands[8 * threadIdx.x + 4 + k], &b[k]);
    }
    for (unsigned round = 0; round < n_rounds; ++round)
#pragma unroll
        for (int step = 0; step < STEPS; ++step)
#pragma unroll
            for (int k = 0; k < SUMS; ++k)
                sums[k] = multiply_add(a[step % 4], b[(step + step / 4) % 4],
                                       sums[k]);
    Number most = sums[0];
    for (int k = 1; k < SUMS; ++k)
        most = max(most, sums[k]);
    out[blockIdx.x * THREADS + threadIdx.x] = most;
}

__global__ void __launch_bounds__(THREADS)
    bench_dp4a_kernel(const int *operands, int *out, unsigned n_rounds)
{
    accumulate(operands, out, n_rounds);
}

__global__ void __launch_bounds__(THREADS)
    bench_ffma_kernel(const int *operands, float *out, unsigned n_rounds)
{
    accumulate(operands, out, n_rounds);
}

/* Products of a warp: 2 x 4 tiles of 16 x 8. */
constexpr int MMA_PRODUCTS = 2 * 4;

__global__ void __launch_bounds__(THREADS)
    bench_imma_kernel(const int *operands, int *out, unsigned n_rounds)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
    int a[2][4], b[4][2], sums[2][4][4] = {};
    for (int k = 0; k < 8; ++k) {
        a[k / 4][k % 4] = operands[8 * threadIdx.x + k];
        b[k / 2][k % 2] = operands[8 * (THREADS - 1 - threadIdx.x) + k];
    }
    for (unsigned round = 0; round < n_rounds; ++round)
#pragma unroll
        for (int step = 0; step < STEPS; ++step)
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    fx8_ptx_mma_s8(sums[i][j], a[(i + step) % 2],
                                   b[(j + step / 2) % 4]);
    int sum = 0;
    for (int k = 0; k < 32; ++k)
        sum ^= sums[k / 16][k / 4 % 4][k % 4];
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
#endif
}

/** Rounds of a launch: about a millisecond. */
unsigned rounds_of(const Bench &bench)
{
    return bench.is_tiny() ? 1 : 256;
}

template <class Number>
double measure_instruction(const Bench &bench,
                           void (*kernel)(const int *, Number *, unsigned),
                           double operations_of_thread)
{
    const unsigned n_blocks =
        bench.is_tiny()
            ? 1
            : BLOCKS_PER_SM *
                  static_cast<unsigned>(bench.card.multiProcessorCount);
    const Memory<int> operands(8 * THREADS);
    const Memory<Number> out(static_cast<size_t>(n_blocks) * THREADS);
    fill_noise(bench, operands.data(), 2 * THREADS, 1);
    const double seconds = measure(bench, [&](size_t) {
        FX8_LAUNCH(kernel, dim3(n_blocks), dim3(THREADS), 0, bench.stream,
                   operands.data(), out.data(), rounds_of(bench));
        must(cudaGetLastError(), "a ceiling");
    });
    return operations_of_thread * STEPS * rounds_of(bench) * n_blocks *
           THREADS / seconds;
}

/** Bytes / s of a copy, and its row. */
double measure_copy(Bench &bench, const char *name, size_t bytes, double factor,
                    const Work &work)
{
    const double rate =
        factor * static_cast<double>(bytes) / measure(bench, work);
    bench.report->text("  %-22s %10.1f GB/s\n", name, rate * 1e-9);
    bench.report->row(
        Row("ceiling").text("name", name).number("bytes_s", rate));
    return rate;
}

void measure_copies(Bench &bench)
{
    const size_t bytes =
        bench.is_tiny()
            ? 4096
            : std::min(size_t(1) << 30, bench.free_bytes() / 4 / 16 * 16);
    const Memory<char> from(bytes), to(bytes);
    fill_noise(bench, from.data(), bytes / 16, 2);
    bench.ceilings.copy =
        measure_copy(bench, "copy, read and written", bytes, 2.0, [&](size_t) {
            must(cudaMemcpyAsync(to.data(), from.data(), bytes,
                                 cudaMemcpyDeviceToDevice, bench.stream),
                 "copy");
        });
    const size_t pinned_bytes = std::min(bytes, size_t(256) << 20);
    char *pinned = nullptr;
    must(cudaMallocHost(&pinned, pinned_bytes), "cudaMallocHost");
    const std::unique_ptr<char, cudaError_t (*)(void *)> host(pinned,
                                                              cudaFreeHost);
    bench.ceilings.to_host = measure_copy(
        bench, "pinned, to the host", pinned_bytes, 1.0, [&](size_t) {
            must(cudaMemcpyAsync(host.get(), from.data(), pinned_bytes,
                                 cudaMemcpyDeviceToHost, bench.stream),
                 "copy");
        });
    bench.ceilings.to_device = measure_copy(
        bench, "pinned, to the device", pinned_bytes, 1.0, [&](size_t) {
            must(cudaMemcpyAsync(to.data(), host.get(), pinned_bytes,
                                 cudaMemcpyHostToDevice, bench.stream),
                 "copy");
        });
}

void tell(Bench &bench, const char *name, double rate)
{
    if (rate > 0)
        bench.report->text("  %-22s %10.2f T/s\n", name, rate * 1e-12);
    else
        bench.report->text("  %-22s    none, or left out\n", name);
    bench.report->row(
        Row("ceiling").text("name", name).number("operations_s", rate));
}

} // namespace

void measure_ceilings(Bench &bench)
{
    Ceilings &c = bench.ceilings;
    const int capability = 10 * bench.capability.major + bench.capability.minor;
    c.ffma = measure_instruction(bench, bench_ffma_kernel, 2.0 * SUMS);
    tell(bench, "FFMA", c.ffma);
    c.dp4a = measure_instruction(bench, bench_dp4a_kernel, 8.0 * SUMS);
    tell(bench, "IDP.4A", c.dp4a);
    if (capability >= 75 && !is_left_out("mma"))
        c.imma = measure_instruction(bench, bench_imma_kernel,
                                     2.0 * 16 * 8 * 32 / 32 * MMA_PRODUCTS);
    tell(bench, "IMMA", c.imma);
    if (!is_left_out("wgmma"))
        c.igmma = measure_igmma(bench);
    tell(bench, "IGMMA", c.igmma);
    measure_copies(bench);
}

} // namespace bench
