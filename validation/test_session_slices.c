/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session_slices.c -- dumps delivered in slices, where whole ones would
 * need more memory than is allowed.
 *
 * Shows (results, sessions in slices): the slices of all dumps, one behind the
 *     other, are the dumps of a session without slices, of a hundred random
 *     plans and of eventful recordings: INT8, FP32 and bounds, bands, averages,
 *     flags, gaps, markers, dead inputs, delays, long and short dumps, ranges
 * of dumps; so are gains, clips and counts Within: equal to the bit; memory as
 * large as asked for at most, or the smallest that a limit below it is refused
 * with
 *
 * Shows (results, choice of baselines): a session for some baselines delivers
 *     those of a session for all, of random plans: whole dumps, slices, some
 *     of which have none, and ranges of dumps
 * Within: equal to the bit
 */
#include "validation/eventful.h"
#include "validation/session_ranges.h"

static const struct delivery at_once = {0};

/* What a session for this plan takes. */
static struct fx8_session_info open_for(const struct fx8_plan *plan,
                                        size_t slices_above)
{
    struct collected unused = {0};
    struct fx8_plan mine = *plan;
    struct fx8_session *session;
    struct fx8_error error;
    mine.machine.slices_above = slices_above;
    mine.reread = reread_block; /* not called */
    must(fx8_open(&mine, collect_dump, &unused, &session, &error), error);
    const struct fx8_session_info info = fx8_info(session);
    fx8_close(&session);
    return info;
}

/* One run with slices, against the whole. */
static size_t check_run(struct fx8_plan plan, const struct voltages *v,
                        const struct collected *wanted, size_t slices_above,
                        struct generator *g)
{
    const struct delivery in_pieces = {
        .block_samples = random_in(g, 100, 3000),
        .layout = (enum layout)random_below(g, N_LAYOUTS),
        .reread_samples = random_in(g, 100, 2000),
        .is_pulled = random_below(g, 2) == 1,
    };
    const size_t n_slices = open_for(&plan, slices_above).n_slices;
    plan.machine.slices_above = slices_above;
    const struct collected c = collect(&plan, v, &in_pieces);
    check_same(wanted, &c);
    assert_int_equal(c.n_slices, c.n_dumps * n_slices);
    return n_slices;
}

/* The smallest slices, the largest and some between; returns the most slices.
 */
static size_t check_slices(const struct fx8_plan *plan,
                           const struct voltages *v, struct generator *g)
{
    const struct collected whole = collect(plan, v, &at_once);
    const size_t all = open_for(plan, 0).memory;
    const size_t least = open_for(plan, 1).memory;
    assert_int_equal(open_for(plan, all).n_slices, 1);
    assert_true(least <= all);
    if (plan->n_antennas > 1)
        assert_true(check_run(*plan, v, &whole, all - 1, g) > 1);
    for (size_t k = 0; k < 3 && least < all; k++) {
        const size_t above = (size_t)random_in(g, (int64_t)least, (int64_t)all);
        const size_t memory = open_for(plan, above).memory;
        assert_true(memory <= above);
        check_run(*plan, v, &whole, above, g);
    }
    return check_run(*plan, v, &whole, 1, g);
}

TEST(eventful_recordings)
{
    static const double turns[] = {0.0, 0.25, -0.1, 0.7, -12.3, 0.5};
    struct generator g = {1};
    for (size_t k = 0; k < 8; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k % 2);
        size_t n_inputs = 6;
        plan.quicklook = false;
        plan.n_spectra = k / 4 == 1 ? 4 * 90 + 37 : 0;
        plan.machine.spot_check = FX8_SPOT_YES;
        if (k / 2 % 2 == 1)
            plan.delays =
                (struct fx8_delays){find_delays, &n_inputs, 50e-6, turns};
        if (k % 4 == 3)
            plan.precision = FX8_PRECISION_FP32 | FX8_PRECISION_INTERVAL;
        assert_int_equal(check_slices(&plan, &v, &g), 2);
    }
}

