/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/lzf.h"
#include "io/h5/storage.h"
#include "io/quicklook/quicklook_file.h"
#include "io/reader.h"
#include "io/uvh5/uvh5_reader.h"

/* Most values of a dataset below /fx8. */
#define MAX_VALUES ((size_t)1 << 28)

/* Whether a type is {r, i} of numbers. */
static bool is_complex(hid_t type)
{
    static const char *const members[2] = {"r", "i"};
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        const int index = H5Tget_member_index(type, members[i]);
        const H5T_class_t class =
            index < 0 ? H5T_NO_CLASS
                      : H5Tget_member_class(type, (unsigned)index);
        if (class != H5T_FLOAT && class != H5T_INTEGER)
            return false;
    }
    return true;
}

static bool is_flag(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class == H5T_ENUM || class == H5T_INTEGER;
}

static bool is_real(hid_t type)
{
    return H5Tget_class(type) == H5T_FLOAT;
}

/* Most memory for the unpacked chunks of a cube. */
#define MOST_CACHE ((size_t)256 << 20)

/* Reopen a cube in packed chunks so that those of a row stay unpacked until the
 * next row is read, in at most so many bytes.  Others keep HDF5's small cache,
 * or none if memory is limited. */
static enum fx8_status keep_chunks(const struct fx8_uvh5_file *file,
                                   hid_t group, const char *name, size_t most,
                                   hid_t *dataset, struct fx8_error *error)
{
    FX8_H5_AUTO creation = H5Dget_create_plist(*dataset);
    if (H5Pget_layout(creation) != H5D_CHUNKED ||
        (H5Pget_nfilters(creation) <= 0 && most == MOST_CACHE))
        return FX8_OK;
    if (H5Pget_nfilters(creation) <= 0)
        most = 0;
    hsize_t chunk[3];
    H5Pget_chunk(creation, 3, chunk);
    const size_t n_chunks = (file->n_channels - 1) / (size_t)chunk[1] + 1;
    FX8_H5_AUTO type = H5Dget_type(*dataset);
    const size_t row = fx8_product((size_t)chunk[0], H5Tget_size(type),
                                   n_chunks * (size_t)chunk[1],
                                   file->n_products - 1 + (size_t)chunk[2]);
    FX8_H5_AUTO access = H5Pcreate(H5P_DATASET_ACCESS);
    /* HDF5 advises about 100 slots per chunk, and a prime number */
    H5Pset_chunk_cache(access, 12421, row < most ? row : most, 1.0);
    fx8_h5_close(dataset);
    return fx8_h5_open_dataset(file->path, group, name, access, dataset, error);
}

/* Open one dataset of Data/ and check type and shape. */
static enum fx8_status open_cube(const struct fx8_uvh5_file *file, hid_t group,
                                 const char *name, bool (*accepts)(hid_t),
                                 const char *expected, hid_t *dataset,
                                 struct fx8_error *error)
{
    FX8_TRY(fx8_h5_open_whole_dataset(file->path, group, name, dataset, error));
    FX8_H5_AUTO type = H5Dget_type(*dataset);
    FX8_H5_AUTO space = H5Dget_space(*dataset);
    hsize_t extent[3] = {0, 0, 0};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank == 3)
        H5Sget_simple_extent_dims(space, extent, NULL);
    if (!accepts(type)) {
        char text[128];
        fx8_h5_type_name(type, text, sizeof text);
        return fx8_refuse(error, file->path, name, "%s: expected %s", text,
                          expected);
    }
    if (rank != 3 || extent[0] != file->n_rows ||
        extent[1] != file->n_channels || extent[2] != file->n_products)
        return fx8_refuse(error, file->path, name,
                          "%d %s, %" PRIu64 " x %" PRIu64 " x %" PRIu64
                          ": expected %zu x %zu x %zu",
                          rank, FX8_NOUN(rank, "axis", "axes"),
                          (uint64_t)extent[0], (uint64_t)extent[1],
                          (uint64_t)extent[2], file->n_rows, file->n_channels,
                          file->n_products);
    if (!fx8_h5_lzf_is_whole(*dataset))
        return fx8_refuse(error, file->path, name,
                          "lzf: a size that is not a chunk's: expected "
                          "chunks as h5py packs them");
    return keep_chunks(file, group, name, MOST_CACHE, dataset, error);
}

