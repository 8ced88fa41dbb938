/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_output.c -- output files when the disk is full, the name is taken or
 * another run is writing: one clear error, nothing under the final name, no
 * crash.
 *
 * Shows (failures, disks, locks and signals): full disk, limits, locks,
 *     `--force`, signals, kills, leftovers of an earlier run, two runs on one
 *     output, names of other formats; a failed run keeps its finished dumps
 * Within: one line, exit code, whole files only
 * In: test_full_disk.c, scenario/output.py, scenario/interrupted.py
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "config/base/read_files.h"
#include "config/base/text.h"
#include "io/driver.h"
#include "io/output.h"
#include "io/parts.h"
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
 * succeed, even if writing fails. */
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

TEST(test_driver_remembers_first_failure)
{
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

/* It can be neither emptied nor written. */
TEST(test_driver_on_a_descriptor_for_reading)
{
    struct fx8_driver_file file = {
        .descriptor = open(scratch_text("readonly.h5", ""), O_RDONLY)};
    write_through(&file);
    assert_int_equal(file.failure, EINVAL); /* of ftruncate() */
    close(file.descriptor);
}

/* --- names and locks ------------------------------------------------------ */

static void expect_open(const char *name, bool force, enum fx8_status expected,
                        const char *part)
{
    struct fx8_output *output = NULL;
    struct fx8_error error;
    must_fail_with(
        fx8_output_open(scratch_path(name), force, 0, NULL, &output, &error),
        error, expected, part);
    if (expected != FX8_OK)
        assert_null(output);
    fx8_output_abandon(&output);
}

static struct fx8_output *open_output(const char *name, bool force)
{
    struct fx8_output *output = NULL;
    struct fx8_error error;
    must(fx8_output_open(scratch_path(name), force, 0, NULL, &output, &error),
         error);
    return output;
}

static void make_link(int (*make)(const char *, const char *), const char *from,
                      const char *to)
{
    assert_int_equal(make(scratch_path(from), scratch_path(to)), 0);
}

/* Other names: scenario/output.py. */
TEST(test_names)
{
    /* the .part must not redirect writes elsewhere */
    scratch_text("elsewhere", "untouched");
    make_link(symlink, "elsewhere", "linked.part");
    expect_open("linked", false, FX8_ERR_USAGE,
                "linked.part: a symbolic link: expected a file");
    check_text("elsewhere", "untouched");
    assert_int_equal(mkfifo(scratch_path("pipe.part"), 0600), 0);
    expect_open("pipe", false, FX8_ERR_USAGE, "not a regular file");
    assert_true(scratch_exists("pipe.part"));
    /* a left-over part is replaced, not emptied: it may have another name */
    scratch_text("left.part", "precious");
    make_link(link, "left.part", "other name");
    expect_open("left", true, FX8_OK, "");
    assert_false(scratch_exists("left.part"));
    check_text("other name", "precious");
}

TEST(test_lock)
{
    struct fx8_output *first = open_output("locked", false);
    struct fx8_error error;
    struct stat status;
    assert_int_equal(stat(scratch_path("locked.part"), &status), 0);
    assert_int_equal(status.st_size, 0);
    expect_open("locked", false, FX8_ERR_USAGE,
                "locked.part: locked: another run is writing it");
    expect_open("locked", true, FX8_ERR_USAGE, "another run is writing it");
    assert_true(scratch_exists("locked.part")); /* unchanged */
    must(fx8_output_commit(&first, &error), error);
    assert_true(scratch_exists("locked"));
    assert_false(scratch_exists("locked.part"));
    /* with force the name is free again */
    expect_open("locked", true, FX8_OK, "");
    assert_true(scratch_exists("locked"));
}

/* --- files that the run reads ------------------------------------------ */

static void read_file(const char *name)
{
    char *text = NULL;
    struct fx8_error error;
    must(fx8_text_read(scratch_path(name), &text, &error), error);
    free(text);
}

/* Read after the result was begun: the result stays under its first name.
 * Before: scenario/spared_inputs.py. */
TEST(test_no_file_that_is_read)
{
    struct fx8_error error;
    scratch_text("late", "precious");
    struct fx8_output *output = open_output("late", true);
    read_file("late");
    must_fail_with(fx8_output_commit(&output, &error), error, FX8_ERR_USAGE,
                   "late: is a file that this run has read: the result stays");
    check_text("late", "precious");
    assert_true(scratch_exists("late.part"));
    fx8_read_files_forget();
}

/* Another run's .part is never overwritten, even by force, nor one that
 * appeared after this run began; nor is a link to something other than a
 * regular file. */
TEST(test_name_that_another_run_writes)
{
    struct fx8_error error;
    struct fx8_output *late = open_output("live.part", true);
    struct fx8_output *other = open_output("live", false);
    expect_open("live.part", true, FX8_ERR_USAGE,
                "live.part: locked: another run is writing it");
    must_fail_with(fx8_output_commit(&late, &error), error, FX8_ERR_USAGE,
                   "live.part: locked: another run is writing it: the result "
                   "stays in ");
    must(fx8_output_commit(&other, &error), error);
    assert_true(scratch_exists("live") && !scratch_exists("live.part"));
    assert_int_equal(mkfifo(scratch_path("fifo"), 0600), 0);
    make_link(symlink, "fifo", "leads to a fifo");
    expect_open("leads to a fifo", true, FX8_ERR_USAGE, "not a regular file");
}

/* --- another process changes the .part ------------------------------------ */

enum touch { MOVED, REMOVED, REPLACED, N_TOUCHES };

static struct fx8_output *open_touched(enum touch touch, bool force)
{
    struct fx8_error error;
    if (force) /* our result may replace it, and nothing else */
        scratch_text("own", "old");
    struct fx8_output *output = open_output("own", force);
    must(fx8_output_write(output, "ours", 4, &error), error);
    if (touch == REMOVED)
        unlink(scratch_path("own.part"));
    else
        rename(scratch_path("own.part"), scratch_path("moved"));
    if (touch == REPLACED)
        scratch_text("own.part", "theirs");
    return output;
}

TEST(test_touched_part)
{
    char moved[SCRATCH_PATH_SIZE + 64];
    snprintf(moved, sizeof moved,
             "own.part: moved during the run: the result is now %s",
             scratch_path("moved"));
    const char *const expected[N_TOUCHES] = {
        moved, "own.part: removed during the run: the result is lost", moved};
    for (enum touch touch = 0; touch < N_TOUCHES; touch++)
        for (int how = 0; how < 3; how++) {
            struct fx8_output *output = open_touched(touch, how == 1);
            struct fx8_error error = {FX8_ERR_INPUT, "a reason"};
            if (how < 2)
                must_fail_with(fx8_output_commit(&output, &error), error,
                               FX8_ERR_SYSTEM, expected[touch]);
            else
                fx8_output_leave(&output, "something", &error);
            if (how == 2)
                assert_string_equal(error.message, "a reason");
            assert_null(output);
            assert_int_equal(scratch_exists("own"), how == 1);
            if (how == 1)
                check_text("own", "old");
            unlink(scratch_path("own"));
            assert_int_equal(scratch_exists("own.part"), touch == REPLACED);
            if (touch == REPLACED)
                check_text("own.part", "theirs");
            if (touch != REMOVED)
                check_text("moved", "ours");
            unlink(scratch_path("own.part"));
            unlink(scratch_path("moved"));
        }
}

TEST(test_abandon_and_signals_remove_our_own_alone)
{
    for (int by_signal = 0; by_signal < 2; by_signal++) {
        struct fx8_output *output = open_touched(REPLACED, false);
        if (by_signal)
            assert_int_equal(fx8_part_remove_all(), 1);
        fx8_output_abandon(&output);
        check_text("own.part", "theirs");
        unlink(scratch_path("own.part"));
    }
    struct fx8_output *outputs[] = {open_output("one", false),
                                    open_output("two", false)};
    assert_int_equal(fx8_part_remove_all(), 2);
    assert_false(scratch_exists("one.part") || scratch_exists("two.part"));
    for (int i = 0; i < 2; i++)
        fx8_output_abandon(&outputs[i]);
    assert_int_equal(fx8_part_remove_all(), 0);
}

TEST(test_name_taken_during_the_run)
{
    struct fx8_output *output = open_output("race", false);
    struct fx8_error error;
    scratch_text("race", "came first");
    must_fail_with(fx8_output_commit(&output, &error), error, FX8_ERR_USAGE,
                   "appeared during the run");
    assert_null(output);
    check_text("race", "came first");
    assert_true(scratch_exists("race.part")); /* hours of work are kept */
}

/* A name that cannot be replaced, even by force: a directory represents all
 * reasons that the system may have. */
TEST(test_name_cannot_be_replaced)
{
    struct fx8_output *output = open_output("stuck", true);
    struct fx8_error error;
    assert_int_equal(mkdir(scratch_path("stuck"), 0700), 0);
    must_fail_with(fx8_output_commit(&output, &error), error, FX8_ERR_SYSTEM,
                   "stuck: Is a directory: the result stays in ");
    assert_non_null(
        strstr(error.message, "stuck.part, as it cannot be renamed"));
    assert_null(output);
    assert_true(scratch_exists("stuck.part"));
}