/* Flags, gains and gaps at random; bands of one channel are averaged. */
static struct fx8_plan random_plan(struct generator *g, struct voltages *v,
                                   double *gains, uint8_t *flags)
{
    static const double offsets_hz[] = {0, 2e6, 4e6};
    static const unsigned precisions[] = {1, 2, 3, 12, 14, 15};
    const size_t n_channels = 1 + random_below(g, 12);
    const size_t n_antennas = 1 + random_below(g, 12);
    struct fx8_plan plan = small_plan(n_antennas, 1 + random_below(g, 2),
                                      random_below(g, 2) == 0, n_channels, 1);
    const int64_t n_samples = 2500;
    plan.spectra_per_dump =
        n_samples / (int64_t)fx8_plan_axes(&plan).step / random_in(g, 1, 5);
    plan.precision = (enum fx8_precision)precisions[random_below(g, 6)];
    plan.n_bands = 1 + random_below(g, 3);
    plan.band_offset_hz = offsets_hz;
    if (n_channels % 2 == 0 || (n_channels == 1 && plan.n_bands == 2))
        plan.channel_average = 1 + random_below(g, 2);
    plan.lower_sideband = random_below(g, 2) == 1;
    plan.machine.spot_check = (enum fx8_spot_check)random_below(g, 3);
    plan.machine.threads.count = 1 + random_below(g, 3);
    const size_t n_rows = n_antennas * plan.n_polarizations * plan.n_bands;
    const size_t size = plan.is_complex ? 2 : 1;
    *v = make_voltages(n_rows, size, n_samples, 15, random_below(g, 1000));
    for (size_t row = 0; row < n_rows; row++)
        gains[row] = ldexp(1.0, (int)random_below(g, 5) - 2);
    plan.input_gain = random_below(g, 2) == 1 ? gains : NULL;
    for (size_t k = 0; k < n_antennas; k++)
        flags[k] = random_below(g, 5) == 0;
    plan.flag_antenna = flags;
    for (size_t k = 0; k < 4; k++)
        v->missing[v->n_missing++] =
            (struct fx8_gap){random_in(g, 0, n_samples), random_in(g, 1, 300),
                             random_in(g, -1, (int64_t)n_rows - 1)};
    if (random_below(g, 3) == 0) /* dead */
        memset(voltages_at(v, random_below(g, n_rows), 0), 0,
               (size_t)n_samples * size);
    return plan;
}

/* Under a checker, which sees the same code in each, only some. */
static size_t n_rounds_of(size_t all)
{
    return FX8_THREAD_CHECKER                  ? all / 5
           : FX8_ADDRESS_CHECKER && !is_long() ? all / 2
                                               : all;
}

TEST(random_plans)
{
    struct generator g = {2};
    size_t most = 0;
    const size_t n_rounds = n_rounds_of(100);
    for (size_t round = 0; round < n_rounds; round++) {
        double gains[12 * 2 * 3];
        uint8_t flags[12];
        struct voltages v;
        const struct fx8_plan plan = random_plan(&g, &v, gains, flags);
        const size_t n_slices = check_slices(&plan, &v, &g);
        most = n_slices > most ? n_slices : most;
    }
    assert_true(most > 6);
}

/* Sums that do not fit an int32 are folded before the dump ends. */
TEST(long_dumps)
{
    struct generator g = {3};
    for (size_t k = 0; k < 2; k++) {
        struct fx8_plan plan = small_plan(3, 1 + k, true, 1, 70000);
        const struct voltages v =
            make_voltages(3 * (1 + k), 2, 140000, 60, 40 + k);
        plan.channelizer = (struct fx8_channelizer){
            .method = k == 0 ? FX8_METHOD_NONE : FX8_METHOD_FFT,
            .n_channels = 1};
        assert_int_equal(check_slices(&plan, &v, &g), 2);
    }
}

/* The largest array of which all pairs of 64 slices are checked. */
TEST(slices_of_many_antennas)
{
    struct generator g = {4};
    struct fx8_plan plan = small_plan(150, 1, true, 2, 300);
    const struct voltages v = make_voltages(150, 2, 1400, 15, 50);
    const size_t n_slices = check_slices(&plan, &v, &g);
    assert_in_range(n_slices, 60, 90);
}

TEST(ranges_of_dumps_in_slices)
{
    for (size_t k = 0; k < 2; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k == 1);
        plan.quicklook = false;
        const struct collected c = collect(&plan, &v, &at_once);
        struct collected unused = {0};
        struct rereader again = {.v = &v, .d.block_samples = 70, .c = &unused};
        plan.reread = reread_block;
        plan.reread_context = &again;
        plan.machine.slices_above = 1;
        check_ranges(&plan, &v, &c);
        release_early(again.packed.memory);
    }
}

/* --- some baselines ------------------------------------------------- */

static void *keep_rows(const void *rows, size_t n_dumps, size_t n_all,
                       const size_t *baselines, size_t n, size_t bytes)
{
    char *kept = NULL;
    for (size_t k = 0; rows != NULL && k < n_dumps * n; k++) {
        const size_t row = k / n * n_all + baselines[k % n];
        kept =
            append(kept, k * bytes, (const char *)rows + row * bytes, bytes, 1);
    }
    return kept;
}

