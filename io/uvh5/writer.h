/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h -- inside the UVH5 writer: the parts of a file and who writes them.
 * Source of every name and type: the UVH5 memo 1.1 and pyuvdata, as
 * data/README.md tells.
 */
#ifndef FX8_IO_UVH5_WRITER_H
#define FX8_IO_UVH5_WRITER_H

#include "io/h5/put.h"
#include "io/uvh5/uvh5.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Number of the filter bitshuffle in the HDF Group's registry; libhdf5 finds
 *  it as a plugin. */
#define FX8_UVH5_BITSHUFFLE 32008

/** Datasets of Data/, in the order in which their chunks lie in the file. */
enum {
    FX8_UVH5_FLAGS = 0,
    FX8_UVH5_NSAMPLES,
    FX8_UVH5_VISDATA,
    FX8_UVH5_CUBES
};

struct fx8_uvh5_columns;

struct fx8_uvh5_writer {
    struct fx8_output *output;
    hid_t file;
    hid_t header; /**< group Header */
    hid_t data;   /**< group Data */
    hid_t cube[FX8_UVH5_CUBES];
    hid_t type[FX8_UVH5_CUBES];       /**< in memory and in the file */
    struct fx8_uvh5_columns *columns; /**< while they are written, else NULL */
    enum fx8_compression compression;
    size_t n_times;
    size_t n_baselines;
    size_t n_channels;
    size_t n_products;
    struct fx8_error failure; /**< the first failure, told again by close */
};

/** Keep the first failure for close; the status that was given. */
enum fx8_status fx8_uvh5_noted(struct fx8_uvh5_writer *writer,
                               enum fx8_status status,
                               const struct fx8_error *error);

/** Scalars, antennas, frequencies, phase centre, keywords. */
enum fx8_status fx8_uvh5_put_header(struct fx8_uvh5_writer *writer,
                                    const struct fx8_uvh5_header *header,
                                    struct fx8_error *error);

/** Datasets of Header/ with one row per baseline and dump: create them; the
 *  header must live until they are closed. */
enum fx8_status fx8_uvh5_open_columns(struct fx8_uvh5_writer *writer,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error);

/** Write them up to n_rows, and what is left of that block. */
enum fx8_status fx8_uvh5_write_columns(struct fx8_uvh5_writer *writer,
                                       size_t n_rows, struct fx8_error *error);

/** Also after a failure, or when they are closed. */
void fx8_uvh5_close_columns(struct fx8_uvh5_writer *writer);

/** Cut those datasets to n_rows and correct Nblts and Ntimes. */
enum fx8_status fx8_uvh5_cut_columns(struct fx8_uvh5_writer *writer,
                                     size_t n_dumps, struct fx8_error *error);

/** All cubes and columns cut to n_dumps, the file as short as they allow. */
enum fx8_status fx8_uvh5_cut(struct fx8_uvh5_writer *writer, size_t n_dumps,
                             struct fx8_error *error);

/** Close the HDF5 file and all that is open in it; the output stays open. */
enum fx8_status fx8_uvh5_close_handles(struct fx8_uvh5_writer *writer,
                                       struct fx8_error *error);

/** Data/ at full size: flagged, zero weight, zero visibilities; and the rows
 *  of the columns along with it. */
enum fx8_status fx8_uvh5_create_cubes(struct fx8_uvh5_writer *writer,
                                      struct fx8_error *error);

/** Shape [rows][channels][products] of the chunks of Data/. */
void fx8_uvh5_chunk_shape(const struct fx8_uvh5_writer *writer,
                          hsize_t chunk[3]);

#ifdef __cplusplus
}
#endif

#endif
