/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_postprocess.c -- from sums to visibilities, against the rules of
 * CONVENTIONS.md, written again here as plainly as possible.
 *
 * Shows: as test_plan.c
 */
#include <math.h>

#include "validation/postprocess_task.h"

/* Random sums and their results. */
struct task {
    struct scene s;
    int64_t *sums8, *counts;
    double *sums32;
    struct fx8_result out;
};

static struct task make_task(size_t antennas, size_t pols, size_t channels,
                             size_t average, size_t n_bands,
                             struct generator *g)
{
    struct task task = {
        .s = make_scene(antennas, pols, channels, average, n_bands, g)};
    const int64_t m = task.s.plan.spectra_per_dump;
    const size_t n = channels * fx8_pair_count(antennas * pols) * 2;
    task.counts = random_counts(&task.s, g);
    task.sums8 = temporary(n * sizeof *task.sums8);
    task.sums32 = temporary(n * sizeof *task.sums32);
    for (size_t i = 0; i < n; i++) {
        task.sums8[i] = random_in(g, -3 * m, 3 * m);
        task.sums32[i] = (double)random_in(g, -999999, 999999) / 1234.0;
    }
    return task;
}

static void run(struct task *task, bool is_int8)
{
    const size_t kind = is_int8 ? FX8_RESULT_INT8 : FX8_RESULT_FP32;
    void *sums[FX8_N_RESULTS] = {NULL};
    struct fx8_result results[FX8_N_RESULTS] = {{NULL, NULL, NULL}};
    sums[kind] = is_int8 ? (void *)task->sums8 : task->sums32;
    task->out = make_results(task->s.n_cells);
    results[kind] = band_of(&task->s, &task->out);
    fx8_postprocess_dump(&task->s.plan, sums, task->counts, results);
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
    const struct fx8_postprocess *plan = &task->s.plan;
    const size_t pair = i < j ? fx8_pair_index(i, j) : fx8_pair_index(j, i);
    const size_t at = 2 * (channel * fx8_pair_count(plan->n_inputs) + pair);
    const int64_t count = task->counts[pair];
    if (count == 0)
        return (struct cell){0, 0, 0, true};
    double re = is_int8 ? (double)task->sums8[at] : task->sums32[at];
    double im = is_int8 ? (double)task->sums8[at + 1] : task->sums32[at + 1];
    re /= (double)count;
    im /= (double)count;
    const size_t cell_i = i * task->s.n_row + channel;
    const size_t cell_j = j * task->s.n_row + channel;
    if (is_int8 && plan->gain != NULL) {
        /* a level of one step is 1^2 + 1^2, for real spectra 1^2 */
        const bool is_real = plan->first_is_real && channel == 0;
        const double noise = is_real ? 1.0 / 12 : 1.0 / 6;
        if (i == j && plan->remove_bias && re - noise >= (is_real ? 1 : 2))
            re -= noise;
        re /= (double)plan->gain[cell_i] * plan->gain[cell_j];
        im /= (double)plan->gain[cell_i] * plan->gain[cell_j];
    } else if (plan->input_gain != NULL) {
        re /= plan->input_gain[i] * plan->input_gain[j];
        im /= plan->input_gain[i] * plan->input_gain[j];
    }
    if (i > j)
        im = -im;
    if (plan->negate_imaginary)
        im = -im;
    return (struct cell){
        re, i == j ? 0 : im, (double)count / (double)plan->spectra_per_dump,
        plan->flag_channel[channel] || plan->flag_input[i] ||
            plan->flag_input[j] ||
            (is_int8 && plan->flag_cell != NULL &&
             (plan->flag_cell[cell_i] || plan->flag_cell[cell_j]))};
}

static struct cell plain_mean(const struct task *task, size_t i, size_t j,
                              size_t group, bool is_int8)
{
    const size_t n = task->s.plan.channel_average;
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
static void check_untouched(const struct fx8_result *out, size_t at)
{
    uint8_t garbage[8];
    memset(garbage, GARBAGE, sizeof garbage);
    assert_memory_equal(out->visibilities + 2 * at, garbage, 8);
    assert_memory_equal(out->nsamples + at, garbage, 4);
    assert_int_equal(out->flags[at], GARBAGE);
}

static void check(const struct task *task, bool is_int8)
{
    static const size_t feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    const struct fx8_postprocess *plan = &task->s.plan;
    const struct fx8_result *out = &task->out;
    const size_t pols = plan->n_products == 4 ? 2 : 1;
    const size_t n = plan->channel_average;
    const size_t begin = task->s.first / n, end = begin + plan->n_channels / n;
    size_t at = 0;
    for (size_t a = 0; a < plan->n_antennas; a++)
        for (size_t b = a; b < plan->n_antennas; b++)
            for (size_t c = 0; c < task->s.n_row / n; c++)
                for (size_t p = 0; p < plan->n_products; p++, at++) {
                    if (c < begin || c >= end) {
                        check_untouched(out, at);
                        continue;
                    }
                    const struct cell cell =
                        plain_mean(task, a * pols + feeds[p][0],
                                   b * pols + feeds[p][1], c - begin, is_int8);
                    /* the same operations in the same order: the same bits */
                    assert_true(out->visibilities[2 * at] == (float)cell.re);
                    assert_true(out->visibilities[2 * at + 1] ==
                                (float)cell.im);
                    assert_true(out->nsamples[at] == (float)cell.nsamples);
                    assert_int_equal(out->flags[at], cell.is_flagged);
                }
    assert_int_equal(at, task->s.n_cells);
}

TEST(random_tasks_by_the_rules)
{
    struct generator g = {31};
    static const size_t averages[] = {1, 1, 2, 3, 6};
    for (int i = 0; i < 300; i++) {
        const size_t average = averages[random_below(&g, 5)];
        struct task task = make_task(
            1 + random_below(&g, 5), 1 + random_below(&g, 2),
            average * (1 + random_below(&g, 20)), average,
            random_below(&g, 3) == 0 ? 2 + random_below(&g, 3) : 1, &g);
        struct fx8_postprocess *plan = &task.s.plan;
        plan->remove_bias = random_below(&g, 4) > 0;
        plan->first_is_real = random_below(&g, 2);
        if (random_below(&g, 4) == 0)
            plan->gain = NULL;
        if (random_below(&g, 2) == 0)
            plan->input_gain = task.s.input_gain;
        if (random_below(&g, 4) == 0)
            plan->flag_cell = NULL;
        for (int is_int8 = 0; is_int8 < 2; is_int8++) {
            run(&task, is_int8);
            check(&task, is_int8);
        }
    }
}
