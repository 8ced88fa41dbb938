/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_averages.c -- averages of dumps: how long, which rows, and their sums.
 *
 * Shows (results, averages in time): rows of baselines that are averaged over 1
 *     to 64 dumps: their number, order, dumps and places, for runs of any
 *     length; numbers of dumps are the largest powers of two within the loss;
 *     means, flags and weights, also where a run ends within a block
 * Within: rows equal; means 1e-6
 * Because: they are rounded to float
 */
#include <math.h>
#include <stdlib.h>

#include "correlator/run/averages.h"
#include "io/uvh5/rows.h"
#include "validation/job_case.h"

enum { BASELINES = 9, MOST_DUMPS = 150 };

static const uint8_t levels[BASELINES] = {6, 0, 2, 1, 6, 3, 2, 1, 4};
static const uint8_t long_levels[BASELINES] = {6, 5, 2, 3, 6, 3, 2, 1, 4};

static void check_rows(const uint8_t *of, size_t n_dumps)
{
    struct fx8_uvh5_rows rows;
    struct fx8_error error;
    must(fx8_uvh5_rows_open(n_dumps, BASELINES, of, &rows, &error), error);
    size_t row = 0;
    for (size_t dump = 0; dump < n_dumps; dump++) {
        const size_t *listed;
        const size_t n = fx8_uvh5_rows_of(&rows, dump, &listed);
        size_t k = 0;
        assert_int_equal(fx8_uvh5_rows_before(&rows, dump), row);
        for (size_t b = 0; b < BASELINES; b++) {
            const size_t length = (size_t)1 << of[b];
            if ((dump + 1) % length != 0 && dump + 1 < n_dumps)
                continue;
            assert_true(k < n);
            assert_int_equal(listed == NULL ? k : listed[k], b);
            assert_int_equal(fx8_uvh5_rows_find(&rows, row), dump);
            assert_int_equal(fx8_uvh5_interval_of(&rows, b, dump),
                             fx8_uvh5_first_interval(&rows, of[b]) +
                                 dump / length);
            k++;
            row++;
        }
        assert_int_equal(k, n);
        assert_int_equal(fx8_uvh5_block_begin(&rows, dump), dump / 64 * 64);
        assert_int_equal(fx8_uvh5_block_end(&rows, dump),
                         dump / 64 * 64 + 64 < n_dumps ? dump / 64 * 64 + 64
                                                       : n_dumps);
    }
    assert_int_equal(fx8_uvh5_rows_before(&rows, n_dumps), row);
    fx8_uvh5_rows_clear(&rows);
}

TEST(rows_of_runs_of_any_length)
{
    for (size_t n = 1; n <= MOST_DUMPS; n++) {
        check_rows(levels, n);
        check_rows(long_levels, n);
    }
}

/* A fringe of r turns a second, averaged over T s, keeps sin(x) / x, x = pi r
 * T: 0.9 at x = 0.7868 (Newton's method on paper). */
