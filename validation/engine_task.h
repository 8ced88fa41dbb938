/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_task.h -- a random task for an engine, the engine's output for it in
 * one dump, and its sums against plain sums.  All memory lasts for the case.
 */
#ifndef FX8_VALIDATION_ENGINE_TASK_H
#define FX8_VALIDATION_ENGINE_TASK_H

#include "config/base/shape.h"
#include "kernels/engine.h"
#include "validation/exact_sum.h"
#include "validation/testing.h"

/* First sample of the dump that a task is: its dither depends on it. */
#define TASK_SAMPLE INT64_C(0x123456789ab)

/* One engine's task: random samples, coefficients, gains and masks. */
struct task {
    const struct fx8_engine_operations *engine; /* the engine under test */
    struct fx8_engine_plan plan;
    size_t n_spectra;
    size_t row_stride;
    int8_t *samples;
    float *coefficients;           /* NULL: method none */
    float *gains;                  /* [input][channel] */
    uint64_t *valid;               /* [input][words of all spectra] */
    struct fx8_rotation *rotation; /* [input][groups of all spectra], or NULL */
};

/* The engine's output; spectra are [channel][spectrum][input]. */
struct outcome {
    struct fx8_ci8 *x8;
    struct fx8_cf32 *x32;
    int64_t *sums8, *counts, *clips;
    double *sums32;
    double *down, *up;
    double *moments; /* [input][power, square][channel]; NULL: not planned */
};

static const struct fx8_engine_operations *const cpu = &fx8_engine_cpu;

static inline size_t n_cells(const struct task *task)
{
    return task->plan.bank.n_channels * task->n_spectra * task->plan.n_inputs;
}

static inline size_t n_sums(const struct task *task)
{
    return task->plan.bank.n_channels * fx8_pair_count(task->plan.n_inputs) * 2;
}

static inline size_t moment_bytes(const struct task *task)
{
    return task->plan.n_inputs * task->plan.bank.n_channels * 2 *
           sizeof(double);
}

static inline bool task_valid(const struct task *task, size_t input, size_t t)
{
    return fx8_bit_get(task->valid + input * fx8_bit_words(task->n_spectra), t);
}

/* The rotation of the group of spectrum t. */
static inline const struct fx8_rotation *task_rotation(const struct task *task,
                                                       size_t input, size_t t)
{
    return &task->rotation[input * fx8_groups(task->n_spectra) + t / FX8_GROUP];
}

/* Random, all -128, all 127 or all zero, by input. */
static inline void make_samples(struct task *task, struct generator *g)
{
    const struct fx8_filterbank *bank = &task->plan.bank;
    const size_t row = fx8_filterbank_row(bank);
    const size_t margin = task->plan.margin * (bank->is_complex ? 2 : 1);
    task->row_stride = (task->n_spectra + bank->n_taps - 1) * row + 2 * margin;
    int8_t *samples = temporary(task->plan.n_inputs * task->row_stride);
    for (size_t input = 0; input < task->plan.n_inputs; input++)
        for (size_t i = 0; i < task->row_stride; i++)
            samples[input * task->row_stride + i] =
                (int8_t)(input == 2   ? -128
                         : input == 4 ? 127
                         : input == 6 ? 0
                                      : (int)random_below(g, 256) - 128);
    task->samples = samples + margin;
}

/* Shifts and phases of any size; the slope drifts by at most 2^-34 turn. */
static inline void make_rotation(struct task *task, struct generator *g)
{
    const size_t n = task->plan.n_inputs * fx8_groups(task->n_spectra);
    task->plan.margin = 37;
    make_samples(task, g);
    task->rotation = temporary(n * sizeof *task->rotation);
    for (size_t k = 0; k < n; k++)
        task->rotation[k] = (struct fx8_rotation){
            .phase = random_bits(g),
            .rate = random_bits(g),
            .bend = random_bits(g),
            .slope = random_bits(g),
            .drift = random_bits(g) >> 34,
            .shift = random_in(g, -37, 37),
        };
}

