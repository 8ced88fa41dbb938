/* SPDX-License-Identifier: BSD-3-Clause */
/* device.cu -- see device.h: choice of devices, error messages, waits. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"

/* --- errors ----------------------------------------------------------------
 */

/* "device 0 (NAME): ", or empty without a device. */
static void name_device(const struct fx8_cuda_device *device, char *text,
                        size_t size)
{
    text[0] = '\0';
    if (device != nullptr)
        snprintf(text, size, "device %d (%s): ", device->ordinal, device->name);
}

enum fx8_status fx8_cuda_check(cudaError_t code,
                               const struct fx8_cuda_device *device,
                               struct fx8_error *error, const char *format, ...)
{
    if (code == cudaSuccess)
        return FX8_OK;
    (void)cudaGetLastError(); /* clear it: it is reported here */
    char what[128], where[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    name_device(device, where, sizeof where);
    return fx8_fail(error, FX8_ERR_DEVICE, "cuda: %s%s: %s", where, what,
                    cudaGetErrorString(code));
}

/* In the words of cuFFT's manual. */
static const char *fft_words(cufftResult code)
{
    static const struct {
        cufftResult code;
        const char *words;
    } table[] = {
        {CUFFT_INVALID_PLAN, "invalid plan"},
        {CUFFT_ALLOC_FAILED, "out of memory"},
        {CUFFT_INVALID_TYPE, "invalid type"},
        {CUFFT_INVALID_VALUE, "invalid value"},
        {CUFFT_INTERNAL_ERROR, "internal driver error"},
        {CUFFT_EXEC_FAILED, "failed to execute"},
        {CUFFT_SETUP_FAILED, "failed to initialise"},
        {CUFFT_INVALID_SIZE, "unsupported size"},
        {CUFFT_NO_WORKSPACE, "no workspace"},
    };
    for (const auto &entry : table)
        if (entry.code == code)
            return entry.words;
    return "unknown error";
}

enum fx8_status fx8_cuda_check_fft(cufftResult code,
                                   const struct fx8_cuda_device *device,
                                   struct fx8_error *error, const char *what)
{
    if (code == CUFFT_SUCCESS)
        return FX8_OK;
    (void)cudaGetLastError();
    char where[128];
    name_device(device, where, sizeof where);
    return fx8_fail(error, FX8_ERR_DEVICE, "cuda: %s%s: %s (cuFFT error %d)",
                    where, what, fft_words(code), static_cast<int>(code));
}

/* --- devices ---------------------------------------------------------------
 */

/* A kernel that runs on every device (correlate_fp32.cu).  All are compiled for
 * the same architectures: if this one loads, the others do. */
extern "C" __global__ void fx8_correlate_fp32_16_kernel(
    const float4 *x, size_t channel_stride, size_t pitch, unsigned n_inputs,
    unsigned n_columns, double2 *sums);

/* Dot products of four bytes, the minimum for a correlator. */
static const int LEAST_CAPABILITY = 61;

/* Whether the device can be used; its name goes into `device`. */
static enum fx8_status try_device(struct fx8_cuda_device *device,
                                  struct fx8_error *error)
{
    cudaDeviceProp properties;
    cudaError_t code = cudaGetDeviceProperties(&properties, device->ordinal);
    if (code != cudaSuccess)
        return fx8_cuda_check(code, nullptr, error,
                              "no usable device: cudaGetDeviceProperties of %d",
                              device->ordinal);
    snprintf(device->name, sizeof device->name, "%.*s",
             static_cast<int>(sizeof device->name) - 1, properties.name);
    device->most_pitch = properties.memPitch;
    if (fx8_cuda_is_lost(device->ordinal))
        return fx8_fail(error, FX8_ERR_DEVICE,
                        "cuda: no usable device: device %d (%s): stopped "
                        "answering this process earlier",
                        device->ordinal, device->name);
    const int capability = 10 * properties.major + properties.minor;
    if (capability < LEAST_CAPABILITY)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: no usable device: device %d (%s): compute "
                        "capability %d.%d: expected 6.1 or more",
                        device->ordinal, device->name, properties.major,
                        properties.minor);
    cudaFuncAttributes attributes;
    code = cudaSetDevice(device->ordinal);
    if (code == cudaSuccess)
        code = cudaFuncGetAttributes(&attributes, fx8_correlate_fp32_16_kernel);
    if (code != cudaSuccess)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: no usable device: device %d (%s), compute "
                        "capability %d.%d: cannot run this build: %s",
                        device->ordinal, device->name, properties.major,
                        properties.minor, cudaGetErrorString(code));
    return FX8_OK;
}

/* Number of devices; without a driver it is left unwritten. */
static enum fx8_status count_devices(int *count, struct fx8_error *error)
{
    *count = 0;
    const cudaError_t code = cudaGetDeviceCount(count);
    if (code == cudaErrorInsufficientDriver)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: driver missing: none is installed that can run "
                        "CUDA %d.%d",
                        CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (code == cudaErrorNoDevice || (code == cudaSuccess && *count == 0))
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: no usable device: the driver finds none");
    return fx8_cuda_check(code, nullptr, error, "cudaGetDeviceCount");
}

static enum fx8_status take_listed(const int *ordinals, size_t n_ordinals,
                                   int count, struct fx8_cuda_device *devices,
                                   struct fx8_error *error)
{
    for (size_t k = 0; k < n_ordinals; ++k) {
        devices[k].ordinal = ordinals[k];
        if (ordinals[k] >= count)
            return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                            "cuda: no usable device: device %d: "
                            "expected 0 to %d",
                            ordinals[k], count - 1);
        FX8_TRY(try_device(&devices[k], error));
    }
    return FX8_OK;
}

