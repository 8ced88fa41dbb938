/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filters.h -- undo the filters of a chunk outside HDF5, whose lock would allow
 * only one thread: deflate, shuffle, Fletcher's checksum, and bitshuffle with
 * the plug-in that HDF5 has loaded.
 */
#ifndef FX8_IO_H5_FILTERS_H
#define FX8_IO_H5_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

/** Registered filter number of bitshuffle.  Its parameters are the block size
 *  (0: default) and the packing: 2 is LZ4. */
#define FX8_H5_BITSHUFFLE     32008
#define FX8_H5_BITSHUFFLE_LZ4 2u

/** Most filters per dataset, and parameters per filter, supported here; real
 *  files have three and five. */
#define FX8_H5_MAX_FILTERS       4
#define FX8_H5_MAX_FILTER_VALUES 16

/** Size of a fault or reason text. */
#define FX8_H5_FAULT_SIZE 160

/** Growing buffer, from malloc(): an HDF5 filter may free or replace it. */
struct fx8_h5_bytes {
    uint8_t *bytes;
    size_t n;        /**< in use */
    size_t capacity; /**< of `bytes` */
};

/** Per-thread buffers; `in` holds the chunk before and after. */
struct fx8_h5_scratch {
    struct fx8_h5_bytes in, out;
};

struct fx8_h5_filter_kind;

/** A filter of a dataset. */
struct fx8_h5_filter {
    const struct fx8_h5_filter_kind *kind;
    unsigned flags;
    size_t n_values;
    unsigned values[FX8_H5_MAX_FILTER_VALUES];
    H5Z_func_t function; /**< of a plug-in, or NULL */
};

/** The filters of a dataset in the order applied. */
struct fx8_h5_pipeline {
    size_t chunk_bytes; /**< before the first filter */
    size_t n;
    struct fx8_h5_filter filters[FX8_H5_MAX_FILTERS];
};

/** Make room for `n` bytes and set n; the contents may be lost.  False: no
 *  memory. */
bool fx8_h5_bytes_resize(struct fx8_h5_bytes *bytes, size_t n);

/** Release; zeroed ones are legal. */
void fx8_h5_scratch_clear(struct fx8_h5_scratch *scratch);

/**
 * fx8_h5_pipeline_load -- load the filters of a dataset.
 *
 * Given:    creation     property list of the dataset
 *           chunk_bytes  of a chunk without filters
 * Returned: true: fx8_h5_pipeline_undo() can undo them; else `reason`
 *           [FX8_H5_FAULT_SIZE] says why only HDF5 can
 * Notes:    loading plug-ins in HDF5 is not thread-safe: call before starting
 *           threads
 */
bool fx8_h5_pipeline_load(hid_t creation, size_t chunk_bytes,
                          struct fx8_h5_pipeline *pipeline, char *reason);

/**
 * fx8_h5_pipeline_undo -- turn a stored chunk into the original one.
 *
 * Given:    filter_mask  of the chunk: bit i set: filter i was not applied
 *           scratch      `in` as stored
 * Returned: scratch      `in` of exactly chunk_bytes; undefined after failure
 *           fault        FX8_H5_FAULT_SIZE: "deflate: ... expected ..."
 * Notes:    thread-safe with one scratch per thread; makes no HDF5 calls
 */
bool fx8_h5_pipeline_undo(const struct fx8_h5_pipeline *pipeline,
                          uint32_t filter_mask, struct fx8_h5_scratch *scratch,
                          char *fault);

#endif
