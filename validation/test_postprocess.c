/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_postprocess.c -- from sums to visibilities, against the rules of
 * CONVENTIONS.md, written again here as plainly as possible: the same
 * operations in the same order, hence the same bits.
 *
 * Shows: as test_plan.c
 */
#include "validation/postprocess_task.h"

/* Sums of one precision, their valid products, the results of all bands. */
struct task {
    struct scene s;
    bool is_int8;
    int64_t *sums8, *counts;
    double *sums32;
    struct fx8_result all;
};

struct cell {
    double re, im, nsamples;
    bool is_flagged;
};

/* One channel of conj(E_i) E_j, whatever the order of i and j. */
static struct cell plain_cell(const struct task *task, size_t i, size_t j,
                              size_t channel)
{
    const struct fx8_postprocess *plan = &task->s.plan;
    const size_t pair = i < j ? fx8_pair_index(i, j) : fx8_pair_index(j, i);
    const size_t at = 2 * (channel * fx8_pair_count(plan->n_inputs) + pair);
    const size_t cell_i = i * task->s.n_row + channel;
    const size_t cell_j = j * task->s.n_row + channel;
    const uint8_t *cells =
        task->is_int8 ? plan->flag_cell : plan->flag_float_cell;
    const double count = (double)task->counts[pair];
    if (count == 0)
        return (struct cell){0, 0, 0, true};
    double part[2], scale = 1;
    for (size_t k = 0; k < 2; k++)
        part[k] = (task->is_int8 ? (double)task->sums8[at + k]
                                 : task->sums32[at + k]) /
                  count;
    if (task->is_int8 && plan->gain != NULL) {
        /* a level of one step is 1^2 + 1^2, for real spectra 1^2 */
        const bool is_real = plan->first_is_real && channel == 0;
        const double noise =
            (is_real ? 1.0 : 2.0) / (plan->has_dither ? 6 : 12);
        if (i == j && plan->remove_bias && part[0] - noise >= (is_real ? 1 : 2))
            part[0] -= noise;
        scale = (double)plan->gain[cell_i] * (double)plan->gain[cell_j];
    } else if (plan->input_gain != NULL) {
        scale = plan->input_gain[i] * plan->input_gain[j];
    }
    const double sign = (i > j) == plan->negate_imaginary ? 1 : -1;
    const double ripple = plan->ripple == NULL ? 1 : plan->ripple[channel];
    return (struct cell){
        part[0] / scale / ripple, i == j ? 0 : sign * part[1] / scale / ripple,
        count / (double)plan->spectra_per_dump,
        plan->flag_channel[channel] || plan->flag_input[i] ||
            plan->flag_input[j] ||
            (cells != NULL && (cells[cell_i] || cells[cell_j]))};
}

/* The mean of the channels of a group that are not flagged, or of all. */
static struct cell plain_mean(const struct task *task, size_t i, size_t j,
                              size_t group)
{
    const size_t n = task->s.plan.channel_average;
    struct cell mean = {0, 0, 0, true};
    double used = 0;
    for (int flagged = 0; flagged < 2 && used == 0; flagged++)
        for (size_t k = 0; k < n; k++) {
            const struct cell cell = plain_cell(task, i, j, group * n + k);
            if (cell.is_flagged != flagged)
                continue;
            mean = (struct cell){mean.re + cell.re, mean.im + cell.im,
                                 cell.nsamples, flagged};
            used++;
        }
    mean.re /= used;
    mean.im /= used;
    mean.nsamples *= used / (double)n;
    return mean;
}

