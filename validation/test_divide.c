/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_divide.c -- the division routine that uses no divide instruction,
 * against the machine's division, bit by bit (any NaN equals any NaN), at every
 * variant; and the one step of its proof that is checked by trial.
 * test_functions.c divides arrays of any length and place.
 *
 * Shows (kernels, division): division without a divide instruction is correct
 *     for bit patterns, all pairs of exponents, the hardest dividends of all
 *     2²³ divisors, the ends of the range and all dividends of some divisors;
 *     the step of its proof that rests on trial holds
 * Within: to the bit (any NaN for any NaN)
 * Because: compared with the machine's division, which IEEE 754 defines
 */
#include <math.h>
#include <stdatomic.h>

#include "config/base/parallel.h"
#include "kernels/numeric/divide.h"
#include "kernels/operations.h"
#include "validation/testing.h"

/* Pairs that are divided at a time. */
#define BLOCK 4096

#define N_MANTISSAS ((size_t)1 << 23)

/* Neighbouring divisors of one item where all divisors are tried. */
#define PER_ITEM (BLOCK / 4)

/* Under a checker one part in this many is tried: the checker tests the code,
 * not its results. */
#define THINNING (FX8_CHECKED ? 64 : 1)

/* --- blocks of pairs over all threads ------------------------------------ */

struct campaign;

/* Fill block `item` of a campaign: BLOCK pairs. */
typedef void fill_block(const struct campaign *campaign, size_t item, float *a,
                        float *b);

struct campaign {
    fill_block *fill;
    size_t first_variant;     /* 1 leaves out the reference, which is slow */
    bool has_slow_path;       /* also the slow path for every pair */
    const uint32_t *divisors; /* mantissa fields, for some */
    atomic_size_t n_wrong;
};

static void divide_slowly(size_t n, const float *a, const float *b, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = fx8_divide_slow(a[k], b[k]);
}

static fx8_binary *markstein_of(const struct fx8_operations *variant)
{
    for (size_t k = 0; k < variant->n_forms; k++)
        if (strcmp(variant->forms[k].function, "divide") == 0 &&
            strcmp(variant->forms[k].form, "markstein") == 0)
            return variant->forms[k].binary;
    return NULL;
}

static bool is_equal(float x, float y)
{
    return fx8_float_bits(x) == fx8_float_bits(y) || (x != x && y != y);
}

static void check_block(struct campaign *campaign, const char *name,
                        fx8_binary *divide, const float *a, const float *b)
{
    float got[BLOCK];
    unsigned n_wrong = 0;
    memset(got, GARBAGE, sizeof got);
    divide(BLOCK, a, b, got);
    for (size_t k = 0; k < BLOCK; k++)
        n_wrong += !is_equal(got[k], a[k] / b[k]);
    if (n_wrong == 0 || atomic_fetch_add(&campaign->n_wrong, n_wrong) > 0)
        return;
    for (size_t k = 0; k < BLOCK; k++)
        if (!is_equal(got[k], a[k] / b[k]))
            print_error("%s: %a / %a is %a\n", name, (double)a[k], (double)b[k],
                        (double)got[k]);
}

static void divide_item(void *context, size_t item, size_t thread)
{
    (void)thread;
    struct campaign *campaign = context;
    float a[BLOCK], b[BLOCK];
    campaign->fill(campaign, item, a, b);
    for (size_t k = campaign->first_variant; k < fx8_operations_variants();
         k++) {
        const struct fx8_operations *variant = fx8_operations_variant(k);
        if (variant != NULL)
            check_block(campaign, variant->name, markstein_of(variant), a, b);
    }
    if (campaign->has_slow_path)
        check_block(campaign, "slow path", divide_slowly, a, b);
}

static void run_campaign(struct campaign campaign, size_t n_items)
{
    assert_true(n_items > 0);
    fx8_parallel_for(n_items, fx8_parallel_cpus(), false, divide_item,
                     &campaign);
    assert_int_equal(campaign.n_wrong, 0);
}

/* --- any bits ----------------------------------------------------------- */

static void fill_with_any_bits(const struct campaign *campaign, size_t item,
                               float *a, float *b)
{
    (void)campaign;
    struct generator g = {(uint64_t)item << 32 | 0x51};
    for (size_t k = 0; k < BLOCK; k++) {
        const uint64_t bits = random_bits(&g);
        a[k] = fx8_bits_float((uint32_t)bits);
        b[k] = fx8_bits_float((uint32_t)(bits >> 32));
    }
}

/* 2^27 pairs; long: 2^34 without the reference. */
TEST(any_bits)
{
    const size_t n_items = ((size_t)1 << 27) / BLOCK / THINNING;
    run_campaign((struct campaign){.fill = fill_with_any_bits}, n_items);
    if (is_long())
        run_campaign(
            (struct campaign){.fill = fill_with_any_bits, .first_variant = 1},
            128 * n_items);
}

