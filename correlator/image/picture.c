/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.c -- an image with its horizon, directions and sources.
 */
#include <erfam.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/image/frame.h"
#include "correlator/plot/axes.h"
#include "correlator/run/site.h"

/* Points of the page. */
#define WIDTH  620.0
#define HEIGHT 592.0

static const struct fx8_box sky = {30, 62, 490, 490};
static const struct fx8_box bar = {548, 62, 14, 490};

enum { CURVE = 361 };

/* Where pixel x, y is on the page. */
static struct fx8_point page_place(const struct fx8_image *image, double x,
                                   double y)
{
    const double size = (double)image->frame.size;
    return (struct fx8_point){sky.x + (x + 0.5) / size * sky.width,
                              sky.y + (1.0 - (y + 0.5) / size) * sky.height};
}

/* --- colours ------------------------------------------------------ */

/* Pixels that are this many times the mean one are rarely noise: above them the
 * colours become logarithmic, so that faint sources are seen beside strong
 * ones. */
#define SOFT 5.0

/* From the lowest pixel to the peak. */
static void find_range(const struct fx8_image *image, struct fx8_axis *axis)
{
    double sum = 0.0, n = 0.0;
    axis->low = axis->high = image->peak.value;
    for (size_t k = 0; k < image->frame.size * image->frame.size; k++) {
        if (isnan(image->pixels[k]))
            continue;
        axis->low = fmin(axis->low, (double)image->pixels[k]);
        sum += fabs((double)image->pixels[k]);
        n += 1.0;
    }
    if (!(axis->low < axis->high))
        axis->high = axis->low + 1.0;
    axis->soft = sum > 0.0 ? SOFT * sum / n : 1.0;
    snprintf(axis->label, sizeof axis->label, "%.64s per beam, asinh scale",
             strcmp(image->units, "uncalib") == 0 ? "counts²"
             : image->units[0] != '\0'            ? image->units
                                                  : "value");
}

static enum fx8_status draw_pixels(struct fx8_drawing *drawing,
                                   const struct fx8_image *image,
                                   struct fx8_error *error)
{
    const size_t size = image->frame.size;
    FX8_AUTO_FREE uint8_t *colours = NULL;
    struct fx8_axis axis = {.scale = FX8_SCALE_ASINH};
    FX8_TRY(fx8_allocate(size * size, 3, "pixels", &colours, error));
    find_range(image, &axis);
    for (size_t row = 0; row < size; row++)
        for (size_t column = 0; column < size; column++) {
            const double value =
                (double)image->pixels[(size - 1 - row) * size + column];
            const uint32_t colour =
                isnan(value)
                    ? 0xffffff
                    : fx8_colour_at(FX8_MAP_AMPLITUDE,
                                    fx8_axis_place(&axis, value, 0.0, 1.0));
            for (size_t k = 0; k < 3; k++)
                colours[3 * (row * size + column) + k] =
                    (uint8_t)(colour >> (16 - 8 * k));
        }
    fx8_draw_raster(drawing, sky, colours, size, size);
    fx8_axes_colour_bar(drawing, bar, &axis, FX8_MAP_AMPLITUDE);
    return FX8_OK;
}

/* --- over it ------------------------------------------------------ */

/* A circle of one elevation, up to a pixel beyond the image: of an even number
 * of pixels, the last lacks half a step to the horizon. */
static void draw_elevation(struct fx8_drawing *drawing,
                           const struct fx8_image *image, double elevation_deg,
                           struct fx8_stroke stroke)
{
    const double size = (double)image->frame.size;
    struct fx8_point points[CURVE];
    for (int k = 0; k < CURVE; k++) {
        struct fx8_image_place place;
        fx8_site_direction(k, elevation_deg, place.enu);
        (void)fx8_image_find(&image->frame, &place);
        const bool is_near =
            fx8_image_dot(image->frame.axes[2], place.enu) >= 0.0 &&
            place.x >= -1.0 && place.x <= size && place.y >= -1.0 &&
            place.y <= size;
        points[k] = is_near ? page_place(image, place.x, place.y)
                            : (struct fx8_point){NAN, NAN};
    }
    fx8_draw_line(drawing, points, CURVE, stroke);
}

static void draw_directions(struct fx8_drawing *drawing)
{
    const struct fx8_font font = {12, FX8_COLOUR_INK, FX8_ANCHOR_MIDDLE, true,
                                  false};
    const double x = sky.x + 0.5 * sky.width, y = sky.y + 0.5 * sky.height;
    const struct {
        const char *name;
        struct fx8_point at;
    } directions[] = {
        {"N", {x, sky.y - 5}},
        {"S", {x, sky.y + sky.height + 14}},
        {"E", {sky.x - 11, y + 4}},
        {"W", {sky.x + sky.width + 11, y + 4}},
    };
    for (size_t k = 0; k < sizeof directions / sizeof *directions; k++)
        fx8_draw_text(drawing, directions[k].at, &font, directions[k].name);
}

/* An ellipse of full axes `major` and `minor`, points; the longer one turned
 * from up to the left. */
