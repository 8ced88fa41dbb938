/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cubes.h -- datasets with rows for each dump, which grow along their slowest
 * axis.  Cubes that grow together lie in the file in the order of their dumps,
 * so that cutting the last dumps shortens the file.
 */
#ifndef FX8_IO_H5_CUBES_H
#define FX8_IO_H5_CUBES_H

#include <hdf5.h>

#include "io/h5/put.h"

/** Most axes. */
#define FX8_H5_CUBE_RANK 5

struct fx8_h5_cube {
    const char *name;
    size_t value_bytes;
    int rank;
    hsize_t dump[FX8_H5_CUBE_RANK];  /**< extents of a dump */
    hsize_t chunk[FX8_H5_CUBE_RANK]; /**< fx8_h5_cube_chunk() */
    const void *fill;                /**< as struct fx8_h5_layout */
    unsigned deflate; /**< level; 0: none; set by fx8_h5_cube_create() */
    size_t n_threads; /**< that pack whole chunks; 0 and 1: HDF5 does */
    bool is_sparse; /**< a chunk takes space once something is written to it */
    hid_t type;     /**< in memory and in the file; owned by the cube */
    hid_t dataset;  /**< FX8_H5_NONE or 0: not created */
};

/**
 * fx8_h5_cube_chunk -- choose the shape of a cube's chunks.
 *
 * Given: rows      its axis of baselines or inputs; channels are the next one
 *        n_dumps   of the file
 *        is_shared  whether small dumps share a chunk; a packed chunk would be
 *                  packed again for each of them
 * Notes: a dump of 1 to 4 MiB is one chunk.  A larger one is cut into equal
 *        numbers of rows, so that readers of rows read each chunk once, in long
 *        pieces; if their number has no suitable divisor, it is cut along the
 *        channels, and then along the rows if a channel is still too large
 */
void fx8_h5_cube_chunk(struct fx8_h5_cube *cube, int rows, size_t n_dumps,
                       bool is_shared);

/** Bytes of a dump. */
size_t fx8_h5_cube_bytes(const struct fx8_h5_cube *cube);

/** Bytes of a chunk, unpacked. */
size_t fx8_h5_cube_chunk_bytes(const struct fx8_h5_cube *cube);

/** Bytes that the chunks of a cube take in memory, apart from packing. */
size_t fx8_h5_cube_cache(const struct fx8_h5_cube *cube);

/** Bytes that packing its chunks on so many threads takes for a while. */
size_t fx8_h5_cube_packing(const struct fx8_h5_cube *cube, size_t n_threads);

/** Create a cube without rows, or open that of an earlier run, that can grow to
 * n_dumps, with these filters; a deflated one is shuffled. */
enum fx8_status fx8_h5_cube_create(const struct fx8_output *output, hid_t group,
                                   struct fx8_h5_cube *cube, size_t n_dumps,
                                   unsigned deflate, bool bitshuffle,
                                   struct fx8_error *error);

/** Rows of a cube's slowest axis. */
size_t fx8_h5_cube_rows(const struct fx8_h5_cube *cube);

/** Grow or cut cubes [n] to n_rows of their slowest axis. */
enum fx8_status fx8_h5_cubes_resize(const struct fx8_output *output,
                                    const struct fx8_h5_cube *cubes, size_t n,
                                    size_t n_rows, struct fx8_error *error);

/** Whether rows of a chunk are whole rows of the cube. */
bool fx8_h5_cube_has_whole_rows(const struct fx8_h5_cube *cube);

/** Write rows [first, first + n) of a dump. */
enum fx8_status fx8_h5_cube_write_rows(const struct fx8_output *output,
                                       const struct fx8_h5_cube *cube,
                                       size_t dump, size_t first, size_t n,
                                       const void *values,
                                       struct fx8_error *error);

/** Whether rows [row, row + n) of a cube are whole chunks, and several, that
 * its threads can pack. */
bool fx8_h5_cube_packs(const struct fx8_h5_cube *cube, size_t row, size_t n);

/** Write such rows: what fx8_h5_cube_write_rows() calls then. */
enum fx8_status fx8_h5_cube_pack_rows(const struct fx8_output *output,
                                      const struct fx8_h5_cube *cube,
                                      size_t row, size_t n, const void *values,
                                      struct fx8_error *error);

/** Flush what was written. */
enum fx8_status fx8_h5_cube_flush(const struct fx8_output *output,
                                  const struct fx8_h5_cube *cube,
                                  struct fx8_error *error);

/** Write a dump and flush it. */
enum fx8_status fx8_h5_cube_write(const struct fx8_output *output,
                                  const struct fx8_h5_cube *cube, size_t dump,
                                  const void *values, struct fx8_error *error);

/** Read rows of a dump.  FX8_ERR_INPUT: they cannot be unpacked, or read. */
enum fx8_status fx8_h5_cube_read_rows(const struct fx8_output *output,
                                      const struct fx8_h5_cube *cube,
                                      size_t dump, size_t first, size_t n,
                                      void *values, struct fx8_error *error);

/** Read a dump.  FX8_ERR_INPUT: it cannot be unpacked, or read. */
enum fx8_status fx8_h5_cube_read(const struct fx8_output *output,
                                 const struct fx8_h5_cube *cube, size_t dump,
                                 void *values, struct fx8_error *error);

/** Close datasets and types; those not created are legal. */
void fx8_h5_cubes_close(struct fx8_h5_cube *cubes, size_t n);

#endif
