/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_digital_rf_samples.c -- the arithmetic of the Digital RF reader: fill
 * values, limits of gains, rounding and indices against their definitions.
 * python/test_digital_rf.py compares gains of inputs.
 *
 * Shows: as test_reader_digital_rf.c
 */
#include "io/digital_rf/digital_rf_reader.h"
#include "validation/testing.h"

#define FIRST_MS INT64_C(1600000000000)

/* --- numbers ----------------------------------------------------------- */

TEST(test_first_index)
{
    static const struct {
        int64_t numerator, denominator, milliseconds, index;
    } cases[] = {
        {1000, 1, FIRST_MS, FIRST_MS},
        {10, 1, 100, 1},
        {10, 1, 101, 2},
        {25000000, 27, 27000, 25000000},
        {25000000, 27, 27001, 25000926}, /* 25000925.9 */
        {25000000, 27, INT64_C(1600000020000), INT64_C(1481481500000000)},
        {1, 1000000, FIRST_MS, 1600},
        {INT64_C(100000000000), 1, FIRST_MS, FX8_DRF_MAX_INDEX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct fx8_rate rate = {cases[i].numerator, cases[i].denominator};
        assert_int_equal(fx8_drf_first_index(rate, cases[i].milliseconds),
                         cases[i].index);
    }
}

/* Every 16-bit number with every gain, against the rounding of libm. */
TEST(test_convert)
{
    int16_t *rows = exact(65536 * sizeof *rows);
    int8_t *samples = exact(65536);
    for (int i = 0; i < 65536; i++)
        rows[i] = (int16_t)(i - 32768);
    for (int shift = 0; shift <= FX8_DRF_MAX_SHIFT; shift++) {
        const int64_t n_clamped =
            fx8_drf_convert(rows, 65536, 1, 0, 1, 2, shift, samples);
        int64_t expected_clamped = 0;
        for (int i = 0; i < 65536; i++) {
            const double value = rint(ldexp(rows[i], -shift));
            expected_clamped += fabs(value) > 127;
            const int expected = (int)fmax(-127, fmin(127, value));
            assert_int_equal(samples[i], expected);
        }
        assert_int_equal(n_clamped, expected_clamped);
    }
    free(rows);
    free(samples);
}

/* 32 counts rms are 21.584 at the median. */
TEST(test_median_between_two_values)
{
    uint32_t *histogram = exact(32769 * sizeof *histogram);
    static const int cases[][3] = {{0, 0, 0},         {21, 21, 0}, {21, 22, 0},
                                   {21, 23, 1},       {0, 43, 0},  {0, 44, 1},
                                   {32768, 32768, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(histogram, 0, 32769 * sizeof *histogram);
        histogram[cases[i][0]] += 1000;
        histogram[cases[i][1]] += 1000;
        assert_int_equal(fx8_drf_choose_shift(histogram), cases[i][2]);
    }
    free(histogram);
}

/* Whether a row is in a gap, found by walking its run of fill values. */
static bool plain_fill(const bool *is_fill, size_t n_rows, size_t row,
                       size_t shortest, bool starts, bool ends)
{
    if (!is_fill[row])
        return false;
    size_t first = row, end = row + 1;
    while (first > 0 && is_fill[first - 1])
        first--;
    while (end < n_rows && is_fill[end])
        end++;
    return end - first >= shortest || (starts && first == 0) ||
           (ends && end == n_rows);
}

TEST(test_fill)
{
    static const struct {
        size_t n_numbers, part_bytes, shortest;
    } kinds[] = {{1, 1, 8}, {2, 1, 4}, {3, 1, 3}, {1, 2, 4},
                 {2, 2, 2}, {4, 2, 1}, {9, 1, 1}};
    struct generator generator = {52};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const size_t n_numbers = kinds[k].n_numbers;
        assert_int_equal(fx8_drf_shortest_fill(n_numbers * kinds[k].part_bytes),
                         kinds[k].shortest);
        for (int round = 0; round < 400; round++) {
            bool is_fill[60];
            const size_t n_rows = 1 + random_below(&generator, 60);
            for (size_t i = 0; i < n_rows; i++) /* runs of all lengths */
                is_fill[i] = random_below(&generator, 8) <
                             (i > 0 && is_fill[i - 1] ? 7 : 2);
            int8_t *rows = exact(n_rows * n_numbers * kinds[k].part_bytes);
            for (size_t i = 0; i < n_rows * n_numbers; i++) {
                /* a row with data has at least one number that is not the fill
                 * value */
                const bool least =
                    is_fill[i / n_numbers] || (i % n_numbers > 0 && i % 3 == 0);
                if (kinds[k].part_bytes == 1)
                    rows[i] = least ? INT8_MIN : 5;
                else
                    ((int16_t *)(void *)rows)[i] = least ? INT16_MIN : -128;
            }
            const bool starts = round % 2 == 0, ends = round % 4 < 2;
            struct fx8_drf_rows run;
            for (size_t from = 0; from < n_rows; from = run.first + run.n) {
                run =
                    fx8_drf_next_rows(rows, n_rows, n_numbers,
                                      kinds[k].part_bytes, from, starts, ends);
                assert_int_equal(run.first, from);
                assert_true(run.n > 0 && run.n <= n_rows - from);
                for (size_t i = from; i < from + run.n; i++)
                    assert_int_equal(run.is_fill, plain_fill(is_fill, n_rows, i,
                                                             kinds[k].shortest,
                                                             starts, ends));
            }
            free(rows);
        }
    }
}
