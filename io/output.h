/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h -- a file that gets its final name only when complete.
 *
 * PATH.part is locked, written through our own low-level driver, and renamed at
 * the end.  libhdf5 1.10 can crash when it closes a file after a failed write,
 * so the driver records the first failure and discards later writes while
 * reporting success.  Writers call fx8_output_check() after each flush.
 */
#ifndef FX8_IO_OUTPUT_H
#define FX8_IO_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"
#include "io/undo.h"

struct fx8_output;

/**
 * fx8_output_open -- create an empty PATH.part and lock it.
 *
 * Given:  path      final name; the directory must exist
 *         force     replace an existing PATH at the end and an existing
 *                   PATH.part now
 *         expected  bytes that will be written, 0 if unknown: checked against
 *                   the free space
 *         may_replace  whether an existing HDF5 file PATH.part may be replaced
 *                   without `force`; NULL: never.  Without `force`, any other
 *                   PATH.part is kept unless it is empty or begins with zeros,
 *                   which is what a kill leaves before the file is valid
 * Status: FX8_ERR_USAGE: PATH exists and force is not set; PATH or PATH.part
 *         is a file that this process reads (config/base/read_files.h), even
 *         with force, or is not a regular file; PATH.part holds data, or
 *         another run holds it.  FX8_ERR_SYSTEM: the system's reason, or not
 *         enough space (with both figures)
 * Notes:  the lock is an open-file-description lock (fcntl): it does not keep
 *         readers that use flock, such as h5dump, away from the .part
 */
enum fx8_status fx8_output_open(const char *path, bool force, uint64_t expected,
                                bool (*may_replace)(hid_t file),
                                struct fx8_output **output,
                                struct fx8_error *error);

/**
 * fx8_output_reopen -- lock the PATH.part of an earlier run, or, without one or
 * beside one without dumps, PATH itself, to go on with it.
 *
 * Given:    force        the .part may replace an existing PATH at the end, and
 *                        is begun again if it has no dumps
 *           may_replace  as for fx8_output_open(): a .part without dumps
 * Returned: output       NULL if no file has dumps to go on with
 * Status:   as fx8_output_open()
 * Notes:    nothing is changed before fx8_output_take_up(), but for what
 *           PATH.part.undo takes back
 */
enum fx8_status fx8_output_reopen(const char *path, bool force,
                                  bool (*may_replace)(hid_t file),
                                  struct fx8_output **output,
                                  struct fx8_error *error);

/** Whether it is still PATH, which a run has ended. */
bool fx8_output_has_ended(const struct fx8_output *output);

/** Rename PATH to PATH.part, unless it is one already.  Another PATH.part is
 *  replaced if fx8_output_open() may do so. */
enum fx8_status fx8_output_take_up(struct fx8_output *output,
                                   bool (*may_replace)(hid_t file),
                                   struct fx8_error *error);

/** Create the HDF5 file in it.  The handle must be closed before commit or
 *  abandon. */
enum fx8_status fx8_output_create_hdf5(struct fx8_output *output,
                                       size_t meta_block_size, hid_t *file,
                                       struct fx8_error *error);

/** The same, of the HDF5 file that is there: H5F_ACC_RDWR or H5F_ACC_RDONLY. */
enum fx8_status fx8_output_open_hdf5(struct fx8_output *output, unsigned flags,
                                     hid_t *file, struct fx8_error *error);

/** FX8_OK, or FX8_ERR_SYSTEM "PATH.part: cannot read it: reason" when the
 *  system has failed to read the HDF5 file. */
enum fx8_status fx8_output_check_reads(const struct fx8_output *output,
                                       struct fx8_error *error);

/** Append bytes to a non-HDF5 file.  FX8_ERR_SYSTEM: the system's reason. */
enum fx8_status fx8_output_write(struct fx8_output *output, const void *bytes,
                                 size_t size, struct fx8_error *error);

/** Whether the name ends in .part: the output of a run that has not finished.
 */
bool fx8_output_is_part(const char *path);

