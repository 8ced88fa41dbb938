/* SPDX-License-Identifier: BSD-3-Clause */
/* copies.cc -- see runtime.h: copies and fills, queued like all work. */
#include <string.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "validation/cuda/machine.h"

namespace harness
{

/** A copy of `height` rows. */
struct Copy {
    const char *name;
    unsigned char *to;
    size_t to_pitch;
    const unsigned char *from;
    size_t from_pitch;
    size_t width, height;
    bool is_of_rows; /* by a call that takes pitches */
};

static void run_copy(const Copy &copy)
{
    const OpenAllMemory open;
    for (size_t row = 0; row < copy.height; ++row)
        memcpy(copy.to + row * copy.to_pitch, copy.from + row * copy.from_pitch,
               copy.width);
}

/* The source's present bytes, one row after the other. */
static std::shared_ptr<std::vector<unsigned char>> stage(Copy *copy)
{
    const auto bytes = std::make_shared<std::vector<unsigned char>>(
        copy->width * copy->height);
    for (size_t row = 0; row < copy->height; ++row)
        memcpy(bytes->data() + row * copy->width,
               copy->from + row * copy->from_pitch, copy->width);
    copy->from = bytes->data();
    copy->from_pitch = copy->width;
    return bytes;
}

/** Where memory is. */
enum class Place { PAGEABLE, PINNED, DEVICE };

static Place place_of(const void *address)
{
    uintptr_t base = 0;
    const Allocation *found = find_memory(address, &base);
    if (found == nullptr)
        return Place::PAGEABLE;
    return found->device == HOST ? Place::PINNED : Place::DEVICE;
}

static bool agrees(cudaMemcpyKind kind, Place to, Place from)
{
    const bool to_device = to == Place::DEVICE,
               from_device = from == Place::DEVICE;
    switch (kind) {
    case cudaMemcpyHostToHost:
        return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
        return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
        return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
        return to_device && from_device;
    case cudaMemcpyDefault:
        return true;
    }
    return false;
}

/* Check and queue.  Like CUDA, with pageable memory even an asynchronous copy
 * takes the source's bytes at once, and a result arrives before the call
 * returns. */
static cudaError_t queue_copy(Copy copy, cudaMemcpyKind kind,
                              cudaStream_t stream, bool is_synchronous)
{
    FX8_ENTER(copy.name);
    CUstream_st *const queue = find_stream(stream);
    if (queue == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (copy.width == 0 || copy.height == 0)
        return cudaSuccess;
    const size_t pitch = std::max(copy.to_pitch, copy.from_pitch);
    if (copy.to_pitch < copy.width || copy.from_pitch < copy.width ||
        (copy.is_of_rows && pitch > settings().most_pitch))
        return failed(cudaErrorInvalidPitchValue);
    const Place to = place_of(copy.to), from = place_of(copy.from);
    if (!agrees(kind, to, from))
        fault("%s: from %p to %p is not the direction stated", copy.name,
              static_cast<const void *>(copy.from),
              static_cast<const void *>(copy.to));
    check_range(copy.name, copy.to,
                (copy.height - 1) * copy.to_pitch + copy.width);
    check_range(copy.name, copy.from,
                (copy.height - 1) * copy.from_pitch + copy.width);
    std::shared_ptr<std::vector<unsigned char>> staged;
    if (from == Place::PAGEABLE && to == Place::DEVICE)
        staged = stage(&copy);
    const WorkPointer work =
        queue_work(queue, [copy, staged] { run_copy(copy); });
    const bool on_device = from == Place::DEVICE && to == Place::DEVICE;
    if ((is_synchronous && !on_device && staged == nullptr) ||
        to == Place::PAGEABLE)
        finish({work});
    return cudaSuccess;
}

static Copy rows(const char *name, void *to, size_t to_pitch, const void *from,
                 size_t from_pitch, size_t width, size_t height)
{
    return {name,       static_cast<unsigned char *>(to),
            to_pitch,   static_cast<const unsigned char *>(from),
            from_pitch, width,
            height,     true};
}

static Copy bytes_of(const char *name, void *to, const void *from, size_t bytes)
{
    Copy copy = rows(name, to, bytes, from, bytes, bytes, 1);
    copy.is_of_rows = false;
    return copy;
}

static cudaError_t queue_fill(const char *name, void *address, int value,
                              size_t bytes, cudaStream_t stream)
{
    FX8_ENTER(name);
    CUstream_st *const queue = find_stream(stream);
    if (queue == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (bytes == 0)
        return cudaSuccess;
    if (place_of(address) == Place::PAGEABLE)
        fault("%s: %p is neither on a device nor pinned", name, address);
    check_range(name, address, bytes);
    queue_work(queue, [address, value, bytes] {
        const OpenAllMemory open;
        memset(address, value, bytes);
    });
    return cudaSuccess;
}

} // namespace harness

using harness::bytes_of;
using harness::queue_copy;
using harness::rows;

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind)
{
    return queue_copy(bytes_of("cudaMemcpy", to, from, bytes), kind, nullptr,
                      true);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream)
{
    return queue_copy(bytes_of("cudaMemcpyAsync", to, from, bytes), kind,
                      stream, false);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream)
{
    return queue_copy(rows("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch,
                           width, height),
                      kind, stream, false);
}

cudaError_t cudaMemset(void *address, int value, size_t bytes)
{
    return harness::queue_fill("cudaMemset", address, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t bytes,
                            cudaStream_t stream)
{
    return harness::queue_fill("cudaMemsetAsync", address, value, bytes,
                               stream);
}
