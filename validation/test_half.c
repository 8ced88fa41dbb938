/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_half.c -- half precision against its definition: all 2^32 floats at
 * every variant and in the hardware's F16C, all 65,536 halves, and a x + b
 * against integers that hold the result exactly.
 *
 * The address and thread checkers slow this down too much: under them the pass
 * over all floats takes one block of 65,536 in 251.
 *
 * Shows (kernels, half precision): all 2³² floats in every variant and in F16C,
 *     all halves, and scale-and-add are correct
 * Within: to the bit (any NaN for any NaN)
 * Because: conversions are checked against a table of the 31,744 floats at
 *     which the nearest half changes, scale-and-add against 128-bit integers
 */
#include <math.h>
#include <stdatomic.h>

#include "config/base/parallel.h"
#include "kernels/numeric/half.h"
#include "validation/testing.h"
#include "validation/variants.h"

/* --- the definition, without bit arithmetic ---------------------------- */

/** Bits of halves; the mask of a float without its sign. */
#define INFINITE      0x7c00
#define NOT_A_NUMBER  0x7e00
#define ONES_OF_FLOAT 0x7fffffff

/** threshold[h]: bits of the smallest float that rounds to more than half h,
 *  h from 0 to 65504, which is 0x7bff. */
static uint32_t threshold[INFINITE];

/** tie[h]: half way between half h and the next, in units of 2^-25. */
static int64_t tie[INFINITE];

/** Value of a half without sign. Infinity counts as 65536: IEEE 754 rounds to
 *  infinity from half way to that on. */
static double value_of(uint32_t half)
{
    const int exponent = (int)(half >> 10);
    const double fraction = (half & 0x3ff) * 0x1p-10;
    return exponent == 0 ? ldexp(fraction, -14)
                         : ldexp(1.0 + fraction, exponent - 15);
}

/** A tie goes to the even half, whose last bit is 0. */
static int make_thresholds(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < INFINITE; half++) {
        const double middle = (value_of(half) + value_of(half + 1)) / 2;
        tie[half] = (int64_t)(middle * 0x1p25);
        threshold[half] = fx8_float_bits((float)middle) + (half % 2 == 0);
    }
    return 0;
}

