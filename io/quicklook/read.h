/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.h -- reading a quick-look file: its metadata, and its dumps;
 * data/README.md, "Quick-look", lists every dataset.
 */
#ifndef FX8_IO_QUICKLOOK_READ_H
#define FX8_IO_QUICKLOOK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "correlator/fx8.h"
#include "io/uvh5/uvh5.h"

/** Number of reported items of the group /counts, in document order. */
#define FX8_QUICKLOOK_COUNTS 14

/** Summary of a quick-look. */
struct fx8_quicklook_description {
    char telescope[FX8_TEXT_SIZE], instrument[FX8_TEXT_SIZE];
    char object[FX8_TEXT_SIZE];
    char math[FX8_TEXT_SIZE];      /**< "ieee", "fast" */
    char precision[FX8_TEXT_SIZE]; /**< "INT8", "FP32": precision of the
                                      visibilities */
    int64_t spectra_per_dump;
    double integration_time_s;
    size_t n_dumps;                             /**< dumps allocated */
    size_t n_written;                           /**< dumps with a date */
    double first_julian_date, last_julian_date; /**< of these; NaN: none */
    size_t n_antennas, n_inputs, n_baselines, n_channels, n_products;
    double first_frequency_hz, last_frequency_hz, channel_width_hz;
    bool has_counts; /**< the run finished */
    int64_t counts[FX8_QUICKLOOK_COUNTS];
};

/** Names of the counts, as in the file. */
extern const char *const fx8_quicklook_count_names[FX8_QUICKLOOK_COUNTS];

/** Whether the format attribute of `path` says quick-look. */
bool fx8_quicklook_probe(const char *path);

/**
 * fx8_quicklook_describe -- read everything but the large datasets.
 *
 * Status: FX8_ERR_INPUT: "FILE: DATASET: value: what was expected"
 */
enum fx8_status fx8_quicklook_describe(
    const char *path, struct fx8_quicklook_description *description,
    struct fx8_error *error);

struct fx8_quicklook_dumps;

/**
 * fx8_quicklook_dumps_open -- open for reading dumps.
 *
 * Returned: header  as of the UVH5 file of the same run, as far as it is in a
 *                   quick-look: names, antennas without positions, baselines
 *                   without uvw, dates, channels, products;
 *                   fx8_uvh5_header_clear() releases it
 *           dumps   fx8_quicklook_dumps_close() releases it
 * Status:   FX8_ERR_INPUT: "FILE: DATASET: value: what was expected"
 */
enum fx8_status fx8_quicklook_dumps_open(const char *path,
                                         struct fx8_quicklook_dumps **dumps,
                                         struct fx8_uvh5_header *header,
                                         struct fx8_error *error);

/**
 * fx8_quicklook_dumps_read -- baselines [first, first + n) of a dump.
 *
 * Returned: coherence  [n][n_channels][n_products][re, im]
 *           flags      [n][n_channels][n_products]
 */
enum fx8_status fx8_quicklook_dumps_read(struct fx8_quicklook_dumps *dumps,
                                         size_t dump, size_t first, size_t n,
                                         double *coherence, uint8_t *flags,
                                         struct fx8_error *error);

/** Power of every antenna in a dump, [n_antennas][X, Y][n_channels] in input
 *  counts squared; NaN for an input that is not there. */
enum fx8_status fx8_quicklook_dumps_powers(struct fx8_quicklook_dumps *dumps,
                                           size_t dump, double *powers,
                                           struct fx8_error *error);

/** Close and null the handle; a NULL handle is legal. */
void fx8_quicklook_dumps_close(struct fx8_quicklook_dumps **dumps);

#endif
