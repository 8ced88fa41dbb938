/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/try.h"
#include "kernels/engine_find.h"
#include "kernels/engine_trial.h"

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

/* --- the plug-in ----------------------------------------------------------
 */

/* The folder of the program or library that contains this function; "." if
 * unknown. */
static void find_folder(char folder[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    ssize_t length = -1;
    if (dladdr1((const void *)&cpu_kernels, &info, (void **)&map,
                RTLD_DL_LINKMAP) != 0 &&
        map != NULL && map->l_name[0] != '\0') {
        char path[PATH_MAX];
        if (realpath(map->l_name, path) != NULL) {
            length = (ssize_t)strlen(path);
            memcpy(folder, path, (size_t)length + 1);
        }
    } else {
        length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
        if (length >= 0)
            folder[length] = '\0';
    }
    char *slash = length >= 0 ? strrchr(folder, '/') : NULL;
    if (slash == NULL)
        strcpy(folder, ".");
    else
        *slash = '\0';
}

/* Open the file named by the environment, else the first that exists.  If it
 * exists but cannot be loaded, the search ends with its error. */
static enum fx8_status load(void **library, char path[PATH_MAX],
                            struct fx8_error *error)
{
    /* never unloaded: GPU runtimes do not support that */
    const int mode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    static const char *const places[] = {"", "/../lib"};
    const char *given = getenv(FX8_ENGINE_PLUGIN_VARIABLE);
    char folder[PATH_MAX];
    find_folder(folder);
    if (given != NULL && *given != '\0') {
        snprintf(path, PATH_MAX, "%s", given);
        if (access(path, F_OK) != 0)
            return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                            "cuda: plug-in missing: there is no %s", path);
        *library = dlopen(path, mode);
    } else {
        bool is_there = false;
        for (size_t k = 0; k < COUNT(places) && !is_there; k++) {
            const int length =
                snprintf(path, PATH_MAX, "%s%s/" FX8_ENGINE_PLUGIN_FILE, folder,
                         places[k]);
            is_there = length < PATH_MAX && access(path, F_OK) == 0;
        }
        if (!is_there)
            snprintf(path, PATH_MAX, FX8_ENGINE_PLUGIN_FILE);
        *library = dlopen(path, mode);
        if (*library == NULL && !is_there)
            return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                            "cuda: plug-in missing: " FX8_ENGINE_PLUGIN_FILE
                            " is neither in %s nor on the library path",
                            folder);
    }
    if (*library == NULL)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: plug-in %s: cannot be loaded: %s", path,
                        dlerror());
    return FX8_OK;
}

static enum fx8_status find_plugin(
    const struct fx8_engine_operations **operations, struct fx8_error *error)
{
    void *library;
    char path[PATH_MAX];
    FX8_TRY(load(&library, path, error));
    const struct fx8_engine_plugin *plugin =
        dlsym(library, FX8_ENGINE_PLUGIN_SYMBOL);
    if (plugin == NULL || plugin->abi != FX8_ENGINE_ABI ||
        strcmp(plugin->version, FX8_VERSION) != 0) {
        dlclose(library);
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: plug-in %s: expected one of fx8 " FX8_VERSION,
                        path);
    }
    *operations = plugin->operations;
    dlclose(library); /* only the handle; RTLD_NODELETE */
    return FX8_OK;
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
    FX8_TRY(find_plugin(&found->operations, error));
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
