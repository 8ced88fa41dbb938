/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * native_reader.c -- recordings in fx8's own format (data/README.md).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "io/h5/chunks.h"
#include "io/h5/storage.h"
#include "io/native/format.h"
#include "io/reader_formats.h"

/* Bytes per row and read of a contiguous dataset, if possible: half of that
 * costs a tenth of the speed, an eighth costs a third. */
#define ROW_BYTES ((size_t)128 << 10)

/* Memory for decoded chunks that were read only in part. */
#define MAX_CHUNK_CACHE ((size_t)256 << 20)

struct native_reader {
    struct fx8_reader base; /* first: the interface */
    char *path;
    hid_t file;
    hid_t voltages;
    hid_t space;
    hid_t memory_type;
    struct fx8_h5_chunks *chunks;
    size_t sample_bytes; /* 1 real, 2 complex */
    struct fx8_axis_order order;
    int64_t chunk_samples; /* length in time of a chunk or a good piece */
    struct fx8_h5_storage *storage;
    struct fx8_selection selection;
};

static bool native_probe(const char *path)
{
    return fx8_h5_is_format(path, FX8_NATIVE_FORMAT);
}

static enum fx8_status check_format(const struct native_reader *reader,
                                    struct fx8_error *error)
{
    const struct fx8_h5_place root = {reader->path, reader->file, true};
    char format[FX8_TEXT_SIZE];
    const enum fx8_status status =
        fx8_h5_get_texts(&root, "format", 1, sizeof format, format, error);
    if (status != FX8_OK || strcmp(format, FX8_NATIVE_FORMAT) == 0)
        return status;
    return fx8_fail(error, FX8_ERR_INPUT, "%s: format: %s: expected %s",
                    reader->path, format, FX8_NATIVE_FORMAT);
}

/* Sample type of /voltages: int8, or {r, i} of int8 in any layout. */
static enum fx8_status read_type(struct native_reader *reader,
                                 struct fx8_error *error)
{
    hid_t type = H5Dget_type(reader->voltages);
    bool good = fx8_h5_is_int8(type);
    if (good) {
        reader->memory_type = H5Tcopy(H5T_NATIVE_INT8);
        reader->sample_bytes = 1;
    } else if (H5Tget_class(type) == H5T_COMPOUND &&
               H5Tget_nmembers(type) == 2) {
        static const char *const members[2] = {"r", "i"};
        good = true;
        for (int i = 0; i < 2; i++) {
            const int index = H5Tget_member_index(type, members[i]);
            hid_t member = index < 0
                               ? FX8_H5_NONE
                               : H5Tget_member_type(type, (unsigned)index);
            good = good && member >= 0 && fx8_h5_is_int8(member);
            fx8_h5_close(&member);
        }
        reader->memory_type = fx8_native_complex_type();
        reader->sample_bytes = 2;
        reader->base.observation.is_complex = true;
    }
    enum fx8_status status = FX8_OK;
    if (!good) {
        char name[128];
        fx8_h5_type_name(type, name, sizeof name);
        status = fx8_fail(error, FX8_ERR_INPUT,
                          "%s: %s: %s: expected int8 or compound {r: int8, i: "
                          "int8}",
                          reader->path, FX8_NATIVE_VOLTAGES, name);
    } else if (reader->memory_type < 0) {
        status = fx8_h5_fail(error, FX8_ERR_SYSTEM, reader->path,
                             FX8_NATIVE_VOLTAGES);
    }
    fx8_h5_close(&type);
    return status;
}

