/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_faults.cu -- the harness detects faults and describes them.
 *
 * Each fault is planted in a child process. The thread checker must report a
 * race where a barrier was dropped, and nothing where it was not. The address
 * checker must report accesses beyond an allocation. Code compiled without a
 * checker detects a write there by the guard bytes that the harness puts behind
 * the allocation.
 *
 * Shows (devices, faults the harness sees): faults planted in kernels and hosts
 *     are detected: dropped and divergent barriers, foreign pointers, writes
 *     beyond the end, leaks, missing waits, waits for a kernel that hangs,
 *     launches beyond the limits of an architecture; the thread checker reports
 *     a dropped barrier, and nothing in the same kernel without the fault;
 *     streams, events, memory, copies of a kernel, boxes of tensors and
 *     wgmma come late where they may; every call can be made to fail
 * Within: exit status and words
 * In: cuda/test_cuda_runtime.cu
 */
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx_tensor.h"
#include "kernels/cuda/tensor_map.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"

namespace faults_tests
{

static const size_t N = 256;

/* Children of fork() have one thread. */
static tap::Ending in_child(const std::function<void()> &work)
{
    return tap::in_child([&] {
        harness::settings().n_threads = 1;
        work();
    });
}

/* The child must end as a fault of the harness, with these words. */
static void must_fault(const char *words, const std::function<void()> &work)
{
    const tap::Ending ending = in_child(work);
    const bool good =
        ending.status == harness::FAULT_STATUS && ending.says(words);
    CHECK(good);
    if (!good)
        tap::show(ending);
}

/* --- threads that wait for what does not come
 * ------------------------------------------ */

__global__ void meet_apart(int *out)
{
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 0;
        __syncthreads();
    } else {
        out[threadIdx.x] = 1;
        __syncthreads();
    }
}

__global__ void meet_at_different_things(int *out)
{
    if (threadIdx.x < 48)
        __syncthreads();
    else
        out[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0);
    __syncthreads();
}

__global__ void meet_without_a_mask(int *out)
{
    out[threadIdx.x] = __shfl_sync(0x7fffffff, 1, 0);
}

__global__ void mix_warp_functions(int *out)
{
    if (threadIdx.x % 2 == 0)
        __syncwarp();
    else
        out[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0);
}

__global__ void wait_for_nobody(int *out)
{
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0)
        fx8_ptx_mbarrier_init(&barrier, 1);
    __syncthreads();
    fx8_ptx_mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = 1;
}

static void run_on_one_block(void (*kernel)(int *))
{
    int *out = nullptr;
    MUST(cudaMalloc(&out, N * sizeof(int)));
    FX8_LAUNCH(kernel, dim3(1), dim3(64), 0, nullptr, out);
    MUST(cudaDeviceSynchronize());
}

TEST(divergent_barriers_are_reported)
{
    in_every_order([] {
        must_fault("a divergent barrier", [] { run_on_one_block(meet_apart); });
        must_fault("no thread can go on",
                   [] { run_on_one_block(meet_at_different_things); });
        must_fault("threads 48 to 63 wait at",
                   [] { run_on_one_block(meet_at_different_things); });
        must_fault("leaves out its own lane 31",
                   [] { run_on_one_block(meet_without_a_mask); });
        must_fault("other lanes of the warp wait at line",
                   [] { run_on_one_block(mix_warp_functions); });
        must_fault("an mbarrier", [] { run_on_one_block(wait_for_nobody); });
    });
}

/* --- other memory ----------------------------------------------------- */

__global__ void write_at(int *out, long at)
{
    if (threadIdx.x == 0)
        out[at] = 1;
}

static int *new_array()
{
    int *array = nullptr;
    MUST(cudaMalloc(&array, N * sizeof(int)));
    return array;
}

static void write_to(int *array, long at)
{
    FX8_LAUNCH(write_at, dim3(1), dim3(32), 0, nullptr, array, at);
    MUST(cudaDeviceSynchronize());
}

