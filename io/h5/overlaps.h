/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlaps.h -- whether the chunks of a file are where HDF5 may go on from.
 */
#ifndef FX8_IO_H5_OVERLAPS_H
#define FX8_IO_H5_OVERLAPS_H

#include "io/h5/h5.h"

/** Check that the chunks of all datasets lie within the part of the file that
 *  HDF5 takes for allocated, each in a place of its own: HDF5 would write new
 *  ones over the others.  After a power failure, tables of chunks may be newer
 *  or older than the rest.  Of datasets with very many chunks nothing is asked.
 *  FX8_ERR_INPUT: they do not. */
enum fx8_status fx8_h5_check_overlaps(const char *path, hid_t file,
                                      struct fx8_error *error);

#endif
