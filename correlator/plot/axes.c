/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "correlator/plot/axes.h"

#define TICK_SIZE  8.5
#define LABEL_SIZE 9.5

/* Longest name beside an axis, in characters. */
#define NAME_LENGTH 12

/* The value in which a scale is linear. */
static double spread(const struct fx8_axis *axis, double value)
{
    return axis->scale == FX8_SCALE_LOG     ? log(value / axis->low)
           : axis->scale == FX8_SCALE_ASINH ? asinh(value / axis->soft)
                                            : value;
}

double fx8_axis_place(const struct fx8_axis *axis, double value, double from,
                      double to)
{
    const double low = spread(axis, axis->low);
    const double share =
        (spread(axis, value) - low) / (spread(axis, axis->high) - low);
    if (isnan(share))
        return NAN;
    return from + fmin(fmax(share, 0.0), 1.0) * (to - from);
}

/* --- texts -------------------------------------------------------- */

/* A clock time with `decimals` of a second, or without seconds. */
static void format_time(double seconds, int decimals, bool has_seconds,
                        char text[FX8_LABEL_SIZE])
{
    const double unit = pow(10.0, -decimals);
    const double rounded = round(seconds / unit) * unit;
    double whole = floor(rounded + 0.5 * unit);
    const time_t at = (time_t)whole;
    struct tm parts;
    gmtime_r(&at, &parts);
    const size_t used = strftime(text, FX8_LABEL_SIZE,
                                 has_seconds ? "%H:%M:%S" : "%H:%M", &parts);
    if (has_seconds && decimals > 0) {
        char part[32];
        snprintf(part, sizeof part, "%.*f", decimals,
                 fmax(rounded - whole, 0.0));
        snprintf(text + used, FX8_LABEL_SIZE - used, "%s", part + 1);
    }
}

/* Decimals that distinguish multiples of `step`. */
static int decimals_of(double step)
{
    const double wanted = ceil(-log10(step) - 1e-9);
    return wanted < 0.0 ? 0 : wanted > 9.0 ? 9 : (int)wanted;
}

static void format_number(double value, int decimals, char text[FX8_LABEL_SIZE])
{
    if (fabs(value) < 1e7 && decimals < 6)
        snprintf(text, FX8_LABEL_SIZE, "%.*f", decimals, value);
    else
        snprintf(text, FX8_LABEL_SIZE, "%.8g", value);
}

void fx8_axis_format(const struct fx8_axis *axis, double value,
                     char text[FX8_LABEL_SIZE])
{
    const double fine = (axis->high - axis->low) / 1000.0;
    const double at = round(value);
    if (axis->names != NULL && at >= 0.0 && at < (double)axis->n_names)
        snprintf(text, FX8_LABEL_SIZE, "%s", axis->names[(size_t)at]);
    else if (axis->scale == FX8_SCALE_TIME)
        format_time(value, decimals_of(fine), true, text);
    else if (axis->scale == FX8_SCALE_LOG)
        snprintf(text, FX8_LABEL_SIZE, "%.4g", value);
    else
        format_number(value, decimals_of(fabs(fine)), text);
}

/* --- ticks -------------------------------------------------------- */

/* Smallest of 1, 2 and 5 times a power of ten from `rough` up. */
static double round_step(double rough)
{
    const double decade = pow(10.0, floor(log10(rough)));
    const double factor = rough / decade;
    return decade * (factor <= 1.0   ? 1.0
                     : factor <= 2.0 ? 2.0
                     : factor <= 5.0 ? 5.0
                                     : 10.0);
}

static double time_step(double rough)
{
    static const double steps[] = {1,    2,    5,     10,    15,    30,
                                   60,   120,  300,   600,   900,   1800,
                                   3600, 7200, 10800, 21600, 43200, 86400};
    for (size_t i = 0; rough > 0.5 && i < sizeof steps / sizeof *steps; i++)
        if (steps[i] >= rough)
            return steps[i];
    return rough > 0.5 ? 86400.0 * ceil(rough / 86400.0) : round_step(rough);
}

static void add_tick(struct fx8_ticks *ticks, double value)
{
    if (ticks->n < FX8_MOST_TICKS)
        ticks->values[ticks->n++] = value;
}

