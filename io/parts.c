/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/parts.h"

bool fx8_part_is_name_of(const char *name, int descriptor)
{
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && lstat(name, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
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
            (state == FX8_PART_OURS || is_new(descriptor)))
            (void)unlink(name);
    }
    return n;
}
