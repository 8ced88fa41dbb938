/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/observation.h"
#include "io/h5/copy.h"

/* Numbers compared at once, if more than a row. */
#define BLOCK_VALUES ((size_t)1 << 16)

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

static bool is_text(const struct fx8_h5_item *item)
{
    return H5Tget_class(item->type) == H5T_STRING;
}

static bool is_number(const struct fx8_h5_item *item)
{
    const H5T_class_t class = H5Tget_class(item->type);
    return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM;
}

/* Rows of a list, with all of its further axes as columns. */
static struct fx8_h5_rows rows_of(const struct fx8_h5_item *item)
{
    return fx8_h5_all(
        (size_t)item->extent[0],
        fx8_product((size_t)item->extent[1], (size_t)item->extent[2], 1, 1));
}

/* --- the same value ------------------------------------------------------- */

/* Value i of two lists, as a text. */
static enum fx8_status refuse_value(const struct fx8_h5_item *a,
                                    const struct fx8_h5_item *b, size_t i,
                                    const char *of_a, const char *of_b,
                                    struct fx8_error *error)
{
    char index[48] = "";
    const size_t columns = rows_of(a).columns;
    if (a->rank == 1)
        snprintf(index, sizeof index, "[%zu]", i);
    else if (a->rank > 1)
        snprintf(index, sizeof index, "[%zu, %zu]", i / columns, i % columns);
    return fx8_fail(error, FX8_ERR_INPUT, "%s: %s%s: %s: expected %s as in %s",
                    b->path, b->name, index, of_b[0] != '\0' ? of_b : "\"\"",
                    of_a[0] != '\0' ? of_a : "\"\"", a->path);
}

/* Read the numbers of n rows from `first` on. */
static enum fx8_status get_numbers(const struct fx8_h5_item *item, size_t first,
                                   size_t n, double *values,
                                   struct fx8_error *error)
{
    /* HDF5 converts no enumeration to floats */
    const bool is_enum = H5Tget_class(item->type) == H5T_ENUM;
    const hid_t type = is_enum ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
    const size_t columns = rows_of(item).columns;
    const hsize_t start[3] = {first, 0, 0};
    const hsize_t count[3] = {n, item->extent[1], item->extent[2]};
    const herr_t result =
        item->rank == 0
            ? H5Dread(item->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values)
            : fx8_h5_read_part(item->id, type, start, count, values);
    for (size_t i = 0; is_enum && i < n * columns; i++) {
        int64_t number;
        memcpy(&number, &values[i], sizeof number);
        values[i] = (double)number;
    }
    return result < 0
               ? fx8_h5_fail(error, FX8_ERR_INPUT, item->path, item->name)
               : FX8_OK;
}

/* Compare n values, the first of which is value `first` of the lists. */
static enum fx8_status match_values(const struct fx8_h5_item *a,
                                    const struct fx8_h5_item *b, size_t first,
                                    size_t n, const double *of_a,
                                    const double *of_b,
                                    struct fx8_h5_tolerance tolerance,
                                    struct fx8_error *error)
{
    double most = 0.0;
    for (size_t i = 0; i < n && tolerance.relative > 0.0; i++)
        most = fmax(most, fabs(of_a[i]));
    most = tolerance.absolute + tolerance.relative * most;
    for (size_t i = 0; i < n; i++) {
        char text_a[32], text_b[32];
        if (fabs(of_a[i] - of_b[i]) <= most || of_a[i] == of_b[i] ||
            (isnan(of_a[i]) && isnan(of_b[i])))
            continue;
        snprintf(text_a, sizeof text_a, "%.17g", of_a[i]);
        snprintf(text_b, sizeof text_b, "%.17g", of_b[i]);
        return refuse_value(a, b, first + i, text_a, text_b, error);
    }
    return FX8_OK;
}

