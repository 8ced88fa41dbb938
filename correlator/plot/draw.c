/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/base/json.h"
#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/draw.h"

/* Longest text that is drawn, with its end. */
#define TEXT_SIZE 1024

static const struct fx8_surface *const surfaces[] = {
    &fx8_surface_png, &fx8_surface_svg, &fx8_surface_pdf, &fx8_surface_html};

enum fx8_status fx8_surface_of(const char *path,
                               const struct fx8_surface **surface,
                               struct fx8_error *error)
{
    const char *name = strrchr(path, '/');
    const char *suffix = strrchr(name != NULL ? name : path, '.');
    *surface = NULL;
    for (size_t i = 0; i < sizeof surfaces / sizeof *surfaces; i++)
        if (suffix != NULL && strcasecmp(suffix, surfaces[i]->suffix) == 0)
            *surface = surfaces[i];
    if (*surface == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %s: expected a name that ends in .png, .svg, .pdf "
                        "or .html",
                        path, suffix != NULL ? suffix : "no suffix");
    if ((*surface)->open == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %s: expected .svg or .html: fx8 was built without "
                        "cairo: apt-get install libcairo2-dev, and build again",
                        path, suffix);
    return FX8_OK;
}

enum fx8_status fx8_draw_open(const struct fx8_surface *surface, double width,
                              double height, const char *title,
                              struct fx8_drawing **drawing,
                              struct fx8_error *error)
{
    FX8_TRY(surface->open(surface, width, height, title, drawing, error));
    fx8_draw_rectangle(*drawing, (struct fx8_box){0, 0, width, height},
                       0xffffff);
    return FX8_OK;
}

void fx8_draw_rectangle(struct fx8_drawing *drawing, struct fx8_box box,
                        uint32_t colour)
{
    drawing->surface->rectangle(drawing, box, colour);
}

void fx8_draw_frame(struct fx8_drawing *drawing, struct fx8_box box,
                    struct fx8_stroke stroke)
{
    const double right = box.x + box.width, bottom = box.y + box.height;
    /* the last point closes the corner at the first */
    const struct fx8_point corners[] = {
        {box.x, box.y},  {right, box.y}, {right, bottom},
        {box.x, bottom}, {box.x, box.y}, {box.x + stroke.width, box.y}};
    fx8_draw_line(drawing, corners, sizeof corners / sizeof *corners, stroke);
}

void fx8_draw_line(struct fx8_drawing *drawing, const struct fx8_point *points,
                   size_t n, struct fx8_stroke stroke)
{
    for (size_t first = 0, i = 0; i <= n; i++) {
        if (i < n && isfinite(points[i].x) && isfinite(points[i].y))
            continue;
        if (i - first > 1)
            drawing->surface->line(drawing, points + first, i - first, stroke);
        else if (i - first == 1) /* alone between gaps */
            fx8_draw_dot(drawing, points[first], stroke.width, stroke.colour);
        first = i + 1;
    }
}

void fx8_draw_dot(struct fx8_drawing *drawing, struct fx8_point at,
                  double radius, uint32_t colour)
{
    drawing->surface->dot(drawing, at, radius, colour);
}

/* Copy a text with '?' for what cannot be drawn. */
static void clean(const char *text, char copy[TEXT_SIZE])
{
    const size_t n = fx8_line_cut(text, TEXT_SIZE - 1);
    memcpy(copy, text, n);
    copy[n] = '\0';
    const bool is_good = fx8_json_is_utf8(copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = (unsigned char)copy[i] >= 0x80 && !is_good
                      ? '?'
                      : fx8_line_letter(copy[i]);
}

void fx8_draw_text(struct fx8_drawing *drawing, struct fx8_point at,
                   const struct fx8_font *font, const char *text)
{
    char copy[TEXT_SIZE];
    clean(text, copy);
    if (copy[0] != '\0')
        drawing->surface->text(drawing, at, font, copy);
}

double fx8_draw_text_width(const struct fx8_font *font, const char *text)
{
    size_t n = 0; /* characters */
    for (const char *at = text; *at != '\0'; at++)
        n += ((unsigned char)*at & 0xc0) != 0x80;
    /* of DejaVu Sans, which is wide: mean over digits and small letters */
    return (font->is_bold ? 0.66 : 0.6) * font->size * (double)n;
}

void fx8_draw_raster(struct fx8_drawing *drawing, struct fx8_box box,
                     const uint8_t *pixels, size_t n_columns, size_t n_rows)
{
    if (n_columns > 0 && n_rows > 0)
        drawing->surface->raster(drawing, box, pixels, n_columns, n_rows);
}

void fx8_draw_hover(struct fx8_drawing *drawing, struct fx8_box box,
                    const char *text)
{
    char copy[TEXT_SIZE];
    clean(text, copy);
    if (drawing->surface->hover != NULL)
        drawing->surface->hover(drawing, box, copy);
}

enum fx8_status fx8_draw_finish(struct fx8_drawing *drawing, char **bytes,
                                size_t *size, struct fx8_error *error)
{
    *bytes = NULL;
    *size = 0;
    return drawing->surface->finish(drawing, bytes, size, error);
}

void fx8_draw_close(struct fx8_drawing **drawing)
{
    if (*drawing != NULL)
        (*drawing)->surface->close(*drawing);
    *drawing = NULL;
}
