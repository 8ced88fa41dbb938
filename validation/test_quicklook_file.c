/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_quicklook_file.c -- quick-look files, read back with HDF5 itself after
 * complete, cut and killed runs.
 *
 * Shows (results, quick-look files): files are read back by HDF5: cut and
 *     killed runs, refusals
 * Within: equal
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/quicklook/quicklook_file.h"
#include "validation/uvh5_file.h"

/* Inputs of the fixture's antennas: two feeds if there are 4 products. */
static size_t feed_count(const struct fixture *f)
{
    return f->header.n_products == 4 ? 2 : 1;
}

static struct fx8_quicklook_header describe(const struct fixture *f)
{
    return (struct fx8_quicklook_header){
        .uvh5 = &f->header,
        .n_polarizations = feed_count(f),
        .spectra_per_dump = 1000,
        .coherence_scale = 16384.0,
        .math = "fast",
        .precision = "INT8",
    };
}

static struct fx8_quicklook_file *make(const char *name,
                                       const struct fixture *f)
{
    const struct fx8_quicklook_header header = describe(f);
    struct fx8_quicklook_file *file;
    struct fx8_error error;
    must(fx8_quicklook_file_create(scratch_path(name), true, &header, &file,
                                   &error),
         error);
    return file;
}

/* Halves 1 + k/1024 with sign, exact: bits 0x3c00 + k. */
static uint16_t half_bits(size_t dump, size_t i)
{
    return (uint16_t)((i % 2 << 15) | (0x3c00u + (dump * 37 + i) % 1024));
}

static void put_dump(struct fx8_quicklook_file *file, const struct fixture *f,
                     size_t dump)
{
    const size_t cells = N_BL * f->header.n_channels * f->header.n_products;
    const size_t levels = N_STATIONS * feed_count(f) * f->header.n_channels;
    uint16_t *halves = exact(2 * cells * sizeof *halves);
    uint8_t *flags = exact(cells);
    float *spectra = exact(levels * sizeof *spectra);
    for (size_t i = 0; i < 2 * cells; i++)
        halves[i] = half_bits(dump, i);
    for (size_t i = 0; i < cells; i++)
        flags[i] = flag(dump, i);
    for (size_t i = 0; i < levels; i++)
        spectra[i] = value(dump, i);
    const struct fx8_quicklook_dump look = {halves, halves + 1, halves + 2,
                                            spectra};
    struct fx8_error error;
    must(fx8_quicklook_file_write(file, dump, &look, flags, &error), error);
    free(halves);
    free(flags);
    free(spectra);
}

