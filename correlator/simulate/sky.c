/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sky.c -- one half block of voltages: sky, noise, gain, rounding.
 */
#include <erfam.h>
#include <math.h>
#include <string.h>

#include "config/base/parallel.h"
#include "correlator/simulate/simulator_private.h"

/* Bins between two exact phases: the recurrence between them drifts by less
 * than 1e-13. */
#define ANCHOR 256

/* One block being made. */
struct making {
    struct fx8_simulator *simulator;
    int64_t block;
    bool emit; /* also finish half block `block` - 1 */
};

/* --- signals of the sources -------------------------------------- */

/* Spectra of one source: two signals of unit power, scaled for the inverse
 * FFT, E|x|^2 = L E|S|^2. */
static void draw_source(void *context, size_t source, size_t thread)
{
    const struct making *making = context;
    const struct fx8_simulator *simulator = making->simulator;
    (void)thread;
    if (simulator->plan.sources[source].is_tone)
        return;
    const size_t length = simulator->length;
    struct fx8_cf32 *first = simulator->spectra + 2 * source * length;
    struct fx8_cf32 *second = first + length;
    const float scale =
        (float)sqrt(0.5 * fx8_simulator_unit(simulator) / (double)length);
    const struct fx8_random stream = {simulator->plan.seed, RANDOM_SOURCE,
                                      (uint32_t)source};
    for (size_t bin = 0; bin < length; bin++) {
        float normals[4];
        fx8_random_normals(stream, (uint64_t)making->block * length + bin,
                           normals);
        first[bin] = (struct fx8_cf32){scale * normals[0], scale * normals[1]};
        second[bin] = (struct fx8_cf32){scale * normals[2], scale * normals[3]};
    }
}

/* exp(2 pi i cycles) */
static void rotate(double cycles, double value[2])
{
    const double phase = ERFA_D2PI * (cycles - floor(cycles));
    value[0] = cos(phase);
    value[1] = sin(phase);
}

/* exp(2 pi i (base + k step)) for ascending k. */
struct rotor {
    double base, step;
    double turn[2], now[2];
};

static struct rotor start_rotor(double base, double step)
{
    struct rotor rotor = {.base = base, .step = step};
    rotate(step, rotor.turn);
    return rotor;
}

/* To k, the `index`th of a series: exact at anchors. */
static void advance_rotor(struct rotor *rotor, double k, size_t index)
{
    const double re = rotor->now[0], im = rotor->now[1];
    rotor->now[0] = re * rotor->turn[0] - im * rotor->turn[1];
    rotor->now[1] = re * rotor->turn[1] + im * rotor->turn[0];
    if (index % ANCHOR == 0)
        rotate(rotor->base + k * rotor->step, rotor->now);
}

/*
 * Add a source to the spectrum of an input: bin v of the sky spectrum is at
 * dc + v fs / L; with a real lower sideband at dc - v fs / L, and the recorded
 * spectrum is its conjugate.  Complex: v = -L/2 ... L/2 - 1, negative ones
 * wrapped to the upper half; real: v = 0 ... L/2.
 */
static void add_source(const struct fx8_simulator *simulator, size_t source,
                       size_t input, float *bins)
{
    const struct fx8_simulation *plan = &simulator->plan;
    const int64_t length = (int64_t)simulator->length;
    const bool mirrored = !plan->is_complex && plan->lower_sideband;
    const double advance_s =
        fx8_simulator_advance(simulator, simulator->directions[source], input);
    const double step = (mirrored ? -1.0 : 1.0) * advance_s *
                        fx8_rate_hz(plan->sample_rate) / (double)length;
    const double base =
        advance_s * plan->dc_frequency_hz + simulator->gain_turns[input];
    const struct fx8_cf32 *signals =
        simulator->spectra + 2 * source * simulator->length;
    struct rotor rotor = start_rotor(base, step);
    const double *now = rotor.now;
    double mix[2][2];
    fx8_simulator_mix(&simulator->plan.sources[source],
                      fx8_simulator_is_y(simulator, input), mix);
    const int64_t first = plan->is_complex ? -length / 2 : 0;
    const int64_t end = plan->is_complex ? length / 2 : length / 2 + 1;
    for (int64_t v = first; v < end; v++) {
        advance_rotor(&rotor, (double)v, (size_t)(v - first));
        const size_t bin = (size_t)(v < 0 ? v + length : v);
        const struct fx8_cf32 s = signals[bin],
                              z = signals[bin + (size_t)length];
        const double re = mix[0][0] * s.re - mix[0][1] * s.im +
                          mix[1][0] * z.re - mix[1][1] * z.im;
        const double im = mix[0][0] * s.im + mix[0][1] * s.re +
                          mix[1][0] * z.im + mix[1][1] * z.re;
        const double turned = re * now[1] + im * now[0];
        bins[2 * bin] += (float)(re * now[0] - im * now[1]);
        bins[2 * bin + 1] += (float)(mirrored ? -turned : turned);
    }
}