/* Multiples of `step` within an axis. */
static void add_multiples(const struct fx8_axis *axis, double step,
                          struct fx8_ticks *ticks)
{
    const double low = fmin(axis->low, axis->high);
    const double high = fmax(axis->low, axis->high);
    const double first = ceil(low / step - 1e-6);
    const double last = floor(high / step + 1e-6);
    /* beyond 2^53, first + 1 is first */
    for (int i = 0; i < FX8_MOST_TICKS && first + i <= last; i++)
        add_tick(ticks, first + i == 0.0 ? 0.0 : (first + i) * step);
}

static void add_names(const struct fx8_axis *axis, size_t most,
                      struct fx8_ticks *ticks)
{
    const size_t each = (axis->n_names + most - 1) / most;
    for (size_t i = 0; i < axis->n_names; i += each) {
        const char *name = axis->names[i];
        char *text = ticks->texts[ticks->n];
        add_tick(ticks, (double)i);
        snprintf(text, FX8_LABEL_SIZE, "%.*s%s", NAME_LENGTH, name,
                 strnlen(name, NAME_LENGTH + 1) > NAME_LENGTH ? ".." : "");
    }
}

static void add_powers(const struct fx8_axis *axis, size_t most,
                       struct fx8_ticks *ticks)
{
    const double first = ceil(log10(axis->low) - 1e-9);
    const double last = floor(log10(axis->high) + 1e-9);
    const double each = ceil((last - first + 1.0) / (double)most);
    for (double k = first; k <= last; k += each) {
        snprintf(ticks->texts[ticks->n], FX8_LABEL_SIZE, "%g", pow(10.0, k));
        add_tick(ticks, pow(10.0, k));
    }
}

/* 0, and 1, 2 and 5 times powers of ten of one sign, as far apart as `most`
 * allows. */
static void add_spread(const struct fx8_axis *axis, double sign, size_t most,
                       struct fx8_ticks *ticks)
{
    static const double factors[] = {1.0, 2.0, 5.0};
    const double end = sign > 0.0 ? axis->high : -axis->low;
    double last = 0.0;
    for (int k = (int)floor(log10(axis->soft)); pow(10.0, k) <= end; k++)
        for (int i = 0; i < 3; i++) {
            const double value = factors[i] * pow(10.0, k);
            const double apart = fx8_axis_place(axis, sign * value, 0.0, 1.0) -
                                 fx8_axis_place(axis, sign * last, 0.0, 1.0);
            if (value > end || fabs(apart) * (double)most < 1.0)
                continue;
            last = value;
            add_tick(ticks, sign * value);
        }
}

void fx8_axis_ticks(const struct fx8_axis *axis, size_t most,
                    struct fx8_ticks *ticks)
{
    const double span = fabs(axis->high - axis->low);
    const double rough = span / (double)most;
    ticks->n = 0;
    if (axis->names != NULL) {
        add_names(axis, most, ticks);
        return;
    }
    if (axis->scale == FX8_SCALE_LOG && axis->high >= 10.0 * axis->low) {
        add_powers(axis, most, ticks);
        return;
    }
    if (axis->scale == FX8_SCALE_ASINH && axis->low <= 0.0) {
        add_tick(ticks, 0.0);
        add_spread(axis, 1.0, most, ticks);
        add_spread(axis, -1.0, most, ticks);
        for (size_t i = 0; i < ticks->n; i++)
            snprintf(ticks->texts[i], FX8_LABEL_SIZE, "%g", ticks->values[i]);
        return;
    }
    const bool is_time = axis->scale == FX8_SCALE_TIME;
    const double step = axis->step > 0.0 ? axis->step
                        : is_time        ? time_step(rough)
                                         : round_step(rough);
    add_multiples(axis, step, ticks);
    for (size_t i = 0; i < ticks->n; i++)
        if (is_time)
            format_time(ticks->values[i], decimals_of(step), step < 60.0,
                        ticks->texts[i]);
        else
            format_number(ticks->values[i], decimals_of(step), ticks->texts[i]);
}

/* As many ticks as have room for their texts side by side. */
static void fitting_ticks(const struct fx8_axis *axis, double width,
                          const struct fx8_font *font, struct fx8_ticks *ticks)
{
    for (size_t most = FX8_MOST_TICKS / 2; most >= 2; most--) {
        double needed = 0.0;
        fx8_axis_ticks(axis, most, ticks);
        for (size_t i = 0; i < ticks->n; i++)
            needed = fmax(needed, fx8_draw_text_width(font, ticks->texts[i]));
        if ((double)ticks->n * (needed + 14.0) <= width)
            return;
    }
}

/* --- drawing ------------------------------------------------------ */

