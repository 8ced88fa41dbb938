/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c -- a comparison as JSON: all figures of the table and the page, for
 * every channel, baseline and input.
 */
#include <math.h>

#include "config/base/json.h"
#include "correlator/compare/figures.h"

static void put_file(struct fx8_json *json, const char *key, const char *path,
                     const char *precision)
{
    fx8_json_object(json, key);
    fx8_json_text(json, "path", path);
    fx8_json_text(json, "precision", precision);
    fx8_json_end(json);
}

static void put_summary(struct fx8_json *json,
                        const struct fx8_comparison *comparison)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    fx8_json_integer(json, "n_dumps", comparison->n_dumps);
    fx8_json_integer(json, "n_antennas", (int64_t)shape->n_antennas);
    fx8_json_integer(json, "n_baselines", (int64_t)shape->n_baselines);
    fx8_json_integer(json, "n_products", (int64_t)shape->n_products);
    fx8_json_integer(json, "n_channels", (int64_t)shape->n_channels);
    fx8_json_text(json, "unit", fx8_compare_unit(comparison));
    fx8_json_bool(json, "is_identical", comparison->is_identical);
    fx8_json_bool(json, "has_theory", comparison->has_theory);
    fx8_json_object(json, "median_ratio");
    fx8_json_real(json, "value", comparison->median_ratio);
    fx8_json_real(json, "standard_error", comparison->standard_error);
    fx8_json_real(json, "low", comparison->low);
    fx8_json_real(json, "high", comparison->high);
    fx8_json_integer(json, "n_channels", (int64_t)comparison->n_channels_used);
    fx8_json_end(json);
}

/* Place of the worst of a check: the members that its groups have. */
static void put_place(struct fx8_json *json,
                      const struct fx8_comparison *comparison,
                      enum fx8_compare_check check)
{
    const struct fx8_compare_place *place = &comparison->worst[check].place;
    const bool is_cell =
        check == FX8_COMPARE_CHECK_MASKS || check >= FX8_COMPARE_CHECK_CELLS;
    if (is_cell || check == FX8_COMPARE_CHECK_BASELINES)
        fx8_json_integer(json, "baseline", (int64_t)place->baseline);
    if (is_cell)
        fx8_json_integer(json, "product", (int64_t)place->product);
    if (is_cell || check == FX8_COMPARE_CHECK_CHANNELS)
        fx8_json_integer(json, "channel", (int64_t)place->channel);
    if (is_cell || check == FX8_COMPARE_CHECK_DUMPS)
        fx8_json_integer(json, "dump", (int64_t)place->dump);
}

