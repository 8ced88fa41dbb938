/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timebase.h -- time as integers: samples over a rational rate, UTC as whole
 * seconds and picoseconds; part of the public interface (correlator/fx8.h).
 * Only a writer of files turns it into a float.
 *
 * All of it is exact or rounded once, keeps no state and cannot fail; a rate
 * that is not positive is undefined.
 */
#ifndef FX8_CONFIG_BASE_TIMEBASE_H
#define FX8_CONFIG_BASE_TIMEBASE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As in config/base/status.h, so that neither header needs the other. */
#ifndef FX8_API
#define FX8_API __attribute__((visibility("default")))
#endif

/** Picoseconds in a second. */
#define FX8_PICOSECONDS INT64_C(1000000000000)

/** UTC instant: seconds since 1970-01-01 as Unix counts them (leap seconds
 *  not counted) and picoseconds, 0 <= picosecond < FX8_PICOSECONDS. */
struct fx8_time {
    int64_t unix_s;
    int64_t picosecond;
};

/** Sampling rate numerator/denominator in Hz; both positive, lowest terms. */
struct fx8_rate {
    int64_t numerator_hz;
    int64_t denominator;
};

/** Rate as a double in Hz, for widths and frequencies, never for time. */
FX8_API double fx8_rate_hz(struct fx8_rate rate);

/** `rate` in lowest terms. */
FX8_API struct fx8_rate fx8_rate_reduced(struct fx8_rate rate);

/**
 * fx8_time_add_half_samples -- start + half_samples / (2 * rate).
 *
 * Given:    half_samples  int64  may be negative; half samples because the
 *                         centre of a dump may lie between two samples
 * Returned: the instant, rounded to the nearest picosecond
 * Numerics: exact 128-bit integers; |half_samples| * denominator < 2^86
 */
FX8_API struct fx8_time fx8_time_add_half_samples(struct fx8_time start,
                                                  int64_t half_samples,
                                                  struct fx8_rate rate);

/**
 * fx8_time_julian_date -- Julian date (UTC) of an instant, in days, as ERFA,
 * astropy and pyuvdata read it: a day that ends in a leap second (since 1972,
 * the last 2016-12-31) has 86,401 s.
 *
 * Numerics: one rounding to double (40 microseconds in this century)
 */
FX8_API double fx8_time_julian_date(struct fx8_time time);

/** The instant of a Julian date (UTC), to the nearest 0.1 ms.  In a leap second
 *  it is 23:59:59 with one second and more in `picosecond`.  1970-01-01 where
 *  the date is NaN or beyond 10^12 days. */
FX8_API struct fx8_time fx8_time_from_julian_date(double julian_date);

#ifdef __cplusplus
}
#endif

#endif
