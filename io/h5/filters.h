/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filters.h -- undoing the filters of a chunk outside of HDF5, whose lock lets
 * only one thread at a time do so: deflate, shuffle, Fletcher's checksum, and
 * bitshuffle by the plug-in that HDF5 has found.
 */
#ifndef FX8_IO_H5_FILTERS_H
#define FX8_IO_H5_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Number that the HDF Group gave to bitshuffle, whose plug-in takes the size
 *  of a block (0: its own choice) and how to pack: 2 is LZ4. */
#define FX8_H5_BITSHUFFLE     32008
#define FX8_H5_BITSHUFFLE_LZ4 2u

/** Most filters of a dataset, and most parameters of a filter, that are undone
 *  here; real ones have three and five. */
#define FX8_H5_MAX_FILTERS       4
#define FX8_H5_MAX_FILTER_VALUES 16

/** Text of a fault or of a reason. */
#define FX8_H5_FAULT_SIZE 160

/** Bytes that grow, from malloc(): a filter of HDF5 may free or change them. */
struct fx8_h5_bytes {
    uint8_t *bytes;
    size_t n;        /**< in use */
    size_t capacity; /**< of `bytes` */
};

/** What a thread undoes filters with; `in` holds a chunk before and after. */
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

/** The filters of a dataset in the order in which they were applied. */
struct fx8_h5_pipeline {
    size_t chunk_bytes; /**< before the first one */
    size_t n;
    struct fx8_h5_filter filters[FX8_H5_MAX_FILTERS];
};

/** Make room for `n` bytes and set n; what was in them may be lost.  False:
 *  no memory. */
bool fx8_h5_bytes_resize(struct fx8_h5_bytes *bytes, size_t n);

/** Release; zeroed ones are legal. */
void fx8_h5_scratch_clear(struct fx8_h5_scratch *scratch);

/**
 * fx8_h5_pipeline_load -- the filters of a dataset.
 *
 * Given:    creation     property list of the dataset
 *           chunk_bytes  of a chunk without filters
 * Returned: true: fx8_h5_pipeline_undo() undoes them; else `reason`, of
 *           FX8_H5_FAULT_SIZE, says why only HDF5 can
 * Notes:    HDF5 loads its plug-ins one by one: call this before threads do
 */
bool fx8_h5_pipeline_load(hid_t creation, size_t chunk_bytes,
                          struct fx8_h5_pipeline *pipeline, char *reason);

/**
 * fx8_h5_pipeline_undo -- a chunk as stored into a chunk as it was.
 *
 * Given:    filter_mask  of the chunk: bit i: filter i was not applied
 *           scratch      `in` as stored
 * Returned: scratch      `in` of exactly chunk_bytes; after failure anything
 *           fault        FX8_H5_FAULT_SIZE: "deflate: ... expected ..."
 * Notes:    any number of threads at once, each with its own scratch; calls
 *           nothing of HDF5
 */
bool fx8_h5_pipeline_undo(const struct fx8_h5_pipeline *pipeline,
                          uint32_t filter_mask, struct fx8_h5_scratch *scratch,
                          char *fault);

#ifdef __cplusplus
}
#endif

#endif