static void put_checks(struct fx8_json *json,
                       const struct fx8_comparison *comparison)
{
    fx8_json_array(json, "checks");
    for (enum fx8_compare_check check = 0;
         comparison->has_theory && check < FX8_COMPARE_N_CHECKS; check++) {
        const struct fx8_compare_worst_of *worst = &comparison->worst[check];
        char place[FX8_COMPARE_PLACE_SIZE];
        fx8_compare_place_name(comparison, check, place);
        fx8_json_object(json, NULL);
        fx8_json_text(json, "name", fx8_compare_check_names[check]);
        fx8_json_bool(json, "is_inside", fx8_compare_is_within(worst));
        fx8_json_integer(json, "n_judged", worst->n_judged);
        fx8_json_real(json, "value", worst->ratio);
        fx8_json_real(json, "most", worst->limits[1]);
        if (check >= FX8_COMPARE_CHECK_ALL &&
            check <= FX8_COMPARE_CHECK_DUMPS) {
            fx8_json_real(json, "plain_value", worst->plain);
            fx8_json_real(json, "least", worst->limits[0]);
        }
        fx8_json_text(json, "worst", place);
        if (place[0] != '\0')
            put_place(json, comparison, check);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

/* Add members to the open object and end it. */
static void put_figures(struct fx8_json *json,
                        const struct fx8_comparison *comparison,
                        const struct fx8_compare_sums *sums,
                        enum fx8_compare_group group)
{
    const struct fx8_compare_figures figures =
        fx8_compare_figures_of(comparison, sums, group);
    fx8_json_integer(json, "n_cells", figures.n_cells);
    fx8_json_real(json, "amplitude", figures.amplitude);
    fx8_json_real(json, "phase_deg", figures.phase_deg);
    fx8_json_real(json, "measured", figures.measured);
    fx8_json_real(json, "predicted", figures.predicted);
    fx8_json_real(json, "ratio", figures.ratio);
    fx8_json_real(json, "sigmas", figures.sigmas);
    fx8_json_end(json);
}

static void put_cells(struct fx8_json *json,
                      const struct fx8_comparison *comparison)
{
    const struct fx8_compare_amplitudes amplitudes =
        fx8_compare_amplitudes_of(comparison);
    fx8_json_object(json, "amplitude_ratio");
    fx8_json_real(json, "median", amplitudes.median);
    fx8_json_real(json, "low", amplitudes.low);
    fx8_json_real(json, "high", amplitudes.high);
    fx8_json_end(json);
    struct fx8_compare_phases phases;
    fx8_compare_phases_of(comparison, &phases);
    fx8_json_object(json, "phase_difference");
    fx8_json_integer(json, "n_cells", comparison->phase.n);
    fx8_json_real(json, "median_deg", phases.median_deg);
    fx8_json_real(json, "median_absolute_deg", phases.median_absolute_deg);
    fx8_json_real(json, "rms_deg", phases.rms_deg);
    fx8_json_real(json, "first_deg", phases.first_deg);
    fx8_json_real(json, "step_deg", phases.step_deg);
    fx8_json_array(json, "percent");
    for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++)
        fx8_json_real(json, NULL, phases.percent[k]);
    fx8_json_end(json);
    fx8_json_real(json, "percent_outside", phases.percent_outside);
    fx8_json_end(json);
}

static void put_left_out(struct fx8_json *json,
                         const struct fx8_comparison *comparison)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t n_inputs = fx8_compare_inputs(&comparison->shape);
    fx8_json_array(json, "left_out");
    for (size_t reason = 0; reason < FX8_COMPARE_N_REASONS; reason++) {
        if (comparison->left_out[reason] == 0)
            continue;
        const int64_t *channels =
            comparison->channels_left_out + reason * n_channels;
        const int64_t *inputs = comparison->inputs_left_out + reason * n_inputs;
        fx8_json_object(json, NULL);
        fx8_json_text(json, "reason", fx8_compare_reason_names[reason]);
        fx8_json_integer(json, "n_cells", comparison->left_out[reason]);
        fx8_json_array(json, "channels");
        for (size_t c = 0; c < n_channels; c++)
            if (channels[c] > 0)
                fx8_json_integer(json, NULL, (int64_t)c);
        fx8_json_end(json);
        fx8_json_array(json, "inputs");
        for (size_t i = 0; i < n_inputs; i++) {
            char name[FX8_COMPARE_NAME_SIZE];
            fx8_compare_input_name(comparison, i, name);
            if (inputs[i] > 0)
                fx8_json_text(json, NULL, name);
        }
        fx8_json_end(json);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

static void put_channels(struct fx8_json *json,
                         const struct fx8_comparison *comparison)
{
    fx8_json_array(json, "channels");
    for (size_t c = 0; c < comparison->shape.n_channels; c++) {
        fx8_json_object(json, NULL);
        fx8_json_integer(json, "channel", (int64_t)c);
        fx8_json_real(json, "frequency_hz", comparison->frequencies_hz[c]);
        put_figures(json, comparison, &comparison->channels[c],
                    FX8_COMPARE_CHANNEL);
    }
    fx8_json_end(json);
}

static void put_baselines(struct fx8_json *json,
                          const struct fx8_comparison *comparison)
{
    fx8_json_array(json, "baselines");
    for (size_t b = 0; b < comparison->shape.n_baselines; b++) {
        const size_t *antennas = comparison->baseline_antennas[b];
        fx8_json_object(json, NULL);
        fx8_json_integer(json, "antenna_1",
                         comparison->antenna_numbers[antennas[0]]);
        fx8_json_integer(json, "antenna_2",
                         comparison->antenna_numbers[antennas[1]]);
        put_figures(json, comparison, &comparison->baselines[b],
                    FX8_COMPARE_BASELINE);
    }
    fx8_json_end(json);
}

static void put_worst(struct fx8_json *json, const char *key,
                      const struct fx8_comparison *comparison,
                      enum fx8_compare_group group)
{
    size_t worst[FX8_COMPARE_WORST];
    const size_t n = fx8_compare_worst(comparison, group, worst);
    fx8_json_array(json, key);
    for (size_t k = 0; k < n; k++)
        fx8_json_integer(json, NULL, (int64_t)worst[k]);
    fx8_json_end(json);
}

static void put_inputs(struct fx8_json *json,
                       const struct fx8_comparison *comparison)
{
    fx8_json_array(json, "inputs");
    const size_t n =
        comparison->has_theory ? fx8_compare_inputs(&comparison->shape) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct fx8_compare_input *input = &comparison->inputs[i];
        char name[FX8_COMPARE_NAME_SIZE];
        fx8_compare_input_name(comparison, i, name);
        fx8_json_object(json, NULL);
        fx8_json_text(json, "input", name);
        fx8_json_integer(json, "n_levelled", (int64_t)input->n_levelled);
        fx8_json_real(json, "gain_lowest", input->gain_lowest);
        fx8_json_real(json, "gain_median", input->gain_median);
        fx8_json_real(json, "gain_highest", input->gain_highest);
        fx8_json_real(json, "level_median", input->level_median);
        fx8_json_real(json, "clip_mean", input->clip_mean);
        fx8_json_real(json, "clip_largest", input->clip_largest);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

void fx8_compare_print_json(const struct fx8_comparison *comparison,
                            FILE *stream)
{
    struct fx8_json json = {.stream = stream};
    char reason[FX8_TEXT_SIZE];
    fx8_compare_verdict(comparison, reason);
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "verdict", fx8_compare_verdict_word(comparison));
    fx8_json_text(&json, "reason", reason);
    put_file(&json, "subject", comparison->subject_name,
             comparison->precision[0]);
    put_file(&json, "reference", comparison->reference_name,
             comparison->precision[1]);
    put_summary(&json, comparison);
    put_checks(&json, comparison);
    fx8_json_object(&json, "overall");
    put_figures(&json, comparison, &comparison->overall, FX8_COMPARE_CHANNEL);
    fx8_json_object(&json, "autos");
    put_figures(&json, comparison, &comparison->autos, FX8_COMPARE_CHANNEL);
    put_cells(&json, comparison);
    put_left_out(&json, comparison);
    put_worst(&json, "worst_channels", comparison, FX8_COMPARE_CHANNEL);
    put_worst(&json, "worst_baselines", comparison, FX8_COMPARE_BASELINE);
    put_channels(&json, comparison);
    put_baselines(&json, comparison);
    put_inputs(&json, comparison);
    fx8_json_end(&json);
}
