/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/try.h"
#include "correlator/run/site.h"
#include "correlator/simulate/simulator_private.h"

/* Shortest block: a shorter one has too few samples for the factors that it
 * costs. */
#define MIN_LENGTH 2048

/* Blocks under a sky at rest, and under one that moves: their length in
 * units of the longest delay, and of the samples in which two overlap (see
 * simulator.h). */
static const struct kind {
    double delays;
    size_t fades;
} at_rest = {768, 8}, in_motion = {512, 2};

/* With a moving sky blocks may be as short as this; and the largest turn of the
 * ends of the band and bend of a fringe from one block to the next, rad (see
 * simulator.h). */
#define MIN_MOVING   256
#define LARGEST_TURN 0.0625
#define LARGEST_BEND 1e-3

/* Longest block: a delay of 5461 samples, or of 8192 under a sky that moves. */
#define MAX_LENGTH ((size_t)1 << 22)

static const double pi = 3.14159265358979323846;

/* --- response to a source ---------------------------------------- */

bool fx8_simulator_is_y(const struct fx8_simulator *simulator, size_t input)
{
    if (simulator->plan.n_polarizations == 1)
        return false;
    return (input % 2 == 1) != simulator->plan.y_first;
}

/* A tone is fully polarised: X and Y carry one signal, with the powers I + Q
 * and I - Q and the phase of U + iV between them. */
static void mix_tone(const struct fx8_source *source, bool is_y,
                     double mix[2][2])
{
    const double *stokes = source->stokes;
    const double across = hypot(stokes[2], stokes[3]);
    const double power = is_y ? stokes[0] - stokes[1] : stokes[0] + stokes[1];
    mix[0][0] = sqrt(fmax(power, 0.0));
    if (is_y && across > 0.0) {
        mix[0][1] = mix[0][0] * (stokes[3] / across);
        mix[0][0] *= stokes[2] / across;
    }
}

void fx8_simulator_mix(const struct fx8_source *source, bool is_y,
                       double mix[2][2])
{
    const double i = source->stokes[0], q = source->stokes[1];
    memset(mix, 0, 2 * sizeof *mix);
    if (source->is_tone) {
        mix_tone(source, is_y, mix);
        return;
    }
    const double of_x = sqrt(i + q);
    if (!is_y) {
        mix[0][0] = of_x;
        return;
    }
    /* X carries signal 1 alone; Y carries as much of it as <conj(X) Y> = U + iV
     * needs, and the rest of its power as signal 2 */
    if (of_x > 0.0) {
        mix[0][0] = source->stokes[2] / of_x;
        mix[0][1] = source->stokes[3] / of_x;
    }
    const double rest = i - q - mix[0][0] * mix[0][0] - mix[0][1] * mix[0][1];
    mix[1][0] = sqrt(fmax(rest, 0.0));
}

double fx8_simulator_path(const struct fx8_simulator *simulator,
                          const double direction[3], size_t input)
{
    const double *position =
        simulator->plan.position_m[input / simulator->plan.n_polarizations];
    double path_m = 0.0;
    for (size_t axis = 0; axis < 3; axis++)
        path_m += position[axis] * direction[axis];
    return path_m / FX8_LIGHT_M_S;
}

double fx8_simulator_advance(const struct fx8_simulator *simulator,
                             const double direction[3], size_t input)
{
    return fx8_simulator_path(simulator, direction, input) -
           simulator->plan.cable_delay_s[input];
}

void fx8_simulator_voltage(const struct fx8_simulator *simulator, size_t source,
                           const double direction[3], size_t input,
                           double frequency_hz, double voltage[2][2])
{
    const struct fx8_source *of = &simulator->plan.sources[source];
    const double cycles =
        frequency_hz * fx8_simulator_advance(simulator, direction, input) +
        simulator->gain_turns[input];
    const double phase = 2.0 * pi * (cycles - floor(cycles));
    double mix[2][2], gain = simulator->gain[input];
    fx8_simulator_mix(of, fx8_simulator_is_y(simulator, input), mix);
    if (of->is_tone && !simulator->plan.is_complex)
        gain *= sqrt(0.5);
    for (size_t k = 0; k < 2; k++) {
        voltage[k][0] =
            gain * (mix[k][0] * cos(phase) - mix[k][1] * sin(phase));
        voltage[k][1] =
            gain * (mix[k][0] * sin(phase) + mix[k][1] * cos(phase));
    }
}

