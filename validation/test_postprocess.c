/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_postprocess.c -- from sums to visibilities, against the rules of
 * CONVENTIONS.md, written again here as plainly as possible.
 *
 * Shows: as test_plan.c
 */
#include <math.h>

#include "kernels/baseline.h"
#include "kernels/operations.h"
#include "kernels/postprocess.h"
#include "validation/testing.h"

#define M 100 /* spectra per dump */

/* Random sums and everything that decides their results. */
struct task {
    struct fx8_postprocess plan;
    struct fx8_product *products;
    int64_t *sums8, *counts;
    double *sums32;
    float *gain;
    double *input_gain;
    uint8_t *flag_channel, *flag_input, *flag_cell;
    size_t n_row, first; /* channels of a row, and the first one of this band */
    size_t n_cells;
    float *visibilities, *nsamples;
    uint8_t *flags;
};

static size_t pairs_of(const struct task *task)
{
    return fx8_pair_count(task->plan.n_inputs);
}

static struct task make_task(size_t antennas, size_t pols, size_t channels,
                             size_t average, struct generator *g)
{
    const size_t inputs = antennas * pols;
    struct task task = {
        .plan = {.n_antennas = antennas,
                 .n_products = pols * pols,
                 .n_inputs = inputs,
                 .n_channels = channels,
                 .channel_average = average,
                 .spectra_per_dump = M,
                 .remove_bias = true,
                 .threads.count = 1 + random_below(g, 3)},
    };
    const size_t pairs = pairs_of(&task), sums = channels * pairs * 2;
    const size_t baselines = fx8_baseline_count(antennas);
    task.products = exact(baselines * pols * pols * sizeof *task.products);
    fx8_baseline_table(antennas, pols, task.products);
    task.sums8 = exact(sums * sizeof *task.sums8);
    task.sums32 = exact(sums * sizeof *task.sums32);
    for (size_t i = 0; i < sums; i++) {
        task.sums8[i] = random_in(g, -3 * M, 3 * M);
        task.sums32[i] = (double)random_in(g, -999999, 999999) / 1234.0;
    }
    task.counts = exact(pairs * sizeof *task.counts);
    for (size_t i = 0; i < pairs; i++)
        task.counts[i] = random_below(g, 4) == 0 ? 0 : random_in(g, 1, M);
    task.gain = exact(inputs * channels * sizeof *task.gain);
    task.flag_cell = exact(inputs * channels);
    for (size_t i = 0; i < inputs * channels; i++) {
        task.gain[i] = (float)random_in(g, 1, 3000) / 1000.0f;
        task.flag_cell[i] = random_below(g, 8) == 0;
    }
    task.input_gain = exact(inputs * sizeof *task.input_gain);
    for (size_t i = 0; i < inputs; i++)
        task.input_gain[i] = ldexp(1.0, -(int)random_below(g, 9));
    task.n_row = channels;
    task.flag_channel = exact(channels);
    for (size_t i = 0; i < channels; i++)
        task.flag_channel[i] = random_below(g, 3) == 0;
    task.flag_input = exact(inputs);
    for (size_t i = 0; i < inputs; i++)
        task.flag_input[i] = random_below(g, 6) == 0;
    task.n_cells = baselines * (channels / average) * pols * pols;
    task.visibilities = exact(2 * task.n_cells * sizeof(float));
    task.nsamples = exact(task.n_cells * sizeof(float));
    task.flags = exact(task.n_cells);
    task.plan.products = task.products;
    task.plan.gain = task.gain;
    task.plan.flag_channel = task.flag_channel;
    task.plan.flag_input = task.flag_input;
    task.plan.flag_cell = task.flag_cell;
    return task;
}

