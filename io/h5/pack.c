/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.c -- rows of a cube packed by several threads, as HDF5 packs them on
 * one: bytes k of all values together, then deflate.  The file holds the same
 * bytes.
 */
#include <zlib.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/cubes.h"

/* Most chunks that are in memory, packed. */
#define MOST_CHUNKS ((size_t)32)

struct packer {
    const struct fx8_h5_cube *cube;
    size_t chunk_bytes, n_values; /* of a chunk */
    size_t most_bytes;            /* of a packed one */
    const uint8_t *values;        /* [chunks][chunk_bytes] */
    uint8_t *shuffled;            /* [threads][chunk_bytes] */
    uint8_t *packed;              /* [chunks][most_bytes] */
    size_t sizes[MOST_CHUNKS];    /* 0: no memory */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void shuffle(const struct packer *packer, const uint8_t *from,
                    uint8_t *to)
{
    const size_t size = packer->cube->value_bytes, n = packer->n_values;
    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < n; i++)
            to[k * n + i] = from[i * size + k];
}

static void pack(void *context, size_t item, size_t thread)
{
    struct packer *packer = context;
    const size_t bytes = packer->chunk_bytes;
    uint8_t *const shuffled = packer->shuffled + thread * bytes;
    uLongf size = packer->most_bytes;
    shuffle(packer, packer->values + item * bytes, shuffled);
    const int result =
        compress2(packer->packed + item * packer->most_bytes, &size, shuffled,
                  bytes, (int)packer->cube->deflate);
    packer->sizes[item] = result == Z_OK ? size : 0;
}

static enum fx8_status write_chunks(const struct fx8_output *output,
                                    const struct packer *packer, size_t row,
                                    size_t n, struct fx8_error *error)
{
    const struct fx8_h5_cube *cube = packer->cube;
    hsize_t start[FX8_H5_CUBE_RANK] = {row};
    for (size_t k = 0; k < n; k++) {
        if (packer->sizes[k] == 0)
            return fx8_no_memory(cube->name, error);
        if (H5Dwrite_chunk(cube->dataset, H5P_DEFAULT, 0, start,
                           packer->sizes[k],
                           packer->packed + k * packer->most_bytes) < 0)
            return fx8_output_fail(output, cube->name, error);
        start[0] += cube->chunk[0];
    }
    return FX8_OK;
}

bool fx8_h5_cube_packs(const struct fx8_h5_cube *cube, size_t row, size_t n)
{
    const size_t rows = (size_t)cube->chunk[0];
    return cube->n_threads > 1 && cube->deflate > 0 && n > rows &&
           row % rows == 0 && n % rows == 0 && fx8_h5_cube_has_whole_rows(cube);
}

size_t fx8_h5_cube_packing(const struct fx8_h5_cube *cube, size_t n_threads)
{
    const size_t bytes = fx8_h5_cube_chunk_bytes(cube);
    const size_t packed = compressBound(bytes);
    if (n_threads > 1)
        return least(n_threads, MOST_CHUNKS) * bytes +
               least(2 * n_threads, MOST_CHUNKS) * packed;
    /* HDF5 copies a chunk, shuffles that and deflates it */
    return 2 * bytes + packed;
}

enum fx8_status fx8_h5_cube_pack_rows(const struct fx8_output *output,
                                      const struct fx8_h5_cube *cube,
                                      size_t row, size_t n, const void *values,
                                      struct fx8_error *error)
{
    const size_t rows = (size_t)cube->chunk[0];
    const size_t bytes = fx8_h5_cube_bytes(cube) / (size_t)cube->dump[0] * rows;
    const size_t n_threads = least(cube->n_threads, MOST_CHUNKS);
    const size_t most = least(2 * n_threads, MOST_CHUNKS);
    FX8_AUTO_FREE uint8_t *shuffled = NULL;
    FX8_AUTO_FREE uint8_t *packed = NULL;
    struct packer packer = {.cube = cube,
                            .chunk_bytes = bytes,
                            .n_values = bytes / cube->value_bytes,
                            .most_bytes = compressBound(bytes),
                            .values = values};
    FX8_TRY(fx8_allocate(n_threads, bytes, cube->name, &shuffled, error));
    FX8_TRY(fx8_allocate(most, packer.most_bytes, cube->name, &packed, error));
    packer.shuffled = shuffled;
    packer.packed = packed;
    for (size_t left = n / rows, now; left > 0; left -= now) {
        now = least(left, most);
        fx8_parallel_for(now, n_threads, false, pack, &packer);
        FX8_TRY(write_chunks(output, &packer, row, now, error));
        packer.values += now * bytes;
        row += now * rows;
    }
    return FX8_OK;
}
