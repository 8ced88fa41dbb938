/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_compare.c -- compare fast mode with IEEE mode, and bound the
 * difference by the errors of their functions.
 *
 * Every bound is propagated from kernels/numeric/bounds.h: relative errors of
 * factors add up, a rounding adds 2^-24.  Products of errors are left out;
 * FX8_QUICKLOOK_SLACK covers them.
 */
#include <math.h>
#include <string.h>

#include "kernels/numeric/bounds.h"
#include "kernels/numeric/coherence.h"
#include "kernels/quicklook_private.h"

static const double PI = 3.14159265358979323846;

struct row {
    const char *device, *function, *form;
    double max_relative, max_absolute;
};

#define ROW(device, function, form, ulp, relative, absolute, low, high, note)  \
    {device, function, form, relative, absolute},

static const struct row rows[] = {FX8_NUMERIC_BOUNDS(ROW)};

/* Sum of a function's errors in both modes: the largest of its rows. */
static struct row both_modes(const char *device, const char *function)
{
    static const char *const forms[FX8_N_FUNCTIONS_MODES] = {"ieee", "fast"};
    struct row sum = {device, function, "both", 0.0, 0.0};
    for (int mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++) {
        double relative = 0.0, absolute = 0.0;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            if (strcmp(rows[i].device, device) != 0 ||
                strcmp(rows[i].function, function) != 0 ||
                strcmp(rows[i].form, forms[mode]) != 0)
                continue;
            relative = fmax(relative, rows[i].max_relative);
            absolute = fmax(absolute, rows[i].max_absolute);
        }
        sum.max_relative += relative;
        sum.max_absolute += absolute;
    }
    return sum;
}

void fx8_quicklook_set_bounds(const char *device,
                              struct fx8_quicklook_bounds *bounds)
{
    /* the host computes scales, levels and averages */
    const struct row scale = both_modes("host", "rsqrt");
    const struct row log10 = both_modes("host", "log10");
    const struct row rsqrt = both_modes(device, "rsqrt");
    const struct row atan2 = both_modes(device, "atan2");
    /* two factors of rsqrt and two roundings, in each mode */
    const double rho = 2.0 * scale.max_relative + 4.0 * FX8_QUICKLOOK_ROUNDING;
    *bounds = (struct fx8_quicklook_bounds){
        .rho = FX8_QUICKLOOK_SLACK * rho,
        /* sqrt halves the two roundings of the power; one is of sqrt or of
         * p rsqrt(p) */
        .amplitude = FX8_QUICKLOOK_SLACK *
                     (rho + rsqrt.max_relative + 4.0 * FX8_QUICKLOOK_ROUNDING),
        /* errors e of the parts change the angle by at most e */
        .phase = FX8_QUICKLOOK_SLACK *
                 (rho + PI * atan2.max_relative + atan2.max_absolute),
        .log10 = FX8_QUICKLOOK_SLACK *
                 (log10.max_relative + 2.0 * FX8_QUICKLOOK_ROUNDING),
        .log10_absolute = FX8_QUICKLOOK_SLACK * log10.max_absolute,
        .power =
            FX8_QUICKLOOK_SLACK * (2.0 * rho + 4.0 * FX8_QUICKLOOK_ROUNDING),
        .root = FX8_QUICKLOOK_SLACK *
                (rsqrt.max_relative + 2.0 * FX8_QUICKLOOK_ROUNDING),
        .atanh = FX8_QUICKLOOK_SLACK * both_modes(device, "atanh").max_relative,
        .tanh = FX8_QUICKLOOK_SLACK * both_modes("host", "tanh").max_relative,
    };
}

void fx8_quicklook_merge(struct fx8_quicklook_difference *sum,
                         const struct fx8_quicklook_difference *part)
{
    if (part->largest > sum->largest ||
        (part->largest == sum->largest && part->bound > sum->bound)) {
        sum->largest = part->largest;
        sum->bound = part->bound;
    }
    sum->n_beyond += part->n_beyond;
}

static void note_difference(struct fx8_quicklook_difference *sum,
                            double difference, double bound)
{
    const struct fx8_quicklook_difference part = {difference, bound,
                                                  !(difference <= bound)};
    fx8_quicklook_merge(sum, &part);
}

