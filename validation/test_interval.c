/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_interval.c -- the correlator of bounds in every variant of this machine:
 * its bounds must enclose the unrounded sums and the results of that variant's
 * FP32 correlator.
 *
 * Shows (kernels, bounds): with directed rounding, in every variant, in the
 *     engine and in post-processing, both the unrounded sum and the FP32 sum
 *     lie inside the bounds; integers beyond 2²⁴ that are not folded: inside,
 *     width above zero; folded: width zero; the thread's rounding mode is
 *     neither used nor changed
 * Within: the exact sum inside; width at most 2·520·2⁻²³ of Σ|x||x|
 * Because: sums as 640-bit fixed-point numbers (`exact_sum.h`) do not round; a
 *     directed rounding may be off by a whole unit
 * In: test_interval_results.c
 */
#include <fenv.h>
#include <math.h>

#include "config/base/shape.h"
#include "kernels/operations.h"
#include "validation/exact_sum.h"
#include "validation/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD,
                            FE_TOWARDZERO};

/* --- data ------------------------------------------------------------------
 */

enum fill { NOISE, WIDE, CANCELLING, TINY, N_FILLS };

/* A float in [-1, 1) with 24 random bits. */
static float random_unit(struct generator *g)
{
    return (float)random_in(g, -(1 << 23), (1 << 23) - 1) * 0x1p-23f;
}

/* WIDE: exponents over 40 binary digits.  TINY: products around the smallest
 * float, and below it. */
static float random_value(enum fill fill, struct generator *g)
{
    const float unit = random_unit(g);
    switch (fill) {
    case WIDE:
        return ldexpf(unit, (int)random_in(g, -20, 20));
    case TINY:
        return ldexpf(unit, (int)random_in(g, -90, -60));
    default:
        return unit * 30.0f;
    }
}

/** Spectra of n_inputs rows; padding rows and the tail behind n_times are
 *  garbage. */
struct spectra {
    size_t n_inputs, n_times, stride;
    struct fx8_cf32 *x;
    double prior; /* unit of the prior content of the sums */
};

static struct spectra open_spectra(size_t n_inputs, size_t n_times)
{
    const size_t stride = n_times + FX8_GROUP;
    const size_t rows = fx8_round_up(n_inputs, FX8_ROW_BLOCK);
    struct fx8_error error;
    void *memory;
    must(fx8_allocate(rows * stride, sizeof(struct fx8_cf32), "test", &memory,
                      &error),
         error);
    struct spectra s = {n_inputs, n_times, stride, memory, 0.0};
    for (size_t k = 0; k < rows * stride; k++)
        s.x[k] = (struct fx8_cf32){NAN, INFINITY};
    return s;
}

/* CANCELLING: every other spectrum cancels the one before, up to its last bits.
 */
static struct spectra make_spectra(size_t n_inputs, size_t n_times,
                                   enum fill fill, struct generator *g)
{
    struct spectra s = open_spectra(n_inputs, n_times);
    s.prior = fill == TINY ? 0.0 : 0x1.5555p-30;
    for (size_t input = 0; input < n_inputs; input++) {
        struct fx8_cf32 *row = s.x + input * s.stride;
        for (size_t t = 0; t < n_times; t++) {
            row[t].re = random_value(fill, g);
            row[t].im = random_value(fill, g);
            if (fill == CANCELLING && t % 2 == 1) {
                const float sign = input % 2 == 0 ? 1.0f : -1.0f;
                row[t].re = sign * row[t - 1].re * (1.0f + 0x1p-22f);
                row[t].im = sign * row[t - 1].im;
            }
        }
    }
    return s;
}

/* Prior content of the sums; exact in any rounding mode. */
static double prior(const struct spectra *s, size_t k)
{
    return (double)(k % 7) * s->prior;
}

