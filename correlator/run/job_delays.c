/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/delays.h"
#include "correlator/run/job_private.h"
#include "correlator/run/site.h"

/* An antenna moves while the wave is on its way: a path may be so much longer
 * than from the site (1000 km: 3 ms, 7.3e-5 rad/s). */
#define MOVING (1.0 + 1e-6)

/* --- which keys go together -------------------------------------- */

/* Keys that need a mode, a centre or a position. */
static enum fx8_status check_keys(const struct fx8_job *job,
                                  struct fx8_error *error)
{
    const struct fx8_settings *s = job->settings;
    const bool is_tracked = s->delay.mode == FX8_DELAY_TRACK;
    const bool has_list = s->delay.phase_centers[0] != '\0';
    const bool has_ra = isfinite(s->delay.phase_center_ra_deg);
    const bool has_dec = isfinite(s->delay.phase_center_dec_deg);
    const bool has_one =
        has_ra || has_dec || s->delay.phase_center_name[0] != '\0';
    const struct {
        bool is_wrong;
        const char *key, *expected;
    } rules[] = {
        {s->delay.mode != FX8_DELAY_NONE &&
             s->channelizer.method == FX8_METHOD_NONE,
         "delay.mode",
         "expected none: without channels there is nothing to align"},
        {is_tracked && job->positions_are_faked, "delay.mode",
         "expected none or cable: array.positions = none has no positions"},
        {is_tracked && !has_list && !(has_ra && has_dec), "delay.mode",
         "expected delay.phase_center_ra_deg and phase_center_dec_deg, or "
         "phase_centers, beside it"},
        {!is_tracked && has_list, "delay.phase_centers",
         "expected delay.mode = track beside it"},
        {!is_tracked && has_ra, "delay.phase_center_ra_deg",
         "expected delay.mode = track beside it"},
        {!is_tracked && has_dec, "delay.phase_center_dec_deg",
         "expected delay.mode = track beside it"},
        {s->delay.iers_file[0] != '\0' && isfinite(s->delay.dut1_s),
         "delay.iers_file", "expected either this or delay.dut1_s"},
        {has_list && has_one, "delay.phase_centers",
         "expected either this or delay.phase_center_*"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_wrong)
            return fx8_settings_fail(s, rules[i].key, error, "%s",
                                     rules[i].expected);
    return FX8_OK;
}

/* --- gains and cables -------------------------------------------- */

enum fx8_status fx8_job_load_gains(struct fx8_job *job,
                                   const struct fx8_antenna *table,
                                   size_t n_table,
                                   const struct fx8_antenna *chosen,
                                   struct fx8_error *error)
{
    const char *path = job->settings->array.gains;
    const size_t n_polarizations = job->plan.n_polarizations;
    const size_t n = job->plan.n_antennas * n_polarizations;
    FX8_TRY(fx8_allocate(n, sizeof *job->gains, "gains", &job->gains, error));
    for (size_t input = 0; input < n; input++)
        job->gains[input] = (struct fx8_gain){.amplitude = 1.0};
    if (path[0] == '\0')
        return FX8_OK;
    FX8_AUTO_FREE struct fx8_gain *all = NULL;
    FX8_TRY(fx8_allocate(fx8_product(n_table, FX8_MAX_POLARIZATIONS, 1, 1),
                         sizeof *all, "gains", &all, error));
    FX8_TRY(fx8_gain_table_load(path, table, n_table,
                                job->settings->delay.mode != FX8_DELAY_NONE,
                                all, error));
    for (size_t input = 0; input < n; input++)
        for (size_t row = 0; row < n_table; row++)
            if (table[row].number == chosen[input / n_polarizations].number)
                job->gains[input] =
                    all[row * FX8_MAX_POLARIZATIONS + input % n_polarizations];
    return FX8_OK;
}

/* What the plan takes of gains and cables. */
static enum fx8_status list_fixed(struct fx8_job *job, struct fx8_error *error)
{
    const struct fx8_settings *s = job->settings;
    const size_t n = job->axes.n_inputs;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(job->gain_turns, n),
        FX8_ITEMS(job->fixed_delay_s, n),
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "gains", error));
    bool has_phases = false;
    for (size_t input = 0; input < n; input++) {
        const size_t feed = input % job->plan.n_polarizations;
        const struct fx8_antenna *antenna =
            &job->observation.antennas[input / job->plan.n_polarizations];
        const struct fx8_gain *gain = &job->gains[input];
        if (s->delay.mode != FX8_DELAY_NONE)
            job->fixed_delay_s[input] =
                antenna->cable_delay_s[feed] + gain->delay_s;
        job->gain_turns[input] = gain->phase_deg / 360.0;
        has_phases = has_phases || gain->phase_deg != 0.0;
    }
    if (has_phases && s->channelizer.method == FX8_METHOD_NONE)
        return fx8_settings_fail(s, "array.gains", error,
                                 "expected phase_deg 0 with channelizer.method "
                                 "= none");
    if (has_phases)
        job->plan.delays.turns = job->gain_turns;
    return FX8_OK;
}

