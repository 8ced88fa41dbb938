/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/filters.h"
#include "io/h5/put.h"
#include "io/native/format.h"
#include "io/native/native.h"
#include "io/output.h"

/* Bytes of a stretch of all inputs, written at once and one chunk long: as
 * large as a typical read. */
#define STRETCH_BYTES ((size_t)8 << 20)

struct fx8_native_writer {
    struct fx8_output *output;
    hid_t file;
    hid_t voltages;
    hid_t sample_type;
    size_t sample_bytes;
    struct fx8_axis_order order;
    struct fx8_native_storage storage;
    int64_t n_samples;
    int64_t chunk_samples;
    int8_t *turned; /* one stretch in the axis order of the file */
};

static enum fx8_status write_attributes(const struct fx8_native_writer *writer,
                                        const struct fx8_observation *o,
                                        struct fx8_error *error)
{
    const struct fx8_h5_target root = {writer->output, writer->file, true};
    const bool is_lower = o->sideband == FX8_SIDEBAND_LOWER;
    const struct fx8_rate rate = o->sample_rate;
    const struct fx8_h5_value values[] = {
        {FX8_PUT_INTEGER("version", FX8_NATIVE_VERSION)},
        {FX8_PUT_TEXT("format", FX8_NATIVE_FORMAT)},
        {FX8_PUT_TEXT("sideband", is_lower ? "lower" : "upper")},
        {FX8_PUT_TEXT("telescope", o->telescope)},
        {FX8_PUT_TEXT("instrument", o->instrument)},
        {FX8_PUT_TEXT("object", o->object)},
        {FX8_PUT_UNSIGNED("sample_rate_numerator_hz", rate.numerator_hz)},
        {FX8_PUT_UNSIGNED("sample_rate_denominator", rate.denominator)},
        {FX8_PUT_REAL("dc_frequency_hz", o->dc_frequency_hz)},
        {FX8_PUT_INTEGER("start_time_unix_s", o->start_time.unix_s)},
        {FX8_PUT_INTEGER("start_time_ns", o->start_time.picosecond / 1000)},
    };
    return fx8_h5_put_values(&root, values, sizeof values / sizeof values[0],
                             error);
}

static enum fx8_status write_site(const struct fx8_native_writer *writer,
                                  const struct fx8_site *site,
                                  struct fx8_error *error)
{
    if (isnan(site->latitude_deg) || isnan(site->longitude_deg) ||
        isnan(site->altitude_m))
        return FX8_OK; /* a table without a site is legal */
    const struct fx8_h5_value values[] = {
        {FX8_PUT_REAL("latitude_deg", site->latitude_deg)},
        {FX8_PUT_REAL("longitude_deg", site->longitude_deg)},
        {FX8_PUT_REAL("altitude_m", site->altitude_m)},
    };
    FX8_H5_AUTO table =
        H5Dopen2(writer->file, FX8_NATIVE_ANTENNAS, H5P_DEFAULT);
    if (table < 0)
        return fx8_output_fail(writer->output, FX8_NATIVE_ANTENNAS, error);
    const struct fx8_h5_target target = {writer->output, table, true};
    return fx8_h5_put_values(&target, values, 3, error);
}

/* Write /antennas and /missing, if there is anything to write. */
static enum fx8_status write_tables(const struct fx8_native_writer *writer,
                                    const struct fx8_observation *o,
                                    const struct fx8_missing *missing,
                                    size_t n_missing, struct fx8_error *error)
{
    const struct fx8_h5_target root = {writer->output, writer->file, false};
    if (o->antennas != NULL) {
        FX8_TRY(fx8_h5_put_table(
            &root, FX8_NATIVE_ANTENNAS, fx8_native_antenna_members,
            FX8_NATIVE_ANTENNA_MEMBERS, sizeof *o->antennas, o->n_table,
            o->antennas, error));
        FX8_TRY(write_site(writer, &o->site, error));
    }
    return n_missing == 0
               ? FX8_OK
               : fx8_h5_put_table(&root, FX8_NATIVE_MISSING,
                                  fx8_native_missing_members,
                                  FX8_NATIVE_MISSING_MEMBERS, sizeof *missing,
                                  n_missing, missing, error);
}

