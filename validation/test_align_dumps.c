/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_align_dumps.c -- dumps on the edges of UTC.
 *
 * Shows (correlation, aligned dumps): over a day, at rates and lengths that do
 *     not divide, every spectrum is in the dump whose edges its centre is
 *     between, counted from 0 h UTC; dumps have M or M - 1 spectra, and times
 *     of their own
 * Within: equal
 * Because: edges are fractions of integers
 */
#include "correlator/library/plan.h"
#include "validation/testing.h"

/* Picoseconds of a day times twice a rate. */
__extension__ typedef __int128 wide;

#define DAY_S 86400

/* 2020-02-28T00:00:00Z: no leap second on this day or the next. */
#define MIDNIGHT INT64_C(1582848000)

/* A recording and its dumps, of numerator / denominator s. */
struct aligned {
    struct fx8_rate rate;
    size_t channels, taps;
    int64_t first_sample;
    struct fx8_time start; /* since midnight */
    int64_t numerator, denominator;
};

/* About 10^6 spectra a day in all. */
static const struct aligned cases[] = {
    /* 11.3 spectra a second: 1.13, 11.3 and 79.1 a dump */
    {{25000000, 27}, 81920, 8, 0, {0, 0}, 1, 10},
    {{25000000, 27}, 81920, 8, 12345, {86399, 999999999999}, 1, 1},
    {{25000000, 27}, 81920, 1, 7, {43200, 123456789012}, 7, 1},
    /* 12.2 spectra a second, and a length of many digits */
    {{100000000, 1}, 8192000, 4, 1, {1, 1}, 28311552, 100000000},
    {{16368000, 1}, 1636801, 2, 999, {86399, 5}, 123456789, 100000000},
    /* as many each, from an edge on and from a picosecond before one */
    {{1000000, 1}, 100000, 1, 0, {3599, 950000000000}, 3600, 1},
    {{1000000, 1}, 100000, 1, 0, {3599, 949999999999}, 3600, 1},
    /* one spectrum a dump */
    {{1000000, 1}, 100000, 1, 3, {0, 0}, 1, 10},
};

static struct fx8_plan plan_of(const struct aligned *c)
{
    struct fx8_plan plan = fx8_plan_default();
    struct fx8_error error;
    plan.n_antennas = 2;
    plan.sample_rate = c->rate;
    plan.dc_frequency_hz = 150e6;
    plan.channelizer.n_channels = c->channels;
    plan.channelizer.n_taps = c->taps;
    plan.first_sample = c->first_sample;
    must(fx8_align_dumps(
             &plan,
             (struct fx8_time){MIDNIGHT + c->start.unix_s, c->start.picosecond},
             c->numerator, c->denominator, &error),
         error);
    must(fx8_plan_check(&plan, &error), error);
    return plan;
}

/* Twice the centre of a spectrum, in half samples from sample 0. */
static int64_t half_samples(const struct aligned *c, int64_t spectrum)
{
    const int64_t n = (int64_t)c->channels;
    return 2 * (c->first_sample + spectrum * n) + (int64_t)c->taps * n;
}

/* How many edges since midnight are not behind the centre of a spectrum. */
static int64_t number_of(const struct aligned *c, int64_t spectrum)
{
    const wide unit = (wide)2 * c->rate.numerator_hz * FX8_PICOSECONDS;
    const wide picoseconds =
        (wide)c->start.unix_s * FX8_PICOSECONDS + c->start.picosecond;
    const wide at =
        picoseconds * 2 * c->rate.numerator_hz +
        (wide)half_samples(c, spectrum) * c->rate.denominator * FX8_PICOSECONDS;
    return (int64_t)(at * c->denominator / (unit * c->numerator));
}

