/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compared_array.h -- visibilities of an array in INT8 and FP32 from generated
 * spectra: Gaussian, partly common to all inputs, rounded one by one; and their
 * comparison.
 */
#ifndef FX8_VALIDATION_COMPARED_ARRAY_H
#define FX8_VALIDATION_COMPARED_ARRAY_H

#include "correlator/compare/figures.h"
#include "kernels/baseline.h"
#include "validation/testing.h"

static struct generator generator;

static inline double uniform(double low, double high)
{
    return low + (high - low) * random_uniform(&generator);
}

static inline bool happens(double share)
{
    return uniform(0, 1) < share;
}

static inline double decibels(double low, double high)
{
    return pow(10, uniform(low, high) / 20);
}

static const int product_feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};

/* Everything that is drawn once for an array. */
struct array {
    struct fx8_compare_shape shape;
    size_t n_inputs, n_average, n_spectra, n_dumps;
    double level;  /* rms of a component, in steps */
    double common; /* amplitude of the signal common to all inputs */
    bool has_level_per_input, has_bias, has_dither;
    /* a tone in one plan channel (SIZE_MAX: none), on one input or on all, 14
     * dB weaker from each input to the next */
    size_t tone_channel, tone_input;
    double tone, turn, tone_phase;
    /* one plan channel (SIZE_MAX: none) of multiples of a step */
    size_t lattice_channel;
    double lattice; /* in steps of the quantiser */
    /* pulses in some spectra of a channel, on one input or on all */
    size_t pulse_channel, pulse_input;
    double pulse, pulse_share;
    double valid_share;
    double last_length; /* of the last dump, of a whole one; 0: it is whole */
    double length;      /* of this dump */
    size_t gap_input, gap_first, gap_length; /* in one dump */
    double *gain, *amplitude;                /* [input][plan channel] */
    /* clips over valid spectra of this dump, and clips of all; likewise */
    double *dump_clips, *all_clips;
    double *n_valid;                     /* [input] spectra of all dumps */
    double (*spectra)[2], (*rounded)[2]; /* [input][spectrum] */
    bool *valid;                         /* likewise */
    double *fp32, *int8;   /* [baseline][channel][product][2], of a dump */
    float *nsamples;       /* [baseline][channel][product] */
    uint8_t *flags;        /* likewise */
    double *autos;         /* [3][input][channel] */
    size_t (*antennas)[2]; /* [baseline] */
    /* change a dump before it is compared; NULL: nothing */
    void (*spoil)(struct array *array, size_t dump);
    /* change the gains that are stated, [input][plan channel], and the clip
     * fractions of the run */
    void (*spoil_gain)(double *gain, double *clips);
    bool lacks_dump_clips; /* only those of the run are stated */
    bool has_no_theory;
    size_t rows; /* baselines to add at a time; 0: all */
};

/* Gains of a quantiser set by the usual rms, without tones and pulses. */
static inline void draw_levels(struct array *array)
{
    const size_t n_plan = array->shape.n_channels * array->n_average;
    for (size_t i = 0; i < array->n_inputs; i++) {
        const double power = uniform(3, 30), slope = decibels(-6, 6);
        for (size_t c = 0; c < n_plan; c++) {
            const size_t at = i * n_plan + c;
            array->amplitude[at] = power *
                                   pow(slope, (double)c / (double)n_plan) *
                                   uniform(0.9, 1.1);
            double rms =
                array->has_level_per_input ? power : array->amplitude[at];
            if (c == array->tone_channel && !array->has_level_per_input &&
                (array->tone_input == SIZE_MAX || array->tone_input == i))
                rms *= sqrt(1 + array->tone * array->tone *
                                    pow(0.04, (double)(i % 4)) / 2);
            if (c == array->pulse_channel && !array->has_level_per_input &&
                array->pulse_share > 0.5 &&
                (array->pulse_input == SIZE_MAX || array->pulse_input == i))
                rms *= array->pulse;
            array->gain[at] = array->level / rms * uniform(0.97, 1.03);
        }
    }
}

