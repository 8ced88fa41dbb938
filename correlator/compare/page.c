/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>

#include "correlator/compare/page.h"

/* Most marks per figure: the page of any array stays below 0.5 MB. */
#define MAX_BASELINES ((size_t)500)
#define MAX_CHANNELS  ((size_t)256)
#define MAX_INPUTS    ((size_t)256)

/* Sigmas within which a deviation is chance. */
#define CHANCE 5.0

static void begin(const char *id, const char *heading, FILE *stream)
{
    fprintf(stream, "<h2>%s</h2>\n<figure id=\"%s\">\n", heading, id);
}

static void end(FILE *stream)
{
    fputs("</figcaption>\n</figure>\n", stream);
}

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

static void name_baseline(const struct fx8_comparison *comparison,
                          size_t baseline, char name[64])
{
    const size_t *antennas = comparison->baseline_antennas[baseline];
    snprintf(name, 64, "%" PRId64 "-%" PRId64,
             comparison->antenna_numbers[antennas[0]],
             comparison->antenna_numbers[antennas[1]]);
}

/* --- measured against predicted ---------------------------------- */

static void mark_baseline(const struct fx8_comparison *comparison,
                          const struct fx8_plot *plot, size_t baseline,
                          const char *style)
{
    const struct fx8_compare_figures figures = fx8_compare_figures_of(
        comparison, &comparison->baselines[baseline], FX8_COMPARE_BASELINE);
    char name[64];
    name_baseline(comparison, baseline, name);
    if (!isnan(figures.predicted))
        fx8_plot_mark(plot, style, figures.predicted, figures.measured,
                      "baseline %s: measured %.6g, predicted %.6g, ratio %.6g",
                      name, figures.measured, figures.predicted, figures.ratio);
}

void fx8_compare_draw_baselines(const struct fx8_comparison *comparison,
                                FILE *stream)
{
    const size_t n = comparison->shape.n_baselines;
    const size_t step = step_of(n, MAX_BASELINES);
    struct fx8_plot plot = {
        stream,
        {INFINITY, -INFINITY, "predicted rms difference (coherence)", false},
        {INFINITY, -INFINITY, "measured rms difference (coherence)", false},
    };
    for (size_t b = 0; b < n; b++) {
        const struct fx8_compare_figures figures = fx8_compare_figures_of(
            comparison, &comparison->baselines[b], FX8_COMPARE_BASELINE);
        if (isnan(figures.predicted))
            continue;
        take(&plot.x, figures.predicted);
        take(&plot.y, figures.measured);
        take(&plot.y, FX8_COMPARE_RATIO_LOW * figures.predicted);
        take(&plot.y, FX8_COMPARE_RATIO_HIGH * figures.predicted);
    }
    if (!(plot.x.high >= plot.x.low))
        return; /* nothing is predicted; the page says so */
    fx8_plot_widen(&plot.x);
    fx8_plot_widen(&plot.y);
    begin("baselines", "Measured against predicted loss", stream);
    fx8_plot_open(&plot, "Measured against predicted loss, by baseline");
    static const double slopes[] = {FX8_COMPARE_RATIO_LOW,
                                    FX8_COMPARE_RATIO_HIGH};
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
    fx8_plot_close(&plot);
    fputs("<figcaption>Each mark is a baseline, over all its products, "
          "channels and dumps; the worst are red. On the orange line 8 bits "
          "cost what they must; the dashed lines are 10 % off.",
          stream);
    if (step > 1)
        fprintf(stream, " One of %zu baselines is drawn, and the worst.", step);
    end(stream);
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
        const size_t last = c + step < n ? c + step : n;
        double mhz;
        const struct fx8_compare_figures figures =
            combine(comparison, c, last, &mhz);
        const bool is_there =
            !isnan(is_prediction ? figures.predicted : figures.measured);
        if (is_there && is_prediction)
            fx8_plot_point(plot, mhz, figures.predicted, is_first);
        else if (is_there && isnan(figures.predicted))
            fx8_plot_mark(plot, "a", mhz, figures.measured,
                          "channel %zu to %zu, %.9g MHz: measured %.6g", c,
                          last - 1, mhz, figures.measured);
        else if (is_there)
            fx8_plot_mark(plot, "a", mhz, figures.measured,
                          "channel %zu to %zu, %.9g MHz: measured %.6g, "
                          "predicted %.6g, ratio %.6g",
                          c, last - 1, mhz, figures.measured, figures.predicted,
                          figures.ratio);
        is_first = !is_there;
    }
}

