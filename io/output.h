/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h -- a file that appears under its name only when it is whole.
 *
 * PATH.part is locked, written through a low-level driver of our own, and
 * renamed at the end.  libhdf5 1.10 can crash when a write fails and the file
 * is closed afterwards; so the driver remembers the first failure and lets
 * every later write succeed into nothing.  The library closes in peace, and
 * whoever writes asks fx8_output_check() after each flush.
 */
#ifndef FX8_IO_OUTPUT_H
#define FX8_IO_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fx8_output;

/**
 * fx8_output_open -- get an empty PATH.part of our own, and lock it.
 *
 * Given:  path      final name; the directory must exist
 *         force     replace an existing PATH at the end, and a PATH.part now
 *         expected  bytes that will be written, 0 when unknown: checked
 *                   against the free space
 *         may_replace  whether an HDF5 file that is there as PATH.part may be
 *                   replaced without `force`; NULL: never.  Without `force` any
 *                   other file there stays, unless it is empty or begins with
 *                   zeros: what a kill leaves before the file is valid
 * Status: FX8_ERR_USAGE: PATH exists and force is not set, PATH or PATH.part
 *         is a file that this process reads (config/base/read_files.h), even
 * with force, or is not a regular file, PATH.part holds data, another run holds
 * it; FX8_ERR_SYSTEM: the system's reason, or not enough space with both
 * figures Notes:  the lock is an open-file-description lock (fcntl): it does
 * not keep readers that use flock, such as h5dump, away from the .part
 */
enum fx8_status fx8_output_open(const char *path, bool force, uint64_t expected,
                                bool (*may_replace)(hid_t file),
                                struct fx8_output **output,
                                struct fx8_error *error);

/** Create the HDF5 file in it; meta_block_size is above 0.  The handle must be
 *  closed before commit or abandon. */
enum fx8_status fx8_output_create_hdf5(struct fx8_output *output,
                                       size_t meta_block_size, hid_t *file,
                                       struct fx8_error *error);

/** The same for the file that was created and closed before. */
enum fx8_status fx8_output_open_hdf5(struct fx8_output *output, hid_t *file,
                                     struct fx8_error *error);

/** Append bytes to a file that is no HDF5.  FX8_ERR_SYSTEM: the system's
 *  reason. */
enum fx8_status fx8_output_write(struct fx8_output *output, const void *bytes,
                                 size_t size, struct fx8_error *error);

/** Name of the .part, for messages; valid as long as the output. */
const char *fx8_output_part(const struct fx8_output *output);

/** Bring all of the HDF5 file to the .part, which from then on opens as it is
 *  now, whenever the process is killed; status as fx8_output_check(). */
enum fx8_status fx8_output_flush(struct fx8_output *output, hid_t file,
                                 struct fx8_error *error);

/** FX8_OK, or FX8_ERR_SYSTEM "PATH.part: reason: expected to write N bytes at
 *  M" when a write has failed. */
enum fx8_status fx8_output_check(const struct fx8_output *output,
                                 struct fx8_error *error);

/** Reserve disk blocks for all that the file already spans, so that a full
 *  disk shows now; file systems that cannot reserve are not asked again. */
enum fx8_status fx8_output_reserve(struct fx8_output *output,
                                   struct fx8_error *error);

/** Error of a failed call of HDF5: the failed write where there was one, else
 *  the library's reason. */
enum fx8_status fx8_output_fail(const struct fx8_output *output,
                                const char *what, struct fx8_error *error);

/** Bring to disk and rename to the final name; nulls the handle.  After a
 *  failed write the file is removed.  One that is whole and cannot be renamed
 *  (another file has taken the final name, or may not be replaced) stays as
 *  .part.  Where the .part was moved, removed or replaced, whatever is under
 *  that name now is left alone.  The message says where the result is. */
enum fx8_status fx8_output_commit(struct fx8_output **output,
                                  struct fx8_error *error);

/** Close a file that will not become whole and leave its .part; nulls the
 *  handle, a NULL handle is legal.  "; PATH.part keeps WHAT" is added to
 *  `error` where that is so; NULL: nowhere. */
void fx8_output_leave(struct fx8_output **output, const char *what,
                      struct fx8_error *error);

/** Remove the .part, unless it is another file by now, and forget it; a NULL
 *  handle is legal. */
void fx8_output_abandon(struct fx8_output **output);

#ifdef __cplusplus
}
#endif

#endif
