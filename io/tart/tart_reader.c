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
#include "config/base/try.h"
#include "io/h5/dataset.h"
#include "io/h5/h5.h"
#include "io/reader_formats.h"
#include "io/selection.h"
#include "io/tart/config.h"

#define DATASET        "data"
#define POSITIONS_FILE "antenna_positions.json"

/* Samples in a byte. */
#define PACKED 8

/* Memory for decoded chunks that were read only in part. */
#define MAX_CHUNK_CACHE ((size_t)256 << 20)

struct tart_reader {
    struct fx8_reader base; /* first: the interface */
    hid_t file;
    struct fx8_h5_dataset data;
    struct fx8_selection selection;
    uint8_t *packed; /* bytes of one read, grown as needed */
    size_t packed_size;
    int8_t unpacked[256][PACKED]; /* the samples of every byte value */
};

static bool tart_probe(const struct fx8_h5_place *root)
{
    return fx8_h5_has(root, DATASET) && fx8_h5_has(root, "timestamp") &&
           fx8_h5_has(root, "config");
}

static void fill_unpacked(struct tart_reader *reader)
{
    for (int byte = 0; byte < 256; byte++)
        for (int i = 0; i < PACKED; i++)
            reader->unpacked[byte][i] =
                (byte >> (PACKED - 1 - i) & 1) != 0 ? 1 : -1;
}

/* Open `data` and check its type and shape. */
static enum fx8_status open_data(struct tart_reader *reader,
                                 struct fx8_error *error)
{
    struct fx8_h5_dataset *data = &reader->data;
    const char *path = reader->base.path;
    FX8_TRY(fx8_h5_dataset_open(path, reader->file, DATASET, data, error));
    if (data->part != H5T_NATIVE_UINT8 || data->parts != FX8_H5_REALS)
        return fx8_h5_dataset_fail_type(data, "uint8, eight samples a byte",
                                        error);
    if (data->rank != 2)
        return fx8_refuse(error, path, DATASET, "%d %s: expected 2", data->rank,
                          FX8_NOUN(data->rank, "axis", "axes"));
    const hsize_t *extent = data->extent;
    if (extent[0] == 0 || extent[0] > FX8_READER_MAX_ANTENNAS ||
        extent[1] == 0 || extent[1] > INT64_MAX / PACKED / extent[0])
        return fx8_refuse(error, path, DATASET,
                          "%" PRIu64 " x %" PRIu64
                          ": expected 1 to %d antennas and at least one byte",
                          (uint64_t)extent[0], (uint64_t)extent[1],
                          FX8_READER_MAX_ANTENNAS);
    struct fx8_observation *observation = &reader->base.observation;
    observation->n_antennas = (size_t)extent[0];
    observation->n_polarizations = 1;
    observation->n_samples = (int64_t)extent[1] * PACKED;
    const struct fx8_h5_use use = {.time_axis = 1,
                                   .samples = PACKED,
                                   .n_rows = UINT64_MAX,
                                   .cache_bytes = MAX_CHUNK_CACHE};
    FX8_TRY(fx8_h5_dataset_prepare(data, &use, error));
    fx8_reader_note_slow(&reader->base, data->chunks);
    return FX8_OK;
}

static enum fx8_status read_metadata(struct tart_reader *reader,
                                     struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    const struct fx8_h5_place root = {reader->base.path, reader->file, false};
    char instant[FX8_TEXT_SIZE];
    FX8_TRY(fx8_h5_get_texts(&root, "timestamp", 1, sizeof instant, instant,
                             error));
    if (!fx8_number_time(instant, &observation->start_time))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: timestamp: %s: expected an instant in UTC such as "
                        "2026-06-12T11:20:40+00:00",
                        reader->base.path, instant);
    observation->has_start_time = true;
    FX8_AUTO_FREE char *json = NULL;
    int64_t n_antennas = 0;
    FX8_TRY(fx8_h5_get_long_text(&root, "config", &json, error));
    FX8_TRY(fx8_tart_config(root.path, json, observation, &n_antennas, error));
    if (n_antennas > 0 && n_antennas != (int64_t)observation->n_antennas)
        return fx8_fail(
            error, FX8_ERR_INPUT,
            "%s: config: num_antenna %" PRId64 ": expected %zu, the rows of %s",
            reader->base.path, n_antennas, observation->n_antennas, DATASET);
    return FX8_OK;
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
    FX8_AUTO_FREE char *folder = fx8_path_folder(reader->base.path);
    FX8_AUTO_FREE char *path =
        folder != NULL ? fx8_path_join(folder, POSITIONS_FILE) : NULL;
    if (path == NULL)
        return fx8_no_memory("the path of antenna positions", error);
    if (access(path, F_OK) != 0)
        return FX8_OK;
    FX8_TRY(fx8_antennas_load(path, &observation->antennas,
                              &observation->n_table, NULL, error));
    if (observation->n_table == observation->n_antennas)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %zu %s: expected %zu, the rows of %s in %s", path,
                    observation->n_table,
                    FX8_NOUN(observation->n_table, "antenna", "antennas"),
                    observation->n_antennas, DATASET, reader->base.path);
}

