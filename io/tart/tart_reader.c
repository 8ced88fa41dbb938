/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tart_reader.c -- raw recordings of a Transient Array Radio Telescope: `data`
 * uint8 [antenna][byte], eight one-bit samples per byte, most significant
 * first; `timestamp` ISO 8601 text; `config` JSON text; antenna positions in
 * antenna_positions.json beside the file.
 *
 * A bit is the sign of the voltage: 1 is read as +1, 0 as -1.  The opposite
 * choice would negate every input and leave every product unchanged.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/antennas.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "io/h5/h5.h"
#include "io/h5/storage.h"
#include "io/reader_formats.h"
#include "io/selection.h"
#include "io/tart/config.h"

#define DATASET        "data"
#define POSITIONS_FILE "antenna_positions.json"

/* Samples in a byte. */
#define PACKED 8

struct tart_reader {
    struct fx8_reader base; /* first: the interface */
    char *path;
    hid_t file;
    hid_t data;
    hid_t space;
    int64_t chunk_samples;
    struct fx8_h5_storage *storage;
    struct fx8_selection selection;
    uint8_t *packed; /* bytes of one read, grown as needed */
    size_t packed_size;
    int8_t unpacked[256][PACKED]; /* the samples of every byte value */
};

static bool tart_probe(const char *path)
{
    fx8_h5_quiet();
    hid_t file = FX8_H5_NONE;
    bool found = false;
    if (fx8_h5_open_file(path, &file, NULL) == FX8_OK) {
        const struct fx8_h5_place root = {path, file, false};
        found = fx8_h5_has(&root, DATASET) && fx8_h5_has(&root, "timestamp") &&
                fx8_h5_has(&root, "config");
    }
    fx8_h5_close(&file);
    return found;
}

static void fill_unpacked(struct tart_reader *reader)
{
    for (int byte = 0; byte < 256; byte++)
        for (int i = 0; i < PACKED; i++)
            reader->unpacked[byte][i] =
                (byte >> (PACKED - 1 - i) & 1) != 0 ? 1 : -1;
}

/* Check type and shape of `data`. */
static enum fx8_status read_shape(struct tart_reader *reader,
                                  struct fx8_error *error)
{
    hid_t type = H5Dget_type(reader->data);
    const bool is_uint8 = H5Tget_class(type) == H5T_INTEGER &&
                          H5Tget_size(type) == 1 &&
                          H5Tget_sign(type) == H5T_SGN_NONE;
    char name[128];
    fx8_h5_type_name(type, name, sizeof name);
    fx8_h5_close(&type);
    if (!is_uint8)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %s: %s: expected uint8, eight samples a byte",
                        reader->path, DATASET, name);
    const int rank = H5Sget_simple_extent_ndims(reader->space);
    if (rank != 2)
        return fx8_fail(error, FX8_ERR_INPUT, "%s: %s: %d %s: expected 2",
                        reader->path, DATASET, rank,
                        FX8_NOUN(rank, "axis", "axes"));
    hsize_t extent[2];
    H5Sget_simple_extent_dims(reader->space, extent, NULL);
    if (extent[0] == 0 || extent[0] > FX8_READER_MAX_ANTENNAS ||
        extent[1] == 0 || extent[1] > INT64_MAX / PACKED / extent[0])
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %s: %" PRIu64 " x %" PRIu64
                        ": expected 1 to %d antennas and at least one byte",
                        reader->path, DATASET, (uint64_t)extent[0],
                        (uint64_t)extent[1], FX8_READER_MAX_ANTENNAS);
    struct fx8_observation *observation = &reader->base.observation;
    observation->n_antennas = (size_t)extent[0];
    observation->n_polarizations = 1;
    observation->n_samples = (int64_t)extent[1] * PACKED;
    hid_t creation = H5Dget_create_plist(reader->data);
    hsize_t chunk[2] = {1, 1};
    if (creation >= 0 && H5Pget_layout(creation) == H5D_CHUNKED)
        H5Pget_chunk(creation, 2, chunk);
    reader->chunk_samples = (int64_t)chunk[1] * PACKED;
    fx8_h5_close(&creation);
    return FX8_OK;
}

static enum fx8_status read_metadata(struct tart_reader *reader,
                                     struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    const struct fx8_h5_place root = {reader->path, reader->file, false};
    char instant[FX8_TEXT_SIZE];
    enum fx8_status status =
        fx8_h5_get_texts(&root, "timestamp", 1, sizeof instant, instant, error);
    if (status != FX8_OK)
        return status;
    if (!fx8_number_time(instant, &observation->start_time))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: timestamp: %s: expected an instant in UTC such as "
                        "2026-06-12T11:20:40+00:00",
                        reader->path, instant);
    observation->has_start_time = true;
    char *json = NULL;
    status = fx8_h5_get_long_text(&root, "config", &json, error);
    int64_t n_antennas = 0;
    if (status == FX8_OK)
        status = fx8_tart_config(reader->path, json, observation, &n_antennas,
                                 error);
    free(json);
    if (status == FX8_OK && n_antennas > 0 &&
        n_antennas != (int64_t)observation->n_antennas)
        status = fx8_fail(
            error, FX8_ERR_INPUT,
            "%s: config: num_antenna %" PRId64 ": expected %zu, the rows of %s",
            reader->path, n_antennas, observation->n_antennas, DATASET);
    return status;
}

