/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdbool.h>

#include "kernels/fisher.h"
#include "kernels/numeric/coherence.h"

/* Standard deviations that contain 95 % of a normal distribution. */
static const double SIGMAS = 1.959963984540054;

/* Cells processed at a time. */
#define PIECE 512

/* One selection per loop; with more the compiler branches instead of
 * vectorising. */
static void limit_below(size_t n, float least, float *x)
{
    for (size_t k = 0; k < n; k++)
        x[k] = x[k] >= least ? x[k] : 0.0f;
}

static void limit_above(size_t n, float most, const float *x, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = x[k] < most ? x[k] : most;
}

/* sqrt(x) of numbers that are 0 or normal. */
static void take_roots(const struct fx8_functions *functions,
                       enum fx8_functions_mode mode, size_t n, float *x)
{
    float rsqrt[PIECE];
    if (mode == FX8_FUNCTIONS_IEEE) {
        for (size_t k = 0; k < n; k++)
            x[k] = sqrtf(x[k]);
        return;
    }
    for (size_t first = 0; first < n; first += PIECE) {
        const size_t rest = n - first, most = rest < PIECE ? rest : PIECE;
        functions->rsqrt(most, x + first, rsqrt);
        for (size_t k = 0; k < most; k++)
            rsqrt[k] *= x[first + k];
        for (size_t k = 0; k < most; k++)
            x[first + k] = x[first + k] > 0.0f ? rsqrt[k] : 0.0f;
    }
}

void fx8_fisher_cells(const struct fx8_functions *functions,
                      enum fx8_functions_mode mode, size_t n,
                      const float *power, const float *n_products,
                      const float *share_1, const float *share_2,
                      float *unbiased, float *z)
{
    limit_above(n, 1.0f, power, unbiased);
    for (size_t k = 0; k < n; k++)
        unbiased[k] = fx8_coherence_unbiased(unbiased[k], n_products[k],
                                             share_1[k], share_2[k]);
    limit_above(n, FX8_FISHER_MOST_POWER, unbiased, z);
    limit_below(n, FX8_LEAST_POWER, z);
    take_roots(functions, mode, n, z);
    functions->atanh(n, z, z);
}

/* tanh by the mode's table. */
static double tanh_of(const struct fx8_functions *functions, double z)
{
    const float x = (float)z;
    float y;
    functions->tanh(1, &x, &y);
    return (double)y;
}

/* g of fisher.h for |rho|^2 = p and the mean of f_1 + f_2 and f_1 f_2. */
static double spread_of(double p, double sum, double shares)
{
    return (1.0 + p - 1.5 * p * sum + p * p * shares) / ((1.0 - p) * (1.0 - p));
}

/* The mean of g over the weights. */
static double weighted_spread(const struct fx8_fisher_sums *sums, double p)
{
    return spread_of(p, sums->weighted_sum / sums->weight,
                     sums->weighted_shares / sums->weight);
}

/* Remaining bias of the mean of z: (3 rho^2 - 1) g / (4 M rho); the weight M
 * cancels, leaving the unweighted mean of g. */
static double bias_of_z(const struct fx8_fisher_sums *sums, double rho)
{
    const double n = (double)sums->n_cells;
    const double g = spread_of(rho * rho, sums->sum / n, sums->shares / n);
    return (3.0 * rho * rho - 1.0) * g * n / (4.0 * sums->weight * rho);
}

/* Whether the expansions behind an interval hold at |rho|; see fisher.h. */
static bool has_interval(const struct fx8_fisher_sums *sums, double rho)
{
    const double per_cell = sums->weight / (double)sums->n_cells;
    return sums->n_clamped == 0 &&
           per_cell / weighted_spread(sums, rho * rho) >=
               (double)FX8_FISHER_LEAST_PRODUCTS &&
           sums->weighted_steps / sums->weight <= 1.0 - rho;
}

/* Distance from the mean power down to its 2.5 % quantile if |rho|^2 is p. */
static double reach_below(const struct fx8_fisher_sums *sums, double inflation,
                          double p)
{
    const double noise = (double)sums->n_cells / sums->weight;
    return SIGMAS * (1.0 - p) *
           sqrt(inflation / sums->weight *
                (2.0 * p * weighted_spread(sums, p) + noise));
}

/* The |rho| whose 2.5 % quantile is the mean power: where p minus its reach, a
 * convex function that ends above, crosses the mean.  A mean below 0 counts as
 * 0; otherwise limits could be lower than is measurable. */
static double upper_limit(const struct fx8_fisher_sums *sums, double inflation)
{
    const double mean = fmax(sums->weighted_power / sums->weight, 0.0);
    double low = 0.0, high = 1.0;
    for (int step = 0; step < 50; step++) {
        const double p = 0.5 * (low + high);
        if (p - reach_below(sums, inflation, p) < mean)
            low = p;
        else
            high = p;
    }
    return sqrt(high);
}

void fx8_fisher_average(const struct fx8_fisher_sums *sums,
                        const struct fx8_functions *functions, double inflation,
                        struct fx8_quicklook_average *average)
{
    *average = (struct fx8_quicklook_average){
        .state = FX8_QUICKLOOK_NONE,
        .coherence = NAN,
        .lower = NAN,
        .upper = NAN,
        .n_cells = sums->n_cells,
        .n_products = sums->weight / inflation,
    };
    if (sums->n_cells == 0)
        return;
    const double z = sums->weighted_z / sums->weight;
    const double per_cell = sums->weight / (double)sums->n_cells;
    const double rho = tanh_of(functions, z);
    if (!(rho * sqrt(per_cell) >= FX8_FISHER_DETECTION)) {
        average->state = FX8_QUICKLOOK_LIMIT;
        average->lower = 0.0;
        average->upper = upper_limit(sums, inflation);
        return;
    }
    average->coherence = rho;
    average->state = FX8_QUICKLOOK_NO_INTERVAL;
    if (!has_interval(sums, rho))
        return;
    const double centre = z - bias_of_z(sums, rho);
    const double half = SIGMAS * sqrt(weighted_spread(sums, rho * rho) *
                                      inflation / (2.0 * sums->weight));
    average->state = FX8_QUICKLOOK_INTERVAL;
    average->coherence = tanh_of(functions, centre);
    average->lower = fmax(tanh_of(functions, centre - half), 0.0);
    average->upper = tanh_of(functions, centre + half);
}