/** Name of the .part, or of what is reopened, for messages; valid until
 *  fx8_output_take_up(). */
const char *fx8_output_part(const struct fx8_output *output);

/** Hold back until the next flush what replaces other data, so that a kill
 *  leaves all of the old or all of the new: a few small values. */
void fx8_output_hold(struct fx8_output *output);

/** Write the whole HDF5 file to the .part.  If the process is killed later, the
 *  .part still opens in this state.  Status as fx8_output_check(). */
enum fx8_status fx8_output_flush(struct fx8_output *output, hid_t file,
                                 struct fx8_error *error);

/** Wait until the disk has what was written.  If the file is protected, a power
 *  failure takes it back to this moment from now on: flush before. */
enum fx8_status fx8_output_sync(struct fx8_output *output,
                                struct fx8_error *error);

/**
 * fx8_output_protect -- synchronise the .part; if the power fails later,
 * PATH.part.undo takes it back to what it is now.
 *
 * Given:  saves_raw       raw data are taken back, too: else only HDF5's tables
 *         is_one_machine  only this machine changes the .part: a process that
 *                         is killed loses nothing that it had written
 * Status: FX8_ERR_SYSTEM: the system's reason
 * Notes:  flush before
 */
enum fx8_status fx8_output_protect(struct fx8_output *output, bool saves_raw,
                                   bool is_one_machine,
                                   struct fx8_error *error);

/** The same before changes of which a kill could leave some: after a kill, too,
 *  the .part goes back to what it is now, until fx8_output_commit(). */
enum fx8_status fx8_output_protect_change(struct fx8_output *output,
                                          struct fx8_error *error);

/** End that: the .part is synchronised, and stays as it is. */
void fx8_output_unprotect(struct fx8_output *output);

/** What PATH.part.undo says of the .part that is reopened, or did to it. */
enum fx8_undo_found fx8_output_found(const struct fx8_output *output);

/** Remove PATH.part.undo if it belongs to the file that is reopened. */
void fx8_output_remove_undo(const struct fx8_output *output);

/** FX8_OK, or FX8_ERR_SYSTEM "PATH.part: cannot write N bytes at offset M:
 *  reason" when a write has failed. */
enum fx8_status fx8_output_check(const struct fx8_output *output,
                                 struct fx8_error *error);

/** Reserve disk blocks for the current extent of the file, so that a full disk
 *  is detected now.  Skipped if the file system cannot reserve. */
enum fx8_status fx8_output_reserve(struct fx8_output *output,
                                   struct fx8_error *error);

/** Report a failed HDF5 call: the failed write if there was one, else HDF5's
 *  reason. */
enum fx8_status fx8_output_fail(const struct fx8_output *output,
                                const char *what, struct fx8_error *error);

/** Keep the first failure of a writer, for its close; returns `status`. */
enum fx8_status fx8_output_noted(struct fx8_error *first,
                                 enum fx8_status status,
                                 const struct fx8_error *error);

/** Sync to disk and rename to the final name; nulls the handle.  After a failed
 *  write the file is removed.  A complete file that cannot be renamed (the
 *  final name was taken, or may not be replaced) stays as .part.  If the .part
 *  was moved, removed or replaced, the file now under that name is left alone.
 *  The message says where the result is. */
enum fx8_status fx8_output_commit(struct fx8_output **output,
                                  struct fx8_error *error);

/** Write a whole text file and commit it, or abandon it; nulls the handle. */
enum fx8_status fx8_output_finish(struct fx8_output **output, const char *text,
                                  size_t size, struct fx8_error *error);

/** Close an incomplete file and keep its .part; nulls the handle, a NULL handle
 *  is legal.  If the .part is kept, appends "; PATH.part keeps WHAT" to
 *  `error`, which may be NULL. */
void fx8_output_leave(struct fx8_output **output, const char *what,
                      struct fx8_error *error);

/** Remove the .part, unless another file has replaced it, and release the
 *  output; a NULL handle is legal. */
void fx8_output_abandon(struct fx8_output **output);

#endif
