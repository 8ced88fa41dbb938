/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/read_files.h"
#include "io/parts.h"

bool fx8_part_is_name_of(const char *name, int descriptor)
{
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && lstat(name, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void fx8_part_sync_folder(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        return;
    const int folder = open(dirname(copy), O_RDONLY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
    free(copy);
}

/* --- locks ---------------------------------------------------------------- */

static const struct flock whole_file = {.l_type = F_WRLCK,
                                        .l_whence = SEEK_SET};

int fx8_part_lock(int descriptor)
{
    struct flock lock = whole_file;
    return fcntl(descriptor, F_OFD_SETLK, &lock);
}

bool fx8_part_is_locked(const char *path)
{
    struct flock lock = whole_file;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_taken = descriptor >= 0 &&
                          fcntl(descriptor, F_OFD_GETLK, &lock) == 0 &&
                          lock.l_type != F_UNLCK;
    if (descriptor >= 0)
        close(descriptor);
    return is_taken;
}

/* --- removal on a signal -------------------------------------------------- */

/* Never freed, so a handler on another thread finds at worst a record whose
 * file is already closed. */
static struct {
    atomic_int state;
    atomic_int descriptor;
    char name[PATH_MAX];
    char undo[PATH_MAX + 8]; /* of what is saved of it */
} records[8];

#define N_RECORDS (sizeof records / sizeof records[0])

size_t fx8_part_remember(const char *part)
{
    size_t i = 0;
    while (i < N_RECORDS && records[i].state != FX8_PART_NONE)
        i++;
    if (i == N_RECORDS)
        return i;
    snprintf(records[i].name, sizeof records[i].name, "%s", part);
    snprintf(records[i].undo, sizeof records[i].undo, "%s.undo", part);
    records[i].descriptor = -1;
    records[i].state = FX8_PART_BEGUN;
    return i;
}

void fx8_part_update(size_t number, int descriptor, enum fx8_part_state state)
{
    if (number >= N_RECORDS)
        return;
    records[number].descriptor = descriptor;
    records[number].state = (int)state;
}

/* Whether a file was just created and has no other owner. */
static bool is_new(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && status.st_size == 0 &&
           fx8_part_lock(descriptor) == 0;
}

size_t fx8_part_remove_all(void)
{
    size_t n = 0;
    for (size_t i = 0; i < N_RECORDS; i++) {
        const char *name = records[i].name;
        const int state = records[i].state;
        int descriptor = records[i].descriptor;
        if (state == FX8_PART_NONE)
            continue;
        n++;
        if (descriptor < 0)
            descriptor =
                open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fx8_part_is_name_of(name, descriptor) &&
            (state == FX8_PART_OURS || is_new(descriptor))) {
            (void)unlink(name);
            (void)unlink(records[i].undo);
        }
    }
    return n;
}

/* --- refusals ------------------------------------------------------------- */

enum fx8_status fx8_part_fail_read(const char *path, struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: is a file that this run reads: expected another name "
                    "for the result",
                    path);
}

enum fx8_status fx8_part_fail_locked(const char *path, struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: locked: another run is writing it; expected another "
                    "output name, or wait for that run",
                    path);
}

enum fx8_status fx8_part_check_target(const char *path, bool force,
                                      struct fx8_error *error)
{
    struct stat status, target;
    if (lstat(path, &status) != 0)
        return FX8_OK; /* opening the .part reports a missing directory */
    if (S_ISDIR(status.st_mode))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: a directory: expected the name of a file", path);
    const bool is_there = stat(path, &target) == 0; /* or a dangling link */
    if (is_there && fx8_read_files_has(&target))
        return fx8_part_fail_read(path, error);
    if (!force)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: exists: expected a new name, or --force", path);
    if (is_there && !S_ISREG(target.st_mode))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: not a regular file: expected a regular file",
                        path);
    return is_there && fx8_part_is_locked(path)
               ? fx8_part_fail_locked(path, error)
               : FX8_OK;
}
