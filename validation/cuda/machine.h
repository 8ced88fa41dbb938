/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.h -- the pretend machine behind runtime.h: devices and their memory,
 * queued work, and the entry that every call passes.
 *
 * One lock guards everything and is held while work runs, so host threads take
 * turns.  Work is done when a thread waits for it, and by that thread.  Each
 * piece lists the earlier ones that must be done first (its stream's last one,
 * events, the default stream).  The settings choose one of the possible orders.
 *
 * A device's memory is one range of addresses, accessible only while work of
 * that device runs: host code that dereferences a device pointer, or a kernel
 * that dereferences another device's, stops at once.
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
    uint64_t number; /* in order of queueing */
    int device;
    bool is_blocking; /* its stream: the default stream waits for it */
    std::function<void()> run;
    std::vector<std::shared_ptr<Work>> before;
    bool is_done;
    const char *hangs; /* name of the kernel, if it never ends; or null */
    std::chrono::steady_clock::time_point done_at;
};
using WorkPointer = std::shared_ptr<Work>;

} // namespace harness

struct CUstream_st {
    int device;
    bool is_blocking; /* it and the default stream wait for each other */
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
    unsigned char *range; /* addresses of its memory */
    size_t range_bytes;
    size_t used_bytes;
    int n_open; /* number of OpenMemory objects */
    CUstream_st default_stream;
};

struct Machine {
    std::recursive_mutex lock;
    std::vector<Device> devices;
    Allocations memory;
    std::set<cudaStream_t> streams;
    std::set<cudaEvent_t> events;
    size_t n_plans; /* plans of cuFFT */
    std::vector<WorkPointer> pending;
    uint64_t n_queued;
    bool has_hung; /* a kernel that never ends was queued */
    uint64_t n_calls;
    std::vector<uint64_t> launches; /* numbers of the calls that launched */
    std::map<std::string, uint64_t> kinds; /* the first call of each name */
    std::string failed_call;
    std::map<const void *, int> shared_limits;     /* opted in, by kernel */
    std::set<std::pair<int, const void *>> loaded; /* device, kernel */
    uint64_t random;
};

/** The machine; made from the settings on first use. */
Machine &machine();

/**
 * Begins a call: takes the lock, counts the call, and fails it if the settings
 * say so.
 */
class Entry
{
  public:
    explicit Entry(const char *name);
    cudaError_t error;

  private:
    std::unique_lock<std::recursive_mutex> lock_;
};

/** Begins a call, and returns its error from the caller if it is made to fail.
 */
#define FX8_ENTER(name)                                                        \
    const harness::Entry entry(name);                                          \
    if (entry.error != cudaSuccess)                                            \
    return entry.error

/** Returns the thread's last error, and resets it if `is_forgotten`. */
cudaError_t take_last_error(bool is_forgotten);

/** Remember an error as the thread's last; returns it. */
cudaError_t failed(cudaError_t error);

/** Make devices by the settings; remove them. */
void make_devices(Machine *machine);
void free_devices(Machine *machine);

/** The current device of this host thread. */
int current_device();

/** The stream, or the device's default stream for null; null if invalid. */
CUstream_st *find_stream(cudaStream_t stream);

/** Queue work; eager streams do it at once. */
WorkPointer queue_work(CUstream_st *stream, std::function<void()> run,
                       const char *hangs = nullptr);

/** The never-ending kernel that the work waits for, or null; and the one that a
 *  device has queued or begun. */
const char *hanging_before(const WorkPointer &work);
const char *hanging_on(int device);

/** A fault if a kernel is used first while another never ends: loading it would
 *  wait for that one. */
void note_loaded(int device, const void *kernel);

/** Do `wanted` and all work before it; a fault if that never ends. */
void finish(const std::vector<WorkPointer> &wanted);
void finish_device(int device);

/** The allocation that holds `address`, or null; `base` gets its start. */
const Allocation *find_memory(const void *address, uintptr_t *base);

/** If `address` is in an allocation, a fault unless [address, address + bytes)
 *  is. */
void check_range(const char *what, const void *address, size_t bytes);

/** A fault if a write passed the end of an allocation of the device. */
void check_ends(int device);

/** Memory of a device; null at the end of the limit or the range. */
void *device_allocate(int device, size_t bytes);
void device_release(void *address);

/** While one exists, memory of the device is accessible. */
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

/** Makes all memory accessible, for copies between devices. */
class OpenAllMemory
{
  public:
    OpenAllMemory();

  private:
    std::vector<std::unique_ptr<OpenMemory>> each_;
};

} // namespace harness

#endif
