/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * native_reader.c -- recordings in fx8's own format (data/README.md).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/try.h"
#include "io/h5/dataset.h"
#include "io/native/format.h"
#include "io/reader_formats.h"

/* Bytes per row and read of a contiguous dataset, if possible: half of that
 * costs a tenth of the speed, an eighth costs a third. */
#define ROW_BYTES ((size_t)128 << 10)

/* Memory for decoded chunks that were read only in part. */
#define MAX_CHUNK_CACHE ((size_t)256 << 20)

struct native_reader {
    struct fx8_reader base; /* first: the interface */
    hid_t file;
    struct fx8_h5_dataset voltages;
    size_t sample_bytes; /* 1 real, 2 complex */
    struct fx8_axis_order order;
    struct fx8_selection selection;
};

static bool native_probe(const struct fx8_h5_place *root)
{
    return fx8_h5_has_format(root->object, FX8_NATIVE_FORMAT);
}

static enum fx8_status check_format(const struct native_reader *reader,
                                    struct fx8_error *error)
{
    const struct fx8_h5_place root = {reader->base.path, reader->file, true};
    char format[FX8_TEXT_SIZE];
    FX8_TRY(fx8_h5_get_texts(&root, "format", 1, sizeof format, format, error));
    if (strcmp(format, FX8_NATIVE_FORMAT) == 0)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT, "%s: format: %s: expected %s",
                    root.path, format, FX8_NATIVE_FORMAT);
}

/* Which axis is which: HDF5 dimension labels, or the default order. */
static enum fx8_status read_order(struct native_reader *reader,
                                  struct fx8_error *error)
{
    char labels[3][FX8_NATIVE_LABEL_SIZE] = {"", "", ""};
    const struct fx8_h5_place place = {reader->base.path, reader->voltages.id,
                                       true};
    if (fx8_h5_has(&place, FX8_NATIVE_LABELS))
        FX8_TRY(fx8_h5_get_texts(&place, FX8_NATIVE_LABELS, 3,
                                 FX8_NATIVE_LABEL_SIZE, labels[0], error));
    char list[3 * FX8_NATIVE_LABEL_SIZE] = "antenna,pol,time";
    if (labels[0][0] != '\0' || labels[1][0] != '\0' || labels[2][0] != '\0')
        snprintf(list, sizeof list, "%s,%s,%s", labels[0], labels[1],
                 labels[2]);
    if (fx8_axes_parse(list, fx8_native_axes, reader->order.place))
        return FX8_OK;
    return fx8_refuse(error, reader->base.path, FX8_NATIVE_VOLTAGES,
                      "axes labelled '%s', '%s', '%s': expected "
                      "antenna, pol and time in any order",
                      labels[0], labels[1], labels[2]);
}

static enum fx8_status read_shape(struct native_reader *reader,
                                  struct fx8_error *error)
{
    const int rank = reader->voltages.rank;
    const hsize_t *extent = reader->voltages.extent;
    if (rank != 3)
        return fx8_refuse(error, reader->base.path, FX8_NATIVE_VOLTAGES,
                          "%d %s: expected 3", rank,
                          FX8_NOUN(rank, "axis", "axes"));
    FX8_TRY(read_order(reader, error));
    const hsize_t most[3] = {FX8_READER_MAX_ANTENNAS, FX8_MAX_POLARIZATIONS,
                             INT64_MAX};
    hsize_t bytes = reader->sample_bytes;
    for (int axis = 0; axis < 3; axis++) {
        const hsize_t n = extent[reader->order.place[axis]];
        if (n == 0 || n > most[axis])
            return fx8_refuse(
                error, reader->base.path, FX8_NATIVE_VOLTAGES,
                "%s axis of length %" PRIu64 ": expected 1 to %" PRIu64,
                fx8_native_axes[axis], (uint64_t)n, (uint64_t)most[axis]);
        if (n > (hsize_t)INT64_MAX / bytes)
            return fx8_refuse(error, reader->base.path, FX8_NATIVE_VOLTAGES,
                              "%" PRIu64 " x %" PRIu64 " x %" PRIu64
                              " samples: expected fewer than 2^63 bytes",
                              (uint64_t)extent[0], (uint64_t)extent[1],
                              (uint64_t)extent[2]);
        bytes *= n;
        reader->order.extent[axis] = (size_t)n;
    }
    struct fx8_observation *o = &reader->base.observation;
    o->n_antennas = reader->order.extent[FX8_AXIS_ANTENNA];
    o->n_polarizations = reader->order.extent[FX8_AXIS_POLARIZATION];
    o->n_samples = (int64_t)reader->order.extent[FX8_AXIS_TIME];
    return FX8_OK;
}

