/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_h5_virtual.c -- virtual datasets: sources under every name by which HDF5
 * finds them, in pieces, nested; gaps, and sources that are missing, too small
 * or of other types.
 *
 * Shows: as test_h5_storage.c
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "validation/disk_limit.h"
#include "validation/storage_file.h"

/* Columns [first, end) of rows [row, row + n): the whole source, or the same
 * columns of its first rows. */
struct mapping {
    const char *file;
    const char *dataset;
    size_t row, n, first, end;
    bool is_whole;
};

static void put_virtual_as(const char *name, const char *dataset_name,
                           hid_t type, const struct mapping *mappings, size_t n)
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
        if (count[0] == ROWS && count[1] == COLUMNS)
            H5Sselect_all(space);
        else
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count,
                                NULL);
        if (!m->is_whole)
            H5Sselect_hyperslab(source, H5S_SELECT_SET, from, NULL, count,
                                NULL);
        assert_true(
            H5Pset_virtual(creation, space, m->file, m->dataset, source) >= 0);
        H5Sclose(source);
    }
    H5Sselect_all(space);
    put_layout(name, dataset_name, type, space, creation);
}

static void put_virtual(const char *name, const char *dataset_name,
                        const struct mapping *mappings, size_t n)
{
    put_virtual_as(name, dataset_name, H5T_STD_I8LE, mappings, n);
}

/* A new main.h5. */
static void put_main(const struct mapping *mappings, size_t n)
{
    unlink(scratch_path("main.h5"));
    put_virtual("main.h5", "v", mappings, n);
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

/* Pieces in any order, some twice, and a stride of one column. */
TEST(test_many_mappings)
{
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
    put_main(mappings, n);
    expect_whole("main.h5");
    /* three files, each listed once */
    static const char *const names[] = {"main.h5", "a.h5", "b.h5"};
    int64_t bytes = 0;
    for (size_t i = 0; i < 3; i++) {
        struct stat status;
        assert_int_equal(stat(scratch_path(names[i]), &status), 0);
        bytes += status.st_size;
    }
    struct opened opened;
    struct fx8_error error;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    assert_int_equal(fx8_h5_storage_bytes(opened.storage), bytes);
    close_all(&opened);
    put_main(mappings, n - 1);
    refuse_main("v: element (3, 315) has no source: expected a virtual "
                "dataset that is mapped throughout");
}

/* Mappings that are no regular pattern: an L and its complement. */
TEST(test_irregular_mappings)
{
    const hsize_t extent[2] = {ROWS, COLUMNS};
    const hsize_t starts[3][2] = {{0, 0}, {2, 0}, {2, 250}};
    const hsize_t counts[3][2] = {
        {2, COLUMNS}, {ROWS - 2, 250}, {ROWS - 2, COLUMNS - 250}};
    put_source("a.h5", H5T_STD_I8LE, 0, ROWS, false, COLUMNS);
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        hid_t space = H5Screate_simple(2, extent, NULL);
        for (int i = 0; i < 2 + is_whole; i++) {
            H5Sselect_hyperslab(space, i == 1 ? H5S_SELECT_OR : H5S_SELECT_SET,
                                starts[i], NULL, counts[i], NULL);
            if (i > 0)
                assert_true(
                    H5Pset_virtual(creation, space, "a.h5", "v", space) >= 0);
        }
        H5Sselect_all(space);
        unlink(scratch_path("main.h5"));
        put_layout("main.h5", "v", H5T_STD_I8LE, space, creation);
        if (is_whole)
            expect_whole("main.h5");
        else
            refuse_main("v: element (2, 250) has no source");
    }
}

