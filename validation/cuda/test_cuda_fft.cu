/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_fft.cu -- the harness: cuFFT by FFTW, layouts and lifetime of a
 * plan.
 *
 * Shows: as cuda/test_cuda_threads.cu
 */
#include <cufft.h>
#include <cuda_fp16.h>

#include <complex>

#include "kernels/cuda/launch.h"
#include "validation/cuda/device_array.h"

namespace fft_tests
{

using Complex = std::complex<double>;

static const double TWO_PI = 6.28318530717958647692;
/* Single precision rounds each of the log2(n) sums by 2^-24 of what it sums;
 * tones of amplitude 1 sum to n at most. */
static const double TOLERANCE = 1e-6;

static std::vector<float2> make_input(size_t n)
{
    std::vector<float2> input(n);
    uint64_t state = 23;
    for (float2 &value : input) {
        const uint64_t random = harness::random_next(&state);
        value.x = static_cast<float>(static_cast<int>(random % 255) - 127);
        value.y =
            static_cast<float>(static_cast<int>(random >> 32) % 255 - 127);
    }
    return input;
}

static Complex direct_sum(const std::vector<Complex> &x, size_t k, int sign)
{
    const size_t n = x.size();
    Complex sum = 0;
    for (size_t t = 0; t < n; ++t)
        sum += x[t] *
               std::polar(1.0, sign * TWO_PI * static_cast<double>(k * t % n) /
                                   static_cast<double>(n));
    return sum;
}

static bool near(const Complex &expected, const float2 &found, size_t n)
{
    const Complex difference = expected - Complex(found.x, found.y);
    return std::abs(difference) < TOLERANCE * 127 * static_cast<double>(n);
}

static cufftResult plan_many(cufftHandle *plan, int *n, int *in, int stride,
                             int distance, int *out, int out_distance,
                             cufftType type, int batch)
{
    CHECK(cufftCreate(plan) == CUFFT_SUCCESS);
    size_t bytes;
    return cufftMakePlanMany(*plan, 1, n, in, stride, distance, out, 1,
                             out_distance, type, batch, &bytes);
}

TEST(complex_transforms_in_any_layout)
{
    const int n = 24, batch = 5, stride = 3, distance = 80;
    const std::vector<float2> input = make_input(batch * distance);
    DeviceArray<float2> in(input), out(input.size());
    for (int sign : {CUFFT_FORWARD, CUFFT_INVERSE}) {
        cufftHandle plan;
        int size = n, embed = n;
        CHECK(plan_many(&plan, &size, &embed, stride, distance, &embed, n,
                        CUFFT_C2C, batch) == CUFFT_SUCCESS);
        CHECK(cufftExecC2C(plan, in.data(), out.data(), sign) == CUFFT_SUCCESS);
        const std::vector<float2> found = out.read();
        for (size_t b = 0; b < batch; ++b) {
            std::vector<Complex> x;
            for (size_t t = 0; t < n; ++t) {
                const float2 value = input[b * distance + t * stride];
                x.push_back(Complex(value.x, value.y));
            }
            for (size_t k = 0; k < n; ++k)
                CHECK(near(direct_sum(x, k, sign), found[b * n + k], n));
        }
        CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
    }
}

TEST(real_transforms_in_place)
{
    const int n = 20, n_bins = n / 2 + 1;
    std::vector<float> input(2 * n_bins, 0.0F);
    for (int t = 0; t < n; ++t)
        input[static_cast<size_t>(t)] = static_cast<float>(t * t % 17 - 8);
    DeviceArray<float> data(input);
    cufftComplex *const spectrum =
        reinterpret_cast<cufftComplex *>(data.data());
    cufftHandle plan;
    int size = n;
    CHECK(plan_many(&plan, &size, nullptr, 1, 0, nullptr, 0, CUFFT_R2C, 1) ==
          CUFFT_SUCCESS);
    CHECK(cufftExecR2C(plan, data.data(), spectrum) == CUFFT_SUCCESS);
    const std::vector<float> bins = data.read();
    std::vector<Complex> x(input.begin(), input.begin() + n);
    for (size_t k = 0; k < n_bins; ++k)
        CHECK(near(direct_sum(x, k, CUFFT_FORWARD),
                   make_float2(bins[2 * k], bins[2 * k + 1]), n));
    CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST(a_plan_waits_for_its_stream_and_needs_its_work_area)
{
    const int n = 16;
    const std::vector<float2> input = make_input(n);
    DeviceArray<float2> in(n), out(n);
    cudaStream_t stream;
    cufftHandle plan;
    size_t bytes = 0;
    int size = n;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cufftCreate(&plan) == CUFFT_SUCCESS);
    CHECK(cufftSetAutoAllocation(plan, 0) == CUFFT_SUCCESS);
    CHECK(cufftMakePlanMany(plan, 1, &size, nullptr, 1, 0, nullptr, 1, 0,
                            CUFFT_C2C, 1, &bytes) == CUFFT_SUCCESS);
    CHECK(cufftSetStream(plan, stream) == CUFFT_SUCCESS);
    CHECK(cufftExecC2C(plan, in.data(), out.data(), CUFFT_FORWARD) ==
          CUFFT_NO_WORKSPACE);
    DeviceArray<unsigned char> area(bytes);
    CHECK(cufftSetWorkArea(plan, area.data()) == CUFFT_SUCCESS);
    CHECK(cufftExecC2C(plan, in.data(), out.data(), CUFFT_FORWARD) ==
          CUFFT_SUCCESS);
    /* Queued after the transform, done before it: another stream. */
    MUST(cudaMemcpy(in.data(), input.data(), n * sizeof(float2),
                    cudaMemcpyHostToDevice));
    MUST(cudaStreamSynchronize(nullptr));
    MUST(cudaStreamSynchronize(stream));
    const std::vector<float2> found = out.read();
    std::vector<Complex> x;
    for (const float2 &value : input)
        x.push_back(Complex(value.x, value.y));
    for (size_t k = 0; k < n; ++k)
        CHECK(near(direct_sum(x, k, CUFFT_FORWARD), found[k], n));
    CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
    MUST(cudaStreamDestroy(stream));
}

TEST(transforms_that_cannot_be_are_refused)
{
    cufftHandle plan = 0;
    int size = 0;
    CHECK(plan_many(&plan, &size, nullptr, 1, 0, nullptr, 0, CUFFT_C2C, 1) ==
          CUFFT_INVALID_SIZE);
    CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
    CHECK(cufftExecC2C(12345, nullptr, nullptr, CUFFT_FORWARD) ==
          CUFFT_INVALID_PLAN);
    size = 1 << 22;
    CHECK(plan_many(&plan, &size, nullptr, 1, 0, nullptr, 0, CUFFT_C2C,
                    1 << 10) == CUFFT_ALLOC_FAILED);
    CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
    CHECK(harness::count_live() == 0);
}

__global__ void scale_pairs(const float2 *from, __half2 *to, float scale)
{
    const __half2 factor = __float2half2_rn(scale);
    to[threadIdx.x] = __hfma2(__float22half2_rn(from[threadIdx.x]), factor,
                              __float2half2_rn(1.0F));
}

TEST(halves_are_rounded_once)
{
    const std::vector<float2> input = {make_float2(1.0F, 65504.0F),
                                       make_float2(0x1p-24F, 3.0F)};
    DeviceArray<float2> from(input);
    DeviceArray<__half2> to(2);
    FX8_LAUNCH(scale_pairs, dim3(1), dim3(2), 0, nullptr, from.data(),
               to.data(), 2.0F);
    const std::vector<__half2> found = to.read();
    CHECK(__low2float(found[0]) == 3.0F && isinf(__high2float(found[0])));
    CHECK(__low2float(found[1]) == 1.0F && __high2float(found[1]) == 7.0F);
}

} // namespace fft_tests