/* Missing spectra, by kind: 0 none, 1 single ones, 2 gaps, 3 a whole input. */
static inline void make_masks(struct task *task, size_t kind,
                              struct generator *g)
{
    const size_t n_words = fx8_bit_words(task->n_spectra);
    task->valid =
        temporary_zeros(task->plan.n_inputs * n_words * sizeof *task->valid);
    for (size_t input = 0; input < task->plan.n_inputs; input++) {
        const size_t from = random_below(g, task->n_spectra);
        for (size_t t = 0; t < task->n_spectra; t++)
            if (kind == 0 || (kind == 1 && random_below(g, 3) > 0) ||
                (kind == 2 && (t < from || t > from + 40)) ||
                (kind == 3 && input > 0))
                fx8_bit_set(task->valid + input * n_words, t);
    }
}

/* Levels around 30 LSB: some channels clip often, some never. */
static inline void make_bank(struct task *task, struct generator *g)
{
    const struct fx8_filterbank *bank = &task->plan.bank;
    const size_t n_weights = bank->n_taps * fx8_filterbank_row(bank);
    task->coefficients = temporary(n_weights * sizeof(float));
    double power = 0.0;
    for (size_t i = 0; i < n_weights; i++) {
        task->coefficients[i] = (float)random_in(g, -1000, 1000) / 999.0f;
        power += (double)task->coefficients[i] * task->coefficients[i];
    }
    for (size_t i = 0; i < task->plan.n_inputs * bank->n_channels; i++)
        task->gains[i] =
            (float)((double)random_in(g, 1, 100) / sqrt(power) / 74.0);
    task->plan.quantizer.dither = random_below(g, 2) == 0;
    task->plan.band_hz = (uint32_t)random_bits(g);
}

static inline struct task make_task(size_t n_inputs, bool is_complex,
                                    size_t n_channels, size_t n_taps,
                                    size_t n_spectra, size_t mask, bool is_none,
                                    struct generator *g)
{
    struct task task = {
        .engine = cpu,
        .plan = {.bank = {.is_complex = is_complex,
                          .fft_length = (is_complex ? 1 : 2) * n_channels,
                          .n_taps = n_taps,
                          .n_channels = n_channels},
                 .n_inputs = n_inputs,
                 .spectra_per_dump = (int64_t)n_spectra,
                 .precisions = FX8_PRECISION_INT8 | FX8_PRECISION_FP32,
                 .machine.kernel = "reference",
                 .machine.threads.count = 1},
        .n_spectra = n_spectra,
    };
    make_samples(&task, g);
    make_masks(&task, mask, g);
    task.gains = temporary(n_inputs * n_channels * sizeof(float));
    for (size_t i = 0; i < n_inputs * n_channels; i++)
        task.gains[i] = 1.0f;
    if (!is_none)
        make_bank(&task, g);
    task.plan.coefficients = task.coefficients;
    return task;
}

/* The part of the task that is block `first` .. first + n - 1. */
static inline struct fx8_engine_block cut_block(const struct task *task,
                                                size_t first, size_t n)
{
    const size_t inputs = task->plan.n_inputs, words = fx8_bit_words(n);
    const size_t groups = fx8_groups(n);
    uint64_t *valid = temporary_zeros(inputs * words * sizeof *valid);
    struct fx8_rotation *rotation =
        temporary(inputs * groups * sizeof *rotation);
    for (size_t input = 0; input < inputs; input++) {
        for (size_t t = 0; t < n; t++)
            if (task_valid(task, input, first + t))
                fx8_bit_set(valid + input * words, t);
        for (size_t k = 0; k < groups && task->rotation != NULL; k++)
            rotation[input * groups + k] =
                *task_rotation(task, input, first + k * FX8_GROUP);
    }
    return (struct fx8_engine_block){
        .samples = task->samples + first * fx8_filterbank_row(&task->plan.bank),
        .row_stride = task->row_stride,
        .dump_sample = TASK_SAMPLE,
        .first_spectrum = (int64_t)first,
        .n_spectra = n,
        .valid = valid,
        .rotation = task->rotation != NULL ? rotation : NULL,
    };
}

