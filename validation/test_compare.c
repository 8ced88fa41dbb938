/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparison of INT8 with FP32 on generated spectra: Gaussian, partly
 * common to all inputs, rounded by a quantiser of known step.
 *
 * Shows: as python/test_compare.py
 */
#include <math.h>
#include <stdio.h>

#include "correlator/compare/figures.h"
#include "correlator/fx8.h"
#include "kernels/baseline.h"
#include "validation/testing.h"

enum { ANTENNAS = 5, POLARIZATIONS = 2, INPUTS = 10, PRODUCTS = 4 };
enum { BASELINES = 15, CHANNELS = 24, SPECTRA = 96, DUMPS = 3 };
enum { ROW = CHANNELS * PRODUCTS };

static const int feeds[PRODUCTS][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};

/* How the data are made, and what the theory assumes. */
struct scene {
    uint64_t seed;
    size_t n_average;    /* plan channels per channel */
    double level;        /* sigma in LSB per real component */
    double common;       /* amplitude of the signal common to all inputs */
    double claimed_gain; /* gain given to the theory, over the one used */
    double valid_share;  /* share of spectra that are valid on an input */
    double gain_slope;   /* gains vary over a group of averaged channels */
};

static const struct scene plain = {
    .seed = 1,
    .n_average = 1,
    .level = 20,
    .common = 0.3,
    .claimed_gain = 1,
    .valid_share = 1,
};

/* The visibilities of both precisions, [dump][baseline][channel][product]. */
struct data {
    double int8[DUMPS][BASELINES][ROW][2];
    double fp32[DUMPS][BASELINES][ROW][2];
    uint8_t flags[DUMPS][BASELINES][ROW];
    float nsamples[DUMPS][BASELINES][ROW];
    double gain[INPUTS * CHANNELS * 2];
    double clips[INPUTS * CHANNELS * 2];
    double spectra[SPECTRA][INPUTS][2];
    double rounded[SPECTRA][INPUTS][2];
    uint8_t valid[SPECTRA][INPUTS];
};

static struct generator generator;

/* Inputs and plan channels differ in power, so that no result depends on one
 * power. */
static double amplitude(size_t input, size_t channel)
{
    return 3.0 + (double)((7 * input + 3 * channel) % 11);
}

static void draw_spectra(struct data *data, const struct scene *scene,
                         size_t channel, const double *gain)
{
    const double own = sqrt(1 - scene->common * scene->common);
    for (size_t t = 0; t < SPECTRA; t++) {
        const double shared[2] = {random_normal(&generator),
                                  random_normal(&generator)};
        for (size_t i = 0; i < INPUTS; i++) {
            data->valid[t][i] = random_uniform(&generator) < scene->valid_share;
            for (size_t part = 0; part < 2; part++) {
                const double value =
                    amplitude(i, channel) * (scene->common * shared[part] +
                                             own * random_normal(&generator));
                data->spectra[t][i][part] = value;
                data->rounded[t][i][part] = rint(gain[i] * value) / gain[i];
            }
        }
    }
}

static void correlate(double spectra[SPECTRA][INPUTS][2],
                      uint8_t valid[SPECTRA][INPUTS], size_t i, size_t j,
                      double share, double mean[2], double *n_valid)
{
    double sum[2] = {0, 0};
    *n_valid = 0;
    for (size_t t = 0; t < SPECTRA; t++) {
        if (!valid[t][i] || !valid[t][j])
            continue;
        const double *a = spectra[t][i], *b = spectra[t][j];
        sum[0] += a[0] * b[0] + a[1] * b[1];
        sum[1] += a[0] * b[1] - a[1] * b[0];
        *n_valid += 1;
    }
    mean[0] += share * sum[0] / *n_valid;
    mean[1] += share * sum[1] / *n_valid;
}

static void correlate_all(struct data *data, size_t dump, size_t channel,
                          double share)
{
    for (size_t b = 0; b < BASELINES; b++) {
        size_t a1, a2;
        fx8_baseline_antennas(ANTENNAS, b, &a1, &a2);
        for (size_t p = 0; p < PRODUCTS; p++) {
            const size_t i = a1 * POLARIZATIONS + (size_t)feeds[p][0];
            const size_t j = a2 * POLARIZATIONS + (size_t)feeds[p][1];
            const size_t at = channel * PRODUCTS + p;
            double n_valid;
            correlate(data->rounded, data->valid, i, j, share,
                      data->int8[dump][b][at], &n_valid);
            correlate(data->spectra, data->valid, i, j, share,
                      data->fp32[dump][b][at], &n_valid);
            data->nsamples[dump][b][at] += (float)(share * n_valid / SPECTRA);
        }
    }
}