/* Bound of all delays: cables, and paths from any direction. */
static enum fx8_status bound_delays(struct fx8_job *job,
                                    struct fx8_error *error)
{
    const bool is_tracked = job->settings->delay.mode == FX8_DELAY_TRACK;
    const double rate_hz = fx8_rate_hz(job->plan.sample_rate);
    double most_s = 0.0;
    for (size_t input = 0; input < job->axes.n_inputs; input++) {
        const struct fx8_antenna *antenna =
            &job->observation.antennas[input / job->plan.n_polarizations];
        const double *r = antenna->enu_m;
        const double path_s =
            is_tracked ? MOVING * hypot(hypot(r[0], r[1]), r[2]) / FX8_LIGHT_M_S
                       : 0.0;
        const double delay_s = fabs(job->fixed_delay_s[input]) + path_s;
        if (delay_s * rate_hz >= (double)job->n_samples)
            return fx8_settings_fail(
                job->settings, "delay.mode", error,
                "antenna %lld: delay of up to %.9g s: expected less than the "
                "%.9g s of %s",
                (long long)antenna->number, delay_s,
                (double)job->n_samples / rate_hz, job->path);
        most_s = fmax(most_s, delay_s);
    }
    if (most_s == 0.0)
        return FX8_OK;
    job->plan.delays.delay = fx8_delays_find;
    job->plan.delays.context = &job->centers[0];
    job->plan.delays.most_s = most_s;
    return FX8_OK;
}

/* --- phase centres ----------------------------------------------- */

/* What the keys or the catalogue name. */
static enum fx8_status list_centers(struct fx8_job *job,
                                    struct fx8_error *error)
{
    const struct fx8_settings *s = job->settings;
    FX8_AUTO_FREE struct fx8_phase_center *places = NULL;
    struct fx8_phase_center one = {.icrs_deg = {s->delay.phase_center_ra_deg,
                                                s->delay.phase_center_dec_deg}};
    const char *name = s->delay.phase_center_name[0] != '\0'
                           ? s->delay.phase_center_name
                           : job->observation.object;
    strcpy(one.name, name);
    job->n_centers = 1;
    if (s->delay.phase_centers[0] != '\0')
        FX8_TRY(fx8_catalogue_load(s->delay.phase_centers, &places,
                                   &job->n_centers, error));
    FX8_TRY(fx8_allocate(job->n_centers, sizeof *job->centers, "phase centres",
                         &job->centers, error));
    for (size_t c = 0; c < job->n_centers; c++)
        job->centers[c] = (struct fx8_job_center){
            .job = job,
            .sky = {.site = job->observation.site, .earth = job->earth},
            .is_tracked = s->delay.mode == FX8_DELAY_TRACK,
            .place = places == NULL ? one : places[c],
        };
    return FX8_OK;
}

/* Lowest elevation of a centre at the start, the middle and the end. */
static enum fx8_status find_lowest(struct fx8_job_center *center,
                                   double *elevation_deg,
                                   struct fx8_error *error)
{
    const struct fx8_job *job = center->job;
    *elevation_deg = 90.0;
    for (int64_t k = 0; k <= 2; k++) {
        struct fx8_place place;
        const struct fx8_time time = fx8_time_add_half_samples(
            job->observation.start_time,
            2 * job->plan.first_sample + k * job->n_samples,
            job->plan.sample_rate);
        FX8_TRY(fx8_celestial_place(&center->sky, time, center->place.icrs_deg,
                                    &place, error));
        *elevation_deg =
            fmin(*elevation_deg, asin(place.axes[2][2]) * ERFA_DR2D);
    }
    return FX8_OK;
}

/* A centre below the horizon is followed all the same. */
static enum fx8_status warn_of_sky(struct fx8_job *job, struct fx8_error *error)
{
    for (size_t c = 0; c < job->n_centers; c++) {
        double lowest_deg;
        const struct fx8_phase_center *place = &job->centers[c].place;
        FX8_TRY(find_lowest(&job->centers[c], &lowest_deg, error));
        if (lowest_deg < 0.0)
            fx8_job_warn(job,
                         "delay.mode: track: ra %.6g, dec %.6g deg is up to "
                         "%.1f deg below the horizon during the run",
                         place->icrs_deg[0], place->icrs_deg[1], -lowest_deg);
    }
    if (!fx8_earth_is_known(job->earth))
        fx8_job_warn(job, "delay.dut1_s: not given, nor delay.iers_file: UT1 "
                          "is taken as UTC, which may move the centre by 13 "
                          "arcsec");
    return FX8_OK;
}

enum fx8_status fx8_job_plan_delays(struct fx8_job *job,
                                    struct fx8_error *error)
{
    const enum fx8_delay_mode mode = job->settings->delay.mode;
    FX8_TRY(check_keys(job, error));
    FX8_TRY(fx8_earth_open(job->settings->delay.iers_file,
                           job->settings->delay.dut1_s, &job->earth, error));
    FX8_TRY(list_centers(job, error));
    FX8_TRY(list_fixed(job, error));
    if (mode != FX8_DELAY_NONE)
        FX8_TRY(bound_delays(job, error));
    return mode == FX8_DELAY_TRACK ? warn_of_sky(job, error) : FX8_OK;
}
