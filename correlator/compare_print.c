/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_print.c -- a comparison as a table, and its verdict.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "correlator/compare.h"

/* Lines of the tables of the worst channels and baselines. */
#define MAX_WORST 5

/* Items of a list before it is cut short. */
#define MAX_LISTED 8

static const char *const reason_names[FX8_COMPARE_N_REASONS] = {
    "flagged or without data", "no power in the reference",
    "never levelled",          "clipped more than 1e-4",
    "level below 1 LSB",       "coherence above 0.9",
};

static const double degree = 180.0 / 3.14159265358979323846;

static void print_heading(const struct fx8_comparison *comparison, FILE *stream)
{
    fprintf(stream, "%-22s %12s %10s %11s %12s", "", "cells", "amplitude",
            "phase/deg", "rms diff");
    if (comparison->has_theory)
        fprintf(stream, " %12s %8s", "predicted", "ratio");
    fputc('\n', stream);
}

static void print_sums(const struct fx8_comparison *comparison,
                       const char *label, const struct fx8_compare_sums *sums,
                       FILE *stream)
{
    fprintf(stream, "%-22s %12" PRId64, label, sums->n_cells);
    if (sums->n_cells == 0) {
        fputc('\n', stream);
        return;
    }
    const double n = (double)sums->n_cells;
    const double amplitude =
        hypot(sums->product[0], sums->product[1]) / sums->coherence;
    const double phase = atan2(sums->product[1], sums->product[0]);
    fprintf(stream, " %10.6f %11.6f %12.4e", amplitude, degree * phase,
            sqrt(sums->difference / n));
    if (comparison->has_theory && sums->expected > 0.0)
        fprintf(stream, " %12.4e %8.4f", sqrt(sums->expected / n),
                fx8_compare_ratio(comparison, sums));
    fputc('\n', stream);
}

/* How bad a group is: factor away from theory, or else the difference. */
static double badness(const struct fx8_comparison *comparison,
                      const struct fx8_compare_sums *sums)
{
    if (sums->n_cells == 0)
        return -1.0;
    if (!comparison->has_theory)
        return sums->difference / (double)sums->n_cells;
    return fabs(log(fmax(fx8_compare_ratio(comparison, sums), 1e-30)));
}

/* Indices of the worst groups, worst first; returns how many. */
static size_t find_worst(const struct fx8_comparison *comparison,
                         const struct fx8_compare_sums *groups, size_t n_groups,
                         size_t worst[MAX_WORST])
{
    size_t n_worst = 0;
    for (size_t g = 0; g < n_groups; g++) {
        const double bad = badness(comparison, &groups[g]);
        if (bad < 0.0)
            continue;
        size_t at = n_worst;
        while (at > 0 && badness(comparison, &groups[worst[at - 1]]) < bad)
            at--;
        if (at == MAX_WORST)
            continue;
        n_worst += n_worst < MAX_WORST;
        memmove(worst + at + 1, worst + at, (n_worst - 1 - at) * sizeof *worst);
        worst[at] = g;
    }
    return n_worst;
}

static void print_worst(const struct fx8_comparison *comparison, FILE *stream)
{
    size_t worst[MAX_WORST];
    char label[64];
    size_t n = find_worst(comparison, comparison->channels,
                          comparison->shape.n_channels, worst);
    for (size_t k = 0; k < n; k++) {
        snprintf(label, sizeof label, "%s %zu, %.6f MHz",
                 k == 0 ? "channel" : "       ", worst[k],
                 comparison->frequencies_hz[worst[k]] * 1e-6);
        print_sums(comparison, label, &comparison->channels[worst[k]], stream);
    }
    n = find_worst(comparison, comparison->baselines,
                   comparison->shape.n_baselines, worst);
    for (size_t k = 0; k < n; k++) {
        const size_t *antennas = comparison->baseline_antennas[worst[k]];
        snprintf(label, sizeof label, "%s %" PRId64 "-%" PRId64,
                 k == 0 ? "baseline" : "        ",
                 comparison->antenna_numbers[antennas[0]],
                 comparison->antenna_numbers[antennas[1]]);
        print_sums(comparison, label, &comparison->baselines[worst[k]], stream);
    }
}

/* Channels with a count, as ranges: "0-1, 63". */
static void print_ranges(const int64_t *counts, size_t n, FILE *stream)
{
    size_t n_ranges = 0;
    for (size_t first = 0; first < n; first++) {
        if (counts[first] == 0)
            continue;
        size_t last = first;
        while (last + 1 < n && counts[last + 1] != 0)
            last++;
        if (n_ranges == MAX_LISTED) {
            fprintf(stream, ", ...");
            return;
        }
        fprintf(stream, "%s%zu", n_ranges++ == 0 ? "" : ", ", first);
        if (last > first)
            fprintf(stream, "-%zu", last);
        first = last;
    }
}

