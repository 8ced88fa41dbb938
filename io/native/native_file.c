/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * native_file.c -- a file in fx8's own format: read its metadata, open and
 * close its samples.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/try.h"
#include "io/native/format.h"
#include "io/native/native_reader.h"

/* Bytes per row and read of a contiguous dataset, if possible: half of that
 * costs a tenth of the speed, an eighth costs a third. */
#define ROW_BYTES ((size_t)128 << 10)

/* Memory for decoded chunks that were read only in part. */
#define MAX_CHUNK_CACHE ((size_t)256 << 20)

static enum fx8_status check_format(const struct fx8_native_file *file,
                                    struct fx8_error *error)
{
    const struct fx8_h5_place root = {file->path, file->file, true};
    char format[FX8_TEXT_SIZE];
    FX8_TRY(fx8_h5_get_texts(&root, "format", 1, sizeof format, format, error));
    if (strcmp(format, FX8_NATIVE_FORMAT) == 0)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT, "%s: format: %s: expected %s",
                    root.path, format, FX8_NATIVE_FORMAT);
}

/* For messages. */
#define ADD_LABELS                                                             \
    "to label an axis in h5py: file['voltages'].dims[0].label = 'time'"
#define NO_LABELS                                                              \
    " (axes without labels are antenna, pol, time; " ADD_LABELS ")"

/* Which axis is which: HDF5 dimension labels, or the default order. */
static enum fx8_status read_order(struct fx8_native_file *file,
                                  bool *is_labelled, struct fx8_error *error)
{
    char labels[3][FX8_NATIVE_LABEL_SIZE] = {"", "", ""};
    const struct fx8_h5_place place = {file->path, file->voltages.id, true};
    if (fx8_h5_has(&place, FX8_NATIVE_LABELS))
        FX8_TRY(fx8_h5_get_texts(&place, FX8_NATIVE_LABELS, 3,
                                 FX8_NATIVE_LABEL_SIZE, labels[0], error));
    char list[3 * FX8_NATIVE_LABEL_SIZE] = "antenna,pol,time";
    *is_labelled =
        labels[0][0] != '\0' || labels[1][0] != '\0' || labels[2][0] != '\0';
    if (*is_labelled)
        snprintf(list, sizeof list, "%s,%s,%s", labels[0], labels[1],
                 labels[2]);
    if (fx8_axes_parse(list, fx8_native_axes, file->order.place))
        return FX8_OK;
    return fx8_refuse(error, file->path, FX8_NATIVE_VOLTAGES,
                      "axes labelled '%s', '%s', '%s': expected "
                      "antenna, pol and time in any order; " ADD_LABELS,
                      labels[0], labels[1], labels[2]);
}

/* The order of axes without labels, if it is likely: recorders put time first.
 */
static enum fx8_status check_guess(const struct fx8_native_file *file,
                                   struct fx8_error *error)
{
    const size_t n_antennas = file->order.extent[FX8_AXIS_ANTENNA];
    if (n_antennas <= file->order.extent[FX8_AXIS_TIME])
        return FX8_OK;
    return fx8_refuse(error, file->path, FX8_NATIVE_VOLTAGES,
                      "%zu antennas with %" PRId64
                      " %s each: expected more samples" NO_LABELS,
                      n_antennas,
                      FX8_COUNTED(file->n_samples, "sample", "samples"));
}

static enum fx8_status read_shape(struct fx8_native_file *file,
                                  struct fx8_error *error)
{
    const int rank = file->voltages.rank;
    const hsize_t *extent = file->voltages.extent;
    if (rank != 3)
        return fx8_refuse(error, file->path, FX8_NATIVE_VOLTAGES,
                          "%d %s: expected 3", rank,
                          FX8_NOUN(rank, "axis", "axes"));
    bool is_labelled = false;
    FX8_TRY(read_order(file, &is_labelled, error));
    const hsize_t most[3] = {FX8_READER_MAX_ANTENNAS, FX8_MAX_POLARIZATIONS,
                             INT64_MAX};
    hsize_t bytes = fx8_native_sample_bytes(file);
    for (int axis = 0; axis < 3; axis++) {
        const hsize_t n = extent[file->order.place[axis]];
        if (n == 0 || n > most[axis])
            return fx8_refuse(
                error, file->path, FX8_NATIVE_VOLTAGES,
                "%s axis of length %" PRIu64 ": expected 1 to %" PRIu64 "%s",
                fx8_native_axes[axis], (uint64_t)n, (uint64_t)most[axis],
                is_labelled ? "" : NO_LABELS);
        if (n > (hsize_t)INT64_MAX / bytes)
            return fx8_refuse(error, file->path, FX8_NATIVE_VOLTAGES,
                              "%" PRIu64 " x %" PRIu64 " x %" PRIu64
                              " samples: expected fewer than 2^63 bytes",
                              (uint64_t)extent[0], (uint64_t)extent[1],
                              (uint64_t)extent[2]);
        bytes *= n;
        file->order.extent[axis] = (size_t)n;
    }
    file->n_samples = (int64_t)file->order.extent[FX8_AXIS_TIME];
    return is_labelled ? FX8_OK : check_guess(file, error);
}

