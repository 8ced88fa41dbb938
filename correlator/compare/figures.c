/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/median.h"
#include "correlator/compare/figures.h"

static const double degree = 180.0 / 3.14159265358979323846;

const char *const fx8_compare_reason_names[FX8_COMPARE_N_REASONS] = {
    "flagged or without data", "no power in the reference",
    "never levelled",          "clipped more than 1e-4",
    "level below 1 LSB",       "coherence above 0.9",
};

/* --- figures of a group ------------------------------------------ */

/*
 * Effective number of independent cells in a group; 0 for none.
 *
 * For M products and more, each |delta|^2 / expected is the square of a complex
 * Gaussian: mean 1, standard deviation 1.  Cells of pairs without a common
 * input are independent.  Pairs (i, j) and (i, k) share the rounding noise of
 * i, multiplied by E_j in one and by E_k in the other: their deltas correlate
 * by at most |rho_jk|, so the squares by at most |rho_jk|^2.  The measured mean
 * |rho|^2 is used for it; its noise, 1/M, is about what the chance alignment of
 * E_j and E_k over M spectra adds.  Each pair has 2 (n - 2) such neighbours, so
 * n_cells count as
 *
 *     n_cells / (1 + 2 (n - 2) mean |rho|^2).
 *
 * They never count as less than floor(n / 2) per channel and dump: that many
 * pairs share no input, and averaging over more cells can only help.
 */
static double count_independent(const struct fx8_comparison *comparison,
                                const struct fx8_compare_sums *sums)
{
    if (sums->n_cells == 0)
        return 0.0;
    const double n = (double)fx8_compare_inputs(&comparison->shape);
    const double n_cells = (double)sums->n_cells;
    const double n_pairs = 0.5 * n * (n - 1.0);
    const double neighbours = 1.0 + 2.0 * (n - 2.0) * sums->coherence / n_cells;
    return fmax(n_cells / neighbours, n_cells * floor(0.5 * n) / n_pairs);
}

/* Measured over predicted rms of a group of cells; NaN without theory or
 * cells. */
static double ratio_of(const struct fx8_comparison *comparison,
                       const struct fx8_compare_sums *sums)
{
    if (!comparison->has_theory || sums->n_cells == 0)
        return NAN;
    /* The median over channels of a mean of n squares, a Gamma variable, is
     * below 1: Choi (1994), Proc. AMS 121, 245.  Without this factor, many
     * channels with few cells would look too good. */
    const double n = fmax(1.0, count_independent(comparison, sums));
    const double median = 1.0 - 1.0 / (3.0 * n) + 8.0 / (405.0 * n * n);
    return sqrt(sums->ratio / (double)sums->n_cells / median);
}

/* Pairs of one baseline share an input only with cross hands: XX shares one
 * with XY and one with YX. */
static double independent_of(const struct fx8_comparison *comparison,
                             const struct fx8_compare_sums *sums,
                             enum fx8_compare_group group)
{
    if (group == FX8_COMPARE_CHANNEL)
        return count_independent(comparison, sums);
    const double n_cells = (double)sums->n_cells;
    const double neighbours = comparison->shape.n_products > 2 ? 2.0 : 0.0;
    return n_cells / (1.0 + neighbours * sums->coherence / n_cells);
}

struct fx8_compare_figures fx8_compare_figures_of(
    const struct fx8_comparison *comparison,
    const struct fx8_compare_sums *sums, enum fx8_compare_group group)
{
    struct fx8_compare_figures figures = {sums->n_cells, NAN, NAN, NAN,
                                          NAN,           NAN, NAN};
    if (sums->n_cells == 0)
        return figures;
    const double n = (double)sums->n_cells;
    if (sums->coherence > 0.0) {
        figures.amplitude =
            hypot(sums->product[0], sums->product[1]) / sums->coherence;
        figures.phase_deg = degree * atan2(sums->product[1], sums->product[0]);
    }
    figures.measured = sqrt(sums->difference / n);
    if (!comparison->has_theory || !(sums->expected > 0.0))
        return figures;
    figures.predicted = sqrt(sums->expected / n);
    figures.ratio = ratio_of(comparison, sums);
    figures.sigmas =
        (sums->ratio / n - 1.0) * sqrt(independent_of(comparison, sums, group));
    return figures;
}

/* How bad a group is; below 0: no cells. */
static double badness(const struct fx8_comparison *comparison,
                      const struct fx8_compare_sums *sums,
                      enum fx8_compare_group group)
{
    const struct fx8_compare_figures figures =
        fx8_compare_figures_of(comparison, sums, group);
    if (figures.n_cells == 0)
        return -1.0;
    return isnan(figures.sigmas) ? figures.measured : fabs(figures.sigmas);
}