void fx8_compare_draw_channels(const struct fx8_comparison *comparison,
                               FILE *stream)
{
    const size_t n = comparison->shape.n_channels;
    const size_t step = step_of(n, MAX_CHANNELS);
    char label[FX8_TEXT_SIZE + 32];
    snprintf(label, sizeof label, "rms difference (%s)",
             fx8_compare_unit(comparison));
    struct fx8_plot plot = {
        stream,
        {INFINITY, -INFINITY, "frequency (MHz)", false},
        {0.0, -INFINITY, label, false},
    };
    for (size_t c = 0; c < n; c += step) {
        double mhz;
        const struct fx8_compare_figures figures =
            combine(comparison, c, c + step < n ? c + step : n, &mhz);
        take(&plot.x, mhz);
        take(&plot.y, figures.measured); /* fmin, fmax skip NaN */
        take(&plot.y, figures.predicted);
    }
    fx8_plot_widen(&plot.x);
    fx8_plot_widen(&plot.y);
    begin("channels", "Loss by channel", stream);
    fx8_plot_open(&plot, "Loss by channel");
    draw_along(comparison, &plot, step, false);
    if (comparison->has_theory) {
        fx8_plot_begin_path(&plot, "p");
        draw_along(comparison, &plot, step, true);
        fx8_plot_end_path(&plot);
    }
    fx8_plot_close(&plot);
    fprintf(stream,
            "<figcaption>The rms difference over all pairs and dumps of a "
            "channel%s. Channels without a mark are left out as a whole.",
            comparison->has_theory ? "; the orange line is the prediction"
                                   : "");
    if (step > 1)
        fprintf(stream, " Each mark covers %zu channels.", step);
    end(stream);
}

/* --- phases ------------------------------------------------------ */

void fx8_compare_draw_phases(const struct fx8_comparison *comparison,
                             FILE *stream)
{
    struct fx8_compare_phases phases;
    fx8_compare_phases_of(comparison, &phases);
    if (comparison->phase.n == 0)
        return;
    struct fx8_plot plot = {
        stream,
        {phases.first_deg, -phases.first_deg, "phase difference (degrees)",
         false},
        {0.0, 0.0, "cells (% of all in a bin)", false},
    };
    for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++)
        take(&plot.y, phases.percent[k]);
    fx8_plot_widen(&plot.y);
    begin("phases", "Phase differences", stream);
    fx8_plot_open(&plot, "Histogram of the phase differences");
    for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++) {
        const double low = phases.first_deg + (double)k * phases.step_deg;
        fx8_plot_bar(&plot, "a", low, 0.0, low + phases.step_deg,
                     phases.percent[k], "%.6g to %.6g degrees: %.6g %%", low,
                     low + phases.step_deg, phases.percent[k]);
    }
    fx8_plot_close(&plot);
    fprintf(stream,
            "<figcaption>The phase of the first file minus that of the second, "
            "for every pair, channel and dump: median %.6g degrees, half of "
            "the cells within %.6g, rms %.6g; %.6g %% lie outside the figure. "
            "A cell of noise has a random phase, so that rounding turns weak "
            "cells far: what matters is that the distribution is narrow and "
            "centred on zero.",
            phases.median_deg, phases.median_absolute_deg, phases.rms_deg,
            phases.percent_outside);
    end(stream);
}

/* --- the worst baselines ----------------------------------------- */

static void draw_worst_bars(const struct fx8_comparison *comparison,
                            const struct fx8_plot *plot, const size_t *worst,
                            size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct fx8_compare_figures figures = fx8_compare_figures_of(
            comparison, &comparison->baselines[worst[k]], FX8_COMPARE_BASELINE);
        const double y = (double)(n - k);
        char name[64];
        name_baseline(comparison, worst[k], name);
        fx8_plot_name(plot, y, name);
        if (comparison->has_theory)
            fx8_plot_bar(plot, "a", 0.0, y - 0.35, figures.sigmas, y + 0.35,
                         "baseline %s: %.6g sigma, measured %.6g, predicted "
                         "%.6g",
                         name, figures.sigmas, figures.measured,
                         figures.predicted);
        else
            fx8_plot_bar(plot, "a", 0.0, y - 0.35, figures.measured, y + 0.35,
                         "baseline %s: measured %.6g", name, figures.measured);
    }
}