/* Make the task one of several bands side by side. */
static void widen_task(struct task *task, size_t n_bands, struct generator *g)
{
    const size_t channels = task->plan.n_channels;
    task->n_row = task->plan.row_channels = n_bands * channels;
    task->first = random_below(g, n_bands) * channels;
    const size_t n = task->plan.n_inputs * task->n_row;
    free(task->gain);
    free(task->flag_cell);
    task->gain = exact(n * sizeof *task->gain);
    task->flag_cell = exact(n);
    for (size_t i = 0; i < n; i++) {
        task->gain[i] = (float)random_in(g, 1, 3000) / 1000.0f;
        task->flag_cell[i] = random_below(g, 8) == 0;
    }
    task->plan.gain = task->gain + task->first;
    task->plan.flag_cell = task->flag_cell + task->first;
    task->n_cells *= n_bands;
    free(task->visibilities);
    free(task->nsamples);
    free(task->flags);
    task->visibilities = exact(2 * task->n_cells * sizeof(float));
    task->nsamples = exact(task->n_cells * sizeof(float));
    task->flags = exact(task->n_cells);
}

static void clear_task(struct task *task)
{
    void *const memory[] = {
        task->products,   task->sums8,     task->sums32,
        task->counts,     task->gain,      task->flag_channel,
        task->flag_input, task->flag_cell, task->visibilities,
        task->nsamples,   task->flags,     task->input_gain};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
}

static void run(struct task *task, bool is_int8)
{
    const size_t at =
        task->first / task->plan.channel_average * task->plan.n_products;
    const size_t kind = is_int8 ? FX8_RESULT_INT8 : FX8_RESULT_FP32;
    void *sums[FX8_N_RESULTS] = {NULL};
    struct fx8_result results[FX8_N_RESULTS] = {{NULL, NULL, NULL}};
    sums[kind] = is_int8 ? (void *)task->sums8 : task->sums32;
    results[kind] = (struct fx8_result){task->visibilities + 2 * at,
                                        task->flags + at, task->nsamples + at};
    fx8_postprocess_dump(&task->plan, sums, task->counts, results);
}

/* --- the rules
 * ------------------------------------------------------------------
 */

struct cell {
    double re, im, nsamples;
    bool is_flagged;
};

/* One channel of conj(E_i) E_j, whatever the order of i and j. */
static struct cell plain_cell(const struct task *task, size_t i, size_t j,
                              size_t channel, bool is_int8)
{
    const struct fx8_postprocess *plan = &task->plan;
    const size_t pair = i < j ? fx8_pair_index(i, j) : fx8_pair_index(j, i);
    const size_t at = 2 * (channel * pairs_of(task) + pair);
    const int64_t count = task->counts[pair];
    if (count == 0)
        return (struct cell){0, 0, 0, true};
    double re = is_int8 ? (double)task->sums8[at] : task->sums32[at];
    double im = is_int8 ? (double)task->sums8[at + 1] : task->sums32[at + 1];
    re /= (double)count;
    im /= (double)count;
    const size_t cell_i = i * task->n_row + task->first + channel;
    const size_t cell_j = j * task->n_row + task->first + channel;
    if (is_int8 && plan->gain != NULL) {
        /* a level of one step is 1^2 + 1^2, for real spectra 1^2 */
        const bool is_real = plan->first_is_real && channel == 0;
        const double noise = is_real ? 1.0 / 12 : 1.0 / 6;
        if (i == j && plan->remove_bias && re - noise >= (is_real ? 1 : 2))
            re -= noise;
        re /= (double)task->gain[cell_i] * task->gain[cell_j];
        im /= (double)task->gain[cell_i] * task->gain[cell_j];
    } else if (plan->input_gain != NULL) {
        re /= plan->input_gain[i] * plan->input_gain[j];
        im /= plan->input_gain[i] * plan->input_gain[j];
    }
    if (i > j)
        im = -im;
    if (plan->negate_imaginary)
        im = -im;
    return (struct cell){
        re, i == j ? 0 : im, (double)count / M,
        plan->flag_channel[channel] || plan->flag_input[i] ||
            plan->flag_input[j] ||
            (is_int8 && plan->flag_cell != NULL &&
             (task->flag_cell[cell_i] || task->flag_cell[cell_j]))};
}