static const struct fx8_stroke grid = {FX8_COLOUR_GRID, 0.6, 0.0};
static const struct fx8_stroke frame = {FX8_COLOUR_FRAME, 0.8, 0.0};

static void draw_x(struct fx8_drawing *drawing, struct fx8_box box,
                   const struct fx8_axis *axis, bool has_grid)
{
    const struct fx8_font small = {TICK_SIZE, FX8_COLOUR_INK, FX8_ANCHOR_MIDDLE,
                                   false, false};
    const struct fx8_font label = {LABEL_SIZE, FX8_COLOUR_INK,
                                   FX8_ANCHOR_MIDDLE, false, false};
    const double bottom = box.y + box.height;
    struct fx8_ticks ticks;
    fitting_ticks(axis, box.width, &small, &ticks);
    for (size_t i = 0; i < ticks.n; i++) {
        const double x =
            fx8_axis_place(axis, ticks.values[i], box.x, box.x + box.width);
        const struct fx8_point line[] = {{x, has_grid ? box.y : bottom},
                                         {x, bottom + 3.0}};
        fx8_draw_line(drawing, line, 2, grid);
        fx8_draw_text(drawing, (struct fx8_point){x, bottom + 13.0}, &small,
                      ticks.texts[i]);
    }
    fx8_draw_text(drawing,
                  (struct fx8_point){box.x + 0.5 * box.width, bottom + 28.0},
                  &label, axis->label);
}

/* Ticks of a vertical axis, on either side; returns the width of the texts. */
static double draw_side(struct fx8_drawing *drawing, struct fx8_box box,
                        const struct fx8_axis *axis, bool is_right,
                        bool has_grid)
{
    const struct fx8_font small = {TICK_SIZE, FX8_COLOUR_INK,
                                   is_right ? FX8_ANCHOR_START : FX8_ANCHOR_END,
                                   false, false};
    const double beside = is_right ? box.x + box.width + 5.0 : box.x - 6.0;
    const double most = fmin(fmax(box.height / 22.0, 2.0), FX8_MOST_TICKS);
    double width = 0.0;
    struct fx8_ticks ticks;
    fx8_axis_ticks(axis, (size_t)most, &ticks);
    for (size_t i = 0; i < ticks.n; i++) {
        const double y =
            fx8_axis_place(axis, ticks.values[i], box.y + box.height, box.y);
        const struct fx8_point line[] = {
            {box.x - 3.0, y}, {box.x + (has_grid ? box.width : 0.0), y}};
        if (!is_right)
            fx8_draw_line(drawing, line, 2, grid);
        fx8_draw_text(drawing, (struct fx8_point){beside, y + 3.0}, &small,
                      ticks.texts[i]);
        width = fmax(width, fx8_draw_text_width(&small, ticks.texts[i]));
    }
    return width;
}

void fx8_axes_draw(struct fx8_drawing *drawing, struct fx8_box box,
                   const struct fx8_axis *x, const struct fx8_axis *y,
                   bool has_grid)
{
    const struct fx8_font label = {LABEL_SIZE, FX8_COLOUR_INK,
                                   FX8_ANCHOR_MIDDLE, false, true};
    draw_x(drawing, box, x, has_grid);
    const double width = draw_side(drawing, box, y, false, has_grid);
    fx8_draw_frame(drawing, box, frame);
    fx8_draw_text(
        drawing,
        (struct fx8_point){box.x - width - 16.0, box.y + 0.5 * box.height},
        &label, y->label);
}

void fx8_axes_colour_bar(struct fx8_drawing *drawing, struct fx8_box box,
                         const struct fx8_axis *axis, enum fx8_colour_map map)
{
    const struct fx8_font label = {LABEL_SIZE, FX8_COLOUR_INK,
                                   FX8_ANCHOR_MIDDLE, false, true};
    uint8_t pixels[256][3];
    for (int i = 0; i < 256; i++) {
        const uint32_t colour = fx8_colour_at(map, (255 - i) / 255.0);
        for (int k = 0; k < 3; k++)
            pixels[i][k] = (uint8_t)(colour >> (16 - 8 * k));
    }
    fx8_draw_raster(drawing, box, pixels[0], 1, 256);
    const double width = draw_side(drawing, box, axis, true, false);
    fx8_draw_frame(drawing, box, frame);
    fx8_draw_text(drawing,
                  (struct fx8_point){box.x + box.width + width + 18.0,
                                     box.y + 0.5 * box.height},
                  &label, axis->label);
}