size_t fx8_compare_worst(const struct fx8_comparison *comparison,
                         enum fx8_compare_group group,
                         size_t worst[FX8_COMPARE_WORST])
{
    const bool by_channel = group == FX8_COMPARE_CHANNEL;
    const struct fx8_compare_sums *groups =
        by_channel ? comparison->channels : comparison->baselines;
    const size_t n_groups = by_channel ? comparison->shape.n_channels
                                       : comparison->shape.n_baselines;
    double bad[FX8_COMPARE_WORST];
    size_t n_worst = 0;
    for (size_t g = 0; g < n_groups; g++) {
        const double of_this = badness(comparison, &groups[g], group);
        size_t at = n_worst;
        while (at > 0 && bad[at - 1] < of_this)
            at--;
        if (of_this < 0.0 || at == FX8_COMPARE_WORST)
            continue;
        n_worst += n_worst < FX8_COMPARE_WORST;
        memmove(worst + at + 1, worst + at, (n_worst - 1 - at) * sizeof *worst);
        memmove(bad + at + 1, bad + at, (n_worst - 1 - at) * sizeof *bad);
        worst[at] = g;
        bad[at] = of_this;
    }
    return n_worst;
}

/* --- phases and amplitudes --------------------------------------- */

/* The next of 1, 2, 5, 10 ... times a power of ten. */
static double round_up(double value)
{
    const double decade = pow(10.0, floor(log10(value)));
    const double steps[] = {1.0, 2.0, 5.0};
    for (size_t k = 0; k < 3; k++)
        if (value <= steps[k] * decade)
            return steps[k] * decade;
    return 10.0 * decade;
}

/* The magnitude that contains half of the values (or, with the flag, more than
 * half), by bisection. */
static double half_within(const struct fx8_compare_spread *spread, bool is_more)
{
    const double half = 0.5 * (double)spread->n;
    double low = 0.0, high = spread->largest, inside = 0.0;
    for (int k = 0; k < 40 && high > 0.0; k++) {
        const double middle = 0.5 * (low + high);
        fx8_compare_spread_fill(spread, -middle, 2.0 * middle, 1, &inside);
        if (is_more ? inside <= half : inside < half)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* For an even number, the mean of the two middle magnitudes. */
static double median_magnitude(const struct fx8_compare_spread *spread)
{
    return 0.5 * (half_within(spread, false) + half_within(spread, true));
}

void fx8_compare_phases_of(const struct fx8_comparison *comparison,
                           struct fx8_compare_phases *phases)
{
    const struct fx8_compare_spread *spread = &comparison->phase;
    *phases = (struct fx8_compare_phases){
        .rms_deg = NAN, .median_deg = NAN, .median_absolute_deg = NAN};
    /* four standard deviations of a Gaussian, rounded up to a round number */
    const double half = degree * median_magnitude(spread);
    const double range = half > 0.0 ? fmin(180.0, round_up(6.0 * half)) : 1.0;
    phases->first_deg = -range;
    phases->step_deg = 2.0 * range / FX8_COMPARE_PHASE_BINS;
    if (spread->n == 0)
        return;
    const double n = (double)spread->n;
    fx8_compare_spread_fill(spread, phases->first_deg / degree,
                            phases->step_deg / degree, FX8_COMPARE_PHASE_BINS,
                            phases->percent);
    double inside = 0.0;
    for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++) {
        phases->percent[k] *= 100.0 / n;
        inside += phases->percent[k];
    }
    phases->percent_outside = fmax(0.0, 100.0 - inside);
    phases->rms_deg = degree * sqrt(spread->sum_2 / n);
    phases->median_deg = degree * fx8_compare_spread_quantile(spread, 0.5);
    phases->median_absolute_deg = half;
}

struct fx8_compare_amplitudes fx8_compare_amplitudes_of(
    const struct fx8_comparison *comparison)
{
    const struct fx8_compare_spread *spread = &comparison->log_amplitude;
    if (spread->n == 0)
        return (struct fx8_compare_amplitudes){NAN, NAN, NAN};
    const double share = 0.5 * 0.6827;
    return (struct fx8_compare_amplitudes){
        exp(fx8_compare_spread_quantile(spread, 0.5)),
        exp(fx8_compare_spread_quantile(spread, 0.5 - share)),
        exp(fx8_compare_spread_quantile(spread, 0.5 + share)),
    };
}

/* --- names ------------------------------------------------------- */

void fx8_compare_input_name(const struct fx8_comparison *comparison,
                            size_t input, char name[FX8_COMPARE_NAME_SIZE])
{
    const size_t n_polarizations = comparison->shape.n_polarizations;
    const char *feeds = comparison->shape.is_circular ? "RL" : "XY";
    snprintf(name, FX8_COMPARE_NAME_SIZE, "%" PRId64 "%c",
             comparison->antenna_numbers[input / n_polarizations],
             feeds[input % n_polarizations]);
}

void fx8_compare_baseline_name(const struct fx8_comparison *comparison,
                               size_t baseline,
                               char name[FX8_COMPARE_NAME_SIZE])
{
    const size_t *antennas = comparison->baseline_antennas[baseline];
    snprintf(name, FX8_COMPARE_NAME_SIZE, "%" PRId64 "-%" PRId64,
             comparison->antenna_numbers[antennas[0]],
             comparison->antenna_numbers[antennas[1]]);
}

size_t fx8_compare_print_inputs(const struct fx8_comparison *comparison,
                                const int64_t *counts, size_t most,
                                FILE *stream)
{
    size_t n = 0;
    for (size_t i = 0; i < fx8_compare_inputs(&comparison->shape); i++) {
        char name[FX8_COMPARE_NAME_SIZE];
        fx8_compare_input_name(comparison, i, name);
        if (counts[i] > 0 && n++ < most)
            fprintf(stream, "%s%s", n == 1 ? "" : ", ", name);
    }
    return n;
}

size_t fx8_compare_print_ranges(const int64_t *counts, size_t n, size_t most,
                                const char *dash, FILE *stream)
{
    size_t n_ranges = 0;
    for (size_t first = 0; first < n; first++) {
        if (counts[first] == 0)
            continue;
        size_t last = first;
        while (last + 1 < n && counts[last + 1] != 0)
            last++;
        if (n_ranges < most)
            fprintf(stream, "%s%zu", n_ranges == 0 ? "" : ", ", first);
        if (n_ranges < most && last > first)
            fprintf(stream, "%s%zu", dash, last);
        n_ranges++;
        first = last;
    }
    return n_ranges > most ? n_ranges - most : 0;
}

const char *fx8_compare_unit(const struct fx8_comparison *comparison)
{
    if (!comparison->is_absolute)
        return "coherence";
    return comparison->units[0] != '\0' ? comparison->units
                                        : "unit of the visibilities";
}

/* --- the end of a comparison ------------------------------------- */

/* `scratch` [n_channels]. */
static void finish_input(struct fx8_comparison *comparison, size_t input,
                         double *scratch)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t first = input * n_channels;
    const double *inverse = comparison->inverse_gain_2 + first;
    const double *clips = comparison->clip_fraction + first;
    struct fx8_compare_input *figures = &comparison->inputs[input];
    *figures = (struct fx8_compare_input){0, NAN, NAN, NAN, NAN, 0.0, 0.0};
    size_t n = 0, n_levels = 0;
    for (size_t c = 0; c < n_channels; c++) {
        figures->clip_mean += clips[c] / (double)n_channels;
        figures->clip_largest = fmax(figures->clip_largest, clips[c]);
        if (inverse[c] > 0.0)
            scratch[n++] = 1.0 / sqrt(inverse[c]);
    }
    figures->n_levelled = n;
    figures->gain_median = fx8_median(scratch, n);
    if (n > 0) {
        figures->gain_lowest = scratch[0];
        figures->gain_highest = scratch[n - 1];
    }
    for (size_t c = 0; c < n_channels; c++) {
        const int64_t n_dumps = comparison->power_count[first + c];
        /* sigma^2 = g^2 P / 2 per real component */
        if (inverse[c] > 0.0 && n_dumps > 0)
            scratch[n_levels++] = sqrt(comparison->power_sum[first + c] /
                                       (double)n_dumps / (2.0 * inverse[c]));
    }
    figures->level_median = fx8_median(scratch, n_levels);
}