static struct cell plain_mean(const struct task *task, size_t i, size_t j,
                              size_t group, bool is_int8)
{
    const size_t n = task->plan.channel_average;
    if (n == 1)
        return plain_cell(task, i, j, group, is_int8);
    for (int use_flagged = 0; use_flagged < 2; use_flagged++) {
        struct cell sum = {0, 0, 0, use_flagged};
        double used = 0;
        for (size_t k = 0; k < n; k++) {
            const struct cell cell =
                plain_cell(task, i, j, group * n + k, is_int8);
            if (cell.is_flagged != use_flagged)
                continue;
            sum.re += cell.re;
            sum.im += cell.im;
            sum.nsamples = cell.nsamples; /* equal for all channels */
            used++;
        }
        if (used > 0)
            return (struct cell){sum.re / used, sum.im / used,
                                 sum.nsamples * used / (double)n, use_flagged};
    }
    fail_msg("a group has neither flagged nor unflagged channels");
    return (struct cell){0, 0, 0, true};
}

/* A cell of another band, still full of garbage. */
static void check_untouched(const struct task *task, size_t at)
{
    float garbage;
    memset(&garbage, GARBAGE, sizeof garbage);
    assert_memory_equal(task->visibilities + 2 * at, &garbage, sizeof garbage);
    assert_memory_equal(task->visibilities + 2 * at + 1, &garbage,
                        sizeof garbage);
    assert_memory_equal(task->nsamples + at, &garbage, sizeof garbage);
    assert_int_equal(task->flags[at], GARBAGE);
}

static void check(const struct task *task, bool is_int8)
{
    static const size_t feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    const struct fx8_postprocess *plan = &task->plan;
    const size_t pols = plan->n_products == 4 ? 2 : 1;
    const size_t n = plan->channel_average;
    const size_t begin = task->first / n, end = begin + plan->n_channels / n;
    size_t at = 0;
    for (size_t a = 0; a < plan->n_antennas; a++)
        for (size_t b = a; b < plan->n_antennas; b++)
            for (size_t c = 0; c < task->n_row / n; c++)
                for (size_t p = 0; p < plan->n_products; p++, at++) {
                    if (c < begin || c >= end) {
                        check_untouched(task, at);
                        continue;
                    }
                    const struct cell cell =
                        plain_mean(task, a * pols + feeds[p][0],
                                   b * pols + feeds[p][1], c - begin, is_int8);
                    /* the same operations in the same order: the same bits */
                    assert_true(task->visibilities[2 * at] == (float)cell.re);
                    assert_true(task->visibilities[2 * at + 1] ==
                                (float)cell.im);
                    assert_true(task->nsamples[at] == (float)cell.nsamples);
                    assert_int_equal(task->flags[at], cell.is_flagged);
                }
    assert_int_equal(at, task->n_cells);
}

TEST(random_tasks_by_the_rules)
{
    struct generator g = {31};
    static const size_t averages[] = {1, 1, 2, 3, 6};
    for (int i = 0; i < 300; i++) {
        const size_t average = averages[random_below(&g, 5)];
        struct task task =
            make_task(1 + random_below(&g, 5), 1 + random_below(&g, 2),
                      average * (1 + random_below(&g, 20)), average, &g);
        task.plan.negate_imaginary = random_below(&g, 2);
        task.plan.remove_bias = random_below(&g, 4) > 0;
        task.plan.first_is_real = random_below(&g, 2);
        if (random_below(&g, 3) == 0)
            widen_task(&task, 2 + random_below(&g, 3), &g);
        if (random_below(&g, 4) == 0)
            task.plan.gain = NULL;
        if (random_below(&g, 2) == 0)
            task.plan.input_gain = task.input_gain;
        if (random_below(&g, 4) == 0)
            task.plan.flag_cell = NULL;
        for (int is_int8 = 0; is_int8 < 2; is_int8++) {
            run(&task, is_int8);
            check(&task, is_int8);
        }
        clear_task(&task);
    }
}

/* --- single cases
 * ------------------------------------------------------------------
 */

/* One antenna, one channel, no flags, gain 2: a sum and its result. */
static float auto_of(int64_t sum, bool remove_bias, bool is_real)
{
    struct generator g = {32};
    struct task task = make_task(1, 1, 1, 1, &g);
    task.plan.remove_bias = remove_bias;
    task.plan.first_is_real = is_real;
    task.sums8[0] = sum;
    task.sums8[1] = 77; /* must not appear in results */
    task.counts[0] = 60;
    task.gain[0] = 2.0f;
    task.flag_channel[0] = task.flag_input[0] = task.flag_cell[0] = 0;
    run(&task, true);
    assert_int_equal(task.flags[0], 0);
    assert_true(task.nsamples[0] == 0.6f);
    assert_true(task.visibilities[1] == 0.0f);
    const float value = task.visibilities[0];
    clear_task(&task);
    return value;
}

