/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * number.h -- strict parsing: the whole text must be the value.  No
 * hexadecimal, no "inf", no "nan", no leading or trailing blanks.
 */
#ifndef FX8_CONFIG_BASE_NUMBER_H
#define FX8_CONFIG_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/** Room for any text that the format functions below write. */
#define FX8_NUMBER_TEXT_SIZE 48

/** Finite double: [+-] digits [. digits] [e [+-] digits]. */
bool fx8_number_real(const char *text, double *value);

/** Whole number that fits int64: [+-] digits. */
bool fx8_number_integer(const char *text, int64_t *value);

/** Sort numbers [n]; returns how many are distinct. */
size_t fx8_number_sort(int64_t *numbers, size_t n);

/**
 * fx8_number_fraction -- exact fraction from "25000000/27", "16368000.0",
 * "925925.93", "1.6e7" or a quotient of two such decimals.
 *
 * Returned: numerator, denominator  lowest terms, numerator >= 0,
 *           denominator > 0
 * Status:   false for a sign, a zero denominator, more than 18 digits in a
 *           decimal, or terms that do not fit int64
 * Numerics: exact
 */
bool fx8_number_fraction(const char *text, int64_t *numerator,
                         int64_t *denominator);

/**
 * fx8_number_time -- UTC instant from ISO 8601:
 * "2019-08-29T19:00:00[.123456789012][Z]"; a blank may replace the T and
 * "+00:00" the Z.
 *
 * Status: false for a date not in the Gregorian calendar, years outside 0001 ..
 *         9999, a leap second (Unix time cannot hold it), or more than 12
 *         decimals
 */
bool fx8_number_time(const char *text, struct fx8_time *time);

/** Shortest decimal that reads back as the same double. */
void fx8_number_format_real(double value, char text[FX8_NUMBER_TEXT_SIZE]);

/** "numerator/denominator", or just the numerator if the denominator is 1. */
void fx8_number_format_fraction(int64_t numerator, int64_t denominator,
                                char text[FX8_NUMBER_TEXT_SIZE]);

/** "2019-08-29T19:00:00Z", with as many decimals as the picoseconds need. */
void fx8_number_format_time(struct fx8_time time,
                            char text[FX8_NUMBER_TEXT_SIZE]);

#endif