/* Read the table beside the recording, unless the user gives another. */
static enum fx8_status read_positions(struct tart_reader *reader,
                                      const struct fx8_settings *settings,
                                      struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    if (settings->array.positions != NULL &&
        settings->array.positions[0] != '\0')
        return FX8_OK;
    char *folder = fx8_path_folder(reader->path);
    char *path = folder != NULL ? fx8_path_join(folder, POSITIONS_FILE) : NULL;
    enum fx8_status status = FX8_OK;
    if (path == NULL)
        status = fx8_no_memory("the path of antenna positions", error);
    else if (access(path, F_OK) == 0)
        status = fx8_antennas_load(path, &observation->antennas,
                                   &observation->n_table, error);
    if (status == FX8_OK && observation->antennas != NULL &&
        observation->n_table != observation->n_antennas)
        status = fx8_fail(error, FX8_ERR_INPUT,
                          "%s: %zu %s: expected %zu, the rows of %s in "
                          "%s",
                          path, observation->n_table,
                          FX8_NOUN(observation->n_table, "antenna", "antennas"),
                          observation->n_antennas, DATASET, reader->path);
    free(path);
    free(folder);
    return status;
}

static enum fx8_status tart_select(struct fx8_reader *base,
                                   const struct fx8_input_position *inputs,
                                   size_t n_inputs, struct fx8_error *error)
{
    struct tart_reader *reader = (struct tart_reader *)base;
    enum fx8_status status =
        fx8_reader_check_inputs(base, inputs, n_inputs, error);
    if (status != FX8_OK)
        return status;
    /* one polarisation, without an axis in the dataset: treated as an axis of
     * length 1 between antennas and time */
    const struct fx8_axis_order order = {
        .place = {0, 1, 2}, .extent = {base->observation.n_antennas, 1, 1}};
    struct fx8_selection selection;
    status = fx8_selection_make(&order, inputs, n_inputs, &selection, error);
    if (status != FX8_OK)
        return status;
    fx8_selection_clear(&reader->selection);
    reader->selection = selection;
    return FX8_OK;
}

static size_t tart_buffer_size(const struct fx8_reader *base, int64_t n_samples)
{
    const struct tart_reader *reader = (const struct tart_reader *)base;
    if (n_samples < 0)
        return SIZE_MAX;
    return fx8_product(reader->selection.n_rows, (size_t)n_samples, 1, 1);
}

static int64_t tart_read_samples(const struct fx8_reader *base)
{
    const struct tart_reader *reader = (const struct tart_reader *)base;
    const int64_t n =
        fx8_reader_samples(tart_buffer_size(base, 1), reader->chunk_samples);
    return n < PACKED ? PACKED : n / PACKED * PACKED;
}

/* Read bytes [first, first + n) of one rectangle of antennas. */
static enum fx8_status read_bytes(const struct tart_reader *reader,
                                  const struct fx8_rectangle *rectangle,
                                  hsize_t first, hsize_t n,
                                  struct fx8_error *error)
{
    const hsize_t start[2] = {rectangle->first[0], first};
    const hsize_t count[2] = {rectangle->n[0], n};
    enum fx8_status status = FX8_OK;
    hid_t memory = H5Screate_simple(2, count, NULL);
    if (memory < 0 ||
        H5Sselect_hyperslab(reader->space, H5S_SELECT_SET, start, NULL, count,
                            NULL) < 0 ||
        H5Dread(reader->data, H5T_NATIVE_UINT8, memory, reader->space,
                H5P_DEFAULT, reader->packed + rectangle->row * n) < 0)
        status = fx8_h5_fail(error, FX8_ERR_INPUT, reader->path, DATASET);
    fx8_h5_close(&memory);
    return status;
}

/* Unpack samples [skip, skip + n) of a packed row. */
static void unpack_row(const struct tart_reader *reader, const uint8_t *packed,
                       size_t skip, size_t n, int8_t *samples)
{
    size_t i = 0;
    for (; i < n && (skip + i) % PACKED != 0; i++)
        samples[i] = reader->unpacked[packed[0]][skip + i];
    for (; i + PACKED <= n; i += PACKED)
        memcpy(samples + i, reader->unpacked[packed[(skip + i) / PACKED]],
               PACKED);
    for (; i < n; i++)
        samples[i] =
            reader->unpacked[packed[(skip + i) / PACKED]][(skip + i) % PACKED];
}

