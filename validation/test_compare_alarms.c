/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often fx8_compare_verdict() is wrong, on random arrays of 2 to 256
 * antennas, short and long, with tones, pulses, clips and missing data. Each
 * spectrum is rounded individually. FX8_LONG=1 draws enough arrays to tell a
 * rate of 1 in 1,000 from a lower one.
 *
 * Shows (commands, compare calls good what is): false alarms are rare in random
 *     arrays of 2 to 256 antennas, short and long, with tones, pulses that
 *     clip, missing data and coarse spectra, both with spectra rounded one by
 *     one and through the program; also in stretches of TART and Digital RF
 *     recordings
 * Within: 0 in 250, under a checker in 40; FX8_LONG=1: 4 in 10,000
 * Because: at a rate of 1 in 1,000, four or fewer alarms have a probability of
 *     3 % (Poisson, mean 10); the limits are set for 6 in 100,000
 * In: good_data_are_good
 */
#include <math.h>
#include <stdio.h>

#include "correlator/compare/compare.h"
#include "validation/testing.h"

static struct generator generator;

static double uniform(double low, double high)
{
    return low + (high - low) * random_uniform(&generator);
}

static bool happens(double share)
{
    return uniform(0, 1) < share;
}

static double decibels(double low, double high)
{
    return pow(10, uniform(low, high) / 20);
}

/* Everything that is drawn once for an array. */
struct array {
    struct fx8_compare_shape shape;
    size_t n_inputs, n_average, n_spectra, n_dumps;
    double level;  /* rms of a component, in steps */
    double common; /* amplitude of the signal common to all inputs */
    bool has_level_per_input, has_bias;
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
    size_t gap_input, gap_first, gap_length; /* in one dump */
    double *gain, *clips, *amplitude;        /* [input][plan channel] */
    double (*spectra)[2], (*rounded)[2];     /* [input][spectrum] */
    bool *valid;                             /* likewise */
    double *fp32, *int8;   /* [baseline][channel][product][2], of a dump */
    float *nsamples;       /* [baseline][channel][product] */
    uint8_t *flags;        /* likewise */
    double *autos;         /* [3][input][channel] */
    size_t (*antennas)[2]; /* [baseline] */
};

static void *zeroed(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    assert_non_null(memory);
    return memory;
}

static size_t one_of(size_t n)
{
    return random_below(&generator, n);
}

static void draw_size(struct array *array)
{
    static const size_t antennas[] = {2, 2, 3, 4, 5, 6, 8, 12, 24};
    static const size_t spectra[] = {2, 5, 20, 100, 400, 1500};
    struct fx8_compare_shape *shape = &array->shape;
    const bool is_large = happens(0.003);
    shape->n_antennas = is_large ? 256 : antennas[one_of(9)];
    shape->n_polarizations = is_large ? 1 : 1 + one_of(2);
    shape->n_products = shape->n_polarizations == 1 ? 1 : happens(0.5) ? 2 : 4;
    static const int feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    memcpy(shape->feeds, feeds, sizeof feeds);
    shape->n_baselines = shape->n_antennas * (shape->n_antennas + 1) / 2;
    array->n_inputs = shape->n_antennas * shape->n_polarizations;
    array->n_average = happens(0.7) ? 1 : 2 + one_of(3);
    array->n_spectra = spectra[is_large ? 2 : one_of(6)];
    array->n_dumps = is_large ? 1 : 1 + one_of(5);
    shape->n_channels = is_large ? 4 : 1 + one_of(24);
    /* no more than 4e6 products each: the large are short, the long small */
    const double n_pairs = (double)(array->n_inputs * array->n_inputs) / 2;
    while (shape->n_channels > 2 &&
           n_pairs * (double)(array->n_spectra * array->n_dumps *
                              shape->n_channels * array->n_average) >
               4e6)
        shape->n_channels /= 2;
}

