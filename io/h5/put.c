/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/base/try.h"
#include "io/h5/filters.h"
#include "io/h5/put.h"

/* Write an array of any type; rank 0 is a scalar. */
static enum fx8_status put_array(const struct fx8_h5_target *target,
                                 const char *name, hid_t file_type,
                                 hid_t memory_type, int rank,
                                 const hsize_t *extent, const void *values,
                                 struct fx8_error *error)
{
    FX8_H5_AUTO item = FX8_H5_NONE;
    FX8_H5_AUTO space =
        rank > 0 ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
    if (space < 0)
        return fx8_output_fail(target->output, name, error);
    item = target->attributes
               ? H5Acreate2(target->object, name, file_type, space, H5P_DEFAULT,
                            H5P_DEFAULT)
               : H5Dcreate2(target->object, name, file_type, space, H5P_DEFAULT,
                            H5P_DEFAULT, H5P_DEFAULT);
    if (item < 0 ||
        (target->attributes ? H5Awrite(item, memory_type, values)
                            : H5Dwrite(item, memory_type, H5S_ALL, H5S_ALL,
                                       H5P_DEFAULT, values)) < 0)
        return fx8_output_fail(target->output, name, error);
    return FX8_OK;
}

hid_t fx8_h5_bool_type(void)
{
    hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    const int8_t no = 0;
    const int8_t yes = 1;
    if (type >= 0 && H5Tenum_insert(type, "FALSE", &no) >= 0 &&
        H5Tenum_insert(type, "TRUE", &yes) >= 0)
        return type;
    fx8_h5_close(&type);
    return FX8_H5_NONE;
}

/* ASCII type of `size` bytes with the given padding. */
static hid_t text_type(size_t size, H5T_str_t padding)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && H5Tset_size(type, size) >= 0 &&
        H5Tset_strpad(type, padding) >= 0)
        return type;
    fx8_h5_close(&type);
    return FX8_H5_NONE;
}

/* Types of a kind in memory and in the file; both are the caller's. */
static void make_types(const struct fx8_h5_value *value, hid_t *memory,
                       hid_t *file)
{
    const size_t length = value->text != NULL ? strlen(value->text) : 0;
    const hid_t stored[] = {
        [FX8_H5_INTEGER] = H5T_STD_I64LE, [FX8_H5_UNSIGNED] = H5T_STD_U64LE,
        [FX8_H5_INT] = H5T_STD_I64LE,     [FX8_H5_BYTE] = H5T_STD_U8LE,
        [FX8_H5_REAL] = H5T_IEEE_F64LE,
    };
    if (value->kind == FX8_H5_TEXT) {
        const size_t size = value->list != NULL ? value->width : length;
        *memory = text_type(size > 0 ? size : 1, H5T_STR_NULLPAD);
        *file = H5Tcopy(*memory);
    } else if (value->kind == FX8_H5_BOOL) {
        *memory = fx8_h5_bool_type();
        *file = H5Tcopy(*memory);
    } else {
        *memory = H5Tcopy(fx8_h5_native_type(value->kind));
        *file = H5Tcopy(stored[value->kind]);
    }
}

static enum fx8_status put_value(const struct fx8_h5_target *target,
                                 const struct fx8_h5_value *value,
                                 struct fx8_error *error)
{
    const int8_t byte = (int8_t)value->integer; /* kinds of one byte */
    const void *scalar = value->kind == FX8_H5_TEXT ? value->text
                         : value->kind == FX8_H5_REAL
                             ? (const void *)&value->real
                         : value->kind >= FX8_H5_BYTE ? (const void *)&byte
                                                      : &value->integer;
    const void *data = value->list != NULL ? value->list : scalar;
    FX8_H5_AUTO memory = FX8_H5_NONE, file = FX8_H5_NONE;
    if (data == NULL)
        return FX8_OK;
    make_types(value, &memory, &file);
    return memory < 0 || file < 0
               ? fx8_output_fail(target->output, value->name, error)
               : put_array(target, value->name, file, memory, value->rank,
                           value->extent, data, error);
}

enum fx8_status fx8_h5_put_values(const struct fx8_h5_target *target,
                                  const struct fx8_h5_value *values, size_t n,
                                  struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++)
        FX8_TRY(put_value(target, &values[i], error));
    return FX8_OK;
}

enum fx8_status fx8_h5_put_note(const struct fx8_output *output, hid_t object,
                                const char *name, const char *text,
                                struct fx8_error *error)
{
    const struct fx8_h5_target target = {output, object, true};
    const struct fx8_h5_value value = {.name = name, .text = text};
    return put_value(&target, &value, error);
}

