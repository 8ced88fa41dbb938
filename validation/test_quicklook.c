/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_quicklook.c -- averages of random visibilities against sums of single
 * cells, cells case by case, and both modes against each other.
 * scenario/quicklook.py compares every cell with numpy.
 *
 * Shows (kernels, quick-look cells): averages agree with sums of cells, for
 *     inputs with different gaps; usual and unusual values are handled case by
 *     case; fast mode agrees with IEEE mode
 * Within: averages 2·10⁻⁵; phase 10⁻³ rad, other cells exact; modes within the
 *     bounds of kernels/numeric carried on
 * Because: roots magnify roundings to single precision near the noise; the
 *     step of a half near π is 10⁻³
 * In: scenario/quicklook.py
 */
#include "kernels/fisher.h"
#include "validation/quicklook_task.h"

static double half_value(uint16_t half)
{
    float value;
    fx8_operations_variant(0)->half.to_float(1, &half, &value);
    return (double)value;
}

/* --- averages ---------------------------------------------------- */

/* The average of one product by the formulas of fisher.h in double; sums and
 * means by its functions, which test_fisher.c proves. */
static struct fx8_quicklook_average plain_average(const struct task *task,
                                                  size_t average)
{
    const struct fx8_functions *functions =
        &task->plan.functions[task->plan.mode];
    const struct fx8_product *product = &task->products[average];
    const float *v = task->visibilities, *nsamples = task->nsamples;
    struct fx8_fisher_sums sums = {0};
    for (size_t c = 0; c < task->plan.n_channels; c++) {
        const size_t at = cell_at(task, average, c);
        const size_t a = cell_at(task, auto_of(task, product->input_1), c);
        const size_t b = cell_at(task, auto_of(task, product->input_2), c);
        struct fx8_fisher_cell cell = {.n_products = (float)M * nsamples[at],
                                       .share_1 = nsamples[at] / nsamples[a],
                                       .share_2 = nsamples[at] / nsamples[b]};
        const double modulus = hypot((double)v[2 * at], (double)v[2 * at + 1]);
        const double power =
            fmin(modulus * modulus / (double)v[2 * a] / (double)v[2 * b], 1.0);
        const double unbiased =
            power - (1.0 - (double)cell.share_1 * power) *
                        (1.0 - (double)cell.share_2 * power) /
                        (double)cell.n_products;
        cell.unbiased = (float)unbiased;
        cell.z = (float)atanh(sqrt(fmin(fmax(unbiased, 0.0), 1.0 - 2e-6)));
        fx8_fisher_add(&sums, !task->flags[at], &cell);
    }
    struct fx8_quicklook_average plain;
    fx8_fisher_average(&sums, functions, 1.0, &plain);
    return plain;
}

/* Near the noise, square roots magnify the rounding of the power, at most by
 * the number of products. */
static void check_averages(const struct task *task)
{
    for (size_t i = 0; i < task->n_averages; i++) {
        const struct fx8_quicklook_average *a = &task->averages[i];
        if (task->products[i].input_1 == task->products[i].input_2) {
            assert_int_equal(a->state, FX8_QUICKLOOK_AUTO);
            assert_true(a->coherence == 1.0);
            continue;
        }
        const struct fx8_quicklook_average plain = plain_average(task, i);
        assert_int_equal(a->state, plain.state);
        assert_int_equal(a->n_cells, plain.n_cells);
        assert_near(a->n_products, plain.n_products,
                    0x1p-23 * plain.n_products);
        if (a->state == FX8_QUICKLOOK_INTERVAL ||
            a->state == FX8_QUICKLOOK_NO_INTERVAL)
            assert_near(a->coherence, plain.coherence, 2e-5);
        if (a->state == FX8_QUICKLOOK_INTERVAL ||
            a->state == FX8_QUICKLOOK_LIMIT)
            assert_near(a->upper, plain.upper, 2e-5);
        if (a->state == FX8_QUICKLOOK_INTERVAL)
            assert_near(a->lower, plain.lower, 2e-5);
    }
}

TEST(averages_are_sums_of_cells)
{
    struct generator g = {61};
    for (int i = 0; i < 60; i++) {
        struct task task =
            make_task(1 + random_below(&g, 5), 1 + random_below(&g, 2),
                      1 + random_below(&g, i % 20 == 0 ? 1500 : 40),
                      i % 2 == 0 ? FX8_FUNCTIONS_IEEE : FX8_FUNCTIONS_FAST);
        fill(&task, &g);
        run(&task);
        check_averages(&task);
        const struct fx8_quicklook_counts counts = {
            .n_cells = (int64_t)task.n_cells,
            .n_spectra = (int64_t)task.n_levels,
            .fisher_clamped = task.counts.fisher_clamped};
        assert_memory_equal(&task.counts, &counts, sizeof counts);
    }
}

/* --- unusual values ---------------------------------------------- */

/* Two antennas, three channels; the middle one of (0, 1) or of an auto is
 * changed, the others must not change. */
