/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch.h -- a folder for the files of a test program, removed when the
 * program ends.  Needs _GNU_SOURCE, which every file of fx8 has.
 */
#ifndef FX8_VALIDATION_SCRATCH_H
#define FX8_VALIDATION_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Limit on the path of a scratch file, terminator included. */
#define SCRATCH_PATH_SIZE 512

/** Name of the folder, "" until the first call of scratch_folder(). */
static inline char *scratch_folder_name(void)
{
    static char name[SCRATCH_PATH_SIZE];
    return name;
}

static inline int scratch_remove_one(const char *path,
                                     const struct stat *information, int type,
                                     struct FTW *walk)
{
    (void)information;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void scratch_remove(void)
{
    nftw(scratch_folder_name(), scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/** Path of the folder, without a slash at its end. */
static inline const char *scratch_folder(void)
{
    char *name = scratch_folder_name();
    if (*name != '\0')
        return name;
    const char *parent = getenv("TMPDIR");
    snprintf(name, SCRATCH_PATH_SIZE, "%s/fx8-test-XXXXXX",
             parent != NULL ? parent : "/tmp");
    if (mkdtemp(name) == NULL) {
        perror(name);
        exit(1);
    }
    atexit(scratch_remove);
    return name;
}

/** Path of a file in the folder, valid for the next seven calls. */
static inline const char *scratch_path(const char *name)
{
    static char paths[8][SCRATCH_PATH_SIZE];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    const int length =
        snprintf(path, SCRATCH_PATH_SIZE, "%s/%s", scratch_folder(), name);
    if (length < 0 || length >= SCRATCH_PATH_SIZE) {
        fprintf(stderr, "%s/%s: too long\n", scratch_folder(), name);
        exit(1);
    }
    return path;
}

/** Whether a file is in the folder. */
static inline int scratch_exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

/** Write a file of `size` bytes; returns its path.  A failure ends the
 *  program. */
static inline const char *scratch_write(const char *name, const void *bytes,
                                        size_t size)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "wb");
    const int is_written = file != NULL && fwrite(bytes, 1, size, file) == size;
    if (file == NULL || fclose(file) != 0 || !is_written) {
        perror(path);
        exit(1);
    }
    return path;
}

/** Write a text file; returns its path. */
static inline const char *scratch_text(const char *name, const char *text)
{
    return scratch_write(name, text, strlen(text));
}

#endif
