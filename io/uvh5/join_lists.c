/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_lists.c -- lists of all pieces, put side by side; among them what was
 * counted in each dump.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/copy.h"
#include "io/uvh5/join.h"

/* Bytes copied at once, if more than a row. */
#define COPY_BYTES ((size_t)1 << 20)

/* --- side by side --------------------------------------------------------- */

enum fx8_status fx8_uvh5_find_shape(const struct fx8_uvh5_join *join,
                                    const struct fx8_uvh5_lists *lists,
                                    hsize_t shape[3], struct fx8_error *error)
{
    const int axis = lists->axis;
    hsize_t n = 0;
    for (size_t k = 0; k < join->pieces.n; k++) {
        const struct fx8_uvh5_piece *piece = &join->pieces.piece[k];
        FX8_H5_AUTO_ITEM item = {0};
        FX8_TRY(fx8_h5_open_item(&piece->root, lists->name, &item, error));
        const H5T_class_t class = H5Tget_class(item.type);
        bool fits =
            item.rank > axis && item.rank < 3 &&
            (class == H5T_INTEGER || class == H5T_FLOAT) &&
            (lists->count == NULL || item.extent[axis] == lists->count(piece));
        for (int i = 0; i < 2; i++)
            fits = fits && item.extent[i] > 0 &&
                   (k == 0 || i == axis || item.extent[i] == shape[i]);
        if (!fits)
            return fx8_refuse(error, piece->path, lists->name,
                              "%zu x %zu: expected numbers in the shape that "
                              "follows from the header and from %s",
                              (size_t)item.extent[0], (size_t)item.extent[1],
                              join->pieces.piece[0].path);
        FX8_TRY(fx8_h5_check_claim(&item,
                                   fx8_product((size_t)item.extent[0],
                                               (size_t)item.extent[1],
                                               H5Tget_size(item.type), 1),
                                   error));
        n += item.extent[axis];
        memcpy(shape, item.extent, sizeof item.extent);
    }
    shape[axis] = n;
    return FX8_OK;
}

