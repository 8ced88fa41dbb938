/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.c -- create a UVH5 file, write its dumps, close it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/filters.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

/* Bytes of a value in all three cubes of a run, and of a row in all columns. */
#define CUBE_BYTES   13
#define COLUMN_BYTES 96

/* Bytes of a baseline in the header in memory: two numbers and a vector. */
#define BASELINE_BYTES ((size_t)40)

/* --- visibilities, flags and weights -------------------------------------- */

size_t fx8_uvh5_count_rows(const struct fx8_uvh5_writer *writer)
{
    return fx8_uvh5_rows_before(&writer->rows, writer->rows.n_dumps);
}

/* Choose shapes and chunks of Data/. */
static void describe_cubes(struct fx8_uvh5_writer *writer)
{
    static const int8_t flagged = 1;
    const struct fx8_uvh5_model *model = writer->model;
    const struct fx8_h5_cube visdata = {
        .name = "visdata",
        .value_bytes =
            model != NULL ? H5Tget_size(model->visdata) : 2 * sizeof(float),
        .rank = 3,
        .dump = {writer->n_baselines, writer->n_channels, writer->n_products},
    };
    struct fx8_h5_cube *cubes = writer->cubes;
    cubes[FX8_UVH5_VISDATA] = visdata;
    const size_t n_dumps =
        (fx8_uvh5_count_rows(writer) - 1) / writer->n_baselines + 1;
    fx8_h5_cube_chunk(&cubes[FX8_UVH5_VISDATA], 0, n_dumps,
                      writer->compression == FX8_COMPRESSION_NONE);
    cubes[FX8_UVH5_NSAMPLES] = cubes[FX8_UVH5_FLAGS] = cubes[FX8_UVH5_VISDATA];
    cubes[FX8_UVH5_NSAMPLES].name = "nsamples";
    cubes[FX8_UVH5_NSAMPLES].value_bytes =
        model != NULL ? H5Tget_size(model->nsamples) : sizeof(float);
    cubes[FX8_UVH5_FLAGS].name = "flags";
    cubes[FX8_UVH5_FLAGS].value_bytes = 1;
    cubes[FX8_UVH5_FLAGS].fill = &flagged;
}

/* Types of the three cubes: bool as in h5py, float, {r, i} of floats. */
static enum fx8_status make_types(struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    static const char *const parts[2] = {"r", "i"};
    const struct fx8_uvh5_model *model = writer->model;
    struct fx8_h5_cube *cubes = writer->cubes;
    cubes[FX8_UVH5_FLAGS].type = fx8_h5_bool_type();
    cubes[FX8_UVH5_NSAMPLES].type =
        H5Tcopy(model != NULL ? model->nsamples : H5T_IEEE_F32LE);
    cubes[FX8_UVH5_VISDATA].type =
        model != NULL ? H5Tcopy(model->visdata)
                      : fx8_h5_pair_type(H5T_IEEE_F32LE, parts);
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        if (cubes[i].type < 0)
            return fx8_output_fail(writer->output, "types of Data", error);
    return FX8_OK;
}

/*
 * Cubes and columns grow together, one row of chunks at a time, so that
 * later dumps are later in the file and cutting them frees its end.
 * Visibilities and weights that were never written are holes or fresh blocks,
 * zero either way; flags are written as TRUE.
 */
enum fx8_status fx8_uvh5_grow(struct fx8_uvh5_writer *writer,
                              struct fx8_error *error)
{
    size_t grown = fx8_h5_cube_rows(&writer->cubes[0]);
    const size_t n_rows = fx8_uvh5_count_rows(writer);
    const size_t chunk = (size_t)writer->cubes[0].chunk[0];
    const size_t step = writer->compression != FX8_COMPRESSION_NONE ? n_rows
                        : chunk > writer->n_baselines               ? chunk
                                                      : writer->n_baselines;
    while (grown < n_rows) {
        grown += n_rows - grown < step ? n_rows - grown : step;
        FX8_TRY(fx8_uvh5_write_columns(writer, grown, error));
        FX8_TRY(fx8_h5_cubes_resize(writer->output, writer->cubes,
                                    FX8_UVH5_CUBES, grown, error));
        FX8_TRY(fx8_output_check(writer->output, error));
    }
    fx8_uvh5_close_columns(writer);
    return FX8_OK;
}

