/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/driver.h"
#include "io/h5/h5.h"
#include "io/output.h"

struct fx8_output {
    char *path;
    char *part;
    bool force;
    struct fx8_driver_file file;
};

static enum fx8_status system_fail(const char *path, const char *expected,
                                   struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_SYSTEM, "%s: %s: expected %s", path,
                    strerror(errno), expected);
}

static enum fx8_status check_final_name(const char *path, bool force,
                                        struct fx8_error *error)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return FX8_OK; /* a missing directory is told by opening the .part */
    if (S_ISDIR(status.st_mode))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: a directory: expected the name of a file", path);
    if (!force)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: exists: expected a new name, or --force", path);
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: not a regular file: expected a regular file",
                        path);
    return FX8_OK;
}

/* Take the lock.  File systems without locks are written without one. */
static enum fx8_status lock_part(const struct fx8_output *output,
                                 struct fx8_error *error)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fcntl(output->file.descriptor, F_OFD_SETLK, &lock) != 0) {
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN || errno == EACCES)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: locked: another run is writing it; expected "
                            "another output name, or wait for that run",
                            output->part);
        if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP ||
            errno == EINVAL)
            return FX8_OK;
        return system_fail(output->part, "to lock it", error);
    }
    return FX8_OK;
}

/* Open and lock; again when the file was renamed or removed in between. */
static enum fx8_status open_part(struct fx8_output *output,
                                 struct fx8_error *error)
{
    for (;;) {
        output->file.descriptor =
            open(output->part,
                 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
        if (output->file.descriptor < 0)
            return system_fail(output->part, "to create it", error);
        struct stat opened;
        if (fstat(output->file.descriptor, &opened) != 0)
            return system_fail(output->part, "to inspect it", error);
        if (!S_ISREG(opened.st_mode))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: not a regular file: expected a regular file",
                            output->part);
        const enum fx8_status status = lock_part(output, error);
        if (status != FX8_OK)
            return status;
        struct stat named;
        if (lstat(output->part, &named) == 0 && named.st_dev == opened.st_dev &&
            named.st_ino == opened.st_ino)
            return FX8_OK;
        close(output->file.descriptor);
        output->file.descriptor = -1;
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

/* Release memory and descriptor; the lock goes with the descriptor. */
static void release(struct fx8_output *output)
{
    if (output->file.descriptor >= 0)
        close(output->file.descriptor);
    free(output->part);
    free(output->path);
    free(output);
}

enum fx8_status fx8_output_open(const char *path, bool force, uint64_t expected,
                                struct fx8_output **output,
                                struct fx8_error *error)
{
    *output = NULL;
    enum fx8_status status = check_final_name(path, force, error);
    if (status != FX8_OK)
        return status;
    struct fx8_output *new = calloc(1, sizeof *new);
    if (new == NULL)
        return system_fail(path, "memory for its record", error);
    new->force = force;
    new->file.descriptor = -1;
    new->path = strdup(path);
    if (new->path == NULL || asprintf(&new->part, "%s.part", path) < 0) {
        new->part = NULL;
        status = system_fail(path, "memory for its name", error);
        goto failed;
    }
    if ((status = open_part(new, error)) != FX8_OK)
        goto failed;
    /* from here on the .part is ours to empty and to remove */
    if (ftruncate(new->file.descriptor, 0) != 0)
        status = system_fail(new->part, "to empty it", error);
    else
        status = check_space(new, expected, error);
    if (status != FX8_OK) {
        unlink(new->part);
        goto failed;
    }
    *output = new;
    return FX8_OK;
failed:
    release(new);
    return status;
}

/* Create where `meta_block_size` is given, else open what is there. */
static enum fx8_status enter_hdf5(struct fx8_output *output,
                                  size_t meta_block_size, hid_t *file,
                                  struct fx8_error *error)
{
    *file = FX8_H5_NONE;
    enum fx8_status status = FX8_OK;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
        fx8_driver_set(access, &output->file) >= 0) {
        if (meta_block_size == 0)
            *file = H5Fopen(output->part, H5F_ACC_RDWR, access);
        else if (H5Pset_meta_block_size(access, meta_block_size) >= 0)
            *file = H5Fcreate(output->part, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    }
    if (*file < 0)
        status = fx8_output_fail(output, "HDF5 file", error);
    fx8_h5_close(&access);
    return status;
}

enum fx8_status fx8_output_create_hdf5(struct fx8_output *output,
                                       size_t meta_block_size, hid_t *file,
                                       struct fx8_error *error)
{
    return enter_hdf5(output, meta_block_size, file, error);
}

enum fx8_status fx8_output_open_hdf5(struct fx8_output *output, hid_t *file,
                                     struct fx8_error *error)
{
    return enter_hdf5(output, 0, file, error);
}

const char *fx8_output_part(const struct fx8_output *output)
{
    return output->part;
}

enum fx8_status fx8_output_flush(struct fx8_output *output, hid_t file,
                                 struct fx8_error *error)
{
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        return fx8_output_fail(output, "flush", error);
    fx8_driver_commit(&output->file);
    return fx8_output_check(output, error);
}

enum fx8_status fx8_output_check(const struct fx8_output *output,
                                 struct fx8_error *error)
{
    const struct fx8_driver_file *file = &output->file;
    if (file->failure == 0)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "%s: %s: expected to write %" PRIu64
                    " bytes at offset %" PRIu64,
                    output->part, strerror(file->failure), file->failed_size,
                    file->failed_offset);
}

enum fx8_status fx8_output_reserve(struct fx8_output *output,
                                   struct fx8_error *error)
{
    struct fx8_driver_file *file = &output->file;
    struct stat status;
    if (fstat(file->descriptor, &status) != 0)
        return system_fail(output->part, "to inspect it", error);
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
            return system_fail(output->part, "to write it", error);
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

/* Give the file its final name; without `force` nothing is replaced. */
static int rename_part(const struct fx8_output *output)
{
    if (!output->force) {
        if (renameat2(AT_FDCWD, output->part, AT_FDCWD, output->path,
                      RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS)
            return -1;
    }
    return rename(output->part, output->path);
}

/* Make the new name durable; a directory that cannot be synced is no reason
 * to lose a whole file. */
static void sync_directory(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        return;
    const int directory = open(dirname(copy), O_RDONLY | O_CLOEXEC);
    if (directory >= 0) {
        fsync(directory);
        close(directory);
    }
    free(copy);
}

/* The file is whole but has not got its name: what hours have made stays, and
 * whoever reads the message renames it.  `reason` is an errno. */
static enum fx8_status keep_part(const struct fx8_output *output, int reason,
                                 struct fx8_error *error)
{
    if (reason == EEXIST)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: appeared during the run: the result stays in %s; "
                        "expected no file of that name",
                        output->path, output->part);
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "%s: %s: the result, whole, stays in %s; expected to "
                    "rename it",
                    output->path, strerror(reason), output->part);
}

enum fx8_status fx8_output_commit(struct fx8_output **output,
                                  struct fx8_error *error)
{
    struct fx8_output *done = *output;
    enum fx8_status status = fx8_output_check(done, error);
    if (status == FX8_OK && fsync(done->file.descriptor) != 0)
        status = system_fail(done->part, "to bring it to disk", error);
    if (status != FX8_OK) {
        fx8_output_abandon(output);
        return status;
    }
    if (rename_part(done) != 0)
        status = keep_part(done, errno, error);
    else
        sync_directory(done->path);
    *output = NULL;
    release(done);
    return status;
}

void fx8_output_abandon(struct fx8_output **output)
{
    if (*output == NULL)
        return;
    unlink((*output)->part);
    release(*output);
    *output = NULL;
}
