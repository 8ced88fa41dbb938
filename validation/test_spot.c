/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_spot.c -- the spot check of a session: with correct engines, on the CPU
 * and on pretend devices (or those of the plug-in that FX8_CUDA_PLUGIN names),
 * and with engines whose sums are corrupted on their way to the session.
 *
 * Shows (devices, spot check): the spectra that engines show of a dump add up
 *     to its sums (masks, chunks, long dumps, 1 and 3 devices); the choice of
 *     pairs reaches everything, and a sub-tile of a kernel soon; correct
 *     engines pass, with all methods, precisions, gaps and bands; wrong engines
 *     are stopped: each kind of sum by the smallest visible error, nothing
 *     shown; earlier dumps are kept; through the program each launch of a run
 *     does nothing once, and no dump without sums is written
 * Within: integers by 1; FP32 by 560·2⁻²⁴ of the magnitudes, not 480; bounds on
 *     the wrong side, or by 1050·2⁻²⁴, not 1030; a sub-tile of 16 by 8 within
 *     260 pairs
 * Because: `kernels/operations.h`: 520 roundings, twice as large where they are
 *     directed; random pairs would reach the last of 32 places after 130
 * In: test_spot_choice.c, scenario/spot_check.py
 */
#include "correlator/library/session_private.h"
#include "kernels/engine_trial.h"
#include "validation/cuda_plugin.h"
#include "validation/session_run.h"

static const struct delivery whole = {0};

/* --- correct engines ------------------------------------------------- */

/* With and without the check: equal results, and some time spent on it. */
static void check_right(struct fx8_plan plan, const struct voltages *v,
                        const struct delivery *delivery)
{
    plan.machine.spot_check = FX8_SPOT_YES;
    struct collected with = collect(&plan, v, delivery);
    plan.machine.spot_check = FX8_SPOT_NO;
    struct collected without = collect(&plan, v, delivery);
    check_same(&with, &without);
    assert_true(with.statistics.spot_s > 0.0 && with.n_dumps > 1);
    assert_true(without.statistics.spot_s == 0.0);
}

static const enum fx8_precision precisions[] = {
    FX8_PRECISION_INT8, FX8_PRECISION_FP32, FX8_PRECISION_BOTH,
    FX8_PRECISION_INTERVAL,
    (enum fx8_precision)(FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL)};

/* One kernel, if there is one for the plan: pretend devices take long to try
 * all. */
static const char *kernel_of(const struct fx8_plan *plan)
{
    if (plan->machine.backend != FX8_BACKEND_CUDA)
        return "auto";
    return (plan->precision & FX8_PRECISION_INT8) != 0   ? "dp4a-16"
           : (plan->precision & FX8_PRECISION_FP32) != 0 ? "fp32-16"
                                                         : "auto";
}

static void check_right_engines(enum fx8_backend backend, const char *device,
                                size_t step)
{
    const size_t n_samples = 2200;
    for (size_t k = 0; k < 4 * LENGTH(precisions); k += step) {
        const enum fx8_method method =
            (enum fx8_method)(k / LENGTH(precisions) % 3); /* PFB twice */
        const bool is_none = method == FX8_METHOD_NONE;
        const bool is_complex = is_none || k % 2 == 0;
        struct fx8_plan plan =
            small_plan(3, 2, is_complex, is_none ? 1 : 6, is_none ? 300 : 61);
        plan.channelizer.method = method;
        plan.precision = precisions[k % LENGTH(precisions)];
        plan.machine.backend = backend;
        plan.machine.device = device;
        plan.machine.kernel = kernel_of(&plan);
        struct voltages v = make_voltages(6, is_complex ? 2 : 1,
                                          (int64_t)n_samples, 25, 31 + k);
        v.missing[0] = (struct fx8_gap){100, 37, 2};
        v.missing[1] = (struct fx8_gap){900, 400, -1};
        v.n_missing = k % 3;
        /* a gap of whole dumps and parts of them */
        const struct delivery gap = {
            .block_samples = 350, .gap_first = 1000, .gap_end = 1777};
        check_right(plan, &v, k % 2 == 0 ? &whole : &gap);
    }
}

TEST(the_cpu_is_right)
{
    check_right_engines(FX8_BACKEND_CPU, "auto", 1);
}

TEST(devices_are_right)
{
    check_right_engines(FX8_BACKEND_CUDA, "0", FX8_CHECKED ? 9 : 3);
    setenv("FX8_CUDA_CHUNK_KIB", "1", 1);
    if (n_there >= 3)
        check_right_engines(FX8_BACKEND_CUDA, "0,1,2", FX8_CHECKED ? 13 : 7);
    unsetenv("FX8_CUDA_CHUNK_KIB");
}

/* Many blocks, so that slots are reused and one device has fewer; bands, each
 * with an engine, in turn; enough inputs and channels for several pairs per
 * dump. */
