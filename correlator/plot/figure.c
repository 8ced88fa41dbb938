/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "config/base/json.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/figure.h"

/* Share of a matrix's values beyond either end of its colours. */
#define BEYOND 0.01

/* Highest over lowest value from which an axis may be logarithmic. */
#define WIDE 100.0

/* --- building ----------------------------------------------------- */

static void name_axis(struct fx8_axis *axis, const char *label)
{
    snprintf(axis->label, sizeof axis->label, "%s", label);
    axis->low = axis->high = NAN;
}

struct fx8_panel *fx8_figure_panel(struct fx8_figure *figure, const char *title,
                                   const char *x_label, const char *y_label)
{
    struct fx8_panel *panel = &figure->panels[figure->n_panels++];
    snprintf(panel->title, sizeof panel->title, "%s", title);
    snprintf(panel->note, sizeof panel->note, "no unflagged data to show");
    name_axis(&panel->x, x_label);
    name_axis(&panel->y, y_label);
    return panel;
}

static void fill(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = NAN;
}

enum fx8_status fx8_panel_series(struct fx8_panel *panel, const char *name,
                                 enum fx8_mark mark, size_t n,
                                 struct fx8_series **series,
                                 struct fx8_error *error)
{
    FX8_TRY(fx8_grow(&panel->series, panel->n_series, sizeof *panel->series,
                     "a series", error));
    struct fx8_series *added = &panel->series[panel->n_series++];
    *added = (struct fx8_series){.mark = mark, .n = n};
    snprintf(added->name, sizeof added->name, "%s", name);
    const struct fx8_array arrays[] = {FX8_ITEMS(added->x, n),
                                       FX8_ITEMS(added->y, n)};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "a series", error));
    fill(added->x, n);
    fill(added->y, n);
    *series = added;
    return FX8_OK;
}

enum fx8_status fx8_panel_matrix(struct fx8_panel *panel, size_t n_rows,
                                 size_t n_columns, const char *label,
                                 struct fx8_error *error)
{
    struct fx8_matrix *matrix = &panel->matrix;
    name_axis(&matrix->axis, label);
    FX8_TRY(fx8_allocate(fx8_product(n_rows, n_columns, 1, 1), sizeof(double),
                         "a matrix", &matrix->values, error));
    matrix->n_rows = n_rows;
    matrix->n_columns = n_columns;
    fill(matrix->values, n_rows * n_columns);
    return FX8_OK;
}

enum fx8_status fx8_axis_names(struct fx8_axis *axis, size_t n,
                               struct fx8_error *error)
{
    FX8_TRY(fx8_allocate(n, sizeof *axis->names, "names", &axis->names, error));
    axis->n_names = n;
    axis->low = -0.5;
    axis->high = (double)n - 0.5;
    return FX8_OK;
}

void fx8_axis_degrees(struct fx8_axis *axis, const char *label)
{
    name_axis(axis, label);
    axis->low = -180.0;
    axis->high = 180.0;
    axis->step = 90.0;
}

void fx8_panel_limit(struct fx8_panel *panel, bool is_vertical, double at,
                     const char *format, ...)
{
    const size_t most = sizeof panel->limits / sizeof *panel->limits;
    if (panel->n_limits == most || !isfinite(at))
        return;
    struct fx8_limit *limit = &panel->limits[panel->n_limits++];
    limit->is_vertical = is_vertical;
    limit->at = at;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(limit->words, sizeof limit->words, format, arguments);
    va_end(arguments);
}

void fx8_figure_clear(struct fx8_figure *figure)
{
    for (size_t p = 0; p < figure->n_panels; p++) {
        struct fx8_panel *panel = &figure->panels[p];
        for (size_t s = 0; s < panel->n_series; s++) {
            free(panel->series[s].x);
            free(panel->series[s].y);
            free(panel->series[s].labels);
        }
        free(panel->series);
        free(panel->matrix.values);
        free(panel->x.names);
        free(panel->y.names);
    }
    free(figure->verdict);
    *figure = (struct fx8_figure){0};
}

