/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * figure_draw.c -- the drawing of any figure.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/figure.h"

/* The page, in points. */
#define MARGIN        28.0
#define CELL_WIDTH    500.0 /* of a panel in two columns */
#define PAGE_WIDTH    (2.0 * MARGIN + 2.0 * CELL_WIDTH)
#define CELL_HEIGHT   270.0
#define TALL_HEIGHT   330.0 /* in one column */
#define SQUARE_CELL   400.0 /* of squares alone, in two columns */
#define SQUARE_HEIGHT 700.0

/* Around the frame of a panel: ticks and labels, title, legend, colours. */
#define LEFT       82.0
#define RIGHT      22.0
#define ABOVE      24.0
#define BELOW      44.0
#define LEGEND_ROW 13.0
#define BAR_GAP    10.0
#define BAR_WIDTH  11.0
#define BAR_RIGHT  66.0

#define LINE_HEIGHT 14.0

/* Most series with a name above the frame, most texts under the pointer, and
 * most cells of a matrix with one. */
#define MOST_NAMED    24
#define MOST_HOVERS   4000
#define HOVER_COLUMNS 64
#define HOVER_ROWS    48

static const struct fx8_font title_font = {16.0, FX8_COLOUR_INK,
                                           FX8_ANCHOR_START, true, false};
static const struct fx8_font words_font = {10.0, FX8_COLOUR_FAINT,
                                           FX8_ANCHOR_START, false, false};
static const struct fx8_font panel_font = {10.5, FX8_COLOUR_INK,
                                           FX8_ANCHOR_START, true, false};
static const struct fx8_font note_font = {10.5, FX8_COLOUR_FAINT,
                                          FX8_ANCHOR_MIDDLE, false, false};
static const struct fx8_font legend_font = {8.5, FX8_COLOUR_INK,
                                            FX8_ANCHOR_START, false, false};
static const struct fx8_font limit_font = {8.0, FX8_COLOUR_INK, FX8_ANCHOR_END,
                                           false, false};

/* A panel while it is drawn. */
struct frame {
    struct fx8_drawing *drawing;
    const struct fx8_panel *panel;
    struct fx8_box box; /* of the data */
};

static double place_x(const struct frame *frame, double x)
{
    return fx8_axis_place(&frame->panel->x, x, frame->box.x,
                          frame->box.x + frame->box.width);
}

static double place_y(const struct frame *frame, double y)
{
    return fx8_axis_place(&frame->panel->y, y, frame->box.y + frame->box.height,
                          frame->box.y);
}

/* --- words -------------------------------------------------------- */

/* Draw a text in lines of at most `width`, first at `at`; returns their number.
 * Without a drawing, only counts. */
static size_t put_words(struct fx8_drawing *drawing, struct fx8_point at,
                        double width, const struct fx8_font *font,
                        const char *words)
{
    size_t n_lines = 0;
    while (*words != '\0') {
        char line[FX8_WORDS_SIZE];
        size_t length = 0;
        for (size_t end = 0;; end++) { /* the longest that ends with a word */
            if (words[end] != ' ' && words[end] != '\0')
                continue;
            snprintf(line, sizeof line, "%.*s", (int)end, words);
            if (length > 0 && fx8_draw_text_width(font, line) > width)
                break;
            length = end;
            if (words[end] == '\0')
                break;
        }
        snprintf(line, sizeof line, "%.*s", (int)length, words);
        if (drawing != NULL)
            fx8_draw_text(
                drawing,
                (struct fx8_point){at.x, at.y + LINE_HEIGHT * (double)n_lines},
                font, line);
        n_lines++;
        words += length + strspn(words + length, " ");
    }
    return n_lines;
}

/* --- legend ------------------------------------------------------- */

static uint32_t colour_of(const struct fx8_panel *panel, size_t series)
{
    return panel->series[series].is_bad
               ? FX8_COLOUR_BAD
               : fx8_colour_of(series, panel->n_series);
}

/* Draw the names of the series in rows of at most `width`; returns the number
 * of rows.  Without a drawing, only counts. */
