/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fisher.c -- coherences averaged by Fisher's transformation, over many
 * simulations: intervals must cover the truth in 95 % of the cases, limits in
 * at least as many.
 *
 * A cell is the sample coherence of M pairs of normal complex numbers with
 * coherence rho. It is drawn from its exact distribution instead of from M
 * pairs (Bartlett's decomposition): the factor of a complex Wishart matrix has
 * square roots of gamma variates with M and M - 1 degrees of freedom on its
 * diagonal and a normal number off it.
 *
 * Shows (kernels, Fisher averages): how often intervals cover the truth at
 *     |ρ|√M = 5, 7, 10, 30, and how often limits do below; averages of 1, 4 and
 *     64 cells; no interval where the theory does not apply
 * Within: 93 to 97 % of intervals, 95 % or more of limits cover
 * Because: 10,000 trials each: 0.22 % is one sigma
 */
#include <math.h>

#include "kernels/fisher.h"
#include "kernels/operations.h"
#include "validation/testing.h"

static const double PI = 3.14159265358979323846;

static const struct fx8_functions *functions_of(enum fx8_functions_mode mode)
{
    return &fx8_operations_variant(0)->functions[mode];
}

/* --- random cells ------------------------------------------------ */

/* Two independent standard normal numbers (Box and Muller). */
static void normal_pair(struct generator *g, double pair[2])
{
    const double radius = sqrt(-2.0 * log(random_uniform(g)));
    const double angle = 2.0 * PI * random_uniform(g);
    pair[0] = radius * cos(angle);
    pair[1] = radius * sin(angle);
}

/* Gamma variate of shape a >= 1 (Marsaglia and Tsang 2000). */
static double gamma_variate(struct generator *g, double a)
{
    const double d = a - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x[2];
        normal_pair(g, x);
        const double v = pow(1.0 + c * x[0], 3.0);
        if (v > 0.0 &&
            log(random_uniform(g)) < 0.5 * x[0] * x[0] + d - d * v + d * log(v))
            return d * v;
    }
}

/* Power of `n` spectra that only one input has. */
static double power_alone(struct generator *g, double n)
{
    return n < 1.0 ? 0.0 : gamma_variate(g, n);
}

/* |rho|^2 of m pairs with coherence rho, divided by the autos of m / share[]
 * spectra each, which include these m. */
static double cell_power(struct generator *g, double rho, double m,
                         const double share[2])
{
    const double a = sqrt(gamma_variate(g, m));
    const double b = sqrt(gamma_variate(g, m - 1.0));
    double n[2];
    normal_pair(g, n);
    const double s = sqrt(1.0 - rho * rho);
    const double re = rho * a + s * n[0] * sqrt(0.5);
    const double im = s * n[1] * sqrt(0.5);
    const double modulus_2 = re * re + im * im;
    const double auto_1 = a * a + power_alone(g, m / share[0] - m);
    const double auto_2 =
        modulus_2 + s * s * b * b + power_alone(g, m / share[1] - m);
    return a * a * modulus_2 / (auto_1 * share[0] * auto_2 * share[1]);
}

/* --- coverage ---------------------------------------------------- */

#define MOST_CELLS 64

struct trials {
    double rho, m;
    double share[2];
    size_t n_cells; /* cells averaged in a trial */
    size_t n_trials;
    size_t n_covered, n_limits;
};

static void run_trial(struct trials *t, struct generator *g)
{
    float power[MOST_CELLS], m[MOST_CELLS], unbiased[MOST_CELLS];
    float z[MOST_CELLS], share[2][MOST_CELLS];
    for (size_t k = 0; k < t->n_cells; k++) {
        power[k] = (float)cell_power(g, t->rho, t->m, t->share);
        m[k] = (float)t->m;
        share[0][k] = (float)t->share[0];
        share[1][k] = (float)t->share[1];
    }
    struct fx8_fisher_sums sums = {0};
    struct fx8_quicklook_average average;
    const struct fx8_functions *ieee = functions_of(FX8_FUNCTIONS_IEEE);
    fx8_fisher_cells(ieee, FX8_FUNCTIONS_IEEE, t->n_cells, power, m, share[0],
                     share[1], unbiased, z);
    for (size_t k = 0; k < t->n_cells; k++)
        fx8_fisher_add(&sums, 1,
                       &(struct fx8_fisher_cell){m[k], share[0][k], share[1][k],
                                                 0.0f, unbiased[k], z[k]});
    fx8_fisher_average(&sums, ieee, 1.0, &average);
    t->n_limits += average.state == FX8_QUICKLOOK_LIMIT;
    t->n_covered += average.lower <= t->rho && t->rho <= average.upper;
    t->n_trials++;
}