static enum fx8_status tart_select(struct fx8_reader *base,
                                   const struct fx8_input_position *inputs,
                                   size_t n_inputs, struct fx8_error *error)
{
    struct tart_reader *reader = (struct tart_reader *)base;
    /* one polarisation, without an axis in the dataset: treated as an axis of
     * length 1 between antennas and time */
    const struct fx8_axis_order order = {
        .place = {0, 1, 2}, .extent = {base->observation.n_antennas, 1, 1}};
    FX8_TRY(fx8_selection_replace(&order, inputs, n_inputs, 1,
                                  &reader->selection, base->places, error));
    base->n_rows = reader->selection.n_rows;
    base->sample_bytes = 1;
    /* whole bytes, also where a chunk is too long to be read at once */
    const hsize_t most = FX8_READER_MAX_BYTES / base->n_rows / PACKED;
    const hsize_t chunk = reader->data.chunk[1];
    base->chunk_samples = PACKED * (chunk > most ? 1 : (int64_t)chunk);
    return FX8_OK;
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
    void *memory = NULL;
    FX8_TRY(fx8_allocate(size, 1, "packed samples", &memory, error));
    free(reader->packed);
    reader->packed = memory;
    reader->packed_size = size;
    return FX8_OK;
}

static enum fx8_status tart_read(struct fx8_reader *base, int64_t first,
                                 int64_t n_samples, int64_t row_samples,
                                 int8_t *buffer, struct fx8_error *error)
{
    struct tart_reader *reader = (struct tart_reader *)base;
    const struct fx8_selection *selection = &reader->selection;
    const int64_t first_byte = first / PACKED;
    const size_t n_bytes =
        (size_t)((first + n_samples - 1) / PACKED - first_byte + 1);
    FX8_TRY(grow_packed(reader, fx8_product(selection->n_rows, n_bytes, 1, 1),
                        error));
    for (size_t i = 0; i < selection->n_rectangles; i++) {
        const struct fx8_rectangle *rectangle = &selection->rectangles[i];
        const hsize_t start[2] = {rectangle->first[0], (hsize_t)first_byte};
        const hsize_t count[2] = {rectangle->n[0], n_bytes};
        const struct fx8_h5_part part = {start, count, count};
        FX8_TRY(fx8_h5_dataset_read(&reader->data, base->n_threads, &part,
                                    reader->packed + rectangle->row * n_bytes,
                                    error));
    }
    for (size_t row = 0; row < selection->n_rows; row++)
        unpack_row(reader, reader->packed + row * n_bytes,
                   (size_t)(first % PACKED), (size_t)n_samples,
                   buffer + row * (size_t)row_samples);
    return FX8_OK;
}

static void tart_close(struct fx8_reader *base)
{
    struct tart_reader *reader = (struct tart_reader *)base;
    free(reader->selection.rectangles);
    fx8_h5_dataset_close(&reader->data);
    fx8_h5_close(&reader->file);
    free(reader->packed);
}

static enum fx8_status tart_load(struct fx8_reader *base,
                                 const struct fx8_settings *settings,
                                 struct fx8_error *error)
{
    struct tart_reader *reader = (struct tart_reader *)base;
    fill_unpacked(reader);
    FX8_TRY(fx8_h5_open_file(base->path, &reader->file, error));
    FX8_TRY(open_data(reader, error));
    FX8_TRY(read_metadata(reader, error));
    return read_positions(reader, settings, error);
}

const struct fx8_reader_format fx8_reader_tart = {
    .name = "tart",
    .format = FX8_FORMAT_TART,
    .samples = DATASET,
    .size = sizeof(struct tart_reader),
    .single = "a recording of format tart is a single file",
    .probe = tart_probe,
    .load = tart_load,
    .select = tart_select,
    .read = tart_read,
    .close = tart_close,
};
