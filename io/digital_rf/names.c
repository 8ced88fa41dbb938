/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c -- names of Digital RF folders and files:
 * CHANNEL/YYYY-MM-DDTHH-MM-SS/rf@SECONDS.MILLISECONDS.h5.  A day of one-second
 * files is 86,400 names, so files are listed, not opened.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/read_files.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "io/digital_rf/digital_rf_reader.h"

/* __extension__: gcc and clang have 128-bit integers, C17 does not */
__extension__ typedef __int128 wide;

/* Latest file name, the year 9999: milliseconds times a rate fit 128 bits. */
#define MAX_SECONDS INT64_C(253402300800)

/* For messages. */
#define WHAT "the names of a recording's files"

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool has_file(const char *folder, const char *name)
{
    FX8_AUTO_FREE char *path = fx8_path_join(folder, name);
    return path != NULL && access(path, F_OK) == 0;
}

/* Match a text; '0' in the pattern matches any digit. */
static bool matches(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; text++, pattern++)
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern)
            return false;
    return *text == '\0';
}

static bool is_instant(const char *name)
{
    return matches(name, "0000-00-00T00-00-00");
}

static bool any_name(const char *name)
{
    return name[0] != '.';
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum fx8_status open_folder(const char *path, DIR **folder,
                                   struct fx8_error *error)
{
    *folder = opendir(path);
    if (*folder != NULL)
        return FX8_OK;
    return fx8_refuse(error, path, strerror(errno),
                      "expected a readable folder");
}

/* List the subfolders whose names pass, sorted by name. */
static enum fx8_status list_folders(const char *path,
                                    bool (*passes)(const char *name),
                                    char ***folders, size_t *n,
                                    struct fx8_error *error)
{
    *folders = NULL;
    *n = 0;
    DIR *folder;
    FX8_TRY(open_folder(path, &folder, error));
    enum fx8_status status = FX8_OK;
    const struct dirent *entry;
    while (status == FX8_OK && (entry = readdir(folder)) != NULL) {
        if (!passes(entry->d_name))
            continue;
        char *found = fx8_path_join(path, entry->d_name);
        if (found == NULL)
            status = fx8_no_memory(WHAT, error);
        else if (is_folder(found) &&
                 (status = fx8_grow(folders, *n, sizeof **folders, WHAT,
                                    error)) == FX8_OK)
            (*folders)[(*n)++] = found;
        else
            free(found);
    }
    closedir(folder);
    if (*n > 0)
        qsort(*folders, *n, sizeof **folders, compare_texts);
    return status;
}

void fx8_drf_free_paths(char **paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
}

bool fx8_drf_is_channel(const char *path)
{
    if (has_file(path, FX8_DRF_PROPERTIES))
        return true;
    char **folders;
    size_t n;
    const enum fx8_status status =
        list_folders(path, is_instant, &folders, &n, NULL);
    const bool found =
        status == FX8_OK && n > 0 && !has_file(path, "dmd_properties.h5");
    fx8_drf_free_paths(folders, n);
    return found;
}

enum fx8_status fx8_drf_find_channels(const char *path, char ***channels,
                                      size_t *n, struct fx8_error *error)
{
    *channels = NULL;
    *n = 0;
    if (fx8_drf_is_channel(path)) {
        char **single = malloc(sizeof *single);
        char *copy = strdup(path);
        if (single == NULL || copy == NULL) {
            free(single);
            free(copy);
            return fx8_no_memory("the name of a folder", error);
        }
        single[0] = copy;
        *channels = single;
        *n = 1;
        return FX8_OK;
    }
    char **folders;
    size_t n_folders;
    const enum fx8_status status =
        list_folders(path, any_name, &folders, &n_folders, error);
    size_t n_kept = 0;
    for (size_t i = 0; i < n_folders; i++)
        if (fx8_drf_is_channel(folders[i]))
            folders[n_kept++] = folders[i];
        else
            free(folders[i]);
    *channels = folders;
    *n = n_kept;
    return status;
}

/* --- files ---------------------------------------------------------------- */

/* "PREFIX@SECONDS[.MMM].h5"; false for anything else. */
static bool read_name(const char *name, const char *prefix,
                      int64_t *milliseconds)
{
    const size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || name[length] != '@')
        return false;
    const char *digit = name + length + 1;
    int64_t seconds = 0;
    size_t n_digits = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++, n_digits++) {
        seconds = 10 * seconds + (*digit - '0');
        if (seconds > MAX_SECONDS)
            return false;
    }
    if (n_digits == 0)
        return false;
    *milliseconds = 1000 * seconds;
    if (strcmp(digit, ".h5") == 0)
        return true;
    if (!matches(digit, ".000.h5"))
        return false;
    *milliseconds +=
        100 * (digit[1] - '0') + 10 * (digit[2] - '0') + (digit[3] - '0');
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct fx8_drf_name *name_a = a;
    const struct fx8_drf_name *name_b = b;
    if (name_a->milliseconds != name_b->milliseconds)
        return name_a->milliseconds < name_b->milliseconds ? -1 : 1;
    return name_a->folder < name_b->folder ? -1 : 1;
}

