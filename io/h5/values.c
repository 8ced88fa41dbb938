/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * values.c -- values of attributes and small datasets, and tables: datasets of
 * one axis with compound elements, read column by column, so that order,
 * padding and width of the members do not matter and unknown members are
 * ignored.  A file may be damaged or hostile: nothing is allocated before type,
 * shape and size have been checked against the data actually stored.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/observation.h"
#include "io/h5/h5.h"
#include "io/h5/storage.h"

/* Deflate, the strongest filter in use, packs at most 1032 : 1. */
#define MAX_PACKING 1032

/* Most rows: at 64 bytes each that is 4 GiB, far above any antenna table or
 * useful table of missing samples. */
#define MAX_ROWS ((hsize_t)1 << 26)

/* Size a dataset may claim beyond that: fill values are stored once. */
#define FREE_CLAIM ((uint64_t)1 << 20)

void fx8_h5_close_item(struct fx8_h5_item *item)
{
    fx8_h5_close(&item->space);
    fx8_h5_close(&item->type);
    fx8_h5_close(&item->id);
}

static enum fx8_status item_fail(const struct fx8_h5_item *item,
                                 struct fx8_error *error)
{
    return fx8_h5_fail(error, FX8_ERR_INPUT, item->path, item->name);
}

enum fx8_status fx8_h5_open_item(const struct fx8_h5_place *place,
                                 const char *name, struct fx8_h5_item *item,
                                 struct fx8_error *error)
{
    *item = (struct fx8_h5_item){.path = place->path,
                                 .name = name,
                                 .is_attribute = place->attributes,
                                 .extent = {1, 1, 1}};
    if (!place->attributes) {
        FX8_TRY(fx8_h5_open_whole_dataset(place->path, place->object, name,
                                          &item->id, error));
        item->type = H5Dget_type(item->id);
        item->space = H5Dget_space(item->id);
    } else {
        if (H5Aexists(place->object, name) <= 0)
            return fx8_refuse(error, place->path, name,
                              "missing: expected an attribute");
        item->id = H5Aopen(place->object, name, H5P_DEFAULT);
        if (item->id >= 0) {
            item->type = H5Aget_type(item->id);
            item->space = H5Aget_space(item->id);
        }
    }
    if (item->type <= 0 || item->space <= 0)
        return item_fail(item, error);
    item->rank = H5Sget_simple_extent_ndims(item->space);
    if (item->rank < 0 || item->rank > 3 ||
        H5Sget_simple_extent_type(item->space) == H5S_NULL)
        return fx8_refuse(error, place->path, name,
                          "%d axes: expected a value or a list", item->rank);
    H5Sget_simple_extent_dims(item->space, item->extent, NULL);
    return FX8_OK;
}

static enum fx8_status check_shape(const struct fx8_h5_item *item,
                                   struct fx8_h5_rows rows,
                                   struct fx8_error *error)
{
    const hsize_t n_rows = item->extent[0];
    const hsize_t n_columns = item->extent[1] * item->extent[2];
    const bool axes_fit = rows.columns == 1 ? item->rank < 2 : item->rank == 2;
    if (axes_fit && n_rows == rows.total && n_columns == rows.columns)
        return FX8_OK;
    return fx8_refuse(error, item->path, item->name,
                      "shape %" PRIu64 " x %" PRIu64 ": expected %zu x %zu",
                      (uint64_t)n_rows, (uint64_t)n_columns, rows.total,
                      rows.columns);
}

enum fx8_status fx8_h5_check_claim(const struct fx8_h5_item *item,
                                   uint64_t bytes, struct fx8_error *error)
{
    if (bytes <= FREE_CLAIM)
        return FX8_OK;
    uint64_t stored = 0;
    if (item->is_attribute) {
        stored = H5Aget_storage_size(item->id);
    } else {
        hsize_t file_size = 0;
        FX8_H5_AUTO file = H5Iget_file_id(item->id);
        if (file >= 0)
            H5Fget_filesize(file, &file_size);
        stored = H5Dget_storage_size(item->id);
        if (stored > file_size)
            stored = file_size;
    }
    if (bytes / MAX_PACKING <= stored)
        return FX8_OK;
    return fx8_refuse(error, item->path, item->name,
                      "%" PRIu64 " bytes claimed, %" PRIu64
                      " stored: expected a whole file",
                      bytes, stored);
}

