/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session_use.c -- proper use of libfx8: gains of the quantiser, ends,
 * stops, threads, counters.
 *
 * Shows: as test_engine.c
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "correlator/library/plan.h"
#include "correlator/library/session_private.h"
#include "validation/session_run.h"

static const struct delivery whole = {0};

/* A push that must succeed. */
static void push(struct held_session *h, const struct packed *p)
{
    must(fx8_push(h->session, &p->block, &h->error), h->error);
}

/* Dumps wait until there are 256 spectra to set gains from, then all come. */
TEST(dumps_wait_for_the_gains)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 30, 1500);
    struct collected expected = collect(&h.plan, &h.v, &whole);
    /* 256 spectra and 3 more windows end in the third block */
    struct packed parts[3] = {pack(&h.v, IN_PLACE, 0, 380),
                              pack(&h.v, BACKWARDS, 380, 380),
                              pack(&h.v, TIME_MAJOR, 760, 740)};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(h.c.n_dumps, 0);
        assert_int_equal(fx8_gains(h.session).is_set[0], 0);
        assert_true(fx8_gains(h.session).gain[0] == 1.0f);
        push(&h, &parts[i]);
        /* the block is not read again, unless its samples are used in place */
        if (i > 0)
            free_packed(&parts[i]);
    }
    free_packed(&parts[0]);
    assert_int_equal(fx8_gains(h.session).is_set[0], 1);
    check_bytes(fx8_gains(h.session).gain, expected.gains, 8 * sizeof(float));
    must(fx8_finish(h.session, NULL, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, expected.n_dumps);
    for (size_t k = 0; k < 2; k++)
        check_bytes(h.c.visibilities[k], expected.visibilities[k],
                    2 * h.c.n_dumps * h.c.n_cells * sizeof(float));
    free_collected(&expected);
    let_go(&h);
}

/* Samples at the end that could begin a run of markers count as data, also for
 * gains: both when the search for gains runs ahead and when only the end brings
 * the first dump. */
TEST(levels_of_samples_that_end_like_markers)
{
    struct voltages v = make_voltages(2, 2, 62 * 4 + 12, 15, 16);
    memset(voltages_at(&v, 0, v.n_samples - 20), -128, 40);
    for (int64_t length = 30; length <= 60; length += 30) {
        struct fx8_plan plan = small_plan(2, 1, true, 4, length);
        struct collected without = collect(&plan, &v, &whole);
        plan.marker.is_used = true;
        plan.marker.value = -128;
        struct collected with = collect(&plan, &v, &whole);
        assert_int_equal(with.n_dumps, 60 / length);
        check_same(&with, &without);
        free_collected(&with);
        free_collected(&without);
    }
    free(v.data);
}

