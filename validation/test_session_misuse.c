/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session_misuse.c -- misuse of libfx8: invalid callbacks, pointers,
 * blocks, gaps, gains and plans, calls out of order; limits.
 *
 * Shows: as test_engine.c
 */
#include <stdio.h>
#include <unistd.h>

#include "validation/session_run.h"

static const struct delivery whole = {0};

/* --- what a callback may and may not do ------------------------------ */

enum action { RETURN, FAIL, CANCEL, CALL };

/* A callback, and what it does in one dump. */
struct meddler {
    enum action action;
    enum fx8_status status; /* to return */
    size_t in_dump;
    struct fx8_session *session;
    const struct fx8_block *block;
    size_t n_calls;
};

/* Every call that changes a session is refused; closing it does nothing. */
static void call_back(const struct meddler *m)
{
    static const char text[] =
        "session: called from its own callback: expected "
        "questions or fx8_cancel() there";
    struct fx8_session *s = m->session;
    const struct fx8_input_gains none = {NULL, NULL, NULL};
    struct fx8_error error;
    must_fail(fx8_push(s, m->block, &error), error, FX8_ERR_USAGE, text);
    must_fail(fx8_set_gains(s, &none, &error), error, FX8_ERR_USAGE, text);
    must_fail(fx8_flush(s, &error), error, FX8_ERR_USAGE, text);
    must_fail(fx8_finish(s, NULL, &error), error, FX8_ERR_USAGE, text);
    assert_null(fx8_take_dump(s));
    fx8_close(&s);
    assert_ptr_equal(s, m->session);
}

static enum fx8_status meddle(void *context, const struct fx8_dump *dump,
                              struct fx8_error *error)
{
    struct meddler *m = context;
    assert_non_null(error);
    m->n_calls++;
    if ((size_t)dump->index != m->in_dump)
        return FX8_OK;
    if (m->action == FAIL)
        return fx8_fail(error, m->status, "dump %d: disk\nfull", 7);
    if (m->action == CANCEL)
        fx8_cancel(m->session);
    if (m->action == CALL)
        call_back(m);
    return m->action == RETURN ? m->status : FX8_OK;
}

/* Push three dumps of FP32 through a session with `m`.  After a failure every
 * call fails, also after FX8_ERR_USAGE: as the status of a call it would mean
 * that nothing changed, but here spectra are lost. */
static enum fx8_status run_meddler(struct meddler *m, struct fx8_error *error)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 8);
    plan.precision = FX8_PRECISION_FP32;
    const struct voltages v = make_voltages(2, 2, 110, 15, 11);
    const struct packed all = pack(&v, TIME_MAJOR, 0, 110);
    struct fx8_error after;
    must(fx8_open(&plan, meddle, m, &m->session, &after), after);
    m->block = &all.block;
    const enum fx8_status status = fx8_push(m->session, &all.block, error);
    static const char stopped[] = "session: stopped by an earlier failure: "
                                  "expected it to be closed";
    const char *text = m->action == CANCEL ? "cancelled" : stopped;
    if (status != FX8_OK) {
        must_fail(fx8_push(m->session, &all.block, &after), after, status,
                  text);
        must_fail(fx8_finish(m->session, NULL, &after), after, status, text);
    }
    fx8_close(&m->session);
    assert_null(m->session);
    return status;
}

TEST(what_a_callback_returns)
{
    static const struct {
        struct meddler meddler;
        const char *text; /* NULL: no failure */
    } cases[] = {
        {{.action = FAIL, .status = FX8_ERR_SYSTEM}, "dump 7: disk?full"},
        {{.action = FAIL, .status = FX8_ERR_USAGE, .in_dump = 2},
         "dump 7: disk?full"},
        {{.action = CANCEL, .status = FX8_ERR_CANCELLED, .in_dump = 1},
         "cancelled"},
        /* without a message: an older one is not reported */
        {{.action = RETURN, .status = FX8_ERR_INPUT},
         "dump callback failed for dump 0 without a message"},
        {{.action = CALL}, NULL},
        /* a status that is not a failure */
        {{.action = RETURN, .status = FX8_DUMP_READY}, NULL},
    };
    struct fx8_error error;
    for (size_t k = 0; k < LENGTH(cases); k++) {
        struct meddler m = cases[k].meddler;
        fx8_fail(&error, FX8_ERR_USAGE, "an older failure");
        if (cases[k].text == NULL) {
            must(run_meddler(&m, &error), error);
            assert_int_equal(m.n_calls, 3);
            continue;
        }
        assert_int_equal(run_meddler(&m, &error), m.status);
        assert_string_equal(error.message, cases[k].text);
        assert_int_equal(m.n_calls, m.in_dump + 1);
    }
    /* the callback has an error record even if the caller passes none */
    struct meddler m = {.action = FAIL, .status = FX8_ERR_SYSTEM};
    assert_int_equal(run_meddler(&m, NULL), FX8_ERR_SYSTEM);
}

