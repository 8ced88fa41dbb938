/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/divisor.h"
#include "config/timebase.h"

double fx8_rate_hz(struct fx8_rate rate)
{
    return (double)rate.numerator_hz / (double)rate.denominator;
}

struct fx8_rate fx8_rate_reduced(struct fx8_rate rate)
{
    const int64_t divisor =
        (int64_t)fx8_greatest_divisor(rate.numerator_hz, rate.denominator);
    if (divisor > 1) {
        rate.numerator_hz /= divisor;
        rate.denominator /= divisor;
    }
    return rate;
}

/* Largest integer not above numerator / denominator, denominator > 0. */
static fx8_wide floor_divide(fx8_wide numerator, fx8_wide denominator)
{
    const fx8_wide quotient = numerator / denominator;
    return quotient - (numerator % denominator < 0);
}

struct fx8_time fx8_time_add_half_samples(struct fx8_time start,
                                          int64_t half_samples,
                                          struct fx8_rate rate)
{
    /* whole seconds first, so that the picoseconds cannot overflow */
    const fx8_wide denominator = (fx8_wide)2 * rate.numerator_hz;
    const fx8_wide numerator = (fx8_wide)half_samples * rate.denominator;
    const fx8_wide seconds = floor_divide(numerator, denominator);
    const fx8_wide rest = numerator - seconds * denominator;
    const fx8_wide picoseconds =
        floor_divide(rest * FX8_PICOSECONDS * 2 + denominator, denominator * 2);
    const fx8_wide sum = start.picosecond + picoseconds;
    return (struct fx8_time){
        .unix_s =
            start.unix_s + (int64_t)seconds + (int64_t)(sum / FX8_PICOSECONDS),
        .picosecond = (int64_t)(sum % FX8_PICOSECONDS),
    };
}

double fx8_time_julian_date(struct fx8_time time)
{
    /* 1970-01-01T00:00 is JD 2440587.5; long double keeps one rounding */
    const long double day_s = 86400.0L;
    const long double second =
        (long double)time.unix_s +
        (long double)time.picosecond / (long double)FX8_PICOSECONDS;
    return (double)(2440587.5L + second / day_s);
}
