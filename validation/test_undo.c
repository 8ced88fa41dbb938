/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_undo.c -- what was saved of a file takes it back after a power failure.
 *
 * Shows: as scenario/power_loss.py
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/undo.h"
#include "validation/scratch.h"
#include "validation/testing.h"

#define BYTES ((size_t)20000)

static uint64_t dice;

/* 0 .. n - 1 */
static size_t roll(size_t n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(dice >> 33) % n;
}

struct file {
    int descriptor;
    uint8_t before[BYTES]; /* when it was protected */
};

static struct file *begin(struct fx8_undo *undo, bool is_one_machine)
{
    struct file *file = temporary(sizeof *file);
    *undo = (struct fx8_undo){.path = scratch_path("file.undo"),
                              .is_one_machine = is_one_machine};
    file->descriptor =
        open(scratch_path("file"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (size_t i = 0; i < BYTES; i++)
        file->before[i] = (uint8_t)roll(256);
    assert_int_equal(pwrite(file->descriptor, file->before, BYTES, 0), BYTES);
    assert_int_equal(fx8_undo_begin(undo, file->descriptor, UINT64_MAX), 0);
    return file;
}

/* Change bytes anywhere, also behind the end. */
static void change(struct fx8_undo *undo, const struct file *file)
{
    uint8_t bytes[3000];
    const size_t size = 1 + roll(sizeof bytes), at = roll(BYTES + 2000);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)roll(256);
    assert_int_equal(fx8_undo_save(undo, file->descriptor, at, size), 0);
    assert_int_equal(fx8_undo_await(undo), 0);
    assert_int_equal(pwrite(file->descriptor, bytes, size, (off_t)at), size);
}

static bool is_as_before(const struct file *file)
{
    static uint8_t now[BYTES];
    assert_int_equal(pread(file->descriptor, now, BYTES, 0), BYTES);
    return memcmp(now, file->before, BYTES) == 0;
}

static enum fx8_undo_found restore(const struct file *file)
{
    enum fx8_undo_found found;
    assert_int_equal(
        fx8_undo_restore(scratch_path("file.undo"), file->descriptor, &found),
        0);
    return found;
}

/* Files of several machines are taken back whatever has happened. */
TEST(all_changes_are_taken_back)
{
    for (int round = 0; round < 50; round++) {
        struct fx8_undo undo;
        const struct file *file = begin(&undo, false);
        for (size_t n = roll(40); n > 0; n--)
            change(&undo, file);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(restore(file), FX8_UNDO_RESTORED);
            assert_true(is_as_before(file));
        }
        fx8_undo_end(&undo);
        assert_false(scratch_exists("file.undo"));
        close(file->descriptor);
    }
}

/* HDF5 takes space behind the end for zeros.  What a process has cut is not
 * what was saved. */
TEST(lengths)
{
    for (off_t length = 0; length < 3 * (off_t)BYTES; length += 1999) {
        struct fx8_undo undo;
        struct stat status;
        const struct file *file = begin(&undo, false);
        assert_int_equal(fx8_undo_begin(&undo, file->descriptor, BYTES / 2), 0);
        assert_int_equal(ftruncate(file->descriptor, length), 0);
        const bool is_cut = length < (off_t)BYTES / 2;
        assert_int_equal(restore(file),
                         is_cut ? FX8_UNDO_FOREIGN : FX8_UNDO_RESTORED);
        assert_int_equal(fstat(file->descriptor, &status), 0);
        assert_int_equal(status.st_size, is_cut ? length : (off_t)BYTES / 2);
        fx8_undo_end(&undo);
        close(file->descriptor);
    }
}

/* What the file is now is what it must be again. */
static void change_and_note(struct fx8_undo *undo, struct file *file)
{
    change(undo, file);
    assert_int_equal(pread(file->descriptor, file->before, BYTES, 0), BYTES);
}

/* A new moment forgets what was saved for the one before. */
TEST(the_last_moment_counts)
{
    struct fx8_undo undo;
    struct file *file = begin(&undo, false);
    change_and_note(&undo, file);
    assert_int_equal(fx8_undo_begin(&undo, file->descriptor, UINT64_MAX), 0);
    change(&undo, file);
    change(&undo, file);
    assert_int_equal(restore(file), FX8_UNDO_RESTORED);
    assert_true(is_as_before(file));
    fx8_undo_end(&undo);
}

