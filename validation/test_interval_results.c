/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_interval_results.c -- bounds on their way from the engine's spectra to
 * visibilities: at every stage the exact value and the FP32 value lie between
 * them, for conjugated products and averaged channels too.
 *
 * Shows: as test_kernels_x.c
 */
#include <fenv.h>

#include "kernels/baseline.h"
#include "kernels/postprocess.h"
#include "validation/engine_task.h"
#include "validation/exact_sum.h"

/* --- the engine ------------------------------------------------------------
 */

/* Sums of one pair and channel against products of the exported spectra. */
static void check_pair(const struct task *task, const struct outcome *o,
                       size_t c, size_t i, size_t j)
{
    const size_t inputs = task->plan.n_inputs;
    const size_t at = 2 * (c * fx8_pair_count(inputs) + fx8_pair_index(i, j));
    struct exact_sum re = {{0}}, im = {{0}};
    for (size_t t = 0; t < task->n_spectra; t++) {
        const struct fx8_cf32 *x = o->x32 + (c * task->n_spectra + t) * inputs;
        exact_add_product(&re, x[i].re, x[j].re);
        exact_add_product(&re, x[i].im, x[j].im);
        exact_add_product(&im, x[i].re, x[j].im);
        exact_add_product(&im, -x[i].im, x[j].re);
    }
    assert_true(exact_compare(&re, o->down[at]) >= 0);
    assert_true(exact_compare(&re, o->up[at]) <= 0);
    assert_true(exact_compare(&im, o->down[at + 1]) >= 0);
    assert_true(exact_compare(&im, o->up[at + 1]) <= 0);
}

static void check_sums(const struct task *task, const struct outcome *o)
{
    for (size_t c = 0; c < task->plan.bank.n_channels; c++)
        for (size_t j = 0; j < task->plan.n_inputs; j++)
            for (size_t i = 0; i <= j; i++)
                check_pair(task, o, c, i, j);
    for (size_t k = 0; k < n_sums(task) && o->sums32 != NULL; k++)
        assert_true(o->down[k] <= o->sums32[k] && o->sums32[k] <= o->up[k]);
}

TEST(every_level_and_thread_encloses)
{
    static const size_t inputs[] = {1, 3, 4, 9};
    struct generator g = {51};
    for (size_t i = 0; i < 4; i++)
        for (size_t mask = 0; mask < 3; mask++) {
            struct task task = make_task(inputs[i], mask != 1, 6, 3,
                                         530 + 75 * mask, mask, false, &g);
            task.plan.precisions = FX8_PRECISION_FP32 | FX8_PRECISION_INTERVAL;
            task.plan.machine.threads.count = 1 + mask;
            for (size_t l = 0; l < fx8_operations_variants(); l++) {
                if (fx8_operations_variant(l) == NULL)
                    continue;
                task.plan.machine.kernel = fx8_operations_variant(l)->name;
                struct outcome o = run_task(&task, NULL);
                check_sums(&task, &o);
                clear_outcome(&o);
            }
            assert_int_equal(fegetround(), FE_TONEAREST);
            clear_task(&task);
        }
}

/* Bounds alone equal bounds beside FP32: the same blocks, the same bits. */
TEST(bounds_alone_equal_those_beside_fp32)
{
    struct generator g = {52};
    struct task task = make_task(5, true, 8, 3, 700, 1, false, &g);
    task.plan.precisions = FX8_PRECISION_FP32 | FX8_PRECISION_INTERVAL;
    struct outcome both = run_task(&task, NULL);
    task.plan.precisions = FX8_PRECISION_INTERVAL;
    struct outcome alone = run_task(&task, NULL);
    const size_t bytes = n_sums(&task) * sizeof(double);
    assert_memory_equal(both.down, alone.down, bytes);
    assert_memory_equal(both.up, alone.up, bytes);
    assert_memory_equal(both.counts, alone.counts,
                        fx8_pair_count(5) * sizeof *both.counts);
    check_sums(&task, &alone);
    clear_outcome(&both);
    clear_outcome(&alone);
    clear_task(&task);
}