/* --- every pair of exponents --------------------------------------------- */

/* The ends of the field, its middle, and two arbitrary values.  With the
 * exponents 0 and 255 they are zero, subnormal numbers, infinity and NaN. */
static const uint32_t mantissas[8] = {0,        1,        0x3fffff, 0x400000,
                                      0x5a827a, 0x6d2b91, 0x7ffffe, 0x7fffff};

/* `item` gives sign, exponent and mantissa of a; the place in the block gives
 * those of b. */
static void fill_with_exponents(const struct campaign *campaign, size_t item,
                                float *a, float *b)
{
    (void)campaign;
    const uint32_t bits_a =
        (uint32_t)(item & 0x1ff) << 23 | mantissas[item >> 9 & 7];
    for (size_t k = 0; k < BLOCK; k++) {
        a[k] = fx8_bits_float(bits_a);
        b[k] = fx8_bits_float((uint32_t)(k >> 3) << 23 | mantissas[k & 7]);
    }
}

TEST(every_pair_of_exponents)
{
    run_campaign(
        (struct campaign){.fill = fill_with_exponents, .has_slow_path = true},
        512 * 8);
}

/* --- quotients near the middle of two floats ----------------------------- */

/* The inverse of 2^power modulo an odd number. */
static uint64_t inverse_of_power(uint64_t odd, unsigned power)
{
    uint64_t x = 1 % odd;
    for (; power > 0; power--)
        x = (x & 1) != 0 ? (x + odd) / 2 : x / 2;
    return x;
}

/* A dividend A in [2^23, 2^24) with 2^shift A = +-2^k (mod b), 2^k the largest
 * power of two in b: for this divisor no other inexact quotient is nearer to a
 * multiple of 2^(23 - shift), half a unit in its last place. */
static uint32_t hard_dividend(uint32_t b, unsigned shift, bool is_below)
{
    const unsigned k = (unsigned)__builtin_ctz(b);
    const uint64_t odd = b >> k;
    uint64_t a = inverse_of_power(odd, shift - k);
    if (is_below)
        a = odd - a;
    if (a < N_MANTISSAS)
        a += (N_MANTISSAS - a + odd - 1) / odd * odd;
    return (uint32_t)a;
}

/* The first divisor of an item; the last ones come first. */
static uint32_t first_divisor(size_t item)
{
    return (uint32_t)(2 * N_MANTISSAS - (item + 1) * PER_ITEM);
}

/* Four dividends per divisor: half a unit in both binades of the quotient, on
 * either side. */
static void fill_with_hard_pairs(const struct campaign *campaign, size_t item,
                                 float *a, float *b)
{
    (void)campaign;
    for (uint32_t k = 0; k < BLOCK; k++) {
        const uint32_t divisor = first_divisor(item) + k / 4;
        b[k] = (float)divisor * 0x1p-23f;
        a[k] = (float)hard_dividend(divisor, 24 + (k & 1), (k & 2) != 0) *
               0x1p-23f;
    }
}

TEST(hardest_dividends_of_every_divisor)
{
    run_campaign((struct campaign){.fill = fill_with_hard_pairs},
                 N_MANTISSAS / PER_ITEM / THINNING);
}

/* --- the ends of the range ----------------------------------------------- */

/* A quotient half way between two subnormal numbers, or at one end of the
 * normal ones, where they round away. */
static double quotient_at_an_end(struct generator *g)
{
    switch (random_below(g, 4)) {
    case 0: /* arbitrary, with few bits: exact quotients */
        return ((double)(random_bits(g) >> (41 + random_below(g, 23))) + 0.5) *
               0x1p-149;
    case 1: /* the smallest */
        return ((double)random_below(g, 4) + 0.5) * 0x1p-149;
    case 2: /* the first normal number, from below */
        return 0x1p-126 - (double)random_below(g, 8) * 0x1p-151;
    default: /* the largest one, and where infinity begins */
        return 0x1p128 - (double)random_below(g, 8) * 0x1p102;
    }
}

static float random_divisor(struct generator *g)
{
    const uint32_t mantissa = (uint32_t)random_bits(g) & FX8_FLOAT_MANTISSA;
    const uint32_t kept = ~0u << random_below(g, 24);
    return fx8_bits_float((uint32_t)random_below(g, 255) << 23 |
                          (mantissa & kept));
}