enum fx8_status fx8_uvh5_open_cubes(struct fx8_uvh5_writer *writer,
                                    struct fx8_error *error)
{
    const bool packed = writer->compression != FX8_COMPRESSION_NONE;
    FX8_TRY(make_types(writer, error));
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        const bool bitshuffle =
            i == FX8_UVH5_VISDATA &&
            writer->compression == FX8_COMPRESSION_BITSHUFFLE;
        FX8_TRY(fx8_h5_cube_create(writer->output, writer->data,
                                   &writer->cubes[i], writer->n_times,
                                   packed && !bitshuffle, bitshuffle, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_close_handles(struct fx8_uvh5_writer *writer,
                                       struct fx8_error *error)
{
    fx8_uvh5_close_columns(writer); /* after a failure */
    fx8_h5_cubes_close(writer->cubes, FX8_UVH5_CUBES);
    fx8_h5_cubes_close(writer->counts, FX8_UVH5_COUNTS);
    fx8_h5_close(&writer->data);
    fx8_h5_close(&writer->header);
    const hid_t file = writer->file;
    writer->file = FX8_H5_NONE;
    if (file > 0 && H5Fclose(file) < 0)
        return fx8_output_fail(writer->output, "close", error);
    return FX8_OK;
}

/* --- creating ------------------------------------------------------------- */

static enum fx8_status check_header(const char *path,
                                    const struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    const size_t n_rows =
        fx8_product(header->n_times, header->n_baselines, 1, 1);
    const size_t n_values =
        fx8_product(n_rows, header->n_channels, header->n_products, CUBE_BYTES);
    if (n_values > 0 && n_values < INT64_MAX / 2 && header->n_antennas > 0 &&
        header->n_products <= 4 && n_rows < INT64_MAX / 2 / COLUMN_BYTES)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: %zu dumps, %zu baselines, %zu channels, %zu products: "
                    "expected at least one of each, at most 4 products, and "
                    "fewer than 2^62 bytes",
                    path, header->n_times, header->n_baselines,
                    header->n_channels, header->n_products);
}

static enum fx8_status check_compression(const char *path,
                                         enum fx8_compression compression,
                                         struct fx8_error *error)
{
    if (compression != FX8_COMPRESSION_BITSHUFFLE ||
        H5Zfilter_avail(FX8_H5_BITSHUFFLE) > 0)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: output.compression: bitshuffle: expected HDF5 filter "
                    "%d to be installed (Debian package bitshuffle), or gzip "
                    "or none",
                    path, FX8_H5_BITSHUFFLE);
}

/* Write everything below Header and Data. */
static enum fx8_status fill_file(struct fx8_uvh5_writer *writer,
                                 const struct fx8_uvh5_header *header,
                                 struct fx8_error *error)
{
    const struct fx8_h5_target root = {writer->output, writer->file, false};
    FX8_TRY(fx8_h5_put_group(&root, "Header", &writer->header, error));
    FX8_TRY(fx8_h5_put_group(&root, "Data", &writer->data, error));
    const struct fx8_uvh5_model *model = writer->model;
    if (model != NULL) {
        FX8_TRY(model->put_header(model->context, writer, error));
    } else {
        FX8_TRY(fx8_uvh5_put_header(writer, header, error));
        FX8_TRY(fx8_uvh5_open_columns(writer, header, error));
    }
    FX8_TRY(fx8_uvh5_open_cubes(writer, error));
    FX8_TRY(fx8_uvh5_grow(writer, error));
    FX8_TRY(fx8_uvh5_create_checksums(writer, error));
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    return writer->compression == FX8_COMPRESSION_NONE
               ? fx8_output_reserve(writer->output, error)
               : FX8_OK;
}

/* Metadata block size: holds the header (30 KiB, and less than 1 KiB per
 * keyword) and the index of all chunks (about 100 bytes each, at least 3 KiB
 * per cube), so that no metadata are between the chunks, where they would keep
 * a cut file long. */
static size_t meta_block_size(const struct fx8_uvh5_writer *writer,
                              size_t n_keywords)
{
    const hsize_t *chunk = writer->cubes[0].chunk;
    const size_t n_rows = fx8_uvh5_count_rows(writer);
    const size_t n_chunks =
        (n_rows / (size_t)chunk[0] + 1) *
        ((writer->n_channels + (size_t)chunk[1] - 1) / (size_t)chunk[1]);
    const size_t most = (size_t)64 << 20;
    const size_t wanted =
        ((size_t)64 << 10) + 1024 * n_keywords + 3 * n_chunks * 100;
    return wanted < most ? wanted : most;
}

static void discard(struct fx8_uvh5_writer **writer)
{
    fx8_uvh5_close(writer, 0, NULL);
}

uint64_t fx8_uvh5_bytes(size_t n_times, size_t n_baselines, size_t n_channels,
                        size_t n_products)
{
    return n_times * n_baselines *
           (n_channels * n_products * CUBE_BYTES + COLUMN_BYTES);
}

enum fx8_status fx8_uvh5_plan_writer(const char *path,
                                     const struct fx8_uvh5_header *header,
                                     const struct fx8_uvh5_model *model,
                                     enum fx8_compression compression,
                                     struct fx8_uvh5_writer **result,
                                     struct fx8_error *error)
{
    *result = NULL;
    FX8_TRY(check_header(path, header, error));
    FX8_TRY(check_compression(path, compression, error));
    struct fx8_uvh5_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return fx8_no_memory(path, error);
    writer->model = model;
    writer->compression = compression;
    writer->n_times = header->n_times;
    writer->n_baselines = header->n_baselines;
    writer->n_channels = header->n_channels;
    writer->n_products = header->n_products;
    writer->rows = fx8_uvh5_rows_of_header(header);
    describe_cubes(writer);
    *result = writer;
    return fx8_uvh5_count_dates(header, &writer->n_dates, error);
}

enum fx8_status fx8_uvh5_create(const char *path, bool force,
                                const struct fx8_uvh5_header *header,
                                enum fx8_compression compression,
                                struct fx8_uvh5_writer **result,
                                struct fx8_error *error)
{
    return fx8_uvh5_create_like(path, force, header, NULL, compression, result,
                                error);
}

enum fx8_status fx8_uvh5_create_like(const char *path, bool force,
                                     const struct fx8_uvh5_header *header,
                                     const struct fx8_uvh5_model *model,
                                     enum fx8_compression compression,
                                     struct fx8_uvh5_writer **result,
                                     struct fx8_error *error)
{
    *result = NULL;
    fx8_h5_quiet();
    FX8_AUTO(discard) struct fx8_uvh5_writer *writer = NULL;
    FX8_TRY(
        fx8_uvh5_plan_writer(path, header, model, compression, &writer, error));
    uint64_t row_bytes = COLUMN_BYTES;
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        row_bytes += fx8_h5_cube_bytes(&writer->cubes[i]) / header->n_baselines;
    const uint64_t expected = compression != FX8_COMPRESSION_NONE
                                  ? 0
                                  : fx8_uvh5_count_rows(writer) * row_bytes;
    FX8_TRY(fx8_output_open(path, force, expected, fx8_uvh5_holds_no_dump,
                            &writer->output, error));
    if (model == NULL) /* others cannot be resumed */
        FX8_TRY(fx8_output_protect(writer->output, false, true, error));
    FX8_TRY(fx8_output_create_hdf5(writer->output,
                                   meta_block_size(writer, header->n_keywords),
                                   &writer->file, error));
    FX8_TRY(fill_file(writer, header, error));
    writer->model = NULL;
    *result = writer;
    writer = NULL;
    return FX8_OK;
}

/* A writer without a file, for its chunks. */
static struct fx8_uvh5_writer sketch(size_t n_times, size_t n_baselines,
                                     size_t n_channels, size_t n_products,
                                     enum fx8_compression compression)
{
    struct fx8_uvh5_writer writer = {
        .compression = compression,
        .n_times = n_times,
        .n_baselines = n_baselines,
        .n_channels = n_channels,
        .n_products = n_products,
        .rows = fx8_uvh5_all_rows(n_times, n_baselines)};
    describe_cubes(&writer);
    return writer;
}

bool fx8_uvh5_takes_slices(size_t n_times, size_t n_baselines,
                           size_t n_channels, size_t n_products,
                           enum fx8_compression compression)
{
    const struct fx8_uvh5_writer writer =
        sketch(n_times, n_baselines, n_channels, n_products, compression);
    return fx8_h5_cube_has_whole_rows(&writer.cubes[FX8_UVH5_VISDATA]);
}

size_t fx8_uvh5_memory(size_t n_times, size_t n_baselines, size_t n_channels,
                       size_t n_products, enum fx8_compression compression,
                       size_t n_threads)
{
    const struct fx8_uvh5_writer writer =
        sketch(n_times, n_baselines, n_channels, n_products, compression);
    size_t bytes = BASELINE_BYTES * n_baselines;
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        bytes += fx8_h5_cube_cache(&writer.cubes[i]);
    return compression == FX8_COMPRESSION_NONE
               ? bytes
               : bytes + fx8_h5_cube_packing(&writer.cubes[FX8_UVH5_VISDATA],
                                             n_threads);
}

static enum fx8_status check_slice(const struct fx8_uvh5_writer *writer,
                                   size_t dump, size_t first, size_t n,
                                   struct fx8_error *error)
{
    const size_t n_rows = fx8_uvh5_rows_of(&writer->rows, dump, NULL);
    if (dump >= writer->n_times)
        return fx8_fail(error, FX8_ERR_USAGE, "%s: dump %zu: expected 0 to %zu",
                        fx8_output_part(writer->output), dump,
                        writer->n_times - 1);
    if (first == writer->n_written && n <= n_rows - first)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: dump %zu: %zu baselines from %zu on: expected at most "
                    "%zu from %zu on",
                    fx8_output_part(writer->output), dump, n, first,
                    n_rows - writer->n_written, writer->n_written);
}

