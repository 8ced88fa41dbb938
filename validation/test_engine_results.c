/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_engine_results.c -- results that the CUDA engine makes of a dump beside
 * those that the host makes of its sums: equal to the bit.
 */
#include "correlator/session/baseline.h"
#include "validation/cuda_task.h"
#include "validation/session_run.h"

/* How sums of a task become results, in rows twice as long as they need. */
struct wanted {
    struct fx8_postprocess plan;
    struct fx8_product *products;
    uint8_t *flag_channel, *flag_input, *flag_cell;
    float *gain;        /* [n_inputs][2 n_channels] */
    double *input_gain; /* [n_inputs] powers of two */
    size_t n_cells;
};

static struct wanted want_results(const struct task *task, size_t n_pols,
                                  size_t average, struct generator *g)
{
    const size_t inputs = task->plan.n_inputs, antennas = inputs / n_pols;
    const size_t channels = task->plan.bank.n_channels;
    const size_t baselines = fx8_baseline_count(antennas);
    struct wanted w = {
        .plan = {.n_antennas = antennas,
                 .n_products = fx8_baseline_products(n_pols),
                 .n_inputs = inputs,
                 .n_channels = channels,
                 .row_channels = 2 * channels,
                 .channel_average = average,
                 .spectra_per_dump = (int64_t)task->n_spectra,
                 .remove_bias = true,
                 .n_threads = 1},
        .flag_channel = exact(channels),
        .flag_input = exact(inputs),
        .flag_cell = exact(inputs * 2 * channels),
        .gain = exact(inputs * 2 * channels * sizeof(float)),
        .input_gain = exact(inputs * sizeof(double)),
    };
    w.products = exact(baselines * w.plan.n_products * sizeof *w.products);
    fx8_baseline_table(antennas, n_pols, w.products);
    w.n_cells = baselines * w.plan.n_products * (2 * channels / average);
    for (size_t i = 0; i < channels; i++)
        w.flag_channel[i] = random_below(g, 3) == 0;
    for (size_t i = 0; i < inputs; i++)
        w.flag_input[i] = random_below(g, 4) == 0;
    for (size_t i = 0; i < inputs; i++)
        w.input_gain[i] = 1.0 / (double)(1 << random_below(g, 9));
    for (size_t i = 0; i < inputs * 2 * channels; i++) {
        w.flag_cell[i] = random_below(g, 8) == 0;
        w.gain[i] = (float)random_in(g, 1, 3000) / 1000.0f;
    }
    w.plan.products = w.products;
    w.plan.gain = w.gain;
    w.plan.flag_channel = w.flag_channel;
    w.plan.flag_input = w.flag_input;
    w.plan.flag_cell = w.flag_cell;
    return w;
}

static void clear_wanted(struct wanted *w)
{
    free(w->products);
    free(w->flag_channel);
    free(w->flag_input);
    free(w->flag_cell);
    free(w->gain);
    free(w->input_gain);
}

/* Arrays of results that nobody has written yet. */
static struct fx8_visibilities make_results(size_t n_cells)
{
    const struct fx8_visibilities results = {exact(2 * n_cells * sizeof(float)),
                                             exact(n_cells),
                                             exact(n_cells * sizeof(float))};
    memset(results.visibilities, 0x55, 2 * n_cells * sizeof(float));
    memset(results.flags, 0x55, n_cells);
    memset(results.nsamples, 0x55, n_cells * sizeof(float));
    return results;
}

/* To the bit, what lies between the rows too. */
static void check_results(const struct fx8_visibilities *wanted,
                          const struct fx8_visibilities *got, size_t n_cells)
{
    check_bytes(wanted->visibilities, got->visibilities,
                2 * n_cells * sizeof(float));
    check_bytes(wanted->flags, got->flags, n_cells);
    check_bytes(wanted->nsamples, got->nsamples, n_cells * sizeof(float));
}

static void clear_results(struct fx8_visibilities *results)
{
    free(results->visibilities);
    free(results->flags);
    free(results->nsamples);
}