static void draw_nature(struct array *array)
{
    const size_t n_plan = array->shape.n_channels * array->n_average;
    array->level = happens(0.3) ? 20 : pow(10, uniform(0, 1.6));
    array->common = happens(0.3) ? 0 : uniform(0, 0.97);
    array->has_level_per_input = happens(0.2);
    array->has_bias = happens(0.5);
    array->tone_channel = array->pulse_channel = SIZE_MAX;
    /* only if there are several channels: the median must stay clean */
    const bool is_wide = array->shape.n_channels >= 4;
    if (is_wide && happens(0.4)) {
        array->tone_channel = one_of(n_plan);
        array->tone_input = happens(0.6) ? SIZE_MAX : one_of(array->n_inputs);
        array->tone = decibels(-10, 60);
        array->turn = happens(0.5) ? 0 : uniform(0, 6.3);
    }
    if (is_wide && happens(0.3)) {
        array->pulse_channel = one_of(n_plan);
        array->pulse_input = happens(0.5) ? SIZE_MAX : one_of(array->n_inputs);
        array->pulse = decibels(0, 60);
        array->pulse_share = pow(10, uniform(-4, 0));
    }
    array->lattice_channel =
        is_wide && happens(0.3) ? one_of(n_plan) : SIZE_MAX;
    array->lattice = pow(10, uniform(-1, 0.5));
    if (happens(0.5)) /* the worst case: close to 1 / k */
        array->lattice = 1 / (double)(1 + one_of(4));
    /* at most as coarse as 16 samples of one bit */
    array->lattice = fmin(array->lattice, array->level / 2);
    array->valid_share = happens(0.6) ? 1 : uniform(0.1, 1);
    array->gap_input = happens(0.3) ? one_of(array->n_inputs) : SIZE_MAX;
    array->gap_first = one_of(array->n_spectra);
    array->gap_length = 1 + one_of(array->n_spectra);
}

/* Gains of a quantiser set by the usual rms, without tones and pulses. */
static void draw_levels(struct array *array)
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

static void draw_array(struct array *array)
{
    *array = (struct array){0};
    draw_size(array);
    draw_nature(array);
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_levels =
        array->n_inputs * shape->n_channels * array->n_average;
    const size_t n_spectra = array->n_inputs * array->n_spectra;
    const size_t n_cells =
        shape->n_baselines * shape->n_channels * shape->n_products;
    array->gain = zeroed(n_levels, sizeof(double));
    array->clips = zeroed(n_levels, sizeof(double));
    array->amplitude = zeroed(n_levels, sizeof(double));
    array->spectra = zeroed(n_spectra, sizeof *array->spectra);
    array->rounded = zeroed(n_spectra, sizeof *array->rounded);
    array->valid = zeroed(n_spectra, sizeof(bool));
    array->fp32 = zeroed(2 * n_cells, sizeof(double));
    array->int8 = zeroed(2 * n_cells, sizeof(double));
    array->nsamples = zeroed(n_cells, sizeof(float));
    array->flags = zeroed(n_cells, 1);
    array->autos =
        zeroed(3 * array->n_inputs * shape->n_channels, sizeof(double));
    array->antennas = zeroed(shape->n_baselines, sizeof *array->antennas);
    for (size_t a = 0, b = 0; a < shape->n_antennas; a++)
        for (size_t other = a; other < shape->n_antennas; other++, b++) {
            array->antennas[b][0] = a;
            array->antennas[b][1] = other;
        }
    draw_levels(array);
}

static void clear_array(struct array *array)
{
    free(array->gain);
    free(array->clips);
    free(array->amplitude);
    free(array->spectra);
    free(array->rounded);
    free(array->valid);
    free(array->fp32);
    free(array->int8);
    free(array->nsamples);
    free(array->flags);
    free(array->autos);
    free(array->antennas);
}

/* --- spectra ----------------------------------------------------- */

