/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_half_scale_add.c -- a x + b in halves against integers that hold the
 * result exactly.
 *
 * Shows: as test_half.c
 */
#include "validation/half_definition.h"

/** Integers of 128 bits: a x + b in units of 2^-48 is below 2^81. */
__extension__ typedef __int128 wide;

/** A finite half in units of 2^-24. */
static int64_t units_of(uint16_t half)
{
    const int shift = half >> 10 & 31;
    const int64_t fraction = half & 0x3ff;
    const int64_t units =
        shift == 0 ? fraction : (1024 + fraction) << (shift - 1);
    return half >> 15 ? -units : units;
}

/** An exact sum in units of 2^-48, not zero, rounded to half. */
static uint16_t round_sum(wide sum)
{
    const uint16_t sign = (uint16_t)((sum < 0) << 15);
    const wide magnitude = sum < 0 ? -sum : sum;
    uint32_t low = 0, high = INFINITE;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        const wide edge = (wide)tie[middle] << 23;
        if (magnitude > edge || (magnitude == edge && middle % 2 == 1))
            low = middle + 1;
        else
            high = middle;
    }
    return sign | (uint16_t)low;
}

/** a x + b for finite halves. */
static uint16_t exact_scale_add(uint16_t a, uint16_t x, uint16_t b)
{
    const wide sum =
        (wide)units_of(a) * units_of(x) + (wide)units_of(b) * (1 << 24);
    if (sum != 0)
        return round_sum(sum);
    /* an exact zero is negative only as the sum of two negative zeros */
    const bool is_product_zero = units_of(a) == 0 || units_of(x) == 0;
    return is_product_zero ? (a ^ x) & b & 0x8000 : 0;
}

static void check_scale_add(uint16_t a, uint16_t x, uint16_t b)
{
    const uint16_t got = fx8_half_scale_add(a, x, b);
    const uint16_t expected = exact_scale_add(a, x, b);
    if (got != expected)
        fail_msg("0x%04x 0x%04x + 0x%04x: 0x%04x, must be 0x%04x", a, x, b, got,
                 expected);
}

/** A random finite half. */
static uint16_t random_half(struct generator *g)
{
    return (uint16_t)(random_below(g, INFINITE) | random_below(g, 2) << 15);
}

TEST(scale_add_of_random_halves)
{
    const int n = FX8_CHECKED ? 1 << 18 : is_long() ? 1 << 28 : 1 << 22;
    struct generator g = {62};
    for (int k = 0; k < n; k++) {
        const uint16_t a = random_half(&g);
        const uint16_t x = random_half(&g);
        check_scale_add(a, x, random_half(&g));
    }
}

/** Every three exponents with fractions at both ends. */
TEST(scale_add_of_every_exponent)
{
    static const uint16_t fractions[] = {0, 1, 0x3ff};
    for (uint32_t e = 0; e < 31 * 31 * 31; e++)
        for (uint32_t f = 0; f < 27; f++) {
            const uint16_t a = (uint16_t)((e % 31) << 10 | fractions[f % 3]);
            const uint16_t x =
                (uint16_t)((e / 31 % 31) << 10 | fractions[f / 3 % 3]);
            const uint16_t b = (uint16_t)((e / 961) << 10 | fractions[f / 9]);
            check_scale_add(a, x, b);
            check_scale_add(a, x, b | 0x8000);
        }
}

/** Half a step of b of exponent e is 2^(e - 26), the product of exponents that
 *  add up to `sum` is in 2^(sum - 30) to 2^(sum - 28): below, at and above it.
 */
static void check_products_near_ties(uint32_t fraction_a, uint32_t fraction_x)
{
    static const uint16_t fractions[] = {0, 1, 0x3fe, 0x3ff};
    for (uint32_t e = 1; e < 31; e++)
        for (uint32_t sum = e + 1; sum < e + 7; sum++) {
            const uint16_t a = (uint16_t)((sum / 2) << 10 | fraction_a);
            const uint16_t x = (uint16_t)((sum - sum / 2) << 10 | fraction_x);
            for (size_t f = 0; f < 4; f++) {
                const uint16_t b = (uint16_t)(e << 10 | fractions[f]);
                check_scale_add(a, x, b);
                check_scale_add(a, x, b | 0x8000);
            }
        }
}

/** Products within 2^-10 of a power of two, plus numbers whose half step is
 *  about as large: sums very near a tie, which a rounding to float would make a
 *  tie. */
TEST(scale_add_near_ties)
{
    size_t n_products = 0;
    for (uint16_t ma = 0; ma < 1024; ma++)
        for (uint16_t mx = ma; mx < 1024; mx++) {
            const int32_t product = (1024 + ma) * (1024 + mx);
            if (abs(product - (1 << 20)) > 1 << 10 &&
                abs(product - (1 << 21)) > 1 << 11 &&
                abs(product - (1 << 22)) > 1 << 12)
                continue;
            n_products++;
            check_products_near_ties(ma, mx);
        }
    assert_true(n_products > 1000);
}

/** Infinities and NaN as in IEEE 754, also where the product alone exceeds the
 *  range of a half. */
TEST(scale_add_of_special_values)
{
    enum { ONE = 0x3c00, MOST = 0x7bff, INF = INFINITE, NAN_ = NOT_A_NUMBER };
    static const struct {
        uint16_t a, x, b, expected;
    } cases[] = {
        {INF, ONE, ONE, INF},
        {INF, 0x8000 | ONE, ONE, 0x8000 | INF},
        {ONE, ONE, 0x8000 | INF, 0x8000 | INF},
        {INF, 0, ONE, NAN_},
        {0, INF, INF, NAN_},
        {INF, ONE, 0x8000 | INF, NAN_},
        {INF, ONE, INF, INF},
        {MOST, MOST, 0x8000 | INF, 0x8000 | INF},
        {NAN_, ONE, ONE, NAN_},
        {ONE, NAN_, ONE, NAN_},
        {ONE, ONE, NAN_, NAN_},
        {0, 0, NAN_, NAN_},
        {MOST, 0x4000, 0x8000 | MOST, MOST}, /* 2 65504 - 65504 */
        {MOST, 0x4000, 0, INF},
        {MOST, ONE, 0x4c00, INF},  /* 65504 + 16 = 65520 */
        {MOST, ONE, 0x4bff, MOST}, /* 65504 + 15.99 */
        {0x8000, ONE, 0x8000, 0x8000},
        {0x8000, ONE, 0, 0},
        {ONE, ONE, 0x8000 | ONE, 0},
        {1, 1, 0x8000, 0},
        {0x8001, 1, 0, 0x8000},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        assert_true(
            agree(fx8_half_scale_add(cases[k].a, cases[k].x, cases[k].b),
                  cases[k].expected));
}

FIXTURE(make_thresholds, NULL)
