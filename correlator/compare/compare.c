/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c -- the sums; reading is files.c, what is made of the sums
 * figures.c, showing it print.c, json.c, html.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/shape.h"
#include "correlator/compare/compare.h"

static size_t n_inputs(const struct fx8_comparison *comparison)
{
    return comparison->shape.n_antennas * comparison->shape.n_polarizations;
}

static enum fx8_status allocate_all(struct fx8_comparison *comparison,
                                    struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    const size_t n_channels = shape->n_channels;
    const size_t n_levels = fx8_product(n_inputs(comparison), n_channels, 1, 1);
    const struct fx8_array arrays[] = {
        {&comparison->inverse_gain_2, n_levels, sizeof(double)},
        {&comparison->clip_fraction, n_levels, sizeof(double)},
        {&comparison->reference_power, n_levels, sizeof(double)},
        {&comparison->power_sum, n_levels, sizeof(double)},
        {&comparison->power_count, n_levels, sizeof(int64_t)},
        {&comparison->inputs, n_inputs(comparison), sizeof *comparison->inputs},
        {&comparison->channels, n_channels, sizeof *comparison->channels},
        {&comparison->baselines, shape->n_baselines,
         sizeof *comparison->baselines},
        {&comparison->channels_left_out,
         fx8_product(FX8_COMPARE_N_REASONS, n_channels, 1, 1), sizeof(int64_t)},
        {&comparison->inputs_left_out,
         fx8_product(FX8_COMPARE_N_REASONS, n_inputs(comparison), 1, 1),
         sizeof(int64_t)},
        {&comparison->frequencies_hz, n_channels, sizeof(double)},
        {&comparison->antenna_numbers, shape->n_antennas, sizeof(int64_t)},
        {&comparison->baseline_antennas, shape->n_baselines,
         sizeof *comparison->baseline_antennas},
    };
    enum fx8_status status = fx8_allocate_arrays(
        arrays, sizeof arrays / sizeof *arrays, "comparison", error);
    if (status == FX8_OK)
        status = fx8_compare_spread_open(&comparison->phase, "phases", error);
    if (status == FX8_OK)
        status = fx8_compare_spread_open(&comparison->log_amplitude,
                                         "amplitudes", error);
    return status;
}

/* Levels of the groups of channels that were averaged. */
static void combine_levels(const struct fx8_compare_theory *theory,
                           struct fx8_comparison *comparison)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t n_average = theory->n_plan_channels / n_channels;
    for (size_t cell = 0; cell < n_inputs(comparison) * n_channels; cell++) {
        const double *gain = theory->gain + cell * n_average;
        const double *clips = theory->clip_fraction + cell * n_average;
        double sum = 0.0, worst = 0.0;
        bool is_levelled = true;
        for (size_t c = 0; c < n_average; c++) {
            is_levelled = is_levelled && gain[c] > 0.0;
            if (is_levelled)
                sum += 1.0 / (gain[c] * gain[c]);
            worst = fmax(worst, clips[c]);
        }
        comparison->inverse_gain_2[cell] =
            is_levelled ? sum / (double)n_average : 0.0;
        comparison->clip_fraction[cell] = worst;
    }
    comparison->spectra_per_mean = theory->spectra_per_dump * (double)n_average;
}

enum fx8_status fx8_compare_open(const struct fx8_compare_shape *shape,
                                 const struct fx8_compare_theory *theory,
                                 struct fx8_comparison *comparison,
                                 struct fx8_error *error)
{
    *comparison = (struct fx8_comparison){
        .shape = *shape,
        .has_theory = theory != NULL,
        .is_identical = true,
    };
    if (theory != NULL && (theory->n_plan_channels == 0 ||
                           theory->n_plan_channels % shape->n_channels != 0))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "/fx8/gain: %zu channels: expected a multiple of the "
                        "%zu channels of the visibilities",
                        theory->n_plan_channels, shape->n_channels);
    const enum fx8_status status = allocate_all(comparison, error);
    if (status == FX8_OK && theory != NULL)
        combine_levels(theory, comparison);
    return status;
}

void fx8_compare_begin_dump(struct fx8_comparison *comparison,
                            const double *power)
{
    const size_t n = n_inputs(comparison) * comparison->shape.n_channels;
    memcpy(comparison->reference_power, power, n * sizeof *power);
    for (size_t at = 0; at < n; at++)
        if (power[at] > 0.0) {
            comparison->power_sum[at] += power[at];
            comparison->power_count[at]++;
        }
    comparison->n_dumps++;
}