/* An array without tones, pulses and gaps, whose sizes the caller has set. */
static inline void set_up_array(struct array *array)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_levels =
        array->n_inputs * shape->n_channels * array->n_average;
    const size_t n_spectra = array->n_inputs * array->n_spectra;
    const size_t n_cells =
        shape->n_baselines * shape->n_channels * shape->n_products;
    array->gain = temporary_zeros(n_levels * sizeof(double));
    array->dump_clips = temporary_zeros(n_levels * sizeof(double));
    array->all_clips = temporary_zeros(n_levels * sizeof(double));
    array->n_valid = temporary_zeros(array->n_inputs * sizeof(double));
    array->amplitude = temporary_zeros(n_levels * sizeof(double));
    array->spectra = temporary_zeros(n_spectra * sizeof *array->spectra);
    array->rounded = temporary_zeros(n_spectra * sizeof *array->rounded);
    array->valid = temporary_zeros(n_spectra * sizeof(bool));
    array->fp32 = temporary_zeros(2 * n_cells * sizeof(double));
    array->int8 = temporary_zeros(2 * n_cells * sizeof(double));
    array->nsamples = temporary_zeros(n_cells * sizeof(float));
    array->flags = temporary_zeros(n_cells);
    array->autos = temporary_zeros(3 * array->n_inputs * shape->n_channels *
                                   sizeof(double));
    array->antennas = temporary(shape->n_baselines * sizeof *array->antennas);
    for (size_t b = 0; b < shape->n_baselines; b++)
        fx8_baseline_antennas(shape->n_antennas, b, &array->antennas[b][0],
                              &array->antennas[b][1]);
    draw_levels(array);
}

/* Rounded to whole steps, after noise of one if dithered, and clamped; whether
 * it was clamped. */
static inline bool quantise(double value, double gain, bool is_dithered,
                            double *rounded)
{
    const double noise = is_dithered ? uniform(-0.5, 0.5) : 0;
    const double steps = rint(gain * value + noise);
    *rounded = fmin(127, fmax(-127, steps)) / gain;
    return fabs(steps) > 127;
}

static inline bool is_here(size_t channel, size_t input, size_t of_channel,
                           size_t of_input)
{
    return channel == of_channel && (of_input == SIZE_MAX || of_input == input);
}

static inline void draw_spectra(struct array *array, size_t dump,
                                size_t plan_channel)
{
    const size_t n_plan = array->shape.n_channels * array->n_average;
    const double own = sqrt(1 - array->common * array->common);
    for (size_t t = 0; t < array->n_spectra; t++) {
        const double shared[2] = {array->common * random_normal(&generator),
                                  array->common * random_normal(&generator)};
        const double phase =
            array->turn * (double)(dump * array->n_spectra + t);
        const double tone[2] = {array->tone * cos(phase),
                                array->tone * sin(phase)};
        const double pulse = happens(array->pulse_share) ? array->pulse : 1;
        for (size_t i = 0; i < array->n_inputs; i++) {
            const size_t level = i * n_plan + plan_channel;
            const size_t at = i * array->n_spectra + t;
            bool is_clipped = false;
            for (size_t part = 0; part < 2; part++) {
                double value = shared[part] + own * random_normal(&generator);
                if (is_here(plan_channel, i, array->tone_channel,
                            array->tone_input))
                    value += tone[part] * pow(0.2, (double)(i % 4));
                if (is_here(plan_channel, i, array->pulse_channel,
                            array->pulse_input))
                    value *= pulse;
                value *= array->amplitude[level];
                /* the step differs between inputs by up to a tenth */
                const double step = array->lattice *
                                    (1 + 0.1 * sin(37 * (double)i)) /
                                    array->gain[level];
                if (plan_channel == array->lattice_channel)
                    value = step * rint(value / step);
                array->spectra[at][part] = value;
                is_clipped =
                    quantise(value, array->gain[level], array->has_dither,
                             &array->rounded[at][part]) ||
                    is_clipped;
            }
            array->dump_clips[level] += is_clipped && array->valid[at];
        }
    }
}

