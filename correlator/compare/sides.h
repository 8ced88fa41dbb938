/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sides.h -- the files of a comparison: the same observation, read side by
 * side, some baselines of a dump at a time.
 */
#ifndef FX8_CORRELATOR_COMPARE_SIDES_H
#define FX8_CORRELATOR_COMPARE_SIDES_H

#include <stdio.h>

#include "correlator/compare/compare.h"
#include "correlator/fx8.h"
#include "io/uvh5/uvh5.h"

/** Most files side by side. */
#define FX8_COMPARE_SIDES 3

/** A file and the rows read last. */
struct fx8_compare_side {
    const char *path;
    struct fx8_uvh5_file *file;
    struct fx8_uvh5_header header;
    double *visibilities; /**< [rows of a read][n_channels][n_products][2] */
    uint8_t *flags;       /**< [rows of a read][n_channels][n_products] */
    float *nsamples;      /**< likewise */
};

/** The files; all zero: none. */
struct fx8_compare_sides {
    size_t n;
    struct fx8_compare_side side[FX8_COMPARE_SIDES];
    struct fx8_compare_shape shape; /**< of each of them */
    double longest_s;               /**< dump of the first */
    size_t (*antennas)[2];          /**< [n_baselines] positions */
    bool has_autos;                 /**< of every antenna of these baselines */
    size_t rows_per_read;
    bool has_no_values; /**< set to read flags and weights only */
    struct fx8_progress_display *progress; /**< of the rows read; NULL after
                                                opening: none */
};

/**
 * fx8_compare_sides_open -- open files, read their headers, allocate.
 *
 * All have the same antennas, baselines, products, frequencies, times and dump
 * lengths, in the same order; and the same unit if two files name one.
 *
 * Given:     paths  [n]  live as long as the sides
 * Status:    FX8_ERR_INPUT: no UVH5, or a quick-look file; "PATH: ITEM: value:
 *            expected value as in PATHS[0]"; products of other than linear or
 *            circular feeds; FX8_ERR_SYSTEM: memory
 * Ownership: fx8_compare_sides_close() releases, also after a failure
 */
enum fx8_status fx8_compare_sides_open(const char *const *paths, size_t n,
                                       struct fx8_compare_sides *sides,
                                       struct fx8_error *error);

/** FX8_ERR_INPUT: frequencies, times, lengths or positions that the reader
 *  leaves unchecked and that nothing can be computed with. */
enum fx8_status fx8_compare_side_check(const struct fx8_compare_side *side,
                                       struct fx8_error *error);

/** Release; zeroed sides are legal. */
void fx8_compare_sides_close(struct fx8_compare_sides *sides);

/** Read a baseline of a dump, in ascending order: rows [n], the same baseline
 *  of each file, valid until the next call, and how many baselines follow each
 *  other there (NULL: not wanted).  FX8_ERR_INPUT: a visibility or a weight
 *  that is not finite, a weight below 0. */
enum fx8_status fx8_compare_sides_read(struct fx8_compare_sides *sides,
                                       size_t dump, size_t baseline,
                                       struct fx8_compare_row *rows,
                                       size_t *n_rows, struct fx8_error *error);

/** Powers of the inputs in a dump of file `side`, from its autos, and their
 *  weights (may be NULL): double [n_inputs][n_channels].  Before its baselines
 *  are read. */
enum fx8_status fx8_compare_sides_powers(struct fx8_compare_sides *sides,
                                         size_t side, size_t dump,
                                         double *power, double *weight,
                                         struct fx8_error *error);

/** Powers and weights, as above, from one row of autos: a baseline of an
 * antenna with itself. */
void fx8_compare_sides_take_powers(const struct fx8_compare_sides *sides,
                                   size_t baseline,
                                   const struct fx8_compare_row *row,
                                   double *power, double *weight);

/** Derive shape, longest dump and antennas from the header of the first of the
 *  sides. */
enum fx8_status fx8_compare_sides_describe(struct fx8_compare_sides *sides,
                                           struct fx8_error *error);

/** Length of a dump, relative to the longest. */
static inline double fx8_compare_sides_length(
    const struct fx8_compare_sides *sides, size_t dump)
{
    return sides->side[0].header.integration_s[dump] / sides->longest_s;
}

/** Copy names, units, frequencies and antennas of two sides, the subject
 *  first. */
void fx8_compare_sides_note(const struct fx8_compare_sides *sides,
                            struct fx8_comparison *comparison);

/** Whether the rounding noise of the quantiser is still in a file's autos. */
bool fx8_compare_side_has_bias(const struct fx8_compare_side *side);

/** Whether noise of one step was added before a file's spectra were rounded. */
bool fx8_compare_side_has_dither(const struct fx8_compare_side *side);

/** Keyword PRECISN, "" without one. */
const char *fx8_compare_side_precision(const struct fx8_compare_side *side);

/** Print "5 dumps, 8 antennas, 36 baselines, 4 products, 64 channels". */
void fx8_compare_print_sizes(int64_t n_dumps,
                             const struct fx8_compare_shape *shape,
                             FILE *stream);

#endif
