/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pairs_panels.c -- panels of all inputs and of all pairs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"
#include "correlator/run/sample_sums.h"
#include "correlator/run/verdict.h"

/* Most antennas whose spectra are lines; more are rows of a matrix. */
#define MOST_LINES 12

static const char *const letters[] = {"X", "Y"};

static double decibels(double power)
{
    return power > 0.0 ? 10.0 * log10(power) : NAN;
}

static size_t count_chosen(const struct fx8_view *view)
{
    size_t n = 0;
    for (size_t a = 0; a < view->header.n_antennas; a++)
        n += view->is_chosen[a];
    return n;
}

/* Name the chosen antennas on an axis. */
static enum fx8_status name_antennas(const struct fx8_view *view,
                                     struct fx8_axis *axis,
                                     struct fx8_error *error)
{
    const struct fx8_uvh5_header *h = &view->header;
    FX8_TRY(fx8_axis_names(axis, count_chosen(view), error));
    for (size_t a = 0, i = 0; a < h->n_antennas; a++)
        if (view->is_chosen[a])
            snprintf(axis->names[i++], FX8_LABEL_SIZE, "%s",
                     h->antenna_names[a]);
    return FX8_OK;
}

/* --- spectra ------------------------------------------------------ */

static double power_at(const struct fx8_pairs *pairs, size_t input, size_t c)
{
    const size_t at = input * pairs->n_columns + c;
    return decibels(pairs->power[at] / pairs->n_power[at]);
}

static void put_spectrum(const struct fx8_pairs *pairs, size_t input,
                         double *values)
{
    for (size_t c = 0; c < pairs->n_columns; c++)
        values[c] = power_at(pairs, input, c);
}

/* Least and greatest power of an input in dB; NaN: it has none. */
static void find_range(const struct fx8_pairs *pairs, size_t input,
                       struct fx8_axis *range)
{
    for (size_t c = 0; c < pairs->n_columns; c++) {
        const double value = power_at(pairs, input, c);
        range->low = fmin(range->low, value); /* of NaN: the other */
        range->high = fmax(range->high, value);
    }
}

/* If inputs that look wrong go beyond the others, scale an axis by the others;
 * the title says how many do. */
static void scale_spectra(const struct fx8_view *view,
                          const struct fx8_pairs *pairs, size_t pol,
                          struct fx8_panel *panel, struct fx8_axis *axis)
{
    const struct fx8_axis none = {.low = NAN, .high = NAN};
    struct fx8_axis good = none;
    size_t n_beyond = 0;
    for (size_t a = 0; a < view->header.n_antennas; a++)
        if (view->is_chosen[a] && pairs->remarks[2 * a + pol] == 0)
            find_range(pairs, 2 * a + pol, &good);
    const double margin = 0.06 * fmax(good.high - good.low, 1.0);
    for (size_t a = 0; a < view->header.n_antennas; a++) {
        struct fx8_axis range = none;
        if (view->is_chosen[a] && pairs->remarks[2 * a + pol] != 0)
            find_range(pairs, 2 * a + pol, &range);
        n_beyond +=
            range.low < good.low - margin || range.high > good.high + margin;
    }
    if (n_beyond == 0)
        return;
    axis->low = good.low - margin;
    axis->high = good.high + margin;
    snprintf(panel->title + strlen(panel->title),
             sizeof panel->title - strlen(panel->title),
             "; %zu %s that %s wrong %s beyond the scale",
             FX8_COUNTED(n_beyond, "input", "inputs"),
             FX8_NOUN(n_beyond, "looks", "look"),
             FX8_NOUN(n_beyond, "goes", "go"));
}

enum fx8_status fx8_pairs_spectra_panel(const struct fx8_view *view,
                                        const struct fx8_pairs *pairs,
                                        size_t pol, struct fx8_figure *figure,
                                        struct fx8_error *error)
{
    const size_t n = pairs->n_columns, n_antennas = count_chosen(view);
    size_t row = 0;
    char title[FX8_LABEL_SIZE];
    snprintf(title, sizeof title, "Spectra, %s", letters[pol]);
    struct fx8_panel *panel =
        fx8_figure_panel(figure, title, "", "power / dB of counts²");
    fx8_view_frequency_axis(view, &panel->x);
    if (n_antennas > MOST_LINES) {
        snprintf(panel->y.label, sizeof panel->y.label, "antenna");
        FX8_TRY(name_antennas(view, &panel->y, error));
        FX8_TRY(fx8_panel_matrix(panel, n_antennas, n, "power / dB of counts²",
                                 error));
    }
    for (size_t a = 0; a < view->header.n_antennas; a++) {
        struct fx8_series *series;
        if (!view->is_chosen[a])
            continue;
        if (n_antennas > MOST_LINES) {
            put_spectrum(pairs, 2 * a + pol, panel->matrix.values + n * row++);
            continue;
        }
        FX8_TRY(fx8_panel_series(panel, view->header.antenna_names[a],
                                 FX8_MARK_LINE, n, &series, error));
        series->is_bad = pairs->remarks[2 * a + pol] != 0;
        for (size_t c = 0; c < n; c++)
            series->x[c] = fx8_cell_middle(&panel->x, c, n);
        put_spectrum(pairs, 2 * a + pol, series->y);
    }
    scale_spectra(view, pairs, pol, panel,
                  n_antennas > MOST_LINES ? &panel->matrix.axis : &panel->y);
    return FX8_OK;
}