/* Samples per read that suit the dataset. */
static int64_t good_samples(const struct native_reader *reader)
{
    const int *place = reader->order.place;
    size_t sample = reader->sample_bytes;
    if (reader->voltages.is_chunked)
        return (int64_t)reader->voltages.chunk[place[FX8_AXIS_TIME]];
    for (int axis = FX8_AXIS_ANTENNA; axis <= FX8_AXIS_POLARIZATION; axis++)
        if (place[axis] > place[FX8_AXIS_TIME])
            sample *= reader->order.extent[axis];
    return sample < ROW_BYTES ? (int64_t)(ROW_BYTES / sample) : 1;
}

static enum fx8_status native_select(struct fx8_reader *base,
                                     const struct fx8_input_position *inputs,
                                     size_t n_inputs, struct fx8_error *error)
{
    struct native_reader *reader = (struct native_reader *)base;
    FX8_TRY(fx8_selection_replace(&reader->order, inputs, n_inputs,
                                  reader->sample_bytes, &reader->selection,
                                  base->places, error));
    base->n_rows = reader->selection.n_rows;
    base->sample_bytes = reader->selection.n_after * reader->sample_bytes;
    return FX8_OK;
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
    const size_t row_bytes = (size_t)row_samples * reader->base.sample_bytes;
    const struct fx8_h5_part part = {start, count, memory};
    return fx8_h5_dataset_read(&reader->voltages, reader->base.n_threads, &part,
                               buffer + rectangle->row * row_bytes, error);
}

static enum fx8_status native_read(struct fx8_reader *base, int64_t first,
                                   int64_t n_samples, int64_t row_samples,
                                   int8_t *buffer, struct fx8_error *error)
{
    struct native_reader *reader = (struct native_reader *)base;
    const struct fx8_selection *selection = &reader->selection;
    for (size_t i = 0; i < selection->n_rectangles; i++)
        FX8_TRY(read_rectangle(reader, &selection->rectangles[i], first,
                               n_samples, row_samples, buffer, error));
    return FX8_OK;
}

static void native_close(struct fx8_reader *base)
{
    struct native_reader *reader = (struct native_reader *)base;
    free(reader->selection.rectangles);
    fx8_h5_dataset_close(&reader->voltages);
    fx8_h5_close(&reader->file);
}

/* Open /voltages: int8, or {r, i} of int8 in any layout. */
static enum fx8_status open_voltages(struct native_reader *reader,
                                     struct fx8_error *error)
{
    struct fx8_h5_dataset *voltages = &reader->voltages;
    FX8_TRY(fx8_h5_dataset_open(reader->base.path, reader->file,
                                FX8_NATIVE_VOLTAGES, voltages, error));
    if (voltages->part != H5T_NATIVE_INT8 ||
        voltages->parts == FX8_H5_REAL_IMAG)
        return fx8_h5_dataset_fail_type(
            voltages, "int8 or compound {r: int8, i: int8}", error);
    reader->base.observation.is_complex = voltages->parts != FX8_H5_REALS;
    reader->sample_bytes = voltages->parts != FX8_H5_REALS ? 2 : 1;
    FX8_TRY(read_shape(reader, error));
    reader->base.chunk_samples = good_samples(reader);
    const struct fx8_h5_use use = {
        .time_axis = reader->order.place[FX8_AXIS_TIME],
        .samples = 1,
        .n_rows = UINT64_MAX,
        .cache_bytes = MAX_CHUNK_CACHE,
    };
    FX8_TRY(fx8_h5_dataset_prepare(voltages, &use, error));
    reader->base.slow_reason = fx8_h5_chunks_slow_reason(voltages->chunks);
    return FX8_OK;
}

static enum fx8_status native_load(struct fx8_reader *base,
                                   const struct fx8_settings *settings,
                                   struct fx8_error *error)
{
    (void)settings;
    struct native_reader *reader = (struct native_reader *)base;
    FX8_TRY(fx8_h5_open_file(base->path, &reader->file, error));
    FX8_TRY(check_format(reader, error));
    FX8_TRY(fx8_native_read_attributes(base->path, reader->file,
                                       &base->observation, error));
    FX8_TRY(open_voltages(reader, error));
    FX8_TRY(fx8_native_read_antennas(base->path, reader->file,
                                     &base->observation, error));
    return fx8_native_read_missing(base->path, reader->file, &base->observation,
                                   &base->missing, &base->n_missing, error);
}

const struct fx8_reader_format fx8_reader_fx8 = {
    .name = "fx8",
    .format = FX8_FORMAT_FX8,
    .samples = FX8_NATIVE_VOLTAGES,
    .size = sizeof(struct native_reader),
    .single = "a recording of format fx8 is a single file",
    .probe = native_probe,
    .load = native_load,
    .select = native_select,
    .read = native_read,
    .close = native_close,
};
