/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digital_rf_file.c -- one file of a Digital RF channel: open it, check it
 * against the channel, read its rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/digital_rf/digital_rf_reader.h"

/* Memory for a decoded chunk that was read only in part. */
#define MAX_CHUNK_CACHE ((size_t)256 << 20)

size_t fx8_drf_row_bytes(const struct fx8_drf_channel *channel)
{
    return channel->n_subchannels * (channel->is_complex ? 2 : 1) *
           channel->part_bytes;
}

/* Check the type of rf_data; the first file opened sets the channel's. */
static enum fx8_status check_type(struct fx8_drf_channel *channel,
                                  struct fx8_error *error)
{
    const struct fx8_h5_dataset *data = &channel->data;
    const size_t bytes = data->part == H5T_NATIVE_INT8    ? 1
                         : data->part == H5T_NATIVE_INT16 ? 2
                                                          : 0;
    const char *complex_text = channel->is_complex ? "compound {r, i} of " : "";
    char expected[128];
    if (bytes == 0 ||
        data->parts != (channel->is_complex ? FX8_H5_R_I : FX8_H5_REALS))
        snprintf(expected, sizeof expected,
                 "%sint8 or int16, samples of 8 or 16 bits", complex_text);
    else if (channel->part_bytes != 0 && bytes != channel->part_bytes)
        snprintf(expected, sizeof expected,
                 "%sint%zu as in the channel's first file", complex_text,
                 8 * channel->part_bytes);
    else {
        channel->part_bytes = bytes;
        return FX8_OK;
    }
    return fx8_h5_dataset_fail_type(data, expected, error);
}

/* Rows of rf_data: [row][sub-channel], or [row] for a single one. */
static enum fx8_status check_shape(struct fx8_drf_channel *channel,
                                   struct fx8_error *error)
{
    const int rank = channel->data.rank;
    const hsize_t *extent = channel->data.extent;
    if (rank < 1 || rank > 2 || extent[0] == 0 ||
        extent[0] > FX8_DRF_MAX_INDEX || extent[1] != channel->n_subchannels)
        return fx8_refuse(
            error, channel->file_path, FX8_DRF_DATA,
            "%d %s, %" PRIu64 " x %" PRIu64 ": expected rows of %zu %s", rank,
            FX8_NOUN(rank, "axis", "axes"), (uint64_t)extent[0],
            (uint64_t)extent[1], channel->n_subchannels,
            FX8_NOUN(channel->n_subchannels, "sub-channel", "sub-channels"));
    channel->n_rows = (int64_t)extent[0];
    channel->is_chunked = channel->data.is_chunked;
    return FX8_OK;
}

/* Check that the rows of rf_data_index ascend, within rf_data and the file's
 * time range. */
static enum fx8_status check_index(const struct fx8_drf_channel *channel,
                                   struct fx8_error *error)
{
    int64_t first, end;
    fx8_drf_file_range(channel, channel->file_number, &first, &end);
    int64_t next_index = first > 0 ? first - 1 : 0;
    int64_t next_row = 0;
    for (size_t i = 0; i < channel->n_stretches; i++) {
        const struct fx8_drf_stretch at = channel->stretches[i];
        const bool is_last = i + 1 == channel->n_stretches;
        const int64_t rows_end =
            is_last ? channel->n_rows : channel->stretches[i + 1].row;
        if (at.row != next_row || rows_end <= at.row ||
            rows_end > channel->n_rows || at.index < next_index ||
            at.index > end + 1 || rows_end - at.row > end + 1 - at.index)
            return fx8_refuse(
                error, channel->file_path, FX8_DRF_INDEX,
                "row %zu: sample %" PRId64 " at row %" PRId64
                ": expected ascending samples from %" PRId64 " to %" PRId64
                " in %" PRId64 " %s, as the name of the file says",
                i, at.index, at.row, first, end - 1, channel->n_rows,
                FX8_NOUN(channel->n_rows, "row", "rows"));
        next_index = at.index + (rows_end - at.row);
        next_row = rows_end;
    }
    return FX8_OK;
}

