/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * track.c -- one baseline against time and frequency: sums, and the kinds
 * waterfall and phase.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"

/* --- reading ------------------------------------------------------ */

struct work {
    const struct fx8_view *view;
    struct fx8_track *track;
    const size_t *columns, *rows; /* cells of the channels and of the dumps */
};

static void take(void *context, const struct fx8_view_row *row)
{
    const struct work *work = context;
    struct fx8_track *track = work->track;
    const bool is_turned =
        work->view->is_turned && track->baseline == work->view->baseline;
    track->n_not_finite += row->n_not_finite;
    for (size_t p = 0; p < track->n_products; p++) {
        /* V_ki is the conjugate of V_ik, and its XY that of YX */
        const size_t of = is_turned ? fx8_view_mirrored(work->view, p) : p;
        if (of == FX8_NOTHING)
            continue;
        for (size_t c = 0; c < work->view->n_channels; c++) {
            const size_t at = c * track->n_products + of;
            const double *v = row->values + 2 * at;
            const size_t cell =
                (p * track->n_rows + work->rows[row->time]) * track->n_columns +
                work->columns[c];
            if (row->flags[at] != 0)
                continue;
            track->sums[cell][0] += v[0];
            track->sums[cell][1] += is_turned ? -v[1] : v[1];
            track->counts[cell] += 1.0;
        }
    }
}

enum fx8_status fx8_track_read(const struct fx8_view *view, size_t baseline,
                               size_t most_rows, size_t most_columns,
                               struct fx8_track *track, struct fx8_error *error)
{
    *track = (struct fx8_track){
        .baseline = baseline,
        .n_rows = fx8_view_rows(view, most_rows),
        .n_columns = fx8_view_columns(view, most_columns),
        .n_products = view->header.n_products,
    };
    const size_t n_cells =
        fx8_product(track->n_products, track->n_rows, track->n_columns, 1);
    FX8_AUTO_FREE bool *wanted = NULL;
    FX8_AUTO_FREE size_t *columns = NULL;
    FX8_AUTO_FREE size_t *rows = NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(track->sums, n_cells), FX8_ITEMS(track->counts, n_cells),
        FX8_ITEMS(wanted, view->header.n_baselines),
        FX8_ITEMS(columns, view->n_channels), FX8_ITEMS(rows, view->n_times)};
    FX8_TRY(fx8_allocate_arrays(arrays, 5, "a baseline", error));
    wanted[baseline] = true;
    for (size_t c = 0; c < view->n_channels; c++)
        columns[c] = fx8_view_column(view, c, track->n_columns);
    for (size_t t = 0; t < view->n_times; t++)
        rows[t] = fx8_view_row(view, t, track->n_rows);
    struct work work = {
        .view = view, .track = track, .columns = columns, .rows = rows};
    return fx8_view_scan(view, wanted, FX8_NOTHING, take, &work, error);
}

void fx8_track_clear(struct fx8_track *track)
{
    free(track->sums);
    free(track->counts);
    *track = (struct fx8_track){0};
}

bool fx8_track_mean(const struct fx8_track *track, struct fx8_track_part part,
                    double mean[2])
{
    double sum[2] = {0.0, 0.0}, n = 0.0;
    for (size_t r = part.row; r < part.row_end; r++)
        for (size_t c = part.column; c < part.column_end; c++) {
            const size_t cell =
                (part.product * track->n_rows + r) * track->n_columns + c;
            sum[0] += track->sums[cell][0];
            sum[1] += track->sums[cell][1];
            n += track->counts[cell];
        }
    mean[0] = sum[0] / n; /* 0 / 0: NaN */
    mean[1] = sum[1] / n;
    return n > 0.0;
}

/* --- panels ------------------------------------------------------- */

/* Degrees beyond half a turn: points there do not lie on the frame. */
#define PHASE_MARGIN 8.0

static double decibels_of(const double v[2])
{
    const double amplitude = hypot(v[0], v[1]);
    return amplitude > 0.0 ? 10.0 * log10(amplitude) : NAN;
}

double fx8_phase_degrees(const double v[2])
{
    return 57.295779513082323 * atan2(v[1], v[0]);
}

/* A matrix of time and frequency: a figure of the main product in every cell.
 */
static enum fx8_status cells_panel(const struct fx8_view *view,
                                   const struct fx8_track *track,
                                   const char *what,
                                   double (*figure_of)(const double v[2]),
                                   const char *label, struct fx8_figure *figure,
                                   struct fx8_error *error)
{
    const size_t n_rows = track->n_rows, n_columns = track->n_columns;
    const size_t product = fx8_view_main_product(view);
    char baseline[FX8_LABEL_SIZE], title[FX8_WORDS_SIZE];
    fx8_view_baseline_name(view, track->baseline, baseline);
    snprintf(title, sizeof title, "%s, %s of %s", what,
             fx8_view_product_name(view, product), baseline);
    struct fx8_panel *panel = fx8_figure_panel(figure, title, "", "");
    fx8_view_frequency_axis(view, &panel->x);
    fx8_view_time_axis(view, &panel->y);
    FX8_TRY(fx8_panel_matrix(panel, n_rows, n_columns, label, error));
    panel->matrix.blank = "flagged, or no value";
    for (size_t r = 0; r < n_rows; r++)
        for (size_t c = 0; c < n_columns; c++) {
            const struct fx8_track_part part = {product, r, r + 1, c, c + 1};
            double mean[2];
            if (fx8_track_mean(track, part, mean))
                panel->matrix.values[r * n_columns + c] = figure_of(mean);
        }
    return FX8_OK;
}

