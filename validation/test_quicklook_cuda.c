/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_quicklook_cuda.c -- the quick-look evaluated by the CUDA engine against
 * that of the host, whose definitions test_quicklook.c tests.
 *
 * On pretend devices the functions are the host's, and everything is equal to
 * the bit. On a card these are still equal to the bit: rho, counts that precede
 * any function, and which cells are averaged. Amplitudes and phases are within
 * the bounds of their functions, which is less than a step of a half.
 *
 * Shows (devices, quick-look): cells are evaluated on 1 and 3 devices through
 *     the engine's table: both modes, checked dumps, one product and four,
 *     ragged channels, bands, slabs of baselines, inputs that are missing,
 *     infinite, without power or loud; through the program, with results that
 *     the device still holds, compared with the CPU and with numpy, and with
 *     every call made to fail
 * Within: equal to the host's to the bit; on a card rho still is, amplitudes
 *     and phases are within a step of a half, and the modes differ by no more
 *     than the bound
 * Because: pretend devices have the host's functions; a card has its own
 * In: scenario/device.py, scenario/quicklook.py, scenario/bad_device.py
 */
#include "validation/cuda_plugin.h"
#include "validation/quicklook_task.h"

/* --- on a device ------------------------------------------------- */

static struct fx8_engine_plan plan_engine(const struct task *task,
                                          size_t n_devices)
{
    struct fx8_engine_plan plan =
        recorded_plan(kernel_in_place_of("auto"), n_devices);
    plan.n_inputs = task->plan.n_inputs;
    plan.host_operations = fx8_operations_variant(0);
    plan.n_result_antennas =
        task->plan.n_inputs / (task->plan.n_products == 4 ? 2 : 1);
    plan.n_result_products = task->plan.n_products;
    plan.channel_average = 1;
    plan.consumed_channels = task->plan.n_channels;
    return plan;
}

static struct fx8_engine *open_engine(const struct task *task, size_t n_devices)
{
    const struct fx8_engine_plan plan = plan_engine(task, n_devices);
    struct fx8_engine *engine;
    struct fx8_error error;
    must(cuda->open(&plan, &engine, &error), error);
    return engine;
}

static void process_on(struct task *task, struct fx8_quicklook *quicklook,
                       struct fx8_engine *engine)
{
    const struct fx8_result in = {task->visibilities, task->flags,
                                  task->nsamples};
    struct fx8_error error;
    must(fx8_quicklook_process_on(quicklook, cuda->consume, engine, &in,
                                  task->gain, &task->out, &error),
         error);
}

/* The same visibilities, results of its own. */
static struct task twin_of(const struct task *task)
{
    struct task twin = *task;
    make_outputs(&twin);
    return twin;
}

/* --- comparisons ------------------------------------------------- */

/* Halves in ascending order, so that neighbours differ by one. */
static int order_of(uint16_t half)
{
    return (half & 0x8000) != 0 ? 0x8000 - half : half;
}

static void check_halves(const uint16_t *wanted, const uint16_t *got, size_t n)
{
    if (!is_card)
        check_bytes(wanted, got, n * sizeof *got);
    for (size_t k = 0; k < n; k++)
        assert_true(abs(order_of(wanted[k]) - order_of(got[k])) <= 1);
}

static void check_dump(const struct task *host, const struct task *device)
{
    check_bytes(host->out.coherence, device->out.coherence,
                2 * host->n_cells * sizeof(uint16_t));
    check_bytes(host->out.spectra_db, device->out.spectra_db,
                host->n_levels * sizeof(float));
    check_halves(host->out.amplitude, device->out.amplitude, host->n_cells);
    check_halves(host->out.phase, device->out.phase, host->n_cells);
}

static void check_averages(const struct task *host, const struct task *device)
{
    for (size_t i = 0; i < host->n_averages; i++) {
        const struct fx8_quicklook_average *a = &host->averages[i];
        const struct fx8_quicklook_average *b = &device->averages[i];
        assert_int_equal(a->n_cells, b->n_cells);
        check_bytes(&a->n_products, &b->n_products, sizeof a->n_products);
        if (is_card)
            continue;
        assert_int_equal(a->state, b->state);
        check_bytes(&a->coherence, &b->coherence, sizeof a->coherence);
        check_bytes(&a->lower, &b->lower, sizeof a->lower);
        check_bytes(&a->upper, &b->upper, sizeof a->upper);
    }
}

static void check_report(const struct task *host, const struct task *device)
{
    const struct fx8_quicklook_differences *d = &device->differences;
    check_bytes(&host->counts, &device->counts, sizeof host->counts);
    assert_int_equal(d->coherence.n_beyond + d->amplitude.n_beyond +
                         d->phase.n_beyond + d->fisher.n_beyond,
                     0);
    if (!is_card)
        check_bytes(&host->differences, d, sizeof *d);
}

/* Dumps of new visibilities, each with a quick-look on both. */
static void check_task(struct task *host, size_t n_dumps, size_t n_devices,
                       void (*change)(struct task *), struct generator *g)
{
    host->plan.is_on_device = true; /* the bounds of a device, for both */
    struct task device = twin_of(host);
    struct fx8_quicklook *on_host = open_task(host);
    struct fx8_quicklook *on_device = open_task(&device);
    struct fx8_engine *engine = open_engine(&device, n_devices);
    for (size_t dump = 0; dump < n_dumps; dump++) {
        fill(host, g);
        if (change != NULL)
            change(host);
        memset(device.out.coherence, 0x55, 4 * host->n_cells);
        memset(device.out.amplitude, 0x55, 2 * host->n_cells);
        memset(device.out.phase, 0x55, 2 * host->n_cells);
        process(host, on_host);
        process_on(&device, on_device, engine);
        check_dump(host, &device);
    }
    close_task(host, on_host);
    close_task(&device, on_device);
    check_averages(host, &device);
    check_report(host, &device);
    cuda->close(&engine);
}

