/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c -- names of Digital RF folders and files:
 * CHANNEL/YYYY-MM-DDTHH-MM-SS/rf@SECONDS.MILLISECONDS.h5.  A day of one-second
 * files is 86,400 names, so files are listed, not opened.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/divisor.h"
#include "config/base/read_files.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "io/digital_rf/digital_rf_reader.h"

/* Latest file name, the year 9999: milliseconds times a rate fit 128 bits. */
#define MAX_SECONDS INT64_C(253402300800)

#define WHAT "the names of a recording's files"

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
                                    struct fx8_text_list *folders,
                                    struct fx8_error *error)
{
    DIR *folder;
    FX8_TRY(open_folder(path, &folder, error));
    enum fx8_status status = FX8_OK;
    const struct dirent *entry;
    while (status == FX8_OK && (entry = readdir(folder)) != NULL) {
        if (!passes(entry->d_name))
            continue;
        char *found = fx8_path_join(path, entry->d_name);
        if (found != NULL && !fx8_path_is_folder(found))
            free(found);
        else
            status = fx8_text_list_add(folders, found, error);
    }
    closedir(folder);
    if (folders->count > 0)
        qsort(folders->items, folders->count, sizeof *folders->items,
              compare_texts);
    return status;
}

/* Whether a folder is a channel: it has a properties file or, if that is lost,
 * time-named subfolders and no metadata. */
static bool is_channel(const char *path)
{
    if (has_file(path, FX8_DRF_PROPERTIES))
        return true;
    FX8_AUTO(fx8_text_list_clear) struct fx8_text_list folders = {0};
    return list_folders(path, is_instant, &folders, NULL) == FX8_OK &&
           folders.count > 0 && !has_file(path, "dmd_properties.h5");
}

enum fx8_status fx8_drf_find_channels(const char *path,
                                      struct fx8_text_list *channels,
                                      struct fx8_error *error)
{
    if (is_channel(path))
        return fx8_text_list_add(channels, strdup(path), error);
    const enum fx8_status status =
        list_folders(path, any_name, channels, error);
    size_t n_kept = 0;
    for (size_t i = 0; i < channels->count; i++)
        if (is_channel(channels->items[i]))
            channels->items[n_kept++] = channels->items[i];
        else
            free(channels->items[i]);
    channels->count = n_kept;
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
    const size_t n_digits = strspn(digit, "0123456789");
    const int64_t seconds = strtoll(digit, NULL, 10); /* LLONG_MAX: too many */
    if (n_digits == 0 || seconds > MAX_SECONDS)
        return false;
    digit += n_digits;
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
    const struct fx8_drf_name *x = a, *y = b;
    if (x->milliseconds != y->milliseconds)
        return x->milliseconds < y->milliseconds ? -1 : 1;
    return strcmp(x->path, y->path);
}

static enum fx8_status list_folder(struct fx8_drf_list *list, const char *path,
                                   const char *prefix, struct fx8_error *error)
{
    DIR *folder;
    FX8_TRY(open_folder(path, &folder, error));
    enum fx8_status status = FX8_OK;
    /* its files are opened only when needed, long after the result */
    if (!fx8_read_files_add_folder(path))
        status = fx8_no_memory("the name of a folder", error);
    const struct dirent *entry;
    while (status == FX8_OK && (entry = readdir(folder)) != NULL) {
        struct fx8_drf_name name;
        if (!read_name(entry->d_name, prefix, &name.milliseconds))
            continue;
        status = fx8_grow(&list->files, list->n_files, sizeof *list->files,
                          WHAT, error);
        if (status != FX8_OK)
            break;
        name.path = fx8_path_join(path, entry->d_name);
        if (name.path == NULL)
            status = fx8_no_memory(WHAT, error);
        else
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
    FX8_AUTO(fx8_text_list_clear) struct fx8_text_list folders = {0};
    FX8_TRY(list_folders(path, is_instant, &folders, error));
    for (size_t i = 0; i < folders.count; i++)
        FX8_TRY(list_folder(list, folders.items[i], prefix, error));
    if (list->n_files > 0)
        qsort(list->files, list->n_files, sizeof *list->files, compare_names);
    for (size_t i = 1; i < list->n_files; i++)
        if (list->files[i].milliseconds == list->files[i - 1].milliseconds)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: twice: expected one file of an instant",
                            list->files[i].path);
    return FX8_OK;
}

void fx8_drf_clear_list(struct fx8_drf_list *list)
{
    for (size_t i = 0; i < list->n_files; i++)
        free(list->files[i].path);
    free(list->files);
    *list = (struct fx8_drf_list){0};
}

int64_t fx8_drf_first_index(struct fx8_rate rate, int64_t milliseconds)
{
    const fx8_wide denominator = (fx8_wide)1000 * rate.denominator;
    const fx8_wide index =
        ((fx8_wide)milliseconds * rate.numerator_hz + denominator - 1) /
        denominator;
    return index < FX8_DRF_MAX_INDEX ? (int64_t)index : FX8_DRF_MAX_INDEX;
}
