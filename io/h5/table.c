/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c -- tables: datasets of one axis with compound elements, read column
 * by column, so that order, padding and width of the members do not matter and
 * unknown members are ignored.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "io/h5/h5.h"
#include "io/h5/storage.h"

/* Most rows: at 64 bytes each that is 4 GiB, far above any antenna table or
 * useful table of missing samples. */
#define MAX_ROWS ((hsize_t)1 << 26)

enum fx8_status fx8_h5_open_table(const struct fx8_h5_place *place,
                                  const char *name, struct fx8_h5_table *table,
                                  struct fx8_error *error)
{
    *table = (struct fx8_h5_table){.path = place->path,
                                   .name = name,
                                   .dataset = FX8_H5_NONE,
                                   .type = FX8_H5_NONE};
    hsize_t n_rows = 0;
    enum fx8_status status = fx8_h5_open_whole_dataset(
        place->path, place->object, name, &table->dataset, error);
    if (status != FX8_OK)
        return status;
    table->type = H5Dget_type(table->dataset);
    hid_t space = H5Dget_space(table->dataset);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (table->type < 0 || rank < 0) {
        status = fx8_h5_fail(error, FX8_ERR_INPUT, place->path, name);
    } else if (H5Tget_class(table->type) != H5T_COMPOUND) {
        char type[128];
        fx8_h5_type_name(table->type, type, sizeof type);
        status = fx8_fail(error, FX8_ERR_INPUT,
                          "%s: %s: %s: expected a table (compound elements)",
                          place->path, name, type);
    } else if (rank != 1) {
        status = fx8_fail(error, FX8_ERR_INPUT, "%s: %s: %d axes: expected one",
                          place->path, name, rank);
    } else {
        H5Sget_simple_extent_dims(space, &n_rows, NULL);
    }
    if (n_rows > MAX_ROWS)
        status =
            fx8_fail(error, FX8_ERR_INPUT,
                     "%s: %s: %" PRIu64 " rows: expected at most %" PRIu64,
                     place->path, name, (uint64_t)n_rows, (uint64_t)MAX_ROWS);
    table->n_rows = (size_t)n_rows;
    fx8_h5_close(&space);
    if (status != FX8_OK)
        fx8_h5_close_table(table);
    return status;
}

void fx8_h5_close_table(struct fx8_h5_table *table)
{
    fx8_h5_close(&table->type);
    fx8_h5_close(&table->dataset);
}

bool fx8_h5_has_column(const struct fx8_h5_table *table, const char *member)
{
    return H5Tget_member_index(table->type, member) >= 0;
}

static enum fx8_status column_fail(const struct fx8_h5_table *table,
                                   const char *member, const char *expected,
                                   struct fx8_error *error)
{
    char name[128];
    fx8_h5_type_name(table->type, name, sizeof name);
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %s: %s: expected a member %s, %s", table->path,
                    table->name, name, member, expected);
}

/* Class of a member, H5T_NO_CLASS when it is missing. */
static H5T_class_t member_class(const struct fx8_h5_table *table,
                                const char *member)
{
    const int index = H5Tget_member_index(table->type, member);
    return index < 0 ? H5T_NO_CLASS
                     : H5Tget_member_class(table->type, (unsigned)index);
}

/* Read one member of every row as `type`, rows packed. */
static enum fx8_status read_column(const struct fx8_h5_table *table,
                                   const char *member, hid_t type, void *values,
                                   struct fx8_error *error)
{
    if (table->n_rows == 0)
        return FX8_OK;
    enum fx8_status status = FX8_OK;
    hid_t memory = H5Tcreate(H5T_COMPOUND, H5Tget_size(type));
    if (memory < 0 || H5Tinsert(memory, member, 0, type) < 0 ||
        H5Dread(table->dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) <
            0)
        status = fx8_h5_fail(error, FX8_ERR_INPUT, table->path, table->name);
    fx8_h5_close(&memory);
    return status;
}