/* Take the first usable device from one on, going round; else report the error
 * of that one. */
static enum fx8_status take_first(int count, size_t first,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error)
{
    const size_t n = static_cast<size_t>(count);
    enum fx8_status status = FX8_OK;
    for (size_t k = 0; k < n; ++k) {
        device->ordinal = static_cast<int>((first % n + k) % n);
        struct fx8_error other;
        const enum fx8_status usable =
            try_device(device, k == 0 ? error : &other);
        if (usable == FX8_OK)
            return FX8_OK;
        if (k == 0)
            status = usable;
    }
    return status;
}

enum fx8_status fx8_cuda_find_devices(const int *ordinals, size_t n_ordinals,
                                      size_t first,
                                      struct fx8_cuda_device **devices,
                                      size_t *n_devices,
                                      struct fx8_error *error)
{
    *devices = nullptr;
    int count;
    FX8_TRY(count_devices(&count, error));
    *n_devices = n_ordinals == 0 ? 1 : n_ordinals;
    void *memory;
    FX8_TRY(fx8_allocate(*n_devices, sizeof(struct fx8_cuda_device),
                         "CUDA devices", &memory, error));
    *devices = static_cast<struct fx8_cuda_device *>(memory);
    const enum fx8_status status =
        n_ordinals == 0
            ? take_first(count, first, *devices, error)
            : take_listed(ordinals, n_ordinals, count, *devices, error);
    if (status != FX8_OK) {
        free(memory);
        *devices = nullptr;
    }
    return status;
}

enum fx8_status fx8_cuda_enter(const struct fx8_cuda_device *device,
                               struct fx8_error *error)
{
    return fx8_cuda_check(cudaSetDevice(device->ordinal), device, error,
                          "cudaSetDevice");
}

enum fx8_status fx8_cuda_create_stream(const struct fx8_cuda_device *device,
                                       cudaStream_t *stream,
                                       struct fx8_error *error)
{
    return fx8_cuda_check(
        cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), device, error,
        "cudaStreamCreate");
}

enum fx8_status fx8_cuda_create_event(const struct fx8_cuda_device *device,
                                      unsigned flags, cudaEvent_t *event,
                                      struct fx8_error *error)
{
    return fx8_cuda_check(cudaEventCreateWithFlags(event, flags), device, error,
                          "cudaEventCreate");
}

enum fx8_status fx8_cuda_copy(const struct fx8_cuda_device *device,
                              cudaStream_t stream, void *to, const void *from,
                              size_t bytes, cudaMemcpyKind kind,
                              const char *what, struct fx8_error *error)
{
    if (bytes == 0)
        return FX8_OK;
    return fx8_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, stream),
                          device, error, "cudaMemcpyAsync of %s %s",
                          fx8_cuda_bytes(bytes), what);
}

enum fx8_status fx8_cuda_clear(const struct fx8_cuda_device *device,
                               void *memory, size_t bytes,
                               struct fx8_error *error)
{
    return fx8_cuda_check(cudaMemsetAsync(memory, 0, bytes, device->compute),
                          device, error, "cudaMemsetAsync");
}

enum fx8_status fx8_cuda_record(const struct fx8_cuda_device *device,
                                cudaEvent_t event, cudaStream_t stream,
                                struct fx8_error *error)
{
    return fx8_cuda_check(cudaEventRecord(event, stream), device, error,
                          "cudaEventRecord");
}

enum fx8_status fx8_cuda_hold(const struct fx8_cuda_device *device,
                              cudaStream_t stream, cudaEvent_t event,
                              struct fx8_error *error)
{
    return fx8_cuda_check(cudaStreamWaitEvent(stream, event, 0), device, error,
                          "cudaStreamWaitEvent");
}

/* --- waiting ---------------------------------------------------------------
 */

enum fx8_status fx8_cuda_await(const struct fx8_cuda_device *device,
                               cudaEvent_t event, const char *what,
                               struct fx8_error *error)
{
    const cudaError_t code = device->deadline_s > 0
                                 ? fx8_cuda_poll(event, device->deadline_s)
                                 : cudaEventSynchronize(event);
    if (code != cudaErrorNotReady)
        return fx8_cuda_check(code, device, error, "waiting for %s", what);
    (void)cudaGetLastError();
    fx8_cuda_note_lost(device->ordinal);
    return fx8_fail(error, FX8_ERR_DEVICE,
                    "cuda: device %d (%s): waiting for %s: not done within "
                    "%g s",
                    device->ordinal, device->name, what, device->deadline_s);
}

enum fx8_status fx8_cuda_is_over(const struct fx8_cuda_device *device,
                                 cudaEvent_t event, bool *is_over,
                                 struct fx8_error *error)
{
    const cudaError_t code = cudaEventQuery(event);
    *is_over = code == cudaSuccess;
    if (code != cudaErrorNotReady)
        return fx8_cuda_check(code, device, error, "cudaEventQuery");
    (void)cudaGetLastError();
    return FX8_OK;
}

enum fx8_status fx8_cuda_drain(const struct fx8_cuda_device *device,
                               cudaStream_t stream, const char *what,
                               struct fx8_error *error)
{
    FX8_TRY(fx8_cuda_record(device, device->drained, stream, error));
    return fx8_cuda_await(device, device->drained, what, error);
}

enum fx8_status fx8_cuda_settle(const struct fx8_cuda_device *device,
                                const char *what, struct fx8_error *error)
{
    return device->deadline_s > 0
               ? fx8_cuda_drain(device, device->compute, what, error)
               : FX8_OK;
}
