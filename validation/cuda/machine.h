/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.h -- the pretend machine behind runtime.h: devices and their memory,
 * work that is queued, and the gate through which every call goes.
 *
 * One lock guards it all and is held while work runs: host threads take turns.
 * Work is done when something waits for it, by whoever waits.  Each piece
 * names the earlier ones that must be done first (its stream's last one,
 * events, the default stream); any order that keeps to that may be taken, and
 * the settings say which.
 *
 * A device's memory lies in one range of addresses that nobody may touch but
 * while work of that device runs: host code that follows a device pointer, and
 * a kernel that follows another device's, are stopped at once.
 */
#ifndef FX8_VALIDATION_CUDA_MACHINE_H
#define FX8_VALIDATION_CUDA_MACHINE_H

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "validation/cuda/runtime.h"

namespace harness
{

/** A piece of queued work. */
struct Work {
    uint64_t number; /* in the order of queueing */
    int device;
    bool is_blocking; /* of a stream that the default stream waits for */
    std::function<void()> run;
    std::vector<std::shared_ptr<Work>> before;
    bool is_done;
    const char *hangs; /* the kernel that never ends; or null */
    std::chrono::steady_clock::time_point done_at;
};
using WorkPointer = std::shared_ptr<Work>;

} // namespace harness

struct CUstream_st {
    int device;
    bool is_blocking; /* waits for the default stream, and it for this */
    harness::WorkPointer last;
};

struct CUevent_st {
    int device;
    bool has_time;
    harness::WorkPointer record;
};

namespace harness
{

struct Allocation {
    size_t bytes;
    int device;         /* or HOST */
    bool is_registered; /* the caller's memory, pinned */
};
constexpr int HOST = -1;

/** Allocations by address. */
using Allocations = std::map<uintptr_t, Allocation>;

struct Device {
    unsigned char *range; /* of addresses, where its memory is */
    size_t range_bytes;
    size_t used_bytes;
    int n_open; /* OpenMemory's */
    CUstream_st default_stream;
};

struct Machine {
    std::recursive_mutex lock;
    std::vector<Device> devices;
    Allocations memory;
    std::set<cudaStream_t> streams;
    std::set<cudaEvent_t> events;
    size_t n_plans; /* cuFFT's */
    std::vector<WorkPointer> pending;
    uint64_t n_queued;
    bool has_hung; /* a kernel that never ends was queued */
    uint64_t n_calls;
    std::string failed_call;
    std::map<const void *, int> shared_limits;     /* of kernels, opted in */
    std::set<std::pair<int, const void *>> loaded; /* device, kernel */
    uint64_t random;
};

/** The machine; made by the settings on the first use. */
Machine &machine();

/**
 * A call's way in: takes the lock, counts, and may be the one that must fail.
 *
 *     const Entry entry("cudaMalloc");
 *     if (entry.error != cudaSuccess)
 *         return entry.error;
 */
class Entry
{
  public:
    explicit Entry(const char *name);
    cudaError_t error;

  private:
    std::unique_lock<std::recursive_mutex> lock_;
};

/** The thread's last error, and forget it or not. */
cudaError_t take_last_error(bool is_forgotten);

/** Remember an error as the thread's last; returns it. */
cudaError_t failed(cudaError_t error);

/** Devices as the settings say; their end. */
void make_devices(Machine *machine);
void free_devices(Machine *machine);

/** The device that this thread of the host works with. */
int current_device();

/** The stream, or its device's default one for null; null if it is none. */
CUstream_st *find_stream(cudaStream_t stream);

/** Queue work; with eager streams it is done at once. */
WorkPointer queue_work(CUstream_st *stream, std::function<void()> run,
                       const char *hangs = nullptr);

/** The kernel that never ends and that the work waits for, or null; and that
 *  a device has, queued or begun. */
const char *hanging_before(const WorkPointer &work);
const char *hanging_on(int device);

/** A fault where a kernel that was not used before would be loaded beside one
 *  that never ends: it would wait for it. */
void note_loaded(int device, const void *kernel);

/** Do what must be done for `wanted` to be done; a fault if that is never. */
void finish(const std::vector<WorkPointer> &wanted);
void finish_device(int device);

/** What holds [address, ...), or null; `base` gets where it begins. */
const Allocation *find_memory(const void *address, uintptr_t *base);

/** A fault unless [address, address + bytes) lies in one allocation, where
 *  it begins in one. */
void check_range(const char *what, const void *address, size_t bytes);

/** A fault if a write went beyond the end of an allocation of the device. */
void check_ends(int device);

/** Memory of a device; null where the limit or the range is reached. */
void *device_allocate(int device, size_t bytes);
void device_release(void *address);

/** While one exists, memory of the device may be touched. */
class OpenMemory
{
  public:
    explicit OpenMemory(int device);
    ~OpenMemory();
    OpenMemory(const OpenMemory &) = delete;
    OpenMemory &operator=(const OpenMemory &) = delete;

  private:
    int device_;
};

/** All memory open: for copies between devices. */
class OpenAllMemory
{
  public:
    OpenAllMemory();

  private:
    std::vector<std::unique_ptr<OpenMemory>> each_;
};

} // namespace harness

#endif
