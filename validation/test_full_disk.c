/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_full_disk.c -- writing visibilities and recordings to a disk that is
 * full or fills up: one clear error, nothing under the final name, no crash.
 *
 * Shows: as test_output.c
 */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/native/native.h"
#include "validation/disk_limit.h"
#include "validation/uvh5_file.h"

enum { N_CHAN = 64, N_PRODUCTS = 4, N_TIMES = 12 };
enum { N_VALUES = N_BL * N_CHAN * N_PRODUCTS };

static float visibilities[N_VALUES][2];
static uint8_t flags[N_VALUES];
static float nsamples[N_VALUES];
static const struct fx8_result result = {visibilities[0], flags, nsamples};

/* A header, and one incompressible dump. */
static void fill_noisy(struct fixture *f)
{
    fill(f, N_TIMES, N_CHAN, N_PRODUCTS);
    unsigned random = 12345;
    for (int i = 0; i < N_VALUES; i++) {
        random = random * 1664525u + 1013904223u;
        visibilities[i][0] = (float)(random >> 8);
        visibilities[i][1] = (float)(random & 0xffff);
        nsamples[i] = 1;
    }
}

/* Where a run on a full disk stopped. */
enum stage { CREATE, DUMP, CLOSE, DONE, N_STAGES };

/*
 * One whole run with files limited to `limit` bytes from dump `late` on
 * (0: from the start); n_dumps are handed to close, *n_finished of them were
 * written.
 */
static enum stage run_uvh5(enum fx8_compression compression, rlim_t limit,
                           size_t late, size_t n_dumps, size_t *n_finished,
                           struct fx8_error *error)
{
    struct fixture f;
    fill_noisy(&f);
    struct fx8_uvh5_writer *writer = NULL;
    *error = (struct fx8_error){FX8_OK, ""};
    limit_files(late == 0 ? limit : RLIM_INFINITY);
    enum fx8_status status =
        fx8_uvh5_create(scratch_path("full.uvh5"), false, &f.header,
                        compression, &writer, error);
    enum stage stage = CREATE;
    *n_finished = 0;
    if (status != FX8_OK) {
        assert_null(writer);
        goto done;
    }
    stage = DUMP;
    for (size_t d = 0; d < n_dumps && status == FX8_OK; d++) {
        if (d + 1 == late)
            limit_files(limit);
        status = fx8_uvh5_write_dump(writer, d, &result, error);
        *n_finished += status == FX8_OK;
    }
    if (status == FX8_OK) {
        stage = CLOSE;
        if (n_dumps + 1 == late)
            limit_files(limit);
        status = fx8_uvh5_close(&writer, n_dumps, error);
    } else {
        /* the same reason again, and what is kept */
        struct fx8_error again = {FX8_OK, ""};
        assert_int_equal(fx8_uvh5_close(&writer, *n_finished, &again), status);
        assert_memory_equal(again.message, error->message,
                            strlen(error->message));
        *error = again;
    }
    assert_null(writer);
    if (status == FX8_OK)
        stage = DONE;
done:
    limit_files(RLIM_INFINITY);
    return stage;
}

/* The .part of a run that failed holds the first n_dumps as they were given. */
static void check_part(size_t n_dumps)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header header;
    struct fx8_error error;
    static double got[N_VALUES][2];
    must(fx8_uvh5_open(scratch_path("full.uvh5.part"), &file, &header, &error),
         error);
    for (size_t d = 0; d < n_dumps; d++) {
        must(fx8_uvh5_read_rows(file, d * header.n_baselines,
                                header.n_baselines, got[0], NULL, NULL, &error),
             error);
        for (size_t i = 0; i < N_VALUES; i++)
            for (int part = 0; part < 2; part++)
                assert_true(got[i][part] == (double)visibilities[i][part]);
    }
    fx8_uvh5_header_clear(&header);
    fx8_uvh5_file_close(&file);
    unlink(scratch_path("full.uvh5.part"));
    unlink(scratch_path("full.uvh5.part.undo"));
}

/* A failed run: one line with the .part and the reason; finished dumps are
 * kept, and the line says so. */
static void check_failed(size_t n_finished, const struct fx8_error *error)
{
    char kept[64] = "";
    if (n_finished > 0)
        snprintf(kept, sizeof kept,
                 n_finished == 1 ? "full.uvh5.part keeps %zu dump:"
                                 : "full.uvh5.part keeps %zu dumps:",
                 n_finished);
    assert_int_equal(error->status, FX8_ERR_SYSTEM);
    if ((strstr(error->message, "full.uvh5.part: cannot write ") == NULL &&
         strstr(error->message, "full.uvh5.part.undo: cannot write ") ==
             NULL) ||
        strchr(error->message, '\n') != NULL ||
        strstr(error->message, kept) == NULL)
        fail_msg("%s", error->message);
    assert_false(scratch_exists("full.uvh5"));
    assert_int_equal(scratch_exists("full.uvh5.part"), n_finished > 0);
    if (n_finished > 0)
        check_part(n_finished);
}

/* Size of a whole file, for the range of the sweeps. */
static rlim_t whole_size(enum fx8_compression compression, size_t n_dumps)
{
    struct fx8_error error;
    size_t n_finished;
    assert_int_equal(
        run_uvh5(compression, RLIM_INFINITY, 0, n_dumps, &n_finished, &error),
        DONE);
    struct stat status;
    assert_int_equal(stat(scratch_path("full.uvh5"), &status), 0);
    unlink(scratch_path("full.uvh5"));
    return (rlim_t)status.st_size;
}