enum fx8_status fx8_h5_get_integer_column(const struct fx8_h5_table *table,
                                          const char *member, int64_t *values,
                                          struct fx8_error *error)
{
    if (member_class(table, member) != H5T_INTEGER)
        return column_fail(table, member, "a whole number", error);
    const int index = H5Tget_member_index(table->type, member);
    hid_t type = H5Tget_member_type(table->type, (unsigned)index);
    const bool is_unsigned = H5Tget_sign(type) == H5T_SGN_NONE;
    fx8_h5_close(&type);
    const enum fx8_status status = read_column(
        table, member, is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64,
        values, error);
    for (size_t i = 0; i < table->n_rows && status == FX8_OK && is_unsigned;
         i++)
        if (values[i] < 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: row %zu: %s %" PRIu64
                            ": expected at most 9223372036854775807",
                            table->path, table->name, i, member,
                            (uint64_t)values[i]);
    return status;
}

enum fx8_status fx8_h5_get_real_column(const struct fx8_h5_table *table,
                                       const char *member, double *values,
                                       struct fx8_error *error)
{
    const H5T_class_t class = member_class(table, member);
    if (class != H5T_FLOAT && class != H5T_INTEGER)
        return column_fail(table, member, "a number", error);
    return read_column(table, member, H5T_NATIVE_DOUBLE, values, error);
}

/* Copy terminated strings of `stride` bytes, or through pointers (stride 0). */
static enum fx8_status copy_texts(const struct fx8_h5_table *table,
                                  const char *member, const void *raw,
                                  size_t stride, size_t width, char *texts,
                                  struct fx8_error *error)
{
    for (size_t i = 0; i < table->n_rows; i++) {
        const char *text = stride > 0 ? (const char *)raw + i * stride
                                      : ((char *const *)raw)[i];
        const size_t length = text != NULL ? strlen(text) : 0;
        if (length >= width)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: row %zu: %s of %zu characters: expected "
                            "fewer than %zu",
                            table->path, table->name, i, member, length, width);
        if (length > 0)
            memcpy(texts + i * width, text, length);
        texts[i * width + length] = '\0';
    }
    return FX8_OK;
}

enum fx8_status fx8_h5_get_text_column(const struct fx8_h5_table *table,
                                       const char *member, size_t width,
                                       char *texts, struct fx8_error *error)
{
    if (member_class(table, member) != H5T_STRING)
        return column_fail(table, member, "text", error);
    const int index = H5Tget_member_index(table->type, member);
    hid_t stored = H5Tget_member_type(table->type, (unsigned)index);
    hid_t type = H5Tcopy(H5T_C_S1);
    hid_t space = H5Dget_space(table->dataset);
    const bool variable = H5Tis_variable_str(stored) > 0;
    const size_t stride = variable ? 0 : H5Tget_size(stored) + 1;
    void *raw = NULL;
    enum fx8_status status = FX8_OK;
    if (H5Tset_size(type, variable ? H5T_VARIABLE : stride) < 0 ||
        H5Tset_cset(type, H5Tget_cset(stored)) < 0)
        status = fx8_h5_fail(error, FX8_ERR_INPUT, table->path, table->name);
    if (status == FX8_OK)
        status = fx8_allocate(table->n_rows, variable ? sizeof(char *) : stride,
                              member, &raw, error);
    if (status == FX8_OK)
        status = read_column(table, member, type, raw, error);
    if (status == FX8_OK)
        status = copy_texts(table, member, raw, stride, width, texts, error);
    if (variable && raw != NULL) {
        /* one pointer per row, to be released by HDF5 */
        hid_t row = H5Tcreate(H5T_COMPOUND, sizeof(char *));
        H5Tinsert(row, member, 0, type);
        H5Dvlen_reclaim(row, space, H5P_DEFAULT, raw);
        fx8_h5_close(&row);
    }
    free(raw);
    fx8_h5_close(&space);
    fx8_h5_close(&type);
    fx8_h5_close(&stored);
    return status;
}