/* Which axis is which: HDF5 dimension labels, or the default order. */
static enum fx8_status read_order(struct native_reader *reader,
                                  struct fx8_error *error)
{
    char labels[3][FX8_NATIVE_LABEL_SIZE] = {"", "", ""};
    const struct fx8_h5_place place = {reader->path, reader->voltages, true};
    if (fx8_h5_has(&place, FX8_NATIVE_LABELS)) {
        const enum fx8_status status =
            fx8_h5_get_texts(&place, FX8_NATIVE_LABELS, 3,
                             FX8_NATIVE_LABEL_SIZE, labels[0], error);
        if (status != FX8_OK)
            return status;
    }
    if (labels[0][0] == '\0' && labels[1][0] == '\0' && labels[2][0] == '\0')
        for (int i = 0; i < 3; i++)
            strcpy(labels[i], fx8_native_axes[i]);
    if (fx8_native_order(labels[0], &reader->order))
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %s: axes labelled '%s', '%s', '%s': expected "
                    "antenna, pol and time in any order",
                    reader->path, FX8_NATIVE_VOLTAGES, labels[0], labels[1],
                    labels[2]);
}

static enum fx8_status read_shape(struct native_reader *reader,
                                  struct fx8_error *error)
{
    const int rank = H5Sget_simple_extent_ndims(reader->space);
    if (rank != 3)
        return fx8_fail(error, FX8_ERR_INPUT, "%s: %s: %d %s: expected 3",
                        reader->path, FX8_NATIVE_VOLTAGES, rank,
                        FX8_NOUN(rank, "axis", "axes"));
    enum fx8_status status = read_order(reader, error);
    if (status != FX8_OK)
        return status;
    hsize_t extent[3];
    H5Sget_simple_extent_dims(reader->space, extent, NULL);
    const hsize_t most[3] = {FX8_READER_MAX_ANTENNAS, FX8_MAX_POLARIZATIONS,
                             INT64_MAX};
    hsize_t bytes = reader->sample_bytes;
    for (int axis = 0; axis < 3; axis++) {
        const hsize_t n = extent[reader->order.place[axis]];
        if (n == 0 || n > most[axis])
            return fx8_fail(
                error, FX8_ERR_INPUT,
                "%s: %s: %s axis of length %" PRIu64 ": expected 1 to %" PRIu64,
                reader->path, FX8_NATIVE_VOLTAGES, fx8_native_axes[axis],
                (uint64_t)n, (uint64_t)most[axis]);
        if (n > (hsize_t)INT64_MAX / bytes)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: %" PRIu64 " x %" PRIu64 " x %" PRIu64
                            " samples: expected fewer than 2^63 bytes",
                            reader->path, FX8_NATIVE_VOLTAGES,
                            (uint64_t)extent[0], (uint64_t)extent[1],
                            (uint64_t)extent[2]);
        bytes *= n;
        reader->order.extent[axis] = (size_t)n;
    }
    reader->base.observation.n_antennas =
        reader->order.extent[FX8_AXIS_ANTENNA];
    reader->base.observation.n_polarizations =
        reader->order.extent[FX8_AXIS_POLARIZATION];
    reader->base.observation.n_samples =
        (int64_t)reader->order.extent[FX8_AXIS_TIME];
    return FX8_OK;
}

/* Check that this libhdf5 has all filters; else the first read would fail. */
static enum fx8_status check_filters(const struct native_reader *reader,
                                     hid_t creation, struct fx8_error *error)
{
    const int n_filters = H5Pget_nfilters(creation);
    for (int i = 0; i < n_filters; i++) {
        char name[64] = "";
        size_t n_values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)i, NULL, &n_values, NULL,
                           sizeof name, name, NULL);
        if (filter < 0 || H5Zfilter_avail(filter) <= 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: filter %d (%s): expected its HDF5 plugin "
                            "to be installed (HDF5_PLUGIN_PATH)",
                            reader->path, FX8_NATIVE_VOLTAGES, (int)filter,
                            name);
    }
    return FX8_OK;
}

/* Samples per read that suit a contiguous dataset. */
static int64_t piece_samples(const struct native_reader *reader)
{
    size_t sample = reader->sample_bytes;
    for (int axis = FX8_AXIS_ANTENNA; axis <= FX8_AXIS_POLARIZATION; axis++)
        if (reader->order.place[axis] > reader->order.place[FX8_AXIS_TIME])
            sample *= reader->order.extent[axis];
    return sample < ROW_BYTES ? (int64_t)(ROW_BYTES / sample) : 1;
}

