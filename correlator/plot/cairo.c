/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cairo.c -- drawings as PNG and PDF, if the build has found cairo.
 */
#include "correlator/plot/draw.h"

#ifdef FX8_HAVE_CAIRO

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairo-pdf.h>
#include <cairo.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/png.h"

/* Pixels per point of a PNG. */
#define SCALE 2.0

/* A page while it is drawn.  cairo keeps the first failure itself. */
struct page {
    struct fx8_drawing base;
    cairo_t *cairo;
    FILE *stream;
    char *bytes;
    size_t size;
};

static struct page *page_of(struct fx8_drawing *drawing)
{
    return (struct page *)drawing; /* its first member */
}

static cairo_status_t write_bytes(void *stream, const unsigned char *bytes,
                                  unsigned int size)
{
    return fwrite(bytes, 1, size, stream) == size ? CAIRO_STATUS_SUCCESS
                                                  : CAIRO_STATUS_WRITE_ERROR;
}

/* --- beginning and end ------------------------------------------- */

static cairo_surface_t *surface_for(struct page *page, const char *title)
{
    const double width = page->base.width, height = page->base.height;
    if (page->base.surface == &fx8_surface_png)
        return cairo_image_surface_create(
            CAIRO_FORMAT_RGB24, (int)(SCALE * width), (int)(SCALE * height));
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(
        write_bytes, page->stream, width, height);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, title);
    return surface;
}

static void close_page(struct fx8_drawing *drawing)
{
    struct page *page = page_of(drawing);
    cairo_destroy(page->cairo); /* may still write */
    if (page->stream != NULL)
        fclose(page->stream);
    free(page->bytes);
    free(page);
}

static enum fx8_status open_page(const struct fx8_surface *surface,
                                 double width, double height, const char *title,
                                 struct fx8_drawing **drawing,
                                 struct fx8_error *error)
{
    struct page *page;
    FX8_TRY(fx8_allocate(1, sizeof *page, "a drawing", &page, error));
    page->base = (struct fx8_drawing){surface, width, height};
    page->stream = open_memstream(&page->bytes, &page->size);
    if (page->stream == NULL) {
        free(page);
        return fx8_no_memory("a drawing", error);
    }
    cairo_surface_t *target = surface_for(page, title);
    page->cairo = cairo_create(target);
    cairo_surface_destroy(target); /* the context holds it */
    if (surface == &fx8_surface_png)
        cairo_scale(page->cairo, SCALE, SCALE);
    *drawing = &page->base;
    return FX8_OK;
}

/* Encode the pixels of a page. */
static enum fx8_status encode(cairo_surface_t *target, char **bytes,
                              size_t *size, struct fx8_error *error)
{
    const size_t n_columns = (size_t)cairo_image_surface_get_width(target);
    const size_t n_rows = (size_t)cairo_image_surface_get_height(target);
    const size_t pitch = (size_t)cairo_image_surface_get_stride(target);
    cairo_surface_flush(target);
    const unsigned char *rows = cairo_image_surface_get_data(target);
    FX8_AUTO_FREE uint8_t *pixels = NULL;
    uint8_t *image;
    FX8_TRY(fx8_allocate(3 * n_columns * n_rows, 1, "a page", &pixels, error));
    for (size_t i = 0; i < n_columns * n_rows; i++) {
        uint32_t pixel;
        memcpy(&pixel, rows + i / n_columns * pitch + 4 * (i % n_columns),
               sizeof pixel);
        pixels[3 * i] = (uint8_t)(pixel >> 16);
        pixels[3 * i + 1] = (uint8_t)(pixel >> 8);
        pixels[3 * i + 2] = (uint8_t)pixel;
    }
    FX8_TRY(fx8_png_encode(pixels, n_columns, n_rows, &image, size, error));
    *bytes = (char *)image;
    return FX8_OK;
}

static enum fx8_status finish(struct fx8_drawing *drawing, char **bytes,
                              size_t *size, struct fx8_error *error)
{
    struct page *page = page_of(drawing);
    cairo_surface_t *target = cairo_get_target(page->cairo);
    cairo_status_t status = cairo_status(page->cairo);
    if (status == CAIRO_STATUS_SUCCESS && drawing->surface == &fx8_surface_png)
        return encode(target, bytes, size, error);
    cairo_surface_finish(target);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(target);
    const bool is_closed = fclose(page->stream) == 0;
    page->stream = NULL;
    if (status != CAIRO_STATUS_SUCCESS || !is_closed)
        return fx8_fail(error, FX8_ERR_SYSTEM, "cairo: %s",
                        cairo_status_to_string(status));
    *bytes = page->bytes;
    *size = page->size;
    page->bytes = NULL;
    return FX8_OK;
}