/* What a session for these baselines must deliver. */
static struct collected keep(const struct collected *all,
                             const size_t *baselines, size_t n)
{
    const size_t row = all->n_cells / all->n_baselines;
    struct collected c = *all;
    c.n_baselines = n;
    c.n_cells = n * row;
    c.n_averages = all->n_averages / all->n_baselines * n;
    for (size_t k = 0; k < FX8_N_RESULTS; k++) {
        c.visibilities[k] =
            keep_rows(all->visibilities[k], all->n_dumps, all->n_baselines,
                      baselines, n, row * 2 * sizeof(float));
        c.flags[k] = keep_rows(all->flags[k], all->n_dumps, all->n_baselines,
                               baselines, n, row);
        c.nsamples[k] =
            keep_rows(all->nsamples[k], all->n_dumps, all->n_baselines,
                      baselines, n, row * sizeof(float));
    }
    return c;
}

/* Every baseline with this chance, but at least one. */
static size_t choose(struct generator *g, size_t n_all, size_t chance,
                     size_t *baselines)
{
    size_t n = 0;
    for (size_t b = 0; b < n_all; b++)
        if (random_below(g, 100) < chance)
            baselines[n++] = b;
    if (n == 0)
        baselines[n++] = random_below(g, n_all);
    return n;
}

TEST(some_baselines)
{
    static const size_t chances[] = {0, 10, 50, 90};
    const size_t n_rounds = n_rounds_of(80);
    struct generator g = {5};
    size_t n_without = 0;
    for (size_t round = 0; round < n_rounds; round++) {
        double gains[12 * 2 * 3];
        uint8_t flags[12];
        size_t baselines[12 * 13 / 2];
        struct voltages v;
        struct fx8_plan plan = random_plan(&g, &v, gains, flags);
        const struct collected all = collect(&plan, &v, &at_once);
        plan.n_baselines =
            choose(&g, all.n_baselines, chances[round % 4], baselines);
        plan.baselines = baselines;
        const struct collected wanted = keep(&all, baselines, plan.n_baselines);
        const struct collected whole = collect(&plan, &v, &at_once);
        check_same(&wanted, &whole);
        plan.machine.slices_above = 1;
        const struct delivery again = {.reread_samples = 500,
                                       .is_pulled = round % 2 == 1};
        const struct collected sliced = collect(&plan, &v, &again);
        check_same(&wanted, &sliced);
        const size_t n_slices = open_for(&plan, 1).n_slices;
        n_without += sliced.n_slices < n_slices * sliced.n_dumps;
    }
    assert_true(n_without > n_rounds / 8);
}

TEST(ranges_of_dumps_of_some_baselines)
{
    /* the only slice, the first of two, the last */
    static const size_t baselines[] = {0, 1, 5};
    for (size_t k = 0; k < 3; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k == 1);
        plan.quicklook = false;
        const struct collected all = collect(&plan, &v, &at_once);
        assert_int_equal(all.n_baselines, 6);
        plan.n_baselines = 1;
        plan.baselines = &baselines[k];
        const struct collected c = keep(&all, plan.baselines, 1);
        struct collected unused = {0};
        struct rereader again = {.v = &v, .d.block_samples = 70, .c = &unused};
        plan.reread = reread_block;
        plan.reread_context = &again;
        plan.machine.slices_above = k > 0;
        check_ranges(&plan, &v, &c);
        release_early(again.packed.memory);
    }
}

/* A limit that whole dumps exceed: slices take less, and the figure with which
 * a lower one is refused suffices. */
TEST(a_limit_that_slices_keep)
{
    struct fx8_plan plan = small_plan(128, 2, true, 64, 100);
    struct fx8_session *session;
    struct fx8_error error;
    plan.reread = reread_block;
    plan.machine.memory_limit = 1;
    const size_t whole = number_refused(&plan, "expected at least ");
    plan.machine.slices_above = 1;
    const size_t least = number_refused(&plan, "expected at least ");
    /* results in two precisions, 29 bytes a cell; 8 arrays in large pages, and
     * small ones that grow with the baselines */
    const size_t results = (size_t)2 * 29 * (128 * 129 / 2) * 4 * 64;
    assert_in_range(whole - least, results / 64 * 62 >> 20,
                    (results >> 20) + 2 * 8 + 10);
    /* what the caller takes counts too, more of it with whole dumps */
    plan.machine.beside = (size_t)7 << 20;
    plan.machine.beside_whole = (size_t)9 << 20;
    assert_int_equal(number_refused(&plan, "expected at least "), least + 7);
    assert_int_equal(number_refused(&plan, " for results, "), 7);
    plan.machine.slices_above = 0;
    assert_int_equal(number_refused(&plan, "expected at least "), whole + 16);
    plan.machine.memory_limit = plan.machine.slices_above = (whole + 15) << 20;
    must(fx8_open(&plan, collect_dump, NULL, &session, &error), error);
    assert_true(fx8_info(session).n_slices > 1);
    fx8_close(&session);
    plan.machine.beside = plan.machine.beside_whole = 0;
    plan.machine.slices_above = 1;
    plan.machine.memory_limit = (least - 1) << 20;
    assert_int_equal(number_refused(&plan, "expected at least "), least);
    for (size_t mib = least; mib <= whole; mib += (whole - least) / 2) {
        plan.machine.memory_limit = plan.machine.slices_above = mib << 20;
        must(fx8_open(&plan, collect_dump, NULL, &session, &error), error);
        assert_int_equal(fx8_info(session).n_slices > 1, mib < whole);
        assert_true(fx8_info(session).memory <= mib << 20);
        fx8_close(&session);
    }
}