static size_t put_legend(struct fx8_drawing *drawing, struct fx8_point at,
                         double width, const struct fx8_panel *panel)
{
    double x = 0.0;
    size_t row = 0, n_named = 0;
    for (size_t s = 0; s < panel->n_series; s++)
        n_named += panel->series[s].name[0] != '\0';
    if (n_named == 0 || n_named > MOST_NAMED)
        return 0;
    for (size_t s = 0; s < panel->n_series; s++) {
        const char *name = panel->series[s].name;
        if (name[0] == '\0')
            continue;
        const double needed = 26.0 + fx8_draw_text_width(&legend_font, name);
        if (x > 0.0 && x + needed > width) {
            x = 0.0;
            row++;
        }
        const double left = at.x + x, y = at.y + LEGEND_ROW * (double)row;
        const struct fx8_box sample = {left, y - 4.5, 12.0, 3.0};
        if (drawing != NULL) {
            fx8_draw_rectangle(drawing, sample, colour_of(panel, s));
            fx8_draw_text(drawing, (struct fx8_point){left + 16.0, y},
                          &legend_font, name);
        }
        x += needed;
    }
    return row + 1;
}

/* --- series ------------------------------------------------------- */

static void put_hover(const struct frame *frame,
                      const struct fx8_series *series, size_t i,
                      struct fx8_box box)
{
    char x[FX8_LABEL_SIZE], y[FX8_LABEL_SIZE], text[FX8_WORDS_SIZE];
    if (series->has_own_texts) {
        if (series->labels != NULL)
            fx8_draw_hover(frame->drawing, box, series->labels[i]);
        return;
    }
    fx8_axis_format(&frame->panel->x, series->x[i], x);
    fx8_axis_format(&frame->panel->y, series->y[i], y);
    snprintf(text, sizeof text, "%s%s%s%s%s: %s", series->name,
             series->name[0] != '\0' ? ", " : "",
             series->labels != NULL ? series->labels[i] : "",
             series->labels != NULL ? ", " : "", x, y);
    fx8_draw_hover(frame->drawing, box, text);
}

/* A wrong input stays visible, however low and among however many. */
static double least_bar(const struct fx8_series *series)
{
    return series->is_bad ? 3.0 : 0.8;
}

static double bar_width(const struct frame *frame,
                        const struct fx8_series *series)
{
    const struct fx8_axis *x = &frame->panel->x;
    const double apart = series->width > 0.0 ? series->width : 1.0;
    return fmax(least_bar(series),
                0.8 * apart * frame->box.width / (x->high - x->low));
}

static void put_bars(const struct frame *frame, const struct fx8_series *series,
                     uint32_t colour)
{
    const double floor_y = frame->box.y + frame->box.height;
    const double width = bar_width(frame, series);
    for (size_t i = 0; i < series->n; i++) {
        const double x = place_x(frame, series->x[i]);
        const double y =
            fmin(place_y(frame, series->y[i]), floor_y - least_bar(series));
        if (!isfinite(x) || !isfinite(series->y[i]))
            continue;
        if (series->is_bad && series->y[i] == 0.0) /* has no height */
            fx8_draw_dot(frame->drawing, (struct fx8_point){x, floor_y}, 3.2,
                         colour);
        else
            fx8_draw_rectangle(
                frame->drawing,
                (struct fx8_box){x - 0.5 * width, y, width, floor_y - y},
                colour);
    }
}

