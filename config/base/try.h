/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * try.h -- passing failures on, and what is released on every way out.
 */
#ifndef FX8_CONFIG_BASE_TRY_H
#define FX8_CONFIG_BASE_TRY_H

#include <stdlib.h>
#include <string.h>

#include "correlator/fx8.h"

/** Return the status of `call` from this function if the call fails. */
#define FX8_TRY(call)                                                          \
    do {                                                                       \
        const enum fx8_status fx8_tried = (call);                              \
        if (fx8_tried != FX8_OK)                                               \
            return fx8_tried;                                                  \
    } while (0)

/** Free what a pointer points to; `pointer` is its address. */
static inline void fx8_free_at(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

/** Declares variables for which `release` is called with their address where
 *  their scope ends, after the value of a return is known; initialise them. */
#define FX8_AUTO(release) __attribute__((cleanup(release)))

/** Declares pointers to memory that is freed where their scope ends. */
#define FX8_AUTO_FREE FX8_AUTO(fx8_free_at)

#endif