TEST(pointers_of_others_are_reported)
{
    const size_t bytes = N * sizeof(int);
    std::vector<int> host(2 * N);
    must_fault("neither memory of a device nor pinned",
               [&] { write_to(host.data(), 0); });
    must_fault("at 0 of an allocation of 1024 bytes", [&] {
        cudaMemcpy(new_array(), host.data(), bytes + 1, cudaMemcpyHostToDevice);
    });
    must_fault("at 4 of an allocation of 1024 bytes", [&] {
        cudaMemcpy(host.data(), new_array() + 1, bytes, cudaMemcpyDeviceToHost);
    });
    must_fault("is not the direction stated", [&] {
        cudaMemcpy(host.data(), new_array(), bytes, cudaMemcpyHostToDevice);
    });
    must_fault("is not allocated", [] {
        int *const array = new_array();
        cudaFree(array);
        cudaFree(array);
    });
    must_fault("is not allocated", [&] { cudaFree(host.data()); });
    must_fault("is memory of device 0, the launch is on device 1", [] {
        harness::settings().n_devices = 2;
        harness::reset_devices();
        int *const array = new_array();
        MUST(cudaSetDevice(1));
        write_to(array, 0);
    });
    must_fault("1 allocations, streams, events or plans still exist", [] {
        new_array();
        exit(0);
    });
}

struct Hidden {
    int *pointer;
};

__global__ void write_hidden(Hidden hidden, int *)
{
    hidden.pointer[0] = 1;
}

/* The memory of other devices, and from the host every device's, is closed.
 * (The address checker reports the fault in its own words.) */
TEST(closed_memory_cannot_be_touched)
{
    must_fault("is touched by host code or by another device", [] {
        volatile int *const array = new_array();
        array[0] = 1;
    });
    must_fault("is touched by host code or by another device", [] {
        harness::settings().n_devices = 2;
        harness::reset_devices();
        const Hidden hidden = {new_array()};
        MUST(cudaSetDevice(1));
        FX8_LAUNCH(write_hidden, dim3(1), dim3(1), 0, nullptr, hidden,
                   new_array());
        MUST(cudaDeviceSynchronize());
    });
}

TEST(a_write_beyond_the_end_is_reported)
{
#if FX8_ADDRESS_CHECKER
    const tap::Ending ending = in_child([] { write_to(new_array(), N); });
    CHECK(ending.status != 0 && ending.says("AddressSanitizer") &&
          ending.says("write_at"));
#else
    must_fault("a write 0 bytes beyond the end of an allocation of 1024 bytes",
               [] { write_to(new_array(), N); });
    must_fault("a write 40 bytes beyond the end",
               [] { write_to(new_array(), N + 10); });
#endif
}

/* --- what is not waited for -------------------------------------------- */

__global__ void copy_and_read(const int4 *from, int4 *to)
{
    FX8_DYNAMIC_SHARED(int4, box);
    for (int k = 0; k < 3; ++k)
        box[k] = make_int4(-1, -1, -1, -1);
    for (int k = 0; k < 3; ++k) {
        fx8_ptx_copy_async(&box[k], &from[k], k == 0 ? 4 : 16);
        fx8_ptx_copy_commit();
    }
    fx8_ptx_copy_wait<1>();
    for (int k = 0; k < 3; ++k)
        to[k] = box[k];
    fx8_ptx_copy_wait<0>();
    to[3] = box[2];
}

/* A product of tiles of ones, 64 x 32 and 32 x 256. */
__global__ void multiply_and_read(int *out)
{
    FX8_DYNAMIC_SHARED(int8_t, ones);
    for (unsigned k = 0; k < 64; ++k)
        ones[64 * threadIdx.x + k] = 1;
    __syncthreads();
    int sums[128] = {};
    fx8_ptx_wgmma_fence();
    fx8_ptx_wgmma_s8(sums, fx8_ptx_matrix_descriptor(ones, 1024, 128),
                     fx8_ptx_matrix_descriptor(ones, 4096, 128));
    fx8_ptx_wgmma_commit();
    if (threadIdx.x == 0)
        out[0] = sums[0];
    fx8_ptx_wgmma_wait<0>();
    if (threadIdx.x == 0)
        out[1] = sums[0];
}