/* --- misuse ---------------------------------------------------------- */

TEST(plans_that_need_whole_dumps)
{
    struct fx8_plan plan = small_plan(4, 1, true, 4, 50);
    struct fx8_session *session;
    struct fx8_error error;
    plan.machine.slices_above = 1;
    must_fail(fx8_open(&plan, NULL, NULL, &session, &error), error,
              FX8_ERR_USAGE,
              "plan: slices_above: expected reread, for the samples that set "
              "the gains");
    plan.reread = reread_block;
    plan.quicklook = true;
    must_fail(fx8_open(&plan, NULL, NULL, &session, &error), error,
              FX8_ERR_USAGE,
              "plan: slices_above: expected 0 with a quick-look, which takes "
              "whole dumps");
}

TEST(baselines_that_are_refused)
{
    static const size_t lists[][2] = {{3, 3}, {4, 2}, {0, 10}};
    struct fx8_plan plan = small_plan(4, 1, true, 4, 50);
    struct fx8_session *session;
    struct fx8_error error;
    for (size_t k = 0; k < 4; k++) {
        plan.baselines = lists[k % 3];
        plan.n_baselines = k < 3 ? 2 : 0;
        must_fail(fx8_open(&plan, NULL, NULL, &session, &error), error,
                  FX8_ERR_USAGE,
                  "plan: baselines: expected at least one, ascending, of "
                  "n_antennas");
    }
    plan.n_baselines = 1;
    plan.quicklook = true;
    must_fail(fx8_open(&plan, NULL, NULL, &session, &error), error,
              FX8_ERR_USAGE, "plan: baselines: expected all with a quick-look");
}

/* Dumps of two slices, of FP32. */
static struct fx8_plan two_slices(void)
{
    struct fx8_plan plan = small_plan(3, 1, true, 4, 100);
    plan.precision = FX8_PRECISION_FP32;
    plan.machine.slices_above = 1;
    return plan;
}

/* Between two slices of a dump nothing else is possible. */
TEST(calls_between_slices)
{
    const struct fx8_plan plan = two_slices();
    const struct voltages v = make_voltages(3, 2, 900, 15, 60);
    const struct packed all = pack(&v, ANTENNA_MAJOR, 0, 900);
    struct fx8_session *session;
    struct fx8_error error;
    must(fx8_open(&plan, NULL, NULL, &session, &error), error);
    for (int64_t dump = 0; dump < 2; dump++)
        for (size_t slice = 0; slice < 2; slice++) {
            assert_int_equal(fx8_push(session, &all.block, &error),
                             FX8_DUMP_READY);
            assert_int_equal(fx8_flush(session, &error), FX8_DUMP_READY);
            const struct fx8_dump *got = fx8_take_dump(session);
            assert_int_equal(got->index, dump);
            assert_int_equal(got->first_baseline, 3 * slice);
            assert_int_equal(got->n_baselines, 3);
            if (slice == 0) /* more of it follows */
                assert_int_equal(fx8_seek(session, 1, 0, NULL, &error),
                                 FX8_ERR_USAGE);
        }
    fx8_close(&session);
}

/* A callback that fails in the second slice ends the session. */
static enum fx8_status fail_in_second(void *context,
                                      const struct fx8_dump *dump,
                                      struct fx8_error *error)
{
    ++*(size_t *)context;
    return dump->first_baseline == 0
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_SYSTEM, "no room");
}

TEST(a_callback_that_fails_in_a_slice)
{
    const struct fx8_plan plan = two_slices();
    const struct voltages v = make_voltages(3, 2, 900, 15, 61);
    const struct packed all = pack(&v, ANTENNA_MAJOR, 0, 900);
    struct fx8_session *session;
    struct fx8_error error;
    size_t n = 0;
    must(fx8_open(&plan, fail_in_second, &n, &session, &error), error);
    must_fail(fx8_push(session, &all.block, &error), error, FX8_ERR_SYSTEM,
              "no room");
    assert_int_equal(n, 2);
    assert_int_equal(fx8_flush(session, &error), FX8_ERR_SYSTEM);
    fx8_close(&session);
}