double fx8_simulator_unit(const struct fx8_simulator *simulator)
{
    const double rms =
        simulator->plan.noise_rms > 0.0 ? simulator->plan.noise_rms : 1.0;
    return rms * rms * (double)simulator->n_parts;
}

double fx8_simulator_noise(const struct fx8_simulator *simulator, size_t input)
{
    const double rms = simulator->gain[input] * simulator->plan.noise_rms;
    /* rounding to whole numbers: variance 1/12 */
    return (rms * rms + 1.0 / 12.0) * (double)simulator->n_parts;
}

double fx8_simulator_rms(const struct fx8_simulator *simulator, size_t input)
{
    const double rms = simulator->gain[input] * simulator->plan.noise_rms;
    double power = rms * rms * (double)simulator->n_parts;
    for (size_t s = 0; s < simulator->plan.n_sources; s++) {
        static const double anywhere[3] = {0.0, 0.0, 1.0};
        double voltage[2][2], share = 0.0;
        fx8_simulator_voltage(simulator, s, anywhere, input, 0.0, voltage);
        for (size_t k = 0; k < 2; k++)
            share +=
                voltage[k][0] * voltage[k][0] + voltage[k][1] * voltage[k][1];
        /* of a real sinusoid, both halves */
        if (simulator->plan.sources[s].is_tone && !simulator->plan.is_complex)
            share *= 2.0;
        power += share * fx8_simulator_unit(simulator);
    }
    return sqrt(power / (double)simulator->n_parts);
}

/* --- plan -------------------------------------------------------- */

/* Difference between the largest and the least delay of the inputs: of their
 * cables, and of a signal from a direction; NULL: none. */
static double spread_of_delays(const struct fx8_simulator *simulator,
                               const double *direction)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t input = 0; input < simulator->n_inputs; input++) {
        const double advance =
            direction == NULL
                ? -simulator->plan.cable_delay_s[input]
                : fx8_simulator_advance(simulator, direction, input);
        least = fmin(least, advance);
        most = fmax(most, advance);
    }
    return most - least;
}

/* Longest difference of delays between two inputs, in samples; a celestial
 * source may be in any direction. */
static double longest_delay(const struct fx8_simulator *simulator)
{
    double longest_s = 0.0;
    if (simulator->n_celestial > 0)
        longest_s = fx8_simulator_baseline(simulator) +
                    spread_of_delays(simulator, NULL);
    for (size_t s = 0; s < simulator->plan.n_sources; s++)
        if (!simulator->plan.sources[s].is_celestial)
            longest_s =
                fmax(longest_s,
                     spread_of_delays(
                         simulator, simulator->plan.sources[s].direction_enu));
    return longest_s * fx8_rate_hz(simulator->plan.sample_rate);
}

static enum fx8_status choose_length(struct fx8_simulator *simulator,
                                     struct fx8_error *error)
{
    const struct kind kind = simulator->n_celestial > 0 ? in_motion : at_rest;
    const double delay = longest_delay(simulator);
    const double least = delay * kind.delays;
    if (!(least <= (double)MAX_LENGTH))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "simulate.sources: a delay of %.6g samples between two "
                        "inputs: expected at most %.0f",
                        delay, floor((double)MAX_LENGTH / kind.delays));
    double errors[2];
    size_t length = MIN_LENGTH;
    while ((double)length < least)
        length *= 2;
    fx8_simulator_block_errors(simulator, length, errors);
    while ((errors[0] > LARGEST_TURN || errors[1] > LARGEST_BEND) &&
           length > MIN_MOVING && (double)(length / 2) >= least) {
        length /= 2;
        fx8_simulator_block_errors(simulator, length, errors);
    }
    if (!(errors[0] <= LARGEST_TURN && errors[1] <= LARGEST_BEND))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "simulate.sources: ra_deg, dec_deg: in %zu samples, "
                        "the least that the delays allow, fringes of the "
                        "longest baseline bend by %.3g rad and turn by %.3g "
                        "rad more at the ends of the band: expected at most "
                        "%g and %g",
                        length / 2, errors[1], errors[0], LARGEST_BEND,
                        LARGEST_TURN);
    simulator->length = length;
    simulator->step = length - length / kind.fades;
    return FX8_OK;
}

