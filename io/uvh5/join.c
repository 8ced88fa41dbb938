/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.c -- one file of several: block after block of rows, by time from one
 * piece after the other, by frequency from all of them side by side.
 */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/filters.h"
#include "io/uvh5/join.h"

/* Bytes of a block of rows. */
#define BLOCK_BYTES ((size_t)32 << 20)

struct join {
    const struct fx8_uvh5_join_request *request;
    struct fx8_uvh5_pieces pieces;
    struct fx8_uvh5_writer *writer;
    hid_t visdata, nsamples; /* types, in memory too */
    size_t cell_bytes[FX8_UVH5_CUBES];
    size_t n_block;             /* rows */
    struct fx8_uvh5_rows block; /* of the result */
    struct fx8_uvh5_rows part;  /* of a piece, by frequency */
    uLong sums[FX8_UVH5_CUBES]; /* of the dump so far */
    int64_t *checksums;         /* [n_times] */
};

static void clear(struct join *join)
{
    fx8_uvh5_close(&join->writer, 0, NULL);
    fx8_uvh5_pieces_close(&join->pieces);
    fx8_h5_close(&join->visdata);
    fx8_h5_close(&join->nsamples);
    struct fx8_uvh5_rows *const rows[] = {&join->block, &join->part};
    for (size_t i = 0; i < 2; i++) {
        free(rows[i]->visdata);
        free(rows[i]->nsamples);
        free(rows[i]->flags);
    }
    free(join->checksums);
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

static enum fx8_status put_header(void *context, struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    const struct join *join = context;
    FX8_TRY(fx8_uvh5_join_header(&join->pieces, join->request->command, writer,
                                 error));
    return fx8_uvh5_join_columns(&join->pieces, writer, error);
}

static enum fx8_status create(struct join *join, struct fx8_error *error)
{
    const struct fx8_uvh5_join_request *request = join->request;
    const struct fx8_uvh5_pieces *pieces = &join->pieces;
    const struct fx8_uvh5_file *file = pieces->piece[0].file;
    const struct fx8_uvh5_header sizes = {.n_antennas = 1,
                                          .n_times = pieces->n_times,
                                          .n_baselines = pieces->n_baselines,
                                          .n_channels = pieces->n_channels,
                                          .n_products = pieces->n_products};
    join->visdata = H5Dget_type(file->visdata);
    join->nsamples = H5Dget_type(file->nsamples);
    const struct fx8_uvh5_model model = {join->visdata, join->nsamples,
                                         put_header, join};
    const enum fx8_compression compression =
        request->has_compression ? request->compression : compression_of(file);
    return fx8_uvh5_create_like(request->output, request->force, &sizes, &model,
                                compression, &join->writer, error);
}

/* Choose the rows of a block: whole chunks where they are packed, so that few
 * are packed twice: by time, those in which a piece ends. */
static enum fx8_status allocate(struct join *join, struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &join->pieces;
    const struct fx8_h5_cube *cubes = join->writer->cubes;
    const size_t n_cells = pieces->n_channels * pieces->n_products;
    size_t row_bytes = 0;
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        join->cell_bytes[i] = cubes[i].value_bytes;
        row_bytes += n_cells * cubes[i].value_bytes;
    }
    const size_t n_rows = pieces->n_times * pieces->n_baselines;
    const size_t step = join->writer->compression == FX8_COMPRESSION_NONE
                            ? 1
                            : (size_t)cubes[0].chunk[0];
    const size_t n = BLOCK_BYTES / row_bytes / step * step;
    join->n_block = n == 0 ? step : n < n_rows ? n : n_rows;
    size_t most = 0;
    for (size_t k = 0; !pieces->by_time && k < pieces->n; k++)
        if (pieces->piece[k].header.n_channels > most)
            most = pieces->piece[k].header.n_channels;
    const size_t n_block = fx8_product(join->n_block, n_cells, 1, 1);
    const size_t n_part =
        fx8_product(join->n_block, most, pieces->n_products, 1);
    const struct fx8_array arrays[] = {
        {&join->block.visdata, n_block, join->cell_bytes[FX8_UVH5_VISDATA]},
        {&join->block.nsamples, n_block, join->cell_bytes[FX8_UVH5_NSAMPLES]},
        {&join->block.flags, n_block, 1},
        {&join->part.visdata, n_part, join->cell_bytes[FX8_UVH5_VISDATA]},
        {&join->part.nsamples, n_part, join->cell_bytes[FX8_UVH5_NSAMPLES]},
        {&join->part.flags, n_part, 1},
        FX8_ITEMS(join->checksums, pieces->n_times)};
    return fx8_allocate_arrays(arrays, 7, "a block of rows", error);
}

/* --- copy ----------------------------------------------------------------- */

/* The three arrays, by FX8_UVH5_FLAGS and so on. */
static void list(const struct fx8_uvh5_rows *rows, char *arrays[FX8_UVH5_CUBES])
{
    arrays[FX8_UVH5_FLAGS] = (char *)rows->flags;
    arrays[FX8_UVH5_NSAMPLES] = rows->nsamples;
    arrays[FX8_UVH5_VISDATA] = rows->visdata;
}

