/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver_held.c -- writes of the driver: HDF5's tables are held back until they
 * are consistent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/driver_private.h"

/* Limits of held-back metadata: bytes, pieces, and the span in bytes that is
 * written in one go. */
#define MOST_HELD   ((size_t)16 << 20)
#define MOST_PIECES 4096
#define MOST_SPAN   ((haddr_t)4 << 20)

/* Bytes of HDF5 1.10's default superblock. */
#define SUPERBLOCK_BYTES ((size_t)96)

void fx8_driver_remember(struct fx8_driver_file *file, int failure,
                         haddr_t offset, size_t size)
{
    if (file->failure != 0)
        return;
    file->failure = failure;
    file->failed_offset = offset;
    file->failed_size = size;
}

/* --- the descriptor ------------------------------------------------------- */

bool fx8_driver_read(int descriptor, haddr_t address, size_t size, void *buffer)
{
    char *to = buffer;
    if (address > FX8_DRIVER_MAX || size > FX8_DRIVER_MAX - address)
        return false;
    while (size > 0) {
        const ssize_t n = pread(descriptor, to, size, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0) { /* beyond the end */
            memset(to, 0, size);
            break;
        }
        to += n;
        address += (haddr_t)n;
        size -= (size_t)n;
    }
    return true;
}

void fx8_driver_check_uncut(const struct open_file *opened)
{
    struct stat status;
    if (fstat(opened->file->descriptor, &status) != 0 ||
        (haddr_t)status.st_size >= opened->disk_end)
        return;
    fx8_driver_remember(opened->file, FX8_DRIVER_CUT, opened->disk_end, 0);
    fx8_undo_end(&opened->file->undo); /* it does not know what is lost */
}

int fx8_driver_write(int descriptor, haddr_t address, size_t size,
                     const void *bytes, size_t *n_written)
{
    const char *from = bytes;
    *n_written = 0;
    while (*n_written < size) {
        const ssize_t n =
            pwrite(descriptor, from + *n_written, size - *n_written,
                   (off_t)(address + *n_written));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* POSIX allows 0 only for size 0: treat it as full */
            return n < 0 ? errno : ENOSPC;
        *n_written += (size_t)n;
    }
    return 0;
}

void fx8_driver_put(struct open_file *opened, haddr_t address, size_t size,
                    const char *from)
{
    size_t n;
    fx8_driver_check_uncut(opened);
    if (opened->file->failure != 0)
        return;
    const int reason =
        fx8_driver_write(opened->file->descriptor, address, size, from, &n);
    if (reason != 0)
        fx8_driver_remember(opened->file, reason, address + n, size - n);
    if (n > 0 && address + n > opened->disk_end)
        opened->disk_end = address + n;
}

/* --- what a power failure takes back ---------------------------------------
 */

static void fail_undo(struct open_file *opened, int reason)
{
    struct fx8_driver_file *file = opened->file;
    if (reason != 0 && file->failure == 0) {
        fx8_driver_remember(file, reason, 0, 0);
        file->is_of_undo = true;
    }
}

/* Save what is there before it changes; await_saved() before it does. */
static void save(struct open_file *opened, haddr_t address, size_t size)
{
    struct fx8_driver_file *file = opened->file;
    if (file->failure == 0)
        fail_undo(opened,
                  fx8_undo_save(&file->undo, file->descriptor, address, size));
}

static void await_saved(struct open_file *opened)
{
    fail_undo(opened, fx8_undo_await(&opened->file->undo));
}

void fx8_driver_protect(struct open_file *opened, haddr_t address, size_t size)
{
    save(opened, address, size);
    await_saved(opened);
}

/* Before HDF5's tables change: in one write, or (bytes NULL) in several. */
static void note(struct open_file *opened, haddr_t address, size_t size,
                 const char *bytes)
{
    if (opened->file->failure == 0)
        fail_undo(opened,
                  fx8_undo_note(&opened->file->undo, address, size, bytes));
}

static void note_several(struct open_file *opened)
{
    note(opened, 0, 0, NULL);
}

/* Before the file is cut, the disk must know that it is shorter. */
static void protect_shorter(struct open_file *opened)
{
    struct fx8_driver_file *file = opened->file;
    if (!file->undo.is_open || opened->allocated_end >= file->undo.end ||
        file->failure != 0)
        return;
    if (fsync(file->descriptor) != 0) {
        fx8_driver_remember(file, errno, opened->allocated_end, 0);
        fx8_undo_distrust(&file->undo);
        return;
    }
    fail_undo(opened, fx8_undo_begin(&file->undo, file->descriptor,
                                     opened->allocated_end));
}

/* --- held-back metadata ------------------------------------------------ */

static bool overlaps(const struct piece *piece, haddr_t address, size_t size)
{
    return piece->address < address + size &&
           address < piece->address + piece->size;
}

bool fx8_driver_is_held(const struct open_file *opened, haddr_t address,
                        size_t size)
{
    for (size_t i = 0; i < opened->n_held; i++)
        if (overlaps(&opened->held[i], address, size))
            return true;
    return false;
}

void fx8_driver_overlay(const struct open_file *opened, haddr_t address,
                        size_t size, char *bytes)
{
    for (size_t i = 0; i < opened->n_held; i++) {
        const struct piece *piece = &opened->held[i];
        if (!overlaps(piece, address, size))
            continue;
        const haddr_t first =
            piece->address > address ? piece->address : address;
        const haddr_t piece_end = piece->address + piece->size;
        const haddr_t end =
            piece_end < address + size ? piece_end : address + size;
        memcpy(bytes + (first - address),
               piece->bytes + (first - piece->address), (size_t)(end - first));
    }
}