void fx8_compare_finish(struct fx8_comparison *comparison)
{
    fx8_compare_merge(comparison);
    comparison->median_ratio = comparison->standard_error = NAN;
    comparison->low = comparison->high = NAN;
    const size_t n_channels = comparison->shape.n_channels;
    double *ratios = comparison->scratch;
    double variance = 0.0;
    size_t n = 0;
    for (size_t c = 0; c < n_channels; c++)
        if (comparison->channels[c].n_cells > 0) {
            const struct fx8_compare_sums *sums = &comparison->channels[c];
            ratios[n++] = ratio_of(comparison, sums);
            /* variance of a root mean square of n_independent complex cells */
            variance += 0.25 / fmax(1.0, count_independent(comparison, sums));
        }
    comparison->n_channels_used = n;
    if (n > 0 && comparison->has_theory) {
        comparison->median_ratio = fx8_median(ratios, n);
        /* sqrt(pi / 2): for Gaussian values the median's standard error is
         * larger than the mean's by this factor */
        comparison->standard_error =
            sqrt(1.5707963267948966 * variance / (double)n / (double)n);
        const double margin = FX8_COMPARE_SIGMAS * comparison->standard_error;
        comparison->low = FX8_COMPARE_RATIO_LOW - margin;
        comparison->high = FX8_COMPARE_RATIO_HIGH + margin;
    }
    fx8_compare_judge_all(comparison);
    const size_t n_inputs = fx8_compare_inputs(&comparison->shape);
    for (size_t input = 0; input < n_inputs; input++)
        finish_input(comparison, input, ratios);
}
