/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_engine_cuda.c -- the CUDA engine, called through the table of engines,
 * against the CPU engine. It runs the plug-in on pretend devices
 * (validation/cuda), or the plug-in that FX8_CUDA_PLUGIN names.
 *
 * Shows (devices, engine on devices): the CUDA engine, through the table of
 *     engines and on 1 and 3 pretend devices, agrees with the CPU engine: from
 *     the same spectra (1 to 17 inputs, ragged and long dumps, masks, four
 *     kernels) and from samples (real, complex, no filter, integer filter,
 *     rotated); with batches of any size; for moments, also of segments; for
 *     bounds and their kernels, on several devices too; tiles that nobody needs
 *     are not computed
 * Within: integers and counts equal; FP32 sums within the bound of
 *     `test_kernels_x.c`; spectra twice the bound of `test_engine.c`;
 *     INT8 one step in 10⁴ values; other batch sizes to the bit, except spectra
 *     of a card's FFT, which keep their bound; bounds as in `test_kernels_x.c`;
 *     moments as in `test_engine.c`, of segments to the bit
 * Because: the two engines sum in different orders; a value near a tie rounds
 *     either way; cuFFT may round differently at another place in another batch
 */
#include "kernels/engine_trial.h"
#include "validation/cuda_task.h"

/* Bound of a float spectrum, from test_engine.c. */
#define SPECTRUM_ERROR (16 * 0x1p-24)

/* Import the CPU's spectra of the task, and correlate them on CUDA. */
static void check_import(const struct task *task, const char *kernel,
                         size_t n_devices)
{
    const struct outcome wanted = run_task(task, NULL);
    const struct task other = on_cuda(task, kernel, n_devices);
    const struct outcome got = run_task(&other, &wanted);
    check_bytes(wanted.x8, got.x8, n_cells(task) * sizeof *wanted.x8);
    check_bytes(wanted.x32, got.x32, n_cells(task) * sizeof *wanted.x32);
    check_sums(task, &got);
}

TEST(same_integers_from_the_same_spectra)
{
    static const size_t inputs[] = {1, 2, 3, 16, 17};
    struct generator g = {91};
    for (size_t k = 0; k < 5; k++)
        for (size_t mask = k % 2; mask < 4; mask += is_long()            ? 1
                                                    : FX8_THREAD_CHECKER ? 4
                                                                         : 2) {
            const size_t n_spectra = 1 + random_below(&g, 200);
            struct task task = make_task(inputs[k], k % 2 == 0, 3, 2, n_spectra,
                                         mask, false, &g);
            if (mask >= 2)
                task.plan.precisions |= FX8_PRECISION_INTERVAL;
            check_import(&task, kernels[(k + mask) % N_KERNELS], 1);
        }
}

/* Of 40 inputs in tiles of 16, inputs 20 to 23 are needed with 0 to 3, besides
 * all with their neighbours: two tiles of six are left out.  Each kernel alone,
 * so that its tiles are those of its name.  A trial compares what is needed. */
TEST(tiles_that_nobody_needs)
{
    static const char *const names[] = {"dp4a-16", "fp32-16"};
    static const unsigned precisions[] = {FX8_PRECISION_INT8,
                                          FX8_PRECISION_FP32};
    uint8_t needed[10 * 11 / 2] = {0};
    struct generator g = {92};
    needed[fx8_pair_index(0, 5)] = 1;
    for (size_t k = 0; k < 2; k++) {
        struct task task = make_task(40, true, 3, 2, 77, 1, false, &g);
        task.plan.precisions = precisions[k];
        task = on_cuda(&task, names[k], 2);
        const bool is_named = strcmp(task.plan.machine.kernel, names[k]) == 0;
        const struct outcome all = run_task(&task, NULL);
        task.plan.needed = needed;
        const struct outcome some = run_task(&task, NULL);
        struct fx8_error error;
        must(fx8_engine_trial(cuda, &task.plan, &error), error);
        const char *wanted = k == 0 ? (char *)all.sums8 : (char *)all.sums32;
        const char *got = k == 0 ? (char *)some.sums8 : (char *)some.sums32;
        static const char zeros[16];
        for (size_t j = 0; j < 40; j++)
            for (size_t i = 0; i <= j; i++) {
                const size_t at = 16 * fx8_pair_index(i, j);
                const bool is_left_out = j >= 32 && i < 32;
                if (!is_left_out)
                    check_bytes(wanted + at, got + at, 16);
                else if (is_named)
                    check_bytes(zeros, got + at, 16);
            }
    }
}

