/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.h -- what a plot looks at: a chosen part of a result, of a quick-look
 * or of a recording, read dump by dump.
 */
#ifndef FX8_CORRELATOR_PLOT_VIEW_H
#define FX8_CORRELATOR_PLOT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"
#include "config/supply.h"
#include "correlator/plot/figure.h"
#include "io/quicklook/read.h"
#include "io/reader.h"
#include "io/uvh5/uvh5.h"

/** What a file is. */
enum fx8_view_kind {
    FX8_VIEW_RESULT = 1,
    FX8_VIEW_QUICKLOOK = 2,
    FX8_VIEW_RECORDING = 4
};

/** No baseline, no product. */
#define FX8_NOTHING SIZE_MAX

/** First and last of a range of indices. */
struct fx8_view_range {
    bool is_given;
    int64_t first, last;
};

/** What to look at. */
struct fx8_view_request {
    const char *const *paths; /**< [n_paths] */
    size_t n_paths;
    const struct fx8_settings *settings;    /**< for recordings */
    fx8_supply_warn *warn;                  /**< likewise */
    const struct fx8_number_list *antennas; /**< numbers; NULL: all */
    int product;                            /**< AIPS code; 0: not chosen */
    struct fx8_view_range channels, times;  /**< indices from 0 */
    struct fx8_view_range baseline;         /**< numbers of two antennas */
    bool by_length; /**< order pairs by the lengths of their baselines */
};

/** An open file and the part that was chosen. */
struct fx8_view {
    enum fx8_view_kind kind;
    const char *path;
    const struct fx8_view_request *request;
    struct fx8_reader *reader;         /**< of a recording; else NULL */
    struct fx8_uvh5_file *file;        /**< of a result; else NULL */
    struct fx8_quicklook_dumps *dumps; /**< of a quick-look; else NULL */
    /* of a result or a quick-look: */
    struct fx8_uvh5_header header;
    bool *is_chosen;           /**< [n_antennas] */
    size_t *index_1, *index_2; /**< [n_baselines] antennas of each */
    size_t *autos;             /**< [n_antennas] baseline with itself, or
                                    FX8_NOTHING */
    size_t first_channel, n_channels;
    size_t first_time, n_times;
    size_t baseline; /**< the one asked for, or FX8_NOTHING */
    bool is_turned;  /**< asked for from the second antenna to the first */
};

/** Why a cell is not good: bit mask. */
enum fx8_view_flag {
    FX8_VIEW_FLAGGED = 1,   /**< in the file */
    FX8_VIEW_EMPTY = 2,     /**< no data: nsamples is not above 0 */
    FX8_VIEW_NOT_FINITE = 4 /**< infinite, or not a number */
};

/** A row of visibilities: one baseline of one dump, channels as chosen. */
struct fx8_view_row {
    size_t time; /**< from 0 at the first chosen */
    size_t baseline;
    const double *values; /**< [n_channels][n_products][re, im] */
    /** [n_channels][n_products] enum fx8_view_flag; 0: good */
    const uint8_t *flags;
    size_t n_not_finite; /**< cells that would be good if they were finite */
    /** [2][header.n_channels] X and Y of either antenna in this dump, NaN:
     *  unknown; begin at the first chosen channel */
    const double *powers_1, *powers_2;
};

/** Takes a row; called dump by dump, baselines ascending. */
typedef void fx8_view_take(void *context, const struct fx8_view_row *row);

/**
 * fx8_view_open -- find out what the file is, open it, and choose.
 *
 * Status: FX8_ERR_INPUT for a fault in the file, FX8_ERR_USAGE "FILE: --option:
 *         value: ..." for a part that it does not have
 * Notes:  fx8_view_close() also after a failure
 */
enum fx8_status fx8_view_open(const struct fx8_view_request *request,
                              struct fx8_view *view, struct fx8_error *error);

/** "a result", "a quick-look" or "a recording". */
const char *fx8_view_kind_name(const struct fx8_view *view);

/** Release; a zeroed one is legal. */
void fx8_view_close(struct fx8_view *view);

/**
 * fx8_view_scan -- read all chosen dumps, or some spread evenly.
 *
 * Given: wanted  [n_baselines] which baselines
 *        most    dumps at most
 * Status: FX8_ERR_INPUT also for a .part in which no cell has data yet
 * Notes: 1) visibilities of a quick-look are coherence times the root of the
 *           powers
 *        2) memory: a few MiB, and the powers of one dump
 */
enum fx8_status fx8_view_scan(const struct fx8_view *view, const bool *wanted,
                              size_t most, fx8_view_take *take, void *context,
                              struct fx8_error *error);

/** Polarisations of a product: 0 X, or R; 1 Y, or L. */
size_t fx8_view_pol_1(const struct fx8_view *view, size_t product);
size_t fx8_view_pol_2(const struct fx8_view *view, size_t product);

/** AIPS code of a product by its name, "XX"; 0 for NULL. */
int fx8_view_product_code(const char *name);

/** Index of a product by its AIPS code, or FX8_NOTHING. */
size_t fx8_view_product(const struct fx8_view *view, int code);

/** The product with the antennas exchanged, YX of XY, or FX8_NOTHING. */
size_t fx8_view_mirrored(const struct fx8_view *view, size_t product);

/** The product asked for, else the first. */
size_t fx8_view_main_product(const struct fx8_view *view);

/** Whether a product is to be shown: the one asked for, or XX and YY. */
bool fx8_view_shows(const struct fx8_view *view, size_t product);

/** "XX". */
const char *fx8_view_product_name(const struct fx8_view *view, size_t product);

/** Whether both antennas of a baseline are chosen and differ. */
bool fx8_view_is_cross(const struct fx8_view *view, size_t baseline);

/** "ANT003 and ANT007", in the order asked for. */
void fx8_view_baseline_name(const struct fx8_view *view, size_t baseline,
                            char text[FX8_LABEL_SIZE]);

/** Axes of the chosen channels (MHz) and dumps (UTC), edge to edge. */
void fx8_view_frequency_axis(const struct fx8_view *view,
                             struct fx8_axis *axis);
void fx8_view_time_axis(const struct fx8_view *view, struct fx8_axis *axis);

/** Cells of these axes: one for each channel or dump, but at most `most`. */
size_t fx8_view_columns(const struct fx8_view *view, size_t most);
size_t fx8_view_rows(const struct fx8_view *view, size_t most);

/** Cell of a chosen channel or dump among `n`: by frequency or date, so gaps
 *  stay gaps. */
size_t fx8_view_column(const struct fx8_view *view, size_t channel, size_t n);
size_t fx8_view_row(const struct fx8_view *view, size_t time, size_t n);

/** Middle of a cell, in the unit of the axis. */
double fx8_cell_middle(const struct fx8_axis *axis, size_t cell, size_t n);

/** Title: the name of the file or folder, and what is shown. */
void fx8_view_title(const struct fx8_view *view, const char *what,
                    struct fx8_figure *figure);

/** Title, what was averaged into n_rows and n_columns cells, and how many cells
 *  of the file were left out as they are not finite. */
void fx8_view_describe(const struct fx8_view *view, const char *what,
                       size_t n_rows, size_t n_columns, size_t n_not_finite,
                       struct fx8_figure *figure);

#endif
