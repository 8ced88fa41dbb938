/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_h5_chunks.c -- parts of datasets in every storage are read as written,
 * by one thread and by several; chunks that are damaged or state a wrong size
 * are refused.
 *
 * Shows (recordings, storage): parts of chunked and contiguous datasets are
 *     read with every filter and rank, in reads that continue in a chunk, by
 *     one thread and three; masked filters and old checksums work; chunks that
 *     are damaged or state a wrong size are refused
 * Within: equal to what was written, memory around the destination untouched;
 *     one line with the samples
 */
#include <stdio.h>

#include <zlib.h>

#include "config/base/parallel.h"
#include "io/h5/chunks.h"
#include "io/h5/h5.h"
#include "validation/hdf5_items.h"
#include "validation/scratch.h"

enum { MAX_RANK = 3, N_THREADS = 3 };

static const struct fx8_workers alone;
static const struct fx8_workers several = {N_THREADS, fx8_parallel_for};

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

#define N_SHAPES (sizeof shapes / sizeof shapes[0])

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

#define N_FILTER_LISTS (sizeof filter_lists / sizeof filter_lists[0])

static size_t n_elements(const struct shape *shape)
{
    size_t n = 1;
    for (int axis = 0; axis < shape->rank; axis++)
        n *= (size_t)shape->extent[axis];
    return n;
}

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
    hid_t file, dataset, type;
    struct fx8_h5_chunks *chunks;
};

static struct file create(const struct shape *shape, hid_t type, hid_t creation)
{
    struct file f = {.type = type};
    f.file = create_file("chunks.h5");
    hid_t space = H5Screate_simple(shape->rank, shape->extent, NULL);
    f.dataset = H5Dcreate2(f.file, "samples", type, space, H5P_DEFAULT,
                           creation, H5P_DEFAULT);
    assert_true(f.dataset >= 0);
    H5Sclose(space);
    H5Pclose(creation);
    return f;
}

/* Close and reopen the file, so that HDF5 has nothing cached. */
static void read_again(struct file *f, int time_axis, hid_t memory_type)
{
    H5Dclose(f->dataset);
    H5Fclose(f->file);
    struct fx8_error error;
    must(fx8_h5_open_file(scratch_path("chunks.h5"), &f->file, &error), error);
    f->dataset = H5Dopen2(f->file, "samples", H5P_DEFAULT);
    const struct fx8_h5_samples samples = {"chunks.h5", "samples", f->dataset,
                                           memory_type, time_axis, 1};
    must(fx8_h5_chunks_open(&samples, &f->chunks, &error), error);
}

static void destroy(struct file *f)
{
    fx8_h5_chunks_close(&f->chunks);
    assert_null(f->chunks);
    H5Dclose(f->dataset);
    H5Fclose(f->file);
    H5Tclose(f->type);
}

/* --- parts ------------------------------------------------------- */

/* Read a part into an array somewhat larger than it, and compare. */
static void check_part(const struct file *f, const struct shape *shape,
                       const struct fx8_workers *workers, const hsize_t *start,
                       const hsize_t *count, const hsize_t *memory,
                       const uint8_t *written)
{
    hsize_t extent[3] = {1, 1, 1}, from[3] = {0, 0, 0}, n[3] = {1, 1, 1},
            room[3] = {1, 1, 1};
    const int absent = MAX_RANK - shape->rank;
    for (int axis = 0; axis < shape->rank; axis++) {
        extent[axis + absent] = shape->extent[axis];
        from[axis + absent] = start[axis];
        n[axis + absent] = count[axis];
        room[axis + absent] = memory[axis];
    }
    const size_t size = H5Tget_size(f->type);
    const size_t bytes = (size_t)(room[0] * room[1] * room[2]) * size;
    uint8_t *buffer = exact(bytes), *expected = exact(bytes);
    for (hsize_t x = 0; x < n[0]; x++)
        for (hsize_t y = 0; y < n[1]; y++)
            memcpy(expected + ((x * room[1] + y) * room[2]) * size,
                   written +
                       (((from[0] + x) * extent[1] + from[1] + y) * extent[2] +
                        from[2]) *
                           size,
                   (size_t)n[2] * size);
    const struct fx8_h5_part part = {start, count, memory};
    struct fx8_error error;
    must(fx8_h5_chunks_read(f->chunks, workers, &part, buffer, &error), error);
    assert_memory_equal(buffer, expected, bytes);
    free(buffer);
    free(expected);
}

