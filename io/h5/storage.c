/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/line.h"
#include "config/base/read_files.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/h5/storage.h"
#include "io/h5/virtual.h"

/* Deepest nesting of virtual datasets, and most mappings in all of them. */
#define MOST_DEEP     8
#define MOST_MAPPINGS 65536

/* A file that holds samples. */
struct stored_file {
    hid_t file;     /* FX8_H5_NONE: external storage, without HDF5 */
    int descriptor; /* from which HDF5 reads `file`: its name may belong to
                       another file by now */
    char *path;     /* for messages, and to find external storage */
    struct stat status;
};

struct fx8_h5_storage {
    struct stored_file *files; /* [n], the dataset's own file first */
    size_t n;
    bool is_virtual;
};

/* State of a check through all sources. */
struct walk {
    const char *path;
    struct fx8_h5_storage *storage;
    struct fx8_error *error;
    size_t n_mappings;
};

/* A dataset being checked.  `name` is its path: "voltages: a.h5: v". */
struct spot {
    const char *name;
    hid_t dataset;
    hid_t creation;
    uint64_t file_bytes;
    int rank;
    hsize_t extent[H5S_MAX_RANK]; /* the part that must exist */
    int depth;
};

/* --- files ---------------------------------------------------------------- */

static enum fx8_status fail_spot(const struct walk *walk,
                                 const struct spot *spot)
{
    return fx8_h5_fail(walk->error, FX8_ERR_INPUT, walk->path, spot->name);
}

/* Add a file if it is not known yet.  Takes ownership of the handle. */
static enum fx8_status add_file(const struct walk *walk, hid_t file,
                                int descriptor, const char *path,
                                const struct stat *status)
{
    struct fx8_h5_storage *storage = walk->storage;
    for (size_t i = 0; i < storage->n; i++) {
        const struct stored_file *known = &storage->files[i];
        if (known->status.st_dev == status->st_dev &&
            known->status.st_ino == status->st_ino &&
            (known->file < 0) == (file < 0)) {
            fx8_h5_close(&file);
            return FX8_OK;
        }
    }
    static const char what[] = "files of a recording";
    char *copy = strdup(path);
    const enum fx8_status result =
        copy == NULL ? fx8_no_memory(what, walk->error)
                     : fx8_grow(&storage->files, storage->n,
                                sizeof *storage->files, what, walk->error);
    if (result != FX8_OK) {
        free(copy);
        fx8_h5_close(&file);
        return result;
    }
    storage->files[storage->n++] =
        (struct stored_file){file, descriptor, copy, *status};
    return FX8_OK;
}

/* Add the file of a dataset. */
static enum fx8_status add_file_of(const struct walk *walk, struct spot *spot)
{
    void *handle = NULL;
    FX8_H5_AUTO file = H5Iget_file_id(spot->dataset);
    if (file < 0 || H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 ||
        handle == NULL)
        return fx8_h5_fail(walk->error, FX8_ERR_SYSTEM, walk->path,
                           "file descriptor");
    const int descriptor = *(const int *)handle; /* of driver.c */
    char path[4096] = "";
    H5Fget_name(file, path, sizeof path);
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return fx8_fail(walk->error, FX8_ERR_SYSTEM,
                        "%s: cannot find the size of the file: %s", walk->path,
                        strerror(errno));
    spot->file_bytes = (uint64_t)status.st_size;
    const hid_t taken = file;
    file = FX8_H5_NONE;
    return add_file(walk, taken, descriptor, path, &status);
}

void fx8_h5_storage_close(struct fx8_h5_storage **storage)
{
    if (*storage == NULL)
        return;
    for (size_t i = 0; i < (*storage)->n; i++) {
        fx8_h5_close(&(*storage)->files[i].file);
        free((*storage)->files[i].path);
    }
    free((*storage)->files);
    free(*storage);
    *storage = NULL;
}

int64_t fx8_h5_storage_bytes(const struct fx8_h5_storage *storage)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < storage->n; i++)
        bytes += (int64_t)storage->files[i].status.st_size;
    return bytes;
}

