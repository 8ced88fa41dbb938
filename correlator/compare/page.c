/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.c -- the figures on the page of a comparison, each with a caption; every
 * mark carries its numbers as text.
 */
#include <math.h>
#include <stdarg.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/compare/figures.h"
#include "correlator/plot/figure.h"
#include "correlator/plot/svg.h"

/* Most marks per figure: the page of any array stays below 0.5 MB. */
#define MAX_BASELINES ((size_t)300)
#define MAX_CHANNELS  ((size_t)256)
#define MAX_INPUTS    ((size_t)128)

/* Sigmas within which a deviation is chance. */
#define CHANCE 5.0

/* Size of a figure in points: as wide as a telephone, so that its texts can be
 * read there. */
#define WIDTH  400.0
#define HEIGHT 290.0

/* Room for a caption, with its end. */
#define CAPTION_SIZE 600

/* Set a caption; if marks cover `step` neighbours, it goes on with `more`. */
static void FX8_PRINTF(4, 5)
    put_caption(char *caption, size_t step, const char *words, const char *more,
                ...)
{
    const size_t n = (size_t)snprintf(caption, CAPTION_SIZE, "%s", words);
    va_list arguments;
    va_start(arguments, more);
    if (step > 1 && n < CAPTION_SIZE)
        vsnprintf(caption + n, CAPTION_SIZE - n, more, arguments);
    va_end(arguments);
}

/* Neighbours to combine so that at most `most` of `n` remain. */
static size_t step_of(size_t n, size_t most)
{
    return n <= most ? 1 : (n + most - 1) / most;
}

static size_t end_of(size_t first, size_t step, size_t n)
{
    return first + step < n ? first + step : n;
}

/* --- marks -------------------------------------------------------- */

/* Add a series of marks, each with the text that put_mark() gives it. */
static enum fx8_status add_marks(struct fx8_panel *panel, const char *name,
                                 enum fx8_mark mark, size_t n,
                                 struct fx8_series **series,
                                 struct fx8_error *error)
{
    FX8_TRY(fx8_panel_series(panel, name, mark, n, series, error));
    (*series)->has_own_texts = true;
    return fx8_allocate(n, sizeof *(*series)->labels, "labels",
                        &(*series)->labels, error);
}

/* Add a line without texts. */
static enum fx8_status add_line(struct fx8_panel *panel, const char *name,
                                size_t n, struct fx8_series **line,
                                struct fx8_error *error)
{
    FX8_TRY(fx8_panel_series(panel, name, FX8_MARK_LINE, n, line, error));
    (*line)->has_own_texts = true;
    return FX8_OK;
}

static void FX8_PRINTF(5, 6)
    put_mark(struct fx8_series *series, size_t i, double x, double y,
             const char *format, ...)
{
    series->x[i] = x;
    series->y[i] = y;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(series->labels[i], sizeof series->labels[i], format, arguments);
    va_end(arguments);
}

/* --- measured against predicted ---------------------------------- */

static void mark_baseline(const struct fx8_comparison *comparison,
                          struct fx8_series *series, size_t i, size_t baseline)
{
    const struct fx8_compare_figures figures =
        fx8_compare_baseline_figures(comparison, baseline);
    char name[FX8_COMPARE_NAME_SIZE];
    fx8_compare_baseline_name(comparison, baseline, name);
    put_mark(series, i, figures.predicted, figures.measured,
             "baseline %s: measured %.6g, predicted %.6g, ratio %.6g", name,
             figures.measured, figures.predicted, figures.ratio);
}

/* Lines of measured = slope x predicted from `low` to `high`; of many points,
 * as one axis alone may be logarithmic. */
static enum fx8_status add_slopes(struct fx8_panel *panel, const char *name,
                                  const double *slopes, size_t n, double low,
                                  double high, struct fx8_error *error)
{
    enum { POINTS = 51 };
    struct fx8_series *line;
    FX8_TRY(add_line(panel, name, n * (POINTS + 1), &line, error));
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < POINTS; i++) { /* the last stays NaN: a gap */
            const size_t at = k * (POINTS + 1) + i;
            line->x[at] = low + (high - low) * (double)i / (POINTS - 1);
            line->y[at] = slopes[k] * line->x[at];
        }
    return FX8_OK;
}

/* Add the worst baselines if chance does not explain them, also those that are
 * not among the baselines drawn. */
