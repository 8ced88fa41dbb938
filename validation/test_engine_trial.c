/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_engine_trial.c -- the trial of an engine against the CPU engine: a
 * correct engine passes with every plan, an engine with any fault is reported.
 * The engine under trial is a CPU engine too, with a planted fault.
 *
 * Shows (devices, trial of an engine): before it is trusted, an engine is
 *     compared with the CPU engine: a correct one passes ten plans in every
 *     precision; one that is wrong in one coefficient, gain, input, number,
 *     sum, count, clip, moment, result, flag or weight fails
 * Within: float spectra 2⁻²¹ · (8 + log₂ N) of the largest; quantised ones half
 *     a step more; sums of the same spectra equal, float sums 2 · 520·2⁻²⁴ of
 *     the magnitudes, bounds half as much again; moments as the spectra allow;
 *     results equal to the bit
 * Because: both engines round: once a product, twice a halving of the
 *     transform, four times that for prime lengths; `kernels/operations.h`
 */
#include "kernels/engine_trial.h"
#include "validation/engine_task.h"

/* The planted fault, and the message that must report it. */
struct fault {
    const char *message;
    size_t coefficient;  /* index + 1 of one changed by a tenth */
    float gain;          /* all gains times 1 + this */
    size_t input;        /* index + 1 of one that gets the samples of another */
    struct fx8_ci8 int8; /* added to a quantised number */
    float fp32;          /* added to a float one */
    int64_t sum8, count, clip;
    double sum32, down, up; /* relative to the sum of the magnitudes */
    double moment;          /* relative */
    float value, weight;
    uint8_t flag;
    bool is_late; /* the fault is in the last channel, input or number */
    enum fx8_status status;
};

static struct fault fault;
static struct fx8_engine_plan opened;
static size_t n_spectra, n_opened;

static size_t pick(size_t n)
{
    return fault.is_late ? n - 1 : n / 2;
}

static size_t sums_of_plan(void)
{
    return 2 * opened.bank.n_channels * fx8_pair_count(opened.n_inputs);
}

static enum fx8_status fake_open(const struct fx8_engine_plan *plan,
                                 struct fx8_engine **engine,
                                 struct fx8_error *error)
{
    struct fx8_engine_plan other = *plan;
    opened = *plan;
    n_opened++;
    assert_true(plan->deadline_s > 0.0 && plan->n_inputs <= 20);
    if (fault.coefficient > 0) {
        const size_t n = plan->bank.n_taps * fx8_filterbank_row(&plan->bank);
        float *changed = temporary(n * sizeof *changed);
        memcpy(changed, plan->coefficients, n * sizeof *changed);
        changed[fault.coefficient - 1] *= 1.1f;
        other.coefficients = changed;
    }
    return cpu->open(&other, engine, error);
}

static const struct fx8_engine_facts *fake_facts(
    const struct fx8_engine *engine)
{
    static struct fx8_engine_facts facts;
    facts = *fx8_engine_cpu.facts(engine);
    facts.device = "0 of a test";
    return &facts;
}

static enum fx8_status fake_set_gain(struct fx8_engine *engine, size_t input,
                                     const float *gain, struct fx8_error *error)
{
    float *changed = temporary(opened.bank.n_channels * sizeof *changed);
    for (size_t k = 0; k < opened.bank.n_channels; k++)
        changed[k] = gain[k] * (1.0f + fault.gain);
    return cpu->set_gain(engine, input, changed, error);
}

static enum fx8_status fake_push(struct fx8_engine *engine,
                                 const struct fx8_engine_block *block,
                                 struct fx8_error *error)
{
    if (fault.status != FX8_OK)
        return fx8_fail(error, fault.status, "%s", fault.message);
    struct fx8_engine_block other = *block;
    const size_t row = block->row_stride, n_bytes = opened.n_inputs * row;
    n_spectra = block->n_spectra;
    if (fault.input > 0) {
        int8_t *samples = temporary(n_bytes);
        memcpy(samples, block->samples, n_bytes);
        memcpy(samples + (fault.input - 1) * row,
               samples + fault.input % opened.n_inputs * row, row);
        other.samples = samples;
    }
    return cpu->push(engine, &other, error);
}

static enum fx8_status fake_export(struct fx8_engine *engine,
                                   struct fx8_ci8 *int8, struct fx8_cf32 *fp32,
                                   struct fx8_error *error)
{
    const enum fx8_status status =
        cpu->export_spectra(engine, int8, fp32, error);
    const size_t at =
        pick(opened.bank.n_channels * n_spectra * opened.n_inputs);
    assert_true((int8 != NULL) ==
                ((opened.precisions & FX8_PRECISION_INT8) != 0));
    if (int8 != NULL) {
        int8[at].re = (int8_t)(int8[at].re + fault.int8.re);
        int8[at].im = (int8_t)(int8[at].im + fault.int8.im);
    }
    if (fp32 != NULL)
        fp32[at].im += fault.fp32;
    return status;
}