/* All of a dump is written: with the last one of a block, flush the block and
 * mark its dumps as finished. */
static enum fx8_status end_dump(struct fx8_uvh5_writer *writer, size_t dump,
                                struct fx8_error *error)
{
    const size_t begin = fx8_uvh5_block_begin(&writer->rows, dump);
    writer->checksums[dump - begin] =
        fx8_uvh5_crc_join(&writer->crc) | writer->crc_of_counts;
    writer->n_written = 0;
    writer->crc = (struct fx8_uvh5_crc){.bytes = {0}};
    if (dump + 1 < fx8_uvh5_block_end(&writer->rows, dump))
        return fx8_output_check(writer->output, error);
    for (int i = FX8_UVH5_CUBES; i-- > 0;)
        FX8_TRY(fx8_h5_cube_flush(writer->output, &writer->cubes[i], error));
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    for (size_t d = begin; d <= dump; d++)
        FX8_TRY(fx8_uvh5_mark(writer, d, writer->checksums[d - begin], error));
    return FX8_OK;
}

void fx8_uvh5_pack_on(struct fx8_uvh5_writer *writer, size_t n_threads)
{
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        writer->cubes[i].n_threads = n_threads;
}

/* A packed chunk of which a slice has only some rows waits for the others in
 * the cache: it is packed once. */
