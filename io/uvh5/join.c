/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.c -- one file of several: block after block of rows, by time from one
 * piece after the other, by frequency from all of them side by side.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/filters.h"
#include "io/uvh5/join.h"

/* Bytes of a block of rows, and least for unpacked chunks of the pieces. */
#define BLOCK_BYTES ((size_t)32 << 20)

struct copy {
    struct fx8_uvh5_join join;
    size_t n_block;             /* rows */
    char *rows[FX8_UVH5_CUBES]; /* of the result */
    int64_t *checksums;         /* [n_times] */
};

static void clear(struct copy *copy)
{
    fx8_uvh5_close(&copy->join.writer, 0, NULL);
    fx8_uvh5_pieces_close(&copy->join.pieces);
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        free(copy->rows[i]);
    free(copy->checksums);
}

/* --- create --------------------------------------------------------------- */

/* How the visibilities of a file are packed. */
static enum fx8_compression compression_of(const struct fx8_uvh5_file *file)
{
    FX8_H5_AUTO creation = H5Dget_create_plist(file->visdata);
    unsigned flags, values[FX8_H5_MAX_FILTER_VALUES];
    size_t n_values = FX8_H5_MAX_FILTER_VALUES;
    if (H5Pget_nfilters(creation) <= 0)
        return FX8_COMPRESSION_NONE;
    return H5Pget_filter_by_id2(creation, FX8_H5_BITSHUFFLE, &flags, &n_values,
                                values, 0, NULL, NULL) >= 0
               ? FX8_COMPRESSION_BITSHUFFLE
               : FX8_COMPRESSION_GZIP;
}

static enum fx8_status put_items(void *context, struct fx8_uvh5_writer *writer,
                                 struct fx8_error *error)
{
    struct fx8_uvh5_join join = *(const struct fx8_uvh5_join *)context;
    join.writer = writer;
    join.target = (struct fx8_h5_target){writer->output, writer->file, false};
    return fx8_uvh5_join_items(&join, error);
}

static enum fx8_status create(struct fx8_uvh5_join *join,
                              struct fx8_error *error)
{
    const struct fx8_uvh5_join_request *request = join->request;
    const struct fx8_uvh5_pieces *pieces = &join->pieces;
    const struct fx8_uvh5_file *file = pieces->piece[0].file;
    const struct fx8_uvh5_header sizes = {.n_antennas = 1,
                                          .n_times = pieces->n_times,
                                          .n_baselines = pieces->n_baselines,
                                          .n_channels = pieces->n_channels,
                                          .n_products = pieces->n_products};
    FX8_H5_AUTO visdata = H5Dget_type(file->visdata);
    FX8_H5_AUTO nsamples = H5Dget_type(file->nsamples);
    const struct fx8_uvh5_model model = {visdata, nsamples, put_items, join};
    const enum fx8_compression compression =
        request->has_compression ? request->compression : compression_of(file);
    return fx8_uvh5_create_like(request->output, request->force, &sizes, &model,
                                compression, &join->writer, error);
}

/* Choose the rows of a block: whole chunks where they are packed, so that few
 * are packed twice: by time, those in which a piece ends. */
static enum fx8_status allocate(struct copy *copy, struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &copy->join.pieces;
    const struct fx8_uvh5_writer *writer = copy->join.writer;
    const size_t n_rows = pieces->n_times * pieces->n_baselines;
    const size_t step = writer->compression == FX8_COMPRESSION_NONE
                            ? 1
                            : (size_t)writer->cubes[0].chunk[0];
    size_t bytes[FX8_UVH5_CUBES], row_bytes = 0;
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        bytes[i] = fx8_h5_cube_bytes(&writer->cubes[i]) / pieces->n_baselines;
        row_bytes += bytes[i];
    }
    const size_t n = BLOCK_BYTES / row_bytes / step * step;
    copy->n_block = n == 0 ? step : n < n_rows ? n : n_rows;
    const struct fx8_array arrays[] = {
        {&copy->rows[0], copy->n_block, bytes[0]},
        {&copy->rows[1], copy->n_block, bytes[1]},
        {&copy->rows[2], copy->n_block, bytes[2]},
        FX8_ITEMS(copy->checksums, pieces->n_times)};
    return fx8_allocate_arrays(arrays, 4, "a block of rows", error);
}

/* Keep as many bytes of unpacked chunks as a dump of the result has, of one
 * piece at a time or of all side by side. */