/** The half of a float without sign: the number of thresholds not above it. */
static uint32_t half_below(uint32_t magnitude)
{
    uint32_t low = 0, high = INFINITE; /* the result is in [low, high] */
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (threshold[middle] <= magnitude)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** Halves by definition for n floats of one sign, in ascending order of their
 *  bits; the first NaN must begin a call. */
static void define(size_t n, uint32_t first, uint16_t *half)
{
    const uint16_t sign = (uint16_t)(first >> 16 & 0x8000);
    const uint32_t magnitude = first & ONES_OF_FLOAT;
    uint32_t h = magnitude >= 0x7f800001 ? NOT_A_NUMBER : half_below(magnitude);
    for (size_t k = 0; k < n; h++) {
        size_t end = n;
        if (h < INFINITE && threshold[h] - magnitude < n)
            end = threshold[h] - magnitude;
        for (; k < end; k++)
            half[k] = sign | (uint16_t)h;
    }
}

static uint16_t definition(float x)
{
    uint16_t half;
    define(1, fx8_float_bits(x), &half);
    return half;
}

static bool is_nan(uint16_t half)
{
    return (half & 0x7fff) > INFINITE;
}

/** Equal, or both a NaN. */
static bool agree(uint16_t a, uint16_t b)
{
    return a == b || (is_nan(a) && is_nan(b));
}

/* --- all floats -------------------------------------------------------------
 */

/** The entry from_float of a table, or something like it. */
typedef void from_float(size_t n, float scale, const float *x, uint16_t *half);

/** The instruction itself, to nearest even; n a multiple of 4, scale 1.  NULL:
 *  this machine lacks it.  F16C came before AVX2 in every CPU; not every
 *  compiler can ask for it. */
#if defined(__x86_64__)
static void f16c(size_t n, float scale, const float *x, uint16_t *half)
{
    typedef float four_floats[4];
    typedef uint16_t four_halves[4];
    (void)scale;
    for (size_t k = 0; k < n; k += 4)
        __asm__("vmovups %1, %%xmm0\n\t"
                "vcvtps2ph $0, %%xmm0, %0"
                : "=m"(*(four_halves *)(half + k))
                : "m"(*(const four_floats *)(x + k))
                : "xmm0");
}

static from_float *hardware(void)
{
    return __builtin_cpu_supports("avx2") ? f16c : NULL;
}
#else
static from_float *hardware(void)
{
    return NULL;
}
#endif

#define N_BLOCK 4096
/* floats of one item: those with the same upper half */
#define N_ITEM 0x10000
/* items from one to the next */
#define STEP (FX8_CHECKED ? 251 : 1)

static void check_block(const char *name, from_float *convert, uint32_t first,
                        const float *x, const uint16_t *expected,
                        atomic_bool *is_wrong)
{
    uint16_t half[N_BLOCK];
    convert(N_BLOCK, 1.0f, x, half);
    if (memcmp(half, expected, sizeof half) == 0)
        return;
    for (uint32_t k = 0; k < N_BLOCK; k++)
        if (!agree(half[k], expected[k]) && !atomic_exchange(is_wrong, true))
            print_error("%s: float 0x%08x becomes 0x%04x, not 0x%04x\n", name,
                        (unsigned)(first + k), half[k], expected[k]);
}

static void check_item(void *is_wrong, size_t item, size_t thread)
{
    (void)thread;
    float x[N_BLOCK];
    uint16_t expected[N_BLOCK];
    for (uint32_t block = 0; block < N_ITEM; block += N_BLOCK) {
        const uint32_t first = (uint32_t)(item * STEP * N_ITEM) + block;
        for (uint32_t k = 0; k < N_BLOCK; k++)
            x[k] = fx8_bits_float(first + k);
        define(N_BLOCK, first, expected);
        if ((first & ONES_OF_FLOAT) == 0x7f800000) /* infinity; then NaN */
            define(N_BLOCK - 1, first + 1, expected + 1);
        FOR_EACH_VARIANT (variant)
            check_block(variant->name, variant->half.from_float, first, x,
                        expected, is_wrong);
        if (hardware() != NULL)
            check_block("F16C", hardware(), first, x, expected, is_wrong);
    }
}

TEST(every_float)
{
    atomic_bool is_wrong = false;
    fx8_parallel_for((N_ITEM - 1) / STEP + 1, fx8_parallel_cpus(), false,
                     check_item, &is_wrong);
    assert_false(is_wrong);
}

/** Every float at which the half changes and its neighbours: the critical ones,
 *  in case the pass above takes only a sample. */
TEST(every_threshold)
{
    enum { N = 6 };
    float x[N];
    uint16_t half[N];
    FOR_EACH_VARIANT (variant)
        for (uint32_t h = 0; h < INFINITE; h++) {
            for (uint32_t k = 0; k < N; k++)
                x[k] =
                    fx8_bits_float((threshold[h] - 2 + k / 2) | (k % 2) << 31);
            variant->half.from_float(N, 1.0f, x, half);
            for (uint32_t k = 0; k < N; k++)
                assert_int_equal(half[k], (h + (k >= 4)) | (k % 2) << 15);
        }
}

/* --- all halves, scale, ragged ends ------------------------------------- */

TEST(halves_round_trip)
{
    enum { N = 0x10000 };
    static uint16_t half[N], back[N];
    static float x[N];
    for (uint32_t k = 0; k < N; k++)
        half[k] = (uint16_t)k;
    FOR_EACH_VARIANT (variant) {
        variant->half.to_float(N, half, x);
        variant->half.from_float(N, 1.0f, x, back);
        for (uint32_t k = 0; k < N; k++) {
            const uint32_t magnitude = k & 0x7fff;
            assert_int_equal(signbit(x[k]) != 0, k >> 15);
            if (magnitude > INFINITE)
                assert_true(isnan(x[k]) && is_nan(back[k]));
            else if (magnitude == INFINITE)
                assert_true(isinf(x[k]));
            else
                assert_true(fabs((double)x[k]) == value_of(magnitude));
            assert_true(agree(back[k], half[k]));
        }
    }
}

/** x scale is rounded to float first, then to half: two roundings. */
TEST(scales)
{
    static const float scales[] = {0.0f,     1.0f,     -1.0f,    16384.0f,
                                   0x1p-14f, 1 / 3.0f, 65504.0f, 1e-30f,
                                   1e30f,    INFINITY, NAN};
    enum { N = 1000 };
    struct generator g = {61};
    float x[N];
    uint16_t half[N];
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        for (size_t k = 0; k < N; k++) {
            const uint32_t bits = (uint32_t)random_bits(&g);
            /* any float, and floats near 1 */
            x[k] = fx8_bits_float(k % 2 == 0 ? bits : 0x3f000000 + (bits >> 7));
        }
        FOR_EACH_VARIANT (variant) {
            variant->half.from_float(N, scales[s], x, half);
            for (size_t k = 0; k < N; k++)
                assert_true(agree(half[k], definition(x[k] * scales[s])));
        }
    }
}

/** Nothing is read or written beyond n (the address checker watches reads). */
TEST(ragged_ends)
{
    enum { GUARD = 16 };
    FOR_EACH_VARIANT (variant)
        for (size_t n = 0; n <= 100; n++)
            for (size_t offset = 0; offset < 3; offset++) {
                float *x = exact((offset + n) * sizeof *x);
                uint16_t *half = exact((offset + n) * sizeof *half);
                float *to = exact((offset + n + GUARD) * sizeof *to);
                uint16_t *from = exact((offset + n + GUARD) * sizeof *from);
                for (size_t k = offset; k < offset + n; k++) {
                    x[k] = (float)k * 0.5f - 7.0f;
                    half[k] = definition(x[k]);
                }
                variant->half.from_float(n, 1.0f, x + offset, from + offset);
                variant->half.to_float(n, half + offset, to + offset);
                assert_memory_equal(from + offset, half + offset,
                                    n * sizeof *half);
                assert_memory_equal(to + offset, x + offset, n * sizeof *x);
                for (size_t k = 0; k < offset + n + GUARD; k++) {
                    if (k >= offset && k < offset + n)
                        continue;
                    assert_int_equal(fx8_float_bits(to[k]),
                                     GARBAGE * 0x01010101u);
                    assert_int_equal(from[k], GARBAGE * 0x0101);
                }
                free(x);
                free(half);
                free(to);
                free(from);
            }
}

/* --- a x + b ------------------------------------------------------------ */

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
