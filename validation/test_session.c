/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session.c -- libfx8 through its public header: choices that must not
 * change a single bit, inputs that are dead or missing.  Values are compared
 * with an independent correlator by python/test_matrix.py and
 * python/test_exact.py, bounds by scenario/interval.py.
 *
 * Shows: as python/test_exact.py
 */
#include <pthread.h>

#include "validation/eventful.h"

static const struct delivery whole = {0};

/* --- what must not change a bit ---------------------------------------- */

TEST(blocks_layouts_and_threads)
{
    static const double turns[] = {0.0, 0.25, -0.1, 0.7, -12.3, 0.5};
    static const struct delivery deliveries[] = {
        {.block_samples = 1, .layout = TIME_MAJOR},
        {.block_samples = 2},
        {.block_samples = 13, .layout = BACKWARDS},
        {.block_samples = 100, .layout = TIME_MAJOR},
        {.block_samples = 1024},
        {.layout = TIME_MAJOR},
        {.layout = BACKWARDS},
        {.block_samples = 50, .layout = TIME_MAJOR, .overlap = 49},
        {.block_samples = 700, .layout = BACKWARDS, .overlap = 900},
        {.block_samples = 3, .overlap = 11},
        {.layout = IN_PLACE},
        {.block_samples = 100, .layout = IN_PLACE},
        {.block_samples = 500, .layout = IN_PLACE, .overlap = 70},
        {.block_samples = 1, .layout = IN_PLACE},
        /* samples delivered again, dumps taken */
        {.block_samples = 100, .reread_samples = 7},
        {.block_samples = 900, .overlap = 30, .reread_samples = 5000},
        {.block_samples = 333, .layout = IN_PLACE, .reread_samples = 999},
        {.block_samples = 1, .reread_samples = 50, .is_pulled = true},
        {.layout = IN_PLACE, .is_pulled = true},
        {.block_samples = 640, .reread_samples = 64, .is_pulled = true},
        {.block_samples = 250, .layout = IN_PLACE, .is_pulled = true},
    };
    for (size_t k = 0; k < 8; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k % 2);
        size_t n_inputs = 6;
        plan.n_spectra = k / 4 == 1 ? 4 * 90 + 37 : 0;
        if (k / 2 % 2 == 1)
            plan.delays =
                (struct fx8_delays){find_delays, &n_inputs, 50e-6, turns};
        const struct collected first = collect(&plan, &v, &whole);
        assert_true(first.n_dumps >= 4);
        assert_int_equal(first.statistics.n_gain_rounds, 2);
        assert_true(first.statistics.n_clipped > 0);
        for (size_t i = 0; i < LENGTH(deliveries); i++) {
            plan.machine.threads.count = 1 + i % 3;
            const struct collected c = collect(&plan, &v, &deliveries[i]);
            check_same(&first, &c);
        }
    }
}

/* Samples that never come are as missing as a gap that says so: parts of a
 * dump, dumps, and parts of several engine blocks, of 2048 spectra; also if
 * only a block without samples declares the gap, and gains are still sought
 * when nothing comes after it. */
TEST(a_gap_is_a_missing_stretch)
{
    static const struct {
        int64_t n_samples, spectra_per_dump, block_samples;
        int64_t starts[4], lengths[4];
    } cases[] = {
        {3000, 60, 100, {0, 1, 777, 2500}, {1, 2600, 667, 2700}},
        {50000, 5000, 999, {0, 7, 8192, 19999}, {8200, 19990, 29000, 31234}},
    };
    for (size_t k = 0; k < 2 * 4 * 4; k++) {
        const size_t c = k / 16;
        const int64_t n = cases[c].n_samples;
        const int64_t start = cases[c].starts[k % 4];
        const int64_t behind = start + cases[c].lengths[k / 4 % 4];
        const bool is_declared = (k + k / 4) % 2 == 1;
        const int64_t end = behind < n ? behind : is_declared ? n : n - 1;
        struct fx8_plan plan =
            small_plan(2, 2, true, 4, cases[c].spectra_per_dump);
        plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
        size_t n_inputs = 4;
        if (k % 5 > 2)
            plan.delays =
                (struct fx8_delays){find_delays, &n_inputs, 50e-6, NULL};
        struct voltages v = make_voltages(4, 2, n, 15, 1400);
        v.n_missing = 1;
        v.missing[0] = (struct fx8_gap){start, end - start, -1};
        const struct collected stretch = collect(&plan, &v, &whole);
        v.n_missing = 0;
        const struct delivery delivery = {
            .block_samples = cases[c].block_samples,
            .layout = TIME_MAJOR,
            .gap_first = start,
            .gap_end = end,
            .ends_gap = is_declared,
            .reread_samples = k / 8 % 2 ? 1 + 500 * (int64_t)c : 0,
            .is_pulled = k % 3 == 0,
        };
        const struct collected gap = collect(&plan, &v, &delivery);
        check_same(&stretch, &gap);
        assert_true(stretch.statistics.n_valid_spectra <
                    4 * stretch.statistics.n_spectra);
    }
}

