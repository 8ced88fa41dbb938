/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparison of INT8 with FP32 on generated spectra: Gaussian, partly
 * common to all inputs, rounded by a quantiser of known step.
 *
 * Shows: as python/test_compare_faults.py
 */
#include <sched.h>

#include "validation/compared_array.h"

enum { ANTENNAS = 5, INPUTS = 10, BASELINES = 15, PRODUCTS = 4 };
enum { CHANNELS = 24, ROW = CHANNELS * PRODUCTS, DUMPS = 3 };

/* At 20 LSB, with weak coherence. */
static const struct array plain = {
    .shape = {.n_antennas = ANTENNAS,
              .n_polarizations = 2,
              .n_baselines = BASELINES,
              .n_channels = CHANNELS,
              .n_products = PRODUCTS,
              .feeds = {{0, 0}, {1, 1}, {0, 1}, {1, 0}}},
    .n_inputs = INPUTS,
    .n_average = 1,
    .n_spectra = 96,
    .n_dumps = DUMPS,
    .level = 20,
    .common = 0.3,
    .tone_channel = SIZE_MAX,
    .pulse_channel = SIZE_MAX,
    .lattice_channel = SIZE_MAX,
    .valid_share = 1,
};

static void compare(struct array *array, uint64_t seed,
                    struct fx8_comparison *comparison)
{
    generator.state = seed;
    set_up_array(array);
    compare_array(array, comparison);
}

static bool is_inside(const struct fx8_comparison *comparison)
{
    char reason[FX8_TEXT_SIZE] = "garbage";
    const bool inside = fx8_compare_verdict(comparison, reason);
    assert_string_not_equal(reason, "garbage");
    return inside;
}

/* Deviation of an array's median ratio from 1, in standard errors. */
static double deviation(struct array array, uint64_t seed)
{
    struct fx8_comparison comparison;
    compare(&array, seed, &comparison);
    assert_true(is_inside(&comparison));
    const double sigmas =
        (comparison.median_ratio - 1) / comparison.standard_error;
    fx8_compare_clear(&comparison);
    return sigmas;
}

/* every level, with weak and strong coherence, gaps, averaging */
TEST(theory_holds)
{
    static const double levels[] = {2, 4, 8, 16, 20, 28};
    for (size_t i = 0; i < LENGTH(levels); i++) {
        struct array array = plain;
        array.level = levels[i];
        assert_true(fabs(deviation(array, 100 + i)) < 5);
        array.common = 0.9; /* |rho| = 0.81: still counted */
        assert_true(fabs(deviation(array, 100 + i)) < 5);
        array.common = 0.2;
        array.valid_share = 0.7;
        assert_true(fabs(deviation(array, 100 + i)) < 5);
        array.n_average = 2;
        assert_true(fabs(deviation(array, 100 + i)) < 5);
        array.n_dumps = 2;
        array.last_length = 0.25; /* its loss is twice that of the first */
        assert_true(fabs(deviation(array, 100 + i)) < 5);
    }
}

/* eps of a group is mean(1 / (6 g^2)) over the mean power */
TEST(averaged_gains_are_combined)
{
    struct array array = plain;
    struct fx8_comparison comparison;
    array.n_average = 2;
    compare(&array, 1, &comparison);
    for (size_t at = 0; at < INPUTS * CHANNELS; at++) {
        const double *gain = array.gain + 2 * at;
        const double expected =
            0.5 / (gain[0] * gain[0]) + 0.5 / (gain[1] * gain[1]);
        assert_near(comparison.inverse_gain_2[at] / expected, 1, 1e-14);
    }
    fx8_compare_clear(&comparison);
}

/* The standard error is neither too small (false alarms) nor too large: over 40
 * seeds the deviations have an rms of 1 within what 40 draws allow (5 sigma, sd
 * 1 / sqrt(80) = 0.11), less where correlated pairs are counted conservatively.
 */