TEST(long_dumps_bands_and_pairs)
{
    static const double offsets[] = {-2e6, 0, 2e6};
    for (size_t k = 0; k < 8; k += FX8_CHECKED ? 2 : 1) {
        struct fx8_plan plan = k % 3 == 0   ? small_plan(4, 1, true, 1, 32805)
                               : k % 3 == 1 ? small_plan(2, 2, true, 8, 20)
                                            : small_plan(19, 2, true, 512, 6);
        plan.channelizer.n_taps = 2;
        if (k % 3 == 0)
            plan.channelizer.method = FX8_METHOD_NONE;
        plan.n_bands = k % 3 == 1 ? 3 : 1;
        plan.band_offset_hz = offsets;
        if (FX8_CHECKED) /* otherwise float kernels are timed */
            plan.precision = FX8_PRECISION_INT8;
        plan.machine.backend = k < 3 ? FX8_BACKEND_CPU : FX8_BACKEND_CUDA;
        plan.machine.device = k < 6 || n_there < 3 ? "0" : "0,1,2";
        plan.machine.kernel = kernel_of(&plan);
        const struct fx8_axes axes = fx8_plan_axes(&plan);
        assert_int_equal(fx8_spot_pairs(&axes), k % 3 == 2 ? 4 : 1);
        const struct voltages v = make_voltages(plan.n_bands * axes.n_inputs, 2,
                                                k % 3 == 0   ? 70000
                                                : k % 3 == 1 ? 1200
                                                             : 512 * 14,
                                                25, 51 + k);
        check_right(plan, &v, &whole);
    }
}

TEST(too_many_inputs_are_not_watched)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 20);
    struct fx8_engine_watch many = {.n_inputs = FX8_WATCHED_INPUTS + 1};
    struct fx8_session *session;
    struct fx8_error error;
    plan.precision = FX8_PRECISION_INT8;
    for (int k = 0; k < 2; k++) {
        plan.machine.backend = k == 0 ? FX8_BACKEND_CPU : FX8_BACKEND_CUDA;
        plan.machine.kernel = kernel_of(&plan);
        must(fx8_open(&plan, collect_dump, NULL, &session, &error), error);
        must_fail(
            session->operations->watch(session->engines[0], &many, &error),
            error, FX8_ERR_USAGE,
            "engine: more inputs to watch than were planned");
        fx8_close(&session);
    }
}

/* --- wrong engines --------------------------------------------------- */

/* How a sum of a dump is changed: those of the CPU as they are handed over,
 * those of a device as they are shown. */
static struct {
    struct fx8_session *session;
    const struct fx8_engine_operations *real;
    size_t kind;  /* FX8_RESULT_ of the sum; FX8_N_RESULTS: shows nothing */
    int64_t dump; /* from this one on */
    size_t part;  /* of the first pair watched */
    double by;    /* added to an integer, or in units of 2^-24 of the magnitude
                     to a float; a bound becomes the sum and so much */
} fault;

static void spoil(const struct fx8_engine *engine,
                  const struct fx8_engine_dump *dump)
{
    /* in the dump that is handed over */
    struct fx8_spot *spot =
        &fault.session->spots[(fault.session->dump - 1) % 2];
    if (!spot->is_watching || spot->dump < fault.dump ||
        engine != fault.session->engines[spot->band] ||
        fault.kind == FX8_N_RESULTS)
        return;
    const size_t n = fx8_pair_count(spot->n_inputs), part = fault.part;
    const size_t at =
        2 * (spot->watch.channel * n + spot->watch.pairs[0]) + part;
    const double moved =
        fault.by * 0x1p-24 * spot->pairs[0].sum.magnitude[part];
    int64_t *int8 = dump->sums[FX8_RESULT_INT8];
    double *fp32 = dump->sums[FX8_RESULT_FP32];
    if (fault.kind == FX8_RESULT_INT8)
        *(int8 == NULL ? &spot->sums_int8[part] : &int8[at]) +=
            (int64_t)fault.by;
    else if (fault.kind == FX8_RESULT_FP32)
        *(fp32 == NULL ? &spot->sums_fp32[part] : &fp32[at]) += moved;
    else
        ((double *)dump->sums[fault.kind])[at] =
            spot->pairs[0].sum.fp32[part] + moved;
}

static enum fx8_status finish_wrongly(struct fx8_engine *engine,
                                      struct fx8_engine_dump *dump,
                                      struct fx8_error *error)
{
    const enum fx8_status status = fault.real->finish_dump(engine, dump, error);
    spoil(engine, dump);
    return status;
}

static enum fx8_status take_wrongly(struct fx8_engine *engine,
                                    struct fx8_engine_dump *dump,
                                    bool *is_taken, struct fx8_error *error)
{
    const enum fx8_status status =
        fault.real->take_dump(engine, dump, is_taken, error);
    if (is_taken == NULL || *is_taken)
        spoil(engine, dump);
    return status;
}

static enum fx8_status watch_nothing(struct fx8_engine *engine,
                                     const struct fx8_engine_watch *watch,
                                     struct fx8_error *error)
{
    (void)engine;
    (void)watch;
    (void)error;
    return FX8_OK;
}

