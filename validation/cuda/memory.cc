/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.cc -- see machine.h: devices' memory, and the host's pinned memory. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "validation/cuda/checkers.h"
#include "validation/cuda/machine.h"

namespace harness
{

/* Allocations begin at multiples of this, like CUDA's, and each is followed by
 * as much unallocated memory. */
static const size_t UNIT = 512;
static const int GARBAGE = 0xa5;
static const unsigned char CANARY = 0x5c;

static size_t round_up(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

/* --- devices
 * ------------------------------------------------------------------------ */

static struct sigaction earlier_handler;

/* Report an access to a device's memory while it is closed. */
static void on_segmentation_fault(int number, siginfo_t *info, void *context)
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr);
    const std::vector<Device> &devices = machine().devices;
    for (size_t k = 0; k < devices.size(); ++k) {
        const uintptr_t low = reinterpret_cast<uintptr_t>(devices[k].range);
        if (at - low < devices[k].range_bytes)
            fault("%p, memory of device %zu, is touched by host code or by "
                  "another device",
                  info->si_addr, k);
    }
    /* Not a device's: the earlier handler, or the default when the access
     * repeats. */
    if ((earlier_handler.sa_flags & SA_SIGINFO) != 0)
        earlier_handler.sa_sigaction(number, info, context);
    else
        sigaction(SIGSEGV, &earlier_handler, nullptr);
}

static void install_handler()
{
    struct sigaction action = {};
    action.sa_sigaction = on_segmentation_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &earlier_handler);
}

void make_devices(Machine *made)
{
    static bool has_handler = false;
    if (!has_handler)
        install_handler();
    has_handler = true;
    const Settings &read = settings();
    const int count = read.n_devices == NO_DRIVER ? 0 : read.n_devices;
    made->devices.resize(static_cast<size_t>(count));
    for (int k = 0; k < count; ++k) {
        /* Twice the memory: the limit is on the bytes allocated, not on
         * addresses. */
        const size_t bytes = 2 * read.memory_bytes + (size_t(16) << 20);
        void *range = mmap(nullptr, bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED)
            fault("no addresses for the memory of device %d", k);
        /* Large pages are opened and closed quickly. */
        madvise(range, bytes, MADV_HUGEPAGE);
        made->devices[static_cast<size_t>(k)] = {
            static_cast<unsigned char *>(range), bytes, 0, 0, {k, false, {}}};
    }
}

void free_devices(Machine *made)
{
    for (const Device &device : made->devices) {
        address_allow(device.range, device.range_bytes);
        munmap(device.range, device.range_bytes);
    }
    made->devices.clear();
}

OpenMemory::OpenMemory(int device) : device_(device)
{
    Device &d = machine().devices[static_cast<size_t>(device)];
    if (d.n_open++ == 0)
        mprotect(d.range, d.range_bytes, PROT_READ | PROT_WRITE);
}

OpenMemory::~OpenMemory()
{
    Device &d = machine().devices[static_cast<size_t>(device_)];
    if (--d.n_open == 0)
        mprotect(d.range, d.range_bytes, PROT_NONE);
}

OpenAllMemory::OpenAllMemory()
{
    for (size_t k = 0; k < machine().devices.size(); ++k)
        each_.emplace_back(new OpenMemory(static_cast<int>(k)));
}

/* --- allocations
 * ---------------------------------------------------------------------- */

const Allocation *find_memory(const void *address, uintptr_t *base)
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    const Allocations &memory = machine().memory;
    Allocations::const_iterator next = memory.upper_bound(at);
    if (next == memory.begin())
        return nullptr;
    --next;
    const Allocation &found = next->second;
    const size_t bytes = found.bytes == 0 ? 1 : found.bytes;
    if (at - next->first >= bytes)
        return nullptr;
    *base = next->first;
    return &found;
}

void check_range(const char *what, const void *address, size_t bytes)
{
    uintptr_t base = 0;
    const Allocation *found = find_memory(address, &base);
    const size_t offset = reinterpret_cast<uintptr_t>(address) - base;
    if (found != nullptr && bytes > found->bytes - offset)
        fault("%s: %zu bytes at %p, which is at %zu of an allocation of %zu "
              "bytes",
              what, bytes, address, offset, found->bytes);
}

#if !FX8_ADDRESS_CHECKER
/* Runs for every allocation after each piece of work, so it is hidden from the
 * thread checker. */
FX8_UNSEEN static size_t count_untouched(const unsigned char *bytes, size_t n)
{
    size_t k = 0;
    while (k < n && bytes[k] == CANARY)
        ++k;
    return k;
}
#endif

void check_ends(int device)
{
#if !FX8_ADDRESS_CHECKER /* there the write itself is an error */
    for (const auto &each : machine().memory) {
        if (each.second.device != device)
            continue;
        const size_t bytes = each.second.bytes;
        const unsigned char *end =
            reinterpret_cast<const unsigned char *>(each.first) + bytes;
        const size_t n = round_up(bytes) - bytes + UNIT;
        const size_t k = count_untouched(end, n);
        if (k < n)
            fault("device %d: a write %zu bytes beyond the end of an "
                  "allocation of %zu bytes",
                  device, k, bytes);
    }
#else
    (void)device;
#endif
}