static struct trials run_trials(double snr, double m, size_t n_cells,
                                size_t n_trials, uint64_t seed)
{
    struct trials t = {
        .rho = snr / sqrt(m), .m = m, .share = {1.0, 1.0}, .n_cells = n_cells};
    struct generator g = {seed};
    for (size_t i = 0; i < n_trials; i++)
        run_trial(&t, &g);
    return t;
}

/* 10,000 trials: 95 % spread by 0.22 %, so that 93 to 97 % is 9 sigma wide.
 * Under the sanitizers 3,000: 0.40 %, 5 sigma. */
static size_t trial_count(void)
{
    return is_long() ? 200000 : FX8_CHECKED ? 3000 : 10000;
}

/* Trials for all numbers of products and cells; the covered fraction must lie
 * within the limits. */
static void check_coverage(double snr, uint64_t seed, double least, double most,
                           bool is_mostly_limit)
{
    static const double products[] = {100.0, 2000.0, 1e6};
    static const size_t cells[] = {1, 4, MOST_CELLS};
    for (size_t i = 0; i < 9; i++) {
        const double m = products[i / 3];
        if (snr >= sqrt(m))
            continue;
        const struct trials t =
            run_trials(snr, m, cells[i % 3], trial_count(), seed);
        const double covered = (double)t.n_covered / (double)t.n_trials;
        if (!(covered > least && covered <= most))
            fail_msg("|rho| sqrt(M) %g, M %g, %zu cells: %.4f covered", snr, m,
                     cells[i % 3], covered);
        if (is_mostly_limit)
            assert_true(2 * t.n_limits > t.n_trials);
    }
}

/* At |rho| sqrt(M) = 5 half of the results are limits: intervals and limits
 * together must cover. */
TEST(intervals_cover_95_percent)
{
    static const double snrs[] = {5.0, 7.0, 10.0, 30.0};
    for (size_t i = 0; i < 4; i++)
        check_coverage(snrs[i], 11 + i, 0.93, 0.97, false);
}

/* Below that the power of a cell is skewed to the right, and limits are
 * conservative. */
TEST(limits_cover_at_least_95_percent)
{
    static const double snrs[] = {0.0, 0.3, 1.0, 2.0, 3.0, 4.0};
    for (size_t i = 0; i < 6; i++)
        check_coverage(snrs[i], 21 + i, 0.95, 1.0, true);
}

static struct fx8_quicklook_average average_of(float power, float m, size_t n,
                                               double inflation,
                                               struct fx8_fisher_sums *sums)
{
    const struct fx8_functions *ieee = functions_of(FX8_FUNCTIONS_IEEE);
    const float one = 1.0f;
    float unbiased, z;
    *sums = (struct fx8_fisher_sums){0};
    for (size_t k = 0; k < n; k++) {
        fx8_fisher_cells(ieee, FX8_FUNCTIONS_IEEE, 1, &power, &m, &one, &one,
                         &unbiased, &z);
        fx8_fisher_add(
            sums, 1, &(struct fx8_fisher_cell){m, one, one, 0.0f, unbiased, z});
    }
    struct fx8_quicklook_average average;
    fx8_fisher_average(sums, ieee, inflation, &average);
    return average;
}

/* Inputs that miss different spectra: the result covers the truth, or has no
 * interval where rho is too near to 1. */