static struct data *make_data(const struct scene *scene)
{
    struct data *data = calloc(1, sizeof *data);
    assert_non_null(data);
    generator.state = scene->seed;
    const size_t n_plan = CHANNELS * scene->n_average;
    for (size_t d = 0; d < DUMPS; d++)
        for (size_t c = 0; c < n_plan; c++) {
            double gain[INPUTS];
            for (size_t i = 0; i < INPUTS; i++) {
                gain[i] =
                    scene->level / amplitude(i, c) *
                    (1 + scene->gain_slope * (double)(c % scene->n_average));
                data->gain[i * n_plan + c] = gain[i] * scene->claimed_gain;
            }
            draw_spectra(data, scene, c, gain);
            correlate_all(data, d, c / scene->n_average,
                          1.0 / (double)scene->n_average);
        }
    return data;
}

static void compare(struct data *data, const struct scene *scene,
                    struct fx8_comparison *comparison)
{
    struct fx8_compare_shape shape = {
        .n_antennas = ANTENNAS,
        .n_polarizations = POLARIZATIONS,
        .n_baselines = BASELINES,
        .n_channels = CHANNELS,
        .n_products = PRODUCTS,
    };
    memcpy(shape.feeds, feeds, sizeof feeds);
    const struct fx8_compare_theory theory = {
        .n_plan_channels = CHANNELS * (scene ? scene->n_average : 1),
        .gain = data->gain,
        .clip_fraction = data->clips,
        .spectra_per_dump = SPECTRA,
    };
    struct fx8_error error;
    assert_int_equal(
        fx8_compare_open(&shape, scene ? &theory : NULL, comparison, &error),
        FX8_OK);
    for (size_t d = 0; d < DUMPS; d++) {
        double reference[INPUTS][CHANNELS], subject[INPUTS][CHANNELS];
        double weight[INPUTS][CHANNELS];
        for (size_t i = 0; i < INPUTS; i++)
            for (size_t c = 0; c < CHANNELS; c++) {
                size_t b = 0;
                for (size_t a = 0; a < i / POLARIZATIONS; a++)
                    b += ANTENNAS - a;
                const size_t at = c * PRODUCTS + i % POLARIZATIONS;
                reference[i][c] = data->fp32[d][b][at][0];
                subject[i][c] = data->int8[d][b][at][0];
                weight[i][c] = (double)data->nsamples[d][b][at];
            }
        fx8_compare_begin_dump(
            comparison, &(struct fx8_compare_autos){
                            &reference[0][0], &subject[0][0], &weight[0][0]});
        for (size_t b = 0; b < BASELINES; b++) {
            size_t a1, a2;
            fx8_baseline_antennas(ANTENNAS, b, &a1, &a2);
            const struct fx8_compare_row int8 = {&data->int8[d][b][0][0],
                                                 data->flags[d][b],
                                                 data->nsamples[d][b]};
            const struct fx8_compare_row fp32 = {&data->fp32[d][b][0][0],
                                                 data->flags[d][b],
                                                 data->nsamples[d][b]};
            fx8_compare_add(comparison, b, a1, a2, &int8, &fp32);
        }
    }
    fx8_compare_finish(comparison);
}

static bool is_inside(const struct fx8_comparison *comparison)
{
    char reason[FX8_TEXT_SIZE] = "garbage";
    const bool inside = fx8_compare_verdict(comparison, reason);
    assert_string_not_equal(reason, "garbage");
    return inside;
}

/* Deviation of a scene's median ratio from 1, in standard errors. */
static double deviation(const struct scene *scene)
{
    struct data *data = make_data(scene);
    struct fx8_comparison comparison;
    compare(data, scene, &comparison);
    assert_true(is_inside(&comparison));
    const double sigmas =
        (comparison.median_ratio - 1) / comparison.standard_error;
    fx8_compare_clear(&comparison);
    free(data);
    return sigmas;
}

/* every level, with weak and strong coherence, gaps, averaging */
TEST(theory_holds)
{
    static const double levels[] = {2, 4, 8, 16, 20, 28};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        struct scene scene = plain;
        scene.level = levels[i];
        scene.seed = 100 + i;
        assert_true(fabs(deviation(&scene)) < 5);
        scene.common = 0.9; /* |rho| = 0.81: still counted */
        assert_true(fabs(deviation(&scene)) < 5);
        scene.common = 0.2;
        scene.valid_share = 0.7;
        assert_true(fabs(deviation(&scene)) < 5);
        scene.n_average = 2;
        assert_true(fabs(deviation(&scene)) < 5);
    }
}

