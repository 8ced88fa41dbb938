/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_h5_pack.c -- rows that several threads pack, beside the same rows packed
 * by HDF5.
 *
 * Shows (results, packing by several threads): every chunk has the bytes that
 *     HDF5 writes, of whole dumps and of slices, of values of 1, 4 and 8
 *     bytes; HDF5 reads what was written
 * Within: exact
 */
#include "io/h5/cubes.h"
#include "io/output.h"
#include "validation/scratch.h"
#include "validation/testing.h"

enum {
    N_DUMPS = 3,
    N_ROWS = 60,
    CHUNK_ROWS = 5,
    N_CHANNELS = 33,
    N_PRODUCTS = 4
};
#define DUMP ((size_t)N_ROWS * N_CHANNELS * N_PRODUCTS)

static struct fx8_h5_cube cube_of(hid_t type, size_t n_threads)
{
    return (struct fx8_h5_cube){
        .name = "cube",
        .value_bytes = H5Tget_size(type),
        .rank = 3,
        .dump = {N_ROWS, N_CHANNELS, N_PRODUCTS},
        .chunk = {CHUNK_ROWS, N_CHANNELS, N_PRODUCTS},
        .type = H5Tcopy(type),
        .n_threads = n_threads,
    };
}

/* A whole dump; one in two slices of whole chunks; one in two that share a
 * chunk. */
static void write_file(const char *name, hid_t type, size_t n_threads,
                       const uint8_t *values)
{
    static const size_t cuts[N_DUMPS] = {N_ROWS, 3 * CHUNK_ROWS,
                                         3 * CHUNK_ROWS + 2};
    struct fx8_error error;
    struct fx8_output *output = NULL;
    hid_t file;
    struct fx8_h5_cube cube = cube_of(type, n_threads);
    const size_t row = fx8_h5_cube_bytes(&cube) / N_ROWS;
    must(fx8_output_open(scratch_path(name), true, 0, NULL, &output, &error),
         error);
    must(fx8_output_create_hdf5(output, 1 << 16, &file, &error), error);
    must(fx8_h5_cube_create(output, file, &cube, N_DUMPS, 1, false, &error),
         error);
    must(fx8_h5_cubes_resize(output, &cube, 1, N_DUMPS * N_ROWS, &error),
         error);
    for (size_t dump = 0; dump < N_DUMPS; dump++) {
        const size_t cut = cuts[dump];
        const uint8_t *from = values + dump * N_ROWS * row;
        must(fx8_h5_cube_write_rows(output, &cube, dump, 0, cut, from, &error),
             error);
        if (cut < N_ROWS)
            must(fx8_h5_cube_write_rows(output, &cube, dump, cut, N_ROWS - cut,
                                        from + cut * row, &error),
                 error);
        must(fx8_h5_cube_flush(output, &cube, &error), error);
    }
    assert_true(fx8_h5_cube_packs(&cube, 0, N_ROWS) == (n_threads > 1));
    assert_false(fx8_h5_cube_packs(&cube, 0, cuts[2]));
    assert_false(fx8_h5_cube_packs(&cube, cuts[2], 2 * CHUNK_ROWS));
    fx8_h5_cubes_close(&cube, 1);
    assert_true(H5Fclose(file) >= 0);
    must(fx8_output_commit(&output, &error), error);
}

/* The chunks of two files: the same bytes, packed. */
static void compare_chunks(hid_t a, hid_t b)
{
    for (hsize_t row = 0; row < N_DUMPS * N_ROWS; row += CHUNK_ROWS) {
        const hsize_t start[3] = {row, 0, 0};
        hsize_t size = 0, same = 0;
        uint32_t mask = 1;
        assert_true(H5Dget_chunk_storage_size(a, start, &size) >= 0);
        assert_true(H5Dget_chunk_storage_size(b, start, &same) >= 0);
        assert_int_equal(size, same);
        uint8_t *bytes = exact(size), *others = exact(size);
        assert_true(H5Dread_chunk(a, H5P_DEFAULT, start, &mask, bytes) >= 0);
        assert_int_equal(mask, 0);
        assert_true(H5Dread_chunk(b, H5P_DEFAULT, start, &mask, others) >= 0);
        assert_int_equal(mask, 0);
        assert_memory_equal(bytes, others, size);
        free(bytes);
        free(others);
    }
}

static void check(hid_t type, size_t n_threads)
{
    const size_t n = N_DUMPS * DUMP * H5Tget_size(type);
    uint8_t *values = exact(n), *read = exact(n);
    for (size_t i = 0; i < n; i++)
        values[i] = (uint8_t)(i * 104729 % 65521 % 7);
    write_file("hdf5.h5", type, 1, values);
    write_file("threads.h5", type, n_threads, values);
    const hid_t one =
        H5Fopen(scratch_path("hdf5.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t two =
        H5Fopen(scratch_path("threads.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t a = H5Dopen2(one, "cube", H5P_DEFAULT);
    const hid_t b = H5Dopen2(two, "cube", H5P_DEFAULT);
    compare_chunks(a, b);
    assert_true(H5Dread(b, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
    assert_memory_equal(read, values, n);
    H5Dclose(a);
    H5Dclose(b);
    H5Fclose(one);
    H5Fclose(two);
    free(values);
    free(read);
}

TEST(chunks_are_those_of_hdf5)
{
    const hid_t types[] = {H5T_STD_U8LE, H5T_STD_U32LE, H5T_STD_U64LE};
    static const size_t threads[] = {2, 3, 100};
    for (size_t k = 0; k < LENGTH(types); k++)
        check(types[k], threads[k]);
}
