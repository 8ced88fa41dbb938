/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/divisor.h"
#include "config/base/number.h"

#define DIGITS "0123456789"

/* Whether a text has only these letters, at least one. */
static bool has_only(const char *text, const char *letters)
{
    return *text != '\0' && text[strspn(text, letters)] == '\0';
}

bool fx8_number_real(const char *text, double *value)
{
    /* with a decimal comma in the locale, strtod stops early: the text is
     * refused, not misread */
    char *end = NULL;
    const double number = strtod(text, &end);
    if (!has_only(text, "+-.eE" DIGITS) || *end != '\0' || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool fx8_number_integer(const char *text, int64_t *value)
{
    char *end = NULL;
    errno = 0;
    const intmax_t number = strtoimax(text, &end, 10);
    if (!has_only(text, "+-" DIGITS) || *end != '\0' || errno != 0 ||
        number > INT64_MAX || number < INT64_MIN)
        return false;
    *value = number;
    return true;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

size_t fx8_number_sort(int64_t *numbers, size_t n)
{
    size_t n_distinct = n > 0;
    if (n > 0)
        qsort(numbers, n, sizeof *numbers, compare);
    for (size_t i = 1; i < n; i++)
        n_distinct += numbers[i] != numbers[i - 1];
    return n_distinct;
}

/* --- exact fractions ------------------------------------------------------ */

/* Reduce to lowest terms; false if a term does not fit int64. */
static bool reduce(fx8_wide *numerator, fx8_wide *denominator)
{
    const fx8_wide divisor = fx8_greatest_divisor(*numerator, *denominator);
    *numerator /= divisor;
    *denominator /= divisor;
    return *numerator <= INT64_MAX && *denominator <= INT64_MAX;
}

/* Read "925925.93e3"; lowest terms.  At most 18 digits, so the mantissa stays
 * below 10^18 < 2^63, and at most two digits of an exponent. */
static bool read_decimal(const char **cursor, fx8_wide *numerator,
                         fx8_wide *denominator)
{
    int n_digits = 0, exponent = 0;
    bool has_point = false;
    *numerator = 0;
    *denominator = 1;
    for (; **cursor != '\0' && strchr("." DIGITS, **cursor) != NULL;
         ++*cursor) {
        if (**cursor == '.') {
            if (has_point)
                return false;
            has_point = true;
            continue;
        }
        if (++n_digits > 18)
            return false;
        *numerator = *numerator * 10 + (**cursor - '0');
        exponent -= has_point;
    }
    if (n_digits == 0)
        return false;
    if (**cursor == 'e' || **cursor == 'E') {
        const char *digits = *cursor + 1;
        digits += *digits == '+' || *digits == '-';
        const size_t n = strspn(digits, DIGITS);
        if (n == 0 || n > 2)
            return false;
        exponent += (int)strtol(*cursor + 1, NULL, 10);
        *cursor = digits + n;
    }
    /* 10^18 x 10^18 < 2^127; higher powers never fit int64 */
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
    /* all four terms fit int64, so these products fit 127 bits */
    upper *= lower_divisor;
    lower *= upper_divisor;
    if (!reduce(&upper, &lower))
        return false;
    *numerator = (int64_t)upper;
    *denominator = (int64_t)lower;
    return true;
}

/* --- instants ------------------------------------------------------------- */

/* 0001-01-01T00:00:00 */
#define FIRST_UNIX_S INT64_C(-62135596800)

/* "2019-08-29T19:00:00", and more digits in years after 9999. */
static bool format_second(struct fx8_time time, char text[FX8_NUMBER_TEXT_SIZE])
{
    const time_t unix_s = (time_t)time.unix_s;
    struct tm utc;
    if (gmtime_r(&unix_s, &utc) == NULL)
        return false;
    utc.tm_sec += (int)(time.picosecond / FX8_PICOSECONDS); /* leap second */
    const int n = snprintf(text, FX8_NUMBER_TEXT_SIZE, "%04" PRId64,
                           (int64_t)utc.tm_year + 1900);
    return strftime(text + n, FX8_NUMBER_TEXT_SIZE - (size_t)n,
                    "-%m-%dT%H:%M:%S", &utc) > 0;
}

/* 1 to 12 decimals of a second as picoseconds; 0 without a decimal point. */
static bool read_decimals(const char **cursor, int64_t *picosecond)
{
    *picosecond = 0;
    if (**cursor != '.')
        return true;
    ++*cursor;
    const char *start = *cursor;
    const size_t n_digits = strspn(start, DIGITS);
    if (n_digits < 1 || n_digits > 12)
        return false;
    *cursor += n_digits;
    for (size_t i = 0; i < 12; i++)
        *picosecond = *picosecond * 10 + (i < n_digits ? start[i] - '0' : 0);
    return true;
}

bool fx8_number_time(const char *text, struct fx8_time *time)
{
    char again[FX8_NUMBER_TEXT_SIZE];
    struct tm utc = {0};
    int64_t picosecond;
    const char *cursor = strptime(text, "%Y-%m-%d", &utc);
    if (cursor == NULL || (*cursor != 'T' && *cursor != ' '))
        return false;
    cursor = strptime(cursor + 1, "%H:%M:%S", &utc);
    if (cursor == NULL || !read_decimals(&cursor, &picosecond))
        return false;
    if (*cursor != '\0' && strcmp(cursor, "Z") != 0 &&
        strcmp(cursor, "+00:00") != 0)
        return false;
    /* an invalid date or missing digits do not survive the round trip */
    const struct fx8_time found = {timegm(&utc), picosecond};
    if (found.unix_s < FIRST_UNIX_S || !format_second(found, again) ||
        strncmp(text, again, 10) != 0 || strncmp(text + 11, again + 11, 8) != 0)
        return false;
    *time = found;
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
    if (!format_second(time, text)) {
        snprintf(text, FX8_NUMBER_TEXT_SIZE, "%" PRId64 " s", time.unix_s);
        return; /* the C library cannot represent this year */
    }
    size_t length = strlen(text);
    length +=
        (size_t)snprintf(text + length, FX8_NUMBER_TEXT_SIZE - length,
                         ".%012" PRId64, time.picosecond % FX8_PICOSECONDS);
    while (text[length - 1] == '0')
        length--;
    length -= text[length - 1] == '.';
    memcpy(text + length, "Z", 2);
}