/* Push a block, or import its spectra from `given`; export its spectra. */
static inline void run_block(const struct task *task, struct fx8_engine *engine,
                             size_t first, size_t n,
                             const struct outcome *given, struct outcome *o)
{
    const size_t inputs = task->plan.n_inputs;
    const size_t channels = task->plan.bank.n_channels;
    struct fx8_error error;
    struct fx8_engine_block block = cut_block(task, first, n);
    struct fx8_ci8 *x8 =
        o->x8 != NULL ? temporary(channels * n * inputs * sizeof *x8) : NULL;
    struct fx8_cf32 *x32 =
        o->x32 != NULL ? temporary(channels * n * inputs * sizeof *x32) : NULL;
    const size_t bytes8 = n * inputs * sizeof *x8;
    const size_t bytes32 = n * inputs * sizeof *x32;
    if (given == NULL) {
        must(task->engine->push(engine, &block, &error), error);
    } else {
        for (size_t c = 0; c < channels; c++) {
            const size_t at = (c * task->n_spectra + first) * inputs;
            memcpy(x8 + c * n * inputs, given->x8 + at, bytes8);
            memcpy(x32 + c * n * inputs, given->x32 + at, bytes32);
        }
        block.samples = NULL;
        must(task->engine->import_spectra(engine, &block, x8, x32, &error),
             error);
    }
    /* exporting waits for the block; otherwise it may still be under way at
     * the next block or the end of the dump */
    if (x8 != NULL || x32 != NULL)
        must(task->engine->export_spectra(engine, x8, x32, &error), error);
    for (size_t c = 0; c < channels; c++) {
        const size_t at = (c * task->n_spectra + first) * inputs;
        if (x8 != NULL)
            memcpy(o->x8 + at, x8 + c * n * inputs, bytes8);
        if (x32 != NULL)
            memcpy(o->x32 + at, x32 + c * n * inputs, bytes32);
    }
}

/* An engine for the task, with its gains. */
static inline struct fx8_engine *open_engine(const struct task *task)
{
    struct fx8_engine *engine;
    struct fx8_error error;
    must(task->engine->open(&task->plan, &engine, &error), error);
    for (size_t input = 0; input < task->plan.n_inputs; input++)
        must(task->engine->set_gain(
                 engine, input,
                 task->gains + input * task->plan.bank.n_channels, &error),
             error);
    return engine;
}

/* The task's spectra, block by block. */
static inline void run_blocks(const struct task *task,
                              struct fx8_engine *engine,
                              const struct outcome *given, struct outcome *o)
{
    const size_t block = task->engine->facts(engine)->block_spectra;
    for (size_t first = 0; first < task->n_spectra; first += block) {
        const size_t rest = task->n_spectra - first;
        run_block(task, engine, first, rest < block ? rest : block, given, o);
    }
}

/* One dump. The engine processes a dump of garbage first, so that leftovers
 * would show. */
static inline struct outcome run_task(const struct task *task,
                                      const struct outcome *given)
{
    const size_t inputs = task->plan.n_inputs;
    const bool int8 = (task->plan.precisions & FX8_PRECISION_INT8) != 0;
    const bool fp32 = (task->plan.precisions & FX8_PRECISION_FP32) != 0;
    const bool interval = (task->plan.precisions & FX8_PRECISION_INTERVAL) != 0;
    const size_t n_bytes = n_sums(task) * sizeof(double);
    struct outcome o = {
        .x8 = int8 ? temporary(n_cells(task) * sizeof *o.x8) : NULL,
        .x32 =
            fp32 || interval ? temporary(n_cells(task) * sizeof *o.x32) : NULL,
        .sums8 = int8 ? temporary(n_bytes) : NULL,
        .sums32 = fp32 ? temporary(n_bytes) : NULL,
        .down = interval ? temporary(n_bytes) : NULL,
        .up = interval ? temporary(n_bytes) : NULL,
        .counts = temporary(fx8_pair_count(inputs) * sizeof *o.counts),
        .clips =
            temporary(inputs * task->plan.bank.n_channels * sizeof *o.clips),
        .moments =
            task->plan.has_moments ? temporary(moment_bytes(task)) : NULL,
    };
    struct fx8_engine *engine = open_engine(task);
    struct fx8_error error;
    const size_t block = task->engine->facts(engine)->block_spectra;
    struct fx8_engine_dump dump = {.sums = {o.sums8, o.sums32, o.down, o.up},
                                   .counts = o.counts,
                                   .clips = o.clips,
                                   .moments = o.moments};
    const size_t head = block < task->n_spectra ? block : task->n_spectra;
    run_block(task, engine, 0, head, given, &o);
    must(task->engine->finish_dump(engine, &dump, &error), error);
    run_blocks(task, engine, given, &o);
    must(task->engine->finish_dump(engine, &dump, &error), error);
    task->engine->close(&engine);
    assert_null(engine);
    return o;
}

