/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.h -- internals of the joining of UVH5 files: the pieces in their order,
 * and what joins their headers.
 */
#ifndef FX8_IO_UVH5_JOIN_H
#define FX8_IO_UVH5_JOIN_H

#include "io/uvh5/uvh5_reader.h"

/** A file to join. */
struct fx8_uvh5_piece {
    const char *path;
    struct fx8_uvh5_file *file;
    struct fx8_h5_place root;
    struct fx8_uvh5_header header;      /**< whole in the first one opened; only
                                             dates, channels, history in others */
    int64_t *checksums;                 /**< [header.n_times]; NULL: none */
    unsigned long sums[FX8_UVH5_CUBES]; /**< of its dump, so far */
    double start;                       /**< first date, or first frequency */
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

/** Open the files of a request and put them in order.  Status as
 *  fx8_uvh5_join(); released by fx8_uvh5_pieces_close(), also after a
 *  failure. */
enum fx8_status fx8_uvh5_pieces_open(
    const struct fx8_uvh5_join_request *request, struct fx8_uvh5_pieces *pieces,
    struct fx8_error *error);

void fx8_uvh5_pieces_close(struct fx8_uvh5_pieces *pieces);

/** The piece that holds a dump of a result joined by time. */
struct fx8_uvh5_piece *fx8_uvh5_piece_of(const struct fx8_uvh5_pieces *pieces,
                                         size_t dump);

/** A join under way. */
struct fx8_uvh5_join {
    const struct fx8_uvh5_join_request *request;
    struct fx8_uvh5_pieces pieces;
    struct fx8_uvh5_writer *writer;
    struct fx8_h5_target target; /**< its root */
};

/** Write Header/ and /fx8 of the result, but the checksums. */
enum fx8_status fx8_uvh5_join_items(const struct fx8_uvh5_join *join,
                                    struct fx8_error *error);

/** Lists of numbers of all pieces, of one to three axes. */
struct fx8_uvh5_lists {
    const char *name;
    int axis; /**< along which they follow each other */
    size_t (*count)(const struct fx8_uvh5_piece *piece); /**< of a piece there;
                                                              NULL: any */
};

/** Find the shape of all side by side.  FX8_ERR_INPUT: missing, no numbers,
 *  three axes, shapes that do not fit or that a file cannot hold. */
enum fx8_status fx8_uvh5_find_shape(const struct fx8_uvh5_join *join,
                                    const struct fx8_uvh5_lists *lists,
                                    hsize_t shape[3], struct fx8_error *error);

/** Copy those of the first n pieces into a dataset. */
enum fx8_status fx8_uvh5_copy_lists(const struct fx8_uvh5_join *join,
                                    const struct fx8_uvh5_lists *lists,
                                    size_t n, hid_t joined,
                                    struct fx8_error *error);

/** Write what was counted in each dump, and clip fractions; a warning if the
 *  counts of the pieces do not suit each other. */
enum fx8_status fx8_uvh5_join_counts(const struct fx8_uvh5_join *join,
                                     struct fx8_error *error);

/** Refuse, or remark on, keys in which configurations differ, as the histories
 *  show. */
enum fx8_status fx8_uvh5_match_settings(
    const struct fx8_uvh5_join_request *request,
    const struct fx8_uvh5_pieces *pieces, struct fx8_error *error);

/** How many files were joined into a piece; 0 if it is the result of one run.
 */
size_t fx8_uvh5_count_joined(const struct fx8_uvh5_piece *piece);

/** Write the history of the result; cuts those of the pieces into lines. */
enum fx8_status fx8_uvh5_join_histories(const struct fx8_uvh5_join *join,
                                        struct fx8_error *error);

#endif
