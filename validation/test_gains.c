/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_gains.c -- gains of the quantiser: the median against a sort, gains
 * against the formula from direct DFTs in double precision, for any blocks.
 *
 * Shows: as test_engine.c
 */
#include <math.h>

#include "config/base/median.h"
#include "correlator/library/gains.h"
#include "correlator/library/plan.h"
#include "validation/complex_value.h"
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

/* Any values, many equal ones, and many orders of magnitude. */
TEST(median_against_a_sort)
{
    struct generator g = {21};
    for (size_t n = 1; n <= 300; n++)
        for (int kind = 0; kind < 3; kind++) {
            float *given = temporary(n * sizeof *given);
            double *sorted = temporary(n * sizeof *sorted);
            for (size_t k = 0; k < n; k++)
                sorted[k] = given[k] =
                    kind == 0   ? (float)random_below(&g, 1000000)
                    : kind == 1 ? (float)random_below(&g, 3)
                                : ldexpf(1.0f, (int)random_in(&g, -100, 100));
            const double expected = sorted_median(given, n);
            assert_true(fx8_median(sorted, n) == expected);
            for (size_t k = 1; k < n; k++)
                assert_true(sorted[k - 1] <= sorted[k]);
            assert_true(fx8_median_float(given, n) == expected);
            /* reordered, but the same values */
            qsort(given, n, sizeof *given, compare_floats);
            for (size_t k = 0; k < n; k++)
                assert_true((double)given[k] == sorted[k]);
        }
}

/* --- the formula ------------------------------------------------------- */

/* |X|^2 of one spectrum in double, [n_channels]; turn: exp(-2 pi i k / n). */
static void plain_power(const struct fx8_plan *plan, const double *weights,
                        const double complex *turn, const struct voltages *v,
                        size_t input, int64_t first, float *power)
{
    const size_t n = fx8_plan_axes(plan).step;
    const size_t window = fx8_plan_axes(plan).window;
    for (size_t c = 0; c < plan->channelizer.n_channels; c++) {
        const size_t k =
            plan->is_complex ? c + n - plan->channelizer.n_channels / 2 : c;
        double complex x = 0.0;
        for (size_t i = 0; i < window; i++) {
            const int64_t t = first + (int64_t)i;
            const int8_t *s = voltages_at(v, input, t);
            const int sign = plan->lower_sideband ? -1 : 1;
            x += weights[i] * turn[k * i % n] *
                 (plan->is_complex ? CMPLX(s[0], sign * s[1])
                                   : CMPLX(t % 2 == 0 ? s[0] : sign * s[0], 0));
        }
        power[c] = (float)(creal(x) * creal(x) + cimag(x) * cimag(x));
    }
}

static bool counts_for_levels(const struct fx8_plan *plan,
                              const struct voltages *v, size_t input,
                              int64_t first)
{
    bool is_zero = true;
    for (size_t i = 0; i < fx8_plan_axes(plan).window; i++) {
        const int64_t t = first + (int64_t)i;
        if (voltages_missing(v, input, t))
            return false;
        for (size_t part = 0; part < v->size; part++)
            is_zero = is_zero && voltages_at(v, input, t)[part] == 0;
    }
    return !is_zero;
}

/* sigma^2 from a median of |X|^2: of complex noise, whose |X|^2 is exponential,
 * or of real noise, chi-squared with one degree of freedom (tabulated median:
 * 0.454936). */
static double variance_of(double median, bool is_real)
{
    return median / (is_real ? 0.454936423119572 : 2 * log(2));
}

/* Gains of one input by the formula, [n_channels].  The first channel of real
 * samples has real spectra. */
static void plain_gains(const struct fx8_plan *plan, const struct voltages *v,
                        size_t input, double *gains)
{
    const size_t channels = plan->channelizer.n_channels;
    const int64_t step = (int64_t)fx8_plan_axes(plan).step;
    const int64_t window = (int64_t)fx8_plan_axes(plan).window;
    double *weights = temporary((size_t)window * sizeof *weights);
    fx8_plan_weights(plan, weights);
    double complex *turn = temporary((size_t)step * sizeof *turn);
    for (int64_t k = 0; k < step; k++)
        turn[k] = cexp(CMPLX(0, -2 * M_PI * (double)k / (double)step));
    float *power = temporary(FX8_GAIN_SPECTRA * channels * sizeof *power);
    size_t seen = 0;
    for (int64_t first = plan->first_sample;
         first + window <= v->n_samples && seen < FX8_GAIN_SPECTRA;
         first += step)
        if (counts_for_levels(plan, v, input, first))
            plain_power(plan, weights, turn, v, input, first,
                        power + seen++ * channels);
    assert_true(seen > 0);
    for (size_t c = 0; c < channels; c++) {
        float column[FX8_GAIN_SPECTRA];
        for (size_t s = 0; s < seen; s++)
            column[s] = power[s * channels + c];
        gains[c] = plan->quantizer.target_rms /
                   sqrt(variance_of(sorted_median(column, seen),
                                    !plan->is_complex && c == 0));
    }
    if (plan->quantizer.gain_per == FX8_GAIN_PER_INPUT) {
        /* one for all, from all channels that are not real, or from the only
         * one */
        const size_t first = !plan->is_complex && channels > 1;
        size_t n = 0;
        for (size_t k = 0; k < seen * channels; k++)
            if (k % channels >= first)
                power[n++] = power[k];
        const double variance = variance_of(sorted_median(power, n),
                                            !plan->is_complex && channels == 1);
        for (size_t c = 0; c < channels; c++)
            gains[c] = plan->quantizer.target_rms / sqrt(variance);
    }
}

