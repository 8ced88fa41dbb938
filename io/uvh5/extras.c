/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extras.c -- additions at any time: datasets below /fx8, extra keywords.
 */
#include <string.h>

#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

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
