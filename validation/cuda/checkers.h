/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkers.h -- annotations of fibres for the thread and address checkers;
 * every function is empty if its checker is not compiled in.
 */
#ifndef FX8_VALIDATION_CUDA_CHECKERS_H
#define FX8_VALIDATION_CUDA_CHECKERS_H

#include <stddef.h>

#include "validation/checkers.h"

#if FX8_THREAD_CHECKER
#include <sanitizer/tsan_interface.h>
/** A function whose own accesses the thread checker does not see. */
#define FX8_UNSEEN __attribute__((no_sanitize("thread")))
#else
/** A function whose own accesses the thread checker does not see. */
#define FX8_UNSEEN
#endif

#if FX8_ADDRESS_CHECKER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace harness
{

/** Release `object`: later acquirers see everything done before. */
inline void race_release(void *object)
{
#if FX8_THREAD_CHECKER
    __tsan_release(object);
#else
    (void)object;
#endif
}

/** Acquire `object`: see everything done before its releases. */
inline void race_acquire(void *object)
{
#if FX8_THREAD_CHECKER
    __tsan_acquire(object);
#else
    (void)object;
#endif
}

/** Make a flow of control for the thread checker. */
inline void *race_flow_create()
{
#if FX8_THREAD_CHECKER
    return __tsan_create_fiber(0);
#else
    return nullptr;
#endif
}

/** The running flow of control. */
inline void *race_flow_current()
{
#if FX8_THREAD_CHECKER
    return __tsan_get_current_fiber();
#else
    return nullptr;
#endif
}

/** Switch to `flow`; the switch itself orders nothing.  Always inlined: a call
 *  would begin in one flow and return in the other. */
FX8_UNSEEN inline __attribute__((always_inline)) void race_flow_enter(
    void *flow)
{
#if FX8_THREAD_CHECKER
    __tsan_switch_to_fiber(flow, __tsan_switch_to_fiber_no_sync);
#else
    (void)flow;
#endif
}

/** End a flow that will not be entered again. */
inline void race_flow_destroy(void *flow)
{
#if FX8_THREAD_CHECKER
    __tsan_destroy_fiber(flow);
#else
    (void)flow;
#endif
}

/** From now on, access to [address, address + size) is an error. */
inline void address_forbid(const void *address, size_t size)
{
#if FX8_ADDRESS_CHECKER
    __asan_poison_memory_region(address, size);
#else
    (void)address;
    (void)size;
#endif
}

/** Allow access to [address, address + size) again. */
inline void address_allow(const void *address, size_t size)
{
#if FX8_ADDRESS_CHECKER
    __asan_unpoison_memory_region(address, size);
#else
    (void)address;
    (void)size;
#endif
}

} // namespace harness

#endif
