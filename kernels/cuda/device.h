/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h -- devices for engine and imager: choice, error messages, streams,
 * waits (device.cu), memory (memory.cu).
 */
#ifndef FX8_KERNELS_CUDA_DEVICE_H
#define FX8_KERNELS_CUDA_DEVICE_H

#include <cufft.h>
#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/cuda/launch.h"

/** A device and its state: engine_cuda.h. */
struct fx8_cuda_device;

/* --- device.cu ------------------------------------------------------------ */

/**
 * fx8_cuda_check -- turn the result of a runtime call into a status and
 * message.
 *
 * Given:  device  of the call, or NULL
 *         format  the call, "cudaMalloc of 1.2 GiB"
 * Status: FX8_OK for success, else FX8_ERR_DEVICE: "cuda: device 0 (NAME):
 *         WHAT: message of the runtime"
 */
enum fx8_status fx8_cuda_check(cudaError_t code,
                               const struct fx8_cuda_device *device,
                               struct fx8_error *error, const char *format, ...)
    FX8_PRINTF(4, 5);

/** The same for cuFFT. */
enum fx8_status fx8_cuda_check_fft(cufftResult code,
                                   const struct fx8_cuda_device *device,
                                   struct fx8_error *error, const char *what);

/**
 * fx8_cuda_find_devices -- find the requested devices, or the first usable one.
 *
 * Given:    ordinals   [n_ordinals]; n_ordinals 0: the first usable device
 *           first      from this ordinal on, going round
 * Returned: devices    [n_devices], ordinal and name; the caller frees it
 * Status:   FX8_ERR_UNSUPPORTED: no driver, or a device is missing or not
 *           usable
 */
enum fx8_status fx8_cuda_find_devices(const int *ordinals, size_t n_ordinals,
                                      size_t first,
                                      struct fx8_cuda_device **devices,
                                      size_t *n_devices,
                                      struct fx8_error *error);

/** Make the device current in this thread. */
enum fx8_status fx8_cuda_enter(const struct fx8_cuda_device *device,
                               struct fx8_error *error);

/** Create a stream that waits for no other. */
enum fx8_status fx8_cuda_create_stream(const struct fx8_cuda_device *device,
                                       cudaStream_t *stream,
                                       struct fx8_error *error);

/** Create an event. */
enum fx8_status fx8_cuda_create_event(const struct fx8_cuda_device *device,
                                      unsigned flags, cudaEvent_t *event,
                                      struct fx8_error *error);

/** Queue a copy, unless it has no bytes; an error says how many and `what` they
 *  are: "of gains", "to the host". */
enum fx8_status fx8_cuda_copy(const struct fx8_cuda_device *device,
                              cudaStream_t stream, void *to, const void *from,
                              size_t bytes, cudaMemcpyKind kind,
                              const char *what, struct fx8_error *error);

/** Queue zeros into the compute stream. */
enum fx8_status fx8_cuda_clear(const struct fx8_cuda_device *device,
                               void *memory, size_t bytes,
                               struct fx8_error *error);

/** Record an event after the work queued in a stream of the device. */
enum fx8_status fx8_cuda_record(const struct fx8_cuda_device *device,
                                cudaEvent_t event, cudaStream_t stream,
                                struct fx8_error *error);

/** Make a stream of the device wait for an event, which may belong to another
 *  device; no wait if it was never recorded. */
enum fx8_status fx8_cuda_hold(const struct fx8_cuda_device *device,
                              cudaStream_t stream, cudaEvent_t event,
                              struct fx8_error *error);

/**
 * fx8_cuda_await -- wait for an event of the device.  Every wait of the engine
 * uses it.
 *
 * Given:  what  the work waited for, "correlating", for the message
 * Status: FX8_ERR_DEVICE: the runtime failed, or the deadline has passed and
 *         the device counts as stuck
 */
enum fx8_status fx8_cuda_await(const struct fx8_cuda_device *device,
                               cudaEvent_t event, const char *what,
                               struct fx8_error *error);

/** Whether an event of the device has completed, without waiting. */
enum fx8_status fx8_cuda_is_over(const struct fx8_cuda_device *device,
                                 cudaEvent_t event, bool *is_over,
                                 struct fx8_error *error);

/** Wait for all work queued in a stream of the device. */
enum fx8_status fx8_cuda_drain(const struct fx8_cuda_device *device,
                               cudaStream_t stream, const char *what,
                               struct fx8_error *error);

/** With a deadline: wait for the compute work just queued, so that no kernel is
 *  loaded behind one that never ends; the message names that one. */
enum fx8_status fx8_cuda_settle(const struct fx8_cuda_device *device,
                                const char *what, struct fx8_error *error);

/* --- memory.cu ------------------------------------------------------------ */

/** When set: KiB of device memory that an engine or imager may use, if below
 * the free memory: for tests of sizes that depend on it. */
#define FX8_CUDA_MEMORY_VARIABLE "FX8_CUDA_MEMORY_KIB"

/** An array on the device, or pinned on the host. */
struct fx8_cuda_array {
    void *pointer;             /**< address of a pointer to objects */
    size_t n_items, item_size; /**< 0: not needed */
    bool is_pinned = false;
    bool is_zero = false; /**< zero after allocation */
};

/** Bytes of device memory that may be used now. */
enum fx8_status fx8_cuda_find_usable(const struct fx8_cuda_device *device,
                                     size_t *usable, struct fx8_error *error);

/** Bytes of the arrays, on the device or on the host; each allocation on a
 *  device begins at a multiple of 512. */
size_t fx8_cuda_arrays_bytes(const struct fx8_cuda_array *arrays, size_t n,
                             bool is_pinned);

/** Allocate arrays, NULL before, on the current device;
 *  fx8_cuda_free_arrays() frees them, also after a failure. */
enum fx8_status fx8_cuda_allocate_arrays(const struct fx8_cuda_array *arrays,
                                         size_t n,
                                         struct fx8_cuda_device *device,
                                         struct fx8_error *error);

/** Free arrays; NULL is legal. */
void fx8_cuda_free_arrays(const struct fx8_cuda_array *arrays, size_t n);

/** Format a number of bytes, "1.2 GiB"; the text is reused after eight calls.
 */
const char *fx8_cuda_bytes(size_t bytes);

#endif