/* Chunks cover one input on the axes slower than time, all of the faster axes,
 * and chunk_samples in time; so a stretch is whole chunks. */
static enum fx8_status create_voltages(struct fx8_native_writer *writer,
                                       struct fx8_error *error)
{
    const int time = writer->order.place[FX8_AXIS_TIME];
    hsize_t extent[3];
    hsize_t chunk[3];
    const char *labels[3];
    for (int axis = 0; axis < 3; axis++) {
        const int place = writer->order.place[axis];
        labels[place] = fx8_native_axes[axis];
        extent[place] = writer->order.extent[axis];
        chunk[place] = place < time ? 1 : extent[place];
    }
    chunk[time] = (hsize_t)writer->chunk_samples;
    const struct fx8_native_storage *storage = &writer->storage;
    const struct fx8_h5_layout layout = {
        .name = FX8_NATIVE_VOLTAGES,
        .type = writer->sample_type,
        .rank = 3,
        .extent = extent,
        .chunk = storage->is_contiguous ? NULL : chunk,
        .shuffle = storage->shuffle,
        .deflate = (unsigned)storage->deflate_level,
        .bitshuffle = storage->bitshuffle,
        .n_slots = 1, /* whole chunks go straight to the file: no cache */
    };
    FX8_TRY(fx8_h5_create(writer->output, writer->file, &layout,
                          &writer->voltages, error));
    const struct fx8_h5_target target = {writer->output, writer->voltages,
                                         true};
    return fx8_h5_put_variable_texts(&target, FX8_NATIVE_LABELS, 3, labels,
                                     error);
}

static enum fx8_status check_observation(const char *path,
                                         const struct fx8_observation *o,
                                         struct fx8_error *error)
{
    if (o->n_antennas == 0 || o->n_polarizations == 0 ||
        o->n_polarizations > FX8_MAX_POLARIZATIONS || o->n_samples <= 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %zu antennas, %zu polarisations, %" PRId64
                        " samples: expected at least one of each, and at most "
                        "two polarisations",
                        path, o->n_antennas, o->n_polarizations, o->n_samples);
    if (o->sample_rate.numerator_hz <= 0 || o->sample_rate.denominator <= 0 ||
        !isfinite(o->dc_frequency_hz) || !o->has_start_time ||
        o->sideband == FX8_SIDEBAND_UNKNOWN)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: rate, frequency, sideband or start time unknown: "
                        "expected all four",
                        path);
    if (o->antennas != NULL && o->n_table != o->n_antennas)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: table of %zu antennas: expected %zu", path,
                        o->n_table, o->n_antennas);
    return FX8_OK;
}

/* Bytes of one time in a chunk, with all axes faster than time. */
static size_t sample_of_chunk(const struct fx8_native_writer *writer)
{
    size_t bytes = writer->sample_bytes;
    for (int axis = 0; axis < 3; axis++)
        if (writer->order.place[axis] > writer->order.place[FX8_AXIS_TIME])
            bytes *= writer->order.extent[axis];
    return bytes;
}

