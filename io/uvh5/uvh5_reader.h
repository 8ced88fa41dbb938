/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uvh5_reader.h -- internals of the UVH5 reader.
 */
#ifndef FX8_IO_UVH5_UVH5_READER_H
#define FX8_IO_UVH5_UVH5_READER_H

#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

struct fx8_uvh5_file {
    char *path;
    hid_t file;
    hid_t group; /**< group Header, while it is read */
    hid_t visdata;
    hid_t flags;
    hid_t nsamples;
    hid_t complex_type;  /**< {r, i} in memory */
    bool is_single;      /**< of floats, as in the file; else of doubles */
    hid_t flag_type;     /**< in memory, of one byte */
    hid_t valid_spectra; /**< of /fx8, once it is found */
    hid_t clips;         /**< likewise */
    bool takes_any_rows; /**< not just the same baselines in every dump */
    size_t n_times;
    size_t n_rows;
    size_t n_channels;
    size_t n_products;
};

/** Read Header/ into `header`; sets n_rows, n_channels and n_products of
 *  `file`.  After failure the caller clears `header`. */
enum fx8_status fx8_uvh5_get_header(struct fx8_uvh5_file *file,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error);

/** Read dates and lengths of rows in any order. */
enum fx8_status fx8_uvh5_get_rows(const struct fx8_uvh5_file *file,
                                  const struct fx8_h5_place *place,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error);

/** Keep at most so many bytes of unpacked chunks of Data/ until the next read,
 *  and none of those of earlier ones. */
enum fx8_status fx8_uvh5_limit_chunks(struct fx8_uvh5_file *file, size_t most,
                                      struct fx8_error *error);

/** FX8_ERR_INPUT if rows are averages in time: what /fx8 counts is of single
 *  dumps. */
enum fx8_status fx8_uvh5_check_dumps(const char *path, hid_t file,
                                     struct fx8_error *error);

/** The same as fx8_uvh5_get_header(), but only history and keywords. */
enum fx8_status fx8_uvh5_get_words(struct fx8_uvh5_file *file,
                                   struct fx8_uvh5_header *header,
                                   struct fx8_error *error);

#endif
