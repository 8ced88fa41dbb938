/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session_misuse.c -- misuse of libfx8: invalid callbacks, pointers,
 * blocks, gaps and plans, and calls out of order.
 *
 * Shows: as test_engine.c
 */
#include <stdio.h>
#include <unistd.h>

#include "validation/session_run.h"

static const struct delivery whole = {0};

/* --- what a callback may and may not do ------------------------------ */

enum action { RETURN, FAIL, PUSH, SET_GAINS, FLUSH, FINISH, TAKE, CLOSE };

/* A callback, what it does, and what happened. */
struct meddler {
    enum action action;
    enum fx8_status status; /* to return */
    struct fx8_session *session;
    const struct fx8_block *block;
    size_t n_calls;
    enum fx8_status inner; /* what a call from inside returned */
    struct fx8_error error;
};

static enum fx8_status meddle(void *context, const struct fx8_dump *dump,
                              struct fx8_error *error)
{
    struct meddler *m = context;
    struct fx8_session *session = m->session;
    const struct fx8_input_gains none = {NULL, NULL, NULL};
    (void)dump;
    assert_non_null(error);
    m->n_calls++;
    switch (m->action) {
    case RETURN:
        return m->status;
    case FAIL:
        return fx8_fail(error, m->status, "dump %d: disk\nfull", 7);
    case PUSH:
        m->inner = fx8_push(session, m->block, &m->error);
        return FX8_OK;
    case SET_GAINS:
        m->inner = fx8_set_gains(session, &none, &m->error);
        return FX8_OK;
    case FLUSH:
        m->inner = fx8_flush(session, &m->error);
        return FX8_OK;
    case FINISH:
        m->inner = fx8_finish(session, NULL, &m->error);
        return FX8_OK;
    case TAKE:
        m->inner = fx8_take_dump(session) == NULL ? FX8_OK : FX8_ERR_SYSTEM;
        return FX8_OK;
    case CLOSE:
        fx8_close(&session);
        m->inner = session == m->session ? FX8_OK : FX8_ERR_SYSTEM;
        return FX8_OK;
    }
    return FX8_OK;
}

/* Push 110 samples, three dumps of FP32, through a session with `m`. */
static enum fx8_status run_meddler(struct meddler *m, struct fx8_error *error)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 8);
    plan.precision = FX8_PRECISION_FP32;
    struct voltages v = make_voltages(2, 2, 110, 15, 11);
    struct packed all = pack(&v, TIME_MAJOR, 0, 110);
    struct fx8_error any;
    must(fx8_open(&plan, meddle, m, &m->session, &any), any);
    m->block = &all.block;
    const enum fx8_status status = fx8_push(m->session, &all.block, error);
    fx8_close(&m->session);
    assert_null(m->session);
    free_packed(&all);
    free(v.data);
    return status;
}

TEST(what_a_callback_returns)
{
    struct fx8_error error;
    struct meddler m = {.action = FAIL, .status = FX8_ERR_SYSTEM};
    must_fail(run_meddler(&m, &error), error, FX8_ERR_SYSTEM,
              "dump 7: disk?full");
    assert_int_equal(m.n_calls, 1);
    /* the callback has an error record even if the caller passes none */
    m.n_calls = 0;
    assert_int_equal(run_meddler(&m, NULL), FX8_ERR_SYSTEM);
    /* without a message: an older one is not reported */
    m = (struct meddler){.action = RETURN, .status = FX8_ERR_INPUT};
    fx8_fail(&error, FX8_ERR_USAGE, "an older failure");
    must_fail(run_meddler(&m, &error), error, FX8_ERR_INPUT,
              "dump callback failed for dump 0 without a message");
    assert_int_equal(m.n_calls, 1);
    /* the session continues after a status that is not a failure */
    m = (struct meddler){.action = RETURN, .status = FX8_DUMP_READY};
    must(run_meddler(&m, &error), error);
    assert_int_equal(m.n_calls, 3);
}

TEST(what_a_callback_must_not_call)
{
    static const char text[] =
        "session: called from its own callback: expected questions or "
        "fx8_cancel() there";
    struct fx8_error error;
    static const enum action calls[] = {PUSH, SET_GAINS, FLUSH, FINISH};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct meddler m = {.action = calls[i], .inner = FX8_OK};
        must(run_meddler(&m, &error), error);
        assert_int_equal(m.n_calls, 3);
        assert_int_equal(m.inner, FX8_ERR_USAGE);
        assert_string_equal(m.error.message, text);
    }
    for (enum action action = TAKE; action <= CLOSE; action++) {
        struct meddler m = {.action = action, .inner = FX8_ERR_SYSTEM};
        must(run_meddler(&m, &error), error);
        assert_int_equal(m.n_calls, 3);
        assert_int_equal(m.inner, FX8_OK);
    }
}

