/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.c -- many channel files as one recording: tiles side by side, coarse
 * channels as bands, parts in sequence, gaps as missing samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/aavs/aavs_reader.h"
#include "io/h5/h5.h"

/* Antennas assumed for a tile without files, if the other tiles differ. */
#define USUAL_ANTENNAS 16

static const char *path_of(const struct fx8_aavs_reader *reader, size_t file)
{
    return reader->files[file].path;
}

/* --- tiles and their coarse channels -------------------------------------- */

static enum fx8_status fail_pair(const struct fx8_aavs_file *file,
                                 const struct fx8_aavs_file *other,
                                 const char *what, size_t value,
                                 size_t expected, struct fx8_error *error)
{
    return fx8_refuse(error, file->path, what, "%zu: expected %zu, as in %s",
                      value, expected, other->path);
}

/* Add a file to the group of its tile and channels, or to a new one. */
static enum fx8_status sort_file(struct fx8_aavs_reader *reader, size_t index,
                                 struct fx8_error *error)
{
    const struct fx8_aavs_file *file = &reader->files[index];
    const struct fx8_aavs_file *first = &reader->files[0];
    if (file->n_polarizations != first->n_polarizations)
        return fail_pair(file, first, "n_pols", file->n_polarizations,
                         first->n_polarizations, error);
    if (*file->station != '\0' && *first->station != '\0' &&
        strcmp(file->station, first->station) != 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: station_name: %s: expected %s, as in %s",
                        file->path, file->station, first->station, first->path);
    for (size_t g = 0; g < reader->n_groups; g++) {
        const struct fx8_aavs_group *group = &reader->groups[g];
        if (group->tile != file->tile)
            continue;
        const struct fx8_aavs_file *other = &reader->files[group->file];
        if (group->n_antennas != file->n_antennas)
            return fail_pair(file, other, "n_antennas", file->n_antennas,
                             group->n_antennas, error);
        if (group->first_channel == file->first_channel &&
            group->n_channels == file->n_channels)
            return FX8_OK;
        if (group->first_channel <
                file->first_channel + (int64_t)file->n_channels &&
            file->first_channel <
                group->first_channel + (int64_t)group->n_channels)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: channel_id: %" PRId64 " to %" PRId64
                            ": expected the channels of %s, or none of them",
                            file->path, file->first_channel,
                            file->first_channel + (int64_t)file->n_channels - 1,
                            other->path);
    }
    reader->groups[reader->n_groups++] = (struct fx8_aavs_group){
        .tile = file->tile,
        .n_antennas = file->n_antennas,
        .n_channels = file->n_channels,
        .first_channel = file->first_channel,
        .n_columns = file->n_columns,
        .file = index,
    };
    return FX8_OK;
}

static int compare_groups(const void *a, const void *b)
{
    const struct fx8_aavs_group *x = a, *y = b;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    return x->first_channel < y->first_channel
               ? -1
               : x->first_channel > y->first_channel;
}

/* End of the groups [first, end) of one tile. */
static size_t end_of_tile(const struct fx8_aavs_reader *reader, size_t first)
{
    size_t end = first;
    while (end < reader->n_groups &&
           reader->groups[end].tile == reader->groups[first].tile)
        end++;
    return end;
}

/* Add groups for a tile without files, with the first tile's channels. */
static enum fx8_status add_missing_tile(struct fx8_aavs_reader *reader,
                                        int64_t tile, size_t n_antennas,
                                        struct fx8_error *error)
{
    const size_t n_more = end_of_tile(reader, 0);
    struct fx8_aavs_group *groups =
        realloc(reader->groups, (reader->n_groups + n_more) * sizeof *groups);
    if (groups == NULL)
        return fx8_no_memory("tiles", error);
    reader->groups = groups;
    const size_t n_polarizations = reader->files[0].n_polarizations;
    for (size_t i = 0; i < n_more; i++) {
        struct fx8_aavs_group *group = &groups[reader->n_groups++];
        *group = groups[i];
        group->tile = tile;
        group->n_antennas = n_antennas;
        group->n_columns = group->n_channels * n_antennas * n_polarizations;
    }
    return FX8_OK;
}

/* The antenna count common to all tiles, or the usual number. */
static size_t usual_antennas(const struct fx8_aavs_reader *reader)
{
    for (size_t g = 1; g < reader->n_groups; g++)
        if (reader->groups[g].n_antennas != reader->groups[0].n_antennas)
            return USUAL_ANTENNAS;
    return reader->groups[0].n_antennas;
}

