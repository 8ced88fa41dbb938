/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session_gains.c -- gains of the quantiser: given, measured and awaited,
 * with samples kept or delivered again, or taken from another run; and dumps
 * that the caller takes.
 *
 * Shows: as test_engine.c
 */
#include <math.h>
#include <stdio.h>

#include "validation/session_run.h"

static const struct delivery whole = {0};

/* --- dumps are taken ------------------------------------------------- */

/* A call at which a dump waits changes nothing until the dump is taken. */
TEST(dumps_are_taken_one_by_one)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 20, 1500);
    struct collected expected = collect(&h.plan, &h.v, &whole);
    struct packed head = pack(&h.v, IN_PLACE, 0, 1201);
    struct packed tail = pack(&h.v, IN_PLACE, 1201, 299);
    struct fx8_session *session;
    struct collected c = {.n_inputs = 2, .stop_at = SIZE_MAX};
    must(fx8_open(&h.plan, NULL, NULL, &session, &h.error), h.error);
    assert_null(fx8_take_dump(session));
    const struct fx8_block *blocks[] = {&head.block, &tail.block, NULL};
    int64_t dropped = -1;
    for (size_t i = 0; i < 3;) {
        enum fx8_status status = FX8_OK;
        for (int again = 0; again < 3; again++)
            status = blocks[i] == NULL ? fx8_finish(session, &dropped, &h.error)
                                       : fx8_push(session, blocks[i], &h.error);
        const struct fx8_dump *dump = fx8_take_dump(session);
        assert_int_equal(status, dump == NULL ? FX8_OK : FX8_DUMP_READY);
        if (dump != NULL)
            must(collect_dump(&c, dump, &h.error), h.error);
        else
            i++;
        assert_null(fx8_take_dump(session));
    }
    assert_int_equal(dropped, expected.dropped_spectra);
    assert_int_equal(c.n_dumps, expected.n_dumps);
    for (size_t k = 0; k < 2; k++)
        check_bytes(c.visibilities[k], expected.visibilities[k],
                    2 * c.n_dumps * c.n_cells * sizeof(float));
    fx8_close(&session);
    free_packed(&head);
    free_packed(&tail);
    free_collected(&c);
    free_collected(&expected);
    let_go(&h);
}

/* The dump waits even if no more samples come. */
TEST(a_dump_waits_until_it_is_taken)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 20 * 4 + 12);
    struct fx8_session *session;
    must(fx8_open(&h.plan, NULL, NULL, &session, &h.error), h.error);
    for (int again = 0; again < 3; again++)
        assert_int_equal(fx8_push(session, &h.all.block, &h.error),
                         FX8_DUMP_READY);
    struct fx8_block far = h.all.block;
    far.first_sample = INT64_C(1) << 60; /* not searched for gains yet */
    h.error.message[0] = '\0';
    assert_int_equal(fx8_push(session, &far, &h.error), FX8_DUMP_READY);
    assert_string_equal(h.error.message, "");
    assert_int_equal(fx8_flush(session, &h.error), FX8_DUMP_READY);
    assert_int_equal(fx8_finish(session, NULL, &h.error), FX8_DUMP_READY);
    assert_int_equal(fx8_take_dump(session)->index, 0);
    must(fx8_flush(session, &h.error), h.error);
    must(fx8_finish(session, NULL, &h.error), h.error);
    assert_null(fx8_take_dump(session));
    fx8_close(&session);
    let_go(&h);
}

/* Dumps of a gap are taken too; a cancelled session has none to take. */
TEST(dumps_of_a_gap_are_taken)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_FP32, 20, 200);
    struct fx8_session *session;
    struct collected c = {.n_inputs = 2, .stop_at = SIZE_MAX};
    must(fx8_open(&h.plan, NULL, NULL, &session, &h.error), h.error);
    h.all.block.first_sample = 1000;
    must(push_or_finish(session, &h.all.block, &c, &h.error), h.error);
    /* 1200 samples, windows of 16 at every fourth */
    assert_int_equal(c.n_dumps, ((1200 - 16) / 4 + 1) / 20);
    for (size_t cell = 0; cell < 12 * c.n_cells; cell++)
        assert_int_equal(c.flags[1][cell], 1);
    assert_int_equal(c.flags[1][13 * c.n_cells], 0);
    h.all.block.first_sample = 2000;
    assert_int_equal(fx8_push(session, &h.all.block, &h.error), FX8_DUMP_READY);
    fx8_cancel(session);
    must_fail(fx8_push(session, &h.all.block, &h.error), h.error,
              FX8_ERR_CANCELLED, "cancelled");
    fx8_close(&session);
    free_collected(&c);
    let_go(&h);
}