/* The disk holds more and more: the run fails at later and later stages, and
 * succeeds from the size of the whole file on. */
TEST(test_full_disk_sweep)
{
    static const enum fx8_compression kinds[] = {FX8_COMPRESSION_NONE,
                                                 FX8_COMPRESSION_GZIP};
    for (size_t k = 0; k < 2; k++) {
        const rlim_t size = whole_size(kinds[k], N_TIMES);
        size_t count[N_STAGES] = {0}, n_finished;
        for (rlim_t limit = 0; limit < size; limit += size / 97) {
            struct fx8_error error;
            const enum stage stage =
                run_uvh5(kinds[k], limit, 0, N_TIMES, &n_finished, &error);
            assert_int_not_equal(stage, DONE);
            check_failed(n_finished, &error);
            count[stage]++;
        }
        assert_true(count[CREATE] > 0);
        /* uncompressed data reserve their space at creation */
        if (kinds[k] == FX8_COMPRESSION_GZIP)
            assert_true(count[DUMP] > 0);
        struct fx8_error error;
        assert_int_equal(
            run_uvh5(kinds[k], size * 2, 0, N_TIMES, &n_finished, &error),
            DONE);
        unlink(scratch_path("full.uvh5"));
    }
}

/* The disk fills up later: at each dump, and at the close of a whole file and
 * of one that is cut. */
TEST(test_disk_fills_up_during_the_run)
{
    static const enum fx8_compression kinds[] = {FX8_COMPRESSION_NONE,
                                                 FX8_COMPRESSION_GZIP};
    static const rlim_t limits[] = {0, 1, 2048, 20000, 60000};
    size_t count[N_STAGES] = {0};
    for (size_t k = 0; k < 2; k++)
        for (size_t l = 0; l < sizeof limits / sizeof limits[0]; l++)
            for (size_t late = 1; late <= N_TIMES - 2; late++) {
                struct fx8_error error;
                size_t n_finished;
                const enum stage stage =
                    run_uvh5(kinds[k], limits[l], late, N_TIMES - 3,
                             &n_finished, &error);
                count[stage]++;
                if (stage != DONE)
                    check_failed(n_finished, &error);
                unlink(scratch_path("full.uvh5"));
            }
    assert_true(count[DUMP] > 0);
    assert_true(count[CLOSE] > 0);
    assert_int_equal(count[CREATE], 0);
}

/* A value that is put is written at once, a keyword with the next dump. */
TEST(test_full_disk_under_puts)
{
    static double values[40000];
    const size_t n = LENGTH(values);
    const struct fx8_keyword keyword = {
        .name = "WHAT", .type = FX8_KEYWORD_TEXT, .text = "why"};
    struct fixture f;
    fill_noisy(&f);
    for (int is_keyword = 0; is_keyword < 2; is_keyword++) {
        struct fx8_uvh5_writer *writer =
            create("full.uvh5", &f.header, FX8_COMPRESSION_NONE);
        struct fx8_error error = {FX8_OK, ""};
        limit_files(1000);
        enum fx8_status status =
            is_keyword
                ? fx8_uvh5_put_keyword(writer, &keyword, &error)
                : fx8_uvh5_put(writer, "values", 1, &n, values, "x", &error);
        if (is_keyword && status == FX8_OK)
            status = fx8_uvh5_write_dump(writer, 0, &result, &error);
        assert_int_equal(status, FX8_ERR_SYSTEM);
        assert_int_equal(fx8_uvh5_close(&writer, 0, NULL), FX8_ERR_SYSTEM);
        limit_files(RLIM_INFINITY);
        check_failed(0, &error);
    }
}

/* The same for recordings. */
TEST(test_full_disk_native)
{
    enum { SAMPLES = 3000, INPUTS = 6 };
    static int8_t samples[INPUTS * SAMPLES];
    struct fx8_observation o = fx8_observation_unknown();
    o.n_antennas = INPUTS;
    o.n_polarizations = 1;
    o.n_samples = SAMPLES;
    o.sample_rate = (struct fx8_rate){1000, 1};
    o.has_start_time = true;
    o.dc_frequency_hz = 1e8;
    o.sideband = FX8_SIDEBAND_UPPER;
    size_t n_failed = 0;
    size_t n_done = 0;
    for (rlim_t limit = 0; limit < 40000; limit += 311) {
        struct fx8_native_writer *writer = NULL;
        struct fx8_error error = {FX8_OK, ""};
        limit_files(limit);
        enum fx8_status status =
            fx8_native_create(scratch_path("full.h5"), true, &o,
                              "time,antenna,pol", NULL, 0, &writer, &error);
        for (int64_t first = 0; first < SAMPLES && status == FX8_OK;
             first += 1000)
            status = fx8_native_write(writer, first, 1000, samples, &error);
        const enum fx8_status closed = fx8_native_close(
            &writer, status == FX8_OK, status == FX8_OK ? &error : NULL);
        limit_files(RLIM_INFINITY);
        status = status != FX8_OK ? status : closed;
        assert_null(writer);
        assert_false(scratch_exists("full.h5.part"));
        assert_int_equal(scratch_exists("full.h5"), status == FX8_OK);
        if (status == FX8_OK) {
            n_done++;
        } else {
            n_failed++;
            assert_int_equal(status, FX8_ERR_SYSTEM);
            assert_non_null(
                strstr(error.message, "full.h5.part: cannot write "));
        }
        unlink(scratch_path("full.h5"));
    }
    assert_true(n_failed > 20 && n_done > 20);
}
