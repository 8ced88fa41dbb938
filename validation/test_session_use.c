/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session_use.c -- proper use of libfx8: gains of the quantiser, awaited,
 * with samples kept or delivered again; dumps that are taken; ends, stops,
 * counters.
 *
 * Shows: as test_engine.c
 */
#include <pthread.h>
#include <time.h>

#include "validation/session_run.h"

static const struct delivery whole = {0};

/* A push that must succeed. */
static void push(struct held_session *h, const struct packed *p)
{
    must(fx8_push(h->session, &p->block, &h->error), h->error);
}

/* The dumps and gains of a session, and those that were expected. */
static void check_held(const struct held_session *h,
                       const struct collected *expected)
{
    check_bytes(fx8_gains(h->session).gain, expected->gains, 8 * sizeof(float));
    assert_int_equal(h->c.n_dumps, expected->n_dumps);
    for (size_t k = 0; k < 2; k++)
        check_bytes(h->c.visibilities[k], expected->visibilities[k],
                    2 * h->c.n_dumps * h->c.n_cells * sizeof(float));
}

/* --- gains that are awaited -------------------------------------------- */

/* Dumps wait until there are 256 spectra to set gains from, then all come. */
TEST(dumps_wait_for_the_gains)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 30, 1500);
    const struct collected expected = collect(&h.plan, &h.v, &whole);
    /* 256 spectra and 3 more windows end in the third block */
    const struct packed parts[3] = {pack(&h.v, IN_PLACE, 0, 380),
                                    pack(&h.v, BACKWARDS, 380, 380),
                                    pack(&h.v, TIME_MAJOR, 760, 740)};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(h.c.n_dumps, 0);
        assert_int_equal(fx8_gains(h.session).is_set[0], 0);
        assert_true(fx8_gains(h.session).gain[0] == 1.0f);
        push(&h, &parts[i]);
        /* the block is not read again, unless its samples are used in place */
        if (i > 0)
            release_early(parts[i].memory);
    }
    assert_int_equal(fx8_gains(h.session).is_set[0], 1);
    must(fx8_finish(h.session, NULL, &h.error), h.error);
    check_held(&h, &expected);
    fx8_close(&h.session);
}

/* Ending before that delivers the dumps that there are; a flush does not. */
TEST(an_end_before_the_gains_are_known)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 30, 380);
    const struct collected expected = collect(&h.plan, &h.v, &whole);
    push(&h, &h.all);
    must(fx8_flush(h.session, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 0);
    must(fx8_finish(h.session, NULL, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 3);
    check_held(&h, &expected);
    fx8_close(&h.session);
    fx8_close(&h.session); /* a second time it does nothing */
    /* and closing before it does not leak */
    hold(&h, FX8_PRECISION_BOTH, 30, 380);
    push(&h, &h.all);
    fx8_close(&h.session);
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
        const struct collected without = collect(&plan, &v, &whole);
        plan.marker.is_used = true;
        plan.marker.value = -128;
        const struct collected with = collect(&plan, &v, &whole);
        assert_int_equal(with.n_dumps, 60 / length);
        check_same(&with, &without);
    }
}

/* What a callback delivers, and how often it was called. */
struct answer {
    enum fx8_status status;
    const char *text;
    struct fx8_block block;
    int n_calls;
};

static enum fx8_status deliver(void *context, int64_t first_sample,
                               struct fx8_block *block, struct fx8_error *error)
{
    struct answer *answer = context;
    assert_in_range(first_sample, 100, 1199);
    answer->n_calls++;
    *block = answer->block;
    return answer->text == NULL
               ? answer->status
               : fx8_fail(error, answer->status, "%s", answer->text);
}

