/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_spot_choice.c -- which pairs, inputs and channels the spot check
 * samples, dump by dump.
 *
 * Shows: as test_spot.c
 */
#include "correlator/library/spot.h"
#include "validation/session_run.h"

static struct fx8_spot spot_of(const struct fx8_plan *plan)
{
    const struct fx8_axes axes = fx8_plan_axes(plan);
    return (struct fx8_spot){
        .n_pairs = fx8_spot_pairs(&axes),
        .n_inputs = axes.n_inputs,
        .n_polarizations = plan->n_polarizations,
        .n_channels = axes.n_kept,
        .n_bands = plan->n_bands,
    };
}

/* What every choice must satisfy, in any dump. */
static void check_choice(const struct fx8_spot *spot,
                         const struct fx8_plan *plan)
{
    const struct fx8_engine_watch *watch = &spot->watch;
    const struct fx8_axes axes = fx8_plan_axes(plan);
    assert_true(spot->band < spot->n_bands);
    assert_true(watch->channel < spot->n_channels);
    assert_int_equal(watch->n_pairs, spot->n_pairs);
    assert_in_range(watch->n_inputs, 1, fx8_spot_inputs(&axes));
    assert_in_range(watch->n_inputs, 1, FX8_WATCHED_INPUTS);
    for (size_t a = 0; a < watch->n_inputs; a++) {
        assert_true(watch->inputs[a] < spot->n_inputs);
        for (size_t b = 0; b < a; b++)
            assert_int_not_equal(watch->inputs[a], watch->inputs[b]);
    }
    for (size_t k = 0; k < watch->n_pairs; k++) {
        const struct fx8_spot_pair *pair = &spot->pairs[k];
        assert_true(pair->i <= pair->j);
        assert_int_equal(watch->pairs[k], fx8_pair_index(pair->i, pair->j));
        assert_true(pair->row_i < watch->n_inputs &&
                    pair->row_j < watch->n_inputs);
        assert_int_equal(watch->inputs[pair->row_i], pair->i);
        assert_int_equal(watch->inputs[pair->row_j], pair->j);
    }
}

/* After the documented number of dumps all pairs, all inputs with themselves
 * and all channels of all bands were checked, no pair twice before that. */
static void check_turns(const struct fx8_plan *plan, size_t wanted)
{
    struct fx8_spot spot = spot_of(plan);
    assert_int_equal(spot.n_pairs, wanted);
    const size_t n_pairs = fx8_pair_count(spot.n_inputs);
    const size_t n_channels = spot.n_channels * spot.n_bands;
    const size_t n_autos = wanted >= 8 ? 1 : 0;
    const size_t turns = (n_pairs - 1) / (wanted - n_autos) + 1;
    size_t n_dumps = turns > n_channels ? turns : n_channels;
    n_dumps = n_dumps > spot.n_inputs ? n_dumps : spot.n_inputs;
    bool *pairs = temporary_zeros(n_pairs);
    bool *autos = temporary_zeros(spot.n_inputs);
    bool *channels = temporary_zeros(n_channels);
    size_t n_seen = 0;
    for (size_t dump = 0; dump < n_dumps; dump++) {
        fx8_spot_choose(&spot, (int64_t)dump);
        check_choice(&spot, plan);
        channels[spot.band * spot.n_channels + spot.watch.channel] = true;
        if (n_autos > 0) {
            assert_int_equal(spot.pairs[0].i, spot.pairs[0].j);
            autos[spot.pairs[0].i] = true;
        }
        for (size_t k = n_autos; k < wanted; k++) {
            n_seen += !pairs[spot.watch.pairs[k]];
            pairs[spot.watch.pairs[k]] = true;
        }
        if (dump + 1 < turns)
            assert_int_equal(n_seen, (dump + 1) * (wanted - n_autos));
    }
    assert_int_equal(n_seen, n_pairs);
    for (size_t k = 0; k < n_channels; k++)
        assert_true(channels[k]);
    for (size_t k = 0; k < spot.n_inputs; k++)
        assert_true(autos[k] || n_autos == 0);
}

TEST(everything_has_its_turn)
{
    static const struct {
        size_t n_antennas, n_polarizations, n_channels, n_bands, n_pairs;
    } cases[] = {
        {1, 1, 4, 1, 1},      {1, 1, 65536, 1, 1}, {2, 1, 65536, 1, 3},
        {7, 2, 64, 1, 1},     {16, 2, 256, 1, 2},  {32, 2, 511, 1, 7},
        {128, 2, 216, 1, 13}, {50, 2, 192, 5, 16},
    };
    for (size_t k = 0; k < LENGTH(cases); k++) {
        struct fx8_plan plan =
            small_plan(cases[k].n_antennas, cases[k].n_polarizations, true,
                       cases[k].n_channels, 8);
        plan.n_bands = cases[k].n_bands;
        check_turns(&plan, cases[k].n_pairs);
    }
}

/* The largest plan, and dumps without end. */
TEST(sizes_without_an_end)
{
    struct fx8_plan plan = small_plan(FX8_MAX_ANTENNAS, 2, true, 4096, 8);
    plan.n_bands = 4096;
    struct fx8_spot spot = spot_of(&plan);
    for (int64_t dump = 1; dump < INT64_C(1) << 60; dump *= 3) {
        fx8_spot_choose(&spot, dump);
        check_choice(&spot, &plan);
    }
}

/* Dumps until a pair of a sub-tile of 16 by 8 inputs is checked, in any tile of
 * 64: a kernel's fault is in all of them. */
static size_t dumps_until(struct fx8_spot *spot, size_t row, size_t column)
{
    for (int64_t dump = 0; dump < 1000; dump++) {
        fx8_spot_choose(spot, dump);
        for (size_t k = 0; k < spot->n_pairs; k++)
            if (spot->pairs[k].i % 64 / 16 == row &&
                spot->pairs[k].j % 64 / 8 == column)
                return (size_t)dump + 1;
    }
    return 1000;
}

/* One of 32 places: 15 pairs of a dump that are not of one input, seven of
 * fewer inputs.  Random pairs would take 32 for a given place, and 32 (ln 32 +
 * 0.6) = 130 for the last one: twice that is soon. */
TEST(a_wrong_sub_tile_is_looked_at_soon)
{
    for (size_t n_antennas = 64; n_antennas <= 512; n_antennas *= 2) {
        const struct fx8_plan plan = small_plan(n_antennas, 2, true, 256, 8);
        struct fx8_spot spot = spot_of(&plan);
        size_t most = 0, all = 0;
        for (size_t place = 0; place < 32; place++) {
            const size_t n = dumps_until(&spot, place / 8, place % 8);
            most = n > most ? n : most;
            all += n;
        }
        print_message("# %zu inputs: %.1f dumps, %zu at most\n", 2 * n_antennas,
                      (double)all / 32, most);
        assert_in_range(most * (spot.n_pairs - 1), 1, 2 * 130);
        assert_in_range(all * (spot.n_pairs - 1), 1, 2 * 32 * 32);
    }
}