static enum fx8_status open_group(const struct fx8_uvh5_file *file,
                                  const char *name, hid_t *group,
                                  struct fx8_error *error)
{
    if (H5Lexists(file->file, name, H5P_DEFAULT) <= 0)
        return fx8_refuse(error, file->path, name,
                          "missing: expected a UVH5 file");
    *group = H5Gopen2(file->file, name, H5P_DEFAULT);
    return *group < 0 ? fx8_h5_fail(error, FX8_ERR_INPUT, file->path, name)
                      : FX8_OK;
}

/* Types in memory: the file's own for pairs of floats and flags of a byte.
 * HDF5's conversion of floats took two thirds of the time of a comparison. */
static enum fx8_status choose_types(struct fx8_uvh5_file *file,
                                    struct fx8_error *error)
{
    static const char *const parts[2] = {"r", "i"};
    FX8_H5_AUTO stored = H5Dget_type(file->visdata);
    FX8_H5_AUTO flags = H5Dget_type(file->flags);
    file->complex_type = fx8_h5_pair_type(H5T_NATIVE_FLOAT, parts);
    file->is_single = H5Tequal(stored, file->complex_type) > 0;
    if (!file->is_single) {
        fx8_h5_close(&file->complex_type);
        file->complex_type = fx8_h5_pair_type(H5T_NATIVE_DOUBLE, parts);
    }
    file->flag_type =
        H5Tcopy(H5Tget_size(flags) == 1 ? flags : H5T_NATIVE_UINT8);
    return file->complex_type < 0 || file->flag_type < 0
               ? fx8_h5_fail(error, FX8_ERR_SYSTEM, file->path, "types")
               : FX8_OK;
}

static enum fx8_status open_cubes(struct fx8_uvh5_file *file,
                                  struct fx8_error *error)
{
    FX8_H5_AUTO group = FX8_H5_NONE;
    FX8_TRY(open_group(file, "Data", &group, error));
    FX8_TRY(open_cube(file, group, "visdata", is_complex,
                      "compound {r, i} of numbers", &file->visdata, error));
    FX8_TRY(open_cube(file, group, "flags", is_flag,
                      "enumeration {FALSE, TRUE}", &file->flags, error));
    FX8_TRY(open_cube(file, group, "nsamples", is_real, "real numbers",
                      &file->nsamples, error));
    return choose_types(file, error);
}

enum fx8_status fx8_uvh5_limit_chunks(struct fx8_uvh5_file *file, size_t most,
                                      struct fx8_error *error)
{
    const struct {
        const char *name;
        hid_t *dataset;
    } cubes[] = {{"visdata", &file->visdata},
                 {"flags", &file->flags},
                 {"nsamples", &file->nsamples}};
    const size_t n = sizeof cubes / sizeof *cubes;
    size_t bytes[sizeof cubes / sizeof *cubes], all = 0;
    FX8_H5_AUTO group = FX8_H5_NONE;
    FX8_TRY(open_group(file, "Data", &group, error));
    for (size_t i = 0; i < n; i++) {
        FX8_H5_AUTO type = H5Dget_type(*cubes[i].dataset);
        bytes[i] = H5Tget_size(type);
        all += bytes[i];
    }
    for (size_t i = 0; i < n; i++)
        FX8_TRY(keep_chunks(file, group, cubes[i].name, most / all * bytes[i],
                            cubes[i].dataset, error));
    return FX8_OK;
}

/* Open Header, or say that the file is a quick-look or a recording. */
static enum fx8_status open_header(struct fx8_uvh5_file *file,
                                   struct fx8_error *error)
{
    if (fx8_h5_has_format(file->file, FX8_QUICKLOOK_FORMAT))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: a quick-look file: expected visibilities (UVH5)",
                        file->path);
    const enum fx8_status status =
        open_group(file, "Header", &file->group, error);
    const char *format =
        status == FX8_OK ? NULL : fx8_reader_format_name(file->path);
    return format == NULL
               ? status
               : fx8_fail(error, FX8_ERR_INPUT,
                          "%s: is a recording (%s): expected visibilities",
                          file->path, format);
}

