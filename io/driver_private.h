/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver_private.h -- the state of an open file, shared by driver.c and
 * driver_held.c.
 */
#ifndef FX8_IO_DRIVER_PRIVATE_H
#define FX8_IO_DRIVER_PRIVATE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "io/driver.h"

/** Largest address in a file: off_t is signed. */
#define FX8_DRIVER_MAX ((haddr_t)INT64_MAX)

/* A piece of held-back data. */
struct piece {
    haddr_t address;
    size_t size;
    char *bytes;
};

/* HDF5's file object; its public part comes first. */
struct open_file {
    H5FD_t public_part;
    struct fx8_driver_file *file;
    struct fx8_driver_file own; /* what `file` points to if it is only read */
    struct stat status;         /* when it was opened */
    haddr_t allocated_end;      /* end of the space allocated by HDF5 */
    haddr_t file_end;   /* end of the data written, including failed writes */
    haddr_t disk_end;   /* end of the data on disk */
    haddr_t known_end;  /* allocated_end when all was last written */
    struct piece *held; /* [MOST_PIECES], n_held of them, oldest first */
    size_t n_held;
    size_t held_bytes;
    bool has_superblock; /* it is on disk, so the file opens */
    bool is_amid;        /* some of a change of HDF5's tables is written */
    bool is_shorter;     /* HDF5 has shortened the file, which is not cut yet */
};

/** Remember a failure, if it is the first one. */
void fx8_driver_remember(struct fx8_driver_file *file, int failure,
                         haddr_t offset, size_t size);

/** Detect truncation by another process, which would otherwise read as zeros.
 */
void fx8_driver_check_uncut(const struct open_file *opened);

/** Write bytes of the file; failures are remembered. */
void fx8_driver_put(struct open_file *opened, haddr_t address, size_t size,
                    const char *from);

/** Whether some of the bytes are held back. */
bool fx8_driver_is_held(const struct open_file *opened, haddr_t address,
                        size_t size);

/** Copy held-back data over bytes [address, address + size) of the file. */
void fx8_driver_overlay(const struct open_file *opened, haddr_t address,
                        size_t size, char *bytes);

/** Copy bytes, to write them later; false if that would be too many, or without
 *  memory. */
bool fx8_driver_hold(struct open_file *opened, haddr_t address, size_t size,
                     const void *bytes);

/** Write all that is held back: HDF5's tables are consistent. */
void fx8_driver_write_all(struct open_file *opened);

/** Write what is held back, though HDF5's tables are not consistent yet. */
void fx8_driver_make_room(struct open_file *opened);

/** Let the file end where the space allocated by HDF5 does. */
void fx8_driver_set_length(struct open_file *opened);

/** Save the bytes of a range beside the file, before they change. */
void fx8_driver_protect(struct open_file *opened, haddr_t address, size_t size);

#endif
