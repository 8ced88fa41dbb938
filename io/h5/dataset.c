/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/dataset.h"
#include "io/h5/h5.h"

#define MAX_RANK FX8_H5_CHUNKS_MAX_RANK

/* Most slots of HDF5's chunk cache: 8 MiB of pointers. */
#define MOST_SLOTS ((size_t)1 << 20)

static enum fx8_status fail(const struct fx8_h5_dataset *dataset,
                            struct fx8_error *error)
{
    return fx8_h5_fail(error, FX8_ERR_INPUT, dataset->path, dataset->name);
}

/* --- types ---------------------------------------------------------------- */

/* The native form of a number, or FX8_H5_NONE. */
static hid_t native_type(hid_t type)
{
    const size_t size = H5Tget_size(type);
    const H5T_class_t class = H5Tget_class(type);
    if (class == H5T_FLOAT && size == 8)
        return H5T_NATIVE_DOUBLE;
    if (class != H5T_INTEGER || size > 2)
        return FX8_H5_NONE;
    if (H5Tget_sign(type) == H5T_SGN_2)
        return size == 1 ? H5T_NATIVE_INT8 : H5T_NATIVE_INT16;
    return size == 1 ? H5T_NATIVE_UINT8 : FX8_H5_NONE;
}

/* The native form of both members of a compound, or FX8_H5_NONE. */
static hid_t pair_type(hid_t type, const char *const members[2])
{
    hid_t part[2] = {FX8_H5_NONE, FX8_H5_NONE};
    for (int i = 0; i < 2; i++) {
        const int index = H5Tget_member_index(type, members[i]);
        if (index < 0)
            return FX8_H5_NONE;
        FX8_H5_AUTO member = H5Tget_member_type(type, (unsigned)index);
        part[i] = native_type(member);
    }
    return part[0] == part[1] ? part[0] : FX8_H5_NONE;
}

static void set_type(struct fx8_h5_dataset *dataset, hid_t type)
{
    static const char *const members[][2] = {
        [FX8_H5_R_I] = {"r", "i"}, [FX8_H5_REAL_IMAG] = {"real", "imag"}};
    if (H5Tget_class(type) != H5T_COMPOUND) {
        dataset->part = native_type(type);
        if (dataset->part >= 0)
            dataset->memory_type = H5Tcopy(dataset->part);
        return;
    }
    dataset->parts = FX8_H5_R_I;
    dataset->part = FX8_H5_NONE;
    if (H5Tget_nmembers(type) != 2)
        return;
    dataset->part = pair_type(type, members[FX8_H5_R_I]);
    if (dataset->part < 0) {
        dataset->parts = FX8_H5_REAL_IMAG;
        dataset->part = pair_type(type, members[FX8_H5_REAL_IMAG]);
    }
    if (dataset->part >= 0)
        dataset->memory_type =
            fx8_h5_pair_type(dataset->part, members[dataset->parts]);
}

enum fx8_status fx8_h5_dataset_fail_type(const struct fx8_h5_dataset *dataset,
                                         const char *expected,
                                         struct fx8_error *error)
{
    char name[128];
    FX8_H5_AUTO type = H5Dget_type(dataset->id);
    fx8_h5_type_name(type, name, sizeof name);
    return fx8_refuse(error, dataset->path, dataset->name, "%s: expected %s",
                      name, expected);
}

/* --- opening -------------------------------------------------------------- */

enum fx8_status fx8_h5_dataset_open(const char *path, hid_t file,
                                    const char *name,
                                    struct fx8_h5_dataset *dataset,
                                    struct fx8_error *error)
{
    *dataset = (struct fx8_h5_dataset){
        .path = path, .name = name, .file = file, .chunk = {1, 1, 1}};
    FX8_TRY(fx8_h5_open_dataset(path, file, name, H5P_DEFAULT, &dataset->id,
                                error));
    FX8_H5_AUTO type = H5Dget_type(dataset->id);
    FX8_H5_AUTO space = H5Dget_space(dataset->id);
    FX8_H5_AUTO creation = H5Dget_create_plist(dataset->id);
    if (type < 0 || space < 0 || creation < 0)
        return fail(dataset, error);
    set_type(dataset, type);
    dataset->rank = H5Sget_simple_extent_ndims(space);
    dataset->is_chunked = H5Pget_layout(creation) == H5D_CHUNKED;
    if (dataset->rank < 0 || dataset->rank > MAX_RANK)
        return FX8_OK;
    for (int axis = 0; axis < MAX_RANK; axis++)
        dataset->extent[axis] = 1;
    H5Sget_simple_extent_dims(space, dataset->extent, NULL);
    if (dataset->is_chunked)
        H5Pget_chunk(creation, dataset->rank, dataset->chunk);
    return FX8_OK;
}

