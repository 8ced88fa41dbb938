/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.cc -- see machine.h: calls, queued work, beginning and end. */
#include "validation/cuda/machine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace harness
{

/* At exit: the report, and the check for leaks. */
static void close_machine()
{
    const Settings &read = settings();
    const size_t n_live = count_live();
    if (read.report != nullptr) {
        FILE *file = fopen(read.report, "w");
        if (file == nullptr)
            fault("%s: cannot write the report", read.report);
        fprintf(file, "calls %llu\nfailed %s\nlive %zu\n",
                static_cast<unsigned long long>(count_calls()),
                failed_call() != nullptr ? failed_call() : "none", n_live);
        fprintf(file, "launches%s", machine().launches.empty() ? " none" : "");
        for (const uint64_t number : machine().launches)
            fprintf(file, " %llu", static_cast<unsigned long long>(number));
        fprintf(file, "\nkinds");
        for (const auto &kind : machine().kinds)
            fprintf(file, " %llu",
                    static_cast<unsigned long long>(kind.second));
        fprintf(file, "\n");
        fclose(file);
    }
    /* nothing can be freed while a kernel never ends */
    if (n_live != 0 && read.leaks_are_faults && !machine().has_hung) {
        fflush(nullptr);
        fault("at exit %zu allocations, streams, events or plans still exist",
              n_live);
    }
}

/* Never destroyed: other threads may use it while the program ends. */
static Machine *make_machine()
{
    Machine *made = new Machine();
    made->random = settings().streams.seed;
    make_devices(made);
    atexit(close_machine);
    return made;
}

Machine &machine()
{
    static Machine *const only = make_machine();
    return *only;
}

void reset_devices()
{
    Machine &m = machine();
    std::lock_guard<std::recursive_mutex> guard(m.lock);
    for (size_t k = 0; k < m.devices.size(); ++k)
        finish_device(static_cast<int>(k));
    if (count_live() != 0)
        fault("reset with %zu allocations, streams, events or plans alive",
              count_live());
    free_devices(&m);
    m.shared_limits.clear();
    m.loaded.clear();
    m.n_calls = 0;
    m.launches.clear();
    m.kinds.clear();
    m.failed_call.clear();
    m.random = settings().streams.seed;
    make_devices(&m);
    cudaSetDevice(0);
    cudaGetLastError();
    m.n_calls = 0;
}

uint64_t count_calls()
{
    std::lock_guard<std::recursive_mutex> guard(machine().lock);
    return machine().n_calls;
}

const char *failed_call()
{
    std::lock_guard<std::recursive_mutex> guard(machine().lock);
    const std::string &name = machine().failed_call;
    return name.empty() ? nullptr : name.c_str();
}

size_t count_live()
{
    Machine &m = machine();
    std::lock_guard<std::recursive_mutex> guard(m.lock);
    return m.memory.size() + m.streams.size() + m.events.size() + m.n_plans;
}

/* --- calls
 * ----------------------------------------------------------------------- */

static thread_local cudaError_t last_error = cudaSuccess;

cudaError_t failed(cudaError_t error)
{
    last_error = error;
    return error;
}

static bool do_one_of(std::vector<WorkPointer> &candidates, Machine &m);

Entry::Entry(const char *name) : error(cudaSuccess), lock_(machine().lock)
{
    Machine &m = machine();
    const uint64_t fail_call = settings().fail_call;
    const bool is_first = ++m.n_calls == fail_call;
    m.kinds.emplace(name, m.n_calls);
    if (is_first)
        m.failed_call = name;
    if (is_first ||
        (settings().fails_on && fail_call != 0 && m.n_calls > fail_call)) {
        error = failed(static_cast<cudaError_t>(settings().fail_error));
    } else if (settings().n_devices == NO_DRIVER) {
        error = failed(cudaErrorInsufficientDriver);
    }
    /* Now and then the device progresses by itself. */
    if (settings().streams.kind == Order::RANDOM)
        while (random_next(&m.random) % 3 == 0 && do_one_of(m.pending, m))
            ;
}

cudaError_t take_last_error(bool is_forgotten)
{
    const cudaError_t error = last_error;
    if (is_forgotten)
        last_error = cudaSuccess;
    return error;
}

/* --- work
 * -------------------------------------------------------------------------- */

const char *hanging_on(int device)
{
    for (const WorkPointer &work : machine().pending)
        if (work->device == device && work->hangs != nullptr)
            return work->hangs;
    return nullptr;
}

void note_loaded(int device, const void *kernel)
{
    const char *const name = hanging_on(device);
    Dl_info info = {};
    if (machine().loaded.insert({device, kernel}).second && name != nullptr)
        fault("%s is loaded while %s runs, which never ends",
              dladdr(kernel, &info) != 0 && info.dli_sname != nullptr
                  ? info.dli_sname
                  : "a kernel",
              name);
}

static bool is_ready(const WorkPointer &work)
{
    return work->hangs == nullptr &&
           std::all_of(work->before.begin(), work->before.end(),
                       [](const WorkPointer &other) { return other->is_done; });
}

static void perform(const WorkPointer &work, Machine &m)
{
    {
        const OpenMemory open(work->device);
        work->run();
        check_ends(work->device);
    }
    work->is_done = true;
    work->done_at = std::chrono::steady_clock::now();
    work->run = nullptr;
    work->before.clear();
    m.pending.erase(std::find(m.pending.begin(), m.pending.end(), work));
}

/* Do one of the candidates that are ready: the last queued one, which exposes
 * missing waits, or a random one. */
static bool do_one_of(std::vector<WorkPointer> &candidates, Machine &m)
{
    const bool is_any = settings().streams.kind == Order::RANDOM;
    std::vector<size_t> ready; /* last one first */
    for (size_t k = candidates.size(); k-- > 0 && (is_any || ready.empty());)
        if (!candidates[k]->is_done && is_ready(candidates[k]))
            ready.push_back(k);
    if (ready.empty())
        return false;
    size_t chosen = ready[0];
    if (is_any)
        chosen =
            ready[ready.size() - 1 - random_next(&m.random) % ready.size()];
    const WorkPointer work = candidates[chosen];
    if (&candidates != &m.pending)
        candidates.erase(candidates.begin() + static_cast<ptrdiff_t>(chosen));
    perform(work, m);
    return true;
}

/* Do `wanted` and everything it needs, in the order of queueing. */
static std::vector<WorkPointer> needed(const std::vector<WorkPointer> &wanted)
{
    std::vector<WorkPointer> found;
    std::set<const Work *> seen;
    std::vector<WorkPointer> open(wanted);
    while (!open.empty()) {
        const WorkPointer work = open.back();
        open.pop_back();
        if (!work || work->is_done || !seen.insert(work.get()).second)
            continue;
        found.push_back(work);
        open.insert(open.end(), work->before.begin(), work->before.end());
    }
    std::sort(found.begin(), found.end(),
              [](const WorkPointer &a, const WorkPointer &b) {
                  return a->number < b->number;
              });
    return found;
}

const char *hanging_before(const WorkPointer &work)
{
    if (!machine().has_hung)
        return nullptr;
    for (const WorkPointer &each : needed({work}))
        if (each->hangs != nullptr)
            return each->hangs;
    return nullptr;
}

/* None of the wanted work can ever be done. */
[[noreturn]] static void refuse_to_wait(const std::vector<WorkPointer> &wanted)
{
    for (const WorkPointer &work : wanted)
        if (work && !work->is_done && hanging_before(work) != nullptr)
            fault("a wait for %s, which never ends", hanging_before(work));
    fault("work that waits for itself");
}

void finish(const std::vector<WorkPointer> &wanted)
{
    Machine &m = machine();
    std::vector<WorkPointer> candidates = needed(wanted);
    const auto all_done = [&] {
        return std::all_of(
            wanted.begin(), wanted.end(),
            [](const WorkPointer &work) { return !work || work->is_done; });
    };
    const bool any = settings().streams.kind == Order::RANDOM;
    while (!all_done())
        if (!do_one_of(any ? m.pending : candidates, m))
            refuse_to_wait(wanted);
}

void finish_device(int device)
{
    std::vector<WorkPointer> wanted;
    for (const WorkPointer &work : machine().pending)
        if (work->device == device)
            wanted.push_back(work);
    finish(wanted);
}

WorkPointer queue_work(CUstream_st *stream, std::function<void()> run,
                       const char *hangs)
{
    Machine &m = machine();
    Device &device = m.devices[static_cast<size_t>(stream->device)];
    const WorkPointer work(new Work{++m.n_queued,
                                    stream->device,
                                    stream->is_blocking,
                                    std::move(run),
                                    {},
                                    false,
                                    hangs,
                                    {}});
    m.has_hung = m.has_hung || hangs != nullptr;
    const auto wait_for = [&](const WorkPointer &other) {
        if (other && !other->is_done)
            work->before.push_back(other);
    };
    wait_for(stream->last);
    if (stream == &device.default_stream) {
        for (const WorkPointer &other : m.pending)
            if (other->is_blocking && other->device == stream->device)
                wait_for(other);
    } else if (stream->is_blocking) {
        wait_for(device.default_stream.last);
    }
    stream->last = work;
    m.pending.push_back(work);
    if (settings().streams.kind == Order::FIRST &&
        hanging_before(work) == nullptr)
        finish({work});
    return work;
}

} // namespace harness

/* --- the last error
 * ------------------------------------------------------------------ */

cudaError_t cudaGetLastError()
{
    const harness::Entry entry("cudaGetLastError");
    return harness::take_last_error(true);
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define FX8_CASE(name, number, words)                                          \
    case name:                                                                 \
        return #name;
        FX8_CUDA_ERRORS(FX8_CASE)
#undef FX8_CASE
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define FX8_CASE(name, number, words)                                          \
    case name:                                                                 \
        return words;
        FX8_CUDA_ERRORS(FX8_CASE)
#undef FX8_CASE
    }
    return "unrecognized error code";
}
