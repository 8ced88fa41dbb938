/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_engine_results.c -- results that the CUDA engine computes from a dump
 * equal, to the bit, those that the host computes from its sums.
 *
 * Shows: as cuda/test_cuda_postprocess.cu
 */
#include "kernels/baseline.h"
#include "validation/cuda_task.h"
#include "validation/session_run.h"

/* How the sums of a task become results, in rows twice as long as needed. */
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
                 .threads.count = 1},
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

/* Arrays of results, not yet written. */
static struct fx8_result make_results(size_t n_cells)
{
    const struct fx8_result results = {exact(2 * n_cells * sizeof(float)),
                                       exact(n_cells),
                                       exact(n_cells * sizeof(float))};
    memset(results.visibilities, 0x55, 2 * n_cells * sizeof(float));
    memset(results.flags, 0x55, n_cells);
    memset(results.nsamples, 0x55, n_cells * sizeof(float));
    return results;
}

/* Equal to the bit, including what lies between the rows. */
static void check_results(const struct fx8_result *wanted,
                          const struct fx8_result *got, size_t n_cells)
{
    check_bytes(wanted->visibilities, got->visibilities,
                2 * n_cells * sizeof(float));
    check_bytes(wanted->flags, got->flags, n_cells);
    check_bytes(wanted->nsamples, got->nsamples, n_cells * sizeof(float));
}

static void clear_results(struct fx8_result *results)
{
    free(results->visibilities);
    free(results->flags);
    free(results->nsamples);
}

/* Push a dump by blocks, without asking for spectra. */
static void push_dump(const struct task *task, struct fx8_engine *engine)
{
    const size_t most = cuda->block_spectra(engine);
    struct outcome none = {0};
    for (size_t first = 0; first < task->n_spectra; first += most) {
        const size_t rest = task->n_spectra - first;
        run_block(task, engine, first, rest < most ? rest : most, NULL, &none);
    }
}

/* Results of INT8 and FP32 in memory of its own. */
struct place {
    struct fx8_result results[FX8_N_RESULTS];
    char *memory; /* of both; NULL: each array has its own */
};

/* The least memory that is worth pinning. */
#define PINNED_BYTES ((size_t)2 << 20)

static struct place make_place(struct fx8_engine *engine, size_t n_cells,
                               bool is_pinned)
{
    struct place p = {.memory = NULL};
    if (!is_pinned) {
        p.results[FX8_RESULT_INT8] = make_results(n_cells);
        p.results[FX8_RESULT_FP32] = make_results(n_cells);
        return p;
    }
    assert_true(26 * n_cells <= PINNED_BYTES);
    p.memory = exact(PINNED_BYTES);
    memset(p.memory, 0x55, PINNED_BYTES);
    char *at = p.memory;
    for (size_t kind = 0; kind < FX8_RESULT_DOWN; kind++) {
        p.results[kind].visibilities = (void *)at;
        p.results[kind].nsamples = (void *)(at + 8 * n_cells);
        at += 12 * n_cells;
    }
    p.results[FX8_RESULT_INT8].flags = (void *)at;
    p.results[FX8_RESULT_FP32].flags = (void *)(at + n_cells);
    cuda->pin(engine, p.memory, PINNED_BYTES);
    return p;
}

static void clear_place(struct place *p)
{
    free(p->memory);
    if (p->memory == NULL) {
        clear_results(&p->results[FX8_RESULT_INT8]);
        clear_results(&p->results[FX8_RESULT_FP32]);
    }
}

/* The host's results from the sums of a dump, and the plan of the results. */
struct process {
    struct task task;
    const struct wanted *w;
    struct outcome o;
    struct fx8_result wanted[FX8_N_RESULTS];
};

/* The same dump repeatedly: none is added to another.  Without bounds, the next
 * one is pushed before this one is taken. */
