/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/read_files.h"
#include "config/base/write_back.h"
#include "io/driver_private.h"
#include "io/h5/h5.h"

/* Carried by the access list: the caller's record, or NULL for files that are
 * only read. */
struct driver_info {
    struct fx8_driver_file *file;
};

/* --- HDF5 callbacks ---------------------------------------------------- */

/* Open a file for reading.  A link may lead to a pipe, on which open() would
 * block. */
static bool open_to_read(struct open_file *opened, const char *name)
{
    const int descriptor =
        open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    opened->own.descriptor = descriptor;
    opened->file = &opened->own;
    if (descriptor < 0)
        return false;
    if (fstat(descriptor, &opened->status) == 0 &&
        S_ISREG(opened->status.st_mode) && fx8_read_files_add(&opened->status))
        return true;
    close(descriptor);
    return false;
}

/* Take over the caller's descriptor. */
static bool open_to_write(struct open_file *opened, unsigned flags)
{
    struct fx8_driver_file *file = opened->file;
    if ((flags & H5F_ACC_TRUNC) != 0 && ftruncate(file->descriptor, 0) != 0)
        fx8_driver_remember(file, errno, 0, 0);
    file->opened = opened;
    return fstat(file->descriptor, &opened->status) == 0;
}

static H5FD_t *open_callback(const char *name, unsigned flags, hid_t access,
                             haddr_t max_address)
{
    const struct driver_info *info = H5Pget_driver_info(access);
    if (info == NULL || max_address == 0 ||
        (info->file == NULL && (flags & H5F_ACC_RDWR) != 0))
        return NULL;
    struct open_file *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return NULL;
    opened->file = info->file;
    if (info->file == NULL ? !open_to_read(opened, name)
                           : !open_to_write(opened, flags)) {
        opened->file->opened = NULL;
        free(opened);
        return NULL;
    }
    opened->file_end = opened->disk_end = opened->known_end =
        (haddr_t)opened->status.st_size;
    opened->has_superblock = opened->status.st_size > 0;
    return &opened->public_part;
}

static herr_t close_callback(H5FD_t *handle)
{
    struct open_file *opened = (struct open_file *)handle;
    fx8_driver_write_all(opened);
    fx8_driver_check_uncut(opened);
    opened->file->opened = NULL;
    if (opened->file == &opened->own)
        close(opened->own.descriptor);
    free(opened->held);
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

/* Files behind this one are only read; HDF5 frees the result. */
static void *inherit_callback(H5FD_t *handle)
{
    (void)handle;
    return calloc(1, sizeof(struct driver_info));
}

static herr_t query_callback(const H5FD_t *handle, unsigned long *flags)
{
    const struct open_file *opened = (const struct open_file *)handle;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
    /* HDF5 searches sources beside a symbolic link's target, too */
    if (opened != NULL && opened->file == &opened->own)
        *flags |= H5FD_FEAT_POSIX_COMPAT_HANDLE;
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

static herr_t get_handle(H5FD_t *handle, hid_t access, void **descriptor)
{
    (void)access;
    *descriptor = &((struct open_file *)handle)->file->descriptor;
    return 0;
}

static herr_t read_callback(H5FD_t *handle, H5FD_mem_t type, hid_t transfer,
                            haddr_t address, size_t size, void *buffer)
{
    (void)transfer;
    const struct open_file *opened = (const struct open_file *)handle;
    if (opened->file->sought != NULL && type == H5FD_MEM_DRAW) {
        *opened->file->sought = address;
        memset(buffer, 0, size);
        return 0;
    }
    if (!fx8_driver_read(opened->file->descriptor, address, size, buffer)) {
        opened->file->read_failure = errno;
        return -1;
    }
    fx8_driver_overlay(opened, address, size, buffer);
    return 0;
}

/* Whether raw data take the place of others that must stay until then. */
static bool is_kept(const struct open_file *opened, haddr_t address)
{
    return opened->file->holds_old && address < opened->known_end;
}

/* Raw data are written at once.  Metadata are held back until consistent,
 * because HDF5 updates the chunk index and the end of the file one after the
 * other, and calls the driver's flush in between. */
static herr_t write_callback(H5FD_t *handle, H5FD_mem_t type, hid_t transfer,
                             haddr_t address, size_t size, const void *buffer)
{
    (void)transfer;
    struct open_file *opened = (struct open_file *)handle;
    if (address > FX8_DRIVER_MAX || size > FX8_DRIVER_MAX - address)
        return -1;
    if (address + size > opened->file_end)
        opened->file_end = address + size;
    if (opened->file->failure != 0)
        return 0;
    const bool is_late = type != H5FD_MEM_DRAW || is_kept(opened, address) ||
                         fx8_driver_is_held(opened, address, size);
    if (is_late && fx8_driver_hold(opened, address, size, buffer))
        return 0;
    if (is_late)
        fx8_driver_make_room(opened);
    if (is_late || opened->file->undo.saves_raw)
        fx8_driver_protect(opened, address, size);
    fx8_driver_put(opened, address, size, buffer);
    fx8_write_back(opened->file->descriptor, address, size);
    return 0;
}

static herr_t truncate_callback(H5FD_t *handle, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    struct open_file *opened = (struct open_file *)handle;
    fx8_driver_check_uncut(opened);
    opened->is_shorter =
        opened->is_shorter || opened->allocated_end < opened->file_end;
    if (opened->allocated_end > opened->file_end)
        fx8_driver_set_length(opened);
    opened->file_end = opened->allocated_end;
    return 0;
}

/* No locks: the owner of a .part has locked it already, and a recording may be
 * on a read-only disk, or still being written. */
static const H5FD_class_t driver_class = {
    .name = "fx8",
    .maxaddr = FX8_DRIVER_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct driver_info),
    .fapl_get = inherit_callback,
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
    .truncate = truncate_callback,
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

herr_t fx8_driver_set(hid_t access_list, struct fx8_driver_file *file)
{
    const struct driver_info info = {file};
    pthread_once(&once, register_driver);
    return H5Pset_driver(access_list, driver, &info);
}

void fx8_driver_commit(struct fx8_driver_file *file)
{
    if (file->opened != NULL)
        fx8_driver_write_all(file->opened);
}

haddr_t fx8_driver_find_chunk(hid_t dataset, const hsize_t *start)
{
    hsize_t one[H5S_MAX_RANK];
    haddr_t address = HADDR_UNDEF;
    char element[64];
    void *descriptor = NULL; /* the first member of struct fx8_driver_file */
    FX8_H5_AUTO type = H5Dget_type(dataset);
    FX8_H5_AUTO file = H5Iget_file_id(dataset);
    if (file < 0 || H5Tget_size(type) > sizeof element ||
        H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) < 0)
        return HADDR_UNDEF;
    for (int i = 0; i < H5S_MAX_RANK; i++)
        one[i] = 1;
    struct fx8_driver_file *below = descriptor;
    below->sought = &address;
    (void)fx8_h5_read_part(dataset, type, start, one, element);
    below->sought = NULL;
    return address;
}