/* --- what is refused ------------------------------------------------- */

TEST(blocks_that_are_none)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 100);
    struct fx8_block bad = h.all.block;
    bad.n_samples = -1;
    must_fail(fx8_push(h.session, &bad, &h.error), h.error, FX8_ERR_USAGE,
              "block: -1 samples from 0: expected an ascending range from 0");
    bad = h.all.block;
    bad.first_sample = -5;
    must_fail(fx8_push(h.session, &bad, &h.error), h.error, FX8_ERR_USAGE,
              "block: 100 samples from -5: expected an ascending range from "
              "0");
    bad.first_sample = INT64_MAX - 10;
    must_fail(fx8_push(h.session, &bad, &h.error), h.error, FX8_ERR_USAGE,
              "block: 100 samples from 9223372036854775797: expected an "
              "ascending range from 0");
    bad = h.all.block;
    bad.n_samples = 0; /* legal, without effect */
    must(fx8_push(h.session, &bad, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 0);
    let_go(&h);
}

/* NULL pointers are named in the message and do not harm the session. */
TEST(pointers_that_are_missing)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 100);
    struct fx8_session *none = (void *)&h, *session = h.session;
    const struct fx8_input_gains gains = {NULL, NULL, NULL};
    must_fail(fx8_open(NULL, collect_dump, &h.c, &none, &h.error), h.error,
              FX8_ERR_USAGE, "plan: NULL: expected one");
    assert_null(none);
    must_fail(fx8_open(&h.plan, collect_dump, &h.c, NULL, &h.error), h.error,
              FX8_ERR_USAGE, "session: NULL: expected room for a handle");
    static const char closed[] = "session: NULL: expected one that is open";
    must_fail(fx8_push(NULL, &h.all.block, &h.error), h.error, FX8_ERR_USAGE,
              closed);
    must_fail(fx8_set_gains(NULL, &gains, &h.error), h.error, FX8_ERR_USAGE,
              closed);
    must_fail(fx8_flush(NULL, &h.error), h.error, FX8_ERR_USAGE, closed);
    must_fail(fx8_finish(NULL, NULL, &h.error), h.error, FX8_ERR_USAGE, closed);
    must_fail(fx8_push(session, NULL, &h.error), h.error, FX8_ERR_USAGE,
              "block: NULL: expected one");
    must_fail(fx8_set_gains(session, NULL, &h.error), h.error, FX8_ERR_USAGE,
              "gains: NULL: expected gains from fx8_gains()");
    must_fail(fx8_set_gains(session, &gains, &h.error), h.error, FX8_ERR_USAGE,
              "gains: NULL: expected gains from fx8_gains()");
    struct fx8_block bad = h.all.block;
    bad.samples = NULL;
    must_fail(fx8_push(session, &bad, &h.error), h.error, FX8_ERR_USAGE,
              "block: samples: NULL: expected 100 samples");
    bad.n_samples = 0;
    bad.input_offset = NULL;
    must(fx8_push(session, &bad, &h.error), h.error);
    bad = h.all.block;
    bad.input_offset = NULL;
    must_fail(fx8_push(session, &bad, &h.error), h.error, FX8_ERR_USAGE,
              "block: input_offset: NULL: expected 100 samples");
    bad = h.all.block;
    bad.missing = NULL;
    bad.n_missing = 2;
    must_fail(fx8_push(session, &bad, &h.error), h.error, FX8_ERR_USAGE,
              "block: missing: NULL: expected 2 stretches");
    /* nor is an error record needed */
    assert_int_equal(fx8_push(session, &bad, NULL), FX8_ERR_USAGE);
    must(fx8_push(session, &h.all.block, &h.error), h.error);
    must(fx8_finish(session, NULL, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 1);
    struct collected expected = collect(&h.plan, &h.v, &whole);
    check_bytes(h.c.visibilities[1], expected.visibilities[1],
                2 * h.c.n_cells * sizeof(float));
    free_collected(&expected);
    let_go(&h);
}

