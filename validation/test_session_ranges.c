/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session_ranges.c -- any range of dumps, computed from the samples that
 * it needs, has the bits of a whole run: what resuming and many machines rest
 * on.  test_engine_results.c does the same on the CUDA engine.
 *
 * Shows (failures, ranges of dumps): every range of the dumps of twelve jobs
 *     (INT8, FP32 and bounds; complex and real samples; delays; runs of markers
 *     that begin before a range; gaps; a shorter last dump; dumps longer than
 *     an FP32 sum and than a block of the engine; inputs that begin late, with
 *     their gains given or found), each in a session of its own and all in one;
 *     segments of the dumps of nineteen jobs, computed in three sessions and
 *     added in one
 * Within: to the bit
 * In: test_engine_results.c
 */
#include "validation/eventful.h"
#include "validation/session_ranges.h"

static const struct delivery whole = {0};

TEST(every_range_of_dumps)
{
    static const double turns[] = {0.0, 0.25, -0.1, 0.7, -12.3, 0.5};
    for (size_t k = 0; k < 8; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k % 2);
        size_t n_inputs = 6;
        plan.n_spectra = k / 4 == 1 ? 4 * 90 + 37 : 0;
        plan.quantizer.dither = k / 2 % 2 == 0;
        if (k / 2 % 2 == 1)
            plan.delays =
                (struct fx8_delays){find_delays, &n_inputs, 50e-6, turns};
        if (k % 4 == 3) {
            plan.precision = FX8_PRECISION_FP32 | FX8_PRECISION_INTERVAL;
            plan.quantizer.gain_per = FX8_GAIN_PER_INPUT;
        }
        const struct collected c = collect(&plan, &v, &whole);
        assert_true(c.n_dumps >= 4);
        check_ranges(&plan, &v, &c);
    }
}

/* Dumps longer than an FP32 sum and than the engine's blocks; recorded integers
 * without a filter bank. */
TEST(ranges_of_long_dumps)
{
    for (size_t k = 0; k < 4; k++) {
        struct fx8_plan plan = small_plan(2, 2, k % 2 == 0, 4, 2900);
        const struct voltages v = make_voltages(
            4, 1 + (k % 2 == 0), k % 2 == 0 ? 40000 : 80000, 15, 77 + k);
        if (k == 2) {
            plan.channelizer = (struct fx8_channelizer){
                .method = FX8_METHOD_NONE, .n_channels = 1};
            plan.spectra_per_dump = 9000;
        }
        plan.n_spectra = plan.spectra_per_dump * 3 + 600;
        const struct collected c = collect(&plan, &v, &whole);
        assert_int_equal(c.n_dumps, 4);
        check_ranges(&plan, &v, &c);
    }
}

/* An input whose gains are not known yet finds them where the whole run does:
 * in later dumps than those of the range, if need be. */
TEST(gains_of_late_inputs)
{
    for (size_t k = 0; k < 2; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k == 1);
        const struct collected c = collect(&plan, &v, &whole);
        /* input 2 begins in dump 1 of real samples, 2 of complex ones; input 1
         * never does */
        const int64_t begins = k == 1 ? 2 : 1;
        const uint8_t is_set[] = {1, 0, 0, 1, 1, 1};
        struct ranges r = {.v = &v, .whole = &c, .block_samples = 500};
        for (int64_t first = 0; first <= begins; first++) {
            open_ranges(&r, &plan, is_set);
            check_range(&r, first, begins + 1);
            /* known from now on */
            assert_int_equal(fx8_gains(r.session).is_set[2], 1);
            check_bytes(fx8_gains(r.session).gain, c.gains,
                        c.n_inputs * c.n_channels * sizeof(float));
            if (begins + 1 < (int64_t)c.n_dumps)
                check_range(&r, begins + 1, (int64_t)c.n_dumps);
            fx8_close(&r.session);
        }
    }
}

/* A session that can read again finds the gains of inputs that have delivered
 * before its range: nobody else has to know them. */
TEST(gains_from_before_a_range)
{
    static const double turns[] = {0.0, 0.25, -0.1, 0.7, -12.3, 0.5};
    for (size_t k = 0; k < 12; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k % 2 == 1);
        size_t n_inputs = 6;
        if (k / 4 == 2) /* 213 behind a pulse: several blocks of 70 */
            plan.first_sample = 1201;
        if (k / 4 > 0) { /* the end decides on the last spectra */
            plan.marker.least_length = 400;
            plan.blanking = (struct fx8_blanking){.level = 127, .margin = 400};
        }
        if (k / 2 % 2 == 1)
            plan.delays =
                (struct fx8_delays){find_delays, &n_inputs, 50e-6, turns};
        const struct collected c = collect(&plan, &v, &whole);
        const uint8_t is_set[2][6] = {{0}, {1, 0, 0, 1, 1, 1}};
        struct collected unused = {0};
        struct rereader again = {.v = &v, .d.block_samples = 70, .c = &unused};
        struct ranges r = {.v = &v, .whole = &c, .block_samples = 500};
        plan.reread = reread_block;
        plan.reread_context = &again;
        for (int64_t first = 0; first < (int64_t)c.n_dumps; first++)
            for (size_t given = 0; given < 2; given++) {
                open_ranges(&r, &plan, is_set[given]);
                check_range(&r, first, first + 1);
                check_range(&r, (int64_t)c.n_dumps - 1, (int64_t)c.n_dumps);
                fx8_close(&r.session);
            }
        release_early(again.packed.memory);
    }
}