static enum fx8_status fake_finish_dump(struct fx8_engine *engine,
                                        struct fx8_engine_dump *dump,
                                        struct fx8_error *error)
{
    const enum fx8_status status = cpu->finish_dump(engine, dump, error);
    const size_t at = pick(sums_of_plan());
    const double faults[FX8_N_RESULTS] = {[FX8_RESULT_FP32] = fault.sum32,
                                          [FX8_RESULT_DOWN] = fault.down,
                                          [FX8_RESULT_UP] = fault.up};
    if (dump->sums[FX8_RESULT_INT8] != NULL)
        ((int64_t *)dump->sums[FX8_RESULT_INT8])[at] += fault.sum8;
    for (size_t kind = FX8_RESULT_FP32; kind < FX8_N_RESULTS; kind++)
        if (dump->sums[kind] != NULL)
            ((double *)dump->sums[kind])[at] += faults[kind];
    dump->counts[pick(fx8_pair_count(opened.n_inputs))] += fault.count;
    dump->clips[pick(opened.n_inputs * opened.bank.n_channels)] += fault.clip;
    if (opened.has_moments)
        dump->moments[pick(2 * opened.n_inputs * opened.bank.n_channels)] *=
            1.0 + fault.moment;
    return status;
}

static struct fx8_postprocess ended;
static struct fx8_result ended_results[FX8_N_RESULTS];

static enum fx8_status fake_end_dump(struct fx8_engine *engine,
                                     const struct fx8_postprocess *plan,
                                     const struct fx8_result *results,
                                     struct fx8_error *error)
{
    (void)engine;
    (void)error;
    ended = *plan;
    memcpy(ended_results, results, sizeof ended_results);
    return FX8_OK;
}

static enum fx8_status fake_take_dump(struct fx8_engine *engine,
                                      struct fx8_engine_dump *dump,
                                      bool *is_taken, struct fx8_error *error)
{
    assert_null(is_taken);
    struct fx8_engine_dump all = *dump;
    void *sums[FX8_N_RESULTS] = {NULL};
    for (size_t kind = 0; kind < FX8_RESULT_DOWN; kind++) {
        assert_null(dump->sums[kind]);
        if (opened.precisions >> kind & 1)
            all.sums[kind] = sums[kind] =
                temporary(sums_of_plan() * sizeof(double));
    }
    const enum fx8_status status = cpu->finish_dump(engine, &all, error);
    fx8_postprocess_dump(&ended, sums, all.counts, ended_results);
    const size_t antennas = ended.n_antennas;
    const size_t at = pick(antennas * (antennas + 1) / 2 * ended.n_products *
                           ended.n_channels / ended.channel_average);
    for (size_t kind = 0; kind < FX8_RESULT_DOWN; kind++) {
        const struct fx8_result *result = &ended_results[kind];
        if (sums[kind] == NULL)
            continue;
        result->visibilities[2 * at + 1] += fault.value;
        result->nsamples[at] += fault.weight;
        result->flags[at] ^= fault.flag;
    }
    return status;
}

/* The trial for a plan; its status. */
static enum fx8_status try_plan(const struct fx8_engine_plan *plan,
                                struct fx8_error *error)
{
    struct fx8_engine_operations fake = fx8_engine_cpu;
    fake.name = "fake";
    fake.open = fake_open;
    fake.facts = fake_facts;
    fake.set_gain = fake_set_gain;
    fake.push = fake_push;
    fake.export_spectra = fake_export;
    fake.finish_dump = fake_finish_dump;
    fake.end_dump = fake_end_dump;
    fake.take_dump = fake_take_dump;
    n_opened = 0;
    return fx8_engine_trial(&fake, plan, error);
}

/* A plan of so many antennas, two polarisations, all products. */
static struct task plan_task(size_t n_antennas, bool is_complex,
                             size_t n_channels, size_t n_taps, bool is_none,
                             unsigned precisions)
{
    struct generator g = {61};
    struct task task = make_task(2 * n_antennas, is_complex, n_channels, n_taps,
                                 1, 0, is_none, &g);
    task.plan.spectra_per_dump = 5000;
    task.plan.precisions = precisions;
    task.plan.n_result_antennas = n_antennas;
    task.plan.n_result_products = 4;
    task.plan.channel_average = n_channels % 2 == 0 ? 2 : 1;
    return task;
}

