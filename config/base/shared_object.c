/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/shared_object.h"
#include "config/base/try.h"

/* Places, from the folder of the program or library. */
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

static enum fx8_status fail_missing(const struct fx8_shared_object *plugin,
                                    const char *folder, struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                    "%s: plug-in missing: %s is neither in %s nor on the "
                    "library path%s",
                    plugin->name, plugin->file, folder, plugin->hint);
}

/* Open the file named by the environment, else the first that exists.  If it
 * exists but cannot be loaded, the search ends with its error. */
static enum fx8_status load(const struct fx8_shared_object *plugin,
                            void **library, char path[PATH_MAX],
                            struct fx8_error *error)
{
    /* never unloaded: GPU runtimes and MPI do not support that */
    const int mode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    const char *given = getenv(plugin->variable);
    char folder[PATH_MAX];
    find_folder(folder);
    if (given != NULL && *given != '\0') {
        snprintf(path, PATH_MAX, "%s", given);
        if (access(path, F_OK) != 0)
            return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                            "%s: plug-in missing: there is no %s", plugin->name,
                            path);
        *library = dlopen(path, mode);
    } else {
        bool is_there = false;
        for (size_t k = 0; k < sizeof places / sizeof *places && !is_there;
             k++) {
            const int length = snprintf(path, PATH_MAX, "%s%s/%s", folder,
                                        places[k], plugin->file);
            is_there = length < PATH_MAX && access(path, F_OK) == 0;
        }
        if (!is_there)
            snprintf(path, PATH_MAX, "%s", plugin->file);
        *library = dlopen(path, mode);
        if (*library == NULL && !is_there)
            return fail_missing(plugin, folder, error);
    }
    if (*library == NULL)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "%s: plug-in %s: cannot be loaded: %s", plugin->name,
                        path, dlerror());
    return FX8_OK;
}

enum fx8_status fx8_shared_object_open(
    const struct fx8_shared_object *plugin,
    const struct fx8_shared_object_head **head, struct fx8_error *error)
{
    void *library;
    char path[PATH_MAX];
    FX8_TRY(load(plugin, &library, path, error));
    const struct fx8_shared_object_head *found = dlsym(library, plugin->symbol);
    const bool is_ours = found != NULL && found->abi == plugin->abi &&
                         strcmp(found->version, FX8_VERSION) == 0;
    dlclose(library); /* only the handle; RTLD_NODELETE */
    if (!is_ours)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "%s: plug-in %s: expected one of fx8 " FX8_VERSION,
                        plugin->name, path);
    *head = found;
    return FX8_OK;
}
