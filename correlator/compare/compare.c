/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c -- the sums.  See files.c for reading, judge.c for the limits of a
 * cell, figures.c and verdict.c for the evaluation, print.c, json.c and html.c
 * for output.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/try.h"
#include "correlator/compare/figures.h"

static size_t n_inputs(const struct fx8_comparison *comparison)
{
    return fx8_compare_inputs(&comparison->shape);
}

static enum fx8_status allocate_all(struct fx8_comparison *comparison,
                                    struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    const size_t n_channels = shape->n_channels;
    const size_t n_levels = fx8_product(n_inputs(comparison), n_channels, 1, 1);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(comparison->inverse_gain_2, n_levels),
        FX8_ITEMS(comparison->clip_fraction, n_levels),
        FX8_ITEMS(comparison->coarsest_2, n_levels),
        FX8_ITEMS(comparison->finest_2, n_levels),
        FX8_ITEMS(comparison->has_unit_gain, n_levels),
        FX8_ITEMS(comparison->levels, n_levels),
        FX8_ITEMS(comparison->scratch, n_channels),
        FX8_ITEMS(comparison->power_sum, n_levels),
        FX8_ITEMS(comparison->power_count, n_levels),
        FX8_ITEMS(comparison->inputs, n_inputs(comparison)),
        FX8_ITEMS(comparison->channels, n_channels),
        FX8_ITEMS(comparison->baselines, shape->n_baselines),
        FX8_ITEMS(comparison->channels_left_out,
                  fx8_product(FX8_COMPARE_N_REASONS, n_channels, 1, 1)),
        FX8_ITEMS(
            comparison->inputs_left_out,
            fx8_product(FX8_COMPARE_N_REASONS, n_inputs(comparison), 1, 1)),
        FX8_ITEMS(comparison->frequencies_hz, n_channels),
        FX8_ITEMS(comparison->antenna_numbers, shape->n_antennas),
        FX8_ITEMS(comparison->baseline_antennas, shape->n_baselines),
    };
    memcpy(comparison->arrays, arrays, sizeof arrays);
    comparison->n_arrays = sizeof arrays / sizeof *arrays;
    FX8_TRY(fx8_allocate_arrays(comparison->arrays, comparison->n_arrays,
                                "comparison", error));
    FX8_TRY(fx8_compare_spread_open(&comparison->phase, "phases", error));
    return fx8_compare_spread_open(&comparison->log_amplitude, "amplitudes",
                                   error);
}

/* Levels of the groups of averaged channels. */
static void combine_levels(const struct fx8_compare_theory *theory,
                           struct fx8_comparison *comparison)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t n_average = theory->n_plan_channels / n_channels;
    for (size_t cell = 0; cell < n_inputs(comparison) * n_channels; cell++) {
        const double *gain = theory->gain + cell * n_average;
        const double *clips = theory->clip_fraction + cell * n_average;
        double sum = 0.0, worst = 0.0, most = 0.0, least = INFINITY;
        for (size_t c = 0; c < n_average; c++) {
            int exponent;
            const double step_2 =
                gain[c] > 0.0 ? 1.0 / (gain[c] * gain[c]) : 0.0;
            sum += step_2;
            most = fmax(most, step_2);
            least = fmin(least, step_2);
            worst = fmax(worst, clips[c]);
            comparison->has_unit_gain[cell] = comparison->has_unit_gain[cell] ||
                                              gain[c] == 0.0 ||
                                              frexp(gain[c], &exponent) == 0.5;
        }
        comparison->inverse_gain_2[cell] =
            least > 0.0 ? sum / (double)n_average : 0.0;
        comparison->coarsest_2[cell] = most;
        comparison->finest_2[cell] = least;
        comparison->clip_fraction[cell] = worst;
    }
    comparison->has_bias = theory->has_bias;
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
    FX8_TRY(allocate_all(comparison, error));
    if (theory != NULL)
        combine_levels(theory, comparison);
    return FX8_OK;
}

void fx8_compare_begin_dump(struct fx8_comparison *comparison,
                            const struct fx8_compare_autos *autos)
{
    if (comparison->n_dumps > 0)
        fx8_compare_judge_dump(comparison);
    comparison->dump = *autos;
    comparison->dump_spectra = comparison->spectra_per_mean * autos->length;
    comparison->n_dumps++;
    for (size_t at = 0;
         at < n_inputs(comparison) * comparison->shape.n_channels; at++)
        if (autos->reference[at] > 0.0) {
            comparison->power_sum[at] += autos->reference[at];
            comparison->power_count[at]++;
        }
    for (size_t input = 0; input < n_inputs(comparison); input++)
        fx8_compare_level_input(comparison, input);
}

/* Count a cell as left out; a fault of one input counts for that input alone.
 */
static void leave_out(struct fx8_comparison *comparison,
                      const struct fx8_compare_cell *cell,
                      enum fx8_compare_reason reason, bool first_input,
                      bool second_input)
{
    const size_t n_channels = comparison->shape.n_channels;
    comparison->left_out[reason]++;
    comparison->channels_left_out[reason * n_channels + cell->place.channel]++;
    int64_t *inputs =
        comparison->inputs_left_out + reason * n_inputs(comparison);
    inputs[cell->inputs[0]] += first_input;
    inputs[cell->inputs[1]] += second_input;
}

