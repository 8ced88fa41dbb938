/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config/base/read_files.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/driver.h"
#include "io/h5/h5.h"
#include "io/output_private.h"
#include "io/parts.h"

enum fx8_status fx8_output_system_fail(const char *path, const char *verb,
                                       struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_SYSTEM, "%s: cannot %s it: %s", path, verb,
                    strerror(errno));
}

static void note(const struct fx8_output *output, enum fx8_part_state state)
{
    fx8_part_update(output->number, output->file.descriptor, state);
}

/* --- names ---------------------------------------------------------------- */

/* Take the lock.  No lock on file systems that do not support them. */
static enum fx8_status lock_part(const struct fx8_output *output,
                                 struct fx8_error *error)
{
    while (fx8_part_lock(output->file.descriptor) != 0) {
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN || errno == EACCES)
            return fx8_part_fail_locked(output->part, error);
        if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP ||
            errno == EINVAL)
            return FX8_OK;
        return fx8_output_system_fail(output->part, "lock", error);
    }
    return FX8_OK;
}

/* Whether the existing file may be replaced.  HDF5 writes the first bytes of a
 * file last, so one that begins with zeros was never valid; for a valid one,
 * may_replace() decides. */
static bool is_replaceable(struct fx8_output *output,
                           bool (*may_replace)(hid_t file))
{
    char start[8] = "";
    bool is_begun = false;
    if (pread(output->file.descriptor, start, sizeof start, 0) < 0)
        return false;
    for (size_t i = 0; i < sizeof start; i++)
        is_begun = is_begun || start[i] != 0;
    if (!is_begun || may_replace == NULL)
        return !is_begun;
    FX8_H5_AUTO file = FX8_H5_NONE;
    return fx8_output_open_hdf5(output, H5F_ACC_RDONLY, &file, NULL) ==
               FX8_OK &&
           may_replace(file);
}

/* Open the existing or, with `create` O_CREAT, a new .part and lock it. */
static enum fx8_status open_and_lock(struct fx8_output *output, int create,
                                     struct stat *opened,
                                     struct fx8_error *error)
{
    output->file.descriptor =
        open(output->part,
             O_RDWR | create | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    if (output->file.descriptor < 0 && create == 0 && errno == ENOENT)
        return FX8_OK;
    if (output->file.descriptor < 0 && errno == ELOOP)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: a symbolic link: expected a file, which gets "
                        "another name when it is complete",
                        output->part);
    if (output->file.descriptor < 0) {
        /* it may be a read-only recording */
        const int reason = errno;
        if (stat(output->part, opened) == 0 && fx8_read_files_has(opened))
            return fx8_part_fail_read(output->part, error);
        errno = reason;
        return fx8_output_system_fail(output->part,
                                      create == 0 ? "open" : "create", error);
    }
    note(output, FX8_PART_BEGUN);
    if (fstat(output->file.descriptor, opened) != 0)
        return fx8_output_system_fail(output->part, "inspect", error);
    if (!S_ISREG(opened->st_mode))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: not a regular file: expected a regular file",
                        output->part);
    /* an earlier file was read, to compare it */
    if (create != 0 && opened->st_size > 0 && fx8_read_files_has(opened))
        return fx8_part_fail_read(output->part, error);
    FX8_TRY(lock_part(output, error));
    if (fstat(output->file.descriptor, opened) != 0)
        return fx8_output_system_fail(output->part, "inspect", error);
    return FX8_OK;
}

static enum fx8_status fail_in_use(const struct fx8_output *output,
                                   struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: exists and holds data, perhaps of a run that did not "
                    "end: expected --force to replace it, or another output "
                    "name",
                    output->part);
}

/* Create an empty .part.  A file of an earlier run is unlinked, never
 * truncated, since it may have other names.  Starts again if the file was
 * renamed or removed before it was locked. */