static enum fx8_status limit_chunks(const struct copy *copy,
                                    struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &copy->join.pieces;
    size_t all = 0;
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        all += fx8_h5_cube_bytes(&copy->join.writer->cubes[i]);
    all = all > BLOCK_BYTES ? all : BLOCK_BYTES;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_piece *piece = &pieces->piece[k];
        const size_t n = pieces->by_time ? 1 : pieces->n_channels;
        const size_t share = pieces->by_time ? 1 : piece->header.n_channels;
        FX8_TRY(fx8_uvh5_limit_chunks(piece->file, all / n * share, error));
    }
    return FX8_OK;
}

/* --- read ----------------------------------------------------------------- */

/* Read n rows of a piece from `first` on into their channels of the block. */
static enum fx8_status read_piece(const struct copy *copy,
                                  const struct fx8_uvh5_piece *piece,
                                  size_t first, size_t n,
                                  struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &copy->join.pieces;
    const struct fx8_uvh5_file *file = piece->file;
    const struct fx8_h5_cube *cubes = copy->join.writer->cubes;
    const hsize_t extent[3] = {n, pieces->n_channels, pieces->n_products};
    const hsize_t from[3] = {first, 0, 0};
    const hsize_t to[3] = {0, pieces->by_time ? 0 : piece->first, 0};
    const hsize_t count[3] = {n, file->n_channels, file->n_products};
    const struct {
        hid_t dataset, type;
    } data[FX8_UVH5_CUBES] = {
        [FX8_UVH5_FLAGS] = {file->flags, file->flag_type},
        [FX8_UVH5_NSAMPLES] = {file->nsamples, cubes[FX8_UVH5_NSAMPLES].type},
        [FX8_UVH5_VISDATA] = {file->visdata, cubes[FX8_UVH5_VISDATA].type}};
    FX8_H5_AUTO memory = H5Screate_simple(3, extent, NULL);
    H5Sselect_hyperslab(memory, H5S_SELECT_SET, to, NULL, count, NULL);
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        FX8_H5_AUTO space = H5Dget_space(data[i].dataset);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL);
        if (H5Dread(data[i].dataset, data[i].type, memory, space, H5P_DEFAULT,
                    copy->rows[i]) < 0)
            return fx8_h5_fail(error, FX8_ERR_INPUT, piece->path,
                               cubes[i].name);
    }
    return FX8_OK;
}

/* Read rows of the result from `first` on; sets their number, which is at most
 * a block: by time of one piece, which it returns, by frequency of all. */
static enum fx8_status read_block(const struct copy *copy, size_t first,
                                  size_t *n, struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &copy->join.pieces;
    const size_t n_baselines = pieces->n_baselines;
    const size_t n_cells = pieces->n_channels * pieces->n_products;
    const struct fx8_uvh5_piece *piece = &pieces->piece[0];
    size_t begin = 0, end = pieces->n_times * n_baselines;
    if (pieces->by_time) {
        piece = fx8_uvh5_piece_of(pieces, first / n_baselines);
        begin = piece->first * n_baselines;
        end = begin + piece->header.n_times * n_baselines;
    }
    *n = end - first < copy->n_block ? end - first : copy->n_block;
    for (size_t k = 0; k < (pieces->by_time ? 1 : pieces->n); k++)
        FX8_TRY(read_piece(copy, piece + k, first - begin, *n, error));
    if (pieces->by_time && first + *n == end)
        FX8_TRY(fx8_uvh5_limit_chunks(piece->file, 0, error));
    for (size_t i = 0; i < *n * n_cells; i++)
        copy->rows[FX8_UVH5_FLAGS][i] = copy->rows[FX8_UVH5_FLAGS][i] != 0;
    return FX8_OK;
}

/* --- checksums ------------------------------------------------------------ */

/* Add n rows of `bytes`, `stride` apart. */
static uLong add(uLong sum, const char *rows, size_t n, size_t stride,
                 size_t bytes)
{
    if (bytes == stride)
        return crc32_z(sum, (const Bytef *)rows, n * bytes);
    for (size_t row = 0; row < n; row++)
        sum = crc32_z(sum, (const Bytef *)rows + row * stride, bytes);
    return sum;
}

/* A dump has passed, with these sums of its cubes: compare them with the
 * checksum of the piece; without one it is of the result, which by time is a
 * dump of a piece. */
