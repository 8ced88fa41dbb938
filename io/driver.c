/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/driver.h"

/* Largest address: off_t is signed. */
#define MAX_ADDRESS ((haddr_t)INT64_MAX)

/* What HDF5 calls a file; its public part comes first. */
struct open_file {
    H5FD_t public_part;
    struct fx8_driver_file *file;
    haddr_t allocated_end; /* end of what HDF5 has given out */
    haddr_t file_end;      /* end of what has been written, or was meant to */
};

/* The access list carries a pointer to the caller's record. */
struct driver_info {
    struct fx8_driver_file *file;
};

static void remember_failure(struct fx8_driver_file *file, int failure,
                             haddr_t offset, size_t size)
{
    if (file->failure != 0)
        return;
    file->failure = failure;
    file->failed_offset = offset;
    file->failed_size = size;
}

static H5FD_t *open_callback(const char *name, unsigned flags, hid_t access,
                             haddr_t max_address)
{
    (void)name;
    const struct driver_info *info = H5Pget_driver_info(access);
    if (info == NULL || info->file == NULL || max_address == 0)
        return NULL;
    if ((flags & H5F_ACC_TRUNC) != 0 &&
        ftruncate(info->file->descriptor, 0) != 0)
        remember_failure(info->file, errno, 0, 0);
    struct stat status;
    if (fstat(info->file->descriptor, &status) != 0)
        return NULL;
    struct open_file *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return NULL;
    opened->file = info->file;
    opened->file_end = (haddr_t)status.st_size;
    return &opened->public_part;
}

static herr_t close_callback(H5FD_t *handle)
{
    free(handle);
    return 0;
}

static int compare_callback(const H5FD_t *a, const H5FD_t *b)
{
    const struct fx8_driver_file *file_a = ((const struct open_file *)a)->file;
    const struct fx8_driver_file *file_b = ((const struct open_file *)b)->file;
    return (file_a > file_b) - (file_a < file_b);
}

static herr_t query_callback(const H5FD_t *handle, unsigned long *flags)
{
    (void)handle;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
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
    return ((const struct open_file *)handle)->file_end;
}

static herr_t read_callback(H5FD_t *handle, H5FD_mem_t type, hid_t transfer,
                            haddr_t address, size_t size, void *buffer)
{
    (void)type;
    (void)transfer;
    const struct open_file *opened = (const struct open_file *)handle;
    if (address > MAX_ADDRESS || size > MAX_ADDRESS - address)
        return -1;
    char *to = buffer;
    while (size > 0) {
        const ssize_t n =
            pread(opened->file->descriptor, to, size, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0) { /* beyond the end: zeros, as HDF5's own driver has it */
            memset(to, 0, size);
            break;
        }
        to += n;
        address += (haddr_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static herr_t write_callback(H5FD_t *handle, H5FD_mem_t type, hid_t transfer,
                             haddr_t address, size_t size, const void *buffer)
{
    (void)type;
    (void)transfer;
    struct open_file *opened = (struct open_file *)handle;
    if (address > MAX_ADDRESS || size > MAX_ADDRESS - address)
        return -1;
    if (address + size > opened->file_end)
        opened->file_end = address + size;
    const char *from = buffer;
    while (size > 0 && opened->file->failure == 0) {
        const ssize_t n =
            pwrite(opened->file->descriptor, from, size, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* POSIX allows 0 only for size 0: take it as full */
            remember_failure(opened->file, n < 0 ? errno : ENOSPC, address,
                             size);
            break;
        }
        from += n;
        address += (haddr_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static herr_t truncate_callback(H5FD_t *handle, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    struct open_file *opened = (struct open_file *)handle;
    if (opened->allocated_end == opened->file_end)
        return 0;
    if (opened->file->failure == 0 &&
        ftruncate(opened->file->descriptor, (off_t)opened->allocated_end) != 0)
        remember_failure(opened->file, errno, opened->allocated_end, 0);
    opened->file_end = opened->allocated_end;
    return 0;
}

/* The .part is locked already, by its owner. */
static herr_t lock_callback(H5FD_t *handle, hbool_t exclusive)
{
    (void)handle;
    (void)exclusive;
    return 0;
}

static herr_t unlock_callback(H5FD_t *handle)
{
    (void)handle;
    return 0;
}

static const H5FD_class_t driver_class = {
    .name = "fx8",
    .maxaddr = MAX_ADDRESS,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct driver_info),
    .open = open_callback,
    .close = close_callback,
    .cmp = compare_callback,
    .query = query_callback,
    .get_eoa = get_eoa,
    .set_eoa = set_eoa,
    .get_eof = get_eof,
    .read = read_callback,
    .write = write_callback,
    .truncate = truncate_callback,
    .lock = lock_callback,
    .unlock = unlock_callback,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

herr_t fx8_driver_set(hid_t access_list, struct fx8_driver_file *file)
{
    const hid_t driver = H5FDregister(&driver_class);
    if (driver < 0)
        return -1;
    const struct driver_info info = {file};
    const herr_t result = H5Pset_driver(access_list, driver, &info);
    /* the access list, and every file opened with it, keep their own hold */
    H5FDunregister(driver);
    return result;
}