static enum fx8_status add_far_baselines(
    const struct fx8_comparison *comparison, struct fx8_panel *panel,
    struct fx8_error *error)
{
    size_t worst[FX8_COMPARE_WORST];
    size_t n = fx8_compare_worst(comparison, FX8_COMPARE_BASELINE, worst);
    struct fx8_series *series;
    char name[FX8_LABEL_SIZE];
    while (n > 0 &&
           fabs(fx8_compare_baseline_figures(comparison, worst[n - 1]).sigmas) <
               CHANCE)
        n--;
    if (n == 0)
        return FX8_OK;
    snprintf(name, sizeof name, "beyond %g sigma", CHANCE);
    FX8_TRY(add_marks(panel, name, FX8_MARK_DOTS, n, &series, error));
    series->is_bad = true;
    for (size_t i = 0; i < n; i++)
        mark_baseline(comparison, series, i, worst[i]);
    return FX8_OK;
}

static enum fx8_status fill_baselines(const struct fx8_comparison *comparison,
                                      struct fx8_panel *panel, char *caption,
                                      struct fx8_error *error)
{
    static const double slopes[] = {1.0, FX8_COMPARE_RATIO_LOW,
                                    FX8_COMPARE_RATIO_HIGH};
    const size_t n = comparison->shape.n_baselines;
    const size_t step = step_of(n, MAX_BASELINES);
    double low = INFINITY, high = -INFINITY;
    char name[FX8_LABEL_SIZE];
    struct fx8_series *series;
    for (size_t b = 0; b < n; b++) {
        const double predicted =
            fx8_compare_baseline_figures(comparison, b).predicted;
        low = fmin(low, predicted); /* fmin, fmax skip NaN */
        high = fmax(high, predicted);
    }
    if (!(high >= low))
        return FX8_OK; /* nothing is predicted; the page says so */
    /* a single baseline would leave the lines without length */
    low *= 0.98;
    high *= 1.02;
    snprintf(name, sizeof name, "%.0f %% off",
             100.0 * (FX8_COMPARE_RATIO_HIGH - 1.0));
    FX8_TRY(add_slopes(panel, "as predicted", slopes, 1, low, high, error));
    FX8_TRY(add_slopes(panel, name, slopes + 1, 2, low, high, error));
    FX8_TRY(add_marks(panel, "baselines", FX8_MARK_DOTS, (n + step - 1) / step,
                      &series, error));
    for (size_t i = 0; i < series->n; i++)
        mark_baseline(comparison, series, i, i * step);
    FX8_TRY(add_far_baselines(comparison, panel, error));
    panel->x.may_be_log = panel->y.may_be_log = true;
    put_caption(
        caption, step,
        "Each mark is a baseline, over all its products, channels and dumps. "
        "On the line \"as predicted\" 8 bits cost what they must.",
        " One of %zu baselines is drawn, and the worst, if beyond chance.",
        step);
    return FX8_OK;
}

/* --- by channel -------------------------------------------------- */

/* Channels [first, last) as one. */
static struct fx8_compare_figures combine(
    const struct fx8_comparison *comparison, size_t first, size_t last,
    double *frequency_mhz)
{
    struct fx8_compare_sums sums = {0};
    *frequency_mhz = 0.0;
    for (size_t c = first; c < last; c++) {
        fx8_compare_add_sums(&sums, &comparison->channels[c]);
        *frequency_mhz +=
            1e-6 * comparison->frequencies_hz[c] / (double)(last - first);
    }
    return fx8_compare_figures_of(comparison, &sums, FX8_COMPARE_CHANNEL);
}

static void mark_channels(const struct fx8_comparison *comparison,
                          struct fx8_series *series, size_t i, size_t first,
                          size_t end)
{
    double mhz;
    const struct fx8_compare_figures figures =
        combine(comparison, first, end, &mhz);
    char range[64], prediction[64] = "";
    snprintf(range, sizeof range, first + 1 == end ? "%zu" : "%zu to %zu",
             first, end - 1);
    if (!isnan(figures.predicted))
        snprintf(prediction, sizeof prediction, ", predicted %.6g, ratio %.6g",
                 figures.predicted, figures.ratio);
    put_mark(series, i, mhz, figures.measured,
             "%s %s, %.9g MHz: measured %.6g%s",
             FX8_NOUN(end - first, "channel", "channels"), range, mhz,
             figures.measured, prediction);
}

