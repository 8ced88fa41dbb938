/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_uvh5_dumps.c -- dumps of UVH5 files, read back after complete, cut and
 * empty runs.  Killed runs: scenario/kills.py; files that are still written:
 * scenario/interrupted.py.
 *
 * Shows: as test_uvh5_header.c
 */
#include <sys/stat.h>

#include "validation/uvh5_file.h"

/* Whole files, and files cut behind their first dumps. */
TEST(test_round_trip)
{
    static const struct {
        size_t n_times, n_channels, n_products, n_kept;
    } shapes[] = {{1, 1, 1, 1},   {7, 33, 4, 7},   {40, 5, 2, 40},
                  {2, 300, 4, 2}, {3, 17, 1, 3},   {40, 60, 4, 1},
                  {40, 60, 4, 2}, {40, 60, 4, 13}, {40, 60, 4, 39}};
    static const enum fx8_compression kinds[] = {FX8_COMPRESSION_NONE,
                                                 FX8_COMPRESSION_GZIP};
    struct fixture f;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t k = 0; k < 2; k++) {
            const size_t n_kept = shapes[s].n_kept;
            fill(&f, shapes[s].n_times, shapes[s].n_channels,
                 shapes[s].n_products);
            struct fx8_uvh5_writer *writer =
                create("trip.uvh5", &f.header, kinds[k]);
            for (size_t d = 0; d < n_kept; d++)
                write_dump(writer, &f.header, d);
            struct fx8_error error;
            must(fx8_uvh5_close(&writer, n_kept, &error), error);
            assert_null(writer);
            assert_false(scratch_exists("trip.uvh5.part"));
            check_file("trip.uvh5", &f.header, n_kept, n_kept);
        }
}

/* The engine's items at the end: below /fx8 and as keywords, too large to fit
 * into a gap between the blocks of the header. */
enum { N_EXTRA = 20000 };

static double extra(size_t i)
{
    return 0.5 * (double)i - 3;
}

static void put_extras(struct fx8_uvh5_writer *writer)
{
    static double values[N_EXTRA];
    const size_t n = N_EXTRA;
    for (size_t i = 0; i < n; i++)
        values[i] = extra(i);
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_put(writer, "extra", 1, &n, values, "for the test", &error),
         error);
    struct fx8_keyword keyword = {
        .name = "EXTRA", .type = FX8_KEYWORD_REAL, .real = 39};
    must(fx8_uvh5_put_keyword(writer, &keyword, &error), error);
}

static void check_extras(const char *name)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header header;
    struct fx8_error error;
    size_t shape[3];
    double *values = NULL;
    must(fx8_uvh5_open(scratch_path(name), &file, &header, &error), error);
    must(fx8_uvh5_get(file, "extra", shape, &values, &error), error);
    assert_int_equal(shape[0], N_EXTRA);
    for (size_t i = 0; i < N_EXTRA; i++)
        assert_true(values[i] == extra(i));
    assert_true(fx8_uvh5_keyword(&header, "EXTRA")->real == 39);
    free(values);
    fx8_uvh5_header_clear(&header);
    fx8_uvh5_file_close(&file);
}

/* What is cut off is also removed from the disk: at most the chunk that holds
 * the last dump (1 MiB of visibilities, 13/8 of that in all), a block of 16384
 * rows of the header, 96 bytes each, and what was written after the cubes
 * remain. */
TEST(test_cut_file_is_small)
{
    struct fixture f;
    const size_t n_channels = 75;
    fill(&f, MAX_TIMES, n_channels, 4);
    struct fx8_uvh5_writer *writer =
        create("small.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct stat whole;
    assert_int_equal(stat(scratch_path("small.uvh5.part"), &whole), 0);
    write_dump(writer, &f.header, 0);
    put_extras(writer);
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_close(&writer, 1, &error), error);
    struct stat rest;
    assert_int_equal(stat(scratch_path("small.uvh5"), &rest), 0);
    assert_true((size_t)whole.st_size >=
                MAX_TIMES * N_BL * n_channels * 4 * 13);
    const off_t block = 16384 * 96;
    assert_true(rest.st_size <
                block + (1 << 20) * 13 / 8 + (1 << 18) + N_EXTRA * 8);
    check_file("small.uvh5", &f.header, 1, 1);
    check_extras("small.uvh5");
}

TEST(test_no_dump_no_file)
{
    struct fixture f;
    fill(&f, 4, 8, 4);
    struct fx8_uvh5_writer *writer =
        create("none.uvh5", &f.header, FX8_COMPRESSION_NONE);
    assert_true(scratch_exists("none.uvh5.part"));
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_close(&writer, 0, &error), error);
    assert_false(scratch_exists("none.uvh5"));
    assert_false(scratch_exists("none.uvh5.part"));
    must(fx8_uvh5_close(&writer, 0, &error), error);
}