/* Make an end bin of a real spectrum real, with the power of both parts: it has
 * no mirror image to hold the other half. */
static void make_real(float *end)
{
    end[0] *= (float)M_SQRT2;
    end[1] = 0.0f;
}

/* From spectrum to signal: of real samples only the real part. */
static void transform(const struct fx8_simulator *simulator, float *bins)
{
    if (!simulator->plan.is_complex) {
        make_real(bins);
        make_real(bins + simulator->length);
    }
    fx8_fft_execute(simulator->fft, bins);
}

/* Spectrum of what is a quarter of a turn behind: times -i. */
static void turn_back(const float *bins, size_t n_bins, float *turned)
{
    for (size_t bin = 0; bin < n_bins; bin++) {
        turned[2 * bin] = bins[2 * bin + 1];
        turned[2 * bin + 1] = -bins[2 * bin];
    }
}

/* Add a source that moves: the block's delay turns into a fringe, whose phase
 * at the middle of the band is zero at the centre of the block. */
static void add_moving(const struct fx8_simulator *simulator, size_t source,
                       size_t input, float *scratch)
{
    const struct fx8_simulation *plan = &simulator->plan;
    const size_t length = simulator->length;
    const size_t stride = fx8_fft_stride(simulator->fft);
    float *data = scratch + ALL_SOURCES * stride;
    float *moving = scratch + MOVING * stride,
          *behind = scratch + BEHIND * stride;
    const bool is_real = !plan->is_complex;
    const double sense = is_real && plan->lower_sideband ? -1.0 : 1.0;
    const double middle_hz =
        plan->dc_frequency_hz +
        (is_real ? sense * 0.25 * fx8_rate_hz(plan->sample_rate) : 0.0);
    const double step =
        sense * middle_hz *
        fx8_simulator_path(simulator, simulator->motion[source], input);
    struct rotor rotor = start_rotor(-step * 0.5 * (double)(length - 1), step);
    memset(moving, 0, stride * sizeof *moving);
    add_source(simulator, source, input, moving);
    if (is_real) {
        turn_back(moving, length / 2 + 1, behind);
        transform(simulator, behind);
    }
    transform(simulator, moving);
    for (size_t n = 0; n < length; n++) {
        advance_rotor(&rotor, (double)n, n);
        const float re = (float)rotor.now[0], im = (float)rotor.now[1];
        if (is_real) {
            data[n] += moving[n] * re - behind[n] * im;
        } else {
            data[2 * n] += moving[2 * n] * re - moving[2 * n + 1] * im;
            data[2 * n + 1] += moving[2 * n] * im + moving[2 * n + 1] * re;
        }
    }
}

/* The broad-band sky of an input over the whole block, windowed. */
static void synthesise(const struct fx8_simulator *simulator, size_t input,
                       float *scratch)
{
    const struct fx8_source *sources = simulator->plan.sources;
    const size_t n_parts = simulator->n_parts;
    float *data = scratch;
    memset(data, 0, fx8_fft_stride(simulator->fft) * sizeof *data);
    size_t n_fixed = 0;
    for (size_t source = 0; source < simulator->plan.n_sources; source++)
        if (!sources[source].is_tone && !sources[source].is_celestial) {
            add_source(simulator, source, input, data);
            n_fixed++;
        }
    if (n_fixed > 0)
        transform(simulator, data);
    for (size_t source = 0; source < simulator->plan.n_sources; source++)
        if (!sources[source].is_tone && sources[source].is_celestial)
            add_moving(simulator, source, input, scratch);
    for (size_t n = 0; n < simulator->length; n++)
        for (size_t part = 0; part < n_parts; part++)
            data[n * n_parts + part] *= simulator->window[n];
}

/* --- tones ------------------------------------------------------- */