enum fx8_status fx8_h5_put_described(const struct fx8_h5_target *target,
                                     const struct fx8_h5_value *value,
                                     const char *text, struct fx8_error *error)
{
    FX8_TRY(put_value(target, value, error));
    FX8_H5_AUTO dataset = H5Dopen2(target->object, value->name, H5P_DEFAULT);
    return dataset < 0 ? fx8_output_fail(target->output, value->name, error)
                       : fx8_h5_put_note(target->output, dataset, "description",
                                         text, error);
}

enum fx8_status fx8_h5_put_variable_texts(const struct fx8_h5_target *target,
                                          const char *name, size_t n,
                                          const char *const *texts,
                                          struct fx8_error *error)
{
    FX8_H5_AUTO type = text_type(H5T_VARIABLE, H5T_STR_NULLTERM);
    const hsize_t extent = n;
    return type < 0
               ? fx8_output_fail(target->output, name, error)
               : put_array(target, name, type, type, 1, &extent, texts, error);
}

enum fx8_status fx8_h5_put_table(const struct fx8_h5_target *target,
                                 const char *name,
                                 const struct fx8_h5_member *members,
                                 size_t n_members, size_t row_bytes,
                                 size_t n_rows, const void *rows,
                                 struct fx8_error *error)
{
    const hsize_t extent = n_rows;
    FX8_H5_AUTO row = H5Tcreate(H5T_COMPOUND, row_bytes);
    bool good = row >= 0;
    for (size_t i = 0; i < n_members && good; i++) {
        hid_t type = members[i].kind == FX8_H5_TEXT
                         ? text_type(members[i].width, H5T_STR_NULLTERM)
                         : H5Tcopy(fx8_h5_native_type(members[i].kind));
        good = H5Tinsert(row, members[i].name, members[i].offset, type) >= 0;
        fx8_h5_close(&type);
    }
    FX8_H5_AUTO packed = good ? H5Tcopy(row) : FX8_H5_NONE;
    return packed < 0 || H5Tpack(packed) < 0
               ? fx8_output_fail(target->output, name, error)
               : put_array(target, name, packed, row, 1, &extent, rows, error);
}

/* Set chunks and filters. */
static bool set_chunks(const struct fx8_h5_layout *layout, hid_t creation)
{
    static const unsigned values[2] = {0, FX8_H5_BITSHUFFLE_LZ4};
    return layout->chunk == NULL ||
           (H5Pset_chunk(creation, layout->rank, layout->chunk) >= 0 &&
            (!layout->shuffle || H5Pset_shuffle(creation) >= 0) &&
            (layout->deflate == 0 ||
             H5Pset_deflate(creation, layout->deflate) >= 0) &&
            (!layout->bitshuffle ||
             H5Pset_filter(creation, FX8_H5_BITSHUFFLE, H5Z_FLAG_MANDATORY, 2,
                           values) >= 0));
}

enum fx8_status fx8_h5_create(const struct fx8_output *output, hid_t group,
                              const struct fx8_h5_layout *layout,
                              hid_t *dataset, struct fx8_error *error)
{
    FX8_H5_AUTO space =
        H5Screate_simple(layout->rank, layout->extent, layout->most);
    FX8_H5_AUTO creation = H5Pcreate(H5P_DATASET_CREATE);
    FX8_H5_AUTO access = H5Pcreate(H5P_DATASET_ACCESS);
    if (space < 0 || creation < 0 || access < 0 ||
        !set_chunks(layout, creation) ||
        (layout->is_reserved &&
         (H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) < 0 ||
          (layout->fill == NULL && /* a hole reads as zeros already */
           H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) < 0))) ||
        (layout->fill != NULL &&
         H5Pset_fill_value(creation, layout->type, layout->fill) < 0) ||
        (layout->n_slots > 0 &&
         H5Pset_chunk_cache(access, layout->n_slots, layout->cache_bytes, 1.0) <
             0) ||
        (*dataset = H5Lexists(group, layout->name, H5P_DEFAULT) > 0
                        ? H5Dopen2(group, layout->name, access)
                        : H5Dcreate2(group, layout->name, layout->type, space,
                                     H5P_DEFAULT, creation, access)) < 0)
        return fx8_output_fail(output, layout->name, error);
    return FX8_OK;
}

enum fx8_status fx8_h5_put_group(const struct fx8_h5_target *target,
                                 const char *name, hid_t *group,
                                 struct fx8_error *error)
{
    *group = H5Lexists(target->object, name, H5P_DEFAULT) > 0
                 ? H5Gopen2(target->object, name, H5P_DEFAULT)
                 : H5Gcreate2(target->object, name, H5P_DEFAULT, H5P_DEFAULT,
                              H5P_DEFAULT);
    if (*group < 0)
        return fx8_output_fail(target->output, name, error);
    return FX8_OK;
}