/* A whole dataset as floats; its shape must be the given one. */
static float *read_floats(hid_t file, const char *name, int rank,
                          const hsize_t *shape)
{
    hsize_t found[5] = {0};
    size_t n = 1;
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    const hid_t space = H5Dget_space(dataset);
    assert_int_equal(H5Sget_simple_extent_ndims(space), rank);
    H5Sget_simple_extent_dims(space, found, NULL);
    for (int i = 0; i < rank; i++) {
        assert_int_equal(found[i], shape[i]);
        n *= (size_t)shape[i];
    }
    float *values = exact(n * sizeof *values);
    assert_true(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL,
                        H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    H5Dclose(dataset);
    return values;
}

static float half_number(size_t dump, size_t i)
{
    return (i % 2 == 0 ? 1.0f : -1.0f) *
           (1.0f + (float)((dump * 37 + i) % 1024) / 1024.0f);
}

static float flag_number(size_t dump, size_t i)
{
    return flag(dump, i);
}

/* A dataset whose element i is expected(dump, first + i), or `fill` in dumps
 * that were not written. */
static void check_item(hid_t file, const char *name, int rank,
                       const hsize_t *shape, size_t n_written,
                       float (*expected)(size_t dump, size_t i), size_t first,
                       float fill)
{
    float *values = read_floats(file, name, rank, shape);
    size_t row = 1;
    for (int i = 1; i < rank; i++)
        row *= (size_t)shape[i];
    for (size_t i = 0; i < (size_t)shape[0] * row; i++) {
        const float want =
            i / row < n_written ? expected(i / row, first + i % row) : fill;
        assert_true(values[i] == want || (isnan(want) && isnan(values[i])));
    }
    free(values);
}

static void check_quicklook(const char *name, const struct fixture *f,
                            size_t n_dumps, size_t n_written)
{
    const size_t n_channels = f->header.n_channels;
    const hid_t file = H5Fopen(scratch_path(name), H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    const hsize_t shape[5] = {n_dumps, N_BL, n_channels, f->header.n_products,
                              2};
    const hsize_t levels[3] = {n_dumps, N_STATIONS * feed_count(f), n_channels};
    /* the halves with which put_dump() begins */
    check_item(file, "coherence", 5, shape, n_written, half_number, 0, 0);
    check_item(file, "amplitude", 4, shape, n_written, half_number, 1, 0);
    check_item(file, "phase", 4, shape, n_written, half_number, 2, 0);
    check_item(file, "flags", 4, shape, n_written, flag_number, 0, 1);
    check_item(file, "spectra_db", 3, levels, n_written, value, 0, NAN);
    H5Fclose(file);
}

TEST(whole_files)
{
    /* small dumps share chunks, large ones are cut */
    static const size_t shapes[][3] = {
        {1, 1, 1}, {7, 33, 4}, {400, 5, 1}, {3, 300, 4}};
    struct fixture f;
    for (size_t s = 0; s < LENGTH(shapes); s++) {
        fill(&f, shapes[s][0], shapes[s][1], shapes[s][2]);
        struct fx8_quicklook_file *file = make("whole.h5", &f);
        assert_false(scratch_exists("whole.h5"));
        for (size_t d = 0; d < f.header.n_times; d++)
            put_dump(file, &f, d);
        struct fx8_error error;
        must(fx8_quicklook_file_cut(file, f.header.n_times, &error), error);
        must(fx8_quicklook_file_close(&file, true, &error), error);
        assert_null(file);
        assert_false(scratch_exists("whole.h5.part"));
        check_quicklook("whole.h5", &f, f.header.n_times, f.header.n_times);
        unlink(scratch_path("whole.h5"));
    }
}

TEST(a_cut_file_is_small)
{
    struct fixture f;
    fill(&f, 200, 300, 4);
    struct fx8_quicklook_file *file = make("cut.h5", &f);
    struct stat whole, cut;
    assert_int_equal(stat(scratch_path("cut.h5.part"), &whole), 0);
    struct fx8_error error;
    put_dump(file, &f, 0);
    put_dump(file, &f, 1);
    must(fx8_quicklook_file_cut(file, 2, &error), error);
    const double number = 2.5;
    const int64_t counts[2] = {3, 4};
    const struct fx8_quicklook_item items[] = {
        {"fisher", "coherence", FX8_QUICKLOOK_REAL, 0, {0}, &number, "a"},
        {"fisher", "cells", FX8_QUICKLOOK_INTEGER, 2, {1, 2}, counts, "b"},
        {"counts", "state", FX8_QUICKLOOK_BYTE, 1, {3}, "\1\2\3", "c"}};
    for (size_t i = 0; i < 3; i++)
        must(fx8_quicklook_file_put(file, &items[i], &error), error);
    must(fx8_quicklook_file_close(&file, true, &error), error);
    check_quicklook("cut.h5", &f, 2, 2);
    assert_int_equal(stat(scratch_path("cut.h5"), &cut), 0);
    /* a chunk of each dataset, of at most 1 MiB, and the small ones */
    assert_true(cut.st_size < 6 << 20);
    assert_true(whole.st_size > 200 * 10 * 300 * 4 * 9);
    const hid_t h5 =
        H5Fopen(scratch_path("cut.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    float *read = read_floats(h5, "fisher/cells", 2, (hsize_t[]){1, 2});
    assert_true(read[0] == 3.0f && read[1] == 4.0f);
    free(read);
    read = read_floats(h5, "fisher/coherence", 0, NULL);
    assert_true(read[0] == 2.5f);
    free(read);
    read = read_floats(h5, "counts/state", 1, (hsize_t[]){3});
    assert_true(read[2] == 3.0f);
    free(read);
    H5Fclose(h5);
}

TEST(a_killed_run_can_be_read)
{
    struct fixture f;
    fill(&f, 20, 60, 4);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fx8_quicklook_file *file = make("killed.h5", &f);
        for (size_t d = 0; d < 3; d++)
            put_dump(file, &f, d);
        raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(scratch_exists("killed.h5"));
    check_quicklook("killed.h5.part", &f, 20, 3);
    unlink(scratch_path("killed.h5.part"));
}

TEST(what_is_refused)
{
    struct fixture f;
    fill(&f, 2, 3, 1);
    const struct fx8_quicklook_header header = describe(&f);
    struct fx8_quicklook_file *file, *second;
    struct fx8_error error;
    scratch_text("there.h5", "a result");
    must_fail_with(fx8_quicklook_file_create(scratch_path("there.h5"), false,
                                             &header, &file, &error),
                   error, FX8_ERR_USAGE, "there.h5");
    assert_null(file);
    file = make("there.h5", &f);
    must_fail_with(fx8_quicklook_file_create(scratch_path("there.h5"), true,
                                             &header, &second, &error),
                   error, FX8_ERR_USAGE, "there.h5.part");
    assert_null(second);
    const struct fx8_quicklook_dump none = {0};
    must_fail_with(fx8_quicklook_file_write(file, 2, &none, NULL, &error),
                   error, FX8_ERR_USAGE, "dump 2: expected 0 to 1");
    /* abandoned: the earlier result remains */
    must(fx8_quicklook_file_close(&file, false, &error), error);
    assert_true(scratch_exists("there.h5"));
    assert_false(scratch_exists("there.h5.part"));
    must(fx8_quicklook_file_close(&file, true, &error), error);
}

/* One folder for this program and its children. */
static int make_scratch_folder(void **state)
{
    (void)state;
    scratch_folder();
    return 0;
}

FIXTURE(make_scratch_folder, NULL)
