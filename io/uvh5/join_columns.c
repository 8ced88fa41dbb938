/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_columns.c -- the datasets of Header/ with a row per baseline and dump:
 * by time one piece after the other, by frequency those of the first piece,
 * which must be those of all.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/copy.h"
#include "io/uvh5/join.h"

/* Turn of the Earth, rad/s. */
#define EARTH_RATE 7.3e-5

/* Most values of a row. */
#define WIDTH 3

static size_t rows_of(const struct fx8_uvh5_piece *piece)
{
    return piece->file->n_rows;
}

/* Compare rows [first, first + n) of two pieces: they may differ by what the
 * sky turns within the tolerance of dates. */
static enum fx8_status match_rows(const struct fx8_uvh5_piece *a,
                                  const struct fx8_uvh5_piece *b,
                                  const char *name, struct fx8_h5_rows rows,
                                  double *of_a, double *of_b,
                                  struct fx8_error *error)
{
    const struct fx8_h5_place at_a = fx8_uvh5_header_of(a);
    const struct fx8_h5_place at_b = fx8_uvh5_header_of(b);
    double most = 1.0;
    FX8_TRY(fx8_h5_get_reals(&at_a, name, rows, of_a, error));
    FX8_TRY(fx8_h5_get_reals(&at_b, name, rows, of_b, error));
    for (size_t i = 0; i < rows.n * rows.columns; i++)
        most = fmax(most, fabs(of_a[i]));
    const double tolerance =
        most * EARTH_RATE * fx8_uvh5_dates_tolerance_s(&a->header);
    for (size_t i = 0; i < rows.n * rows.columns; i++)
        FX8_TRY(fx8_uvh5_match_value(
            (struct fx8_uvh5_named){a->path, &a->header},
            (struct fx8_uvh5_named){b->path, &b->header}, name,
            rows.first + i / rows.columns, of_a[i], of_b[i], tolerance, error));
    return FX8_OK;
}

/* Check that all pieces have the rows of the first. */
static enum fx8_status match_all(const struct fx8_uvh5_pieces *pieces,
                                 const char *name, size_t width,
                                 struct fx8_error *error)
{
    const size_t n_rows = rows_of(&pieces->piece[0]);
    const size_t n_block = FX8_UVH5_BLOCK_ROWS;
    FX8_AUTO_FREE double *values = NULL;
    FX8_TRY(fx8_allocate(2 * WIDTH * n_block, sizeof *values, name, &values,
                         error));
    for (size_t first = 0; first < n_rows; first += n_block) {
        const struct fx8_h5_rows rows = {
            n_rows, width, first,
            n_rows - first < n_block ? n_rows - first : n_block};
        for (size_t k = 1; k < pieces->n; k++)
            FX8_TRY(match_rows(&pieces->piece[0], &pieces->piece[k], name, rows,
                               values, values + WIDTH * n_block, error));
    }
    return FX8_OK;
}

static enum fx8_status join_column(const struct fx8_uvh5_pieces *pieces,
                                   const char *name,
                                   struct fx8_uvh5_writer *writer,
                                   struct fx8_error *error)
{
    char path[FX8_H5_NAME_SIZE + sizeof "Header/"];
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    struct fx8_uvh5_pieces copied = *pieces;
    struct fx8_uvh5_shape shape;
    FX8_H5_AUTO joined = FX8_H5_NONE;
    FX8_H5_AUTO_ITEM item = {0};
    snprintf(path, sizeof path, "Header/%s", name);
    FX8_TRY(fx8_h5_open_item(&first, name, &item, error));
    FX8_TRY(fx8_uvh5_join_shape(pieces, path, 0, rows_of, &shape, error));
    if (shape.rank > 2 || shape.extent[1] > WIDTH)
        return fx8_refuse(error, first.path, name,
                          "rows of %" PRIu64 ": expected at most %d",
                          (uint64_t)shape.extent[1], WIDTH);
    if (!pieces->by_time) {
        FX8_TRY(match_all(pieces, name, (size_t)shape.extent[1], error));
        copied.n = 1;
    }
    FX8_TRY(fx8_uvh5_create_column(writer, name, item.type,
                                   (size_t)shape.extent[1], &joined, error));
    return fx8_uvh5_join_values(&copied, path, 0, joined, writer, error);
}

enum fx8_status fx8_uvh5_join_columns(const struct fx8_uvh5_pieces *pieces,
                                      struct fx8_uvh5_writer *writer,
                                      struct fx8_error *error)
{
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    for (size_t i = 0; i < fx8_h5_count_links(first.object); i++) {
        char name[FX8_H5_NAME_SIZE];
        FX8_TRY(fx8_h5_link_name(&first, i, name, error));
        if (fx8_uvh5_is_column(name))
            FX8_TRY(join_column(pieces, name, writer, error));
    }
    return FX8_OK;
}