/* --- what is refused ------------------------------------------------- */

/* A call on the held session `h` is refused as wrong use. */
#define MISUSED(call, text) must_fail(call, h.error, FX8_ERR_USAGE, text)

/* NULL pointers are named in the message. */
TEST(pointers_that_are_missing)
{
    static const char closed[] = "session: NULL: expected one that is open";
    static const char no_gains[] =
        "gains: NULL: expected gains from fx8_gains()";
    const struct fx8_input_gains gains = {NULL, NULL, NULL};
    struct held_session h;
    hold(&h, FX8_PRECISION_INT8, 20, 100);
    struct fx8_session *none = (void *)&h, *session = h.session;
    struct fx8_error *error = &h.error;
    MISUSED(fx8_open(NULL, collect_dump, &h.c, &none, error),
            "plan: NULL: expected one");
    assert_null(none);
    MISUSED(fx8_open(&h.plan, collect_dump, &h.c, NULL, error),
            "session: NULL: expected room for a handle");
    MISUSED(fx8_push(NULL, &h.all.block, error), closed);
    MISUSED(fx8_set_gains(NULL, &gains, error), closed);
    MISUSED(fx8_flush(NULL, error), closed);
    MISUSED(fx8_finish(NULL, NULL, error), closed);
    MISUSED(fx8_push(session, NULL, error), "block: NULL: expected one");
    MISUSED(fx8_set_gains(session, NULL, error), no_gains);
    MISUSED(fx8_set_gains(session, &gains, error), no_gains);
    h.plan.machine.device = "0,"; /* the other failures: test_plan.c */
    none = (void *)&h;
    MISUSED(fx8_open(&h.plan, collect_dump, NULL, &none, error),
            "plan: device: 0,: expected auto, or up to 64 different ordinals "
            "such as 0 or 0,1");
    assert_null(none);
    h.plan.n_antennas = 0;
    MISUSED(fx8_open(&h.plan, collect_dump, NULL, &none, error),
            "plan: n_antennas: expected 1 to 32768");
    /* nor is an error record needed */
    assert_int_equal(fx8_push(session, NULL, NULL), FX8_ERR_USAGE);
    fx8_close(&h.session);
}

/* A copy of the good block, changed by `change`, is refused. */
#define REFUSED(change, text)                                                  \
    do {                                                                       \
        struct fx8_block bad = h.all.block;                                    \
        change;                                                                \
        must_fail_with(fx8_push(h.session, &bad, &h.error), h.error,           \
                       FX8_ERR_USAGE, text);                                   \
    } while (0)

/* A wrong block is refused before anything is taken from it: the session
 * continues as if it had not come. */
TEST(blocks_that_are_refused)
{
    static const struct {
        struct fx8_gap gap;
        const char *text;
    } gaps[] = {
        {{INT64_MIN, 5, 0}, "stretch of 5 samples from -9223372036854775808: "},
        {{INT64_MAX, 5, 0},
         "from 9223372036854775807: expected a range within "
         "2^61"},
        {{3, -1, -1}, "block: missing stretch of -1 samples from 3: "},
        {{500, 2, 2}, "block: missing stretch of input 2: expected -1 to 1"},
        {{500, 2, -2}, "block: missing stretch of input -2: expected -1 to 1"},
    };
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 200);
    const struct collected expected = collect(&h.plan, &h.v, &whole);
    REFUSED(bad.n_samples = -1,
            "block: -1 samples from 0: expected an ascending range from 0");
    REFUSED(bad.first_sample = -5, "block: 200 samples from -5: expected an");
    REFUSED(bad.first_sample = INT64_MAX - 10, "expected an ascending range");
    REFUSED(bad.samples = NULL, "block: samples: NULL: expected 200 samples");
    REFUSED(bad.input_offset = NULL,
            "block: input_offset: NULL: expected 200 samples");
    REFUSED((bad.missing = NULL, bad.n_missing = 2),
            "block: missing: NULL: expected 2 stretches");
    REFUSED(bad.in_place = h.all.memory + 1, "block: in_place: room for ");
    REFUSED((bad.in_place = h.all.memory, bad.room = -1), "block: in_place: ");
    REFUSED((bad.in_place = h.all.memory, bad.room = INT64_MAX),
            "block: in_place: room for ");
    for (size_t k = 0; k < LENGTH(gaps); k++) {
        const struct fx8_gap two[] = {{3, 30, 0}, gaps[k].gap};
        REFUSED((bad.missing = two, bad.n_missing = 2), gaps[k].text);
    }
    const struct fx8_block empty = {.n_samples = 0}; /* without effect */
    must(fx8_push(h.session, &empty, &h.error), h.error);
    must(fx8_push(h.session, &h.all.block, &h.error), h.error);
    /* 50 spectra minus the 3 taps by which the window reaches further */
    int64_t dropped = -1;
    for (int i = 0; i < 2; i++) {
        must(fx8_finish(h.session, &dropped, &h.error), h.error);
        assert_int_equal(dropped, 47 - 40);
        REFUSED((void)bad, "session: finished: expected no more samples");
    }
    assert_int_equal(h.c.n_dumps, 2);
    check_bytes(h.c.visibilities[1], expected.visibilities[1],
                2 * 2 * h.c.n_cells * sizeof(float));
    check_bytes(h.c.nsamples[1], expected.nsamples[1],
                2 * h.c.n_cells * sizeof(float));
    fx8_close(&h.session);
}