/* --- ranges ------------------------------------------------------- */

/* Take the free ends of an axis from the range of the data, with a margin. */
static void settle_axis(struct fx8_axis *axis, double low, double high,
                        double margin)
{
    const bool is_log = axis->scale == FX8_SCALE_LOG;
    if (!(low <= high))
        low = high = is_log ? 1.0 : 0.0; /* no data */
    double more =
        margin * (high - fmin(low, isnan(axis->low) ? low : axis->low));
    if (!(more > 1e-12 * fabs(high)) && high - low <= 1e-12 * fabs(high))
        more = high != 0.0 ? 0.01 * fabs(high) : 1.0;
    if (isnan(axis->low))
        axis->low = is_log ? low / 1.5 : low - more;
    if (isnan(axis->high))
        axis->high = is_log ? high * 1.5 : high + more;
    if (!(axis->high > axis->low)) /* one end given, the data beyond it */
        axis->high = axis->low + 1.0;
}

/* Values along an axis. */
struct range {
    double low, high;
    double least; /* of those above 0 */
};

static void take(struct range *range, double value)
{
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
    if (value > 0.0)
        range->least = fmin(range->least, value);
}

static void settle_by_series(struct fx8_panel *panel, bool is_x)
{
    struct fx8_axis *axis = is_x ? &panel->x : &panel->y;
    struct range range = {INFINITY, -INFINITY, INFINITY};
    for (size_t s = 0; s < panel->n_series; s++) {
        const struct fx8_series *series = &panel->series[s];
        for (size_t i = 0; i < series->n; i++)
            if (isfinite(series->x[i]) && isfinite(series->y[i]))
                take(&range, is_x ? series->x[i] : series->y[i]);
    }
    for (size_t i = 0; i < panel->n_limits; i++)
        if (panel->limits[i].is_vertical == is_x)
            take(&range, panel->limits[i].at);
    if (axis->may_be_log && range.low >= 0.0 &&
        range.high >= WIDE * range.least) {
        axis->scale = FX8_SCALE_LOG;
        axis->low = axis->low > 0.0 ? axis->low : NAN;
    }
    const bool is_log = axis->scale == FX8_SCALE_LOG;
    settle_axis(axis, is_log ? range.least : range.low, range.high,
                is_x ? 0.02 : 0.06);
}

