/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/quicklook/quicklook_file.h"
#include "io/quicklook/read.h"

/* Most dumps and channels: memory is allocated before they are read. */
#define MOST_VALUES ((size_t)1 << 24)

const char *const fx8_quicklook_count_names[FX8_QUICKLOOK_COUNTS] = {
    "cells",
    "spectra",
    "no_product",
    "not_finite",
    "no_power",
    "above_one",
    "beyond_half",
    "fisher_few",
    "fisher_real",
    "fisher_loud",
    "fisher_clamped",
    "spectra_no_data",
    "spectra_infinite",
    "spectra_no_power"};

/* Length of the first axis of a dataset. */
static enum fx8_status get_length(const struct fx8_h5_place *place,
                                  const char *name, size_t *length,
                                  struct fx8_error *error)
{
    FX8_H5_AUTO dataset = FX8_H5_NONE;
    FX8_TRY(fx8_h5_open_dataset(place->path, place->object, name, H5P_DEFAULT,
                                &dataset, error));
    FX8_H5_AUTO space = H5Dget_space(dataset);
    hsize_t extent[1] = {0};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank == 1)
        H5Sget_simple_extent_dims(space, extent, NULL);
    if (extent[0] == 0 || extent[0] > MOST_VALUES)
        return fx8_refuse(
            error, place->path, name,
            "%d %s, %" PRIu64 " %s: expected one axis of 1 to %zu values", rank,
            FX8_NOUN(rank, "axis", "axes"), (uint64_t)extent[0],
            FX8_NOUN(extent[0], "value", "values"), MOST_VALUES);
    *length = (size_t)extent[0];
    return FX8_OK;
}

static enum fx8_status get_attributes(const struct fx8_h5_place *root,
                                      struct fx8_quicklook_description *d,
                                      struct fx8_error *error)
{
    const struct {
        const char *name;
        char *text;
    } texts[] = {{"telescope", d->telescope},
                 {"instrument", d->instrument},
                 {"object", d->object},
                 {"math", d->math},
                 {"precision", d->precision}};
    int64_t version;
    const struct fx8_h5_integer integers[] = {
        {"version", FX8_QUICKLOOK_VERSION, FX8_QUICKLOOK_VERSION, &version},
        {"spectra_per_dump", 1, INT64_MAX, &d->spectra_per_dump},
    };
    FX8_TRY(fx8_h5_get_each(root, integers,
                            sizeof integers / sizeof integers[0], error));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FX8_TRY(fx8_h5_get_texts(root, texts[i].name, 1, FX8_TEXT_SIZE,
                                 texts[i].text, error));
        fx8_h5_printable(texts[i].text);
    }
    return fx8_h5_get_real(root, "integration_time_s", &d->integration_time_s,
                           error);
}

static enum fx8_status get_dates(const struct fx8_h5_place *root,
                                 struct fx8_quicklook_description *d,
                                 struct fx8_error *error)
{
    FX8_AUTO_FREE double *dates = NULL;
    FX8_TRY(get_length(root, "time_julian_date", &d->n_dumps, error));
    FX8_TRY(fx8_allocate(d->n_dumps, sizeof *dates, "dates", &dates, error));
    FX8_TRY(fx8_h5_get_reals(root, "time_julian_date",
                             fx8_h5_all(d->n_dumps, 1), dates, error));
    d->first_julian_date = d->last_julian_date = NAN;
    for (size_t i = 0; i < d->n_dumps; i++) {
        if (isnan(dates[i]))
            continue; /* not written yet */
        if (d->n_written++ == 0)
            d->first_julian_date = dates[i];
        d->last_julian_date = dates[i];
    }
    return FX8_OK;
}

static enum fx8_status get_channels(const struct fx8_h5_place *root,
                                    struct fx8_quicklook_description *d,
                                    struct fx8_error *error)
{
    FX8_TRY(get_length(root, "frequency_hz", &d->n_channels, error));
    const struct fx8_h5_rows first = {d->n_channels, 1, 0, 1};
    const struct fx8_h5_rows last = {d->n_channels, 1, d->n_channels - 1, 1};
    FX8_TRY(fx8_h5_get_reals(root, "frequency_hz", first,
                             &d->first_frequency_hz, error));
    FX8_TRY(fx8_h5_get_reals(root, "frequency_hz", last, &d->last_frequency_hz,
                             error));
    return fx8_h5_get_reals(root, "channel_width_hz", first,
                            &d->channel_width_hz, error);
}

/* Read the group that is written last; absent if the run was killed. */
static enum fx8_status get_counts(const struct fx8_h5_place *root,
                                  struct fx8_quicklook_description *d,
                                  struct fx8_error *error)
{
    if (H5Lexists(root->object, "counts", H5P_DEFAULT) <= 0)
        return FX8_OK;
    FX8_H5_AUTO group = H5Gopen2(root->object, "counts", H5P_DEFAULT);
    if (group < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, root->path, "counts");
    const struct fx8_h5_place counts = {root->path, group, false};
    for (size_t i = 0; i < FX8_QUICKLOOK_COUNTS; i++)
        FX8_TRY(fx8_h5_get_integer(&counts, fx8_quicklook_count_names[i], 0,
                                   INT64_MAX, &d->counts[i], error));
    d->has_counts = true;
    return FX8_OK;
}

bool fx8_quicklook_probe(const char *path)
{
    return fx8_h5_is_format(path, FX8_QUICKLOOK_FORMAT);
}

enum fx8_status fx8_quicklook_describe(
    const char *path, struct fx8_quicklook_description *description,
    struct fx8_error *error)
{
    *description = (struct fx8_quicklook_description){0};
    fx8_h5_quiet();
    FX8_H5_AUTO file = FX8_H5_NONE;
    FX8_TRY(fx8_h5_open_file(path, &file, error));
    const struct fx8_h5_place attributes = {path, file, true};
    const struct fx8_h5_place root = {path, file, false};
    const struct {
        const char *name;
        size_t *length;
    } axes[] = {{"antenna_numbers", &description->n_antennas},
                {"input_antenna", &description->n_inputs},
                {"baseline_antenna_1", &description->n_baselines},
                {"product", &description->n_products}};
    FX8_TRY(get_attributes(&attributes, description, error));
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        FX8_TRY(get_length(&root, axes[i].name, axes[i].length, error));
    FX8_TRY(get_dates(&root, description, error));
    FX8_TRY(get_channels(&root, description, error));
    return get_counts(&root, description, error);
}
