/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * levels.c -- levels of a recording: the histogram of the samples of every
 * input, and which of them look wrong.
 */
#include <math.h>
#include <stdio.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"
#include "correlator/run/survey.h"
#include "correlator/run/verdict.h"

/* Most inputs whose histograms are lines; more are rows of a matrix. */
#define MOST_LINES 8

/* Values of 8 bits. */
#define N_VALUES 256

/* A recording that was looked at. */
struct work {
    const struct fx8_view *view;
    const struct fx8_observation *o;
    struct fx8_survey survey;
};

static void clear(struct work *work)
{
    fx8_survey_clear(&work->survey);
}

static void name_input(const void *context, size_t input,
                       char text[FX8_INPUT_NAME_SIZE])
{
    const struct work *work = context;
    fx8_input_name(work->o, work->view->request->settings->input.y_first, input,
                   text);
}

static enum fx8_status survey(struct work *work, struct fx8_error *error)
{
    const struct fx8_view *view = work->view;
    const struct fx8_settings *settings = view->request->settings;
    struct fx8_survey_range range = {.has_histograms = true};
    FX8_TRY(fx8_supply(settings, &view->reader->observation,
                       view->request->warn, NULL, error));
    FX8_TRY(fx8_supply_range(settings, &view->reader->observation, view->path,
                             &range.first_sample, &range.n_samples,
                             view->request->warn, NULL, error));
    return fx8_survey_run(view->reader, settings, &range, &work->survey, error);
}

static enum fx8_status name_inputs(const struct work *work,
                                   struct fx8_axis *axis,
                                   struct fx8_error *error)
{
    FX8_TRY(fx8_axis_names(axis, work->survey.n_inputs, error));
    for (size_t i = 0; i < work->survey.n_inputs; i++) {
        char name[FX8_INPUT_NAME_SIZE];
        name_input(work, i, name);
        snprintf(axis->names[i], FX8_LABEL_SIZE, "%.90s", name);
    }
    return FX8_OK;
}

static struct fx8_sample_figures figures_of(const struct work *work,
                                            size_t input)
{
    return fx8_sample_sums_figures(&work->survey.sums[input],
                                   work->o->is_complex ? 2 : 1);
}

/* --- panels ------------------------------------------------------- */

/* Bars of the inputs that look right, or wrong. */
static enum fx8_status add_levels(const struct work *work, bool is_bad,
                                  struct fx8_panel *panel,
                                  struct fx8_error *error)
{
    const size_t n = work->survey.n_inputs;
    struct fx8_series *series;
    if (is_bad && fx8_remarks_count(work->survey.remarks, n) == 0)
        return FX8_OK;
    FX8_TRY(fx8_panel_series(panel, is_bad ? "looks wrong" : "looks right",
                             FX8_MARK_BARS, n, &series, error));
    FX8_TRY(fx8_allocate(n, sizeof *series->labels, "labels", &series->labels,
                         error));
    series->is_bad = is_bad;
    for (size_t i = 0; i < n; i++) {
        char words[FX8_INPUT_NAME_SIZE];
        if ((work->survey.remarks[i] != 0) != is_bad)
            continue;
        fx8_remarks_list(work->survey.remarks[i], words);
        snprintf(series->labels[i], FX8_LABEL_SIZE, "%.90s", words);
        series->x[i] = (double)i;
        series->y[i] = fmax(figures_of(work, i).rms_lsb, 0.0); /* NaN: 0 */
    }
    return FX8_OK;
}

static enum fx8_status levels_panel(const struct work *work,
                                    struct fx8_figure *figure,
                                    struct fx8_error *error)
{
    struct fx8_panel *panel =
        fx8_figure_panel(figure, "Level of each input", "input", "rms / LSB");
    FX8_TRY(name_inputs(work, &panel->x, error));
    FX8_TRY(add_levels(work, false, panel, error));
    FX8_TRY(add_levels(work, true, panel, error));
    panel->y.low = 0.0;
    return FX8_OK;
}

/* Share of each value in an input; those that do not occur remain NaN. */
static void put_histogram(const struct work *work, size_t input, double *shares)
{
    double sum = 0.0;
    for (size_t v = 0; v < N_VALUES; v++)
        sum += (double)work->survey.histograms[input][v];
    for (size_t v = 0; v < N_VALUES; v++)
        if (work->survey.histograms[input][v] > 0)
            shares[v] = 100.0 * (double)work->survey.histograms[input][v] / sum;
}

static enum fx8_status histogram_panel(const struct work *work,
                                       struct fx8_figure *figure,
                                       struct fx8_error *error)
{
    const size_t n = work->survey.n_inputs;
    struct fx8_panel *panel =
        fx8_figure_panel(figure, "Values of the samples of each input",
                         "value / LSB", "share of the values / %");
    snprintf(panel->note, sizeof panel->note, "no samples");
    panel->x.low = -128.5;
    panel->x.high = 127.5;
    panel->x.step = 32.0;
    if (n > MOST_LINES) {
        snprintf(panel->y.label, FX8_LABEL_SIZE, "input");
        FX8_TRY(name_inputs(work, &panel->y, error));
        FX8_TRY(fx8_panel_matrix(panel, n, N_VALUES, "share / %", error));
        panel->matrix.axis.scale = FX8_SCALE_LOG;
        for (size_t i = 0; i < n; i++)
            put_histogram(work, i, panel->matrix.values + N_VALUES * i);
        return FX8_OK;
    }
    panel->y.scale = FX8_SCALE_LOG;
    for (size_t i = 0; i < n; i++) {
        struct fx8_series *series;
        char name[FX8_INPUT_NAME_SIZE];
        name_input(work, i, name);
        FX8_TRY(fx8_panel_series(panel, name, FX8_MARK_LINE, N_VALUES, &series,
                                 error));
        series->is_bad = work->survey.remarks[i] != 0;
        for (int v = 0; v < N_VALUES; v++)
            series->x[v] = v - 128;
        put_histogram(work, i, series->y);
    }
    return FX8_OK;
}