/* A spectrum is valid in all channels or in none. */
static inline void draw_valid(struct array *array, size_t dump)
{
    for (size_t i = 0; i < array->n_inputs; i++)
        for (size_t t = 0; t < array->n_spectra; t++)
            array->valid[i * array->n_spectra + t] =
                happens(array->valid_share) &&
                (double)t < array->length * (double)array->n_spectra &&
                !(dump == 0 && i == array->gap_input && t >= array->gap_first &&
                  t < array->gap_first + array->gap_length);
}

static inline void multiply(const struct array *array, double (*spectra)[2],
                            size_t i, size_t j, double mean[2], size_t *count)
{
    const size_t n = array->n_spectra;
    double sum[2] = {0, 0};
    *count = 0;
    for (size_t t = 0; t < n; t++) {
        const double *a = spectra[i * n + t], *b = spectra[j * n + t];
        if (!array->valid[i * n + t] || !array->valid[j * n + t])
            continue;
        sum[0] += a[0] * b[0] + a[1] * b[1];
        sum[1] += a[0] * b[1] - a[1] * b[0];
        ++*count;
    }
    for (size_t part = 0; part < 2 && *count > 0; part++)
        mean[part] += sum[part] / (double)*count / (double)array->n_average;
}

/* Rounding noise that is taken off an auto, as the correlator does. */
static inline double bias_of(const struct array *array, size_t input,
                             size_t plan_channel, double power)
{
    const double gain =
        array->gain[input * array->shape.n_channels * array->n_average +
                    plan_channel];
    const double bias = (array->has_dither ? 2 : 1) / (6 * gain * gain);
    return !array->has_bias && gain * gain * (power - bias) >= 2 ? bias : 0;
}

static inline void add_channel(struct array *array, size_t plan_channel)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t channel = plan_channel / array->n_average;
    for (size_t b = 0; b < shape->n_baselines; b++)
        for (size_t p = 0; p < shape->n_products; p++) {
            size_t count, inputs[2];
            for (size_t end = 0; end < 2; end++)
                inputs[end] = array->antennas[b][end] * shape->n_polarizations +
                              (size_t)shape->feeds[p][end];
            const size_t at =
                (b * shape->n_channels + channel) * shape->n_products + p;
            double mean[2] = {0, 0};
            multiply(array, array->spectra, inputs[0], inputs[1],
                     array->fp32 + 2 * at, &count);
            multiply(array, array->rounded, inputs[0], inputs[1], mean, &count);
            if (inputs[0] == inputs[1])
                mean[0] -= bias_of(array, inputs[0], plan_channel,
                                   mean[0] * (double)array->n_average) /
                           (double)array->n_average;
            array->int8[2 * at] += mean[0];
            array->int8[2 * at + 1] += mean[1];
            array->nsamples[at] =
                (float)((double)count / (double)array->n_spectra /
                        array->length);
            array->flags[at] = count == 0;
        }
}

/* Add up the clips of all dumps, and make fractions of this dump's. */
static inline void count_clips(struct array *array)
{
    const size_t n_plan = array->shape.n_channels * array->n_average;
    for (size_t i = 0; i < array->n_inputs; i++) {
        double n_valid = 0;
        for (size_t t = 0; t < array->n_spectra; t++)
            n_valid += array->valid[i * array->n_spectra + t];
        array->n_valid[i] += n_valid;
        for (size_t at = i * n_plan; at < (i + 1) * n_plan; at++) {
            array->all_clips[at] += array->dump_clips[at];
            array->dump_clips[at] /= fmax(1, n_valid);
        }
    }
}

static inline void make_dump(struct array *array, size_t dump)
{
    const bool is_short = dump + 1 == array->n_dumps && array->last_length > 0;
    array->length = is_short ? array->last_length : 1.0;
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_row = shape->n_channels * shape->n_products;
    const size_t n_cells = shape->n_baselines * n_row;
    memset(array->fp32, 0, 2 * n_cells * sizeof(double));
    memset(array->int8, 0, 2 * n_cells * sizeof(double));
    memset(array->dump_clips, 0,
           array->n_inputs * shape->n_channels * array->n_average *
               sizeof(double));
    draw_valid(array, dump);
    for (size_t c = 0; c < shape->n_channels * array->n_average; c++) {
        draw_spectra(array, dump, c);
        add_channel(array, c);
    }
    count_clips(array);
    for (size_t k = 0; k < 2 * n_cells; k++) {
        array->fp32[k] = (double)(float)array->fp32[k];
        array->int8[k] = (double)(float)array->int8[k];
    }
}