static enum fx8_status put_points(const struct frame *frame,
                                  const struct fx8_series *series,
                                  uint32_t colour, struct fx8_error *error)
{
    FX8_AUTO_FREE struct fx8_point *points = NULL;
    FX8_TRY(fx8_allocate(series->n, sizeof *points, "a line", &points, error));
    for (size_t i = 0; i < series->n; i++)
        points[i] = (struct fx8_point){place_x(frame, series->x[i]),
                                       place_y(frame, series->y[i])};
    const double radius = series->is_bad      ? 3.2
                          : series->n > 10000 ? 0.5
                          : series->n > 2000  ? 0.9
                                              : 2.0;
    if (series->mark == FX8_MARK_LINE)
        fx8_draw_line(frame->drawing, points, series->n,
                      (struct fx8_stroke){colour, 1.0, 0.0});
    for (size_t i = 0; series->mark == FX8_MARK_DOTS && i < series->n; i++)
        if (isfinite(points[i].x) && isfinite(points[i].y))
            fx8_draw_dot(frame->drawing, points[i], radius, colour);
    return FX8_OK;
}

static void put_hovers(const struct frame *frame)
{
    const struct fx8_panel *panel = frame->panel;
    size_t n = 0;
    for (size_t s = 0; s < panel->n_series; s++)
        n += panel->series[s].n;
    const size_t each = n / MOST_HOVERS + 1;
    for (size_t s = 0; s < panel->n_series; s++)
        for (size_t i = 0; i < panel->series[s].n; i += each) {
            const struct fx8_series *series = &panel->series[s];
            const double x = place_x(frame, series->x[i]);
            const double y = place_y(frame, series->y[i]);
            struct fx8_box box = {x - 3.0, y - 3.0, 6.0, 6.0};
            if (series->mark == FX8_MARK_BARS) { /* all of its column */
                box.width = bar_width(frame, series);
                box = (struct fx8_box){x - 0.5 * box.width, frame->box.y,
                                       box.width, frame->box.height};
            }
            if (isfinite(x) && isfinite(y))
                put_hover(frame, series, i, box);
        }
}

static enum fx8_status put_series(const struct frame *frame,
                                  struct fx8_error *error)
{
    const struct fx8_panel *panel = frame->panel;
    for (size_t s = 0; s < panel->n_series; s++) {
        const struct fx8_series *series = &panel->series[s];
        if (series->mark == FX8_MARK_BARS)
            put_bars(frame, series, colour_of(panel, s));
        else
            FX8_TRY(put_points(frame, series, colour_of(panel, s), error));
    }
    put_hovers(frame);
    return FX8_OK;
}

/* --- matrix ------------------------------------------------------- */

/* What blank cells are, below the frame on the right. */
static void put_blank_key(const struct frame *frame)
{
    const char *words = frame->panel->matrix.blank;
    const struct fx8_stroke outline = {FX8_COLOUR_FRAME, 0.8, 0.0};
    const double width = fx8_draw_text_width(&legend_font, words);
    const struct fx8_point at = {frame->box.x + frame->box.width - width,
                                 frame->box.y + frame->box.height + 28.0};
    const struct fx8_box sample = {at.x - 16.0, at.y - 7.0, 12.0, 8.0};
    fx8_draw_rectangle(frame->drawing, sample, FX8_COLOUR_BLANK);
    fx8_draw_frame(frame->drawing, sample, outline);
    fx8_draw_text(frame->drawing, at, &legend_font, words);
}

static enum fx8_status put_raster(const struct frame *frame,
                                  struct fx8_error *error)
{
    const struct fx8_matrix *matrix = &frame->panel->matrix;
    const size_t n_rows = matrix->n_rows, n_columns = matrix->n_columns;
    FX8_AUTO_FREE uint8_t *pixels = NULL;
    size_t n_blank = 0;
    FX8_TRY(
        fx8_allocate(3 * n_rows * n_columns, 1, "a raster", &pixels, error));
    uint8_t *pixel = pixels;
    for (size_t r = n_rows; r-- > 0;)
        for (size_t c = 0; c < n_columns; c++) {
            const double share = fx8_axis_place(
                &matrix->axis, matrix->values[r * n_columns + c], 0.0, 1.0);
            const uint32_t colour = fx8_colour_at(matrix->map, share);
            n_blank += colour == FX8_COLOUR_BLANK;
            *pixel++ = (uint8_t)(colour >> 16);
            *pixel++ = (uint8_t)(colour >> 8);
            *pixel++ = (uint8_t)colour;
        }
    fx8_draw_raster(frame->drawing, frame->box, pixels, n_columns, n_rows);
    if (matrix->blank != NULL && n_blank > 0)
        put_blank_key(frame);
    return FX8_OK;
}