/* conj(E_i) E_j over all spectra, [pair][re, im], on top of prior(). */
static struct exact_sum *exact_sums(const struct spectra *s)
{
    struct exact_sum *sums =
        calloc(2 * fx8_pair_count(s->n_inputs), sizeof *sums);
    assert_non_null(sums);
    for (size_t j = 0; j < s->n_inputs; j++)
        for (size_t i = 0; i <= j; i++) {
            struct exact_sum *sum = sums + 2 * fx8_pair_index(i, j);
            for (size_t k = 0; k < 2; k++)
                exact_add(sum + k, prior(s, 2 * fx8_pair_index(i, j) + k));
            for (size_t t = 0; t < s->n_times; t++) {
                const struct fx8_cf32 a = s->x[i * s->stride + t];
                const struct fx8_cf32 b = s->x[j * s->stride + t];
                exact_add_product(sum, a.re, b.re);
                exact_add_product(sum, a.im, b.im);
                exact_add_product(sum + 1, a.re, b.im);
                exact_add_product(sum + 1, -a.im, b.re);
            }
        }
    return sums;
}

/* --- running one variant ---------------------------------------------- */

/** How the work is split: calls of `step` spectra, row blocks in two calls, a
 *  fold every `segment` spectra. */
struct cut {
    size_t step, row_cut, segment;
};

struct bounds {
    double *down, *up;
};

static void clear_bounds(struct bounds *bounds)
{
    free(bounds->down);
    free(bounds->up);
}

static double *prior_sums(const struct spectra *s)
{
    const size_t n = 2 * fx8_pair_count(s->n_inputs);
    double *sums = exact(n * sizeof *sums);
    for (size_t k = 0; k < n; k++)
        sums[k] = prior(s, k);
    return sums;
}

static struct bounds run(const struct fx8_operations *variant,
                         const struct spectra *s, const struct cut *cut)
{
    const struct fx8_correlate_interval *interval = &variant->interval;
    const size_t n_items = interval->accumulator_size(s->n_inputs);
    const size_t rows = (s->n_inputs + FX8_ROW_BLOCK - 1) / FX8_ROW_BLOCK;
    const size_t middle = rows * cut->row_cut / 4;
    double *accumulator = exact(n_items * sizeof *accumulator);
    memset(accumulator, 0, n_items * sizeof *accumulator);
    for (size_t t = 0; t < s->n_times; t += cut->step) {
        const size_t left = s->n_times - t;
        const size_t n = left < cut->step ? left : cut->step;
        interval->accumulate(s->n_inputs, middle, rows, n, s->x + t, s->stride,
                             cut->segment, accumulator);
        interval->accumulate(s->n_inputs, 0, middle, n, s->x + t, s->stride,
                             cut->segment, accumulator);
    }
    const struct bounds bounds = {prior_sums(s), prior_sums(s)};
    interval->fold(s->n_inputs, accumulator, bounds.down, bounds.up);
    for (size_t k = 0; k < n_items; k++)
        assert_true(accumulator[k] == 0.0);
    free(accumulator);
    return bounds;
}

static double *run_fp32(const struct fx8_operations *variant,
                        const struct spectra *s)
{
    const size_t n_items = variant->fp32.accumulator_size(s->n_inputs);
    const size_t rows = (s->n_inputs + FX8_ROW_BLOCK - 1) / FX8_ROW_BLOCK;
    double *accumulator = calloc(n_items, sizeof *accumulator);
    assert_non_null(accumulator);
    variant->fp32.accumulate(s->n_inputs, 0, rows, s->n_times, s->x, s->stride,
                             accumulator);
    double *sums = prior_sums(s);
    variant->fp32.fold(s->n_inputs, accumulator, sums);
    free(accumulator);
    return sums;
}

/* --- the bounds ------------------------------------------------------------
 */

static void check_exact(const char *name, const struct spectra *s,
                        const struct exact_sum *sums,
                        const struct bounds *bounds)
{
    for (size_t k = 0; k < 2 * fx8_pair_count(s->n_inputs); k++)
        if (exact_compare(sums + k, bounds->down[k]) < 0 ||
            exact_compare(sums + k, bounds->up[k]) > 0)
            fail_msg("%s: %zu inputs, %zu times, item %zu: the exact sum is "
                     "%s [%a, %a]",
                     name, s->n_inputs, s->n_times, k,
                     exact_compare(sums + k, bounds->down[k]) < 0 ? "below"
                                                                  : "above",
                     bounds->down[k], bounds->up[k]);
}