/* The standard error is neither too small (false alarms) nor too large: over 40
 * seeds the deviations have an rms of 1 within what 40 draws allow (5 sigma, sd
 * 1 / sqrt(80) = 0.11), less where correlated pairs are counted conservatively.
 */
TEST(standard_error_is_honest)
{
    enum { SEEDS = 40 };
    double sum = 0;
    for (uint64_t s = 0; s < SEEDS; s++) {
        struct scene scene = plain;
        scene.common = 0;
        scene.seed = 1000 + s;
        const double sigmas = deviation(&scene);
        sum += sigmas * sigmas;
    }
    const double rms = sqrt(sum / SEEDS);
    assert_true(rms > 0.3);
    assert_true(rms < 1 + 5 * 0.11);
}

/* The sigmas are true standard deviations: over 10 cross baselines and 24
 * channels of 10 seeds their rms is 1 within 5 sigma (sd 1 / sqrt(2 n): 0.071
 * of 100 and 0.046 of 240), less where correlated pairs are counted
 * conservatively. */
TEST(sigmas_are_honest)
{
    double sums[2] = {0, 0};
    size_t n[2] = {0, 0};
    for (uint64_t s = 0; s < 10; s++) {
        struct scene scene = plain;
        scene.seed = 2000 + s;
        struct data *data = make_data(&scene);
        struct fx8_comparison comparison;
        compare(data, &scene, &comparison);
        for (size_t k = 0; k < BASELINES + CHANNELS; k++) {
            const bool is_baseline = k < BASELINES;
            const struct fx8_compare_sums *of_group =
                is_baseline ? &comparison.baselines[k]
                            : &comparison.channels[k - BASELINES];
            if (of_group->n_cells < 100)
                continue; /* one antenna with itself: XY alone */
            const double sigmas =
                fx8_compare_figures_of(&comparison, of_group,
                                       is_baseline ? FX8_COMPARE_BASELINE
                                                   : FX8_COMPARE_CHANNEL)
                    .sigmas;
            sums[is_baseline] += sigmas * sigmas;
            n[is_baseline]++;
        }
        fx8_compare_clear(&comparison);
        free(data);
    }
    assert_int_equal(n[0], 240);
    assert_int_equal(n[1], 100);
    assert_true(sqrt(sums[0] / 240) > 0.3);
    assert_true(sqrt(sums[0] / 240) < 1 + 5 * 0.046);
    assert_true(sqrt(sums[1] / 100) > 1 - 5 * 0.071);
    assert_true(sqrt(sums[1] / 100) < 1 + 5 * 0.071);
}

/* Rounded values are the exact ones, turned and scaled; nothing is predicted.
 * The sums are rounded, and a median is within half a bin. */
TEST(a_turn_and_a_scale_are_found)
{
    const double degree = 180 / 3.14159265358979323846;
    for (int turn_deg = -2; turn_deg <= 2; turn_deg += 4) {
        struct data *data = make_data(&plain);
        const double re = 1.05 * cos(turn_deg / degree);
        const double im = 1.05 * sin(turn_deg / degree);
        for (size_t k = 0; k < DUMPS * BASELINES * ROW; k++) {
            const double *b =
                data->fp32[k / ROW / BASELINES][k / ROW % BASELINES][k % ROW];
            double *a =
                data->int8[k / ROW / BASELINES][k / ROW % BASELINES][k % ROW];
            a[0] = re * b[0] - im * b[1];
            a[1] = im * b[0] + re * b[1];
        }
        struct fx8_comparison comparison;
        compare(data, NULL, &comparison);
        assert_true(is_inside(&comparison)); /* different, but not judged */
        assert_false(comparison.is_identical);
        const struct fx8_compare_figures figures = fx8_compare_figures_of(
            &comparison, &comparison.overall, FX8_COMPARE_CHANNEL);
        assert_near(figures.amplitude, 1.05, 1e-12);
        assert_near(figures.phase_deg, turn_deg, 1e-12);
        assert_true(isnan(figures.predicted) && isnan(figures.sigmas));
        struct fx8_compare_phases phases;
        fx8_compare_phases_of(&comparison, &phases);
        assert_near(phases.rms_deg, 2, 1e-9);
        assert_near(phases.median_deg, turn_deg, 2.0 / 128);
        assert_near(phases.median_absolute_deg, 2, 2.0 / 64);
        double total = phases.percent_outside;
        for (size_t k = 0; k < FX8_COMPARE_PHASE_BINS; k++) {
            const double low = phases.first_deg + (double)k * phases.step_deg;
            total += phases.percent[k];
            /* all are in a bin of 1/32 degree */
            if (low > turn_deg + 0.04 ||
                low + phases.step_deg < turn_deg - 0.04)
                assert_true(phases.percent[k] == 0);
        }
        assert_near(total, 100, 1e-9);
        const struct fx8_compare_amplitudes amplitudes =
            fx8_compare_amplitudes_of(&comparison);
        assert_near(log(amplitudes.median) / log(1.05), 1, 1.0 / 128);
        /* one value, in one bin */
        assert_true(amplitudes.low <= 1.0505 && amplitudes.high >= 1.0495);
        fx8_compare_clear(&comparison);
        free(data);
    }
}

