/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digital_rf_file.c -- one file of a Digital RF channel: open it, check it
 * against the channel, read its rows.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "io/digital_rf/digital_rf_reader.h"
#include "io/h5/storage.h"

/* Memory for a decoded chunk that was read only in part. */
#define MAX_CHUNK_CACHE ((size_t)256 << 20)

size_t fx8_drf_row_bytes(const struct fx8_drf_channel *channel)
{
    return channel->n_subchannels * (channel->is_complex ? 2 : 1) *
           channel->part_bytes;
}

/* Bytes of a signed integer of 8 or 16 bits, else 0. */
static size_t integer_bytes(hid_t type)
{
    const size_t size = H5Tget_size(type);
    const bool is_good = H5Tget_class(type) == H5T_INTEGER &&
                         H5Tget_sign(type) == H5T_SGN_2 && size <= 2;
    return is_good ? size : 0;
}

/* Bytes of a real number of a sample, 0 if the type is unsupported. */
static size_t part_bytes(hid_t type, bool is_complex)
{
    if (!is_complex)
        return integer_bytes(type);
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2)
        return 0;
    static const char *const members[2] = {"r", "i"};
    size_t bytes[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const int index = H5Tget_member_index(type, members[i]);
        hid_t member =
            index < 0 ? FX8_H5_NONE : H5Tget_member_type(type, (unsigned)index);
        if (member >= 0)
            bytes[i] = integer_bytes(member);
        fx8_h5_close(&member);
    }
    return bytes[0] == bytes[1] ? bytes[0] : 0;
}

static hid_t make_memory_type(size_t bytes, bool is_complex)
{
    hid_t part = bytes == 1 ? H5T_NATIVE_INT8 : H5T_NATIVE_INT16;
    if (!is_complex)
        return H5Tcopy(part);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
    if (type >= 0 && H5Tinsert(type, "r", 0, part) >= 0 &&
        H5Tinsert(type, "i", bytes, part) >= 0)
        return type;
    fx8_h5_close(&type);
    return FX8_H5_NONE;
}

/* Check the type of rf_data; the first file opened sets the channel's. */
static enum fx8_status check_type(struct fx8_drf_channel *channel,
                                  struct fx8_error *error)
{
    hid_t type = H5Dget_type(channel->data);
    const size_t bytes = part_bytes(type, channel->is_complex);
    char name[128];
    fx8_h5_type_name(type, name, sizeof name);
    fx8_h5_close(&type);
    const char *complex_text = channel->is_complex ? "compound {r, i} of " : "";
    if (bytes == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %s: %s: expected %sint8 or int16, samples of 8 "
                        "or 16 bits",
                        channel->file_path, FX8_DRF_DATA, name, complex_text);
    if (channel->part_bytes != 0 && bytes != channel->part_bytes)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %s: %s: expected %sint%zu as in the channel's "
                        "first file",
                        channel->file_path, FX8_DRF_DATA, name, complex_text,
                        8 * channel->part_bytes);
    channel->part_bytes = bytes;
    channel->memory_type = make_memory_type(bytes, channel->is_complex);
    if (channel->memory_type < 0)
        return fx8_h5_fail(error, FX8_ERR_SYSTEM, channel->file_path,
                           FX8_DRF_DATA);
    return FX8_OK;
}

/* Rows of rf_data: [row][sub-channel], or [row] for a single one. */
static enum fx8_status check_shape(struct fx8_drf_channel *channel,
                                   struct fx8_error *error)
{
    hsize_t extent[2] = {0, 1};
    const int rank = H5Sget_simple_extent_ndims(channel->space);
    if (rank == 1 || rank == 2)
        H5Sget_simple_extent_dims(channel->space, extent, NULL);
    if (extent[0] == 0 || extent[0] > FX8_DRF_MAX_INDEX ||
        extent[1] != channel->n_subchannels)
        return fx8_fail(
            error, FX8_ERR_INPUT,
            "%s: %s: %d %s, %" PRIu64 " x %" PRIu64 ": expected rows of %zu %s",
            channel->file_path, FX8_DRF_DATA, rank,
            FX8_NOUN(rank, "axis", "axes"), (uint64_t)extent[0],
            (uint64_t)extent[1], channel->n_subchannels,
            FX8_NOUN(channel->n_subchannels, "sub-channel", "sub-channels"));
    channel->n_rows = (int64_t)extent[0];
    return FX8_OK;
}