/* Parts at any place, of any size. */
static void check_any_part(const struct file *f, const struct shape *shape,
                           const struct fx8_workers *workers,
                           struct generator *generator, const uint8_t *written)
{
    hsize_t start[3], count[3], memory[3];
    for (int axis = 0; axis < shape->rank; axis++) {
        const size_t extent = (size_t)shape->extent[axis];
        start[axis] = random_below(generator, extent);
        count[axis] = 1 + random_below(generator, extent - (size_t)start[axis]);
        memory[axis] = count[axis] + random_below(generator, 3);
    }
    check_part(f, shape, workers, start, count, memory, written);
}

/* From end to end along time, whole along all other axes, as a correlation
 * reads: reads continue within chunks. */
static void check_walk(const struct file *f, const struct shape *shape,
                       const struct fx8_workers *workers, hsize_t step,
                       const uint8_t *written)
{
    hsize_t start[3] = {0, 0, 0}, count[3] = {1, 1, 1};
    for (int axis = 0; axis < shape->rank; axis++)
        count[axis] = shape->extent[axis];
    const hsize_t length = shape->extent[shape->time];
    for (hsize_t at = 0; at < length; at += step) {
        start[shape->time] = at;
        count[shape->time] = length - at < step ? length - at : step;
        check_part(f, shape, workers, start, count, count, written);
    }
}

static void check_parts(const struct file *f, const struct shape *shape,
                        const uint8_t *written, size_t n_parts)
{
    struct generator generator = {17};
    const hsize_t length = shape->extent[shape->time];
    for (int k = 0; k < 2; k++) {
        const struct fx8_workers *workers = k == 0 ? &alone : &several;
        check_walk(f, shape, workers, length, written);
        check_walk(f, shape, workers, length / 7 + 1, written);
        check_walk(f, shape, workers, length / 2 + 1, written);
        for (size_t part = 0; part < n_parts; part++)
            check_any_part(f, shape, workers, &generator, written);
    }
}

static void check_reason(const struct file *f, const char *part)
{
    const char *reason = fx8_h5_chunks_slow_reason(f->chunks);
    if (part == NULL) {
        assert_null(reason);
        return;
    }
    assert_non_null(reason);
    if (strstr(reason, part) == NULL)
        fail_msg("'%s' lacks '%s'", reason, part);
}

static void check_storage(const struct shape *shape,
                          const struct filters *filters, bool is_pair,
                          size_t n_parts)
{
    hid_t type = is_pair ? pair_type("r", "i", H5T_NATIVE_INT8)
                         : H5Tcopy(H5T_NATIVE_INT8);
    struct file f = create(shape, type, create_list(shape, filters->letters));
    const size_t bytes = n_elements(shape) * H5Tget_size(type);
    uint8_t *written = exact(bytes);
    fill(written, bytes, bytes);
    assert_true(
        H5Dwrite(f.dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) >= 0);
    read_again(&f, shape->time, type);
    check_reason(&f, filters->slow_reason);
    check_parts(&f, shape, written, n_parts);
    destroy(&f);
    free(written);
}

TEST(test_every_storage)
{
    const size_t n_parts = is_long() ? 100 : 4;
    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t k = 0; k < N_FILTER_LISTS; k++)
            for (int is_pair = 0; is_pair < 2; is_pair++) {
                if (is_pair == 0 && shapes[s].rank > 1)
                    continue; /* chunks of one byte a sample: once */
                check_storage(&shapes[s], &filter_lists[k], is_pair, n_parts);
            }
    for (size_t s = 0; s < N_SHAPES; s++) {
        struct shape contiguous = shapes[s];
        contiguous.chunk[0] = 0;
        check_storage(&contiguous, &filter_lists[0], true, 4);
    }
}

