/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.h -- internals of the joining of UVH5 files: the pieces in their order,
 * and what copies their headers.
 */
#ifndef FX8_IO_UVH5_JOIN_H
#define FX8_IO_UVH5_JOIN_H

#include "io/uvh5/uvh5_reader.h"
#include "io/uvh5/writer.h"

/** A file to join. */
struct fx8_uvh5_piece {
    const char *path;
    struct fx8_uvh5_file *file;
    struct fx8_uvh5_header header; /**< whole in the first one opened; only
                                        dates and channels in the others */
    double start;                  /**< first date, or first frequency */
    size_t first; /**< dump, or channel, of the result at which it begins */
};

/** All of them. */
struct fx8_uvh5_pieces {
    size_t n;
    struct fx8_uvh5_piece *piece; /**< [n] in the order of the result */
    bool by_time;                 /**< else by frequency */
    size_t n_times;               /**< of the result, like the rest */
    size_t n_baselines;
    size_t n_channels;
    size_t n_products;
};

/** Open files and put them in order.  Status as fx8_uvh5_join(); released by
 *  fx8_uvh5_pieces_close(), also after a failure. */
enum fx8_status fx8_uvh5_pieces_open(const char *const *paths, size_t n,
                                     struct fx8_uvh5_pieces *pieces,
                                     struct fx8_error *error);

void fx8_uvh5_pieces_close(struct fx8_uvh5_pieces *pieces);

/** Shape of a list of one to three axes; extents are 1 beyond its axes. */
struct fx8_uvh5_shape {
    int rank;
    hsize_t extent[3];
};

/**
 * fx8_uvh5_join_shape -- shape of a dataset of numbers of all pieces, put side
 * by side.
 *
 * Given:  name      from the root of a file
 *         axis      along which they follow each other
 *         expected  extent of a piece there; NULL: any
 * Status: FX8_ERR_INPUT: missing, no numbers, shapes that do not fit
 */
enum fx8_status fx8_uvh5_join_shape(
    const struct fx8_uvh5_pieces *pieces, const char *name, int axis,
    size_t (*expected)(const struct fx8_uvh5_piece *piece),
    struct fx8_uvh5_shape *joined, struct fx8_error *error);

/** Copy them into a dataset of that shape, with its type. */
enum fx8_status fx8_uvh5_join_values(const struct fx8_uvh5_pieces *pieces,
                                     const char *name, int axis, hid_t joined,
                                     const struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error);

/** The piece that holds a dump of a result joined by time. */
const struct fx8_uvh5_piece *fx8_uvh5_piece_of(
    const struct fx8_uvh5_pieces *pieces, size_t dump);

/** Where the header of a piece is. */
struct fx8_h5_place fx8_uvh5_header_of(const struct fx8_uvh5_piece *piece);

/** Write Header/ of the result: copies, joined axes, keywords, history. */
enum fx8_status fx8_uvh5_join_header(const struct fx8_uvh5_pieces *pieces,
                                     const char *command,
                                     struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error);

/** Write the datasets of Header/ with a row per baseline and dump. */
enum fx8_status fx8_uvh5_join_columns(const struct fx8_uvh5_pieces *pieces,
                                      struct fx8_uvh5_writer *writer,
                                      struct fx8_error *error);

/** Write /fx8 of the result but the checksums. */
enum fx8_status fx8_uvh5_join_extras(const struct fx8_uvh5_pieces *pieces,
                                     void (*warn)(const char *format, ...),
                                     struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error);

#endif
