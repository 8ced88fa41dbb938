/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channel.c -- a channel of a Digital RF recording: its properties, its extent,
 * and the location of its samples in files.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/observation.h"
#include "io/digital_rf/digital_rf_reader.h"

/* As for native recordings: keeps half samples times it below 2^86. */
#define MAX_DENOMINATOR 1000000

/* --- properties -------------------------------------------------------- */

enum fx8_status fx8_drf_read_rate(const struct fx8_h5_place *place,
                                  struct fx8_rate *rate,
                                  struct fx8_error *error)
{
    const struct fx8_h5_integer integers[] = {
        {"sample_rate_numerator", 1, INT64_MAX, &rate->numerator_hz},
        {"sample_rate_denominator", 1, INT64_MAX, &rate->denominator},
    };
    FX8_TRY(fx8_h5_get_each(place, integers,
                            sizeof integers / sizeof integers[0], error));
    *rate = fx8_rate_reduced(*rate);
    if (rate->denominator > MAX_DENOMINATOR)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: sample_rate_denominator: %" PRId64
                        " in lowest terms: expected at most %d",
                        place->path, rate->denominator, MAX_DENOMINATOR);
    return FX8_OK;
}

static enum fx8_status read_epoch(const struct fx8_h5_place *place,
                                  struct fx8_time *epoch,
                                  struct fx8_error *error)
{
    char text[FX8_TEXT_SIZE];
    FX8_TRY(fx8_h5_get_texts(place, "epoch", 1, sizeof text, text, error));
    if (fx8_number_time(text, epoch))
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: epoch: %s: expected an instant in UTC such as "
                    "1970-01-01T00:00:00Z",
                    place->path, text);
}

static enum fx8_status read_properties(struct fx8_drf_channel *channel,
                                       const char *path,
                                       struct fx8_error *error)
{
    FX8_H5_AUTO file = FX8_H5_NONE;
    FX8_TRY(fx8_h5_open_file(path, &file, error));
    const struct fx8_h5_place root = {path, file, true};
    int64_t is_complex = 0;
    int64_t is_continuous = 0;
    int64_t n_subchannels = 0;
    const struct fx8_h5_integer integers[] = {
        {"is_complex", 0, 1, &is_complex},
        {"is_continuous", 0, 1, &is_continuous},
        {"num_subchannels", 1, 65536, &n_subchannels},
        /* a day; keeps products of milliseconds and rates small */
        {"file_cadence_millisecs", 1, 86400000, &channel->cadence_ms},
    };
    FX8_TRY(fx8_h5_get_each(&root, integers,
                            sizeof integers / sizeof integers[0], error));
    FX8_TRY(fx8_drf_read_rate(&root, &channel->rate, error));
    FX8_TRY(read_epoch(&root, &channel->epoch, error));
    channel->is_complex = is_complex != 0;
    channel->is_continuous = is_continuous != 0;
    channel->n_subchannels = (size_t)n_subchannels;
    return FX8_OK;
}

/* --- samples ----------------------------------------------------------- */

void fx8_drf_file_range(const struct fx8_drf_channel *channel, size_t number,
                        int64_t *first, int64_t *end)
{
    const int64_t milliseconds = channel->list.files[number].milliseconds;
    *first = fx8_drf_first_index(channel->rate, milliseconds);
    *end =
        fx8_drf_first_index(channel->rate, milliseconds + channel->cadence_ms);
}