TEST(gains_that_are_refused)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 30, 1500);
    float gain[8] = {NAN, 2, 2, 2, 2, 2, 2, 2}; /* of input 0: not set */
    uint8_t is_zero[8] = {0}, is_set[2] = {0, 1};
    const struct fx8_input_gains gains = {gain, is_zero, is_set};
    static const float bad[] = {0.0f, -1.0f, NAN, INFINITY, 1e-42f};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        char text[100];
        snprintf(text, sizeof text,
                 "gains: input 1, band 0, channel 3: %g: expected a positive "
                 "number",
                 (double)bad[i]);
        gain[7] = bad[i];
        MISUSED(fx8_set_gains(h.session, &gains, &h.error), text);
        assert_true(fx8_gains(h.session).gain[4] == 1.0f);
    }
    gain[7] = 2.0f;
    must(fx8_set_gains(h.session, &gains, &h.error), h.error);
    assert_true(fx8_gains(h.session).gain[7] == 2.0f);
    assert_true(fx8_gains(h.session).gain[0] == 1.0f);
    must(fx8_push(h.session, &h.all.block, &h.error), h.error);
    MISUSED(fx8_set_gains(h.session, &gains, &h.error),
            "gains: cannot be set after the first block");
    fx8_close(&h.session);
    hold(&h, FX8_PRECISION_FP32, 30, 1500);
    MISUSED(fx8_set_gains(h.session, &gains, &h.error),
            "gains: expected a plan with a quantiser");
    assert_null(fx8_gains(h.session).gain);
    assert_null(fx8_gains(h.session).is_zero);
    assert_null(fx8_gains(h.session).is_set);
    fx8_close(&h.session);
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

/* Push a block of 100 samples from `first` on. */
static enum fx8_status push_at(struct flagged *f, int64_t first,
                               struct fx8_error *error)
{
    const struct voltages v = make_voltages(2, 2, 100, 15, 19);
    struct packed all = pack(&v, TIME_MAJOR, 0, 100);
    all.block.first_sample = first;
    alarm(PATIENCE_S);
    const enum fx8_status status = fx8_push(f->session, &all.block, error);
    alarm(0);
    return status;
}

/* Too many missing dumps are refused at once, and the session continues; the
 * largest number is delivered, and fx8_cancel() works among them. */
TEST(gaps_that_are_too_long)
{
    const int64_t most = FX8_MAX_MISSING_DUMPS;
    struct fx8_plan plan = small_plan(2, 1, true, 4, 20);
    plan.precision = FX8_PRECISION_FP32;
    /* a device has a moment more to each dump */
    plan.machine.backend = FX8_BACKEND_CPU;
    struct fx8_error error;
    struct flagged f = {.cancel_at = -1};
    must(fx8_open(&plan, count_flagged, &f, &f.session, &error), error);
    must_fail(push_at(&f, (INT64_C(1) << 61) - 1, &error), error, FX8_ERR_USAGE,
              "block: 100 samples from 2305843009213693951: 28823037615171174 "
              "dumps are missing since sample 0: expected at most 1048576");
    assert_int_equal(f.n_dumps, 0);
    must(push_at(&f, 80 * 3, &error), error);
    assert_int_equal(f.n_dumps, 4);
    assert_int_equal(f.n_good, 1);
    must_fail(push_at(&f, 80 * 3 + 100 + 80 * (most + 1), &error), error,
              FX8_ERR_USAGE,
              "block: 100 samples from 83886500: 1048577 dumps are missing "
              "since sample 340: expected at most 1048576");
    must(push_at(&f, 80 * 3 + 100 + 80 * most + 79, &error), error);
    /* a dump with the end of each block; before the second one, `most` */
    assert_int_equal(f.n_dumps, 4 + 1 + most + 1);
    assert_int_equal(f.n_good, 1 + 2);
    fx8_close(&f.session);
    f = (struct flagged){.cancel_at = 4};
    must(fx8_open(&plan, count_flagged, &f, &f.session, &error), error);
    must_fail(push_at(&f, 80 * most, &error), error, FX8_ERR_CANCELLED,
              "cancelled");
    assert_int_equal(f.n_dumps, 5);
    fx8_close(&f.session);
}

