/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "config/base/divisor.h"
#include "correlator/fx8.h"

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
    /* whole seconds first, so the picoseconds cannot overflow */
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

/* JD of 1970-01-01T00:00, and ticks of the resolution of a Julian date in a
 * double, 40 microseconds in this century. */
#define EPOCH_JD         2440587.5
#define DAY_SECONDS      86400
#define TICKS            INT64_C(10000)
#define TICK_PICOSECONDS (FX8_PICOSECONDS / TICKS)

/* Seconds of a day, counted from 1970-01-01: one more on days that end in a
 * leap second, 1972-06-30 to 2016-12-31. */
static int64_t day_seconds(int64_t day)
{
    static const int64_t leap_days[] = {
        911,  1095, 1460,  1825,  2190,  2556,  2921,  3286,  3651,
        4198, 4563, 4928,  5659,  6573,  7304,  7669,  8216,  8581,
        8946, 9495, 10042, 10591, 13148, 14244, 15521, 16616, 17166};
    int64_t seconds = DAY_SECONDS;
    for (size_t i = 0; i < sizeof leap_days / sizeof leap_days[0]; i++)
        seconds += leap_days[i] == day;
    return seconds;
}

double fx8_time_julian_date(struct fx8_time time)
{
    const int64_t day = (int64_t)floor_divide(time.unix_s, DAY_SECONDS);
    /* long double: only one rounding */
    const long double second =
        (long double)(time.unix_s - day * DAY_SECONDS) +
        (long double)time.picosecond / (long double)FX8_PICOSECONDS;
    return (double)((long double)EPOCH_JD + (long double)day +
                    second / (long double)day_seconds(day));
}

struct fx8_time fx8_time_from_julian_date(double julian_date)
{
    struct fx8_time time = {0, 0};
    const double days = julian_date - EPOCH_JD;
    if (!(days > -1e12 && days < 1e12))
        return time;
    int64_t day = (int64_t)days;
    day -= (double)day > days;
    const int64_t ticks_of_day = day_seconds(day) * TICKS;
    int64_t ticks =
        (int64_t)((days - (double)day) * (double)ticks_of_day + 0.5);
    if (ticks == ticks_of_day) {
        day++;
        ticks = 0;
    }
    /* Unix time has no number for a leap second */
    const int64_t last = DAY_SECONDS - 1;
    const int64_t second = ticks / TICKS < last ? ticks / TICKS : last;
    time.unix_s = day * DAY_SECONDS + second;
    time.picosecond = (ticks - second * TICKS) * TICK_PICOSECONDS;
    return time;
}