/* While the machine runs, its memory has all that was written. */
TEST(nothing_is_taken_back_without_a_new_start)
{
    struct fx8_undo undo;
    struct file *file = begin(&undo, true);
    change_and_note(&undo, file);
    fx8_undo_close(&undo);
    assert_int_equal(restore(file), FX8_UNDO_SAME_BOOT);
    assert_true(is_as_before(file));
}

/* A kill may come amid a write of which the new bytes were noted: it is
 * completed.  Of several writes, it takes all back. */
TEST(torn_writes)
{
    for (int round = 0; round < 50; round++) {
        struct fx8_undo undo;
        struct file *file = begin(&undo, true);
        const bool is_noted = round % 3 != 0;
        uint8_t bytes[3000];
        for (size_t n = roll(3); n > 0 && is_noted; n--)
            change_and_note(&undo, file);
        const size_t at = roll(BYTES - sizeof bytes);
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)roll(256);
        assert_int_equal(
            fx8_undo_save(&undo, file->descriptor, at, sizeof bytes), 0);
        assert_int_equal(
            fx8_undo_note(&undo, at, sizeof bytes, is_noted ? bytes : NULL), 0);
        const size_t done = roll(sizeof bytes);
        assert_int_equal(pwrite(file->descriptor, bytes, done, (off_t)at),
                         done);
        if (is_noted)
            memcpy(file->before + at, bytes, sizeof bytes);
        assert_int_equal(restore(file),
                         is_noted ? FX8_UNDO_SAME_BOOT : FX8_UNDO_RESTORED);
        assert_true(is_as_before(file));
        fx8_undo_end(&undo);
        close(file->descriptor);
    }
}

/* A power failure may leave any length of what was saved last, which has not
 * changed yet. */
TEST(a_torn_end_is_ignored)
{
    struct fx8_undo undo;
    const struct file *file = begin(&undo, false);
    change(&undo, file);
    const uint64_t whole = undo.length;
    assert_int_equal(fx8_undo_save(&undo, file->descriptor, 0, BYTES), 0);
    for (uint64_t lost = 0; lost <= undo.length - whole; lost += 999) {
        assert_int_equal(
            ftruncate(undo.descriptor, (off_t)(undo.length - lost)), 0);
        assert_int_equal(restore(file), FX8_UNDO_RESTORED);
        assert_true(is_as_before(file));
    }
    /* while the header is written, nothing changes */
    for (off_t length = 0; length < 72; length += 7) {
        assert_int_equal(ftruncate(undo.descriptor, length), 0);
        assert_int_equal(restore(file), FX8_UNDO_RESTORED);
        assert_true(is_as_before(file));
    }
    fx8_undo_end(&undo);
}

/* A kill may come at any time while a run protects what another has left. */
TEST(one_of_an_earlier_run_is_not_removed)
{
    struct fx8_undo earlier, undo = {.path = scratch_path("file.undo")};
    struct file *file = begin(&earlier, false);
    struct stat status;
    const int held = open(earlier.path, O_RDONLY);
    change_and_note(&earlier, file);
    fx8_undo_close(&earlier);
    assert_int_equal(fx8_undo_begin(&undo, file->descriptor, UINT64_MAX), 0);
    assert_int_equal(fstat(held, &status), 0);
    assert_int_equal(status.st_nlink, 1);
    close(held);
    change(&undo, file);
    assert_int_equal(restore(file), FX8_UNDO_RESTORED);
    assert_true(is_as_before(file));
    fx8_undo_end(&undo);
}