/* A dump by blocks, whose spectra are not asked for. */
static void push_dump(const struct task *task, struct fx8_engine *engine)
{
    const size_t most = cuda->block_spectra(engine);
    struct outcome none = {0};
    for (size_t first = 0; first < task->n_spectra; first += most) {
        const size_t rest = task->n_spectra - first;
        run_block(task, engine, first, rest < most ? rest : most, NULL, &none);
    }
}

/* Twice the same dump: the second is not added to the first.  The sums of the
 * other way, finish_dump(), are what the host makes results of. */
static void check_process(const struct task *task, const struct wanted *w,
                          size_t n_devices)
{
    struct task other = on_cuda(task, "dp4a", n_devices);
    other.plan.n_result_antennas = w->plan.n_antennas;
    other.plan.n_result_products = w->plan.n_products;
    other.plan.channel_average = w->plan.channel_average;
    struct outcome o = run_task(&other, NULL);
    struct fx8_visibilities wanted8 = make_results(w->n_cells);
    struct fx8_visibilities wanted32 = make_results(w->n_cells);
    fx8_postprocess_int8(&w->plan, o.sums8, o.counts, &wanted8);
    fx8_postprocess_fp32(&w->plan, o.sums32, o.counts, &wanted32);
    const struct outcome sums = o;
    struct fx8_engine *engine;
    struct fx8_error error;
    must(cuda->open(&other.plan, &engine, &error), error);
    for (size_t input = 0; input < task->plan.n_inputs; input++)
        must(cuda->set_gain(engine, input,
                            task->gains + input * task->plan.bank.n_channels,
                            &error),
             error);
    struct fx8_engine_dump dump = {.sums_down = o.down,
                                   .sums_up = o.up,
                                   .counts = o.counts,
                                   .clips = o.clips};
    const size_t n_clips = task->plan.n_inputs * task->plan.bank.n_channels;
    struct outcome first = {.clips = exact(n_clips * sizeof *first.clips)};
    memcpy(first.clips, o.clips, n_clips * sizeof *first.clips);
    for (int turn = 0; turn < 2; turn++) {
        const struct fx8_engine_results int8 = {&w->plan,
                                                make_results(w->n_cells)};
        const struct fx8_engine_results fp32 = {&w->plan,
                                                make_results(w->n_cells)};
        memset(o.counts, 0x55, sizeof *o.counts);
        push_dump(&other, engine);
        must(cuda->process_dump(engine, &int8, &fp32, &dump, &error), error);
        check_results(&wanted8, &int8.results, w->n_cells);
        check_results(&wanted32, &fp32.results, w->n_cells);
        check_bytes(first.clips, o.clips, n_clips * sizeof *first.clips);
        struct fx8_visibilities made8 = int8.results, made32 = fp32.results;
        clear_results(&made8);
        clear_results(&made32);
    }
    cuda->close(&engine);
    clear_outcome(&first);
    o = sums;
    clear_outcome(&o);
    clear_results(&wanted8);
    clear_results(&wanted32);
}

/* Both precisions, averages, whole and in slabs of one antenna; recordings of
 * more than 8 bits, levelled or with the gains of their inputs alone. */
static void results_of_the_device_equal_the_hosts(void **state)
{
    (void)state;
    struct generator g = {105};
    for (size_t k = 0; k < 4; k++) {
        struct task task =
            make_task(6, k < 2, 12, 2, 130, 1 + k % 2, false, &g);
        struct wanted w = want_results(&task, 1 + k % 2, 1 + k, &g);
        if (k > 0)
            w.plan.input_gain = w.input_gain;
        if (k > 1)
            w.plan.gain = NULL;
        if (k == 3)
            setenv("FX8_CUDA_CHUNK_KIB", "1", 1);
        check_process(&task, &w, 1);
        unsetenv("FX8_CUDA_CHUNK_KIB");
        clear_wanted(&w);
        clear_task(&task);
    }
}

