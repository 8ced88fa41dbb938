/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_van_vleck.c -- samples of a few bits: thresholds from counts, the law
 * against another expansion of it, spectra whose lags obey it.
 *
 * The covariance of two staircases is expanded in Hermite polynomials (Mehler
 * 1866), the code under test integrates Price's theorem.
 *
 * Shows (kernels, van Vleck): thresholds, means and variances from counts; the
 *     inverse of the law, for 1, 2 and 4 bits, with thresholds off zero; the
 *     arcsine; whole spectra of correlated noise: real and complex samples,
 * both sidebands, odd lengths, means, autos, input gains; products of constant
 *     inputs and without data; any number of threads
 * Within: thresholds 10⁻⁹, correlations 2·10⁻⁷; spectra 4·10⁻⁶ of their power
 * Because: spectra and their transforms are floats
 */
#include <complex.h>

#include "kernels/baseline.h"
#include "kernels/van_vleck.h"
#include "validation/complex_value.h"
#include "validation/testing.h"

static const double PI = 3.14159265358979323846;

/* --- staircases and their law ------------------------------------ */

/* One, three and fifteen thresholds, none at zero. */
static const struct fx8_staircase one_bit = {
    1, {0.15}, {2.0}, .mean = -0.12, .variance = 0.98};
static const struct fx8_staircase two_bits = {
    3, {-1.1, -0.1, 0.8}, {2.0, 2.0, 2.0}, .mean = 0.2, .variance = 4.5};

static struct fx8_staircase four_bits(void)
{
    struct fx8_staircase s = {.n_steps = 15, .mean = -0.4, .variance = 8.5};
    for (size_t k = 0; k < s.n_steps; k++) {
        s.threshold[k] = ((double)k - 7.0 + 0.4) / 2.9;
        s.step[k] = 1.0;
    }
    return s;
}

/* Sum over n of c_n(a) c_n(b) rho^n, c_n = sum of d phi(t) He_(n-1)(t) /
 * sqrt(n!), of polynomials divided by the root of their factorials. */
static double covariance(const struct fx8_staircase *a,
                         const struct fx8_staircase *b, double rho)
{
    const struct fx8_staircase *of[2] = {a, b};
    double h[2][FX8_FEW_VALUES][2] = {{{0}}}; /* He_(n-2), He_(n-1) */
    double sum = 0.0, power = 1.0;
    for (int n = 1; n <= 4000 && fabs(power) > 1e-12; n++) {
        double c[2] = {0.0, 0.0};
        power *= rho;
        for (size_t k = 0; k < 2; k++)
            for (size_t s = 0; s < of[k]->n_steps; s++) {
                const double t = of[k]->threshold[s];
                double *p = h[k][s];
                const double next =
                    n == 1 ? 1.0
                           : (t * p[1] - sqrt(n - 2) * p[0]) / sqrt(n - 1);
                p[0] = p[1];
                p[1] = next;
                c[k] += of[k]->step[s] * exp(-0.5 * t * t) /
                        sqrt(2.0 * PI * n) * next;
            }
        sum += c[0] * c[1] * power;
    }
    return sum;
}

TEST(test_thresholds_from_counts)
{
    int64_t counts[FX8_INT8_VALUES] = {0};
    struct fx8_staircase s;
    assert_true(fx8_staircase_measure(counts, &s));
    assert_int_equal(s.n_steps, 0);
    /* values -3, -1, 2 in the shares of thresholds -1.3 and 0.4 */
    const double low = 0.5 * erfc(1.3 / sqrt(2)),
                 high = 0.5 * erfc(0.4 / sqrt(2));
    const double share[] = {low, 1.0 - low - high, high};
    const int value[] = {-3, -1, 2};
    double mean = 0.0, square = 0.0;
    for (size_t k = 0; k < 3; k++) {
        counts[128 + value[k]] = (int64_t)(1e15 * share[k] + 0.5);
        mean += share[k] * value[k];
        square += share[k] * value[k] * value[k];
    }
    assert_true(fx8_staircase_measure(counts, &s));
    assert_int_equal(s.n_steps, 2);
    assert_near(s.threshold[0], -1.3, 1e-9);
    assert_near(s.threshold[1], 0.4, 1e-9);
    assert_near(s.step[0], 2.0, 0.0);
    assert_near(s.step[1], 3.0, 0.0);
    assert_near(s.mean, mean, 1e-12);
    assert_near(s.variance, square - mean * mean, 1e-12);
    for (size_t k = 0; k < FX8_FEW_VALUES; k++)
        counts[16 * k] = 1;
    counts[125] = counts[127] = 0;
    counts[130] = 0; /* 16 values remain */
    assert_true(fx8_staircase_measure(counts, &s));
    assert_int_equal(s.n_steps, FX8_FEW_VALUES - 1);
    counts[255] = 1;
    assert_false(fx8_staircase_measure(counts, &s));
}

