/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.c -- the figures on the page of a comparison, each with title and
 * caption; every mark carries its numbers as text.
 */
#include <inttypes.h>
#include <math.h>

#include "correlator/compare/figures.h"
#include "correlator/compare/plot.h"

/* Most marks per figure: the page of any array stays below 0.5 MB. */
#define MAX_BASELINES ((size_t)500)
#define MAX_CHANNELS  ((size_t)256)
#define MAX_INPUTS    ((size_t)256)

/* Sigmas within which a deviation is chance. */
#define CHANCE 5.0

static void take(struct fx8_plot_axis *axis, double value)
{
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
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

/* --- measured against predicted ---------------------------------- */

static void mark_baseline(const struct fx8_comparison *comparison,
                          const struct fx8_plot *plot, size_t baseline,
                          const char *style)
{
    const struct fx8_compare_figures figures =
        fx8_compare_baseline_figures(comparison, baseline);
    char name[FX8_COMPARE_NAME_SIZE];
    fx8_compare_baseline_name(comparison, baseline, name);
    if (!isnan(figures.predicted))
        fx8_plot_mark(plot, style, figures.predicted, figures.measured,
                      "baseline %s: measured %.6g, predicted %.6g, ratio %.6g",
                      name, figures.measured, figures.predicted, figures.ratio);
}

static void draw_baselines(const struct fx8_comparison *comparison,
                           FILE *stream)
{
    const size_t n = comparison->shape.n_baselines;
    const size_t step = step_of(n, MAX_BASELINES);
    static const double slopes[] = {FX8_COMPARE_RATIO_LOW,
                                    FX8_COMPARE_RATIO_HIGH};
    struct fx8_plot plot = {
        stream,
        {INFINITY, -INFINITY, .label = "predicted rms difference (coherence)"},
        {INFINITY, -INFINITY, .label = "measured rms difference (coherence)"},
    };
    for (size_t b = 0; b < n; b++) {
        const struct fx8_compare_figures figures =
            fx8_compare_baseline_figures(comparison, b);
        if (isnan(figures.predicted))
            continue;
        take(&plot.x, figures.predicted);
        take(&plot.y, figures.measured);
        take(&plot.y, slopes[0] * figures.predicted);
        take(&plot.y, slopes[1] * figures.predicted);
    }
    if (!(plot.x.high >= plot.x.low))
        return; /* nothing is predicted; the page says so */
    fx8_plot_open(&plot, "baselines", "Measured against predicted loss",
                  "Measured against predicted loss, by baseline");
    for (size_t k = 0; k < 2; k++) {
        fx8_plot_begin_path(&plot, "d");
        /* in steps: lines are clamped to the frame point by point */
        for (int i = 0; i <= 50; i++) {
            const double x = plot.x.low + (plot.x.high - plot.x.low) * i / 50.0;
            fx8_plot_point(&plot, x, slopes[k] * x, i == 0);
        }
        fx8_plot_end_path(&plot);
    }
    fx8_plot_begin_path(&plot, "p");
    fx8_plot_point(&plot, plot.x.low, plot.x.low, true);
    fx8_plot_point(&plot, plot.x.high, plot.x.high, false);
    fx8_plot_end_path(&plot);
    for (size_t b = 0; b < n; b += step)
        mark_baseline(comparison, &plot, b, "a");
    size_t worst[FX8_COMPARE_WORST];
    const size_t n_worst =
        fx8_compare_worst(comparison, FX8_COMPARE_BASELINE, worst);
    for (size_t k = 0; k < n_worst; k++)
        mark_baseline(comparison, &plot, worst[k], "w");
    char more[80] = "";
    if (step > 1)
        snprintf(more, sizeof more,
                 " One of %zu baselines is drawn, and the worst.", step);
    fx8_plot_close(&plot,
                   "Each mark is a baseline, over all its products, channels "
                   "and dumps; the worst are red. On the orange line 8 bits "
                   "cost what they must; the dashed lines are 10 %% off.%s",
                   more);
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
        const struct fx8_compare_sums *channel = &comparison->channels[c];
        sums.n_cells += channel->n_cells;
        sums.difference += channel->difference;
        sums.expected += channel->expected;
        sums.ratio += channel->ratio;
        sums.coherence += channel->coherence;
        *frequency_mhz +=
            1e-6 * comparison->frequencies_hz[c] / (double)(last - first);
    }
    return fx8_compare_figures_of(comparison, &sums, FX8_COMPARE_CHANNEL);
}