/* The band's results; garbage in the cells of other bands. */
static void check(const struct task *task)
{
    static const size_t feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    const struct fx8_postprocess *plan = &task->s.plan;
    const size_t pols = plan->n_products == 4 ? 2 : 1;
    const size_t n = plan->channel_average, first = task->s.first / n;
    const struct fx8_result garbage = make_results(1);
    size_t at = 0;
    for (size_t a = 0; a < plan->n_antennas; a++)
        for (size_t b = a; b < plan->n_antennas; b++)
            for (size_t c = 0; c < task->s.n_row / n; c++)
                for (size_t p = 0; p < plan->n_products; p++, at++) {
                    const struct fx8_result got =
                        fx8_result_from(&task->all, at);
                    if (c < first) {
                        check_results(&garbage, &got, 1);
                        continue;
                    }
                    const struct cell want =
                        plain_mean(task, a * pols + feeds[p][0],
                                   b * pols + feeds[p][1], c - first);
                    assert_true(got.visibilities[0] == (float)want.re);
                    assert_true(got.visibilities[1] == (float)want.im);
                    assert_true(got.nsamples[0] == (float)want.nsamples);
                    assert_int_equal(got.flags[0], want.is_flagged);
                }
    assert_int_equal(at, task->s.n_cells);
}

/* Every variant gives the same bits, between the rows too. */
static void check_variants(const struct task *task, void *const *sums,
                           size_t kind)
{
    for (size_t v = 0; v < fx8_operations_variants(); v++) {
        struct fx8_postprocess plan = task->s.plan;
        plan.operations = fx8_operations_variant(v);
        const struct fx8_result all = make_results(task->s.n_cells);
        struct fx8_result results[FX8_N_RESULTS] = {{NULL, NULL, NULL}};
        results[kind] = band_of(&task->s, &all);
        fx8_postprocess_dump(&plan, sums, task->counts, results);
        check_results(&task->all, &all, task->s.n_cells);
    }
}

/* Sums of a few products have levels on both sides of one step. */
TEST(random_tasks_by_the_rules)
{
    static const size_t averages[] = {1, 1, 2, 3, 6};
    struct generator g = {31};
    for (size_t i = 0; i < 600; i++) {
        const size_t average = averages[random_below(&g, 5)];
        const size_t channels = average * (1 + random_below(&g, 20));
        /* tiles of 64 inputs and 16 channels, results for 1 MiB and more */
        const size_t antennas = 1 + random_below(&g, i % 50 < 2 ? 70 : 5);
        struct task task = {.s = make_scene(antennas, 1 + random_below(&g, 2),
                                            channels, average, 1 + i / 2 % 3,
                                            &g),
                            .is_int8 = i % 2 == 0};
        struct fx8_postprocess *plan = &task.s.plan;
        const size_t n = channels * fx8_pair_count(plan->n_inputs) * 2;
        task.sums8 = temporary(n * sizeof *task.sums8);
        task.sums32 = temporary(n * sizeof *task.sums32);
        task.counts = random_counts(&task.s, &g);
        task.all = make_results(task.s.n_cells);
        for (size_t k = 0; k < n; k++) {
            task.sums8[k] = random_in(&g, -300, 300);
            task.sums32[k] = (double)random_in(&g, -999999, 999999) / 1234.0;
        }
        plan->remove_bias = random_below(&g, 4) > 0;
        plan->has_dither = random_below(&g, 2) > 0;
        plan->first_is_real = random_below(&g, 2) == 1;
        plan->gain = random_below(&g, 4) == 0 ? NULL : plan->gain;
        plan->input_gain = random_below(&g, 2) == 0 ? task.s.input_gain : NULL;
        plan->ripple = i % 3 == 0 ? NULL : task.s.ripple;
        if (random_below(&g, 4) == 0)
            plan->flag_cell = plan->flag_float_cell = NULL;
        void *sums[FX8_N_RESULTS] = {NULL};
        struct fx8_result results[FX8_N_RESULTS] = {{NULL, NULL, NULL}};
        const size_t kind = task.is_int8 ? FX8_RESULT_INT8 : FX8_RESULT_FP32;
        sums[kind] = task.is_int8 ? (void *)task.sums8 : task.sums32;
        results[kind] = band_of(&task.s, &task.all);
        fx8_postprocess_dump(plan, sums, task.counts, results);
        check(&task);
        check_variants(&task, sums, kind);
    }
}
