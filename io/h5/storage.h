/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storage.h -- whether the samples of a recording really lie on disk. HDF5
 * reads zeros for chunks that were never written, for what no source of a
 * virtual dataset holds and for whatever lies beyond the end of a file that was
 * cut: wrong numbers, and no error.
 */
#ifndef FX8_IO_H5_STORAGE_H
#define FX8_IO_H5_STORAGE_H

#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The files that hold a dataset; opaque. */
struct fx8_h5_storage;

/**
 * fx8_h5_storage_open -- every element of a dataset has its place on disk.
 *
 * Given:     path, name  of the dataset, for messages; it may lie in another
 *                        file (an external link): that one is looked at
 *            dataset     in a file from fx8_h5_open_file()
 *            n_rows      first rows of the slowest axis that must be there: a
 *                        recorder may have made room for more than it wrote;
 *                        UINT64_MAX: all
 * Returned:  storage     its files, held open until fx8_h5_storage_close()
 * Status:    FX8_ERR_INPUT: chunks, or all of it, never written; storage
 *            beyond the end of a file; of a virtual dataset an element without
 *            a source, a source that is missing, of another type, smaller than
 *            what is mapped, or itself not whole; a file of external storage
 *            missing or too short.  FX8_ERR_SYSTEM: no memory, too many files
 * Ownership: the caller closes it; NULL after failure
 * Notes:  1) chunks are counted, not looked up one by one: as many must have
 *            been written as the rows take
 *         2) sources of a virtual dataset must be whole, also where only a
 *            part is mapped; at most 8 virtual datasets deep, 65,536 mappings
 *            in all
 */
enum fx8_status fx8_h5_storage_open(const char *path, const char *name,
                                    hid_t dataset, uint64_t n_rows,
                                    struct fx8_h5_storage **storage,
                                    struct fx8_error *error);

/**
 * fx8_h5_open_whole_dataset -- fx8_h5_open_dataset() for all but samples: where
 * elements lie in other files, fx8_h5_storage_open() must accept all of it.
 */
enum fx8_status fx8_h5_open_whole_dataset(const char *path, hid_t group,
                                          const char *name, hid_t *dataset,
                                          struct fx8_error *error);

/** Close the files; NULL is legal. */
void fx8_h5_storage_close(struct fx8_h5_storage **storage);

/** Bytes of all its files when they were looked at. */
int64_t fx8_h5_storage_bytes(const struct fx8_h5_storage *storage);

/**
 * fx8_h5_check_uncut -- a read that has just been made was of files that are
 * still at least as long as when they were looked at; a few hundred
 * nanoseconds a file.
 *
 * Given:  path, name        for messages
 *         first, n_samples  range of the read, for messages
 *         status            of the read
 * Status: FX8_ERR_INPUT when a file is shorter now, whatever the read said;
 *         FX8_ERR_SYSTEM when no more files may be open, so that HDF5 may have
 *         read zeros for a source; else `status`, `error` untouched
 * Notes:  what it cannot see: bytes overwritten without a change of length,
 *         and a file cut and grown again between two reads.  A file of
 *         external storage is opened by HDF5 at every read, and may be
 *         another one of the same name.
 */
enum fx8_status fx8_h5_check_uncut(const struct fx8_h5_storage *storage,
                                   const char *path, const char *name,
                                   int64_t first, int64_t n_samples,
                                   enum fx8_status status,
                                   struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