static enum fx8_status list_folder(struct fx8_drf_list *list, size_t number,
                                   const char *prefix, struct fx8_error *error)
{
    DIR *folder;
    FX8_TRY(open_folder(list->folders[number], &folder, error));
    enum fx8_status status = FX8_OK;
    /* its files are opened only when needed, long after the result */
    if (!fx8_read_files_add_folder(list->folders[number]))
        status = fx8_no_memory("the name of a folder", error);
    const struct dirent *entry;
    while (status == FX8_OK && (entry = readdir(folder)) != NULL) {
        struct fx8_drf_name name = {0, number};
        if (!read_name(entry->d_name, prefix, &name.milliseconds))
            continue;
        status = fx8_grow(&list->files, list->n_files, sizeof *list->files,
                          WHAT, error);
        if (status == FX8_OK)
            list->files[list->n_files++] = name;
    }
    closedir(folder);
    return status;
}

enum fx8_status fx8_drf_list_files(const char *path, const char *prefix,
                                   struct fx8_drf_list *list,
                                   struct fx8_error *error)
{
    *list = (struct fx8_drf_list){0};
    FX8_TRY(list_folders(path, is_instant, &list->folders, &list->n_folders,
                         error));
    for (size_t i = 0; i < list->n_folders; i++)
        FX8_TRY(list_folder(list, i, prefix, error));
    if (list->n_files > 0)
        qsort(list->files, list->n_files, sizeof *list->files, compare_names);
    for (size_t i = 1; i < list->n_files; i++)
        if (list->files[i].milliseconds == list->files[i - 1].milliseconds)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s@%" PRId64 ".%03d.h5: twice: expected one "
                            "file of an instant",
                            list->folders[list->files[i].folder], prefix,
                            list->files[i].milliseconds / 1000,
                            (int)(list->files[i].milliseconds % 1000));
    return FX8_OK;
}

void fx8_drf_clear_list(struct fx8_drf_list *list)
{
    fx8_drf_free_paths(list->folders, list->n_folders);
    free(list->files);
    *list = (struct fx8_drf_list){0};
}

char *fx8_drf_file_path(const struct fx8_drf_list *list, const char *prefix,
                        size_t file, bool has_milliseconds)
{
    const struct fx8_drf_name *name = &list->files[file];
    char part[16] = "";
    if (has_milliseconds)
        snprintf(part, sizeof part, ".%03d", (int)(name->milliseconds % 1000));
    char text[320];
    snprintf(text, sizeof text, "%s@%" PRId64 "%s.h5", prefix,
             name->milliseconds / 1000, part);
    return fx8_path_join(list->folders[name->folder], text);
}

int64_t fx8_drf_first_index(struct fx8_rate rate, int64_t milliseconds)
{
    const wide denominator = (wide)1000 * rate.denominator;
    const wide index =
        ((wide)milliseconds * rate.numerator_hz + denominator - 1) /
        denominator;
    return index < FX8_DRF_MAX_INDEX ? (int64_t)index : FX8_DRF_MAX_INDEX;
}
