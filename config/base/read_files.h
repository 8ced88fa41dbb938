/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_files.h -- the files that this process reads, by device and inode, so
 * that no result overwrites one of them through any name or link.
 *
 * Code that opens a file for reading adds it here; io/output.c checks.
 */
#ifndef FX8_CONFIG_BASE_READ_FILES_H
#define FX8_CONFIG_BASE_READ_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

/** Add a file from fstat() of its descriptor; false: no memory.  Thread-safe.
 */
bool fx8_read_files_add(const struct stat *file);

/** Add every file in a folder, not in its subfolders; false: no memory.  The
 *  folder is listed only when fx8_read_files_has() needs it. */
bool fx8_read_files_add_folder(const char *path);

/** Whether a file, or its folder, was added. */
bool fx8_read_files_has(const struct stat *file);

/** Forget all files, between two jobs of one process: the inode of a removed
 *  file may be reused. */
void fx8_read_files_forget(void);

#endif
