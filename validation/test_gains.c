/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_gains.c -- gains of the quantiser: the median against a sort, the
 * spectra that count, levels that are zero.  python/test_matrix.py compares
 * gains with the formula.
 *
 * Shows: as test_engine.c
 */
#include "config/base/median.h"
#include "validation/session_run.h"

static const struct delivery whole = {0};

/* --- the median -------------------------------------------------------- */

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double sorted_median(const float *values, size_t n)
{
    float *sorted = temporary(n * sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_floats);
    return ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2.0;
}

/* Any values, many equal ones (zeros among them), all equal, rising and falling
 * again, and many orders of magnitude. */
TEST(median_against_a_sort)
{
    struct generator g = {21};
    for (size_t n = 1; n <= 300; n++)
        for (int kind = 0; kind < 5; kind++) {
            float *given = temporary(n * sizeof *given);
            double *sorted = temporary(n * sizeof *sorted);
            for (size_t k = 0; k < n; k++)
                sorted[k] = given[k] =
                    kind == 0   ? (float)random_below(&g, 1000000)
                    : kind == 1 ? (float)random_below(&g, 3)
                    : kind == 2 ? 7.5f
                    : kind == 3 ? (float)(k < n / 2 ? k : n - k)
                                : ldexpf(1.0f, (int)random_in(&g, -100, 100));
            const double expected = sorted_median(given, n);
            assert_true(fx8_median(sorted, n) == expected);
            for (size_t k = 1; k < n; k++)
                assert_true(sorted[k - 1] <= sorted[k]);
            assert_true(fx8_median_of_powers(given, n) == expected);
        }
}

/* --- which spectra count ---------------------------------------------- */

/* Inputs that begin late, or with a gap: the first 256 valid spectra that are
 * not silent count, wherever they are, in as many rounds as needed. */
TEST(gains_of_inputs_that_begin_late)
{
    enum { CHANNELS = 4 };
    static const int64_t sizes[] = {0, 1, 7, 64, 999};
    /* the first spectra that reach what an input has */
    static const int64_t begins[] = {[1] = 988, [3] = 2004};
    struct fx8_plan plan = small_plan(4, 1, true, CHANNELS, 50);
    struct voltages v = make_voltages(4, 2, 4000, 15, 200);
    memset(voltages_at(&v, 1, 0), 0, 1000 * 2); /* silent */
    memset(voltages_at(&v, 2, 400), 0, 300 * 2);
    v.missing[v.n_missing++] = (struct fx8_gap){0, 2001, 3};
    v.missing[v.n_missing++] = (struct fx8_gap){100, 77, -1};
    v.missing[v.n_missing++] = (struct fx8_gap){205, 9, 0};
    const struct collected first = collect(&plan, &v, &whole);
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        const struct delivery delivery = {.block_samples = sizes[i],
                                          .layout = i % N_LAYOUTS,
                                          .reread_samples = i % 2 ? 300 : 0};
        plan.machine.threads.count = 1 + i % 3;
        const struct collected c = collect(&plan, &v, &delivery);
        /* first inputs 0 and 2, then 1, then 3 */
        assert_int_equal(c.statistics.n_gain_rounds, 3);
        assert_int_equal(c.n_rereads > 0, i % 2);
        check_same(&first, &c);
    }
    for (size_t input = 1; input < 4; input += 2) {
        plan.first_sample = begins[input];
        const struct collected c = collect(&plan, &v, &whole);
        check_bytes(first.gains + input * CHANNELS, c.gains + input * CHANNELS,
                    CHANNELS * sizeof(float));
    }
}

/* --- levels of nothing ------------------------------------------------- */

/* Beside a line there is only float rounding, some 1e-7 of the line: the level
 * there is zero, wherever the line is: a constant, a period of four samples or,
 * for real samples, alternating signs.  Length 60, as sums of a power of two
 * may cancel exactly. */
