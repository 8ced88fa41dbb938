/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_driver.h -- HDF5 virtual file driver for all files that fx8 reads.  It
 * adds each opened file to config/base/read_files.h, because only HDF5 knows
 * the files behind external links and virtual datasets.
 */
#ifndef FX8_IO_H5_READ_DRIVER_H
#define FX8_IO_H5_READ_DRIVER_H

#include <hdf5.h>

/**
 * fx8_h5_read_driver_set -- set this driver in a file access list.
 *
 * Returned: negative when HDF5 refuses
 * Notes: 1) files behind a link or a virtual dataset inherit it
 *        2) files are opened read-only and without locks
 *        3) H5Fget_vfd_handle() gives a pointer to the file descriptor
 */
herr_t fx8_h5_read_driver_set(hid_t access_list);

#endif