/* --- samples that are delivered again -------------------------------- */

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
    return answer->status == FX8_OK || answer->text == NULL
               ? answer->status
               : fx8_fail(error, answer->status, "%s", answer->text);
}

/* Only the samples that were pushed are accepted. */
TEST(what_is_delivered_again_is_checked)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 30, 2000);
    struct packed head = pack(&h.v, TIME_MAJOR, 0, 600);
    struct packed tail = pack(&h.v, TIME_MAJOR, 600, 1400);
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
        {{.block = {.samples = head.block.samples,
                    .input_offset = head.block.input_offset,
                    .time_stride = head.block.time_stride,
                    .n_samples = 100}},
         FX8_ERR_USAGE,
         "reread: 100 samples from 0: expected those from 120 on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer answer = cases[i].answer;
        struct fx8_plan plan = h.plan;
        struct fx8_session *session;
        plan.reread = deliver;
        plan.reread_context = &answer;
        /* one dump at a time: the first needs 132 samples */
        plan.spectra_per_dump = 27;
        must(fx8_open(&plan, collect_dump, &h.c, &session, &h.error), h.error);
        must(fx8_push(session, &head.block, &h.error), h.error);
        assert_int_equal(answer.n_calls, 0);
        must_fail(fx8_push(session, &tail.block, &h.error), h.error,
                  cases[i].status, cases[i].text);
        assert_int_equal(answer.n_calls, 1);
        fx8_close(&session);
    }
    free_packed(&head);
    free_packed(&tail);
    let_go(&h);
}

/* A gap declared by a block without samples counts, whether gains are known or
 * not, and whatever comes after it. */
TEST(a_gap_while_gains_are_sought)
{
    for (int k = 0; k < 8; k++) {
        struct held_session h;
        hold(&h, FX8_PRECISION_INT8, 10, 6000);
        struct packed head = pack(&h.v, TIME_MAJOR, 0, 800);
        struct packed tail = pack(&h.v, TIME_MAJOR, 2000, 4000);
        struct fx8_block far = {.first_sample = 4000};
        struct collected c[2];
        for (int is_known = 0; is_known < 2; is_known++) {
            struct rereader r = {
                .v = &h.v, .d = {.block_samples = 800}, .c = &c[is_known]};
            struct fx8_plan plan = h.plan;
            plan.reread = k & 1 ? reread_block : NULL;
            plan.reread_context = &r;
            /* the second run uses the gains of the first */
            float gain[8];
            uint8_t is_zero[8] = {0}, is_set[2] = {1, 1};
            for (size_t i = 0; i < 8; i++)
                gain[i] = is_known ? c[0].gains[i] : 1.0f;
            const struct fx8_input_gains gains = {gain, is_zero, is_set};
            c[is_known] =
                (struct collected){.n_inputs = 2, .stop_at = SIZE_MAX};
            struct fx8_session *session;
            must(
                fx8_open(&plan, collect_dump, &c[is_known], &session, &h.error),
                h.error);
            if (is_known)
                must(fx8_set_gains(session, &gains, &h.error), h.error);
            must(fx8_push(session, &head.block, &h.error), h.error);
            must(fx8_push(session, &far, &h.error), h.error);
            if (k & 2)
                must(fx8_push(session, &tail.block, &h.error), h.error);
            must(fx8_finish(session, &c[is_known].dropped_spectra, &h.error),
                 h.error);
            c[is_known].gains = (float *)append(
                NULL, 0, fx8_gains(session).gain, 8, sizeof(float));
            fx8_close(&session);
            free_packed(&r.packed);
        }
        assert_int_equal(c[0].n_dumps, c[1].n_dumps);
        assert_int_equal(c[0].dropped_spectra, c[1].dropped_spectra);
        assert_int_equal(c[0].n_dumps, (k & 2 ? 6000 - 12 : 4000) / 4 / 10);
        check_bytes(c[0].nsamples[0], c[1].nsamples[0],
                    c[0].n_dumps * c[0].n_cells * sizeof(float));
        check_bytes(c[0].visibilities[0], c[1].visibilities[0],
                    2 * c[0].n_dumps * c[0].n_cells * sizeof(float));
        free_collected(&c[0]);
        free_collected(&c[1]);
        free_packed(&head);
        free_packed(&tail);
        let_go(&h);
    }
}

