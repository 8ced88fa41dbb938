/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dataset.h -- a dataset of samples in a recording: its shape and type, the
 * check that it is all on disk, and fast reads of parts.
 */
#ifndef FX8_IO_H5_DATASET_H
#define FX8_IO_H5_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"
#include "io/h5/chunks.h"
#include "io/h5/storage.h"

/** Elements: real numbers, or compounds of two alike with these members. */
enum fx8_h5_parts { FX8_H5_REALS = 0, FX8_H5_R_I, FX8_H5_REAL_IMAG };

/** How a dataset is read. */
struct fx8_h5_use {
    int time_axis;
    int64_t samples;    /**< in an element along this axis, for messages */
    uint64_t n_rows;    /**< rows of the slowest axis that must be on disk;
                             UINT64_MAX: all */
    size_t cache_bytes; /**< most memory for decoded chunks that HDF5 keeps from
                             one read to the next */
};

/** A dataset; a zeroed one is closed. */
struct fx8_h5_dataset {
    const char *path; /**< of the file; the caller's */
    const char *name;
    hid_t file; /**< the caller's */
    hid_t id;
    enum fx8_h5_parts parts;
    hid_t part; /**< H5T_NATIVE_INT8, _UINT8, _INT16 or _DOUBLE; FX8_H5_NONE:
                     elements of another type */
    hid_t memory_type; /**< of an element: parts side by side */
    bool is_chunked;
    int rank;
    hsize_t extent[FX8_H5_CHUNKS_MAX_RANK]; /**< 1 beyond `rank`; all 0: more
                                                 axes than that */
    hsize_t chunk[FX8_H5_CHUNKS_MAX_RANK];  /**< 1 if it is not chunked */
    struct fx8_h5_use use;
    struct fx8_h5_storage *storage;
    struct fx8_h5_chunks *chunks;
};

/**
 * fx8_h5_dataset_open -- open a dataset and describe it.
 *
 * Given:     path, name  kept, not copied
 * Status:    FX8_ERR_INPUT: missing, not a dataset; unknown types and any
 *            number of axes are for the caller to refuse
 * Ownership: fx8_h5_dataset_close(), also after failure
 */
enum fx8_status fx8_h5_dataset_open(const char *path, hid_t file,
                                    const char *name,
                                    struct fx8_h5_dataset *dataset,
                                    struct fx8_error *error);

/** Refuse the type of the elements: "PATH: NAME: type: expected ...". */
enum fx8_status fx8_h5_dataset_fail_type(const struct fx8_h5_dataset *dataset,
                                         const char *expected,
                                         struct fx8_error *error);

/**
 * fx8_h5_dataset_prepare -- prepare an opened dataset of a known type for
 * reads.
 *
 * Status: FX8_ERR_INPUT: this libhdf5 lacks a filter of it; else as
 *         fx8_h5_storage_open()
 */
enum fx8_status fx8_h5_dataset_prepare(struct fx8_h5_dataset *dataset,
                                       const struct fx8_h5_use *use,
                                       struct fx8_error *error);

/**
 * fx8_h5_dataset_check_size -- check that a dataset opened again has not shrunk
 * in between.
 *
 * Given: bytes  of its storage when first opened; -1 then, and set
 */
enum fx8_status fx8_h5_dataset_check_size(const struct fx8_h5_dataset *dataset,
                                          int64_t *bytes,
                                          struct fx8_error *error);

/** fx8_h5_chunks_read(), and a check that no file has shrunk meanwhile. */
enum fx8_status fx8_h5_dataset_read(const struct fx8_h5_dataset *dataset,
                                    size_t n_threads,
                                    const struct fx8_h5_part *part,
                                    void *buffer, struct fx8_error *error);

/** Close; a closed one is legal. */
void fx8_h5_dataset_close(struct fx8_h5_dataset *dataset);

#endif
