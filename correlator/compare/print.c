/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print.c -- a comparison as a table.
 */
#include <inttypes.h>
#include <math.h>

#include "config/base/line.h"
#include "config/base/text.h"
#include "correlator/compare/figures.h"
#include "correlator/compare/sides.h"

/* Most rows in the tables of the worst channels and baselines, at most
 * FX8_COMPARE_WORST. */
#define MAX_WORST 5

/* Most items listed. */
#define MAX_LISTED 8

static void print_heading(const struct fx8_comparison *comparison, FILE *stream)
{
    fprintf(stream, "%-28s %12s %10s %11s %12s", "", "cells", "amplitude",
            "phase/deg", "rms diff");
    if (comparison->has_theory)
        fprintf(stream, " %12s %8s %8s", "predicted", "ratio", "sigma");
    fputc('\n', stream);
}

static void print_sums(const struct fx8_comparison *comparison,
                       const char *label, const struct fx8_compare_sums *sums,
                       enum fx8_compare_group group, FILE *stream)
{
    const struct fx8_compare_figures figures =
        fx8_compare_figures_of(comparison, sums, group);
    fprintf(stream, "%-28s %12" PRId64, label, figures.n_cells);
    if (!isnan(figures.measured))
        fprintf(stream, " %10.6f %11.6f %12.4e", figures.amplitude,
                figures.phase_deg, figures.measured);
    if (!isnan(figures.predicted))
        fprintf(stream, " %12.4e %8.4f %+8.1f", figures.predicted,
                figures.ratio, figures.sigmas);
    fputc('\n', stream);
}

static void print_worst(const struct fx8_comparison *comparison,
                        enum fx8_compare_group group, FILE *stream)
{
    size_t worst[FX8_COMPARE_WORST];
    const size_t n = fx8_compare_worst(comparison, group, worst);
    for (size_t k = 0; k < n && k < MAX_WORST; k++) {
        const bool is_channel = group == FX8_COMPARE_CHANNEL;
        char name[FX8_COMPARE_NAME_SIZE], label[FX8_COMPARE_NAME_SIZE + 16];
        if (is_channel)
            snprintf(name, sizeof name, "%zu, %.6f MHz", worst[k],
                     comparison->frequencies_hz[worst[k]] * 1e-6);
        else
            fx8_compare_baseline_name(comparison, worst[k], name);
        snprintf(label, sizeof label, "%*s %s", is_channel ? 7 : 8,
                 k > 0        ? ""
                 : is_channel ? "channel"
                              : "baseline",
                 name);
        print_sums(comparison, label,
                   is_channel ? &comparison->channels[worst[k]]
                              : &comparison->baselines[worst[k]],
                   group, stream);
    }
}

/* Figures per cell, not of sums. */
static void print_cells(const struct fx8_comparison *comparison, FILE *stream)
{
    if (comparison->phase.n == 0)
        return;
    const struct fx8_compare_amplitudes amplitudes =
        fx8_compare_amplitudes_of(comparison);
    struct fx8_compare_phases phases;
    fx8_compare_phases_of(comparison, &phases);
    fprintf(stream,
            "\ncell by cell: amplitude ratio: median %.4f, 68 %% of the cells "
            "within %.4f to %.4f\n"
            "              phase difference: median %.2g deg, half of the "
            "cells within %.3g deg, rms %.3g deg\n",
            amplitudes.median, amplitudes.low, amplitudes.high,
            phases.median_deg, phases.median_absolute_deg, phases.rms_deg);
}

/* Gains, levels and clips over all inputs. */
static void print_levels(const struct fx8_comparison *comparison, FILE *stream)
{
    const size_t n_inputs = fx8_compare_inputs(&comparison->shape);
    double gains[2] = {INFINITY, 0.0}, levels[2] = {INFINITY, 0.0};
    size_t clipped = 0;
    for (size_t i = 0; i < n_inputs; i++) {
        const struct fx8_compare_input *input = &comparison->inputs[i];
        gains[0] = fmin(gains[0], input->gain_lowest);
        gains[1] = fmax(gains[1], input->gain_highest);
        levels[0] = fmin(levels[0], input->level_median);
        levels[1] = fmax(levels[1], input->level_median);
        if (input->clip_largest > comparison->inputs[clipped].clip_largest)
            clipped = i;
    }
    if (!comparison->has_theory || !(gains[1] > 0.0))
        return;
    char name[FX8_COMPARE_NAME_SIZE];
    fx8_compare_input_name(comparison, clipped, name);
    fprintf(stream, "quantiser: %sgains %.4g to %.4g, ",
            comparison->has_dither ? "dithered, " : "", gains[0], gains[1]);
    if (levels[0] <= levels[1])
        fprintf(stream, "median levels of the inputs %.4g to %.4g LSB",
                levels[0], levels[1]);
    else /* levels need powers of the reference */
        fprintf(stream, "levels not known");
    fprintf(stream, ",\n           clipped in a channel at most %.3g",
            comparison->inputs[clipped].clip_largest);
    if (comparison->inputs[clipped].clip_largest > 0.0)
        fprintf(stream, " (input %s)", name);
    fputc('\n', stream);
}

