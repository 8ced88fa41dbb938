/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_uvh5_slices.c -- dumps that are written in slices are those that are
 * written whole.
 *
 * Shows (results, dumps written in slices): slices of 1, 2, 3, 7 baselines,
 * plain and packed, are the dump, whose checksum is zlib's CRC-32 of flags,
 *     weights and visibilities; it is marked with the last slice and not
 * before; slices that leave out or repeat baselines are refused Within: exact
 */
#include <hdf5.h>
#include <zlib.h>

#include "validation/uvh5_file.h"

enum { N_DUMPS = 3, N_BANDS = 2, N_ROWS = 3 };

static struct fx8_uvh5_writer *create_counted(const struct fx8_uvh5_header *h,
                                              enum fx8_compression compression)
{
    struct fx8_uvh5_writer *writer = create("slices.uvh5", h, compression);
    struct fx8_error error;
    must(fx8_uvh5_open_counts(writer, N_BANDS, N_ROWS, 0, &error), error);
    must(fx8_uvh5_open_dead(writer, N_BANDS, N_ROWS, &error), error);
    return writer;
}

/* Whether a dump is marked and, read in pieces, matches its checksum. */
static bool is_finished(struct fx8_uvh5_writer *writer, size_t dump)
{
    int64_t spectra[N_BANDS * N_ROWS], dead[N_BANDS * N_ROWS];
    const struct fx8_uvh5_counted counts = {.valid_spectra = spectra,
                                            .dead = dead};
    const struct fx8_result none = {NULL, NULL, NULL};
    struct fx8_error error;
    bool is_finished = true;
    must(fx8_uvh5_read_dump(writer, dump, false, &counts, &none, &is_finished,
                            &error),
         error);
    return is_finished;
}

static void write_in_slices(struct fx8_uvh5_writer *writer,
                            const struct fx8_uvh5_header *h, size_t dump,
                            size_t most)
{
    const size_t row = h->n_channels * h->n_products;
    struct fx8_result all = make_dump(h, dump);
    struct fx8_error error;
    for (size_t first = 0, n; first < h->n_baselines; first += n) {
        n = h->n_baselines - first < most ? h->n_baselines - first : most;
        const struct fx8_result slice = {all.visibilities + 2 * first * row,
                                         all.flags + first * row,
                                         all.nsamples + first * row};
        assert_false(is_finished(writer, dump));
        must(fx8_uvh5_write_slice(writer, dump, first, n, &slice, &error),
             error);
    }
    assert_true(is_finished(writer, dump));
    free_dump(&all);
}

/* The checksum in the file, and the one that zlib finds. */
static void check_checksum(const struct fx8_uvh5_header *h, size_t dump)
{
    const size_t n = h->n_baselines * h->n_channels * h->n_products;
    struct fx8_result all = make_dump(h, dump);
    uLong crc = crc32(0, NULL, 0);
    crc = crc32(crc, all.flags, (uInt)n);
    crc = crc32(crc, (const void *)all.nsamples, (uInt)(4 * n));
    crc = crc32(crc, (const void *)all.visibilities, (uInt)(8 * n));
    int64_t checksums[N_DUMPS];
    const hid_t file =
        H5Fopen(scratch_path("slices.uvh5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "fx8/checksum", H5P_DEFAULT);
    assert_true(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
                        H5P_DEFAULT, checksums) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_int_equal(checksums[dump], crc);
    free_dump(&all);
}

TEST(slices_are_the_dump)
{
    static const size_t sizes[] = {1, 2, 3, 7, 10};
    static const struct {
        size_t n_channels, n_products;
    } shapes[] = {{1, 1}, {3, 4}, {300, 4}};
    static struct fixture f;
    struct fx8_error error;
    for (size_t k = 0; k < LENGTH(sizes) * LENGTH(shapes); k++)
        for (int packed = 0; packed < 2; packed++) {
            const size_t shape = k / LENGTH(sizes);
            fill(&f, N_DUMPS, shapes[shape].n_channels,
                 shapes[shape].n_products);
            struct fx8_uvh5_writer *writer =
                create_counted(&f.header, packed ? FX8_COMPRESSION_GZIP
                                                 : FX8_COMPRESSION_NONE);
            /* in another order than that of the file, one of them whole */
            write_in_slices(writer, &f.header, 2, sizes[k % LENGTH(sizes)]);
            write_dump(writer, &f.header, 0);
            write_in_slices(writer, &f.header, 1, sizes[k % LENGTH(sizes)]);
            must(fx8_uvh5_close(&writer, N_DUMPS, &error), error);
            check_file("slices.uvh5", &f.header, N_DUMPS, N_DUMPS);
            for (size_t dump = 0; dump < N_DUMPS; dump++)
                check_checksum(&f.header, dump);
        }
}

static struct fx8_uvh5_writer *create_plain(struct fixture *f)
{
    fill(f, N_DUMPS, 3, 4);
    return create_counted(&f->header, FX8_COMPRESSION_NONE);
}

/* A run that ends within a dump leaves those before it. */
TEST(a_dump_that_lacks_a_slice)
{
    static struct fixture f;
    struct fx8_error error;
    struct fx8_uvh5_writer *writer = create_plain(&f);
    struct fx8_result all = make_dump(&f.header, 1);
    write_dump(writer, &f.header, 0);
    must(fx8_uvh5_write_slice(writer, 1, 0, 9, &all, &error), error);
    must(fx8_uvh5_close(&writer, 1, &error), error);
    check_file("slices.uvh5", &f.header, 1, 1);
    free_dump(&all);
}

TEST(slices_that_do_not_fit)
{
    static struct fixture f;
    struct fx8_error error;
    struct fx8_uvh5_writer *writer = create_plain(&f);
    struct fx8_result all = make_dump(&f.header, 0);
    must(fx8_uvh5_write_slice(writer, 0, 0, 4, &all, &error), error);
    for (size_t k = 0; k < 3; k++) {
        static const size_t first[] = {3, 5, 4}, n[] = {2, 2, 7};
        assert_int_equal(
            fx8_uvh5_write_slice(writer, 0, first[k], n[k], &all, &error),
            FX8_ERR_USAGE);
        assert_non_null(strstr(error.message, "expected at most 6 from 4 on"));
    }
    assert_false(is_finished(writer, 0));
    fx8_uvh5_leave(&writer, 0, NULL);
    free_dump(&all);
}