/* Without gains given, ranges in order are a whole run. */
TEST(ranges_in_order_are_a_whole_run)
{
    struct fx8_plan plan;
    const struct voltages v = eventful(&plan, true);
    const struct collected c = collect(&plan, &v, &whole);
    const uint8_t none[6] = {0};
    struct ranges r = {
        .v = &v, .whole = &c, .block_samples = 200, .is_pulled = true};
    open_ranges(&r, &plan, none);
    for (int64_t d = 0; d < (int64_t)c.n_dumps; d++)
        check_range(&r, d, d + 1);
    const struct fx8_input_counts counts = fx8_inputs(r.session);
    check_bytes(counts.clips, c.clips,
                c.n_inputs * c.n_channels * sizeof *c.clips);
    check_bytes(counts.valid_spectra, c.valid_spectra,
                c.n_inputs * sizeof *c.valid_spectra);
    fx8_close(&r.session);
}

/* The quick-look of dumps that were computed before is that of the whole run.
 */
TEST(quick_look_of_dumps_computed_before)
{
    for (size_t k = 0; k < 2; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, true);
        plan.n_spectra = 4 * 90 + 37;
        plan.math = k == 0 ? FX8_MATH_IEEE : FX8_MATH_FAST;
        plan.precision = k == 0 ? FX8_PRECISION_BOTH : FX8_PRECISION_FP32;
        const struct collected c = collect(&plan, &v, &whole);
        check_looks(&plan, &v, &c);
    }
}

/* --- parts of dumps ------------------------------------------------------- */

/* Segments of dumps, computed in several sessions and added. */
TEST(segments_add_up_to_dumps)
{
    static const double turns[] = {0.0, 0.25, -0.1, 0.7, -12.3, 0.5};
    static const enum fx8_precision precisions[] = {
        FX8_PRECISION_INT8, FX8_PRECISION_BOTH,
        FX8_PRECISION_FP32 | FX8_PRECISION_INTERVAL};
    for (size_t k = 0; k < 12; k += FX8_THREAD_CHECKER ? 5 : 1) {
        struct fx8_plan plan;
        const struct voltages v = eventful_segments(&plan, k % 2 == 0);
        size_t n_inputs = 6;
        plan.precision = precisions[k / 4];
        plan.machine.spot_check = k % 2 == 0 ? FX8_SPOT_YES : FX8_SPOT_NO;
        if (k / 2 % 2 == 1)
            plan.delays =
                (struct fx8_delays){find_delays, &n_inputs, 50e-6, turns};
        const struct collected c = collect(&plan, &v, &whole);
        assert_int_equal(c.n_dumps, 2);
        assert_true(c.statistics.n_sk_flagged > 0);
        check_parts(&plan, &v, &c, NULL, 1);
        if (plan.precision != FX8_PRECISION_INT8)
            continue;
        plan.sk_false_alarm = 0.0; /* or moments would have to be in order */
        const struct collected exact = collect(&plan, &v, &whole);
        for (int64_t n = 2; n <= 3; n++)
            check_parts(&plan, &v, &exact, NULL, n);
    }
}

/* Additions in another order would show in the results. */
TEST(segments_are_added_in_order)
{
    for (size_t k = 0; k < 2; k++) {
        struct fx8_plan plan;
        const struct voltages v = cancelling_segments(&plan, k == 1);
        const struct collected c = collect(&plan, &v, &whole);
        assert_int_equal(c.n_dumps, 1);
        check_parts(&plan, &v, &c, NULL, 1);
    }
}

/* The session that adds the parts learns the gains of inputs that begin in the
 * parts of others. */
TEST(gains_come_with_parts)
{
    for (size_t k = 0; k < 2; k++) {
        struct fx8_plan plan;
        const struct voltages v = eventful_segments(&plan, k == 0);
        const struct collected c = collect(&plan, &v, &whole);
        const uint8_t is_set[] = {1, 0, 0, 0, 1, 1};
        struct collected unused = {0};
        struct rereader again = {
            .v = &v, .d.block_samples = 20000, .c = &unused};
        plan.reread = reread_block;
        plan.reread_context = &again;
        check_parts(&plan, &v, &c, is_set, 1);
        release_early(again.packed.memory);
    }
}

/* Recorded integers; bands; a dump of nothing but gaps, and segments of them.
 */
