/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/observation.h"
#include "io/h5/copy.h"

size_t fx8_h5_count_links(hid_t group)
{
    H5G_info_t info = {.nlinks = 0};
    return H5Gget_info(group, &info) < 0 ? 0 : (size_t)info.nlinks;
}

enum fx8_status fx8_h5_link_name(const struct fx8_h5_place *group, size_t index,
                                 char name[FX8_H5_NAME_SIZE],
                                 struct fx8_error *error)
{
    const ssize_t length =
        H5Lget_name_by_idx(group->object, ".", H5_INDEX_NAME, H5_ITER_INC,
                           (hsize_t)index, name, FX8_H5_NAME_SIZE, H5P_DEFAULT);
    if (length < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, group->path, "a group");
    return length < FX8_H5_NAME_SIZE
               ? FX8_OK
               : fx8_refuse(error, group->path, name,
                            "a name of %zd bytes: expected at most %d", length,
                            FX8_H5_NAME_SIZE - 1);
}

bool fx8_h5_is_group(const struct fx8_h5_place *place, const char *name)
{
    H5O_info_t info;
    return H5Oget_info_by_name(place->object, name, &info, H5P_DEFAULT) >= 0 &&
           info.type == H5O_TYPE_GROUP;
}

/* Whether a dataset has no value, as pyuvdata writes what it does not know. */
static bool is_empty(const struct fx8_h5_place *place, const char *name)
{
    FX8_H5_AUTO dataset = FX8_H5_NONE;
    if (fx8_h5_open_dataset(place->path, place->object, name, H5P_DEFAULT,
                            &dataset, NULL) != FX8_OK)
        return false;
    FX8_H5_AUTO space = H5Dget_space(dataset);
    return H5Sget_simple_extent_type(space) == H5S_NULL;
}

/* --- the same value ------------------------------------------------------- */

static size_t count_values(const struct fx8_h5_item *item)
{
    const hssize_t n = H5Sget_simple_extent_npoints(item->space);
    return n < 0 ? 0 : (size_t)n;
}

static bool is_text(const struct fx8_h5_item *item)
{
    return H5Tget_class(item->type) == H5T_STRING;
}

static bool is_number(const struct fx8_h5_item *item)
{
    const H5T_class_t class = H5Tget_class(item->type);
    return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM;
}

/* Rows of a list of at most two axes. */
static struct fx8_h5_rows rows_of(const struct fx8_h5_item *item)
{
    return fx8_h5_all(item->rank > 0 ? (size_t)item->extent[0] : 1,
                      item->rank > 1 ? (size_t)item->extent[1] : 1);
}

static enum fx8_status refuse_class(const struct fx8_h5_item *a,
                                    const struct fx8_h5_item *b,
                                    struct fx8_error *error)
{
    char of_a[128], of_b[128];
    fx8_h5_type_name(a->type, of_a, sizeof of_a);
    fx8_h5_type_name(b->type, of_b, sizeof of_b);
    return fx8_refuse(error, b->path, b->name, "%s: expected %s as in %s", of_b,
                      of_a, a->path);
}

/* The index of a value, "" of a scalar. */
static void print_index(const struct fx8_h5_item *item, size_t i, char text[48])
{
    text[0] = '\0';
    if (item->rank == 1)
        snprintf(text, 48, "[%zu]", i);
    else if (item->rank == 2)
        snprintf(text, 48, "[%zu, %zu]", i / (size_t)item->extent[1],
                 i % (size_t)item->extent[1]);
}

static enum fx8_status get_numbers(const struct fx8_h5_item *item,
                                   double *values, struct fx8_error *error)
{
    /* HDF5 converts no enumeration to floats */
    const bool is_enum = H5Tget_class(item->type) == H5T_ENUM;
    if (H5Dread(item->id, is_enum ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, item->path, item->name);
    for (size_t i = 0; is_enum && i < count_values(item); i++) {
        int64_t number;
        memcpy(&number, &values[i], sizeof number);
        values[i] = (double)number;
    }
    return FX8_OK;
}

static enum fx8_status match_numbers(const struct fx8_h5_item *a,
                                     const struct fx8_h5_item *b,
                                     struct fx8_error *error)
{
    const size_t n = count_values(a);
    FX8_AUTO_FREE double *of_a = NULL, *of_b = NULL;
    const struct fx8_array arrays[] = {FX8_ITEMS(of_a, n), FX8_ITEMS(of_b, n)};
    FX8_TRY(fx8_h5_check_claim(a, fx8_product(n, sizeof *of_a, 1, 1), error));
    FX8_TRY(fx8_allocate_arrays(arrays, 2, a->name, error));
    FX8_TRY(get_numbers(a, of_a, error));
    FX8_TRY(get_numbers(b, of_b, error));
    for (size_t i = 0; i < n; i++) {
        char index[48];
        const bool same =
            fabs(of_a[i] - of_b[i]) <= 1e-8 + 1e-12 * fabs(of_a[i]) ||
            (isnan(of_a[i]) && isnan(of_b[i]));
        print_index(a, i, index);
        if (!same)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s%s: %.17g: expected %.17g as in %s", b->path,
                            b->name, index, of_b[i], of_a[i], a->path);
    }
    return FX8_OK;
}