/* Read `rows` as `memory` type. */
static enum fx8_status read_rows(const struct fx8_h5_item *item, hid_t memory,
                                 struct fx8_h5_rows rows, void *values,
                                 struct fx8_error *error)
{
    const hsize_t start[2] = {rows.first, 0};
    const hsize_t count[2] = {rows.n, rows.columns};
    const herr_t result =
        item->is_attribute ? H5Aread(item->id, memory, values)
        : rows.n == rows.total
            ? H5Dread(item->id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values)
            : fx8_h5_read_part(item->id, memory, start, count, values);
    return result < 0 ? item_fail(item, error) : FX8_OK;
}

static enum fx8_status type_fail(const struct fx8_h5_item *item,
                                 const char *expected, struct fx8_error *error)
{
    char name[128];
    fx8_h5_type_name(item->type, name, sizeof name);
    return fx8_refuse(error, item->path, item->name, "%s: expected %s", name,
                      expected);
}

/* Read numbers of a class as `memory` type; `other` is a class that suits
 * too. */
static enum fx8_status read_numbers(const struct fx8_h5_item *item,
                                    struct fx8_h5_rows rows, H5T_class_t other,
                                    hid_t memory, const char *expected,
                                    void *values, struct fx8_error *error)
{
    const H5T_class_t class = H5Tget_class(item->type);
    if (class != H5T_INTEGER && class != other)
        return type_fail(item, expected, error);
    FX8_TRY(check_shape(item, rows, error));
    return read_rows(item, memory, rows, values, error);
}

enum fx8_status fx8_h5_get_integers(const struct fx8_h5_place *place,
                                    const char *name, struct fx8_h5_rows rows,
                                    int64_t *values, struct fx8_error *error)
{
    static const char expected[] = "a whole number";
    FX8_H5_AUTO_ITEM item = {0};
    FX8_TRY(fx8_h5_open_item(place, name, &item, error));
    const bool is_unsigned = H5Tget_class(item.type) == H5T_INTEGER &&
                             H5Tget_sign(item.type) == H5T_SGN_NONE;
    if (H5Tget_size(item.type) > 8)
        return type_fail(&item, expected, error);
    FX8_TRY(read_numbers(&item, rows, H5T_ENUM,
                         is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64,
                         expected, values, error));
    /* those stored as uint64 must fit */
    const size_t n = is_unsigned ? rows.n * rows.columns : 0;
    for (size_t i = 0; i < n; i++)
        if (values[i] < 0)
            return fx8_refuse(error, place->path, name,
                              "%" PRIu64
                              ": expected at most 9223372036854775807",
                              (uint64_t)values[i]);
    return FX8_OK;
}

enum fx8_status fx8_h5_get_reals(const struct fx8_h5_place *place,
                                 const char *name, struct fx8_h5_rows rows,
                                 double *values, struct fx8_error *error)
{
    FX8_H5_AUTO_ITEM item = {0};
    FX8_TRY(fx8_h5_open_item(place, name, &item, error));
    return read_numbers(&item, rows, H5T_FLOAT, H5T_NATIVE_DOUBLE, "a number",
                        values, error);
}

enum fx8_status fx8_h5_get_integer(const struct fx8_h5_place *place,
                                   const char *name, int64_t least,
                                   int64_t most, int64_t *value,
                                   struct fx8_error *error)
{
    FX8_TRY(fx8_h5_get_integers(place, name, fx8_h5_all(1, 1), value, error));
    if (*value >= least && *value <= most)
        return FX8_OK;
    return fx8_refuse(error, place->path, name,
                      "%" PRId64 ": expected %" PRId64 " to %" PRId64, *value,
                      least, most);
}