/* Powers of all inputs from a dump, as a reader takes them. */
static inline void take_autos(struct array *array)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_row = shape->n_channels * shape->n_products;
    const size_t n_autos = array->n_inputs * shape->n_channels;
    for (size_t b = 0; b < shape->n_baselines; b++)
        for (size_t k = 0; k < n_row; k++) {
            const int *feeds = shape->feeds[k % shape->n_products];
            if (array->antennas[b][0] != array->antennas[b][1] ||
                feeds[0] != feeds[1])
                continue;
            const size_t at = (array->antennas[b][0] * shape->n_polarizations +
                               (size_t)feeds[0]) *
                                  shape->n_channels +
                              k / shape->n_products;
            array->autos[at] = array->fp32[2 * (b * n_row + k)];
            array->autos[n_autos + at] = array->int8[2 * (b * n_row + k)];
            array->autos[2 * n_autos + at] =
                (double)array->nsamples[b * n_row + k];
        }
}

static inline void add_rows(const struct array *array, size_t first, size_t n,
                            struct fx8_comparison *comparison)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t at = first * shape->n_channels * shape->n_products;
    const uint8_t *flags = array->flags + at;
    const float *nsamples = array->nsamples + at;
    fx8_compare_add(
        comparison, first, n,
        &(struct fx8_compare_row){.visibilities = array->int8 + 2 * at,
                                  .flags = flags,
                                  .nsamples = nsamples},
        &(struct fx8_compare_row){.visibilities = array->fp32 + 2 * at,
                                  .flags = flags,
                                  .nsamples = nsamples});
}

/* Compare all dumps.  Two passes over the same numbers: the clips of the run
 * are stated first. */
static inline void compare_array(struct array *array,
                                 struct fx8_comparison *comparison)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_plan = shape->n_channels * array->n_average;
    const size_t n_autos = array->n_inputs * shape->n_channels;
    const size_t n_bytes = array->n_inputs * n_plan * sizeof(double);
    const uint64_t seed = generator.state;
    for (size_t d = 0; d < array->n_dumps; d++)
        make_dump(array, d);
    generator.state = seed;
    double *gain = memcpy(temporary(n_bytes), array->gain, n_bytes);
    double *clips = memcpy(temporary(n_bytes), array->all_clips, n_bytes);
    for (size_t at = 0; at < array->n_inputs * n_plan; at++)
        clips[at] /= fmax(1, array->n_valid[at / n_plan]);
    if (array->spoil_gain != NULL)
        array->spoil_gain(gain, clips);
    const struct fx8_compare_theory theory = {
        .n_plan_channels = n_plan,
        .gain = gain,
        .clip_fraction = clips,
        .spectra_per_dump = (double)array->n_spectra,
        .has_bias = array->has_bias,
        .has_dither = array->has_dither,
    };
    struct fx8_error error;
    must(fx8_compare_open(shape, array->has_no_theory ? NULL : &theory,
                          comparison, &error),
         error);
    memcpy(comparison->baseline_antennas, array->antennas,
           shape->n_baselines * sizeof *array->antennas);
    for (size_t d = 0; d < array->n_dumps; d++) {
        make_dump(array, d);
        if (array->spoil != NULL)
            array->spoil(array, d);
        take_autos(array);
        fx8_compare_begin_dump(
            comparison,
            &(struct fx8_compare_autos){
                array->autos, array->autos + n_autos,
                array->autos + 2 * n_autos, array->length,
                array->lacks_dump_clips ? NULL : array->dump_clips});
        const size_t n = array->rows > 0 ? array->rows : shape->n_baselines;
        for (size_t b = 0; b < shape->n_baselines; b += n)
            add_rows(array, b, n, comparison);
    }
    fx8_compare_finish(comparison);
}

#endif