void fx8_compare_draw_worst(const struct fx8_comparison *comparison,
                            FILE *stream)
{
    size_t worst[FX8_COMPARE_WORST];
    const size_t n = fx8_compare_worst(comparison, FX8_COMPARE_BASELINE, worst);
    if (n == 0)
        return;
    char label[FX8_TEXT_SIZE + 32];
    snprintf(label, sizeof label, "rms difference (%s)",
             fx8_compare_unit(comparison));
    const bool has_theory = comparison->has_theory;
    struct fx8_plot plot = {
        stream,
        {has_theory ? -1.1 * CHANCE : 0.0, has_theory ? 1.1 * CHANCE : 0.0,
         has_theory ? "beyond the prediction (standard deviations)" : label,
         false},
        {0.4, (double)n + 0.6, "baseline (antenna numbers)", true},
    };
    for (size_t k = 0; k < n; k++) {
        const struct fx8_compare_figures figures = fx8_compare_figures_of(
            comparison, &comparison->baselines[worst[k]], FX8_COMPARE_BASELINE);
        take(&plot.x, has_theory ? figures.sigmas : figures.measured);
    }
    fx8_plot_widen(&plot.x);
    begin("worst", "The worst baselines", stream);
    fx8_plot_open(&plot, "The worst baselines");
    draw_worst_bars(comparison, &plot, worst, n);
    if (has_theory) {
        fx8_plot_line(&plot, "d", CHANCE, plot.y.low, CHANCE, plot.y.high);
        fx8_plot_line(&plot, "d", -CHANCE, plot.y.low, -CHANCE, plot.y.high);
    }
    fx8_plot_close(&plot);
    fputs(has_theory
              ? "<figcaption>How far the mean square difference of a baseline "
                "is above (right) or below (left) the prediction, in standard "
                "deviations of that mean. Within the dashed lines, at 5, it "
                "may be chance."
              : "<figcaption>The baselines that differ most.",
          stream);
    end(stream);
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
        fx8_plot_bar(plot, "a", x - half, 0.0, x + half, input.clip_largest,
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

static void draw_inputs(const struct fx8_comparison *comparison,
                        struct fx8_plot *plot, size_t step, bool is_clips)
{
    const size_t n =
        comparison->shape.n_antennas * comparison->shape.n_polarizations;
    for (size_t i = 0; i < n; i++) {
        const struct fx8_compare_input *input = &comparison->inputs[i];
        take(&plot->y, is_clips ? input->clip_largest : input->gain_highest);
    }
    if (is_clips)
        take(&plot->y, FX8_COMPARE_CLIPS);
    fx8_plot_widen(&plot->y);
    fx8_plot_open(plot, is_clips ? "Clips by input" : "Gains by input");
    for (size_t i = 0; i < n; i += step)
        draw_input(comparison, plot, i, i + step < n ? i + step : n, is_clips);
    if (is_clips)
        fx8_plot_line(plot, "d", plot->x.low, FX8_COMPARE_CLIPS, plot->x.high,
                      FX8_COMPARE_CLIPS);
    fx8_plot_close(plot);
}

void fx8_compare_draw_inputs(const struct fx8_comparison *comparison,
                             FILE *stream)
{
    if (!comparison->has_theory)
        return;
    const size_t n =
        comparison->shape.n_antennas * comparison->shape.n_polarizations;
    const size_t step = step_of(n, MAX_INPUTS);
    struct fx8_plot plot = {
        stream,
        {-1.0, (double)n, "input, in the order of the file", false},
        {0.0, 0.0, "gain (steps per recorded count)", false},
    };
    begin("gains", "Gains of the quantiser", stream);
    draw_inputs(comparison, &plot, step, false);
    fputs("<figcaption>Median gain over the channels of an input (dot), and "
          "the range of its gains (line).",
          stream);
    if (step > 1)
        fprintf(stream, " %zu inputs share a mark, at the median of the first.",
                step);
    end(stream);
    plot.y = (struct fx8_plot_axis){0.0, 0.0, "largest share clipped", false};
    begin("clips", "Clipped samples", stream);
    draw_inputs(comparison, &plot, step, true);
    fputs(
        "<figcaption>The largest share of its spectra that was clipped in a "
        "channel of an input, flagged ones included. Channels above the dashed "
        "line, 1e-4, are left out.",
        stream);
    if (step > 1)
        fprintf(stream, " %zu inputs share a bar, at the largest of them.",
                step);
    end(stream);
}