static bool is_zero(const char *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* Copy a list to `to` of the joined one, some rows at a time.  Zeros are what a
 * dataset holds before it is written. */
static enum fx8_status copy_part(const struct fx8_uvh5_join *join,
                                 const struct fx8_h5_item *part, hid_t joined,
                                 const hsize_t to[3], struct fx8_error *error)
{
    FX8_H5_AUTO type = H5Dget_type(joined);
    FX8_AUTO_FREE char *bytes = NULL;
    const size_t n_rows = (size_t)part->extent[0];
    const size_t row = fx8_product(
        (size_t)part->extent[1], (size_t)part->extent[2], H5Tget_size(type), 1);
    const size_t n_block = row < COPY_BYTES ? COPY_BYTES / row : 1;
    FX8_TRY(fx8_allocate(n_block < n_rows ? n_block : n_rows, row, part->name,
                         &bytes, error));
    for (size_t first = 0, n; first < n_rows; first += n) {
        n = n_rows - first < n_block ? n_rows - first : n_block;
        const hsize_t from[3] = {first, 0, 0};
        const hsize_t at[3] = {to[0] + first, to[1], to[2]};
        const hsize_t count[3] = {n, part->extent[1], part->extent[2]};
        if (fx8_h5_read_part(part->id, type, from, count, bytes) < 0)
            return fx8_h5_fail(error, FX8_ERR_INPUT, part->path, part->name);
        if (!is_zero(bytes, n * row) &&
            fx8_h5_write_part(joined, type, at, count, bytes) < 0)
            return fx8_output_fail(join->writer->output, part->name, error);
    }
    return fx8_output_check(join->writer->output, error);
}

enum fx8_status fx8_uvh5_copy_lists(const struct fx8_uvh5_join *join,
                                    const struct fx8_uvh5_lists *lists,
                                    size_t n, hid_t joined,
                                    struct fx8_error *error)
{
    hsize_t to[3] = {0, 0, 0};
    for (size_t k = 0; k < n; k++) {
        FX8_H5_AUTO_ITEM part = {0};
        FX8_TRY(fx8_h5_open_item(&join->pieces.piece[k].root, lists->name,
                                 &part, error));
        FX8_TRY(copy_part(join, &part, joined, to, error));
        to[lists->axis] += part.extent[lists->axis];
    }
    return FX8_OK;
}

/* --- counts --------------------------------------------------------------- */

/* Find the size of the counts of all pieces together; false if not all have
 * them, or theirs do not suit each other. */
static bool find_counts(const struct fx8_uvh5_pieces *pieces,
                        struct fx8_uvh5_counts *size)
{
    struct fx8_uvh5_counts first;
    for (size_t k = 0; k < pieces->n; k++) {
        struct fx8_uvh5_counts of;
        if (fx8_uvh5_find_counts(pieces->piece[k].file, &of, NULL) != FX8_OK)
            return false;
        if (k == 0)
            *size = first = of;
        if (of.n_inputs != first.n_inputs ||
            of.n_fine * first.n_bands != first.n_fine * of.n_bands ||
            (pieces->by_time && of.n_bands != first.n_bands))
            return false;
        if (k > 0 && !pieces->by_time) {
            size->n_bands += of.n_bands;
            size->n_fine += of.n_fine;
        }
    }
    return true;
}

/* Add the counts of all dumps: n values of each. */
static enum fx8_status add_dumps(const struct fx8_uvh5_writer *writer,
                                 int index, size_t n, int64_t *dump,
                                 int64_t *sums, struct fx8_error *error)
{
    for (size_t d = 0; d < writer->n_times; d++) {
        FX8_TRY(fx8_h5_cube_read(writer->output, &writer->counts[index], d,
                                 dump, error));
        for (size_t i = 0; i < n; i++)
            sums[i] += dump[i];
    }
    return FX8_OK;
}

/* Clip fractions of all dumps, and their largest. */
static enum fx8_status put_fractions(const struct fx8_uvh5_counts *size,
                                     struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    const size_t shape[] = {size->n_inputs, size->n_fine};
    const size_t n = fx8_product(shape[0], shape[1], 1, 1);
    const size_t n_rows = fx8_product(size->n_bands, size->n_inputs, 1, 1);
    FX8_AUTO_FREE int64_t *valid = NULL, *clips = NULL, *dump = NULL;
    FX8_AUTO_FREE double *fractions = NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(valid, n_rows), FX8_ITEMS(clips, n), FX8_ITEMS(fractions, n),
        FX8_ITEMS(dump, n > n_rows ? n : n_rows)};
    struct fx8_keyword most = {.name = "CLIPMAX", .type = FX8_KEYWORD_REAL};
    FX8_TRY(fx8_allocate_arrays(arrays, 4, "clip fractions", error));
    FX8_TRY(
        add_dumps(writer, FX8_UVH5_VALID_SPECTRA, n_rows, dump, valid, error));
    FX8_TRY(add_dumps(writer, FX8_UVH5_CLIPS, n, dump, clips, error));
    fx8_uvh5_clip_fractions(size, valid, clips, fractions);
    for (size_t i = 0; i < n; i++)
        most.real = fmax(most.real, fractions[i]);
    FX8_TRY(fx8_uvh5_put(writer, "clip_fraction", 2, shape, fractions,
                         "fraction of valid spectra clamped, by input and "
                         "channel",
                         error));
    return fx8_uvh5_put_keyword(writer, &most, error);
}

enum fx8_status fx8_uvh5_join_counts(const struct fx8_uvh5_join *join,
                                     struct fx8_error *error)
{
    const bool by_time = join->pieces.by_time;
    const struct fx8_uvh5_lists valid = {"fx8/valid_spectra", by_time ? 0 : 1,
                                         NULL};
    const struct fx8_uvh5_lists clips = {"fx8/clips", by_time ? 0 : 2, NULL};
    const struct fx8_h5_cube *counts = join->writer->counts;
    struct fx8_uvh5_counts size;
    if (!find_counts(&join->pieces, &size)) {
        join->request->warn("fx8/valid_spectra, fx8/clips: not in all files, "
                            "or of other shapes: left out");
        return FX8_OK;
    }
    if (size.n_inputs == 0)
        return FX8_OK;
    FX8_TRY(fx8_uvh5_open_counts(join->writer, size.n_bands, size.n_inputs,
                                 size.n_fine, error));
    FX8_TRY(fx8_uvh5_copy_lists(join, &valid, join->pieces.n,
                                counts[FX8_UVH5_VALID_SPECTRA].dataset, error));
    if (size.n_fine == 0)
        return FX8_OK;
    FX8_TRY(fx8_uvh5_copy_lists(join, &clips, join->pieces.n,
                                counts[FX8_UVH5_CLIPS].dataset, error));
    return put_fractions(&size, join->writer, error);
}