static enum fx8_status read_index(struct fx8_drf_channel *channel,
                                  struct fx8_error *error)
{
    FX8_AUTO(fx8_h5_dataset_close) struct fx8_h5_dataset index = {0};
    FX8_TRY(fx8_h5_dataset_open(channel->file_path, channel->file,
                                FX8_DRF_INDEX, &index, error));
    const hsize_t n = index.extent[0];
    if (index.rank != 2 || n == 0 || n > (hsize_t)channel->n_rows)
        return fx8_refuse(error, channel->file_path, FX8_DRF_INDEX,
                          "%d %s, %" PRIu64 " %s: expected sample and "
                          "row of every gap-free stretch",
                          index.rank, FX8_NOUN(index.rank, "axis", "axes"),
                          (uint64_t)n, FX8_NOUN(n, "row", "rows"));
    /* a stretch is two int64 without padding, like a row */
    _Static_assert(sizeof(struct fx8_drf_stretch) == 2 * sizeof(int64_t),
                   "rows of rf_data_index");
    struct fx8_drf_stretch *grown =
        realloc(channel->stretches,
                fx8_product((size_t)n, sizeof *channel->stretches, 1, 1));
    if (grown == NULL)
        return fx8_no_memory(FX8_DRF_INDEX, error);
    channel->stretches = grown;
    channel->n_stretches = (size_t)n;
    const struct fx8_h5_place place = {channel->file_path, channel->file,
                                       false};
    FX8_TRY(fx8_h5_get_integers(&place, FX8_DRF_INDEX, fx8_h5_all((size_t)n, 2),
                                &grown[0].index, error));
    return check_index(channel, error);
}

/* Check the rate in the file: it differs in a file copied from elsewhere. */
static enum fx8_status check_rate(const struct fx8_drf_channel *channel,
                                  struct fx8_error *error)
{
    const struct fx8_h5_place place = {channel->file_path, channel->data.id,
                                       true};
    if (!fx8_h5_has(&place, "sample_rate_numerator"))
        return FX8_OK;
    struct fx8_rate rate;
    FX8_TRY(fx8_drf_read_rate(&place, &rate, error));
    if (rate.numerator_hz == channel->rate.numerator_hz &&
        rate.denominator == channel->rate.denominator)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: sample_rate_numerator: %" PRId64 "/%" PRId64
                    " Hz: expected %" PRId64 "/%" PRId64 " Hz as in %s/%s",
                    channel->file_path, rate.numerator_hz, rate.denominator,
                    channel->rate.numerator_hz, channel->rate.denominator,
                    channel->path, FX8_DRF_PROPERTIES);
}

void fx8_drf_close_file(struct fx8_drf_channel *channel)
{
    fx8_h5_dataset_close(&channel->data);
    fx8_h5_close(&channel->file);
    channel->file_path = NULL;
    channel->file_number = SIZE_MAX;
}

static enum fx8_status load_file(struct fx8_drf_channel *channel,
                                 struct fx8_error *error)
{
    const struct fx8_h5_use use = {.time_axis = 0,
                                   .samples = 1,
                                   .n_rows = UINT64_MAX,
                                   .cache_bytes = MAX_CHUNK_CACHE};
    FX8_TRY(fx8_h5_open_file(channel->file_path, &channel->file, error));
    FX8_TRY(fx8_h5_dataset_open(channel->file_path, channel->file, FX8_DRF_DATA,
                                &channel->data, error));
    FX8_TRY(check_type(channel, error));
    FX8_TRY(check_shape(channel, error));
    FX8_TRY(check_rate(channel, error));
    FX8_TRY(fx8_h5_dataset_prepare(&channel->data, &use, error));
    return read_index(channel, error);
}

enum fx8_status fx8_drf_open_file(struct fx8_drf_channel *channel,
                                  size_t number, struct fx8_error *error)
{
    if (channel->file_number == number)
        return FX8_OK;
    fx8_drf_close_file(channel);
    channel->file_path = channel->list.files[number].path;
    channel->file_number = number;
    const enum fx8_status status = load_file(channel, error);
    if (status != FX8_OK)
        fx8_drf_close_file(channel);
    return status;
}

enum fx8_status fx8_drf_read_rows(struct fx8_drf_channel *channel,
                                  size_t n_threads, int64_t row, int64_t n,
                                  void *rows, struct fx8_error *error)
{
    const hsize_t start[2] = {(hsize_t)row, 0};
    const hsize_t count[2] = {(hsize_t)n, channel->n_subchannels};
    const struct fx8_h5_part part = {start, count, count};
    return fx8_h5_dataset_read(&channel->data, n_threads, &part, rows, error);
}