static double invert(const struct fx8_staircase *a,
                     const struct fx8_staircase *b, bool is_negated,
                     double value)
{
    struct fx8_law law = {.pairs = {{a, b, is_negated}}, .n_pairs = 1};
    return fx8_law_correlation(&law, value);
}

TEST(test_law_is_inverted)
{
    const struct fx8_staircase four = four_bits();
    const struct fx8_staircase *all[] = {&one_bit, &two_bits, &four};
    static const double rho[] = {0.0, 1e-6, 0.01, 0.3, 0.7, 0.95, 0.99};
    double worst = 0.0;
    for (size_t a = 0; a < LENGTH(all); a++)
        for (size_t b = 0; b < LENGTH(all); b++)
            for (size_t k = 0; k < LENGTH(rho); k++)
                for (double sign = -1.0; sign <= 1.0; sign += 2.0) {
                    const double want = sign * rho[k];
                    const double value = covariance(all[a], all[b], want);
                    const double got = invert(all[a], all[b], false, value);
                    /* of minus the first, the thresholds change sign */
                    const double other =
                        invert(all[a], all[b], true,
                               -covariance(all[a], all[b], -want));
                    worst = fmax(worst, fabs(got - want));
                    worst = fmax(worst, fabs(other - want));
                }
    print_message("# inverse of the law: largest error %.1e\n", worst);
    assert_true(worst < 2e-7);
    assert_true(worst > 0.0);
}

TEST(test_arcsine_and_the_ends)
{
    const struct fx8_staircase zero = {1, {0.0}, {2.0}, .variance = 1.0};
    for (double value = -1.0; value <= 1.0; value += 1.0 / 64)
        assert_near(invert(&zero, &zero, false, value), sin(PI / 2 * value),
                    1e-12);
    assert_near(invert(&zero, &zero, false, 1.5), 1.0, 0.0);
    assert_near(invert(&zero, &zero, false, -1.5), -1.0, 0.0);
}

/* --- spectra ------------------------------------------------------ */

enum {
    N_ANTENNAS = 4,
    N_ROWS = 10,
    MOST_LAG = 3,
    LAGS = 2 * MOST_LAG + 1,
    CONSTANT = 2,
    SILENT = 3
};

struct array {
    bool is_complex, is_lower;
    size_t n_channels;
    struct fx8_staircase staircases[2 * N_ANTENNAS];
    double gains[N_ANTENNAS];
    float visibilities[2 * N_ROWS * 512];
    uint8_t flags[N_ROWS * 512];
    float nsamples[N_ROWS * 512];
    double complex want[N_ROWS * 512];
};

/* True correlations at a lag: conjugate at minus the lag if of an auto. */
static double complex truth(size_t a, size_t b, int lag)
{
    static const double decay[] = {0.6, 0.35, 0.12, 0.05};
    if (a == b && lag == 0)
        return 1.0;
    const double size = decay[abs(lag)] * (a == b ? 0.9 : 0.8);
    return size * cexp(CMPLX(0, (a == b ? 0.0 : 0.7) + 1.1 * lag));
}

/* The quantised lag without means, from the text of van_vleck.h. */
static double complex quantised(const struct array *x, size_t a, size_t b,
                                double complex rho)
{
    const struct fx8_staircase *i = &x->staircases[2 * a];
    const struct fx8_staircase *j = &x->staircases[2 * b];
    if (!x->is_complex)
        return covariance(i, j, creal(rho));
    return CMPLX(covariance(&i[0], &j[0], creal(rho)) +
                     covariance(&i[1], &j[1], creal(rho)),
                 covariance(&i[0], &j[1], cimag(rho)) -
                     covariance(&i[1], &j[0], -cimag(rho)));
}

/* A lag of the samples that are transformed: conjugate, or with every other
 * sign changed. */
static double complex in_sideband(const struct array *x, double complex lag,
                                  int at)
{
    if (!x->is_lower)
        return lag;
    return x->is_complex ? conj(lag) : at % 2 == 0 ? lag : -lag;
}

static void fill_row(struct array *x, size_t row, size_t a, size_t b)
{
    const struct fx8_staircase *i = &x->staircases[2 * a];
    const struct fx8_staircase *j = &x->staircases[2 * b];
    const double n = (double)x->n_channels * (x->is_complex ? 1 : 2);
    double complex mean = CMPLX(i[0].mean, x->is_complex ? -i[1].mean : 0) *
                          CMPLX(j[0].mean, x->is_complex ? j[1].mean : 0);
    if (x->is_lower)
        mean = x->is_complex ? conj(mean) : 0.0;
    const double power = x->is_complex ? sqrt((i[0].variance + i[1].variance) *
                                              (j[0].variance + j[1].variance))
                                       : sqrt(i[0].variance * j[0].variance);
    double complex rho[LAGS], law[LAGS];
    for (int lag = -MOST_LAG; lag <= MOST_LAG; lag++) {
        const double complex of = truth(a, b, lag);
        rho[lag + MOST_LAG] = x->is_complex ? of : creal(of);
        law[lag + MOST_LAG] = quantised(x, a, b, rho[lag + MOST_LAG]);
    }
    for (size_t c = 0; c < x->n_channels; c++) {
        const int k = (int)c - (x->is_complex ? (int)(x->n_channels / 2) : 0);
        double complex measured = k == 0 ? n * mean : 0.0, want = 0.0;
        for (int lag = -MOST_LAG; lag <= MOST_LAG; lag++) {
            const double complex turn =
                (1.0 - abs(lag) / n) * cexp(CMPLX(0, -2.0 * PI * k * lag / n));
            measured += turn * in_sideband(x, law[lag + MOST_LAG], lag);
            want += turn * in_sideband(x, power * rho[lag + MOST_LAG], lag);
        }
        const size_t at = row * x->n_channels + c;
        const double gain = x->gains[a] * x->gains[b];
        x->visibilities[2 * at] = (float)(creal(measured) / gain);
        x->visibilities[2 * at + 1] = (float)(cimag(measured) / gain);
        x->want[at] = want / gain;
        x->nsamples[at] = a == SILENT || b == SILENT ? 0.0f : 1.0f;
        x->flags[at] = a == SILENT || b == SILENT;
    }
}

