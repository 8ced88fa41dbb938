/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/try.h"
#include "kernels/plugin.h"

/* Where it is searched for, from the folder of this code. */
static const char *const places[] = {"", "/../lib"};

/* The folder of the program or library that contains this function; "." if
 * unknown. */
static void find_folder(char folder[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    ssize_t length = -1;
    if (dladdr1((const void *)&places, &info, (void **)&map, RTLD_DL_LINKMAP) !=
            0 &&
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
    const char *given = getenv(FX8_PLUGIN_VARIABLE);
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
        for (size_t k = 0; k < sizeof places / sizeof *places && !is_there;
             k++) {
            const int length = snprintf(path, PATH_MAX, "%s%s/" FX8_PLUGIN_FILE,
                                        folder, places[k]);
            is_there = length < PATH_MAX && access(path, F_OK) == 0;
        }
        if (!is_there)
            snprintf(path, PATH_MAX, FX8_PLUGIN_FILE);
        *library = dlopen(path, mode);
        if (*library == NULL && !is_there)
            return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                            "cuda: plug-in missing: " FX8_PLUGIN_FILE
                            " is neither in %s nor on the library path",
                            folder);
    }
    if (*library == NULL)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: plug-in %s: cannot be loaded: %s", path,
                        dlerror());
    return FX8_OK;
}

enum fx8_status fx8_plugin_find(const struct fx8_plugin **plugin,
                                struct fx8_error *error)
{
    void *library;
    char path[PATH_MAX];
    FX8_TRY(load(&library, path, error));
    *plugin = dlsym(library, FX8_PLUGIN_SYMBOL);
    const bool is_ours = *plugin != NULL && (*plugin)->abi == FX8_PLUGIN_ABI &&
                         strcmp((*plugin)->version, FX8_VERSION) == 0;
    dlclose(library); /* only the handle; RTLD_NODELETE */
    if (!is_ours)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "cuda: plug-in %s: expected one of fx8 " FX8_VERSION,
                        path);
    return FX8_OK;
}