TEST(nothing_after_the_end)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 200);
    int64_t dropped[2] = {-1, -1};
    must(fx8_push(h.session, &h.all.block, &h.error), h.error);
    static const char text[] = "session: finished: expected no more samples";
    for (int i = 0; i < 2; i++) {
        must(fx8_finish(h.session, &dropped[i], &h.error), h.error);
        must_fail(fx8_push(h.session, &h.all.block, &h.error), h.error,
                  FX8_ERR_USAGE, text);
    }
    /* 50 spectra minus the 3 taps by which the window reaches further */
    assert_int_equal(h.c.n_dumps, 2);
    assert_int_equal(dropped[0], 47 - 40);
    assert_int_equal(dropped[1], dropped[0]);
    let_go(&h);
}

/* A wrong gap is found before anything is taken: the session continues. */
TEST(stretches_that_are_none)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 200);
    struct collected expected = collect(&h.plan, &h.v, &whole);
    static const struct {
        struct fx8_gap run;
        const char *text;
    } cases[] = {
        {{INT64_MIN, 5, 0},
         "block: missing stretch of 5 samples from -9223372036854775808: "
         "expected a range within 2^61"},
        {{INT64_MAX, 5, 0},
         "block: missing stretch of 5 samples from 9223372036854775807: "
         "expected a range within 2^61"},
        {{3, -1, -1},
         "block: missing stretch of -1 samples from 3: expected a range within "
         "2^61"},
        {{500, 2, 2}, "block: missing stretch of input 2: expected -1 to 1"},
        {{500, 2, -2}, "block: missing stretch of input -2: expected -1 to 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct fx8_gap runs[] = {{3, 30, 0}, cases[i].run};
        struct fx8_block bad = h.all.block;
        bad.missing = runs;
        bad.n_missing = 2;
        must_fail(fx8_push(h.session, &bad, &h.error), h.error, FX8_ERR_USAGE,
                  cases[i].text);
    }
    must(fx8_push(h.session, &h.all.block, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 2);
    check_bytes(h.c.nsamples[1], expected.nsamples[1],
                2 * h.c.n_cells * sizeof(float));
    free_collected(&expected);
    let_go(&h);
}

TEST(plans_that_cannot_be_opened)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 20);
    struct fx8_session *session = (void *)&plan;
    struct fx8_error error;
    plan.machine.device = "0,";
    must_fail(fx8_open(&plan, collect_dump, NULL, &session, &error), error,
              FX8_ERR_USAGE,
              "plan: device: 0,: expected auto, or up to 64 different "
              "ordinals such as 0 or 0,1");
    assert_null(session);
    plan.machine.device = "auto";
    plan.machine.backend = FX8_BACKEND_CPU;
    plan.machine.kernel = "sse2";
    must_fail(fx8_open(&plan, collect_dump, NULL, &session, &error), error,
              FX8_ERR_USAGE,
              "plan: kernel: sse2: expected auto, reference, avx2 or avx512");
    assert_null(session);
    plan.machine.kernel = "auto";
    plan.n_antennas = 0;
    must_fail(fx8_open(&plan, collect_dump, NULL, &session, &error), error,
              FX8_ERR_USAGE, "plan: n_antennas: expected 1 to 32768");
    assert_null(session);
}

/* --- gaps ------------------------------------------------------------ */

/* Seconds after which a call in a gap counts as hanging. */
enum { PATIENCE_S = 60 };

/* Dumps received, those with data, and the one to cancel at. */
struct flagged {
    int64_t n_dumps, n_good, cancel_at;
    struct fx8_session *session;
};

static enum fx8_status count_flagged(void *context, const struct fx8_dump *dump,
                                     struct fx8_error *error)
{
    (void)error;
    struct flagged *f = context;
    assert_int_equal(dump->index, f->n_dumps++);
    f->n_good += dump->results[FX8_RESULT_FP32].flags[0] == 0;
    if (dump->index == f->cancel_at)
        fx8_cancel(f->session);
    return FX8_OK;
}

/* Open a session of such dumps, and push a block of 100 samples from `first`
 * on. */
static enum fx8_status push_at(const struct fx8_plan *plan, struct flagged *f,
                               int64_t first, struct fx8_error *error)
{
    struct voltages v = make_voltages(2, 2, 100, 15, 19);
    struct packed all = pack(&v, TIME_MAJOR, 0, 100);
    alarm(PATIENCE_S);
    must(fx8_open(plan, count_flagged, f, &f->session, error), *error);
    all.block.first_sample = first;
    const enum fx8_status status = fx8_push(f->session, &all.block, error);
    alarm(0);
    free_packed(&all);
    free(v.data);
    return status;
}