/* The sums of one pair in a channel against the products of the exported
 * spectra.  Float sums and both bounds are within 520 2^-24 of the magnitudes,
 * as stated in operations.h; the unrounded sum is between the bounds. */
static inline void check_pair(const struct task *task, const struct outcome *o,
                              size_t c, size_t i, size_t j)
{
    const size_t inputs = task->plan.n_inputs, n = task->n_spectra;
    const size_t at = 2 * (c * fx8_pair_count(inputs) + fx8_pair_index(i, j));
    int64_t int8[2] = {0, 0};
    struct exact_sum sums[2] = {{{0}}, {{0}}};
    double fp32[2] = {0.0, 0.0}, size = 0.0;
    for (size_t t = 0; t < n; t++) {
        const size_t from = (c * n + t) * inputs;
        if (o->x8 != NULL) {
            const struct fx8_ci8 a = o->x8[from + i], b = o->x8[from + j];
            int8[0] += a.re * b.re + a.im * b.im;
            int8[1] += a.re * b.im - a.im * b.re;
        }
        if (o->x32 == NULL)
            continue;
        const struct fx8_cf32 p = o->x32[from + i], q = o->x32[from + j];
        fp32[0] += (double)p.re * q.re + (double)p.im * q.im;
        fp32[1] += (double)p.re * q.im - (double)p.im * q.re;
        size += hypot(p.re, p.im) * hypot(q.re, q.im);
        if (o->down != NULL) {
            exact_add_product(&sums[0], p.re, q.re);
            exact_add_product(&sums[0], p.im, q.im);
            exact_add_product(&sums[1], p.re, q.im);
            exact_add_product(&sums[1], -p.im, q.re);
        }
    }
    const double error = 520 * 0x1p-24 * size;
    for (size_t k = 0; k < 2; k++) {
        if (o->sums8 != NULL)
            assert_int_equal(o->sums8[at + k], int8[k]);
        if (o->sums32 != NULL)
            assert_near(o->sums32[at + k], fp32[k], error);
        if (o->down == NULL)
            continue;
        const double down = o->down[at + k], up = o->up[at + k];
        assert_true(exact_compare(&sums[k], down) >= 0);
        assert_true(exact_compare(&sums[k], up) <= 0);
        assert_true(up - down <= 4 * error);
        if (o->sums32 != NULL)
            assert_true(down <= o->sums32[at + k] && o->sums32[at + k] <= up);
    }
}

/* All sums and counts. */
static inline void check_sums(const struct task *task, const struct outcome *o)
{
    for (size_t j = 0; j < task->plan.n_inputs; j++)
        for (size_t i = 0; i <= j; i++) {
            int64_t count = 0;
            for (size_t t = 0; t < task->n_spectra; t++)
                count += task_valid(task, i, t) && task_valid(task, j, t);
            assert_int_equal(o->counts[fx8_pair_index(i, j)], count);
            for (size_t c = 0; c < task->plan.bank.n_channels; c++)
                check_pair(task, o, c, i, j);
        }
}

/* Equal bit for bit: spectra, sums, counts, clips and moments, those that both
 * have. */
