/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time as integers: samples to instants, rates in lowest terms, Julian dates.
 *
 * Shows (commands, times, sizes and names): time, sizes, errors, SHA-256, site,
 *     description and the provenance in a result are correct; Julian dates
 *     equal those of ERFA, leap seconds included
 * Within: integers equal; geocentric positions 10⁻⁶ m; rotation 10⁻⁸
 * Because: ERFA's own ellipsoid in double; central differences
 * In: test_status_shape.c, test_sha256.c, test_site.c, test_describe.c
 */
#include <math.h>
#include <stdio.h>

#include <erfa.h>

#include "config/base/number.h"
#include "correlator/fx8.h"
#include "validation/testing.h"

static void assert_time(struct fx8_time time, int64_t unix_s,
                        int64_t picosecond)
{
    assert_int_equal(time.unix_s, unix_s);
    assert_int_equal(time.picosecond, picosecond);
}

static const struct fx8_rate one_hz = {1, 1};
static const struct fx8_rate aavs_hz = {25000000, 27};

TEST(negative_half_samples_go_back)
{
    const struct fx8_time start = {100, 250000000000};
    assert_time(fx8_time_add_half_samples(start, -1, one_hz), 99, 750000000000);
    assert_time(fx8_time_add_half_samples(start, -2, one_hz), 99, 250000000000);
    assert_time(fx8_time_add_half_samples((struct fx8_time){0, 0}, -1,
                                          (struct fx8_rate){1000000, 1}),
                -1, 999999500000);
    /* there and back, exact where a half sample is whole picoseconds */
    for (int64_t n = -1000; n <= 1000; n += 7) {
        const struct fx8_rate rate = {1000000, 3};
        const struct fx8_time there = fx8_time_add_half_samples(start, n, rate);
        assert_time(fx8_time_add_half_samples(there, -n, rate), 100,
                    250000000000);
    }
}

TEST(picoseconds_are_rounded_to_nearest)
{
    const struct fx8_time zero = {0, 0};
    /* 1/3 s, 2/3 s */
    assert_time(fx8_time_add_half_samples(zero, 2, (struct fx8_rate){3, 1}), 0,
                333333333333);
    assert_time(fx8_time_add_half_samples(zero, 4, (struct fx8_rate){3, 1}), 0,
                666666666667);
    /* 0.9999999999996 s is a whole second */
    assert_time(
        fx8_time_add_half_samples(zero, 9999999999996,
                                  (struct fx8_rate){INT64_C(5000000000000), 1}),
        1, 0);
    /* the carry of start plus offset */
    assert_time(fx8_time_add_half_samples((struct fx8_time){7, 999999999999}, 1,
                                          (struct fx8_rate){500000000000, 1}),
                8, 0);
}

TEST(years_of_samples_do_not_drift)
{
    /* a hundred Julian years at 25/27 MHz, in half samples: exact, since
     * 27 samples are 27 * 1.08 us */
    const int64_t century_s = INT64_C(36525) * 86400;
    const int64_t n_blocks = century_s / 27; /* blocks of 25e6 samples, 27 s */
    const int64_t half_samples = n_blocks * 25000000 * 2;
    const struct fx8_time end = fx8_time_add_half_samples(
        (struct fx8_time){1567105200, 5}, half_samples, aavs_hz);
    assert_time(end, 1567105200 + n_blocks * 27, 5);
    /* one more sample: 1.08 us */
    assert_time(fx8_time_add_half_samples((struct fx8_time){1567105200, 5},
                                          half_samples + 2, aavs_hz),
                1567105200 + n_blocks * 27, 1080005);
    /* the largest count, at 1 GHz */
    assert_time(fx8_time_add_half_samples((struct fx8_time){0, 0}, INT64_MAX,
                                          (struct fx8_rate){1000000000, 1}),
                INT64_MAX / 2000000000, (INT64_MAX % 2000000000) * 500);
}

/* ERFA knows the leap seconds: every day from 1972, when UTC began to have
 * whole ones, to some years ahead, half a second before its last Unix second
 * ends. */
TEST(julian_dates_as_erfa_has_them)
{
    for (int64_t day = 730; day < 25000; day++) {
        const struct fx8_time time = {day * 86400 + 86399, 500000000000};
        int year, month, day_of_month;
        double rest, date, fraction;
        assert_int_equal(eraJd2cal(2440587.5, (double)day, &year, &month,
                                   &day_of_month, &rest),
                         0);
        assert_true(eraDtf2d("UTC", year, month, day_of_month, 23, 59, 59.5,
                             &date, &fraction) >= 0);
        /* doubles there are 4.66e-10 apart, and each side rounds once */
        const double got = fx8_time_julian_date(time);
        assert_true(fabs(got - date - fraction) < 5e-10);
        const struct fx8_time again = fx8_time_from_julian_date(got);
        assert_time(again, time.unix_s, time.picosecond);
    }
}

