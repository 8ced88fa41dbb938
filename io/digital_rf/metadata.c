/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metadata.c -- read the centre frequency from CHANNEL/metadata: files
 * PREFIX@SECONDS.h5 with a group per entry, named after the sample from which
 * it is valid.  All of it is optional: anything unreadable counts as absent,
 * and the configuration must then give the frequency.  Contradictory entries
 * are an error that names the place.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/observation.h"
#include "io/digital_rf/digital_rf_reader.h"

/* Name used by thor.py and gr_digital_rf: one value per sub-channel. */
#define FREQUENCIES "center_frequencies"

/* More channels than any receiver has: bounds the memory a file can make us
 * allocate. */
#define MAX_FREQUENCIES 65536

/* Search over entries, latest first, as far back as needed. */
struct search {
    const struct fx8_drf_span *span;
    int64_t end;
    double frequency_hz; /* NaN: none yet */
    int64_t index;       /* of its entry */
    bool is_lacking;     /* an entry in force has no frequency */
    bool is_complete;    /* an entry in force at the first sample was found */
    struct fx8_error *error;
};

/* End of both messages: the key to set. */
#define SETTLED_BY "observation.dc_frequency_hz"

static enum fx8_status compare_subchannels(const char *path, int64_t index,
                                           const double *values, size_t n,
                                           struct fx8_error *error)
{
    for (size_t i = 1; i < n; i++)
        if (isfinite(values[0]) && isfinite(values[i]) &&
            values[i] != values[0])
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %" PRId64 "/" FREQUENCIES
                            ": %.12g Hz of sub-channel %zu: expected %.12g Hz "
                            "as of sub-channel 0, or " SETTLED_BY,
                            path, index, values[i], i, values[0]);
    return FX8_OK;
}

/* The frequency of an entry; NaN if it is not given for each sub-channel. */
static enum fx8_status entry_frequency(const char *path, hid_t entry,
                                       int64_t index, double *found,
                                       struct fx8_error *error)
{
    const struct fx8_h5_place place = {path, entry, false};
    FX8_H5_AUTO dataset = FX8_H5_NONE;
    *found = NAN;
    if (fx8_h5_open_dataset(path, entry, FREQUENCIES, H5P_DEFAULT, &dataset,
                            NULL) != FX8_OK)
        return FX8_OK;
    FX8_H5_AUTO space = H5Dget_space(dataset);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    if (n < 1 || n > MAX_FREQUENCIES)
        return FX8_OK;
    FX8_AUTO_FREE double *values = malloc((size_t)n * sizeof *values);
    if (values == NULL)
        return fx8_no_memory(FREQUENCIES, error);
    if (fx8_h5_get_reals(&place, FREQUENCIES, fx8_h5_all((size_t)n, 1), values,
                         NULL) == FX8_OK) {
        FX8_TRY(compare_subchannels(path, index, values, (size_t)n, error));
        *found = values[0];
        for (hssize_t i = 1; i < n; i++)
            if (values[i] != values[0])
                *found = NAN;
    }
    if (!(isfinite(*found) && *found >= 0))
        *found = NAN;
    return FX8_OK;
}

/* Sample of an entry from its name, -1 for other names. */
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

/* Compare the entry just found with a later one in force. */
static enum fx8_status compare_entries(const struct search *search,
                                       const char *path, int64_t index,
                                       double found)
{
    if (isnan(found) || isnan(search->frequency_hz) ||
        found == search->frequency_hz)
        return FX8_OK;
    const double after_s = (double)(search->index - search->span->origin) /
                           fx8_rate_hz(search->span->rate);
    return fx8_fail(search->error, FX8_ERR_INPUT,
                    "%s: %" PRId64 "/" FREQUENCIES
                    ": %.12g Hz: expected %.12g Hz as from %.9g s on (entry "
                    "%" PRId64 "), a part of the time by input.start_s and "
                    "duration_s, or " SETTLED_BY,
                    path, index, found, search->frequency_hz, after_s,
                    search->index);
}

/* Search the entries of a file backwards from the latest. */
static enum fx8_status search_file(struct search *search, const char *path,
                                   hid_t file)
{
    for (int64_t end = search->end; !search->is_complete;) {
        const int64_t index = latest_entry(file, end);
        if (index < 0)
            break;
        char name[32];
        snprintf(name, sizeof name, "%" PRId64, index);
        FX8_H5_AUTO entry = H5Gopen2(file, name, H5P_DEFAULT);
        double found = NAN;
        if (entry >= 0)
            FX8_TRY(entry_frequency(path, entry, index, &found, search->error));
        FX8_TRY(compare_entries(search, path, index, found));
        search->is_lacking = search->is_lacking || isnan(found);
        search->frequency_hz = found;
        search->index = index;
        search->is_complete = index <= search->span->first;
        end = index;
    }
    return FX8_OK;
}

/* Search the files backwards from the last. */
static enum fx8_status search_files(const struct fx8_drf_list *list,
                                    struct fx8_rate rate, struct search *search)
{
    for (size_t i = list->n_files; i > 0 && !search->is_complete; i--) {
        if (fx8_drf_first_index(rate, list->files[i - 1].milliseconds) >=
            search->end)
            continue;
        const char *path = list->files[i - 1].path;
        FX8_H5_AUTO file = FX8_H5_NONE;
        if (fx8_h5_open_file(path, &file, NULL) == FX8_OK)
            FX8_TRY(search_file(search, path, file));
    }
    return FX8_OK;
}

enum fx8_status fx8_drf_center_frequency(const char *channel,
                                         const struct fx8_drf_span *span,
                                         double *frequency_hz,
                                         struct fx8_error *error)
{
    FX8_AUTO_FREE char *folder = fx8_path_join(channel, "metadata");
    FX8_AUTO_FREE char *path =
        folder == NULL ? NULL : fx8_path_join(folder, "dmd_properties.h5");
    *frequency_hz = NAN;
    if (path == NULL)
        return fx8_no_memory(channel, error);
    char prefix[FX8_TEXT_SIZE] = "";
    struct fx8_rate rate = {0, 0};
    FX8_H5_AUTO file = FX8_H5_NONE;
    FX8_AUTO(fx8_drf_clear_list) struct fx8_drf_list list = {0};
    struct search search = {
        .span = span, .end = span->end, .frequency_hz = NAN, .error = error};
    const bool is_open = fx8_h5_open_file(path, &file, NULL) == FX8_OK;
    const struct fx8_h5_place root = {path, file, true};
    const bool is_noted =
        is_open &&
        fx8_h5_get_texts(&root, "file_name", 1, sizeof prefix, prefix, NULL) ==
            FX8_OK &&
        fx8_drf_read_rate(&root, &rate, NULL) == FX8_OK &&
        fx8_drf_list_files(folder, prefix, &list, NULL) == FX8_OK;
    if (is_noted)
        FX8_TRY(search_files(&list, rate, &search));
    if (!search.is_lacking)
        *frequency_hz = search.frequency_hz;
    return FX8_OK;
}