static enum fx8_status fill_channels(const struct fx8_comparison *comparison,
                                     struct fx8_panel *panel, char *caption,
                                     struct fx8_error *error)
{
    const size_t n = comparison->shape.n_channels;
    const size_t step = step_of(n, MAX_CHANNELS);
    const size_t n_marks = (n + step - 1) / step;
    struct fx8_series *series;
    FX8_TRY(
        add_marks(panel, "measured", FX8_MARK_DOTS, n_marks, &series, error));
    for (size_t i = 0; i < n_marks; i++)
        mark_channels(comparison, series, i, i * step,
                      end_of(i * step, step, n));
    if (comparison->has_theory) {
        FX8_TRY(add_line(panel, "predicted", n_marks, &series, error));
        for (size_t i = 0; i < n_marks; i++)
            series->y[i] = combine(comparison, i * step,
                                   end_of(i * step, step, n), &series->x[i])
                               .predicted;
    }
    panel->y.low = 0.0;
    panel->y.may_be_log = true;
    put_caption(caption, step,
                "The rms difference over all pairs and dumps of a channel. "
                "Channels without a mark are left out as a whole.",
                " Each mark covers %zu channels.", step);
    return FX8_OK;
}

/* --- phases ------------------------------------------------------ */

static enum fx8_status fill_phases(const struct fx8_comparison *comparison,
                                   struct fx8_panel *panel, char *caption,
                                   struct fx8_error *error)
{
    struct fx8_compare_phases phases;
    struct fx8_series *series;
    fx8_compare_phases_of(comparison, &phases);
    if (comparison->phase.n == 0)
        return FX8_OK;
    FX8_TRY(add_marks(panel, "", FX8_MARK_BARS, FX8_COMPARE_PHASE_BINS, &series,
                      error));
    series->width = phases.step_deg;
    for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++) {
        const double low = phases.first_deg + (double)k * phases.step_deg;
        put_mark(series, k, low + 0.5 * phases.step_deg, phases.percent[k],
                 "%.6g to %.6g degrees: %.6g %%", low, low + phases.step_deg,
                 phases.percent[k]);
    }
    panel->x.low = phases.first_deg;
    panel->x.high = -phases.first_deg;
    panel->y.low = 0.0;
    snprintf(
        caption, CAPTION_SIZE,
        "The phase of the first file minus that of the second, for every pair, "
        "channel and dump: median %.3g degrees, half of the cells within %.3g, "
        "rms %.3g; %.2f %% lie outside the figure. A cell of noise has a "
        "random phase, so that rounding turns weak cells far: what matters is "
        "that the distribution is narrow and centred on zero.",
        phases.median_deg, phases.median_absolute_deg, phases.rms_deg,
        phases.percent_outside);
    return FX8_OK;
}

/* --- the worst baselines ----------------------------------------- */

static enum fx8_status fill_worst(const struct fx8_comparison *comparison,
                                  struct fx8_panel *panel, char *caption,
                                  struct fx8_error *error)
{
    size_t worst[FX8_COMPARE_WORST];
    const size_t n = fx8_compare_worst(comparison, FX8_COMPARE_BASELINE, worst);
    const bool has_theory = comparison->has_theory;
    struct fx8_series *series;
    if (n == 0)
        return FX8_OK;
    FX8_TRY(fx8_axis_names(&panel->y, n, error));
    FX8_TRY(add_marks(panel, "", FX8_MARK_DOTS, n, &series, error));
    for (size_t k = 0; k < n; k++) {
        const struct fx8_compare_figures figures =
            fx8_compare_baseline_figures(comparison, worst[k]);
        const size_t row = n - 1 - k; /* the worst on top */
        char name[FX8_COMPARE_NAME_SIZE];
        fx8_compare_baseline_name(comparison, worst[k], name);
        snprintf(panel->y.names[row], FX8_LABEL_SIZE, "%s", name);
        if (has_theory)
            put_mark(series, k, figures.sigmas, (double)row,
                     "baseline %s: %.6g sigma, measured %.6g, predicted %.6g",
                     name, figures.sigmas, figures.measured, figures.predicted);
        else
            put_mark(series, k, figures.measured, (double)row,
                     "baseline %s: measured %.6g", name, figures.measured);
    }
    for (double at = -CHANCE; has_theory && at <= CHANCE; at += 2.0 * CHANCE)
        fx8_panel_limit(panel, true, at, "%+.0f", at);
    if (has_theory)
        snprintf(panel->x.label, sizeof panel->x.label,
                 "beyond the prediction (standard deviations)");
    else
        panel->x.low = 0.0;
    panel->x.may_be_log = true;
    snprintf(caption, CAPTION_SIZE, "%s",
             has_theory
                 ? "How far the mean square difference of a baseline is above "
                   "(right) or below (left) the prediction, in standard "
                   "deviations of that mean. Within the dashed lines it may "
                   "be chance."
                 : "The baselines that differ most.");
    return FX8_OK;
}

