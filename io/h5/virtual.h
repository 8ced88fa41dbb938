/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virtual.h -- virtual datasets: whether their mappings cover them, and which
 * file a mapping refers to.  HDF5 silently reads fill values for unmapped
 * elements and missing sources.
 *
 * Source: HDF5 reference manual, H5Pset_virtual, H5Pset_virtual_prefix;
 *         H5F_prefix_open_file of H5Fint.c for the order of the search
 */
#ifndef FX8_IO_H5_VIRTUAL_H
#define FX8_IO_H5_VIRTUAL_H

#include <hdf5.h>

#include "correlator/fx8.h"

/**
 * fx8_h5_check_cover -- check that every element of a virtual dataset has a
 * source.
 *
 * Given:  path, name  for messages
 *         creation    creation properties of the dataset
 *         rank        of the dataset, at least 1
 *         extent      [rank]: the part to be covered, from the origin
 * Status: FX8_ERR_INPUT: an unmapped element (named); unlimited mappings, also
 *         over files numbered by %b; more than 131,072 boxes, or boxes placed
 *         so that more than 4096 gaps are open at a time; FX8_ERR_SYSTEM: no
 *         memory
 */
enum fx8_status fx8_h5_check_cover(const char *path, const char *name,
                                   hid_t creation, int rank,
                                   const hsize_t *extent,
                                   struct fx8_error *error);

/**
 * fx8_h5_open_source -- open the file of a source, as HDF5 finds it: an
 * absolute name as given, else its last part; in the folders of
 * HDF5_VDS_PREFIX, beside the dataset's file, in the working folder, beside the
 * target if that file is a symbolic link.  HDF5 has no call to report where it
 * found a source, or that it found none.
 *
 * The file is opened with the properties that HDF5 would use: those of the
 * dataset's file, but with weak close.  With other properties, HDF5 could not
 * open it for the virtual dataset and would read fill values.
 *
 * Given:    path, name  for messages
 *           dataset     the virtual dataset
 *           source      of the mapping, "." for the file of the dataset
 * Returned: file        FX8_H5_NONE after failure; the caller closes it
 * Status:   FX8_ERR_INPUT: missing, or not a complete HDF5 file;
 *           FX8_ERR_SYSTEM: limit of open files reached
 */
enum fx8_status fx8_h5_open_source(const char *path, const char *name,
                                   hid_t dataset, const char *source,
                                   hid_t *file, struct fx8_error *error);

/**
 * fx8_h5_check_room -- check that one more file can be opened.  HDF5 opens a
 * source at its first read; if it cannot, it reads fill values.
 *
 * Status: FX8_ERR_SYSTEM when the limit of open files is reached
 */
enum fx8_status fx8_h5_check_room(const char *path, const char *name,
                                  struct fx8_error *error);

#endif
