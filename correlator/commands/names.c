/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c -- names of recordings and results, and whether two names are of one
 * file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/settings.h"
#include "correlator/commands/command.h"

char *fx8_command_name_with(const char *path, const char *suffix,
                            const char *const words[2])
{
    const size_t length = strlen(path), tail = strlen(suffix);
    const bool has_suffix =
        length > tail && strcmp(path + length - tail, suffix) == 0;
    char *name;
    if (words[0][0] == '\0' && words[1][0] == '\0')
        return strdup(path);
    return asprintf(&name, "%.*s%s%s%s%s%s",
                    (int)(has_suffix ? length - tail : length), path,
                    words[0][0] != '\0' ? "." : "", words[0],
                    words[1][0] != '\0' ? "." : "", words[1], suffix) < 0
               ? NULL
               : name;
}

char *fx8_command_name_inputs(char *const *files, size_t n)
{
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, "and %zu more", n - 1);
    char *const words[] = {files[0], more};
    return fx8_command_join_texts("", words, n > 1 ? 2 : 1);
}

/* Folder with links resolved, and name: the caller frees it; NULL without
 * memory.  The path of a missing folder stays as written. */
static char *full_name(const char *path, const char *suffix)
{
    char *result = NULL;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    FX8_AUTO_FREE char *folder =
        slash != NULL ? strndup(path, (size_t)(name - path)) : strdup(".");
    FX8_AUTO_FREE char *real = folder != NULL ? realpath(folder, NULL) : NULL;
    if (folder != NULL &&
        asprintf(&result, "%s/%s%s", real != NULL ? real : folder, name,
                 suffix) < 0)
        result = NULL;
    return result;
}

/* Whether `a` and `b`, each with its suffix, are the same file: by folder and
 * name, since they need not exist, or by device and inode if they do. */
static enum fx8_status is_same_name(const char *a, const char *suffix_a,
                                    const char *b, const char *suffix_b,
                                    bool *is_same, struct fx8_error *error)
{
    FX8_AUTO_FREE char *name_a = full_name(a, suffix_a);
    FX8_AUTO_FREE char *name_b = full_name(b, suffix_b);
    struct stat a_file, b_file;
    if (name_a == NULL || name_b == NULL)
        return fx8_no_memory("names", error);
    *is_same =
        strcmp(name_a, name_b) == 0 ||
        (stat(name_a, &a_file) == 0 && stat(name_b, &b_file) == 0 &&
         a_file.st_dev == b_file.st_dev && a_file.st_ino == b_file.st_ino);
    return FX8_OK;
}

enum fx8_status fx8_command_check_names(const struct fx8_text_list *names,
                                        struct fx8_error *error)
{
    static const char *const suffixes[][2] = {
        {"", ""}, {"", ".part"}, {".part", ""}};
    for (size_t i = 0; i < names->count; i++)
        for (size_t k = 0; k < 3 * i; k++) {
            const char *a = names->items[i];
            const char *b = names->items[k / 3];
            bool is_same = false;
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