/* Bytes of a text in memory. */
static size_t text_width(const struct fx8_h5_item *item)
{
    const size_t stored =
        H5Tis_variable_str(item->type) > 0 ? 0 : H5Tget_size(item->type) + 1;
    return stored > FX8_TEXT_SIZE ? stored : FX8_TEXT_SIZE;
}

static enum fx8_status match_texts(const struct fx8_h5_item *a,
                                   const struct fx8_h5_item *b,
                                   struct fx8_error *error)
{
    const size_t n = count_values(a);
    const size_t width_a = text_width(a), width_b = text_width(b);
    FX8_AUTO_FREE char *of_a = NULL, *of_b = NULL;
    const struct fx8_array arrays[] = {{&of_a, n, width_a},
                                       {&of_b, n, width_b}};
    FX8_TRY(fx8_h5_check_claim(a, fx8_product(n, H5Tget_size(a->type), 1, 1),
                               error));
    FX8_TRY(fx8_allocate_arrays(arrays, 2, a->name, error));
    FX8_TRY(fx8_h5_read_texts(a, n, width_a, of_a, error));
    FX8_TRY(fx8_h5_read_texts(b, n, width_b, of_b, error));
    for (size_t i = 0; i < n; i++) {
        const char *text_a = of_a + i * width_a, *text_b = of_b + i * width_b;
        char index[48];
        print_index(a, i, index);
        if (strcmp(text_a, text_b) != 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s%s: %s: expected %s as in %s", b->path,
                            b->name, index, text_b[0] != '\0' ? text_b : "\"\"",
                            text_a[0] != '\0' ? text_a : "\"\"", a->path);
    }
    return FX8_OK;
}

enum fx8_status fx8_h5_match(const struct fx8_h5_place *a,
                             const struct fx8_h5_place *b, const char *name,
                             struct fx8_error *error)
{
    FX8_H5_AUTO_ITEM of_a = {0}, of_b = {0};
    if (is_empty(a, name) && is_empty(b, name))
        return FX8_OK;
    FX8_TRY(fx8_h5_open_item(a, name, &of_a, error));
    FX8_TRY(fx8_h5_open_item(b, name, &of_b, error));
    const struct fx8_h5_rows rows_a = rows_of(&of_a), rows_b = rows_of(&of_b);
    const bool are_texts = is_text(&of_a) && is_text(&of_b);
    if (!are_texts && !(is_number(&of_a) && is_number(&of_b)))
        return refuse_class(&of_a, &of_b, error);
    if (rows_a.n != rows_b.n || rows_a.columns != rows_b.columns)
        return fx8_refuse(error, b->path, name,
                          "%zu x %zu: expected %zu x %zu as in %s", rows_b.n,
                          rows_b.columns, rows_a.n, rows_a.columns, a->path);
    return are_texts ? match_texts(&of_a, &of_b, error)
                     : match_numbers(&of_a, &of_b, error);
}

/* --- copy ----------------------------------------------------------------- */

/* Create a dataset without a value. */
static enum fx8_status put_empty(const char *name,
                                 const struct fx8_h5_target *to,
                                 struct fx8_error *error)
{
    FX8_H5_AUTO space = H5Screate(H5S_NULL);
    FX8_H5_AUTO dataset = H5Dcreate2(to->object, name, H5T_IEEE_F64LE, space,
                                     H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return dataset < 0 ? fx8_output_fail(to->output, name, error) : FX8_OK;
}

enum fx8_status fx8_h5_copy(const struct fx8_h5_place *from, const char *name,
                            const struct fx8_h5_target *to,
                            struct fx8_error *error)
{
    FX8_H5_AUTO_ITEM item = {0};
    FX8_AUTO_FREE char *bytes = NULL;
    if (is_empty(from, name))
        return put_empty(name, to, error);
    FX8_TRY(fx8_h5_open_item(from, name, &item, error));
    if (!is_text(&item) && !is_number(&item)) {
        char type_name[128];
        fx8_h5_type_name(item.type, type_name, sizeof type_name);
        return fx8_refuse(error, from->path, name,
                          "%s: expected numbers or text", type_name);
    }
    const size_t n = count_values(&item), size = H5Tget_size(item.type);
    FX8_TRY(fx8_h5_check_claim(&item, fx8_product(n, size, 1, 1), error));
    FX8_TRY(fx8_allocate(n, size, name, &bytes, error));
    /* a committed type belongs to its file */
    FX8_H5_AUTO type = H5Tcopy(item.type);
    if (H5Dread(item.id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, from->path, name);
    FX8_H5_AUTO copy = H5Dcreate2(to->object, name, type, item.space,
                                  H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const bool is_written = copy >= 0 && H5Dwrite(copy, type, H5S_ALL, H5S_ALL,
                                                  H5P_DEFAULT, bytes) >= 0;
    if (H5Tis_variable_str(type) > 0)
        H5Dvlen_reclaim(type, item.space, H5P_DEFAULT, bytes);
    return is_written ? FX8_OK : fx8_output_fail(to->output, name, error);
}