TEST(parts_of_other_shapes)
{
    for (size_t k = 0; k < 3; k++) {
        static const double offsets[] = {0.0, 5e6};
        struct fx8_plan plan = small_plan(2, 1, true, 4, 8192 + 50);
        struct voltages v = make_voltages(k == 1 ? 4 : 2, 2,
                                          2 * (8192 + 50) * 4 + 12, 15, 5 + k);
        plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
        plan.sk_false_alarm = 0.1;
        if (k == 0) {
            plan.channelizer = (struct fx8_channelizer){
                .method = FX8_METHOD_NONE, .n_channels = 1};
            plan.spectra_per_dump = plan.n_spectra = 8 * 8192 + 9;
        } else if (k == 1) {
            plan.n_bands = 2;
            plan.band_offset_hz = offsets;
        } else {
            v.missing[v.n_missing++] =
                (struct fx8_gap){8100 * 4, (8192 + 150) * 4, -1};
        }
        const struct collected c = collect(&plan, &v, &whole);
        assert_true(c.n_dumps >= 1);
        check_parts(&plan, &v, &c, NULL, 1);
    }
}

static void refuse_part(struct held_session *h, int64_t dump, int64_t segment,
                        int64_t n_segments, const char *expected)
{
    assert_int_equal(
        fx8_seek_part(h->session, dump, segment, n_segments, NULL, &h->error),
        FX8_ERR_USAGE);
    if (strstr(h->error.message, expected) == NULL)
        fail_msg("%s", h->error.message);
}

TEST(wrong_parts)
{
    struct held_session h;
    double memory[4096];
    hold(&h, FX8_PRECISION_BOTH, 8192 + 30, 4 * (8192 + 60));
    assert_true(fx8_part_size(h.session) <= sizeof memory);
    refuse_part(&h, -1, 0, 1, "expected segments of a dump of the run");
    refuse_part(&h, 0, -1, 1, "expected segments of a dump of the run");
    refuse_part(&h, 0, 2, 1, "expected segments of a dump of the run");
    refuse_part(&h, 0, 0, 0, "expected segments of a dump of the run");
    refuse_part(&h, 0, 1, INT64_MAX, "expected segments of a dump of the run");
    refuse_part(&h, 0, 0, 2, "2 segments: expected 1, except of INT8 alone");
    assert_int_equal(fx8_take_part(h.session, memory, &h.error), FX8_ERR_USAGE);
    must(fx8_seek_part(h.session, 0, 1, 1, NULL, &h.error), h.error);
    must(fx8_seek_part(h.session, 0, 0, 1, NULL, &h.error), h.error);
    assert_int_equal(fx8_push(h.session, &h.all.block, &h.error),
                     FX8_DUMP_READY);
    assert_int_equal(fx8_push(h.session, &h.all.block, &h.error),
                     FX8_DUMP_READY);
    refuse_part(&h, 0, 1, 1, "part: dump 1 has begun");
    assert_int_equal(fx8_end_parts(h.session, 0, memory, &h.error),
                     FX8_ERR_USAGE);
    must(fx8_take_part(h.session, memory, &h.error), h.error);
    assert_int_equal(fx8_end_parts(h.session, 0, NULL, &h.error),
                     FX8_ERR_USAGE);
    assert_int_equal(fx8_end_parts(h.session, -1, memory, &h.error),
                     FX8_ERR_USAGE);
    fx8_close(&h.session);
    struct fx8_plan plan = small_plan(2, 1, true, 4, 8192 + 30);
    plan.quicklook = true;
    must(fx8_open(&plan, NULL, NULL, &h.session, &h.error), h.error);
    refuse_part(&h, 0, 0, 1, "expected a plan without quick-look");
    fx8_close(&h.session);
}

static void refuse(struct held_session *h, int64_t dump, int64_t n_dumps,
                   const char *expected)
{
    assert_int_equal(fx8_seek(h->session, dump, n_dumps, NULL, &h->error),
                     FX8_ERR_USAGE);
    if (strstr(h->error.message, expected) == NULL)
        fail_msg("%s", h->error.message);
}

/* A range is refused outside the run, and while gains are sought. */
TEST(wrong_ranges)
{
    struct held_session h;
    hold(&h, FX8_PRECISION_INT8, 30, 1500);
    int64_t first;
    refuse(&h, -1, 1, "expected dumps of the run");
    refuse(&h, 0, -1, "expected dumps of the run");
    refuse(&h, INT64_MAX / 2, 1, "expected dumps of the run");
    refuse(&h, 1, INT64_MAX, "expected dumps of the run");
    must(fx8_seek(h.session, 3, 2, &first, &h.error), h.error);
    assert_int_equal(first, 3 * 30 * 4);
    must(fx8_seek(h.session, 0, 0, &first, &h.error), h.error);
    assert_int_equal(first, 0);
    struct packed p = pack(&h.v, TIME_MAJOR, 0, 180);
    must(fx8_push(h.session, &p.block, &h.error), h.error);
    refuse(&h, 0, 1, "seek: dump 0 has begun");
    must(fx8_push(h.session, &h.all.block, &h.error), h.error);
    must(fx8_finish(h.session, NULL, &h.error), h.error);
    must(fx8_seek(h.session, 11, 1, NULL, &h.error), h.error);
    h.c.n_dumps = 11;
    must(fx8_push(h.session, &h.all.block, &h.error), h.error);
    assert_int_equal(h.c.n_dumps, 12);
    fx8_close(&h.session);
}