TEST(levels_of_rounding)
{
    static const int8_t turn[4][2] = {{127, 0}, {0, 127}, {-127, 0}, {0, -127}};
    static const struct {
        bool is_complex;
        int64_t period;
        size_t n_channels, n_kept, line; /* channel of the line */
    } cases[] = {
        {true, INT64_MAX / 8, 60, 0, 30}, /* constant */
        {true, 4, 60, 0, 45},
        {true, 4, 60, 20, SIZE_MAX}, /* a channel that is not kept */
        {false, INT64_MAX / 8, 30, 0, 0},
        {false, 2, 30, 0, SIZE_MAX}, /* Nyquist */
    };
    for (size_t i = 0; i < 2 * LENGTH(cases); i++) {
        const size_t k = i / 2, n_channels = cases[k].n_channels;
        struct fx8_plan plan =
            small_plan(1, 1, cases[k].is_complex, n_channels, 50);
        plan.channelizer.method = FX8_METHOD_FFT;
        plan.channelizer.n_kept = cases[k].n_kept;
        plan.quantizer.gain_per =
            i % 2 ? FX8_GAIN_PER_INPUT : FX8_GAIN_PER_CHANNEL;
        struct voltages v =
            make_voltages(1, 1 + cases[k].is_complex, 6000, 15, 600);
        for (int64_t t = 0; t < v.n_samples; t++)
            memcpy(voltages_at(&v, 0, t), turn[t * 4 / cases[k].period % 4],
                   v.size);
        struct collected c = collect(&plan, &v, &whole);
        for (size_t channel = 0; channel < fx8_plan_axes(&plan).n_fine;
             channel++) {
            const bool is_zero = i % 2 || channel != cases[k].line;
            assert_int_equal(c.zero[channel], is_zero);
            assert_int_equal(c.flags[0][channel], is_zero);
            if (is_zero)
                assert_true(c.gains[channel] == 1.0f);
            if (channel != cases[k].line)
                assert_true(c.visibilities[0][2 * channel] == 0.0f);
        }
    }
}

/* The strongest line in 8 bits, noise of half a step, and rounding: with 65,536
 * channels a channel has 3e-10 of the power of the line, 300 times the limit.
 */
TEST(levels_of_noise_beside_a_line)
{
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        struct fx8_plan plan = small_plan(1, 1, is_complex, 65536, 4);
        plan.channelizer.method = FX8_METHOD_FFT;
        struct voltages v =
            make_voltages(1, 1 + (size_t)is_complex, 16 * 65536, 0.3, 700);
        struct generator g = {701};
        for (int64_t t = 0; t < v.n_samples; t++)
            for (size_t part = 0; part < v.size; part++) {
                const double angle = 0.3 * (double)t + (part ? -M_PI / 2 : 0);
                const double x = 126 * cos(angle) + random_noise(&g, 0.5);
                voltages_at(&v, 0, t)[part] = (int8_t)lrint(x);
            }
        struct collected c = collect(&plan, &v, &whole);
        for (size_t channel = 0; channel < 65536; channel++)
            assert_int_equal(c.zero[channel], 0);
    }
}

/* With so many channels a round holds the powers of only two inputs. */
TEST(rounds_of_limited_capacity)
{
    enum { CHANNELS = 131072, INPUTS = 5 };
    struct fx8_plan plan = small_plan(INPUTS, 1, true, CHANNELS, 1);
    plan.channelizer.method = FX8_METHOD_FFT;
    plan.precision = FX8_PRECISION_INT8;
    struct voltages v = make_voltages(INPUTS, 2, 2 * CHANNELS, 15, 500);
    const struct delivery delivery = {.block_samples = 100000};
    struct collected c = collect(&plan, &v, &delivery);
    assert_int_equal(c.statistics.n_gain_rounds, 3);
    /* the gains of each input alone */
    for (size_t input = 0; input < INPUTS; input++) {
        struct voltages one = v;
        one.data = voltages_at(&v, input, 0);
        one.n_inputs = plan.n_antennas = 1;
        const struct collected alone = collect(&plan, &one, &delivery);
        assert_int_equal(alone.statistics.n_gain_rounds, 1);
        check_bytes(alone.gains, c.gains + input * CHANNELS,
                    CHANNELS * sizeof(float));
    }
}