static enum fx8_status match_numbers(const struct fx8_h5_item *a,
                                     const struct fx8_h5_item *b,
                                     struct fx8_h5_tolerance tolerance,
                                     struct fx8_error *error)
{
    const struct fx8_h5_rows rows = rows_of(a);
    const size_t n_block =
        rows.columns < BLOCK_VALUES ? BLOCK_VALUES / (rows.columns + 1) : 1;
    const size_t most = rows.n < n_block ? rows.n : n_block;
    FX8_AUTO_FREE double *of_a = NULL, *of_b = NULL;
    const struct fx8_array arrays[] = {
        {&of_a, most, rows.columns * sizeof *of_a},
        {&of_b, most, rows.columns * sizeof *of_b}};
    FX8_TRY(fx8_h5_check_claim(
        a, fx8_product(rows.n, rows.columns, sizeof *of_a, 1), error));
    FX8_TRY(fx8_allocate_arrays(arrays, 2, a->name, error));
    for (size_t first = 0, n; first < rows.n && rows.columns > 0; first += n) {
        n = rows.n - first < most ? rows.n - first : most;
        FX8_TRY(get_numbers(a, first, n, of_a, error));
        FX8_TRY(get_numbers(b, first, n, of_b, error));
        FX8_TRY(match_values(a, b, first * rows.columns, n * rows.columns, of_a,
                             of_b, tolerance, error));
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
    const size_t n = fx8_product(rows_of(a).n, rows_of(a).columns, 1, 1);
    const size_t width_a = text_width(a), width_b = text_width(b);
    FX8_AUTO_FREE char *of_a = NULL, *of_b = NULL;
    const struct fx8_array arrays[] = {{&of_a, n, width_a},
                                       {&of_b, n, width_b}};
    FX8_TRY(fx8_h5_check_claim(a, fx8_product(n, H5Tget_size(a->type), 1, 1),
                               error));
    FX8_TRY(fx8_allocate_arrays(arrays, 2, a->name, error));
    FX8_TRY(fx8_h5_read_texts(a, n, width_a, of_a, error));
    FX8_TRY(fx8_h5_read_texts(b, n, width_b, of_b, error));
    for (size_t i = 0; i < n; i++)
        if (strcmp(of_a + i * width_a, of_b + i * width_b) != 0)
            return refuse_value(a, b, i, of_a + i * width_a, of_b + i * width_b,
                                error);
    return FX8_OK;
}

enum fx8_status fx8_h5_match(const struct fx8_h5_place *a,
                             const struct fx8_h5_place *b, const char *name,
                             struct fx8_h5_tolerance tolerance,
                             struct fx8_error *error)
{
    FX8_H5_AUTO_ITEM of_a = {0}, of_b = {0};
    if (is_empty(a, name) && is_empty(b, name))
        return FX8_OK;
    FX8_TRY(fx8_h5_open_item(a, name, &of_a, error));
    FX8_TRY(fx8_h5_open_item(b, name, &of_b, error));
    const struct fx8_h5_rows rows_a = rows_of(&of_a), rows_b = rows_of(&of_b);
    const bool are_texts = is_text(&of_a) && is_text(&of_b);
    if (!are_texts && !(is_number(&of_a) && is_number(&of_b))) {
        char type_a[128], type_b[128];
        fx8_h5_type_name(of_a.type, type_a, sizeof type_a);
        fx8_h5_type_name(of_b.type, type_b, sizeof type_b);
        return fx8_refuse(error, b->path, name, "%s: expected %s as in %s",
                          type_b, type_a, a->path);
    }
    if (memcmp(of_a.extent, of_b.extent, sizeof of_a.extent) != 0)
        return fx8_refuse(error, b->path, name,
                          "%zu x %zu: expected %zu x %zu as in %s", rows_b.n,
                          rows_b.columns, rows_a.n, rows_a.columns, a->path);
    return are_texts ? match_texts(&of_a, &of_b, error)
                     : match_numbers(&of_a, &of_b, tolerance, error);
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

enum fx8_status fx8_h5_copy_note(const char *path, hid_t from,
                                 const struct fx8_output *output, hid_t to,
                                 struct fx8_error *error)
{
    static const char name[] = "description";
    const struct fx8_h5_place place = {path, from, true};
    char text[FX8_TEXT_SIZE];
    if (!fx8_h5_has(&place, name))
        return FX8_OK;
    FX8_TRY(fx8_h5_get_texts(&place, name, 1, sizeof text, text, error));
    return fx8_h5_put_note(output, to, name, text, error);
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
    const struct fx8_h5_rows rows = rows_of(&item);
    const size_t n = fx8_product(rows.n, rows.columns, 1, 1);
    const size_t size = H5Tget_size(item.type);
    FX8_TRY(fx8_h5_check_claim(&item, fx8_product(n, size, 1, 1), error));
    FX8_TRY(fx8_allocate(n, size, name, &bytes, error));
    /* a committed type belongs to its file */
    FX8_H5_AUTO type = H5Tcopy(item.type);
    if (H5Dread(item.id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, from->path, name);
    /* a list that could grow there cannot here */
    FX8_H5_AUTO space = item.rank == 0
                            ? H5Scopy(item.space)
                            : H5Screate_simple(item.rank, item.extent, NULL);
    FX8_H5_AUTO copy = H5Dcreate2(to->object, name, type, space, H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT);
    const bool is_written = copy >= 0 && H5Dwrite(copy, type, H5S_ALL, H5S_ALL,
                                                  H5P_DEFAULT, bytes) >= 0;
    if (H5Tis_variable_str(type) > 0)
        H5Dvlen_reclaim(type, item.space, H5P_DEFAULT, bytes);
    return is_written
               ? fx8_h5_copy_note(from->path, item.id, to->output, copy, error)
               : fx8_output_fail(to->output, name, error);
}
