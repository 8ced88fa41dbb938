/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/timebase.h"

/* __extension__: 128-bit integers are in gcc and clang, not in C17 */
__extension__ typedef __int128 wide;

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t remainder = a % b;
        a = b;
        b = remainder;
    }
    return a;
}

double fx8_rate_hz(struct fx8_rate rate)
{
    return (double)rate.numerator_hz / (double)rate.denominator;
}

struct fx8_rate fx8_rate_reduced(struct fx8_rate rate)
{
    const int64_t divisor =
        greatest_common_divisor(rate.numerator_hz, rate.denominator);
    if (divisor > 1) {
        rate.numerator_hz /= divisor;
        rate.denominator /= divisor;
    }
    return rate;
}

/* Largest integer not above numerator / denominator, denominator > 0. */
static wide floor_divide(wide numerator, wide denominator)
{
    const wide quotient = numerator / denominator;
    return quotient - (numerator % denominator < 0);
}

struct fx8_time fx8_time_add_half_samples(struct fx8_time start,
                                          int64_t half_samples,
                                          struct fx8_rate rate)
{
    /* whole seconds first, so that the picoseconds cannot overflow */
    const wide denominator = (wide)2 * rate.numerator_hz;
    const wide numerator = (wide)half_samples * rate.denominator;
    const wide seconds = floor_divide(numerator, denominator);
    const wide rest = numerator - seconds * denominator;
    const wide picoseconds =
        floor_divide(rest * FX8_PICOSECONDS * 2 + denominator, denominator * 2);
    const wide sum = start.picosecond + picoseconds;
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