/* Ending before that delivers the dumps that there are. */
TEST(an_end_before_the_gains_are_known)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 30, 380);
    struct collected expected = collect(&h.plan, &h.v, &whole);
    push(&h, &h.all);
    must(fx8_flush(h.session, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 0);
    int64_t dropped = -1;
    must(fx8_finish(h.session, &dropped, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 3);
    assert_int_equal(dropped, 380 / 4 - 3 - 3 * 30);
    check_bytes(h.c.visibilities[0], expected.visibilities[0],
                2 * 3 * h.c.n_cells * sizeof(float));
    check_bytes(fx8_gains(h.session).gain, expected.gains, 8 * sizeof(float));
    free_collected(&expected);
    let_go(&h);
    fx8_close(&h.session); /* a second time it does nothing */
    /* and closing before it does not leak */
    hold(&h, FX8_PRECISION_BOTH, 30, 380);
    push(&h, &h.all);
    let_go(&h);
}

TEST(the_last_dump_is_whole_or_dropped)
{
    struct voltages v = make_voltages(2, 2, 400, 15, 3);
    static const struct {
        int64_t n_samples, dumps, dropped;
    } cases[] = {
        {11, 0, 0},  {12, 0, 0},  {16, 0, 1},  {131, 0, 29},
        {132, 1, 0}, {135, 1, 0}, {136, 1, 1}, {251, 1, 29},
        {252, 2, 0}, {256, 2, 1}, {400, 3, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fx8_plan plan = small_plan(2, 1, true, 4, 30);
        struct voltages part = v;
        part.n_samples = cases[i].n_samples;
        struct collected c = collect(&plan, &part, &whole);
        assert_int_equal(c.n_dumps, cases[i].dumps);
        assert_int_equal(c.dropped_spectra, cases[i].dropped);
        assert_int_equal(fx8_count_dumps(&plan, part.n_samples),
                         cases[i].dumps);
        free_collected(&c);
    }
    free(v.data);
}

/* A run of markers that begins before the first sample counts as a whole,
 * whatever the blocks it comes in. */
TEST(markers_before_the_first_sample)
{
    struct fx8_plan plan = small_plan(1, 1, false, 2, 5);
    plan.channelizer.n_taps = 1;
    plan.precision = FX8_PRECISION_FP32;
    plan.marker.is_used = true;
    plan.marker.value = 0;
    plan.marker.least_length = 64;
    plan.first_sample = 63;
    struct voltages v = make_voltages(1, 1, 200, 15, 4);
    for (int64_t t = 0; t < 200; t++)
        *voltages_at(&v, 0, t) = (int8_t)(t < 64 ? 0 : 1 + t % 100);
    for (int64_t size = 0; size < 100; size++) {
        const struct delivery delivery = {
            .block_samples = size, .layout = TIME_MAJOR, .overlap = size / 3};
        struct collected c = collect(&plan, &v, &delivery);
        assert_true(c.nsamples[1][0] == 0.8f); /* the first of five */
        assert_int_equal(c.valid_spectra[0], c.statistics.n_spectra - 1);
        free_collected(&c);
    }
    *voltages_at(&v, 0, 0) = 1;
    struct collected c = collect(&plan, &v, &whole);
    assert_true(c.nsamples[1][0] == 1.0f);
    free_collected(&c);
    free(v.data);
}

TEST(counters_add_up)
{
    struct fx8_plan plan = small_plan(2, 2, true, 4, 110);
    plan.quantizer.target_rms = 60; /* clips occasionally */
    struct voltages v = make_voltages(4, 2, 2000, 15, 5);
    v.missing[v.n_missing++] = (struct fx8_gap){300, 20, 1};
    struct collected c = collect(&plan, &v, &whole);
    assert_int_equal(c.statistics.n_dumps, c.n_dumps);
    assert_int_equal(c.n_dumps, 4);
    assert_int_equal(c.statistics.n_spectra, 4 * 110);
    int64_t valid = 0, clips = 0;
    for (size_t input = 0; input < 4; input++) {
        assert_int_equal(c.valid_spectra[input], input == 1 ? 440 - 8 : 440);
        valid += c.valid_spectra[input];
        for (size_t k = 0; k < 4; k++)
            clips += c.clips[input * 4 + k];
    }
    assert_int_equal(c.statistics.n_valid_spectra, valid);
    assert_int_equal(c.statistics.n_clipped, clips);
    /* 127.5 is 2.125 sigma: one component in 30 is beyond it, one spectrum in
     * 15: 469 of 7040, within six times 22 */
    assert_in_range(clips, 469 - 132, 469 + 132);
    const struct fx8_statistics *s = &c.statistics;
    const double times[] = {s->align_s, s->channelize_s, s->correlate_s,
                            s->postprocess_s, s->gains_s};
    for (size_t i = 0; i < 5; i++)
        assert_true(times[i] > 0.0 && times[i] < 60.0);
    free_collected(&c);
    free(v.data);
}

/* --- stopping -------------------------------------------------------- */

TEST(the_callback_stops_a_session)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 20);
    struct voltages v = make_voltages(2, 2, 1000, 15, 6);
    static const enum fx8_status stops[] = {FX8_ERR_CANCELLED, FX8_ERR_SYSTEM,
                                            FX8_ERR_INPUT};
    for (size_t i = 0; i < 3; i++)
        for (size_t at = 0; at < 3; at++) {
            struct collected c = {.stop = stops[i], .stop_at = at};
            struct fx8_error error;
            must_fail(run_session(&plan, &v, &whole, &c, &error), error,
                      stops[i], "stopped by the callback");
            assert_int_equal(c.n_dumps, at + 1);
            free_collected(&c);
        }
    free(v.data);
}

/* Also if the callback returns FX8_ERR_USAGE: as the status of a call it would
 * mean that nothing changed, but here spectra are lost. */