/*
 * Choose the chunk cache.  Without a cache, an unfiltered chunk is read
 * straight into the buffer, which is several times faster.  A filtered chunk is
 * decoded whole; if read only in part, it must stay cached until the next read,
 * for all inputs side by side.
 */
static enum fx8_status choose_cache(struct native_reader *reader,
                                    hid_t creation, hid_t access,
                                    struct fx8_error *error)
{
    reader->chunk_samples = piece_samples(reader);
    if (H5Pget_layout(creation) != H5D_CHUNKED)
        return FX8_OK;
    hsize_t chunk[3] = {1, 1, 1};
    if (H5Pget_chunk(creation, 3, chunk) != 3)
        return fx8_h5_fail(error, FX8_ERR_INPUT, reader->path,
                           FX8_NATIVE_VOLTAGES);
    reader->chunk_samples = (int64_t)chunk[reader->order.place[FX8_AXIS_TIME]];
    size_t cache_bytes = 0;
    size_t n_slots = 1;
    if (H5Pget_nfilters(creation) > 0) {
        size_t n_chunks = 1;
        for (int axis = FX8_AXIS_ANTENNA; axis <= FX8_AXIS_POLARIZATION; axis++)
            n_chunks *= (reader->order.extent[axis] +
                         (size_t)chunk[reader->order.place[axis]] - 1) /
                        (size_t)chunk[reader->order.place[axis]];
        const size_t chunk_bytes =
            (size_t)(chunk[0] * chunk[1] * chunk[2]) * reader->sample_bytes;
        cache_bytes = fx8_product(n_chunks, chunk_bytes, 1, 1);
        if (cache_bytes > MAX_CHUNK_CACHE)
            cache_bytes = MAX_CHUNK_CACHE;
        /* HDF5 advises about 100 slots per chunk, against collisions; 2^20
         * slots take 8 MiB of pointers, enough for any array */
        n_slots = 100 * n_chunks + 1;
        if (n_slots > (size_t)1 << 20)
            n_slots = (size_t)1 << 20;
    }
    /* weight 1: evict fully read chunks first */
    if (H5Pset_chunk_cache(access, n_slots, cache_bytes, 1.0) < 0)
        return fx8_h5_fail(error, FX8_ERR_SYSTEM, reader->path,
                           FX8_NATIVE_VOLTAGES);
    return FX8_OK;
}

/* Reopen /voltages with a cache that suits its layout. */
static enum fx8_status reopen_voltages(struct native_reader *reader,
                                       struct fx8_error *error)
{
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    hid_t creation = H5Dget_create_plist(reader->voltages);
    enum fx8_status status = FX8_OK;
    if (access < 0 || creation < 0)
        status = fx8_h5_fail(error, FX8_ERR_SYSTEM, reader->path,
                             FX8_NATIVE_VOLTAGES);
    if (status == FX8_OK)
        status = check_filters(reader, creation, error);
    if (status == FX8_OK)
        status = choose_cache(reader, creation, access, error);
    if (status == FX8_OK) {
        fx8_h5_close(&reader->voltages);
        status =
            fx8_h5_open_dataset(reader->path, reader->file, FX8_NATIVE_VOLTAGES,
                                access, &reader->voltages, error);
    }
    fx8_h5_close(&creation);
    fx8_h5_close(&access);
    return status;
}

static enum fx8_status native_select(struct fx8_reader *base,
                                     const struct fx8_input_position *inputs,
                                     size_t n_inputs, struct fx8_error *error)
{
    struct native_reader *reader = (struct native_reader *)base;
    enum fx8_status status =
        fx8_reader_check_inputs(base, inputs, n_inputs, error);
    if (status != FX8_OK)
        return status;
    struct fx8_selection selection;
    status =
        fx8_selection_make(&reader->order, inputs, n_inputs, &selection, error);
    if (status != FX8_OK)
        return status;
    fx8_selection_clear(&reader->selection);
    reader->selection = selection;
    return FX8_OK;
}

