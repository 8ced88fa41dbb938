/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_strips.c -- a dump strip by strip of the triangle of pairs: folds,
 * counts and results of strips of any width, against those of the whole.
 *
 * Shows (results, in strips): strips of 1, 2, 3, 7 antennas, or of an equal
 *     number of baselines, fold, count and become results as the whole does, in
 *     every variant of every correlator and of post-processing, with flags,
 *     gains, averages and bands; afterwards every accumulator is empty
 * Within: equal to the bit
 */
#include <fenv.h>

#include "config/base/shape.h"
#include "kernels/count_products.h"
#include "validation/postprocess_task.h"
#include "validation/variants.h"

enum { N_TIMES = 64, STRIDE = N_TIMES + FX8_GROUP };

static const size_t widths[] = {1, 2, 3, 7, 64, 1000};

#define N_WIDTHS (sizeof widths / sizeof *widths)

/* The next strip of this width; false behind the last. */
static bool next_strip(struct fx8_strip *strip, size_t width, size_t n_inputs)
{
    strip->begin = strip->end;
    strip->end =
        n_inputs - strip->begin < width ? n_inputs : strip->begin + width;
    return strip->begin < n_inputs;
}

static size_t count_pairs(size_t n_inputs, struct fx8_strip strip)
{
    return fx8_strip_count(n_inputs - strip.begin, strip.end - strip.begin);
}

/* Items [pair][n_parts] of 8 bytes of a strip, put where the whole has them. */
static void place(size_t n_inputs, struct fx8_strip strip, size_t n_parts,
                  const void *items, void *whole)
{
    const uint64_t *from = items;
    uint64_t *to = whole;
    size_t n = 0;
    for (size_t j = strip.begin; j < n_inputs; j++)
        for (size_t i = strip.begin; i <= j && i < strip.end; i++, n++)
            memcpy(to + fx8_pair_index(i, j) * n_parts, from + n * n_parts,
                   n_parts * sizeof *from);
    assert_int_equal(n, count_pairs(n_inputs, strip));
}

/* --- folds ----------------------------------------------------------- */

/* One correlator of a variant, by the kind of its result; DOWN: both bounds. */
struct correlator {
    const struct fx8_operations *variant;
    enum fx8_result_kind kind;
    size_t n_inputs, n_bytes;
    char *accumulator;
};

static void fold(const struct correlator *c, struct fx8_strip strip,
                 void *const sums[2])
{
    void *items = c->accumulator;
    if (c->kind == FX8_RESULT_INT8)
        c->variant->int8.fold(c->n_inputs, strip, items, sums[0]);
    else if (c->kind == FX8_RESULT_FP32)
        c->variant->fp32.fold(c->n_inputs, strip, items, sums[0]);
    else
        c->variant->interval.fold(c->n_inputs, strip, items, sums[0], sums[1]);
}

/* Accumulate spectra of full range. */
static void accumulate(struct correlator *c, struct generator *g)
{
    const struct fx8_operations *v = c->variant;
    const size_t n_rows = fx8_round_up(c->n_inputs, FX8_ROW_BLOCK);
    const struct fx8_row_blocks all = fx8_row_blocks_all(c->n_inputs);
    struct fx8_ci8 *int8;
    struct fx8_cf32 *fp32;
    assert_int_equal(
        fx8_allocate(n_rows * STRIDE, sizeof *int8, "", &int8, NULL), FX8_OK);
    assert_int_equal(
        fx8_allocate(n_rows * STRIDE, sizeof *fp32, "", &fp32, NULL), FX8_OK);
    for (size_t k = 0; k < n_rows * STRIDE; k++) {
        int8[k] = (struct fx8_ci8){(int8_t)random_in(g, -128, 127),
                                   (int8_t)random_in(g, -128, 127)};
        fp32[k] = (struct fx8_cf32){(float)random_in(g, -9999, 9999) / 77.0f,
                                    (float)random_in(g, -9999, 9999) / 77.0f};
    }
    if (c->kind == FX8_RESULT_INT8) {
        c->n_bytes = v->int8.accumulator_size(c->n_inputs) * sizeof(int32_t);
        c->accumulator = temporary(c->n_bytes);
        memset(c->accumulator, 0, c->n_bytes);
        v->int8.accumulate(c->n_inputs, all, N_TIMES, int8, STRIDE,
                           (void *)c->accumulator);
    } else if (c->kind == FX8_RESULT_FP32) {
        c->n_bytes = v->fp32.accumulator_size(c->n_inputs) * sizeof(double);
        c->accumulator = temporary(c->n_bytes);
        memset(c->accumulator, 0, c->n_bytes);
        v->fp32.accumulate(c->n_inputs, all, N_TIMES, fp32, STRIDE,
                           (void *)c->accumulator);
    } else {
        c->n_bytes = v->interval.accumulator_size(c->n_inputs) * sizeof(double);
        c->accumulator = temporary(c->n_bytes);
        memset(c->accumulator, 0, c->n_bytes);
        v->interval.accumulate(c->n_inputs, all, N_TIMES, fp32, STRIDE,
                               FX8_GROUP, (void *)c->accumulator);
    }
    free(int8);
    free(fp32);
}

