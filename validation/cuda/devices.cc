/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.cc -- see runtime.h: devices and launches. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "validation/cuda/machine.h"

namespace harness
{

static thread_local int chosen_device = 0;

int current_device()
{
    return chosen_device < static_cast<int>(machine().devices.size())
               ? chosen_device
               : 0;
}

/* KiB of shared memory of a multiprocessor. */
static const struct {
    int architecture, shared_kib;
} ARCHITECTURES[] = {{61, 96},  {70, 96},  {75, 64},   {80, 164}, {86, 100},
                     {89, 100}, {90, 228}, {100, 228}, {120, 100}};

static const int DEFAULT_SHARED_BYTES = 48 * 1024;

/* A block may have all but 1 KiB of a multiprocessor's shared memory; before
 * sm_70, 48 KiB.  Of the architecture of the settings, else of the latest one
 * before it. */
static int shared_limit()
{
    const int architecture = settings().architecture;
    int shared_kib = 0;
    for (const auto &each : ARCHITECTURES)
        if (each.architecture <= architecture)
            shared_kib = each.shared_kib;
    return architecture < 70 ? DEFAULT_SHARED_BYTES
                             : (shared_kib - (architecture >= 80)) * 1024;
}

static void describe(cudaDeviceProp *to, int device)
{
    memset(to, 0, sizeof *to);
    snprintf(to->name, sizeof to->name, "pretend device %d", device);
    to->totalGlobalMem = settings().memory_bytes;
    to->sharedMemPerBlockOptin = static_cast<size_t>(shared_limit());
    to->memPitch = settings().most_pitch;
    to->major = settings().architecture / 10;
    to->minor = settings().architecture % 10;
    to->multiProcessorCount = 4;
    to->l2CacheSize = 1 << 20;
}

static bool is_device(int device)
{
    return device >= 0 && device < static_cast<int>(machine().devices.size());
}

/* --- launches
 * ---------------------------------------------------------------------- */

static int shared_limit_of(const void *kernel)
{
    const auto found = machine().shared_limits.find(kernel);
    return found == machine().shared_limits.end() ? DEFAULT_SHARED_BYTES
                                                  : found->second;
}

static cudaError_t check_shape(const Call &call)
{
    const dim3 grid = call.grid, block = call.block;
    const size_t n_threads = size_t(block.x) * block.y * block.z;
    if (n_threads == 0 || n_threads > MOST_THREADS || block.x > 1024 ||
        block.y > 1024 || block.z > 64 || grid.x == 0 || grid.y == 0 ||
        grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (call.shared_bytes > static_cast<size_t>(shared_limit_of(call.kernel)))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* A pointer argument must be memory of this device, or pinned. */
static void check_pointers(const Call &call)
{
    for (int k = 0; k < call.n_pointers; ++k) {
        uintptr_t base = 0;
        if (call.pointers[k] == nullptr)
            continue;
        const Allocation *found = find_memory(call.pointers[k], &base);
        if (found == nullptr)
            fault("kernel %s: argument %p is neither memory of a device nor "
                  "pinned",
                  call.name, call.pointers[k]);
        if (found->device != HOST && found->device != current_device())
            fault("kernel %s: argument %p is memory of device %d, the launch "
                  "is on device %d",
                  call.name, call.pointers[k], found->device, current_device());
    }
}

/* The fault that is planted in a kernel, or nothing.  Launches of a template
 * share one name; the kernels have their own, which the linker knows in a
 * library or a program that exports its symbols. */
static std::string planted_in(const Call &call)
{
    Dl_info info;
    if (settings().plant == nullptr || dladdr(call.kernel, &info) == 0 ||
        info.dli_sname == nullptr)
        return "";
    std::istringstream list(settings().plant);
    for (std::string each; std::getline(list, each, ',');) {
        const size_t colon = each.find(':');
        if (std::string(info.dli_sname).find(each.substr(0, colon)) !=
            std::string::npos)
            return each.substr(colon + 1);
    }
    return "";
}

/* The faulty work that replaces a kernel's own. */
static void fail_as_planted(const std::string &fault_name)
{
    if (fault_name == "crash")
        abort();
    while (fault_name == "hang")
        pause();
    if (fault_name != "idle")
        fault("FX8_HARNESS_PLANT: %s: crash, hang, idle or refuse",
              fault_name.c_str());
}

/* Whether the kernel, a symbol known to the linker, has this name. */
static bool is_named(const void *kernel, const char *name)
{
    Dl_info info;
    return name != nullptr && dladdr(kernel, &info) != 0 &&
           info.dli_sname != nullptr && strcmp(info.dli_sname, name) == 0;
}

void launch_call(const Call &call)
{
    const Entry entry(call.name);
    if (entry.error != cudaSuccess)
        return;
    CUstream_st *const stream = find_stream(call.stream);
    cudaError_t error = cudaSuccess;
    if (machine().devices.empty())
        error = cudaErrorNoDevice;
    else if (stream == nullptr || stream->device != current_device())
        error = cudaErrorInvalidResourceHandle;
    else
        error = check_shape(call);
    if (error != cudaSuccess) {
        failed(error);
        return;
    }
    check_pointers(call);
    machine().launches.push_back(machine().n_calls);
    if (machine().n_calls == settings().idle_call)
        return;
    const std::string planted = planted_in(call);
    if (planted == "refuse") {
        failed(cudaErrorLaunchFailure);
        return;
    }
    if (!planted.empty()) {
        queue_work(stream, [planted] { fail_as_planted(planted); });
        return;
    }
    note_loaded(current_device(), call.kernel);
    const Launch launch = {call.name,         call.grid, call.block,
                           call.shared_bytes, nullptr,   nullptr};
    const bool hangs = machine().n_calls == settings().hanging_call ||
                       is_named(call.kernel, settings().hanging_kernel);
    queue_work(
        stream, [launch, run = call.run] { run(launch); },
        hangs ? call.name : nullptr);
}

} // namespace harness

using harness::Entry;
using harness::failed;
using harness::machine;
using harness::settings;

cudaError_t cudaGetDeviceCount(int *count)
{
    FX8_ENTER(
        "cudaGetDeviceCount"); /* *count does not change, as without a driver */
    *count = static_cast<int>(machine().devices.size());
    return *count == 0 ? failed(cudaErrorNoDevice) : cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    FX8_ENTER("cudaSetDevice");
    if (!harness::is_device(device))
        return failed(cudaErrorInvalidDevice);
    harness::chosen_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    FX8_ENTER("cudaGetDevice");
    *device = harness::current_device();
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    FX8_ENTER("cudaGetDeviceProperties");
    if (!harness::is_device(device))
        return failed(cudaErrorInvalidDevice);
    harness::describe(properties, device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                   int device)
{
    FX8_ENTER("cudaDeviceGetAttribute");
    if (!harness::is_device(device))
        return failed(cudaErrorInvalidDevice);
    cudaDeviceProp all;
    harness::describe(&all, device);
    const struct {
        cudaDeviceAttr attribute;
        int value;
    } values[] = {
        {cudaDevAttrClockRate, 1000000},
        {cudaDevAttrMemoryClockRate, 1000000},
        {cudaDevAttrComputeCapabilityMajor, all.major},
        {cudaDevAttrComputeCapabilityMinor, all.minor},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin,
         static_cast<int>(all.sharedMemPerBlockOptin)},
    };
    for (const auto &each : values)
        if (each.attribute == attribute) {
            *value = each.value;
            return cudaSuccess;
        }
    return failed(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSynchronize()
{
    FX8_ENTER("cudaDeviceSynchronize");
    if (machine().devices.empty())
        return failed(cudaErrorNoDevice);
    harness::finish_device(harness::current_device());
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    FX8_ENTER("cudaMemGetInfo");
    if (machine().devices.empty())
        return failed(cudaErrorNoDevice);
    const size_t device = static_cast<size_t>(harness::current_device());
    *total_bytes = settings().memory_bytes;
    *free_bytes = *total_bytes - machine().devices[device].used_bytes;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    FX8_ENTER("cudaDriverGetVersion");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    FX8_ENTER("cudaRuntimeGetVersion");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel,
                                 cudaFuncAttribute attribute, int value)
{
    FX8_ENTER("cudaFuncSetAttribute");
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        return cudaSuccess;
    if (value < 0 || value > harness::shared_limit())
        return failed(cudaErrorInvalidValue);
    machine().shared_limits[kernel] = value;
    return cudaSuccess;
}

/* Only loads the kernel: the compiler for the device alone knows the numbers.
 */
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                  const void *kernel)
{
    FX8_ENTER("cudaFuncGetAttributes");
    attributes->numRegs = 0;
    harness::note_loaded(harness::current_device(), kernel);
    return cudaSuccess;
}
