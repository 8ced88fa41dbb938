/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tones and moving sources in simulated voltages: amplitudes and phases by
 * formulas written again here, directions by ERFA at each time.
 *
 * Shows: as python/test_moving_sky.py
 */
#include <complex.h>

#include "validation/simulated_array.h"

/* --- tones ------------------------------------------------------- */

/* A tone in an input: amplitude and phase at sky frequency, by its Stokes
 * parameters: X has the power I + Q, Y has I - Q and leads by arg(U + iV). */
static double complex feed_amplitude(const struct fx8_source *source,
                                     size_t input)
{
    const double *stokes = source->stokes;
    if (input % 2 == 0)
        return sqrt(stokes[0] + stokes[1]);
    return sqrt(stokes[0] - stokes[1]) * cexp(I * atan2(stokes[3], stokes[2]));
}

/* Without receiver noise the unit is an rms of 1 LSB: I = 2048 is an amplitude
 * of 45 LSB in a part of a complex sample and of 64 in a real one.  Rounding
 * leaves 0.41 LSB / sqrt(n), times 7 as it is partly a line spectrum, and the
 * image of a real tone 0.02. */
static void check_tone(struct fx8_simulation *plan,
                       const struct fx8_source *source, size_t n_stretches)
{
    plan->sources = source;
    plan->n_sources = 1;
    plan->noise_rms = 0;
    int8_t *samples = simulate(plan);
    struct fx8_simulator *simulator = open_simulator(plan);
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const size_t n = (size_t)plan->n_samples, length = n / n_stretches;
    const size_t parts = plan->is_complex ? 2 : 1;
    /* the recorded frequency falls as the sky frequency rises in a lower
     * sideband */
    const double sign = plan->lower_sideband ? -1 : 1;
    const double cycles =
        sign * (source->tone_hz - plan->dc_frequency_hz) / rate_hz;
    const double unit = sqrt(plan->is_complex ? 2 : 1);
    for (size_t at = 0; at < INPUTS * n_stretches; at++) {
        const size_t i = at % INPUTS, first = at / INPUTS * length;
        double complex sum = 0;
        for (size_t k = first; k < first + length; k++) {
            const int8_t *sample = samples + (i * n + k) * parts;
            const double phase = -two_pi * fmod(cycles * (double)k, 1);
            /* a real sinusoid has half of its amplitude here */
            sum +=
                (parts == 2 ? sample[0] + I * sample[1] : sqrt(2) * sample[0]) *
                cexp(I * phase);
        }
        double direction[3];
        find_direction(plan, source,
                       ((double)first + 0.5 * (double)(length - 1)) / rate_hz,
                       direction);
        double path_s = -plan->cable_delay_s[i];
        for (size_t axis = 0; axis < 3; axis++)
            path_s +=
                plan->position_m[i / 2][axis] * direction[axis] / 299792458.0;
        const double complex at_sky =
            feed_amplitude(source, i) *
            cexp(I * two_pi *
                 (source->tone_hz * path_s +
                  fx8_simulator_gain_turns(simulator, i)));
        const double complex expected =
            unit * (sign > 0 ? at_sky : conj(at_sky));
        assert_true(cabs(sum / (double)length - expected) <
                    0.03 + 3 / sqrt((double)length));
    }
    fx8_simulator_close(&simulator);
}

static struct fx8_source make_tone(const struct fx8_simulation *plan,
                                   const double stokes[4])
{
    struct fx8_source source =
        make_source(130, 55, stokes[0], stokes[1], stokes[2], stokes[3]);
    source.is_tone = true;
    source.tone_hz =
        plan->dc_frequency_hz + (plan->lower_sideband ? -0.234567 : 0.234567) *
                                    fx8_rate_hz(plan->sample_rate);
    return source;
}

TEST(tone_outside_the_band_is_refused)
{
    struct fx8_source source = make_source(0, 45, 1, 0, 0, 0);
    source.is_tone = true;
    source.tone_hz = 99.9e6;
    struct fx8_simulation plan = make_plan();
    plan.is_complex = false; /* 100 to 100.5 MHz */
    refuse_source(plan, &source,
                  "simulate.sources: tone_hz: 99900000: expected a frequency "
                  "in the band, 100000000 to 100500000");
}

/* --- a moving sky ------------------------------------------------ */

static struct fx8_simulation make_moving_plan(void)
{
    struct fx8_simulation plan = make_plan();
    place_plan(&plan);
    plan.sample_rate = (struct fx8_rate){100000, 1};
    plan.position_m = wide_positions;
    plan.cable_delay_s = no_cables;
    plan.noise_rms = 0;
    return plan;
}

/* A source on the meridian in the middle of the recording, to a degree or two:
 * its right ascension is of another equinox than the sidereal time. */
static struct fx8_source make_celestial(const struct fx8_simulation *plan,
                                        double dec_deg, double i)
{
    struct fx8_time middle = plan->start_time;
    middle.unix_s +=
        llrint(0.5 * (double)plan->n_samples / fx8_rate_hz(plan->sample_rate));
    double lst_rad;
    struct fx8_error error;
    struct fx8_celestial sky = {.site = plan->site, .earth = plan->earth};
    must(fx8_celestial_sidereal_time(&sky, middle, &lst_rad, &error), error);
    return (struct fx8_source){
        .is_celestial = true,
        .icrs_deg = {lst_rad / two_pi * 360, dec_deg},
        .stokes = {i, 0, 0, 0},
    };
}