enum fx8_status fx8_track_amplitude_panel(const struct fx8_view *view,
                                          const struct fx8_track *track,
                                          struct fx8_figure *figure,
                                          struct fx8_error *error)
{
    return cells_panel(view, track, "Amplitude", decibels_of, "dB of counts²",
                       figure, error);
}

/* Phase of every cell. */
static enum fx8_status phases_panel(const struct fx8_view *view,
                                    const struct fx8_track *track,
                                    struct fx8_figure *figure,
                                    struct fx8_error *error)
{
    FX8_TRY(cells_panel(view, track, "Phase", fx8_phase_degrees, "", figure,
                        error));
    struct fx8_matrix *matrix = &figure->panels[figure->n_panels - 1].matrix;
    fx8_axis_degrees(&matrix->axis, "phase / degrees");
    matrix->map = FX8_MAP_CYCLE;
    return FX8_OK;
}

struct fx8_panel *fx8_phase_panel(const struct fx8_view *view, const char *what,
                                  const char *label, bool against_time,
                                  struct fx8_figure *figure)
{
    char title[FX8_WORDS_SIZE];
    snprintf(title, sizeof title, "%s, mean over %s", what,
             against_time ? "all channels" : "all dumps");
    struct fx8_panel *panel = fx8_figure_panel(figure, title, "", "");
    fx8_axis_degrees(&panel->y, label);
    panel->y.low -= PHASE_MARGIN;
    panel->y.high += PHASE_MARGIN;
    if (against_time)
        fx8_view_time_axis(view, &panel->x);
    else
        fx8_view_frequency_axis(view, &panel->x);
    return panel;
}

enum fx8_status fx8_track_phase_panel(const struct fx8_view *view,
                                      const struct fx8_track *track,
                                      bool against_time,
                                      struct fx8_figure *figure,
                                      struct fx8_error *error)
{
    const size_t n = against_time ? track->n_rows : track->n_columns;
    char baseline[FX8_LABEL_SIZE], what[2 * FX8_LABEL_SIZE];
    fx8_view_baseline_name(view, track->baseline, baseline);
    snprintf(what, sizeof what, "Phase of %s", baseline);
    struct fx8_panel *panel =
        fx8_phase_panel(view, what, "phase / degrees", against_time, figure);
    for (size_t p = 0; p < track->n_products; p++) {
        struct fx8_series *series;
        if (!fx8_view_shows(view, p))
            continue;
        FX8_TRY(fx8_panel_series(panel, fx8_view_product_name(view, p),
                                 FX8_MARK_DOTS, n, &series, error));
        for (size_t i = 0; i < n; i++) {
            const struct fx8_track_part part =
                against_time
                    ? (struct fx8_track_part){p, i, i + 1, 0, track->n_columns}
                    : (struct fx8_track_part){p, 0, track->n_rows, i, i + 1};
            double mean[2];
            series->x[i] = fx8_cell_middle(&panel->x, i, n);
            if (fx8_track_mean(track, part, mean))
                series->y[i] = fx8_phase_degrees(mean);
        }
    }
    return FX8_OK;
}

/* --- kinds -------------------------------------------------------- */

enum fx8_status fx8_track_choose(const struct fx8_view *view, const char *what,
                                 size_t most_rows, size_t most_columns,
                                 struct fx8_track *track,
                                 struct fx8_figure *figure,
                                 struct fx8_error *error)
{
    size_t baseline;
    char name[FX8_LABEL_SIZE], title[FX8_WORDS_SIZE];
    FX8_TRY(fx8_pairs_choose(view, &baseline, error));
    FX8_TRY(
        fx8_track_read(view, baseline, most_rows, most_columns, track, error));
    fx8_view_baseline_name(view, baseline, name);
    snprintf(title, sizeof title, "%s %s%s", what, name,
             view->baseline == FX8_NOTHING ? ", the strongest baseline" : "");
    fx8_view_describe(view, title, track->n_rows, track->n_columns,
                      track->n_not_finite, figure);
    return FX8_OK;
}

enum fx8_status fx8_plot_waterfall(const struct fx8_view *view,
                                   struct fx8_figure *figure,
                                   struct fx8_error *error)
{
    FX8_AUTO(fx8_track_clear) struct fx8_track track = {0};
    FX8_TRY(fx8_track_choose(view, "waterfall of", FX8_MOST_ROWS,
                             FX8_MOST_COLUMNS, &track, figure, error));
    FX8_TRY(fx8_track_amplitude_panel(view, &track, figure, error));
    return phases_panel(view, &track, figure, error);
}

enum fx8_status fx8_plot_phase(const struct fx8_view *view,
                               struct fx8_figure *figure,
                               struct fx8_error *error)
{
    FX8_AUTO(fx8_track_clear) struct fx8_track track = {0};
    FX8_TRY(fx8_track_choose(view, "phase of", FX8_MOST_TIMES, FX8_MOST_COLUMNS,
                             &track, figure, error));
    FX8_TRY(fx8_track_phase_panel(view, &track, false, figure, error));
    return fx8_track_phase_panel(view, &track, true, figure, error);
}