/* --- one dataset ---------------------------------------------------------- */

/* Compare the chunks that the rows need with those in the index. */
static enum fx8_status check_chunks(const struct walk *walk,
                                    const struct spot *spot)
{
    hsize_t chunk[H5S_MAX_RANK];
    hsize_t n_written = 0;
    FX8_H5_AUTO space = H5Dget_space(spot->dataset);
    const bool is_known =
        H5Pget_chunk(spot->creation, spot->rank, chunk) == spot->rank &&
        H5Dget_num_chunks(spot->dataset, space, &n_written) >= 0;
    if (!is_known)
        return fail_spot(walk, spot);
    hsize_t n_chunks = 1; /* at most one per sample, which the readers limit */
    for (int i = 0; i < spot->rank; i++)
        n_chunks *=
            spot->extent[i] > 0 ? (spot->extent[i] - 1) / chunk[i] + 1 : 0;
    if (n_written >= n_chunks)
        return FX8_OK;
    return fx8_refuse(walk->error, walk->path, spot->name,
                      "%" PRIu64 " of %" PRIu64
                      " %s %s never written: expected a whole recording",
                      (uint64_t)(n_chunks - n_written), (uint64_t)n_chunks,
                      FX8_NOUN(n_chunks, "chunk", "chunks"),
                      FX8_NOUN(n_chunks - n_written, "was", "were"));
}

/* HDF5 allocates a contiguous dataset at its first write. */
static enum fx8_status check_contiguous(const struct walk *walk,
                                        const struct spot *spot)
{
    const haddr_t offset = H5Dget_offset(spot->dataset);
    const uint64_t bytes = H5Dget_storage_size(spot->dataset);
    const uint64_t most = spot->file_bytes;
    if (offset == HADDR_UNDEF)
        return fx8_refuse(walk->error, walk->path, spot->name,
                          "never written: expected a whole recording");
    if (offset <= most && bytes <= most - offset)
        return FX8_OK;
    return fx8_refuse(walk->error, walk->path, spot->name,
                      "%" PRIu64 " bytes from offset %" PRIu64
                      " in a file of %" PRIu64
                      " bytes: expected a whole recording",
                      bytes, (uint64_t)offset, most);
}

/* --- external storage ----------------------------------------------------- */

/* Name of a raw file as HDF5 opens it: relative names are in the folder
 * HDF5_EXTFILE_PREFIX, else in the working folder.  NULL: no memory. */
static char *raw_path(const struct spot *spot, const char *name)
{
    char prefix[4096] = "";
    FX8_H5_AUTO access = H5Dget_access_plist(spot->dataset);
    H5Pget_efile_prefix(access, prefix, sizeof prefix);
    return fx8_path_join(prefix, name);
}

/* Check that a raw file has `needed` bytes from `offset`. */
static enum fx8_status check_raw(const struct walk *walk,
                                 const struct spot *spot, const char *name,
                                 uint64_t offset, uint64_t needed)
{
    FX8_AUTO_FREE char *path = raw_path(spot, name);
    if (path == NULL)
        return fx8_no_memory("the path of external storage", walk->error);
    struct stat status;
    if (stat(path, &status) != 0)
        return fx8_refuse(walk->error, walk->path, spot->name,
                          "external storage %s: %s: expected it in "
                          "HDF5_EXTFILE_PREFIX or the working folder",
                          path, strerror(errno));
    if ((uint64_t)status.st_size < offset ||
        (uint64_t)status.st_size - offset < needed)
        return fx8_refuse(walk->error, walk->path, spot->name,
                          "external storage %s: %" PRId64
                          " bytes: expected %" PRIu64 " from offset %" PRIu64,
                          path, (int64_t)status.st_size, needed, offset);
    if (!fx8_read_files_add(&status)) /* HDF5 opens it by itself */
        return fx8_no_memory("files of a recording", walk->error);
    return add_file(walk, FX8_H5_NONE, -1, path, &status);
}