/* Inputs with a count: "5X, 5Y, ..." */
static void print_inputs(const struct fx8_comparison *comparison,
                         const int64_t *counts, FILE *stream)
{
    const size_t n_inputs = fx8_compare_inputs(&comparison->shape);
    size_t n_counted = 0;
    for (size_t input = 0; input < n_inputs; input++)
        n_counted += counts[input] != 0;
    if (n_counted == n_inputs)
        fprintf(stream, "all");
    else if (fx8_compare_print_inputs(comparison, counts, MAX_LISTED, stream) >
             MAX_LISTED)
        fprintf(stream, ", ... (%zu)", n_counted);
}

static void print_left_out(const struct fx8_comparison *comparison,
                           FILE *stream)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t n_inputs = fx8_compare_inputs(&comparison->shape);
    for (size_t reason = 0; reason < FX8_COMPARE_N_REASONS; reason++) {
        if (comparison->left_out[reason] == 0)
            continue;
        fprintf(stream, "left out: %s: %" PRId64 " %s, channels ",
                fx8_compare_reason_names[reason],
                FX8_COUNTED(comparison->left_out[reason], "cell", "cells"));
        const size_t n_more = fx8_compare_print_ranges(
            comparison->channels_left_out + reason * n_channels, n_channels,
            MAX_LISTED, "-", stream);
        fprintf(stream, "%s, inputs ", n_more > 0 ? ", ..." : "");
        print_inputs(comparison,
                     comparison->inputs_left_out + reason * n_inputs, stream);
        fputc('\n', stream);
    }
}

/* Channels with no cell left. */
static void print_lost(const struct fx8_comparison *comparison, FILE *stream)
{
    const size_t n_channels = comparison->shape.n_channels;
    size_t n_lost = 0;
    for (size_t c = 0; c < n_channels; c++)
        n_lost += comparison->channels[c].n_cells == 0;
    if (n_lost == n_channels)
        fprintf(stream, "every channel is left out as a whole\n");
    else if (n_lost > 0)
        fprintf(stream,
                "%zu of %zu channels %s left out as a whole, the others have "
                "cells that count\n",
                n_lost, n_channels, FX8_NOUN(n_lost, "is", "are"));
}

/* Every check with its worst result. */
static void print_checks(const struct fx8_comparison *comparison, FILE *stream)
{
    if (!comparison->has_theory)
        return;
    fprintf(stream, "\n%-18s %10s %10s %10s\n", "judged", "of", "worst",
            "at most");
    for (enum fx8_compare_check check = 0; check < FX8_COMPARE_N_CHECKS;
         check++) {
        const struct fx8_compare_worst_of *worst = &comparison->worst[check];
        char place[FX8_COMPARE_PLACE_SIZE];
        fx8_compare_place_name(comparison, check, place);
        if (worst->n_judged == 0)
            continue;
        fprintf(stream, "%-18s %10" PRId64, fx8_compare_check_names[check],
                worst->n_judged);
        /* infinite: the bound is zero, the value is not */
        if (isinf(worst->ratio))
            fprintf(stream, " %10s %10s", "not zero", "zero");
        else
            fprintf(stream, " %10.4g %10.4g", worst->ratio, worst->limits[1]);
        fprintf(stream, "%s%s\n", place[0] == '\0' ? "" : "  ", place);
    }
}

static void print_verdict(const struct fx8_comparison *comparison, FILE *stream)
{
    char reason[FX8_TEXT_SIZE];
    fx8_compare_verdict(comparison, reason);
    fprintf(stream, "verdict: %s: %s\n", fx8_compare_verdict_word(comparison),
            reason);
}

static void print_files(const struct fx8_comparison *comparison, FILE *stream)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    const char *names[] = {comparison->subject_name,
                           comparison->reference_name};
    for (size_t k = 0; k < 2; k++) {
        const char *precision = comparison->precision[k];
        const bool is_known = precision[0] != '\0';
        fprintf(stream, "%s", k == 0 ? "" : " against ");
        fx8_text_print(names[k], stream);
        fprintf(stream, "%s%s%s", is_known ? " (" : "", precision,
                is_known ? ")" : "");
    }
    fputc('\n', stream);
    fx8_compare_print_sizes(comparison->n_dumps, shape, stream);
    fprintf(stream, "; rms diff in units of %s\n",
            fx8_compare_unit(comparison));
    if (!comparison->has_theory)
        fprintf(stream, "nothing is predicted: that takes one INT8 and one "
                        "FP32 file with the quantiser's levels, and no "
                        "van_vleck\n");
    fputc('\n', stream);
}

void fx8_compare_print(const struct fx8_comparison *comparison, bool brief,
                       FILE *stream)
{
    if (!brief) {
        print_verdict(comparison, stream);
        print_files(comparison, stream);
    }
    print_heading(comparison, stream);
    print_sums(comparison, "all pairs", &comparison->overall,
               FX8_COMPARE_CHANNEL, stream);
    if (brief) {
        print_verdict(comparison, stream);
        return;
    }
    print_sums(comparison, "autos", &comparison->autos, FX8_COMPARE_CHANNEL,
               stream);
    if (!comparison->is_identical) {
        print_worst(comparison, FX8_COMPARE_CHANNEL, stream);
        print_worst(comparison, FX8_COMPARE_BASELINE, stream);
    }
    print_cells(comparison, stream);
    print_levels(comparison, stream);
    print_checks(comparison, stream);
    print_left_out(comparison, stream);
    print_lost(comparison, stream);
}