/* A run in two parts, the second with the gains of the first, gives the dumps
 * of one run; rows that the first part did not see set their own gains. */
TEST(two_parts_give_the_dumps_of_one_run)
{
    enum { DUMPS = 7, DUMP = 50 };
    const double input_gain[] = {0.5, 1, 0.25, 1};
    for (size_t is_complex = 0; is_complex < 2; is_complex++) {
        struct fx8_plan plan = small_plan(4, 1, is_complex, 4, DUMP);
        plan.first_sample = 3;
        plan.lower_sideband = true;
        plan.input_gain = input_gain;
        const size_t step = fx8_plan_axes(&plan).step;
        const int64_t second_first = 3 + (int64_t)(DUMPS * DUMP * step);
        struct voltages v = make_voltages(4, 1 + is_complex, 6000, 15, 31);
        memset(voltages_at(&v, 2, 0), 0,
               v.size * ((size_t)second_first + 4 * step));
        memset(voltages_at(&v, 3, 0), 0, v.size * 6000);
        const struct collected one = collect(&plan, &v, &whole);
        /* before input 2 begins */
        const struct delivery front = {
            .gap_first = second_first + 3 * (int64_t)step, .gap_end = 6000};
        plan.machine.threads.count = 2;
        const struct collected first = collect(&plan, &v, &front);
        assert_int_equal(first.n_dumps, DUMPS);
        check_bytes(first.is_set, (const uint8_t[]){1, 1, 0, 0}, 4);

        struct fx8_error error;
        struct fx8_session *session;
        struct collected second = {.n_inputs = 4};
        plan.first_sample = second_first;
        must(fx8_open(&plan, NULL, NULL, &session, &error), error);
        const struct fx8_input_gains gains = {first.gains, first.zero,
                                              first.is_set};
        must(fx8_set_gains(session, &gains, &error), error);
        check_bytes(fx8_gains(session).gain, first.gains, 16 * sizeof(float));
        must(push_all(session, &v, &whole, &second, &error), error);
        check_bytes(fx8_gains(session).gain, one.gains, 16 * sizeof(float));
        check_bytes(fx8_gains(session).is_set, one.is_set, 4);
        assert_int_equal(second.n_dumps, one.n_dumps - DUMPS);
        const size_t from = DUMPS * one.n_cells,
                     n = second.n_dumps * one.n_cells;
        for (size_t k = 0; k < 2; k++) {
            check_bytes(second.visibilities[k], one.visibilities[k] + 2 * from,
                        2 * n * sizeof(float));
            check_bytes(second.flags[k], one.flags[k] + from, n);
        }
        fx8_close(&session);
    }
}

/* The last dump of a run that ends within it is the first dump of a run with
 * dumps of that length, whatever is pushed behind it. */
TEST(last_dump_may_be_shorter)
{
    enum { WHOLE = 3, DUMP = 50, LAST = 21 };
    for (size_t k = 0; k < 4; k++) {
        struct fx8_plan plan = small_plan(3, 1, k % 2, 4, DUMP);
        plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
        plan.quicklook = true;
        plan.n_spectra = WHOLE * DUMP + LAST;
        const size_t step = fx8_plan_axes(&plan).step;
        struct voltages v = make_voltages(3, 1 + k % 2, 6000, 15, 77);
        v.missing[v.n_missing++] =
            (struct fx8_gap){(int64_t)((WHOLE * DUMP + 5) * step), 3, 1};
        const struct delivery blocks = {.block_samples = k / 2 == 0 ? 0 : 300};
        const struct collected one = collect(&plan, &v, &blocks);
        assert_int_equal(one.n_dumps, WHOLE + 1);
        assert_int_equal(one.dropped_spectra, 0);
        assert_int_equal(one.statistics.n_spectra, plan.n_spectra);

        struct fx8_error error;
        struct fx8_session *session;
        struct collected last = {.n_inputs = 3};
        plan.first_sample = (int64_t)(WHOLE * DUMP * step);
        plan.spectra_per_dump = plan.n_spectra = LAST;
        must(fx8_open(&plan, NULL, NULL, &session, &error), error);
        const struct fx8_input_gains gains = {one.gains, one.zero, one.is_set};
        must(fx8_set_gains(session, &gains, &error), error);
        must(push_all(session, &v, &whole, &last, &error), error);
        assert_int_equal(last.n_dumps, 1);
        const size_t from = WHOLE * one.n_cells, n = one.n_cells;
        for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
            check_bytes(last.visibilities[kind],
                        one.visibilities[kind] + 2 * from,
                        2 * n * sizeof(float));
            check_bytes(last.flags[kind], one.flags[kind] + from, n);
            check_bytes(last.nsamples[kind], one.nsamples[kind] + from,
                        n * sizeof(float));
        }
        fx8_close(&session);
    }
}

