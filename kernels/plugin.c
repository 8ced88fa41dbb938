/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/try.h"
#include "kernels/plugin.h"

enum fx8_status fx8_plugin_find(const struct fx8_plugin **plugin,
                                struct fx8_error *error)
{
    static const struct fx8_shared_object object = {
        .name = "cuda",
        .file = FX8_PLUGIN_FILE,
        .symbol = FX8_PLUGIN_SYMBOL,
        .variable = FX8_PLUGIN_VARIABLE,
        .abi = FX8_PLUGIN_ABI,
        .hint = "",
    };
    const struct fx8_shared_object_head *head;
    FX8_TRY(fx8_shared_object_open(&object, &head, error));
    *plugin = (const struct fx8_plugin *)head;
    return FX8_OK;
}