struct odd {
    size_t average; /* 0: auto of 0, 1: cross, 2: auto of 1 */
    float value[2], nsamples;
    double expected[4]; /* of the cross product: re, im, amplitude, phase */
    struct fx8_quicklook_counts counts; /* except for n_cells, n_spectra */
    float db;                           /* of input 0; 0: 6.02 */
};

static const struct odd odds[] = {
    /* ordinary values: powers 4 and 9, V = 3 exp(i pi/2) */
    {1, {0, 3}, 1, {0, 8192, 8192, 1.5707963}, {0}, 0},
    {1, {0, -3}, 1, {0, -8192, 8192, -1.5707963}, {0}, 0},
    {1, {0, 0}, 1, {0}, {0}, 0},
    {1, {7, 7}, 0, {0}, {.no_product = 1}, 0},
    {1, {NAN, 3}, 1, {0}, {.not_finite = 1}, 0},
    {1, {3, -INFINITY}, 1, {0}, {.not_finite = 1}, 0},
    {1, {12}, 1, {32768, 0, 32768}, {.above_one = 1, .fisher_clamped = 1}, 0},
    {1,
     {30},
     1,
     {INFINITY, 0, INFINITY},
     {.above_one = 1, .beyond_half = 1, .fisher_clamped = 1},
     0},
    {1, {6}, 1, {16384, 0, 16384}, {.fisher_clamped = 1}, 0},
    {1, {3}, 0.01f, {8192, 0, 8192}, {.fisher_few = 1}, 0},
    {0, {0}, 1, {0}, {.no_power = 2, .spectra_no_power = 1}, -400},
    {0, {-1}, 1, {0}, {.no_power = 2, .spectra_no_power = 1}, -400},
    {0, {1e-39f}, 1, {0}, {.no_power = 2, .spectra_no_power = 1}, -400},
    {0, {NAN}, 1, {0}, {.not_finite = 2, .spectra_infinite = 1}, NAN},
    {0, {INFINITY}, 1, {0}, {.not_finite = 2, .spectra_infinite = 1}, NAN},
    /* an auto without products has no power */
    {0,
     {0},
     0,
     {0},
     {.no_product = 1, .no_power = 1, .spectra_no_data = 1},
     NAN},
};

static void fill_ordinary(struct task *task)
{
    static const float values[3][2] = {{4, 0}, {0, 3}, {9, 0}};
    for (size_t i = 0; i < 3; i++)
        for (size_t c = 0; c < 3; c++) {
            const size_t at = cell_at(task, i, c);
            task->visibilities[2 * at] = values[i][0];
            task->visibilities[2 * at + 1] = values[i][1];
            task->nsamples[at] = 1.0f;
            task->flags[at] = 0;
        }
}

static void check_odd(const struct odd *odd, const struct task *task)
{
    const double limit = 1e-3; /* halves of pi/2; the rest is exact */
    const size_t at = cell_at(task, 1, 1);
    const double found[4] = {half_value(task->out.coherence[2 * at]),
                             half_value(task->out.coherence[2 * at + 1]),
                             half_value(task->out.amplitude[at]),
                             half_value(task->out.phase[at])};
    for (size_t k = 0; k < 4; k++)
        if (isinf(odd->expected[k]))
            assert_true(found[k] == odd->expected[k]);
        else
            assert_near(found[k], odd->expected[k], limit);
    const float db = task->out.spectra_db[1];
    if (isnan(odd->db))
        assert_true(isnan(db));
    else
        assert_near((double)db, odd->db == 0.0f ? 6.0206 : (double)odd->db,
                    1e-5);
    struct fx8_quicklook_counts counts = odd->counts;
    counts.n_cells = 9;
    counts.n_spectra = 6;
    assert_memory_equal(&task->counts, &counts, sizeof counts);
    for (size_t c = 0; c < 3; c += 2) {
        const size_t beside = cell_at(task, 1, c);
        assert_near(half_value(task->out.coherence[2 * beside + 1]), 8192.0,
                    0.0);
        assert_near((double)task->out.spectra_db[c], 6.0206, 1e-5);
    }
}

TEST(out_of_the_ordinary)
{
    for (size_t i = 0; i < LENGTH(odds); i++)
        for (int mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++) {
            struct task task =
                make_task(2, 1, 3, (enum fx8_functions_mode)mode);
            fill_ordinary(&task);
            const size_t at = cell_at(&task, odds[i].average, 1);
            task.visibilities[2 * at] = odds[i].value[0];
            task.visibilities[2 * at + 1] = odds[i].value[1];
            task.nsamples[at] = odds[i].nsamples;
            run(&task);
            check_odd(&odds[i], &task);
        }
}

/* Baseband zero of real samples, and an input that clips, have cells but are
 * not averaged. */