/* Only the samples that were pushed are accepted. */
TEST(what_is_delivered_again_is_checked)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 27, 2000);
    fx8_close(&h.session);
    const struct packed head = pack(&h.v, TIME_MAJOR, 0, 600);
    const struct packed tail = pack(&h.v, TIME_MAJOR, 600, 1400);
    struct fx8_block early = head.block;
    early.n_samples = 100;
    const struct {
        struct answer answer;
        enum fx8_status status;
        const char *text;
    } cases[] = {
        {{.status = FX8_ERR_INPUT, .text = "disk on fire"},
         FX8_ERR_INPUT,
         "disk on fire"},
        {{.status = FX8_ERR_SYSTEM},
         FX8_ERR_SYSTEM,
         "reread callback failed without a message"},
        {{.status = FX8_OK},
         FX8_ERR_USAGE,
         "reread: 0 samples from 0: expected those from 120 on"},
        {{.block = {.first_sample = 500, .n_samples = 100}},
         FX8_ERR_USAGE,
         "block: samples: NULL: expected 100 samples"},
        {{.block = early},
         FX8_ERR_USAGE,
         "reread: 100 samples from 0: expected those from 120 on"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct answer answer = cases[i].answer;
        h.plan.reread = deliver;
        h.plan.reread_context = &answer;
        must(fx8_open(&h.plan, collect_dump, &h.c, &h.session, &h.error),
             h.error);
        push(&h, &head);
        assert_int_equal(answer.n_calls, 0);
        must_fail(fx8_push(h.session, &tail.block, &h.error), h.error,
                  cases[i].status, cases[i].text);
        assert_int_equal(answer.n_calls, 1);
        fx8_close(&h.session);
    }
}

/* The limit includes the samples kept: the stated minimum suffices, a MiB less
 * does not. */
TEST(the_memory_limit_counts_what_is_kept)
{
    const struct delivery blocks = {.block_samples = 4000};
    struct fx8_plan plan = small_plan(8, 2, true, 512, 20);
    plan.machine.backend = FX8_BACKEND_CPU;
    plan.precision = FX8_PRECISION_INT8;
    struct voltages v = make_voltages(16, 2, 512 * 300, 15, 77);
    memset(voltages_at(&v, 3, 0), 0, 2 * 40000); /* begins late */
    const struct collected expected = collect(&plan, &v, &whole);
    struct fx8_error error;
    plan.machine.memory_limit = 1;
    const size_t least = number_refused(&plan, "expected at least ");
    struct collected c = {.n_inputs = 16};
    plan.machine.memory_limit = least << 20;
    assert_int_equal(run_session(&plan, &v, &blocks, &c, &error),
                     FX8_ERR_SYSTEM);
    assert_int_equal(c.n_dumps, 0);
    const char *const at = strstr(error.message, "expected at least ");
    assert_non_null(at);
    const size_t more = strtoul(at + strlen("expected at least "), NULL, 10);
    /* 256 spectra of 16 inputs and the taps before them, 2 bytes a sample */
    assert_in_range(more - least, 259 * 512 * 32 >> 20,
                    (259 * 512 * 32 >> 20) + 2);
    plan.machine.memory_limit = (more - 1) << 20;
    must_fail_with(run_session(&plan, &v, &blocks, &c, &error), error,
                   FX8_ERR_SYSTEM,
                   " MiB, to keep the samples that gains are set from, or a "
                   "reread callback");
    plan.machine.memory_limit = more << 20;
    c = collect(&plan, &v, &blocks);
    check_same(&expected, &c);
    /* none of that is needed where samples are delivered again */
    const struct delivery again = {.block_samples = 4000,
                                   .reread_samples = 3000};
    plan.machine.memory_limit = least << 20;
    c = collect(&plan, &v, &again);
    check_same(&expected, &c);
}

/* --- dumps are taken --------------------------------------------------- */

/* A dump waits even if no more samples come, or far ones.  Dumps of a gap are
 * taken too; a cancelled session has none to take. */