/* Check each slot's part of the bytes in order. */
static enum fx8_status check_external(const struct walk *walk,
                                      const struct spot *spot, int n_slots)
{
    FX8_H5_AUTO type = H5Dget_type(spot->dataset);
    uint64_t left = H5Tget_size(type);
    for (int i = 0; i < spot->rank; i++)
        left *= spot->extent[i];
    for (int i = 0; i < n_slots && left > 0; i++) {
        char name[4096] = "";
        off_t offset = 0;
        hsize_t size = 0; /* H5F_UNLIMITED: larger than anything */
        if (H5Pget_external(spot->creation, (unsigned)i, sizeof name - 1, name,
                            &offset, &size) < 0)
            return fail_spot(walk, spot);
        const uint64_t needed = size < left ? size : left;
        FX8_TRY(check_raw(walk, spot, name, (uint64_t)offset, needed));
        left -= needed;
    }
    if (left > 0)
        return fx8_refuse(walk->error, walk->path, spot->name,
                          "external storage: %" PRIu64
                          " %s short: expected files for all of it",
                          left, FX8_NOUN(left, "byte", "bytes"));
    return FX8_OK;
}

/* --- virtual datasets ----------------------------------------------------- */

static enum fx8_status check_dataset(struct walk *walk, const char *name,
                                     hid_t dataset, uint64_t n_rows, int depth);

/* Whether HDF5 converts `from` to `to` without loss: the same kind and size; in
 * compounds, every member by name, because a missing one becomes zeros. */
static bool is_same_type(hid_t to, hid_t from)
{
    const H5T_class_t class = H5Tget_class(to);
    if (class != H5Tget_class(from))
        return false;
    if (class != H5T_COMPOUND)
        return H5Tget_size(to) == H5Tget_size(from) &&
               (class != H5T_INTEGER || H5Tget_sign(to) == H5Tget_sign(from));
    const int n_members = H5Tget_nmembers(to);
    bool is_same = n_members > 0;
    for (int i = 0; i < n_members && is_same; i++) {
        char *name = H5Tget_member_name(to, (unsigned)i);
        const int index = name == NULL ? -1 : H5Tget_member_index(from, name);
        is_same = index >= 0;
        if (is_same) {
            FX8_H5_AUTO a = H5Tget_member_type(to, (unsigned)i);
            FX8_H5_AUTO b = H5Tget_member_type(from, (unsigned)index);
            is_same = is_same_type(a, b);
        }
        H5free_memory(name);
    }
    return is_same;
}

/* Whether a source has the elements that mapping i takes.  For a source mapped
 * as a whole HDF5 stores no extent: then their number must match. */
static bool is_within(const struct spot *spot, size_t i, hid_t source)
{
    hsize_t extent[H5S_MAX_RANK], first[H5S_MAX_RANK], last[H5S_MAX_RANK];
    FX8_H5_AUTO space = H5Dget_space(source);
    FX8_H5_AUTO whole = H5Dget_space(spot->dataset);
    FX8_H5_AUTO to = H5Pget_virtual_vspace(spot->creation, i);
    FX8_H5_AUTO from = H5Pget_virtual_srcspace(spot->creation, i);
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    bool good = false;
    if (H5Sget_select_type(from) == H5S_SEL_ALL) {
        hid_t covered = H5Sget_select_type(to) == H5S_SEL_ALL ? whole : to;
        good = H5Sget_simple_extent_npoints(space) ==
               H5Sget_select_npoints(covered);
    } else if (H5Sget_simple_extent_ndims(from) == rank &&
               H5Sget_select_bounds(from, first, last) >= 0) {
        good = H5Sget_select_npoints(from) == H5Sget_select_npoints(to);
        for (int axis = 0; axis < rank; axis++)
            good = good && last[axis] < extent[axis];
    }
    return good;
}