/* Check that every tile in the range has files, or add the missing ones. */
static enum fx8_status complete_tiles(struct fx8_aavs_reader *reader,
                                      bool may_lack_tiles,
                                      struct fx8_error *error)
{
    const size_t n_present = reader->n_groups;
    const size_t n_antennas = usual_antennas(reader);
    const int64_t last = reader->groups[n_present - 1].tile;
    for (size_t g = 0; g + 1 < n_present; g++) {
        const int64_t next = reader->groups[g + 1].tile;
        for (int64_t tile = reader->groups[g].tile + 1; tile < next; tile++) {
            if (!may_lack_tiles)
                return fx8_fail(
                    error, FX8_ERR_INPUT,
                    "%s: tile_id: tile %" PRId64 " of %" PRId64 " to %" PRId64
                    " is missing: expected files of every tile, or "
                    "input.allow_missing_tiles = yes",
                    path_of(reader, 0), tile, reader->groups[0].tile, last);
            FX8_TRY(add_missing_tile(reader, tile, n_antennas, error));
        }
    }
    qsort(reader->groups, reader->n_groups, sizeof *reader->groups,
          compare_groups);
    return FX8_OK;
}

/* Check that a tile's groups [g, end) cover the channels of all bands. */
static enum fx8_status place_tile(struct fx8_aavs_reader *reader, size_t g,
                                  size_t end, const int64_t *channels,
                                  struct fx8_error *error)
{
    const size_t n_bands = reader->base.observation.n_bands;
    size_t band = 0;
    bool is_same = true;
    for (size_t i = g; i < end; i++) {
        struct fx8_aavs_group *group = &reader->groups[i];
        group->first_band = band;
        for (size_t c = 0; c < group->n_channels && is_same; c++, band++)
            is_same = band < n_bands &&
                      channels[band] == group->first_channel + (int64_t)c;
    }
    if (is_same && band == n_bands)
        return FX8_OK;
    return fx8_fail(
        error, FX8_ERR_INPUT,
        "%s: channel_id: tile %" PRId64 " has other channels than tile %" PRId64
        " in %s: expected the same of every tile",
        path_of(reader, reader->groups[g].file), reader->groups[g].tile,
        reader->groups[0].tile, path_of(reader, reader->groups[0].file));
}

/* Make the channels of the first tile the bands; every tile must have them. */
static enum fx8_status place_channels(struct fx8_aavs_reader *reader,
                                      struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    const size_t n_first = end_of_tile(reader, 0);
    const int64_t lowest = reader->groups[0].first_channel;
    observation->n_bands = 0;
    for (size_t i = 0; i < n_first; i++)
        observation->n_bands += reader->groups[i].n_channels;
    const size_t n_bands = observation->n_bands;
    if (reader->files[0].has_channel)
        observation->dc_frequency_hz = (double)lowest * FX8_AAVS_SPACING_HZ;
    FX8_AUTO_FREE int64_t *channels = NULL;
    FX8_AUTO_FREE double *offset_hz = NULL;
    const struct fx8_array arrays[] = {
        {&channels, n_bands, sizeof *channels},
        {&offset_hz, n_bands, sizeof *offset_hz},
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "bands", error));
    size_t band = 0;
    for (size_t i = 0; i < n_first; i++)
        for (size_t c = 0; c < reader->groups[i].n_channels; c++, band++) {
            channels[band] = reader->groups[i].first_channel + (int64_t)c;
            offset_hz[band] =
                (double)(channels[band] - lowest) * FX8_AAVS_SPACING_HZ;
        }
    for (size_t g = 0, end; g < reader->n_groups; g = end) {
        end = end_of_tile(reader, g);
        FX8_TRY(place_tile(reader, g, end, channels, error));
    }
    if (n_bands > 1) {
        observation->band_offset_hz = offset_hz;
        offset_hz = NULL;
    }
    return FX8_OK;
}

/* Order the antennas by tile. */
static enum fx8_status place_antennas(struct fx8_aavs_reader *reader,
                                      struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    observation->n_antennas = 0;
    for (size_t g = 0, end; g < reader->n_groups; g = end) {
        end = end_of_tile(reader, g);
        for (size_t i = g; i < end; i++)
            reader->groups[i].first_antenna = observation->n_antennas;
        observation->n_antennas += reader->groups[g].n_antennas;
        if (observation->n_antennas > FX8_READER_MAX_ANTENNAS)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: n_antennas: %zu up to tile %" PRId64
                            ": expected at most %d in all",
                            path_of(reader, reader->groups[g].file),
                            observation->n_antennas, reader->groups[g].tile,
                            FX8_READER_MAX_ANTENNAS);
    }
    observation->n_polarizations = reader->files[0].n_polarizations;
    return FX8_OK;
}