TEST(test_names_of_sources)
{
    put_sources(true);
    char absolute[SCRATCH_PATH_SIZE];
    snprintf(absolute, sizeof absolute, "%s", scratch_path("b.h5"));
    assert_int_equal(link(absolute, scratch_path("50%.h5")), 0);
    const char *const names[] = {absolute, "/nowhere at all/b.h5", "50%%.h5",
                                 "b.h5"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct mapping mappings[2] = {halves[0], halves[1]};
        mappings[1].file = names[i];
        put_main(mappings, 2);
        expect_whole("main.h5");
    }
    rename(scratch_path("b.h5"), scratch_path("away/b.h5"));
    refuse_main("v: source b.h5: missing: expected the file beside the "
                "virtual dataset, or in HDF5_VDS_PREFIX");
    /* beside the file that the link leads to */
    rename(scratch_path("main.h5"), scratch_path("away/main.h5"));
    rename(scratch_path("a.h5"), scratch_path("away/a.h5"));
    assert_int_equal(
        symlink(scratch_path("away/main.h5"), scratch_path("link.h5")), 0);
    expect_whole("link.h5");
    /* beside the link itself comes first */
    put_sources(false);
    scratch_text("away/a.h5", "no HDF5 file");
    expect_whole("link.h5");
    /* in the working folder */
    unlink(scratch_path("link.h5"));
    unlink(scratch_path("away/a.h5"));
    unlink(scratch_path("away/b.h5"));
    const int folder = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(scratch_folder()), 0);
    expect_whole("away/main.h5");
    assert_int_equal(fchdir(folder), 0);
    close(folder);
    refuse_storage("away/main.h5", "v: source a.h5: missing");
}

/* A virtual dataset made from a virtual one, and from its own file. */
TEST(test_sources_that_are_virtual)
{
    static const struct mapping all = {"c.h5", "w", 0, ROWS, 0, COLUMNS, true};
    static const struct mapping own = {".", "w", 0, ROWS, 0, COLUMNS, true};
    put_sources(false);
    put_virtual("c.h5", "w", halves, 2);
    put_main(&all, 1);
    expect_whole("main.h5");
    put_virtual("c.h5", "v", &own, 1);
    expect_whole("c.h5");
    unlink(scratch_path("b.h5"));
    refuse_main("v: c.h5: w: source b.h5: missing");
    /* sources of a file in another folder are in that folder */
    struct mapping away = all;
    away.file = "away/c.h5";
    remove_files(NULL);
    put_sources(false);
    put_virtual("away/c.h5", "w", halves, 2);
    rename(scratch_path("a.h5"), scratch_path("away/a.h5"));
    rename(scratch_path("b.h5"), scratch_path("away/b.h5"));
    put_main(&away, 1);
    expect_whole("main.h5");
}

TEST(test_sources_without_an_end)
{
    static const struct mapping self = {".", "v", 0, ROWS, 0, COLUMNS, true};
    put_main(&self, 1);
    refuse_main("more than 8 virtual datasets");
}

/* HDF5 refuses to open a file twice with different properties. */
TEST(test_source_that_is_open_otherwise)
{
    put_sources(false);
    put_main(halves, 2);
    hid_t file = FX8_H5_NONE;
    struct fx8_error error;
    must(fx8_h5_open_file(scratch_path("a.h5"), &file, &error), error);
    refuse_main("a.h5: HDF5 file:");
    fx8_h5_close(&file);
    expect_whole("main.h5");
}

/* A mapping that grows with its source. */
TEST(test_mapping_without_an_end)
{
    put_sources(false);
    const hsize_t extent[2] = {ROWS, COLUMNS},
                  most[2] = {H5S_UNLIMITED, COLUMNS};
    const hsize_t start[2] = {0, 0}, one[2] = {1, 1};
    const hsize_t block[2] = {H5S_UNLIMITED, COLUMNS};
    hid_t space = H5Screate_simple(2, extent, most);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, block);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_virtual(creation, space, "a.h5", "v", space) >= 0);
    put_layout("main.h5", "v", H5T_STD_I8LE, space, creation);
    refuse_main("v: a mapping without an end");
}

TEST(test_bad_sources)
{
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
            put_main(mappings, 2);
            put_source("b.h5", cases[i].type, 3, cases[i].n_rows,
                       cases[i].is_chunked, cases[i].written);
            refuse_main(cases[i].expected);
        }
    H5Tclose(pair);
    scratch_text("b.h5", "no HDF5 file");
    refuse_main("b.h5: no HDF5 signature");
    put_source("b.h5", H5T_STD_I8LE, 3, 3, false, COLUMNS);
    struct mapping mappings[2] = {halves[0], halves[1]};
    mappings[1].dataset = "w";
    put_main(mappings, 2);
    refuse_main("v: b.h5: w: missing");
}

/* Members of a compound are matched by name: a missing one would read as zeros,
 * a wider one would be cut. */