/* Check type and extent of the source of mapping i. */
static enum fx8_status check_source(const struct walk *walk,
                                    const struct spot *spot, size_t i,
                                    const char *name, hid_t source)
{
    FX8_H5_AUTO to = H5Dget_type(spot->dataset);
    FX8_H5_AUTO from = H5Dget_type(source);
    if (!is_same_type(to, from)) {
        char have[128], want[128];
        fx8_h5_type_name(from, have, sizeof have);
        fx8_h5_type_name(to, want, sizeof want);
        return fx8_refuse(walk->error, walk->path, name,
                          "%s: expected %s, as in the virtual dataset", have,
                          want);
    }
    if (!is_within(spot, i, source))
        return fx8_refuse(walk->error, walk->path, name,
                          "not of the size that is mapped: expected a "
                          "whole source");
    return FX8_OK;
}

/* Check the source dataset of a mapping. */
static enum fx8_status check_mapping(struct walk *walk, const struct spot *spot,
                                     size_t i, const char *file_name,
                                     const char *dataset_name)
{
    char name[FX8_ERROR_MESSAGE_SIZE];
    snprintf(name, sizeof name, "%s: %s: %s", spot->name, file_name,
             dataset_name);
    FX8_H5_AUTO file = FX8_H5_NONE, source = FX8_H5_NONE;
    FX8_TRY(fx8_h5_open_source(walk->path, spot->name, spot->dataset, file_name,
                               &file, walk->error));
    source = H5Dopen2(file, dataset_name, H5P_DEFAULT);
    if (source < 0)
        return fx8_refuse(walk->error, walk->path, name,
                          "missing: expected a dataset");
    FX8_TRY(check_source(walk, spot, i, name, source));
    return check_dataset(walk, name, source, UINT64_MAX, spot->depth + 1);
}

/* A name in a mapping, with "%%" replaced by "%"; the caller frees it. */
static char *name_of(hid_t creation, size_t i,
                     ssize_t (*get)(hid_t, size_t, char *, size_t))
{
    const ssize_t length = get(creation, i, NULL, 0);
    char *name = length < 0 ? NULL : malloc((size_t)length + 1);
    if (name == NULL || get(creation, i, name, (size_t)length + 1) < 0) {
        free(name);
        return NULL;
    }
    char *to = name;
    for (const char *from = name; *from != '\0'; from++) {
        from += from[0] == '%' && from[1] == '%';
        *to++ = *from;
    }
    *to = '\0';
    return name;
}

static enum fx8_status check_virtual(struct walk *walk, const struct spot *spot)
{
    size_t n_mappings = 0;
    if (spot->depth == MOST_DEEP)
        return fx8_refuse(walk->error, walk->path, spot->name,
                          "more than %d virtual datasets deep: expected "
                          "fewer",
                          MOST_DEEP);
    FX8_TRY(fx8_h5_check_cover(walk->path, spot->name, spot->creation,
                               spot->rank, spot->extent, walk->error));
    walk->storage->is_virtual = true;
    H5Pget_virtual_count(spot->creation, &n_mappings);
    for (size_t i = 0; i < n_mappings; i++) {
        if (walk->n_mappings++ == MOST_MAPPINGS)
            return fx8_refuse(walk->error, walk->path, spot->name,
                              "more than %d mappings: expected fewer",
                              MOST_MAPPINGS);
        FX8_AUTO_FREE char *file =
            name_of(spot->creation, i, H5Pget_virtual_filename);
        FX8_AUTO_FREE char *dataset =
            name_of(spot->creation, i, H5Pget_virtual_dsetname);
        if (file == NULL || dataset == NULL)
            return fail_spot(walk, spot);
        FX8_TRY(check_mapping(walk, spot, i, file, dataset));
    }
    return FX8_OK;
}

/* --- datasets of any layout ----------------------------------------------- */

static enum fx8_status check_layout(struct walk *walk, const struct spot *spot)
{
    const int n_slots = H5Pget_external_count(spot->creation);
    switch (H5Pget_layout(spot->creation)) {
    case H5D_CHUNKED:
        return check_chunks(walk, spot);
    case H5D_CONTIGUOUS:
        return n_slots > 0 ? check_external(walk, spot, n_slots)
                           : check_contiguous(walk, spot);
    case H5D_VIRTUAL:
        return check_virtual(walk, spot);
    case H5D_COMPACT: /* stored in the object header */
        return FX8_OK;
    default:
        return fail_spot(walk, spot);
    }
}