/* --- gains and clips --------------------------------------------- */

/* The inputs that share a mark. */
struct inputs {
    double middle;
    struct fx8_compare_input all; /* but for the medians, those of the first */
    char name[FX8_LABEL_SIZE];    /* "input 3X", "inputs 3X to 3Y" */
};

/* The inputs of mark `k`, each of `step` of them. */
static struct inputs inputs_of(const struct fx8_comparison *comparison,
                               size_t k, size_t step)
{
    const size_t first = k * step;
    const size_t end =
        end_of(first, step, fx8_compare_inputs(&comparison->shape));
    struct inputs inputs = {.middle = 0.5 * (double)(first + end - 1),
                            .all = comparison->inputs[first]};
    char names[2][FX8_COMPARE_NAME_SIZE];
    const bool is_one = first + 1 == end;
    for (size_t i = first + 1; i < end; i++) {
        const struct fx8_compare_input *input = &comparison->inputs[i];
        inputs.all.gain_lowest =
            fmin(inputs.all.gain_lowest, input->gain_lowest);
        inputs.all.gain_highest =
            fmax(inputs.all.gain_highest, input->gain_highest);
        inputs.all.clip_largest =
            fmax(inputs.all.clip_largest, input->clip_largest);
    }
    fx8_compare_input_name(comparison, first, names[0]);
    fx8_compare_input_name(comparison, end - 1, names[1]);
    snprintf(inputs.name, sizeof inputs.name, "%s %s%s%s",
             FX8_NOUN(end - first, "input", "inputs"), names[0],
             is_one ? "" : " to ", is_one ? "" : names[1]);
    return inputs;
}

/* Axes of a figure by input: its marks, and how many inputs share one. */
static enum fx8_status begin_inputs(const struct fx8_comparison *comparison,
                                    struct fx8_panel *panel, size_t *n_marks,
                                    size_t *step, struct fx8_error *error)
{
    const size_t n = fx8_compare_inputs(&comparison->shape);
    *step = step_of(n, MAX_INPUTS);
    *n_marks = (n + *step - 1) / *step;
    FX8_TRY(fx8_axis_names(&panel->x, n, error));
    for (size_t i = 0; i < n; i++) {
        char name[FX8_COMPARE_NAME_SIZE];
        fx8_compare_input_name(comparison, i, name);
        snprintf(panel->x.names[i], FX8_LABEL_SIZE, "%s", name);
    }
    panel->y.low = 0.0;
    panel->y.may_be_log = true;
    return FX8_OK;
}

static enum fx8_status fill_gains(const struct fx8_comparison *comparison,
                                  struct fx8_panel *panel, char *caption,
                                  struct fx8_error *error)
{
    size_t step, n_marks;
    struct fx8_series *range, *median;
    FX8_TRY(begin_inputs(comparison, panel, &n_marks, &step, error));
    FX8_TRY(add_line(panel, "range", 3 * n_marks, &range, error));
    for (size_t k = 0; k < n_marks; k++) { /* the third point is a gap */
        const struct inputs inputs = inputs_of(comparison, k, step);
        range->x[3 * k] = range->x[3 * k + 1] = inputs.middle;
        range->y[3 * k] = inputs.all.gain_lowest;
        range->y[3 * k + 1] = inputs.all.gain_highest;
    }
    FX8_TRY(add_marks(panel, "median", FX8_MARK_DOTS, n_marks, &median, error));
    for (size_t k = 0; k < n_marks; k++) {
        const struct inputs inputs = inputs_of(comparison, k, step);
        const struct fx8_compare_input *input = &inputs.all;
        char level[32] = "not known"; /* without power in the reference */
        if (!isnan(input->level_median))
            snprintf(level, sizeof level, "%.6g LSB", input->level_median);
        put_mark(median, k, inputs.middle, input->gain_median,
                 "%s: gain %.6g to %.6g, median %.6g, level %s", inputs.name,
                 input->gain_lowest, input->gain_highest, input->gain_median,
                 level);
    }
    put_caption(
        caption, step,
        "Median gain over the channels of an input, and the range of its "
        "gains.",
        " %zu inputs share a mark, at the median of the first.", step);
    return FX8_OK;
}