static enum fx8_status read_piece(const struct join *join,
                                  const struct fx8_uvh5_piece *piece,
                                  size_t first, size_t n,
                                  const struct fx8_uvh5_rows *rows,
                                  struct fx8_error *error)
{
    return fx8_uvh5_read_as(piece->file, join->visdata, join->nsamples, first,
                            n, rows, error);
}

/* Put the channels of a piece into the rows of the result. */
static void place(const struct join *join, const struct fx8_uvh5_piece *piece,
                  size_t n)
{
    char *from[FX8_UVH5_CUBES], *to[FX8_UVH5_CUBES];
    const size_t n_products = join->pieces.n_products;
    list(&join->part, from);
    list(&join->block, to);
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        const size_t channel = n_products * join->cell_bytes[i];
        const size_t row = join->pieces.n_channels * channel;
        const size_t part = piece->header.n_channels * channel;
        for (size_t r = 0; r < n; r++)
            memcpy(to[i] + r * row + piece->first * channel, from[i] + r * part,
                   part);
    }
}

/* Read rows of the result from `first` on; sets their number, which is at most
 * a block. */
static enum fx8_status read_block(const struct join *join, size_t first,
                                  size_t *n, struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &join->pieces;
    const size_t n_baselines = pieces->n_baselines;
    size_t end = pieces->n_times * n_baselines;
    if (pieces->by_time) {
        const struct fx8_uvh5_piece *piece =
            fx8_uvh5_piece_of(pieces, first / n_baselines);
        const size_t begin = piece->first * n_baselines;
        end = begin + piece->header.n_times * n_baselines;
        *n = end - first < join->n_block ? end - first : join->n_block;
        return read_piece(join, piece, first - begin, *n, &join->block, error);
    }
    *n = end - first < join->n_block ? end - first : join->n_block;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_piece *piece = &pieces->piece[k];
        FX8_TRY(read_piece(join, piece, first, *n, &join->part, error));
        place(join, piece, *n);
    }
    return FX8_OK;
}

/* Add rows to the checksums of their dumps. */
static void add_to_checksums(struct join *join, size_t first, size_t n)
{
    char *rows[FX8_UVH5_CUBES];
    const size_t n_baselines = join->pieces.n_baselines;
    const struct fx8_h5_cube *cubes = join->writer->cubes;
    list(&join->block, rows);
    for (size_t row = 0, step; row < n; row += step) {
        const size_t at = (first + row) % n_baselines;
        const size_t left = n_baselines - at;
        step = n - row < left ? n - row : left;
        for (int i = 0; i < FX8_UVH5_CUBES; i++) {
            const size_t bytes = fx8_h5_cube_bytes(&cubes[i]) / n_baselines;
            join->sums[i] =
                crc32_z(at == 0 ? 0 : join->sums[i],
                        (const Bytef *)rows[i] + row * bytes, step * bytes);
        }
        if (step < left)
            continue;
        uLong sum = join->sums[0];
        for (int i = 1; i < FX8_UVH5_CUBES; i++)
            sum = crc32_combine(sum, join->sums[i],
                                (z_off_t)fx8_h5_cube_bytes(&cubes[i]));
        join->checksums[(first + row) / n_baselines] = (int64_t)sum;
    }
}

static enum fx8_status write_block(const struct join *join, size_t first,
                                   size_t n, struct fx8_error *error)
{
    char *rows[FX8_UVH5_CUBES];
    const struct fx8_uvh5_writer *writer = join->writer;
    const hsize_t start[3] = {first, 0, 0};
    const hsize_t count[3] = {n, writer->n_channels, writer->n_products};
    list(&join->block, rows);
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        const struct fx8_h5_cube *cube = &writer->cubes[i];
        if (fx8_h5_write_part(cube->dataset, cube->type, start, count,
                              rows[i]) < 0)
            return fx8_output_fail(writer->output, cube->name, error);
    }
    return fx8_output_check(writer->output, error);
}

static enum fx8_status copy_data(struct join *join, struct fx8_error *error)
{
    const struct fx8_uvh5_join_request *request = join->request;
    const size_t n_rows = join->pieces.n_times * join->pieces.n_baselines;
    for (size_t first = 0, n; first < n_rows; first += n) {
        FX8_TRY(read_block(join, first, &n, error));
        add_to_checksums(join, first, n);
        FX8_TRY(write_block(join, first, n, error));
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
    FX8_AUTO(clear) struct join join = {.request = request};
    struct fx8_uvh5_pieces *pieces = &join.pieces;
    fx8_h5_quiet();
    FX8_TRY(
        fx8_uvh5_pieces_open(request->paths, request->n_paths, pieces, error));
    FX8_TRY(create(&join, error));
    FX8_TRY(allocate(&join, error));
    FX8_TRY(copy_data(&join, error));
    FX8_TRY(fx8_uvh5_join_extras(pieces, request->warn, join.writer, error));
    FX8_TRY(fx8_uvh5_mark_all(join.writer, join.checksums, error));
    *joined = (struct fx8_uvh5_joined){pieces->by_time, pieces->n_times,
                                       pieces->n_channels};
    return fx8_uvh5_close(&join.writer, pieces->n_times, error);
}
