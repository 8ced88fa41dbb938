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
 *     rotated); with batches and chunks of any size; for bounds and their
 *     kernels, on several devices too
 * Within: integers and counts equal; FP32 sums two bounds of `test_kernels_x.c`
 *     apart, each within its own; spectra twice the bound of `test_engine.c`;
 *     INT8 one step in 10⁴ values; other batch sizes to the bit, except spectra
 *     of a card's FFT, which keep the bound of `test_engine.c`; bounds as in
 *     `test_kernels_x.c`
 * Because: the two engines sum in different orders; a value near a tie rounds
 *     either way; cuFFT may round differently at another place in another batch
 */
#include "validation/cuda_task.h"
#include "validation/exact_sum.h"

/* Bounds of a float sum and of a float spectrum, from test_engine.c. */
#define SUM_ERROR      (520 * 0x1p-24)
#define SPECTRUM_ERROR (16 * 0x1p-24)

/* Integers are equal; float sums are each within their bound of the exact sum,
 * so within two bounds of each other. */
static void check_sums(const struct task *task, const struct outcome *wanted,
                       const struct outcome *got)
{
    const size_t inputs = task->plan.n_inputs, n = task->n_spectra;
    const size_t pairs = fx8_pair_count(inputs);
    check_bytes(wanted->sums8, got->sums8, n_sums(task) * sizeof(int64_t));
    check_bytes(wanted->counts, got->counts, pairs * sizeof(int64_t));
    for (size_t c = 0; c < task->plan.bank.n_channels; c++)
        for (size_t j = 0; j < inputs; j++)
            for (size_t i = 0; i <= j; i++) {
                double size = 0.0;
                const struct fx8_cf32 *x = wanted->x32 + c * n * inputs;
                for (size_t t = 0; t < n; t++)
                    size += hypot(x[t * inputs + i].re, x[t * inputs + i].im) *
                            hypot(x[t * inputs + j].re, x[t * inputs + j].im);
                const size_t at = 2 * (c * pairs + fx8_pair_index(i, j));
                for (size_t k = at; k < at + 2; k++)
                    assert_true(fabs(wanted->sums32[k] - got->sums32[k]) <=
                                2 * SUM_ERROR * size);
            }
}

/* Import the CPU's spectra of the task, and correlate them on CUDA. */
static void check_import(const struct task *task, const char *kernel,
                         size_t n_devices)
{
    struct outcome wanted = run_task(task, NULL);
    const struct task other = on_cuda(task, kernel, n_devices);
    struct outcome got = run_task(&other, &wanted);
    check_bytes(wanted.x8, got.x8, n_cells(task) * sizeof *wanted.x8);
    check_bytes(wanted.x32, got.x32, n_cells(task) * sizeof *wanted.x32);
    check_sums(task, &wanted, &got);
    clear_outcome(&wanted);
    clear_outcome(&got);
}

TEST(same_integers_from_the_same_spectra)
{
    static const size_t inputs[] = {1, 2, 3, 16, 17};
    struct generator g = {91};
    for (size_t k = 0; k < 5; k++)
        for (size_t mask = k % 2; mask < 4; mask += is_long() ? 1 : 2) {
            const size_t n_spectra = 1 + random_below(&g, 200);
            struct task task = make_task(inputs[k], k % 2 == 0, 3, 2, n_spectra,
                                         mask, false, &g);
            check_import(&task, kernels[(k + mask) % N_KERNELS], 1);
            clear_task(&task);
        }
}

/* Method none: dumps longer than a block, the last one ragged; every device has
 * blocks, one device fewer. */