enum fx8_status fx8_simulator_allocate(struct fx8_simulator *simulator,
                                       const struct fx8_array *arrays, size_t n,
                                       struct fx8_error *error)
{
    memcpy(simulator->arrays + simulator->n_arrays, arrays, n * sizeof *arrays);
    simulator->n_arrays += n;
    return fx8_allocate_arrays(arrays, n, "simulator", error);
}

static enum fx8_status allocate_inputs(struct fx8_simulator *simulator,
                                       struct fx8_error *error)
{
    const struct fx8_simulation *plan = &simulator->plan;
    const size_t n_inputs = simulator->n_inputs;
    const size_t n_dropouts = fx8_product(n_inputs, DROPOUT_PARTS, 1, 1);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(simulator->gain, n_inputs),
        FX8_ITEMS(simulator->gain_turns, n_inputs),
        FX8_ITEMS(simulator->tones, plan->n_sources),
        FX8_ITEMS(simulator->dropout, n_dropouts),
        FX8_ITEMS(simulator->missing, n_dropouts),
    };
    return fx8_simulator_allocate(simulator, arrays,
                                  sizeof arrays / sizeof *arrays, error);
}

static enum fx8_status allocate_blocks(struct fx8_simulator *simulator,
                                       struct fx8_error *error)
{
    const size_t length = simulator->length, n_parts = simulator->n_parts;
    const size_t n_bins = n_parts == 2 ? length : length / 2 + 1;
    simulator->n_bins =
        (n_bins + FX8_LOOPS_TILE - 1) / FX8_LOOPS_TILE * FX8_LOOPS_TILE;
    FX8_TRY(fx8_fft_open(n_parts == 2 ? FX8_FFT_COMPLEX : FX8_FFT_INVERSE_REAL,
                         length, 1, false, &simulator->fft, error));
    const struct fx8_array window =
        FX8_ITEMS(simulator->window, fx8_product(length, n_parts, 1, 1));
    FX8_TRY(fx8_simulator_allocate(simulator, &window, 1, error));
    const size_t fade = length - simulator->step;
    for (size_t k = 0; k < length * n_parts; k++) {
        const double place = (double)(k / n_parts) + 0.5;
        const double inside = fmin(place, (double)length - place);
        simulator->window[k] =
            (float)sin(0.5 * pi * fmin(inside / (double)fade, 1.0));
    }
    return fx8_simulator_plan_sky(simulator, error);
}

/* Count and list the sources by their kind; tones must lie in the sampled
 * band. */
static enum fx8_status list_sources(struct fx8_simulator *simulator,
                                    struct fx8_error *error)
{
    const struct fx8_simulation *plan = &simulator->plan;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const double dc = plan->dc_frequency_hz, half = 0.5 * rate_hz;
    const bool is_lower = plan->lower_sideband;
    const double low = plan->is_complex || is_lower ? dc - half : dc;
    const double high = plan->is_complex || !is_lower ? dc + half : dc;
    for (size_t s = 0; s < plan->n_sources; s++) {
        const struct fx8_source *source = &simulator->plan.sources[s];
        if (!source->is_tone) {
            simulator->n_moving += source->is_celestial;
            simulator->n_fixed += !source->is_celestial;
            continue;
        }
        if (!(source->tone_hz >= low && source->tone_hz <= high))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "simulate.sources: tone_hz: %.12g: expected a "
                            "frequency in the band, %.12g to %.12g",
                            source->tone_hz, low, high);
        simulator->tones[simulator->n_tones++] = (struct tone){
            .source = s,
            .cycles_per_sample = (source->tone_hz - dc) / rate_hz,
        };
    }
    return FX8_OK;
}