static void check_fp32(const struct fx8_operations *variant,
                       const struct spectra *s, const struct bounds *bounds)
{
    double *sums = run_fp32(variant, s);
    for (size_t k = 0; k < 2 * fx8_pair_count(s->n_inputs); k++)
        if (!(bounds->down[k] <= sums[k] && sums[k] <= bounds->up[k]))
            fail_msg("%s: %zu inputs, %zu times, item %zu: FP32 %a is outside "
                     "[%a, %a]",
                     variant->name, s->n_inputs, s->n_times, k, sums[k],
                     bounds->down[k], bounds->up[k]);
    free(sums);
}

static void check_variant(const struct fx8_operations *variant,
                          const struct spectra *s, const struct exact_sum *sums,
                          struct generator *g)
{
    const struct cut whole = {s->n_times, 0, FX8_MAX_FP32_PRODUCTS};
    struct bounds bounds = run(variant, s, &whole);
    check_exact(variant->name, s, sums, &bounds);
    check_fp32(variant, s, &bounds);
    clear_bounds(&bounds);
    const struct cut cut = {FX8_GROUP * (1 + random_below(g, 20)),
                            random_below(g, 4),
                            FX8_GROUP * (1 + random_below(g, 40))};
    bounds = run(variant, s, &cut);
    check_exact(variant->name, s, sums, &bounds);
    clear_bounds(&bounds);
}

TEST(exact_and_fp32_sums_lie_inside)
{
    static const size_t times[] = {32, 64, 96, 512, 544, 1056};
    struct generator g = {41};
    for (size_t n_inputs = 1; n_inputs <= 17; n_inputs++)
        for (enum fill fill = 0; fill < N_FILLS; fill++) {
            const size_t n_times = times[random_below(&g, COUNT_OF(times))];
            struct spectra s = make_spectra(n_inputs, n_times, fill, &g);
            struct exact_sum *sums = exact_sums(&s);
            for (size_t l = 0; l < fx8_operations_variants(); l++)
                if (fx8_operations_variant(l) != NULL)
                    check_variant(fx8_operations_variant(l), &s, sums, &g);
            free(sums);
            free(s.x);
        }
}

/* Bounds far apart would enclose anything.  The limit is FP32's bound, 520
 * roundings of half a unit, doubled, as a directed rounding may be a whole unit
 * off. */
TEST(bounds_are_near)
{
    struct generator g = {42};
    struct spectra s = make_spectra(5, 1056, NOISE, &g);
    for (size_t l = 0; l < fx8_operations_variants(); l++) {
        const struct fx8_operations *variant = fx8_operations_variant(l);
        if (variant == NULL)
            continue;
        const struct cut whole = {s.n_times, 0, FX8_MAX_FP32_PRODUCTS};
        struct bounds bounds = run(variant, &s, &whole);
        for (size_t j = 0; j < 5; j++)
            for (size_t i = 0; i <= j; i++) {
                double size = 0.0;
                for (size_t t = 0; t < s.n_times; t++) {
                    const struct fx8_cf32 a = s.x[i * s.stride + t];
                    const struct fx8_cf32 b = s.x[j * s.stride + t];
                    size += hypot((double)a.re, (double)a.im) *
                            hypot((double)b.re, (double)b.im);
                }
                const size_t at = 2 * fx8_pair_index(i, j);
                const double most = 2 * 520 * 0x1p-23 * size;
                assert_true(bounds.up[at] - bounds.down[at] <= most);
                assert_true(bounds.up[at + 1] - bounds.down[at + 1] <= most);
                assert_true(bounds.up[at] - bounds.down[at] > 0.0);
            }
        clear_bounds(&bounds);
    }
    free(s.x);
}

/* --- integers --------------------------------------------------------------
 */

#define N_PRODUCTS ((size_t)1 << 17)
#define N_INTEGERS 5

