/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator against formulas written here again: a plain DFT, the rules of
 * sidebands, and V_ij = conj(E_i) E_j = P exp(2 pi i f (r_j - r_i) . s / c).
 */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "correlator/simulate/random.h"
#include "correlator/simulate/simulator.h"
#include "correlator/site.h"

static const double two_pi = 6.283185307179586;

/* --- random numbers ----------------------------------------------------------
 */

/* Known answers of Philox4x32-10 from the Random123 distribution. */
static void philox_known_answers(void **state)
{
    (void)state;
    uint32_t words[4];
    fx8_random_words((struct fx8_random){0, 0, 0}, 0, words);
    const uint32_t zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(words, zeros, sizeof words);
    fx8_random_words((struct fx8_random){UINT64_MAX, UINT32_MAX, UINT32_MAX},
                     UINT64_MAX, words);
    const uint32_t ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(words, ones, sizeof words);
    fx8_random_words((struct fx8_random){UINT64_C(0x299f31d0a4093822),
                                         0x13198a2e, 0x03707344},
                     UINT64_C(0x85a308d3243f6a88), words);
    const uint32_t digits[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    assert_memory_equal(words, digits, sizeof words);
}

/* mean 0, variance 1, kurtosis 3: 5 sigma of 4 n draws */
static void normals_are_normal(void **state)
{
    (void)state;
    const size_t n = 100000;
    double moments[5] = {0};
    for (size_t k = 0; k < n; k++) {
        float normals[4];
        fx8_random_normals((struct fx8_random){7, 2, 3}, k, normals);
        for (size_t i = 0; i < 4; i++)
            for (int p = 1; p <= 4; p++)
                moments[p] += pow((double)normals[i], p) / (4.0 * (double)n);
    }
    const double sigma = 1 / sqrt(4.0 * (double)n);
    assert_true(fabs(moments[1]) < 5 * sigma);
    assert_true(fabs(moments[2] - 1) < 5 * sqrt(2) * sigma);
    assert_true(fabs(moments[3]) < 5 * sqrt(15) * sigma);
    assert_true(fabs(moments[4] - 3) < 5 * sqrt(96) * sigma);
}

/* --- a small array
 * -------------------------------------------------------------- */

enum { ANTENNAS = 3, POLARIZATIONS = 2, INPUTS = 6 };

static const double positions[ANTENNAS][3] = {
    {0, 0, 0}, {9, 4, 0.5}, {-6, 11, -0.2}};
static const double cables[INPUTS] = {0, 0, 0, 0, 4e-9, 9e-9};

/* Baselines of 5 km at 100 kHz: from block to block, 8192 samples, the fringe
 * of a source on the meridian turns by 0.06 rad and its delay hardly changes.
 */
static const double wide_positions[ANTENNAS][3] = {
    {0, 0, 0}, {4900, 0, 0}, {-10, 20, 0}};
static const double no_cables[INPUTS] = {0};

static struct fx8_simulation make_plan(void)
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

static struct fx8_source make_source(double azimuth_deg, double elevation_deg,
                                     double i, double q, double u, double v)
{
    const double az = azimuth_deg / 360 * two_pi;
    const double el = elevation_deg / 360 * two_pi;
    return (struct fx8_source){
        .direction_enu = {cos(el) * sin(az), cos(el) * cos(az), sin(el)},
        .stokes = {i, q, u, v},
    };
}

/* Where a source stands at a time of the recording, by ERFA at that time. */
static void find_direction(const struct fx8_simulation *plan,
                           const struct fx8_source *source, double seconds,
                           double direction[3])
{
    struct fx8_time time = plan->start_time;
    const double whole = floor(seconds);
    time.unix_s += (int64_t)whole;
    time.picosecond = llrint((seconds - whole) * 1e12);
    memcpy(direction, source->direction_enu, 3 * sizeof *direction);
    if (!source->is_celestial)
        return;
    double enu[1][3];
    struct fx8_error error;
    assert_int_equal(fx8_site_sky(&plan->site, time, plan->dut1_s, 1,
                                  &source->icrs_deg, enu, &error),
                     FX8_OK);
    memcpy(direction, enu[0], sizeof enu[0]);
}

/* A plan under a sky that moves. */
static void place_plan(struct fx8_simulation *plan)
{
    plan->site = (struct fx8_site){-26.7, 116.67, 377.8};
    plan->start_time = (struct fx8_time){1567090800, 0};
    plan->dut1_s = -0.15;
}

static struct fx8_simulator *open_simulator(const struct fx8_simulation *plan)
{
    struct fx8_simulator *simulator;
    struct fx8_error error;
    assert_int_equal(fx8_simulator_open(plan, &simulator, &error), FX8_OK);
    return simulator;
}

/* All samples of a plan, int8 or ci8 [input][n_samples]. */
static int8_t *simulate(const struct fx8_simulation *plan)
{
    struct fx8_simulator *simulator = open_simulator(plan);
    const size_t size = (size_t)plan->n_samples * INPUTS * 2;
    int8_t *samples = malloc(size);
    assert_non_null(samples);
    memset(samples, 99, size);
    fx8_simulator_read(simulator, 0, plan->n_samples, samples);
    fx8_simulator_close(&simulator);
    assert_null(simulator);
    return samples;
}

/* --- determinism
 * ------------------------------------------------------------------ */

static void check_blocks(const struct fx8_simulation *plan)
{
    const size_t parts = plan->is_complex ? 2 : 1;
    const size_t n = (size_t)plan->n_samples;
    int8_t *whole = simulate(plan);
    struct fx8_simulation threaded = *plan;
    threaded.n_threads = 3;
    struct fx8_simulator *simulator = open_simulator(&threaded);
    int8_t *part = malloc(n * INPUTS * parts);
    assert_non_null(part);
    static const size_t sizes[] = {1, 777, 8192, 20001, 5};
    size_t first = 0;
    for (size_t k = 0; first < n; k++) {
        const size_t want = sizes[k % 5];
        const size_t run = want < n - first ? want : n - first;
        memset(part, 99, run * INPUTS * parts);
        fx8_simulator_read(simulator, (int64_t)first, (int64_t)run, part);
        for (size_t i = 0; i < INPUTS; i++)
            assert_memory_equal(part + i * run * parts,
                                whole + (i * n + first) * parts, run * parts);
        first += run;
    }
    /* and backwards */
    fx8_simulator_read(simulator, 10, 3, part);
    for (size_t i = 0; i < INPUTS; i++)
        assert_memory_equal(part + i * 3 * parts, whole + (i * n + 10) * parts,
                            3 * parts);
    fx8_simulator_close(&simulator);
    free(part);
    free(whole);
}

static void blocks_and_threads_change_nothing(void **state)
{
    (void)state;
    struct fx8_source sources[] = {make_source(50, 40, 0.5, 0.1, 0.2, 0.3),
                                   make_source(20, 70, 3, 0, 0, 0)};
    sources[1].is_tone = true;
    sources[1].tone_hz = 100.123e6;
    struct fx8_simulation plan = make_plan();
    plan.sources = sources;
    plan.n_sources = 2;
    plan.gain_spread = 0.1;
    plan.gain_phase_deg = 20;
    plan.dropout_fraction = 0.05;
    check_blocks(&plan);
    plan.is_complex = false;
    plan.lower_sideband = false;
    check_blocks(&plan);
    /* 2 s at 50 kHz, so that directions are renewed on the way, and are asked
     * for again when it is read backwards */
    for (size_t s = 0; s < 2; s++) {
        sources[s].is_celestial = true;
        sources[s].icrs_deg[0] = 100.0 * (double)s;
    }
    sources[1].tone_hz = 100.0123e6;
    plan.sample_rate = (struct fx8_rate){50000, 1};
    plan.position_m = wide_positions;
    place_plan(&plan);
    check_blocks(&plan);
    plan.is_complex = true;
    check_blocks(&plan);
}

static void seeds_differ(void **state)
{
    (void)state;
    struct fx8_simulation plan = make_plan();
    plan.n_samples = 1000;
    int8_t *a = simulate(&plan), *b = simulate(&plan);
    assert_memory_equal(a, b, (size_t)plan.n_samples * INPUTS * 2);
    free(b);
    plan.seed++;
    b = simulate(&plan);
    size_t n_equal = 0;
    for (size_t k = 0; k < (size_t)plan.n_samples * INPUTS * 2; k++)
        n_equal += a[k] == b[k];
    /* independent normals of rms 12 agree once in about 42 */
    assert_true(n_equal < (size_t)plan.n_samples * INPUTS * 2 / 20);
    free(a);
    free(b);
}

/* --- power
 * ----------------------------------------------------------------------------
 */

static void noise_has_the_power_it_should(void **state)
{
    (void)state;
    struct fx8_simulation plan = make_plan();
    plan.gain_spread = 0.2;
    struct fx8_simulator *simulator = open_simulator(&plan);
    int8_t *samples = simulate(&plan);
    const size_t n = 2 * (size_t)plan.n_samples;
    double log_gain = 0;
    for (size_t i = 0; i < INPUTS; i++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += samples[i * n + k] * samples[i * n + k];
        const double gain = fx8_simulator_gain(simulator, i);
        const double expected = 144 * gain * gain + 1.0 / 12;
        /* per real number; fx8_simulator_noise is per sample */
        assert_true(fabs(fx8_simulator_noise(simulator, i) / expected / 2 - 1) <
                    1e-12);
        assert_true(fabs(sum / (double)n / expected - 1) <
                    5 * sqrt(2.0 / (double)n));
        log_gain += log(gain) * log(gain) / INPUTS;
    }
    assert_true(log_gain > 0.04 * 0.05 && log_gain < 0.04 * 4);
    assert_int_equal(fx8_simulator_clipped(simulator), 0);
    fx8_simulator_close(&simulator);
    free(samples);
}

/* The windows of overlapping blocks leave no trace: the power of a source in
 * each sixteenth of the block's length, 16384 samples, is the same. */
static void power_is_stationary(void **state)
{
    (void)state;
    enum { SECTIONS = 16, SECTION = 1024 };
    const struct fx8_source source = make_source(70, 30, 400, 0, 0, 0);
    struct fx8_simulation plan = make_plan();
    plan.n_samples = 40 * SECTIONS * SECTION;
    plan.noise_rms = 0;
    plan.sources = &source;
    plan.n_sources = 1;
    int8_t *samples = simulate(&plan);
    double power[SECTIONS] = {0};
    for (size_t n = 0; n < (size_t)plan.n_samples; n++) {
        const int8_t *sample = samples + 2 * n;
        power[n / SECTION % SECTIONS] +=
            sample[0] * sample[0] + sample[1] * sample[1];
    }
    for (size_t k = 0; k < SECTIONS; k++)
        assert_true(fabs(power[k] / 40 / SECTION / (800 + 1.0 / 6) - 1) <
                    5 / sqrt(40.0 * SECTION));
    free(samples);
}

static void clamped_numbers_are_counted(void **state)
{
    (void)state;
    struct fx8_simulation plan = make_plan();
    plan.noise_rms = 80;
    struct fx8_simulator *simulator = open_simulator(&plan);
    const size_t n = 2 * (size_t)plan.n_samples * INPUTS;
    int8_t *samples = malloc(n);
    assert_non_null(samples);
    fx8_simulator_read(simulator, 0, plan.n_samples, samples);
    int64_t n_extreme = 0;
    for (size_t k = 0; k < n; k++) {
        assert_true(samples[k] >= -127);
        n_extreme += abs(samples[k]) == 127;
    }
    /* clamped is beyond 127.5: some of the extremes were just rounded */
    const double expected = (double)n * erfc(127.5 / 80 / sqrt(2));
    const int64_t clipped = fx8_simulator_clipped(simulator);
    assert_true(clipped <= n_extreme);
    assert_true(fabs((double)clipped - expected) < 5 * sqrt(expected));
    fx8_simulator_read(simulator, 0, 10, samples);
    assert_int_equal(fx8_simulator_clipped(simulator), clipped);
    fx8_simulator_close(&simulator);
    free(samples);
}

/* --- coherence and phase
 * ----------------------------------------------------------------- */

enum { LENGTH = 128, BINS = 3 };

/* Bin `bin` of an upper-sideband DFT of one window of an input. */
static void transform(const struct fx8_simulation *plan, const int8_t *samples,
                      size_t first, int bin, double value[2])
{
    value[0] = value[1] = 0;
    for (size_t n = 0; n < LENGTH; n++) {
        double re, im = 0;
        if (plan->is_complex) {
            re = samples[2 * (first + n)];
            im = samples[2 * (first + n) + 1] * (plan->lower_sideband ? -1 : 1);
        } else {
            const bool negate = plan->lower_sideband && (first + n) % 2 == 1;
            re = samples[first + n] * (negate ? -1 : 1);
        }
        const double phase = -two_pi * bin * (double)n / LENGTH;
        value[0] += (re * cos(phase) - im * sin(phase)) / sqrt(LENGTH);
        value[1] += (re * sin(phase) + im * cos(phase)) / sqrt(LENGTH);
    }
}

/* Sky frequency of a bin, by DESIGN's words. */
static double sky_hz(const struct fx8_simulation *plan, int bin)
{
    const double rate = 1e6;
    const double zero = !plan->is_complex && plan->lower_sideband
                            ? plan->dc_frequency_hz - rate / 2
                            : plan->dc_frequency_hz;
    return zero + bin * rate / LENGTH;
}

/* V_ij of the sources, in LSB^2. */
static void expect(const struct fx8_simulation *plan, const double turns[],
                   size_t i, size_t j, double frequency_hz, double value[2])
{
    const double unit = (plan->is_complex ? 2 : 1) * 144.0;
    value[0] = i == j ? unit * (1 + 1 / 1728.0) : 0;
    value[1] = 0;
    for (size_t s = 0; s < plan->n_sources; s++) {
        const struct fx8_source *source = &plan->sources[s];
        double delay = cables[i] - cables[j];
        for (size_t axis = 0; axis < 3; axis++)
            delay += (positions[j / 2][axis] - positions[i / 2][axis]) *
                     source->direction_enu[axis] / 299792458.0;
        const double *stokes = source->stokes;
        const double sign = i % 2 == 0 ? 1 : -1;
        double re, im = 0;
        if (i % 2 == j % 2) {
            re = stokes[0] + sign * stokes[1];
        } else { /* conj(X) Y = U + iV, conj(Y) X = U - iV */
            re = stokes[2];
            im = sign * stokes[3];
        }
        const double phase =
            two_pi * (frequency_hz * delay + turns[j] - turns[i]);
        value[0] += unit * (re * cos(phase) - im * sin(phase));
        value[1] += unit * (re * sin(phase) + im * cos(phase));
    }
}

/*
 * Every pair in some channels: within 5 sigma of the radiometer equation, and
 * of what the DFT loses for a delay d, d / LENGTH (here d < 0.1 sample).
 */
static void check_coherence(const struct fx8_simulation *plan)
{
    int8_t *samples = simulate(plan);
    double turns[INPUTS];
    struct fx8_simulator *simulator = open_simulator(plan);
    for (size_t i = 0; i < INPUTS; i++)
        turns[i] = fx8_simulator_gain_turns(simulator, i);
    fx8_simulator_close(&simulator);
    const size_t n = (size_t)plan->n_samples, n_spectra = n / LENGTH;
    const size_t row = n * (plan->is_complex ? 2 : 1);
    static const int bins[BINS] = {3, 17, 50};
    for (size_t k = 0; k < BINS; k++) {
        const int bin = plan->is_complex && k == 1 ? -bins[k] : bins[k];
        double mean[INPUTS][INPUTS][2] = {0};
        for (size_t t = 0; t < n_spectra; t++) {
            double x[INPUTS][2];
            for (size_t i = 0; i < INPUTS; i++)
                transform(plan, samples + i * row, t * LENGTH, bin, x[i]);
            for (size_t i = 0; i < INPUTS; i++)
                for (size_t j = 0; j < INPUTS; j++) {
                    mean[i][j][0] += x[i][0] * x[j][0] + x[i][1] * x[j][1];
                    mean[i][j][1] += x[i][0] * x[j][1] - x[i][1] * x[j][0];
                }
        }
        for (size_t i = 0; i < INPUTS; i++)
            for (size_t j = 0; j < INPUTS; j++) {
                double expected[2], p_i[2], p_j[2];
                const double frequency_hz = sky_hz(plan, bin);
                expect(plan, turns, i, j, frequency_hz, expected);
                expect(plan, turns, i, i, frequency_hz, p_i);
                expect(plan, turns, j, j, frequency_hz, p_j);
                const double sigma = sqrt(p_i[0] * p_j[0] / (double)n_spectra);
                const double loss = 0.1 / LENGTH * sqrt(p_i[0] * p_j[0]);
                for (size_t part = 0; part < 2; part++)
                    assert_true(fabs(mean[i][j][part] / (double)n_spectra -
                                     expected[part]) < 5 * sigma + loss);
            }
    }
    free(samples);
}

static void sources_have_the_right_coherence_and_phase(void **state)
{
    (void)state;
    const struct fx8_source sources[] = {
        make_source(50, 40, 0.8, 0.1, 0.3, -0.5),
        make_source(200, 25, 0.4, 0, 0, 0),
    };
    struct fx8_simulation plan = make_plan();
    plan.sources = sources;
    plan.n_sources = 2;
    plan.n_samples = 400000; /* 5 sigma are a sixth of the sources' power */
    check_coherence(&plan);
    plan.gain_phase_deg = 60;
    plan.lower_sideband = true;
    check_coherence(&plan);
    plan.is_complex = false;
    check_coherence(&plan);
    plan.lower_sideband = false;
    check_coherence(&plan);
}

/* --- tones
 * -----------------------------------------------------------------------------------
 */

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

/*
 * Without receiver noise the unit is an rms of 1 LSB: I = 2048 is an amplitude
 * of 45 LSB in a part of a complex sample and of 64 in a real one.  Rounding
 * leaves 0.41 LSB / sqrt(n), taken 7 times as it is a line spectrum in part,
 * and the image of a real tone 0.02.
 */
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
    /* the recorded frequency falls as the sky's rises in a lower sideband */
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
    free(samples);
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

/* Alike in X and Y, linear, circular, X alone, Y alone. */
static void tones_have_the_right_amplitude_and_phase(void **state)
{
    (void)state;
    static const double stokes[5][4] = {{2048, 0, 0, 0},
                                        {2000, 1200, -1600, 0},
                                        {1500, 0, 0, -1500},
                                        {1000, 1000, 0, 0},
                                        {1000, -1000, 0, 0}};
    for (int kind = 0; kind < 4; kind++)
        for (size_t s = 0; s < 5; s++) {
            struct fx8_simulation plan = make_plan();
            plan.n_samples = 40000;
            plan.is_complex = kind < 2;
            plan.lower_sideband = kind % 2 == 1;
            plan.gain_phase_deg = s == 1 ? 50 : 0;
            const struct fx8_source source = make_tone(&plan, stokes[s]);
            check_tone(&plan, &source, 1);
        }
}

static void tone_outside_the_band_is_refused(void **state)
{
    (void)state;
    struct fx8_source source = make_source(0, 45, 1, 0, 0, 0);
    source.is_tone = true;
    source.tone_hz = 99.9e6;
    struct fx8_simulation plan = make_plan();
    plan.is_complex = false; /* 100 to 100.5 MHz */
    plan.sources = &source;
    plan.n_sources = 1;
    struct fx8_simulator *simulator;
    struct fx8_error error;
    assert_int_equal(fx8_simulator_open(&plan, &simulator, &error),
                     FX8_ERR_USAGE);
    assert_string_equal(error.message,
                        "simulate.sources: tone_hz: 99900000: expected a "
                        "frequency in the band, 100000000 to 100500000");
    assert_null(simulator);
    fx8_simulator_close(&simulator);
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

/* A source on the meridian in the middle of the recording, to a degree or
 * two, for positions of a later equinox. */
static struct fx8_source make_celestial(const struct fx8_simulation *plan,
                                        double dec_deg, double i)
{
    struct fx8_time middle = plan->start_time;
    middle.unix_s +=
        llrint(0.5 * (double)plan->n_samples / fx8_rate_hz(plan->sample_rate));
    double lst_rad;
    struct fx8_error error;
    assert_int_equal(fx8_site_sidereal_times(&plan->site, 1, &middle,
                                             plan->dut1_s, &lst_rad, &error),
                     FX8_OK);
    return (struct fx8_source){
        .is_celestial = true,
        .icrs_deg = {lst_rad / two_pi * 360, dec_deg},
        .stokes = {i, 0, 0, 0},
    };
}

/*
 * simulator.h, "A celestial source moves": in sixteenths of the way from the
 * centre of a block to the next, the phase errs as the sum of two blocks does,
 * and its mean not at all.  The signals of both inputs are the same, so that
 * what scatters is rounding, 0.02 of a sample's power, and the mixed products
 * of two blocks, 0.06 / 2 of it: 1.5e-4 in the mean of 40960 samples.
 */
static void blocks_follow_the_sky(void **state)
{
    (void)state;
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
    /* the coherence is short by q^2 / 15, and as the delay is not quite 0 */
    const double short_by = 1 - cabs(whole) / power;
    assert_true(short_by > 0 && short_by < turn * turn / 15 + 2e-4);
    for (size_t part = 0; part < PARTS; part++) {
        const double u = ((double)part + 0.5) / PARTS;
        const double share = sin(two_pi / 4 * u) * sin(two_pi / 4 * u);
        const double expected =
            carg((1 - share + share * cexp(I * turn)) * cexp(-I * turn * u));
        assert_true(fabs(carg(sums[part]) - expected) < 5 * 1.5e-4);
    }
    free(samples);
}

/* Tones, in stretches of 0.03 s, in which the fringe turns by 0.023 rad: the
 * mean is short by 0.023^2 / 24. */
static void moving_tones_have_the_right_phase(void **state)
{
    (void)state;
    static const double stokes[4] = {800, 480, 0, 640};
    for (int kind = 0; kind < 4; kind++) {
        struct fx8_simulation plan = make_moving_plan();
        plan.is_complex = kind < 2;
        plan.lower_sideband = kind % 2 == 1;
        plan.n_samples = 300000;
        struct fx8_source source = make_tone(&plan, stokes);
        const struct fx8_source place = make_celestial(&plan, -20, 0);
        source.is_celestial = true;
        memcpy(source.icrs_deg, place.icrs_deg, sizeof source.icrs_deg);
        check_tone(&plan, &source, 100);
    }
}

static void motion_too_fast_is_refused(void **state)
{
    (void)state;
    static const double far[ANTENNAS][3] = {{0, 0, 0}, {40000, 0, 0}};
    struct fx8_simulation plan = make_moving_plan();
    const struct fx8_source source = make_celestial(&plan, 0, 1);
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.position_m = far;
    plan.sources = &source;
    plan.n_sources = 1;
    struct fx8_simulator *simulator;
    struct fx8_error error;
    assert_int_equal(fx8_simulator_open(&plan, &simulator, &error),
                     FX8_ERR_USAGE);
    /* 2 pi 100.5e6 (40 km / c) 7.292e-5 times 65536 / 1e6 */
    assert_string_equal(
        error.message,
        "simulate.sources: ra_deg, dec_deg: fringes of the longest baseline "
        "turn by 0.403 rad in 65536 samples, the least that its delay allows: "
        "expected at most 0.0625");
    assert_null(simulator);
}

/* --- dropouts
 * ----------------------------------------------------------------------------------
 */

static void dropouts_are_blank_and_listed(void **state)
{
    (void)state;
    struct fx8_simulation plan = make_plan();
    plan.noise_rms = 60; /* few zeros of its own: 0.7 % of the parts */
    int8_t *full = simulate(&plan);
    plan.dropout_fraction = 0.1;
    int8_t *gappy = simulate(&plan);
    struct fx8_simulator *simulator = open_simulator(&plan);
    size_t n_missing;
    const struct fx8_missing *missing =
        fx8_simulator_missing(simulator, &n_missing);
    const size_t n = (size_t)plan.n_samples;
    uint8_t *lost = calloc(n, INPUTS);
    assert_non_null(lost);
    int64_t total = 0;
    for (size_t m = 0; m < n_missing; m++) {
        assert_true(m == 0 ||
                    missing[m].first_sample >= missing[m - 1].first_sample);
        assert_true(missing[m].first_sample >= 0);
        assert_true(missing[m].first_sample + missing[m].n_samples <=
                    plan.n_samples);
        const size_t input = (size_t)missing[m].antenna * POLARIZATIONS +
                             (size_t)missing[m].polarization;
        for (int64_t k = 0; k < missing[m].n_samples; k++)
            lost[input * n + (size_t)(missing[m].first_sample + k)]++;
        total += missing[m].n_samples;
    }
    /* each of 32 stretches is rounded to a sample */
    assert_true(llabs(total - INPUTS * plan.n_samples / 10) <= 32 * INPUTS);
    for (size_t k = 0; k < n * INPUTS; k++) {
        assert_true(lost[k] <= 1);
        for (size_t part = 0; part < 2; part++)
            assert_int_equal(gappy[2 * k + part],
                             lost[k] ? 0 : full[2 * k + part]);
    }
    assert_memory_not_equal(lost, lost + n, n);
    free(lost);
    free(full);
    free(gappy);
    fx8_simulator_close(&simulator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(blocks_and_threads_change_nothing),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(noise_has_the_power_it_should),
        cmocka_unit_test(power_is_stationary),
        cmocka_unit_test(clamped_numbers_are_counted),
        cmocka_unit_test(sources_have_the_right_coherence_and_phase),
        cmocka_unit_test(tones_have_the_right_amplitude_and_phase),
        cmocka_unit_test(tone_outside_the_band_is_refused),
        cmocka_unit_test(blocks_follow_the_sky),
        cmocka_unit_test(moving_tones_have_the_right_phase),
        cmocka_unit_test(motion_too_fast_is_refused),
        cmocka_unit_test(dropouts_are_blank_and_listed),
    };
    return cmocka_run_group_tests_name("simulator", tests, NULL, NULL);
}