TEST(stopped_for_good)
{
    static const char again[] = "session: stopped by an earlier failure: "
                                "expected it to be closed";
    static const enum fx8_status stops[] = {FX8_ERR_USAGE, FX8_ERR_INPUT};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct held_session h;
        hold(&h, FX8_PRECISION_FP32, 20, 1000); /* no gains to wait for */
        h.c.stop = stops[i];
        h.c.stop_at = 0;
        must_fail(fx8_push(h.session, &h.all.block, &h.error), h.error,
                  stops[i], "stopped by the callback");
        must_fail(fx8_push(h.session, &h.all.block, &h.error), h.error,
                  stops[i], again);
        must_fail(fx8_finish(h.session, NULL, &h.error), h.error, stops[i],
                  again);
        assert_int_equal(h.c.n_dumps, 1);
        let_go(&h);
    }
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
        all[i] = (struct lonely){
            .plan = small_plan(2 + i, 1, i == 0, 4 + i, 40),
            .v = make_voltages(2 + i, i == 0 ? 2 : 1, 3000, 15, 12 + i),
        };
        all[i].plan.machine.threads.count = 2;
        all[i].alone = collect(&all[i].plan, &all[i].v, &whole);
        assert_true(all[i].alone.n_dumps > 5);
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_beside, &all[i]),
                         0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        check_same(&all[i].beside, &all[i].alone);
        free_collected(&all[i].alone);
        free_collected(&all[i].beside);
        free(all[i].v.data);
    }
}

/* --- stopping from another thread ------------------------------------ */

TEST(cancelled_from_the_callback)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 20);
    struct voltages v = make_voltages(2, 2, 1000, 15, 7);
    struct fx8_session *any = NULL;
    struct collected c = {.stop_at = 1, .cancel = &any};
    struct fx8_error error;
    must_fail(run_session(&plan, &v, &whole, &c, &error), error,
              FX8_ERR_CANCELLED, "cancelled");
    assert_int_equal(c.n_dumps, 2); /* that dump is the last */
    free_collected(&c);
    free(v.data);
}

TEST(cancelled_before_and_for_good)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 20, 1000);
    fx8_cancel(h.session);
    for (int i = 0; i < 2; i++)
        must_fail(fx8_push(h.session, &h.all.block, &h.error), h.error,
                  FX8_ERR_CANCELLED, "cancelled");
    must_fail(fx8_finish(h.session, NULL, &h.error), h.error, FX8_ERR_CANCELLED,
              "cancelled");
    assert_int_equal(h.c.n_dumps, 0);
    let_go(&h);
}

static void *cancel_soon(void *session)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    fx8_cancel(session);
    return NULL;
}

/* The search for gains goes through 19 h of zeros, all the same sample;
 * cancelling stops it at once. */
TEST(cancelled_while_levels_are_sought)
{
    static const int8_t zero[2];
    static const ptrdiff_t offsets[2];
    const struct fx8_block silence = {.samples = zero,
                                      .input_offset = offsets,
                                      .first_sample = 100,
                                      .n_samples = (int64_t)1 << 36};
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 20, 100);
    push(&h, &h.all);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, h.session), 0);
    must_fail(fx8_push(h.session, &silence, &h.error), h.error,
              FX8_ERR_CANCELLED, "cancelled");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(fx8_gains(h.session).is_set[0], 0);
    let_go(&h);
}

