/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_io_driver.c -- output files where the disk is full, the name is taken
 * or another run writes: one clear error, nothing under the final name, no
 * crash.  A full disk is played by the limit on file sizes, which needs no
 * special rights: a write across it is cut short, one beyond it fails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "io/driver.h"
#include "io/native.h"
#include "io/output.h"
#include "io/uvh5.h"

static char folder[] = "/tmp/fx8-driver-XXXXXX";
static char path[512];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool exists(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void check_text(const char *name, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(in_folder(name), "r");
    assert_non_null(file);
    assert_non_null(fgets(got, sizeof got, file));
    fclose(file);
    assert_string_equal(got, text);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            remove(in_folder(entry->d_name));
    closedir(directory);
    return rmdir(folder);
}

/* Files may grow to `bytes`, RLIM_INFINITY lifts that. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* --- the driver alone
 * ----------------------------------------------------------- */

/* Make an HDF5 file of one dataset through the driver; every call of HDF5 must
 * succeed, whatever happens below. */
static void write_through(struct fx8_driver_file *file)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    assert_true(fx8_driver_set(access, file) >= 0);
    hid_t id = H5Fcreate("through", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    assert_true(id >= 0);
    H5Pclose(access);
    static int32_t values[10000];
    for (int i = 0; i < 10000; i++)
        values[i] = i * 7;
    const hsize_t extent = 10000;
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t dataset = H5Dcreate2(id, "values", H5T_STD_I32LE, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL,
                         H5P_DEFAULT, values) >= 0);
    assert_true(H5Fflush(id, H5F_SCOPE_GLOBAL) >= 0);
    assert_true(H5Dclose(dataset) >= 0);
    assert_true(H5Sclose(space) >= 0);
    assert_true(H5Fclose(id) >= 0);
}

static void test_driver_writes_hdf5(void **state)
{
    (void)state;
    struct fx8_driver_file file = {
        .descriptor = open(in_folder("driver.h5"), O_RDWR | O_CREAT, 0600)};
    assert_true(file.descriptor >= 0);
    write_through(&file);
    assert_int_equal(file.failure, 0);
    assert_int_equal(close(file.descriptor), 0); /* still the caller's */
    hid_t id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(id, "values", H5P_DEFAULT);
    static int32_t values[10000];
    assert_true(H5Dread(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL,
                        H5P_DEFAULT, values) >= 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(values[i], i * 7);
    H5Dclose(dataset);
    H5Fclose(id);
}

static void test_driver_remembers_first_failure(void **state)
{
    (void)state;
    static const rlim_t limits[] = {0, 1, 100, 2048, 5000, 30000, 41999};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct fx8_driver_file file = {
            .descriptor =
                open(in_folder("limit.h5"), O_RDWR | O_CREAT | O_TRUNC, 0600)};
        limit_files(limits[i]);
        write_through(&file);
        limit_files(RLIM_INFINITY);
        assert_int_equal(file.failure, EFBIG);
        struct stat status;
        assert_int_equal(fstat(file.descriptor, &status), 0);
        assert_true((rlim_t)status.st_size <= limits[i]);
        close(file.descriptor);
    }
}

static void test_driver_on_closed_descriptor(void **state)
{
    (void)state;
    /* open for reading only: the very first write fails */
    put_file("readonly.h5", "");
    struct fx8_driver_file file = {.descriptor = open(path, O_RDONLY)};
    write_through(&file);
    assert_true(file.failure == EBADF || file.failure == EINVAL);
    close(file.descriptor);
}

/* --- names and locks
 * -------------------------------------------------------------- */

static void expect_open(const char *name, bool force, enum fx8_status expected,
                        const char *part)
{
    struct fx8_output *output = NULL;
    struct fx8_error error = {FX8_OK, ""};
    const enum fx8_status status =
        fx8_output_open(in_folder(name), force, 0, &output, &error);
    if (status != expected || strstr(error.message, part) == NULL)
        fail_msg("%s: status %d, '%s' lacks '%s'", name, status, error.message,
                 part);
    if (expected != FX8_OK)
        assert_null(output);
    fx8_output_abandon(&output);
}

