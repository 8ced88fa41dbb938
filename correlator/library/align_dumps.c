/* SPDX-License-Identifier: BSD-3-Clause */
/* align_dumps.c -- see correlator/fx8.h: dumps on the edges of UTC.  All is
 * exact: a rounded edge would put a spectrum into the wrong dump. */
#include "config/base/divisor.h"
#include "config/base/try.h"
#include "correlator/library/plan.h"

#define DAY_SECONDS 86400

/* Bounds of products: of the position and the length of a dump, so that twice
 * their sum fits 127 bits, and of half samples times the denominator of the
 * rate, as for fx8_time_add_half_samples(). */
#define MOST_LENGTH       ((fx8_wide)1 << 124)
#define MOST_HALF_SAMPLES ((fx8_wide)1 << 86)

/* Quotient and remainder of a b / c, bit by bit, since the product may exceed
 * 128 bits; 0 <= a < c <= MOST_LENGTH, b >= 0. */
static int64_t divide(fx8_wide a, int64_t b, fx8_wide c, fx8_wide *rest)
{
    int64_t quotient = 0;
    *rest = 0;
    for (int bit = 62; bit >= 0; bit--) {
        quotient *= 2;
        for (*rest = 2 * *rest + (b >> bit & 1) * a; *rest >= c; *rest -= c)
            quotient++;
    }
    return quotient;
}

/* Time of the centre of spectrum 0 since 0 h UTC, in units of 1 / unit s. */
static fx8_wide time_of_day(const struct fx8_plan *plan, struct fx8_time start,
                            fx8_wide half_samples, fx8_wide unit)
{
    const struct fx8_rate rate = plan->sample_rate;
    const fx8_wide later = (fx8_wide)start.picosecond * 2 * rate.numerator_hz +
                           half_samples * rate.denominator * FX8_PICOSECONDS;
    const int64_t second =
        (start.unix_s % DAY_SECONDS + (int64_t)(later / unit % DAY_SECONDS)) %
        DAY_SECONDS;
    return (fx8_wide)(second < 0 ? second + DAY_SECONDS : second) * unit +
           later % unit;
}

/* Spectra from one edge to the next, in lowest terms; false: too large, less
 * than one, or not known. */
static bool find_spacing(const struct fx8_plan *plan, int64_t numerator_s,
                         int64_t denominator, int64_t step,
                         struct fx8_dump_grid *grid)
{
    const struct fx8_rate rate = plan->sample_rate;
    const fx8_wide steps = (fx8_wide)rate.denominator * step;
    if (steps < 1 || steps > FX8_LAST_SAMPLE || rate.denominator < 1 ||
        denominator < 1 || plan->first_sample < 0)
        return false;
    const fx8_wide upper = (fx8_wide)numerator_s * rate.numerator_hz;
    const fx8_wide lower = denominator * steps;
    const fx8_wide divisor = fx8_greatest_divisor(upper, lower);
    if (upper < lower || upper / divisor > FX8_LAST_SAMPLE)
        return false;
    grid->numerator = (int64_t)(upper / divisor);
    grid->denominator = (int64_t)(lower / divisor);
    return true;
}

enum fx8_status fx8_align_dumps(struct fx8_plan *plan, struct fx8_time start,
                                int64_t numerator_s, int64_t denominator,
                                struct fx8_error *error)
{
    const struct fx8_axes axes = fx8_plan_axes(plan);
    const struct fx8_rate rate = plan->sample_rate;
    const fx8_wide unit = (fx8_wide)2 * rate.numerator_hz * FX8_PICOSECONDS;
    const fx8_wide half_samples =
        (fx8_wide)2 * plan->first_sample + (int64_t)axes.window;
    struct fx8_dump_grid grid;
    fx8_wide rest;
    if (!find_spacing(plan, numerator_s, denominator, (int64_t)axes.step,
                      &grid) ||
        numerator_s > MOST_LENGTH / unit ||
        half_samples > MOST_HALF_SAMPLES / rate.denominator)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "plan: grid: dumps of %lld/%lld s: expected at least "
                        "one spectrum, and fewer digits",
                        (long long)numerator_s, (long long)denominator);
    /* position of the centre among the edges, in dumps: times denominator /
     * (numerator_s unit); what is left of it, in spectra */
    const fx8_wide length = numerator_s * unit;
    const fx8_wide at = time_of_day(plan, start, half_samples, unit) % length;
    (void)divide(at, denominator, length, &rest);
    grid.offset = divide(rest, grid.numerator, length, &rest);
    plan->grid = grid;
    plan->spectra_per_dump = (grid.numerator - 1) / grid.denominator + 1;
    return FX8_OK;
}
