/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/divisor.h"
#include "config/base/number.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Step over digits; how many there were. */
static size_t skip_digits(const char **cursor)
{
    const char *start = *cursor;
    while (is_digit(**cursor))
        ++*cursor;
    return (size_t)(*cursor - start);
}

static void skip_sign(const char **cursor)
{
    if (**cursor == '+' || **cursor == '-')
        ++*cursor;
}

bool fx8_number_real(const char *text, double *value)
{
    const char *cursor = text;
    skip_sign(&cursor);
    size_t n_digits = skip_digits(&cursor);
    if (*cursor == '.') {
        cursor++;
        n_digits += skip_digits(&cursor);
    }
    if (n_digits == 0)
        return false;
    if (*cursor == 'e' || *cursor == 'E') {
        cursor++;
        skip_sign(&cursor);
        if (skip_digits(&cursor) == 0)
            return false;
    }
    if (*cursor != '\0')
        return false;
    /* a locale with a decimal comma stops strtod early: refused, not misread */
    char *end = NULL;
    const double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool fx8_number_integer(const char *text, int64_t *value)
{
    const char *cursor = text;
    skip_sign(&cursor);
    if (skip_digits(&cursor) == 0 || *cursor != '\0')
        return false;
    errno = 0;
    const intmax_t number = strtoimax(text, NULL, 10);
    if (errno != 0 || number > INT64_MAX || number < INT64_MIN)
        return false;
    *value = number;
    return true;
}

/* --- exact fractions ------------------------------------------------------ */

/* Lowest terms; false where a term does not fit int64. */
static bool reduce(fx8_wide *numerator, fx8_wide *denominator)
{
    const fx8_wide divisor = fx8_greatest_divisor(*numerator, *denominator);
    *numerator /= divisor;
    *denominator /= divisor;
    return *numerator <= INT64_MAX && *denominator <= INT64_MAX;
}

/* Digits with one optional point into an integer and the count of decimals.
 * 18 digits: the mantissa stays below 10^18 < 2^63. */
static bool read_mantissa(const char **cursor, fx8_wide *mantissa,
                          int *decimals)
{
    int n_digits = 0;
    bool point = false;
    *mantissa = 0;
    *decimals = 0;
    for (; is_digit(**cursor) || (**cursor == '.' && !point); ++*cursor) {
        if (**cursor == '.') {
            point = true;
            continue;
        }
        if (++n_digits > 18)
            return false;
        *mantissa = *mantissa * 10 + (**cursor - '0');
        *decimals += point;
    }
    return n_digits > 0;
}

/* Power of ten behind an 'e', at most two digits; 0 where there is none. */
static bool read_exponent(const char **cursor, int *exponent)
{
    *exponent = 0;
    if (**cursor != 'e' && **cursor != 'E')
        return true;
    ++*cursor;
    const bool negative = **cursor == '-';
    skip_sign(cursor);
    const char *start = *cursor;
    const size_t n_digits = skip_digits(cursor);
    if (n_digits == 0 || n_digits > 2)
        return false;
    for (const char *digit = start; digit < *cursor; digit++)
        *exponent = *exponent * 10 + (*digit - '0');
    if (negative)
        *exponent = -*exponent;
    return true;
}

static bool read_decimal(const char **cursor, fx8_wide *numerator,
                         fx8_wide *denominator)
{
    int decimals = 0, exponent = 0;
    if (!read_mantissa(cursor, numerator, &decimals) ||
        !read_exponent(cursor, &exponent))
        return false;
    *denominator = 1;
    exponent -= decimals;
    /* 10^18 x 10^18 < 2^127: more powers than that never fit int64 anyway */
    if (exponent > 18 || exponent < -36)
        return *numerator == 0;
    for (; exponent > 0; exponent--)
        *numerator *= 10;
    for (; exponent < 0; exponent++)
        *denominator *= 10;
    return reduce(numerator, denominator);
}

bool fx8_number_fraction(const char *text, int64_t *numerator,
                         int64_t *denominator)
{
    const char *cursor = text;
    fx8_wide upper = 0, upper_divisor = 1, lower = 1, lower_divisor = 1;
    if (!read_decimal(&cursor, &upper, &upper_divisor))
        return false;
    if (*cursor == '/') {
        cursor++;
        if (!read_decimal(&cursor, &lower, &lower_divisor) || lower == 0)
            return false;
    }
    if (*cursor != '\0')
        return false;
    /* all four terms fit int64, so that these products fit 127 bits */
    upper *= lower_divisor;
    lower *= upper_divisor;
    if (!reduce(&upper, &lower))
        return false;
    *numerator = (int64_t)upper;
    *denominator = (int64_t)lower;
    return true;
}

/* --- instants ------------------------------------------------------------- */

#define DAY_SECONDS INT64_C(86400)

static bool is_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_in_month(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap_year(year));
}

