/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_watch.c -- the samples of a dump that engines show while they work,
 * against the spectra that they export and the sums that they deliver: the CPU
 * engine, and the CUDA engine on pretend devices or from the plug-in that
 * FX8_CUDA_PLUGIN names.
 *
 * Shows (devices, spot check): what engines show of a dump agrees with the
 *     spectra that they export (1 to 40 inputs, ragged and long dumps, masks,
 *     chunks, 1 and 3 devices, blocks under way); the choice of pairs reaches
 *     everything, and a sub-tile of a kernel soon; correct engines pass, with
 *     all methods, precisions, gaps and bands; wrong engines are stopped: each
 *     kind of sum by the smallest visible error, and nothing
 *     shown; earlier dumps are kept; through the program each launch of a run
 *     does nothing once, and no dump without sums is written
 * Within: integers by 1; FP32 by 560·2⁻²⁴ of the magnitudes, not 480; bounds on
 *     the wrong side, or by 1050·2⁻²⁴, not 1030; a sub-tile of 16 by 8 within
 *     260 pairs
 * Because: `kernels/operations.h`: 520 roundings, twice as large where they are
 *     directed; random pairs would reach the last of 32 places after 130
 * In: test_spot.c, test_spot_choice.c, scenario/spot_check.py
 */
#include "validation/cuda_task.h"

/* The samples shown: blocks in their order of arrival, each [input
 * watched][spectrum]. */
struct shown {
    size_t n_inputs, n_blocks;
    struct {
        size_t n_spectra;
        struct fx8_ci8 *int8;
        struct fx8_cf32 *fp32;
        bool is_found;
    } blocks[64];
};

static void take(void *context, size_t n_spectra,
                 const struct fx8_ci8 *const *int8,
                 const struct fx8_cf32 *const *fp32)
{
    struct shown *shown = context;
    const size_t n = shown->n_inputs;
    assert_true(shown->n_blocks < 64);
    const size_t at = shown->n_blocks++;
    shown->blocks[at].n_spectra = n_spectra;
    shown->blocks[at].int8 = NULL;
    shown->blocks[at].fp32 = NULL;
    shown->blocks[at].is_found = false;
    if (int8 != NULL)
        shown->blocks[at].int8 = exact(n * n_spectra * sizeof(**int8));
    if (fp32 != NULL)
        shown->blocks[at].fp32 = exact(n * n_spectra * sizeof(**fp32));
    for (size_t k = 0; k < n; k++) {
        if (int8 != NULL)
            memcpy(shown->blocks[at].int8 + k * n_spectra, int8[k],
                   n_spectra * sizeof(**int8));
        if (fp32 != NULL)
            memcpy(shown->blocks[at].fp32 + k * n_spectra, fp32[k],
                   n_spectra * sizeof(**fp32));
    }
}

static void clear_shown(struct shown *shown)
{
    for (size_t k = 0; k < shown->n_blocks; k++) {
        free(shown->blocks[k].int8);
        free(shown->blocks[k].fp32);
    }
    shown->n_blocks = 0;
}

/* --- a dump ---------------------------------------------------------- */

/* Some inputs, all different, and some channel. */
static struct fx8_engine_watch random_watch(const struct task *task,
                                            struct shown *shown,
                                            struct generator *g)
{
    const size_t inputs = task->plan.n_inputs;
    struct fx8_engine_watch watch = {
        .channel = random_below(g, task->plan.bank.n_channels),
        .take = take,
        .context = shown,
    };
    const size_t first = random_below(g, inputs);
    const size_t step = 1 + random_below(g, inputs);
    for (size_t k = 0; k < task->plan.n_watched_inputs; k++) {
        const size_t input = (first + k * step) % inputs;
        for (size_t i = 0; i < watch.n_inputs; i++)
            if (watch.inputs[i] == input)
                return watch;
        watch.inputs[watch.n_inputs++] = input;
    }
    return watch;
}

static bool is_empty(const struct task *task, size_t first, size_t n)
{
    for (size_t input = 0; input < task->plan.n_inputs; input++)
        for (size_t t = first; t < first + n; t++)
            if (task_valid(task, input, t))
                return false;
    return true;
}

/* Whether block k of those shown is this one. */
static bool is_block(const struct task *task,
                     const struct fx8_engine_watch *watch,
                     const struct shown *shown, size_t k,
                     const struct outcome *exported, size_t first, size_t n)
{
    const size_t inputs = task->plan.n_inputs;
    if (shown->blocks[k].n_spectra != n)
        return false;
    for (size_t row = 0; row < watch->n_inputs; row++)
        for (size_t t = 0; t < n; t++) {
            const size_t from =
                (watch->channel * task->n_spectra + first + t) * inputs +
                watch->inputs[row];
            const size_t at = row * n + t;
            if (exported->x8 != NULL &&
                memcmp(&shown->blocks[k].int8[at], &exported->x8[from],
                       sizeof *exported->x8) != 0)
                return false;
            if (exported->x32 != NULL &&
                memcmp(&shown->blocks[k].fp32[at], &exported->x32[from],
                       sizeof *exported->x32) != 0)
                return false;
        }
    return true;
}

/* Every block that has a valid spectrum is shown, once. */
static void check_shown(const struct task *task, size_t block,
                        const struct fx8_engine_watch *watch,
                        struct shown *shown, const struct outcome *exported)
{
    size_t n_wanted = 0;
    for (size_t first = 0; first < task->n_spectra; first += block) {
        const size_t rest = task->n_spectra - first;
        const size_t n = rest < block ? rest : block;
        size_t k = 0;
        if (is_empty(task, first, n))
            continue;
        n_wanted++;
        while (k < shown->n_blocks &&
               (shown->blocks[k].is_found ||
                !is_block(task, watch, shown, k, exported, first, n)))
            k++;
        if (k == shown->n_blocks)
            fail_msg("spectra from %zu on: none shown is this block", first);
        shown->blocks[k].is_found = true;
    }
    assert_int_equal(shown->n_blocks, n_wanted);
}

