/* SPDX-License-Identifier: BSD-3-Clause */
/* data.cu -- see bench.cuh: random spectra, and comparing sums. */
#include "kernels/cuda/layout.h"
#include "kernels/operations.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

constexpr unsigned THREADS = 256;

/** Blocks for n threads; each kernel continues in steps of the whole grid. */
dim3 blocks_for(size_t n)
{
    const size_t wanted = (n + THREADS - 1) / THREADS;
    return dim3(static_cast<unsigned>(wanted < 1       ? 1
                                      : wanted < 65536 ? wanted
                                                       : size_t(65536)));
}

void launched(const char *kernel)
{
    must(cudaGetLastError(), kernel);
}

/** splitmix64 (Steele, Lea and Flood 2014). */
__device__ __forceinline__ uint64_t scramble(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** The sum of four uniform bytes: 147.8 rms, divided by 7. */
__device__ __forceinline__ unsigned noise_byte(uint64_t random)
{
    const int sum =
        static_cast<int>((random & 255) + (random >> 8 & 255) +
                         (random >> 16 & 255) + (random >> 24 & 255)) -
        510;
    const int value = (random >> 32 & 4095) == 0 ? -128 : sum / 7;
    return static_cast<unsigned>(value) & 255;
}

__global__ void bench_noise_kernel(uint4 *data, size_t n, unsigned seed)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t k = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         k < n; k += step) {
        unsigned words[4] = {0, 0, 0, 0};
        for (unsigned b = 0; b < 16; ++b)
            words[b / 4] |=
                noise_byte(scramble((16 * k + b) * UINT64_C(2654435761) +
                                    (static_cast<uint64_t>(seed) << 48)))
                << 8 * (b % 4);
        data[k] = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

/* A vector of 16 int8 becomes four of four floats, a pitch apart. */
__global__ void bench_widen_kernel(const char4 *from, float4 *to, size_t pitch,
                                   size_t n_columns)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t k = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         k < 4 * pitch * n_columns; k += step) {
        const size_t column = k / (4 * pitch), rest = k % (4 * pitch);
        const size_t part = rest / pitch, row = rest % pitch;
        const char4 x = from[4 * (column * pitch + row) + part];
        to[k] = make_float4(static_cast<float>(x.x), static_cast<float>(x.y),
                            static_cast<float>(x.z), static_cast<float>(x.w));
    }
}

__global__ void bench_unroll_kernel(const uint4 *from, uint4 *to, size_t n_rows,
                                    size_t pitch, size_t n_columns,
                                    size_t n_channels)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t k = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         k < n_channels * n_rows * n_columns; k += step) {
        const size_t column = k % n_columns, rest = k / n_columns;
        const size_t row = rest % n_rows, channel = rest / n_rows;
        to[k] = from[(channel * n_columns + column) * pitch +
                     fx8_cuda_row(row / 2, row % 2)];
    }
}

/** The sum of 16 products. */
__device__ __forceinline__ int dot(const int4 &a, const int4 &b)
{
    const int of_a[4] = {a.x, a.y, a.z, a.w}, of_b[4] = {b.x, b.y, b.z, b.w};
    int sum = 0;
    for (int k = 0; k < 16; ++k)
        sum += static_cast<signed char>(of_a[k / 4] >> 8 * (k % 4)) *
               static_cast<signed char>(of_b[k / 4] >> 8 * (k % 4));
    return sum;
}

/* Every pair i <= j of every channel, each in one thread. */
__global__ void bench_definition_kernel(const int4 *x, int64_t *sums,
                                        size_t n_inputs, size_t n_channels,
                                        size_t pitch, size_t n_columns)
{
    const size_t cells = n_inputs * n_inputs;
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t n = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         n < cells * n_channels; n += step) {
        const size_t j = n % cells / n_inputs, i = n % n_inputs;
        if (i > j)
            continue;
        const int4 *const first = x + n / cells * n_columns * pitch;
        int64_t re = 0, im = 0;
        for (size_t k = 0; k < n_columns; ++k) {
            const int4 *const column = first + k * pitch;
            const int4 re_i = column[fx8_cuda_row(i, 0)];
            const int4 im_i = column[fx8_cuda_row(i, 1)];
            const int4 re_j = column[fx8_cuda_row(j, 0)];
            const int4 im_j = column[fx8_cuda_row(j, 1)];
            re += dot(re_j, re_i) + dot(im_j, im_i);
            im += dot(im_j, re_i) - dot(re_j, im_i);
        }
        int64_t *const sum =
            sums + n / cells * n_inputs * (n_inputs + 1) + j * (j + 1) + 2 * i;
        sum[0] = re;
        sum[1] = im;
    }
}