/* Missing and clipped shares of the inputs. */
static enum fx8_status shares_panel(const struct work *work,
                                    struct fx8_figure *figure,
                                    struct fx8_error *error)
{
    const size_t n = work->survey.n_inputs;
    struct fx8_panel *panel =
        fx8_figure_panel(figure,
                         "Missing and clipped samples of each input, of those "
                         "read",
                         "input", "share / %");
    FX8_TRY(name_inputs(work, &panel->x, error));
    for (int k = 0; k < 2; k++) {
        struct fx8_series *series;
        FX8_TRY(fx8_panel_series(panel, k == 0 ? "missing" : "clipped",
                                 FX8_MARK_DOTS, n, &series, error));
        for (size_t i = 0; i < n; i++) {
            const struct fx8_sample_figures f = figures_of(work, i);
            series->x[i] = (double)i;
            series->y[i] = 100.0 * (k == 0 ? f.missing_share : f.clipped_share);
        }
    }
    panel->y.low = 0.0;
    return FX8_OK;
}

/* The remarks on all inputs of an antenna. */
static unsigned remarks_of(const struct work *work, size_t antenna)
{
    const size_t n_pols = work->o->n_polarizations;
    unsigned remarks = 0;
    for (size_t band = 0; band < work->o->n_bands; band++)
        for (size_t pol = 0; pol < n_pols; pol++)
            remarks |=
                work->survey
                    .remarks[(band * work->o->n_antennas + antenna) * n_pols +
                             pol];
    return remarks;
}

/* Where the antennas are, those with a bad input in the warning colour. */
static enum fx8_status positions_panel(const struct work *work,
                                       struct fx8_figure *figure,
                                       struct fx8_error *error)
{
    const struct fx8_observation *o = work->o;
    struct fx8_panel *panel = fx8_figure_panel(
        figure, "Positions of the antennas", "east / m", "north / m");
    snprintf(panel->note, sizeof panel->note,
             "no antenna positions are recorded");
    panel->is_square = true;
    for (int bad = 0; bad < 2; bad++) {
        struct fx8_series *series;
        FX8_TRY(fx8_panel_series(panel, "", FX8_MARK_DOTS, o->n_antennas,
                                 &series, error));
        FX8_TRY(fx8_allocate(o->n_antennas, sizeof *series->labels, "labels",
                             &series->labels, error));
        series->is_bad = bad == 1;
        for (size_t a = 0; a < o->n_antennas; a++) {
            const struct fx8_antenna *antenna = fx8_observation_antenna(o, a);
            const unsigned remarks = remarks_of(work, a);
            if (antenna == NULL || (remarks != 0) != series->is_bad)
                continue;
            snprintf(series->labels[a], FX8_LABEL_SIZE, "%s", antenna->name);
            series->x[a] = antenna->enu_m[0];
            series->y[a] = antenna->enu_m[1];
        }
    }
    return FX8_OK;
}

/* --- the kinds ---------------------------------------------------- */

static enum fx8_status begin(struct work *work, const char *what,
                             struct fx8_figure *figure, struct fx8_error *error)
{
    const struct fx8_view *view = work->view;
    const struct fx8_observation *o = work->o;
    FX8_TRY(survey(work, error));
    const double rate_hz =
        o->sample_rate.numerator_hz > 0 ? fx8_rate_hz(o->sample_rate) : NAN;
    fx8_view_title(view, what, figure);
    snprintf(figure->subtitle, sizeof figure->subtitle,
             "%.60s%s%zu %s, %.6g million samples each at %.6g MHz; %.3g %% "
             "of them read",
             o->telescope, o->telescope[0] != '\0' ? ", " : "",
             FX8_COUNTED(work->survey.n_inputs, "input", "inputs"),
             1e-6 * (double)o->n_samples, 1e-6 * rate_hz,
             100.0 * (double)work->survey.n_samples / (double)o->n_samples);
    figure->is_bad =
        fx8_remarks_count(work->survey.remarks, work->survey.n_inputs) > 0;
    return fx8_verdict(work->survey.remarks, work->survey.n_inputs, name_input,
                       work, &figure->verdict, error);
}

enum fx8_status fx8_plot_levels(const struct fx8_view *view,
                                struct fx8_figure *figure,
                                struct fx8_error *error)
{
    FX8_AUTO(clear)
    struct work work = {.view = view, .o = &view->reader->observation};
    FX8_TRY(begin(&work, "levels of the samples", figure, error));
    FX8_TRY(histogram_panel(&work, figure, error));
    return levels_panel(&work, figure, error);
}

enum fx8_status fx8_levels_overview(const struct fx8_view *view,
                                    struct fx8_figure *figure,
                                    struct fx8_error *error)
{
    FX8_AUTO(clear)
    struct work work = {.view = view, .o = &view->reader->observation};
    FX8_TRY(begin(&work, "overview", figure, error));
    FX8_TRY(levels_panel(&work, figure, error));
    FX8_TRY(histogram_panel(&work, figure, error));
    FX8_TRY(shares_panel(&work, figure, error));
    return positions_panel(&work, figure, error);
}