/* Shares of the autos that are flagged, and of the spectra that are clipped. */
static enum fx8_status flags_panel(const struct fx8_view *view,
                                   const struct fx8_pairs *pairs,
                                   struct fx8_figure *figure,
                                   struct fx8_error *error)
{
    const size_t n = pairs->n_columns;
    const size_t n_inputs = 2 * view->header.n_antennas;
    FX8_AUTO_FREE double *planned = NULL;
    struct fx8_series *flagged, *clipped;
    struct fx8_panel *panel = fx8_figure_panel(
        figure, "Flagged autos and clipped spectra, of all inputs", "",
        "share / %");
    FX8_TRY(fx8_allocate(n, sizeof *planned, "flags", &planned, error));
    fx8_view_frequency_axis(view, &panel->x);
    for (size_t c = 0; c < view->n_channels; c++)
        planned[fx8_view_column(view, c, n)] += 1.0;
    FX8_TRY(
        fx8_panel_series(panel, "flagged", FX8_MARK_LINE, n, &flagged, error));
    for (size_t c = 0; c < n; c++) {
        double n_good = 0.0, n_all = 0.0;
        for (size_t i = 0; i < n_inputs; i++) {
            n_good += pairs->n_power[i * n + c];
            n_all += pairs->n_all[i] * planned[c] / (double)view->n_channels;
        }
        flagged->x[c] = fx8_cell_middle(&panel->x, c, n);
        flagged->y[c] = n_all > 0.0 ? 100.0 * (1.0 - n_good / n_all) : NAN;
    }
    if (pairs->clips == NULL)
        return FX8_OK;
    FX8_TRY(
        fx8_panel_series(panel, "clipped", FX8_MARK_LINE, n, &clipped, error));
    for (size_t c = 0; c < n; c++) {
        double sum = 0.0, n_sum = 0.0;
        for (size_t i = 0; i < n_inputs; i++)
            if (isfinite(pairs->clips[i * n + c])) {
                sum += pairs->clips[i * n + c];
                n_sum += 1.0;
            }
        clipped->x[c] = fx8_cell_middle(&panel->x, c, n);
        clipped->y[c] = 100.0 * sum / n_sum;
    }
    return FX8_OK;
}

/* Whether the share of good autos in a channel is not the same in all dumps. */
static bool flags_differ(const struct fx8_pairs *pairs)
{
    for (size_t c = 0; c < pairs->n_columns; c++) {
        double before = NAN;
        for (size_t r = 0; r < pairs->n_rows; r++) {
            const size_t at = r * pairs->n_columns + c;
            const double good = pairs->n_good[at] / pairs->n_planned[at];
            if (isnan(good)) /* no dump or channel there */
                continue;
            if (!isnan(before) && good != before)
                return true;
            before = good;
        }
    }
    return false;
}

enum fx8_status fx8_pairs_flagged_panel(const struct fx8_view *view,
                                        const struct fx8_pairs *pairs,
                                        struct fx8_figure *figure,
                                        struct fx8_error *error)
{
    const size_t n_rows = pairs->n_rows, n_columns = pairs->n_columns;
    double n_live = 0.0;
    if (!flags_differ(pairs))
        return FX8_OK; /* the spectra show them */
    for (size_t i = 0; i < 2 * view->header.n_antennas; i++)
        n_live += !isnan(fx8_pairs_level(pairs, i));
    struct fx8_panel *panel = fx8_figure_panel(
        figure, "Flagged autos, of inputs with unflagged data", "", "");
    fx8_view_frequency_axis(view, &panel->x);
    fx8_view_time_axis(view, &panel->y);
    FX8_TRY(fx8_panel_matrix(panel, n_rows, n_columns, "share / %", error));
    panel->matrix.map = FX8_MAP_SHARE;
    panel->matrix.blank = "none flagged";
    panel->matrix.axis.low = 0.0;
    panel->matrix.axis.high = 100.0;
    for (size_t i = 0; i < n_rows * n_columns; i++)
        panel->matrix.values[i] =
            100.0 - 100.0 * pairs->n_good[i] / (n_live * pairs->n_planned[i]);
    return FX8_OK;
}