/** Numbers of the device, after the work of the stream. */
template <class Number>
std::vector<Number> numbers_of(const Bench &bench, const Number *from, size_t n)
{
    std::vector<Number> numbers(n);
    must(cudaStreamSynchronize(bench.stream), "cudaStreamSynchronize");
    download(from, &numbers);
    return numbers;
}

} // namespace

void fill_noise(const Bench &bench, void *data, size_t n_vectors, unsigned seed)
{
    FX8_LAUNCH(bench_noise_kernel, blocks_for(n_vectors), dim3(THREADS), 0,
               bench.stream, static_cast<uint4 *>(data), n_vectors, seed);
    launched("noise");
}

void widen(const Bench &bench, const int8_t *from, float *to, size_t pitch,
           size_t n_columns)
{
    FX8_LAUNCH(bench_widen_kernel, blocks_for(4 * pitch * n_columns),
               dim3(THREADS), 0, bench.stream,
               reinterpret_cast<const char4 *>(from),
               reinterpret_cast<float4 *>(to), pitch, n_columns);
    launched("widening");
}

void unroll_rows(const Bench &bench, const int8_t *from, int8_t *to,
                 size_t n_inputs, size_t n_channels, size_t n_times)
{
    const size_t n_columns = n_times / FX8_CUDA_TIMES_INT8;
    FX8_LAUNCH(bench_unroll_kernel,
               blocks_for(n_channels * 2 * n_inputs * n_columns), dim3(THREADS),
               0, bench.stream, reinterpret_cast<const uint4 *>(from),
               reinterpret_cast<uint4 *>(to), 2 * n_inputs,
               fx8_cuda_pitch(n_inputs), n_columns, n_channels);
    launched("rows");
}

void correlate_plainly(const Bench &bench, const int8_t *x, int64_t *sums,
                       size_t n_inputs, size_t n_channels, size_t n_times)
{
    FX8_LAUNCH(bench_definition_kernel,
               blocks_for(n_inputs * n_inputs * n_channels), dim3(THREADS), 0,
               bench.stream, reinterpret_cast<const int4 *>(x), sums, n_inputs,
               n_channels, fx8_cuda_pitch(n_inputs),
               n_times / FX8_CUDA_TIMES_INT8);
    launched("sums by the definition");
}

template <class Number>
size_t count_differing(const Bench &bench, const int64_t *a, const Number *b,
                       size_t n)
{
    const std::vector<int64_t> x = numbers_of(bench, a, n);
    const std::vector<Number> y = numbers_of(bench, b, n);
    size_t n_differing = 0;
    for (size_t k = 0; k < n; ++k)
        n_differing += !(static_cast<Number>(x[k]) == y[k]);
    return n_differing;
}

template size_t count_differing(const Bench &, const int64_t *, const int64_t *,
                                size_t);
template size_t count_differing(const Bench &, const int64_t *, const double *,
                                size_t);

size_t count_differing_products(const Bench &bench, const int64_t *sums,
                                const int32_t *products, size_t n_inputs,
                                size_t n_channels)
{
    const size_t n_rows = 2 * n_inputs;
    const size_t n_sums = 2 * fx8_pair_count(n_inputs);
    const std::vector<int64_t> all =
        numbers_of(bench, sums, n_channels * n_sums);
    const std::vector<int32_t> squares =
        numbers_of(bench, products, n_channels * n_rows * n_rows);
    size_t n_differing = 0;
    for (size_t channel = 0; channel < n_channels; ++channel)
        for (size_t j = 0; j < n_inputs; ++j)
            for (size_t i = 0; i <= j; ++i) {
                const int64_t *sum =
                    &all[channel * n_sums + 2 * fx8_pair_index(i, j)];
                const int32_t *re_i =
                    &squares[(channel * n_rows + 2 * i) * n_rows + 2 * j];
                const int32_t *im_i = re_i + n_rows;
                n_differing +=
                    sum[0] != static_cast<int64_t>(re_i[0]) + im_i[1] ||
                    sum[1] != static_cast<int64_t>(re_i[1]) - im_i[0];
            }
    return n_differing;
}

} // namespace bench
