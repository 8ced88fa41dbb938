/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * try.h -- passing failures on.
 */
#ifndef FX8_CONFIG_BASE_TRY_H
#define FX8_CONFIG_BASE_TRY_H

#include "correlator/fx8.h"

/** Return the status of `call` from this function if the call fails. */
#define FX8_TRY(call)                                                          \
    do {                                                                       \
        const enum fx8_status fx8_tried = (call);                              \
        if (fx8_tried != FX8_OK)                                               \
            return fx8_tried;                                                  \
    } while (0)

#endif