/* Draw the measured marks, or the predicted line. */
static void draw_along(const struct fx8_comparison *comparison,
                       const struct fx8_plot *plot, size_t step,
                       bool is_prediction)
{
    const size_t n = comparison->shape.n_channels;
    bool is_first = true;
    for (size_t c = 0; c < n; c += step) {
        const size_t end = end_of(c, step, n);
        double mhz;
        const struct fx8_compare_figures figures =
            combine(comparison, c, end, &mhz);
        const bool is_there =
            !isnan(is_prediction ? figures.predicted : figures.measured);
        char prediction[64] = "";
        if (!isnan(figures.predicted))
            snprintf(prediction, sizeof prediction,
                     ", predicted %.6g, ratio %.6g", figures.predicted,
                     figures.ratio);
        if (is_there && is_prediction)
            fx8_plot_point(plot, mhz, figures.predicted, is_first);
        else if (is_there)
            fx8_plot_mark(plot, "a", mhz, figures.measured,
                          "channel %zu to %zu, %.9g MHz: measured %.6g%s", c,
                          end - 1, mhz, figures.measured, prediction);
        is_first = !is_there;
    }
}

static void draw_channels(const struct fx8_comparison *comparison, FILE *stream)
{
    const size_t n = comparison->shape.n_channels;
    const size_t step = step_of(n, MAX_CHANNELS);
    char label[FX8_TEXT_SIZE + 32], more[64] = "";
    snprintf(label, sizeof label, "rms difference (%s)",
             fx8_compare_unit(comparison));
    struct fx8_plot plot = {
        stream,
        {INFINITY, -INFINITY, .label = "frequency (MHz)"},
        {0.0, -INFINITY, .label = label},
    };
    for (size_t c = 0; c < n; c += step) {
        double mhz;
        const struct fx8_compare_figures figures =
            combine(comparison, c, end_of(c, step, n), &mhz);
        take(&plot.x, mhz);
        take(&plot.y, figures.measured); /* fmin, fmax skip NaN */
        take(&plot.y, figures.predicted);
    }
    fx8_plot_open(&plot, "channels", "Loss by channel", "Loss by channel");
    draw_along(comparison, &plot, step, false);
    if (comparison->has_theory) {
        fx8_plot_begin_path(&plot, "p");
        draw_along(comparison, &plot, step, true);
        fx8_plot_end_path(&plot);
    }
    if (step > 1)
        snprintf(more, sizeof more, " Each mark covers %zu channels.", step);
    fx8_plot_close(
        &plot,
        "The rms difference over all pairs and dumps of a channel%s."
        " Channels without a mark are left out as a whole.%s",
        comparison->has_theory ? "; the orange line is the prediction" : "",
        more);
}

/* --- phases ------------------------------------------------------ */