/* A packed chunk larger than HDF5's default cache would be decoded again by
 * every read: reopen rf_data with room for one. */
static enum fx8_status give_cache(struct fx8_drf_channel *channel,
                                  struct fx8_error *error)
{
    hid_t creation = H5Dget_create_plist(channel->data);
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    hsize_t chunk[2] = {1, 1};
    enum fx8_status status = FX8_OK;
    channel->is_chunked =
        creation >= 0 && H5Pget_layout(creation) == H5D_CHUNKED;
    if (creation < 0 || access < 0) {
        status = fx8_h5_fail(error, FX8_ERR_SYSTEM, channel->file_path,
                             FX8_DRF_DATA);
    } else if (channel->is_chunked && H5Pget_nfilters(creation) > 0 &&
               H5Pget_chunk(creation, 2, chunk) > 0) {
        const size_t bytes = fx8_product((size_t)chunk[0], (size_t)chunk[1],
                                         2 * channel->part_bytes, 1);
        H5Pset_chunk_cache(access, 101,
                           bytes < MAX_CHUNK_CACHE ? bytes : MAX_CHUNK_CACHE,
                           1.0);
        fx8_h5_close(&channel->data);
        status =
            fx8_h5_open_dataset(channel->file_path, channel->file, FX8_DRF_DATA,
                                access, &channel->data, error);
    }
    fx8_h5_close(&access);
    fx8_h5_close(&creation);
    return status;
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
            return fx8_fail(
                error, FX8_ERR_INPUT,
                "%s: %s: row %zu: sample %" PRId64 " at row %" PRId64
                ": expected ascending samples from %" PRId64 " to %" PRId64
                " in %" PRId64 " %s, as the name of the file says",
                channel->file_path, FX8_DRF_INDEX, i, at.index, at.row, first,
                end - 1, channel->n_rows,
                FX8_NOUN(channel->n_rows, "row", "rows"));
        next_index = at.index + (rows_end - at.row);
        next_row = rows_end;
    }
    return FX8_OK;
}

/* Count the rows of rf_data_index; at most one per row of rf_data. */
static enum fx8_status count_stretches(struct fx8_drf_channel *channel,
                                       size_t *n, struct fx8_error *error)
{
    hid_t dataset;
    const enum fx8_status status =
        fx8_h5_open_dataset(channel->file_path, channel->file, FX8_DRF_INDEX,
                            H5P_DEFAULT, &dataset, error);
    if (status != FX8_OK)
        return status;
    hid_t space = H5Dget_space(dataset);
    hsize_t extent[2] = {0, 0};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank == 2)
        H5Sget_simple_extent_dims(space, extent, NULL);
    fx8_h5_close(&space);
    fx8_h5_close(&dataset);
    *n = (size_t)extent[0];
    if (rank == 2 && extent[0] > 0 && extent[0] <= (hsize_t)channel->n_rows)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %s: %d %s, %" PRIu64 " %s: expected sample and "
                    "row of every gap-free stretch",
                    channel->file_path, FX8_DRF_INDEX, rank,
                    FX8_NOUN(rank, "axis", "axes"), (uint64_t)extent[0],
                    FX8_NOUN(extent[0], "row", "rows"));
}

static enum fx8_status read_index(struct fx8_drf_channel *channel,
                                  struct fx8_error *error)
{
    size_t n = 0;
    enum fx8_status status = count_stretches(channel, &n, error);
    if (status != FX8_OK)
        return status;
    /* a stretch is two int64 without padding, like a row */
    _Static_assert(sizeof(struct fx8_drf_stretch) == 2 * sizeof(int64_t),
                   "rows of rf_data_index");
    struct fx8_drf_stretch *grown = realloc(
        channel->stretches, fx8_product(n, sizeof *channel->stretches, 1, 1));
    if (grown == NULL)
        return fx8_no_memory(FX8_DRF_INDEX, error);
    channel->stretches = grown;
    channel->n_stretches = n;
    const struct fx8_h5_place place = {channel->file_path, channel->file,
                                       false};
    status = fx8_h5_get_integers(&place, FX8_DRF_INDEX, fx8_h5_all(n, 2),
                                 &grown[0].index, error);
    return status == FX8_OK ? check_index(channel, error) : status;
}