/* Method none: dumps longer than a block, the last one ragged; every device has
 * blocks, one device fewer.  Integers up to 128, folded while floats hold them
 * exactly. */
TEST(long_dumps_on_several_devices)
{
    struct generator g = {92};
    for (size_t n_devices = FX8_CHECKED ? 3 : 1; n_devices <= 3;
         n_devices += 2) {
        const struct task task =
            make_task(3, true, 1, 1, 3 * 8192 + 8192 + 37, 2, true, &g);
        check_import(&task, "dp4a", n_devices);
        const struct outcome wanted = run_task(&task, NULL);
        const struct task other = on_cuda(&task, "dp4a-16", n_devices);
        const struct outcome got = run_task(&other, NULL);
        check_equal(&task, &wanted, &got);
    }
}

/* Float spectra are within their bound. */
static void check_floats(const struct task *task, const struct fx8_cf32 *wanted,
                         const struct fx8_cf32 *got)
{
    double norm = 0.0;
    for (size_t i = 0; i < n_cells(task); i++)
        norm = fmax(norm, hypot(wanted[i].re, wanted[i].im));
    for (size_t i = 0; i < n_cells(task); i++)
        assert_true(hypot(wanted[i].re - got[i].re, wanted[i].im - got[i].im) <=
                    2 * SPECTRUM_ERROR * norm *
                        sqrt((double)task->plan.bank.fft_length));
}

/* Quantised spectra may differ by one step near a tie. */
static void check_integers(const struct task *task,
                           const struct outcome *wanted,
                           const struct outcome *got)
{
    size_t n_steps = 0;
    for (size_t i = 0; i < n_cells(task); i++) {
        const struct fx8_ci8 a = wanted->x8[i], b = got->x8[i];
        const int re = abs(a.re - b.re), im = abs(a.im - b.im);
        assert_true(re <= 1 && im <= 1);
        n_steps += (size_t)(re + im);
    }
    print_message("# %zu of %zu numbers a step apart\n", n_steps,
                  2 * n_cells(task));
    assert_true(n_steps * 10000 <= 2 * n_cells(task));
    const size_t n_clips = task->plan.n_inputs * task->plan.bank.n_channels;
    if (n_steps == 0)
        check_bytes(wanted->clips, got->clips, n_clips * sizeof *got->clips);
}

/* The spectra of every precision planned. */
static void check_spectra(const struct task *task, const struct outcome *wanted,
                          const struct outcome *got)
{
    assert_true(wanted->x32 != NULL || wanted->x8 != NULL);
    if (wanted->x32 != NULL)
        check_floats(task, wanted->x32, got->x32);
    if (wanted->x8 != NULL)
        check_integers(task, wanted, got);
}

/* From samples to sums, which must be the sums of the exported spectra. */
static void check_push(const struct task *task, size_t n_devices)
{
    const struct outcome wanted = run_task(task, NULL);
    const struct task other = on_cuda(task, "dp4a-16", n_devices);
    const struct outcome got = run_task(&other, NULL);
    check_spectra(task, &wanted, &got);
    check_sums(task, &got);
}

/* Last, a FIR alone: no FFT.  With the filter in integers float spectra differ
 * only by the FFT. */
TEST(samples_to_sums)
{
    static const size_t inputs[] = {1, 2, 3, 17, 5};
    struct generator g = {93};
    for (size_t k = 0; k < 2 * LENGTH(inputs); k++) {
        const bool is_complex = k % 2, is_fir = k == 9;
        struct task task =
            make_task(inputs[k / 2], is_complex, is_fir ? 1 : 4 + k / 2,
                      is_complex ? 4 : 1, 1 + random_below(&g, 150), k / 2 % 4,
                      false, &g);
        if (k == 2 || k == 3)
            task.plan.channelizer.fir = FX8_FIR_DP2A;
        if (k == 5)
            make_rotation(&task, &g);
        check_push(&task, is_complex && !is_fir ? 3 : 1);
    }
}