/* Copies and products arrive at their wait; bytes not copied are 0. */
TEST(what_is_not_waited_for_has_not_arrived)
{
    DeviceArray<int4> from(std::vector<int4>(3, make_int4(7, 7, 7, 7))), to(4);
    FX8_LAUNCH(copy_and_read, dim3(1), dim3(1), 64, nullptr, from.data(),
               to.data());
    const std::vector<int4> read = to.read();
    const int wanted[] = {0, 7, -1, 7};
    for (size_t k = 0; k < 4; ++k)
        CHECK(read[k].x == (k == 0 ? 7 : wanted[k]) && read[k].w == wanted[k]);
    DeviceArray<int> out(2);
    FX8_LAUNCH(multiply_and_read, dim3(1), dim3(128), 8192, nullptr,
               out.data());
    CHECK(out.read() == std::vector<int>({0, 32}));
}

/* A box of 8 inputs and 2 columns from column 1 of 2 on, expected as `bytes` at
 * a place of shared memory that has room for one. */
__global__ void copy_a_box(const __grid_constant__ CUtensorMap map,
                           unsigned place, unsigned bytes, int *out)
{
    FX8_DYNAMIC_SHARED(int, box);
    __shared__ uint64_t full;
    fx8_ptx_mbarrier_init(&full, 1);
    fx8_ptx_mbarrier_init_fence();
    box[0] = box[64] = -1;
    fx8_ptx_mbarrier_expect(&full, bytes);
    fx8_ptx_copy_box(&box[place], &map, {0, 0, 1, 0}, &full);
    out[0] = box[0];
    fx8_ptx_mbarrier_wait(&full, 0);
    out[1] = box[0];
    out[2] = box[64];
}

static std::vector<int> read_a_box(unsigned place, unsigned bytes)
{
    constexpr unsigned BYTES = 2 * 256;
    std::vector<int> columns(2 * 64, 1);
    std::fill(columns.begin() + 64, columns.end(), 2);
    DeviceArray<int> x(columns), out(3);
    CUtensorMap map;
    MUST(fx8_cuda_map_spectra(x.data(), 2 * 16, 8, 2, 1, 8, 2, &map));
    FX8_LAUNCH(copy_a_box, dim3(1), dim3(1), BYTES, nullptr, map, place, bytes,
               out.data());
    return out.read();
}

/* A box arrives when a kernel waits for its barrier; elements outside the
 * tensor are 0. */
TEST(boxes_of_tensors_arrive_when_they_are_waited_for)
{
    CHECK(read_a_box(0, 512) == std::vector<int>({-1, 2, 0}));
    must_fault("not within dynamic shared memory", [] { read_a_box(32, 512); });
    must_fault("is not a multiple of 128", [] { read_a_box(1, 512); });
    must_fault("more bytes than an mbarrier expects",
               [] { read_a_box(0, 256); });
    must_fault("an mbarrier", [] { read_a_box(0, 1024); });
    CUtensorMap map;
    CHECK(fx8_cuda_map_spectra(nullptr, 2 * 16 + 1, 0, 2, 1, 8, 2, &map) ==
          cudaErrorInvalidValue);
}

/* A kernel that never ends. */
static int *hang()
{
    int *const array = new_array();
    harness::settings().hanging_call = harness::count_calls() + 1;
    FX8_LAUNCH(write_at, dim3(1), dim3(32), 0, nullptr, array, 0L);
    return array;
}

TEST(waits_for_a_kernel_that_hangs_are_reported)
{
    must_fault("a wait for write_at, which never ends", [] {
        hang();
        cudaDeviceSynchronize();
    });
    must_fault("a wait for write_at", [] { cudaFree(hang()); });
    must_fault("is loaded while write_at runs, which never ends", [] {
        FX8_LAUNCH(meet_apart, dim3(1), dim3(1), 0, nullptr, hang());
    });
}

