/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/kurtosis.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

double fx8_kurtosis(int64_t n_spectra, double shape, double power,
                    double square)
{
    const double n = (double)n_spectra;
    return (n * shape + 1.0) / (n - 1.0) * (n * square / (power * power) - 1.0);
}

/* A Pearson curve f of mean 0 and variance 1:
 * f'/f = -(x + b1) / (b0 + b1 x + b2 x^2). */
struct curve {
    double b0, b1, b2;
    double deviation; /* standard deviation of the estimate */
};

/* The curve of the estimate; p, of a term, is M d. */
static struct curve curve_of(double n, double d)
{
    const double p = n * d;
    const double common = d * (1.0 + d) / ((2.0 + p) * (3.0 + p));
    const double variance = 2.0 * n * n / (n - 1.0) * common;
    const double third = 8.0 * pow(n, 3) / pow(n - 1.0, 2) * common *
                         (d * (n * (4.0 + d) - 5.0) - 2.0) /
                         ((4.0 + p) * (5.0 + p));
    const double inner = 68.0 + n + (3.0 + n) * d;
    const double middle = n * (125.0 + d * inner) - 245.0 - 93.0 * d;
    const double fourth =
        12.0 * pow(n, 4) / pow(n - 1.0, 3) * common *
        (24.0 + d * (48.0 + 84.0 * d + n * (d * middle - 32.0))) /
        ((4.0 + p) * (5.0 + p) * (6.0 + p) * (7.0 + p));
    const double skew = third / pow(variance, 1.5);
    const double beta1 = skew * skew, beta2 = fourth / (variance * variance);
    const double scale = 10.0 * beta2 - 12.0 * beta1 - 18.0;
    return (struct curve){
        .b0 = (4.0 * beta2 - 3.0 * beta1) / scale,
        .b1 = skew * (beta2 + 3.0) / scale,
        .b2 = (2.0 * beta2 - 3.0 * beta1 - 6.0) / scale,
        .deviation = sqrt(variance),
    };
}

/* Steps of the integration, in standard deviations. */
#define STEP 0.0625

/* Where f ends, of f(0) = 1. */
#define NOTHING 1e-18

/* Walk from the mean outwards until the area passed is `wanted`, or the curve
 * or the estimate's range ends.  Returned: how far, and the area.  Simpson's
 * rule, for log f in half steps. */
static double walk(const struct curve *curve, double sign, double end,
                   double wanted, double *area)
{
    double f = 1.0, log_f = 0.0;
    *area = 0.0;
    for (size_t n = 0; f > NOTHING && (double)(n + 1) * STEP <= end; n++) {
        double slope[5];
        bool has_ended = false;
        for (size_t k = 0; k < 5; k++) {
            const double x = sign * STEP * ((double)n + 0.25 * (double)k);
            const double q = curve->b0 + x * (curve->b1 + x * curve->b2);
            has_ended |= q <= 0.0;
            slope[k] = -sign * (x + curve->b1) / q;
        }
        if (has_ended)
            break;
        const double half =
            log_f + STEP / 12.0 * (slope[0] + 4.0 * slope[1] + slope[2]);
        log_f = half + STEP / 12.0 * (slope[2] + 4.0 * slope[3] + slope[4]);
        const double next = exp(log_f);
        const double more = STEP / 6.0 * (f + 4.0 * exp(half) + next);
        if (*area + more >= wanted) {
            /* within a step of a tail f decays as an exponential */
            const double rate = log(f / next) / STEP;
            return (double)n * STEP -
                   log1p(-rate * (wanted - *area) / f) / rate;
        }
        *area += more;
        f = next;
    }
    return end;
}

struct fx8_kurtosis_limits fx8_kurtosis_limits(int64_t n_spectra, double shape,
                                               double false_alarm)
{
    const double n = (double)n_spectra;
    const struct curve curve = curve_of(n, shape);
    /* the estimate is from 0, all powers alike, to M d + 1, one pulse */
    const double ends[2] = {1.0 / curve.deviation, n * shape / curve.deviation};
    double areas[2], unused;
    for (size_t k = 0; k < 2; k++)
        walk(&curve, k == 0 ? -1.0 : 1.0, ends[k], INFINITY, &areas[k]);
    const double tail = 0.5 * false_alarm * (areas[0] + areas[1]);
    return (struct fx8_kurtosis_limits){
        1.0 - curve.deviation *
                  walk(&curve, -1.0, ends[0], areas[0] - tail, &unused),
        1.0 + curve.deviation *
                  walk(&curve, 1.0, ends[1], areas[1] - tail, &unused),
    };
}
