/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * native.h -- writing recordings in fx8's own format (data/README.md).
 */
#ifndef FX8_IO_NATIVE_NATIVE_H
#define FX8_IO_NATIVE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "correlator/fx8.h"
#include "io/reader.h"

struct fx8_native_writer;

/** Storage of samples in the file.  All zero: uncompressed chunks of a length
 *  that suits readers. */
struct fx8_native_storage {
    bool is_contiguous;
    size_t chunk_bytes; /**< bytes of a chunk; 0: automatic */
    int deflate_level;  /**< 1 .. 9; 0: no deflate */
    bool shuffle;       /**< shuffle filter before packing */
    bool bitshuffle;    /**< bitshuffle with LZ4: needs its plug-in */
};

/**
 * fx8_native_create -- create PATH.part with all metadata.
 *
 * Given:  path         final name
 *         force        as for fx8_output_open()
 *         observation  everything known; n_samples is the final length;
 *                      antennas in position order
 *         axis_order   "antenna,pol,time" or any permutation, slowest first
 *         missing      [n_missing] table, may be empty
 */
enum fx8_status fx8_native_create(
    const char *path, bool force, const struct fx8_observation *observation,
    const char *axis_order, const struct fx8_missing *missing, size_t n_missing,
    struct fx8_native_writer **writer, struct fx8_error *error);

/** The same with a given storage.  FX8_ERR_UNSUPPORTED: HDF5 lacks a required
 *  plug-in. */
enum fx8_status fx8_native_create_stored(
    const char *path, bool force, const struct fx8_observation *observation,
    const char *axis_order, const struct fx8_missing *missing, size_t n_missing,
    const struct fx8_native_storage *storage, struct fx8_native_writer **writer,
    struct fx8_error *error);

/** Write samples [first, first + n) of all inputs: int8 or ci8
 *  [antenna][pol][n], whatever the axis order of the file. */
enum fx8_status fx8_native_write(struct fx8_native_writer *writer,
                                 int64_t first, int64_t n_samples,
                                 const int8_t *samples,
                                 struct fx8_error *error);

/** Close; rename to the final name if `commit`, else remove the .part.  Nulls
 *  the handle. */
enum fx8_status fx8_native_close(struct fx8_native_writer **writer, bool commit,
                                 struct fx8_error *error);

#endif
