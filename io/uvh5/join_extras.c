/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_extras.c -- /fx8 of joined files: what was counted in each dump, side by
 * side; the clip fractions of these counts; gains by channel; and the rest
 * where all pieces have the same.
 */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/observation.h"
#include "io/h5/copy.h"
#include "io/uvh5/join.h"

typedef void warner(const char *format, ...);

/* --- counts of dumps ------------------------------------------------------ */

static size_t dumps_of(const struct fx8_uvh5_piece *piece)
{
    return piece->header.n_times;
}

/* Shape of counts of all pieces; false if they lack them or do not fit. */
static bool find_counts(const struct fx8_uvh5_pieces *pieces, const char *name,
                        int axis, struct fx8_uvh5_shape *shape)
{
    return fx8_uvh5_join_shape(pieces, name, axis,
                               pieces->by_time ? dumps_of : NULL, shape,
                               NULL) == FX8_OK &&
           shape->rank == 3 && shape->extent[0] == pieces->n_times;
}

/* Add the counts [n] of a dump of the result. */
static enum fx8_status add_counts(const struct fx8_uvh5_writer *writer,
                                  int index, size_t dump, size_t n,
                                  int64_t *part, int64_t *sums,
                                  struct fx8_error *error)
{
    const struct fx8_h5_cube *cube = &writer->counts[index];
    const hsize_t start[3] = {dump, 0, 0};
    if (fx8_h5_read_part(cube->dataset, H5T_NATIVE_INT64, start, cube->dump,
                         part) < 0)
        return fx8_output_fail(writer->output, cube->name, error);
    for (size_t i = 0; i < n; i++)
        sums[i] += part[i];
    return FX8_OK;
}

/* Clip fractions of all dumps, and their largest. */
static enum fx8_status put_fractions(const struct fx8_uvh5_pieces *pieces,
                                     size_t n_bands, size_t n_inputs,
                                     size_t n_fine,
                                     struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    const size_t n = fx8_product(n_inputs, n_fine, 1, 1);
    const size_t n_rows = fx8_product(n_bands, n_inputs, 1, 1);
    const size_t shape[] = {n_inputs, n_fine};
    FX8_AUTO_FREE int64_t *valid = NULL, *clips = NULL, *part = NULL;
    FX8_AUTO_FREE double *fractions = NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(valid, n_rows), FX8_ITEMS(clips, n), FX8_ITEMS(fractions, n),
        FX8_ITEMS(part, n > n_rows ? n : n_rows)};
    FX8_TRY(fx8_allocate_arrays(arrays, 4, "clip fractions", error));
    for (size_t dump = 0; dump < pieces->n_times; dump++) {
        FX8_TRY(add_counts(writer, FX8_UVH5_VALID_SPECTRA, dump, n_rows, part,
                           valid, error));
        FX8_TRY(
            add_counts(writer, FX8_UVH5_CLIPS, dump, n, part, clips, error));
    }
    struct fx8_keyword most = {.name = "CLIPMAX", .type = FX8_KEYWORD_REAL};
    fx8_uvh5_clip_fractions(
        &(struct fx8_uvh5_counts){n_bands, n_inputs, n_fine}, valid, clips,
        fractions);
    for (size_t i = 0; i < n; i++)
        if (fractions[i] > most.real)
            most.real = fractions[i];
    FX8_TRY(fx8_uvh5_put(writer, "clip_fraction", 2, shape, fractions,
                         "fraction of valid spectra clamped, by input and "
                         "channel",
                         error));
    return fx8_uvh5_put_keyword(writer, &most, error);
}

/* Number of channels by input with clips, 0 if the pieces lack them or their
 * bands have different numbers of channels. */