/* Recorded integers are exact: the width is zero. */
TEST(method_none_has_no_width)
{
    struct generator g = {53};
    for (size_t mask = 0; mask < 4; mask++) {
        struct task task = make_task(7, true, 1, 1, 1100, mask, true, &g);
        task.plan.precisions = FX8_PRECISION_INT8 | FX8_PRECISION_INTERVAL;
        for (size_t l = 0; l < fx8_operations_variants(); l++) {
            if (fx8_operations_variant(l) == NULL)
                continue;
            task.plan.machine.kernel = fx8_operations_variant(l)->name;
            struct outcome o = run_task(&task, NULL);
            for (size_t k = 0; k < n_sums(&task); k++) {
                assert_true(o.down[k] == (double)o.sums8[k]);
                assert_true(o.up[k] == (double)o.sums8[k]);
            }
            clear_outcome(&o);
        }
        clear_task(&task);
    }
}

/* --- post-processing -------------------------------------------------------
 */

enum { M = 100 };

/* Results of one kind, with garbage around the part to be set. */
struct results {
    struct fx8_result out;
    size_t n_cells;
};

static struct results open_results(size_t n_cells)
{
    return (struct results){{exact(2 * n_cells * sizeof(float)), exact(n_cells),
                             exact(n_cells * sizeof(float))},
                            n_cells};
}

static void clear_results(struct results *results)
{
    free(results->out.visibilities);
    free(results->out.flags);
    free(results->out.nsamples);
}

/* Random sums with bounds around them, and the results of all three. */
struct scene {
    struct fx8_postprocess plan;
    struct fx8_product *products;
    int64_t *counts;
    double *sums[3]; /* down, between, up */
    uint8_t *flag_channel, *flag_input;
    struct results results[3];
};

static struct scene open_scene(size_t antennas, size_t pols, size_t channels,
                               size_t average, struct generator *g)
{
    const size_t inputs = antennas * pols, pairs = fx8_pair_count(inputs);
    const size_t baselines = fx8_baseline_count(antennas);
    const size_t n_sums_of = channels * pairs * 2;
    struct scene c = {
        .plan = {.n_antennas = antennas,
                 .n_products = pols * pols,
                 .n_inputs = inputs,
                 .n_channels = channels,
                 .channel_average = average,
                 .spectra_per_dump = M,
                 .negate_imaginary = random_below(g, 2) == 1,
                 .threads.count = 1 + random_below(g, 3)},
        .products = exact(baselines * pols * pols * sizeof *c.products),
        .counts = exact(pairs * sizeof *c.counts),
        .flag_channel = exact(channels),
        .flag_input = exact(inputs),
    };
    fx8_baseline_table(antennas, pols, c.products);
    for (size_t i = 0; i < pairs; i++)
        c.counts[i] = random_below(g, 6) == 0 ? 0 : random_in(g, 1, M);
    for (size_t i = 0; i < channels; i++)
        c.flag_channel[i] = random_below(g, 3) == 0;
    for (size_t i = 0; i < inputs; i++)
        c.flag_input[i] = random_below(g, 6) == 0;
    for (size_t k = 0; k < 3; k++) {
        c.sums[k] = exact(n_sums_of * sizeof(double));
        c.results[k] =
            open_results(baselines * (channels / average) * c.plan.n_products);
    }
    for (size_t i = 0; i < n_sums_of; i++) {
        const double sum = (double)random_in(g, -999999, 999999) / 1234.0;
        const double width = random_below(g, 3) == 0 ? 0.0 : fabs(sum) * 1e-7;
        c.sums[0][i] = sum - width;
        c.sums[1][i] = sum;
        c.sums[2][i] = sum + width / 2;
    }
    c.plan.products = c.products;
    c.plan.flag_channel = c.flag_channel;
    c.plan.flag_input = c.flag_input;
    return c;
}

static void clear_scene(struct scene *c)
{
    free(c->products);
    free(c->counts);
    free(c->flag_channel);
    free(c->flag_input);
    for (size_t k = 0; k < 3; k++) {
        free(c->sums[k]);
        clear_results(&c->results[k]);
    }
}

static void process(struct scene *c)
{
    const struct fx8_result results[FX8_N_RESULTS] = {
        [FX8_RESULT_FP32] = c->results[1].out,
        [FX8_RESULT_DOWN] = c->results[0].out,
        [FX8_RESULT_UP] = c->results[2].out,
    };
    fx8_postprocess_dump(
        &c->plan,
        (void *[FX8_N_RESULTS]){NULL, c->sums[1], c->sums[0], c->sums[2]},
        c->counts, results);
}

