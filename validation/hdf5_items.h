/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_items.h -- attributes and datasets written with HDF5 alone, for files
 * that fx8 would not write.
 */
#ifndef FX8_VALIDATION_HDF5_ITEMS_H
#define FX8_VALIDATION_HDF5_ITEMS_H

#include <stdbool.h>

#include <hdf5.h>

#include "validation/testing.h"

/** Write a scalar attribute of type `type` from a value of type `memory`. */
static inline void put_attribute(hid_t object, const char *name, hid_t type,
                                 hid_t memory, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t id = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(id >= 0);
    assert_true(H5Awrite(id, memory, value) >= 0);
    H5Aclose(id);
    H5Sclose(space);
}

static inline void put_integer(hid_t object, const char *name, hid_t type,
                               int64_t value)
{
    put_attribute(object, name, type, H5T_NATIVE_INT64, &value);
}

static inline void put_real(hid_t object, const char *name, double value)
{
    put_attribute(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

/** Write text of variable length, or of fixed length without a terminator. */
static inline void put_text(hid_t object, const char *name, const char *text,
                            bool variable)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
    H5Tset_strpad(type, variable ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
    put_attribute(object, name, type, type,
                  variable ? (const void *)&text : text);
    H5Tclose(type);
}

/** Make a dataset of `values`, replacing any of that name; NULL: no values are
 *  written.  extent [rank], rank 0: a scalar. */
static inline void put_dataset(hid_t file, const char *name, hid_t type,
                               int rank, const hsize_t *extent, hid_t memory,
                               const void *values)
{
    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        H5Ldelete(file, name, H5P_DEFAULT);
    hid_t space =
        rank > 0 ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (values != NULL)
        assert_true(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                             values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

#endif