static size_t count_fine(const struct fx8_uvh5_pieces *pieces, int axis,
                         const struct fx8_uvh5_shape *valid)
{
    const hsize_t n_bands = valid->extent[1];
    struct fx8_uvh5_shape clips, of_bands, of_clips;
    if (!find_counts(pieces, "fx8/clips", axis, &clips) ||
        clips.extent[1] != valid->extent[2])
        return 0;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_pieces one = {.n = 1, .piece = &pieces->piece[k]};
        if (fx8_uvh5_join_shape(&one, "fx8/valid_spectra", 1, NULL, &of_bands,
                                NULL) != FX8_OK ||
            fx8_uvh5_join_shape(&one, "fx8/clips", 2, NULL, &of_clips, NULL) !=
                FX8_OK ||
            of_clips.extent[2] * n_bands !=
                clips.extent[2] * of_bands.extent[1])
            return 0;
    }
    return clips.extent[2] % n_bands == 0 ? (size_t)clips.extent[2] : 0;
}

/* By time along dumps, by frequency along bands and channels. */
static enum fx8_status join_counts(const struct fx8_uvh5_pieces *pieces,
                                   bool has_clips, warner *warn,
                                   struct fx8_uvh5_writer *writer,
                                   struct fx8_error *error)
{
    const int bands = pieces->by_time ? 0 : 1, fine = pieces->by_time ? 0 : 2;
    struct fx8_uvh5_shape valid;
    if (!find_counts(pieces, "fx8/valid_spectra", bands, &valid)) {
        warn("fx8/valid_spectra: not in all files, or of other shapes: left "
             "out, and clips with it");
        return FX8_OK;
    }
    const size_t n_bands = (size_t)valid.extent[1];
    const size_t n_inputs = (size_t)valid.extent[2];
    const size_t n_fine = count_fine(pieces, fine, &valid);
    FX8_TRY(fx8_uvh5_open_counts(writer, n_bands, n_inputs, n_fine, error));
    FX8_TRY(fx8_uvh5_join_values(pieces, "fx8/valid_spectra", bands,
                                 writer->counts[FX8_UVH5_VALID_SPECTRA].dataset,
                                 writer, error));
    if (n_fine == 0) {
        if (has_clips)
            warn("fx8/clips: not in all files, or of other shapes: left out");
        return FX8_OK;
    }
    FX8_TRY(fx8_uvh5_join_values(pieces, "fx8/clips", fine,
                                 writer->counts[FX8_UVH5_CLIPS].dataset, writer,
                                 error));
    return put_fractions(pieces, n_bands, n_inputs, n_fine, writer, error);
}

/* --- the rest ------------------------------------------------------------- */

/* Put gains by input and channel side by side; *is_done is false if they do not
 * fit. */
static enum fx8_status join_gains(const struct fx8_uvh5_pieces *pieces,
                                  const char *text, bool *is_done,
                                  struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    struct fx8_uvh5_shape shape;
    FX8_H5_AUTO group = FX8_H5_NONE, joined = FX8_H5_NONE;
    const struct fx8_h5_target root = {writer->output, writer->file, false};
    const struct fx8_h5_layout layout = {.name = "gain",
                                         .type = H5T_IEEE_F64LE,
                                         .rank = 2,
                                         .extent = shape.extent};
    *is_done = fx8_uvh5_join_shape(pieces, "fx8/gain", 1, NULL, &shape, NULL) ==
                   FX8_OK &&
               shape.rank == 2;
    if (!*is_done)
        return FX8_OK;
    FX8_TRY(fx8_h5_put_group(&root, "fx8", &group, error));
    FX8_TRY(fx8_h5_create(writer->output, group, &layout, &joined, error));
    FX8_TRY(
        fx8_h5_put_note(writer->output, joined, "description", text, error));
    return fx8_uvh5_join_values(pieces, "fx8/gain", 1, joined, writer, error);
}

/* Whether all pieces have the same values as the first. */
static enum fx8_status find_same(const struct fx8_uvh5_pieces *pieces,
                                 const char *name, const double *values,
                                 const size_t shape[3], bool *is_same,
                                 struct fx8_error *error)
{
    const size_t bytes = shape[0] * shape[1] * shape[2] * sizeof *values;
    *is_same = true;
    for (size_t k = 1; k < pieces->n && *is_same; k++) {
        FX8_AUTO_FREE double *other = NULL;
        size_t of[3];
        FX8_TRY(fx8_uvh5_get(pieces->piece[k].file, name, of, &other, error));
        *is_same = other != NULL && memcmp(of, shape, sizeof of) == 0 &&
                   memcmp(other, values, bytes) == 0;
    }
    return FX8_OK;
}