static size_t native_buffer_size(const struct fx8_reader *base,
                                 int64_t n_samples)
{
    const struct native_reader *reader = (const struct native_reader *)base;
    if (n_samples < 0)
        return SIZE_MAX;
    return fx8_product(reader->selection.n_rows, (size_t)n_samples,
                       reader->selection.n_after, reader->sample_bytes);
}

static int64_t native_read_samples(const struct fx8_reader *base)
{
    const struct native_reader *reader = (const struct native_reader *)base;
    return fx8_reader_samples(native_buffer_size(base, 1),
                              reader->chunk_samples);
}

/* Read samples [first, first + n) of one rectangle into its buffer rows. */
static enum fx8_status read_rectangle(const struct native_reader *reader,
                                      const struct fx8_rectangle *rectangle,
                                      int64_t first, int64_t n_samples,
                                      int64_t row_samples, int8_t *buffer,
                                      struct fx8_error *error)
{
    const struct fx8_selection *selection = &reader->selection;
    hsize_t start[3] = {0, 0, 0};
    hsize_t count[3], memory[3];
    for (int axis = 0; axis < 3; axis++)
        count[reader->order.place[axis]] = reader->order.extent[axis];
    for (size_t k = 0; k < selection->n_before; k++) {
        const int place = reader->order.place[selection->before[k]];
        start[place] = rectangle->first[k];
        count[place] = rectangle->n[k];
    }
    const int time = reader->order.place[FX8_AXIS_TIME];
    start[time] = (hsize_t)first;
    count[time] = (hsize_t)n_samples;
    memcpy(memory, count, sizeof memory);
    memory[time] = (hsize_t)row_samples;
    const size_t row_bytes =
        (size_t)row_samples * selection->n_after * reader->sample_bytes;
    const struct fx8_h5_part part = {start, count, memory};
    return fx8_h5_chunks_read(reader->chunks, &reader->base.workers, &part,
                              buffer + rectangle->row * row_bytes, error);
}

static enum fx8_status native_read(struct fx8_reader *base, int64_t first,
                                   int64_t n_samples, int8_t *buffer,
                                   struct fx8_sample_layout *layout,
                                   struct fx8_error *error)
{
    struct native_reader *reader = (struct native_reader *)base;
    const struct fx8_selection *selection = &reader->selection;
    fx8_h5_quiet();
    enum fx8_status status = fx8_reader_check_range(base, FX8_NATIVE_VOLTAGES,
                                                    first, n_samples, error);
    if (status != FX8_OK)
        return status;
    const int64_t row_samples = fx8_row_samples(layout, n_samples);
    if (native_buffer_size(base, row_samples) > PTRDIFF_MAX)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %s: %" PRId64
                        " samples at once: expected fewer, see read_samples",
                        reader->path, FX8_NATIVE_VOLTAGES, n_samples);
    for (size_t i = 0; i < selection->n_rectangles && status == FX8_OK; i++)
        status = read_rectangle(reader, &selection->rectangles[i], first,
                                n_samples, row_samples, buffer, error);
    status =
        fx8_h5_check_uncut(reader->storage, reader->path, FX8_NATIVE_VOLTAGES,
                           first, n_samples, status, error);
    if (status != FX8_OK)
        return status;
    const size_t stride = selection->n_after * reader->sample_bytes;
    layout->time_stride = (ptrdiff_t)stride;
    for (size_t i = 0; i < selection->n_inputs; i++)
        layout->input_offset[i] =
            (ptrdiff_t)(selection->row[i] * (size_t)row_samples * stride +
                        selection->after[i] * reader->sample_bytes);
    return FX8_OK;
}

static void native_close(struct fx8_reader *base)
{
    struct native_reader *reader = (struct native_reader *)base;
    fx8_selection_clear(&reader->selection);
    fx8_observation_clear(&base->observation);
    free(base->missing);
    fx8_h5_chunks_close(&reader->chunks);
    fx8_h5_storage_close(&reader->storage);
    fx8_h5_close(&reader->memory_type);
    fx8_h5_close(&reader->space);
    fx8_h5_close(&reader->voltages);
    fx8_h5_close(&reader->file);
    free(reader->path);
    free(reader);
}

