/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storage.h -- check that the samples of a recording are really on disk.  HDF5
 * silently reads zeros for chunks never written, for unmapped parts or missing
 * sources of a virtual dataset, and beyond the end of a truncated file.
 */
#ifndef FX8_IO_H5_STORAGE_H
#define FX8_IO_H5_STORAGE_H

#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"

/** The files that hold a dataset; opaque. */
struct fx8_h5_storage;

/**
 * fx8_h5_storage_open -- check that every element of a dataset is on disk.
 *
 * Given:     path, name  of the dataset, for messages; if it is in another file
 *                        (an external link), that file is checked
 *            dataset     in a file from fx8_h5_open_file()
 *            n_rows      leading rows of the slowest axis that must exist: a
 *                        recorder may have allocated more than it wrote;
 *                        UINT64_MAX: all
 * Returned:  storage     its files, held open until fx8_h5_storage_close()
 * Status:    FX8_ERR_INPUT: chunks, or the whole dataset, never written;
 *            storage beyond the end of a file; in a virtual dataset, an element
 *            without a source, or a source that is missing, of another type,
 *            smaller than its mapping or itself incomplete; a file of external
 *            storage missing or too short.  FX8_ERR_SYSTEM: no memory, too many
 *            files
 * Ownership: the caller closes it; NULL after failure
 * Notes:  1) chunks are counted, not looked up one by one: their number must
 *            match the rows
 *         2) sources of a virtual dataset must be complete, even if only a part
 *            is mapped; virtual datasets nest at most 8 deep, with 65,536
 *            mappings in all
 */
enum fx8_status fx8_h5_storage_open(const char *path, const char *name,
                                    hid_t dataset, uint64_t n_rows,
                                    struct fx8_h5_storage **storage,
                                    struct fx8_error *error);

/**
 * fx8_h5_open_whole_dataset -- fx8_h5_open_dataset() for all but samples: if
 * elements are in other files, fx8_h5_storage_open() must accept the whole
 * dataset.
 */
enum fx8_status fx8_h5_open_whole_dataset(const char *path, hid_t group,
                                          const char *name, hid_t *dataset,
                                          struct fx8_error *error);

/** Close the files; NULL is legal. */
void fx8_h5_storage_close(struct fx8_h5_storage **storage);

/** Total size of its files when they were checked. */
int64_t fx8_h5_storage_bytes(const struct fx8_h5_storage *storage);

/**
 * fx8_h5_check_uncut -- check after a read that no file has become shorter
 * since it was opened; takes a few hundred nanoseconds per file.
 *
 * Given:  path, name        for messages
 *         first, n_samples  range of the read, for messages
 *         status            of the read
 * Status: FX8_ERR_INPUT if a file is shorter now, whatever the status of the
 *         read; FX8_ERR_SYSTEM if the limit of open files is reached, so HDF5
 *         may have read zeros for a source; else `status`, with `error`
 *         untouched
 * Notes:  not detected: bytes overwritten without a change of length, and a
 *         file cut and grown again between two reads.  HDF5 reopens a file of
 *         external storage at every read, so another file may have taken its
 *         name.
 */
enum fx8_status fx8_h5_check_uncut(const struct fx8_h5_storage *storage,
                                   const char *path, const char *name,
                                   int64_t first, int64_t n_samples,
                                   enum fx8_status status,
                                   struct fx8_error *error);

#endif
