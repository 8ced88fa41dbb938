/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtime.h -- the part of the CUDA runtime that fx8 uses, for pretend devices.
 * Names, arguments and error numbers are CUDA's; README.md lists what is
 * stricter and what is left out.
 * Source: CUDA Runtime API, of 11.8 and 13.0; "API synchronization behavior"
 */
#ifndef FX8_VALIDATION_CUDA_RUNTIME_H
#define FX8_VALIDATION_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "validation/cuda/block.h"
#include "validation/cuda/settings.h"

#define CUDART_VERSION 13000

/** Every error of the harness: name, number, text. */
#define FX8_CUDA_ERRORS(X)                                                     \
    X(cudaSuccess, 0, "no error")                                              \
    X(cudaErrorInvalidValue, 1, "invalid argument")                            \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                           \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")      \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                \
    X(cudaErrorInsufficientDriver, 35,                                         \
      "CUDA driver version is insufficient for CUDA runtime version")          \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")           \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")            \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                   \
    X(cudaErrorNoKernelImageForDevice, 209,                                    \
      "no kernel image is available for execution on the device")              \
    X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")   \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")          \
    X(cudaErrorNotReady, 600, "device not ready")                              \
    X(cudaErrorIllegalAddress, 700,                                            \
      "an illegal memory access was encountered")                              \
    X(cudaErrorHostMemoryAlreadyRegistered, 712,                               \
      "part or all of the requested memory range is already mapped")           \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")               \
    X(cudaErrorUnknown, 999, "unknown error")

#define FX8_CUDA_ERROR(name, number, words) name = number,
enum cudaError { FX8_CUDA_ERRORS(FX8_CUDA_ERROR) };
#undef FX8_CUDA_ERROR
using cudaError_t = cudaError;

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

/* --- devices
 * ------------------------------------------------------------------ */

/** The members that fx8 uses. */
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    size_t memPitch;
    int major;
    int minor;
    int multiProcessorCount;
    int l2CacheSize;
    size_t sharedMemPerBlockOptin;
};

enum cudaDeviceAttr {
    cudaDevAttrClockRate = 13,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                   int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaDriverGetVersion(int *version);

enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1
};
constexpr unsigned long long cudaEnableDefault = 0;

cudaError_t cudaGetDriverEntryPointByVersion(
    const char *name, void **found, unsigned version, unsigned long long flags,
    cudaDriverEntryPointQueryResult *result);
cudaError_t cudaRuntimeGetVersion(int *version);

/* --- memory
 * -------------------------------------------------------------------- */

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

constexpr unsigned cudaHostAllocDefault = 0;
constexpr unsigned cudaHostRegisterDefault = 0;
constexpr unsigned cudaHostRegisterPortable = 1;

struct CUstream_st;
struct CUevent_st;
using cudaStream_t = CUstream_st *;
using cudaEvent_t = CUevent_st *;

cudaError_t cudaMalloc(void **address, size_t bytes);
cudaError_t cudaFree(void *address);
cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags);
cudaError_t cudaMallocHost(void **address, size_t bytes);
cudaError_t cudaFreeHost(void *address);
cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *address);

template <class T> cudaError_t cudaMalloc(T **address, size_t bytes)
{
    return cudaMalloc(reinterpret_cast<void **>(address), bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T **address, size_t bytes, unsigned flags)
{
    return cudaHostAlloc(reinterpret_cast<void **>(address), bytes, flags);
}
template <class T> cudaError_t cudaMallocHost(T **address, size_t bytes)
{
    return cudaMallocHost(reinterpret_cast<void **>(address), bytes);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *address, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *address, int value, size_t bytes,
                            cudaStream_t stream = nullptr);

/* --- streams and events
 * ------------------------------------------------------------ */

constexpr unsigned cudaStreamDefault = 0;
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDefault = 0;
constexpr unsigned cudaEventDisableTiming = 2;

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin,
                                 cudaEvent_t end);

/* --- kernels
 * ------------------------------------------------------------------------ */

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

struct cudaFuncAttributes {
    int numRegs;
};

cudaError_t cudaFuncSetAttribute(const void *kernel,
                                 cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                  const void *kernel);
namespace harness
{

/** A kernel's address, its key in the table of attributes. */
template <class... P> const void *kernel_key(void (*kernel)(P...))
{
    return reinterpret_cast<const void *>(kernel);
}

} // namespace harness

template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...),
                                 cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute(harness::kernel_key(kernel), attribute, value);
}
template <class... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                  void (*kernel)(P...))
{
    return cudaFuncGetAttributes(attributes, harness::kernel_key(kernel));
}

namespace harness
{

/** A launch, made while its arguments still have their types. */
struct Call {
    const char *name;
    const void *kernel;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    std::function<void(const Launch &)> run;
    const void *const *pointers; /* arguments that are pointers */
    int n_pointers;
};

/** Check a launch and queue it; a failure becomes the last error. */
void launch_call(const Call &call);

template <class T> void note_pointer(const T &, const void **, int *)
{
}
template <class T> void note_pointer(T *pointer, const void **list, int *count)
{
    list[(*count)++] = pointer;
}

/** Implements FX8_LAUNCH(); copies the arguments now. */
template <class... P, class... A>
void launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
            size_t shared_bytes, cudaStream_t stream, A &&...arguments)
{
    using Bound = std::pair<void (*)(P...), std::tuple<std::decay_t<P>...>>;
    Bound bound(kernel,
                std::tuple<std::decay_t<P>...>(std::forward<A>(arguments)...));
    const void *pointers[sizeof...(P) + 1];
    int n_pointers = 0;
    std::apply(
        [&](const auto &...each) {
            (note_pointer(each, pointers, &n_pointers), ...);
        },
        bound.second);
    launch_call({name, kernel_key(kernel), grid, block, shared_bytes, stream,
                 [bound](const Launch &launch) {
                     Launch mine = launch;
                     mine.arguments = &bound;
                     mine.body = [](const void *given) {
                         const Bound *b = static_cast<const Bound *>(given);
                         std::apply(b->first, b->second);
                     };
                     run_grid(mine);
                 },
                 pointers, n_pointers});
}

} // namespace harness

#endif
