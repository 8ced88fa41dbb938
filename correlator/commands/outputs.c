/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"

/* Folder with links resolved, and name: the caller frees it; NULL without
 * memory.  The path of a missing folder stays as written. */
static char *full_name(const char *path, const char *suffix)
{
    char *result = NULL;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char *folder =
        slash != NULL ? strndup(path, (size_t)(name - path)) : strdup(".");
    char *real = folder != NULL ? realpath(folder, NULL) : NULL;
    if (folder != NULL &&
        asprintf(&result, "%s/%s%s", real != NULL ? real : folder, name,
                 suffix) < 0)
        result = NULL;
    free(real);
    free(folder);
    return result;
}

/* Whether `a` and `b`, each with its suffix, are the same file. */
static enum fx8_status is_same_name(const char *a, const char *suffix_a,
                                    const char *b, const char *suffix_b,
                                    bool *is_same, struct fx8_error *error)
{
    char *name_a = full_name(a, suffix_a), *name_b = full_name(b, suffix_b);
    enum fx8_status status = FX8_OK;
    struct stat a_file, b_file;
    if (name_a == NULL || name_b == NULL)
        status = fx8_no_memory("names", error);
    else
        *is_same =
            strcmp(name_a, name_b) == 0 ||
            (stat(name_a, &a_file) == 0 && stat(name_b, &b_file) == 0 &&
             a_file.st_dev == b_file.st_dev && a_file.st_ino == b_file.st_ino);
    free(name_a);
    free(name_b);
    return status;
}

enum fx8_status fx8_outputs_differ(const char *const *outputs, size_t n_outputs,
                                   struct fx8_error *error)
{
    static const char *const suffixes[][2] = {
        {"", ""}, {"", ".part"}, {".part", ""}};
    for (size_t i = 0; i < n_outputs; i++)
        for (size_t k = 0; k < 3 * i; k++) {
            const char *a = outputs[i], *b = outputs[k / 3];
            bool is_same = false;
            if (a == NULL || b == NULL)
                continue;
            FX8_TRY(is_same_name(a, suffixes[k % 3][0], b, suffixes[k % 3][1],
                                 &is_same, error));
            if (is_same)
                return fx8_fail(error, FX8_ERR_USAGE,
                                "%s: is written as another result of this run "
                                "(%s): expected another name",
                                a, b);
        }
    return FX8_OK;
}
