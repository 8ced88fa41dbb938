/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The figures computed from the sums of a comparison: quantiles and histograms
 * against a sorted list, the worst of many, a page for any array.
 *
 * Shows (commands, figures of compare): quantiles, histograms, sigmas and the
 *     worst values are correct; a page of 512 inputs stays small; names with
 *     special characters do not break the page
 * Within: quantiles 1/128; sums 10⁻⁹; counts 5 sigma; 300 kB
 * Because: half a bin, and a bin is 1/64 of its edge wide; doubles are summed
 *     in another order; counts scatter; a browser shows a page of that size at
 *     once
 */
#include <stdio.h>

#include "correlator/compare/figures.h"
#include "validation/testing.h"

static struct generator generator;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* --- spreads ----------------------------------------------------- */

enum { VALUES = 40001 };

static struct fx8_compare_spread make_spread(double *values)
{
    struct fx8_compare_spread spread;
    struct fx8_error error;
    generator.state = 5;
    must(fx8_compare_spread_open(&spread, "values", &error), error);
    for (size_t i = 0; i < VALUES; i++) {
        /* off centre, and some are zero */
        values[i] = i % 50 == 0 ? 0.0 : 0.3 + random_normal(&generator);
        fx8_compare_spread_add(&spread, values[i]);
    }
    qsort(values, VALUES, sizeof *values, by_value);
    return spread;
}

/* a bin is 1/64 of its lower edge wide: its middle is within 1/128 */
TEST(quantiles_are_those_of_a_sorted_list)
{
    static double values[VALUES];
    struct fx8_compare_spread spread = make_spread(values);
    struct fx8_error error;
    static const double shares[] = {0.001, 0.16, 0.38, 0.39, 0.5, 0.84, 0.999};
    for (size_t k = 0; k < LENGTH(shares); k++) {
        const double exact = values[(size_t)ceil(shares[k] * VALUES) - 1];
        const double got = fx8_compare_spread_quantile(&spread, shares[k]);
        assert_true(fabs(got - exact) <= fabs(exact) / 128);
    }
    double sum = 0, sum_2 = 0;
    for (size_t i = 0; i < VALUES; i++) {
        sum += values[i];
        sum_2 += values[i] * values[i];
    }
    assert_true(fabs(spread.sum / sum - 1) < 1e-9);
    assert_true(fabs(spread.sum_2 / sum_2 - 1) < 1e-9);
    assert_true(spread.largest ==
                fmax(fabs(values[0]), fabs(values[VALUES - 1])));
    fx8_compare_spread_clear(&spread);
    assert_true(fx8_compare_spread_quantile(&spread, 0.5) == 0.0);
    /* a median between two values is their mean */
    must(fx8_compare_spread_open(&spread, "values", &error), error);
    static const double four[] = {-4, -1, 3, 5};
    for (size_t k = 0; k < 4; k++)
        fx8_compare_spread_add(&spread, four[k]);
    assert_near(fx8_compare_spread_quantile(&spread, 0.5), 1, 2.0 / 128);
    fx8_compare_spread_add(&spread, 7);
    assert_near(fx8_compare_spread_quantile(&spread, 0.5), 3, 3.0 / 128);
    assert_near(fx8_compare_spread_quantile(&spread, 1.0), 7, 7.0 / 128);
    fx8_compare_spread_clear(&spread);
}

/* Bins cut by an edge are shared out proportionally; the error is less than the
 * scatter of a count, of which 5 sigma are allowed. */
TEST(even_steps_hold_what_they_span)
{
    enum { BINS = 23 };
    static double values[VALUES];
    struct fx8_compare_spread spread = make_spread(values);
    const double first = -1.15, step = 0.1; /* 0 is inside a bin */
    double counts[BINS], direct[BINS] = {0};
    fx8_compare_spread_fill(&spread, first, step, BINS, counts);
    for (size_t i = 0; i < VALUES; i++) {
        const double at = floor((values[i] - first) / step);
        if (at >= 0 && at < BINS)
            direct[(size_t)at]++;
    }
    for (size_t k = 0; k < BINS; k++)
        assert_true(fabs(counts[k] - direct[k]) < 5 * sqrt(direct[k] * 0.1));
    /* one step over everything holds everything */
    fx8_compare_spread_fill(&spread, -100, 200, 1, counts);
    assert_true(fabs(counts[0] / VALUES - 1) < 1e-9);
    fx8_compare_spread_clear(&spread);
}

TEST(a_median_phase_between_two_is_their_mean)
{
    static const double phases_deg[] = {1, -1, 1, 3, -3, 3};
    const double degree = 180 / 3.14159265358979323846;
    struct fx8_comparison comparison = {.n_dumps = 0};
    struct fx8_error error;
    must(fx8_compare_spread_open(&comparison.phase, "phases", &error), error);
    for (size_t k = 0; k < 6; k++)
        fx8_compare_spread_add(&comparison.phase, phases_deg[k] / degree);
    struct fx8_compare_phases phases;
    fx8_compare_phases_of(&comparison, &phases);
    /* each within its bin, 1/64 */
    assert_near(phases.median_absolute_deg, 2, 0.5 * (1 + 3) / 64);
    assert_near(phases.median_deg, 1, 1.0 / 128);
    fx8_compare_spread_clear(&comparison.phase);
}