TEST(different_masks)
{
    static const struct {
        double rho, m, share[2];
        bool has_interval;
    } cases[] = {
        {0.2, 2000.0, {0.5, 0.5}, true},   {0.5, 200.0, {0.95, 0.9}, true},
        {0.5, 200.0, {0.5, 0.5}, true},    {0.9, 400.0, {0.95, 0.9}, true},
        {0.9, 2000.0, {0.7, 0.8}, true},   {0.9, 2000.0, {0.5, 0.5}, true},
        {0.99, 400.0, {0.95, 0.9}, false}, {0.99, 400.0, {0.5, 0.5}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t n = 1; n <= MOST_CELLS; n *= MOST_CELLS) {
            struct trials t = {.rho = cases[i].rho,
                               .m = cases[i].m,
                               .share = {cases[i].share[0], cases[i].share[1]},
                               .n_cells = n};
            struct generator g = {31 + i};
            for (size_t k = 0; k < trial_count(); k++)
                run_trial(&t, &g);
            const double covered = (double)t.n_covered / (double)t.n_trials;
            if (cases[i].has_interval ? !(covered > 0.93 && covered <= 0.97)
                                      : n > 1 && covered > 0.0)
                fail_msg("case %zu, %zu cells: %.4f covered", i, n, covered);
        }
}

/* Rounding errors are not independent where INT8 inputs differ by less than a
 * step. */
TEST(inputs_alike_within_a_step)
{
    struct fx8_fisher_sums sums;
    struct fx8_quicklook_average a = average_of(0.81f, 1000.0f, 5, 1.0, &sums);
    assert_int_equal(a.state, FX8_QUICKLOOK_INTERVAL);
    sums.weighted_steps = 0.099 * sums.weight;
    fx8_fisher_average(&sums, functions_of(FX8_FUNCTIONS_IEEE), 1.0, &a);
    assert_int_equal(a.state, FX8_QUICKLOOK_INTERVAL);
    sums.weighted_steps = 0.101 * sums.weight;
    fx8_fisher_average(&sums, functions_of(FX8_FUNCTIONS_IEEE), 1.0, &a);
    assert_int_equal(a.state, FX8_QUICKLOOK_NO_INTERVAL);
    assert_true(a.coherence > 0.89 && isnan(a.lower) && isnan(a.upper));
}

/* --- single cells ------------------------------------------------ */

/* The formulas again, in double; three single-precision functions differ by
 * 10^-6. */
TEST(values_by_the_formulas)
{
    const double p = 0.09, m = 1000.0, inflation = 1.25;
    const size_t n = 7;
    struct fx8_fisher_sums sums;
    const struct fx8_quicklook_average a =
        average_of((float)p, (float)m, n, inflation, &sums);
    const double root = sqrt(p - (1 - p) * (1 - p) / m);
    const double bias = (3 * root * root - 1) / (4 * m * root);
    const double spread = sqrt(inflation / (2 * m * (double)n));
    assert_int_equal(a.state, FX8_QUICKLOOK_INTERVAL);
    assert_near(a.coherence, tanh(atanh(root) - bias), 1e-6);
    assert_near(a.lower, tanh(atanh(root) - bias - 1.959964 * spread), 1e-6);
    assert_near(a.upper, tanh(atanh(root) - bias + 1.959964 * spread), 1e-6);
    assert_int_equal(a.n_cells, n);
    assert_near(a.n_products, m * (double)n / inflation, 1e-9);
    assert_int_equal(sums.n_cut, 0);
    assert_int_equal(sums.n_clamped, 0);
}

TEST(nothing_at_all_and_the_ends)
{
    struct fx8_fisher_sums sums;
    struct fx8_quicklook_average a = average_of(0.5f, 100.0f, 0, 1.0, &sums);
    assert_int_equal(a.state, FX8_QUICKLOOK_NONE);
    assert_true(isnan(a.coherence) && isnan(a.lower) && isnan(a.upper));
    /* above 1, which different masks can cause: cut to 1, then clamped */
    a = average_of(1.5f, 100.0f, 3, 1.0, &sums);
    assert_int_equal(sums.n_clamped, 3);
    assert_int_equal(a.state, FX8_QUICKLOOK_NO_INTERVAL);
    assert_true(a.coherence < 1.0 && a.coherence > 0.99999);
    assert_true(isnan(a.lower) && isnan(a.upper));
    /* no power: cut at 0, and the limit of pure noise */
    a = average_of(0.0f, 100.0f, 3, 1.0, &sums);
    assert_int_equal(sums.n_cut, 3);
    assert_int_equal(a.state, FX8_QUICKLOOK_LIMIT);
    assert_true(isnan(a.coherence) && a.lower == 0.0);
    assert_true(a.upper > 0.1 && a.upper < 0.3);
}