static enum fx8_status open_whole(struct fx8_uvh5_file *file,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    FX8_TRY(fx8_uvh5_get_header(file, header, error));
    return open_cubes(file, error);
}

static enum fx8_status open_as(
    const char *path,
    enum fx8_status (*get)(struct fx8_uvh5_file *file,
                           struct fx8_uvh5_header *header,
                           struct fx8_error *error),
    struct fx8_uvh5_file **result, struct fx8_uvh5_header *header,
    struct fx8_error *error)
{
    *result = NULL;
    *header = (struct fx8_uvh5_header){0};
    fx8_h5_quiet();
    fx8_h5_lzf_register();
    FX8_AUTO(fx8_uvh5_file_close)
    struct fx8_uvh5_file *file = calloc(1, sizeof *file);
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header found = {0};
    if (file == NULL || (file->path = strdup(path)) == NULL)
        return fx8_no_memory(path, error);
    FX8_TRY(fx8_h5_open_file(path, &file->file, error));
    FX8_TRY(open_header(file, error));
    FX8_TRY(get(file, &found, error));
    *header = found;
    found = (struct fx8_uvh5_header){0};
    *result = file;
    file = NULL;
    return FX8_OK;
}

enum fx8_status fx8_uvh5_open(const char *path, struct fx8_uvh5_file **file,
                              struct fx8_uvh5_header *header,
                              struct fx8_error *error)
{
    return open_as(path, open_whole, file, header, error);
}

static enum fx8_status open_any(struct fx8_uvh5_file *file,
                                struct fx8_uvh5_header *header,
                                struct fx8_error *error)
{
    file->takes_any_rows = true;
    return open_whole(file, header, error);
}

enum fx8_status fx8_uvh5_open_any(const char *path, struct fx8_uvh5_file **file,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    return open_as(path, open_any, file, header, error);
}

enum fx8_status fx8_uvh5_open_words(const char *path,
                                    struct fx8_uvh5_file **file,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    return open_as(path, fx8_uvh5_get_words, file, header, error);
}

/* Read rows of one cube as `type`. */
static enum fx8_status read_cube(struct fx8_uvh5_file *file, hid_t dataset,
                                 const char *name, hid_t type, size_t first,
                                 size_t n_rows, void *values,
                                 struct fx8_error *error)
{
    const hsize_t start[3] = {first, 0, 0};
    const hsize_t count[3] = {n_rows, file->n_channels, file->n_products};
    if (fx8_h5_read_part(dataset, type, start, count, values) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, file->path, name);
    return FX8_OK;
}

/* Read rows of visdata; floats are read into the end of the buffer and spread
 * over it. */
static enum fx8_status read_visibilities(struct fx8_uvh5_file *file,
                                         size_t first, size_t n_rows,
                                         double *values,
                                         struct fx8_error *error)
{
    const size_t n = 2 * n_rows * file->n_channels * file->n_products;
    char *singles = (char *)values + n * (sizeof(double) - sizeof(float));
    FX8_TRY(read_cube(file, file->visdata, "visdata", file->complex_type, first,
                      n_rows, file->is_single ? singles : (void *)values,
                      error));
    for (size_t i = 0; file->is_single && i < n; i++) {
        float single;
        memcpy(&single, singles + i * sizeof single, sizeof single);
        values[i] = (double)single;
    }
    return FX8_OK;
}

/* Read flags as 0 and 1. */
static enum fx8_status read_flags(struct fx8_uvh5_file *file, size_t first,
                                  size_t n_rows, uint8_t *flags,
                                  struct fx8_error *error)
{
    const size_t n = n_rows * file->n_channels * file->n_products;
    FX8_TRY(read_cube(file, file->flags, "flags", file->flag_type, first,
                      n_rows, flags, error));
    for (size_t i = 0; i < n; i++)
        flags[i] = flags[i] != 0;
    return FX8_OK;
}