static void check_dumps(const struct process *p, bool is_pinned)
{
    enum { MOST_DUMPS = 3 };
    const size_t n_dumps = is_pinned ? MOST_DUMPS : 2;
    const struct task *task = &p->task;
    const struct wanted *w = p->w;
    const bool has_bounds =
        (task->plan.precisions & FX8_PRECISION_INTERVAL) != 0;
    const size_t n_clips = task->plan.n_inputs * task->plan.bank.n_channels;
    int64_t *clips = exact(n_clips * sizeof *clips);
    const size_t n_pairs = fx8_pair_count(task->plan.n_inputs);
    int64_t *counts = exact(n_pairs * sizeof *counts);
    struct fx8_engine_dump dump = {
        {NULL, NULL, p->o.down, p->o.up}, counts, clips};
    struct place places[MOST_DUMPS];
    struct fx8_engine *engine;
    struct fx8_error error;
    must(cuda->open(&task->plan, &engine, &error), error);
    for (size_t input = 0; input < task->plan.n_inputs; input++)
        must(cuda->set_gain(engine, input,
                            task->gains + input * task->plan.bank.n_channels,
                            &error),
             error);
    push_dump(task, engine);
    for (size_t k = 0; k < n_dumps; k++) {
        places[k] = make_place(engine, w->n_cells, is_pinned);
        const struct fx8_result *got = places[k].results;
        must(cuda->end_dump(engine, &w->plan, got, &error), error);
        /* waits for computation, not for copies */
        must(cuda->set_gain(engine, 0, task->gains, &error), error);
        if (!has_bounds)
            push_dump(task, engine);
        bool is_taken = k % 2 == 0;
        do
            must(cuda->take_dump(engine, &dump, k % 2 == 0 ? NULL : &is_taken,
                                 &error),
                 error);
        while (!is_taken);
        for (size_t kind = 0; kind < FX8_RESULT_DOWN; kind++)
            check_results(&p->wanted[kind], &got[kind], w->n_cells);
        check_bytes(p->o.clips, clips, n_clips * sizeof *clips);
        check_bytes(p->o.counts, counts, n_pairs * sizeof *counts);
        if (has_bounds)
            push_dump(task, engine);
    }
    cuda->close(&engine);
    for (size_t k = 0; k < n_dumps; k++)
        clear_place(&places[k]);
    free(clips);
    free(counts);
}

/* The host makes its results from the sums of finish_dump().  The device's
 * results go to pageable memory and, unless is_enough, to pinned memory too. */
static void check_process(const struct task *task, const struct wanted *w,
                          size_t n_devices, bool is_enough)
{
    struct process p = {.task = on_cuda(task, "dp4a-16", n_devices), .w = w};
    p.task.plan.n_result_antennas = w->plan.n_antennas;
    p.task.plan.n_result_products = w->plan.n_products;
    p.task.plan.channel_average = w->plan.channel_average;
    p.o = run_task(&p.task, NULL);
    p.wanted[FX8_RESULT_INT8] = make_results(w->n_cells);
    p.wanted[FX8_RESULT_FP32] = make_results(w->n_cells);
    fx8_postprocess_dump(&w->plan,
                         (void *[FX8_N_RESULTS]){p.o.sums8, p.o.sums32},
                         p.o.counts, p.wanted);
    check_dumps(&p, false);
    if (!is_enough)
        check_dumps(&p, true);
    /* for a quick-look, for which all results stay on the device */
    p.task.plan.consumed_channels =
        w->plan.n_channels / w->plan.channel_average;
    if (!is_enough)
        check_dumps(&p, true);
    clear_outcome(&p.o);
    clear_results(&p.wanted[FX8_RESULT_INT8]);
    clear_results(&p.wanted[FX8_RESULT_FP32]);
}

/* Both precisions, averages, whole and in slabs of one antenna; recordings of
 * more than 8 bits, levelled or only with the gains of their inputs. */
TEST(results_of_the_device_equal_the_hosts)
{
    struct generator g = {105};
    for (size_t k = 0; k < 4; k++) {
        struct task task =
            make_task(6, k < 2, 12, 2, 130, 1 + k % 2, false, &g);
        struct wanted w = want_results(&task, 1 + k % 2, 1 + k, &g);
        if (k > 0)
            w.plan.input_gain = w.input_gain;
        if (k > 1)
            w.plan.gain = NULL;
        if (k % 3 == 0)
            setenv("FX8_CUDA_CHUNK_KIB", "1", 1);
        check_process(&task, &w, 1, false);
        unsetenv("FX8_CUDA_CHUNK_KIB");
        clear_wanted(&w);
        clear_task(&task);
    }
}

