/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h -- the CUDA C++ available to a kernel, in plain C++: keywords,
 * barriers, warp functions, atomics and arithmetic intrinsics.
 *
 * Notes: 1) a shared variable is static and belongs to the system thread that
 *           runs the block; its type must need no construction, which CUDA
 *           demands too
 *        2) functions with a fixed rounding need -ffp-contract=off
 *        3) approximate functions are the C library's: their errors differ from
 *           the device's
 * Source: CUDA C++ Programming Guide, "C++ Language Extensions"; CUDA Math API
 */
#ifndef FX8_VALIDATION_CUDA_DEVICE_H
#define FX8_VALIDATION_CUDA_DEVICE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "validation/cuda/block.h"

#define __global__
#define __device__
#define __host__
#define __shared__      static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

/** The caller's place in the source, for messages. */
#define FX8_HERE                                                               \
    const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* --- barriers ----------------------------------------------------------------
 */

inline void __syncthreads(FX8_HERE)
{
    harness::Block::current().sync_all({file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffff, FX8_HERE)
{
    harness::Block::current().meet("__syncwarp", mask, nullptr, nullptr, 0,
                                   nullptr, 0, {file, line});
}

/* --- warp functions
 * ------------------------------------------------------------ */

namespace harness
{

/** A value of 4 or 8 bytes that a lane offers, and the lane that it reads. */
struct Shown {
    uint32_t words[2];
    uint32_t source;
};

/** Every lane gets the value of its source lane. */
void meet_shuffle(Mailbox &box, uint32_t lanes);

template <class T>
T shuffle(const char *what, unsigned mask, T value, uint32_t source, Site site)
{
    static_assert(sizeof value == 4 || sizeof value == 8,
                  "a shuffle moves 4 or 8 bytes");
    Shown shown = {{0, 0}, source};
    memcpy(shown.words, &value, sizeof value);
    Block::current().meet(what, mask, meet_shuffle, &shown, sizeof shown,
                          &value, sizeof value, site);
    return value;
}

inline int lane_index()
{
    return static_cast<int>(Block::current().fibre().lane);
}

} // namespace harness

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, FX8_HERE)
{
    const int low = harness::lane_index() & ~(width - 1);
    return harness::shuffle("__shfl_sync", mask, value,
                            static_cast<uint32_t>(low + (source & (width - 1))),
                            {file, line});
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32, FX8_HERE)
{
    /* A lane may read a segment below its own, never one above. */
    const int lane = harness::lane_index();
    const int source = lane ^ by;
    const bool above = source >= (lane & ~(width - 1)) + width;
    return harness::shuffle("__shfl_xor_sync", mask, value,
                            static_cast<uint32_t>(above ? lane : source),
                            {file, line});
}

/* --- atomics: relaxed, as on the device
 * ------------------------------------------ */

/** Returns the old value; stores `combine` of it and the operand. */
#define FX8_ATOMIC(name, combine)                                              \
    template <class T, class U> T name(T *address, U operand)                  \
    {                                                                          \
        const T value = static_cast<T>(operand);                               \
        T old;                                                                 \
        __atomic_load(address, &old, __ATOMIC_RELAXED);                        \
        for (;;) {                                                             \
            T wanted = static_cast<T>(combine);                                \
            if (__atomic_compare_exchange(address, &old, &wanted, false,       \
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
                return old;                                                    \
        }                                                                      \
    }

FX8_ATOMIC(atomicAdd, old + value)
FX8_ATOMIC(atomicMax, value > old ? value : old)

#undef FX8_ATOMIC

#include "validation/cuda/arithmetic.h"

#endif
