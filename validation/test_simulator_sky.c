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

/* A source on the meridian in the middle of the recording. */
static struct fx8_source make_celestial(const struct fx8_simulation *plan,
                                        double dec_deg, double i)
{
    struct fx8_time middle = plan->start_time;
    middle.unix_s +=
        llrint(0.5 * (double)plan->n_samples / fx8_rate_hz(plan->sample_rate));
    struct fx8_celestial seen = {.site = plan->site, .earth = plan->earth};
    struct fx8_place place;
    struct fx8_error error;
    double icrs_deg[2] = {0, dec_deg};
    for (size_t k = 0; k < 3; k++) { /* its hour angle goes to zero */
        must(fx8_celestial_place(&seen, middle, icrs_deg, &place, &error),
             error);
        icrs_deg[0] +=
            remainder(place.lst_rad - place.app_ra_rad, two_pi) / two_pi * 360;
    }
    return (struct fx8_source){
        .is_celestial = true,
        .icrs_deg = {icrs_deg[0], icrs_deg[1]},
        .stokes = {i, 0, 0, 0},
    };
}

/* Antennas of two ends of a plan, 40 km apart. */
static const double far[ANTENNAS][3] = {{0, 0, 0}, {40000, 0, 0}};

/* Product of bin k of RUN samples from sample `first` on of the first inputs of
 * both antennas, as sky frequencies have it. */
enum { RUN = 512 };

static double complex multiply(const struct fx8_simulation *plan,
                               const int8_t *samples, size_t first, int k)
{
    const size_t n_parts = plan->is_complex ? 2 : 1;
    const size_t n_samples = (size_t)plan->n_samples;
    static double complex turns[RUN];
    for (size_t n = 0; n < RUN && turns[RUN - 1] == 0; n++)
        turns[n] = cexp(-I * two_pi * (double)n / RUN);
    double complex sums[2] = {0};
    for (size_t i = 0; i < 2; i++)
        for (size_t n = 0; n < RUN; n++) {
            const int8_t *x =
                samples + (2 * i * n_samples + first + n) * n_parts;
            /* Hann's window keeps the mirror image of real samples away */
            sums[i] += (x[0] + (n_parts == 2 ? I * x[1] : 0)) *
                       (1 - creal(turns[n])) *
                       turns[(size_t)(k + RUN) * n % RUN];
        }
    const double complex product = conj(sums[0]) * sums[1];
    return plan->lower_sideband ? conj(product) : product;
}

/* From the centre of a block to the next, 4096 samples, the fringe turns by a
 * quarter of a radian, and goes on as ERFA has it, in eighths of the way.  Both
 * inputs have the same signals, but for 0.003 samples of delay and for
 * rounding, 0.0144 of the amplitude: 2.2e-4 in the mean of 4600 cells. */
TEST(blocks_follow_the_sky)
{
    enum { HALF = 4096, HALVES = 160, PARTS = HALF / RUN };
    for (size_t kind = 0; kind < 3; kind++) {
        struct fx8_simulation plan = make_moving_plan();
        plan.is_complex = kind == 0;
        plan.lower_sideband = kind == 2;
        plan.position_m = far;
        plan.n_samples = HALF * HALVES;
        const struct fx8_source source = make_celestial(&plan, 0, 400);
        plan.sources = &source;
        plan.n_sources = 1;
        int8_t *samples = simulate(&plan);
        double complex sums[PARTS] = {0}, whole = 0;
        double before = 0, least = INFINITY, most = 0;
        for (size_t run = 0; run < HALVES * PARTS; run++) {
            double direction[3];
            const double middle = (double)(run * RUN) + 0.5 * (RUN - 1);
            find_direction(&plan, &source, middle / 1e5, direction);
            const double delay_s = 40000 * direction[0] / 299792458.0;
            const double turn = two_pi * 100e6 * (delay_s - before) * PARTS;
            least = run > 0 ? fmin(least, fabs(turn)) : least;
            most = run > 0 ? fmax(most, fabs(turn)) : most;
            before = delay_s;
            for (int k = plan.is_complex ? -240 : 16; k <= 240;
                 k += plan.is_complex ? 16 : 8) {
                const double hz =
                    100e6 + (plan.lower_sideband ? -k : k) * 1e5 / RUN;
                const double complex product =
                    multiply(&plan, samples, run * RUN, k) *
                    cexp(-I * two_pi * fmod(hz * delay_s, 1));
                sums[run % PARTS] += product;
                whole += product;
            }
        }
        assert_true(least > 0.225 && most < 0.275);
        for (size_t part = 0; part < PARTS; part++)
            assert_near(carg(sums[part]), 0, 5 * 2.2e-4);
        assert_near(carg(whole), 0, 5 * 2.2e-4 / sqrt(PARTS));
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
    struct fx8_simulation plan = make_moving_plan();
    const struct fx8_source source = make_celestial(&plan, 0, 1);
    /* a band so broad, pi 56e6 (40 km / c) 7.292e-5 times 2097152 / 56e6, with
     * a delay of 7472 samples */
    plan.sample_rate = (struct fx8_rate){56000000, 1};
    plan.position_m = far;
    refuse_source(plan, &source,
                  "simulate.sources: ra_deg, dec_deg: in 2097152 samples, the "
                  "least that the delays allow, fringes of the longest "
                  "baseline bend by 1e-07 rad and turn by 0.0641 rad more at "
                  "the ends of the band: expected at most 0.001 and 0.0625");
    /* or samples so far apart: 2 pi 100e6 (40 km / c) (7.292e-5 * 12.8)^2 / 8
     */
    plan.sample_rate = (struct fx8_rate){10, 1};
    refuse_source(plan, &source,
                  "simulate.sources: ra_deg, dec_deg: in 128 samples, the "
                  "least that the delays allow, fringes of the longest "
                  "baseline bend by 0.00913 rad and turn by 3.91e-06 rad more "
                  "at the ends of the band: expected at most 0.001 and 0.0625");
}