/* Blocks on every device; a device without blocks adds nothing. */
TEST(results_of_several_devices_equal_the_hosts)
{
    struct generator g = {106};
    for (size_t n_blocks = 2; n_blocks <= 4; n_blocks += 2) {
        struct task task =
            make_task(3, true, 1, 1, n_blocks * 8192 + 5, 2, true, &g);
        struct wanted w = want_results(&task, 1, 1, &g);
        check_process(&task, &w, n_blocks + 1, n_blocks > 2);
        clear_wanted(&w);
        clear_task(&task);
    }
}

/* More sums than fit in one transfer between devices or to the host: 272
 * numbers per channel; 3 KiB hold one channel, so that there are three
 * transfers. */
TEST(sums_in_pieces_equal_the_hosts)
{
    struct generator g = {110};
    struct task task = make_task(16, true, 3, 1, 8192 + 5, 1, false, &g);
    struct wanted w = want_results(&task, 1, 2, &g);
    setenv("FX8_CUDA_CHUNK_KIB", "3", 1);
    check_process(&task, &w, 2, true);
    unsetenv("FX8_CUDA_CHUNK_KIB");
    clear_wanted(&w);
    clear_task(&task);
}

/* Bands whose inputs have gains of their own, each with its part of them: whole
 * numbers whose sums floats hold exactly, so that both engines have equal bits.
 */
TEST(gains_of_bands_equal_the_hosts)
{
    enum { BANDS = 3, INPUTS = 4 };
    static const double offsets_hz[BANDS] = {-2e6, 0.0, 1e6};
    const struct delivery whole = {0};
    struct generator g = {108};
    double gains[BANDS * INPUTS];
    for (size_t row = 0; row < BANDS * INPUTS; row++)
        gains[row] = 1.0 / (double)(1 << random_below(&g, 9));
    struct voltages v = make_voltages(BANDS * INPUTS, 2, 1000, 4, 109);
    struct fx8_plan plan = small_plan(2, 2, true, 1, 300);
    plan.channelizer.method = FX8_METHOD_NONE;
    plan.n_bands = BANDS;
    plan.band_offset_hz = offsets_hz;
    plan.input_gain = gains;
    plan.machine.backend = FX8_BACKEND_CPU;
    struct collected host = collect(&plan, &v, &whole);
    plan.machine.backend = FX8_BACKEND_CUDA;
    plan.machine.kernel = kernel_in_place_of("auto");
    struct collected device = collect(&plan, &v, &whole);
    assert_true(host.n_dumps >= 2);
    check_same(&host, &device);
    free_collected(&host);
    free_collected(&device);
    free(v.data);
}

static enum fx8_status count_dump(void *context, const struct fx8_dump *dump,
                                  struct fx8_error *error)
{
    (void)dump;
    (void)error;
    ++*(size_t *)context;
    return FX8_OK;
}

/* The next dump begins before the last one is back; a flush waits for both. */
TEST(a_dump_comes_while_the_next_is_pushed)
{
    struct voltages v = make_voltages(4, 2, 1000, 4, 111);
    struct fx8_plan plan = small_plan(2, 2, true, 1, 300);
    plan.channelizer.method = FX8_METHOD_NONE;
    plan.machine.backend = FX8_BACKEND_CUDA;
    plan.machine.kernel = kernel_in_place_of("auto");
    ptrdiff_t offset[4];
    for (ptrdiff_t input = 0; input < 4; input++)
        offset[input] = input * 2000;
    struct fx8_block block = {.samples = v.data,
                              .n_samples = 350,
                              .time_stride = 2,
                              .input_offset = offset};
    struct fx8_session *session;
    struct fx8_error error;
    size_t n_dumps = 0;
    must(fx8_open(&plan, count_dump, &n_dumps, &session, &error), error);
    must(fx8_push(session, &block, &error), error);
    if (!is_card) /* pretend devices work only when waited for */
        assert_int_equal(n_dumps, 0);
    must(fx8_flush(session, &error), error);
    assert_int_equal(n_dumps, 1);
    must(fx8_flush(session, &error), error);
    assert_int_equal(n_dumps, 1);
    block.samples += 350 * 2;
    block.first_sample = 350;
    block.n_samples = 650;
    must(fx8_push(session, &block, &error), error);
    must(fx8_finish(session, NULL, &error), error);
    assert_int_equal(n_dumps, 3);
    must_fail(fx8_flush(NULL, &error), error, FX8_ERR_USAGE,
              "session: NULL: expected one that is open");
    fx8_close(&session);
    free(v.data);
}

/* Results of another shape than the engine was opened for, or of an engine
 * opened for none; sums on two devices. */