/* Set the sizes of a writer and allocate its memory. */
static enum fx8_status size_writer(struct fx8_native_writer *writer,
                                   const struct fx8_observation *o,
                                   struct fx8_error *error)
{
    writer->sample_bytes = o->is_complex ? 2 : 1;
    writer->n_samples = o->n_samples;
    writer->order.extent[FX8_AXIS_ANTENNA] = o->n_antennas;
    writer->order.extent[FX8_AXIS_POLARIZATION] = o->n_polarizations;
    writer->order.extent[FX8_AXIS_TIME] = (size_t)o->n_samples;
    const size_t row_bytes =
        fx8_product(o->n_antennas, o->n_polarizations, writer->sample_bytes, 1);
    const size_t least = 256; /* shorter chunks need too large an index */
    size_t length = STRETCH_BYTES / row_bytes;
    if (writer->storage.chunk_bytes > 0)
        length = writer->storage.chunk_bytes / sample_of_chunk(writer);
    length = length < least ? least : length;
    writer->chunk_samples =
        o->n_samples < (int64_t)length ? o->n_samples : (int64_t)length;
    return fx8_allocate(
        fx8_product(row_bytes, (size_t)writer->chunk_samples, 1, 1), 1,
        "a stretch of samples", &writer->turned, error);
}

enum fx8_status fx8_native_create(
    const char *path, bool force, const struct fx8_observation *observation,
    const char *axis_order, const struct fx8_missing *missing, size_t n_missing,
    struct fx8_native_writer **result, struct fx8_error *error)
{
    const struct fx8_native_storage storage = {.is_contiguous = false};
    return fx8_native_create_stored(path, force, observation, axis_order,
                                    missing, n_missing, &storage, result,
                                    error);
}

static void discard(struct fx8_native_writer **writer)
{
    fx8_native_close(writer, false, NULL);
}

enum fx8_status fx8_native_create_stored(
    const char *path, bool force, const struct fx8_observation *observation,
    const char *axis_order, const struct fx8_missing *missing, size_t n_missing,
    const struct fx8_native_storage *storage, struct fx8_native_writer **result,
    struct fx8_error *error)
{
    static const char *const parts[2] = {"r", "i"};
    *result = NULL;
    fx8_h5_quiet();
    FX8_TRY(check_observation(path, observation, error));
    if (storage->bitshuffle && H5Zfilter_avail(FX8_H5_BITSHUFFLE) <= 0)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "%s: bitshuffle: expected its HDF5 plugin to be "
                        "installed (HDF5_PLUGIN_PATH)",
                        path);
    FX8_AUTO(discard)
    struct fx8_native_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return fx8_no_memory(path, error);
    writer->storage = *storage;
    if (!fx8_axes_parse(axis_order, fx8_native_axes, writer->order.place))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: axis order: %s: expected antenna, pol and time "
                        "in any order, separated by commas",
                        path, axis_order);
    FX8_TRY(size_writer(writer, observation, error));
    FX8_TRY(fx8_output_open(
        path, force,
        fx8_product(observation->n_antennas, observation->n_polarizations,
                    (size_t)observation->n_samples, writer->sample_bytes),
        NULL, &writer->output, error));
    /* HDF5's default metadata block size */
    FX8_TRY(fx8_output_create_hdf5(writer->output, 2048, &writer->file, error));
    writer->sample_type = observation->is_complex
                              ? fx8_h5_pair_type(H5T_NATIVE_INT8, parts)
                              : H5Tcopy(H5T_NATIVE_INT8);
    FX8_TRY(write_attributes(writer, observation, error));
    FX8_TRY(create_voltages(writer, error));
    FX8_TRY(write_tables(writer, observation, missing, n_missing, error));
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    *result = writer;
    writer = NULL;
    return FX8_OK;
}

