/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plot.h -- figures as SVG inside a page: axes with ticks, lines, marks
 * and bars, each of which tells its figures to whoever points at it.
 */
#ifndef FX8_CORRELATOR_COMPARE_PLOT_H
#define FX8_CORRELATOR_COMPARE_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Both ends of an axis, in its own unit. */
struct fx8_plot_axis {
    double low, high;
    const char *label;
    bool has_names; /**< no ticks: fx8_plot_name() writes beside it */
};

/** A figure; set `stream` and the axes, which have high > low. */
struct fx8_plot {
    FILE *stream;
    struct fx8_plot_axis x, y;
};

/** Both ends apart and a little wider than the data; for data that begin at
 *  zero and do not go below, so does the axis. */
void fx8_plot_widen(struct fx8_plot_axis *axis);

/** Begin the figure: frame, grid, ticks and labels.  `title` is what is read
 *  out to those who do not see it. */
void fx8_plot_open(const struct fx8_plot *plot, const char *title);
void fx8_plot_close(const struct fx8_plot *plot);

/** In all of these `style` is a class of the page; positions are in the units
 *  of the axes and are cut off at the frame. */
void fx8_plot_line(const struct fx8_plot *plot, const char *style, double x_1,
                   double y_1, double x_2, double y_2);

/** Points of a line through many: begin, any number of points, end. */
void fx8_plot_begin_path(const struct fx8_plot *plot, const char *style);
void fx8_plot_point(const struct fx8_plot *plot, double x, double y,
                    bool is_first);
void fx8_plot_end_path(const struct fx8_plot *plot);

/** A dot; the text is shown when it is pointed at. */
void fx8_plot_mark(const struct fx8_plot *plot, const char *style, double x,
                   double y, const char *format, ...) FX8_PRINTF(5, 6);

/** A bar between two corners, likewise. */
void fx8_plot_bar(const struct fx8_plot *plot, const char *style, double x_1,
                  double y_1, double x_2, double y_2, const char *format, ...)
    FX8_PRINTF(7, 8);

/** A name beside the y axis. */
void fx8_plot_name(const struct fx8_plot *plot, double y, const char *name);

/** Text with what HTML and XML give a meaning written out; bytes of a text
 *  that is no UTF-8 and control characters become '?'. */
void fx8_plot_text(FILE *stream, const char *text);

#ifdef __cplusplus
}
#endif

#endif
