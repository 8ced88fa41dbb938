/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deadline.h -- work that may never end: waits with a deadline, and what is
 * remembered of devices whose deadline has passed.
 *
 * Nothing ends a kernel but the end of its process.  Calls that wait for it
 * never return: cudaFree(), cudaStreamSynchronize(), a copy from the device to
 * memory that is not pinned, the loading of a kernel that was not used before.
 * What a stuck device holds therefore stays allocated until the process ends.
 */
#ifndef FX8_KERNELS_CUDA_DEADLINE_H
#define FX8_KERNELS_CUDA_DEADLINE_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/cuda/launch.h"

/** Seconds that a kernel may take for its trial.  The longest trial takes
 *  milliseconds; a device that others use may make it wait its turn. */
#define FX8_CUDA_TRIAL_SECONDS 10.0

/** Devices that are told apart; of those that share a place all are stuck. */
#define FX8_CUDA_PLACES 64

/** Whether work that does not end is on a device, as far as this process
 *  knows; [ordinal % FX8_CUDA_PLACES]. */
inline std::atomic<bool> fx8_cuda_stuck_devices[FX8_CUDA_PLACES];

inline bool fx8_cuda_is_stuck(int ordinal)
{
    return fx8_cuda_stuck_devices[ordinal % FX8_CUDA_PLACES];
}

/** Whether one is: giving pinned memory back waits for every device. */
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

/** Of these, devices that failed a whole engine: none is opened there again;
 *  where a correlator alone is stuck, others are used. */
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
 * fx8_cuda_poll -- wait for an event, but not for ever.
 *
 * Given:  seconds  to sleep, in all, between questions: the time in which the
 *                  process itself was held up does not count
 * Status: cudaErrorNotReady: the deadline has passed; the caller notes that
 *         the device is stuck
 */
inline cudaError_t fx8_cuda_poll(cudaEvent_t event, double seconds)
{
    double slept = 0;
    for (;;) {
        const cudaError_t code = cudaEventQuery(event);
        if (code != cudaErrorNotReady || slept >= seconds) {
            /* "not ready" may be kept as the last error, which it is not */
            const cudaError_t last =
                slept > 0 ? cudaGetLastError() : cudaSuccess;
            return code != cudaSuccess || last == cudaErrorNotReady ? code
                                                                    : last;
        }
        /* 20 us at first, then 1/16 of the time so far: that late at most */
        const double pause = std::min(std::max(20e-6, slept / 16), 10e-3);
        std::this_thread::sleep_for(std::chrono::duration<double>(pause));
        slept += pause;
    }
}

/** Load a kernel without running it: where a kernel that never ends is on the
 *  device, one that was not loaded before would wait for it. */
template <class... P> cudaError_t fx8_cuda_load(void (*kernel)(P...))
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel);
}

#endif