static enum fx8_status open_part(struct fx8_output *output,
                                 bool (*may_replace)(hid_t file),
                                 struct fx8_error *error)
{
    for (;;) {
        struct stat opened;
        FX8_TRY(open_and_lock(output, O_CREAT, &opened, error));
        const bool is_named = fx8_output_is_ours(output);
        if (is_named && opened.st_size == 0) {
            fx8_undo_remove(output->undo); /* of another file */
            note(output, FX8_PART_OURS);
            return FX8_OK;
        }
        if (is_named && !output->force && !is_replaceable(output, may_replace))
            return fail_in_use(output, error);
        if (is_named && unlink(output->part) != 0)
            return fx8_output_system_fail(output->part, "replace", error);
        const int passed_over = output->file.descriptor;
        output->file.descriptor = -1;
        note(output, FX8_PART_BEGUN);
        close(passed_over);
    }
}

static enum fx8_status check_space(const struct fx8_output *output,
                                   uint64_t expected, struct fx8_error *error)
{
    struct statvfs volume;
    if (expected == 0 || fstatvfs(output->file.descriptor, &volume) != 0)
        return FX8_OK;
    const uint64_t block = volume.f_frsize;
    if (volume.f_bavail >= expected / block + 1)
        return FX8_OK;
    const double gigabyte = 1e9;
    return fx8_fail(
        error, FX8_ERR_SYSTEM,
        "%s: %.6f GB needed, %.6f GB free: expected a disk with more space",
        output->part, (double)expected / gigabyte,
        (double)volume.f_bavail * (double)block / gigabyte);
}

void fx8_output_release(struct fx8_output *output)
{
    note(output, FX8_PART_NONE);
    fx8_undo_close(&output->file.undo); /* before another run can begin */
    if (output->file.descriptor >= 0)
        close(output->file.descriptor);
    free(output->undo);
    free(output->part);
    free(output->path);
    free(output);
}

/* An output without a file; NULL without memory. */
static struct fx8_output *new_output(const char *path, bool force)
{
    struct fx8_output *new = calloc(1, sizeof *new);
    if (new == NULL)
        return NULL;
    new->force = force;
    new->number = SIZE_MAX;
    new->file.descriptor = -1;
    new->path = strdup(path);
    if (asprintf(&new->part, "%s.part", path) < 0)
        new->part = NULL;
    if (asprintf(&new->undo, "%s.part.undo", path) < 0)
        new->undo = NULL;
    new->file.undo.path = new->undo;
    if (new->path == NULL || new->part == NULL || new->undo == NULL) {
        fx8_output_release(new);
        return NULL;
    }
    return new;
}

enum fx8_status fx8_output_open(const char *path, bool force, uint64_t expected,
                                bool (*may_replace)(hid_t file),
                                struct fx8_output **output,
                                struct fx8_error *error)
{
    *output = NULL;
    FX8_TRY(fx8_part_check_target(path, force, error));
    struct fx8_output *new = new_output(path, force);
    if (new == NULL)
        return fx8_no_memory("an output", error);
    new->number = fx8_part_remember(new->part);
    enum fx8_status status = open_part(new, may_replace, error);
    if (status != FX8_OK) {
        fx8_output_release(new);
        return status;
    }
    /* another run may have just taken the name */
    if ((status = fx8_part_check_target(path, force, error)) != FX8_OK ||
        (status = check_space(new, expected, error)) != FX8_OK) {
        fx8_output_abandon(&new);
        return status;
    }
    *output = new;
    return FX8_OK;
}

/* Open and lock the file that is named `part`; without one, the descriptor
 * stays negative.  Starts again if it was renamed before it was locked. */
static enum fx8_status open_earlier(struct fx8_output *output,
                                    struct fx8_error *error)
{
    struct stat opened;
    for (;;) {
        FX8_TRY(open_and_lock(output, 0, &opened, error));
        if (output->file.descriptor < 0 || fx8_output_is_ours(output))
            return FX8_OK;
        close(output->file.descriptor);
    }
}

/* Take back what a power failure has spoiled. */
static enum fx8_status restore_part(struct fx8_output *output,
                                    struct fx8_error *error)
{
    const int reason =
        fx8_undo_restore(output->undo, output->file.descriptor, &output->found);
    return reason == 0 ? FX8_OK
                       : fx8_fail(error, FX8_ERR_SYSTEM,
                                  "%s: cannot be restored from %s: %s",
                                  output->part, output->undo, strerror(reason));
}