static void make_tone(void *context, size_t index, size_t thread)
{
    const struct making *making = context;
    const struct fx8_simulator *simulator = making->simulator;
    const struct tone *tone = &simulator->tones[index];
    (void)thread;
    const int64_t first = (making->block - 1) * (int64_t)simulator->half;
    for (size_t n = 0; n < simulator->half; n++) {
        double value[2];
        rotate(tone->cycles_per_sample * (double)(first + (int64_t)n), value);
        tone->series[n][0] = (float)value[0];
        tone->series[n][1] = (float)value[1];
    }
}

/* Add a tone to half a block; the phase between input and site is `cycles` at
 * its beginning and grows by `step` per sample. */
static void add_tone(const struct fx8_simulator *simulator,
                     const struct tone *tone, const double amplitude[2],
                     double cycles, double step, float *data)
{
    const size_t n_parts = simulator->n_parts;
    struct rotor rotor = start_rotor(cycles, step);
    const double *now = rotor.now;
    for (size_t n = 0; n < simulator->half; n++) {
        advance_rotor(&rotor, (double)n, n);
        const float re = (float)(amplitude[0] * now[0] - amplitude[1] * now[1]);
        const float im = (float)(amplitude[0] * now[1] + amplitude[1] * now[0]);
        const float *series = tone->series[n];
        data[n * n_parts] += series[0] * re - series[1] * im;
        if (n_parts == 2)
            data[2 * n + 1] += series[0] * im + series[1] * re;
    }
}

/* Add the tones to the first half of `data`: from the centre of the previous
 * block to that of this one. */
static void add_tones(const struct fx8_simulator *simulator, size_t input,
                      float *data)
{
    /* a real sinusoid of amplitude A has power A^2 / 2 */
    const double unit =
        fx8_simulator_unit(simulator) * (simulator->n_parts == 1 ? 2.0 : 1.0);
    for (size_t k = 0; k < simulator->n_tones; k++) {
        const struct tone *tone = &simulator->tones[k];
        const struct fx8_source *source =
            &simulator->plan.sources[tone->source];
        const double from = fx8_simulator_advance(
            simulator, simulator->earlier[tone->source], input);
        const double to = fx8_simulator_advance(
            simulator, simulator->directions[tone->source], input);
        const double step =
            source->tone_hz * (to - from) / (double)simulator->half;
        double mix[2][2];
        fx8_simulator_mix(source, fx8_simulator_is_y(simulator, input), mix);
        const double amplitude[2] = {sqrt(unit) * mix[0][0],
                                     sqrt(unit) * mix[0][1]};
        /* centres lie half a sample before the first of a half block */
        add_tone(simulator, tone, amplitude,
                 source->tone_hz * from + simulator->gain_turns[input] +
                     0.5 * step,
                 step, data);
    }
}

/* --- noise, gain, rounding --------------------------------------- */

/* Add receiver noise to the half block that starts at sample `first`: four
 * numbers per address, so the address is (first + n) * n_parts / 4. */
static void add_noise(const struct fx8_simulator *simulator, size_t input,
                      int64_t first, float *data)
{
    const float rms = (float)simulator->plan.noise_rms;
    if (rms == 0.0f)
        return;
    const struct fx8_random stream = {simulator->plan.seed, RANDOM_NOISE,
                                      (uint32_t)input};
    const size_t n_numbers = simulator->half * simulator->n_parts;
    const uint64_t index = (uint64_t)first * simulator->n_parts / 4;
    for (size_t k = 0; k < n_numbers; k += 4) {
        float normals[4];
        fx8_random_normals(stream, index + k / 4, normals);
        for (size_t i = 0; i < 4; i++)
            data[k + i] += rms * normals[i];
    }
}

/* Round to int8; returns how many numbers were clamped. */
static int64_t quantise(const struct fx8_simulator *simulator, size_t input,
                        size_t n_samples, const float *data, int8_t *samples)
{
    const size_t n_parts = simulator->n_parts;
    const float gain = (float)simulator->gain[input];
    const bool conjugate =
        simulator->plan.is_complex && simulator->plan.lower_sideband;
    int64_t n_clamped = 0;
    for (size_t k = 0; k < n_samples * n_parts; k++) {
        const bool negate = conjugate && k % 2 == 1;
        const float value = rintf(negate ? -gain * data[k] : gain * data[k]);
        const float clamped = value > 127.0f    ? 127.0f
                              : value < -127.0f ? -127.0f
                                                : value;
        n_clamped += value != clamped;
        samples[k] = (int8_t)clamped;
    }
    return n_clamped;
}

