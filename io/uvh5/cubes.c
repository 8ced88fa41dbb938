/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cubes.c -- layout of visdata, flags and nsamples on disk; closing all handles
 * of a file.
 */
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

void fx8_uvh5_describe_cubes(struct fx8_uvh5_writer *writer)
{
    static const int8_t flagged = 1;
    const struct fx8_h5_cube visdata = {
        .name = "visdata",
        .value_bytes = 2 * sizeof(float),
        .rank = 3,
        .dump = {writer->n_baselines, writer->n_channels, writer->n_products},
    };
    struct fx8_h5_cube *cubes = writer->cubes;
    cubes[FX8_UVH5_VISDATA] = visdata;
    fx8_h5_cube_chunk(&cubes[FX8_UVH5_VISDATA], 0, writer->n_times,
                      writer->compression == FX8_COMPRESSION_NONE);
    cubes[FX8_UVH5_NSAMPLES] = cubes[FX8_UVH5_FLAGS] = cubes[FX8_UVH5_VISDATA];
    cubes[FX8_UVH5_NSAMPLES].name = "nsamples";
    cubes[FX8_UVH5_NSAMPLES].value_bytes = sizeof(float);
    cubes[FX8_UVH5_FLAGS].name = "flags";
    cubes[FX8_UVH5_FLAGS].value_bytes = 1;
    cubes[FX8_UVH5_FLAGS].fill = &flagged;
}

/* Types of the three cubes: bool as in h5py, float, {r, i} of floats. */
static enum fx8_status make_types(struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    static const char *const parts[2] = {"r", "i"};
    struct fx8_h5_cube *cubes = writer->cubes;
    cubes[FX8_UVH5_FLAGS].type = fx8_h5_bool_type();
    cubes[FX8_UVH5_NSAMPLES].type = H5Tcopy(H5T_IEEE_F32LE);
    cubes[FX8_UVH5_VISDATA].type = fx8_h5_pair_type(H5T_IEEE_F32LE, parts);
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        if (cubes[i].type < 0)
            return fx8_output_fail(writer->output, "types of Data", error);
    return FX8_OK;
}

/*
 * Grow the cubes and columns together, one row of chunks at a time, so that
 * later dumps are later in the file and cutting them frees its end.
 * Visibilities and weights that were never written are holes or fresh blocks,
 * zero either way; flags are written as TRUE.
 */
static enum fx8_status grow_cubes(struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    const size_t n_rows = writer->n_times * writer->n_baselines;
    const size_t step = writer->compression != FX8_COMPRESSION_NONE
                            ? n_rows
                            : (size_t)writer->cubes[0].chunk[0];
    for (size_t grown = 0; grown < n_rows;) {
        grown += n_rows - grown < step ? n_rows - grown : step;
        FX8_TRY(fx8_uvh5_write_columns(writer, grown, error));
        FX8_TRY(fx8_h5_cubes_resize(writer->output, writer->cubes,
                                    FX8_UVH5_CUBES, grown, error));
        FX8_TRY(fx8_output_check(writer->output, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_create_cubes(struct fx8_uvh5_writer *writer,
                                      struct fx8_error *error)
{
    const bool packed = writer->compression != FX8_COMPRESSION_NONE;
    FX8_TRY(make_types(writer, error));
    for (int i = 0; i < FX8_UVH5_CUBES; i++) {
        const bool bitshuffle =
            i == FX8_UVH5_VISDATA &&
            writer->compression == FX8_COMPRESSION_BITSHUFFLE;
        FX8_TRY(fx8_h5_cube_create(writer->output, writer->data,
                                   &writer->cubes[i], writer->n_times,
                                   packed && !bitshuffle, bitshuffle, error));
    }
    return grow_cubes(writer, error);
}

enum fx8_status fx8_uvh5_close_handles(struct fx8_uvh5_writer *writer,
                                       struct fx8_error *error)
{
    fx8_uvh5_close_columns(writer); /* after a failure */
    fx8_h5_cubes_close(writer->cubes, FX8_UVH5_CUBES);
    fx8_h5_close(&writer->data);
    fx8_h5_close(&writer->header);
    const hid_t file = writer->file;
    writer->file = FX8_H5_NONE;
    if (file > 0 && H5Fclose(file) < 0)
        return fx8_output_fail(writer->output, "close", error);
    return FX8_OK;
}