static inline void check_equal(const struct task *task, const struct outcome *a,
                               const struct outcome *b)
{
    const size_t cells = n_cells(task), sums = n_sums(task) * sizeof(double);
    const size_t clips = task->plan.n_inputs * task->plan.bank.n_channels;
    const bool have_int8 = a->x8 != NULL && b->x8 != NULL;
    const struct {
        const void *a, *b;
        size_t n_bytes;
    } arrays[] = {
        {a->x8, b->x8, cells * sizeof *a->x8},
        {a->x32, b->x32, cells * sizeof *a->x32},
        {a->sums8, b->sums8, sums},
        {a->sums32, b->sums32, sums},
        {a->down, b->down, sums},
        {a->up, b->up, sums},
        {a->counts, b->counts,
         fx8_pair_count(task->plan.n_inputs) * sizeof(int64_t)},
        {a->moments, b->moments, moment_bytes(task)},
        {a->clips, b->clips, have_int8 ? clips * sizeof(int64_t) : 0},
    };
    for (size_t k = 0; k < LENGTH(arrays); k++)
        if (arrays[k].a != NULL && arrays[k].b != NULL)
            check_bytes(arrays[k].a, arrays[k].b, arrays[k].n_bytes);
}

/* The sums of powers and of their squares are those of the exported spectra.  A
 * power is rounded twice, its square five times, a sum of 32 in lanes at most
 * 10 times. */
static inline void check_moments(const struct task *task,
                                 const struct outcome *o)
{
    const size_t inputs = task->plan.n_inputs;
    const size_t n_channels = task->plan.bank.n_channels;
    for (size_t k = 0; k < inputs * n_channels; k++) {
        const size_t input = k / n_channels, c = k % n_channels;
        double power = 0.0, square = 0.0;
        for (size_t t = 0; t < task->n_spectra; t++) {
            const struct fx8_cf32 x =
                o->x32[(c * task->n_spectra + t) * inputs + input];
            const double p = (double)x.re * x.re + (double)x.im * x.im;
            power += p;
            square += p * p;
        }
        const double *at = o->moments + 2 * input * n_channels + c;
        assert_near(at[0], power, 12 * 0x1p-24 * power);
        assert_near(at[n_channels], square, 16 * 0x1p-24 * square);
    }
}

/* A dump of three segments, loud and quiet in turn, by kind: complex, real,
 * method none. */
static inline struct task make_moment_task(size_t kind, struct generator *g)
{
    struct task task = make_task(2, kind != 1, kind == 2 ? 1 : 8, 1,
                                 2 * 8192 + 777, 1, kind == 2, g);
    const size_t row = fx8_filterbank_row(&task.plan.bank);
    for (size_t i = 0; i < 2 * task.row_stride; i++)
        if (i % task.row_stride / row / 600 % 2 == 1)
            task.samples[i] /= 100;
    task.plan.has_moments = true;
    return task;
}

/* Moments of a dump are those of its segments, added in their order.  Returns
 * the dump. */
static inline struct outcome check_segments(const struct task *task)
{
    struct outcome o = run_task(task, NULL);
    struct fx8_engine *engine = open_engine(task);
    struct fx8_error error;
    const size_t block = task->engine->facts(engine)->block_spectra;
    const size_t n = moment_bytes(task) / sizeof(double);
    double *sum = temporary_zeros(moment_bytes(task));
    double *part = temporary(moment_bytes(task));
    struct fx8_engine_dump dump = {.sums = {o.sums8, o.sums32},
                                   .counts = o.counts,
                                   .clips = o.clips,
                                   .moments = part};
    for (size_t first = 0; first < task->n_spectra; first += block) {
        const size_t rest = task->n_spectra - first;
        run_block(task, engine, first, rest < block ? rest : block, NULL, &o);
        if ((first + block) % 8192 != 0 && rest > block)
            continue;
        must(task->engine->finish_dump(engine, &dump, &error), error);
        for (size_t i = 0; i < n; i++)
            sum[i] += part[i];
    }
    assert_memory_equal(sum, o.moments, moment_bytes(task));
    task->engine->close(&engine);
    return o;
}

#endif