static void draw_phases(const struct fx8_comparison *comparison, FILE *stream)
{
    struct fx8_compare_phases phases;
    fx8_compare_phases_of(comparison, &phases);
    if (comparison->phase.n == 0)
        return;
    struct fx8_plot plot = {
        stream,
        {phases.first_deg, -phases.first_deg, "phase difference (degrees)",
         .is_fixed = true},
        {0.0, 0.0, .label = "cells (% of all in a bin)"},
    };
    for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++)
        take(&plot.y, phases.percent[k]);
    fx8_plot_open(&plot, "phases", "Phase differences",
                  "Histogram of the phase differences");
    for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++) {
        const double low = phases.first_deg + (double)k * phases.step_deg;
        fx8_plot_bar(&plot, low, 0.0, low + phases.step_deg, phases.percent[k],
                     "%.6g to %.6g degrees: %.6g %%", low,
                     low + phases.step_deg, phases.percent[k]);
    }
    fx8_plot_close(
        &plot,
        "The phase of the first file minus that of the second, for every pair, "
        "channel and dump: median %.6g degrees, half of the cells within %.6g, "
        "rms %.6g; %.6g %% lie outside the figure. A cell of noise has a "
        "random phase, so that rounding turns weak cells far: what matters is "
        "that the distribution is narrow and centred on zero.",
        phases.median_deg, phases.median_absolute_deg, phases.rms_deg,
        phases.percent_outside);
}

/* --- the worst baselines ----------------------------------------- */

static void draw_worst(const struct fx8_comparison *comparison, FILE *stream)
{
    size_t worst[FX8_COMPARE_WORST];
    const size_t n = fx8_compare_worst(comparison, FX8_COMPARE_BASELINE, worst);
    if (n == 0)
        return;
    char label[FX8_TEXT_SIZE + 32];
    snprintf(label, sizeof label, "rms difference (%s)",
             fx8_compare_unit(comparison));
    const bool has_theory = comparison->has_theory;
    const double limit = has_theory ? CHANCE : 0.0;
    struct fx8_plot plot = {
        stream,
        {-1.1 * limit, 1.1 * limit,
         .label = has_theory ? "beyond the prediction (standard deviations)"
                             : label},
        {0.4, (double)n + 0.6, "baseline (antenna numbers)", .is_fixed = true,
         .has_names = true},
    };
    for (size_t k = 0; k < n; k++) {
        const struct fx8_compare_figures figures =
            fx8_compare_baseline_figures(comparison, worst[k]);
        take(&plot.x, has_theory ? figures.sigmas : figures.measured);
    }
    fx8_plot_open(&plot, "worst", "The worst baselines", "The worst baselines");
    for (size_t k = 0; k < n; k++) {
        const struct fx8_compare_figures figures =
            fx8_compare_baseline_figures(comparison, worst[k]);
        const double y = (double)(n - k);
        char name[FX8_COMPARE_NAME_SIZE];
        fx8_compare_baseline_name(comparison, worst[k], name);
        fx8_plot_name(&plot, y, name);
        if (has_theory)
            fx8_plot_bar(&plot, 0.0, y - 0.35, figures.sigmas, y + 0.35,
                         "baseline %s: %.6g sigma, measured %.6g, predicted "
                         "%.6g",
                         name, figures.sigmas, figures.measured,
                         figures.predicted);
        else
            fx8_plot_bar(&plot, 0.0, y - 0.35, figures.measured, y + 0.35,
                         "baseline %s: measured %.6g", name, figures.measured);
    }
    for (double x = CHANCE; has_theory && x >= -CHANCE; x -= 2.0 * CHANCE)
        fx8_plot_line(&plot, "d", x, plot.y.low, x, plot.y.high);
    fx8_plot_close(
        &plot, "%s",
        has_theory
            ? "How far the mean square difference of a baseline is above "
              "(right) or below (left) the prediction, in standard deviations "
              "of that mean. Within the dashed lines, at 5, it may be chance."
            : "The baselines that differ most.");
}

/* --- gains and clips --------------------------------------------- */

/* Inputs [first, last) as one. */
static struct fx8_compare_input combine_inputs(
    const struct fx8_comparison *comparison, size_t first, size_t last)
{
    struct fx8_compare_input all = comparison->inputs[first];
    for (size_t i = first + 1; i < last; i++) {
        const struct fx8_compare_input *input = &comparison->inputs[i];
        all.gain_lowest = fmin(all.gain_lowest, input->gain_lowest);
        all.gain_highest = fmax(all.gain_highest, input->gain_highest);
        all.clip_largest = fmax(all.clip_largest, input->clip_largest);
    }
    return all;
}

