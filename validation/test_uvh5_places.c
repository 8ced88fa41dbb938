/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_uvh5_places.c -- dumps that are written into their places without HDF5,
 * in no order, are those that HDF5 writes.
 *
 * Shows (results, places of dumps): small dumps that share chunks, chunks of
 *     baselines, and of parts of the channels with a narrower last one; with
 *     counts and marks; a file that is left meanwhile opens and holds what is
 *     marked
 * Within: exact
 */
#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "validation/uvh5_file.h"

enum { N_DUMPS = 5, N_BANDS = 2, N_ROWS = 3 };

/* fx8_uvh5_put_bytes, on a descriptor */
static enum fx8_status put(void *context, uint64_t offset, const void *bytes,
                           size_t n, struct fx8_error *error)
{
    (void)error;
    assert_int_equal(pwrite(*(const int *)context, bytes, n, (off_t)offset), n);
    return FX8_OK;
}

static int64_t *make_list(size_t d, size_t n)
{
    int64_t *list = exact(n * sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = d == 1 ? 0 : (int64_t)(1000 * d + i);
    return list;
}

/* Counts of a dump; those of dump 1 are all 0. */
static struct fx8_uvh5_counted make_counts(size_t d, size_t n_fine)
{
    return (struct fx8_uvh5_counted){
        .valid_spectra = make_list(d, N_BANDS * N_ROWS),
        .dead = make_list(d + 7, N_BANDS * N_ROWS),
        .clips = make_list(d, N_ROWS * n_fine),
    };
}

static void free_counts(struct fx8_uvh5_counted *counts)
{
    free(counts->valid_spectra);
    free(counts->dead);
    free(counts->clips);
}

static void write_placed(const struct fx8_uvh5_places *places, int file,
                         const struct fx8_uvh5_header *h, size_t d,
                         size_t n_fine)
{
    struct fx8_result dump = make_dump(h, d);
    struct fx8_uvh5_counted counts = make_counts(d, n_fine);
    struct fx8_error error;
    int64_t checksum;
    must(fx8_uvh5_write_placed(places, d, &counts, &dump, put, &file, &checksum,
                               &error),
         error);
    must(fx8_uvh5_mark_placed(places, d, checksum, put, &file, &error), error);
    free_counts(&counts);
    free_dump(&dump);
}

static struct fx8_uvh5_writer *create_counted(const char *name,
                                              const struct fx8_uvh5_header *h,
                                              size_t n_fine)
{
    struct fx8_uvh5_writer *writer = create(name, h, FX8_COMPRESSION_NONE);
    struct fx8_error error;
    must(fx8_uvh5_open_counts(writer, N_BANDS, N_ROWS, n_fine, &error), error);
    must(fx8_uvh5_open_dead(writer, N_BANDS, N_ROWS, &error), error);
    return writer;
}

/* /fx8/NAME of a file: int64 [n]; the caller frees. */
static int64_t *read_counts(const char *file_name, const char *name, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "fx8/%s", name);
    int64_t *values = exact(n * sizeof *values);
    hid_t file = H5Fopen(scratch_path(file_name), H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    assert_int_equal(H5Sget_simple_extent_npoints(space), n);
    assert_true(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
                        H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    return values;
}

/* Counts and checksums of two files are equal. */
static void check_counts(const char *name, const char *plain, size_t n_fine)
{
    static const char *const names[] = {"checksum", "valid_spectra", "dead",
                                        "clips"};
    const size_t sizes[] = {1, N_BANDS * N_ROWS, N_BANDS * N_ROWS,
                            N_ROWS * n_fine};
    for (size_t k = 0; k < LENGTH(names); k++) {
        const size_t n = N_DUMPS * sizes[k];
        int64_t *got = read_counts(name, names[k], n);
        int64_t *want = read_counts(plain, names[k], n);
        assert_memory_equal(got, want, n * sizeof *got);
        free(got);
        free(want);
    }
}

/* Shapes of dumps, and of clips. */
static const struct {
    size_t n_baselines, n_channels, n_products, n_fine;
} shapes[] = {
    {10, 6, 4, 6},         /* many in a chunk */
    {10, 40000, 4, 40000}, /* two baselines in a chunk */
    {1, 150001, 4, 200003} /* three unequal parts of the channels */
};

static void fill_shape(struct fixture *f, size_t k, double *axis)
{
    fill(f, N_DUMPS, 1, shapes[k].n_products);
    for (size_t c = 0; c < shapes[k].n_channels; c++)
        axis[c] = 1e6 + (double)c;
    f->header.n_baselines = shapes[k].n_baselines;
    f->header.n_channels = shapes[k].n_channels;
    f->header.frequencies_hz = f->header.channel_widths_hz = axis;
}

TEST(dumps_in_their_places)
{
    static const size_t order[N_DUMPS] = {3, 0, 4, 1, 2};
    static struct fixture f;
    struct fx8_error error;
    double *axis = exact(150001 * sizeof *axis);
    for (size_t k = 0; k < LENGTH(shapes); k++) {
        fill_shape(&f, k, axis);
        const size_t n_fine = shapes[k].n_fine;
        struct fx8_uvh5_writer *plain =
            create_counted("plain.uvh5", &f.header, n_fine);
        struct fx8_uvh5_writer *writer =
            create_counted("placed.uvh5", &f.header, n_fine);
        struct fx8_uvh5_places *places, *copy;
        must(fx8_uvh5_share(writer, true, &places, &error), error);
        /* as another process has it */
        copy = exact(fx8_uvh5_places_size(places));
        memcpy(copy, places, fx8_uvh5_places_size(places));
        const int file = open(scratch_path("placed.uvh5.part"), O_WRONLY);
        assert_true(file >= 0);
        for (size_t i = 0; i < N_DUMPS; i++) {
            struct fx8_uvh5_counted counts = make_counts(i, n_fine);
            write_placed(i % 2 == 0 ? copy : places, file, &f.header, order[i],
                         n_fine);
            must(fx8_uvh5_write_counts(plain, i, &counts, &error), error);
            write_dump(plain, &f.header, i);
            free_counts(&counts);
        }
        close(file);
        free(places);
        free(copy);
        size_t n = N_DUMPS;
        must(fx8_uvh5_unshare(writer, &n, &error), error);
        must(fx8_uvh5_close(&writer, N_DUMPS, &error), error);
        must(fx8_uvh5_close(&plain, N_DUMPS, &error), error);
        check_file("placed.uvh5", &f.header, N_DUMPS, N_DUMPS);
        check_counts("placed.uvh5", "plain.uvh5", n_fine);
    }
    free(axis);
}

/* Cut to the first dumps after sharing, and left with only these. */
TEST(dumps_in_their_places_of_runs_that_end_early)
{
    static struct fixture f;
    struct fx8_error error;
    for (int is_left = 0; is_left < 2; is_left++) {
        fill(&f, N_DUMPS, 6, 4);
        struct fx8_uvh5_writer *writer =
            create_counted("early.uvh5", &f.header, 6);
        struct fx8_uvh5_places *places;
        must(fx8_uvh5_share(writer, true, &places, &error), error);
        const int file = open(scratch_path("early.uvh5.part"), O_WRONLY);
        for (size_t d = 0; d < 2; d++)
            write_placed(places, file, &f.header, d, 6);
        close(file);
        free(places);
        if (is_left == 1) {
            fx8_fail(&error, FX8_ERR_SYSTEM, "reason");
            fx8_uvh5_leave(&writer, 2, &error);
            assert_non_null(strstr(error.message, "early.uvh5.part keeps"));
            check_file("early.uvh5.part", &f.header, N_DUMPS, 2);
            continue;
        }
        size_t n = 2;
        must(fx8_uvh5_unshare(writer, &n, &error), error);
        must(fx8_uvh5_close(&writer, 2, &error), error);
        check_file("early.uvh5", &f.header, 2, 2);
    }
}

/* What has gone into another file of the same name is missing. */
TEST(dumps_that_did_not_arrive)
{
    static struct fixture f;
    struct fx8_error error;
    struct fx8_uvh5_places *places;
    size_t n = N_DUMPS;
    fill(&f, N_DUMPS, 6, 4);
    struct fx8_uvh5_writer *writer = create_counted("gone.uvh5", &f.header, 6);
    must(fx8_uvh5_share(writer, true, &places, &error), error);
    const int file = open(scratch_path("gone.uvh5.part"), O_WRONLY);
    for (size_t d = 0; d + 1 < N_DUMPS; d++)
        write_placed(places, file, &f.header, d, 6);
    close(file);
    free(places);
    assert_int_equal(fx8_uvh5_unshare(writer, &n, &error), FX8_ERR_SYSTEM);
    assert_int_equal(n, N_DUMPS - 1);
    assert_non_null(strstr(error.message, "gone.uvh5.part: 1 of "));
    fx8_uvh5_leave(&writer, n, &error);
    check_file("gone.uvh5.part", &f.header, N_DUMPS, n);
}