/* What HDF5 must read itself, and reads. */
TEST(test_other_chunks)
{
    static const struct shape small = {2, 0, {101, 7}, {64, 7}};
    static const struct filters packed = {"d", "chunks of less than 4 KiB"};
    check_storage(&small, &packed, true, 10);

    const struct shape *shape = &shapes[3];
    const size_t bytes = n_elements(shape) * 2;
    uint8_t *written = exact(bytes);
    fill(written, bytes, 5);
    for (int k = 0; k < 3; k++) {
        /* no filter on the edge chunks; members in reverse order; numbers of
         * one byte, whose byte order does not matter */
        hid_t creation = create_list(shape, "d");
        hid_t type = pair_type("r", "i", H5T_NATIVE_INT8),
              memory = pair_type("r", "i", H5T_NATIVE_INT8);
        if (k == 0)
            H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
        if (k == 1) {
            H5Tclose(type);
            type = pair_type("i", "r", H5T_NATIVE_INT8);
        }
        if (k == 2) {
            H5Tclose(type);
            H5Tclose(memory);
            type = H5Tcopy(H5T_STD_I8BE);
            memory = H5Tcopy(H5T_NATIVE_INT8);
        }
        struct file f = create(shape, type, creation);
        assert_true(H5Dwrite(f.dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                             written) >= 0);
        read_again(&f, shape->time, memory);
        check_reason(&f, k == 0   ? "at the edge"
                         : k == 1 ? "of another type"
                                  : NULL);
        check_parts(&f, shape, written, 4);
        destroy(&f);
        H5Tclose(memory);
    }
    free(written);
}

/* Chunks that were never written read as the fill value. */
TEST(test_chunks_not_there)
{
    const struct shape *shape = &shapes[0];
    const int8_t fill_value = -77;
    const size_t bytes = n_elements(shape);
    uint8_t *written = exact(bytes);
    memset(written, (uint8_t)fill_value, bytes);
    hid_t creation = create_list(shape, "d");
    H5Pset_fill_value(creation, H5T_NATIVE_INT8, &fill_value);
    struct file f = create(shape, H5Tcopy(H5T_NATIVE_INT8), creation);
    const hsize_t start = 9000, count = 4000;
    fill(written + start, (size_t)count, 7);
    write_part(f.dataset, H5T_NATIVE_INT8, 1, &start, &count, written + start);
    read_again(&f, shape->time, H5T_NATIVE_INT8);
    check_reason(&f, NULL);
    check_parts(&f, shape, written, 20);
    destroy(&f);
    free(written);
}

/* --- chunks written past HDF5 ------------------------------------ */

static const struct shape line = {1, 0, {8192}, {4096}};

/* A line of two chunks; the second one is `n` bytes as stored. */
static struct file put_stored(const char *letters, const void *stored, size_t n,
                              uint32_t mask, uint8_t *written)
{
    struct file f =
        create(&line, H5Tcopy(H5T_NATIVE_INT8), create_list(&line, letters));
    fill(written, 8192, 8);
    assert_true(H5Dwrite(f.dataset, H5T_NATIVE_INT8, H5S_ALL, H5S_ALL,
                         H5P_DEFAULT, written) >= 0);
    const hsize_t offset = 4096;
    assert_true(H5Dflush(f.dataset) >= 0);
    assert_true(
        H5Dwrite_chunk(f.dataset, H5P_DEFAULT, mask, &offset, n, stored) >= 0);
    read_again(&f, 0, H5T_NATIVE_INT8);
    check_reason(&f, NULL);
    return f;
}

/* A chunk may say that filters were not applied to it. */
TEST(test_masked_filters)
{
    uint8_t written[8192], stored[4096], packed[8192];
    fill(stored, sizeof stored, 9);
    struct file f = put_stored("d", stored, sizeof stored, 1, written);
    memcpy(written + 4096, stored, 4096);
    check_parts(&f, &line, written, 10);
    destroy(&f);

    uLongf n = sizeof packed; /* "fd" without its checksum */
    assert_int_equal(compress2(packed, &n, stored, sizeof stored, 1), Z_OK);
    f = put_stored("fd", packed, n, 1, written);
    memcpy(written + 4096, stored, 4096);
    check_parts(&f, &line, written, 10);
    destroy(&f);
}