/* --- the worst, names, the page ---------------------------------- */

/* Sums of so many antennas, good except for two baselines. */
static void make_array(size_t n_antennas, size_t n_channels,
                       struct fx8_comparison *comparison)
{
    const size_t n_baselines = n_antennas * (n_antennas + 1) / 2;
    const struct fx8_compare_shape shape = {
        .n_antennas = n_antennas,
        .n_polarizations = 2,
        .n_baselines = n_baselines,
        .n_channels = n_channels,
        .n_products = 4,
        .feeds = {{0, 0}, {1, 1}, {0, 1}, {1, 0}},
    };
    const size_t n_levels = 2 * n_antennas * n_channels;
    double *gain = temporary(n_levels * sizeof *gain);
    double *clips = temporary_zeros(n_levels * sizeof *clips);
    for (size_t k = 0; k < n_levels; k++)
        gain[k] = 0.5 + random_uniform(&generator);
    const struct fx8_compare_theory theory = {.n_plan_channels = n_channels,
                                              .gain = gain,
                                              .clip_fraction = clips,
                                              .spectra_per_dump = 1000};
    struct fx8_error error;
    must(fx8_compare_open(&shape, &theory, comparison, &error), error);
    comparison->is_identical = false;
    for (size_t a = 0, b = 0; a < n_antennas; a++) {
        comparison->antenna_numbers[a] = (int64_t)(3 * a + 1);
        for (size_t other = a; other < n_antennas; other++, b++) {
            comparison->baseline_antennas[b][0] = a;
            comparison->baseline_antennas[b][1] = other;
            const double ratio = b == 5 ? 2.0 : b == 7 ? 0.4 : 1.0;
            comparison->baselines[b] = (struct fx8_compare_sums){
                100,      ratio * 1e-4,
                1e-4,     100 * (ratio + 0.001 * random_uniform(&generator)),
                1.0,      {1.0, 0.01},
                {0, 0, 0}};
        }
    }
    for (size_t c = 0; c < n_channels; c++) {
        comparison->frequencies_hz[c] = 1e8 + 1e4 * (double)c;
        comparison->channels[c] = comparison->baselines[0];
        comparison->channels_left_out[c] = (int64_t)(c % 2);
    }
    comparison->left_out[0] = 1;
    fx8_compare_finish(comparison);
}

TEST(the_worst_come_first)
{
    struct fx8_comparison comparison;
    make_array(5, 8, &comparison);
    size_t worst[FX8_COMPARE_WORST];
    assert_int_equal(
        fx8_compare_worst(&comparison, FX8_COMPARE_BASELINE, worst),
        FX8_COMPARE_WORST);
    assert_int_equal(worst[0], 5);
    assert_int_equal(worst[1], 7);
    /* 100 cells, of which an XX shares inputs with two others at a coherence
     * of 0.01: 100 / 1.02 independent ones */
    const struct fx8_compare_figures figures = fx8_compare_figures_of(
        &comparison, &comparison.baselines[7], FX8_COMPARE_BASELINE);
    assert_true(fabs(figures.sigmas + 0.6 * sqrt(100 / 1.02)) < 0.02);
    assert_int_equal(fx8_compare_worst(&comparison, FX8_COMPARE_CHANNEL, worst),
                     8);
    char name[FX8_COMPARE_NAME_SIZE];
    fx8_compare_input_name(&comparison, 7, name);
    assert_string_equal(name, "10Y");
    comparison.shape.is_circular = true;
    fx8_compare_input_name(&comparison, 7, name);
    assert_string_equal(name, "10L");
    fx8_compare_clear(&comparison);
}

static char *page_of(const struct fx8_comparison *comparison, size_t *size)
{
    char *text = NULL;
    struct fx8_error error;
    FILE *stream = open_memstream(&text, size);
    assert_non_null(stream);
    must(fx8_compare_print_html(comparison, stream, &error), error);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* 512 inputs, 1024 channels, every other one left out.  The limit here, a
 * quarter of a page's, leaves room for long names. */
TEST(a_page_of_any_array_is_small)
{
    struct fx8_comparison comparison;
    make_array(256, 1024, &comparison);
    size_t size;
    char *text = page_of(&comparison, &size);
    assert_true(size < 300000);
    /* and the page states what it leaves out */
    assert_non_null(strstr(text, "One of 110 baselines is drawn"));
    assert_non_null(strstr(text, "Each mark covers 4 channels."));
    assert_non_null(strstr(text, "4 inputs share a mark"));
    assert_non_null(strstr(text, " and 448 more ranges"));
    free(text);
    fx8_compare_clear(&comparison);
}

TEST(names_cannot_spoil_a_page)
{
    struct fx8_comparison comparison;
    make_array(2, 4, &comparison);
    snprintf(comparison.subject_name, FX8_TEXT_SIZE, "<b>&\"\n\xff.uvh5");
    snprintf(comparison.reference_name, FX8_TEXT_SIZE, "\xc3\xa9.uvh5");
    size_t size;
    char *text = page_of(&comparison, &size);
    assert_non_null(strstr(text, "&lt;b&gt;&amp;&quot;??.uvh5"));
    assert_non_null(strstr(text, "\xc3\xa9.uvh5"));
    assert_null(strchr(text, '\xff'));
    free(text);
    fx8_compare_clear(&comparison);
}
