/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/read_files.h"
#include "io/driver.h"
#include "io/h5/read_driver.h"

/* HDF5's file object; its public part comes first. */
struct open_file {
    H5FD_t public_part;
    int descriptor;
    struct stat status; /* when it was opened */
    haddr_t allocated_end;
};

static H5FD_t *open_callback(const char *name, unsigned flags, hid_t access,
                             haddr_t max_address)
{
    (void)access;
    struct open_file *opened = NULL;
    if ((flags & H5F_ACC_RDWR) != 0 || max_address == 0 ||
        (opened = calloc(1, sizeof *opened)) == NULL)
        return NULL;
    /* a link may lead to a pipe, on which open() would block */
    opened->descriptor =
        open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (opened->descriptor >= 0 &&
        fstat(opened->descriptor, &opened->status) == 0 &&
        S_ISREG(opened->status.st_mode) && fx8_read_files_add(&opened->status))
        return &opened->public_part;
    if (opened->descriptor >= 0)
        close(opened->descriptor);
    free(opened);
    return NULL;
}

static herr_t close_callback(H5FD_t *handle)
{
    struct open_file *opened = (struct open_file *)handle;
    close(opened->descriptor);
    free(opened);
    return 0;
}

/* Lets HDF5 share its state of a file that is opened twice. */
static int compare_callback(const H5FD_t *a, const H5FD_t *b)
{
    const struct stat *x = &((const struct open_file *)a)->status;
    const struct stat *y = &((const struct open_file *)b)->status;
    if (x->st_dev != y->st_dev)
        return x->st_dev < y->st_dev ? -1 : 1;
    return (x->st_ino > y->st_ino) - (x->st_ino < y->st_ino);
}

static herr_t query_callback(const H5FD_t *handle, unsigned long *flags)
{
    (void)handle;
    /* the last: HDF5 searches sources beside a symbolic link's target */
    *flags = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_POSIX_COMPAT_HANDLE;
    return 0;
}

static haddr_t get_eoa(const H5FD_t *handle, H5FD_mem_t type)
{
    (void)type;
    return ((const struct open_file *)handle)->allocated_end;
}

static herr_t set_eoa(H5FD_t *handle, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((struct open_file *)handle)->allocated_end = address;
    return 0;
}

static haddr_t get_eof(const H5FD_t *handle, H5FD_mem_t type)
{
    (void)type;
    return (haddr_t)((const struct open_file *)handle)->status.st_size;
}

static herr_t get_handle(H5FD_t *handle, hid_t access, void **descriptor)
{
    (void)access;
    *descriptor = &((struct open_file *)handle)->descriptor;
    return 0;
}

static herr_t read_callback(H5FD_t *handle, H5FD_mem_t type, hid_t transfer,
                            haddr_t address, size_t size, void *buffer)
{
    (void)type;
    (void)transfer;
    return fx8_driver_read(((const struct open_file *)handle)->descriptor,
                           address, size, buffer);
}

/* HDF5 requires one; never called, as files are opened read-only. */
static herr_t write_callback(H5FD_t *handle, H5FD_mem_t type, hid_t transfer,
                             haddr_t address, size_t size, const void *buffer)
{
    (void)handle;
    (void)type;
    (void)transfer;
    (void)address;
    (void)size;
    (void)buffer;
    return -1;
}

static const H5FD_class_t driver_class = {
    .name = "fx8 read",
    .maxaddr = FX8_DRIVER_MAX_ADDRESS,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = open_callback,
    .close = close_callback,
    .cmp = compare_callback,
    .query = query_callback,
    .get_eoa = get_eoa,
    .set_eoa = set_eoa,
    .get_eof = get_eof,
    .get_handle = get_handle,
    .read = read_callback,
    .write = write_callback,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Registered once: only with the same registration does HDF5 recognise two
 * files as the same and open a source that is already open. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static hid_t driver = H5I_INVALID_HID;

static void register_driver(void)
{
    driver = H5FDregister(&driver_class);
}

herr_t fx8_h5_read_driver_set(hid_t access_list)
{
    pthread_once(&once, register_driver);
    return H5Pset_driver(access_list, driver, NULL);
}
