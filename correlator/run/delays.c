/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/delays.h"
#include "correlator/run/site.h"

/* Instants at which the delays of a run are measured. */
#define N_INSTANTS 65

/* Of a sum of squared weights. */
#define ROUNDING 1e-12

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Seconds by which a wave from s reaches r after the origin.  The antenna moves
 * meanwhile: in axes fixed to it, s turns against the Earth, ds/dt = -w x s. */
static double path_s(const struct fx8_site *site, const double r[3],
                     const double s[3])
{
    const double latitude = site->latitude_deg * ERFA_DD2R;
    const double y = FX8_EARTH_RAD_S * cos(latitude);
    const double z = FX8_EARTH_RAD_S * sin(latitude);
    const double turn[3] = {-(y * s[2] - z * s[1]), -z * s[0], y * s[0]};
    const double at_rest_s = -dot(r, s) / FX8_LIGHT_M_S;
    return at_rest_s - at_rest_s * dot(r, turn) / FX8_LIGHT_M_S;
}

enum fx8_status fx8_delays_find(void *context, int64_t sample, double *delay_s,
                                struct fx8_error *error)
{
    struct fx8_job_center *center = context;
    const struct fx8_job *job = center->job;
    const size_t n = job->axes.n_inputs;
    memcpy(delay_s, job->fixed_delay_s, n * sizeof *delay_s);
    if (!center->is_tracked)
        return FX8_OK;
    const struct fx8_time time = fx8_time_add_half_samples(
        job->observation.start_time, 2 * sample, job->plan.sample_rate);
    struct fx8_place place;
    FX8_TRY(fx8_celestial_place(&center->sky, time, center->place.icrs_deg,
                                &place, error));
    for (size_t input = 0; input < n; input++) {
        const size_t antenna = input / job->plan.n_polarizations;
        delay_s[input] +=
            path_s(&job->observation.site,
                   job->observation.antennas[antenna].enu_m, place.axes[2]);
    }
    return FX8_OK;
}

/* --- figures ----------------------------------------------------- */

static double highest_hz(const struct fx8_job *job)
{
    double edges_hz[2];
    fx8_observation_edges(&job->observation, edges_hz);
    return edges_hz[1];
}

/* What one instant adds to the figures: how far apart the inputs are. */
struct spread {
    double rest; /* of what whole samples leave, in samples */
    double rate; /* of the change of delays, s/s */
};

static void widen(double value, double range[2])
{
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
}

/* Add an instant; `before` are the delays `step_s` earlier, NULL at first. */
static void add_instant(const struct fx8_job *job, const double *delay_s,
                        const double *before, double step_s,
                        struct spread *spread,
                        struct fx8_delay_figures *figures)
{
    const double rate_hz = fx8_rate_hz(job->plan.sample_rate);
    double rests[2] = {INFINITY, -INFINITY}, rates[2] = {INFINITY, -INFINITY};
    for (size_t input = 0; input < job->axes.n_inputs; input++) {
        const double samples = delay_s[input] * rate_hz;
        const double rest = samples - rint(samples);
        widen(rest, rests);
        figures->most_s = fmax(figures->most_s, fabs(delay_s[input]));
        figures->rest_samples = fmax(figures->rest_samples, fabs(rest));
        if (before == NULL)
            continue;
        const double rate = (delay_s[input] - before[input]) / step_s;
        widen(rate, rates);
        figures->most_rate = fmax(figures->most_rate, fabs(rate));
    }
    spread->rest = fmax(spread->rest, rests[1] - rests[0]);
    if (before != NULL)
        spread->rate = fmax(spread->rate, rates[1] - rates[0]);
}

/* Coherence of white noise that reaches two inputs `rest` samples apart, up to
 * one, while the phase between them turns by `turns` per sample: the filter's
 * weights w give |sum w(n) w(n + rest) exp(2 pi i n turns)|. */
static void find_losses(const struct fx8_job *job, const struct spread *spread,
                        double *weights, struct fx8_delay_figures *figures)
{
    const size_t window = job->axes.window;
    fx8_plan_weights(&job->plan, weights);
    const double turns =
        highest_hz(job) * spread->rate / fx8_rate_hz(job->plan.sample_rate);
    double next = 0.0, re = 0.0, im = 0.0;
    for (size_t n = 0; n < window; n++) {
        const double square = weights[n] * weights[n];
        re += square * cos(ERFA_D2PI * turns * (double)n);
        im += square * sin(ERFA_D2PI * turns * (double)n);
        next += n + 1 < window ? weights[n] * weights[n + 1] : 0.0;
    }
    figures->delay_loss = fmin(spread->rest, 1.0) * (1.0 - next);
    const double fringe_loss = 1.0 - hypot(re, im);
    figures->fringe_loss = fringe_loss > ROUNDING ? fringe_loss : 0.0;
}

enum fx8_status fx8_delays_measure(const struct fx8_job_center *center,
                                   struct fx8_delay_figures *figures,
                                   struct fx8_error *error)
{
    const struct fx8_job *job = center->job;
    struct fx8_job_center own = *center; /* its sky keeps what it found */
    const size_t n = job->axes.n_inputs;
    FX8_AUTO_FREE double *delay_s = NULL, *weights = NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(delay_s, fx8_product(2, n, 1, 1)),
        FX8_ITEMS(weights, job->axes.window),
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "delays", error));
    struct spread spread = {0};
    const double step = (double)job->n_samples / (N_INSTANTS - 1);
    *figures = (struct fx8_delay_figures){0};
    for (int64_t k = 0; k < N_INSTANTS; k++) {
        double *now = delay_s + (size_t)(k % 2) * n;
        double *before = delay_s + (size_t)((k + 1) % 2) * n;
        const int64_t sample =
            job->plan.first_sample + (int64_t)((double)k * step);
        FX8_TRY(fx8_delays_find(&own, sample, now, error));
        add_instant(job, now, k > 0 ? before : NULL,
                    step / fx8_rate_hz(job->plan.sample_rate), &spread,
                    figures);
    }
    /* a delay that moves by a sample or more leaves every rest in turn */
    if (figures->most_rate * (double)job->n_samples >= 1.0) {
        figures->rest_samples = 0.5;
        spread.rest = 1.0;
    }
    find_losses(job, &spread, weights, figures);
    return FX8_OK;
}

double fx8_delays_dump_turns(const struct fx8_job *job)
{
    double diagonal_m2 = 0.0; /* of the box that holds the array */
    for (size_t axis = 0; axis < 3; axis++) {
        double range[2] = {INFINITY, -INFINITY};
        for (size_t a = 0; a < job->plan.n_antennas; a++)
            widen(job->observation.antennas[a].enu_m[axis], range);
        diagonal_m2 += (range[1] - range[0]) * (range[1] - range[0]);
    }
    const double dump_s = (double)job->plan.spectra_per_dump *
                          (double)job->axes.step /
                          fx8_rate_hz(job->plan.sample_rate);
    return sqrt(diagonal_m2) / FX8_LIGHT_M_S * highest_hz(job) *
           FX8_EARTH_RAD_S * dump_s;
}
