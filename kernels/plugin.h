/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plugin.h -- what runs on a GPU is in a plug-in, opened at run time: neither
 * library nor program needs CUDA.
 */
#ifndef FX8_KERNELS_PLUGIN_H
#define FX8_KERNELS_PLUGIN_H

#include "config/base/shared_object.h"
#include "correlator/fx8.h"
#include "kernels/engine.h"
#include "kernels/imager.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Names of the plug-in's file and of the symbol it exports. */
#define FX8_PLUGIN_FILE   "fx8-cuda.so"
#define FX8_PLUGIN_SYMBOL "fx8_plugin"

/** When set: path of the plug-in; no other place is searched. */
#define FX8_PLUGIN_VARIABLE "FX8_CUDA_PLUGIN"

/** Changes with every declaration that the library and the plug-in share. */
#define FX8_PLUGIN_ABI 16u

/** What a plug-in exports. */
struct fx8_plugin {
    struct fx8_shared_object_head head;
    const struct fx8_engine_operations *engines;
    const struct fx8_imager_operations *imagers;
};

/**
 * fx8_plugin_find -- open the plug-in.
 *
 * Returned: plugin  static, never freed
 * Status:   as fx8_shared_object_open()
 */
enum fx8_status fx8_plugin_find(const struct fx8_plugin **plugin,
                                struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