/* Check that this libhdf5 has all filters; else the first read would fail. */
static enum fx8_status check_filters(const struct fx8_h5_dataset *dataset,
                                     hid_t creation, int n_filters,
                                     struct fx8_error *error)
{
    for (int i = 0; i < n_filters; i++) {
        char name[64] = "";
        size_t n_values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)i, NULL, &n_values, NULL,
                           sizeof name, name, NULL);
        if (filter < 0 || H5Zfilter_avail(filter) <= 0)
            return fx8_refuse(error, dataset->path, dataset->name,
                              "filter %d (%s): expected its HDF5 plugin "
                              "to be installed (HDF5_PLUGIN_PATH)",
                              (int)filter, name);
    }
    return FX8_OK;
}

/*
 * Choose the chunk cache.  Without a cache, an unfiltered chunk is read
 * straight into the buffer, which is several times faster.  A filtered chunk is
 * decoded whole; if read only in part, it must stay cached until the next read,
 * for all inputs side by side.
 */
static herr_t choose_cache(const struct fx8_h5_dataset *dataset,
                           bool is_filtered, hid_t access)
{
    const struct fx8_h5_use *use = &dataset->use;
    size_t n_chunks = 1, n_slots = 1, bytes = 0;
    if (is_filtered) {
        for (int axis = 0; axis < MAX_RANK; axis++)
            if (axis != use->time_axis)
                n_chunks = fx8_product(n_chunks,
                                       (size_t)((dataset->extent[axis] - 1) /
                                                    dataset->chunk[axis] +
                                                1),
                                       1, 1);
        bytes = fx8_product(fx8_product((size_t)dataset->chunk[0],
                                        (size_t)dataset->chunk[1],
                                        (size_t)dataset->chunk[2], n_chunks),
                            H5Tget_size(dataset->memory_type), 1, 1);
        bytes = bytes < use->cache_bytes ? bytes : use->cache_bytes;
        /* HDF5 advises about 100 slots per chunk, against collisions */
        n_slots = n_chunks < MOST_SLOTS / 100 ? 100 * n_chunks + 1 : MOST_SLOTS;
    }
    /* weight 1: evict fully read chunks first */
    return H5Pset_chunk_cache(access, n_slots, bytes, 1.0);
}

/* Reopen a chunked dataset with a cache that suits it. */
static enum fx8_status reopen(struct fx8_h5_dataset *dataset,
                              struct fx8_error *error)
{
    FX8_H5_AUTO creation = H5Dget_create_plist(dataset->id);
    FX8_H5_AUTO access = H5Pcreate(H5P_DATASET_ACCESS);
    const int n_filters = H5Pget_nfilters(creation);
    FX8_TRY(check_filters(dataset, creation, n_filters, error));
    if (choose_cache(dataset, n_filters > 0, access) < 0)
        return fail(dataset, error);
    fx8_h5_close(&dataset->id);
    return fx8_h5_open_dataset(dataset->path, dataset->file, dataset->name,
                               access, &dataset->id, error);
}

enum fx8_status fx8_h5_dataset_prepare(struct fx8_h5_dataset *dataset,
                                       const struct fx8_h5_use *use,
                                       struct fx8_error *error)
{
    dataset->use = *use;
    if (dataset->is_chunked)
        FX8_TRY(reopen(dataset, error));
    FX8_TRY(fx8_h5_storage_open(dataset->path, dataset->name, dataset->id,
                                use->n_rows, &dataset->storage, error));
    const struct fx8_h5_samples samples = {
        .path = dataset->path,
        .name = dataset->name,
        .dataset = dataset->id,
        .memory_type = dataset->memory_type,
        .time_axis = use->time_axis,
        .n_per_element = use->samples,
    };
    return fx8_h5_chunks_open(&samples, &dataset->chunks, error);
}

enum fx8_status fx8_h5_dataset_check_size(const struct fx8_h5_dataset *dataset,
                                          int64_t *bytes,
                                          struct fx8_error *error)
{
    const int64_t now = fx8_h5_storage_bytes(dataset->storage);
    if (now < *bytes)
        return fx8_refuse(
            error, dataset->path, dataset->name,
            "the file has shrunk from %" PRId64 " to %" PRId64
            " bytes: expected a recording that stays whole while it is read",
            *bytes, now);
    *bytes = *bytes < 0 ? now : *bytes;
    return FX8_OK;
}

enum fx8_status fx8_h5_dataset_read(const struct fx8_h5_dataset *dataset,
                                    size_t n_threads,
                                    const struct fx8_h5_part *part,
                                    void *buffer, struct fx8_error *error)
{
    const struct fx8_h5_use *use = &dataset->use;
    const int64_t first = (int64_t)part->start[use->time_axis] * use->samples;
    const int64_t n = (int64_t)part->count[use->time_axis] * use->samples;
    const enum fx8_status status =
        fx8_h5_chunks_read(dataset->chunks, n_threads, part, buffer, error);
    return fx8_h5_check_uncut(dataset->storage, dataset->path, dataset->name,
                              first, n, status, error);
}

void fx8_h5_dataset_close(struct fx8_h5_dataset *dataset)
{
    fx8_h5_chunks_close(&dataset->chunks);
    fx8_h5_storage_close(&dataset->storage);
    fx8_h5_close(&dataset->memory_type);
    fx8_h5_close(&dataset->id);
}
