/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * figure.h -- what a page shows, as numbers: panels with axes, series, a
 * matrix.  Kinds of plots fill it; it is drawn, or printed as JSON.
 */
#ifndef FX8_CORRELATOR_PLOT_FIGURE_H
#define FX8_CORRELATOR_PLOT_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "correlator/plot/axes.h"
#include "correlator/plot/draw.h"

/** Room for a title or a sentence, with its end. */
#define FX8_WORDS_SIZE 512

/** Most panels of a page. */
#define FX8_MOST_PANELS 8

/** Most cells of a matrix along either axis: a row is a point of the page or
 *  more, and so is a single dump between gaps. */
#define FX8_MOST_COLUMNS 1000
#define FX8_MOST_ROWS    260

/** Most points of a line against time. */
#define FX8_MOST_TIMES 600

/** How a series is drawn. */
enum fx8_mark { FX8_MARK_LINE = 0, FX8_MARK_DOTS, FX8_MARK_BARS };

/** Points (x, y) [n]; NaN: no point there. */
struct fx8_series {
    char name[FX8_LABEL_SIZE];
    enum fx8_mark mark;
    bool is_bad; /**< in the colour of what looks wrong */
    /** under the pointer: the label alone, nothing if there are no labels */
    bool has_own_texts;
    double width; /**< from bar to bar, in units of x; 0: 1 */
    size_t n;
    double *x, *y;
    /** [n] names of the points, or NULL */
    char (*labels)[FX8_LABEL_SIZE];
};

/** Values [n_rows][n_columns] that fill the frame, row 0 at the low end of y;
 *  NaN: no value. */
struct fx8_matrix {
    size_t n_rows, n_columns;
    double *values;       /**< NULL: the panel has no matrix */
    struct fx8_axis axis; /**< of the values */
    enum fx8_colour_map map;
    const char *blank; /**< what blank cells are, for a key; NULL: no key */
};

/** A line across the frame, with words at its end. */
struct fx8_limit {
    bool is_vertical;
    double at;
    char words[FX8_LABEL_SIZE];
};

/** One frame with its contents. */
struct fx8_panel {
    char title[FX8_WORDS_SIZE];
    char note[FX8_WORDS_SIZE]; /**< shown if the panel has no data */
    struct fx8_axis x, y; /**< ends that are NaN are taken from the series */
    bool is_square;       /**< x and y have the same length on the page */
    struct fx8_series *series; /**< [n_series] */
    size_t n_series;
    struct fx8_matrix matrix;
    struct fx8_limit limits[4];
    size_t n_limits;
};

/** A page. */
struct fx8_figure {
    char title[FX8_WORDS_SIZE];
    char subtitle[FX8_WORDS_SIZE];
    char *verdict;    /**< what looks wrong, in words; NULL: nothing to say */
    bool is_bad;      /**< the verdict is one to worry about */
    size_t n_columns; /**< of panels: 1 or 2 */
    struct fx8_panel panels[FX8_MOST_PANELS];
    size_t n_panels;
};

/** Add a panel with free axes; never fails, as kinds have few. */
struct fx8_panel *fx8_figure_panel(struct fx8_figure *figure, const char *title,
                                   const char *x_label, const char *y_label);

/**
 * fx8_panel_series -- add a series of `n` points, all NaN.
 *
 * Returned: series  owned by the panel, valid until the next is added
 * Status:   FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_panel_series(struct fx8_panel *panel, const char *name,
                                 enum fx8_mark mark, size_t n,
                                 struct fx8_series **series,
                                 struct fx8_error *error);

/** Give a panel its matrix, all NaN.  Status as fx8_panel_series(). */
enum fx8_status fx8_panel_matrix(struct fx8_panel *panel, size_t n_rows,
                                 size_t n_columns, const char *label,
                                 struct fx8_error *error);

/** Give an axis `n` names, empty ones, and the range that shows them all.
 *  Status as fx8_panel_series(). */
enum fx8_status fx8_axis_names(struct fx8_axis *axis, size_t n,
                               struct fx8_error *error);

/** Make an axis one of phases. */
void fx8_axis_degrees(struct fx8_axis *axis, const char *label);

/** Add a line across the frame; axis ends that are given must leave it inside.
 */
void fx8_panel_limit(struct fx8_panel *panel, bool is_vertical, double at,
                     const char *format, ...) FX8_PRINTF(4, 5);

/** Replace ends that are NaN by those of the data and the lines across.  The
 *  colours of a matrix leave out 1 % of its values at either end.  An axis that
 *  becomes logarithmic ends above 0.  Status as fx8_panel_series(). */
enum fx8_status fx8_figure_settle(struct fx8_figure *figure,
                                  struct fx8_error *error);

/** Print a settled figure as JSON. */
void fx8_figure_print_json(const struct fx8_figure *figure, FILE *stream);

/**
 * fx8_figure_draw -- draw a settled figure.
 *
 * Returned: bytes, size  of the file, the caller frees
 * Status:   FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_figure_draw(const struct fx8_figure *figure,
                                const struct fx8_surface *surface, char **bytes,
                                size_t *size, struct fx8_error *error);

/**
 * fx8_panel_draw -- draw a panel of a settled figure alone.
 *
 * Given:    width, height  of the drawing, in points
 * Returned: bytes, size    of the file, the caller frees
 * Status:   FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_panel_draw(const struct fx8_panel *panel,
                               const struct fx8_surface *surface, double width,
                               double height, char **bytes, size_t *size,
                               struct fx8_error *error);

/** Release; a zeroed one is legal. */
void fx8_figure_clear(struct fx8_figure *figure);

#endif