/* A block's gaps outside its own samples are not stored. */
TEST(stretches_elsewhere_take_no_memory)
{
    enum { N = 20000 };
    struct held_session h;
    hold(&h, FX8_PRECISION_INT8, 100, 40000);
    struct fx8_gap *far = exact(N * sizeof *far);
    for (size_t i = 0; i < N; i++)
        far[i] = (struct fx8_gap){1000000 + (int64_t)i * 10, 5, -1};
    struct fx8_plan plan = h.plan;
    struct fx8_session *session;
    plan.channelizer.n_channels = 64;
    plan.machine.backend = FX8_BACKEND_CPU;
    plan.machine.memory_limit = (size_t)64 << 20;
    must(fx8_open(&plan, collect_dump, &h.c, &session, &h.error), h.error);
    for (int64_t first = 0; first < 40000; first += 100) {
        struct packed p = pack(&h.v, TIME_MAJOR, first, 100);
        p.block.missing = far;
        p.block.n_missing = N;
        must(fx8_push(session, &p.block, &h.error), h.error);
        free_packed(&p);
    }
    must(fx8_finish(session, NULL, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, (40000 / 64 - 3) / 100);
    fx8_close(&session);
    free(far);
    let_go(&h);
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
    struct collected expected = collect(&plan, &v, &whole);
    struct fx8_session *session;
    struct fx8_error error;
    size_t least, more;
    plan.machine.memory_limit = 1;
    assert_int_equal(fx8_open(&plan, collect_dump, NULL, &session, &error),
                     FX8_ERR_USAGE);
    assert_int_equal(sscanf(error.message,
                            "plan: memory_limit: expected at least %zu",
                            &least),
                     1);
    struct collected c = {.n_inputs = 16, .stop_at = SIZE_MAX};
    plan.machine.memory_limit = least << 20;
    assert_int_equal(run_session(&plan, &v, &blocks, &c, &error),
                     FX8_ERR_SYSTEM);
    assert_int_equal(c.n_dumps, 0);
    free_collected(&c);
    assert_int_equal(
        sscanf(error.message,
               "plan: memory_limit: %*u MiB: expected at least %zu", &more),
        1);
    /* 256 spectra of 16 inputs and the taps before them, 2 bytes a sample */
    assert_in_range(more - least, 259 * 512 * 32 >> 20,
                    (259 * 512 * 32 >> 20) + 2);
    char text[200];
    snprintf(text, sizeof text,
             "plan: memory_limit: %zu MiB: expected at least %zu MiB, to keep "
             "the samples that gains are set from, or a reread callback",
             more - 1, more);
    plan.machine.memory_limit = (more - 1) << 20;
    c = (struct collected){.n_inputs = 16, .stop_at = SIZE_MAX};
    must_fail(run_session(&plan, &v, &blocks, &c, &error), error,
              FX8_ERR_SYSTEM, text);
    free_collected(&c);
    plan.machine.memory_limit = more << 20;
    c = collect(&plan, &v, &blocks);
    check_same(&expected, &c);
    free_collected(&c);
    /* none of that is needed where samples are delivered again */
    const struct delivery again = {.block_samples = 4000,
                                   .reread_samples = 3000};
    plan.machine.memory_limit = least << 20;
    c = collect(&plan, &v, &again);
    check_same(&expected, &c);
    free_collected(&c);
    free_collected(&expected);
    free(v.data);
}

/* --- gains of another run -------------------------------------------- */

/* A run in two parts, the second with the gains of the first, gives the dumps
 * of one run; rows that the first part did not see set their own gains. */
TEST(gains_of_another_run)
{
    const double input_gain[] = {0.5, 1, 0.25, 1};
    struct fx8_plan plan = small_plan(4, 1, true, 4, 50);
    plan.input_gain = input_gain;
    struct voltages v = make_voltages(4, 2, 4000, 15, 31);
    memset(voltages_at(&v, 2, 0), 0, 2 * 1700);
    memset(voltages_at(&v, 3, 0), 0, 2 * 4000);
    struct collected one = collect(&plan, &v, &whole);
    struct voltages front = v; /* 7 dumps: input 2 has not begun yet */
    const size_t d = 7;
    plan.machine.threads.count = 2;
    front.n_samples = (int64_t)d * 50 * 4 + 12;
    front.data = exact(4 * (size_t)front.n_samples * 2);
    for (size_t i = 0; i < 4; i++)
        memcpy(voltages_at(&front, i, 0), voltages_at(&v, i, 0),
               2 * (size_t)front.n_samples);
    struct collected first = collect(&plan, &front, &whole);
    assert_int_equal(first.n_dumps, d);
    static const uint8_t is_set[] = {1, 1, 0, 0};
    check_bytes(first.is_set, is_set, 4);

    struct fx8_error error;
    struct fx8_session *session;
    struct collected second = {.n_inputs = 4, .stop_at = SIZE_MAX};
    struct packed all = pack(&v, TIME_MAJOR, 0, 4000);
    plan.first_sample = (int64_t)d * 50 * 4;
    must(fx8_open(&plan, NULL, NULL, &session, &error), error);
    const struct fx8_input_gains gains = {first.gains, first.zero,
                                          first.is_set};
    must(fx8_set_gains(session, &gains, &error), error);
    check_bytes(fx8_gains(session).gain, first.gains, 16 * sizeof(float));
    must(push_or_finish(session, &all.block, &second, &error), error);
    must(push_or_finish(session, NULL, &second, &error), error);
    check_bytes(fx8_gains(session).gain, one.gains, 16 * sizeof(float));
    check_bytes(fx8_gains(session).is_set, one.is_set, 4);
    assert_int_equal(second.n_dumps, one.n_dumps - d);
    for (size_t k = 0; k < 2; k++) {
        const size_t from = d * one.n_cells;
        check_bytes(second.visibilities[k], one.visibilities[k] + 2 * from,
                    2 * second.n_dumps * one.n_cells * sizeof(float));
        check_bytes(second.flags[k], one.flags[k] + from,
                    second.n_dumps * one.n_cells);
    }
    fx8_close(&session);
    free_packed(&all);
    free_collected(&one);
    free_collected(&first);
    free_collected(&second);
    free(front.data);
    free(v.data);
}

TEST(gains_that_are_refused)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_BOTH, 30, 1500);
    float gain[8];
    uint8_t is_zero[8] = {0}, is_set[2] = {0, 1};
    const struct fx8_input_gains gains = {gain, is_zero, is_set};
    static const float bad[] = {0.0f, -1.0f, NAN, INFINITY, 1e-42f};
    for (size_t i = 0; i < 8; i++)
        gain[i] = 2.0f;
    for (size_t i = 0; i < 5; i++) {
        char text[100];
        snprintf(text, sizeof text,
                 "gains: input 1, band 0, channel 3: %g: expected a positive "
                 "number",
                 (double)bad[i]);
        gain[7] = bad[i];
        must_fail(fx8_set_gains(h.session, &gains, &h.error), h.error,
                  FX8_ERR_USAGE, text);
        assert_true(fx8_gains(h.session).gain[4] == 1.0f);
    }
    gain[7] = 2.0f;
    gain[0] = NAN; /* of an input whose gains are not set */
    must(fx8_set_gains(h.session, &gains, &h.error), h.error);
    assert_true(fx8_gains(h.session).gain[7] == 2.0f);
    assert_true(fx8_gains(h.session).gain[0] == 1.0f);
    must(fx8_push(h.session, &h.all.block, &h.error), h.error);
    must_fail(fx8_set_gains(h.session, &gains, &h.error), h.error,
              FX8_ERR_USAGE, "gains: cannot be set after the first block");
    must(fx8_finish(h.session, NULL, &h.error), h.error);
    let_go(&h);
    hold(&h, FX8_PRECISION_FP32, 30, 1500);
    must_fail(fx8_set_gains(h.session, &gains, &h.error), h.error,
              FX8_ERR_USAGE, "gains: expected a plan with a quantiser");
    assert_null(fx8_gains(h.session).gain);
    assert_null(fx8_gains(h.session).is_zero);
    assert_null(fx8_gains(h.session).is_set);
    let_go(&h);
}