static void test_names(void **state)
{
    (void)state;
    put_file("taken", "precious");
    expect_open("taken", false, FX8_ERR_USAGE, "taken: exists: expected");
    check_text("taken", "precious");
    assert_false(exists("taken.part"));
    expect_open("taken", true, FX8_OK, "");
    check_text("taken", "precious");
    expect_open(".", true, FX8_ERR_USAGE, "a directory: expected");
    expect_open("no/such", false, FX8_ERR_SYSTEM, "No such file or directory");
    /* the .part must not be a way to write elsewhere */
    put_file("elsewhere", "untouched");
    char target[512];
    snprintf(target, sizeof target, "%s", in_folder("elsewhere"));
    assert_int_equal(symlink(target, in_folder("linked.part")), 0);
    expect_open("linked", false, FX8_ERR_SYSTEM, "linked.part: ");
    check_text("elsewhere", "untouched");
    assert_int_equal(mkfifo(in_folder("pipe.part"), 0600), 0);
    expect_open("pipe", false, FX8_ERR_USAGE, "not a regular file");
    assert_true(exists("pipe.part"));
}

static void test_lock(void **state)
{
    (void)state;
    struct fx8_output *first = NULL;
    struct fx8_error error = {FX8_OK, ""};
    /* left by a killed run: no lock on it */
    put_file("locked.part", "stale");
    assert_int_equal(
        fx8_output_open(in_folder("locked"), false, 0, &first, &error), FX8_OK);
    struct stat status;
    assert_int_equal(stat(in_folder("locked.part"), &status), 0);
    assert_int_equal(status.st_size, 0);
    expect_open("locked", false, FX8_ERR_USAGE,
                "locked.part: locked: another run is writing it");
    expect_open("locked", true, FX8_ERR_USAGE, "another run is writing it");
    assert_true(exists("locked.part")); /* the refused one leaves it alone */
    assert_int_equal(fx8_output_commit(&first, &error), FX8_OK);
    assert_true(exists("locked"));
    assert_false(exists("locked.part"));
    /* the name is free again for whoever forces it */
    expect_open("locked", true, FX8_OK, "");
    assert_true(exists("locked"));
}

static void test_name_taken_during_the_run(void **state)
{
    (void)state;
    struct fx8_output *output = NULL;
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(
        fx8_output_open(in_folder("race"), false, 0, &output, &error), FX8_OK);
    put_file("race", "came first");
    assert_int_equal(fx8_output_commit(&output, &error), FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "appeared during the run"));
    assert_null(output);
    check_text("race", "came first");
    assert_true(exists("race.part")); /* hours of work are not thrown away */
}

static void test_too_little_space(void **state)
{
    (void)state;
    struct fx8_output *output = NULL;
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_output_open(in_folder("vast"), false,
                                     (uint64_t)1 << 62, &output, &error),
                     FX8_ERR_SYSTEM);
    assert_non_null(strstr(error.message, "4611686018.427 GB needed, "));
    assert_null(output);
    assert_false(exists("vast.part"));
}

/* --- whole files on a full disk
 * ----------------------------------------------------- */

enum { N_BL = 6, N_CHAN = 64, N_POL = 4, N_TIMES = 12 };
enum { N_VALUES = N_BL * N_CHAN * N_POL };

static struct fx8_time times[N_TIMES];
static double lst[N_TIMES];
static double channels[N_CHAN];
static int64_t ants[N_BL] = {0, 0, 0, 1, 1, 2};
static int64_t ants_2[N_BL] = {0, 1, 2, 1, 2, 2};
static int64_t numbers[3] = {0, 1, 2};
static char names[3][64] = {"A", "B", "C"};
static double positions[3][3];
static double uvw[N_BL][3];
static float visibilities[N_VALUES][2];
static uint8_t flags[N_VALUES];
static float nsamples[N_VALUES];

