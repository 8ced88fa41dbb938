/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.c -- drawings as SVG, and as a page of HTML around it; neither refers to
 * anything outside.
 */
#include <stdlib.h>

#include "config/base/json.h"
#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/draw.h"
#include "correlator/plot/png.h"
#include "correlator/plot/svg.h"

/* An SVG while it is drawn. */
struct svg {
    struct fx8_drawing base;
    FILE *stream;
    char *bytes;
    size_t size;
    enum fx8_status status; /* the first failure */
    struct fx8_error error;
};

static struct svg *svg_of(struct fx8_drawing *drawing)
{
    return (struct svg *)drawing; /* its first member */
}

void fx8_svg_text(FILE *stream, const char *text)
{
    const bool is_good = fx8_json_is_utf8(text);
    for (const char *at = text; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte == '&')
            fputs("&amp;", stream);
        else if (byte == '<')
            fputs("&lt;", stream);
        else if (byte == '>')
            fputs("&gt;", stream);
        else if (byte == '"')
            fputs("&quot;", stream);
        else if (byte >= 0x80 && !is_good)
            putc('?', stream);
        else
            putc(fx8_line_letter(*at), stream);
    }
}

/* --- beginning and end ------------------------------------------- */

static bool is_page(const struct fx8_drawing *drawing)
{
    return drawing->surface == &fx8_surface_html;
}

static void begin(struct svg *svg, const char *title)
{
    FILE *stream = svg->stream;
    if (is_page(&svg->base)) {
        fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
              "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
              "content=\"width=device-width\"/>\n<title>",
              stream);
        fx8_svg_text(stream, title);
        fputs("</title>\n<style>body{margin:0;background:#f4f4f4}svg{display:"
              "block;max-width:1400px;width:100%;height:auto;margin:0 auto;"
              "background:#fff}[pointer-events]:hover{stroke:#000;"
              "stroke-width:0.7}</style>\n</head>\n<body>\n",
              stream);
    }
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0fpt\" "
            "height=\"%.0fpt\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n<title>",
            svg->base.width, svg->base.height, svg->base.width,
            svg->base.height);
    fx8_svg_text(stream, title);
    fputs("</title>\n", stream);
}

static enum fx8_status open_svg(const struct fx8_surface *surface, double width,
                                double height, const char *title,
                                struct fx8_drawing **drawing,
                                struct fx8_error *error)
{
    struct svg *svg;
    FX8_TRY(fx8_allocate(1, sizeof *svg, "a drawing", &svg, error));
    svg->base = (struct fx8_drawing){surface, width, height};
    svg->stream = open_memstream(&svg->bytes, &svg->size);
    if (svg->stream == NULL) {
        free(svg);
        return fx8_no_memory("a drawing", error);
    }
    begin(svg, title);
    *drawing = &svg->base;
    return FX8_OK;
}

static enum fx8_status finish(struct fx8_drawing *drawing, char **bytes,
                              size_t *size, struct fx8_error *error)
{
    struct svg *svg = svg_of(drawing);
    fputs(is_page(drawing) ? "</svg>\n</body>\n</html>\n" : "</svg>\n",
          svg->stream);
    const bool is_whole = !ferror(svg->stream);
    const bool is_closed = fclose(svg->stream) == 0;
    svg->stream = NULL;
    if (svg->status != FX8_OK) {
        *error = svg->error;
        return svg->status;
    }
    if (!is_whole || !is_closed)
        return fx8_no_memory("a drawing", error);
    *bytes = svg->bytes;
    *size = svg->size;
    svg->bytes = NULL;
    return FX8_OK;
}

static void close_svg(struct fx8_drawing *drawing)
{
    struct svg *svg = svg_of(drawing);
    if (svg->stream != NULL)
        fclose(svg->stream);
    free(svg->bytes);
    free(svg);
}

/* --- primitives -------------------------------------------------- */

static void rectangle(struct fx8_drawing *drawing, struct fx8_box box,
                      uint32_t colour)
{
    fprintf(svg_of(drawing)->stream,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
            "fill=\"#%06x\"/>\n",
            box.x, box.y, box.width, box.height, colour);
}

