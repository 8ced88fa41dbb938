/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.h -- HDF5 virtual file driver for all files of fx8.  Outputs, on an
 * open descriptor, survive failed writes and kills (see output.h for why).
 * Files that are read are added to config/base/read_files.h here, because only
 * HDF5 knows the files behind external links and virtual datasets.
 */
#ifndef FX8_IO_DRIVER_H
#define FX8_IO_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "io/undo.h"

struct open_file;

/** Pseudo-errno: another process has truncated the file. */
#define FX8_DRIVER_CUT (-1)

/** The file below an HDF5 file; owned by the caller, who must keep it until the
 *  HDF5 file is closed, and then closes the descriptor. */
struct fx8_driver_file {
    int descriptor;         /**< open for reading and writing */
    int failure;            /**< errno of the first failed write, or
                                 FX8_DRIVER_CUT; 0: none */
    uint64_t failed_offset; /**< offset of that write; the new length, if cut */
    uint64_t failed_size;   /**< bytes that could not be written */
    bool holds_old;         /**< hold back raw data too, where there are others:
                                 few, by the caller */
    int read_failure;       /**< errno of the last failed read; 0: none */
    struct fx8_undo undo;   /**< saves what writes change, if it is open */
    bool keeps_length;      /**< HDF5 does not shorten the file: the caller
                                 does, to `end` */
    uint64_t end;           /**< of what HDF5 uses, when it was last written */
    bool is_of_undo;        /**< the failed write is one into it */
    struct open_file *opened; /**< the driver's; NULL: no HDF5 file is open */
    haddr_t *sought; /**< receives where raw data would be read; NULL: read */
};

/**
 * fx8_driver_set -- let a file access list use this driver on `file`; NULL: on
 * files that are only read.
 *
 * Returned: negative when HDF5 refuses
 * Notes: 1) with `file`, the name given to H5Fcreate() is only for messages
 *        2) after the first failure, writes do nothing and report success;
 *           reads see the file, and zeros beyond its end
 *        3) raw data are written at once, all else by fx8_driver_commit() and
 *           when the HDF5 file is closed: a kill between two commits leaves the
 *           file as of the first; one within a commit: see undo.h
 *        4) a process over its file-size limit gets SIGXFSZ: callers must
 *           ignore it, then EFBIG appears here
 *        5) without `file`: files behind a link or a virtual dataset are opened
 *           in the same way; H5Fget_vfd_handle() gives the address of the
 *           descriptor
 */
herr_t fx8_driver_set(hid_t access_list, struct fx8_driver_file *file);

/** Write all data held back; call after H5Fflush().  A failure is recorded in
 *  `file`. */
void fx8_driver_commit(struct fx8_driver_file *file);

/**
 * fx8_driver_find_chunk -- where a chunk of a dataset in an output is: where
 * HDF5 would read its first element.
 *
 * Given:   start  of the chunk, an entry per axis
 * Returned: HADDR_UNDEF: nowhere, or HDF5 has it in memory
 * Notes:   takes as long for the last chunk as for the first one, unlike
 *          H5Dget_chunk_info_by_coord(), which passes all before it
 */
haddr_t fx8_driver_find_chunk(hid_t dataset, const hsize_t *start);

/** Write all bytes; *n_written of them are written after a failure, too.  0 or
 * an errno. */
int fx8_driver_write(int descriptor, haddr_t address, size_t size,
                     const void *bytes, size_t *n_written);

/** Read all of [address, address + size) of a file, with zeros beyond its end,
 *  as HDF5's own drivers do.  False if the system fails to. */
bool fx8_driver_read(int descriptor, haddr_t address, size_t size,
                     void *buffer);

#endif