static struct fx8_uvh5_header make_header(void)
{
    for (int t = 0; t < N_TIMES; t++)
        times[t].unix_s = 1567105200 + t;
    for (int c = 0; c < N_CHAN; c++)
        channels[c] = 1e8 + 1e4 * c;
    unsigned random = 12345;
    for (int i = 0; i < N_VALUES; i++) {
        random = random * 1664525u + 1013904223u;
        visibilities[i][0] = (float)(random >> 8);
        visibilities[i][1] = (float)(random & 0xffff);
        nsamples[i] = 1;
    }
    return (struct fx8_uvh5_header){.telescope = "t",
                                    .instrument = "i",
                                    .x_orientation = "east",
                                    .n_antennas = 3,
                                    .antenna_numbers = numbers,
                                    .antenna_names = names,
                                    .antenna_positions_m = positions[0],
                                    .n_baselines = N_BL,
                                    .ant_1 = ants,
                                    .ant_2 = ants_2,
                                    .uvw_m = uvw[0],
                                    .n_times = N_TIMES,
                                    .times = times,
                                    .integration_time_s = 1,
                                    .apparent_lst_rad = lst,
                                    .n_channels = N_CHAN,
                                    .frequencies_hz = channels,
                                    .channel_widths_hz = channels,
                                    .n_products = N_POL,
                                    .products = {-5, -6, -7, -8}};
}

/* Where a run with a full disk stopped. */
enum stage { CREATE, DUMP, CLOSE, DONE, N_STAGES };

/*
 * One whole run with files limited to `late_limit` bytes from dump `late` on
 * (0: from the start); n_dumps are handed to close.
 */
static enum stage run_uvh5(enum fx8_compression compression, rlim_t limit,
                           size_t late, size_t n_dumps, struct fx8_error *error)
{
    const struct fx8_uvh5_header header = make_header();
    struct fx8_uvh5_writer *writer = NULL;
    *error = (struct fx8_error){FX8_OK, ""};
    limit_files(late == 0 ? limit : RLIM_INFINITY);
    enum fx8_status status = fx8_uvh5_create(
        in_folder("full.uvh5"), false, &header, compression, &writer, error);
    enum stage stage = CREATE;
    if (status != FX8_OK) {
        assert_null(writer);
        goto done;
    }
    stage = DUMP;
    for (size_t d = 0; d < n_dumps && status == FX8_OK; d++) {
        if (d + 1 == late)
            limit_files(limit);
        status = fx8_uvh5_write_dump(writer, d, visibilities[0], flags,
                                     nsamples, error);
    }
    if (status == FX8_OK) {
        stage = CLOSE;
        if (n_dumps + 1 == late)
            limit_files(limit);
        status = fx8_uvh5_close(&writer, n_dumps, error);
    } else {
        /* told again, with the same words, whatever the caller asks for */
        struct fx8_error again = {FX8_OK, ""};
        assert_int_equal(fx8_uvh5_close(&writer, n_dumps, &again), status);
        assert_string_equal(again.message, error->message);
    }
    assert_null(writer);
    if (status == FX8_OK)
        stage = DONE;
done:
    limit_files(RLIM_INFINITY);
    return stage;
}

/* A failed run: one line about the .part and the reason, and no file. */
static void check_failed(const struct fx8_error *error)
{
    assert_int_equal(error->status, FX8_ERR_SYSTEM);
    if (strstr(error->message, "full.uvh5.part: File too large: expected") ==
            NULL ||
        strchr(error->message, '\n') != NULL)
        fail_msg("%s", error->message);
    assert_false(exists("full.uvh5"));
    assert_false(exists("full.uvh5.part"));
}

/* Size of a whole file, for the range of the sweeps. */
static rlim_t whole_size(enum fx8_compression compression, size_t n_dumps)
{
    struct fx8_error error;
    assert_int_equal(run_uvh5(compression, RLIM_INFINITY, 0, n_dumps, &error),
                     DONE);
    struct stat status;
    assert_int_equal(stat(in_folder("full.uvh5"), &status), 0);
    unlink(path);
    return (rlim_t)status.st_size;
}

/* The disk holds ever more: the run fails at ever later stages, and from the
 * size of the whole file on it succeeds. */
static void test_full_disk_sweep(void **state)
{
    (void)state;
    static const enum fx8_compression kinds[] = {FX8_COMPRESSION_NONE,
                                                 FX8_COMPRESSION_GZIP};
    for (size_t k = 0; k < 2; k++) {
        const rlim_t size = whole_size(kinds[k], N_TIMES);
        size_t count[N_STAGES] = {0};
        for (rlim_t limit = 0; limit < size; limit += size / 97) {
            struct fx8_error error;
            const enum stage stage =
                run_uvh5(kinds[k], limit, 0, N_TIMES, &error);
            assert_int_not_equal(stage, DONE);
            check_failed(&error);
            count[stage]++;
        }
        assert_true(count[CREATE] > 0);
        /* what is not packed reserves its space at creation */
        if (kinds[k] == FX8_COMPRESSION_GZIP)
            assert_true(count[DUMP] > 0);
        struct fx8_error error;
        assert_int_equal(run_uvh5(kinds[k], size * 2, 0, N_TIMES, &error),
                         DONE);
        unlink(in_folder("full.uvh5"));
    }
}