static enum fx8_status check_dataset(struct walk *walk, const char *name,
                                     hid_t dataset, uint64_t n_rows, int depth)
{
    struct spot spot = {.name = name, .dataset = dataset, .depth = depth};
    FX8_TRY(add_file_of(walk, &spot));
    FX8_H5_AUTO space = H5Dget_space(dataset);
    spot.rank = H5Sget_simple_extent_dims(space, spot.extent, NULL);
    if (spot.rank > 0 && spot.extent[0] > n_rows)
        spot.extent[0] = n_rows;
    FX8_H5_AUTO creation = spot.creation = H5Dget_create_plist(dataset);
    return creation < 0 || spot.rank < 0 ? fail_spot(walk, &spot)
                                         : check_layout(walk, &spot);
}

enum fx8_status fx8_h5_storage_open(const char *path, const char *name,
                                    hid_t dataset, uint64_t n_rows,
                                    struct fx8_h5_storage **storage,
                                    struct fx8_error *error)
{
    FX8_AUTO(fx8_h5_storage_close) struct fx8_h5_storage *new = NULL;
    *storage = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *new, "files of a recording", &new, error));
    struct walk walk = {.path = path, .storage = new, .error = error};
    FX8_TRY(check_dataset(&walk, name, dataset, n_rows, 0));
    if (new->is_virtual)
        FX8_TRY(fx8_h5_check_room(path, name, error));
    *storage = new;
    new = NULL;
    return FX8_OK;
}

/* Whether a dataset of this file has elements in other files. */
static bool lies_elsewhere(hid_t dataset)
{
    FX8_H5_AUTO creation = H5Dget_create_plist(dataset);
    return creation >= 0 && (H5Pget_layout(creation) == H5D_VIRTUAL ||
                             H5Pget_external_count(creation) > 0);
}

enum fx8_status fx8_h5_open_whole_dataset(const char *path, hid_t group,
                                          const char *name, hid_t *dataset,
                                          struct fx8_error *error)
{
    FX8_AUTO(fx8_h5_storage_close) struct fx8_h5_storage *storage = NULL;
    FX8_TRY(
        fx8_h5_open_dataset(path, group, name, H5P_DEFAULT, dataset, error));
    return lies_elsewhere(*dataset)
               ? fx8_h5_storage_open(path, name, *dataset, UINT64_MAX, &storage,
                                     error)
               : FX8_OK;
}

/* --- after a read --------------------------------------------------------- */

/* Current size in bytes; 0 if the file is gone. */
static int64_t size_now(const struct stored_file *file)
{
    struct stat status;
    const int result = file->file >= 0 ? fstat(file->descriptor, &status)
                                       : stat(file->path, &status);
    return result == 0 ? (int64_t)status.st_size : 0;
}

enum fx8_status fx8_h5_check_uncut(const struct fx8_h5_storage *storage,
                                   const char *path, const char *name,
                                   int64_t first, int64_t n_samples,
                                   enum fx8_status status,
                                   struct fx8_error *error)
{
    for (size_t i = 0; i < storage->n; i++) {
        const struct stored_file *file = &storage->files[i];
        const int64_t now = size_now(file);
        const int64_t size = (int64_t)file->status.st_size;
        if (now >= size)
            continue;
        return fx8_refuse(error, path, name,
                          "samples %" PRId64 " to %" PRId64
                          ": %s has shrunk from %" PRId64 " to %" PRId64
                          " bytes: expected a recording that stays whole while "
                          "it is read",
                          first, first + n_samples - 1,
                          i == 0 ? "the file" : file->path, size, now);
    }
    if (status == FX8_OK && storage->is_virtual)
        return fx8_h5_check_room(path, name, error);
    return status;
}
