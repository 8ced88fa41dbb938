/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunks.h -- parts of a dataset, as fast as its storage allows: filtered
 * chunks are fetched as stored, and unpacked by several threads outside of
 * HDF5's lock; whatever else there is, HDF5 reads.
 */
#ifndef FX8_IO_H5_CHUNKS_H
#define FX8_IO_H5_CHUNKS_H

#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"
#include "io/workers.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most axes of a dataset. */
#define FX8_H5_CHUNKS_MAX_RANK 3

struct fx8_h5_chunks;

/** A dataset to read from; handles and texts outlive the reading. */
struct fx8_h5_samples {
    const char *path;  /**< of the file, for messages */
    const char *name;  /**< of the dataset, for messages */
    hid_t dataset;     /**< 1 to FX8_H5_CHUNKS_MAX_RANK axes */
    hid_t memory_type; /**< of an element in the caller's memory */
    int time_axis;     /**< the axis that reads go along, and messages count */
};

/** Part of a dataset, and the array that takes it; arrays by axis of the
 *  dataset, slowest first, as many as it has. */
struct fx8_h5_part {
    const hsize_t *start;
    const hsize_t *count;
    const hsize_t *memory; /**< extents of the array at `buffer`, at least
                                `count`; the part goes to its beginning */
};

/**
 * fx8_h5_chunks_open -- find out how a dataset can be read.
 *
 * Status:    FX8_ERR_INPUT: HDF5 cannot tell what the dataset is
 * Ownership: the caller releases `chunks` with fx8_h5_chunks_close(), before
 *            it closes the dataset
 */
enum fx8_status fx8_h5_chunks_open(const struct fx8_h5_samples *samples,
                                   struct fx8_h5_chunks **chunks,
                                   struct fx8_error *error);

/** Why filters are undone by HDF5 itself, one chunk after the other; NULL:
 *  several threads can undo them, or there are none. */
const char *fx8_h5_chunks_slow_reason(const struct fx8_h5_chunks *chunks);

/**
 * fx8_h5_chunks_read -- read a part.
 *
 * Given:    workers  threads to unpack with
 * Returned: buffer   [memory] elements of memory_type; those beyond `count`
 *                    are left as they are
 * Status:   FX8_ERR_INPUT: "PATH: NAME: samples A to B: what is wrong"
 * Notes:    1) one call at a time for a dataset
 *           2) chunks that a part ends within are kept unpacked for the next
 *              part, up to 256 MiB
 */
enum fx8_status fx8_h5_chunks_read(struct fx8_h5_chunks *chunks,
                                   const struct fx8_workers *workers,
                                   const struct fx8_h5_part *part, void *buffer,
                                   struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_h5_chunks_close(struct fx8_h5_chunks **chunks);

#ifdef __cplusplus
}
#endif

#endif