/* One cell on its way into the sums. */
struct cell {
    size_t channel;
    size_t inputs[2];
    const double *subject, *reference; /* re, im */
    double nsamples;
    bool is_flagged;
};

/* Share of rounding noise in the power of an input. */
static double noise_share(const struct fx8_comparison *comparison, size_t input,
                          size_t channel)
{
    const size_t at = input * comparison->shape.n_channels + channel;
    /* sigma^2 = g^2 P / 2 per real component, eps = 1 / (12 sigma^2) */
    return comparison->inverse_gain_2[at] /
           (6.0 * comparison->reference_power[at]);
}

/* Why input `input` cannot be judged in `channel`, or N_REASONS. */
static enum fx8_compare_reason input_reason(
    const struct fx8_comparison *comparison, size_t input, size_t channel)
{
    const size_t at = input * comparison->shape.n_channels + channel;
    if (!(comparison->reference_power[at] > 0.0))
        return FX8_COMPARE_NO_POWER;
    if (!comparison->has_theory)
        return FX8_COMPARE_N_REASONS;
    if (comparison->inverse_gain_2[at] == 0.0)
        return FX8_COMPARE_NO_GAIN;
    if (comparison->clip_fraction[at] > FX8_COMPARE_CLIPS)
        return FX8_COMPARE_CLIPPED;
    if (noise_share(comparison, input, channel) >
        1.0 / (12.0 * FX8_COMPARE_LEVEL * FX8_COMPARE_LEVEL))
        return FX8_COMPARE_LOW_LEVEL;
    return FX8_COMPARE_N_REASONS;
}

/* Count a cell as left out; a fault of one input is counted for it alone. */
static void leave_out(struct fx8_comparison *comparison,
                      const struct cell *cell, enum fx8_compare_reason reason,
                      bool first_input, bool second_input)
{
    const size_t n_channels = comparison->shape.n_channels;
    comparison->left_out[reason]++;
    comparison->channels_left_out[reason * n_channels + cell->channel]++;
    int64_t *inputs =
        comparison->inputs_left_out + reason * n_inputs(comparison);
    inputs[cell->inputs[0]] += first_input;
    inputs[cell->inputs[1]] += second_input;
}

/* Whether the cell is left out, and counted so. */
static bool is_left_out(struct fx8_comparison *comparison,
                        const struct cell *cell, double coherence_2)
{
    if (cell->is_flagged || !(cell->nsamples > 0.0)) {
        leave_out(comparison, cell, FX8_COMPARE_FLAGGED, true, true);
        return true;
    }
    const enum fx8_compare_reason first =
        input_reason(comparison, cell->inputs[0], cell->channel);
    const enum fx8_compare_reason second =
        input_reason(comparison, cell->inputs[1], cell->channel);
    const enum fx8_compare_reason reason = first < second ? first : second;
    if (reason != FX8_COMPARE_N_REASONS) {
        leave_out(comparison, cell, reason, first == reason, second == reason);
        return true;
    }
    if (comparison->has_theory &&
        coherence_2 > FX8_COMPARE_COHERENCE * FX8_COMPARE_COHERENCE) {
        leave_out(comparison, cell, FX8_COMPARE_COHERENT, true, true);
        return true;
    }
    return false;
}

static void add_to(struct fx8_compare_sums *sums, double difference,
                   double expected, double coherence, const double product[2])
{
    sums->n_cells++;
    sums->difference += difference;
    sums->expected += expected;
    if (expected > 0.0)
        sums->ratio += difference / expected;
    sums->coherence += coherence;
    sums->product[0] += product[0];
    sums->product[1] += product[1];
}

static void add_auto(struct fx8_comparison *comparison, const struct cell *cell)
{
    const size_t input = cell->inputs[0];
    if (cell->is_flagged || !(cell->nsamples > 0.0) ||
        input_reason(comparison, input, cell->channel) != FX8_COMPARE_N_REASONS)
        return;
    const double power = cell->reference[0];
    const double product[2] = {cell->subject[0] / power, 0.0};
    const double difference = (cell->subject[0] - power) / power;
    add_to(&comparison->autos, difference * difference, 0.0, 1.0, product);
}