TEST(left_out_of_averages)
{
    struct task task = make_task(2, 1, 3, FX8_FUNCTIONS_FAST);
    /* channel 2 of input 1: 33 steps rms at the largest gain */
    const float gain[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 33};
    fill_ordinary(&task);
    task.plan.real_channel = 0;
    task.plan.channel_average = 2;
    task.gain = gain;
    for (size_t i = 0; i < 2; i++)
        for (size_t c = 0; c < 3; c++)
            task.visibilities[2 * cell_at(&task, auto_of(&task, i), c)] = 2.0f;
    run(&task);
    assert_int_equal(task.counts.fisher_real, 1);
    assert_int_equal(task.counts.fisher_loud, 1);
    assert_int_equal(task.counts.fisher_few, 0);
    assert_int_equal(task.averages[1].n_cells, 1);
}

TEST(plans_that_are_refused)
{
    struct task task = make_task(2, 1, 3, FX8_FUNCTIONS_IEEE);
    struct fx8_quicklook *quicklook;
    struct fx8_error error;
    task.plan.n_baselines = 2; /* (0, 0), (0, 1) */
    must_fail(fx8_quicklook_open(&task.plan, &quicklook, &error), error,
              FX8_ERR_USAGE,
              "quick-look: input 1: expected its product with itself among the "
              "baselines");
    assert_null(quicklook);
    task.plan.n_products = 5;
    must_fail(fx8_quicklook_open(&task.plan, &quicklook, &error), error,
              FX8_ERR_USAGE, "quick-look: 5 products: expected at most 4");
}

/* --- modes and threads ------------------------------------------- */

static void check_difference(const struct fx8_quicklook_difference *d)
{
    /* no difference at all would mean that one mode ran twice */
    assert_true(d->largest > 0.0);
    assert_true(d->largest <= d->bound);
    assert_int_equal(d->n_beyond, 0);
}

TEST(fast_stays_within_its_bounds)
{
    struct generator g = {62};
    struct task task = make_task(4, 2, 200, FX8_FUNCTIONS_FAST);
    struct fx8_quicklook *quicklook = open_task(&task);
    for (int dump = 0; dump < 33; dump++) {
        fill(&task, &g);
        process(&task, quicklook);
    }
    close_task(&task, quicklook);
    assert_int_equal(task.differences.n_dumps, 3); /* 0, 16, 32 */
    check_difference(&task.differences.coherence);
    check_difference(&task.differences.amplitude);
    check_difference(&task.differences.phase);
    check_difference(&task.differences.spectra);
    check_difference(&task.differences.fisher);
    /* the bounds must not be meaninglessly large */
    assert_true(task.differences.coherence.bound < 2e-6);
    assert_true(task.differences.phase.bound < 5e-6);
    assert_true(task.differences.fisher.bound < 1e-3);
}

/* Functions that are off by 2^-10, a hundred times their bounds and more. */
#define WRONG(name, parameters, arguments)                                     \
    static void wrong_##name parameters                                        \
    {                                                                          \
        fx8_operations_variant(0)->functions[FX8_FUNCTIONS_FAST].name          \
            arguments;                                                         \
        for (size_t k = 0; k < n; k++)                                         \
            y[k] *= 1.0f + 0x1p-10f;                                           \
    }
WRONG(rsqrt, (size_t n, const float *x, float *y), (n, x, y))
WRONG(log10, (size_t n, const float *x, float *y), (n, x, y))
WRONG(tanh, (size_t n, const float *x, float *y), (n, x, y))
WRONG(atan2, (size_t n, const float *a, const float *b, float *y), (n, a, b, y))

/* Values beyond a bound are counted, by the use of the function. */
TEST(functions_beyond_their_bounds_are_counted)
{
    for (int wrong = 0; wrong < 4; wrong++) {
        struct generator g = {66};
        struct task task = make_task(4, 2, 50, FX8_FUNCTIONS_FAST);
        struct fx8_functions functions[FX8_N_FUNCTIONS_MODES];
        memcpy(functions, task.plan.functions, sizeof functions);
        struct fx8_functions *fast = &functions[FX8_FUNCTIONS_FAST];
        fast->rsqrt = wrong == 0 ? wrong_rsqrt : fast->rsqrt;
        fast->log10 = wrong == 1 ? wrong_log10 : fast->log10;
        fast->tanh = wrong == 2 ? wrong_tanh : fast->tanh;
        fast->atan2 = wrong == 3 ? wrong_atan2 : fast->atan2;
        task.plan.functions = functions;
        fill(&task, &g);
        run(&task);
        const struct fx8_quicklook_differences *d = &task.differences;
        assert_int_equal(d->coherence.n_beyond > 0, wrong == 0);
        assert_int_equal(d->amplitude.n_beyond > 0, wrong == 0);
        assert_int_equal(d->spectra.n_beyond > 0, wrong == 1);
        assert_int_equal(d->fisher.n_beyond > 0, wrong == 0 || wrong == 2);
        assert_int_equal(d->phase.n_beyond > 0, wrong == 3);
    }
}