/* Set up reading of the samples, which are known to exist. */
static enum fx8_status open_chunks(struct native_reader *reader,
                                   struct fx8_error *error)
{
    const struct fx8_h5_samples samples = {
        reader->path, FX8_NATIVE_VOLTAGES, reader->voltages,
        reader->memory_type, reader->order.place[FX8_AXIS_TIME]};
    const enum fx8_status status =
        fx8_h5_chunks_open(&samples, &reader->chunks, error);
    if (status == FX8_OK)
        reader->base.slow_reason = fx8_h5_chunks_slow_reason(reader->chunks);
    return status;
}

/* Load everything but the samples. */
static enum fx8_status load(struct native_reader *reader,
                            struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    enum fx8_status status =
        fx8_h5_open_file(reader->path, &reader->file, error);
    if (status == FX8_OK)
        status = check_format(reader, error);
    if (status == FX8_OK)
        status = fx8_native_read_attributes(reader->path, reader->file,
                                            observation, error);
    if (status == FX8_OK)
        status =
            fx8_h5_open_dataset(reader->path, reader->file, FX8_NATIVE_VOLTAGES,
                                H5P_DEFAULT, &reader->voltages, error);
    if (status == FX8_OK) {
        reader->space = H5Dget_space(reader->voltages);
        if (reader->space < 0)
            status = fx8_h5_fail(error, FX8_ERR_INPUT, reader->path,
                                 FX8_NATIVE_VOLTAGES);
    }
    if (status == FX8_OK)
        status = read_type(reader, error);
    if (status == FX8_OK)
        status = read_shape(reader, error);
    if (status == FX8_OK)
        status = reopen_voltages(reader, error);
    if (status == FX8_OK)
        status = fx8_h5_storage_open(reader->path, FX8_NATIVE_VOLTAGES,
                                     reader->voltages, UINT64_MAX,
                                     &reader->storage, error);
    if (status == FX8_OK)
        status = open_chunks(reader, error);
    if (status == FX8_OK)
        status = fx8_native_read_antennas(reader->path, reader->file,
                                          observation, error);
    if (status == FX8_OK)
        status = fx8_native_read_missing(reader->path, reader->file,
                                         observation, &reader->base.missing,
                                         &reader->base.n_missing, error);
    if (status == FX8_OK)
        status = fx8_reader_select_all(&reader->base, native_select, error);
    return status;
}

static enum fx8_status native_open(const char *const *paths, size_t n_paths,
                                   const struct fx8_settings *settings,
                                   struct fx8_reader **result,
                                   struct fx8_error *error)
{
    (void)settings;
    *result = NULL;
    fx8_h5_quiet();
    struct native_reader *reader;
    char *path;
    void *memory;
    enum fx8_status status = fx8_reader_allocate(
        paths, n_paths, "a recording of format fx8 is a single file",
        sizeof *reader, &memory, &path, error);
    if (status != FX8_OK)
        return status;
    reader = memory;
    reader->path = path;
    reader->file = FX8_H5_NONE;
    reader->voltages = FX8_H5_NONE;
    reader->space = FX8_H5_NONE;
    reader->memory_type = FX8_H5_NONE;
    reader->base = (struct fx8_reader){.format = &fx8_reader_fx8,
                                       .path = path,
                                       .observation = fx8_observation_unknown(),
                                       .select = native_select,
                                       .buffer_size = native_buffer_size,
                                       .read_samples = native_read_samples,
                                       .read = native_read,
                                       .close = native_close};
    status = load(reader, error);
    if (status != FX8_OK) {
        native_close(&reader->base);
        return status;
    }
    *result = &reader->base;
    return FX8_OK;
}

const struct fx8_reader_format fx8_reader_fx8 = {
    .name = "fx8",
    .format = FX8_FORMAT_FX8,
    .probe = native_probe,
    .open = native_open,
};