enum fx8_status fx8_plot_spectrum(const struct fx8_view *view,
                                  struct fx8_figure *figure,
                                  struct fx8_error *error)
{
    FX8_AUTO(fx8_pairs_clear) struct fx8_pairs pairs = {0};
    const size_t n_columns = fx8_view_columns(view, FX8_MOST_COLUMNS);
    FX8_TRY(fx8_pairs_read(view, false, n_columns, FX8_NOTHING, &pairs, error));
    fx8_view_describe(view, "spectra of the inputs", 1, n_columns,
                      pairs.n_not_finite, figure);
    for (size_t p = 0; p < view->header.n_products; p++)
        if (fx8_view_shows(view, p))
            FX8_TRY(fx8_pairs_spectra_panel(
                view, &pairs, fx8_view_pol_1(view, p), figure, error));
    FX8_TRY(flags_panel(view, &pairs, figure, error));
    return fx8_pairs_flagged_panel(view, &pairs, figure, error);
}

/* --- levels ------------------------------------------------------- */

/* Whether an input is a point among those that look right, or wrong. */
static bool is_point(const struct fx8_view *view, const struct fx8_pairs *pairs,
                     size_t input, bool is_bad)
{
    return view->is_chosen[input / 2] && fx8_pairs_is_shown(pairs, input) &&
           (pairs->remarks[input] != 0) == is_bad;
}

/* Inputs of one polarisation that look right, or that look wrong. */
static enum fx8_status add_levels(const struct fx8_view *view,
                                  const struct fx8_pairs *pairs, size_t pol,
                                  bool is_bad, struct fx8_panel *panel,
                                  struct fx8_error *error)
{
    const size_t n = panel->x.n_names;
    struct fx8_series *series;
    char name[FX8_LABEL_SIZE];
    size_t place = 0, n_points = 0;
    for (size_t a = 0; a < view->header.n_antennas; a++)
        n_points += is_point(view, pairs, 2 * a + pol, is_bad);
    if (n_points == 0)
        return FX8_OK;
    snprintf(name, sizeof name, "%s%s", letters[pol],
             is_bad ? ", looks wrong" : "");
    FX8_TRY(fx8_panel_series(panel, name, FX8_MARK_DOTS, n, &series, error));
    FX8_TRY(fx8_allocate(n, sizeof *series->labels, "labels", &series->labels,
                         error));
    series->is_bad = is_bad;
    for (size_t a = 0; a < view->header.n_antennas; a++) {
        const size_t input = 2 * a + pol;
        const size_t i = place;
        const double level = fx8_pairs_level(pairs, input);
        place += view->is_chosen[a];
        if (!is_point(view, pairs, input, is_bad))
            continue;
        char words[FX8_INPUT_NAME_SIZE];
        fx8_remarks_list(pairs->remarks[input], words);
        snprintf(series->labels[i], FX8_LABEL_SIZE, "%.90s",
                 is_bad ? words : "looks right");
        /* side by side, or one would hide the other */
        series->x[i] = (double)i + (pol == 0 ? -0.1 : 0.1);
        /* an input without power lies at the foot of the frame */
        series->y[i] = level > 0.0 ? decibels(level) : -INFINITY;
    }
    return FX8_OK;
}

enum fx8_status fx8_pairs_levels_panel(const struct fx8_view *view,
                                       const struct fx8_pairs *pairs,
                                       struct fx8_figure *figure,
                                       struct fx8_error *error)
{
    const double median = decibels(pairs->median);
    struct fx8_panel *panel =
        fx8_figure_panel(figure, "Level of each input, all channels", "antenna",
                         "power / dB of counts²");
    FX8_TRY(name_antennas(view, &panel->x, error));
    for (size_t i = 0; i < 4; i++)
        FX8_TRY(add_levels(view, pairs, i % 2, i / 2 == 1, panel, error));
    fx8_panel_limit(panel, false, median, "median");
    fx8_panel_limit(panel, false, median - 20.0 * log10(FX8_MOST_RATIO),
                    "weak below");
    fx8_panel_limit(panel, false, median + 20.0 * log10(FX8_MOST_RATIO),
                    "strong above");
    panel->y.low = median - 13.0;
    panel->y.high = median + 13.0;
    return FX8_OK;
}

