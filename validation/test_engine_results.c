/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_engine_results.c -- results that the CUDA engine computes from a dump
 * equal, to the bit, those that the host computes from its sums.
 *
 * Shows: as cuda/test_cuda_postprocess.cu
 */
#include "kernels/engine_trial.h"
#include "validation/cuda_task.h"
#include "validation/postprocess_task.h"
#include "validation/eventful.h"
#include "validation/session_ranges.h"

/* How the sums of a task become results, in rows twice as long as needed. */
static struct scene want_results(const struct task *task, size_t n_pols,
                                 size_t average, struct generator *g)
{
    struct scene s = make_scene(task->plan.n_inputs / n_pols, n_pols,
                                task->plan.bank.n_channels, average, 2, g);
    s.plan.spectra_per_dump = (int64_t)task->n_spectra;
    s.plan.flag_float_cell = NULL; /* the CPU's */
    return s;
}

/* Push a dump by blocks, without asking for spectra. */
static void push_dump(const struct task *task, struct fx8_engine *engine)
{
    struct outcome none = {0};
    run_blocks(task, engine, NULL, &none);
}

/* The least memory that is worth pinning. */
#define PINNED_BYTES ((size_t)2 << 20)

/* Results of INT8 and FP32: each array by itself, or all in pinned memory. */
static void make_place(struct fx8_engine *engine, size_t n_cells,
                       bool is_pinned, struct fx8_result results[2])
{
    for (size_t kind = 0; kind < 2 && !is_pinned; kind++)
        results[kind] = make_results(n_cells);
    if (!is_pinned)
        return;
    assert_true(26 * n_cells <= PINNED_BYTES);
    char *const memory = temporary(PINNED_BYTES);
    for (size_t kind = 0; kind < 2; kind++)
        results[kind] =
            (struct fx8_result){(void *)(memory + 12 * n_cells * kind),
                                (void *)(memory + (24 + kind) * n_cells),
                                (void *)(memory + (12 * kind + 8) * n_cells)};
    cuda->pin(engine, memory, PINNED_BYTES);
}

/* The host's results from the sums of a dump, and the plan of the results. */
struct process {
    struct task task;
    const struct scene *s;
    struct outcome o;
    struct fx8_result wanted[FX8_RESULT_DOWN];
};

/* The same dump repeatedly: none is added to another.  Without bounds, the next
 * one is pushed before this one is taken. */
static void check_dumps(const struct process *p, bool is_pinned)
{
    const struct task *task = &p->task;
    const size_t n_cells = p->s->n_cells;
    const bool has_bounds =
        (task->plan.precisions & FX8_PRECISION_INTERVAL) != 0;
    const size_t clip_bytes =
        task->plan.n_inputs * task->plan.bank.n_channels * sizeof(int64_t);
    const size_t count_bytes =
        fx8_pair_count(task->plan.n_inputs) * sizeof(int64_t);
    struct fx8_engine_dump dump = {.sums = {NULL, NULL, p->o.down, p->o.up},
                                   .counts = temporary(count_bytes),
                                   .clips = temporary(clip_bytes)};
    struct fx8_engine *engine = open_engine(task);
    struct fx8_error error;
    push_dump(task, engine);
    for (size_t k = 0; k < (is_pinned ? 3 : 2); k++) {
        struct fx8_result got[FX8_RESULT_DOWN];
        make_place(engine, n_cells, is_pinned, got);
        const struct fx8_result results[FX8_N_RESULTS] = {
            band_of(p->s, &got[0]), band_of(p->s, &got[1])};
        must(cuda->end_dump(engine, &p->s->plan, results, &error), error);
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
            check_results(&p->wanted[kind], &got[kind], n_cells);
        check_bytes(p->o.clips, dump.clips, clip_bytes);
        check_bytes(p->o.counts, dump.counts, count_bytes);
        if (has_bounds)
            push_dump(task, engine);
    }
    cuda->close(&engine);
}

/* The host makes its results from the sums of finish_dump().  The device's
 * results go to pageable memory and, unless is_enough, to pinned memory too. */