/* From samples of every kind and with delays, in several chunks. */
TEST(moments_of_spectra)
{
    struct generator g = {105};
    setenv("FX8_CUDA_CHUNK_KIB", "40", 1);
    for (size_t k = 0; k < (FX8_CHECKED ? 4 : 12);
         k += FX8_THREAD_CHECKER ? 3 : 1) {
        const bool is_none = k % 4 == 3;
        const size_t n_channels = is_none ? 1 : k % 2 == 0 ? 40 : 7;
        struct task task =
            make_task(3, is_none || k % 4 == 0, n_channels, is_none ? 1 : 3,
                      1 + random_below(&g, 900), k / 3, is_none, &g);
        if (k % 4 == 2)
            make_rotation(&task, &g);
        task.plan.has_moments = true;
        task = on_cuda(&task, "fp32-16", 1);
        const struct outcome o = run_task(&task, NULL);
        check_moments(&task, &o);
    }
    unsetenv("FX8_CUDA_CHUNK_KIB");
}

/* Blocks go to the devices in turn, a segment each; once only integers are
 * correlated. */
TEST(moments_of_segments)
{
    struct generator g = {106};
    for (size_t k = 0; k < (FX8_THREAD_CHECKER ? 2 : 3); k++)
        for (size_t n_devices = 1; n_devices <= 3; n_devices += 2) {
            if (!is_long() && n_devices == (k == 1 ? 3 : 1))
                continue;
            struct task task = make_moment_task(k, &g);
            if (n_devices == 1 && k == 1)
                task.plan.precisions = FX8_PRECISION_INT8;
            task = on_cuda(&task, "dp4a-16", n_devices);
            const struct outcome o = check_segments(&task);
            if (o.x32 != NULL)
                check_moments(&task, &o);
        }
}

/* The number of inputs that go to the device at a time, and the size of FIR and
 * FFT batches, change nothing: from ample memory to the least that suffices.
 * test_cuda_engine.cu tests the sizes themselves.  A named kernel: cards choose
 * by time, and FP32 kernels differ in their order of summation. */
TEST(batches_of_any_size)
{
    struct generator g = {96};
    struct task task = make_task(13, true, 5, 3, 140, 1, false, &g);
    task.plan.has_moments = true;
    /* a kernel for one precision leaves the other to a trial of all kernels,
     * those too that a user has left out */
    if (strcmp(kernel_in_place_of("auto"), "auto") != 0)
        task.plan.precisions =
            is_left_out("fp32") ? FX8_PRECISION_INT8 : FX8_PRECISION_FP32;
    const struct task other = on_cuda(&task, "fp32-16", 1);
    const struct outcome wanted = run_task(&other, NULL);
    size_t n_sizes = 0;
    setenv("FX8_CUDA_CHUNK_KIB", "5", 1); /* one input, 80 spectra */
    for (size_t kib = 2048;; kib -= kib / (is_long() ? 16 : 2), n_sizes++) {
        struct fx8_engine *engine;
        struct fx8_error error;
        char text[32];
        snprintf(text, sizeof text, "%zu", kib);
        setenv("FX8_CUDA_MEMORY_KIB", text, 1);
        if (cuda->open(&other.plan, &engine, &error) != FX8_OK)
            break;
        cuda->close(&engine);
        const struct outcome got = run_task(&other, NULL);
        check_sums(&other, &got);
        if (is_card)
            check_spectra(&other, &wanted, &got);
        else
            check_equal(&other, &wanted, &got);
    }
    unsetenv("FX8_CUDA_MEMORY_KIB");
    unsetenv("FX8_CUDA_CHUNK_KIB");
    assert_true(n_sizes >= 4);
}

/* Spectrum 0 gives exactly 2^60, and spectrum `n` 9 and 15; the total is
 * between two doubles. */
