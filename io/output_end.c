/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output_end.c -- see output.h: how a file gets its final name, or stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/read_files.h"
#include "config/base/try.h"
#include "io/output_private.h"
#include "io/parts.h"

int fx8_output_rename(const char *from, const char *to, bool replaces)
{
    if (!replaces) {
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS)
            return -1;
    }
    return rename(from, to);
}

/* The file is complete, but no longer has its .part name. */
static enum fx8_status fail_lost(const struct fx8_output *output,
                                 struct fx8_error *error)
{
    char link[64], place[PATH_MAX] = "";
    struct stat status;
    snprintf(link, sizeof link, "/proc/self/fd/%d", output->file.descriptor);
    if (fstat(output->file.descriptor, &status) == 0 && status.st_nlink == 0)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "%s: removed during the run: the result is lost",
                        output->part);
    const ssize_t length = readlink(link, place, sizeof place - 1);
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "%s: moved during the run: the result is now %s",
                    output->part, length > 0 ? place : "where it was moved to");
}

/* The file is complete but could not be renamed: keep the .part, so that the
 * user can rename it.  `reason` is an errno. */
static enum fx8_status keep_part(const struct fx8_output *output, int reason,
                                 struct fx8_error *error)
{
    if (reason == EEXIST)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: appeared during the run: the result stays in %s; "
                        "expected no file of that name",
                        output->path, output->part);
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "%s: %s: the result stays in %s, as it cannot be renamed",
                    output->path, strerror(reason), output->part);
}

/* Rename our own file only.  Names cannot be checked and changed in one step:
 * if another file was put under our name in between, it is renamed back. */
static enum fx8_status name_file(const struct fx8_output *output,
                                 struct fx8_error *error)
{
    struct stat target;
    if (!fx8_output_is_ours(output))
        return fail_lost(output, error);
    if (stat(output->path, &target) == 0 && fx8_read_files_has(&target))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: is a file that this run has read: the result "
                        "stays in %s",
                        output->path, output->part);
    if (fx8_part_is_locked(output->path))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: locked: another run is writing it: the result "
                        "stays in %s",
                        output->path, output->part);
    if (fx8_output_rename(output->part, output->path, output->force) != 0) {
        const int reason = errno;
        return fx8_output_is_ours(output) ? keep_part(output, reason, error)
                                          : fail_lost(output, error);
    }
    if (fx8_part_is_name_of(output->path, output->file.descriptor))
        return FX8_OK;
    (void)renameat2(AT_FDCWD, output->path, AT_FDCWD, output->part,
                    RENAME_NOREPLACE);
    return fail_lost(output, error);
}

/* Synchronise the file; if it is to be protected, as it is now. */
static enum fx8_status sync_part(struct fx8_output *output, bool protects,
                                 struct fx8_error *error)
{
    struct fx8_undo *undo = &output->file.undo;
    if (fsync(output->file.descriptor) != 0) {
        const enum fx8_status status =
            fx8_output_system_fail(output->part, "sync", error);
        fx8_undo_distrust(undo);
        return status;
    }
    /* bytes behind the end of a shorter file are not saved */
    const bool cuts = output->file.keeps_length && output->file.opened == NULL;
    const uint64_t end = cuts ? output->file.end : UINT64_MAX;
    errno = protects ? fx8_undo_begin(undo, output->file.descriptor, end) : 0;
    if (errno == EBUSY)
        return fx8_part_fail_locked(output->part, error);
    if (errno != 0)
        return fx8_output_system_fail(output->undo, "write", error);
    if (cuts && ftruncate(output->file.descriptor, (off_t)end) != 0)
        return fx8_output_system_fail(output->part, "shorten", error);
    return FX8_OK;
}

enum fx8_status fx8_output_sync(struct fx8_output *output,
                                struct fx8_error *error)
{
    return sync_part(output, output->file.undo.is_open, error);
}

enum fx8_status fx8_output_protect(struct fx8_output *output, bool saves_raw,
                                   bool is_one_machine, struct fx8_error *error)
{
    output->file.undo.saves_raw = saves_raw;
    output->file.undo.is_one_machine = is_one_machine;
    return sync_part(output, true, error);
}

enum fx8_status fx8_output_protect_change(struct fx8_output *output,
                                          struct fx8_error *error)
{
    output->file.keeps_length = true;
    return fx8_output_protect(output, true, false, error);
}

void fx8_output_unprotect(struct fx8_output *output)
{
    fx8_undo_end(&output->file.undo);
}

enum fx8_status fx8_output_commit(struct fx8_output **output,
                                  struct fx8_error *error)
{
    struct fx8_output *done = *output;
    enum fx8_status status = fx8_output_check(done, error);
    if (status != FX8_OK) {
        fx8_output_abandon(output);
        return status;
    }
    status = fx8_output_sync(done, error);
    if (status != FX8_OK) {
        fx8_output_leave(output, "what is there", error);
        return status;
    }
    status = name_file(done, error);
    if (status == FX8_OK) {
        fx8_part_sync_folder(done->path);
        fx8_undo_end(&done->file.undo);
    }
    *output = NULL;
    fx8_output_release(done);
    return status;
}

enum fx8_status fx8_output_finish(struct fx8_output **output, const char *text,
                                  size_t size, struct fx8_error *error)
{
    const enum fx8_status status = fx8_output_write(*output, text, size, error);
    if (status == FX8_OK)
        return fx8_output_commit(output, error);
    fx8_output_abandon(output);
    return status;
}

void fx8_output_leave(struct fx8_output **output, const char *what,
                      struct fx8_error *error)
{
    struct fx8_output *left = *output;
    if (left == NULL)
        return;
    const bool is_sound = left->file.failure != FX8_DRIVER_CUT;
    if (error != NULL && is_sound && fx8_output_is_ours(left)) {
        const struct fx8_error reason = *error;
        fx8_fail(error, reason.status, "%s; %s keeps %s", reason.message,
                 left->part, what);
    }
    *output = NULL;
    fx8_output_release(left);
}

void fx8_output_abandon(struct fx8_output **output)
{
    if (*output == NULL)
        return;
    if (fx8_output_is_ours(*output)) {
        unlink((*output)->part);
        fx8_undo_end(&(*output)->file.undo);
        fx8_undo_remove((*output)->undo); /* of an earlier run */
    }
    fx8_output_release(*output);
    *output = NULL;
}
