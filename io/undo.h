/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * undo.h -- takes back what a power failure has spoiled.
 *
 * HDF5 changes its tables in place, in several writes, of which a power failure
 * may keep any.  So the bytes of a file are saved beside it, and brought to the
 * disk, before they change for the first time since the file was synchronised.
 * They are written back if the machine was started anew in between; until then
 * its memory has all that was written, even by a process that was killed.
 *
 * A kill can end a write between two of its pages.  So what is written over
 * HDF5's tables is noted first, and written again after a kill.
 */
#ifndef FX8_IO_UNDO_H
#define FX8_IO_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fx8_undo_range;

/** What is saved of a file; zeros: it is not protected. */
struct fx8_undo {
    const char *path;    /**< of the file of saved bytes; the caller's */
    bool is_open;        /**< it is there, and `descriptor` is of it */
    bool saves_raw;      /**< the caller's: raw data, too, replace others */
    bool is_one_machine; /**< the caller's: only this one changes the file */
    bool is_awaited;     /**< bytes are saved that the disk may not have */
    int descriptor;
    uint64_t end;                 /**< of the file when it was synchronised */
    uint64_t length;              /**< of the file of saved bytes */
    struct fx8_undo_range *saved; /**< [n_saved] */
    size_t n_saved;
};

/** What a run has found beside the file of an earlier one. */
enum fx8_undo_found {
    FX8_UNDO_NONE,      /**< nothing: the power may have failed since */
    FX8_UNDO_FOREIGN,   /**< one that is damaged, or of another file */
    FX8_UNDO_SAME_BOOT, /**< it has not: all that was written is there */
    FX8_UNDO_RESTORED   /**< the file is as when it was last synchronised */
};

/** Protect a file, or its first `most` bytes, which was just synchronised.  0
 * or an errno; EBUSY: another run has the file of saved bytes open. */
int fx8_undo_begin(struct fx8_undo *undo, int file, uint64_t most);

/** Save bytes before they change; nothing beyond the end that the file had, nor
 *  what is saved already.  0 or an errno. */
int fx8_undo_save(struct fx8_undo *undo, int file, uint64_t address,
                  size_t size);

/** Wait until the disk has what is saved: before the bytes change.  0 or an
 *  errno. */
int fx8_undo_await(struct fx8_undo *undo);

/** Bytes are about to change: note the new ones, with which fx8_undo_restore()
 *  completes a write that a kill has torn.  NULL: several writes follow, and a
 *  kill amid them takes the file back.  0 or an errno. */
int fx8_undo_note(struct fx8_undo *undo, uint64_t address, size_t size,
                  const void *bytes);

/** They have changed, all of them.  0 or an errno. */
int fx8_undo_noted(struct fx8_undo *undo);

/** Synchronising the file has failed: what was written may be lost even though
 *  the machine runs on. */
void fx8_undo_distrust(const struct fx8_undo *undo);

/** Look for what was saved of the file of an earlier run, and write it back if
 *  need be; the disk then has the file.  0 or an errno. */
int fx8_undo_restore(const char *path, int file, enum fx8_undo_found *found);

/** Remove a file of saved bytes, if there is one that no run has open. */
void fx8_undo_remove(const char *path);

/** End the protection: removes the file. */
void fx8_undo_end(struct fx8_undo *undo);

/** The same without removing it. */
void fx8_undo_close(struct fx8_undo *undo);

#endif