/* 130/60 is 2 + 1/6, a level of one step: values on either side of it. */
TEST(bias_at_its_threshold)
{
    assert_true(auto_of(131, true, false) ==
                (float)((131.0 / 60 - 1.0 / 6) / 4));
    assert_true(auto_of(131, false, false) == (float)(131.0 / 60 / 4));
    assert_true(auto_of(129, true, false) == (float)(129.0 / 60 / 4));
    assert_true(auto_of(6000, true, false) == (float)((100 - 1.0 / 6) / 4));
    assert_true(auto_of(0, true, false) == 0.0f);
    /* 65/60 is 1 + 1/12 */
    assert_true(auto_of(66, true, true) == (float)((66.0 / 60 - 1.0 / 12) / 4));
    assert_true(auto_of(64, true, true) == (float)(64.0 / 60 / 4));
    assert_true(auto_of(66, false, true) == (float)(66.0 / 60 / 4));
}

/* XY of an auto is conj(X) Y, YX its conjugate; on a cross, X of the second
 * antenna with Y of the first is stored as the conjugate. */
TEST(signs_of_the_products)
{
    struct generator g = {33};
    for (int is_negated = 0; is_negated < 2; is_negated++) {
        struct task task = make_task(2, 2, 1, 1, &g);
        task.plan.gain = NULL;
        task.plan.negate_imaginary = is_negated;
        for (size_t pair = 0; pair < 10; pair++) {
            task.counts[pair] = M;
            task.sums8[2 * pair] = M * (int64_t)(10 + pair);
            task.sums8[2 * pair + 1] = M * (int64_t)(20 + pair);
        }
        run(&task, true);
        /* pairs by rows of j: 00 | 01 11 | 02 12 22 | 03 13 23 33 */
        static const struct {
            int pair, sign;
        } expected[12] = {{0, 0}, {2, 0}, {1, 1}, {1, -1}, /* (0,0) */
                          {3, 1}, {7, 1}, {6, 1}, {4, 1},  /* (0,1) */
                          {5, 0}, {9, 0}, {8, 1}, {8, -1}};
        for (size_t k = 0; k < 12; k++) {
            const int sign = expected[k].sign * (is_negated ? -1 : 1);
            assert_true(task.visibilities[2 * k] ==
                        (float)(10 + expected[k].pair));
            assert_true(task.visibilities[2 * k + 1] ==
                        (float)(sign * (20 + expected[k].pair)));
        }
        clear_task(&task);
    }
}

/* Four channels to one: what flags leave out, how counts weight. */
TEST(groups_partly_and_wholly_flagged)
{
    static const struct {
        uint8_t flags[4];
        float value, nsamples;
        uint8_t flag;
    } cases[] = {
        {{0, 0, 0, 0}, 2.5f, 0.5f, 0},
        {{1, 0, 0, 0}, 3.0f, 0.375f, 0},
        {{1, 1, 1, 0}, 4.0f, 0.125f, 0},
        {{1, 1, 1, 1}, 2.5f, 0.5f, 1},
    };
    struct generator g = {34};
    for (size_t i = 0; i < 4; i++) {
        struct task task = make_task(1, 1, 4, 4, &g);
        task.plan.flag_cell = NULL;
        task.flag_input[0] = 0;
        memcpy(task.flag_channel, cases[i].flags, 4);
        task.counts[0] = M / 2;
        for (size_t c = 0; c < 4; c++) {
            task.sums32[2 * c] = (double)(c + 1) * M / 2;
            task.sums32[2 * c + 1] = 0;
        }
        run(&task, false);
        assert_true(task.visibilities[0] == cases[i].value);
        assert_true(task.nsamples[0] == cases[i].nsamples);
        assert_int_equal(task.flags[0], cases[i].flag);
        clear_task(&task);
    }
}
