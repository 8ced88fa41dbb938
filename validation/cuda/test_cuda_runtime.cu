/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_runtime.cu -- the harness: memory, streams, events, devices.
 *
 * Shows: as cuda/test_cuda_threads.cu
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

TEST(eager_streams_would_hide_that)
{
    with_streams({Order::FIRST, 0}, [] {
        Bench bench;
        launch_add(bench.b, bench.a, 41, bench.one);
        bench.copy_back(bench.one);
        CHECK(bench.holds(42));
    });
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

TEST(rows_are_copied_with_their_pitches)
{
    std::vector<int> host(12), back(20, -1);
    for (int k = 0; k < 12; ++k)
        host[static_cast<size_t>(k)] = k;
    DeviceArray<int> device(std::vector<int>(24, -2));
    const size_t i = sizeof(int);
    /* 4 rows of 3 elements into rows of 6; then 2 elements of each into rows of
     * 5. */
    MUST(cudaMemcpy2DAsync(device.data(), 6 * i, host.data(), 3 * i, 3 * i, 4,
                           cudaMemcpyHostToDevice));
    MUST(cudaMemcpy2DAsync(back.data(), 5 * i, device.data() + 1, 6 * i, 2 * i,
                           4, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 4; ++row)
        for (int k = 0; k < 5; ++k)
            CHECK(back[static_cast<size_t>(5 * row + k)] ==
                  (k < 2 ? 3 * row + k + 1 : -1));
    CHECK(cudaMemcpy2DAsync(device.data(), i, host.data(), 3 * i, 3 * i, 4,
                            cudaMemcpyHostToDevice) ==
          cudaErrorInvalidPitchValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue);
}

TEST(new_memory_holds_garbage)
{
    DeviceArray<unsigned char> device(100);
    CHECK(device.read() == std::vector<unsigned char>(100, 0xa5));
    void *pinned = nullptr;
    MUST(cudaMallocHost(&pinned, 100));
    CHECK(static_cast<unsigned char *>(pinned)[99] == 0xa5);
    MUST(cudaFreeHost(pinned));
}

TEST(a_device_has_so_much_memory_and_no_more)
{
    size_t before = 0, after = 0, total = 0;
    MUST(cudaMemGetInfo(&before, &total));
    CHECK(before == total && total == settings().memory_bytes);
    void *half = nullptr, *more = nullptr;
    MUST(cudaMalloc(&half, total / 2));
    MUST(cudaMemGetInfo(&after, &total));
    CHECK(after == total - total / 2);
    CHECK(cudaMalloc(&more, total / 2 + 1) == cudaErrorMemoryAllocation);
    CHECK(more == nullptr);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaSuccess);
    MUST(cudaMalloc(&more, total / 2));
    MUST(cudaFree(half));
    MUST(cudaFree(more));
    MUST(cudaFree(nullptr));
}

TEST(memory_of_the_host_is_registered_once)
{
    std::vector<int> host(N, 3);
    const size_t bytes = N * sizeof(int);
    MUST(cudaHostRegister(host.data(), bytes, cudaHostRegisterDefault));
    CHECK(cudaHostRegister(host.data() + 5, 4, cudaHostRegisterDefault) ==
          cudaErrorHostMemoryAlreadyRegistered);
    DeviceArray<int> device(N);
    MUST(cudaMemcpyAsync(device.data(), host.data(), bytes,
                         cudaMemcpyHostToDevice));
    host.assign(N, 4);
    CHECK(device.read() == std::vector<int>(N, 4));
    MUST(cudaHostUnregister(host.data()));
    CHECK(cudaGetLastError() == cudaErrorHostMemoryAlreadyRegistered);
}

/* --- launches
 * ---------------------------------------------------------------------------------
 */

__global__ void use_shared(int *out, int n)
{
    FX8_DYNAMIC_SHARED(int, box);
    box[n - 1 - static_cast<int>(threadIdx.x)] = static_cast<int>(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = box[threadIdx.x];
}

TEST(shared_memory_beyond_48_kib_is_asked_for)
{
    DeviceArray<int> out(N);
    const size_t large = 100 * 1024;
    const int n = static_cast<int>(N);
    FX8_LAUNCH(use_shared, dim3(1), dim3(N), large, nullptr, out.data(), n);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(use_shared,
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               228 * 1024) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    MUST(cudaFuncSetAttribute(use_shared,
                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(large)));
    FX8_LAUNCH(use_shared, dim3(1), dim3(N), large, nullptr, out.data(), n);
    MUST(cudaGetLastError());
    const std::vector<int> found = out.read();
    for (int k = 0; k < n; ++k)
        CHECK(found[static_cast<size_t>(k)] == n - 1 - k);
}

TEST(launches_that_cannot_be_are_refused)
{
    DeviceArray<int> out(N);
    FX8_LAUNCH(use_shared, dim3(1), dim3(1025), 0, nullptr, out.data(), 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    FX8_LAUNCH(use_shared, dim3(0), dim3(1), 0, nullptr, out.data(), 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    FX8_LAUNCH(use_shared, dim3(1, 65536), dim3(1), 0, nullptr, out.data(), 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
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

TEST(three_devices_are_apart)
{
    with_devices(3, [] {
        int count = 0;
        int *arrays[3] = {};
        cudaStream_t streams[3] = {};
        MUST(cudaGetDeviceCount(&count));
        CHECK(count == 3);
        for (int k = 0; k < 3; ++k) {
            MUST(cudaSetDevice(k));
            MUST(cudaStreamCreate(&streams[k]));
            MUST(cudaMalloc(&arrays[k], N * sizeof(int)));
            MUST(cudaMemsetAsync(arrays[k], 0, N * sizeof(int), streams[k]));
            launch_add(arrays[k], arrays[k], k + 1, streams[k]);
        }
        launch_add(arrays[2], arrays[2], 10, streams[2]);
        FX8_LAUNCH(add, dim3(1), dim3(1), 0, streams[1], arrays[2], arrays[2],
                   1, 1);
        CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
        for (int k = 0; k < 3; ++k) {
            std::vector<int> found(N);
            MUST(cudaSetDevice(k));
            MUST(cudaStreamSynchronize(streams[k]));
            MUST(cudaMemcpy(found.data(), arrays[k], N * sizeof(int),
                            cudaMemcpyDeviceToHost));
            CHECK(found == std::vector<int>(N, k == 2 ? 13 : k + 1));
            MUST(cudaStreamDestroy(streams[k]));
            MUST(cudaFree(arrays[k]));
        }
        CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
        CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    });
}

TEST(no_device_and_no_driver_are_told_apart)
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

TEST(properties_follow_the_architecture)
{
    const int before = settings().architecture;
    const struct {
        int architecture, major, minor, shared_kib;
    } cases[] = {{61, 6, 1, 48},
                 {75, 7, 5, 64},
                 {80, 8, 0, 163},
                 {90, 9, 0, 227},
                 {120, 12, 0, 99}};
    for (const auto &each : cases) {
        settings().architecture = each.architecture;
        cudaDeviceProp properties;
        int major = 0;
        MUST(cudaGetDeviceProperties(&properties, 0));
        MUST(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                    0));
        CHECK(properties.major == each.major && major == each.major);
        CHECK(properties.minor == each.minor);
        CHECK(properties.sharedMemPerBlockOptin ==
              static_cast<size_t>(each.shared_kib) * 1024);
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

TEST(errors_have_names_and_words)
{
    CHECK(strcmp(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice") ==
          0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation),
                 "out of memory") == 0);
}

} // namespace runtime_tests