/* The first gap that is large enough in the device's range. */
static unsigned char *find_gap(const Device &device, size_t bytes)
{
    uintptr_t at = reinterpret_cast<uintptr_t>(device.range);
    const uintptr_t end = at + device.range_bytes;
    for (const auto &each : machine().memory) {
        if (each.first < at || each.first >= end)
            continue;
        if (each.first - at >= bytes)
            break;
        at = each.first + round_up(each.second.bytes) + UNIT;
    }
    return end - at < bytes ? nullptr : reinterpret_cast<unsigned char *>(at);
}

void *device_allocate(int device, size_t bytes)
{
    Machine &m = machine();
    Device &d = m.devices[static_cast<size_t>(device)];
    const size_t rounded = round_up(bytes);
    if (rounded < bytes || rounded > settings().memory_bytes - d.used_bytes)
        return nullptr;
    unsigned char *address = find_gap(d, rounded + UNIT);
    if (address == nullptr)
        return nullptr;
    const OpenMemory open(device);
    address_allow(address, rounded + UNIT);
    memset(address, GARBAGE, bytes);
    memset(address + bytes, CANARY, rounded - bytes + UNIT);
    address_forbid(address + bytes, rounded - bytes + UNIT);
    m.memory[reinterpret_cast<uintptr_t>(address)] = {bytes, device, false};
    d.used_bytes += rounded;
    return address;
}

void device_release(void *address)
{
    Machine &m = machine();
    const Allocations::iterator found =
        m.memory.find(reinterpret_cast<uintptr_t>(address));
    const size_t bytes = found->second.bytes;
    Device &d = m.devices[static_cast<size_t>(found->second.device)];
    const OpenMemory open(found->second.device);
    address_allow(address, round_up(bytes) + UNIT);
    memset(address, GARBAGE, bytes);
    address_forbid(address, round_up(bytes) + UNIT);
    d.used_bytes -= round_up(bytes);
    m.memory.erase(found);
}

/* The allocation at `address`, which must be of the kind that this call frees.
 */
static Allocations::iterator must_find(const char *what, void *address,
                                       bool is_device, bool is_registered)
{
    Machine &m = machine();
    const Allocations::iterator found =
        m.memory.find(reinterpret_cast<uintptr_t>(address));
    if (found == m.memory.end() ||
        (found->second.device != HOST) != is_device ||
        found->second.is_registered != is_registered)
        fault("%s: %p is not allocated, or not this way", what, address);
    return found;
}

} // namespace harness

using harness::Entry;
using harness::failed;
using harness::machine;

cudaError_t cudaMalloc(void **address, size_t bytes)
{
    FX8_ENTER("cudaMalloc");
    *address = nullptr;
    if (machine().devices.empty())
        return failed(cudaErrorNoDevice);
    if (bytes == 0)
        return cudaSuccess;
    *address = harness::device_allocate(harness::current_device(), bytes);
    return *address == nullptr ? failed(cudaErrorMemoryAllocation)
                               : cudaSuccess;
}

/* Even if it is made to fail, the memory is freed: on a real device the error
 * returned here comes from earlier work. */
cudaError_t cudaFree(void *address)
{
    const Entry entry("cudaFree");
    if (address == nullptr)
        return entry.error;
    const int device =
        harness::must_find("cudaFree", address, true, false)->second.device;
    harness::finish_device(device);
    harness::device_release(address);
    return entry.error;
}

cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned)
{
    FX8_ENTER("cudaHostAlloc");
    const size_t page = 4096;
    const size_t rounded = (bytes + page - 1) / page * page;
    *address = aligned_alloc(page, rounded);
    if (*address == nullptr || bytes == 0)
        return failed(bytes == 0 ? cudaErrorInvalidValue
                                 : cudaErrorMemoryAllocation);
    unsigned char *begin = static_cast<unsigned char *>(*address);
    memset(begin, harness::GARBAGE, rounded);
    harness::address_forbid(begin + bytes, rounded - bytes);
    machine().memory[reinterpret_cast<uintptr_t>(begin)] = {
        bytes, harness::HOST, false};
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **address, size_t bytes)
{
    return cudaHostAlloc(address, bytes, cudaHostAllocDefault);
}

/* Work that uses the memory is done first, on every device, as in CUDA. */
static void release_host(harness::Allocations::iterator found)
{
    for (size_t k = 0; k < machine().devices.size(); ++k)
        harness::finish_device(static_cast<int>(k));
    machine().memory.erase(found);
}

cudaError_t cudaFreeHost(void *address)
{
    const Entry entry("cudaFreeHost");
    if (address == nullptr)
        return entry.error;
    const auto found =
        harness::must_find("cudaFreeHost", address, false, false);
    harness::address_allow(address, found->second.bytes + 4096);
    release_host(found);
    free(address);
    return entry.error;
}

cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned)
{
    FX8_ENTER("cudaHostRegister");
    uintptr_t base = 0;
    if (address == nullptr || bytes == 0)
        return failed(cudaErrorInvalidValue);
    if (harness::find_memory(address, &base) != nullptr ||
        harness::find_memory(static_cast<char *>(address) + bytes - 1, &base))
        return failed(cudaErrorHostMemoryAlreadyRegistered);
    machine().memory[reinterpret_cast<uintptr_t>(address)] = {
        bytes, harness::HOST, true};
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *address)
{
    const Entry entry("cudaHostUnregister");
    release_host(
        harness::must_find("cudaHostUnregister", address, false, true));
    return entry.error;
}