/* A dataset of the group /fx8 of the first piece. */
struct extra {
    const char *name;
    char text[FX8_TEXT_SIZE]; /* its description */
    bool is_real;
    int rank;
};

static enum fx8_status describe(const struct fx8_h5_place *group,
                                struct extra *extra, struct fx8_error *error)
{
    FX8_H5_AUTO dataset = FX8_H5_NONE;
    FX8_TRY(fx8_h5_open_dataset(group->path, group->object, extra->name,
                                H5P_DEFAULT, &dataset, error));
    FX8_H5_AUTO space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    const struct fx8_h5_place place = {group->path, dataset, true};
    extra->is_real = H5Tget_class(type) == H5T_FLOAT;
    extra->rank = H5Sget_simple_extent_ndims(space);
    return fx8_h5_has(&place, "description")
               ? fx8_h5_get_texts(&place, "description", 1, sizeof extra->text,
                                  extra->text, error)
               : FX8_OK;
}

/* Keep a dataset that is the same in all pieces. */
static enum fx8_status keep_same(const struct fx8_uvh5_pieces *pieces,
                                 const struct extra *extra, bool *is_kept,
                                 struct fx8_uvh5_writer *writer,
                                 struct fx8_error *error)
{
    FX8_AUTO_FREE double *values = NULL;
    size_t shape[3];
    if (!extra->is_real)
        return FX8_OK;
    FX8_TRY(fx8_uvh5_get(pieces->piece[0].file, extra->name, shape, &values,
                         error));
    if (strcmp(extra->name, "spectra_per_dump") == 0)
        *is_kept = true; /* goes with the length of the first dump */
    else
        FX8_TRY(find_same(pieces, extra->name, values, shape, is_kept, error));
    return *is_kept ? fx8_uvh5_put(writer, extra->name, (size_t)extra->rank,
                                   shape, values, extra->text, error)
                    : FX8_OK;
}

static enum fx8_status join_extra(const struct fx8_uvh5_pieces *pieces,
                                  const struct fx8_h5_place *group,
                                  const char *name, warner *warn,
                                  struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    struct extra extra = {.name = name};
    bool is_kept = false;
    FX8_TRY(describe(group, &extra, error));
    if (!pieces->by_time && strcmp(name, "gain") == 0)
        FX8_TRY(join_gains(pieces, extra.text, &is_kept, writer, error));
    else
        FX8_TRY(keep_same(pieces, &extra, &is_kept, writer, error));
    if (!is_kept)
        warn("fx8/%s: %s: left out", name,
             extra.is_real ? "not the same in all files" : "not of reals");
    return FX8_OK;
}

/* Whether a dataset is written with the counts, or of use to a run only. */
static bool is_left_out(const char *name)
{
    /* a joined file is no run that could go on */
    static const char *const others[] = {"clip_fraction", "gain_checksum",
                                         "no_power", "planned_dumps"};
    for (int i = 0; i < FX8_UVH5_COUNTS; i++)
        if (strcmp(name, fx8_uvh5_count_names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

enum fx8_status fx8_uvh5_join_extras(const struct fx8_uvh5_pieces *pieces,
                                     warner *warn,
                                     struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    const struct fx8_uvh5_piece *first = &pieces->piece[0];
    if (H5Lexists(first->file->file, "fx8", H5P_DEFAULT) <= 0)
        return FX8_OK;
    FX8_H5_AUTO id = H5Gopen2(first->file->file, "fx8", H5P_DEFAULT);
    if (id < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, first->path, "fx8");
    const struct fx8_h5_place group = {first->path, id, false};
    FX8_TRY(join_counts(pieces, H5Lexists(id, "clips", H5P_DEFAULT) > 0, warn,
                        writer, error));
    for (size_t i = 0; i < fx8_h5_count_links(id); i++) {
        char name[FX8_H5_NAME_SIZE];
        FX8_TRY(fx8_h5_link_name(&group, i, name, error));
        if (!is_left_out(name))
            FX8_TRY(join_extra(pieces, &group, name, warn, writer, error));
    }
    return FX8_OK;
}
