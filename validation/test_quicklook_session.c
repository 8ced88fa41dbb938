/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_quicklook_session.c -- the quick-look of a session: its independence of
 * blocks and threads, real samples, its memory.
 *
 * Shows (correlation, quick-look of a session): it covers the right results, a
 *     cell has the right weight, real samples work in either sideband, blocks
 *     and threads do not matter
 * Within: equal; halves 2⁻¹¹
 * Because: one rounding to half
 * In: scenario/quicklook.py
 */
#include "validation/session_run.h"

#define N_ANTENNAS 3
#define N_CHANNELS 16
#define M          100

/* Make real samples whose spectra in the lower sideband are those that they had
 * in the upper one. */
static void turn_round(struct voltages *v)
{
    for (size_t input = 0; input < v->n_inputs; input++)
        for (int64_t t = 1; t < v->n_samples; t += 2) {
            int8_t *sample = voltages_at(v, input, t);
            assert_true(*sample > -128);
            *sample = (int8_t) - *sample;
        }
}

static struct collected look(const struct fx8_plan *plan,
                             const struct delivery *d)
{
    struct voltages v = make_voltages(N_ANTENNAS * plan->n_polarizations,
                                      plan->is_complex ? 2 : 1, 9000, 20, 71);
    if (!plan->is_complex && plan->lower_sideband)
        turn_round(&v);
    return collect(plan, &v, d);
}

static struct fx8_plan look_plan(size_t n_polarizations, enum fx8_math math)
{
    struct fx8_plan plan =
        small_plan(N_ANTENNAS, n_polarizations, true, N_CHANNELS, M);
    plan.quicklook = true;
    plan.math = math;
    return plan;
}

static const struct delivery whole = {0};

TEST(nothing_without_being_planned)
{
    struct fx8_plan plan = look_plan(1, FX8_MATH_IEEE);
    plan.quicklook = false;
    const struct collected l = look(&plan, &whole);
    assert_true(l.n_dumps > 0);
    assert_null(l.quicklook[0]);
    assert_int_equal(l.looks.n_cells, 0);
    assert_int_equal(l.differences.n_dumps, 0);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(l.averages[i].state, FX8_QUICKLOOK_NONE);
        assert_true(isnan(l.averages[i].upper));
    }
}

TEST(blocks_and_threads_change_nothing)
{
    const struct delivery odd = {.block_samples = 777, .layout = TIME_MAJOR};
    for (int math = 0; math < 2; math++) {
        struct fx8_plan plan = look_plan(2, (enum fx8_math)math);
        const struct collected one = look(&plan, &whole);
        plan.machine.threads.count = 4;
        const struct collected many = look(&plan, &odd);
        check_same(&one, &many);
        assert_int_equal(one.differences.n_dumps, math);
    }
}

/* The same spectra give the same averages in either sideband: the first channel
 * is left out, not the one next to baseband zero. */
TEST(real_spectra_of_either_sideband)
{
    struct fx8_plan plan = look_plan(2, FX8_MATH_IEEE);
    plan.is_complex = false;
    const struct collected upper = look(&plan, &whole);
    plan.lower_sideband = true;
    const struct collected lower = look(&plan, &whole);
    check_same(&upper, &lower);
    assert_true(upper.looks.fisher_real > 0);
}

/* MiB for results. */
static size_t result_mib(struct fx8_plan plan)
{
    plan.machine.memory_limit = 1;
    return number_refused(&plan, " for samples, ");
}

/* 65,536 channels of 24 products in 8 bytes each, 12 MiB, and of 6 inputs six
 * floats: level, power, weight, steps and, in either mode, the scale: 9 MiB.
 * Two numbers were rounded, and some tables of baselines are added. */
TEST(the_memory_limit_counts_it)
{
    struct fx8_plan plan = look_plan(2, FX8_MATH_FAST);
    plan.channelizer.n_channels = 1 << 16;
    const size_t with = result_mib(plan);
    plan.quicklook = false;
    assert_in_range(with - result_mib(plan), 20, 22);
}