static enum fx8_status write_slice(struct fx8_uvh5_writer *writer, size_t dump,
                                   size_t first, size_t n,
                                   const struct fx8_result *result,
                                   struct fx8_error *error)
{
    const void *const values[FX8_UVH5_CUBES] = {
        [FX8_UVH5_VISDATA] = result->visibilities,
        [FX8_UVH5_NSAMPLES] = result->nsamples,
        [FX8_UVH5_FLAGS] = result->flags,
    };
    const size_t n_rows = fx8_uvh5_rows_of(&writer->rows, dump, NULL);
    const size_t place = fx8_uvh5_rows_before(&writer->rows, dump) + first;
    for (int i = FX8_UVH5_CUBES; i-- > 0 && n > 0;) {
        const struct fx8_h5_cube *cube = &writer->cubes[i];
        const size_t row = fx8_h5_cube_bytes(cube) / writer->n_baselines;
        FX8_TRY(fx8_h5_cube_write_rows(writer->output, cube, 0, place, n,
                                       values[i], error));
        fx8_uvh5_crc_pass(&writer->crc, i, values[i], n * row);
    }
    writer->n_written += n;
    return writer->n_written < n_rows ? fx8_output_check(writer->output, error)
                                      : end_dump(writer, dump, error);
}

enum fx8_status fx8_uvh5_write_slice(struct fx8_uvh5_writer *writer,
                                     size_t dump, size_t first_baseline,
                                     size_t n_baselines,
                                     const struct fx8_result *result,
                                     struct fx8_error *error)
{
    fx8_h5_quiet();
    FX8_TRY(check_slice(writer, dump, first_baseline, n_baselines, error));
    return fx8_output_noted(
        &writer->failure,
        write_slice(writer, dump, first_baseline, n_baselines, result, error),
        error);
}