TEST(standard_error_is_honest)
{
    enum { SEEDS = 40 };
    struct array array = plain;
    double sum = 0;
    array.common = 0;
    for (uint64_t s = 0; s < SEEDS; s++) {
        const double sigmas = deviation(array, 1000 + s);
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
        struct array array = plain;
        struct fx8_comparison comparison;
        compare(&array, 2000 + s, &comparison);
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
    }
    assert_int_equal(n[0], 240);
    assert_int_equal(n[1], 100);
    assert_true(sqrt(sums[0] / 240) > 0.3);
    assert_true(sqrt(sums[0] / 240) < 1 + 5 * 0.046);
    assert_true(sqrt(sums[1] / 100) > 1 - 5 * 0.071);
    assert_true(sqrt(sums[1] / 100) < 1 + 5 * 0.071);
}

/* Degrees by which every cell of a dump is turned; it is scaled by 1.05. */
static int turn_deg;
static const double degree = 180 / 3.14159265358979323846;

static void turn(struct array *array, size_t dump)
{
    (void)dump;
    const double re = 1.05 * cos(turn_deg / degree);
    const double im = 1.05 * sin(turn_deg / degree);
    for (size_t k = 0; k < 2 * BASELINES * ROW; k += 2) {
        const double *b = array->fp32 + k;
        array->int8[k] = re * b[0] - im * b[1];
        array->int8[k + 1] = im * b[0] + re * b[1];
    }
}

/* Rounded values are the exact ones, turned and scaled; nothing is predicted.
 * The sums are rounded, and a median is within half a bin. */
TEST(a_turn_and_a_scale_are_found)
{
    for (turn_deg = -2; turn_deg <= 2; turn_deg += 4) {
        struct array array = plain;
        struct fx8_comparison comparison;
        array.spoil = turn;
        array.has_no_theory = true;
        compare(&array, 1, &comparison);
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
    }
}

enum { FLAGGED = 1, DEAD = 2, CLIPPED = 3, LOW = 4, COHERENT = 5 };

static void spoil_levels(double *gain, double *clips)
{
    gain[3 * CHANNELS + DEAD] = 0;
    clips[4 * CHANNELS + CLIPPED] = 2e-4;
    clips[5 * CHANNELS + CLIPPED + 8] = 0.5e-4; /* is kept */
    gain[6 * CHANNELS + LOW] /= 40;
}

static void spoil_cells(struct array *array, size_t dump)
{
    for (size_t b = 0; b < BASELINES; b++) {
        const size_t at = b * ROW + FLAGGED * PRODUCTS;
        array->flags[at] = 1;
        array->int8[2 * at] = 1e30;
    }
    /* baseline (0, 1), XX: fully coherent in both */
    const size_t cell = 2 * COHERENT * PRODUCTS;
    double *fp32 = array->fp32 + cell, *int8 = array->int8 + cell;
    if (dump > 0)
        return;
    fp32[2 * ROW] = sqrt(fp32[0] * fp32[5 * 2 * ROW]);
    int8[2 * ROW] = 1.001 * fp32[2 * ROW];
}

/* each reason once, with nonsense in the cells left out, counted exactly */
TEST(cells_are_left_out)
{
    struct array array = plain;
    struct fx8_comparison comparison;
    array.spoil = spoil_cells;
    array.spoil_gain = spoil_levels;
    array.lacks_dump_clips = true;
    compare(&array, 1, &comparison);
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
}

/* Input 4 clips too often in dump 1 alone, input 5 in two of three dumps, and
 * input 6 seldom. */
static void spoil_clips(struct array *array, size_t dump)
{
    array->dump_clips[4 * CHANNELS + CLIPPED] = dump == 1 ? 2e-4 : 0;
    array->dump_clips[5 * CHANNELS + CLIPPED + 8] = dump == 1 ? 0 : 1.1e-4;
    array->dump_clips[6 * CHANNELS + CLIPPED] = 0.9e-4;
}

/* What the whole run is said to have clipped decides nothing. */
static void spoil_run_clips(double *gain, double *clips)
{
    (void)gain;
    clips[7 * CHANNELS + CLIPPED] = 0.5;
}

