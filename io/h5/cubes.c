/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/base/try.h"
#include "io/h5/cubes.h"
#include "io/h5/h5.h"

/* Sizes of chunks. */
#define LEAST_BYTES ((size_t)1 << 20)
#define GOOD_BYTES  ((size_t)2 << 20)
#define MOST_BYTES  ((size_t)4 << 20)

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

size_t fx8_h5_cube_bytes(const struct fx8_h5_cube *cube)
{
    size_t bytes = cube->value_bytes;
    for (int i = 0; i < cube->rank; i++)
        bytes *= (size_t)cube->dump[i];
    return bytes;
}

size_t fx8_h5_cube_chunk_bytes(const struct fx8_h5_cube *cube)
{
    size_t bytes = cube->value_bytes;
    for (int i = 0; i < cube->rank; i++)
        bytes *= (size_t)cube->chunk[i];
    return bytes;
}

size_t fx8_h5_cube_cache(const struct fx8_h5_cube *cube)
{
    /* one chunk stays in memory until it is full or the dump is flushed */
    return 2 * fx8_h5_cube_chunk_bytes(cube);
}

/* For rows that are too large, or whose number has no divisor that would do. */
static void cut_channels(struct fx8_h5_cube *cube, int rows, size_t bytes)
{
    const size_t channels = (size_t)cube->dump[rows + 1];
    const size_t plane = bytes / channels;
    const size_t n_parts = divide_up(bytes, GOOD_BYTES);
    cube->chunk[rows + 1] =
        n_parts < channels ? divide_up(channels, n_parts) : 1;
    if (plane > MOST_BYTES)
        cube->chunk[rows] =
            divide_up((size_t)cube->dump[rows], divide_up(plane, GOOD_BYTES));
}

void fx8_h5_cube_chunk(struct fx8_h5_cube *cube, int rows, size_t n_dumps,
                       bool is_shared)
{
    const size_t bytes = fx8_h5_cube_bytes(cube);
    memcpy(cube->chunk, cube->dump, sizeof cube->chunk);
    if (bytes < LEAST_BYTES && is_shared) {
        const size_t n = LEAST_BYTES / bytes;
        cube->chunk[0] *= n < n_dumps ? n : n_dumps;
    } else if (bytes > MOST_BYTES) {
        const size_t n_rows = (size_t)cube->dump[rows];
        size_t n = MOST_BYTES / (bytes / n_rows);
        while (n > 1 && n_rows % n != 0)
            n--;
        if (n * (bytes / n_rows) < LEAST_BYTES / 4)
            cut_channels(cube, rows, bytes);
        else
            cube->chunk[rows] = n;
    }
}

enum fx8_status fx8_h5_cube_create(const struct fx8_output *output, hid_t group,
                                   struct fx8_h5_cube *cube, size_t n_dumps,
                                   unsigned deflate, bool bitshuffle,
                                   struct fx8_error *error)
{
    hsize_t none[FX8_H5_CUBE_RANK], full[FX8_H5_CUBE_RANK];
    for (int i = 0; i < cube->rank; i++) {
        none[i] = i == 0 ? 0 : cube->dump[i];
        full[i] = i == 0 ? n_dumps * cube->dump[0] : cube->dump[i];
    }
    const struct fx8_h5_layout layout = {
        .name = cube->name,
        .type = cube->type,
        .rank = cube->rank,
        .extent = none,
        .most = full,
        .chunk = cube->chunk,
        .shuffle = deflate > 0,
        .deflate = deflate,
        .bitshuffle = bitshuffle,
        .is_reserved = deflate == 0 && !bitshuffle && !cube->is_sparse,
        .fill = cube->fill,
        .n_slots = 521, /* HDF5's own default, a prime */
        .cache_bytes = fx8_h5_cube_cache(cube),
    };
    cube->deflate = deflate;
    return fx8_h5_create(output, group, &layout, &cube->dataset, error);
}

size_t fx8_h5_cube_rows(const struct fx8_h5_cube *cube)
{
    hsize_t extent[FX8_H5_CUBE_RANK] = {0};
    FX8_H5_AUTO space = H5Dget_space(cube->dataset);
    return H5Sget_simple_extent_ndims(space) == cube->rank &&
                   H5Sget_simple_extent_dims(space, extent, NULL) >= 0
               ? (size_t)extent[0]
               : 0;
}