TEST(results_that_were_not_planned)
{
    struct generator g = {107};
    struct task task = make_task(2, true, 1, 1, 2 * 8192, 0, true, &g);
    struct wanted w = want_results(&task, 1, 1, &g);
    struct fx8_result results = make_results(w.n_cells);
    const struct fx8_result wanted[FX8_N_RESULTS] = {results, results};
    const struct task other = on_cuda(&task, "dp4a-16", 2);
    struct fx8_engine_plan plan = other.plan;
    plan.n_result_products = 1;
    plan.channel_average = 1;
    for (size_t antennas = 0; antennas < 4; antennas += 3) {
        struct fx8_engine *engine;
        struct fx8_error error;
        plan.n_result_antennas = antennas;
        must(cuda->open(&plan, &engine, &error), error);
        push_dump(&other, engine);
        must_fail(cuda->end_dump(engine, &w.plan, wanted, &error), error,
                  FX8_ERR_USAGE,
                  "engine: results of a shape that was not planned");
        cuda->close(&engine);
    }
    clear_results(&results);
    clear_wanted(&w);
    clear_task(&task);
}

/* To memory that holds other blocks too. */
static void move_packed(struct packed *p, int8_t *to)
{
    const int8_t *samples = p->block.samples;
    memcpy(to, p->memory, p->n_bytes);
    p->block.samples = to + (samples - p->memory);
    p->block.in_place = to + (samples - p->memory);
    free(p->memory);
    p->memory = to;
}

/* Blocks that are overwritten as soon as the next call has returned, even one
 * of too few samples for a spectrum, give the results of the CPU. */
TEST(blocks_are_used_in_place)
{
    enum { ANTENNAS = 8, DUMP = 20000, N_BLOCKS = 5 };
    struct fx8_plan plan = small_plan(ANTENNAS, 2, true, 1, DUMP);
    plan.channelizer.method = FX8_METHOD_NONE;
    plan.channelizer.n_taps = 1;
    plan.precision = FX8_PRECISION_INT8;
    plan.machine.backend = FX8_BACKEND_CPU;
    struct voltages v = make_voltages(2 * ANTENNAS, 2, DUMP + 520, 15, 8);
    static const struct delivery whole = {.layout = ANTENNA_MAJOR};
    struct collected wanted = collect(&plan, &v, &whole);
    plan.machine.backend = FX8_BACKEND_CUDA;
    plan.machine.kernel = "dp4a-16";
    struct collected got = {
        .stop_at = SIZE_MAX, .n_inputs = v.n_inputs, .n_channels = 1};
    struct fx8_session *session;
    struct fx8_error error;
    must(fx8_open(&plan, collect_dump, &got, &session, &error), error);
    /* of the first block of spectra, which is not the last of the dump */
    const int64_t n = fx8_block_end(session, 0, 0);
    assert_true(2 * n < DUMP);
    const int64_t lengths[N_BLOCKS] = {n, 500, n - 1200, 1000,
                                       DUMP + 520 - 2 * n - 300};
    struct packed blocks[N_BLOCKS];
    int8_t *const memory = exact(PINNED_BYTES), *at = memory; /* of them all */
    fx8_pin(session, memory, PINNED_BYTES);
    int64_t first = 0;
    for (size_t k = 0; k <= N_BLOCKS; k++) {
        if (k < N_BLOCKS) {
            blocks[k] = pack(&v, IN_PLACE, first, lengths[k]);
            first += lengths[k];
            move_packed(&blocks[k], at);
            at += blocks[k].n_bytes;
            assert_true(at <= memory + PINNED_BYTES);
            must(fx8_push(session, &blocks[k].block, &error), error);
        } else {
            must(fx8_finish(session, &got.dropped_spectra, &error), error);
        }
        if (k > 0)
            memset(blocks[k - 1].memory, GARBAGE, blocks[k - 1].n_bytes);
    }
    fx8_close(&session);
    assert_int_equal(got.n_dumps, 1);
    check_bytes(got.visibilities[0], wanted.visibilities[0],
                2 * got.n_dumps * got.n_cells * sizeof(float));
    for (size_t k = 0; k < N_BLOCKS; k++)
        free(blocks[k].offset);
    free(memory);
    free_collected(&got);
    free_collected(&wanted);
    free(v.data);
}

FIXTURE(find_cuda, NULL)