/* Rounded to whole steps and clamped; whether it was clamped. */
static bool quantise(double value, double gain, double *rounded)
{
    const double steps = rint(gain * value);
    *rounded = fmin(127, fmax(-127, steps)) / gain;
    return fabs(steps) > 127;
}

static bool is_here(size_t channel, size_t input, size_t of_channel,
                    size_t of_input)
{
    return channel == of_channel && (of_input == SIZE_MAX || of_input == input);
}

static void draw_spectra(struct array *array, size_t dump, size_t plan_channel)
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
                is_clipped = quantise(value, array->gain[level],
                                      &array->rounded[at][part]) ||
                             is_clipped;
            }
            array->clips[level] +=
                is_clipped / (double)(array->n_spectra * array->n_dumps);
        }
    }
}

/* A spectrum is valid in all channels or in none. */
static void draw_valid(struct array *array, size_t dump)
{
    for (size_t i = 0; i < array->n_inputs; i++)
        for (size_t t = 0; t < array->n_spectra; t++)
            array->valid[i * array->n_spectra + t] =
                happens(array->valid_share) &&
                !(dump == 0 && i == array->gap_input && t >= array->gap_first &&
                  t < array->gap_first + array->gap_length);
}

static void multiply(const struct array *array, double (*spectra)[2], size_t i,
                     size_t j, double mean[2], size_t *count)
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
static double bias_of(const struct array *array, size_t input,
                      size_t plan_channel, double power)
{
    const double gain =
        array->gain[input * array->shape.n_channels * array->n_average +
                    plan_channel];
    const double bias = 1 / (6 * gain * gain);
    return !array->has_bias && gain * gain * (power - bias) >= 2 ? bias : 0;
}

static void add_channel(struct array *array, size_t plan_channel)
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
                (float)((double)count / (double)array->n_spectra);
            array->flags[at] = count == 0;
        }
}

static void make_dump(struct array *array, size_t dump)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_row = shape->n_channels * shape->n_products;
    const size_t n_cells = shape->n_baselines * n_row;
    const size_t n_autos = array->n_inputs * shape->n_channels;
    memset(array->fp32, 0, 2 * n_cells * sizeof(double));
    memset(array->int8, 0, 2 * n_cells * sizeof(double));
    draw_valid(array, dump);
    for (size_t c = 0; c < shape->n_channels * array->n_average; c++) {
        draw_spectra(array, dump, c);
        add_channel(array, c);
    }
    for (size_t k = 0; k < 2 * n_cells; k++) {
        array->fp32[k] = (double)(float)array->fp32[k];
        array->int8[k] = (double)(float)array->int8[k];
    }
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

/* --- verdicts ---------------------------------------------------- */

/* One cell of the first dump, spoiled. */
static bool spoil(struct array *array)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_row = shape->n_channels * shape->n_products;
    const size_t b = 1 + one_of(shape->n_baselines - 1), k = one_of(n_row);
    const size_t at = b * n_row + k;
    if (array->flags[at] || array->antennas[b][0] == array->antennas[b][1])
        return false;
    /* far above any power, which is below 1e10 */
    array->int8[2 * at] = 1e15;
    return true;
}