/* One mark of gains or of clips for inputs [first, last). */
static void draw_input(const struct fx8_comparison *comparison,
                       const struct fx8_plot *plot, size_t first, size_t last,
                       bool is_clips)
{
    const struct fx8_compare_input input =
        combine_inputs(comparison, first, last);
    const double x = 0.5 * (double)(first + last - 1);
    char names[2][FX8_COMPARE_NAME_SIZE];
    fx8_compare_input_name(comparison, first, names[0]);
    fx8_compare_input_name(comparison, last - 1, names[1]);
    if (is_clips) {
        const double half = 0.4 * (double)(last - first);
        fx8_plot_bar(plot, x - half, 0.0, x + half, input.clip_largest,
                     "input %s to %s: clipped at most %.6g", names[0], names[1],
                     input.clip_largest);
        return;
    }
    if (isnan(input.gain_median))
        return;
    fx8_plot_line(plot, "r", x, input.gain_lowest, x, input.gain_highest);
    char level[32] = "not known"; /* without power in the reference */
    if (!isnan(input.level_median))
        snprintf(level, sizeof level, "%.6g LSB", input.level_median);
    fx8_plot_mark(plot, "a", x, input.gain_median,
                  "input %s to %s: gain %.6g to %.6g, median %.6g, level %s",
                  names[0], names[1], input.gain_lowest, input.gain_highest,
                  input.gain_median, level);
}

static void draw_inputs(const struct fx8_comparison *comparison, FILE *stream,
                        bool is_clips)
{
    const size_t n = fx8_compare_inputs(&comparison->shape);
    const size_t step = step_of(n, MAX_INPUTS);
    struct fx8_plot plot = {
        stream,
        {-1.0, (double)n, "input, in the order of the file", .is_fixed = true},
        {0.0, is_clips ? FX8_COMPARE_CLIPS : 0.0,
         .label = is_clips ? "largest share clipped"
                           : "gain (steps per recorded count)"},
    };
    for (size_t i = 0; i < n; i++) {
        const struct fx8_compare_input *input = &comparison->inputs[i];
        take(&plot.y, is_clips ? input->clip_largest : input->gain_highest);
    }
    if (is_clips)
        fx8_plot_open(&plot, "clips", "Clipped samples", "Clips by input");
    else
        fx8_plot_open(&plot, "gains", "Gains of the quantiser",
                      "Gains by input");
    for (size_t i = 0; i < n; i += step)
        draw_input(comparison, &plot, i, end_of(i, step, n), is_clips);
    if (is_clips)
        fx8_plot_line(&plot, "d", plot.x.low, FX8_COMPARE_CLIPS, plot.x.high,
                      FX8_COMPARE_CLIPS);
    char more[80] = "";
    if (step > 1)
        snprintf(more, sizeof more, " %zu inputs share a %s.", step,
                 is_clips ? "bar, at the largest of them"
                          : "mark, at the median of the first");
    fx8_plot_close(
        &plot, "%s%s",
        is_clips
            ? "The largest share of its spectra that was clipped in a channel "
              "of an input, flagged ones included. Channels above the dashed "
              "line, 1e-4, are left out."
            : "Median gain over the channels of an input (dot), and the range "
              "of its gains (line).",
        more);
}

void fx8_compare_draw(const struct fx8_comparison *comparison, FILE *stream)
{
    draw_baselines(comparison, stream);
    draw_channels(comparison, stream);
    draw_phases(comparison, stream);
    draw_worst(comparison, stream);
    if (!comparison->has_theory)
        return;
    draw_inputs(comparison, stream, false);
    draw_inputs(comparison, stream, true);
}