enum fx8_status fx8_uvh5_write_dump(struct fx8_uvh5_writer *writer, size_t dump,
                                    const struct fx8_result *result,
                                    struct fx8_error *error)
{
    return fx8_uvh5_write_slice(writer, dump, 0,
                                fx8_uvh5_rows_of(&writer->rows, dump, NULL),
                                result, error);
}

/* --- additions at any time: datasets below /fx8, extra keywords ----------- */

/* Overwrite an existing dataset; the shape must be the same. */
static enum fx8_status overwrite(struct fx8_uvh5_writer *writer, hid_t group,
                                 const char *name, int rank,
                                 const hsize_t *extent, const double *values,
                                 struct fx8_error *error)
{
    hsize_t known[3] = {0, 0, 0};
    FX8_H5_AUTO dataset = H5Dopen2(group, name, H5P_DEFAULT);
    FX8_H5_AUTO space = dataset >= 0 ? H5Dget_space(dataset) : FX8_H5_NONE;
    if (space < 0)
        return fx8_output_fail(writer->output, name, error);
    if (H5Sget_simple_extent_ndims(space) != rank ||
        H5Sget_simple_extent_dims(space, known, NULL) < 0 ||
        memcmp(known, extent, (size_t)rank * sizeof *extent) != 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: fx8/%s: other shape than before: expected the "
                        "same",
                        fx8_output_part(writer->output), name);
    if (H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                 values) < 0)
        return fx8_output_fail(writer->output, name, error);
    return FX8_OK;
}

static enum fx8_status put_new(struct fx8_uvh5_writer *writer, hid_t group,
                               const char *name, int rank,
                               const hsize_t *extent, const double *values,
                               const char *text, struct fx8_error *error)
{
    const struct fx8_h5_target target = {writer->output, group, false};
    const struct fx8_h5_value value = {
        .name = name,
        .kind = FX8_H5_REAL,
        .rank = rank,
        .extent = {extent[0], extent[1], extent[2]},
        .list = values};
    FX8_TRY(fx8_h5_put_described(&target, &value, text, error));
    /* flush, so that its address is on disk before the next dump counts */
    return fx8_output_flush(writer->output, writer->file, error);
}

enum fx8_status fx8_uvh5_put(struct fx8_uvh5_writer *writer, const char *name,
                             size_t rank, const size_t *shape,
                             const double *values, const char *text,
                             struct fx8_error *error)
{
    fx8_h5_quiet();
    hsize_t extent[3] = {1, 1, 1};
    if (rank > 3)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: fx8/%s: %zu axes: expected at most 3",
                        fx8_output_part(writer->output), name, rank);
    for (size_t i = 0; i < rank; i++)
        extent[i] = shape[i];
    FX8_H5_AUTO group = FX8_H5_NONE;
    const struct fx8_h5_target root = {writer->output, writer->file, false};
    enum fx8_status status = fx8_h5_put_group(&root, "fx8", &group, error);
    if (status == FX8_OK)
        status = H5Lexists(group, name, H5P_DEFAULT) > 0
                     ? overwrite(writer, group, name, (int)rank, extent, values,
                                 error)
                     : put_new(writer, group, name, (int)rank, extent, values,
                               text, error);
    if (status == FX8_OK)
        status = fx8_output_check(writer->output, error);
    return fx8_output_noted(&writer->failure, status, error);
}