/* What the sums hold before: they are added to. */
static void *make_sums(size_t n_pairs, bool is_int8)
{
    double *sums = temporary(2 * n_pairs * sizeof *sums);
    int64_t *integers = (void *)sums;
    for (size_t k = 0; k < 2 * n_pairs; k++)
        if (is_int8)
            integers[k] = 5;
        else
            sums[k] = 0.1;
    return sums;
}

static void check_folds(const struct correlator *filled, size_t width,
                        void *const whole[2])
{
    struct correlator c = *filled;
    const size_t n = c.n_inputs, bytes = 16 * fx8_pair_count(n);
    const bool is_int8 = c.kind == FX8_RESULT_INT8;
    void *const placed[2] = {temporary(bytes), temporary(bytes)};
    c.accumulator = temporary(c.n_bytes);
    memcpy(c.accumulator, filled->accumulator, c.n_bytes);
    for (struct fx8_strip s = {0, 0}; next_strip(&s, width, n);) {
        const size_t n_pairs = count_pairs(n, s);
        void *const sums[2] = {make_sums(n_pairs, is_int8),
                               make_sums(n_pairs, is_int8)};
        fold(&c, s, sums);
        for (size_t bound = 0; bound < 2; bound++)
            place(n, s, 2, sums[bound], placed[bound]);
    }
    for (size_t bound = 0; bound < 2; bound++)
        if (bound == 0 || c.kind == FX8_RESULT_DOWN)
            check_bytes(whole[bound], placed[bound], bytes);
    for (size_t k = 0; k < c.n_bytes; k++)
        assert_int_equal(c.accumulator[k], 0);
}

TEST(folds_in_strips)
{
    static const size_t sizes[] = {1, 2, 5, 8, 17, 67};
    struct generator g = {7};
    FOR_EACH_VARIANT (variant)
        for (size_t k = 0; k < 3 * sizeof sizes / sizeof *sizes; k++) {
            struct correlator c = {.variant = variant,
                                   .kind = (enum fx8_result_kind)(k % 3),
                                   .n_inputs = sizes[k / 3]};
            const size_t n_pairs = fx8_pair_count(c.n_inputs);
            const bool is_int8 = c.kind == FX8_RESULT_INT8;
            void *const whole[2] = {make_sums(n_pairs, is_int8),
                                    make_sums(n_pairs, is_int8)};
            accumulate(&c, &g);
            struct correlator copy = c;
            copy.accumulator = temporary(c.n_bytes);
            memcpy(copy.accumulator, c.accumulator, c.n_bytes);
            fold(&copy, fx8_strip_whole(c.n_inputs), whole);
            for (size_t w = 0; w < N_WIDTHS; w++)
                check_folds(&c, widths[w], whole);
        }
}

/* --- counts ---------------------------------------------------------- */

TEST(counts_in_strips)
{
    struct generator g = {8};
    for (size_t round = 0; round < 40; round++) {
        const size_t n = 1 + random_below(&g, 20), n_pairs = fx8_pair_count(n);
        int64_t *wanted = temporary(n_pairs * sizeof *wanted);
        int64_t *got = temporary(n_pairs * sizeof *got);
        struct fx8_product_counts counts = {
            temporary(n_pairs * sizeof *counts.pairs), random_in(&g, 0, 99)};
        for (size_t k = 0; k < n_pairs; k++) {
            counts.pairs[k] = random_in(&g, 0, 99);
            wanted[k] = counts.pairs[k] + counts.all;
        }
        for (struct fx8_strip s = {0, 0};
             next_strip(&s, widths[round % N_WIDTHS], n);) {
            int64_t *part = temporary(count_pairs(n, s) * sizeof *part);
            fx8_take_counts(n, s, &counts, part);
            place(n, s, 1, part, got);
        }
        check_bytes(wanted, got, n_pairs * sizeof *got);
        assert_int_equal(counts.all, 0);
        for (size_t k = 0; k < n_pairs; k++)
            assert_int_equal(counts.pairs[k], 0);
    }
}

/* --- results --------------------------------------------------------- */

/* Sums and counts of a dump, and its results. */
struct task {
    struct scene s;
    size_t pols;
    void *sums[FX8_N_RESULTS];
    int64_t *counts;
    struct fx8_result results[FX8_N_RESULTS];
};

/* A strip of items [n_outer][pair][n_parts] of 8 bytes. */
static void *cut(const struct task *t, struct fx8_strip strip, size_t n_outer,
                 size_t n_parts, const void *whole)
{
    const size_t n = t->s.plan.n_inputs;
    const size_t n_pairs = count_pairs(n, strip);
    uint64_t *part = temporary(n_outer * n_pairs * n_parts * sizeof *part);
    const uint64_t *from = whole;
    uint64_t *to = part;
    for (size_t outer = 0; outer < n_outer;
         outer++, from += fx8_pair_count(n) * n_parts)
        for (size_t j = strip.begin; j < n; j++)
            for (size_t i = strip.begin; i <= j && i < strip.end; i++) {
                memcpy(to, from + fx8_pair_index(i, j) * n_parts,
                       n_parts * sizeof *to);
                to += n_parts;
            }
    return part;
}

