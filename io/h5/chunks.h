/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunks.h -- fast reads of parts of a dataset by several threads outside
 * HDF5's lock: filtered chunks are fetched as stored and unpacked, contiguous
 * samples read from the file; HDF5 reads all other storage.
 */
#ifndef FX8_IO_H5_CHUNKS_H
#define FX8_IO_H5_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"

/** Most axes of a dataset. */
#define FX8_H5_CHUNKS_MAX_RANK 3

struct fx8_h5_chunks;

/** A dataset to read from; handles and texts must outlive its use. */
struct fx8_h5_samples {
    const char *path;      /**< of the file, for messages */
    const char *name;      /**< of the dataset, for messages */
    hid_t dataset;         /**< 1 to FX8_H5_CHUNKS_MAX_RANK axes */
    hid_t memory_type;     /**< of an element in the caller's memory */
    int time_axis;         /**< axis of reads, counted in messages */
    int64_t n_per_element; /**< samples in an element along this axis */
};

/** Part of a dataset, and the array that receives it.  Each member has one
 *  entry per axis of the dataset, slowest first. */
struct fx8_h5_part {
    const hsize_t *start;
    const hsize_t *count;
    const hsize_t *memory; /**< extents of the array at `buffer`, at least
                              `count`; the part goes to its start */
};

/**
 * fx8_h5_chunks_open -- determine how to read a dataset.
 *
 * Status:    FX8_ERR_INPUT: HDF5 cannot describe the dataset
 * Ownership: the caller releases `chunks` with fx8_h5_chunks_close(), before
 *            it closes the dataset
 */
enum fx8_status fx8_h5_chunks_open(const struct fx8_h5_samples *samples,
                                   struct fx8_h5_chunks **chunks,
                                   struct fx8_error *error);

/** Whether elements are in filtered chunks: part of one costs as much as all
 *  of it. */
bool fx8_h5_chunks_are_filtered(const struct fx8_h5_chunks *chunks);

/** Why HDF5 itself must undo the filters, one chunk at a time; NULL: several
 *  threads can, or there are no filters. */
const char *fx8_h5_chunks_slow_reason(const struct fx8_h5_chunks *chunks);

/**
 * fx8_h5_chunks_read -- read a part.
 *
 * Given:    n_threads  to read and unpack with; 0: 1
 * Returned: buffer   [memory] elements of memory_type; those beyond `count` are
 *                    not touched
 * Status:   FX8_ERR_INPUT: "PATH: NAME: samples A to B: what is wrong"
 * Notes:    1) one call at a time per dataset
 *           2) chunks that a part ends within are kept unpacked for the next
 *              call, up to 256 MiB
 */
enum fx8_status fx8_h5_chunks_read(struct fx8_h5_chunks *chunks,
                                   size_t n_threads,
                                   const struct fx8_h5_part *part, void *buffer,
                                   struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_h5_chunks_close(struct fx8_h5_chunks **chunks);

#endif
