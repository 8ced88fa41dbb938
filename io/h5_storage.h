/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5_storage.h -- whether the samples of a recording really lie in its file.
 * HDF5 reads zeros for chunks that were never written and for whatever lies
 * beyond the end of a file that was cut: wrong numbers, and no error.
 */
#ifndef FX8_IO_H5_STORAGE_H
#define FX8_IO_H5_STORAGE_H

#include <stdint.h>

#include <hdf5.h>

#include "config/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_h5_check_storage -- every element of a dataset has its place in the file.
 *
 * Given:    path, name  of the dataset, for messages
 *           file        from fx8_h5_open_file()
 * Returned: file_size   bytes of the file now, for fx8_h5_check_uncut()
 * Status:   FX8_ERR_INPUT: chunks, or all of it, never written; storage
 *           beyond the end of the file
 * Notes:    compact, external and virtual datasets have no place of their own
 *           in the file and pass
 */
enum fx8_status fx8_h5_check_storage(const char *path, hid_t file,
                                     const char *name, hid_t dataset,
                                     int64_t *file_size,
                                     struct fx8_error *error);

/**
 * fx8_h5_check_rows -- the same for the first `n_rows` of the slowest axis: a
 * recorder may have made room for more than it wrote.
 *
 * Notes: chunks are counted, not looked up one by one: as many must have been
 *        written as the rows take
 */
enum fx8_status fx8_h5_check_rows(const char *path, hid_t file,
                                  const char *name, hid_t dataset,
                                  uint64_t n_rows, int64_t *file_size,
                                  struct fx8_error *error);

/**
 * fx8_h5_check_uncut -- a read that has just been made was of a file that is
 * still at least as long as at its opening; a few hundred nanoseconds.
 *
 * Given:  first, n_samples  range of the read, for the message
 *         file_size         from fx8_h5_check_storage()
 *         status            of the read
 * Status: FX8_ERR_INPUT when the file is shorter now, whatever the read said;
 *         else `status`, `error` untouched
 */
enum fx8_status fx8_h5_check_uncut(const char *path, hid_t file,
                                   const char *name, int64_t first,
                                   int64_t n_samples, int64_t file_size,
                                   enum fx8_status status,
                                   struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
