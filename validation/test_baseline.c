/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_baseline.c -- baseline order, polarisation order and conjugation.
 *
 * Shows: as test_plan.c
 */
#include "correlator/fx8.h"
#include "kernels/baseline.h"
#include "kernels/operations.h"
#include "validation/testing.h"

/* Three antennas of two feeds, written out; input = 2 antenna + feed. */
TEST(table_of_two_feeds)
{
    static const struct {
        unsigned input_1, input_2, pair;
        bool conjugate;
    } expected[24] = {
        {0, 0, 0, 0},  {1, 1, 2, 0},  {0, 1, 1, 0},  {1, 0, 1, 1},
        {0, 2, 3, 0},  {1, 3, 7, 0},  {0, 3, 6, 0},  {1, 2, 4, 0},
        {0, 4, 10, 0}, {1, 5, 16, 0}, {0, 5, 15, 0}, {1, 4, 11, 0},
        {2, 2, 5, 0},  {3, 3, 9, 0},  {2, 3, 8, 0},  {3, 2, 8, 1},
        {2, 4, 12, 0}, {3, 5, 18, 0}, {2, 5, 17, 0}, {3, 4, 13, 0},
        {4, 4, 14, 0}, {5, 5, 20, 0}, {4, 5, 19, 0}, {5, 4, 19, 1},
    };
    struct fx8_product table[24];
    fx8_baseline_table(3, 2, table);
    for (size_t k = 0; k < 24; k++) {
        assert_int_equal(table[k].input_1, expected[k].input_1);
        assert_int_equal(table[k].input_2, expected[k].input_2);
        assert_int_equal(table[k].pair, expected[k].pair);
        assert_int_equal(table[k].conjugate, expected[k].conjugate);
    }
}