enum fx8_status fx8_uvh5_put_keyword(struct fx8_uvh5_writer *writer,
                                     const struct fx8_keyword *keyword,
                                     struct fx8_error *error)
{
    static const enum fx8_h5_kind kinds[] = {
        [FX8_KEYWORD_TEXT] = FX8_H5_TEXT,
        [FX8_KEYWORD_INTEGER] = FX8_H5_INTEGER,
        [FX8_KEYWORD_REAL] = FX8_H5_REAL,
    };
    fx8_h5_quiet();
    const struct fx8_h5_value value = {.name = keyword->name,
                                       .kind = kinds[keyword->type],
                                       .text = keyword->text,
                                       .integer = keyword->integer,
                                       .real = keyword->real};
    enum fx8_status status = FX8_OK;
    FX8_H5_AUTO group = H5Gopen2(writer->header, "extra_keywords", H5P_DEFAULT);
    const struct fx8_h5_target target = {writer->output, group, false};
    if (group < 0 || (H5Lexists(group, keyword->name, H5P_DEFAULT) > 0 &&
                      H5Ldelete(group, keyword->name, H5P_DEFAULT) < 0))
        status = fx8_output_fail(writer->output, keyword->name, error);
    else
        status = fx8_h5_put_values(&target, &value, 1, error);
    if (status == FX8_OK)
        status = fx8_output_check(writer->output, error);
    return fx8_output_noted(&writer->failure, status, error);
}

/* --- closing -------------------------------------------------------------- */

/* After a failed run or write: keep the finished dumps as .part.  What the same
 * command asks for again would fail again. */
static void leave(struct fx8_uvh5_writer *writer, size_t n_dumps,
                  struct fx8_error *error)
{
    char dumps[32] = "what was finished before", what[64];
    if (n_dumps > 0)
        snprintf(dumps, sizeof dumps, "%zu %s", n_dumps,
                 n_dumps == 1 ? "dump" : "dumps");
    snprintf(what, sizeof what, "%s%s", dumps,
             error != NULL && error->status == FX8_ERR_USAGE
                 ? ""
                 : ": --resume goes on");
    if (n_dumps > 0 || writer->is_reopened)
        fx8_output_leave(&writer->output, what, error);
    else
        fx8_output_abandon(&writer->output);
}

enum fx8_status fx8_uvh5_close(struct fx8_uvh5_writer **handle, size_t n_dumps,
                               struct fx8_error *error)
{
    struct fx8_uvh5_writer *writer = *handle;
    *handle = NULL;
    if (writer == NULL)
        return FX8_OK;
    fx8_h5_quiet();
    enum fx8_status status = writer->failure.status;
    if (status != FX8_OK)
        fx8_fail(error, status, "%s", writer->failure.message);
    else if (n_dumps > 0)
        status = fx8_uvh5_trim_marks(writer, error);
    if (status == FX8_OK && n_dumps > 0 && n_dumps < writer->n_times)
        status = fx8_uvh5_cut(writer, n_dumps, error);
    /* the first failure is the one to report */
    const enum fx8_status closed =
        fx8_uvh5_close_handles(writer, status == FX8_OK ? error : NULL);
    status = status == FX8_OK ? closed : status;
    if (status == FX8_OK && n_dumps > 0)
        status = fx8_output_check(writer->output, error);
    if (status == FX8_OK && n_dumps > 0)
        status = fx8_output_commit(&writer->output, error);
    else
        leave(writer, n_dumps, status == FX8_OK ? NULL : error);
    free(writer);
    return status;
}

void fx8_uvh5_leave(struct fx8_uvh5_writer **handle, size_t n_dumps,
                    struct fx8_error *error)
{
    struct fx8_uvh5_writer *writer = *handle;
    *handle = NULL;
    if (writer == NULL)
        return;
    fx8_h5_quiet();
    (void)fx8_uvh5_close_handles(writer, NULL);
    leave(writer, n_dumps, error);
    free(writer);
}
