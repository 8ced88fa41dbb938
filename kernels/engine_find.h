/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_find.h -- choose an engine: the CPU engine is part of the library,
 * the CUDA engine a plug-in opened at run time.
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

/** Names of the plug-in's file and of the symbol it exports. */
#define FX8_ENGINE_PLUGIN_FILE   "fx8-cuda.so"
#define FX8_ENGINE_PLUGIN_SYMBOL "fx8_engine_plugin"

/** When set: path of the plug-in; no other place is searched. */
#define FX8_ENGINE_PLUGIN_VARIABLE "FX8_CUDA_PLUGIN"

/** Changes with every declaration that the library and the plug-in share. */
#define FX8_ENGINE_ABI 10u

/** What a plug-in exports. */
struct fx8_engine_plugin {
    unsigned abi;        /**< FX8_ENGINE_ABI */
    const char *version; /**< FX8_VERSION */
    const struct fx8_engine_operations *operations;
};

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
 * Notes:    1) ANY: a kernel name of one engine selects that engine; else CUDA
 *              if it opens; if not, the reason explains why.  CUDA must first
 *              pass fx8_engine_trial()
 *           2) the plug-in is searched for in the folder of the program or
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