static enum fx8_status grow_packed(struct tart_reader *reader, size_t size,
                                   struct fx8_error *error)
{
    if (size <= reader->packed_size)
        return FX8_OK;
    free(reader->packed);
    reader->packed = NULL;
    reader->packed_size = 0;
    void *memory = NULL;
    const enum fx8_status status =
        fx8_allocate(size, 1, "packed samples", &memory, error);
    if (status != FX8_OK)
        return status;
    reader->packed = memory;
    reader->packed_size = size;
    return FX8_OK;
}

static enum fx8_status tart_read(struct fx8_reader *base, int64_t first,
                                 int64_t n_samples, int8_t *buffer,
                                 struct fx8_sample_layout *layout,
                                 struct fx8_error *error)
{
    struct tart_reader *reader = (struct tart_reader *)base;
    const struct fx8_selection *selection = &reader->selection;
    fx8_h5_quiet();
    enum fx8_status status =
        fx8_reader_check_range(base, DATASET, first, n_samples, error);
    if (status != FX8_OK)
        return status;
    const int64_t first_byte = first / PACKED;
    const size_t n_bytes =
        (size_t)((first + n_samples - 1) / PACKED - first_byte + 1);
    status = grow_packed(reader, fx8_product(selection->n_rows, n_bytes, 1, 1),
                         error);
    for (size_t i = 0; i < selection->n_rectangles && status == FX8_OK; i++)
        status = read_bytes(reader, &selection->rectangles[i],
                            (hsize_t)first_byte, n_bytes, error);
    status = fx8_h5_check_uncut(reader->storage, reader->path, DATASET, first,
                                n_samples, status, error);
    if (status != FX8_OK)
        return status;
    const size_t pitch = (size_t)fx8_row_samples(layout, n_samples);
    for (size_t row = 0; row < selection->n_rows; row++)
        unpack_row(reader, reader->packed + row * n_bytes,
                   (size_t)(first % PACKED), (size_t)n_samples,
                   buffer + row * pitch);
    layout->time_stride = 1;
    for (size_t i = 0; i < selection->n_inputs; i++)
        layout->input_offset[i] = (ptrdiff_t)(selection->row[i] * pitch);
    return FX8_OK;
}

static void tart_close(struct fx8_reader *base)
{
    struct tart_reader *reader = (struct tart_reader *)base;
    fx8_selection_clear(&reader->selection);
    fx8_observation_clear(&base->observation);
    fx8_h5_storage_close(&reader->storage);
    fx8_h5_close(&reader->space);
    fx8_h5_close(&reader->data);
    fx8_h5_close(&reader->file);
    free(reader->packed);
    free(reader->path);
    free(reader);
}

static enum fx8_status load(struct tart_reader *reader,
                            const struct fx8_settings *settings,
                            struct fx8_error *error)
{
    enum fx8_status status =
        fx8_h5_open_file(reader->path, &reader->file, error);
    if (status == FX8_OK)
        status = fx8_h5_open_dataset(reader->path, reader->file, DATASET,
                                     H5P_DEFAULT, &reader->data, error);
    if (status == FX8_OK) {
        reader->space = H5Dget_space(reader->data);
        if (reader->space < 0)
            status = fx8_h5_fail(error, FX8_ERR_INPUT, reader->path, DATASET);
    }
    if (status == FX8_OK)
        status = read_shape(reader, error);
    if (status == FX8_OK)
        status = fx8_h5_storage_open(reader->path, DATASET, reader->data,
                                     UINT64_MAX, &reader->storage, error);
    if (status == FX8_OK)
        status = read_metadata(reader, error);
    if (status == FX8_OK)
        status = read_positions(reader, settings, error);
    if (status == FX8_OK)
        status = fx8_reader_select_all(&reader->base, tart_select, error);
    return status;
}

static enum fx8_status tart_open(const char *const *paths, size_t n_paths,
                                 const struct fx8_settings *settings,
                                 struct fx8_reader **result,
                                 struct fx8_error *error)
{
    *result = NULL;
    fx8_h5_quiet();
    struct tart_reader *reader;
    char *path;
    void *memory;
    enum fx8_status status = fx8_reader_allocate(
        paths, n_paths, "a recording of format tart is a single file",
        sizeof *reader, &memory, &path, error);
    if (status != FX8_OK)
        return status;
    reader = memory;
    fill_unpacked(reader);
    reader->path = path;
    reader->file = FX8_H5_NONE;
    reader->data = FX8_H5_NONE;
    reader->space = FX8_H5_NONE;
    reader->base = (struct fx8_reader){.format = &fx8_reader_tart,
                                       .path = path,
                                       .observation = fx8_observation_unknown(),
                                       .select = tart_select,
                                       .buffer_size = tart_buffer_size,
                                       .read_samples = tart_read_samples,
                                       .read = tart_read,
                                       .close = tart_close};
    status = load(reader, settings, error);
    if (status != FX8_OK) {
        tart_close(&reader->base);
        return status;
    }
    *result = &reader->base;
    return FX8_OK;
}

const struct fx8_reader_format fx8_reader_tart = {
    .name = "tart",
    .format = FX8_FORMAT_TART,
    .probe = tart_probe,
    .open = tart_open,
};
