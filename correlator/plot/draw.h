/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draw.h -- drawings of a few primitives on a page, written as SVG, HTML, PNG
 * or PDF.  Positions and sizes are in points (1/72 inch) from the page's upper
 * left corner, y downwards; colours are 0xRRGGBB.
 */
#ifndef FX8_CORRELATOR_PLOT_DRAW_H
#define FX8_CORRELATOR_PLOT_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/** A position on the page. */
struct fx8_point {
    double x, y;
};

/** A rectangle: its upper left corner and its size. */
struct fx8_box {
    double x, y, width, height;
};

/** How a line is drawn. */
struct fx8_stroke {
    uint32_t colour;
    double width;
    double dash; /**< length of dashes and of the gaps between; 0: solid */
};

/** Which part of a text its position is. */
enum fx8_anchor { FX8_ANCHOR_START = 0, FX8_ANCHOR_MIDDLE, FX8_ANCHOR_END };

/** How a text is drawn, in the system's sans-serif font. */
struct fx8_font {
    double size;
    uint32_t colour;
    enum fx8_anchor anchor;
    bool is_bold;
    bool is_upward; /**< turned by a quarter: reads from below */
};

struct fx8_drawing;

/** A format of files: what it does for each function below. */
struct fx8_surface {
    const char *suffix; /**< ".svg" */
    /** NULL: this build cannot write the format. */
    enum fx8_status (*open)(const struct fx8_surface *surface, double width,
                            double height, const char *title,
                            struct fx8_drawing **drawing,
                            struct fx8_error *error);
    void (*rectangle)(struct fx8_drawing *drawing, struct fx8_box box,
                      uint32_t colour);
    void (*line)(struct fx8_drawing *drawing, const struct fx8_point *points,
                 size_t n, struct fx8_stroke stroke);
    void (*dot)(struct fx8_drawing *drawing, struct fx8_point at, double radius,
                uint32_t colour);
    void (*text)(struct fx8_drawing *drawing, struct fx8_point at,
                 const struct fx8_font *font, const char *text);
    void (*raster)(struct fx8_drawing *drawing, struct fx8_box box,
                   const uint8_t *pixels, size_t n_columns, size_t n_rows);
    void (*hover)(struct fx8_drawing *drawing, struct fx8_box box,
                  const char *text);
    enum fx8_status (*finish)(struct fx8_drawing *drawing, char **bytes,
                              size_t *size, struct fx8_error *error);
    void (*close)(struct fx8_drawing *drawing);
};

/** What every drawing begins with; surfaces add their own. */
struct fx8_drawing {
    const struct fx8_surface *surface;
    double width, height;
};

extern const struct fx8_surface fx8_surface_png, fx8_surface_svg,
    fx8_surface_pdf, fx8_surface_html;

/**
 * fx8_surface_of -- the format that the end of a file's name asks for.
 *
 * Status: FX8_ERR_USAGE "PATH: .gif: expected ..." for another ending, with
 *         *surface NULL, and for one that this build cannot write
 */
enum fx8_status fx8_surface_of(const char *path,
                               const struct fx8_surface **surface,
                               struct fx8_error *error);

/**
 * fx8_draw_open -- begin a white page.
 *
 * Given:    title    of the document, where the format has one
 * Returned: drawing  fx8_draw_close() releases it
 * Status:   FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_draw_open(const struct fx8_surface *surface, double width,
                              double height, const char *title,
                              struct fx8_drawing **drawing,
                              struct fx8_error *error);

/** Fill a rectangle. */
void fx8_draw_rectangle(struct fx8_drawing *drawing, struct fx8_box box,
                        uint32_t colour);

/** Draw the edge of a rectangle. */
void fx8_draw_frame(struct fx8_drawing *drawing, struct fx8_box box,
                    struct fx8_stroke stroke);

/** A line through points [n]; where one is not finite it is interrupted. */
void fx8_draw_line(struct fx8_drawing *drawing, const struct fx8_point *points,
                   size_t n, struct fx8_stroke stroke);

/** A filled circle. */
void fx8_draw_dot(struct fx8_drawing *drawing, struct fx8_point at,
                  double radius, uint32_t colour);

/** A text on its base line; control characters, and all bytes of invalid UTF-8
 *  beyond ASCII, become '?'. */
void fx8_draw_text(struct fx8_drawing *drawing, struct fx8_point at,
                   const struct fx8_font *font, const char *text);

/** Width that a text of that font takes, about. */
double fx8_draw_text_width(const struct fx8_font *font, const char *text);

/** Pixels [n_rows][n_columns][red, green, blue], first row on top, stretched to
 *  a rectangle with sharp edges. */
void fx8_draw_raster(struct fx8_drawing *drawing, struct fx8_box box,
                     const uint8_t *pixels, size_t n_columns, size_t n_rows);

/** A text to show while the pointer is in a rectangle; formats without a
 *  pointer ignore it. */
void fx8_draw_hover(struct fx8_drawing *drawing, struct fx8_box box,
                    const char *text);

/**
 * fx8_draw_finish -- the whole file.
 *
 * Returned: bytes, size  the caller frees; NULL after failure
 * Status:   FX8_ERR_SYSTEM when memory was short at any time
 */
enum fx8_status fx8_draw_finish(struct fx8_drawing *drawing, char **bytes,
                                size_t *size, struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_draw_close(struct fx8_drawing **drawing);

#endif
