/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storage_file.h -- datasets stored outside the file that is opened.  Accepted
 * ones are read as written; where HDF5 would fill in zeros, fx8 refuses in one
 * line.
 */
#ifndef FX8_VALIDATION_STORAGE_FILE_H
#define FX8_VALIDATION_STORAGE_FILE_H

#include "io/h5/h5.h"
#include "io/h5/storage.h"
#include "validation/hdf5_items.h"
#include "validation/scratch.h"

enum { ROWS = 6, COLUMNS = 500, CHUNK = 100, ALL = ROWS * COLUMNS };

/** Never zero: HDF5 fills with zeros. */
static inline int8_t value(size_t row, size_t column)
{
    return (int8_t)(1 + (row * 31 + column * 7) % 120);
}

/* --- files to read -------------------------------------------------------- */

/** Write rows [first, first + n) as dataset "v" of a new file; only the chunks
 *  before `written` columns are written. */
static inline void put_source(const char *name, hid_t type, size_t first,
                              size_t n, bool is_chunked, size_t written)
{
    int8_t samples[ALL];
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < written; c++)
            samples[r * written + c] = value(first + r, c);
    const hsize_t extent[2] = {n, COLUMNS}, chunk[2] = {1, CHUNK};
    const hsize_t start[2] = {0, 0}, count[2] = {n, written};
    hid_t file = create_file(name);
    hid_t dataset = create_dataset(file, "v", type, 2, extent, NULL,
                                   is_chunked ? chunk : NULL, false);
    if (H5Tget_class(type) == H5T_INTEGER && written > 0)
        write_part(dataset, H5T_NATIVE_INT8, 2, start, count, samples);
    H5Dclose(dataset);
    H5Fclose(file);
}

/** Make a dataset from the properties in `creation`, without values, in a new
 *  or existing file.  Closes both handles. */
static inline void put_layout(const char *name, const char *dataset_name,
                              hid_t type, hid_t space, hid_t creation)
{
    const char *path = scratch_path(name);
    hid_t file = scratch_exists(name)
                     ? H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT)
                     : H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(file, dataset_name, type, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Sclose(space);
    H5Pclose(creation);
}

/* --- reading them --------------------------------------------------------- */

/** A dataset "v", opened as a reader does. */
struct opened {
    char path[SCRATCH_PATH_SIZE];
    hid_t file, dataset;
    struct fx8_h5_storage *storage;
};

static inline enum fx8_status open_storage(const char *name, uint64_t n_rows,
                                           struct opened *opened,
                                           struct fx8_error *error)
{
    *opened = (struct opened){.file = FX8_H5_NONE, .dataset = FX8_H5_NONE};
    snprintf(opened->path, sizeof opened->path, "%s", scratch_path(name));
    must(fx8_h5_open_file(opened->path, &opened->file, error), *error);
    must(fx8_h5_open_dataset(opened->path, opened->file, "v", H5P_DEFAULT,
                             &opened->dataset, error),
         *error);
    return fx8_h5_storage_open(opened->path, "v", opened->dataset, n_rows,
                               &opened->storage, error);
}

static inline void close_all(struct opened *opened)
{
    fx8_h5_storage_close(&opened->storage);
    assert_null(opened->storage);
    fx8_h5_close(&opened->dataset);
    fx8_h5_close(&opened->file);
}

/** Compare the first rows with what was written. */
static inline void check_values(const struct opened *opened, size_t n_rows)
{
    int8_t samples[ALL];
    const hsize_t start[2] = {0, 0}, count[2] = {n_rows, COLUMNS};
    hid_t space = H5Dget_space(opened->dataset);
    hid_t memory = H5Screate_simple(2, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    assert_true(H5Dread(opened->dataset, H5T_NATIVE_INT8, memory, space,
                        H5P_DEFAULT, samples) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    for (size_t r = 0; r < n_rows; r++)
        for (size_t c = 0; c < COLUMNS; c++)
            assert_int_equal(samples[r * COLUMNS + c], value(r, c));
}

static inline enum fx8_status check_uncut(const struct opened *opened,
                                          int64_t first, int64_t n,
                                          struct fx8_error *error)
{
    return fx8_h5_check_uncut(opened->storage, opened->path, "v", first, n,
                              FX8_OK, error);
}

static inline void expect_whole_rows(const char *name, size_t n_rows)
{
    struct opened opened;
    struct fx8_error error;
    must(open_storage(name, n_rows, &opened, &error), error);
    check_values(&opened, n_rows);
    must(check_uncut(&opened, 0, 1, &error), error);
    close_all(&opened);
}

static inline void expect_whole(const char *name)
{
    expect_whole_rows(name, ROWS);
}

static inline void refuse_storage(const char *name, const char *part)
{
    struct opened opened;
    struct fx8_error error;
    must_fail_with(open_storage(name, UINT64_MAX, &opened, &error), error,
                   FX8_ERR_INPUT, part);
    assert_memory_equal(error.message, opened.path, strlen(opened.path));
    assert_null(opened.storage);
    close_all(&opened);
}

static inline void refuse_main(const char *part)
{
    refuse_storage("main.h5", part);
}

static inline void expect_shrunk(const struct opened *opened, int64_t first,
                                 int64_t n, const char *part)
{
    struct fx8_error error;
    must_fail_with(check_uncut(opened, first, n, &error), error, FX8_ERR_INPUT,
                   part);
}

/** Begin a case with an empty folder, and one called "away" in it. */
static inline int remove_files(void **state)
{
    (void)state;
    scratch_remove();
    mkdir(scratch_folder(), 0700);
    mkdir(scratch_path("away"), 0700);
    return 0;
}

#endif
