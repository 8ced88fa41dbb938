/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_items.h -- files, attributes and datasets written with HDF5 alone, in
 * the ways in which other programs write them.
 */
#ifndef FX8_VALIDATION_HDF5_ITEMS_H
#define FX8_VALIDATION_HDF5_ITEMS_H

#include <stdbool.h>
#include <stdio.h>

#include <hdf5.h>

#include "validation/scratch.h"
#include "validation/testing.h"

/** A new file in the scratch folder. */
static inline hid_t create_file(const char *name)
{
    hid_t file =
        H5Fcreate(scratch_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

/** An existing file, to be changed. */
static inline hid_t reopen(const char *name)
{
    hid_t file = H5Fopen(scratch_path(name), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

/* An item is "PATH", or "PATH@NAME" for an attribute of PATH; "@NAME" is one of
 * the file. */

/** Its path; returns the name of the attribute, or NULL. */
static inline const char *split_item(const char *item, char path[128])
{
    const char *at = strchr(item, '@');
    const int length = at != NULL ? (int)(at - item) : (int)strlen(item);
    snprintf(path, 128, "%.*s", length, item);
    if (length == 0)
        strcpy(path, "/");
    return at != NULL ? at + 1 : NULL;
}

/** Remove an item if it is there. */
static inline void remove_item(hid_t file, const char *item)
{
    char path[128];
    const char *name = split_item(item, path);
    if (name == NULL && H5Lexists(file, path, H5P_DEFAULT) > 0)
        H5Ldelete(file, path, H5P_DEFAULT);
    if (name != NULL && H5Aexists_by_name(file, path, name, H5P_DEFAULT) > 0)
        H5Adelete_by_name(file, path, name, H5P_DEFAULT);
}

/** Put `values`, of type `memory`, in place of any item of that name; NULL: no
 *  values are written.  extent [rank]; rank 0: a scalar; -1: no element. */
static inline void put_item(hid_t file, const char *item, hid_t type, int rank,
                            const hsize_t *extent, hid_t memory,
                            const void *values)
{
    char path[128];
    const char *name = split_item(item, path);
    remove_item(file, item);
    hid_t space = rank > 0    ? H5Screate_simple(rank, extent, NULL)
                  : rank == 0 ? H5Screate(H5S_SCALAR)
                              : H5Screate(H5S_NULL);
    hid_t id = name == NULL
                   ? H5Dcreate2(file, path, type, space, H5P_DEFAULT,
                                H5P_DEFAULT, H5P_DEFAULT)
                   : H5Acreate_by_name(file, path, name, type, space,
                                       H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(id >= 0);
    assert_true(values == NULL ||
                (name == NULL ? H5Dwrite(id, memory, H5S_ALL, H5S_ALL,
                                         H5P_DEFAULT, values)
                              : H5Awrite(id, memory, values)) >= 0);
    if (name == NULL)
        H5Dclose(id);
    else
        H5Aclose(id);
    H5Sclose(space);
}

/** A scalar of any type of number. */
static inline void put_number(hid_t file, const char *item, hid_t type,
                              double value)
{
    put_item(file, item, type, 0, NULL, H5T_NATIVE_DOUBLE, &value);
}

/** A text of variable length, rank 0 or 1. */
static inline void put_text(hid_t file, const char *item, int rank,
                            const char *text)
{
    const hsize_t one = 1;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    put_item(file, item, type, rank, &one, type, &text);
    H5Tclose(type);
}

/** A text of fixed length, without a terminator. */
static inline void put_fixed_text(hid_t file, const char *item,
                                  const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text));
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    put_item(file, item, type, 0, NULL, type, text);
    H5Tclose(type);
}

/** A compound of two numbers; the caller closes it. */
static inline hid_t pair_type(const char *first, const char *second, hid_t part)
{
    const size_t size = H5Tget_size(part);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * size);
    H5Tinsert(type, first, 0, part);
    H5Tinsert(type, second, size, part);
    return type;
}

/** A new dataset, open: contiguous, or in chunks, packed or not; NULL: no
 *  chunks.  extent, most, chunk [rank]. */
static inline hid_t create_dataset(hid_t file, const char *name, hid_t type,
                                   int rank, const hsize_t *extent,
                                   const hsize_t *most, const hsize_t *chunk,
                                   bool is_packed)
{
    hid_t space = H5Screate_simple(rank, extent, most);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk != NULL)
        H5Pset_chunk(creation, rank, chunk);
    if (is_packed)
        H5Pset_deflate(creation, 1);
    hid_t dataset =
        H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

/** Write values of type `memory` to elements [start, start + count). */
static inline void write_part(hid_t dataset, hid_t memory, int rank,
                              const hsize_t *start, const hsize_t *count,
                              const void *values)
{
    hid_t space = H5Dget_space(dataset);
    hid_t part = H5Screate_simple(rank, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    assert_true(H5Dwrite(dataset, memory, part, space, H5P_DEFAULT, values) >=
                0);
    H5Sclose(part);
    H5Sclose(space);
}

#endif
