/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * side.h -- one of the files of a comparison, read a few rows at a time.
 */
#ifndef FX8_CORRELATOR_COMPARE_SIDE_H
#define FX8_CORRELATOR_COMPARE_SIDE_H

#include <stdio.h>

#include "correlator/compare/compare.h"
#include "correlator/fx8.h"
#include "io/uvh5/uvh5.h"

/** A file and the rows read last; all zero: none. */
struct fx8_compare_side {
    const char *path;
    struct fx8_uvh5_file *file;
    struct fx8_uvh5_header header;
    double *visibilities; /**< [rows of a read][n_channels][n_products][2] */
    uint8_t *flags;       /**< [rows of a read][n_channels][n_products] */
    float *nsamples;      /**< likewise */
};

/** Open a file and read its header.  FX8_ERR_INPUT: no UVH5, or a quick-look
 *  file; fx8_compare_side_close() releases, also
 *  after a failure.  `path` must live as long. */
enum fx8_status fx8_compare_side_open(const char *path,
                                      struct fx8_compare_side *side,
                                      struct fx8_error *error);

/** Release; a zeroed side is legal. */
void fx8_compare_side_close(struct fx8_compare_side *side);

/** Keyword PRECISN, "" without one. */
const char *fx8_compare_side_precision(const struct fx8_compare_side *side);

/** Sizes of the visibilities.  FX8_ERR_INPUT: other than products of
 *  linear or of circular feeds. */
enum fx8_status fx8_compare_side_shape(const struct fx8_compare_side *side,
                                       struct fx8_compare_shape *shape,
                                       struct fx8_error *error);

/** Print "5 dumps, 8 antennas, 36 baselines, 4 products, 64 channels". */
void fx8_compare_side_print(int64_t n_dumps,
                            const struct fx8_compare_shape *shape,
                            FILE *stream);

/** Rows per read: a few MiB, at least one row. */
size_t fx8_compare_side_rows(const struct fx8_compare_shape *shape);

/** Memory for n_rows rows. */
enum fx8_status fx8_compare_side_allocate(struct fx8_compare_side *side,
                                          size_t n_rows,
                                          struct fx8_error *error);

/** Read rows [first, first + n_rows), no more than allocated.  FX8_ERR_INPUT:
 *  a visibility that is not finite. */
enum fx8_status fx8_compare_side_read(struct fx8_compare_side *side,
                                      size_t first, size_t n_rows,
                                      struct fx8_error *error);

/** One of the rows read last. */
struct fx8_compare_row fx8_compare_side_row(const struct fx8_compare_side *side,
                                            size_t row);

/** Positions of the antennas of each baseline, antennas: [n_baselines][2]. */
enum fx8_status fx8_compare_side_antennas(const struct fx8_compare_side *side,
                                          size_t (*antennas)[2],
                                          struct fx8_error *error);

/** Powers of the inputs in a dump, from its autos, and their weights (may be
 *  NULL): double [n_inputs][n_channels].  Reads rows one by one. */
enum fx8_status fx8_compare_side_powers(struct fx8_compare_side *side,
                                        size_t dump,
                                        const struct fx8_compare_shape *shape,
                                        const size_t (*antennas)[2],
                                        double *power, double *weight,
                                        struct fx8_error *error);

#endif
