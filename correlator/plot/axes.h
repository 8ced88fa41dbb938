/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * axes.h -- axes of a panel: places of values, ticks, labels, colour bars.
 */
#ifndef FX8_CORRELATOR_PLOT_AXES_H
#define FX8_CORRELATOR_PLOT_AXES_H

#include <stddef.h>

#include "correlator/plot/colours.h"
#include "correlator/plot/draw.h"

/** Room for a label or a name, with its end. */
#define FX8_LABEL_SIZE 160

/** How values are spread along an axis. */
enum fx8_scale {
    FX8_SCALE_LINEAR = 0,
    FX8_SCALE_LOG,  /**< base 10; both ends above 0 */
    FX8_SCALE_TIME, /**< Unix time in seconds, UTC; ticks are clock times */
    FX8_SCALE_ASINH /**< linear up to `soft`, logarithmic beyond, either sign */
};

/** An axis. */
struct fx8_axis {
    char label[FX8_LABEL_SIZE]; /**< quantity and unit */
    double low, high;           /**< values at its ends, which differ */
    enum fx8_scale scale;
    bool may_be_log; /**< so if values above 0 span decades and none is below */
    double step;     /**< distance of ticks; 0: chosen */
    double soft;     /**< of FX8_SCALE_ASINH, above 0 */
    /** [n_names] names of the values 0, 1 ... instead of numbers, or NULL */
    char (*names)[FX8_LABEL_SIZE];
    size_t n_names;
};

/** Most ticks of an axis. */
#define FX8_MOST_TICKS 24

/** Ticks of an axis. */
struct fx8_ticks {
    size_t n;
    double values[FX8_MOST_TICKS];
    char texts[FX8_MOST_TICKS][FX8_LABEL_SIZE];
};

/** Page position of a value, from that of `low` to that of `high`; values
 *  beyond are moved to the nearer end, NaN is kept. */
double fx8_axis_place(const struct fx8_axis *axis, double value, double from,
                      double to);

/** Choose at most `most` ticks (2 to FX8_MOST_TICKS): round numbers, powers of
 *  ten or clock times. */
void fx8_axis_ticks(const struct fx8_axis *axis, size_t most,
                    struct fx8_ticks *ticks);

/** A value as text, with digits down to a thousandth of the axis. */
void fx8_axis_format(const struct fx8_axis *axis, double value,
                     char text[FX8_LABEL_SIZE]);

/** Draw ticks, labels and frame around the rectangle of the data: x below it, y
 *  to its left.  Lines and dots come after it, over the grid; a raster comes
 *  before it and wants no grid. */
void fx8_axes_draw(struct fx8_drawing *drawing, struct fx8_box box,
                   const struct fx8_axis *x, const struct fx8_axis *y,
                   bool has_grid);

/** Draw the colours of a map in a rectangle, ticks and label to its right. */
void fx8_axes_colour_bar(struct fx8_drawing *drawing, struct fx8_box box,
                         const struct fx8_axis *axis, enum fx8_colour_map map);

#endif