/* A session of an engine with a fault, or of one that shows nothing. */
static enum fx8_status run_wrong(const struct fx8_plan *plan,
                                 const struct voltages *v, struct collected *c,
                                 struct fx8_error *error)
{
    *c = (struct collected){.n_inputs = v->n_inputs};
    must(fx8_open(plan, collect_dump, c, &fault.session, error), *error);
    fault.real = fault.session->operations;
    struct fx8_engine_operations wrong = *fault.real;
    wrong.finish_dump = finish_wrongly;
    wrong.take_dump = take_wrongly;
    if (fault.kind == FX8_N_RESULTS)
        wrong.watch = watch_nothing;
    fault.session->operations = &wrong;
    const enum fx8_status status = push_all(fault.session, v, &whole, c, error);
    if (status != FX8_OK) {
        struct fx8_error after;
        assert_int_equal(fx8_finish(fault.session, NULL, &after), status);
    }
    fault.session->operations = fault.real;
    fx8_close(&fault.session);
    return status;
}

/* Dump `fault.dump` must be refused with these words, the ones before
 * delivered. */
static void check_found(const struct fx8_plan *plan, const struct voltages *v,
                        const char *words)
{
    struct collected c;
    struct fx8_error error;
    char text[512];
    const struct fx8_axes axes = fx8_plan_axes(plan);
    struct fx8_spot spot = {.n_pairs = fx8_spot_pairs(&axes),
                            .n_inputs = axes.n_inputs,
                            .n_polarizations = 2,
                            .n_channels = axes.n_kept,
                            .n_bands = 1};
    fx8_spot_choose(&spot, fault.dump);
    const struct fx8_spot_pair *pair = &spot.pairs[0];
    snprintf(
        text, sizeof text,
        "spot check: dump %d, channel %zu, antennas %zu %c and %zu %c (all "
        "counted from 0), %s, %s part: ",
        (int)fault.dump, spot.watch.channel, pair->i / 2, "XY"[pair->i % 2],
        pair -> j / 2, "XY"[pair->j % 2], words,
        fault.part == 0 ? "real" : "imaginary");
    must_fail_with(run_wrong(plan, v, &c, &error), error, FX8_ERR_SYSTEM, text);
    assert_int_equal(c.n_dumps, fault.dump);
}

static void check_wrong_engines(enum fx8_backend backend, size_t step)
{
    static const struct {
        size_t kind;
        double by;
        const char *words; /* NULL: the fault is not found */
    } faults[] = {
        {FX8_RESULT_INT8, 1, "INT8"},
        {FX8_RESULT_FP32, 560, "FP32"},
        {FX8_RESULT_FP32, -560, "FP32"},
        {FX8_RESULT_FP32, 480, NULL},
        {FX8_RESULT_FP32, NAN, "FP32"},
        {FX8_RESULT_DOWN, 0.01, "lower bound"},
        {FX8_RESULT_DOWN, -1050, "lower bound"},
        {FX8_RESULT_DOWN, -1030, NULL},
        {FX8_RESULT_UP, -0.01, "upper bound"},
        {FX8_RESULT_UP, 1050, "upper bound"},
        {FX8_RESULT_UP, 1030, NULL},
    };
    struct collected c;
    struct fx8_error error;
    struct fx8_plan plan = small_plan(3, 2, true, 4, 20);
    plan.channelizer.method = FX8_METHOD_FFT;
    plan.machine.backend = backend;
    plan.machine.device = "0";
    plan.precision =
        (enum fx8_precision)(FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL);
    plan.machine.kernel = kernel_of(&plan);
    plan.machine.spot_check = FX8_SPOT_YES;
    const struct voltages v = make_voltages(6, 2, 400, 25, 61);
    for (size_t k = 0; k < LENGTH(faults); k += step)
        for (fault.dump = 2; fault.dump < 5; fault.dump += 2) {
            fault.part = k % 2;
            fault.kind = faults[k].kind;
            fault.by = faults[k].by;
            if (faults[k].words != NULL) {
                check_found(&plan, &v, faults[k].words);
                continue;
            }
            must(run_wrong(&plan, &v, &c, &error), error);
            assert_int_equal(c.n_dumps, 400 / 4 / 20);
        }
    fault.kind = FX8_N_RESULTS;
    must_fail(run_wrong(&plan, &v, &c, &error), error, FX8_ERR_SYSTEM,
              "spot check: dump 0: the engine showed 0 of at least 20 spectra");
    assert_int_equal(c.n_dumps, 0);
}

TEST(wrong_sums_of_the_cpu)
{
    check_wrong_engines(FX8_BACKEND_CPU, 1);
}

TEST(wrong_sums_of_a_device)
{
    check_wrong_engines(FX8_BACKEND_CUDA, FX8_CHECKED ? 5 : 1);
}

/* Every session would try its engine first, as test_engine_trial.c does: the
 * check finds what is wrong without that. */
static int find_untried(void **state)
{
    setenv(FX8_ENGINE_TRIAL_VARIABLE, "0", 1);
    return find_cuda(state);
}

FIXTURE(find_untried, NULL)