TEST(test_members_of_sources)
{
    const struct {
        const char *names[2];
        hid_t second;
        const char *expected;
    } cases[] = {
        /* this comes only after the type was accepted */
        {{"r", "i"}, H5T_STD_I8LE, "v: b.h5: v: never written"},
        {{"i", "r"}, H5T_STD_I8BE, "v: b.h5: v: never written"},
        {{"r", "j"}, H5T_STD_I8LE, "{r: int8, j: int8}: expected compound {r"},
        {{"r", "i"}, H5T_STD_I16LE, "{r: int8, i: int16}: expected compound {"},
    };
    hid_t pair = H5Tcreate(H5T_COMPOUND, 2);
    H5Tinsert(pair, "r", 0, H5T_STD_I8LE);
    H5Tinsert(pair, "i", 1, H5T_STD_I8LE);
    struct mapping mappings[2] = {halves[1], halves[1]};
    mappings[0].row = 0;
    put_virtual_as("main.h5", "v", pair, mappings, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hid_t type = H5Tcreate(H5T_COMPOUND, 4);
        H5Tinsert(type, cases[i].names[0], 0, H5T_STD_I8LE);
        H5Tinsert(type, cases[i].names[1], 1, cases[i].second);
        put_source("b.h5", type, 3, 3, false, 0);
        refuse_main(cases[i].expected);
        H5Tclose(type);
    }
    H5Tclose(pair);
}

/* Every other column: so many gaps that fx8 stops looking for them. */
TEST(test_too_many_gaps)
{
    enum { N = 5000 };
    const hsize_t extent[2] = {1, 2 * N}, start[2] = {0, 0}, step[2] = {1, 2};
    const hsize_t count[2] = {1, N};
    hid_t space = H5Screate_simple(2, extent, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, count, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_virtual(creation, space, "a.h5", "v", space) >= 0);
    put_layout("main.h5", "v", H5T_STD_I8LE, space, creation);
    refuse_main("v: more than 4096 gaps between mappings");
}

/* Only the requested rows must be mapped. */
TEST(test_rows)
{
    put_sources(false);
    put_main(halves, 1);
    expect_whole_rows("main.h5", 3);
    refuse_main("v: element (3, 0) has no source");
}

TEST(test_source_that_shrinks)
{
    put_sources(false);
    put_main(halves, 2);
    struct opened opened;
    struct fx8_error error;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    check_values(&opened, ROWS);
    assert_int_equal(truncate(scratch_path("b.h5"), 2000), 0);
    expect_shrunk(&opened, 7, 2, "v: samples 7 to 8: ");
    expect_shrunk(&opened, 7, 2, "b.h5 has shrunk from ");
    close_all(&opened);
}

/* Open and read with only `room` more files allowed; the status of whichever
 * fails. */
static enum fx8_status open_with_room(rlim_t room, struct fx8_error *error)
{
    struct opened opened = {.file = FX8_H5_NONE, .dataset = FX8_H5_NONE};
    const int next = open("/", O_RDONLY);
    close(next);
    limit_open_files((rlim_t)next + room);
    enum fx8_status status =
        open_storage("main.h5", UINT64_MAX, &opened, error);
    if (status == FX8_OK) {
        check_values(&opened, ROWS);
        status = check_uncut(&opened, 0, 1, error);
    }
    limit_open_files(RLIM_INFINITY);
    close_all(&opened);
    return status;
}

/* Where no more files may be opened, HDF5 would read zeros for a source. */
TEST(test_no_room_for_sources)
{
    put_sources(false);
    put_main(halves, 2);
    struct fx8_error error;
    /* main.h5, its sources, and one that is open for a moment */
    must(open_with_room(4, &error), error);
    for (rlim_t room = 1; room < 4; room++)
        must_fail_with(open_with_room(room, &error), error, FX8_ERR_SYSTEM,
                       "need more open files");
    /* no more files may be opened when the data are read */
    struct opened opened;
    must(open_storage("main.h5", UINT64_MAX, &opened, &error), error);
    limit_open_files(3);
    const enum fx8_status status = check_uncut(&opened, 0, 1, &error);
    limit_open_files(RLIM_INFINITY);
    assert_int_equal(status, FX8_ERR_SYSTEM);
    assert_non_null(strstr(error.message, "need more open files"));
    close_all(&opened);
}

FIXTURE(NULL, remove_files)
