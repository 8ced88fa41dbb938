/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_h5_storage.c -- datasets that lie elsewhere: virtual ones, external
 * storage, links to other files.  What passes is read by HDF5 as it was
 * written; where HDF5 would make zeros up, one line says so.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/h5/h5.h"
#include "io/h5/storage.h"
#include "validation/hdf5_items.h"
#include "validation/scratch.h"

enum { ROWS = 6, COLUMNS = 500, CHUNK = 100, ALL = ROWS * COLUMNS };

/* Never zero, which is what HDF5 fills with. */
static int8_t value(size_t row, size_t column)
{
    return (int8_t)(1 + (row * 31 + column * 7) % 120);
}

/* --- files to read -------------------------------------------------------- */

/* Rows [first, first + n) as dataset "v" of a new file; of the chunks only
 * those before `written` columns. */
static void put_source(const char *name, hid_t type, size_t first, size_t n,
                       bool is_chunked, size_t written)
{
    int8_t samples[ALL];
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < COLUMNS; c++)
            samples[r * COLUMNS + c] = value(first + r, c);
    const hsize_t extent[2] = {n, COLUMNS}, chunk[2] = {1, CHUNK};
    const hsize_t start[2] = {0, 0}, count[2] = {n, written};
    hid_t file =
        H5Fcreate(scratch_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (is_chunked)
        H5Pset_chunk(creation, 2, chunk);
    hid_t space = H5Screate_simple(2, extent, NULL);
    hid_t dataset =
        H5Dcreate2(file, "v", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    hid_t memory = H5Scopy(space);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Sselect_hyperslab(memory, H5S_SELECT_SET, start, NULL, count, NULL);
    if (H5Tget_class(type) == H5T_INTEGER && written > 0)
        assert_true(H5Dwrite(dataset, H5T_NATIVE_INT8, memory, space,
                             H5P_DEFAULT, samples) >= 0);
    H5Sclose(memory);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(creation);
    H5Fclose(file);
}

/* Columns [first, end) of rows [row, row + n): the whole source, or the same
 * columns of its first rows. */
struct mapping {
    const char *file;
    const char *dataset;
    size_t row, n, first, end;
    bool is_whole;
};

static void put_virtual(const char *name, const char *dataset_name,
                        const struct mapping *mappings, size_t n)
{
    const hsize_t extent[2] = {ROWS, COLUMNS};
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, extent, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct mapping *m = &mappings[i];
        const hsize_t start[2] = {m->row, m->first};
        const hsize_t from[2] = {0, m->first};
        const hsize_t count[2] = {m->n, m->end - m->first};
        const hsize_t whole[2] = {m->n, COLUMNS};
        hid_t source = H5Screate_simple(2, whole, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        if (!m->is_whole)
            H5Sselect_hyperslab(source, H5S_SELECT_SET, from, NULL, count,
                                NULL);
        assert_true(
            H5Pset_virtual(creation, space, m->file, m->dataset, source) >= 0);
        H5Sclose(source);
    }
    H5Sselect_all(space);
    const bool is_new = !scratch_exists(name);
    hid_t file = is_new
                     ? H5Fcreate(scratch_path(name), H5F_ACC_EXCL, H5P_DEFAULT,
                                 H5P_DEFAULT)
                     : H5Fopen(scratch_path(name), H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(file, dataset_name, H5T_STD_I8LE, space,
                               H5P_DEFAULT, creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Sclose(space);
    H5Pclose(creation);
}

/* --- what comes of them --------------------------------------------------- */

/* A dataset "v" as a reader has it. */
struct opened {
    char path[SCRATCH_PATH_SIZE];
    hid_t file, dataset;
    struct fx8_h5_storage *storage;
};

static enum fx8_status open_storage(const char *name, uint64_t n_rows,
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

static void close_all(struct opened *opened)
{
    fx8_h5_storage_close(&opened->storage);
    assert_null(opened->storage);
    fx8_h5_close(&opened->dataset);
    fx8_h5_close(&opened->file);
}

/* The first rows, against what was written. */
static void check_values(const struct opened *opened, size_t n_rows)
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

static void expect_whole_rows(const char *name, size_t n_rows)
{
    struct opened opened;
    struct fx8_error error;
    must(open_storage(name, n_rows, &opened, &error), error);
    check_values(&opened, n_rows);
    must(fx8_h5_check_uncut(opened.storage, opened.path, "v", 0, 1, FX8_OK,
                            &error),
         error);
    close_all(&opened);
}

static void expect_whole(const char *name)
{
    expect_whole_rows(name, ROWS);
}

static void expect_refused(const char *name, enum fx8_status status,
                           const char *part)
{
    struct opened opened;
    struct fx8_error error;
    must_fail_with(open_storage(name, UINT64_MAX, &opened, &error), error,
                   status, part);
    assert_memory_equal(error.message, opened.path, strlen(opened.path));
    assert_null(opened.storage);
    close_all(&opened);
}

static int remove_files(void **state)
{
    (void)state;
    static const char *const names[] = {
        "main.h5", "a.h5",   "b.h5",    "c.h5",      "raw",
        "raw2",    "50%.h5", "link.h5", "away/b.h5", "away/main.h5"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(scratch_path(names[i]));
    mkdir(scratch_path("away"), 0777);
    return 0;
}

/* Two sources, three rows each. */
static void put_sources(bool is_chunked)
{
    put_source("a.h5", H5T_STD_I8LE, 0, 3, is_chunked, COLUMNS);
    put_source("b.h5", H5T_STD_I8LE, 3, 3, is_chunked, COLUMNS);
}

static const struct mapping halves[2] = {
    {"a.h5", "v", 0, 3, 0, COLUMNS, true},
    {"b.h5", "v", 3, 3, 0, COLUMNS, false}};

/* --- virtual datasets ----------------------------------------------------- */

static void test_joined_antennas(void **state)
{
    (void)state;
    put_sources(false);
    put_virtual("main.h5", "v", halves, 2);
    expect_whole("main.h5");
    put_sources(true);
    expect_whole("main.h5");
}

/* Pieces in any order, some twice, and a stride of one column. */
static void test_many_mappings(void **state)
{
    (void)state;
    put_sources(false);
    struct mapping mappings[200];
    size_t n = 0;
    for (size_t i = 0; i < 100; i++) {
        const size_t first = i * 37 % 100 * 5;
        const size_t end = first + (i % 3 == 0 && first < 490 ? 9 : 5);
        for (size_t half = 0; half < 2; half++)
            mappings[n++] = (struct mapping){half == 0 ? "a.h5" : "b.h5",
                                             "v",
                                             3 * half,
                                             3,
                                             first,
                                             end,
                                             false};
    }
    put_virtual("main.h5", "v", mappings, n);
    expect_whole("main.h5");
    unlink(scratch_path("main.h5"));
    put_virtual("main.h5", "v", mappings, n - 1);
    expect_refused("main.h5", FX8_ERR_INPUT,
                   "v: element (3, 315) has no source: expected a virtual "
                   "dataset that is mapped throughout");
}

static void test_names_of_sources(void **state)
{
    (void)state;
    put_sources(false);
    char absolute[SCRATCH_PATH_SIZE], gone[SCRATCH_PATH_SIZE];
    snprintf(absolute, sizeof absolute, "%s", scratch_path("b.h5"));
    snprintf(gone, sizeof gone, "%s", "/nowhere at all/b.h5");
    const char *const names[] = {absolute, gone, "b.h5"};
    for (size_t i = 0; i < 3; i++) {
        struct mapping mappings[2] = {halves[0], halves[1]};
        mappings[1].file = names[i];
        unlink(scratch_path("main.h5"));
        put_virtual("main.h5", "v", mappings, 2);
        expect_whole("main.h5");
    }
    rename(scratch_path("b.h5"), scratch_path("away/b.h5"));
    expect_refused("main.h5", FX8_ERR_INPUT,
                   "v: source b.h5: missing: expected the file beside the "
                   "virtual dataset, or in HDF5_VDS_PREFIX");
    /* beside the file that a link means */
    rename(scratch_path("main.h5"), scratch_path("away/main.h5"));
    rename(scratch_path("a.h5"), scratch_path("away/a.h5"));
    assert_int_equal(
        symlink(scratch_path("away/main.h5"), scratch_path("link.h5")), 0);
    expect_whole("link.h5");
    rename(scratch_path("away/a.h5"), scratch_path("a.h5"));
}

static void test_percent_in_a_name(void **state)
{
    (void)state;
    put_sources(false);
    rename(scratch_path("b.h5"), scratch_path("50%.h5"));
    struct mapping mappings[2] = {halves[0], halves[1]};
    mappings[1].file = "50%%.h5";
    put_virtual("main.h5", "v", mappings, 2);
    expect_whole("main.h5");
}

/* A virtual dataset of a virtual one, and of its own file. */
static void test_sources_that_are_virtual(void **state)
{
    (void)state;
    static const struct mapping all = {"c.h5", "w", 0, ROWS, 0, COLUMNS, true};
    static const struct mapping own = {".", "w", 0, ROWS, 0, COLUMNS, true};
    put_sources(false);
    put_virtual("c.h5", "w", halves, 2);
    put_virtual("main.h5", "v", &all, 1);
    expect_whole("main.h5");
    put_virtual("c.h5", "v", &own, 1);
    expect_whole("c.h5");
    unlink(scratch_path("b.h5"));
    expect_refused("main.h5", FX8_ERR_INPUT,
                   "v: c.h5: w: source b.h5: missing");
}

static void test_sources_without_an_end(void **state)
{
    (void)state;
    static const struct mapping self = {".", "v", 0, ROWS, 0, COLUMNS, true};
    put_virtual("main.h5", "v", &self, 1);
    expect_refused("main.h5", FX8_ERR_INPUT, "more than 8 virtual datasets");
}

/* HDF5 does not open a file a second time with other properties. */
static void test_source_that_is_open_otherwise(void **state)
{
    (void)state;
    put_sources(false);
    put_virtual("main.h5", "v", halves, 2);
    hid_t file = FX8_H5_NONE;
    struct fx8_error error;
    must(fx8_h5_open_file(scratch_path("a.h5"), &file, &error), error);
    expect_refused("main.h5", FX8_ERR_INPUT, "a.h5: HDF5 file:");
    fx8_h5_close(&file);
    expect_whole("main.h5");
}

/* A mapping that grows with its source. */
static void test_mapping_without_an_end(void **state)
{
    (void)state;
    put_sources(false);
    const hsize_t extent[2] = {ROWS, COLUMNS},
                  most[2] = {H5S_UNLIMITED, COLUMNS};
    const hsize_t start[2] = {0, 0}, one[2] = {1, 1};
    const hsize_t block[2] = {H5S_UNLIMITED, COLUMNS};
    hid_t space = H5Screate_simple(2, extent, most);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, block);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_virtual(creation, space, "a.h5", "v", space) >= 0);
    hid_t file = H5Fcreate(scratch_path("main.h5"), H5F_ACC_TRUNC, H5P_DEFAULT,
                           H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(file, "v", H5T_STD_I8LE, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Pclose(creation);
    H5Sclose(space);
    expect_refused("main.h5", FX8_ERR_INPUT, "v: a mapping without an end");
}

static void test_bad_sources(void **state)
{
    (void)state;
    hid_t pair = H5Tcreate(H5T_COMPOUND, 1);
    H5Tinsert(pair, "r", 0, H5T_NATIVE_INT8);
    const struct {
        hid_t type;
        size_t n_rows, written;
        bool is_chunked;
        const char *expected;
    } cases[] = {
        {H5T_STD_I8LE, 3, 400, true, "v: b.h5: v: 3 of 15 chunks were never"},
        {H5T_STD_I8LE, 3, 0, false, "v: b.h5: v: never written"},
        {H5T_STD_I8LE, 2, COLUMNS, false, "v: b.h5: v: not of the size"},
        {H5T_STD_I16LE, 3, COLUMNS, false, "v: b.h5: v: int16: expected int8"},
        {H5T_STD_U8LE, 3, COLUMNS, false, "v: b.h5: v: uint8: expected int8"},
        {pair, 3, COLUMNS, false, "compound {r: int8}: expected int8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int is_whole = 0; is_whole < 2; is_whole++) {
            struct mapping mappings[2] = {halves[0], halves[1]};
            mappings[1].is_whole = is_whole != 0;
            remove_files(NULL);
            put_sources(false);
            put_virtual("main.h5", "v", mappings, 2);
            put_source("b.h5", cases[i].type, 3, cases[i].n_rows,
                       cases[i].is_chunked, cases[i].written);
            expect_refused("main.h5", FX8_ERR_INPUT, cases[i].expected);
        }
    H5Tclose(pair);
    scratch_text("b.h5", "no HDF5 file");
    expect_refused("main.h5", FX8_ERR_INPUT, "b.h5: no HDF5 signature");
    put_source("b.h5", H5T_STD_I8LE, 3, 3, false, COLUMNS);
    struct mapping mappings[2] = {halves[0], halves[1]};
    mappings[1].dataset = "w";
    unlink(scratch_path("main.h5"));
    put_virtual("main.h5", "v", mappings, 2);
    expect_refused("main.h5", FX8_ERR_INPUT, "v: b.h5: w: missing");
}

/* Only the rows that are asked for must be mapped. */
static void test_rows(void **state)
{
    (void)state;
    put_sources(false);
    put_virtual("main.h5", "v", halves, 1);
    expect_whole_rows("main.h5", 3);
    expect_refused("main.h5", FX8_ERR_INPUT, "v: element (3, 0) has no source");
}

static void test_source_that_shrinks(void **state)
{
    (void)state;
    put_sources(false);
    put_virtual("main.h5", "v", halves, 2);
    struct opened opened;
    struct fx8_error error;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    check_values(&opened, ROWS);
    assert_int_equal(truncate(scratch_path("b.h5"), 2000), 0);
    must_fail_with(fx8_h5_check_uncut(opened.storage, opened.path, "v", 7, 2,
                                      FX8_OK, &error),
                   error, FX8_ERR_INPUT, "v: samples 7 to 8: ");
    assert_non_null(strstr(error.message, "b.h5 has shrunk from "));
    close_all(&opened);
}

/* Where no more files may be open, HDF5 would read zeros for a source. */
static void test_no_room_for_sources(void **state)
{
    (void)state;
    put_sources(false);
    put_virtual("main.h5", "v", halves, 2);
    struct opened opened;
    struct fx8_error error;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const enum fx8_status status = fx8_h5_check_uncut(
        opened.storage, opened.path, "v", 0, 1, FX8_OK, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, FX8_ERR_SYSTEM);
    assert_non_null(strstr(error.message, "expected room for every source"));
    close_all(&opened);
}

/* --- external storage and links ------------------------------------------- */

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
    hid_t file = H5Fcreate(scratch_path("main.h5"), H5F_ACC_TRUNC, H5P_DEFAULT,
                           H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(file, "v", H5T_STD_I8LE, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Sclose(space);
    H5Pclose(creation);
}

static void test_external_storage(void **state)
{
    (void)state;
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
        expect_refused("main.h5", FX8_ERR_INPUT,
                       "raw: 1004 bytes: expected 1000 from offset 5");
        put_raw("raw", 5, 0, 1000);
        put_raw("raw2", 0, 1000, ALL - 1001);
        expect_refused("main.h5", FX8_ERR_INPUT,
                       "raw2: 1999 bytes: expected 2000 from offset 0");
        unlink(raw2);
        expect_refused("main.h5", FX8_ERR_INPUT, "raw2: No such file");
    }
}

static void test_raw_file_that_shrinks(void **state)
{
    (void)state;
    char raw[SCRATCH_PATH_SIZE];
    put_raw("raw", 5, 0, 1000);
    snprintf(raw, sizeof raw, "%s", scratch_path("raw"));
    put_raw("raw2", 0, 1000, ALL - 1000);
    put_external(raw, scratch_path("raw2"), H5F_UNLIMITED);
    struct opened opened;
    struct fx8_error error;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    put_raw("raw", 5, 0, 900);
    must_fail_with(fx8_h5_check_uncut(opened.storage, opened.path, "v", 0, 1,
                                      FX8_OK, &error),
                   error, FX8_ERR_INPUT, "raw has shrunk from 1005 to 905");
    close_all(&opened);
}

/* The file that counts is the one that the dataset is in. */
static void test_link_to_another_file(void **state)
{
    (void)state;
    put_source("a.h5", H5T_STD_I8LE, 0, ROWS, false, COLUMNS);
    hid_t file = H5Fcreate(scratch_path("main.h5"), H5F_ACC_TRUNC, H5P_DEFAULT,
                           H5P_DEFAULT);
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
    must_fail_with(fx8_h5_check_uncut(opened.storage, opened.path, "v", 0, 1,
                                      FX8_OK, &error),
                   error, FX8_ERR_INPUT, "the file has shrunk");
    close_all(&opened);
}

int main(void)
{
    fx8_h5_quiet();
#define TEST(name) cmocka_unit_test_setup(name, remove_files)
    const struct CMUnitTest tests[] = {
        TEST(test_joined_antennas),
        TEST(test_many_mappings),
        TEST(test_names_of_sources),
        TEST(test_percent_in_a_name),
        TEST(test_sources_that_are_virtual),
        TEST(test_sources_without_an_end),
        TEST(test_source_that_is_open_otherwise),
        TEST(test_mapping_without_an_end),
        TEST(test_bad_sources),
        TEST(test_rows),
        TEST(test_source_that_shrinks),
        TEST(test_no_room_for_sources),
        TEST(test_external_storage),
        TEST(test_raw_file_that_shrinks),
        TEST(test_link_to_another_file),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
