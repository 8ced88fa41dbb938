/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_runtime.cu -- the harness: memory, streams, events, devices.
 *
 * Shows: as cuda/test_cuda_faults.cu
 */
#include "kernels/cuda/launch.h"
#include "validation/cuda/device_array.h"

namespace runtime_tests
{

using harness::Order;
using harness::settings;

static const size_t N = 1000;

__global__ void add(int *to, const int *from, int n, int term)
{
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (at < n)
        to[at] = from[at] + term;
}

static void launch_add(int *to, const int *from, int term, cudaStream_t stream)
{
    FX8_LAUNCH(add, dim3((N + 127) / 128), dim3(128), 0, stream, to, from,
               static_cast<int>(N), term);
    MUST(cudaGetLastError());
}

/* Pinned memory, two arrays on the device and two streams. */
struct Bench {
    int *host, *a, *b;
    cudaStream_t one, two;

    Bench()
    {
        MUST(cudaMallocHost(&host, N * sizeof(int)));
        MUST(cudaMalloc(&a, N * sizeof(int)));
        MUST(cudaMalloc(&b, N * sizeof(int)));
        MUST(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
        MUST(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
        for (size_t k = 0; k < N; ++k)
            host[k] = 1;
        MUST(cudaMemcpy(a, host, N * sizeof(int), cudaMemcpyHostToDevice));
        MUST(cudaMemset(b, 0, N * sizeof(int)));
        MUST(cudaDeviceSynchronize());
    }
    ~Bench()
    {
        MUST(cudaStreamDestroy(one));
        MUST(cudaStreamDestroy(two));
        MUST(cudaFree(a));
        MUST(cudaFree(b));
        MUST(cudaFreeHost(host));
        CHECK(harness::count_live() == 0);
    }
    void copy_back(cudaStream_t stream)
    {
        MUST(cudaMemcpyAsync(host, b, N * sizeof(int), cudaMemcpyDeviceToHost,
                             stream));
    }
    bool holds(int value) const
    {
        for (size_t k = 0; k < N; ++k)
            if (host[k] != value)
                return false;
        return true;
    }
};

static void with_streams(const Order &order, const std::function<void()> &work)
{
    const Order before = settings().streams;
    settings().streams = order;
    work();
    settings().streams = before;
}

/* --- queued work is done late ----------------------------------------- */

TEST(results_are_not_there_before_the_stream_is_waited_for)
{
    Bench bench;
    launch_add(bench.b, bench.a, 41, bench.one);
    bench.copy_back(bench.one);
    CHECK(bench.holds(1));
    MUST(cudaStreamSynchronize(bench.one));
    CHECK(bench.holds(42));
}

TEST(a_missing_wait_between_streams_shows)
{
    Bench bench;
    launch_add(bench.b, bench.a, 41, bench.one);
    bench.copy_back(bench.two);
    MUST(cudaDeviceSynchronize());
    CHECK(bench.holds(0));
}

TEST(some_random_order_shows_it_too)
{
    int n_seen = 0;
    for (uint64_t seed = 1; seed <= 16; ++seed)
        with_streams({Order::RANDOM, seed}, [&] {
            Bench bench;
            launch_add(bench.b, bench.a, 41, bench.one);
            bench.copy_back(bench.two);
            MUST(cudaDeviceSynchronize());
            n_seen += bench.holds(0);
        });
    CHECK(n_seen > 0 && n_seen < 16);
}

TEST(an_event_orders_streams_whatever_the_order)
{
    for (uint64_t seed = 0; seed <= 16; ++seed)
        with_streams({seed == 0 ? Order::LAST : Order::RANDOM, seed}, [] {
            Bench bench;
            cudaEvent_t done;
            MUST(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
            launch_add(bench.b, bench.a, 41, bench.one);
            MUST(cudaEventRecord(done, bench.one));
            MUST(cudaStreamWaitEvent(bench.two, done, 0));
            bench.copy_back(bench.two);
            MUST(cudaEventDestroy(done));
            MUST(cudaStreamSynchronize(bench.two));
            CHECK(bench.holds(42));
        });
}

TEST(the_default_stream_waits_for_blocking_ones_only)
{
    for (unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
        Bench bench;
        cudaStream_t stream;
        MUST(cudaStreamCreateWithFlags(&stream, flags));
        launch_add(bench.b, bench.a, 41, stream);
        MUST(cudaMemcpy(bench.host, bench.b, N * sizeof(int),
                        cudaMemcpyDeviceToHost));
        CHECK(bench.holds(flags == cudaStreamDefault ? 42 : 0));
        MUST(cudaStreamDestroy(stream));
    }
}

TEST(pinned_memory_is_read_late_and_pageable_at_once)
{
    Bench bench;
    std::vector<int> pageable(N, 7);
    MUST(cudaMemcpyAsync(bench.a, bench.host, N * sizeof(int),
                         cudaMemcpyHostToDevice, bench.one));
    MUST(cudaMemcpyAsync(bench.b, pageable.data(), N * sizeof(int),
                         cudaMemcpyHostToDevice, bench.one));
    pageable.assign(N, 9);
    for (size_t k = 0; k < N; ++k)
        bench.host[k] = 5; /* too early */
    launch_add(bench.a, bench.a, 0, bench.one);
    MUST(cudaStreamSynchronize(bench.one));
    MUST(cudaMemcpy(pageable.data(), bench.b, N * sizeof(int),
                    cudaMemcpyDeviceToHost));
    CHECK(pageable == std::vector<int>(N, 7));
    MUST(cudaMemcpy(bench.host, bench.a, N * sizeof(int),
                    cudaMemcpyDeviceToHost));
    CHECK(bench.holds(5));
}

TEST(a_synchronous_copy_of_pageable_memory_may_still_be_on_its_way)
{
    for (const bool waits : {false, true}) {
        Bench bench;
        const std::vector<int> pageable(N, 7);
        MUST(cudaMemcpy(bench.a, pageable.data(), N * sizeof(int),
                        cudaMemcpyHostToDevice));
        if (waits)
            MUST(cudaStreamSynchronize(nullptr));
        launch_add(bench.b, bench.a, 0, bench.one);
        bench.copy_back(bench.one);
        MUST(cudaStreamSynchronize(bench.one));
        CHECK(bench.holds(waits ? 7 : 1));
        MUST(cudaDeviceSynchronize());
    }
}

TEST(whoever_keeps_asking_gets_there)
{
    Bench bench;
    cudaEvent_t begin, end;
    MUST(cudaEventCreate(&begin));
    MUST(cudaEventCreate(&end));
    MUST(cudaEventRecord(begin, bench.one));
    launch_add(bench.b, bench.a, 41, bench.one);
    bench.copy_back(bench.one);
    MUST(cudaEventRecord(end, bench.one));
    float time = -1;
    CHECK(cudaEventElapsedTime(&time, begin, end) == cudaErrorNotReady);
    int n_asked = 0;
    while (cudaEventQuery(end) == cudaErrorNotReady)
        ++n_asked;
    CHECK(n_asked > 0 && bench.holds(42));
    MUST(cudaEventElapsedTime(&time, begin, end));
    CHECK(time >= 0);
    MUST(cudaEventDestroy(begin));
    MUST(cudaEventDestroy(end));
    CHECK(cudaGetLastError() == cudaErrorNotReady);
}

/* --- memory
 * ---------------------------------------------------------------------------------
 */

TEST(new_memory_holds_garbage)
{
    DeviceArray<unsigned char> device(100);
    CHECK(device.read() == std::vector<unsigned char>(100, 0xa5));
    void *pinned = nullptr;
    MUST(cudaMallocHost(&pinned, 100));
    CHECK(static_cast<unsigned char *>(pinned)[99] == 0xa5);
    MUST(cudaFreeHost(pinned));
}

TEST(memory_is_limited_and_registered_once)
{
    size_t left = 0, total = 0;
    void *half = nullptr, *more = nullptr;
    MUST(cudaMalloc(&half, settings().memory_bytes / 2));
    MUST(cudaMemGetInfo(&left, &total));
    CHECK(total == settings().memory_bytes && left == total - total / 2);
    CHECK(cudaMalloc(&more, left + 1) == cudaErrorMemoryAllocation);
    CHECK(more == nullptr);
    std::vector<int> host(N);
    MUST(cudaHostRegister(host.data(), N * sizeof(int), 0));
    CHECK(cudaHostRegister(&host[5], 4, 0) ==
          cudaErrorHostMemoryAlreadyRegistered);
    MUST(cudaHostUnregister(host.data()));
    CHECK(cudaMemcpy2DAsync(half, 4, host.data(), 12, 12, 4,
                            cudaMemcpyHostToDevice) ==
          cudaErrorInvalidPitchValue);
    MUST(cudaFree(half));
    CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue);
    CHECK(cudaGetLastError() == cudaSuccess);
}

/* --- launches --------------------------------------------------------- */

__global__ void copy_shared(unsigned char *out)
{
    FX8_DYNAMIC_SHARED(unsigned char, box);
    out[threadIdx.x] = box[threadIdx.x];
}

TEST(launches_beyond_the_limits_are_refused)
{
    const struct {
        dim3 grid, block;
        size_t shared_bytes;
        cudaError_t error;
    } cases[] = {{dim3(1), dim3(64), 48 * 1024, cudaSuccess},
                 {dim3(1), dim3(64), 48 * 1024 + 1, cudaErrorInvalidValue},
                 {dim3(1), dim3(1025), 64, cudaErrorInvalidConfiguration},
                 {dim3(0), dim3(64), 64, cudaErrorInvalidConfiguration},
                 {dim3(1, 65536), dim3(64), 64, cudaErrorInvalidConfiguration}};
    DeviceArray<unsigned char> out(64);
    for (const auto &each : cases) {
        FX8_LAUNCH(copy_shared, each.grid, each.block, each.shared_bytes,
                   nullptr, out.data());
        CHECK(cudaGetLastError() == each.error);
    }
    const auto limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CHECK(cudaFuncSetAttribute(copy_shared, limit, 228 * 1024) ==
          cudaErrorInvalidValue);
    MUST(cudaFuncSetAttribute(copy_shared, limit, 227 * 1024));
    cudaGetLastError();
    FX8_LAUNCH(copy_shared, dim3(1), dim3(64), 227 * 1024, nullptr, out.data());
    MUST(cudaGetLastError());
    CHECK(out.read() == std::vector<unsigned char>(64, 0xa5)); /* garbage */
}

/* --- devices
 * ------------------------------------------------------------------------------------
 */

static void with_devices(int n, const std::function<void()> &work)
{
    const int before = settings().n_devices;
    settings().n_devices = n;
    harness::reset_devices();
    work();
    settings().n_devices = before;
    harness::reset_devices();
}

TEST(without_a_device_or_a_driver)
{
    with_devices(0, [] {
        int count = 77;
        CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0);
    });
    with_devices(harness::NO_DRIVER, [] {
        int count = 77;
        CHECK(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver);
        CHECK(count == 77);
    });
}

TEST(a_stream_belongs_to_its_device)
{
    with_devices(2, [] {
        int *array = nullptr;
        cudaStream_t stream = nullptr;
        MUST(cudaStreamCreate(&stream));
        MUST(cudaSetDevice(1));
        MUST(cudaMalloc(&array, N * sizeof(int)));
        FX8_LAUNCH(add, dim3(1), dim3(1), 0, stream, array, array, 1, 1);
        CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
        CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
        MUST(cudaStreamDestroy(stream));
        MUST(cudaFree(array));
    });
}

TEST(properties_follow_the_architecture)
{
    const int before = settings().architecture;
    const int cases[][3] = {
        {6, 1, 48}, {7, 5, 64}, {8, 0, 163}, {9, 0, 227}, {12, 0, 99}};
    for (const auto &each : cases) {
        settings().architecture = 10 * each[0] + each[1];
        cudaDeviceProp properties;
        int major = 0;
        MUST(cudaGetDeviceProperties(&properties, 0));
        MUST(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                    0));
        CHECK(properties.major == each[0] && major == each[0]);
        CHECK(properties.minor == each[1]);
        CHECK(properties.sharedMemPerBlockOptin == size_t(each[2]) * 1024);
    }
    settings().architecture = before;
}

/* --- calls that fail
 * ---------------------------------------------------------------------------
 */

/* A small job that frees what it allocated; the first error ends it. */
static cudaError_t small_job()
{
    int *array = nullptr;
    std::vector<int> host(N, 1);
    cudaStream_t stream = nullptr;
    cudaError_t error = cudaMalloc(&array, N * sizeof(int));
    if (error == cudaSuccess)
        error = cudaStreamCreate(&stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(array, host.data(), N * sizeof(int),
                                cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess) {
        FX8_LAUNCH(add, dim3(8), dim3(128), 0, stream, array, array,
                   static_cast<int>(N), 1);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (stream != nullptr) {
        const cudaError_t last = cudaStreamDestroy(stream);
        error = error == cudaSuccess ? last : error;
    }
    const cudaError_t last = cudaFree(array);
    return error == cudaSuccess ? last : error;
}

TEST(every_call_can_be_made_to_fail_once)
{
    harness::reset_devices();
    MUST(small_job());
    const uint64_t n_calls = harness::count_calls();
    const std::string names[] = {"cudaMalloc",        "cudaStreamCreate",
                                 "cudaMemcpyAsync",   "add",
                                 "cudaGetLastError",  "cudaStreamSynchronize",
                                 "cudaStreamDestroy", "cudaFree"};
    CHECK(n_calls == 8);
    settings().fail_error = cudaErrorECCUncorrectable;
    for (uint64_t call = 1; call <= n_calls; ++call) {
        harness::reset_devices();
        settings().fail_call = call;
        CHECK(small_job() == cudaErrorECCUncorrectable);
        settings().fail_call = 0;
        CHECK(harness::failed_call() != nullptr &&
              names[call - 1] == harness::failed_call());
        CHECK(harness::count_live() == 0);
    }
    harness::reset_devices();
}

} // namespace runtime_tests
