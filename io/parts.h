/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h -- names and locks of .part files, and which of them this process has
 * open, for a signal handler that removes them.
 */
#ifndef FX8_IO_PARTS_H
#define FX8_IO_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whether a name leads to the file that is open. */
bool fx8_part_is_name_of(const char *name, int descriptor);

/** Lock a file: 0, or -1 with errno.  An open-file-description lock. */
int fx8_part_lock(int descriptor);

/** Whether another run is writing a file, as its .part. */
bool fx8_part_is_locked(const char *path);

/** What a signal handler is to know of a file. */
enum fx8_part_state {
    FX8_PART_NONE,
    FX8_PART_BEGUN, /**< may come into being at any moment */
    FX8_PART_OURS   /**< the file that is open */
};

/** Note a name before its file comes into being, so that no signal falls
 *  between: a number for the calls below.  One more than there are records has
 *  none, and no signal removes it. */
size_t fx8_part_remember(const char *part);

/** What has become of it; descriptor -1: not open. */
void fx8_part_update(size_t number, int descriptor, enum fx8_part_state state);

/** Async-signal-safe: remove every file that was noted and is ours; how many
 *  were noted. */
size_t fx8_part_remove_all(void);

#ifdef __cplusplus
}
#endif

#endif
