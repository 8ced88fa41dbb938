/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virtual.h -- virtual datasets: whether their mappings cover them, and which
 * file a mapping means.  HDF5 reads fill values for what is not mapped and for
 * sources that it does not find, and no error.
 *
 * Source: HDF5 reference manual, H5Pset_virtual, H5Pset_virtual_prefix;
 *         H5F_prefix_open_file of H5Fint.c for the order of the search
 */
#ifndef FX8_IO_H5_VIRTUAL_H
#define FX8_IO_H5_VIRTUAL_H

#include <hdf5.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_h5_check_cover -- every element of a virtual dataset has a source.
 *
 * Given:  path, name  for messages
 *         creation    creation properties of the dataset
 *         rank        of the dataset, at least 1
 *         extent      [rank]: the part that has to be covered, from the origin
 * Status: FX8_ERR_INPUT: an element that nothing is mapped to (which one);
 *         mappings without an end (unlimited, or over files that are counted
 *         by %b), more than 131,072 boxes, or boxes so placed that more than
 *         4096 gaps are open at a time;
 *         FX8_ERR_SYSTEM: no memory
 */
enum fx8_status fx8_h5_check_cover(const char *path, const char *name,
                                   hid_t creation, int rank,
                                   const hsize_t *extent,
                                   struct fx8_error *error);

/**
 * fx8_h5_open_source -- the file of a source, as HDF5 finds it: an absolute
 * name as it stands, else the last part of it; in the folders of
 * HDF5_VDS_PREFIX, beside the file of the dataset, in the working folder,
 * beside what that file is a symbolic link to.  HDF5 has no call that tells
 * where it found a source, or that it found none.
 *
 * It is opened with the properties that HDF5 takes for it, those of that file
 * but closed weakly: while it is open with others, HDF5 does not open it for
 * the virtual dataset, and reads fill values.
 *
 * Given:    path, name  for messages
 *           dataset     the virtual dataset
 *           source      of the mapping, "." for the file of the dataset
 * Returned: file        FX8_H5_NONE after failure; the caller closes it
 * Status:   FX8_ERR_INPUT: not there, or no whole HDF5 file; FX8_ERR_SYSTEM:
 *           no more files may be open
 */
enum fx8_status fx8_h5_open_source(const char *path, const char *name,
                                   hid_t dataset, const char *source,
                                   hid_t *file, struct fx8_error *error);

/**
 * fx8_h5_check_room -- one more file can be opened.  HDF5 opens a source at
 * its first read, and where it may not, reads fill values.
 *
 * Status: FX8_ERR_SYSTEM when the limit of open files is reached
 */
enum fx8_status fx8_h5_check_room(const char *path, const char *name,
                                  struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