/* The plan of the antennas from `first` on, of which n begin baselines. */
static struct fx8_postprocess cut_plan(const struct task *t, size_t first,
                                       size_t n)
{
    struct fx8_postprocess plan = t->s.plan;
    const size_t input = first * t->pols, row = t->s.n_row;
    struct fx8_product *products =
        temporary(fx8_baseline_count(plan.n_antennas) * plan.n_products *
                  sizeof *products);
    plan.n_antennas -= first;
    plan.n_inputs -= input;
    plan.n_starts = n;
    fx8_baseline_strip(plan.n_antennas, n, t->pols, products);
    plan.products = products;
    plan.gain += input * row;
    plan.flag_cell += input * row;
    plan.flag_float_cell += input * row;
    plan.flag_input += input;
    plan.input_gain += input;
    return plan;
}

static void check_strip(const struct task *t, size_t first, size_t n,
                        const struct fx8_operations *variant)
{
    const size_t n_antennas = t->s.plan.n_antennas, n_row = t->s.n_row;
    const size_t channels = t->s.plan.n_channels;
    const struct fx8_strip strip = {first * t->pols, (first + n) * t->pols};
    struct fx8_postprocess plan = cut_plan(t, first, n);
    plan.operations = variant;
    const size_t begin = first * (2 * n_antennas - first + 1) / 2;
    const size_t n_baselines = fx8_baseline_count(n_antennas - first) -
                               fx8_baseline_count(n_antennas - first - n);
    const size_t cells = n_row / plan.channel_average * plan.n_products;
    struct fx8_result all[FX8_N_RESULTS], results[FX8_N_RESULTS];
    void *sums[FX8_N_RESULTS];
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
        sums[kind] = cut(t, strip, channels, 2, t->sums[kind]);
        all[kind] = make_results(n_baselines * cells);
        results[kind] = band_of(&t->s, &all[kind]);
    }
    fx8_postprocess_dump(&plan, sums, cut(t, strip, 1, 1, t->counts), results);
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
        const struct fx8_result wanted =
            fx8_result_from(&t->results[kind], begin * cells);
        check_results(&wanted, &all[kind], n_baselines * cells);
    }
}

static struct task make_task(struct generator *g, size_t round)
{
    static const size_t averages[] = {1, 1, 2, 3};
    const size_t average = averages[random_below(g, 4)];
    const size_t channels = average * (1 + random_below(g, 20));
    struct task t = {.pols = 1 + random_below(g, 2)};
    /* blocks of 64 inputs begin in a strip, and strips within a block */
    t.s = make_scene(1 + random_below(g, round % 10 == 0 ? 70 : 9), t.pols,
                     channels, average, 1 + random_below(g, 3), g);
    struct fx8_postprocess *plan = &t.s.plan;
    const size_t n = channels * fx8_pair_count(plan->n_inputs) * 2;
    plan->first_is_real = random_below(g, 2) == 1;
    plan->input_gain = t.s.input_gain;
    t.counts = random_counts(&t.s, g);
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
        double *sums = t.sums[kind] = temporary(n * sizeof *sums);
        int64_t *integers = t.sums[kind];
        const double *down = t.sums[FX8_RESULT_DOWN];
        for (size_t k = 0; k < n; k++)
            if (kind == FX8_RESULT_INT8)
                integers[k] = random_in(g, -300, 300);
            else if (kind == FX8_RESULT_UP)
                sums[k] = down[k] + (double)random_below(g, 2);
            else
                sums[k] = (double)random_in(g, -999999, 999999) / 1234.0;
    }
    return t;
}

TEST(results_in_strips)
{
    struct generator g = {9};
    for (size_t round = 0; round < 60; round++) {
        struct task t = make_task(&g, round);
        const size_t n_antennas = t.s.plan.n_antennas;
        struct fx8_result all[FX8_N_RESULTS];
        for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
            all[kind] = t.results[kind] = make_results(t.s.n_cells);
            t.results[kind] = band_of(&t.s, &all[kind]);
        }
        fx8_postprocess_dump(&t.s.plan, t.sums, t.counts, t.results);
        memcpy(t.results, all, sizeof all); /* of all bands */
        const size_t width = widths[random_below(&g, N_WIDTHS)];
        for (struct fx8_strip s = {0, 0}; next_strip(&s, width, n_antennas);)
            for (size_t v = 0; v < fx8_operations_variants(); v++)
                if (fx8_operations_variant(v) != NULL)
                    check_strip(&t, s.begin, s.end - s.begin,
                                fx8_operations_variant(v));
    }
}