/* A dump that a scan of all spectra found. */
static void check_dump(const struct aligned *c, const struct fx8_plan *plan,
                       int64_t dump, int64_t first, int64_t end)
{
    const struct fx8_time start = {MIDNIGHT + c->start.unix_s,
                                   c->start.picosecond};
    const int64_t m = plan->spectra_per_dump;
    assert_int_equal(fx8_dump_first(plan, dump), first);
    assert_int_equal(fx8_dump_spectra(plan, dump), end - first);
    if (dump > 0)
        assert_in_range(end - first, m > 1 ? m - 1 : 1, m);
    else
        assert_in_range(end - first, 1, m);
    const struct fx8_time middle = fx8_dump_time(plan, start, dump);
    const struct fx8_time expected = fx8_time_add_half_samples(
        start,
        half_samples(c, first) + (int64_t)c->channels * (end - first - 1),
        c->rate);
    assert_int_equal(middle.unix_s, expected.unix_s);
    assert_int_equal(middle.picosecond, expected.picosecond);
}

TEST(a_day_of_spectra)
{
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct aligned *c = &cases[i];
        struct fx8_plan plan = plan_of(c);
        const int64_t n = DAY_S * c->rate.numerator_hz / c->rate.denominator /
                          (int64_t)c->channels;
        const int64_t before = number_of(c, 0);
        int64_t dump = 0, first = 0, n_whole = 0;
        for (int64_t t = 1; t <= n; t++) {
            if (number_of(c, t) - before == dump)
                continue;
            check_dump(c, &plan, dump, first, t);
            n_whole += t - first == plan.spectra_per_dump;
            dump++;
            assert_int_equal(number_of(c, t) - before, dump);
            assert_int_equal(fx8_dump_of(&plan, t - 1), dump - 1);
            assert_int_equal(fx8_dump_of(&plan, t), dump);
            first = t;
        }
        assert_true(n_whole > 0 && dump > 20);
        assert_int_equal(plan.grid.denominator == 1,
                         n_whole >= dump - 1 && i >= 5);
        /* a run of n spectra: the last dump has the rest */
        plan.n_spectra = n;
        assert_int_equal(fx8_dump_spectra(&plan, dump), n - first);
        assert_int_equal(fx8_dump_spectra(&plan, dump + 1), 0);
    }
}

/* Edges are those of the day of the first centre: here the day after that of
 * the first sample, and others, also before 1970. */
TEST(edges_begin_at_midnight)
{
    struct aligned c = {{25000000, 27},        81920, 8, 0,
                        {86399, 999999999999}, 7,     1};
    const struct fx8_plan plan = plan_of(&c);
    c.start.unix_s -= DAY_S;
    for (int64_t t = 0; t < 1000; t++)
        assert_int_equal(fx8_dump_of(&plan, t), number_of(&c, t));
    for (int64_t day = -30000; day <= 30000; day += 10000) {
        c.start.unix_s = DAY_S - 1 + day * DAY_S;
        const struct fx8_plan other = plan_of(&c);
        assert_int_equal(other.grid.numerator, plan.grid.numerator);
        assert_int_equal(other.grid.denominator, plan.grid.denominator);
        assert_int_equal(other.grid.offset, plan.grid.offset);
    }
}

TEST(what_no_dump_can_have)
{
    struct fx8_plan plan = fx8_plan_default();
    struct fx8_error error;
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.channelizer.n_channels = 100000;
    const struct fx8_time start = {MIDNIGHT, 0};
    assert_int_equal(fx8_align_dumps(&plan, start, 99999, 1000000, &error),
                     FX8_ERR_USAGE);
    assert_string_equal(error.message,
                        "plan: grid: dumps of 99999/1000000 s: expected at "
                        "least one spectrum, and fewer digits");
    assert_int_equal(fx8_align_dumps(&plan, start, 1, 0, &error),
                     FX8_ERR_USAGE);
    plan.sample_rate = (struct fx8_rate){0, 0};
    assert_int_equal(fx8_align_dumps(&plan, start, 1, 1, &error),
                     FX8_ERR_USAGE);
    plan.sample_rate = (struct fx8_rate){INT64_MAX, 1};
    assert_int_equal(fx8_align_dumps(&plan, start, INT64_MAX, 1, &error),
                     FX8_ERR_USAGE);
    assert_int_equal(plan.grid.denominator, 0);
}