/* averaged or not, the clips of a dump leave out its cells and no others; the
 * report gives those of the run */
TEST(clips_leave_out_cells_of_their_dump)
{
    for (size_t average = 1; average <= 2; average++) {
        struct array array = plain;
        struct fx8_comparison comparison;
        array.n_average = average;
        array.shape.n_channels = CHANNELS / average;
        array.spoil = spoil_clips;
        array.spoil_gain = spoil_run_clips;
        compare(&array, 1, &comparison);
        assert_true(is_inside(&comparison));
        assert_int_equal(comparison.left_out[FX8_COMPARE_CLIPPED],
                         3 * (INPUTS - 1));
        const int64_t *inputs =
            comparison.inputs_left_out + FX8_COMPARE_CLIPPED * INPUTS;
        for (size_t i = 0; i < INPUTS; i++) {
            assert_int_equal(inputs[i], (i == 4   ? 1
                                         : i == 5 ? 2
                                                  : 0) *
                                            (INPUTS - 1));
            assert_true(comparison.inputs[i].clip_largest ==
                        (i == 7 ? 0.5 : 0));
        }
        const int64_t *channels = comparison.channels_left_out +
                                  FX8_COMPARE_CLIPPED * array.shape.n_channels;
        assert_int_equal(channels[CLIPPED / average], INPUTS - 1);
        fx8_compare_clear(&comparison);
    }
}

/* --- ranges of channels ------------------------------------------ */

/* All figures of an array, as text. */
static char *figures_of(struct array array, bool has_one_cpu)
{
    struct fx8_comparison comparison;
    char *text = NULL;
    size_t size;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (has_one_cpu)
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    compare(&array, 1, &comparison);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    fx8_compare_print_json(&comparison, stream);
    assert_int_equal(fclose(stream), 0);
    fx8_compare_clear(&comparison);
    return text;
}

/* the same bits from one channel or uneven ranges, more baselines than are
 * added between two mergers */
TEST(threads_and_reads_change_nothing)
{
    static const size_t channels[] = {1, 3, 17};
    for (size_t k = 0; k < LENGTH(channels); k++) {
        struct array array = plain;
        array.shape = (struct fx8_compare_shape){.n_antennas = 23,
                                                 .n_polarizations = 1,
                                                 .n_baselines = 276,
                                                 .n_channels = channels[k],
                                                 .n_products = 1};
        array.n_inputs = 23;
        char *expected = figures_of(array, false);
        char *of_one_cpu = figures_of(array, true);
        array.rows = 1;
        char *of_rows = figures_of(array, false);
        assert_non_null(strstr(expected, "\"n_cells\": 759"));
        assert_string_equal(of_one_cpu, expected);
        assert_string_equal(of_rows, expected);
        free(expected);
        free(of_one_cpu);
        free(of_rows);
    }
}

/* No power in two channels of two inputs: all that is wrong with it is
 * infinitely wrong. */
static void spoil_powers(struct array *array, size_t dump)
{
    static const size_t auto_1 = ANTENNAS; /* baseline (1, 1) */
    (void)dump;
    array->fp32[2 * 20 * PRODUCTS] = 0;
    array->fp32[2 * (auto_1 * ROW + 2 * PRODUCTS)] = 0;
}

/* by dump and baseline, whichever range of channels it is in */
TEST(of_equals_the_first_is_named)
{
    struct array array = plain;
    struct fx8_comparison comparison;
    array.spoil = spoil_powers;
    compare(&array, 1, &comparison);
    const struct fx8_compare_worst_of *worst =
        &comparison.worst[FX8_COMPARE_CHECK_BOUNDS];
    assert_true(isinf(worst->ratio));
    assert_int_equal(worst->place.dump, 0);
    assert_int_equal(worst->place.baseline, 0);
    assert_int_equal(worst->place.channel, 20);
    assert_int_equal(worst->place.product, 0);
    fx8_compare_clear(&comparison);
}
