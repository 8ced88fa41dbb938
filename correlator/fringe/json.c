/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c -- fringes as JSON: all figures of the tables, of every baseline.
 */
#include <erfam.h>

#include "config/base/json.h"
#include "correlator/fringe/gains.h"

/* Names and units of the quantities. */
static const struct {
    const char *name, *error;
    double unit;
} members[] = {
    [FX8_FRINGE_DELAY] = {"delay_ns", "delay_error_ns", 1e-9},
    [FX8_FRINGE_RATE] = {"rate_hz", "rate_error_hz", 1.0},
    [FX8_FRINGE_PHASE] = {"phase_deg", "phase_error_deg", ERFA_DD2R},
    [FX8_FRINGE_AMPLITUDE] = {"amplitude", "amplitude_error", 1.0},
};

static void put_values(struct fx8_json *json, const double *values,
                       const double *errors, int n)
{
    for (int q = 0; q < n; q++) {
        fx8_json_real(json, members[q].name, values[q] / members[q].unit);
        fx8_json_real(json, members[q].error, errors[q] / members[q].unit);
    }
}

static void put_letter(struct fx8_json *json, const struct fx8_fringes *fringes,
                       size_t polarization)
{
    const char text[2] = {fx8_fringes_letter(fringes, polarization), '\0'};
    fx8_json_text(json, "pol", text);
}

static void put_baseline(struct fx8_json *json,
                         const struct fx8_fringes *fringes,
                         const struct fx8_fringe *item)
{
    fx8_json_object(json, NULL);
    fx8_json_integer(json, "number_1",
                     fringes->antenna_numbers[item->antennas[0]]);
    fx8_json_integer(json, "number_2",
                     fringes->antenna_numbers[item->antennas[1]]);
    put_letter(json, fringes, item->polarization);
    fx8_json_real(json, "snr", item->snr);
    fx8_json_bool(json, "is_found", item->is_found);
    fx8_json_bool(json, "is_used", item->is_used);
    if (item->is_found)
        put_values(json, item->value, item->sigma, FX8_FRINGE_AMPLITUDE);
    fx8_json_end(json);
}

static void put_antenna(struct fx8_json *json,
                        const struct fx8_fringes *fringes, size_t antenna,
                        size_t polarization)
{
    const struct fx8_fringe_antenna *found =
        &fringes->solutions[polarization].antennas[antenna];
    const bool is_solved = fx8_fringes_has(fringes, antenna, polarization);
    fx8_json_object(json, NULL);
    fx8_json_integer(json, "number", fringes->antenna_numbers[antenna]);
    put_letter(json, fringes, polarization);
    fx8_json_bool(json, "is_solved", is_solved);
    fx8_json_integer(json, "n_found", (int64_t)found->n_found);
    fx8_json_integer(json, "n_used", (int64_t)found->n_used);
    if (is_solved) {
        double gain[3];
        fx8_fringes_gain(fringes, antenna, polarization, gain);
        fx8_json_real(json, "snr", found->snr);
        put_values(json, found->value, found->sigma, FX8_FRINGE_QUANTITIES);
        fx8_json_object(json, "gain");
        fx8_json_real(json, "amplitude", gain[0]);
        fx8_json_real(json, "phase_deg", gain[1]);
        fx8_json_real(json, "delay_ns", gain[2]);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

static void put_polarization(struct fx8_json *json,
                             const struct fx8_fringes *fringes,
                             size_t polarization)
{
    static const char *const names[] = {"delay", "rate", "phase", "amplitude"};
    const struct fx8_fringe_solution *solution =
        &fringes->solutions[polarization];
    fx8_json_object(json, NULL);
    put_letter(json, fringes, polarization);
    fx8_json_integer(json, "n_found", (int64_t)solution->n_found);
    fx8_json_integer(json, "n_used", (int64_t)solution->n_used);
    fx8_json_bool(json, "has_amplitudes", solution->has_amplitudes);
    fx8_json_object(json, "chi_square");
    for (int q = 0; q < FX8_FRINGE_QUANTITIES; q++)
        fx8_json_real(json, names[q], solution->chi_square[q]);
    fx8_json_end(json);
    fx8_json_object(json, "degrees_of_freedom");
    for (int q = 0; q < FX8_FRINGE_QUANTITIES; q++)
        fx8_json_integer(json, names[q], solution->freedom[q]);
    fx8_json_end(json);
    fx8_json_end(json);
}

void fx8_fringes_print_json(const struct fx8_fringes *fringes, FILE *stream)
{
    struct fx8_json json = {.stream = stream};
    const size_t n_polarizations = fringes->shape.n_polarizations;
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "path", fringes->path);
    fx8_json_real(&json, "threshold", fringes->threshold);
    fx8_json_real(&json, "most_delay_ns", 0.5e9 / fringes->frequency.step);
    fx8_json_real(&json, "most_rate_hz",
                  fringes->time.n > 1 ? 0.5 / fringes->time.step : 0.0);
    fx8_json_real(&json, "frequency_hz", fringes->frequency.centre);
    fx8_json_integer(&json, "reference",
                     fringes->antenna_numbers[fringes->reference]);
    fx8_json_array(&json, "polarizations");
    for (size_t p = 0; p < n_polarizations; p++)
        put_polarization(&json, fringes, p);
    fx8_json_end(&json);
    fx8_json_array(&json, "antennas");
    for (size_t p = 0; p < n_polarizations; p++)
        for (size_t a = 0; a < fringes->shape.n_antennas; a++)
            put_antenna(&json, fringes, a, p);
    fx8_json_end(&json);
    fx8_json_array(&json, "baselines");
    for (size_t k = 0; k < fringes->n; k++)
        put_baseline(&json, fringes, &fringes->items[k]);
    fx8_json_end(&json);
    fx8_json_end(&json);
}