static void check_process(const struct task *task, const struct scene *s,
                          size_t n_devices, bool is_enough)
{
    struct process p = {.task = on_cuda(task, "dp4a-16", n_devices), .s = s};
    p.task.plan.n_result_antennas = s->plan.n_antennas;
    p.task.plan.n_result_products = s->plan.n_products;
    p.task.plan.channel_average = s->plan.channel_average;
    p.o = run_task(&p.task, NULL);
    struct fx8_result results[FX8_N_RESULTS] = {{NULL, NULL, NULL}};
    for (size_t kind = 0; kind < FX8_RESULT_DOWN; kind++) {
        p.wanted[kind] = make_results(s->n_cells);
        results[kind] = band_of(s, &p.wanted[kind]);
    }
    fx8_postprocess_dump(&s->plan,
                         (void *[FX8_N_RESULTS]){p.o.sums8, p.o.sums32},
                         p.o.counts, results);
    check_dumps(&p, false);
    if (!is_enough)
        check_dumps(&p, true);
    /* for a quick-look, for which all results stay on the device */
    p.task.plan.consumed_channels =
        s->plan.n_channels / s->plan.channel_average;
    if (!is_enough)
        check_dumps(&p, true);
}

/* Both precisions, averages, whole and in slabs of one antenna; recordings of
 * more than 8 bits, levelled or only with the gains of their inputs. */
TEST(results_of_the_device_equal_the_hosts)
{
    struct generator g = {105};
    for (size_t k = 0; k < 4; k++) {
        struct task task =
            make_task(6, k < 2, 12, 2, 130, 1 + k % 2, false, &g);
        struct scene w = want_results(&task, 1 + k % 2, 1 + k, &g);
        if (k > 0)
            w.plan.input_gain = w.input_gain;
        if (k > 1)
            w.plan.gain = NULL;
        if (k % 2 == 1)
            w.plan.ripple = w.ripple;
        if (k % 3 == 0)
            setenv("FX8_CUDA_CHUNK_KIB", "1", 1);
        check_process(&task, &w, 1, false);
        unsetenv("FX8_CUDA_CHUNK_KIB");
    }
}

/* Blocks on every device; a device without blocks adds nothing. */
TEST(results_of_several_devices_equal_the_hosts)
{
    struct generator g = {106};
    for (size_t n_blocks = 2; n_blocks <= 4; n_blocks += 2) {
        const struct task task =
            make_task(3, true, 1, 1, n_blocks * 8192 + 5, 2, true, &g);
        const struct scene w = want_results(&task, 1, 1, &g);
        check_process(&task, &w, n_blocks + 1, n_blocks > 2);
    }
}

/* More sums than fit in one transfer between devices or to the host: 272
 * numbers per channel; 3 KiB hold one channel, so that there are three
 * transfers. */
TEST(sums_in_pieces_equal_the_hosts)
{
    struct generator g = {110};
    const struct task task = make_task(16, true, 3, 1, 8192 + 5, 1, false, &g);
    const struct scene w = want_results(&task, 1, 1, &g);
    setenv("FX8_CUDA_CHUNK_KIB", "3", 1);
    check_process(&task, &w, 2, true);
    unsetenv("FX8_CUDA_CHUNK_KIB");
}

/* Ranges of dumps have the bits of a whole run; under a checker, which takes
 * long for all four, those of one device and of three once each.  Every session
 * would try its engine, as test_engine_trial.c and spare.py do. */
TEST(every_range_of_dumps_on_devices)
{
    static const char *const devices[] = {"0", "0,1,2"};
    static const struct delivery whole = {0};
    setenv(FX8_ENGINE_TRIAL_VARIABLE, "0", 1);
    for (size_t k = 0; k < (n_there < 3 ? 2 : 4); k += FX8_CHECKED ? 3 : 1) {
        struct fx8_plan plan;
        const struct voltages v = eventful(&plan, k % 2 == 0);
        size_t n_inputs = 6;
        if (k % 2 == 0) /* without it, devices compute results */
            plan.sk_false_alarm = 0.0;
        plan.n_spectra = 4 * 90 + 37;
        plan.delays = (struct fx8_delays){find_delays, &n_inputs, 50e-6, NULL};
        plan.machine.backend = FX8_BACKEND_CUDA;
        plan.machine.device = devices[k / 2];
        plan.machine.kernel = kernel_in_place_of("dp4a-16");
        const struct collected c = collect(&plan, &v, &whole);
        check_ranges(&plan, &v, &c);
        check_looks(&plan, &v, &c);
    }
    unsetenv(FX8_ENGINE_TRIAL_VARIABLE);
}