enum fx8_status fx8_h5_cubes_resize(const struct fx8_output *output,
                                    const struct fx8_h5_cube *cubes, size_t n,
                                    size_t n_rows, struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++) {
        hsize_t extent[FX8_H5_CUBE_RANK];
        memcpy(extent, cubes[i].dump, sizeof extent);
        extent[0] = n_rows;
        if (H5Dset_extent(cubes[i].dataset, extent) < 0)
            return fx8_output_fail(output, cubes[i].name, error);
    }
    return FX8_OK;
}

bool fx8_h5_cube_has_whole_rows(const struct fx8_h5_cube *cube)
{
    for (int i = 1; i < cube->rank; i++)
        if (cube->chunk[i] < cube->dump[i])
            return false;
    return true;
}

/* The place of rows [first, first + n) of a dump. */
static void find_rows(const struct fx8_h5_cube *cube, size_t dump, size_t first,
                      size_t n, hsize_t start[FX8_H5_CUBE_RANK],
                      hsize_t count[FX8_H5_CUBE_RANK])
{
    memset(start, 0, FX8_H5_CUBE_RANK * sizeof *start);
    memcpy(count, cube->dump, FX8_H5_CUBE_RANK * sizeof *count);
    start[0] = dump * cube->dump[0] + first;
    count[0] = n;
}

enum fx8_status fx8_h5_cube_write_rows(const struct fx8_output *output,
                                       const struct fx8_h5_cube *cube,
                                       size_t dump, size_t first, size_t n,
                                       const void *values,
                                       struct fx8_error *error)
{
    hsize_t start[FX8_H5_CUBE_RANK], count[FX8_H5_CUBE_RANK];
    find_rows(cube, dump, first, n, start, count);
    if (fx8_h5_cube_packs(cube, (size_t)start[0], n))
        return fx8_h5_cube_pack_rows(output, cube, (size_t)start[0], n, values,
                                     error);
    return fx8_h5_write_part(cube->dataset, cube->type, start, count, values) <
                   0
               ? fx8_output_fail(output, cube->name, error)
               : FX8_OK;
}

enum fx8_status fx8_h5_cube_flush(const struct fx8_output *output,
                                  const struct fx8_h5_cube *cube,
                                  struct fx8_error *error)
{
    return H5Dflush(cube->dataset) < 0
               ? fx8_output_fail(output, cube->name, error)
               : FX8_OK;
}

enum fx8_status fx8_h5_cube_write(const struct fx8_output *output,
                                  const struct fx8_h5_cube *cube, size_t dump,
                                  const void *values, struct fx8_error *error)
{
    FX8_TRY(fx8_h5_cube_write_rows(output, cube, dump, 0, (size_t)cube->dump[0],
                                   values, error));
    return fx8_h5_cube_flush(output, cube, error);
}

enum fx8_status fx8_h5_cube_read_rows(const struct fx8_output *output,
                                      const struct fx8_h5_cube *cube,
                                      size_t dump, size_t first, size_t n,
                                      void *values, struct fx8_error *error)
{
    hsize_t start[FX8_H5_CUBE_RANK], count[FX8_H5_CUBE_RANK];
    find_rows(cube, dump, first, n, start, count);
    return fx8_h5_read_part(cube->dataset, cube->type, start, count, values) < 0
               ? fx8_h5_fail(error, FX8_ERR_INPUT, fx8_output_part(output),
                             cube->name)
               : FX8_OK;
}

enum fx8_status fx8_h5_cube_read(const struct fx8_output *output,
                                 const struct fx8_h5_cube *cube, size_t dump,
                                 void *values, struct fx8_error *error)
{
    return fx8_h5_cube_read_rows(output, cube, dump, 0, (size_t)cube->dump[0],
                                 values, error);
}

void fx8_h5_cubes_close(struct fx8_h5_cube *cubes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fx8_h5_close(&cubes[i].dataset);
        fx8_h5_close(&cubes[i].type);
    }
}