static void line(struct fx8_drawing *drawing, const struct fx8_point *points,
                 size_t n, struct fx8_stroke stroke)
{
    FILE *stream = svg_of(drawing)->stream;
    fputs("<polyline points=\"", stream);
    for (size_t i = 0; i < n; i++)
        fprintf(stream, "%s%.2f,%.2f", i > 0 ? " " : "", points[i].x,
                points[i].y);
    fprintf(stream,
            "\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.2f\" "
            "stroke-linejoin=\"round\"",
            stroke.colour, stroke.width);
    if (stroke.dash > 0.0)
        fprintf(stream, " stroke-dasharray=\"%.1f\"", stroke.dash);
    fputs("/>\n", stream);
}

static void dot(struct fx8_drawing *drawing, struct fx8_point at, double radius,
                uint32_t colour)
{
    fprintf(svg_of(drawing)->stream,
            "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"#%06x\"/>\n",
            at.x, at.y, radius, colour);
}

static void text(struct fx8_drawing *drawing, struct fx8_point at,
                 const struct fx8_font *font, const char *words)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    FILE *stream = svg_of(drawing)->stream;
    fprintf(stream,
            "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" fill=\"#%06x\" "
            "text-anchor=\"%s\"",
            at.x, at.y, font->size, font->colour, anchors[font->anchor]);
    if (font->is_bold)
        fputs(" font-weight=\"bold\"", stream);
    if (font->is_upward)
        fprintf(stream, " transform=\"rotate(-90 %.2f %.2f)\"", at.x, at.y);
    putc('>', stream);
    fx8_svg_text(stream, words);
    fputs("</text>\n", stream);
}

/* Write bytes in base 64 (RFC 4648). */
static void write_base64(FILE *stream, const uint8_t *bytes, size_t size)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned b = left > 1 ? bytes[i + 1] : 0;
        const unsigned c = left > 2 ? bytes[i + 2] : 0;
        const unsigned group = (unsigned)bytes[i] << 16 | b << 8 | c;
        putc(digits[group >> 18], stream);
        putc(digits[group >> 12 & 63], stream);
        putc(left > 1 ? digits[group >> 6 & 63] : '=', stream);
        putc(left > 2 ? digits[group & 63] : '=', stream);
    }
}

static void raster(struct fx8_drawing *drawing, struct fx8_box box,
                   const uint8_t *pixels, size_t n_columns, size_t n_rows)
{
    struct svg *svg = svg_of(drawing);
    FX8_AUTO_FREE uint8_t *image = NULL;
    size_t size = 0;
    struct fx8_error error;
    const enum fx8_status status =
        fx8_png_encode(pixels, n_columns, n_rows, &image, &size, &error);
    if (status != FX8_OK) {
        svg->status = status;
        svg->error = error;
        return;
    }
    fprintf(svg->stream,
            "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
            "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
            "href=\"data:image/png;base64,",
            box.x, box.y, box.width, box.height);
    write_base64(svg->stream, image, size);
    fputs("\"/>\n", svg->stream);
}

static void hover(struct fx8_drawing *drawing, struct fx8_box box,
                  const char *words)
{
    FILE *stream = svg_of(drawing)->stream;
    fprintf(stream,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
            "fill=\"none\" pointer-events=\"all\"><title>",
            box.x, box.y, box.width, box.height);
    fx8_svg_text(stream, words);
    fputs("</title></rect>\n", stream);
}

#define FX8_SVG_SURFACE(ending)                                                \
    {                                                                          \
        .suffix = (ending), .open = open_svg, .rectangle = rectangle,          \
        .line = line, .dot = dot, .text = text, .raster = raster,              \
        .hover = hover, .finish = finish, .close = close_svg,                  \
    }

const struct fx8_surface fx8_surface_svg = FX8_SVG_SURFACE(".svg");
const struct fx8_surface fx8_surface_html = FX8_SVG_SURFACE(".html");