/* So have segments of dumps, on one device and, bounds too, on several. */
TEST(segments_of_dumps_on_devices)
{
    static const char *const devices[] = {"0", "0,1,2"};
    static const struct delivery whole = {0};
    setenv(FX8_ENGINE_TRIAL_VARIABLE, "0", 1);
    for (size_t k = 0; k < (n_there < 3 ? 1 : 2); k++) {
        struct fx8_plan plan;
        const struct voltages v = cancelling_segments(&plan, k == 0);
        if (k == 0)
            plan.precision = FX8_PRECISION_FP32;
        plan.machine.backend = FX8_BACKEND_CUDA;
        plan.machine.device = devices[k];
        plan.machine.kernel = kernel_in_place_of("auto");
        const struct collected c = collect(&plan, &v, &whole);
        check_parts(&plan, &v, &c, NULL, 1);
    }
    unsetenv(FX8_ENGINE_TRIAL_VARIABLE);
}

/* The next dump begins before the last one is back; a flush waits for both. */
TEST(a_dump_comes_while_the_next_is_pushed)
{
    struct voltages v = make_voltages(4, 2, 1000, 4, 111);
    struct fx8_plan plan = small_plan(2, 2, true, 1, 300);
    plan.channelizer.method = FX8_METHOD_NONE;
    plan.machine.backend = FX8_BACKEND_CUDA;
    plan.machine.kernel = kernel_in_place_of("auto");
    const struct packed parts[] = {pack(&v, ANTENNA_MAJOR, 0, 350),
                                   pack(&v, ANTENNA_MAJOR, 350, 650)};
    struct fx8_session *session;
    struct fx8_error error;
    struct collected c = {.n_inputs = 4};
    must(fx8_open(&plan, collect_dump, &c, &session, &error), error);
    must(fx8_push(session, &parts[0].block, &error), error);
    if (!is_card) /* pretend devices work only when waited for */
        assert_int_equal(c.n_dumps, 0);
    must(fx8_flush(session, &error), error);
    assert_int_equal(c.n_dumps, 1);
    must(fx8_flush(session, &error), error);
    assert_int_equal(c.n_dumps, 1);
    must(fx8_push(session, &parts[1].block, &error), error);
    must(fx8_finish(session, NULL, &error), error);
    assert_int_equal(c.n_dumps, 3);
    fx8_close(&session);
}

/* Results of another shape than the engine was opened for, or of an engine
 * opened for none; sums on two devices. */
TEST(results_that_were_not_planned)
{
    struct generator g = {107};
    struct task task = make_task(2, true, 1, 1, 2 * 8192, 0, true, &g);
    struct scene w = want_results(&task, 1, 1, &g);
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
}

/* To memory that holds other blocks too. */
static void move_packed(struct packed *p, int8_t *to)
{
    const int8_t *samples = p->block.samples;
    memcpy(to, p->memory, p->n_bytes);
    p->block.samples = to + (samples - p->memory);
    p->block.in_place = to + (samples - p->memory);
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
    struct collected got = {.n_inputs = v.n_inputs};
    struct fx8_session *session;
    struct fx8_error error;
    must(fx8_open(&plan, collect_dump, &got, &session, &error), error);
    /* of the first block of spectra, which is not the last of the dump */
    const int64_t n = fx8_block_end(session, 0, 0);
    assert_true(2 * n < DUMP);
    const int64_t lengths[N_BLOCKS] = {n, 500, n - 1200, 1000,
                                       DUMP + 520 - 2 * n - 300};
    struct packed blocks[N_BLOCKS];
    int8_t *const memory = temporary(PINNED_BYTES),
                  *at = memory; /* of them all */
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
}

FIXTURE(find_cuda, NULL)