/* The first file that can have samples at or after `from`. */
static size_t find_file(const struct fx8_drf_channel *channel, int64_t from)
{
    size_t low = 0, high = channel->list.n_files;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        int64_t first, end;
        fx8_drf_file_range(channel, middle, &first, &end);
        if (end + 1 <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first samples of the open file at or after `from`. */
static void find_piece(const struct fx8_drf_channel *channel, int64_t from,
                       int64_t end, struct fx8_drf_piece *piece)
{
    for (size_t i = 0; i < channel->n_stretches; i++) {
        const struct fx8_drf_stretch at = channel->stretches[i];
        const int64_t rows_end = i + 1 < channel->n_stretches
                                     ? channel->stretches[i + 1].row
                                     : channel->n_rows;
        const int64_t last = at.index + (rows_end - at.row);
        if (last <= from)
            continue;
        const int64_t first = at.index > from ? at.index : from;
        if (first < end)
            *piece = (struct fx8_drf_piece){
                .first = first,
                .n = (last < end ? last : end) - first,
                .row = at.row + (first - at.index),
                .least_row = at.row,
                .rows_end = rows_end,
            };
        return;
    }
}

/* The samples from `from` that a file can hold, by its name: [first, last). */
static void find_by_name(const struct fx8_drf_channel *channel, int64_t first,
                         int64_t last, int64_t from, int64_t end,
                         struct fx8_drf_piece *piece)
{
    /* leave a margin for writers that round in floating point */
    const int64_t doubt = channel->rate.denominator == 1 ? 0 : 1;
    first = first - doubt > channel->first ? first - doubt : channel->first;
    last = last + doubt < channel->end ? last + doubt : channel->end;
    first = first > from ? first : from;
    last = last < end ? last : end;
    if (first < last)
        *piece = (struct fx8_drf_piece){.first = first, .n = last - first};
}

enum fx8_status fx8_drf_next(struct fx8_drf_channel *channel, int64_t from,
                             int64_t end, bool by_name,
                             struct fx8_drf_piece *piece,
                             struct fx8_error *error)
{
    *piece = (struct fx8_drf_piece){.n = 0};
    for (size_t i = find_file(channel, from);
         i < channel->list.n_files && piece->n == 0; i++) {
        int64_t file_first, file_end;
        fx8_drf_file_range(channel, i, &file_first, &file_end);
        if (file_first - 1 >= end)
            break;
        if (by_name) {
            find_by_name(channel, file_first, file_end, from, end, piece);
        } else {
            FX8_TRY(fx8_drf_open_file(channel, i, error));
            find_piece(channel, from, end, piece);
        }
    }
    return FX8_OK;
}

/* --- the channel ------------------------------------------------------- */

/* Find the first and last sample from the indices in those files. */
static enum fx8_status find_extent(struct fx8_drf_channel *channel,
                                   struct fx8_error *error)
{
    const size_t last = channel->list.n_files - 1;
    FX8_TRY(fx8_drf_open_file(channel, 0, error));
    channel->first = channel->stretches[0].index;
    FX8_TRY(fx8_drf_open_file(channel, last, error));
    const struct fx8_drf_stretch at =
        channel->stretches[channel->n_stretches - 1];
    channel->end = at.index + (channel->n_rows - at.row);
    if (channel->end > FX8_DRF_MAX_INDEX)
        return fx8_refuse(error, channel->file_path, FX8_DRF_INDEX,
                          "sample %" PRId64 ": expected samples below 2^62",
                          channel->end);
    fx8_drf_close_file(channel);
    return FX8_OK;
}

/* Check that the channels of a recording agree. */
static enum fx8_status compare_channels(const struct fx8_drf_channel *a,
                                        const struct fx8_drf_channel *b,
                                        struct fx8_error *error)
{
    if (a->rate.numerator_hz != b->rate.numerator_hz ||
        a->rate.denominator != b->rate.denominator)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s/%s: sample_rate_numerator: %" PRId64 "/%" PRId64
                        " Hz: expected %" PRId64 "/%" PRId64 " Hz as in %s",
                        b->path, FX8_DRF_PROPERTIES, b->rate.numerator_hz,
                        b->rate.denominator, a->rate.numerator_hz,
                        a->rate.denominator, a->path);
    if (a->is_complex != b->is_complex)
        return fx8_fail(
            error, FX8_ERR_INPUT, "%s/%s: is_complex: %d: expected %d as in %s",
            b->path, FX8_DRF_PROPERTIES, b->is_complex, a->is_complex, a->path);
    if (a->epoch.unix_s != b->epoch.unix_s ||
        a->epoch.picosecond != b->epoch.picosecond)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s/%s: epoch: expected the same as in %s", b->path,
                        FX8_DRF_PROPERTIES, a->path);
    return FX8_OK;
}

enum fx8_status fx8_drf_open(const char *path,
                             const struct fx8_drf_channel *like,
                             struct fx8_drf_channel *channel,
                             struct fx8_error *error)
{
    *channel =
        (struct fx8_drf_channel){.path = strdup(path), .file_number = SIZE_MAX};
    FX8_AUTO_FREE char *properties = fx8_path_join(path, FX8_DRF_PROPERTIES);
    if (channel->path == NULL || properties == NULL)
        return fx8_no_memory("a channel", error);
    FX8_TRY(read_properties(channel, properties, error));
    if (like != NULL)
        FX8_TRY(compare_channels(like, channel, error));
    FX8_TRY(fx8_drf_list_files(path, "rf", &channel->list, error));
    if (channel->list.n_files == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: rf@*.h5: none: expected files of samples in "
                        "folders named after an instant",
                        path);
    return find_extent(channel, error);
}

void fx8_drf_close(struct fx8_drf_channel *channel)
{
    fx8_drf_close_file(channel);
    fx8_drf_clear_list(&channel->list);
    free(channel->stretches);
    free(channel->path);
    channel->stretches = NULL;
    channel->path = NULL;
}