static void check_bounds(size_t n, int64_t spectra_per_dump)
{
    struct generator g = {104};
    struct task task = make_task(2, true, 1, 1, n + 1, 0, true, &g);
    struct task other = on_cuda(&task, "dp4a-16", 2);
    other.plan.spectra_per_dump = spectra_per_dump;
    other.plan.precisions = FX8_PRECISION_INT8 | FX8_PRECISION_INTERVAL;
    struct outcome given = {
        .x8 = temporary_zeros(n_cells(&task) * sizeof *given.x8),
        .x32 = temporary_zeros(n_cells(&task) * sizeof *given.x32),
    };
    given.x32[0].re = 0x1p30f;
    given.x32[1].re = -0x1p30f;
    given.x32[2 * n].re = 3;
    given.x32[2 * n + 1].re = 5;
    struct outcome got = run_task(&other, &given);
    check_sums(&other, &got);
    for (size_t pair = 0; pair < 3; pair++) {
        assert_true(got.down[2 * pair] < got.up[2 * pair]);
        assert_true(nextafter(got.down[2 * pair], INFINITY) ==
                    got.up[2 * pair]);
        assert_true(got.down[2 * pair + 1] == got.up[2 * pair + 1]);
    }
}

/* Blocks of 512 spectra go to two devices, whose sums the host adds. */
TEST(bounds_of_devices_are_added_in_their_direction)
{
    check_bounds(512, 512);
}

/* The first device adds segments, of 8192 spectra. */
TEST(bounds_of_segments_are_added_in_their_direction)
{
    check_bounds(8192, 8193);
}

/* A kernel's name stands for one rounding, or for all; no other kernel has the
 * name of the first rounding. */
TEST(names_of_kernels)
{
    static const struct {
        unsigned precisions;
        const char *kernel, *name; /* NULL: refused */
    } cases[] = {
        {FX8_PRECISION_INTERVAL, "fp32", "fp32-down-16 fp32-up-16"},
        {FX8_PRECISION_INTERVAL, "fp32-up-64", "fp32-down-16 fp32-up-64"},
        {FX8_PRECISION_INTERVAL, "dp4a", NULL},
        {FX8_PRECISION_INTERVAL, "fp32-16", NULL},
        {FX8_PRECISION_INTERVAL, "fp32-down-17", NULL},
        {FX8_PRECISION_FP32, "fp32-up", NULL},
        {FX8_PRECISION_INT8, "fp32", NULL},
    };
    struct generator g = {103};
    const struct task task = make_task(2, true, 1, 1, 40, 0, true, &g);
    struct fx8_engine_plan plan = on_cuda(&task, "auto", 1).plan;
    for (size_t k = 0; k < LENGTH(cases); k++) {
        struct fx8_engine *engine = (void *)&plan;
        struct fx8_error error;
        plan.precisions = cases[k].precisions;
        plan.machine.kernel = cases[k].kernel;
        if (cases[k].name == NULL) {
            must_fail_with(cuda->open(&plan, &engine, &error), error,
                           FX8_ERR_USAGE, "plan: kernel: ");
            assert_null(engine);
            continue;
        }
        must(cuda->open(&plan, &engine, &error), error);
        assert_string_equal(cuda->facts(engine)->kernel, cases[k].name);
        struct fx8_ci8 x8[80] = {{0, 0}};
        must_fail(cuda->export_spectra(engine, x8, NULL, &error), error,
                  FX8_ERR_USAGE,
                  "engine: spectra of a precision that was not planned");
        cuda->close(&engine);
    }
}

FIXTURE(find_cuda, NULL)

/* Ranks that share a machine take its devices in turn. */
TEST(first_device_of_a_rank)
{
    for (size_t first = 0; first < 2 * n_there + 1; first++) {
        struct fx8_engine_plan plan =
            recorded_plan(kernel_in_place_of("auto"), 0);
        struct fx8_engine_found found;
        struct fx8_error error;
        char wanted[32];
        plan.machine.first_device = first;
        must(fx8_engine_open(FX8_ENGINE_CUDA, &plan, &found, &error), error);
        snprintf(wanted, sizeof wanted, "%zu ", first % n_there);
        assert_memory_equal(found.operations->facts(found.engine)->device,
                            wanted, strlen(wanted));
        found.operations->close(&found.engine);
    }
}