enum fx8_status fx8_h5_get_each(const struct fx8_h5_place *place,
                                const struct fx8_h5_integer *integers, size_t n,
                                struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++)
        FX8_TRY(fx8_h5_get_integer(place, integers[i].name, integers[i].least,
                                   integers[i].most, integers[i].value, error));
    return FX8_OK;
}

enum fx8_status fx8_h5_get_real(const struct fx8_h5_place *place,
                                const char *name, double *value,
                                struct fx8_error *error)
{
    FX8_TRY(fx8_h5_get_reals(place, name, fx8_h5_all(1, 1), value, error));
    if (isfinite(*value))
        return FX8_OK;
    return fx8_refuse(error, place->path, name, "%g: expected a finite number",
                      *value);
}

/* Raw strings: fixed ones side by side, variable ones as HDF5's pointers. */
struct strings {
    size_t n;
    hid_t memory; /* of one, or of a row with the one member */
    hid_t space;  /* of the item */
    size_t width; /* 0: variable */
    void *raw;
};

static void free_strings(struct strings *strings)
{
    if (strings->width == 0 && strings->raw != NULL)
        H5Dvlen_reclaim(strings->memory, strings->space, H5P_DEFAULT,
                        strings->raw);
    free(strings->raw);
    fx8_h5_close(&strings->memory);
}

/* Declares strings that are released where their scope ends. */
#define AUTO_STRINGS FX8_AUTO(free_strings) struct strings

static const char *string_at(const struct strings *strings, size_t index)
{
    if (strings->width > 0)
        return (const char *)strings->raw + index * strings->width;
    const char *text = ((char **)strings->raw)[index];
    return text != NULL ? text : "";
}

/* Set the type in memory of strings stored as `type`, or of rows with them as a
 * member. */
static herr_t set_memory(struct strings *strings, hid_t type,
                         const char *member)
{
    hid_t text = H5Tcopy(H5T_C_S1);
    const size_t size = strings->width > 0 ? strings->width : H5T_VARIABLE;
    herr_t result = H5Tset_size(text, size);
    result = result < 0 ? result : H5Tset_cset(text, H5Tget_cset(type));
    strings->memory = text;
    if (member != NULL) {
        strings->memory = H5Tcreate(H5T_COMPOUND, H5Tget_size(text));
        result =
            result < 0 ? result : H5Tinsert(strings->memory, member, 0, text);
        fx8_h5_close(&text);
    }
    return result;
}

/* Read strings stored as `type`, a member of the rows if it has a name. */
static enum fx8_status read_strings(const struct fx8_h5_item *item, hid_t type,
                                    const char *member, struct strings *strings,
                                    struct fx8_error *error)
{
    strings->space = item->space;
    /* one byte more than stored: then conversion always terminates */
    strings->width = H5Tis_variable_str(type) > 0 ? 0 : H5Tget_size(type) + 1;
    const size_t item_size =
        strings->width > 0 ? strings->width : sizeof(char *);
    FX8_TRY(fx8_h5_check_claim(item, fx8_product(strings->n, item_size, 1, 1),
                               error));
    if (set_memory(strings, type, member) < 0)
        return item_fail(item, error);
    FX8_TRY(
        fx8_allocate(strings->n, item_size, item->name, &strings->raw, error));
    return strings->n == 0
               ? FX8_OK
               : read_rows(item, strings->memory, fx8_h5_all(strings->n, 1),
                           strings->raw, error);
}

/* Read an item's own strings. */
static enum fx8_status read_texts(const struct fx8_h5_item *item,
                                  struct strings *strings,
                                  struct fx8_error *error)
{
    if (H5Tget_class(item->type) != H5T_STRING)
        return type_fail(item, "text", error);
    FX8_TRY(check_shape(item, fx8_h5_all(strings->n, 1), error));
    return read_strings(item, item->type, NULL, strings, error);
}