/* --- races
 * --------------------------------------------------------------------------------------
 */

/* Neighbours of a block or of a warp exchange, twice, through one buffer: both
 * barriers are needed, the second one for the second round.  At the end each
 * has its own number plus 2. */
template <bool IN_WARPS, bool FIRST, bool SECOND>
__global__ void exchange(int *out)
{
    __shared__ int box[64];
    const auto meet = [] {
        if (IN_WARPS)
            __syncwarp();
        else
            __syncthreads();
    };
    const unsigned me = threadIdx.x;
    int value = static_cast<int>(me);
    for (int round = 0; round < 2; ++round) {
        box[me] = value;
        if (FIRST)
            meet();
        value = box[IN_WARPS ? me ^ 5 : 63 - me] + 1;
        if (SECOND)
            meet();
    }
    out[me] = value;
}

static const struct {
    const char *name;
    void (*kernel)(int *);
    bool is_correct;
} exchanges[] = {
    {"exchange", exchange<false, true, true>, true},
    {"first barrier dropped", exchange<false, false, true>, false},
    {"second barrier dropped", exchange<false, true, false>, false},
    {"exchange in warps", exchange<true, true, true>, true},
    {"first dropped in warps", exchange<true, false, true>, false},
    {"second dropped in warps", exchange<true, true, false>, false},
};

#if FX8_THREAD_CHECKER
/* By default each child waits for a second before it ends. */
extern "C" const char *__tsan_default_options()
{
    return "atexit_sleep_ms=0";
}

static void run_kernel(void (*kernel)(int *))
{
    int *const out = new_array();
    FX8_LAUNCH(kernel, dim3(2), dim3(64), 0, nullptr, out);
    MUST(cudaDeviceSynchronize());
}

TEST(a_dropped_barrier_is_a_race_and_only_that)
{
    in_every_order([] {
        for (const auto &each : exchanges) {
            const tap::Ending ending =
                in_child([&] { run_kernel(each.kernel); });
            const bool raced = ending.says("data race");
            CHECK(raced != each.is_correct);
            CHECK((ending.status == 0) == each.is_correct);
            if (raced == each.is_correct) {
                printf("# %s\n", each.name);
                tap::show(ending);
            }
        }
    });
}

__global__ void write_first(int *out)
{
    out[0] = static_cast<int>(blockIdx.x);
}

/* Blocks race on several threads of the system, which a child of fork() cannot
 * have: in a process of its own. */
TEST(a_race_between_blocks_is_reported)
{
    if (getenv("FX8_RACE") != nullptr) {
        harness::settings().n_threads = 2;
        FX8_LAUNCH(write_first, dim3(10000), dim3(1), 0, nullptr, new_array());
        MUST(cudaDeviceSynchronize());
        return;
    }
    const tap::Ending ending = tap::in_child([] {
        setenv("FX8_RACE", "1", 1);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/proc/self/exe", "fx8-test-cuda", "cuda_faults",
              "a_race_between_blocks_is_reported", nullptr);
    });
    CHECK(ending.says("data race") && ending.says("write_first"));
}
#else
/* Without the thread checker: some order gives wrong results. */
TEST(a_dropped_barrier_is_wrong_in_some_order)
{
    std::vector<int> wanted(64);
    for (int k = 0; k < 64; ++k)
        wanted[static_cast<size_t>(k)] = k + 2;
    for (const auto &each : exchanges) {
        bool is_wrong = false;
        in_every_order([&] {
            DeviceArray<int> out(64);
            FX8_LAUNCH(each.kernel, dim3(1), dim3(64), 0, nullptr, out.data());
            is_wrong = is_wrong || out.read() != wanted;
        });
        CHECK(is_wrong != each.is_correct);
    }
}
#endif

} // namespace faults_tests