/* Mean of the values in rows [r, r_end), columns [c, c_end); of phases, one in
 * the middle. */
static double typical(const struct fx8_matrix *matrix, size_t r, size_t r_end,
                      size_t c, size_t c_end)
{
    double sum = 0.0;
    size_t n = 0;
    if (matrix->map == FX8_MAP_CYCLE)
        return matrix
            ->values[(r + r_end) / 2 * matrix->n_columns + (c + c_end) / 2];
    for (size_t i = r; i < r_end; i++)
        for (size_t k = c; k < c_end; k++) {
            const double value = matrix->values[i * matrix->n_columns + k];
            if (!isfinite(value))
                continue;
            sum += value;
            n++;
        }
    return n > 0 ? sum / (double)n : NAN;
}

/* Texts over a coarse grid of the matrix: all its cells if they are few. */
static void put_matrix_hovers(const struct frame *frame)
{
    const struct fx8_panel *panel = frame->panel;
    const struct fx8_matrix *m = &panel->matrix;
    const size_t n_x =
        m->n_columns < HOVER_COLUMNS ? m->n_columns : HOVER_COLUMNS;
    const size_t n_y = m->n_rows < HOVER_ROWS ? m->n_rows : HOVER_ROWS;
    const double width = frame->box.width / (double)n_x;
    const double height = frame->box.height / (double)n_y;
    for (size_t i = 0; i < n_x * n_y; i++) {
        const size_t r = i / n_x, c = i % n_x;
        const double value =
            typical(m, r * m->n_rows / n_y, (r + 1) * m->n_rows / n_y,
                    c * m->n_columns / n_x, (c + 1) * m->n_columns / n_x);
        const double x = panel->x.low + ((double)c + 0.5) / (double)n_x *
                                            (panel->x.high - panel->x.low);
        const double y = panel->y.low + ((double)r + 0.5) / (double)n_y *
                                            (panel->y.high - panel->y.low);
        char x_text[FX8_LABEL_SIZE], y_text[FX8_LABEL_SIZE];
        char z_text[FX8_LABEL_SIZE], text[FX8_WORDS_SIZE];
        fx8_axis_format(&panel->x, x, x_text);
        fx8_axis_format(&panel->y, y, y_text);
        snprintf(z_text, sizeof z_text, "%s",
                 m->blank != NULL ? m->blank : "no value");
        if (isfinite(value))
            fx8_axis_format(&m->axis, value, z_text);
        snprintf(text, sizeof text, "%s, %s: %s", x_text, y_text, z_text);
        fx8_draw_hover(frame->drawing,
                       (struct fx8_box){frame->box.x + width * (double)c,
                                        frame->box.y + frame->box.height -
                                            height * (double)(r + 1),
                                        width, height},
                       text);
    }
}

static enum fx8_status put_matrix(const struct frame *frame,
                                  struct fx8_error *error)
{
    const struct fx8_matrix *matrix = &frame->panel->matrix;
    const struct fx8_box bar = {frame->box.x + frame->box.width + BAR_GAP,
                                frame->box.y, BAR_WIDTH, frame->box.height};
    FX8_TRY(put_raster(frame, error));
    fx8_axes_draw(frame->drawing, frame->box, &frame->panel->x,
                  &frame->panel->y, false);
    fx8_axes_colour_bar(frame->drawing, bar, &matrix->axis, matrix->map);
    put_matrix_hovers(frame);
    return FX8_OK;
}

/* --- a panel ------------------------------------------------------ */

static bool has_data(const struct fx8_panel *panel)
{
    const struct fx8_matrix *matrix = &panel->matrix;
    for (size_t i = 0;
         matrix->values != NULL && i < matrix->n_rows * matrix->n_columns; i++)
        if (isfinite(matrix->values[i]))
            return true;
    for (size_t s = 0; s < panel->n_series; s++)
        for (size_t i = 0; i < panel->series[s].n; i++)
            if (isfinite(panel->series[s].x[i]) &&
                isfinite(panel->series[s].y[i]))
                return true;
    return false;
}