/* Blocks on every device; one that had none brings nothing. */
static void results_of_several_devices_equal_the_hosts(void **state)
{
    (void)state;
    struct generator g = {106};
    for (size_t n_blocks = 2; n_blocks <= 4; n_blocks += 2) {
        struct task task =
            make_task(3, true, 1, 1, n_blocks * 8192 + 5, 2, true, &g);
        struct wanted w = want_results(&task, 1, 1, &g);
        check_process(&task, &w, n_blocks + 1);
        clear_wanted(&w);
        clear_task(&task);
    }
}

/* Sums that are more than goes from device to device, or to the host, at a
 * time: 110 numbers a channel, of which a KiB holds one, in three turns. */
static void sums_in_pieces_equal_the_hosts(void **state)
{
    (void)state;
    struct generator g = {110};
    struct task task = make_task(10, true, 3, 1, 8192 + 5, 1, false, &g);
    struct wanted w = want_results(&task, 1, 2, &g);
    setenv("FX8_CUDA_CHUNK_KIB", "1", 1);
    check_process(&task, &w, 2);
    unsetenv("FX8_CUDA_CHUNK_KIB");
    clear_wanted(&w);
    clear_task(&task);
}

/* Bands whose inputs have gains of their own, each with its share of them:
 * whole numbers whose sums floats hold, so that both engines have all bits. */
static void gains_of_bands_equal_the_hosts(void **state)
{
    (void)state;
    enum { BANDS = 3, INPUTS = 4 };
    static const double offsets_hz[BANDS] = {-2e6, 0.0, 1e6};
    const struct delivery whole = {0};
    struct generator g = {108};
    double gains[BANDS * INPUTS];
    for (size_t row = 0; row < BANDS * INPUTS; row++)
        gains[row] = 1.0 / (double)(1 << random_below(&g, 9));
    struct voltages v = make_voltages(BANDS * INPUTS, 2, 1000, 4, 109);
    struct fx8_plan plan = small_plan(2, 2, true, 1, 300);
    plan.method = FX8_METHOD_NONE;
    plan.n_bands = BANDS;
    plan.band_offset_hz = offsets_hz;
    plan.input_gain = gains;
    plan.backend = FX8_BACKEND_CPU;
    struct collected host = collect(&plan, &v, &whole);
    plan.backend = FX8_BACKEND_CUDA;
    struct collected device = collect(&plan, &v, &whole);
    assert_true(host.n_dumps >= 2);
    check_same(&host, &device);
    free_collected(&host);
    free_collected(&device);
    free(v.data);
}

/* Of another shape than it was opened for, or of none; sums on two devices. */
static void results_that_were_not_planned(void **state)
{
    (void)state;
    struct generator g = {107};
    struct task task = make_task(2, true, 1, 1, 2 * 8192, 0, true, &g);
    struct wanted w = want_results(&task, 1, 1, &g);
    struct fx8_visibilities results = make_results(w.n_cells);
    const struct fx8_engine_results wanted = {&w.plan, results};
    const struct task other = on_cuda(&task, "auto", 2);
    struct fx8_engine_plan plan = other.plan;
    int64_t counts[3], clips[2];
    struct fx8_engine_dump dump = {.counts = counts, .clips = clips};
    plan.n_result_products = 1;
    plan.channel_average = 1;
    for (size_t antennas = 0; antennas < 4; antennas += 3) {
        struct fx8_engine *engine;
        struct fx8_error error;
        plan.n_result_antennas = antennas;
        must(cuda->open(&plan, &engine, &error), error);
        push_dump(&other, engine);
        must_fail(cuda->process_dump(engine, &wanted, &wanted, &dump, &error),
                  error, FX8_ERR_USAGE,
                  "engine: results of a shape that was not planned");
        cuda->close(&engine);
    }
    clear_results(&results);
    clear_wanted(&w);
    clear_task(&task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_the_device_equal_the_hosts),
        cmocka_unit_test(results_of_several_devices_equal_the_hosts),
        cmocka_unit_test(sums_in_pieces_equal_the_hosts),
        cmocka_unit_test(gains_of_bands_equal_the_hosts),
        cmocka_unit_test(results_that_were_not_planned),
    };
    return cmocka_run_group_tests(tests, find_cuda, NULL);
}