/* The power at the median is off by a few float roundings: with 16 of 2^-24 in
 * the amplitude the gain is good to 1e-6; twice that for a median between two
 * values that swap places. */
#define GAIN_ERROR 2e-6

static void check_gains(const struct fx8_plan *plan, const struct voltages *v,
                        const struct collected *c)
{
    double *gains = temporary(plan->channelizer.n_channels * sizeof *gains);
    for (size_t input = 0; input < v->n_inputs; input++) {
        plain_gains(plan, v, input, gains);
        for (size_t k = 0; k < plan->channelizer.n_channels; k++) {
            const double got =
                c->gains[input * plan->channelizer.n_channels + k];
            assert_true(fabs(got - gains[k]) <= GAIN_ERROR * gains[k]);
            assert_int_equal(c->zero[input * plan->channelizer.n_channels + k],
                             0);
        }
    }
}

TEST(gains_by_the_formula)
{
    static const int64_t lengths[] = {4000, 37, 40, 500}; /* if complex */
    for (int i = 0; i < 24; i++) {
        const bool is_complex = i % 2;
        const size_t channels = i < 16 ? 5 : i < 20 ? 1 : 2;
        struct fx8_plan plan = small_plan(3, 1, is_complex, channels, 1);
        plan.lower_sideband = i / 4 % 2;
        plan.quantizer.gain_per =
            i / 2 % 2 ? FX8_GAIN_PER_INPUT : FX8_GAIN_PER_CHANNEL;
        plan.quantizer.target_rms = i / 4 % 2 ? 33.5 : 20.0;
        plan.first_sample = i / 4 % 2 ? 17 : 0;
        const struct voltages v = make_voltages(
            3, 1 + is_complex, lengths[is_complex && i < 16 ? i / 4 : 0], 15,
            (uint64_t)(100 + i));
        const struct collected c = collect(&plan, &v, &whole);
        check_gains(&plan, &v, &c);
        assert_int_equal(c.statistics.n_gain_rounds, 1);
    }
}

/* Inputs that begin late, or with a gap: the first 256 valid spectra count,
 * wherever they are, in as many rounds as needed. */
TEST(gains_of_inputs_that_begin_late)
{
    struct fx8_plan plan = small_plan(4, 1, true, 4, 50);
    struct voltages v = make_voltages(4, 2, 4000, 15, 200);
    memset(voltages_at(&v, 1, 0), 0, 1000 * 2); /* silent */
    memset(voltages_at(&v, 2, 400), 0, 300 * 2);
    v.missing[v.n_missing++] = (struct fx8_gap){0, 2001, 3};
    v.missing[v.n_missing++] = (struct fx8_gap){100, 77, -1};
    v.missing[v.n_missing++] = (struct fx8_gap){205, 9, 0};
    struct collected first = {0};
    static const int64_t sizes[] = {0, 1, 7, 64, 999};
    for (size_t i = 0; i < 5; i++) {
        const struct delivery delivery = {.block_samples = sizes[i],
                                          .layout = i % N_LAYOUTS,
                                          .reread_samples = i % 2 ? 300 : 0};
        plan.machine.threads.count = 1 + i % 3;
        const struct collected c = collect(&plan, &v, &delivery);
        check_gains(&plan, &v, &c);
        /* first inputs 0 and 2, then 1, then 3 */
        assert_int_equal(c.statistics.n_gain_rounds, 3);
        assert_int_equal(c.n_rereads > 0, i % 2);
        if (i > 0)
            check_same(&first, &c);
        first = c;
    }
}

/* A sample of a line in exactly one channel: a constant, a period of four
 * samples, or, for real samples, alternating signs. */
static void set_line(const struct voltages *v, size_t input, int64_t t,
                     int64_t period)
{
    static const int8_t turn[4][2] = {{127, 0}, {0, 127}, {-127, 0}, {0, -127}};
    int8_t *sample = voltages_at(v, input, t);
    memcpy(sample, turn[t * 4 / period % 4], v->size);
}

/* Beside a line there is only float rounding, some 1e-7 of the line: the level
 * there is zero, wherever the line is.  Length 60, as sums of a power of two
 * may cancel exactly. */
TEST(levels_of_rounding)
{
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
            set_line(&v, 0, t, cases[k].period);
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
    /* with two spectra the gain is target / sqrt(mean power / (2 ln 2)): by
     * Parseval's theorem the mean over channels of target^2 / gain^2 is the
     * power of the input; the float FFT is good to 1e-6 of it */
    for (size_t input = 0; input < INPUTS; input++) {
        double power = 0.0, expected = 0.0;
        for (size_t k = 0; k < CHANNELS; k++)
            power +=
                2 * M_LN2 * 400 / pow((double)c.gains[input * CHANNELS + k], 2);
        for (int64_t t = 0; t < v.n_samples; t++)
            for (size_t part = 0; part < 2; part++)
                expected += pow(voltages_at(&v, input, t)[part], 2) / 2;
        assert_true(fabs(power / expected - 1) < 4e-6);
    }
}
