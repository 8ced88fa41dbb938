/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_find.h -- choose an engine: the CPU engine is part of the library,
 * the CUDA engine is in the plug-in (plugin.h).
 */
#ifndef FX8_KERNELS_ENGINE_FIND_H
#define FX8_KERNELS_ENGINE_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The requested engine. */
enum fx8_engine_wish {
    FX8_ENGINE_ANY = 0, /**< CUDA if it can do the plan, else the CPU */
    FX8_ENGINE_CPU,
    FX8_ENGINE_CUDA
};

/** Most devices of one engine. */
#define FX8_MAX_DEVICES 64

/** An engine, and why it was chosen. */
struct fx8_engine_found {
    const struct fx8_engine_operations *operations;
    struct fx8_engine *engine; /**< operations->close() releases it */
    char reason[512];          /**< one line */
    bool is_spare; /**< replaces the CUDA engine, whose failure is the reason */
};

/**
 * fx8_engine_devices -- parse a list of devices.
 *
 * Given:    text       "auto" or ordinals, "0" or "0,1,2"
 * Returned: devices    int [FX8_MAX_DEVICES]
 *           n_devices  0 for "auto"
 * Status:   FX8_ERR_USAGE: neither, or an ordinal twice
 */
enum fx8_status fx8_engine_devices(const char *text, int *devices,
                                   size_t *n_devices, struct fx8_error *error);

/**
 * fx8_engine_open -- find an engine and open it.
 *
 * Given:    plan   as for open(); host_operations are set here
 * Returned: found
 * Status:   as open(); FX8_ERR_USAGE: the engine has no such kernel, with the
 *           names it has; FX8_ERR_UNSUPPORTED: CUDA is requested and its
 *           plug-in or driver is missing, or there is no usable device;
 *           FX8_ERR_DEVICE: a device failed, or failed its trial
 * Notes:    ANY: a kernel name of one engine selects that engine; else CUDA if
 *           it opens; if not, the reason explains why.  CUDA must first pass
 *           fx8_engine_trial()
 */
enum fx8_status fx8_engine_open(enum fx8_engine_wish wish,
                                const struct fx8_engine_plan *plan,
                                struct fx8_engine_found *found,
                                struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
