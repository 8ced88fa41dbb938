/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deadline.h -- waits with a deadline, and a record of stuck devices.
 *
 * A kernel can only be ended by ending its process.  Calls that wait for it
 * never return: cudaFree(), cudaStreamSynchronize(), a copy from the device to
 * memory that is not pinned, the first use of a kernel, which loads it.
 * The memory of a stuck device therefore stays allocated until the process
 * ends.
 */
#ifndef FX8_KERNELS_CUDA_DEADLINE_H
#define FX8_KERNELS_CUDA_DEADLINE_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/cuda/launch.h"

/** Seconds that a kernel may take for its trial.  The longest trial takes
 *  milliseconds, but may have to wait on a shared device. */
#define FX8_CUDA_TRIAL_SECONDS 10.0

/** Devices recorded separately; if two share a place, both count as stuck. */
#define FX8_CUDA_PLACES 64

/** Whether this process saw work on a device miss its deadline;
 *  [ordinal % FX8_CUDA_PLACES]. */
inline std::atomic<bool> fx8_cuda_stuck_devices[FX8_CUDA_PLACES];

inline bool fx8_cuda_is_stuck(int ordinal)
{
    return fx8_cuda_stuck_devices[ordinal % FX8_CUDA_PLACES];
}

/** Whether any device is stuck: unpinning memory waits for every device. */
inline bool fx8_cuda_is_any_stuck()
{
    for (const auto &is_stuck : fx8_cuda_stuck_devices)
        if (is_stuck)
            return true;
    return false;
}

inline void fx8_cuda_note_stuck(int ordinal)
{
    fx8_cuda_stuck_devices[ordinal % FX8_CUDA_PLACES] = true;
}

/** Stuck devices that failed a whole engine: no engine is opened there again.
 *  If only a correlator is stuck, others are used. */
inline std::atomic<bool> fx8_cuda_lost_devices[FX8_CUDA_PLACES];

inline bool fx8_cuda_is_lost(int ordinal)
{
    return fx8_cuda_lost_devices[ordinal % FX8_CUDA_PLACES];
}

inline void fx8_cuda_note_lost(int ordinal)
{
    fx8_cuda_note_stuck(ordinal);
    fx8_cuda_lost_devices[ordinal % FX8_CUDA_PLACES] = true;
}

/**
 * fx8_cuda_poll -- wait for an event up to a deadline.
 *
 * Given:  seconds  total time to sleep between polls; time in which the process
 *                  itself did not run does not count
 * Status: cudaErrorNotReady: the deadline has passed; the caller notes that
 *         the device is stuck
 */
inline cudaError_t fx8_cuda_poll(cudaEvent_t event, double seconds)
{
    double slept = 0;
    for (;;) {
        const cudaError_t code = cudaEventQuery(event);
        if (code != cudaErrorNotReady || slept >= seconds) {
            /* clear "not ready", which may remain as the last error */
            const cudaError_t last =
                slept > 0 ? cudaGetLastError() : cudaSuccess;
            return code != cudaSuccess || last == cudaErrorNotReady ? code
                                                                    : last;
        }
        /* 20 us at first, then 1/16 of the time so far, the most it is late */
        const double pause = std::min(std::max(20e-6, slept / 16), 10e-3);
        std::this_thread::sleep_for(std::chrono::duration<double>(pause));
        slept += pause;
    }
}

/** Load a kernel without running it: loading later would wait for any kernel on
 *  the device, even one that never ends. */
template <class... P> cudaError_t fx8_cuda_load(void (*kernel)(P...))
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel);
}

#endif