static void draw_gains(struct fx8_simulator *simulator)
{
    for (size_t input = 0; input < simulator->n_inputs; input++) {
        float normals[4];
        simulator->loops->normals((struct fx8_random){simulator->plan.seed,
                                                      RANDOM_GAIN,
                                                      (uint32_t)input},
                                  0, 1, normals);
        simulator->gain[input] =
            exp(simulator->plan.gain_spread * (double)normals[0]);
        simulator->gain_turns[input] =
            simulator->plan.gain_phase_deg / 360.0 * (double)normals[1];
    }
}

/* Draw one missing stretch in each part of the recording, per input. */
static void draw_dropouts(struct fx8_simulator *simulator)
{
    const struct fx8_simulation *plan = &simulator->plan;
    const int64_t part = (plan->n_samples + DROPOUT_PARTS - 1) / DROPOUT_PARTS;
    for (size_t input = 0; input < simulator->n_inputs; input++)
        for (size_t k = 0; k < DROPOUT_PARTS; k++) {
            struct stretch *dropout =
                &simulator->dropout[input * DROPOUT_PARTS + k];
            const int64_t start = part * (int64_t)k;
            const int64_t left = plan->n_samples - start;
            const int64_t room = left < part ? left : part;
            const int64_t n =
                room > 0 ? llrint(plan->dropout_fraction * (double)room) : 0;
            if (n <= 0)
                continue;
            const double at = fx8_random_uniform(
                (struct fx8_random){plan->seed, RANDOM_DROPOUT,
                                    (uint32_t)input},
                k);
            *dropout = (struct stretch){
                start + (int64_t)(at * (double)(room - n + 1)), n};
            simulator->missing[simulator->n_missing++] = (struct fx8_missing){
                .first_sample = dropout->first,
                .n_samples = n,
                .antenna = (int32_t)(input / plan->n_polarizations),
                .polarization = (int32_t)(input % plan->n_polarizations),
                .band = -1,
            };
        }
    qsort(simulator->missing, simulator->n_missing, sizeof *simulator->missing,
          fx8_missing_order);
}

enum fx8_status fx8_simulator_open(const struct fx8_simulation *simulation,
                                   struct fx8_simulator **simulator,
                                   struct fx8_error *error)
{
    *simulator = NULL;
    if (simulation->n_samples < 1)
        return fx8_fail(
            error, FX8_ERR_USAGE,
            "simulate.duration_s: no sample: expected at least one");
    FX8_AUTO(fx8_simulator_close) struct fx8_simulator *made = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *made, "simulator", &made, error));
    *made = (struct fx8_simulator){
        .plan = *simulation,
        .n_inputs = simulation->n_antennas * simulation->n_polarizations,
        .n_parts = simulation->is_complex ? 2 : 1,
        .loops = fx8_loops_find(),
    };
    FX8_TRY(allocate_inputs(made, error));
    FX8_TRY(list_sources(made, error));
    FX8_TRY(fx8_simulator_plan_motion(made, error));
    FX8_TRY(choose_length(made, error));
    FX8_TRY(fx8_simulator_check_motion(made, error));
    FX8_TRY(allocate_blocks(made, error));
    draw_gains(made);
    draw_dropouts(made);
    *simulator = made;
    made = NULL;
    return FX8_OK;
}

/* --- results ----------------------------------------------------- */

const struct fx8_missing *fx8_simulator_missing(
    const struct fx8_simulator *simulator, size_t *n_missing)
{
    *n_missing = simulator->n_missing;
    return simulator->missing;
}

int64_t fx8_simulator_clipped(const struct fx8_simulator *simulator)
{
    return simulator->n_clamped;
}

double fx8_simulator_gain(const struct fx8_simulator *simulator, size_t input)
{
    return simulator->gain[input];
}

double fx8_simulator_gain_turns(const struct fx8_simulator *simulator,
                                size_t input)
{
    return simulator->gain_turns[input];
}

const struct fx8_simulation *fx8_simulator_plan(
    const struct fx8_simulator *simulator)
{
    return &simulator->plan;
}

void fx8_simulator_close(struct fx8_simulator **simulator)
{
    struct fx8_simulator *closed = *simulator;
    if (closed == NULL)
        return;
    fx8_fft_close(&closed->fft);
    fx8_free_arrays(closed->arrays, closed->n_arrays);
    free(closed);
    *simulator = NULL;
}