/* A checksum whose halves have exchanged their bytes, as HDF5 1.6.2 wrote it
 * on some machines. */
TEST(test_old_checksum)
{
    uint8_t written[8192], stored[4100];
    memset(stored, 0, sizeof stored);
    stored[0] = 1; /* 2048 words, the first 0x0100: the sums computed by hand */
    const uint32_t low = 0x0100;
    const uint32_t high = (0x0100u * 2048u) % 65535u;
    stored[4096] = (uint8_t)(low >> 8);
    stored[4097] = (uint8_t)low;
    stored[4098] = (uint8_t)(high >> 8);
    stored[4099] = (uint8_t)high;
    struct file f = put_stored("f", stored, sizeof stored, 0, written);
    memcpy(written + 4096, stored, 4096);
    check_parts(&f, &line, written, 10);
    destroy(&f);
}

/* One line with the samples and the fault. */
static void expect_damaged(const char *letters, const void *stored, size_t n,
                           uint32_t mask, const char *expected)
{
    uint8_t written[8192];
    struct file f = put_stored(letters, stored, n, mask, written);
    const hsize_t start = 4000, count = 1000;
    const struct fx8_h5_part part = {&start, &count, &count};
    uint8_t *buffer = exact((size_t)count);
    for (int k = 0; k < 2; k++) {
        struct fx8_error error;
        must_fail_with(fx8_h5_chunks_read(f.chunks, k == 0 ? &alone : &several,
                                          &part, buffer, &error),
                       error, FX8_ERR_INPUT,
                       "chunks.h5: samples: samples 4000 to 4999: ");
        if (strstr(error.message, expected) == NULL)
            fail_msg("'%s' lacks '%s'", error.message, expected);
        assert_null(strchr(error.message, '\n'));
    }
    /* the neighbouring chunk is read */
    const hsize_t zero = 0, whole = 4096;
    check_part(&f, &line, &alone, &zero, &whole, &whole, written);
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
    uint8_t few[1000] = {1};
    uLongf n = sizeof few;
    uint8_t packed[2000];
    n = sizeof packed;
    assert_int_equal(compress2(packed, &n, few, sizeof few, 1), Z_OK);
    for (size_t k = 0; k < 2; k++) {
        const struct shape shape = {1, 0, {cases[k].length}, {cases[k].length}};
        struct file f =
            create(&shape, H5Tcopy(H5T_NATIVE_INT8), create_list(&shape, "d"));
        const hsize_t zero = 0, count = 10;
        assert_true(
            H5Dwrite_chunk(f.dataset, H5P_DEFAULT, 0, &zero, n, packed) >= 0);
        read_again(&f, 0, H5T_NATIVE_INT8);
        check_reason(&f, cases[k].slow_reason);
        if (k == 0) { /* HDF5 1.10 would read beyond the unpacked bytes */
            const struct fx8_h5_part part = {&zero, &count, &count};
            uint8_t buffer[10];
            struct fx8_error error;
            must_fail_with(
                fx8_h5_chunks_read(f.chunks, &alone, &part, buffer, &error),
                error, FX8_ERR_INPUT, "deflate: ");
        }
        destroy(&f);
    }
}

/* --- wrong calls ------------------------------------------------- */

TEST(test_wrong_calls)
{
    uint8_t written[8192], packed[8192];
    fill(packed, 4096, 11);
    struct file f = put_stored("f", packed, 4096, 1, written);
    static const struct {
        hsize_t start, count, memory;
    } cases[] = {{0, 0, 1},  {8192, 1, 1},       {8000, 193, 193},
                 {0, 10, 9}, {UINT64_MAX, 1, 1}, {1, UINT64_MAX, UINT64_MAX}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const struct fx8_h5_part part = {&cases[k].start, &cases[k].count,
                                         &cases[k].memory};
        struct fx8_error error;
        must_fail_with(
            fx8_h5_chunks_read(f.chunks, &alone, &part, written, &error), error,
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
