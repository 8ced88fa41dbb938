/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/try.h"
#include "kernels/engine_find.h"
#include "kernels/engine_trial.h"
#include "kernels/plugin.h"

/* --- names ----------------------------------------------------------------
 */

static const char *const cpu_kernels[] = {"reference", "avx2", "avxvnni",
                                          "avx512",    "neon", "dotprod"};
static const char *const cuda_kernels[] = {"dp4a", "mma", "wgmma", "fp32"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Whether `name` is one of the names, or one of them followed by "-" and more,
 * which the engine checks. */
static bool is_among(const char *const *names, size_t n_names, const char *name)
{
    const size_t length = strcspn(name, "-");
    for (size_t k = 0; k < n_names; k++)
        if (strlen(names[k]) == length && memcmp(names[k], name, length) == 0)
            return true;
    return false;
}

/* Only kernel names of a requested engine are accepted. */
static enum fx8_status check_kernel(enum fx8_engine_wish wish,
                                    const char *kernel, struct fx8_error *error)
{
    static const char *const allowed[] = {
        [FX8_ENGINE_ANY] = ("auto; reference, " FX8_VECTOR_KERNELS
                            " (cpu); dp4a, mma, wgmma or fp32 (cuda)"),
        [FX8_ENGINE_CPU] = "auto, reference, " FX8_VECTOR_KERNELS,
        [FX8_ENGINE_CUDA] = "auto, dp4a, mma, wgmma or fp32",
    };
    if (strcmp(kernel, "auto") == 0 ||
        (wish != FX8_ENGINE_CUDA &&
         is_among(cpu_kernels, COUNT(cpu_kernels), kernel)) ||
        (wish != FX8_ENGINE_CPU &&
         is_among(cuda_kernels, COUNT(cuda_kernels), kernel)))
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE, "plan: kernel: %s: expected %s",
                    kernel, allowed[wish]);
}

static bool is_repeated(const int *devices, size_t n_devices, int device)
{
    for (size_t k = 0; k < n_devices; k++)
        if (devices[k] == device)
            return true;
    return false;
}

enum fx8_status fx8_engine_devices(const char *text, int *devices,
                                   size_t *n_devices, struct fx8_error *error)
{
    *n_devices = 0;
    if (strcmp(text, "auto") == 0)
        return FX8_OK;
    const char *at = text;
    for (;;) {
        char *end;
        const bool is_digit = *at >= '0' && *at <= '9';
        const long ordinal = is_digit ? strtol(at, &end, 10) : -1;
        if (ordinal < 0 || ordinal > INT_MAX || *n_devices == FX8_MAX_DEVICES ||
            (*end != ',' && *end != '\0') ||
            is_repeated(devices, *n_devices, (int)ordinal))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "plan: device: %s: expected auto, or up to %d "
                            "different ordinals such as 0 or 0,1",
                            text, FX8_MAX_DEVICES);
        devices[(*n_devices)++] = (int)ordinal;
        if (*end == '\0')
            return FX8_OK;
        at = end + 1;
    }
}

/* --- engines --------------------------------------------------------------
 */

/* A device without memory for a trial has none for the plan either; opening the
 * plan gives an error with the figures of the plan. */
static enum fx8_status open_cuda(const struct fx8_engine_plan *plan,
                                 struct fx8_engine_found *found,
                                 struct fx8_error *error)
{
    struct fx8_engine_plan with_host = *plan;
    struct fx8_error why;
    FX8_TRY(fx8_operations_select("auto", &with_host.host_operations, error));
    const struct fx8_plugin *plugin;
    FX8_TRY(fx8_plugin_find(&plugin, error));
    found->operations = plugin->engines;
    const enum fx8_status tried =
        plan->n_opened > 0
            ? FX8_OK
            : fx8_engine_trial(found->operations, &with_host, &why);
    enum fx8_status status = FX8_OK;
    if (tried == FX8_OK || tried == FX8_ERR_SYSTEM)
        status = found->operations->open(&with_host, &found->engine, error);
    if (tried == FX8_OK || (tried == FX8_ERR_SYSTEM && status != FX8_OK))
        return status;
    found->operations->close(&found->engine);
    return fx8_fail(error, tried, "%s", why.message);
}

enum fx8_status fx8_engine_open(enum fx8_engine_wish wish,
                                const struct fx8_engine_plan *plan,
                                struct fx8_engine_found *found,
                                struct fx8_error *error)
{
    *found = (struct fx8_engine_found){.reason = "asked for"};
    const char *const kernel = plan->machine.kernel;
    FX8_TRY(check_kernel(wish, kernel, error));
    if (wish == FX8_ENGINE_ANY &&
        is_among(cpu_kernels, COUNT(cpu_kernels), kernel)) {
        snprintf(found->reason, sizeof found->reason, "kernel %s is the CPU's",
                 kernel);
        wish = FX8_ENGINE_CPU;
    }
    if (wish != FX8_ENGINE_CPU) {
        struct fx8_error why;
        const enum fx8_status status = open_cuda(plan, found, &why);
        if (status == FX8_OK && wish == FX8_ENGINE_ANY)
            snprintf(found->reason, sizeof found->reason, "device %s is usable",
                     found->operations->facts(found->engine)->device);
        if (status == FX8_OK)
            return FX8_OK;
        if (wish == FX8_ENGINE_CUDA || strcmp(kernel, "auto") != 0)
            return fx8_fail(error, status, "%s", why.message);
        snprintf(found->reason, sizeof found->reason, "%.*s",
                 (int)sizeof found->reason - 1, why.message);
        found->is_spare = status != FX8_ERR_UNSUPPORTED;
    }
    found->operations = &fx8_engine_cpu;
    return found->operations->open(plan, &found->engine, error);
}