/* --- primitives -------------------------------------------------- */

static void use(cairo_t *cairo, uint32_t colour)
{
    cairo_set_source_rgb(cairo, (colour >> 16 & 255) / 255.0,
                         (colour >> 8 & 255) / 255.0, (colour & 255) / 255.0);
}

static void rectangle(struct fx8_drawing *drawing, struct fx8_box box,
                      uint32_t colour)
{
    cairo_t *cairo = page_of(drawing)->cairo;
    use(cairo, colour);
    cairo_rectangle(cairo, box.x, box.y, box.width, box.height);
    cairo_fill(cairo);
}

static void line(struct fx8_drawing *drawing, const struct fx8_point *points,
                 size_t n, struct fx8_stroke stroke)
{
    cairo_t *cairo = page_of(drawing)->cairo;
    use(cairo, stroke.colour);
    cairo_set_line_width(cairo, stroke.width);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(cairo, &stroke.dash, stroke.dash > 0.0 ? 1 : 0, 0.0);
    cairo_new_path(cairo);
    for (size_t i = 0; i < n; i++)
        cairo_line_to(cairo, points[i].x, points[i].y);
    cairo_stroke(cairo);
}

static void dot(struct fx8_drawing *drawing, struct fx8_point at, double radius,
                uint32_t colour)
{
    cairo_t *cairo = page_of(drawing)->cairo;
    use(cairo, colour);
    cairo_new_path(cairo);
    cairo_arc(cairo, at.x, at.y, radius, 0.0, 6.2831853071795862);
    cairo_fill(cairo);
}

static void text(struct fx8_drawing *drawing, struct fx8_point at,
                 const struct fx8_font *font, const char *words)
{
    static const double shares[] = {0.0, 0.5, 1.0}; /* left of the position */
    cairo_t *cairo = page_of(drawing)->cairo;
    cairo_text_extents_t extents;
    use(cairo, font->colour);
    cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           font->is_bold ? CAIRO_FONT_WEIGHT_BOLD
                                         : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo, font->size);
    cairo_text_extents(cairo, words, &extents);
    cairo_save(cairo);
    cairo_translate(cairo, at.x, at.y);
    if (font->is_upward)
        cairo_rotate(cairo, -1.5707963267948966);
    cairo_move_to(cairo, -shares[font->anchor] * extents.x_advance, 0.0);
    cairo_show_text(cairo, words);
    cairo_restore(cairo);
}

static void raster(struct fx8_drawing *drawing, struct fx8_box box,
                   const uint8_t *pixels, size_t n_columns, size_t n_rows)
{
    cairo_t *cairo = page_of(drawing)->cairo;
    cairo_surface_t *image = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)n_columns, (int)n_rows);
    unsigned char *rows = cairo_image_surface_get_data(image);
    const size_t pitch = (size_t)cairo_image_surface_get_stride(image);
    for (size_t r = 0; rows != NULL && r < n_rows; r++)
        for (size_t c = 0; c < n_columns; c++) {
            const uint8_t *from = pixels + 3 * (r * n_columns + c);
            const uint32_t pixel =
                (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
            memcpy(rows + r * pitch + 4 * c, &pixel, sizeof pixel);
        }
    cairo_surface_mark_dirty(image);
    cairo_save(cairo);
    cairo_translate(cairo, box.x, box.y);
    cairo_scale(cairo, box.width / (double)n_columns,
                box.height / (double)n_rows);
    cairo_set_source_surface(cairo, image, 0.0, 0.0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cairo, 0.0, 0.0, (double)n_columns, (double)n_rows);
    cairo_fill(cairo);
    cairo_restore(cairo);
    cairo_surface_destroy(image);
}

#define OPERATIONS                                                             \
    .open = open_page, .rectangle = rectangle, .line = line, .dot = dot,       \
    .text = text, .raster = raster, .finish = finish, .close = close_page

#else

#define OPERATIONS .open = NULL

#endif

const struct fx8_surface fx8_surface_png = {.suffix = ".png", OPERATIONS};
const struct fx8_surface fx8_surface_pdf = {.suffix = ".pdf", OPERATIONS};