TEST(wrong_number_of_levels_is_refused)
{
    const struct fx8_compare_shape shape = {.n_channels = 4};
    const struct fx8_compare_theory theory = {.n_plan_channels = 6};
    struct fx8_comparison comparison;
    struct fx8_error error;
    must_fail(fx8_compare_open(&shape, &theory, &comparison, &error), error,
              FX8_ERR_INPUT,
              "/fx8/gain: 6 channels: expected a multiple of the 4 channels of "
              "the visibilities");
    fx8_compare_clear(&comparison);
}

/* each reason once, with nonsense in the cells left out, counted exactly */
TEST(cells_are_left_out)
{
    struct data *data = make_data(&plain);
    enum { FLAGGED = 1, DEAD = 2, CLIPPED = 3, LOW = 4, COHERENT = 5 };
    data->gain[3 * CHANNELS + DEAD] = 0;
    data->clips[4 * CHANNELS + CLIPPED] = 2e-4;
    data->clips[5 * CHANNELS + CLIPPED + 8] = 0.5e-4; /* is kept */
    data->gain[6 * CHANNELS + LOW] /= 40;
    for (size_t d = 0; d < DUMPS; d++)
        for (size_t b = 0; b < BASELINES; b++) {
            data->flags[d][b][FLAGGED * PRODUCTS] = 1;
            data->int8[d][b][FLAGGED * PRODUCTS][0] = 1e30;
        }
    /* baseline (0, 1), XX: fully coherent in both */
    const size_t cell = COHERENT * PRODUCTS;
    data->fp32[0][1][cell][0] =
        sqrt(data->fp32[0][0][cell][0] * data->fp32[0][5][cell][0]);
    data->int8[0][1][cell][0] = 1.001 * data->fp32[0][1][cell][0];
    struct fx8_comparison comparison;
    compare(data, &plain, &comparison);
    assert_true(is_inside(&comparison));
    const int64_t of_an_input = DUMPS * (INPUTS - 1);
    assert_int_equal(comparison.left_out[FX8_COMPARE_FLAGGED],
                     DUMPS * (BASELINES - ANTENNAS));
    assert_int_equal(comparison.left_out[FX8_COMPARE_NO_POWER], 0);
    assert_int_equal(comparison.left_out[FX8_COMPARE_NO_GAIN], of_an_input);
    assert_int_equal(comparison.left_out[FX8_COMPARE_CLIPPED], of_an_input);
    assert_int_equal(comparison.left_out[FX8_COMPARE_LOW_LEVEL], of_an_input);
    assert_int_equal(comparison.left_out[FX8_COMPARE_COHERENT], 1);
    const int64_t *inputs =
        comparison.inputs_left_out + FX8_COMPARE_CLIPPED * INPUTS;
    for (size_t i = 0; i < INPUTS; i++)
        assert_int_equal(inputs[i], i == 4 ? of_an_input : 0);
    const int64_t *channels =
        comparison.channels_left_out + FX8_COMPARE_LOW_LEVEL * CHANNELS;
    for (size_t c = 0; c < CHANNELS; c++)
        assert_int_equal(channels[c], c == LOW ? of_an_input : 0);
    /* every cell is counted once: pairs of inputs, channels, dumps */
    int64_t total = comparison.overall.n_cells;
    for (size_t r = 0; r < FX8_COMPARE_N_REASONS; r++)
        total += comparison.left_out[r];
    assert_int_equal(total, DUMPS * CHANNELS * INPUTS * (INPUTS - 1) / 2);
    fx8_compare_clear(&comparison);
    free(data);
}