/* Find the .part, or, without dumps there, the file under the final name. */
static enum fx8_status find_earlier(struct fx8_output *output,
                                    bool (*may_replace)(hid_t file),
                                    bool *is_found, struct fx8_error *error)
{
    FX8_TRY(open_earlier(output, error));
    *is_found = output->file.descriptor >= 0;
    if (*is_found) {
        FX8_TRY(restore_part(output, error));
        if (!is_replaceable(output, may_replace))
            return fx8_part_check_target(output->path, output->force, error);
        *is_found = false;
        close(output->file.descriptor);
        output->file.descriptor = -1;
        if (output->force) /* that run was to replace PATH */
            return FX8_OK;
    }
    strcpy(output->part, output->path); /* shorter */
    FX8_TRY(open_earlier(output, error));
    *is_found = output->file.descriptor >= 0;
    /* a user has renamed PATH.part, or a run did and was killed before it
     * removed PATH.part.undo */
    return *is_found ? restore_part(output, error) : FX8_OK;
}

enum fx8_status fx8_output_reopen(const char *path, bool force,
                                  bool (*may_replace)(hid_t file),
                                  struct fx8_output **output,
                                  struct fx8_error *error)
{
    *output = NULL;
    struct fx8_output *new = new_output(path, force);
    if (new == NULL)
        return fx8_no_memory("an output", error);
    bool is_found;
    const enum fx8_status status =
        find_earlier(new, may_replace, &is_found, error);
    if (status != FX8_OK || !is_found)
        fx8_output_release(new);
    else
        *output = new;
    return status;
}

enum fx8_undo_found fx8_output_found(const struct fx8_output *output)
{
    return output->found;
}

void fx8_output_remove_undo(const struct fx8_output *output)
{
    if (output->found != FX8_UNDO_FOREIGN)
        fx8_undo_remove(output->undo);
}

bool fx8_output_has_ended(const struct fx8_output *output)
{
    return strcmp(output->part, output->path) == 0;
}

/* Remove a .part without dumps, which is in the way of another file. */
static enum fx8_status remove_part(struct fx8_output *output,
                                   bool (*may_replace)(hid_t file),
                                   struct fx8_error *error)
{
    struct stat status;
    FX8_TRY(open_earlier(output, error));
    if (output->file.descriptor < 0)
        return FX8_OK;
    if (fstat(output->file.descriptor, &status) != 0)
        return fx8_output_system_fail(output->part, "inspect", error);
    if (fx8_read_files_has(&status))
        return fx8_part_fail_read(output->part, error);
    if (!is_replaceable(output, may_replace))
        return fail_in_use(output, error);
    return unlink(output->part) == 0
               ? FX8_OK
               : fx8_output_system_fail(output->part, "remove", error);
}

enum fx8_status fx8_output_take_up(struct fx8_output *output,
                                   bool (*may_replace)(hid_t file),
                                   struct fx8_error *error)
{
    if (!fx8_output_has_ended(output))
        return FX8_OK;
    if (!fx8_output_is_ours(output))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: moved or replaced since this run began: expected "
                        "it to stay",
                        output->path);
    struct fx8_output *part = new_output(output->path, false);
    if (part == NULL)
        return fx8_no_memory("an output's name", error);
    enum fx8_status status = remove_part(part, may_replace, error);
    if (status == FX8_OK &&
        fx8_output_rename(output->path, part->part, false) != 0)
        status =
            fx8_fail(error, FX8_ERR_SYSTEM, "%s: cannot rename it to %s: %s",
                     output->path, part->part, strerror(errno));
    if (status == FX8_OK) {
        free(output->part);
        output->part = part->part;
        part->part = NULL;
    }
    fx8_output_release(part);
    return status;
}

/* Access to the output's descriptor. */
static hid_t describe_access(struct fx8_output *output)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && (H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0 ||
                        fx8_driver_set(access, &output->file) < 0))
        fx8_h5_close(&access);
    return access;
}

