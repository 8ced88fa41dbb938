/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plot.h -- figures as SVG inside a page: axes with ticks, lines, marks and
 * bars; marks and bars show their numbers as tooltips.
 */
#ifndef FX8_CORRELATOR_COMPARE_PLOT_H
#define FX8_CORRELATOR_COMPARE_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "correlator/fx8.h"

/** Both ends of an axis, in its own unit. */
struct fx8_plot_axis {
    double low, high;
    const char *label;
    bool is_fixed;  /**< not widened by fx8_plot_open() */
    bool has_names; /**< no ticks: fx8_plot_name() writes beside it */
};

/** A figure; set `stream` and the axes. */
struct fx8_plot {
    FILE *stream;
    struct fx8_plot_axis x, y;
};

/** Begin the figure `id` under a heading: frame, grid, ticks and labels.  Axes
 *  become a little wider than the data, with ends apart; one that starts at
 * zero still does.  `title` is read out by screen readers. */
void fx8_plot_open(struct fx8_plot *plot, const char *id, const char *heading,
                   const char *title);

/** End the figure with a caption, in HTML. */
void fx8_plot_close(const struct fx8_plot *plot, const char *caption, ...)
    FX8_PRINTF(2, 3);

/** In all of these `style` is a class of the page; positions are in axis units
 *  and clamped to the frame. */
void fx8_plot_line(const struct fx8_plot *plot, const char *style, double x_1,
                   double y_1, double x_2, double y_2);

/** A line through many points: begin, any number of points, end. */
void fx8_plot_begin_path(const struct fx8_plot *plot, const char *style);
void fx8_plot_point(const struct fx8_plot *plot, double x, double y,
                    bool is_first);
void fx8_plot_end_path(const struct fx8_plot *plot);

/** A dot; the text is its tooltip. */
void fx8_plot_mark(const struct fx8_plot *plot, const char *style, double x,
                   double y, const char *format, ...) FX8_PRINTF(5, 6);

/** A bar between two corners, with a tooltip. */
void fx8_plot_bar(const struct fx8_plot *plot, double x_1, double y_1,
                  double x_2, double y_2, const char *format, ...)
    FX8_PRINTF(6, 7);

/** A name beside the y axis. */
void fx8_plot_name(const struct fx8_plot *plot, double y, const char *name);

#endif