/* `product` is conj(B) A, `coherence` |B|^2. */
static void add_to_spreads(struct fx8_comparison *comparison,
                           const double product[2], double coherence)
{
    const double magnitude = hypot(product[0], product[1]);
    if (!(magnitude > 0.0))
        return; /* one of them is zero and has no phase */
    fx8_compare_spread_add(&comparison->phase, atan2(product[1], product[0]));
    fx8_compare_spread_add(&comparison->log_amplitude,
                           log(magnitude / coherence));
}

static void add_pair(struct fx8_comparison *comparison, size_t baseline,
                     const struct cell *cell)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t i = cell->inputs[0], j = cell->inputs[1];
    const double *a = cell->subject, *b = cell->reference;
    const double power =
        comparison->reference_power[i * n_channels + cell->channel] *
        comparison->reference_power[j * n_channels + cell->channel];
    const double coherence = (b[0] * b[0] + b[1] * b[1]) / power;
    if (is_left_out(comparison, cell, coherence))
        return;
    const double product[2] = {(b[0] * a[0] + b[1] * a[1]) / power,
                               (b[0] * a[1] - b[1] * a[0]) / power};
    const double re = a[0] - b[0], im = a[1] - b[1];
    const double difference = (re * re + im * im) / power;
    double expected = 0.0;
    if (comparison->has_theory) {
        const double of_i = noise_share(comparison, i, cell->channel);
        const double of_j = noise_share(comparison, j, cell->channel);
        expected = (of_i + of_j + of_i * of_j) /
                   (comparison->spectra_per_mean * cell->nsamples);
    }
    add_to_spreads(comparison, product, coherence);
    add_to(&comparison->overall, difference, expected, coherence, product);
    add_to(&comparison->channels[cell->channel], difference, expected,
           coherence, product);
    add_to(&comparison->baselines[baseline], difference, expected, coherence,
           product);
}

void fx8_compare_add(struct fx8_comparison *comparison, size_t baseline,
                     size_t antenna_1, size_t antenna_2,
                     const struct fx8_compare_row *subject,
                     const struct fx8_compare_row *reference)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    const size_t n_cells = shape->n_channels * shape->n_products;
    comparison->baseline_antennas[baseline][0] = antenna_1;
    comparison->baseline_antennas[baseline][1] = antenna_2;
    comparison->is_identical =
        comparison->is_identical &&
        memcmp(subject->visibilities, reference->visibilities,
               2 * n_cells * sizeof(double)) == 0 &&
        memcmp(subject->flags, reference->flags, n_cells) == 0 &&
        memcmp(subject->nsamples, reference->nsamples,
               n_cells * sizeof(float)) == 0;
    for (size_t at = 0; at < n_cells; at++) {
        const int *feeds = shape->feeds[at % shape->n_products];
        if (antenna_1 == antenna_2 && feeds[0] > feeds[1])
            continue; /* YX of one antenna is XY again */
        const struct cell cell = {
            .channel = at / shape->n_products,
            .inputs = {antenna_1 * shape->n_polarizations + (size_t)feeds[0],
                       antenna_2 * shape->n_polarizations + (size_t)feeds[1]},
            .subject = subject->visibilities + 2 * at,
            .reference = reference->visibilities + 2 * at,
            .nsamples = fmin(subject->nsamples[at], reference->nsamples[at]),
            .is_flagged = subject->flags[at] != 0 || reference->flags[at] != 0,
        };
        if (cell.inputs[0] == cell.inputs[1])
            add_auto(comparison, &cell);
        else
            add_pair(comparison, baseline, &cell);
    }
}

void fx8_compare_clear(struct fx8_comparison *comparison)
{
    free(comparison->inverse_gain_2);
    free(comparison->clip_fraction);
    free(comparison->reference_power);
    free(comparison->channels);
    free(comparison->baselines);
    free(comparison->channels_left_out);
    free(comparison->inputs_left_out);
    free(comparison->frequencies_hz);
    free(comparison->antenna_numbers);
    free(comparison->baseline_antennas);
    free(comparison->power_sum);
    free(comparison->power_count);
    free(comparison->inputs);
    fx8_compare_spread_clear(&comparison->phase);
    fx8_compare_spread_clear(&comparison->log_amplitude);
    *comparison = (struct fx8_comparison){0};
}