TEST(a_dump_waits_until_it_is_taken)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 20 * 4 + 12);
    fx8_close(&h.session);
    must(fx8_open(&h.plan, NULL, NULL, &h.session, &h.error), h.error);
    assert_null(fx8_take_dump(h.session));
    const struct fx8_block block = h.all.block;
    struct fx8_block far = block;
    far.first_sample = INT64_C(1) << 60; /* not searched for gains yet */
    assert_int_equal(fx8_push(h.session, &block, &h.error), FX8_DUMP_READY);
    h.error.message[0] = '\0';
    assert_int_equal(fx8_push(h.session, &far, &h.error), FX8_DUMP_READY);
    assert_string_equal(h.error.message, "");
    assert_int_equal(fx8_flush(h.session, &h.error), FX8_DUMP_READY);
    must(collect_dump(&h.c, fx8_take_dump(h.session), &h.error), h.error);
    must(fx8_flush(h.session, &h.error), h.error);
    far.first_sample = 1008;
    must(push_or_finish(h.session, &far, &h.c, &h.error), h.error);
    /* 1100 samples, windows of 16 at every fourth */
    assert_int_equal(h.c.n_dumps, ((1100 - 16) / 4 + 1) / 20);
    for (size_t cell = h.c.n_cells; cell < 12 * h.c.n_cells; cell++)
        assert_int_equal(h.c.flags[1][cell], 1);
    assert_int_equal(h.c.flags[1][12 * h.c.n_cells], 0);
    far.first_sample = 2000;
    assert_int_equal(fx8_push(h.session, &far, &h.error), FX8_DUMP_READY);
    fx8_cancel(h.session);
    for (int i = 0; i < 2; i++)
        must_fail(fx8_push(h.session, &far, &h.error), h.error,
                  FX8_ERR_CANCELLED, "cancelled");
    must_fail(fx8_finish(h.session, NULL, &h.error), h.error, FX8_ERR_CANCELLED,
              "cancelled");
    fx8_close(&h.session);
}

/* --- ends and counters -------------------------------------------------- */

TEST(counters_add_up)
{
    struct fx8_plan plan = small_plan(2, 2, true, 4, 110);
    plan.quantizer.target_rms = 60; /* clips occasionally */
    struct voltages v = make_voltages(4, 2, 2000, 15, 5);
    v.missing[v.n_missing++] = (struct fx8_gap){300, 20, 1};
    const struct collected c = collect(&plan, &v, &whole);
    const struct fx8_statistics *s = &c.statistics;
    assert_int_equal(s->n_dumps, c.n_dumps);
    assert_int_equal(c.n_dumps, 4);
    assert_int_equal(s->n_spectra, 4 * 110);
    int64_t valid = 0, clips = 0;
    for (size_t input = 0; input < 4; input++) {
        assert_int_equal(c.valid_spectra[input], input == 1 ? 440 - 8 : 440);
        valid += c.valid_spectra[input];
        for (size_t k = 0; k < 4; k++)
            clips += c.clips[input * 4 + k];
    }
    assert_int_equal(s->n_valid_spectra, valid);
    assert_int_equal(s->n_clipped, clips);
    /* 127.5 is 2.125 sigma: one component in 30 is beyond it, one spectrum in
     * 15: 469 of 7040, within six times 22 */
    assert_in_range(clips, 469 - 132, 469 + 132);
    const double times[] = {s->align_s, s->channelize_s, s->correlate_s,
                            s->postprocess_s, s->gains_s};
    for (size_t i = 0; i < LENGTH(times); i++)
        assert_true(times[i] > 0.0 && times[i] < 60.0);
}

/* --- stopping from another thread --------------------------------------- */

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
    fx8_close(&h.session);
}

/* --- the getters of a session ------------------------------------------------
 */

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
    struct held_session h = {.v = make_voltages(2, 2, 1100, 15, 10),
                             .c = {.n_inputs = 2}};
    const struct collected expected = collect(&plan, &h.v, &whole);
    must(fx8_open(&plan, collect_dump, &h.c, &h.session, &h.error), h.error);
    memset(&plan, 0xee, sizeof plan);
    memset(kernel, 'x', sizeof kernel - 1);
    memset(device, 'x', sizeof device - 1);
    flags[0] = 0;
    offset_hz[0] = gains[0] = gains[1] = NAN;
    must(push_all(h.session, &h.v, &whole, &h.c, &h.error), h.error);
    assert_int_equal(h.c.flags[0][0], 1);
    assert_int_equal(h.c.flags[0][2 * 4], 0);
    check_held(&h, &expected);
    const struct fx8_session_info info = fx8_info(h.session);
    assert_string_equal(info.backend, "cpu");
    assert_string_equal(info.kernel, "reference");
    assert_string_equal(info.fft_plan, "fftw estimate batch 32");
    fx8_close(&h.session);
}