/* --- cases ------------------------------------------------------- */

static const enum fx8_functions_mode modes[] = {FX8_FUNCTIONS_IEEE,
                                                FX8_FUNCTIONS_FAST};

/* Tiles full and partly used, one product and four. */
TEST(any_shape_equals_the_host)
{
    static const size_t shapes[][3] = {{1, 1, 1},   {2, 1, 5},   {3, 2, 33},
                                       {3, 1, 128}, {4, 2, 64},  {5, 1, 129},
                                       {2, 2, 95},  {3, 1, 257}, {17, 1, 3}};
    struct generator g = {211};
    for (size_t k = 0; k < LENGTH(shapes); k++)
        for (size_t mode = 0; mode < 2; mode++) {
            if (FX8_THREAD_CHECKER && mode != k % 2)
                continue;
            const size_t *s = shapes[k];
            struct task task = make_task(s[0], s[1], s[2], modes[mode]);
            check_task(&task, 2, 1, NULL, &g);
        }
}

/* Both modes in the first dump and in the seventeenth, every second baseline
 * of 153; slabs of 3 baselines; three devices. */
TEST(slabs_devices_and_checked_dumps)
{
    struct generator g = {212};
    struct task task = make_task(17, 1, 14, FX8_FUNCTIONS_FAST);
    setenv("FX8_CUDA_CHUNK_KIB", "1", 1);
    check_task(&task, 17, n_there, NULL, &g);
    unsetenv("FX8_CUDA_CHUNK_KIB");
    assert_int_equal(task.differences.n_dumps, 2);
}

/* Products and inputs that are missing, infinite, without power, beyond 1 or
 * beyond the range of a half; few products. */
static void spoil(struct task *task)
{
    static const float odd[] = {0.0f, -3.0f, NAN, INFINITY, 1e-39f};
    const size_t n = task->n_cells;
    for (size_t k = 0; k < LENGTH(odd); k++) {
        const size_t a = auto_of(task, k % task->plan.n_inputs);
        task->visibilities[2 * cell_at(task, a, k)] = odd[k];
    }
    for (size_t k = 7; k < n; k += 31)
        task->visibilities[2 * k] *= 1e4f;
    for (size_t k = 3; k < n; k += 29)
        task->nsamples[k] = 0.0f;
    for (size_t k = 5; k < n; k += 37)
        task->nsamples[k] = 0.01f;
    for (size_t k = 11; k < n; k += 97)
        task->visibilities[2 * k + 1] = k % 2 == 0 ? NAN : -INFINITY;
    for (size_t k = 13; k < n; k += 83)
        task->visibilities[2 * k] = task->visibilities[2 * k + 1] = 0.0f;
}

/* Three bands of real samples; some gains make an input loud. */
TEST(what_is_out_of_the_ordinary)
{
    struct generator g = {213};
    for (size_t mode = 0; mode < 2; mode++) {
        struct task task = make_task(4, 2, 36, modes[mode]);
        task.plan.band_channels = 12;
        task.plan.real_channel = 3;
        task.plan.channel_average = 2;
        float *gain = temporary(2 * task.n_levels * sizeof *gain);
        for (size_t k = 0; k < 2 * task.n_levels; k++)
            gain[k] = (float)random_in(&g, 1, 300) / 3000.0f;
        task.gain = gain;
        check_task(&task, 3, 1, spoil, &g);
        const struct fx8_quicklook_counts *n = &task.counts;
        assert_true(n->no_product > 0 && n->not_finite > 0 && n->no_power > 0);
        assert_true(n->above_one > 0 && n->beyond_half > 0);
        assert_true(n->fisher_few > 0 && n->fisher_real > 0);
        assert_true(n->fisher_loud > 0);
    }
}

/* A quick-look of another shape than the engine was opened for, or none; of an
 * engine that is not the first. */
TEST(looks_that_were_not_planned)
{
    struct generator g = {214};
    struct task task = make_task(2, 1, 6, FX8_FUNCTIONS_FAST);
    fill(&task, &g);
    const struct fx8_result in = {task.visibilities, task.flags, task.nsamples};
    for (int k = 0; k < 3; k++) {
        struct fx8_engine_plan plan = plan_engine(&task, 1);
        struct fx8_quicklook *quicklook = open_task(&task);
        struct fx8_engine *engine;
        struct fx8_error error;
        plan.consumed_channels = k == 0 ? 0 : k == 1 ? 5 : 6;
        plan.n_engines = 2;
        plan.n_opened = k == 2;
        must(cuda->open(&plan, &engine, &error), error);
        must_fail(fx8_quicklook_process_on(quicklook, cuda->consume, engine,
                                           &in, NULL, &task.out, &error),
                  error, FX8_ERR_USAGE,
                  "engine: a quick-look of a shape that was not planned");
        cuda->close(&engine);
        fx8_quicklook_close(&quicklook);
    }
}

FIXTURE(find_cuda, NULL)
