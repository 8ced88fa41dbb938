/* SPDX-License-Identifier: BSD-3-Clause */
/* streams.cc -- see runtime.h: streams and events. */
#include "validation/cuda/machine.h"

namespace harness
{

CUstream_st *find_stream(cudaStream_t stream)
{
    Machine &m = machine();
    if (m.devices.empty())
        return nullptr;
    if (stream == nullptr)
        return &m.devices[static_cast<size_t>(current_device())].default_stream;
    return m.streams.count(stream) != 0 ? stream : nullptr;
}

static bool exists(cudaEvent_t event)
{
    return machine().events.count(event) != 0;
}

/* One step towards `work`, so that repeated queries end. */
static cudaError_t query(const WorkPointer &work)
{
    if (!work || work->is_done)
        return cudaSuccess;
    if (hanging_before(work) != nullptr)
        return cudaErrorNotReady;
    const std::vector<WorkPointer> before = work->before;
    for (const WorkPointer &other : before)
        if (!other->is_done) {
            finish({other});
            return cudaErrorNotReady;
        }
    finish({work});
    return cudaErrorNotReady;
}

} // namespace harness

using harness::Entry;
using harness::failed;
using harness::machine;

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    FX8_ENTER("cudaStreamCreate");
    if (machine().devices.empty())
        return failed(cudaErrorNoDevice);
    *stream = new CUstream_st{
        harness::current_device(), flags != cudaStreamNonBlocking, {}};
    machine().streams.insert(*stream);
    return cudaSuccess;
}

/* Queued work continues without the stream. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    const Entry entry("cudaStreamDestroy");
    if (stream == nullptr || machine().streams.erase(stream) == 0)
        harness::fault("cudaStreamDestroy: %p is no stream",
                       static_cast<void *>(stream));
    delete stream;
    return entry.error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    FX8_ENTER("cudaStreamSynchronize");
    CUstream_st *const found = harness::find_stream(stream);
    if (found == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    harness::finish({found->last});
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned)
{
    FX8_ENTER("cudaStreamWaitEvent");
    CUstream_st *const found = harness::find_stream(stream);
    if (found == nullptr || !harness::exists(event))
        return failed(cudaErrorInvalidResourceHandle);
    if (!event->record || event->record->is_done)
        return cudaSuccess;
    /* One piece of work that needs both the stream so far and the event. */
    const harness::WorkPointer both = event->record;
    const harness::WorkPointer wait = harness::queue_work(
        found, [] {}, harness::hanging_before(both));
    if (!wait->is_done)
        wait->before.push_back(both);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    FX8_ENTER("cudaEventCreate");
    if (machine().devices.empty())
        return failed(cudaErrorNoDevice);
    *event = new CUevent_st{
        harness::current_device(), (flags & cudaEventDisableTiming) == 0, {}};
    machine().events.insert(*event);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const Entry entry("cudaEventDestroy");
    if (machine().events.erase(event) == 0)
        harness::fault("cudaEventDestroy: %p is no event",
                       static_cast<void *>(event));
    delete event;
    return entry.error;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    FX8_ENTER("cudaEventRecord");
    CUstream_st *const found = harness::find_stream(stream);
    if (found == nullptr || !harness::exists(event) ||
        found->device != event->device)
        return failed(cudaErrorInvalidResourceHandle);
    event->record = harness::queue_work(found, [] {});
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    FX8_ENTER("cudaEventSynchronize");
    if (!harness::exists(event))
        return failed(cudaErrorInvalidResourceHandle);
    harness::finish({event->record});
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    FX8_ENTER("cudaEventQuery");
    if (!harness::exists(event))
        return failed(cudaErrorInvalidResourceHandle);
    return harness::query(event->record);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin,
                                 cudaEvent_t end)
{
    FX8_ENTER("cudaEventElapsedTime");
    if (!harness::exists(begin) || !harness::exists(end) || !begin->record ||
        !end->record || !begin->has_time || !end->has_time)
        return failed(cudaErrorInvalidResourceHandle);
    if (!begin->record->is_done || !end->record->is_done)
        return failed(cudaErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(
                        end->record->done_at - begin->record->done_at)
                        .count();
    if (harness::settings().elapsed_ms >= 0)
        *milliseconds = static_cast<float>(harness::settings().elapsed_ms);
    return cudaSuccess;
}