/* Five dumps of the same samples: spectra exported beside it; nothing watched;
 * other inputs and channels, while blocks are under way. */
static void check_task(const struct task *given, size_t n_watched,
                       struct generator *g)
{
    struct task task = *given;
    task.plan.n_watched_inputs = n_watched;
    const bool int8 = (task.plan.precisions & FX8_PRECISION_INT8) != 0;
    const bool floats = task.plan.precisions >> FX8_RESULT_FP32 != 0;
    const size_t n_bytes = n_sums(&task) * sizeof(double);
    struct outcome o = {
        .x8 = int8 ? temporary(n_cells(&task) * sizeof *o.x8) : NULL,
        .x32 = floats ? temporary(n_cells(&task) * sizeof *o.x32) : NULL,
        .sums8 = temporary(n_bytes),
        .sums32 = temporary(n_bytes),
        .down = temporary(n_bytes),
        .up = temporary(n_bytes),
        .counts =
            temporary(fx8_pair_count(task.plan.n_inputs) * sizeof *o.counts),
        .clips = temporary(n_cells(&task) * sizeof *o.clips),
    };
    void *const sums[FX8_N_RESULTS] = {o.sums8, o.sums32, o.down, o.up};
    struct fx8_engine_dump dump = {.counts = o.counts, .clips = o.clips};
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
        dump.sums[kind] = fx8_is_planned(&task.plan, kind) ? sums[kind] : NULL;
    struct outcome none = {0};
    struct fx8_engine *engine;
    struct fx8_error error;
    must(task.engine->open(&task.plan, &engine, &error), error);
    const size_t block = task.engine->block_spectra(engine);
    for (size_t number = 0; number < 5; number++) {
        struct shown shown = {0};
        struct fx8_engine_watch watch = random_watch(&task, &shown, g);
        shown.n_inputs = watch.n_inputs;
        if (number != 1)
            must(task.engine->watch(engine, &watch, &error), error);
        for (size_t first = 0; first < task.n_spectra; first += block) {
            const size_t rest = task.n_spectra - first;
            run_block(&task, engine, first, rest < block ? rest : block, NULL,
                      number == 0 ? &o : &none);
        }
        must(task.engine->finish_dump(engine, &dump, &error), error);
        if (number == 1)
            assert_int_equal(shown.n_blocks, 0);
        else
            check_shown(&task, block, &watch, &shown, &o);
        clear_shown(&shown);
    }
    struct fx8_engine_watch many = {.n_inputs = n_watched + 1};
    must_fail(task.engine->watch(engine, &many, &error), error, FX8_ERR_USAGE,
              "engine: more inputs to watch than were planned");
    task.engine->close(&engine);
}

/* Inputs from one to more than are watched, real and complex samples, masks. */
static void check_engine(bool on_device, size_t n_devices, uint64_t seed)
{
    static const size_t inputs[] = {1, 3, 7, 17, 40};
    struct generator g = {seed};
    for (size_t k = 0; k < 5; k++) {
        struct task task =
            make_task(inputs[k], k % 2 == 0, 1 + k, 2,
                      1 + random_below(&g, 200), k % 4, false, &g);
        task.plan.precisions = k % 3 == 0
                                   ? FX8_PRECISION_INT8 | FX8_PRECISION_FP32
                               : k == 1 ? FX8_PRECISION_INTERVAL
                               : k == 2 ? FX8_PRECISION_INT8
                                        : FX8_PRECISION_FP32;
        const struct task other = on_device ? on_cuda(&task,
                                                      k == 1   ? "auto"
                                                      : k == 4 ? "fp32-16"
                                                               : "dp4a-16",
                                                      n_devices)
                                            : task;
        const size_t most =
            inputs[k] < FX8_WATCHED_INPUTS ? inputs[k] : FX8_WATCHED_INPUTS;
        check_task(&other, 1 + random_below(&g, most), &g);
    }
}

TEST(the_cpu_shows_its_spectra)
{
    check_engine(false, 1, 301);
}

TEST(a_device_shows_its_spectra)
{
    check_engine(true, 1, 302);
    setenv("FX8_CUDA_CHUNK_KIB", "1", 1);
    check_engine(true, 1, 303);
    unsetenv("FX8_CUDA_CHUNK_KIB");
}

/* Blocks of a dump, the second without a valid spectrum and the last ragged;
 * slots are reused, and one device has fewer blocks. */
TEST(blocks_of_a_long_dump)
{
    struct generator g = {304};
    for (size_t k = 0; k < 4; k += FX8_CHECKED ? 2 : 1) {
        struct task task =
            make_task(3, true, 1, 1, 6 * 8192 + 37, 1, k < 3, &g);
        for (size_t t = 8192; t < 2 * 8192; t++)
            for (size_t i = 0; i < 3; i++)
                fx8_bit_clear(task.valid + i * fx8_bit_words(task.n_spectra),
                              t);
        const struct task other =
            k == 0 ? task : on_cuda(&task, "dp4a-16", k == 2 ? 3 : 1);
        check_task(&other, 2, &g);
    }
}

/* Queued work is done early or late, in the same order in every run. */
static int find_cuda_with_queues(void **state)
{
    setenv("FX8_HARNESS_STREAMS", "20", 0);
    return find_cuda(state);
}

FIXTURE(find_cuda_with_queues, NULL)