/* Copy strings to places `stride` bytes apart, with room for `width`. */
static enum fx8_status copy_texts(const struct fx8_h5_item *item,
                                  const char *member,
                                  const struct strings *strings, size_t width,
                                  size_t stride, char *texts,
                                  struct fx8_error *error)
{
    for (size_t i = 0; i < strings->n; i++) {
        const char *text = string_at(strings, i);
        const size_t length = strlen(text);
        char where[FX8_TEXT_SIZE] = "";
        if (member != NULL)
            snprintf(where, sizeof where, "row %zu: %s of ", i, member);
        if (length >= width)
            return fx8_refuse(error, item->path, item->name,
                              "%s%zu characters: expected fewer than %zu",
                              where, length, width);
        memcpy(texts + i * stride, text, length + 1);
    }
    return FX8_OK;
}

enum fx8_status fx8_h5_read_texts(const struct fx8_h5_item *item, size_t n,
                                  size_t width, char *texts,
                                  struct fx8_error *error)
{
    AUTO_STRINGS strings = {.n = n};
    FX8_TRY(read_strings(item, item->type, NULL, &strings, error));
    return copy_texts(item, NULL, &strings, width, width, texts, error);
}

enum fx8_status fx8_h5_get_texts(const struct fx8_h5_place *place,
                                 const char *name, size_t n, size_t width,
                                 char *texts, struct fx8_error *error)
{
    FX8_H5_AUTO_ITEM item = {0};
    AUTO_STRINGS strings = {.n = n};
    FX8_TRY(fx8_h5_open_item(place, name, &item, error));
    FX8_TRY(read_texts(&item, &strings, error));
    return copy_texts(&item, NULL, &strings, width, width, texts, error);
}

void fx8_h5_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < 0x20 || *text > 0x7e)
            *text = '?';
}

enum fx8_status fx8_h5_get_long_text(const struct fx8_h5_place *place,
                                     const char *name, char **text,
                                     struct fx8_error *error)
{
    *text = NULL;
    FX8_H5_AUTO_ITEM item = {0};
    AUTO_STRINGS strings = {.n = 1};
    FX8_TRY(fx8_h5_open_item(place, name, &item, error));
    FX8_TRY(read_texts(&item, &strings, error));
    *text = strdup(string_at(&strings, 0));
    return *text != NULL ? FX8_OK : fx8_no_memory(name, error);
}

bool fx8_h5_has_format(hid_t file, const char *format)
{
    char found[FX8_TEXT_SIZE] = "";
    const struct fx8_h5_place root = {"", file, true};
    fx8_h5_get_texts(&root, "format", 1, sizeof found, found, NULL);
    return strcmp(found, format) == 0;
}

bool fx8_h5_is_format(const char *path, const char *format)
{
    fx8_h5_quiet();
    FX8_H5_AUTO file = FX8_H5_NONE;
    return fx8_h5_open_file(path, &file, NULL) == FX8_OK &&
           fx8_h5_has_format(file, format);
}

/* --- tables --------------------------------------------------------------- */

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

/* Read a member that is texts stored as `type`. */
static enum fx8_status get_text_member(const struct fx8_h5_item *table,
                                       const struct fx8_h5_member *member,
                                       hid_t type, size_t row_bytes, void *rows,
                                       struct fx8_error *error)
{
    AUTO_STRINGS strings = {.n = (size_t)table->extent[0]};
    FX8_TRY(read_strings(table, type, member->name, &strings, error));
    return copy_texts(table, member->name, &strings, member->width, row_bytes,
                      (char *)rows + member->offset, error);
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
            FX8_TRY(get_text_member(table, &members[i], stored, row_bytes, rows,
                                    error));
        else if (is_unsigned(&members[i], stored))
            FX8_TRY(check_unsigned(table, &members[i], row_bytes, rows, error));
    }
    return FX8_OK;
}