static void draw_ellipse(struct fx8_drawing *drawing, struct fx8_point middle,
                         double major, double minor, double angle_deg,
                         struct fx8_stroke stroke)
{
    const double s = sin(angle_deg * ERFA_DD2R), c = cos(angle_deg * ERFA_DD2R);
    struct fx8_point points[CURVE];
    for (int k = 0; k < CURVE; k++) {
        const double along = 0.5 * major * cos(k * ERFA_DD2R);
        const double across = 0.5 * minor * sin(k * ERFA_DD2R);
        points[k] = (struct fx8_point){middle.x - along * s - across * c,
                                       middle.y - along * c + across * s};
    }
    fx8_draw_line(drawing, points, CURVE, stroke);
}

/* Whether the name of a source is to its right: towards the middle of the page,
 * unless another source is there. */
static bool is_named_right(const struct fx8_image *image, size_t source)
{
    const struct fx8_image_place *at = &image->sources[source].place;
    const double size = (double)image->frame.size;
    const bool is_right = at->x < 0.5 * size;
    for (size_t k = 0; k < image->n_sources; k++) {
        const double x = (image->sources[k].place.x - at->x) / size;
        const double y = (image->sources[k].place.y - at->y) / size;
        if (k != source && fabs(y) < 0.03 && fabs(x) < 0.15 &&
            (x > 0.0) == is_right)
            return !is_right;
    }
    return is_right;
}

static void draw_sources(struct fx8_drawing *drawing,
                         const struct fx8_image *image)
{
    const struct fx8_stroke stroke = {0xffffff, 1.0, 0.0};
    for (size_t k = 0; k < image->n_sources; k++) {
        const struct fx8_image_source *source = &image->sources[k];
        const struct fx8_point at =
            page_place(image, source->place.x, source->place.y);
        const bool is_right = is_named_right(image, k);
        const struct fx8_font font = {
            10, 0xffffff, is_right ? FX8_ANCHOR_START : FX8_ANCHOR_END, false,
            false};
        draw_ellipse(drawing, at, 14, 14, 0, stroke);
        fx8_draw_text(
            drawing, (struct fx8_point){at.x + (is_right ? 10 : -10), at.y + 4},
            &font, source->name);
    }
}

/* The beam at the centre of the image, in a corner, light or dark. */
static void draw_beam(struct fx8_drawing *drawing,
                      const struct fx8_image *image)
{
    const struct fx8_stroke strokes[] = {{0xffffff, 3.0, 0.0},
                                         {FX8_COLOUR_INK, 1.0, 0.0}};
    const double scale =
        sky.width / (double)image->frame.size * ERFA_DD2R / image->frame.step;
    const double major = image->beam_deg[0] * scale;
    const struct fx8_point at = {sky.x + 6 + 0.5 * major,
                                 sky.y + sky.height - 6 - 0.5 * major};
    for (size_t k = 0; k < 2 && major > 0.0 && major < 60.0; k++)
        draw_ellipse(drawing, at, major, image->beam_deg[1] * scale,
                     image->beam_angle_deg, strokes[k]);
}

static void draw_title(struct fx8_drawing *drawing,
                       const struct fx8_image *image)
{
    const struct fx8_font title = {14, FX8_COLOUR_INK, FX8_ANCHOR_START, true,
                                   false};
    const struct fx8_font below = {9.5, FX8_COLOUR_FAINT, FX8_ANCHOR_START,
                                   false, false};
    char time[FX8_NUMBER_TEXT_SIZE], text[FX8_TEXT_SIZE + 128], beam[64] = "";
    fx8_number_format_time(image->frame.time, time);
    snprintf(text, sizeof text, "%s  %s  %.6g MHz", image->telescope,
             image->polarization, image->frequency_hz / 1e6);
    fx8_draw_text(drawing, (struct fx8_point){16, 22}, &title, text);
    if (image->beam_deg[0] > 0.0)
        snprintf(beam, sizeof beam, "; beam %.2g x %.2g deg",
                 image->beam_deg[0], image->beam_deg[1]);
    snprintf(text, sizeof text, "%s, %.3g s, %.4g MHz; %zu antennas, %zu %s%s",
             time, image->duration_s, image->bandwidth_hz / 1e6,
             image->n_antennas, FX8_COUNTED(image->n_dumps, "dump", "dumps"),
             beam);
    fx8_draw_text(drawing, (struct fx8_point){16, 38}, &below, text);
    snprintf(text, sizeof text,
             "dirty image, centre RA %.3f deg, Dec %+.3f deg, peak %.3g",
             image->frame.icrs_deg[0], image->frame.icrs_deg[1],
             image->peak.value);
    fx8_draw_text(drawing, (struct fx8_point){16, HEIGHT - 10}, &below, text);
}

enum fx8_status fx8_image_draw(const struct fx8_image *image,
                               const struct fx8_surface *surface, char **bytes,
                               size_t *size, struct fx8_error *error)
{
    const struct fx8_stroke horizon = {FX8_COLOUR_INK, 1.2, 0.0};
    const struct fx8_stroke faint = {0xffffff, 0.5, 3.0};
    FX8_AUTO(fx8_draw_close) struct fx8_drawing *drawing = NULL;
    FX8_TRY(
        fx8_draw_open(surface, WIDTH, HEIGHT, "dirty image", &drawing, error));
    FX8_TRY(draw_pixels(drawing, image, error));
    draw_elevation(drawing, image, 0.0, horizon);
    draw_elevation(drawing, image, 30.0, faint);
    draw_elevation(drawing, image, 60.0, faint);
    draw_directions(drawing);
    draw_sources(drawing, image);
    draw_beam(drawing, image);
    draw_title(drawing, image);
    return fx8_draw_finish(drawing, bytes, size, error);
}
