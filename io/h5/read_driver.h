/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_driver.h -- HDF5 virtual file driver for everything that fx8 reads.  It
 * adds each file that HDF5 opens to config/base/read_files.h: behind an
 * external link or in a virtual dataset, the library alone knows which file
 * that is.
 */
#ifndef FX8_IO_H5_READ_DRIVER_H
#define FX8_IO_H5_READ_DRIVER_H

#include <hdf5.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_h5_read_driver_set -- let a file access list use this driver.
 *
 * Returned: negative when HDF5 refuses
 * Notes: 1) files that a link or a virtual dataset leads to inherit it
 *        2) files are opened for reading only and without locks
 *        3) H5Fget_vfd_handle() gives a pointer to the file descriptor
 */
herr_t fx8_h5_read_driver_set(hid_t access_list);

#ifdef __cplusplus
}
#endif

#endif