/* Samples of a gap are not visited one by one, neither for results nor for
 * gains. */
TEST(gaps_within_long_dumps)
{
    const struct fx8_plan plan = small_plan(2, 1, true, 4, INT64_C(1) << 56);
    const int64_t far = (INT64_C(1) << 61) - 200;
    struct fx8_error error;
    struct flagged f = {.cancel_at = -1};
    must(fx8_open(&plan, count_flagged, &f, &f.session, &error), error);
    must(push_at(&f, far / 2 + 4321, &error), error);
    assert_int_equal(f.n_dumps, 4);
    assert_int_equal(f.n_good, 0);
    must(push_at(&f, far, &error), error);
    alarm(PATIENCE_S);
    must(fx8_finish(f.session, NULL, &error), error);
    alarm(0);
    assert_int_equal(f.n_dumps, 7);
    assert_int_equal(f.n_good, 1);
    /* of the first block: from its fourth sample on, windows of 16 */
    assert_int_equal(fx8_inputs(f.session).valid_spectra[0], (97 - 16) / 4 + 1);
    fx8_close(&f.session);
}

/* --- the memory limit ------------------------------------------------ */

/* The MiB that a plan needs, and its parts for spectra, levels and sums and for
 * samples: the same whatever the limit.  They suffice, a MiB less does not. */
struct asked {
    size_t all, spectra, samples;
};

static struct asked ask(struct fx8_plan plan)
{
    struct fx8_session *session;
    struct fx8_error error;
    plan.machine.backend = FX8_BACKEND_CPU;
    plan.machine.memory_limit = 1;
    const struct asked asked = {number_refused(&plan, "expected at least "),
                                number_refused(&plan, " MiB: "),
                                number_refused(&plan, "levels and sums, ")};
    assert_int_equal(asked.all, asked.spectra + asked.samples +
                                    number_refused(&plan, " for samples, "));
    for (size_t less = 1; less < asked.all; less *= 2) {
        plan.machine.memory_limit = (asked.all - less) << 20;
        assert_int_equal(number_refused(&plan, "expected at least "),
                         asked.all);
    }
    plan.machine.memory_limit = asked.all << 20;
    must(fx8_open(&plan, collect_dump, NULL, &session, &error), error);
    fx8_close(&session);
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
    const struct asked int8 = ask(plan);
    plan.precision = FX8_PRECISION_FP32;
    const struct asked fp32 = ask(plan);
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

/* Any combination of what takes memory. */
TEST(the_memory_limit_asked_for_suffices)
{
    static const double offsets_hz[] = {0, 1e6, 2e6};
    struct generator g = {121};
    for (int round = 0; round < 60; round++) {
        const enum fx8_method method = (enum fx8_method)random_below(&g, 3);
        const bool is_none = method == FX8_METHOD_NONE;
        struct fx8_plan plan = small_plan(
            1 + random_below(&g, 40), 1 + random_below(&g, 2),
            is_none || random_below(&g, 2) == 0,
            is_none ? 1 : 1 + random_below(&g, 300), random_in(&g, 1, 4000));
        plan.channelizer.method = method;
        plan.sample_rate.numerator_hz = plan.is_complex ? 1000000 : 2000000;
        plan.channelizer.fir = (enum fx8_fir)random_below(&g, 2);
        plan.n_bands = 1 + random_below(&g, 3);
        plan.band_offset_hz = offsets_hz;
        const unsigned some = (unsigned)random_in(&g, 1, 7);
        plan.precision = (enum fx8_precision)(some & 4 ? some | 8 : some);
        plan.quicklook = (some & FX8_PRECISION_BOTH) && random_below(&g, 2);
        plan.math = (enum fx8_math)random_below(&g, 2);
        plan.marker.is_used = random_below(&g, 3) == 0;
        plan.marker.least_length = random_in(&g, 1, 100000);
        plan.machine.threads.count = 1 + random_below(&g, 4);
        ask(plan);
    }
}

/* More memory than any machine has is refused before anything is allocated:
 * 65,536 inputs of 16 channels make 2^31 pairs, 256 GiB of sums. */
TEST(the_memory_limit_comes_before_memory)
{
    struct fx8_plan plan = small_plan(32768, 2, true, 16, 1000000);
    plan.machine.memory_limit = (size_t)1 << 30;
    assert_true(number_refused(&plan, "expected at least ") > 256 << 10);
}
