/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_files.h -- the files that this process reads, by device and inode, so
 * that no result is written over one of them, whatever name or link leads
 * there.
 *
 * Whoever opens a file for reading adds it; io/output.c asks.
 */
#ifndef FX8_CONFIG_BASE_READ_FILES_H
#define FX8_CONFIG_BASE_READ_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Add a file, from fstat() of its descriptor; false: no memory.  Any thread.
 */
bool fx8_read_files_add(const struct stat *file);

/** Add every file in a folder, those below its folders not included; false: no
 *  memory.  The folder is listed only when fx8_read_files_has() needs it. */
bool fx8_read_files_add_folder(const char *path);

/** Whether a file is one that was added, or is in a folder that was. */
bool fx8_read_files_has(const struct stat *file);

/** Forget all, between two jobs of one process: an inode may be given to
 *  another file once the first is removed. */
void fx8_read_files_forget(void);

#ifdef __cplusplus
}
#endif

#endif