static enum fx8_status fill_clips(const struct fx8_comparison *comparison,
                                  struct fx8_panel *panel, char *caption,
                                  struct fx8_error *error)
{
    size_t step, n_marks;
    struct fx8_series *bars;
    FX8_TRY(begin_inputs(comparison, panel, &n_marks, &step, error));
    FX8_TRY(add_marks(panel, "", FX8_MARK_BARS, n_marks, &bars, error));
    bars->width = (double)step;
    for (size_t k = 0; k < n_marks; k++) {
        const struct inputs inputs = inputs_of(comparison, k, step);
        put_mark(bars, k, inputs.middle, inputs.all.clip_largest,
                 "%s: clipped at most %.6g", inputs.name,
                 inputs.all.clip_largest);
    }
    fx8_panel_limit(panel, false, FX8_COMPARE_CLIPS, "limit of a dump, %g",
                    FX8_COMPARE_CLIPS);
    put_caption(caption, step,
                "The largest share of its spectra that was clipped in a "
                "channel of an input over the whole run, flagged ones "
                "included. A channel is left out of each dump in which its "
                "share is above the dashed line.",
                " %zu inputs share a bar, at the largest of them.", step);
    return FX8_OK;
}

/* --- all figures -------------------------------------------------- */

/* What a figure shows; it is not drawn if no series is added. */
struct kind {
    const char *id, *title, *x_label, *y_label;
    enum fx8_status (*fill)(const struct fx8_comparison *comparison,
                            struct fx8_panel *panel, char *caption,
                            struct fx8_error *error);
    bool needs_theory;
};

static const struct kind kinds[] = {
    {"baselines", "Measured against predicted loss, by baseline",
     "predicted rms difference (coherence)",
     "measured rms difference (coherence)", fill_baselines, true},
    {"channels", "Loss by channel", "frequency (MHz)", NULL, fill_channels,
     false},
    {"phases", "Phase differences", "phase difference (degrees)",
     "cells (% of all in a bin)", fill_phases, false},
    {"worst", "The worst baselines", NULL, "baseline (antenna numbers)",
     fill_worst, false},
    {"gains", "Gains of the quantiser", "input",
     "gain (steps per recorded count)", fill_gains, true},
    {"clips", "Clipped samples", "input", "largest share clipped", fill_clips,
     true},
};

static enum fx8_status draw(const struct kind *kind,
                            const struct fx8_comparison *comparison,
                            FILE *stream, struct fx8_error *error)
{
    FX8_AUTO(fx8_figure_clear) struct fx8_figure figure = {0};
    FX8_AUTO_FREE char *svg = NULL;
    size_t size;
    char caption[CAPTION_SIZE], rms[FX8_TEXT_SIZE + 32];
    snprintf(rms, sizeof rms, "rms difference (%s)",
             fx8_compare_unit(comparison));
    struct fx8_panel *panel = fx8_figure_panel(
        &figure, kind->title, kind->x_label != NULL ? kind->x_label : rms,
        kind->y_label != NULL ? kind->y_label : rms);
    snprintf(panel->note, sizeof panel->note, "no pair of inputs counts");
    FX8_TRY(kind->fill(comparison, panel, caption, error));
    if (panel->n_series == 0)
        return FX8_OK;
    FX8_TRY(fx8_figure_settle(&figure, error));
    FX8_TRY(fx8_panel_draw(panel, &fx8_surface_svg, WIDTH, HEIGHT, &svg, &size,
                           error));
    fprintf(stream, "<figure id=\"%s\">\n%s<figcaption>", kind->id, svg);
    fx8_svg_text(stream, caption);
    fputs("</figcaption>\n</figure>\n", stream);
    return FX8_OK;
}

enum fx8_status fx8_compare_draw(const struct fx8_comparison *comparison,
                                 FILE *stream, struct fx8_error *error)
{
    fputs("<h2>Figures</h2>\n<div class=\"figures\">\n", stream);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (comparison->has_theory || !kinds[k].needs_theory)
            FX8_TRY(draw(&kinds[k], comparison, stream, error));
    fputs("</div>\n", stream);
    return FX8_OK;
}