TEST(engines_that_are_right)
{
    static const struct {
        size_t n_antennas;
        bool is_complex;
        size_t n_channels, n_taps;
        bool is_none, is_int16;
        unsigned precisions;
    } plans[] = {
        {1, true, 1, 1, true, false, 1},
        {40, true, 1, 1, true, false, 3},
        {40, true, 16, 4, false, false, 1},
        {3, false, 7, 3, false, false, 3},
        {9, false, 12, 8, false, true, 2},
        {2, true, 1, 5, false, false, 3},
        {2, true, 11, 64, false, false, 15},
        {2, false, 6, 2, false, false, 12},
        {8, true, 32768, 2, false, false, 1},
        {1, false, 65536, 1, false, false, 3},
    };
    fault = (struct fault){.message = NULL};
    for (size_t k = 0; k < LENGTH(plans); k++) {
        if (FX8_THREAD_CHECKER && plans[k].n_channels > 100)
            continue; /* the same threads for longer */
        struct task task = plan_task(plans[k].n_antennas, plans[k].is_complex,
                                     plans[k].n_channels, plans[k].n_taps,
                                     plans[k].is_none, plans[k].precisions);
        task.plan.channelizer.fir =
            plans[k].is_int16 ? FX8_FIR_DP2A : FX8_FIR_FP32;
        struct fx8_error error;
        must(try_plan(&task.plan, &error), error);
        assert_int_equal(n_opened, 1);
        task.plan.devices = (const int[]){2, 0, 1};
        task.plan.n_devices = 3;
        task.plan.n_result_antennas = 0;
        task.plan.has_moments = true;
        if (plans[k].n_channels < 100) {
            must(try_plan(&task.plan, &error), error);
            assert_int_equal(n_opened, 3);
        }
    }
}

/* Every fault, in every number in which it can occur. */
TEST(engines_that_are_wrong)
{
    static const struct {
        unsigned precisions;
        struct fault fault;
    } faults[] = {
        {1, {"quantised spectrum ", .coefficient = 1}},
        {1, {"quantised spectrum ", .coefficient = 64}},
        {2, {"spectrum ", .coefficient = 37}},
        {1, {"quantised spectrum ", .gain = 0.001f}},
        {1, {"quantised spectrum ", .input = 1}},
        {2, {" of input 17 ", .input = 18}},
        {1, {"quantised spectrum ", .int8 = {.re = 1}}},
        {1, {"quantised spectrum ", .int8 = {.im = -1}}},
        {2, {"spectrum ", .fp32 = 1.0f}},
        {12, {"spectrum ", .fp32 = -1.0f}},
        {1, {"int8, ", .sum8 = 1}},
        {3,
         {"int8, imaginary sum of inputs 17 and 17 in channel 7: ", .sum8 = -1,
          .is_late = true}},
        {2, {"floats, ", .sum32 = 1e4}},
        {3, {"floats, ", .sum32 = -1e4, .is_late = true}},
        {12, {"floats, ", .down = 1e4}},
        {12, {"floats, ", .up = -1e4, .is_late = true}},
        {15, {"valid products of inputs ", .count = 1}},
        {1,
         {"valid products of inputs 17 and 17: ", .count = -1,
          .is_late = true}},
        {1, {"clips of input ", .clip = 2}},
        {3, {"clips of input 17 in channel 7: ", .clip = -2, .is_late = true}},
        {1, {"moments of input ", .moment = 1e-3}},
        {3,
         {"moments of input 17 in channel 7: ", .moment = -1e-3,
          .is_late = true}},
        {1, {"int8, result ", .value = 1.0f}},
        {2, {"fp32, result ", .value = 1.0f, .is_late = true}},
        {3, {"int8, result ", .weight = 0.1f}},
        {2, {"fp32, result ", .flag = 1}},
        {3, {"a call that fails", .status = FX8_ERR_SYSTEM}},
    };
    for (size_t k = 0; k < LENGTH(faults); k++) {
        struct task task =
            plan_task(30, true, 8, 4, false, faults[k].precisions);
        struct fx8_error error;
        fault = faults[k].fault;
        task.plan.has_moments = fault.moment != 0.0;
        const enum fx8_status status = try_plan(&task.plan, &error);
        if (status == FX8_OK || strstr(error.message, fault.message) == NULL)
            fail_msg("fault %zu: %s", k,
                     status == FX8_OK ? "not noticed" : error.message);
        assert_int_equal(status, fault.status != FX8_OK ? fault.status
                                                        : FX8_ERR_DEVICE);
        if (status == FX8_ERR_DEVICE)
            assert_non_null(strstr(error.message, "fake: device 0 of a test"));
    }
}