/* The plan is copied: changes to the caller's do not matter. */
TEST(a_session_answers_for_itself)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 20);
    char kernel[] = "reference", device[] = "auto";
    uint8_t flags[2] = {1, 0};
    double offset_hz[1] = {0}, gains[2] = {0.5, 0.25};
    plan.machine.kernel = kernel;
    plan.machine.device = device;
    plan.machine.backend = FX8_BACKEND_CPU;
    plan.flag_antenna = flags;
    plan.band_offset_hz = offset_hz;
    plan.input_gain = gains;
    plan.machine.threads.count = 0;
    struct voltages v = make_voltages(2, 2, 1100, 15, 10);
    struct collected expected = collect(&plan, &v, &whole);
    struct collected c = {.n_inputs = 2, .stop_at = SIZE_MAX};
    struct fx8_session *session;
    struct fx8_error error;
    must(fx8_open(&plan, collect_dump, &c, &session, &error), error);
    memset(&plan, 0xee, sizeof plan);
    memset(kernel, 'x', sizeof kernel - 1);
    memset(device, 'x', sizeof device - 1);
    flags[0] = 0;
    offset_hz[0] = NAN;
    gains[0] = gains[1] = NAN;
    must(push_all(session, &v, &whole, &c, &error), error);
    assert_int_equal(c.flags[0][0], 1);
    assert_int_equal(c.flags[0][2 * 4], 0);
    assert_int_equal(c.n_dumps, expected.n_dumps);
    for (size_t k = 0; k < 2; k++)
        check_bytes(c.visibilities[k], expected.visibilities[k],
                    2 * c.n_dumps * c.n_cells * sizeof(float));
    const struct fx8_session_info info = fx8_info(session);
    assert_string_equal(info.backend, "cpu");
    assert_string_equal(info.kernel, "reference");
    assert_string_equal(info.fft_plan, "fftw estimate batch 32");
    fx8_close(&session);
    free_collected(&c);
    free_collected(&expected);
    free(v.data);
    assert_string_equal(fx8_version(), FX8_VERSION);
    char version[64];
    snprintf(version, sizeof version, "%d.%d.%d", FX8_VERSION_MAJOR,
             FX8_VERSION_MINOR, FX8_VERSION_PATCH);
    assert_string_equal(fx8_version(), version);
}

/* Two halves of one buffer in turn, which differ only in their offsets. */
TEST(halves_of_a_buffer_are_used_in_place)
{
    enum { INPUTS = 2, N = 3000 };
    struct fx8_plan plan = small_plan(INPUTS, 1, true, 4, 50);
    plan.precision = FX8_PRECISION_FP32;
    struct voltages v = make_voltages(INPUTS, 2, N, 15, 4);
    struct collected wanted = collect(&plan, &v, &whole);
    struct collected got = {
        .stop_at = SIZE_MAX, .n_inputs = INPUTS, .n_channels = 4};
    struct fx8_session *session;
    struct fx8_error error;
    must(fx8_open(&plan, collect_dump, &got, &session, &error), error);
    static const int64_t parts[][2] = {{0, 700},     {0, 1303},    {300, 1303},
                                       {1303, 2000}, {1303, 2600}, {2600, N}};
    enum { ROW = 2 * (2000 + ROOM), BOTH = 2 * INPUTS * ROW };
    int8_t *buffer = exact(BOTH);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
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
    free(buffer);
    free_collected(&got);
    free_collected(&wanted);
    free(v.data);
}

/* Where blocks of spectra end, one after the other from the first dump on. */
static int64_t next_end(const struct fx8_session *session, int64_t *spectra)
{
    const struct fx8_plan *plan = &session->plan;
    const int64_t block =
        (int64_t)session->operations->block_spectra(session->engines[0]);
    const int64_t dump_end =
        (*spectra / plan->spectra_per_dump + 1) * plan->spectra_per_dump;
    *spectra = *spectra + block < dump_end ? *spectra + block : dump_end;
    return plan->first_sample +
           (*spectra - 1) * (int64_t)plan->channelizer.n_channels +
           (int64_t)fx8_plan_axes(plan).window;
}

TEST(blocks_end_where_spectra_are_correlated)
{
    struct generator g = {77};
    for (int round = 0; round < 40; round++) {
        struct fx8_plan plan = small_plan(2, 1, true, 4, 1);
        plan.spectra_per_dump = random_in(&g, 1, round % 2 == 0 ? 9 : 200000);
        plan.first_sample = random_in(&g, 0, 50);
        plan.channelizer.n_taps = 1 + random_below(&g, 4);
        struct fx8_session *session;
        struct fx8_error error;
        must(fx8_open(&plan, collect_dump, NULL, &session, &error), error);
        int64_t spectra = 0, end = next_end(session, &spectra);
        for (int64_t first = 0; first < 3 * 200000;) {
            const int64_t most = random_in(&g, 0, 60000);
            int64_t wanted = end, after = spectra;
            for (int64_t next = end; next <= first + most;
                 next = next_end(session, &after))
                wanted = next;
            assert_int_equal(fx8_block_end(session, first, most), wanted);
            first += random_in(&g, 1, 3000);
            while (end <= first)
                end = next_end(session, &spectra);
        }
        fx8_close(&session);
    }
}