/* Two halves of one buffer in turn, which differ only in their offsets. */
TEST(halves_of_a_buffer_are_used_in_place)
{
    enum { INPUTS = 2, N = 3000 };
    struct fx8_plan plan = small_plan(INPUTS, 1, true, 4, 50);
    plan.precision = FX8_PRECISION_FP32;
    const struct voltages v = make_voltages(INPUTS, 2, N, 15, 4);
    const struct collected wanted = collect(&plan, &v, &whole);
    struct collected got = {.n_inputs = INPUTS};
    struct fx8_session *session;
    struct fx8_error error;
    must(fx8_open(&plan, collect_dump, &got, &session, &error), error);
    static const int64_t parts[][2] = {{0, 700},     {0, 1303},    {300, 1303},
                                       {1303, 2000}, {1303, 2600}, {2600, N}};
    enum { ROW = 2 * (2000 + ROOM), BOTH = 2 * INPUTS * ROW };
    int8_t *buffer = temporary(BOTH);
    for (size_t k = 0; k < LENGTH(parts); k++) {
        const size_t half = k % 2 * (BOTH / 2);
        ptrdiff_t offset[INPUTS];
        memset(buffer + half, GARBAGE, BOTH / 2);
        for (size_t i = 0; i < INPUTS; i++) {
            offset[i] = (ptrdiff_t)(half + i * ROW + 2 * ROOM);
            memcpy(buffer + offset[i], voltages_at(&v, i, parts[k][0]),
                   2 * (size_t)(parts[k][1] - parts[k][0]));
        }
        const struct fx8_block block = {
            .samples = buffer,
            .input_offset = offset,
            .time_stride = 2,
            .first_sample = parts[k][0],
            .n_samples = parts[k][1] - parts[k][0],
            .in_place = buffer,
            .room = ROOM,
        };
        must(fx8_push(session, &block, &error), error);
    }
    must(fx8_finish(session, NULL, &error), error);
    fx8_close(&session);
    assert_int_equal(got.n_dumps, wanted.n_dumps);
    check_bytes(got.visibilities[1], wanted.visibilities[1],
                2 * got.n_dumps * got.n_cells * sizeof(float));
}

/* --- threads --------------------------------------------------------- */

struct lonely {
    struct fx8_plan plan;
    struct voltages v;
    struct collected alone, beside;
};

static void *run_beside(void *argument)
{
    struct lonely *l = argument;
    l->beside = collect(&l->plan, &l->v, &whole);
    return NULL;
}

/* Opening, setting gains, computing and closing at the same time. */
TEST(sessions_know_nothing_of_each_other)
{
    enum { N = 2 };
    struct lonely all[N];
    pthread_t threads[N];
    for (size_t i = 0; i < N; i++) {
        all[i].v = eventful(&all[i].plan, i == 0);
        all[i].plan.machine.threads.count = 2;
        all[i].alone = collect(&all[i].plan, &all[i].v, &whole);
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_beside, &all[i]),
                         0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        check_same(&all[i].beside, &all[i].alone);
    }
}

/* --- missing and dead ------------------------------------------------- */

/* An input of zeros is dead, dump by dump, as it may come back; a missing one
 * is not dead, but has no weight. */
TEST(dead_inputs_and_missing_ones)
{
    struct fx8_plan plan = small_plan(3, 1, true, 4, 50);
    struct voltages v = make_voltages(3, 2, 4 * 200 + 12, 15, 1700);
    memset(voltages_at(&v, 0, 200), 0, 212 * 2); /* the second dump */
    memset(voltages_at(&v, 1, 600), 0, 212 * 2); /* the fourth */
    v.missing[v.n_missing++] = (struct fx8_gap){0, 812, 2};
    const struct collected c = collect(&plan, &v, &whole);
    assert_int_equal(c.n_dumps, 4);
    static const uint8_t dead[12] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0};
    static const size_t pairs[6][2] = {{0, 0}, {0, 1}, {0, 2},
                                       {1, 1}, {1, 2}, {2, 2}};
    assert_memory_equal(c.dead, dead, sizeof dead);
    for (size_t i = 0; i < 2 * 4 * c.n_cells; i++) {
        const size_t k = i % 2, at = i / 2;
        const size_t *pair = pairs[at % c.n_cells / 4];
        const uint8_t *now = dead + at / c.n_cells * 3;
        const bool is_missing = pair[1] == 2;
        const bool is_dead = now[pair[0]] || now[pair[1]];
        const float *value = c.visibilities[k] + 2 * at;
        assert_int_equal(c.flags[k][at], is_dead || is_missing);
        assert_true(c.nsamples[k][at] == (is_missing ? 0.0f : 1.0f));
        assert_int_equal(value[0] == 0.0f, is_dead || is_missing);
        if (is_dead || is_missing)
            assert_true(value[1] == 0.0f);
    }
    check_bytes(c.valid_spectra, (const int64_t[]){200, 200, 0},
                3 * sizeof(int64_t));
    assert_true(c.gains[2 * 4] == 1.0f && c.zero[2 * 4] == 0);
}
