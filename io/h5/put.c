/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "io/h5/h5.h"
#include "io/h5/put.h"

enum fx8_status fx8_h5_put_array(const struct fx8_h5_target *target,
                                 const char *name, hid_t file_type,
                                 hid_t memory_type, int rank,
                                 const hsize_t *extent, const void *values,
                                 struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    hid_t item = FX8_H5_NONE;
    hid_t space =
        rank > 0 ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
    if (space < 0)
        status = fx8_output_fail(target->output, name, error);
    if (status == FX8_OK) {
        item = target->attributes
                   ? H5Acreate2(target->object, name, file_type, space,
                                H5P_DEFAULT, H5P_DEFAULT)
                   : H5Dcreate2(target->object, name, file_type, space,
                                H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (item < 0 ||
            (target->attributes ? H5Awrite(item, memory_type, values)
                                : H5Dwrite(item, memory_type, H5S_ALL, H5S_ALL,
                                           H5P_DEFAULT, values)) < 0)
            status = fx8_output_fail(target->output, name, error);
    }
    fx8_h5_close(&item);
    fx8_h5_close(&space);
    return status;
}

enum fx8_status fx8_h5_put_integer(const struct fx8_h5_target *target,
                                   const char *name, int64_t value,
                                   struct fx8_error *error)
{
    return fx8_h5_put_array(target, name, H5T_STD_I64LE, H5T_NATIVE_INT64, 0,
                            NULL, &value, error);
}

enum fx8_status fx8_h5_put_unsigned(const struct fx8_h5_target *target,
                                    const char *name, uint64_t value,
                                    struct fx8_error *error)
{
    return fx8_h5_put_array(target, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, 0,
                            NULL, &value, error);
}

enum fx8_status fx8_h5_put_real(const struct fx8_h5_target *target,
                                const char *name, double value,
                                struct fx8_error *error)
{
    return fx8_h5_put_array(target, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 0,
                            NULL, &value, error);
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

enum fx8_status fx8_h5_put_bool(const struct fx8_h5_target *target,
                                const char *name, bool value,
                                struct fx8_error *error)
{
    hid_t type = fx8_h5_bool_type();
    const int8_t number = value ? 1 : 0;
    const enum fx8_status status =
        type < 0 ? fx8_output_fail(target->output, name, error)
                 : fx8_h5_put_array(target, name, type, type, 0, NULL, &number,
                                    error);
    fx8_h5_close(&type);
    return status;
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

enum fx8_status fx8_h5_put_text(const struct fx8_h5_target *target,
                                const char *name, const char *text,
                                struct fx8_error *error)
{
    const size_t length = strlen(text);
    hid_t type = text_type(length > 0 ? length : 1, H5T_STR_NULLPAD);
    const enum fx8_status status =
        type < 0
            ? fx8_output_fail(target->output, name, error)
            : fx8_h5_put_array(target, name, type, type, 0, NULL, text, error);
    fx8_h5_close(&type);
    return status;
}

enum fx8_status fx8_h5_put_texts(const struct fx8_h5_target *target,
                                 const char *name, int rank,
                                 const hsize_t *extent, size_t width,
                                 const char *texts, struct fx8_error *error)
{
    hid_t type = text_type(width, H5T_STR_NULLPAD);
    const enum fx8_status status =
        type < 0 ? fx8_output_fail(target->output, name, error)
                 : fx8_h5_put_array(target, name, type, type, rank, extent,
                                    texts, error);
    fx8_h5_close(&type);
    return status;
}

enum fx8_status fx8_h5_put_variable_texts(const struct fx8_h5_target *target,
                                          const char *name, size_t n,
                                          const char *const *texts,
                                          struct fx8_error *error)
{
    hid_t type = text_type(H5T_VARIABLE, H5T_STR_NULLTERM);
    const hsize_t extent = n;
    const enum fx8_status status =
        type < 0 ? fx8_output_fail(target->output, name, error)
                 : fx8_h5_put_array(target, name, type, type, 1, &extent, texts,
                                    error);
    fx8_h5_close(&type);
    return status;
}

enum fx8_status fx8_h5_put_group(const struct fx8_h5_target *target,
                                 const char *name, hid_t *group,
                                 struct fx8_error *error)
{
    *group =
        H5Gcreate2(target->object, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (*group < 0)
        return fx8_output_fail(target->output, name, error);
    return FX8_OK;
}