/* The exact mean of a component over the channels of a group, from one of the
 * sums, compared with a bound: -1, 0 or 1 for below, equal, above.  The mean
 * times channels times valid products is an unrounded sum. */
static int compare_mean(const struct scene *c, const double *sums,
                        const size_t *used, size_t n_used, double sign,
                        int64_t count, float bound)
{
    const size_t stride = 2 * fx8_pair_count(c->plan.n_inputs);
    struct exact_sum sum = {{0}};
    for (size_t k = 0; k < n_used; k++)
        exact_add(&sum, sign * sums[used[k] * stride]);
    /* at most 24, 7 and 4 bits: exact */
    return exact_compare(&sum, (double)bound * (double)count * (double)n_used);
}

/* The channels of group `group` over which the mean of a product is taken. */
static size_t find_used(const struct scene *c,
                        const struct fx8_product *product, size_t group,
                        size_t used[])
{
    const size_t n = c->plan.channel_average;
    const bool all =
        c->flag_input[product->input_1] || c->flag_input[product->input_2];
    size_t n_used = 0;
    for (size_t k = 0; k < n; k++)
        if (!all && !c->flag_channel[group * n + k])
            used[n_used++] = group * n + k;
    for (size_t k = 0; k < n && n_used == 0; k++)
        used[k] = group * n + k;
    return n_used == 0 ? n : n_used;
}

/* One cell: the exact means of both bounds' sums lie inside, at most one
 * rounding to float away; flags and weights equal those of FP32. */
static void check_cell(const struct scene *c, const struct fx8_product *product,
                       size_t group, size_t at)
{
    size_t used[8];
    const size_t n_used = find_used(c, product, group, used);
    const int64_t count = c->counts[product->pair];
    const bool is_negated = product->conjugate != c->plan.negate_imaginary;
    const float *down = c->results[0].out.visibilities + 2 * at;
    const float *fp32 = c->results[1].out.visibilities + 2 * at;
    const float *up = c->results[2].out.visibilities + 2 * at;
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
        assert_int_equal(c->results[k].out.flags[at],
                         c->results[1].out.flags[at]);
        assert_true(c->results[k].out.nsamples[at] ==
                    c->results[1].out.nsamples[at]);
    }
}

TEST(visibilities_are_enclosed)
{
    static const size_t averages[] = {1, 2, 3, 8};
    struct generator g = {54};
    for (int i = 0; i < 200; i++) {
        const size_t average = averages[random_below(&g, 4)];
        struct scene c =
            open_scene(1 + random_below(&g, 5), 1 + random_below(&g, 2),
                       average * (1 + random_below(&g, 20)), average, &g);
        process(&c);
        const size_t groups = c.plan.n_channels / average;
        for (size_t at = 0; at < c.results[0].n_cells; at++) {
            const size_t row = at / c.plan.n_products;
            check_cell(&c,
                       c.products + row / groups * c.plan.n_products +
                           at % c.plan.n_products,
                       row % groups, at);
        }
        clear_scene(&c);
    }
}

/* The caller's rounding mode changes no value, and is the same afterwards. */
TEST(mode_is_put_back)
{
    static const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    struct generator g = {55};
    struct scene c = open_scene(3, 2, 8, 4, &g);
    c.plan.threads.count = 1;
    process(&c);
    const size_t n = 2 * c.results[0].n_cells * sizeof(float);
    for (size_t m = 0; m < 3; m++) {
        struct results down = open_results(c.results[0].n_cells);
        struct results up = open_results(c.results[0].n_cells);
        fesetround(modes[m]);
        fx8_postprocess_dump(
            &c.plan, (void *[FX8_N_RESULTS]){NULL, NULL, c.sums[0], c.sums[2]},
            c.counts,
            (struct fx8_result[FX8_N_RESULTS]){
                [FX8_RESULT_DOWN] = down.out, [FX8_RESULT_UP] = up.out});
        const int mode = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(mode, modes[m]);
        assert_memory_equal(down.out.visibilities,
                            c.results[0].out.visibilities, n);
        assert_memory_equal(up.out.visibilities, c.results[2].out.visibilities,
                            n);
        clear_results(&down);
        clear_results(&up);
    }
    clear_scene(&c);
}