enum fx8_status fx8_uvh5_read_rows(struct fx8_uvh5_file *file, size_t first,
                                   size_t n_rows, double *visibilities,
                                   uint8_t *flags, float *nsamples,
                                   struct fx8_error *error)
{
    fx8_h5_quiet();
    if (n_rows == 0 || first >= file->n_rows || n_rows > file->n_rows - first)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %zu rows from %zu: expected rows within 0 to %zu",
                        file->path, n_rows, first, file->n_rows - 1);
    if (visibilities != NULL)
        FX8_TRY(read_visibilities(file, first, n_rows, visibilities, error));
    if (nsamples != NULL)
        FX8_TRY(read_cube(file, file->nsamples, "nsamples", H5T_NATIVE_FLOAT,
                          first, n_rows, nsamples, error));
    return flags != NULL ? read_flags(file, first, n_rows, flags, error)
                         : FX8_OK;
}

enum fx8_status fx8_uvh5_read_uvw(struct fx8_uvh5_file *file, size_t first,
                                  size_t n_rows, double *uvw_m,
                                  struct fx8_error *error)
{
    fx8_h5_quiet();
    FX8_H5_AUTO group = FX8_H5_NONE;
    FX8_TRY(open_group(file, "Header", &group, error));
    const struct fx8_h5_place header = {file->path, group, false};
    const struct fx8_h5_rows rows = {file->n_rows, 3, first, n_rows};
    return fx8_h5_get_reals(&header, "uvw_array", rows, uvw_m, error);
}

/* Read a whole dataset below /fx8. */
static enum fx8_status get_values(const struct fx8_uvh5_file *file,
                                  const char *name, hid_t dataset,
                                  size_t shape[3], double **values,
                                  struct fx8_error *error)
{
    hsize_t extent[3] = {1, 1, 1};
    FX8_H5_AUTO type = H5Dget_type(dataset);
    FX8_H5_AUTO space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (!is_real(type) || rank < 0 || rank > 3)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: fx8/%s: %d %s: expected at most 3 axes of real "
                        "numbers",
                        file->path, name, rank, FX8_NOUN(rank, "axis", "axes"));
    H5Sget_simple_extent_dims(space, extent, NULL);
    for (int i = 0; i < 3; i++)
        shape[i] = (size_t)extent[i];
    const size_t n = fx8_product(shape[0], shape[1], shape[2], 1);
    if (n > MAX_VALUES || n / 1024 > H5Dget_storage_size(dataset))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: fx8/%s: %zu x %zu x %zu: expected a shape that "
                        "the file can hold",
                        file->path, name, shape[0], shape[1], shape[2]);
    FX8_TRY(fx8_allocate(n, sizeof **values, name, values, error));
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                *values) >= 0)
        return FX8_OK;
    free(*values);
    *values = NULL;
    return fx8_h5_fail(error, FX8_ERR_INPUT, file->path, name);
}

enum fx8_status fx8_uvh5_get(struct fx8_uvh5_file *file, const char *name,
                             size_t shape[3], double **values,
                             struct fx8_error *error)
{
    *values = NULL;
    fx8_h5_quiet();
    FX8_H5_AUTO group = FX8_H5_NONE;
    FX8_H5_AUTO dataset = FX8_H5_NONE;
    if (H5Lexists(file->file, "fx8", H5P_DEFAULT) <= 0)
        return FX8_OK;
    FX8_TRY(open_group(file, "fx8", &group, error));
    if (H5Lexists(group, name, H5P_DEFAULT) <= 0)
        return FX8_OK;
    FX8_TRY(
        fx8_h5_open_whole_dataset(file->path, group, name, &dataset, error));
    return get_values(file, name, dataset, shape, values, error);
}

void fx8_uvh5_file_close(struct fx8_uvh5_file **handle)
{
    struct fx8_uvh5_file *file = *handle;
    *handle = NULL;
    if (file == NULL)
        return;
    fx8_h5_quiet();
    fx8_h5_close(&file->complex_type);
    fx8_h5_close(&file->flag_type);
    fx8_h5_close(&file->visdata);
    fx8_h5_close(&file->flags);
    fx8_h5_close(&file->nsamples);
    fx8_h5_close(&file->valid_spectra);
    fx8_h5_close(&file->clips);
    fx8_h5_close(&file->group);
    fx8_h5_close(&file->file);
    free(file->path);
    free(file);
}