TEST(largest_power_of_two_within_the_loss)
{
    const double turns = 0.7868 / 3.14159265358979323846;
    const struct {
        double dumps; /* that lose a tenth */
        unsigned level;
    } cases[] = {{0.5, 0},  {0.99, 0}, {1.01, 0}, {1.99, 0}, {2.01, 1},
                 {4.01, 2}, {7.9, 2},  {63.9, 5}, {64.1, 6}, {1e6, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            fx8_averages_level(turns / (cases[i].dumps * 0.3), 0.3, 0.1),
            cases[i].level);
    assert_int_equal(fx8_averages_level(0.0, 1.0, 1e-12), 6);
}

/* At a pole the Earth turns east and north alike, and up not at all; at the
 * equator up and east, and north not. */
TEST(fringe_rates_of_axes)
{
    const double one = 7.2921159e-5 * 100.0 * 150e6 / 299792458.0;
    static const double axes[3][3] = {{100, 0, 0}, {0, 100, 0}, {0, 0, 100}};
    static const double expected[2][3] = {{1, 1, 0}, {1, 0, 1}};
    for (int place = 0; place < 2; place++)
        for (int axis = 0; axis < 3; axis++) {
            const double latitude_deg = place == 0 ? 90.0 : 0.0;
            for (int k = 0; k < 2; k++)
                assert_near(fx8_averages_rate_hz(axes[axis], latitude_deg,
                                                 150e6, 0.5 * k) /
                                one,
                            (1.0 + 0.5 * k) * expected[place][axis], 1e-12);
        }
}

/* --- sums -------------------------------------------------------------- */

enum { CELLS = 4, DUMPS = 6 };

/* Values of one baseline over 4 dumps, and of another over 1. */
struct dump {
    float visibilities[2 * CELLS][2];
    uint8_t flags[2 * CELLS];
    float nsamples[2 * CELLS];
};

static struct fx8_result fill(struct dump *dump, int index)
{
    for (int i = 0; i < 2 * CELLS; i++) {
        dump->visibilities[i][0] = (float)(index + 1);
        dump->visibilities[i][1] = (float)(-10 * i);
        dump->flags[i] = 0;
        dump->nsamples[i] = 1.0F;
    }
    dump->nsamples[1] = index == 2 ? 0.25F : 0.5F;
    dump->flags[2] = index < 3 && index != 1; /* dumps 0 and 2 */
    dump->flags[3] = 1;
    return (struct fx8_result){dump->visibilities[0], dump->flags,
                               dump->nsamples};
}

static void check_cell(const struct fx8_result *rows, size_t at, double re,
                       bool is_flagged, double nsamples)
{
    assert_near((double)rows->visibilities[2 * at], re, 1e-6 * re);
    assert_int_equal(rows->flags[at], is_flagged);
    assert_near((double)rows->nsamples[at], nsamples, 1e-6);
}

/* Dumps of 10 spectra, the third of 4; by hand. */
TEST(means_flags_and_weights)
{
    static const uint8_t of[2] = {2, 0};
    struct fx8_uvh5_rows rows;
    struct fx8_averages averages;
    struct fx8_error error;
    const struct fx8_result *out = NULL;
    struct dump dump;
    must(fx8_uvh5_rows_open(8, 2, of, &rows, &error), error);
    must(fx8_averages_open(&rows, CELLS, &averages, &error), error);
    for (int d = 0; d < DUMPS; d++) {
        const struct fx8_result given = fill(&dump, d);
        out = fx8_averages_add(&averages, (size_t)d, d == 2 ? 4 : 10, &given);
        const size_t single = d % 4 == 3 ? CELLS : 0;
        for (size_t i = 0; i < CELLS; i++)
            check_cell(out, single + i, d + 1, false, 1.0);
        if (d != 3)
            continue;
        check_cell(out, 0, (1 * 10 + 2 * 10 + 3 * 4 + 4 * 10) / 34.0, false, 1);
        check_cell(out, 1, (1 * 5 + 2 * 5 + 3 * 1 + 4 * 5) / 16.0, false,
                   16 / 34.0);
        check_cell(out, 2, (2 * 10 + 4 * 10) / 20.0, false, 20 / 34.0);
        check_cell(out, 3, (1 * 10 + 2 * 10 + 3 * 4 + 4 * 10) / 34.0, true, 1);
    }
    out = fx8_averages_end(&averages, DUMPS - 1);
    check_cell(out, 0, 5.5, false, 1.0);
    check_cell(out, CELLS, 6.0, false, 1.0);
    fx8_averages_close(&averages);
    fx8_uvh5_rows_clear(&rows);
}

/* --- jobs -------------------------------------------------------------- */

TEST(what_averages_are_refused_with)
{
    struct fx8_observation o = recording();
    static const char loss[] = "output.time_average_loss=0.1";
    refuse_last(
        &o, LIST("array.positions=none", loss),
        "expected positions of the antennas, not array.positions = none");
    refuse_last(&o, LIST("correlator.precision=interval", loss),
                "expected 0 with correlator.precision = interval: averages of "
                "bounds are rounded, too");
    refuse_last(&o, LIST("correlator.precision=both", loss),
                "expected 0 with correlator.precision = both: the comparison "
                "needs every dump");
    refuse_last(&o, LIST("output.compression=gzip", loss),
                "expected 0 with output.compression: packed chunks do not end "
                "where the dumps do that are averaged");
}