/* Dates of other writers, in and beside the leap second of 2016. */
TEST(instants_of_julian_dates)
{
    static const struct {
        double second; /* of 2016-12-31 */
        const char *text;
    } cases[] = {
        {0, "2016-12-31T00:00:00Z"},
        {43200.5, "2016-12-31T12:00:00.5Z"},
        {86399.9, "2016-12-31T23:59:59.9Z"},
        {86400, "2016-12-31T23:59:60Z"},
        {86400.75, "2016-12-31T23:59:60.75Z"},
        {86400.99999, "2017-01-01T00:00:00Z"},
        {86401, "2017-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[FX8_NUMBER_TEXT_SIZE];
        fx8_number_format_time(
            fx8_time_from_julian_date(2457753.5 + cases[i].second / 86401),
            text);
        assert_string_equal(text, cases[i].text);
    }
    assert_time(fx8_time_from_julian_date(2440587.5 - 1.5), -129600, 0);
    assert_time(fx8_time_from_julian_date((double)NAN), 0, 0);
    assert_time(fx8_time_from_julian_date(1e300), 0, 0);
}

TEST(instants_from_text)
{
    static const struct {
        const char *text;
        int64_t unix_s, picosecond;
    } good[] = {
        {"1970-01-01T00:00:00", 0, 0},
        {"2019-08-29T19:00:00", 1567105200, 0},
        {"2019-08-29T19:00:00Z", 1567105200, 0},
        {"2019-08-29 19:00:00+00:00", 1567105200, 0},
        {"2019-08-29T19:00:00.5Z", 1567105200, 500000000000},
        {"2019-08-29T19:00:00.000000000001", 1567105200, 1},
        {"2026-06-12T11:20:40+00:00", 1781263240, 0},
        {"2000-02-29T23:59:59.999999999999", 951868799, 999999999999},
        {"2100-03-01T00:00:00", 4107542400, 0},
        {"1969-12-31T23:59:59", -1, 0},
        {"0001-01-01T00:00:00", -62135596800, 0},
        {"9999-12-31T23:59:59", 253402300799, 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct fx8_time time = {-7, -7};
        assert_true(fx8_number_time(good[i].text, &time));
        assert_time(time, good[i].unix_s, good[i].picosecond);
        char text[FX8_NUMBER_TEXT_SIZE];
        struct fx8_time again = {-7, -7};
        fx8_number_format_time(time, text);
        assert_true(fx8_number_time(text, &again));
        assert_time(again, good[i].unix_s, good[i].picosecond);
    }
}

TEST(instants_of_no_calendar)
{
    char text[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time((struct fx8_time){253402300800, 0}, text);
    assert_string_equal(text, "10000-01-01T00:00:00Z");
    fx8_number_format_time((struct fx8_time){INT64_MAX, 5}, text);
    assert_string_equal(text, "9223372036854775807 s");
}

TEST(instants_that_are_none)
{
    static const char *const bad[] = {
        "",
        "2019",
        "2019-08-29",
        "2019-08-29T19:00",
        "2019-8-29T19:00:00",
        "2019-02-29T00:00:00",
        "1900-02-29T00:00:00",
        "2019-04-31T00:00:00",
        "2019-13-01T00:00:00",
        "2019-00-01T00:00:00",
        "2019-01-00T00:00:00",
        "2019-01-01T24:00:00",
        "2019-01-01T00:60:00",
        "2016-12-31T23:59:60",
        "0000-01-01T00:00:00",
        "2019-08-29T19:00:00.",
        "2019-08-29T19:00:00z",
        "2019-08-29T19:00:00.1234567890123",
        "2019-08-29T19:00:00+01:00",
        " 2019-08-29T19:00:00",
        "2019-08-29T19:00:00 ",
        "2019-08-29t19:00:00",
        "+019-08-29T19:00:00",
        "2019/08/29T19:00:00",
        "1567105200",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fx8_time time = {-7, -7};
        assert_false(fx8_number_time(bad[i], &time));
        assert_time(time, -7, -7);
    }
}

TEST(every_day_of_five_centuries)
{
    /* consecutive days from 1600 on are formatted as by ERFA, and read back */
    for (int64_t day = -135140; day < 47482; day++) {
        const struct fx8_time time = {day * 86400 + 43199, 0};
        char text[FX8_NUMBER_TEXT_SIZE], wanted[FX8_NUMBER_TEXT_SIZE];
        struct fx8_time again;
        int year, month, day_of_month;
        double rest;
        assert_int_equal(eraJd2cal(2440587.5, (double)day, &year, &month,
                                   &day_of_month, &rest),
                         0);
        snprintf(wanted, sizeof wanted, "%04d-%02d-%02dT11:59:59Z", year, month,
                 day_of_month);
        fx8_number_format_time(time, text);
        assert_string_equal(text, wanted);
        assert_true(fx8_number_time(text, &again));
        assert_time(again, time.unix_s, 0);
    }
}
