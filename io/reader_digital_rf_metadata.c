/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader_digital_rf_metadata.c -- the centre frequency that a recorder noted in
 * CHANNEL/metadata: files PREFIX@SECONDS.h5 with a group per entry, named after
 * the sample from which on it holds.  All of it is optional: what cannot be
 * read counts as not noted, and the configuration has to tell.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/number.h"
#include "config/observation.h"
#include "config/shape.h"
#include "io/reader_digital_rf.h"

/* What recorders call it (thor.py, gr_digital_rf): one per sub-channel. */
#define FREQUENCIES "center_frequencies"

/* More than any receiver has channels: what a file may make us allocate. */
#define MAX_FREQUENCIES 65536

/* Entries of a file, latest first, as far back as they matter. */
struct search {
    const char *path;
    int64_t first, end;
    double frequency_hz; /* NaN: none yet */
    bool is_ambiguous;
    bool is_complete; /* an entry in force at `first` was found */
};

/* One frequency of an entry, NaN where there is none or more than one. */
static double entry_frequency(const char *path, hid_t entry)
{
    const struct fx8_h5_place place = {path, entry, false};
    hid_t dataset = FX8_H5_NONE;
    if (fx8_h5_open_dataset(path, entry, FREQUENCIES, H5P_DEFAULT, &dataset,
                            NULL) != FX8_OK)
        return NAN;
    hid_t space = H5Dget_space(dataset);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    fx8_h5_close(&space);
    fx8_h5_close(&dataset);
    if (n < 1 || n > MAX_FREQUENCIES)
        return NAN;
    double *values = malloc((size_t)n * sizeof *values);
    double found = NAN;
    if (values != NULL &&
        fx8_h5_get_reals(&place, FREQUENCIES, fx8_h5_all((size_t)n, 1), values,
                         NULL) == FX8_OK) {
        found = values[0];
        for (hssize_t i = 1; i < n; i++)
            if (values[i] != values[0])
                found = NAN;
    }
    free(values);
    return isfinite(found) && found >= 0 ? found : NAN;
}

/* Sample of an entry by its name, -1 for another name. */
static int64_t entry_index(const char *name)
{
    int64_t index = -1;
    return fx8_number_integer(name, &index) ? index : -1;
}

/* The latest entry of a file before `end`. */
static int64_t latest_entry(hid_t file, int64_t end)
{
    H5G_info_t info;
    int64_t latest = -1;
    if (H5Gget_info(file, &info) < 0)
        return -1;
    for (hsize_t i = 0; i < info.nlinks; i++) {
        char name[32];
        const ssize_t length =
            H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_NATIVE, i,
                               name, sizeof name, H5P_DEFAULT);
        if (length <= 0 || (size_t)length >= sizeof name)
            continue;
        const int64_t index = entry_index(name);
        if (index < end && index > latest)
            latest = index;
    }
    return latest;
}

/* Entries of a file from the latest on backwards. */
static void search_file(struct search *search, hid_t file)
{
    for (int64_t end = search->end; !search->is_complete;) {
        const int64_t index = latest_entry(file, end);
        if (index < 0)
            return;
        char name[32];
        snprintf(name, sizeof name, "%" PRId64, index);
        hid_t entry = H5Gopen2(file, name, H5P_DEFAULT);
        const double found =
            entry < 0 ? NAN : entry_frequency(search->path, entry);
        fx8_h5_close(&entry);
        if (isnan(found) ||
            (!isnan(search->frequency_hz) && found != search->frequency_hz))
            search->is_ambiguous = true;
        search->frequency_hz = found;
        search->is_complete = index <= search->first;
        end = index;
    }
}

/* Files from the last one on backwards. */
static double search_files(const struct fx8_drf_list *list, const char *prefix,
                           struct fx8_rate rate, int64_t first, int64_t end)
{
    struct search search = {.first = first, .end = end, .frequency_hz = NAN};
    for (size_t i = list->n_files; i > 0 && !search.is_complete; i--) {
        if (fx8_drf_first_index(rate, list->files[i - 1].milliseconds) >= end)
            continue;
        char *path = fx8_drf_file_path(list, prefix, i - 1, false);
        hid_t file = FX8_H5_NONE;
        search.path = path;
        if (path != NULL && fx8_h5_open_file(path, &file, NULL) == FX8_OK)
            search_file(&search, file);
        fx8_h5_close(&file);
        free(path);
    }
    return search.is_ambiguous ? NAN : search.frequency_hz;
}

double fx8_drf_center_frequency(const char *channel, int64_t first, int64_t end)
{
    const size_t size = strlen(channel) + sizeof "/metadata/dmd_properties.h5";
    char *path = malloc(size);
    if (path == NULL)
        return NAN;
    snprintf(path, size, "%s/metadata/dmd_properties.h5", channel);
    char prefix[FX8_TEXT_SIZE] = "";
    struct fx8_rate rate = {0, 0};
    hid_t file = FX8_H5_NONE;
    enum fx8_status status = fx8_h5_open_file(path, &file, NULL);
    const struct fx8_h5_place root = {path, file, true};
    if (status == FX8_OK)
        status = fx8_h5_get_texts(&root, "file_name", 1, sizeof prefix, prefix,
                                  NULL);
    if (status == FX8_OK)
        status = fx8_h5_get_integer(&root, "sample_rate_numerator", 1,
                                    INT64_MAX, &rate.numerator_hz, NULL);
    if (status == FX8_OK)
        status = fx8_h5_get_integer(&root, "sample_rate_denominator", 1,
                                    INT64_MAX, &rate.denominator, NULL);
    fx8_h5_close(&file);
    struct fx8_drf_list list = {0};
    snprintf(path, size, "%s/metadata", channel);
    if (status == FX8_OK)
        status = fx8_drf_list_files(path, prefix, &list, NULL);
    const double found =
        status == FX8_OK ? search_files(&list, prefix, rate, first, end) : NAN;
    fx8_drf_clear_list(&list);
    free(path);
    return found;
}