/* Too many missing dumps are refused at once, and the session continues; the
 * largest number is delivered, and fx8_cancel() works among them. */
TEST(gaps_that_are_too_long)
{
    const int64_t most = FX8_MAX_MISSING_DUMPS;
    struct fx8_plan plan = small_plan(2, 1, true, 4, 20);
    plan.precision = FX8_PRECISION_FP32;
    plan.machine.backend =
        FX8_BACKEND_CPU; /* a device has a moment more to each dump */
    struct fx8_error error;
    struct flagged f = {.cancel_at = -1};
    must_fail(push_at(&plan, &f, (INT64_C(1) << 61) - 1, &error), error,
              FX8_ERR_USAGE,
              "block: 100 samples from 2305843009213693951: 28823037615171174 "
              "dumps are missing since sample 0: expected at most 1048576");
    assert_int_equal(f.n_dumps, 0);
    struct voltages v = make_voltages(2, 2, 100, 15, 19);
    struct packed all = pack(&v, TIME_MAJOR, 0, 100);
    all.block.first_sample = 80 * 3;
    must(fx8_push(f.session, &all.block, &error), error);
    assert_int_equal(f.n_dumps, 4);
    assert_int_equal(f.n_good, 1);
    all.block.first_sample = 80 * 3 + 100 + 80 * (most + 1);
    must_fail(fx8_push(f.session, &all.block, &error), error, FX8_ERR_USAGE,
              "block: 100 samples from 83886500: 1048577 dumps are missing "
              "since sample 340: expected at most 1048576");
    free_packed(&all);
    free(v.data);
    fx8_close(&f.session);

    f = (struct flagged){.cancel_at = -1};
    must(push_at(&plan, &f, 80 * most + 79, &error), error);
    /* a dump with the end of the gap, and one within the block */
    assert_int_equal(f.n_dumps, most + 2);
    assert_int_equal(f.n_good, 1);
    fx8_close(&f.session);
    f = (struct flagged){.cancel_at = 4};
    must_fail(push_at(&plan, &f, 80 * most, &error), error, FX8_ERR_CANCELLED,
              "cancelled");
    assert_int_equal(f.n_dumps, 5);
    fx8_close(&f.session);
}

/* Samples of a gap are not visited one by one, neither for results nor for
 * gains. */
TEST(gaps_within_long_dumps)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, INT64_C(1) << 56);
    const int64_t far = (INT64_C(1) << 61) - 200;
    struct fx8_error error;
    struct flagged f = {.cancel_at = -1};
    must(push_at(&plan, &f, far / 2 + 4321, &error), error);
    assert_int_equal(f.n_dumps, 4);
    assert_int_equal(f.n_good, 0);
    struct voltages v = make_voltages(2, 2, 100, 15, 19);
    struct packed all = pack(&v, TIME_MAJOR, 0, 100);
    all.block.first_sample = far;
    alarm(PATIENCE_S);
    must(fx8_push(f.session, &all.block, &error), error);
    must(fx8_finish(f.session, NULL, &error), error);
    assert_int_equal(f.n_dumps, 7);
    assert_int_equal(f.n_good, 1);
    alarm(0);
    /* of the first block: from its fourth sample on, windows of 16 */
    assert_int_equal(fx8_inputs(f.session).valid_spectra[0], (97 - 16) / 4 + 1);
    free_packed(&all);
    free(v.data);
    fx8_close(&f.session);
}

/* --- the memory limit ------------------------------------------------ */

/* What a plan needs, in MiB. */
struct asked {
    size_t all, spectra, samples, results;
};

/* The message about a limit that is too low: the parts add up. */
static struct asked ask(struct fx8_plan plan, size_t limit)
{
    struct fx8_session *session = (void *)&plan;
    struct fx8_error error;
    struct asked asked;
    int end = 0;
    plan.machine.backend = FX8_BACKEND_CPU;
    plan.machine.memory_limit = limit;
    assert_int_equal(fx8_open(&plan, collect_dump, NULL, &session, &error),
                     FX8_ERR_USAGE);
    assert_null(session);
    const int n = sscanf(
        error.message,
        "plan: memory_limit: expected at least %zu MiB: %zu for spectra, "
        "levels and sums, %zu for samples, %zu for results%n",
        &asked.all, &asked.spectra, &asked.samples, &asked.results, &end);
    assert_int_equal(n, 4);
    assert_int_equal(error.message[end], '\0');
    assert_int_equal(asked.all, asked.spectra + asked.samples + asked.results);
    return asked;
}

