/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/try.h"
#include "kernels/plugin.h"

/* What the library and the plug-in share, where a pointer has 8 bytes.  A
 * plug-in of another layout would crash, unless its number differs. */
#define SIZE(name) sizeof(struct fx8_##name)
_Static_assert(sizeof(void *) != 8 ||
                   SIZE(engine_plan) + SIZE(engine_block) + SIZE(engine_dump) +
                           SIZE(engine_watch) + SIZE(engine_times) +
                           SIZE(engine_facts) + SIZE(engine_operations) +
                           SIZE(imager_plan) + SIZE(imager_facts) +
                           SIZE(imager_found) + SIZE(imager_operations) ==
                       1792,
               "raise FX8_PLUGIN_ABI, and set this sum anew");

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