/* Inputs with a count: "5X, 5Y, ..." */
static void print_inputs(const struct fx8_comparison *comparison,
                         const int64_t *counts, FILE *stream)
{
    const size_t n_polarizations = comparison->shape.n_polarizations;
    const size_t n_inputs = comparison->shape.n_antennas * n_polarizations;
    size_t n_listed = 0, n_counted = 0;
    for (size_t input = 0; input < n_inputs; input++)
        n_counted += counts[input] != 0;
    if (n_counted == n_inputs) {
        fprintf(stream, "all");
        return;
    }
    for (size_t input = 0; input < n_inputs; input++) {
        if (counts[input] == 0)
            continue;
        if (n_listed == MAX_LISTED) {
            fprintf(stream, ", ... (%zu)", n_counted);
            return;
        }
        fprintf(stream, "%s%" PRId64 "%c", n_listed++ == 0 ? "" : ", ",
                comparison->antenna_numbers[input / n_polarizations],
                input % n_polarizations == 0 ? 'X' : 'Y');
    }
}

static void print_left_out(const struct fx8_comparison *comparison,
                           FILE *stream)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t n_inputs =
        comparison->shape.n_antennas * comparison->shape.n_polarizations;
    for (size_t reason = 0; reason < FX8_COMPARE_N_REASONS; reason++) {
        if (comparison->left_out[reason] == 0)
            continue;
        fprintf(stream, "left out: %s: %" PRId64 " cells, channels ",
                reason_names[reason], comparison->left_out[reason]);
        print_ranges(comparison->channels_left_out + reason * n_channels,
                     n_channels, stream);
        fprintf(stream, ", inputs ");
        print_inputs(comparison,
                     comparison->inputs_left_out + reason * n_inputs, stream);
        fputc('\n', stream);
    }
}

void fx8_compare_print(const struct fx8_comparison *comparison, bool brief,
                       FILE *stream)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    if (!brief) {
        fprintf(stream, "%s against %s\n", comparison->subject_name,
                comparison->reference_name);
        fprintf(stream,
                "%" PRId64 " dumps, %zu antennas, %zu baselines, %zu products, "
                "%zu channels\n",
                comparison->n_dumps, shape->n_antennas, shape->n_baselines,
                shape->n_products, shape->n_channels);
        if (!comparison->has_theory)
            fprintf(stream, "nothing is predicted: that takes one INT8 and one "
                            "FP32 file with the quantiser's levels\n");
        fputc('\n', stream);
    }
    print_heading(comparison, stream);
    print_sums(comparison, "all pairs", &comparison->overall, stream);
    if (!brief) {
        print_sums(comparison, "autos", &comparison->autos, stream);
        print_worst(comparison, stream);
        fputc('\n', stream);
        print_left_out(comparison, stream);
    }
    char reason[FX8_TEXT_SIZE];
    const bool is_inside = fx8_compare_verdict(comparison, reason);
    const bool is_judged =
        comparison->is_identical ||
        (comparison->has_theory && comparison->n_channels_used > 0);
    fprintf(stream, "verdict: %s: %s\n",
            !is_judged  ? "none"
            : is_inside ? "good"
                        : "outside",
            reason);
}

bool fx8_compare_verdict(const struct fx8_comparison *comparison,
                         char reason[FX8_TEXT_SIZE])
{
    if (comparison->is_identical) {
        snprintf(reason, FX8_TEXT_SIZE, "identical to the last bit");
        return true;
    }
    if (comparison->lacks_levels) {
        snprintf(reason, FX8_TEXT_SIZE,
                 "different, and without /fx8/gain nothing can be predicted");
        return false;
    }
    if (!comparison->has_theory) {
        snprintf(reason, FX8_TEXT_SIZE,
                 "different; no prediction to hold it against");
        return true;
    }
    if (comparison->n_channels_used == 0) {
        snprintf(reason, FX8_TEXT_SIZE,
                 "every cell is left out: nothing to judge by");
        return false;
    }
    const double ratio = comparison->median_ratio;
    const bool is_inside =
        ratio >= comparison->low && ratio <= comparison->high;
    snprintf(reason, FX8_TEXT_SIZE,
             "median over %zu channels of measured / predicted %.4f, expected "
             "%.4f to %.4f (%.1f to %.1f and %.0f standard errors of %.4f)",
             comparison->n_channels_used, ratio, comparison->low,
             comparison->high, FX8_COMPARE_RATIO_LOW, FX8_COMPARE_RATIO_HIGH,
             FX8_COMPARE_SIGMAS, comparison->standard_error);
    return is_inside;
}