/* Why the cell is left out, or N_REASONS; counts it. */
static enum fx8_compare_reason reason_of(struct fx8_comparison *comparison,
                                         const struct fx8_compare_cell *cell)
{
    enum fx8_compare_reason
        first = (enum fx8_compare_reason)cell->levels[0]->reason,
        second = (enum fx8_compare_reason)cell->levels[1]->reason;
    if (cell->is_flagged || !(cell->nsamples > 0.0))
        first = second = FX8_COMPARE_FLAGGED;
    enum fx8_compare_reason reason = first < second ? first : second;
    if (reason == FX8_COMPARE_N_REASONS && comparison->has_theory &&
        cell->coherence > FX8_COMPARE_COHERENCE * FX8_COMPARE_COHERENCE)
        reason = first = second = FX8_COMPARE_COHERENT;
    if (reason != FX8_COMPARE_N_REASONS)
        leave_out(comparison, cell, reason, first == reason, second == reason);
    return reason;
}

/* `product` is conj(rho_B) rho_A. */
static void add_to(struct fx8_compare_sums *sums,
                   const struct fx8_compare_cell *cell, const double product[2])
{
    sums->n_cells++;
    sums->difference += cell->difference;
    sums->expected += cell->expected;
    if (cell->expected > 0.0)
        sums->ratio += cell->difference / cell->expected;
    sums->coherence += cell->coherence;
    sums->product[0] += product[0];
    sums->product[1] += product[1];
}

static void add_auto(struct fx8_comparison *comparison,
                     struct fx8_compare_cell *cell)
{
    if (cell->is_flagged || !(cell->nsamples > 0.0))
        return;
    fx8_compare_judge_auto(comparison, cell);
    if (cell->levels[0]->reason != FX8_COMPARE_N_REASONS)
        return;
    const double power = cell->reference[0];
    const double product[2] = {cell->subject[0] / power, 0.0};
    const double difference = (cell->subject[0] - power) / power;
    cell->difference = difference * difference;
    cell->coherence = 1.0;
    add_to(&comparison->autos, cell, product);
}

/* `product` is conj(B) A, `coherence` |B|^2. */
static void add_to_spreads(struct fx8_comparison *comparison,
                           const double product[2], double coherence)
{
    const double magnitude = hypot(product[0], product[1]);
    if (!(magnitude > 0.0))
        return; /* one is zero and has no phase */
    fx8_compare_spread_add(&comparison->phase, atan2(product[1], product[0]));
    fx8_compare_spread_add(&comparison->log_amplitude,
                           log(magnitude / coherence));
}

static void add_pair(struct fx8_comparison *comparison,
                     struct fx8_compare_cell *cell)
{
    const double *a = cell->subject, *b = cell->reference;
    const double power = cell->power;
    const double re = a[0] - b[0], im = a[1] - b[1];
    cell->coherence = (b[0] * b[0] + b[1] * b[1]) / power;
    cell->difference = (re * re + im * im) / power;
    const double of_i = cell->levels[0]->noise, of_j = cell->levels[1]->noise;
    cell->expected = (of_i + of_j + of_i * of_j) /
                     (comparison->dump_spectra * cell->nsamples);
    const enum fx8_compare_reason reason = reason_of(comparison, cell);
    if (comparison->has_theory && reason != FX8_COMPARE_FLAGGED)
        fx8_compare_judge_pair(comparison, cell, reason);
    if (reason != FX8_COMPARE_N_REASONS)
        return;
    const double product[2] = {(b[0] * a[0] + b[1] * a[1]) / power,
                               (b[0] * a[1] - b[1] * a[0]) / power};
    if (!comparison->has_theory)
        cell->expected = 0.0;
    add_to_spreads(comparison, product, cell->coherence);
    add_to(&comparison->overall, cell, product);
    add_to(&comparison->channels[cell->place.channel], cell, product);
    add_to(&comparison->baselines[cell->place.baseline], cell, product);
}

/* Powers and levels of the inputs of a cell. */
static void look_up(const struct fx8_comparison *comparison,
                    struct fx8_compare_cell *cell)
{
    cell->power = 1.0;
    for (size_t end = 0; end < 2; end++) {
        const size_t at = cell->inputs[end] * comparison->shape.n_channels +
                          cell->place.channel;
        cell->power *= comparison->dump.reference[at];
        cell->weights[end] = comparison->dump.weight[at];
        cell->levels[end] = &comparison->levels[at];
        cell->has_unit_gain =
            cell->has_unit_gain || comparison->has_unit_gain[at];
    }
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
            continue; /* for one antenna YX is the same pair as XY */
        struct fx8_compare_cell cell = {
            .place = {baseline, at % shape->n_products, at / shape->n_products,
                      (size_t)comparison->n_dumps - 1},
            .inputs = {antenna_1 * shape->n_polarizations + (size_t)feeds[0],
                       antenna_2 * shape->n_polarizations + (size_t)feeds[1]},
            .subject = subject->visibilities + 2 * at,
            .reference = reference->visibilities + 2 * at,
            .nsamples = fmin(subject->nsamples[at], reference->nsamples[at]),
            .is_flagged = subject->flags[at] != 0 || reference->flags[at] != 0,
        };
        look_up(comparison, &cell);
        if (comparison->has_theory)
            fx8_compare_judge_mask(comparison, &cell, subject, reference, at);
        if (cell.inputs[0] == cell.inputs[1])
            add_auto(comparison, &cell);
        else
            add_pair(comparison, &cell);
    }
}

void fx8_compare_clear(struct fx8_comparison *comparison)
{
    fx8_free_arrays(comparison->arrays, comparison->n_arrays);
    fx8_compare_spread_clear(&comparison->phase);
    fx8_compare_spread_clear(&comparison->log_amplitude);
    *comparison = (struct fx8_comparison){0};
}