/* The disk fills up later: at each dump, and at the close of a whole file and
 * of one that is cut. */
static void test_disk_fills_up_during_the_run(void **state)
{
    (void)state;
    static const enum fx8_compression kinds[] = {FX8_COMPRESSION_NONE,
                                                 FX8_COMPRESSION_GZIP};
    static const rlim_t limits[] = {0, 1, 2048, 20000, 60000};
    size_t count[N_STAGES] = {0};
    for (size_t k = 0; k < 2; k++)
        for (size_t l = 0; l < sizeof limits / sizeof limits[0]; l++)
            for (size_t late = 1; late <= N_TIMES - 2; late++) {
                struct fx8_error error;
                const enum stage stage =
                    run_uvh5(kinds[k], limits[l], late, N_TIMES - 3, &error);
                count[stage]++;
                if (stage != DONE)
                    check_failed(&error);
                unlink(in_folder("full.uvh5"));
            }
    assert_true(count[DUMP] > 0);
    assert_true(count[CLOSE] > 0);
    assert_int_equal(count[CREATE], 0);
}

static void test_full_disk_under_puts(void **state)
{
    (void)state;
    const struct fx8_uvh5_header header = make_header();
    static double values[40000];
    const size_t shape[1] = {40000};
    const struct fx8_keyword keyword = {
        .name = "WHAT", .type = FX8_KEYWORD_TEXT, .text = "why"};
    for (int which = 0; which < 2; which++) {
        struct fx8_uvh5_writer *writer = NULL;
        struct fx8_error error = {FX8_OK, ""};
        assert_int_equal(fx8_uvh5_create(in_folder("full.uvh5"), false, &header,
                                         FX8_COMPRESSION_NONE, &writer, &error),
                         FX8_OK);
        limit_files(1000);
        /* a keyword stays in memory until the next flush, values do not */
        enum fx8_status status =
            which == 0
                ? fx8_uvh5_put(writer, "values", 1, shape, values, "x", &error)
                : fx8_uvh5_put_keyword(writer, &keyword, &error);
        if (which == 0)
            assert_int_equal(status, FX8_ERR_SYSTEM);
        status = fx8_uvh5_close(&writer, N_TIMES, &error);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, FX8_ERR_SYSTEM);
        check_failed(&error);
    }
}

/* The same for recordings. */
static void test_full_disk_native(void **state)
{
    (void)state;
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
            fx8_native_create(in_folder("full.h5"), &o, "time,antenna,pol",
                              NULL, 0, &writer, &error);
        for (int64_t first = 0; first < SAMPLES && status == FX8_OK;
             first += 1000)
            status = fx8_native_write(writer, first, 1000, samples, &error);
        const enum fx8_status closed = fx8_native_close(
            &writer, status == FX8_OK, status == FX8_OK ? &error : NULL);
        limit_files(RLIM_INFINITY);
        status = status != FX8_OK ? status : closed;
        assert_null(writer);
        assert_false(exists("full.h5.part"));
        assert_int_equal(exists("full.h5"), status == FX8_OK);
        if (status == FX8_OK) {
            n_done++;
        } else {
            n_failed++;
            assert_int_equal(status, FX8_ERR_SYSTEM);
            assert_non_null(
                strstr(error.message, "full.h5.part: File too large"));
        }
        unlink(in_folder("full.h5"));
    }
    assert_true(n_failed > 20 && n_done > 20);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver_writes_hdf5),
        cmocka_unit_test(test_driver_remembers_first_failure),
        cmocka_unit_test(test_driver_on_closed_descriptor),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_name_taken_during_the_run),
        cmocka_unit_test(test_too_little_space),
        cmocka_unit_test(test_full_disk_sweep),
        cmocka_unit_test(test_disk_fills_up_during_the_run),
        cmocka_unit_test(test_full_disk_under_puts),
        cmocka_unit_test(test_full_disk_native),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