static void put_limit(const struct frame *frame, const struct fx8_limit *limit)
{
    const struct fx8_box *box = &frame->box;
    const double right = box->x + box->width, bottom = box->y + box->height;
    const double x = place_x(frame, limit->at), y = place_y(frame, limit->at);
    const struct fx8_point upright[] = {{x, box->y}, {x, bottom}};
    const struct fx8_point level[] = {{box->x, y}, {right, y}};
    struct fx8_font font = limit_font;
    /* above the line, if there is room in the frame */
    struct fx8_point at = {right - 4.0, y - box->y > 12.0 ? y - 3.0 : y + 9.0};
    if (limit->is_vertical) { /* on the side that has more room */
        const bool is_right = x > box->x + 0.5 * box->width;
        font.anchor = is_right ? FX8_ANCHOR_END : FX8_ANCHOR_START;
        at = (struct fx8_point){
            x + (is_right ? -4.0 : 4.0),
            box->y + 11.0 + 11.0 * (double)(limit - frame->panel->limits)};
    }
    fx8_draw_line(frame->drawing, limit->is_vertical ? upright : level, 2,
                  (struct fx8_stroke){FX8_COLOUR_INK, 0.9, 4.0});
    fx8_draw_text(frame->drawing, at, &font, limit->words);
}

/* Room on the right of a frame, for colours if there are any. */
static double right_beside(const struct fx8_panel *panel)
{
    return panel->matrix.values != NULL ? BAR_GAP + BAR_WIDTH + BAR_RIGHT
                                        : RIGHT;
}

/* The same for all frames of a column. */
static double right_of(const struct fx8_figure *figure, size_t column)
{
    const size_t step = figure->n_columns > 1 ? 2 : 1;
    double right = RIGHT;
    for (size_t p = column; p < figure->n_panels; p += step)
        right = fmax(right, right_beside(&figure->panels[p]));
    return right;
}

/* The rectangle of the data in a panel's cell, below title and legend. */
static struct fx8_box frame_in(struct fx8_box cell,
                               const struct fx8_panel *panel, size_t n_rows,
                               double right)
{
    const double above = ABOVE + LEGEND_ROW * (double)n_rows;
    struct fx8_box box = {cell.x + LEFT, cell.y + above,
                          cell.width - LEFT - right,
                          cell.height - above - BELOW};
    if (panel->is_square)
        box.width = box.height = fmin(box.width, box.height);
    return box;
}

static enum fx8_status put_panel(struct fx8_drawing *drawing,
                                 struct fx8_box cell, double right,
                                 const struct fx8_panel *panel,
                                 struct fx8_error *error)
{
    const struct fx8_point below = {cell.x + LEFT, cell.y + ABOVE};
    const bool is_empty = !has_data(panel);
    const size_t n_rows = put_legend(is_empty ? NULL : drawing, below,
                                     cell.width - LEFT - right, panel);
    const struct frame frame = {drawing, panel,
                                frame_in(cell, panel, n_rows, right)};
    fx8_draw_text(drawing, (struct fx8_point){below.x, cell.y + 11.0},
                  &panel_font, panel->title);
    if (is_empty) {
        const struct fx8_box *box = &frame.box;
        fx8_draw_rectangle(drawing, *box, FX8_COLOUR_BLANK);
        fx8_draw_text(drawing,
                      (struct fx8_point){box->x + 0.5 * box->width,
                                         box->y + 0.5 * box->height},
                      &note_font, panel->note);
        return FX8_OK;
    }
    if (panel->matrix.values != NULL)
        FX8_TRY(put_matrix(&frame, error));
    else
        fx8_axes_draw(drawing, frame.box, &panel->x, &panel->y, true);
    FX8_TRY(put_series(&frame, error));
    for (size_t i = 0; i < panel->n_limits; i++)
        put_limit(&frame, &panel->limits[i]);
    return FX8_OK;
}

