/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_find.h -- which engine computes: the CPU's, which is part of the
 * library, or CUDA's, a plug-in opened at run time.
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

/** Name of the plug-in's file, and of what it exports. */
#define FX8_ENGINE_PLUGIN_FILE   "fx8-cuda.so"
#define FX8_ENGINE_PLUGIN_SYMBOL "fx8_engine_plugin"

/** When set: the path of the plug-in, which is then looked for nowhere else. */
#define FX8_ENGINE_PLUGIN_VARIABLE "FX8_CUDA_PLUGIN"

/** Changes whenever anything that both sides of a plug-in know does. */
#define FX8_ENGINE_ABI 8u

/** What a plug-in exports. */
struct fx8_engine_plugin {
    unsigned abi;        /**< FX8_ENGINE_ABI */
    const char *version; /**< FX8_VERSION */
    const struct fx8_engine_operations *operations;
};

/** Which engine is wanted. */
enum fx8_engine_wish {
    FX8_ENGINE_ANY = 0, /**< CUDA where it can do the plan, else the CPU */
    FX8_ENGINE_CPU,
    FX8_ENGINE_CUDA
};

/** Most devices of one engine. */
#define FX8_MAX_DEVICES 64

/** An engine, and why it is this one. */
struct fx8_engine_found {
    const struct fx8_engine_operations *operations;
    struct fx8_engine *engine; /**< operations->close() releases it */
    char reason[512];          /**< one line */
    bool is_spare; /**< CUDA's would be wanted, and the reason is its failure */
};

/**
 * fx8_engine_devices -- read a list of devices.
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
 * Given:    plan   as for open(); host_operations are found here
 * Returned: found
 * Status:   as open(); FX8_ERR_USAGE: a kernel that the engine does not have,
 *           with those that it has; FX8_ERR_UNSUPPORTED: CUDA is wanted and
 *           its plug-in or driver is missing, or there is no usable device;
 *           FX8_ERR_DEVICE: a device that fails, or failed its trial
 * Notes:    1) ANY: a name of one engine's kernels decides; else CUDA where it
 *              opens, and where it does not the reason says why not.  CUDA is
 *              tried first: fx8_engine_trial()
 *           2) the plug-in is looked for in the folder of the program or
 *              library that holds this function, in ../lib from there, then on
 *              the library path; once opened it stays in memory
 */
enum fx8_status fx8_engine_open(enum fx8_engine_wish wish,
                                const struct fx8_engine_plan *plan,
                                struct fx8_engine_found *found,
                                struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