/* [antenna][pol][n of stride samples] into the axis order of the file. */
static void turn(const struct fx8_native_writer *writer, const int8_t *samples,
                 size_t stride, size_t n)
{
    const size_t *extent = writer->order.extent;
    size_t length[3];
    for (int axis = 0; axis < 3; axis++)
        length[writer->order.place[axis]] =
            axis == FX8_AXIS_TIME ? n : extent[axis];
    const size_t step[3] = {length[1] * length[2], length[2], 1};
    const size_t step_antenna = step[writer->order.place[FX8_AXIS_ANTENNA]];
    const size_t step_pol = step[writer->order.place[FX8_AXIS_POLARIZATION]];
    const size_t step_time = step[writer->order.place[FX8_AXIS_TIME]];
    const size_t bytes = writer->sample_bytes;
    for (size_t a = 0; a < extent[FX8_AXIS_ANTENNA]; a++)
        for (size_t p = 0; p < extent[FX8_AXIS_POLARIZATION]; p++) {
            const int8_t *from =
                samples +
                (a * extent[FX8_AXIS_POLARIZATION] + p) * stride * bytes;
            int8_t *to =
                writer->turned + (a * step_antenna + p * step_pol) * bytes;
            for (size_t t = 0; t < n; t++)
                for (size_t k = 0; k < bytes; k++)
                    to[t * step_time * bytes + k] = from[t * bytes + k];
        }
}

/* Write one stretch in the axis order of the file, at most to the end of a
 * chunk. */
static enum fx8_status write_stretch(struct fx8_native_writer *writer,
                                     int64_t first, size_t n,
                                     const int8_t *stretch,
                                     struct fx8_error *error)
{
    hsize_t start[3] = {0, 0, 0};
    hsize_t count[3];
    for (int axis = 0; axis < 3; axis++)
        count[writer->order.place[axis]] = writer->order.extent[axis];
    start[writer->order.place[FX8_AXIS_TIME]] = (hsize_t)first;
    count[writer->order.place[FX8_AXIS_TIME]] = n;
    if (fx8_h5_write_part(writer->voltages, writer->sample_type, start, count,
                          stretch) < 0)
        return fx8_output_fail(writer->output, FX8_NATIVE_VOLTAGES, error);
    return fx8_output_check(writer->output, error);
}

/* Whether the file has [antenna][pol][time]. */
static bool is_in_order(const struct fx8_native_writer *writer)
{
    const int *place = writer->order.place;
    return place[FX8_AXIS_ANTENNA] == 0 && place[FX8_AXIS_POLARIZATION] == 1;
}

enum fx8_status fx8_native_write(struct fx8_native_writer *writer,
                                 int64_t first, int64_t n_samples,
                                 const int8_t *samples, struct fx8_error *error)
{
    fx8_h5_quiet();
    if (first < 0 || n_samples < 0 || first > writer->n_samples ||
        n_samples > writer->n_samples - first)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %" PRId64 " samples from %" PRId64
                        ": expected samples within the %" PRId64 " announced",
                        fx8_output_part(writer->output), n_samples, first,
                        writer->n_samples);
    for (int64_t done = 0; done < n_samples;) {
        const int64_t at = first + done;
        int64_t n = writer->chunk_samples - at % writer->chunk_samples;
        n = n < n_samples - done ? n : n_samples - done;
        const bool is_turned = n < n_samples || !is_in_order(writer);
        if (is_turned)
            turn(writer, samples + (size_t)done * writer->sample_bytes,
                 (size_t)n_samples, (size_t)n);
        FX8_TRY(write_stretch(writer, at, (size_t)n,
                              is_turned ? writer->turned : samples, error));
        done += n;
    }
    return FX8_OK;
}

enum fx8_status fx8_native_close(struct fx8_native_writer **handle, bool commit,
                                 struct fx8_error *error)
{
    struct fx8_native_writer *writer = *handle;
    *handle = NULL;
    if (writer == NULL)
        return FX8_OK;
    fx8_h5_quiet();
    enum fx8_status status = FX8_OK;
    fx8_h5_close(&writer->sample_type);
    fx8_h5_close(&writer->voltages);
    if (writer->file > 0 && H5Fclose(writer->file) < 0)
        status = fx8_output_fail(writer->output, "close", error);
    if (commit && status == FX8_OK)
        status = fx8_output_commit(&writer->output, error);
    fx8_output_abandon(&writer->output);
    free(writer->turned);
    free(writer);
    return status;
}