static enum fx8_status end_dump(const struct copy *copy,
                                const struct fx8_uvh5_piece *piece, size_t dump,
                                const uLong *sums, const size_t *bytes,
                                struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &copy->join.pieces;
    uLong sum = sums[0];
    for (int i = 1; i < FX8_UVH5_CUBES; i++)
        sum = crc32_combine(sum, sums[i],
                            (z_off_t)(pieces->n_baselines * bytes[i]));
    if (piece == NULL)
        copy->checksums[dump] = (int64_t)sum;
    if (piece == NULL && pieces->by_time) {
        piece = fx8_uvh5_piece_of(pieces, dump);
        dump -= piece->first;
    }
    if (piece == NULL || piece->checksums == NULL ||
        piece->checksums[dump] == (int64_t)sum)
        return FX8_OK;
    return fx8_refuse(error, piece->path, "fx8/checksum",
                      "dump %zu: %" PRId64 ": expected %" PRId64
                      ", that of its data: they are damaged, or were changed",
                      dump, piece->checksums[dump], (int64_t)sum);
}

/* Add rows of the block, which begins at row `first`, to the checksums of a
 * piece joined by frequency or, without one, of the result. */
static enum fx8_status add_rows(const struct copy *copy,
                                const struct fx8_uvh5_piece *piece,
                                uLong sums[FX8_UVH5_CUBES], size_t first,
                                size_t n, struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &copy->join.pieces;
    const size_t channel = piece == NULL ? 0 : piece->first;
    const size_t n_channels =
        piece == NULL ? pieces->n_channels : piece->header.n_channels;
    for (size_t row = 0, step; row < n; row += step) {
        const size_t dump = (first + row) / pieces->n_baselines;
        const size_t at = (first + row) % pieces->n_baselines;
        const size_t left = pieces->n_baselines - at;
        size_t bytes[FX8_UVH5_CUBES];
        step = n - row < left ? n - row : left;
        for (int i = 0; i < FX8_UVH5_CUBES; i++) {
            const size_t cell =
                pieces->n_products * copy->join.writer->cubes[i].value_bytes;
            const size_t stride = pieces->n_channels * cell;
            bytes[i] = n_channels * cell;
            sums[i] = add(at == 0 ? 0 : sums[i],
                          copy->rows[i] + row * stride + channel * cell, step,
                          stride, bytes[i]);
        }
        if (step == left)
            FX8_TRY(end_dump(copy, piece, dump, sums, bytes, error));
    }
    return FX8_OK;
}

/* --- copy ----------------------------------------------------------------- */

static enum fx8_status write_block(const struct copy *copy, size_t first,
                                   size_t n, struct fx8_error *error)
{
    const struct fx8_uvh5_writer *writer = copy->join.writer;
    const hsize_t start[3] = {first, 0, 0};
    const hsize_t count[3] = {n, writer->n_channels, writer->n_products};
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        const struct fx8_h5_cube *cube = &writer->cubes[i];
        if (fx8_h5_write_part(cube->dataset, cube->type, start, count,
                              copy->rows[i]) < 0)
            return fx8_output_fail(writer->output, cube->name, error);
    }
    return fx8_output_check(writer->output, error);
}

static enum fx8_status copy_data(struct copy *copy, struct fx8_error *error)
{
    const struct fx8_uvh5_join_request *request = copy->join.request;
    const struct fx8_uvh5_pieces *pieces = &copy->join.pieces;
    const size_t n_rows = pieces->n_times * pieces->n_baselines;
    uLong sums[FX8_UVH5_CUBES] = {0};
    for (size_t first = 0, n; first < n_rows; first += n) {
        FX8_TRY(read_block(copy, first, &n, error));
        for (size_t k = 0; !pieces->by_time && k < pieces->n; k++)
            if (pieces->piece[k].checksums != NULL)
                FX8_TRY(add_rows(copy, &pieces->piece[k], pieces->piece[k].sums,
                                 first, n, error));
        FX8_TRY(add_rows(copy, NULL, sums, first, n, error));
        FX8_TRY(write_block(copy, first, n, error));
        if (request->progress != NULL)
            request->progress(request->context, (int64_t)(first + n),
                              (int64_t)n_rows);
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_join(const struct fx8_uvh5_join_request *request,
                              struct fx8_uvh5_joined *joined,
                              struct fx8_error *error)
{
    FX8_AUTO(clear) struct copy copy = {.join = {.request = request}};
    struct fx8_uvh5_pieces *pieces = &copy.join.pieces;
    fx8_h5_quiet();
    FX8_TRY(fx8_uvh5_pieces_open(request, pieces, error));
    FX8_TRY(create(&copy.join, error));
    FX8_TRY(allocate(&copy, error));
    FX8_TRY(limit_chunks(&copy, error));
    FX8_TRY(copy_data(&copy, error));
    FX8_TRY(fx8_uvh5_mark_all(copy.join.writer, copy.checksums, error));
    *joined = (struct fx8_uvh5_joined){pieces->by_time, pieces->n_times,
                                       pieces->n_channels};
    return fx8_uvh5_close(&copy.join.writer, pieces->n_times, error);
}
