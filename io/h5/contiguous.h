/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contiguous.h -- reads of a dataset that is one range of bytes in its file, by
 * several threads, straight into the caller's rows.
 */
#ifndef FX8_IO_H5_CONTIGUOUS_H
#define FX8_IO_H5_CONTIGUOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

/** Where the bytes are. */
struct fx8_h5_range {
    int descriptor;
    uint64_t offset;
};

/** A box in a dataset, and the array that receives it; axes slowest first. */
struct fx8_h5_box {
    hsize_t extent[3]; /**< of the dataset, elements */
    hsize_t start[3], count[3];
    hsize_t memory[3]; /**< of the array */
    size_t element_bytes;
};

/** Find the bytes of a dataset in a file from fx8_h5_open_file(); false if it
 *  is stored in another way. */
bool fx8_h5_range_find(hid_t dataset, hid_t creation,
                       struct fx8_h5_range *range);

/** Read a box to the start of an array, with zeros beyond the end of the file,
 *  which fx8_h5_check_uncut() reports.  False if HDF5 must read it: the system
 *  failed to, or its rows are short. */
bool fx8_h5_range_read(const struct fx8_h5_range *range,
                       const struct fx8_h5_box *box, size_t n_threads,
                       uint8_t *buffer);

#endif