static void make_array(struct array *x, bool is_complex, bool is_lower,
                       size_t n_channels)
{
    const struct fx8_staircase four = four_bits();
    *x = (struct array){.is_complex = is_complex,
                        .is_lower = is_lower,
                        .n_channels = n_channels,
                        .staircases = {one_bit, two_bits, two_bits, four},
                        .gains = {1.5, 2.0, 1.0, 1.0}};
    x->staircases[4] = (struct fx8_staircase){.mean = 1.0};
    x->staircases[5] = one_bit;
    size_t row = 0;
    for (size_t a = 0; a < N_ANTENNAS; a++)
        for (size_t b = a; b < N_ANTENNAS; b++)
            fill_row(x, row++, a, b);
}

static void correct(struct array *x, size_t n_threads)
{
    struct fx8_error error;
    struct fx8_van_vleck *v;
    struct fx8_product products[N_ROWS];
    fx8_baseline_table(N_ANTENNAS, 1, products);
    const struct fx8_postprocess plan = {
        .n_antennas = N_ANTENNAS,
        .n_products = 1,
        .n_inputs = N_ANTENNAS,
        .n_channels = x->n_channels,
        .channel_average = 1,
        .products = products,
        .input_gain = x->gains,
        .threads = {.count = n_threads},
    };
    const struct fx8_result result = {x->visibilities, x->flags, x->nsamples};
    must(fx8_van_vleck_open(x->is_complex, x->is_lower, x->n_channels,
                            n_threads, &v, &error),
         error);
    fx8_van_vleck_correct(v, x->staircases, &plan, &result);
    fx8_van_vleck_close(&v);
    assert_null(v);
}

/* Returns the largest error, in units of the power. */
static double check_row(const struct array *x, const float *before, size_t row,
                        size_t a, size_t b)
{
    const double power = cabs(x->want[row * x->n_channels]);
    double worst = 0.0, largest = power;
    for (size_t c = 0; c < x->n_channels; c++) {
        const size_t at = row * x->n_channels + c;
        const float *v = x->visibilities + 2 * at;
        if (b == SILENT) {
            check_bytes(v, before + 2 * at, 2 * sizeof *v);
            continue;
        }
        assert_int_equal(x->flags[at], a == CONSTANT || b == CONSTANT);
        if (x->flags[at]) {
            assert_true(v[0] == 0.0f && v[1] == 0.0f);
            continue;
        }
        if (a == b)
            assert_true(v[1] == 0.0f);
        largest = fmax(largest, cabs(x->want[at]));
        worst = fmax(worst, cabs(CMPLX(v[0], v[1]) - x->want[at]));
    }
    return worst / largest;
}

TEST(test_spectra_are_corrected)
{
    static const struct {
        bool is_complex, is_lower;
        size_t n_channels;
    } cases[] = {{true, false, 16}, {true, true, 16},    {true, false, 15},
                 {true, true, 15},  {false, false, 512}, {false, true, 512},
                 {true, false, 512}};
    struct array *x = temporary(sizeof *x), *y = temporary(sizeof *y);
    for (size_t k = 0; k < LENGTH(cases); k++) {
        double worst = 0.0;
        make_array(x, cases[k].is_complex, cases[k].is_lower,
                   cases[k].n_channels);
        *y = *x;
        correct(x, 1);
        size_t row = 0;
        for (size_t a = 0; a < N_ANTENNAS; a++)
            for (size_t b = a; b < N_ANTENNAS; b++)
                worst = fmax(worst, check_row(x, y->visibilities, row++, a, b));
        print_message("# %s, %s, %zu channels: largest error %.1e\n",
                      x->is_complex ? "complex" : "real",
                      x->is_lower ? "lower" : "upper", x->n_channels, worst);
        assert_true(worst < 4e-6);
        correct(y, 3);
        check_bytes(x->visibilities, y->visibilities, sizeof x->visibilities);
    }
}