enum fx8_status fx8_output_create_hdf5(struct fx8_output *output,
                                       size_t meta_block_size, hid_t *file,
                                       struct fx8_error *error)
{
    FX8_H5_AUTO access = describe_access(output);
    *file = access >= 0 && H5Pset_meta_block_size(access, meta_block_size) >= 0
                ? H5Fcreate(output->part, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                : FX8_H5_NONE;
    return *file < 0 ? fx8_output_fail(output, "HDF5 file", error) : FX8_OK;
}

enum fx8_status fx8_output_open_hdf5(struct fx8_output *output, unsigned flags,
                                     hid_t *file, struct fx8_error *error)
{
    FX8_H5_AUTO access = describe_access(output);
    *file = access >= 0 ? H5Fopen(output->part, flags, access) : FX8_H5_NONE;
    return *file < 0 ? fx8_output_fail(output, "HDF5 file", error) : FX8_OK;
}

bool fx8_output_is_part(const char *path)
{
    const size_t length = strlen(path);
    return length >= 5 && strcmp(path + length - 5, ".part") == 0;
}

const char *fx8_output_part(const struct fx8_output *output)
{
    return output->part;
}

void fx8_output_hold(struct fx8_output *output)
{
    output->file.holds_old = true;
}

enum fx8_status fx8_output_flush(struct fx8_output *output, hid_t file,
                                 struct fx8_error *error)
{
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        return fx8_output_fail(output, "flush", error);
    fx8_driver_commit(&output->file);
    output->file.holds_old = false;
    return fx8_output_check(output, error);
}

enum fx8_status fx8_output_check(const struct fx8_output *output,
                                 struct fx8_error *error)
{
    const struct fx8_driver_file *file = &output->file;
    if (file->failure == 0)
        return FX8_OK;
    if (file->is_of_undo) {
        errno = file->failure;
        return fx8_output_system_fail(output->undo, "write", error);
    }
    if (file->failure == FX8_DRIVER_CUT)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "%s: was cut during the run: %" PRIu64
                        " bytes had been written",
                        output->part, file->failed_offset);
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "%s: cannot write %" PRIu64 " bytes at offset %" PRIu64
                    ": %s",
                    output->part, file->failed_size, file->failed_offset,
                    strerror(file->failure));
}

enum fx8_status fx8_output_check_reads(const struct fx8_output *output,
                                       struct fx8_error *error)
{
    errno = output->file.read_failure;
    return errno == 0 ? FX8_OK
                      : fx8_output_system_fail(output->part, "read", error);
}

enum fx8_status fx8_output_reserve(struct fx8_output *output,
                                   struct fx8_error *error)
{
    struct fx8_driver_file *file = &output->file;
    struct stat status;
    if (fstat(file->descriptor, &status) != 0)
        return fx8_output_system_fail(output->part, "inspect", error);
    int outcome = 0;
    do
        outcome = status.st_size > 0
                      ? fallocate(file->descriptor, 0, 0, status.st_size)
                      : 0;
    while (outcome != 0 && errno == EINTR);
    if (outcome == 0 || errno == EOPNOTSUPP || errno == ENOSYS ||
        errno == EINVAL)
        return FX8_OK;
    file->failure = errno;
    file->failed_offset = 0;
    file->failed_size = (uint64_t)status.st_size;
    return fx8_output_check(output, error);
}

enum fx8_status fx8_output_write(struct fx8_output *output, const void *bytes,
                                 size_t size, struct fx8_error *error)
{
    const char *at = bytes;
    for (size_t left = size; left > 0;) {
        const ssize_t n = write(output->file.descriptor, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fx8_output_system_fail(output->part, "write", error);
        at += n;
        left -= (size_t)n;
    }
    return FX8_OK;
}

enum fx8_status fx8_output_fail(const struct fx8_output *output,
                                const char *what, struct fx8_error *error)
{
    if (output->file.failure != 0)
        return fx8_output_check(output, error);
    return fx8_h5_fail(error, FX8_ERR_SYSTEM, output->part, what);
}

enum fx8_status fx8_output_noted(struct fx8_error *first,
                                 enum fx8_status status,
                                 const struct fx8_error *error)
{
    if (status != FX8_OK && first->status == FX8_OK) {
        first->status = status;
        if (error != NULL)
            *first = *error;
    }
    return status;
}
