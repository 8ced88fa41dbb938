/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_output.c -- output files where the disk is full, the name is taken or
 * another run writes: one clear error, nothing under the final name, no crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/driver.h"
#include "io/output.h"
#include "validation/disk_limit.h"
#include "validation/scratch.h"

static void check_text(const char *name, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(scratch_path(name), "r");
    assert_non_null(file);
    assert_non_null(fgets(got, sizeof got, file));
    fclose(file);
    assert_string_equal(got, text);
}

/* --- the driver alone ----------------------------------------------------- */

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
        .descriptor = open(scratch_path("driver.h5"), O_RDWR | O_CREAT, 0600)};
    assert_true(file.descriptor >= 0);
    write_through(&file);
    assert_int_equal(file.failure, 0);
    assert_int_equal(close(file.descriptor), 0); /* still the caller's */
    hid_t id = H5Fopen(scratch_path("driver.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
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
            .descriptor = open(scratch_path("limit.h5"),
                               O_RDWR | O_CREAT | O_TRUNC, 0600)};
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
    const char *path = scratch_text("readonly.h5", "");
    struct fx8_driver_file file = {.descriptor = open(path, O_RDONLY)};
    write_through(&file);
    assert_true(file.failure == EBADF || file.failure == EINVAL);
    close(file.descriptor);
}

/* --- names and locks ------------------------------------------------------ */

static void expect_open(const char *name, bool force, enum fx8_status expected,
                        const char *part)
{
    struct fx8_output *output = NULL;
    struct fx8_error error;
    must_fail_with(
        fx8_output_open(scratch_path(name), force, 0, &output, &error), error,
        expected, part);
    if (expected != FX8_OK)
        assert_null(output);
    fx8_output_abandon(&output);
}

static void test_names(void **state)
{
    (void)state;
    scratch_text("taken", "precious");
    expect_open("taken", false, FX8_ERR_USAGE, "taken: exists: expected");
    check_text("taken", "precious");
    assert_false(scratch_exists("taken.part"));
    expect_open("taken", true, FX8_OK, "");
    check_text("taken", "precious");
    expect_open(".", true, FX8_ERR_USAGE, "a directory: expected");
    expect_open("no/such", false, FX8_ERR_SYSTEM, "No such file or directory");
    /* the .part must not be a way to write elsewhere */
    scratch_text("elsewhere", "untouched");
    assert_int_equal(
        symlink(scratch_path("elsewhere"), scratch_path("linked.part")), 0);
    expect_open("linked", false, FX8_ERR_SYSTEM, "linked.part: ");
    check_text("elsewhere", "untouched");
    assert_int_equal(mkfifo(scratch_path("pipe.part"), 0600), 0);
    expect_open("pipe", false, FX8_ERR_USAGE, "not a regular file");
    assert_true(scratch_exists("pipe.part"));
}

static void test_lock(void **state)
{
    (void)state;
    struct fx8_output *first = NULL;
    struct fx8_error error = {FX8_OK, ""};
    /* left by a killed run: no lock on it */
    scratch_text("locked.part", "stale");
    assert_int_equal(
        fx8_output_open(scratch_path("locked"), false, 0, &first, &error),
        FX8_OK);
    struct stat status;
    assert_int_equal(stat(scratch_path("locked.part"), &status), 0);
    assert_int_equal(status.st_size, 0);
    expect_open("locked", false, FX8_ERR_USAGE,
                "locked.part: locked: another run is writing it");
    expect_open("locked", true, FX8_ERR_USAGE, "another run is writing it");
    assert_true(
        scratch_exists("locked.part")); /* the refused one leaves it alone */
    assert_int_equal(fx8_output_commit(&first, &error), FX8_OK);
    assert_true(scratch_exists("locked"));
    assert_false(scratch_exists("locked.part"));
    /* the name is free again for whoever forces it */
    expect_open("locked", true, FX8_OK, "");
    assert_true(scratch_exists("locked"));
}

static void test_name_taken_during_the_run(void **state)
{
    (void)state;
    struct fx8_output *output = NULL;
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(
        fx8_output_open(scratch_path("race"), false, 0, &output, &error),
        FX8_OK);
    scratch_text("race", "came first");
    assert_int_equal(fx8_output_commit(&output, &error), FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "appeared during the run"));
    assert_null(output);
    check_text("race", "came first");
    assert_true(
        scratch_exists("race.part")); /* hours of work are not thrown away */
}

/* A name that cannot be replaced, even by force: a directory stands for all
 * reasons that the system may have. */
static void test_name_cannot_be_replaced(void **state)
{
    (void)state;
    struct fx8_output *output = NULL;
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(
        fx8_output_open(scratch_path("stuck"), true, 0, &output, &error),
        FX8_OK);
    assert_int_equal(mkdir(scratch_path("stuck"), 0700), 0);
    must_fail_with(fx8_output_commit(&output, &error), error, FX8_ERR_SYSTEM,
                   "stuck: Is a directory: the result, whole, stays in ");
    assert_non_null(strstr(error.message, "stuck.part; expected"));
    assert_null(output);
    assert_true(scratch_exists("stuck.part"));
}

static void test_too_little_space(void **state)
{
    (void)state;
    struct fx8_output *output = NULL;
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_output_open(scratch_path("vast"), false,
                                     (uint64_t)1 << 62, &output, &error),
                     FX8_ERR_SYSTEM);
    assert_non_null(strstr(error.message, "4611686018.427388 GB needed, "));
    assert_null(output);
    assert_false(scratch_exists("vast.part"));
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
        cmocka_unit_test(test_name_cannot_be_replaced),
        cmocka_unit_test(test_too_little_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
