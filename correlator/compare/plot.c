/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdarg.h>

#include "correlator/compare/plot.h"
#include "correlator/plot/svg.h"

/* The figure and the frame inside it, in drawing units. */
#define WIDTH  860.0
#define HEIGHT 360.0
#define LEFT   92.0
#define RIGHT  (WIDTH - 16.0)
#define TOP    12.0
#define BOTTOM (HEIGHT - 52.0)

/* Approximate number of ticks per axis. */
#define N_TICKS 6.0

static void widen(struct fx8_plot_axis *axis)
{
    if (axis->is_fixed)
        return;
    if (!(axis->high >= axis->low))
        axis->low = axis->high = 0.0; /* no data */
    double margin = 0.05 * (axis->high - axis->low);
    if (!(margin > 1e-9 * fabs(axis->high)))
        margin = axis->high != 0.0 ? 0.01 * fabs(axis->high) : 1.0;
    const bool begins_at_zero = axis->low == 0.0 && axis->high > 0.0;
    axis->low -= begins_at_zero ? 0.0 : margin;
    axis->high += margin;
}

/* --- places ------------------------------------------------------ */

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

static double place_x(const struct fx8_plot *plot, double x)
{
    const double share = (x - plot->x.low) / (plot->x.high - plot->x.low);
    return clamp(LEFT + share * (RIGHT - LEFT), LEFT, RIGHT);
}

static double place_y(const struct fx8_plot *plot, double y)
{
    const double share = (y - plot->y.low) / (plot->y.high - plot->y.low);
    return clamp(BOTTOM - share * (BOTTOM - TOP), TOP, BOTTOM);
}

/* --- frame ------------------------------------------------------- */

/* Distance of ticks: 1, 2 or 5 times a power of ten. */
static double tick_step(const struct fx8_plot_axis *axis)
{
    const double rough = (axis->high - axis->low) / N_TICKS;
    const double decade = pow(10.0, floor(log10(rough)));
    const double factor = rough / decade;
    return decade * (factor <= 1.0   ? 1.0
                     : factor <= 2.0 ? 2.0
                     : factor <= 5.0 ? 5.0
                                     : 10.0);
}

static void draw_ticks(const struct fx8_plot *plot, bool is_x)
{
    const struct fx8_plot_axis *axis = is_x ? &plot->x : &plot->y;
    if (axis->has_names)
        return;
    const double step = tick_step(axis);
    const double first = ceil(axis->low / step - 1e-9);
    const double last = floor(axis->high / step + 1e-9);
    for (double k = first; k <= last; k += 1.0) {
        const double value = k == 0.0 ? 0.0 : k * step;
        const double x = is_x ? value : plot->x.low;
        const double y = is_x ? plot->y.low : value;
        fx8_plot_line(plot, "g", x, y, is_x ? value : plot->x.high,
                      is_x ? plot->y.high : value);
        fprintf(plot->stream,
                "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%.8g</text>\n",
                is_x ? place_x(plot, value) : LEFT - 8.0,
                is_x ? BOTTOM + 18.0 : place_y(plot, value) + 4.0,
                is_x ? "m" : "e", value);
    }
}

void fx8_plot_open(struct fx8_plot *plot, const char *id, const char *heading,
                   const char *title)
{
    FILE *stream = plot->stream;
    widen(&plot->x);
    widen(&plot->y);
    fprintf(stream,
            "<h2>%s</h2>\n<figure id=\"%s\">\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f "
            "%.0f\" role=\"img\">\n<title>",
            heading, id, WIDTH, HEIGHT);
    fx8_svg_text(stream, title);
    fputs("</title>\n", stream);
    draw_ticks(plot, true);
    draw_ticks(plot, false);
    fprintf(stream,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "class=\"f\"/>\n<text x=\"%.1f\" y=\"%.1f\" class=\"m\">",
            LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, 0.5 * (LEFT + RIGHT),
            HEIGHT - 12.0);
    fx8_svg_text(stream, plot->x.label);
    fprintf(stream,
            "</text>\n<text transform=\"translate(14 %.1f) rotate(-90)\" "
            "class=\"m\">",
            0.5 * (TOP + BOTTOM));
    fx8_svg_text(stream, plot->y.label);
    fputs("</text>\n", stream);
}

void fx8_plot_close(const struct fx8_plot *plot, const char *caption, ...)
{
    fputs("</svg>\n<figcaption>", plot->stream);
    va_list arguments;
    va_start(arguments, caption);
    vfprintf(plot->stream, caption, arguments);
    va_end(arguments);
    fputs("</figcaption>\n</figure>\n", plot->stream);
}

/* --- lines, marks, bars ------------------------------------------ */

void fx8_plot_line(const struct fx8_plot *plot, const char *style, double x_1,
                   double y_1, double x_2, double y_2)
{
    fprintf(plot->stream,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "class=\"%s\"/>\n",
            place_x(plot, x_1), place_y(plot, y_1), place_x(plot, x_2),
            place_y(plot, y_2), style);
}

void fx8_plot_begin_path(const struct fx8_plot *plot, const char *style)
{
    fprintf(plot->stream, "<path class=\"%s\" d=\"", style);
}

void fx8_plot_point(const struct fx8_plot *plot, double x, double y,
                    bool is_first)
{
    fprintf(plot->stream, "%c%.1f %.1f", is_first ? 'M' : 'L', place_x(plot, x),
            place_y(plot, y));
}

void fx8_plot_end_path(const struct fx8_plot *plot)
{
    fputs("\"/>\n", plot->stream);
}

/* Write the tooltip of a mark and end its element `name`. */
static void end_with_text(const struct fx8_plot *plot, const char *name,
                          const char *format, va_list arguments)
{
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    fputs("<title>", plot->stream);
    fx8_svg_text(plot->stream, text);
    fprintf(plot->stream, "</title></%s>\n", name);
}

void fx8_plot_mark(const struct fx8_plot *plot, const char *style, double x,
                   double y, const char *format, ...)
{
    fprintf(plot->stream,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"%s\">",
            place_x(plot, x), place_y(plot, y), style);
    va_list arguments;
    va_start(arguments, format);
    end_with_text(plot, "circle", format, arguments);
    va_end(arguments);
}

void fx8_plot_bar(const struct fx8_plot *plot, double x_1, double y_1,
                  double x_2, double y_2, const char *format, ...)
{
    const double left = fmin(place_x(plot, x_1), place_x(plot, x_2));
    const double top = fmin(place_y(plot, y_1), place_y(plot, y_2));
    fprintf(plot->stream,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
            "class=\"a\">",
            left, top, fabs(place_x(plot, x_1) - place_x(plot, x_2)),
            fabs(place_y(plot, y_1) - place_y(plot, y_2)));
    va_list arguments;
    va_start(arguments, format);
    end_with_text(plot, "rect", format, arguments);
    va_end(arguments);
}

void fx8_plot_name(const struct fx8_plot *plot, double y, const char *name)
{
    fprintf(plot->stream, "<text x=\"%.1f\" y=\"%.1f\" class=\"e\">",
            LEFT - 8.0, place_y(plot, y) + 4.0);
    fx8_svg_text(plot->stream, name);
    fputs("</text>\n", plot->stream);
}
