/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h -- internals of the UVH5 writer: the parts of a file and the
 * functions that write them.  All names and types follow the UVH5 memo 1.1 and
 * pyuvdata; see data/README.md.
 */
#ifndef FX8_IO_UVH5_WRITER_H
#define FX8_IO_UVH5_WRITER_H

#include "io/h5/cubes.h"
#include "io/uvh5/uvh5.h"

/** Datasets of Data/, in the order of their chunks in the file. */
enum {
    FX8_UVH5_FLAGS = 0,
    FX8_UVH5_NSAMPLES,
    FX8_UVH5_VISDATA,
    FX8_UVH5_CUBES
};

/** Datasets of /fx8 with a row per dump. */
enum {
    FX8_UVH5_CHECKSUM = 0,
    FX8_UVH5_VALID_SPECTRA,
    FX8_UVH5_CLIPS,
    FX8_UVH5_COUNTS
};

struct fx8_uvh5_columns;

struct fx8_uvh5_writer {
    struct fx8_output *output;
    hid_t file;
    hid_t header; /**< group Header */
    hid_t data;   /**< group Data */
    struct fx8_h5_cube cubes[FX8_UVH5_CUBES];
    struct fx8_h5_cube counts[FX8_UVH5_COUNTS];
    struct fx8_uvh5_columns *columns; /**< while they are written, else NULL */
    enum fx8_compression compression;
    size_t n_times;
    size_t n_baselines;
    size_t n_channels;
    size_t n_products;
    struct fx8_error failure; /**< the first failure, reported again by close */
};

/** Scalars, antennas, frequencies, phase centre, keywords. */
enum fx8_status fx8_uvh5_put_header(struct fx8_uvh5_writer *writer,
                                    const struct fx8_uvh5_header *header,
                                    struct fx8_error *error);

/** Create the datasets of Header/ with one row per baseline and dump; `header`
 *  must outlive them. */
enum fx8_status fx8_uvh5_open_columns(struct fx8_uvh5_writer *writer,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error);

/** Write these datasets up to n_rows, and the rest of that block. */
enum fx8_status fx8_uvh5_write_columns(struct fx8_uvh5_writer *writer,
                                       size_t n_rows, struct fx8_error *error);

/** Close them; legal after a failure or if already closed. */
void fx8_uvh5_close_columns(struct fx8_uvh5_writer *writer);

/** Create the checksums: no dump is finished. */
enum fx8_status fx8_uvh5_create_checksums(struct fx8_uvh5_writer *writer,
                                          struct fx8_error *error);

/** Mark a dump as finished, with the checksum of what was written of it:
 *  values of the cubes, by FX8_UVH5_FLAGS and so on. */
enum fx8_status fx8_uvh5_mark(struct fx8_uvh5_writer *writer, size_t dump,
                              const void *const values[FX8_UVH5_CUBES],
                              struct fx8_error *error);

/** Whether no dump of a UVH5 file of fx8 is finished; false of other files. */
bool fx8_uvh5_holds_no_dump(hid_t file);

/** Cut the datasets of /fx8 to n_dumps. */
enum fx8_status fx8_uvh5_cut_counts(struct fx8_uvh5_writer *writer,
                                    size_t n_dumps, struct fx8_error *error);

/** Cut these datasets to n_dumps and correct Nblts and Ntimes. */
enum fx8_status fx8_uvh5_cut_columns(struct fx8_uvh5_writer *writer,
                                     size_t n_dumps, struct fx8_error *error);

#endif