/* Spectra with both parts in 40 .. 127: real parts grow to 2^30. */
static struct spectra make_integers(int64_t sums[])
{
    struct generator g = {43};
    struct spectra s = open_spectra(N_INTEGERS, N_PRODUCTS);
    for (size_t input = 0; input < N_INTEGERS; input++)
        for (size_t t = 0; t < N_PRODUCTS; t++)
            s.x[input * s.stride + t] = (struct fx8_cf32){
                (float)random_in(&g, 40, 127), (float)random_in(&g, 40, 127)};
    for (size_t j = 0; j < N_INTEGERS; j++)
        for (size_t i = 0; i <= j; i++) {
            int64_t *sum = sums + 2 * fx8_pair_index(i, j);
            for (size_t t = 0; t < N_PRODUCTS; t++) {
                const struct fx8_cf32 a = s.x[i * s.stride + t];
                const struct fx8_cf32 b = s.x[j * s.stride + t];
                sum[0] += (int64_t)(a.re * b.re) + (int64_t)(a.im * b.im);
                sum[1] += (int64_t)(a.re * b.im) - (int64_t)(a.im * b.re);
            }
            assert_true(sum[0] > 1 << 24);
        }
    return s;
}

/* Without folds floats lose digits, and the bounds show it: they enclose the
 * sum of integers and differ.  Folded every 512 products they are equal. */
TEST(integers_beyond_24_bits)
{
    const struct cut unfolded = {N_PRODUCTS, 0, N_PRODUCTS};
    const struct cut folded = {N_PRODUCTS, 0, FX8_MAX_FP32_PRODUCTS};
    const size_t n_sums = 2 * fx8_pair_count(N_INTEGERS);
    int64_t sums[N_INTEGERS * (N_INTEGERS + 1)] = {0};
    struct spectra s = make_integers(sums);
    for (size_t l = 0; l < fx8_operations_variants(); l++) {
        const struct fx8_operations *variant = fx8_operations_variant(l);
        if (variant == NULL)
            continue;
        struct bounds bounds = run(variant, &s, &unfolded);
        for (size_t k = 0; k < n_sums; k++) {
            const double sum = (double)sums[k];
            assert_true(bounds.down[k] <= sum && sum <= bounds.up[k]);
            if (k % 2 == 0)
                assert_true(bounds.down[k] < bounds.up[k]);
        }
        clear_bounds(&bounds);
        bounds = run(variant, &s, &folded);
        for (size_t k = 0; k < n_sums; k++) {
            assert_true(bounds.down[k] == (double)sums[k]);
            assert_true(bounds.up[k] == (double)sums[k]);
        }
        clear_bounds(&bounds);
    }
    free(s.x);
}

/* --- the thread's rounding mode --------------------------------------- */

TEST(mode_is_neither_used_nor_left_changed)
{
    struct generator g = {44};
    struct spectra s = make_spectra(6, 544, NOISE, &g);
    const size_t bytes = 2 * fx8_pair_count(6) * sizeof(double);
    const struct cut cut = {96, 2, 64};
    for (size_t l = 0; l < fx8_operations_variants(); l++) {
        const struct fx8_operations *variant = fx8_operations_variant(l);
        if (variant == NULL)
            continue;
        struct bounds first = run(variant, &s, &cut);
        for (size_t m = 0; m < COUNT_OF(modes); m++) {
            fesetround(modes[m]);
            struct bounds bounds = run(variant, &s, &cut);
            const int mode = fegetround();
            fesetround(FE_TONEAREST);
            assert_int_equal(mode, modes[m]);
            assert_memory_equal(bounds.down, first.down, bytes);
            assert_memory_equal(bounds.up, first.up, bytes);
            clear_bounds(&bounds);
        }
        clear_bounds(&first);
    }
    free(s.x);
}

/* --- the exact sum itself --------------------------------------------- */

TEST(exact_sums_are_exact)
{
    struct exact_sum sum = {{0}};
    exact_add(&sum, 0x1p100);
    exact_add(&sum, 0x1p-298);
    exact_add(&sum, -0x1p100);
    assert_int_equal(exact_compare(&sum, 0.0), 1);
    assert_int_equal(exact_compare(&sum, 0x1p-298), 0);
    assert_int_equal(exact_compare(&sum, 0x1p-297), -1);
    exact_add_product(&sum, 0x1p-149f, -0x1p-148f);
    assert_int_equal(exact_compare(&sum, 0.0), -1);
    assert_int_equal(exact_compare(&sum, -0x1p-298), 0);
    exact_add(&sum, 0x1.fffffffffffffp255);
    assert_int_equal(exact_compare(&sum, 0x1.fffffffffffffp255), -1);
    assert_int_equal(exact_compare(&sum, 0x1.ffffffffffffep255), 1);
}