/* Missing samples are recorded as 0. */
static void blank(const struct fx8_simulator *simulator, size_t input,
                  int64_t first, int8_t *samples)
{
    const int64_t end = first + (int64_t)simulator->half;
    for (size_t part = 0; part < DROPOUT_PARTS; part++) {
        const struct stretch *dropout =
            &simulator->dropout[input * DROPOUT_PARTS + part];
        const int64_t from = dropout->first > first ? dropout->first : first;
        const int64_t last = dropout->first + dropout->n;
        const int64_t to = last < end ? last : end;
        if (from < to)
            memset(samples + (size_t)(from - first) * simulator->n_parts, 0,
                   (size_t)(to - from) * simulator->n_parts);
    }
}

/* Finish half block `block` - 1 of an input: add the previous block's tail to
 * this block's first half, then tones and noise; round to int8. */
static void finish_half(struct fx8_simulator *simulator, size_t input,
                        int64_t half_block, float *data)
{
    const size_t n_numbers = simulator->half * simulator->n_parts;
    const float *tail = simulator->tail + input * n_numbers;
    int8_t *samples = simulator->samples + input * n_numbers;
    const int64_t first = half_block * (int64_t)simulator->half;
    for (size_t k = 0; k < n_numbers; k++)
        data[k] += tail[k];
    add_tones(simulator, input, data);
    add_noise(simulator, input, first, data);
    const int64_t left = simulator->plan.n_samples - first;
    const size_t n_samples = left < (int64_t)simulator->half
                                 ? (size_t)(left > 0 ? left : 0)
                                 : simulator->half;
    const int64_t n_clamped =
        quantise(simulator, input, n_samples, data, samples);
    blank(simulator, input, first, samples);
    if (half_block >= simulator->counted_half)
        simulator->clipped[input] += n_clamped;
}

static void make_input(void *context, size_t input, size_t thread)
{
    const struct making *making = context;
    struct fx8_simulator *simulator = making->simulator;
    const size_t n_numbers = simulator->half * simulator->n_parts;
    float *data =
        simulator->scratch + thread * SCRATCH * fx8_fft_stride(simulator->fft);
    synthesise(simulator, input, data);
    float *tail = simulator->tail + input * n_numbers;
    if (making->emit)
        finish_half(simulator, input, making->block - 1, data);
    memcpy(tail, data + n_numbers, n_numbers * sizeof *tail);
}

/* Position of the centre of a block, between two samples. */
static double centre(const struct fx8_simulator *simulator, int64_t block)
{
    return (double)block * (double)simulator->half - 0.5;
}

/* Directions at the centre of a block and of the one before it, and how they
 * change. */
static void find_directions(struct fx8_simulator *simulator, int64_t block)
{
    const double half = (double)simulator->half;
    double(*motion)[3] = simulator->motion;
    fx8_simulator_directions(simulator, centre(simulator, block - 1),
                             simulator->earlier);
    fx8_simulator_directions(simulator, centre(simulator, block + 1), motion);
    for (size_t s = 0; s < simulator->plan.n_sources; s++)
        for (size_t axis = 0; axis < 3; axis++)
            motion[s][axis] =
                (motion[s][axis] - simulator->earlier[s][axis]) / (2.0 * half);
    fx8_simulator_directions(simulator, centre(simulator, block),
                             simulator->directions);
}

static void make_block(struct fx8_simulator *simulator, int64_t block,
                       bool emit)
{
    const size_t n_threads = simulator->plan.n_threads;
    find_directions(simulator, block);
    struct making making = {simulator, block, emit};
    fx8_parallel_for(simulator->plan.n_sources, n_threads, false, draw_source,
                     &making);
    if (emit)
        fx8_parallel_for(simulator->n_tones, n_threads, false, make_tone,
                         &making);
    fx8_parallel_for(simulator->n_inputs, n_threads, false, make_input,
                     &making);
    simulator->tail_block = block;
}

void fx8_simulator_make(struct fx8_simulator *simulator, int64_t half_block)
{
    if (simulator->samples_half == half_block)
        return;
    if (simulator->tail_block != half_block)
        make_block(simulator, half_block, false);
    make_block(simulator, half_block + 1, true);
    simulator->samples_half = half_block;
    if (half_block >= simulator->counted_half)
        simulator->counted_half = half_block + 1;
}
