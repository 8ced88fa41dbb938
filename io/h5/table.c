/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c -- tables: datasets of one axis with compound elements, read column
 * by column, so that order, padding and width of the members do not matter and
 * unknown members are ignored.
 */
#include <inttypes.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/h5/storage.h"

/* Most rows: at 64 bytes each that is 4 GiB, far above any antenna table or
 * useful table of missing samples. */
#define MAX_ROWS ((hsize_t)1 << 26)

enum fx8_status fx8_h5_open_table(const struct fx8_h5_place *place,
                                  const char *name, struct fx8_h5_item *table,
                                  struct fx8_error *error)
{
    FX8_TRY(fx8_h5_open_item(place, name, table, error));
    if (H5Tget_class(table->type) != H5T_COMPOUND) {
        char type[128];
        fx8_h5_type_name(table->type, type, sizeof type);
        return fx8_refuse(error, table->path, table->name,
                          "%s: expected a table (compound elements)", type);
    }
    if (table->rank != 1)
        return fx8_refuse(error, table->path, table->name,
                          "%d axes: expected one", table->rank);
    if (table->extent[0] > MAX_ROWS)
        return fx8_refuse(error, table->path, table->name,
                          "%" PRIu64 " rows: expected at most %" PRIu64,
                          (uint64_t)table->extent[0], (uint64_t)MAX_ROWS);
    return FX8_OK;
}

bool fx8_h5_has_column(const struct fx8_h5_item *table, const char *member)
{
    return H5Tget_member_index(table->type, member) >= 0;
}

static enum fx8_status column_fail(const struct fx8_h5_item *table,
                                   const char *member, const char *expected,
                                   struct fx8_error *error)
{
    char name[128];
    fx8_h5_type_name(table->type, name, sizeof name);
    return fx8_refuse(error, table->path, table->name,
                      "%s: expected a member %s, %s", name, member, expected);
}

static hid_t member_type(const struct fx8_h5_item *table, const char *member)
{
    const int index = H5Tget_member_index(table->type, member);
    return index < 0 ? FX8_H5_NONE
                     : H5Tget_member_type(table->type, (unsigned)index);
}

/* Check that the class of a stored type suits a kind. */
static enum fx8_status check_class(const struct fx8_h5_item *table,
                                   const struct fx8_h5_member *member,
                                   hid_t stored, struct fx8_error *error)
{
    const H5T_class_t class = stored < 0 ? H5T_NO_CLASS : H5Tget_class(stored);
    if (member->kind == FX8_H5_TEXT && class != H5T_STRING)
        return column_fail(table, member->name, "text", error);
    if (member->kind == FX8_H5_REAL && class != H5T_FLOAT &&
        class != H5T_INTEGER)
        return column_fail(table, member->name, "a number", error);
    if (member->kind != FX8_H5_TEXT && member->kind != FX8_H5_REAL &&
        class != H5T_INTEGER)
        return column_fail(table, member->name, "a whole number", error);
    return FX8_OK;
}

/* Refuse numbers that were read as uint64 and do not fit int64. */
static enum fx8_status check_unsigned(const struct fx8_h5_item *table,
                                      const struct fx8_h5_member *member,
                                      size_t row_bytes, const char *rows,
                                      struct fx8_error *error)
{
    for (size_t i = 0; i < (size_t)table->extent[0]; i++) {
        int64_t value;
        memcpy(&value, rows + i * row_bytes + member->offset, sizeof value);
        if (value < 0)
            return fx8_refuse(error, table->path, table->name,
                              "row %zu: %s %" PRIu64
                              ": expected at most 9223372036854775807",
                              i, member->name, (uint64_t)value);
    }
    return FX8_OK;
}

/* Whether a stored number is read as uint64. */
static bool is_unsigned(const struct fx8_h5_member *member, hid_t stored)
{
    return member->kind == FX8_H5_INTEGER && stored >= 0 &&
           H5Tget_sign(stored) == H5T_SGN_NONE;
}

/* Add the members that are numbers to a compound; check the class of all. */
static enum fx8_status add_numbers(const struct fx8_h5_item *table,
                                   const struct fx8_h5_member *members,
                                   size_t n, hid_t memory,
                                   struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++) {
        FX8_H5_AUTO stored = member_type(table, members[i].name);
        if (stored >= 0 || !members[i].is_optional)
            FX8_TRY(check_class(table, &members[i], stored, error));
        if (stored >= 0 && members[i].kind != FX8_H5_TEXT &&
            H5Tinsert(memory, members[i].name, members[i].offset,
                      is_unsigned(&members[i], stored)
                          ? H5T_NATIVE_UINT64
                          : fx8_h5_native_type(members[i].kind)) < 0)
            return fx8_h5_fail(error, FX8_ERR_INPUT, table->path, table->name);
    }
    return FX8_OK;
}

enum fx8_status fx8_h5_read_table(const struct fx8_h5_item *table,
                                  const struct fx8_h5_member *members, size_t n,
                                  size_t row_bytes, void *rows,
                                  struct fx8_error *error)
{
    FX8_H5_AUTO memory = H5Tcreate(H5T_COMPOUND, row_bytes);
    FX8_TRY(add_numbers(table, members, n, memory, error));
    if (table->extent[0] > 0 &&
        H5Dread(table->id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, table->path, table->name);
    for (size_t i = 0; i < n; i++) {
        FX8_H5_AUTO stored = member_type(table, members[i].name);
        if (members[i].kind == FX8_H5_TEXT && stored >= 0)
            FX8_TRY(fx8_h5_get_text_member(table, &members[i], stored,
                                           row_bytes, rows, error));
        else if (is_unsigned(&members[i], stored))
            FX8_TRY(check_unsigned(table, &members[i], row_bytes, rows, error));
    }
    return FX8_OK;
}
