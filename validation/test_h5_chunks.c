/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_h5_chunks.c -- parts of datasets in every storage are read as written,
 * by one thread and by several; chunks that are damaged or state a wrong size
 * are refused.
 *
 * Shows (recordings, storage): parts of chunked and contiguous datasets are
 *     read with every filter and rank, in reads that continue in a chunk, and
 *     behind a user block, by one thread and three; masked filters and old
 * checksums work; chunks that are damaged or state a wrong size are refused
 * Within: equal to what was written, memory around the destination untouched;
 *     one line with the samples
 */
#include <stdio.h>

#include <zlib.h>

#include "io/h5/chunks.h"
#include "io/h5/h5.h"
#include "validation/hdf5_items.h"
#include "validation/scratch.h"

enum { MAX_RANK = 3, N_THREADS = 3 };

/* --- datasets ---------------------------------------------------- */

/* Shapes, and chunks of 4 KiB and more that do not divide them; the long axis
 * is time, at any place. */
static const struct shape {
    int rank;
    int time;
    hsize_t extent[MAX_RANK];
    hsize_t chunk[MAX_RANK];
} shapes[] = {
    {1, 0, {30011}, {4100}},          {2, 0, {1003, 37}, {100, 23}},
    {2, 1, {5, 9001}, {2, 2053}},     {3, 2, {3, 2, 9001}, {2, 2, 1031}},
    {3, 0, {701, 5, 3}, {300, 4, 2}}, {3, 1, {3, 701, 5}, {2, 650, 4}},
};

/* Filters, by letter: d deflate, s shuffle, f Fletcher's checksum, n n-bit. */
static const struct filters {
    const char *letters;
    const char *slow_reason; /* a part of it; NULL: several threads unpack */
} filter_lists[] = {
    {"", NULL},
    {"d", NULL},
    {"s", NULL},
    {"f", NULL},
    {"sd", NULL},
    {"fd", NULL},
    {"df", NULL},
    {"sdf", NULL},
    {"fsd", NULL},
    {"n", "filter 5 (nbit): not known"},
    {"dd", "packed 2 times"},
    {"sdfsf", "5 filters: expected at most 4"},
};

/* Any byte, as compressible as noise of a few bits. */
static void fill(uint8_t *bytes, size_t n, uint64_t seed)
{
    struct generator generator = {seed};
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(random_bits(&generator) >> 59);
}

