/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * motion.c -- directions of the sources: a function of the sample alone,
 * independent of earlier calls.
 */
#include <erfam.h>
#include <math.h>
#include <string.h>

#include "config/base/try.h"
#include "correlator/run/site.h"
#include "correlator/simulate/simulator_private.h"

enum fx8_status fx8_simulator_plan_motion(struct fx8_simulator *simulator,
                                          struct fx8_error *error)
{
    const struct fx8_simulation *plan = &simulator->plan;
    for (size_t s = 0; s < plan->n_sources; s++)
        simulator->n_celestial += simulator->plan.sources[s].is_celestial;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(simulator->icrs_deg, simulator->n_celestial),
        FX8_ITEMS(simulator->celestial_enu, simulator->n_celestial),
    };
    FX8_TRY(fx8_simulator_allocate(simulator, arrays,
                                   sizeof arrays / sizeof *arrays, error));
    if (simulator->n_celestial == 0)
        return FX8_OK;
    simulator->celestial =
        (struct fx8_celestial){.site = plan->site, .earth = plan->earth};
    size_t n = 0;
    for (size_t s = 0; s < plan->n_sources; s++)
        if (simulator->plan.sources[s].is_celestial)
            memcpy(simulator->icrs_deg[n++],
                   simulator->plan.sources[s].icrs_deg,
                   sizeof *simulator->icrs_deg);
    return FX8_OK;
}

/* Positions are multiples of half a sample. */
static enum fx8_status find_celestial(struct fx8_simulator *simulator,
                                      double sample, struct fx8_error *error)
{
    const struct fx8_time time = fx8_time_add_half_samples(
        simulator->plan.start_time, llrint(2.0 * sample),
        simulator->plan.sample_rate);
    return fx8_celestial_directions(&simulator->celestial, time,
                                    simulator->n_celestial,
                                    (const double(*)[2])simulator->icrs_deg,
                                    simulator->celestial_enu, error);
}

/* If the first and the last have them, so do all between: the blocks reach
 * three halves of their length beyond both ends. */
enum fx8_status fx8_simulator_check_motion(struct fx8_simulator *simulator,
                                           struct fx8_error *error)
{
    const double beyond = 1.5 * (double)simulator->length;
    if (simulator->n_celestial == 0)
        return FX8_OK;
    FX8_TRY(find_celestial(simulator,
                           (double)simulator->plan.n_samples + beyond, error));
    return find_celestial(simulator, -beyond, error);
}

void fx8_simulator_directions(struct fx8_simulator *simulator, double sample,
                              double (*directions)[3])
{
    if (simulator->n_celestial > 0)
        (void)find_celestial(simulator, sample, NULL);
    size_t n = 0;
    for (size_t s = 0; s < simulator->plan.n_sources; s++) {
        const struct fx8_source *source = &simulator->plan.sources[s];
        memcpy(directions[s],
               source->is_celestial ? simulator->celestial_enu[n++]
                                    : source->direction_enu,
               sizeof *directions);
    }
}

double fx8_simulator_baseline(const struct fx8_simulator *simulator)
{
    double longest_m2 = 0.0;
    for (size_t a = 0; a < simulator->plan.n_antennas; a++)
        for (size_t b = 0; b < a; b++) {
            double sum = 0.0;
            for (size_t axis = 0; axis < 3; axis++) {
                const double part = simulator->plan.position_m[a][axis] -
                                    simulator->plan.position_m[b][axis];
                sum += part * part;
            }
            longest_m2 = fmax(longest_m2, sum);
        }
    return sqrt(longest_m2) / FX8_LIGHT_M_S;
}

void fx8_simulator_block_errors(const struct fx8_simulator *simulator,
                                size_t length, double errors[2])
{
    const double rate_hz = fx8_rate_hz(simulator->plan.sample_rate);
    const double band = simulator->plan.is_complex ? 1.0 : 0.5;
    const double half = 0.5 * (double)length;
    const double turn =
        simulator->n_celestial > 0 ? fx8_simulator_turn(simulator, half) : 0.0;
    const double highest_hz = simulator->plan.dc_frequency_hz + 0.5 * rate_hz;
    errors[0] = turn * 0.5 * band * rate_hz / highest_hz;
    errors[1] = turn * FX8_EARTH_RAD_S * half / rate_hz / 8.0;
}

double fx8_simulator_turn(const struct fx8_simulator *simulator,
                          double n_samples)
{
    const struct fx8_simulation *plan = &simulator->plan;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const double highest_hz = plan->dc_frequency_hz + 0.5 * rate_hz;
    return ERFA_D2PI * highest_hz * fx8_simulator_baseline(simulator) *
           FX8_EARTH_RAD_S * n_samples / rate_hz;
}