/* --- the page ----------------------------------------------------- */

/* Height of all cells: two columns of squares alone are taller. */
static double cell_height(const struct fx8_figure *figure)
{
    bool is_square = true;
    for (size_t p = 0; p < figure->n_panels; p++)
        is_square = is_square && figure->panels[p].is_square;
    return figure->n_columns > 1 ? (is_square ? SQUARE_CELL : CELL_HEIGHT)
           : is_square           ? SQUARE_HEIGHT
                                 : TALL_HEIGHT;
}

/* Title, verdict and subtitle; returns the height that they take.  Without a
 * drawing, only measures. */
static double put_head(struct fx8_drawing *drawing,
                       const struct fx8_figure *figure)
{
    const double width = PAGE_WIDTH - 2.0 * MARGIN;
    struct fx8_point at = {MARGIN, MARGIN + 14.0};
    struct fx8_font verdict = words_font;
    verdict.colour = figure->is_bad ? FX8_COLOUR_BAD : FX8_COLOUR_INK;
    verdict.is_bold = figure->is_bad;
    at.y += 20.0 *
            (double)put_words(drawing, at, width, &title_font, figure->title);
    at.y += LINE_HEIGHT * (double)put_words(drawing, at, width, &words_font,
                                            figure->subtitle);
    if (figure->verdict != NULL)
        at.y += LINE_HEIGHT * (double)put_words(drawing, at, width, &verdict,
                                                figure->verdict);
    return at.y + 8.0;
}

/* Draw the panels from `top` down; returns the lower end of the last.  Without
 * a drawing, only measures. */
static enum fx8_status put_panels(struct fx8_drawing *drawing,
                                  const struct fx8_figure *figure, double top,
                                  double *bottom, struct fx8_error *error)
{
    const size_t n_columns = figure->n_columns > 1 ? 2 : 1;
    const double width = (PAGE_WIDTH - 2.0 * MARGIN) / (double)n_columns;
    *bottom = top;
    for (size_t p = 0; p < figure->n_panels; p++) {
        const struct fx8_panel *panel = &figure->panels[p];
        const size_t column = p % n_columns;
        top = column == 0 ? *bottom : top;
        const struct fx8_box cell = {MARGIN + width * (double)column, top,
                                     width, cell_height(figure)};
        if (drawing != NULL)
            FX8_TRY(put_panel(drawing, cell, right_of(figure, column), panel,
                              error));
        *bottom = fmax(*bottom, top + cell.height);
    }
    return FX8_OK;
}

enum fx8_status fx8_figure_draw(const struct fx8_figure *figure,
                                const struct fx8_surface *surface, char **bytes,
                                size_t *size, struct fx8_error *error)
{
    double bottom;
    const double top = put_head(NULL, figure);
    FX8_AUTO(fx8_draw_close) struct fx8_drawing *drawing = NULL;
    FX8_TRY(put_panels(NULL, figure, top, &bottom, error));
    FX8_TRY(fx8_draw_open(surface, PAGE_WIDTH, bottom + 8.0, figure->title,
                          &drawing, error));
    put_head(drawing, figure);
    FX8_TRY(put_panels(drawing, figure, top, &bottom, error));
    return fx8_draw_finish(drawing, bytes, size, error);
}

enum fx8_status fx8_panel_draw(const struct fx8_panel *panel,
                               const struct fx8_surface *surface, double width,
                               double height, char **bytes, size_t *size,
                               struct fx8_error *error)
{
    FX8_AUTO(fx8_draw_close) struct fx8_drawing *drawing = NULL;
    FX8_TRY(
        fx8_draw_open(surface, width, height, panel->title, &drawing, error));
    FX8_TRY(put_panel(drawing, (struct fx8_box){0, 0, width, height},
                      right_beside(panel), panel, error));
    return fx8_draw_finish(drawing, bytes, size, error);
}
