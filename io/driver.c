/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/driver.h"

/* Limits of held-back metadata: bytes, pieces, and the span in bytes that is
 * written in one go. */
#define MOST_HELD   ((size_t)16 << 20)
#define MOST_PIECES 4096
#define MOST_SPAN   ((haddr_t)4 << 20)

/* Bytes of HDF5 1.10's default superblock. */
#define SUPERBLOCK_BYTES ((size_t)96)

/* A piece of held-back data. */
struct piece {
    haddr_t address;
    size_t size;
    char *bytes;
};

/* HDF5's file object; its public part comes first. */
struct open_file {
    H5FD_t public_part;
    struct fx8_driver_file *file;
    haddr_t allocated_end; /* end of the space allocated by HDF5 */
    haddr_t file_end;   /* end of the data written, including failed writes */
    haddr_t disk_end;   /* end of the data on disk */
    struct piece *held; /* [MOST_PIECES], n_held of them, oldest first */
    size_t n_held;
    size_t held_bytes;
    bool has_superblock; /* it is on disk, so the file opens */
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

/* --- the descriptor ------------------------------------------------------- */

herr_t fx8_driver_read(int descriptor, haddr_t address, size_t size,
                       void *buffer)
{
    char *to = buffer;
    if (address > FX8_DRIVER_MAX_ADDRESS ||
        size > FX8_DRIVER_MAX_ADDRESS - address)
        return -1;
    while (size > 0) {
        const ssize_t n = pread(descriptor, to, size, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0) { /* beyond the end: zeros, as in HDF5's own driver */
            memset(to, 0, size);
            break;
        }
        to += n;
        address += (haddr_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* Detect truncation by another process, which would otherwise read as zeros. */
static void check_uncut(const struct open_file *opened)
{
    struct stat status;
    if (fstat(opened->file->descriptor, &status) == 0 &&
        (haddr_t)status.st_size < opened->disk_end)
        remember_failure(opened->file, FX8_DRIVER_CUT, opened->disk_end, 0);
}

static void write_file(struct open_file *opened, haddr_t address, size_t size,
                       const char *from)
{
    check_uncut(opened);
    while (size > 0 && opened->file->failure == 0) {
        const ssize_t n =
            pwrite(opened->file->descriptor, from, size, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* POSIX allows 0 only for size 0: treat it as full */
            remember_failure(opened->file, n < 0 ? errno : ENOSPC, address,
                             size);
            break;
        }
        from += n;
        address += (haddr_t)n;
        size -= (size_t)n;
        if (address > opened->disk_end)
            opened->disk_end = address;
    }
}

/* --- held-back metadata ------------------------------------------------ */

static bool overlaps(const struct piece *piece, haddr_t address, size_t size)
{
    return piece->address < address + size &&
           address < piece->address + piece->size;
}

static bool is_held(const struct open_file *opened, haddr_t address,
                    size_t size)
{
    for (size_t i = 0; i < opened->n_held; i++)
        if (overlaps(&opened->held[i], address, size))
            return true;
    return false;
}

/* Copy held-back data over bytes [address, address + size) of the file. */
static void overlay(const struct open_file *opened, haddr_t address,
                    size_t size, char *bytes)
{
    for (size_t i = 0; i < opened->n_held; i++) {
        const struct piece *piece = &opened->held[i];
        if (!overlaps(piece, address, size))
            continue;
        const haddr_t first =
            piece->address > address ? piece->address : address;
        const haddr_t piece_end = piece->address + piece->size;
        const haddr_t end =
            piece_end < address + size ? piece_end : address + size;
        memcpy(bytes + (first - address),
               piece->bytes + (first - piece->address), (size_t)(end - first));
    }
}

/* Hold back a copy; false if there is no room. */
static bool hold(struct open_file *opened, haddr_t address, size_t size,
                 const void *bytes)
{
    if (opened->n_held == MOST_PIECES || size > MOST_HELD - opened->held_bytes)
        return false;
    if (opened->held == NULL)
        opened->held = malloc(MOST_PIECES * sizeof *opened->held);
    char *copy = opened->held == NULL ? NULL : malloc(size);
    if (copy == NULL)
        return false;
    memcpy(copy, bytes, size);
    opened->held[opened->n_held++] = (struct piece){address, size, copy};
    opened->held_bytes += size;
    return true;
}

static void forget_held(struct open_file *opened)
{
    for (size_t i = 0; i < opened->n_held; i++)
        free(opened->held[i].bytes);
    opened->n_held = 0;
    opened->held_bytes = 0;
}

/* Write the held-back data, in one go if it is close together, so that a kill
 * leaves the file in either its old or its new state. */
static void write_held(struct open_file *opened)
{
    haddr_t first = FX8_DRIVER_MAX_ADDRESS, end = 0;
    for (size_t i = 0; i < opened->n_held; i++) {
        const struct piece *piece = &opened->held[i];
        first = piece->address < first ? piece->address : first;
        end = piece->address + piece->size > end ? piece->address + piece->size
                                                 : end;
    }
    const size_t span = end > first ? (size_t)(end - first) : 0;
    char *bytes = span > 0 && span <= MOST_SPAN ? malloc(span) : NULL;
    if (bytes != NULL &&
        fx8_driver_read(opened->file->descriptor, first, span, bytes) == 0) {
        overlay(opened, first, span, bytes);
        /* a kill may interrupt a long write: write the start of a new file
         * last, since the file does not open without it */
        const size_t start = opened->has_superblock || span < SUPERBLOCK_BYTES
                                 ? 0
                                 : SUPERBLOCK_BYTES;
        write_file(opened, first + start, span - start, bytes + start);
        write_file(opened, first, start, bytes);
        opened->has_superblock = opened->has_superblock || first == 0;
    } else {
        /* far apart: write the superblock, with the new end of the file, before
         * metadata that refer to data beyond the old end */
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < opened->n_held; i++)
                if (pass == 1 || opened->held[i].address == 0)
                    write_file(opened, opened->held[i].address,
                               opened->held[i].size, opened->held[i].bytes);
    }
    free(bytes);
    forget_held(opened);
}

/* --- HDF5 callbacks ---------------------------------------------------- */

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
    info->file->opened = opened;
    opened->file_end = opened->disk_end = (haddr_t)status.st_size;
    opened->has_superblock = status.st_size > 0;
    return &opened->public_part;
}

static herr_t close_callback(H5FD_t *handle)
{
    struct open_file *opened = (struct open_file *)handle;
    write_held(opened);
    check_uncut(opened);
    opened->file->opened = NULL;
    free(opened->held);
    free(opened);
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
    if (fx8_driver_read(opened->file->descriptor, address, size, buffer) != 0)
        return -1;
    overlay(opened, address, size, buffer);
    return 0;
}

/* Raw data are written at once.  Metadata are held back until consistent,
 * because HDF5 updates the chunk index and the end of the file one after the
 * other, and calls the driver's flush in between. */
static herr_t write_callback(H5FD_t *handle, H5FD_mem_t type, hid_t transfer,
                             haddr_t address, size_t size, const void *buffer)
{
    (void)transfer;
    struct open_file *opened = (struct open_file *)handle;
    if (address > FX8_DRIVER_MAX_ADDRESS ||
        size > FX8_DRIVER_MAX_ADDRESS - address)
        return -1;
    if (address + size > opened->file_end)
        opened->file_end = address + size;
    if (opened->file->failure != 0)
        return 0;
    const bool is_late =
        type != H5FD_MEM_DRAW || is_held(opened, address, size);
    if (is_late && hold(opened, address, size, buffer))
        return 0;
    if (is_late)
        write_held(opened); /* no room: write the older pieces first */
    write_file(opened, address, size, buffer);
    return 0;
}

static herr_t truncate_callback(H5FD_t *handle, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    struct open_file *opened = (struct open_file *)handle;
    check_uncut(opened);
    if (opened->allocated_end == opened->file_end)
        return 0;
    if (opened->allocated_end < opened->file_end)
        write_held(opened); /* a later write would extend the file again */
    if (opened->file->failure == 0 &&
        ftruncate(opened->file->descriptor, (off_t)opened->allocated_end) != 0)
        remember_failure(opened->file, errno, opened->allocated_end, 0);
    opened->file_end = opened->disk_end = opened->allocated_end;
    return 0;
}

/* The owner has already locked the .part. */
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
    .maxaddr = FX8_DRIVER_MAX_ADDRESS,
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
    /* the access list and files opened with it keep references */
    H5FDunregister(driver);
    return result;
}

void fx8_driver_commit(struct fx8_driver_file *file)
{
    if (file->opened != NULL)
        write_held(file->opened);
}
