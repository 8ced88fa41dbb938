/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cubes.c -- layout of visdata, flags and nsamples on disk; closing all handles
 * of a file.
 */
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

/* Chunk sizes of visdata, eight bytes per value. */
#define VALUE_BYTES ((size_t)8)
#define LEAST_BYTES ((size_t)1 << 20)
#define GOOD_BYTES  ((size_t)2 << 20)
#define MOST_BYTES  ((size_t)4 << 20)

static const char *const cube_names[FX8_UVH5_CUBES] = {"flags", "nsamples",
                                                       "visdata"};

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/*
 * A dump is one chunk, or a row of chunks along frequency when it is large;
 * only a dump whose single channel is too large is cut along baselines too.
 * Uncompressed small dumps share a chunk; otherwise no chunk holds two dumps,
 * because a packed chunk would be packed again for each.
 */
void fx8_uvh5_chunk_shape(const struct fx8_uvh5_writer *writer,
                          hsize_t chunk[3])
{
    const size_t plane = writer->n_baselines * writer->n_products * VALUE_BYTES;
    const size_t dump = plane * writer->n_channels;
    size_t rows = writer->n_baselines;
    size_t channels = writer->n_channels;
    if (dump < LEAST_BYTES && writer->compression == FX8_COMPRESSION_NONE) {
        const size_t n_dumps = LEAST_BYTES / dump;
        rows *= n_dumps < writer->n_times ? n_dumps : writer->n_times;
    } else if (plane > MOST_BYTES) {
        channels = 1;
        rows = divide_up(rows, divide_up(plane, GOOD_BYTES));
    } else if (dump > MOST_BYTES) {
        const size_t n_parts = divide_up(dump, GOOD_BYTES);
        channels = n_parts < channels ? divide_up(channels, n_parts) : 1;
    }
    chunk[0] = rows;
    chunk[1] = channels;
    chunk[2] = writer->n_products;
}

/* Types of the three cubes: bool as in h5py, float, {r, i} of floats. */
static enum fx8_status make_types(struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    static const char *const parts[2] = {"r", "i"};
    writer->type[FX8_UVH5_FLAGS] = fx8_h5_bool_type();
    writer->type[FX8_UVH5_NSAMPLES] = H5Tcopy(H5T_IEEE_F32LE);
    writer->type[FX8_UVH5_VISDATA] = fx8_h5_pair_type(H5T_IEEE_F32LE, parts);
    for (int cube = 0; cube < FX8_UVH5_CUBES; cube++)
        if (writer->type[cube] < 0)
            return fx8_output_fail(writer->output, "types of Data", error);
    return FX8_OK;
}

/* Create an empty cube that can grow to its full length. */
static enum fx8_status create_cube(struct fx8_uvh5_writer *writer, int cube,
                                   const hsize_t chunk[3],
                                   struct fx8_error *error)
{
    const hsize_t none[3] = {0, writer->n_channels, writer->n_products};
    const hsize_t full[3] = {writer->n_times * writer->n_baselines,
                             writer->n_channels, writer->n_products};
    const int8_t flagged = 1;
    const bool packed = writer->compression != FX8_COMPRESSION_NONE;
    const bool bitshuffle = cube == FX8_UVH5_VISDATA &&
                            writer->compression == FX8_COMPRESSION_BITSHUFFLE;
    const struct fx8_h5_layout layout = {
        .name = cube_names[cube],
        .type = writer->type[cube],
        .rank = 3,
        .extent = none,
        .most = full,
        .chunk = chunk,
        .shuffle = packed && !bitshuffle,
        .deflate = packed && !bitshuffle ? 1 : 0,
        .bitshuffle = bitshuffle,
        .is_reserved = !packed,
        .fill = cube == FX8_UVH5_FLAGS ? &flagged : NULL,
        .n_slots = 521, /* HDF5's own default, a prime */
        /* one chunk stays in memory until it is full or the dump is flushed */
        .cache_bytes =
            2 * (size_t)(chunk[0] * chunk[1] * chunk[2]) * VALUE_BYTES,
    };
    return fx8_h5_create(writer->output, writer->data, &layout,
                         &writer->cube[cube], error);
}

/*
 * Grow the cubes and columns together, one row of chunks at a time, so that
 * later dumps are later in the file and cutting them frees its end.
 * Visibilities and weights that were never written are holes or fresh blocks,
 * zero either way; flags are written as TRUE.
 */
static enum fx8_status grow_cubes(struct fx8_uvh5_writer *writer,
                                  const hsize_t chunk[3],
                                  struct fx8_error *error)
{
    const hsize_t n_rows = writer->n_times * writer->n_baselines;
    const bool packed = writer->compression != FX8_COMPRESSION_NONE;
    for (hsize_t grown = 0; grown < n_rows;) {
        grown +=
            packed || n_rows - grown < chunk[0] ? n_rows - grown : chunk[0];
        FX8_TRY(fx8_uvh5_write_columns(writer, (size_t)grown, error));
        const hsize_t extent[3] = {grown, writer->n_channels,
                                   writer->n_products};
        for (int cube = 0; cube < FX8_UVH5_CUBES; cube++)
            if (H5Dset_extent(writer->cube[cube], extent) < 0)
                return fx8_output_fail(writer->output, cube_names[cube], error);
        FX8_TRY(fx8_output_check(writer->output, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_create_cubes(struct fx8_uvh5_writer *writer,
                                      struct fx8_error *error)
{
    hsize_t chunk[3];
    fx8_uvh5_chunk_shape(writer, chunk);
    FX8_TRY(make_types(writer, error));
    for (int cube = 0; cube < FX8_UVH5_CUBES; cube++)
        FX8_TRY(create_cube(writer, cube, chunk, error));
    return grow_cubes(writer, chunk, error);
}

enum fx8_status fx8_uvh5_close_handles(struct fx8_uvh5_writer *writer,
                                       struct fx8_error *error)
{
    for (int cube = 0; cube < FX8_UVH5_CUBES; cube++) {
        fx8_h5_close(&writer->cube[cube]);
        fx8_h5_close(&writer->type[cube]);
    }
    fx8_h5_close(&writer->data);
    fx8_h5_close(&writer->header);
    const hid_t file = writer->file;
    writer->file = FX8_H5_NONE;
    if (file > 0 && H5Fclose(file) < 0)
        return fx8_output_fail(writer->output, "close", error);
    return FX8_OK;
}