/* Open /voltages: int8, or {r, i} of int8 in any layout. */
static enum fx8_status open_voltages(struct fx8_native_file *file,
                                     struct fx8_error *error)
{
    struct fx8_h5_dataset *voltages = &file->voltages;
    FX8_TRY(fx8_h5_dataset_open(file->path, file->file, FX8_NATIVE_VOLTAGES,
                                voltages, error));
    if (voltages->part != H5T_NATIVE_INT8 ||
        voltages->parts == FX8_H5_REAL_IMAG)
        return fx8_h5_dataset_fail_type(
            voltages, "int8 or compound {r: int8, i: int8}", error);
    file->is_complex = voltages->parts != FX8_H5_REALS;
    FX8_TRY(read_shape(file, error));
    const struct fx8_h5_use use = {
        .time_axis = file->order.place[FX8_AXIS_TIME],
        .samples = 1,
        .n_rows = UINT64_MAX,
        .cache_bytes = MAX_CHUNK_CACHE,
    };
    FX8_TRY(fx8_h5_dataset_prepare(voltages, &use, error));
    return fx8_h5_dataset_check_size(voltages, &file->file_size, error);
}

enum fx8_status fx8_native_file_load(struct fx8_native_file *file,
                                     struct fx8_observation *observation,
                                     struct fx8_error *error)
{
    file->file_size = -1;
    FX8_TRY(fx8_h5_open_file(file->path, &file->file, error));
    FX8_TRY(check_format(file, error));
    FX8_TRY(
        fx8_native_read_attributes(file->path, file->file, observation, error));
    FX8_TRY(open_voltages(file, error));
    file->start_time = observation->start_time;
    observation->is_complex = file->is_complex;
    observation->n_antennas = file->order.extent[FX8_AXIS_ANTENNA];
    observation->n_polarizations = file->order.extent[FX8_AXIS_POLARIZATION];
    observation->n_samples = file->n_samples;
    FX8_TRY(
        fx8_native_read_antennas(file->path, file->file, observation, error));
    return fx8_native_read_missing(file->path, file->file, observation,
                                   &file->missing, &file->n_missing, error);
}

/* --- opening again -------------------------------------------------------- */

void fx8_native_file_close(struct fx8_native_file *file)
{
    fx8_h5_dataset_close(&file->voltages);
    fx8_h5_close(&file->file);
}

/* Check that a file opened again is as it was; it may be longer. */
static enum fx8_status check_same(const struct fx8_native_file *file,
                                  const struct fx8_native_file *before,
                                  struct fx8_error *error)
{
    bool is_same = file->is_complex == before->is_complex &&
                   file->n_samples >= before->n_samples;
    for (int axis = 0; axis < 3; axis++)
        is_same = is_same &&
                  file->order.place[axis] == before->order.place[axis] &&
                  (axis == FX8_AXIS_TIME ||
                   file->order.extent[axis] == before->order.extent[axis]);
    if (is_same)
        return FX8_OK;
    return fx8_refuse(error, file->path, FX8_NATIVE_VOLTAGES,
                      "another type or shape than before: expected a recording "
                      "that does not change while it is read");
}

enum fx8_status fx8_native_file_open(struct fx8_native_file *file,
                                     struct fx8_error *error)
{
    const struct fx8_native_file before = *file;
    FX8_TRY(fx8_h5_open_file(file->path, &file->file, error));
    enum fx8_status status = open_voltages(file, error);
    if (status == FX8_OK)
        status = check_same(file, &before, error);
    file->is_complex = before.is_complex;
    file->order = before.order;
    file->n_samples = before.n_samples;
    return status;
}

int64_t fx8_native_file_good_samples(const struct fx8_native_file *file)
{
    const int *place = file->order.place;
    size_t sample = fx8_native_sample_bytes(file);
    if (file->voltages.is_chunked)
        return (int64_t)file->voltages.chunk[place[FX8_AXIS_TIME]];
    for (int axis = FX8_AXIS_ANTENNA; axis <= FX8_AXIS_POLARIZATION; axis++)
        if (place[axis] > place[FX8_AXIS_TIME])
            sample *= file->order.extent[axis];
    return sample < ROW_BYTES ? (int64_t)(ROW_BYTES / sample) : 1;
}