/* A round keeps 256 spectra of all inputs in floats, 16 MiB of 64 inputs of 256
 * channels, and searches ahead on a second copy of the samples.  The spectra of
 * a block come on top, 1000 of 2 bytes or 512 of 8, and 2,080 sums a channel,
 * which take 4 and 8 MiB; 5 MiB are for padding and small arrays. */
TEST(the_memory_limit_counts_the_levels)
{
    struct fx8_plan plan = small_plan(64, 1, true, 256, 1000);
    const size_t cells = 64 * 256;
    plan.precision = FX8_PRECISION_INT8;
    const struct asked int8 = ask(plan, 1);
    plan.precision = FX8_PRECISION_FP32;
    const struct asked fp32 = ask(plan, 1);
    const size_t least8 = (cells * 1000 * 2 >> 20) + 16 + 4;
    const size_t least32 = (cells * 512 * 8 >> 20) + 8;
    assert_in_range(int8.spectra, least8, least8 + 5);
    assert_in_range(fp32.spectra, least32, least32 + 5);
    /* windows of 4 taps in bytes, rounded to MiB */
    assert_in_range(int8.samples, 2 * 1003 * cells * 2 >> 20,
                    (2 * 1003 * cells * 2 >> 20) + 2);
    assert_in_range(fp32.samples, 515 * cells * 2 >> 20,
                    (515 * cells * 2 >> 20) + 2);
}

static struct fx8_plan any_plan(struct generator *g)
{
    static const double offsets_hz[] = {0, 1e6, 2e6};
    static const enum fx8_method methods[] = {FX8_METHOD_PFB, FX8_METHOD_FFT,
                                              FX8_METHOD_NONE};
    const enum fx8_method method = methods[random_below(g, 3)];
    const bool is_none = method == FX8_METHOD_NONE;
    struct fx8_plan plan = small_plan(
        1 + random_below(g, 40), 1 + random_below(g, 2),
        is_none || random_below(g, 2) == 0,
        is_none ? 1 : 1 + random_below(g, 300), random_in(g, 1, 4000));
    plan.channelizer.method = method;
    plan.n_bands = 1 + random_below(g, 3);
    plan.band_offset_hz = offsets_hz;
    plan.sample_rate.numerator_hz = plan.is_complex ? 1000000 : 2000000;
    const unsigned some = (unsigned)random_in(g, 1, 7);
    plan.precision = (enum fx8_precision)(some & 4 ? some | 8 : some);
    plan.quicklook =
        (plan.precision & FX8_PRECISION_BOTH) != 0 && random_below(g, 2) == 0;
    plan.math = random_below(g, 2) == 0 ? FX8_MATH_FAST : FX8_MATH_IEEE;
    plan.marker.is_used = random_below(g, 3) == 0;
    plan.marker.least_length = random_in(g, 1, 100000);
    plan.machine.threads.count = 1 + random_below(g, 4);
    plan.channelizer.fir =
        random_below(g, 2) == 0 ? FX8_FIR_FP32 : FX8_FIR_DP2A;
    return plan;
}

/* The minimum is reported at once, whatever the limit; it suffices, a MiB less
 * does not. */
TEST(the_memory_limit_asked_for_suffices)
{
    struct generator g = {121};
    for (int round = 0; round < 60; round++) {
        struct fx8_plan plan = any_plan(&g);
        struct fx8_session *session;
        struct fx8_error error;
        const size_t least = ask(plan, 1).all;
        for (size_t less = 1; less < least; less *= 2)
            assert_int_equal(ask(plan, (least - less) << 20).all, least);
        plan.machine.backend = FX8_BACKEND_CPU;
        plan.machine.memory_limit = least << 20;
        must(fx8_open(&plan, collect_dump, NULL, &session, &error), error);
        fx8_close(&session);
    }
}

/* More memory than any machine has is refused by the limit before anything is
 * allocated: 65,536 inputs of 16 channels make 2^31 pairs, 256 GiB of sums. */
TEST(the_memory_limit_comes_before_memory)
{
    struct fx8_plan plan = small_plan(32768, 2, true, 16, 1000000);
    assert_true(ask(plan, (size_t)1 << 30).all > 256 << 10);
}
