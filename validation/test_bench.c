/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_bench.c -- what `fx8 bench` computes from measured times, and which
 * cases it measures.
 *
 * Shows (commands, bench arithmetic): fitted exponents and their standard
 *     errors, and the line between two shapes, are those worked out by hand;
 *     sections on request are measured only then
 * Within: 10⁻¹⁴
 * Because: some logarithms and quotients in double
 */
#include <stdio.h>

#include "correlator/bench/bench.h"
#include "validation/testing.h"

#define ROUNDING 1e-14

static void check_power(const double *sizes, const double *seconds, size_t n,
                        double exponent, double standard_error)
{
    const struct fx8_bench_power power = fx8_bench_fit(sizes, seconds, n);
    assert_true(fabs(power.exponent - exponent) < ROUNDING);
    assert_true(fabs(power.standard_error - standard_error) < ROUNDING);
}

TEST(power_laws_are_found)
{
    const double sizes[] = {1, 2, 4, 8, 16};
    double seconds[5];
    for (size_t k = 0; k < 5; k++)
        seconds[k] = 0.3 * pow(sizes[k], 1.5);
    check_power(sizes, seconds, 5, 1.5, 0.0);
    /* binary logarithms 0, 2, 1 over 0, 1, 2: slope 1/2, off by -1/2, 1, -1/2
     */
    check_power(sizes, (const double[]){1, 4, 2}, 3, 0.5, sqrt(1.5 / 1 / 2));
    check_power(sizes, (const double[]){2, 2, 2}, 3, 0.0, 0.0);
}

static void check_between(double low, double high, double size, bool is_log,
                          double time)
{
    const double sizes[] = {low, high}, times[] = {1.0, 4.0};
    const double found = fx8_bench_between(sizes, times, size, is_log);
    assert_true(fabs(found - time) < ROUNDING);
}

TEST(lines_are_straight_in_size_or_its_logarithm)
{
    check_between(16, 64, 16, false, 1.0);
    check_between(16, 64, 17, false, 1.0625);
    check_between(16, 64, 64, false, 4.0);
    check_between(64, 256, 64, true, 1.0);
    check_between(64, 256, 128, true, 2.5);
    check_between(64, 256, 256, true, 4.0);
}

static size_t count(const char *section, bool on_request)
{
    return fx8_bench_count(&(struct fx8_bench_wish){
        .kernel = "auto", .section = section, .on_request = on_request});
}

TEST(cases_on_request_are_left_out_otherwise)
{
    const size_t n = fx8_bench_growth.n_cases + fx8_bench_shapes.n_cases;
    assert_int_equal(count(NULL, true) - count(NULL, false), n);
    assert_int_equal(count("growth", true), fx8_bench_growth.n_cases);
    assert_int_equal(count("growth", false), 0);
}

TEST(shapes_lie_between_their_neighbours)
{
    for (size_t k = 0; k < fx8_bench_shapes.n_cases; k++) {
        char name[FX8_BENCH_NAME_SIZE], axis[16];
        unsigned size, low, high;
        fx8_bench_shapes.name_case(k, name);
        assert_int_equal(
            sscanf(name, "%u %15[^,], %u to %u", &size, axis, &low, &high), 4);
        assert_true(low < size && size < high);
        /* powers of two */
        assert_int_equal(low & (low - 1), 0);
        assert_int_equal(high & (high - 1), 0);
    }
}