/* --- time ----------------------------------------------------------------- */

/* The reference stretch: the longest. */
static const struct fx8_aavs_stretch *reference_of(
    const struct fx8_aavs_stretches *stretches)
{
    const struct fx8_aavs_stretch *best = &stretches->items[0];
    for (size_t i = 1; i < stretches->n; i++)
        if (stretches->items[i].n_rows > best->n_rows)
            best = &stretches->items[i];
    return best;
}

/* Place each stretch on the sample grid of the reference, whose first row is
 * sample 0. */
static enum fx8_status place_on_grid(struct fx8_aavs_reader *reader,
                                     const struct fx8_aavs_stretch *reference,
                                     struct fx8_error *error)
{
    const double rate_hz = fx8_rate_hz(reader->base.observation.sample_rate);
    for (size_t i = 0; i < reader->stretches.n; i++) {
        struct fx8_aavs_stretch *stretch = &reader->stretches.items[i];
        const char *path = path_of(reader, stretch->file);
        const double rows = (stretch->stamp_s - reference->stamp_s) * rate_hz +
                            stretch->lag - reference->lag;
        const double samples =
            rows + (double)(stretch->first_row - reference->first_row);
        if (fabs(samples) > FX8_READER_LONGEST_S * rate_hz)
            return fx8_refuse(
                error, path, FX8_AAVS_STAMPS,
                "row %" PRId64 ": %+.6g s from %s: expected files of one "
                "recording, at most %g s long",
                stretch->first_row, samples / rate_hz,
                path_of(reader, reference->file), FX8_READER_LONGEST_S);
        const double nearest = nearbyint(rows);
        if (fabs(rows - nearest) >
            FX8_READER_MOST_OFF + stretch->doubt + reference->doubt)
            return fx8_refuse(
                error, path, FX8_AAVS_STAMPS,
                "row %" PRId64
                ": %+.3g samples off the sampling of %s: expected "
                "at most %.3g",
                stretch->first_row, rows - nearest,
                path_of(reader, reference->file),
                FX8_READER_MOST_OFF + stretch->doubt + reference->doubt);
        stretch->first_sample =
            (int64_t)nearest + stretch->first_row - reference->first_row;
    }
    return FX8_OK;
}

/* Make the earliest sample sample 0; its time follows from the reference. */
static enum fx8_status set_origin(struct fx8_aavs_reader *reader,
                                  const struct fx8_aavs_stretch *reference,
                                  struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    struct fx8_aavs_stretch *items = reader->stretches.items;
    int64_t first = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < reader->stretches.n; i++) {
        const int64_t last = items[i].first_sample + items[i].n_rows;
        first = items[i].first_sample < first ? items[i].first_sample : first;
        end = last > end ? last : end;
    }
    const double rate_hz = fx8_rate_hz(observation->sample_rate);
    if ((double)(end - first) > FX8_READER_LONGEST_S * rate_hz)
        return fx8_refuse(error, path_of(reader, 0), FX8_AAVS_STAMPS,
                          "%.6g s in all: expected at most %g s",
                          (double)(end - first) / rate_hz,
                          FX8_READER_LONGEST_S);
    const double whole_s = floor(reference->stamp_s);
    const double rest_s =
        reference->stamp_s - whole_s + reference->lag / rate_hz;
    const double second = floor(rest_s);
    struct fx8_time time = {
        (int64_t)whole_s + (int64_t)second,
        (int64_t)nearbyint((rest_s - second) * (double)FX8_PICOSECONDS)};
    if (time.picosecond == FX8_PICOSECONDS)
        time = (struct fx8_time){time.unix_s + 1, 0};
    observation->start_time = fx8_time_add_half_samples(
        time, 2 * (reference->first_row + first), observation->sample_rate);
    observation->has_start_time = true;
    observation->n_samples = end - first;
    for (size_t i = 0; i < reader->stretches.n; i++)
        items[i].first_sample -= first;
    return FX8_OK;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct fx8_aavs_stretch *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->first_sample != y->first_sample)
        return x->first_sample < y->first_sample ? -1 : 1;
    return x->file < y->file ? -1 : x->file > y->file;
}

