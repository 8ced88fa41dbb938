/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_axis.c -- a dataset of numbers that all pieces have, put side by side.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/storage.h"
#include "io/uvh5/join.h"

/* Bytes copied at once, if more than a row of the slowest axis. */
#define COPY_BYTES ((size_t)1 << 20)

/* Largest number, in bytes. */
#define VALUE_BYTES 8

/* Deflate packs at most 1032 : 1; what is never written is small. */
#define MAX_PACKING 1032
#define FREE_CLAIM  ((size_t)1 << 20)

/* Whether a list can be in a file; a hostile one may claim any shape. */
static bool is_plausible(const struct fx8_uvh5_piece *piece,
                         const struct fx8_uvh5_shape *shape)
{
    hsize_t file_bytes = 0;
    const size_t bytes =
        fx8_product((size_t)shape->extent[0], (size_t)shape->extent[1],
                    (size_t)shape->extent[2], VALUE_BYTES);
    H5Fget_filesize(piece->file->file, &file_bytes);
    return bytes > 0 &&
           (bytes <= FREE_CLAIM || bytes / MAX_PACKING <= file_bytes);
}

/* Open a dataset of a piece and get its shape. */
static enum fx8_status open_part(const struct fx8_uvh5_piece *piece,
                                 const char *name, hid_t *dataset,
                                 struct fx8_uvh5_shape *shape,
                                 struct fx8_error *error)
{
    const struct fx8_h5_place root = {piece->path, piece->file->file, false};
    FX8_TRY(fx8_h5_open_whole_dataset(root.path, root.object, name, dataset,
                                      error));
    FX8_H5_AUTO space = H5Dget_space(*dataset), type = H5Dget_type(*dataset);
    const H5T_class_t class = H5Tget_class(type);
    *shape =
        (struct fx8_uvh5_shape){H5Sget_simple_extent_ndims(space), {1, 1, 1}};
    if (shape->rank < 1 || shape->rank > 3 ||
        (class != H5T_INTEGER && class != H5T_FLOAT) ||
        H5Tget_size(type) > VALUE_BYTES)
        return fx8_refuse(error, root.path, name,
                          "expected a list of one to three axes of numbers");
    H5Sget_simple_extent_dims(space, shape->extent, NULL);
    return is_plausible(piece, shape)
               ? FX8_OK
               : fx8_refuse(error, root.path, name,
                            "%" PRIu64 " x %" PRIu64 " x %" PRIu64
                            ": expected a shape that the file can hold",
                            (uint64_t)shape->extent[0],
                            (uint64_t)shape->extent[1],
                            (uint64_t)shape->extent[2]);
}

enum fx8_status fx8_uvh5_join_shape(
    const struct fx8_uvh5_pieces *pieces, const char *name, int axis,
    size_t (*expected)(const struct fx8_uvh5_piece *piece),
    struct fx8_uvh5_shape *joined, struct fx8_error *error)
{
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_piece *piece = &pieces->piece[k];
        struct fx8_uvh5_shape shape, other;
        FX8_H5_AUTO dataset = FX8_H5_NONE;
        FX8_TRY(open_part(piece, name, &dataset, &shape, error));
        other = shape;
        if (k > 0)
            other.extent[axis] = joined->extent[axis];
        if (axis >= shape.rank ||
            (expected != NULL && shape.extent[axis] != expected(piece)) ||
            (k > 0 && memcmp(&other, joined, sizeof other) != 0))
            return fx8_refuse(error, piece->path, name,
                              "%" PRIu64 " x %" PRIu64 " x %" PRIu64
                              ": expected the shape that follows from the "
                              "counts in the header and from %s",
                              (uint64_t)shape.extent[0],
                              (uint64_t)shape.extent[1],
                              (uint64_t)shape.extent[2], pieces->piece[0].path);
        if (k == 0)
            *joined = shape;
        else
            joined->extent[axis] += shape.extent[axis];
    }
    return FX8_OK;
}

static bool is_zero(const char *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* Copy a dataset of a piece to `to` of the joined one, some rows at a time.
 * Zeros are what a dataset holds before it is written. */
static enum fx8_status copy_part(const struct fx8_uvh5_piece *piece,
                                 const char *name, const hsize_t to[3],
                                 hid_t part, const struct fx8_uvh5_shape *shape,
                                 hid_t joined,
                                 const struct fx8_uvh5_writer *writer,
                                 struct fx8_error *error)
{
    FX8_H5_AUTO type = H5Dget_type(joined);
    FX8_AUTO_FREE char *bytes = NULL;
    const size_t row = fx8_product((size_t)shape->extent[1],
                                   (size_t)shape->extent[2], VALUE_BYTES, 1);
    const size_t n_block = row < COPY_BYTES ? COPY_BYTES / row : 1;
    FX8_TRY(fx8_allocate(n_block, row, name, &bytes, error));
    const size_t n_rows = (size_t)shape->extent[0];
    for (size_t first = 0, n; first < n_rows; first += n) {
        n = n_rows - first < n_block ? n_rows - first : n_block;
        const hsize_t from[3] = {first, 0, 0};
        const hsize_t at[3] = {to[0] + first, to[1], to[2]};
        const hsize_t count[3] = {n, shape->extent[1], shape->extent[2]};
        if (fx8_h5_read_part(part, type, from, count, bytes) < 0)
            return fx8_h5_fail(error, FX8_ERR_INPUT, piece->path, name);
        if (!is_zero(bytes, n * row / VALUE_BYTES * H5Tget_size(type)) &&
            fx8_h5_write_part(joined, type, at, count, bytes) < 0)
            return fx8_output_fail(writer->output, name, error);
    }
    return fx8_output_check(writer->output, error);
}

enum fx8_status fx8_uvh5_join_values(const struct fx8_uvh5_pieces *pieces,
                                     const char *name, int axis, hid_t joined,
                                     const struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    hsize_t to[3] = {0, 0, 0};
    for (size_t k = 0; k < pieces->n; k++) {
        struct fx8_uvh5_shape shape;
        FX8_H5_AUTO part = FX8_H5_NONE;
        FX8_TRY(open_part(&pieces->piece[k], name, &part, &shape, error));
        FX8_TRY(copy_part(&pieces->piece[k], name, to, part, &shape, joined,
                          writer, error));
        to[axis] += shape.extent[axis];
    }
    return FX8_OK;
}
