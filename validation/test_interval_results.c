/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_interval_results.c -- bounds on their way from sums to visibilities: the
 * exact value and the FP32 value lie between them, for conjugated products and
 * averaged channels too.
 *
 * Shows: as test_kernels_x.c
 */
#include <fenv.h>

#include "validation/exact_sum.h"
#include "validation/postprocess_task.h"

/* Random sums with bounds around them, and the results of all three. */
struct bounded {
    struct scene s;
    int64_t *counts;
    double *sums[3]; /* down, between, up */
    struct fx8_result results[3];
};

static struct bounded make_bounded(size_t antennas, size_t pols,
                                   size_t channels, size_t average,
                                   struct generator *g)
{
    struct bounded b = {
        .s = make_scene(antennas, pols, channels, average, 1, g)};
    const size_t n = channels * fx8_pair_count(antennas * pols) * 2;
    b.counts = random_counts(&b.s, g);
    for (size_t k = 0; k < 3; k++) {
        b.sums[k] = temporary(n * sizeof(double));
        b.results[k] = make_results(b.s.n_cells);
    }
    for (size_t i = 0; i < n; i++) {
        /* irrational, lest a mean lie within a rounding of a float */
        const double sum =
            (double)random_in(g, -999999, 999999) * (0.001 * M_PI);
        const double width = random_below(g, 3) == 0 ? 0.0 : fabs(sum) * 1e-7;
        b.sums[0][i] = sum - width;
        b.sums[1][i] = sum;
        b.sums[2][i] = sum + width / 2;
    }
    return b;
}

static void process(const struct bounded *b)
{
    const struct fx8_result results[FX8_N_RESULTS] = {
        [FX8_RESULT_FP32] = b->results[1],
        [FX8_RESULT_DOWN] = b->results[0],
        [FX8_RESULT_UP] = b->results[2],
    };
    fx8_postprocess_dump(
        &b->s.plan,
        (void *[FX8_N_RESULTS]){NULL, b->sums[1], b->sums[0], b->sums[2]},
        b->counts, results);
}

/* The exact mean of a component over the channels of a group, from one of the
 * sums, compared with a bound: -1, 0 or 1 for below, equal, above.  The mean
 * times channels times valid products is an unrounded sum. */
static int compare_mean(const struct bounded *c, const double *sums,
                        const size_t *used, size_t n_used, double sign,
                        int64_t count, float bound)
{
    const size_t stride = 2 * fx8_pair_count(c->s.plan.n_inputs);
    struct exact_sum sum = {{0}};
    for (size_t k = 0; k < n_used; k++)
        exact_add(&sum, sign * sums[used[k] * stride]);
    /* the same in the whole group */
    const double ripple =
        c->s.plan.ripple == NULL ? 1.0 : c->s.plan.ripple[used[0]];
    /* at most 24, 7, 4 and 3 bits: exact */
    return exact_compare(&sum, (double)bound * (double)count * (double)n_used *
                                   ripple);
}

/* The channels of group `group` over which the mean of a product is taken. */
static size_t find_used(const struct bounded *c,
                        const struct fx8_product *product, size_t group,
                        size_t used[])
{
    const size_t n = c->s.plan.channel_average;
    const bool all = c->s.plan.flag_input[product->input_1] ||
                     c->s.plan.flag_input[product->input_2];
    const uint8_t *cells = c->s.plan.flag_float_cell + group * n;
    const uint8_t *cells_1 = cells + product->input_1 * c->s.n_row;
    const uint8_t *cells_2 = cells + product->input_2 * c->s.n_row;
    size_t n_used = 0;
    for (size_t k = 0; k < n; k++)
        if (!all && !c->s.plan.flag_channel[group * n + k] && !cells_1[k] &&
            !cells_2[k])
            used[n_used++] = group * n + k;
    for (size_t k = 0; k < n && n_used == 0; k++)
        used[k] = group * n + k;
    return n_used == 0 ? n : n_used;
}

