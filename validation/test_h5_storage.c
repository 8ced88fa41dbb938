/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_h5_storage.c -- samples in raw files (external storage) and behind links
 * to other files: files too short, missing, or cut while they are read.
 *
 * Shows (recordings, samples in other files): virtual datasets with sources
 *     named in every way that HDF5 finds them, external storage and links are
 *     read; gaps, and sources that are missing, too small, of other types,
 *     nested or cut, are handled; so is a process with no more files to open
 * Within: what is accepted is read as written; one line
 * In: test_h5_virtual.c, scenario/bad_recordings.py
 */
#include <stdio.h>
#include <unistd.h>

#include "validation/storage_file.h"

/* Raw files: `n` bytes of the samples behind `skip` others. */
static void put_raw(const char *name, size_t skip, size_t first, size_t n)
{
    int8_t bytes[ALL + 16];
    memset(bytes, -1, sizeof bytes);
    for (size_t i = 0; i < n; i++)
        bytes[skip + i] = value((first + i) / COLUMNS, (first + i) % COLUMNS);
    scratch_write(name, bytes, skip + n);
}

/* 1000 bytes in one file, the rest in another. */
static void put_external(const char *first, const char *second, hsize_t size)
{
    const hsize_t extent[2] = {ROWS, COLUMNS};
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, first, 5, 1000);
    H5Pset_external(creation, second, 0, size);
    hid_t space = H5Screate_simple(2, extent, NULL);
    unlink(scratch_path("main.h5"));
    put_layout("main.h5", "v", H5T_STD_I8LE, space, creation);
}

TEST(test_external_storage)
{
    char raw[SCRATCH_PATH_SIZE], raw2[SCRATCH_PATH_SIZE];
    snprintf(raw, sizeof raw, "%s", scratch_path("raw"));
    snprintf(raw2, sizeof raw2, "%s", scratch_path("raw2"));
    static const hsize_t sizes[] = {ALL - 1000, ALL, H5F_UNLIMITED};
    for (size_t i = 0; i < 3; i++) {
        put_raw("raw", 5, 0, 1000);
        put_raw("raw2", 0, 1000, ALL - 1000);
        put_external(raw, raw2, sizes[i]);
        expect_whole("main.h5");
        put_raw("raw", 5, 0, 999);
        refuse_main("raw: 1004 bytes: expected 1000 from offset 5");
        put_raw("raw", 5, 0, 1000);
        put_raw("raw2", 0, 1000, ALL - 1001);
        refuse_main("raw2: 1999 bytes: expected 2000 from offset 0");
        unlink(raw2);
        refuse_main("raw2: No such file");
    }
}

/* One byte less than the dataset; HDF5 makes no such file. */
TEST(test_external_storage_that_is_short)
{
    put_raw("raw", 5, 0, 1000);
    put_raw("raw2", 0, 1000, ALL - 1000);
    put_external(scratch_path("raw"), scratch_path("raw2"), ALL - 1000);
    char bytes[1 << 14];
    const uint64_t size = ALL - 1000, less = size - 1;
    FILE *file = fopen(scratch_path("main.h5"), "rb");
    assert_non_null(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    char *at = memmem(bytes, n, &size, sizeof size);
    assert_non_null(at);
    memcpy(at, &less, sizeof less);
    assert_null(memmem(bytes, n, &size, sizeof size));
    scratch_write("main.h5", bytes, n);
    refuse_main("v: external storage: 1 byte short");
}

TEST(test_raw_file_that_shrinks)
{
    char raw[SCRATCH_PATH_SIZE];
    put_raw("raw", 5, 0, 1000);
    snprintf(raw, sizeof raw, "%s", scratch_path("raw"));
    put_raw("raw2", 0, 1000, ALL - 1000);
    put_external(raw, scratch_path("raw2"), H5F_UNLIMITED);
    struct opened opened;
    struct fx8_error error;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    put_raw("raw", 5, 0, 900);
    expect_shrunk(&opened, 0, 1, "raw has shrunk from 1005 to 905");
    unlink(raw);
    expect_shrunk(&opened, 0, 1, "raw has shrunk from 1005 to 0");
    close_all(&opened);
}

/* Through a link, the file that holds the dataset counts. */
TEST(test_link_to_another_file)
{
    put_source("a.h5", H5T_STD_I8LE, 0, ROWS, false, COLUMNS);
    hid_t file = create_file("main.h5");
    assert_true(H5Lcreate_external("a.h5", "v", file, "v", H5P_DEFAULT,
                                   H5P_DEFAULT) >= 0);
    H5Fclose(file);
    expect_whole("main.h5");
    struct opened opened;
    struct fx8_error error;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    struct stat status;
    assert_int_equal(stat(scratch_path("a.h5"), &status), 0);
    assert_int_equal(fx8_h5_storage_bytes(opened.storage), status.st_size);
    assert_int_equal(truncate(scratch_path("a.h5"), status.st_size - 1), 0);
    expect_shrunk(&opened, 0, 1, "the file has shrunk");
    close_all(&opened);
}

FIXTURE(NULL, remove_files)
