/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulated_array.h -- a small array under a simulated sky, shared by the tests
 * of the simulator.
 */
#ifndef FX8_VALIDATION_SIMULATED_ARRAY_H
#define FX8_VALIDATION_SIMULATED_ARRAY_H

#include "correlator/run/celestial.h"
#include "correlator/simulate/simulator.h"
#include "validation/constant_earth.h"
#include "validation/testing.h"

/** A full turn, rad. */
static const double two_pi = 6.283185307179586;

/** Two polarisations of three antennas. */
enum { ANTENNAS = 3, POLARIZATIONS = 2, INPUTS = 6 };

/** East, north, up in metres; cable delays in seconds. */
static const double positions[ANTENNAS][3] = {
    {0, 0, 0}, {9, 4, 0.5}, {-6, 11, -0.2}};
static const double cables[INPUTS] = {0, 0, 0, 0, 4e-9, 9e-9};

/** Baselines of 5 km at 100 kHz: from one block of 8192 samples to the next,
 *  the fringe of a source on the meridian turns by 0.06 rad and its delay
 *  hardly changes. */
static const double wide_positions[ANTENNAS][3] = {
    {0, 0, 0}, {4900, 0, 0}, {-10, 20, 0}};
/** No cable delays. */
static const double no_cables[INPUTS] = {0};

/** A tenth of a second of complex noise at 1 MHz; callers change members. */
static inline struct fx8_simulation make_plan(void)
{
    return (struct fx8_simulation){
        .is_complex = true,
        .sample_rate = {1000000, 1},
        .dc_frequency_hz = 100e6,
        .n_samples = 100000,
        .n_antennas = ANTENNAS,
        .n_polarizations = POLARIZATIONS,
        .position_m = positions,
        .cable_delay_s = cables,
        .noise_rms = 12,
        .seed = 11,
        .n_threads = 1,
    };
}

/** A source at rest. */
static inline struct fx8_source make_source(double azimuth_deg,
                                            double elevation_deg, double i,
                                            double q, double u, double v)
{
    const double az = azimuth_deg / 360 * two_pi;
    const double el = elevation_deg / 360 * two_pi;
    return (struct fx8_source){
        .direction_enu = {cos(el) * sin(az), cos(el) * cos(az), sin(el)},
        .stokes = {i, q, u, v},
    };
}

/** Direction of a source at a time of the recording, by ERFA at that time. */
static inline void find_direction(const struct fx8_simulation *plan,
                                  const struct fx8_source *source,
                                  double seconds, double direction[3])
{
    struct fx8_time time = plan->start_time;
    const double whole = floor(seconds);
    time.unix_s += (int64_t)whole;
    time.picosecond = llrint((seconds - whole) * 1e12);
    memcpy(direction, source->direction_enu, 3 * sizeof *direction);
    if (!source->is_celestial)
        return;
    struct fx8_celestial sky = {.site = plan->site, .earth = plan->earth};
    struct fx8_place place;
    struct fx8_error error;
    must(fx8_celestial_place(&sky, time, source->icrs_deg, &place, &error),
         error);
    memcpy(direction, place.axes[2], sizeof place.axes[2]);
}

/** Give the plan a place under a moving sky. */
static inline void place_plan(struct fx8_simulation *plan)
{
    plan->site = (struct fx8_site){-26.7, 116.67, 377.8};
    plan->start_time = (struct fx8_time){1567090800, 0};
    plan->earth = constant_earth(-0.15);
}

static inline struct fx8_simulator *open_simulator(
    const struct fx8_simulation *plan)
{
    struct fx8_simulator *simulator;
    struct fx8_error error;
    must(fx8_simulator_open(plan, &simulator, &error), error);
    return simulator;
}

/** All samples of a plan, int8 or ci8 [input][n_samples], in memory that lasts
 *  for the case. */
static inline int8_t *simulate(const struct fx8_simulation *plan)
{
    struct fx8_simulator *simulator = open_simulator(plan);
    int8_t *samples = temporary((size_t)plan->n_samples * INPUTS * 2);
    fx8_simulator_read(simulator, 0, plan->n_samples, samples);
    fx8_simulator_close(&simulator);
    assert_null(simulator);
    return samples;
}

/** A plan with this one source, which must be refused. */
static inline void refuse_source(struct fx8_simulation plan,
                                 const struct fx8_source *source,
                                 const char *text)
{
    struct fx8_simulator *simulator;
    struct fx8_error error;
    plan.sources = source;
    plan.n_sources = 1;
    must_fail(fx8_simulator_open(&plan, &simulator, &error), error,
              FX8_ERR_USAGE, text);
    assert_null(simulator);
    fx8_simulator_close(&simulator);
}

#endif