/* One cell: the exact means of both bounds' sums lie inside, at most one
 * rounding to float away; flags and weights equal those of FP32. */
static void check_cell(const struct bounded *c,
                       const struct fx8_product *product, size_t group,
                       size_t at)
{
    size_t used[8];
    const size_t n_used = find_used(c, product, group, used);
    const int64_t count = c->counts[product->pair];
    const bool is_negated = product->conjugate != c->s.plan.negate_imaginary;
    const float *down = c->results[0].visibilities + 2 * at;
    const float *fp32 = c->results[1].visibilities + 2 * at;
    const float *up = c->results[2].visibilities + 2 * at;
    for (size_t part = 0; part < 2; part++) {
        const size_t item = 2 * (size_t)product->pair + part;
        const bool swaps = part == 1 && is_negated;
        const double sign = swaps ? -1.0 : 1.0;
        assert_true(down[part] <= fp32[part] && fp32[part] <= up[part]);
        if (count == 0 || (part == 1 && product->input_1 == product->input_2)) {
            assert_true(down[part] == 0.0f && up[part] == 0.0f);
            continue;
        }
        const double *low = c->sums[swaps ? 2 : 0] + item;
        const double *high = c->sums[swaps ? 0 : 2] + item;
        assert_true(
            compare_mean(c, low, used, n_used, sign, count, down[part]) >= 0);
        assert_true(
            compare_mean(c, high, used, n_used, sign, count, up[part]) <= 0);
        /* the next floats inwards are not bounds, as the double roundings
         * before the last one are too small to reach a float */
        assert_true(compare_mean(c, low, used, n_used, sign, count,
                                 nextafterf(down[part], INFINITY)) <= 0);
        assert_true(compare_mean(c, high, used, n_used, sign, count,
                                 nextafterf(up[part], -INFINITY)) >= 0);
    }
    for (size_t k = 0; k < 3; k += 2) {
        assert_int_equal(c->results[k].flags[at], c->results[1].flags[at]);
        assert_true(c->results[k].nsamples[at] == c->results[1].nsamples[at]);
    }
}

TEST(visibilities_are_enclosed)
{
    static const size_t averages[] = {1, 2, 3, 8};
    struct generator g = {54};
    for (int i = 0; i < 200; i++) {
        const size_t average = averages[random_below(&g, 4)];
        struct bounded b =
            make_bounded(1 + random_below(&g, 5), 1 + random_below(&g, 2),
                         average * (1 + random_below(&g, 20)), average, &g);
        struct fx8_postprocess *plan = &b.s.plan;
        const size_t groups = plan->n_channels / average;
        for (size_t c = 0; c < plan->n_channels; c++)
            b.s.ripple[c] = (double)(1 + c / average % 7) / 4.0;
        plan->ripple = i % 2 == 0 ? NULL : b.s.ripple;
        process(&b);
        for (size_t at = 0; at < b.s.n_cells; at++) {
            const size_t row = at / plan->n_products;
            check_cell(&b,
                       plan->products + row / groups * plan->n_products +
                           at % plan->n_products,
                       row % groups, at);
        }
    }
}

/* The caller's rounding mode changes no value, and is the same afterwards. */
TEST(mode_is_put_back)
{
    static const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    struct generator g = {55};
    struct bounded b = make_bounded(3, 2, 8, 4, &g);
    b.s.plan.threads.count = 1;
    process(&b);
    for (size_t m = 0; m < LENGTH(modes); m++) {
        struct bounded other = b;
        for (size_t k = 0; k < 3; k++)
            other.results[k] = make_results(b.s.n_cells);
        fesetround(modes[m]);
        process(&other);
        const int mode = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(mode, modes[m]);
        for (size_t k = 0; k < 3; k += 2)
            check_bytes(b.results[k].visibilities,
                        other.results[k].visibilities,
                        2 * b.s.n_cells * sizeof(float));
    }
}