static hid_t create_list(const struct shape *shape, const char *letters)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (shape->chunk[0] > 0)
        assert_true(H5Pset_chunk(creation, shape->rank, shape->chunk) >= 0);
    for (const char *letter = letters; *letter != '\0'; letter++) {
        if (*letter == 'd')
            assert_true(H5Pset_deflate(creation, 1) >= 0);
        else if (*letter == 's')
            assert_true(H5Pset_filter(creation, H5Z_FILTER_SHUFFLE,
                                      H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
        else if (*letter == 'n')
            assert_true(H5Pset_nbit(creation) >= 0);
        else
            assert_true(H5Pset_filter(creation, H5Z_FILTER_FLETCHER32, 0, 0,
                                      NULL) >= 0);
    }
    return creation;
}

/* A file with one dataset, open for reading and writing. */
struct file {
    const struct shape *shape;
    hid_t file, dataset, type, memory;
    uint8_t *written; /* values in memory, or NULL */
    struct fx8_h5_chunks *chunks;
};

/* Takes over all three handles. */
static struct file create(const struct shape *shape, hid_t type, hid_t memory,
                          hid_t creation)
{
    struct file f = {.shape = shape, .type = type, .memory = memory};
    f.file = create_file("chunks.h5");
    hid_t space = H5Screate_simple(shape->rank, shape->extent, NULL);
    f.dataset = H5Dcreate2(f.file, "samples", type, space, H5P_DEFAULT,
                           creation, H5P_DEFAULT);
    assert_true(f.dataset >= 0);
    H5Sclose(space);
    H5Pclose(creation);
    return f;
}

static struct file create_line(const struct shape *shape, hid_t creation)
{
    return create(shape, H5Tcopy(H5T_NATIVE_INT8), H5Tcopy(H5T_NATIVE_INT8),
                  creation);
}

/* Choose the values. */
static void fill_written(struct file *f)
{
    size_t bytes = H5Tget_size(f->memory);
    for (int axis = 0; axis < f->shape->rank; axis++)
        bytes *= (size_t)f->shape->extent[axis];
    f->written = temporary(bytes);
    fill(f->written, bytes, bytes);
}

static void write_all(struct file *f)
{
    fill_written(f);
    assert_true(H5Dwrite(f->dataset, f->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                         f->written) >= 0);
}

/* Close and reopen the file, so that HDF5 has nothing cached; NULL: several
 * threads can unpack it. */
static void read_again(struct file *f, const char *slow_reason)
{
    H5Dclose(f->dataset);
    H5Fclose(f->file);
    struct fx8_error error;
    must(fx8_h5_open_file(scratch_path("chunks.h5"), &f->file, &error), error);
    f->dataset = H5Dopen2(f->file, "samples", H5P_DEFAULT);
    const struct fx8_h5_samples samples = {
        "chunks.h5", "samples", f->dataset, f->memory, f->shape->time, 1};
    must(fx8_h5_chunks_open(&samples, &f->chunks, &error), error);
    const char *reason = fx8_h5_chunks_slow_reason(f->chunks);
    assert_int_equal(reason == NULL, slow_reason == NULL);
    if (reason != NULL && strstr(reason, slow_reason) == NULL)
        fail_msg("'%s' lacks '%s'", reason, slow_reason);
}

static void destroy(struct file *f)
{
    fx8_h5_chunks_close(&f->chunks);
    assert_null(f->chunks);
    H5Dclose(f->dataset);
    H5Fclose(f->file);
    H5Tclose(f->memory);
    H5Tclose(f->type);
    if (f->written != NULL)
        release_early(f->written);
}

/* --- parts ------------------------------------------------------- */

/* Read a part into an array somewhat larger than it, and compare. */
static void check_part(const struct file *f, size_t n_threads,
                       const hsize_t *start, const hsize_t *count,
                       const hsize_t *memory)
{
    hsize_t extent[3] = {1, 1, 1}, from[3] = {0, 0, 0}, n[3] = {1, 1, 1},
            room[3] = {1, 1, 1};
    const int absent = MAX_RANK - f->shape->rank;
    for (int axis = 0; axis < f->shape->rank; axis++) {
        extent[axis + absent] = f->shape->extent[axis];
        from[axis + absent] = start[axis];
        n[axis + absent] = count[axis];
        room[axis + absent] = memory[axis];
    }
    const size_t size = H5Tget_size(f->memory);
    const size_t bytes = (size_t)(room[0] * room[1] * room[2]) * size;
    uint8_t *buffer = exact(bytes), *expected = exact(bytes);
    for (hsize_t x = 0; x < n[0]; x++)
        for (hsize_t y = 0; y < n[1]; y++)
            memcpy(expected + ((x * room[1] + y) * room[2]) * size,
                   f->written +
                       (((from[0] + x) * extent[1] + from[1] + y) * extent[2] +
                        from[2]) *
                           size,
                   (size_t)n[2] * size);
    const struct fx8_h5_part part = {start, count, memory};
    struct fx8_error error;
    must(fx8_h5_chunks_read(f->chunks, n_threads, &part, buffer, &error),
         error);
    assert_memory_equal(buffer, expected, bytes);
    free(buffer);
    free(expected);
}

/* A part at any place, of any size. */
static void check_any_part(const struct file *f, size_t n_threads,
                           struct generator *generator)
{
    hsize_t start[3], count[3], memory[3];
    for (int axis = 0; axis < f->shape->rank; axis++) {
        const size_t extent = (size_t)f->shape->extent[axis];
        start[axis] = random_below(generator, extent);
        count[axis] = 1 + random_below(generator, extent - (size_t)start[axis]);
        memory[axis] = count[axis] + random_below(generator, 3);
    }
    check_part(f, n_threads, start, count, memory);
}

/* From end to end along time, whole along all other axes, as a correlation
 * reads: reads continue within chunks. */
static void check_walk(const struct file *f, size_t n_threads, hsize_t step)
{
    const int time = f->shape->time;
    const hsize_t length = f->shape->extent[time];
    hsize_t start[3] = {0, 0, 0}, count[3];
    memcpy(count, f->shape->extent, sizeof count);
    for (hsize_t at = 0; at < length; at += step) {
        start[time] = at;
        count[time] = length - at < step ? length - at : step;
        check_part(f, n_threads, start, count, count);
    }
}

static void check_parts_and_destroy(struct file *f, size_t n_parts)
{
    struct generator generator = {17};
    const hsize_t length = f->shape->extent[f->shape->time];
    for (int k = 0; k < 2; k++) {
        const size_t n_threads = k == 0 ? 1 : N_THREADS;
        check_walk(f, n_threads, length);
        check_walk(f, n_threads, length / 7 + 1);
        check_walk(f, n_threads, length / 2 + 1);
        for (size_t part = 0; part < n_parts; part++)
            check_any_part(f, n_threads, &generator);
    }
    destroy(f);
}

static void check_storage(const struct shape *shape,
                          const struct filters *filters, hid_t type,
                          size_t n_parts)
{
    struct file f = create(shape, type, H5Tcopy(type),
                           create_list(shape, filters->letters));
    write_all(&f);
    read_again(&f, filters->slow_reason);
    check_parts_and_destroy(&f, n_parts);
}

static hid_t complex_type(void)
{
    return pair_type("r", "i", H5T_NATIVE_INT8);
}

TEST(test_every_storage)
{
    const size_t n_parts = is_long() ? 100 : 4;
    for (size_t s = 0; s < LENGTH(shapes); s++) {
        for (size_t k = 0; k < LENGTH(filter_lists); k++) {
            check_storage(&shapes[s], &filter_lists[k], complex_type(),
                          n_parts);
            if (shapes[s].rank == 1) /* chunks of one byte a sample: once */
                check_storage(&shapes[s], &filter_lists[k],
                              H5Tcopy(H5T_NATIVE_INT8), n_parts);
        }
        struct shape contiguous = shapes[s];
        contiguous.chunk[0] = 0;
        check_storage(&contiguous, &filter_lists[0], complex_type(), 4);
    }
}

/* Contiguous rows of several pieces, the second row behind a hole where the
 * part is narrower; in a file whose addresses begin behind a user block. */
TEST(test_long_rows_behind_a_user_block)
{
    static const struct shape shape = {2, 1, {2, 1200007}, {0}};
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    assert_true(H5Pset_userblock(creation, 1024) >= 0);
    struct file f = create_line(&shape, create_list(&shape, ""));
    H5Dclose(f.dataset);
    H5Fclose(f.file);
    f.file = H5Fcreate(scratch_path("chunks.h5"), H5F_ACC_TRUNC, creation,
                       H5P_DEFAULT);
    H5Pclose(creation);
    hid_t space = H5Screate_simple(shape.rank, shape.extent, NULL);
    f.dataset = H5Dcreate2(f.file, "samples", f.type, space, H5P_DEFAULT,
                           H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    write_all(&f);
    read_again(&f, NULL);
    check_parts_and_destroy(&f, 4);
}

/* What HDF5 must read itself, and reads: small chunks, edge chunks without a
 * filter, members in reverse order.  One byte has no byte order. */
TEST(test_other_chunks)
{
    static const struct shape small = {2, 0, {101, 7}, {64, 7}};
    static const struct filters packed = {"d", "chunks of less than 4 KiB"};
    check_storage(&small, &packed, complex_type(), 10);
    static const char *const reasons[] = {"at the edge", "of another type",
                                          NULL};
    for (int k = 0; k < 3; k++) {
        hid_t creation = create_list(&shapes[3], "d");
        if (k == 0)
            H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
        struct file f =
            create(&shapes[3],
                   k == 0   ? complex_type()
                   : k == 1 ? pair_type("i", "r", H5T_NATIVE_INT8)
                            : H5Tcopy(H5T_STD_I8BE),
                   k < 2 ? complex_type() : H5Tcopy(H5T_NATIVE_INT8), creation);
        write_all(&f);
        read_again(&f, reasons[k]);
        check_parts_and_destroy(&f, 4);
    }
}

/* Chunks that were never written read as the fill value. */
TEST(test_chunks_not_there)
{
    const int8_t fill_value = -77;
    const hsize_t start = 9000, count = 4000, end = shapes[0].extent[0];
    hid_t creation = create_list(&shapes[0], "d");
    H5Pset_fill_value(creation, H5T_NATIVE_INT8, &fill_value);
    struct file f = create_line(&shapes[0], creation);
    fill_written(&f);
    write_part(f.dataset, H5T_NATIVE_INT8, 1, &start, &count,
               f.written + start);
    memset(f.written, fill_value, (size_t)start);
    memset(f.written + start + count, fill_value,
           (size_t)(end - start - count));
    read_again(&f, NULL);
    check_parts_and_destroy(&f, 20);
}

/* --- chunks written past HDF5 ------------------------------------ */

static const struct shape line = {1, 0, {8192}, {4096}};

/* A line of two chunks; the second one is `n` bytes as stored. */
static struct file put_stored(const char *letters, const void *stored, size_t n,
                              uint32_t mask)
{
    struct file f = create_line(&line, create_list(&line, letters));
    const hsize_t offset = 4096;
    write_all(&f);
    assert_true(H5Dflush(f.dataset) >= 0);
    assert_true(
        H5Dwrite_chunk(f.dataset, H5P_DEFAULT, mask, &offset, n, stored) >= 0);
    read_again(&f, NULL);
    return f;
}

/* The same; the chunk must be read as 4096 values. */
static void expect_stored(const char *letters, const void *stored, size_t n,
                          uint32_t mask, const uint8_t *values)
{
    struct file f = put_stored(letters, stored, n, mask);
    memcpy(f.written + 4096, values, 4096);
    check_parts_and_destroy(&f, 10);
}

/* A chunk may say that filters were not applied to it. */
TEST(test_masked_filters)
{
    uint8_t stored[4096], packed[8192];
    fill(stored, sizeof stored, 9);
    expect_stored("d", stored, sizeof stored, 1, stored);
    uLongf n = sizeof packed; /* "fd" without its checksum */
    assert_int_equal(compress2(packed, &n, stored, sizeof stored, 1), Z_OK);
    expect_stored("fd", packed, n, 1, stored);
}

/* A checksum whose halves have exchanged their bytes, as HDF5 1.6.2 wrote it
 * on some machines. */
TEST(test_old_checksum)
{
    /* 2048 words, the first 0x0100: the sums computed by hand */
    uint8_t stored[4100] = {1};
    const uint32_t low = 0x0100;
    const uint32_t high = (0x0100u * 2048u) % 65535u;
    stored[4096] = (uint8_t)(low >> 8);
    stored[4097] = (uint8_t)low;
    stored[4098] = (uint8_t)(high >> 8);
    stored[4099] = (uint8_t)high;
    expect_stored("f", stored, sizeof stored, 0, stored);
}

/* One line with the samples and the fault. */
static void expect_damaged(const char *letters, const void *stored, size_t n,
                           uint32_t mask, const char *expected)
{
    struct file f = put_stored(letters, stored, n, mask);
    const hsize_t start = 4000, count = 1000;
    const struct fx8_h5_part part = {&start, &count, &count};
    uint8_t *buffer = exact((size_t)count);
    for (int k = 0; k < 2; k++) {
        struct fx8_error error;
        must_fail_with(fx8_h5_chunks_read(f.chunks, k == 0 ? 1 : N_THREADS,
                                          &part, buffer, &error),
                       error, FX8_ERR_INPUT,
                       "chunks.h5: samples: samples 4000 to 4999: ");
        if (strstr(error.message, expected) == NULL)
            fail_msg("'%s' lacks '%s'", error.message, expected);
        assert_null(strchr(error.message, '\n'));
    }
    /* the neighbouring chunk is read */
    const hsize_t zero = 0, whole = 4096;
    check_part(&f, 1, &zero, &whole, &whole);
    destroy(&f);
    free(buffer);
}

TEST(test_damaged_chunks)
{
    uint8_t bytes[5000], packed[8192];
    fill(bytes, sizeof bytes, 10);
    uLongf n = sizeof packed;
    assert_int_equal(compress2(packed, &n, bytes, 4096, 1), Z_OK);
    expect_damaged("d", packed, n / 2, 0, "deflate: ");
    packed[n / 2] ^= 0x10;
    packed[n / 2 + 1] ^= 0xff;
    expect_damaged("d", packed, n, 0, "deflate: ");
    expect_damaged("d", bytes, 100, 0, "deflate: 100 packed bytes, data error");
    n = sizeof packed; /* unpacks to less or more than a chunk */
    assert_int_equal(compress2(packed, &n, bytes, 4095, 1), Z_OK);
    expect_damaged("d", packed, n, 0, "too few: expected 4096 bytes from them");
    n = sizeof packed;
    assert_int_equal(compress2(packed, &n, bytes, 4097, 1), Z_OK);
    expect_damaged("d", packed, n, 0, "buffer error: expected 4096 bytes");
    /* wrong sizes */
    expect_damaged("d", bytes, 4095, 1, "4095 bytes of a chunk: expected 4096");
    expect_damaged("d", bytes, 5000, 1, "5000 bytes of a chunk: expected 4096");
    expect_damaged("s", bytes, 10, 0, "10 bytes of a chunk: expected 4096");
    expect_damaged("f", bytes, 3, 0, "fletcher32: 3 bytes: expected at least");
    expect_damaged("f", bytes, 4100, 0, "fletcher32: checksum ");
    expect_damaged("f", bytes, 1, 1, "1 byte of a chunk: expected 4096");
    /* one wrong bit under the checksum of the right data */
    memset(bytes, 0, 4100);
    bytes[1234] = 1;
    expect_damaged("f", bytes, 4100, 0, "checksum 00000000: expected ");
}

/* Chunks that claim far more than they store. */
TEST(test_huge_chunks)
{
    static const struct {
        hsize_t length;
        const char *slow_reason;
    } cases[] = {{(hsize_t)200 << 20, NULL},
                 {(hsize_t)3 << 30, "chunks of more than 256 MiB"}};
    uint8_t few[1000] = {1}, packed[2000];
    uLongf n = sizeof packed;
    assert_int_equal(compress2(packed, &n, few, sizeof few, 1), Z_OK);
    for (size_t k = 0; k < 2; k++) {
        const struct shape shape = {1, 0, {cases[k].length}, {cases[k].length}};
        struct file f = create_line(&shape, create_list(&shape, "d"));
        const hsize_t zero = 0, count = 10;
        assert_true(
            H5Dwrite_chunk(f.dataset, H5P_DEFAULT, 0, &zero, n, packed) >= 0);
        read_again(&f, cases[k].slow_reason);
        if (k == 0) { /* HDF5 1.10 would read beyond the unpacked bytes */
            const struct fx8_h5_part part = {&zero, &count, &count};
            uint8_t buffer[10];
            struct fx8_error error;
            must_fail_with(
                fx8_h5_chunks_read(f.chunks, 1, &part, buffer, &error), error,
                FX8_ERR_INPUT, "deflate: ");
        }
        destroy(&f);
    }
}

/* --- wrong calls ------------------------------------------------- */

TEST(test_wrong_calls)
{
    uint8_t buffer[4096];
    fill(buffer, sizeof buffer, 11);
    struct file f = put_stored("f", buffer, sizeof buffer, 1);
    static const struct {
        hsize_t start, count, memory;
    } cases[] = {{0, 0, 1},  {8192, 1, 1},       {8000, 193, 193},
                 {0, 10, 9}, {UINT64_MAX, 1, 1}, {1, UINT64_MAX, UINT64_MAX}};
    for (size_t k = 0; k < LENGTH(cases); k++) {
        const struct fx8_h5_part part = {&cases[k].start, &cases[k].count,
                                         &cases[k].memory};
        struct fx8_error error;
        must_fail_with(
            fx8_h5_chunks_read(f.chunks, 1, &part, buffer, &error), error,
            FX8_ERR_INPUT,
            "of axis 0: expected 1 or more below 8192 and room for them");
    }
    struct fx8_h5_chunks *chunks = NULL;
    struct fx8_error error;
    const struct fx8_h5_samples samples = {
        "chunks.h5", "samples", f.dataset, H5T_NATIVE_INT8, 1, 1};
    must_fail_with(fx8_h5_chunks_open(&samples, &chunks, &error), error,
                   FX8_ERR_INPUT, "chunks.h5: samples: 1 axis: expected");
    assert_null(chunks);
    fx8_h5_chunks_close(&chunks);
    destroy(&f);
}