bool fx8_driver_hold(struct open_file *opened, haddr_t address, size_t size,
                     const void *bytes)
{
    if (opened->n_held == MOST_PIECES || size > MOST_HELD - opened->held_bytes)
        return false;
    if (opened->held == NULL)
        opened->held = malloc(MOST_PIECES * sizeof *opened->held);
    char *copy = opened->held == NULL ? NULL : malloc(size);
    if (copy == NULL)
        return false;
    memcpy(copy, bytes, size);
    opened->held[opened->n_held++] = (struct piece){address, size, copy};
    opened->held_bytes += size;
    return true;
}

static void forget_held(struct open_file *opened)
{
    for (size_t i = 0; i < opened->n_held; i++)
        free(opened->held[i].bytes);
    opened->n_held = 0;
    opened->held_bytes = 0;
}

/* Write the held-back data of [first, end) in one go, so that a kill leaves the
 * file in either its old or its new state; false without memory. */
static bool write_span(struct open_file *opened, haddr_t first, haddr_t end,
                       bool is_all)
{
    const size_t span = (size_t)(end - first);
    char *bytes = malloc(span);
    const bool is_read =
        bytes != NULL &&
        fx8_driver_read(opened->file->descriptor, first, span, bytes);
    if (is_read) {
        fx8_driver_overlay(opened, first, span, bytes);
        if (is_all)
            note(opened, first, span, bytes);
        /* a kill may interrupt a long write: write the start of a new file
         * last, since the file does not open without it */
        const size_t start = opened->has_superblock || span < SUPERBLOCK_BYTES
                                 ? 0
                                 : SUPERBLOCK_BYTES;
        fx8_driver_put(opened, first + start, span - start, bytes + start);
        fx8_driver_put(opened, first, start, bytes);
        opened->has_superblock = opened->has_superblock || first == 0;
    }
    free(bytes);
    return is_read;
}

static void write_piece(struct open_file *opened, const struct piece *piece)
{
    fx8_driver_put(opened, piece->address, piece->size, piece->bytes);
}

/* Where the pieces end that one write from `first` on takes. */
static haddr_t find_end(const struct open_file *opened, haddr_t known,
                        haddr_t first)
{
    haddr_t end = first;
    for (size_t i = 0; i < opened->n_held; i++) {
        const struct piece *piece = &opened->held[i];
        const haddr_t piece_end = piece->address + piece->size;
        if (piece->address < known && piece_end - first <= MOST_SPAN &&
            piece_end > end)
            end = piece_end;
    }
    return end;
}

/* Whether a piece replaces bytes behind `end`. */
static bool is_behind(const struct piece *piece, haddr_t known, haddr_t end)
{
    return piece->address < known && piece->address + piece->size > end;
}

static bool are_behind(const struct open_file *opened, haddr_t known,
                       haddr_t end)
{
    for (size_t i = 0; i < opened->n_held; i++)
        if (is_behind(&opened->held[i], known, end))
            return true;
    return false;
}

/* Write the pieces that replace others: the superblock, with the new end, and
 * what is close to it; then the rest. */
static void write_known(struct open_file *opened, haddr_t known, haddr_t first)
{
    haddr_t end = find_end(opened, known, first);
    const bool is_all = !opened->is_amid && !are_behind(opened, known, end);
    if (!is_all)
        note_several(opened);
    if (end > first && !write_span(opened, first, end, is_all)) {
        note_several(opened);
        end = 0;
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < opened->n_held; i++)
            if (is_behind(&opened->held[i], known, end) &&
                (pass == 1 || opened->held[i].address == 0))
                write_piece(opened, &opened->held[i]);
}

/* Write the held-back data: first what lies behind the end that the file knows
 * of, to which nothing refers yet. */
static void write_held(struct open_file *opened)
{
    const haddr_t known =
        opened->has_superblock ? opened->known_end : FX8_DRIVER_MAX;
    haddr_t first = known;
    for (size_t i = 0; i < opened->n_held; i++)
        save(opened, opened->held[i].address, opened->held[i].size);
    await_saved(opened);
    for (size_t i = 0; i < opened->n_held; i++)
        if (opened->held[i].address >= known)
            write_piece(opened, &opened->held[i]);
        else if (opened->held[i].address < first)
            first = opened->held[i].address;
    if (first < known)
        write_known(opened, known, first);
    forget_held(opened);
    opened->known_end = opened->allocated_end;
}

void fx8_driver_set_length(struct open_file *opened)
{
    struct fx8_driver_file *file = opened->file;
    if (file->failure == 0 &&
        ftruncate(file->descriptor, (off_t)opened->allocated_end) != 0)
        fx8_driver_remember(file, errno, opened->allocated_end, 0);
    opened->disk_end = opened->allocated_end;
}

/* Cut the file to what HDF5 uses, or leave that to the caller. */
static void shorten(struct open_file *opened)
{
    if (opened->allocated_end >= opened->disk_end || opened->file->keeps_length)
        return;
    protect_shorter(opened);
    fx8_driver_set_length(opened);
}

void fx8_driver_make_room(struct open_file *opened)
{
    opened->is_amid = true;
    write_held(opened);
    note_several(opened);
}

void fx8_driver_write_all(struct open_file *opened)
{
    write_held(opened);
    opened->file->end = opened->allocated_end;
    opened->is_amid = false;
    if (opened->file->failure == 0)
        fail_undo(opened, fx8_undo_noted(&opened->file->undo));
    if (opened->is_shorter)
        shorten(opened);
    opened->is_shorter = false;
}