/* Sort stretches by group and time; stretches of a group must not overlap. */
static enum fx8_status sort_stretches(struct fx8_aavs_reader *reader,
                                      struct fx8_error *error)
{
    struct fx8_aavs_stretch *items = reader->stretches.items;
    const size_t n = reader->stretches.n;
    for (size_t i = 0; i < reader->n_files; i++) {
        struct fx8_aavs_file *file = &reader->files[i];
        for (size_t g = 0; g < reader->n_groups; g++)
            if (reader->groups[g].tile == file->tile &&
                reader->groups[g].first_channel == file->first_channel)
                file->group = g;
    }
    for (size_t i = 0; i < n; i++)
        items[i].group = reader->files[items[i].file].group;
    qsort(items, n, sizeof *items, compare_stretches);
    for (size_t i = 0; i < n; i++) {
        struct fx8_aavs_group *group = &reader->groups[items[i].group];
        if (group->n_stretches++ == 0) {
            group->first_stretch = i;
            continue;
        }
        const int64_t end = items[i - 1].first_sample + items[i - 1].n_rows;
        const char *path = path_of(reader, items[i].file);
        if (items[i].first_sample < end)
            return fx8_refuse(
                error, path, FX8_AAVS_STAMPS,
                "row %" PRId64 ": %" PRId64
                " %s before the end of %s, also tile %" PRId64
                ": expected each tile number once, its parts one "
                "after the other",
                items[i].first_row, end - items[i].first_sample,
                FX8_NOUN(end - items[i].first_sample, "sample", "samples"),
                path_of(reader, items[i - 1].file), group->tile);
    }
    return FX8_OK;
}

/* --- gaps ----------------------------------------------------------------- */

/* List samples [first, end) missing in a group: one entry if it is the only
 * group, one per antenna if it is its tile's only group, else one per antenna
 * and band. */
static enum fx8_status add_lack(struct fx8_aavs_reader *reader,
                                const struct fx8_aavs_group *group,
                                int64_t first, int64_t end,
                                struct fx8_error *error)
{
    struct fx8_reader *base = &reader->base;
    if (first >= end)
        return FX8_OK;
    struct fx8_missing gap = {first, end - first, -1, -1, -1};
    if (reader->n_groups == 1)
        return fx8_missing_add(&base->missing, &base->n_missing, &gap, error);
    const bool is_tile = group->n_channels == base->observation.n_bands;
    for (size_t a = 0; a < group->n_antennas; a++)
        for (size_t c = 0; c < (is_tile ? 1 : group->n_channels); c++) {
            gap.antenna = (int32_t)(group->first_antenna + a);
            gap.band = is_tile ? -1 : (int32_t)(group->first_band + c);
            FX8_TRY(
                fx8_missing_add(&base->missing, &base->n_missing, &gap, error));
        }
    return FX8_OK;
}

static enum fx8_status list_missing(struct fx8_aavs_reader *reader,
                                    struct fx8_error *error)
{
    for (size_t g = 0; g < reader->n_groups; g++) {
        const struct fx8_aavs_group *group = &reader->groups[g];
        int64_t end = 0;
        for (size_t i = 0; i < group->n_stretches; i++) {
            const struct fx8_aavs_stretch *stretch =
                &reader->stretches.items[group->first_stretch + i];
            FX8_TRY(add_lack(reader, group, end, stretch->first_sample, error));
            end = stretch->first_sample + stretch->n_rows;
        }
        FX8_TRY(add_lack(reader, group, end, reader->base.observation.n_samples,
                         error));
    }
    return FX8_OK;
}

enum fx8_status fx8_aavs_join(struct fx8_aavs_reader *reader,
                              bool may_lack_tiles, struct fx8_error *error)
{
    FX8_TRY(fx8_allocate(reader->n_files, sizeof *reader->groups, "tiles",
                         &reader->groups, error));
    for (size_t i = 0; i < reader->n_files; i++)
        FX8_TRY(sort_file(reader, i, error));
    qsort(reader->groups, reader->n_groups, sizeof *reader->groups,
          compare_groups);
    FX8_TRY(complete_tiles(reader, may_lack_tiles, error));
    FX8_TRY(place_antennas(reader, error));
    FX8_TRY(place_channels(reader, error));
    const struct fx8_aavs_stretch *reference = reference_of(&reader->stretches);
    FX8_TRY(place_on_grid(reader, reference, error));
    FX8_TRY(set_origin(reader, reference, error));
    FX8_TRY(sort_stretches(reader, error));
    return list_missing(reader, error);
}