/* Every bit of the header counts. */
TEST(a_damaged_header)
{
    struct fx8_undo undo;
    struct file *file = begin(&undo, false);
    change_and_note(&undo, file);
    for (size_t bit = 0; bit < 80 * CHAR_BIT; bit++) {
        uint8_t byte;
        const off_t at = (off_t)(bit / CHAR_BIT);
        assert_int_equal(pread(undo.descriptor, &byte, 1, at), 1);
        byte ^= (uint8_t)(1 << bit % CHAR_BIT);
        assert_int_equal(pwrite(undo.descriptor, &byte, 1, at), 1);
        assert_int_equal(restore(file), FX8_UNDO_FOREIGN);
        assert_true(is_as_before(file));
        byte ^= (uint8_t)(1 << bit % CHAR_BIT);
        assert_int_equal(pwrite(undo.descriptor, &byte, 1, at), 1);
    }
    fx8_undo_end(&undo);
}

/* What was saved is not written into a new file. */
static void check_new(struct file *file, const char *name)
{
    file->descriptor = open(scratch_path(name), O_RDWR | O_CREAT, 0600);
    memset(file->before, 0, BYTES);
    assert_int_equal(ftruncate(file->descriptor, 2 * BYTES), 0);
    assert_int_equal(restore(file), FX8_UNDO_FOREIGN);
    assert_true(is_as_before(file));
    close(file->descriptor);
}

TEST(what_was_saved_of_another_file)
{
    struct fx8_undo undo;
    struct file *file = begin(&undo, false);
    const int first = file->descriptor;
    change(&undo, file);
    check_new(file, "other");
    close(first);
    fx8_undo_end(&undo);
}

/* A file system gives the inode of a file that was removed to the next one. */
TEST(what_was_saved_of_a_file_that_was_removed)
{
    struct fx8_undo undo;
    struct file *file = begin(&undo, false);
    change(&undo, file);
    close(file->descriptor);
    assert_int_equal(unlink(scratch_path("file")), 0);
    /* times of birth may be those of the kernel's clock, of 1 to 10 ms */
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    check_new(file, "file");
    fx8_undo_end(&undo);
}

/* A torn write that cannot be completed now can be later. */
TEST(a_failure_loses_nothing)
{
    struct fx8_undo undo;
    struct file *file = begin(&undo, true);
    const uint8_t bytes[100] = {1, 2, 3};
    enum fx8_undo_found found;
    change_and_note(&undo, file);
    assert_int_equal(fx8_undo_note(&undo, 0, sizeof bytes, bytes), 0);
    memcpy(file->before, bytes, sizeof bytes);
    const int read_only = open(scratch_path("file"), O_RDONLY);
    assert_int_equal(
        fx8_undo_restore(scratch_path("file.undo"), read_only, &found), EBADF);
    assert_int_equal(found, FX8_UNDO_FOREIGN);
    assert_int_equal(restore(file), FX8_UNDO_SAME_BOOT);
    assert_true(is_as_before(file));
    close(read_only);
    close(file->descriptor);
    fx8_undo_end(&undo);
}

/* Two runs that began together: the second one must not write into it. */
TEST(two_at_once)
{
    struct fx8_undo undo, other = {.path = scratch_path("file.undo")};
    struct file *file = begin(&undo, false);
    change(&undo, file);
    assert_int_equal(fx8_undo_begin(&other, file->descriptor, 0), EBUSY);
    assert_false(other.is_open);
    assert_int_equal(restore(file), FX8_UNDO_RESTORED);
    assert_true(is_as_before(file));
    fx8_undo_close(&undo);
    assert_int_equal(fx8_undo_begin(&other, file->descriptor, 0), 0);
    fx8_undo_end(&other);
    close(file->descriptor);
}

/* Other files of that name stay; what a power failure has emptied does not. */
TEST(names)
{
    const char *path = scratch_text("file.undo", "precious");
    struct fx8_undo undo = {.path = path};
    const int file = open(scratch_path("file"), O_RDWR | O_CREAT, 0600);
    enum fx8_undo_found found;
    assert_int_equal(fx8_undo_begin(&undo, file, UINT64_MAX), EEXIST);
    fx8_undo_end(&undo);
    assert_int_equal(fx8_undo_restore(path, file, &found), 0);
    assert_int_equal(found, FX8_UNDO_FOREIGN);
    assert_true(scratch_exists("file.undo"));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(fx8_undo_begin(&undo, file, UINT64_MAX), 0);
    fx8_undo_end(&undo);
    assert_false(scratch_exists("file.undo"));
    close(file);
}
