/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h -- names and locks of .part files, and a list of those this process
 * has open, for a signal handler that removes them.
 */
#ifndef FX8_IO_PARTS_H
#define FX8_IO_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"

/** Whether a name refers to the open file. */
bool fx8_part_is_name_of(const char *name, int descriptor);

/** Take an open-file-description lock; 0, or -1 with errno. */
int fx8_part_lock(int descriptor);

/** Whether another run is writing the .part of a file. */
bool fx8_part_is_locked(const char *path);

/** Make a new name in a folder durable; failures are ignored: the file itself
 * is complete. */
void fx8_part_sync_folder(const char *path);

/** State of a .part for the signal handler. */
enum fx8_part_state {
    FX8_PART_NONE,
    FX8_PART_BEGUN, /**< may be created at any moment */
    FX8_PART_OURS   /**< created by us and open */
};

/** Record a name before its file is created, so that no signal can miss it;
 *  returns a number for the calls below.  If all records are in use, the file
 *  is not recorded and no signal removes it. */
size_t fx8_part_remember(const char *part);

/** Update the state of a file; descriptor -1: not open. */
void fx8_part_update(size_t number, int descriptor, enum fx8_part_state state);

/** Async-signal-safe: remove every recorded file that is ours; returns the
 *  number of recorded files. */
size_t fx8_part_remove_all(void);

/** FX8_ERR_USAGE: this process reads the file. */
enum fx8_status fx8_part_fail_read(const char *path, struct fx8_error *error);

/** FX8_ERR_USAGE: another run is writing the file. */
enum fx8_status fx8_part_fail_locked(const char *path, struct fx8_error *error);

/** Whether a result may get this name, with `force` that of a file; else
 *  FX8_ERR_USAGE. */
enum fx8_status fx8_part_check_target(const char *path, bool force,
                                      struct fx8_error *error);

#endif