static void fill_with_ends(const struct campaign *campaign, size_t item,
                           float *a, float *b)
{
    (void)campaign;
    struct generator g = {(uint64_t)item << 32 | 0x52};
    for (size_t k = 0; k < BLOCK; k++) {
        b[k] = random_divisor(&g);
        a[k] = (float)(quotient_at_an_end(&g) * (double)b[k]);
        const size_t step = random_below(&g, 4);
        if (step < 2)
            a[k] = nextafterf(a[k], step == 0 ? 0.0f : INFINITY);
    }
}

TEST(ends_of_the_range)
{
    run_campaign(
        (struct campaign){.fill = fill_with_ends, .has_slow_path = true},
        1024 / THINNING);
}

/* --- every dividend of many divisors ------------------------------------- */

static void fill_with_dividends(const struct campaign *campaign, size_t item,
                                float *a, float *b)
{
    const size_t per_divisor = N_MANTISSAS / BLOCK;
    const uint32_t divisor = campaign->divisors[item / per_divisor];
    const uint32_t first = (uint32_t)(item % per_divisor * BLOCK);
    for (uint32_t k = 0; k < BLOCK; k++) {
        a[k] = fx8_bits_float(FX8_FLOAT_ONE | (first + k));
        b[k] = fx8_bits_float(FX8_FLOAT_ONE | divisor);
    }
}

/* A quarter of them the first divisors, a quarter the last, the others random.
 */
static void every_dividend_of(size_t n_divisors, size_t first_variant)
{
    struct generator g = {53};
    uint32_t *divisors = exact(n_divisors * sizeof *divisors);
    for (uint32_t k = 0; k < n_divisors; k++)
        divisors[k] = k % 4 == 0   ? k / 4
                      : k % 4 == 1 ? (uint32_t)(N_MANTISSAS - 1 - k / 4)
                                   : (uint32_t)random_below(&g, N_MANTISSAS);
    run_campaign((struct campaign){.fill = fill_with_dividends,
                                   .first_variant = first_variant,
                                   .divisors = divisors},
                 n_divisors * (N_MANTISSAS / BLOCK));
    free(divisors);
}

/* All 2^23 dividends in [1, 2) of 12 divisors; long: of 4,096, and 64 for the
 * reference. */
TEST(every_dividend)
{
    every_dividend_of(is_long() ? 64 : THINNING == 1 ? 12 : 2, 0);
    if (is_long())
        every_dividend_of(4096 / THINNING, 1);
}

/* --- the proof ----------------------------------------------------------- */

/* How far the first steps may end from 1/B, u = 2^-24: by an error of the seed
 * of 1.5 2^-12, and by the rounding of two operations. */
#define SLACK (0x1p-24 * 0x1p-11)

/* Whether r satisfies |B r - 1| < 1 / (b + 1) and |r - 1/B| <= u/2 (1 + 2^-17).
 */
static bool is_good(uint32_t b, float r)
{
    const int64_t one = INT64_C(1) << 47; /* B r in units of 2^-47 */
    const int64_t product = (int64_t)(r * 0x1p24f) * (int64_t)b;
    const uint64_t off = (uint64_t)llabs(product - one);
    /* where the second holds, off < 2^25: the first does not overflow */
    return off * 2 <= b + (b >> 17) && off * (b + 1) < (uint64_t)one;
}

/* The divisors of an item, with every s in which the first steps may end. */
static void try_reciprocals(void *context, size_t item, size_t thread)
{
    (void)thread;
    atomic_size_t *n_bad = context;
    for (uint32_t k = 0; k < PER_ITEM; k++) {
        const uint32_t b = first_divisor(item) + k;
        const float divisor = (float)b * 0x1p-23f;
        const double exact_value = 0x1p23 / (double)b;
        const double lowest =
            exact_value * (1 - 2.25 * 0x1p-24) - 0x1p-25 - SLACK;
        const double highest = exact_value + 0x1p-25 + SLACK;
        float s = nextafterf((float)lowest, 0.0f);
        while ((double)s < lowest)
            s = nextafterf(s, 2.0f);
        bool is_tried = false;
        for (; (double)s <= highest; s = nextafterf(s, 2.0f)) {
            is_tried = true;
            if (!is_good(b, fx8_divide_reciprocal(divisor, s)))
                ++*n_bad;
        }
        if (!is_tried ||
            fabs((double)divisor * (double)fx8_divide_seed(divisor) - 1) >
                1.5 * 0x1p-12)
            ++*n_bad;
    }
}

/* All 2^23 divisors: the reference's seed is near enough, and from any such
 * seed the first steps lead to an r as near as the proof in divide.h needs. */
TEST(reciprocals_are_near_enough)
{
    atomic_size_t n_bad = 0;
    fx8_parallel_for(N_MANTISSAS / PER_ITEM / THINNING, fx8_parallel_cpus(),
                     false, try_reciprocals, &n_bad);
    assert_int_equal(n_bad, 0);
}