void fx8_quicklook_compare_spectra(
    const struct fx8_quicklook_bounds *bounds, size_t n, const float *ieee,
    const float *fast, struct fx8_quicklook_differences *differences)
{
    for (size_t k = 0; k < n; k++)
        note_difference(&differences->spectra,
                        fabs((double)fast[k] - (double)ieee[k]),
                        bounds->log10 * fabs((double)ieee[k]) +
                            10.0 * bounds->log10_absolute);
}

static void pair_cell(struct fx8_quicklook_pair *pair,
                      const struct fx8_quicklook_bounds *bounds,
                      const struct fx8_quicklook_tile *ieee,
                      const struct fx8_quicklook_tile *fast, size_t k)
{
    fx8_pair_add(pair, ieee->n_products[k], ieee->z[k], fast->z[k],
                 fx8_cell_bound_of_z(bounds, ieee->power[k],
                                     ieee->n_products[k], ieee->share_1[k],
                                     ieee->share_2[k], ieee->z[k]));
}

static void compare_cell(const struct fx8_quicklook_bounds *bounds,
                         const struct fx8_quicklook_tile *ieee,
                         const struct fx8_quicklook_tile *fast, size_t k,
                         struct fx8_quicklook_differences *differences)
{
    const double modulus = (double)ieee->amplitude[k];
    const double re = fabs((double)fast->re[k] - (double)ieee->re[k]);
    const double im = fabs((double)fast->im[k] - (double)ieee->im[k]);
    const double amplitude =
        fabs((double)fast->amplitude[k] - (double)ieee->amplitude[k]);
    note_difference(&differences->coherence, fmax(re, im) / modulus,
                    bounds->rho);
    note_difference(&differences->amplitude, amplitude / modulus,
                    bounds->amplitude);
    note_difference(&differences->phase,
                    fabs((double)fast->phase[k] - (double)ieee->phase[k]),
                    bounds->phase);
}

void fx8_quicklook_compare(struct fx8_quicklook *quicklook,
                           const struct fx8_quicklook_tile *ieee,
                           const struct fx8_quicklook_tile *fast,
                           struct fx8_quicklook_differences *differences)
{
    const size_t n_products = quicklook->plan.n_products;
    struct fx8_quicklook_pair *pairs =
        quicklook->pairs + ieee->baseline * n_products;
    for (size_t k = 0; k < ieee->n; k++) {
        /* no relative difference if infinite, or 0 as a half */
        if (ieee->power[k] >= FX8_QUICKLOOK_COMPARED_POWER &&
            isfinite(ieee->power[k]))
            compare_cell(&quicklook->bounds, ieee, fast, k, differences);
        if (ieee->is_averaged[k])
            pair_cell(&pairs[k % n_products], &quicklook->bounds, ieee, fast,
                      k);
    }
}

static double tanh_in(const struct fx8_quicklook *q, int mode, double z)
{
    const float x = (float)z;
    float y;
    q->plan.functions[mode].tanh(1, &x, &y);
    return (double)y;
}

void fx8_quicklook_compare_averages(
    const struct fx8_quicklook *quicklook,
    struct fx8_quicklook_differences *differences)
{
    const struct fx8_quicklook *q = quicklook;
    for (size_t i = 0; i < q->plan.n_baselines * q->plan.n_products; i++) {
        const struct fx8_quicklook_pair *pair = &q->pairs[i];
        if (pair->weight == 0.0)
            continue;
        double rho[FX8_N_FUNCTIONS_MODES];
        for (int mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++)
            rho[mode] = tanh_in(q, mode, pair->weighted_z[mode] / pair->weight);
        /* the slope of tanh is at most 1; its argument and the sums are
         * rounded */
        note_difference(&differences->fisher,
                        fabs(rho[FX8_FUNCTIONS_FAST] - rho[FX8_FUNCTIONS_IEEE]),
                        pair->weighted_bound / pair->weight +
                            (q->bounds.tanh + 4.0 * FX8_QUICKLOOK_ROUNDING) *
                                rho[FX8_FUNCTIONS_IEEE]);
    }
}