/* Check the rate in the file: it differs in a file copied from elsewhere. */
static enum fx8_status check_rate(const struct fx8_drf_channel *channel,
                                  struct fx8_error *error)
{
    const struct fx8_h5_place place = {channel->file_path, channel->data, true};
    if (!fx8_h5_has(&place, "sample_rate_numerator"))
        return FX8_OK;
    struct fx8_rate rate;
    const enum fx8_status status = fx8_drf_read_rate(&place, &rate, error);
    if (status != FX8_OK || (rate.numerator_hz == channel->rate.numerator_hz &&
                             rate.denominator == channel->rate.denominator))
        return status;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: sample_rate_numerator: %" PRId64 "/%" PRId64
                    " Hz: expected %" PRId64 "/%" PRId64 " Hz as in %s/%s",
                    channel->file_path, rate.numerator_hz, rate.denominator,
                    channel->rate.numerator_hz, channel->rate.denominator,
                    channel->path, FX8_DRF_PROPERTIES);
}

void fx8_drf_close_file(struct fx8_drf_channel *channel)
{
    fx8_h5_chunks_close(&channel->chunks);
    fx8_h5_storage_close(&channel->storage);
    fx8_h5_close(&channel->memory_type);
    fx8_h5_close(&channel->space);
    fx8_h5_close(&channel->data);
    fx8_h5_close(&channel->file);
    free(channel->file_path);
    channel->file_path = NULL;
    channel->file_number = SIZE_MAX;
}

static enum fx8_status load_file(struct fx8_drf_channel *channel,
                                 struct fx8_error *error)
{
    enum fx8_status status =
        fx8_h5_open_file(channel->file_path, &channel->file, error);
    if (status == FX8_OK)
        status =
            fx8_h5_open_dataset(channel->file_path, channel->file, FX8_DRF_DATA,
                                H5P_DEFAULT, &channel->data, error);
    if (status == FX8_OK) {
        channel->space = H5Dget_space(channel->data);
        if (channel->space < 0)
            status = fx8_h5_fail(error, FX8_ERR_INPUT, channel->file_path,
                                 FX8_DRF_DATA);
    }
    if (status == FX8_OK)
        status = check_type(channel, error);
    if (status == FX8_OK)
        status = check_shape(channel, error);
    if (status == FX8_OK)
        status = check_rate(channel, error);
    if (status == FX8_OK)
        status =
            fx8_h5_storage_open(channel->file_path, FX8_DRF_DATA, channel->data,
                                UINT64_MAX, &channel->storage, error);
    if (status == FX8_OK)
        status = read_index(channel, error);
    if (status == FX8_OK)
        status = give_cache(channel, error);
    if (status != FX8_OK)
        return status;
    const struct fx8_h5_samples samples = {channel->file_path, FX8_DRF_DATA,
                                           channel->data, channel->memory_type,
                                           0};
    return fx8_h5_chunks_open(&samples, &channel->chunks, error);
}

enum fx8_status fx8_drf_open_file(struct fx8_drf_channel *channel,
                                  size_t number, struct fx8_error *error)
{
    if (channel->file_number == number)
        return FX8_OK;
    fx8_drf_close_file(channel);
    channel->file_path = fx8_drf_file_path(&channel->list, "rf", number, true);
    if (channel->file_path == NULL)
        return fx8_no_memory("the name of a file", error);
    channel->file_number = number;
    const enum fx8_status status = load_file(channel, error);
    if (status != FX8_OK)
        fx8_drf_close_file(channel);
    return status;
}

enum fx8_status fx8_drf_read_rows(struct fx8_drf_channel *channel,
                                  const struct fx8_workers *workers,
                                  int64_t row, int64_t n, void *rows,
                                  struct fx8_error *error)
{
    const hsize_t start[2] = {(hsize_t)row, 0};
    const hsize_t count[2] = {(hsize_t)n, channel->n_subchannels};
    const struct fx8_h5_part part = {start, count, count};
    const enum fx8_status status =
        fx8_h5_chunks_read(channel->chunks, workers, &part, rows, error);
    return fx8_h5_check_uncut(channel->storage, channel->file_path,
                              FX8_DRF_DATA, row, n, status, error);
}