/* Two passes over the same numbers: clips must be known for all dumps first. */
static void compare(struct array *array, bool *is_spoiled,
                    struct fx8_comparison *comparison)
{
    const struct fx8_compare_shape *shape = &array->shape;
    const size_t n_row = shape->n_channels * shape->n_products;
    const size_t n_autos = array->n_inputs * shape->n_channels;
    const uint64_t seed = generator.state;
    for (size_t d = 0; d < array->n_dumps; d++)
        make_dump(array, d);
    generator.state = seed;
    struct fx8_error error;
    must(fx8_compare_open(shape,
                          &(struct fx8_compare_theory){
                              shape->n_channels * array->n_average, array->gain,
                              array->clips, (double)array->n_spectra,
                              array->has_bias},
                          comparison, &error),
         error);
    for (size_t d = 0; d < array->n_dumps; d++) {
        make_dump(array, d);
        const uint64_t rest = generator.state;
        if (d == 0 && *is_spoiled)
            *is_spoiled = spoil(array);
        generator.state = rest;
        fx8_compare_begin_dump(
            comparison,
            &(struct fx8_compare_autos){array->autos, array->autos + n_autos,
                                        array->autos + 2 * n_autos});
        for (size_t b = 0; b < shape->n_baselines; b++)
            fx8_compare_add(
                comparison, b, array->antennas[b][0], array->antennas[b][1],
                &(struct fx8_compare_row){array->int8 + 2 * b * n_row,
                                          array->flags + b * n_row,
                                          array->nsamples + b * n_row},
                &(struct fx8_compare_row){array->fp32 + 2 * b * n_row,
                                          array->flags + b * n_row,
                                          array->nsamples + b * n_row});
    }
    fx8_compare_finish(comparison);
}

static void tell(const struct array *array, uint64_t seed, const char *reason)
{
    print_message(
        "# seed %llu: %zu antennas, %zu products, %zu channels of "
        "%zu, %zu dumps of %zu spectra, level %.3g, common %.2f, "
        "tone %.3g in %zd on %zd, pulse %.3g in %zd on %zd share "
        "%.3g, lattice %.3g in %zd, valid %.2f: %s\n",
        (unsigned long long)seed, array->shape.n_antennas,
        array->shape.n_products, array->shape.n_channels, array->n_average,
        array->n_dumps, array->n_spectra, array->level, array->common,
        array->tone, (ssize_t)array->tone_channel, (ssize_t)array->tone_input,
        array->pulse, (ssize_t)array->pulse_channel,
        (ssize_t)array->pulse_input, array->pulse_share, array->lattice,
        (ssize_t)array->lattice_channel, array->valid_share, reason);
}

/* Verdict on array number `seed`: 'g'ood, 'o'utside, 'n'one. */
static char verdict_of(uint64_t seed, bool *is_spoiled)
{
    struct array array;
    struct fx8_comparison comparison;
    char reason[FX8_TEXT_SIZE];
    generator.state = seed;
    draw_array(&array);
    compare(&array, is_spoiled, &comparison);
    const char verdict = fx8_compare_verdict_word(&comparison)[0];
    fx8_compare_verdict(&comparison, reason);
    if ((verdict == 'o') != *is_spoiled && verdict != 'n')
        tell(&array, seed, reason);
    fx8_compare_clear(&comparison);
    clear_array(&array);
    return verdict;
}

/* At most 4 false alarms in 10,000 arrays: at a rate of 1 in 1,000 so few would
 * have a probability of 3 % (Poisson, mean 10). */
TEST(good_data_are_good)
{
    const size_t n = is_long() ? 10000 : FX8_CHECKED ? 40 : 250;
    size_t n_alarms = 0, n_judged = 0;
    for (uint64_t seed = 1; n_judged < n; seed++) {
        bool is_spoiled = false;
        const char verdict = verdict_of(seed, &is_spoiled);
        n_alarms += verdict == 'o';
        n_judged += verdict != 'n';
        assert_true(seed < 2 * n); /* most arrays can be judged */
    }
    print_message("# %zu false alarms in %zu\n", n_alarms, n_judged);
    assert_true(n_alarms <= (is_long() ? 4 : 0));
}

/* A wild cell is found whatever else is left out. */
TEST(nothing_wild_is_good)
{
    const size_t n = is_long() ? 2000 : FX8_CHECKED ? 20 : 60;
    size_t n_spoiled = 0;
    for (uint64_t seed = 1; n_spoiled < n; seed++) {
        bool is_spoiled = true;
        const char verdict = verdict_of(UINT64_C(1) << 32 | seed, &is_spoiled);
        n_spoiled += is_spoiled;
        if (is_spoiled)
            assert_true(verdict != 'g');
    }
}