/* Make a square panel's axes as long as the longer. */
static void settle_square(struct fx8_panel *panel)
{
    struct fx8_axis *axes[] = {&panel->x, &panel->y};
    const double span =
        fmax(panel->x.high - panel->x.low, panel->y.high - panel->y.low);
    for (int i = 0; i < 2; i++) {
        const double more = 0.5 * (span - (axes[i]->high - axes[i]->low));
        axes[i]->low -= more;
        axes[i]->high += more;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum fx8_status settle_matrix(struct fx8_matrix *matrix,
                                     struct fx8_error *error)
{
    const size_t n = matrix->n_rows * matrix->n_columns;
    FX8_AUTO_FREE double *sorted = NULL;
    size_t n_finite = 0;
    FX8_TRY(fx8_allocate(n, sizeof *sorted, "a matrix", &sorted, error));
    for (size_t i = 0; i < n; i++)
        if (isfinite(matrix->values[i]))
            sorted[n_finite++] = matrix->values[i];
    qsort(sorted, n_finite, sizeof *sorted, ascending);
    const size_t beyond = (size_t)(BEYOND * (double)n_finite);
    settle_axis(&matrix->axis, n_finite > 0 ? sorted[beyond] : INFINITY,
                n_finite > 0 ? sorted[n_finite - 1 - beyond] : -INFINITY, 0.0);
    return FX8_OK;
}

enum fx8_status fx8_figure_settle(struct fx8_figure *figure,
                                  struct fx8_error *error)
{
    for (size_t p = 0; p < figure->n_panels; p++) {
        struct fx8_panel *panel = &figure->panels[p];
        settle_by_series(panel, true);
        settle_by_series(panel, false);
        if (panel->is_square)
            settle_square(panel);
        if (panel->matrix.values != NULL)
            FX8_TRY(settle_matrix(&panel->matrix, error));
    }
    return FX8_OK;
}

/* --- JSON --------------------------------------------------------- */

static const char *const scales[] = {"linear", "log", "time", "asinh"};
static const char *const marks[] = {"line", "dots", "bars"};
static const char *const maps[] = {"amplitude", "cycle", "share"};

static void write_names(struct fx8_json *json, const char *key,
                        char (*names)[FX8_LABEL_SIZE], size_t n)
{
    if (names == NULL)
        return;
    fx8_json_array(json, key);
    for (size_t i = 0; i < n; i++)
        fx8_json_text(json, NULL, names[i]);
    fx8_json_end(json);
}

static void write_axis(struct fx8_json *json, const char *key,
                       const struct fx8_axis *axis)
{
    fx8_json_object(json, key);
    fx8_json_text(json, "label", axis->label);
    fx8_json_text(json, "scale", scales[axis->scale]);
    fx8_json_real(json, "low", axis->low);
    fx8_json_real(json, "high", axis->high);
    write_names(json, "names", axis->names, axis->n_names);
    fx8_json_end(json);
}

static void write_series(struct fx8_json *json, const struct fx8_panel *panel)
{
    fx8_json_array(json, "series");
    for (size_t s = 0; s < panel->n_series; s++) {
        const struct fx8_series *series = &panel->series[s];
        fx8_json_object(json, NULL);
        fx8_json_text(json, "name", series->name);
        fx8_json_text(json, "mark", marks[series->mark]);
        fx8_json_bool(json, "is_bad", series->is_bad);
        fx8_json_reals(json, "x", series->x, series->n);
        fx8_json_reals(json, "y", series->y, series->n);
        write_names(json, "labels", series->labels, series->n);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

static void write_matrix(struct fx8_json *json, const struct fx8_matrix *matrix)
{
    if (matrix->values == NULL)
        return;
    fx8_json_object(json, "matrix");
    write_axis(json, "axis", &matrix->axis);
    fx8_json_text(json, "map", maps[matrix->map]);
    if (matrix->blank != NULL)
        fx8_json_text(json, "blank", matrix->blank);
    fx8_json_array(json, "values");
    for (size_t r = 0; r < matrix->n_rows; r++)
        fx8_json_reals(json, NULL, matrix->values + r * matrix->n_columns,
                       matrix->n_columns);
    fx8_json_end(json);
    fx8_json_end(json);
}

static void write_limits(struct fx8_json *json, const struct fx8_panel *panel)
{
    fx8_json_array(json, "limits");
    for (size_t i = 0; i < panel->n_limits; i++) {
        const struct fx8_limit *limit = &panel->limits[i];
        fx8_json_object(json, NULL);
        fx8_json_text(json, "axis", limit->is_vertical ? "x" : "y");
        fx8_json_real(json, "at", limit->at);
        fx8_json_text(json, "words", limit->words);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

void fx8_figure_print_json(const struct fx8_figure *figure, FILE *stream)
{
    struct fx8_json json = {.stream = stream};
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "title", figure->title);
    fx8_json_text(&json, "subtitle", figure->subtitle);
    fx8_json_text(&json, "verdict", figure->verdict);
    fx8_json_bool(&json, "is_bad", figure->is_bad);
    fx8_json_array(&json, "panels");
    for (size_t p = 0; p < figure->n_panels; p++) {
        const struct fx8_panel *panel = &figure->panels[p];
        fx8_json_object(&json, NULL);
        fx8_json_text(&json, "title", panel->title);
        write_axis(&json, "x", &panel->x);
        write_axis(&json, "y", &panel->y);
        write_series(&json, panel);
        write_matrix(&json, &panel->matrix);
        write_limits(&json, panel);
        fx8_json_end(&json);
    }
    fx8_json_end(&json);
    fx8_json_end(&json);
}