/* --- coherence ---------------------------------------------------- */

enum fx8_status fx8_pairs_matrix_panel(const struct fx8_view *view,
                                       const struct fx8_pairs *pairs,
                                       size_t product,
                                       struct fx8_figure *figure,
                                       struct fx8_error *error)
{
    const size_t other = fx8_view_mirrored(view, product);
    const size_t n = count_chosen(view);
    size_t place = 0;
    FX8_AUTO_FREE size_t *places = NULL;
    char title[FX8_LABEL_SIZE];
    snprintf(title, sizeof title, "Coherence of all pairs, %s",
             fx8_view_product_name(view, product));
    struct fx8_panel *panel =
        fx8_figure_panel(figure, title, "antenna", "antenna");
    panel->is_square = true;
    FX8_TRY(name_antennas(view, &panel->x, error));
    FX8_TRY(name_antennas(view, &panel->y, error));
    FX8_TRY(fx8_panel_matrix(panel, n, n, "mean of |ρ|", error));
    FX8_TRY(fx8_allocate(view->header.n_antennas, sizeof *places, "places",
                         &places, error));
    for (size_t a = 0; a < view->header.n_antennas; a++)
        places[a] = view->is_chosen[a] ? place++ : 0;
    for (size_t b = 0; b < view->header.n_baselines; b++) {
        const size_t i = places[view->index_1[b]];
        const size_t k = places[view->index_2[b]];
        if (!fx8_view_is_cross(view, b))
            continue;
        panel->matrix.values[k * n + i] =
            fx8_pairs_coherence(view, pairs, b, product);
        if (other != FX8_NOTHING)
            panel->matrix.values[i * n + k] =
                fx8_pairs_coherence(view, pairs, b, other);
    }
    if (n < 2)
        snprintf(panel->note, sizeof panel->note, "one antenna: no pairs");
    panel->matrix.axis.low = 0.0;
    return FX8_OK;
}

/* Coherence against the lengths of the baselines. */
static enum fx8_status lengths_panel(const struct fx8_view *view,
                                     const struct fx8_pairs *pairs,
                                     size_t product, struct fx8_figure *figure,
                                     struct fx8_error *error)
{
    const size_t n = view->header.n_baselines;
    struct fx8_series *series;
    char title[FX8_LABEL_SIZE];
    snprintf(title, sizeof title, "Coherence of all pairs by length, %s",
             fx8_view_product_name(view, product));
    struct fx8_panel *panel = fx8_figure_panel(
        figure, title, "length of the baseline / m", "mean of |ρ|");
    FX8_TRY(fx8_panel_series(panel, "", FX8_MARK_DOTS, n, &series, error));
    FX8_TRY(fx8_allocate(n, sizeof *series->labels, "labels", &series->labels,
                         error));
    for (size_t b = 0; b < n; b++) {
        const double *uvw = view->header.uvw_m + 3 * b;
        if (!fx8_view_is_cross(view, b))
            continue;
        series->x[b] = hypot(hypot(uvw[0], uvw[1]), uvw[2]);
        series->y[b] = fx8_pairs_coherence(view, pairs, b, product);
        fx8_view_baseline_name(view, b, series->labels[b]);
    }
    panel->y.low = 0.0;
    return FX8_OK;
}

enum fx8_status fx8_plot_matrix(const struct fx8_view *view,
                                struct fx8_figure *figure,
                                struct fx8_error *error)
{
    FX8_AUTO(fx8_pairs_clear) struct fx8_pairs pairs = {0};
    if (view->request->by_length && view->header.uvw_m == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: --sort: length: expected antenna, as a quick-look "
                        "has no positions",
                        view->path);
    FX8_TRY(fx8_pairs_read(view, true, 1, FX8_NOTHING, &pairs, error));
    fx8_view_describe(view, "coherence of all pairs", view->n_times,
                      view->n_channels, pairs.n_not_finite, figure);
    figure->n_columns = view->request->by_length ? 1 : 2;
    for (size_t p = 0; p < view->header.n_products; p++) {
        if (!fx8_view_shows(view, p))
            continue;
        if (view->request->by_length)
            FX8_TRY(lengths_panel(view, &pairs, p, figure, error));
        else
            FX8_TRY(fx8_pairs_matrix_panel(view, &pairs, p, figure, error));
    }
    return FX8_OK;
}