TEST(long_dumps_on_several_devices)
{
    struct generator g = {92};
    for (size_t n_devices = FX8_CHECKED ? 3 : 1; n_devices <= 3;
         n_devices += 2) {
        struct task task =
            make_task(3, true, 1, 1, 3 * 8192 + 8192 + 37, 2, true, &g);
        check_import(&task, "dp4a", n_devices);
        struct outcome wanted = run_task(&task, NULL);
        const struct task other = on_cuda(&task, "dp4a-16", n_devices);
        struct outcome got = run_task(&other, NULL);
        check_bytes(wanted.x8, got.x8, n_cells(&task) * sizeof *wanted.x8);
        /* integers up to 128, folded while floats hold them exactly */
        check_bytes(wanted.sums8, got.sums8, n_sums(&task) * sizeof(int64_t));
        check_bytes(wanted.sums32, got.sums32, n_sums(&task) * sizeof(double));
        check_bytes(wanted.counts, got.counts,
                    fx8_pair_count(3) * sizeof(int64_t));
        clear_outcome(&wanted);
        clear_outcome(&got);
        clear_task(&task);
    }
}

/* Float spectra within their bound; quantised ones may differ by one step near
 * a tie. */
static void check_spectra(const struct task *task, const struct outcome *wanted,
                          const struct outcome *got)
{
    double norm = 0.0;
    for (size_t i = 0; i < n_cells(task); i++)
        norm = fmax(norm, hypot(wanted->x32[i].re, wanted->x32[i].im));
    size_t n_steps = 0;
    for (size_t i = 0; i < n_cells(task); i++) {
        assert_true(hypot(wanted->x32[i].re - got->x32[i].re,
                          wanted->x32[i].im - got->x32[i].im) <=
                    2 * SPECTRUM_ERROR * norm *
                        sqrt((double)task->plan.bank.fft_length));
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

/* From samples to sums, which must be the sums of the exported spectra. */
static void check_push(const struct task *task, size_t n_devices)
{
    struct outcome wanted = run_task(task, NULL);
    const struct task other = on_cuda(task, "dp4a-16", n_devices);
    struct outcome got = run_task(&other, NULL);
    check_spectra(task, &wanted, &got);
    struct outcome again = run_task(task, &got);
    check_sums(task, &again, &got);
    clear_outcome(&wanted);
    clear_outcome(&got);
    clear_outcome(&again);
}

TEST(samples_to_sums)
{
    static const size_t inputs[] = {1, 2, 3, 17};
    struct generator g = {93};
    for (size_t k = 0; k < 4; k++)
        for (size_t is_complex = 0; is_complex < 2; is_complex++) {
            const size_t n_spectra = 1 + random_below(&g, 150);
            struct task task =
                make_task(inputs[k], is_complex, 4 + k, 1 + 3 * is_complex,
                          n_spectra, k, false, &g);
            check_push(&task, 1 + 2 * is_complex);
            clear_task(&task);
        }
}

/* A FIR alone: no FFT. */
TEST(one_channel_with_a_filter)
{
    struct generator g = {94};
    struct task task = make_task(5, true, 1, 4, 90, 1, false, &g);
    check_push(&task, 1);
    clear_task(&task);
}

/* Exact integers on both, one scale: float spectra differ only by the FFT. */
TEST(filter_in_integers)
{
    struct generator g = {98};
    for (size_t is_complex = 0; is_complex < 2; is_complex++) {
        struct task task = make_task(5, is_complex, 6, 4, 77, 1, false, &g);
        task.plan.channelizer.fir = FX8_FIR_DP2A;
        check_push(&task, 1);
        clear_task(&task);
    }
}

/* Phases of whole sixteenths of a turn, at which the sines and cosines of both
 * engines are close. */
TEST(rotated_spectra)
{
    struct generator g = {95};
    struct task task = make_task(3, true, 8, 2, 50, 1, false, &g);
    task.rotation = exact(3 * task.n_spectra * sizeof *task.rotation);
    for (size_t i = 0; i < 3 * task.n_spectra; i++)
        task.rotation[i] = (struct fx8_rotation){
            (double)random_in(&g, -64, 64) / 16, (double)random_in(&g, -8, 8)};
    check_push(&task, 1);
    clear_task(&task);
}

/* The sums equal, to the bit, those that an engine without batches makes of the
 * spectra.  The spectra are equal too, unless cuFFT on a card computed them: it
 * may round differently at another place of another batch; pretend devices do
 * every transform by itself. */
static void check_batch(const struct task *large, const struct outcome *wanted,
                        const struct outcome *got)
{
    const size_t n_bytes = n_sums(large) * sizeof(int64_t);
    struct outcome again = run_task(large, got);
    check_bytes(again.sums8, got->sums8, n_bytes);
    check_bytes(again.sums32, got->sums32, n_bytes);
    clear_outcome(&again);
    if (is_card && large->plan.bank.fft_length > 1) {
        check_spectra(large, wanted, got);
        return;
    }
    const size_t n_clips = large->plan.n_inputs * large->plan.bank.n_channels;
    check_bytes(wanted->x8, got->x8, n_cells(large) * sizeof *got->x8);
    check_bytes(wanted->x32, got->x32, n_cells(large) * sizeof *got->x32);
    check_bytes(wanted->sums8, got->sums8, n_bytes);
    check_bytes(wanted->sums32, got->sums32, n_bytes);
    check_bytes(wanted->clips, got->clips, n_clips * sizeof *got->clips);
}

/* Whether an engine opens with this much device memory. */
static bool opens_within(const struct task *task, size_t kib)
{
    char text[32];
    struct fx8_engine *engine = NULL;
    struct fx8_error error;
    snprintf(text, sizeof text, "%zu", kib);
    setenv("FX8_CUDA_MEMORY_KIB", text, 1);
    const enum fx8_status status =
        task->engine->open(&task->plan, &engine, &error);
    task->engine->close(&engine);
    return status == FX8_OK;
}

/* The number of inputs that go to the device at a time, and the size of the FIR
 * and FFT batches, change nothing: from the preferred sizes to the smallest
 * that work. test_cuda_calls.cu tests the sizes themselves. */
TEST(batches_of_any_size)
{
    struct generator g = {96};
    /* name the kernel for floats; "auto" would try every integer kernel */
    if (strcmp(kernel_in_place_of("auto"), "auto") != 0)
        skip();
    for (size_t is_none = FX8_THREAD_CHECKER; is_none < 2; is_none++) {
        struct task task = is_none
                               ? make_task(13, true, 1, 1, 140, 1, true, &g)
                               : make_task(13, true, 5, 3, 140, 1, false, &g);
        /* a named kernel: cards choose by time, and FP32 kernels differ in
         * their order of summation */
        const struct task large = on_cuda(&task, "fp32-16", 1);
        struct outcome wanted = run_task(&large, NULL);
        setenv("FX8_CUDA_CHUNK_KIB", "5", 1); /* one input, 80 spectra */
        size_t least = 64, too_little = 64;
        assert_false(opens_within(&large, too_little));
        while (!opens_within(&large, least *= 2))
            too_little = least;
        while (least - too_little > 1) {
            const size_t half = (least + too_little) / 2;
            *(opens_within(&large, half) ? &least : &too_little) = half;
        }
        const size_t step = least / (is_long() ? 8 : 3);
        for (size_t kib = least; kib < 2 * least; kib += step) {
            assert_true(opens_within(&large, kib));
            struct outcome got = run_task(&large, NULL);
            check_batch(&large, &wanted, &got);
            clear_outcome(&got);
        }
        unsetenv("FX8_CUDA_MEMORY_KIB");
        unsetenv("FX8_CUDA_CHUNK_KIB");
        clear_outcome(&wanted);
        clear_task(&task);
    }
}

/* The unrounded sum, and the FP32 sum if there is one, lie between the bounds,
 * which are as near as their error allows: a bound loses at most twice what
 * FP32 does. */
static void check_bounds(const struct task *task, const struct outcome *o)
{
    const size_t inputs = task->plan.n_inputs, n = task->n_spectra;
    const size_t pairs = fx8_pair_count(inputs);
    for (size_t c = 0; c < task->plan.bank.n_channels; c++)
        for (size_t j = 0; j < inputs; j++)
            for (size_t i = 0; i <= j; i++) {
                struct exact_sum exact_sums[2] = {{{0}}, {{0}}};
                double size = 0.0;
                for (size_t t = 0; t < n; t++) {
                    const struct fx8_cf32 *x = o->x32 + (c * n + t) * inputs;
                    exact_add_product(&exact_sums[0], x[j].re, x[i].re);
                    exact_add_product(&exact_sums[0], x[j].im, x[i].im);
                    exact_add_product(&exact_sums[1], x[j].im, x[i].re);
                    exact_add_product(&exact_sums[1], -x[j].re, x[i].im);
                    size += hypot(x[i].re, x[i].im) * hypot(x[j].re, x[j].im);
                }
                const size_t at = 2 * (c * pairs + fx8_pair_index(i, j));
                for (size_t k = 0; k < 2; k++) {
                    const double down = o->down[at + k], up = o->up[at + k];
                    assert_true(exact_compare(&exact_sums[k], down) >= 0);
                    assert_true(exact_compare(&exact_sums[k], up) <= 0);
                    assert_true(up - down <= 4 * SUM_ERROR * size);
                    if (o->sums32 != NULL) {
                        assert_true(down <= o->sums32[at + k]);
                        assert_true(o->sums32[at + k] <= up);
                    }
                }
            }
}

/* Both engines' bounds enclose the same exact sums. */
TEST(bounds_of_the_same_spectra)
{
    struct generator g = {101};
    for (size_t mask = 0; mask < 4; mask += FX8_CHECKED ? 3 : 1) {
        struct task task = make_task(mask % 2 == 0 ? 3 : 17, mask < 2, 3, 2,
                                     150 + mask, mask, false, &g);
        task.plan.precisions |= FX8_PRECISION_INTERVAL;
        const struct task other = on_cuda(&task, "dp4a-16", 1);
        struct outcome wanted = run_task(&task, NULL);
        struct outcome got = run_task(&other, &wanted);
        check_bytes(wanted.x32, got.x32, n_cells(&task) * sizeof *got.x32);
        check_sums(&task, &wanted, &got);
        check_bounds(&task, &wanted);
        check_bounds(&other, &got);
        clear_outcome(&wanted);
        clear_outcome(&got);
        clear_task(&task);
    }
}

/* Bounds alone, of floats: the partial sums of devices are added with directed
 * rounding; and of integers, which are exact. */
TEST(bounds_on_several_devices)
{
    struct generator g = {102};
    for (size_t is_none = 0; is_none < 2; is_none++) {
        struct task task =
            make_task(2, true, 1, 3, is_none ? 300 : 8192 + 37, 1, is_none, &g);
        if (is_none)
            task.plan.bank.n_taps = 1;
        struct task other = on_cuda(&task, "fp32", 2);
        other.plan.precisions = FX8_PRECISION_INTERVAL;
        struct outcome bounds = run_task(&other, NULL);
        assert_null(bounds.sums32);
        check_bounds(&other, &bounds);
        size_t n_apart = 0;
        for (size_t k = 0; k < n_sums(&task); k++)
            n_apart += bounds.down[k] < bounds.up[k];
        assert_true(is_none ? n_apart == 0 : n_apart > n_sums(&task) / 2);
        other.plan.precisions = FX8_PRECISION_FP32;
        struct outcome nearest = run_task(&other, NULL);
        check_bytes(nearest.x32, bounds.x32,
                    n_cells(&task) * sizeof *nearest.x32);
        for (size_t k = 0; k < n_sums(&task); k++) {
            assert_true(bounds.down[k] <= nearest.sums32[k]);
            assert_true(nearest.sums32[k] <= bounds.up[k]);
        }
        clear_outcome(&bounds);
        clear_outcome(&nearest);
        clear_task(&task);
    }
}

/* One device has exactly 2^60, the others 9 and 15; the total is between two
 * doubles. */
TEST(bounds_of_devices_are_added_in_their_direction)
{
    struct generator g = {104};
    struct task task = make_task(2, true, 1, 1, 8193, 0, true, &g);
    struct task other = on_cuda(&task, "dp4a-16", 2);
    other.plan.precisions = FX8_PRECISION_INT8 | FX8_PRECISION_INTERVAL;
    struct outcome given = {
        .x8 = calloc(n_cells(&task), sizeof *given.x8),
        .x32 = calloc(n_cells(&task), sizeof *given.x32),
    };
    assert_non_null(given.x8);
    assert_non_null(given.x32);
    given.x32[0].re = 0x1p30f;
    given.x32[1].re = -0x1p30f;
    given.x32[(size_t)2 * 8192].re = 3;
    given.x32[(size_t)2 * 8192 + 1].re = 5;
    struct outcome got = run_task(&other, &given);
    check_bounds(&other, &got);
    for (size_t pair = 0; pair < 3; pair++) {
        assert_true(got.down[2 * pair] < got.up[2 * pair]);
        assert_true(nextafter(got.down[2 * pair], INFINITY) ==
                    got.up[2 * pair]);
        assert_true(got.down[2 * pair + 1] == got.up[2 * pair + 1]);
    }
    clear_outcome(&given);
    clear_outcome(&got);
    clear_task(&task);
}

/* A kernel's name stands for one rounding, or for all; no other kernel has the
 * name of the first rounding. */
TEST(kernels_of_bounds)
{
    struct generator g = {103};
    struct task task = make_task(2, true, 1, 1, 40, 0, true, &g);
    struct fx8_engine_plan plan = on_cuda(&task, "auto", 1).plan;
    struct fx8_engine *engine = NULL;
    struct fx8_error error;
    static const char *const names[][2] = {
        {"auto", "fp32-down-16 fp32-up-16"},
        {"fp32", "fp32-down-16 fp32-up-16"},
        {"fp32-up-64", "fp32-down-16 fp32-up-64"},
    };
    plan.precisions = FX8_PRECISION_INTERVAL;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        plan.machine.kernel = names[k][0];
        must(cuda->open(&plan, &engine, &error), error);
        assert_string_equal(cuda->kernel_name(engine), names[k][1]);
        struct fx8_ci8 x8[80] = {{0, 0}};
        must_fail(cuda->export_spectra(engine, x8, NULL, &error), error,
                  FX8_ERR_USAGE,
                  "engine: spectra of a precision that was not planned");
        cuda->close(&engine);
    }
    static const char *const wrong[] = {"dp4a", "fp32-16", "fp32-down-17"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        plan.machine.kernel = wrong[k];
        assert_int_equal(cuda->open(&plan, &engine, &error), FX8_ERR_USAGE);
        assert_null(engine);
    }
    plan.precisions = FX8_PRECISION_FP32;
    plan.machine.kernel = "fp32-up";
    assert_int_equal(cuda->open(&plan, &engine, &error), FX8_ERR_USAGE);
    clear_task(&task);
}

TEST(what_the_engine_refuses)
{
    struct generator g = {97};
    struct task task = make_task(2, true, 1, 1, 40, 0, true, &g);
    struct fx8_engine_plan plan = on_cuda(&task, "auto", 1).plan;
    struct fx8_engine *engine = (void *)&task;
    struct fx8_error error;
    plan.precisions = FX8_PRECISION_INT8;
    plan.machine.kernel = "fp32";
    assert_int_equal(cuda->open(&plan, &engine, &error), FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "plan: kernel: fp32: expected"));
    plan.machine.kernel = kernel_in_place_of("auto");
    const int absent[] = {0, 999};
    plan.devices = absent;
    plan.n_devices = 2;
    assert_int_equal(cuda->open(&plan, &engine, &error), FX8_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "device 999: expected"));
    assert_null(engine);
    plan.n_devices = 1;
    must(cuda->open(&plan, &engine, &error), error);
    assert_string_equal(cuda->name, "cuda");
    assert_int_equal(cuda->device_name(engine)[0], '0');
    assert_string_equal(cuda->fft_plan_name(engine), "none");
    assert_ptr_equal(cuda->operations(engine), plan.host_operations);
    struct fx8_cf32 x32[80] = {{0, 0}};
    must_fail(cuda->export_spectra(engine, NULL, x32, &error), error,
              FX8_ERR_USAGE,
              "engine: spectra of a precision that was not planned");
    cuda->close(&engine);
    cuda->close(&engine);
    clear_task(&task);
}

FIXTURE(find_cuda, NULL)