/* Days from 0001-01-01 to the first of January of a year >= 1. */
static int64_t days_before_year(int64_t year)
{
    const int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400;
}

/* Days from 1970-01-01 to a date of the proleptic Gregorian calendar. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    int64_t days = days_before_year(year) - days_before_year(1970) + day - 1;
    for (int64_t m = 1; m < month; m++)
        days += days_in_month(year, m);
    return days;
}

/* Exactly `n_digits` digits. */
static bool read_field(const char **cursor, int n_digits, int64_t *value)
{
    *value = 0;
    for (int i = 0; i < n_digits; i++, ++*cursor) {
        if (!is_digit(**cursor))
            return false;
        *value = *value * 10 + (**cursor - '0');
    }
    return true;
}

static bool read_character(const char **cursor, const char *accepted)
{
    if (**cursor == '\0' || strchr(accepted, **cursor) == NULL)
        return false;
    ++*cursor;
    return true;
}

/* 1 to 12 decimals of a second as picoseconds; 0 where there is no point. */
static bool read_decimals(const char **cursor, int64_t *picosecond)
{
    *picosecond = 0;
    if (**cursor != '.')
        return true;
    ++*cursor;
    const char *start = *cursor;
    const size_t n_digits = skip_digits(cursor);
    if (n_digits < 1 || n_digits > 12)
        return false;
    for (size_t i = 0; i < 12; i++)
        *picosecond = *picosecond * 10 + (i < n_digits ? start[i] - '0' : 0);
    return true;
}

bool fx8_number_time(const char *text, struct fx8_time *time)
{
    const char *cursor = text;
    int64_t year, month, day, hour, minute, second, picosecond;
    if (!read_field(&cursor, 4, &year) || !read_character(&cursor, "-") ||
        !read_field(&cursor, 2, &month) || !read_character(&cursor, "-") ||
        !read_field(&cursor, 2, &day) || !read_character(&cursor, "T ") ||
        !read_field(&cursor, 2, &hour) || !read_character(&cursor, ":") ||
        !read_field(&cursor, 2, &minute) || !read_character(&cursor, ":") ||
        !read_field(&cursor, 2, &second) ||
        !read_decimals(&cursor, &picosecond))
        return false;
    if (*cursor != '\0' && strcmp(cursor, "Z") != 0 &&
        strcmp(cursor, "+00:00") != 0)
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 ||
        day > days_in_month(year, month) || hour > 23 || minute > 59 ||
        second > 59)
        return false;
    time->unix_s = days_from_civil(year, month, day) * DAY_SECONDS +
                   hour * 3600 + minute * 60 + second;
    time->picosecond = picosecond;
    return true;
}

/* --- texts ---------------------------------------------------------------- */

void fx8_number_format_real(double value, char text[FX8_NUMBER_TEXT_SIZE])
{
    /* 17 significant digits identify every double */
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, FX8_NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

void fx8_number_format_fraction(int64_t numerator, int64_t denominator,
                                char text[FX8_NUMBER_TEXT_SIZE])
{
    if (denominator == 1)
        snprintf(text, FX8_NUMBER_TEXT_SIZE, "%" PRId64, numerator);
    else
        snprintf(text, FX8_NUMBER_TEXT_SIZE, "%" PRId64 "/%" PRId64, numerator,
                 denominator);
}

void fx8_number_format_time(struct fx8_time time,
                            char text[FX8_NUMBER_TEXT_SIZE])
{
    int64_t days = time.unix_s / DAY_SECONDS;
    days -= time.unix_s % DAY_SECONDS < 0;
    const int64_t second = time.unix_s - days * DAY_SECONDS;
    /* 146097 days are 400 years: the estimate is off by one year at most */
    int64_t year = 1970 + days * 400 / 146097;
    while (year > 1 && days < days_from_civil(year, 1, 1))
        year--;
    while (days >= days_from_civil(year + 1, 1, 1))
        year++;
    int64_t month = 1;
    while (month < 12 && days >= days_from_civil(year, month + 1, 1))
        month++;
    int length = snprintf(
        text, FX8_NUMBER_TEXT_SIZE,
        "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64
        ":%02" PRId64 ".%012" PRId64,
        year, month, days - days_from_civil(year, month, 1) + 1, second / 3600,
        second / 60 % 60, second % 60 + time.picosecond / FX8_PICOSECONDS,
        time.picosecond % FX8_PICOSECONDS);
    if (length >= FX8_NUMBER_TEXT_SIZE)
        return; /* no instant of a calendar: cut, but terminated */
    while (text[length - 1] == '0')
        length--;
    length -= text[length - 1] == '.';
    memcpy(text + length, "Z", 2);
}