/* simulator.h, "A celestial source moves": at sixteenths of the way from the
 * centre of a block to the next, the phase errs as the sum of two blocks does;
 * its mean does not err.  Both inputs have the same signals, so that only
 * rounding scatters, 0.02 of a sample's power, and the mixed products of two
 * blocks, 0.06 / 2 of it: 1.5e-4 in the mean of 40960 samples. */
TEST(blocks_follow_the_sky)
{
    enum { HALF = 8192, HALVES = 80, PARTS = 16, RUN = HALF / PARTS };
    struct fx8_simulation plan = make_moving_plan();
    plan.n_samples = HALF * HALVES;
    const struct fx8_source source = make_celestial(&plan, 0, 400);
    plan.sources = &source;
    plan.n_sources = 1;
    int8_t *samples = simulate(&plan);
    const int8_t *a = samples, *b = samples + 4 * (size_t)plan.n_samples;
    double complex sums[PARTS] = {0}, whole = 0;
    double power = 0, turn = 0;
    double from[3], to[3];
    for (size_t h = 0; h < HALVES; h++) {
        find_direction(&plan, &source, ((double)(h * HALF) - 0.5) / 1e5, from);
        find_direction(&plan, &source, ((double)(h * HALF + HALF) - 0.5) / 1e5,
                       to);
        for (size_t k = 0; k < HALF; k++) {
            const size_t n = 2 * (h * HALF + k);
            const double u = ((double)k + 0.5) / HALF;
            const double delay_s =
                4900 * (from[0] + u * (to[0] - from[0])) / 299792458.0;
            const double complex product =
                (a[n] - I * a[n + 1]) * (b[n] + I * b[n + 1]) *
                cexp(-I * two_pi * plan.dc_frequency_hz * delay_s);
            sums[k / RUN] += product;
            whole += product;
            power += a[n] * a[n] + a[n + 1] * a[n + 1] - 1.0 / 6;
        }
        turn += two_pi * plan.dc_frequency_hz * 4900 * (to[0] - from[0]) /
                299792458.0 / HALVES;
    }
    assert_true(fabs(turn) > 0.055 && fabs(turn) < 0.0625);
    assert_true(fabs(carg(whole)) < 5 * 1.5e-4 / sqrt(PARTS));
    /* the coherence is low by q^2 / 15, as the delay is not quite 0 */
    const double short_by = 1 - cabs(whole) / power;
    assert_true(short_by > 0 && short_by < turn * turn / 15 + 2e-4);
    for (size_t part = 0; part < PARTS; part++) {
        const double u = ((double)part + 0.5) / PARTS;
        const double share = sin(two_pi / 4 * u) * sin(two_pi / 4 * u);
        const double expected =
            carg((1 - share + share * cexp(I * turn)) * cexp(-I * turn * u));
        assert_true(fabs(carg(sums[part]) - expected) < 5 * 1.5e-4);
    }
}

/* Equal in X and Y, linear, circular, X alone, Y alone; and one that moves, in
 * stretches of 0.03 s, in which the fringe turns by 0.023 rad: the mean is low
 * by 0.023^2 / 24. */
TEST(tones_have_the_right_amplitude_and_phase)
{
    static const double stokes[6][4] = {
        {2048, 0, 0, 0},    {2000, 1200, -1600, 0}, {1500, 0, 0, -1500},
        {1000, 1000, 0, 0}, {1000, -1000, 0, 0},    {800, 480, 0, 640},
    };
    for (size_t k = 0; k < 4 * 6; k++) {
        const bool is_moving = k % 6 == 5;
        struct fx8_simulation plan =
            is_moving ? make_moving_plan() : make_plan();
        plan.n_samples = is_moving ? 300000 : 40000;
        plan.is_complex = k / 6 < 2;
        plan.lower_sideband = k / 6 % 2 == 1;
        plan.gain_phase_deg = k % 6 == 1 ? 50 : 0;
        struct fx8_source source = make_tone(&plan, stokes[k % 6]);
        if (is_moving) {
            const struct fx8_source place = make_celestial(&plan, -20, 0);
            source.is_celestial = true;
            memcpy(source.icrs_deg, place.icrs_deg, sizeof source.icrs_deg);
        }
        check_tone(&plan, &source, is_moving ? 100 : 1);
    }
}

TEST(motion_too_fast_is_refused)
{
    static const double far[ANTENNAS][3] = {{0, 0, 0}, {40000, 0, 0}};
    struct fx8_simulation plan = make_moving_plan();
    const struct fx8_source source = make_celestial(&plan, 0, 1);
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.position_m = far;
    /* 2 pi 100.5e6 (40 km / c) 7.292e-5 times 65536 / 1e6 */
    refuse_source(plan, &source,
                  "simulate.sources: ra_deg, dec_deg: fringes of the longest "
                  "baseline turn by 0.403 rad in 65536 samples, the least that "
                  "its delay allows: expected at most 0.0625");
}
